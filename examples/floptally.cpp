// SPDX-License-Identifier: Apache-2.0
//
// The program `floptally`.

#include "program/run.hpp"

int main(int argc, char** argv) { return program::main(argc, argv); }
