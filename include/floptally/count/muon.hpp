// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/count/detail/weight_states.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The matrix products of the optimizer Muon, as a component of its own.

namespace floptally {

/// The optimizer Muon (K. Jordan, 2024). Before a step it orthogonalises the update of each weight matrix by
/// Newton-Schulz iterations, which multiply matrices, however many tokens the step has.
///
/// An iteration over X [m, n], m ≤ n (the other way round X is transposed), is A = X·Xᵀ, A·A and (bA + cA²)·X:
/// 2·m²·n + 2·m³ + 2·m²·n FLOPs. It steps every matrix that an adapter would fit (no convolution, norm, bias or table)
/// but the lm_head, each expert's own, and of LoRA the adapters. A matrix that the implementation fuses (qkv) is one
/// here.
struct muon {
    std::uint64_t iterations = 5;  ///< Newton-Schulz iterations of one step
    /// Weights that another optimizer steps, by names as in a `weight_setting`: "moe.router", "vision.*".
    detail::list<component_name> others{};

    /// The word that counts it: a caller adds 1 for each step of the optimizer (`tally::add_measured`).
    static constexpr std::string_view word = "optimizer_steps";
};

namespace detail {

/// The sides and the number of the matrices of a row that an adapter fits, from the sums over them that the row keeps.
/// A row that is several matrices of different shapes is an error.
struct matrices_of_row {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    std::uint64_t stored = 0;  ///< the number of matrices

    constexpr matrices_of_row(const cost_row& row, std::string_view name) {
        const adapter& matrix = row.per_rank;
        in = matrix.out == 0 ? 0 : row.useful / matrix.out;
        out = row.useful / matrix.in;
        const std::uint64_t shape = checked(in, name) * out;
        const bool whole = in != 0 && out != 0 && in * matrix.out == row.useful && out * matrix.in == row.useful &&
                           matrix.in % (2 * in) == 0 && row.parameters % shape == 0;
        if (!whole) {
            throw error(name, "is several matrices of different shapes under one name; muon needs a name for each");
        }
        stored = row.parameters / (in * out);
    }
};

/// FLOPs of one Newton-Schulz iteration over a matrix: 4·m²·n + 2·m³, where m is its shorter side.
[[nodiscard]] constexpr std::uint64_t newton_schulz(std::uint64_t rows, std::uint64_t columns, std::string_view name) {
    const std::uint64_t m = rows < columns ? rows : columns;
    const std::uint64_t n = rows < columns ? columns : rows;
    const checked square = checked(m, name) * m;
    return 4 * (square * n) + 2 * (square * m);
}

/// True for a weight that another optimizer steps.
[[nodiscard]] constexpr bool is_other(const muon& how, std::string_view component, std::string_view weight) {
    for (const component_name& other : how.others) {
        if (matches(other, component, weight)) {
            return true;
        }
    }
    return false;
}

/// Throws for a name of `others` that no weight has: a misspelt name would otherwise go unnoticed.
constexpr void require_others(const muon& how, std::span<const model_part> model) {
    for (std::size_t i = 0; i < how.others.size(); ++i) {
        bool named = false;
        for (const model_part& part : model) {
            for (const cost_row& row : part.cost.rows()) {
                named = named ||
                        (has_weight(row.kind) && matches(how.others[i], part.cost.components()[row.component].view(),
                                                         part.cost.weight_name(row)));
            }
        }
        if (!named) {
            throw error(indexed("others", i),
                        std::string("no weight of this model is named \"").append(how.others[i].view()).append("\""));
        }
    }
}

}  // namespace detail

/// The part that counts Muon's products for the weights that a plan trains: a component "optimizer.muon", once for each
/// step that a caller adds (`muon::word`). Add it to a model's cost, and to its parts where the plan says which weights
/// train; without it nothing counts Muon, and no convention of the library but `exact` does. It is that of a whole
/// model, not of one rank: where every data parallel rank runs it, `training_plan::repeated` says so.
[[nodiscard]] constexpr model_part muon_part(std::span<const model_part> model, const training_plan& plan = {},
                                             const muon& how = {}) {
    require_positive(how.iterations, "iterations");
    detail::require_others(how, model);
    const detail::weight_states states(plan);
    states.check(model);
    std::uint64_t once = 0;
    for (const model_part& part : model) {
        for (const cost_row& row : part.cost.rows()) {
            const std::string_view component = part.cost.components()[row.component].view();
            const std::string_view weight = part.cost.weight_name(row);
            const bool is_head = row.kind == term::lm_head || row.kind == term::detached_head;
            if (meaning_of(row.kind).operands != term_operands::matrix || is_head || row.parameters == 0 ||
                detail::is_other(how, component, weight)) {
                continue;
            }
            if (row.per_rank.in == 0) {
                if (row.flow == dataflow{}) {  // made by hand, and not by a part whose weight no adapter fits
                    throw error(component,
                                "has weights whose sides it does not say; muon needs them, or others to have it");
                }
                continue;
            }
            if (weight.empty()) {
                throw error(
                    component,
                    "has a matrix without a name, which may be several; muon needs their names, or others to have it");
            }
            const detail::matrices_of_row matrices(row, component);
            for (std::uint64_t n = 0; n < part.repeat; ++n) {
                const std::uint64_t layer = part.first_layer == no_layer ? no_layer : part.first_layer + n;
                const auto decided = states.state_of(part, layer, row);
                std::uint64_t work = 0;
                if (decided.state == weight_state::trainable) {
                    work = detail::newton_schulz(matrices.in, matrices.out, component);
                } else if (decided.adapts(row)) {
                    work = checked(detail::newton_schulz(matrices.in, decided.rank, component), component) +
                           detail::newton_schulz(decided.rank, matrices.out, component);
                }
                once = once + checked(matrices.stored, component) * work;
            }
        }
    }
    model_part made{.name = "optimizer", .role = part_role::anywhere};
    const std::uint64_t step = how.iterations * checked(once, "optimizer.muon");
    made.cost.add_row("optimizer.muon", {},
                      cost_row{.what = statistic::routed,
                               .kind = term::optimizer,
                               .useful = step,
                               .padded = step,
                               .dealt = dealing::replicated()},
                      measured(muon::word));
    return made;
}

/// A model (a `model_config`) that also counts Muon's products in each step of its optimizer: with `muon_part` in its
/// cost, and in its parts where it lists them.
template <model_record Model>
[[nodiscard]] constexpr Model with_muon(Model model, const training_plan& plan = {}, const muon& how = {}) {
    const detail::array_view<model_part> parts = model.parts;
    if (parts.empty()) {
        const model_part whole{.name = "model", .role = part_role::anywhere, .cost = model.cost};
        model.cost += muon_part({&whole, 1}, plan, how).cost;
        return model;
    }
    const model_part steps = muon_part({parts.begin(), parts.size()}, plan, how);
    model.cost += steps.cost;
    model.parts.push_back(steps);
    return model;
}

}  // namespace floptally
