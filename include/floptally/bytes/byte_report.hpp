// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/breakdown.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/flops.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/waterfall/step_account.hpp>

namespace floptally {

/// Bytes beside the FLOPs of the same batch, with what they were counted by.
struct byte_report {
    std::string model_type{};
    breakdown work{};
    step_bytes moved{};
    element_bits bits{};
    std::uint64_t batches = 1;            ///< each of which reads the weights
    std::optional<double> memory_tbps{};  ///< of one GPU
    std::optional<double> mbu{};          ///< of a decode step that was measured

    /// Executed FLOPs of a component; 0 of one that has none.
    [[nodiscard]] flops executed(std::string_view component) const {
        flops sum;
        for (const component_flops& part : work.components()) {
            sum += part.name.view() == component ? part.total(view::executed) : flops{};
        }
        return sum;
    }
    /// Executed FLOPs of all components that move bytes.
    [[nodiscard]] flops executed() const {
        flops sum;
        for (const component_bytes& one : moved.components) {
            sum += executed(one.name.view());
        }
        return sum;
    }
};

/// What the bytes of a step need at the bandwidth of one GPU's memory beyond its FLOPs, as an account has it.
[[nodiscard]] inline time_at_memory memory_time(const step_bytes& moved, const std::vector<work_at_peak>& work,
                                                double memory_tbps, std::uint64_t batches) {
    time_at_memory made{.gpu_seconds = memory_bound_seconds(moved, work, memory_tbps)};
    char rate[32];  // the shortest text that reads back as the same number
    const std::to_chars_result end = std::to_chars(rate, rate + sizeof rate, memory_tbps);
    made.assumed = "what bytes need at " + std::string(rate, end.ptr) + " TB/s beyond their FLOPs; weights read " +
                   std::to_string(batches) + (batches == 1 ? " time a pass" : " times a pass");
    std::string unsaid;
    for (const std::string& one : moved.unsaid) {
        append_item(unsaid, one);
    }
    return unsaid.empty() ? made : time_at_memory{made.gpu_seconds, made.assumed + "; without " + unsaid};
}

}  // namespace floptally
