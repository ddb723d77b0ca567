// SPDX-License-Identifier: Apache-2.0
//
// Real models of which only parts train, against PyTorch's FlopCounterMode (generate_frozen.py,
// generate_diffusion_lora.py).

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>

#include "catch2.hpp"
#include "golden.hpp"

namespace frozen_test {
namespace {

using namespace floptally;
using nlohmann::json;

training_plan plan_with(const json& settings) {
    training_plan plan;
    for (const json& said : settings) {
        const std::string weights = said["weights"];
        const std::string state = said["state"];
        weight_setting setting;
        setting.weights = std::string_view(weights);
        setting.state = state == "lora"     ? weight_state::lora
                        : state == "frozen" ? weight_state::frozen
                                            : weight_state::trainable;
        setting.rank = said.value("rank", std::uint64_t{0});
        setting.first_layer = said.value("first_layer", any_layer);
        setting.last_layer = said.value("last_layer", any_layer);
        plan.weights.push_back(setting, "weights");
    }
    return plan;
}

}  // namespace

TEST_CASE("real models with frozen weights and LoRA run exactly the products that the plan counts") {
    const json cases = golden("frozen.json");
    REQUIRE(cases.size() >= 25);
    for (const json& model : cases) {
        INFO(model["id"]);
        const model_config config = read_config(model["config"]);
        const flop_counter folded(config.parts, conventions::torch_flop_counter_eager, plan_with(model["rules"]));
        tally batch{folded.masks()};
        batch.add(sequence{.length = model["length"].get<std::uint32_t>(),
                           .keys = model["encoder_length"].get<std::uint32_t>()});
        for (int i = 0; i < model["images"].get<int>(); ++i) {
            batch.add(config.towers.at(0).image.value());
        }
        const breakdown work = folded.evaluate(batch);
        CHECK(to_string(work.get(view::useful, phase::forward)) ==
              std::to_string(model["forward"].get<std::uint64_t>()));
        CHECK(to_string(work.backward(view::useful)) == std::to_string(model["backward"].get<std::uint64_t>()));
    }
}

TEST_CASE("diffusers models with LoRA on their attention run exactly the products that the plan counts") {
    const json cases = golden("diffusion_lora.json");
    REQUIRE(cases.size() >= 21);
    const json rules = json::parse(R"([{"weights": "*", "state": "frozen"},
                                       {"weights": "attention.*", "state": "lora", "rank": 4}])");
    for (const json& model : cases) {
        INFO(model["id"]);
        const model_config config = read_config(model["config"]);
        const flop_counter folded(config.parts, conventions::torch_flop_counter, plan_with(rules));
        tally batch{folded.masks()};
        for (std::size_t k = 0; k < model["grids"].size(); ++k) {
            const auto sides = model["grids"][k].get<std::vector<std::uint32_t>>();
            batch.add(grid{sides.at(0), sides.at(1), sides.at(2), model["texts"][k].get<std::uint32_t>()});
        }
        const breakdown work = folded.evaluate(batch);
        CHECK(to_string(work.get(view::useful, phase::forward)) ==
              std::to_string(model["forward"].get<std::uint64_t>()));
        CHECK(to_string(work.backward(view::useful)) == std::to_string(model["backward"].get<std::uint64_t>()));
    }
}

}  // namespace frozen_test
