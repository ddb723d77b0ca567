// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// @file
/// The axes of parallelism along which ranks are arranged: dp, cp, tp, pp, ep.

namespace floptally {

/// An axis along which ranks are arranged. `ep` and `expert_dp` arrange the ranks of dp x cp once more, for experts.
enum class parallel_axis : std::uint8_t { tp, cp, dp, pp, ep, expert_dp };

inline constexpr std::size_t parallel_axis_count = 6;
inline constexpr const char* parallel_axis_names[parallel_axis_count] = {"tp", "cp", "dp", "pp", "ep", "expert_dp"};
/// The axes whose sizes multiply to the world size.
inline constexpr parallel_axis dense_axes[] = {parallel_axis::tp, parallel_axis::cp, parallel_axis::dp,
                                               parallel_axis::pp};
inline constexpr std::size_t dense_axis_count = 4;

[[nodiscard]] constexpr std::string_view name_of(parallel_axis axis) {
    return parallel_axis_names[static_cast<std::size_t>(axis)];
}

/// A set of axes, over which a sum goes or a group spans: `parallel_axis::dp | parallel_axis::cp`.
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
        for (const parallel_axis axis : {parallel_axis::dp, parallel_axis::cp, parallel_axis::tp, parallel_axis::pp,
                                         parallel_axis::ep, parallel_axis::expert_dp}) {
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

/// The axes tp, cp, dp and pp, which span all ranks.
inline constexpr axis_set every_axis = parallel_axis::tp | parallel_axis::cp | parallel_axis::dp | parallel_axis::pp;

/// The configured sizes. World size = dp·cp·tp·pp; vpp is the number of virtual stages within one rank, and ep takes
/// its ranks from dp x cp.
struct parallel_sizes {
    std::uint64_t dp = 1;  ///< the product where a framework splits it (replicate x shard)
    std::uint64_t cp = 1;
    std::uint64_t tp = 1;
    std::uint64_t pp = 1;
    std::uint64_t vpp = 1;
    std::uint64_t ep = 1;

    [[nodiscard]] friend constexpr bool operator==(const parallel_sizes&, const parallel_sizes&) = default;
};

/// The coordinates of a rank along the dense axes.
struct parallel_coordinates {
    std::uint64_t dp = 0;
    std::uint64_t cp = 0;
    std::uint64_t tp = 0;
    std::uint64_t pp = 0;

    [[nodiscard]] friend constexpr bool operator==(const parallel_coordinates&, const parallel_coordinates&) = default;
};

}  // namespace floptally
