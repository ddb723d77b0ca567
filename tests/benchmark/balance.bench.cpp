// SPDX-License-Identifier: Apache-2.0
//
// Samples to ranks: what a step pays before its exchange.

#include <benchmark/benchmark.h>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/balance/balance.hpp>
#include <floptally/balance/balance_report.hpp>
#include <floptally/balance/sample_loads.hpp>
#include <floptally/floptally.hpp>

#include "../../examples/workloads.hpp"

namespace {

using namespace floptally;

/// FLOPs of Llama-3-8B on lengths with a lognormal spread, `sigma` in hundredths.
std::vector<flops> costs_of(std::size_t samples, std::uint32_t sigma) {
    const flop_counter model(presets::llama_3_8b.cost());
    return sample_costs(model, workloads::lognormal_lengths(samples, 1000, sigma, 32768, 1));
}

/// Arguments: samples, ranks, sigma in hundredths.
void balance(benchmark::State& state, balance_mode mode) {
    const std::vector<flops> costs =
        costs_of(static_cast<std::size_t>(state.range(0)), static_cast<std::uint32_t>(state.range(2)));
    const auto ranks = static_cast<std::uint64_t>(state.range(1));
    for (auto _ : state) {
        assignment found = partition(costs, ranks, {.mode = mode});
        benchmark::DoNotOptimize(found);
    }
    const assignment found = partition(costs, ranks, {.mode = mode});
    state.counters["max/mean"] = max_over_mean(spreads_of(found));
}
BENCHMARK_CAPTURE(balance, equal_count, balance_mode::equal_count)
    ->Unit(benchmark::kMicrosecond)
    ->Args({16384, 512, 50})
    ->Args({16384, 512, 100})
    ->Args({512, 64, 50})
    ->Args({512, 64, 100});
BENCHMARK_CAPTURE(balance, free, balance_mode::free)
    ->Unit(benchmark::kMicrosecond)
    ->Args({16384, 512, 50})
    ->Args({16384, 512, 100})
    ->Args({512, 64, 50})
    ->Args({512, 64, 100});

void cost_of_16384_samples(benchmark::State& state) {
    const flop_counter model(presets::llama_3_8b.cost());
    const std::vector<std::uint32_t> lengths = workloads::lognormal_lengths(16384, 1000, 100, 32768, 1);
    for (auto _ : state) {
        std::vector<flops> costs = sample_costs(model, lengths);
        benchmark::DoNotOptimize(costs);
    }
}
BENCHMARK(cost_of_16384_samples)->Unit(benchmark::kMicrosecond);

}  // namespace
