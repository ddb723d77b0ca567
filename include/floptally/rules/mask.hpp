// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/rules/clip_rules.hpp>
#include <floptally/rules/detail/rule_call.hpp>
#include <floptally/rules/grid_masks.hpp>
#include <floptally/rules/grid_units.hpp>
#include <floptally/rules/hstu_mask.hpp>
#include <floptally/rules/hstu_rules.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/other_side_masks.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/sparse_masks.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/rules/table_of.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `mask`: the library's masks of attention by name, such as `mask::sliding_window(4096)`.

namespace floptally {

/// Makes a rule of a struct from the numbers of its text form; a number out of its range is an `error` that names it.
template <statistic_rule Rule, whole_number... Numbers>
[[nodiscard]] constexpr rule make_rule(Numbers... numbers) {
    static_assert(sizeof...(numbers) == detail::text_parameters<Rule>, "one number for each parameter of the rule");
    const rule_parameter* next = detail::named_parameters<Rule>;
    const std::int64_t values[sizeof...(numbers) + 1]{detail::in_range(*next++, numbers)...};
    return {detail::table_of<Rule>, detail::words_of(detail::table_of<Rule>, values)};
}

/// The mask of an attention: a rule that counts the (query, key) pairs that it attends. Its functions make the
/// library's masks; a struct of one's own is as good (`statistic_rule`). A wrong number is an `error` that names it,
/// and a real number does not compile. The functions are templates over the types of their numbers, so that a program
/// compiles only the tables of the masks that it uses. Units, such as patches and frames, are made in `unit`, beside
/// their structs.
class mask : public rule {
  public:
    /// The causal mask, which is the default.
    constexpr mask() = default;
    constexpr mask(const rule& made) : rule(made) {}  // NOLINT(google-explicit-constructor)
    template <statistic_rule Rule>
    constexpr mask(const Rule& made) : rule(made) {}  // NOLINT(google-explicit-constructor)
    template <detail::fails_as_rule T>
    constexpr mask(const T& made) : rule(made) {}  // NOLINT(google-explicit-constructor): says what to mend

    /// Every query sees every key: L².
    [[nodiscard]] static constexpr mask bidirectional() { return mask_rules::band{-1, -1}; }
    /// A query sees itself and the keys before it: L(L+1)/2.
    [[nodiscard]] static constexpr mask causal() { return mask_rules::band{}; }
    /// Causal over the last `tokens` tokens; the window counts the query's own token, as Hugging Face's
    /// `sliding_window`.
    [[nodiscard]] static constexpr mask sliding_window(whole_number auto tokens) {
        return mask_rules::band{detail::in_range({"sliding_window", 1}, tokens) - 1, 0};
    }
    /// A query sees `left` keys before it, `right` after it, and its own; −1 is unlimited.
    [[nodiscard]] static constexpr mask window(whole_number auto left, whole_number auto right) {
        return detail::from_numbers<mask_rules::band>(left, right);
    }
    /// Causal within consecutive chunks of `tokens` tokens.
    [[nodiscard]] static constexpr mask chunked(whole_number auto tokens) {
        return detail::from_numbers<mask_rules::chunked>(tokens);
    }
    /// Causal over the `keys` best keys only, which the data choose.
    [[nodiscard]] static constexpr mask top_k(whole_number auto keys) {
        return detail::from_numbers<mask_rules::top_k>(keys);
    }
    /// Causal over compressed keys: each complete block of `ratio` tokens is one key.
    [[nodiscard]] static constexpr mask compressed_keys(whole_number auto ratio) {
        return detail::from_numbers<mask_rules::compressed_keys>(ratio);
    }
    /// Causal over the `keys` best of the compressed keys, each of `ratio` tokens.
    [[nodiscard]] static constexpr mask best_compressed_keys(whole_number auto ratio, whole_number auto keys) {
        return detail::from_numbers<mask_rules::best_compressed_keys>(ratio, keys);
    }
    /// Causal over the `blocks` best blocks of `block` keys, the query's own among them.
    [[nodiscard]] static constexpr mask best_blocks(whole_number auto block, whole_number auto blocks) {
        return detail::from_numbers<mask_rules::best_blocks>(block, blocks);
    }
    /// Causal over the `pools` best pools of `pool` keys, and the keys after the last whole pool.
    [[nodiscard]] static constexpr mask best_pools(whole_number auto pool, whole_number auto pools) {
        return detail::from_numbers<mask_rules::best_pools>(pool, pools);
    }
    /// Every query sees every token of the other side: q·k.
    [[nodiscard]] static constexpr mask cross_attention() { return mask_rules::cross_attention{}; }
    /// Every token of the other side sees every other: k².
    [[nodiscard]] static constexpr mask encoder() { return mask_rules::encoder{}; }
    /// Every token of the other side sees `left` tokens before it and `right` after it; −1 is unlimited.
    [[nodiscard]] static constexpr mask encoder_window(whole_number auto left, whole_number auto right) {
        return detail::from_numbers<mask_rules::encoder_window>(left, right);
    }
    /// Causal, but the first `tokens` keys are seen by every query.
    [[nodiscard]] static constexpr mask prefix_lm(whole_number auto tokens) {
        return detail::from_numbers<mask_rules::prefix_lm>(tokens);
    }
    /// L·min(L, W): rows times columns of a product with a table of positions.
    [[nodiscard]] static constexpr mask box(whole_number auto tokens) {
        return detail::from_numbers<mask_rules::box>(tokens);
    }

    /// The mask of an HSTU layer: contextual rows, history and targets.
    [[nodiscard]] static constexpr mask hstu(const hstu_mask& which = {}) {
        static_cast<void>(detail::in_range({"max_attn_len", 0}, which.max_attn_len));
        static_cast<void>(detail::in_range({"min_full_attn_seq_len", 0}, which.min_full_attn_seq_len));
        return mask_rules::hstu::of(which);
    }

    /// Every patch sees its window of `patches` x `patches` of its frame; the first window of each axis ends after
    /// `shift` patches, where that is above 0.
    template <whole_number Patches, whole_number Shift = int>
    [[nodiscard]] static constexpr mask grid_windows(Patches patches, Shift shift = 0) {
        return detail::from_numbers<mask_rules::grid_windows>(patches, shift);
    }
    /// Every patch of a clip of video sees every other, of all frames, with `prefix` tokens of each frame besides.
    template <whole_number Prefix = int>
    [[nodiscard]] static constexpr mask clip_squares(Prefix prefix = 0) {
        return detail::from_numbers<mask_rules::clip_squares>(prefix);
    }
    /// The pairs that tokens of an image see besides a causal mask, or besides a sliding window.
    template <whole_number Side, whole_number Window = int>
    [[nodiscard]] static constexpr mask later_image_tokens(Side side, Window window = -1) {
        return detail::from_numbers<mask_rules::later_image_tokens>(side, window);
    }
    /// The pairs of `strided_frames` that all see each other, or that do so within windows.
    template <whole_number Field, whole_number Stride, whole_number Chunk = int, whole_number Window = int>
    [[nodiscard]] static constexpr mask strided_squares(Field field, Stride stride, Chunk chunk = 0,
                                                        Window window = 0) {
        return detail::from_numbers<mask_rules::strided_squares>(field, stride, chunk, window);
    }
    /// `up` frames for each of `strided_frames`, each of which sees `left` before it and `right` after it; −1 is
    /// unlimited.
    template <whole_number Up = int>
    [[nodiscard]] static constexpr mask strided_band(whole_number auto field, whole_number auto stride,
                                                     whole_number auto left, whole_number auto right, Up up = 1) {
        return detail::from_numbers<mask_rules::strided_band>(field, stride, left, right, up);
    }
    /// `grid_windows` of the cells that `level` halvings leave.
    [[nodiscard]] static constexpr mask level_windows(whole_number auto cells, whole_number auto level, bool shifted,
                                                      bool shrinking) {
        return detail::from_numbers<mask_rules::level_windows>(cells, level, shifted ? 1 : 0, shrinking ? 1 : 0);
    }
    /// The pairs of cells after convolutions with all cells that further convolutions leave.
    [[nodiscard]] static constexpr mask reduced_pairs(whole_number auto field, whole_number auto stride,
                                                      whole_number auto keys_field, whole_number auto keys_stride) {
        return detail::from_numbers<mask_rules::reduced_pairs>(keys_field, keys_stride, field, stride);
    }
    /// Every patch with the rows and the columns of its window, or of its frame where `patches` is 0.
    template <whole_number Patches = int>
    [[nodiscard]] static constexpr mask window_lines(Patches patches = 0) {
        return detail::from_numbers<mask_rules::window_lines>(patches);
    }
    /// Every patch sees those at its place in all frames.
    [[nodiscard]] static constexpr mask across_frames() { return mask_rules::across_frames{}; }
    /// `listed_units`, each of which sees every patch of its frame.
    [[nodiscard]] static constexpr mask listed_pairs(whole_number auto patches, whole_number auto units,
                                                     whole_number auto other_patches, whole_number auto other_units) {
        return detail::from_numbers<mask_rules::listed_pairs>(patches, units, other_patches, other_units);
    }

    /// Each token of a grid of latents sees every other that it reaches.
    [[nodiscard]] static constexpr mask latent_pairs(const latent_patches& made = {},
                                                     latent_reach reach = latent_reach::sample) {
        return detail::from_numbers<mask_rules::latent_pairs>(made.side, made.frames, made.multiple, made.prefix,
                                                              made.filled ? 1 : 0, static_cast<int>(reach));
    }
    /// Each token of some streams of a sample, its grid's and its text's, sees every token of some: joint attention.
    [[nodiscard]] static constexpr mask joint_pairs(const latent_patches& made = {},
                                                    token_stream queries = token_stream::joint,
                                                    token_stream keys = token_stream::joint) {
        return detail::from_numbers<mask_rules::joint_pairs>(made.side, made.frames, made.multiple, made.prefix,
                                                             made.filled ? 1 : 0, static_cast<int>(queries),
                                                             static_cast<int>(keys));
    }

    /// The cells that convolutions and samplers leave see each other, as far as they reach.
    [[nodiscard]] static constexpr mask level_pairs(const resampling& space, const resampling& time = {},
                                                    level_reach reach = level_reach::sample) {
        return detail::from_numbers<mask_rules::level_pairs>(space.field, space.stride, space.up, space.add, time.field,
                                                             time.stride, time.up, time.add, static_cast<int>(reach));
    }

    using rule::in;
    /// This mask over the samples of another modality; a modality that it does not count is `error`.
    [[nodiscard]] constexpr mask in(modality which) const { return rule::in(which); }
    /// The mask that a band is among the tokens of the other side; another mask has no form there: `error`.
    [[nodiscard]] constexpr mask on_encoder() const {
        if (!is<mask_rules::band>()) {
            detail::refuse("masks", {name(), " has no form on an encoder's side: only bidirectional and windows"});
        }
        const mask_rules::band& own = as<mask_rules::band>();
        return own.left < 0 && own.right < 0 ? encoder() : encoder_window(own.left, own.right);
    }
};

}  // namespace floptally
