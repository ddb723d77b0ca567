// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Bytes that one rank sends to others in a step, by component, group and collective, and the time that they need.

namespace floptally {

/// The ways in which the ranks of a group exchange a tensor.
enum class collective : std::uint8_t {
    all_reduce,      ///< each has a summand and gets the sum
    all_gather,      ///< each has a part and gets the whole
    reduce_scatter,  ///< each has a summand and gets a part of the sum
    all_to_all,      ///< each has a part for each other
    send             ///< to one other rank
};
/// The number of collectives.
inline constexpr std::size_t collective_count = 5;

/// The name of a collective: "all-reduce", …
[[nodiscard]] constexpr std::string_view name_of(collective how) {
    constexpr std::array<std::string_view, collective_count> names{"all-reduce", "all-gather", "reduce-scatter",
                                                                   "all-to-all", "send"};
    return names[static_cast<std::size_t>(how)];
}

/// The ways in which ranks of context parallelism attend to keys of others. As Transformer Engine does it.
enum class context_exchange : std::uint8_t {
    ring,        ///< keys and values go round; in the backward once more, and their gradients back
    all_gather,  ///< keys and values are gathered, in the backward once more, and their gradients scattered
    ulysses      ///< queries, keys, values and the output change from shares of tokens to shares of heads and back
};
/// Names of the values of `context_exchange`, in their order.
inline constexpr const char* context_exchange_names[] = {"ring", "all_gather", "ulysses"};

/// Elements that each of `ranks` sends, and receives, of a tensor of so many elements: the operand of an all-reduce or
/// a reduce-scatter, the result of an all-gather, a rank's own part of an all-to-all, what a send sends. A ring passes
/// chunks of equal size: n - 1 of them for an all-gather or a reduce-scatter, twice as many for an all-reduce. A tensor
/// that the ranks do not divide is padded to a multiple, as frameworks do.
[[nodiscard]] constexpr uint128 sent_elements(collective how, std::uint64_t ranks, uint128 elements) {
    require_positive(ranks, "ranks");
    if (ranks == 1) {
        return 0;
    }
    const uint128 chunk = elements / ranks + (elements % ranks != 0 ? 1 : 0);
    return how == collective::send ? elements : (how == collective::all_reduce ? 2 : 1) * (ranks - 1) * chunk;
}

/// Bytes that one rank sends for one component, phase, group and collective.
struct communicated_bytes {
    component_name component;
    parallel_axis over = parallel_axis::tp;  ///< whose group exchanges; gradients of dp x cp go over dp
    collective how = collective::all_reduce;
    phase during = phase::forward;  ///< weights' gradients, and weights after a step: `backward_weights`
    std::uint64_t ranks = 1;        ///< of the group
    uint128 bytes = 0;              ///< that the rank sends, and as many that it receives
    /// Where `bytes` is an upper bound: what it sends where each token chooses its experts uniformly, an estimate.
    std::optional<uint128> uniform{};

    /// The bytes, or the estimate in place of a bound.
    [[nodiscard]] constexpr uint128 expected() const { return uniform.value_or(bytes); }
};

/// Bytes that one rank sends in a step.
struct communication {
    std::vector<communicated_bytes> rows{};
    /// Components that exchange something which their rows do not say: it is missing here.
    std::vector<std::string> unsaid{};

    /// Bytes of one group, of all.
    [[nodiscard]] uint128 total(parallel_axis over) const {
        return sum([over](const communicated_bytes& row) { return row.over == over; });
    }
    [[nodiscard]] uint128 total(std::string_view component) const {
        return sum([component](const communicated_bytes& row) { return row.component.view() == component; });
    }
    [[nodiscard]] uint128 total(parallel_axis over, collective how) const {
        return sum([=](const communicated_bytes& row) { return row.over == over && row.how == how; });
    }
    [[nodiscard]] uint128 total() const {
        return sum([](const communicated_bytes&) { return true; });
    }

  private:
    template <class Belongs>
    [[nodiscard]] uint128 sum(Belongs belongs) const {
        uint128 all = 0;
        for (const communicated_bytes& row : rows) {
            all += belongs(row) ? row.bytes : uint128{0};
        }
        return all;
    }
};

/// Gigabytes (10⁹ bytes) that one rank sends in a second over a group: what nccl-tests call the bus bandwidth. A group
/// without one has no time.
struct group_bandwidths {
    std::array<std::optional<double>, parallel_axis_count> gbps{};

    /// These and that of one more group.
    [[nodiscard]] group_bandwidths with(parallel_axis over, double gigabytes_per_second) const {
        detail::require_finite_positive(gigabytes_per_second, detail::text_of({"bandwidth_", name_of(over)}).c_str());
        group_bandwidths all = *this;
        all.gbps[static_cast<std::size_t>(over)] = gigabytes_per_second;
        return all;
    }
    /// The bandwidth of a group. Gradients of experts go where those of other weights go, unless that is said.
    [[nodiscard]] std::optional<double> of(parallel_axis over) const {
        const std::optional<double>& own = gbps[static_cast<std::size_t>(over)];
        return own || over != parallel_axis::expert_dp ? own : gbps[static_cast<std::size_t>(parallel_axis::dp)];
    }
};

/// The time of one group's bytes.
struct communication_time {
    parallel_axis over = parallel_axis::tp;
    uint128 bytes = 0;                ///< that a rank sends; of a bound the estimate
    std::optional<double> seconds{};  ///< none where no bandwidth is given
    bool is_estimate = false;         ///< tokens are taken to choose experts uniformly
};

/// The time that each group's bytes need where nothing else runs and every rank sends and receives at once, at the
/// bandwidth that it is given, latency left out: a lower bound of a run that does not overlap them. Groups that
/// exchange nothing are not listed.
[[nodiscard]] inline std::vector<communication_time> communication_times(const communication& sent,
                                                                         const group_bandwidths& bandwidths) {
    std::vector<communication_time> times;
    for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
        communication_time group{.over = static_cast<parallel_axis>(axis)};
        for (const communicated_bytes& row : sent.rows) {
            if (row.over == group.over) {
                group.bytes += row.expected();
                group.is_estimate = group.is_estimate || row.uniform;
            }
        }
        if (group.bytes == 0) {
            continue;
        }
        if (const std::optional<double> gbps = bandwidths.of(group.over)) {
            detail::require_finite_positive(*gbps, detail::text_of({"bandwidth_", name_of(group.over)}).c_str());
            group.seconds = to_double(flops{group.bytes}) / 1e9 / *gbps;
        }
        times.push_back(group);
    }
    return times;
}

}  // namespace floptally
