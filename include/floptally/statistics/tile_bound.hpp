// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/detail/bounded_vector.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/hstu_pairs.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/sequence.hpp>

namespace floptally {

namespace detail {

/// Keys first … end − 1.
struct key_span {
    std::uint64_t first = 0;
    std::uint64_t end = 0;

    [[nodiscard]] friend constexpr bool operator==(const key_span&, const key_span&) = default;
};

/// What some rows that follow each other see, together: a few spans without gaps, which may overlap.
class seen_keys {
  public:
    constexpr void add(std::uint64_t first, std::uint64_t end) {
        if (first >= end) {
            return;
        }
        spans_.push_back({first, end}, "spans");
        for (std::size_t i = spans_.size() - 1; i > 0 && spans_[i - 1].first > first; --i) {
            spans_[i] = spans_[i - 1];
            spans_[i - 1] = {first, end};
        }
    }

    /// How many of the blocks that start at multiples of `block` hold a key.
    [[nodiscard]] constexpr std::uint64_t blocks(std::uint64_t block) const {
        std::uint64_t touched = 0;
        std::uint64_t counted = 0;  // blocks before this one are
        for (const key_span& span : spans_) {
            const std::uint64_t end = (span.end - 1) / block + 1;
            const std::uint64_t first = span.first / block;
            const std::uint64_t from = first < counted ? counted : first;
            touched += end > from ? end - from : 0;
            counted = end > counted ? end : counted;
        }
        return touched;
    }

  private:
    bounded_vector<key_span, 8> spans_;  // by their first key
};

/// A position less a distance; 0 where there is none.
[[nodiscard]] constexpr std::uint64_t back(std::uint64_t from, std::uint64_t by) { return from > by ? from - by : 0; }

/// Rows a … b − 1 under an HSTU mask.
constexpr void add_hstu_keys(const mask& m, const hstu_layout& whole, std::uint64_t a, std::uint64_t b,
                             seen_keys& keys) {
    const hstu_layout from = whole.first(a);
    const hstu_layout to = whole.first(b);
    const std::uint64_t seen = whole.seen();
    const bool causal = (m.flags() & hstu_bidirectional) == 0;
    const bool limited = m.first() >= 0;
    const auto w = limited ? static_cast<std::uint64_t>(m.first()) : 0;
    if (from.context < to.context || (!causal && from.history < to.history)) {
        keys.add(0, seen);
    }
    if (from.history < to.history && causal) {
        const std::uint64_t full = limited ? back(whole.history, static_cast<std::uint64_t>(m.second())) : 0;
        if (to.history > full) {
            keys.add(0, whole.context + to.history);
        }
        if (from.history < full) {
            keys.add(whole.context + back(from.history, w), whole.context + smaller(to.history, full));
            keys.add(0, from.history < w ? whole.context : 0);
        }
    }
    if (from.targets < to.targets) {
        const bool near = (m.flags() & hstu_windowed_targets) != 0;
        const std::uint64_t group = from.targets - from.targets % whole.group;
        const std::uint64_t own = near ? back(from.targets, w) : 0;
        keys.add(seen + (own > group ? own : group), seen + to.targets);
        if (near) {
            keys.add(seen - smaller(back(w, from.targets), whole.history), seen);
            keys.add(0, back(w, whole.history) > from.targets ? whole.context : 0);
        } else {
            keys.add(0, seen);
        }
    }
}

/// What queries at positions a … b − 1 see.
[[nodiscard]] constexpr seen_keys keys_of_rows(const mask& m, const sequence& s, std::uint64_t a, std::uint64_t b) {
    const std::uint64_t end = std::uint64_t{s.past} + s.length;
    const auto parameter = static_cast<std::uint64_t>(m.first());
    seen_keys keys;
    switch (m.kind()) {
        case mask_kind::band: {
            const std::uint64_t after = m.second() < 0 ? end : b + static_cast<std::uint64_t>(m.second());
            keys.add(m.first() < 0 ? 0 : back(a, parameter), smaller(after, end));
            break;
        }
        case mask_kind::chunked:
            keys.add(a - a % parameter, b);
            break;
        case mask_kind::compressed_keys:
            keys.add(0, b / parameter);
            break;
        case mask_kind::prefix_lm:
            keys.add(0, parameter > b ? smaller(parameter, end) : b);
            break;
        case mask_kind::cross_attention:
        case mask_kind::encoder:
            keys.add(0, s.keys);
            break;
        case mask_kind::hstu:
            add_hstu_keys(m, hstu_layout(s, (m.flags() & hstu_without_context) == 0), a, b, keys);
            break;
        default:
            throw error("mask", m.name() + " says how many keys a query sees, not which");
    }
    return keys;
}

}  // namespace detail

/// The pairs that a kernel computes which skips tiles without an attended pair and computes all others whole, those
/// over the edges too: tiles of `block_rows` queries, from the first query on, by `block_keys` keys. With 1 x 1 it is
/// `mask::pairs`; what is above that is work for nothing, which neither MFU nor HFU counts.
///
/// Takes one step for each row of tiles. A mask whose keys the data choose (top-k) has no tiles: an error.
[[nodiscard]] constexpr std::uint64_t executed_pairs(const mask& attends, const sequence& s, std::uint64_t block_rows,
                                                     std::uint64_t block_keys) {
    require_positive(block_rows, "block_rows");
    require_positive(block_keys, "block_keys");
    const bool other_side = attends.kind() == mask_kind::encoder;
    const std::uint64_t first = other_side ? 0 : s.past;
    const std::uint64_t end = other_side ? s.keys : std::uint64_t{s.past} + s.length;
    std::uint64_t tiles = 0;
    for (std::uint64_t row = first; row < end;) {
        const std::uint64_t next = end - row > block_rows ? row + block_rows : end;
        tiles += detail::keys_of_rows(attends, s, row, next).blocks(block_keys);
        row = next;
    }
    const std::uint64_t area = tiles == 0 ? 0 : checked_multiply(block_rows, block_keys, "executed_pairs");
    return checked_multiply(tiles, area, "executed_pairs");
}

}  // namespace floptally
