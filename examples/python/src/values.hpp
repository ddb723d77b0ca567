// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // in every unit that casts: a caster must be the same type in all of them
#include <span>
#include <string>
#include <string_view>

#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Exact integers and names between C++ and Python.

namespace floptally::python {

namespace py = pybind11;
using namespace py::literals;  // "name"_a

/// An exact int. pybind11 has no caster for 128 bits.
[[nodiscard]] py::object to_int(uint128 value);
[[nodiscard]] inline py::object to_int(flops work) { return to_int(work.value()); }

/// repr(value), for the text of an error.
[[nodiscard]] std::string shown(py::handle value);

/// Formats 0.412 as "41.20 %".
[[nodiscard]] std::string to_percent(double fraction);

/// The int that an object is (`operator.index`), or null if it is none.
[[nodiscard]] py::object index_of(py::handle value);

/// An int from 0 to 2^128 - 1 as FLOPs. Throws an error of the field otherwise.
[[nodiscard]] flops to_flops(py::handle value, std::string_view field);

/// An int from `least` to `most`. Throws an error of the field otherwise.
[[nodiscard]] std::uint64_t to_count(py::handle value, std::string_view field, std::uint64_t least = 0,
                                     std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A number as a double. Throws an error of the field otherwise.
[[nodiscard]] double to_number(py::handle value, std::string_view field);

/// A str. Throws an error of the field otherwise.
[[nodiscard]] std::string to_text(py::handle value, std::string_view field);

/// True for lists and the like; false for texts, mappings, sets and iterators.
[[nodiscard]] bool is_sequence(py::handle value);

/// The items of a list or another iterable. Throws "FIELD: must be EXPECTED, got VALUE" otherwise.
[[nodiscard]] py::tuple items_of(py::handle value, std::string_view field, std::string_view expected = "a list");
/// The items of a list that has `least` to `most`, whatever its len() says. Iterators are refused.
inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
[[nodiscard]] py::tuple items_of(py::handle value, std::string_view field, std::string_view expected, std::size_t least,
                                 std::size_t most);

/// The index of a name in a list. Throws an error of the field with the nearest name.
[[nodiscard]] std::size_t place_of(std::string_view word, std::string_view field, std::span<const char* const> words);

/// The enumerator with this name. `words` must be in the order of the enumerators.
template <class Enum, std::size_t Count>
[[nodiscard]] Enum from_name(std::string_view word, std::string_view field, const char* const (&words)[Count]) {
    return static_cast<Enum>(place_of(word, field, words));
}
template <class Enum, std::size_t Count>
[[nodiscard]] std::string to_name(Enum value, const char* const (&words)[Count]) {
    return words[static_cast<std::size_t>(value)];
}

/// "useful", "padded" or "executed".
[[nodiscard]] view to_view(py::handle word);

/// "; did you mean 'lengths'?" if a name is near, else nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// Reads a name. The error has the nearest of those that `known` lists.
template <class Read, class Known>
[[nodiscard]] decltype(auto) with_hint(std::string_view word, Read read, Known known) {
    try {
        return read(word);
    } catch (const error& problem) {
        throw error(problem.field(), std::string(problem.problem()).append(did_you_mean(word, known())));
    }
}

/// An attribute of a module of the package: package_attribute("_deferred", "Copy").
[[nodiscard]] py::object package_attribute(const char* module, const char* name);

/// floptally.Error, floptally.LeftOut and floptally.Overflow. They are written in Python, since Python code raises them
/// too.
struct error_classes {
    py::object error = package_attribute("_errors", "Error");
    py::object left_out = package_attribute("_errors", "LeftOut");
    py::object overflow = package_attribute("_errors", "Overflow");
};
[[nodiscard]] const error_classes& errors();

/// Below this many integers counting is faster than releasing the GIL and taking it again.
inline constexpr std::size_t worth_releasing = 4096;

/// Runs `work` without the GIL if there is much to do. It must not touch Python, nor anything that another thread may
/// reach.
template <class Work>
void without_gil(std::size_t integers, Work work) {
    if (integers < worth_releasing) {
        work();
        return;
    }
    const py::gil_scoped_release released;
    work();
}

}  // namespace floptally::python
