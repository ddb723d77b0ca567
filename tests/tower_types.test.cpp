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
        {"blip-2", 1216944384},
        {"blip_2_vision_model", 985952256},
        {"clip", 151277313},
        {"clip_vision_model", 87456000},
        {"data2vec-vision", 85658114},
        {"deit", 85801730},
        {"dinov2", 85728770},
        {"dinov2_with_registers", 85824002},
        {"dinov3_vit", 21595008},
        {"idefics2", 8061394944},
        {"idefics2_vision", 87453696},
        {"idefics3", 6909685760},
        {"idefics3_vision", 152395776},
        {"ijepa", 85798658},
        {"llava", 7062902784},
        {"metaclip_2", 151277313},
        {"metaclip_2_vision_model", 87456000},
        {"mllama", 10642941475},
        {"mllama_vision_model", 836288019},
        {"siglip", 203155970},
        {"siglip2", 203202050},
        {"siglip2_vision_model", 92930304},
        {"siglip_vision_model", 92884224},
        {"smolvlm", 6909685760},
        {"smolvlm_vision", 152395776},
        {"vit", 85800194},
        {"vit_msn", 85800194},
        {"yolos", 104947975},
    };
    for (const auto& [type, count] : parameters) {
        INFO(type);
        CHECK(floptally::read_config(json{{"model_type", type}}).cost.parameters() == count);
    }
    for (const std::string_view type : floptally::known_model_types()) {
        if (type == "floptally") {
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
