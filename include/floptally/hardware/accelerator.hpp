// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Peak rates of accelerators. The MFU is a measured rate divided by such a peak.
///
/// Every peak rate in this library is dense. Datasheets since Ampere often print the rate with 2:4 sparsity, which is
/// twice as high; such figures are halved here. The rates are for products that accumulate in fp32 (int8 in int32), on
/// matrix units if the accelerator has them. The fp64 rate is that of tensor or matrix cores if the vendor publishes
/// one. The fp32 rate of NVIDIA accelerators is without tensor cores, because these compute in TF32. The fp32 rate of
/// AMD accelerators is with matrix cores.

namespace floptally::inline v0_3 {

/// The number format in which the factors of a matrix product are stored.
enum class precision : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4 };
/// The number of precisions.
inline constexpr std::size_t precision_count = 8;

/// Returns the name of a precision: "bf16", …
[[nodiscard]] constexpr std::string_view name(precision which) {
    constexpr const char* names[precision_count]{"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"};
    return names[static_cast<std::size_t>(which)];
}

/// A public document that states rates or memory sizes of accelerators: its title and its address.
struct publication {
    std::string_view title;
    std::string_view url;
};

/// How reliable the source of a rate or memory size is, best first.
enum class source_quality : std::uint8_t {
    vendor_document,  ///< datasheet, whitepaper or product page of the vendor
    vendor_slide,     ///< a talk or a paper of the vendor, or a document that the vendor marks as preliminary
    third_party       ///< a quotation by a third party; no public document of the vendor was found
};

/// Returns the name of a source quality: "vendor_document", …
[[nodiscard]] constexpr std::string_view name(source_quality which) {
    constexpr const char* names[3]{"vendor_document", "vendor_slide", "third_party"};
    return names[static_cast<std::size_t>(which)];
}

/// Returns the remark that a report prints about a source that is not a vendor document. Empty for a vendor document.
[[nodiscard]] constexpr std::string_view remark(source_quality which) {
    constexpr const char* remarks[3]{"", "said by the vendor, no datasheet", "quoted by a third party"};
    return remarks[static_cast<std::size_t>(which)];
}

/// The origin of the number that is used as a peak rate.
enum class peak_kind : std::uint8_t {
    unsaid,     ///< the user passed the number without its origin
    datasheet,  ///< the vendor prints this rate
    boost,      ///< FLOPs per clock x the clock that the device reports; it may exceed the datasheet's rate
    measured    ///< a matmul on the device reached this rate
};

/// Returns the name of a kind of peak: "unsaid", "datasheet", "boost" or "measured".
[[nodiscard]] constexpr std::string_view name(peak_kind which) {
    constexpr const char* names[4]{"unsaid", "datasheet", "boost", "measured"};
    return names[static_cast<std::size_t>(which)];
}

/// The largest number of names under which drivers report one accelerator.
inline constexpr std::size_t max_driver_names = 8;

namespace detail {

/// The end of the error text for a rate that no vendor has published.
inline constexpr std::string_view measure_instead =
    "; pass the peak (peak_tflops=, --peak-tflops), which floptally.measure_peak() measures on the device";

}  // namespace detail

/// An accelerator. Its rates are per device, as frameworks count devices, unless `note` says otherwise.
struct accelerator {
    std::string_view name;         ///< unique name in this library: "H100 SXM"
    std::string_view vendor;       ///< name of the vendor: "NVIDIA"
    std::string_view form_factor;  ///< the package: "SXM5", "PCIe"
    /// The full names that the driver, the framework or the vendor uses: "NVIDIA H100 80GB HBM3". Unused elements are
    /// empty.
    std::array<std::string_view, max_driver_names> driver_names;
    /// Dense TFLOP/s (TOP/s for int8) by `precision`; 0 if the accelerator has no such rate or none is published.
    std::array<double, precision_count> dense_tflops;
    publication source;
    /// How the rates were derived from the source. May be empty if the source prints them unchanged.
    std::string_view note;
    source_quality quality = source_quality::vendor_document;
    std::uint32_t flops_per_clock = 0;  ///< dense bf16 FLOPs (fp16 if it has no bf16) of the whole device in one clock
                                        ///< cycle; 0: unknown
    double datasheet_mhz = 0;           ///< the clock for which the datasheet states its rates; 0: the vendor does not
                                        ///< say

    /// Returns the dense TFLOP/s (TOP/s for int8), or 0 if none is published.
    [[nodiscard]] constexpr double published_tflops(precision which) const {
        return dense_tflops[static_cast<std::size_t>(which)];
    }

    /// Returns false if the vendor publishes no rate at all. `note` has the reason.
    [[nodiscard]] constexpr bool has_published_rate() const {
        for (const double tflops : dense_tflops) {
            if (tflops > 0) {
                return true;
            }
        }
        return false;
    }

    /// Returns the dense TFLOP/s (TOP/s for int8). If the rate is unknown, throws an `error` that lists the precisions
    /// with a known rate, or the reason why no rate is known. The error also says how to measure a rate.
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
        if (known.empty()) {
            detail::refuse("accelerator", {name, " has no published rate: ", note, detail::measure_instead});
        }
        detail::refuse("precision", {name, " has no published ", floptally::name(which), " rate; it has ", known,
                                     "; for another precision", detail::measure_instead.substr(1)});
    }

    /// Returns the dense TFLOP/s at `clock_mhz`, the clock that the device reports (`nvidia-smi
    /// --query-gpu=clocks.max.sm`). The datasheet's rate may be for a lower clock: 1830 MHz for H100 SXM, although the
    /// device reports 1980. Throws `error` for a clock outside (0, 100000] MHz, and if `flops_per_clock` is unknown.
    [[nodiscard]] double boost_tflops(precision which, double clock_mhz) const {
        if (!(clock_mhz > 0) || clock_mhz > 1e5) {
            detail::refuse("clock_mhz", {"must be above 0 and at most 100000, got ", std::to_string(clock_mhz)});
        }
        if (flops_per_clock == 0) {
            detail::refuse("clock_mhz", {"cannot give a peak: the FLOPs per clock of ", name,
                                         " are unknown; pass peak_tflops instead"});
        }
        const double published = peak_tflops(which);
        const double half = published_tflops(precision::bf16) > 0 ? published_tflops(precision::bf16)
                                                                  : published_tflops(precision::fp16);
        return published / half * (flops_per_clock * clock_mhz * 1e-6);
    }
};

/// An upper bound of the dense TFLOP/s of any device. A peak above it was probably passed in another unit.
inline constexpr double impossible_tflops = 1e5;

namespace detail {

/// Throws the error for a peak that is too large to be in TFLOP/s of one GPU.
[[noreturn, gnu::cold]] inline void refuse_peak(double peak_tflops, std::string_view field) {
    struct unit {
        const char* name;
        double tflops;
    };
    for (const unit& other : {unit{"GFLOP/s", 1e3}, unit{"MFLOP/s", 1e6}, unit{"FLOP/s", 1e12}}) {
        if (const double tflops = peak_tflops / other.tflops; tflops <= impossible_tflops) {
            detail::refuse(field, {"must be in TFLOP/s of one GPU, but no GPU has ", detail::rounded(peak_tflops, 6),
                                   "; if you mean ", other.name, ", pass ", detail::rounded(tflops, 6)});
        }
    }
    detail::refuse(field,
                   {"must be in TFLOP/s of one GPU, such as 989, but no GPU has ", detail::rounded(peak_tflops, 6)});
}

}  // namespace detail

/// Throws `error` for a peak above `impossible_tflops`. The error says in which unit the number would be possible.
constexpr void require_possible_peak(double peak_tflops, std::string_view field) {
    if (peak_tflops > impossible_tflops) {
        detail::refuse_peak(peak_tflops, field);
    }
}

}  // namespace floptally
