// SPDX-License-Identifier: Apache-2.0
#include <floptally/statistics/mask.hpp>

// A real number in place of the tokens of a mask or of the side of a unit: it would be cut.
#ifndef INVALID
constexpr auto number = 2;
#else
constexpr auto number = 2.5;
#endif

int main() {
#if !defined(INVALID) || INVALID == 1
    constexpr floptally::mask attends = floptally::mask::chunked(number);
#elif INVALID == 2
    constexpr floptally::mask attends = floptally::mask::sliding_window(number);
#elif INVALID == 3
    constexpr floptally::statistic attends = floptally::unit::merged_patches(number);
#else
    constexpr floptally::statistic attends = floptally::make_statistic<floptally::mask_statistics::top_k>(number);
#endif
    return attends.is_measured() ? 1 : 0;
}
