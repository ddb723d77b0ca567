// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/integer/checked.hpp>

/// @file
/// The axes of parallelism along which ranks are arranged: dp, cp, tp and pp, and ep and etp of experts.

namespace floptally::inline v0_3 {

/// An axis along which ranks are arranged. `ep`, `expert_dp` and `etp` are the axes of experts: within a pipeline stage
/// they arrange the same ranks as dp, cp and tp. `dp_replicate` is the part of dp that runs across replicas of sharded
/// states (HSDP).
enum class parallel_axis : std::uint8_t { tp, cp, dp, pp, ep, expert_dp, etp, dp_replicate };

/// The number of axes.
inline constexpr std::size_t parallel_axis_count = 8;
/// Names of the values of `parallel_axis`, in their order.
inline constexpr const char* parallel_axis_names[parallel_axis_count] = {"tp", "cp",        "dp",  "pp",
                                                                         "ep", "expert_dp", "etp", "dp_replicate"};
/// The axes whose sizes multiply to the world size.
inline constexpr parallel_axis dense_axes[] = {parallel_axis::tp, parallel_axis::cp, parallel_axis::dp,
                                               parallel_axis::pp};
/// The number of `dense_axes`.
inline constexpr std::size_t dense_axis_count = 4;

/// Returns the name of an axis: "tp", "dp_replicate", …
[[nodiscard]] constexpr std::string_view name_of(parallel_axis axis) {
    return parallel_axis_names[static_cast<std::size_t>(axis)];
}

/// A set of axes that a sum or a group of ranks covers: `parallel_axis::dp | parallel_axis::cp`.
class axis_set {
  public:
    constexpr axis_set() = default;
    constexpr axis_set(parallel_axis axis)  // NOLINT(google-explicit-constructor): one axis is a set of axes
        : bits_(static_cast<std::uint8_t>(1U << static_cast<unsigned>(axis))) {}

    [[nodiscard]] constexpr bool contains(parallel_axis axis) const { return (bits_ & axis_set(axis).bits_) != 0; }
    [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }

    [[nodiscard]] friend constexpr axis_set operator|(axis_set a, axis_set b) {
        a.bits_ = static_cast<std::uint8_t>(a.bits_ | b.bits_);
        return a;
    }
    [[nodiscard]] friend constexpr bool operator==(const axis_set&, const axis_set&) = default;

    /// The axes as errors write them: "dp x cp", "no axis".
    [[nodiscard]] std::string name() const {
        std::string text;
        for (const parallel_axis axis :
             {parallel_axis::dp, parallel_axis::dp_replicate, parallel_axis::cp, parallel_axis::tp, parallel_axis::pp,
              parallel_axis::ep, parallel_axis::expert_dp, parallel_axis::etp}) {
            if (contains(axis)) {
                text.append(text.empty() ? "" : " x ").append(name_of(axis));
            }
        }
        return text.empty() ? "no axis" : text;
    }

  private:
    std::uint8_t bits_ = 0;
};

[[nodiscard]] constexpr axis_set operator|(parallel_axis a, parallel_axis b) { return axis_set(a) | axis_set(b); }

/// The axes tp, cp, dp and pp. Together they span all ranks.
inline constexpr axis_set every_axis = parallel_axis::tp | parallel_axis::cp | parallel_axis::dp | parallel_axis::pp;

/// The configured number of ranks along each axis. World size = dp·cp·tp·pp. vpp is the number of virtual stages within
/// one rank. Experts arrange the dp·cp·tp ranks of each pipeline stage in a second way, as expert_dp·ep·etp.
struct parallel_sizes {
    std::uint64_t dp = 1;  ///< data-parallel ranks; with HSDP: replicas times shards of each replica
    std::uint64_t cp = 1;
    std::uint64_t tp = 1;
    std::uint64_t pp = 1;
    std::uint64_t vpp = 1;
    std::uint64_t ep = 1;
    std::uint64_t etp = 0;  ///< tensor-parallel ranks of each expert; 0: as many as tp
    /// Number of replicas of the states that data-parallel ranks shard. Each replica has dp / dp_replicate of the
    /// ranks. With 1, all data-parallel ranks shard one copy. Larger numbers are HSDP, or Megatron's
    /// `num_distributed_optimizer_instances`.
    std::uint64_t dp_replicate = 1;

    /// Returns the number of tensor-parallel ranks of each expert.
    [[nodiscard]] constexpr std::uint64_t expert_tp() const { return etp == 0 ? tp : etp; }
    /// Returns the number of ranks of a pipeline stage: dp·cp·tp.
    [[nodiscard]] constexpr std::uint64_t stage_ranks() const {
        return std::uint64_t{checked(dp, "world_size") * cp * tp};
    }
    /// Returns the number of all ranks: dp·cp·tp·pp.
    [[nodiscard]] constexpr std::uint64_t world_size() const {
        return std::uint64_t{checked(stage_ranks(), "world_size") * pp};
    }
    /// Returns the number of ranks that hold the same part of the same experts.
    [[nodiscard]] constexpr std::uint64_t expert_dp() const { return stage_ranks() / (ep * expert_tp()); }

    [[nodiscard]] friend constexpr bool operator==(const parallel_sizes& a, const parallel_sizes& b) {
        return a.dp == b.dp && a.cp == b.cp && a.tp == b.tp && a.pp == b.pp && a.vpp == b.vpp && a.ep == b.ep &&
               a.expert_tp() == b.expert_tp() && a.dp_replicate == b.dp_replicate;
    }
};

/// The coordinates of a rank along dp, cp, tp and pp.
struct parallel_coordinates {
    std::uint64_t dp = 0;
    std::uint64_t cp = 0;
    std::uint64_t tp = 0;
    std::uint64_t pp = 0;

    [[nodiscard]] friend constexpr bool operator==(const parallel_coordinates&, const parallel_coordinates&) = default;
};

}  // namespace floptally
