// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/count/detail/counted_row.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// The states that a plan gives to the weights of a model.
class weight_states {
  public:
    /// The state of a weight, and its rank of LoRA.
    struct decision {
        weight_state state = weight_state::trainable;
        std::uint64_t rank = 0;

        /// True where an adapter stands beside the row.
        [[nodiscard]] constexpr bool adapts(const cost_row& row) const {
            return state == weight_state::lora && row.per_rank.in != 0;
        }
        [[nodiscard]] friend constexpr bool operator==(const decision&, const decision&) = default;
    };

    constexpr explicit weight_states(const training_plan& plan) : plan_(plan) {}

    /// Calls `each` with every row of every layer.
    template <class Each>
    static constexpr void for_each(array_view<model_part> parts, Each each) {
        for (const model_part& part : parts) {
            for (std::uint64_t n = 0; n < part.repeat; ++n) {
                for (const cost_row& row : part.cost.rows()) {
                    each(part, part.first_layer == no_layer ? no_layer : part.first_layer + n, row);
                }
            }
        }
    }

    /// The state by the last setting that names the weight in that layer; trainable where none does.
    [[nodiscard]] constexpr decision state_of(const model_part& part, std::uint64_t layer, const cost_row& row) const {
        decision decided;
        for (const weight_setting& setting : plan_.weights) {
            if (names(setting, part, row) && holds_in(setting, layer)) {
                decided = {setting.state, setting.rank};
            }
        }
        return decided;
    }

    /// True where the row brings something trainable that its result depends on.
    [[nodiscard]] constexpr bool trains(const model_part& part, std::uint64_t layer, const cost_row& row) const {
        if (!has_weight(row.kind) || is_detached(row.kind)) {
            return false;
        }
        const decision decided = state_of(part, layer, row);
        return decided.state == weight_state::trainable || decided.adapts(row);
    }

    /// True where no setting keeps any of the row's weight from training.
    [[nodiscard]] constexpr bool is_trainable(const model_part& part, std::uint64_t layer, const cost_row& row) const {
        return !has_weight(row.kind) || is_detached(row.kind) ||
               state_of(part, layer, row).state == weight_state::trainable;
    }

    /// True where a gradient flows into `input` ("embedding" or "context"), which a model without embeddings, or
    /// without an encoder, is given.
    [[nodiscard]] constexpr bool input_trains(std::string_view input) const {
        bool does = true;
        for (const weight_setting& setting : plan_.weights) {
            does = is_input(setting, input) ? setting.state == weight_state::trainable : does;
        }
        return does;
    }

    [[nodiscard]] constexpr bool anything_trains(array_view<model_part> parts) const {
        bool does = input_trains("embedding") || input_trains("context");
        for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_row& row) {
            does = does || trains(part, layer, row);
        });
        return does;
    }

    [[nodiscard]] constexpr bool everything_trains(array_view<model_part> parts) const {
        bool does = input_trains("embedding") && input_trains("context");
        for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_row& row) {
            does = does && is_trainable(part, layer, row);
        });
        return does;
    }

    /// Throws where a setting means nothing in this model.
    constexpr void check(array_view<model_part> parts) const {
        require_positive(plan_.recompute_every, "plan.recompute_every");
        const bool whole = parts.size() == 1 && parts.front().role == part_role::anywhere;
        if (whole && plan_.recompute_every != 1) {
            throw error("plan.recompute_every", needs_parts);
        }
        for (std::size_t i = 0; i < plan_.weights.size(); ++i) {
            const weight_setting& setting = plan_.weights[i];
            if ((setting.state == weight_state::lora) != (setting.rank != 0)) {
                throw error(field(i), setting.rank == 0 ? "LoRA needs a rank of at least 1" : "only LoRA has a rank");
            }
            if (whole && (setting.names_layers() || setting.part.view() != "*")) {
                throw error(field(i), needs_parts);
            }
            check(parts, setting, i);
        }
        check_tied(parts);
    }

  private:
    static constexpr const char* needs_parts =
        "a cost alone does not know its layers: give flop_counter the model, or its parts";

    [[nodiscard]] static std::string field(std::size_t i) { return "plan.weights[" + std::to_string(i) + "]"; }

    [[nodiscard]] static constexpr bool names(const weight_setting& setting, const model_part& part,
                                              const cost_row& row) {
        return matches(setting.part.view(), part.name.view()) &&
               matches(setting, part.cost.components()[row.component].view(), part.cost.weight_name(row));
    }
    [[nodiscard]] static constexpr bool holds_in(const weight_setting& setting, std::uint64_t layer) {
        const std::uint64_t first = setting.first_layer == any_layer ? 0 : setting.first_layer;
        return !setting.names_layers() || (layer != no_layer && layer >= first && layer <= setting.last_layer);
    }
    [[nodiscard]] static constexpr bool is_input(const weight_setting& setting, std::string_view input) {
        return !setting.names_layers() && setting.part.view() == "*" && matches(setting.weights.view(), input);
    }

    static constexpr void check(array_view<model_part> parts, const weight_setting& setting, std::size_t i) {
        bool named = is_input(setting, "embedding") || is_input(setting, "context");
        bool held = named;
        bool adapts = false;
        for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_row& row) {
            const bool here = has_weight(row.kind) && names(setting, part, row);
            named = named || here;
            held = held || (here && holds_in(setting, layer));
            adapts = adapts || (here && holds_in(setting, layer) && row.per_rank.in != 0);
        });
        if (!named) {
            throw error(field(i), unknown(parts, setting));
        }
        if (!held) {
            refuse(field(i), {"\"", setting.weights.view(), "\" stands in none of these layers"});
        }
        if (setting.state == weight_state::lora && !adapts) {
            refuse(field(i),
                   {"LoRA needs a weight matrix, and \"", setting.weights.view(), "\" has none that an adapter fits"});
        }
    }

    [[nodiscard]] static std::string unknown(array_view<model_part> parts, const weight_setting& setting) {
        std::string known;
        std::string names_so_far = ",";
        for (const model_part& part : parts) {
            for (const cost_row& row : part.cost.rows()) {
                const std::string_view weight = part.cost.weight_name(row);
                const std::string name =
                    text_of({part.cost.components()[row.component].view(), weight.empty() ? "" : "/", weight});
                if (has_weight(row.kind) && matches(setting.part.view(), part.name.view()) &&
                    names_so_far.find(text_of({",", name, ","})) == std::string::npos) {
                    append(names_so_far, {name, ","});
                    append_item(known, name);
                }
            }
        }
        const bool is_any = setting.part.view() == "*";
        return text_of({"no weight is named \"", setting.weights.view(), "\"", is_any ? "" : " in part \"",
                        is_any ? "" : setting.part.view(), is_any ? "" : "\"",
                        known.empty() ? "" : "; known: ", known});
    }

    /// Throws where an lm_head that is the embedding's table trains without the table, or the table without it.
    constexpr void check_tied(array_view<model_part> parts) const {
        for_each(parts, [&](const model_part& input, std::uint64_t, const cost_row& table) {
            if (table.kind != term::tied_embedding) {
                return;
            }
            const bool trained = trains(input, no_layer, table);
            for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_row& row) {
                const bool is_table = row.kind == term::lm_head && row.parameters >= table.useful / 2;
                if (is_table && (state_of(part, layer, row).state == weight_state::trainable) != trained) {
                    throw error("plan.weights", "the lm_head is the embedding's table: both train or neither");
                }
            });
        });
    }

    const training_plan& plan_;
};

}  // namespace floptally::detail
