// SPDX-License-Identifier: Apache-2.0
//
// The 278 runs that Megatron-Bridge publishes: tokens/s times the FLOPs of a token by `megatron_bridge` are the TFLOP/s
// that it prints. Where they are not, named terms lead from our count to the number of its own function. That function
// was run at the commit that bridge_steps.json names.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/conventions.hpp>
#include <floptally/core.hpp>
#include <floptally/json.hpp>
#include <floptally/plan.hpp>
#include <floptally/report.hpp>

#include "catch2.hpp"
#include "golden.hpp"

namespace bridge_steps_test {
namespace {

using nlohmann::json;

const json& steps() {
    static const json file = golden("bridge_steps.json");
    return file;
}

/// The config of a model in the table of published runs.
json config_of(const std::string& model) {
    static const json table = [] {
        std::ifstream file(std::string(FLOPTALLY_SOURCE_DIR) + "/examples/data/published_runs.json");
        REQUIRE(file);
        return json::parse(file);
    }();
    const std::string named = model == "Nemotron 3.5 Lightning" ? "Nemotron 3 Nano 30B-A3B" : model;
    return table["models"][named]["config"];
}

struct counted {
    floptally::breakdown work;
    floptally::tally batch;

    [[nodiscard]] std::int64_t total() const { return static_cast<std::int64_t>(to_double(work.total())); }
    [[nodiscard]] std::int64_t of(std::string_view component) const {
        std::int64_t sum = 0;
        for (const floptally::component_flops& part : work.components()) {
            const bool is_it = part.name.view() == component;
            sum += is_it ? static_cast<std::int64_t>(to_double(part.total(floptally::view::useful))) : 0;
        }
        REQUIRE(sum > 0);
        return sum;
    }
};

counted count(const json& config, std::int64_t length, std::string_view convention = "megatron_bridge",
              std::uint64_t mtp = 0) {
    const floptally::model_config model = floptally::read_config(config, {.mtp_layers = mtp});
    const floptally::flop_counter counter(model, floptally::convention_named(convention));
    floptally::tally batch{floptally::counted_masks(model.cost, counter)};
    batch.add_lengths({length});
    return {counter.evaluate(batch), batch};
}

/// Release 26.4.1 as 260401, so that releases compare.
int release_number(const std::string& release) {
    int number = 0;
    std::size_t at = 0;
    for (int part = 0; part < 3; ++part) {
        number *= 100;
        if (at < release.size()) {
            number += std::stoi(release.substr(at));
            at = release.find('.', at);
            at = at == std::string::npos ? release.size() : at + 1;
        }
    }
    return number;
}

bool is_old_gpt_oss(const json& run) {
    return run["model"] == "gpt-oss 120B" && release_number(run["release"]) < 260600;
}

/// The runs whose TFLOP/s our count gives as it is.
bool is_plain(const json& run) {
    const std::string model = run["model"];
    return model.find("Nemotron 3") == std::string::npos && model != "DeepSeek-V4 Flash" && run["kind"] != "LoRA" &&
           !is_old_gpt_oss(run);
}

/// The layers of multi-token prediction that a run of DeepSeek-V3 trains: one, where the page does not say "w/o MTP".
std::uint64_t mtp_of(const json& run) { return run["model"] == "DeepSeek-V3" && run["note"] != "w/o MTP" ? 1 : 0; }

double ratio(const json& run, double flops_of_sequence) {
    return run["tokens_per_second"].get<double>() * flops_of_sequence / run["sequence_length"].get<double>() / 1e12 /
           run["tflops"].get<double>();
}

double median(std::vector<double> values) {
    REQUIRE(!values.empty());
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// The number that Megatron-Bridge's own function gives for a sequence.
std::int64_t theirs(std::string_view model, std::int64_t length, std::string_view releases = "all") {
    for (const json& function : steps()["functions"]) {
        if (function["model"] == model && function["sequence_length"] == length && function["releases"] == releases) {
            return std::stoll(function["flops"].get<std::string>());
        }
    }
    FAIL(model << " of " << length << " tokens is not in bridge_steps.json");
    return 0;
}

/// The median over a model's runs of what a number of FLOPs makes of their tokens/s.
double median_of(std::string_view model, std::int64_t length, std::int64_t flops, bool old_gpt_oss = false) {
    std::vector<double> ratios;
    for (const json& run : steps()["runs"]) {
        if (run["model"] == model && run["sequence_length"] == length && is_old_gpt_oss(run) == old_gpt_oss) {
            ratios.push_back(ratio(run, static_cast<double>(flops)));
        }
    }
    return median(ratios);
}

}  // namespace

TEST_CASE("published tokens/s multiplied by counted FLOPs per token give the TFLOP/s that Megatron-Bridge prints") {
    std::map<std::string, std::vector<double>> ratios;
    std::set<std::string> beyond;
    for (const json& run : steps()["runs"]) {
        if (!is_plain(run)) {
            continue;
        }
        const std::uint64_t mtp = mtp_of(run);
        const std::string model = run["model"];
        const double times =
            ratio(run, to_double(count(config_of(model), run["sequence_length"], "megatron_bridge", mtp).work.total()));
        ratios[model + (run["kind"] == "SFT" ? ", SFT" : mtp == 1 ? ", one prediction layer" : "")].push_back(times);
        if (std::fabs(times - 1) > 0.01) {
            beyond.insert(model + ", " + run["release"].get<std::string>() + ", " + run["system"].get<std::string>() +
                          ", " + run["precision"].get<std::string>());
        }
    }
    const std::map<std::string, std::size_t> runs{{"Llama 3 8B", 7},       {"Llama 3 70B", 33},
                                                  {"Llama 3 70B, SFT", 5}, {"Llama 3.1 405B", 40},
                                                  {"Qwen3 30B-A3B", 35},   {"Qwen3 235B-A22B", 31},
                                                  {"Kimi K2", 4},          {"DeepSeek-V3, one prediction layer", 28},
                                                  {"DeepSeek-V3", 4},      {"gpt-oss 120B", 7}};
    CHECK(ratios.size() == runs.size());
    for (const auto& [model, all] : ratios) {
        INFO(model << ": median " << median(all));
        CHECK(all.size() == runs.at(model));
        CHECK(std::fabs(median(all) - 1) < 0.002);
    }
    // Their tokens/s are rounded to multiples of 16, or are those of another step.
    CHECK(beyond == std::set<std::string>{"Llama 3 70B, 26.04.01, H100, FP8", "Llama 3.1 405B, 26.04.01, GB200, FP8",
                                          "Llama 3.1 405B, 26.04.01, GB200, MXFP8",
                                          "Llama 3.1 405B, 26.04.01, GB300, FP8",
                                          "Llama 3.1 405B, 26.04.01, GB300, MXFP8"});
}

TEST_CASE("Megatron-Bridge counts gpt-oss with windows and three matrices per expert only from release 26.06 on") {
    const json config = config_of("gpt-oss 120B");
    for (const std::int64_t length : {4096, 8192}) {
        const counted own_result = count(config, length);
        CHECK(own_result.total() == theirs("gpt-oss 120B", length, "from 26.06 on"));
        const std::int64_t full_windows = count(config, length, "megatron").total() - own_result.total();
        const std::int64_t third_matrix = -own_result.of("moe.experts") / 3;
        CHECK(full_windows > 0);
        CHECK(own_result.total() + full_windows + third_matrix == theirs("gpt-oss 120B", length, "before 26.06"));
        CHECK(std::fabs(median_of("gpt-oss 120B", length, theirs("gpt-oss 120B", length, "before 26.06"), true) - 1) <
              0.002);
    }
    CHECK(std::fabs(median_of("gpt-oss 120B", 4096, count(config, 4096).total()) - 1) < 0.002);
}

TEST_CASE("Megatron-Bridge's published Nemotron 3 Nano count assumes Mamba layers of twice the hidden size") {
    const json config = config_of("Nemotron 3 Nano 30B-A3B");
    const std::int64_t length = 8192;
    const std::int64_t hidden = config["hidden_size"];
    const std::int64_t wider =
        2 * hidden - config["mamba_num_heads"].get<std::int64_t>() * config["mamba_head_dim"].get<std::int64_t>();
    const std::string layers = config["hybrid_override_pattern"];
    const std::int64_t passes = 3 * length * std::count(layers.begin(), layers.end(), 'M');
    const std::int64_t inputs = passes * 2 * hidden * 2 * wider;
    const std::int64_t scans = passes * 7 * wider * config["ssm_state_size"].get<std::int64_t>();
    const std::int64_t outputs = passes * 2 * wider * hidden;
    const std::int64_t published = theirs("Nemotron 3 Nano 30B-A3B", length);
    CHECK(count(config, length).total() + inputs + scans + outputs == published);
    CHECK(std::fabs(median_of("Nemotron 3 Nano 30B-A3B", length, published) - 1) < 0.002);
}

TEST_CASE(
    "Megatron-Bridge's published Nemotron 3 Super, Ultra and 3.5 Lightning counts have two multi-token prediction "
    "layers and heads") {
    for (const std::string_view model :
         {"Nemotron 3 Super 120B-A12B", "Nemotron 3 Ultra 550B-A55B", "Nemotron 3.5 Lightning"}) {
        INFO(model);
        const std::int64_t length = 8192;
        json config = config_of(std::string(model));
        const counted counts = count(config, length);
        config["hybrid_override_pattern"] = config["hybrid_override_pattern"].get<std::string>() + "*E*E";
        const std::int64_t layers = count(config, length).total() - counts.total();
        const std::int64_t heads = 2 * counts.of("lm_head");
        // The Mamba layers of Lightning are those of Nano.
        const std::int64_t base =
            model == "Nemotron 3.5 Lightning" ? theirs("Nemotron 3 Nano 30B-A3B", length) : counts.total();
        const std::int64_t published = theirs(model, length);
        CHECK(base + layers + heads == published);
        // Both runs of Ultra print more than the function gives: 0.5 and 1.7 %.
        const double tolerance = model == "Nemotron 3 Ultra 550B-A55B" ? 0.012 : 0.002;
        CHECK(std::fabs(median_of(model, length, published) - 1) < tolerance);
    }
}

TEST_CASE(
    "Megatron-Bridge's published DeepSeek-V4 Flash count takes a whole window for each query, a trained indexer and no "
    "hyper-connections") {
    const json config = config_of("DeepSeek-V4 Flash");
    const std::int64_t length = 4096;
    const counted result = count(config, length, "megatron_bridge", 1);
    const std::int64_t hidden = config["hidden_size"];
    const std::int64_t heads = config["num_attention_heads"];
    const std::int64_t width = config["head_dim"];
    const std::int64_t rank = config["q_lora_rank"];
    const std::int64_t layers = config["num_hidden_layers"];
    const std::vector<std::int64_t> ratios = config["compress_ratios"];
    const std::int64_t selecting = std::count(ratios.begin(), ratios.end(), 4);
    const std::int64_t summarizing = std::count(ratios.begin(), ratios.end(), 128);
    const std::int64_t window = config["sliding_window"];
    const std::int64_t top_k = config["index_topk"];

    std::map<std::string, std::int64_t> terms;
    terms["the norms of queries and keys"] = 6 * length * layers * (rank + width);
    terms["hyper-connections"] = -result.of("residual.mix") - result.of("residual.head");
    // Theirs: every query sees a whole window, L/256 summaries of 128 tokens, and K − 2K²/L of the selected keys.
    const std::int64_t sum_of_keys = layers * window * length + selecting * (top_k * length - 2 * top_k * top_k) +
                                     summarizing * length * length / 256;
    terms["keys that a query sees"] = 12 * heads * width * sum_of_keys - result.of("attention.core");
    const std::int64_t indexer_heads = config["index_n_heads"];
    const std::int64_t indexer_width = config["index_head_dim"];
    terms["the indexer, trained, over all pairs"] =
        6 * selecting * length *
            (4 * hidden * indexer_width + rank * indexer_heads * indexer_width + hidden * indexer_heads) +
        6 * selecting * indexer_heads * indexer_width / 4 * length * length - result.of("attention.indexer");
    // The prediction layer: a layer with a window alone, two norms and a projection, and one more lm_head.
    const std::int64_t layer_weights =
        rank * (hidden + heads * width + 1) + hidden * width + width +
        (result.of("attention.output") + result.of("moe.experts") + result.of("moe.shared")) / (6 * length * layers) +
        2 * heads * window * width + 3 * hidden + 2 * hidden * hidden;
    terms["the prediction layer"] = 6 * length * layer_weights + result.of("lm_head") - result.of("mtp");

    std::int64_t sum = result.total();
    for (const auto& [name, flops] : terms) {
        sum += flops;
    }
    const std::int64_t published = theirs("DeepSeek-V4 Flash", length);
    CHECK(sum == published);
    CHECK(std::fabs(median_of("DeepSeek-V4 Flash", length, published) - 1) < 0.002);
}

TEST_CASE(
    "Megatron-Bridge's published Llama 3 70B LoRA count omits gradients of frozen weights and fits packs of short "
    "documents") {
    const json config = config_of("Llama 3 70B");
    const std::int64_t length = 4096;
    // The products of one token, next to no attention: two of three passes run where no weight trains.
    const double frozen = to_double(count(config, 1, "megatron").work.total()) * 2 / 3 * static_cast<double>(length);
    // The packs' documents are not published; those of up to 256 tokens add at most this.
    const double documents =
        to_double(count(config, 256).work.total()) / 256 - to_double(count(config, 1, "megatron").work.total());
    std::size_t runs = 0;
    for (const json& run : steps()["runs"]) {
        if (run["kind"] == "LoRA") {
            INFO(run["system"] << " " << run["precision"]);
            const double without_documents = ratio(run, frozen);
            CHECK(without_documents < 1.001);
            CHECK(ratio(run, frozen + documents * static_cast<double>(length)) > 0.999);
            ++runs;
        }
    }
    CHECK(runs == 5);

    // A LoRA plan of ours on one sequence of 4096 tokens, and on documents of 128.
    const floptally::model_config model = floptally::read_config(config);
    floptally::training_plan plan;
    for (const floptally::weight_setting& setting :
         floptally::weight_settings_named("*=frozen,*/q_proj=lora16,*/k_proj=lora16,*/v_proj=lora16")) {
        plan.weights.push_back(setting, "weights");
    }
    const floptally::flop_counter counter(model, floptally::convention_named("megatron_bridge"), plan);
    const auto by_plan = [&](std::int64_t document) {
        floptally::tally batch{floptally::counted_masks(model.cost, counter)};
        batch.add_lengths(std::vector<std::int64_t>(static_cast<std::size_t>(length / document), document));
        std::vector<double> ratios;
        for (const json& run : steps()["runs"]) {
            if (run["kind"] == "LoRA") {
                ratios.push_back(ratio(run, to_double(counter.evaluate(batch).total())));
            }
        }
        return median(ratios);
    };
    CHECK(by_plan(length) > 1.04);
    CHECK(by_plan(length) < 1.06);
    CHECK(std::fabs(by_plan(128) - 1) < 0.01);
}

}  // namespace bridge_steps_test
