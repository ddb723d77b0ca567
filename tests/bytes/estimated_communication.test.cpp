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
    group_bandwidths made;
    for (std::size_t axis = 0; axis < floptally::parallel_axis_count; ++axis) {
        made = made.with(static_cast<parallel_axis>(axis), gbps);
    }
    return made;
};

}  // namespace

TEST_CASE("Gradients of data parallel ranks go round a ring, at the bandwidth that is given") {
    const small_step step;
    // 8 030 261 248 parameters in 16 bits: a ring of four sends 2 x 3/4 of them.
    const double bytes = 2 * 3 * 2.0 * 8'030'261'248 / 4;
    const auto made = estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, one_for_all(50));
    CHECK(made.kind == floptally::apart_kind::transfer);
    CHECK(std::abs(made.seconds / (bytes / 50e9) - 1) < 1e-6);
    CHECK(made.assumed.starts_with("estimated, were none of it hidden: dp 24.1 GB"));
    // Without a bandwidth it has bytes, and no time.
    const auto unsaid = estimated_communication(step.model, step.batch, {.dp = 4}, 4, {}, {}, {});
    CHECK(unsaid.seconds == 0);
    CHECK(unsaid.assumed == "estimated, were none of it hidden: dp 24.1 GB without a bandwidth");
}

TEST_CASE("Ranks of a pipeline send hidden states, and the one that needs most time is the step's") {
    const small_step step;
    // Two ranks, one microbatch: 8192 tokens of 4096 in 16 bits go on, and as many gradients come back.
    const auto made = estimated_communication(step.model, step.batch, {.pp = 2}, 2, {}, {}, one_for_all(10));
    CHECK(std::abs(made.seconds - 8192.0 * 4096 * 2 / 10e9) < 1e-12);
    // With two replicas each has half of the tokens, and gradients of its own stage beside them, of which a ring of two
    // sends once as many; the stage of the lm_head has as much as that of the embedding, and a norm more.
    const auto both = estimated_communication(step.model, step.batch, {.dp = 2, .pp = 2}, 4, {}, {}, one_for_all(10));
    const double last = (8'030'261'248.0 - 4096) / 2 + 4096;
    CHECK(std::abs(both.seconds / ((4096.0 * 4096 * 2 + 2 * last) / 10e9) - 1) < 1e-9);
    CHECK(estimated_communication(step.model, step.batch, {}, 1, {}, {}, one_for_all(10)).assumed ==
          "estimated, were none of it hidden: nothing is sent");
    CHECK(error_of([] { static_cast<void>(one_for_all(0)); }).starts_with("bandwidth_tp: must be a finite number"));
}

}  // namespace estimated_communication_test
