// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include <floptally/parallel/statistic_scope.hpp>

#include "classes.hpp"

/// @file
/// Collectives and scopes of a call, for all units that sum or compare over ranks.

namespace floptally::detail::python {

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

/// A scope, or the preset of that name.
[[nodiscard]] statistic_scope to_scope(py::handle scope, std::string_view field);

}  // namespace floptally::detail::python
