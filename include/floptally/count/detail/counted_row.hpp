// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// One row of a cost as a convention and a plan count it; `flop_counter` adds the rows up.

namespace floptally::detail {

/// The number of runs of a product in each phase, its forward being one.
struct passes {
    std::uint8_t forward = 0;
    std::uint8_t backward_data = 0;
    std::uint32_t backward_weights = 0;
    std::uint32_t executed_more[3] = {};  ///< of these, as `component_flops` has it
    std::uint32_t recomputed_forward = 0;

    /// These passes on `ranks` ranks that each run them: one run is padded, all are executed.
    [[nodiscard]] constexpr passes on(std::uint32_t ranks) const {
        passes all = *this;
        const std::uint32_t once[] = {forward, backward_data, backward_weights};
        for (std::size_t i = 0; i < 3; ++i) {
            all.executed_more[i] = ranks * executed_more[i] + (ranks - 1) * once[i];
        }
        all.recomputed_forward *= ranks;
        return all;
    }

    [[nodiscard]] constexpr passes without_backward() const {
        passes run;
        run.forward = forward;
        run.executed_more[0] = executed_more[0];
        run.recomputed_forward = recomputed_forward;
        return run;
    }
    [[nodiscard]] constexpr passes backward() const {
        passes run = *this;
        run.forward = 0;
        run.executed_more[0] = 0;
        run.recomputed_forward = 0;
        return run;
    }

    [[nodiscard]] friend constexpr bool operator==(const passes&, const passes&) = default;
};

/// The gradients that a row computes.
struct gradients {
    bool first = true;   ///< of its input, or of the first operand
    bool second = true;  ///< of the second operand
    bool weight = true;
    bool output = true;  ///< whether one arrives at all

    [[nodiscard]] friend constexpr bool operator==(const gradients&, const gradients&) = default;
};

/// True where the plan computes rows of this kind again, besides those whose components it names.
[[nodiscard]] constexpr bool is_recomputed(term kind, const training_plan& plan) {
    const term_place place = meaning_of(kind).place;
    const bool in_core = place == term_place::attention_core;
    return plan.recomputed == recompute::full        ? in_core || place == term_place::layer
           : plan.recomputed == recompute::attention ? in_core
                                                     : false;
}

/// The passes of a row, by the gradients that it needs.
[[nodiscard]] constexpr passes passes_of(const cost_row& row, const convention& how, const training_plan& plan,
                                         bool recomputed, const gradients& needed = {}) {
    const term kind = row.kind;
    passes run;
    run.forward = plan.counted == counted_passes::backward ? 0 : 1;
    if (meaning_of(kind).backward == term_backward::instead) {
        run.forward = 0;
        run.backward_weights = plan.counted == counted_passes::forward ? 0 : 1;
        return run;
    }
    if (plan.counted == counted_passes::forward) {
        return run;
    }
    run.recomputed_forward = recomputed ? 1 : 0;
    const bool indexer_trains = plan.indexer != indexer_training::frozen || how.indexer == indexer_backward::as_layers;
    if (is_detached(kind) && how.parameters == counted_weights::visited && !(is_of_indexer(kind) && indexer_trains)) {
        return run;
    }
    const term_backward backward = meaning_of(kind).backward;
    const bool flash = how.backward == attention_backward::flash;
    const int products = (needed.first ? 1 : 0) + (needed.second ? 1 : 0);
    const int again = backward == term_backward::fused_again ? 1 : 0;
    switch (backward) {
        case term_backward::weight_and_data:
        case term_backward::weight_only:
            run.backward_data = needed.first && backward == term_backward::weight_and_data ? 1 : 0;
            run.backward_weights = !needed.weight ? 0 : how.groups == grouped_gradient::as_run ? 1 : row.groups;
            break;
        case term_backward::fused:
        case term_backward::fused_again:
            if (needed.output && !flash && plan.flash_attention) {
                // A fused kernel computes the gradients of all three operands as soon as one is needed.
                run.executed_more[1] = static_cast<std::uint32_t>(2 - products + again);
            }
            run.backward_data = static_cast<std::uint8_t>(!flash ? products : needed.output ? 2 + again : 0);
            break;
        case term_backward::each_operand:
            run.backward_data = static_cast<std::uint8_t>(products);
            break;
        case term_backward::once:
            run.backward_data = needed.output ? 1 : 0;
            break;
        case term_backward::none:
        case term_backward::instead:
            break;
    }
    return run;
}

/// The number of ranks that run a weight, or a component without weights.
[[nodiscard]] constexpr std::uint32_t ranks_of(const training_plan& plan, std::string_view component,
                                               std::string_view weight) {
    std::uint64_t ranks = 1;
    for (const repeated_work& work : plan.repeated) {
        ranks = matches(work.weights, component, weight) ? work.ranks : ranks;
    }
    return static_cast<std::uint32_t>(ranks);
}

/// Throws where repeated work means nothing in this model.
constexpr void check_repeated(const cost& model, const training_plan& plan) {
    constexpr std::uint64_t most_ranks = 1U << 24U;
    for (std::size_t i = 0; i < plan.repeated.size(); ++i) {
        const repeated_work& work = plan.repeated[i];
        if (work.ranks == 0 || work.ranks > most_ranks) {
            refuse(indexed("plan.repeated", i), {"ranks must be from 1 to 16777216, got ", work.ranks});
        }
        bool named = false;
        for (const cost_row& row : model.rows()) {
            named = named || matches(work.weights, model.components()[row.component].view(), model.weight_name(row));
        }
        if (!named) {
            refuse(indexed("plan.repeated", i), {"no component or weight is named \"", work.weights.view(), "\""});
        }
    }
}

/// Parameters of a row that no other row stores: an lm_head that is the embedding's table has none.
[[nodiscard]] constexpr std::uint64_t untied_parameters(const cost& model, const cost_row& row) {
    const bool is_head = row.kind == term::lm_head || row.kind == term::detached_head;
    for (const cost_row& table : model.rows()) {
        const std::uint64_t size = table.useful / 2;
        if (is_head && table.kind == term::tied_embedding && row.parameters >= size) {
            return row.parameters - size;
        }
    }
    return row.parameters;
}

/// The row as the convention counts it: other FLOPs a unit, or units of another statistic.
[[nodiscard]] constexpr cost_row counted_row(const cost& model, cost_row row, const convention& how) {
    if (how.parameters == counted_weights::stored) {
        row.what = statistic::tokens;
        row.useful = row.padded = 2 * checked(untied_parameters(model, row), "cost");
        return row;
    }
    const auto scale = [&row](std::uint64_t counted, std::uint64_t exact) {
        for (std::uint64_t* flops : {&row.useful, &row.padded}) {
            const std::uint64_t times_exact = checked(*flops, "cost") * counted;
            *flops = times_exact / exact;
        }
    };
    if (row.kind == term::delta_rule) {
        scale(how.delta_rule_flops, conventions::exact.delta_rule_flops);
    } else if (row.kind == term::scan) {
        scale(how.scan_flops, conventions::exact.scan_flops);
    } else if (row.kind == term::lm_head && row.what == statistic::tokens && how.head == head_rows::one_per_sequence) {
        row.what = statistic::count;
    }
    return row;
}

/// The facts about the attention of a model that a convention may use.
[[nodiscard]] constexpr attention_context context_of(const cost& model) {
    for (const rule& m : model.masks()) {
        if (m.in() == modality::text && !m.reads_other_side() && !m.is_measured() && !is_sliding_window(m)) {
            return {.has_layer_without_window = true};
        }
    }
    return {};
}

}  // namespace floptally::detail
