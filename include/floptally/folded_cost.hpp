// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/breakdown.hpp>
#include <floptally/checked.hpp>
#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/flops.hpp>
#include <floptally/mask.hpp>
#include <floptally/sequence.hpp>
#include <floptally/tally.hpp>
#include <floptally/training_plan.hpp>

namespace floptally {

/// A cost under one convention and one plan, reduced to coefficients of a tally's words: the row vector of the dot
/// product. Build it once, evaluate it every step.
///
/// Why evaluation needs no overflow check: building it checks that all coefficients together fit 64 bits, and every
/// word does, so that any sum of products stays below 2^128.
class folded_cost {
  public:
    constexpr explicit folded_cost(const cost& model, const convention& how = conventions::exact,
                                   const training_plan& plan = {})
        : how_(how) {
        for (std::size_t component = 0; component < model.components().size(); ++component) {
            for (const cost_row& row : model.rows()) {
                if (row.component == component && how.counted.contains(row.kind)) {
                    add(model, row, plan);
                }
            }
        }
        std::uint64_t sum = 0;
        for (const entry& e : entries_) {
            const auto include = [&](std::uint64_t coefficient, view seen) {
                sum = checked_add(sum, coefficient, "cost");
                totals_[static_cast<std::size_t>(seen)][e.word] += coefficient;
            };
            for (std::size_t i = 0; i < 3; ++i) {
                include(e.useful[i], view::useful);
                include(e.padded[i], view::padded);
                include(e.padded[i], view::executed);
            }
            include(e.fused_backward, view::executed);
            include(e.recomputed_forward, view::executed);
        }
    }

    /// The masks whose pairs a tally must keep for this cost.
    [[nodiscard]] constexpr const mask_set& masks() const { return masks_; }
    [[nodiscard]] constexpr const convention& counted_as() const { return how_; }

    /// Component x phase x view of a batch.
    [[nodiscard]] constexpr breakdown evaluate(const tally& batch) const {
        const word_table words(*this, batch);
        breakdown::list components;
        std::size_t next = 0;
        while (next < entries_.size()) {
            const std::uint8_t component = entries_[next].component;
            // Sums in locals: g++ 12 spends three times as long where they are reached through a reference.
            uint128 forward = 0, data = 0, weights = 0;
            uint128 padded_forward = 0, padded_data = 0, padded_weights = 0;
            uint128 fused = 0, recomputed = 0;
            for (; next < entries_.size() && entries_[next].component == component; ++next) {
                const entry& e = entries_[next];
                const uint128 useful_word = words.useful[e.word];
                const uint128 padded_word = words.padded[e.word];
                forward += useful_word * e.useful[0];
                data += useful_word * e.useful[1];
                weights += useful_word * e.useful[2];
                padded_forward += padded_word * e.padded[0];
                padded_data += padded_word * e.padded[1];
                padded_weights += padded_word * e.padded[2];
                fused += padded_word * e.fused_backward;
                recomputed += padded_word * e.recomputed_forward;
            }
            components.push_back(component_flops{names_[component],
                                                 {forward, data, weights},
                                                 {padded_forward, padded_data, padded_weights},
                                                 fused,
                                                 recomputed},
                                 "components");
        }
        return breakdown{components};
    }

    /// One sum over all components and phases; cheaper than `evaluate(batch).total(seen)` and equal to it.
    [[nodiscard]] constexpr flops total(const tally& batch, view seen = view::useful) const {
        const word_table words(*this, batch);
        const std::uint64_t* values = seen == view::useful ? words.useful : words.padded;
        const std::uint64_t* coefficients = totals_[static_cast<std::size_t>(seen)];
        uint128 sum = 0;
        for (std::size_t word = 0; word < tally::fixed_words + masks_.size(); ++word) {
            sum += uint128{values[word]} * coefficients[word];
        }
        return flops{sum};
    }

    /// The work of one sequence: what balancing samples over ranks compares. Over a batch it adds up to `total`.
    [[nodiscard]] constexpr flops total(const sequence& sample, view seen = view::useful) const {
        tally one{masks_};
        one.add(sample);
        return total(one, seen);
    }

  private:
    static constexpr std::size_t max_words = tally::fixed_words + max_masks;

    /// Coefficients of one component at one word of a tally.
    struct entry {
        std::uint8_t component;
        std::uint8_t word;
        std::uint64_t useful[3];
        std::uint64_t padded[3];
        std::uint64_t fused_backward;
        std::uint64_t recomputed_forward;
    };

    /// How often the products of a row run in each phase, relative to its forward.
    struct passes {
        std::uint64_t forward, backward_data, backward_weights, fused_backward, recomputed_forward;
    };

    [[nodiscard]] constexpr passes passes_of(term kind, const training_plan& plan) const {
        const bool core = kind == term::scores || kind == term::values;
        const bool activations_only = core || kind == term::state;
        const bool counted_as_flash = how_.backward == attention_backward::flash;
        passes p{};
        p.forward = plan.counted == phases::backward ? 0 : 1;
        if (plan.counted == phases::forward || kind == term::detached) {
            return p;
        }
        p.backward_data = activations_only ? 2 : 1;
        p.backward_weights = activations_only ? 0 : 1;
        if (kind == term::scores) {
            p.backward_data += counted_as_flash ? 1 : 0;
            p.fused_backward = plan.flash_attention && !counted_as_flash ? 1 : 0;
        }
        const bool in_layer = kind != term::lm_head && kind != term::embedding && kind != term::tied_embedding &&
                              kind != term::position_embedding;
        const bool again = plan.recomputed == recompute::full        ? in_layer
                           : plan.recomputed == recompute::attention ? core
                                                                     : false;
        p.recomputed_forward = again ? 1 : 0;
        return p;
    }

    /// Replaces the mask of a row by words of a tally, as the convention counts it.
    constexpr void add(const cost& model, const cost_row& row, const training_plan& plan) {
        const std::uint8_t component =
            static_cast<std::uint8_t>(names_.find_or_add(model.components()[row.component], "components"));
        const passes run = passes_of(row.kind, plan);
        const auto at = [&](std::size_t word, std::uint64_t divisor) {
            entry& e = entry_of(component, static_cast<std::uint8_t>(word));
            const auto count = [&](std::uint64_t& coefficient, std::uint64_t per_unit, std::uint64_t times) {
                coefficient = checked_add(coefficient, checked_multiply(per_unit / divisor, times, "cost"), "cost");
            };
            const std::uint64_t times[3] = {run.forward, run.backward_data, run.backward_weights};
            for (std::size_t i = 0; i < 3; ++i) {
                count(e.useful[i], row.useful, times[i]);
                count(e.padded[i], row.padded, times[i]);
            }
            count(e.fused_backward, row.padded, run.fused_backward);
            count(e.recomputed_forward, row.padded, run.recomputed_forward);
        };
        const auto fixed = [](statistic what) { return static_cast<std::size_t>(what); };
        const auto kept = [&](const mask& m) { return tally::fixed_words + masks_.find_or_add(m, "masks"); };

        if (row.what != statistic::pairs) {
            at(fixed(row.what), 1);
            return;
        }
        const mask& attends = model.masks()[row.mask];
        const bool windowed = !attends.is_polynomial() && attends.kind() != mask_kind::compressed_keys;
        if (attends.kind() == mask_kind::cross_attention) {
            at(fixed(statistic::crossed), 1);
        } else if (!attends.is_polynomial() && (!windowed || how_.windows == window_pairs::exact)) {
            at(kept(attends), 1);
        } else if (windowed && attends.is_causal() && attends.kind() == mask_kind::band &&
                   how_.windows == window_pairs::half_box && model.masks().size() > 1) {
            at(kept(mask::box(attends.first() + 1)), 2);
        } else if (attends.is_causal() && how_.causal != causal_pairs::full_square) {
            // Exact: (Σn² + Σn)/2 + Σn·past. Coefficients of pairs are even: every product counts two FLOPs.
            at(fixed(statistic::squares), 2);
            if (how_.causal == causal_pairs::exact) {
                at(fixed(statistic::tokens), 2);
            }
            at(fixed(statistic::cached), 1);
        } else {
            at(fixed(statistic::squares), 1);
            at(fixed(statistic::cached), 1);
        }
    }

    constexpr entry& entry_of(std::uint8_t component, std::uint8_t word) {
        for (entry& e : entries_) {
            if (e.component == component && e.word == word) {
                return e;
            }
        }
        return entries_.push_back(entry{component, word, {}, {}, 0, 0}, "rows");
    }

    /// The words of a batch in this cost's order: as they stand where the tally was built with the same masks.
    struct word_table {
        constexpr word_table(const folded_cost& model, const tally& batch) {
            const std::span<const std::uint64_t> words = batch.words();
            if (model.masks_ == batch.masks()) {
                useful = words.data();
                padded = words.data() + words.size() / 2;
                return;
            }
            for (std::size_t word = 0; word < tally::fixed_words + model.masks_.size(); ++word) {
                const bool fixed = word < tally::fixed_words;
                const auto what = static_cast<statistic>(word);
                for (const view seen : {view::useful, view::padded}) {
                    mapped[static_cast<std::size_t>(seen)][word] =
                        fixed ? batch.get(seen, what) : batch.pairs(seen, model.masks_[word - tally::fixed_words]);
                }
            }
            useful = mapped[0];
            padded = mapped[1];
        }

        const std::uint64_t* useful = nullptr;
        const std::uint64_t* padded = nullptr;
        std::uint64_t mapped[2][max_words];
    };

    convention how_;
    mask_set masks_;
    cost::component_list names_;
    detail::bounded_vector<entry, 2 * cost::max_rows> entries_;
    std::uint64_t totals_[3][max_words]{};
};

/// FLOPs of a batch: the dot product of a cost and a tally. To evaluate every step, keep a `folded_cost`.
[[nodiscard]] constexpr breakdown evaluate(const cost& model, const tally& batch,
                                           const convention& how = conventions::exact, const training_plan& plan = {}) {
    return folded_cost(model, how, plan).evaluate(batch);
}

}  // namespace floptally
