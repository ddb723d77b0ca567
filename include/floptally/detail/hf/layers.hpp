// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/mask.hpp>

/// @file
/// Rules that say of each layer which mixer and which feed-forward it has: one letter a layer, see `hf_letters`.

namespace floptally::detail {

[[nodiscard]] inline std::string every_layer(const hf_model& model, char letter) {
    return std::string(static_cast<std::size_t>(model.sizes.num_layers), letter);
}

/// Letter `chosen` in the layers for which `rule(index)` holds, else `other`.
template <class Rule>
[[nodiscard]] std::string where(const hf_model& model, char chosen, char other, const Rule& rule) {
    std::string letters = every_layer(model, other);
    for (std::size_t index = 0; index < letters.size(); ++index) {
        if (rule(static_cast<std::uint64_t>(index))) {
            letters[index] = chosen;
        }
    }
    return letters;
}

// ---- mixers ----

[[nodiscard]] inline std::string all_full(const hf_model& model) { return every_layer(model, 'F'); }
[[nodiscard]] inline std::string all_recurrent(const hf_model& model) { return every_layer(model, 'R'); }

[[nodiscard]] inline bool window_is_null(const hf_model& model) {
    return model.config.contains("sliding_window") ? !model.config.has_value("sliding_window")
                                                   : model.family.sliding_window == derived;
}
[[nodiscard]] inline bool window_is_off(const hf_model& model) {
    return model.family.window_switch && !model.config.flag("use_sliding_window", false);
}

/// A window in every layer, where `sliding_window` is not null.
[[nodiscard]] inline std::string all_sliding(const hf_model& model) {
    return every_layer(model, window_is_off(model) || window_is_null(model) ? 'F' : 'S');
}

/// The family's `period`, repeated.
[[nodiscard]] inline std::string by_period(const hf_model& model) {
    std::string letters = every_layer(model, 'F');
    for (std::size_t index = 0; index < letters.size(); ++index) {
        letters[index] = model.family.period[index % model.family.period.size()];
    }
    return letters;
}

[[nodiscard]] inline std::uint64_t max_window_layers(const hf_model& model) {
    return model.config.integer({"max_window_layers"}, 28, 0, max_layers);
}
/// Qwen-2, Qwen-3: a window in the layers from `max_window_layers` on, where `use_sliding_window`.
[[nodiscard]] inline std::string sliding_from_max_window_layers(const hf_model& model) {
    if (window_is_off(model) || window_is_null(model)) {
        return all_full(model);
    }
    return where(model, 'S', 'F', [first = max_window_layers(model)](std::uint64_t i) { return i >= first; });
}
/// Qwen2-MoE: a window in the even layers below `max_window_layers`.
[[nodiscard]] inline std::string even_sliding_below_max_window_layers(const hf_model& model) {
    if (window_is_off(model)) {
        return all_full(model);
    }
    return where(model, 'S', 'F',
                 [last = max_window_layers(model)](std::uint64_t i) { return i % 2 == 0 && i < last; });
}
/// A window in all but every `sliding_window_pattern`-th layer; its default is the length of the family's `period`.
[[nodiscard]] inline std::string by_sliding_window_pattern(const hf_model& model) {
    const std::uint64_t period =
        model.config.integer({"sliding_window_pattern"}, model.family.period.size(), 1, max_layers);
    return where(model, 'S', 'F', [period](std::uint64_t i) { return (i + 1) % period != 0; });
}

/// The letter of a name in `layer_types`.
[[nodiscard]] inline char letter_of_layer_type(const hf_model& model, const json& name, const std::string& field) {
    struct layer_type {
        std::string_view name;
        char listed;  ///< in the family's `layer_types`
        char letter;
    };
    constexpr layer_type known[] = {{"full_attention", 'F', 'F'},
                                    {"attention", 'F', 'F'},
                                    {"sliding_attention", 'S', 'S'},
                                    {"chunked_attention", 'C', 'C'},
                                    {"linear_attention", 'R', 'R'},
                                    {"mamba", 'R', 'R'},
                                    {"conv", 'V', 'R'},
                                    {"hybrid", 'H', 'H'}};
    std::string allowed;
    for (const layer_type& type : known) {
        if (model.family.layer_types.find(type.listed) == std::string_view::npos) {
            continue;
        }
        if (name == type.name) {
            return type.letter;
        }
        if (type.name != "attention" && type.name != "mamba") {  // names before transformers 5
            allowed.append(allowed.empty() ? "\"" : ", \"").append(type.name).append("\"");
        }
    }
    if (const auto last = allowed.rfind(", "); last != std::string::npos) {
        allowed.replace(last, 2, " or ");
    }
    throw error(field, "must be " + allowed + ", got " + shown(name));
}

/// From `layer_types` where the family reads it and the config has it, else by the family's rule.
[[nodiscard]] inline std::string mixer_letters(const hf_model& model) {
    const json* types = model.config.array("layer_types");
    if (types != nullptr && types->size() != model.sizes.num_layers) {
        throw error(model.config.field("layer_types"), "must name the " + std::to_string(model.sizes.num_layers) +
                                                           " layers, got " + std::to_string(types->size()));
    }
    if (types == nullptr || model.family.layer_types.empty()) {
        return model.family.mixers(model);
    }
    std::string letters;
    for (std::size_t index = 0; index < types->size(); ++index) {
        const std::string field = indexed(model.config.field("layer_types"), index);
        letters += letter_of_layer_type(model, (*types)[index], field);
        if (letters.back() == 'S' && window_is_off(model)) {
            throw error(field,
                        R"(must be "full_attention" while use_sliding_window is false, got "sliding_attention")");
        }
    }
    return letters;
}

/// What the attention of a layer with that letter sees.
[[nodiscard]] inline mask mask_of_letter(const hf_model& model, char letter) {
    const bool both_sides = model.bidirectional();
    if (letter == 'S') {
        const auto tokens = static_cast<std::int64_t>(model.config.integer(
            {"sliding_window", model.family.also.sliding_window}, model.family.sliding_window, 1, 0x7FFF'FFFF));
        // Gemma-3 as an encoder sees half of the window on each side.
        return both_sides ? mask::window(tokens / 2, tokens / 2) : mask::sliding_window(tokens);
    }
    if (letter == 'C') {
        return mask::chunked(static_cast<std::int64_t>(
            model.config.integer({"attention_chunk_size"}, model.family.sliding_window, 1, 0x7FFF'FFFF)));
    }
    return both_sides ? mask::bidirectional() : mask::causal();
}

// ---- feed-forwards ----

[[nodiscard]] inline std::string all_dense(const hf_model& model) { return every_layer(model, 'd'); }
[[nodiscard]] inline std::string no_feeds(const hf_model& model) { return every_layer(model, '-'); }
[[nodiscard]] inline std::string all_experts(const hf_model& model) { return every_layer(model, 'e'); }

/// DeepSeek and its kin: the first layers are dense.
[[nodiscard]] inline std::string dense_first_feeds(const hf_model& model) {
    const std::uint64_t dense = model.read_or_none(model.family.experts.first_dense);
    return where(model, 'd', 'e', [dense](std::uint64_t i) { return i < dense; });
}

/// Qwen: every `decoder_sparse_step`-th layer has experts, without `mlp_only_layers`; none where there are no experts.
[[nodiscard]] inline std::string qwen_feeds(const hf_model& model) {
    const bool any = model.read_or_none(model.family.experts.count) > 0;
    const std::uint64_t step = model.config.integer({"decoder_sparse_step"}, 1, 1, max_layers);
    return marked(model, where(model, 'e', 'd', [&](std::uint64_t i) { return any && (i + 1) % step == 0; }),
                  "mlp_only_layers", 'd');
}

/// `mlp_layer_types` ("dense" or "sparse" for each layer) where the config has it, else by `otherwise`.
[[nodiscard]] inline std::string by_mlp_layer_types(const hf_model& model, hf_letters otherwise) {
    const json* types = model.config.array("mlp_layer_types");
    if (types == nullptr) {
        return otherwise(model);
    }
    const std::string key = model.config.field("mlp_layer_types");
    if (types->size() != model.sizes.num_layers) {
        throw error(key, "must name the " + std::to_string(model.sizes.num_layers) + " layers, got " +
                             std::to_string(types->size()));
    }
    std::string letters;
    for (std::size_t index = 0; index < types->size(); ++index) {
        const json& type = (*types)[index];
        if (type != "dense" && type != "sparse") {
            throw error(indexed(key, index), R"(must be "dense" or "sparse", got )" + shown(type));
        }
        letters += type == "dense" ? 'd' : 'e';
    }
    return letters;
}

}  // namespace floptally::detail
