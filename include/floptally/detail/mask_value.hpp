// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/detail/mask_kind.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>

namespace floptally::detail {

/// What a mask is made of, and what it says of itself.
class mask_value {
  public:
    /// Causal.
    constexpr mask_value() = default;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr mask_kind kind() const { return kind_; }
    /// Band, box and the others of a window: keys to the left, −1 unlimited. Otherwise the one parameter (chunk, k,
    /// ratio, prefix).
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int64_t first() const { return first_; }
    /// Band: keys to the right, −1 unlimited.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::int64_t second() const { return second_; }
    /// HSTU: its rules, as `detail::hstu_flags` has them.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint8_t flags() const { return flags_; }

    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr modality in() const { return tower_; }

    /// True where Σ pairs follows from Σn, Σn², Σn·past and Σn·keys, so that a tally need not keep it.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_polynomial() const {
        return kind_ == mask_kind::cross_attention || (kind_ == mask_kind::band && first_ < 0 && second_ <= 0);
    }

    /// True where no query sees a later key, so that conventions for causal attention apply.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_causal() const {
        return kind_ == mask_kind::band
                   ? second_ == 0
                   : kind_ != mask_kind::cross_attention && kind_ != mask_kind::encoder && kind_ < mask_kind::prefix_lm;
    }
    /// True of HSTU's mask and the words that a convention counts of it.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_hstu() const {
        return kind_ >= mask_kind::hstu && kind_ <= mask_kind::hstu_part;
    }
    /// True of the kinds that are made for grids or for clips of sound.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_of_a_tower() const {
        return kind_ >= mask_kind::grid_windows;
    }
    /// True where a grid is not t times one of its frames.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool is_of_whole_clips() const {
        return kind_ == mask_kind::clip_squares || kind_ == mask_kind::clips || kind_ == mask_kind::pooled_patches;
    }

    [[nodiscard]] friend constexpr bool operator==(const mask_value&, const mask_value&) = default;

  protected:
    static constexpr std::int32_t unlimited = -1;

    constexpr mask_value(mask_kind kind, std::int32_t first, std::int32_t second, std::uint8_t flags)
        : kind_(kind), flags_(flags), first_(first), second_(second) {}

    mask_kind kind_ = mask_kind::band;
    modality tower_ = modality::text;
    std::uint8_t flags_ = 0;
    std::int32_t first_ = unlimited;
    std::int32_t second_ = 0;
    std::uint16_t chunk_ = 0;   // of frames, before they are strided; 0: the whole clip
    std::uint16_t window_ = 0;  // of what is left of them; 0: all
};

}  // namespace floptally::detail
