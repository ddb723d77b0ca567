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
/// Bytes that one rank sends to other ranks in a step, by component, group and collective, and the time to send them.

namespace floptally::inline v0_3 {

/// Collective operations in which the ranks of a group exchange a tensor.
enum class collective : std::uint8_t {
    all_reduce,      ///< each rank has a summand and gets the whole sum
    all_gather,      ///< each rank has a part of a tensor and gets the whole tensor
    reduce_scatter,  ///< each rank has a summand and gets its part of the sum
    all_to_all,      ///< each rank sends a different part to each other rank
    send             ///< a rank sends a tensor to one other rank
};
/// The number of collectives.
inline constexpr std::size_t collective_count = 5;

/// Returns the name of a collective: "all-reduce", …
[[nodiscard]] constexpr std::string_view name_of(collective operation) {
    constexpr std::array<std::string_view, collective_count> names{"all-reduce", "all-gather", "reduce-scatter",
                                                                   "all-to-all", "send"};
    return names[static_cast<std::size_t>(operation)];
}

/// Methods of context parallelism by which a rank attends to the keys of other ranks, as Transformer Engine implements
/// them.
enum class context_exchange : std::uint8_t {
    ring,        ///< keys and values pass around the ring; they do so again in the backward, with their gradients
    all_gather,  ///< keys and values are gathered, and again in the backward; their gradients are reduce-scattered
    ulysses      ///< queries, keys, values and the output switch between shards of tokens and shards of heads
};
/// Names of the values of `context_exchange`, in the same order.
inline constexpr const char* context_exchange_names[] = {"ring", "all_gather", "ulysses"};

/// Returns the number of elements that each of `ranks` ranks sends (and receives) for a tensor.
///
/// `elements` is the size of the input of an all-reduce or a reduce-scatter, and of the result of an all-gather. For an
/// all-to-all it is the size of all tensors of one rank, for a send the size of the tensor. A ring passes chunks of
/// equal size: n - 1 chunks for an all-gather or a reduce-scatter, twice as many for an all-reduce. A tensor is padded
/// to a multiple of the ranks, as frameworks do.
[[nodiscard]] constexpr uint128 sent_elements(collective operation, std::uint64_t ranks, uint128 elements) {
    require_positive(ranks, "ranks");
    if (ranks == 1) {
        return 0;
    }
    const uint128 chunk = elements / ranks + (elements % ranks != 0 ? 1 : 0);
    return operation == collective::send ? elements
                                         : (operation == collective::all_reduce ? 2 : 1) * (ranks - 1) * chunk;
}

/// Bytes that one rank sends in one kind of collective over one group of ranks, for one component and phase.
struct communicated_bytes {
    component_name component;
    parallel_axis over = parallel_axis::tp;  ///< the group that exchanges; gradients over dp x cp are listed as dp
    collective operation = collective::all_reduce;
    /// The phase of the exchange. Gradients of weights are sent in the phase `backward_weights`, and so are weights
    /// that are gathered after a step.
    phase during = phase::forward;
    std::uint64_t ranks = 1;  ///< number of ranks in the group
    uint128 bytes = 0;        ///< bytes that the rank sends; it receives as many
    /// An estimate of `bytes` that assumes that tokens choose experts uniformly. Set only if `bytes` is an upper bound.
    std::optional<uint128> uniform{};
    /// The number of the `expected()` bytes that go to other nodes, as an average over the ranks of a ring. Empty if
    /// the number of GPUs on a node is unknown.
    std::optional<uint128> between_nodes{};

    /// Returns the estimate if `bytes` is an upper bound, otherwise `bytes`.
    [[nodiscard]] constexpr uint128 expected() const { return uniform.value_or(bytes); }
};

/// Bytes that one rank sends in a step.
struct communication {
    std::vector<communicated_bytes> entries{};
    /// Components that exchange tensors whose size is unknown. Their bytes are missing in `entries`.
    std::vector<std::string> unsaid{};

    /// Returns the bytes that the rank sends over one group, such as tp.
    [[nodiscard]] uint128 total(parallel_axis over) const {
        return sum([over](const communicated_bytes& entry) { return entry.over == over; });
    }
    /// Returns the bytes of one component.
    [[nodiscard]] uint128 total(std::string_view component) const {
        return sum([component](const communicated_bytes& entry) { return entry.component.view() == component; });
    }
    /// Returns the bytes of one kind of collective over one group.
    [[nodiscard]] uint128 total(parallel_axis over, collective operation) const {
        return sum([=](const communicated_bytes& entry) { return entry.over == over && entry.operation == operation; });
    }
    /// Returns the bytes of all entries.
    [[nodiscard]] uint128 total() const {
        return sum([](const communicated_bytes&) { return true; });
    }

  private:
    template <class Belongs>
    [[nodiscard]] uint128 sum(Belongs belongs) const {
        uint128 all = 0;
        for (const communicated_bytes& entry : entries) {
            all += belongs(entry) ? entry.bytes : uint128{0};
        }
        return all;
    }
};

/// The bandwidth of each group in gigabytes (10⁹ bytes) a second that one rank sends: the "bus bandwidth" of
/// nccl-tests. For a group without a bandwidth, the bandwidths of links within and between nodes are used. Without
/// these, no time is computed.
struct group_bandwidths {
    std::array<std::optional<double>, parallel_axis_count> gbps{};
    std::optional<double> within_nodes{};
    std::optional<double> between_nodes{};
    std::uint64_t gpus_per_node = 0;  ///< consecutive ranks on one node, such as 8 or 72; 0: unknown

    /// Returns a copy with the bandwidth of one more group. Throws `error` unless it is finite and positive.
    [[nodiscard]] group_bandwidths with(parallel_axis over, double gigabytes_per_second) const {
        detail::require_finite_positive(gigabytes_per_second, detail::text_of({"bandwidth_", name_of(over)}).c_str());
        group_bandwidths all = *this;
        all.gbps[static_cast<std::size_t>(over)] = gigabytes_per_second;
        return all;
    }
    /// Throws `error` if only one of the bandwidths within and between nodes is set, or if `gpus_per_node` is missing.
    void require_nodes() const {
        if (within_nodes.has_value() != between_nodes.has_value()) {
            throw error("network_gbps",
                        "must have both within and between: add the missing bandwidth, or leave both out");
        }
        if (within_nodes && gpus_per_node == 0) {
            throw error(
                "gpus_per_node",
                "is missing: pass the number of GPUs of a node, which bandwidths within and between nodes need");
        }
    }

    /// Returns the bandwidth of a group, or an empty result if it is not set. If expert_dp or dp_replicate has no
    /// bandwidth, the bandwidth of dp is used. If etp has no bandwidth, the bandwidth of tp is used.
    [[nodiscard]] std::optional<double> of(parallel_axis over) const {
        const std::optional<double>& own = gbps[static_cast<std::size_t>(over)];
        const bool is_of_data = over == parallel_axis::expert_dp || over == parallel_axis::dp_replicate;
        return own                          ? own
               : is_of_data                 ? gbps[static_cast<std::size_t>(parallel_axis::dp)]
               : over == parallel_axis::etp ? gbps[static_cast<std::size_t>(parallel_axis::tp)]
                                            : std::nullopt;
    }
};

/// The time that one rank needs to send the bytes of one group.
struct communication_time {
    parallel_axis over = parallel_axis::tp;
    uint128 bytes = 0;                       ///< bytes that a rank sends; an estimate if only an upper bound is known
    std::optional<double> seconds{};         ///< time in seconds; empty if the group has no bandwidth
    bool is_estimate = false;                ///< true: the bytes assume that tokens choose experts uniformly
    std::optional<uint128> between_nodes{};  ///< number of `bytes` that go to other nodes; empty if unknown
};

/// Returns the time that each group's bytes need at its bandwidth. It assumes that nothing else runs, that every rank
/// sends and receives at the same time, and that latency is 0. So the time is a lower bound for a run without overlap.
/// Links within and between nodes work at the same time, so the slower of the two counts. Groups without bytes are left
/// out.
[[nodiscard]] inline std::vector<communication_time> communication_times(const communication& sent,
                                                                         const group_bandwidths& bandwidths) {
    std::vector<communication_time> times;
    for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
        communication_time group{.over = static_cast<parallel_axis>(axis)};
        for (const communicated_bytes& entry : sent.entries) {
            if (entry.over == group.over) {
                group.bytes += entry.expected();
                group.is_estimate = group.is_estimate || entry.uniform;
                if (entry.between_nodes) {
                    group.between_nodes = group.between_nodes.value_or(0) + *entry.between_nodes;
                }
            }
        }
        if (group.bytes == 0) {
            continue;
        }
        const auto seconds_for = [](uint128 bytes, double gbps) { return to_double(flops{bytes}) / 1e9 / gbps; };
        if (const std::optional<double> gbps = bandwidths.of(group.over)) {
            detail::require_finite_positive(*gbps, detail::text_of({"bandwidth_", name_of(group.over)}).c_str());
            group.seconds = seconds_for(group.bytes, *gbps);
        } else if (bandwidths.within_nodes && bandwidths.between_nodes && group.between_nodes) {
            detail::require_finite_positive(*bandwidths.within_nodes, "bandwidth_within");
            detail::require_finite_positive(*bandwidths.between_nodes, "bandwidth_between");
            const double within = seconds_for(group.bytes - *group.between_nodes, *bandwidths.within_nodes);
            const double between = seconds_for(*group.between_nodes, *bandwidths.between_nodes);
            group.seconds = within > between ? within : between;
        }
        times.push_back(group);
    }
    return times;
}

}  // namespace floptally
