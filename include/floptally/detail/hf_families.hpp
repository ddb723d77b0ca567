// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <floptally/detail/hf_decoders.hpp>
#include <floptally/detail/hf_encoders.hpp>
#include <floptally/detail/hf_family.hpp>
#include <floptally/detail/hf_moe_decoders.hpp>
#include <floptally/error.hpp>

/// @file
/// The known `model_type`s. Facts from the configuration and modelling classes of transformers 5.23; `tests/golden`
/// counts the real models.

namespace floptally::detail {

inline constexpr auto hf_families = [] {
    std::array<hf_family, hf_decoders.size() + hf_moe_decoders.size() + hf_encoders.size()> all;
    std::size_t next = 0;
    for (const std::span<const hf_family> some :
         {std::span<const hf_family>(hf_decoders), std::span<const hf_family>(hf_moe_decoders),
          std::span<const hf_family>(hf_encoders)}) {
        for (const hf_family& family : some) {
            all[next++] = family;
        }
    }
    return all;
}();

/// "llama, mistral, …, floptally (any composition, written down)": what an error lists.
[[nodiscard]] inline std::string known_families() {
    std::string known;
    for (const hf_family& family : hf_families) {
        known.append(family.model_type).append(", ");
    }
    return known + "floptally (any composition, written down)";
}

/// The family of a `model_type`, or an error that lists the known ones.
[[nodiscard]] inline const hf_family& family_of(std::string_view model_type) {
    for (const hf_family& family : hf_families) {
        if (family.model_type == model_type) {
            return family;
        }
    }
    throw error("model_type",
                std::string("unknown type \"").append(model_type).append("\"; known: ").append(known_families()));
}

}  // namespace floptally::detail
