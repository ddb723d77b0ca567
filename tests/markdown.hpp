// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

/// The text of a file; a test fails loudly on an empty one.
inline std::string read_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// The fenced blocks of a language, in order: what stands between ```language and ```.
inline std::vector<std::string> fenced_blocks(const std::string& markdown, const std::string& language) {
    std::vector<std::string> blocks;
    std::istringstream lines(markdown);
    bool inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (inside && line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back() += line + "\n";
        } else if (line == "```" + language) {
            blocks.emplace_back();
            inside = true;
        }
    }
    return blocks;
}
