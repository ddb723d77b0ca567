// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <floptally/batch/formats.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/sequence.hpp>

/// @file
/// Lists of integers in device memory. Their types do not depend on the width of the integers, so that rarely used code
/// is compiled only once.

namespace floptally::inline v0_3::detail {

/// A list of integers in device memory: its address, the width of its integers, and its name in errors.
struct number_list {
    const void* numbers = nullptr;  ///< address of the integers; null: all are 0
    std::uint32_t bytes = 4;
    bool is_signed = true;
    list_name field{};

    number_list() = default;
    template <integer T>
    number_list(const T* from, list_name name)
        : numbers(from), bytes(sizeof(T)), is_signed(std::is_signed_v<T>), field(name) {}

    /// Returns the 16-byte aligned address at or before the first number. Sets `lead` to the number of integers between
    /// that address and the first number.
    [[nodiscard]] const void* aligned() const {
        return static_cast<const char*>(numbers) - reinterpret_cast<std::uintptr_t>(numbers) % 16;
    }
    [[nodiscard]] std::uint32_t lead() const {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(numbers) % 16 / bytes);
    }

    /// Returns number `i` of the list, sign-extended if its type is signed.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t operator[](std::size_t i) const {
        if (bytes == 8) {
            return static_cast<const std::uint64_t*>(numbers)[i];
        }
        const std::uint32_t narrow = static_cast<const std::uint32_t*>(numbers)[i];
        return is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(narrow)}) : narrow;
    }
    /// Reads a length. If the list has boundaries, the length is number i + 1 minus number i, else number i. Returns
    /// false if the result cannot be a length.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool length_at(std::size_t i, bool by_boundaries, std::uint32_t& length) const {
        const std::uint64_t begin = by_boundaries ? (*this)[i] : 0;
        const std::uint64_t end = (*this)[by_boundaries ? i + 1 : i];
        length = static_cast<std::uint32_t>(end - begin);
        const bool negative = is_signed && static_cast<std::int64_t>(begin | end) < 0;
        return !negative && end >= begin && end - begin <= max_sequence_length && (i != 0 || begin == 0);
    }
};

/// A list of integers of any width in device memory.
struct any_list {
    number_list numbers{};
    std::size_t count = 0;

    any_list() = default;
    template <integer T>
    any_list(std::span<T> all)  // NOLINT(google-explicit-constructor): a view
        : numbers(all.data(), {}), count(all.size()) {}

    [[nodiscard]] number_list named(list_name field) const {
        number_list list = numbers;
        list.field = field;
        return list;
    }
};

/// The form in which a caller passes the slots of sequences. `sequence`: each sequence fills its slot, without padding.
/// `row`: all slots are rows of one length. `boundaries`: a list has the boundaries of the slots.
enum class slots_by : std::uint8_t { sequence, row, boundaries };

/// A list of sequences and their slots, given by lengths or by boundaries. Only the first sequences have real tokens,
/// and `real` may omit the others. The number of real sequences is in `num_real`, or in device memory
/// (`device_number`).
struct length_list {
    /// The largest number of sequences in a list. This number, rounded up to a whole group, fits 32 bits.
    static constexpr std::uint32_t most = 0xFFFF'FF00U;

    number_list real{};
    number_list slots{};
    number_list device_number{};  ///< the number of real sequences in device memory; null: `num_real` has the number
    const void* real_from_groups = nullptr;   ///< the 16-byte aligned address at or before the first number of `real`
    const void* slots_from_groups = nullptr;  ///< the 16-byte aligned address at or before the first number of `slots`
    std::uint32_t listed_real = 0;            ///< number of sequences in the list `real`
    std::uint32_t count = 0;                  ///< number of all sequences, real and mock
    std::uint32_t num_real = 0;
    std::uint32_t row_length = 0;           ///< length of each row in tokens, if the slots are rows
    std::uint32_t flags = 0;                ///< flags of the refusal record if a sequence of the list is refused
    std::uint32_t device_number_flags = 0;  ///< flags of the refusal record if `device_number` is refused
    /// The value −1. It is added to a length L to get L − 1. It is a variable and not a constant, because GPUs add
    /// three variables with one instruction.
    std::uint32_t last_row = ~std::uint32_t{0};
    std::uint32_t lead = 0;         ///< number of integers between the 16-byte aligned address and the first number of
                                    ///< the list
    std::uint32_t first_group = 0;  ///< index of the first group of lengths that can be loaded in whole 16 bytes
    bool by_boundaries = false;
    slots_by slot = slots_by::sequence;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return count; }

    /// The result of `find_real` for an invalid number of real sequences in device memory. Every sequence is then
    /// refused.
    static constexpr std::uint32_t wrong_number = ~std::uint32_t{0};
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t find_real() const {
        if (device_number.numbers == nullptr) {
            return num_real;
        }
        // As an unsigned integer, a negative number is larger than any number of sequences.
        const std::uint64_t real_count = device_number[0];
        return real_count <= count ? static_cast<std::uint32_t>(real_count) : wrong_number;
    }

    /// Sets `length` and `slot_length` for sequence `i`. The first `reals` sequences are real. Returns false if a
    /// length is invalid.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool take(std::uint32_t i, std::uint32_t reals, std::uint32_t& length,
                                                  std::uint32_t& slot_length) const {
        length = 0;
        bool right = i >= listed_real || real.length_at(i, by_boundaries, length);
        slot_length = slot == slots_by::row ? row_length : length;
        if (slot == slots_by::boundaries) {
            right = slots.length_at(i, true, slot_length) && right;
        }
        length = i < reals ? length : 0;
        return right && length <= slot_length && reals != wrong_number;
    }
    /// Records the refusal of sequence `i`, with the numbers that the host needs to find the reason.
    FLOPTALLY_HOST_DEVICE void refuse_sequence(std::uint32_t i, std::uint32_t reals, refusal_record* record,
                                               std::uint32_t call) const {
        const bool wrong = reals == wrong_number;
        const refusal_head head = wrong ? refusal_head{refused::num_real_seqs, {}, device_number_flags}
                                        : refusal_head{refused::listed, real.field,
                                                       flags | (i < listed_real ? refusal_head::has_real : 0) |
                                                           (i < reals ? refusal_head::is_real : 0)};
        refuse_numbers(record, {call, i}, head, 4, [&](std::uint32_t k) -> std::uint64_t {
            if (wrong) {
                return k == 0 ? device_number[0] : count;
            }
            const bool is_slot = k >= 2;
            if (is_slot ? slot != slots_by::boundaries : i >= listed_real || (k == 1 && !by_boundaries)) {
                return row_length;
            }
            // The list is copied. If its address depended on `k`, the compiler would move both lists to slow local
            // memory.
            number_list list = real;
            if (is_slot) {
                list = slots;
            }
            return list[i + k % 2];
        });
    }
};

/// Returns the number of samples in a list. Throws `error` if they are too many for a launch.
[[nodiscard]] inline std::uint32_t samples_in(std::size_t count, list_name field) {
    if (count > length_list::most) {
        refuse(name_of(field),
               {"must have at most ", length_list::most, " sequences, got ", count, ": add them in several calls"});
    }
    return static_cast<std::uint32_t>(count);
}

/// Returns a list of sequences without padding, from their lengths.
[[nodiscard]] inline length_list length_list_of(const any_list& lengths, list_name field = list_name::lengths) {
    const std::uint32_t sequences = samples_in(lengths.count, field);
    length_list list{.real = lengths.named(field), .listed_real = sequences, .count = sequences, .num_real = sequences};
    list.real_from_groups = list.real.aligned();
    list.lead = list.real.lead();
    list.first_group = list.lead == 0 ? 0 : 1;
    list.flags = list.real.is_signed ? refusal_head::is_signed : 0;
    return list;
}
/// Returns a list of sequences without padding, from their boundaries.
[[nodiscard]] inline length_list listed_boundaries(any_list boundaries, list_name field = list_name::cu_seqlens) {
    if (boundaries.count == 0) {
        throw error(name_of(field), "must have at least one boundary, the 0 at its beginning, got none");
    }
    --boundaries.count;
    length_list list = length_list_of(boundaries, field);
    list.by_boundaries = true;
    list.flags |= refusal_head::by_boundaries;
    return list;
}
/// Returns the list with slots for a padded batch [B, S]: each slot is a row of `row_length` tokens.
[[nodiscard]] inline length_list in_rows(length_list rows, std::uint64_t row_length) {
    require_row_length(row_length);
    rows.slot = slots_by::row;
    rows.flags |= refusal_head::in_row;
    rows.row_length = static_cast<std::uint32_t>(row_length);
    return rows;
}

/// Returns a pack from the boundaries of its sequences and those of its slots. There may be more slots than sequences.
[[nodiscard]] inline length_list in_slots(length_list pack, const length_list& slots) {
    pack.slots = slots.real;
    pack.slot = slots_by::boundaries;
    pack.flags |= refusal_head::in_slot | (slots.real.is_signed ? refusal_head::slots_are_signed : 0);
    pack.slots_from_groups = slots.real_from_groups;
    pack.first_group = pack.lead == slots.lead ? pack.first_group : ~std::uint32_t{0};
    pack.count = slots.count;
    return pack;
}
/// Returns a pack with one slot for each sequence. The first `num_real_seqs` sequences are real. `num_real_seqs` is a
/// number, or a pointer to a number in device memory.
template <class Number>
[[nodiscard]] length_list pack_of(const any_list& cu_seqlens, const any_list& cu_seqlens_padded, Number num_real_seqs) {
    if (cu_seqlens_padded.count != cu_seqlens.count) {
        refuse_boundary_count("cu_seqlens_padded", cu_seqlens_padded.count, "cu_seqlens", cu_seqlens.count);
    }
    length_list pack =
        in_slots(listed_boundaries(cu_seqlens), listed_boundaries(cu_seqlens_padded, list_name::cu_seqlens_padded));
    if constexpr (std::is_pointer_v<Number>) {
        pack.device_number = {num_real_seqs, {}};
        pack.device_number_flags = pack.device_number.is_signed ? refusal_head::is_signed : 0;
    } else {
        const auto real_count = static_cast<std::size_t>(num_real_seqs);
        if (real_count != all_sequences && real_count > pack.count) {
            refuse_real_sequences(num_real_seqs, pack.count);
        }
        pack.num_real = static_cast<std::uint32_t>(std::min<std::size_t>(real_count, pack.count));
    }
    return pack;
}
/// Returns a pack from the boundaries of the real sequences and those of all slots.
[[nodiscard]] inline length_list real_pack_of(const any_list& cu_seqlens_real, const any_list& slots) {
    const length_list real = listed_boundaries(cu_seqlens_real, list_name::cu_seqlens_real);
    if (cu_seqlens_real.count > slots.count) {
        refuse_boundary_count("cu_seqlens_real", cu_seqlens_real.count, "cu_seqlens", slots.count);
    }
    return in_slots(real, listed_boundaries(slots));
}

}  // namespace floptally::detail
