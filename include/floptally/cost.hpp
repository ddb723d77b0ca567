// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/checked.hpp>
#include <floptally/component_name.hpp>
#include <floptally/cost_row.hpp>
#include <floptally/detail/bounded_vector.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/statistic.hpp>
#include <floptally/term.hpp>

namespace floptally {

/// The row of integer coefficients that a model is: FLOPs per statistic, by component.
///
/// Costs add up (`a + b`) and scale (`32 * layer`). Everything is checked; a cost is a constant expression where its
/// descriptor is one. Formulas: 2·m·n·k for a product of [m,k] and [k,n].
class cost {
  public:
    static constexpr std::size_t max_components = 48;
    static constexpr std::size_t max_rows = 96;
    static constexpr std::size_t max_weights = 48;
    using component_list = detail::bounded_vector<component_name, max_components>;
    using row_list = detail::bounded_vector<cost_row, max_rows>;
    using weight_list = detail::bounded_vector<component_name, max_weights>;

    constexpr cost() = default;

    /// A weight matrix. Forward 2·in·out a unit.
    constexpr cost& add(const component_name& component, const linear& weight) {
        const auto product = [&component](std::uint64_t a, std::uint64_t b) {
            return checked_multiply(a, b, component.view());
        };
        const std::uint64_t in = weight.in_features;
        const std::uint64_t out = weight.out_features;
        const std::uint64_t padded_out = weight.padded_out_features == 0 ? out : weight.padded_out_features;
        const std::uint64_t per_unit = product(2, weight.applied);
        const std::uint64_t stored = weight.shared ? 0 : weight.stored == 0 ? weight.applied : weight.stored;
        cost_row row{.what = weight.rows,
                     .kind = weight.kind,
                     .useful = product(per_unit, product(in, out)),
                     .padded = product(per_unit, product(in, padded_out)),
                     .parameters = product(stored, product(in, out)),
                     .flow = {.reads = weight.reads, .writes = weight.writes}};
        if (weight.adaptable) {
            row.per_rank = {.in = product(per_unit, in),
                            .out = product(per_unit, out),
                            .padded_out = product(per_unit, padded_out),
                            .parameters = product(stored, checked_add(in, out, component.view()))};
        }
        return put(component, weight.weight, row);
    }

    /// An attention core under a mask. Forward 2·heads·(qk_head_dim + v_head_dim) an attended pair.
    constexpr cost& add(const component_name& component, const attention_core& core, const mask& attends) {
        const std::uint64_t heads = checked_multiply(2, core.num_heads, component.view());
        const auto queries_and_keys = static_cast<value::set>(core.q | core.k);
        cost sum = *this;
        const auto which = static_cast<std::uint8_t>(sum.masks_.find_or_add(attends, "masks"));
        const auto row = [&](term kind, std::uint64_t flops, std::uint64_t times, const dataflow& flow) {
            const std::uint64_t per_pair = checked_multiply(flops, times, component.view());
            sum.put(component, {},
                    cost_row{.mask = which,
                             .what = statistic::pairs,
                             .kind = kind,
                             .useful = per_pair,
                             .padded = per_pair,
                             .flow = flow});
        };
        row(term::scores, heads, core.qk_head_dim, {core.q, core.k, core.v, 0});
        row(term::values, heads, core.v_head_dim, {queries_and_keys, core.v, 0, core.writes});
        row(term::softmax, 3, core.num_heads, {queries_and_keys, 0, 0, 0});
        return *this = sum;
    }

    /// Scores without a PV, that choose keys: `multiply_adds` per attended pair.
    constexpr cost& add_scores(const component_name& component, std::uint64_t multiply_adds, const mask& attends,
                               const dataflow& flow = {}) {
        const std::uint64_t per_pair = checked_multiply(2, multiply_adds, component.view());
        cost sum = *this;
        const auto which = static_cast<std::uint8_t>(sum.masks_.find_or_add(attends, "masks"));
        sum.put(component, {},
                cost_row{.mask = which,
                         .what = statistic::pairs,
                         .kind = term::scores,
                         .useful = per_pair,
                         .padded = per_pair,
                         .flow = flow});
        return *this = sum;
    }

    /// A product of activations, `multiply_adds` of them a token: a recurrent state. Some conventions count a
    /// `term::delta_rule` (three for an element) or a `term::scan` (two) by a rule of their own.
    constexpr cost& add_state(const component_name& component, std::uint64_t multiply_adds, term kind = term::state,
                              value::set reads = 0, value::set writes = 0) {
        const std::uint64_t per_token = checked_multiply(2, multiply_adds, component.view());
        return put(component, {},
                   cost_row{.kind = kind,
                            .useful = per_token,
                            .padded = per_token,
                            .flow = {.reads = reads, .also_reads = reads, .writes = writes}});
    }

    /// Weights that multiply no matrix: norms, biases, look-up tables. `exact` does not count them; conventions that
    /// are a number of parameters times tokens count 2 a token, as if they were a matrix.
    constexpr cost& add_parameters(const component_name& component, term kind, std::uint64_t count) {
        if (count == 0) {
            return *this;
        }
        const std::uint64_t per_token = checked_multiply(2, count, component.view());
        return put(component, {},
                   cost_row{.kind = kind,
                            .useful = per_token,
                            .padded = per_token,
                            .parameters = kind == term::tied_embedding ? 0 : count});
    }

    constexpr cost& operator+=(const cost& other) {
        cost sum = *this;
        for (const cost_row& row : other.rows_) {
            sum.put_from(other, row, other.components_[row.component]);
        }
        return *this = sum;
    }
    [[nodiscard]] friend constexpr cost operator+(cost a, const cost& b) { return a += b; }

    /// `times` copies of the same layer, each with weights of its own. FLOPs per routed visit stay as they are: the
    /// visits are already those of all layers.
    [[nodiscard]] friend constexpr cost operator*(std::uint64_t times, cost layer) {
        for (cost_row& row : layer.rows_) {
            const std::string_view name = layer.components_[row.component].view();
            const std::uint64_t flops_times = row.what == statistic::routed && times != 0 ? 1 : times;
            row.useful = checked_multiply(flops_times, row.useful, name);
            row.padded = checked_multiply(flops_times, row.padded, name);
            row.parameters = checked_multiply(times, row.parameters, name);
            row.per_rank.in = checked_multiply(flops_times, row.per_rank.in, name);
            row.per_rank.out = checked_multiply(flops_times, row.per_rank.out, name);
            row.per_rank.padded_out = checked_multiply(flops_times, row.per_rank.padded_out, name);
            row.per_rank.parameters = checked_multiply(times, row.per_rank.parameters, name);
        }
        return layer;
    }

    /// The same with each row as `of` makes it; its component, weight and mask stay.
    template <class Of>
    [[nodiscard]] constexpr cost with_rows(Of of) const {
        cost sum;
        for (const cost_row& row : rows_) {
            sum.put_from(*this, of(row), components_[row.component]);
        }
        return sum;
    }

    /// The same with the weights of another, which counts them.
    [[nodiscard]] constexpr cost with_shared_weights() const {
        return with_rows([](const cost_row& row) { return row.with_shared_weights(); });
    }

    /// The same under one component, as "mtp"; rows over routed visits keep theirs, which one count belongs to.
    [[nodiscard]] constexpr cost as_component(const component_name& component) const {
        cost sum;
        for (const cost_row& row : rows_) {
            sum.put_from(*this, row, row.what == statistic::routed ? components_[row.component] : component);
        }
        return sum;
    }

    /// The same layers on the other side of an encoder-decoder: over `keys` in place of `tokens`, each token of the
    /// other side seeing every other. Components become "encoder.…", but for norm, bias, embedding and rows over routed
    /// visits. A mask other than bidirectional has no such form.
    [[nodiscard]] constexpr cost on_encoder() const {
        cost sum;
        for (cost_row row : rows_) {
            if (row.what == statistic::tokens) {
                row.what = statistic::keys;
            } else if (row.what == statistic::pairs && masks_[row.mask] == mask::bidirectional()) {
                row.mask = static_cast<std::uint8_t>(sum.masks_.find_or_add(mask::encoder(), "masks"));
            } else if (row.what == statistic::pairs) {
                throw error("masks", masks_[row.mask].name() + " has no form on an encoder's side: only bidirectional");
            } else if (row.what != statistic::count && row.what != statistic::routed) {
                throw error(components_[row.component].view(), "an encoder has no other side to attend");
            }
            const std::string_view name = components_[row.component].view();
            const bool kept = row.what == statistic::routed || name == "norm" || name == "bias" || name == "embedding";
            sum.put(kept ? components_[row.component] : component_name("encoder.", name), weight_name(row), row);
        }
        return sum;
    }

    /// The same, where its result does not reach the loss: forward only.
    [[nodiscard]] constexpr cost detached() const {
        return with_rows([](const cost_row& row) { return row.detached(); });
    }

    [[nodiscard]] constexpr const component_list& components() const { return components_; }
    [[nodiscard]] constexpr const row_list& rows() const { return rows_; }
    [[nodiscard]] constexpr const weight_list& weights() const { return weights_; }
    /// The name of a row's weight within its component; empty where it has none.
    [[nodiscard]] constexpr std::string_view weight_name(const cost_row& row) const {
        return row.weight == 0 ? std::string_view{} : weights_[row.weight - 1U].view();
    }
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
    constexpr void put_from(const cost& other, cost_row row, const component_name& component) {
        if (row.what == statistic::pairs) {
            row.mask = static_cast<std::uint8_t>(masks_.find_or_add(other.masks_[row.mask], "masks"));
        }
        put(component, other.weight_name(row), row);
    }

    /// A measured count of visits is one number for the whole model: all that is counted by it is one row.
    constexpr cost& put_routed(const component_name& component, std::string_view weight, const cost_row& row) {
        for (cost_row& known : rows_) {
            if (known.what != statistic::routed || (known.useful == 0 && known.padded == 0)) {
                continue;  // or nothing but `0 * layer`
            }
            const bool other_size = known.useful != row.useful || known.padded != row.padded;
            if (known.component != row.component || known.kind != row.kind || other_size) {
                throw error(component.view(), "experts of two kinds cannot share one measured count of visits");
            }
            known.parameters = checked_add(known.parameters, row.parameters, component.view());
            known.per_rank.parameters =
                checked_add(known.per_rank.parameters, row.per_rank.parameters, component.view());
            return *this;
        }
        return append(component, weight, row);
    }

    /// Adds a row to the one of its kind, or appends it; where that is an error, nothing has changed.
    constexpr cost& put(const component_name& component, std::string_view weight, cost_row row) {
        row.component = static_cast<std::uint8_t>(components_.find(component));
        row.weight = weight.empty() ? std::uint8_t{0} : index_of_weight(weight);
        if (row.what == statistic::routed) {
            return row.useful == 0 && row.padded == 0 ? *this : put_routed(component, weight, row);
        }
        for (cost_row& known : rows_) {
            if (known.component == row.component && known.kind == row.kind && known.what == row.what &&
                known.mask == row.mask && known.weight == row.weight && known.flow == row.flow) {
                const auto sum = [&component](std::uint64_t& of, std::uint64_t more) {
                    of = checked_add(of, more, component.view());
                };
                sum(row.useful, known.useful);
                sum(row.padded, known.padded);
                sum(row.parameters, known.parameters);
                sum(row.per_rank.in, known.per_rank.in);
                sum(row.per_rank.out, known.per_rank.out);
                sum(row.per_rank.padded_out, known.per_rank.padded_out);
                sum(row.per_rank.parameters, known.per_rank.parameters);
                known = row;
                return *this;
            }
        }
        return append(component, weight, row);
    }

    [[nodiscard]] constexpr std::uint8_t index_of_weight(std::string_view weight) const {
        std::size_t index = 0;
        while (index < weights_.size() && !weights_[index].is(weight)) {
            ++index;
        }
        return static_cast<std::uint8_t>(index + 1);
    }

    constexpr cost& append(const component_name& component, std::string_view weight, const cost_row& row) {
        const bool room = rows_.size() < max_rows && (row.component < components_.size() || !components_.full());
        if (room && row.weight > weights_.size()) {
            weights_.push_back(weight, "weights");
        }
        if (row.component == components_.size() && rows_.size() < max_rows) {
            components_.push_back(component, "components");
        }
        rows_.push_back(row, "rows");
        return *this;
    }

    component_list components_;
    row_list rows_;
    weight_list weights_;
    mask_set masks_;
};

}  // namespace floptally
