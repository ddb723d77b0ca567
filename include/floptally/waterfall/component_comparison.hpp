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
/// Compares two measured steps of one model component by component, to show which component became slower.

namespace floptally::inline v0_3 {

/// The time of one component in each of two steps, in seconds of one GPU.
struct compared_component {
    std::string name{};
    counted_passes timed = counted_passes::train;
    std::optional<double> before{};  ///< seconds in the first step; empty if that step has no line of this component
    std::optional<double> after{};   ///< seconds in the second step; empty if that step has no line of this component
    double rate_before = 0;  ///< fraction of the peak that the component's kernels reached in the first step; 0 if the
                             ///< component has no FLOPs
    double rate_after = 0;

    /// Returns by how many seconds the component is slower in the second step; negative if it became faster.
    [[nodiscard]] double slower() const { return after.value_or(0) - before.value_or(0); }
};

/// Compares two steps by component and pass. The component with the largest slowdown comes first. The slowdowns add up
/// to the difference of the two steps' times.
[[nodiscard]] inline std::vector<compared_component> compare(const component_waterfall& before,
                                                             const component_waterfall& after) {
    std::vector<compared_component> components;
    const auto seconds = [](const component_waterfall& step, const component_line& line) {
        return static_cast<double>(line.gpu_nanoseconds) / 1e9 / static_cast<double>(step.whole().gpus());
    };
    for (const component_line& line : after.lines()) {
        components.push_back(
            {.name = line.name, .timed = line.timed, .after = seconds(after, line), .rate_after = line.kernel_rate});
    }
    for (const component_line& line : before.lines()) {
        const auto same = std::find_if(components.begin(), components.end(), [&line](const compared_component& other) {
            return other.name == line.name && other.timed == line.timed && !other.before;
        });
        compared_component& known = same == components.end() ? components.emplace_back() : *same;
        known.name = line.name;
        known.timed = line.timed;
        known.before = seconds(before, line);
        known.rate_before = line.kernel_rate;
    }
    std::stable_sort(components.begin(), components.end(),
                     [](const compared_component& a, const compared_component& b) { return a.slower() > b.slower(); });
    return components;
}

/// Returns the comparison as a table. The last row has the sums over all components, which are the times of the two
/// whole steps.
[[nodiscard]] inline table table_of(const std::vector<compared_component>& components) {
    table_section section{.columns = {{"slower first, ms of a GPU"}}};
    for (const char* name : {"before", "after", "slower by", "kernels % before", "after"}) {
        section.columns.push_back({name, cell_side::right, name[0] == 'k' ? std::size_t{18} : std::size_t{12}});
    }
    const auto time = [](const std::optional<double>& seconds) {
        return seconds ? number_cell(1e3 * *seconds, 3) : table_cell{"-"};
    };
    const auto rate = [](double fraction) { return fraction > 0 ? number_cell(100 * fraction, 2) : table_cell{"-"}; };
    compared_component whole{.name = "all", .before = 0, .after = 0};
    for (const compared_component& component : components) {
        const std::string pass = component.timed == counted_passes::train     ? ""
                                 : component.timed == counted_passes::forward ? ", forward"
                                                                              : ", backward";
        section.rows.push_back({{component.name + pass},
                                time(component.before),
                                time(component.after),
                                number_cell(1e3 * component.slower(), 3),
                                rate(component.rate_before),
                                rate(component.rate_after)});
        *whole.before += component.before.value_or(0);
        *whole.after += component.after.value_or(0);
    }
    section.rows.push_back({{whole.name}, time(whole.before), time(whole.after), number_cell(1e3 * whole.slower(), 3)});
    return {.sections = {std::move(section)}};
}

}  // namespace floptally
