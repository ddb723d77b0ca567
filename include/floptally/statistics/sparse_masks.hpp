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
/// Sparse attention of models of 2026: each query attends to the best of the keys before it. The choice of keys depends
/// on the data, but the number of keys depends only on the length. Each mask is checked by enumeration in
/// tests/statistics/sparse_masks.test.cpp and proven in tests/proofs.

namespace floptally::inline v0_3::mask_statistics {

/// Attention to the `keys` best compressed keys of `ratio` tokens each (DeepSeek-V4's sparse layers). The query of
/// token t (from 1) attends to min(`keys`, ⌊t / `ratio`⌋) keys.
struct best_compressed_keys {
    std::int32_t ratio;
    std::int32_t keys;

    static constexpr std::string_view name = "best_compressed_keys"sv;
    static constexpr statistic_parameter parameters[] = {{"compression_ratio", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// If a block has one token, returns the `top_k` that counts the same pairs.
    [[nodiscard]] constexpr equal_statistic<top_k> equal() const { return {ratio == 1, {keys}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// Returns the number of pairs of the first n queries. A query attends to all compressed keys before it, or to the
    /// best `keys` of them if there are more.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto k = static_cast<std::uint64_t>(keys);
        const std::uint64_t full = k * static_cast<std::uint64_t>(ratio);
        const std::uint64_t growing = detail::smaller(n, full);
        return detail::compressed_rows(growing, static_cast<std::uint64_t>(ratio)) + k * (n - growing);
    }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
};

/// Causal attention between blocks of `block` tokens: a query attends to every key of its own block and of the blocks
/// before it (block diffusion, arXiv:2503.09573). The last block may be shorter. With `copies` = 2, attention runs over
/// two copies of a sequence, a noised and a clean one. The statistic counts the pairs of the queries of one copy. A
/// convention that counts every mask as a square pairs these queries with the keys of both copies.
struct block_causal {
    std::int32_t block;
    std::int32_t copies = 1;  ///< number of copies of the sequence in one attention: 1, or 2 with a noised copy

    static constexpr std::string_view name = "block_causal"sv;
    static constexpr statistic_parameter parameters[] = {{"block_size", 1}, {"copies", 1, 2, 1}};
    static constexpr bool frames_are_sequences = true;

    /// If a block has one token and `copies` is 1, returns the causal mask. That mask counts the same pairs.
    [[nodiscard]] constexpr equal_statistic<band> equal() const { return {block == 1 && copies == 1, {}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        const auto size = static_cast<std::uint64_t>(block);
        const std::uint64_t end = end_of(s);
        const std::uint64_t begun = end / size * size;  // start of the last, incomplete block
        const std::uint64_t rows_of_it = end - detail::larger(begun, std::uint64_t{s.past});
        const std::uint64_t missing = begun == end ? 0 : size - (end - begun);
        return rows(end) - rows(s.past) - rows_of_it * missing;
    }
    /// Returns the number of pairs of the first n queries, as if every block were complete.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(block);
        return size * size * detail::triangle(n / size) + n % size * (n / size + 1) * size;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::mixed; }
};

/// Attention to the `blocks` best blocks of `block` keys, which always include the query's own block (MiniMax-M3). A
/// query attends to all keys up to its own if they are in at most `blocks` blocks. Otherwise it attends to `blocks` − 1
/// earlier blocks, and to the keys of its own block up to its own key.
struct best_blocks {
    std::int32_t block;
    std::int32_t blocks;

    static constexpr std::string_view name = "best_blocks"sv;
    static constexpr statistic_parameter parameters[] = {{"block_size", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// If a block has one key, returns the `top_k` that counts the same pairs.
    [[nodiscard]] constexpr equal_statistic<top_k> equal() const { return {block == 1, {blocks}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// Returns the number of pairs of the first n queries.
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

/// Attention to the `pools` best pools of `pool` keys, and to the keys after the last complete pool (pooled indexers of
/// Qwen4 and GLM-5). With R = `pool`, the query of token t (from 1) attends to R·min(`pools`, ⌊t/R⌋) + t mod R keys.
struct best_pools {
    std::int32_t pool;
    std::int32_t pools;

    static constexpr std::string_view name = "best_pools"sv;
    static constexpr statistic_parameter parameters[] = {{"pool_size", 1}, {"top_k", 1}};
    static constexpr bool frames_are_sequences = true;

    /// If a pool has one key, returns the `top_k` that counts the same pairs.
    [[nodiscard]] constexpr equal_statistic<top_k> equal() const { return {pool == 1, {pools}}; }
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const {
        return rows(end_of(s)) - rows(s.past);
    }
    /// Returns the number of pairs of the first n queries.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t rows(std::uint64_t n) const {
        const auto size = static_cast<std::uint64_t>(pool);
        const std::uint64_t left_over = n / size * detail::triangle(size - 1) + detail::triangle(n % size);
        return size * best_compressed_keys{pool, pools}.rows(n) + left_over;
    }
    [[nodiscard]] constexpr pair_shape shape() const { return pair_shape::causal; }
    [[nodiscard]] constexpr bool counts_by_position() const { return true; }
};

/// Every query is paired with the same number of compressed keys: all of the sequence, or `keys` if there are more. A
/// compressed key stands for `ratio` tokens. No attention has these pairs, but some FLOP counters count them.
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
