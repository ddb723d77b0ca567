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

/// What a page shows that one of its blocks prints: the first block of `output` behind it.
inline std::string output_of(const std::string& markdown, const std::string& block) {
    const std::size_t at = markdown.find(block);
    const std::vector<std::string> outputs = fenced_blocks(markdown.substr(at == std::string::npos ? 0 : at), "output");
    return at == std::string::npos || outputs.empty() ? "no output is shown" : outputs.front();
}

/// A page with `table` in place of the one that begins with the same line, and ends with the line before an empty one;
/// or the page as it is, where it has none.
inline std::string with_table(std::string page, const std::string& table) {
    const std::size_t begin = page.find("\n" + table.substr(0, table.find('\n') + 1));
    if (begin != std::string::npos) {
        const std::size_t end = page.find("\n\n", begin + 1);
        page.replace(begin + 1, (end == std::string::npos ? page.size() : end + 1) - begin - 1, table);
    }
    return page;
}
