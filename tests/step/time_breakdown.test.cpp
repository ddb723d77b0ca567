// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/step/time_breakdown.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace time_breakdown_test {
namespace {

using namespace floptally;

/// Work of so many TFLOP, a third of it forward, at a peak.
work_at_peak work(std::uint64_t tera, double peak_tflops) {
    cost model;
    model.add("mlp", linear{.in_features = 500'000, .out_features = 1'000'000});  // 10¹² a token, forward
    const flop_counter counter(model, conventions::exact, {.counted = counted_passes::forward});
    tally batch{counter.masks()};
    batch.add(sequence{static_cast<std::uint32_t>(tera)});
    return {counter.evaluate(batch), peak_tflops};
}

}  // namespace

TEST_CASE(
    "the words in a measured time's name decide the kind of the time, in any letter case and with any separators") {
    CHECK(apart_kind_named("Data wait") == apart_kind::data_wait);
    CHECK(apart_kind_named("DATA-LOADING") == apart_kind::data_wait);
    CHECK(apart_kind_named("datazwait") == apart_kind::other);  // a letter is no gap
    CHECK(apart_kind_named("DATAZWAIT") == apart_kind::other);
    CHECK(apart_kind_named("exposed_communication") == apart_kind::communication);
    CHECK(apart_kind_named("ncclDevKernel_AllReduce_Sum") == apart_kind::communication);
    CHECK(apart_kind_named("Optimizer.step") == apart_kind::optimizer);
    CHECK(apart_kind_named("Exposed transfer") == apart_kind::transfer);
    CHECK(apart_kind_named("Element-wise") == apart_kind::elementwise);
    CHECK(apart_kind_named("no kernel") == apart_kind::launches);
    for (const char* other : {"", "waiting", "optimizers", "[ata wait", "data@wait{"}) {
        CHECK(apart_kind_named(other) == apart_kind::other);
    }
    CHECK(kind_of({.name = "data", .kind = apart_kind::optimizer}) == apart_kind::optimizer);
    CHECK(kind_of({.name = "data"}) == apart_kind::data_wait);
}

TEST_CASE("a time breakdown adds up work at different peaks and named times") {
    time_breakdown timed{.step = {.seconds = 1, .gpus = 8, .peak_tflops = 100},
                         .work = {work(300, 100), work(50, 200)}};
    CHECK(detail::executed_seconds(timed) == 3.25);
    CHECK(detail::tile_seconds(timed) == 0);
    timed.repeated = {work(400, 100)};
    timed.masked_tiles = {work(30, 100), work(40, 200)};
    CHECK(detail::executed_seconds(timed) == 4);
    CHECK(detail::tile_seconds(timed) == 0.5);
    timed.apart = {{.name = "data", .seconds = 0.25},
                   {.name = "nccl", .seconds = 0.5},
                   {.name = "transfer", .seconds = 1},
                   {.name = "barrier", .seconds = 2, .kind = apart_kind::communication}};
    CHECK(detail::seconds_apart(timed) == 3.75);
    CHECK(detail::seconds_with_waiting(timed) == 2.5);
}

TEST_CASE("the busy GPUs of a time breakdown are all GPUs minus idle ones, and at least one GPU must be busy") {
    time_breakdown timed{.step = {.seconds = 1, .gpus = 8, .peak_tflops = 100}};
    CHECK(detail::working_gpus(timed) == 8);
    timed.idle_gpus = 7;
    CHECK(detail::working_gpus(timed) == 1);
    for (const std::uint64_t idle : {8U, 9U}) {
        timed.idle_gpus = idle;
        CHECK(error_of([&] { return detail::working_gpus(timed); }) ==
              "idle_gpus: must be fewer than the 8 GPUs, got " + std::to_string(idle));
    }
}

TEST_CASE("the time breakdown of a single GPU has no waiting, communication or redundant work") {
    time_breakdown timed{.step = {.seconds = 1, .gpus = 1, .peak_tflops = 100}, .work = {work(300, 100)}};
    timed.apart = {{.name = "data", .seconds = 0.25}};
    const time_breakdown said = with_one_gpu_defaults(timed);
    REQUIRE(said.apart.size() == 2);
    CHECK(said.apart[1].name == "exposed communication");
    CHECK(said.apart[1].seconds == 0);
    CHECK(said.apart[1].kind == apart_kind::communication);
    REQUIRE(said.repeated);
    CHECK(detail::seconds_at_peaks(*said.repeated, view::executed) == 3);
    REQUIRE(said.ranks);
    CHECK(said.ranks->makespan == 1);
    CHECK(said.ranks->largest == said.ranks->sum);
    CHECK(said.idle_gpus == 0U);
    // What was said stays.
    timed.apart = {{.name = "nccl", .seconds = 0.5}};
    timed.repeated = {work(400, 100)};
    timed.ranks = rank_times{.largest = 3, .sum = 3, .makespan = 4};
    const time_breakdown breakdown = with_one_gpu_defaults(timed);
    CHECK(breakdown.apart.size() == 1);
    CHECK(detail::executed_seconds(breakdown) == 4);
    CHECK(breakdown.ranks->makespan == 4);
    // Of several nothing is known.
    timed = {.step = {.seconds = 1, .gpus = 2, .peak_tflops = 100}, .work = {work(300, 100)}};
    const time_breakdown several = with_one_gpu_defaults(timed);
    CHECK(several.apart.empty());
    CHECK_FALSE(several.repeated);
    CHECK_FALSE(several.ranks);
    CHECK_FALSE(several.idle_gpus);
}

}  // namespace time_breakdown_test
