// SPDX-License-Identifier: Apache-2.0
//
// The pipelines that fit a memory: each of the candidates, which are listed here one by one.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <floptally/step/pipeline_search.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace pipeline_search_test {
namespace {

using namespace floptally;

constexpr std::uint64_t layer_weights = 1 << 24;
constexpr std::uint64_t head_weights = 1 << 26;

/// Layers of 2^24 weights, and a head of 2^26.
std::vector<model_part> small_model(std::uint64_t layers) {
    cost layer;
    layer.add("mlp", linear{.in_features = 1 << 12, .out_features = 1 << 12});
    cost head;
    head.add("lm_head", linear{.in_features = 1 << 12, .out_features = 1 << 14});
    return {{.name = "layer", .cost = layer, .first_layer = 0, .repeat = layers},
            {.name = "lm_head", .role = part_role::head, .cost = head}};
}

using choice = std::tuple<std::uint64_t, pipeline_schedule, std::uint64_t>;  // pp, schedule, vpp

std::vector<choice> found_by(const pipeline_search& search) {
    std::vector<choice> all;
    for (const fitting_pipeline& fitting : search.found) {
        all.emplace_back(fitting.pp, fitting.schedule, fitting.vpp);
    }
    return all;
}

/// GiB of weights, gradients and Adam's states, 18 bytes a weight (DeepSpeed's and Megatron's usual mixed precision).
double states_of(std::uint64_t weights) {
    return static_cast<double>(state_bytes_of(weights, weights, {}).total()) / (1024.0 * 1024 * 1024);
}

}  // namespace

TEST_CASE("a pipeline search tries every schedule that divides layers and microbatches and counts the skipped ones") {
    using enum pipeline_schedule;
    const pipeline_search search =
        pipelines_that_fit(small_model(16), {}, {.pipeline_ranks = 4, .microbatches = 8, .memory_gib = 1e6});
    CHECK(found_by(search) == std::vector<choice>{{1, one_f_one_b, 1},
                                                  {2, one_f_one_b, 1},
                                                  {2, interleaved, 2},
                                                  {2, interleaved, 4},
                                                  {2, interleaved, 8},
                                                  {2, zero_bubble, 1},
                                                  {2, zb_v, 2},
                                                  {4, one_f_one_b, 1},
                                                  {4, interleaved, 2},
                                                  {4, interleaved, 4},
                                                  {4, zero_bubble, 1},
                                                  {4, zb_v, 2}});
    CHECK(search.impossible == 1 + 2);  // of 2 ranks 16 chunks each, of 4 ranks 8 and 16: more than there are layers
    CHECK(search.too_large == 0);
    for (const fitting_pipeline& pipeline : search.found) {
        CHECK(pipeline.pp * pipeline.replicas == 4);
        CHECK(pipeline.microbatches * pipeline.replicas == 8);
    }
    // Six microbatches: two of each of three replicas; a rank of 2 interleaves them, of 6 ranks none divides 6 layers.
    const pipeline_search six =
        pipelines_that_fit(small_model(4), {}, {.pipeline_ranks = 6, .microbatches = 6, .memory_gib = 1e6});
    CHECK(found_by(six) ==
          std::vector<choice>{
              {1, one_f_one_b, 1}, {2, one_f_one_b, 1}, {2, interleaved, 2}, {2, zero_bubble, 1}, {2, zb_v, 2}});
    CHECK(six.impossible == 3 + 7 + 7);
    // Replicas that the microbatches do not divide are one that cannot be.
    CHECK(pipelines_that_fit(small_model(4), {}, {.pipeline_ranks = 3, .microbatches = 2, .memory_gib = 1e6})
              .impossible == 1 + 7);
}

TEST_CASE("a pipeline search compares the memory limit with the model states and activations of the fullest rank") {
    const std::vector<model_part> model = small_model(4);
    const auto memory = [&](pipeline_schedule schedule, std::uint64_t pp, std::uint64_t vpp, std::uint64_t gpus,
                            double activation) {
        return pipeline_memory_gib(model, {}, pipeline_order(schedule, pp, vpp, 4), pipeline_split::even(4, pp, vpp),
                                   {}, gpus, activation);
    };
    const auto is_near = [](double a, double b) { return std::abs(a - b) <= 1e-12 * b; };
    CHECK(is_near(memory(pipeline_schedule::one_f_one_b, 1, 1, 1, 0), states_of(4 * layer_weights + head_weights)));
    // The last rank has the head.
    CHECK(is_near(memory(pipeline_schedule::one_f_one_b, 2, 1, 1, 0), states_of(2 * layer_weights + head_weights)));
    CHECK(is_near(memory(pipeline_schedule::one_f_one_b, 2, 1, 3, 0),
                  states_of((2 * layer_weights + head_weights + 2) / 3)));
    // In ZB-V the first rank has the first and the last layer, and the head.
    CHECK(is_near(memory(pipeline_schedule::zb_v, 2, 2, 1, 0), states_of(2 * layer_weights + head_weights)));
    // 1F1B holds two microbatches of the first half of the layers, on the first rank, and one on the last.
    const double first = states_of(2 * layer_weights) + 2.0 * 100 * 2 / 4;
    const double last = states_of(2 * layer_weights + head_weights) + 1.0 * 100 * 2 / 4;
    CHECK(is_near(memory(pipeline_schedule::one_f_one_b, 2, 1, 1, 100), std::max(first, last)));
    CHECK(error_of([&] { static_cast<void>(memory(pipeline_schedule::one_f_one_b, 2, 1, 0, 0)); }) ==
          "gpus: must be at least 1, got 0");
}

TEST_CASE("a pipeline that needs exactly the memory limit fits, and one that needs more is listed as too large") {
    const std::vector<model_part> model = small_model(4);
    const double needed = states_of(4 * layer_weights + head_weights);
    pipeline_search_options options{.pipeline_ranks = 1, .microbatches = 4, .memory_gib = needed};
    const pipeline_search fits = pipelines_that_fit(model, {}, options);
    REQUIRE(fits.found.size() == 1);
    CHECK(fits.found[0].memory_gib == needed);
    options.memory_gib = std::nextafter(needed, 0);
    CHECK(pipelines_that_fit(model, {}, options).found.empty());
    CHECK(pipelines_that_fit(model, {}, options).too_large == 1);
    // Sharded by ZeRO a replica keeps a part: two replicas of one rank each.
    options = {.pipeline_ranks = 2, .microbatches = 4, .memory_gib = 1e6, .sharded = zero_stage::weights};
    CHECK(pipelines_that_fit(model, {}, options).found[0].memory_gib < 0.51 * needed);
    CHECK(error_of([&] { static_cast<void>(pipelines_that_fit(model, {}, {.pipeline_ranks = 0})); }) ==
          "pp: must be at least 1, got 0");
    CHECK(error_of([&] { static_cast<void>(pipelines_that_fit(model, {}, {.microbatches = 0})); }) ==
          "microbatches: must be at least 1, got 0");
}

TEST_CASE("the description of a pipeline search lists the settings that it does not vary") {
    CHECK(
        kept_in({}) ==
        "kept: the batch and its microbatches, 1 GPU of each stage, precision, recompute, times apart and what kernels "
        "reach; memory is weights, gradients and optimizer alone, without activations, evenly split among the GPUs of "
        "a stage");
    CHECK(
        kept_in({.gpus_of_stage = 8, .activation_gib = 3}) ==
        "kept: the batch and its microbatches, 8 GPUs of each stage, precision, recompute, times apart and what "
        "kernels reach; memory is weights, gradients, optimizer and activations by layers that are held, evenly split "
        "among the GPUs of a stage");
}

}  // namespace pipeline_search_test
