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
#include "hstu_configs.hpp"

namespace hstu_format_test {
namespace {

using namespace floptally;

using hstu_configs::config_of;

std::string refusal(const nlohmann::json& config, const read_options& options = {}) {
    return error_of([&] { static_cast<void>(read_config(config, options)); });
}

}  // namespace

TEST_CASE("an HSTU config counts the same as the HSTU descriptor with its mask", "[hstu][json]") {
    CHECK(read_config(config_of("")).model_type == "hstu");
    CHECK(read_config(config_of("'name': 'ranking'")).model_type == "ranking");
    for (const hstu_configs::pinned& expected : hstu_configs::all()) {
        INFO(expected.config);
        const model_config read = read_config(expected.config);
        CHECK(read.cost == expected.model.cost());
        CHECK(cost_of(read.parts) == expected.model.cost());
        CHECK(read.notes.empty());
    }
}

TEST_CASE("a user's model spec can derive from the library's HSTU spec", "[hstu][json]") {
    nlohmann::json config = config_of("");
    config["model_type"] = "my_recommender";
    const std::string spec = "spec my_recommender : hstu\nwith key_width 11\nattention_dim = .key_width\n";
    const model_config read = read_config(config, {.specs = {spec}});
    CHECK(read.model_type == "my_recommender");
    CHECK(read.notes.empty());
    CHECK(read.cost == read_config(config_of("'attention_dim': 11")).cost);
    config["key_widths"] = 11;
    CHECK(error_of([&] {
              static_cast<void>(read_config(config, {.specs = {spec}}));
          }).starts_with("key_widths: unknown key; known: model_type, name, "));
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
        {"'max_attn_len': 64, 'is_causal': false",
         "max_attn_len: needs a causal mask: set is_causal to true, or max_attn_len to 0"},
        {"'min_full_attn_seq_len': 3",
         "min_full_attn_seq_len: needs a max_attn_len above 0: set max_attn_len, or set min_full_attn_seq_len to 0"},
        {"'windowed_targets': true", "windowed_targets: needs a max_attn_len above 0, got true"},
        {"'targets_share_place': true", "targets_share_place: needs a max_attn_len above 0, got true"},
        {"'mask': 'causal', 'is_causal': true", "is_causal: needs the mask \"hstu\", got true"},
        {"'mask': 'causal', 'contextual_mask': false", "contextual_mask: needs the mask \"hstu\", got false"},
        {"'mask': 'causal', 'min_full_attn_seq_len': 3", "min_full_attn_seq_len: needs the mask \"hstu\", got 3"},
        {"'mask': 'causal', 'windowed_targets': true", "windowed_targets: needs the mask \"hstu\", got true"},
        {"'mask': 'causal', 'targets_share_place': true", "targets_share_place: needs the mask \"hstu\", got true"},
        {"'mask': {'window': [1, 2]}, 'max_attn_len': 3", "max_attn_len: needs the mask \"hstu\", got 3"},
        {"'mask': {'window': [1]}", "mask.window: must be [left, right], got [1]"},
        {"'prediction_mlps': {}", "prediction_mlps: must be a list or null, got {}"},
        {"'prediction_mlps': [1]", "prediction_mlps[0]: must be a JSON object, got 1"},
        {"'prediction_mlps': [{}]", "prediction_mlps[0].layer_sizes: must list from 1 to 8 widths; it is missing"},
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
         "prediction_mlps: must have at most 4 MLPs, got 5"},
        {"'preprocessing_mlps': [{'layer_sizes': [8]}]",
         "preprocessing_mlps: the last layer must be as wide as hidden_size (7), got 8"},
        {"'name': 3", "name: must be a string, got 3"},
    };
    for (const malformed& row : rows) {
        INFO(row.more);
        // Later keys win, so that a row can spoil a size.
        CHECK(refusal(config_of(row.more)) == row.error);
    }
    CHECK(refusal(config_of("", "'kv_channels': 6, 'dim_per_head': 5")) ==
          "kv_channels: must be dim_per_head (5) where both are given, got 6");
    CHECK(refusal(config_of("", "'linear_dim': 5")) ==
          "attention_dim: is missing; must be an integer from 1 to 16777216");
    CHECK(refusal(config_of("", "'attention_dim': 5")) ==
          "linear_dim: is missing; must be an integer from 1 to 16777216");
    CHECK(refusal(config_of("'target_group_size': 2")).starts_with("target_group_size: unknown key; known: "));
    CHECK(refusal({{"model_type", "hstu"}}) == "hidden_size: is missing; must be an integer from 1 to 16777216");
    CHECK(refusal(config_of(""), {.mtp_layers = 1}) == "mtp: must be 0: hstu has no multi-token prediction");
    CHECK(refusal(config_of(""), {.padded_vocab_size = 64}) ==
          "padded_vocab_size: must be absent: hstu has no vocabulary");
    CHECK(refusal(config_of(""), {.mla = mla_core::absorbed}) ==
          "mla: must be expanded: hstu has no latent attention to absorb");
}

}  // namespace hstu_format_test
