// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <pybind11/numpy.h>
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/convention.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/masks.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/plans.hpp>
#include <floptally/error.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/redundant_work.hpp>
#include <floptally/parallel/slice_records.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/tally.hpp>

/// @file
/// Sums over ranks for Python: layouts, scopes, and reductions whose collectives are written in Python.

namespace floptally::detail::python {

inline constexpr const char* share_words[] = {"replicated", "trusted", "sharded", "first", "last"};
inline constexpr const char* scope_words[] = {"microbatch", "context_slice", "first_stage", "last_stage",
                                              "own_routers"};
inline constexpr statistic_scope scope_presets[] = {scopes::microbatch, scopes::context_slice, scopes::first_stage,
                                                    scopes::last_stage, scopes::own_routers};
static_assert(std::size(scope_presets) == std::size(scope_words));

/// A reducer that is written in Python: `sum(words)` and `max(words)` change an array of uint64 in place. The array is
/// a copy: what Python keeps of it stays valid.
class python_reducer {
  public:
    explicit python_reducer(py::object over) : over_(std::move(over)) {}

    void sum(std::span<std::uint64_t> words) const { reduce("sum", words); }
    void max(std::span<std::uint64_t> words) const { reduce("max", words); }

  private:
    void reduce(const char* how, std::span<std::uint64_t> words) const {
        py::array_t<std::uint64_t> message(static_cast<py::ssize_t>(words.size()), words.data());
        over_.attr(how)(message);
        std::copy(message.data(), message.data() + words.size(), words.begin());
    }

    py::object over_;
};

[[nodiscard]] inline statistic_scope to_scope(const py::object& scope, std::string_view field) {
    if (py::isinstance<statistic_scope>(scope)) {
        return scope.cast<statistic_scope>();
    }
    if (!py::isinstance<py::str>(scope)) {
        throw error(field, "must be a floptally.Scope or the name of one, got " + shown(scope));
    }
    return scope_presets[from_word<std::size_t>(scope.cast<std::string>(), field, scope_words)];
}

/// `scope` for every statistic but those that `other` names, as errors name them: "routed", "vision", "vision.tokens".
[[nodiscard]] inline tally_scope to_tally_scope(const py::object& scope, const py::dict& other) {
    tally_scope all = to_scope(scope, "scope");
    const auto each = [](const auto& visit) {
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            for (std::size_t what = 0; what < statistic_count; ++what) {
                visit(in, static_cast<statistic>(what));
            }
        }
    };
    const auto names_tower = [](const std::string& name, modality in) { return name == name_of(in); };
    for (const bool of_towers : {true, false}) {  // one statistic of a tower wins over the tower
        for (const auto& [key, value] : other) {
            const auto name = key.cast<std::string>();
            const statistic_scope held = to_scope(py::reinterpret_borrow<py::object>(value), "scope of " + name);
            bool found = false;
            if (name.starts_with("measured(") && name.ends_with(")")) {
                all = all.with_measured(name.substr(9, name.size() - 10), held);
                continue;
            }
            each([&](modality in, statistic what) {
                if (names_tower(name, in)) {
                    found = true;
                    all = of_towers ? all.with(what, held, in) : all;
                } else if (name == qualified(in, name_of(what))) {
                    found = true;
                    all = of_towers ? all : all.with(what, held, in);
                }
            });
            if (!found) {
                throw error(
                    "scope",
                    "must name a statistic (tokens, vision.tokens, pairs, measured(name), …) or a tower, got \"" +
                        name + "\"");
            }
        }
    }
    return all;
}

[[nodiscard]] inline microbatch_visits to_visits(const std::optional<std::pair<std::uint64_t, std::uint64_t>>& visits) {
    return visits ? microbatch_visits{.ran = visits->first, .added = visits->second} : microbatch_visits{};
}

[[nodiscard]] inline axis_set to_axes(const std::vector<std::string>& axes) {
    axis_set over;
    for (const std::string& axis : axes) {
        over = over | from_word<parallel_axis>(axis, "axes", parallel_axis_names);
    }
    return over;
}

inline void bind_layout(py::module_& module) {
    py::class_<parallel_layout>(module, "ParallelLayout", "Where the ranks of a job stand, seen from one of them.")
        .def(
            py::init([](const py::object& rank, const py::object& dp, const py::object& cp, const py::object& tp,
                        const py::object& pp, const py::object& vpp, const py::object& ep, const py::object& world_size,
                        const std::string& order) {
                const parallel_sizes sizes{.dp = to_count(dp, "dp"),
                                           .cp = to_count(cp, "cp"),
                                           .tp = to_count(tp, "tp"),
                                           .pp = to_count(pp, "pp"),
                                           .vpp = to_count(vpp, "vpp"),
                                           .ep = to_count(ep, "ep")};
                const std::uint64_t data = checked_multiply(sizes.dp, sizes.cp, "world_size");
                const std::uint64_t model = checked_multiply(sizes.tp, sizes.pp, "world_size");
                const std::uint64_t ranks = world_size.is_none() ? checked_multiply(data, model, "world_size")
                                                                 : to_count(world_size, "world_size");
                return parallel_layout(sizes, ranks, to_count(rank, "rank"), order);
            }),
            py::kw_only(), py::arg("rank"), py::arg("dp") = 1, py::arg("cp") = 1, py::arg("tp") = 1, py::arg("pp") = 1,
            py::arg("vpp") = 1, py::arg("ep") = 1, py::arg("world_size") = py::none(),
            py::arg("order") = std::string(megatron_order),
            "dp x cp x tp x pp ranks; `order` is Megatron's, the fastest axis first. `world_size` is compared where it "
            "is given.")
        .def_property_readonly("rank", &parallel_layout::rank)
        .def_property_readonly("world_size", &parallel_layout::world_size)
        .def_property_readonly(
            "coordinates",
            [](const parallel_layout& layout) {
                py::dict at;
                for (const parallel_axis axis : dense_axes) {
                    at[py::str(std::string(name_of(axis)))] = layout.coordinate(axis);
                }
                return at;
            },
            "{\"tp\": …, \"cp\": …, \"dp\": …, \"pp\": …} of this rank.")
        .def(
            "group",
            [](const parallel_layout& layout, const std::vector<std::string>& axes) {
                std::vector<std::uint64_t> ranks;
                for (const std::uint64_t rank : layout.group(to_axes(axes))) {
                    ranks.push_back(rank);
                }
                return ranks;
            },
            py::arg("axes"), "The ranks that differ from this one along these axes only, itself among them.")
        .def(
            "with_redundant_work",
            [](const parallel_layout& layout, const py::dict& rules, const py::object& plan) {
                std::vector<redundant_work> over;  // in the order of the dict: of names that fit the last one holds
                for (const auto& [weights, axes] : rules) {
                    if (!py::isinstance<py::str>(weights) || !is_sequence(axes)) {
                        throw error("redundant_work", "must be {name: [axis, …]}, got " + shown(rules));
                    }
                    over.push_back({weights.cast<std::string>(), to_axes(axes.cast<std::vector<std::string>>())});
                }
                return with_redundant_work(to_plan(plan), layout, std::span<const redundant_work>(over));
            },
            py::arg("rules"), py::kw_only(), py::arg("plan") = py::none(),
            "The plan of all ranks, {\"vision.*\": [\"cp\"]}: what is named all ranks along these axes run, each the "
            "whole "
            "of it. It is executed by each and useful once.")
        .def(
            "__eq__", [](const parallel_layout& a, const parallel_layout& b) { return a == b; }, py::is_operator());
}

inline void bind_scope(py::module_& module) {
    py::class_<statistic_scope>(module, "Scope", "What the ranks along each axis hold of a statistic.")
        .def(py::init([](const py::object& preset, const py::kwargs& axes) {
                 statistic_scope scope = to_scope(preset, "preset");
                 for (const auto& [key, value] : axes) {
                     const auto name = key.cast<std::string>();
                     const share held = from_word<share>(value.cast<std::string>(), name, share_words);
                     scope = name == "virtual_stages"
                                 ? scope.along_virtual_stages(held)
                                 : scope.along(from_word<parallel_axis>(name, "axis", parallel_axis_names), held);
                 }
                 return scope;
             }),
             py::arg("preset") = "microbatch",
             "A preset (\"microbatch\", \"context_slice\", \"first_stage\", \"last_stage\", \"own_routers\"), changed "
             "along dp, cp, tp, pp or virtual_stages to \"replicated\", \"trusted\", \"sharded\", \"first\" or "
             "\"last\".")
        .def("trusting_replicas", &statistic_scope::trusting_replicas,
             "The same with nothing to compare: for a sum over a group that leaves replicas out.")
        .def("parts", &statistic_scope::parts, py::arg("layout"), "In how many different parts the layout holds it.")
        .def(
            "__eq__", [](const statistic_scope& a, const statistic_scope& b) { return a == b; }, py::is_operator())
        .def("__repr__", [](const statistic_scope& scope) {
            std::string text = "Scope(";
            for (const parallel_axis axis :
                 {parallel_axis::dp, parallel_axis::cp, parallel_axis::tp, parallel_axis::pp}) {
                text.append(name_of(axis)).append("=\"").append(to_word(scope.along(axis), share_words)).append("\", ");
            }
            return text.append("virtual_stages=\"")
                .append(to_word(scope.along_virtual_stages(), share_words))
                .append("\")");
        });
}

inline void bind_ranks(py::module_& module) {
    bind_layout(module);
    bind_scope(module);

    py::class_<tally_reduction>(module, "TallyReduction", "The sum of tallies over ranks, step after step.")
        .def(py::init([](const tally& like, const py::object& scope, const parallel_layout& layout,
                         const py::object& reducer, const std::optional<std::string>& counted_as,
                         const py::dict& other_scopes) {
                 const python_reducer over(reducer);
                 return tally_reduction(
                     like.masks(), to_tally_scope(scope, other_scopes), layout, over,
                     counted_as ? std::optional<convention>(convention_named(*counted_as)) : std::nullopt);
             }),
             py::arg("like"), py::kw_only(), py::arg("scope"), py::arg("layout"), py::arg("reducer"),
             py::arg("convention"), py::arg("other_scopes") = py::dict(),
             "All ranks of the group make it together: by one MAX they compare masks, scope, layout, version and the "
             "convention that the sum is evaluated in (None: it is not), and where one differs all of them raise.")
        .def(
            "sum",
            [](const tally_reduction& reduction, const tally& mine, const py::object& reducer,
               const std::optional<std::pair<std::uint64_t, std::uint64_t>>& visits) {
                const python_reducer over(reducer);
                return reduction.sum(mine, over, to_visits(visits));
            },
            py::arg("mine"), py::kw_only(), py::arg("reducer"), py::arg("visits") = py::none(),
            "The tally of all ranks, by one SUM: the same words on each. `visits`: microbatches (ran, added) under "
            "virtual stages.")
        .def(
            "scaled",
            [](const tally_reduction& reduction, const tally& mine,
               const std::optional<std::pair<std::uint64_t, std::uint64_t>>& visits) {
                return reduction.scaled(mine, equal_lengths, to_visits(visits));
            },
            py::arg("mine"), py::kw_only(), py::arg("visits") = py::none(),
            "The same without communication, where all ranks have equal lengths, which the caller says.");

    module.def(
        "reduce_ratio",
        [](const py::object& numerator, const py::object& denominator, const py::object& scope,
           const parallel_layout& layout, const py::object& reducer) {
            const python_reducer over(reducer);
            const ratio all = reduce(ratio(to_count(numerator, "numerator"), to_count(denominator, "denominator")),
                                     to_scope(scope, "scope"), layout, over);
            return std::pair(all.numerator(), all.denominator());
        },
        py::arg("numerator"), py::arg("denominator"), py::kw_only(), py::arg("scope"), py::arg("layout"),
        py::arg("reducer"), "Numerator and denominator of all ranks.");
    module.def(
        "reduce_extremes",
        [](const py::iterable& values, const py::object& scope, const parallel_layout& layout,
           const py::object& reducer) {
            const python_reducer over(reducer);
            extremes mine;
            for (const py::handle value : values) {
                mine.add(to_count(value, "values"));
            }
            const extremes all = reduce(mine, to_scope(scope, "scope"), layout, over);
            return all.empty() ? py::tuple(py::make_tuple(0, py::none(), py::none()))
                               : py::tuple(py::make_tuple(all.count(), all.min(), all.max()));
        },
        py::arg("values"), py::kw_only(), py::arg("scope"), py::arg("layout"), py::arg("reducer"),
        "Count, least and largest of the values of all ranks; None where there are none.");
}

}  // namespace floptally::detail::python
