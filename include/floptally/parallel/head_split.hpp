// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>
#include <floptally/parallel/token_split.hpp>

namespace floptally {

/// Context parallelism by heads, DeepSpeed's Ulysses (arXiv:2309.14509): an all-to-all before attention gives each rank
/// all tokens of some heads, one behind it gives the tokens back. Outside of attention the tokens are split as
/// `token_split::contiguous`.
///
/// A rank attends all pairs, for heads / cp heads: equal work whatever the mask and the lengths.
class head_split {
  public:
    /// Where key-value heads are fewer than ranks, each is held by several.
    constexpr head_split(std::uint64_t num_attention_heads, std::uint64_t num_key_value_heads, std::uint64_t cp)
        : heads_(num_attention_heads), kv_heads_(num_key_value_heads), cp_(cp) {
        detail::require_cp(cp);
        require_positive(heads_, "num_attention_heads");
        require_positive(kv_heads_, "num_key_value_heads");
        detail::require_multiple("num_attention_heads", heads_, kv_heads_, "num_key_value_heads");
        detail::require_multiple("num_attention_heads", heads_, cp, "cp");
        if (kv_heads_ % cp != 0 && cp % kv_heads_ != 0) {
            throw error("num_key_value_heads", "must be a multiple of cp = " + std::to_string(cp) +
                                                   ", or divide it, got " + std::to_string(kv_heads_));
        }
    }

    [[nodiscard]] constexpr std::uint64_t cp() const { return cp_; }
    [[nodiscard]] constexpr std::uint64_t heads_per_rank() const { return heads_ / cp_; }

    /// The query heads of a rank.
    [[nodiscard]] constexpr index_range heads(std::uint64_t rank) const { return contiguous_range(heads_, cp_, rank); }

    /// The key-value heads that they read.
    [[nodiscard]] constexpr index_range key_value_heads(std::uint64_t rank) const {
        const std::uint64_t group = heads_ / kv_heads_;
        const index_range queries = heads(rank);
        return {queries.first / group, (queries.last - 1) / group + 1};
    }

    /// What each rank does of `pairs` attended pairs of the whole row: pairs times heads.
    [[nodiscard]] std::vector<std::uint64_t> head_pairs(std::uint64_t pairs) const {
        return std::vector<std::uint64_t>(static_cast<std::size_t>(cp_),
                                          checked_multiply(pairs, heads_per_rank(), "pairs"));
    }

    [[nodiscard]] friend constexpr bool operator==(const head_split&, const head_split&) = default;

  private:
    std::uint64_t heads_;
    std::uint64_t kv_heads_;
    std::uint64_t cp_;
};

}  // namespace floptally
