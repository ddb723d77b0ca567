// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <floptally/accelerators.hpp>
#include <floptally/error.hpp>

namespace floptally {

/// What rates are divided by for an MFU, and where it is from.
struct chosen_peak {
    double tflops = 0;  ///< of one device, dense, in 10¹² FLOP/s
    std::string accelerator{};
    std::string precision{};
    std::string source{};
};

/// The peak that is given, or that of the part of that name. One that is given wins: the name is then only shown.
[[nodiscard]] inline chosen_peak choose_peak(const std::optional<std::string>& product,
                                             const std::optional<double>& peak_tflops, std::string_view used) {
    const precision which = precision_named(used);
    chosen_peak chosen{.precision = std::string(name(which))};
    if (peak_tflops) {
        chosen.tflops = *peak_tflops;
        chosen.accelerator = product.value_or("");
        chosen.source = "given by the user";
    } else if (product) {
        const accelerator& part = accelerator_named(*product);
        chosen.tflops = part.peak_tflops(which);
        chosen.accelerator = part.name;
        chosen.source = std::string(part.source.title).append(", ").append(part.source.url);
    } else {
        throw error("accelerator", "is missing, and no peak_tflops is given either");
    }
    return chosen;
}

}  // namespace floptally
