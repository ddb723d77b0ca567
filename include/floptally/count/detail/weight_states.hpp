// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/count/detail/counted_entry.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// Looks up whether a plan trains, freezes or adapts (LoRA) each weight of a model.
class weight_states {
  public:
    /// The state of a weight, and the rank of its LoRA adapter.
    struct decision {
        weight_state state = weight_state::trainable;
        std::uint64_t rank = 0;

        /// Returns true if the entry's weight has a LoRA adapter.
        [[nodiscard]] constexpr bool adapts(const cost_entry& entry) const {
            return state == weight_state::lora && entry.per_rank.exists();
        }
        [[nodiscard]] friend constexpr bool operator==(const decision&, const decision&) = default;
    };

    constexpr explicit weight_states(const training_plan& plan) : plan_(plan) {}

    /// Returns how many layers from `layer` on have the same weight settings in the plan. The result is at most `most`.
    [[nodiscard]] constexpr std::uint64_t count_alike(std::uint64_t layer, std::uint64_t most) const {
        for (const weight_setting& setting : plan_.weights) {
            if (layer == no_layer || !setting.names_layers()) {
                continue;
            }
            if (setting.first_layer != any_layer && setting.first_layer > layer && setting.first_layer - layer < most) {
                most = setting.first_layer - layer;
            }
            if (setting.last_layer != any_layer && setting.last_layer >= layer && setting.last_layer - layer < most) {
                most = setting.last_layer - layer + 1;
            }
        }
        return most;
    }

    /// Calls `each(layer, layers)` for each group of `layers` successive layers of a part that have the same settings.
    // It stands before its callers: clang 14 cannot evaluate it at compile time if it is defined after them.
    template <class Each>
    constexpr void for_each_group(const model_part& part, Each each) const {
        for (std::uint64_t n = 0; n < part.repeat;) {
            const std::uint64_t layer = part.first_layer == no_layer ? no_layer : part.first_layer + n;
            const std::uint64_t layers = count_alike(layer, part.repeat - n);
            each(layer, layers);
            n += layers;
        }
    }

    /// Calls `each(part, layer, entry, layers)` for every entry of every part. Successive layers with the same weight
    /// settings are one call: `layer` is the first of them, `layers` is their number.
    template <class Each>
    constexpr void for_each(array_view<model_part> parts, Each each) const {
        for (const model_part& part : parts) {
            for_each_group(part, [&](std::uint64_t layer, std::uint64_t layers) {
                for (const cost_entry& entry : part.cost.entries()) {
                    each(part, layer, entry, layers);
                }
            });
        }
    }

    /// Returns true if the entry trains in any layer of its part.
    [[nodiscard]] constexpr bool trains_anywhere(const model_part& part, const cost_entry& entry) const {
        bool result = false;
        for_each_group(part,
                       [&](std::uint64_t layer, std::uint64_t) { result = result || trains(part, layer, entry); });
        return result;
    }

    /// Returns the state of a weight in a layer, from the last setting that names the weight. A weight without a
    /// setting is trainable.
    [[nodiscard]] constexpr decision state_of(const model_part& part, std::uint64_t layer,
                                              const cost_entry& entry) const {
        decision decided;
        for (const weight_setting& setting : plan_.weights) {
            if (names(setting, part, entry) && holds_in(setting, layer)) {
                decided = {setting.state, setting.rank};
            }
        }
        return decided;
    }

    /// Returns true if the entry has a trainable weight or an adapter, so that its result requires a gradient.
    [[nodiscard]] constexpr bool trains(const model_part& part, std::uint64_t layer, const cost_entry& entry) const {
        if (!has_weight(entry.kind) || is_detached(entry.kind)) {
            return false;
        }
        const decision decided = state_of(part, layer, entry);
        return decided.state == weight_state::trainable || decided.adapts(entry);
    }

    /// True if the entry's weight trains, or if the entry has no weight that could be frozen.
    [[nodiscard]] constexpr bool is_trainable(const model_part& part, std::uint64_t layer,
                                              const cost_entry& entry) const {
        return !has_weight(entry.kind) || is_detached(entry.kind) ||
               state_of(part, layer, entry).state == weight_state::trainable;
    }

    /// Returns true if an input of the model requires a gradient. Pass "embedding" for the hidden states that enter a
    /// model without an embedding. Pass "context" for an encoder's output that enters a model without an encoder.
    [[nodiscard]] constexpr bool input_trains(std::string_view input) const {
        bool result = true;
        for (const weight_setting& setting : plan_.weights) {
            result = is_input(setting, input) ? setting.state == weight_state::trainable : result;
        }
        return result;
    }

    [[nodiscard]] constexpr bool anything_trains(array_view<model_part> parts) const {
        bool result = input_trains("embedding") || input_trains("context");
        for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_entry& entry, std::uint64_t) {
            result = result || trains(part, layer, entry);
        });
        return result;
    }

    [[nodiscard]] constexpr bool everything_trains(array_view<model_part> parts) const {
        bool result = input_trains("embedding") && input_trains("context");
        for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_entry& entry, std::uint64_t) {
            result = result && is_trainable(part, layer, entry);
        });
        return result;
    }

    /// Throws `error` if a weight setting of the plan matches nothing in this model, or has an invalid LoRA rank.
    constexpr void check(array_view<model_part> parts) const {
        require_positive(plan_.recompute_every, "plan.recompute_every");
        const bool whole = parts.size() == 1 && parts.front().role == part_role::anywhere;
        if (whole && plan_.recompute_every != 1) {
            throw error("plan.recompute_every", needs_parts);
        }
        for (std::size_t i = 0; i < plan_.weights.size(); ++i) {
            const weight_setting& setting = plan_.weights[i];
            if ((setting.state == weight_state::lora) != (setting.rank != 0)) {
                throw error(field(i), setting.rank == 0
                                          ? "LoRA needs a rank of at least 1"
                                          : "only LoRA adapters have a rank: set the rank to 0, or the state to lora");
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
                                              const cost_entry& entry) {
        return matches(setting.part.view(), part.name.view()) &&
               matches(setting, part.cost.components()[entry.component].view(), part.cost.weight_name(entry));
    }
    [[nodiscard]] static constexpr bool holds_in(const weight_setting& setting, std::uint64_t layer) {
        const std::uint64_t first = setting.first_layer == any_layer ? 0 : setting.first_layer;
        return !setting.names_layers() || (layer != no_layer && layer >= first && layer <= setting.last_layer);
    }
    [[nodiscard]] static constexpr bool is_input(const weight_setting& setting, std::string_view input) {
        return !setting.names_layers() && setting.part.view() == "*" && matches(setting.weights.view(), input);
    }

    constexpr void check(array_view<model_part> parts, const weight_setting& setting, std::size_t i) const {
        bool named = is_input(setting, "embedding") || is_input(setting, "context");
        bool held = named;
        bool adapts = false;
        for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_entry& entry, std::uint64_t) {
            const bool is_named = has_weight(entry.kind) && names(setting, part, entry);
            named = named || is_named;
            held = held || (is_named && holds_in(setting, layer));
            adapts = adapts || (is_named && holds_in(setting, layer) && entry.per_rank.exists());
        });
        if (!named) {
            throw error(field(i), unknown(parts, setting));
        }
        if (!held) {
            refuse(field(i), {"no layer in this range has \"", setting.weights.view(),
                              "\": correct the range, which counts layers from 0"});
        }
        if (setting.state == weight_state::lora && !adapts) {
            refuse(field(i), {"LoRA needs a weight matrix, and \"", setting.weights.view(),
                              "\" has none that an adapter can be added to: name linear layers, such as \"*/q_proj\""});
        }
    }

    [[nodiscard]] static std::string unknown(array_view<model_part> parts, const weight_setting& setting) {
        std::string known;
        std::string names_so_far = ",";
        for (const model_part& part : parts) {
            for (const cost_entry& entry : part.cost.entries()) {
                const std::string_view weight = part.cost.weight_name(entry);
                const std::string name =
                    text_of({part.cost.components()[entry.component].view(), weight.empty() ? "" : "/", weight});
                if (has_weight(entry.kind) && matches(setting.part.view(), part.name.view()) &&
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

    /// Throws `error` if an lm_head and the embedding share a table, but only one of them trains.
    constexpr void check_tied(array_view<model_part> parts) const {
        for_each(parts, [&](const model_part& input, std::uint64_t, const cost_entry& table, std::uint64_t) {
            if (table.kind != term::tied_embedding) {
                return;
            }
            const bool trained = trains(input, no_layer, table);
            for_each(parts, [&](const model_part& part, std::uint64_t layer, const cost_entry& entry, std::uint64_t) {
                const bool is_table = entry.kind == term::lm_head && entry.parameters >= table.useful / 2;
                if (is_table && (state_of(part, layer, entry).state == weight_state::trainable) != trained) {
                    throw error("plan.weights",
                                "the lm_head shares its weights with the embedding: train both \"embedding\" and "
                                "\"lm_head\", or neither");
                }
            });
        });
    }

    const training_plan& plan_;
};

}  // namespace floptally::detail
