// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/seen_keys.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `executed_pairs`: the pairs that a kernel which skips empty tiles computes.

namespace floptally {

/// The pairs that a kernel computes when it skips tiles without an attended pair and computes all others whole, also
/// those over the edges. Tiles are `block_rows` queries, from the first query on, by `block_keys` keys. With 1 x 1 it
/// is `mask::pairs`; the pairs above that are wasted work, which neither MFU nor HFU counts.
///
/// Takes one step for each row of tiles. A rule that does not say which keys a query sees (top-k: the data choose) has
/// no tiles: `error`. `overflow` above 64 bits.
[[nodiscard]] constexpr std::uint64_t executed_pairs(const rule& attends, const sequence& s, std::uint64_t block_rows,
                                                     std::uint64_t block_keys) {
    require_positive(block_rows, "block_rows");
    require_positive(block_keys, "block_keys");
    const bool other_side = attends.is_of_other_side();
    const std::uint64_t first = other_side ? 0 : s.past;
    const std::uint64_t end = other_side ? s.keys : std::uint64_t{s.past} + s.length;
    std::uint64_t tiles = 0;
    detail::seen_keys keys;
    for (std::uint64_t row = first; row < end;) {
        const std::uint64_t next = row + detail::smaller(end - row, block_rows);
        keys.clear();
        attends.add_keys(s, row, next, keys);
        tiles += keys.blocks(block_keys);
        row = next;
    }
    if (tiles == 0) {
        return 0;
    }
    return tiles * (checked(block_rows, "executed_pairs") * block_keys);
}

}  // namespace floptally
