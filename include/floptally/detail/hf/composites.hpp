// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include <floptally/detail/hf/audio_composites.hpp>
#include <floptally/detail/hf/composite.hpp>
#include <floptally/detail/hf/contrastive.hpp>
#include <floptally/detail/hf/cross_attention_composites.hpp>
#include <floptally/detail/hf/gemma_vlms.hpp>
#include <floptally/detail/hf/idefics_kin.hpp>
#include <floptally/detail/hf/llava_kin.hpp>
#include <floptally/detail/hf/merging_vlms.hpp>
#include <floptally/detail/hf/omni_composites.hpp>
#include <floptally/detail/hf/query_composites.hpp>
#include <floptally/detail/hf/qwen_vl_kin.hpp>
#include <floptally/detail/hf/siglip_vl_kin.hpp>

/// @file
/// The known `model_type`s with towers, as `families.hpp` has those without.

namespace floptally::detail {

inline constexpr std::span<const hf_composite> hf_composite_tables[] = {
    llava_kin,                   //
    merging_vlms,                //
    gemma_vlms,                  //
    qwen_vl_kin,                 //
    siglip_vl_kin,               //
    idefics_kin,                 //
    cross_attention_composites,  //
    query_composites,            //
    contrastive_models,          //
    audio_composites,            //
    omni_composites,
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
