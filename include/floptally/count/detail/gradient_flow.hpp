// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/count/detail/counted_entry.hpp>
#include <floptally/count/detail/weight_states.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/accumulator.hpp>

/// @file
/// Finds which gradients the backward of each part of a model computes. Starts from the inputs of the part that require
/// a gradient.

namespace floptally::inline v0_3::detail {

/// The flow of gradients through parts, as autograd computes it. A value requires a gradient if it was computed from a
/// trainable weight or from a value that requires a gradient. For a matrix product the backward computes dX if the
/// input requires a gradient, and dW if the weight trains. For attention it computes dQ if the queries require a
/// gradient, and so on.
class gradient_flow {
  public:
    /// The values that enter or leave a part: each member is true if that value requires a gradient.
    struct carried {
        bool stream = false;   ///< true if the hidden states require a gradient
        bool context = false;  ///< true if an encoder's output or a second stream requires a gradient
        bool time = false;     ///< true if values that exist once for each sample, such as the timestep's embedding,
                               ///< require a gradient
        bool unnamed = false;  ///< like `stream`, but set only by entries that do not name their output (`flow.writes`)

        [[nodiscard]] constexpr value::set values() const {
            return static_cast<value::set>((stream ? value::stream : 0) | (context ? value::context : 0) |
                                           (time ? value::time : 0));
        }
    };

    constexpr gradient_flow(const weight_states& states, array_view<model_part> parts)
        : states_(states),
          anything_trains_(states.anything_trains(parts)),
          everything_trains_(states.everything_trains(parts)),
          has_context_(reads_context(parts)) {}

    /// Calls `each(entry, needed, least)` with every entry of a part. The entry computes at most the gradients `needed`
    /// and at least the gradients `least`. These two differ only for a part that does not declare what its entries
    /// read. Returns which of the values that leave the part require a gradient.
    template <class Each>
    constexpr carried visit(const model_part& part, std::uint64_t layer, const carried& entering, Each each) const {
        bool some_train = false;
        bool elementwise_trains = false;
        for (const cost_entry& entry : part.cost.entries()) {
            const bool trains = states_.trains(part, layer, entry);
            some_train = some_train || trains;
            elementwise_trains = elementwise_trains || (trains && is_elementwise_weight(entry.kind));
        }
        // The entries of a cost without parts have no known order, so a trainable weight may come before or after all
        // other entries.
        values most{anything_trains_, anything_trains_, static_cast<value::set>(anything_trains_ ? ~0U : 0U)};
        values least = everything_trains_ ? most : values{};
        if (part.role != part_role::anywhere) {
            // The position of a norm or a bias in the part is unknown. At the start of the part it causes the most
            // gradients, so the upper bound `most` assumes the start.
            const bool started = entering.stream || elementwise_trains;
            // An entry without `flow.reads` is assumed to read the hidden states, or the encoder's output in a model
            // with an encoder.
            const bool other_side = entering.context && has_context_;
            most = {started || some_train, started || other_side || some_train,
                    carried{.stream = started, .context = entering.context, .time = entering.time}.values()};
            const bool both = entering.stream && (other_side || !has_context_);
            least = everything_trains_ ? most : values{entering.stream, both, entering.values()};
        }
        const bool says_all = most == least;
        most = through(part, layer, most);
        least = says_all ? most : through(part, layer, least);
        carried left = entering;
        for (const cost_entry& entry : part.cost.entries()) {
            const gradients needed = gradients_of(part, layer, entry, most);
            if (needed.output && !is_detached(entry.kind)) {
                const bool is_result = is_product(entry.kind) && entry.kind != term::scores;
                left.unnamed =
                    left.unnamed || (entry.flow.writes == 0 && (is_result || states_.trains(part, layer, entry)));
                left.stream = left.stream || entry.flow.writes == 0 || (entry.flow.writes & ~for_later_parts) != 0;
                left.context = left.context || (entry.flow.writes & value::context) != 0;
                left.time = left.time || (entry.flow.writes & value::time) != 0;
            }
            each(entry, with_kernel(entry, needed, most),
                 with_kernel(entry, says_all ? needed : gradients_of(part, layer, entry, least), least));
        }
        return left;
    }

  private:
    /// The kinds of values that a part computes only for later parts. If a part computes new context or time values,
    /// its own entries still read the old values.
    static constexpr value::set for_later_parts = value::context | value::time;

    /// The values inside a part that require a gradient.
    struct values {
        bool elementwise = false;  ///< true if the input of a norm or a bias requires a gradient; an encoder's output
                                   ///< is never such an input
        bool unsaid = false;       ///< true if an entry without `flow.reads`, other than a norm or a bias, has an input
                                   ///< that requires a gradient
        value::set known = 0;
        value::set indexed = 0;  ///< values computed inside an indexer that require a gradient; the inputs of an
                                 ///< indexer are detached

        [[nodiscard]] friend constexpr bool operator==(const values&, const values&) = default;
    };

    [[nodiscard]] static constexpr bool reads_context(array_view<model_part> parts) {
        for (const model_part& part : parts) {
            for (const cost_entry& entry : part.cost.entries()) {
                const bool reads = ((entry.flow.reads | entry.flow.also_reads) & value::context) != 0;
                if (reads || part.role == part_role::encoder || entry.what == accumulator::keys) {
                    return true;
                }
            }
        }
        return false;
    }

    [[nodiscard]] constexpr gradients gradients_of(const model_part& part, std::uint64_t layer, const cost_entry& entry,
                                                   const values& with_gradient) const {
        if (is_of_indexer(entry.kind)) {
            const weight_states::decision decided = states_.state_of(part, layer, entry);
            gradients needed;
            needed.first = (with_gradient.indexed & entry.flow.reads) != 0;
            needed.second =
                entry.flow.also_reads == 0 ? needed.first : (with_gradient.indexed & entry.flow.also_reads) != 0;
            needed.weight = has_weight(entry.kind) && decided.state == weight_state::trainable;
            needed.output = needed.first || needed.second || needed.weight || decided.adapts(entry);
            return needed;
        }
        const bool unsaid = is_elementwise_weight(entry.kind) ? with_gradient.elementwise : with_gradient.unsaid;
        const auto requires_grad = [&with_gradient, unsaid](value::set reads) {
            return reads == 0 ? unsaid : (with_gradient.known & reads) != 0;
        };
        gradients needed;
        needed.first = requires_grad(entry.flow.reads);
        needed.second = entry.flow.also_reads == 0 ? needed.first : requires_grad(entry.flow.also_reads);
        needed.weight = states_.state_of(part, layer, entry).state == weight_state::trainable;
        const bool reads_data = entry.flow.reads == 0 && entry.kind == term::input_linear;
        needed.output = (!reads_data && (needed.first || needed.second)) || states_.trains(part, layer, entry);
        return needed;
    }

    [[nodiscard]] static constexpr gradients with_kernel(const cost_entry& entry, gradients needed,
                                                         const values& with_gradient) {
        needed.output = needed.output || (with_gradient.known & entry.flow.fused_with) != 0;
        return needed;
    }

    /// Adds to `with_gradient` the values that the part computes and that require a gradient, and returns the result.
    /// Repeats until nothing changes, because the entries may be listed in any order.
    [[nodiscard]] constexpr values through(const model_part& part, std::uint64_t layer, values with_gradient) const {
        for (bool grew = true; grew;) {
            grew = false;
            for (const cost_entry& entry : part.cost.entries()) {
                const bool reaches = !is_detached(entry.kind) && gradients_of(part, layer, entry, with_gradient).output;
                const auto more = static_cast<value::set>(
                    reaches ? with_gradient.known | (entry.flow.writes & ~for_later_parts) : with_gradient.known);
                grew = grew || more != with_gradient.known;
                with_gradient.known = more;
                if (is_of_indexer(entry.kind) && gradients_of(part, layer, entry, with_gradient).output) {
                    const auto indexed = static_cast<value::set>(with_gradient.indexed | entry.flow.writes);
                    grew = grew || indexed != with_gradient.indexed;
                    with_gradient.indexed = indexed;
                }
            }
        }
        return with_gradient;
    }

    const weight_states& states_;
    bool anything_trains_ = false;
    bool everything_trains_ = false;
    bool has_context_ = false;
};

}  // namespace floptally::detail
