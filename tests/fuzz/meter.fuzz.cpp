// SPDX-License-Identifier: Apache-2.0
//
// The calls that a training loop may make to a meter, in any order and with any number for a duration: after each call
// the run has the totals of the steps that ended, or the call was a floptally::error that changed nothing. Any text is
// also resumed as a state and read as a log.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/attention.hpp>
#include <floptally/json/meter_json.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/meter_log.hpp>
#include <floptally/step/meter_state.hpp>
#include <floptally/step/throughput_log.hpp>

#include "fuzz_input.hpp"

namespace {

using floptally::meter;
using floptally::tally;
using floptally::view;

const floptally::flop_counter& model() {
    static const floptally::flop_counter cost{
        floptally::gqa{4, 2, 8, {}}.cost({.hidden_size = 32, .attends = floptally::mask::sliding_window(5)})};
    return cost;
}

meter fresh() { return {model(), {.gpus = 8, .peak_tflops = 989, .counted = floptally::counted_for::all_gpus}}; }

/// True where the call succeeded; where it failed, the run must be unchanged.
template <class Call>
bool done(meter& of, Call call) {
    const floptally::step_series before = of.run();
    const bool open = of.in_step();
    try {
        call();
        return true;
    } catch (const floptally::error& problem) {
        require(!problem.field().empty());
        require(of.run() == before && of.in_step() == open);
        return false;
    }
}

void check_rates(const meter& of) {
    if (of.run().totals.steps == 0) {
        return;
    }
    try {
        for (const floptally::metric& logged : metrics(of, of.run())) {
            require(std::isfinite(logged.value) && logged.value >= 0);
        }
    } catch (const floptally::error& problem) {  // a rate that no double holds
        require(!problem.field().empty());
    }
}

void run_loop(reader& input) {
    meter of = fresh();
    tally expected{model().masks()};
    tally open{model().masks()};
    std::uint64_t steps = 0;
    for (unsigned calls = 0; calls < 24 && !input.empty(); ++calls) {
        switch (input.take<std::uint8_t>() % 6U) {
            case 0:
                done(of, [&] { of.begin_step(); });
                break;
            case 1: {
                const std::vector<std::int64_t> lengths{input.take<std::int32_t>(), input.take<std::uint16_t>()};
                if (done(of, [&] { of.microbatch().add_lengths(lengths); })) {
                    open.add_lengths(lengths);
                }
                break;
            }
            case 2: {
                const auto seconds = input.take<double>();
                if (done(of, [&] { of.end_step(seconds); })) {
                    require(std::isfinite(seconds) && seconds > 0);
                    expected += open;
                    open = tally{model().masks()};
                    ++steps;
                }
                break;
            }
            case 3:
                if (done(of, [&] { of.discard_step(); })) {
                    open = tally{model().masks()};
                }
                break;
            case 4:
                of.reset_interval();
                break;
            default: {
                meter next = fresh();
                resume(next, floptally::read_meter_state(nlohmann::json::parse(to_json(state_of(of)).dump())));
                require(next.run() == of.run());
            }
        }
        const floptally::step_totals& totals = of.run().totals;
        require(totals.steps == steps && totals.batch == expected);
        require(totals.useful == model().total(expected) && totals.executed == model().total(expected, view::executed));
    }
    check_rates(of);
}

void read_state(const std::string& text) {
    const nlohmann::json state = nlohmann::json::parse(text, nullptr, false);
    if (state.is_discarded()) {
        return;
    }
    meter of = fresh();
    done(of, [&] { resume(of, floptally::read_meter_state(state)); });
    check_rates(of);
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
    switch (input.take<std::uint8_t>() % 4U) {
        case 0:
            read_state(input.rest());
            break;
        case 1:
            read_log(input.rest());
            break;
        default:
            run_loop(input);
    }
    return 0;
}
