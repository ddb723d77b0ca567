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
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// One step as every convention counts it, and from each of them to `exact` term by term.

namespace floptally {

/// The difference that one choice of a convention makes to a step: the FLOPs of the step before and after that
/// choice became the one of `exact`.
struct convention_term {
    std::string_view name;     ///< "router"
    std::string_view meaning;  ///< the choice, in a line
    flops before;
    flops after;

    /// `after` less `before`, in decimal: "-25769803776".
    [[nodiscard]] std::string difference() const {
        return before <= after ? to_string(after.value() - before.value())
                               : "-" + to_string(before.value() - after.value());
    }
};

/// A step as one convention counts it. The terms, added up, are the exact FLOPs less the total.
struct compared_convention {
    convention how;
    flops total;                           ///< in the view that was asked for
    std::vector<convention_term> terms{};  ///< those that are not 0
};

namespace detail {

/// A choice that conventions make, which can be made as `exact` makes it.
struct convention_choice {
    std::string_view name;
    std::string_view meaning;
    term_set kinds{};                       ///< rows that a convention may count or leave out
    bool (*settle)(convention&) = nullptr;  ///< makes the choice of `exact`; true where it was another
};

/// Sets a member as `exact` has it; true where that changes it.
template <class Member>
constexpr bool settle_member(convention& how, Member convention::*which) {
    const bool changes = how.*which != conventions::exact.*which;
    how.*which = conventions::exact.*which;
    return changes;
}

/// All choices, in the order in which a difference is taken apart.
inline constexpr convention_choice convention_choices[] = {
    {.name = "stored_parameters",
     .meaning = "every stored parameter for every token; exact: those that a token passes",
     .settle = [](convention& how) { return settle_member(how, &convention::parameters); }},
    {.name = "attention_backward",
     .meaning = "an attention backward of 2.5 times the forward; exact: twice, the product again is executed only",
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
             const bool delta_rule = settle_member(how, &convention::delta_rule_flops);
             return settle_member(how, &convention::scan_flops) || delta_rule;
         }},
    {.name = "indexer",
     .meaning = "the indexer of sparse attention as any layer, or not at all; exact: as the plan runs it",
     .kinds = term_set(term::index_linear, term::index_scores, term::teacher_scores),
     .settle = [](convention& how) { return settle_member(how, &convention::indexer); }},
    {.name = "attention", .meaning = "QKᵀ and PV", .kinds = term_set(term::scores, term::values)},
    {.name = "router", .meaning = "the linears that choose experts", .kinds = term_set(term::router)},
    {.name = "lm_head", .meaning = "what stands after the last layer", .kinds = term_set(term::lm_head)},
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
    {.name = "linear",
     .meaning = "weights times activations in layers",
     .kinds = term_set(term::linear, term::input_linear)},
    {.name = "optimizer", .meaning = "products of the optimizer", .kinds = term_set(term::optimizer)}};

/// True where one of `choices` has the kind, as each of them must.
[[nodiscard]] constexpr bool has_choice_of(term kind) {
    return std::any_of(std::begin(convention_choices), std::end(convention_choices),
                       [kind](const convention_choice& choice) { return choice.kinds.contains(kind); });
}
static_assert(terms_that([](term kind) { return !has_choice_of(kind); }).is_empty());

/// The part of a choice that is made as `exact` makes it: its rows that `exact` does not count, how much is counted, or
/// its rows that `exact` counts besides.
enum class settled_part : std::uint8_t { rows_too_many, amounts, rows_missing };

/// Makes that part of a choice as `exact` makes it; true where that changes the convention.
[[nodiscard]] constexpr bool settle(const convention_choice& choice, settled_part part, convention& how) {
    if (part == settled_part::amounts) {
        return choice.settle != nullptr && choice.settle(how);
    }
    bool changes = false;
    for (std::size_t i = 0; i < term_count; ++i) {
        const auto kind = static_cast<term>(i);
        const bool counted = conventions::exact.counted.contains(kind);
        const bool is_asked = counted == (part == settled_part::rows_missing);
        if (is_asked && choice.kinds.contains(kind) && how.counted.contains(kind) != counted) {
            how.counted = counted ? how.counted.with(kind) : how.counted.without(kind);
            changes = true;
        }
    }
    return changes;
}

}  // namespace detail

/// A model under every convention, to be compared batch by batch. A batch is a tally of `masks()`.
///
/// From a convention to `exact` its choices change one after the other, and a term is what the total changes by: so the
/// terms add up exactly. First go rows that `exact` does not count, then amounts become those of `exact`, and last come
/// rows that it counts besides. Where two choices meet (half of the pairs, and 2.5 times for the backward) the earlier
/// one has what is of both.
class convention_comparison {
  public:
    /// Compares `conventions`, all of the library unless said otherwise. `model` is what a `flop_counter` takes.
    template <class Model>
    explicit convention_comparison(const Model& model, const training_plan& plan = {},
                                   std::span<const convention* const> conventions = conventions::all)
        : exact_(model, conventions::exact, plan), masks_(exact_.masks()) {
        for (const convention* how : conventions) {
            path added{.total = flop_counter(model, *how, plan), .steps = {}};
            add_masks(added.total);
            convention next = *how;
            for (const auto part : {detail::settled_part::rows_too_many, detail::settled_part::amounts,
                                    detail::settled_part::rows_missing}) {
                for (const detail::convention_choice& choice : detail::convention_choices) {
                    if (detail::settle(choice, part, next)) {
                        added.steps.push_back({&choice, flop_counter(model, next, plan)});
                        add_masks(added.steps.back().after);
                    }
                }
            }
            paths_.push_back(std::move(added));
        }
    }

    /// The masks that the tally of a batch must have.
    [[nodiscard]] const mask_set& masks() const { return masks_; }
    /// The exact FLOPs of a batch, useful.
    [[nodiscard]] flops exact(const tally& batch) const { return exact_.total(batch); }

    /// The batch under each convention. Their totals are of the view `seen`; what another view than the useful one has
    /// more is a term, and all terms lead to the exact useful FLOPs.
    [[nodiscard]] std::vector<compared_convention> compare(const tally& batch, view seen = view::useful) const {
        std::vector<compared_convention> compared;
        for (const path& from : paths_) {
            compared_convention& line = compared.emplace_back(
                compared_convention{.how = from.total.counted_as(), .total = from.total.total(batch, seen)});
            flops before = line.total;
            const auto add = [&](std::string_view name, std::string_view meaning, flops after) {
                if (!(before == after)) {
                    line.terms.push_back({name, meaning, before, after});
                }
                before = after;
            };
            if (seen == view::executed) {
                add("executed_again", "recompute, and what a fused backward computes again",
                    from.total.total(batch, view::padded));
            }
            add("padding", "slots without a real token", from.total.total(batch));
            for (const step& taken : from.steps) {
                add(taken.choice->name, taken.choice->meaning, taken.after.total(batch));
            }
        }
        return compared;
    }

  private:
    struct step {
        const detail::convention_choice* choice;
        flop_counter after;
    };
    struct path {
        flop_counter total;
        std::vector<step> steps;
    };

    void add_masks(const flop_counter& counter) {
        for (const rule& needed : counter.masks()) {
            masks_.find_or_add(needed, "masks");
        }
    }

    flop_counter exact_;
    mask_set masks_;
    std::vector<path> paths_;
};

}  // namespace floptally
