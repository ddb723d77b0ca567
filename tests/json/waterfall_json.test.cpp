// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/json/table_json.hpp>
#include <floptally/json/waterfall_json.hpp>
#include <floptally/waterfall/waterfall_text.hpp>

#include "catch2.hpp"

namespace waterfall_json_test {

TEST_CASE("the JSON of a component waterfall writes the lost GPU time as integer strings that add up") {
    floptally::time_breakdown timed{.step = {.seconds = 1, .gpus = 2, .peak_tflops = 100}};
    floptally::breakdown work;
    work.append("mlp").useful[0] = 50'000'000'000'000;
    work.append("lm_head").useful[0] = 30'000'000'000'000;
    timed.work = {{work, 100}};
    const std::vector<floptally::timed_part> times = {{.name = "m", .components = {"mlp"}, .seconds = 0.5}};
    const nlohmann::ordered_json output = to_json(floptally::component_waterfall(timed, times));
    std::int64_t lost = 0;
    for (const nlohmann::ordered_json& line : output) {
        lost += std::stoll(line["lost"].get<std::string>());
    }
    CHECK(lost == 1'200'000'000);
    CHECK(output[0]["points_lost"] == 25.0);
    CHECK(output[0]["mfu"] == 0.5);
    CHECK(output[1]["name"] == "not timed");
    CHECK(output[1]["timed"] == false);
}

TEST_CASE("the JSON of a waterfall table has the printed texts and the exact numbers") {
    floptally::time_breakdown timed{.step = {.seconds = 1, .gpus = 2, .peak_tflops = 100}};
    floptally::breakdown work;
    work.append("mlp").useful[0] = 50'000'000'000'000;
    timed.work = {{work, 100}};
    floptally::table shown = table_of(floptally::waterfall(timed));
    shown.title = "a title";
    shown.notes = {"a note"};
    const nlohmann::ordered_json report = to_json(shown);
    CHECK(report["title"] == "a title");
    CHECK(report["notes"] == nlohmann::ordered_json{"a note"});
    REQUIRE(report["sections"].size() == 1);
    const nlohmann::ordered_json& section = report["sections"][0];
    CHECK(section["columns"][0].dump() == R"({"name":"","side":"left"})");
    CHECK(section["columns"][1].dump() == R"({"name":"ms of a GPU","side":"right"})");
    CHECK(section["rows"][0].dump() == R"([{"text":"peak"},{"text":"1000.000"},{"text":"100.00"}])");
    const nlohmann::ordered_json& mfu = section["rows"].back();
    CHECK(mfu[0]["text"] == "measured MFU");
    CHECK(mfu[1].dump() == R"({"text":"250.000","exact":"500000000 ns of GPUs"})");
    CHECK(mfu[2].dump() == R"({"text":"25.00"})");
}

}  // namespace waterfall_json_test
