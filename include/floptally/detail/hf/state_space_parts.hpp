// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/model/layer.hpp>
#include <floptally/model/state_space.hpp>

/// @file
/// Mamba-1 and Mamba-2 as the families' configs spell them.

namespace floptally::detail {

/// A size that "auto" derives from others, as does its absence where the class has no number for it.
[[nodiscard]] inline std::uint64_t read_or_auto(const hf_model& model, const hf_size& size, std::uint64_t automatic) {
    const json* value = model.config.find(model.config.spelling(size.keys));
    if (size.otherwise == derived && (value == nullptr || *value == "auto")) {
        return automatic;
    }
    return model.read(size);
}

[[nodiscard]] inline std::uint64_t read_channels(const hf_model& model) {
    const hf_state_space& ssm = model.family.ssm;
    if (ssm.expand.keys.empty()) {
        return checked_multiply(model.read(ssm.num_heads), model.read(ssm.head_dim), *ssm.num_heads.keys.begin());
    }
    const std::string_view key = model.config.spelling(ssm.channels.keys);
    const bool expanded =
        key.empty() || (model.config.contains(key) ? !model.config.has_value(key) : ssm.channels.otherwise == derived);
    return expanded ? checked_multiply(model.read(ssm.expand), model.sizes.hidden_size, *ssm.expand.keys.begin())
                    : model.read(ssm.channels);
}

/// Throws where heads, or groups of them, do not come out even.
inline void require_divides(const hf_model& model, const hf_size& divisor, std::uint64_t whole, const char* what) {
    if (const std::uint64_t parts = model.read(divisor); whole % parts != 0) {
        const std::string_view key = model.config.spelling(divisor.keys);
        throw error(model.config.field(key), std::string("must divide the ")
                                                 .append(std::to_string(whole))
                                                 .append(what)
                                                 .append(model.config.contains(key) ? ", got " : ", its default is ")
                                                 .append(std::to_string(parts)));
    }
}

[[nodiscard]] inline cost mamba_part(const hf_model& model, const hf_layer& at) {
    const hf_state_space& ssm = model.family.ssm;
    const std::uint64_t hidden = at.where.hidden_size;
    const std::uint64_t channels = read_channels(model);
    if (!ssm.num_heads.keys.empty()) {
        // x_proj and dt_proj of a head see its own channels only: over all heads as many products as without heads.
        require_divides(model, ssm.num_heads, channels, " channels");
    }
    mamba part{.inner_size = channels,
               .state_size = model.read(ssm.state_size),
               .dt_rank = read_or_auto(model, ssm.dt_rank, (hidden + 15) / 16),
               .conv_kernel = model.read(ssm.conv_kernel)};
    // A for each number of the state; D and the bias of dt for each channel.
    part.elementwise.bias = channels * (part.state_size + 2) + (model.has(ssm.conv_bias) ? channels : 0) +
                            (model.has(ssm.input_bias) ? 2 * channels : 0) + (model.has(ssm.output_bias) ? hidden : 0);
    part.elementwise.norm = model.has(ssm.norms) ? part.dt_rank + 2 * part.state_size : 0;
    return part.cost(at.where);
}

[[nodiscard]] inline cost mamba2_part(const hf_model& model, const hf_layer& at) {
    const hf_state_space& ssm = model.family.ssm;
    const std::uint64_t channels = read_channels(model);
    const std::uint64_t heads = model.read(ssm.num_heads);
    require_divides(model, ssm.num_heads, channels, " channels");
    mamba2 part{.num_heads = heads,
                .head_dim = read_or_auto(model, ssm.head_dim, channels / heads),
                .n_groups = model.read(ssm.n_groups),
                .state_size = model.read(ssm.state_size),
                .conv_kernel = model.read(ssm.conv_kernel)};
    if (part.head_dim != channels / heads) {
        const std::string_view key = model.config.spelling(ssm.head_dim.keys);
        throw error(model.config.field(key), "must be " + std::to_string(channels / heads) + " for " +
                                                 std::to_string(heads) + " heads of " + std::to_string(channels) +
                                                 " channels, got " + std::to_string(part.head_dim));
    }
    require_divides(model, ssm.n_groups, heads, " heads");
    const std::uint64_t convolved = channels + 2 * part.n_groups * part.state_size;
    // A, D and the bias of dt for each head.
    part.elementwise.bias = 3 * heads + (model.has(ssm.conv_bias) ? convolved : 0) +
                            (model.has(ssm.input_bias) ? channels + convolved + heads : 0) +
                            (model.has(ssm.output_bias) ? at.where.hidden_size : 0);
    part.elementwise.norm = model.has(ssm.norms) ? channels : 0;
    return part.cost(at.where);
}

}  // namespace floptally::detail
