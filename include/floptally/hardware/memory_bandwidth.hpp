// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/detail/accelerator_memory.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>

/// @file
/// Peaks of memory bandwidth by product name, with their sources.

namespace floptally {

/// The peak rate of a device's memory, with its public source.
struct memory_bandwidth {
    double tbps = 0;  ///< 10^12 bytes a second
    publication source{};
    source_quality quality = source_quality::vendor_document;
};

/// The bandwidth of the part that `product` names, as `accelerator_named` matches it; nothing where none is known, or
/// where parts of this name have memories of several rates (A100 SXM with 40 and 80 GB), which the driver's names tell
/// apart. A name of no part is an error.
[[nodiscard]] inline std::optional<memory_bandwidth> memory_bandwidth_named(std::string_view product) {
    const accelerator& part = accelerator_named(product);
    const std::string_view wanted = detail::trimmed(product);
    const auto found = [](const detail::memory_row& row) {
        return memory_bandwidth{row.tbps, {row.source.title, row.source.url}, row.quality};
    };
    for (const detail::memory_row& row : detail::accelerator_memory) {
        if (detail::same_name(row.product, wanted) || detail::same_name(row.product, part.name)) {
            return found(row);
        }
    }
    return {};
}

/// The names of a part, ours and the driver's, by which `memory_bandwidth_named` knows its memory. A driver's name that
/// several parts have is not among them.
[[nodiscard]] inline std::vector<std::string_view> names_with_memory(const accelerator& part) {
    std::vector<std::string_view> names;
    if (memory_bandwidth_named(part.name)) {
        names.push_back(part.name);
    }
    for (const std::string_view name : part.driver_names) {
        std::size_t parts = 0;
        for (const accelerator& other : detail::all_parts()) {
            parts += detail::any_name(other, [name](std::string_view known) { return detail::same_name(known, name); })
                         ? 1
                         : 0;
        }
        if (!name.empty() && parts == 1 && memory_bandwidth_named(name)) {
            names.push_back(name);
        }
    }
    return names;
}

/// The bandwidth of the part that `product` names, in TB/s. Where it is not known, or the name is that of several
/// memories, the error says what to give.
[[nodiscard]] inline double memory_tbps_named(std::string_view product) {
    if (const auto known = memory_bandwidth_named(product)) {
        return known->tbps;
    }
    const accelerator& part = accelerator_named(product);
    std::string names;
    for (const std::string_view name : names_with_memory(part)) {
        append_item(names, name);
    }
    throw error("memory_tbps", std::string(part.name)
                                   .append(names.empty() ? " has no published memory bandwidth that is known here"
                                                         : " has memories of several bandwidths; name one: " + names)
                                   .append(names.empty() ? "; give memory_tbps" : ", or give memory_tbps"));
}

}  // namespace floptally
