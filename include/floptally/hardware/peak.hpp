// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <floptally/hardware/accelerators.hpp>
#include <floptally/hardware/precision_names.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>

/// @file
/// Chooses the peak of an MFU, and records the source of that peak.

namespace floptally::inline v0_3 {

/// The peak rate in the denominator of an MFU, and the source of the peak.
struct chosen_peak {
    double tflops = 0;  ///< dense peak of one device, in 10¹² FLOP/s
    std::string accelerator{};
    std::string precision{};
    std::string source{};
    peak_kind kind = peak_kind::unsaid;
    /// Quality of the source; meaningless if the user passed the number.
    source_quality quality = source_quality::vendor_document;
};

/// Returns the kind of peak with that name: "datasheet", "boost" or "measured". Throws `error` for any other name.
[[nodiscard]] inline peak_kind peak_kind_named(std::string_view text) {
    for (const peak_kind kind : {peak_kind::datasheet, peak_kind::boost, peak_kind::measured}) {
        if (detail::same_name(name(kind), detail::trimmed(text))) {
            return kind;
        }
    }
    throw error("peak_kind",
                std::string("must be one of datasheet, boost, measured, got \"").append(text).append("\""));
}

/// Returns the peak `peak_tflops`, or if that is not set, the peak of the accelerator `product`.
///
/// With both `peak_tflops` and `product`, `product` is only a name for reports, and `kind` says where the number comes
/// from. With `product` alone, the peak is that of the datasheet, or the peak at `clock_mhz` if you pass a clock.
/// Throws `error` if both are missing, or if a clock or a kind contradicts the other arguments.
[[nodiscard]] inline chosen_peak choose_peak(const std::optional<std::string>& product,
                                             const std::optional<double>& peak_tflops, std::string_view precision_name,
                                             peak_kind kind = peak_kind::unsaid,
                                             const std::optional<double>& clock_mhz = std::nullopt) {
    const precision which = precision_named(precision_name);
    chosen_peak chosen{.precision = std::string(name(which))};
    if (peak_tflops) {
        if (clock_mhz) {
            throw error("clock_mhz", "determines the peak, and so does peak_tflops: leave one of them out");
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
            throw error("peak_tflops", "is missing: pass the peak that you measured, in TFLOP/s");
        }
        if ((chosen.kind == peak_kind::boost) != clock_mhz.has_value()) {
            throw error("clock_mhz",
                        clock_mhz ? "gives a boost peak, but peak_kind asks for the datasheet peak: leave clock_mhz out"
                                  : "is missing: pass the clock that the device reports, which a boost peak needs");
        }
        chosen.tflops = clock_mhz ? part.boost_tflops(which, *clock_mhz) : part.peak_tflops(which);
        chosen.accelerator = part.name;
        chosen.source = std::string(part.source.title).append(", ").append(part.source.url);
        chosen.quality = part.quality;
    } else {
        throw error("accelerator", "is missing, and so is peak_tflops: pass one of them");
    }
    return chosen;
}

}  // namespace floptally
