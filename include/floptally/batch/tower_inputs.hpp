// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Sources of images, clips and sound for the towers, as lists of 32- or 64-bit integers.

namespace floptally {

/// Images and clips, three numbers (t, h, w) for each, as `image_grid_thw` has them: patches before merging.
template <detail::integer T>
class listed_grids {
  public:
    using sample = grid;

    constexpr listed_grids(std::span<const T> grid_thw, const char* field = "grid_thw")  // NOLINT: a view
        : numbers_(grid_thw), field_(field) {
        if (numbers_.size() % 3 != 0) {
            detail::refuse(field, {"must have three numbers for each grid, got ", numbers_.size()});
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::given_lengths<T> sides{numbers_.data(), field_};
        for (std::size_t i = 0; i < numbers_.size(); i += 3) {
            const grid patches{sides.checked(i), sides.checked(i + 1), sides.checked(i + 2)};
            visit(patches, patches);
        }
    }

  private:
    std::span<const T> numbers_;
    const char* field_;
};

/// Grids of latents, three numbers (t, h, w) for each, with the tokens of the text of each.
template <detail::integer T, detail::integer K>
class listed_grids_with_text {
  public:
    using sample = grid;

    constexpr listed_grids_with_text(std::span<const T> grid_thw, std::span<const K> encoder_lengths)
        : grids_(grid_thw), texts_(encoder_lengths) {
        if (3 * texts_.size() != grid_thw.size()) {
            detail::refuse("encoder_lengths",
                           {"must be one for each grid (", grid_thw.size() / 3, "), got ", texts_.size()});
        }
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::given_lengths<K> texts{texts_.data(), "encoder_lengths"};
        std::size_t at = 0;
        grids_.each([&](grid latents, const grid& /*slot*/) {
            latents.keys = texts.checked(at++);
            visit(latents, latents);
        });
    }

  private:
    listed_grids<T> grids_;
    std::span<const K> texts_;
};

/// Clips of sound by the frames that enter the audio tower.
template <detail::integer T>
class listed_clips {
  public:
    using sample = audio_clip;

    constexpr listed_clips(std::span<const T> audio_frames) : frames_(audio_frames) {}  // NOLINT: a view

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::given_lengths<T> given{frames_.data(), "audio_frames"};
        for (std::size_t i = 0; i < frames_.size(); ++i) {
            const audio_clip frames{given.checked(i)};
            visit(frames, frames);
        }
    }

  private:
    std::span<const T> frames_;
};

template <detail::integer_range Numbers>
listed_grids(const Numbers& grid_thw, const char* field = "grid_thw") -> listed_grids<detail::element_of<Numbers>>;
template <detail::integer_range Numbers, detail::integer_range Texts>
listed_grids_with_text(const Numbers& grid_thw, const Texts& encoder_lengths)
    -> listed_grids_with_text<detail::element_of<Numbers>, detail::element_of<Texts>>;
template <detail::integer_range Frames>
listed_clips(const Frames& audio_frames) -> listed_clips<detail::element_of<Frames>>;

}  // namespace floptally
