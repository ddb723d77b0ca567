// SPDX-License-Identifier: Apache-2.0
//
// A step of modules on ranks of their own, against sums rank by rank.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/step/module_utilization.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace module_utilization_test {
namespace {

using namespace floptally;

std::vector<std::uint64_t> ranks_from(std::uint64_t first, std::uint64_t count) {
    std::vector<std::uint64_t> ranks(count);
    std::iota(ranks.begin(), ranks.end(), first);
    return ranks;
}

breakdown work_of(std::uint64_t width, std::uint64_t tokens, counted_passes counted = counted_passes::train) {
    const cost model = cost{}.add("mlp", linear{.in_features = width, .out_features = width});
    tally batch;
    batch.add({static_cast<std::uint32_t>(tokens)}, {static_cast<std::uint32_t>(tokens + 16)});
    return evaluate(model, batch, conventions::exact, {.counted = counted, .recomputed = recompute::full});
}

/// A frozen vision encoder on 2 ranks, a language model on 8, a critic on the last 4 of those, in fp8.
std::vector<step_module> three_modules() {
    return {{.name = "vision",
             .ranks = ranks_from(0, 2),
             .data_parallel_size = 2,
             .work = work_of(1 << 12, 1 << 14, counted_passes::forward),
             .peak_tflops = 312,
             .frozen = true},
            {.name = "language",
             .ranks = ranks_from(2, 8),
             .data_parallel_size = 4,
             .work = work_of(1 << 14, 1 << 15),
             .peak_tflops = 989},
            {.name = "critic",
             .ranks = ranks_from(6, 4),
             .work = work_of(1 << 13, 1 << 15),
             .peak_tflops = 1979,
             .seconds = 0.125}};
}

constexpr measurement twelve_ranks{.seconds = 0.5, .gpus = 12, .peak_tflops = 989};

}  // namespace

TEST_CASE("modules of a step may have their own ranks, dp sizes, frozen weights and precisions") {
    const std::vector<step_module> modules = three_modules();
    const module_utilization step = utilize(modules, twelve_ranks);

    // Rank by rank: what the job could have computed.
    double active = 0;
    double allocated = 0;
    std::uint64_t idle = 0;
    for (std::uint64_t rank = 0; rank < 12; ++rank) {
        double peak = 0;
        for (const step_module& part : modules) {
            const bool runs = std::find(part.ranks.begin(), part.ranks.end(), rank) != part.ranks.end();
            peak = runs && part.peak_tflops > peak ? part.peak_tflops : peak;
        }
        active += 0.5 * peak;
        allocated += 0.5 * (peak == 0 ? 989 : peak);
        idle += peak == 0 ? 1 : 0;
    }
    CHECK(active == 0.5 * (2 * 312 + 4 * 989 + 4 * 1979));
    CHECK(step.active_ranks == 10);
    CHECK(step.idle_ranks == idle);

    flops useful;
    flops padded;
    flops executed;
    double rank_seconds = 0;
    for (const step_module& part : modules) {
        useful += part.work.total(view::useful);
        padded += part.work.total(view::padded);
        executed += part.work.total(view::executed);
        rank_seconds += to_double(part.work.total()) / (part.peak_tflops * 1e12);
    }
    CHECK(step.useful == useful);
    CHECK(step.mfu == Approx(to_double(useful) / 1e12 / active).epsilon(1e-14));
    CHECK(step.padded_mfu == Approx(to_double(padded) / 1e12 / active).epsilon(1e-14));
    CHECK(step.hfu == Approx(to_double(executed) / 1e12 / active).epsilon(1e-14));
    CHECK(step.allocated_mfu == Approx(to_double(useful) / 1e12 / allocated).epsilon(1e-14));
    CHECK(step.allocated_hfu == Approx(to_double(executed) / 1e12 / allocated).epsilon(1e-14));
    CHECK(step.allocated_mfu < step.mfu);
    CHECK(step.mixed_precision_mfu == Approx(rank_seconds / (0.5 * 10)).epsilon(1e-14));

    // Each module over its own ranks, its own peak and its own time.
    REQUIRE(step.modules.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        const double seconds = i == 2 ? 0.125 : 0.5;
        const double could = seconds * static_cast<double>(modules[i].ranks.size()) * modules[i].peak_tflops * 1e12;
        CHECK(step.modules[i].name == modules[i].name);
        CHECK(step.modules[i].useful == modules[i].work.total());
        CHECK(step.modules[i].mfu == Approx(to_double(modules[i].work.total()) / could).epsilon(1e-14));
        CHECK(step.modules[i].padded_mfu ==
              Approx(to_double(modules[i].work.total(view::padded)) / could).epsilon(1e-14));
        CHECK(step.modules[i].hfu == Approx(to_double(modules[i].work.total(view::executed)) / could).epsilon(1e-14));
        CHECK(step.modules[i].tflops_per_gpu == Approx(step.modules[i].mfu * modules[i].peak_tflops).epsilon(1e-14));
    }
    CHECK(step.modules[0].ranks_per_replica == 1);
    CHECK(step.modules[1].ranks_per_replica == 2);
    CHECK(step.modules[2].ranks_per_replica == 4);
}

TEST_CASE("a single module on all ranks has the same MFU as a step without modules") {
    const breakdown work = work_of(1 << 14, 1 << 15);
    const std::vector<step_module> item{
        {.name = "language", .ranks = ranks_from(0, 12), .work = work, .peak_tflops = 989}};
    const module_utilization step = utilize(item, twelve_ranks);
    tally batch;
    batch.add(sequence{1 << 15});
    const utilization plain = utilize(work, batch, twelve_ranks);
    CHECK(step.idle_ranks == 0);
    for (const double mfu : {step.mfu, step.allocated_mfu, step.mixed_precision_mfu, step.modules[0].mfu}) {
        CHECK(mfu == Approx(plain.mfu).epsilon(1e-15));
    }
    CHECK(step.padded_mfu == Approx(plain.padded_mfu).epsilon(1e-15));
    CHECK(step.hfu == Approx(plain.hfu).epsilon(1e-15));
    CHECK(step.doubt == plain.doubt);
}

TEST_CASE("a step of several modules explains in a sentence why its rates are implausible") {
    const auto doubt = [](std::uint64_t width, counted_passes counted, double seconds) {
        const std::vector<step_module> single_module{{.name = "language",
                                                      .ranks = ranks_from(0, 12),
                                                      .work = work_of(width, 1 << 15, counted),
                                                      .peak_tflops = 989}};
        return utilize(single_module, {.seconds = seconds, .gpus = 12, .peak_tflops = 989}).doubt;
    };
    const double needed = to_double(work_of(1 << 14, 1 << 15).total()) / 12 / 989e12;
    CHECK(doubt(1 << 14, counted_passes::train, 2 * needed).empty());
    CHECK(doubt(1 << 14, counted_passes::train, needed / 2).starts_with("more FLOPs than the peak allows"));
    CHECK(doubt(1 << 14, counted_passes::train, 5000 * needed).starts_with("an MFU below 0.1 %"));
    CHECK(doubt(1 << 14, counted_passes::forward, 5000 * needed).empty());
}

TEST_CASE("two modules that each reach their peak on the same ranks have an MFU of 1 together") {
    // Half of the time in bf16, half of it in fp8, on 4 ranks of 1000 and 2000 TFLOPS.
    const auto at_peak = [](const char* name, double peak, std::uint64_t width) {
        return step_module{.name = name,
                           .ranks = ranks_from(0, 4),
                           .work = work_of(width, 1 << 15, counted_passes::forward),
                           .peak_tflops = peak};
    };
    const std::vector<step_module> modules{at_peak("bf16", 1000, 1 << 13), at_peak("fp8", 2000, 1 << 13)};
    const double needed = to_double(modules[0].work.total()) * (1 / 4e15 + 1 / 8e15);
    const module_utilization step = utilize(modules, {.seconds = needed, .gpus = 4, .peak_tflops = 1000});
    CHECK(step.mixed_precision_mfu == Approx(1).epsilon(1e-14));
    // The single denominator is the higher peak for all of the time: 2 FLOPs in the time for 3.
    CHECK(step.mfu == Approx(2.0 / 3).epsilon(1e-14));
}

TEST_CASE("neither the order of modules nor that of ranks changes the utilization") {
    std::vector<step_module> modules = three_modules();
    const module_utilization first = utilize(modules, twelve_ranks);
    std::reverse(modules.begin(), modules.end());
    for (step_module& part : modules) {
        std::reverse(part.ranks.begin(), part.ranks.end());
    }
    const module_utilization second = utilize(modules, twelve_ranks);
    CHECK(first.mfu == second.mfu);
    CHECK(first.allocated_mfu == second.allocated_mfu);
    CHECK(first.useful == second.useful);
}

TEST_CASE("an invalid module of a step is an error that names the field") {
    const auto with = [](auto change, measurement step = twelve_ranks) {
        std::vector<step_module> modules = three_modules();
        change(modules, step);
        return error_of([&] { return utilize(modules, step); });
    };
    using list = std::vector<step_module>;
    CHECK(with([](list& m, measurement&) { m.clear(); }) == "modules: must list at least one module, got none");
    CHECK(with([](list& m, measurement&) { m[1].ranks.clear(); }) ==
          "modules[1].ranks: \"language\" has no ranks but " +
              to_string(three_modules()[1].work.total(view::executed)) + " FLOPs: list the ranks that run it");
    CHECK(with([](list& m, measurement&) {
              m[1].ranks.clear();
              m[1].work = {};
          }) == "modules[1].ranks: \"language\" has no ranks: list the ranks that run it");
    CHECK(with([](list& m, measurement&) { m[1].ranks[3] = 12; }) ==
          "modules[1].ranks: must be below the number of ranks, 12, got 12");
    CHECK(with([](list& m, measurement&) { m[1].ranks[3] = 2; }) ==
          "modules[1].ranks: rank 2 is listed twice: list each rank once");
    CHECK(with([](list& m, measurement&) { m[1].data_parallel_size = 3; }) ==
          "modules[1].data_parallel_size: must divide the 8 ranks of \"language\" evenly, got 3");
    CHECK(with([](list& m, measurement&) { m[1].data_parallel_size = 0; }) ==
          "modules[1].data_parallel_size: must divide the 8 ranks of \"language\" evenly, got 0");
    CHECK(with([](list& m, measurement&) { m[2].peak_tflops = 0; }) ==
          "modules[2].peak_tflops: must be a finite number above 0, got 0.000000");
    CHECK(with([](list& m, measurement&) { m[2].seconds = 0.75; }) ==
          "modules[2].seconds: must be from 0 to the 0.500000 s of the step, got 0.750000");
    CHECK(with([](list& m, measurement&) { m[2].seconds = -1; }) ==
          "modules[2].seconds: must be from 0 to the 0.500000 s of the step, got -1.000000");
    CHECK(with([](list& m, measurement&) { m[2].seconds = std::numeric_limits<double>::quiet_NaN(); }).substr(0, 19) ==
          "modules[2].seconds:");
    CHECK(with([](list& m, measurement&) { m[2].name = "vision"; }) ==
          "modules[2].name: \"vision\" is the name of two modules: give each module its own name");
    CHECK(with([](list& m, measurement&) { m[2].name = "language"; }) ==
          "modules[2].name: \"language\" is the name of two modules: give each module its own name");
    CHECK(with([](list& m, measurement&) { m[2].frozen = true; }) ==
          "modules[2].frozen: \"critic\" is frozen, but its work contains " +
              to_string(three_modules()[2].work.get(view::padded, phase::backward_weights)) +
              " FLOPs of weight gradients: count it with a plan that freezes its weights");
    CHECK(with([](list&, measurement& step) { step.seconds = 0; }) ==
          "seconds: must be a finite number above 0, got 0.000000");
    CHECK(with([](list&, measurement& step) { step.peak_tflops = -1; }) ==
          "peak_tflops: must be a finite number above 0, got -1.000000");
    CHECK(with([](list&, measurement& step) { step.gpus = 0; }) == "gpus: must be at least 1, got 0");
}

}  // namespace module_utilization_test
