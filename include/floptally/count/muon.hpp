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
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/parts_of.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Counts the matrix products of the optimizer Muon as a separate component.

namespace floptally::inline v0_3 {

/// The optimizer Muon (K. Jordan, 2024). Before a step it orthogonalises the update of each weight matrix by
/// Newton-Schulz iterations. Their matrix products do not depend on the number of tokens.
///
/// A Newton-Schulz iteration over a matrix X [m, n] with m ≤ n computes A = X·Xᵀ, A·A and (bA + cA²)·X, with constants
/// b and c. That is 2·m²·n + 2·m³ + 2·m²·n FLOPs. X is transposed if m > n. Muon updates weight matrices. It
/// leaves out convolutions, norms, biases, embedding tables and the lm_head. The matrix of each expert counts
/// separately. A fused matrix (qkv) is one matrix. Under LoRA, Muon updates the adapters instead.
struct muon {
    std::uint64_t iterations = 5;  ///< Newton-Schulz iterations for each weight matrix in an optimizer step
    /// Weights that another optimizer updates. Their names have the form of `weight_setting::weights`: "moe.router",
    /// "vision.*".
    list<component_name> others{};

    /// Name of the accumulator of optimizer steps. Add 1 to it for each optimizer step (`tally::add_measured`).
    static constexpr std::string_view accumulator = "optimizer_steps";
};

namespace detail {

/// The shape [in, out] of an entry's weight matrices and their number. The entry itself has only sums over all its
/// matrices. Throws `error` for an entry with matrices of different shapes.
struct matrices_of_entry {
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    std::uint64_t stored = 0;  ///< the number of matrices

    constexpr matrices_of_entry(const cost_entry& entry, std::string_view name) {
        const adapter& matrix = entry.per_rank;
        in = matrix.out == 0 ? 0 : entry.useful / matrix.out;
        out = entry.useful / matrix.in;
        const std::uint64_t shape = checked(in, name) * out;
        const bool whole = in != 0 && out != 0 && in * matrix.out == entry.useful && out * matrix.in == entry.useful &&
                           matrix.in % (2 * in) == 0 && entry.parameters % shape == 0;
        if (!whole) {
            throw error(name,
                        "several matrices of different shapes have this name: give each its own name, so that Muon can "
                        "count them");
        }
        stored = entry.parameters / (in * out);
    }
};

/// Returns the FLOPs of one Newton-Schulz iteration over a matrix: 4·m²·n + 2·m³, where m is the shorter side.
[[nodiscard]] constexpr std::uint64_t newton_schulz(std::uint64_t rows, std::uint64_t columns, std::string_view name) {
    const std::uint64_t m = rows < columns ? rows : columns;
    const std::uint64_t n = rows < columns ? columns : rows;
    const checked square = checked(m, name) * m;
    return 4 * (square * n) + 2 * (square * m);
}

/// Returns true if another optimizer updates this weight, because `muon::others` names it.
[[nodiscard]] constexpr bool is_other(const muon& optimizer, std::string_view component, std::string_view weight) {
    for (const component_name& other : optimizer.others) {
        if (matches(other, component, weight)) {
            return true;
        }
    }
    return false;
}

/// Throws `error` if a name in `muon::others` matches no weight, for example because it is misspelt.
constexpr void require_others(const muon& optimizer, std::span<const model_part> model) {
    for (std::size_t i = 0; i < optimizer.others.size(); ++i) {
        bool named = false;
        for (const model_part& part : model) {
            for (const cost_entry& entry : part.cost.entries()) {
                named = named || (has_weight(entry.kind) &&
                                  matches(optimizer.others[i], part.cost.components()[entry.component].view(),
                                          part.cost.weight_name(entry)));
            }
        }
        if (!named) {
            throw error(indexed("others", i), std::string("no weight of this model is named \"")
                                                  .append(optimizer.others[i].view())
                                                  .append("\"; use the names that the breakdown shows"));
        }
    }
}

}  // namespace detail

/// Returns a model part that counts Muon's matrix products for the weights that a plan trains. Its component
/// "optimizer.muon" counts once for each optimizer step. Add the number of steps with
/// `tally::add_measured(muon::accumulator, …)`.
///
/// Add the returned part to a model's cost. If the plan says which weights train, add the part to the model's parts
/// too. Without the part the FLOPs of Muon do not count. Of the library's conventions only `exact` counts them. The
/// part is for the whole model, not for one rank. If every data-parallel rank runs Muon on all weights, list the part
/// in `training_plan::repeated`.
[[nodiscard]] constexpr model_part muon_part(std::span<const model_part> model, const training_plan& plan = {},
                                             const muon& optimizer = {}) {
    require_positive(optimizer.iterations, "iterations");
    detail::require_others(optimizer, model);
    const detail::weight_states states(plan);
    states.check(model);
    std::uint64_t once = 0;
    for (const model_part& part : model) {
        for (const cost_entry& entry : part.cost.entries()) {
            const std::string_view component = part.cost.components()[entry.component].view();
            const std::string_view weight = part.cost.weight_name(entry);
            const bool is_head = entry.kind == term::lm_head || entry.kind == term::detached_head;
            if (meaning_of(entry.kind).operands != term_operands::matrix || is_head || entry.parameters == 0 ||
                detail::is_other(optimizer, component, weight)) {
                continue;
            }
            if (entry.per_rank.in == 0) {
                // An entry that does not declare what it reads and writes comes from a user, because entries of the
                // library's parts always declare this.
                if (entry.flow == dataflow{}) {
                    throw error(component,
                                "Muon needs the rows and columns of this component's weights: state them, or name the "
                                "component in `others`");
                }
                continue;
            }
            if (weight.empty()) {
                throw error(component,
                            "Muon needs a name for each matrix of this component: name them, or name the component in "
                            "`others`");
            }
            const detail::matrices_of_entry matrices(entry, component);
            for (std::uint64_t n = 0; n < part.repeat; ++n) {
                const std::uint64_t layer = part.first_layer == no_layer ? no_layer : part.first_layer + n;
                const auto decided = states.state_of(part, layer, entry);
                std::uint64_t work = 0;
                if (decided.state == weight_state::trainable) {
                    work = detail::newton_schulz(matrices.in, matrices.out, component);
                } else if (decided.adapts(entry)) {
                    work = checked(detail::newton_schulz(matrices.in, decided.rank, component), component) +
                           detail::newton_schulz(decided.rank, matrices.out, component);
                }
                once = once + checked(matrices.stored, component) * work;
            }
        }
    }
    model_part result{.name = "optimizer", .role = part_role::anywhere};
    const std::uint64_t step = optimizer.iterations * checked(once, "optimizer.muon");
    result.cost.add_entry("optimizer.muon", {},
                          cost_entry{.what = accumulator::routed,
                                     .kind = term::optimizer,
                                     .useful = step,
                                     .padded = step,
                                     .sharding = tensor_sharding::replicated()},
                          measured(muon::accumulator));
    return result;
}

/// Returns a model (a `model_config`) that also counts Muon's matrix products. Adds `muon_part` to the model's cost,
/// and to its parts if the model lists parts.
template <model_record Model>
[[nodiscard]] constexpr Model with_muon(Model model, const training_plan& plan = {}, const muon& optimizer = {}) {
    const array_view<model_part> parts = model.parts;
    if (parts.empty()) {
        const model_part whole{.name = "model", .role = part_role::anywhere, .cost = model.cost};
        model.cost += muon_part({&whole, 1}, plan, optimizer).cost;
        return model;
    }
    const model_part optimizer_part = muon_part({parts.begin(), parts.size()}, plan, optimizer);
    model.cost += optimizer_part.cost;
    model.parts.push_back(optimizer_part);
    return model;
}

}  // namespace floptally
