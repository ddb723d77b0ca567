// SPDX-License-Identifier: Apache-2.0
//
// floptally's own format. What it refuses, and with which words, is in json_errors.test.cpp.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/statistic_text.hpp>

#include "catch2.hpp"
#include "config_text.hpp"
#include "error_of.hpp"
#include "markdown.hpp"

namespace floptally_format_test {
namespace {

using floptally::accumulator;
using floptally::phase;
using floptally::tally;
using floptally::view;
using nlohmann::json;

floptally::cost own(const std::string& part, const std::string& around = "") {
    return cost_of("{'model_type': 'floptally', 'hidden_size': 12, 'layers': [{'parts': [" + part + "]}]" + around +
                   "}");
}

/// The one mask of an attention.
std::string mask_of(const std::string& mask) {
    return layers_by_mask(own("{'type': 'attention', 'num_heads': 3" + mask + "}"), 2 * 12);
}

}  // namespace

TEST_CASE("a Llama config in floptally's own format counts the same as the Hugging Face config") {
    const floptally::cost written = cost_of(R"({'model_type': 'floptally', 'hidden_size': 4096, 'vocab_size': 128256,
        'layers': [{'repeat': 32, 'parts': [{'type': 'attention', 'num_heads': 32, 'num_kv_heads': 8},
                                            {'type': 'mlp', 'intermediate_size': 14336}]}]})");
    const floptally::cost read = cost_of(R"({'model_type': 'llama', 'architectures': ['LlamaForCausalLM'],
        'vocab_size': 128256, 'hidden_size': 4096, 'intermediate_size': 14336, 'num_hidden_layers': 32,
        'num_attention_heads': 32, 'num_key_value_heads': 8})");
    CHECK(written.masks() == read.masks());
    tally batch{read.masks()};
    batch.add({.length = 8192});
    batch.add({.length = 3, .past = 5}, {.length = 64, .past = 5});
    for (const floptally::recompute again : {floptally::recompute::none, floptally::recompute::full}) {
        const floptally::breakdown a = evaluate(written, batch, floptally::conventions::exact, {.recomputed = again});
        const floptally::breakdown b = evaluate(read, batch, floptally::conventions::exact, {.recomputed = again});
        REQUIRE(a.components().size() == b.components().size());
        for (const view seen : {view::useful, view::padded, view::executed}) {
            for (const floptally::component_flops& component : a.components()) {
                INFO(component.name.view());
                CHECK(to_string(component.total(seen)) == to_string(b[component.name.view()].total(seen)));
            }
        }
    }
    tally sums{read.masks()};
    sums.add({.length = 8192});
    CHECK(to_string(evaluate(written, sums).total()) == "421651971833856");
}

TEST_CASE("floptally's own config format can express every mask") {
    CHECK(mask_of("") == "1 causal");
    CHECK(mask_of(", 'mask': 'causal'") == "1 causal");
    CHECK(mask_of(", 'mask': 'bidirectional'") == "1 bidirectional");
    CHECK(mask_of(", 'mask': {'sliding_window': 128}") == "1 sliding_window(128)");
    CHECK(mask_of(", 'mask': {'window': [128, 64]}") == "1 window(128,64)");
    CHECK(mask_of(", 'mask': {'window': [-1, 64]}") == "1 window(-1,64)");
    CHECK(mask_of(", 'mask': {'window': [-1, -1]}") == "1 bidirectional");
    CHECK(mask_of(", 'mask': {'window': [-1, 0]}") == "1 causal");
    CHECK(mask_of(", 'mask': {'chunked': 8192}") == "1 chunked(8192)");
    CHECK(mask_of(", 'mask': {'top_k': 2048}") == "1 top_k(2048)");
    CHECK(mask_of(", 'mask': {'compressed_keys': 4}") == "1 compressed_keys(4)");
    CHECK(mask_of(", 'mask': {'prefix_lm': 7}") == "1 prefix_lm(7)");
}

TEST_CASE("floptally's own config format accepts every library mask with numeric parameters by name") {
    std::size_t keys = 0;
    for (const floptally::detail::statistic_table* table : floptally::detail::tables_in(floptally::library_masks{})) {
        if (!table->of_sequence || table->text_parameters == 0 || table->is_of_other_side) {
            continue;
        }
        const std::string name(table->name);
        std::string numbers;
        std::string text;
        for (std::size_t i = 0; i < table->text_parameters; ++i) {
            const floptally::statistic_parameter& parameter = table->parameters[i];
            const std::int64_t number = parameter.least + 2 + static_cast<std::int64_t>(i);
            if (parameter.fallback == floptally::statistic_parameter::none) {
                floptally::append_item(numbers, std::to_string(number));
                text += (text.empty() ? "(" : ",") + std::to_string(number);
            }
        }
        text = name + text + (text.empty() ? "" : ")");
        numbers = numbers.empty() ? "[1]" : table->text_parameters == 1 ? numbers : "[" + numbers + "]";
        INFO(name << ": " << numbers);
        CHECK(mask_of(", 'mask': {'" + name + "': " + numbers + "}") == "1 " + floptally::statistic_named(text).name());
        ++keys;
    }
    CHECK(keys > 10);
    CHECK(mask_of(", 'mask': {'hstu': [0, 1]}") == "1 hstu(is_causal=0)");
    CHECK(mask_of(", 'mask': {'best_blocks': [64, 4]}") == "1 best_blocks(64,4)");
}

TEST_CASE("floptally's own config format can express every kind of layer part") {
    using floptally::cost;
    using floptally::layer;
    const layer where{.hidden_size = 12};
    CHECK(own("{'type': 'attention', 'num_heads': 3}") == floptally::mha{3, 4, {}}.cost(where));
    CHECK(own("{'type': 'attention', 'num_heads': 6, 'num_kv_heads': 2, 'head_dim': 5}") ==
          floptally::gqa{6, 2, 5, {}}.cost(where));
    CHECK(own("{'type': 'cross_attention', 'num_heads': 3}") ==
          floptally::cross_attention{3, 3, 4, 12, {}}.cost(where));
    CHECK(own("{'type': 'cross_attention', 'num_heads': 3, 'num_kv_heads': 1, 'head_dim': 8, 'context_size': 7}") ==
          floptally::cross_attention{3, 1, 8, 7, {}}.cost(where));
    CHECK(own("{'type': 'mlp', 'intermediate_size': 20}") == floptally::gated_mlp{20, {}}.cost(where));
    CHECK(own("{'type': 'mlp', 'intermediate_size': 20, 'gated': false}") == floptally::mlp{20, {}}.cost(where));
    CHECK(own("{'type': 'moe', 'num_experts': 8, 'num_experts_per_tok': 2, 'intermediate_size': 20}") ==
          floptally::moe{8, 2, 20, 0, false, true, {}}.cost(where));
    CHECK(own("{'type': 'moe', 'num_experts': 8, 'num_experts_per_tok': 8, 'intermediate_size': 20, "
              "'shared_intermediate_size': 9, 'shared_expert_gate': true, 'gated': false}") ==
          floptally::moe{8, 8, 20, 9, true, false, {}}.cost(where));
    CHECK(own("{'type': 'moe', 'num_experts': 8, 'num_experts_per_tok': 2, 'intermediate_size': 20, 'latent_size': 6, "
              "'zero_experts': 3}") ==
          floptally::moe{
              .num_experts = 8, .num_experts_per_tok = 2, .intermediate_size = 20, .latent_size = 6, .zero_experts = 3}
              .cost(where));
    const auto linear = [](const char* rows) {
        return own("{'type': 'linear', 'component': 'adapter.down', 'in_features': 12, 'out_features': 5" +
                   std::string(rows) + "}");
    };
    const auto expected = [](accumulator rows) {
        return cost{}.add("adapter.down", floptally::linear{.in_features = 12, .out_features = 5, .rows = rows});
    };
    CHECK(linear("") == expected(accumulator::tokens));
    CHECK(linear(", 'rows': 'tokens'") == expected(accumulator::tokens));
    CHECK(linear(", 'rows': 'keys'") == expected(accumulator::keys));
    CHECK(linear(", 'rows': 'count'") == expected(accumulator::count));
    CHECK(own("{'type': 'state', 'component': 'mamba.state', 'multiply_adds': 64}") ==
          cost{}.add_state("mamba.state", 64));
    // How tensor parallelism shards what no part describes.
    const auto split_of = [](const std::string& part) { return own(part).entries()[0].sharding; };
    const auto with_split = [&](const char* said) {
        return "{'type': 'linear', 'component': 'adapter.down', 'in_features': 12, 'out_features': 5, 'split': '" +
               std::string(said) + "'}";
    };
    CHECK(split_of(with_split("columns")) == floptally::tensor_sharding::columns(5));
    CHECK(split_of(with_split("rows")) == floptally::tensor_sharding::rows(12));
    CHECK(split_of(with_split("replicated")) == floptally::tensor_sharding::replicated());
    CHECK(split_of(with_split("repeated")) == floptally::tensor_sharding::repeated());
    const std::string state = "{'type': 'state', 'component': 'memory', 'multiply_adds': 64, 'split': '";
    CHECK(split_of(state + "even'}") == floptally::tensor_sharding::even());
    CHECK(error_of([&] { return own(with_split("halves")); }) ==
          "layers[0].parts[0].split: must be \"columns\", \"rows\", \"even\", \"replicated\" or \"repeated\", got "
          "\"halves\"");
    CHECK(error_of([&] { return own(state + "columns'}"); }) ==
          "layers[0].parts[0].split: must be \"even\", \"replicated\" or \"repeated\", got \"columns\"");
}

TEST_CASE("floptally's own config format can express latent and sparse attention") {
    const floptally::layer sparse{.hidden_size = 12, .attends = floptally::mask::top_k(5)};
    const std::string dims = "'type': 'mla', 'num_heads': 3, 'kv_lora_rank': 7, 'qk_nope_head_dim': 4, 'v_head_dim': 6";
    CHECK(own("{" + dims + ", 'q_lora_rank': 5, 'qk_rope_head_dim': 2, 'mask': {'top_k': 5}}") ==
          floptally::mla{3, 5, 7, 4, 2, 6, false, {}}.cost(sparse));
    const floptally::layer where{.hidden_size = 12};
    CHECK(own("{" + dims + "}") == floptally::mla{3, 0, 7, 4, 0, 6, false, {}}.cost(where));
    const floptally::cost absorbed = floptally::mla{3, 0, 7, 4, 0, 6, true, {}}.cost(where);
    CHECK(own("{" + dims + ", 'absorbed': true}") == absorbed);
    const json config =
        parsed("{'model_type': 'floptally', 'hidden_size': 12, 'layers': [{'parts': [{" + dims + "}]}]}");
    CHECK(floptally::read_config(config, {.mla = floptally::mla_core::absorbed}).cost == absorbed);
    const json report = parsed("{'model_type': 'floptally', 'hidden_size': 12, 'layers': [{'parts': [{" + dims +
                               ", 'absorbed': false}]}]}");
    CHECK(error_of([&] { return floptally::read_config(report, {.mla = floptally::mla_core::absorbed}); }) ==
          "mla: must be expanded: floptally has no latent attention to absorb");

    CHECK(own("{'type': 'lightning_indexer', 'num_heads': 3, 'head_dim': 4}") ==
          floptally::lightning_indexer{3, 4, 12, true, {}}.cost(where));
    CHECK(own("{'type': 'lightning_indexer', 'num_heads': 3, 'head_dim': 4, 'query_size': 5, 'detached': false}") ==
          floptally::lightning_indexer{3, 4, 5, false, {}}.cost(where));
    CHECK(own("{'type': 'lightning_indexer', 'num_heads': 3, 'head_dim': 4, 'compress_ratio': 2, 'key_width': 8, "
              "'key_gate': true, 'head_weights': false}") ==
          floptally::lightning_indexer{3, 4, 12, true, {}, false, 2, 8, true, false}.cost(where));
    CHECK(own("{'type': 'mla', 'num_heads': 2, 'kv_lora_rank': 5, 'qk_nope_head_dim': 4, 'v_head_dim': 3, "
              "'gate_size': 6, 'shares_latent': true}") == floptally::mla{.num_heads = 2,
                                                                          .kv_lora_rank = 5,
                                                                          .qk_nope_head_dim = 4,
                                                                          .v_head_dim = 3,
                                                                          .gate_size = 6,
                                                                          .shares_latent = true}
                                                               .cost(where));
    const std::string compressed =
        "{'type': 'compressed_attention', 'num_heads': 4, 'head_dim': 3, 'q_lora_rank': 5, 'window': 7, "
        "'o_lora_rank': 6";
    CHECK(
        own(compressed + "}") ==
        floptally::compressed_attention{.num_heads = 4, .head_dim = 3, .q_lora_rank = 5, .window = 7, .o_lora_rank = 6}
            .cost(where));
    CHECK(own(compressed + ", 'compress_ratio': 2, 'overlap': true, 'best_keys': 9, 'o_groups': 2}") ==
          floptally::compressed_attention{4, 3, 5, 7, 2, true, 9, 2, 6}.cost(where));
    CHECK(own("{'type': 'hyper_connections', 'streams': 3}") == floptally::hyper_connections{3}.cost(where));
    CHECK(own("{'type': 'hyper_connections', 'streams': 3, 'mixes': false}") ==
          floptally::hyper_connections{3, false}.cost(where));
    CHECK(own("{'type': 'stream_head', 'streams': 3}") == floptally::stream_head{3}.cost(where));
    CHECK(own("{'type': 'gated_streams', 'streams': 3, 'rank': 5}") == floptally::gated_streams{3, 5}.cost(where));
    CHECK(own("{'type': 'gated_streams', 'streams': 3, 'rank': 5, 'injects': false}") ==
          floptally::gated_streams{3, 5, false}.cost(where));
}

TEST_CASE("floptally's own config format can express every recurrent mixer") {
    const floptally::layer where{.hidden_size = 12};
    CHECK(own("{'type': 'mamba', 'inner_size': 24, 'state_size': 5, 'dt_rank': 2, 'conv_kernel': 3}") ==
          floptally::mamba{24, 5, 2, 3, {}}.cost(where));
    CHECK(own("{'type': 'mamba2', 'num_heads': 4, 'head_dim': 6, 'n_groups': 2, 'state_size': 5, 'conv_kernel': 3}") ==
          floptally::mamba2{4, 6, 2, 5, 3, {}}.cost(where));
    CHECK(own("{'type': 'mamba2', 'num_heads': 4, 'head_dim': 6, 'state_size': 5, 'conv_kernel': 3}") ==
          floptally::mamba2{4, 6, 1, 5, 3, {}}.cost(where));
    const std::string delta =
        "'type': 'gated_delta_net', 'num_key_heads': 2, 'num_value_heads': 4, 'key_head_dim': 5, "
        "'value_head_dim': 6, 'conv_kernel': 3";
    CHECK(own("{" + delta + "}") == floptally::gated_delta_net{2, 4, 5, 6, 3, true, {}}.cost(where));
    CHECK(own("{" + delta + ", 'output_gate': false}") ==
          floptally::gated_delta_net{2, 4, 5, 6, 3, false, {}}.cost(where));
    CHECK(own("{'type': 'kda', 'num_heads': 4, 'head_dim': 6, 'conv_kernel': 3}") ==
          floptally::kda{4, 6, 3, {}}.cost(where));
    CHECK(own("{'type': 'lightning_attention', 'num_heads': 4, 'head_dim': 6}") ==
          floptally::lightning_attention{4, 6, {}}.cost(where));
    CHECK(own("{'type': 'mlstm', 'num_heads': 4, 'key_head_dim': 3, 'value_head_dim': 6}") ==
          floptally::mlstm{4, 3, 6, {}}.cost(where));
    CHECK(own("{'type': 'rg_lru', 'lru_width': 16, 'num_blocks': 4, 'conv_kernel': 3}") ==
          floptally::rg_lru{16, 4, 3, {}}.cost(where));
    CHECK(own("{'type': 'short_convolution', 'conv_kernel': 3}") == floptally::short_convolution{3, {}}.cost(where));
    CHECK(own("{'type': 'rwkv_time_mix'}") == floptally::rwkv_time_mix{12, {}}.cost(where));
    CHECK(own("{'type': 'rwkv_time_mix', 'attention_size': 20}") == floptally::rwkv_time_mix{20, {}}.cost(where));
    CHECK(own("{'type': 'rwkv_channel_mix', 'intermediate_size': 20}") ==
          floptally::rwkv_channel_mix{20, {}}.cost(where));
}

TEST_CASE("an encoder in floptally's own config format runs over the tokens of the encoder input") {
    const floptally::cost model = cost_of(R"({'model_type': 'floptally', 'hidden_size': 12, 'vocab_size': 7,
        'encoder_layers': [{'repeat': 2, 'parts': [{'type': 'attention', 'num_heads': 3, 'mask': 'bidirectional'},
                                                   {'type': 'mlp', 'intermediate_size': 20}]}],
        'layers': [{'parts': [{'type': 'attention', 'num_heads': 3}, {'type': 'cross_attention', 'num_heads': 3}]}]})");
    tally batch{model.masks()};
    batch.add({.length = 5, .keys = 9});
    batch.add({.length = 2, .keys = 4});
    std::uint64_t expected = 0;
    for (const auto& [length, keys] : {std::pair{5U, 9U}, std::pair{2U, 4U}}) {
        std::uint64_t causal = 0;
        for (unsigned query = 0; query < length; ++query) {
            causal += query + 1;
        }
        // q, k, v, output; gate, up, down; QKᵀ and PV of all heads.
        const std::uint64_t encoder_layer = keys * (4 * 2 * 12 * 12 + 3 * 2 * 12 * 20) + keys * keys * 4 * 12;
        const std::uint64_t own_attention = length * 4 * 2 * 12 * 12 + causal * 4 * 12;
        const std::uint64_t cross = length * 2 * 2 * 12 * 12 + keys * 2 * 2 * 12 * 12 + length * keys * 4 * 12;
        expected += 2 * encoder_layer + own_attention + cross + length * 2 * 12 * 7;
    }
    CHECK(to_string(evaluate(model, batch).get(view::useful, phase::forward)) == std::to_string(expected));
}

TEST_CASE("multi-token prediction in floptally's own config format repeats a layer of the last layer group") {
    const json config = parsed(R"({'model_type': 'floptally', 'hidden_size': 12, 'vocab_size': 7, 'layers': [
        {'parts': [{'type': 'attention', 'num_heads': 3}]}, {'repeat': 2, 'parts': [{'type': 'mlp',
        'intermediate_size': 20}]}]})");
    const auto forward = [&](std::uint64_t depths) {
        const floptally::cost model = floptally::read_config(config, {.mtp_layers = depths}).cost;
        tally batch{model.masks()};
        batch.add({.length = 1});
        return evaluate(model, batch).get(view::useful, phase::forward);
    };
    const std::uint64_t depth = 2 * 24 * 12 + 3 * 2 * 12 * 20 + 2 * 12 * 7;
    CHECK(to_string(forward(1)) == to_string(forward(0) + floptally::flops{depth}));
    CHECK(to_string(forward(3)) == to_string(forward(0) + floptally::flops{3 * depth}));
}

TEST_CASE("layer groups of floptally's own config format repeat layers, and the costs of all groups add up") {
    const floptally::cost whole =
        cost_of(R"({'model_type': 'floptally', 'name': 'hybrid', 'hidden_size': 12, 'layers': [
        {'repeat': 5, 'parts': [{'type': 'attention', 'num_heads': 3, 'mask': {'sliding_window': 4}}]},
        {'parts': [{'type': 'attention', 'num_heads': 3}, {'type': 'mlp', 'intermediate_size': 20}]}]})");
    floptally::cost expected =
        5 * floptally::mha{3, 4, {}}.cost({.hidden_size = 12, .attends = floptally::mask::sliding_window(4)});
    expected += floptally::mha{3, 4, {}}.cost({.hidden_size = 12});
    expected += floptally::gated_mlp{20, {}}.cost({.hidden_size = 12});
    CHECK(whole == expected);
}

TEST_CASE("a config in floptally's own format may have a tied, a padded or no vocabulary") {
    const std::string part = "{'type': 'mlp', 'intermediate_size': 20}";
    const auto products = [](const floptally::cost& cost, view seen) {
        tally batch{cost.masks()};
        batch.add({.length = 1});
        return to_string(evaluate(cost, batch).get(seen, phase::forward));
    };
    const std::uint64_t mlp = 2 * 3 * 12 * 20;
    CHECK(products(own(part), view::useful) == std::to_string(mlp));
    CHECK(products(own(part, ", 'vocab_size': 7"), view::useful) == std::to_string(mlp + 2 * 12 * 7));
    CHECK(products(own(part, ", 'vocab_size': 7, 'padded_vocab_size': 8"), view::useful) ==
          std::to_string(mlp + 2 * 12 * 7));
    CHECK(products(own(part, ", 'vocab_size': 7, 'padded_vocab_size': 8"), view::padded) ==
          std::to_string(mlp + 2 * 12 * 8));
    CHECK(own(part, ", 'vocab_size': 7").parameters() == 3 * 12 * 20 + 2 * 12 * 7);
    CHECK(own(part, ", 'vocab_size': 7, 'tie_word_embeddings': true").parameters() == 3 * 12 * 20 + 12 * 7);
}

TEST_CASE("a report shows the name of a config in floptally's own format as its model type") {
    const std::string rest = "'hidden_size': 12, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 20}]}]}";
    CHECK(floptally::read_config(parsed("{'model_type': 'floptally', " + rest)).model_type == "floptally");
    CHECK(floptally::read_config(parsed("{'model_type': 'floptally', 'name': 'ours', " + rest)).model_type == "ours");
}

TEST_CASE("every complete JSON example of the docs on specs can be read") {
    const std::vector<std::string> examples =
        fenced_blocks(read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/specs.md"), "json");
    REQUIRE(examples.size() == 2);
    CHECK(floptally::read_config(json::parse(examples[1])).model_type == "ranking");
    const floptally::model_config complete =
        floptally::read_config(json::parse(read_text(std::filesystem::path(FLOPTALLY_GOLDEN_DIR) / "every_part.json")));
    CHECK(complete.model_type == "my-hybrid");
    // Every part, every mask, every key.
    for (const char* component :
         {"attention.core", "cross_attention.core", "mlp", "moe.experts", "moe.shared", "mixer.input", "mixer.state",
          "gate", "memory", "lm_head", "encoder.mlp", "attention.indexer", "moe.latent"}) {
        INFO(component);
        CHECK(complete.cost.components().find(component) < complete.cost.components().size());
    }
    CHECK(complete.cost.masks().size() == 10);

    const floptally::cost llama = floptally::read_config(json::parse(examples[0])).cost;
    tally batch{llama.masks()};
    batch.add({.length = 8192});
    CHECK(to_string(evaluate(llama, batch).total()) == "421651971833856");
}

}  // namespace floptally_format_test
