// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/text/error.hpp>

/// @file
/// The version of floptally and that of its numbers. They are written down here alone; CMake reads them from here.

#define FLOPTALLY_VERSION_MAJOR 0
#define FLOPTALLY_VERSION_MINOR 2
#define FLOPTALLY_VERSION_PATCH 0

#define FLOPTALLY_NUMBERS_VERSION 2

#define FLOPTALLY_STRINGIZE_TOKENS(x) #x
#define FLOPTALLY_STRINGIZE(x) FLOPTALLY_STRINGIZE_TOKENS(x)
#define FLOPTALLY_VERSION                        \
    FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_MAJOR) \
    "." FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_MINOR) "." FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_PATCH)

namespace floptally {

/// The version as "major.minor.patch", which every report contains.
inline constexpr const char* version = FLOPTALLY_VERSION;

/// The version of the numbers: two releases with the same one count alike whatever both can count, and read each
/// other's states. A release that counts anything otherwise than the one before it has the next
/// (tests/golden/released.test.cpp).
inline constexpr unsigned numbers_version = FLOPTALLY_NUMBERS_VERSION;

/// Throws where `what` has numbers of another version, which floptally `made_by` counted.
inline void require_numbers_version(std::string_view what, std::uint64_t numbers, std::string_view made_by) {
    if (numbers != numbers_version) {
        detail::refuse("numbers_version",
                       {what, " has numbers of version ", numbers, ", of floptally ", made_by, "; this is floptally ",
                        version, ", whose numbers are of version ", numbers_version});
    }
}

}  // namespace floptally
