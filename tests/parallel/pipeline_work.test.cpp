// SPDX-License-Identifier: Apache-2.0
//
// The work of each chunk of a pipeline, matmul by matmul.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/parallel/pipeline_work.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace pipeline_work_test {
namespace {

using namespace floptally;

/// Five layers of one matmul, and a head of another.
std::vector<model_part> small_model(std::uint64_t width) {
    cost layer;
    layer.add("mlp", linear{.in_features = width, .out_features = 50});
    cost head;
    head.add("lm_head", linear{.in_features = width, .out_features = 100, .kind = term::lm_head});
    return {{.name = "layer", .cost = layer, .first_layer = 0, .repeat = 5},
            {.name = "lm_head", .role = part_role::head, .cost = head}};
}

tally batch_of(std::uint64_t tokens) {
    tally batch;
    batch.add(sequence{.length = static_cast<std::uint32_t>(tokens)});
    return batch;
}

}  // namespace

TEST_CASE("The work of chunks is that of their matmuls: forward, of data with what is recomputed, of weights") {
    const std::vector<model_part> model = small_model(30);
    const std::vector<std::uint64_t> layers = {2, 0, 2, 1};
    for (const bool again : {false, true}) {
        training_plan plan;
        plan.recomputed = again ? recompute::full : recompute::none;
        const std::vector<chunk_work> work = pipeline_work(model, pipeline_split(2, layers), batch_of(7), 3, plan);
        REQUIRE(work.size() == 4);
        for (std::size_t chunk = 0; chunk < 4; ++chunk) {
            const std::uint64_t of_layers = layers[chunk] * 2 * 7 * 30 * 50;
            const std::uint64_t of_head = chunk == 3 ? 2 * 7 * 30 * 100 : 0;
            CHECK(work[chunk].forward == of_layers + of_head);
            CHECK(work[chunk].backward_data == of_layers + of_head + (again ? of_layers : 0));
            CHECK(work[chunk].backward_weights == of_layers + of_head);
        }
    }
    CHECK(error_of([&] { static_cast<void>(pipeline_work(model, pipeline_split(2, layers), batch_of(7), 0)); }) ==
          "microbatches: must be at least 1, got 0");
}

TEST_CASE("The work of a pipeline's microbatches together fits 62 bits, and is not rounded more than that needs") {
    const std::vector<model_part> model = small_model(std::uint64_t{1} << 30U);
    for (const std::uint64_t microbatches : {1ULL, 64ULL, 100'000ULL, 1ULL << 40U}) {
        const tally batch = batch_of(1'000'000);
        const std::uint64_t layer = 2 * 1'000'000ULL * 50;  // in units of 2^30
        const uint128 sum = (uint128{3 * 5 * layer + 3 * 2 * layer} << 30U) * microbatches;
        unsigned bits = 0;
        while ((sum >> bits) > (uint128{1} << 62U) - 1) {
            ++bits;
        }
        const std::vector<chunk_work> work = pipeline_work(model, pipeline_split::even(5, 1, 1), batch, microbatches);
        REQUIRE(work.size() == 1);
        for (const std::uint64_t pass : {work[0].forward, work[0].backward_data, work[0].backward_weights}) {
            CHECK(pass == static_cast<std::uint64_t>((uint128{5 * layer + 2 * layer} << 30U) >> bits));
        }
    }
}

}  // namespace pipeline_work_test
