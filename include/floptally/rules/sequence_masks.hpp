// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/pair_rows.hpp>
#include <floptally/rules/detail/rule_call.hpp>
#include <floptally/rules/length_block.hpp>
#include <floptally/rules/seen_keys.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The masks of attention over sequences, as rules that count the (query, key) pairs of a sequence. Query i of a
/// sequence with `past` cached tokens stands at position past + i; keys stand at 0 … past + length − 1. Each closed
/// form is enumerated in tests/rules/mask.test.cpp and proven in tests/proofs.

namespace floptally::mask_rules {

/// The past and new tokens of a sequence.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t end_of(const sequence& s) {
    return std::uint64_t{s.past} + s.length;
}

/// A band: a query sees `left` keys before it, `right` after it, and its own; −1 is unlimited, as in flash-attention's
/// `window_size`. Causal, bidirectional and sliding windows are bands.
struct band {
    std::int32_t left = -1;
    std::int32_t right = 0;

    static constexpr std::string_view name = "window"sv;
    static constexpr rule_parameter parameters[] = {{"window.left", -1}, {"window.right", -1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const std::uint64_t before = detail::capped_ramp(end_of(s), left) - detail::capped_ramp(s.past, left);
        return s.length + before + detail::capped_ramp(s.length, right);
    }
    /// The pairs of a sequence of `length` tokens without a past.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t of_length(std::uint64_t length) const {
        return length + detail::capped_ramp(length, left) + detail::capped_ramp(length, right);
    }
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        return block.tokens + block.capped_ramps(left) + block.capped_ramps(right);
    }
    /// True for a causal window of limited keys.
    [[nodiscard]] constexpr bool is_sliding_window() const { return left >= 0 && right == 0; }
    [[nodiscard]] constexpr pair_shape shape() const { return right == 0 ? pair_shape::causal : pair_shape::full; }
    [[nodiscard]] constexpr moment_form moments() const {
        if (left >= 0 || right > 0) {
            return {};
        }
        return right == 0 ? moment_form{.exists = true, .half_squares = 1, .half_tokens = 1, .cached = 1}
                          : moment_form{.exists = true, .half_squares = 2, .cached = 1};
    }
    constexpr void add_keys(const sequence& s, std::uint64_t first, std::uint64_t end, detail::seen_keys& keys) const {
        const std::uint64_t after = right < 0 ? end_of(s) : end + static_cast<std::uint64_t>(right);
        keys.add(left < 0 ? 0 : detail::back(first, static_cast<std::uint64_t>(left)),
                 detail::smaller(after, end_of(s)));
    }
    /// Its text form, "causal", "bidirectional", "sliding_window(4096)", "window(64,64)", and back.
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
    [[nodiscard]] static bool read(std::string_view text, band& made) {
        std::int64_t values[2]{};
        if (detail::read_call(text, "causal", nullptr, 0, values)) {
            made = {};
        } else if (detail::read_call(text, "bidirectional", nullptr, 0, values)) {
            made = {-1, -1};
        } else if (detail::read_call(text, "sliding_window", sliding, 1, values)) {
            made = {detail::in_range(sliding[0], values[0]) - 1, 0};
        } else if (detail::read_call(text, "window", parameters, 2, values)) {
            made = {detail::in_range(parameters[0], values[0]), detail::in_range(parameters[1], values[1])};
        } else {
            return false;
        }
        return true;
    }

    /// The names by which its text may begin, besides its own.
    static constexpr const char* text_names[] = {"causal", "bidirectional", "sliding_window"};
    /// The parameter of the text form "sliding_window(4096)".
    static constexpr rule_parameter sliding[] = {{"sliding_window", 1}};
};

/// Causal within consecutive chunks of so many tokens: Llama-4's `attention_chunk_size`.
struct chunked {
    std::int32_t tokens;

    static constexpr std::string_view name = "chunked"sv;
    static constexpr rule_parameter parameters[] = {{"attention_chunk_size", 1}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::chunked_rows(end_of(s), static_cast<std::uint64_t>(tokens)) -
               detail::chunked_rows(s.past, static_cast<std::uint64_t>(tokens));
    }
    /// With r = L mod c, a length's pairs are ((L − r)(c + 1) + r² + r)/2 = (L(c + 1) − r(c − r))/2.
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        if (detail::is_beyond<N>(tokens)) {
            return (block.squares + block.tokens) / 2;
        }
        const auto chunk = static_cast<std::uint64_t>(tokens);
        return (block.tokens * (chunk + 1) - block.unfilled_chunks(static_cast<N>(tokens))) / 2;
    }
    /// The band of chunks of one token: each sees itself.
    [[nodiscard]] constexpr equal_rule<band> equal() const { return {tokens == 1, {0, 0}}; }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
    constexpr void add_keys(const sequence& /*s*/, std::uint64_t first, std::uint64_t end,
                            detail::seen_keys& keys) const {
        keys.add(first - first % static_cast<std::uint64_t>(tokens), end);
    }
};

/// Causal over the best keys only: DeepSeek sparse attention's `index_topk`. It has as many pairs as a sliding window,
/// but the data choose which.
struct top_k {
    std::int32_t keys;

    static constexpr std::string_view name = "top_k"sv;
    static constexpr rule_parameter parameters[] = {{"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr band canonical() const { return {.left = keys - 1, .right = 0}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return canonical()(s); }
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        return canonical().over(block);
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
};

/// Causal over compressed keys: each complete block of `ratio` tokens is one key. The rows have Σ ⌊i / ratio⌋ pairs.
struct compressed_keys {
    std::int32_t ratio;

    static constexpr std::string_view name = "compressed_keys"sv;
    static constexpr rule_parameter parameters[] = {{"compression_ratio", 1}};
    static constexpr bool frames_are_sequences = true;

    /// The causal mask where blocks have one token.
    [[nodiscard]] constexpr equal_rule<band> equal() const { return {ratio == 1, {}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::compressed_rows(end_of(s), static_cast<std::uint64_t>(ratio)) -
               detail::compressed_rows(s.past, static_cast<std::uint64_t>(ratio));
    }
    /// With r = L mod k, a length's pairs are (L² − r² − (k − 2)(L − r))/2k = (L² − (k − 2)L + r(k − 2 − r))/2k; and
    /// r(k − 2 − r) = (r + 1)(k − 1 − r) − (k − 1), whose factors are not negative.
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        if (detail::is_beyond<N>(ratio)) {
            return 0;
        }
        const auto k = static_cast<N>(ratio);
        const detail::modulus<N> remainder(k);
        const std::uint64_t products = block.sum_products([k, remainder](N length, detail::product_sum<N>& sum) {
            const N r = remainder(length);
            sum.add(static_cast<N>(r + 1), static_cast<N>(k - 1 - r));
        });
        const auto wide = static_cast<std::uint64_t>(ratio);
        return (block.squares + 2 * block.tokens - wide * block.tokens + products - (wide - 1) * block.size) /
               (2 * wide);
    }
    constexpr void add_keys(const sequence& /*s*/, std::uint64_t /*first*/, std::uint64_t end,
                            detail::seen_keys& keys) const {
        keys.add(0, end / static_cast<std::uint64_t>(ratio));
    }
};

/// Causal, but the first `tokens` keys are seen by every query (arXiv:1910.10683, section 3.2.1).
struct prefix_lm {
    std::int32_t tokens;

    static constexpr std::string_view name = "prefix_lm"sv;
    static constexpr rule_parameter parameters[] = {{"prefix_lm", 0}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return detail::triangle(end_of(s)) - detail::triangle(s.past) +
               detail::later_keys(s.past, end_of(s), static_cast<std::uint64_t>(tokens));
    }
    /// The pairs are causal, and m(m − 1)/2 with keys after their queries where m = min(L, prefix); m = L − (excess of
    /// L over the prefix).
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        if (detail::is_beyond<N>(tokens)) {
            return block.squares;
        }
        const auto limit = static_cast<N>(tokens);
        const std::uint64_t later = block.sum_products([limit](N length, detail::product_sum<N>& sum) {
            const auto m = static_cast<N>(length - static_cast<N>(detail::larger(length, limit) - limit));
            sum.add(m, static_cast<N>(detail::larger(m, N{1}) - 1));
        });
        return (block.squares + block.tokens + later) / 2;
    }
    /// The causal mask for a prefix of at most one token: every query sees the first key anyway.
    [[nodiscard]] constexpr equal_rule<band> equal() const { return {tokens <= 1, {}}; }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::full; }
    constexpr void add_keys(const sequence& s, std::uint64_t /*first*/, std::uint64_t end,
                            detail::seen_keys& keys) const {
        const auto prefix = static_cast<std::uint64_t>(tokens);
        keys.add(0, detail::larger(end, detail::smaller(prefix, end_of(s))));
    }
};

/// The limit and text that rules of a causal window share. `Rule` is the struct that derives from it, which is made as
/// `Rule{{left}}`.
template <class Rule>
struct of_window {
    std::int32_t left;  ///< keys before a query: the window less the token itself

    static constexpr rule_parameter parameters[] = {{"sliding_window", 1}};
    static constexpr bool frames_are_sequences = true;

    [[nodiscard]] static constexpr Rule from(const std::int64_t* values) {
        return {{static_cast<std::int32_t>(values[0] - 1)}};
    }
    constexpr void values(std::int64_t* to) const { to[0] = window(); }
    /// The window in tokens, the query's own included.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int64_t window() const { return std::int64_t{left} + 1; }
};

/// The box L·min(L, W): rows times columns of a product with a table of positions (DeBERTa).
struct box : of_window<box> {
    static constexpr std::string_view name = "box"sv;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto limit = static_cast<std::uint64_t>(window());
        return s.length * detail::smaller(end_of(s), limit);
    }
    /// L·min(L, w) = L² − L·(excess of L over w).
    template <class N>
    [[nodiscard]] std::uint64_t over(const detail::length_block<N>& block) const {
        if (detail::is_beyond<N>(window())) {
            return block.squares;
        }
        const auto limit = static_cast<N>(window());
        const std::uint64_t beyond = block.sum_products([limit](N length, detail::product_sum<N>& sum) {
            sum.add(length, static_cast<N>(detail::larger(length, limit) - limit));
        });
        return block.squares - beyond;
    }
};

}  // namespace floptally::mask_rules
