// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <floptally/detail/cuda/atomic_word.hpp>
#include <floptally/host_device.hpp>
#include <floptally/sequence.hpp>

namespace floptally::detail {

/// What was being added: how the payload of a refusal is to be read.
enum class refused : std::uint8_t {
    length,         ///< value, whether its type is signed, `input_field`
    in_row,         ///< length, row_length
    start,          ///< the first boundary, whether its type is signed, `input_field`
    boundary,       ///< the boundary before it, it, whether their type is signed, `input_field`
    slot,           ///< length, slot, `input_field` of the slots
    flag,           ///< value, columns
    num_real_seqs,  ///< value, whether its type is signed, sequences
    sequence,       ///< a sequence and its slot
    grid,
    audio_clip,
    routed  ///< useful, padded
};

/// An argument, as its errors name it.
enum class input_field : std::uint8_t {
    lengths,
    contextual,
    targets,
    cu_seqlens,
    cu_seqlens_padded,
    cu_seqlens_real,
    grid_thw,
    audio_frames
};
[[nodiscard]] constexpr const char* name_of(input_field which) {
    constexpr const char* names[] = {"lengths",           "contextual",      "targets",  "cu_seqlens",
                                     "cu_seqlens_padded", "cu_seqlens_real", "grid_thw", "audio_frames"};
    return names[static_cast<std::size_t>(which)];
}

/// Words of a device that outlive what went wrong: the sticky error of a tally. The first refusal by call, then by
/// place in it, is kept whole, so that the host can say of it what it would have said itself.
struct refusal_record {
    static constexpr std::uint32_t payload_size = 6;

    std::uint64_t left_out;  ///< how many sequences were refused
    std::uint64_t lock;      ///< around what follows
    std::uint64_t first;     ///< 1 + its place in order; 0: none
    std::uint64_t what;      ///< `refused`
    std::uint64_t payload[payload_size];
    std::uint64_t overflowed[2];  ///< bits of words whose sum no longer fits: useful, padded
};
inline constexpr std::uint32_t refusal_words = sizeof(refusal_record) / sizeof(std::uint64_t);

/// A place in the order of refusals: 24 bits of a call since the last reset, 39 bits of an index in it.
struct refusal_place {
    static constexpr std::uint32_t index_bits = 39;
    static constexpr std::uint64_t last_index = (std::uint64_t{1} << index_bits) - 1;
    /// The call of those who count one by one in a kernel of their own.
    static constexpr std::uint32_t own_kernel = 0xFF'FFFF;

    std::uint32_t call = 0;
    std::uint64_t index = 0;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t key() const {
        return ((std::uint64_t{call} << index_bits) | (index < last_index ? index : last_index)) + 1;
    }
    [[nodiscard]] static refusal_place of(std::uint64_t key) {
        return {static_cast<std::uint32_t>((key - 1) >> index_bits), (key - 1) & last_index};
    }
};

/// What a thread was about to add when it refused.
struct refusal {
    refused what;
    std::uint64_t payload[refusal_record::payload_size];

    FLOPTALLY_HOST_DEVICE refusal(refused kind, std::uint64_t a, std::uint64_t b, std::uint64_t c = 0,
                                  std::uint64_t d = 0)
        : what(kind), payload{a, b, c, d, 0, 0} {}
    FLOPTALLY_HOST_DEVICE refusal(const sequence& real, const sequence& slot)
        : what(refused::sequence), payload{both(real.length, real.past),
                                           both(real.keys, real.context),
                                           both(real.targets, real.target_group),
                                           both(slot.length, slot.past),
                                           both(slot.keys, slot.context),
                                           both(slot.targets, slot.target_group)} {}
    FLOPTALLY_HOST_DEVICE refusal(const grid& real, const grid& slot)
        : what(refused::grid), payload{both(real.t, real.h), real.w, both(slot.t, slot.h), slot.w, 0, 0} {}
    FLOPTALLY_HOST_DEVICE refusal(const audio_clip& real, const audio_clip& slot)
        : what(refused::audio_clip), payload{real.frames, slot.frames, 0, 0, 0, 0} {}

    template <class T>
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE refusal length(T value, input_field field) {
        return {refused::length, static_cast<std::uint64_t>(value), std::is_signed_v<T>,
                static_cast<std::uint64_t>(field)};
    }

    [[nodiscard]] static FLOPTALLY_HOST_DEVICE std::uint64_t both(std::uint32_t low, std::uint32_t high) {
        return low | (std::uint64_t{high} << 32U);
    }
};

/// Counts what is left out and keeps the first of all.
inline FLOPTALLY_HOST_DEVICE void refuse(refusal_record* record, const refusal_place& where, const refusal& seen,
                                         std::uint64_t sequences = 1) {
    atomic_add(&record->left_out, sequences);
    const std::uint64_t key = where.key();
    const auto is_first = [&] {
        const std::uint64_t first = atomic_load(&record->first);
        return first == 0 || key < first;
    };
    if (!is_first()) {
        return;
    }
    with_lock(&record->lock, [&] {
        if (is_first()) {
            record->what = static_cast<std::uint64_t>(seen.what);
            for (std::uint32_t i = 0; i < refusal_record::payload_size; ++i) {
                record->payload[i] = seen.payload[i];
            }
            record->first = key;
        }
    });
}

}  // namespace floptally::detail
