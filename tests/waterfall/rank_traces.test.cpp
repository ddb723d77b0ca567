// SPDX-License-Identifier: Apache-2.0
//
// Traces of several ranks, against a cluster that is played: ranks compute for random times and meet in collectives,
// each of which ends on all of them together.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/waterfall.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace rank_traces_test {
namespace {

using floptally::breakdown;
using floptally::rank_line;
using floptally::rank_traces;
using floptally::trace;
using floptally::trace_event;
using floptally::trace_kind;
using floptally::waterfall_step;

struct played_rank {
    trace made{};
    std::int64_t computing = 0;
    std::int64_t optimizer = 0;
    std::int64_t transfer = 0;
    std::int64_t waiting = 0;
    std::int64_t idle = 0;
    std::int64_t hidden = 0;
    std::int64_t end = 0;
    std::uint64_t launches = 0;

    /// A span of the host around launches, and a kernel that is launched in it at the same moment.
    void run(const std::string& name, const std::string& module, std::int64_t begin, std::int64_t length,
             std::uint32_t stream, std::uint32_t collective = 0) {
        const auto add = [&](trace_kind what, const std::string& key, std::int64_t from, std::int64_t until,
                             std::uint32_t lane) -> trace_event& {
            made.names.push_back(key);
            made.events.push_back({.kind = what,
                                   .name = static_cast<std::uint32_t>(made.names.size() - 1),
                                   .lane = lane,
                                   .begin = from,
                                   .end = until});
            return made.events.back();
        };
        add(trace_kind::annotation, module, begin, begin + 1, 0);
        add(trace_kind::launch, "cudaLaunchKernel", begin, begin + 1, 0).correlation = ++launches;
        trace_event& kernel = add(trace_kind::kernel, name, begin, begin + length, stream);
        kernel.correlation = launches;
        kernel.collective = collective;
    }
};

breakdown mlp_work(std::uint64_t flops) {
    breakdown work;
    floptally::component_flops& component = work.append("mlp");
    component.useful[0] = component.padded[0] = flops;
    return work;
}

}  // namespace

TEST_CASE("traces of several ranks separate waiting from transfer and name the slowest ranks") {
    std::mt19937_64 random(820);
    const auto up_to = [&](std::int64_t most) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    for (int repeat = 0; repeat < 100; ++repeat) {
        std::vector<played_rank> ranks(2 + random() % 5);
        for (std::int64_t layer = 0; layer < 1 + up_to(8); ++layer) {
            std::int64_t last = 0;
            std::vector<std::int64_t> came;
            for (played_rank& rank : ranks) {
                const std::int64_t nothing = 2 + up_to(50);
                const std::int64_t work = 10 + up_to(1000);
                rank.run("gemm", "model.layers.0.mlp", rank.end + nothing, work, 7);
                rank.idle += nothing;
                rank.computing += work;
                came.push_back(rank.end + nothing + work);
                last = std::max(last, came.back());
            }
            const std::int64_t transfer = 5 + up_to(200);
            // Some of the transfer may be hidden by a kernel that begins with it on the last rank's clock.
            for (std::size_t i = 0; i < ranks.size(); ++i) {
                played_rank& rank = ranks[i];
                const bool has_group = layer % 2 == 0;
                std::uint32_t group = 0;
                if (has_group) {
                    rank.made.names.push_back("allreduce 0 [0, 1]");
                    group = static_cast<std::uint32_t>(rank.made.names.size());
                }
                rank.run("ncclDevKernel_AllReduce", "comm", came[i], last - came[i] + transfer, 20, group);
                rank.waiting += last - came[i];
                rank.transfer += transfer;
                const std::int64_t beside = up_to(1) * std::min<std::int64_t>(transfer - 3, 1 + up_to(100));
                if (beside > 0) {
                    rank.run("gemm", "model.layers.1.mlp", last + 2, beside, 7);
                    rank.computing += beside;
                    rank.transfer -= beside;
                    rank.hidden += beside;
                }
                rank.end = last + transfer;
            }
        }
        // Clocks of ranks have nothing in common.
        std::vector<trace> traces;
        for (played_rank& rank : ranks) {
            rank.optimizer = 3 + up_to(100);
            rank.run("multi_tensor_apply", "Optimizer.step#AdamW.step", rank.end, rank.optimizer, 7);
            rank.end += rank.optimizer;
            const std::int64_t shift = up_to(1'000'000);
            trace shifted = rank.made;
            for (trace_event& event : shifted.events) {
                event.begin += shift;
                event.end += shift;
            }
            // The step is as long as all of it: a mark on the host from the beginning to the end.
            shifted.names.push_back("ProfilerStep#1");
            shifted.events.push_back({.kind = trace_kind::annotation,
                                      .name = static_cast<std::uint32_t>(shifted.names.size() - 1),
                                      .begin = shift,
                                      .end = shift + rank.end});
            traces.push_back(shifted);
        }
        const breakdown work = mlp_work(1'000'000);
        const rank_traces all_traces(traces);
        const std::vector<rank_line> lines = all_traces.lines(work);
        CAPTURE(repeat, ranks.size());
        double end = 0;
        double computing = 0;
        double waiting = 0;
        double transfer = 0;
        double largest = 0;
        for (std::size_t i = 0; i < ranks.size(); ++i) {
            const auto is = [](double seconds, std::int64_t nanoseconds) {
                return std::abs(seconds * 1e9 - static_cast<double>(nanoseconds)) < 1e-3;
            };
            REQUIRE(is(lines[i].seconds, ranks[i].end));
            REQUIRE(is(lines[i].computing, ranks[i].computing));
            REQUIRE(is(lines[i].waiting, ranks[i].waiting));
            REQUIRE(is(lines[i].transfer, ranks[i].transfer));
            REQUIRE(is(lines[i].other, ranks[i].optimizer));
            REQUIRE(is(lines[i].idle, ranks[i].idle));
            REQUIRE(is(lines[i].hidden, ranks[i].hidden));
            end += static_cast<double>(ranks[i].end);
            computing += static_cast<double>(ranks[i].computing);
            waiting += static_cast<double>(ranks[i].waiting);
            transfer += static_cast<double>(ranks[i].transfer);
            largest = std::max(largest, static_cast<double>(ranks[i].computing));
        }
        // The waterfall of the whole: each line is a mean over the ranks.
        const auto count = static_cast<double>(ranks.size());
        floptally::time_breakdown timed{
            .step = {.seconds = all_traces.seconds(), .gpus = ranks.size(), .peak_tflops = 1e5}};
        timed.work = {{work, 1e5}};
        timed.apart = all_traces.apart(work);
        timed.ranks = all_traces.times(work);
        const floptally::waterfall whole(timed);
        const auto share = [&](waterfall_step what) {
            for (const floptally::waterfall_line& line : whole.lines()) {
                if (line.step == what) {
                    return line.share;
                }
            }
            return -1.0;
        };
        REQUIRE(std::abs(all_traces.seconds() * 1e9 - end / count) < 1e-3);
        REQUIRE(std::abs(share(waterfall_step::communication) - transfer / end) < 1e-3);
        // All that ranks waited, no more and no less; what of it uneven work explains is imbalance.
        REQUIRE(std::abs(share(waterfall_step::imbalance) + share(waterfall_step::bubble) - waiting / end) < 1e-6);
        REQUIRE(std::abs(share(waterfall_step::imbalance) - std::min(waiting, count * largest - computing) / end) <
                1e-6);
    }
}

TEST_CASE(
    "collectives without a match in other ranks' traces are counted, and their time is not split into waiting and "
    "transfer") {
    std::vector<played_rank> ranks(2);
    for (std::size_t i = 0; i < 2; ++i) {
        ranks[i].run("gemm", "model.layers.0.mlp", 0, 10, 7);
        ranks[i].run("ncclDevKernel_AllReduce", "comm", 10, 10 + 5 * static_cast<std::int64_t>(i), 20);
    }
    ranks[1].run("ncclDevKernel_AllReduce", "comm", 40, 10, 20);
    const rank_traces joined({ranks[0].made, ranks[1].made});
    REQUIRE(!joined.notes().empty());
    CHECK(joined.notes().back() ==
          "kernels of communication that no other trace has, so that their waiting is unknown: 3");
    CHECK(!joined.times(mlp_work(1)));
    const auto apart = joined.apart(mlp_work(1));
    CHECK(apart.front().kind == floptally::apart_kind::communication);
    CHECK(error_of([] { rank_traces({}); }) == "trace: is missing: pass the trace of at least one rank");
}

TEST_CASE("traces replace estimated times but no times that the caller passes") {
    using floptally::apart_kind;
    const floptally::traced_step traced{.apart = {{"communication", 3, apart_kind::communication, "in the trace"},
                                                  {"optimizer", 2, apart_kind::optimizer, "in the trace"}}};
    const auto times = [&](std::vector<floptally::time_apart> apart, std::uint64_t gpus) {
        std::vector<std::string> shown;
        const floptally::time_breakdown timed{.step = {10, gpus, 1}, .apart = std::move(apart)};
        for (const floptally::time_apart& time :
             floptally::with_traces(gpus == 1 ? floptally::with_one_gpu_defaults(timed) : timed, traced).apart) {
            shown.push_back(time.name + " " + std::to_string(time.seconds) + " " + time.assumed);
        }
        return shown;
    };
    using texts = std::vector<std::string>;
    const texts of_the_trace{"communication 3.000000 in the trace", "optimizer 2.000000 in the trace"};
    CHECK(times({}, 1) == of_the_trace);  // the assumption that one GPU does not communicate goes
    CHECK(times({{"estimate", 7, apart_kind::transfer, "estimated", true}}, 8) == of_the_trace);
    CHECK(times({{"all-reduce", 4, apart_kind::communication}}, 8) ==
          texts{"all-reduce 4.000000 measured", "optimizer 2.000000 in the trace"});
    CHECK(times({{"all-reduce", 4, apart_kind::communication, "from our own counters"}}, 8) ==
          texts{"all-reduce 4.000000 from our own counters", "optimizer 2.000000 in the trace"});
    CHECK(times({{"checkpoint", 1, apart_kind::other, "by hand"}}, 1) == texts{"checkpoint 1.000000 by hand",
                                                                               "communication 3.000000 in the trace",
                                                                               "optimizer 2.000000 in the trace"});
}

}  // namespace rank_traces_test
