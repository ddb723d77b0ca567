// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/waterfall/waterfall.hpp>
#include <floptally/waterfall/waterfall_metrics.hpp>
#include <floptally/waterfall/waterfall_text.hpp>
#include <floptally/waterfall/what_if.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace waterfall_test {
namespace {

using floptally::breakdown;
using floptally::rank_times;
using floptally::time_breakdown;
using floptally::waterfall;
using floptally::waterfall_line;
using floptally::waterfall_step;
using floptally::work_at_peak;

/// FLOPs that are useful, padded besides, executed besides, and recomputed.
breakdown work_of(std::string_view name, std::uint64_t useful, std::uint64_t padding = 0, std::uint64_t more = 0,
                  std::uint64_t recomputed = 0) {
    breakdown work;
    floptally::component_flops& component = work.append(floptally::component_name(name));
    component.useful[0] = useful;
    component.padded[0] = useful + padding;
    component.executed_more[1] = more;
    component.recomputed_forward = recomputed;
    return work;
}

const waterfall_line& line(const waterfall& subject, waterfall_step what) {
    for (const waterfall_line& entry : subject.lines()) {
        if (entry.step == what) {
            return entry;
        }
    }
    throw floptally::error("line", "is missing");
}

std::int64_t sum_of(const waterfall& source) {
    std::int64_t sum = 0;
    for (const waterfall_line& line : source.lines()) {
        sum += line.gpu_nanoseconds;
    }
    return sum;
}

constexpr std::uint64_t tera = 1'000'000'000'000;

/// A second of four GPUs of 100 TFLOP/s; one of them idle, a tenth of a second spent on data.
time_breakdown by_hand() {
    time_breakdown timed{.step = {.seconds = 1, .gpus = 4, .peak_tflops = 100}};
    // At its own peak: 40 TFLOP are 0.2 s at 200, 20 are 0.2 s at 100.
    timed.work = {{work_of("mlp", 40 * tera), 200},
                  {work_of("attention", 20 * tera, 10 * tera, 5 * tera, 15 * tera), 100}};
    timed.repeated = timed.work;
    timed.repeated->push_back({work_of("vision", 0, 10 * tera), 100});
    timed.masked_tiles = std::vector<work_at_peak>{{work_of("attention", 0, 0, 5 * tera), 100}};
    timed.ranks = rank_times::of(6, 12, 3);  // the largest has 6, the mean is 4
    timed.ranks->makespan = 8;
    timed.idle_gpus = 1;
    timed.apart = {{"data wait", 0.1}, {"transfer", 0}, {"optimizer", 0}, {"elementwise", 0}, {"launches", 0}};
    timed.memory_bound = {.gpu_seconds = 0, .assumed = "at 3.35 TB/s"};
    return timed;
}

}  // namespace

TEST_CASE("the lines of an MFU waterfall match a hand calculation") {
    const waterfall made(by_hand());
    const auto at = [&](waterfall_step what) { return line(made, what).gpu_nanoseconds; };
    CHECK(at(waterfall_step::useful) == 600'000'000);      // 60 TFLOP at 100 TFLOP/s
    CHECK(at(waterfall_step::precision) == -200'000'000);  // 0.4 s at their own peaks
    CHECK(at(waterfall_step::padding) == 100'000'000);
    CHECK(at(waterfall_step::fused_backward) == 50'000'000);
    CHECK(at(waterfall_step::recompute) == 150'000'000);
    CHECK(at(waterfall_step::repeated) == 100'000'000);
    CHECK(at(waterfall_step::masked_tiles) == 50'000'000);
    // Three GPUs compute for 0.9 s: 2.7 s, half of it at work, a quarter behind the largest, a quarter in the bubble.
    CHECK(at(waterfall_step::imbalance) == 675'000'000);
    CHECK(at(waterfall_step::bubble) == 675'000'000);
    CHECK(at(waterfall_step::idle_gpus) == 1'000'000'000);
    CHECK(at(waterfall_step::data_wait) == 300'000'000);
    CHECK(line(made, waterfall_step::data_wait).name == "data wait");
    CHECK(at(waterfall_step::kernels) == 1'350'000'000 - 850'000'000);
    CHECK(sum_of(made) == 4'000'000'000);
    CHECK(made.mfu() == Approx(0.15));
    CHECK(made.kernel_rate() == Approx(0.85 / 1.35));
    CHECK(line(made, waterfall_step::idle_gpus).share == Approx(0.25));
    for (const waterfall_line& entry : made.lines()) {
        CHECK(entry.is_known);
        CHECK(!entry.assumed.empty());
    }
}

TEST_CASE("the last line of a waterfall includes and names the losses that were not measured") {
    time_breakdown little{.step = {.seconds = 1, .gpus = 4, .peak_tflops = 100}};
    little.work = {{work_of("mlp", 60 * tera), 100}};
    const waterfall made(little);
    CHECK(line(made, waterfall_step::kernels).gpu_nanoseconds == 3'400'000'000);
    CHECK(
        line(made, waterfall_step::kernels).assumed ==
        "includes unknown lines: redundant work of the layout, masked tiles, imbalance between ranks, pipeline bubble, "
        "idle GPUs, exposed communication, data wait, optimizer, element-wise kernels, no kernel runs, bound by "
        "memory");
    for (const waterfall_step what :
         {waterfall_step::repeated, waterfall_step::masked_tiles, waterfall_step::imbalance, waterfall_step::bubble,
          waterfall_step::idle_gpus, waterfall_step::communication, waterfall_step::data_wait,
          waterfall_step::optimizer, waterfall_step::elementwise, waterfall_step::launches}) {
        CHECK(!line(made, what).is_known);
        CHECK(line(made, what).gpu_nanoseconds == 0);
        CHECK(line(made, what).assumed == "not known: part of the last line");
    }
    little.ranks = rank_times::of(std::vector<std::uint64_t>{3, 1, 1, 1});
    const waterfall more(little);
    CHECK(line(more, waterfall_step::imbalance).is_known);
    CHECK(!line(more, waterfall_step::bubble).is_known);
    CHECK(line(more, waterfall_step::imbalance).gpu_nanoseconds == 2'000'000'000);
}

TEST_CASE(
    "waterfall lines add up to the step time to the nanosecond, and the waterfall has the MFU of its useful FLOPs") {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> fraction(0, 1);
    const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
    for (int repeat = 0; repeat < 3000; ++repeat) {
        time_breakdown timed{.step = {.gpus = 1 + up_to(20'000), .peak_tflops = 1 + 2000 * fraction(random)}};
        const auto pieces = [&] {
            std::vector<work_at_peak> list;
            for (std::uint64_t i = 0; i <= up_to(2); ++i) {
                list.push_back({work_of("c" + std::to_string(i), 1 + up_to(std::uint64_t{1} << 60), up_to(1ULL << 58),
                                        up_to(1ULL << 57), up_to(1ULL << 58)),
                                1 + 4000 * fraction(random)});
            }
            return list;
        };
        timed.work = pieces();
        double needed = 0;
        const auto add = [&](const std::vector<work_at_peak>& list) {
            for (const work_at_peak& piece : list) {
                needed += to_double(piece.work.total(floptally::view::executed)) / 1e12 / piece.peak_tflops;
            }
        };
        if (up_to(1) == 0) {
            timed.repeated = timed.work;
            timed.repeated->push_back({work_of("again", 0, up_to(1ULL << 58)), 500});
        }
        add(timed.repeated.value_or(timed.work));
        if (up_to(1) == 0) {
            timed.masked_tiles = std::vector<work_at_peak>{{work_of("c0", 0, 0, up_to(1ULL << 57)), 700}};
            add(*timed.masked_tiles);
        }
        if (up_to(1) == 0) {
            std::vector<std::uint64_t> loads(1 + up_to(9));
            for (std::uint64_t& load : loads) {
                load = 1 + up_to(1000);
            }
            timed.ranks = rank_times::of(loads);
            if (up_to(1) == 0) {
                timed.ranks->makespan = timed.ranks->largest + up_to(500);
            }
        }
        if (timed.step.gpus > 1 && up_to(1) == 0) {
            timed.idle_gpus = up_to(timed.step.gpus - 1);
        }
        const double share = timed.ranks.value_or(rank_times{}).busy_share();
        const auto working = static_cast<double>(timed.step.gpus - timed.idle_gpus.value_or(0));
        timed.step.seconds = needed / (working * share) / (0.02 + 0.97 * fraction(random));
        for (std::uint64_t i = 0; i < up_to(3); ++i) {
            timed.apart.push_back({"apart " + std::to_string(i), timed.step.seconds * fraction(random)});
        }
        for (const floptally::time_apart& entry : timed.apart) {
            timed.step.seconds += entry.seconds;
        }
        if (timed.step.seconds * static_cast<double>(timed.step.gpus) > 4e9) {
            continue;
        }
        const waterfall made(timed);
        double shares = 0;
        for (const waterfall_line& line : made.lines()) {
            REQUIRE((line.gpu_nanoseconds >= 0 || line.step == waterfall_step::precision));
            REQUIRE(std::isfinite(line.share));
            shares += line.share;
        }
        REQUIRE(sum_of(made) == std::llround(timed.step.seconds * 1e9) * static_cast<std::int64_t>(timed.step.gpus));
        REQUIRE(shares == Approx(1));
        floptally::flops useful;
        for (const work_at_peak& piece : timed.work) {
            useful += piece.work.total(floptally::view::useful);
        }
        REQUIRE(made.mfu() ==
                Approx(to_double(useful) / 1e12 / (timed.step.seconds * static_cast<double>(timed.step.gpus)) /
                       timed.step.peak_tflops));
        // With its own kernels the time breakdown takes the same time.
        REQUIRE(floptally::what_if(timed, made.kernel_rate()).seconds() == Approx(timed.step.seconds));
    }
}

TEST_CASE("what-if without imbalance removes the waiting for slow ranks and keeps the kernel rate") {
    const waterfall measured(by_hand());
    time_breakdown other = by_hand();
    other.ranks = {};  // neither imbalance nor bubble
    const waterfall better = what_if(other, measured.kernel_rate());
    CHECK(better.seconds() == Approx(0.1 + 0.9 / 2));
    CHECK(better.mfu() == Approx(0.15 / 0.55));
    const waterfall bound = what_if(other, 1);
    CHECK(bound.seconds() == Approx(0.1 + 0.85 / 3));
    CHECK(line(bound, waterfall_step::kernels).gpu_nanoseconds == 0);
    CHECK(error_of([&] { static_cast<void>(what_if(other, 0)); }) ==
          "kernel_rate: must be a finite number above 0, got 0.000000");
    CHECK(error_of([&] { static_cast<void>(what_if(other, 1.5)); }) == "kernel_rate: must be at most 1, got 1.500000");
    other.idle_gpus = 4;
    CHECK(error_of([&] { static_cast<void>(what_if(other, 1)); }) == "idle_gpus: must be fewer than the 4 GPUs, got 4");
}

namespace {

/// A cluster that is played: each GPU works, then waits inside its communication for the one that works longest, then
/// all transfer. Seconds by GPU.
struct played_step {
    double seconds = 0;        ///< of the step
    double communication = 0;  ///< a GPU's mean time in communication, waiting and transfer
    double waiting = 0;        ///< of it
};
played_step play(const std::vector<double>& works, double transfer, double besides) {
    const double longest = *std::max_element(works.begin(), works.end());
    played_step simulated_step{.seconds = longest + transfer + besides};
    for (const double work : works) {
        simulated_step.waiting += (longest - work) / static_cast<double>(works.size());
    }
    simulated_step.communication = simulated_step.waiting + transfer;
    return simulated_step;
}

}  // namespace

TEST_CASE(
    "exposed communication is one waterfall line, and the time in which ranks wait for others is not counted twice") {
    std::mt19937_64 random(83);
    for (int repeat = 0; repeat < 300; ++repeat) {
        std::vector<std::uint64_t> loads(1 + random() % 8);
        std::vector<double> works;
        std::uint64_t sum = 0;
        for (std::uint64_t& load : loads) {
            load = 1 + random() % 1000;
            sum += load;
            works.push_back(static_cast<double>(load) / 1000);
        }
        const auto gpus = static_cast<double>(loads.size());
        const double transfer = static_cast<double>(random() % 500) / 1000;
        const double optimizer = static_cast<double>(random() % 100) / 1000;
        const played_step played = play(works, transfer, optimizer);
        time_breakdown timed{.step = {.seconds = played.seconds, .gpus = loads.size(), .peak_tflops = 100}};
        // Kernels reach half of their peak.
        timed.work = {{work_of("mlp", sum * (tera / 1000) * 50), 100}};
        timed.ranks = rank_times::of(loads);
        timed.apart = {{"exposed_communication", played.communication}, {"Optimizer", optimizer}};
        const waterfall made(timed);
        const auto seconds = [&](waterfall_step what) { return line(made, what).share * played.seconds; };
        CAPTURE(repeat, loads.size(), transfer);
        REQUIRE(std::abs(seconds(waterfall_step::imbalance) - played.waiting) < 1e-9);
        REQUIRE(std::abs(seconds(waterfall_step::communication) - transfer) < 1e-9);
        REQUIRE(std::abs(seconds(waterfall_step::optimizer) - optimizer) < 1e-9);
        REQUIRE(std::abs(made.kernel_rate() - 0.5) < 1e-9);
        REQUIRE(std::abs(seconds(waterfall_step::kernels) - static_cast<double>(sum) / 2000 / gpus) < 1e-9);
        // Transfer that was told apart before is the same account.
        timed.apart[0] = {"transfer", transfer};
        const waterfall told(timed);
        for (std::size_t i = 0; i < told.lines().size(); ++i) {
            REQUIRE(std::abs(told.lines()[i].share - made.lines()[i].share) < 1e-9);
        }
        // Even work: nobody waits, and what is transferred stays.
        timed.apart[0] = {"exposed_communication", played.communication};
        time_breakdown even = timed;
        even.ranks = rank_times::of(std::vector<std::uint64_t>(loads.size(), 1));
        const played_step then =
            play(std::vector<double>(loads.size(), static_cast<double>(sum) / 1000 / gpus), transfer, optimizer);
        REQUIRE(std::abs(what_if(even, made).seconds() - then.seconds) < 1e-9);
    }
}

TEST_CASE("a note says that the communication line of a waterfall includes waiting if the waiting time is unknown") {
    time_breakdown timed{.step = {.seconds = 1, .gpus = 2, .peak_tflops = 100}};
    timed.work = {{work_of("mlp", 60 * tera), 100}};
    timed.apart = {{"NCCL", 0.25}, {"reading", 0.05}};
    const waterfall made(timed);
    CHECK(line(made, waterfall_step::communication).gpu_nanoseconds == 500'000'000);
    CHECK(line(made, waterfall_step::communication).assumed == "measured; waiting for other ranks included");
    CHECK(line(made, waterfall_step::apart).name == "reading");
    // 0.7 s of kernels are three quarters of 0.9333 s, which leave 0.0167 of 0.95 to transfer.
    timed.ranks = rank_times::of(std::vector<std::uint64_t>{2, 1});
    const waterfall more(timed);
    CHECK(line(more, waterfall_step::communication).gpu_nanoseconds == 33'333'333);
    CHECK(line(more, waterfall_step::communication).assumed == "measured; without the waiting that lines above show");
    timed.ranks = rank_times::of(std::vector<std::uint64_t>{9, 1});
    const waterfall most(timed);
    CHECK(line(most, waterfall_step::communication).gpu_nanoseconds == 0);
    CHECK(line(most, waterfall_step::imbalance).gpu_nanoseconds == std::llround(2 * 0.95 * 4 / 9 * 1e9));
    CHECK(sum_of(most) == 2'000'000'000);
    time_breakdown timed_step = floptally::with_one_gpu_defaults(
        {.step = {.seconds = 1, .gpus = 1, .peak_tflops = 100}, .work = {{work_of("mlp", 60 * tera), 100}}});
    CHECK(line(waterfall(timed_step), waterfall_step::communication).is_known);
    CHECK(line(waterfall(timed_step), waterfall_step::communication).assumed == "one GPU has nobody to talk to");
}

TEST_CASE("what-if without changes equals the measurement, and its upper bound is at least the measured MFU") {
    std::mt19937_64 random(81);
    std::uniform_real_distribution<double> fraction(0, 1);
    const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
    std::size_t capped = 0;
    for (int repeat = 0; repeat < 3000; ++repeat) {
        time_breakdown timed{.step = {.gpus = 1 + up_to(64), .peak_tflops = 1 + 2000 * fraction(random)}};
        timed.work = {{work_of("a", 1 + up_to(1ULL << 50), up_to(1ULL << 48), up_to(1ULL << 47), up_to(1ULL << 48)),
                       1 + 2000 * fraction(random)},
                      {work_of("b", 1 + up_to(1ULL << 50)), 1 + 2000 * fraction(random)}};
        if (up_to(1) == 0) {
            timed.masked_tiles = std::vector<work_at_peak>{{work_of("a", 0, 0, up_to(1ULL << 47)), 700}};
        }
        if (up_to(1) == 0) {
            std::vector<std::uint64_t> loads(1 + up_to(9));
            for (std::uint64_t& load : loads) {
                load = 1 + up_to(1000);
            }
            timed.ranks = rank_times::of(loads);
            if (up_to(1) == 0) {
                timed.ranks->makespan = timed.ranks->largest + up_to(500);
            }
        }
        timed.idle_gpus = up_to(2) == 0 ? std::optional(up_to(timed.step.gpus - 1)) : std::nullopt;
        const double needed = floptally::detail::executed_seconds(timed) + floptally::detail::tile_seconds(timed);
        const double working = static_cast<double>(timed.step.gpus - timed.idle_gpus.value_or(0));
        const double kernels = needed / working / (0.02 + 0.97 * fraction(random));
        const double busy = timed.ranks.value_or(rank_times{}).busy_share();
        for (const char* name : {"exposed_communication", "transfer", "data wait", "mine"}) {
            if (up_to(1) == 0) {
                timed.apart.push_back({name, kernels * fraction(random)});
            }
        }
        timed.step.seconds = kernels / busy + floptally::detail::seconds_apart(timed);
        if (up_to(1) == 0) {  // bytes that need more than is left, less, or nothing
            timed.memory_bound = {
                .gpu_seconds = kernels * working * 2 * fraction(random) * static_cast<double>(up_to(3)),
                .assumed = "bytes"};
        }
        const waterfall measured(timed);
        capped += measured.memory_share() < 1 ? 1 : 0;
        CAPTURE(repeat);
        const waterfall same = what_if(timed, measured);
        REQUIRE(same.seconds() == Approx(measured.seconds()).epsilon(1e-9));
        REQUIRE(same.mfu() == Approx(measured.mfu()).epsilon(1e-9));
        REQUIRE(same.kernel_rate() == Approx(measured.kernel_rate()).epsilon(1e-9));
        for (std::size_t i = 0; i < same.lines().size(); ++i) {
            REQUIRE(std::abs(same.lines()[i].share - measured.lines()[i].share) < 1e-9);
        }
        const waterfall bound = what_if(timed, measured, 1);
        REQUIRE(bound.mfu() >= measured.mfu() * (1 - 1e-9));
        // Less waiting and fewer bytes are never slower.
        time_breakdown better = timed;
        better.ranks = {};
        REQUIRE(what_if(better, measured).seconds() <= measured.seconds() * (1 + 1e-9));
    }
    CHECK(capped > 200);
}

TEST_CASE("memory-bound time has its own waterfall line before the last line and is not part of the kernel line") {
    time_breakdown timed = by_hand();
    timed.memory_bound.reset();
    const waterfall without(timed);
    const waterfall_line& unknown = line(without, waterfall_step::memory_bound);
    CHECK(!unknown.is_known);
    CHECK(unknown.gpu_nanoseconds == 0);
    const std::int64_t rest = line(without, waterfall_step::kernels).gpu_nanoseconds;
    REQUIRE(rest > 30'000'000);
    CHECK(without.lines().back().assumed == "includes unknown lines: bound by memory");

    timed.memory_bound = {.gpu_seconds = 0.03, .assumed = "at 3.35 TB/s"};
    const waterfall made(timed);
    CHECK(made.lines()[made.lines().size() - 2].step == waterfall_step::memory_bound);
    CHECK(line(made, waterfall_step::memory_bound).gpu_nanoseconds == 30'000'000);
    CHECK(line(made, waterfall_step::memory_bound).assumed == "at 3.35 TB/s");
    CHECK(line(made, waterfall_step::kernels).gpu_nanoseconds == rest - 30'000'000);
    CHECK(std::abs(line(made, waterfall_step::kernels).share * 4e9 - static_cast<double>(rest - 30'000'000)) < 1);
    CHECK(made.kernel_rate() > without.kernel_rate());
    CHECK(std::abs(what_if(timed, made.kernel_rate()).seconds() - 1) < 1e-9);

    timed.memory_bound->gpu_seconds = 100;  // more than there is
    const waterfall capped(timed);
    CHECK(line(capped, waterfall_step::memory_bound).gpu_nanoseconds == rest);
    CHECK(line(capped, waterfall_step::memory_bound).assumed ==
          "the whole rest: fewer bytes were moved than are counted");
    CHECK(line(capped, waterfall_step::kernels).gpu_nanoseconds == 0);
    CHECK(sum_of(capped) == 4'000'000'000);

    timed.memory_bound->gpu_seconds = -1;
    CHECK(error_of([&] { waterfall{timed}; }) ==
          "memory_bound: must be a number of seconds, at least 0, got -1.000000");
}

TEST_CASE("the waterfall of a model has lines for padding, recomputed work and redundant work") {
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    floptally::training_plan plan;
    plan.recomputed = floptally::recompute::full;
    const floptally::flop_counter cost(model, floptally::conventions::exact, plan);
    floptally::tally batch{cost.masks()};
    batch.add_cu_seqlens(std::vector<std::int32_t>{0, 3000, 8000}, std::vector<std::int32_t>{0, 3072, 8192}, 1);
    const breakdown work = cost.evaluate(batch);
    time_breakdown timed{.step = {.seconds = 2, .gpus = 1, .peak_tflops = 989.4}};
    timed.work = {{work, 989.4}};
    const waterfall outcome(timed);
    const auto seconds = [](floptally::flops amount) { return to_double(amount) / 989.4e12; };
    CHECK(line(outcome, waterfall_step::useful).share * 2 == Approx(seconds(work.total())));
    CHECK(line(outcome, waterfall_step::precision).gpu_nanoseconds == 0);
    CHECK(line(outcome, waterfall_step::padding).share * 2 ==
          Approx(seconds(work.total(floptally::view::padded)) - seconds(work.total())));
    CHECK(line(outcome, waterfall_step::recompute).share * 2 ==
          Approx(seconds(work.get(floptally::view::executed, floptally::phase::recompute))));
}

TEST_CASE("an invalid time breakdown is an error that names the field") {
    const auto refused = [](auto change) {
        time_breakdown timed = by_hand();
        change(timed);
        return error_of([&] { static_cast<void>(waterfall(timed)); });
    };
    CHECK(refused([](time_breakdown&) {}) == "no error");
    CHECK(refused([](time_breakdown& a) { a.work.clear(); }) == "work: must not be empty: pass the FLOPs of the step");
    CHECK(refused([](time_breakdown& a) { a.idle_gpus = 4; }) == "idle_gpus: must be fewer than the 4 GPUs, got 4");
    CHECK(refused([](time_breakdown& a) { a.work[0].peak_tflops = 0; }) ==
          "peak_tflops: must be a finite number above 0, got 0.000000");
    CHECK(refused([](time_breakdown& a) { a.step.seconds = std::nan(""); }) ==
          "seconds: must be a finite number above 0, got nan");
    CHECK(refused([](time_breakdown& a) { a.step.gpus = 0; }) == "gpus: must be at least 1, got 0");
    CHECK(refused([](time_breakdown& a) { a.apart[0].seconds = -1; }) ==
          "apart[0]: \"data wait\" must be from 0 to the 1.0000 s of the step, got -1.000000");
    CHECK(refused([](time_breakdown& a) {
              a.apart.push_back({"checkpoint", 0.9});
          }) ==
          "apart: takes 1.0000 s of the step's 1.0000 s, so that no time is left for its work: check these times");
    CHECK(
        refused([](time_breakdown& a) { a.step.seconds = 0.5; }) ==
        "seconds: the work needs 0.2125 s of each GPU at its peak, but only 0.1500 of 0.5000 s are left for it: check "
        "the times, the peak and the number of GPUs");
    CHECK(refused([](time_breakdown& a) { a.step.seconds = 1e10; }) ==
          "seconds: seconds x gpus must be below 2^62 nanoseconds, got 40000000000.0 s");
    CHECK(refused([](time_breakdown& a) { a.repeated = a.masked_tiles; }) ==
          "repeated: must have at least as many FLOPs as `work`: count the same step with a plan that lists `repeated` "
          "work");
}

TEST_CASE("waterfall metrics have logger-safe names, and their values add up to the peak") {
    time_breakdown timed = by_hand();
    timed.apart = {{"data wait", 0.1}, {"my wait", 0.05}, {"my|wait", 0.05}};
    timed.idle_gpus = {};
    const waterfall result(timed);
    std::vector<std::string> names;
    double sum = 0;
    for (const floptally::metric& logged : floptally::metrics(result, "w/")) {
        names.push_back(logged.name);
        sum += logged.name.ends_with("_pct") && !logged.name.starts_with("w/kernel_rate") ? logged.value : 0;
        CHECK(logged.convention == "exact");
    }
    CHECK(names == std::vector<std::string>{"w/mfu_pct", "w/precision_pct", "w/padding_pct", "w/fused_backward_pct",
                                            "w/recompute_pct", "w/repeated_pct", "w/masked_tiles_pct",
                                            "w/imbalance_pct", "w/bubble_pct", "w/data_wait_pct", "w/apart/my_wait_pct",
                                            "w/apart/my_wait_2_pct", "w/memory_bound_pct", "w/kernels_pct",
                                            "w/kernel_rate_pct", "w/step_seconds"});
    CHECK(sum == Approx(100));
    CHECK(floptally::metrics(result).front().value == Approx(100 * result.mfu()));
}

TEST_CASE("user-defined names of waterfall lines are escaped in Markdown tables") {
    time_breakdown timed = by_hand();
    timed.apart = {{"a|b\nc", 0.1}};
    const std::string text = floptally::to_markdown(waterfall(timed));
    CHECK(text.find("\n| a\\|b c | 75.000 | -7.50 | measured |\n") != std::string::npos);
    CHECK(text.find("\n| **measured MFU** | 150.000 | 15.00 | ") != std::string::npos);
}

TEST_CASE("the waterfall of one GPU notes that there is no other rank to wait for") {
    time_breakdown timed{.step = {.seconds = 1, .gpus = 1, .peak_tflops = 100}};
    timed.work = {{work_of("mlp", 60 * tera), 100}};
    const waterfall predicted(floptally::with_one_gpu_defaults(timed));
    for (const waterfall_line& entry : predicted.lines()) {
        INFO(entry.name);
        const bool of_others = entry.step == waterfall_step::repeated || entry.step == waterfall_step::imbalance ||
                               entry.step == waterfall_step::bubble || entry.step == waterfall_step::idle_gpus ||
                               entry.step == waterfall_step::communication;
        CHECK((entry.is_known || !of_others));
        CHECK((!of_others || entry.gpu_nanoseconds == 0));
    }
    CHECK(line(predicted, waterfall_step::kernels).gpu_nanoseconds == 400'000'000);
    timed.ranks = rank_times::of(std::vector<std::uint64_t>{3});
    CHECK(!floptally::with_one_gpu_defaults(timed).ranks->makespan);
    timed.step.gpus = 2;
    CHECK(!floptally::with_one_gpu_defaults(timed).idle_gpus);
}

TEST_CASE(
    "the kernel rate of a waterfall excludes memory-bound and named time, and the waterfall lists unknown losses") {
    // 2 s of one GPU: 0.5 s apart, 0.6 s bound by memory, and 0.9 s in which 45 of 90 TFLOP are run.
    time_breakdown timed{.step = {.seconds = 2, .gpus = 1, .peak_tflops = 100}};
    timed.work = {{work_of("mlp", 45 * tera), 100}};
    timed.apart = {{"optimizer", 0.5}};
    timed.memory_bound = {.gpu_seconds = 0.6};
    const waterfall step_lines(timed);
    CHECK(step_lines.kernel_rate() == Approx(0.5));
    CHECK(step_lines.memory_share() == 1);
    CHECK(step_lines.unknown().front() == "redundant work of the layout");
    CHECK(step_lines.unknown().size() == 9);
    // A memory twice as fast saves its own time, and kernels stay as they are; their peak twice as high, theirs alone.
    timed.memory_bound->gpu_seconds = 0.3;
    CHECK(what_if(timed, step_lines).seconds() == Approx(1.7));
    timed.memory_bound->gpu_seconds = 0.6;
    timed.work[0].peak_tflops = 200;
    CHECK(what_if(timed, step_lines).seconds() == Approx(1.55));
    // More bytes than there was time for: kernels are at their peak, and the share of the bytes says it.
    timed.work[0].peak_tflops = 100;
    timed.memory_bound->gpu_seconds = 2.1;
    const waterfall clipped(timed);
    CHECK(clipped.kernel_rate() == Approx(1));
    CHECK(clipped.memory_share() == Approx(0.5));
    CHECK(what_if(timed, clipped).seconds() == Approx(2));
}

TEST_CASE("sorting a waterfall by cost lists its known lines from largest to smallest with bars") {
    time_breakdown timed = by_hand();
    timed.apart = {{"data wait", 0.1}, {"odd|name", 0.05}};
    const waterfall steps(timed);
    const floptally::table shown = floptally::table_by_cost(steps);
    const auto& rows = shown.sections.front().rows;
    CHECK(rows.front().front().text == "measured MFU");
    std::int64_t last = INT64_MAX;
    std::size_t expected = 1;
    for (const floptally::waterfall_line& each_line : steps.lines().subspan(1)) {
        expected += each_line.is_known && each_line.gpu_nanoseconds > 0 ? 1 : 0;
    }
    REQUIRE(rows.size() == expected);
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const std::int64_t cost = std::stoll(rows[i][1].exact);
        CHECK(cost <= last);
        last = cost;
        const auto signs = static_cast<double>(rows[i][3].text.size());
        CHECK(rows[i][3].text == std::string(rows[i][3].text.size(), '#'));
        CHECK(std::abs(signs - std::stod(rows[i][2].text) * 0.4) <= 0.51);
    }
    const auto causes = floptally::largest_causes(steps);
    REQUIRE(causes.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(rows[i + 1].front().text == causes[i].name);
    }
    CHECK(shown.notes.size() == 3);
    CHECK(shown.notes.front().starts_with(causes.front().name + ": usually helps: "));
    CHECK(floptally::to_table_by_cost(steps).find("\nodd|name") != std::string::npos);
}

TEST_CASE("the bubble line of a waterfall warns if 1F1B would end sooner") {
    time_breakdown timed = by_hand();
    timed.ranks = rank_times{.largest = 3, .sum = 5, .ranks = 2, .makespan = 4};
    CHECK(line(waterfall(timed), waterfall_step::bubble).assumed == "the same; messages take no time");
    timed.ranks->is_after_one_f_one_b = true;
    CHECK(line(waterfall(timed), waterfall_step::bubble).assumed ==
          "the same; messages take no time; 1F1B of these layers would end sooner");
}

}  // namespace waterfall_test
