// SPDX-License-Identifier: Apache-2.0
//
// Totals are compared with pairs and matmuls counted one by one; rates with one sum over another.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "markdown.hpp"
#include "thread_world.hpp"

namespace meter_test {
namespace {

using floptally::accumulator;
using floptally::counted_for;
using floptally::flops;
using floptally::meter;
using floptally::metered_hardware;
using floptally::metric;
using floptally::step_rates;
using floptally::step_totals;
using floptally::tally;
using floptally::uint128;
using floptally::view;

/// 30 FLOPs a token and 32 a pair, 16 of them QKᵀ, forward; one more mask keeps an accumulator in the tally.
floptally::cost small_model() {
    floptally::cost model;
    model.add("mlp", floptally::linear{.in_features = 3, .out_features = 5});
    const floptally::attention_core core{.num_heads = 2, .qk_head_dim = 4, .v_head_dim = 4};
    model.add("attention.core", core, floptally::mask::causal());
    model.add("attention.core", core, floptally::mask::sliding_window(3));
    return model;
}

constexpr counted_for all_gpus = counted_for::all_gpus;
const metered_hardware two_gpus{.gpus = 2, .peak_tflops = 1e-6, .counted = all_gpus};  // 10⁶ FLOP/s each

floptally::flop_counter folded() { return floptally::flop_counter(small_model()); }

struct slotted {
    std::uint32_t real;
    std::uint32_t slot;
};

/// FLOPs of `small_model` in a training step, pair by pair.
uint128 counted(const std::vector<slotted>& batch, view seen) {
    uint128 sum = 0;
    for (const slotted& sample : batch) {
        const std::int64_t length = seen == view::useful ? sample.real : sample.slot;
        for (std::int64_t query = 0; query < length; ++query) {
            sum += 3 * 30;
            for (std::int64_t key = 0; key <= query; ++key) {
                const unsigned layers = query - key < 3 ? 2 : 1;
                sum += layers * (seen == view::executed ? 3 * 32U + 16U : 3 * 32U);
            }
        }
    }
    return sum;
}

void add(tally& into, const std::vector<slotted>& batch) {
    for (const slotted& sample : batch) {
        into.add({.length = sample.real}, {.length = sample.slot});
    }
}

const std::vector<slotted> long_batch{{90, 96}, {17, 32}, {0, 8}};
const std::vector<slotted> short_batch{{5, 8}, {1, 8}};

std::vector<slotted> joined(std::vector<slotted> a, const std::vector<slotted>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

void run_step(meter& counter_of_steps, const std::vector<slotted>& batch, double seconds) {
    counter_of_steps.begin_step();
    add(counter_of_steps.microbatch(), batch);
    counter_of_steps.end_step(seconds);
}

void check_totals(const step_totals& done, const std::vector<slotted>& batch, std::uint64_t steps, double seconds) {
    tally sum{small_model().masks()};
    add(sum, batch);
    CHECK(done.steps == steps);
    CHECK(done.batch == sum);
    CHECK(done.useful == flops{counted(batch, view::useful)});
    CHECK(done.padded == flops{counted(batch, view::padded)});
    CHECK(done.executed == flops{counted(batch, view::executed)});
    CHECK(done.seconds == seconds);
}

double as_double(uint128 value) { return static_cast<double>(value); }

bool near(double a, double b) { return std::abs(a - b) <= 1e-12 * std::abs(b); }

template <class Call>
std::string problem_of(Call call) {
    return error_of([&] {
        call();
        return 0;
    });
}

}  // namespace

TEST_CASE("a meter's last step, interval and run are exact sums of their microbatches") {
    meter m(folded(), two_gpus);
    run_step(m, long_batch, 0.25);
    check_totals(m.last_step(), long_batch, 1, 0.25);
    run_step(m, short_batch, 0.5);
    check_totals(m.last_step(), short_batch, 1, 0.5);
    check_totals(m.interval().totals, joined(long_batch, short_batch), 2, 0.75);
    m.reset_interval();
    check_totals(m.interval().totals, {}, 0, 0);
    CHECK(m.interval().step_seconds.count() == 0);
    run_step(m, short_batch, 1);
    check_totals(m.interval().totals, short_batch, 1, 1);
    check_totals(m.run().totals, joined(joined(long_batch, short_batch), short_batch), 3, 1.75);
    CHECK(m.run().step_seconds.count() == 3);
    CHECK(m.run().step_seconds.max() == 1);
    CHECK(m.interval().step_seconds.min() == 1);
}

TEST_CASE("the MFU of an interval is its FLOPs over its time and not a mean of step MFUs") {
    meter m(folded(), two_gpus);
    run_step(m, long_batch, 0.25);
    const double first = floptally::rates(m.last_step()).mfu;
    run_step(m, short_batch, 4);
    const double second = floptally::rates(m.last_step()).mfu;
    const std::vector<slotted> both = joined(long_batch, short_batch);
    const step_rates rate = floptally::rates(m.interval().totals);
    const double available = 2 * 4.25 * 1e6;  // GPUs x seconds x FLOP/s
    CHECK(near(rate.mfu, as_double(counted(both, view::useful)) / available));
    CHECK(near(rate.padded_mfu, as_double(counted(both, view::padded)) / available));
    CHECK(near(rate.hfu, as_double(counted(both, view::executed)) / available));
    CHECK(rate.mfu < 0.6 * (first + second) / 2);
    CHECK(near(rate.tflops, as_double(counted(both, view::useful)) / 4.25e12));
    CHECK(near(rate.tflops_per_gpu, as_double(counted(both, view::useful)) / 8.5e12));
    CHECK(near(rate.padded_tflops_per_gpu, as_double(counted(both, view::padded)) / 8.5e12));
    CHECK(near(rate.executed_tflops_per_gpu, as_double(counted(both, view::executed)) / 8.5e12));
    CHECK(near(rate.tokens_per_second, (90 + 17 + 5 + 1) / 4.25));
    CHECK(near(rate.tokens_per_second_per_gpu, (90 + 17 + 5 + 1) / 8.5));
    CHECK(near(rate.samples_per_second, 4 / 4.25));  // a mock sequence is no sample
    CHECK(near(rate.useful_fraction, 113.0 / 152));
    CHECK(near(rate.useful_flops_fraction,
               as_double(counted(both, view::useful)) / as_double(counted(both, view::padded))));
    CHECK(near(rate.step_seconds, 2.125));
}

TEST_CASE("a meter's rates for one step equal those of utilize()") {
    const floptally::cost model = floptally::presets::llama_3_8b.cost();
    meter m(model, floptally::conventions::exact, {.recomputed = floptally::recompute::full},
            {.gpus = 8, .peak_tflops = 989, .counted = all_gpus});
    m.begin_step();
    m.microbatch().add({.length = 8000}, {.length = 8192});
    m.end_step(0.5);
    tally batch{model.masks()};
    batch.add({.length = 8000}, {.length = 8192});
    const floptally::utilization expected = floptally::utilize(
        floptally::evaluate(model, batch, floptally::conventions::exact, {.recomputed = floptally::recompute::full}),
        batch, {0.5, 8, 989});
    const step_rates rate = floptally::rates(m.last_step());
    CHECK(near(rate.mfu, expected.mfu));
    CHECK(near(rate.padded_mfu, expected.padded_mfu));
    CHECK(near(rate.hfu, expected.hfu));
    CHECK(near(rate.tflops_per_gpu, expected.tflops_per_gpu));
    CHECK(near(rate.tokens_per_second, expected.tokens_per_second));
}

TEST_CASE("a meter accepts a step without tokens") {
    meter m(folded(), two_gpus);
    run_step(m, {}, 1);
    const step_rates nothing = floptally::rates(m.last_step());
    CHECK(nothing.mfu == 0);
    CHECK(nothing.useful_fraction == 1);
    CHECK(nothing.useful_flops_fraction == 1);
    run_step(m, {{0, 8}}, 1);  // a mock sequence alone
    CHECK(floptally::rates(m.last_step()).useful_fraction == 0);
    CHECK(floptally::rates(m.last_step()).padded_mfu > 0);
}

TEST_CASE("a meter measures step times with the clock that the caller passes") {
    double now = 1000;
    meter m(folded(), two_gpus, [&] { return now; });
    m.begin_step();
    now += 0.5;
    add(m.microbatch(), short_batch);
    now += 0.25;
    m.end_step();
    check_totals(m.last_step(), short_batch, 1, 0.75);
    now += 100;  // between steps
    m.begin_step();
    now -= 1;
    CHECK(problem_of([&] { m.end_step(); }).rfind("seconds: must be a finite number above 0", 0) == 0);
    now += 3;
    m.end_step();
    CHECK(m.last_step().seconds == 2);
    CHECK(problem_of([] { meter(folded(), two_gpus, meter::seconds_clock{}); }) ==
          "clock: must be callable, got an empty function");
    meter steady(folded(), two_gpus);
    steady.begin_step();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    steady.end_step();
    CHECK(steady.last_step().seconds >= 0.002);
}

TEST_CASE("beginning or ending a step at the wrong time is an error that keeps the totals") {
    meter m(folded(), two_gpus);
    CHECK(problem_of([&] { m.end_step(1); }) == "step: ends, but none has begun: call begin_step() first");
    CHECK(problem_of([&] { m.end_step(); }) == "step: ends, but none has begun: call begin_step() first");
    CHECK(problem_of([&] { m.discard_step(); }) == "step: ends, but none has begun: call begin_step() first");
    CHECK(problem_of([&] { static_cast<void>(m.microbatch()); }) ==
          "microbatch: was added outside of a step: call begin_step() first");
    CHECK(error_of([&] { return floptally::rates(m.last_step()).mfu; }) ==
          "steps: no step has ended yet: ask for rates after the first step");

    run_step(m, long_batch, 0.25);
    const step_totals last = m.last_step();
    const floptally::step_series interval = m.interval();
    const floptally::step_series run = m.run();
    const auto nothing_lost = [&] { return m.last_step() == last && m.interval() == interval && m.run() == run; };
    CHECK(problem_of([&] { m.end_step(1); }) == "step: ends, but none has begun: call begin_step() first");
    CHECK(nothing_lost());

    m.begin_step();
    add(m.microbatch(), long_batch);
    CHECK(problem_of([&] { m.begin_step(); }) ==
          "step: begins inside another step: call end_step() or discard_step() first");
    for (const double bad : {0.0, -0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
        INFO(bad);
        CHECK(problem_of([&] { m.end_step(bad); }).rfind("seconds: must be a finite number above 0, got", 0) == 0);
        CHECK(nothing_lost());
        CHECK(m.in_step());
    }
    CHECK(problem_of([&] { m.end_step(std::numeric_limits<double>::max()); }).rfind("seconds: ", 0) == 0);
    CHECK(nothing_lost());
    add(m.microbatch(), short_batch);
    m.end_step(2);  // the right time
    CHECK(!m.in_step());
    check_totals(m.last_step(), joined(long_batch, short_batch), 1, 2);
    check_totals(m.run().totals, joined(long_batch, joined(long_batch, short_batch)), 2, 2.25);
}

TEST_CASE("discarding a step of a meter removes everything that was added to the step") {
    meter m(folded(), two_gpus);
    m.begin_step();
    add(m.microbatch(), long_batch);
    tally other{m.model().masks()};
    add(other, long_batch);
    m.microbatch() += other;
    m.discard_step();
    CHECK(m.run().totals.steps == 0);
    CHECK(!m.in_step());
    CHECK(problem_of([&] { static_cast<void>(m.microbatch()); }) ==
          "microbatch: was added outside of a step: call begin_step() first");
    m.begin_step();
    add(m.microbatch(), short_batch);
    other.clear();
    add(other, {{3, 4}});
    m.microbatch() += other;
    m.end_step(1);
    check_totals(m.run().totals, joined(short_batch, {{3, 4}}), 1, 1);
}

TEST_CASE("after an overflow a meter can discard the open step or reset the interval") {
    floptally::cost model;
    model.add("mlp", floptally::linear{.in_features = 1, .out_features = 1});
    meter m(floptally::flop_counter(model), two_gpus);
    const auto huge = [&] {
        tally batch;
        batch.add({.length = 4'294'967'295});
        return batch;  // its Σ n² is just below 2^64
    };
    m.begin_step();
    m.microbatch() += huge();
    m.end_step(1);
    m.begin_step();
    m.microbatch() += huge();
    CHECK(problem_of([&] { m.end_step(1); }).find("does not fit 64 bits") != std::string::npos);
    CHECK(m.in_step());
    CHECK(m.interval().totals.steps == 1);
    CHECK(m.run().totals.steps == 1);
    m.discard_step();
    run_step(m, short_batch, 1);
    CHECK(m.run().totals.steps == 2);
}

TEST_CASE("a meter cannot resume totals or use precisions of a model with other masks") {
    floptally::cost other;
    other.add("mlp", floptally::linear{.in_features = 3, .out_features = 5});
    other.keep(floptally::mask::sliding_window(7));
    meter m(folded(), two_gpus);
    CHECK(problem_of([&] { m.resume(meter(floptally::flop_counter(other), two_gpus).run()); }) ==
          "masks: the saved totals are of a model with other masks: resume with the same model, or with "
          "resume_from::any_counter");
    CHECK(problem_of([&] { m.runs_in(floptally::mixed_precision(floptally::flop_counter(other), {}, 1)); }) ==
          "masks: the precisions belong to a model with other masks: make them from the meter's model");
    CHECK(!m.precisions());
    CHECK(m.last_step().batch == tally{folded().masks()});
}

TEST_CASE("invalid hardware settings of a meter are errors that name the field") {
    const auto problem = [](const metered_hardware& on) { return problem_of([&] { meter(folded(), on); }); };
    CHECK(problem({.gpus = 0, .peak_tflops = 1}) == "gpus: must be at least 1, got 0");
    for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        CHECK(problem({.gpus = 1, .peak_tflops = bad}).rfind("peak_tflops: must be a finite number", 0) == 0);
    }
}

TEST_CASE("microbatches added by worker threads give the same integers as one thread") {
    constexpr std::size_t threads = 4;
    constexpr std::size_t steps = 20;
    constexpr std::size_t microbatches = 50;
    const auto lengths_of = [](std::size_t step, std::size_t thread, std::size_t microbatch) {
        std::mt19937 engine(static_cast<unsigned>((step * threads + thread) * microbatches + microbatch));
        std::vector<std::uint32_t> lengths(1 + engine() % 5);
        for (std::uint32_t& length : lengths) {
            length = static_cast<std::uint32_t>(engine() % 50);
        }
        return lengths;
    };
    meter m(folded(), two_gpus);
    tally all{small_model().masks()};
    std::vector<tally> counted(threads, tally{m.model().masks()});  // one for each thread, kept over steps
    for (std::size_t step = 0; step < steps; ++step) {
        m.begin_step();
        std::vector<std::thread> running;
        for (std::size_t thread = 0; thread < threads; ++thread) {
            running.emplace_back([&, thread] {
                counted[thread].clear();
                for (std::size_t i = 0; i < microbatches; ++i) {
                    counted[thread].add_lengths(lengths_of(step, thread, i));
                }
            });
        }
        m.microbatch().add_lengths(lengths_of(step, 0, 1));
        for (std::thread& entry : running) {
            entry.join();
        }
        for (const tally& sums : counted) {
            m.microbatch() += sums;
        }
        m.end_step(0.5);
        for (std::size_t thread = 0; thread < threads; ++thread) {
            for (std::size_t i = 0; i < microbatches; ++i) {
                all.add_lengths(lengths_of(step, thread, i));
            }
        }
        all.add_lengths(lengths_of(step, 0, 1));
        REQUIRE(m.run().totals.batch == all);
    }
    CHECK(m.run().totals.useful == floptally::evaluate(small_model(), all).total(view::useful));
}

TEST_CASE("logged names contain the caller's prefix, the convention and the version") {
    meter m(floptally::flop_counter(small_model(), floptally::conventions::bionemo), two_gpus);
    for (int step = 1; step <= 100; ++step) {
        run_step(m, long_batch, step);
    }
    std::map<std::string, double> logged;
    for (const metric& entry : floptally::metrics(m, m.interval(), "train/")) {
        CHECK(entry.convention == "bionemo");
        CHECK(entry.version == floptally::version);
        CHECK(logged.emplace(entry.name, entry.value).second);
    }
    const step_rates rate = floptally::rates(m.interval().totals);
    CHECK(logged.at("train/mfu_pct") == 100 * rate.mfu);
    CHECK(logged.at("train/mfu_padded_pct") == 100 * rate.padded_mfu);
    CHECK(logged.at("train/hfu_pct") == 100 * rate.hfu);
    CHECK(logged.at("train/tflops_per_gpu") == rate.tflops_per_gpu);
    CHECK(logged.at("train/tflops_padded_per_gpu") == rate.padded_tflops_per_gpu);
    CHECK(logged.at("train/tflops_executed_per_gpu") == rate.executed_tflops_per_gpu);
    CHECK(logged.at("train/tokens_per_second") == rate.tokens_per_second);
    CHECK(logged.at("train/tokens_per_second_per_gpu") == rate.tokens_per_second_per_gpu);
    CHECK(logged.at("train/samples_per_second") == rate.samples_per_second);
    CHECK(logged.at("train/useful_fraction") == rate.useful_fraction);
    CHECK(logged.at("train/useful_flops_fraction") == rate.useful_flops_fraction);
    CHECK(logged.at("train/step_seconds") == 50.5);
    CHECK(std::abs(logged.at("train/step_seconds_p50") - 50) <= 50.0 / 128);
    CHECK(std::abs(logged.at("train/step_seconds_p95") - 95) <= 95.0 / 128);
    CHECK(logged.at("train/step_seconds_min") == 1);
    CHECK(logged.at("train/step_seconds_max") == 100);
    CHECK(logged.at("train/steps") == 100);
    CHECK(logged.at("train/total_steps") == 100);
    CHECK(logged.at("train/total_tokens") == 100 * 107);
    CHECK(logged.at("train/total_flops") == floptally::to_double(m.run().totals.useful));
    CHECK(logged.size() == 20);
    // Useful and padded and executed are three numbers.
    CHECK(logged.at("train/mfu_pct") < logged.at("train/mfu_padded_pct"));
    CHECK(logged.at("train/mfu_padded_pct") < logged.at("train/hfu_pct"));

    const std::vector<metric> step = floptally::metrics(m, m.last_step(), "step_");
    CHECK(step.size() == 12);
    CHECK(step.front().name == "step_mfu_pct");
    CHECK(step.back().name == "step_step_seconds");
    CHECK(step.back().value == 100);
}

TEST_CASE("a meter's second convention logs the same numbers as a separate meter with that convention") {
    const auto logged = [](const meter& m) {
        std::map<std::string, metric> by_name;
        for (const metric& each : floptally::metrics(m, m.run(), "")) {
            CHECK(by_name.emplace(each.name, each).second);
        }
        return by_name;
    };
    for (const floptally::convention* how : floptally::conventions::all) {
        INFO(how->name);
        floptally::cost model = small_model();
        const floptally::flop_counter other(model, *how);
        for (const floptally::statistic& needed : other.masks()) {
            model.keep(needed);
        }
        meter m(floptally::flop_counter(model), two_gpus);
        meter alone(other, two_gpus);
        for (meter* each : {&m, &alone}) {
            run_step(*each, long_batch, 2);
            run_step(*each, short_batch, 0.5);
        }
        const auto before = logged(m);
        m.shows_beside(other);
        CHECK(m.beside()->counted_as().name == how->name);
        const auto shown = logged(m);
        const auto expected = logged(alone);
        CHECK(shown.size() == before.size() + 4);
        for (const auto& [name, value] : before) {
            CHECK(shown.at(name).value == value.value);
            CHECK(shown.at(name).convention == "exact");
        }
        const std::string own(how->name);
        for (const auto& [name, of] : {std::pair{"mfu_" + own + "_pct", "mfu_pct"},
                                       {"mfu_" + own + "_padded_pct", "mfu_padded_pct"},
                                       {"tflops_" + own + "_per_gpu", "tflops_per_gpu"},
                                       {"tflops_" + own + "_padded_per_gpu", "tflops_padded_per_gpu"}}) {
            CHECK(shown.at(name).value == expected.at(of).value);
            CHECK(shown.at(name).convention == how->name);
        }
    }
    meter m(folded(), two_gpus);
    CHECK(
        problem_of([&] { m.shows_beside(floptally::flop_counter(small_model(), floptally::conventions::maxtext)); }) ==
        "masks: maxtext counts window_squares(3), which this meter's tallies do not keep: make the meter of maxtext "
        "and "
        "show exact beside it, or add the statistic to the cost by keep()");
    CHECK(!m.beside());
}

TEST_CASE("a meter adds up the measured counts of its microbatches by name") {
    floptally::cost model = small_model();
    model.keep(floptally::measured("loss_tokens"));
    meter steps(floptally::flop_counter(model), two_gpus);
    for (const std::uint64_t loss : {40U, 2U}) {
        steps.begin_step();
        add(steps.microbatch(), short_batch);
        steps.microbatch().add_measured("loss_tokens", {.useful = loss});
        steps.end_step(0.5);
        CHECK(steps.last_step().batch.pairs(view::useful, floptally::measured("loss_tokens")) == loss);
    }
    CHECK(steps.run().totals.batch.pairs(view::useful, floptally::measured("loss_tokens")) == 42);
    CHECK(steps.last_step().total(view::useful).low() == counted(short_batch, view::useful));
}

TEST_CASE(
    "a meter of several GPUs without a reduction is an error unless the meter is declared to get the sequences of all "
    "GPUs") {
    const auto problem = [](const metered_hardware& on) { return problem_of([&] { const meter m(folded(), on); }); };
    CHECK(problem({.gpus = 2, .peak_tflops = 989}) ==
          "gpus: is 2, but it is unknown whether the meter gets the sequences of all GPUs: pass counted = all_gpus (in "
          "Python counted=\"all_gpus\") if it does, or a reduction over the ranks (in Python reduce=) if not");
    CHECK(problem({.gpus = 1, .peak_tflops = 989}) == "no error");
    CHECK(problem(two_gpus) == "no error");
    // With a reduction they are its ranks.
    const floptally::parallel_layout layout({.dp = 2}, 2, 0);
    floptally::single_rank alone;
    const floptally::tally_reduction reduction(folded(), floptally::scopes::microbatch, layout, alone);
    const auto reduced = [&](const metered_hardware& on) {
        return problem_of([&] { const meter m(folded(), on, reduction.by(alone)); });
    };
    CHECK(reduced({.peak_tflops = 989}) == "no error");
    CHECK(reduced({.gpus = 2, .peak_tflops = 989}) == "no error");
    CHECK(reduced({.gpus = 1, .peak_tflops = 989}) == "gpus: must be 2, the number of ranks of the reduction, got 1");
    CHECK(reduced(two_gpus) ==
          "counted: is all_gpus, but the meter has a reduction, which would count each GPU several times: leave one of "
          "them out");
    // Every number of a log says which it is.
    const auto counted = [](meter& m) {
        run_step(m, short_batch, 1);
        for (const metric& logged : floptally::metrics(m, m.interval(), "train/")) {
            CHECK(logged.counted == m.counted());
        }
        return m.counted();
    };
    meter other_meter(folded(), {.gpus = 1, .peak_tflops = 989});
    meter declared(folded(), two_gpus);
    CHECK(counted(other_meter) == "of 1 GPU");
    CHECK(counted(declared) == "of all 2 GPUs, as declared");
}

TEST_CASE("a meter that reduces over ranks has the MFU of all ranks") {
    const std::vector<std::vector<slotted>> of_rank{long_batch, short_batch, {}, joined(short_batch, short_batch)};
    std::vector<slotted> all;
    for (const auto& batch : of_rank) {
        all = joined(all, batch);
    }
    thread_world world;
    std::vector<step_totals> seen(4);
    const auto ends = thread_world::run(4, [&](std::uint64_t rank) {
        const floptally::flop_counter model = folded();
        const floptally::parallel_layout layout({.dp = 4}, 4, rank);
        const auto everyone = world.over(layout, floptally::every_axis);
        const double peak = 1e-6;
        const floptally::tally_reduction reduction(model, floptally::scopes::microbatch, layout, everyone);
        floptally::meter m(model, {.peak_tflops = peak}, reduction.by(everyone));
        run_step(m, of_rank[rank], 0.5);
        run_step(m, of_rank[rank], 0.25);
        seen[rank] = m.last_step();
        thread_world::expect(m.hardware().gpus == 4, "four GPUs");
        thread_world::expect(m.counted() == "summed over 4 ranks", m.counted());
        thread_world::expect(m.run().totals.useful == seen[rank].useful + seen[rank].useful, "both steps");
    });
    for (std::uint64_t rank = 0; rank < 4; ++rank) {
        CHECK(ends[rank] == "no error");
        check_totals(seen[rank], all, 1, 0.25);
        CHECK(near(floptally::rates(seen[rank]).mfu, as_double(counted(all, view::useful)) / (4 * 0.25 * 1e6)));
    }
}

TEST_CASE("if one rank cannot end its step, all ranks report the failure and can end the step again") {
    thread_world world;
    const auto ends = thread_world::run(3, [&](std::uint64_t rank) {
        const floptally::parallel_layout here({.dp = 3}, 3, rank);
        const auto over = world.over(here, floptally::every_axis);
        const floptally::tally_reduction reduction(folded(), floptally::scopes::microbatch, here, over);
        meter m(folded(), {.peak_tflops = 1e-6}, reduction.by(over));
        m.begin_step();
        add(m.microbatch(), short_batch);
        const auto end = [&](double seconds) { return problem_of([&] { m.end_step(seconds); }); };
        const std::string endless = end(rank == 1 ? std::numeric_limits<double>::infinity() : 1);
        thread_world::expect(rank == 1 ? endless.rfind("seconds: must be", 0) == 0
                                       : endless == "sum: rank 1 failed: look at the error of that rank",
                             endless);
        const std::string timeless = end(rank == 2 ? 0 : 1);
        thread_world::expect(rank == 2 ? timeless.rfind("seconds: must be", 0) == 0
                                       : timeless == "sum: rank 2 failed: look at the error of that rank",
                             timeless);
        thread_world::expect(m.in_step() && m.run().totals.steps == 0, "still open");
        thread_world::expect(end(1) == "no error", "ends");
        thread_world::expect(m.run().totals.batch.get(view::useful, accumulator::tokens) == 18, "3 x 6 tokens");
    });
    CHECK(ends == std::vector<std::string>(3, "no error"));
}

TEST_CASE("step time percentiles without the first ten steps are within 1/128 of those of the sorted step times") {
    std::mt19937_64 random(24);
    for (const std::size_t steps : {11U, 12U, 13U, 40U, 110U, 1010U}) {
        meter m(folded(), two_gpus);
        std::vector<double> values;
        for (std::size_t step = 0; step < steps; ++step) {
            // Steps that compile are a hundred times longer; the others are spread, some with a long tail.
            const double spread = std::exp(0.3 * std::normal_distribution<double>()(random));
            const double seconds = step < 10 ? 41 : (random() % 50 == 0 ? 3.5 : 0.41) * spread;
            run_step(m, {}, seconds);
            if (step >= 10) {
                values.push_back(seconds);
            }
        }
        std::sort(values.begin(), values.end());
        const floptally::duration_percentiles found = m.step_percentiles();
        CHECK(found.left_out == 10);
        CHECK(found.steps == values.size());
        const std::pair<std::size_t, double> all[] = {{10, found.p10}, {25, found.p25}, {50, found.p50},
                                                      {75, found.p75}, {90, found.p90}, {99, found.p99}};
        for (const auto& [percent, seconds] : all) {
            const std::size_t place = (percent * values.size() + 99) / 100;  // ⌈p·n/100⌉, from 1
            const double exactly = values[place - 1];
            INFO(steps << " steps, p" << percent << ": " << seconds << ", exactly " << exactly);
            CHECK(std::abs(seconds - exactly) <= exactly / 128);
            CHECK((place != 1 || seconds == exactly));
            CHECK((place != values.size() || seconds == exactly));
        }
        CHECK(m.run().step_seconds.max() == 41);  // the run's own histogram has all steps
    }
}

TEST_CASE("step time percentiles are returned and logged once enough steps have ended") {
    meter m(folded(), two_gpus);
    for (int step = 0; step < 10; ++step) {
        run_step(m, {}, 9);
    }
    CHECK(
        problem_of([&] { static_cast<void>(m.step_percentiles()); }) ==
        "steps: no step is left to report, since the first 10 steps are left out: run more steps, or leave out fewer");
    CHECK(problem_of([&] { m.leave_out(3); }) ==
          "leave_out: must be called before the first step: call it when the meter is created");
    run_step(m, {}, 0.5);
    CHECK(floptally::to_string(m.step_percentiles()) ==
          "step seconds p10 0.5000, p25 0.5000, p50 0.5000, p75 0.5000, p90 0.5000, p99 0.5000 (1 steps, the first 10 "
          "left out)");
    std::vector<std::string> names;
    for (const metric& logged : floptally::metrics(m, m.step_percentiles(), "train/")) {
        names.push_back(logged.name);
        CHECK(logged.value == 0.5);
    }
    CHECK(names == std::vector<std::string>{"train/steady_step_seconds_p10", "train/steady_step_seconds_p25",
                                            "train/steady_step_seconds_p50", "train/steady_step_seconds_p75",
                                            "train/steady_step_seconds_p90", "train/steady_step_seconds_p99"});
    meter hot(folded(), two_gpus);
    hot.leave_out(0);
    run_step(hot, {}, 0.25);
    CHECK(hot.step_percentiles().p99 == 0.25);
}

TEST_CASE("a run resumes only with the same numbers_version, convention, masks and model") {
    meter first(folded(), two_gpus);
    run_step(first, long_batch, 0.1);
    run_step(first, short_batch, 0.2);
    const floptally::meter_state state = floptally::state_of(first);
    CHECK(state.masks == std::vector<std::string>{"sliding_window(3)"});
    CHECK(state.run.totals.batch == tally{});  // it is in `masks` and `accumulators`

    meter second(folded(), {.gpus = 4, .peak_tflops = 2e-6, .counted = all_gpus});  // on more and faster GPUs
    floptally::resume(second, state);
    CHECK(second.run() == first.run());
    CHECK(second.interval().totals.steps == 0);
    run_step(second, short_batch, 0.4);
    check_totals(second.run().totals, joined(joined(long_batch, short_batch), short_batch), 3, 0.1 + 0.2 + 0.4);
    CHECK(near(floptally::rates(second.run().totals).mfu,
               as_double(second.run().totals.useful.value()) / (2 * 0.3 * 1e6 + 4 * 0.4 * 2e6)));
    CHECK(problem_of([&] { floptally::resume(second, state); }) ==
          "resume: must be called before the first step: call it when the meter is created");

    const auto problem = [&](floptally::flop_counter model, const auto& change) {
        meter m(model, two_gpus);
        floptally::meter_state changed = state;
        change(changed);
        const std::string text = problem_of([&] { floptally::resume(m, changed); });
        CHECK(m.run().totals.steps == (text == "no error" ? 2U : 0U));
        return text;
    };
    const auto same = [](floptally::meter_state&) {};
    CHECK(problem(folded(), same) == "no error");
    CHECK(problem(folded(), [](floptally::meter_state& s) { s.version = "0.0.9"; }) == "no error");  // the same numbers
    for (const int step : {-1, 1}) {
        CHECK(problem(folded(),
                      [step](floptally::meter_state& s) {
                          s.version = "7.8.9";
                          s.numbers = floptally::numbers_version + static_cast<std::uint64_t>(step);
                      }) == "numbers_version: the state was written with numbers_version " +
                                std::to_string(static_cast<int>(floptally::numbers_version) + step) +
                                " (floptally 7.8.9), but this is floptally " + floptally::version +
                                " with numbers_version " + std::to_string(floptally::numbers_version) +
                                ": read it with floptally 7.8.9, or count again");
    }
    CHECK(problem(floptally::flop_counter(small_model(), floptally::conventions::maxtext), same) ==
          "convention: the saved totals were counted with \"exact\", but this meter has \"maxtext\": resume with "
          "the meter that saved them, or with resume_from::any_counter");
    CHECK(problem(floptally::flop_counter(
                      small_model() + floptally::cost{}.add("other", {.num_heads = 1}, floptally::mask::chunked(2))),
                  same) ==
          "masks: the saved totals were counted with \"sliding_window(3)\", but this meter has \"sliding_window(3), "
          "chunked(2)\": resume with the meter that saved them, or with resume_from::any_counter");
    CHECK(problem(floptally::flop_counter(2 * small_model()), same).rfind("flops: the saved totals have", 0) == 0);
    CHECK(problem(floptally::flop_counter(small_model(), floptally::conventions::exact,
                                          {.recomputed = floptally::recompute::full}),
                  same)
              .rfind("flops: ", 0) == 0);
    CHECK(problem(folded(), [](floptally::meter_state& s) { ++s.accumulators[1]; }).rfind("flops: ", 0) == 0);
    CHECK(problem(folded(), [](floptally::meter_state& s) {
              s.accumulators.pop_back();
          }).rfind("accumulators: must have", 0) == 0);
    CHECK(problem(folded(), [](floptally::meter_state& s) { ++s.run.totals.steps; }) ==
          "steps: the saved totals have 3 steps but 2 durations: the saved state is damaged, so load an earlier one");
    for (const double bad : {0.0, -1.0, std::nan("")}) {
        CHECK(problem(folded(), [&](floptally::meter_state& s) {
                  s.run.totals.seconds = bad;
              }).rfind("seconds: must be", 0) == 0);
        CHECK(problem(folded(), [&](floptally::meter_state& s) {
                  s.run.totals.gpu_seconds = bad;
              }).rfind("gpu_seconds: must be", 0) == 0);
        const std::string of_peak =
            problem(folded(), [&](floptally::meter_state& s) { s.run.totals.peak_tflop = bad; });
        CHECK((bad == 0 ? of_peak == "no error" : of_peak.rfind("peak_tflop: must be", 0) == 0));  // 0: unknown
    }
    meter open(folded(), two_gpus);
    open.begin_step();
    CHECK(problem_of([&] { floptally::resume(open, state); }) ==
          "resume: must be called before the first step: call it when the meter is created");
    meter empty(folded(), two_gpus);
    floptally::resume(empty, floptally::state_of(meter(folded(), two_gpus)));
    CHECK(empty.run().totals.steps == 0);
}

TEST_CASE("a run continues under another plan or convention and keeps the FLOPs counted before") {
    meter first(folded(), two_gpus);
    run_step(first, long_batch, 0.1);
    const floptally::meter_state state = floptally::state_of(first);
    const floptally::flop_counter again(small_model(), floptally::conventions::exact,
                                        {.recomputed = floptally::recompute::full});
    const floptally::flop_counter wider(small_model() +
                                        floptally::cost{}.add("other", {.num_heads = 1}, floptally::mask::chunked(2)));
    for (const floptally::flop_counter& next :
         {again, floptally::flop_counter(small_model(), floptally::conventions::maxtext), wider}) {
        meter second(next, two_gpus);
        CHECK_FALSE(floptally::resume(second, state, floptally::resume_from::any_counter));
        CHECK(second.run_is_recounted());
        CHECK(second.run().totals.executed == first.run().totals.executed);
        CHECK(second.run().totals.batch.get(view::padded, accumulator::tokens) ==
              first.run().totals.batch.get(view::padded, accumulator::tokens));
        CHECK(second.interval().totals.steps == 0);
        run_step(second, short_batch, 0.2);
        CHECK(second.run().totals.executed == first.run().totals.executed + second.last_step().executed);
        CHECK_FALSE(floptally::metrics(second, second.run()).empty());
        meter third(next, two_gpus);  // the state says that its FLOPs do not follow from its tally
        CHECK(floptally::resume(third, floptally::state_of(second)));
        CHECK(third.run() == second.run());
    }
    meter same(folded(), two_gpus);
    CHECK(floptally::resume(same, state, floptally::resume_from::any_counter));
    CHECK_FALSE(same.run_is_recounted());
    meter next(again, two_gpus);
    CHECK_FALSE(next.continue_from(same));
    CHECK(next.run().totals.executed == first.run().totals.executed);
}

TEST_CASE("a meter can leave out steps that it cannot count") {
    const std::vector<std::vector<int>> good{{0, 5, 9}, {0, 3}};
    const std::vector<std::vector<int>> bad{{0, 5, 9}, {}};
    meter m(folded(), two_gpus);
    m.begin_step();
    CHECK(problem_of([&] { m.add([&](tally& batch) { batch.add_cu_seqlens(bad.back()); }); }) ==
          "cu_seqlens: must have at least one boundary, the 0 at its beginning, got none");
    m.discard_step();
    const auto train = [](const std::vector<int>&) {};
    m.on_errors(floptally::on_error::leave_out);
    for (const auto& microbatches : {good, bad, good}) {
        m.begin_step();
        for (const auto& cu_seqlens : microbatches) {
            train(cu_seqlens);
            m.add([&](tally& batch) { batch.add_cu_seqlens(cu_seqlens); });
        }
        m.end_step(1);
    }
    for (const double seconds : {0.0, -1.0, std::nan("")}) {
        m.begin_step();
        CHECK_FALSE(m.end_step(seconds));
        CHECK_FALSE(m.in_step());
    }
    CHECK(m.run().totals.steps == 2);
    CHECK(m.run().totals.batch.get(view::useful, accumulator::tokens) == 24);
    CHECK((m.left_out().run == 4 && m.left_out().interval == 4));
    CHECK(m.left_out().last.rfind("seconds: must be", 0) == 0);
    const auto left_out = [&](const auto& span) {
        for (const metric& logged : floptally::metrics(m, span, "")) {
            if (logged.name == "steps_left_out") {
                return logged.value;
            }
        }
        return 0.0;
    };
    CHECK(left_out(m.interval()) == 4);
    m.reset_interval();
    CHECK(left_out(m.run()) == 4);
    m.begin_step();
    m.leave_out_step("the loss is NaN");
    CHECK_FALSE(m.end_step(1));
    CHECK(floptally::metrics(m, m.interval(), "").size() == 1);  // no rates without a step
    CHECK(left_out(m.interval()) == 1);
    meter resumed(folded(), two_gpus);
    floptally::resume(resumed, floptally::state_of(m));
    CHECK(resumed.left_out().run == 5);
}

TEST_CASE("if one rank cannot count its step, all ranks leave the step out") {
    thread_world world;
    const auto ends = thread_world::run(3, [&](std::uint64_t rank) {
        const floptally::parallel_layout here({.dp = 3}, 3, rank);
        const auto over = world.over(here, floptally::every_axis);
        const floptally::tally_reduction reduction(folded(), floptally::scopes::microbatch, here, over);
        meter m(folded(), {.peak_tflops = 1e-6}, reduction.by(over));
        m.on_errors(floptally::on_error::leave_out);
        for (std::uint64_t step = 0; step < 4; ++step) {
            m.begin_step();
            const std::vector<int> cu_seqlens = step == rank ? std::vector<int>{0, 5, 3} : std::vector<int>{0, 6};
            m.add([&](tally& batch) { batch.add_cu_seqlens(cu_seqlens); });
            thread_world::expect(m.end_step(1) == (step == 3), "only the last step is good on all ranks");
        }
        thread_world::expect(m.left_out().run == 3 && m.run().totals.steps == 1, "three are left out");
        thread_world::expect(m.run().totals.batch.get(view::useful, accumulator::tokens) == 18, "3 x 6 tokens");
    });
    CHECK(ends == std::vector<std::string>(3, "no error"));
}

TEST_CASE("a meter accepts a measured count of 0 and refuses a step without the measured count") {
    floptally::cost model = small_model();
    model.add("head", floptally::linear{.in_features = 3, .out_features = 7}, floptally::measured("logits"));
    meter m(floptally::flop_counter(model), two_gpus);
    m.begin_step();
    m.microbatch().add_lengths(std::vector<int>{5, 2});
    CHECK(problem_of([&] { m.end_step(1); }).rfind("measured(logits): ", 0) == 0);
    m.microbatch().add_measured("logits", {.useful = 0});
    m.end_step(1);
    CHECK(m.run().totals.useful == floptally::flop_counter(small_model()).total_flops(m.run().totals.batch));
}

TEST_CASE("a meter's saved state contains a measured amount of 0") {
    floptally::cost model = small_model();
    model.add("head", floptally::linear{.in_features = 3, .out_features = 7}, floptally::measured("logits"));
    const floptally::flop_counter counter(model);
    meter m(counter, two_gpus);
    m.begin_step();
    m.microbatch().add_lengths(std::vector<int>{5, 2});
    m.microbatch().add_measured("logits", {.useful = 0});
    m.end_step(1);
    const floptally::meter_state saved = floptally::state_of(m);
    CHECK(saved.measured == std::vector<std::string>{"measured(logits)"});
    meter same(counter, two_gpus);
    CHECK(floptally::resume(same, saved));
    CHECK(same.run() == m.run());
    CHECK(counter.total_flops(same.run().totals.batch) == m.run().totals.useful);
    // Another model with more masks goes on, and its tally still has the amount of 0.
    floptally::cost wider = model;
    wider.keep(floptally::mask::sliding_window(9));
    meter other(floptally::flop_counter(wider), two_gpus);
    static_cast<void>(floptally::resume(other, saved, floptally::resume_from::any_counter));
    CHECK(floptally::flop_counter(wider).total_flops(other.run().totals.batch) == m.run().totals.useful);
    floptally::meter_state without = saved;
    without.measured.clear();
    meter never(counter, two_gpus);
    CHECK_FALSE(problem_of([&] { floptally::resume(never, without); }) == "no error");
}

namespace {

std::map<std::string, double> scalars_of(const meter& m, const floptally::step_series& span) {
    std::map<std::string, double> by_name;
    for (const metric& each : floptally::metrics(m, span, "")) {
        by_name[each.name] = each.value;
    }
    return by_name;
}

}  // namespace

TEST_CASE("a meter with a budget logs how much of the run is left and when it ends") {
    meter m(folded(), two_gpus);
    double day = 1'800'000'000;
    m.goodput() = floptally::goodput_clock([&] { return day; });
    for (int step = 0; step < 4; ++step) {
        run_step(m, short_batch, 2);  // six tokens
    }
    m.reset_interval();
    run_step(m, short_batch, 5);
    CHECK(scalars_of(m, m.interval()).count("seconds_left") == 0);
    m.set_budget({.steps = 25});
    const std::map<std::string, double> by_steps = scalars_of(m, m.interval());
    CHECK(by_steps.at("total_steps") == 5);
    CHECK(by_steps.at("total_tokens") == 30);
    CHECK(by_steps.at("steps_left") == 20);
    CHECK(by_steps.at("seconds_left") == 100);  // at the pace of the interval, …
    CHECK(by_steps.at("ends_at") == day + 100);
    CHECK(scalars_of(m, m.run()).at("seconds_left") == Approx(20 * 13. / 5));  // … or of the run
    m.set_budget({.tokens = 90});
    CHECK(scalars_of(m, m.interval()).at("tokens_left") == 60);
    CHECK(scalars_of(m, m.interval()).at("seconds_left") == Approx(50));
    CHECK(scalars_of(m, m.interval()).count("steps_left") == 0);
    m.set_budget({.tokens = 90, .steps = 6});  // the run ends with the first of the two
    CHECK(scalars_of(m, m.interval()).at("seconds_left") == Approx(5));
    m.set_budget({.tokens = 30, .steps = 1});
    CHECK(scalars_of(m, m.interval()).at("tokens_left") == 0);
    CHECK(scalars_of(m, m.interval()).at("steps_left") == 0);
    CHECK(scalars_of(m, m.interval()).at("ends_at") == day);
    // Checkpoints take as much of the rest as they took so far: 13 of 26 seconds are in steps.
    m.set_budget({.steps = 25});
    meter with_wall(folded(), two_gpus);
    with_wall.goodput() = floptally::goodput_clock([&] { return day; });
    with_wall.goodput().begin();
    with_wall.set_budget({.steps = 3});
    run_step(with_wall, short_batch, 2);
    day += 8;
    CHECK(scalars_of(with_wall, with_wall.interval()).at("seconds_left") == Approx(2 * 2 * 4));
    CHECK(scalars_of(with_wall, with_wall.interval()).at("ends_at") == Approx(day + 16));
    // Batches without tokens say nothing of the tokens' pace.
    meter idle(folded(), two_gpus);
    idle.set_budget({.tokens = 90});
    run_step(idle, {}, 1);
    CHECK(scalars_of(idle, idle.interval()).at("tokens_left") == 90);
    CHECK(scalars_of(idle, idle.interval()).count("ends_at") == 0);
    meter next(folded(), {.gpus = 1, .peak_tflops = 1e-6});
    static_cast<void>(next.continue_from(m));
    CHECK(next.budget() == floptally::run_budget{.steps = 25});
}

TEST_CASE("a meter that reduces over ranks logs the slowest rank and the spread of step times") {
    const double seconds_of[3][3] = {{1.0, 1.5, 1.25}, {1.0, 1.75, 1.5}, {2.0, 1.0, 1.75}};  // step by step
    thread_world world;
    const auto ends = thread_world::run(3, [&](std::uint64_t rank) {
        const floptally::parallel_layout here({.dp = 3}, 3, rank);
        const auto over = world.over(here, floptally::every_axis);
        const floptally::tally_reduction reduction(folded(), floptally::scopes::microbatch, here, over);
        meter m(folded(), {.peak_tflops = 1e-6}, reduction.by(over));
        for (const auto& step : seconds_of) {
            run_step(m, short_batch, step[rank]);
        }
        const std::map<std::string, double> all = scalars_of(m, m.interval());
        thread_world::expect(near(all.at("rank_seconds_max"), (1.5 + 1.75 + 2.0) / 3), "the slowest of each step");
        thread_world::expect(near(all.at("rank_seconds_min"), (1.0 + 1.0 + 1.0) / 3), "the fastest of each step");
        thread_world::expect(near(all.at("rank_spread_pct"), 100 * (5.25 - 3) / 5.25), "spread");
        thread_world::expect(all.at("slowest_rank") == 1, "rank 1 in two of three");
        thread_world::expect(near(all.at("slowest_rank_steps_pct"), 200.0 / 3), "two of three");
        m.reset_interval();
        run_step(m, short_batch, seconds_of[2][rank]);
        thread_world::expect(scalars_of(m, m.interval()).at("slowest_rank") == 0, "rank 0 in this interval");
        thread_world::expect(m.run_ranks().steps == 4, "all steps of the run");
    });
    CHECK(ends == std::vector<std::string>(3, "no error"));
    meter alone(folded(), two_gpus);
    run_step(alone, short_batch, 1);
    CHECK(scalars_of(alone, alone.run()).count("slowest_rank") == 0);
}

TEST_CASE("a meter of GPUs with an unknown peak has FLOPs and rates, and no MFU") {
    meter m(folded(), {.gpus = 2, .accelerator = "NVIDIA Z900", .counted = all_gpus, .peak_is_unknown = true});
    run_step(m, short_batch, 2);
    const std::map<std::string, double> all = scalars_of(m, m.run());
    for (const auto& [name, value] : all) {
        INFO(name);
        CHECK(std::isfinite(value));
        CHECK(name.find("mfu") == std::string::npos);
        CHECK(name.find("hfu") == std::string::npos);
    }
    CHECK(all.at("tokens_per_second") == 3);
    CHECK(all.at("total_flops") == floptally::to_double(m.run().totals.useful));
    CHECK(floptally::doubt_of(m, m.run().totals).empty());
    CHECK_FALSE(floptally::rates(m.run().totals).has_peak);
    // A run of which a part has no peak has no MFU either, on whichever side that part is.
    const floptally::meter_state saved = floptally::state_of(m);
    meter known(folded(), two_gpus);
    CHECK(floptally::resume(known, saved));
    run_step(known, short_batch, 2);
    CHECK(scalars_of(known, known.run()).count("mfu_pct") == 0);
    CHECK(scalars_of(known, known.interval()).count("mfu_pct") == 1);
    meter unknown(folded(), m.hardware());
    meter before(folded(), two_gpus);
    run_step(before, short_batch, 2);
    CHECK(floptally::resume(unknown, floptally::state_of(before)));
    CHECK(scalars_of(unknown, unknown.run()).count("mfu_pct") == 1);
    run_step(unknown, short_batch, 2);
    CHECK(scalars_of(unknown, unknown.run()).count("mfu_pct") == 0);
    CHECK(problem_of([&] { const meter both(folded(), {.gpus = 1, .peak_tflops = 3, .peak_is_unknown = true}); }) ==
          "peak_is_unknown: must be false where peak_tflops is given: set one of the two");
    CHECK(problem_of([&] { const meter none(folded(), {.gpus = 1}); }).find("peak_tflops: must be") == 0);
}

TEST_CASE("docs/meter.md shows the training loop of this test and explains every logged name") {
    struct packed {
        std::vector<int> cu_seqlens;
        std::vector<int> cu_seqlens_padded;
        std::size_t num_real_seqs;
    };
    const std::vector<std::vector<packed>> steps(20, {{{0, 5, 9, 9}, {0, 8, 16, 24}, 2}});
    std::ostringstream out;
    const auto train = [](const packed&) {};
    const auto log = [&](const std::string& name, double value) { out << name << " " << value << "\n"; };

    floptally::meter m(floptally::presets::llama_3_8b, {.recomputed = floptally::recompute::none},
                       floptally::accelerator_named("H100 SXM"));
    for (const auto& microbatches : steps) {
        m.begin_step();
        for (const auto& batch : microbatches) {
            train(batch);
            m.microbatch().add_cu_seqlens(batch.cu_seqlens, batch.cu_seqlens_padded, batch.num_real_seqs);
        }
        m.end_step();
        if (m.interval().totals.steps == 10) {
            for (const floptally::metric& logged : floptally::metrics(m, m.interval(), "train/")) {
                log(logged.name, logged.value);
            }
            m.reset_interval();
        }
    }

    CHECK(m.run().totals.steps == 20);
    CHECK(m.run().totals.batch.get(view::useful, accumulator::tokens) == 180);
    m.set_budget({.tokens = 1000, .steps = 1000});
    const std::filesystem::path source_dir = FLOPTALLY_SOURCE_DIR;
    const auto unindented = [](const std::string& text) {
        std::string result;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            result += line.substr(std::min(line.find_first_not_of(' '), line.size())) + "\n";
        }
        return result;
    };
    const std::string page = read_text(source_dir / "docs/meter.md");
    const auto snippets = fenced_blocks(page, "cpp");
    REQUIRE(!snippets.empty());
    const std::string test = unindented(read_text(source_dir / "tests/step/meter.test.cpp") +
                                        read_text(source_dir / "tests/step/mixed_precision.test.cpp"));
    for (const std::string& snippet : snippets) {
        INFO(snippet);
        CHECK(test.find(unindented(snippet)) != std::string::npos);
    }
    for (const metric& logged : floptally::metrics(m, m.step_percentiles(), "train/")) {
        INFO(logged.name);
        CHECK(page.find("`" + logged.name + "`") != std::string::npos);
    }
    for (const metric& logged : floptally::metrics(m, m.run(), "train/")) {
        INFO(logged.name);
        CHECK(page.find("| `" + logged.name + "` |") != std::string::npos);
    }
    for (const std::string name :
         {"rank_seconds_max", "rank_seconds_min", "rank_spread_pct", "slowest_rank", "slowest_rank_steps_pct"}) {
        INFO(name);
        CHECK(page.find("| `train/" + name + "` |") != std::string::npos);
    }
}

TEST_CASE("a meter can be made from a model, a plan and an accelerator") {
    const floptally::accelerator& h100 = floptally::accelerator_named("H100 SXM");
    const floptally::training_plan plan{.recomputed = floptally::recompute::full};
    const floptally::flop_counter counter(floptally::presets::llama_3_8b, floptally::conventions::exact, plan);
    const auto executed = [](meter& m) {
        m.begin_step();
        m.microbatch().add(floptally::sequence{.length = 8192});
        m.end_step(1.5);
        return m.last_step().executed;
    };
    tally batch(counter.masks());
    batch.add(floptally::sequence{.length = 8192});
    const flops expected = counter.total_flops(batch, view::executed);

    meter of_preset(floptally::presets::llama_3_8b, plan, h100);
    CHECK(executed(of_preset) == expected);
    CHECK(of_preset.hardware().gpus == 1);
    CHECK(of_preset.hardware().peak_tflops == h100.peak_tflops(floptally::precision::bf16));
    CHECK(of_preset.hardware().accelerator == "H100 SXM");
    CHECK(of_preset.hardware().precision == "bf16");
    CHECK(of_preset.hardware().peak_kind == floptally::peak_kind::datasheet);
    // What load_config returns, with parts for a plan that tells layers apart.
    floptally::model_config config{.model_type = "llama", .cost = floptally::presets::llama_3_8b.cost()};
    const floptally::listed_parts parts(floptally::presets::llama_3_8b);
    config.parts.assign(parts.begin(), parts.end());
    floptally::training_plan lora;
    lora.weights.push_back({.weights = "*", .state = floptally::weight_state::frozen}, "weights");
    lora.weights.push_back({.weights = "*/q_proj", .state = floptally::weight_state::lora, .rank = 8}, "weights");
    meter of_config(config, lora, h100);
    CHECK(executed(of_config) ==
          floptally::flop_counter(config, floptally::conventions::exact, lora).total_flops(batch, view::executed));
    CHECK_FALSE(of_config.model().is_upper_bound());
    // Other peaks and more GPUs.
    meter in_fp8(floptally::presets::llama_3_8b.cost(), plan, floptally::hardware_of(h100, floptally::precision::fp8));
    CHECK(executed(in_fp8) == expected);
    CHECK(in_fp8.hardware().peak_tflops == h100.peak_tflops(floptally::precision::fp8));
    meter of_eight(floptally::presets::llama_3_8b, plan, {.gpus = 8, .peak_tflops = 989, .counted = all_gpus});
    CHECK(executed(of_eight) == expected);
    // With a reduction the GPUs are its ranks.
    meter of_ranks(floptally::presets::llama_3_8b, plan, h100,
                   {.ranks = 3, .sum = [](const auto& mine) { return mine(); }});
    CHECK(executed(of_ranks) == expected);
    CHECK(of_ranks.hardware().gpus == 3);
}

TEST_CASE("a meter explains in a sentence why its rates are implausible") {
    meter m(floptally::presets::llama_3_8b, {}, floptally::accelerator_named("H100 SXM"));
    const auto doubt = [&m](double seconds) {
        m.begin_step();
        m.microbatch().add(floptally::sequence{.length = 8192});
        m.end_step(seconds);
        return floptally::doubt_of(m, m.last_step());
    };
    CHECK(floptally::doubt_of(m, m.run().totals).empty());
    CHECK(doubt(1).empty());
    CHECK(doubt(0.01).starts_with("more FLOPs than the peak allows"));
    CHECK(doubt(5000).starts_with("an MFU of 0.00853 % is below 0.1 %"));
    CHECK(floptally::doubt_of(m, m.run().totals).starts_with("an MFU of "));
    // A forward alone may be slower.
    meter forward(floptally::presets::llama_3_8b, {.counted = floptally::counted_passes::forward},
                  floptally::accelerator_named("H100 SXM"));
    forward.begin_step();
    forward.microbatch().add(floptally::sequence{.length = 8192});
    forward.end_step(5000);
    CHECK(floptally::doubt_of(forward, forward.last_step()).empty());
}

TEST_CASE("the threaded example of docs/meter.md runs") {
    floptally::meter m(floptally::presets::llama_3_8b.cost(), floptally::conventions::exact, {},
                       {.gpus = 8, .peak_tflops = 989, .counted = all_gpus});
    const std::vector<int> lengths{5, 7};
    m.begin_step();
    floptally::tally counted{m.model().masks()};  // clear() it to use it again
    std::thread loader([&] { counted.add_lengths(lengths); });
    loader.join();
    m.microbatch() += counted;
    m.end_step(0.41);
    CHECK(m.run().totals.batch.get(view::useful, accumulator::tokens) == 12);
}

}  // namespace meter_test
