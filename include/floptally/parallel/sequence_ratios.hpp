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

#include <floptally/batch/context_shard.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/detail/rank_gather.hpp>
#include <floptally/parallel/detail/scoped_accumulators.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/reduction.hpp>
#include <floptally/parallel/reduction_schema.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/verified_sum.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Ratios of signed or floating-point numbers over ranks: a loss, a sequence's log-probability. The numbers are added
/// in the order of ranks, so that every rank gets the same bits in every run.

namespace floptally::inline v0_3 {

/// A type for a numerator or denominator: an unsigned, a signed or a floating-point number.
template <class Number>
concept ratio_number =
    std::same_as<Number, std::uint64_t> || std::same_as<Number, std::int64_t> || std::same_as<Number, double>;

/// A summary of the ratios of sequences over all ranks. Every sequence has the same weight, whatever its length.
struct ratio_summary {
    std::uint64_t sequences = 0;  ///< number of sequences that have a ratio
    std::uint64_t empty = 0;      ///< number of sequences without a ratio, because numerator and denominator are 0 on
                                  ///< all ranks
    double sum = 0;               ///< sum of the ratios
    double least = 0;
    double largest = 0;

    [[nodiscard]] double mean() const {
        require_any();
        return sum / static_cast<double>(sequences);
    }
    [[nodiscard]] double min() const {
        require_any();
        return least;
    }
    [[nodiscard]] double max() const {
        require_any();
        return largest;
    }

    [[nodiscard]] friend bool operator==(const ratio_summary&, const ratio_summary&) = default;

  private:
    void require_any() const {
        if (sequences == 0) {
            throw error(
                "ratio",
                "has no value, because no sequence has a denominator above 0: check first that `sequences` is above 0");
        }
    }
};

namespace detail {

template <ratio_number Number>
[[nodiscard]] Number checked_sum(Number sum, Number more, const char* name) {
    Number result{};
    if constexpr (std::same_as<Number, double>) {
        result = sum + more;
        if (!std::isfinite(result)) {
            throw error(name, "must be finite on every rank, and so must the sum over the ranks");
        }
    } else if (__builtin_add_overflow(sum, more, &result)) {
        throw overflow(name, "the sum over the ranks does not fit 64 bits: use smaller numbers");
    }
    return result;
}

/// Computes a numerator or denominator over all ranks of a group from each rank's value. The scope says which ranks
/// have a part of it and which have a copy. Parts are added in the order of ranks. Throws `error` if copies differ in
/// any bit.
template <ratio_number Number>
[[nodiscard]] Number whole_of(const rank_gather& gathered, std::size_t integer, const statistic_scope& scope,
                              const char* name) {
    const parallel_layout& layout = gathered.layout();
    Number sum{};
    for (std::size_t slot = 0; slot < gathered.ranks().size(); ++slot) {
        const parallel_layout rank_layout = layout.at(gathered.ranks()[slot]);
        const std::uint64_t bits = gathered.integers_of(slot)[integer];
        if (!scope.holds(rank_layout) && std::bit_cast<Number>(bits) != Number{}) {
            refuse(name,
                   {"must be 0 on rank ", rank_layout.rank(), ", because its scope says that other ranks hold it"});
        }
        parallel_coordinates original = rank_layout.coordinates();
        for (const parallel_axis axis : dense_axes) {
            if (gathered.axes().contains(axis) && scope.is_copied(axis)) {
                (axis == parallel_axis::tp   ? original.tp
                 : axis == parallel_axis::cp ? original.cp
                 : axis == parallel_axis::dp ? original.dp
                                             : original.pp) = 0;
            }
        }
        const std::uint64_t first = layout.rank_of(original);
        if (first == rank_layout.rank()) {
            sum = checked_sum(sum, std::bit_cast<Number>(bits), name);
        } else if (gathered.integers_of(gathered.slot_of(first))[integer] != bits) {
            refuse(name, {"is declared replicated, but ranks ", first, " and ", rank_layout.rank(),
                          " hold different values; declare it sharded if each holds a part"});
        }
    }
    return sum;
}

/// Returns the axes of `among` over which the ratio must be summed. Axes with `placement::trusted` in both scopes need
/// no sum, since all ranks along them have the same values.
[[nodiscard]] inline axis_set axes_seen(const ratio_scope& scope, axis_set among) {
    axis_set axes;
    for (const parallel_axis axis : dense_axes) {
        const bool trusted = scope.numerator().along(axis) == placement::trusted &&
                             scope.denominator().along(axis) == placement::trusted;
        axes = among.contains(axis) && !trusted ? axes | axis : axes;
    }
    return axes;
}

/// Throws on every rank if ranks are configured differently. The groups of `reducers` together must span the layout.
/// Returns the verified sum for the ratio's numerator and denominator with their scopes.
template <class... Reducers>
verified_sum agree_on_ratios(const ratio_scope& scope, const parallel_layout& layout, Reducers&... reducers) {
    verified_sum integers(layout, {{"ratio.numerator", scope.numerator()}, {"ratio.denominator", scope.denominator()}});
    auto message = reduction_schema(integers, {}, std::nullopt).message();
    (reducers.max(std::span<std::uint64_t>(message)), ...);
    reduction_schema::require_agreement(message);
    return integers;
}

/// Throws on every rank if ranks have different numbers of sequences.
template <class Reducer>
void agree_on_sequences(std::size_t sequences, Reducer& reducer) {
    std::uint64_t ends[] = {sequences, ~std::uint64_t{sequences}};
    reducer.max(std::span<std::uint64_t>(ends));
    if (ends[0] != ~ends[1]) {
        refuse("sequences",
               {"must be the same number on all ranks that share the sequences, got from ", ~ends[1], " to ", ends[0]});
    }
}

/// Returns the ratio of one sequence, or nothing if numerator and denominator are 0.
[[nodiscard]] inline std::optional<double> ratio_of(double numerator, double denominator, std::size_t index) {
    if (denominator < 0 || (denominator == 0 && numerator != 0)) {
        refuse(indexed("denominators", index),
               {"must be above 0, or 0 where the numerator is 0, got ", std::to_string(denominator),
                " for the numerator ", std::to_string(numerator)});
    }
    return denominator == 0 ? std::optional<double>() : numerator / denominator;
}

inline void add_ratio(ratio_summary& to, std::optional<double> value) {
    if (!value) {
        ++to.empty;
        return;
    }
    if (!std::isfinite(*value)) {
        refuse("ratio", {"must be finite for every sequence, got ", std::to_string(*value)});
    }
    to.least = to.sequences == 0 ? *value : std::min(to.least, *value);
    to.largest = to.sequences == 0 ? *value : std::max(to.largest, *value);
    to.sum = checked_sum(to.sum, *value, "ratio");
    ++to.sequences;
}

}  // namespace detail

/// A ratio with a signed or floating-point numerator or denominator, such as a loss over its tokens.
template <ratio_number Numerator, ratio_number Denominator = std::uint64_t>
struct number_ratio {
    Numerator numerator{};
    Denominator denominator{};
    /// The axes over which `reduce` has already summed the ratio. A second sum over the same axes is an error.
    added_up summed{};

    [[nodiscard]] double value() const {
        const std::optional<double> found =
            detail::ratio_of(static_cast<double>(numerator), static_cast<double>(denominator), 0);
        if (!found) {
            throw error("ratio",
                        "has no value, because numerator and denominator are 0 on all ranks: check first that the "
                        "denominator is above 0");
        }
        return *found;
    }
};

/// Returns the ratio over all ranks. Pass one scope for numerator and denominator, or one for each. `reducer` must span
/// all ranks, except along axes with `placement::trusted` in both scopes. The call takes two collectives.
template <ratio_number Numerator, ratio_number Denominator, integer_reducer Reducer>
[[nodiscard]] number_ratio<Numerator, Denominator> reduce(const number_ratio<Numerator, Denominator>& mine,
                                                          const ratio_scope& scope, const parallel_layout& layout,
                                                          Reducer& reducer) {
    const verified_sum integers = detail::agree_on_ratios(scope, layout, reducer);
    const axis_set axes = detail::axes_seen(scope, every_axis);
    const std::vector<std::uint64_t> sides{std::bit_cast<std::uint64_t>(mine.numerator),
                                           std::bit_cast<std::uint64_t>(mine.denominator)};
    detail::rank_gather all(layout, axes);
    all.collect(2, reducer, [&] { return detail::not_added_up(mine.summed, sides, integers, "ratio"); });
    return {.numerator = detail::whole_of<Numerator>(all, 0, scope.numerator(), "numerator"),
            .denominator = detail::whole_of<Denominator>(all, 1, scope.denominator(), "denominator"),
            .summed = detail::added_up_over(axes, layout)};
}

/// Returns the summary of the ratios of all sequences. First, numerator and denominator of each sequence are added over
/// the ranks that share the sequence. Then mean, smallest and largest of `value_of(numerator ÷ denominator)` are taken
/// over the sequences of all data-parallel ranks. So a perplexity, with `value_of` = exp(−x), does not depend on how
/// context parallelism splits a sequence, except for rounding.
///
/// `within` is the group of this rank over cp, tp and pp, without axes that have `placement::trusted` in both scopes.
/// `over_dp` is the group of this rank over dp. The ranks of `within` have the same sequences in the same order. A rank
/// without a token of a sequence passes 0 for its numerator and denominator. Sums are in the order of ranks, then of
/// sequences, so every rank gets the same bits.
template <ratio_number Numerator, ratio_number Denominator, integer_reducer Within, integer_reducer Data,
          class ValueOf = std::identity>
[[nodiscard]] ratio_summary reduce_sequences(std::span<const Numerator> numerators,
                                             std::span<const Denominator> denominators, const ratio_scope& scope,
                                             const parallel_layout& layout, Within& within, Data& over_dp,
                                             ValueOf value_of = {}) {
    constexpr axis_set sharing = parallel_axis::cp | parallel_axis::tp | parallel_axis::pp;
    const std::size_t sequences = numerators.size();
    const auto own_sides = [&] {
        if (denominators.size() != sequences) {
            detail::refuse("denominators",
                           {"must be as many as the numerators, ", sequences, ", got ", denominators.size()});
        }
        if (scope.numerator().along(parallel_axis::dp) != placement::sharded ||
            scope.denominator().along(parallel_axis::dp) != placement::sharded) {
            throw error("scope", "must be sharded over dp, because each data-parallel rank has different sequences");
        }
        std::vector<std::uint64_t> integers;
        for (std::size_t i = 0; i < sequences; ++i) {
            integers.push_back(
                std::bit_cast<std::uint64_t>(detail::checked_sum(Numerator{}, numerators[i], "numerators")));
            integers.push_back(
                std::bit_cast<std::uint64_t>(detail::checked_sum(Denominator{}, denominators[i], "denominators")));
        }
        return integers;
    };
    const auto replica_summary = [&] {
        detail::agree_on_sequences(sequences, within);
        detail::rank_gather all(layout, detail::axes_seen(scope, sharing));
        all.collect(2 * sequences, within, own_sides);
        ratio_summary summary;
        for (std::size_t i = 0; i < sequences; ++i) {
            const auto n = detail::whole_of<Numerator>(all, 2 * i, scope.numerator(), "numerators");
            const auto d = detail::whole_of<Denominator>(all, 2 * i + 1, scope.denominator(), "denominators");
            const std::optional<double> value = detail::ratio_of(static_cast<double>(n), static_cast<double>(d), i);
            detail::add_ratio(summary, value ? std::optional<double>(value_of(*value)) : value);
        }
        return std::vector<std::uint64_t>{summary.sequences, summary.empty, std::bit_cast<std::uint64_t>(summary.sum),
                                          std::bit_cast<std::uint64_t>(summary.least),
                                          std::bit_cast<std::uint64_t>(summary.largest)};
    };
    constexpr std::size_t integers_of_replica = 5;
    static_cast<void>(detail::agree_on_ratios(scope, layout, over_dp, within));
    detail::rank_gather replicas(layout, parallel_axis::dp);
    replicas.collect(integers_of_replica, over_dp, replica_summary);
    ratio_summary summary;
    for (std::size_t slot = 0; slot < replicas.ranks().size(); ++slot) {
        const std::span<const std::uint64_t> integers = replicas.integers_of(slot);
        summary.empty = checked(summary.empty, "sequences") + integers[1];
        if (integers[0] == 0) {
            continue;
        }
        const auto least = std::bit_cast<double>(integers[3]);
        const auto largest = std::bit_cast<double>(integers[4]);
        summary.least = summary.sequences == 0 ? least : std::min(summary.least, least);
        summary.largest = summary.sequences == 0 ? largest : std::max(summary.largest, largest);
        summary.sum = detail::checked_sum(summary.sum, std::bit_cast<double>(integers[2]), "ratio");
        summary.sequences = checked(summary.sequences, "sequences") + integers[0];
    }
    return summary;
}

}  // namespace floptally
