// SPDX-License-Identifier: Apache-2.0
//
// The program `floptally`.

#include "program/run.hpp"

extern const char* const floptally_full_version;  // written by CMake, with the commit

int main(int argc, char** argv) {
    floptally::detail::built_version = floptally_full_version;
    return program::main(argc, argv);
}
