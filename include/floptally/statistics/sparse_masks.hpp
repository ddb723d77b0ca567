// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/detail/pair_rows.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// @file
/// Sparse attention of models of 2026: each query sees the best of the keys before it. The data choose the keys;
/// the length gives their number. Below, t = i + 1 is the number of tokens up to and including row i (from 0). Each
/// mask is checked by enumeration in tests/statistics/sparse_masks.test.cpp and proven in tests/proofs.

namespace floptally::inline v0_3::mask_statistics {

/// The `keys` best compressed keys of `ratio` tokens each: min(K, ⌊t/R⌋) for a query (DeepSeek-V4's sparse layers).
struct best_compressed_keys {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::string_view name = "best_compressed_keys"sv;
    static constexpr statistic_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// Returns the equal `top_k` if a block has one token.
    [[nodiscard]] constexpr equal_statistic<top_k> equal() const { return {ratio == 1, {keys}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// Returns the pairs of the first n rows: all compressed keys while there are at most K, then K.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto k = static_cast<std::uint64_t>(keys);
        const std::uint64_t full = k * static_cast<std::uint64_t>(ratio);
        const std::uint64_t growing = detail::smaller(n, full);
        return detail::compressed_rows(growing, static_cast<std::uint64_t>(ratio)) + k * (n - growing);
    }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
};

/// Causal over blocks of `block` tokens: a query sees every key of its own block and of the blocks before (block
/// diffusion, arXiv:2503.09573). The last block may be shorter.
struct block_causal {
    std::int32_t block;

    static constexpr std::string_view name = "block_causal"sv;
    static constexpr statistic_parameter parameters[] = {{"block_size", 1}};
    static constexpr bool frames_are_sequences = true;

    /// Returns the equal causal mask if a block has one token.
    [[nodiscard]] constexpr equal_statistic<band> equal() const { return {block == 1, {}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto size = static_cast<std::uint64_t>(block);
        const std::uint64_t end = end_of(s);
        const std::uint64_t begun = end / size * size;  // where a last, shorter block begins
        const std::uint64_t rows_of_it = end - detail::larger(begun, std::uint64_t{s.past});
        const std::uint64_t missing = begun == end ? 0 : size - (end - begun);
        return rows(end) - rows(s.past) - rows_of_it * missing;
    }
    /// Returns the pairs of the first n rows, as if every block were whole.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(block);
        return size * size * detail::triangle(n / size) + n % size * (n / size + 1) * size;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::mixed; }
};

/// The `blocks` best blocks of `block` keys, always including the query's own block. A query sees t keys while there
/// are at most K blocks, then (K − 1)·B + (i mod B) + 1 (MiniMax-M3).
struct best_blocks {
    std::int32_t block;
    std::int32_t blocks;

    static constexpr std::string_view name = "best_blocks"sv;
    static constexpr statistic_parameter parameters[] = {{"block_size", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// Returns the equal `top_k` if a block has one key.
    [[nodiscard]] constexpr equal_statistic<top_k> equal() const { return {block == 1, {blocks}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// Returns the pairs of the first n rows.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(block);
        const auto k = static_cast<std::uint64_t>(blocks);
        const std::uint64_t full = k * size;
        const std::uint64_t growing = detail::smaller(n, full);
        const std::uint64_t beyond = n - growing;
        return detail::triangle(growing) + beyond * (k - 1) * size + detail::chunked_rows(beyond, size);
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
};

/// The `pools` best pools of `pool` keys, plus the keys after the last whole pool: R·min(K, ⌊t/R⌋) + t mod R for a
/// query (pooled indexers of Qwen4 and GLM-5).
struct best_pools {
    std::int32_t pool;
    std::int32_t pools;

    static constexpr std::string_view name = "best_pools"sv;
    static constexpr statistic_parameter parameters[] = {{"pool_size", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// Returns the equal `top_k` if a pool has one key.
    [[nodiscard]] constexpr equal_statistic<top_k> equal() const { return {pool == 1, {pools}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// Returns the pairs of the first n rows.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(pool);
        const std::uint64_t left_over = n / size * detail::triangle(size - 1) + detail::triangle(n % size);
        return size * best_compressed_keys{pool, pools}.rows(n) + left_over;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
};

/// The product n·min(K, ⌊n/R⌋): every query times the compressed keys of the whole sequence, at most K. No query
/// attends so, but some counters count it.
struct compressed_box {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::int32_t every = 0x7FFF'FFFF;
    static constexpr std::string_view name = "compressed_box"sv;
    static constexpr statistic_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1, every, every}};
    static constexpr bool frames_are_sequences = true;

    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const std::uint64_t blocks = end_of(s) / static_cast<std::uint64_t>(ratio);
        const auto most = static_cast<std::uint64_t>(keys);
        return s.length * detail::smaller(blocks, most);
    }
};

}  // namespace floptally::mask_statistics
