// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <floptally/batch/formats.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Converts a device's accumulators to a tally on the host. Throws the errors that kernels found, because kernels
/// cannot throw.

namespace floptally::inline v0_3 {

/// The error for sequences that a device could not count. Its field and text are those of the error that a host tally
/// throws for the first such sequence.
class left_out : public error {
  public:
    left_out(const error& first, const std::string& where, std::uint64_t sequences, const tally& counted)
        : error(first.field(), std::string(first.problem()).append(where)), sequences_(sequences), counted_(counted) {}

    /// Returns the number of sequences that were left out.
    [[nodiscard]] std::uint64_t sequences() const noexcept { return sequences_; }
    /// Returns the tally of all sequences that were not left out.
    [[nodiscard]] const tally& counted() const noexcept { return counted_; }

  private:
    std::uint64_t sequences_;
    tally counted_;
};

namespace detail {

/// The first refusal of a device, restored from the words of its record.
struct read_refusal {
    refusal_place place{};
    refusal_head head{};
    std::uint32_t words[refusal_record::words]{};
    bool is_whole = false;  ///< false: the record has parts of several refusals with the same position

    explicit read_refusal(const refusal_record& record) {
        const std::uint64_t key = refusal_record::key_of(record.first[0]);
        const auto is_own = [&](std::size_t i) { return refusal_record::key_of(record.first[i]) == key; };
        const auto part = [&](std::size_t i) { return static_cast<std::uint32_t>(~record.first[i] & 0xFFFFU); };
        place = refusal_place::of(key);
        head = refusal_head::of(part(0));
        std::uint32_t sum = 0;
        // The loop stops at the first word that belongs to another refusal.
        for (std::size_t i = 0; i < refusal_record::words && is_own(2 + 2 * i); ++i) {
            words[i] = part(2 + 2 * i) | part(3 + 2 * i) << 16U;
            sum = refusal_record::check(sum, words[i]);
        }
        is_whole = sum >> 16U == part(1);
    }

    [[nodiscard]] std::uint64_t number(std::size_t i) const {
        return words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32U;
    }
    [[nodiscard]] bool has(std::uint32_t flag) const { return (head.flags & flag) != 0; }

    /// Returns number `i` of the refusal as a length. With `by_boundaries` it returns the difference of two boundaries.
    /// Throws `error` if the result cannot be a length.
    [[nodiscard]] std::uint64_t length_at(std::size_t i, list_name field, bool is_signed, bool by_boundaries) const {
        const auto length = [&]<class T>(T first, T next) {
            const T begin = by_boundaries ? first : 0;
            const T end = by_boundaries ? next : first;
            const std::uint64_t difference = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
            if (place.index == 0) {
                require_start(name_of(field), begin);
            }
            if (std::cmp_less(begin, 0) || end < begin || difference > max_sequence_length) {
                by_boundaries ? refuse_boundary(name_of(field), place.index + 1, begin, end)
                              : refuse_length(name_of(field), place.index, end);
            }
            return difference;
        };
        return is_signed ? length(static_cast<std::int64_t>(number(i)), static_cast<std::int64_t>(number(i + 1)))
                         : length(number(i), number(i + 1));
    }
    /// Throws the error that a host tally throws for a listed sequence or for its slot.
    void repeat_listed() const {
        std::uint64_t length = 0;
        if (has(refusal_head::has_real)) {
            length = length_at(0, head.field, has(refusal_head::is_signed), has(refusal_head::by_boundaries));
        }
        length = has(refusal_head::is_real) ? length : 0;
        if (has(refusal_head::in_row)) {
            return require_in_row(name_of(head.field), place.index, length, number(2));
        }
        const list_name slots =
            head.field == list_name::cu_seqlens_real ? list_name::cu_seqlens : list_name::cu_seqlens_padded;
        require_slot(place.index, length, length_at(2, slots, has(refusal_head::slots_are_signed), true),
                     name_of(slots));
    }
    /// Throws the error that a host tally throws for the refused number `value`.
    template <integer T>
    void repeat_number(T value) const {
        switch (head.kind) {
            case refused::length:
                refuse_length(name_of(head.field), place.index, value);
            case refused::flag:
                refuse_flag(static_cast<std::int64_t>(value), place.index, number(1));
            case refused::num_real_seqs:
                refuse_real_sequences(value, number(1));
            default:
                return tally{mask_set{}}.add_routed({.useful = static_cast<std::uint64_t>(value), .padded = number(1)});
        }
    }
    /// Throws the error that a host tally throws for a refused sample and its slot.
    template <class Unit>
    void repeat_unit(const mask_set& masks) const {
        Unit real_and_slot[2];
        std::memcpy(real_and_slot, words, sizeof(real_and_slot));
        tally{masks}.add(real_and_slot[0], real_and_slot[1]);
    }
    /// Throws the error that a host tally throws for this refusal.
    void repeat(const mask_set& masks) const {
        if (!is_whole) {
            throw error("device",
                        "several invalid samples have the same index, so that the first is unknown: pass a different "
                        "index with each sample");
        }
        switch (head.kind) {
            case refused::sequence:
                return repeat_unit<sequence>(masks);
            case refused::grid:
                return repeat_unit<grid>(masks);
            case refused::audio_clip:
                return repeat_unit<audio_clip>(masks);
            case refused::listed:
                return repeat_listed();
            default:
                return has(refusal_head::is_signed) ? repeat_number(static_cast<std::int64_t>(number(0)))
                                                    : repeat_number(number(0));
        }
    }

    /// Returns a text that says which sequence the device refused: " (index 3 of add 2 since the reset, the first of 5
    /// that the device left out)".
    [[nodiscard]] std::string where(std::uint64_t left_out) const {
        const std::string call = place.call == refusal_place::own_kernel
                                     ? " in a kernel of your own"
                                     : text_of({" of add ", place.call, " since the reset"});
        return text_of({" (index ", place.index, call, ", the first of ", left_out, " that the device left out)"});
    }
};

/// Makes a tally from a device's accumulators. The record of refusals is at the end of `accumulators`. Throws the
/// recorded error if there is one.
[[nodiscard]] inline tally tally_of_device(const mask_set& masks, std::span<const std::uint64_t> accumulators) {
    const std::size_t counted = accumulators.size() - refusal_words;
    refusal_record record;
    std::memcpy(&record, accumulators.data() + counted, sizeof(record));
    for (const std::uint64_t overflowed : record.overflowed) {
        for (std::size_t accumulator = 0; accumulator < counted / 2; ++accumulator) {
            if ((overflowed >> accumulator & 1U) != 0) {
                tally_accumulators(masks).throw_overflow(accumulator);
            }
        }
    }
    tally batch = tally::from_accumulators(masks, accumulators.first(counted));
    if (record.left_out != 0) {
        const read_refusal refusal(record);
        const std::string where = refusal.where(record.left_out);
        try {
            refusal.repeat(masks);
        } catch (const error& first) {
            throw left_out(first, where, record.left_out, batch);
        }
        throw left_out(error("device", "a kernel refused a sample that the host accepts: please report this"), where,
                       record.left_out, batch);
    }
    return batch;
}

}  // namespace detail

}  // namespace floptally
