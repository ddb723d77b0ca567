// SPDX-License-Identifier: Apache-2.0
//
// The program `floptally`.

#include "program/commands.hpp"

int main(int argc, char** argv) { return program::run_program(argc, argv); }
