// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <floptally/bytes/detail/moved_elements.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>

/// @file
/// Tells which values of a model part each tensor parallel rank has whole, and which are sharded.

namespace floptally::inline v0_3::detail {

/// The values of a model part that are sharded over tensor parallel ranks, and the matrices that begin or end a shard.
/// A matrix that is split by columns reads a whole value and writes shards. A matrix that is split by rows reads
/// shards, and each rank's result is a summand of the whole result.
class tensor_flow {
  public:
    explicit tensor_flow(const cost& part) {
        for (bool grew = true; grew;) {
            const value::set before = sharded_;
            for (const cost_entry& entry : part.entries()) {
                const bool is_matrix = moved_elements::is_matrix(entry);
                const bool reads = ((entry.flow.reads | entry.flow.also_reads) & sharded_) != 0;
                const bool ends = is_matrix && (reads || entry.sharding.by == sharding_kind::rows);
                if (is_split(entry) && !ends) {
                    sharded_ = static_cast<value::set>(sharded_ | entry.flow.writes);
                }
            }
            grew = sharded_ != before;
        }
        sharded_ = static_cast<value::set>(sharded_ & ~value::carried);
    }

    [[nodiscard]] static bool is_split(const cost_entry& entry) {
        switch (entry.sharding.by) {
            case sharding_kind::columns:
            case sharding_kind::rows:
            case sharding_kind::heads:
            case sharding_kind::kv_heads:
            case sharding_kind::fused_qkv:
            case sharding_kind::vocabulary:
            case sharding_kind::even:
            case sharding_kind::experts:
                return true;
            default:
                return false;
        }
    }
    /// Returns true for a matrix whose result on each rank is a summand of the whole result.
    [[nodiscard]] bool makes_summands(const cost_entry& entry) const {
        return moved_elements::is_matrix(entry) && is_split(entry) &&
               (entry.sharding.by == sharding_kind::rows || (entry.flow.reads & sharded_) != 0);
    }
    /// Returns true if one of these values is sharded over the ranks.
    [[nodiscard]] bool is_sharded(value::set values) const { return (values & sharded_) != 0; }
    /// Returns the unsharded values that a sharded entry reads. Every rank needs them whole, and has a summand of their
    /// gradient.
    [[nodiscard]] value::set needed_whole(const cost_entry& entry) const {
        const auto read = static_cast<value::set>(entry.flow.reads | entry.flow.also_reads);
        return is_split(entry) && !makes_summands(entry) ? static_cast<value::set>(read & ~sharded_) : value::set{0};
    }

  private:
    value::set sharded_ = 0;
};

/// Returns the number of tensor parallel ranks over which the keys of an attention core are sharded: at most the number
/// of key and value heads. With `in_cache` it returns 1 for heads that are expanded from a latent, since every rank
/// caches the whole latent.
[[nodiscard]] inline std::uint64_t shares_of_keys(const cost& part, const cost_entry& core, std::uint64_t tp,
                                                  bool in_cache = false) {
    for (const cost_entry& entry : part.entries()) {
        const bool makes = (entry.flow.writes & (core.flow.also_reads | core.flow.fused_with)) != 0;
        if (makes && in_cache && entry.sharding.by == sharding_kind::replicated) {
            return 1;
        }
        if (makes && entry.sharding.by == sharding_kind::kv_heads && entry.sharding.units != 0) {
            return std::min(tp, entry.sharding.units);
        }
        if (makes && entry.sharding.by == sharding_kind::fused_qkv && entry.sharding.inner != 0) {
            return std::min(tp, entry.sharding.inner);
        }
    }
    return tp;
}

}  // namespace floptally::detail
