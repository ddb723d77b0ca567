// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/count/detail/counted_row.hpp>
#include <floptally/count/detail/gradient_flow.hpp>
#include <floptally/count/detail/handed_on.hpp>
#include <floptally/count/detail/indexer_loss.hpp>
#include <floptally/count/detail/weight_states.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A walk over a model's parts as autograd runs them, which says which products the backward runs.

namespace floptally::detail {

/// A sum over all layers of rows that run equally often.
struct planned_row {
    std::uint32_t component = 0;  ///< index into `plan_walk::components`
    cost_row row{};               ///< its mask is an index into `plan_walk::masks`
    passes run{};
};

/// The rows of a model as a plan runs them, layer by layer. `gradient_flow` says which gradients each part passes on;
/// here are the layers, their recompute, and the sums.
class plan_walk {
  public:
    constexpr plan_walk(array_view<model_part> parts, const cost& whole, const convention& how,
                        const training_plan& plan)
        : whole_(whole), how_(how), plan_(plan), states_(plan), flow_(states_, parts), handed_(states_, parts) {
        states_.check(parts);
        require_indexer(parts, plan);
        // A cost alone does not say which layers have an indexer, and which take another's choice.
        is_upper_bound =
            plan.indexer != indexer_training::frozen && parts.size() == 1 && parts.front().role == part_role::anywhere;
        for_each_run(parts, [this](array_view<model_part> alike) {
            const model_part& first = alike.front();
            for (std::uint64_t n = 0; n < first.repeat; ++n) {
                run(alike, first.first_layer == no_layer ? no_layer : first.first_layer + n);
            }
        });
    }

    cost::component_list components;
    mask_set masks;
    list<planned_row> rows;
    bool is_upper_bound = false;  ///< a part that does not say what its rows read may run less

  private:
    /// The work of one layer that its backward recomputes: all of it, or some components.
    struct region {
        bool reached = false;  ///< a gradient arrives at its output
        cost::component_list components{};
    };

    /// Visits one part and joins what it leaves to what was there.
    template <class Each>
    constexpr void visit(const model_part& part, std::uint64_t layer, bool entered, gradient_flow::carried& now,
                         Each each) const {
        gradient_flow::carried entering = now;
        entering.stream = part.beside ? entered : now.stream;
        entering.context = now.context && part.role != part_role::encoder;
        const gradient_flow::carried left = flow_.visit(part, layer, entering, each);
        now = {now.stream || left.stream, now.context || left.context, now.time || left.time,
               now.unnamed || left.unnamed};
    }

    /// Walks one layer, or the parts outside the layers, one part after the other.
    constexpr void run(array_view<model_part> parts, std::uint64_t layer) {
        const part_role role = parts.front().role;
        const modality in = parts.front().in();
        const gradient_flow::carried before = handed_.to(role, in);
        choice_ = choice_in(parts, plan_);
        region again;
        const bool entered = before.stream || norms_train(parts, layer);
        gradient_flow::carried reached = before;
        for (const model_part& part : parts) {
            const auto keep = [&](const cost_row& row, const gradients& needed, const gradients&) {
                if (needed.output && !is_detached(row.kind)) {
                    again.components.find_or_add(part.cost.components()[row.component], "components");
                }
            };
            visit(part, layer, entered, reached, keep);
        }
        again.reached = reached.stream;
        gradient_flow::carried now = before;
        for (const model_part& part : parts) {
            const auto count = [&](const cost_row& row, const gradients& needed, const gradients& least) {
                const bool recomputed = recomputes(part, layer, row, needed, again);
                emit(part, layer, row, needed, recomputed);
                const bool is_more = !(needed == least) &&
                                     !(passes_of(row, how_, plan_, recomputed, needed) ==
                                       passes_of(row, how_, plan_, recomputes(part, layer, row, least, again), least));
                is_upper_bound = is_upper_bound || (is_more && is_counted(part, row));
            };
            visit(part, layer, entered, now, count);
        }
        handed_.take(role, in, now, role == part_role::anywhere && trains(parts, layer));
    }

    [[nodiscard]] constexpr bool trains(array_view<model_part> parts, std::uint64_t layer) const {
        for (const model_part& part : parts) {
            for (const cost_row& row : part.cost.rows()) {
                if (states_.trains(part, layer, row)) {
                    return true;
                }
            }
        }
        return false;
    }

    /// True where a part of only norms and biases trains: a part that stands beside another reads after them too.
    [[nodiscard]] constexpr bool norms_train(array_view<model_part> parts, std::uint64_t layer) const {
        for (const model_part& part : parts) {
            bool only_norms = true;
            for (const cost_row& row : part.cost.rows()) {
                only_norms = only_norms && is_elementwise_weight(row.kind);
            }
            if (only_norms && trains({&part, 1}, layer)) {
                return true;
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

    [[nodiscard]] constexpr bool is_counted(const model_part& part, const cost_row& row) const {
        return !part.elsewhere && how_.counted.contains(row.kind);
    }

    constexpr void emit(const model_part& part, std::uint64_t layer, const cost_row& row, const gradients& needed,
                        bool again) {
        if (!is_counted(part, row)) {
            return;
        }
        const weight_states::decision decided = states_.state_of(part, layer, row);
        if (row.what == statistic::routed &&
            !first_of_routed(part.cost.masks()[row.mask], {decided, needed.first, again})) {
            return;
        }
        const component_name& name = part.cost.components()[row.component];
        const std::uint32_t ranks = ranks_of(plan_, name.view(), part.cost.weight_name(row));
        const rule attends = attended_pairs(part.cost, row, plan_);
        if (is_of_indexer(row.kind) && how_.indexer == indexer_backward::as_layers) {
            const gradients all{.weight = needed.weight, .output = needed.output};
            put(name, row, attends, passes_of(row, how_, plan_, again, all).on(ranks));
            return;
        }
        const passes run = passes_of(row, how_, plan_, again, needed).on(ranks);
        if (row.kind == term::index_scores && plan_.indexer == indexer_training::sparse_loss) {
            // All are scored for the choice; the loss looks at the chosen ones alone.
            put(name, row, attends, run.without_backward());
            put(name, row, choice_.scored, run.backward());
        } else {
            put(name, row, attends, run);
        }
        if (row.kind == term::scores && choice_.exists && choice_behind(part.cost.masks()[row.mask]).exists) {
            cost_row teacher = row;
            teacher.kind = term::teacher_scores;
            const bool sparse = plan_.indexer == indexer_training::sparse_loss;
            if (is_counted(part, teacher)) {
                put(choice_.indexer, teacher, sparse ? attends : choice_.all_keys,
                    passes_of(teacher, how_, plan_, again, needed).on(ranks));
            }
        }
        if (!decided.adapts(row)) {
            return;
        }
        const checked rank(decided.rank, name.view());
        const adapter& widths = row.per_rank;
        cost_row matrix{.mask = row.mask, .what = row.what, .kind = row.kind, .in = row.in};
        const gradients of_a{.first = needed.first, .weight = true};
        if (how_.parameters == counted_weights::stored) {
            matrix.kind = term::linear;  // no table is tied to an adapter
            matrix.parameters = rank * widths.parameters;
            put(name, matrix, attends, passes_of(row, how_, plan_, again, of_a).on(ranks));
            return;
        }
        matrix.useful = matrix.padded = rank * widths.in;
        put(name, matrix, attends, passes_of(row, how_, plan_, again, of_a).on(ranks));
        matrix.useful = rank * widths.out;
        matrix.padded = rank * widths.padded_out;
        // B reads what A made, also where the weight beside it reads what the model is given.
        matrix.kind = row.kind == term::input_linear ? term::linear : row.kind;
        put(name, matrix, attends, passes_of(matrix, how_, plan_, again, {}).on(ranks));
    }

    constexpr void put(const component_name& name, const cost_row& row, const rule& attends, const passes& run) {
        planned_row added{.component = static_cast<std::uint32_t>(components.find_or_add(name, "components")),
                          .row = counted_row(whole_, row, how_),
                          .run = run};
        if (has_rule(row.what)) {
            added.row.mask = static_cast<std::uint32_t>(masks.find_or_add(attends, "masks"));
        }
        for (planned_row& known : rows) {
            if (known.component == added.component && known.run == run && known.row.what == added.row.what &&
                known.row.in == added.row.in && known.row.mask == added.row.mask &&
                is_index_pairs(known.row.kind) == is_index_pairs(added.row.kind)) {
                known.row.useful = checked(known.row.useful, name.view()) + added.row.useful;
                known.row.padded = checked(known.row.padded, name.view()) + added.row.padded;
                return;
            }
        }
        rows.push_back(added, "rows");
    }

    /// The treatment of one measured count, which is of all layers: all must do the same with it, and it is counted
    /// once.
    struct routed_treatment {
        weight_states::decision decided{};
        bool data = false;
        bool again = false;

        [[nodiscard]] friend constexpr bool operator==(const routed_treatment&, const routed_treatment&) = default;
    };

    struct known_treatment {
        rule word;
        routed_treatment here{};

        [[nodiscard]] friend constexpr bool operator==(const known_treatment&, const known_treatment&) = default;
    };

    constexpr bool first_of_routed(const rule& word, const routed_treatment& here) {
        for (const known_treatment& known : routed_) {
            if (known.word == word) {
                if (!(known.here == here)) {
                    throw error("plan",
                                "experts that are counted by one measured number of visits must train alike in all "
                                "layers");
                }
                return false;
            }
        }
        routed_.push_back({word, here}, "measured words");
        return true;
    }

    const cost& whole_;
    const convention& how_;
    const training_plan& plan_;
    weight_states states_;
    gradient_flow flow_;
    handed_on handed_;
    list<known_treatment> routed_{};
    key_choice choice_{};  ///< in the layer that is walked
};

}  // namespace floptally::detail
