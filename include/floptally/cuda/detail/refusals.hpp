// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/unit_amounts.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/integer/host_device.hpp>

namespace floptally::detail {

/// The kind of a refusal, which tells its numbers: for the first three a unit and its slot, in the order of `modality`;
/// for the others numbers of 64 bits, named here.
enum class refused : std::uint8_t {
    sequence,
    grid,
    audio_clip,
    listed,         ///< of lists of lengths: a length and its slot, or both boundaries of each
    length,         ///< a part of a sample
    flag,           ///< value, columns
    num_real_seqs,  ///< value, sequences
    routed          ///< useful, padded
};

/// A list of numbers, by the name that errors give it.
enum class list_name : std::uint8_t {
    lengths,
    cu_seqlens,
    cu_seqlens_padded,
    cu_seqlens_real,
    past,
    encoder_lengths,
    contextual,
    targets,
    grid_thw,
    audio_frames
};
[[nodiscard]] constexpr const char* name_of(list_name field) {
    constexpr const char* names[] = {"lengths",  "cu_seqlens",      "cu_seqlens_padded", "cu_seqlens_real",
                                     "past",     "encoder_lengths", "contextual",        "targets",
                                     "grid_thw", "audio_frames"};
    return names[static_cast<std::size_t>(field)];
}

/// The head of a refusal, which tells the host of it beside its numbers, in 16 bits.
struct refusal_head {
    refused what{};
    list_name field{};
    std::uint32_t flags = 0;

    static constexpr std::uint32_t is_signed = 1;
    // For `refused::listed`:
    static constexpr std::uint32_t by_boundaries = 2;
    static constexpr std::uint32_t in_row = 4;
    static constexpr std::uint32_t in_slot = 8;
    static constexpr std::uint32_t slots_are_signed = 16;
    static constexpr std::uint32_t has_real = 32;  ///< the list of real ones goes so far
    static constexpr std::uint32_t is_real = 64;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t bits() const {
        return static_cast<std::uint32_t>(what) | static_cast<std::uint32_t>(field) << 4U | flags << 8U;
    }
    [[nodiscard]] static constexpr refusal_head of(std::uint32_t bits) {
        return {static_cast<refused>(bits & 0xFU), static_cast<list_name>(bits >> 4U & 0xFU), bits >> 8U};
    }
};

/// The place of a refusal in their order: 14 bits for the call since the last reset, 34 for the index in it.
struct refusal_place {
    static constexpr std::uint32_t index_bits = 34;
    static constexpr std::uint64_t last_index = (std::uint64_t{1} << index_bits) - 2;
    /// The number of the call for samples that a caller's own kernel adds one by one.
    static constexpr std::uint32_t own_kernel = 0x3FFF;

    std::uint32_t call = 0;
    std::uint64_t index = 0;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t key() const {
        const std::uint32_t counted = call < own_kernel ? call : own_kernel;
        return std::uint64_t{counted} << index_bits | (index < last_index ? index : last_index);
    }
    [[nodiscard]] static constexpr refusal_place of(std::uint64_t key) {
        return {static_cast<std::uint32_t>(key >> index_bits), key & (last_index + 1)};
    }
};

/// Words of a device that record refused additions: the sticky error of a tally.
///
/// The first refusal, by call and then by place in it, is kept whole, so that the host can raise the error that it
/// would have raised itself. Each part of it is in a word of its own below its place, and the smallest stays: so every
/// word is of the same refusal, whichever thread comes first, and no thread waits. Words hold the complement, since 0
/// is none.
struct refusal_record {
    static constexpr std::uint32_t words = 16;             ///< of 32 bits, in two parts each: two grids
    static constexpr std::uint32_t parts = 2 + 2 * words;  ///< the head and a check sum before them

    std::uint64_t left_out;       ///< number of refused sequences
    std::uint64_t overflowed[2];  ///< bits of words whose sum no longer fits: useful, padded
    std::uint64_t first[parts];

    [[nodiscard]] static FLOPTALLY_HOST_DEVICE constexpr std::uint64_t key_of(std::uint64_t word) {
        return ~word >> 16U;
    }
    /// The check sum with one more word: by it the host sees parts of refusals that had one place.
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE constexpr std::uint32_t check(std::uint32_t sum, std::uint32_t word) {
        return sum * 0x9E37'79B1U + word;
    }
};
inline constexpr std::uint32_t refusal_words = sizeof(refusal_record) / sizeof(std::uint64_t);

/// A refusal that is being written.
class refusal_writer {
  public:
    /// Counts a refused sample, and writes it with `each_word(*this)` where no earlier one is there already.
    template <class EachWord>
    FLOPTALLY_HOST_DEVICE refusal_writer(refusal_record* record, const refusal_place& where, const refusal_head& head,
                                         const EachWord& each_word)
        : record_(record), key_(where.key()) {
        atomic_add(&record->left_out, 1);
        if (key_ < refusal_record::key_of(atomic_load(&record->first[0]))) {
            each_word(*this);
            put(0, head.bits());
            put(1, sum_ >> 16U);
        }
    }
    FLOPTALLY_HOST_DEVICE void put_word(std::uint32_t i, std::uint32_t word) {
        put(2 + 2 * i, word & 0xFFFFU);
        put(3 + 2 * i, word >> 16U);
        sum_ = refusal_record::check(sum_, word);
    }

  private:
    FLOPTALLY_HOST_DEVICE void put(std::uint32_t part, std::uint32_t bits) {
        atomic_max(&record_->first[part], ~(key_ << 16U | bits));
    }

    refusal_record* record_;
    std::uint64_t key_;
    std::uint32_t sum_ = 0;
};

/// Counts a refused sample and keeps the first refusal of all; `number(i)` is number `i` of `count` that the host
/// needs.
template <class Number>
FLOPTALLY_HOST_DEVICE void refuse_numbers(refusal_record* record, const refusal_place& where, const refusal_head& head,
                                          std::uint32_t count, const Number& number) {
    refusal_writer(record, where, head, [&](refusal_writer& to) {
        FLOPTALLY_ROLLED
        for (std::uint32_t word = 0; word < 2 * count; ++word) {
            const std::uint64_t value = number(word / 2);
            to.put_word(word, static_cast<std::uint32_t>(word % 2 == 0 ? value : value >> 32U));
        }
    });
}
/// As above, for a number and one that it was compared with.
inline FLOPTALLY_HOST_DEVICE void refuse(refusal_record* record, const refusal_place& where, const refusal_head& head,
                                         std::uint64_t value, std::uint64_t other) {
    refuse_numbers(record, where, head, 2, [&](std::uint32_t i) { return i == 0 ? value : other; });
}
/// As above, for a unit and its slot.
template <class Unit>
FLOPTALLY_HOST_DEVICE void refuse(refusal_record* record, const refusal_place& where, const Unit& real,
                                  const Unit& slot) {
    constexpr std::size_t size = sizeof(Unit) / sizeof(std::uint32_t);
    static_assert(2 * size <= refusal_record::words);
    struct words {
        std::uint32_t of[size];
    };
    const auto first = __builtin_bit_cast(words, real);
    const auto second = __builtin_bit_cast(words, slot);
    refusal_writer(record, where, {static_cast<refused>(modality_of(real))}, [&](refusal_writer& to) {
        FLOPTALLY_UNROLLED
        for (std::uint32_t i = 0; i < 2 * size; ++i) {
            to.put_word(i, i < size ? first.of[i] : second.of[i - size]);
        }
    });
}

}  // namespace floptally::detail
