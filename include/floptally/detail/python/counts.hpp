// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/input_padding.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/convention.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/byte_counts.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/input_keywords.hpp>
#include <floptally/detail/python/inputs.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>

/// @file
/// What counts a batch: `flops`, `Cost.flops`, `Cost.total` and `Cost.bytes`.

namespace floptally::detail::python {

/// What a call counts: the model by the convention and the plan that it names, and its batch.
struct counted_batch {
    std::shared_ptr<const folded_model> as;
    tally batch;
    std::optional<padding_flops> padding{};
    std::optional<std::vector<sequence>> cached{};  ///< as of a breakdown
};

/// `positional`: how many arguments of the call may stand without a name. `splits`: whether a padded batch is counted
/// once more, for what its padding is spent on, and what has a past is kept.
[[nodiscard]] inline counted_batch count(const model_cost& model, call_arguments& given, bool splits,
                                         std::size_t positional = 0) {
    const py::handle how = given.keyword("convention");
    const py::handle plan = given.keyword("plan");
    const convention& named = how ? to_convention(how) : conventions::exact;
    const auto as = model.folded(named, plan ? to_plan(plan, model) : model.plan());
    const input_arguments arguments(given, as->masks, positional);
    counted_batch counted{as, arguments.counted(model.model(), as->masks)};
    if (splits) {
        counted.padding = floptally::padding_of(arguments.input(), model.model(), as->counter, counted.batch);
        counted.cached = arguments.cached();
    }
    return counted;
}

[[nodiscard]] inline py::object breakdown_of(counted_batch&& counted) {
    shown_breakdown made(std::move(counted.as), std::move(counted.batch));
    made.padding = counted.padding;
    made.cached = std::move(counted.cached);
    return py::cast(std::move(made));
}

/// `Cost.bytes`
[[nodiscard]] inline py::object cost_bytes(py::handle self, call_arguments& given) {
    const byte_choice how = byte_choice_of([&given](const char* name) { return given.keyword(name); });
    const py::object work = breakdown_of(count(self.cast<const model_cost&>(), given, true));
    return py::cast(shown_bytes(work.cast<const shown_breakdown&>(), how));
}

/// `Cost.flops`
[[nodiscard]] inline py::object cost_flops(py::handle self, call_arguments& given) {
    return breakdown_of(count(self.cast<const model_cost&>(), given, true));
}

/// `Cost.total`
[[nodiscard]] inline py::object cost_total(py::handle self, call_arguments& given) {
    const py::handle seen = given.keyword("view");
    const auto as = seen ? to_view(seen) : view::useful;
    const counted_batch counted = count(self.cast<const model_cost&>(), given, false);
    return to_int(counted.as->counter.total(counted.batch, as));
}

/// `floptally.flops`: of a cost, or of what one is read from.
[[nodiscard]] inline py::object module_flops(py::handle self, call_arguments& given) {
    const py::handle config = given.first("config");
    py::object held;
    py::dict options;
    for (const char* name : {"mla", "mtp", "padded_vocab_size", "page", "strict"}) {
        if (const py::handle value = given.keyword(name)) {
            options[name] = value;
        }
    }
    if (!py::isinstance<model_cost>(config) || !options.empty()) {
        held = py::module_::import(package_of(self).c_str()).attr("cost")(config, **options);
    }
    return breakdown_of(count((held ? py::handle(held) : config).cast<const model_cost&>(), given, true, 1));
}

inline void bind_counts(py::module_& module, py::handle type) {
    const std::string how = "convention='exact', plan=None, " + input_signature();
    const std::string meanings =
        input_help() +
        "    convention: a name, or one of `floptally.conventions()`.\n"
        "    plan: what runs and what trains; a step that trains everything where it is not given.\n";
    add_fast_method<cost_flops>(
        type, "flops", "($self, /, *, " + how + ")",
        "FLOPs of a batch: component x phase x view, as exact ints.\n\nEverything that is given of "
        "the batch is added up.\n\nArgs:\n" +
            meanings);
    add_fast_method<cost_total>(
        type, "total", "($self, /, *, view='useful', " + how + ")",
        "FLOPs of a batch as one exact int: what `flops()` has as its total, for less.\n\nArgs:\n"
        "    view: \"useful\", \"padded\" or \"executed\".\n" +
            meanings);
    add_fast_method<cost_bytes>(
        type, "bytes", "($self, /, *, " + byte_signature() + ", plan=None, " + input_signature() + ")",
        R"(Bytes that a batch moves between memory and units: component x phase x kind, as exact ints.

`flops(...).bytes(...)` in one call. docs/bytes.md says what is moved.

Args:
)" + byte_help() +
            "    plan: what runs and what trains; a step that trains everything where it is not given.\n" +
            input_help());
    add_fast_function<module_flops>(
        module, "flops",
        "($module, /, config, *, " + input_signature() +
            ", convention='exact', plan=None, mla='expanded', mtp=0, padded_vocab_size=0, page=None, strict=False)",
        R"(FLOPs of one batch: component x phase x view, as exact ints.

Everything that is given of the batch is added up. To count every step, keep the cost:
`model = floptally.cost(config)`, then `model.flops(lengths=...)` with the same keywords.

Args:
    config: what `floptally.cost` takes, or a `Cost`.
)" + meanings +
            R"(    mla: core of latent attention, "expanded" or "absorbed".
    mtp: layers of multi-token prediction that are trained.
    padded_vocab_size: of the lm_head as kernels run it; 0 is as the config says.
    page: how the config of a model that is not known is read: the path or the text of a page, or several.
    strict: a key that looks like structure and that nothing reads is an error, not a note.

Raises:
    floptally.Error: bad input, with the name of the field; a `ValueError`.
)");
}

}  // namespace floptally::detail::python
