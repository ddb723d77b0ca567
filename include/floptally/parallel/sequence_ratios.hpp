// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <floptally/batch/context_share.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/detail/rank_gather.hpp>
#include <floptally/parallel/detail/scoped_words.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/reduction_schema.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/witnessed_sum.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Ratios of signed or floating-point numbers over ranks: a loss, a sequence's log-probability. They are added in the
/// order of ranks, so that every rank has the same bits, each time.

namespace floptally {

/// The type of a numerator or a denominator: a count, a signed sum, or a floating-point sum.
template <class Number>
concept ratio_number =
    std::same_as<Number, std::uint64_t> || std::same_as<Number, std::int64_t> || std::same_as<Number, double>;

/// A summary of the ratios of sequences over all ranks, in which sequences of any length weigh the same.
struct ratio_summary {
    std::uint64_t sequences = 0;  ///< number of sequences that have a ratio
    std::uint64_t empty = 0;      ///< number of sequences whose slices were empty on all ranks
    double sum = 0;               ///< sum of the ratios
    double least = 0;
    double largest = 0;

    [[nodiscard]] double mean() const { return require_any(), sum / static_cast<double>(sequences); }
    [[nodiscard]] double min() const { return require_any(), least; }
    [[nodiscard]] double max() const { return require_any(), largest; }

    [[nodiscard]] friend bool operator==(const ratio_summary&, const ratio_summary&) = default;

  private:
    void require_any() const {
        if (sequences == 0) {
            throw error("ratio", "has no value: no sequence has a denominator above 0");
        }
    }
};

namespace detail {

template <ratio_number Number>
[[nodiscard]] Number added(Number sum, Number more, const char* name) {
    Number result{};
    if constexpr (std::same_as<Number, double>) {
        result = sum + more;
        if (!std::isfinite(result)) {
            throw error(name, "must be finite, and so must their sum over the ranks");
        }
    } else if (__builtin_add_overflow(sum, more, &result)) {
        throw overflow(name, "the sum over the ranks does not fit 64 bits");
    }
    return result;
}

/// One number of the whole group from those of its ranks, by its scope: parts are added in the order of ranks, and
/// copies must have the same bits.
template <ratio_number Number>
[[nodiscard]] Number whole_of(const rank_gather& all, std::size_t word, const statistic_scope& scope,
                              const char* name) {
    const parallel_layout& layout = all.layout();
    Number sum{};
    for (std::size_t slot = 0; slot < all.ranks().size(); ++slot) {
        const parallel_layout there = layout.at(all.ranks()[slot]);
        const std::uint64_t bits = all.words_of(slot)[word];
        if (!scope.holds(there) && std::bit_cast<Number>(bits) != Number{}) {
            refuse(name, {"is of other ranks, as its scope says, and rank ", there.rank(), " has some of it"});
        }
        parallel_coordinates original = there.coordinates();
        for (const parallel_axis axis : dense_axes) {
            if (all.axes().contains(axis) && scope.is_copied(axis)) {
                (axis == parallel_axis::tp   ? original.tp
                 : axis == parallel_axis::cp ? original.cp
                 : axis == parallel_axis::dp ? original.dp
                                             : original.pp) = 0;
            }
        }
        const std::uint64_t first = layout.rank_of(original);
        if (first == there.rank()) {
            sum = added(sum, std::bit_cast<Number>(bits), name);
        } else if (all.words_of(all.slot_of(first))[word] != bits) {
            refuse(name, {"is declared replicated, and ranks ", first, " and ", there.rank(), " have different ones"});
        }
    }
    return sum;
}

/// The axes of `among` whose ranks take part, which are all but those that both scopes trust.
[[nodiscard]] inline axis_set axes_seen(const ratio_scope& scope, axis_set among) {
    axis_set axes;
    for (const parallel_axis axis : dense_axes) {
        const bool trusted =
            scope.numerator().along(axis) == share::trusted && scope.denominator().along(axis) == share::trusted;
        axes = among.contains(axis) && !trusted ? axes | axis : axes;
    }
    return axes;
}

/// Throws on every rank where ranks are not configured alike: on all of the layout, where its groups are one after the
/// other those that make it up. Returns the words of a ratio by their scopes.
template <class... Reducers>
witnessed_sum agree_on_ratios(const ratio_scope& scope, const parallel_layout& layout, Reducers&... over) {
    witnessed_sum words(layout, {{"ratio.numerator", scope.numerator()}, {"ratio.denominator", scope.denominator()}});
    auto message = reduction_schema(words, {}, std::nullopt).message();
    (over.max(std::span<std::uint64_t>(message)), ...);
    reduction_schema::require_agreement(message);
    return words;
}

/// Throws on every rank where ranks have different numbers of sequences.
template <class Reducer>
void agree_on_sequences(std::size_t sequences, Reducer& over) {
    std::uint64_t ends[] = {sequences, ~std::uint64_t{sequences}};
    over.max(std::span<std::uint64_t>(ends));
    if (ends[0] != ~ends[1]) {
        refuse("sequences", {"the ranks that share them have from ", ~ends[1], " to ", ends[0]});
    }
}

/// The ratio of one sequence; none where it is empty.
[[nodiscard]] inline std::optional<double> ratio_of(double numerator, double denominator, std::size_t index) {
    if (denominator < 0 || (denominator == 0 && numerator != 0)) {
        refuse(indexed("denominators", index), {"must be above 0, or 0 beside a numerator of 0, got ",
                                                std::to_string(denominator), " below ", std::to_string(numerator)});
    }
    return denominator == 0 ? std::optional<double>() : numerator / denominator;
}

inline void add_ratio(ratio_summary& to, std::optional<double> value) {
    if (!value) {
        ++to.empty;
        return;
    }
    if (!std::isfinite(*value)) {
        refuse("ratio", {"of a sequence must be finite, got ", std::to_string(*value)});
    }
    to.least = to.sequences == 0 ? *value : std::min(to.least, *value);
    to.largest = to.sequences == 0 ? *value : std::max(to.largest, *value);
    to.sum = added(to.sum, *value, "ratio");
    ++to.sequences;
}

}  // namespace detail

/// A ratio whose sides are signed or floating-point: a loss over its tokens.
template <ratio_number Numerator, ratio_number Denominator = std::uint64_t>
struct number_ratio {
    Numerator numerator{};
    Denominator denominator{};
    /// The axes over which it was added up already, which `reduce` sets: a second sum over them is an error.
    added_up summed{};

    [[nodiscard]] double value() const {
        const std::optional<double> found =
            detail::ratio_of(static_cast<double>(numerator), static_cast<double>(denominator), 0);
        if (!found) {
            throw error("ratio", "has no value: every slice was empty");
        }
        return *found;
    }
};

/// The ratio of all ranks, by one scope for both sides or one for each. `over` is the group of all ranks but those that
/// both scopes trust. Two collectives.
template <ratio_number Numerator, ratio_number Denominator, word_reducer Reducer>
[[nodiscard]] number_ratio<Numerator, Denominator> reduce(const number_ratio<Numerator, Denominator>& mine,
                                                          const ratio_scope& scope, const parallel_layout& layout,
                                                          Reducer& over) {
    const detail::witnessed_sum words = detail::agree_on_ratios(scope, layout, over);
    const axis_set axes = detail::axes_seen(scope, every_axis);
    const std::vector<std::uint64_t> sides{std::bit_cast<std::uint64_t>(mine.numerator),
                                           std::bit_cast<std::uint64_t>(mine.denominator)};
    detail::rank_gather all(layout, axes);
    all.collect(2, over, [&] { return detail::not_added_up(mine.summed, sides, words, "ratio"); });
    return {.numerator = detail::whole_of<Numerator>(all, 0, scope.numerator(), "numerator"),
            .denominator = detail::whole_of<Denominator>(all, 1, scope.denominator(), "denominator"),
            .summed = detail::added_up_over(axes, layout)};
}

/// The summary of the ratios of all sequences: first numerator and denominator of each sequence are added over the
/// ranks that share it, then mean, least and largest of `value_of(numerator ÷ denominator)` are taken over the
/// sequences of all data-parallel ranks. So perplexity, `value_of` = exp(−x), does not depend on how context
/// parallelism cuts a sequence, but for the rounding of a sum.
///
/// `within` is the group of this rank over cp, tp and pp, without axes that both scopes trust; `over_dp` that over dp.
/// The ranks of `within` have the same sequences in the same order; a slice without any is 0 over 0. Sums are in the
/// order of ranks, then of sequences: the same bits on every rank.
template <ratio_number Numerator, ratio_number Denominator, word_reducer Within, word_reducer Data,
          class ValueOf = std::identity>
[[nodiscard]] ratio_summary reduce_sequences(std::span<const Numerator> numerators,
                                             std::span<const Denominator> denominators, const ratio_scope& scope,
                                             const parallel_layout& layout, Within& within, Data& over_dp,
                                             ValueOf value_of = {}) {
    constexpr axis_set sharing = parallel_axis::cp | parallel_axis::tp | parallel_axis::pp;
    const std::size_t sequences = numerators.size();
    const auto mine = [&] {
        if (denominators.size() != sequences) {
            detail::refuse("denominators",
                           {"must be as many as the numerators, ", sequences, ", got ", denominators.size()});
        }
        if (scope.numerator().along(parallel_axis::dp) != share::sharded ||
            scope.denominator().along(parallel_axis::dp) != share::sharded) {
            throw error("scope", "must be sharded over dp, whose ranks have sequences of their own");
        }
        std::vector<std::uint64_t> words;
        for (std::size_t i = 0; i < sequences; ++i) {
            words.push_back(std::bit_cast<std::uint64_t>(detail::added(Numerator{}, numerators[i], "numerators")));
            words.push_back(
                std::bit_cast<std::uint64_t>(detail::added(Denominator{}, denominators[i], "denominators")));
        }
        return words;
    };
    const auto of_replica = [&] {
        detail::agree_on_sequences(sequences, within);
        detail::rank_gather all(layout, detail::axes_seen(scope, sharing));
        all.collect(2 * sequences, within, mine);
        ratio_summary found;
        for (std::size_t i = 0; i < sequences; ++i) {
            const auto n = detail::whole_of<Numerator>(all, 2 * i, scope.numerator(), "numerators");
            const auto d = detail::whole_of<Denominator>(all, 2 * i + 1, scope.denominator(), "denominators");
            const std::optional<double> value = detail::ratio_of(static_cast<double>(n), static_cast<double>(d), i);
            detail::add_ratio(found, value ? std::optional<double>(value_of(*value)) : value);
        }
        return std::vector<std::uint64_t>{found.sequences, found.empty, std::bit_cast<std::uint64_t>(found.sum),
                                          std::bit_cast<std::uint64_t>(found.least),
                                          std::bit_cast<std::uint64_t>(found.largest)};
    };
    constexpr std::size_t words_of_replica = 5;
    static_cast<void>(detail::agree_on_ratios(scope, layout, over_dp, within));
    detail::rank_gather replicas(layout, parallel_axis::dp);
    replicas.collect(words_of_replica, over_dp, of_replica);
    ratio_summary found;
    for (std::size_t slot = 0; slot < replicas.ranks().size(); ++slot) {
        const std::span<const std::uint64_t> words = replicas.words_of(slot);
        found.empty = checked(found.empty, "sequences") + words[1];
        if (words[0] == 0) {
            continue;
        }
        const auto least = std::bit_cast<double>(words[3]);
        const auto largest = std::bit_cast<double>(words[4]);
        found.least = found.sequences == 0 ? least : std::min(found.least, least);
        found.largest = found.sequences == 0 ? largest : std::max(found.largest, largest);
        found.sum = detail::added(found.sum, std::bit_cast<double>(words[2]), "ratio");
        found.sequences = checked(found.sequences, "sequences") + words[0];
    }
    return found;
}

}  // namespace floptally
