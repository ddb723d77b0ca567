// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/detail/bounded_vector.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

namespace floptally {

enum class mask_kind : std::uint8_t {
    band,
    chunked,
    top_k,
    compressed_keys,
    cross_attention,
    box,
    window_squares,
    chunk_squares,
    within_window,
    limited_by_window,
    encoder,
    prefix_lm
};

/// Which keys a query attends: a small trivially copyable value.
///
/// `pairs` is the one function behind the host tally, a GPU kernel, the compile-time tests and the cost of one sample.
/// Query i of a sequence with `past` cached tokens stands at position past + i; keys stand at 0 … past + length − 1.
class mask {
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

    /// Attended (query, key) pairs of one sequence. Total; exact while past + length ≤ `max_sequence_length`.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t pairs(const sequence& s) const {
        const std::uint64_t end = std::uint64_t{s.past} + s.length;
        switch (kind_) {
            case mask_kind::band: {
                const std::uint64_t before = capped_ramp(end, first_) - capped_ramp(s.past, first_);
                return s.length + before + capped_ramp(s.length, second_);
            }
            case mask_kind::top_k:
                return s.length + capped_ramp(end, first_ - 1) - capped_ramp(s.past, first_ - 1);
            case mask_kind::chunked:
                return chunked_rows(end) - chunked_rows(s.past);
            case mask_kind::compressed_keys:
                return compressed_rows(end) - compressed_rows(s.past);
            case mask_kind::cross_attention:
                return std::uint64_t{s.length} * s.keys;
            case mask_kind::box: {
                const auto window = static_cast<std::uint64_t>(first_) + 1;
                return s.length * (end < window ? end : window);
            }
            case mask_kind::window_squares:
                return window_square_rows(end) - window_square_rows(s.past);
            case mask_kind::chunk_squares:
                return chunk_square_rows(end) - chunk_square_rows(s.past);
            case mask_kind::within_window:
                return end <= static_cast<std::uint64_t>(first_) + 1 ? end * end - std::uint64_t{s.past} * s.past : 0;
            case mask_kind::limited_by_window:
                return end <= static_cast<std::uint64_t>(first_) + 1
                           ? 0
                           : s.length + capped_ramp(end, first_) - capped_ramp(s.past, first_);
            case mask_kind::encoder:
                return std::uint64_t{s.keys} * s.keys;
            case mask_kind::prefix_lm:
                return triangle(end) - triangle(s.past) + later_keys(s.past, end);
        }
        return 0;
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr mask_kind kind() const { return kind_; }
    /// Band, box and the others of a window: keys to the left, −1 unlimited. Otherwise the one parameter (chunk, k,
    /// ratio, prefix).
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int64_t first() const { return first_; }
    /// Band: keys to the right, −1 unlimited.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int64_t second() const { return second_; }

    /// True where Σ pairs follows from Σn, Σn², Σn·past and Σn·keys, so that a tally need not keep it.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_polynomial() const {
        return kind_ == mask_kind::cross_attention || (kind_ == mask_kind::band && first_ < 0 && second_ <= 0);
    }

    /// True where no query sees a later key, so that conventions for causal attention apply.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_causal() const {
        return kind_ == mask_kind::band ? second_ == 0
                                        : kind_ != mask_kind::cross_attention && kind_ != mask_kind::encoder &&
                                              kind_ != mask_kind::prefix_lm;
    }

    /// "causal", "sliding_window(4096)", "window(64,64)", …: the name in reports.
    [[nodiscard]] std::string name() const {
        switch (kind_) {
            case mask_kind::band:
                if (second_ == 0) {
                    return first_ < 0 ? "causal" : "sliding_window(" + std::to_string(std::int64_t{first_} + 1) + ")";
                }
                return first_ < 0 && second_ < 0
                           ? "bidirectional"
                           : "window(" + std::to_string(first_) + "," + std::to_string(second_) + ")";
            case mask_kind::chunked:
                return "chunked(" + std::to_string(first_) + ")";
            case mask_kind::top_k:
                return "top_k(" + std::to_string(first_) + ")";
            case mask_kind::compressed_keys:
                return "compressed_keys(" + std::to_string(first_) + ")";
            case mask_kind::box:
                return "box(" + std::to_string(std::int64_t{first_} + 1) + ")";
            case mask_kind::window_squares:
                return "window_squares(" + std::to_string(std::int64_t{first_} + 1) + ")";
            case mask_kind::chunk_squares:
                return "chunk_squares(" + std::to_string(first_) + ")";
            case mask_kind::within_window:
                return "within_window(" + std::to_string(std::int64_t{first_} + 1) + ")";
            case mask_kind::limited_by_window:
                return "limited_by_window(" + std::to_string(std::int64_t{first_} + 1) + ")";
            case mask_kind::encoder:
                return "encoder";
            case mask_kind::prefix_lm:
                return "prefix_lm(" + std::to_string(first_) + ")";
            case mask_kind::cross_attention:
                break;
        }
        return "cross_attention";
    }

    [[nodiscard]] friend constexpr bool operator==(const mask&, const mask&) = default;

  private:
    static constexpr std::int32_t unlimited = -1;

    constexpr mask(mask_kind kind, std::int32_t first, std::int32_t second)
        : kind_(kind), first_(first), second_(second) {}

    [[nodiscard]] static constexpr std::int32_t in_range(const char* field, std::int64_t value, std::int64_t least) {
        if (value < least || value > 0x7FFF'FFFF) {
            throw error(field,
                        "must be from " + std::to_string(least) + " to 2147483647, got " + std::to_string(value));
        }
        return static_cast<std::int32_t>(value);
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr std::uint64_t triangle(std::uint64_t n) {
        return n * (n + 1) / 2;  // n < 2^32, so that the product fits
    }

    /// Σ of min(i, cap) over 0 ≤ i < rows: the keys that rows of a band see on one side. A cap below 0 is none.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE static constexpr std::uint64_t capped_ramp(std::uint64_t rows,
                                                                                   std::int32_t cap) {
        if (rows == 0) {
            return 0;
        }
        const std::uint64_t last = rows - 1;
        const bool reached = cap >= 0 && last > static_cast<std::uint64_t>(cap);
        return triangle(last) - (reached ? triangle(last - static_cast<std::uint64_t>(cap)) : 0);
    }

    /// Pairs of the first `rows` rows: whole chunks, then a shorter one.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunked_rows(std::uint64_t rows) const {
        const auto chunk = static_cast<std::uint64_t>(first_);
        return rows / chunk * triangle(chunk) + triangle(rows % chunk);
    }

    /// rows², less the square of what is beyond the window.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t window_square_rows(std::uint64_t rows) const {
        const auto window = static_cast<std::uint64_t>(first_) + 1;
        const std::uint64_t beyond = rows < window ? 0 : rows - window;
        return rows * rows - beyond * beyond;
    }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t chunk_square_rows(std::uint64_t rows) const {
        const auto chunk = static_cast<std::uint64_t>(first_);
        const std::uint64_t rest = rows % chunk;
        return (rows - rest) * chunk + rest * rest;
    }

    /// Σ of ⌊i / ratio⌋ over 1 ≤ i ≤ rows.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t compressed_rows(std::uint64_t rows) const {
        const auto ratio = static_cast<std::uint64_t>(first_);
        const std::uint64_t blocks = rows / ratio;
        return blocks == 0 ? 0 : ratio * triangle(blocks - 1) + blocks * (rows % ratio + 1);
    }

    /// What the rows past … end − 1 see of a prefix after themselves: row i the keys i + 1 … prefix − 1.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t later_keys(std::uint64_t past,
                                                                           std::uint64_t end) const {
        const auto prefix = static_cast<std::uint64_t>(first_);
        const std::uint64_t seen = end < prefix ? end : prefix;
        return seen > past ? triangle(seen - past - 1) : 0;
    }

    mask_kind kind_ = mask_kind::band;
    std::int32_t first_ = unlimited;
    std::int32_t second_ = 0;
};

/// At most this many different masks in one stream of statistics.
inline constexpr std::size_t max_masks = 16;

/// Different masks, in the order in which a model first uses them.
using mask_set = detail::bounded_vector<mask, max_masks>;

}  // namespace floptally
