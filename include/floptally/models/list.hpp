// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include <floptally/models/base.hpp>
#include <floptally/models/bert.hpp>
#include <floptally/models/clip_vision_model.hpp>
#include <floptally/models/deepseek_v3.hpp>
#include <floptally/models/deepseek_v32.hpp>
#include <floptally/models/gemma2.hpp>
#include <floptally/models/gemma3_text.hpp>
#include <floptally/models/glm4.hpp>
#include <floptally/models/gpt2.hpp>
#include <floptally/models/gpt_neox.hpp>
#include <floptally/models/granite.hpp>
#include <floptally/models/llama.hpp>
#include <floptally/models/llava.hpp>
#include <floptally/models/mistral.hpp>
#include <floptally/models/mixtral.hpp>
#include <floptally/models/nemotron_h.hpp>
#include <floptally/models/olmo2.hpp>
#include <floptally/models/phi3.hpp>
#include <floptally/models/qwen2.hpp>
#include <floptally/models/qwen2_5_vl.hpp>
#include <floptally/models/qwen2_5_vl_text.hpp>
#include <floptally/models/qwen2_5_vl_vision.hpp>
#include <floptally/models/qwen3.hpp>
#include <floptally/models/qwen3_moe.hpp>
#include <floptally/models/qwen3_next.hpp>
#include <floptally/models/siglip_vision_model.hpp>
#include <floptally/models/starcoder2.hpp>
#include <floptally/models/t5.hpp>
#include <floptally/models/whisper.hpp>

/// @file
/// Every page that comes with the library, by the name of its file. `tests/pages.test.cpp` compares it with the folder.

namespace floptally::detail::pages {

struct model_page {
    std::string_view name;
    std::string_view text;
};

inline constexpr model_page model_pages[] = {
    {"base", {models::base, sizeof models::base - 1}},
    {"bert", {models::bert, sizeof models::bert - 1}},
    {"clip_vision_model", {models::clip_vision_model, sizeof models::clip_vision_model - 1}},
    {"deepseek_v3", {models::deepseek_v3, sizeof models::deepseek_v3 - 1}},
    {"deepseek_v32", {models::deepseek_v32, sizeof models::deepseek_v32 - 1}},
    {"gemma2", {models::gemma2, sizeof models::gemma2 - 1}},
    {"gemma3_text", {models::gemma3_text, sizeof models::gemma3_text - 1}},
    {"glm4", {models::glm4, sizeof models::glm4 - 1}},
    {"gpt2", {models::gpt2, sizeof models::gpt2 - 1}},
    {"gpt_neox", {models::gpt_neox, sizeof models::gpt_neox - 1}},
    {"granite", {models::granite, sizeof models::granite - 1}},
    {"llama", {models::llama, sizeof models::llama - 1}},
    {"llava", {models::llava, sizeof models::llava - 1}},
    {"mistral", {models::mistral, sizeof models::mistral - 1}},
    {"mixtral", {models::mixtral, sizeof models::mixtral - 1}},
    {"nemotron_h", {models::nemotron_h, sizeof models::nemotron_h - 1}},
    {"olmo2", {models::olmo2, sizeof models::olmo2 - 1}},
    {"phi3", {models::phi3, sizeof models::phi3 - 1}},
    {"qwen2", {models::qwen2, sizeof models::qwen2 - 1}},
    {"qwen2_5_vl", {models::qwen2_5_vl, sizeof models::qwen2_5_vl - 1}},
    {"qwen2_5_vl_text", {models::qwen2_5_vl_text, sizeof models::qwen2_5_vl_text - 1}},
    {"qwen2_5_vl_vision", {models::qwen2_5_vl_vision, sizeof models::qwen2_5_vl_vision - 1}},
    {"qwen3", {models::qwen3, sizeof models::qwen3 - 1}},
    {"qwen3_moe", {models::qwen3_moe, sizeof models::qwen3_moe - 1}},
    {"qwen3_next", {models::qwen3_next, sizeof models::qwen3_next - 1}},
    {"siglip_vision_model", {models::siglip_vision_model, sizeof models::siglip_vision_model - 1}},
    {"starcoder2", {models::starcoder2, sizeof models::starcoder2 - 1}},
    {"t5", {models::t5, sizeof models::t5 - 1}},
    {"whisper", {models::whisper, sizeof models::whisper - 1}},
};

/// The text of a file of pages; empty where there is none.
[[nodiscard]] inline std::string_view find_model_page(std::string_view name) {
    std::size_t first = 0;
    std::size_t last = sizeof model_pages / sizeof *model_pages;
    while (first < last) {
        const std::size_t middle = first + (last - first) / 2;
        if (model_pages[middle].name == name) {
            return model_pages[middle].text;
        }
        (model_pages[middle].name < name ? first : last) = model_pages[middle].name < name ? middle + 1 : middle;
    }
    return {};
}

}  // namespace floptally::detail::pages
