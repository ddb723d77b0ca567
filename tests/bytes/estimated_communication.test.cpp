// SPDX-License-Identifier: Apache-2.0
//
// Communication that nobody measured, from bytes that are added up here by hand.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/bytes/estimated_communication.hpp>
#include <floptally/descriptors/presets.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace estimated_communication_test {
namespace {

using floptally::estimated_communication;
using floptally::group_bandwidths;
using floptally::parallel_axis;

struct small_step {
    std::vector<floptally::model_part> model;
    floptally::tally batch;

    small_step() : batch{floptally::presets::llama_3_8b.cost().masks()} {
        const floptally::listed_parts parts = floptally::parts_of(floptally::presets::llama_3_8b);
        model.assign(parts.begin(), parts.end());
        batch.add_lengths(std::vector<std::uint64_t>{4096, 4096});
    }
};

const auto one_for_all = [](double gbps) {
    group_bandwidths bandwidths;
    for (std::size_t axis = 0; axis < floptally::parallel_axis_count; ++axis) {
        bandwidths = bandwidths.with(static_cast<parallel_axis>(axis), gbps);
    }
    return bandwidths;
};

}  // namespace

TEST_CASE("the estimated time of gradient communication is that of a ring all-reduce at the passed bandwidth") {
    const small_step step;
    // 8 030 261 248 parameters in 16 bits: a ring of four sends 2 x 3/4 of them.
    const double bytes = 2 * 3 * 2.0 * 8'030'261'248 / 4;
    const auto outcome = estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, one_for_all(50));
    CHECK(outcome.kind == floptally::apart_kind::transfer);
    CHECK(std::abs(outcome.seconds / (bytes / 50e9) - 1) < 1e-6);
    CHECK(outcome.assumed.starts_with("estimated, were none of it hidden: dp 24.1 GB"));
    // Without a bandwidth it has bytes, and no time.
    const auto unsaid = estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, {});
    CHECK(unsaid.seconds == 0);
    CHECK(unsaid.assumed == "estimated, were none of it hidden: dp 24.1 GB without a bandwidth");
}

TEST_CASE("the estimated time of pipeline communication is the time of the rank that communicates longest") {
    const small_step step;
    // Two ranks, one microbatch: 8192 tokens of 4096 in 16 bits go on, and as many gradients come back.
    const auto result = estimated_communication(step.model, step.batch, {.pp = 2}, 2, {}, {}, one_for_all(10));
    CHECK(std::abs(result.seconds - 8192.0 * 4096 * 2 / 10e9) < 1e-12);
    // With two replicas each has half of the tokens, and gradients of its own stage beside them, of which a ring of two
    // sends once as many; the stage of the lm_head has as much as that of the embedding, and a norm more.
    const auto both = estimated_communication(step.model, step.batch, {.dp = 2, .pp = 2}, 4, {}, {}, one_for_all(10));
    const double last = (8'030'261'248.0 - 4096) / 2 + 4096;
    CHECK(std::abs(both.seconds / ((4096.0 * 4096 * 2 + 2 * last) / 10e9) - 1) < 1e-9);
    CHECK(estimated_communication(step.model, step.batch, {}, 1, {}, {}, one_for_all(10)).assumed ==
          "estimated, were none of it hidden: nothing is sent");
    CHECK(error_of([] { static_cast<void>(one_for_all(0)); }).starts_with("bandwidth_tp: must be a finite number"));
}

TEST_CASE(
    "estimated communication takes the time of links between nodes if these links are slower than links within a node",
    "[bytes]") {
    const small_step step;
    // A ring of four over two nodes of two: two of its four edges leave a node, so that half of each rank's bytes do.
    const double bytes = 2 * 3 * 2.0 * 8'030'261'248 / 4;
    group_bandwidths links{.within_nodes = 400, .between_nodes = 50, .gpus_per_node = 2};
    const auto apart = estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, links);
    CHECK(std::abs(apart.seconds / (bytes / 2 / 50e9) - 1) < 1e-6);
    links.gpus_per_node = 72;  // one node has all of them
    const auto within = estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, links);
    CHECK(std::abs(within.seconds / (bytes / 400e9) - 1) < 1e-6);
    links.gpus_per_node = 0;
    CHECK(
        error_of([&] { return estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, links); }) ==
        "gpus_per_node: is missing: pass the number of GPUs of a node, which bandwidths within and between nodes need");
    links.within_nodes.reset();
    CHECK(error_of([&] { return estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, links); }) ==
          "network_gbps: must have both within and between: add the missing bandwidth, or leave both out");
}

}  // namespace estimated_communication_test
