// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/balance/sample_loads.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/input/input_padding.hpp>
#include <floptally/text/error.hpp>

#include "arrays.hpp"
#include "binding.hpp"
#include "breakdowns.hpp"
#include "costs.hpp"
#include "inputs.hpp"
#include "plans.hpp"
#include "units.hpp"

/// @file
/// What counts a batch: the methods of `Cost` that a training loop calls.

namespace floptally::detail::python {

std::shared_ptr<const folded_model> model_cost::folded(const convention& how, const training_plan& plan) const {
    for (const std::shared_ptr<const folded_model>& one : kept_) {
        if (one->counter.counted_as().name == how.name && one->plan == plan) {
            return one;
        }
    }
    constexpr std::size_t most = 8;
    auto made = std::make_shared<const folded_model>(model_, how, plan);
    if (kept_.size() == most) {
        kept_.erase(kept_.begin());
    }
    return kept_.emplace_back(std::move(made));
}

namespace {

/// What a call counts: the model by the convention and the plan that it names, and its batch. `splits`: whether a
/// padded batch is counted once more, for what its padding is spent on, and what has a past is kept.
struct counted_batch {
    counted_batch(const model_cost& model, const arguments& given, bool splits)
        : as(folded(model, given)), counted(given, as->masks), batch(counted.counted(model.model(), as->masks)) {
        if (splits) {
            padding = floptally::padding_of(counted.input(), model.model(), as->counter, batch);
        }
    }

    [[nodiscard]] static std::shared_ptr<const folded_model> folded(const model_cost& model, const arguments& given) {
        const py::handle how = given.given("convention");
        const py::handle plan = given.given("plan");
        return model.folded(how ? to_convention(how) : conventions::exact, plan ? to_plan(plan, model) : model.plan());
    }
    [[nodiscard]] counted_work work() && {
        counted_work made(std::move(as), std::move(batch));
        made.padding = padding;
        made.cached = counted.cached();
        return made;
    }

    std::shared_ptr<const folded_model> as;
    input_arguments counted;
    tally batch;
    std::optional<padding_flops> padding{};
};

/// (components, load[, weight]), as `component_load` has them.
component_load to_component_load(py::handle item, const std::string& field) {
    const bool is_tuple = is_sequence(item) && (py::len(item) == 2 || py::len(item) == 3);
    const py::tuple of = is_tuple ? py::tuple(py::reinterpret_borrow<py::object>(item)) : py::tuple();
    if (!is_tuple || !py::isinstance<py::str>(of[0])) {
        throw error(field, "must be (components, load) or (components, load, weight), got " + shown(item));
    }
    constexpr std::uint64_t most_loads = 1000;
    return {.components = of[0].cast<std::string>(),
            .load = to_count(of[1], field, 0, most_loads),
            .weight = of.size() == 3 ? to_count(of[2], field) : 1};
}

py::list loads_of_samples(const model_cost& model, const arguments& given) {
    std::vector<component_load> by;
    for (const py::handle load : given["loads"]) {
        by.push_back(to_component_load(load, indexed("loads", by.size())));
    }
    const auto samples = given.as<std::vector<tally>>("samples");
    const auto counter = model.folded(to_convention(given["convention"]), to_plan(given["plan"], model));
    const std::vector<flops> sums = sample_loads(counter->counter, samples, by, to_view(given["view"]));
    py::list all;
    for (std::size_t sample = 0; sample < samples.size(); ++sample) {
        py::list loads;
        for (std::size_t load = 0; load < loads_of(by); ++load) {
            loads.append(to_int(sums[sample * loads_of(by) + load]));
        }
        all.append(loads);
    }
    return all;
}

py::list flops_of_samples(const model_cost& model, const arguments& given) {
    const integers numbers(given["lengths"], "lengths");
    const view seen = to_view(given["view"]);
    const auto folded = model.folded(to_convention(given["convention"]), to_plan(given["plan"], model));
    std::vector<flops> costs;
    numbers.view().visit(
        [&](const auto& all) { without_gil(all.size(), [&] { costs = sample_costs(folded->counter, all, seen); }); });
    py::list all(costs.size());
    for (std::size_t i = 0; i < costs.size(); ++i) {
        PyList_SET_ITEM(all.ptr(), static_cast<Py_ssize_t>(i), to_int(costs[i]).release().ptr());
    }
    return all;
}

}  // namespace

void bind_counts(py::module_& module) {
    const py::object type = module.attr("Cost");
    const std::string how = "convention='exact', plan=None, " + input_signature();
    const std::string meanings =
        input_help() +
        "    convention: a name, or one of `floptally.conventions()`.\n"
        "    plan: what runs and what trains; a step that trains everything where it is not given.\n";
    method(type, "flops(self, *, " + how + ")",
           "FLOPs of a batch: component x phase x view, as exact ints.\n\nEverything that is given of the batch is "
           "added up."
           "\n\nArgs:\n" +
               meanings,
           [](const model_cost& model, const arguments& given) { return counted_batch(model, given, true).work(); });
    method(type, "total(self, *, view='useful', " + how + ")",
           "FLOPs of a batch as one exact int: what `flops()` has as its total, for less.\n\nArgs:\n"
           "    view: \"useful\", \"padded\" or \"executed\".\n" +
               meanings,
           [](const model_cost& model, const arguments& given) {
               const py::handle seen = given.given("view");
               const counted_batch counted(model, given, false);
               return counted.as->counter.total(counted.batch, seen ? to_view(seen) : view::useful);
           });
    method(type, "sample_flops(self, lengths, *, convention='exact', plan=None, view='useful')",
           "FLOPs of each sequence: what balance() takes. They add up to the batch's.",
           [](const model_cost& model, const arguments& given) { return flops_of_samples(model, given); });
    method(type, "sample_loads(self, samples, loads, *, convention='exact', plan=None, view='useful')",
           R"(Loads of each sample, a Tally of its own, by component: what balance() takes to even out several.

loads: (components, load) or (components, load, weight), as ("vision.*", 0, 3); the last that fits a component decides,
and one that none fits is an Error. weight: an integer in proportion, 3 beside 2 takes 1.5 times as long a FLOP.)",
           [](const model_cost& model, const arguments& given) { return loads_of_samples(model, given); });
    function(
        module,
        "flops(config, *, " + input_signature() +
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
    strict: a key that nothing reads, and a size that the config does not say, are errors, not notes.

Raises:
    floptally.Error: bad input, with the name of the field; a `ValueError`.
)",
        [](const arguments& given) {
            const py::handle config = given.given("config");
            py::dict options;
            for (const char* const name : {"mla", "mtp", "padded_vocab_size", "page", "strict"}) {
                if (const py::handle value = given.given(name)) {
                    options[name] = value;
                }
            }
            py::object read;
            if (!py::isinstance<model_cost>(config) || !options.empty()) {
                read = package_attribute("_cost", "cost")(config, **options);
            }
            return counted_batch((read ? py::handle(read) : config).cast<const model_cost&>(), given, true).work();
        });
}

}  // namespace floptally::detail::python
