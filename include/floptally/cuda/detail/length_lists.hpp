// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/packed.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/sequence.hpp>

/// @file
/// Lists in device memory, as values: one type for the integers of every width, so that what is rare is compiled once.

namespace floptally::detail {

/// Integers in device memory, and the name that errors give them.
struct number_list {
    const void* numbers = nullptr;  ///< null: all zeros
    std::uint32_t bytes = 4;
    bool is_signed = true;
    list_name field{};

    number_list() = default;
    template <integer T>
    number_list(const T* from, list_name name)
        : numbers(from), bytes(sizeof(T)), is_signed(std::is_signed_v<T>), field(name) {}

    /// The 16 bytes that its first number lies in, and how many numbers are before it there.
    [[nodiscard]] const void* aligned() const {
        return static_cast<const char*>(numbers) - reinterpret_cast<std::uintptr_t>(numbers) % 16;
    }
    [[nodiscard]] std::uint32_t lead() const {
        return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(numbers) % 16 / bytes);
    }

    /// Number `i`, with its sign where it has one.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint64_t operator[](std::size_t i) const {
        if (bytes == 8) {
            return static_cast<const std::uint64_t*>(numbers)[i];
        }
        const std::uint32_t narrow = static_cast<const std::uint32_t*>(numbers)[i];
        return is_signed ? static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(narrow)}) : narrow;
    }
    /// Sets `length` to number `i`, or with boundaries to the difference of the next one and it; false where that can
    /// be no length.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool length_at(std::size_t i, bool by_boundaries, std::uint32_t& length) const {
        const std::uint64_t begin = by_boundaries ? (*this)[i] : 0;
        const std::uint64_t end = (*this)[by_boundaries ? i + 1 : i];
        length = static_cast<std::uint32_t>(end - begin);
        const bool negative = is_signed && static_cast<std::int64_t>(begin | end) < 0;
        return !negative && end >= begin && end - begin <= max_sequence_length && (i != 0 || begin == 0);
    }
};

/// A list of integers in device memory, of any width.
struct any_list {
    number_list numbers{};
    std::size_t count = 0;

    any_list() = default;
    template <integer T>
    any_list(std::span<T> all)  // NOLINT(google-explicit-constructor): a view
        : numbers(all.data(), {}), count(all.size()) {}

    [[nodiscard]] number_list named(list_name field) const {
        number_list known = numbers;
        known.field = field;
        return known;
    }
};

/// How the slots of a list of sequences are given.
enum class slots_by : std::uint8_t { sequence, row, boundaries };

/// Sequences and their slots: lengths as given, or the boundaries between them. Those from `num_real` on hold no real
/// token, and the list of the real ones may end there; the number is given by the host or is a word of the device.
struct length_list {
    /// The most sequences, so that a number of them and of what one group has more fits 32 bits.
    static constexpr std::uint32_t most = 0xFFFF'FF00U;

    number_list real{};
    number_list slots{};
    number_list told{};                       ///< the number of real sequences on the device; null: `num_real`
    const void* real_from_groups = nullptr;   ///< the 16 bytes that the first number lies in
    const void* slots_from_groups = nullptr;  ///< as above, of slots
    std::uint32_t listed_real = 0;            ///< sequences that `real` has
    std::uint32_t count = 0;                  ///< sequences, with those that are not real
    std::uint32_t num_real = 0;
    std::uint32_t row_length = 0;  ///< of slots by row
    std::uint32_t flags = 0;       ///< of a refused sequence, as far as all have the same
    std::uint32_t told_flags = 0;  ///< of a refused `told`
    /// −1, by which a length becomes its last row: as an argument, since the difference of three is one instruction.
    std::uint32_t last_row = ~std::uint32_t{0};
    std::uint32_t lead = 0;         ///< numbers before the first in its 16 bytes
    std::uint32_t first_group = 0;  ///< the first of eight that may be taken at a time
    bool by_boundaries = false;
    slots_by slot = slots_by::sequence;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return count; }

    /// The number of real sequences; `wrong_number` where a device's number is wrong: then no sequence is right.
    static constexpr std::uint32_t wrong_number = ~std::uint32_t{0};
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t find_real() const {
        if (told.numbers == nullptr) {
            return num_real;
        }
        const std::uint64_t real_ones = told[0];  // a negative one is above all
        return real_ones <= count ? static_cast<std::uint32_t>(real_ones) : wrong_number;
    }

    /// Sequence `i` and its slot; false where they are wrong.
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
    /// Refuses sequence `i`, of which the host finds the reason in the numbers.
    FLOPTALLY_HOST_DEVICE void refuse_one(std::uint32_t i, std::uint32_t reals, refusal_record* record,
                                          std::uint32_t call) const {
        const bool wrong = reals == wrong_number;
        const refusal_head head = wrong ? refusal_head{refused::num_real_seqs, {}, told_flags}
                                        : refusal_head{refused::listed, real.field,
                                                       flags | (i < listed_real ? refusal_head::has_real : 0) |
                                                           (i < reals ? refusal_head::is_real : 0)};
        refuse_numbers(record, {call, i}, head, 4, [&](std::uint32_t k) -> std::uint64_t {
            if (wrong) {
                return k == 0 ? told[0] : count;
            }
            const bool of_slot = k >= 2;
            if (of_slot ? slot != slots_by::boundaries : i >= listed_real || (k == 1 && !by_boundaries)) {
                return row_length;
            }
            number_list from = real;  // by value: an address that depends on `k` would be one of local memory
            if (of_slot) {
                from = slots;
            }
            return from[i + k % 2];
        });
    }
};

/// The number of samples in a list. Throws where they are too many for a launch.
[[nodiscard]] inline std::uint32_t samples_in(std::size_t count, list_name field) {
    if (count > length_list::most) {
        refuse(name_of(field), {"has ", count, " sequences, above ", length_list::most});
    }
    return static_cast<std::uint32_t>(count);
}

/// Sequences that fill their slots, by their lengths.
[[nodiscard]] inline length_list listed_lengths(const any_list& lengths, list_name field = list_name::lengths) {
    const std::uint32_t sequences = samples_in(lengths.count, field);
    length_list all{.real = lengths.named(field), .listed_real = sequences, .count = sequences, .num_real = sequences};
    all.real_from_groups = all.real.aligned();
    all.lead = all.real.lead();
    all.first_group = all.lead == 0 ? 0 : 1;
    all.flags = all.real.is_signed ? refusal_head::is_signed : 0;
    return all;
}
/// Sequences that fill their slots, by their boundaries.
[[nodiscard]] inline length_list listed_boundaries(any_list boundaries, list_name field = list_name::cu_seqlens) {
    if (boundaries.count == 0) {
        throw error(name_of(field), "needs at least one boundary");
    }
    --boundaries.count;
    length_list all = listed_lengths(boundaries, field);
    all.by_boundaries = true;
    all.flags |= refusal_head::by_boundaries;
    return all;
}
/// The rows of a BSHD batch by their lengths.
[[nodiscard]] inline length_list in_rows(length_list rows, std::uint64_t row_length) {
    require_row_length(row_length);
    rows.slot = slots_by::row;
    rows.flags |= refusal_head::in_row;
    rows.row_length = static_cast<std::uint32_t>(row_length);
    return rows;
}

/// A pack by the boundaries of its sequences and of its slots; there may be more of these.
[[nodiscard]] inline length_list in_slots(length_list pack, const length_list& slots) {
    pack.slots = slots.real;
    pack.slot = slots_by::boundaries;
    pack.flags |= refusal_head::in_slot | (slots.real.is_signed ? refusal_head::slots_are_signed : 0);
    pack.slots_from_groups = slots.real_from_groups;
    pack.first_group = pack.lead == slots.lead ? pack.first_group : ~std::uint32_t{0};
    pack.count = slots.count;
    return pack;
}
/// A pack with as many boundaries of sequences as of slots, of which the first `num_real_seqs` are real: a number, or a
/// word of the device.
template <class Number>
[[nodiscard]] length_list pack_of(const any_list& cu_seqlens, const any_list& cu_seqlens_padded, Number num_real_seqs) {
    if (cu_seqlens_padded.count != cu_seqlens.count) {
        refuse_boundary_count("cu_seqlens_padded", cu_seqlens_padded.count, "cu_seqlens", cu_seqlens.count);
    }
    length_list pack =
        in_slots(listed_boundaries(cu_seqlens), listed_boundaries(cu_seqlens_padded, list_name::cu_seqlens_padded));
    if constexpr (std::is_pointer_v<Number>) {
        pack.told = {num_real_seqs, {}};
        pack.told_flags = pack.told.is_signed ? refusal_head::is_signed : 0;
    } else {
        const auto real_ones = static_cast<std::size_t>(num_real_seqs);
        if (real_ones != all_sequences && real_ones > pack.count) {
            refuse_real_sequences(num_real_seqs, pack.count);
        }
        pack.num_real = static_cast<std::uint32_t>(std::min<std::size_t>(real_ones, pack.count));
    }
    return pack;
}
/// A pack by the boundaries of the real sequences alone and of all slots.
[[nodiscard]] inline length_list real_pack_of(const any_list& cu_seqlens_real, const any_list& slots) {
    const length_list real = listed_boundaries(cu_seqlens_real, list_name::cu_seqlens_real);
    if (cu_seqlens_real.count > slots.count) {
        refuse_boundary_count("cu_seqlens_real", cu_seqlens_real.count, "cu_seqlens", slots.count);
    }
    return in_slots(real, listed_boundaries(slots));
}

}  // namespace floptally::detail
