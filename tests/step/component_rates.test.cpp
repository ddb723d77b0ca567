// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/step/component_rates.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace component_rates_test {
namespace {

using floptally::component_row;
using floptally::component_time;
using floptally::counted_passes;

/// 30 FLOPs a token and 32 a pair forward; full recompute, so that executed differs.
floptally::breakdown ten_tokens() {
    floptally::cost model;
    model.add("mlp", floptally::linear{.in_features = 3, .out_features = 5});
    model.add("attention.core", {.num_heads = 2, .qk_head_dim = 4, .v_head_dim = 4}, floptally::mask::bidirectional());
    model.add("lm_head", floptally::linear{.in_features = 3, .out_features = 7, .kind = floptally::term::lm_head});
    floptally::tally batch{model.masks()};
    batch.add({.length = 10});
    return floptally::evaluate(model, batch, floptally::conventions::exact,
                               {.recomputed = floptally::recompute::full, .flash_attention = false});
}

const floptally::measurement on{.gpus = 2, .peak_tflops = 1e-9};  // 1000 FLOP/s each

std::vector<component_row> rows_of(const std::vector<component_time>& times) {
    return floptally::component_rates(ten_tokens(), on, times);
}

std::string problem(const std::vector<component_time>& times) {
    return error_of([&] { return rows_of(times).size(); });
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

}  // namespace

TEST_CASE("the component table shows time, TFLOP/s and MFU of each timed component") {
    const std::vector<component_row> rows = rows_of(
        {{"attention.core", 4, counted_passes::backward}, {"mlp", 2}, {"attention.core", 8, counted_passes::forward}});
    REQUIRE(rows.size() == 4);

    CHECK(rows[0].name.view() == "mlp");
    CHECK(rows[0].useful.low() == 3 * 30 * 10);    // forward, to data, to weights
    CHECK(rows[0].executed.low() == 4 * 30 * 10);  // and forward again
    REQUIRE(rows[0].rate);
    CHECK(rows[0].rate->seconds == 2);
    CHECK(near(rows[0].rate->tflops_per_gpu, 900 / 4e12));
    CHECK(near(rows[0].rate->mfu, 900.0 / (2 * 2 * 1000)));
    CHECK(near(rows[0].rate->hfu, 1200.0 / (2 * 2 * 1000)));

    CHECK(rows[1].name.view() == "attention.core");
    CHECK(rows[1].useful.low() == 2 * 32 * 100);
    CHECK(rows[1].executed.low() == 3 * 32 * 100);  // the backward's time has the recompute in it
    REQUIRE(rows[1].rate);
    CHECK(near(rows[1].rate->mfu, 6400.0 / (4 * 2 * 1000)));
    CHECK(near(rows[1].rate->hfu, 9600.0 / (4 * 2 * 1000)));
    CHECK(rows[2].useful.low() == 32 * 100);
    CHECK(rows[2].executed.low() == 32 * 100);
    REQUIRE(rows[2].rate);
    CHECK(near(rows[2].rate->mfu, 3200.0 / (8 * 2 * 1000)));

    CHECK(rows[3].name.view() == "lm_head");
    CHECK(rows[3].useful.low() == 3 * 42 * 10);
    CHECK(!rows[3].rate);

    const std::vector<component_row> fast = floptally::component_rates(ten_tokens(), {.gpus = 1, .peak_tflops = 0.5},
                                                                       std::vector<component_time>{{"mlp", 1.8e-9}});
    CHECK(floptally::to_markdown(fast) ==
          "| component | passes | TFLOP | ms | TFLOPS/GPU | MFU % | HFU % |\n"
          "| --- | --- | --: | --: | --: | --: | --: |\n"
          "| mlp | all | 0.000 | 0.000 | 0.50 | 100.00 | 133.33 |\n"
          "| attention.core | all | 0.000 | - | - | - | - |\n"
          "| lm_head | all | 0.000 | - | - | - | - |\n");
    CHECK(floptally::to_markdown(rows).find(
              "| attention.core | backward | 0.000 | 4000.000 | 0.00 | 80.00 | 120.00 |") != std::string::npos);
    CHECK(floptally::to_markdown(rows).find("| attention.core | forward | 0.000 | 8000.000 | 0.00 | 20.00 | 20.00 |") !=
          std::string::npos);
}

TEST_CASE("invalid, unknown or repeated component times are errors") {
    for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        CHECK(problem({{"mlp", bad}}).rfind("seconds: must be a finite number above 0", 0) == 0);
    }
    CHECK(problem({{"mpl", 1}}) ==
          "component: this model counts no component named \"mpl\": use a name that the breakdown shows");
    CHECK(problem({{"mlp", 1}, {"mlp", 2}}) ==
          "component: \"mlp\" has two times for the same pass: give one time for all passes, or one each for forward "
          "and backward");
    CHECK(problem({{"mlp", 1}, {"mlp", 2, counted_passes::forward}}) ==
          "component: \"mlp\" has two times for the same pass: give one time for all passes, or one each for forward "
          "and backward");
    CHECK(problem({{"mlp", 1, counted_passes::backward}, {"mlp", 2}}) ==
          "component: \"mlp\" has two times for the same pass: give one time for all passes, or one each for forward "
          "and backward");
    CHECK(problem({{"mlp", 1, counted_passes::backward}, {"mlp", 2, counted_passes::forward}}) == "no error");
    CHECK(error_of([] { return floptally::component_rates(ten_tokens(), {.gpus = 0, .peak_tflops = 1}, {}).size(); }) ==
          "gpus: must be at least 1, got 0");
}

}  // namespace component_rates_test
