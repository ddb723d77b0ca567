// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string_view>

#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Errors whose text is made of pieces.

namespace floptally::detail {

/// Throws an error of `field` whose text is made of pieces.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(std::string_view field,
                                                          std::initializer_list<piece> problem) {
    throw error(field, text_of(problem));
}

}  // namespace floptally::detail
