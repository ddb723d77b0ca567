// SPDX-License-Identifier: Apache-2.0
//
// Experts and attention as two layouts over the same ranks. Every matrix of every expert is placed on ranks, and every
// copy of every token is sent, one by one. The library's weights, states, work, exchanges and activations must agree.

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <floptally/bytes/communication_counter.hpp>
#include <floptally/bytes/rank_memory.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/feed_forward.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/rank_work.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "layouts.hpp"
#include "sanitized.hpp"

namespace two_layouts_test {
namespace {

using floptally::collective;
using floptally::communicated_bytes;
using floptally::communication;
using floptally::model_part;
using floptally::parallel_axis;
using floptally::parallel_layout;
using floptally::parallel_sizes;
using floptally::phase;
using floptally::rank_memory;
using floptally::tally;
using floptally::view;
using floptally::zero_stage;

constexpr std::uint64_t hidden = 16;
constexpr std::uint64_t inner = 24;
constexpr std::uint64_t experts = 8;
constexpr std::uint64_t chosen = 2;
constexpr std::uint64_t layers = 2;
constexpr std::uint64_t tokens = 384;  ///< of a microbatch of one data-parallel rank

std::vector<model_part> sparse(bool measured = false) {
    const floptally::transformer<floptally::gqa, floptally::moe> model{
        .hidden_size = hidden,
        .num_layers = layers,
        .attention = {.num_heads = 12, .num_kv_heads = 12, .head_dim = 2},
        .feed_forward = {.num_experts = experts,
                         .num_experts_per_tok = chosen,
                         .intermediate_size = inner,
                         .routed_is_measured = measured},
        .vocab = {.size = 96}};
    std::vector<model_part> parts;
    model.for_each_part([&](const model_part& part) { parts.push_back(part); });
    return parts;
}

/// A part of one expert's matrix: the columns (or rows) of its width from `first` to `last`.
struct piece {
    std::uint64_t layer;
    std::uint64_t expert;
    std::uint64_t matrix;
    std::uint64_t first;
    std::uint64_t last;

    [[nodiscard]] std::uint64_t elements() const { return hidden * (last - first); }
    [[nodiscard]] friend auto operator<=>(const piece&, const piece&) = default;
};

/// A rank with what it holds and does, by two odometers over all ranks: Megatron's, the fastest axis first.
struct placed_rank {
    std::uint64_t tp = 0;
    std::uint64_t cp = 0;
    std::uint64_t dp = 0;
    std::uint64_t pp = 0;
    std::uint64_t etp = 0;
    std::uint64_t ep = 0;
    std::uint64_t expert_dp = 0;
    std::set<piece> pieces{};
    std::uint64_t sent = 0;      ///< copies that leave this rank for the rank of their expert
    std::uint64_t received = 0;  ///< copies that arrive here, this rank's own included
    std::uint64_t gathered = 0;  ///< copies that the rank's experts run, after the gather over etp
};

std::vector<placed_rank> placed(const parallel_sizes& sizes) {
    std::vector<placed_rank> ranks;
    const std::uint64_t experts_of_rank = experts / sizes.ep;
    const std::uint64_t width = inner / sizes.etp;
    const std::uint64_t expert_dp = sizes.dp * sizes.cp * sizes.tp / sizes.ep / sizes.etp;
    for (std::uint64_t pp = 0; pp < sizes.pp; ++pp) {
        for (std::uint64_t dp = 0; dp < sizes.dp; ++dp) {
            for (std::uint64_t cp = 0; cp < sizes.cp; ++cp) {
                for (std::uint64_t tp = 0; tp < sizes.tp; ++tp) {
                    ranks.push_back({.tp = tp, .cp = cp, .dp = dp, .pp = pp});
                }
            }
        }
    }
    std::size_t rank = 0;
    for (std::uint64_t pp = 0; pp < sizes.pp; ++pp) {
        for (std::uint64_t edp = 0; edp < expert_dp; ++edp) {
            for (std::uint64_t ep = 0; ep < sizes.ep; ++ep) {
                for (std::uint64_t etp = 0; etp < sizes.etp; ++etp, ++rank) {
                    placed_rank& holder = ranks.at(rank);
                    holder.expert_dp = edp;
                    holder.ep = ep;
                    holder.etp = etp;
                    for (std::uint64_t layer = pp * layers / sizes.pp; layer < (pp + 1) * layers / sizes.pp; ++layer) {
                        for (std::uint64_t e = 0; e < experts_of_rank; ++e) {
                            for (std::uint64_t matrix = 0; matrix < 3; ++matrix) {
                                holder.pieces.insert(
                                    {layer, ep * experts_of_rank + e, matrix, etp * width, (etp + 1) * width});
                            }
                        }
                    }
                }
            }
        }
    }
    // Each rank's own tokens: those of its replica, shared by cp, then by tp (sequence parallelism).
    const std::uint64_t own = tokens / sizes.cp / sizes.tp;
    for (placed_rank& from : ranks) {
        for (std::uint64_t token = 0; token < own; ++token) {
            for (std::uint64_t k = 0; k < chosen; ++k) {
                const std::uint64_t expert = (token * chosen + k) % experts;
                for (placed_rank& to : ranks) {
                    const bool has_expert = to.pp == from.pp && to.expert_dp == from.expert_dp && to.etp == from.etp &&
                                            to.ep == expert / experts_of_rank;
                    if (has_expert) {
                        from.sent += &to != &from ? 1 : 0;
                        to.received += 1;
                    }
                }
            }
        }
    }
    for (placed_rank& rank_state : ranks) {
        for (const placed_rank& other : ranks) {
            const bool shares_expert =
                other.pp == rank_state.pp && other.expert_dp == rank_state.expert_dp && other.ep == rank_state.ep;
            rank_state.gathered += shares_expert ? other.received : 0;
        }
    }
    return ranks;
}

std::uint64_t sent_of(const communication& all, parallel_axis over, collective how, phase during) {
    std::uint64_t bytes = 0;
    for (const communicated_bytes& entry : all.entries) {
        const bool is_of_experts = entry.component == "moe.experts";
        bytes += is_of_experts && entry.over == over && entry.operation == how && entry.during == during
                     ? static_cast<std::uint64_t>(entry.expected())
                     : 0;
    }
    return bytes;
}

template <class Visit>
std::size_t for_each_pair(std::uint64_t most, Visit visit) {
    std::size_t pairs = 0;
    for (const parallel_sizes& dense : layouts_up_to(most)) {
        if (dense.pp > layers || layers % dense.pp != 0 || 12 % dense.tp != 0 ||
            tokens % (16 * dense.cp * dense.tp) != 0) {
            continue;
        }
        for (const std::uint64_t ep : {1U, 2U, 4U, 8U}) {
            for (const std::uint64_t etp : {1U, 2U, 3U, 4U}) {
                if (dense.stage_ranks() % (ep * etp) == 0) {
                    parallel_sizes sizes = dense;
                    sizes.ep = ep;
                    sizes.etp = etp;
                    if (!skipped_when_sanitized(pairs, 10)) {
                        visit(sizes);
                    }
                    ++pairs;
                }
            }
        }
    }
    return pairs;
}

}  // namespace

TEST_CASE("each replica of a sparse model stores every matrix of every expert exactly once") {
    const std::vector<model_part> model = sparse();
    const std::uint64_t all_elements = layers * experts * 3 * hidden * inner;
    const std::size_t pairs = for_each_pair(16, [&](const parallel_sizes& sizes) {
        CAPTURE(sizes.dp, sizes.cp, sizes.tp, sizes.pp, sizes.ep, sizes.etp);
        const std::vector<placed_rank> ranks = placed(sizes);
        const std::uint64_t expert_dp = sizes.stage_ranks() / sizes.ep / sizes.etp;
        std::map<piece, std::set<std::uint64_t>> holders;
        for (std::uint64_t rank = 0; rank < ranks.size(); ++rank) {
            for (const piece& item : ranks[rank].pieces) {
                holders[item].insert(rank);
            }
        }
        std::uint64_t elements = 0;
        for (const auto& [one, on] : holders) {
            REQUIRE(on.size() == expert_dp);
            elements += one.elements();
        }
        REQUIRE(elements == all_elements);
        for (std::uint64_t rank = 0; rank < ranks.size(); ++rank) {
            const placed_rank& here = ranks[rank];
            const parallel_layout layout(sizes, ranks.size(), rank);
            CHECK(layout.coordinate(parallel_axis::etp) == here.etp);
            CHECK(layout.coordinate(parallel_axis::ep) == here.ep);
            CHECK(layout.coordinate(parallel_axis::expert_dp) == here.expert_dp);
            CHECK(layout.coordinates() ==
                  floptally::parallel_coordinates{.dp = here.dp, .cp = here.cp, .tp = here.tp, .pp = here.pp});
            // The ranks that add up the gradients of an expert are those that hold it.
            const std::vector<std::uint64_t> group = members(layout.group(parallel_axis::expert_dp));
            CHECK(std::set<std::uint64_t>(group.begin(), group.end()) == holders.at(*here.pieces.begin()));
            // The ranks of ep x etp have all experts of the stage, each piece once.
            std::set<piece> of_group;
            std::size_t count = 0;
            for (const std::uint64_t other : layout.group(parallel_axis::ep | parallel_axis::etp)) {
                of_group.insert(ranks[other].pieces.begin(), ranks[other].pieces.end());
                count += ranks[other].pieces.size();
            }
            CHECK(of_group.size() == count);
            CHECK(count == layers / sizes.pp * experts * 3 * sizes.etp);

            std::uint64_t own = 0;
            for (const piece& each_piece : here.pieces) {
                own += each_piece.elements();
            }
            std::uint64_t stored = 0;
            for (const model_part& part : rank_parts(model, layout)) {
                for (const floptally::cost_entry& entry : part.cost.entries()) {
                    const bool is_here = !part.elsewhere && part.cost.components()[entry.component] == "moe.experts";
                    stored += is_here ? part.repeat * entry.parameters : 0;
                }
            }
            CHECK(stored == own);
        }
    });
    CHECK(pairs > 150);
}

TEST_CASE("within each replica, optimizer states of an expert are sharded over the ranks that hold the expert") {
    const std::vector<model_part> model = sparse();
    tally microbatch(floptally::cost_of(model).masks());
    microbatch.add_lengths(std::vector<std::uint64_t>{tokens});
    for_each_pair(16, [&](const parallel_sizes& pair) {
        for (const std::uint64_t replicas : {1U, 2U}) {
            parallel_sizes sizes = pair;
            sizes.dp_replicate = replicas;
            const std::uint64_t expert_dp = sizes.stage_ranks() / sizes.ep / sizes.etp;
            if (sizes.pp != 1 || sizes.dp % replicas != 0 || expert_dp % replicas != 0) {
                continue;
            }
            CAPTURE(sizes.dp, sizes.cp, sizes.tp, sizes.ep, sizes.etp, replicas);
            const parallel_layout layout(sizes, sizes.world_size(), 0);
            const auto shard = [](std::uint64_t elements, std::uint64_t amount) {
                return (elements + amount - 1) / amount;
            };
            std::uint64_t bytes = 0;  // AdamW: 12 of each element that the rank steps, tensor by tensor
            for (const model_part& part : rank_parts(model, layout)) {
                for (const floptally::cost_entry& entry : part.cost.entries()) {
                    const bool of_experts = part.cost.components()[entry.component] == "moe.experts";
                    const std::uint64_t sharing = (of_experts ? expert_dp : sizes.dp * sizes.cp) / replicas;
                    bytes += part.repeat * 12 * shard(entry.parameters, sharing);
                }
            }
            const rank_memory held =
                memory_of(model, microbatch, layout, {},
                          {.ranks = {.tensor = {.sequence_parallel = true}}, .sharded = zero_stage::optimizer});
            CHECK(held.optimizer == bytes);
        }
    });
}

TEST_CASE(
    "expert FLOPs of all ranks add up to those of the whole model, and each rank sends the bytes of its routed "
    "tokens") {
    const std::vector<model_part> model = sparse();
    const std::vector<model_part> measured = sparse(true);
    const std::size_t pairs = for_each_pair(16, [&](const parallel_sizes& sizes) {
        CAPTURE(sizes.dp, sizes.cp, sizes.tp, sizes.pp, sizes.ep, sizes.etp);
        const std::vector<placed_rank> ranks = placed(sizes);
        const std::uint64_t own_layers = layers / sizes.pp;
        floptally::flops whole{};
        floptally::flops of_visits{};
        std::uint64_t runs = 0;
        for (std::uint64_t rank = 0; rank < ranks.size(); ++rank) {
            const placed_rank& here = ranks[rank];
            const parallel_layout layout(sizes, ranks.size(), rank);
            tally own(floptally::cost_of(model).masks());
            own.add_lengths(std::vector<std::uint64_t>{tokens / sizes.cp});
            // Every copy that the rank's experts run passes their three matrices, of which the rank has a part.
            const std::uint64_t forward = own_layers * here.gathered * 2 * 3 * hidden * (inner / sizes.etp);
            runs += forward;
            const floptally::breakdown work = evaluate(rank_parts(model, layout), own);
            CHECK(work["moe.experts"].get(view::useful, phase::forward) == floptally::flops{forward});
            whole += work["moe.experts"].get(view::useful, phase::forward);
            tally visits(floptally::cost_of(measured).masks());
            visits.add_lengths(std::vector<std::uint64_t>{tokens / sizes.cp});
            visits.add_routed({.useful = own_layers * here.gathered});
            const floptally::breakdown counted = evaluate(rank_parts(measured, layout), visits);
            CHECK(counted["moe.experts"].get(view::useful, phase::forward) == floptally::flops{forward});
            of_visits += counted["moe.experts"].get(view::useful, phase::forward);

            const communication sent =
                communication_of(model, own, layout, {}, {.ranks = {.tensor = {.sequence_parallel = true}}});
            for (const phase during : {phase::forward, phase::backward_data}) {
                // Out with hidden states and back with results, 2 bytes an element.
                CHECK(sent_of(sent, parallel_axis::ep, collective::all_to_all, during) ==
                      own_layers * 2 * here.sent * hidden * 2);
                // A ring passes on the copies of all ranks of the expert but the last one's.
                const std::uint64_t passed = here.gathered - here.received;
                CHECK(sent_of(sent, parallel_axis::etp, collective::all_gather, during) ==
                      own_layers * passed * hidden * 2);
                CHECK(sent_of(sent, parallel_axis::etp, collective::reduce_scatter, during) ==
                      own_layers * passed * hidden * 2);
            }
        }
        const std::uint64_t all = layers * sizes.dp * tokens * chosen * 2 * 3 * hidden * inner;
        CHECK(runs == all);
        CHECK(whole == floptally::flops{all});
        CHECK(of_visits == floptally::flops{all});
    });
    CHECK(pairs > 150);
    CHECK(error_of([&] {
              tally own(floptally::cost_of(model).masks());
              own.add_lengths(std::vector<std::uint64_t>{tokens});
              return communication_of(model, own, parallel_layout({.cp = 4, .tp = 2, .ep = 8, .etp = 1}, 8, 0));
          }).starts_with("sequence_parallel: must be on where tensor-parallel ranks share experts"));
}

TEST_CASE("activation memory includes the tokens that a rank gathers from other expert-tensor-parallel ranks") {
    const std::vector<model_part> model = sparse();
    tally microbatch(floptally::cost_of(model).masks());
    microbatch.add_lengths(std::vector<std::uint64_t>{tokens});
    const auto activations = [&](parallel_sizes sizes, std::uint64_t etp) {
        sizes.etp = etp;
        return memory_of(model, microbatch, parallel_layout(sizes, sizes.world_size(), 0), {},
                         {.ranks = {.tensor = {.sequence_parallel = true}}, .token_ranks = sizes.cp})
            .activations;
    };
    std::size_t checked = 0;
    for_each_pair(16, [&](const parallel_sizes& sizes) {
        if (sizes.pp != 1) {
            return;
        }
        parallel_sizes whole = sizes;
        whole.etp = 1;
        const std::uint64_t more = placed(sizes)[0].gathered - placed(whole)[0].gathered;
        CHECK(activations(sizes, sizes.etp) - activations(sizes, 1) == layers * more * hidden * 2);
        checked += more != 0 ? 1 : 0;
    });
    CHECK(checked > (is_sanitized ? 3 : 30));
}

TEST_CASE("bytes between nodes are the bytes of ring edges and messages that leave a node") {
    const std::vector<model_part> model = sparse();
    tally own(floptally::cost_of(model).masks());
    own.add_lengths(std::vector<std::uint64_t>{tokens});
    const std::size_t pairs = for_each_pair(12, [&](const parallel_sizes& sizes) {
        for (const std::uint64_t node : {2U, 3U, 8U, 72U}) {
            CAPTURE(sizes.dp, sizes.cp, sizes.tp, sizes.pp, sizes.ep, sizes.etp, node);
            const std::uint64_t world = sizes.world_size();
            for (std::uint64_t rank = 0; rank < world; rank += world / 2 + 1) {
                const parallel_layout layout(sizes, world, rank);
                const communication sent = communication_of(model, own, layout, {},
                                                            {.ranks = {.tensor = {.sequence_parallel = true}},
                                                             .sharded = zero_stage::optimizer,
                                                             .token_ranks = sizes.cp,
                                                             .gpus_per_node = node});
                for (const communicated_bytes& entry : sent.entries) {
                    // The members of the group, by looking at all ranks' coordinates.
                    std::vector<std::uint64_t> group;
                    for (std::uint64_t other = 0; other < world; ++other) {
                        const parallel_layout there = layout.at(other);
                        const auto same = [&](parallel_axis axis) {
                            return there.coordinate(axis) == layout.coordinate(axis);
                        };
                        using enum parallel_axis;
                        const bool dense_rest = same(pp) && (entry.over == tp || same(tp));
                        const bool is_member = entry.over == pp          ? same(tp) && same(cp) && same(dp)
                                               : entry.over == tp        ? dense_rest && same(cp) && same(dp)
                                               : entry.over == cp        ? dense_rest && same(dp)
                                               : entry.over == dp        ? dense_rest
                                               : entry.over == ep        ? same(pp) && same(etp) && same(expert_dp)
                                               : entry.over == etp       ? same(pp) && same(ep) && same(expert_dp)
                                               : entry.over == expert_dp ? same(pp) && same(ep) && same(etp)
                                                                         : false;
                        if (is_member) {
                            group.push_back(other);
                        }
                    }
                    REQUIRE(group.size() == entry.ranks);
                    REQUIRE(entry.between_nodes);
                    const double bytes = static_cast<double>(entry.expected());
                    double between = 0;
                    const auto apart = [node](std::uint64_t a, std::uint64_t b) { return a / node != b / node; };
                    if (entry.operation == collective::all_to_all) {
                        for (const std::uint64_t other : group) {
                            between += apart(rank, other) ? bytes / static_cast<double>(entry.ranks - 1) : 0;
                        }
                    } else if (entry.over == parallel_axis::pp) {
                        continue;  // a stage sends to its neighbours: below
                    } else {
                        for (std::size_t i = 0; i < group.size(); ++i) {  // the average of all ranks of the ring
                            between += apart(group[i], group[(i + 1) % group.size()])
                                           ? bytes / static_cast<double>(entry.ranks)
                                           : 0;
                        }
                    }
                    const double counted = static_cast<double>(*entry.between_nodes);
                    CHECK(counted <= bytes);
                    CHECK(counted >= between - 1e-6 * bytes);
                    CHECK(counted <= between + 1e-6 * bytes + 4096);  // rounded up, tensor by tensor
                }
            }
        }
    });
    CHECK(pairs > 100);
    // Stages on nodes of four: the second of three stages sends within its node or to the next one.
    const parallel_layout middle({.dp = 2, .pp = 2}, 4, 2);
    const communication sent = communication_of(model, own, middle, {}, {.gpus_per_node = 2});
    CHECK(sent.total(parallel_axis::pp) != 0);
    for (const communicated_bytes& entry : sent.entries) {
        if (entry.over == parallel_axis::pp) {
            CHECK(*entry.between_nodes == entry.bytes);
        }
    }
    for (const communicated_bytes& entry : communication_of(model, own, middle, {}, {.gpus_per_node = 72}).entries) {
        CHECK(*entry.between_nodes == 0);
    }
    CHECK_FALSE(communication_of(model, own, middle).entries.front().between_nodes);
}

}  // namespace two_layouts_test
