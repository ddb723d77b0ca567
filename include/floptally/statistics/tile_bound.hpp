// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/detail/checked.hpp>
#include <floptally/detail/seen_keys.hpp>
#include <floptally/error.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistics/rule.hpp>

namespace floptally {

/// The pairs that a kernel computes which skips tiles without an attended pair and computes all others whole, those
/// over the edges too: tiles of `block_rows` queries, from the first query on, by `block_keys` keys. With 1 x 1 it is
/// `mask::pairs`; what is above that is work for nothing, which neither MFU nor HFU counts.
///
/// Takes one step for each row of tiles. A rule that does not say which keys a query sees (top-k: the data choose)
/// has no tiles: an error.
[[nodiscard]] constexpr std::uint64_t executed_pairs(const rule& attends, const sequence& s, std::uint64_t block_rows,
                                                     std::uint64_t block_keys) {
    require_positive(block_rows, "block_rows");
    require_positive(block_keys, "block_keys");
    const bool other_side = attends.is_of_other_side();
    const std::uint64_t first = other_side ? 0 : s.past;
    const std::uint64_t end = other_side ? s.keys : std::uint64_t{s.past} + s.length;
    std::uint64_t tiles = 0;
    for (std::uint64_t row = first; row < end;) {
        const std::uint64_t next = end - row > block_rows ? row + block_rows : end;
        detail::seen_keys keys;
        attends.add_keys(s, row, next, keys);
        tiles += keys.blocks(block_keys);
        row = next;
    }
    const std::uint64_t area = tiles == 0 ? 0 : checked_multiply(block_rows, block_keys, "executed_pairs");
    return checked_multiply(tiles, area, "executed_pairs");
}

}  // namespace floptally
