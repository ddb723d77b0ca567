// SPDX-License-Identifier: Apache-2.0
// Prints the table of docs/balance.md: compares ways to assign samples to ranks on different workloads.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include <floptally/balance.hpp>
#include <floptally/floptally.hpp>

#include "visual_loads.hpp"
#include "workloads.hpp"

namespace {

using floptally::assignment;
using floptally::balance_seed;
using floptally::flop_counter;
using floptally::flops;

constexpr std::size_t samples_per_rank = 8;

/// Costs of samples, one number or two for each.
struct workload {
    std::string name;
    std::vector<flops> costs;
    std::size_t loads;
};

workload of_text(const std::string& name, const std::vector<std::uint32_t>& lengths) {
    static const flop_counter model(floptally::presets::llama_3_8b.cost());
    return {name, floptally::sample_costs(model, lengths), 1};
}

workload of_images(const std::string& name, const std::vector<workloads::visual_sample>& samples) {
    return {name, workloads::loads_of(samples), 2};
}

/// Assigns samples by descending cost (all loads together) in snake order: first rank … last, last … first, and again.
assignment snake(const workload& work, std::size_t ranks) {
    const std::size_t count = work.costs.size() / work.loads;
    std::vector<flops> sums(count);
    for (std::size_t i = 0; i < work.costs.size(); ++i) {
        sums[i / work.loads] += work.costs[i];
    }
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    std::vector<std::uint32_t> rank_of(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = i % (2 * ranks);
        rank_of[order[i]] = static_cast<std::uint32_t>(place < ranks ? place : 2 * ranks - 1 - place);
    }
    return floptally::assigned(work.costs, rank_of, ranks, work.loads);
}

void print_row(const workload& work, std::size_t ranks) {
    const auto seed = [&](balance_seed which) {
        return floptally::partition(work.costs, ranks, {.seed = which, .loads = work.loads, .budget = 0});
    };
    std::printf("| %s | %zu", work.name.c_str(), ranks);
    for (const assignment& found :
         {floptally::contiguous(work.costs, ranks, work.loads), snake(work, ranks), seed(balance_seed::longest_first),
          seed(balance_seed::differencing), floptally::partition(work.costs, ranks, {.loads = work.loads})}) {
        std::printf(" | %.4f", floptally::max_over_mean(floptally::spreads_of(found)));
    }
    std::printf(" |\n");
}

}  // namespace

int main() {
    std::printf("| workload | ranks | contiguous | snake | LPT | Karmarkar-Karp | floptally |\n");
    std::printf("| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (const std::size_t ranks : {8U, 64U}) {
        const std::size_t count = samples_per_rank * ranks;
        print_row(of_text("lognormal lengths", workloads::lognormal_lengths(count, 1000, 80, 8192, 1)), ranks);
        print_row(of_text("Zipf lengths", workloads::zipf_lengths(count, 8192, 2)), ranks);
        print_row(of_images("0 to 8 images", workloads::image_counts(count, 3)), ranks);
        print_row(of_images("receipts", workloads::receipts(count, 4)), ranks);
    }
}
