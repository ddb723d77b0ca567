// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/descriptors/component_name.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Stores the bytes that a step moves, by component, phase and kind. Computes the arithmetic intensity, the MBU, and
/// the time that memory bandwidth costs.

namespace floptally::inline v0_3 {

/// Kinds of data that move between a device's memory and its compute units.
enum class byte_kind : std::uint8_t {
    weights,      ///< weights that products, norms and look-ups read
    gradients,    ///< weight gradients that the backward writes
    activations,  ///< inputs that matrix products read, and outputs that matrix products write
    cache         ///< keys, values and recurrent states of a sequence's past
};
/// The number of values of `byte_kind`.
inline constexpr std::size_t byte_kind_count = 4;

/// Returns the name of a kind: "weights", …
[[nodiscard]] constexpr std::string_view name(byte_kind which) {
    constexpr std::array<std::string_view, byte_kind_count> names{"weights", "gradients", "activations", "cache"};
    return names[static_cast<std::size_t>(which)];
}

/// The number of bits of one element for each kind of data: 4 for fp4, 16 for bf16.
struct element_bits {
    std::uint64_t weights = 16;
    std::uint64_t gradients = 16;
    std::uint64_t activations = 16;
    std::uint64_t cache = 16;

    /// Returns the number of bits of one element of this kind of data.
    [[nodiscard]] constexpr std::uint64_t of(byte_kind which) const {
        const std::uint64_t all[] = {weights, gradients, activations, cache};
        return all[static_cast<std::size_t>(which)];
    }
};

/// The bytes that one component moves, by phase and by kind of data.
struct component_bytes {
    component_name name;
    uint128 bytes[4][byte_kind_count] = {};  ///< indexed by `phase`, then `byte_kind`

    /// Returns the bytes of one phase and kind.
    [[nodiscard]] constexpr uint128 get(phase during, byte_kind kind) const {
        return bytes[static_cast<std::size_t>(during)][static_cast<std::size_t>(kind)];
    }
    /// Returns the bytes of one phase.
    [[nodiscard]] constexpr uint128 total(phase during) const {
        uint128 sum = 0;
        for (const uint128 kind : bytes[static_cast<std::size_t>(during)]) {
            sum += kind;
        }
        return sum;
    }
    /// Returns the bytes of one kind.
    [[nodiscard]] constexpr uint128 total(byte_kind kind) const {
        uint128 sum = 0;
        for (const auto& of_phase : bytes) {
            sum += of_phase[static_cast<std::size_t>(kind)];
        }
        return sum;
    }
    /// Returns the bytes of all phases and kinds.
    [[nodiscard]] constexpr uint128 total() const {
        uint128 sum = 0;
        for (std::size_t during = 0; during < 4; ++during) {
            sum += total(static_cast<phase>(during));
        }
        return sum;
    }
};

/// Bytes that a batch moves, by component, phase and kind. They are exact under the assumptions of `byte_counter`.
struct step_bytes {
    std::vector<component_bytes> components{};
    /// Names of components with operands of unknown width. The activations of these components are missing from the
    /// bytes.
    std::vector<std::string> unsaid{};
    /// Names of components whose bytes are an upper bound. Examples are attention keys with an unknown number of heads,
    /// and a convolution that may read only some channels of its input.
    std::vector<std::string> at_most{};
    /// The components of `at_most` that may read fewer weights or less of the cache than is counted. With such
    /// components an MBU is only an upper bound. An example is a layer of experts: it may be unknown how many distinct
    /// experts the tokens choose.
    std::vector<std::string> read_at_most{};
    /// An estimate of the bytes of all weights that are read if each token chooses its experts uniformly. Empty if
    /// these bytes do not depend on the tokens' choices.
    std::optional<uint128> uniform_weights{};

    /// Returns the bytes of the component with this name, or null if no such component moves bytes.
    [[nodiscard]] const component_bytes* find(std::string_view name) const {
        for (const component_bytes& component : components) {
            if (component.name.view() == name) {
                return &component;
            }
        }
        return nullptr;
    }
    /// Returns the bytes of the component with this name. Throws `error` if no such component moves bytes.
    [[nodiscard]] const component_bytes& operator[](std::string_view name) const {
        if (const component_bytes* const found = find(name)) {
            return *found;
        }
        detail::refuse("component", {"this model has no component named \"", name,
                                     "\" that moves bytes: use a name of the table of bytes"});
    }
    /// Returns the bytes of one kind of data, summed over components and phases.
    [[nodiscard]] uint128 total(byte_kind kind) const {
        uint128 sum = 0;
        for (const component_bytes& component : components) {
            sum += component.total(kind);
        }
        return sum;
    }
    /// Returns the bytes of all components, phases and kinds.
    [[nodiscard]] uint128 total() const {
        uint128 sum = 0;
        for (const component_bytes& component : components) {
            sum += component.total();
        }
        return sum;
    }
    /// Adds the bytes of another batch of the same model. Bytes of components with the same name are added up.
    step_bytes& operator+=(const step_bytes& other) {
        const auto merge = [](std::vector<std::string>& names, const std::vector<std::string>& more) {
            for (const std::string& name : more) {
                if (std::find(names.begin(), names.end(), name) == names.end()) {
                    names.push_back(name);
                }
            }
        };
        merge(unsaid, other.unsaid);
        merge(at_most, other.at_most);
        merge(read_at_most, other.read_at_most);
        if (uniform_weights || other.uniform_weights) {
            uniform_weights = uniform_weights.value_or(total(byte_kind::weights)) +
                              other.uniform_weights.value_or(other.total(byte_kind::weights));
        }
        for (const component_bytes& more : other.components) {
            component_bytes* known = nullptr;
            for (component_bytes& own : components) {
                known = own.name == more.name ? &own : known;
            }
            if (known == nullptr) {
                components.push_back(more);
                continue;
            }
            for (std::size_t during = 0; during < 4; ++during) {
                for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
                    known->bytes[during][kind] += more.bytes[during][kind];
                }
            }
        }
        return *this;
    }

    /// Returns true if the bytes of every component are known exactly: none are missing, and none are an upper bound.
    [[nodiscard]] bool is_exact() const { return unsaid.empty() && at_most.empty(); }
};

/// Returns the executed FLOPs (with recompute and padding) per moved byte; 0 if no bytes are moved.
[[nodiscard]] inline double arithmetic_intensity(flops executed, uint128 bytes) {
    return bytes == 0 ? 0 : to_double(executed) / to_double(flops{bytes});
}

/// Returns the expected number of distinct experts that `tokens` tokens of one batch visit in a layer. Each token
/// chooses k = `chosen` of E = `experts` uniformly, so n = `tokens` tokens visit E (1 - (1 - k / E)^n). Trained routers
/// choose less evenly and visit fewer experts.
[[nodiscard]] inline double uniform_distinct_experts(std::uint64_t experts, std::uint64_t chosen, double tokens) {
    require_positive(experts, "experts");
    if (chosen >= experts) {
        return tokens > 0 ? static_cast<double>(experts) : 0;
    }
    const double share = static_cast<double>(chosen) / static_cast<double>(experts);
    return -static_cast<double>(experts) * std::expm1(tokens * std::log1p(-share));
}

/// The model bandwidth utilization (MBU) of a decode step; 0.412 is 41.2 %.
struct bandwidth_utilization {
    double mbu = 0;
    bool is_at_most = false;          ///< true: `mbu` is an upper bound, see `step_bytes::read_at_most`
    std::optional<double> uniform{};  ///< an estimate of the MBU that assumes uniform choices of experts; set only if
                                      ///< `mbu` is an upper bound
};

/// Formats an MBU: "22.42 %", "at most 139.80 %".
[[nodiscard]] inline std::string to_string(const bandwidth_utilization& used) {
    return detail::text_of({used.is_at_most ? "at most " : "", detail::fixed_decimal(100 * used.mbu, 2), " %"});
}

/// Returns a warning for an MBU above 100 %, otherwise an empty text.
[[nodiscard]] inline std::string doubt_of(const bandwidth_utilization& used) {
    if (!(used.mbu > 1)) {
        return {};
    }
    const bool may_be_less = used.is_at_most && !(used.uniform && *used.uniform > 1);
    return may_be_less
               ? "the bound of the MBU is above 100 %: fewer distinct experts were read, or seconds, gpus or the "
                 "bandwidth is wrong"
               : "more bytes than the memory could move: seconds, gpus or the bandwidth cannot all be right";
}

/// Computes the model bandwidth utilization of a decode step (Databricks, "LLM Inference Performance Engineering",
/// 2023).
///
/// The MBU's numerator is the bytes of the weights (once for each batch) plus the cache of every sequence's past.
/// Activations do not count. The denominator is the bytes that the memories of all GPUs can move in `seconds` at
/// `memory_tbps` (10^12 bytes a second) each.
[[nodiscard]] inline bandwidth_utilization model_bandwidth_utilization(const step_bytes& moved, double seconds,
                                                                       std::uint64_t gpus, double memory_tbps) {
    detail::require_finite_positive(seconds, "seconds");
    detail::require_finite_positive(memory_tbps, "memory_tbps");
    require_positive(gpus, "gpus");
    const auto share = [&](uint128 weights) {
        const double bytes = to_double(flops{weights + moved.total(byte_kind::cache)});
        return detail::divide(bytes / 1e12, seconds * static_cast<double>(gpus) * memory_tbps, "seconds");
    };
    bandwidth_utilization used{.mbu = share(moved.total(byte_kind::weights)),
                               .is_at_most = !moved.read_at_most.empty()};
    if (used.is_at_most && moved.uniform_weights) {
        used.uniform = share(*moved.uniform_weights);
    }
    return used;
}

/// Returns the GPU-seconds that a step loses to memory even with perfect kernels. For each phase of each component, the
/// loss is the time of its bytes at the memory bandwidth minus the time of its FLOPs at their peak. Negative
/// differences count as 0. Pass `of_products` = true to leave out components without matrix products (norms, look-ups),
/// for example because the time of their kernels is measured separately.
[[nodiscard]] inline double memory_bound_seconds(const step_bytes& moved, const std::vector<work_at_peak>& work,
                                                 double memory_tbps, bool of_products = false) {
    detail::require_finite_positive(memory_tbps, "memory_tbps");
    double sum = 0;
    for (const component_bytes& component : moved.components) {
        const auto multiplies = [&component](const work_at_peak& piece) {
            const auto parts = piece.work.components();
            return std::any_of(parts.begin(), parts.end(), [&component](const component_flops& part) {
                return part.name == component.name && part.total(view::executed) != flops{};
            });
        };
        if (of_products && std::none_of(work.begin(), work.end(), multiplies)) {
            continue;
        }
        for (const phase during : {phase::forward, phase::backward_data, phase::backward_weights, phase::recompute}) {
            double at_peak = 0;
            for (const work_at_peak& piece : work) {
                detail::require_peak(piece.peak_tflops, "peak_tflops");
                for (const component_flops& part : piece.work.components()) {
                    at_peak += part.name == component.name
                                   ? to_double(part.get(view::executed, during)) / 1e12 / piece.peak_tflops
                                   : 0;
                }
            }
            const double moving = to_double(flops{component.total(during)}) / 1e12 / memory_tbps;
            sum += moving > at_peak ? moving - at_peak : 0;
        }
    }
    return sum;
}

}  // namespace floptally
