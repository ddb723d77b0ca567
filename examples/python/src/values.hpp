// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // in every unit that casts: a caster is one type in all of them
#include <span>
#include <string>
#include <string_view>

#include <floptally/integer/flops.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Exact integers and words between C++ and Python.

namespace floptally::detail::python {

namespace py = pybind11;
using namespace py::literals;  // "name"_a

/// An exact int. pybind11 has no caster for 128 bits.
[[nodiscard]] py::object to_int(uint128 value);
[[nodiscard]] inline py::object to_int(flops work) { return to_int(work.value()); }

/// repr(value), for the text of an error.
[[nodiscard]] std::string shown(py::handle value);

/// "41.20 %" of 0.412.
[[nodiscard]] std::string to_percent(double fraction);

/// The int that an object is (`operator.index`), or null where it is none.
[[nodiscard]] py::object index_of(py::handle value);

/// An int from 0 to 2^128 - 1 as FLOPs, or an error that names the field.
[[nodiscard]] flops to_flops(py::handle value, std::string_view field);

/// An int from `least` to `most`, or an error that names the field.
[[nodiscard]] std::uint64_t to_count(py::handle value, std::string_view field, std::uint64_t least = 0,
                                     std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

/// A number as a double, or an error that names the field.
[[nodiscard]] double to_number(py::handle value, std::string_view field);

/// A str, or an error that names the field.
[[nodiscard]] std::string to_text(py::handle value, std::string_view field);

/// True where a value is a list of some kind: no text, no mapping, no set, no iterator.
[[nodiscard]] bool is_sequence(py::handle value);

/// What a list holds, or what can be gone through; else an error: "FIELD: must be EXPECTED, got VALUE".
[[nodiscard]] py::tuple items_of(py::handle value, std::string_view field, std::string_view expected = "a list");
/// What a list of `least` to `most` items holds, whatever length it says; iterators are none.
inline constexpr std::size_t any_number = std::numeric_limits<std::size_t>::max();
[[nodiscard]] py::tuple items_of(py::handle value, std::string_view field, std::string_view expected, std::size_t least,
                                 std::size_t most);

/// The place of a word in a list, or an error that names the field and the nearest word.
[[nodiscard]] std::size_t place_of(std::string_view word, std::string_view field, std::span<const char* const> words);

/// The enumerator whose word this is; `words` are in the order of the enumerators.
template <class Enum, std::size_t Count>
[[nodiscard]] Enum from_word(std::string_view word, std::string_view field, const char* const (&words)[Count]) {
    return static_cast<Enum>(place_of(word, field, words));
}
template <class Enum, std::size_t Count>
[[nodiscard]] std::string to_word(Enum value, const char* const (&words)[Count]) {
    return words[static_cast<std::size_t>(value)];
}

/// "useful", "padded" or "executed".
[[nodiscard]] view to_view(py::handle word);

/// "; did you mean 'lengths'?" where one of the words is near, else nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

/// Reads a word; its error names the nearest of those that `known` lists.
template <class Read, class Known>
[[nodiscard]] decltype(auto) with_hint(std::string_view word, Read read, Known known) {
    try {
        return read(word);
    } catch (const error& problem) {
        throw error(problem.field(), std::string(problem.problem()).append(did_you_mean(word, known())));
    }
}

/// An attribute of a module of the package: of("_later", "Copy").
[[nodiscard]] py::object package_attribute(const char* module, const char* name);

/// floptally.Error, floptally.LeftOut and floptally.Overflow, which are written in Python: adapters there raise them
/// too.
struct error_classes {
    py::object error = package_attribute("_errors", "Error");
    py::object left_out = package_attribute("_errors", "LeftOut");
    py::object overflow = package_attribute("_errors", "Overflow");
};
[[nodiscard]] const error_classes& errors();

/// Below so many integers counting takes less than giving up the GIL and getting it back.
inline constexpr std::size_t worth_releasing = 4096;

/// Runs `work` without the GIL where there is much to do. It must touch nothing of Python, nor what another thread may
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

}  // namespace floptally::detail::python
