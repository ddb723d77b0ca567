// SPDX-License-Identifier: Apache-2.0
// A meter over two ranks. Each rank counts its own microbatches, and every step ends with one sum over both. The ranks
// are threads of one process here, so that the program runs anywhere. A real job uses a reducer over MPI or NCCL.
// docs/extending.md explains the parts, docs/meter.md the meter.

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>
#include <floptally/reduction.hpp>

using namespace floptally;

/// Tokens first … last − 1 of a file.
struct document {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

/// The documents of a data loader as a batch, each in a slot of a multiple of 64 tokens.
struct file_ranges {
    using sample = sequence;
    static constexpr std::uint64_t longest = 131072;
    std::span<const document> documents;

    template <class Visit>
    constexpr void each(Visit visit) const {
        for (const document& text : documents) {
            const std::uint64_t tokens = text.last - text.first;
            if (text.last < text.first || tokens > longest) {
                throw error("documents", "must have 0 to " + std::to_string(longest) + " tokens, got " +
                                             std::to_string(text.first) + " to " + std::to_string(text.last));
            }
            visit(sequence{.length = static_cast<std::uint32_t>(tokens)},
                  sequence{.length = static_cast<std::uint32_t>((tokens + 63) / 64 * 64)});
        }
    }
};
static_assert(batch_source<file_ranges>);

/// The barrier of the ranks, with the integers of each rank.
struct thread_group {
    explicit thread_group(std::size_t ranks) : meet(static_cast<std::ptrdiff_t>(ranks)), integers(ranks) {}

    std::barrier<> meet;
    std::vector<std::span<const std::uint64_t>> integers;
};

/// The reducer of one rank. It sums integers with the other ranks.
class thread_reducer {
  public:
    thread_reducer(thread_group& all, std::size_t rank) : all_(&all), rank_(rank) {}

    void sum(std::span<std::uint64_t> integers) {
        combine(integers, [](std::uint64_t a, std::uint64_t b) { return a + b; });
    }
    void max(std::span<std::uint64_t> integers) {
        combine(integers, [](std::uint64_t a, std::uint64_t b) { return std::max(a, b); });
    }

  private:
    template <class Operation>
    void combine(std::span<std::uint64_t> integers, Operation combined) {
        all_->integers[rank_] = integers;
        all_->meet.arrive_and_wait();  // all ranks have written
        std::vector<std::uint64_t> result(integers.size(), 0);
        for (const std::span<const std::uint64_t> theirs : all_->integers) {
            std::transform(theirs.begin(), theirs.end(), result.begin(), result.begin(), combined);
        }
        all_->meet.arrive_and_wait();  // all ranks have read
        std::copy(result.begin(), result.end(), integers.begin());
    }

    thread_group* all_;
    std::size_t rank_;
};
static_assert(integer_reducer<thread_reducer>);

namespace {

constexpr std::uint64_t ranks = 2;
constexpr std::uint64_t steps_of_run = 3;

/// The documents of a rank in a step. They differ between ranks.
std::vector<document> documents_of(std::uint64_t rank, std::uint64_t step) {
    std::vector<document> mine;
    for (std::uint64_t i = 0; i < 8; ++i) {
        const std::uint64_t first = (step * ranks + rank) * 100'000 + i * 10'000;
        mine.push_back({first, first + 900 + 1000 * rank + 77 * i});
    }
    return mine;
}

/// The program of each rank.
flops train(thread_group& all, std::uint64_t rank) {
    const parallel_layout layout({.dp = ranks}, ranks, rank);
    thread_reducer everyone(all, rank);

    const flop_counter model(presets::llama_3_8b.cost());
    const tally_reduction reduction(model, scopes::microbatch, layout, everyone);
    meter steps(model, {.peak_tflops = 989}, reduction.by(everyone));

    for (std::uint64_t step = 0; step < steps_of_run; ++step) {
        steps.begin_step();
        const std::vector<document> documents = documents_of(rank, step);
        const std::span<const document> all_of_them(documents);
        steps.microbatch().add(file_ranges{all_of_them.first(4)});
        steps.microbatch().add(file_ranges{all_of_them.last(4)});
        steps.end_step(0.8);  // seconds; a collective: every rank gets the totals of all
        if (rank == 0) {
            std::printf("step %llu: %s FLOPs, %s\n", static_cast<unsigned long long>(step),
                        to_string(steps.last_step().useful).c_str(), steps.counted().c_str());
        }
    }
    if (rank == 0) {
        for (const metric& logged : metrics(steps, steps.run(), "train/")) {
            std::printf("%-34s %12.3f  %s, %s\n", logged.name.c_str(), logged.value,
                        std::string(logged.convention).c_str(), std::string(logged.counted).c_str());
        }
    }
    return steps.run().totals.useful;
}

}  // namespace

int main() {
    thread_group all(ranks);
    std::vector<flops> totals(ranks);
    std::vector<std::thread> threads;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&all, &totals, rank] { totals[rank] = train(all, rank); });
    }
    for (std::thread& rank : threads) {
        rank.join();
    }

    // All documents, counted by one rank.
    const flop_counter model(presets::llama_3_8b.cost());
    tally everything{model.masks()};
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        for (std::uint64_t step = 0; step < steps_of_run; ++step) {
            everything.add(file_ranges{documents_of(rank, step)});
        }
    }
    for (const flops total : totals) {
        if (total != model.total_flops(everything)) {
            std::printf("a rank has %s, all documents are %s\n", to_string(total).c_str(),
                        to_string(model.total_flops(everything)).c_str());
            return 1;
        }
    }
}
