// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @file
/// `tensor_sharding`: how the work of one entry of a cost (such as a weight matrix) is split over the ranks of tensor
/// and expert parallelism.

namespace floptally::inline v0_3 {

/// The way in which the ranks of tensor parallelism (tp) and expert parallelism split the work of a weight or of a
/// product of activations.
enum class sharding_kind : std::uint8_t {
    unsaid,      ///< unknown sharding; an error if there is more than one rank
    several,     ///< entries with different shardings were merged; an error if there is more than one rank
    columns,     ///< split by output features, such as the gate and up matrices of an MLP
    rows,        ///< split by input features, such as the down matrix of an MLP
    heads,       ///< split by query heads
    kv_heads,    ///< split by key and value heads; `tensor_options::kv` says what to do for fewer heads than tp ranks
    fused_qkv,   ///< one matrix of query, key and value heads, split by heads
    vocabulary,  ///< split into slices of the padded vocabulary
    experts,     ///< split by experts; assumes that the experts of each rank get equally many tokens
    even,        ///< each tp rank runs an equal share of the FLOPs; an error if tp does not divide them
    replicated,  ///< the weight is whole on every rank; with sequence parallelism a rank runs only its own tokens
    repeated     ///< the weight is whole on every rank, and every rank runs all tokens
};

/// The sharding of an entry of a cost, and how many columns, heads or experts are split. The part of a layer that adds
/// the entry sets the sharding, and `tensor_parts` reads it. Settings of `tensor_options` override it. The numbers are
/// those of one layer, even if the entry is the sum of several layers.
struct tensor_sharding {
    sharding_kind by = sharding_kind::unsaid;
    std::uint64_t units = 0;  ///< columns, rows, heads, experts or vocabulary words to split over tp; 0: unknown
    /// A second size that some kinds of sharding need: the number of columns of a head for kv_heads, the number of kv
    /// heads for fused_qkv, and the width of an expert for experts.
    std::uint64_t inner = 0;

    /// Splits a matrix by its `count` output features; 0: as many as the matrix has.
    [[nodiscard]] static constexpr tensor_sharding columns(std::uint64_t count = 0) {
        return {sharding_kind::columns, count};
    }
    /// Splits a matrix by its `count` input features; 0: as many as the matrix has.
    [[nodiscard]] static constexpr tensor_sharding rows(std::uint64_t count = 0) {
        return {sharding_kind::rows, count};
    }
    /// Splits by query heads: for the query projection, QKᵀ and PV, and the output projection.
    [[nodiscard]] static constexpr tensor_sharding heads(std::uint64_t count) { return {sharding_kind::heads, count}; }
    /// Splits a key or value projection by its `count` heads.
    [[nodiscard]] static constexpr tensor_sharding kv_heads(std::uint64_t count) {
        return {sharding_kind::kv_heads, count};
    }
    /// Splits one matrix that computes q, k and v for heads of equal width.
    [[nodiscard]] static constexpr tensor_sharding fused_qkv(std::uint64_t num_heads, std::uint64_t num_kv_heads) {
        return {sharding_kind::fused_qkv, num_heads, num_kv_heads};
    }
    /// Shards an embedding table or the lm_head by the words of the vocabulary. `words` is the size of the vocabulary;
    /// 0: the number of outputs of the matrix.
    [[nodiscard]] static constexpr tensor_sharding vocabulary(std::uint64_t words = 0) {
        return {sharding_kind::vocabulary, words};
    }
    /// Splits the matrices of `count` experts of width `intermediate_size`.
    [[nodiscard]] static constexpr tensor_sharding experts(std::uint64_t count, std::uint64_t intermediate_size) {
        return {sharding_kind::experts, count, intermediate_size};
    }
    /// Splits any kind of work into tp equal parts.
    [[nodiscard]] static constexpr tensor_sharding even() { return {sharding_kind::even}; }
    /// Keeps the weight whole on every rank. With sequence parallelism each rank runs only its own tokens.
    [[nodiscard]] static constexpr tensor_sharding replicated() { return {sharding_kind::replicated}; }
    /// Keeps the weight whole on every rank, and every rank runs all tokens.
    [[nodiscard]] static constexpr tensor_sharding repeated() { return {sharding_kind::repeated}; }

    /// Returns this sharding for a matrix [out, in]. Fills in each number that is 0 from the matrix: columns, rows,
    /// vocabulary words or the width of a head.
    [[nodiscard]] constexpr tensor_sharding of_matrix(std::uint64_t in, std::uint64_t out) const {
        tensor_sharding result = *this;
        const bool is_out = by == sharding_kind::columns || by == sharding_kind::vocabulary;
        if (units == 0) {
            result.units = is_out ? out : by == sharding_kind::rows ? in : 0;
        }
        if (by == sharding_kind::kv_heads && inner == 0 && units != 0) {
            result.inner = out / units;
        }
        return result;
    }

    [[nodiscard]] friend constexpr bool operator==(const tensor_sharding&, const tensor_sharding&) = default;
};

namespace detail {

[[nodiscard]] constexpr std::uint64_t greatest_common_divisor(std::uint64_t a, std::uint64_t b) {
    while (b != 0) {
        const std::uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/// Returns true for a kind of sharding in which every tp that divides an entry's number of columns, rows or heads also
/// divides the entry's FLOPs. Returns true also for key and value heads, although ranks may hold replicas of them.
[[nodiscard]] constexpr bool divides_evenly(sharding_kind by) {
    return by == sharding_kind::columns || by == sharding_kind::rows || by == sharding_kind::heads ||
           by == sharding_kind::kv_heads || by == sharding_kind::fused_qkv || by == sharding_kind::even;
}

[[nodiscard]] constexpr std::uint64_t units_of(const tensor_sharding& sharding) {
    return sharding.by == sharding_kind::fused_qkv ? greatest_common_divisor(sharding.units, sharding.inner)
                                                   : sharding.units;
}

/// Returns the sharding of the sum of two cost entries. Its number of columns or heads is the greatest common divisor
/// of the two entries' numbers. So one entry can stand for two matrices of different sizes.
[[nodiscard]] constexpr tensor_sharding sharding_of_sum(const tensor_sharding& a, const tensor_sharding& b) {
    if (a == b) {
        return a;
    }
    if (divides_evenly(a.by) && divides_evenly(b.by)) {
        const bool alike = a.by == b.by && a.by != sharding_kind::kv_heads && a.by != sharding_kind::fused_qkv;
        return {alike ? a.by : sharding_kind::even, greatest_common_divisor(units_of(a), units_of(b))};
    }
    if (a.by == sharding_kind::experts && b.by == sharding_kind::experts) {
        return tensor_sharding::experts(greatest_common_divisor(a.units, b.units),
                                        greatest_common_divisor(a.inner, b.inner));
    }
    return {sharding_kind::several};
}

}  // namespace detail

}  // namespace floptally
