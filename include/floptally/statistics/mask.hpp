// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/statistics/clip_statistics.hpp>
#include <floptally/statistics/detail/statistic_call.hpp>
#include <floptally/statistics/grid_masks.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/hstu_mask.hpp>
#include <floptally/statistics/hstu_statistics.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `mask`: the library's attention masks by name, such as `mask::sliding_window(4096)`.

namespace floptally::inline v0_3 {

/// Makes a statistic of the type `Statistic` from the numbers in its text, such as 4096 in "sliding_window(4096)". If a
/// number is out of range, throws an `error` that names the parameter.
template <statistic_type Statistic, whole_number... Numbers>
[[nodiscard]] constexpr statistic make_statistic(Numbers... numbers) {
    static_assert(
        sizeof...(numbers) == detail::text_parameters<Statistic>,
        "make_statistic needs one number for each parameter of the statistic's text form: add or remove numbers");
    const statistic_parameter* next = detail::named_parameters<Statistic>;
    const std::int64_t values[sizeof...(numbers) + 1]{detail::in_range(*next++, numbers)...};
    return {detail::table_of<Statistic>, detail::parameters_from(detail::table_of<Statistic>, values)};
}

/// The mask of an attention: a statistic that counts its (query, key) pairs. The functions of this class make the
/// library's masks. You can use a struct of your own instead (`statistic_type`). If a number is out of range, the
/// functions throw an `error` that names the parameter. A floating-point number does not compile. The functions are
/// templates, so that a program compiles only the masks that it uses. The functions of namespace `unit` make statistics
/// that count tokens of towers, such as patches and frames.
class mask : public statistic {
  public:
    /// Makes the causal mask.
    constexpr mask() = default;
    constexpr mask(const statistic& value) : statistic(value) {}  // NOLINT(google-explicit-constructor)
    template <statistic_type Statistic>
    constexpr mask(const Statistic& value) : statistic(value) {}  // NOLINT(google-explicit-constructor)
    template <detail::fails_as_statistic T>
    constexpr mask(const T& value) : statistic(value) {}  // NOLINT(google-explicit-constructor): does not compile

    /// Every query attends to every key: L² pairs.
    [[nodiscard]] static constexpr mask bidirectional() { return mask_statistics::band{-1, -1}; }
    /// A query attends to itself and to the keys before it: L(L+1)/2 pairs.
    [[nodiscard]] static constexpr mask causal() { return mask_statistics::band{}; }
    /// Causal attention to the last `tokens` tokens. The window includes the query's own token, as in Hugging Face's
    /// `sliding_window`.
    [[nodiscard]] static constexpr mask sliding_window(whole_number auto tokens) {
        return mask_statistics::band{detail::in_range({"sliding_window", 1}, tokens) - 1, 0};
    }
    /// A query attends to itself, to `left` keys before it and to `right` keys after it; −1 means no limit.
    [[nodiscard]] static constexpr mask window(whole_number auto left, whole_number auto right) {
        return detail::from_numbers<mask_statistics::band>(left, right);
    }
    /// Causal attention within consecutive chunks of `tokens` tokens.
    [[nodiscard]] static constexpr mask chunked(whole_number auto tokens) {
        return detail::from_numbers<mask_statistics::chunked>(tokens);
    }
    /// Causal attention to the `keys` best keys, which depend on the data.
    [[nodiscard]] static constexpr mask top_k(whole_number auto keys) {
        return detail::from_numbers<mask_statistics::top_k>(keys);
    }
    /// Causal attention to compressed keys: each complete block of `ratio` tokens is one key.
    [[nodiscard]] static constexpr mask compressed_keys(whole_number auto ratio) {
        return detail::from_numbers<mask_statistics::compressed_keys>(ratio);
    }
    /// Causal attention to the `keys` best compressed keys of `ratio` tokens each.
    [[nodiscard]] static constexpr mask best_compressed_keys(whole_number auto ratio, whole_number auto keys) {
        return detail::from_numbers<mask_statistics::best_compressed_keys>(ratio, keys);
    }
    /// Causal attention between blocks of `block` tokens: a query attends to its own whole block and to the blocks
    /// before it.
    [[nodiscard]] static constexpr mask block_causal(whole_number auto block, std::int64_t copies = 1) {
        return detail::from_numbers<mask_statistics::block_causal>(block, copies);
    }
    /// Causal attention to the `blocks` best blocks of `block` keys, including the query's own block.
    [[nodiscard]] static constexpr mask best_blocks(whole_number auto block, whole_number auto blocks) {
        return detail::from_numbers<mask_statistics::best_blocks>(block, blocks);
    }
    /// Causal attention to the `pools` best pools, and to the keys after the last complete pool. A pool is a block of
    /// `pool` keys.
    [[nodiscard]] static constexpr mask best_pools(whole_number auto pool, whole_number auto pools) {
        return detail::from_numbers<mask_statistics::best_pools>(pool, pools);
    }
    /// Cross attention: every query attends to every token of the encoder's side. For q queries and k such tokens it
    /// has q·k pairs.
    template <class = void>
    [[nodiscard]] static constexpr mask cross_attention() {
        return mask_statistics::cross_attention{};
    }
    /// Every token of the encoder's side attends to all tokens of that side: k² pairs for k tokens.
    template <class = void>
    [[nodiscard]] static constexpr mask encoder() {
        return mask_statistics::encoder{};
    }
    /// Every token of the encoder's side attends to `left` tokens before it and `right` tokens after it; −1 means no
    /// limit.
    [[nodiscard]] static constexpr mask encoder_window(whole_number auto left, whole_number auto right) {
        return detail::from_numbers<mask_statistics::encoder_window>(left, right);
    }
    /// Causal attention in which every query also attends to the first `tokens` keys.
    [[nodiscard]] static constexpr mask prefix_lm(whole_number auto tokens) {
        return detail::from_numbers<mask_statistics::prefix_lm>(tokens);
    }
    /// L·min(L, W) pairs for a sequence of L tokens and W = `tokens`. This is the size of a product with a table of
    /// relative positions: L rows and min(L, W) columns.
    [[nodiscard]] static constexpr mask box(whole_number auto tokens) {
        return detail::from_numbers<mask_statistics::box>(tokens);
    }

    /// The mask of an HSTU layer over contextual rows, history and targets.
    template <class = void>
    [[nodiscard]] static constexpr mask hstu(const hstu_mask& options = {}) {
        static_cast<void>(detail::in_range({"max_attn_len", 0}, options.max_attn_len));
        static_cast<void>(detail::in_range({"min_full_attn_seq_len", 0}, options.min_full_attn_seq_len));
        return mask_statistics::hstu::from_mask(options);
    }

    /// Every patch attends to its window of `patches` x `patches` in its frame. With a `shift` above 0 the first window
    /// of each axis ends after `shift` patches.
    template <whole_number Patches, whole_number Shift = int>
    [[nodiscard]] static constexpr mask grid_windows(Patches patches, Shift shift = 0) {
        return detail::from_numbers<mask_statistics::grid_windows>(patches, shift);
    }
    /// Every patch of a video clip attends to all patches of all frames. Each frame has `prefix` additional tokens.
    template <whole_number Prefix = int>
    [[nodiscard]] static constexpr mask clip_squares(Prefix prefix = 0) {
        return detail::from_numbers<mask_statistics::clip_squares>(prefix);
    }
    /// The pairs between tokens of one image that a causal mask, or a sliding window, lacks.
    template <whole_number Side, whole_number Window = int>
    [[nodiscard]] static constexpr mask later_image_tokens(Side side, Window window = -1) {
        return detail::from_numbers<mask_statistics::later_image_tokens>(side, window);
    }
    /// The output frames of convolutions over an audio clip (`strided_frames`) attend to each other. With a `window`
    /// above 0, a frame attends only to the frames of its window.
    template <whole_number Field, whole_number Stride, whole_number Chunk = int, whole_number Window = int>
    [[nodiscard]] static constexpr mask strided_squares(Field field, Stride stride, Chunk chunk = 0,
                                                        Window window = 0) {
        return detail::from_numbers<mask_statistics::strided_squares>(field, stride, chunk, window);
    }
    /// A band over the output frames of convolutions (`strided_frames`), after each was upsampled to `up` frames. A
    /// frame attends to `left` frames before it and `right` frames after it; −1 means no limit.
    template <whole_number Up = int>
    [[nodiscard]] static constexpr mask strided_band(whole_number auto field, whole_number auto stride,
                                                     whole_number auto left, whole_number auto right, Up up = 1) {
        return detail::from_numbers<mask_statistics::strided_band>(field, stride, left, right, up);
    }
    /// Every cell attends to its window of `cells` x `cells`, after height and width of a frame were halved `level`
    /// times.
    [[nodiscard]] static constexpr mask level_windows(whole_number auto cells, whole_number auto level, bool shifted,
                                                      bool shrinking) {
        return detail::from_numbers<mask_statistics::level_windows>(cells, level, shifted ? 1 : 0, shrinking ? 1 : 0);
    }
    /// Attention with fewer keys than queries. The queries are the output cells of a convolution. The keys are the
    /// output cells of a further convolution over the same frame.
    [[nodiscard]] static constexpr mask reduced_pairs(whole_number auto field, whole_number auto stride,
                                                      whole_number auto keys_field, whole_number auto keys_stride) {
        return detail::from_numbers<mask_statistics::reduced_pairs>(keys_field, keys_stride, field, stride);
    }
    /// The pairs (patch, row) and (patch, column) of all patches with the rows and columns of their window, or of their
    /// frame if `patches` is 0.
    template <whole_number Patches = int>
    [[nodiscard]] static constexpr mask window_lines(Patches patches = 0) {
        return detail::from_numbers<mask_statistics::window_lines>(patches);
    }
    /// Every patch attends to the patches at its position in all frames.
    template <class = void>
    [[nodiscard]] static constexpr mask across_frames() {
        return mask_statistics::across_frames{};
    }
    /// Every query of a frame attends to every patch of the frame. `unit::listed_units` gives the number of queries of
    /// a frame.
    [[nodiscard]] static constexpr mask listed_pairs(whole_number auto patches, whole_number auto units,
                                                     whole_number auto other_patches, whole_number auto other_units) {
        return detail::from_numbers<mask_statistics::listed_pairs>(patches, units, other_patches, other_units);
    }

    /// Each token of a grid of latents attends to every token of the sample, of its frame, or at its position in all
    /// frames. `reach` chooses one of the three.
    template <class = void>
    [[nodiscard]] static constexpr mask latent_pairs(const latent_patches& patches = {},
                                                     latent_reach reach = latent_reach::sample) {
        return detail::from_numbers<mask_statistics::latent_pairs>(patches.side, patches.frames, patches.multiple,
                                                                   patches.prefix, patches.filled ? 1 : 0,
                                                                   static_cast<int>(reach));
    }
    /// Joint attention: each token of the streams `queries` (grid, text, …) attends to every token of the streams
    /// `keys`.
    template <class = void>
    [[nodiscard]] static constexpr mask joint_pairs(const latent_patches& patches = {},
                                                    token_stream queries = token_stream::joint,
                                                    token_stream keys = token_stream::joint) {
        return detail::from_numbers<mask_statistics::joint_pairs>(patches.side, patches.frames, patches.multiple,
                                                                  patches.prefix, patches.filled ? 1 : 0,
                                                                  static_cast<int>(queries), static_cast<int>(keys));
    }

    /// The cells after convolutions and upsamplers attend to each other. `reach` says to which cells a cell attends.
    template <class = void>
    [[nodiscard]] static constexpr mask level_pairs(const resampling& space, const resampling& time = {},
                                                    level_reach reach = level_reach::sample) {
        return detail::from_numbers<mask_statistics::level_pairs>(space.field, space.stride, space.up, space.add,
                                                                  time.field, time.stride, time.up, time.add,
                                                                  static_cast<int>(reach));
    }

    using statistic::in;
    /// Returns this mask over the samples of another modality. Throws `error` if this mask cannot count that modality.
    [[nodiscard]] constexpr mask in(modality which) const { return statistic::in(which); }
    /// Returns this mask over the tokens of the encoder's side. Throws `error` for a mask that is neither bidirectional
    /// nor causal nor a window.
    template <class = void>
    [[nodiscard]] constexpr mask on_encoder() const {
        if (!is<mask_statistics::band>()) {
            detail::refuse("masks", {name(), " cannot attend to an encoder's tokens: use bidirectional or a window"});
        }
        const mask_statistics::band& own = as<mask_statistics::band>();
        return own.left < 0 && own.right < 0 ? encoder() : encoder_window(own.left, own.right);
    }
};

}  // namespace floptally
