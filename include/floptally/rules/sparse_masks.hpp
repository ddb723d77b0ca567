// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/rules/detail/pair_rows.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// Sparse attention of 2026's models: over the best of the keys before a query. The data choose which keys; the length
/// gives their number. Row i has seen t = i + 1 tokens. Enumerated in tests/rules/sparse_masks.test.cpp, proven in
/// tests/proofs.

namespace floptally::mask_rules {

/// The best `keys` of the compressed keys, each of `ratio` tokens: min(K, ⌊t/R⌋) (DeepSeek-V4's sparse layers).
struct best_compressed_keys {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::string_view name = "best_compressed_keys"sv;
    static constexpr rule_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// `top_k` where blocks have one token.
    [[nodiscard]] constexpr equal_rule<top_k> equal() const { return {ratio == 1, {keys}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// The pairs of the first n rows: all keys while they are at most K, then K of them.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto k = static_cast<std::uint64_t>(keys);
        const std::uint64_t full = k * static_cast<std::uint64_t>(ratio);
        const std::uint64_t growing = detail::smaller(n, full);
        return detail::compressed_rows(growing, static_cast<std::uint64_t>(ratio)) + k * (n - growing);
    }
};

/// The best `blocks` blocks of `block` keys, the query's own always among them: t keys while there are at most K
/// blocks, then (K − 1)·B + (i mod B) + 1 (MiniMax-M3).
struct best_blocks {
    std::int32_t block;
    std::int32_t blocks;

    static constexpr std::string_view name = "best_blocks"sv;
    static constexpr rule_parameter parameters[] = {{"block_size", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// `top_k` where blocks have one key.
    [[nodiscard]] constexpr equal_rule<top_k> equal() const { return {block == 1, {blocks}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// The pairs of the first n rows.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(block);
        const auto k = static_cast<std::uint64_t>(blocks);
        const std::uint64_t full = k * size;
        const std::uint64_t growing = detail::smaller(n, full);
        const std::uint64_t beyond = n - growing;
        return detail::triangle(growing) + beyond * (k - 1) * size + detail::chunked_rows(beyond, size);
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
};

/// The best `pools` pools of `pool` keys, and the keys after the last whole pool: R·min(K, ⌊t/R⌋) + t mod R (Qwen4's
/// and GLM-5's pooled indexers).
struct best_pools {
    std::int32_t pool;
    std::int32_t pools;

    static constexpr std::string_view name = "best_pools"sv;
    static constexpr rule_parameter parameters[] = {{"pool_size", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// `top_k` where pools have one key.
    [[nodiscard]] constexpr equal_rule<top_k> equal() const { return {pool == 1, {pools}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// The pairs of the first n rows.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(pool);
        const std::uint64_t left_over = n / size * detail::triangle(size - 1) + detail::triangle(n % size);
        return size * best_compressed_keys{pool, pools}.rows(n) + left_over;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
};

/// The product n·min(K, ⌊n/R⌋): every query by the compressed keys of the whole sequence, or by the best K of them. It
/// is no mask, but some counters count it as one.
struct compressed_box {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::int32_t every = 0x7FFF'FFFF;
    static constexpr std::string_view name = "compressed_box"sv;
    static constexpr rule_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1, every, every}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const std::uint64_t blocks = end_of(s) / static_cast<std::uint64_t>(ratio);
        const auto most = static_cast<std::uint64_t>(keys);
        return s.length * detail::smaller(blocks, most);
    }
};

}  // namespace floptally::mask_rules
