// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The hardware of a meter: the number of GPUs, their peak, and whether the meter counts the sequences of one GPU or of
/// all GPUs.

namespace floptally::inline v0_3 {

/// Says whether the sequences that you add to a meter are those of all GPUs. You must set it for several GPUs without a
/// reduction (a sum over ranks). Otherwise the FLOPs of one rank might be divided by the peak of all ranks, and the MFU
/// would be too small by a factor of the number of ranks.
enum class counted_for : std::uint8_t {
    unsaid,  ///< not stated: allowed for one GPU, and for a meter with a reduction
    /// the sequences of all GPUs: one process counts them, or the added numbers are already summed over ranks
    all_gpus
};

/// The GPUs of a meter and their peak, the denominator of its MFU.
struct metered_hardware {
    /// Number of GPUs that work on the counted sequences. 0: the number of ranks of the meter's reduction.
    std::uint64_t gpus = 0;
    double peak_tflops = 0;     ///< dense peak of one GPU, in 10¹² FLOP/s; 0 if `peak_is_unknown`
    std::string accelerator{};  ///< name of the accelerator, for the log; may be empty
    std::string precision{};    ///< name of the precision of the peak, for the log; may be empty
    counted_for counted = counted_for::unsaid;
    floptally::peak_kind peak_kind = floptally::peak_kind::unsaid;
    source_quality peak_quality = source_quality::vendor_document;  ///< quality of the source of `peak_tflops`
    /// True for GPUs whose peak is unknown. The meter then has FLOPs, times and rates, but no MFU.
    bool peak_is_unknown = false;
};

/// Returns the hardware of `gpus` devices of a known accelerator, with the dense peak that its vendor publishes. For a
/// meter with a reduction pass 0 `gpus`. For several GPUs without a reduction also set `counted`.
[[nodiscard]] inline metered_hardware hardware_of(const accelerator& part, precision used = precision::bf16,
                                                  std::uint64_t gpus = 1) {
    return {.gpus = gpus,
            .peak_tflops = part.peak_tflops(used),
            .accelerator = std::string(part.name),
            .precision = std::string(name(used)),
            .peak_kind = peak_kind::datasheet,
            .peak_quality = part.quality};
}

namespace detail {

/// Returns the hardware with the number of GPUs filled in. `ranks` is the number of ranks of the meter's reduction; 0
/// without a reduction.
[[nodiscard]] inline metered_hardware with_gpus(metered_hardware on, std::uint64_t ranks) {
    if (ranks == 0) {
        if (on.gpus > 1 && on.counted == counted_for::unsaid) {
            throw error("gpus",
                        "is " + std::to_string(on.gpus) +
                            ", but it is unknown whether the meter gets the sequences of all GPUs: pass "
                            "counted = all_gpus (in Python counted=\"all_gpus\") if it does, or a reduction over the "
                            "ranks (in Python reduce=) if not");
        }
        return on;
    }
    if (on.counted == counted_for::all_gpus) {
        throw error("counted",
                    "is all_gpus, but the meter has a reduction, which would count each GPU several times: leave one "
                    "of them out");
    }
    if (on.gpus != 0 && on.gpus != ranks) {
        throw error("gpus", "must be " + std::to_string(ranks) + ", the number of ranks of the reduction, got " +
                                std::to_string(on.gpus));
    }
    on.gpus = ranks;
    return on;
}

/// Returns a text for the log that says which ranks or GPUs the counted FLOPs cover.
[[nodiscard]] inline std::string counted_text(const metered_hardware& on, std::uint64_t ranks) {
    const std::string gpus = std::to_string(on.gpus);
    return ranks != 0     ? "summed over " + gpus + (ranks == 1 ? " rank" : " ranks")
           : on.gpus == 1 ? "of 1 GPU"
                          : "of all " + gpus + " GPUs, as declared";
}

}  // namespace detail

}  // namespace floptally
