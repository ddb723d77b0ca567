// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/hardware/accelerator.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/memory_bandwidth.hpp>

/// @file
/// Finds the largest microbatch or sequence that fits the memory, and the accelerators whose memory holds a step.

namespace floptally::inline v0_3 {

/// Returns the GiB that the fullest rank of a report needs, including the reserve.
[[nodiscard]] inline double gib_of(const fit_report& report) {
    std::uint64_t most = 0;
    for (const stage_fit& stage : report.stages) {
        most = std::max(most, stage.held.total());
    }
    return static_cast<double>(most) / 1073741824 + report.reserve_gib;
}

/// Returns the largest number from 1 to `most` for which `fits(number)` is true, or 0 if there is none. If a number
/// fits, all smaller numbers must fit, too. This is true for memory.
template <class Fits>
[[nodiscard]] std::uint64_t largest_that_fits(std::uint64_t most, Fits fits) {
    std::uint64_t good = 0;
    std::uint64_t bad = 1;
    while (bad <= most && fits(bad)) {
        good = bad;
        bad *= 2;
    }
    bad = std::min(bad, most + 1);
    while (good + 1 < bad) {
        const std::uint64_t middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    return good;
}

/// An accelerator, and whether a step fits its memory.
struct holding_accelerator {
    std::string_view name;
    double memory_gib = 0;
    bool fits = false;
    std::optional<double> price{};  ///< the price of one accelerator, as passed by the caller
};

/// Returns the accelerators whose memory size is known. Accelerators with at least `gib` GiB come first. Accelerators
/// that fit, and those that do not, are each sorted by price if prices are given, and otherwise by memory. `prices` has
/// prices by the accelerator's name, in any currency.
[[nodiscard]] inline std::vector<holding_accelerator> accelerators_that_hold(
    double gib, const std::vector<std::pair<std::string_view, double>>& prices = {}) {
    std::vector<holding_accelerator> list;
    const auto put = [&](std::string_view name, const accelerator& part) {
        const auto memory = memory_size_named(name);
        if (!memory) {
            return;
        }
        holding_accelerator one{.name = name, .memory_gib = memory->gib, .fits = gib <= memory->gib};
        for (const auto& [priced, price] : prices) {
            if (priced == name || priced == part.name) {
                one.price = price;
            }
        }
        list.push_back(one);
    };
    for (const accelerator& part : accelerators()) {
        if (memory_size_named(part.name)) {
            put(part.name, part);
            continue;
        }
        // An accelerator with several memory sizes gets one element of the list for each size.
        const std::size_t first = list.size();
        for (const std::string_view name : names_with_memory(part)) {
            put(name, part);
            const bool is_known =
                list.size() > first + 1 &&
                std::any_of(list.begin() + static_cast<std::ptrdiff_t>(first), list.end() - 1,
                            [&](const holding_accelerator& one) { return one.memory_gib == list.back().memory_gib; });
            if (is_known) {
                list.pop_back();
            }
        }
    }
    std::stable_sort(list.begin(), list.end(), [](const holding_accelerator& a, const holding_accelerator& b) {
        return a.fits != b.fits                             ? a.fits
               : a.price.has_value() != b.price.has_value() ? a.price.has_value()
               : a.price && *a.price != *b.price            ? *a.price < *b.price
                                                            : a.memory_gib < b.memory_gib;
    });
    return list;
}

}  // namespace floptally
