// SPDX-License-Identifier: Apache-2.0
//
// The stages that the reader records of every config of the zoo.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>
#include <floptally/parallel/pipeline_split.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "sanitized.hpp"
#include "some_image.hpp"

namespace stages_test {
namespace {

using namespace floptally;
using nlohmann::json;

/// Every config of the zoo, read; one in a few where the run is sanitized.
std::vector<model_config> every_model() {
    std::size_t number = 0;
    std::vector<model_config> all;
    std::set<std::string> seen;
    for (const auto& entry : std::filesystem::directory_iterator(FLOPTALLY_GOLDEN_DIR "/zoo")) {
        if (entry.path().extension() != ".json") {
            continue;
        }
        std::ifstream file(entry.path());
        for (const json& model : json::parse(file)) {
            if (!skipped_when_sanitized(number++, 20) && seen.insert(model["config"].dump()).second) {
                all.push_back(read_config(model["config"], {.strict = false}));
            }
        }
    }
    return all;
}

/// All that an entry says, with names in place of numbers, in an order of its own.
std::multiset<std::string> rows_of(const cost& model) {
    std::multiset<std::string> rows;
    for (const cost_entry& entry : model.entries()) {
        if (entry.useful == 0 && entry.padded == 0) {
            continue;
        }
        std::string text(model.components()[entry.component].view());
        text.append("/").append(model.weight_name(entry));
        if (entry.what == accumulator::pairs) {
            text.append(" ").append(model.masks()[entry.mask].name());
        }
        for (const std::uint64_t number :
             {std::uint64_t{static_cast<std::uint8_t>(entry.what)},
              std::uint64_t{static_cast<std::uint8_t>(entry.kind)}, entry.useful, entry.padded, entry.parameters,
              entry.per_rank.in, entry.per_rank.out, entry.per_rank.parameters, std::uint64_t{entry.flow.reads},
              std::uint64_t{entry.flow.also_reads}, std::uint64_t{entry.flow.writes}}) {
            text.append(" ").append(std::to_string(number));
        }
        rows.insert(text);
    }
    return rows;
}

/// Something for each stream that a model has.
void fill(tally& batch) {
    if (batch.masks().has(modality::text)) {
        batch.add(sequence{.length = 9, .keys = 7});
    }
    if (batch.masks().has(modality::vision)) {
        batch.add(some_image(batch.masks()));
    }
    if (batch.masks().has(modality::audio)) {
        batch.add(audio_clip{400});
    }
    for (const statistic& word : batch.masks()) {
        if (word.is_measured()) {
            batch.add_measured(word.as<unit_statistics::measured>().accumulator(), {.useful = 9});
        }
    }
}

}  // namespace

TEST_CASE("the costs of the parts of every config add up to the config's cost, entry by entry") {
    for (const model_config& model : every_model()) {
        INFO(model.model_type);
        CHECK(rows_of(cost_of(model.parts)) == rows_of(model.cost));
    }
}

TEST_CASE("the weights of every config can be frozen or given LoRA adapters") {
    for (const model_config& model : every_model()) {
        INFO(model.model_type);
        const auto work = [&](const training_plan& plan) {
            const flop_counter folded(model.parts, conventions::exact, plan);
            tally batch{folded.masks()};
            fill(batch);
            return folded.evaluate(batch);
        };
        const breakdown trained = work({});
        tally batch{model.cost.masks()};
        fill(batch);
        const breakdown whole = evaluate(model.cost, batch);
        for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights}) {
            CHECK(trained.get(view::executed, during) == whole.get(view::executed, during));
        }
        const breakdown frozen = work({.recomputed = recompute::full, .weights = {{"*", weight_state::frozen}}});
        CHECK(frozen.total(view::executed) == whole.get(view::executed, phase::forward));

        const training_plan adapters{.weights = {{"*", weight_state::lora, 1}}};
        if (error_of([&] {
                static_cast<void>(flop_counter(model.parts, conventions::exact, adapters));
            }).starts_with("plan.weights[0]: LoRA needs a weight matrix")) {
            CHECK(std::all_of(model.cost.entries().begin(), model.cost.entries().end(), [](const cost_entry& entry) {
                return entry.per_rank.parameters == 0;  // convolutions alone, beside which no adapter fits
            }));
            continue;
        }
        const breakdown adapted = work(adapters);
        CHECK(adapted.get(view::useful, phase::forward) > whole.get(view::useful, phase::forward));
        CHECK(adapted.get(view::useful, phase::backward_weights) > flops{});
        CHECK(adapted.get(view::useful, phase::backward_weights) < whole.get(view::useful, phase::backward_weights));
    }
}

TEST_CASE("the pooled projection of a contrastive model is a head on the last pipeline rank") {
    const model_config clip = read_config(json::parse(R"({"model_type": "clip", "architectures": ["CLIPModel"],
        "text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}})"));
    const model_part& last = clip.parts.back();
    CHECK(last.name == "pooled");
    CHECK(last.role == part_role::head);
    CHECK(pipeline_split::even(2, 2).parts_of(clip.parts, 0).back().elsewhere);
    CHECK_FALSE(pipeline_split::even(2, 2).parts_of(clip.parts, 1).back().elsewhere);

    // Frozen, the projection still hands its gradient to the layers, which train.
    const training_plan plan{.weights = {{"lm_head", weight_state::frozen}, {"norm", weight_state::frozen}}};
    const flop_counter folded(clip.parts, conventions::exact, plan);
    tally batch{folded.masks()};
    fill(batch);
    const breakdown work = folded.evaluate(batch);
    const component_flops& projection = work["lm_head"];
    const flops single_work{2 * 512 * 512};
    CHECK(projection.get(view::useful, phase::forward) == single_work);
    CHECK(projection.get(view::useful, phase::backward_data) == single_work);
    CHECK(projection.get(view::useful, phase::backward_weights) == flops{});
}

}  // namespace stages_test
