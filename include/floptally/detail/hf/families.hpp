// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/audio_towers.hpp>
#include <floptally/detail/hf/bart_kin.hpp>
#include <floptally/detail/hf/composites.hpp>
#include <floptally/detail/hf/conformer_towers.hpp>
#include <floptally/detail/hf/contrastive.hpp>
#include <floptally/detail/hf/convolutional_towers.hpp>
#include <floptally/detail/hf/convolved_decoders.hpp>
#include <floptally/detail/hf/cross_attention_composites.hpp>
#include <floptally/detail/hf/dino_towers.hpp>
#include <floptally/detail/hf/early_decoders.hpp>
#include <floptally/detail/hf/encoders.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/gated_decoders.hpp>
#include <floptally/detail/hf/gemma_vlms.hpp>
#include <floptally/detail/hf/gpt_kin.hpp>
#include <floptally/detail/hf/hub_decoders.hpp>
#include <floptally/detail/hf/idefics_kin.hpp>
#include <floptally/detail/hf/kv_sharing_decoders.hpp>
#include <floptally/detail/hf/latent_decoders.hpp>
#include <floptally/detail/hf/linear_attention_decoders.hpp>
#include <floptally/detail/hf/masked_towers.hpp>
#include <floptally/detail/hf/modern_encoders.hpp>
#include <floptally/detail/hf/moe_decoders.hpp>
#include <floptally/detail/hf/moe_variants.hpp>
#include <floptally/detail/hf/omni_audio_towers.hpp>
#include <floptally/detail/hf/patch_towers.hpp>
#include <floptally/detail/hf/plain_decoders.hpp>
#include <floptally/detail/hf/query_composites.hpp>
#include <floptally/detail/hf/recurrent_decoders.hpp>
#include <floptally/detail/hf/renormed_decoders.hpp>
#include <floptally/detail/hf/roberta_kin.hpp>
#include <floptally/detail/hf/shared_expert_decoders.hpp>
#include <floptally/detail/hf/small_encoders.hpp>
#include <floptally/detail/hf/spectrogram_towers.hpp>
#include <floptally/detail/hf/speech_translators.hpp>
#include <floptally/detail/hf/state_space_decoders.hpp>
#include <floptally/detail/hf/t5_kin.hpp>
#include <floptally/detail/hf/uncommon_decoders.hpp>
#include <floptally/detail/hf/uncommon_encoders.hpp>
#include <floptally/detail/hf/uncommon_towers.hpp>
#include <floptally/detail/hf/vision_language_texts.hpp>
#include <floptally/detail/hf/vision_towers.hpp>
#include <floptally/detail/hf/vlm_towers.hpp>
#include <floptally/detail/hf/wave_towers.hpp>
#include <floptally/detail/hf/windowed_decoders.hpp>
#include <floptally/detail/hf/windowed_towers.hpp>
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
    hub_decoders,               //
    linear_attention_decoders,  //
    recurrent_decoders,         //
    state_space_decoders,       //
    encoders,                   //
    roberta_kin,                //
    modern_encoders,            //
    uncommon_encoders,          //
    small_encoders,             //
    t5_kin,                     //
    bart_kin,                   //
    vision_towers,              //
    vision_language_texts,      //
    patch_towers,               //
    dino_towers,                //
    vlm_towers,                 //
    gemma_towers,               //
    idefics_towers,             //
    mllama_parts,               //
    query_towers,               //
    uncommon_towers,            //
    windowed_towers,            //
    masked_towers,              //
    convolutional_towers,       //
    contrastive_texts,          //
    audio_towers,               //
    wave_towers,                //
    conformer_towers,           //
    omni_audio_towers,          //
    speech_translators,         //
    spectrogram_towers,
};

/// "llama", "mistral", …, "floptally": floptally's own format last.
[[nodiscard]] inline std::vector<std::string_view> known_types() {
    std::vector<std::string_view> types;
    for (const std::span<const hf_family> table : hf_tables) {
        for (const hf_family& family : table) {
            types.push_back(family.model_type);
        }
    }
    for (const std::span<const hf_composite> table : hf_composite_tables) {
        for (const hf_composite& family : table) {
            types.push_back(family.model_type);
        }
    }
    types.emplace_back("hstu");
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

[[nodiscard]] inline const hf_family* find_family(std::string_view model_type) {
    for (const std::span<const hf_family> table : hf_tables) {
        for (const hf_family& family : table) {
            if (family.model_type == model_type) {
                return &family;
            }
        }
    }
    return nullptr;
}

/// Throws where the config wraps that of a text model that is known: of images and text, say.
inline void refuse_wrapper(const config_fields& config, const std::string& model_type) {
    for (const std::string_view key : {"text_config", "llm_config", "language_config", "thinker_config", "decoder"}) {
        const json* inner = config.find(key);
        if (inner == nullptr || !inner->is_object()) {
            continue;
        }
        const config_fields text(*inner, config.field(key));
        refuse_wrapper(text, model_type);
        const json* type = text.find("model_type");
        if (type != nullptr && type->is_string() && find_family(type->get<std::string>()) != nullptr) {
            throw error("model_type", std::string("\"")
                                          .append(model_type)
                                          .append("\" is more than a text model; pass its ")
                                          .append(config.field(key))
                                          .append(" alone, a ")
                                          .append(type->get<std::string>()));
        }
    }
}

/// The family of a config, or an error that lists the known ones.
[[nodiscard]] inline const hf_family& family_of(const config_fields& config) {
    const std::string model_type = config.text("model_type");
    if (const hf_family* known = find_family(model_type)) {
        return *known;
    }
    refuse_wrapper(config, model_type);
    throw error("model_type",
                std::string("unknown type \"").append(model_type).append("\"; known: ").append(known_families()));
}

}  // namespace floptally::detail
