// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/error.hpp>
#include <floptally/flops.hpp>
#include <floptally/meter.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/tally.hpp>
#include <floptally/version.hpp>

namespace floptally {

/// The run totals of a meter as plain data, for a checkpoint: exact, and with what they were counted by.
struct meter_state {
    std::string version{};
    std::string convention{};
    std::vector<std::string> masks{};
    std::vector<std::uint64_t> words{};  ///< of the tally
    step_series run{};                   ///< its tally is in `masks` and `words`
};

[[nodiscard]] inline meter_state state_of(const meter& of) {
    const step_series& run = of.run();
    meter_state state{.version = version, .convention = std::string(of.model().counted_as().name), .run = run};
    for (const rule& m : run.totals.batch.masks()) {
        state.masks.push_back(m.name());
    }
    state.words.assign(run.totals.batch.words().begin(), run.totals.batch.words().end());
    state.run.totals.batch = tally{};
    return state;
}

/// Goes on from a state, before the first step. Another version, convention, masks, model or plan is an error: totals
/// would be a sum of numbers that mean different things.
inline void resume(meter& into, const meter_state& state) {
    const auto require_same = [](const char* field, const std::string& kept, const std::string& now) {
        if (kept != now) {
            throw error(field,
                        "the totals to be resumed were counted with \"" + kept + "\", this meter has \"" + now + "\"");
        }
    };
    require_same("version", state.version, version);
    require_same("convention", state.convention, std::string(into.model().counted_as().name));
    std::string kept;
    for (const std::string& name : state.masks) {
        append_item(kept, name);
    }
    std::string now;
    for (const rule& m : into.model().masks()) {
        append_item(now, m.name());
    }
    require_same("masks", kept, now);
    step_series run = state.run;
    run.totals.batch = tally::from_words(into.model().masks(), state.words);
    into.resume(run);
}

}  // namespace floptally
