// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @file
/// The way a row is dealt to the ranks of tensor and expert parallelism.

namespace floptally {

/// How the ranks of tensor and expert parallelism share the work of a weight or of a product of activations.
enum class tensor_split : std::uint8_t {
    unsaid,      ///< its part does not say: an error where there is more than one rank
    several,     ///< rows that are dealt in ways which have no sum became one row: likewise
    columns,     ///< its outputs: an MLP's gate and up
    rows,        ///< its inputs: an MLP's down
    heads,       ///< the query heads of its attention
    kv_heads,    ///< the key and value heads; where tp exceeds them, by `tensor_options::kv`
    fused_qkv,   ///< one matrix of query heads and key and value heads
    vocabulary,  ///< slices of a vocabulary, padded to a multiple
    experts,     ///< chosen experts, which all ranks run equally many of, on average
    even,        ///< tp does not say how, but equally; FLOPs that do not divide are an error
    replicated,  ///< all of it on every rank; with sequence parallelism each for its part of the tokens
    repeated     ///< all of it on every rank, for all tokens
};

/// How a row is dealt and how many units there are to deal: said by the part that makes the row, read by
/// `tensor_parts`. Rules of `tensor_options` go before it. Numbers are those of one layer: they stay where layers add
/// up.
struct dealing {
    tensor_split by = tensor_split::unsaid;
    std::uint64_t units = 0;  ///< what a rank has 1 / tp of, 0: not known: columns, rows, heads, experts, words
    std::uint64_t inner = 0;  ///< of kv_heads, columns of a head; of fused_qkv, key and value heads; of experts, width

    /// The outputs of a matrix; 0: as many as it has.
    [[nodiscard]] static constexpr dealing columns(std::uint64_t count = 0) { return {tensor_split::columns, count}; }
    /// Its inputs; 0: as many as it has.
    [[nodiscard]] static constexpr dealing rows(std::uint64_t count = 0) { return {tensor_split::rows, count}; }
    /// Query heads: their projection, their products, and the projection of what they attended.
    [[nodiscard]] static constexpr dealing heads(std::uint64_t count) { return {tensor_split::heads, count}; }
    /// The key, or the value, projection of so many heads.
    [[nodiscard]] static constexpr dealing kv_heads(std::uint64_t count) { return {tensor_split::kv_heads, count}; }
    /// One matrix of q, k and v, whose heads are equally wide.
    [[nodiscard]] static constexpr dealing fused_qkv(std::uint64_t num_heads, std::uint64_t num_kv_heads) {
        return {tensor_split::fused_qkv, num_heads, num_kv_heads};
    }
    /// A table of so many words, or the matrix to them; 0: as many as it has outputs.
    [[nodiscard]] static constexpr dealing vocabulary(std::uint64_t words = 0) {
        return {tensor_split::vocabulary, words};
    }
    /// Matrices of so many experts, each as wide inside as `intermediate_size`.
    [[nodiscard]] static constexpr dealing experts(std::uint64_t count, std::uint64_t intermediate_size) {
        return {tensor_split::experts, count, intermediate_size};
    }
    /// Equally, though tp does not say how.
    [[nodiscard]] static constexpr dealing even() { return {tensor_split::even}; }
    /// All of it on every rank; with sequence parallelism each for its part of the tokens.
    [[nodiscard]] static constexpr dealing replicated() { return {tensor_split::replicated}; }
    /// All of it on every rank, for all tokens.
    [[nodiscard]] static constexpr dealing repeated() { return {tensor_split::repeated}; }

    /// This dealing of a matrix [out, in], with the columns, rows, words or width of a head that its part left out.
    [[nodiscard]] constexpr dealing of_matrix(std::uint64_t in, std::uint64_t out) const {
        dealing filled = *this;
        const bool is_out = by == tensor_split::columns || by == tensor_split::vocabulary;
        if (units == 0) {
            filled.units = is_out ? out : by == tensor_split::rows ? in : 0;
        }
        if (by == tensor_split::kv_heads && inner == 0 && units != 0) {
            filled.inner = out / units;
        }
        return filled;
    }

    [[nodiscard]] friend constexpr bool operator==(const dealing&, const dealing&) = default;
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

/// True where tp divides the row wherever it divides `units_of`; key and value heads may also have replicas.
[[nodiscard]] constexpr bool divides_evenly(tensor_split by) {
    return by == tensor_split::columns || by == tensor_split::rows || by == tensor_split::heads ||
           by == tensor_split::kv_heads || by == tensor_split::fused_qkv || by == tensor_split::even;
}

[[nodiscard]] constexpr std::uint64_t units_of(const dealing& dealt) {
    return dealt.by == tensor_split::fused_qkv ? greatest_common_divisor(dealt.units, dealt.inner) : dealt.units;
}

/// How the sum of two rows is dealt. A number that divides the units of both divides their sum, so that rows of other
/// sizes, or other matrices of one layer, stay one row.
[[nodiscard]] constexpr dealing dealing_of_sum(const dealing& a, const dealing& b) {
    if (a == b) {
        return a;
    }
    if (divides_evenly(a.by) && divides_evenly(b.by)) {
        const bool alike = a.by == b.by && a.by != tensor_split::kv_heads && a.by != tensor_split::fused_qkv;
        return {alike ? a.by : tensor_split::even, greatest_common_divisor(units_of(a), units_of(b))};
    }
    if (a.by == tensor_split::experts && b.by == tensor_split::experts) {
        return dealing::experts(greatest_common_divisor(a.units, b.units), greatest_common_divisor(a.inner, b.inner));
    }
    return {tensor_split::several};
}

}  // namespace detail

}  // namespace floptally
