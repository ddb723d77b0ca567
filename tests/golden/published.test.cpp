// SPDX-License-Identifier: Apache-2.0
//
// Published models: each config is read, and its number of parameters is the published one, or the one that
// transformers builds (published.py), to the integer. A config under an open licence is the whole file, legacy and
// irrelevant fields included; under other terms it is the sizes alone.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <floptally/json.hpp>
#include <floptally/report.hpp>

#include "catch2.hpp"
#include "golden.hpp"
#include "sanitized.hpp"

namespace published_test {
namespace {

using nlohmann::json;

const json& published() {
    static const json models = golden("published.json");
    return models;
}

/// The config of a model, by its name on the hub.
json config_of(const std::string& name) {
    for (const json& model : published()) {
        if (model["name"] == name) {
            return model["config"];
        }
    }
    FAIL(name << " is not in published.json");
    return {};
}

/// True for a licence under which a whole config.json may be passed on.
bool is_open(const json& terms) { return terms == "Apache-2.0" || terms == "MIT" || terms == "BSD-3-Clause"; }

bool is_a_day(const std::string& text) {
    return text.size() == 10 && text.starts_with("202") && text[4] == '-' && text[7] == '-';
}

/// The cost and the notes of a config in strict mode.
struct reading {
    bool is_read = false;
    floptally::cost cost;
    std::vector<std::string> notes;
    [[nodiscard]] friend bool operator==(const reading&, const reading&) = default;
};

reading reading_of(const json& config) {
    try {
        floptally::model_config model = floptally::read_config(config, {.strict = true});
        return {true, std::move(model.cost), std::move(model.notes)};
    } catch (const floptally::error&) {
        return {};
    }
}

/// Another value of the same kind.
json changed(const json& value) {
    switch (value.type()) {
        case json::value_t::boolean:
            return !value.get<bool>();
        case json::value_t::number_integer:
        case json::value_t::number_unsigned:
            return value.get<std::int64_t>() + 1;
        case json::value_t::number_float:
            return value.get<double>() * 2;
        case json::value_t::string:
            return "other " + value.get<std::string>();
        case json::value_t::array: {
            json shorter = value;
            if (!shorter.empty()) {
                shorter.erase(shorter.size() - 1);
            }
            return shorter;
        }
        default:
            return value;
    }
}

/// Adds to `idle` each key, however deep in objects, that neither its absence nor another value makes a difference to.
void find_idle_keys(const json& whole, const json::json_pointer& at, const reading& expected, std::string& idle) {
    for (const auto& [key, value] : whole[at].items()) {
        if (value.is_object() && !value.empty()) {
            find_idle_keys(whole, at / key, expected, idle);
            continue;
        }
        json without = whole;
        without[at].erase(key);
        json other = whole;
        other[at][key] = changed(value);
        if (reading_of(without) == expected && reading_of(other) == expected) {
            idle += (at / key).to_string() + " ";
        }
    }
}

}  // namespace

TEST_CASE("each published config names its repository, its revision or the day it was read, and its licence terms") {
    std::size_t revisions = 0;
    for (const json& model : published()) {
        INFO(model["name"]);
        const std::string repository = model.value("repository", "");
        CHECK((repository.starts_with("huggingface.co/") || repository.starts_with("github.com/")));
        CHECK(is_a_day(model.value("read", "")));
        CHECK(model.value("terms", "") != "");
        // A commit in the source is the revision.
        const std::string revision = model.value("revision", "");
        revisions += revision.empty() ? 0 : 1;
        const std::string source = model["source"];
        const std::string file = repository + "/blob/";
        if (repository.starts_with("github.com/") && source.find(file) != std::string::npos) {
            CHECK(revision.size() == 40);
            CHECK(source.substr(source.find(file) + file.size()).starts_with(revision));
        }
    }
    CHECK(revisions >= 70);
}

TEST_CASE("a published config without an open licence contains only keys that affect a count") {
    std::size_t number = 0;
    for (const json& model : published()) {
        if (is_open(model["terms"]) || skipped_when_sanitized(number++, 10)) {
            continue;
        }
        INFO(model["name"] << ", " << model["terms"]);
        const reading expected = reading_of(model["config"]);
        CHECK(expected.is_read);
        std::string idle;
        find_idle_keys(model["config"], json::json_pointer(), expected, idle);
        CHECK(idle == "");
    }
}

TEST_CASE("every published config is read and has exactly its published number of parameters") {
    std::set<std::string> types;
    for (const json& model : published()) {
        INFO(model["name"] << ", " << model["known"]);
        try {
            CHECK(floptally::read_config(model["config"]).cost.parameters() ==
                  model["parameters"].get<std::uint64_t>());
        } catch (const std::exception& error) {
            FAIL_CHECK(error.what());
        }
        types.insert(type_of(model["config"]));
    }
    CHECK(published().size() >= 260);
    CHECK(types.size() >= 132);
}

TEST_CASE("the text model of Kimi K3 has the 104.2 billion active parameters of its report, without the embedding") {
    const auto text = floptally::read_config(config_of("moonshotai/Kimi-K3 text_config"));
    const floptally::weight_counts weights = floptally::weights_of(text.cost);
    constexpr std::uint64_t words = std::uint64_t{163840} * 7168;
    CHECK(weights.total == 2'779'484'393'568);
    REQUIRE(weights.active);
    CHECK(*weights.active - words == 104'189'530'208);
}

TEST_CASE("the models tested against PyTorch include the model type of every published multimodal config") {
    std::set<std::string> counted;
    for (const auto& file : std::filesystem::directory_iterator(std::string(FLOPTALLY_GOLDEN_DIR) + "/zoo")) {
        if (file.path().extension() == ".json") {
            for (const json& entry : golden(file.path().c_str())) {
                counted.insert(type_of(entry["config"]));
            }
        }
    }
    std::size_t composites = 0;
    for (const json& model : published()) {
        if (model["config"].contains("vision_config") || model["config"].contains("audio_config")) {
            INFO(model["name"]);
            const std::string type = model["config"]["model_type"];
            // Remote code, whose parts are those of kimi_k25 and of internvl.
            CHECK((counted.count(type) == 1 || type == "kimi_vl" || type == "internvl_chat"));
            ++composites;
        }
    }
    CHECK(composites >= 30);
}

TEST_CASE(
    "a multimodal config without a tie_word_embeddings key ties weights as in the config's version of transformers") {
    // The matrix of the lm_head: that many rows of the text's width.
    constexpr std::uint64_t mistral_head = std::uint64_t{131072} * 5120;
    json config = config_of("mistralai/Mistral-Small-3.2-24B-Instruct-2506");
    const auto parameters = [&] { return floptally::read_config(config).cost.parameters(); };
    CHECK(parameters() == 24'011'361'280);  // version 4 ties as the text's class, which does not
    config["transformers_version"] = "5.0.0";
    CHECK(parameters() == 24'011'361'280 - mistral_head);  // the class of version 5 ties, unless
    config["text_config"]["tie_word_embeddings"] = false;
    CHECK(parameters() == 24'011'361'280);  // its text says otherwise,
    config["tie_word_embeddings"] = true;
    CHECK(parameters() == 24'011'361'280 - mistral_head);  // and the config itself before that
    config = config_of("CohereLabs/aya-vision-8b");
    const std::uint64_t aya = parameters();
    config["transformers_version"] = "4.50.0";  // the text's class ties too
    CHECK(parameters() == aya);
}

TEST_CASE("a multimodal config whose vocab_size differs from that of its text config gets a note") {
    json config = config_of("HuggingFaceM4/Idefics3-8B-Llama3");
    CHECK(floptally::read_config(config, {.strict = true}).notes.empty());
    config["vocab_size"] = 128000;
    const floptally::model_config read = floptally::read_config(config);
    REQUIRE(read.notes.size() == 1);
    CHECK(read.notes.front() == "vocab_size (128000) is not that of the text (128259), which counts");
    CHECK(read.cost.parameters() == 8'462'086'384);
}

TEST_CASE("each alias of a model type costs the same as the model type") {
    json config = config_of("moonshotai/Kimi-K2-Instruct");
    const floptally::cost kimi = floptally::read_config(config).cost;
    config["model_type"] = "deepseek_v3";
    CHECK(kimi == floptally::read_config(config).cost);

    config = config_of("internlm/internlm2-7b");
    const floptally::cost internlm = floptally::read_config(config).cost;
    config["model_type"] = "llama";
    config["architectures"] = {"LlamaForCausalLM"};
    CHECK(internlm == floptally::read_config(config).cost);
    config["attention_bias"] = true;
    const floptally::cost biased = floptally::read_config(config).cost;
    config["model_type"] = "internlm2";
    config["architectures"] = {"InternLM2ForCausalLM"};
    config["bias"] = true;
    CHECK(biased == floptally::read_config(config).cost);
    config.erase("bias");
    CHECK(biased == floptally::read_config(config).cost);

    config = config_of("Qwen/Qwen-7B");
    const floptally::cost qwen = floptally::read_config(config).cost;
    config["model_type"] = "qwen2";
    config["architectures"] = {"Qwen2ForCausalLM"};
    config["intermediate_size"] = 11008;
    CHECK(qwen == floptally::read_config(config, {.strict = false}).cost);  // Qwen's kv_channels is no key of qwen2

    config = config_of("LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct");
    const floptally::cost exaone = floptally::read_config(config).cost;
    config["model_type"] = "llama";
    config["architectures"] = {"LlamaForCausalLM"};
    config["num_hidden_layers"] = config["num_layers"];
    CHECK(exaone == floptally::read_config(config, {.strict = false}).cost);  // nor num_layers of llama
}

TEST_CASE("model class names in the spelling of older config files are recognised") {
    const auto named = [](const char* model_type, const char* architecture) {
        return floptally::read_config(json{{"model_type", model_type}, {"architectures", {architecture}}}).cost;
    };
    CHECK(named("mpt", "MPTForCausalLM") == named("mpt", "MptForCausalLM"));
    CHECK(named("ernie4_5", "Ernie4_5_ForCausalLM") == named("ernie4_5", "Ernie4_5ForCausalLM"));
    CHECK(named("t5", "T5WithLMHeadModel") == named("t5", "T5ForConditionalGeneration"));
    CHECK_THROWS_AS(named("mpt", "MPTForCausalLMs"), floptally::error);
}

TEST_CASE("a T5 config with an untied lm_head is counted as tied, with a note") {
    const floptally::model_config flan = floptally::read_config(config_of("google/flan-t5-base"));
    REQUIRE(flan.notes.size() == 1);
    CHECK(flan.notes.front() == "tie_word_embeddings is false: counted as tied, which the class does anyway");
    CHECK(floptally::read_config(config_of("google-t5/t5-base")).notes.empty());
    CHECK(floptally::read_config(config_of("huggyllama/llama-7b")).notes.empty());
}

TEST_CASE("the layer list of a saved GPT-Neo config is used rather than the config's layer pattern") {
    const auto cost_of = [](const json& fields) {
        json config{{"model_type", "gpt_neo"}, {"num_layers", 2}};
        config.update(fields);
        return floptally::read_config(config).cost;
    };
    const json local{{"attention_layers", {"local", "local"}}};
    const json types = json::parse(R"({"attention_types": [[["local"], 2]]})");
    const json others =
        json::parse(R"({"attention_types": [[["global"], 2]], "attention_layers": ["local", "local"]})");
    CHECK(cost_of(local) == cost_of(types));
    CHECK(cost_of(others) == cost_of(types));
    CHECK(cost_of(others).masks().size() == 1);
}

}  // namespace published_test
