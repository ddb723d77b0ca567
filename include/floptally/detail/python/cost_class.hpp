// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <string>
#include <utility>
#include <vector>

#include <floptally/balance/sample_loads.hpp>
#include <floptally/detail/python/breakdowns.hpp>
#include <floptally/detail/python/cost_state.hpp>
#include <floptally/detail/python/costs.hpp>
#include <floptally/detail/python/counts.hpp>
#include <floptally/detail/python/gil.hpp>
#include <floptally/detail/python/inputs.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/detail/python/rows.hpp>
#include <floptally/detail/python/services.hpp>
#include <floptally/error.hpp>
#include <floptally/flop_counter.hpp>
#include <floptally/model/muon.hpp>
#include <floptally/model_config.hpp>
#include <floptally/report.hpp>

namespace floptally::detail::python {

/// A dict as the text of a JSON object.
[[nodiscard]] inline std::string json_text(const py::object& config) {
    using namespace py::literals;
    try {
        return py::module_::import("json")
            .attr("dumps")(config, "allow_nan"_a = false, "default"_a = py::type::of(py::str()))
            .cast<std::string>();
    } catch (const py::error_already_set& problem) {
        throw error("config", "cannot be written as JSON: " + py::str(problem.value()).cast<std::string>());
    }
}

/// A config from whatever has one: a dict, a path, an object with to_dict().
[[nodiscard]] inline model_cost read_cost(const python_services& with, const py::object& config,
                                          const read_options& options) {
    if (py::isinstance<py::dict>(config)) {
        const std::string text = json_text(config);
        const py::gil_scoped_release released;
        return model_cost(with.read_config(text, options));
    }
    if (py::isinstance<py::str>(config) || py::hasattr(config, "__fspath__")) {
        const std::string path = py::module_::import("os").attr("fsdecode")(config).cast<std::string>();
        const py::gil_scoped_release released;
        return model_cost(with.load_config(path, options));
    }
    if (py::hasattr(config, "to_dict")) {
        return read_cost(with, config.attr("to_dict")(), options);
    }
    if (py::hasattr(config, "config") && py::hasattr(config.attr("config"), "to_dict")) {
        // A model: its class is what `architectures` would name, and stands there only once it was saved.
        py::dict fields(config.attr("config").attr("to_dict")());
        py::list classes;
        classes.append(py::type::of(config).attr("__name__"));
        fields["architectures"] = classes;
        return read_cost(with, fields, options);
    }
    throw error("config", "must be a dict, a path, or an object with to_dict(), got " + shown(config));
}

/// (components, load[, weight]), as `load_rule` has them.
[[nodiscard]] inline load_rule to_load_rule(py::handle item, const std::string& field) {
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

[[nodiscard]] inline py::list loads_of_samples(const model_cost& model, const std::vector<tally>& samples,
                                               const py::object& rules, const py::object& how, const py::object& plan,
                                               const std::string& seen) {
    std::vector<load_rule> by;
    for (const py::handle one : rules) {
        by.push_back(to_load_rule(one, indexed("rules", by.size())));
    }
    const auto as = from_word<view>(seen, "view", {"useful", "padded", "executed"});
    const std::vector<flops> sums =
        sample_loads(model.folded(to_convention(how), to_plan(plan, model))->counter, samples, by, as);
    py::list out;
    for (std::size_t sample = 0; sample < samples.size(); ++sample) {
        py::list loads;
        for (std::size_t load = 0; load < loads_of(by); ++load) {
            loads.append(to_int(sums[sample * loads_of(by) + load]));
        }
        out.append(loads);
    }
    return out;
}

inline void bind_costs(py::module_& module, const std::shared_ptr<const python_services>& with) {
    py::class_<model_cost> type(module, "Cost", R"(The row of integer coefficients that a model is, immutable.

Costs add up and scale; `cost()` reads one from a config, `from_torch()` counts one, `Cost.from_rows()` takes it row by
row.)");
    type.def_static("from_rows", &cost_from_rows, py::arg("rows"), py::kw_only(), py::arg("model_type") = "rows",
                    py::arg("notes") = std::vector<std::string>{},
                    "A cost of Row objects, or of tuples (component, unit, kind, flops_per_unit[, parameters]).")
        .def(
            "sample_flops",
            [](const model_cost& model, const py::object& lengths, const py::object& how, const py::object& plan,
               const py::object& seen) {
                const integers numbers(lengths, "lengths");
                const view as = to_view(seen);
                const auto folded = model.folded(to_convention(how), to_plan(plan, model));
                std::vector<flops> costs;
                numbers.view().visit([&](const auto& all) {
                    without_gil(all.size(), [&] { costs = sample_costs(folded->counter, all, as); });
                });
                py::list out(costs.size());
                for (std::size_t i = 0; i < costs.size(); ++i) {
                    PyList_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), to_int(costs[i]).release().ptr());
                }
                return out;
            },
            py::arg("lengths"), py::kw_only(), py::arg("convention") = "exact", py::arg("plan") = py::none(),
            py::arg("view") = "useful", "FLOPs of each sequence: what balance() takes. They add up to the batch's.")
        .def("sample_loads", &loads_of_samples, py::arg("samples"), py::arg("rules"), py::kw_only(),
             py::arg("convention") = "exact", py::arg("plan") = py::none(), py::arg("view") = "useful",
             R"(Loads of each sample, a Tally of its own, by component: what balance() takes to even out several.

rules: (components, load) or (components, load, weight), as ("vision.*", 0, 3); the last that fits a component decides,
and one that none fits is an Error. weight: an integer in proportion, 3 beside 2 takes 1.5 times as long a FLOP.)")
        .def_property_readonly("model_type", [](const model_cost& c) { return c.model().model_type; })
        .def_property_readonly(
            "notes", [](const model_cost& c) { return c.model().notes; },
            "What the reader decided where the config is silent.")
        .def_property_readonly(
            "parameters", [](const model_cost& c) { return c.of().parameters(); },
            "Weights stored: all experts; a tied embedding once.")
        .def_property_readonly("components",
                               [](const model_cost& c) {
                                   std::vector<std::string> names;
                                   for (const component_name& one : c.of().components()) {
                                       names.emplace_back(one.view());
                                   }
                                   return names;
                               })
        .def_property_readonly(
            "masks",
            [](const model_cost& c) { return std::vector<mask>(c.of().masks().begin(), c.of().masks().end()); })
        .def_property_readonly("rows", [](const model_cost& c) { return rows_of(c.of()); })
        .def(
            "keep",
            [](const model_cost& c, const mask& word) {
                model_config wider = c.model();
                wider.cost.keep(word);
                return model_cost(std::move(wider), c.plan());
            },
            py::arg("word"),
            "The same model, whose tallies and meters keep a word that it does not count: "
            "Mask.measured(\"loss_tokens\").")
        .def(
            "with_muon",
            [](const model_cost& c, const py::object& plan, const py::object& iterations,
               const std::vector<std::string>& others) {
                muon how{.iterations = to_count(iterations, "iterations")};
                for (const std::string& one : others) {
                    how.others.push_back(one, "others");
                }
                return model_cost(floptally::with_muon(c.model(), to_plan(plan, c), how), c.plan());
            },
            py::kw_only(), py::arg("plan") = py::none(), py::arg("iterations") = 5,
            py::arg("others") = std::vector<std::string>{},
            R"(The same model, which also counts the products of the optimizer Muon for the weights that `plan` trains.

They are a component optimizer.muon, once for each of measured={"optimizer_steps": n}. others: weights that another
optimizer steps, as in Rule ("moe.router", "vision.*").)")
        .def_property_readonly(
            "plan", [](const model_cost& c) { return c.plan(); },
            "What runs and what trains where no plan is given: everything, or what a model with adapters says.")
        .def("planned", &model_cost::with_plan, py::arg("plan"),
             "The same model, counted by this plan wherever none is given.")
        .def("__add__", &sum_of, py::is_operator())
        .def(
            "__rmul__",
            [](const model_cost& c, std::uint64_t times) {
                return model_cost({.model_type = c.model().model_type,
                                   .cost = times * c.of(),
                                   .notes = c.model().notes,
                                   .parts = {},
                                   .towers = c.model().towers},
                                  c.plan());
            },
            py::is_operator())
        .def(
            "__eq__", [](const model_cost& a, const model_cost& b) { return a == b; }, py::is_operator())
        .def("__repr__",
             [](const model_cost& c) {
                 return "<Cost of " + c.model().model_type + ": " + std::to_string(c.of().parameters()) +
                        " parameters>";
             })
        .def(py::pickle(
            [](const py::object& self) {
                const auto& c = self.cast<const model_cost&>();
                return py::make_tuple(model_state(c.model()), c.plan(), attributes_of(self));
            },
            [](const py::tuple& state) {
                return std::pair(model_cost(model_of_state(state[0]), state[1].cast<training_plan>()),
                                 state[2].cast<py::dict>());
            }));
    type.attr("__hash__") = py::none();
    bind_counts(module, type);
    module.def(
        "cost",
        [with](const py::object& config, const std::string& mla, const py::object& mtp,
               const py::object& padded_vocab_size, const py::object& page, bool strict) {
            if (!py::isinstance<model_cost>(config)) {
                return py::cast(read_cost(*with, config, to_read_options(mla, mtp, padded_vocab_size, page, strict)));
            }
            const std::pair<const char*, bool> given[] = {{"mla", mla != "expanded"},
                                                          {"mtp", !mtp.equal(py::int_(0))},
                                                          {"padded_vocab_size", !padded_vocab_size.equal(py::int_(0))},
                                                          {"page", !page.is_none()},
                                                          {"strict", strict}};
            for (const auto& [name, is_given] : given) {
                if (is_given) {
                    throw error(name, "says how a config is read, and this is a Cost already");
                }
            }
            return config;
        },
        py::arg("config"), py::kw_only(), py::arg("mla") = "expanded", py::arg("mtp") = 0,
        py::arg("padded_vocab_size") = 0, py::arg("page") = py::none(), py::arg("strict") = false,
        R"(The cost of a model by its config: a dict, the path of a config.json or of a folder with one, or an object with
to_dict() (a transformers config), or a transformers model, whose class then decides the head. What cannot be counted raises an Error that names the key.

page: of a model that is not among the known ones, how its config is read: the path or the text of a page, or a sequence
of them, among which the config's model_type chooses. strict: a key that looks like structure and that nothing reads is an error.)");
}

}  // namespace floptally::detail::python
