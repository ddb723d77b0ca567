// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/count/detail/counted_entry.hpp>
#include <floptally/count/detail/gradient_flow.hpp>
#include <floptally/count/detail/weight_states.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Walks over a model's parts as autograd does and finds the matrix products that the backward runs.

namespace floptally::inline v0_3::detail {

// Finds the loss that trains an indexer (`training_plan::indexer`). The mask of the sparse attention tells over which
// pairs the loss is computed. It also tells which attention the indexer imitates.

/// The keys that an indexer chooses for a sparse attention, described by two statistics that count (query, key) pairs.
struct key_choice {
    bool exists = false;
    statistic scored{};    ///< pairs of a query and a chosen key, or of a query and a chosen group of keys
    statistic all_keys{};  ///< pairs of each query with all keys, for attention without a choice of keys
    component_name indexer{};
};

/// Returns how an indexer chooses the keys of a sparse mask. `exists` is false if the mask needs no indexer.
[[nodiscard]] constexpr key_choice choice_behind(const statistic& attends) {
    if (attends.is<mask_statistics::top_k>() || attends.is<mask_statistics::best_blocks>()) {
        return {.exists = true, .scored = attends, .all_keys = mask::causal()};
    }
    if (attends.is<mask_statistics::best_compressed_keys>()) {
        return {.exists = true,
                .scored = attends,
                .all_keys = mask::compressed_keys(attends.as<mask_statistics::best_compressed_keys>().ratio)};
    }
    if (attends.is<mask_statistics::best_pools>()) {
        const auto best = attends.as<mask_statistics::best_pools>();
        return {
            .exists = true, .scored = mask::best_compressed_keys(best.pool, best.pools), .all_keys = mask::causal()};
    }
    return {};
}

/// Returns true if the parts have an entry of this kind.
[[nodiscard]] constexpr bool has_kind(array_view<model_part> parts, term kind) {
    for (const model_part& part : parts) {
        for (const cost_entry& entry : part.cost.entries()) {
            if (entry.kind == kind) {
                return true;
            }
        }
    }
    return false;
}

/// Throws `error` if the plan trains indexers but the model has none.
constexpr void require_indexer(array_view<model_part> parts, const training_plan& plan) {
    if (plan.indexer != indexer_training::frozen && !has_kind(parts, term::index_scores)) {
        throw error("plan.indexer", "the model has no indexer with a loss of its own: leave indexer at frozen");
    }
}

/// Returns how the layer's indexer chooses keys for its attention. `exists` is false if the plan trains no indexers. It
/// is also false for a layer that reuses the keys of another layer: such a layer has no indexer and no loss.
[[nodiscard]] constexpr key_choice choice_in(array_view<model_part> layer, const training_plan& plan) {
    if (plan.indexer == indexer_training::frozen || !has_kind(layer, term::index_scores)) {
        return {};
    }
    key_choice found;
    component_name indexer;
    for (const model_part& part : layer) {
        for (const cost_entry& entry : part.cost.entries()) {
            const key_choice choice =
                entry.kind == term::scores ? choice_behind(part.cost.masks()[entry.mask]) : key_choice{};
            if (choice.exists && found.exists && !(choice.scored == found.scored)) {
                throw error("plan.indexer",
                            "the cost has indexers and several top-k masks, but does not say which layer has which: "
                            "pass the model or its parts to flop_counter");
            }
            found = choice.exists ? choice : found;
            if (entry.kind == term::index_scores) {
                indexer = part.cost.components()[entry.component];
            }
        }
    }
    found.indexer = indexer;
    if (!found.exists) {
        throw error("plan.indexer",
                    "a layer with an indexer has no attention with a top-k mask: give its attention such a mask, or "
                    "leave plan.indexer at frozen");
    }
    return found;
}

/// Returns the statistic that counts an attention entry's (query, key) pairs under a plan. This is the statistic that
/// the entry has, except during the warm-up of indexers: attention is then over all keys.
[[nodiscard]] constexpr statistic attended_pairs(const cost& model, const cost_entry& entry,
                                                 const training_plan& plan) {
    if (!has_statistic(entry.what)) {
        return {};
    }
    const statistic written = model.masks()[entry.mask];
    const bool dense = plan.indexer == indexer_training::warm_up && entry.what == accumulator::pairs;
    const key_choice choice = dense ? choice_behind(written) : key_choice{};
    return choice.exists ? choice.all_keys : written;
}

/// Tracks which values require a gradient while they pass from one part of a model to the next. These are the hidden
/// states, the context and the time values. The context is an encoder's output or a second stream. Time values exist
/// once for each sample, such as the timestep's embedding. If no input part declares that it computes context or time
/// values, the output of the input parts counts as context or time values too.
class handed_on {
  public:
    constexpr handed_on(const weight_states& states, array_view<model_part> parts)
        : hidden_(states.input_trains("embedding") && !has_role(parts, part_role::input)),
          has_towers_(has_role(parts, part_role::tower)),
          says_context_(makes(parts, part_role::input, value::context)),
          says_time_(makes(parts, part_role::input, value::time)),
          layers_make_context_(makes(parts, part_role::layer, value::context)) {
        context_ = has_role(parts, part_role::encoder) ? hidden_ : !has_towers_ && states.input_trains("context");
        time_ = context_;
    }

    /// Returns which values require a gradient when they enter parts with this role.
    [[nodiscard]] constexpr gradient_flow::carried to(part_role role, modality in) const {
        const bool stream = role == part_role::encoder ? context_
                            : role == part_role::tower ? towers_[static_cast<std::size_t>(in)]
                                                       : hidden_;
        return {.stream = stream, .context = context_, .time = time_, .unnamed = stream};
    }

    /// Stores which values require a gradient when they leave parts with this role. Parts with the role `anywhere` may
    /// run before all other parts. If a weight of such a part trains (`anywhere_trains`), all values therefore require
    /// a gradient.
    constexpr void take(part_role role, modality in, const gradient_flow::carried& left, bool anywhere_trains) {
        switch (role) {
            case part_role::layer:  // Attention over two streams passes gradients from each stream to the other.
                hidden_ = left.stream || (layers_make_context_ && left.context);
                context_ = left.context || (layers_make_context_ && left.stream);
                time_ = left.time;
                break;
            case part_role::input:
                hidden_ = says_context_ ? left.unnamed : left.stream;
                if (!has_towers_) {
                    context_ = left.context || (!says_context_ && left.stream);
                    time_ = left.time || (!says_time_ && (context_ || left.stream));
                }
                break;
            case part_role::tower:  // The tower's output is inserted among the text tokens, or the text attends to it.
                towers_[static_cast<std::size_t>(in)] = left.stream;
                hidden_ = hidden_ || left.stream;
                context_ = time_ = context_ || left.stream;
                break;
            case part_role::encoder:
                context_ = time_ = context_ || left.stream;
                break;
            case part_role::anywhere:
                hidden_ = hidden_ || anywhere_trains;
                context_ = context_ || anywhere_trains;
                time_ = time_ || anywhere_trains;
                break;
            case part_role::head:
                break;
        }
    }

    [[nodiscard]] friend constexpr bool operator==(const handed_on&, const handed_on&) = default;

  private:
    [[nodiscard]] static constexpr bool has_role(array_view<model_part> parts, part_role role) {
        for (const model_part& part : parts) {
            if (part.role == role) {
                return true;
            }
        }
        return false;
    }
    /// Returns true if a part with this role has an entry that computes one of `values`.
    [[nodiscard]] static constexpr bool makes(array_view<model_part> parts, part_role role, value::set values) {
        for (const model_part& part : parts) {
            for (const cost_entry& entry : part.cost.entries()) {
                if (part.role == role && (entry.flow.writes & values) != 0) {
                    return true;
                }
            }
        }
        return false;
    }

    bool hidden_ = false;   ///< true if the hidden states require a gradient
    bool context_ = false;  ///< true if the encoder's output or the second stream requires a gradient
    bool time_ = false;  ///< true if values that exist once for each sample require a gradient, such as the timestep's
                         ///< embedding
    bool has_towers_ = false;
    bool says_context_ = false;
    bool says_time_ = false;
    bool layers_make_context_ = false;
    bool towers_[modality_count] = {};  ///< true for each tower whose hidden states require a gradient
};

/// The sum of the equal entries of several layers. All these layers run the entries in the same passes.
struct planned_entry {
    std::uint32_t component = 0;  ///< index of the entry's component in `plan_walk::components`
    cost_entry entry{};           ///< the entry; its `mask` is an index into `plan_walk::masks`
    passes run{};
};

/// Computes layer by layer in which passes each product of a model runs under a plan. This class visits the layers,
/// decides what each layer recomputes and adds up the entries. It uses `gradient_flow` to find the gradients of each
/// part.
class plan_walk {
  public:
    constexpr plan_walk(array_view<model_part> parts, const cost& whole, const convention& counted_as,
                        const training_plan& plan)
        : whole_(whole),
          convention_(counted_as),
          plan_(plan),
          states_(plan),
          flow_(states_, parts),
          handed_(states_, parts) {
        states_.check(parts);
        require_indexer(parts, plan);
        // A cost alone does not tell which layers have an indexer and which reuse another layer's keys.
        is_upper_bound =
            plan.indexer != indexer_training::frozen && parts.size() == 1 && parts.front().role == part_role::anywhere;
        for_each_run(parts, [this](array_view<model_part> alike) {
            const model_part& first = alike.front();
            for (std::uint64_t n = 0; n < first.repeat;) {
                const std::uint64_t layer = first.first_layer == no_layer ? no_layer : first.first_layer + n;
                const std::uint64_t layers =
                    plan_.recompute_every == 1 ? states_.count_alike(layer, first.repeat - n) : 1;
                const handed_on before = handed_;
                run(alike, layer, 1);
                n += 1;
                // If the same values require a gradient before and after this layer, the equal layers after it run in
                // the same passes.
                if (layers > 1 && handed_ == before) {
                    run(alike, layer + (layer == no_layer ? 0 : 1), layers - 1);
                    n += layers - 1;
                }
            }
        });
    }

    cost::component_list components;
    mask_set masks;
    list<planned_entry> entries;
    /// True if the counted products are an upper bound, because a part does not declare what its entries read.
    bool is_upper_bound = false;

  private:
    /// The work of one layer that the backward recomputes together: the whole layer, or some of its components.
    struct region {
        bool reached = false;  ///< true if a gradient arrives at the layer's output, so that its backward runs
        cost::component_list components{};
    };

    /// Visits one part. Records in `now` which of the values that leave the part require a gradient.
    template <class Each>
    constexpr void visit(const model_part& part, std::uint64_t layer, bool entered, gradient_flow::carried& now,
                         Each each) const {
        gradient_flow::carried entering = now;
        entering.stream = part.beside ? entered : now.stream;
        entering.context = now.context && part.role != part_role::encoder;
        const gradient_flow::carried left = flow_.visit(part, layer, entering, each);
        now = {now.stream || left.stream, now.context || left.context, now.time || left.time,
               now.unnamed || left.unnamed};
    }

    /// Visits the parts of one layer, or a part outside the layers, in forward order. Counts them `layers` times, for
    /// as many equal layers in succession.
    constexpr void run(array_view<model_part> parts, std::uint64_t layer, std::uint64_t layers) {
        layers_ = layers;
        const part_role role = parts.front().role;
        const modality in = parts.front().in();
        const gradient_flow::carried before = handed_.to(role, in);
        choice_ = choice_in(parts, plan_);
        region again;
        const bool entered = before.stream || norms_train(parts, layer);
        gradient_flow::carried reached = before;
        for (const model_part& part : parts) {
            const auto note_reached = [&](const cost_entry& entry, const gradients& needed, const gradients&) {
                if (needed.output && !is_detached(entry.kind)) {
                    again.components.find_or_add(part.cost.components()[entry.component], "components");
                }
            };
            visit(part, layer, entered, reached, note_reached);
        }
        again.reached = reached.stream;
        gradient_flow::carried now = before;
        for (const model_part& part : parts) {
            const auto count = [&](const cost_entry& entry, const gradients& needed, const gradients& least) {
                const bool recomputed = recomputes(part, layer, entry, needed, again);
                emit(part, layer, entry, needed, recomputed);
                const bool is_more =
                    !(needed == least) && !(passes_of(entry, convention_, plan_, recomputed, counted(needed)) ==
                                            passes_of(entry, convention_, plan_,
                                                      recomputes(part, layer, entry, least, again), counted(least)));
                is_upper_bound = is_upper_bound || (is_more && is_counted(part, entry));
            };
            visit(part, layer, entered, now, count);
        }
        handed_.take(role, in, now, role == part_role::anywhere && trains(parts, layer));
    }

    [[nodiscard]] constexpr bool trains(array_view<model_part> parts, std::uint64_t layer) const {
        for (const model_part& part : parts) {
            for (const cost_entry& entry : part.cost.entries()) {
                if (states_.trains(part, layer, entry)) {
                    return true;
                }
            }
        }
        return false;
    }

    /// Returns true if a part that consists only of norms and biases trains any of them. A part that runs in parallel
    /// to another part (`beside`) reads the output of such norms too.
    [[nodiscard]] constexpr bool norms_train(array_view<model_part> parts, std::uint64_t layer) const {
        for (const model_part& part : parts) {
            bool only_norms = true;
            for (const cost_entry& entry : part.cost.entries()) {
                only_norms = only_norms && is_elementwise_weight(entry.kind);
            }
            if (only_norms && trains({&part, 1}, layer)) {
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] constexpr bool recomputes(const model_part& part, std::uint64_t layer, const cost_entry& entry,
                                            const gradients& needed, const region& again) const {
        if (layer != no_layer && (layer + 1) % plan_.recompute_every != 0) {
            return false;
        }
        const component_name& name = part.cost.components()[entry.component];
        const bool named = plan_.recomputed_components.find(name) < plan_.recomputed_components.size();
        return (named && again.components.find(name) < again.components.size()) ||
               (is_recomputed(entry.kind, plan_) &&
                (plan_.recomputed == recompute::full ? again.reached : needed.output));
    }

    /// Returns those of the gradients in `needed` that the convention counts.
    [[nodiscard]] constexpr gradients counted(const gradients& needed) const {
        return convention_.training == counted_training::every_weight ? gradients{} : needed;
    }

    [[nodiscard]] constexpr bool is_counted(const model_part& part, const cost_entry& entry) const {
        return !part.elsewhere && convention_.counted.contains(entry.kind);
    }

    constexpr void emit(const model_part& part, std::uint64_t layer, const cost_entry& entry, const gradients& needed,
                        bool again) {
        if (!is_counted(part, entry)) {
            return;
        }
        const weight_states::decision decided = states_.state_of(part, layer, entry);
        if (entry.what == accumulator::routed &&
            !first_of_routed(part.cost.masks()[entry.mask], {decided, needed.first, again})) {
            return;
        }
        const component_name& name = part.cost.components()[entry.component];
        const std::uint32_t ranks = ranks_of(plan_, name.view(), part.cost.weight_name(entry));
        const statistic attends = attended_pairs(part.cost, entry, plan_);
        if (is_of_indexer(entry.kind) && convention_.indexer == indexer_backward::as_layers) {
            const gradients all{.weight = needed.weight, .output = needed.output};
            put(name, entry, attends, passes_of(entry, convention_, plan_, again, all).on(ranks));
            return;
        }
        const passes run = passes_of(entry, convention_, plan_, again, counted(needed)).on(ranks);
        if (entry.kind == term::index_scores && plan_.indexer == indexer_training::sparse_loss) {
            // The indexer's forward scores all keys to choose some. The indexer's loss is only over the chosen keys.
            put(name, entry, attends, run.without_backward());
            put(name, entry, choice_.scored, run.backward());
        } else {
            put(name, entry, attends, run);
        }
        if (entry.kind == term::scores && choice_.exists && choice_behind(part.cost.masks()[entry.mask]).exists) {
            cost_entry teacher = entry;
            teacher.kind = term::teacher_scores;
            const bool sparse = plan_.indexer == indexer_training::sparse_loss;
            if (is_counted(part, teacher)) {
                put(choice_.indexer, teacher, sparse ? attends : choice_.all_keys,
                    passes_of(teacher, convention_, plan_, again, needed).on(ranks));
            }
        }
        if (!decided.adapts(entry)) {
            return;
        }
        const checked rank(decided.rank, name.view());
        const adapter& widths = entry.per_rank;
        cost_entry matrix{.mask = entry.mask, .what = entry.what, .kind = entry.kind, .in = entry.in};
        const gradients a_gradients = counted({.first = needed.first, .weight = true});
        if (convention_.parameters == counted_weights::stored) {
            // An adapter of an lm_head counts as a plain matrix, because it shares no table with the embedding.
            matrix.kind = term::linear;
            matrix.parameters = rank * widths.parameters;
            put(name, matrix, attends, passes_of(entry, convention_, plan_, again, a_gradients).on(ranks));
            return;
        }
        matrix.useful = matrix.padded = rank * widths.in;
        put(name, matrix, attends, passes_of(entry, convention_, plan_, again, a_gradients).on(ranks));
        matrix.useful = rank * widths.out;
        matrix.padded = rank * widths.padded_out;
        // The LoRA matrix B reads the output of the LoRA matrix A, even if the frozen weight itself reads the model's
        // input data.
        matrix.kind = entry.kind == term::input_linear ? term::linear : entry.kind;
        put(name, matrix, attends, passes_of(matrix, convention_, plan_, again, {}).on(ranks));
    }

    constexpr void put(const component_name& name, const cost_entry& entry, const statistic& attends,
                       const passes& run) {
        planned_entry planned{.component = static_cast<std::uint32_t>(components.find_or_add(name, "components")),
                              .entry = counted_entry(whole_, entry, convention_),
                              .run = run};
        planned.entry.useful = checked(planned.entry.useful, name.view()) * layers_;
        planned.entry.padded = checked(planned.entry.padded, name.view()) * layers_;
        if (has_statistic(entry.what)) {
            planned.entry.mask = static_cast<std::uint32_t>(masks.find_or_add(attends, "masks"));
        }
        for (planned_entry& known : entries) {
            if (known.component == planned.component && known.run == run && known.entry.what == planned.entry.what &&
                known.entry.in == planned.entry.in && known.entry.mask == planned.entry.mask &&
                is_index_pairs(known.entry.kind) == is_index_pairs(planned.entry.kind)) {
                known.entry.useful = checked(known.entry.useful, name.view()) + planned.entry.useful;
                known.entry.padded = checked(known.entry.padded, name.view()) + planned.entry.padded;
                return;
            }
        }
        entries.push_back(planned, "rows");
    }

    /// The passes in which a layer runs experts whose visits are measured. The tally has only one number of visits for
    /// all layers, so all layers must run their experts in the same passes.
    struct routed_treatment {
        weight_states::decision decided{};
        bool data = false;
        bool again = false;

        [[nodiscard]] friend constexpr bool operator==(const routed_treatment&, const routed_treatment&) = default;
    };

    struct known_treatment {
        statistic accumulator;
        routed_treatment treatment{};

        [[nodiscard]] friend constexpr bool operator==(const known_treatment&, const known_treatment&) = default;
    };

    constexpr bool first_of_routed(const statistic& accumulator, const routed_treatment& treatment) {
        for (const known_treatment& known : routed_) {
            if (known.accumulator == accumulator) {
                if (!(known.treatment == treatment)) {
                    throw error("plan",
                                "experts that share one measured number of visits must train alike in all layers: name "
                                "them in plan.weights without a range of layers");
                }
                return false;
            }
        }
        routed_.push_back({accumulator, treatment}, "measured words");
        return true;
    }

    const cost& whole_;
    const convention& convention_;
    const training_plan& plan_;
    weight_states states_;
    gradient_flow flow_;
    handed_on handed_;
    list<known_treatment> routed_{};
    key_choice choice_{};       ///< the keys that the indexer of the current layer chooses
    std::uint64_t layers_ = 1;  ///< number of equal layers that the parts being visited stand for
};

}  // namespace floptally::detail
