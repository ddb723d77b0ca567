// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include <floptally/bytes/detail/moved_elements.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/term.hpp>

/// @file
/// Which values of a part tensor parallel ranks have whole, and which in shares.

namespace floptally::detail {

/// The values of a part that ranks of tensor parallelism have each a share of, and which of its matrices begin or end
/// such a share: a matrix over a whole value makes shares (columns), one over shares makes summands (rows).
class tensor_flow {
  public:
    explicit tensor_flow(const cost& part) {
        for (bool grew = true; grew;) {
            const value::set before = shared_;
            for (const cost_row& row : part.rows()) {
                const bool is_matrix = moved_elements::is_matrix(row);
                const bool reads = ((row.flow.reads | row.flow.also_reads) & shared_) != 0;
                const bool ends = is_matrix && (reads || row.dealt.by == tensor_split::rows);
                if (is_split(row) && !ends) {
                    shared_ = static_cast<value::set>(shared_ | row.flow.writes);
                }
            }
            grew = shared_ != before;
        }
        shared_ = static_cast<value::set>(shared_ & ~value::carried);
    }

    [[nodiscard]] static bool is_split(const cost_row& row) {
        switch (row.dealt.by) {
            case tensor_split::columns:
            case tensor_split::rows:
            case tensor_split::heads:
            case tensor_split::kv_heads:
            case tensor_split::fused_qkv:
            case tensor_split::vocabulary:
            case tensor_split::even:
            case tensor_split::experts:
                return true;
            default:
                return false;
        }
    }
    /// True for a matrix whose result is a summand of each rank.
    [[nodiscard]] bool makes_summands(const cost_row& row) const {
        return moved_elements::is_matrix(row) && is_split(row) &&
               (row.dealt.by == tensor_split::rows || (row.flow.reads & shared_) != 0);
    }
    /// True where each rank has a share of one of these values.
    [[nodiscard]] bool is_shared(value::set values) const { return (values & shared_) != 0; }
    /// The whole values that a split row reads: every rank needs them, and has a summand of their gradient.
    [[nodiscard]] value::set needed_whole(const cost_row& row) const {
        const auto read = static_cast<value::set>(row.flow.reads | row.flow.also_reads);
        return is_split(row) && !makes_summands(row) ? static_cast<value::set>(read & ~shared_) : value::set{0};
    }

  private:
    value::set shared_ = 0;
};

/// Ranks of tensor parallelism that share the keys of a core: as many as key and value heads, where these are fewer.
/// `in_cache`: where heads are expanded from a latent it is the latent, which every rank has whole.
[[nodiscard]] inline std::uint64_t shares_of_keys(const cost& part, const cost_row& core, std::uint64_t tp,
                                                  bool in_cache = false) {
    for (const cost_row& row : part.rows()) {
        const bool makes = (row.flow.writes & (core.flow.also_reads | core.flow.fused_with)) != 0;
        if (makes && in_cache && row.dealt.by == tensor_split::replicated) {
            return 1;
        }
        if (makes && row.dealt.by == tensor_split::kv_heads && row.dealt.units != 0) {
            return std::min(tp, row.dealt.units);
        }
        if (makes && row.dealt.by == tensor_split::fused_qkv && row.dealt.inner != 0) {
            return std::min(tp, row.dealt.inner);
        }
    }
    return tp;
}

}  // namespace floptally::detail
