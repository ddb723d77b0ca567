// SPDX-License-Identifier: Apache-2.0
//
// Configs of HSTU models: what is read, and every way in which one can be wrong.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace hstu_format_test {
namespace {

using namespace floptally;

/// JSON with ' for ", of an HSTU model with 2 layers of 3 heads of 5 on a width of 7.
nlohmann::json config_of(const std::string& more, const std::string& sizes = "'dim_per_head': 5") {
    std::string text = "{'model_type': 'hstu', 'hidden_size': 7, 'num_layers': 2, 'num_attention_heads': 3, " + sizes +
                       (more.empty() ? "" : ", ") + more + "}";
    for (char& c : text) {
        c = c == '\'' ? '"' : c;
    }
    return nlohmann::json::parse(text);
}

hstu model_of() {
    return {
        .hidden_size = 7,
        .num_layers = 2,
        .layer = {
            .num_heads = 3, .attention_dim = 5, .linear_dim = 5, .elementwise = {.norm = 2 * 7 + 2 * 15, .bias = 60}}};
}

mask mask_of(const std::string& more) { return read_config(config_of(more)).cost.masks()[0]; }

std::string refusal(const nlohmann::json& config, const read_options& options = {}) {
    return error_of([&] { static_cast<void>(read_config(config, options)); });
}

}  // namespace

TEST_CASE("an HSTU config is its descriptor", "[hstu][json]") {
    CHECK(read_config(config_of("")).model_type == "hstu");
    CHECK(read_config(config_of("'name': 'ranking'")).model_type == "ranking");
    CHECK(read_config(config_of("")).cost == model_of().cost());
    CHECK(cost_of(read_config(config_of("")).parts) == model_of().cost());
    CHECK(read_config(config_of("", "'kv_channels': 5")).cost == model_of().cost());
    CHECK(read_config(config_of("", "'attention_dim': 5, 'linear_dim': 5")).cost == model_of().cost());

    hstu model = model_of();
    model.layer.attention_dim = 11;
    model.layer.elementwise.bias = 2 * 3 * (11 + 5);
    CHECK(read_config(config_of("'attention_dim': 11")).cost == model.cost());

    model = model_of();
    model.layer.linear_dim = 11;
    model.layer.elementwise = {.norm = 2 * 7 + 2 * 33, .bias = 2 * 3 * (11 + 5)};
    CHECK(read_config(config_of("'linear_dim': 11")).cost == model.cost());

    model = model_of();
    model.layer.output_blocks = 3;
    model.layer.residual = false;
    model.layer.elementwise.norm = 2 * 15;
    CHECK(read_config(config_of("'output_blocks': 3, 'residual': false, 'learnable_input_layernorm': false")).cost ==
          model.cost());

    model = model_of();
    model.preprocessing[0] = {.input_size = 13, .layer_sizes = {17, 7}, .rows = hstu_rows::items};
    model.preprocessing[1] = {.input_size = 19, .layer_sizes = {7}, .rows = hstu_rows::context, .bias = false};
    model.prediction[0] = {.layer_sizes = {23, 2}, .rows = hstu_rows::targets, .stride = 2};
    model.prediction[1] = {.layer_sizes = {1}, .rows = hstu_rows::all};
    CHECK(read_config(config_of("'preprocessing_mlps': [{'input_size': 13, 'layer_sizes': [17, 7]}, "
                                "{'rows': 'context', 'input_size': 19, 'layer_sizes': [7], 'bias': false}], "
                                "'prediction_mlps': [{'stride': 2, 'layer_sizes': [23, 2]}, "
                                "{'rows': 'all', 'layer_sizes': [1]}]"))
              .cost == model.cost());
}

TEST_CASE("masks of an HSTU config", "[hstu][json]") {
    CHECK(mask_of("") == mask::hstu());
    CHECK(mask_of("'mask': 'hstu', 'is_causal': false") == mask::hstu({.is_causal = false}));
    CHECK(mask_of("'contextual_mask': false") == mask::hstu({.contextual = false}));
    CHECK(mask_of("'max_attn_len': 64") == mask::hstu({.max_attn_len = 64}));
    // With full rows at the end the targets after them are full too, unless it is said.
    CHECK(mask_of("'max_attn_len': 64, 'min_full_attn_seq_len': 8") ==
          mask::hstu({.max_attn_len = 64, .min_full_attn_seq_len = 8, .windowed_targets = false}));
    CHECK(mask_of("'max_attn_len': 64, 'min_full_attn_seq_len': 8, 'windowed_targets': true") ==
          mask::hstu({.max_attn_len = 64, .min_full_attn_seq_len = 8}));
    CHECK(mask_of("'max_attn_len': 64, 'targets_share_place': true") ==
          mask::hstu({.max_attn_len = 64, .targets_share_place = true}));
    CHECK(mask_of("'mask': 'bidirectional'") == mask::bidirectional());
    CHECK(mask_of("'mask': {'window': [64, 3]}") == mask::window(64, 3));
}

TEST_CASE("a malformed HSTU config is an error that names the field", "[hstu][json][errors]") {
    const std::string size = "must be an integer from 1 to 16777216, got ";
    struct malformed {
        std::string more;
        std::string error;
    };
    const malformed rows[] = {
        {"'hidden_size': 0", "hidden_size: " + size + "0"},
        {"'num_layers': 0", "num_layers: must be an integer from 1 to 10000, got 0"},
        {"'num_attention_heads': -3", "num_attention_heads: " + size + "-3"},
        {"'dim_per_head': 5.5", "dim_per_head: " + size + "5.5"},
        {"'attention_dim': '5'", "attention_dim: " + size + "\"5\""},
        {"'linear_dim': 0", "linear_dim: " + size + "0"},
        {"'output_blocks': 4", "output_blocks: must be an integer from 1 to 3, got 4"},
        {"'residual': 1", "residual: must be true or false, got 1"},
        {"'learnable_input_layernorm': null", "learnable_input_layernorm: must be true or false, got null"},
        {"'is_causal': 'yes'", "is_causal: must be true or false, got \"yes\""},
        {"'contextual_mask': 0", "contextual_mask: must be true or false, got 0"},
        {"'max_attn_len': -1", "max_attn_len: must be an integer from 0 to 2147483647, got -1"},
        {"'max_attn_len': 64, 'is_causal': false", "max_attn_len: needs a causal mask"},
        {"'min_full_attn_seq_len': 3", "min_full_attn_seq_len: needs a max_attn_len above 0"},
        {"'windowed_targets': true", "windowed_targets: needs a max_attn_len above 0"},
        {"'targets_share_place': true", "targets_share_place: needs a max_attn_len above 0"},
        {"'mask': 'causal', 'is_causal': true", "is_causal: needs the mask \"hstu\""},
        {"'mask': {'window': [1, 2]}, 'max_attn_len': 3", "max_attn_len: needs the mask \"hstu\""},
        {"'mask': {'window': [1]}", "mask.window: must be [left, right], got [1]"},
        {"'prediction_mlps': {}", "prediction_mlps: must be a list, got {}"},
        {"'prediction_mlps': [1]", "prediction_mlps[0]: must be a JSON object, got 1"},
        {"'prediction_mlps': [{}]", "prediction_mlps[0].layer_sizes: must list from 1 to 8 widths"},
        {"'prediction_mlps': [{'layer_sizes': []}]",
         "prediction_mlps[0].layer_sizes: must list from 1 to 8 widths, got []"},
        {"'prediction_mlps': [{'layer_sizes': [1,2,3,4,5,6,7,8,9]}]",
         "prediction_mlps[0].layer_sizes: must list from 1 to 8 widths, got [1,2,3,4,5,6,7,8,9]"},
        {"'prediction_mlps': [{'layer_sizes': [4, 0]}]", "prediction_mlps[0].layer_sizes[1]: " + size + "0"},
        {"'prediction_mlps': [{'layer_sizes': [4], 'rows': 'target'}]",
         "prediction_mlps[0].rows: must be \"all\", \"context\", \"items\", \"history\" or \"targets\", got "
         "\"target\""},
        {"'prediction_mlps': [{'layer_sizes': [4], 'stride': 0}]",
         "prediction_mlps[0].stride: must be an integer from 1 to 2147483647, got 0"},
        {"'prediction_mlps': [{'layer_sizes': [4], 'input_size': 0}]", "prediction_mlps[0].input_size: " + size + "0"},
        {"'prediction_mlps': [{'layer_sizes': [4], 'bias': 2}]",
         "prediction_mlps[0].bias: must be true or false, got 2"},
        {"'prediction_mlps': [{'layer_sizes': [4], 'widths': 2}]",
         "prediction_mlps[0].widths: unknown key; known: rows, stride, input_size, layer_sizes, bias"},
        {"'prediction_mlps': [{'layer_sizes': [1]}, {'layer_sizes': [1]}, {'layer_sizes': [1]}, {'layer_sizes': [1]}, "
         "{'layer_sizes': [1]}]",
         "prediction_mlps: must be at most 4, got 5"},
        {"'preprocessing_mlps': [{'layer_sizes': [8]}]",
         "preprocessing_mlps: the last layer must be as wide as hidden_size (7), got 8"},
        {"'name': 3", "name: must be a string, got 3"},
    };
    for (const malformed& row : rows) {
        INFO(row.more);
        // Later keys win, so that a row can spoil a size.
        CHECK(refusal(config_of(row.more)) == row.error);
    }
    CHECK(refusal(config_of("'kv_channels': 5")) == "no error");
    CHECK(refusal(config_of("", "'kv_channels': 6, 'dim_per_head': 5")) ==
          "kv_channels: must be dim_per_head (5) where both are given, got 6");
    CHECK(refusal(config_of("", "'linear_dim': 5")) ==
          "attention_dim: is missing; must be an integer from 1 to 16777216");
    CHECK(refusal(config_of("", "'attention_dim': 5")) ==
          "linear_dim: is missing; must be an integer from 1 to 16777216");
    CHECK(refusal(config_of("'target_group_size': 2")).starts_with("target_group_size: unknown key; known: "));
    CHECK(refusal({{"model_type", "hstu"}}) == "hidden_size: is missing; must be an integer from 1 to 16777216");
    CHECK(refusal(config_of(""), {.mtp_layers = 1}) == "mtp: hstu has no multi-token prediction");
    CHECK(refusal(config_of(""), {.padded_vocab_size = 64}) == "padded_vocab_size: hstu has no vocabulary");
    CHECK(refusal(config_of(""), {.mla = mla_core::absorbed}) == "mla: hstu has no latent attention to absorb");
}

}  // namespace hstu_format_test
