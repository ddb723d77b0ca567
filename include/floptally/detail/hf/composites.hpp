// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/contrastive.hpp>
#include <floptally/detail/hf/gemma_vlms.hpp>
#include <floptally/detail/hf/idefics_kin.hpp>
#include <floptally/detail/hf/llama_vlms.hpp>
#include <floptally/detail/hf/llava_kin.hpp>
#include <floptally/detail/hf/merging_vlms.hpp>
#include <floptally/detail/hf/query_composites.hpp>

/// @file
/// The known `model_type`s with towers, as `families.hpp` has those without.

namespace floptally::detail {

inline constexpr std::span<const hf_composite> hf_composite_tables[] = {
    llava_kin,         //
    merging_vlms,      //
    gemma_vlms,        //
    idefics_kin,       //
    llama_vlms,        //
    query_composites,  //
    contrastive_models,
};

[[nodiscard]] inline const hf_composite* find_composite(std::string_view model_type) {
    for (const std::span<const hf_composite> table : hf_composite_tables) {
        for (const hf_composite& family : table) {
            if (family.model_type == model_type) {
                return &family;
            }
        }
    }
    return nullptr;
}

}  // namespace floptally::detail
