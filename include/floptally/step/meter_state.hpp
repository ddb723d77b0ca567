// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/run_account.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/version.hpp>

/// @file
/// The run totals of a meter as plain data, for checkpoints.

namespace floptally {

/// The run totals of a meter as plain data: exact, with what counted them: versions, convention and masks.
struct meter_state {
    std::string version{};
    std::uint64_t numbers{};  ///< the version of the numbers
    std::string convention{};
    std::vector<std::string> masks{};
    std::vector<std::uint64_t> words{};      ///< of the tally
    step_series run{};                       ///< without its tally, which is in `masks` and `words`
    std::optional<account_state> account{};  ///< where the run's wall clock is kept
};

/// The state of a meter's run.
[[nodiscard]] inline meter_state state_of(const meter& source) {
    const step_series& run = source.run();
    meter_state state{.version = version,
                      .numbers = numbers_version,
                      .convention = std::string(source.model().counted_as().name),
                      .run = run};
    for (const rule& mask : run.totals.batch.masks()) {
        state.masks.push_back(mask.name());
    }
    state.words.assign(run.totals.batch.words().begin(), run.totals.batch.words().end());
    state.run.totals.batch = tally{};
    if (source.account().has_begun()) {
        state.account = source.account().state();
    }
    return state;
}

/// Continues a run from its state, before the first step. A state of another version of the numbers,
/// convention, mask, model or plan is an error: its numbers mean something else. An error leaves the meter as it was.
inline void resume(meter& into, const meter_state& state) {
    const auto require_same = [](const char* field, std::string_view saved, std::string_view present) {
        if (saved != present) {
            detail::refuse(field, {"the totals to be resumed were counted with \"", saved, "\", this meter has \"",
                                   present, "\""});
        }
    };
    require_numbers_version("the state", state.numbers, state.version);
    require_same("convention", state.convention, into.model().counted_as().name);
    std::string saved;
    for (const std::string& name : state.masks) {
        append_item(saved, name);
    }
    std::string present;
    for (const rule& mask : into.model().masks()) {
        append_item(present, mask.name());
    }
    require_same("masks", saved, present);
    step_series run = state.run;
    run.totals.batch = tally::from_words(into.model().masks(), state.words);
    run_account account = into.account();
    if (state.account) {
        account.resume(*state.account);
    }
    into.resume(run);
    into.account() = std::move(account);
}

}  // namespace floptally
