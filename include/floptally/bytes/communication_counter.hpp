// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/exchange_rows.hpp>
#include <floptally/bytes/detail/tensor_exchanges.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The bytes that one rank sends in a step, from a model's parts, a plan, a layout and the rank's tally.

namespace floptally {

/// How ranks exchange what they share.
struct communication_options {
    rank_options ranks{};                   ///< how the model is cut, sequence parallelism too
    zero_stage sharded = zero_stage::none;  ///< what ranks of data parallelism split
    context_exchange context = context_exchange::ring;
    std::uint64_t microbatches = 1;  ///< of the step that the rank runs
    std::uint64_t token_ranks = 1;   ///< that share the tally's tokens: those of cp where it has whole sequences
    /// Bits of an element: of activations, of gradients as they are added up over ranks, of weights as they are
    /// gathered.
    element_bits bits{};
};

namespace detail {

/// Exchanges of weights and their gradients. `parts` are the rank's share.
inline void put_data_parallel(std::span<const model_part> parts, const parallel_layout& layout,
                              const communication_options& how, exchange_rows& to) {
    const parallel_sizes& sizes = layout.sizes();
    const bool each_microbatch = how.sharded >= zero_stage::gradients;
    const auto is_here = [](term kind) {
        return [kind](const model_part& part) {
            return !part.elsewhere && std::any_of(part.cost.rows().begin(), part.cost.rows().end(),
                                                  [kind](const cost_row& row) { return row.kind == kind; });
        };
    };
    const bool has_head = std::any_of(parts.begin(), parts.end(), is_here(term::lm_head));
    const bool has_table = std::any_of(parts.begin(), parts.end(), is_here(term::tied_embedding));
    const bool is_tied = std::any_of(parts.begin(), parts.end(), [](const model_part& part) {
        return std::any_of(part.cost.rows().begin(), part.cost.rows().end(),
                           [](const cost_row& row) { return row.kind == term::tied_embedding; });
    });
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const cost& part = parts[i].cost;
        for (const cost_row& row : parts[i].elsewhere
                                       ? std::span<const cost_row>{}
                                       : std::span<const cost_row>(part.rows().begin(), part.rows().end())) {
            if (!has_weight(row.kind)) {
                continue;
            }
            const bool of_experts = row.dealt.by == tensor_split::experts;
            exchange kind{.over = of_experts ? parallel_axis::expert_dp : parallel_axis::dp,
                          .how = how.sharded == zero_stage::none ? collective::all_reduce : collective::reduce_scatter,
                          .ranks = sizes.dp * sizes.cp / (of_experts ? sizes.ep : 1),
                          .when = exchange_moment::backward_weights,
                          .bits = how.bits.gradients,
                          .times = each_microbatch ? how.microbatches : 1,
                          .is_of_adapters = true};
            // A tied table and the lm_head on another stage are copies, whose gradients these two stages add up.
            const bool is_copy = row.kind == term::tied_embedding && !has_head;
            const std::uint64_t stored = is_copy ? row.padded / 2 : row.parameters;
            const std::uint64_t of_adapter = row.per_rank.parameters;
            to.put(i, part, row, kind, stored, of_adapter);
            if (is_copy || (row.kind == term::lm_head && is_tied && !has_table)) {
                exchange of_copies = kind;
                of_copies.over = parallel_axis::pp;
                of_copies.how = collective::all_reduce;
                of_copies.ranks = 2;
                of_copies.times = 1;
                to.put(i, part, row, of_copies, stored);
            }
            if (how.ranks.tensor.sequence_parallel && row.dealt.by == tensor_split::replicated) {
                exchange of_tokens = kind;
                of_tokens.over = parallel_axis::tp;
                of_tokens.how = collective::all_reduce;
                of_tokens.ranks = sizes.tp;
                of_tokens.times = 1;
                to.put(i, part, row, of_tokens, stored, of_adapter);
            }
            kind.how = collective::all_gather;
            kind.bits = how.bits.weights;
            kind.times = how.sharded == zero_stage::weights ? how.microbatches : 1;
            if (how.sharded == zero_stage::weights) {
                kind.when = exchange_moment::first_forward;
                to.put(i, part, row, kind, stored, of_adapter);
                kind.when = exchange_moment::backward;
                to.put(i, part, row, kind, stored, of_adapter);
            } else if (how.sharded != zero_stage::none) {
                to.put(i, part, row, kind, stored, of_adapter);
            }
        }
    }
}

/// The width of the hidden states that enter a part, as its first matrix over them reads them, and that row; null where
/// no row says it.
[[nodiscard]] inline const cost_row* reader_of_stream(const cost& part, std::uint64_t& width) {
    for (const cost_row& row : part.rows()) {
        const bool reads = meaning_of(row.kind).operands == term_operands::matrix && row.flow.reads == value::stream;
        if (reads && row.per_rank.padded_out != 0 && row.what == statistic::tokens) {
            width = row.padded / row.per_rank.padded_out;
            return &row;
        }
    }
    return nullptr;
}

/// Hidden states go from each chunk of layers to the next, and their gradients back. `parts` are cut for the pipeline
/// and not for tensor parallelism.
inline void put_pipeline(std::span<const model_part> parts, const parallel_layout& layout,
                         const communication_options& how, const training_plan& plan, const batch_units& units,
                         communication& into) {
    const std::uint64_t tp = how.ranks.tensor.sequence_parallel ? layout.sizes().tp : 1;
    std::vector<model_part> all;  // counted on whichever rank: gradients that a rank sends are of its first layer
    struct boundary {
        std::size_t first;
        std::size_t last;
        bool is_before_others;  ///< the rank sends hidden states, else it sends their gradients
    };
    std::vector<boundary> boundaries;
    const model_part* before = nullptr;
    for_each_run(parts, [&](std::span<const model_part> run) {
        const bool is_layer = run.front().first_layer != no_layer && run.front().role != part_role::tower;
        const bool is_cut = is_layer && before != nullptr && before->elsewhere != run.front().elsewhere;
        before = is_layer ? &run.front() : before;
        if (is_cut) {
            boundaries.push_back({all.size(), all.size() + run.size(), run.front().elsewhere});
        }
        for (const bool is_first : {true, false}) {
            for (model_part part : run) {
                part.elsewhere = false;
                if (is_cut) {  // its first layer alone
                    part.first_layer += is_first ? 0 : 1;
                    part.repeat = is_first ? 1 : part.repeat - 1;
                }
                if (is_cut ? part.repeat != 0 : is_first) {
                    all.push_back(part);
                }
            }
        }
        if (is_layer && run.front().role == part_role::encoder) {
            into.unsaid.emplace_back("cross_attention");
        }
    });
    exchange_rows rows(all);
    for (const boundary& here : boundaries) {
        const cost_row* reader = nullptr;
        for (std::size_t i = here.first; i < here.last && reader == nullptr; ++i) {
            std::uint64_t width = 0;
            reader = reader_of_stream(all[i].cost, width);
            if (reader != nullptr) {
                const std::uint64_t states = checked(width, "bytes") * units.of(all[i].cost, *reader);
                const exchange kind{
                    .over = parallel_axis::pp,
                    .how = collective::send,
                    .ranks = layout.sizes().pp,
                    .when = here.is_before_others ? exchange_moment::first_forward : exchange_moment::backward_data,
                    .bits = how.bits.activations};
                rows.put(i, all[i].cost, *reader, kind, states / tp + (states % tp != 0 ? 1 : 0));
            }
        }
        if (reader == nullptr) {
            into.unsaid.emplace_back("pipeline");
        }
    }
    rows.count(plan, into);
}

}  // namespace detail

/// The bytes that the layout's rank sends in a step, each collective as a ring does it (`sent_elements`):
///
/// - Tensor parallel: a value that ranks need whole before their columns has an all-reduce of its gradient, a matrix
///   whose rows they share one of its result, of q, k and v (gate and up) one together; of a shared vocabulary the
///   look-up, and three numbers a token of the loss. With sequence parallelism all-gather and reduce-scatter in their
///   places, the value gathered once more for the gradient of weights, and gradients of weights that every rank stores
///   added up.
/// - Experts: each copy of a token goes to its expert's rank and back (all-to-all). How many leave a rank is the
///   router's choice: `bytes` is of all, `uniform` of (n - 1) / n. Tensor parallel ranks gather the copies and scatter
///   the results, as Megatron-Core's all-to-all dispatcher does.
/// - Context parallel: keys and values, by `context_exchange`.
/// - Data parallel: gradients over dp x cp, of experts over what is left of it; by `sharded` gradients and weights.
/// - Pipeline: hidden states of each chunk of layers to the next and gradients back, a tensor parallel rank's share of
///   them with sequence parallelism. A tied table that the first and the last stage have is added up by them.
///
/// `own` has the rank's own tokens of the whole step: those of its replica, with context parallelism its share of them,
/// or all of them and `token_ranks` says how many ranks share them.
[[nodiscard]] inline communication communication_of(std::span<const model_part> parts_given, const tally& own,
                                                    const parallel_layout& layout, const training_plan& plan = {},
                                                    const communication_options& how = {}) {
    require_positive(how.microbatches, "microbatches");
    const listed_parts with_head = with_logits(parts_given, plan.logits);
    const std::span<const model_part> model(with_head.begin(), with_head.size());
    if (model.empty()) {
        throw error("parts", "are missing: what flows where is said by a model's parts");
    }
    if (!how.ranks.tensor.splits.empty() && layout.sizes().tp > 1) {
        throw error("tensor_options::splits", "are not followed by counts of communication: say how rows are dealt");
    }
    const parallel_sizes& sizes = layout.sizes();
    const parallel_layout pipeline({.pp = sizes.pp, .vpp = sizes.vpp}, sizes.pp, layout.coordinates().pp);
    const std::vector<model_part> whole = rank_parts(model, pipeline, how.ranks);
    const std::vector<model_part> shared = rank_parts(model, layout, how.ranks);
    const detail::weight_states states(plan);
    const detail::batch_units units(own, how.token_ranks);
    const detail::activation_groups groups{.tp = sizes.tp,
                                           .ep = sizes.ep,
                                           .cp = sizes.cp,
                                           .sequence_parallel = how.ranks.tensor.sequence_parallel,
                                           .context = how.context,
                                           .bits = how.bits.activations};
    communication sent;
    detail::exchange_rows rows(whole);
    detail::part_exchanges exchanges(groups, states, units, rows, sent.unsaid);
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (!whole[i].elsewhere) {
            exchanges.put(whole[i], i);
        }
    }
    detail::put_data_parallel(shared, layout, how, rows);
    rows.count(plan, sent);
    if (sizes.pp > 1) {
        detail::put_pipeline(whole, layout, how, plan, units, sent);
    }
    return sent;
}

}  // namespace floptally
