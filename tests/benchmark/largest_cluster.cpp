// SPDX-License-Identifier: Apache-2.0
//
// A year of steps on 131 072 ranks, simulated by one process: what each part of the library takes in time of a CPU,
// keeps in the memory of a rank, sends and exports. Prints a table; the process ends with 1 where a number is not what
// it must be. On an AMD EPYC, g++ 12.2 at -O2, 2026-11-26:
//
// | part | CPU seconds | bytes on a rank | bytes sent | series |
// | --- | ---: | ---: | ---: | ---: |
// | layout of every rank, its coordinates and back | 0.003 | 128 |  |  |
// | tally of a step, summed over all ranks | 0.315 | 1136 | 592 |  |
// | work of each of the 128 ranks that differ (tp x pp) | 0.008 | 1384 |  |  |
// | FLOPs of 1 048 576 samples | 0.017 | 16781360 |  |  |
// | these samples to 131 072 ranks | 0.293 | 11534528 |  |  |
// | their exchange as one rank plans it | 0.036 | 37749632 | 41664 |  |
// | 512 pipelines of 16 ranks, 5 chunks and 512 microbatches | 0.742 | 200 |  |  |
// | imbalance from the work of every rank | 0.000 | 152 | 32 |  |
// | a meter's 6 307 200 steps | 1.167 | 66384 |  |  |
// | its state, saved and resumed | 0.000 | 509 |  |  |
// | its metrics, from the one rank that logs | 0.001 |  |  | 26 |
//
// What grows with the samples or the ranks is what each rank needs to find the same assignment, and the counts of an
// all-to-all: it goes with the step.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <malloc.h>
#include <new>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/balance/balance.hpp>
#include <floptally/balance/balance_report.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/balance/sample_loads.hpp>
#include <floptally/floptally.hpp>
#include <floptally/json/meter_json.hpp>
#include <floptally/parallel/imbalance.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/open_metrics.hpp>
#include <floptally/step/pipelines.hpp>
#include <floptally/text/table.hpp>

#include "../../examples/workloads.hpp"

namespace {
std::uint64_t live_bytes = 0;  // of the heap
}

void* operator new(std::size_t size) {
    void* const memory = std::malloc(size);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    live_bytes += malloc_usable_size(memory);
    return memory;
}
void operator delete(void* memory) noexcept {
    live_bytes -= malloc_usable_size(memory);
    std::free(memory);
}
void operator delete(void* memory, std::size_t /*size*/) noexcept { operator delete(memory); }

namespace {

using namespace floptally;

constexpr std::uint64_t world = 131'072;
constexpr parallel_sizes sizes{.dp = 512, .cp = 2, .tp = 8, .pp = 16};
constexpr std::uint64_t step_seconds = 5;
constexpr std::uint64_t steps_of_a_year = 365 * 86'400 / step_seconds;

void require(bool is_so, const char* what) {
    if (!is_so) {
        std::fprintf(stderr, "%s: not what it must be\n", what);
        std::exit(1);
    }
}

double seconds_of(const std::function<void()>& work) {
    const std::clock_t begin = std::clock();
    work();
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// The memory of what is made after it: the object's own and its heap.
class kept_memory {
  public:
    template <class... Made>
    [[nodiscard]] std::uint64_t of(const Made&... made) const {
        return (sizeof made + ...) + (live_bytes - before_);
    }

  private:
    std::uint64_t before_ = live_bytes;
};

/// One line of the table; what a part has not is empty.
struct line {
    std::string part;
    double seconds = 0;                       ///< of one CPU, for all ranks unless it says one
    std::optional<std::uint64_t> kept{};      ///< bytes on a rank
    std::optional<std::uint64_t> sent{};      ///< bytes that a rank sends in a step
    std::optional<std::uint64_t> exported{};  ///< series of all ranks together
};

/// Adds messages up, as a collective would.
struct adds_messages {
    std::vector<std::uint64_t> accumulators{};
    void sum(std::span<std::uint64_t> message) {
        accumulators.resize(message.size());
        for (std::size_t i = 0; i < message.size(); ++i) {
            accumulators[i] += message[i];
            message[i] = accumulators[i];
        }
    }
    void max(std::span<std::uint64_t> /*message*/) const {}  // all ranks agree
};

line layouts() {
    const kept_memory memory;
    const parallel_layout first(sizes, world, 0);
    const std::uint64_t remaining = memory.of(first);
    std::uint64_t members = 0;
    const double seconds = seconds_of([&] {
        for (std::uint64_t rank = 0; rank < world; ++rank) {
            const parallel_layout layout = first.at(rank);
            require(layout.rank_of(layout.coordinates()) == rank, "coordinates");
            members += layout.size(parallel_axis::dp);
        }
    });
    require(members == world * sizes.dp, "groups");
    return {"layout of every rank, its coordinates and back", seconds, remaining};
}

line reduction(const flop_counter& model) {
    const parallel_layout first(sizes, world, 0);
    tally whole{model.masks()};
    std::vector<tally> of_replicas;
    for (std::uint64_t replica = 0; replica < sizes.dp; ++replica) {
        tally& mine = of_replicas.emplace_back(model.masks());
        mine.add({.length = static_cast<std::uint32_t>(4096 + replica)});
        whole += mine;
    }
    adds_messages over;
    const double seconds = seconds_of([&] {
        for (std::uint64_t rank = 0; rank < world; ++rank) {
            const parallel_layout layout = first.at(rank);
            const verified_sum checked_sum(layout, detail::scoped_accumulators(whole, scopes::microbatch));
            std::vector<std::uint64_t> message =
                checked_sum.message(of_replicas[layout.coordinate(parallel_axis::dp)].accumulators());
            over.sum(message);
        }
    });
    const kept_memory memory;
    const tally_reduction sum_of_ranks(model, scopes::microbatch, first, over);
    const std::uint64_t expected = memory.of(sum_of_ranks);
    require(sum_of_ranks.global(over.accumulators) == whole, "sum over ranks");
    return {"tally of a step, summed over all ranks", seconds, expected,
            over.accumulators.size() * sizeof(std::uint64_t)};
}

line work_of_ranks(const std::vector<model_part>& model, const flop_counter& whole) {
    tally batch{whole.masks()};
    batch.add({.length = 8192});
    flops sum;
    std::uint64_t bytes_held = 0;
    const double seconds = seconds_of([&] {
        for (std::uint64_t rank = 0; rank < sizes.tp * sizes.pp; ++rank) {
            const parallel_layout layout({.tp = sizes.tp, .pp = sizes.pp}, sizes.tp * sizes.pp, rank);
            const std::vector<model_part> parts = rank_parts(model, layout);
            const kept_memory memory;
            const flop_counter mine(parts);
            bytes_held = std::max(bytes_held, memory.of(mine));
            sum += mine.total_flops(batch);
        }
    });
    require(sum == whole.total_flops(batch), "work of ranks");
    return {"work of each of the 128 ranks that differ (tp x pp)", seconds, bytes_held};
}

std::vector<line> balance_and_exchange(const flop_counter& model) {
    const std::size_t samples = 8 * static_cast<std::size_t>(world);
    const std::vector<std::uint32_t> lengths = workloads::lognormal_lengths(samples, 1000, 100, 32768, 1);
    std::vector<flops> costs;
    std::vector<line> lines;
    const kept_memory of_costs;
    double seconds = seconds_of([&] { costs = sample_costs(model, lengths); });
    lines.push_back({"FLOPs of 1 048 576 samples", seconds, of_costs.of(costs)});
    std::optional<assignment> found;
    const kept_memory of_assignment;
    seconds = seconds_of([&] { found = partition(costs, world); });
    lines.push_back({"these samples to 131 072 ranks", seconds, of_assignment.of(found)});
    std::vector<std::uint64_t> owners(samples);
    for (std::size_t i = 0; i < samples; ++i) {
        owners[i] = i % world;
    }
    std::uint64_t value = 0;
    std::uint64_t sent = 0;
    seconds = seconds_of([&] {
        const kept_memory memory;
        const exchange_plan plan(owners, found->rank_of, lengths, world, {.bytes_per_element = 4});
        const rank_exchange mine = plan.for_rank(77);
        value = memory.of(plan, mine);
        sent = mine.send.bytes();
    });
    lines.push_back({"their exchange as one rank plans it", seconds, value, sent});
    return lines;
}

line pipeline_clock(const std::vector<model_part>& model, const flop_counter& whole) {
    tally batch{whole.masks()};
    for (std::uint64_t i = 0; i < 512; ++i) {
        batch.add({.length = 8192});
    }
    pipeline_choices choices{.pp = sizes.pp, .vpp = 5, .microbatches = 512};
    for (std::uint64_t replica = 0; replica < sizes.dp; ++replica) {
        choices.loads.push_back(1000 + replica % 7);
    }
    std::optional<pipelines> result;
    const kept_memory memory;
    const double seconds =
        seconds_of([&] { result = run_pipelines(choices, model, {}, batch, 989, {}, sizes.pp * sizes.dp); });
    require(result->times.ranks == sizes.pp * sizes.dp, "pipelines");
    return {"512 pipelines of 16 ranks, 5 chunks and 512 microbatches", seconds, memory.of(result)};
}

line time_breakdown_of_imbalance() {
    std::vector<std::uint64_t> loads(world);
    for (std::size_t rank = 0; rank < world; ++rank) {
        loads[rank] = 1'000'000 + rank % 1000;
    }
    std::optional<rank_times> times;
    const kept_memory memory;
    const double seconds = seconds_of([&] { times = rank_times::of(loads); });
    require(times->ranks == world, "imbalance");
    return {"imbalance from the work of every rank", seconds, memory.of(times), 2 * sizeof(uint128)};
}

std::vector<line> meter_of_a_year(const flop_counter& model) {
    const kept_memory memory;
    meter run(model, {.gpus = world, .peak_tflops = 989, .counted = counted_for::all_gpus});
    const std::vector<std::uint32_t> lengths{8192, 4096, 700, 3300};
    const double seconds = seconds_of([&] {
        for (std::uint64_t step = 0; step < steps_of_a_year; ++step) {
            run.begin_step();
            run.microbatch().add_lengths(lengths);
            run.end_step(static_cast<double>(step_seconds));
        }
    });
    const std::uint64_t amount = memory.of(run);
    require(run.run().totals.steps == steps_of_a_year, "steps");
    std::string state;
    meter again(model, run.hardware());
    const double saved = seconds_of([&] {
        state = to_json(state_of(run)).dump();
        resume(again, read_meter_state(nlohmann::json::parse(state)));
    });
    require(again.run() == run.run(), "state");
    std::uint64_t series = 0;
    const double exported = seconds_of([&] {
        std::istringstream lines(to_open_metrics(run));
        for (std::string text; std::getline(lines, text);) {
            series += text.starts_with("#") ? 0U : 1U;
        }
    });
    return {{"a meter's 6 307 200 steps", seconds, amount},
            {"its state, saved and resumed", saved, state.size()},
            {"its metrics, from the one rank that logs", exported, std::nullopt, std::nullopt, series}};
}

std::string shown(const std::optional<std::uint64_t>& number) { return number ? std::to_string(*number) : ""; }

}  // namespace

int main() {
    const std::vector<model_part> parts = parts_of(presets::llama_3_70b);
    const flop_counter model(parts);
    std::vector<line> lines{layouts(), reduction(model), work_of_ranks(parts, model)};
    for (line& each : balance_and_exchange(model)) {
        lines.push_back(std::move(each));
    }
    lines.push_back(pipeline_clock(parts, model));
    lines.push_back(time_breakdown_of_imbalance());
    for (line& each : meter_of_a_year(model)) {
        lines.push_back(std::move(each));
    }
    std::puts("| part | CPU seconds | bytes on a rank | bytes sent | series |\n| --- | ---: | ---: | ---: | ---: |");
    for (const line& each : lines) {
        std::printf("| %s | %.3f | %s | %s | %s |\n", each.part.c_str(), each.seconds, shown(each.kept).c_str(),
                    shown(each.sent).c_str(), shown(each.exported).c_str());
    }
}
