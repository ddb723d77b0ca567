// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

/// @file
/// The switch of mutants, which mutate.py includes before each header of the core: `on(7)` where the program runs as
/// its seventh mutant. One program holds them all.

namespace floptally_mutants {

extern const int active;         ///< as the environment says; 0 is the library as it is
extern unsigned char reached[];  ///< mutants whose place was run

/// True where the program runs as that mutant. What the compiler computes is never changed, but where one mutant is
/// compiled alone.
constexpr bool on(int mutant) {
#ifdef FLOPTALLY_MUTANT
    return mutant == FLOPTALLY_MUTANT;
#else
    if (std::is_constant_evaluated()) {
        return false;
    }
    reached[mutant] = 1;
    return active == mutant;
#endif
}

}  // namespace floptally_mutants
