// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// `FLOPTALLY_JSON_INLINE` makes the functions of <floptally/json.hpp> inline; otherwise they are compiled separately.
/// Files of one program may differ in this choice. So each form has its own namespace: C++ forbids a function that is
/// inline in some files only.

#ifdef FLOPTALLY_SEPARATE_COMPILATION
#define FLOPTALLY_JSON_NAMESPACE separate
#define FLOPTALLY_JSON_INLINE
#else
#define FLOPTALLY_JSON_NAMESPACE header_only
#define FLOPTALLY_JSON_INLINE inline
#endif
