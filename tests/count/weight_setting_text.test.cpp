// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/count/weight_setting_text.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace weight_setting_text_test {
namespace {

using namespace floptally;

weight_setting only(std::string_view text) {
    const std::vector<weight_setting> all = weight_settings_named(text);
    REQUIRE(all.size() == 1);
    return all[0];
}

}  // namespace

TEST_CASE("each field of a weight setting is parsed from text", "[weight_setting]") {
    const weight_setting frozen = only("*=frozen");
    CHECK(frozen.weights == "*");
    CHECK(frozen.part == "*");
    CHECK(frozen.state == weight_state::frozen);
    CHECK(frozen.rank == 0);
    CHECK_FALSE(frozen.names_layers());

    const weight_setting lora = only("*/q_proj=lora16");
    CHECK(lora.weights == "*/q_proj");
    CHECK(lora.state == weight_state::lora);
    CHECK(lora.rank == 16);

    const weight_setting layers = only("mlp@2-5=trainable");
    CHECK(layers.weights == "mlp");
    CHECK(layers.state == weight_state::trainable);
    CHECK(layers.first_layer == 2);
    CHECK(layers.last_layer == 5);
    CHECK(only("mlp@7=frozen").first_layer == 7);
    CHECK(only("mlp@7=frozen").last_layer == 7);
    CHECK(only("mlp@3-3=frozen").last_layer == 3);

    const weight_setting part = only("encoder:attention.qkv@0-1=frozen");
    CHECK(part.part == "encoder");
    CHECK(part.weights == "attention.qkv");
    CHECK(part.first_layer == 0);
    CHECK(part.last_layer == 1);

    const std::vector<weight_setting> both = weight_settings_named("*=frozen,mlp=lora1");
    REQUIRE(both.size() == 2);
    CHECK(both[0].state == weight_state::frozen);
    CHECK(both[1].weights == "mlp");
    CHECK(both[1].rank == 1);
}

TEST_CASE("an invalid weight setting is an error with its position in the text", "[weight_setting]") {
    const auto problem = [](std::string_view text) {
        return error_of([&] { static_cast<void>(weight_settings_named(text)); });
    };
    const std::string longest(component_name::capacity, 'w');
    CHECK(problem(longest + "=frozen") == "no error");
    CHECK(problem(longest + ":mlp=frozen") == "no error");
    CHECK(problem("") == "weights[0]: must be WEIGHTS=STATE, such as embedding=frozen,mlp=lora16, got \"\"");
    CHECK(problem("*=frozen,mlp") ==
          "weights[1]: must be WEIGHTS=STATE, such as embedding=frozen,mlp=lora16, got \"mlp\"");
    CHECK(problem(":mlp=frozen") ==
          "weights[0]: the colon must follow the name of a model part of 1 to 39 characters, as in encoder:*=frozen, "
          "got \":mlp=frozen\"");
    CHECK(problem(longest + "w:mlp=frozen") ==
          "weights[0]: the colon must follow the name of a model part of 1 to 39 characters, as in encoder:*=frozen, "
          "got \"" +
              longest + "w:mlp=frozen\"");
    for (const std::string text :
         {"mlp@=frozen", "mlp@3-2=frozen", "mlp@a-2=frozen", "mlp@1-=frozen", "mlp@0-18446744073709551615=frozen"}) {
        CHECK(problem(text) ==
              "weights[0]: layers must be N or FIRST-LAST, both included, as in mlp@0-3=frozen, got \"" + text + "\"");
    }
    for (const std::string& text : {std::string("=frozen"), longest + "w=frozen"}) {
        CHECK(problem(text) ==
              "weights[0]: the name of the weights must have 1 to 39 characters, got \"" + text + "\"");
    }
    for (const std::string text : {"mlp=lora", "mlp=lora0", "mlp=lora-1", "mlp=lorax"}) {
        CHECK(problem(text) == "weights[0]: LoRA needs a rank of at least 1, as in lora16, got \"" + text + "\"");
    }
    for (const std::string text : {"mlp=frozn", "mlp=", "mlp=Frozen", "mlp=lor"}) {
        CHECK(problem(text) ==
              "weights[0]: the state must be trainable, frozen, or lora and a rank, as in lora16, got \"" + text +
                  "\"");
    }
}

}  // namespace weight_setting_text_test
