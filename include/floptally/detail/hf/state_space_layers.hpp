// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/layers.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/hf/parts.hpp>
#include <floptally/error.hpp>
#include <floptally/model/feed_forward.hpp>

/// @file
/// Which layers of a hybrid have a state space, which attention, and what follows them.

namespace floptally::detail {

// ---- lists of layer types ----

struct block_type {
    std::string_view name;
    char letter;
};

/// One letter for each entry of the config's list of layer types, or nothing where it has none. Lists say "mamba" and
/// "attention" too: the names before transformers 5.
[[nodiscard]] inline std::string block_letters(const hf_model& model, config_fields::names keys,
                                               std::span<const block_type> known) {
    const std::string_view key = model.config.spelling(keys);
    const json* types = model.config.array(key);
    if (types == nullptr) {
        return {};
    }
    std::string letters;
    for (std::size_t index = 0; index < types->size(); ++index) {
        const json& given = (*types)[index];
        const std::string_view name = given == "mamba"       ? "linear_attention"
                                      : given == "attention" ? "full_attention"
                                      : given.is_string()    ? given.get_ref<const std::string&>()
                                                             : std::string_view{};
        const auto type = std::find_if(known.begin(), known.end(), [&](const block_type& t) { return t.name == name; });
        if (type == known.end()) {
            std::string allowed;
            for (const block_type& each : known) {
                append_item(allowed, std::string("\"").append(each.name).append("\""));
            }
            throw error(indexed(model.config.field(key), index), "must be one of " + allowed + ", got " + shown(given));
        }
        letters += type->letter;
    }
    return letters;
}

/// The same, for exactly `num_hidden_layers`.
[[nodiscard]] inline std::string layer_letters(const hf_model& model, config_fields::names keys,
                                               std::span<const block_type> known) {
    std::string letters = block_letters(model, keys, known);
    const std::string_view key = model.config.spelling(keys);
    if (model.config.has_value(key) && letters.size() != model.sizes.num_layers) {
        throw error(model.config.field(key), "must name the " + std::to_string(model.sizes.num_layers) +
                                                 " layers, got " + std::to_string(letters.size()));
    }
    return letters;
}

/// These classes derive the kinds of their layers and take no list.
inline void refuse_layer_lists(hf_model& model) {
    for (const std::string_view key : {"layer_types", "layers_block_type", "layers_num_experts"}) {
        if (model.config.has_value(key)) {
            throw error(model.config.field(key), model.refusal("null", *model.config.find(key)));
        }
    }
}

// ---- granitemoehybrid ----

[[nodiscard]] inline std::string granite_mixers(const hf_model& model) {
    constexpr block_type types[] = {{"linear_attention", 'R'}, {"full_attention", 'F'}};
    const std::string letters = layer_letters(model, {"layers_block_type", "layer_types"}, types);
    return letters.empty() ? all_recurrent(model) : letters;
}

/// The shared MLP is there without experts too.
[[nodiscard]] inline cost shared_mlp_part(const hf_model& model, const hf_layer& at) {
    return dense_of(model, at, model.read(model.family.experts.shared));
}

// ---- jamba ----

/// `chosen` in every `<kind>_layer_period`-th layer, from `<kind>_layer_offset` on.
[[nodiscard]] inline std::string by_period_and_offset(const hf_model& model, const std::string& kind, hf_size period,
                                                      hf_size offset, char chosen, char other) {
    const std::uint64_t every = model.read(period);
    const std::uint64_t first = model.read_or_none(offset);
    if (first >= every) {
        throw error(model.config.field(kind + "_layer_offset"), "must be less than " + kind + "_layer_period (" +
                                                                    std::to_string(every) + "), got " +
                                                                    std::to_string(first));
    }
    return where(model, chosen, other, [&](std::uint64_t i) { return i % every == first; });
}
[[nodiscard]] inline std::string jamba_mixers(const hf_model& model) {
    return by_period_and_offset(model, "attn", {{"attn_layer_period"}, 8}, {{"attn_layer_offset"}, 4}, 'F', 'R');
}
[[nodiscard]] inline std::string jamba_feeds(const hf_model& model) {
    const char with = model.read_or_none(model.family.experts.count) > 1 ? 'e' : 'd';
    return by_period_and_offset(model, "expert", {{"expert_layer_period"}, 2}, {{"expert_layer_offset"}, 1}, with, 'd');
}

// ---- nemotron_h ----

/// The letters of `hybrid_override_pattern`: M Mamba-2, * attention, - MLP, E experts; one of them is a whole layer.
[[nodiscard]] inline std::string nemotron_h_pattern(const hf_model& model) {
    constexpr block_type types[] = {{"linear_attention", 'M'}, {"full_attention", '*'}, {"mlp", '-'}, {"moe", 'E'}};
    const config_fields::names keys{"layer_types", "layers_block_type"};
    const std::string listed = block_letters(model, keys, types);
    const bool is_listed = model.config.has_value(model.config.spelling(keys));
    const std::string key = is_listed ? std::string(model.config.spelling(keys)) : "hybrid_override_pattern";
    std::string pattern = is_listed ? listed : model.config.text(key, "ME*-");
    if (pattern.empty() || pattern.size() > max_layers) {
        throw error(model.config.field(key), "must have from 1 to " + std::to_string(max_layers) + " layers, got " +
                                                 std::to_string(pattern.size()));
    }
    if (const std::size_t at = pattern.find_first_not_of("M*-E"); at != std::string::npos) {
        throw error(model.config.field(key),
                    "must be of the letters M, *, - and E, got " + shown(*model.config.find(key)));
    }
    return pattern;
}

inline void nemotron_h_layers(hf_model& model) {
    model.refuse_flag("tie_word_embeddings", true);  // The class unties them silently.
    model.sizes.num_layers = nemotron_h_pattern(model).size();
    if (model.options.mtp_layers != 0) {
        throw error("mtp",
                    "is not supported for model_type nemotron_h, whose prediction layers have a pattern of their own");
    }
}
[[nodiscard]] inline std::string nemotron_h_mixers(const hf_model& model) {
    std::string letters = nemotron_h_pattern(model);
    std::transform(letters.begin(), letters.end(), letters.begin(), [](char c) {
        return c == 'M' ? 'R' : c == '*' ? 'F' : '-';
    });
    return letters;
}
[[nodiscard]] inline std::string nemotron_h_feeds(const hf_model& model) {
    std::string letters = nemotron_h_pattern(model);
    std::transform(letters.begin(), letters.end(), letters.begin(), [](char c) {
        return c == '-' ? 'd' : c == 'E' ? 'e' : '-';
    });
    return letters;
}

/// With `moe_latent_size` the routed experts work on that width; `mlp_bias` is of all but the routed experts.
[[nodiscard]] inline cost nemotron_h_experts(const hf_model& model, const hf_layer& at) {
    moe part = read_experts(model);
    const std::uint64_t h = at.where.hidden_size;
    if (model.config.has_value("moe_latent_size")) {
        part.latent_size = model.config.dimension({"moe_latent_size"});
    }
    if (model.has(model.family.mlp_bias)) {
        part.elementwise.bias = part.shared_intermediate_size + h + (part.latent_size == 0 ? 0 : part.latent_size + h);
    }
    return part.cost(at.where);
}

}  // namespace floptally::detail
