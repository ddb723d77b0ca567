// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "catch2.hpp"

/// A file of the folder golden.
inline nlohmann::json golden(const char* name) {
    std::ifstream file(std::filesystem::path(FLOPTALLY_GOLDEN_DIR) / name);
    REQUIRE(file);
    return nlohmann::json::parse(file);
}
