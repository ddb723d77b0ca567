// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/detail/statistic_call.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Attention masks over sequences, as statistics that count the (query, key) pairs of a sequence. Query i of a sequence
/// with `past` cached tokens is at position past + i. Keys are at 0 … past + length − 1. Each closed form is checked by
/// enumeration in tests/statistics/mask.test.cpp and proven in tests/proofs.

/// The types of masks: what a `mask` contains. A class of your own needs the same members (`statistic_type`).
namespace floptally::inline v0_3::mask_statistics {

/// Returns the number of cached and new tokens of a sequence: past + length.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t end_of(const sequence& s) {
    return std::uint64_t{s.past} + s.length;
}

/// Returns the number of pairs, over all lengths of a block, in which the key is more than `reach` tokens before (or
/// after) the query. A sequence of L tokens has t(t + 1)/2 such pairs, with t = L − reach − 1, and
/// none if t is below 1. A negative `reach` means no limit, and the number is 0.
[[nodiscard]] inline std::uint64_t pairs_beyond(const length_block& block, std::int32_t reach) {
    if (reach < 0) {
        return 0;
    }
    if (reach == 0) {
        return (block.squares - block.tokens) / 2;
    }
    const std::uint32_t window = static_cast<std::uint32_t>(reach) + 1;
    std::uint64_t squares = 0;
    std::uint32_t tokens = 0;
#if !defined(__clang__) && !defined(__CUDACC__)  // the front end of nvcc does not know `#pragma GCC unroll`
#pragma GCC unroll 8  // unrolling saves a fifth of the time at -O2; it has no effect on the vectorized loop of -O3
#endif
    for (std::size_t i = 0; i < block.size; ++i) {
        const std::uint32_t difference = block.lengths[i] - window;
        // The excess is 0 if the difference is negative (wrapped around). Compilers can vectorize this expression with
        // SSE2. With SSE2 a comparison would be slow.
        const std::uint32_t excess = difference & ~(0U - (difference >> 31));
        squares += std::uint64_t{excess} * excess;
        tokens += excess;
    }
    return (squares + tokens) / 2;
}

/// A band: a query attends to itself, to `left` keys before it and to `right` keys after it. −1 means no limit, as in
/// flash-attention's `window_size`. Causal, bidirectional and sliding-window masks are bands.
struct band {
    std::int32_t left = -1;
    std::int32_t right = 0;

    static constexpr std::string_view name = "window"sv;
    static constexpr statistic_parameter parameters[] = {{"window.left", -1}, {"window.right", -1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const std::uint64_t before = detail::capped_ramp(end_of(s), left) - detail::capped_ramp(s.past, left);
        return s.length + before + detail::capped_ramp(s.length, right);
    }
    /// Returns the number of pairs of a sequence of `length` tokens without cached tokens.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_length(std::uint64_t length) const {
        return length + detail::capped_ramp(length, left) + detail::capped_ramp(length, right);
    }
    /// Returns the number of pairs over all lengths of a block: the sum of the squares of the lengths, minus the pairs
    /// whose keys are too far before or after the query.
    [[nodiscard]] std::uint64_t over(const length_block& block) const {
        return block.squares - pairs_beyond(block, left) - pairs_beyond(block, right);
    }
    /// Returns true for a causal window with a limit.
    [[nodiscard]] constexpr bool is_sliding_window() const { return left >= 0 && right == 0; }
    [[nodiscard]] constexpr pair_shape shape() const { return right == 0 ? pair_shape::causal : pair_shape::full; }
    [[nodiscard]] constexpr bool counts_by_position() const { return right == 0; }
    [[nodiscard]] constexpr moment_form moments() const {
        if (left >= 0 || right > 0) {
            return {};
        }
        return right == 0 ? moment_form{.exists = true, .half_squares = 1, .half_tokens = 1, .cached = 1}
                          : moment_form{.exists = true, .half_squares = 2, .cached = 1};
    }
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, seen_keys& keys) const {
        const std::uint64_t after = right < 0 ? end_of(s) : end + static_cast<std::uint64_t>(right);
        keys.add(left < 0 ? 0 : detail::back(first, static_cast<std::uint64_t>(left)),
                 detail::smaller(after, end_of(s)));
    }
    /// Appends the text of the band, which `read` reads: "causal", "bidirectional", "sliding_window(4096)",
    /// "window(64,64)".
    void write(std::string& to) const {
        if (right == 0 && left < 0) {
            detail::append(to, {"causal"});
        } else if (right == 0) {
            detail::append(to, {"sliding_window(", std::int64_t{left} + 1, ")"});
        } else if (left < 0 && right < 0) {
            detail::append(to, {"bidirectional"});
        } else {
            detail::append(to, {"window(", left, ",", right, ")"});
        }
    }
    [[nodiscard]] static bool read(std::string_view text, band& result) {
        std::int64_t values[2]{};
        if (detail::read_call(text, "causal", nullptr, 0, values)) {
            result = {};
        } else if (detail::read_call(text, "bidirectional", nullptr, 0, values)) {
            result = {-1, -1};
        } else if (detail::read_call(text, "sliding_window", sliding, 1, values)) {
            result = {detail::in_range(sliding[0], values[0]) - 1, 0};
        } else if (detail::read_call(text, "window", parameters, 2, values)) {
            result = {detail::in_range(parameters[0], values[0]), detail::in_range(parameters[1], values[1])};
        } else {
            return false;
        }
        return true;
    }

    /// Names with which the text of a band may begin, in addition to `name`.
    static constexpr const char* text_names[] = {"causal", "bidirectional", "sliding_window"};
    /// The parameter in texts such as "sliding_window(4096)".
    static constexpr statistic_parameter sliding[] = {{"sliding_window", 1}};
};

/// Causal attention within consecutive chunks of `tokens` tokens: Llama-4's `attention_chunk_size`.
struct chunked {
    std::int32_t tokens;

    static constexpr std::string_view name = "chunked"sv;
    static constexpr statistic_parameter parameters[] = {{"attention_chunk_size", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::chunked_rows(end_of(s), static_cast<std::uint64_t>(tokens)) -
               detail::chunked_rows(s.past, static_cast<std::uint64_t>(tokens));
    }
    /// If a chunk has one token, returns the band in which each token attends only to itself. That band counts the same
    /// pairs.
    [[nodiscard]] constexpr equal_statistic<band> equal() const { return {tokens == 1, {0, 0}}; }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
    constexpr void add_keys(const sequence& /*s*/, std::uint64_t first, std::uint64_t end, seen_keys& keys) const {
        keys.add(first - first % static_cast<std::uint64_t>(tokens), end);
    }
};

/// Causal attention to the `keys` best keys: DeepSeek sparse attention's `index_topk`. The number of pairs is that of a
/// sliding window. The choice of keys depends on the data.
struct top_k {
    std::int32_t keys;

    static constexpr std::string_view name = "top_k"sv;
    static constexpr statistic_parameter parameters[] = {{"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr band canonical() const { return {.left = keys - 1, .right = 0}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return canonical()(s); }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
};

/// Causal attention to compressed keys: each complete block of `ratio` tokens is one key. The query of token t (from 1)
/// attends to ⌊t / ratio⌋ keys.
struct compressed_keys {
    std::int32_t ratio;

    static constexpr std::string_view name = "compressed_keys"sv;
    static constexpr statistic_parameter parameters[] = {{"compression_ratio", 1}};
    static constexpr bool frames_are_sequences = true;

    /// If a block has one token, returns the causal mask, because the causal mask counts the same pairs.
    [[nodiscard]] constexpr equal_statistic<band> equal() const { return {ratio == 1, {}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::compressed_rows(end_of(s), static_cast<std::uint64_t>(ratio)) -
               detail::compressed_rows(s.past, static_cast<std::uint64_t>(ratio));
    }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
    constexpr void add_keys(const sequence& /*s*/, std::uint64_t /*first*/, std::uint64_t end, seen_keys& keys) const {
        keys.add(0, end / static_cast<std::uint64_t>(ratio));
    }
};

/// Causal attention in which every query also attends to the first `tokens` keys (arXiv:1910.10683, section 3.2.1).
struct prefix_lm {
    std::int32_t tokens;

    static constexpr std::string_view name = "prefix_lm"sv;
    static constexpr statistic_parameter parameters[] = {{"prefix_lm", 0}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::triangle(end_of(s)) - detail::triangle(s.past) +
               detail::later_keys(s.past, end_of(s), static_cast<std::uint64_t>(tokens));
    }
    /// If the prefix has at most one token, returns the causal mask. That mask counts the same pairs, because every
    /// query attends to the first key anyway.
    [[nodiscard]] constexpr equal_statistic<band> equal() const { return {tokens <= 1, {}}; }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::full; }
    constexpr void add_keys(const sequence& s, std::uint64_t /*first*/, std::uint64_t end, seen_keys& keys) const {
        const auto prefix = static_cast<std::uint64_t>(tokens);
        keys.add(0, detail::larger(end, detail::smaller(prefix, end_of(s))));
    }
};

/// The base class of statistics with a causal window. It stores the window, and converts it to and from the number in
/// texts. Construct the derived struct as `Statistic{{left}}`.
template <class Statistic>
struct of_window {
    std::int32_t left;  ///< largest number of keys before a query: the window minus the query's own token

    static constexpr statistic_parameter parameters[] = {{"sliding_window", 1}};
    static constexpr bool frames_are_sequences = true;

    [[nodiscard]] static constexpr Statistic from(const std::int64_t* values) {
        return {{static_cast<std::int32_t>(values[0] - 1)}};
    }
    constexpr void values(std::int64_t* to) const { to[0] = window(); }
    /// Returns the window in tokens, including the query's own.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int64_t window() const { return std::int64_t{left} + 1; }
};

/// L·min(L, W) pairs for a sequence of L tokens and a window of W tokens. This is the size of a product with a table of
/// relative positions (DeBERTa): L rows and min(L, W) columns.
struct box : of_window<box> {
    static constexpr std::string_view name = "box"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto limit = static_cast<std::uint64_t>(window());
        return s.length * detail::smaller(end_of(s), limit);
    }
};

}  // namespace floptally::mask_statistics
