// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/goodput.hpp>
#include <floptally/step/meter.hpp>
#include <floptally/step/step_totals.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/version.hpp>

/// @file
/// The run totals of a meter as plain data, for checkpoints.

namespace floptally::inline v0_3 {

/// The exact run totals of a meter as plain data. They include the library version, the convention, and the names of
/// the attention masks that were counted.
struct meter_state {
    std::string version{};
    std::uint64_t numbers{};  ///< `numbers_version`: changes when the library counts differently
    std::string convention{};
    std::vector<std::string> masks{};
    std::vector<std::uint64_t> accumulators{};  ///< the accumulators of the run's tally
    /// Names of the statistics whose amounts the caller measured (`tally::add_measured`). `accumulators` does not show
    /// this: a measured 0 and a missing measurement look the same there.
    std::vector<std::string> measured{};
    step_series run{};                       ///< totals of the run without the tally, whose sums are in `accumulators`
    std::optional<goodput_state> goodput{};  ///< the run's wall clock, if it has begun
    bool recounted = false;                  ///< true: steps of the run were counted with several plans or conventions
    std::uint64_t steps_left_out = 0;        ///< steps that could not be counted (`on_error::leave_out`)
};

/// Returns the state of a meter's run.
[[nodiscard]] inline meter_state state_of(const meter& source) {
    const step_series& run = source.run();
    meter_state state{.version = version,
                      .numbers = numbers_version,
                      .convention = std::string(source.model().counted_as().name),
                      .masks = detail::names_of(run.totals.batch.masks()),
                      .run = run,
                      .recounted = source.run_is_recounted(),
                      .steps_left_out = source.left_out().run};
    state.accumulators.assign(run.totals.batch.accumulators().begin(), run.totals.batch.accumulators().end());
    for (const statistic& mask : run.totals.batch.masks()) {
        if (run.totals.batch.has_measured(mask)) {
            state.measured.push_back(mask.name());
        }
    }
    state.run.totals.batch = tally{};
    if (source.goodput().has_begun()) {
        state.goodput = source.goodput().state();
    }
    return state;
}

/// Continues a run from its state, before the first step. If the state was counted with another convention, model, plan
/// or masks, throws `error`. With `resume_from::any_counter` it returns false instead and keeps the FLOPs as they were
/// counted. Throws `error` for a state of another `numbers_version`. An error leaves the meter unchanged.
inline bool resume(meter& into, const meter_state& state, resume_from which = resume_from::same_counter) {
    const bool any = which == resume_from::any_counter;
    const auto require_same = [any](const char* field, std::string_view saved, std::string_view present) {
        if (saved != present && !any) {
            detail::refuse(field, {"the saved totals were counted with \"", saved, "\", but this meter has \"", present,
                                   "\": resume with the meter that saved them, or with ", "resume_from::any_counter"});
        }
        return saved == present;
    };
    require_numbers_version("the state", state.numbers, state.version);
    bool same = require_same("convention", state.convention, into.model().counted_as().name);
    const auto listed = [](const std::vector<std::string>& names) {
        std::string text;
        for (const std::string& name : names) {
            append_item(text, name);
        }
        return text;
    };
    const std::vector<std::string> present = detail::names_of(into.model().masks());
    const bool same_masks = require_same("masks", listed(state.masks), listed(present));
    step_series run = state.run;
    run.totals.batch = same_masks ? tally::from_accumulators(into.model().masks(), state.accumulators)
                                  : detail::with_masks(into.model().masks(), state.masks, state.accumulators);
    for (const statistic& mask : into.model().masks()) {
        if (std::find(state.measured.begin(), state.measured.end(), mask.name()) != state.measured.end()) {
            run.totals.batch.mark_measured(mask);
        }
    }
    goodput_clock goodput = into.goodput();
    if (state.goodput) {
        goodput.resume(*state.goodput);
    }
    // If a run was counted with several plans, its FLOPs do not follow from its tally.
    same = into.resume(run, any || state.recounted ? resume_from::any_counter : which) && same && same_masks;
    into.mark_resumed(state.recounted || (!same && run.totals.steps != 0), state.steps_left_out);
    into.goodput() = std::move(goodput);
    return same || run.totals.steps == 0 ||
           (state.recounted && same_masks && state.convention == into.model().counted_as().name);
}

}  // namespace floptally
