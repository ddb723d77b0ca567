// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/detail/rule_table.hpp>
#include <floptally/model/hstu_mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/statistics/clip_rules.hpp>
#include <floptally/statistics/grid_rules.hpp>
#include <floptally/statistics/hstu_rules.hpp>
#include <floptally/statistics/listed_rules.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic_rule.hpp>

namespace floptally {

/// A rule of a struct from the numbers of its text form, each in its range or an error that names it.
template <statistic_rule Rule, class... Numbers>
[[nodiscard]] constexpr rule make_rule(Numbers... numbers) {
    static_assert(sizeof...(numbers) == detail::text_parameters<Rule>, "one number for each parameter of the rule");
    const std::int64_t values[sizeof...(numbers) + 1]{static_cast<std::int64_t>(numbers)...};
    return {detail::table_of<Rule>, detail::words_of(detail::table_of<Rule>, values)};
}

/// Which keys a query attends: a rule whose count are (query, key) pairs. These are the library's; a struct of one's
/// own is as good (`statistic_rule`).
class mask : public rule {
  public:
    /// Causal: the default.
    constexpr mask() = default;
    constexpr mask(const rule& made) : rule(made) {}  // NOLINT(google-explicit-constructor)
    template <statistic_rule Rule>
    constexpr mask(const Rule& made) : rule(made) {}  // NOLINT(google-explicit-constructor)
    template <detail::fails_as_rule T>
    constexpr mask(const T& made) : rule(made) {}  // NOLINT(google-explicit-constructor): says what to mend

    /// Every query sees every key: L².
    [[nodiscard]] static constexpr mask bidirectional() { return mask_rules::band{-1, -1}; }
    /// A query sees itself and what came before: L(L+1)/2.
    [[nodiscard]] static constexpr mask causal() { return mask_rules::band{}; }
    /// Causal, over the last `tokens` tokens; the window counts the token itself, as Hugging Face's `sliding_window`.
    [[nodiscard]] static constexpr mask sliding_window(std::int64_t tokens) {
        return mask_rules::band{detail::in_range({"sliding_window", 1}, tokens) - 1, 0};
    }
    /// `left` keys before the query and `right` after it, besides its own; −1 is unlimited.
    [[nodiscard]] static constexpr mask window(std::int64_t left, std::int64_t right) {
        return make_rule<mask_rules::band>(left, right);
    }
    /// Causal within consecutive chunks of `tokens` tokens.
    [[nodiscard]] static constexpr mask chunked(std::int64_t tokens) { return make_rule<mask_rules::chunked>(tokens); }
    /// Causal, over the `keys` best keys only.
    [[nodiscard]] static constexpr mask top_k(std::int64_t keys) { return make_rule<mask_rules::top_k>(keys); }
    /// Causal over compressed keys: each complete block of `ratio` tokens is one key.
    [[nodiscard]] static constexpr mask compressed_keys(std::int64_t ratio) {
        return make_rule<mask_rules::compressed_keys>(ratio);
    }
    /// The `keys` best of compressed keys of `ratio` tokens.
    [[nodiscard]] static constexpr mask best_compressed_keys(std::int64_t ratio, std::int64_t keys) {
        return make_rule<mask_rules::best_compressed_keys>(ratio, keys);
    }
    /// The `blocks` best blocks of `block` keys, the query's own among them.
    [[nodiscard]] static constexpr mask best_blocks(std::int64_t block, std::int64_t blocks) {
        return make_rule<mask_rules::best_blocks>(block, blocks);
    }
    /// The `pools` best pools of `pool` keys, and the keys behind the last whole pool.
    [[nodiscard]] static constexpr mask best_pools(std::int64_t pool, std::int64_t pools) {
        return make_rule<mask_rules::best_pools>(pool, pools);
    }
    /// Every query sees every token of the other side: q·k.
    [[nodiscard]] static constexpr mask cross_attention() { return mask_rules::cross_attention{}; }
    /// Every token of the other side sees every other: k².
    [[nodiscard]] static constexpr mask encoder() { return mask_rules::encoder{}; }
    /// Every token of the other side sees `left` before it and `right` behind it (−1: all).
    [[nodiscard]] static constexpr mask encoder_window(std::int64_t left, std::int64_t right) {
        return make_rule<mask_rules::encoder_window>(left, right);
    }
    /// Causal, but the first `tokens` keys are seen by every query.
    [[nodiscard]] static constexpr mask prefix_lm(std::int64_t tokens) {
        return make_rule<mask_rules::prefix_lm>(tokens);
    }
    /// L·min(L, W): rows times columns of a product with a table of positions.
    [[nodiscard]] static constexpr mask box(std::int64_t tokens) { return make_rule<mask_rules::box>(tokens); }

    /// Contextual rows, history and targets.
    [[nodiscard]] static constexpr mask hstu(const hstu_mask& which = {}) {
        static_cast<void>(detail::in_range({"max_attn_len", 0}, which.max_attn_len));
        static_cast<void>(detail::in_range({"min_full_attn_seq_len", 0}, which.min_full_attn_seq_len));
        return mask_rules::hstu::of(which);
    }
    /// Rows of one part of a sequence, of every `stride` the first.
    [[nodiscard]] static constexpr mask hstu_part(hstu_rows part, std::int64_t stride = 1) {
        return make_rule<unit_rules::hstu_part>(static_cast<int>(part), stride);
    }

    /// Within windows of `patches` x `patches` of a frame; the first of each axis ends after `shift`, if above 0.
    [[nodiscard]] static constexpr mask grid_windows(std::int64_t patches, std::int64_t shift = 0) {
        return make_rule<mask_rules::grid_windows>(patches, shift);
    }
    /// Every patch of a clip sees every other, of all frames, with `prefix` tokens of each frame besides.
    [[nodiscard]] static constexpr mask clip_squares(std::int64_t prefix = 0) {
        return make_rule<mask_rules::clip_squares>(prefix);
    }
    /// Patches after `side` x `side` of them were merged into one, and `line_ends` more for each line of them.
    [[nodiscard]] static constexpr mask merged_patches(std::int64_t side, std::int64_t line_ends = 0) {
        return make_rule<unit_rules::merged_patches>(side, line_ends);
    }
    /// The same after the frames of a clip were pooled into one.
    [[nodiscard]] static constexpr mask pooled_patches(std::int64_t side) {
        return make_rule<unit_rules::pooled_patches>(side);
    }
    /// 1 for a grid, however many frames it has.
    [[nodiscard]] static constexpr mask clips() { return unit_rules::clips{}; }
    /// Merged patches of every second frame, with whose patches those of the frame behind it go.
    [[nodiscard]] static constexpr mask merged_pairs(std::int64_t side) {
        return make_rule<unit_rules::merged_pairs>(side);
    }
    /// Merged patches that see each other within their frame.
    [[nodiscard]] static constexpr mask merged_squares(std::int64_t side) {
        return make_rule<unit_rules::merged_squares>(side);
    }
    /// Patches, of which `side` x `side` are pooled into one in clips of several frames.
    [[nodiscard]] static constexpr mask pooled_clips(std::int64_t side) {
        return make_rule<unit_rules::pooled_clips>(side);
    }
    /// What tokens of an image see of each other besides a causal mask, or one with a window.
    [[nodiscard]] static constexpr mask later_image_tokens(std::int64_t side, std::int64_t window = -1) {
        return make_rule<mask_rules::later_image_tokens>(side, window);
    }
    /// What is left of the frames of a clip of sound after convolutions.
    [[nodiscard]] static constexpr mask strided_frames(std::int64_t field, std::int64_t stride,
                                                       std::int64_t chunk = 0) {
        return make_rule<unit_rules::strided_frames>(field, stride, chunk);
    }
    /// The square of that, or the pairs within windows of them.
    [[nodiscard]] static constexpr mask strided_squares(std::int64_t field, std::int64_t stride, std::int64_t chunk = 0,
                                                        std::int64_t window = 0) {
        return make_rule<mask_rules::strided_squares>(field, stride, chunk, window);
    }
    /// The same frames, each of which sees `left` before it and `right` behind it; -1: all.
    [[nodiscard]] static constexpr mask strided_band(std::int64_t field, std::int64_t stride, std::int64_t left,
                                                     std::int64_t right) {
        return make_rule<mask_rules::strided_band>(field, stride, left, right);
    }
    /// Cells after convolutions.
    [[nodiscard]] static constexpr mask strided_cells(std::int64_t field, std::int64_t stride) {
        return make_rule<unit_rules::strided_cells>(field, stride);
    }
    /// `grid_windows` of the cells after `level` halvings.
    [[nodiscard]] static constexpr mask level_windows(std::int64_t cells, std::int64_t level, bool shifted,
                                                      bool shrinking) {
        return make_rule<mask_rules::level_windows>(cells, level, shifted ? 1 : 0, shrinking ? 1 : 0);
    }
    /// Cells after convolutions, each of which sees all cells that more of them leave.
    [[nodiscard]] static constexpr mask reduced_pairs(std::int64_t field, std::int64_t stride, std::int64_t keys_field,
                                                      std::int64_t keys_stride) {
        return make_rule<mask_rules::reduced_pairs>(keys_field, keys_stride, field, stride);
    }
    /// Rows and columns of windows, or of a frame.
    [[nodiscard]] static constexpr mask window_lines(std::int64_t patches = 0) {
        return make_rule<mask_rules::window_lines>(patches);
    }
    /// Patches at one place of all frames.
    [[nodiscard]] static constexpr mask across_frames() { return make_rule<mask_rules::across_frames>(); }
    /// So many units of a frame of so many patches, by a table of two; another frame is an error.
    [[nodiscard]] static constexpr mask listed_units(std::int64_t patches, std::int64_t units,
                                                     std::int64_t other_patches, std::int64_t other_units) {
        return make_rule<unit_rules::listed_units>(patches, units, other_patches, other_units);
    }
    /// Each of these with every patch of its frame.
    [[nodiscard]] static constexpr mask listed_pairs(std::int64_t patches, std::int64_t units,
                                                     std::int64_t other_patches, std::int64_t other_units) {
        return make_rule<mask_rules::listed_pairs>(patches, units, other_patches, other_units);
    }
    /// What is left of a frame's patches where a share of them, in parts per million, is left out at random.
    [[nodiscard]] static constexpr mask kept_patches(std::int64_t millionths, std::int64_t prefix) {
        return make_rule<unit_rules::kept_patches>(millionths, prefix);
    }
    /// The square of that.
    [[nodiscard]] static constexpr mask kept_squares(std::int64_t millionths, std::int64_t prefix) {
        return make_rule<unit_rules::kept_squares>(millionths, prefix);
    }

    using rule::in;
    [[nodiscard]] constexpr mask in(modality which) const { return rule::in(which); }
    /// What a band is among the tokens of the other side; another mask has no form there.
    [[nodiscard]] constexpr mask on_encoder() const {
        if (!is<mask_rules::band>()) {
            throw error("masks", name() + " has no form on an encoder's side: only bidirectional and windows");
        }
        const mask_rules::band& own = as<mask_rules::band>();
        return own.left < 0 && own.right < 0 ? encoder() : encoder_window(own.left, own.right);
    }
};

}  // namespace floptally
