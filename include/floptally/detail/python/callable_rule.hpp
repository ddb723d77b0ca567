// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/detail/length_block.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/rule_call.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/sequence.hpp>
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
    };
    /// All of the process. Never destroyed: the interpreter may be gone before.
    [[nodiscard]] static std::deque<entry>& all() {
        static auto* const entries = new std::deque<entry>;
        return *entries;
    }

    [[nodiscard]] static mask make(const std::string& name, const py::object& count, bool vectorized, bool causal) {
        const bool valid =
            !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == name.npos;
        if (!valid) {
            throw error("name", "must be of a-z, 0-9 and _, got \"" + name + "\"");
        }
        if (PyCallable_Check(count.ptr()) == 0) {
            throw error("count", "must be callable, got " + shown(count));
        }
        for (std::size_t i = 0; i < all().size(); ++i) {
            const entry& known = all()[i];
            if (known.name == name) {
                if (!known.count.is(count) || known.vectorized != vectorized || known.causal != causal) {
                    throw error("name", "\"" + name + "\" is another callable already");
                }
                return mask(callable_rule{static_cast<std::int32_t>(i), causal ? 1 : 0});
            }
        }
        all().push_back({name, count, vectorized, causal});
        return mask(callable_rule{static_cast<std::int32_t>(all().size()) - 1, causal ? 1 : 0});
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
    void write(std::string& to) const { to.append(all()[static_cast<std::size_t>(index)].name); }
    [[nodiscard]] static bool read(std::string_view text, callable_rule& made) {
        for (std::size_t i = 0; i < all().size(); ++i) {
            if (all()[i].name == text) {
                made = {static_cast<std::int32_t>(i), all()[i].causal ? 1 : 0};
                return true;
            }
        }
        return false;
    }

  private:
    [[nodiscard]] static std::uint64_t sum_of(const entry& own, const std::int64_t* lengths, std::size_t n) {
        const py::object counts = own.count(py::array_t<std::int64_t>(static_cast<py::ssize_t>(n), lengths));
        if (py::len(counts) != n) {
            throw error(own.name, "must return a number for each of " + std::to_string(n) + " lengths, got " +
                                      std::to_string(py::len(counts)));
        }
        std::uint64_t sum = 0;
        for (const py::handle one : counts) {
            sum = checked_add(sum, to_count(one, own.name), own.name);
        }
        return sum;
    }
};

}  // namespace floptally::detail::python
