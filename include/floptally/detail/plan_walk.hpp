// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/batch/mask_set.hpp>
#include <floptally/convention.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/bounded_vector.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/counted_row.hpp>
#include <floptally/detail/plan_rules.hpp>
#include <floptally/error.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/training_plan.hpp>

/// @file
/// Walks a model's stages as autograd does: which values require a gradient, and so which products the backward runs.

namespace floptally::detail {

/// Rows that run equally often, over all layers.
struct planned_row {
    std::uint8_t component = 0;  ///< index into `plan_walk::components`
    cost_row row{};              ///< its mask is an index into `plan_walk::masks`
    passes run{};
};

/// A value requires a gradient if something trainable, or a value that requires one, went into it. Then
/// dX of a weight is computed iff its input requires one, dW iff the weight trains; dQ iff the queries do, and so on.
class plan_walk {
  public:
    static constexpr std::size_t max_planned = 3 * cost::max_rows;

    constexpr plan_walk(std::span<const model_part> stages, const cost& whole, const convention& how,
                        const training_plan& plan)
        : whole_(whole), how_(how), plan_(plan), rules_(plan) {
        rules_.check(stages);
        anything_trains_ = rules_.anything_trains(stages);
        hidden_ = rules_.input_trains("embedding") && !has_role(stages, part_role::input);
        has_towers_ = has_role(stages, part_role::tower);
        context_ = has_role(stages, part_role::encoder) ? hidden_ : !has_towers_ && rules_.input_trains("context");
        for_each_run(stages, [this](std::span<const model_part> parts) {
            const model_part& first = parts.front();
            for (std::uint64_t n = 0; n < first.repeat; ++n) {
                run(parts, first.first_layer == no_layer ? no_layer : first.first_layer + n);
            }
        });
    }

    cost::component_list components;
    mask_set masks;
    bounded_vector<planned_row, max_planned> rows;

  private:
    /// What one layer's backward recomputes: all of it, or some components.
    struct region {
        bool reached = false;  ///< a gradient arrives at its output
        cost::component_list components{};
    };

    [[nodiscard]] static constexpr bool has_role(std::span<const model_part> stages, part_role role) {
        for (const model_part& one : stages) {
            if (one.role == role) {
                return true;
            }
        }
        return false;
    }

    /// Calls `each` with every row of a part and the gradients that it computes; whether the result requires one.
    template <class Each>
    constexpr bool visit(const model_part& part, std::uint64_t layer, bool stream, Each each) const {
        const cost& model = part.cost;
        bool part_trains = false;
        for (const cost_row& row : model.rows()) {
            const bool trains = rules_.trains(part, layer, row);
            part_trains = part_trains || trains;
            // Where in the part a norm or a bias stands is not said: at its start it reaches all that it may reach.
            stream = stream || (trains && is_elementwise_weight(row.kind));
        }
        const bool unknown = part.role == part_role::anywhere ? anything_trains_ : stream || part_trains;
        value::set known = stream ? value::stream : 0;
        known |= static_cast<value::set>(context_ && part.role != part_role::encoder ? value::context : 0);
        known = part.role == part_role::anywhere ? static_cast<value::set>(anything_trains_ ? ~0U : 0U) : known;
        const auto of = [&](const cost_row& row) {
            const auto requires_grad = [&](value::set reads) { return reads == 0 ? unknown : (known & reads) != 0; };
            gradients needed;
            needed.first = requires_grad(row.flow.reads);
            needed.second = row.flow.also_reads == 0 ? needed.first : requires_grad(row.flow.also_reads);
            needed.weight = rules_.state_of(part, layer, row).state == weight_state::trainable;
            needed.output = needed.first || needed.second || rules_.trains(part, layer, row);
            return needed;
        };
        for (bool grew = true; grew;) {  // rows need not stand in the order in which they run
            grew = false;
            for (const cost_row& row : model.rows()) {
                const bool reaches = !is_detached(row.kind) && of(row).output;
                const auto more = static_cast<value::set>(reaches ? known | row.flow.writes : known);
                grew = grew || more != known;
                known = more;
            }
        }
        bool result = stream;
        for (const cost_row& row : model.rows()) {
            gradients needed = of(row);
            result = result || (needed.output && !is_detached(row.kind));
            needed.output = needed.output || (known & row.flow.fused_with) != 0;
            each(row, needed);
        }
        return result;
    }

    /// One layer, or what stands outside the layers: its parts one after the other.
    constexpr void run(std::span<const model_part> parts, std::uint64_t layer) {
        const part_role role = parts.front().role;
        bool& of_tower = towers_[static_cast<std::size_t>(parts.front().in())];
        const bool before = role == part_role::encoder ? context_ : role == part_role::tower ? of_tower : hidden_;
        region again;
        bool stream = before;
        for (const model_part& part : parts) {
            stream = visit(part, layer, stream, [&](const cost_row& row, const gradients& needed) {
                if (needed.output && !is_detached(row.kind)) {
                    again.components.find_or_add(part.cost.components()[row.component], "components");
                }
            });
        }
        again.reached = stream;
        bool entering = before;
        for (const model_part& part : parts) {
            entering = visit(part, layer, entering, [&](const cost_row& row, const gradients& needed) {
                emit(part, layer, row, needed, recomputes(part, layer, row, needed, again));
            });
        }
        const bool before_both = role == part_role::input && !has_towers_;
        if (role == part_role::encoder || before_both || role == part_role::tower) {
            context_ = context_ || stream;
        }
        if (role == part_role::tower) {  // its output stands in the text, or is attended by it
            of_tower = stream;
            hidden_ = hidden_ || stream;
        }
        if (role == part_role::layer || role == part_role::input) {
            hidden_ = stream;
        }
        if (role == part_role::anywhere) {  // it may stand before everything
            hidden_ = hidden_ || trains(parts, layer);
            context_ = context_ || trains(parts, layer);
        }
    }

    [[nodiscard]] constexpr bool trains(std::span<const model_part> parts, std::uint64_t layer) const {
        for (const model_part& part : parts) {
            for (const cost_row& row : part.cost.rows()) {
                if (rules_.trains(part, layer, row)) {
                    return true;
                }
            }
        }
        return false;
    }

    [[nodiscard]] constexpr bool recomputes(const model_part& part, std::uint64_t layer, const cost_row& row,
                                            const gradients& needed, const region& again) const {
        if (layer != no_layer && (layer + 1) % plan_.recompute_every != 0) {
            return false;
        }
        const component_name& name = part.cost.components()[row.component];
        const bool named = plan_.recomputed_components.find(name) < plan_.recomputed_components.size();
        return (named && again.components.find(name) < again.components.size()) ||
               (is_recomputed(row.kind, plan_) &&
                (plan_.recomputed == recompute::full ? again.reached : needed.output));
    }

    constexpr void emit(const model_part& part, std::uint64_t layer, const cost_row& row, const gradients& needed,
                        bool again) {
        if (part.elsewhere || !how_.counted.contains(row.kind)) {
            return;
        }
        const plan_rules::decision decided = rules_.state_of(part, layer, row);
        if (row.what == statistic::routed && !first_of_routed({decided, needed.first, again})) {
            return;
        }
        const component_name& name = part.cost.components()[row.component];
        put(part.cost, name, row, passes_of(row.kind, how_, plan_, again, needed));
        if (!decided.adapts(row)) {
            return;
        }
        const auto times = [&](std::uint64_t per_rank) {
            return checked_multiply(decided.rank, per_rank, name.view());
        };
        const adapter& one = row.per_rank;
        cost_row matrix{.mask = row.mask, .what = row.what, .kind = row.kind, .in = row.in};
        const gradients of_a{.first = needed.first, .weight = true};
        if (how_.parameters == counted_weights::stored) {
            matrix.kind = term::linear;  // no table is tied to an adapter
            matrix.parameters = times(one.parameters);
            put(part.cost, name, matrix, passes_of(row.kind, how_, plan_, again, of_a));
            return;
        }
        matrix.useful = matrix.padded = times(one.in);
        put(part.cost, name, matrix, passes_of(row.kind, how_, plan_, again, of_a));
        matrix.useful = times(one.out);
        matrix.padded = times(one.padded_out);
        put(part.cost, name, matrix, passes_of(row.kind, how_, plan_, again, {}));
    }

    constexpr void put(const cost& model, const component_name& name, const cost_row& row, const passes& run) {
        planned_row added{.component = static_cast<std::uint8_t>(components.find_or_add(name, "components")),
                          .row = counted_row(whole_, row, how_),
                          .run = run};
        if (row.what == statistic::pairs) {
            added.row.mask = static_cast<std::uint8_t>(masks.find_or_add(model.masks()[row.mask], "masks"));
        }
        for (planned_row& known : rows) {
            if (known.component == added.component && known.run == run && known.row.what == added.row.what &&
                known.row.in == added.row.in && known.row.mask == added.row.mask) {
                known.row.useful = checked_add(known.row.useful, added.row.useful, name.view());
                known.row.padded = checked_add(known.row.padded, added.row.padded, name.view());
                return;
            }
        }
        rows.push_back(added, "rows");
    }

    /// One measured count belongs to all layers, so that all must do the same with it, and it is counted once.
    struct routed_treatment {
        plan_rules::decision decided{};
        bool data = false;
        bool again = false;

        [[nodiscard]] friend constexpr bool operator==(const routed_treatment&, const routed_treatment&) = default;
    };

    constexpr bool first_of_routed(const routed_treatment& here) {
        if (!routed_is_known_) {
            routed_is_known_ = true;
            routed_ = here;
            return true;
        }
        if (!(routed_ == here)) {
            throw error("plan",
                        "experts that are counted by one measured number of visits must train alike in all "
                        "layers");
        }
        return false;
    }

    const cost& whole_;
    const convention& how_;
    const training_plan& plan_;
    plan_rules rules_;
    bool anything_trains_ = false;
    bool hidden_ = false;   ///< whether the hidden states require a gradient
    bool context_ = false;  ///< likewise those of the other side
    bool has_towers_ = false;
    bool towers_[modality_count] = {};  ///< and those inside each tower
    bool routed_is_known_ = false;
    routed_treatment routed_{};
};

}  // namespace floptally::detail
