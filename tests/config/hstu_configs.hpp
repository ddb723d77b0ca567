// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/descriptors/hstu.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/mask.hpp>

#include "config_text.hpp"

/// @file
/// Configs of HSTU models and the descriptors that they are. hstu_format.test.cpp compares the two; hstu.test.cpp
/// compares the descriptors' costs with a forward pass that is enumerated.

namespace hstu_configs {

/// The config of an HSTU model with 2 layers of 3 heads of 5 on a width of 7, and with `more` keys. A key that follows
/// replaces the same key before it.
inline nlohmann::json config_of(const std::string& more, const std::string& sizes = "'dim_per_head': 5") {
    return parsed("{'model_type': 'hstu', 'hidden_size': 7, 'num_layers': 2, 'num_attention_heads': 3, " + sizes +
                  (more.empty() ? "" : ", ") + more + "}");
}

struct pinned {
    nlohmann::json config;
    floptally::hstu model;
};

/// Configs that together take every way through the spec of HSTU.
inline std::vector<pinned> all() {
    using namespace floptally;
    // Weights and biases of the norm of 7 inputs and of 3 heads of 5 results; biases of u, v, q and k.
    const hstu heads_of_5{
        .hidden_size = 7,
        .num_layers = 2,
        .layer = {
            .num_heads = 3, .attention_dim = 5, .linear_dim = 5, .elementwise = {.norm = 2 * 7 + 2 * 15, .bias = 60}}};
    std::vector<pinned> models{
        {config_of(""), heads_of_5},
        {config_of("", "'kv_channels': 5"), heads_of_5},
        {config_of("'kv_channels': 5"), heads_of_5},
        {config_of("", "'attention_dim': 5, 'linear_dim': 5"), heads_of_5},
    };

    hstu model = heads_of_5;
    model.layer.attention_dim = 11;
    model.layer.elementwise.bias = 2 * 3 * (11 + 5);
    models.push_back({config_of("'attention_dim': 11"), model});

    model = heads_of_5;
    model.layer.linear_dim = 11;
    model.layer.elementwise = {.norm = 2 * 7 + 2 * 33, .bias = 2 * 3 * (11 + 5)};
    models.push_back({config_of("'linear_dim': 11"), model});

    model = heads_of_5;
    model.layer.output_blocks = 3;
    model.layer.residual = false;
    model.layer.elementwise.norm = 2 * 15;
    models.push_back({config_of("'output_blocks': 3, 'residual': false, 'learnable_input_layernorm': false"), model});

    model = heads_of_5;
    model.preprocessing[0] = {.input_size = 13, .layer_sizes = {17, 7}, .rows = hstu_rows::items};
    model.preprocessing[1] = {.input_size = 19, .layer_sizes = {7}, .rows = hstu_rows::context, .bias = false};
    model.prediction[0] = {.layer_sizes = {23, 2}, .rows = hstu_rows::targets, .stride = 2};
    model.prediction[1] = {.layer_sizes = {1}, .rows = hstu_rows::all};
    models.push_back({config_of("'preprocessing_mlps': [{'input_size': 13, 'layer_sizes': [17, 7]}, "
                                "{'rows': 'context', 'input_size': 19, 'layer_sizes': [7], 'bias': false}], "
                                "'prediction_mlps': [{'stride': 2, 'layer_sizes': [23, 2]}, "
                                "{'rows': 'all', 'layer_sizes': [1]}]"),
                      model});

    const auto add_mask = [&](const std::string& more, const mask& sees) {
        hstu masked = heads_of_5;
        masked.masks = layer_masks(sees);
        models.push_back({config_of(more), masked});
    };
    add_mask("'mask': 'hstu', 'is_causal': false", mask::hstu({.is_causal = false}));
    add_mask("'contextual_mask': false", mask::hstu({.contextual = false}));
    add_mask("'max_attn_len': 64", mask::hstu({.max_attn_len = 64}));
    // With full rows at the end the targets after them are full too, unless the config says otherwise.
    add_mask("'max_attn_len': 64, 'min_full_attn_seq_len': 8",
             mask::hstu({.max_attn_len = 64, .min_full_attn_seq_len = 8, .windowed_targets = false}));
    add_mask("'max_attn_len': 64, 'min_full_attn_seq_len': 8, 'windowed_targets': true",
             mask::hstu({.max_attn_len = 64, .min_full_attn_seq_len = 8}));
    add_mask("'max_attn_len': 64, 'targets_share_place': true",
             mask::hstu({.max_attn_len = 64, .targets_share_place = true}));
    add_mask("'mask': 'bidirectional'", mask::bidirectional());
    add_mask("'mask': {'window': [64, 3]}", mask::window(64, 3));
    return models;
}

}  // namespace hstu_configs
