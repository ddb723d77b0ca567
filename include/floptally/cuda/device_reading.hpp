// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <floptally/batch/attention_mask.hpp>
#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/cuda/refusals.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/detail/modality_checks.hpp>
#include <floptally/detail/sequence_checks.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/error.hpp>
#include <floptally/sequence.hpp>
#include <floptally/tally.hpp>

/// @file
/// Words of a device, read by the host: a tally, or the error that a kernel could not throw.

namespace floptally {

/// Sequences that a device left out. Field and text are of the first of them, as the host would have said it.
class left_out : public error {
  public:
    left_out(const error& first, const std::string& where, std::uint64_t sequences, const tally& counted)
        : error(first.field(), std::string(first.problem()).append(where)), sequences_(sequences), counted_(counted) {}

    /// How many.
    [[nodiscard]] std::uint64_t sequences() const noexcept { return sequences_; }
    /// All the others.
    [[nodiscard]] const tally& counted() const noexcept { return counted_; }

  private:
    std::uint64_t sequences_;
    tally counted_;
};

namespace detail {

/// Throws what a tally of the host says of what was refused.
inline void repeat_refusal(const refusal_record& record, std::size_t index, const mask_set& masks) {
    const std::uint64_t* const payload = record.payload;
    const auto low = [payload](std::size_t i) { return static_cast<std::uint32_t>(payload[i]); };
    const auto high = [payload](std::size_t i) { return static_cast<std::uint32_t>(payload[i] >> 32U); };
    const auto field = [payload](std::size_t i) { return name_of(static_cast<input_field>(payload[i])); };
    const auto as_given = [](bool is_signed, std::uint64_t value, auto refuse_value) {
        is_signed ? refuse_value(static_cast<std::int64_t>(value)) : refuse_value(value);
    };
    switch (static_cast<refused>(record.what)) {
        case refused::length:
            as_given(payload[1] != 0, payload[0], [&](auto value) { refuse_length(field(2), index, value); });
            break;
        case refused::in_row:
            require_in_row(name_of(input_field::lengths), index, payload[0], payload[1]);
            break;
        case refused::start:
            as_given(payload[1] != 0, payload[0], [&](auto value) { require_start(field(2), value); });
            break;
        case refused::boundary:
            as_given(payload[2] != 0, payload[1], [&](auto value) {
                refuse_boundary(field(3), index + 1, static_cast<decltype(value)>(payload[0]), value);
            });
            break;
        case refused::slot:
            require_slot(index, payload[0], payload[1], field(2));
            break;
        case refused::flag:
            refuse_flag(static_cast<std::int64_t>(payload[0]), index, payload[1]);
        case refused::num_real_seqs:
            as_given(payload[1] != 0, payload[0], [&](auto value) { refuse_real_sequences(value, payload[2]); });
            break;
        case refused::sequence: {
            const sequence real{low(0), high(0), low(1), high(1), low(2), high(2)};
            const sequence slot{low(3), high(3), low(4), high(4), low(5), high(5)};
            tally{masks}.add(real, slot);
            break;
        }
        case refused::grid:
            tally{masks}.add(grid{low(0), high(0), low(1)}, grid{low(2), high(2), low(3)});
            break;
        case refused::audio_clip:
            tally{masks}.add(audio_clip{low(0)}, audio_clip{low(1)});
            break;
        case refused::routed:
            tally{masks}.add_routed(payload[0], payload[1]);
            break;
    }
}

/// " (index 3 of add 2 since the reset, the first of 5 that the device left out)"
[[nodiscard]] inline std::string place_of(const refusal_record& record) {
    const refusal_place place = refusal_place::of(record.first);
    std::string text = " (index " + std::to_string(place.index);
    text.append(place.call == refusal_place::own_kernel ? " in a kernel of your own"
                                                        : " of add " + std::to_string(place.call) + " since the reset");
    return text.append(", the first of ").append(std::to_string(record.left_out)).append(" that the device left out)");
}

/// The tally whose words a device has, with the record of what it refused behind them; or the error.
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
            repeat_refusal(record, refusal_place::of(record.first).index, masks);
        } catch (const error& first) {
            throw left_out(first, where, record.left_out, batch);
        }
        throw left_out(error("device", "what was refused is right on the host"), where, record.left_out, batch);
    }
    return batch;
}

}  // namespace detail

}  // namespace floptally
