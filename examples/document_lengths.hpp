// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef FLOPTALLY_SOURCE_DIR
#define FLOPTALLY_SOURCE_DIR "."
#endif

/// Tokens of 121 documents: Debian's manual pages, in examples/data.
inline std::vector<std::uint32_t> document_lengths() {
    const std::string path = FLOPTALLY_SOURCE_DIR "/examples/data/man-pages.txt";
    std::ifstream file(path);
    std::vector<std::uint32_t> lengths;
    for (std::uint32_t length = 0; file >> length;) {
        lengths.push_back(length);
    }
    if (!file.eof() || lengths.empty()) {
        throw std::runtime_error(path + ": must have lengths, one a line");
    }
    return lengths;
}
