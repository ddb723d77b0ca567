// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/step/meter_log.hpp>
#include <floptally/text/text.hpp>
#include <floptally/text/version.hpp>
#include <floptally/waterfall/waterfall.hpp>

/// @file
/// A waterfall as metrics for a logger: names and numbers.

namespace floptally::inline v0_3 {

namespace detail {

/// Replaces every character except letters, digits and "_-." by "_". All common loggers accept the result.
[[nodiscard]] inline std::string metric_word(std::string_view name) {
    constexpr std::string_view taken = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    std::string word(name);
    std::replace_if(
        word.begin(), word.end(), [&](char c) { return taken.find(c) == std::string_view::npos; }, '_');
    return word;
}

}  // namespace detail

/// Returns the metrics of a waterfall: each line whose time is known in per cent of the peak, the fraction of the peak
/// that kernels reach, and the seconds of the step. The lines, including the MFU, add up to 100. A line of the kind
/// `apart` has the metric "apart/NAME_pct". If two metrics have the same name, the later one gets a number.
[[nodiscard]] inline std::vector<metric> metrics(const waterfall& shown, std::string_view prefix = "waterfall/") {
    std::vector<metric> metrics_shown;
    const auto add = [&](const std::string& name, std::string_view unit, double value) {
        std::string whole;
        const auto is_taken = [&](const metric& other) { return other.name == whole; };
        for (std::size_t number = 1; whole.empty() || std::any_of(metrics_shown.begin(), metrics_shown.end(), is_taken);
             ++number) {
            whole = number == 1 ? detail::text_of({prefix, name, unit})
                                : detail::text_of({prefix, name, "_", number, unit});
        }
        metrics_shown.push_back({.name = std::move(whole), .value = value, .convention = "exact", .version = version});
    };
    for (const waterfall_line& line : shown.lines()) {
        if (line.is_known) {
            add(line.step == waterfall_step::useful  ? "mfu"
                : line.step == waterfall_step::apart ? "apart/" + detail::metric_word(line.name)
                                                     : std::string(name_of(line.step)),
                "_pct", 100 * line.share);
        }
    }
    add("kernel_rate", "_pct", 100 * shown.kernel_rate());
    add("step_seconds", "", shown.seconds());
    return metrics_shown;
}

}  // namespace floptally
