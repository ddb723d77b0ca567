// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/input/model_input.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>

#include "arrays.hpp"
#include "binding.hpp"

/// @file
/// The keywords that say what a batch is: one list for the signatures and the help of all that take them.

namespace floptally::detail::python {

/// Sequences of a list of (c, h, t) or (c, h, t, g), and of a list of (n, past).
[[nodiscard]] std::vector<sequence> to_hstu_sequences(py::handle list);
[[nodiscard]] std::vector<sequence> to_new_tokens(py::handle list);

/// The keyword arguments that say what a batch is, and what they point to.
class input_arguments {
  public:
    input_arguments(const arguments& given, const mask_set& masks);

    [[nodiscard]] const model_input& input() const { return input_; }

    /// Its sequences that have a past; none where what was counted before may have some.
    [[nodiscard]] std::optional<std::vector<sequence>> cached() const;
    /// The batch as a tally of `masks`, counted without the GIL where it is long.
    [[nodiscard]] tally counted(const model_config& model, const mask_set& masks) const;

  private:
    integer_view keep(py::handle value, const char* field, std::size_t columns = 0);
    void read_lengths();
    void read_boundaries();
    void read_grids(py::handle grid_thw);
    /// What makes a tally of its own.
    void read_counted(const mask_set& masks);
    /// What is given as samples is one pass of the model, unless `measured` says how many there were; a tally has its
    /// own.
    void add_pass(py::handle words, const mask_set& masks);

    const arguments& given_;
    model_input input_;
    std::array<std::optional<integers>, 8> kept_;
    std::size_t kept_count_ = 0;
    std::size_t integers_ = 0;
    bool gives_routed_ = false;
    bool gives_tally_ = false;
};

}  // namespace floptally::detail::python
