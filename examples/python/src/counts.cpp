// SPDX-License-Identifier: Apache-2.0

#include <floptally/balance/sample_loads.hpp>
#include <floptally/input/input_padding.hpp>

#include "classes.hpp"

/// @file
/// Counts batches: the methods of `Cost` that a training loop calls.

template void floptally::detail::input_adder::add_to(
    floptally::detail::mock_samples&) const;  // program.cpp calls it too

namespace floptally::python {

std::shared_ptr<const folded_model> model_cost::folded(const convention& how, const training_plan& plan) const {
    for (const std::shared_ptr<const folded_model>& known : kept_) {
        if (known->counter.counted_as().name == how.name && known->plan == plan) {
            return known;
        }
    }
    constexpr std::size_t most = 8;
    auto fresh = std::make_shared<const folded_model>(model_, how, plan);
    if (kept_.size() == most) {
        kept_.erase(kept_.begin());
    }
    return kept_.emplace_back(std::move(fresh));
}

void require_forward(const model_input& batch, const training_plan& plan) {
    if (!batch.requests.empty() && plan.counted != counted_passes::forward) {
        throw error(
            "requests",
            "must be counted as a forward pass, since decoding does not train: pass plan=Plan(phase=\"forward\")");
    }
}

namespace {

/// The result of a call that counts a batch, by the model, convention and plan that it names. With `splits`, a padded
/// batch is counted once more to find what padding costs, and sequences with a past are kept.
struct counted_batch {
    counted_batch(const model_cost& model, const arguments& args, bool splits)
        : as(folded(model, args)), counted(args, as->masks), batch(counted.counted(model.model(), as->masks)) {
        require_forward(counted.input(), as->plan);
        if (splits) {
            padding = floptally::padding_of(counted.input(), model.model(), as->counter, batch);
        }
    }

    [[nodiscard]] static std::shared_ptr<const folded_model> folded(const model_cost& model, const arguments& args) {
        const py::handle how = args.lookup("convention");
        const py::handle plan = args.lookup("plan");
        const convention& counted_as = how ? to_convention(how) : conventions::exact;
        const training_plan trains = plan ? to_plan(plan, model) : model.plan();
        if (const py::handle logits = args.some("logits")) {
            training_plan with_logits = trains;
            with_logits.logits = py::isinstance<py::str>(logits)
                                     ? from_name<logit_tokens>(to_text(logits, "logits"), "logits", logit_tokens_names)
                                     : logit_tokens::measured;
            return model.folded(counted_as, with_logits);
        }
        return model.folded(counted_as, trains);
    }
    [[nodiscard]] counted_work work() && {
        counted_work result(std::move(as), std::move(batch));
        result.padding = padding;
        result.cached = counted.cached();
        if (counted.has_requests_alone()) {
            result.requests = counted.input().requests;
            result.prefill_chunk = counted.input().prefill_chunk;
        }
        return result;
    }

    std::shared_ptr<const folded_model> as;
    input_arguments counted;
    tally batch;
    std::optional<padding_flops> padding{};
};

/// (components, load[, weight]) as a `component_load`.
component_load to_component_load(py::handle item, const std::string& field) {
    const py::tuple values = items_of(item, field, "(components, load) or (components, load, weight)", 2, 3);
    constexpr std::uint64_t most_loads = 1000;
    return {.components = to_text(values[0], indexed(field, 0)),
            .load = to_count(values[1], field, 0, most_loads),
            .weight = values.size() == 3 ? to_count(values[2], field) : 1};
}

py::list loads_of_samples(const model_cost& model, const arguments& args) {
    std::vector<component_load> by;
    for (const py::handle load : items_of(args["loads"], "loads", "a list of (components, load[, weight])")) {
        by.push_back(to_component_load(load, indexed("loads", by.size())));
    }
    const auto samples = args.as<std::vector<tally>>("samples");
    const auto counter = model.folded(to_convention(args["convention"]), to_plan(args["plan"], model));
    const std::vector<flops> sums = sample_loads(counter->counter, samples, by, to_view(args["view"]));
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

py::list flops_of_samples(const model_cost& model, const arguments& args) {
    const integers numbers(args["lengths"], "lengths");
    const view seen = to_view(args["view"]);
    const auto folded = model.folded(to_convention(args["convention"]), to_plan(args["plan"], model));
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
    method(type, "flops",
           [](const model_cost& model, const arguments& args) { return counted_batch(model, args, true).work(); });
    method(type, "total_flops", [](const model_cost& model, const arguments& args) {
        const py::handle seen = args.lookup("view");
        const counted_batch counted(model, args, false);
        return counted.as->counter.total_flops(counted.batch, seen ? to_view(seen) : view::useful);
    });
    method(type, "sample_flops",
           [](const model_cost& model, const arguments& args) { return flops_of_samples(model, args); });
    method(type, "sample_loads",
           [](const model_cost& model, const arguments& args) { return loads_of_samples(model, args); });
    function(module, "flops", [](const arguments& args) {
        const py::handle config = args.lookup("config");
        py::dict options;
        for (const char* const name : {"mla", "mtp", "padded_vocab_size", "spec", "strict"}) {
            if (const py::handle value = args.lookup(name)) {
                options[name] = value;
            }
        }
        py::object read;
        if (!py::isinstance<model_cost>(config) || !options.empty()) {
            read = package_attribute("_cost", "cost")(config, **options);
        }
        return counted_batch(value_of<model_cost>(read ? py::handle(read) : config), args, true).work();
    });
}

}  // namespace floptally::python
