// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/integer/checked.hpp>
#include <floptally/parallel/token_split.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A split of attention heads over context-parallel ranks (Ulysses).

namespace floptally::inline v0_3 {

/// A split of attention heads over context-parallel ranks: DeepSpeed's Ulysses (arXiv:2309.14509). An all-to-all before
/// attention gives each rank all tokens of some heads, and a second all-to-all after attention restores the split by
/// tokens. Outside of attention, tokens are split as by `token_split::contiguous`.
///
/// Each rank computes all attended pairs for heads / cp heads. So all ranks have equal work for any mask and any
/// lengths.
class head_split {
  public:
    /// Makes a split of heads over `cp` ranks. If there are fewer key-value heads than ranks, several ranks have the
    /// same key-value head.
    constexpr head_split(std::uint64_t num_attention_heads, std::uint64_t num_key_value_heads, std::uint64_t cp)
        : heads_(num_attention_heads), kv_heads_(num_key_value_heads), cp_(cp) {
        detail::require_cp(cp);
        require_positive(heads_, "num_attention_heads");
        require_positive(kv_heads_, "num_key_value_heads");
        detail::require_multiple("num_attention_heads", heads_, kv_heads_, "num_key_value_heads");
        detail::require_multiple("num_attention_heads", heads_, cp, "cp");
        if (kv_heads_ % cp != 0 && cp % kv_heads_ != 0) {
            detail::refuse("num_key_value_heads",
                           {"must be a multiple of cp = ", cp, ", or divide it, got ", kv_heads_});
        }
    }

    [[nodiscard]] constexpr std::uint64_t cp() const { return cp_; }
    [[nodiscard]] constexpr std::uint64_t heads_per_rank() const { return heads_ / cp_; }

    /// Returns the range of query heads that a rank computes.
    [[nodiscard]] constexpr index_range heads(std::uint64_t rank) const { return contiguous_range(heads_, cp_, rank); }

    /// Returns the range of key-value heads that a rank's query heads read.
    [[nodiscard]] constexpr index_range key_value_heads(std::uint64_t rank) const {
        const std::uint64_t group = heads_ / kv_heads_;
        const index_range queries = heads(rank);
        return {queries.first / group, (queries.last - 1) / group + 1};
    }

    /// Returns the work of each rank as pairs times heads, for a pack with `pairs` attended pairs.
    [[nodiscard]] std::vector<std::uint64_t> head_pairs(std::uint64_t pairs) const {
        return std::vector<std::uint64_t>(static_cast<std::size_t>(cp_), checked(pairs, "pairs") * heads_per_rank());
    }

    [[nodiscard]] friend constexpr bool operator==(const head_split&, const head_split&) = default;

  private:
    std::uint64_t heads_;
    std::uint64_t kv_heads_;
    std::uint64_t cp_;
};

}  // namespace floptally
