// SPDX-License-Identifier: Apache-2.0
// count_test.cpp
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include <floptally/floptally.hpp>

using namespace floptally;

// Checked by the compiler: a model and its counts are constants.
static_assert(presets::mistral_7b.cost().parameters() == 7'241'732'096);

// Checked when it runs: what a step costs.
TEST_CASE("three documents cost what they did last week") {
    const flop_counter model(presets::mistral_7b);
    tally step{model.masks()};
    step.add_cu_seqlens({0, 700, 6000, 8100});
    CHECK(model.evaluate(step).total() == 370'374'931'906'560);
}
