// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/convention.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/detail/did_you_mean.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/training_plan.hpp>

namespace floptally::detail::python {

/// A preset by its name, or the object itself.
[[nodiscard]] inline const convention& to_convention(py::handle how) {
    if (py::isinstance<convention>(how)) {
        return convention_named(how.cast<const convention&>().name);
    }
    if (!py::isinstance<py::str>(how)) {
        throw error("convention", "must be a name or a floptally.Convention, got " + shown(how));
    }
    const auto name = how.cast<std::string>();
    try {
        return convention_named(name);
    } catch (const error& problem) {
        std::vector<std::string_view> known;
        for (const convention* one : conventions::all) {
            known.push_back(one->name);
        }
        throw error(problem.field(), std::string(problem.problem()).append(did_you_mean(name, known)));
    }
}

/// The plan of an object that lives as long as it is read, or the one of a step that trains everything.
[[nodiscard]] inline const training_plan& to_plan(py::handle plan) {
    static const training_plan everything;
    if (plan.is_none()) {
        return everything;
    }
    if (!py::isinstance<training_plan>(plan)) {
        throw error("plan", "must be a floptally.Plan, got " + shown(plan));
    }
    return plan.cast<const training_plan&>();
}

[[nodiscard]] inline plan_rule make_rule(const std::string& weights, const std::string& state, const py::object& rank,
                                         const py::object& first_layer, const py::object& last_layer,
                                         const std::string& part) {
    const auto layer = [](const py::object& number, const char* field) {
        return number.is_none() ? any_layer : to_count(number, field, 0, any_layer - 1);
    };
    return {.weights = weights,
            .state = from_word<weight_state>(state, "state", weight_state_names),
            .rank = to_count(rank, "rank"),
            .first_layer = layer(first_layer, "first_layer"),
            .last_layer = layer(last_layer, "last_layer"),
            .part = part};
}

[[nodiscard]] inline training_plan make_plan(const std::string& phase, const std::string& recomputed,
                                             bool flash_attention, const std::vector<plan_rule>& rules,
                                             const std::vector<std::string>& recomputed_components,
                                             const py::object& recompute_every, const py::dict& repeated,
                                             const std::string& indexer) {
    training_plan plan{.counted = from_word<counted_passes>(phase, "phase", counted_passes_names),
                       .recomputed = from_word<recompute>(recomputed, "recompute", recompute_names),
                       .flash_attention = flash_attention,
                       .recompute_every = to_count(recompute_every, "recompute_every", 1),
                       .indexer = from_word<indexer_training>(indexer, "indexer", indexer_training_names)};
    for (const plan_rule& rule : rules) {
        plan.rules.push_back(rule, "rules");
    }
    for (const std::string& component : recomputed_components) {
        plan.recomputed_components.push_back(component, "recompute_components");
    }
    for (const auto& [weights, ranks] : repeated) {
        if (!py::isinstance<py::str>(weights)) {
            throw error("repeated", "must have names as keys, got " + shown(weights));
        }
        plan.repeated.push_back({weights.cast<std::string>(), to_count(ranks, "repeated", 1)}, "repeated");
    }
    return plan;
}

inline py::object layer_of(std::uint64_t layer) {
    return layer == any_layer ? static_cast<py::object>(py::none()) : py::int_(layer);
}

inline py::tuple rule_state(const plan_rule& r) {
    return py::make_tuple(std::string(r.weights.view()), to_word(r.state, weight_state_names), r.rank,
                          layer_of(r.first_layer), layer_of(r.last_layer), std::string(r.part.view()));
}

inline py::tuple plan_state(const training_plan& plan) {
    std::vector<plan_rule> rules(plan.rules.begin(), plan.rules.end());
    std::vector<std::string> components;
    for (const component_name& one : plan.recomputed_components) {
        components.emplace_back(one.view());
    }
    py::dict repeated;
    for (const repeated_work& one : plan.repeated) {
        repeated[py::str(std::string(one.weights.view()))] = one.ranks;
    }
    return py::make_tuple(to_word(plan.counted, counted_passes_names), to_word(plan.recomputed, recompute_names),
                          plan.flash_attention, rules, components, plan.recompute_every, repeated,
                          to_word(plan.indexer, indexer_training_names));
}

inline void bind_plans(py::module_& module) {
    py::class_<convention>(module, "Convention", "How FLOPs are counted. `conventions()` lists them.")
        .def_property_readonly("name", [](const convention& c) { return std::string(c.name); })
        .def_property_readonly("summary", [](const convention& c) { return std::string(c.summary); })
        .def("__str__", [](const convention& c) { return std::string(c.name); })
        .def("__repr__", [](const convention& c) { return "<Convention " + std::string(c.name) + ">"; })
        .def(
            "__eq__", [](const convention& a, const convention& b) { return a.name == b.name; }, py::is_operator())
        .def("__hash__", [](const convention& c) { return py::hash(py::str(std::string(c.name))); })
        .def(py::pickle([](const convention& c) { return py::make_tuple(std::string(c.name)); },
                        [](const py::tuple& state) { return convention_named(state[0].cast<std::string>()); }));
    module.def(
        "conventions",
        [] {
            std::vector<convention> all;
            for (const convention* one : conventions::all) {
                all.push_back(*one);
            }
            return all;
        },
        "Every convention, the default `exact` first.");

    py::class_<plan_rule>(module, "Rule", R"(What happens to some weights in training.

weights: a component ("mlp"), or a component and a weight of it ("attention.qkv/q_proj"); both may end in "*".
state: "trainable", "frozen" or "lora" (frozen, with an adapter of that rank beside it). first_layer, last_layer
(included): only these. part: "encoder", "layer", "lm_head", …)")
        .def(py::init(&make_rule), py::arg("weights") = "*", py::arg("state") = "trainable", py::kw_only(),
             py::arg("rank") = 0, py::arg("first_layer") = py::none(), py::arg("last_layer") = py::none(),
             py::arg("part") = "*")
        .def_property_readonly("weights", [](const plan_rule& r) { return std::string(r.weights.view()); })
        .def_property_readonly("state", [](const plan_rule& r) { return to_word(r.state, weight_state_names); })
        .def_property_readonly("rank", [](const plan_rule& r) { return r.rank; })
        .def_property_readonly("first_layer", [](const plan_rule& r) { return layer_of(r.first_layer); })
        .def_property_readonly("last_layer", [](const plan_rule& r) { return layer_of(r.last_layer); })
        .def_property_readonly("part", [](const plan_rule& r) { return std::string(r.part.view()); })
        .def(py::self == py::self)
        .def("__hash__", [](const plan_rule& r) { return py::hash(rule_state(r)); })
        .def("__repr__", [](const plan_rule& r) { return "Rule" + shown(rule_state(r)); })
        .def(py::pickle(&rule_state, [](const py::tuple& s) {
            return make_rule(s[0].cast<std::string>(), s[1].cast<std::string>(), s[2], s[3], s[4],
                             s[5].cast<std::string>());
        }));

    py::class_<training_plan>(module, "Plan", R"(What one process executes in a training step.

phase: "train" (forward and backward), "forward" or "backward". recompute: "none", "full" (one more forward of every
layer) or "attention" (of the attention core). flash_attention: the backward of a fused kernel computes QKᵀ once more,
which is executed and never useful. rules: what trains; of rules that name the same weight the last one holds.
recompute_components: components that the backward computes again besides. recompute_every: in the n-th, 2n-th, … layer
only. repeated: work that several ranks run though its result is needed once, {"vision.*": 4}: executed by each, useful
once. Of names that fit the same the last one holds. indexer: whether those of sparse attention train by a loss of their
own: "frozen" (no), "sparse_loss" (over the chosen keys), "dense_loss" (over all), "warm_up" (and attention is over all).)")
        .def(py::init(&make_plan), py::kw_only(), py::arg("phase") = "train", py::arg("recompute") = "none",
             py::arg("flash_attention") = true, py::arg("rules") = std::vector<plan_rule>{},
             py::arg("recompute_components") = std::vector<std::string>{}, py::arg("recompute_every") = 1,
             py::arg("repeated") = py::dict(), py::arg("indexer") = "frozen")
        .def_property_readonly("phase", [](const training_plan& p) { return to_word(p.counted, counted_passes_names); })
        .def_property_readonly("recompute",
                               [](const training_plan& p) { return to_word(p.recomputed, recompute_names); })
        .def_property_readonly("flash_attention", [](const training_plan& p) { return p.flash_attention; })
        .def_property_readonly("rules", [](const training_plan& p) -> py::object { return plan_state(p)[3]; })
        .def_property_readonly("recompute_components",
                               [](const training_plan& p) -> py::object { return plan_state(p)[4]; })
        .def_property_readonly("recompute_every", [](const training_plan& p) { return p.recompute_every; })
        .def_property_readonly("repeated", [](const training_plan& p) -> py::object { return plan_state(p)[6]; })
        .def_property_readonly("indexer",
                               [](const training_plan& p) { return to_word(p.indexer, indexer_training_names); })
        .def(py::self == py::self)
        .def("__repr__", [](const training_plan& p) { return "<Plan " + std::string(py::repr(plan_state(p))) + ">"; })
        .def(py::pickle(&plan_state, [](const py::tuple& s) {
            return make_plan(s[0].cast<std::string>(), s[1].cast<std::string>(), s[2].cast<bool>(),
                             s[3].cast<std::vector<plan_rule>>(), s[4].cast<std::vector<std::string>>(), s[5],
                             s[6].cast<py::dict>(), s[7].cast<std::string>());
        }));
}

}  // namespace floptally::detail::python
