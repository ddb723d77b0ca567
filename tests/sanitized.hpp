// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// @file
/// Sanitizers make a test several times slower. There one in a few of a long list of cases is enough: the build without
/// them takes all.

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif
#else
inline constexpr bool is_sanitized = false;
#endif

/// True where a case is left out, by its number in a list of which sanitizers run one case in `n`.
[[nodiscard]] constexpr bool skipped_when_sanitized(std::size_t number, std::size_t n) {
    return is_sanitized && number % n != 0;
}
