// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/cuda/detail/block.hpp>
#include <floptally/integer/host_device.hpp>

namespace floptally::inline v0_3::detail {

/// The reasons why the device does not add a sample. A record stores a reason together with numbers. For the first
/// three reasons (in the order of `modality`) these numbers are the sizes of the sample and the padded sizes of its
/// slot. For any other reason, the comment of the reason says which 64-bit numbers are stored.
enum class refused : std::uint8_t {
    sequence,
    grid,
    audio_clip,
    listed,  ///< A sequence of a list is invalid. Stored: the lengths, or the boundaries, of the sequence and of its
             ///< slot.
    length,  ///< A sample has a number that cannot be a length. Stored: that number.
    flag,    ///< An invalid flag of an attention mask. Stored: the flag, and the number of the mask's columns.
    num_real_seqs,  ///< An invalid number of real sequences. Stored: that number, and the number of all sequences.
    routed          ///< An invalid number of visits of tokens to experts. Stored: the useful and the padded visits.
};

/// The list of numbers that a refusal is about. `name_of` returns the list's name in errors.
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

/// The head of a refusal, in 16 bits: the reason, the list of numbers that has the error, and flags.
struct refusal_head {
    refused kind{};
    list_name field{};
    std::uint32_t flags = 0;

    static constexpr std::uint32_t is_signed = 1;
    // The flags from here on are used only with `refused::listed`. Each flag is one bit.
    static constexpr std::uint32_t by_boundaries = 2;
    static constexpr std::uint32_t in_row = 4;
    static constexpr std::uint32_t in_slot = 8;
    static constexpr std::uint32_t slots_are_signed = 16;
    static constexpr std::uint32_t has_real = 32;  ///< set if `length_list::real` contains the sequence
    static constexpr std::uint32_t is_real = 64;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t bits() const {
        return static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(field) << 4U | flags << 8U;
    }
    [[nodiscard]] static constexpr refusal_head of(std::uint32_t bits) {
        return {static_cast<refused>(bits & 0xFU), static_cast<list_name>(bits >> 4U & 0xFU), bits >> 8U};
    }
};

/// The position of a refusal: the number of the call since the last reset (14 bits) and the index within the call (34
/// bits).
struct refusal_place {
    static constexpr std::uint32_t index_bits = 34;
    static constexpr std::uint64_t last_index = (std::uint64_t{1} << index_bits) - 2;
    /// The call number for samples that the user's own kernel adds one at a time.
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

/// A record of refused additions in device memory. It keeps the first error of a tally until a reset.
///
/// The first refusal (by call, then by index in the call) is stored completely, so that the host can throw the same
/// error as a host tally. It is stored in several words, and each word has the refusal's position in its high bits. A
/// word keeps the smallest of all values that threads write to it. So all words belong to the first refusal, and no
/// thread waits. Words are stored as their complement, because 0 means no refusal.
struct refusal_record {
    static constexpr std::uint32_t words = 16;             ///< number of 32-bit words of a refusal; enough for two
                                                           ///< grids
    static constexpr std::uint32_t parts = 2 + 2 * words;  ///< number of integers that a record stores: a head, a
                                                           ///< checksum, and two for each word

    std::uint64_t left_out;       ///< number of refused sequences
    std::uint64_t overflowed[2];  ///< for the useful and the padded view: one bit for each accumulator that has
                                  ///< overflowed
    std::uint64_t first[parts];

    [[nodiscard]] static FLOPTALLY_HOST_DEVICE constexpr std::uint64_t key_of(std::uint64_t word) {
        return ~word >> 16U;
    }
    /// Adds one more word to a check sum. If several refusals have the same position, their parts may be mixed in the
    /// record. The check sum then does not match.
    [[nodiscard]] static FLOPTALLY_HOST_DEVICE constexpr std::uint32_t check(std::uint32_t sum, std::uint32_t word) {
        return sum * 0x9E37'79B1U + word;
    }
};
inline constexpr std::uint32_t refusal_words = sizeof(refusal_record) / sizeof(std::uint64_t);

/// Counts the samples that a kernel refuses, and writes the first of them to a `refusal_record` for the host.
class refusal_writer {
  public:
    /// Counts a refused sample. If the record has no earlier refusal, calls `each_word(*this)` to write the sample into
    /// the record.
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

/// Counts a refused sample. Stores it if it is the first refusal. `number(i)` returns number `i` of the `count` numbers
/// that the host needs for the error.
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
/// Records a refused number and the number with which it was compared.
inline FLOPTALLY_HOST_DEVICE void refuse(refusal_record* record, const refusal_place& where, const refusal_head& head,
                                         std::uint64_t value, std::uint64_t other) {
    refuse_numbers(record, where, head, 2, [&](std::uint32_t i) { return i == 0 ? value : other; });
}
/// Records a refused sample and its slot.
template <class Unit>
FLOPTALLY_HOST_DEVICE void refuse(refusal_record* record, const refusal_place& where, const Unit& real,
                                  const Unit& slot) {
    constexpr std::size_t size = sizeof(Unit) / sizeof(std::uint32_t);
    static_assert(2 * size <= refusal_record::words);
    struct words {
        std::uint32_t values[size];
    };
    const auto first = __builtin_bit_cast(words, real);
    const auto second = __builtin_bit_cast(words, slot);
    refusal_writer(record, where, {static_cast<refused>(modality_of(real))}, [&](refusal_writer& to) {
        FLOPTALLY_UNROLLED
        for (std::uint32_t i = 0; i < 2 * size; ++i) {
            to.put_word(i, i < size ? first.values[i] : second.values[i - size]);
        }
    });
}

}  // namespace floptally::detail
