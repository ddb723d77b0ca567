// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/did_you_mean.hpp>
#include <floptally/detail/shortened.hpp>
#include <floptally/error.hpp>
#include <floptally/flops.hpp>

/// @file
/// Exact integers and words between C++ and Python.

namespace floptally::detail::python {

namespace py = pybind11;

/// One exact int. pybind11 has no caster for 128 bits.
[[nodiscard]] inline py::object to_int(uint128 value) {
    py::int_ low(static_cast<std::uint64_t>(value));
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return high == 0 ? static_cast<py::object>(std::move(low)) : (py::int_(high) << py::int_(64)) | low;
}
[[nodiscard]] inline py::object to_int(flops work) { return to_int(work.value()); }

/// repr(value), for the text of an error.
[[nodiscard]] inline std::string shown(py::handle value) { return shortened(py::repr(value)); }

/// "41.20 %" of 0.412.
[[nodiscard]] inline std::string to_percent(double fraction) {
    if (!(fraction < 1e12)) {
        return std::to_string(fraction * 100).append(" %");
    }
    const auto hundredths = static_cast<std::uint64_t>(fraction * 10000 + 0.5);
    const std::uint64_t rest = hundredths % 100;
    return std::to_string(hundredths / 100).append(rest < 10 ? ".0" : ".").append(std::to_string(rest)).append(" %");
}

/// An int below 2^128 as FLOPs.
[[nodiscard]] inline flops to_flops(const py::int_& count, std::string_view field) {
    const py::int_ low_bits(std::numeric_limits<std::uint64_t>::max());
    if (PyObject_IsTrue((count >> py::int_(128)).ptr()) != 0) {
        throw error(field, "must be an integer from 0 to 2^128 - 1, got " + shown(count));
    }
    const auto limb = [&](int shift) { return ((count >> py::int_(shift)) & low_bits).cast<std::uint64_t>(); };
    return flops{(uint128{limb(64)} << 64) | limb(0)};
}

/// The int that an object is (`operator.index`), or nothing where it is none.
[[nodiscard]] inline py::object index_of(py::handle value) {
    PyObject* index = PyNumber_Index(value.ptr());
    if (index == nullptr) {
        PyErr_Clear();
        return {};
    }
    return py::reinterpret_steal<py::object>(index);
}

/// An int from `least` to `most`, or an error that names the field.
[[nodiscard]] inline std::uint64_t to_count(py::handle value, std::string_view field, std::uint64_t least = 0,
                                            std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) {
    const py::object index = index_of(value);
    std::uint64_t count = 0;
    bool good = static_cast<bool>(index);
    if (good) {
        count = PyLong_AsUnsignedLongLong(index.ptr());
        if (PyErr_Occurred() != nullptr) {  // negative, or above 2^64
            PyErr_Clear();
            good = false;
        }
    }
    if (!good || count < least || count > most) {
        throw error(field, std::string("must be an integer from ")
                               .append(std::to_string(least))
                               .append(" to ")
                               .append(std::to_string(most))
                               .append(", got ")
                               .append(shown(value)));
    }
    return count;
}

/// A number as a double, or an error that names the field.
[[nodiscard]] inline double to_number(py::handle value, std::string_view field) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw error(field, "must be a number, got " + shown(value));
    }
    return number;
}

/// What an instance of a subclass keeps in its __dict__; empty where there is none.
[[nodiscard]] inline py::dict attributes_of(const py::object& self) {
    return py::hasattr(self, "__dict__") ? py::dict(self.attr("__dict__")) : py::dict();
}

/// The enumerator whose word this is; `words` are in the order of the enumerators.
template <class Enum, std::size_t Count>
[[nodiscard]] Enum from_word(std::string_view word, std::string_view field, const char* const (&words)[Count]) {
    std::string known;
    for (std::size_t i = 0; i < Count; ++i) {
        if (word == words[i]) {
            return static_cast<Enum>(i);
        }
        append_item(known, words[i]);
    }
    std::array<std::string_view, Count> all;
    std::copy(std::begin(words), std::end(words), all.begin());
    throw error(field, std::string("must be one of ")
                           .append(known)
                           .append(", got \"")
                           .append(word)
                           .append("\"")
                           .append(did_you_mean(word, all)));
}

template <class Enum, std::size_t Count>
[[nodiscard]] std::string to_word(Enum value, const char* const (&words)[Count]) {
    return words[static_cast<std::size_t>(value)];
}

}  // namespace floptally::detail::python
