// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/statistics/seen_keys.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `executed_pairs`: the pairs that a kernel computes if it skips empty tiles.

namespace floptally::inline v0_3 {

/// Returns the number of pairs that a kernel computes if it skips tiles without an attended pair. All other tiles are
/// computed completely, even where they extend beyond the sequence. A tile is `block_rows` queries by `block_keys`
/// keys, and the first tile starts at the first query. With 1 x 1 tiles the result is `mask::pairs`. Pairs in excess of
/// `mask::pairs` are wasted work. Neither MFU nor HFU counts them.
///
/// The run time of `executed_pairs` is proportional to the number of tiles along the queries. Throws `error` for a
/// statistic that cannot list the keys of a query. An example is top-k, because its keys depend on the data. Throws
/// `overflow` above 64 bits.
[[nodiscard]] constexpr std::uint64_t executed_pairs(const statistic& mask, const sequence& s, std::uint64_t block_rows,
                                                     std::uint64_t block_keys) {
    require_positive(block_rows, "block_rows");
    require_positive(block_keys, "block_keys");
    const bool other_side = mask.is_of_other_side();
    const std::uint64_t first = other_side ? 0 : s.past;
    const std::uint64_t end = other_side ? s.keys : std::uint64_t{s.past} + s.length;
    std::uint64_t tiles = 0;
    seen_keys keys;
    for (std::uint64_t row = first; row < end;) {
        const std::uint64_t next = row + detail::smaller(end - row, block_rows);
        keys.clear();
        mask.add_keys(s, row, next, keys);
        tiles += keys.blocks(block_keys);
        row = next;
    }
    if (tiles == 0) {
        return 0;
    }
    return tiles * (checked(block_rows, "executed_pairs") * block_keys);
}

}  // namespace floptally
