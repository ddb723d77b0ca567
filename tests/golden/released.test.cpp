// SPDX-License-Identifier: Apache-2.0
//
// What the last release counted, number by number (released.json): a count that this tree has otherwise needs the next
// FLOPTALLY_NUMBERS_VERSION. `.ci/release` writes the file again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/text/version.hpp>

#include "catch2.hpp"
#include "golden.hpp"
#include "golden/zoo_cases.hpp"
#include "sanitized.hpp"

namespace released_test {
namespace {

using namespace floptally;
using counts = std::map<std::string, std::string>;

std::string views(const breakdown& work) {
    return to_string(work.total(view::useful)) + " " + to_string(work.total(view::padded)) + " " +
           to_string(work.total(view::executed));
}

/// Every model of the zoo, exact, on the batch of its first run; every `step`th where the run is sanitized.
void add_models(counts& found, std::size_t step) {
    for (std::size_t i = 0; i < golden_zoo::zoo().size(); i += step) {
        const nlohmann::json& model = golden_zoo::zoo()[i];
        if (const std::optional<cost> read = golden_zoo::cost_of(model, "config")) {
            found[model["id"]] = to_string(evaluate(*read, golden_zoo::batch_of(model["runs"][0], *read)).total());
        }
    }
}

/// Models of the zoo, some of each kind: grouped convolutions, other towers, windows, experts, states, two sides.
constexpr const char* of_each_kind[] = {"convnext/model",
                                        "convnextv2/model",
                                        "segformer/classification",
                                        "regnet/x",
                                        "squeezebert/model",
                                        "SanaTransformer2DModel/0",
                                        "SanaVideoTransformer3DModel/0",
                                        "wav2vec2/model",
                                        "swin/positions",
                                        "swinv2/model",
                                        "poolformer/model",
                                        "vit/model",
                                        "mistral/window",
                                        "gemma3_text/plain",
                                        "gpt_oss/plain",
                                        "llama4_text/plain",
                                        "mixtral/plain",
                                        "qwen3_moe/plain",
                                        "deepseek_v3/plain",
                                        "qwen3_next/plain",
                                        "mamba/plain",
                                        "mamba2/plain",
                                        "zamba2/plain",
                                        "t5/generation",
                                        "bart/generation",
                                        "whisper/generation",
                                        "bert/model",
                                        "qwen2_vl/generation",
                                        "AutoencoderKL/0",
                                        "mobilenet_v2/0",
                                        "efficientnet/0",
                                        "UNet2DConditionModel/0",
                                        "FluxTransformer2DModel/0"};

/// These by every convention that counts them, on the batch of their first run.
void add_models_by_convention(counts& found) {
    for (const nlohmann::json& model : golden_zoo::zoo()) {
        const auto id = model["id"].get<std::string>();
        if (std::find(std::begin(of_each_kind), std::end(of_each_kind), id) == std::end(of_each_kind)) {
            continue;
        }
        const std::optional<cost> read = golden_zoo::cost_of(model, "config");
        if (!read) {
            continue;
        }
        for (const convention* how : conventions::all) {
            try {
                const flop_counter counter(*read, *how);
                mask_set masks = read->masks();
                for (const mask counted : counter.masks()) {
                    masks.find_or_add(counted, "masks");
                }
                found[id + " as " + std::string(how->name)] =
                    views(counter.evaluate(golden_zoo::batch_of(model["runs"][0], masks)));
            } catch (const error&) {  // it does not count such a model
            }
        }
    }
}

/// Presets by every convention and under plans, on padded rows: useful, padded and executed.
void add_conventions_and_plans(counts& found) {
    const std::vector<std::pair<std::string, cost>> models{
        {"llama_2_7b", presets::llama_2_7b.cost()},   {"llama_3_8b", presets::llama_3_8b.cost()},
        {"mistral_7b", presets::mistral_7b.cost()},   {"mixtral_8x7b", presets::mixtral_8x7b.cost()},
        {"qwen3_30b", presets::qwen3_30b_a3b.cost()}, {"gpt_oss_20b", presets::gpt_oss_20b.cost()},
        {"gemma_3_1b", presets::gemma_3_1b.cost()},   {"gpt2", presets::gpt2.cost()},
    };
    const std::vector<std::pair<std::string, training_plan>> plans{
        {"recompute full", {.recomputed = recompute::full}},
        {"recompute attention", {.recomputed = recompute::attention}},
        {"forward", {.counted = counted_passes::forward}},
    };
    for (const auto& [name, model] : models) {
        const auto counted = [&, &model = model](const convention& how, const training_plan& plan) {
            const flop_counter counter(model, how, plan);
            tally batch{counter.masks()};
            for (const std::uint32_t length : {1U, 700U, 4096U, 5000U}) {
                batch.add({.length = length}, {.length = length + 100});
            }
            return views(counter.evaluate(batch));
        };
        for (const convention* how : conventions::all) {
            found[name + " as " + std::string(how->name)] = counted(*how, {});
        }
        for (const auto& [plan_name, plan] : plans) {
            found[name + ", " + plan_name] = counted(conventions::exact, plan);
        }
    }
}

counts all_counts(std::size_t step) {
    counts found;
    add_models(found, step);
    add_models_by_convention(found);
    add_conventions_and_plans(found);
    return found;
}

}  // namespace

TEST_CASE("a FLOP count that differs from released.json needs a new numbers_version") {
    const nlohmann::json released = golden("released.json");
    std::size_t compared = 0;
    std::string changed;
    for (const auto& [name, count] : all_counts(is_sanitized ? 20 : 1)) {
        if (released["counts"].contains(name)) {
            ++compared;
            if (released["counts"][name] != count) {
                changed += "\n" + name + ": " + released["counts"][name].get<std::string>() + ", now " + count;
            }
        }
    }
    CHECK(compared > (is_sanitized ? 100U : 2000U));
    INFO("counted otherwise than by floptally " << released["version"] << ":" << changed);
    CHECK(numbers_version == released["numbers_version"].get<unsigned>() + (changed.empty() ? 0U : 1U));
}

TEST_CASE("released.json equals the FLOPs that the current code counts", "[.released]") {
    const nlohmann::ordered_json out{
        {"version", version}, {"numbers_version", numbers_version}, {"counts", all_counts(1)}};
    std::ofstream file(FLOPTALLY_GOLDEN_DIR "/released.json");
    REQUIRE(file << out.dump(0) << "\n");
}

}  // namespace released_test
