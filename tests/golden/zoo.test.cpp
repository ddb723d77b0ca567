// SPDX-License-Identifier: Apache-2.0
//
// Real models of transformers against the reader: zoo.json holds what PyTorch's FlopCounterMode counted of each,
// forward and backward apart (generate_zoo.py writes it and says how).

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include <floptally/folded_cost.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"

namespace {

using floptally::flops;
using nlohmann::json;

const json& zoo() {
    static const json cases = [] {
        std::ifstream file(FLOPTALLY_GOLDEN_DIR "/zoo.json");
        REQUIRE(file);
        return json::parse(file);
    }();
    return cases;
}

/// A config as the file says it, and as the configuration class resolves it.
constexpr const char* spellings[] = {"config", "resolved"};

floptally::cost cost_of(const json& model, const char* spelling) {
    json config = model[spelling];
    if (config["model_type"] != model["model_type"]) {
        // mistral with layer_types resolves to ministral: saved, it would name the class that it was built as.
        config["architectures"] = json::array({model["class"]});
    }
    return floptally::read_config(config).cost;
}

floptally::tally batch_of(const json& run, const floptally::cost& model) {
    floptally::tally batch{model.masks()};
    batch.add_lengths(std::vector<std::uint64_t>(run["batch"].get<std::size_t>(), run["length"].get<std::uint64_t>()));
    return batch;
}

/// What the run executes beyond the model: named integers, each with its reason.
flops differences(const json& run, const char* phase) {
    flops sum;
    for (const json& difference : run["differences"]) {
        sum += flops{difference[phase].get<std::uint64_t>()};
    }
    return sum;
}

flops counted(const json& run, const char* phase) { return flops{run[phase].get<std::uint64_t>()}; }

}  // namespace

TEST_CASE("the count of every real model's run equals PyTorch's counter to the integer, forward and backward apart") {
    std::size_t runs = 0;
    for (const json& model : zoo()) {
        for (const char* spelling : spellings) {
            const floptally::cost cost = cost_of(model, spelling);
            for (const json& run : model["runs"]) {
                INFO(model["id"] << " as " << spelling << ", " << run["batch"] << " x " << run["length"] << ", "
                                 << run["attention"]);
                const floptally::tally batch = batch_of(run, cost);
                const floptally::breakdown work =
                    evaluate(cost, batch,
                             run["fused"].get<bool>() ? floptally::conventions::torch_flop_counter
                                                      : floptally::conventions::torch_flop_counter_eager);
                CHECK(to_string(work.get(floptally::view::useful, floptally::phase::forward) +
                                differences(run, "forward")) == to_string(counted(run, "forward")));
                CHECK(to_string(work.backward(floptally::view::useful) + differences(run, "backward")) ==
                      to_string(counted(run, "backward")));
                ++runs;
            }
        }
    }
    CHECK(runs >= 2 * 2 * zoo().size());
}

TEST_CASE("the number of parameters of every real model is equal to the integer") {
    for (const json& model : zoo()) {
        for (const char* spelling : spellings) {
            INFO(model["id"] << " as " << spelling);
            CHECK(cost_of(model, spelling).parameters() == model["parameters"].get<std::uint64_t>());
        }
    }
}

TEST_CASE("the attended pairs of every layer of a real model are those of its attention weights") {
    std::size_t compared = 0;
    for (const json& model : zoo()) {
        const floptally::cost cost = cost_of(model, "config");
        for (const json& run : model["runs"]) {
            if (!run.contains("pairs")) {
                continue;
            }
            INFO(model["id"] << ", length " << run["length"]);
            const floptally::tally batch = batch_of(run, cost);
            const auto core = [&](const floptally::convention& how) {
                return evaluate(cost, batch, how)["attention.core"].get(floptally::view::useful,
                                                                        floptally::phase::forward);
            };
            // All layers have the same heads: exact is to full squares as the pairs are to the squares.
            std::uint64_t pairs = 0;
            for (const json& layer : run["pairs"]) {
                pairs += layer.get<std::uint64_t>();
            }
            const std::uint64_t length = run["length"].get<std::uint64_t>();
            CHECK(to_string(core(floptally::conventions::exact) * (length * length * run["pairs"].size())) ==
                  to_string(core(floptally::conventions::torch_flop_counter_eager) * pairs));
            ++compared;
        }
    }
    CHECK(compared > 300);
}

TEST_CASE("every family of the reader is in the zoo") {
    std::set<std::string> counted;
    for (const json& model : zoo()) {
        counted.insert(model["model_type"].get<std::string>());
        counted.insert(model["resolved"]["model_type"].get<std::string>());
    }
    for (const std::string_view type : floptally::known_model_types()) {
        if (type != "floptally") {
            INFO(type);
            CHECK(counted.count(std::string(type)) == 1);
        }
    }
}
