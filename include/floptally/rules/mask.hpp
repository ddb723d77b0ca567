// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/rules/clip_rules.hpp>
#include <floptally/rules/grid_rules.hpp>
#include <floptally/rules/hstu_mask.hpp>
#include <floptally/rules/hstu_rules.hpp>
#include <floptally/rules/listed_rules.hpp>
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
/// `mask`: the library's masks by name, such as `mask::sliding_window(4096)`.

namespace floptally {

/// Makes a rule of a struct from the numbers of its text form; a number out of its range is an `error` that names it.
template <statistic_rule Rule, class... Numbers>
[[nodiscard]] constexpr rule make_rule(Numbers... numbers) {
    static_assert(sizeof...(numbers) == detail::text_parameters<Rule>, "one number for each parameter of the rule");
    const std::int64_t values[sizeof...(numbers) + 1]{static_cast<std::int64_t>(numbers)...};
    return {detail::table_of<Rule>, detail::words_of(detail::table_of<Rule>, values)};
}

/// The mask of an attention: a rule that counts the (query, key) pairs that it attends. Its functions make the
/// library's masks, and the rules of units (patches, frames) that towers need; a struct of one's own is as good
/// (`statistic_rule`). A wrong number is an `error` that names it. Most functions are templates so that a program
/// compiles only the tables of the rules that it uses.
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
    [[nodiscard]] static constexpr mask sliding_window(std::int64_t tokens) {
        return mask_rules::band{detail::in_range({"sliding_window", 1}, tokens) - 1, 0};
    }
    /// A query sees `left` keys before it, `right` after it, and its own; −1 is unlimited.
    [[nodiscard]] static constexpr mask window(std::int64_t left, std::int64_t right) {
        return make_rule<mask_rules::band>(left, right);
    }
    /// Causal within consecutive chunks of `tokens` tokens.
    template <class Rule = mask_rules::chunked>
    [[nodiscard]] static constexpr mask chunked(std::int64_t tokens) {
        return of<Rule>({tokens});
    }
    /// Causal over the `keys` best keys only, which the data choose.
    template <class Rule = mask_rules::top_k>
    [[nodiscard]] static constexpr mask top_k(std::int64_t keys) {
        return of<Rule>({keys});
    }
    /// Causal over compressed keys: each complete block of `ratio` tokens is one key.
    template <class Rule = mask_rules::compressed_keys>
    [[nodiscard]] static constexpr mask compressed_keys(std::int64_t ratio) {
        return of<Rule>({ratio});
    }
    /// Causal over the `keys` best of the compressed keys, each of `ratio` tokens.
    template <class Rule = mask_rules::best_compressed_keys>
    [[nodiscard]] static constexpr mask best_compressed_keys(std::int64_t ratio, std::int64_t keys) {
        return of<Rule>({ratio, keys});
    }
    /// Causal over the `blocks` best blocks of `block` keys, the query's own among them.
    template <class Rule = mask_rules::best_blocks>
    [[nodiscard]] static constexpr mask best_blocks(std::int64_t block, std::int64_t blocks) {
        return of<Rule>({block, blocks});
    }
    /// Causal over the `pools` best pools of `pool` keys, and the keys after the last whole pool.
    template <class Rule = mask_rules::best_pools>
    [[nodiscard]] static constexpr mask best_pools(std::int64_t pool, std::int64_t pools) {
        return of<Rule>({pool, pools});
    }
    /// Every query sees every token of the other side: q·k.
    template <class Rule = mask_rules::cross_attention>
    [[nodiscard]] static constexpr mask cross_attention() {
        return Rule{};
    }
    /// Every token of the other side sees every other: k².
    template <class Rule = mask_rules::encoder>
    [[nodiscard]] static constexpr mask encoder() {
        return Rule{};
    }
    /// Every token of the other side sees `left` tokens before it and `right` after it; −1 is unlimited.
    template <class Rule = mask_rules::encoder_window>
    [[nodiscard]] static constexpr mask encoder_window(std::int64_t left, std::int64_t right) {
        return of<Rule>({left, right});
    }
    /// Causal, but the first `tokens` keys are seen by every query.
    template <class Rule = mask_rules::prefix_lm>
    [[nodiscard]] static constexpr mask prefix_lm(std::int64_t tokens) {
        return of<Rule>({tokens});
    }
    /// L·min(L, W): rows times columns of a product with a table of positions.
    template <class Rule = mask_rules::box>
    [[nodiscard]] static constexpr mask box(std::int64_t tokens) {
        return of<Rule>({tokens});
    }

    /// The mask of an HSTU layer: contextual rows, history and targets.
    [[nodiscard]] static constexpr mask hstu(const hstu_mask& which = {}) {
        static_cast<void>(detail::in_range({"max_attn_len", 0}, which.max_attn_len));
        static_cast<void>(detail::in_range({"min_full_attn_seq_len", 0}, which.min_full_attn_seq_len));
        return mask_rules::hstu::of(which);
    }
    /// Rows of one part of an HSTU model's sequence, the first of every `stride`.
    template <class Rule = unit_rules::hstu_part>
    [[nodiscard]] static constexpr mask hstu_part(hstu_rows part, std::int64_t stride = 1) {
        return of<Rule>({static_cast<int>(part), stride});
    }

    /// Every patch sees its window of `patches` x `patches` of its frame; the first window of each axis ends after
    /// `shift` patches, where that is above 0.
    template <class Rule = mask_rules::grid_windows>
    [[nodiscard]] static constexpr mask grid_windows(std::int64_t patches, std::int64_t shift = 0) {
        return of<Rule>({patches, shift});
    }
    /// Every patch of a clip of video sees every other, of all frames, with `prefix` tokens of each frame besides.
    template <class Rule = mask_rules::clip_squares>
    [[nodiscard]] static constexpr mask clip_squares(std::int64_t prefix = 0) {
        return of<Rule>({prefix});
    }
    /// Merged patches, each of `side` x `side`, and `line_ends` more units for each line of them.
    template <class Rule = unit_rules::merged_patches>
    [[nodiscard]] static constexpr mask merged_patches(std::int64_t side, std::int64_t line_ends = 0) {
        return of<Rule>({side, line_ends});
    }
    /// Merged patches, each of `side` x `side`, after the frames of a clip of video were pooled into one.
    template <class Rule = unit_rules::pooled_patches>
    [[nodiscard]] static constexpr mask pooled_patches(std::int64_t side) {
        return of<Rule>({side});
    }
    /// 1 for a grid with patches, however many frames it has.
    template <class Rule = unit_rules::clips>
    [[nodiscard]] static constexpr mask clips() {
        return Rule{};
    }
    /// Merged patches of every second frame, each together with those of the frame after it.
    template <class Rule = unit_rules::merged_pairs>
    [[nodiscard]] static constexpr mask merged_pairs(std::int64_t side) {
        return of<Rule>({side});
    }
    /// Merged patches that see each other within their frame.
    template <class Rule = unit_rules::merged_squares>
    [[nodiscard]] static constexpr mask merged_squares(std::int64_t side) {
        return of<Rule>({side});
    }
    /// Patches; in clips of several frames each `side` x `side` of them are pooled into one.
    template <class Rule = unit_rules::pooled_clips>
    [[nodiscard]] static constexpr mask pooled_clips(std::int64_t side) {
        return of<Rule>({side});
    }
    /// The pairs that tokens of an image see besides a causal mask, or besides a sliding window.
    template <class Rule = mask_rules::later_image_tokens>
    [[nodiscard]] static constexpr mask later_image_tokens(std::int64_t side, std::int64_t window = -1) {
        return of<Rule>({side, window});
    }
    /// Frames that convolutions leave of a clip of sound.
    template <class Rule = unit_rules::strided_frames>
    [[nodiscard]] static constexpr mask strided_frames(std::int64_t field, std::int64_t stride,
                                                       std::int64_t chunk = 0) {
        return of<Rule>({field, stride, chunk});
    }
    /// The pairs of `strided_frames` that all see each other, or that do so within windows.
    template <class Rule = mask_rules::strided_squares>
    [[nodiscard]] static constexpr mask strided_squares(std::int64_t field, std::int64_t stride, std::int64_t chunk = 0,
                                                        std::int64_t window = 0) {
        return of<Rule>({field, stride, chunk, window});
    }
    /// `strided_frames`, each of which sees `left` before it and `right` after it; −1 is unlimited.
    template <class Rule = mask_rules::strided_band>
    [[nodiscard]] static constexpr mask strided_band(std::int64_t field, std::int64_t stride, std::int64_t left,
                                                     std::int64_t right) {
        return of<Rule>({field, stride, left, right});
    }
    /// Cells that convolutions leave of a frame.
    template <class Rule = unit_rules::strided_cells>
    [[nodiscard]] static constexpr mask strided_cells(std::int64_t field, std::int64_t stride) {
        return of<Rule>({field, stride});
    }
    /// `grid_windows` of the cells that `level` halvings leave.
    template <class Rule = mask_rules::level_windows>
    [[nodiscard]] static constexpr mask level_windows(std::int64_t cells, std::int64_t level, bool shifted,
                                                      bool shrinking) {
        return of<Rule>({cells, level, shifted ? 1 : 0, shrinking ? 1 : 0});
    }
    /// The pairs of cells after convolutions with all cells that further convolutions leave.
    template <class Rule = mask_rules::reduced_pairs>
    [[nodiscard]] static constexpr mask reduced_pairs(std::int64_t field, std::int64_t stride, std::int64_t keys_field,
                                                      std::int64_t keys_stride) {
        return of<Rule>({keys_field, keys_stride, field, stride});
    }
    /// Every patch with the rows and the columns of its window, or of its frame where `patches` is 0.
    template <class Rule = mask_rules::window_lines>
    [[nodiscard]] static constexpr mask window_lines(std::int64_t patches = 0) {
        return of<Rule>({patches});
    }
    /// Every patch sees those at its place in all frames.
    template <class Rule = mask_rules::across_frames>
    [[nodiscard]] static constexpr mask across_frames() {
        return Rule{};
    }
    /// Units by a table with two entries, of frames of `patches` or `other_patches` patches; another frame is `error`.
    template <class Rule = unit_rules::listed_units>
    [[nodiscard]] static constexpr mask listed_units(std::int64_t patches, std::int64_t units,
                                                     std::int64_t other_patches, std::int64_t other_units) {
        return of<Rule>({patches, units, other_patches, other_units});
    }
    /// `listed_units`, each of which sees every patch of its frame.
    template <class Rule = mask_rules::listed_pairs>
    [[nodiscard]] static constexpr mask listed_pairs(std::int64_t patches, std::int64_t units,
                                                     std::int64_t other_patches, std::int64_t other_units) {
        return of<Rule>({patches, units, other_patches, other_units});
    }
    /// Patches of a frame that remain where a share of them, in parts per million, is left out at random, and `prefix`
    /// class tokens.
    template <class Rule = unit_rules::kept_patches>
    [[nodiscard]] static constexpr mask kept_patches(std::int64_t millionths, std::int64_t prefix) {
        return of<Rule>({millionths, prefix});
    }
    /// The pairs of `kept_patches`, each of which sees every other.
    template <class Rule = unit_rules::kept_squares>
    [[nodiscard]] static constexpr mask kept_squares(std::int64_t millionths, std::int64_t prefix) {
        return of<Rule>({millionths, prefix});
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

  private:
    /// `make_rule` with an array: a mask from the numbers of its text form.
    template <class Rule, std::size_t N>
    [[nodiscard]] static constexpr mask of(const std::int64_t (&numbers)[N]) {
        static_assert(N == detail::text_parameters<Rule>, "one number for each parameter of the rule");
        return {detail::table_of<Rule>, detail::words_of(detail::table_of<Rule>, numbers)};
    }
    constexpr mask(const detail::rule_table& table, const detail::rule_parameters& words) : rule(table, words) {}
};

}  // namespace floptally
