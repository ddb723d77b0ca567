// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/detail/cost_entries.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `cost`: the cost of a model by component, as integer coefficients: FLOPs per token, per attended pair, ….

namespace floptally::inline v0_3 {

/// The cost of a model or of a part. Costs add up (`a + b`) and scale (`32 * layer`). Overflow throws. A cost is a
/// constant expression if its descriptor is a constant. A matrix product of [m,k] and [k,n] has 2·m·n·k FLOPs.
class cost {
  public:
    using component_list = list<component_name>;
    using entry_list = list<cost_entry>;
    using weight_list = list<component_name>;

    constexpr cost() = default;

    /// Adds a weight matrix: 2·in·out forward FLOPs for each token, or for each unit that the accumulator
    /// `linear::rows` counts.
    constexpr cost& add(const component_name& component, const linear& weight) {
        if (weight.rows == accumulator::routed) {
            return add(component, weight, measured("routed"));
        }
        table_.put(component, weight.weight, detail::entry_of(component, weight));
        return *this;
    }

    /// Adds a weight matrix that is not applied to every token, but to what `units` counts: patches after merging,
    /// frames after convolutions, ….
    constexpr cost& add(const component_name& component, const linear& weight, const statistic& units) {
        table_.put_over(component, weight.weight, detail::entry_of(component, weight), units);
        return *this;
    }

    /// Adds an attention core with a mask: 2·heads·(qk_head_dim + v_head_dim) forward FLOPs per attended pair.
    constexpr cost& add(const component_name& component, const attention_core& core, const statistic& attends) {
        cost sum = *this;
        sum.put_core(component, core, {.what = accumulator::pairs}, 1, attends);
        return *this = std::move(sum);
    }

    /// Adds an attention core with a fixed number of pairs for each sequence (`count`) or each token (`tokens`).
    /// Examples: learned queries that attend to each other in every sequence, or a fixed number of queries that attend
    /// to every token.
    constexpr cost& add(const component_name& component, const attention_core& core, accumulator unit,
                        std::uint64_t pairs_per_unit) {
        cost sum = *this;
        sum.put_core(component, core, {.what = unit}, pairs_per_unit, {});
        return *this = std::move(sum);
    }

    /// Adds attention scores that only choose keys, without a PV product: `multiply_adds` per attended pair.
    constexpr cost& add_scores(const component_name& component, std::uint64_t multiply_adds, const statistic& attends,
                               const dataflow& flow = {}, const tensor_sharding& sharding = {}) {
        return add_pairs(component, term::scores, multiply_adds, attends, flow, sharding);
    }

    /// Adds QKᵀ or PV alone (`term::scores`, `term::values`), for attention without a softmax between them.
    constexpr cost& add_pairs(const component_name& component, term kind, std::uint64_t multiply_adds,
                              const statistic& attends, const dataflow& flow, const tensor_sharding& sharding = {}) {
        const std::uint64_t per_pair = 2 * checked(multiply_adds, component.view());
        table_.put_over(
            component, {},
            cost_entry{.kind = kind, .useful = per_pair, .padded = per_pair, .flow = flow, .sharding = sharding},
            attends);
        return *this;
    }

    /// Adds work on activations that is not a matrix product, `flops` per token: `term::gating` or `term::residual`.
    constexpr cost& add_elementwise(const component_name& component, term kind, std::uint64_t flops,
                                    const dataflow& flow = {}, const tensor_sharding& sharding = {}) {
        table_.put(component, {},
                   cost_entry{.kind = kind, .useful = flops, .padded = flops, .flow = flow, .sharding = sharding});
        return *this;
    }

    /// Adds a product of activations with a recurrent state: `multiply_adds` per token, or per sequence, … if `unit` is
    /// another accumulator. Some conventions count a `term::delta_rule` (three multiply-adds per element) or a
    /// `term::scan` (two) in their own way.
    constexpr cost& add_state(const component_name& component, std::uint64_t multiply_adds, term kind = term::state,
                              value::set reads = 0, value::set writes = 0, const tensor_sharding& sharding = {},
                              accumulator unit = accumulator::tokens, std::uint32_t groups = 1) {
        const std::uint64_t per_unit = 2 * checked(multiply_adds, component.view());
        const dataflow flow{.reads = reads, .also_reads = reads, .writes = writes};
        table_.put(component, {},
                   cost_entry{.what = unit,
                              .kind = kind,
                              .useful = per_unit,
                              .padded = per_unit,
                              .groups = groups,
                              .flow = flow,
                              .sharding = sharding});
        return *this;
    }

    /// Adds weights without a matrix product: norms, biases, look-up tables. The convention `exact` counts no FLOPs for
    /// them. Conventions that multiply parameters by tokens count 2 FLOPs per weight and token. Unless `sharding` says
    /// otherwise, every rank has all of these weights.
    constexpr cost& add_parameters(const component_name& component, term kind, std::uint64_t count,
                                   const tensor_sharding& sharding = tensor_sharding::replicated()) {
        if (count == 0) {
            return *this;
        }
        const std::uint64_t per_token = 2 * checked(count, component.view());
        table_.put(component, {},
                   cost_entry{.kind = kind,
                              .useful = per_token,
                              .padded = per_token,
                              .parameters = kind == term::tied_embedding ? 0 : count,
                              .sharding = sharding});
        return *this;
    }

    /// Adds an entry of another cost unchanged. `attends` is the mask that counts the entry's attended pairs.
    constexpr cost& add_entry(const component_name& component, std::string_view weight, const cost_entry& entry,
                              const statistic& attends = {}) {
        if (entry.what == accumulator::routed && !attends.is_measured()) {
            table_.put_over(component, weight, entry, measured("routed").in(entry.in));
        } else if (has_statistic(entry.what)) {
            table_.put_over(component, weight, entry, attends);
        } else {
            table_.put(component, weight, entry);
        }
        return *this;
    }

    /// Makes tallies count a statistic that no entry of the cost needs. Examples are the text tokens that stand for
    /// images, or the tokens of a loss mask.
    constexpr cost& keep(const statistic& units) {
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

    /// Returns `times` copies of the same layer, each with its own weights. FLOPs per measured visit to an expert are
    /// not multiplied, because the number of visits is already summed over all layers.
    [[nodiscard]] friend constexpr cost operator*(std::uint64_t times, cost layer) {
        for (cost_entry& entry : layer.table_.entries) {
            const checked copies(times, layer.table_.components[entry.component].view());
            const bool is_of_all_layers = times != 0 && layer.table_.is_of_all_layers(entry);
            if (!is_of_all_layers) {
                detail::multiply_flops(entry, copies);
            }
            entry.parameters = copies * entry.parameters;
            entry.per_rank.parameters = copies * entry.per_rank.parameters;
        }
        return layer;
    }

    /// Returns this cost with each entry replaced by `change(entry)`. Components, weights and masks are the same.
    template <class Change>
    [[nodiscard]] constexpr cost with_entries(Change change) const {
        cost sum;
        for (const cost_entry& entry : table_.entries) {
            sum.table_.put_from(table_, change(entry), table_.components[entry.component]);
        }
        return sum;
    }

    /// Returns this cost with 0 stored weights. Use it for a part that shares its weights with another cost.
    [[nodiscard]] constexpr cost with_shared_weights() const {
        return with_entries([](const cost_entry& entry) { return entry.with_shared_weights(); });
    }

    // `renamed` is defined before its callers, because clang evaluates a template in a constant expression only after
    // its definition.

    /// Returns this cost with its components renamed by `rename`. Entries that count measured visits to experts keep
    /// their component.
    template <class Rename>
    [[nodiscard]] constexpr cost renamed(Rename rename) const {
        cost sum;
        for (const cost_entry& entry : table_.entries) {
            const component_name& name = table_.components[entry.component];
            sum.table_.put_from(table_, entry, entry.what == accumulator::routed ? name : rename(name));
        }
        return sum;
    }

    /// Returns this cost under one component, such as "mtp". Entries that count measured visits to experts keep their
    /// component, because all entries with the same measured count must have the same component.
    [[nodiscard]] constexpr cost as_component(const component_name& component) const {
        return renamed([&component](const component_name&) { return component; });
    }

    /// Returns these layers as layers of the encoder in an encoder-decoder: they count encoder tokens (`keys`) instead
    /// of `tokens`. Components are renamed to "encoder.…", except norm, bias, embedding and entries that count measured
    /// visits to experts. Throws `error` for a mask that is neither bidirectional nor a window.
    [[nodiscard]] constexpr cost on_encoder() const {
        cost sum;
        for (cost_entry entry : table_.entries) {
            mask attends;
            if (entry.what == accumulator::tokens) {
                entry.what = accumulator::keys;
            } else if (entry.what == accumulator::pairs || entry.what == accumulator::routed) {
                attends = table_.masks[entry.mask];
            } else if (entry.what != accumulator::count) {
                throw error(table_.components[entry.component].view(),
                            "an encoder has no other sequence to attend to: remove its cross attention");
            }
            const component_name& name = table_.components[entry.component];
            const bool pairs = entry.what == accumulator::pairs;
            sum.add_entry(entry.what == accumulator::routed ? name : name.on_encoder(), weight_name(entry), entry,
                          pairs ? attends.on_encoder() : attends);
        }
        return sum;
    }

    /// Returns this cost without the FLOPs of a backward pass, for work whose result does not reach the loss.
    [[nodiscard]] constexpr cost detached() const {
        return with_entries([](const cost_entry& entry) { return entry.detached(); });
    }

    /// Returns this cost with the accumulators of another modality, for a vision or audio tower.
    [[nodiscard]] constexpr cost in(modality which) const { return cost(table_.in(which)); }

    /// Returns this cost counted for each of `units` instead of for each token. Units are, for example, cells of a
    /// coarser grid or frames after convolutions. The mask `attends` replaces bidirectional attention.
    [[nodiscard]] constexpr cost over(const statistic& units, const statistic& attends = mask::bidirectional()) const {
        return cost(table_.over(units, attends));
    }

    /// Returns these layers for sequences with `n` additional tokens that no tally counts, such as class tokens and
    /// registers. A sequence of L tokens then has (L + n)² = L² + 2nL + n² attended pairs. Throws `error` for a mask
    /// other than bidirectional.
    [[nodiscard]] constexpr cost with_prefix_tokens(std::uint64_t n) const {
        return cost(table_.with_prefix_tokens(n));
    }

    /// Returns the component names. Entries refer to a component by its index in this list.
    [[nodiscard]] constexpr const component_list& components() const { return table_.components; }
    /// Returns the entries: the FLOPs for each token, pair, … of each component.
    [[nodiscard]] constexpr const entry_list& entries() const { return table_.entries; }
    /// Returns the weight names. Entries refer to a weight by its index in this list plus 1.
    [[nodiscard]] constexpr const weight_list& weights() const { return table_.weights; }
    /// Returns the name of an entry's weight within its component, or an empty text.
    [[nodiscard]] constexpr std::string_view weight_name(const cost_entry& entry) const {
        return table_.weight_name(entry);
    }
    /// Returns every mask and other statistic of the model. To count batches of the model, construct a tally with them.
    [[nodiscard]] constexpr const mask_set& masks() const { return table_.masks; }

    /// Returns the number of stored weights. It includes all experts, and a tied embedding once.
    [[nodiscard]] constexpr std::uint64_t parameters() const {
        checked sum(0, "parameters");
        for (const cost_entry& entry : table_.entries) {
            sum += entry.parameters;
        }
        return sum;
    }

    [[nodiscard]] friend constexpr bool operator==(const cost&, const cost&) = default;

  private:
    template <std::size_t, std::size_t, std::size_t, std::size_t>
    friend class constant_cost;

    constexpr explicit cost(detail::cost_entries table) : table_(std::move(table)) {}

    /// Adds the entries of another cost. If adding an entry throws, the entries before it stay in the cost.
    constexpr void put_all(const cost& other) {
        for (const cost_entry& entry : other.table_.entries) {
            table_.put_from(other.table_, entry, other.table_.components[entry.component]);
        }
        for (const statistic& units : other.table_.masks) {
            keep(units);
        }
    }

    /// Adds the entries of QKᵀ, PV and softmax. `per_unit` is the number of attended pairs for each token, sequence, …
    /// that the accumulator of `base` counts.
    constexpr void put_core(const component_name& component, const attention_core& core, cost_entry base,
                            std::uint64_t per_unit, const statistic& attends) {
        const checked heads(core.num_heads, component.view());
        const auto queries_and_keys = static_cast<value::set>(core.q | core.k);
        base.sharding = tensor_sharding::heads(core.num_heads);
        const auto add_term = [&](term kind, const checked& flops, const dataflow& flow) {
            base.kind = kind;
            base.useful = base.padded = per_unit * flops;
            base.flow = flow;
            add_entry(component, {}, base, attends);
        };
        add_term(term::scores, 2 * heads * core.qk_head_dim, {core.q, core.k, core.v, 0});
        add_term(term::values, 2 * heads * core.v_head_dim, {queries_and_keys, core.v, 0, core.writes});
        add_term(term::softmax, 3 * heads, {queries_and_keys, 0, 0, 0});
    }

    detail::cost_entries table_;
};

}  // namespace floptally
