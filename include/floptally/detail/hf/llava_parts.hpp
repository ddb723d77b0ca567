// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model_config.hpp>

/// @file
/// What LLaVA and its descendants are joined by: the features of chosen layers of a vision tower, linears of them.

namespace floptally::detail {

/// Layers that run before the hidden states number `index`, of which there is one more than layers.
[[nodiscard]] inline std::uint64_t layers_before(const json& index, const std::string& where, std::uint64_t layers) {
    const auto most = static_cast<std::int64_t>(layers);
    const bool is_index = index.is_number_integer();
    const std::int64_t at = is_index ? index.get<std::int64_t>() : 0;
    if (!is_index || at > most || at < -most - 1) {
        throw error(where, "must be an integer from " + std::to_string(-most - 1) + " to " + std::to_string(most) +
                               ", got " + shown(index));
    }
    return static_cast<std::uint64_t>(at < 0 ? at + most + 1 : at);
}

/// Which layers' features a class takes where its config does not say it; a list where there is more than one.
[[nodiscard]] inline json feature_layers_of(const hf_joined& model, const json& otherwise) {
    const std::string_view key = model.config.spelling({"vision_feature_layer", "vision_feature_layers"});
    return model.config.has_value(key) ? *model.config.find(key) : otherwise;
}

/// The deepest of the layers whose output is used.
[[nodiscard]] inline std::uint64_t deepest_layer(const hf_joined& model, const json& given) {
    const std::string where = model.config.field("vision_feature_layer");
    if (!given.is_array()) {
        return layers_before(given, where, model.tower.sizes.num_layers);
    }
    std::uint64_t deepest = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        deepest = std::max(deepest, layers_before(given[i], indexed(where, i), model.tower.sizes.num_layers));
    }
    return deepest;
}

template <std::int64_t Otherwise>
[[nodiscard]] std::uint64_t feature_layers(const hf_joined& model) {
    return deepest_layer(model, feature_layers_of(model, Otherwise));
}

/// The same of a class that takes no list.
template <std::int64_t Otherwise>
[[nodiscard]] std::uint64_t feature_layer(const hf_joined& model) {
    const json given = feature_layers_of(model, Otherwise);
    if (given.is_array() && given.size() != 1) {
        throw error(model.config.field("vision_feature_layer"), "must be one integer, got " + shown(given));
    }
    return deepest_layer(model, given);
}

[[nodiscard]] inline std::uint64_t prefix_tokens(const hf_model& tower) {
    return tower.family.prefix_tokens == nullptr ? 0 : tower.family.prefix_tokens(tower);
}

/// Class tokens and registers that go on with the patches: "default" drops the first token, "full" drops none.
[[nodiscard]] inline std::uint64_t kept_prefix(const hf_joined& model, const char* otherwise) {
    constexpr std::string_view key = "vision_feature_select_strategy";
    const std::string strategy = model.config.text(key, otherwise);
    if (strategy != "default" && strategy != "full") {
        throw error(model.config.field(key), R"(must be "default" or "full", got ")" + strategy + "\"");
    }
    const std::uint64_t prefix = prefix_tokens(model.tower);
    if (strategy == "full") {
        return prefix;
    }
    if (prefix == 0) {
        throw error(model.config.field(key),
                    std::string(R"(must be "full" for a )").append(model.tower.family.model_type) +
                        R"(, which has no class token, got "default")");
    }
    return prefix - 1;
}

/// The same of a class that sees its features as a square of patches, so that none may be left beside them.
inline void require_patches_only(const hf_joined& model, const char* otherwise) {
    if (kept_prefix(model, otherwise) != 0) {
        throw error(model.config.field("vision_feature_select_strategy"),
                    std::string(R"(must be "default" for a )").append(model.tower.family.model_type) +
                        R"(: its class token has no place among the patches, got "full")");
    }
}

/// Two linears with an activation between them, and the norm before them.
struct two_linears {
    std::uint64_t in_features = 0;
    std::uint64_t up_features = 0;    ///< what the first makes
    std::uint64_t down_features = 0;  ///< what the second takes; half of that where a gate multiplies the other half
    std::uint64_t out_features = 0;
    bool bias = true;
    std::uint64_t norm = 0;  ///< parameters per channel of what enters

    /// Over every patch, or over units.
    [[nodiscard]] cost of(const mask* units) const {
        const linear up{.in_features = in_features,
                        .out_features = up_features,
                        .weight = "linear_1",
                        .reads = value::stream,
                        .writes = value::made(0),
                        .dealt = dealing::columns()};
        const linear down{.in_features = down_features,
                          .out_features = out_features,
                          .weight = "linear_2",
                          .reads = value::made(0),
                          .writes = value::made(1),
                          .dealt = dealing::rows()};
        cost sum;
        for (const linear& one : {up, down}) {
            units == nullptr ? sum.add("projector", one) : sum.add("projector", one, *units);
        }
        sum.add_parameters("bias", term::bias, bias ? up_features + out_features : 0);
        sum.add_parameters("norm", term::norm, norm * in_features);
        return sum;
    }
};

/// One linear with a bias, from the tower's width to the text's.
[[nodiscard]] inline cost one_linear(const hf_joined& model) {
    const std::uint64_t h = model.text.sizes.hidden_size;
    cost sum;
    sum.add("projector", linear{.in_features = model.tower.sizes.hidden_size,
                                .out_features = h,
                                .weight = "linear",
                                .reads = value::stream,
                                .writes = value::made(0)});
    sum.add_parameters("bias", term::bias, h);
    return sum;
}

/// LLaVA's projector: of the features of all chosen layers beside each other.
[[nodiscard]] inline two_linears llava_linears(const hf_joined& model, const json& layers, bool bias) {
    const std::uint64_t states = layers.is_array() ? layers.size() : 1;
    const std::uint64_t h = model.text.sizes.hidden_size;
    return {.in_features = checked_multiply(states, model.tower.sizes.hidden_size, "projector"),
            .up_features = h,
            .down_features = h,
            .out_features = h,
            .bias = bias};
}

/// One token of the text for each side x side patches.
[[nodiscard]] inline tower_input merged_placeholders(tower_input input, std::uint64_t side) {
    input.units = mask::merged_patches(static_cast<std::int64_t>(side));
    input.per_unit = 1;
    return input;
}

[[nodiscard]] inline bool projector_bias(const hf_joined& model, bool otherwise) {
    return model.config.flag("multimodal_projector_bias", otherwise);
}

/// A vector that stands after each row of an image.
[[nodiscard]] inline cost image_newline(const hf_joined& model) {
    cost sum;
    sum.add_parameters("embedding", term::position_embedding, model.text.sizes.hidden_size);
    return sum;
}

}  // namespace floptally::detail
