// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/checked.hpp>
#include <floptally/component_name.hpp>
#include <floptally/detail/bounded_vector.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/statistic.hpp>
#include <floptally/term.hpp>

namespace floptally {

/// One row: FLOPs of a forward pass per unit of a statistic.
struct cost_row {
    std::uint8_t component = 0;  ///< index into `cost::components()`
    std::uint8_t mask = 0;       ///< index into `cost::masks()`, for `statistic::pairs`
    statistic what = statistic::tokens;
    term kind = term::linear;
    std::uint64_t useful = 0;      ///< FLOPs per unit of real tokens or pairs
    std::uint64_t padded = 0;      ///< FLOPs per unit of padded slots: a padded vocabulary is wider
    std::uint64_t parameters = 0;  ///< weights stored: all experts, not only those a token visits

    [[nodiscard]] friend constexpr bool operator==(const cost_row&, const cost_row&) = default;
};

/// A weight matrix [out_features, in_features] applied to every unit of a statistic: 2·in·out FLOPs each.
/// Biases are additions, not products: by definition they are not counted (`term::bias` keeps their number only).
struct linear {
    std::uint64_t in_features = 0;
    std::uint64_t out_features = 0;
    std::uint64_t applied = 1;              ///< how many such matrices a unit passes through
    std::uint64_t stored = 0;               ///< how many exist; 0: as many as are applied (experts: all of them)
    std::uint64_t padded_out_features = 0;  ///< 0: not padded
    statistic rows = statistic::tokens;
    term kind = term::linear;
};

/// The attention core of `num_heads` query heads: QKᵀ over `qk_head_dim`, PV over `v_head_dim`.
/// GQA repeats keys and values, so only query heads count.
struct attention_core {
    std::uint64_t num_heads = 0;
    std::uint64_t qk_head_dim = 0;
    std::uint64_t v_head_dim = 0;
};

/// The row of integer coefficients that a model is: FLOPs per statistic, by component.
///
/// Costs add up (`a + b`: one after the other) and scale (`32 * layer`). Everything is checked; a cost is a constant
/// expression where its descriptor is one. Formulas: 2·m·n·k for a product of [m,k] and [k,n].
class cost {
  public:
    static constexpr std::size_t max_components = 48;
    static constexpr std::size_t max_rows = 96;
    static constexpr std::uint64_t exact_delta_rule_flops = 6;
    static constexpr std::uint64_t exact_scan_flops = 4;
    using component_list = detail::bounded_vector<component_name, max_components>;
    using row_list = detail::bounded_vector<cost_row, max_rows>;

    constexpr cost() = default;

    /// A weight matrix. Forward 2·in·out a unit.
    constexpr cost& add(const component_name& component, const linear& weight) {
        const std::uint64_t size = checked_multiply(weight.in_features, weight.out_features, component.view());
        const std::uint64_t padded_out =
            weight.padded_out_features == 0 ? weight.out_features : weight.padded_out_features;
        const std::uint64_t per_unit = checked_multiply(2, weight.applied, component.view());
        return put(component,
                   cost_row{.what = weight.rows,
                            .kind = weight.kind,
                            .useful = checked_multiply(per_unit, size, component.view()),
                            .padded = checked_multiply(
                                per_unit, checked_multiply(weight.in_features, padded_out, component.view()),
                                component.view()),
                            .parameters = checked_multiply(weight.stored == 0 ? weight.applied : weight.stored, size,
                                                           component.view())});
    }

    /// An attention core under a mask. Forward 2·heads·(qk_head_dim + v_head_dim) an attended pair.
    constexpr cost& add(const component_name& component, const attention_core& core, const mask& attends) {
        const std::uint64_t heads = checked_multiply(2, core.num_heads, component.view());
        cost sum = *this;
        const auto which = static_cast<std::uint8_t>(sum.masks_.find_or_add(attends, "masks"));
        const auto row = [&](term kind, std::uint64_t head_dim) {
            const std::uint64_t per_pair = checked_multiply(heads, head_dim, component.view());
            sum.put(component,
                    cost_row{
                        .mask = which, .what = statistic::pairs, .kind = kind, .useful = per_pair, .padded = per_pair});
        };
        row(term::scores, core.qk_head_dim);
        row(term::values, core.v_head_dim);
        sum.put(component, cost_row{.mask = which,
                                    .what = statistic::pairs,
                                    .kind = term::softmax,
                                    .useful = checked_multiply(3, core.num_heads, component.view()),
                                    .padded = checked_multiply(3, core.num_heads, component.view())});
        return *this = sum;
    }

    /// A product of activations, `multiply_adds` of them a token: a recurrent state.
    constexpr cost& add_state(const component_name& component, std::uint64_t multiply_adds) {
        const std::uint64_t per_token = checked_multiply(2, multiply_adds, component.view());
        return put(component, cost_row{.kind = term::state, .useful = per_token, .padded = per_token});
    }

    /// The state of a delta rule: 6 FLOPs a token for each of its d_k·d_v elements a head.
    constexpr cost& add_delta_rule(const component_name& component, std::uint64_t elements) {
        return add_elements(component, term::delta_rule, exact_delta_rule_flops, elements);
    }

    /// The state of a selective scan: 4 FLOPs a token for each of its d_inner·d_state elements.
    constexpr cost& add_scan(const component_name& component, std::uint64_t elements) {
        return add_elements(component, term::scan, exact_scan_flops, elements);
    }

    /// Weights that multiply no matrix: norms, biases, look-up tables. `exact` does not count them; conventions that
    /// are a number of parameters times tokens count 2 a token, as if they were a matrix.
    constexpr cost& add_parameters(const component_name& component, term kind, std::uint64_t count) {
        if (count == 0) {
            return *this;
        }
        const std::uint64_t per_token = checked_multiply(2, count, component.view());
        return put(component, cost_row{.kind = kind,
                                       .useful = per_token,
                                       .padded = per_token,
                                       .parameters = kind == term::tied_embedding ? 0 : count});
    }

    constexpr cost& operator+=(const cost& other) {
        cost sum = *this;
        for (const cost_row& row : other.rows_) {
            cost_row mapped = row;
            if (row.what == statistic::pairs) {
                mapped.mask = static_cast<std::uint8_t>(sum.masks_.find_or_add(other.masks_[row.mask], "masks"));
            }
            sum.put(other.components_[row.component], mapped);
        }
        return *this = sum;
    }
    [[nodiscard]] friend constexpr cost operator+(cost a, const cost& b) { return a += b; }

    /// `times` copies of the same layer, each with weights of its own.
    [[nodiscard]] friend constexpr cost operator*(std::uint64_t times, cost layer) {
        for (cost_row& row : layer.rows_) {
            const std::string_view name = layer.components_[row.component].view();
            row.useful = checked_multiply(times, row.useful, name);
            row.padded = checked_multiply(times, row.padded, name);
            row.parameters = checked_multiply(times, row.parameters, name);
        }
        return layer;
    }

    [[nodiscard]] constexpr const component_list& components() const { return components_; }
    [[nodiscard]] constexpr const row_list& rows() const { return rows_; }
    /// Every mask of the model: what its tally is built with.
    [[nodiscard]] constexpr const mask_set& masks() const { return masks_; }

    /// Weights stored: all experts; a tied embedding once.
    [[nodiscard]] constexpr std::uint64_t parameters() const {
        std::uint64_t sum = 0;
        for (const cost_row& row : rows_) {
            sum = checked_add(sum, row.parameters, "parameters");
        }
        return sum;
    }

    [[nodiscard]] friend constexpr bool operator==(const cost&, const cost&) = default;

  private:
    constexpr cost& add_elements(const component_name& component, term kind, std::uint64_t flops_each,
                                 std::uint64_t elements) {
        const std::uint64_t per_token = checked_multiply(flops_each, elements, component.view());
        return put(component, cost_row{.kind = kind, .useful = per_token, .padded = per_token});
    }

    /// Adds a row to the one of its kind, or appends it; where that is an error, nothing has changed.
    constexpr cost& put(const component_name& component, cost_row row) {
        row.component = static_cast<std::uint8_t>(components_.find(component));
        for (cost_row& known : rows_) {
            if (known.component == row.component && known.kind == row.kind && known.what == row.what &&
                known.mask == row.mask) {
                row.useful = checked_add(known.useful, row.useful, component.view());
                row.padded = checked_add(known.padded, row.padded, component.view());
                row.parameters = checked_add(known.parameters, row.parameters, component.view());
                known = row;
                return *this;
            }
        }
        if (row.component == components_.size() && rows_.size() < max_rows) {
            components_.push_back(component, "components");
        }
        rows_.push_back(row, "rows");
        return *this;
    }

    component_list components_;
    row_list rows_;
    mask_set masks_;
};

}  // namespace floptally
