// SPDX-License-Identifier: Apache-2.0
//
// The calls that a training loop may make to a meter, in any order and with any number for a duration: after each call
// the run has the totals of the steps that ended, or the call was a floptally::error that changed nothing. Any text is
// also resumed as a state, read as a log of ours and as a trainer's, or taken for a number of a dashboard; and a state
// with numbers of another run is resumed whole, with a checksum that is right.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/conventions/comparison.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/json/comparison_json.hpp>
#include <floptally/json/meter_json.hpp>
#include <floptally/step/comparison_report.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/observed_work.hpp>
#include <floptally/step/throughput_log.hpp>

#include "fuzz_input.hpp"

namespace {

using floptally::meter;
using floptally::tally;
using floptally::view;

const floptally::cost& layer() {
    static const floptally::cost cost =
        floptally::gqa{4, 2, 8, {}}.cost({.hidden_size = 32, .attends = floptally::mask::sliding_window(5)});
    return cost;
}

const floptally::flop_counter& model() {
    static const floptally::flop_counter counter{layer()};
    return counter;
}

meter fresh() { return {model(), {.gpus = 8, .peak_tflops = 989, .counted = floptally::counted_for::all_gpus}}; }

/// True where the call succeeded; where it failed, the run must be unchanged.
template <class Call>
bool done(meter& subject, Call call) {
    const floptally::step_series before = subject.run();
    const bool open = subject.in_step();
    try {
        call();
        return true;
    } catch (const floptally::error& problem) {
        require(!problem.field().empty());
        require(subject.run() == before && subject.in_step() == open);
        return false;
    }
}

void check_rates(const meter& source) {
    if (source.run().totals.steps == 0) {
        return;
    }
    try {
        for (const floptally::metric& logged : metrics(source, source.run())) {
            require(std::isfinite(logged.value) && logged.value >= 0);
        }
    } catch (const floptally::error& problem) {  // a rate that no double holds
        require(!problem.field().empty());
    }
}

void run_loop(reader& input) {
    meter counter_of_steps = fresh();
    tally expected{model().masks()};
    tally open{model().masks()};
    std::uint64_t steps = 0;
    for (unsigned calls = 0; calls < 24 && !input.empty(); ++calls) {
        switch (input.take<std::uint8_t>() % 6U) {
            case 0:
                done(counter_of_steps, [&] { counter_of_steps.begin_step(); });
                break;
            case 1: {
                const std::vector<std::int64_t> lengths{input.take<std::int32_t>(), input.take<std::uint16_t>()};
                if (done(counter_of_steps, [&] { counter_of_steps.microbatch().add_lengths(lengths); })) {
                    open.add_lengths(lengths);
                }
                break;
            }
            case 2: {
                const auto seconds = input.take<double>();
                if (done(counter_of_steps, [&] { counter_of_steps.end_step(seconds); })) {
                    require(std::isfinite(seconds) && seconds > 0);
                    expected += open;
                    open = tally{model().masks()};
                    ++steps;
                }
                break;
            }
            case 3:
                if (done(counter_of_steps, [&] { counter_of_steps.discard_step(); })) {
                    open = tally{model().masks()};
                }
                break;
            case 4:
                counter_of_steps.reset_interval();
                break;
            default: {
                meter next = fresh();
                resume(next,
                       floptally::read_meter_state(nlohmann::json::parse(to_json(state_of(counter_of_steps)).dump())));
                require(next.run() == counter_of_steps.run());
            }
        }
        const floptally::step_totals& totals = counter_of_steps.run().totals;
        require(totals.steps == steps && totals.batch == expected);
        require(totals.useful == model().total_flops(expected) &&
                totals.executed == model().total_flops(expected, view::executed));
    }
    check_rates(counter_of_steps);
}

void read_state(const std::string& text) {
    const nlohmann::json state = nlohmann::json::parse(text, nullptr, false);
    if (state.is_discarded()) {
        return;
    }
    meter other_meter = fresh();
    done(other_meter, [&] { resume(other_meter, floptally::read_meter_state(state)); });
    check_rates(other_meter);
}

/// A state whose numbers and names are any: what it says is read again as it was written, and resumed or refused.
void resume_edited_state(reader& input) {
    meter from = fresh();
    from.begin_step();
    from.microbatch().add_lengths(std::vector<std::int64_t>{7, 100});
    from.end_step(0.5);
    floptally::meter_state state = state_of(from);
    floptally::step_totals& totals = state.run.totals;
    for (unsigned edits = input.take<std::uint8_t>() % 5U; edits != 0; --edits) {
        switch (input.take<std::uint8_t>() % 12U) {
            case 0:
                state.numbers = input.take<std::uint64_t>();
                break;
            case 1:
                state.accumulators.push_back(input.take<std::uint64_t>());
                break;
            case 2:
                state.accumulators.pop_back();
                break;
            case 3:
                state.masks.push_back("causal");
                break;
            case 4:
                totals.steps = input.take<std::uint64_t>();
                break;
            case 5:
                totals.useful = floptally::flops{input.take<floptally::uint128>()};
                break;
            case 6:
                totals.executed = floptally::flops{input.take<floptally::uint128>()};
                break;
            case 7:
                totals.seconds = input.take<double>();
                break;
            case 8:
                totals.gpu_seconds = input.take<double>();
                break;
            case 9:
                totals.peak_tflop = input.take<double>();
                break;
            case 10:
                state.goodput = {.wall_seconds = input.take<double>(), .saved_at = input.take<double>()};
                state.goodput->spent.push_back({"data", input.take<double>()});
                break;
            default:
                if (!state.accumulators.empty()) {
                    state.accumulators[input.take<std::uint8_t>() % state.accumulators.size()] =
                        input.take<std::uint64_t>();
                }
        }
        if (state.accumulators.empty()) {
            break;
        }
    }
    meter into = fresh();
    done(into, [&] {
        const std::string text = to_json(state).dump();
        const floptally::meter_state read = floptally::read_meter_state(nlohmann::json::parse(text));
        require(to_json(read).dump() == text);
        resume(into, read);
    });
    check_rates(into);
    done(into, [&] { into.begin_step(); });
    done(into, [&] { into.end_step(0.5); });
    check_rates(into);
}

/// A text as the log of a trainer, and its first line as a number of a dashboard.
void read_of_others(const std::string& text) {
    static const floptally::convention_comparison all(layer());
    tally batch{all.masks()};
    batch.add_lengths(std::vector<std::int64_t>{70, 5});
    constexpr floptally::observed_step step{.seconds = 2.0, .gpus = 8, .peak_tflops = 989.0};
    const auto shown = [](const floptally::comparison_report& report) {
        require(!report.observed->nearest.how.name.empty() && !to_table(report).empty() &&
                !to_json(report).dump().empty());
    };
    try {
        std::istringstream lines(text);
        shown(floptally::comparison_of("", all, batch, "", floptally::observed_log_of(lines, batch, step)));
    } catch (const floptally::error& problem) {
        require(!problem.field().empty());
    }
    try {
        shown(floptally::comparison_of("", all, batch, "", text.substr(0, text.find('\n')) + "%", step));
    } catch (const floptally::error& problem) {
        require(!problem.field().empty());
    }
}

void read_log(const std::string& text) {
    try {
        std::istringstream lines(text);
        const floptally::throughput_log log = floptally::read_throughput_log(lines);
        for (const floptally::train_line& line : log.steps) {
            require(std::isfinite(line.tflops.value_or(0)) && std::isfinite(line.mfu_pct.value_or(0)));
        }
    } catch (const floptally::error& problem) {
        require(!problem.field().empty());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    reader input(data, size);
    switch (input.take<std::uint8_t>() % 6U) {
        case 0:
            read_state(input.rest());
            break;
        case 1:
            read_log(input.rest());
            break;
        case 3:
            resume_edited_state(input);
            break;
        case 4:
            read_of_others(input.rest());
            break;
        default:
            run_loop(input);
    }
    return 0;
}
