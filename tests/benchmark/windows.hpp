// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>

/// The masks of a model with so many different windows.
inline floptally::mask_set windows(std::int64_t count) {
    floptally::mask_set masks;
    for (std::int64_t i = 0; i < count; ++i) {
        masks.find_or_add(floptally::mask::sliding_window(std::int64_t{512} << i), "masks");
    }
    return masks;
}
