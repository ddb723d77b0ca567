// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/hf/bart_kin.hpp>
#include <floptally/detail/hf/convolved_decoders.hpp>
#include <floptally/detail/hf/early_decoders.hpp>
#include <floptally/detail/hf/encoders.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/gated_decoders.hpp>
#include <floptally/detail/hf/gpt_kin.hpp>
#include <floptally/detail/hf/kv_sharing_decoders.hpp>
#include <floptally/detail/hf/latent_decoders.hpp>
#include <floptally/detail/hf/linear_attention_decoders.hpp>
#include <floptally/detail/hf/modern_encoders.hpp>
#include <floptally/detail/hf/moe_decoders.hpp>
#include <floptally/detail/hf/moe_variants.hpp>
#include <floptally/detail/hf/plain_decoders.hpp>
#include <floptally/detail/hf/recurrent_decoders.hpp>
#include <floptally/detail/hf/renormed_decoders.hpp>
#include <floptally/detail/hf/roberta_kin.hpp>
#include <floptally/detail/hf/shared_expert_decoders.hpp>
#include <floptally/detail/hf/small_encoders.hpp>
#include <floptally/detail/hf/state_space_decoders.hpp>
#include <floptally/detail/hf/t5_kin.hpp>
#include <floptally/detail/hf/uncommon_decoders.hpp>
#include <floptally/detail/hf/uncommon_encoders.hpp>
#include <floptally/detail/hf/windowed_decoders.hpp>
#include <floptally/detail/hf/xl_models.hpp>
#include <floptally/error.hpp>

/// @file
/// The known `model_type`s. Facts from the configuration and modelling classes of transformers 5.23; `tests/golden`
/// counts the real models.

namespace floptally::detail {

inline constexpr std::span<const hf_family> hf_tables[] = {
    gated_decoders,             //
    renormed_decoders,          //
    windowed_decoders,          //
    kv_sharing_decoders,        //
    uncommon_decoders,          //
    plain_decoders,             //
    gpt_kin,                    //
    early_decoders,             //
    xl_models,                  //
    moe_decoders,               //
    moe_variants,               //
    shared_expert_decoders,     //
    latent_decoders,            //
    convolved_decoders,         //
    linear_attention_decoders,  //
    recurrent_decoders,         //
    state_space_decoders,       //
    encoders,                   //
    roberta_kin,                //
    modern_encoders,            //
    uncommon_encoders,          //
    small_encoders,             //
    t5_kin,                     //
    bart_kin,
};

/// "llama", "mistral", …, "floptally": floptally's own format last.
[[nodiscard]] inline std::vector<std::string_view> known_types() {
    std::vector<std::string_view> types;
    for (const std::span<const hf_family> table : hf_tables) {
        for (const hf_family& family : table) {
            types.push_back(family.model_type);
        }
    }
    types.emplace_back("floptally");
    return types;
}

/// "llama, mistral, …, floptally (any composition, written down)": what an error lists.
[[nodiscard]] inline std::string known_families() {
    std::string known;
    for (const std::string_view type : known_types()) {
        append_item(known, type);
    }
    return known + " (any composition, written down)";
}

/// The family of a `model_type`, or an error that lists the known ones.
[[nodiscard]] inline const hf_family& family_of(std::string_view model_type) {
    for (const std::span<const hf_family> table : hf_tables) {
        for (const hf_family& family : table) {
            if (family.model_type == model_type) {
                return family;
            }
        }
    }
    throw error("model_type",
                std::string("unknown type \"").append(model_type).append("\"; known: ").append(known_families()));
}

}  // namespace floptally::detail
