// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include <floptally/batch/attention_mask.hpp>
#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Words of a device, read by the host: a tally, or the error that a kernel could not throw.

namespace floptally {

/// The error for sequences that a device left out. Field and text are those that the host would have raised for the
/// first.
class left_out : public error {
  public:
    left_out(const error& first, const std::string& where, std::uint64_t sequences, const tally& counted)
        : error(first.field(), std::string(first.problem()).append(where)), sequences_(sequences), counted_(counted) {}

    /// The number of sequences that were left out.
    [[nodiscard]] std::uint64_t sequences() const noexcept { return sequences_; }
    /// The tally of all the other sequences.
    [[nodiscard]] const tally& counted() const noexcept { return counted_; }

  private:
    std::uint64_t sequences_;
    tally counted_;
};

namespace detail {

/// The first refusal of a device, put together from the words of its record.
struct read_refusal {
    refusal_place place{};
    refusal_head head{};
    std::uint32_t words[refusal_record::words]{};
    bool is_whole = false;  ///< false where several refusals had one place

    explicit read_refusal(const refusal_record& record) {
        const std::uint64_t key = refusal_record::key_of(record.first[0]);
        const auto is_own = [&](std::size_t i) { return refusal_record::key_of(record.first[i]) == key; };
        const auto part = [&](std::size_t i) { return static_cast<std::uint32_t>(~record.first[i] & 0xFFFFU); };
        place = refusal_place::of(key);
        head = refusal_head::of(part(0));
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < refusal_record::words && is_own(2 + 2 * i); ++i) {  // later ones have more words
            words[i] = part(2 + 2 * i) | part(3 + 2 * i) << 16U;
            sum = refusal_record::check(sum, words[i]);
        }
        is_whole = sum >> 16U == part(1);
    }

    [[nodiscard]] std::uint64_t number(std::size_t i) const {
        return words[2 * i] | std::uint64_t{words[2 * i + 1]} << 32U;
    }
    [[nodiscard]] bool has(std::uint32_t flag) const { return (head.flags & flag) != 0; }

    /// Throws where a number, or the boundaries from it on, make no length; else returns it.
    [[nodiscard]] std::uint64_t length_at(std::size_t i, list_name field, bool is_signed, bool by_boundaries) const {
        const auto length = [&]<class T>(T first, T next) {
            const T begin = by_boundaries ? first : 0;
            const T end = by_boundaries ? next : first;
            const std::uint64_t between = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
            if (place.index == 0) {
                require_start(name_of(field), begin);
            }
            if (std::cmp_less(begin, 0) || end < begin || between > max_sequence_length) {
                by_boundaries ? refuse_boundary(name_of(field), place.index + 1, begin, end)
                              : refuse_length(name_of(field), place.index, end);
            }
            return between;
        };
        return is_signed ? length(static_cast<std::int64_t>(number(i)), static_cast<std::int64_t>(number(i + 1)))
                         : length(number(i), number(i + 1));
    }
    /// Throws the error that a tally of the host has for a sequence of lists, or its slot.
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
    /// Throws the error that a tally of the host has for a number, of the type that its sign gives it.
    template <integer T>
    void repeat_number(T value) const {
        switch (head.what) {
            case refused::length:
                refuse_length(name_of(head.field), place.index, value);
            case refused::flag:
                refuse_flag(static_cast<std::int64_t>(value), place.index, number(1));
            case refused::num_real_seqs:
                refuse_real_sequences(value, number(1));
            default:
                return tally{mask_set{}}.add_routed(static_cast<std::uint64_t>(value), number(1));
        }
    }
    /// Throws the error that a tally of the host has for a refused unit and its slot.
    template <class Unit>
    void repeat_unit(const mask_set& masks) const {
        Unit real_and_slot[2];
        std::memcpy(real_and_slot, words, sizeof(real_and_slot));
        tally{masks}.add(real_and_slot[0], real_and_slot[1]);
    }
    /// Throws the error that a tally of the host has.
    void repeat(const mask_set& masks) const {
        if (!is_whole) {
            throw error("device", "several refused samples have one index, so that nothing says which came first");
        }
        switch (head.what) {
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

    /// The place as text: " (index 3 of add 2 since the reset, the first of 5 that the device left out)".
    [[nodiscard]] std::string where(std::uint64_t left_out) const {
        const std::string call = place.call == refusal_place::own_kernel
                                     ? " in a kernel of your own"
                                     : text_of({" of add ", place.call, " since the reset"});
        return text_of({" (index ", place.index, call, ", the first of ", left_out, " that the device left out)"});
    }
};

/// The tally made of a device's words, which the record of refusals follows. Throws the recorded error.
[[nodiscard]] inline tally tally_of_device(const mask_set& masks, std::span<const std::uint64_t> words) {
    const std::size_t counted = words.size() - refusal_words;
    refusal_record record;
    std::memcpy(&record, words.data() + counted, sizeof(record));
    for (const std::uint64_t overflowed : record.overflowed) {
        for (std::size_t word = 0; word < counted / 2; ++word) {
            if ((overflowed >> word & 1U) != 0) {
                tally_words(masks).throw_overflow(word);
            }
        }
    }
    tally batch = tally::from_words(masks, words.first(counted));
    if (record.left_out != 0) {
        const read_refusal seen(record);
        const std::string where = seen.where(record.left_out);
        try {
            seen.repeat(masks);
        } catch (const error& first) {
            throw left_out(first, where, record.left_out, batch);
        }
        throw left_out(error("device", "a kernel refused a sample that the host takes"), where, record.left_out, batch);
    }
    return batch;
}

}  // namespace detail

}  // namespace floptally
