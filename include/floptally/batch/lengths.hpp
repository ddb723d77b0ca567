// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/length_sums.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/batch/source.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Sources of sequences that are given by their lengths, in tokens. A list of lengths is any
/// contiguous range of 32- or 64-bit integers; errors call it `field`.

namespace floptally {

/// A source (source.hpp): sequences that fill their slots. A length of 0 counts nothing.
template <detail::integer T>
class sequence_lengths {
  public:
    using sample = sequence;

    constexpr sequence_lengths(std::span<const T> lengths, std::string_view field = "lengths")
        : lengths_(lengths), field_(field) {}

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::given_lengths<T> given{lengths_.data(), field_};
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            const sequence real{.length = given.checked(i)};
            visit(real, real);
        }
    }

    template <class Commit>
    constexpr void sum(const detail::sum_space& space, Commit commit) const {
        detail::require_modality(space.masks(), modality::text, "lengths");
        detail::commit_sums(detail::given_lengths<T>{lengths_.data(), field_}, lengths_.size(), space, commit);
    }

  private:
    std::span<const T> lengths_;
    std::string_view field_;
};

/// A BSHD batch: one row for each length, all of them padded to `row_length`. A row without a token is a mock sequence.
template <detail::integer T>
class padded_rows {
  public:
    using sample = sequence;

    constexpr padded_rows(std::span<const T> lengths, std::uint64_t row_length, std::string_view field = "lengths")
        : lengths_(lengths), row_length_(row_length), field_(field) {}

    template <class Visit>
    constexpr void each(Visit visit) const {
        sum({mask_set{}, nullptr, nullptr}, detail::takes_sums{});  // throws what is wrong
        for (const T length : lengths_) {
            visit(sequence{.length = static_cast<std::uint32_t>(length)}, row());
        }
    }

    template <class Commit>
    constexpr void sum(const detail::sum_space& space, Commit commit) const {
        detail::require_modality(space.masks(), modality::text, "lengths");
        const detail::borrowed_sums useful =
            detail::sums_of(detail::given_lengths<T>{lengths_.data(), field_}, lengths_.size(), space, view::useful);
        detail::require_row_length(row_length_);
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            detail::require_in_row(field_, i, static_cast<std::uint64_t>(lengths_[i]), row_length_);
        }
        commit(useful, equal_samples<sequence>(row(), lengths_.size()));
    }

  private:
    [[nodiscard]] constexpr sequence row() const { return {.length = static_cast<std::uint32_t>(row_length_)}; }

    std::span<const T> lengths_;
    std::uint64_t row_length_;
    std::string_view field_;
};

/// A BSHD batch without padding: `rows` sequences of `columns` tokens.
[[nodiscard]] constexpr equal_samples<sequence> full_rows(std::uint64_t rows, std::uint64_t columns) {
    detail::require_row_length(columns);
    return {sequence{.length = static_cast<std::uint32_t>(columns)}, rows};
}

/// Both sides of an encoder-decoder: the lengths of its decoder and, one for each, of its encoder.
template <detail::integer T, detail::integer K>
class encoder_decoder_lengths {
  public:
    using sample = sequence;

    constexpr encoder_decoder_lengths(std::span<const T> lengths, std::span<const K> encoder_lengths,
                                      std::string_view field = "lengths")
        : decoder_(lengths), encoder_(encoder_lengths), field_(field) {
        require_as_many(decoder_.size(), field, encoder_.size(), "encoder_lengths");
    }

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::given_lengths<T> decoder{decoder_.data(), field_};
        const detail::given_lengths<K> encoder{encoder_.data(), "encoder_lengths"};
        for (std::size_t i = 0; i < decoder_.size(); ++i) {
            const sequence real{.length = decoder.checked(i), .keys = encoder.checked(i)};
            visit(real, real);
        }
    }

  private:
    std::span<const T> decoder_;
    std::span<const K> encoder_;
    std::string_view field_;
};

template <detail::integer_range Lengths, class... Field>
sequence_lengths(const Lengths& lengths, Field... field) -> sequence_lengths<detail::element_of<Lengths>>;
template <detail::integer_range Lengths, class... More>
padded_rows(const Lengths& lengths, More... more) -> padded_rows<detail::element_of<Lengths>>;
template <detail::integer_range Lengths, detail::integer_range Keys, class... Field>
encoder_decoder_lengths(const Lengths& lengths, const Keys& encoder_lengths, Field... field)
    -> encoder_decoder_lengths<detail::element_of<Lengths>, detail::element_of<Keys>>;

}  // namespace floptally
