// SPDX-License-Identifier: Apache-2.0

#include "classes.hpp"

namespace floptally::detail::python {

const convention& to_convention(py::handle how) {
    if (py::isinstance<convention>(how)) {
        return convention_named(how.cast<const convention&>().name);
    }
    if (!py::isinstance<py::str>(how)) {
        throw error("convention", "must be a name or a floptally.Convention, got " + shown(how));
    }
    return with_hint(
        how.cast<std::string>(), [](std::string_view word) -> const convention& { return convention_named(word); },
        [] {
            std::vector<std::string_view> known;
            for (const convention* each : conventions::all) {
                known.push_back(each->name);
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
    return plan.cast<const training_plan&>();
}

namespace {

weight_setting make_setting(const std::string& weights, const std::string& state, const py::object& rank,
                            const py::object& first_layer, const py::object& last_layer, const std::string& part) {
    const auto layer = [](const py::object& number, const char* field) {
        return number.is_none() ? any_layer : to_count(number, field, 0, any_layer - 1);
    };
    const auto becomes = from_word<weight_state>(state, "state", weight_state_names);
    const std::uint64_t adapter = to_count(rank, "rank");
    if (becomes == weight_state::lora && adapter == 0) {
        throw error("rank", "must be at least 1 where the state is lora");
    }
    if (becomes != weight_state::lora && adapter != 0) {
        throw error("rank", "is of an adapter: must be 0 where the state is " + state + ", got " + shown(rank));
    }
    return {.weights = weights,
            .state = becomes,
            .rank = adapter,
            .first_layer = layer(first_layer, "first_layer"),
            .last_layer = layer(last_layer, "last_layer"),
            .part = part};
}

training_plan make_plan(const std::string& phase, const std::string& recomputed, bool flash_attention,
                        const std::vector<weight_setting>& weights,
                        const std::vector<std::string>& recomputed_components, const py::object& recompute_every,
                        const py::dict& repeated, const std::string& indexer) {
    training_plan plan{.counted = from_word<counted_passes>(phase, "phase", counted_passes_names),
                       .recomputed = from_word<recompute>(recomputed, "recompute", recompute_names),
                       .flash_attention = flash_attention,
                       .recompute_every = to_count(recompute_every, "recompute_every", 1),
                       .indexer = from_word<indexer_training>(indexer, "indexer", indexer_training_names)};
    for (const weight_setting& setting : weights) {
        plan.weights.push_back(setting, "weights");
    }
    for (const std::string& component : recomputed_components) {
        plan.recomputed_components.push_back(component, "recompute_components");
    }
    for (const auto& [component, ranks] : repeated) {
        if (!py::isinstance<py::str>(component)) {
            throw error("repeated", "must have names as keys, got " + shown(component));
        }
        plan.repeated.push_back({component.cast<std::string>(), to_count(ranks, "repeated", 1)}, "repeated");
    }
    return plan;
}

py::object layer_of(std::uint64_t layer) {
    return layer == any_layer ? static_cast<py::object>(py::none()) : py::int_(layer);
}

py::tuple setting_state(const weight_setting& r) {
    return py::make_tuple(std::string(r.weights.view()), to_word(r.state, weight_state_names), r.rank,
                          layer_of(r.first_layer), layer_of(r.last_layer), std::string(r.part.view()));
}

py::tuple plan_state(const training_plan& plan) {
    std::vector<weight_setting> weights(plan.weights.begin(), plan.weights.end());
    std::vector<std::string> components;
    for (const component_name& one : plan.recomputed_components) {
        components.emplace_back(one.view());
    }
    py::dict repeated;
    for (const repeated_work& one : plan.repeated) {
        repeated[py::str(std::string(one.weights.view()))] = one.ranks;
    }
    return py::make_tuple(to_word(plan.counted, counted_passes_names), to_word(plan.recomputed, recompute_names),
                          plan.flash_attention, weights, components, plan.recompute_every, repeated,
                          to_word(plan.indexer, indexer_training_names));
}

}  // namespace

void bind_plans(py::module_& module) {
    const py::class_<convention> how = new_class<convention>(module, "Convention");
    made_elsewhere(how, "one of floptally.conventions(), or its name");
    property(how, "name", [](const convention& c) { return std::string(c.name); });
    property(how, "summary", [](const convention& c) { return std::string(c.summary); });
    special_method(how, "__str__", "self", [](const convention& c, const arguments&) { return std::string(c.name); });
    shown_as(how, [](const convention& c) { return "<Convention " + std::string(c.name) + ">"; });
    equality(how, [](const convention& c) { return std::string(c.name); });
    pickles(
        how, [](const convention& c) { return std::string(c.name); },
        [](const py::object& state) { return convention_named(state.cast<std::string>()); });
    function(module, "conventions", [](const arguments&) {
        py::list all;
        for (const convention* each : conventions::all) {
            all.append(*each);
        }
        return all;
    });

    const py::class_<weight_setting> setting = new_class<weight_setting>(module, "WeightSetting");
    constructor(setting, [](const arguments& given) {
        return make_setting(given.text("weights"), given.text("state"), given["rank"], given["first_layer"],
                            given["last_layer"], given.text("part"));
    });
    property(setting, "weights", [](const weight_setting& r) { return r.weights.view(); });
    property(setting, "state", [](const weight_setting& r) { return to_word(r.state, weight_state_names); });
    property(setting, "rank", [](const weight_setting& r) { return r.rank; });
    property(setting, "first_layer", [](const weight_setting& r) { return layer_of(r.first_layer); });
    property(setting, "last_layer", [](const weight_setting& r) { return layer_of(r.last_layer); });
    property(setting, "part", [](const weight_setting& r) { return r.part.view(); });
    equality(setting, [](const weight_setting& r) { return setting_state(r); });
    shown_as(setting, [](const weight_setting& r) {
        constexpr const char* names[] = {"", "", "rank", "first_layer", "last_layer", "part"};
        const py::tuple mine = setting_state(r);
        const py::tuple usual = setting_state(weight_setting{});
        std::string text;
        for (std::size_t i = 0; i < mine.size(); ++i) {
            if (i < 2 || !mine[i].equal(usual[i])) {
                append_item(text, (i < 2 ? "" : std::string(names[i]) + "=") + std::string(py::repr(mine[i])));
            }
        }
        return "WeightSetting(" + text + ")";
    });
    pickles(
        setting, [](const weight_setting& r) { return setting_state(r); },
        [](const py::object& state) {
            const py::tuple s(state);
            return make_setting(s[0].cast<std::string>(), s[1].cast<std::string>(), s[2], s[3], s[4],
                                s[5].cast<std::string>());
        });

    const py::class_<training_plan> plan = new_class<training_plan>(module, "Plan");
    constructor(plan, [](const arguments& given) {
        return make_plan(given.text("phase"), given.text("recompute"), given.flag("flash_attention"),
                         given.as<std::vector<weight_setting>>("weights"),
                         given.as<std::vector<std::string>>("recompute_components"), given["recompute_every"],
                         given.as<py::dict>("repeated"), given.text("indexer"));
    });
    property(plan, "phase", [](const training_plan& p) { return to_word(p.counted, counted_passes_names); });
    property(plan, "recompute", [](const training_plan& p) { return to_word(p.recomputed, recompute_names); });
    property(plan, "flash_attention", [](const training_plan& p) { return p.flash_attention; });
    property(plan, "weights", [](const training_plan& p) { return py::object(plan_state(p)[3]); });
    property(plan, "recompute_components", [](const training_plan& p) { return py::object(plan_state(p)[4]); });
    property(plan, "recompute_every", [](const training_plan& p) { return p.recompute_every; });
    property(plan, "repeated", [](const training_plan& p) { return py::object(plan_state(p)[6]); });
    property(plan, "indexer", [](const training_plan& p) { return to_word(p.indexer, indexer_training_names); });
    equality(plan);
    shown_as(plan, [](const training_plan& p) {
        constexpr const char* names[] = {
            "phase",           "recompute", "flash_attention", "weights", "recompute_components",
            "recompute_every", "repeated",  "indexer"};
        const py::tuple mine = plan_state(p);
        const py::tuple usual = plan_state(training_plan{});
        std::string text;
        for (std::size_t i = 0; i < mine.size(); ++i) {
            if (!mine[i].equal(usual[i])) {
                append_item(text, names[i] + ("=" + std::string(py::repr(mine[i]))));
            }
        }
        return "Plan(" + text + ")";
    });
    pickles(
        plan, [](const training_plan& p) { return plan_state(p); },
        [](const py::object& state) {
            const py::tuple s(state);
            return make_plan(s[0].cast<std::string>(), s[1].cast<std::string>(), s[2].cast<bool>(),
                             s[3].cast<std::vector<weight_setting>>(), s[4].cast<std::vector<std::string>>(), s[5],
                             s[6].cast<py::dict>(), s[7].cast<std::string>());
        });
}

}  // namespace floptally::detail::python
