// SPDX-License-Identifier: Apache-2.0
//
// The dot product: what a training step pays once.

#include <benchmark/benchmark.h>
#include <vector>

#include <floptally/floptally.hpp>

namespace {

using namespace floptally;

/// A cost of DeepSeek-V3's size: 12 components, three of them of a multi-token prediction layer. Only the number of
/// rows matters here, so the parts are stand-ins of the right kinds.
cost deepseek_sized() {
    const layer where{0, 7168, mask::causal()};
    cost sum = gqa{128, 128, 192, {}}.cost(where) + gated_mlp{18432, {}}.cost(where) +
               moe{256, 8, 2048, 2048, false, true, {}}.cost(where) + vocabulary{129280, 0, false, 0}.head_cost(7168);
    for (const char* component : {"mtp.projection", "mtp.attention", "mtp.experts", "mtp.lm_head"}) {
        sum.add(component, linear{.in_features = 7168, .out_features = 2048});
    }
    return sum;
}

tally batch_of(const mask_set& masks) {
    tally batch{masks};
    batch.add_lengths(std::vector<int>{512, 1024, 4096});
    return batch;
}

void full_breakdown(benchmark::State& state) {
    const flop_counter model(deepseek_sized());
    tally batch = batch_of(model.masks());
    for (auto _ : state) {
        benchmark::DoNotOptimize(batch);
        breakdown work = model.evaluate(batch);
        benchmark::DoNotOptimize(work);
    }
    state.counters["components"] = static_cast<double>(model.evaluate(batch).components().size());
}
BENCHMARK(full_breakdown);

void one_total(benchmark::State& state) {
    const flop_counter model(deepseek_sized());
    tally batch = batch_of(model.masks());
    for (auto _ : state) {
        benchmark::DoNotOptimize(batch);
        flops work = model.total_flops(batch);
        benchmark::DoNotOptimize(work);
    }
}
BENCHMARK(one_total);

/// A cost and a batch known at compile time are a constant: this loop loads one.
void compile_time_constant(benchmark::State& state) {
    constexpr flops work = [] {
        constexpr constant_cost model = presets::llama_3_8b.cost();
        tally batch{model.masks()};
        batch.add(sequence{.length = 8192});
        return flop_counter(model).total_flops(batch);
    }();
    for (auto _ : state) {
        flops copy = work;
        benchmark::DoNotOptimize(copy);
    }
}
BENCHMARK(compile_time_constant);

void fold_once(benchmark::State& state) {
    const cost model = deepseek_sized();
    for (auto _ : state) {
        flop_counter folded(model);
        benchmark::DoNotOptimize(folded);
    }
}
BENCHMARK(fold_once);

void cost_of_one_sample(benchmark::State& state) {
    const flop_counter model(deepseek_sized());
    sequence sample{.length = 4096};
    for (auto _ : state) {
        benchmark::DoNotOptimize(sample);
        flops work = model.total_flops(sample);
        benchmark::DoNotOptimize(work);
    }
}
BENCHMARK(cost_of_one_sample);

}  // namespace
