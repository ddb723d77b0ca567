// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// The version of floptally. It is written down here alone; CMake reads it from here.

#define FLOPTALLY_VERSION_MAJOR 0
#define FLOPTALLY_VERSION_MINOR 1
#define FLOPTALLY_VERSION_PATCH 0

#define FLOPTALLY_STRINGIZE_TOKENS(x) #x
#define FLOPTALLY_STRINGIZE(x) FLOPTALLY_STRINGIZE_TOKENS(x)
#define FLOPTALLY_VERSION                        \
    FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_MAJOR) \
    "." FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_MINOR) "." FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_PATCH)

namespace floptally {

/// The version as "major.minor.patch", which every report contains.
inline constexpr const char* version = FLOPTALLY_VERSION;

}  // namespace floptally
