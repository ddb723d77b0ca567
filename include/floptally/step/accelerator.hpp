// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/error.hpp>

/// @file
/// Peak rates of accelerators: what a measured rate is divided by for an MFU.
///
/// Every rate is dense. Datasheets since Ampere often print the rate with 2:4 sparsity, twice the dense one; such a
/// figure is halved here. Products accumulate in fp32 (int32 for int8) and use the matrix units where the part has
/// them: fp64 is the tensor or matrix core's where the vendor publishes one, fp32 is the plain one on NVIDIA parts
/// (their tensor cores take TF32 instead) and the matrix core's on AMD parts.

namespace floptally {

/// What the factors of a product are stored in.
enum class precision : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, fp4 };
inline constexpr std::size_t precision_count = 8;

/// "bf16", …
[[nodiscard]] constexpr std::string_view name(precision which) {
    constexpr std::array<std::string_view, precision_count> names{"fp64", "fp32", "tf32", "fp16",
                                                                  "bf16", "fp8",  "int8", "fp4"};
    return names[static_cast<std::size_t>(which)];
}

/// A document of the vendor, and where it is.
struct publication {
    std::string_view title;
    std::string_view url;
};

inline constexpr std::size_t max_driver_names = 4;

/// One part, per device as frameworks count devices unless its note says otherwise.
struct accelerator {
    std::string_view name;         ///< ours, unique: "H100 SXM"
    std::string_view vendor;       ///< "NVIDIA"
    std::string_view form_factor;  ///< "SXM5"
    /// What the driver, the framework or the vendor calls it, whole: "NVIDIA H100 80GB HBM3". Unused places are empty.
    std::array<std::string_view, max_driver_names> driver_names;
    /// Dense TFLOP/s (TOP/s for int8) by `precision`; 0 is none, or none published.
    std::array<double, precision_count> dense_tflops;
    publication source;
    std::string_view note;  ///< how the figures follow from the source, where they are not printed as they stand

    /// 0 where there is none.
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
        throw error("precision", std::string(name)
                                     .append(" has no published ")
                                     .append(floptally::name(which))
                                     .append(" rate; it has ")
                                     .append(known));
    }
};

}  // namespace floptally
