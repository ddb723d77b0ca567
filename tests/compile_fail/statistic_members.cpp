// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include <floptally/statistics/mask.hpp>

// A user's mask with one member of the wrong signature. INVALID says which member.
#ifndef INVALID
#define INVALID 0
#endif

using floptally::grid;
using floptally::moment_form;
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
    static constexpr pair_shape shape = pair_shape::causal;
#elif INVALID == 7
    [[nodiscard]] constexpr int shape() const { return 2; }
#else
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
#endif

#if INVALID == 8
    constexpr void add_keys(const sequence&, std::uint64_t first, std::uint64_t end, auto& keys) {
        keys.add(first, end);
    }
#elif INVALID == 9
    constexpr void add_keys(std::uint64_t first, std::uint64_t end, auto& keys) const { keys.add(first, end); }
#else
    constexpr void add_keys(const sequence&, std::uint64_t first, std::uint64_t end, auto& keys) const {
        keys.add(first, end);
    }
#endif

#if INVALID == 10
    constexpr int operator()(const grid& g) const { return static_cast<int>(g.h); }
#elif INVALID == 11
    [[nodiscard]] constexpr double of_frame(const grid& g) const { return g.h * 0.5; }
#endif
#if INVALID == 12
    static constexpr const char* parameters[] = {"tokens"};
#elif INVALID == 13
    static constexpr floptally::statistic_parameter parameters = {"tokens", 1};
#else
    static constexpr floptally::statistic_parameter parameters[] = {{"tokens", 1}};
#endif

#if INVALID == 14
    constexpr moment_form moments() { return {}; }
#else
    [[nodiscard]] constexpr moment_form moments() const { return {}; }
#endif
#if INVALID == 15
    constexpr half_window canonical() { return *this; }
#else
    [[nodiscard]] constexpr half_window canonical() const { return *this; }
#endif
#if INVALID == 16
    [[nodiscard]] constexpr half_window equal() const { return *this; }
#else
    [[nodiscard]] constexpr floptally::equal_statistic<half_window> equal() const { return {}; }
#endif
#if INVALID == 17
    [[nodiscard]] constexpr bool problem_of(const grid& /*of*/) const { return false; }
#else
    [[nodiscard]] constexpr floptally::grid_problem problem_of(const grid& /*of*/) const { return {}; }
#endif
#if INVALID == 18
    std::uint64_t over(const floptally::length_block* lengths) const;
#else
    [[nodiscard]] std::uint64_t over(const floptally::length_block& /*lengths*/) const { return 0; }
#endif
#if INVALID == 19
    [[nodiscard]] constexpr bool frames_are_sequences() const { return false; }
#elif INVALID == 20
    [[nodiscard]] constexpr bool is_of_other_side() const { return false; }
#elif INVALID == 21
    [[nodiscard]] constexpr bool reads_other_side() const { return false; }
#else
    static constexpr bool frames_are_sequences = false, is_of_other_side = false, reads_other_side = false;
#endif
#if INVALID == 22
    static constexpr bool counts_by_position = true;
#else
    [[nodiscard]] constexpr bool counts_by_position() const { return false; }
#endif
};

int main() { return floptally::mask(half_window{4}).is_measured() ? 1 : 0; }
