// SPDX-License-Identifier: Apache-2.0

#include "classes.hpp"

namespace floptally::python {

const convention& to_convention(py::handle how) {
    static const auto* const convention_class = new py::object(package_attribute("_conventions", "Convention"));
    const bool is_object = py::isinstance(how, *convention_class);
    if (!is_object && !py::isinstance<py::str>(how)) {
        throw error("convention", "must be a name or a floptally.Convention, got " + shown(how));
    }
    return with_hint(
        to_text(is_object ? py::object(how.attr("name")) : py::reinterpret_borrow<py::object>(how), "convention"),
        [](std::string_view word) -> const convention& { return convention_named(word); },
        [] {
            std::vector<std::string_view> known;
            for (const convention* each : conventions::all) {
                known.push_back(each->name);
            }
            for (const conventions::counter_of_preset& counter : conventions::counters) {
                known.push_back(counter.name);
            }
            return known;
        });
}

const training_plan& to_plan(py::handle plan) {
    static const training_plan everything;
    if (plan.is_none()) {
        return everything;
    }
    if (!py::isinstance<training_plan>(plan)) {
        throw error("plan", "must be a floptally.Plan, got " + shown(plan));
    }
    return value_of<training_plan>(plan);
}

namespace {

weight_setting make_setting(const arguments& args) {
    const auto layer = [&args](const char* field) {
        return args.some(field) ? args.count(field, 0, any_layer - 1) : any_layer;
    };
    const std::string state = args.text("state");
    const auto becomes = from_name<weight_state>(state, "state", weight_state_names);
    const std::uint64_t adapter = args.count("rank");
    if (becomes == weight_state::lora && adapter == 0) {
        throw error("rank", "must be at least 1 for the state lora, got 0");
    }
    if (becomes != weight_state::lora && adapter != 0) {
        throw error("rank", "must be 0 for the state " + state + ", since only lora adapters have a rank, got " +
                                shown(args["rank"]));
    }
    return {.weights = args.text("weights"),
            .state = becomes,
            .rank = adapter,
            .first_layer = layer("first_layer"),
            .last_layer = layer("last_layer"),
            .part = args.text("part")};
}

training_plan make_plan(const arguments& args) {
    training_plan plan{.counted = from_name<counted_passes>(args.text("phase"), "phase", counted_passes_names),
                       .recomputed = from_name<recompute>(args.text("recompute"), "recompute", recompute_names),
                       .flash_attention = args.flag("flash_attention"),
                       .recompute_every = args.count("recompute_every", 1),
                       .indexer = from_name<indexer_training>(args.text("indexer"), "indexer", indexer_training_names),
                       .logits = from_name<logit_tokens>(args.text("logits"), "logits", logit_tokens_names)};
    for (const weight_setting& setting : args.as<std::vector<weight_setting>>("weights")) {
        plan.weights.push_back(setting, "weights");
    }
    for (const std::string& component : args.as<std::vector<std::string>>("recompute_components")) {
        plan.recomputed_components.push_back(component, "recompute_components");
    }
    for (const auto& [component, ranks] : args.as<py::dict>("repeated")) {
        if (!py::isinstance<py::str>(component)) {
            throw error("repeated", "must have names as keys, got " + shown(component));
        }
        plan.repeated.push_back({component.cast<std::string>(), to_count(ranks, "repeated", 1)}, "repeated");
    }
    return plan;
}

std::optional<std::uint64_t> layer_of(std::uint64_t layer) {
    return layer == any_layer ? std::nullopt : std::optional(layer);
}

}  // namespace

void bind_plans(py::module_& module) {
    function(module, "_conventions", [](const arguments&) {
        py::list all;
        for (const convention* each : conventions::all) {
            all.append(py::make_tuple(each->name, each->summary));
        }
        return all;
    });

    bound_class<weight_setting> setting = new_class<weight_setting>(module, "WeightSetting");
    property(setting, "weights", [](const weight_setting& r) { return r.weights.view(); });
    property(setting, "state", [](const weight_setting& r) { return to_name(r.state, weight_state_names); });
    property(setting, "rank", [](const weight_setting& r) { return r.rank; });
    property(setting, "first_layer", [](const weight_setting& r) { return layer_of(r.first_layer); });
    property(setting, "last_layer", [](const weight_setting& r) { return layer_of(r.last_layer); });
    property(setting, "part", [](const weight_setting& r) { return r.part.view(); });
    record(setting, [](const arguments& args) { return make_setting(args); });

    bound_class<training_plan> plan = new_class<training_plan>(module, "Plan");
    property(plan, "phase", [](const training_plan& p) { return to_name(p.counted, counted_passes_names); });
    property(plan, "recompute", [](const training_plan& p) { return to_name(p.recomputed, recompute_names); });
    property(plan, "flash_attention", [](const training_plan& p) { return p.flash_attention; });
    property(plan, "weights",
             [](const training_plan& p) { return std::vector<weight_setting>(p.weights.begin(), p.weights.end()); });
    property(plan, "recompute_components", [](const training_plan& p) {
        py::list names;
        for (const component_name& each : p.recomputed_components) {
            names.append(each.view());
        }
        return names;
    });
    property(plan, "recompute_every", [](const training_plan& p) { return p.recompute_every; });
    property(plan, "repeated", [](const training_plan& p) {
        py::dict ranks;
        for (const repeated_work& each : p.repeated) {
            ranks[py::str(std::string(each.weights.view()))] = each.ranks;
        }
        return ranks;
    });
    property(plan, "indexer", [](const training_plan& p) { return to_name(p.indexer, indexer_training_names); });
    property(plan, "logits", [](const training_plan& p) { return to_name(p.logits, logit_tokens_names); });
    record(plan, [](const arguments& args) { return make_plan(args); });
    py::setattr(plan, "__hash__", py::none());
}

}  // namespace floptally::python
