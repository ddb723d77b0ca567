// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include <floptally/rules/mask.hpp>

// A mask of one's own of which a member is nearly what a rule reads: INVALID says which.
#ifndef INVALID
#define INVALID 0
#endif

using floptally::pair_shape;
using floptally::sequence;

struct half_window {
#if INVALID == 1
    std::int64_t tokens;
#elif INVALID == 2
    std::uint32_t tokens;
#else
    std::int32_t tokens;
#endif
    static constexpr std::string_view name = "half_window";

#if INVALID == 3
    constexpr double operator()(const sequence& s) const { return s.length * 0.5; }
#elif INVALID == 4
    constexpr int operator()(const sequence& s) const { return static_cast<int>(s.length) - 9; }
#else
    constexpr std::uint64_t operator()(const sequence& s) const { return s.length / 2; }
#endif

#if INVALID == 5
    constexpr pair_shape shape() { return pair_shape::causal; }
#elif INVALID == 6
    static constexpr pair_shape shapes() { return pair_shape::causal; }
#elif INVALID == 7
    static constexpr pair_shape shape = pair_shape::causal;
#else
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
#endif

#if INVALID == 8
    constexpr void add_keys(const sequence&, std::uint64_t first, std::uint64_t end, auto& keys) {
        keys.add(first, end);
    }
#elif INVALID == 9
    constexpr void add_key(const sequence&, std::uint64_t first, std::uint64_t end, auto& keys) const {
        keys.add(first, end);
    }
#elif INVALID == 10
    constexpr void add_keys(std::uint64_t first, std::uint64_t end, auto& keys) const { keys.add(first, end); }
#else
    constexpr void add_keys(const sequence&, std::uint64_t first, std::uint64_t end, auto& keys) const {
        keys.add(first, end);
    }
#endif

#if INVALID == 11
    constexpr int operator()(const floptally::grid& g) const { return static_cast<int>(g.h); }
#endif
#if INVALID == 12
    static constexpr const char* parameters[] = {"tokens"};
#else
    static constexpr floptally::rule_parameter parameters[] = {{"tokens", 1}};
#endif
};

int main() { return floptally::mask(half_window{4}).is_measured() ? 1 : 0; }
