// SPDX-License-Identifier: Apache-2.0
#pragma once

#ifndef FLOPTALLY_SEPARATE_COMPILATION
#ifdef FLOPTALLY_JSON_INLINE
#error "<floptally/json.hpp> was included before <floptally/json_src.hpp>, without FLOPTALLY_SEPARATE_COMPILATION"
#endif
#define FLOPTALLY_SEPARATE_COMPILATION
#endif

#include <floptally/json.hpp>

/// @file
/// The definitions of <floptally/json.hpp>, for the one unit of a program that has them while its others, which define
/// FLOPTALLY_SEPARATE_COMPILATION, see declarations. Those come first: a definition before them would have no
/// attribute.

#include <floptally/config/json_definitions.hpp>
