// SPDX-License-Identifier: Apache-2.0

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/json/component_json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace component_json_test {
namespace {

std::string refusal_of(const char* text) {
    return error_of([&] { static_cast<void>(floptally::read_component_times(nlohmann::json::parse(text))); });
}

}  // namespace

TEST_CASE("component times written to JSON are read back unchanged") {
    const floptally::component_times times{
        .seconds = 1.6,
        .times = {{.name = "attention", .components = {"attention.*"}, .seconds = 0.3},
                  {.name = "mlp", .components = {"mlp"}, .timed = floptally::counted_passes::backward, .seconds = 0.2},
                  {.name = "optimizer", .seconds = 0.02}}};
    const nlohmann::ordered_json written = to_json(times);
    const floptally::component_times read = floptally::read_component_times(nlohmann::json::parse(written.dump()));
    CHECK(to_json(read) == written);
    CHECK(written["times"][1]["pass"] == "backward");
    const floptally::component_times little =
        floptally::read_component_times(nlohmann::json::parse(R"({"times": [{"name": "a", "seconds": 1}]})"));
    CHECK_FALSE(little.seconds);
    CHECK(little.times.front().components.empty());
    CHECK(little.times.front().timed == floptally::counted_passes::train);
}

TEST_CASE("an unreadable file of component times is an error that names the field") {
    CHECK(refusal_of("[]") == "component_times: must be a JSON object, got []");
    CHECK(refusal_of("[[1], 2]") == "component_times: must be a JSON object, got a list of lists or objects");
    CHECK(refusal_of("{}") ==
          "component_times.times: must be a list of at least one time, such as {\"name\": \"mlp\", \"seconds\": 0.1}");
    CHECK(refusal_of(R"({"times": []})") ==
          "component_times.times: must be a list of at least one time, such as {\"name\": \"mlp\", \"seconds\": 0.1}");
    CHECK(refusal_of(R"({"seconds": 0, "times": [{"name": "a", "seconds": 1}]})") ==
          "component_times.seconds: must be a number above 0, got 0");
    CHECK(refusal_of(R"({"second": 1})") == "component_times.second: is an unknown key; known: seconds, times");
    CHECK(refusal_of(R"({"times": [5]})") == "times[0]: must be an object, got 5");
    CHECK(refusal_of(R"({"times": [{"seconds": 1}]})") == "times[0].name: is missing: add a name");
    CHECK(refusal_of(R"({"times": [{"name": "", "seconds": 1}]})") == "times[0].name: must be a name, got \"\"");
    CHECK(refusal_of(R"({"times": [{"name": "a"}]})") == "times[0].seconds: is missing: add a number");
    CHECK(refusal_of(R"({"times": [{"name": "a", "seconds": "1"}]})") ==
          "times[0].seconds: must be a number, got \"1\"");
    CHECK(refusal_of(R"({"times": [{"name": "a", "seconds": 1, "component": "mlp"}]})") ==
          "times[0].component: is an unknown key; known: name, components, pass, seconds");
    CHECK(refusal_of(R"({"times": [{"name": "a", "seconds": 1, "components": "mlp"}]})") ==
          "times[0].components: must be a list of names, got \"mlp\"");
    CHECK(refusal_of(R"({"times": [{"name": "a", "seconds": 1, "components": [1]}]})") ==
          "times[0].components[0]: must be a name, got 1");
    CHECK(refusal_of(R"({"times": [{"name": "a", "seconds": 1, "pass": "back"}]})") ==
          "times[0].pass: must be train, forward or backward, got \"back\"");
}

}  // namespace component_json_test
