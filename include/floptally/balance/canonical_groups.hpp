// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Groups of samples for a model whose modules have different data-parallel sizes.

namespace floptally::inline v0_3 {

/// Groups of a batch's samples for a model whose modules have different data-parallel sizes (a vision tower on 6
/// replicas, its language model on 4). The number of groups is the least common multiple of the sizes, so that each
/// replica of each module owns equally many adjacent groups. Samples balanced over the groups are balanced over the
/// replicas of each module.
class canonical_groups {
  public:
    /// Creates the groups for these data-parallel sizes, one size for each module.
    explicit canonical_groups(std::vector<std::uint64_t> dp_sizes) : dp_sizes_(std::move(dp_sizes)) {
        if (dp_sizes_.empty()) {
            throw error("dp_sizes", "must have the data-parallel size of at least one module, got none");
        }
        for (std::size_t module = 0; module < dp_sizes_.size(); ++module) {
            const std::uint64_t dp = dp_sizes_[module];
            require_positive(dp, indexed("dp_sizes", module).c_str());
            size_ = checked(size_, indexed("dp_sizes", module)) * (dp / std::gcd(size_, dp));
        }
    }

    [[nodiscard]] std::uint64_t size() const { return size_; }

    [[nodiscard]] std::uint64_t groups_per_rank(std::size_t module) const { return size_ / dp_size(module); }

    /// Returns the groups that replica `dp_rank` of a module owns.
    [[nodiscard]] index_range groups_of(std::size_t module, std::uint64_t dp_rank) const {
        require_below(dp_size(module), "dp size", dp_rank, "dp_rank");
        const std::uint64_t per_rank = groups_per_rank(module);
        return {dp_rank * per_rank, (dp_rank + 1) * per_rank};
    }

    /// Returns the replica of a module that owns a group.
    [[nodiscard]] std::uint64_t rank_of(std::size_t module, std::uint64_t group) const {
        require_below(size_, "canonical groups", group, "group");
        return group / groups_per_rank(module);
    }

    /// Returns for each sample the replica of a module that owns the sample's group. Pass the result to `exchange_plan`
    /// as owners or as destinations.
    template <integer_range Groups>
    [[nodiscard]] std::vector<std::uint64_t> ranks_of(std::size_t module, const Groups& groups) const {
        const std::uint64_t per_rank = groups_per_rank(module);
        std::vector<std::uint64_t> ranks = detail::nonnegative_below(size_, "canonical groups", groups, "groups");
        for (std::uint64_t& rank : ranks) {
            rank /= per_rank;
        }
        return ranks;
    }

  private:
    [[nodiscard]] std::uint64_t dp_size(std::size_t module) const {
        require_below(dp_sizes_.size(), "modules", module, "module");
        return dp_sizes_[module];
    }

    std::vector<std::uint64_t> dp_sizes_;
    std::uint64_t size_ = 1;
};

}  // namespace floptally
