// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/text/table.hpp>
#include <floptally/waterfall/component_times.hpp>

/// @file
/// Two measured steps of one model side by side: which component became slower.

namespace floptally {

/// A component of two steps, in seconds of one GPU.
struct compared_component {
    std::string name{};
    counted_passes timed = counted_passes::train;
    std::optional<double> before{};  ///< absent where the step has no such line
    std::optional<double> after{};
    double rate_before = 0;  ///< what its kernels reached of their peak; 0 where it has no FLOPs
    double rate_after = 0;

    /// The time by which it became slower; below 0 where it became faster.
    [[nodiscard]] double slower() const { return after.value_or(0) - before.value_or(0); }
};

/// The lines of two steps by name and pass, slowest change first. Their differences add up to that of the steps.
[[nodiscard]] inline std::vector<compared_component> compare(const component_waterfall& before,
                                                             const component_waterfall& after) {
    std::vector<compared_component> all;
    const auto seconds = [](const component_waterfall& of, const component_line& line) {
        return static_cast<double>(line.gpu_nanoseconds) / 1e9 / static_cast<double>(of.whole().gpus());
    };
    for (const component_line& line : after.lines()) {
        all.push_back(
            {.name = line.name, .timed = line.timed, .after = seconds(after, line), .rate_after = line.kernel_rate});
    }
    for (const component_line& line : before.lines()) {
        const auto same = std::find_if(all.begin(), all.end(), [&line](const compared_component& other) {
            return other.name == line.name && other.timed == line.timed && !other.before;
        });
        compared_component& known = same == all.end() ? all.emplace_back() : *same;
        known.name = line.name;
        known.timed = line.timed;
        known.before = seconds(before, line);
        known.rate_before = line.kernel_rate;
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const compared_component& a, const compared_component& b) { return a.slower() > b.slower(); });
    return all;
}

/// The table of two steps by component, with both steps as its last row.
[[nodiscard]] inline table table_of(const std::vector<compared_component>& all) {
    table_section section{.columns = {{"slower first, ms of a GPU"}}};
    for (const char* name : {"before", "after", "slower by", "kernels % before", "after"}) {
        section.columns.push_back({name, cell_side::right, name[0] == 'k' ? std::size_t{18} : std::size_t{12}});
    }
    const auto time = [](const std::optional<double>& seconds) {
        return seconds ? number_cell(1e3 * *seconds, 3) : table_cell{"-"};
    };
    const auto rate = [](double of) { return of > 0 ? number_cell(100 * of, 2) : table_cell{"-"}; };
    compared_component whole{.name = "all", .before = 0, .after = 0};
    for (const compared_component& one : all) {
        const std::string pass = one.timed == counted_passes::train     ? ""
                                 : one.timed == counted_passes::forward ? ", forward"
                                                                        : ", backward";
        section.rows.push_back({{one.name + pass},
                                time(one.before),
                                time(one.after),
                                number_cell(1e3 * one.slower(), 3),
                                rate(one.rate_before),
                                rate(one.rate_after)});
        *whole.before += one.before.value_or(0);
        *whole.after += one.after.value_or(0);
    }
    section.rows.push_back({{whole.name}, time(whole.before), time(whole.after), number_cell(1e3 * whole.slower(), 3)});
    return {.sections = {std::move(section)}};
}

}  // namespace floptally
