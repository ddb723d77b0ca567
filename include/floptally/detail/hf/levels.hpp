// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/error.hpp>

/// @file
/// Towers of several levels, each of half the height and width of the one before it: lists with a number for each.

namespace floptally::detail {

using hf_list = std::vector<std::uint64_t>;

/// A list with a number for each level, or that of the class.
[[nodiscard]] inline hf_list read_levels(const hf_model& model, std::string_view key,
                                         std::initializer_list<std::uint64_t> otherwise) {
    hf_list all = read_list(model, key, {otherwise.begin(), otherwise.size()});
    if (all.empty()) {
        throw error(model.config.field(key), "must have a number for each level, got []");
    }
    return all;
}

/// Throws where a list has not as many numbers as there are levels.
inline void require_levels(const hf_model& model, std::string_view key, const hf_list& list, std::size_t levels) {
    if (list.size() != levels) {
        throw error(model.config.field(key), "must have a number for each of the " + std::to_string(levels) +
                                                 " levels, got " + std::to_string(list.size()));
    }
}

/// Where a layer stands.
struct hf_level {
    std::uint64_t level = 0;
    std::uint64_t index = 0;  ///< within its level
    bool last = false;        ///< of its level
};

[[nodiscard]] inline hf_level level_of(const hf_list& depths, std::uint64_t layer) {
    std::uint64_t level = 0;
    while (level + 1 < depths.size() && layer >= depths[static_cast<std::size_t>(level)]) {
        layer -= depths[static_cast<std::size_t>(level)];
        ++level;
    }
    return {level, layer, layer + 1 == depths[static_cast<std::size_t>(level)]};
}

[[nodiscard]] inline std::uint64_t layers_of(const hf_model& model, const hf_list& depths) {
    std::uint64_t sum = 0;
    for (const std::uint64_t one : depths) {
        sum += one;
    }
    if (sum > max_layers) {
        throw error(model.config.field("depths"),
                    "must add up to at most " + std::to_string(max_layers) + ", got " + std::to_string(sum));
    }
    return sum;
}

/// What a row of such a family says in place of sizes that each level has of its own.
[[nodiscard]] constexpr hf_family of_levels(hf_family family) {
    family.encoder = true;
    family.vocab_size = 0;
    family.hidden_size = 1;
    family.intermediate_size = 1;
    family.num_hidden_layers = 1;
    family.num_attention_heads = 1;
    family.has_kv_heads = false;
    family.has_head_dim = false;
    family.norms_per_layer = 0;
    family.norm = norm_kind::layer;
    return family;
}

}  // namespace floptally::detail
