// SPDX-License-Identifier: Apache-2.0
//
// Real models of transformers and diffusers against the reader: zoo/*.json hold what PyTorch's FlopCounterMode counted
// of each, forward and backward apart (zoo/generate.py and zoo/diffusion.py write them and say how).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>
#include <floptally/step/report_table.hpp>

#include "catch2.hpp"
#include "golden.hpp"
#include "golden/zoo_cases.hpp"
#include "sanitized.hpp"

namespace zoo_test {
namespace {

using floptally::flops;
using golden_zoo::batch_of;
using golden_zoo::cost_of;
using golden_zoo::zoo;
using nlohmann::json;

/// A config as the file says it, and as the configuration class resolves it (where that can be read back).
std::vector<const char*> spellings(const json& model) {
    if (model.contains("resolved")) {
        return {"config", "resolved"};
    }
    CHECK(model["no_resolved"].is_string());
    return {"config"};
}

/// As the counter has attention: fused where any core ran fused.
const floptally::convention& counter_of(const json& run) {
    return run["fused"] == false ? floptally::conventions::torch_flop_counter_eager
                                 : floptally::conventions::torch_flop_counter;
}

/// The FLOPs that the run executes beyond the model, or fewer: named integers, each with its reason.
std::int64_t differences(const json& run, const char* phase) {
    std::int64_t sum = 0;
    for (const json& difference : run["differences"]) {
        sum += difference[phase].get<std::int64_t>();
    }
    return sum;
}

/// Weights that the class keeps and never uses, named as well.
std::uint64_t unused_parameters(const json& model) {
    std::uint64_t sum = 0;
    if (model.contains("unused_parameters")) {
        for (const json& unused : model["unused_parameters"]) {
            sum += unused["count"].get<std::uint64_t>();
        }
    }
    return sum;
}

/// FLOPs of a tiny model, as a signed integer that differences can be added to.
std::int64_t small(flops work) {
    REQUIRE(work.value() < (std::uint64_t{1} << 62));
    return static_cast<std::int64_t>(work.low());
}

/// Both counts of a run, part by part: the message of a failure.
std::string parts_of(const floptally::breakdown& work, const json& run) {
    std::ostringstream text;
    for (const floptally::component_flops& component : work.components()) {
        text << component.name.view() << ": "
             << to_string(component.get(floptally::view::useful, floptally::phase::forward)) << " forward\n";
    }
    text << "counted: " << run["operators"] << "\ndifferences: " << run["differences"];
    return text.str();
}

/// All attention cores of a pass forward.
flops cores(const floptally::cost& model, const floptally::tally& batch, const floptally::convention& how) {
    flops sum;
    const floptally::breakdown work = evaluate(model, batch, how);
    for (const floptally::component_flops& component : work.components()) {
        if (component.name.view().ends_with("attention.core")) {
            sum += component.get(floptally::view::useful, floptally::phase::forward);
        }
    }
    return sum;
}

/// Forward FLOPs of all layers' cores, of one sequence, by the pairs that a run's attention weights show.
flops flops_of_pairs(const json& run) {
    flops sum;
    for (const json& pairs : run["pairs"]) {
        sum += flops{pairs.get<std::uint64_t>() * run["pair_flops"].get<std::uint64_t>()};
    }
    return sum;
}

}  // namespace

TEST_CASE("the counted forward and backward FLOPs of every real model equal PyTorch's count") {
    std::size_t runs = 0;
    std::size_t number = 0;
    for (const json& model : zoo()) {
        if (skipped_when_sanitized(number++, 25)) {
            continue;
        }
        for (const char* spelling : spellings(model)) {
            const std::optional<floptally::cost> cost = cost_of(model, spelling);
            if (!cost) {
                continue;
            }
            for (const json& run : model["runs"]) {
                const floptally::flop_counter counter{*cost, counter_of(run)};
                floptally::mask_set masks = cost->masks();
                for (const floptally::mask counted : counter.masks()) {
                    masks.find_or_add(counted, "masks");
                }
                const floptally::breakdown work = counter.evaluate(batch_of(run, masks));
                const std::int64_t forward = small(work.get(floptally::view::useful, floptally::phase::forward));
                const std::int64_t backward = small(work.backward(floptally::view::useful));
                const bool equal = forward + differences(run, "forward") == run["forward"].get<std::int64_t>() &&
                                   backward + differences(run, "backward") == run["backward"].get<std::int64_t>();
                INFO(model["id"] << " as " << spelling << ", " << run["batch"] << " x " << run["length"] << ", "
                                 << run["attention"] << (equal ? "" : "\n" + parts_of(work, run)));
                CHECK(forward + differences(run, "forward") == run["forward"].get<std::int64_t>());
                CHECK(backward + differences(run, "backward") == run["backward"].get<std::int64_t>());
                ++runs;
            }
        }
    }
    CHECK((is_sanitized || runs >= 2 * zoo().size()));
    CHECK(runs >= (is_sanitized ? 40U : 1000U));
}

TEST_CASE("the counted parameters of every real model equal the model's number of parameters") {
    std::size_t number = 0;
    for (const json& model : zoo()) {
        if (skipped_when_sanitized(number++, 25)) {
            continue;
        }
        for (const char* spelling : spellings(model)) {
            INFO(model["id"] << " as " << spelling);
            const std::optional<floptally::cost> cost = cost_of(model, spelling);
            if (cost) {
                CHECK(cost->parameters() + unused_parameters(model) == model["parameters"].get<std::uint64_t>());
            }
        }
    }
}

TEST_CASE("attended pairs of every layer equal the nonzero attention weights of the real model") {
    std::size_t compared = 0;
    std::size_t number = 0;
    for (const json& model : zoo()) {
        if (skipped_when_sanitized(number++, 25)) {
            continue;
        }
        const std::optional<floptally::cost> cost = cost_of(model, "config");
        for (const json& run : model["runs"]) {
            if (!cost || !run.contains("pairs")) {
                continue;
            }
            INFO(model["id"] << ", length " << run["length"]);
            const floptally::tally batch = batch_of(run, *cost);
            if (run.contains("pair_flops")) {  // keys that are no tokens stand in no square
                CHECK(to_string(cores(*cost, batch, floptally::conventions::exact)) ==
                      to_string(run["batch"].get<std::uint64_t>() * flops_of_pairs(run)));
                ++compared;
                continue;
            }
            // All layers have the same heads: exact is to full masks as the pairs are to all that there could be.
            const std::uint64_t length = run["length"].get<std::uint64_t>();
            std::uint64_t pairs = 0;
            std::uint64_t full = 0;
            for (std::size_t i = 0; i < run["pairs"].size(); ++i) {
                pairs += run["pairs"][i].get<std::uint64_t>();
                full += run.contains("of") ? run["of"][i].get<std::uint64_t>() : length * length;
            }
            CHECK(to_string(cores(*cost, batch, floptally::conventions::exact) * full) ==
                  to_string(cores(*cost, batch, floptally::conventions::torch_flop_counter_eager) * pairs));
            ++compared;
        }
    }
    CHECK(compared > (is_sanitized ? 10 : 300));
}

TEST_CASE("attended pairs after cached tokens equal the nonzero attention weights of the real model") {
    std::size_t compared = 0;
    for (const json& model : zoo()) {
        for (const json& text : model.value("cached", json::array())) {
            INFO(model["id"] << ", " << text["length"] << " behind " << text["past"]);
            const std::optional<floptally::cost> cost = cost_of(model, "config");
            REQUIRE(cost);
            floptally::tally batch{cost->masks()};
            batch.add(floptally::sequence{.length = text["length"], .past = text["past"], .keys = 0});
            CHECK(to_string(cores(*cost, batch, floptally::conventions::exact)) == to_string(flops_of_pairs(text)));
            ++compared;
        }
    }
    CHECK(compared >= 20);
}

TEST_CASE("every model family that can be read is tested with a transformers or published remote-code model") {
    std::set<std::string> counted;
    for (const json& model : zoo()) {
        counted.insert(model["model_type"].get<std::string>());
        if (model.contains("resolved")) {
            counted.insert(model["resolved"]["model_type"].get<std::string>());
        }
    }
    std::ifstream published(FLOPTALLY_GOLDEN_DIR "/published.json");
    for (const json& model : json::parse(published)) {
        // A type of which transformers has no class, or has it under another name.
        const json build = model.value("build", json::object());
        if (build == false || build.contains("model_type")) {
            counted.insert(type_of(model["config"]));
        }
    }
    // Classes whose kernels need a GPU: their matmuls are in count/views.test.cpp.
    counted.insert({"codonfm", "nv_esm", "nv_esmc"});
    for (const std::string_view type : floptally::known_model_types()) {
        if (type != "floptally" && type != "hstu") {  // formats of our own
            INFO(type);
            CHECK(counted.count(std::string(type)) == 1);
        }
    }
}

}  // namespace zoo_test
