// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// @file
/// `hstu_mask`: the options of the attention mask of an HSTU layer. `hstu_rows`: a part of the rows of an HSTU
/// sequence.

namespace floptally::inline v0_3 {

/// The mask of an HSTU layer over a sequence [contextual c | history h | targets t] with groups of g targets.
///
/// In an HSTU mask, a contextual row attends to the whole context and history. Row i of the history (from 0) attends to
/// the context and to i + 1 rows of the history. A target attends to the whole context and history, to itself and to
/// the earlier targets of its group. The members are named as in recsys-examples and generative-recommenders.
///
/// The causal mask of generative-recommenders (`_get_valid_attn_mask` of its PyTorch operators) has groups of one
/// target. To describe it with a max_attn_len and several targets in a sequence, set `targets_share_place = true`. With
/// a min_full_attn_seq_len, also set `windowed_targets = false`, because in that mask the rows without a limit end with
/// the targets. Without a max_attn_len, or with at most one target in each sequence, set neither.
///
/// The non-causal mask of generative-recommenders cannot be expressed as an `hstu_mask`, because its history and
/// context also attend to the targets.
struct hstu_mask {
    /// False: every row attends to the whole context and history, and a target also to its group.
    bool is_causal = true;
    bool contextual = true;  ///< false: contextual rows count as rows of the history
    /// The largest number of earlier keys to which a row attends; 0 means no limit. For this limit, the whole context
    /// counts as one position before the history. Contextual rows have no limit.
    std::int64_t max_attn_len = 0;
    std::int64_t min_full_attn_seq_len = 0;  ///< number of rows at the end of the history that max_attn_len does not
                                             ///< limit
    bool windowed_targets = true;            ///< false: max_attn_len does not limit targets
    /// True: all targets have the same position right after the history, so that the limit is the same for all. False:
    /// targets have consecutive positions, so that each reaches one key less of the history than the previous target.
    bool targets_share_place = false;

    [[nodiscard]] friend constexpr bool operator==(const hstu_mask&, const hstu_mask&) = default;
};

/// A part of the rows of an HSTU sequence, or all of them. Items are history and targets.
enum class hstu_rows : std::uint8_t { all, context, items, history, targets };

}  // namespace floptally
