// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

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

/// Throws the error that a tally of the host has for a refused number, of the type that its sign gives it.
template <integer T>
void repeat_refusal(const refusal_record& record, std::size_t index, T value) {
    const auto amount = static_cast<std::uint64_t>(value);
    const std::uint64_t other = record.payload[1];
    const char* const field = reinterpret_cast<const char*>(record.payload[3]);
    switch (static_cast<refused>(record.what)) {
        case refused::length:
            refuse_length(field, index, value);
        case refused::in_row:
            return require_in_row("lengths", index, amount, other);
        case refused::start:
            return require_start(field, value);
        case refused::boundary:
            refuse_boundary(field, index + 1, static_cast<T>(other), value);
        case refused::slot:
            return require_slot(index, amount, other, field);
        case refused::flag:
            refuse_flag(static_cast<std::int64_t>(value), index, other);
        case refused::num_real_seqs:
            refuse_real_sequences(value, other);
        default:
            return tally{mask_set{}}.add_routed(amount, other);
    }
}
/// Throws the error that a tally of the host has for a refused unit and its slot.
template <class Unit>
void repeat_refusal(const refusal_record& record, const mask_set& masks) {
    Unit real_and_slot[2];
    std::memcpy(real_and_slot, record.payload, sizeof(real_and_slot));
    tally{masks}.add(real_and_slot[0], real_and_slot[1]);
}
inline void repeat_refusal(const refusal_record& record, const mask_set& masks) {
    const std::size_t index = refusal_place::of(record.first).index;
    switch (static_cast<refused>(record.what)) {
        case refused::sequence:
            return repeat_refusal<sequence>(record, masks);
        case refused::grid:
            return repeat_refusal<grid>(record, masks);
        case refused::audio_clip:
            return repeat_refusal<audio_clip>(record, masks);
        default:
            return record.payload[2] != 0 ? repeat_refusal(record, index, static_cast<std::int64_t>(record.payload[0]))
                                          : repeat_refusal(record, index, record.payload[0]);
    }
}

/// The place of the first refusal as text: " (index 3 of add 2 since the reset, the first of 5 that the device left
/// out)".
[[nodiscard]] inline std::string place_of(const refusal_record& record) {
    const refusal_place place = refusal_place::of(record.first);
    std::string text = " (index " + std::to_string(place.index);
    text.append(place.call == refusal_place::own_kernel ? " in a kernel of your own"
                                                        : " of add " + std::to_string(place.call) + " since the reset");
    return text.append(", the first of ").append(std::to_string(record.left_out)).append(" that the device left out)");
}

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
    if (record.first != 0) {
        const std::string where = place_of(record);
        try {
            repeat_refusal(record, masks);
        } catch (const error& first) {
            throw left_out(first, where, record.left_out, batch);
        }
        throw left_out(error("device", "a kernel refused a sample that the host takes"), where, record.left_out, batch);
    }
    return batch;
}

}  // namespace detail

}  // namespace floptally
