// SPDX-License-Identifier: Apache-2.0
//
// Keys of a config that nothing reads: each is ignored by the class, as its spec says, or refused if it names a size,
// or noted, wherever it stands.

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/config/detail/from_nlohmann.hpp>
#include <floptally/config/detail/inner_spec.hpp>
#include <floptally/json.hpp>
#include <floptally/spec_language/spec_library.hpp>

#include "catch2.hpp"
#include "config_text.hpp"
#include "error_of.hpp"
#include "golden.hpp"
#include "sanitized.hpp"

namespace unread_test {
namespace {

using nlohmann::json;
namespace specs = floptally::detail::specs;

constexpr std::string_view unread = "config has a key that is not read: ";
constexpr std::string_view unread_size = "config has a size that is not read: ";

struct named_config {
    std::string name;
    json config;
};

/// Configs as files of real models say them: those of the hub, and those that a class of transformers saves.
const std::vector<named_config>& real_configs() {
    static const std::vector<named_config> all = [] {
        std::vector<named_config> configs;
        for (const json& model : golden("published.json")) {
            configs.push_back({model["name"], model["config"]});
        }
        std::vector<std::filesystem::path> files;
        for (const auto& file : std::filesystem::directory_iterator(FLOPTALLY_GOLDEN_DIR "/zoo")) {
            if (file.path().extension() == ".json") {
                files.push_back(file.path());
            }
        }
        std::sort(files.begin(), files.end());
        for (const std::filesystem::path& file : files) {
            for (const json& model : golden(file.c_str())) {
                configs.push_back({model["id"], model["config"]});
                if (model.contains("resolved") && model["resolved"]["model_type"] == model["model_type"]) {
                    configs.push_back({model["id"], model["resolved"]});
                }
            }
        }
        return configs;
    }();
    return all;
}

/// The keys that a config has and that nothing reads. Those that name a size are also put into `sizes`.
std::vector<std::string> unread_of(const json& config, const std::vector<floptally::spec_text>& specs = {},
                                   std::set<std::string>* sizes = nullptr) {
    std::vector<std::string> notes;
    for (const std::string& note : floptally::read_config(config, {.specs = specs, .strict = false}).notes) {
        for (const std::string_view start : {unread, unread_size}) {
            if (note.starts_with(start)) {
                notes.push_back(note.substr(start.size(), note.find(' ', start.size()) - start.size()));
                if (sizes != nullptr && start == unread_size) {
                    sizes->insert(notes.back());
                }
            }
        }
    }
    return notes;
}

/// A spec that reads a place of a config, by keys that begin with `path`.
struct reader {
    const specs::spec* by;
    std::string path;
};
/// An object of a config whose keys are read one by one.
struct place {
    json::json_pointer at;
    std::vector<reader> readers;
};

/// All places of a config that its specs declare: the top, configs of models inside, of the other side, and objects.
class place_finder {
  public:
    explicit place_finder(const json& config) : config_(config), tree_(specs::tree_of(config)) {
        const std::string type = type_of(config);
        if (library_.has(type)) {
            visit(json::json_pointer(), {{&library_.find(type), ""}});
        }
    }
    std::vector<place> found;

    /// True where a spec that reads the place, or one that it stands on, names a key there.
    static bool names(const place& at, const std::string& key) {
        return std::any_of(at.readers.begin(), at.readers.end(), [&](const reader& read) {
            for (const specs::spec* p = read.by; p != nullptr; p = p->base) {
                for (const std::string_view name : names_of(*p)) {
                    if (name == read.path + key || name.starts_with(read.path + key + ".")) {
                        return true;
                    }
                }
            }
            return false;
        });
    }
    static std::vector<std::string_view> names_of(const specs::spec& known_spec) {
        std::vector<std::string_view> names;
        for (const specs::ignored_key& ignored : known_spec.ignored) {
            names.push_back(ignored.key);
        }
        names.insert(names.end(), known_spec.without.begin(), known_spec.without.end());
        for (const specs::spec_key& rule : known_spec.keys) {
            names.push_back(rule.key);
        }
        for (const specs::expression& e : known_spec.expressions) {
            if (e.operation == specs::op::key) {
                names.push_back(e.text);
            }
        }
        for (const specs::inner_model& model : known_spec.inner) {
            names.insert(names.end(), {model.key, model.ignores});
        }
        if (!known_spec.encoder_key.empty()) {
            names.push_back(known_spec.encoder_key);
        }
        return names;
    }

  private:
    void visit(const json::json_pointer& at, std::vector<reader> readers) {
        for (std::size_t k = 0; k < readers.size(); ++k) {
            const specs::spec& by = *readers[k].by;
            if (!readers[k].path.empty()) {
                continue;
            }
            const specs::other_side side = specs::encoder_of(by);
            if (!side.spec.empty() && side.key.empty()) {
                readers.push_back({&library_.find(side.spec), ""});
            }
            for (const specs::inner_model* inside : specs::inner_of(by)) {
                if (inside->flat && !has_object(at, inside->key)) {
                    readers.push_back({&library_.find(inside->spec), ""});
                }
            }
            for (const specs::spec* p = &by; p != nullptr; p = p->base) {
                for (const specs::block& head : p->blocks) {
                    if (head.is_class && !head.lines.empty() && head.lines.front().part == "as") {
                        const specs::spec* const as = &library_.find(specs::trimmed(head.lines.front().rest));
                        if (std::none_of(readers.begin(), readers.end(), [&](const reader& r) { return r.by == as; })) {
                            readers.push_back({as, ""});
                        }
                    }
                }
            }
        }
        found.push_back({at, readers});
        for (const auto& [key, value] : config_[at].items()) {
            if (!value.is_object() || value.empty()) {
                continue;
            }
            std::vector<reader> inside;
            for (const reader& read : readers) {
                const std::string whole = read.path + key;
                const specs::other_side side = specs::encoder_of(*read.by);
                if (!side.spec.empty() && side.key == whole) {
                    inside.push_back({&library_.find(side.spec), ""});
                }
                for (const specs::inner_model* model : specs::inner_of(*read.by)) {
                    if (model->key == whole) {
                        const specs::fields config(tree_, tree_.root(), "");
                        inside.push_back({&library_.find(specs::find_inside(library_, *model, config).type), ""});
                    }
                }
                for (const specs::spec* p = read.by; p != nullptr; p = p->base) {
                    const auto names = names_of(*p);
                    if (std::any_of(names.begin(), names.end(),
                                    [&](std::string_view name) { return name.starts_with(whole + "."); })) {
                        inside.push_back({read.by, whole + "."});
                        break;
                    }
                }
            }
            if (!inside.empty()) {
                visit(at / key, inside);
            }
        }
    }
    bool has_object(const json::json_pointer& at, std::string_view key) const {
        return config_[at].contains(std::string(key)) && config_[at][std::string(key)].is_object();
    }

    const json& config_;
    specs::config_tree tree_;
    specs::library library_;
};

/// Keys of sizes and kinds of layers: those that some spec of the library reads as a number or a list, and what nobody
/// has yet.
std::vector<std::string> structural_keys() {
    const auto ends_as_no_size = [](std::string_view key) {
        const std::string_view ends[] = {"layerdrop", "_rate", "_length", "_len", "pad_token_id"};
        return std::any_of(std::begin(ends), std::end(ends),
                           [key](std::string_view end) { return key.ends_with(end); });
    };
    specs::library library;
    const specs::spec& of_all = library.find("base.saved");
    std::set<std::string> keys;
    for (const std::string_view type : library.types()) {
        for (const specs::spec* p = &library.find(type); p != nullptr; p = p->base) {
            for (const specs::spec_key& rule : p->keys) {
                const bool sizes = (rule.kinds & (specs::allowed::number | specs::allowed::list)) != 0;
                const bool ignored =
                    std::any_of(of_all.ignored.begin(), of_all.ignored.end(),
                                [&](const specs::ignored_key& known) { return known.key == rule.key; });
                const bool is_size = sizes && !ends_as_no_size(rule.key);
                if (is_size && rule.kinds != specs::allowed::any && !ignored &&
                    rule.key.find('.') == std::string_view::npos) {
                    keys.insert(std::string(rule.key));
                }
            }
        }
    }
    for (const char* const word :
         {"layer", "head", "hidden", "dim", "expert", "window", "rank", "width", "depth",  "topk",
          "attn",  "conv", "ffn",    "ssm", "chunk",  "moe",    "kv",   "block", "kernel", "latent"}) {
        for (const char* const form : {"num_%s", "%s_size", "%ss_per_act", "first_%s_every", "n_%s_clip", "%s_ids",
                                       "%s_pattern_2", "residual_%s", "%s_length_scale"}) {
            std::string key = form;
            keys.insert(key.replace(key.find("%s"), 2, word));
        }
    }
    return {keys.begin(), keys.end()};
}

}  // namespace

TEST_CASE("every published config is read in strict mode without a note on an unread key") {
    std::size_t number = 0;
    for (const json& model : golden("published.json")) {
        if (skipped_when_sanitized(number++, 50)) {
            continue;
        }
        INFO(model["name"]);
        CHECK(error_of([&] { return floptally::read_config(model["config"], {.strict = true}); }) == "no error");
        CHECK(error_of([&] { return floptally::read_config(model["config"]); }) == "no error");
    }
    // A key that the zoo put there to see that the class ignores it.
    const std::set<std::string> put{"llama/ignored-fields", "olmo3/pattern-ignored", "ministral3/layer-types-ignored",
                                    "mpt/ignored-untied"};
    std::string noted;
    for (const named_config& real : real_configs()) {
        if (skipped_when_sanitized(number++, 100)) {
            continue;
        }
        for (const std::string& key : put.count(real.name) == 0 ? unread_of(real.config) : std::vector<std::string>()) {
            noted += real.name + " " + key + "\n";
        }
    }
    CHECK(noted == "");
}

TEST_CASE("a size that no spec reads is an error by default at every nesting level of every model type's config") {
    const std::uint32_t seed = std::random_device()();
    std::mt19937 random(seed);
    std::vector<std::string> keys = structural_keys();
    std::map<std::string, std::vector<const named_config*>> of_type;
    for (const named_config& real : real_configs()) {
        of_type[type_of(real.config)].push_back(&real);
    }
    CHECK(of_type.size() >= 470);
    std::size_t places = 0;
    std::size_t inner = 0;
    std::size_t put = 0;
    std::size_t noted = 0;
    std::size_t refused = 0;
    std::map<std::string, std::size_t> silent;
    std::map<std::string, std::size_t> only_noted;
    for (const auto& [type, configs] : of_type) {
        if (is_sanitized && random() % 16 != 0) {
            continue;
        }
        const json& config = configs[random() % configs.size()]->config;
        for (const place& at : place_finder(config).found) {
            json changed = config;
            std::set<std::string> wanted;
            std::shuffle(keys.begin(), keys.end(), random);
            for (std::size_t k = 0; k < keys.size() && wanted.size() < 40; ++k) {
                if (!config[at.at].contains(keys[k]) && !place_finder::names(at, keys[k])) {
                    changed[at.at][keys[k]] = 7;
                    wanted.insert(keys[k]);
                }
            }
            std::vector<std::string> found;
            std::set<std::string> sizes;
            INFO(type << " at \"" << at.at.to_string() << "\", seed " << seed);
            REQUIRE_NOTHROW(found = unread_of(changed, {}, &sizes));
            if (places % 8 == 0) {
                CHECK((error_of([&] { return floptally::read_config(changed); }).find("names a size that spec ") !=
                       std::string::npos) == !sizes.empty());
            }
            for (const std::string& key : found) {
                const std::string name = key.substr(key.rfind('.') + 1);
                refused += sizes.count(key);
                if (wanted.erase(name) != 0 && sizes.count(key) == 0) {
                    ++only_noted[name];
                }
            }
            ++places;
            inner += at.at.empty() ? 0 : 1;
            put += 40;
            noted += 40 - wanted.size();
            for (const std::string& key : wanted) {
                ++silent[key];
            }
        }
    }
    std::string said;
    for (const auto& [key, times] : silent) {
        said += key + " " + std::to_string(times) + "\n";
    }
    said += "noted, not refused:\n";
    for (const auto& [key, times] : only_noted) {
        said += key + " " + std::to_string(times) + "\n";
    }
    INFO("seed " << seed << ", " << noted << " noted and " << refused << " refused of " << put << " in " << places
                 << " places, silent:\n"
                 << said);
    CHECK(places >= (is_sanitized ? 15 : 700));
    CHECK(inner >= (is_sanitized ? 1 : 230));
    CHECK(static_cast<double>(noted) > 0.99 * static_cast<double>(put));
    CHECK(static_cast<double>(refused) > 0.93 * static_cast<double>(put));
}

TEST_CASE("a text config with sizes that its model type does not read is an error that names the sizes") {
    // The text config of a newer model under the type of an older one.
    json text = parsed(
        "{'model_type': 'kimi_linear', 'hidden_size': 64, 'intermediate_size': 96, 'num_hidden_layers': 4, "
        "'num_attention_heads': 4, 'num_key_value_heads': 4, 'vocab_size': 100, 'q_lora_rank': 16, 'kv_lora_rank': 8, "
        "'qk_nope_head_dim': 8, 'qk_rope_head_dim': 4, 'v_head_dim': 8, 'num_experts': 4, 'num_experts_per_token': 2, "
        "'moe_intermediate_size': 32, 'num_shared_experts': 1, 'first_k_dense_replace': 1, 'linear_attn_config': "
        "{'full_attn_layers': [4], 'kda_layers': [1, 2, 3], 'num_heads': 4, 'head_dim': 16, "
        "'short_conv_kernel_size': 4}}");
    const json linear{{"model_type", "kimi_k9"}, {"text_config", text}};
    CHECK(error_of([&] {
              return floptally::read_config(linear);
          }).find("; its text_config alone can be read: kimi_linear\n") != std::string::npos);

    text["routed_expert_stream_size"] = 48;
    text["mla_use_query_gate"] = true;
    text["linear_attn_config"]["use_second_gate"] = true;
    text["attn_mix_block_size"] = 2;
    CHECK(error_of([&] { return floptally::read_config(text); }) ==
          "attn_mix_block_size: names a size that spec kimi_linear does not read, got 2; "
          "nearest: attn_res_block_size; also unread: "
          "linear_attn_config.use_second_gate, mla_use_query_gate, routed_expert_stream_size. Correct or remove the "
          "key, write a spec that reads it or that ignores it (docs/specs.md), or count without it: --lenient, "
          "strict=False");
    const json whole{{"model_type", "kimi_k9"}, {"text_config", text}};
    const std::string error = error_of([&] { return floptally::read_config(whole); });
    CHECK(
        error.starts_with("model_type: unknown type \"kimi_k9\"; its text_config cannot be read alone either, it is no "
                          "plain kimi_linear (text_config.attn_mix_block_size)\n"));
    CHECK(error_of([&] { return floptally::read_config(whole, {.strict = false}); }) == error);

    // Without strictness it is counted, and the notes say what was assumed.
    std::size_t assumed = 0;
    for (const std::string& note : floptally::read_config(text, {.strict = false}).notes) {
        assumed += note.starts_with(unread_size) && floptally::is_assumption(note) ? 1 : 0;
    }
    CHECK(assumed == 4);
}

const std::string plain_llama =
    "{'model_type': 'llama', 'architectures': ['LlamaForCausalLM'], 'hidden_size': 64, 'intermediate_size': 8, "
    "'vocab_size': 9, 'num_hidden_layers': 2, 'num_attention_heads': 4";

TEST_CASE("config keys for training, quantisation and serving are not reported as unread sizes") {
    std::size_t keys = 0;
    for (const char* const key :
         {"'train_batch_size': 8",
          "'q_group_size': 128",
          "'cache_size': 4096",
          "'save_freq': 500",
          "'lora_rank': 16",
          "'lora_r': 16",
          "'gradient_accumulation_steps': 4",
          "'num_train_epochs': 3",
          "'max_steps': 1000",
          "'warmup_ratio': 0.03",
          "'logging_steps': 10",
          "'lr_scheduler_type': 'cosine'",
          "'tensor_parallel_size': 8",
          "'world_size': 8",
          "'local_rank': 3",
          "'label_smoothing_factor': 0.1",
          "'static_cache_size': 4096",
          "'w_bit': 4",
          "'group_size': 64",
          "'top_k': 50",
          "'num_assistant_tokens': 5",
          "'extra_pos_embeddings': 2",
          "'fuse_cross_entropy': true",
          "'quantization': {'group_size': 64, 'bits': 4}",
          "'quantization_config': {'quant_method': 'gptq', 'bits': 4, 'block_size': 128, 'num_layers': 7, "
          "'in_features': 8}",
          "'compression_config': {'config_groups': {'group_0': {'weights': {'num_bits': 8, 'group_size': 128}}}}",
          "'neuron': {'batch_size': 1, 'num_cores': 2}",
          "'peft_config': {'r': 8, 'rank': 8, 'layers_pattern': 'layers'}",
          "'linear_block_size': 16",
          "'diffusion_batch_size': 48",
          "'pretrain_image_size': 224",  // the size of a table of positions
          "'unsloth_fixed': true"}) {
        INFO(key);
        const json config = parsed(plain_llama + ", " + key + "}");
        CHECK(error_of([&] { return floptally::read_config(config); }) == "no error");
        CHECK(floptally::read_config(config).cost == floptally::read_config(parsed(plain_llama + "}")).cost);
        ++keys;
    }
    CHECK(keys == 32);
}

TEST_CASE("config keys of SpecAugment and of the rotary layout cause neither an error nor a note") {
    for (const char* const key :
         {"'mask_channel_length': 10", "'mask_channel_min_space': 1", "'mask_channel_other': 1.5",
          "'mask_channel_selection': 'static'", "'mask_time_min_space': 1", "'mask_time_length': 10",
          "'mask_feature_min_masks': 2", "'mask_feature_prob': 0.5", "'no_mask_channel_overlap': true",
          "'no_mask_time_overlap': true", "'indexer_rope_interleave': true", "'mla_rope_interleaved': true"}) {
        INFO(key);
        const json config = parsed(plain_llama + ", 'tie_word_embeddings': false, " + key + "}");
        CHECK(unread_of(config) == std::vector<std::string>());
        CHECK(error_of([&] { return floptally::read_config(config); }) == "no error");
    }
    // Keys that have such words and name a size.
    for (const char* const key :
         {"'mask_feature_size': 256", "'mask_input_channels': 16", "'time_feature_length': 8", "'num_mask_channels': 4",
          "'rope_interleave_layers': 4", "'interleave_moe_layer_step': 2"}) {
        INFO(key);
        CHECK(error_of([&] {
                  return floptally::read_config(parsed(plain_llama + ", " + key + "}"));
              }).find(": names a size that spec llama does not read, got ") != std::string::npos);
    }
}

TEST_CASE("config keys that the model's class does not read leave the count unchanged") {
    const std::string latent =
        "'text_config': {'model_type': 'deepseek_v3', 'vocab_size': 101, 'hidden_size': 48, 'intermediate_size': 70, "
        "'num_hidden_layers': 2, 'num_attention_heads': 6, 'num_key_value_heads': 6, 'q_lora_rank': 20, "
        "'kv_lora_rank': 18, 'qk_nope_head_dim': 8, 'qk_rope_head_dim': 6, 'v_head_dim': 14, 'n_routed_experts': 5, "
        "'num_experts_per_tok': 2, 'n_shared_experts': 1, 'moe_intermediate_size': 26, 'first_k_dense_replace': 1}";
    const std::string sparse =
        "'model_type': 'minimax_m3', 'architectures': ['MiniMaxM3ForCausalLM'], 'num_hidden_layers': 3, "
        "'moe_layer_freq': [0, 1, 1], ";
    struct same_count {
        std::string plain;
        std::string saved;
    };
    const same_count pairs[] = {
        {"'model_type': 'gemma4', 'text_config': {}, 'vision_config': {}",
         "'model_type': 'gemma4', 'text_config': {}, 'vision_config': {'global_head_dim': 64}, "
         "'vision_soft_tokens_per_image': 280"},
        {"'model_type': 'nemotron_h', 'hybrid_override_pattern': 'ME*-', 'num_nextn_predict_layers': 1",
         "'model_type': 'nemotron_h', 'hybrid_override_pattern': 'ME*-', 'num_nextn_predict_layers': 1, "
         "'mtp_hybrid_override_pattern': '*E'"},
        {"'model_type': 'qwen2_5_omni', 'thinker_config': {'vision_config': {'hidden_size': 1280}}",
         "'model_type': 'qwen2_5_omni', 'thinker_config': {'vision_config': {'hidden_size': 1280, 'embed_dim': "
         "1280}}"},
        {"'model_type': 'phi'", "'model_type': 'phi', 'type_vocab_size': 2"},
        {"'model_type': 'mllama', 'text_config': {}, 'vision_config': {}",
         "'model_type': 'mllama', 'text_config': {'vision_num_cross_attention_layers': 8}, 'vision_config': {}"},
        {"'model_type': 'llama4_text', 'no_rope_layer_interval': 2",
         "'model_type': 'llama4_text', 'nope_layer_interval': 2"},
        {"'model_type': 'kimi_k25', " + latent +
             ", 'projection_hidden_size': 40, 'vision_config': {'hidden_size': 40, 'intermediate_size': 58, "
             "'num_hidden_layers': 3, 'num_attention_heads': 5, 'pos_emb_height': 4, 'pos_emb_width': 6}",
         "'model_type': 'kimi_k25', " + latent +
             ", 'projection_hidden_size': 40, 'vision_config': {'vt_hidden_size': 40, 'vt_intermediate_size': 58, "
             "'vt_num_hidden_layers': 3, 'vt_num_attention_heads': 5, 'init_pos_emb_height': 4, "
             "'init_pos_emb_width': 6, 'init_pos_emb_time': 4, 'mm_hidden_size': 40, 'text_hidden_size': 48}"},
        {sparse + "'sparse_attention_config': {'sparse_attention_freq': [0, 1, 1]}",
         sparse + "'sparse_attention_config': {'sparse_attention_freq': [0, 1, 1], 'sparse_disable_index_value': "
                  "[0, 1, 1], 'use_sparse_attention': true}, 'first_k_dense_replace': 1, "
                  "'num_nextn_predict_layers': 1"},
    };
    for (const same_count& pair : pairs) {
        INFO(pair.saved);
        const json plain = parsed("{" + pair.plain + "}");
        const json saved = parsed("{" + pair.saved + "}");
        CHECK(unread_of(saved) == std::vector<std::string>());
        CHECK(error_of([&] { return floptally::read_config(saved); }) == "no error");
        CHECK(floptally::read_config(saved, {.strict = false}).cost ==
              floptally::read_config(plain, {.strict = false}).cost);
    }
}

TEST_CASE("of two names of one size that differ the one that the class takes counts, with a note") {
    const auto notes_of = [](const std::string& config) {
        std::vector<std::string> found;
        const floptally::model_config model = floptally::read_config(parsed("{" + config + "}"));
        for (const std::string& note : assumptions_of(model)) {
            if (note.starts_with("config has two names")) {
                found.push_back(note);
            }
        }
        return found;
    };
    const auto cost_of = [](const std::string& config) {
        return floptally::read_config(parsed("{" + config + "}")).cost;
    };
    const std::string mbart = "'model_type': 'mbart', ";
    const std::string note =
        "config has two names of one size that differ: num_hidden_layers 12 counts, not encoder_layers 26";
    // transformers 5 makes num_hidden_layers another name of encoder_layers and sets it last, in any order of keys.
    for (const char* const both :
         {"'encoder_layers': 26, 'num_hidden_layers': 12", "'num_hidden_layers': 12, 'encoder_layers': 26"}) {
        CHECK(notes_of(mbart + both) == std::vector<std::string>{note});
        CHECK(cost_of(mbart + both) == cost_of(mbart + "'encoder_layers': 12"));
        CHECK(error_of([&] {
                  return floptally::read_config(
                      parsed("{" + mbart + "'vocab_size': 250027, 'd_model': 1024, 'decoder_layers': 12, " +
                             "'encoder_attention_heads': 16, 'decoder_attention_heads': 16, 'encoder_ffn_dim': 4096, " +
                             "'decoder_ffn_dim': 4096, 'architectures': ['MBartForConditionalGeneration'], " + both +
                             "}"),
                      {.strict = true});
              }) == "config: " + note);
    }
    CHECK(notes_of(mbart + "'num_hidden_layers': 26, 'encoder_layers': 26").empty());
    CHECK(notes_of("'model_type': 'lfm2_vl', 'text_config': {}, 'vision_config': {}, 'tie_embedding': true, "
                   "'tie_word_embeddings': false")
              .size() == 1);
    // num_hidden_layers is another name of the layers of moonshine's decoder alone.
    const std::string moonshine = "'model_type': 'moonshine', 'encoder_num_hidden_layers': 8, ";
    CHECK(notes_of(moonshine + "'num_hidden_layers': 4").empty());
    CHECK(cost_of(moonshine + "'num_hidden_layers': 4") == cost_of(moonshine + "'decoder_num_hidden_layers': 4"));
    // One size that stands in for another where that is absent.
    CHECK(notes_of("'model_type': 'bailing_hybrid', 'linear_head_dim': 128, 'head_dim': 64").empty());
}

TEST_CASE("a config size that no spec reads is an error even if its key contains a word of training or quantisation") {
    for (const char* const key :
         {"'layer_group_size': 8", "'expert_group_size': 4", "'post_process_channels': 64", "'num_core_layers': 4",
          "'vector_quantization_hidden_dimension': 64", "'use_post_quant_conv': true", "'num_conv_pos_embeddings': 128",
          "'data_dim': 16", "'sample_head_width': 8", "'conv_L_cache': 3", "'cache_head_dim': 8"}) {
        INFO(key);
        const std::string error =
            error_of([&] { return floptally::read_config(parsed(plain_llama + ", " + key + "}")); });
        CHECK(error.find(": names a size that spec llama does not read, got ") != std::string::npos);
    }
    for (const char* const key :
         {"'w_group_size': 128", "'weight_group_size': 128", "'quant_batch': 8", "'tensor_model_parallel_size': 4",
          "'expert_model_parallel_size': 8", "'num_layers_per_virtual_pipeline_stage': 4", "'lora_layers': 16",
          "'layers_to_transform': [1, 2]", "'max_2d_position_embeddings': 1024", "'sample_size': 64",
          "'quantized_data': 4", "'test_batch_size': 8"}) {
        INFO(key);
        const json config = parsed(plain_llama + ", " + key + "}");
        CHECK(error_of([&] { return floptally::read_config(config); }) == "no error");
    }
}

TEST_CASE("a config size that no spec reads is accepted by default only if its value leaves the model unchanged") {
    for (const char* const name : {"num_recurrent_steps", "moe_latent_dim", "use_output_gate", "block_pattern",
                                   "kda_layers", "adapter_config", "ffn_expansion_ratio"}) {
        for (const char* const neutral : {"null", "false", "[]", "{}", "0", "0.0", "''", "-1"}) {
            INFO(name << " " << neutral);
            CHECK(error_of([&] {
                      return floptally::read_config(parsed(plain_llama + ", '" + name + "': " + neutral + "}"));
                  }) == "no error");
        }
    }
    for (const char* const key :
         {"'moe_layer_freq': 1", "'kv_shared_every': 1", "'ffn_expansion_factor': 1.0", "'embedding_scale': 12.5",
          "'use_flash_attn': true", "'attn_type': 'flash'", "'pooling_type': 'mean'", "'modules_to_save': ['lm_head']",
          "'layer_types': ['full_attention', 'full_attention']", "'mlp_layer_types': ['dense', 'dense']",
          "'prefix': ' '", "'num_attention_head': 4"}) {
        INFO(key);
        CHECK(error_of([&] { return floptally::read_config(parsed(plain_llama + ", " + key + "}")); }) == "no error");
    }
    for (const char* const key :
         {"'moe_layer_freq': 2", "'ffn_expansion_factor': 1.5", "'num_recurrent_steps': 3", "'q_lora_rank': 8",
          "'use_output_gate': true", "'block_pattern': 'MMA'", "'moe_layers_enum': '1,2'", "'kda_layers': [1, 2]",
          "'block_types': ['conv', 'attention']", "'adapter_config': {'hidden_dim': 8}", "'dim': 4096",
          "'mixer_config': {'deep': [{'num_heads': 2}]}", "'vision_config': {'hidden_size': 8}",
          "'num_attention_head': 8"}) {
        INFO(key);
        const std::string error =
            error_of([&] { return floptally::read_config(parsed(plain_llama + ", " + key + "}")); });
        CHECK(error.find(": names a size that spec llama does not read, got ") != std::string::npos);
        CHECK(error.find("--lenient, strict=False") != std::string::npos);
    }
    CHECK(error_of([&] {
              return floptally::read_config(parsed(plain_llama + ", 'num_hiden_layers': 3}"));
          }).starts_with("num_hiden_layers: names a size that spec llama does not read, got 3. Correct"));
}

TEST_CASE("a model spec may ignore a config key for one value of that key only") {
    const std::string spec =
        "spec mine : llama prefix Mine\nignores num_loops 1, gate_type \"none\", use_moe_gate yes, loop_window -1,\n"
        "        loop_layers [1, 2], loop_ratio 0.5\n";
    const std::string sizes =
        "{'model_type': 'mine', 'architectures': ['MineForCausalLM'], 'hidden_size': 64, 'intermediate_size': 8, "
        "'vocab_size': 9, 'num_hidden_layers': 2, 'num_attention_heads': 4, ";
    for (const char* const key : {"'num_loops': 1", "'num_loops': 1.0", "'gate_type': 'none'", "'use_moe_gate': true",
                                  "'loop_window': -1", "'loop_layers': [1, 2]", "'loop_ratio': 0.5"}) {
        INFO(key);
        CHECK(error_of([&] {
                  return floptally::read_config(parsed(sizes + key + "}"), {.specs = {spec}, .strict = true});
              }) == "no error");
    }
    for (const char* const key : {"'num_loops': 2", "'gate_type': '1'", "'loop_window': 4", "'loop_layers': [1, 3]",
                                  "'loop_layers': [1]", "'loop_ratio': 0.75"}) {
        INFO(key);
        CHECK(error_of([&] {
                  return floptally::read_config(parsed(sizes + key + "}"), {.specs = {spec}});
              }).find(": names a size that spec mine does not read") != std::string::npos);
    }
}

TEST_CASE("a misspelt key of a nested config is noted, and is an error in strict mode") {
    json qwen;
    json dbrx;
    for (const json& model : golden("published.json")) {
        if (model["name"] == "Qwen/Qwen3-VL-4B-Instruct") {
            qwen = model["config"];
        } else if (model["name"] == "databricks/dbrx-base") {
            dbrx = model["config"];
        }
    }
    qwen["text_config"]["num_keyvalue_heads"] = qwen["text_config"]["num_key_value_heads"];
    qwen["text_config"].erase("num_key_value_heads");
    CHECK(unread_of(qwen) == std::vector<std::string>{"text_config.num_keyvalue_heads"});
    CHECK(error_of([&] { return floptally::read_config(qwen, {.strict = true}); }) ==
          "text_config.num_keyvalue_heads: is not read by spec qwen3_vl_text; nearest: num_key_value_heads; "
          "correct or remove the key, or pass --lenient or strict=False");
    dbrx["ffn_config"]["moe_num_expert"] = dbrx["ffn_config"]["moe_num_experts"];
    dbrx["ffn_config"].erase("moe_num_experts");
    CHECK(unread_of(dbrx) == std::vector<std::string>{"ffn_config.moe_num_expert"});
    CHECK(error_of([&] { return floptally::read_config(dbrx, {.strict = true}); }) ==
          "ffn_config.moe_num_expert: is not read by spec dbrx; nearest: moe_num_experts; "
          "correct or remove the key, or pass --lenient or strict=False");
    // Where the keys of a model inside stand beside the outer ones.
    for (const char* const type : {"git", "neomme", "phi4_multimodal", "vilt"}) {
        INFO(type);
        json config;
        for (const named_config& real : real_configs()) {
            config = type_of(real.config) == type && real.name.find('/') != std::string::npos ? real.config : config;
        }
        REQUIRE(config.is_object());
        config["num_recurrent_steps"] = 3;
        CHECK(unread_of(config) == std::vector<std::string>{"num_recurrent_steps"});
    }
}

TEST_CASE(
    "a config's missing layer pattern is noted, and a pattern that contradicts the number of layers is an error") {
    json nemotron;
    for (const json& model : golden("published.json")) {
        if (model["name"] == "nvidia/Nemotron-H-8B-Base-8K") {
            nemotron = model["config"];
        }
    }
    json misspelt = nemotron;
    misspelt["hybridoverride_pattern"] = misspelt["hybrid_override_pattern"];
    misspelt.erase("hybrid_override_pattern");
    CHECK(error_of([&] { return floptally::read_config(misspelt); }) ==
          "num_hidden_layers: must be that of the pattern or list of layers (4), got 52");
    misspelt.erase("num_hidden_layers");
    const std::vector<std::string> notes = floptally::read_config(misspelt, {.strict = false}).notes;
    CHECK(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
        return note.starts_with("config does not say all sizes: counted with the defaults of the class, ") &&
               note.find("hybrid_override_pattern \"ME*-\"") != std::string::npos;
    }));
    CHECK(unread_of(misspelt) == std::vector<std::string>{"hybridoverride_pattern"});
    nemotron["hybrid_override_pattern"] = "M-M*";
    CHECK(error_of([&] { return floptally::read_config(nemotron); }) ==
          "num_hidden_layers: must be that of the pattern or list of layers (4), got 52");

    const auto sizes_of = [](const json& config) {
        std::string sizes;
        for (const std::string& note : floptally::read_config(config).notes) {
            sizes += note.starts_with("config does not say all sizes") ? note : "";
        }
        return sizes;
    };
    struct by_class {
        const char* name;
        const char* key;
        const char* note;
    };
    for (const by_class& example :
         {by_class{"deepseek-ai/DeepSeek-V3", "first_k_dense_replace", "first_k_dense_replace 3"},
          {"answerdotai/ModernBERT-base", "local_attention", "local_attention 128"},
          {"google-t5/t5-small", "d_kv", "d_kv 64"}}) {
        INFO(example.key);
        for (const json& model : golden("published.json")) {
            if (model["name"] == example.name) {
                json config = model["config"];
                CHECK(sizes_of(config) == "");
                config.erase(example.key);
                CHECK(sizes_of(config).ends_with(example.note));
                CHECK(
                    error_of([&] { return floptally::read_config(config, {.strict = true}); }).ends_with(example.note));
            }
        }
    }
    // A list of the layers of each level.
    const json image = parsed(
        "{'model_type': 'convnext', 'architectures': ['ConvNextModel'], 'image_size': 32, 'patch_size': 4, "
        "'hidden_sizes': [8, 16, 24, 32]}");
    CHECK(sizes_of(image).ends_with(", depths [3,3,9,3]"));
}

TEST_CASE("a config key is recognised as a size by the whole words in its name") {
    const std::string sizes =
        "{'model_type': 'llama', 'architectures': ['LlamaForCausalLM'], 'hidden_size': 64, "
        "'intermediate_size': 8, 'vocab_size': 9, 'num_hidden_layers': 2, 'num_attention_heads': 4";
    for (const char* const key : {"'num_activated_experts': 2",
                                  "'dense_layer_ids': [1]",
                                  "'num_recurrent_steps': 2",
                                  "'clip_layers': 3",
                                  "'residual_mlp_dim': 8",
                                  "'chunk_length': 4",
                                  "'num_scales': 3",
                                  "'max_num_tiles': 4",
                                  "'tile_size': 4",
                                  "'moe_layers_enum': '1,2'",
                                  "'attn_config': {'window': 5}",
                                  "'ffn_multiple': 1.5",
                                  "'kv_shared_every': 2",
                                  "'loop_count': 3",
                                  "'gated_attention': true",
                                  "'use_gated_activation': true",
                                  "'top_k': 2",
                                  "'dropout_layers': 3",
                                  "'act_layers': 2",
                                  "'mlp_is_gated': false",
                                  "'whatever': 'x'",
                                  "'separable': true",
                                  "'sidecar': 3"}) {
        INFO(key);
        const std::string config = sizes + ", " + key + "}";
        CHECK(unread_of(parsed(config)).size() == 1);
        CHECK(error_of([&] { return floptally::read_config(parsed(config), {.strict = true}); }).find("is not read") !=
              std::string::npos);
    }
    for (const char* const key :
         {"'attention_dropout': 0.1", "'hidden_dropout_prob': 0.1", "'moe_aux_loss_coef': 0.1", "'mlp_act': 'gelu'",
          "'layer_norm_eps': 1e-5", "'rope_theta': 1e4", "'image_token_id': 7", "'hidden_act': 'silu'",
          "'num_shared_experts': 0", "'dense_layers': []", "'experts': null", "'_layers': 3",
          "'torch_dtype': 'float16'"}) {
        INFO(key);
        CHECK(floptally::read_config(parsed(sizes + ", " + key + "}"), {.strict = true}).notes.empty());
    }
}

TEST_CASE("config keys that a spec ignores cause no note, nested keys included") {
    const std::string spec = "spec mine : llama prefix Mine\nignores num_things, extra.num_layers\n";
    const std::string sizes =
        "{'model_type': 'mine', 'architectures': ['MineForCausalLM'], 'hidden_size': 64, 'intermediate_size': 8, "
        "'vocab_size': 9, 'num_hidden_layers': 2, 'num_attention_heads': 4";
    const floptally::read_options strict{.specs = {spec + "with extra.depth 3 unsaid\nf = .extra.depth\n"},
                                         .strict = true};
    CHECK(
        floptally::read_config(parsed(sizes + ", 'num_things': 5, 'extra': {'num_layers': 7}}"), strict).notes.empty());
    CHECK(error_of([&] { return floptally::read_config(parsed(sizes + ", 'extra': {'num_heads': 7}}"), strict); }) ==
          "extra.num_heads: is not read by spec mine; correct or remove the key, or pass --lenient or strict=False");
    for (const char* const elsewhere : {"'num_layers': 7}", "'extra': {'num_things': 7}}"}) {
        INFO(elsewhere);  // what is ignored at one place is noted at another
        CHECK(unread_of(parsed(sizes + ", " + elsewhere), strict.specs).size() == 1);
    }
    CHECK(error_of(
              [&] { return floptally::read_config(parsed(sizes + "}"), {.specs = {spec + "ignores head_dim\n"}}); }) ==
          "spec mine:1: ignores \"head_dim\" and reads it too: remove one, or write `without head_dim` "
          "where a base reads it");
    // No spec of the library contradicts itself either.
    specs::library library;
    for (const std::string_view type : library.types()) {
        static_cast<void>(library.find(type));
    }
    for (const specs::owner<specs::spec>& known : library.loaded()) {
        for (const specs::ignored_key& ignored : library.find(known->name).ignored) {
            INFO(known->name << " ignores " << ignored.key);
            CHECK(!specs::name_check::reads(*known, ignored.key));
        }
    }
}

TEST_CASE("lasr, chameleon, moshi and kosmos-2.5 have as many parameters as in transformers") {
    const auto parameters = [](const char* config) { return floptally::read_config(parsed(config)).cost.parameters(); };
    const std::string lasr =
        "'hidden_size': 64, 'intermediate_size': 96, 'num_hidden_layers': 2, 'num_attention_heads': 8, "
        "'subsampling_conv_channels': 16, 'num_mel_bins': 16, 'conv_kernel_size': 4";
    const auto encoder = [&](const std::string& kv) {
        return parameters(
            ("{'model_type': 'lasr_encoder', 'architectures': ['LasrEncoder'], " + lasr + kv + "}").c_str());
    };
    CHECK(encoder("") == 135'824);
    CHECK(encoder(", 'num_key_value_heads': 8") == 135'824);
    CHECK(encoder(", 'num_key_value_heads': 2") == 123'536);
    CHECK(parameters(("{'model_type': 'lasr_ctc', 'architectures': ['LasrForCTC'], 'vocab_size': 32, 'encoder_config': "
                      "{'model_type': 'lasr_encoder', 'num_key_value_heads': 2, " +
                      lasr + "}}")
                         .c_str()) == 125'616);

    const std::string chameleon =
        "{'model_type': 'chameleon', 'architectures': ['ChameleonForConditionalGeneration'], 'vocab_size': 600, "
        "'hidden_size': 64, 'intermediate_size': 96, 'num_hidden_layers': 2, 'num_attention_heads': 4, "
        "'num_key_value_heads': 2";
    CHECK(parameters((chameleon + "}").c_str()) == 138'944);
    CHECK(parameters((chameleon + ", 'mlp_bias': true}").c_str()) == 139'456);

    for (const char* const tied : {"true", "false"}) {  // MoshiForCausalLM ties nothing
        CHECK(parameters(("{'model_type': 'moshi', 'architectures': ['MoshiForCausalLM'], 'vocab_size': 500, "
                          "'hidden_size': 64, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'ffn_dim': 96, "
                          "'tie_word_embeddings': " +
                          std::string(tied) + "}")
                             .c_str()) == 115'584);
    }

    const auto kosmos = [&](const std::string& outer, const std::string& text) {
        return parameters(
            ("{'model_type': 'kosmos-2.5', 'architectures': ['Kosmos2_5ForConditionalGeneration'], 'latent_query_num': "
             "8" +
             outer +
             ", 'text_config': {'vocab_size': 300, 'embed_dim': 64, 'ffn_dim': 96, 'layers': 2, 'attention_heads': 4" +
             text +
             "}, 'vision_config': {'hidden_size': 32, 'intermediate_size': 48, 'num_hidden_layers': 2, "
             "'num_attention_heads': 4, 'head_dim': 8, 'patch_embed_hidden_size': 48, 'max_num_patches': 16}}")
                .c_str());
    };
    for (const char* const outer :
         {"", ", 'tie_word_embeddings': false", ", 'tie_word_embeddings': true"}) {  // its text alone says it
        CHECK(kosmos(outer, "") == 117'952);
        CHECK(kosmos(outer, ", 'tie_word_embeddings': true") == 117'952);
        CHECK(kosmos(outer, ", 'tie_word_embeddings': false") == 137'152);
    }
}

}  // namespace unread_test
