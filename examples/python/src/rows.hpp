// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>
#include <string>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/rules/mask.hpp>

namespace floptally::detail::python {

inline constexpr const char* statistic_words[] = {"count", "tokens", "keys", "squares", "cached", "crossed", "routed"};

/// One row of a cost with what it refers to.
struct whole_row {
    component_name component;
    std::string weight;
    cost_row row;
    mask attends;

    /// The word of its statistic, or its Mask.
    [[nodiscard]] pybind11::object unit() const;
};

/// `Row` objects of a cost, and a cost of a list of `Row` objects or of tuples of their first arguments.
[[nodiscard]] pybind11::list rows_of(const cost& model);
[[nodiscard]] cost cost_of_rows(pybind11::handle rows);

/// Rows as plain data of Python and back, for a pickle.
[[nodiscard]] pybind11::tuple cost_state(const cost& model);
[[nodiscard]] cost cost_of_state(pybind11::handle state);

}  // namespace floptally::detail::python
