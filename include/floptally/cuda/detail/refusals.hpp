// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <floptally/batch/unit_amounts.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/integer/host_device.hpp>

namespace floptally::detail {

/// The kind of a refusal, which tells its payload: for the first three a unit and its slot, in the order of `modality`;
/// for the others the wrong number and a number that it was compared with, named here.
enum class refused : std::uint8_t {
    sequence,
    grid,
    audio_clip,
    length,
    in_row,         ///< length, row_length
    start,          ///< the first boundary
    boundary,       ///< a boundary, the one before it
    slot,           ///< length, slot
    flag,           ///< value, columns
    num_real_seqs,  ///< value, sequences
    routed          ///< useful, padded
};

/// Words of a device that record refused additions: the sticky error of a tally. The first refusal, by call and then by
/// place in it, is kept whole, so that the host can raise the error that it would have raised itself.
struct refusal_record {
    static constexpr std::uint32_t payload_size = 6;

    std::uint64_t left_out;  ///< number of refused sequences
    std::uint64_t lock;      ///< guards the words after it
    std::uint64_t first;     ///< 1 + its place in the order; 0: none
    std::uint64_t what;      ///< `refused`
    std::uint64_t payload[payload_size];
    std::uint64_t overflowed[2];  ///< bits of words whose sum no longer fits: useful, padded
};
inline constexpr std::uint32_t refusal_words = sizeof(refusal_record) / sizeof(std::uint64_t);

/// The place of a refusal in their order: 24 bits for the call since the last reset, 39 bits for the index in it.
struct refusal_place {
    static constexpr std::uint32_t index_bits = 39;
    static constexpr std::uint64_t last_index = (std::uint64_t{1} << index_bits) - 1;
    /// The number of the call for samples that a caller's own kernel adds one by one.
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

/// The reason why a thread did not add a value.
struct refusal {
    refused what;
    std::uint64_t payload[refusal_record::payload_size]{};

    /// The refusal of a wrong number: the number, the number it is compared with, and the name of its argument, a text
    /// of the host whose address the device hands back. The type tells whether it has a sign.
    template <std::integral T>
    FLOPTALLY_HOST_DEVICE refusal(refused kind, T value, std::uint64_t other = 0, const char* field = nullptr)
        : what(kind),
          payload{static_cast<std::uint64_t>(value), other, std::is_signed_v<T>,
                  reinterpret_cast<std::uintptr_t>(field)} {}
    template <class Unit>
    FLOPTALLY_HOST_DEVICE refusal(const Unit& real, const Unit& slot) : what(static_cast<refused>(modality_of(real))) {
        const Unit both[] = {real, slot};
        static_assert(sizeof(both) <= sizeof(payload));
        std::memcpy(payload, both, sizeof(both));
    }
};

/// Counts refused sequences and keeps the first refusal of all.
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
    // Taken and given back in one iteration, so that threads of one warp do not wait for each other.
    for (bool done = false; !done;) {
        if (atomic_or(&record->lock, 1) != 0) {
            continue;
        }
        fence_for_all();
        if (is_first()) {
            record->what = static_cast<std::uint64_t>(seen.what);
            for (std::uint32_t i = 0; i < refusal_record::payload_size; ++i) {
                record->payload[i] = seen.payload[i];
            }
            record->first = key;
        }
        fence_for_all();
        atomic_store(&record->lock, 0);
        done = true;
    }
}

}  // namespace floptally::detail
