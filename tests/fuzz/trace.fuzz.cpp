// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a trace of PyTorch's profiler, as a file of measured times, or as JSON alone: times that add up to the
// span of the trace, what nlohmann_json reads, or a floptally::error. Nothing else may happen.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include <floptally/config/json_text.hpp>
#include <floptally/json/component_json.hpp>
#include <floptally/json/kineto_trace.hpp>
#include <floptally/waterfall/trace_times.hpp>

#include "fuzz_input.hpp"

namespace {

void read_trace(std::istream& text) {
    const floptally::trace_times measured_times(floptally::read_kineto_trace(text));
    std::int64_t sum = 0;
    for (const floptally::trace_time& time : measured_times.times()) {
        require(time.forward >= 0 && time.backward >= 0);
        sum += time.forward + time.backward;
    }
    require(sum == measured_times.nanoseconds());
}

/// A text that is read is what nlohmann_json reads of it; one that it refuses is refused.
void read_text(const std::string& text) {
    const nlohmann::json expected = nlohmann::json::parse(text, nullptr, false);
    std::istringstream stream(text);
    const nlohmann::json found = floptally::read_json(stream, "config");
    require(!expected.is_discarded() && found == expected);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    reader input(data, size);
    const unsigned how = input.take<std::uint8_t>() % 4U;
    const std::string text = input.rest();
    std::istringstream stream(text);
    try {
        if (how == 0) {
            read_text(text);
        } else if (how == 1) {
            const floptally::component_times times =
                floptally::read_component_times(floptally::read_json(stream, "component_times"));
            require(!times.times.empty());
        } else {
            read_trace(stream);
        }
    } catch (const floptally::error& problem) {
        require(!problem.field().empty() && !problem.problem().empty());
    }
    return 0;
}
