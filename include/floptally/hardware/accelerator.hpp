// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/text/error.hpp>

/// @file
/// Peak rates of accelerators, by which a measured rate is divided for an MFU.
///
/// Every rate is dense. Datasheets since Ampere often print the rate with 2:4 sparsity, twice the dense one; such a
/// figure is halved here. Products accumulate in fp32 (int32 for int8) and use the matrix units where the part has
/// them: fp64 is the tensor or matrix core's where the vendor publishes one, fp32 is the plain one on NVIDIA parts
/// (their tensor cores take TF32 instead) and the matrix core's on AMD parts.

namespace floptally {

/// The number format in which the factors of a product are stored.
enum class precision : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4 };
/// The number of precisions.
inline constexpr std::size_t precision_count = 8;

/// The name of a precision: "bf16", …
[[nodiscard]] constexpr std::string_view name(precision which) {
    constexpr const char* names[precision_count]{"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"};
    return names[static_cast<std::size_t>(which)];
}

/// A public source of figures, and where it is.
struct publication {
    std::string_view title;
    std::string_view url;
};

/// Qualities of a source, the best first.
enum class source_quality : std::uint8_t {
    vendor_document,  ///< datasheet, whitepaper or product page of the vendor
    vendor_slide,     ///< said by the vendor in a talk or a paper, or marked as preliminary by it
    third_party       ///< quoted by others; no public document of the vendor was found
};

/// The name of a quality: "vendor_document", …
[[nodiscard]] constexpr std::string_view name(source_quality which) {
    constexpr const char* names[3]{"vendor_document", "vendor_slide", "third_party"};
    return names[static_cast<std::size_t>(which)];
}

/// The remark of a report on a source that is less than a document of the vendor; empty for a document.
[[nodiscard]] constexpr std::string_view remark(source_quality which) {
    constexpr const char* remarks[3]{"", "said by the vendor, no datasheet", "quoted by a third party"};
    return remarks[static_cast<std::size_t>(which)];
}

/// Kinds of a peak, by the origin of its number.
enum class peak_kind : std::uint8_t {
    unsaid,     ///< a number that a user gave, and did not say
    datasheet,  ///< what the vendor prints
    boost,      ///< what the units do at a clock that the device reports, which may be above the datasheet's
    measured    ///< what a matmul reached on the device
};

/// The name of a kind: "datasheet", …; "unsaid" too.
[[nodiscard]] constexpr std::string_view name(peak_kind which) {
    constexpr const char* names[4]{"unsaid", "datasheet", "boost", "measured"};
    return names[static_cast<std::size_t>(which)];
}

/// The most driver's names of one part.
inline constexpr std::size_t max_driver_names = 4;

/// One part, per device as frameworks count devices unless its note says otherwise.
struct accelerator {
    std::string_view name;         ///< ours, unique: "H100 SXM"
    std::string_view vendor;       ///< "NVIDIA"
    std::string_view form_factor;  ///< "SXM5"
    /// The names, each whole, by which the driver, the framework or the vendor calls it: "NVIDIA H100 80GB HBM3".
    /// Unused places are empty.
    std::array<std::string_view, max_driver_names> driver_names;
    /// Dense TFLOP/s (TOP/s for int8) by `precision`; 0 is none, or none published.
    std::array<double, precision_count> dense_tflops;
    publication source;
    std::string_view note;  ///< how the figures follow from the source, where they are not printed as they stand
    source_quality quality = source_quality::vendor_document;
    std::uint32_t flops_per_clock = 0;  ///< of bf16 (fp16 where there is none), dense, all units; 0: not known

    /// Dense TFLOP/s (TOP/s for int8), or 0 where none is published.
    [[nodiscard]] constexpr double published_tflops(precision which) const {
        return dense_tflops[static_cast<std::size_t>(which)];
    }

    /// Dense TFLOP/s (TOP/s for int8), or an error that names the precisions that the part has.
    [[nodiscard]] double peak_tflops(precision which) const {
        if (published_tflops(which) > 0) {
            return published_tflops(which);
        }
        std::string known;
        for (std::size_t i = 0; i < precision_count; ++i) {
            if (dense_tflops[i] > 0) {
                append_item(known, floptally::name(static_cast<precision>(i)));
            }
        }
        detail::refuse("precision", {name, " has no published ", floptally::name(which), " rate; it has ", known});
    }

    /// Dense TFLOP/s of the units at `clock_mhz`, which the device reports (`nvidia-smi --query-gpu=clocks.max.sm`):
    /// the datasheet's rate is for a clock of its own (H100 SXM: 1830 MHz of 1980).
    [[nodiscard]] double boost_tflops(precision which, double clock_mhz) const {
        if (!(clock_mhz > 0) || clock_mhz > 1e5) {
            detail::refuse("clock_mhz", {"must be above 0 and at most 100000, got ", std::to_string(clock_mhz)});
        }
        if (flops_per_clock == 0) {
            detail::refuse("clock_mhz",
                           {name, " has no known FLOPs of a clock, so no boost peak; give peak_tflops instead"});
        }
        const double published = peak_tflops(which);
        const double half = published_tflops(precision::bf16) > 0 ? published_tflops(precision::bf16)
                                                                  : published_tflops(precision::fp16);
        return published / half * (flops_per_clock * clock_mhz * 1e-6);
    }
};

}  // namespace floptally
