// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @file
/// `hstu_mask`, the options of what an HSTU layer attends, and `hstu_rows`.

namespace floptally {

/// The mask of an HSTU layer over a sequence [contextual c | history h | targets t] with groups of g targets.
///
/// A contextual row sees all c + h, row i of the history (from 0) the context and i + 1 of the history, a target c + h
/// and, causally, its own group. Names are those of recsys-examples and generative-recommenders.
///
/// The mask of generative-recommenders (`_get_valid_attn_mask` of its PyTorch operators), which is causal and has
/// groups of one target, is this one
/// * without a max_attn_len, and with one where no sequence has more than one target, as it stands;
/// * with one and several targets where `targets_share_place`;
/// * with a min_full_attn_seq_len where besides `windowed_targets` is false: its rows without a limit end with the
///   targets.
/// Its mask that is not causal is none of these: there the history, and the context, see the targets too.
struct hstu_mask {
    bool is_causal = true;   ///< false: every row sees all c + h, a target its group besides
    bool contextual = true;  ///< false: contextual rows are rows of the history as others are
    /// The keys that a row sees before itself, at most; 0 is no limit. All of the context stands in one place, before
    /// the history; contextual rows have no limit.
    std::int64_t max_attn_len = 0;
    std::int64_t min_full_attn_seq_len = 0;  ///< the last rows of the history that have no limit
    bool windowed_targets = true;            ///< false: targets have no limit
    /// True: all targets stand in one place, right after the history, so that the limit leaves each of them the same
    /// keys. False: they stand in a row, each with one key less of the history than the target before it.
    bool targets_share_place = false;

    [[nodiscard]] friend constexpr bool operator==(const hstu_mask&, const hstu_mask&) = default;
};

/// A part of the rows of a sequence of an HSTU model, or all of them; items are history and targets.
enum class hstu_rows : std::uint8_t { all, context, items, history, targets };

}  // namespace floptally
