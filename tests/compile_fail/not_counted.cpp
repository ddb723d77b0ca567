// SPDX-License-Identifier: Apache-2.0
#include <floptally/statistics/mask.hpp>

// A statistic that a constant asks for samples that it does not count.
#ifdef INVALID
constexpr auto in = floptally::modality::text;
#else
constexpr auto in = floptally::modality::vision;
#endif
constexpr floptally::mask merged = floptally::statistic(floptally::unit::merged_patches(2)).in(in);

int main() { return merged.is_measured() ? 1 : 0; }
