// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include <floptally/detail/hstu_pairs.hpp>
#include <floptally/detail/mask_kind.hpp>
#include <floptally/detail/mask_name.hpp>
#include <floptally/detail/mask_pairs.hpp>
#include <floptally/detail/mask_value.hpp>
#include <floptally/detail/pair_rows.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/hstu_mask.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>

namespace floptally {

/// Which keys a query attends: a small trivially copyable value.
///
/// `pairs` is the one function behind the host tally, a GPU kernel, the compile-time tests and the cost of one sample.
/// Query i of a sequence with `past` cached tokens stands at position past + i; keys stand at 0 … past + length − 1.
class mask : public detail::mask_value {
  public:
    /// Causal: the default.
    constexpr mask() = default;

    /// Every query sees every key: L².
    [[nodiscard]] static constexpr mask bidirectional() { return {mask_kind::band, unlimited, unlimited}; }

    /// A query sees itself and what came before: L(L+1)/2.
    [[nodiscard]] static constexpr mask causal() { return {}; }

    /// Causal, over the last `tokens` tokens; the window counts the token itself, as Hugging Face's `sliding_window`.
    [[nodiscard]] static constexpr mask sliding_window(std::int64_t tokens) {
        return {mask_kind::band, in_range("sliding_window", tokens, 1) - 1, 0};
    }

    /// `left` keys before the query and `right` after it, besides its own; −1 is unlimited, as in flash-attention's
    /// `window_size`.
    [[nodiscard]] static constexpr mask window(std::int64_t left, std::int64_t right) {
        return {mask_kind::band, in_range("window.left", left, -1), in_range("window.right", right, -1)};
    }

    /// Causal within consecutive chunks of `tokens` tokens: Llama-4's `attention_chunk_size`.
    [[nodiscard]] static constexpr mask chunked(std::int64_t tokens) {
        return {mask_kind::chunked, in_range("attention_chunk_size", tokens, 1), 0};
    }

    /// Causal, over the `keys` best keys only: DeepSeek sparse attention's `index_topk`.
    [[nodiscard]] static constexpr mask top_k(std::int64_t keys) {
        return {mask_kind::top_k, in_range("top_k", keys, 1), 0};
    }

    /// Causal over compressed keys: each complete block of `ratio` tokens is one key.
    [[nodiscard]] static constexpr mask compressed_keys(std::int64_t ratio) {
        return {mask_kind::compressed_keys, in_range("compression_ratio", ratio, 1), 0};
    }

    /// Every query sees every token of the other side: q·k.
    [[nodiscard]] static constexpr mask cross_attention() { return {mask_kind::cross_attention, 0, 0}; }

    /// Every token of the other side sees every other: k². What the layers of an encoder attend in a tally of its
    /// decoder's sequences; see `cost::on_encoder`.
    [[nodiscard]] static constexpr mask encoder() { return {mask_kind::encoder, 0, 0}; }

    /// Causal, but the first `tokens` keys are seen by every query (arXiv:1910.10683, section 3.2.1).
    [[nodiscard]] static constexpr mask prefix_lm(std::int64_t tokens) {
        return {mask_kind::prefix_lm, in_range("prefix_lm", tokens, 0), 0};
    }

    /// Contextual rows, history and targets: L² − tL − h(h − 1)/2 + T_g with T_g pairs of targets with their groups.
    [[nodiscard]] static constexpr mask hstu(const hstu_mask& rule = {}) {
        const std::int32_t reach = in_range("max_attn_len", rule.max_attn_len, 0);
        const std::int32_t full = in_range("min_full_attn_seq_len", rule.min_full_attn_seq_len, 0);
        detail::check_hstu(rule);
        return {mask_kind::hstu, reach == 0 ? unlimited : reach, full, detail::hstu_flags(rule)};
    }
    /// Two words of which recsys-examples counts half of the first and all of the second: the squares of the history,
    /// and all pairs that have no triangle.
    [[nodiscard]] static constexpr mask hstu_history_squares_of(const mask& m) {
        return {mask_kind::hstu_history_squares, 0, 0, detail::unlimited_flags(m.flags_)};
    }
    [[nodiscard]] static constexpr mask hstu_others_of(const mask& m) {
        return {mask_kind::hstu_others, 0, 0, detail::unlimited_flags(m.flags_)};
    }
    /// No mask, but a number of units: rows of one part of a sequence, of every `stride` the first.
    [[nodiscard]] static constexpr mask hstu_part(hstu_rows part, std::int64_t stride = 1) {
        return {mask_kind::hstu_part, static_cast<std::int32_t>(part), in_range("stride", stride, 1)};
    }

    /// L·min(L, W): not a mask that a kernel runs, but rows times columns of a product with a table of positions
    /// (DeBERTa), and what verl counts (halved) for a sliding window.
    [[nodiscard]] static constexpr mask box(std::int64_t tokens) {
        return {mask_kind::box, in_range("sliding_window", tokens, 1) - 1, 0};
    }
    /// The box of a sliding window.
    [[nodiscard]] static constexpr mask box_of(const mask& window) { return {mask_kind::box, window.first_, 0}; }

    /// Twice the pairs of a sliding window where its triangle is taken for half of a square: c² + 2W(L − c) with
    /// c = min(L, W). Not a mask either: what MaxText counts (halved).
    [[nodiscard]] static constexpr mask window_squares(std::int64_t tokens) {
        return {mask_kind::window_squares, in_range("sliding_window", tokens, 1) - 1, 0};
    }
    /// The same for chunks: qC² + r² for q chunks and a rest of r.
    [[nodiscard]] static constexpr mask chunk_squares(std::int64_t tokens) {
        return {mask_kind::chunk_squares, in_range("attention_chunk_size", tokens, 1), 0};
    }
    /// L² of a sequence that is not longer than a sliding window; nothing of a longer one. Half of it and
    /// `limited_by_window` together are what Megatron-Bridge counts.
    [[nodiscard]] static constexpr mask within_window(std::int64_t tokens) {
        return {mask_kind::within_window, in_range("sliding_window", tokens, 1) - 1, 0};
    }
    /// The pairs of a sliding window in a sequence that is longer; nothing of one that is not.
    [[nodiscard]] static constexpr mask limited_by_window(std::int64_t tokens) {
        return {mask_kind::limited_by_window, in_range("sliding_window", tokens, 1) - 1, 0};
    }
    /// Both of a sliding window.
    [[nodiscard]] static constexpr mask within(const mask& window) {
        return {mask_kind::within_window, window.first_, 0};
    }
    [[nodiscard]] static constexpr mask limited_by(const mask& window) {
        return {mask_kind::limited_by_window, window.first_, 0};
    }
    /// The squares of a causal window, of chunks or of top-k.
    [[nodiscard]] static constexpr mask squares_of(const mask& limited) {
        return limited.kind_ == mask_kind::chunked ? mask{mask_kind::chunk_squares, limited.first_, 0}
               : limited.kind_ == mask_kind::top_k ? mask{mask_kind::window_squares, limited.first_ - 1, 0}
                                                   : mask{mask_kind::window_squares, limited.first_, 0};
    }

    /// Within windows of `patches` x `patches` of a frame, ragged at its right and lower border; the first window of
    /// each axis ends after `shift` patches, where that is above 0. What windows of a vision tower attend.
    [[nodiscard]] static constexpr mask grid_windows(std::int64_t patches, std::int64_t shift = 0) {
        return of_grid(mask_kind::grid_windows, in_range("window_size", patches, 1), in_range("shift", shift, 0));
    }
    /// Every patch of a clip sees every other, of all frames: (t·h·w)². With `prefix` tokens of each frame besides,
    /// (t·(h·w + prefix))².
    [[nodiscard]] static constexpr mask clip_squares(std::int64_t prefix = 0) {
        return of_grid(mask_kind::clip_squares, in_range("prefix_tokens", prefix, 0), 0);
    }
    /// No mask, but a number of units: patches after `side` x `side` of them were merged into one, and `line_ends` more
    /// for each line of them. A grid that does not divide is an error.
    [[nodiscard]] static constexpr mask merged_patches(std::int64_t side, std::int64_t line_ends = 0) {
        return of_grid(mask_kind::merged_patches, in_range("spatial_merge_size", side, 1),
                       in_range("line_ends", line_ends, 0));
    }
    /// The same after the frames of a clip were pooled into one.
    [[nodiscard]] static constexpr mask pooled_patches(std::int64_t side) {
        return of_grid(mask_kind::pooled_patches, in_range("merge_kernel_size", side, 1), 0);
    }
    /// No mask either: 1 for a grid, however many frames it has.
    [[nodiscard]] static constexpr mask clips() { return of_grid(mask_kind::clips, 0, 0); }
    /// No mask: patches, of which `side` x `side` are pooled into one in clips of several frames. A rest is cut off.
    [[nodiscard]] static constexpr mask pooled_clips(std::int64_t side) {
        return of_grid(mask_kind::pooled_clips, in_range("spatial_pool_stride", side, 1), 0);
    }
    /// What tokens of an image, one for `side` x `side` patches, see of each other besides a causal mask: later ones,
    /// and earlier ones beyond `window` tokens (−1: none). Nothing to a convention whose causal mask is a square
    /// already.
    [[nodiscard]] static constexpr mask later_image_tokens(std::int64_t side, std::int64_t window = -1) {
        return of_grid(mask_kind::later_image_tokens, in_range("side", side, 1),
                       in_range("sliding_window", window, window < 0 ? -1 : 1));
    }
    /// What is left of the frames of an audio clip after convolutions: ⌊(frames − field)/stride⌋ + 1. With a `chunk`
    /// the clip is cut into chunks of so many frames before them, and the last is shorter.
    [[nodiscard]] static constexpr mask strided_frames(std::int64_t field, std::int64_t stride,
                                                       std::int64_t chunk = 0) {
        return of_frames(mask_kind::strided_frames, field, stride, chunk, 0);
    }
    /// The square of that: each of them sees every other. With a `window` only within consecutive windows of so many,
    /// which do not stop at chunks.
    [[nodiscard]] static constexpr mask strided_squares(std::int64_t field, std::int64_t stride, std::int64_t chunk = 0,
                                                        std::int64_t window = 0) {
        return of_frames(mask_kind::strided_squares, field, stride, chunk, window);
    }

    /// No mask: cells after convolutions, of each side ⌊(patches − field)/stride⌋ + 1. To leave none is an error.
    [[nodiscard]] static constexpr mask strided_cells(std::int64_t field, std::int64_t stride) {
        return of_grid(mask_kind::strided_cells, in_range("field", field, -0x7FFF'FFFF), in_range("stride", stride, 1));
    }
    /// `grid_windows` of the cells after `level` halvings of both sides, rounded up; shifted by half a window. Where
    /// they shrink, a window as wide as the shorter side is not shifted: Swin (arXiv:2103.14030, section 3.2).
    [[nodiscard]] static constexpr mask level_windows(std::int64_t cells, std::int64_t level, bool shifted,
                                                      bool shrinking) {
        return of_grid(mask_kind::level_windows, in_range("window_size", cells, 1),
                       4 * in_range("level", level, 0, 30) + (shrinking ? 2 : 0) + (shifted ? 1 : 0));
    }
    /// No mask: what is left of a frame's patches where a share of them, in parts per million, is left out at random,
    /// and `prefix` class tokens. As MAE cuts it (arXiv:2111.06377): ⌊patches·(1 − share)⌋ in double precision.
    [[nodiscard]] static constexpr mask kept_patches(std::int64_t millionths, std::int64_t prefix) {
        return of_grid(mask_kind::kept_patches, in_range("mask_ratio", millionths, 0, 1'000'000),
                       in_range("prefix", prefix, 0));
    }
    /// The square of that.
    [[nodiscard]] static constexpr mask kept_squares(std::int64_t millionths, std::int64_t prefix) {
        const mask kept = kept_patches(millionths, prefix);
        return of_grid(mask_kind::kept_squares, kept.first_, kept.second_);
    }

    using mask_value::in;

    /// The same over the statistics of a tower.
    [[nodiscard]] constexpr mask in(modality which) const {
        mask moved = *this;
        moved.tower_ = which;
        return moved;
    }

    /// Attended (query, key) pairs of one sequence. Total; exact while past + length ≤ `max_sequence_length`.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t pairs(const sequence& s) const {
        return detail::pairs_of_sequence(kind_, first_, second_, flags_, s);
    }

    /// The same of one frame of a grid, which is a sequence to masks of sequences.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t frame_pairs(const grid& g) const {
        return kind_ >= mask_kind::grid_windows ? detail::units_of_frame(kind_, first_, second_, g)
                                                : pairs(sequence{static_cast<std::uint32_t>(g.frame_patches())});
    }
    template <std::same_as<grid> Grid>  // so that braces stay a sequence
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t pairs(const Grid& g) const {
        return detail::units_of_clip(kind_, first_, g, frame_pairs(g));
    }
    /// Of a clip of sound: masks of sequences see its frames as one.
    template <std::same_as<audio_clip> Clip>
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t pairs(const Clip& clip) const {
        return kind_ != mask_kind::strided_frames && kind_ != mask_kind::strided_squares
                   ? pairs(sequence{clip.frames})
                   : detail::windowed_sound(detail::strided_chunks(clip.frames, first_, second_, chunk_), window_,
                                            kind_ == mask_kind::strided_squares);
    }

    /// "causal", "sliding_window(4096)", "window(64,64)", …: the name in reports; "vision.bidirectional" in a tower.
    [[nodiscard]] std::string name() const {
        return qualified(tower_, detail::mask_name(kind_, first_, second_, flags_, chunk_, window_));
    }

    [[nodiscard]] friend constexpr bool operator==(const mask&, const mask&) = default;

  private:
    constexpr mask(mask_kind kind, std::int32_t first, std::int32_t second, std::uint8_t flags = 0)
        : mask_value(kind, first, second, flags) {}

    [[nodiscard]] static constexpr std::int32_t in_range(const char* field, std::int64_t value, std::int64_t least,
                                                         std::int64_t most = 0x7FFF'FFFF) {
        return detail::mask_parameter(field, value, least, most);
    }
    [[nodiscard]] static constexpr mask of_grid(mask_kind kind, std::int32_t first, std::int32_t second) {
        return mask{kind, first, second}.in(modality::vision);
    }
    [[nodiscard]] static constexpr mask of_frames(mask_kind kind, std::int64_t field, std::int64_t stride,
                                                  std::int64_t chunk, std::int64_t window) {
        mask made{kind, in_range("field", field, -0x7FFF'FFFF), in_range("stride", stride, 1)};
        made.tower_ = modality::audio;
        made.chunk_ = detail::short_mask_parameter("chunk", chunk);
        made.window_ = detail::short_mask_parameter("window", window);
        return made;
    }
};

}  // namespace floptally
