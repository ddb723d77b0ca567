// SPDX-License-Identifier: Apache-2.0
//
// The numbers of public counters: peers.json holds what each gives for a model and a batch, what enumeration gives
// (`exact`), and their difference in named parts. A preset reproduces the peer's number to the integer; what it does
// not reproduce is in `mistakes`, with the reason.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/conventions/comparison.hpp>
#include <floptally/floptally.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "golden.hpp"
#include "peer_models.hpp"

namespace peers_test {
namespace {

using namespace floptally;
using nlohmann::json;

const json& cases() {
    static const json all = golden("peers.json");
    return all;
}

// ---- which convention, and what is a mistake ----

struct preset_of_cases {
    std::string_view ids;  ///< the first that an id starts with
    const convention& how;
};

/// Presets of cases whose ids begin with another name than the preset's.
constexpr preset_of_cases presets_of_cases[] = {
    {"megatron_lm/", conventions::megatron},
    // Two formulas of NeMo Automodel count the attended pairs; routers stand in neither config.
    {"automodel/test/test_flops_formulas_with_precomputed_values/gpt_oss/", conventions::exact},
    {"automodel/test/test_gpt_oss_", conventions::exact},
    {"automodel/test/TestStep35FlashFlops/", conventions::exact},
    {"automodel/test/test_flops_formulas_with_precomputed_values/nemotronh_", conventions::nemo_automodel_hybrid},
    {"automodel/test/TestMambaLayerFlops/", conventions::nemo_automodel_hybrid},
    {"automodel/nemotron-h-8b/", conventions::nemo_automodel_hybrid},
    {"automodel/test_mtp/", conventions::nemo_automodel_hybrid},
    {"automodel/", conventions::nemo_automodel},
    {"vllm/", conventions::vllm_prefill},
    {"verl_omni/", conventions::exact},
    {"torchtitan/test/activation_checkpoint/", conventions::torch_flop_counter_eager},
    {"recsys/", conventions::recsys_examples}};

struct mistake {
    std::string_view ids;
    std::string_view part;
    std::string_view reason;
};

constexpr std::string_view mean_length = "windows at the mean length of the batch, and a pack as one sequence";
constexpr std::string_view whole_pack = "windows over a pack as if it were one sequence";

constexpr mistake mistakes[] = {
    {"verl/test/apertus/", "norm_terms_counted", "norms as matrices, in the formula of this one model"},
    {"megatron_bridge/gemma-3-1b/b4x2k/pack", "attention_pairs", whole_pack},
    {"megatron_bridge/gemma-3-1b/edges1024/pack", "attention_pairs", whole_pack},
    {"megatron_bridge/gemma-3-1b/edges128/", "attention_pairs", mean_length},
    {"megatron_bridge/gemma-3-1b/edges4096/", "attention_pairs", mean_length},
    {"megatron_bridge/gemma-3-1b/equal_sums_a/", "attention_pairs", mean_length},
    {"megatron_bridge/gemma-3-1b/equal_sums_b/", "attention_pairs", mean_length},
    {"megatron_bridge/gemma-3-1b/mixed/", "attention_pairs", mean_length},
    {"megatron_bridge/gemma-3-1b/ragged128k/", "attention_pairs", mean_length},
    {"megatron_bridge/mistral-7b-v0.1/b4x2k/pack", "attention_pairs", whole_pack},
    {"megatron_bridge/mistral-7b-v0.1/edges1024/pack", "attention_pairs", whole_pack},
    {"megatron_bridge/mistral-7b-v0.1/edges128/pack", "attention_pairs", whole_pack},
    {"megatron_bridge/mistral-7b-v0.1/edges4096/", "attention_pairs", mean_length},
    {"megatron_bridge/mistral-7b-v0.1/ragged128k/", "attention_pairs", mean_length},
    {"megatron_bridge/test/TestDeepSeekV4HybridFlops/", "estimated_pairs",
     "pairs estimated from mean lengths: whole windows before the first is full, compressed keys and index scores that "
     "are not causal, rounded down"},
    {"verl/test/qwen3_vl", "vision_merger", "mergers on patches, of which they make one of four"},
    {"verl/test/qwen3_vl", "pixel_gradient", "a gradient to pixels"},
    {"verl_2026/qwen2_5_vl/", "vision_merger", "mergers on patches, of which they make one of four"},
    {"verl_2026/qwen2_5_vl/", "pixel_gradient", "a gradient to pixels"},
    {"verl_2026/qwen2_5_vl/", "vision_mlp", "two matrices of a gated MLP"},
    {"verl_2026/qwen2_5_vl/", "vision_windows", "windows of a tower as attention to the whole frame"},
    {"verl_2026/hy_v3/", "dense_layer", "the dense layers before the first experts as layers of experts"},
    {"sglang/", "dense_layer", "every layer as an MLP of intermediate_size, where the layers have experts"},
    {"verl_2026/qwen2_moe/", "shared_expert", "no shared expert"},
    {"megatron_bridge/vit/qwen2.5-vl-7b/", "patch_embed", "no patch embedding"},
    {"megatron_bridge/vit/qwen2.5-vl-7b/", "vit_attention", "windows of a tower as attention to the whole frame"},
    {"megatron_bridge/vit/qwen2.5-vl-7b/", "vit_linear", "two matrices of a gated MLP"},
    {"automodel/mistral-7b-v0.1/", "mlp", "two matrices of a gated MLP: the formula for classes that it does not know"},
    {"automodel/nemotron-h-8b/", "mlp", "three matrices of an MLP without a gate"},
    {"automodel/test/TestDeepseekV3DSA/", "attention_pairs", "top-k keys for queries that have fewer before them"},
    {"automodel/test/TestDeepseekV3DSA/", "indexer", "scores of keys after the query, and no sum over the heads"},
    {"automodel/test/TestQwen35Flops/", "gdn_state", "dv x dv states where they are dk x dv, and dk is not dv"},
    {"maxtext/qwen3-next-80b-a3b/", "attention_projections", "no output gate of the attention"},
    {"maxtext/qwen3-next-80b-a3b/", "shared_expert_gate", "no gate of the shared expert, though routers are counted"},
    {"bionemo/test/esm_mha_gelu", "lm_head_dense_layer", "no dense layer before the lm_head"},
    {"levanter/qwen3-30b-a3b/", "attention_projections", "heads of hidden_size / heads: head_dim is not read"},
    {"levanter/qwen3-30b-a3b/", "attention_pairs", "the same in the attention core"},
    {"levanter/qwen3-30b-a3b/", "softmax", "no mistake, but it goes with the pairs"},
    {"olmo_core", "lm_head_norm", "the norm before the lm_head as a matrix, and no other norm of the stream"},
};

/// The preset that a case is of: the one whose cases are listed, or the one that its id begins with.
const convention& preset_of(const std::string& id) {
    for (const preset_of_cases& preset : presets_of_cases) {
        if (id.starts_with(preset.ids)) {
            return preset.how;
        }
    }
    return floptally::convention_named(id.substr(0, id.find('/')));
}

bool is_mistake(const std::string& id, const std::string& part) {
    for (const mistake& wrong : mistakes) {
        if (id.starts_with(wrong.ids) && part == wrong.part) {
            return true;
        }
    }
    return false;
}

/// The convention without the rule that a part comes from: what is left where the part is taken off.
convention without_rule(convention how, const std::string& part) {
    if (part == "indexer") {  // its scores are over a causal mask
        how.causal = causal_pairs::exact;
    } else if (part == "attention_pairs") {
        how.causal = causal_pairs::exact;
        how.windows = window_pairs::exact;
        how.pairs = count_pairs;
    } else if (part == "norm_terms_counted") {
        how.counted = how.counted.without(term::norm).without(term::latent_norm).without(term::bias);
    } else if (part == "gdn_state") {
        how.delta_rule_flops = conventions::exact.delta_rule_flops;
    } else if (part == "softmax") {
        how.counted = how.counted.without(term::softmax);
    }
    return how;
}

// ---- models and batches ----

/// Configs of Hugging Face types; the others, and a Qwen3-Next without the gate that its class has, are built from
/// parts.
bool is_read(const json& model) {
    const auto types = known_model_types();
    return model.value("model_type", "") == "hstu" ||
           ((model.contains("vocab_size") || model.contains("text_config")) &&
            model.value("shared_expert_gate", true) &&
            std::count(types.begin(), types.end(), model.value("model_type", "")) == 1);
}

/// A config that says how many experts a token visits and not how many there are: its router is not known.
bool router_is_unknown(const json& model) {
    return peer_models::chosen_experts(model) != 0 && peer_models::all_experts(model) == 0;
}

json model_of(const json& entry) {
    static const json models = golden("models.json");
    json model = entry["model"].is_string() ? models[entry["model"].get<std::string>()] : entry["model"];
    model.update(entry.value("but", json::object()));
    return model;
}

cost cost_of(const json& entry) {
    const json model = model_of(entry);
    if (entry["batch"].contains("mtp")) {
        return peer_models::nemotron_prediction_head(model, entry["batch"]["mtp"]);
    }
    if (model.contains("linears")) {
        return peer_models::linears(model);
    }
    if (model.contains("maxtext")) {
        return peer_models::maxtext_part(model, entry["scope"] == "component: attention");
    }
    if (model.value("model_type", "") == "wan_dit") {
        return peer_models::wan(model);
    }
    if (model.value("model_type", "") == "qwen_image") {
        return peer_models::qwen_image(model);
    }
    if (entry.value("scope", "") == "one Mamba-2 layer") {
        return peer_models::mamba2(model, layer{0, model["hidden_size"]});
    }
    if (model.contains("delta_rule_layer")) {
        const layer where{0, model["hidden_size"]};
        return model.contains("kimi_linear_num_heads") ? peer_models::kimi_delta_attention(model, where)
                                                       : peer_models::gated_delta_net(model, where);
    }
    if (model.value("model_type", "") == "vision_tower") {
        return peer_models::vision_tower(model);
    }
    return is_read(model) ? read_config(model).cost : peer_models::decoder(model);
}

void add_batch(tally& sum, const json& batch) {
    for (const json& image : batch.value("grid_thw", json::array())) {
        sum.add_grid_thw(image.get<std::vector<std::uint32_t>>());
    }
    if (batch.contains("grid_thw") && !batch.contains("seqlens")) {
        return;
    }
    if (batch.contains("seqlens")) {
        sum.add_lengths(batch["seqlens"].get<std::vector<std::uint32_t>>());
    } else if (batch.contains("new")) {
        for (std::size_t i = 0; i < batch["new"].size(); ++i) {  // the context is what is cached and what is new
            const auto length = batch["new"][i].get<std::uint32_t>();
            sum.add(sequence{.length = length, .past = batch["context"][i].get<std::uint32_t>() - length});
        }
    } else if (batch.contains("sequences")) {
        for (const json& entry : batch["sequences"]) {
            const auto context = entry["contextual"].get<std::uint32_t>();
            const auto targets = entry["targets"].get<std::uint32_t>();
            sum.add(sequence{.length = context + entry["history"].get<std::uint32_t>() + targets,
                             .context = context,
                             .targets = targets,
                             .target_group = 1});
        }
    } else if (batch.contains("query_lens")) {
        for (std::size_t i = 0; i < batch["query_lens"].size(); ++i) {
            sum.add(sequence{.length = batch["query_lens"][i], .keys = batch["context_lens"][i]});
        }
    } else if (batch.contains("rows")) {
        sum.add(sequence{.length = batch["rows"]});
    } else {
        sum.add_lengths(std::vector<std::uint32_t>(batch["batch_size"].get<std::size_t>(), batch["seq_len"]));
    }
}

training_plan plan_of(const json& entry) {
    training_plan plan{.flash_attention = false};
    const json model = model_of(entry);
    if (model.contains("dsa_indexer_loss_coeff")) {
        const bool sparse = model.value("dsa_indexer_use_sparse_loss", false);
        plan.indexer = sparse ? indexer_training::sparse_loss : indexer_training::dense_loss;
    }
    const std::string recomputed = entry.value("recompute", "none");
    const std::string scope = entry.value("scope", "");
    const auto again = [&](std::initializer_list<const char*> names) {
        for (const char* name : names) {
            plan.recomputed_components.push_back(component_name(name), "recomputed_components");
        }
    };
    if (entry["batch"].contains("new") || entry.value("passes", "") == "forward" || scope == "component: ffn_forward") {
        plan.counted = counted_passes::forward;
    } else if (entry.contains("recompute")) {
        plan.counted = counted_passes::backward;
    }
    if (recomputed == "full") {
        plan.recomputed = recompute::full;
    } else if (recomputed == "selective_every_other_mm") {  // every second matmul is kept: the first and the third
        again({"linear.1"});
    } else if (recomputed == "selective_force_recompute_first_shape") {  // 512 x 512
        again({"linear.0", "linear.1"});
    } else if (recomputed == "selective_force_recompute_last") {
        again({"linear.1", "linear.2"});
    }
    return plan;
}

/// The convention of a case: for all of the model, or for the one product that its scope names.
convention in_scope(convention how, const json& entry) {
    const std::string scope = entry.value("scope", "");
    if (scope.find("attn.attn_qk") != std::string::npos) {
        how.counted = term_set{term::scores};
    } else if (scope.find("attn.attn_av") != std::string::npos) {
        how.counted = term_set{term::values};
    } else if (scope == "component: attention") {
        how.counted = term_set{term::scores, term::values};
    } else if (scope == "attention core of one layer, forward") {
        how.counted = term_set{term::scores, term::values};
    } else if (scope == "component: learnable_weights") {
        how.counted = how.counted.without(term::scores).without(term::values);
    }
    return how;
}

std::string counted(const json& entry, const convention& how) {
    const flop_counter model(cost_of(entry), in_scope(how, entry), plan_of(entry));
    tally batch{model.masks()};
    add_batch(batch, entry["batch"]);
    return to_string(model.total_flops(batch, entry.contains("recompute") ? view::executed : view::useful));
}

std::string text(std::int64_t number) { return std::to_string(number); }

}  // namespace

TEST_CASE("conventions give the numbers of public FLOP counters, apart from the counters' listed mistakes",
          "[convention][peers]") {
    std::map<std::string, std::size_t> visited;
    for (const json& entry : cases()) {
        const std::string id = entry["id"];
        ++visited[id.substr(0, id.find('/'))];
        if (id.starts_with("bionemo/work/") || id.starts_with("vllm/test/mla_prefill/")) {
            continue;  // sums of a batch, and single matrices: below
        }
        CAPTURE(id);
        convention how = preset_of(id);
        std::int64_t expected = entry["expected"];
        const json parts = entry.value("parts", json::object());
        for (const auto& [part, amount] : parts.items()) {
            if (is_mistake(id, part)) {
                expected -= amount.get<std::int64_t>();
                how = without_rule(how, part);
            }
        }
        expected -= peer_models::maxtext_arguments(entry);
        expected *= entry["batch"].value("pipeline", 1);
        convention exact = conventions::exact;
        exact.head = how.head;
        if (id.starts_with("recsys/")) {  // there `exact` has the attention backward of a fused kernel
            exact.backward = how.backward;
        }
        if (router_is_unknown(model_of(entry))) {
            how.counted = how.counted.without(term::router);
            exact.counted = exact.counted.without(term::router);
        }
        CHECK(counted(entry, how) == text(expected));
        if (entry.contains("exact")) {
            CHECK(counted(entry, exact) == text(entry["exact"]));
        }
    }
    // None of these cases is lost; those of a new preset need no number here.
    for (const auto& [peer, number] : std::map<std::string, std::size_t>{{"automodel", 34},
                                                                         {"bionemo", 12},
                                                                         {"deepspeed_profiler", 4},
                                                                         {"fvcore", 4},
                                                                         {"levanter", 3},
                                                                         {"maxtext", 16},
                                                                         {"megatron_bridge", 106},
                                                                         {"megatron_lm", 30},
                                                                         {"llama_factory", 8},
                                                                         {"megatron_2026_10", 26},
                                                                         {"nanotron", 2},
                                                                         {"nemo_automodel_0_7", 16},
                                                                         {"nemo_rl", 8},
                                                                         {"olmo_core", 12},
                                                                         {"olmo_core_3", 20},
                                                                         {"prime_rl", 10},
                                                                         {"sglang", 20},
                                                                         {"slime", 10},
                                                                         {"trl", 12},
                                                                         {"veomni", 10},
                                                                         {"recsys", 34},
                                                                         {"torchtitan", 9},
                                                                         {"torchtitan_2026", 8},
                                                                         {"verl", 58},
                                                                         {"verl_2026", 5},
                                                                         {"verl_omni", 2},
                                                                         {"vllm", 10}}) {
        CAPTURE(peer);
        CHECK(visited[peer] == number);
    }
}

TEST_CASE(
    "listed differences between a public counter's FLOPs and the exact FLOPs equal those enumerated for that counter",
    "[convention][peers][comparison]") {
    const std::map<std::string, std::string> part_of_term{{"windows", "attention_pairs"},
                                                          {"causal_pairs", "attention_pairs"},
                                                          {"router", "router"},
                                                          {"embedding", "embedding_counted_as_gemm"},
                                                          {"norms", "norm_terms_counted"},
                                                          {"biases", "norm_terms_counted"},
                                                          {"softmax", "softmax"},
                                                          {"convolution", "mamba_conv"},
                                                          {"elementwise", "elementwise_counted"}};
    std::size_t compared = 0;
    for (const json& entry : cases()) {
        const std::string id = entry["id"];
        const json parts = entry.value("parts", json::object());
        const bool is_plain = entry.contains("exact") && !entry.contains("scope") && !entry.contains("recompute") &&
                              !router_is_unknown(model_of(entry)) && !entry["batch"].contains("pipeline");
        std::map<std::string, std::int64_t> expected;
        for (const auto& [part, amount] : parts.items()) {
            // Each layer of a hybrid has its own state; both kinds of states are one choice.
            const bool is_state = part == "gdn_state" || part == "kda_state" || part == "mamba_scan";
            expected[is_state ? "state" : part == "shared_expert_gate" ? "router" : part] += amount.get<std::int64_t>();
        }
        const bool is_whole = std::none_of(parts.items().begin(), parts.items().end(),
                                           [&](const auto& part) { return is_mistake(id, part.key()); });
        const convention& how = preset_of(id);
        if (!is_plain || !is_whole || parts.empty() || how.name == conventions::exact.name ||
            how.head != head_rows::every_token || id.starts_with("recsys/") ||
            peer_models::maxtext_arguments(entry) != 0) {
            continue;
        }
        CAPTURE(id);
        const convention* const only[] = {&how};
        const convention_comparison model(cost_of(entry), plan_of(entry), only);
        tally batch{model.masks()};
        add_batch(batch, entry["batch"]);
        std::map<std::string, std::int64_t> found;
        const std::vector<compared_convention> lines = model.compare(batch);
        for (const convention_term& term : lines.front().terms) {
            const std::string name(term.name);
            const auto part = part_of_term.find(name);
            found[name == "recurrent_state"    ? "state"
                  : part == part_of_term.end() ? name
                                               : part->second] -= std::stoll(term.difference());
        }
        std::erase_if(expected, [](const auto& part) { return part.second == 0; });
        std::erase_if(found, [](const auto& part) { return part.second == 0; });
        CAPTURE(json(found).dump(), json(expected).dump());
        CHECK(found == expected);
        ++compared;
    }
    CHECK(compared == 175);
}

TEST_CASE("each convention is compared with its public FLOP counter in peers.json or in a named test file", "[peers]") {
    struct shown_elsewhere {
        std::string_view preset;
        std::string_view file;
    };
    constexpr shown_elsewhere elsewhere[] = {{"maxtext_2026", "tests/golden/deepseek_v4.test.cpp"},
                                             {"hf_6nd", "tests/count/convention.test.cpp"},
                                             {"palm", "tests/count/convention.test.cpp"},
                                             {"nanogpt", "tests/count/convention.test.cpp"},
                                             {"flash_attention", "tests/count/convention.test.cpp"},
                                             {"torch_flop_counter", "tests/golden/zoo.test.cpp"}};
    for (const convention* preset : conventions::all) {
        const std::string name(preset->name);
        INFO("the preset " << name << " needs the numbers of its counter in tests/golden/peers.json");
        const bool has_cases = std::any_of(cases().begin(), cases().end(), [&](const json& entry) {
            return preset_of(entry["id"].get<std::string>()).name == preset->name;
        });
        const auto other = std::find_if(std::begin(elsewhere), std::end(elsewhere),
                                        [&](const shown_elsewhere& shown) { return shown.preset == preset->name; });
        CHECK(has_cases != (other != std::end(elsewhere)));
        if (other != std::end(elsewhere)) {
            std::ifstream file(std::string(FLOPTALLY_SOURCE_DIR "/").append(other->file));
            const std::string text{std::istreambuf_iterator<char>(file), {}};
            CHECK(text.find("conventions::" + name) != std::string::npos);
        }
    }
}

TEST_CASE("every listed mistake of a public counter changes the FLOPs of a tested case", "[convention][peers]") {
    for (const mistake& listed : mistakes) {
        CAPTURE(std::string(listed.ids), std::string(listed.part));
        std::size_t found = 0;
        for (const json& entry : cases()) {
            const json parts = entry.value("parts", json::object());
            found += entry["id"].get<std::string>().starts_with(listed.ids) &&
                     parts.contains(std::string(listed.part)) && parts[std::string(listed.part)] != 0;
        }
        CHECK(found != 0);
        CHECK_FALSE(listed.reason.empty());
    }
}

TEST_CASE("a tally has accumulators for the sums of squared lengths of BioNeMo's batch layouts", "[tally][peers]") {
    std::size_t layouts = 0;
    for (const json& entry : cases()) {
        const std::string id = entry["id"];
        if (!id.starts_with("bionemo/work/")) {
            continue;
        }
        CAPTURE(id);
        ++layouts;
        const json& batch = entry["batch"];
        const auto rows = batch["input_ids_shape"][0].get<std::size_t>();
        // A rank has a slice of every sequence: slots of a whole sequence are cp_size as many.
        const auto slots = static_cast<std::uint32_t>(batch["input_ids_shape"][1].get<std::uint32_t>() *
                                                      batch["cp_size"].get<std::uint32_t>());
        const char* unpadded = "cu_seq_lens_q";
        const char* padded = "cu_seq_lens_q_padded";
        tally sum;
        if (batch.contains(unpadded) && batch.contains(padded)) {
            sum.add_cu_seqlens(batch[unpadded].get<std::vector<std::int32_t>>(),
                               batch[padded].get<std::vector<std::int32_t>>());
        } else if (batch.contains(unpadded) || batch.contains(padded)) {
            sum.add_cu_seqlens(batch[batch.contains(unpadded) ? unpadded : padded].get<std::vector<std::int32_t>>());
        } else {
            for (std::size_t row = 0; row < rows; ++row) {
                std::uint32_t real = slots;
                if (batch.contains("attention_mask")) {
                    real = 0;
                    for (const json& token : batch["attention_mask"][row]) {
                        real += token.get<std::uint32_t>();
                    }
                }
                sum.add(sequence{.length = real}, sequence{.length = slots});
            }
        }
        const view seen = batch["include_padding"].get<bool>() ? view::padded : view::useful;
        CHECK(sum.get(seen, accumulator::squares) == entry["expected"].get<std::uint64_t>());
    }
    CHECK(layouts == 10);
}

TEST_CASE("each matrix of latent attention has the FLOPs that vLLM's counter gives", "[descriptors][peers]") {
    const std::map<std::string, std::vector<const char*>> widths{
        {"vllm/test/mla_prefill/q_a_proj", {"q_lora_rank"}},
        {"vllm/test/mla_prefill/kv_a_proj", {"kv_lora_rank", "qk_rope_head_dim"}}};
    std::size_t matrices = 0;
    for (const json& entry : cases()) {
        const auto found = widths.find(entry["id"]);
        if (found == widths.end()) {
            continue;
        }
        ++matrices;
        std::uint64_t width = 0;
        for (const char* name : found->second) {
            width += entry["model"][name].get<std::uint64_t>();
        }
        cost matrix;
        matrix.add("attention.qkv", linear{.in_features = entry["model"]["hidden_size"], .out_features = width});
        CHECK(counted({{"model", entry["model"]}, {"batch", entry["batch"]}}, conventions::vllm_prefill) != "0");
        tally batch;
        add_batch(batch, entry["batch"]);
        CHECK(to_string(
                  evaluate(matrix, batch, conventions::vllm_prefill, {.counted = counted_passes::forward}).total()) ==
              text(entry["expected"]));
    }
    CHECK(matrices == 2);
}

}  // namespace peers_test
