// SPDX-License-Identifier: Apache-2.0
//
// Schedules against a clock that ticks: at each tick every rank goes on with its pass, or begins its next one if all
// that this needs has ended; and against the bubbles that the papers state for equal stages.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/rank_times.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "golden.hpp"
#include "pipeline_simulation.hpp"

namespace pipeline_schedule_test {
namespace {

using floptally::chunk_work;
using floptally::pipeline_order;
using floptally::pipeline_pass;
using floptally::pipeline_run;
using floptally::pipeline_schedule;
using floptally::rank_times;
using kind = pipeline_pass::kind;

constexpr pipeline_schedule all_schedules[] = {pipeline_schedule::gpipe, pipeline_schedule::one_f_one_b,
                                               pipeline_schedule::interleaved, pipeline_schedule::zero_bubble,
                                               pipeline_schedule::zb_v};

/// Tick by tick; a pass of no length ends at the tick at which it begins.
pipeline_run ticked(const pipeline_order& order, const std::vector<chunk_work>& work, bool split) {
    const std::uint64_t chunks = order.chunks();
    std::set<std::tuple<kind, std::uint64_t, std::uint64_t>> ended;
    const auto has = [&](kind what, std::uint64_t chunk, std::uint64_t microbatch) {
        return ended.count({what, chunk, microbatch}) > 0;
    };
    const auto may_begin = [&](const pipeline_pass& pass) {
        switch (pass.type) {
            case kind::forward:
                return pass.chunk == 0 || has(kind::forward, pass.chunk - 1, pass.microbatch);
            case kind::backward_data:
                return has(kind::forward, pass.chunk, pass.microbatch) &&
                       (pass.chunk + 1 == chunks || has(kind::backward_data, pass.chunk + 1, pass.microbatch));
            case kind::backward_weights:
                return has(kind::backward_data, pass.chunk, pass.microbatch);
        }
        return false;
    };
    const auto length_of = [&](const pipeline_pass& pass) {
        const chunk_work& subject =
            work.size() == chunks ? work[pass.chunk] : work[pass.microbatch * chunks + pass.chunk];
        return pass.type == kind::forward            ? subject.forward
               : pass.type == kind::backward_weights ? subject.backward_weights
                                                     : subject.backward_data + (split ? 0 : subject.backward_weights);
    };
    const std::size_t ranks = order.ranks().size();
    pipeline_run run{0, std::vector<std::uint64_t>(ranks, 0)};
    std::vector<std::size_t> next(ranks, 0);
    std::vector<std::uint64_t> left(ranks, 0);
    std::vector<bool> runs(ranks, false);
    for (std::uint64_t now = 0;; ++now) {
        // Passes end now and others begin because of it, until nothing changes at this tick.
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const auto& own = order.ranks()[rank];
                if (runs[rank] && left[rank] == 0) {
                    const pipeline_pass& each_pass = own[next[rank]++];
                    ended.insert({each_pass.type, each_pass.chunk, each_pass.microbatch});
                    runs[rank] = false;
                    run.makespan = now;
                    changed = true;
                }
                if (!runs[rank] && next[rank] < own.size() && may_begin(own[next[rank]])) {
                    left[rank] = length_of(own[next[rank]]);
                    run.busy[rank] += left[rank];
                    runs[rank] = true;
                    changed = true;
                }
            }
        }
        bool any = false;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            any = any || runs[rank];
            left[rank] -= runs[rank] ? 1U : 0U;
        }
        if (!any) {
            return run;
        }
    }
}

std::uint64_t vpp_of(pipeline_schedule how, std::uint64_t vpp) {
    return how == pipeline_schedule::interleaved ? vpp : how == pipeline_schedule::zb_v ? 2 : 1;
}

}  // namespace

TEST_CASE("the time of a pipeline with unequal stages equals a simulation by clock ticks") {
    std::mt19937_64 random(7);
    const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
    for (const pipeline_schedule how : all_schedules) {
        for (std::uint64_t pp = 1; pp <= 5; ++pp) {
            for (int repeat = 0; repeat < 12; ++repeat) {
                const std::uint64_t vpp = vpp_of(how, 1 + up_to(2));
                const std::uint64_t microbatches =
                    how == pipeline_schedule::interleaved ? pp * (1 + up_to(3)) : 1 + up_to(9);
                const pipeline_order order(how, pp, vpp, microbatches);
                std::vector<chunk_work> work(repeat % 2 == 0 ? order.chunks() : order.chunks() * microbatches);
                for (chunk_work& chunk : work) {
                    chunk = {up_to(6), up_to(6), up_to(6)};
                }
                const pipeline_run counted = order.run(work);
                const pipeline_run expected = ticked(order, work, floptally::splits_backward(how));
                CAPTURE(static_cast<int>(how), pp, vpp, microbatches);
                REQUIRE(counted.makespan == expected.makespan);
                REQUIRE(counted.busy == expected.busy);
            }
        }
    }
}

TEST_CASE("each pipeline rank runs every pass of its model chunks once") {
    for (const pipeline_schedule how : all_schedules) {
        for (std::uint64_t pp = 1; pp <= 6; ++pp) {
            const std::uint64_t vpp = vpp_of(how, 3);
            const pipeline_order order(how, pp, vpp, 2 * pp);
            for (std::uint64_t rank = 0; rank < pp; ++rank) {
                std::set<std::tuple<kind, std::uint64_t, std::uint64_t>> seen;
                for (const pipeline_pass& pass : order.ranks()[rank]) {
                    CHECK((how == pipeline_schedule::zb_v && pass.chunk >= pp ? 2 * pp - 1 - pass.chunk
                                                                              : pass.chunk % pp) == rank);
                    CHECK(pass.microbatch < 2 * pp);
                    CHECK(seen.insert({pass.type, pass.chunk, pass.microbatch}).second);
                }
                CHECK(seen.size() == (floptally::splits_backward(how) ? 3 : 2) * vpp * 2 * pp);
            }
        }
    }
}

TEST_CASE("bubbles of pipelines with stages of equal length match the published formulas") {
    const chunk_work one{3, 4, 2};
    const std::uint64_t all = one.forward + one.backward_data + one.backward_weights;
    for (const std::uint64_t pp : {1U, 2U, 4U, 8U}) {
        for (const std::uint64_t microbatches : {pp, 2 * pp, 4 * pp}) {
            const auto bubble = [&](pipeline_schedule how, std::uint64_t vpp) {
                const std::vector<chunk_work> work(pp * vpp, one);
                return pipeline_order(how, pp, vpp, microbatches).run(work).makespan - microbatches * vpp * all;
            };
            CAPTURE(pp, microbatches);
            CHECK(bubble(pipeline_schedule::gpipe, 1) == (pp - 1) * all);
            CHECK(bubble(pipeline_schedule::one_f_one_b, 1) == (pp - 1) * all);
            // With chunks of 1/vpp of a stage the bubble is smaller by vpp (arXiv:2104.04473, section 2.2.2).
            CHECK(bubble(pipeline_schedule::interleaved, 2) == (pp - 1) * all);
            CHECK(bubble(pipeline_schedule::interleaved, 4) == (pp - 1) * all);
            // arXiv:2401.10241, table 2: (p - 1)(T_F + T_B - T_W).
            CHECK(bubble(pipeline_schedule::zero_bubble, 1) ==
                  (pp - 1) * (one.forward + one.backward_data - one.backward_weights));
        }
    }
}

TEST_CASE("1F1B and ZB-H1 store as many microbatches as Megatron runs in its warm-up, and GPipe stores all") {
    for (const pipeline_schedule how :
         {pipeline_schedule::gpipe, pipeline_schedule::one_f_one_b, pipeline_schedule::zero_bubble}) {
        const std::uint64_t pp = 4;
        const pipeline_order order(how, pp, 1, 12);
        for (std::uint64_t rank = 0; rank < pp; ++rank) {
            std::uint64_t held = 0;
            std::uint64_t most = 0;
            for (const pipeline_pass& pass : order.ranks()[rank]) {
                held += pass.type == kind::forward ? 1U : 0U;
                held -= pass.type == kind::backward_data ? 1U : 0U;
                most = std::max(most, held);
            }
            CHECK(most == (how == pipeline_schedule::gpipe ? 12 : pp - rank));
        }
    }
}

namespace {

pipeline_simulation::result simulated(const pipeline_order& order, const std::vector<chunk_work>& work, bool split) {
    return pipeline_simulation::simulate(
        {order.ranks().begin(), order.ranks().end()}, order.chunks(), split, [&](const pipeline_pass& pass) {
            const chunk_work& source =
                work.size() == order.chunks() ? work[pass.chunk] : work[pass.microbatch * order.chunks() + pass.chunk];
            return static_cast<double>(pass.type == kind::forward            ? source.forward
                                       : pass.type == kind::backward_weights ? source.backward_weights
                                       : split                               ? source.backward_data
                                               : source.backward_data + source.backward_weights);
        });
}

}  // namespace

TEST_CASE("pipeline schedules equal those of torch.distributed.pipelining") {
    const nlohmann::json file = golden("pipelines.json");
    std::size_t compared = 0;
    for (const nlohmann::json& expected : file["orders"]) {
        const std::string name = expected["schedule"];
        const pipeline_schedule how = name == "zb_v"          ? pipeline_schedule::zb_v
                                      : name == "zero_bubble" ? pipeline_schedule::zero_bubble
                                                              : pipeline_schedule::interleaved;
        const std::uint64_t pp = expected["pp"];
        const pipeline_order order(how, pp, expected["vpp"], expected["microbatches"]);
        for (std::uint64_t rank = 0; rank < pp; ++rank) {
            std::string text;
            for (const pipeline_pass& pass : order.ranks()[rank]) {
                text += (text.empty() ? "" : " ");
                text += "FBW"[static_cast<std::size_t>(pass.type)];
                text += std::to_string(pass.chunk) + "." + std::to_string(pass.microbatch);
            }
            CAPTURE(name, pp, rank, order.microbatches());
            REQUIRE(text == expected["ranks"][rank]);
        }
        ++compared;
    }
    CHECK(compared == 60);
}

TEST_CASE("zero-bubble schedules store the activations of 1F1B plus those for delayed weight gradients") {
    for (const std::uint64_t pp : {1U, 2U, 4U, 8U}) {
        for (const std::uint64_t microbatches : {pp, 2 * pp, std::uint64_t{64}}) {
            const auto most = [&](pipeline_schedule how, const chunk_work& element) {
                const std::uint64_t vpp = vpp_of(how, 1);
                const pipeline_order order(how, pp, vpp, microbatches);
                const auto made = simulated(order, std::vector<chunk_work>(pp * vpp, element), splits_backward(how));
                // An order holds as much at any times.
                CHECK(order.most_held(std::vector<std::uint64_t>(pp * vpp, 1)) == made.held);
                for (std::uint64_t chunk = 0; chunk < pp * vpp; ++chunk) {
                    const pipeline_pass first{kind::forward, chunk, 0};
                    const auto& own = order.ranks()[order.rank_of(chunk)];
                    CHECK(std::find(own.begin(), own.end(), first) != own.end());
                }
                return *std::max_element(made.held.begin(), made.held.end());
            };
            CAPTURE(pp, microbatches);
            for (const chunk_work item : {chunk_work{1, 1, 1}, chunk_work{2, 3, 1}, chunk_work{3, 2, 2}}) {
                CHECK(most(pipeline_schedule::one_f_one_b, item) == pp);
                CHECK(most(pipeline_schedule::zero_bubble, item) == pp);
                CHECK(most(pipeline_schedule::zb_v, item) <= 2 * pp);  // of half the layers each
            }
        }
    }
}

TEST_CASE("ZB-V ranks with equal loads and three equally long passes have no bubble after their start") {
    for (const std::uint64_t pp : {1U, 2U, 4U, 8U}) {
        for (const std::uint64_t microbatches : {2 * pp, 3 * pp, std::uint64_t{64}}) {
            const pipeline_order order(pipeline_schedule::zb_v, pp, 2, microbatches);
            const auto made = simulated(order, std::vector<chunk_work>(2 * pp, {1, 1, 1}), true);
            for (std::uint64_t rank = 0; rank < pp; ++rank) {
                CAPTURE(pp, microbatches, rank);
                CHECK(made.busy[rank] == static_cast<double>(6 * microbatches));
                CHECK(made.span[rank] == made.busy[rank]);
            }
        }
    }
}

TEST_CASE("ZB-H1 fitted to measured pass times never ends after 1F1B and stores no more activations than 1F1B") {
    std::mt19937_64 random(17);
    const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
    std::size_t sooner = 0;
    std::size_t published_later = 0;
    std::size_t v_later = 0;
    double published_worst = 1;
    double v_worst = 1;
    for (int repeat = 0; repeat < 600; ++repeat) {
        const std::uint64_t pp = 1 + up_to(7);
        const std::uint64_t microbatches = 1 + up_to(20);
        const bool alike = repeat % 3 == 0;
        std::vector<chunk_work> work(alike ? pp : pp * microbatches);
        for (chunk_work& chunk : work) {
            const std::uint64_t small = up_to(2);  // one pass may be far shorter than the others
            chunk = {up_to(small == 0 ? 1 : 20), up_to(small == 1 ? 1 : 20), up_to(small == 2 ? 1 : 20)};
        }
        const pipeline_order plain(pipeline_schedule::one_f_one_b, pp, 1, microbatches);
        const pipeline_order outcome =
            pipeline_order::fitted(pipeline_schedule::zero_bubble, pp, 1, microbatches, work);
        const auto first = simulated(plain, work, false);
        const auto second = simulated(outcome, work, true);
        CAPTURE(pp, microbatches, repeat);
        REQUIRE(static_cast<double>(outcome.run(work).makespan) == second.makespan);
        REQUIRE(second.makespan <= first.makespan);
        sooner += second.makespan < first.makespan ? 1 : 0;
        for (std::uint64_t rank = 0; rank < pp; ++rank) {
            REQUIRE(second.held[rank] <= std::min(pp, microbatches));
        }
        const pipeline_order published(pipeline_schedule::zero_bubble, pp, 1, microbatches);
        const auto compare = [&](double end, std::size_t& later, double& worst) {
            later += end > first.makespan ? 1 : 0;
            worst = std::max(worst, first.makespan > 0 ? end / first.makespan : 1);
        };
        compare(simulated(published, work, true).makespan, published_later, published_worst);
        // The same layers in a V: each stage of 1F1B is two chunks of it, cut anywhere.
        std::vector<chunk_work> halves;
        for (const chunk_work& stage : work) {
            const chunk_work half{up_to(stage.forward), up_to(stage.backward_data), up_to(stage.backward_weights)};
            halves.push_back(half);
            halves.push_back({stage.forward - half.forward, stage.backward_data - half.backward_data,
                              stage.backward_weights - half.backward_weights});
        }
        compare(simulated(pipeline_order(pipeline_schedule::zb_v, pp, 2, microbatches), halves, true).makespan, v_later,
                v_worst);
    }
    CHECK(sooner > 300);
    // Published orders know no work, which is why there is a fitted one; docs/waterfall.md has these numbers.
    CHECK(published_later == 33);
    CHECK(std::lround(100 * (published_worst - 1)) == 9);
    CHECK(v_later == 102);
    CHECK(std::lround(100 * (v_worst - 1)) == 38);
}

TEST_CASE("ZB-H1 fitted to pass times has the published order unless another order ends sooner") {
    const std::vector<chunk_work> work(4, {1, 1, 0});
    const pipeline_order published(pipeline_schedule::zero_bubble, 4, 1, 6);
    const pipeline_order fitted_order = pipeline_order::fitted(pipeline_schedule::zero_bubble, 4, 1, 6, work);
    for (std::size_t rank = 0; rank < 4; ++rank) {
        CHECK(fitted_order.ranks()[rank] == published.ranks()[rank]);
    }
}

TEST_CASE("the interleaved pipeline order is Megatron-LM's") {
    // pp 2, two chunks a rank, 4 microbatches. Rank 0 warms up with 2·(2-1-0) + (2-1)·2 = 4 forward passes: both of its
    // chunks (0 and 2) with microbatches 0 and 1; then microbatches 2 and 3 while the first ones come back.
    const pipeline_order order(pipeline_schedule::interleaved, 2, 2, 4);
    std::string text;
    for (const pipeline_pass& pass : order.ranks()[0]) {
        text += (pass.type == kind::forward ? "F" : "B") + std::to_string(pass.chunk) + "." +
                std::to_string(pass.microbatch) + " ";
    }
    CHECK(text == "F0.0 F0.1 F2.0 F2.1 F0.2 B2.0 F0.3 B2.1 F2.2 B0.0 F2.3 B0.1 B2.2 B2.3 B0.2 B0.3 ");
}

TEST_CASE("an impossible pipeline schedule is an error that names the field") {
    const auto make = [](pipeline_schedule how, std::uint64_t pp, std::uint64_t vpp, std::uint64_t microbatches) {
        return error_of([&] { static_cast<void>(pipeline_order(how, pp, vpp, microbatches)); });
    };
    CHECK(make(pipeline_schedule::one_f_one_b, 0, 1, 4) == "pp: must be at least 1, got 0");
    CHECK(make(pipeline_schedule::one_f_one_b, 2, 1, 0) == "microbatches: must be at least 1, got 0");
    CHECK(make(pipeline_schedule::interleaved, 2, 0, 4) == "vpp: must be at least 1, got 0");
    CHECK(make(pipeline_schedule::one_f_one_b, 2, 2, 4) == "vpp: must be 1 in the schedule \"1f1b\", got 2");
    CHECK(make(pipeline_schedule::zb_v, 2, 1, 4) == "vpp: must be 2 in the schedule \"zb_v\", got 1");
    CHECK(make(pipeline_schedule::interleaved, 4, 2, 6) ==
          "microbatches: must be a multiple of pp, 4, in the interleaved schedule, got 6");
    CHECK(make(pipeline_schedule::gpipe, 4096, 1, 65536) ==
          "microbatches: microbatches x pp x vpp must be at most 16777216, got 268435456");
    const std::vector<chunk_work> three(3);
    CHECK(error_of([&] { static_cast<void>(pipeline_order(pipeline_schedule::one_f_one_b, 2, 1, 4).run(three)); }) ==
          "work: must have one value for each of the 2 chunks, or for each chunk of each of the 4 microbatches, got 3");
    const std::vector<std::uint64_t> sizes(3, 1);
    CHECK(error_of([&] {
              static_cast<void>(pipeline_order(pipeline_schedule::one_f_one_b, 2, 1, 4).most_held(sizes));
          }) == "sizes: must have one size for each of 2 chunks, got 3");
    const std::vector<chunk_work> huge(2, {~std::uint64_t{0} / 2, 0, 0});
    CHECK(error_of([&] {
              static_cast<void>(pipeline_order(pipeline_schedule::one_f_one_b, 2, 1, 4).run(huge));
          }).find("does not fit 64 bits") != std::string::npos);
}

TEST_CASE("work, waiting for other ranks and waiting due to the pass order add up to the pipeline's time") {
    const std::vector<chunk_work> work = {{2, 3, 1}, {4, 6, 2}, {1, 1, 1}};
    const std::vector<pipeline_run> two = {pipeline_order(pipeline_schedule::one_f_one_b, 3, 1, 5).run(work),
                                           pipeline_order(pipeline_schedule::one_f_one_b, 3, 1, 7).run(work)};
    const rank_times all = rank_times::of(two);
    CHECK(all.ranks == 6);
    CHECK(all.sum == 12 * (6 + 12 + 3));
    CHECK(all.largest == 7 * 12);
    REQUIRE(all.makespan);
    CHECK(*all.makespan == two[1].makespan);
    CHECK(all.busy_share() + all.imbalance_share() + all.bubble_share() == Approx(1));
    CHECK(all.bubble_share() == Approx(1 - 84.0 / static_cast<double>(two[1].makespan)));

    const std::vector<std::uint64_t> loads = {6, 2, 4};
    const rank_times uneven = rank_times::of(loads);
    CHECK(uneven.busy_share() == Approx(4.0 / 6));
    CHECK(uneven.imbalance_share() == Approx(2.0 / 6));
    CHECK(uneven.bubble_share() == 0);
    CHECK(!uneven.makespan);

    CHECK(error_of([] { static_cast<void>(rank_times::of(5, 9, 1)); }) ==
          "ranks: the largest work of 1 ranks must lie between the mean and the sum of their work, got 5 with a sum of "
          "9");
    CHECK(error_of([] { static_cast<void>(rank_times::of(2, 9, 4)); }) ==
          "ranks: the largest work of 4 ranks must lie between the mean and the sum of their work, got 2 with a sum of "
          "9");
    CHECK(error_of([] { static_cast<void>(rank_times::of(0, 0, 4)); }) ==
          "ranks: at least one rank must have work, got none");
    CHECK(error_of([] { static_cast<void>(rank_times::of(1, 1, 0)); }) == "ranks: must be at least 1, got 0");
    // The largest work of ranks that are as alike as whole numbers can be, and of one that does all of it.
    for (const std::uint64_t sum : {7U, 8U, 9U}) {
        CHECK(rank_times::of(3, sum, 3).largest == 3);
        CHECK(error_of([&] { static_cast<void>(rank_times::of(2, sum, 3)); }).starts_with("ranks: the largest work"));
        CHECK(rank_times::of(sum, sum, 3).largest == sum);
    }
    CHECK_FALSE(rank_times::of(3, 9, 3).is_after_one_f_one_b);
}

}  // namespace pipeline_schedule_test
