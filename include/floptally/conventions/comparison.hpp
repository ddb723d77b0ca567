// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/conventions/all.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/statistic.hpp>

/// @file
/// Compares how conventions count one step, and explains each convention's difference from `exact` term by term.

namespace floptally::inline v0_3 {

/// One cause of the difference between a convention and `exact`, with the FLOPs of the step before and after the cause
/// is removed. Causes are counting rules (such as counting routers), padding, and repeated work.
struct convention_term {
    std::string_view name;     ///< name of the cause: "router"
    std::string_view meaning;  ///< the cause in one line
    flops before;
    flops after;

    /// Returns `after` minus `before` in decimal: "-25769803776".
    [[nodiscard]] std::string difference() const {
        return before <= after ? to_string(after.value() - before.value())
                               : "-" + to_string(before.value() - after.value());
    }
};

/// A training plan that a tool may assume because it does not know the real plan: which weights train, or what is
/// recomputed.
struct assumed_plan {
    std::string_view name;     ///< name of the setting that the tool gets wrong: "frozen_weights"
    std::string_view meaning;  ///< what the tool assumes, in one line
    training_plan plan;
    bool without_adapters = false;  ///< true if the adapters' own FLOPs do not count, but gradients flow back to them
};

/// Returns the training plans that a tool may assume instead of the real one, `plan`. Each differs from `plan` in one
/// or two settings.
[[nodiscard]] inline std::vector<assumed_plan> assumed_plans(const training_plan& plan) {
    std::vector<assumed_plan> assumed;
    const auto add = [&assumed](std::string_view name, std::string_view meaning, const training_plan& changed) {
        assumed.push_back({name, meaning, changed});
    };
    training_plan all_train = plan;
    all_train.weights = {};
    const bool has_frozen = !plan.weights.empty();
    const bool has_adapters = std::any_of(plan.weights.begin(), plan.weights.end(), [](const weight_setting& setting) {
        return setting.state == weight_state::lora;
    });
    if (has_frozen) {
        add("frozen_weights", "every weight is counted as trained, adapters are not counted", all_train);
    }
    if (has_adapters) {
        add("adapters", "adapters are not counted, though gradients flow back to them", plan);
        assumed.back().without_adapters = true;
    }
    const bool trains = plan.counted == counted_passes::train;
    const bool recomputes = plan.recomputed != recompute::none || !plan.recomputed_components.empty();
    training_plan other_passes = plan;
    other_passes.counted = trains ? counted_passes::forward : counted_passes::train;
    add("passes", trains ? "only the forward is counted" : "a whole training step is counted", other_passes);
    if (trains && !recomputes) {
        training_plan recomputing = plan;
        recomputing.recomputed = recompute::full;
        add("recompute", "each layer's forward is counted twice, as if it were recomputed", recomputing);
    }
    if (plan.logits != logit_tokens::all) {
        training_plan all_logits = plan;
        all_logits.logits = logit_tokens::all;
        add("logits", "the lm_head is counted on every token", all_logits);
    }
    if (has_frozen && trains && !recomputes) {
        all_train.recomputed = recompute::full;
        add("frozen_weights, recompute", "every weight is counted as trained, each layer's forward twice", all_train);
    }
    return assumed;
}

/// A step as one convention counts it. The terms add up to the FLOPs by `exact` minus `total`.
struct compared_convention {
    convention how;
    flops total;                           ///< the FLOPs that the convention counts for the step in the requested view
    std::vector<convention_term> terms{};  ///< the causes of the difference, in the order in which they are removed
};

namespace detail {

/// A counting rule in which conventions differ, and how to replace it by the rule of `exact`.
struct convention_choice {
    std::string_view name;
    std::string_view meaning;
    /// The kinds of cost entries that a convention may count or leave out; empty if the rule is about something else.
    term_set kinds{};
    /// A function that replaces the counting rule by that of `exact`. It returns true if this changed the convention.
    /// Null if the rule only chooses which `kinds` count.
    bool (*settle)(convention&) = nullptr;
};

/// Sets a member of a convention to its value in `exact`. Returns true if that changes the member.
template <class Member>
constexpr bool settle_member(convention& how, Member convention::*which) {
    const bool changes = how.*which != conventions::exact.*which;
    how.*which = conventions::exact.*which;
    return changes;
}

/// All counting rules in which conventions differ, in the order in which `compare` replaces them.
inline constexpr convention_choice convention_choices[] = {
    {.name = "stored_parameters",
     .meaning = "every stored parameter for every token; exact: those that a token uses",
     .settle = [](convention& how) { return settle_member(how, &convention::parameters); }},
    {.name = "frozen_weights",
     .meaning = "frozen weights and adapters as if they trained; exact: what the plan trains",
     .settle = [](convention& how) { return settle_member(how, &convention::training); }},
    {.name = "attention_backward",
     .meaning = "an attention backward of 2.5 times the forward; exact: twice; the recomputed product is executed only",
     .settle = [](convention& how) { return settle_member(how, &convention::backward); }},
    {.name = "windows",
     .meaning = "pairs of windows, chunks and sparse masks by a formula; exact: the pairs that are attended",
     .settle =
         [](convention& how) {
             const bool pairs = settle_member(how, &convention::pairs);
             return settle_member(how, &convention::windows) || pairs;
         }},
    {.name = "causal_pairs",
     .meaning = "causal pairs as L² or half of it; exact: L(L+1)/2",
     .settle = [](convention& how) { return settle_member(how, &convention::causal); }},
    {.name = "head_rows",
     .meaning = "the lm_head for one token of a sequence; exact: for every token",
     .settle = [](convention& how) { return settle_member(how, &convention::head); }},
    {.name = "recurrent_state",
     .meaning = "FLOPs of an element of a recurrent state; exact: its products, 6 of a delta rule, 4 of a scan",
     .kinds = term_set(term::state, term::delta_rule, term::scan),
     .settle =
         [](convention& how) {
             bool changes = settle_member(how, &convention::delta_rule_flops);
             changes = settle_member(how, &convention::channel_decay_flops) || changes;
             changes = settle_member(how, &convention::delta_chunk) || changes;
             return settle_member(how, &convention::scan_flops) || changes;
         }},
    {.name = "indexer",
     .meaning = "the indexer of sparse attention as any layer, or not at all; exact: as the plan runs it",
     .kinds = term_set(term::index_linear, term::index_scores, term::teacher_scores),
     .settle = [](convention& how) { return settle_member(how, &convention::indexer); }},
    {.name = "attention", .meaning = "QKᵀ and PV", .kinds = term_set(term::scores, term::values)},
    {.name = "router", .meaning = "the linears that choose experts", .kinds = term_set(term::router)},
    {.name = "lm_head", .meaning = "the matrix after the last layer", .kinds = term_set(term::lm_head)},
    {.name = "embedding",
     .meaning = "the look-up of tokens as a product",
     .kinds = term_set(term::embedding, term::tied_embedding)},
    {.name = "position_embedding",
     .meaning = "the look-up of positions as a product",
     .kinds = term_set(term::position_embedding)},
    {.name = "norms",
     .meaning = "weights of norms as if they were matrices",
     .kinds = term_set(term::norm, term::latent_norm)},
    {.name = "biases", .meaning = "biases as if they were matrices", .kinds = term_set(term::bias)},
    {.name = "softmax", .meaning = "FLOPs of the softmax", .kinds = term_set(term::softmax)},
    {.name = "elementwise",
     .meaning = "gates and residual sums, element by element",
     .kinds = term_set(term::gating, term::residual)},
    {.name = "convolution",
     .meaning = "the short convolution before a scan",
     .kinds = term_set(term::scan_convolution)},
    {.name = "preprocessing",
     .meaning = "linears between look-up tables and the first layer",
     .kinds = term_set(term::preprocessing)},
    {.name = "detached",
     .meaning = "products whose result does not reach the loss",
     .kinds = term_set(term::detached, term::detached_head)},
    {.name = "gradient", .meaning = "products that only the backward runs", .kinds = term_set(term::gradient)},
    {.name = "linear",
     .meaning = "weights times activations in layers",
     .kinds = term_set(term::linear, term::input_linear)},
    {.name = "optimizer", .meaning = "products of the optimizer", .kinds = term_set(term::optimizer)}};

/// Returns true if some rule in `convention_choices` is about this kind of cost entry. Every kind must have such a
/// rule.
[[nodiscard]] constexpr bool has_choice_of(term kind) {
    return std::any_of(std::begin(convention_choices), std::end(convention_choices),
                       [kind](const convention_choice& choice) { return choice.kinds.contains(kind); });
}
static_assert(terms_that([](term kind) { return !has_choice_of(kind); }).is_empty(),
              "a term is in no choice of convention_choices: add it to one, else differences do not add up");

/// The three steps in which a counting rule is replaced. `entries_too_many` removes cost entries that only the
/// convention counts. `amounts` changes the FLOPs of entries that the convention and `exact` count. `entries_missing`
/// adds entries that only `exact` counts.
enum class settled_part : std::uint8_t { entries_too_many, amounts, entries_missing };

/// Replaces a counting rule of a convention by the rule of `exact`, in one of three steps. Returns true if this
/// changes the convention.
[[nodiscard]] constexpr bool settle(const convention_choice& choice, settled_part part, convention& how) {
    if (part == settled_part::amounts) {
        return choice.settle != nullptr && choice.settle(how);
    }
    bool changes = false;
    for (std::size_t i = 0; i < term_count; ++i) {
        const auto kind = static_cast<term>(i);
        const bool counted = conventions::exact.counted.contains(kind);
        const bool belongs = counted == (part == settled_part::entries_missing);
        if (belongs && choice.kinds.contains(kind) && how.counted.contains(kind) != counted) {
            how.counted = counted ? how.counted.with(kind) : how.counted.without(kind);
            changes = true;
        }
    }
    return changes;
}

}  // namespace detail

/// Compares conventions on a model, batch by batch. Each batch is a tally that was made with `masks()`.
///
/// The comparison replaces the counting rules of a convention one by one by those of `exact`. A term is the change of
/// the total by one replacement, so the terms add up exactly. It first removes the entries that only the convention
/// counts, then changes the FLOPs of common entries, and last adds the entries that only `exact` counts. If two rules
/// interact (half of the pairs, and a backward of 2.5 times the forward), their common effect belongs to the term of
/// the rule that is replaced first.
class convention_comparison {
  public:
    /// Prepares the comparison of `conventions` (default: all of the library). `model` is anything that a
    /// `flop_counter` takes.
    template <class Model>
    explicit convention_comparison(const Model& model, const training_plan& plan = {},
                                   std::span<const convention* const> conventions = conventions::all)
        : exact_(model, conventions::exact, plan), masks_(exact_.masks()) {
        for (const convention* how : conventions) {
            path convention_path{.total = flop_counter(model, *how, plan), .steps = {}};
            add_masks(convention_path.total);
            convention next = *how;
            for (const auto part : {detail::settled_part::entries_too_many, detail::settled_part::amounts,
                                    detail::settled_part::entries_missing}) {
                for (const detail::convention_choice& choice : detail::convention_choices) {
                    if (detail::settle(choice, part, next)) {
                        convention_path.steps.push_back({&choice, flop_counter(model, next, plan)});
                        add_masks(convention_path.steps.back().after);
                    }
                }
            }
            paths_.push_back(std::move(convention_path));
        }
        for (assumed_plan& other : assumed_plans(plan)) {
            counters_of_plan& counters = assumed_.emplace_back(counters_of_plan{std::move(other), {}, {}});
            for (const convention* how : conventions) {
                if (counters.assumed.without_adapters) {
                    counters.by_convention.emplace_back(model, *how, with_rank(counters.assumed.plan, 1));
                    counters.of_rank_2.emplace_back(model, *how, with_rank(counters.assumed.plan, 2));
                } else {
                    counters.by_convention.emplace_back(model, *how, counters.assumed.plan);
                }
                add_masks(counters.by_convention.back());
            }
        }
    }

    /// Returns the masks that the tally of a batch must have.
    [[nodiscard]] const mask_set& masks() const { return masks_; }
    /// Returns the exact useful FLOPs of a batch.
    [[nodiscard]] flops exact(const tally& batch) const { return exact_.total_flops(batch); }

    /// Counts the batch under each convention. The totals are in the view `seen`. A convention's terms are its
    /// differences from the exact useful FLOPs: a total plus its terms is always the exact useful FLOPs. In the padded
    /// and executed views the first terms are the padding and the repeated work.
    [[nodiscard]] std::vector<compared_convention> compare(const tally& batch, view seen = view::useful) const {
        std::vector<compared_convention> compared;
        for (const path& from : paths_) {
            compared_convention& line = compared.emplace_back(
                compared_convention{.how = from.total.counted_as(), .total = from.total.total_flops(batch, seen)});
            flops before = line.total;
            const auto add = [&](std::string_view name, std::string_view meaning, flops after) {
                if (!(before == after)) {
                    line.terms.push_back({name, meaning, before, after});
                }
                before = after;
            };
            if (seen == view::executed) {
                add("executed_again", "recompute, and what a fused backward computes again",
                    from.total.total_flops(batch, view::padded));
            }
            add("padding", "slots without a real token", from.total.total_flops(batch));
            for (const step& taken : from.steps) {
                add(taken.choice->name, taken.choice->meaning, taken.after.total_flops(batch));
            }
        }
        return compared;
    }

    /// Returns the training plans that a tool may assume in place of the real plan of the step (`assumed_plans`).
    [[nodiscard]] std::vector<assumed_plan> assumed() const {
        std::vector<assumed_plan> plans;
        for (const counters_of_plan& counters : assumed_) {
            plans.push_back(counters.assumed);
        }
        return plans;
    }
    /// Counts the batch under each convention, with the assumed training plan at index `assumed`.
    [[nodiscard]] std::vector<flops> totals_by(std::size_t assumed, const tally& batch, view seen) const {
        const counters_of_plan& counters = assumed_[assumed];
        std::vector<flops> totals;
        for (std::size_t i = 0; i < counters.by_convention.size(); ++i) {
            const flops total = counters.by_convention[i].total_flops(batch, seen);
            if (counters.of_rank_2.empty()) {
                totals.push_back(total);
            } else {  // FLOPs are linear in the adapters' rank, so those of rank 0 follow from ranks 1 and 2
                const flops of_rank_2 = counters.of_rank_2[i].total_flops(batch, seen);
                totals.push_back(flops{total.value() - (of_rank_2.value() - total.value())});
            }
        }
        return totals;
    }
    /// Counts the batch under each convention, with the real training plan of the step.
    [[nodiscard]] std::vector<flops> totals(const tally& batch, view seen) const {
        std::vector<flops> totals;
        for (const path& from : paths_) {
            totals.push_back(from.total.total_flops(batch, seen));
        }
        return totals;
    }
    /// Returns the conventions that this object compares, in the order in which they were passed.
    [[nodiscard]] std::vector<convention> conventions() const {
        std::vector<convention> all;
        for (const path& from : paths_) {
            all.push_back(from.total.counted_as());
        }
        return all;
    }

  private:
    struct counters_of_plan {
        assumed_plan assumed;
        std::vector<flop_counter> by_convention;
        std::vector<flop_counter> of_rank_2{};  ///< counters like those of `by_convention`, but with adapters of rank 2
                                                ///< instead of 1
    };
    /// Returns the training plan with this rank for all LoRA adapters.
    [[nodiscard]] static training_plan with_rank(training_plan plan, std::uint64_t rank) {
        for (weight_setting& setting : plan.weights) {
            setting.rank = setting.state == weight_state::lora ? rank : 0;
        }
        return plan;
    }
    struct step {
        const detail::convention_choice* choice;
        flop_counter after;
    };
    struct path {
        flop_counter total;
        std::vector<step> steps;
    };

    void add_masks(const flop_counter& counter) {
        for (const statistic& needed : counter.masks()) {
            masks_.find_or_add(needed, "masks");
        }
    }

    flop_counter exact_;
    mask_set masks_;
    std::vector<path> paths_;
    std::vector<counters_of_plan> assumed_;
};

}  // namespace floptally
