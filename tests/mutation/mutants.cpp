// SPDX-License-Identifier: Apache-2.0
//
// Which mutant runs, from FLOPTALLY_ACTIVE_MUTANT, and at the end the list of those that were reached, to the file of
// FLOPTALLY_REACHED.

#include "mutants.hpp"

#include <cstdio>
#include <cstdlib>

namespace floptally_mutants {
namespace {

constexpr int most = 20000;

int active_mutant() {
    const char* text = std::getenv("FLOPTALLY_ACTIVE_MUTANT");
    return text == nullptr ? 0 : std::atoi(text);
}

/// Writes the list when the program ends.
struct at_end {
    ~at_end() {
        const char* path = std::getenv("FLOPTALLY_REACHED");
        std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
        for (int mutant = 0; file != nullptr && mutant < most; ++mutant) {
            if (reached[mutant] != 0) {
                std::fprintf(file, "%d\n", mutant);
            }
        }
        if (file != nullptr) {
            std::fclose(file);
        }
    }
} const writer;

}  // namespace

const int active = active_mutant();
unsigned char reached[most]{};

}  // namespace floptally_mutants
