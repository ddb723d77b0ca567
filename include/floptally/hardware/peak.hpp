// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/precision_words.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>
#include <floptally/text/number_text.hpp>

/// @file
/// The peak that rates are divided by for an MFU, and its source.

namespace floptally {

/// The peak that rates are divided by for an MFU, and its source.
struct chosen_peak {
    double tflops = 0;  ///< of one device, dense, in 10¹² FLOP/s
    std::string accelerator{};
    std::string precision{};
    std::string source{};
    peak_kind kind = peak_kind::unsaid;
    source_quality quality = source_quality::vendor_document;  ///< of the source; a number that is given has none
};

/// The kind of peak of that name: "datasheet", "boost" or "measured"; any other name is an error.
[[nodiscard]] inline peak_kind peak_kind_named(std::string_view text) {
    for (const peak_kind kind : {peak_kind::datasheet, peak_kind::boost, peak_kind::measured}) {
        if (detail::same_name(name(kind), detail::trimmed(text))) {
            return kind;
        }
    }
    throw error("peak_kind",
                std::string("must be one of datasheet, boost, measured, got \"").append(text).append("\""));
}

/// More dense TFLOP/s than one device has: a peak from here on is in another unit.
inline constexpr double impossible_tflops = 2e5;

/// Throws where a peak of one device is more than any has, and says in which unit it would be possible.
inline void require_possible_peak(double peak_tflops, std::string_view field) {
    if (!(peak_tflops >= impossible_tflops)) {
        return;
    }
    struct unit {
        const char* name;
        double tflops;
    };
    for (const unit& other : {unit{"GFLOP/s", 1e3}, unit{"MFLOP/s", 1e6}, unit{"FLOP/s", 1e12}}) {
        if (const double meant = peak_tflops / other.tflops; meant < impossible_tflops) {
            detail::refuse(field, {"is in TFLOP/s, of one GPU, and none has ", detail::general_decimal(peak_tflops, 6),
                                   "; if that is ", other.name, ", give ", detail::general_decimal(meant, 6)});
        }
    }
    detail::refuse(field, {"is in TFLOP/s, of one GPU, and none has ", detail::general_decimal(peak_tflops, 6)});
}

/// The peak `peak_tflops`, or that of the part named `product`; neither is an error. Where both are given the name is
/// only shown, and `kind` says what the number is. Without `peak_tflops`, `clock_mhz` makes the part's boost peak, and
/// no clock its datasheet's.
[[nodiscard]] inline chosen_peak choose_peak(const std::optional<std::string>& product,
                                             const std::optional<double>& peak_tflops, std::string_view used,
                                             peak_kind kind = peak_kind::unsaid,
                                             const std::optional<double>& clock_mhz = std::nullopt) {
    const precision which = precision_named(used);
    chosen_peak chosen{.precision = std::string(name(which))};
    if (peak_tflops) {
        if (clock_mhz) {
            throw error("clock_mhz", "makes a peak of a known part, and peak_tflops is given: leave one out");
        }
        require_possible_peak(*peak_tflops, "peak_tflops");
        chosen.tflops = *peak_tflops;
        chosen.accelerator = product.value_or("");
        chosen.source = "given by the user";
        chosen.kind = kind;
    } else if (product) {
        const accelerator& part = accelerator_named(*product);
        chosen.kind = kind != peak_kind::unsaid ? kind : clock_mhz ? peak_kind::boost : peak_kind::datasheet;
        if (chosen.kind == peak_kind::measured) {
            throw error("peak_tflops", "is missing: a measured peak is a number that is given");
        }
        if ((chosen.kind == peak_kind::boost) != clock_mhz.has_value()) {
            throw error("clock_mhz", clock_mhz ? "is for a boost peak: a datasheet's is for a clock of its own"
                                               : "is missing: a boost peak is of a clock that the device reports");
        }
        chosen.tflops = clock_mhz ? part.boost_tflops(which, *clock_mhz) : part.peak_tflops(which);
        chosen.accelerator = part.name;
        chosen.source = std::string(part.source.title).append(", ").append(part.source.url);
        chosen.quality = part.quality;
    } else {
        throw error("accelerator", "is missing, and no peak_tflops is given either");
    }
    return chosen;
}

}  // namespace floptally
