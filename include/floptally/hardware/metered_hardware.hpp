// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The hardware that a meter measures against: GPUs, their peak, and whose sequences it is given.

namespace floptally {

/// The GPUs whose sequences a meter is given. FLOPs of one rank over the peak of all of them are an MFU that is too
/// small by the number of ranks and looks like any other, so that it must be said where there are several GPUs.
enum class counted_for : std::uint8_t {
    unsaid,   ///< one GPU, or a meter that is given the reduction
    all_gpus  ///< those of all its GPUs: one process counts for them, or what is added is reduced already
};

/// The hardware that a meter measures against.
struct metered_hardware {
    std::uint64_t gpus = 0;     ///< all those that work on the sequences counted; 0 with a reduction: its ranks
    double peak_tflops = 0;     ///< of one GPU, dense, in 10¹² FLOP/s
    std::string accelerator{};  ///< its name, for the log
    std::string precision{};    ///< that of the peak, for the log
    counted_for counted = counted_for::unsaid;
    floptally::peak_kind peak_kind = floptally::peak_kind::unsaid;
    source_quality peak_quality = source_quality::vendor_document;  ///< of the peak's source
};

namespace detail {

/// The hardware with all its GPUs; `ranks` are those of the meter's reduction, 0 where it has none.
[[nodiscard]] inline metered_hardware with_gpus(metered_hardware on, std::uint64_t ranks) {
    if (ranks == 0) {
        if (on.gpus > 1 && on.counted == counted_for::unsaid) {
            throw error("gpus", std::to_string(on.gpus) +
                                    " GPUs, and nothing says whose sequences the meter is given: give it the reduction "
                                    "over the ranks, or say that they are those of all GPUs (counted: all_gpus)");
        }
        return on;
    }
    if (on.counted == counted_for::all_gpus) {
        throw error("counted", "all_gpus: the meter has a reduction, which would add up what is of all GPUs already");
    }
    if (on.gpus != 0 && on.gpus != ranks) {
        throw error("gpus", "must be the " + std::to_string(ranks) + " ranks that the reduction adds up, got " +
                                std::to_string(on.gpus));
    }
    on.gpus = ranks;
    return on;
}

/// The text for a log that says whose FLOPs its numbers are, over whose GPUs.
[[nodiscard]] inline std::string counted_text(const metered_hardware& on, std::uint64_t ranks) {
    const std::string gpus = std::to_string(on.gpus);
    return ranks != 0     ? "summed over " + gpus + (ranks == 1 ? " rank" : " ranks")
           : on.gpus == 1 ? "of 1 GPU"
                          : "of all " + gpus + " GPUs, as declared";
}

}  // namespace detail

}  // namespace floptally
