// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/pybind11.h>
#include <span>
#include <vector>

#include <floptally/detail/python/buffers.hpp>
#include <floptally/detail/python/gil.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>

namespace floptally::detail::python {

/// An attention mask [batch, tokens] of bools or of integers that are 0 or 1, of an array, a tensor or nested lists,
/// added to a tally, or to two (`split_tally`).
template <class Receiver>
void add_attention_mask(Receiver& sum, py::handle value) {
    constexpr const char* field = "attention_mask";
    if (const array_argument array(value, field); array.is_array()) {
        const std::span<const std::int64_t> shape = array.shape();
        if (shape.size() != 2) {
            throw error(field, "must have two dimensions, [batch, tokens], got shape " + array.shape_text());
        }
        const auto rows = static_cast<std::size_t>(shape[0]);
        const auto columns = static_cast<std::size_t>(shape[1]);
        const auto add = [&](const auto* flags) {
            const std::span all(flags, array.size());
            without_gil(all.size(), [&] { sum.add_attention_mask(all, rows, columns); });
        };
        const element_type& type = array.type();
        const void* data = array.data();
        if (type.is == element_type::kind::other) {
            throw error(field, "must be bool or integers, got " + type.name());
        }
        // The bytes of a bool are 0 or 1, which is all that is accepted of integers.
        type.bytes == 1   ? add(static_cast<const std::uint8_t*>(data))
        : type.bytes == 2 ? add(static_cast<const std::uint16_t*>(data))
        : type.bytes == 4 ? add(static_cast<const std::int32_t*>(data))
                          : add(static_cast<const std::int64_t*>(data));
        return;
    }
    if (!is_sequence(value) || py::len(value) == 0) {
        throw error(field, "must be rows of 0 and 1: an array, a tensor or lists, got " + shown(value));
    }
    std::vector<std::int64_t> flags;
    std::size_t rows = 0;
    std::size_t columns = 0;
    for (const py::handle row : py::reinterpret_borrow<py::object>(value)) {
        const integers numbers(row, indexed(field, rows));
        numbers.view().visit([&](const auto& one) {
            columns = rows == 0 ? one.size() : columns;
            if (one.size() != columns) {
                throw error(indexed(field, rows), "must have " + std::to_string(columns) +
                                                      " flags as the row before, got " + std::to_string(one.size()));
            }
            for (const auto flag : one) {
                flags.push_back(static_cast<std::int64_t>(flag));
            }
        });
        ++rows;
    }
    sum.add_attention_mask(flags, rows, columns);
}

}  // namespace floptally::detail::python
