// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <vector>

#include <floptally/detail/python/ranks.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/sequence_ratios.hpp>
#include <floptally/parallel/statistic_scope.hpp>

/// @file
/// Ratios of sequences over ranks, for Python.

namespace floptally::detail::python {

/// One scope for both sides, or two where the caller says that they are meant to differ.
[[nodiscard]] inline ratio_scope to_ratio_scope(const py::object& scope, const py::object& denominator_scope,
                                                bool may_differ) {
    const statistic_scope numerator = to_scope(scope, "scope");
    const statistic_scope denominator =
        denominator_scope.is_none() ? numerator : to_scope(denominator_scope, "denominator_scope");
    return may_differ ? ratio_scope(numerator, denominator, different_scopes) : ratio_scope(numerator, denominator);
}

inline void bind_ratios(py::module_& module) {
    module.def(
        "reduce_sequences",
        [](const std::vector<double>& numerators, const std::vector<std::uint64_t>& denominators,
           const py::object& scope, const parallel_layout& layout, const py::object& within, const py::object& over_dp,
           const py::object& of, const py::object& denominator_scope, bool may_differ) {
            const python_reducer sharing(within);
            const python_reducer replicas(over_dp);
            const auto transform = [&of](double value) {
                try {
                    return of.is_none() ? value : of(value).cast<double>();
                } catch (const py::error_already_set& problem) {  // an error like any other, so that no rank waits
                    throw error("of", problem.what());
                } catch (const py::cast_error&) {
                    throw error("of", "must return a float");
                }
            };
            const ratio_summary all = reduce_sequences(
                std::span<const double>(numerators), std::span<const std::uint64_t>(denominators),
                to_ratio_scope(scope, denominator_scope, may_differ), layout, sharing, replicas, transform);
            const auto some = [&all](double value) {
                return all.sequences == 0 ? std::nullopt : std::optional<double>(value);
            };
            return py::make_tuple(all.sequences, all.empty, some(all.sequences == 0 ? 0 : all.mean()), some(all.least),
                                  some(all.largest));
        },
        py::arg("numerators"), py::arg("denominators"), py::kw_only(), py::arg("scope"), py::arg("layout"),
        py::arg("within"), py::arg("over_dp"), py::arg("of") = py::none(), py::arg("denominator_scope") = py::none(),
        py::arg("different_scopes") = false,
        "Sequences with a ratio, sequences without any token, and mean, least and largest of `of(numerator / "
        "denominator)`: summed over the ranks that share a sequence first, then over the sequences of all.");
}

}  // namespace floptally::detail::python
