// SPDX-License-Identifier: Apache-2.0
//
// Adding to a tally as a training loop does: signs, order and overflow checked, both views. The unit makes a
// `flop_counter`, as every training loop does: g++ inlines less where it does.

#include <benchmark/benchmark.h>
#include <cstdint>
#include <vector>

#include <floptally/floptally.hpp>

#include "windows.hpp"

namespace {

using namespace floptally;

std::vector<std::int32_t> lengths_of(std::int64_t count) {
    std::vector<std::int32_t> lengths;
    for (std::int64_t i = 0; i < count; ++i) {
        lengths.push_back(static_cast<std::int32_t>(1 + i * 7919 % 8000));
    }
    return lengths;
}

/// range(0) sequences, range(1) windows.
void add_lengths(benchmark::State& state) {
    tally batch{windows(state.range(1))};
    const std::vector<std::int32_t> lengths = lengths_of(state.range(0));
    for (auto _ : state) {
        batch.add_lengths(lengths);
        benchmark::DoNotOptimize(batch);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(add_lengths)->ArgsProduct({{1, 16, 64, 4096}, {0, 1, 4}});

/// One line per microbatch: a packed sequence with its padding and one mock sequence.
void add_padded_row(benchmark::State& state) {
    tally batch;
    std::vector<std::int32_t> cu_seqlens{0};
    std::vector<std::int32_t> cu_seqlens_padded{0};
    for (const std::int32_t length : lengths_of(state.range(0))) {
        cu_seqlens.push_back(cu_seqlens.back() + length);
        cu_seqlens_padded.push_back(cu_seqlens_padded.back() + (length + 63) / 64 * 64);
    }
    const auto real = static_cast<std::size_t>(state.range(0) - 1);
    for (auto _ : state) {
        batch.add_cu_seqlens(cu_seqlens, cu_seqlens_padded, real);
        benchmark::DoNotOptimize(batch);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(add_padded_row)->Arg(16)->Arg(4096);

void add_one_sequence(benchmark::State& state) {
    tally batch;
    for (auto _ : state) {
        sequence sample{.length = 512};
        benchmark::DoNotOptimize(sample);
        batch.add(sample);
        benchmark::DoNotOptimize(batch);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(add_one_sequence);

void merge(benchmark::State& state) {
    tally batch{windows(4)};
    tally microbatch{windows(4)};
    microbatch.add(sequence{.length = 512});
    for (auto _ : state) {
        batch += microbatch;
        benchmark::DoNotOptimize(batch);
        benchmark::ClobberMemory();
    }
}
BENCHMARK(merge);

/// A step of a training loop: sixteen lengths, their FLOPs, and the tally as it was.
void one_step(benchmark::State& state) {
    const flop_counter model(presets::llama_3_8b.cost());
    tally batch{model.masks()};
    const std::vector<std::int32_t> lengths = lengths_of(16);
    for (auto _ : state) {
        batch.add_lengths(lengths);
        flops work = model.total_flops(batch);
        benchmark::DoNotOptimize(work);
        batch.clear();
    }
}
BENCHMARK(one_step);

}  // namespace
