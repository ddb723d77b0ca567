// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/bytes/communication.hpp>
#include <floptally/parallel/pipeline_split.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/step/layout_text.hpp>

#include "classes.hpp"

/// @file
/// Collectives and scopes of a call, for all units that sum or compare over ranks.

namespace floptally::python {

/// A reducer written in Python: `sum(integers)` and `max(integers)` change an array of uint64 in place. The array is a
/// copy, so Python may keep it.
class python_reducer {
  public:
    explicit python_reducer(py::object over) : over_(std::move(over)) {}

    void sum(std::span<std::uint64_t> accumulators) const { reduce("sum", accumulators); }
    void max(std::span<std::uint64_t> accumulators) const { reduce("max", accumulators); }

  private:
    void reduce(const char* how, std::span<std::uint64_t> accumulators) const {
        py::array_t<std::uint64_t> message(static_cast<py::ssize_t>(accumulators.size()), accumulators.data());
        over_.attr(how)(message);
        std::copy(message.data(), message.data() + accumulators.size(), accumulators.begin());
    }

    py::object over_;
};

/// A scope, or the preset of this name.
[[nodiscard]] statistic_scope to_scope(py::handle scope, std::string_view field);

/// The layout of a call's arguments: sizes by name, or `layout`, a trainer's settings.
[[nodiscard]] trainer_layout layout_of(const arguments& args);

/// The split of a pipeline's layers that a call's arguments say.
[[nodiscard]] pipeline_options split_options_of(const arguments& args);

/// Sets the bandwidth of a group, or of the links "within" or "between" nodes.
void put_bandwidth(group_bandwidths& bandwidths, const std::string& group, double gbps);

}  // namespace floptally::python
