// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// @file
/// The program, compiled once (commands.cpp) for everything that runs its commands.

namespace program {

/// Runs the program on a command line, with output to standard output and errors to standard error. Returns the exit
/// status.
int run_program(int argc, char** argv);

/// Runs one command line and returns what the program prints on standard output. Throws `floptally::error` for input
/// that the program refuses.
std::string output_of(int argc, char** argv);

}  // namespace program
