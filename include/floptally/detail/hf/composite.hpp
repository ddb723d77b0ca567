// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include <floptally/cost.hpp>
#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model_config.hpp>

/// @file
/// What a Hugging Face `model_type` with towers is made of, as data: a text model, towers, and what joins them.

namespace floptally::detail {

/// A model with towers that is being read: its own keys, and the sizes of its text and of one tower.
struct hf_joined {
    const config_fields& config;
    const hf_model& text;
    const hf_model& tower;
};

/// What stands between a tower and the text: a projector, in units of the tower's statistics.
using hf_projector = cost (*)(const hf_joined&);
/// How many layers of a tower reach the loss.
using hf_depth = std::uint64_t (*)(const hf_joined&);
/// What the text has of the tower's output.
using hf_placeholders = tower_input (*)(const hf_joined&, tower_input);

/// A tower of a model.
struct hf_slot {
    std::string_view key{};         ///< of its config: "vision_config"
    std::string_view model_type{};  ///< where that config does not say it
    std::string_view suffix{};      ///< of the class that it is: "Model"
    hf_projector projector = nullptr;
    hf_projector in_text = nullptr;          ///< what the text's own layers do more for each image
    hf_depth layers_used = nullptr;          ///< all
    hf_placeholders placeholders = nullptr;  ///< as its family says
    std::string_view otherwise{};            ///< its config where there is none, as JSON
    const hf_family* family = nullptr;       ///< whatever its config says
    bool optional = false;                   ///< without a config no tower
};

/// A class of the model, and the class that its text is.
struct hf_outer_class {
    std::string_view suffix;
    std::string_view text_suffix;     ///< empty: it has no text, and no projectors
    bool pooled = false;              ///< it reads what its parts pool
    hf_projector after = nullptr;     ///< in place of the projector of the first tower: a classifier of images
    std::string_view uncounted = {};  ///< what a count leaves out, as a note
    std::string_view text_to_text{};  ///< the class of its text, where that is an encoder and a decoder
};

/// Where the flag stands that ties the lm_head to the embedding.
enum class tie_flag : std::uint8_t { outer, text, either, never };

/// One `model_type` with towers.
struct hf_composite {
    std::string_view model_type;
    std::string_view class_prefix;
    std::span<const hf_outer_class> heads;  ///< the first is the usual one for training
    std::string_view text_key = "text_config";
    std::string_view text_type{};            ///< where the text's config does not say it
    std::string_view text_otherwise{};       ///< the text's config where there is none, as JSON
    std::string_view older_text_type{};      ///< what older files call `text_type`
    const hf_family* text_family = nullptr;  ///< whatever the text's config says
    bool flat_text = false;                  ///< where there is none, its keys stand beside the outer ones
    bool text_fills = false;                 ///< `text_otherwise` stands also for what a given one leaves out
    std::array<hf_slot, 2> towers{};
    cost (*text_after)(const config_fields&, const hf_model&) = nullptr;  ///< what stands after the text
    bool tie_word_embeddings = false;
    tie_flag tie = tie_flag::outer;
    std::string_view tie_key{};    ///< a key that wins over `tie_word_embeddings`
    std::string_view overrides{};  ///< a key of the text's config that changes nothing here
    std::string_view refuses{};    ///< a config inside that is not read
    std::string_view note{};       ///< what a count leaves open
};

/// Classes that most of them have.
inline constexpr std::array outer_heads{
    hf_outer_class{"ForConditionalGeneration", "ForCausalLM"},
    hf_outer_class{"Model", "Model"},
};
/// The same where the text is a class of its own.
inline constexpr std::array outer_heads_of_text_model{
    hf_outer_class{"ForConditionalGeneration", "ForCausalLM"},
    hf_outer_class{"Model", "TextModel"},
};

}  // namespace floptally::detail
