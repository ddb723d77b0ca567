// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/checked.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/host_device.hpp>
#include <floptally/mask.hpp>
#include <floptally/mask_set.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>
#include <floptally/tower.hpp>

namespace floptally::detail {

/// The words of a tally in its order, as a value that a kernel takes: which word counts what.
struct word_schema {
    mask masks[max_masks]{};  ///< those that have a word of their own
    std::uint32_t mask_count = 0;
    std::uint32_t before_masks = 0;
    bool has[tower_count]{};

    word_schema() = default;
    explicit word_schema(const mask_set& of_model) {
        const tally like{of_model};
        mask_count = static_cast<std::uint32_t>(like.masks().size());
        before_masks = static_cast<std::uint32_t>(tally_words::before_masks(like.masks()));
        for (std::uint32_t i = 0; i < mask_count; ++i) {
            masks[i] = like.masks()[i];
        }
        for (const tower in : {tower::text, tower::vision, tower::audio}) {
            has[static_cast<std::size_t>(in)] = like.masks().has(in);
        }
    }

    /// Words of one view.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t stride() const { return before_masks + mask_count; }
    /// Words of both.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return 2 * stride(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool has_tower(tower in) const { return has[static_cast<std::size_t>(in)]; }
    /// Whether this word counts what is in a tower.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_of(tower in, std::uint32_t word) const {
        return word < before_masks ? word / tally_words::fixed == static_cast<std::uint32_t>(in)
                                   : masks[word - before_masks].in() == in;
    }
};

[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr tower tower_of(const sequence& /*unused*/) { return tower::text; }
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr tower tower_of(const grid& /*unused*/) { return tower::vision; }
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr tower tower_of(const audio_clip& /*unused*/) { return tower::audio; }

/// What one of `times` equal sequences adds to a fixed statistic.
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr std::uint64_t fixed_amount(statistic what, const sequence& s) {
    const std::uint64_t n = s.length;
    switch (what) {
        case statistic::count:
            return n != 0 ? 1 : 0;
        case statistic::tokens:
            return n;
        case statistic::keys:
            return s.keys;
        case statistic::squares:
            return n * n;
        case statistic::cached:
            return n * s.past;
        case statistic::crossed:
            return n * s.keys;
        default:  // routed: known by its router; pairs: of a mask
            return 0;
    }
}

/// What a sequence, a grid or a clip of sound adds to a word of its tower. Of a grid it can be above 64 bits.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE uint128 amount_of(const word_schema& schema, std::uint32_t word,
                                                             const sequence& s) {
    return word < schema.before_masks ? fixed_amount(static_cast<statistic>(word % tally_words::fixed), s)
                                      : schema.masks[word - schema.before_masks].pairs(s);
}
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE uint128 amount_of(const word_schema& schema, std::uint32_t word,
                                                             const grid& g) {
    if (word < schema.before_masks) {
        const sequence frame{static_cast<std::uint32_t>(g.frame_patches())};
        return uint128{g.t} * fixed_amount(static_cast<statistic>(word % tally_words::fixed), frame);
    }
    const mask& m = schema.masks[word - schema.before_masks];
    return m.is_of_whole_clips() ? uint128{m.pairs(g)} : uint128{g.t} * m.frame_pairs(g);
}
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE uint128 amount_of(const word_schema& schema, std::uint32_t word,
                                                             const audio_clip& clip) {
    return word < schema.before_masks
               ? fixed_amount(static_cast<statistic>(word % tally_words::fixed), sequence{clip.frames})
               : schema.masks[word - schema.before_masks].pairs(clip);
}

}  // namespace floptally::detail
