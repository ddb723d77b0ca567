// SPDX-License-Identifier: Apache-2.0
//
// Names that are not UTF-8: JSON takes none of them.

#include <sstream>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>
#include <floptally/meter_json.hpp>
#include <floptally/report.hpp>
#include <floptally/report_json.hpp>
#include <floptally/waterfall.hpp>
#include <floptally/waterfall_json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace names_test {
namespace {

using namespace floptally;

const std::string latin1 = "caf\xE9";
const std::string utf8 = "caf\xC3\xA9";

meter on(const std::string& accelerator, const std::string& precision) {
    return {flop_counter(presets::gpt2),
            {.gpus = 1, .peak_tflops = 989, .accelerator = accelerator, .precision = precision}};
}

}  // namespace

TEST_CASE("a name that is not UTF-8 is an error in the call that passes the name") {
    CHECK(error_of([] { on(latin1, ""); }) == "accelerator: must be UTF-8, got \"caf?\"");
    CHECK(error_of([] { on("", latin1); }) == "precision: must be UTF-8, got \"caf?\"");
    meter m = on(utf8, utf8);
    m.goodput().begin();
    m.goodput().spend(utf8, 0);
    CHECK(error_of([&] { m.goodput().spend(latin1, 0); }) == "name: must be UTF-8, got \"caf?\"");
    CHECK(m.goodput().spent().size() == 1);
    CHECK(error_of([&] { m.runs_in(mixed_precision(m.model(), {{.peak_tflops = 1979, .precision = latin1}}, 989)); }) ==
          "precision: must be UTF-8, got \"caf?\"");
    CHECK(error_of([] { component_name{latin1}; }) == "component: a name must be UTF-8, got \"caf?\"");
    CHECK(component_name(utf8).view() == utf8);
    m.begin_step();
    m.microbatch().add({.length = 7});
    m.end_step(1e-9);
    CHECK(to_json(m).dump().find("\"accelerator\":\"" + utf8 + "\"") != std::string::npos);
    CHECK(to_json(state_of(m)).dump().find(utf8) != std::string::npos);
}

TEST_CASE("writing a name that is not UTF-8 to JSON is an error that names the key") {
    meter m = on("", "");
    m.goodput().begin();
    meter_state state = state_of(m);
    state.goodput = goodput_state{.wall_seconds = 1, .spent = {{latin1, 1}}};
    CHECK(error_of([&] { static_cast<void>(to_json(state)); }) == "account.spent: must be UTF-8, got \"caf?\"");
    state.goodput->spent[0].name = utf8;
    CHECK_NOTHROW(to_json(state).dump());

    CHECK(error_of([] { static_cast<void>(to_json(table{.title = latin1})); }) == "title: must be UTF-8, got \"caf?\"");
    CHECK(error_of([] {
              static_cast<void>(to_json(table{.title = "a", .notes = {"b", latin1}}));
          }) == "notes: must be UTF-8, got \"caf?\"");
    const std::vector<compared_component> compared{{.name = latin1}};
    CHECK(error_of([&] { static_cast<void>(to_json(compared)); }).find(": must be UTF-8, got \"caf?\"") !=
          std::string::npos);
}

TEST_CASE("the text of an error is UTF-8 whatever input it quotes") {
    CHECK(error_of([] { throw error("mask\xFF", "\xC3\xA9 \xC3 \xE2\x82"); }) == "mask?: \xC3\xA9 ? ??");
}

}  // namespace names_test
