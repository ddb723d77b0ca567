// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <string>

/// @file
/// Checks of a test that is a program of its own: its exit status is whether any failed.

inline int failures = 0;

inline void expect(bool holds, const std::string& what) {
    if (!holds) {
        ++failures;
        std::fprintf(stderr, "FAILED: %s\n", what.c_str());
    }
}
