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

/// A list of one part of each sequence; errors call it `field`. One that may be left out is all zeros where it is
/// empty.
template <detail::integer P>
struct listed_part {
    std::span<const P> numbers{};
    std::uint32_t sequence::*of = nullptr;
    std::string_view field{};
    bool may_be_left_out = false;
};

/// A source (source.hpp): sequences by their lengths and, one for each, by other parts of them.
template <detail::integer T, detail::integer P>
class lengths_and_parts {
  public:
    using sample = sequence;
    using part = listed_part<P>;

    constexpr lengths_and_parts(std::span<const T> lengths, std::string_view field, const part& first,
                                const part& second, std::uint32_t target_group)
        : lengths_(lengths), field_(field), parts_{checked(first), checked(second)}, target_group_(target_group) {}

    template <class Visit>
    constexpr void each(Visit visit) const {
        const detail::given_lengths<T> lengths{lengths_.data(), field_};
        for (std::size_t i = 0; i < lengths_.size(); ++i) {
            sequence real{.length = lengths.checked(i), .target_group = target_group_};
            for (const part& each : parts_) {
                if (each.of != nullptr) {
                    real.*each.of = detail::given_lengths<P>{each.numbers.data(), each.field}.checked(i);
                }
            }
            visit(real, real);
        }
    }

    [[nodiscard]] constexpr std::span<const T> lengths() const { return lengths_; }
    [[nodiscard]] constexpr std::span<const part> parts() const { return parts_; }
    [[nodiscard]] constexpr std::uint32_t target_group() const { return target_group_; }

  private:
    [[nodiscard]] constexpr part checked(part given) const {
        if (given.numbers.empty() && given.may_be_left_out) {
            return {};
        }
        if (given.of != nullptr) {
            require_as_many(lengths_.size(), field_, given.numbers.size(), given.field);
        }
        return given;
    }

    std::span<const T> lengths_;
    std::string_view field_;
    part parts_[2];
    std::uint32_t target_group_;
};

/// Both sides of an encoder-decoder: the lengths of its decoder and, one for each, of its encoder.
template <detail::integer_range Lengths, detail::integer_range Keys>
[[nodiscard]] constexpr auto encoder_decoder_lengths(const Lengths& lengths, const Keys& encoder_lengths,
                                                     std::string_view field = "lengths") {
    return lengths_and_parts<detail::element_of<Lengths>, detail::element_of<Keys>>(
        lengths, field, {encoder_lengths, &sequence::keys, "encoder_lengths"}, {}, 0);
}
/// New tokens after cached ones: lengths and, one for each, the tokens before them.
template <detail::integer_range Lengths, detail::integer_range Past>
[[nodiscard]] constexpr auto cached_lengths(const Lengths& lengths, const Past& past) {
    return lengths_and_parts<detail::element_of<Lengths>, detail::element_of<Past>>(
        lengths, "lengths", {past, &sequence::past, "past"}, {}, 0);
}
/// Samples of HSTU: their total lengths, and the contextual tokens and targets among them; targets are in groups of
/// `target_group`. An empty list is all zeros.
template <detail::integer_range Lengths, detail::integer_range Contextual, detail::integer_range Targets>
[[nodiscard]] constexpr auto hstu_lengths(const Lengths& lengths, const Contextual& contextual, const Targets& targets,
                                          std::uint32_t target_group) {
    return lengths_and_parts<detail::element_of<Lengths>, detail::element_of<Contextual>>(
        lengths, "lengths", {contextual, &sequence::context, "contextual", true},
        {targets, &sequence::targets, "targets", true}, target_group);
}

template <detail::integer_range Lengths, class... Field>
sequence_lengths(const Lengths& lengths, Field... field) -> sequence_lengths<detail::element_of<Lengths>>;
template <detail::integer_range Lengths, class... More>
padded_rows(const Lengths& lengths, More... more) -> padded_rows<detail::element_of<Lengths>>;

}  // namespace floptally
