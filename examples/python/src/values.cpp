// SPDX-License-Identifier: Apache-2.0

#include "values.hpp"

#include <vector>

#include <floptally/lists/vector.hpp>
#include <floptally/spec_language/nearest.hpp>
#include <floptally/text/text.hpp>

namespace floptally::python {

py::object to_int(uint128 value) {
    py::int_ low(static_cast<std::uint64_t>(value));
    const auto high = static_cast<std::uint64_t>(value >> 64);
    return high == 0 ? static_cast<py::object>(std::move(low)) : (py::int_(high) << py::int_(64)) | low;
}

std::string shown(py::handle value) { return detail::shortened(py::repr(value)); }

std::string to_percent(double fraction) {
    if (!(fraction < 1e12)) {
        return std::to_string(fraction * 100).append(" %");
    }
    const auto hundredths = static_cast<std::uint64_t>(fraction * 10000 + 0.5);
    const std::uint64_t rest = hundredths % 100;
    return std::to_string(hundredths / 100).append(rest < 10 ? ".0" : ".").append(std::to_string(rest)).append(" %");
}

py::object index_of(py::handle value) {
    if (PyBool_Check(value.ptr()) != 0) {  // True and False are refused where a number is required
        return {};
    }
    PyObject* index = PyNumber_Index(value.ptr());
    if (index == nullptr) {
        PyErr_Clear();
    }
    return py::reinterpret_steal<py::object>(index);
}

flops to_flops(py::handle value, std::string_view field) {
    const py::object count = index_of(value);
    if (!count || PyObject_IsTrue((count >> py::int_(128)).ptr()) != 0) {
        throw error(field, "must be an integer from 0 to 2^128 - 1, got " + shown(value));
    }
    const py::int_ low_bits(std::numeric_limits<std::uint64_t>::max());
    const auto limb = [&](int shift) { return ((count >> py::int_(shift)) & low_bits).cast<std::uint64_t>(); };
    return flops{(uint128{limb(64)} << 64) | limb(0)};
}

std::uint64_t to_count(py::handle value, std::string_view field, std::uint64_t least, std::uint64_t most) {
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
        throw error(field, "must be an integer from " + std::to_string(least) + " to " + std::to_string(most) +
                               ", got " + shown(value));
    }
    return count;
}

double to_number(py::handle value, std::string_view field) {
    const double number = PyFloat_AsDouble(value.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        throw error(field, "must be a number, got " + shown(value));
    }
    return number;
}

std::string to_text(py::handle value, std::string_view field) {
    if (!py::isinstance<py::str>(value)) {
        throw error(field, "must be a str, got " + shown(value));
    }
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (text == nullptr) {
        PyErr_Clear();
        throw error(field, "must be valid Unicode, got half of a surrogate pair");
    }
    return {text, static_cast<std::size_t>(size)};
}

bool is_sequence(py::handle value) {
    return PySequence_Check(value.ptr()) != 0 && !py::isinstance<py::str>(value) && !py::isinstance<py::dict>(value);
}

py::tuple items_of(py::handle value, std::string_view field, std::string_view expected) {
    const bool is_word = py::isinstance<py::str>(value) || py::isinstance<py::dict>(value);
    const auto each = py::reinterpret_steal<py::object>(is_word ? nullptr : PyObject_GetIter(value.ptr()));
    if (!each) {
        PyErr_Clear();
        throw error(field, std::string("must be ").append(expected).append(", got ").append(shown(value)));
    }
    PyObject* const items = PySequence_Tuple(each.ptr());
    if (items == nullptr) {
        throw py::error_already_set();  // raised by the object's own code
    }
    return py::reinterpret_steal<py::tuple>(items);
}

namespace {

/// True for a tensor in host memory of a library that gives its tensors no sequence protocol, such as PyTorch.
bool is_host_tensor(py::handle value) {
    if (!py::hasattr(value, "tolist") || !py::hasattr(value, "__dlpack_device__")) {
        return false;
    }
    constexpr int cpu = 1;
    constexpr int pinned = 3;
    const int device = py::tuple(value.attr("__dlpack_device__")())[0].cast<int>();
    return device == cpu || device == pinned;
}

}  // namespace

py::tuple items_of(py::handle value, std::string_view field, std::string_view expected, std::size_t least,
                   std::size_t most) {
    if (!is_sequence(value) && is_host_tensor(value)) {
        if (const py::object list = value.attr("tolist")(); is_sequence(list)) {
            return items_of(list, field, expected, least, most);
        }
    }
    const py::tuple items = is_sequence(value) ? items_of(value, field, expected) : py::tuple();
    if (!is_sequence(value) || items.size() < least || items.size() > most) {
        throw error(field, std::string("must be ").append(expected).append(", got ").append(shown(value)));
    }
    return items;
}

std::size_t place_of(std::string_view word, std::string_view field, std::span<const char* const> words) {
    std::string known;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (word == words[i]) {
            return i;
        }
        append_item(known, words[i]);
    }
    const std::vector<std::string_view> all(words.begin(), words.end());
    throw error(field, "must be one of " + known + ", got \"" + std::string(word) + "\"" + did_you_mean(word, all));
}

view to_view(py::handle word) {
    if (!py::isinstance<py::str>(word)) {
        throw error("view", "must be useful, padded or executed, got " + shown(word));
    }
    return from_name<view>(to_text(word, "view"), "view", {"useful", "padded", "executed"});
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    detail::specs::vector<std::string_view> words;
    for (const std::string_view each : known) {
        words.push_back(each);
    }
    const std::string_view near = detail::specs::nearest(word, words);
    return near.empty() || near == word ? std::string() : std::string("; did you mean '").append(near).append("'?");
}

const error_classes& errors() {
    static const auto* const classes = new error_classes;  // lives as long as the process
    return *classes;
}

py::object package_attribute(const char* module, const char* name) {
    return py::module_::import((std::string("floptally.") + module).c_str()).attr(name);
}

}  // namespace floptally::python
