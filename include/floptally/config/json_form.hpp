// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// `FLOPTALLY_JSON_INLINE` says that what <floptally/json.hpp> declares is inline. Both forms may be in one program, in
/// units of their own: a namespace for each keeps their symbols apart, since one function cannot be inline in some
/// units only.

#ifdef FLOPTALLY_SEPARATE_COMPILATION
#define FLOPTALLY_JSON_NAMESPACE separate
#define FLOPTALLY_JSON_INLINE
#else
#define FLOPTALLY_JSON_NAMESPACE header_only
#define FLOPTALLY_JSON_INLINE inline
#endif
