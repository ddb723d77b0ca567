// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/detail/cost_rows.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/measured.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The cost of a model: integer coefficients in FLOPs per unit of a statistic, by component.

namespace floptally {

/// The cost of a model or of a part. Costs add up (`a + b`) and scale (`32 * layer`); all of it is checked. A cost is a
/// constant expression where its descriptor is one. Formulas: 2·m·n·k for a product of [m,k] and [k,n].
class cost {
  public:
    using component_list = detail::list<component_name>;
    using row_list = detail::list<cost_row>;
    using weight_list = detail::list<component_name>;

    constexpr cost() = default;

    /// A weight matrix. Forward 2·in·out a unit.
    constexpr cost& add(const component_name& component, const linear& weight) {
        if (weight.rows == statistic::routed) {
            return add(component, weight, measured("routed"));
        }
        table_.put(component, weight.weight, detail::row_of(component, weight));
        return *this;
    }

    /// A weight matrix over the units that `units` counts: patches after merging, frames after convolutions.
    constexpr cost& add(const component_name& component, const linear& weight, const rule& units) {
        table_.put_over(component, weight.weight, detail::row_of(component, weight), units);
        return *this;
    }

    /// An attention core under a mask. Forward 2·heads·(qk_head_dim + v_head_dim) an attended pair.
    constexpr cost& add(const component_name& component, const attention_core& core, const rule& attends) {
        cost sum = *this;
        sum.put_core(component, core, {.what = statistic::pairs}, 1, attends);
        return *this = std::move(sum);
    }

    /// An attention core with a fixed number of pairs for each unit of a statistic: learned queries over themselves
    /// (`count`) or over the tokens.
    constexpr cost& add(const component_name& component, const attention_core& core, statistic unit,
                        std::uint64_t pairs_per_unit) {
        cost sum = *this;
        sum.put_core(component, core, {.what = unit}, pairs_per_unit, {});
        return *this = std::move(sum);
    }

    /// Scores without a PV, that choose keys: `multiply_adds` per attended pair.
    constexpr cost& add_scores(const component_name& component, std::uint64_t multiply_adds, const rule& attends,
                               const dataflow& flow = {}, const dealing& dealt = {}) {
        return add_pairs(component, term::scores, multiply_adds, attends, flow, dealt);
    }

    /// QKᵀ or PV alone (`term::scores`, `term::values`), where no softmax stands between them.
    constexpr cost& add_pairs(const component_name& component, term kind, std::uint64_t multiply_adds,
                              const rule& attends, const dataflow& flow, const dealing& dealt = {}) {
        const std::uint64_t per_pair = 2 * checked(multiply_adds, component.view());
        table_.put_over(component, {},
                        cost_row{.kind = kind, .useful = per_pair, .padded = per_pair, .flow = flow, .dealt = dealt},
                        attends);
        return *this;
    }

    /// Work on activations that is no product of matrices, `flops` a token: a `term::gating` or `term::residual`.
    constexpr cost& add_elementwise(const component_name& component, term kind, std::uint64_t flops,
                                    const dataflow& flow = {}, const dealing& dealt = {}) {
        table_.put(component, {},
                   cost_row{.kind = kind, .useful = flops, .padded = flops, .flow = flow, .dealt = dealt});
        return *this;
    }

    /// A product of activations, `multiply_adds` of them a token or another unit: a recurrent state. Some conventions
    /// count a `term::delta_rule` (three for an element) or a `term::scan` (two) by a rule of their own.
    constexpr cost& add_state(const component_name& component, std::uint64_t multiply_adds, term kind = term::state,
                              value::set reads = 0, value::set writes = 0, const dealing& dealt = {},
                              statistic unit = statistic::tokens) {
        const std::uint64_t each = 2 * checked(multiply_adds, component.view());
        const dataflow flow{.reads = reads, .also_reads = reads, .writes = writes};
        table_.put(component, {},
                   cost_row{.what = unit, .kind = kind, .useful = each, .padded = each, .flow = flow, .dealt = dealt});
        return *this;
    }

    /// Weights that multiply no matrix: norms, biases, look-up tables. `exact` does not count them; conventions that
    /// are a number of parameters times tokens count 2 a token, as if they were a matrix. Every rank has all of them,
    /// unless `dealt` says more.
    constexpr cost& add_parameters(const component_name& component, term kind, std::uint64_t count,
                                   const dealing& dealt = dealing::replicated()) {
        if (count == 0) {
            return *this;
        }
        const std::uint64_t per_token = 2 * checked(count, component.view());
        table_.put(component, {},
                   cost_row{.kind = kind,
                            .useful = per_token,
                            .padded = per_token,
                            .parameters = kind == term::tied_embedding ? 0 : count,
                            .dealt = dealt});
        return *this;
    }

    /// A row that was counted elsewhere, as it is; `attends` is the mask of its pairs.
    constexpr cost& add_row(const component_name& component, std::string_view weight, const cost_row& row,
                            const rule& attends = {}) {
        if (row.what == statistic::routed && !attends.is_measured()) {
            table_.put_over(component, weight, row, measured("routed").in(row.in));
        } else if (has_rule(row.what)) {
            table_.put_over(component, weight, row, attends);
        } else {
            table_.put(component, weight, row);
        }
        return *this;
    }

    /// A statistic that tallies count though no row does: what tokens of images stand for, a loss mask's tokens.
    constexpr cost& keep(const rule& units) {
        table_.masks.find_or_add(units, "masks");
        return *this;
    }

    constexpr cost& operator+=(const cost& other) {
        cost sum = *this;
        sum.put_all(other);
        return *this = std::move(sum);
    }
    [[nodiscard]] friend constexpr cost operator+(cost a, const cost& b) {
        a.put_all(b);
        return a;
    }

    /// `times` copies of the same layer, each with weights of its own. FLOPs per routed visit stay as they are: the
    /// visits are already those of all layers.
    [[nodiscard]] friend constexpr cost operator*(std::uint64_t times, cost layer) {
        for (cost_row& row : layer.table_.rows) {
            const checked copies(times, layer.table_.components[row.component].view());
            const bool is_of_all_layers = times != 0 && layer.table_.is_of_all_layers(row);
            if (!is_of_all_layers) {
                detail::multiply_flops(row, copies);
            }
            row.parameters = copies * row.parameters;
            row.per_rank.parameters = copies * row.per_rank.parameters;
        }
        return layer;
    }

    /// This cost with each row as `change` returns it; its component, weight and mask stay.
    template <class Change>
    [[nodiscard]] constexpr cost with_rows(Change change) const {
        cost sum;
        for (const cost_row& row : table_.rows) {
            sum.table_.put_from(table_, change(row), table_.components[row.component]);
        }
        return sum;
    }

    /// This cost with the weights of another, which counts them.
    [[nodiscard]] constexpr cost with_shared_weights() const {
        return with_rows([](const cost_row& row) { return row.with_shared_weights(); });
    }

    /// This cost under one component, as "mtp". Rows over routed visits keep theirs: one count belongs to it.
    [[nodiscard]] constexpr cost as_component(const component_name& component) const {
        return renamed([&component](const component_name&) { return component; });
    }

    /// This cost under the names that `rename` returns for its own. Rows over routed visits keep theirs.
    template <class Rename>
    [[nodiscard]] constexpr cost renamed(Rename rename) const {
        cost sum;
        for (const cost_row& row : table_.rows) {
            const component_name& own = table_.components[row.component];
            sum.table_.put_from(table_, row, row.what == statistic::routed ? own : rename(own));
        }
        return sum;
    }

    /// These layers on the other side of an encoder-decoder: over `keys` in place of `tokens`, where each token of the
    /// other side sees every other, or those within a window. Components become "encoder.…", but for norm, bias,
    /// embedding and rows over routed visits. A mask other than bidirectional and windows has no such form: an error.
    [[nodiscard]] constexpr cost on_encoder() const {
        cost sum;
        for (cost_row row : table_.rows) {
            mask attends;
            if (row.what == statistic::tokens) {
                row.what = statistic::keys;
            } else if (row.what == statistic::pairs || row.what == statistic::routed) {
                attends = table_.masks[row.mask];
            } else if (row.what != statistic::count) {
                throw error(table_.components[row.component].view(), "an encoder has no other side to attend");
            }
            const component_name& own = table_.components[row.component];
            const bool pairs = row.what == statistic::pairs;
            sum.add_row(row.what == statistic::routed ? own : own.on_encoder(), weight_name(row), row,
                        pairs ? attends.on_encoder() : attends);
        }
        return sum;
    }

    /// This cost where its result does not reach the loss: forward only.
    [[nodiscard]] constexpr cost detached() const {
        return with_rows([](const cost_row& row) { return row.detached(); });
    }

    /// This cost over the statistics of a tower.
    [[nodiscard]] constexpr cost in(modality which) const { return cost(table_.in(which)); }

    /// This cost over `units` in place of tokens (cells of a coarser grid, frames after convolutions). `attends` is the
    /// mask over these that stands for bidirectional attention.
    [[nodiscard]] constexpr cost over(const rule& units, const rule& attends = mask::bidirectional()) const {
        return cost(table_.over(units, attends));
    }

    /// These layers over sequences that are longer by `n` tokens which no tally counts: class tokens, registers.
    /// (L + n)² is L² + 2nL + n². A mask other than bidirectional has no such form: an error.
    [[nodiscard]] constexpr cost with_prefix_tokens(std::uint64_t n) const {
        return cost(table_.with_prefix_tokens(n));
    }

    /// The names that rows refer to by index.
    [[nodiscard]] constexpr const component_list& components() const { return table_.components; }
    [[nodiscard]] constexpr const row_list& rows() const { return table_.rows; }  ///< the coefficients
    /// The names of weights, that rows refer to by index + 1.
    [[nodiscard]] constexpr const weight_list& weights() const { return table_.weights; }
    /// The name of a row's weight within its component; empty where it has none.
    [[nodiscard]] constexpr std::string_view weight_name(const cost_row& row) const { return table_.weight_name(row); }
    /// Every mask of the model; a tally of its batches is built with them.
    [[nodiscard]] constexpr const mask_set& masks() const { return table_.masks; }

    /// The number of weights stored: all experts; a tied embedding once.
    [[nodiscard]] constexpr std::uint64_t parameters() const {
        checked sum(0, "parameters");
        for (const cost_row& row : table_.rows) {
            sum += row.parameters;
        }
        return sum;
    }

    [[nodiscard]] friend constexpr bool operator==(const cost&, const cost&) = default;

  private:
    template <std::size_t, std::size_t, std::size_t, std::size_t>
    friend class constant_cost;

    constexpr explicit cost(detail::cost_rows table) : table_(std::move(table)) {}

    /// Adds the rows of another cost; after an error some of them.
    constexpr void put_all(const cost& other) {
        for (const cost_row& row : other.table_.rows) {
            table_.put_from(other.table_, row, other.table_.components[row.component]);
        }
        for (const rule& units : other.table_.masks) {
            keep(units);
        }
    }

    /// QKᵀ, PV and softmax; `per_unit` pairs for each unit of `base`'s statistic.
    constexpr void put_core(const component_name& component, const attention_core& core, cost_row base,
                            std::uint64_t per_unit, const rule& attends) {
        const checked heads(core.num_heads, component.view());
        const auto queries_and_keys = static_cast<value::set>(core.q | core.k);
        base.dealt = dealing::heads(core.num_heads);
        const auto row = [&](term kind, const checked& flops, const dataflow& flow) {
            base.kind = kind;
            base.useful = base.padded = per_unit * flops;
            base.flow = flow;
            add_row(component, {}, base, attends);
        };
        row(term::scores, 2 * heads * core.qk_head_dim, {core.q, core.k, core.v, 0});
        row(term::values, 2 * heads * core.v_head_dim, {queries_and_keys, core.v, 0, core.writes});
        row(term::softmax, 3 * heads, {queries_and_keys, 0, 0, 0});
    }

    detail::cost_rows table_;
};

}  // namespace floptally
