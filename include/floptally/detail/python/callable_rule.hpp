// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>

#include <floptally/detail/array_view.hpp>
#include <floptally/detail/length_block.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/rule_table.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/library_rules.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/rule_text.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally::detail::python {

/// A rule that a Python callable is: its parameters say which. The interpreter's lock is taken for each call, so that
/// counting without it stays possible.
struct callable_rule {
    std::int32_t index;
    std::int32_t is_causal;

    static constexpr std::string_view name = "callable";
    static constexpr bool frames_are_sequences = false;

    struct entry {
        std::string name;
        py::object count;
        bool vectorized;
        bool causal;
        std::int32_t index;

        [[nodiscard]] callable_rule as_rule() const { return {index, causal ? 1 : 0}; }
    };
    /// All of the process. Never destroyed: the interpreter may be gone before.
    [[nodiscard]] static std::deque<entry>& all() {
        static auto* const entries = new std::deque<entry>;
        return *entries;
    }

    [[nodiscard]] static mask make(const std::string& called, const py::object& count, bool vectorized, bool causal) {
        if (!is_name(called)) {
            throw error("name", "must be of a-z, 0-9 and _, got \"" + called + "\"");
        }
        if (is_of_library(called)) {
            throw error("name", "\"" + called + "\" is a rule of the library");
        }
        if (PyCallable_Check(count.ptr()) == 0) {
            throw error("count", "must be callable, got " + shown(count));
        }
        if (const entry* known = find(called)) {
            if (!known->count.is(count) || known->vectorized != vectorized || known->causal != causal) {
                throw error("name", "\"" + called + "\" is another callable already");
            }
            return mask(known->as_rule());
        }
        const auto index = static_cast<std::int32_t>(all().size());
        return mask(all().emplace_back(entry{called, count, vectorized, causal, index}).as_rule());
    }

    [[nodiscard]] static bool is_name(std::string_view text) {
        return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
    }
    /// Whether the text form of a rule of the library begins so: it would be read as that one.
    [[nodiscard]] static bool is_of_library(std::string_view text) {
        const std::string call = std::string(text) + "(1)";
        try {
            rule read;
            const array_view<const rule_table*> tables = tables_in(library_rules{});
            return is_struct_of(text, tables) || read_rule(text, read, tables) || read_rule(call, read, tables);
        } catch (const error&) {  // its, but not with that parameter
            return true;
        }
    }
    /// The entry of that name, or null.
    [[nodiscard]] static const entry* find(std::string_view text) {
        for (const entry& one : all()) {
            if (one.name == text) {
                return &one;
            }
        }
        return nullptr;
    }

    std::uint64_t operator()(const sequence& s) const {
        const py::gil_scoped_acquire lock;
        const entry& own = all()[static_cast<std::size_t>(index)];
        if (!own.vectorized) {
            return to_count(own.count(s.length, s.past, s.keys), own.name);
        }
        if (s.past != 0 || s.keys != 0) {
            throw error(own.name, "takes lengths only: register it without vectorized for a past or an encoder");
        }
        const std::int64_t length = s.length;
        return sum_of(own, &length, 1);
    }
    template <class N>
    [[nodiscard]] std::uint64_t over(const length_block<N>& block) const {
        const py::gil_scoped_acquire lock;
        const entry& own = all()[static_cast<std::size_t>(index)];
        if (own.vectorized) {
            std::int64_t lengths[block_size];
            for (std::size_t i = 0; i < block.size; ++i) {
                lengths[i] = block.lengths[i];
            }
            return sum_of(own, lengths, block.size);
        }
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < block.size; ++i) {
            sum = checked_add(sum, (*this)(sequence{static_cast<std::uint32_t>(block.lengths[i])}), own.name);
        }
        return sum;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return is_causal != 0 ? pair_shape::causal : pair_shape::units; }
    void write(std::string& to) const {
        const py::gil_scoped_acquire lock;  // the list may grow meanwhile
        to.append(all()[static_cast<std::size_t>(index)].name);
    }
    [[nodiscard]] static bool read(std::string_view text, callable_rule& made) {
        const entry* known = find(text);
        made = known != nullptr ? known->as_rule() : made;
        return known != nullptr;
    }

  private:
    [[nodiscard]] static bool is_struct_of(std::string_view text, array_view<const rule_table*> tables) {
        for (const rule_table* one : tables) {
            if (one->name == text) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] static std::uint64_t sum_of(const entry& own, const std::int64_t* lengths, std::size_t n) {
        const py::object counts = own.count(py::array_t<std::int64_t>(static_cast<py::ssize_t>(n), lengths));
        const py::ssize_t size = PyObject_Size(counts.ptr());
        if (size != static_cast<py::ssize_t>(n)) {
            PyErr_Clear();
            throw error(own.name, "must return a number for each of " + std::to_string(n) + " lengths, got " +
                                      (size < 0 ? shown(counts) : std::to_string(size)));
        }
        std::uint64_t sum = 0;
        for (const py::handle one : counts) {
            sum = checked_add(sum, to_count(one, own.name), own.name);
        }
        return sum;
    }
};

}  // namespace floptally::detail::python
