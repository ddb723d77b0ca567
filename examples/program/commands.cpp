// SPDX-License-Identifier: Apache-2.0

#include "commands.hpp"

#include "run.hpp"

extern const char* const floptally_full_version;  // written by CMake, with the commit

namespace program {

int run_program(int argc, char** argv) {
    floptally::detail::built_version = floptally_full_version;
    return main(argc, argv);
}

std::string output_of(int argc, char** argv) {
    floptally::detail::built_version = floptally_full_version;
    return run(argc, argv);
}

}  // namespace program
