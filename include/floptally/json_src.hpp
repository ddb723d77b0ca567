// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/text/macros_begin.hpp>

#ifndef FLOPTALLY_SEPARATE_COMPILATION
#ifdef FLOPTALLY_JSON_INLINE
#error "<floptally/json.hpp> was included before <floptally/json_src.hpp>, without FLOPTALLY_SEPARATE_COMPILATION"
#endif
#define FLOPTALLY_SEPARATE_COMPILATION
#endif

#include <floptally/json.hpp>

/// @file
/// The definitions of <floptally/json.hpp>, for one source file of a program.
///
/// All other source files define FLOPTALLY_SEPARATE_COMPILATION, so that json.hpp gives them only declarations.
/// json_src.hpp includes the declarations before the definitions, because only the declarations have the functions'
/// attributes.

#include <floptally/config/json_definitions.hpp>

#include <floptally/text/macros_end.hpp>
