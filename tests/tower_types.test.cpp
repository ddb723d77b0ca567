// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include <floptally/json.hpp>

#include "catch2.hpp"

using nlohmann::json;

TEST_CASE("a config that names only a type with towers has the parameters of its class") {
    // Of the first class of the type in its table, built from its default config on the meta device.
    const std::map<std::string_view, std::uint64_t> parameters{
        {"beit", 85658114},
        {"clip", 151277313},
        {"clip_vision_model", 87456000},
        {"data2vec-vision", 85658114},
        {"deit", 85801730},
        {"dinov2", 85728770},
        {"dinov2_with_registers", 85824002},
        {"dinov3_vit", 21595008},
        {"exaone4_5", 12100938496},
        {"exaone4_5_vision", 2671868672},
        {"glm46v", 10292777472},
        {"glm4v", 10292777472},
        {"glm4v_moe", 104372866880},
        {"glm4v_moe_vision", 892498432},
        {"glm4v_vision", 892498432},
        {"glm_ocr", 807479808},
        {"glm_ocr_vision", 434120192},
        {"ijepa", 85798658},
        {"kimi_k25", 670570869232},
        {"kimi_k25_vision", 416866032},
        {"llava", 7062902784},
        {"metaclip_2", 151277313},
        {"metaclip_2_vision_model", 87456000},
        {"paddleocr_vl", 799695472},
        {"qwen2_5_vl", 75789228800},
        {"qwen2_5_vl_vision", 3083025152},
        {"qwen2_vl", 73381962752},
        {"qwen3_5", 9407453936},
        {"qwen3_5_moe", 35114261360},
        {"qwen3_5_moe_vision", 453650672},
        {"qwen3_5_vision", 453650672},
        {"qwen3_vl", 12616410352},
        {"qwen3_vl_moe", 14052070640},
        {"qwen3_vl_moe_vision", 566949104},
        {"qwen3_vl_vision", 566949104},
        {"siglip", 203155970},
        {"siglip2", 203202050},
        {"siglip2_vision_model", 92930304},
        {"siglip_vision_model", 92884224},
        {"video_llama_3", 12155424000},
        {"video_llama_3_vision", 85646592},
        {"vit", 85800194},
        {"vit_msn", 85800194},
        {"yolos", 104947975},
    };
    for (const auto& [type, count] : parameters) {
        INFO(type);
        CHECK(floptally::read_config(json{{"model_type", type}}).cost.parameters() == count);
    }
    for (const std::string_view type : floptally::known_model_types()) {
        if (type == "floptally" || type == "kimi_vl") {  // remote code: published.json
            continue;
        }
        json config{{"model_type", type}};
        for (const char* key : {"vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"}) {
            config[key] = 64;  // remote code has no defaults
        }
        INFO(type);
        try {
            if (floptally::read_config(config).cost.masks().has_towers()) {
                CHECK(parameters.count(type) == 1);
            }
        } catch (const floptally::error&) {
            // a type whose sizes are not of these names: not one with towers, or it is listed
        }
    }
}
