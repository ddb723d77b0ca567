// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <floptally/text/error.hpp>

/// @file The version of floptally, and the version of the numbers that it counts. CMake reads both from this file.

#define FLOPTALLY_VERSION_MAJOR 0
#define FLOPTALLY_VERSION_MINOR 3
#define FLOPTALLY_VERSION_PATCH 1
/// The end of the version: ".dev0" between releases, "" in a release.
#define FLOPTALLY_VERSION_SUFFIX ".dev0"
/// `git archive` and an install write the commit here. In a clone it remains a placeholder.
#define FLOPTALLY_ARCHIVED_COMMIT "$Format:%h$"

#define FLOPTALLY_NUMBERS_VERSION 2

#define FLOPTALLY_STRINGIZE_TOKENS(x) #x
#define FLOPTALLY_STRINGIZE(x) FLOPTALLY_STRINGIZE_TOKENS(x)
#define FLOPTALLY_VERSION                                                                             \
    FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_MAJOR)                                                      \
    "." FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_MINOR) "." FLOPTALLY_STRINGIZE(FLOPTALLY_VERSION_PATCH) \
        FLOPTALLY_VERSION_SUFFIX

namespace floptally::inline v0_3 {

namespace detail {

/// The version of this build. A program that is built in a clone sets this variable once, before it counts anything,
/// because headers in a clone do not contain their commit.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
inline const char* built_version = FLOPTALLY_VERSION_SUFFIX[0] == '\0' || FLOPTALLY_ARCHIVED_COMMIT[0] == '$'
                                       ? FLOPTALLY_VERSION
                                       : FLOPTALLY_VERSION "+g" FLOPTALLY_ARCHIVED_COMMIT;

}  // namespace detail

/// The version as "major.minor.patch". Every report contains it. Between releases it has ".dev0" and, if known, the
/// commit: "0.3.0.dev0+g1a2b3c4d5e6f".
inline const char* const& version = detail::built_version;

/// The version of the counted numbers. Two releases with the same version count the same FLOPs and read each other's
/// saved states. A release that changes any count increments it (tests/golden/released.test.cpp).
inline constexpr unsigned numbers_version = FLOPTALLY_NUMBERS_VERSION;

/// Throws `error` if `what` (a state or a report) has numbers of another version. `made_by` is the version of floptally
/// that wrote it.
inline void require_numbers_version(std::string_view what, std::uint64_t numbers, std::string_view made_by) {
    if (numbers != numbers_version) {
        detail::refuse("numbers_version", {what, " was written with numbers_version ", numbers, " (floptally ", made_by,
                                           "), but this is floptally ", version, " with numbers_version ",
                                           numbers_version, ": read it with floptally ", made_by, ", or count again"});
    }
}

}  // namespace floptally
