// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/detail/element_entries.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/parallel/parallel_layout.hpp>

/// @file
/// Counts the elements that a rank sends, as entries of a cost. Each such entry is a copy of the entry of the matrix
/// product that needs the exchange. So a plan runs the exchange as often as the matrix product.

namespace floptally::inline v0_3::detail {

/// When the exchange that a matrix product needs takes place.
enum class exchange_moment : std::uint8_t {
    forward,        ///< the exchange runs in each forward, also in recomputed ones
    first_forward,  ///< the exchange runs in each forward except recomputed ones: the value is kept until the backward
    backward_data,  ///< the exchange runs whenever the gradient of the matrix product's input is computed
    backward_weights,  ///< the exchange runs whenever the gradient of the matrix product's weight is computed
    backward           ///< the exchange runs once if the matrix product has a gradient of its input, its weight or both
};

/// The fraction of a rank's sent bytes that goes to other nodes: `amount` ÷ `whole`. `whole` is 0 if it is unknown
/// which ranks share a node.
struct node_share {
    std::uint64_t amount = 0;
    std::uint64_t whole = 0;

    [[nodiscard]] friend bool operator==(const node_share&, const node_share&) = default;
};

/// Returns the part of a ring exchange that leaves a node: the number of the ring's edges between nodes, divided by the
/// number of all edges. This is an average over the ranks, because frameworks run several rings with different edges
/// between nodes.
[[nodiscard]] inline node_share ring_between_nodes(const rank_group& group, std::uint64_t gpus_per_node) {
    if (gpus_per_node == 0) {
        return {};
    }
    std::uint64_t crossing = 0;
    for (std::uint64_t i = 0; i < group.size(); ++i) {
        crossing += group[i] / gpus_per_node != group[(i + 1) % group.size()] / gpus_per_node ? 1U : 0U;
    }
    return {crossing, group.size()};
}

/// Returns the part of an all-to-all that leaves the node of `rank`. With `keeps_own` the denominator also counts the
/// part that the rank keeps for itself.
[[nodiscard]] inline node_share all_to_all_between_nodes(const rank_group& group, std::uint64_t rank,
                                                         std::uint64_t gpus_per_node, bool keeps_own) {
    if (gpus_per_node == 0) {
        return {};
    }
    std::uint64_t elsewhere = 0;
    for (const std::uint64_t other : group) {
        elsewhere += other / gpus_per_node != rank / gpus_per_node ? 1 : 0;
    }
    return {elsewhere, keeps_own ? group.size() : group.size() - 1};
}

/// Returns the part of a message that leaves the node of rank `from`: the whole message or nothing.
[[nodiscard]] inline node_share message_between_nodes(std::uint64_t from, std::uint64_t to,
                                                      std::uint64_t gpus_per_node) {
    return gpus_per_node == 0 ? node_share{} : node_share{from / gpus_per_node != to / gpus_per_node ? 1U : 0U, 1};
}

/// A kind of exchange: its ranks and collective, when and how often it takes place, and the bits of an element.
struct exchange {
    parallel_axis over = parallel_axis::tp;
    collective operation = collective::all_reduce;
    std::uint64_t ranks = 1;
    exchange_moment when = exchange_moment::forward;
    std::uint64_t bits = 16;
    std::uint64_t times = 1;  ///< how often the exchange takes place, for example once for each microbatch
    /// True: the number of elements is an upper bound, because it assumes that all elements leave the rank. If tokens
    /// choose experts uniformly, (ranks - 1) / ranks of the elements leave.
    bool is_bound = false;
    /// True: the numbers of elements are those of adapters of rank 1, to be multiplied by the rank. False: they do not
    /// depend on an adapter's rank.
    bool is_of_adapters = false;
    node_share between{};  ///< the fraction of the bytes that leaves the rank's node

    [[nodiscard]] friend bool operator==(const exchange&, const exchange&) = default;
};

/// The exchanges of one rank, as entries of the model parts that the rank runs.
class exchange_entries {
  public:
    explicit exchange_entries(std::span<const model_part> parts) : entries_(parts) {}

    /// Adds the exchange of a tensor of `amount` elements, and of `of_adapter` elements for its adapter. The exchange
    /// takes place as often as the entry `like` runs.
    void put(std::size_t part, const cost& whole, const cost_entry& like, const exchange& kind, std::uint64_t amount,
             std::uint64_t of_adapter = 0) {
        const auto sent = [&kind](std::uint64_t all) {
            return kind.is_bound ? all : static_cast<std::uint64_t>(sent_elements(kind.operation, kind.ranks, all));
        };
        if (kind.ranks != 1 && (amount != 0 || of_adapter != 0)) {
            entries_.put(part, whole, like, kind, sent(amount), sent(of_adapter));
        }
    }

    /// Adds the bytes of all exchanges under a plan to `into`.
    void count(const training_plan& plan, communication& into) const {
        entries_.for_each(
            plan, [&into](const exchange& kind, const component_name& name, std::uint64_t sent, const passes& run) {
                const bool data = run.backward_data != 0;
                const bool weights = run.backward_weights != 0;
                const auto add = [&](phase during, std::uint64_t runs) {
                    put_bytes(name, kind, during, uint128{sent} * runs * kind.times, into);
                };
                switch (kind.when) {
                    case exchange_moment::forward:
                        add(phase::forward, run.forward);
                        add(phase::recompute, run.recomputed_forward);
                        break;
                    case exchange_moment::first_forward:
                        add(phase::forward, run.forward);
                        break;
                    case exchange_moment::backward_data:
                        add(phase::backward_data, data ? 1 : 0);
                        break;
                    case exchange_moment::backward_weights:
                        add(phase::backward_weights, weights ? 1 : 0);
                        break;
                    case exchange_moment::backward:
                        add(phase::backward_data, data || weights ? 1 : 0);
                        break;
                }
            });
    }

  private:
    static void put_bytes(const component_name& name, const exchange& kind, phase during, uint128 sent,
                          communication& into) {
        if (sent == 0) {
            return;
        }
        const auto bytes_of = [&kind](uint128 count) {
            const uint128 bits = count * kind.bits;
            return bits / 8 + (bits % 8 != 0 ? 1 : 0);
        };
        communicated_bytes* entry = nullptr;
        for (communicated_bytes& known : into.entries) {
            const bool same = known.component == name && known.over == kind.over && known.operation == kind.operation &&
                              known.during == during && known.ranks == kind.ranks;
            entry = same ? &known : entry;
        }
        if (entry == nullptr) {
            into.entries.push_back({.component = name,
                                    .over = kind.over,
                                    .operation = kind.operation,
                                    .during = during,
                                    .ranks = kind.ranks});
            entry = &into.entries.back();
        }
        entry->bytes += bytes_of(sent);
        uint128 leaving = sent;
        if (kind.is_bound) {
            leaving = sent * (kind.ranks - 1) / kind.ranks;
            entry->uniform = entry->uniform.value_or(0) + bytes_of(leaving);
        }
        if (kind.between.whole != 0) {
            // The quotient is rounded up, but it is at most the number of sent bytes.
            const uint128 across = sent * kind.between.amount;
            const uint128 rounded = across / kind.between.whole + (across % kind.between.whole != 0 ? 1 : 0);
            entry->between_nodes = entry->between_nodes.value_or(0) + bytes_of(rounded < leaving ? rounded : leaving);
        }
    }

    element_entries<exchange> entries_;
};

}  // namespace floptally::detail
