// SPDX-License-Identifier: Apache-2.0

#include <filesystem>
#include <fstream>

#include <floptally/balance/sample_loads.hpp>
#include <floptally/conventions/comparison.hpp>
#include <floptally/input/input_padding.hpp>
#include <floptally/json/comparison_json.hpp>
#include <floptally/step/comparison_report.hpp>

#include "classes.hpp"

/// @file
/// Counting a batch: the methods of `Cost` that a training loop calls.

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

void require_forward(const model_input& batch, const training_plan& plan) {
    if (!batch.requests.empty() && plan.counted != counted_passes::forward) {
        throw error("requests", "are decoded, which trains nothing: give plan=Plan(phase=\"forward\")");
    }
}

namespace {

/// A call that counts: the model by the convention and the plan that it names, and its batch. `splits`: whether a
/// padded batch is counted once more, for what its padding is spent on, and what has a past is kept.
struct counted_batch {
    counted_batch(const model_cost& model, const arguments& given, bool splits)
        : as(folded(model, given)), counted(given, as->masks), batch(counted.counted(model.model(), as->masks)) {
        require_forward(counted.input(), as->plan);
        if (splits) {
            padding = floptally::padding_of(counted.input(), model.model(), as->counter, batch);
        }
    }

    [[nodiscard]] static std::shared_ptr<const folded_model> folded(const model_cost& model, const arguments& given) {
        const py::handle how = given.given("convention");
        const py::handle plan = given.given("plan");
        const convention& counted_as = how ? to_convention(how) : conventions::exact;
        const training_plan& trains = plan ? to_plan(plan, model) : model.plan();
        if (const py::handle logits = given.some("logits")) {
            training_plan with_logits = trains;
            with_logits.logits = py::isinstance<py::str>(logits)
                                     ? from_word<logit_tokens>(to_text(logits, "logits"), "logits", logit_tokens_names)
                                     : logit_tokens::measured;
            return model.folded(counted_as, with_logits);
        }
        return model.folded(counted_as, trains);
    }
    [[nodiscard]] counted_work work() && {
        counted_work made(std::move(as), std::move(batch));
        made.padding = padding;
        made.cached = counted.cached();
        if (counted.has_requests_alone()) {
            made.requests = counted.input().requests;
            made.prefill_chunk = counted.input().prefill_chunk;
        }
        return made;
    }

    std::shared_ptr<const folded_model> as;
    input_arguments counted;
    tally batch;
    std::optional<padding_flops> padding{};
};

/// (components, load[, weight]), as `component_load` has them.
component_load to_component_load(py::handle item, const std::string& field) {
    const py::tuple of = items_of(item, field, "(components, load) or (components, load, weight)", 2, 3);
    constexpr std::uint64_t most_loads = 1000;
    return {.components = to_text(of[0], indexed(field, 0)),
            .load = to_count(of[1], field, 0, most_loads),
            .weight = of.size() == 3 ? to_count(of[2], field) : 1};
}

py::list loads_of_samples(const model_cost& model, const arguments& given) {
    std::vector<component_load> by;
    for (const py::handle load : items_of(given["loads"], "loads", "a list of (components, load[, weight])")) {
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

/// The JSON of a comparison, its table and the JSON of that.
py::tuple comparison_of(const model_cost& model, const arguments& given) {
    const convention_comparison all(model.model(), to_plan(given["plan"], model));
    const input_arguments counted(given, all.masks());
    const auto seconds = given.some_number("seconds");
    observed_step step{.seconds = seconds, .gpus = {}, .peak_tflops = {}};
    if (given.some("gpus")) {
        step.gpus = given.count("gpus", 1);
    }
    if (given.some("accelerator") || given.some("peak_tflops")) {
        step.peak_tflops = peak_of(given).tflops;
    }
    const py::object only = given["convention"];
    const std::string_view name = only.is_none() ? std::string_view() : to_convention(only).name;
    const tally batch = counted.counted(model.model(), all.masks());
    const auto compared = [&] {
        const py::handle log = given.some("log");
        if (!log) {
            return floptally::comparison_of(model.model().model_type, all, batch, name,
                                            given.some_text("observed").value_or(""), step);
        }
        if (seconds || given.some("observed")) {
            throw error("log", "says rates and seconds itself; give it without observed and seconds");
        }
        const auto path = py::module_::import("os").attr("fsdecode")(log).cast<std::string>();
        std::ifstream lines(path);
        if (!lines || std::filesystem::is_directory(path)) {
            throw error("log", "cannot read \"" + path + "\"");
        }
        return floptally::comparison_of(model.model().model_type, all, batch, name,
                                        observed_log_of(lines, batch, step));
    };
    const comparison_report made = compared();
    return py::make_tuple(to_json(made).dump(), to_table(made), table_json(floptally::table_of(made)));
}

}  // namespace

void bind_counts(py::module_& module) {
    const py::object type = module.attr("Cost");
    method(type, "flops",
           [](const model_cost& model, const arguments& given) { return counted_batch(model, given, true).work(); });
    method(type, "total", [](const model_cost& model, const arguments& given) {
        const py::handle seen = given.given("view");
        const counted_batch counted(model, given, false);
        return counted.as->counter.total(counted.batch, seen ? to_view(seen) : view::useful);
    });
    method(type, "sample_flops",
           [](const model_cost& model, const arguments& given) { return flops_of_samples(model, given); });
    method(type, "sample_loads",
           [](const model_cost& model, const arguments& given) { return loads_of_samples(model, given); });
    method(type, "compare", [](const model_cost& model, const arguments& given) {
        return package_attribute("_comparison", "Comparison")(*comparison_of(model, given));
    });
    function(module, "flops", [](const arguments& given) {
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
