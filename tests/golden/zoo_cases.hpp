// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"

/// The cases of zoo/*.json: configs, and the batches that the real models ran.
namespace golden_zoo {

using nlohmann::json;

/// The cases of all files, in the order of their names.
inline const std::vector<json>& zoo() {
    static const std::vector<json> cases = [] {
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(FLOPTALLY_GOLDEN_DIR "/zoo")) {
            if (entry.path().extension() == ".json") {
                files.push_back(entry.path());
            }
        }
        std::sort(files.begin(), files.end());
        std::vector<json> all;
        for (const std::filesystem::path& path : files) {
            std::ifstream file(path);
            for (json& model : json::parse(file)) {
                all.push_back(std::move(model));
            }
        }
        return all;
    }();
    return cases;
}

/// The cost of a case, or a failed check and nothing: the other cases are still compared.
inline std::optional<floptally::cost> cost_of(const json& model, const char* spelling) {
    json config = model[spelling];
    if (config.contains("model_type") && config["model_type"] != model["model_type"]) {
        // mistral with layer_types resolves to ministral: saved, it would name the class that it was built as.
        config["architectures"] = json::array({model["class"]});
    }
    try {
        return floptally::read_config(config, {.strict = false}).cost;  // some have keys that their class ignores
    } catch (const std::exception& error) {
        FAIL_CHECK(model["id"] << " as " << spelling << " cannot be read: " << error.what());
        return std::nullopt;
    }
}

/// Texts (or decoders) of a run, and the images, clips and audio of a model with towers.
inline floptally::tally batch_of(const json& run, const floptally::mask_set& masks) {
    floptally::tally batch{masks};
    const auto length = run["length"].get<std::uint32_t>();
    const std::vector<std::uint32_t> equal(run["batch"].get<std::size_t>(), length);
    for (const std::uint32_t each : run.value("lengths", equal)) {
        batch.add(floptally::sequence{.length = each, .past = 0, .keys = run.value("encoder_length", 0U)});
    }
    const json grids = run.value("grids", json::array());
    for (std::size_t k = 0; k < grids.size(); ++k) {
        const auto sides = grids[k].get<std::vector<std::uint32_t>>();
        floptally::grid cells{.t = sides.at(0), .h = sides.at(1), .w = sides.at(2)};
        if (run.contains("texts")) {
            const json& report = run["texts"][k];
            const auto texts = report.is_array() ? report.get<std::vector<std::uint32_t>>()
                                                 : std::vector<std::uint32_t>{report.get<std::uint32_t>()};
            cells.keys = texts.at(0);
            cells.second = texts.size() > 1 ? texts[1] : 0;
            cells.third = texts.size() > 2 ? texts[2] : 0;
            cells.fourth = texts.size() > 3 ? texts[3] : 0;
        }
        cells.condition = run.contains("conditions") ? run["conditions"][k].get<std::uint32_t>() : 0;
        batch.add(cells);
    }
    batch.add_audio_frames(run.value("audio_frames", std::vector<std::uint32_t>{}));
    const json measured = run.value("measured", json::object());
    for (const auto& [word, count] : measured.items()) {
        batch.add_measured(word, {.useful = count.get<std::uint64_t>()});
    }
    return batch;
}
inline floptally::tally batch_of(const json& run, const floptally::cost& model) { return batch_of(run, model.masks()); }

}  // namespace golden_zoo
