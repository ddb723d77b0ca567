// SPDX-License-Identifier: Apache-2.0
//
// Whether a step fits, as a report and its table.

#include <cstdint>
#include <string>
#include <vector>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/json/fit_json.hpp>

#include "catch2.hpp"

namespace fit_report_test {
namespace {

using floptally::fit_of;
using floptally::fit_report;
using floptally::model_part;
using floptally::parallel_axis;
using floptally::tally;

TEST_CASE("a fit report lists what the first rank of each pipeline stage stores and sends", "[bytes]") {
    const floptally::transformer<floptally::mha, floptally::gated_mlp> model{
        .hidden_size = 64,
        .num_layers = 4,
        .attention = {.num_heads = 4, .head_dim = 16},
        .feed_forward = {.intermediate_size = 96},
        .vocab = {.size = 128}};
    std::vector<model_part> parts;
    model.for_each_part([&](const model_part& part) { parts.push_back(part); });
    tally microbatch(model.cost().masks());
    microbatch.add_lengths(std::vector<std::uint64_t>{32, 16});
    const floptally::parallel_sizes sizes{.dp = 2, .cp = 2, .tp = 2, .pp = 2};
    const floptally::memory_options how{.microbatches = 5};
    fit_report report = fit_of(parts, microbatch, sizes, {}, how, floptally::context_exchange::ring,
                               floptally::group_bandwidths{}.with(parallel_axis::tp, 100));
    REQUIRE(report.stages.size() == 2);
    for (std::uint64_t stage = 0; stage < 2; ++stage) {
        CAPTURE(stage);
        const floptally::parallel_layout layout(sizes, 16, 8 * stage);
        floptally::memory_options shared = how;
        shared.token_ranks = 2;
        const auto held = floptally::memory_of(parts, microbatch, layout, {}, shared);
        CHECK(report.stages[stage].held.total() == held.total());
        tally step(microbatch.masks());
        for (int i = 0; i < 5; ++i) {
            step += microbatch;
        }
        const auto sent = floptally::communication_of(parts, step, layout, {}, {.microbatches = 5, .token_ranks = 2});
        CHECK(report.stages[stage].sent.total() == sent.total());
        REQUIRE(report.stages[stage].times.size() == 4);
        CHECK(report.stages[stage].times[0].seconds);
        CHECK(!report.stages[stage].times[1].seconds);
        // Half of a sequence's tokens on each rank of context parallelism.
        tally half(microbatch.masks());
        half.add_lengths(std::vector<std::uint64_t>{16, 8});
        CHECK(floptally::memory_of(parts, half, layout, {}, how).activations == held.activations);
    }
    report.memory_gib = 0.0001;
    CHECK(to_table(report).find("does not fit: ") != std::string::npos);
    report.memory_gib = 1;
    CHECK(to_table(report).find("\nfits: ") != std::string::npos);
    const auto json = floptally::to_json(report);
    CHECK(json["stages"][0]["held"]["total"] == std::to_string(report.stages[0].held.total()));
    CHECK(json["stages"][1]["groups"].size() == 4);
}

}  // namespace
}  // namespace fit_report_test
