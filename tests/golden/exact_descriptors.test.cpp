// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>

#include "catch2.hpp"

/// @file
/// exact_descriptors.json: every matmul and every attended pair of a step, enumerated, of models that are built here
/// from parts.

namespace {

using namespace floptally;
using nlohmann::json;

json golden(const char* name) {
    std::ifstream file(std::string(FLOPTALLY_GOLDEN_DIR "/").append(name));
    return json::parse(file);
}

/// The component that an enumerated product is part of here.
std::string component_of(const std::string& product) {
    const std::map<std::string, std::string> parts{
        {"attn.q_proj", "attention.qkv"},
        {"attn.k_proj", "attention.qkv"},
        {"attn.v_proj", "attention.qkv"},
        {"attn.qk", "attention.core"},
        {"attn.pv", "attention.core"},
        {"attn.o_proj", "attention.output"},
        {"attn.gate_proj", "attention.gate"},
        {"mlp.gate_proj", "mlp"},
        {"mlp.up_proj", "mlp"},
        {"mlp.down_proj", "mlp"},
        {"moe.router", "moe.router"},
        {"moe.expert.gate_proj", "moe.experts"},
        {"moe.expert.up_proj", "moe.experts"},
        {"moe.expert.down_proj", "moe.experts"},
        {"moe.shared.gate_proj", "moe.shared"},
        {"moe.shared.up_proj", "moe.shared"},
        {"moe.shared.down_proj", "moe.shared"},
        {"moe.shared_gate", "moe.shared"},
        {"gdn.qkvz_proj", "mixer.input"},
        {"gdn.ba_proj", "mixer.input"},
        {"gdn.conv", "mixer.convolution"},
        {"gdn.state_k", "mixer.state"},
        {"gdn.state_update", "mixer.state"},
        {"gdn.state_read", "mixer.state"},
        {"gdn.out_proj", "mixer.output"},
        {"mamba.in_proj", "mixer.input"},
        {"mamba.conv", "mixer.convolution"},
        {"mamba.state_update", "mixer.state"},
        {"mamba.state_read", "mixer.state"},
        {"mamba.out_proj", "mixer.output"},
        {"lm_head", "lm_head"},
    };
    const auto part = parts.find(product);
    return part == parts.end() ? "unknown: " + product : part->second;
}

/// Fields of one config.
class config {
  public:
    explicit config(json fields) : fields_(std::move(fields)) {}

    [[nodiscard]] std::uint64_t number(const char* key) const {
        const json& value = fields_.at(key);
        return value.is_null() ? 0 : value.get<std::uint64_t>();
    }
    [[nodiscard]] std::uint64_t number_or(const char* key, std::uint64_t absent) const {
        return fields_.contains(key) ? number(key) : absent;
    }
    [[nodiscard]] std::string text(const char* key) const { return fields_.at(key).get<std::string>(); }
    [[nodiscard]] bool has(const char* key) const { return fields_.contains(key); }
    [[nodiscard]] std::string layer_type(std::uint64_t index) const {
        return fields_.at("layer_types").at(index).get<std::string>();
    }

  private:
    json fields_;
};

moe experts_of(const config& c) {
    return {.num_experts = c.number("n_routed_experts"),
            .num_experts_per_tok = c.number("num_experts_per_tok"),
            .intermediate_size = c.number("moe_intermediate_size"),
            .shared_intermediate_size = c.number("n_shared_experts") * c.number("moe_intermediate_size")};
}

gqa heads_of(const config& c) {
    return {.num_heads = c.number("num_attention_heads"),
            .num_kv_heads = c.number("num_key_value_heads"),
            .head_dim = c.number("head_dim")};
}

cost glm_4(const config& c) {
    const transformer<gqa, dense_first<gated_mlp, moe>> model{
        .hidden_size = c.number("hidden_size"),
        .num_layers = c.number("num_hidden_layers"),
        .attention = heads_of(c),
        .feed_forward = {.num_dense_layers = c.number("first_k_dense_replace"),
                         .dense = {.intermediate_size = c.number("intermediate_size")},
                         .sparse = experts_of(c)},
        .vocab = {.size = c.number("vocab_size")}};
    return model.cost();
}

cost llama_4(const config& c) {
    std::vector<mask> masks;
    for (std::uint64_t index = 0; index < c.number("num_hidden_layers"); ++index) {
        masks.push_back(c.layer_type(index) == "full_attention"
                            ? mask::causal()
                            : mask::chunked(static_cast<std::int64_t>(c.number("attention_chunk_size"))));
    }
    const transformer<gqa, moe> model{
        .hidden_size = c.number("hidden_size"),
        .num_layers = c.number("num_hidden_layers"),
        .attention = heads_of(c),
        .feed_forward = {.num_experts = c.number("num_local_experts"),
                         .num_experts_per_tok = c.number("num_experts_per_tok"),
                         .intermediate_size = c.number("intermediate_size"),
                         .shared_intermediate_size = c.number("n_shared_experts") * c.number("intermediate_size")},
        .vocab = {.size = c.number("vocab_size")},
        .masks = layer_masks::list(masks)};
    return model.cost();
}

cost qwen3_next(const config& c) {
    const std::uint64_t h = c.number("hidden_size");
    gqa attention = heads_of(c);
    attention.gate_size = attention.num_heads * attention.head_dim;
    const gated_delta_net mixer{.num_key_heads = c.number("linear_num_key_heads"),
                                .num_value_heads = c.number("linear_num_value_heads"),
                                .key_head_dim = c.number("linear_key_head_dim"),
                                .value_head_dim = c.number("linear_value_head_dim"),
                                .conv_kernel = c.number("linear_conv_kernel_dim")};
    const moe experts{.num_experts = c.number("num_experts"),
                      .num_experts_per_tok = c.number("num_experts_per_tok"),
                      .intermediate_size = c.number("moe_intermediate_size"),
                      .shared_intermediate_size = c.number("shared_expert_intermediate_size"),
                      .shared_expert_gate = true};
    const vocabulary vocab{.size = c.number("vocab_size")};
    cost sum = vocab.head_cost(h) + vocab.embedding_cost(h);
    for (std::uint64_t index = 0; index < c.number("num_hidden_layers"); ++index) {
        const layer where{.index = index, .hidden_size = h};
        sum += c.layer_type(index) == "full_attention" ? attention.cost(where) : mixer.cost(where);
        sum += experts.cost(where);
    }
    return sum;
}

cost nemotron_h(const config& c) {
    const std::uint64_t h = c.number("hidden_size");
    const mamba2 mixer{.num_heads = c.number("mamba_num_heads"),
                       .head_dim = c.number("mamba_head_dim"),
                       .n_groups = c.number("n_groups"),
                       .state_size = c.number("ssm_state_size"),
                       .conv_kernel = c.number("conv_kernel")};
    const vocabulary vocab{.size = c.number("vocab_size")};
    cost sum = vocab.head_cost(h) + vocab.embedding_cost(h);
    for (const char letter : c.text("hybrid_override_pattern")) {
        const layer where{.hidden_size = h};
        if (letter == 'M') {
            sum += mixer.cost(where);
        } else if (letter == '*') {
            sum += heads_of(c).cost(where);
        } else if (letter == '-') {
            sum += mlp{.intermediate_size = c.number("intermediate_size")}.cost(where);
        } else {
            REQUIRE(letter == 'E');
            sum += moe{.num_experts = c.number("n_routed_experts"),
                       .num_experts_per_tok = c.number("num_experts_per_tok"),
                       .intermediate_size = c.number("moe_intermediate_size"),
                       .shared_intermediate_size = c.number("moe_shared_expert_intermediate_size"),
                       .gated = false}
                       .cost(where);
        }
    }
    return sum;
}

cost model_of(const config& c) {
    const std::string type = c.text("model_type");
    if (type == "glm4_moe") {
        return glm_4(c);
    }
    if (type == "llama4_text") {
        return llama_4(c);
    }
    if (type == "qwen3_next") {
        return qwen3_next(c);
    }
    REQUIRE(type == "nemotron_h");
    return nemotron_h(c);
}

tally batch_of(const json& batch, const mask_set& masks) {
    tally sum{masks};
    if (batch.contains("seqlens")) {
        sum.add_lengths(batch["seqlens"].get<std::vector<std::uint32_t>>());
        return sum;
    }
    for (const json& one : batch["sequences"]) {  // `context` is what is cached and what is new together
        const auto length = one.at("new").get<std::uint32_t>();
        sum.add({.length = length, .past = one.at("context").get<std::uint32_t>() - length});
    }
    return sum;
}

}  // namespace

TEST_CASE("models of mixers and experts are equal to their enumerated steps") {
    const json models = golden("models.json");
    std::set<std::string> seen;
    std::size_t rows = 0;
    for (const json& row : golden("exact_descriptors.json")) {
        INFO(row["id"]);
        const auto name = row["model"].get<std::string>();
        const cost model = model_of(config{models.at(name)});
        const breakdown work = evaluate(model, batch_of(row["batch"], model.masks()));
        const auto expected = [&](const char* key) { return std::to_string(row[key].get<std::uint64_t>()); };
        CHECK(to_string(work.total(view::useful)) == expected("expected_flops"));
        CHECK(to_string(work.get(view::useful, phase::forward)) == expected("forward_flops"));
        CHECK(to_string(work.total(view::executed)) == expected("training_flash_backward_flops"));
        std::map<std::string, std::uint64_t> components;
        for (const auto& [product, count] : row["forward_components"].items()) {
            components[component_of(product)] += count.get<std::uint64_t>();
        }
        CHECK(work.components().size() == components.size());
        for (const component_flops& component : work.components()) {
            INFO(component.name.view());
            CHECK(to_string(component.get(view::useful, phase::forward)) ==
                  std::to_string(components[std::string(component.name.view())]));
        }
        seen.insert(name);
        ++rows;
    }
    CHECK(seen.size() == 5);
    CHECK(rows == 40);
}

TEST_CASE("the models store as many weights as they are known by", "[golden]") {
    // Published totals without norms, biases and the scores' correction: matrices only, by the shapes in the configs.
    const json models = golden("models.json");
    const auto parameters = [&](const char* name) { return model_of(config{models.at(name)}).parameters(); };
    CHECK(parameters("qwen3-next-80b-a3b") / 1'000'000'000 == 79);
    CHECK(parameters("nemotron-3-nano-30b-a3b") / 1'000'000'000 == 31);
}
