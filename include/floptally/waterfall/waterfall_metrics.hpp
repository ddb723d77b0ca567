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
/// A waterfall for a logger: names and numbers.

namespace floptally {

namespace detail {

/// Letters, digits and "_-." of a name, the rest as "_": what loggers of all kinds take.
[[nodiscard]] inline std::string metric_word(std::string_view name) {
    constexpr std::string_view taken = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    std::string word(name);
    std::replace_if(
        word.begin(), word.end(), [&](char c) { return taken.find(c) == std::string_view::npos; }, '_');
    return word;
}

}  // namespace detail

/// The metrics of a waterfall: each known line in per cent of the peak, which add up to 100 with the MFU, what kernels
/// reach of theirs, and the seconds of the step. Times apart are "apart/NAME_pct"; of names that come out alike the
/// later ones are numbered.
[[nodiscard]] inline std::vector<metric> metrics(const waterfall& made, std::string_view prefix = "waterfall/") {
    std::vector<metric> all;
    const auto add = [&](const std::string& name, std::string_view unit, double value) {
        std::string whole;
        const auto is_taken = [&](const metric& other) { return other.name == whole; };
        for (std::size_t number = 1; whole.empty() || std::any_of(all.begin(), all.end(), is_taken); ++number) {
            whole = number == 1 ? detail::text_of({prefix, name, unit})
                                : detail::text_of({prefix, name, "_", number, unit});
        }
        all.push_back({.name = std::move(whole), .value = value, .convention = "exact", .version = version});
    };
    for (const waterfall_line& line : made.lines()) {
        if (line.is_known) {
            add(line.what == waterfall_step::useful  ? "mfu"
                : line.what == waterfall_step::apart ? "apart/" + detail::metric_word(line.name)
                                                     : std::string(name_of(line.what)),
                "_pct", 100 * line.share);
        }
    }
    add("kernel_rate", "_pct", 100 * made.kernel_rate());
    add("step_seconds", "", made.seconds());
    return all;
}

}  // namespace floptally
