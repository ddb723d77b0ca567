// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/pybind11.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/detail/python/buffers.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>

namespace floptally::detail::python {

/// Whether a value is a list of some kind: no text, no mapping, no set, no iterator.
[[nodiscard]] inline bool is_sequence(py::handle value) {
    return PySequence_Check(value.ptr()) != 0 && !py::isinstance<py::str>(value) && !py::isinstance<py::dict>(value);
}

/// The integers of an argument: those of an array or a tensor where they stand, those of a list copied.
class integers {
  public:
    /// `columns`: an array may have a second dimension of so many (0: it may not).
    integers(py::handle value, std::string_view field, std::size_t columns = 0) : array_(value, field) {
        if (array_.is_array()) {
            view_array(field, columns);
        } else if (is_sequence(value)) {
            append_all(value, field, columns);
        } else {
            throw error(field, "must be a list, an array or a tensor of integers, got " + shown(value));
        }
    }
    integers(const integers&) = delete;  // the view may be of own numbers
    integers& operator=(const integers&) = delete;

    [[nodiscard]] integer_view view() const { return array_.is_array() ? view_ : integer_view(copied_); }
    [[nodiscard]] const void* address() const { return array_.is_array() ? array_.data() : copied_.data(); }

  private:
    void view_array(std::string_view field, std::size_t columns) {
        const std::span<const std::int64_t> shape = array_.shape();
        if (shape.size() != 1 && !(columns != 0 && shape.size() == 2 && std::cmp_equal(shape[1], columns))) {
            const std::string rows = columns == 0 ? "" : " or rows of " + std::to_string(columns);
            throw error(field, "must have one dimension" + rows + ", got shape " + array_.shape_text());
        }
        const element_type& type = array_.type();
        const bool known = type.is == element_type::kind::signed_integer ? view_of<std::int32_t, std::int64_t>(type)
                           : type.is == element_type::kind::unsigned_integer
                               ? view_of<std::uint32_t, std::uint64_t>(type)
                               : false;
        if (!known) {
            throw error(field, "must be int32, int64, uint32 or uint64, got " + type.name());
        }
    }

    template <class Narrow, class Wide>
    bool view_of(const element_type& type) {
        if (type.bytes == sizeof(Narrow)) {
            view_ = std::span(static_cast<const Narrow*>(array_.data()), array_.size());
        } else if (type.bytes == sizeof(Wide)) {
            view_ = std::span(static_cast<const Wide*>(array_.data()), array_.size());
        }
        return type.bytes == sizeof(Narrow) || type.bytes == sizeof(Wide);
    }

    void append_all(py::handle list, std::string_view field, std::size_t columns) {
        if (PyList_CheckExact(list.ptr()) != 0 || PyTuple_CheckExact(list.ptr()) != 0) {
            // Asked for its size each time: an item's `__index__` may change a list.
            copied_.reserve(copied_.size() + static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list.ptr())));
            for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
                append(PySequence_Fast_GET_ITEM(list.ptr(), i), field, static_cast<std::size_t>(i), columns);
            }
            return;
        }
        std::size_t index = 0;
        for (const py::handle item : py::reinterpret_borrow<py::object>(list)) {
            append(item, field, index++, columns);
        }
    }

    void append(py::handle item, std::string_view field, std::size_t index, std::size_t columns) {
        if (PyLong_CheckExact(item.ptr()) != 0) {
            int overflowed = 0;
            const std::int64_t value = PyLong_AsLongLongAndOverflow(item.ptr(), &overflowed);
            if (overflowed == 0) {
                copied_.push_back(value);
                return;
            }
        }
        const auto held = py::reinterpret_borrow<py::object>(item);
        if (columns == 0 || !is_sequence(item)) {
            copied_.push_back(to_integer(item, field, index));
            return;
        }
        const std::size_t before = copied_.size();
        append_all(item, indexed(field, index), 0);
        if (copied_.size() - before != columns) {
            throw error(indexed(field, index), "must have " + std::to_string(columns) + " numbers, got " +
                                                   std::to_string(copied_.size() - before));
        }
    }

    [[nodiscard]] static std::int64_t to_integer(py::handle item, std::string_view field, std::size_t index) {
        const py::object number = index_of(item);
        if (number) {
            int overflowed = 0;
            const std::int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflowed);
            if (overflowed == 0) {
                return value;
            }
        }
        throw error(indexed(field, index), "must be a 64-bit integer, got " + shown(item));
    }

    array_argument array_;
    integer_view view_;
    std::vector<std::int64_t> copied_;
};

}  // namespace floptally::detail::python
