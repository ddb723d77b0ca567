// SPDX-License-Identifier: Apache-2.0
//
// Totals are compared with pairs and matmuls counted one by one; rates with one sum over another.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
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
#include <floptally/descriptors/presets.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/step/detail/step_gate.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/meter_worker.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "markdown.hpp"
#include "thread_world.hpp"

namespace meter_test {
namespace {

using floptally::counted_for;
using floptally::flops;
using floptally::meter;
using floptally::meter_worker;
using floptally::metered_hardware;
using floptally::metric;
using floptally::statistic;
using floptally::step_rates;
using floptally::step_totals;
using floptally::tally;
using floptally::uint128;
using floptally::view;

/// 30 FLOPs a token and 32 a pair, 16 of them QKᵀ, forward; one more mask keeps a word in the tally.
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

void run_step(meter& of, const std::vector<slotted>& batch, double seconds) {
    of.begin_step();
    add(of.microbatch(), batch);
    of.end_step(seconds);
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

TEST_CASE("H7: last step, interval and run are exact sums of what the microbatches were") {
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

TEST_CASE("H7: interval MFU is sum of FLOPs over sum of time, not a mean of MFUs") {
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

TEST_CASE("H7: rates of one step are those of utilize") {
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

TEST_CASE("A step without tokens is legal: a rank may have nothing to do") {
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

TEST_CASE("A step is timed by the clock that was given") {
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

TEST_CASE("Misuse of a step is a named error, and the totals so far are not lost") {
    meter m(folded(), two_gpus);
    CHECK(problem_of([&] { m.end_step(1); }) == "step: ends without a begin: begin_step() comes first");
    CHECK(problem_of([&] { m.end_step(); }) == "step: ends without a begin: begin_step() comes first");
    CHECK(problem_of([&] { m.discard_step(); }) == "step: ends without a begin: begin_step() comes first");
    CHECK(problem_of([&] { static_cast<void>(m.microbatch()); }) ==
          "microbatch: is outside a step: begin_step() comes first");
    CHECK(error_of([&] { return floptally::rates(m.last_step()).mfu; }) ==
          "steps: no step has ended yet: there is no rate");

    run_step(m, long_batch, 0.25);
    const step_totals last = m.last_step();
    const floptally::step_series interval = m.interval();
    const floptally::step_series run = m.run();
    const auto nothing_lost = [&] { return m.last_step() == last && m.interval() == interval && m.run() == run; };
    CHECK(problem_of([&] { m.end_step(1); }) == "step: ends without a begin: begin_step() comes first");
    CHECK(nothing_lost());

    m.begin_step();
    add(m.microbatch(), long_batch);
    CHECK(problem_of([&] { m.begin_step(); }) ==
          "step: begins inside a step: end_step() or discard_step() comes first");
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

TEST_CASE("A discarded step leaves no trace, its workers' microbatches included") {
    meter m(folded(), two_gpus);
    meter_worker published(m);
    meter_worker silent(m);
    m.begin_step();
    add(m.microbatch(), long_batch);
    add(published.microbatch(), long_batch);
    published.publish();
    add(silent.microbatch(), long_batch);
    m.discard_step();
    CHECK(m.run().totals.steps == 0);
    m.begin_step();
    add(m.microbatch(), short_batch);
    silent.publish();  // nothing
    add(silent.microbatch(), {{3, 4}});
    silent.publish();
    m.end_step(1);
    check_totals(m.run().totals, joined(short_batch, {{3, 4}}), 1, 1);
}

TEST_CASE("A sum that does not fit is an error, and the step can still be discarded or the interval reset") {
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

TEST_CASE("A worker's sum that does not fit is an error, and can still be handed in or discarded") {
    floptally::cost model;
    model.add("mlp", floptally::linear{.in_features = 1, .out_features = 1});
    meter m(floptally::flop_counter(model), two_gpus);
    meter_worker worker(m);
    m.begin_step();
    for (const bool fits : {true, false}) {
        worker.microbatch().add({.length = 4'294'967'295});  // its Σ n² is just below 2^64
        CHECK((problem_of([&] { worker.publish(); }) == "no error") == fits);
    }
    CHECK(problem_of([&] { m.end_step(1); }).starts_with("microbatch: workers (1) have not published theirs"));
    m.discard_step();
    run_step(m, short_batch, 1);
    CHECK(m.run().totals.steps == 1);
}

TEST_CASE("Totals and precisions of a model with other masks are refused") {
    floptally::cost other;
    other.add("mlp", floptally::linear{.in_features = 3, .out_features = 5});
    other.keep(floptally::mask::sliding_window(7));
    meter m(folded(), two_gpus);
    CHECK(problem_of([&] { m.resume(meter(floptally::flop_counter(other), two_gpus).run()); }) ==
          "masks: the totals to be resumed are of a model with other masks");
    CHECK(problem_of([&] { m.runs_in(floptally::mixed_precision(floptally::flop_counter(other), {}, 1)); }) ==
          "masks: the precisions are of a model with other masks");
    CHECK(!m.precisions());
    CHECK(m.last_step().batch == tally{folded().masks()});
}

TEST_CASE("Hardware that is none is an error") {
    const auto problem = [](const metered_hardware& on) { return problem_of([&] { meter(folded(), on); }); };
    CHECK(problem({.gpus = 0, .peak_tflops = 1}) == "gpus: must be at least 1, got 0");
    for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        CHECK(problem({.gpus = 1, .peak_tflops = bad}).rfind("peak_tflops: must be a finite number", 0) == 0);
    }
}

TEST_CASE("Threads that count through workers add up to the same integers as one thread") {
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
    std::deque<meter_worker> workers;  // one for each thread, kept over steps
    for (std::size_t i = 0; i < threads; ++i) {
        workers.emplace_back(m);
    }
    for (std::size_t step = 0; step < steps; ++step) {
        m.begin_step();
        std::vector<std::thread> running;
        for (std::size_t thread = 0; thread < threads; ++thread) {
            running.emplace_back([&, thread] {
                for (std::size_t i = 0; i < microbatches; ++i) {
                    workers[thread].microbatch().add_lengths(lengths_of(step, thread, i));
                    if (i == microbatches / 2) {
                        workers[thread].publish();  // more than once is as good
                    }
                }
                workers[thread].publish();
                meter_worker brief(m);  // one that lives for a part of the step
                brief.microbatch().add_lengths(lengths_of(step, thread, 0));
            });
        }
        m.microbatch().add_lengths(lengths_of(step, 0, 1));
        for (std::thread& entry : running) {
            entry.join();
        }
        m.end_step(0.5);
        for (std::size_t thread = 0; thread < threads; ++thread) {
            all.add_lengths(lengths_of(step, thread, 0));
            for (std::size_t i = 0; i < microbatches; ++i) {
                all.add_lengths(lengths_of(step, thread, i));
            }
        }
        all.add_lengths(lengths_of(step, 0, 1));
        REQUIRE(m.run().totals.batch == all);
    }
    CHECK(m.run().totals.useful == floptally::evaluate(small_model(), all).total(view::useful));
}

TEST_CASE("Threads that race with the ends of steps get every length into exactly one step, or an error") {
    meter m(folded(), two_gpus);
    constexpr std::size_t threads = 3;
    std::atomic<bool> stop{false};
    std::atomic<std::size_t> running{threads};
    std::vector<std::uint64_t> accepted(threads);
    std::vector<std::thread> all;
    for (std::size_t thread = 0; thread < threads; ++thread) {
        all.emplace_back([&, thread] {
            meter_worker mine(m);
            while (!stop.load()) {
                try {
                    mine.microbatch().add({.length = 1});
                    mine.publish();
                    ++accepted[thread];
                    std::this_thread::yield();
                } catch (const floptally::error&) {  // no step is open, or it ended in between
                    std::this_thread::yield();
                }
            }
            --running;
        });
    }
    const double deadline = floptally::steady_seconds() + 60;
    for (int step = 0; step < 30 && floptally::steady_seconds() < deadline; ++step) {
        m.begin_step();
        std::this_thread::yield();
        while (problem_of([&] { m.end_step(1); }) != "no error") {
            std::this_thread::yield();
            if (floptally::steady_seconds() > deadline) {
                FAIL_CHECK("workers that publish keep a step from being ended");
                m.discard_step();
                break;
            }
        }
    }
    stop = true;
    while (running.load() != 0) {
        std::this_thread::yield();
    }
    for (std::thread& entry : all) {
        entry.join();
    }
    const std::uint64_t sum = accepted[0] + accepted[1] + accepted[2];
    CHECK(m.run().totals.steps == 30);
    CHECK(m.run().totals.batch.get(view::useful, statistic::tokens) == sum);
}

TEST_CASE("What a worker counted while its step was being closed is in no other step") {
    floptally::detail::step_gate gate(small_model().masks());
    floptally::detail::step_gate::ticket worker;
    gate.enter(worker);
    tally counted{gate.masks()};
    add(counted, short_batch);
    gate.open();
    // The worker saw the step open, and got no further until it was closed.
    gate.close([&](const tally&) { worker.pending = 1; });
    const std::string late = "microbatch: step 1 ended before this worker published: its microbatches are not counted";
    CHECK(problem_of([&] { gate.publish(worker, counted); }) == late);
    gate.open();
    CHECK(problem_of([&] { gate.publish(worker, counted); }) == late);
    gate.leave(worker, counted);
    const auto close = [&] { gate.close([&](const tally& published) { CHECK(published == tally{gate.masks()}); }); };
    CHECK(problem_of(close).rfind("microbatch: workers that are gone (1)", 0) == 0);
    CHECK(problem_of(close) == "no error");
    CHECK(gate.open_step() == 0);
}

TEST_CASE("A worker outside a step, or one that has not published, is a named error") {
    meter m(folded(), two_gpus);
    meter_worker worker(m);
    CHECK(problem_of([&] { static_cast<void>(worker.microbatch()); }) ==
          "microbatch: is outside a step: begin_step() comes first");
    worker.publish();  // nothing to publish: no error
    m.begin_step();
    add(worker.microbatch(), short_batch);
    CHECK(problem_of([&] { m.end_step(1); }) ==
          "microbatch: workers (1) have not published theirs: call publish() in each, then end the step");
    CHECK(m.in_step());
    worker.publish();
    m.end_step(1);
    check_totals(m.last_step(), short_batch, 1, 1);
}

TEST_CASE("A worker that goes publishes what it has not, and what belongs to no step is said once") {
    meter m(folded(), two_gpus);
    m.begin_step();
    {
        meter_worker brief(m);
        add(brief.microbatch(), short_batch);
    }
    m.end_step(1);
    check_totals(m.last_step(), short_batch, 1, 1);

    m.begin_step();
    {
        meter_worker wrong(m);
        wrong.microbatch() = tally{};  // of other masks, so that it cannot be published
    }
    CHECK(problem_of([&] { m.end_step(1); }) ==
          "microbatch: workers that are gone (1) had microbatches that belong to no step: they are not counted");
    m.end_step(1);
    check_totals(m.last_step(), {}, 1, 1);

    m.begin_step();
    meter_worker worker(m);
    worker.microbatch() = tally{};
    CHECK(problem_of([&] { worker.publish(); }) == "masks: two tallies of different masks cannot be added");
    add(worker.microbatch(), short_batch);  // begins anew
    worker.publish();
    m.end_step(1);
    check_totals(m.last_step(), short_batch, 1, 1);
}

TEST_CASE("H7: logged names carry a prefix, the convention and the version") {
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
    CHECK(logged.size() == 17);
    // Useful and padded and executed are three numbers.
    CHECK(logged.at("train/mfu_pct") < logged.at("train/mfu_padded_pct"));
    CHECK(logged.at("train/mfu_padded_pct") < logged.at("train/hfu_pct"));

    const std::vector<metric> step = floptally::metrics(m, m.last_step(), "step_");
    CHECK(step.size() == 12);
    CHECK(step.front().name == "step_mfu_pct");
    CHECK(step.back().name == "step_step_seconds");
    CHECK(step.back().value == 100);
}

TEST_CASE("A second convention is a second line: the numbers of a meter that counts by it alone") {
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
        for (const floptally::rule& needed : other.masks()) {
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
        "masks: maxtext counts window_squares(3), which this meter's tallies do not have: keep it in the model's cost");
    CHECK(!m.beside());
}

TEST_CASE("F22: a meter counts named words of its microbatches") {
    floptally::cost model = small_model();
    model.keep(floptally::measured("loss_tokens"));
    meter steps(floptally::flop_counter(model), two_gpus);
    for (const std::uint64_t loss : {40U, 2U}) {
        steps.begin_step();
        add(steps.microbatch(), short_batch);
        steps.microbatch().add_measured("loss_tokens", loss, loss);
        steps.end_step(0.5);
        CHECK(steps.last_step().batch.pairs(view::useful, floptally::measured("loss_tokens")) == loss);
    }
    CHECK(steps.run().totals.batch.pairs(view::useful, floptally::measured("loss_tokens")) == 42);
    CHECK(steps.last_step().total(view::useful).low() == counted(short_batch, view::useful));
}

TEST_CASE("F41: several GPUs and nothing that says whose sequences are counted is an error") {
    const auto problem = [](const metered_hardware& on) { return problem_of([&] { const meter m(folded(), on); }); };
    CHECK(problem({.gpus = 2, .peak_tflops = 989}) ==
          "gpus: 2 GPUs, and nothing says whose sequences the meter is given: give it the reduction over the ranks, or "
          "say that they are those of all GPUs (counted: all_gpus)");
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
    CHECK(reduced({.gpus = 1, .peak_tflops = 989}) == "gpus: must be the 2 ranks that the reduction adds up, got 1");
    CHECK(reduced(two_gpus) ==
          "counted: all_gpus: the meter has a reduction, which would add up what is of all GPUs already");
    // Every number of a log says which it is.
    const auto counted = [](meter& m) {
        run_step(m, short_batch, 1);
        for (const metric& logged : floptally::metrics(m, m.interval(), "train/")) {
            CHECK(logged.counted == m.counted());
        }
        return m.counted();
    };
    meter one(folded(), {.gpus = 1, .peak_tflops = 989});
    meter declared(folded(), two_gpus);
    CHECK(counted(one) == "of 1 GPU");
    CHECK(counted(declared) == "of all 2 GPUs, as declared");
}

TEST_CASE("F41: a meter with the reduction has the MFU of all ranks, which none of them has alone") {
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

TEST_CASE("F41: where one rank cannot end its step, all of them say so, and the step can be ended again") {
    thread_world world;
    const auto ends = thread_world::run(3, [&](std::uint64_t rank) {
        const floptally::parallel_layout here({.dp = 3}, 3, rank);
        const auto over = world.over(here, floptally::every_axis);
        const floptally::tally_reduction reduction(folded(), floptally::scopes::microbatch, here, over);
        meter m(folded(), {.peak_tflops = 1e-6}, reduction.by(over));
        m.begin_step();
        meter_worker worker(m);
        add(worker.microbatch(), short_batch);
        const auto end = [&](double seconds) { return problem_of([&] { m.end_step(seconds); }); };
        if (rank != 1) {
            worker.publish();
        }
        const std::string unpublished = end(1);
        thread_world::expect(rank == 1 ? unpublished.rfind("microbatch: workers (1) have not", 0) == 0
                                       : unpublished == "sum: rank 1 refused; its own error says why",
                             unpublished);
        if (rank == 1) {
            worker.publish();
        }
        const std::string timeless = end(rank == 2 ? 0 : 1);
        thread_world::expect(rank == 2 ? timeless.rfind("seconds: must be", 0) == 0
                                       : timeless == "sum: rank 2 refused; its own error says why",
                             timeless);
        thread_world::expect(m.in_step() && m.run().totals.steps == 0, "still open");
        thread_world::expect(end(1) == "no error", "ends");
        thread_world::expect(m.run().totals.batch.get(view::useful, statistic::tokens) == 18, "3 x 6 tokens");
    });
    CHECK(ends == std::vector<std::string>(3, "no error"));
}

TEST_CASE("F24, T13: percentiles of step times without the first ten are those of the sorted list, within 1/128") {
    std::mt19937_64 random(24);
    for (const std::size_t steps : {11U, 12U, 13U, 40U, 110U, 1010U}) {
        meter m(folded(), two_gpus);
        std::vector<double> kept;
        for (std::size_t step = 0; step < steps; ++step) {
            // Steps that compile are a hundred times longer; the others are spread, some with a long tail.
            const double spread = std::exp(0.3 * std::normal_distribution<double>()(random));
            const double seconds = step < 10 ? 41 : (random() % 50 == 0 ? 3.5 : 0.41) * spread;
            run_step(m, {}, seconds);
            if (step >= 10) {
                kept.push_back(seconds);
            }
        }
        std::sort(kept.begin(), kept.end());
        const floptally::duration_percentiles found = m.step_percentiles();
        CHECK(found.left_out == 10);
        CHECK(found.steps == kept.size());
        const std::pair<std::size_t, double> all[] = {{10, found.p10}, {25, found.p25}, {50, found.p50},
                                                      {75, found.p75}, {90, found.p90}, {99, found.p99}};
        for (const auto& [percent, seconds] : all) {
            const std::size_t place = (percent * kept.size() + 99) / 100;  // ⌈p·n/100⌉, from 1
            const double exactly = kept[place - 1];
            INFO(steps << " steps, p" << percent << ": " << seconds << ", exactly " << exactly);
            CHECK(std::abs(seconds - exactly) <= exactly / 128);
            CHECK((place != 1 || seconds == exactly));
            CHECK((place != kept.size() || seconds == exactly));
        }
        CHECK(m.run().step_seconds.max() == 41);  // the run's own histogram has all steps
    }
}

TEST_CASE("F24, T13: percentiles are one call and one line of a log, and none before the steps that are left out") {
    meter m(folded(), two_gpus);
    for (int step = 0; step < 10; ++step) {
        run_step(m, {}, 9);
    }
    CHECK(problem_of([&] { static_cast<void>(m.step_percentiles()); }) ==
          "steps: none has ended after the first 10, which are left out");
    CHECK(problem_of([&] { m.leave_out(3); }) == "leave_out: must come before the first step");
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

TEST_CASE(
    "A run is resumed from its state, and another version of the numbers, convention, masks or model is an error") {
    meter first(folded(), two_gpus);
    run_step(first, long_batch, 0.1);
    run_step(first, short_batch, 0.2);
    const floptally::meter_state state = floptally::state_of(first);
    CHECK(state.masks == std::vector<std::string>{"sliding_window(3)"});
    CHECK(state.run.totals.batch == tally{});  // it is in `masks` and `words`

    meter second(folded(), {.gpus = 4, .peak_tflops = 2e-6, .counted = all_gpus});  // on more and faster GPUs
    floptally::resume(second, state);
    CHECK(second.run() == first.run());
    CHECK(second.interval().totals.steps == 0);
    run_step(second, short_batch, 0.4);
    check_totals(second.run().totals, joined(joined(long_batch, short_batch), short_batch), 3, 0.1 + 0.2 + 0.4);
    CHECK(near(floptally::rates(second.run().totals).mfu,
               as_double(second.run().totals.useful.value()) / (2 * 0.3 * 1e6 + 4 * 0.4 * 2e6)));
    CHECK(problem_of([&] { floptally::resume(second, state); }) == "resume: must come before the first step");

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
                      }) == "numbers_version: the state has numbers of version " +
                                std::to_string(static_cast<int>(floptally::numbers_version) + step) +
                                ", of floptally 7.8.9; this is floptally " + floptally::version +
                                ", whose numbers are of version " + std::to_string(floptally::numbers_version));
    }
    CHECK(problem(floptally::flop_counter(small_model(), floptally::conventions::maxtext), same) ==
          "convention: the totals to be resumed were counted with \"exact\", this meter has \"maxtext\"");
    CHECK(problem(floptally::flop_counter(
                      small_model() + floptally::cost{}.add("other", {.num_heads = 1}, floptally::mask::chunked(2))),
                  same) ==
          "masks: the totals to be resumed were counted with \"sliding_window(3)\", this meter has "
          "\"sliding_window(3), chunked(2)\"");
    CHECK(problem(floptally::flop_counter(2 * small_model()), same).rfind("flops: the totals to be resumed have", 0) ==
          0);
    CHECK(problem(floptally::flop_counter(small_model(), floptally::conventions::exact,
                                          {.recomputed = floptally::recompute::full}),
                  same)
              .rfind("flops: ", 0) == 0);
    CHECK(problem(folded(), [](floptally::meter_state& s) { ++s.words[1]; }).rfind("flops: ", 0) == 0);
    CHECK(problem(folded(), [](floptally::meter_state& s) { s.words.pop_back(); }).rfind("words: must be", 0) == 0);
    CHECK(problem(folded(), [](floptally::meter_state& s) { ++s.run.totals.steps; }) ==
          "steps: the totals to be resumed are of 3 steps and 2 durations");
    for (const double bad : {0.0, -1.0, std::nan("")}) {
        CHECK(problem(folded(), [&](floptally::meter_state& s) {
                  s.run.totals.seconds = bad;
              }).rfind("seconds: must be", 0) == 0);
        CHECK(problem(folded(), [&](floptally::meter_state& s) {
                  s.run.totals.gpu_seconds = bad;
              }).rfind("gpu_seconds: must be", 0) == 0);
        CHECK(problem(folded(), [&](floptally::meter_state& s) {
                  s.run.totals.peak_tflop = bad;
              }).rfind("peak_tflop: must be", 0) == 0);
    }
    meter open(folded(), two_gpus);
    open.begin_step();
    CHECK(problem_of([&] { floptally::resume(open, state); }) == "resume: must come before the first step");
    meter empty(folded(), two_gpus);
    floptally::resume(empty, floptally::state_of(meter(folded(), two_gpus)));
    CHECK(empty.run().totals.steps == 0);
}

TEST_CASE("The loop of docs/meter.md is this one, and the page explains every logged name") {
    struct packed {
        std::vector<int> cu_seqlens;
        std::vector<int> cu_seqlens_padded;
        std::size_t num_real_seqs;
    };
    const std::vector<std::vector<packed>> steps(20, {{{0, 5, 9, 9}, {0, 8, 16, 24}, 2}});
    std::ostringstream out;
    const auto train = [](const packed&) {};
    const auto log = [&](const std::string& name, double value) { out << name << " " << value << "\n"; };

    floptally::meter m(floptally::presets::llama_3_8b.cost(), floptally::conventions::exact,
                       {.recomputed = floptally::recompute::none},
                       {.gpus = 1, .peak_tflops = 989, .accelerator = "NVIDIA H100 SXM5", .precision = "bf16"});
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
    CHECK(m.run().totals.batch.get(view::useful, statistic::tokens) == 180);
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
}

TEST_CASE("The snippet of docs/meter.md with threads") {
    floptally::meter m(floptally::presets::llama_3_8b.cost(), floptally::conventions::exact, {},
                       {.gpus = 8, .peak_tflops = 989, .counted = all_gpus});
    const std::vector<int> lengths{5, 7};
    m.begin_step();
    std::thread loader([&] {
        floptally::meter_worker mine(m);  // keep it over steps where the thread lives on
        mine.microbatch().add_lengths(lengths);
        mine.publish();
    });
    loader.join();
    m.end_step(0.41);
    CHECK(m.run().totals.batch.get(view::useful, statistic::tokens) == 12);
}

}  // namespace meter_test
