// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "catch2.hpp"

/// The type of a config: its model_type, or the class of a file of diffusers.
inline std::string type_of(const nlohmann::json& config) {
    return config.contains("model_type") ? config["model_type"] : config["_class_name"];
}

/// A file of the folder golden.
inline nlohmann::json golden(const char* name) {
    std::ifstream file(std::filesystem::path(FLOPTALLY_GOLDEN_DIR) / name);
    REQUIRE(file);
    return nlohmann::json::parse(file);
}
