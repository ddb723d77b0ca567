// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string_view>

#include <floptally/detail/text.hpp>
#include <floptally/error.hpp>

/// @file
/// Errors whose text is put together.

namespace floptally::detail {

/// Throws the error with that text.
[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(std::string_view field,
                                                          std::initializer_list<piece> problem) {
    throw error(field, text_of(problem));
}

}  // namespace floptally::detail
