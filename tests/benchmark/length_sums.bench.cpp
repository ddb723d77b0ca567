// SPDX-License-Identifier: Apache-2.0

// Time of length_sums beside a plain 64-bit sum over the same buffer ("plain_sum"): the ratio is what to read, since
// the times of a busy machine drift together. Sizes up to 4096 fit a cache; 2^26 come from memory.

#include <benchmark/benchmark.h>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

#include <floptally/statistics/mask.hpp>

#include "../whole_sums.hpp"

namespace {

using floptally::mask;
using floptally::mask_set;
using floptally::statistic;

template <class T>
const std::vector<T>& lengths(std::size_t n) {
    static std::vector<T> values;
    if (values.size() != n) {
        std::minstd_rand random(1);
        values.assign(n, 0);
        for (T& value : values) {
            value = static_cast<T>(1 + random() % 8000);
        }
    }
    return values;
}

/// Boundaries of n lengths. They may not pass 2^31, so many of them means short ones.
const std::vector<std::int32_t>& boundaries(std::size_t n) {
    static std::vector<std::int32_t> values;
    if (values.size() != n + 1) {
        std::minstd_rand random(1);
        const std::size_t longest = n > 200'000 ? 60 : 8000;
        values.assign(n + 1, 0);
        for (std::size_t i = 0; i < n; ++i) {
            values[i + 1] = values[i] + static_cast<std::int32_t>(1 + random() % longest);
        }
    }
    return values;
}

mask_set set_of(std::initializer_list<statistic> masks) {
    mask_set set;
    for (const statistic& m : masks) {
        set.push_back(m, "masks");
    }
    return set;
}

const mask_set no_masks;
const mask_set one_window = set_of({mask::sliding_window(4096)});
const mask_set four_windows = set_of(
    {mask::sliding_window(512), mask::sliding_window(1024), mask::sliding_window(2048), mask::sliding_window(4096)});
const mask_set chunk = set_of({mask::chunked(3000)});

void count_items(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * state.range(0)); }

template <class T>
void plain_sum(benchmark::State& state) {
    const auto& values = lengths<T>(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        const T* const data = values.data();
        benchmark::DoNotOptimize(data);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
            sum += static_cast<std::uint64_t>(data[i]);
        }
        benchmark::DoNotOptimize(&sum);
    }
    count_items(state);
}

template <class T>
void sum_lengths(benchmark::State& state, const mask_set& masks) {
    const auto& values = lengths<T>(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        const T* const data = values.data();
        benchmark::DoNotOptimize(data);
        const auto sums = whole_sums::sum_lengths(data, values.size(), masks);
        benchmark::DoNotOptimize(&sums);
    }
    count_items(state);
}

void sum_cu_seqlens(benchmark::State& state, const mask_set& masks) {
    const auto& values = boundaries(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        const std::int32_t* const data = values.data();
        benchmark::DoNotOptimize(data);
        const auto sums = whole_sums::sum_cu_seqlens(data, values.size(), masks);
        benchmark::DoNotOptimize(&sums);
    }
    count_items(state);
}

template <class... Arguments>
void add(const char* name, Arguments... arguments) {
    auto* bench = benchmark::RegisterBenchmark(name, arguments...);
    for (const std::int64_t n : {1LL, 16LL, 64LL, 4096LL, 1LL << 26}) {
        bench->Arg(n);
    }
}

}  // namespace

int main(int argc, char** argv) {
    add("int32/plain_sum", plain_sum<std::int32_t>);
    add("int32/no_masks", sum_lengths<std::int32_t>, no_masks);
    add("int32/one_window", sum_lengths<std::int32_t>, one_window);
    add("int32/four_windows", sum_lengths<std::int32_t>, four_windows);
    add("int32/chunk", sum_lengths<std::int32_t>, chunk);
    add("int32/cu_seqlens/no_masks", sum_cu_seqlens, no_masks);
    add("int32/cu_seqlens/one_window", sum_cu_seqlens, one_window);
    add("int32/cu_seqlens/four_windows", sum_cu_seqlens, four_windows);
    add("int64/plain_sum", plain_sum<std::int64_t>);
    add("int64/no_masks", sum_lengths<std::int64_t>, no_masks);
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
