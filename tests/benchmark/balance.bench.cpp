// SPDX-License-Identifier: Apache-2.0
//
// Samples to ranks: what a step pays before its exchange, beside the Karmarkar-Karp of verl and recsys-examples, which
// is compiled with it (public_balancers.hpp).

#include <benchmark/benchmark.h>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/balance/balance.hpp>
#include <floptally/balance/balance_report.hpp>
#include <floptally/balance/sample_loads.hpp>
#include <floptally/floptally.hpp>

#include "../../examples/workloads.hpp"
#include "../public_balancers.hpp"

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

/// The benchmark of the public algorithm.
void public_karmarkar_karp(benchmark::State& state, bool equal_size) {
    std::vector<std::uint64_t> costs;
    for (const flops cost :
         costs_of(static_cast<std::size_t>(state.range(0)), static_cast<std::uint32_t>(state.range(2)))) {
        costs.push_back(static_cast<std::uint64_t>(cost.value()));
    }
    const auto ranks = static_cast<std::size_t>(state.range(1));
    for (auto _ : state) {
        public_balancers::ranks_of_samples found = public_balancers::karmarkar_karp(costs, ranks, equal_size);
        benchmark::DoNotOptimize(found);
    }
    const assignment found = assigned(costs, public_balancers::karmarkar_karp(costs, ranks, equal_size), ranks);
    state.counters["max/mean"] = max_over_mean(spreads_of(found));
}

void sizes(benchmark::internal::Benchmark* subject) {
    subject->Unit(benchmark::kMicrosecond);
    for (const std::int64_t sigma : {50, 100}) {
        subject->Args({64, 8, sigma})->Args({512, 64, sigma})->Args({4096, 256, sigma})->Args({16384, 512, sigma});
    }
}

/// Free, their partial partitions have a subset for each rank: 4096 samples on 256 ranks take 0.04 s and 16 384 on 512
/// more than is measured here.
void small_sizes(benchmark::internal::Benchmark* source) {
    source->Unit(benchmark::kMicrosecond);
    for (const std::int64_t sigma : {50, 100}) {
        source->Args({64, 8, sigma})->Args({512, 64, sigma});
    }
}

BENCHMARK_CAPTURE(balance, equal_count, balance_mode::equal_count)->Apply(sizes);
BENCHMARK_CAPTURE(public_karmarkar_karp, equal_count, true)->Apply(sizes);
BENCHMARK_CAPTURE(balance, free, balance_mode::free)->Apply(sizes);
BENCHMARK_CAPTURE(public_karmarkar_karp, free, false)->Apply(small_sizes);

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
