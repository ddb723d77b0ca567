// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/count/detail/counted_row.hpp>
#include <floptally/count/detail/weight_states.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// Gradients that the rows of a part compute, by what enters the part.

namespace floptally::detail {

/// The flow of gradients through parts, as autograd has it. A value requires a gradient if something trainable, or a
/// value that requires one, went into it. Then dX of a weight is computed iff its input requires one, dW iff the weight
/// trains; dQ iff the queries do, and so on.
class gradient_flow {
  public:
    /// The values that enter a part and leave it, true where they require a gradient.
    struct carried {
        bool stream = false;   ///< the hidden states before it
        bool context = false;  ///< the other side of an encoder-decoder, or a second stream
        bool time = false;     ///< what is known of a sample as a whole
        bool unnamed = false;  ///< the stream again, by the rows alone that name nothing which they make

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

    /// Calls `each(row, needed, least)` with every row of a part: the gradients that it computes, and the least that it
    /// may have to compute where the part does not say enough. Returns what the part leaves.
    template <class Each>
    constexpr carried visit(const model_part& part, std::uint64_t layer, const carried& entering, Each each) const {
        bool some_train = false;
        bool elementwise_trains = false;
        for (const cost_row& row : part.cost.rows()) {
            const bool trains = states_.trains(part, layer, row);
            some_train = some_train || trains;
            elementwise_trains = elementwise_trains || (trains && is_elementwise_weight(row.kind));
        }
        // A weight that trains in a cost alone may stand before everything else, or after it.
        values most{anything_trains_, anything_trains_, static_cast<value::set>(anything_trains_ ? ~0U : 0U)};
        values least = everything_trains_ ? most : values{};
        if (part.role != part_role::anywhere) {
            // Where in the part a norm or a bias stands is not said: at its start it reaches all that it may reach.
            const bool started = entering.stream || elementwise_trains;
            // An input that is not said is read from the stream, or from the other side where a model has one.
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
        for (const cost_row& row : part.cost.rows()) {
            const gradients needed = gradients_of(part, layer, row, most);
            if (needed.output && !is_detached(row.kind)) {
                const bool is_result = is_product(row.kind) && row.kind != term::scores;
                left.unnamed =
                    left.unnamed || (row.flow.writes == 0 && (is_result || states_.trains(part, layer, row)));
                left.stream = left.stream || row.flow.writes == 0 || (row.flow.writes & ~beside) != 0;
                left.context = left.context || (row.flow.writes & value::context) != 0;
                left.time = left.time || (row.flow.writes & value::time) != 0;
            }
            each(row, with_kernel(row, needed, most),
                 with_kernel(row, says_all ? needed : gradients_of(part, layer, row, least), least));
        }
        return left;
    }

  private:
    /// The values that a part makes for those after it: its own rows read them as they were before it.
    static constexpr value::set beside = value::context | value::time;

    /// The values of a part that require a gradient.
    struct values {
        bool elementwise = false;  ///< what a norm or a bias is applied to: never the other side itself
        bool unsaid = false;       ///< what another row reads that says nothing
        value::set known = 0;
        value::set indexed = 0;  ///< made inside an indexer, which reads nothing with a gradient

        [[nodiscard]] friend constexpr bool operator==(const values&, const values&) = default;
    };

    [[nodiscard]] static constexpr bool reads_context(array_view<model_part> parts) {
        for (const model_part& part : parts) {
            for (const cost_row& row : part.cost.rows()) {
                const bool reads = ((row.flow.reads | row.flow.also_reads) & value::context) != 0;
                if (reads || part.role == part_role::encoder || row.what == statistic::keys) {
                    return true;
                }
            }
        }
        return false;
    }

    [[nodiscard]] constexpr gradients gradients_of(const model_part& part, std::uint64_t layer, const cost_row& row,
                                                   const values& in) const {
        if (is_of_indexer(row.kind)) {
            const weight_states::decision decided = states_.state_of(part, layer, row);
            gradients needed;
            needed.first = (in.indexed & row.flow.reads) != 0;
            needed.second = row.flow.also_reads == 0 ? needed.first : (in.indexed & row.flow.also_reads) != 0;
            needed.weight = has_weight(row.kind) && decided.state == weight_state::trainable;
            needed.output = needed.first || needed.second || needed.weight || decided.adapts(row);
            return needed;
        }
        const bool unsaid = is_elementwise_weight(row.kind) ? in.elementwise : in.unsaid;
        const auto requires_grad = [&in, unsaid](value::set reads) {
            return reads == 0 ? unsaid : (in.known & reads) != 0;
        };
        gradients needed;
        needed.first = requires_grad(row.flow.reads);
        needed.second = row.flow.also_reads == 0 ? needed.first : requires_grad(row.flow.also_reads);
        needed.weight = states_.state_of(part, layer, row).state == weight_state::trainable;
        const bool is_given = row.flow.reads == 0 && row.kind == term::input_linear;  // what it reads is no result
        needed.output = (!is_given && (needed.first || needed.second)) || states_.trains(part, layer, row);
        return needed;
    }

    [[nodiscard]] static constexpr gradients with_kernel(const cost_row& row, gradients needed, const values& in) {
        needed.output = needed.output || (in.known & row.flow.fused_with) != 0;
        return needed;
    }

    /// `in` and the values that the part makes; rows need not stand in the order in which they run.
    [[nodiscard]] constexpr values through(const model_part& part, std::uint64_t layer, values in) const {
        for (bool grew = true; grew;) {
            grew = false;
            for (const cost_row& row : part.cost.rows()) {
                const bool reaches = !is_detached(row.kind) && gradients_of(part, layer, row, in).output;
                const auto more = static_cast<value::set>(reaches ? in.known | (row.flow.writes & ~beside) : in.known);
                grew = grew || more != in.known;
                in.known = more;
                if (is_of_indexer(row.kind) && gradients_of(part, layer, row, in).output) {
                    const auto indexed = static_cast<value::set>(in.indexed | row.flow.writes);
                    grew = grew || indexed != in.indexed;
                    in.indexed = indexed;
                }
            }
        }
        return in;
    }

    const weight_states& states_;
    bool anything_trains_ = false;
    bool everything_trains_ = false;
    bool has_context_ = false;
};

}  // namespace floptally::detail
