// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/activation_kernels.hpp>
#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/element_rows.hpp>
#include <floptally/bytes/detail/kept_activations.hpp>
#include <floptally/bytes/detail/tensor_flow.hpp>
#include <floptally/bytes/optimizer_state.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The memory of one rank in a step: weights, gradients, optimizer, activations, logits, cache.

namespace floptally {

/// How a rank holds a step.
struct memory_options {
    rank_options ranks{};  ///< how the model is cut, sequence parallelism too
    zero_stage sharded = zero_stage::none;
    optimizer_state optimizer = optimizer_states::adamw;
    element_bits bits{};  ///< of gradients: as they are added up over microbatches
    activation_kernels kernels{};
    std::uint64_t logits_bits = 16;  ///< of all that the loss keeps of a logit
    std::uint64_t microbatches = 1;  ///< of the step that the rank runs
    pipeline_schedule schedule = pipeline_schedule::one_f_one_b;
    std::uint64_t token_ranks = 1;    ///< that share the tally's tokens: those of cp where it has whole sequences
    std::uint64_t cached_tokens = 0;  ///< whose keys and values are kept, over all sequences
};

/// Bytes that one rank holds.
struct rank_memory {
    std::uint64_t parameters = 0;  ///< that the rank computes with
    std::uint64_t trainable = 0;
    std::uint64_t weights = 0;
    std::uint64_t gradients = 0;
    std::uint64_t optimizer = 0;
    std::uint64_t activations = 0;  ///< kept for the backward, of all microbatches that are under way
    std::uint64_t logits = 0;       ///< of one microbatch
    std::uint64_t cache = 0;
    std::uint64_t optimizer_moved = 0;  ///< bytes that a step of the optimizer reads and writes
    /// Bytes of gradients that the backward of all microbatches writes and, from the second on, adds to: in the product
    /// that makes them where a rank has them whole, else to its share after each reduce-scatter.
    std::uint64_t gradients_moved = 0;
    std::vector<std::string> unsaid{};  ///< components whose rows do not say what they keep: it is missing here

    [[nodiscard]] std::uint64_t total() const {
        return checked(weights, "memory") + gradients + optimizer + activations + logits + cache;
    }
};

namespace detail {

/// Parts of a model that a pipeline's chunk runs, with the others elsewhere.
[[nodiscard]] inline std::vector<model_part> parts_of_chunk(std::span<const model_part> model,
                                                            const parallel_layout& layout, const rank_options& how,
                                                            std::uint64_t chunk) {
    // A pipeline of as many ranks as there are chunks, of one chunk each.
    const std::uint64_t chunks = layout.sizes().pp * layout.sizes().vpp;
    rank_options options = how;
    if (options.layers_of_chunks.empty()) {
        const pipeline_split split =
            pipeline_split::even(num_layers(model), layout.sizes().pp, layout.sizes().vpp, how.pipeline);
        for (const index_range& layers : split.chunks()) {
            options.layers_of_chunks.push_back(layers.size());
        }
    }
    options.towers = {};
    return rank_parts(model, parallel_layout({.pp = chunks}, chunks, chunk), options);
}

/// Bytes of activations that a chunk keeps of one microbatch.
[[nodiscard]] inline std::uint64_t kept_bytes(std::span<const model_part> parts, const tally& microbatch,
                                              const training_plan& plan, const memory_options& how, std::uint64_t tp,
                                              std::vector<std::string>& unsaid) {
    const weight_states states(plan);
    const batch_units units(microbatch, how.token_ranks);
    element_rows<kept_value> rows(parts);
    kept_activations kept(how.kernels, tp, how.ranks.tensor.sequence_parallel, how.bits.activations, states, units,
                          rows);
    bool has_norms = false;
    for (const model_part& part : parts) {
        for (const cost_row& row : part.cost.rows()) {
            has_norms = has_norms || row.kind == term::norm;
        }
    }
    bool opens = true;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        opens = opens || (i != 0 && !parts[i].same_layers(parts[i - 1]));
        if (parts[i].elsewhere) {
            continue;
        }
        const bool reads = kept_activations::reader_of_stream(parts[i].cost) != nullptr;
        kept.put(parts[i], i, has_norms, opens && reads && parts[i].first_layer != no_layer);
        opens = opens && !reads;
    }
    uint128 bits = 0;
    rows.for_each(plan, [&](const kept_value& kind, const component_name&, std::uint64_t amount, const passes& run) {
        const bool again = run.recomputed_forward != 0;
        const bool whole = again && plan.recomputed == recompute::full;
        const bool data = run.backward_data != 0;
        const bool any = data || run.backward_weights != 0;
        const bool is_kept = kind.what == kept_for::weight        ? run.backward_weights != 0 && !again
                             : kind.what == kept_for::gradient    ? any && !again
                             : kind.what == kept_for::core        ? data && !whole
                             : kind.what == kept_for::inside_core ? data && !again
                                                                  : any && whole;
        bits += is_kept ? uint128{amount} * kind.bits : uint128{0};
    });
    for (const std::string& name : kept.unsaid) {
        if (std::find(unsaid.begin(), unsaid.end(), name) == unsaid.end()) {
            unsaid.push_back(name);
        }
    }
    const uint128 bytes = bits / 8 + (bits % 8 != 0 ? 1 : 0);
    if ((bytes >> 64) != 0) {
        throw overflow("activations", "pass 2^64 bytes");
    }
    return static_cast<std::uint64_t>(bytes);
}

/// Adds up what a rank stores of weights, each tensor dealt to the ranks that share its states.
inline void put_states(std::span<const model_part> parts, const parallel_layout& layout, const training_plan& plan,
                       const memory_options& how, rank_memory& into) {
    const parallel_sizes& sizes = layout.sizes();
    const weight_states states(plan);
    uint128 bits[5] = {};
    const auto put = [&](std::uint64_t amount, std::uint64_t ranks, bool trains, bool is_matrix) {
        const auto share = [&](zero_stage from) {
            return how.sharded >= from ? amount / ranks + (amount % ranks != 0 ? 1 : 0) : amount;
        };
        into.parameters = checked(into.parameters, "parameters") + amount;
        bits[0] += uint128{share(zero_stage::weights)} * how.bits.weights;
        if (trains) {
            const std::uint64_t stepped = share(zero_stage::optimizer);
            into.trainable = checked(into.trainable, "parameters") + amount;
            bits[1] += uint128{share(zero_stage::gradients)} * how.bits.gradients;
            bits[2] += how.optimizer.bits_of(stepped, is_matrix);
            const uint128 added = uint128{how.microbatches - 1} * how.bits.gradients;
            bits[4] += uint128{amount} * how.microbatches * how.bits.gradients +
                       added * (how.sharded >= zero_stage::gradients ? 2 * share(zero_stage::gradients) : amount);
            bits[3] += how.optimizer.moved_bits(stepped, is_matrix, how.bits.weights, how.bits.gradients);
        }
    };
    const bool has_head = std::any_of(parts.begin(), parts.end(), [](const model_part& part) {
        return part.role == part_role::head && !part.elsewhere;
    });
    weight_states::for_each(
        array_view<model_part>(parts.data(), parts.size()),
        [&](const model_part& part, std::uint64_t layer, const cost_row& row) {
            const bool is_table = meaning_of(row.kind).operands == term_operands::table;
            // The table of a tied lm_head that another stage has is a copy of its own.
            const bool is_copy = row.kind == term::tied_embedding && !has_head;
            const std::uint64_t stored = is_copy ? row.padded / 2 : row.parameters;
            if (part.elsewhere || (stored == 0 && row.per_rank.parameters == 0)) {
                return;
            }
            const std::uint64_t ranks = sizes.dp * sizes.cp / (row.dealt.by == tensor_split::experts ? sizes.ep : 1);
            const weight_states::decision decided = states.state_of(part, layer, row);
            const bool is_matrix =
                meaning_of(row.kind).operands == term_operands::matrix && row.kind != term::lm_head && !is_table;
            put(stored, ranks, decided.state == weight_state::trainable && !is_detached(row.kind), is_matrix);
            if (decided.adapts(row)) {
                put(checked(decided.rank, "parameters") * row.per_rank.parameters, ranks, true, true);
            }
        });
    std::uint64_t* const bytes[] = {&into.weights, &into.gradients, &into.optimizer, &into.optimizer_moved,
                                    &into.gradients_moved};
    for (std::size_t i = 0; i < 5; ++i) {
        *bytes[i] = static_cast<std::uint64_t>(bits[i] / 8 + (bits[i] % 8 != 0 ? 1 : 0));
    }
}

}  // namespace detail

/// Bytes that the layout's rank holds at its fullest, with the model of what a forward keeps that docs/plans.md states:
/// each value that a matrix with a trained weight reads, once; what a norm or an activation between matrices reads; of
/// attention q, k, v, the output and a number a head and token, or without flash attention the probabilities. With full
/// recompute the input of each layer alone: what one layer makes again comes on top for a moment, and so do buffers of
/// communication, weights that are gathered, and what an allocator cannot use.
///
/// `microbatch` has the rank's own tokens of one microbatch; with context parallelism its share of them,
/// or all of them and `token_ranks` says how many ranks share them.
[[nodiscard]] inline rank_memory memory_of(std::span<const model_part> parts_given, const tally& microbatch,
                                           const parallel_layout& layout, const training_plan& plan = {},
                                           const memory_options& how = {}) {
    require_positive(how.microbatches, "microbatches");
    if (!plan.recomputed_components.empty()) {
        throw error("recomputed_components", "are not told apart by what they keep");
    }
    if (how.schedule == pipeline_schedule::zb_v) {
        throw error("schedule", "zb_v has other layers on a rank than the layout says");
    }
    const parallel_sizes& sizes = layout.sizes();
    const listed_parts with_head = with_logits(parts_given, plan.logits);
    const std::span<const model_part> model(with_head.begin(), with_head.size());
    rank_memory held;
    const std::vector<model_part> shared = rank_parts(model, layout, how.ranks);
    detail::put_states(shared, layout, plan, how, held);
    const bool trains = plan.counted != counted_passes::forward;
    if (!trains) {
        held.gradients = held.optimizer = held.optimizer_moved = held.gradients_moved = 0;
    }
    const std::uint64_t pp = sizes.pp;
    std::vector<std::uint64_t> of_chunks(pp * sizes.vpp, 0);
    const detail::batch_units units(microbatch, how.token_ranks);
    for (std::uint64_t chunk = layout.coordinates().pp; chunk < of_chunks.size(); chunk += pp) {
        const std::vector<model_part> parts = detail::parts_of_chunk(model, layout, how.ranks, chunk);
        if (trains) {
            of_chunks[chunk] = detail::kept_bytes(parts, microbatch, plan, how, sizes.tp, held.unsaid);
        }
        std::uint64_t logits = 0;
        std::uint64_t cached = 0;
        for (const model_part& part : parts) {
            const detail::moved_elements moved(part.cost, units);
            for (const cost_row& row : part.cost.rows()) {
                if (part.elsewhere) {
                    break;
                }
                if (row.kind == term::lm_head && row.per_rank.padded_out != 0) {
                    const checked all = checked(row.per_rank.padded_out / 2, "logits") * units.of(part.cost, row);
                    logits = checked(logits, "logits") + std::uint64_t{all} / sizes.tp * part.repeat;
                }
                if (row.kind == term::scores && row.what == statistic::pairs && row.in == modality::text) {
                    cached = checked(cached, "cache") +
                             std::uint64_t{checked(moved.cached_per_key(row), "cache") * part.repeat} /
                                 detail::shares_of_keys(part.cost, row, sizes.tp, true);
                }
            }
        }
        held.logits = checked(held.logits, "logits") +
                      std::uint64_t{checked(logits, "logits") * how.logits_bits + std::uint64_t{7}} / 8;
        held.cache =
            checked(held.cache, "cache") +
            std::uint64_t{checked(cached, "cache") * how.cached_tokens * how.bits.cache + std::uint64_t{7}} / 8;
    }
    if (trains) {
        const pipeline_order order(how.schedule == pipeline_schedule::one_f_one_b && sizes.vpp > 1
                                       ? pipeline_schedule::interleaved
                                       : how.schedule,
                                   pp, sizes.vpp, how.microbatches);
        held.activations = order.most_held(of_chunks)[layout.coordinates().pp];
    }
    return held;
}

}  // namespace floptally
