// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/detail/accelerator_table.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>

/// @file
/// Peak bandwidth and size of the memory of accelerators, by product name, with sources.

namespace floptally::inline v0_3 {

/// The peak bandwidth of a device's memory, with its public source.
struct memory_bandwidth {
    double tbps = 0;  ///< 10^12 bytes a second
    publication source{};
    source_quality quality = source_quality::vendor_document;
};

/// The size of a device's memory, with its public source.
struct memory_size {
    /// GiB (2^30 bytes). Vendors print it as GB. Drivers report up to 2 % less, because they reserve some memory for
    /// themselves.
    double gib = 0;
    publication source{};
    source_quality quality = source_quality::vendor_document;
};

namespace detail {

/// Returns the row of a known accelerator in `accelerator_table`.
[[nodiscard]] inline const accelerator_row& row_of(const accelerator& part) {
    return accelerator_table[&part - all_parts().begin()];
}

/// Returns the source of one of the memories in an accelerator's row.
[[nodiscard]] inline publication source_of(const accelerator_row& row, const memory_row& memory) {
    const publication_row& source = memory.source.title != nullptr ? memory.source : row.source;
    return {source.title, source.url};
}

/// Returns the quality of the source that `source_of` returns.
[[nodiscard]] inline source_quality quality_of(const accelerator_row& row, const memory_row& memory) {
    return memory.source.title != nullptr ? memory.quality : row.quality;
}

/// Returns the memory of the accelerator that `accelerator_named(product)` finds. `figure` selects the bandwidth or the
/// size of the memory. Returns null if this figure is unknown. A driver name selects the memory of that variant. The
/// name of the accelerator selects a memory only if all variants have the same figure.
[[nodiscard]] inline const memory_row* memory_of(std::string_view product, double memory_row::*figure) {
    const accelerator_row& row = row_of(accelerator_named(product));
    const std::string_view wanted = trimmed(product);
    const memory_row* common = nullptr;
    bool agree = true;
    for (const memory_row& memory : row.memory) {
        if (memory.tbps == 0 && memory.gib == 0) {
            break;
        }
        if (memory.driver_name != nullptr && same_name(memory.driver_name, wanted)) {
            return memory.*figure > 0 ? &memory : nullptr;
        }
        agree = agree && (common == nullptr || common->*figure == memory.*figure);
        common = common == nullptr ? &memory : common;
    }
    return agree && common != nullptr && common->*figure > 0 ? common : nullptr;
}

}  // namespace detail

/// Returns the memory bandwidth of the accelerator that `accelerator_named(product)` finds. Returns nothing if the
/// bandwidth is unknown. Returns nothing also if variants with different bandwidths share the name (A100 SXM with 40
/// and 80 GB): then use the driver's name. Throws `error` for an unknown name.
[[nodiscard]] inline std::optional<memory_bandwidth> memory_bandwidth_named(std::string_view product) {
    const detail::memory_row* memory = detail::memory_of(product, &detail::memory_row::tbps);
    if (memory == nullptr) {
        return {};
    }
    const detail::accelerator_row& row = detail::row_of(accelerator_named(product));
    return memory_bandwidth{memory->tbps, detail::source_of(row, *memory), detail::quality_of(row, *memory)};
}

/// Returns the memory size of the accelerator that `accelerator_named(product)` finds. Returns nothing if the size is
/// unknown. Returns nothing also if variants with different sizes share the name: then use the driver's name. Throws
/// `error` for an unknown name.
[[nodiscard]] inline std::optional<memory_size> memory_size_named(std::string_view product) {
    const detail::memory_row* memory = detail::memory_of(product, &detail::memory_row::gib);
    if (memory == nullptr) {
        return {};
    }
    const detail::accelerator_row& row = detail::row_of(accelerator_named(product));
    return memory_size{memory->gib, detail::source_of(row, *memory), detail::quality_of(row, *memory)};
}

/// Returns the names and driver names of an accelerator for which the bandwidth or size of the memory is known. Leaves
/// out driver names that several accelerators share.
[[nodiscard]] inline std::vector<std::string_view> names_with_memory(const accelerator& part) {
    const auto is_known = [](std::string_view name) { return memory_bandwidth_named(name) || memory_size_named(name); };
    std::vector<std::string_view> names;
    if (is_known(part.name)) {
        names.push_back(part.name);
    }
    for (const std::string_view name : part.driver_names) {
        std::size_t parts = 0;
        for (const accelerator& other : detail::all_parts()) {
            parts += detail::any_name(other, [name](std::string_view known) { return detail::same_name(known, name); })
                         ? 1U
                         : 0U;
        }
        if (!name.empty() && parts == 1 && is_known(name)) {
            names.push_back(name);
        }
    }
    return names;
}

namespace detail {

/// Throws an `error` that names `field`: the bandwidth or size of this accelerator's memory is unknown, or the name is
/// ambiguous. The error says what to pass instead.
template <class Known>
[[noreturn]] void refuse_memory(std::string_view product, std::string_view field, std::string_view figure,
                                Known is_known) {
    const accelerator& part = accelerator_named(product);
    std::string names;
    for (const std::string_view name : names_with_memory(part)) {
        if (is_known(name)) {
            append_item(names, name);
        }
    }
    throw error(field, names.empty() ? text_of({part.name, " has no published memory ", figure, "; pass ", field})
                                     : text_of({part.name, " is sold with several memory ", figure,
                                                "s; pass the name of one variant: ", names, ", or pass ", field}));
}

}  // namespace detail

/// Returns the memory bandwidth of an accelerator in TB/s. Throws `error` if the bandwidth is unknown or the name is
/// ambiguous; the error says what to pass instead.
[[nodiscard]] inline double memory_tbps_named(std::string_view product) {
    if (const auto known = memory_bandwidth_named(product)) {
        return known->tbps;
    }
    detail::refuse_memory(product, "memory_tbps", "bandwidth",
                          [](std::string_view name) { return memory_bandwidth_named(name).has_value(); });
}

/// Returns the memory size of an accelerator in GiB. Throws `error` if the size is unknown or the name is ambiguous;
/// the error says what to pass instead.
[[nodiscard]] inline double memory_gib_named(std::string_view product) {
    if (const auto known = memory_size_named(product)) {
        return known->gib;
    }
    detail::refuse_memory(product, "memory_gib", "size",
                          [](std::string_view name) { return memory_size_named(name).has_value(); });
}

}  // namespace floptally
