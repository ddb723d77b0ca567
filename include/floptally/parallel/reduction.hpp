// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/context_shard.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/detail/scoped_accumulators.hpp>
#include <floptally/parallel/held_tokens.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/rank_sum.hpp>
#include <floptally/parallel/reduction_schema.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/parallel/verified_sum.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Sums tallies, ratios and extremes over the ranks of a group. The sums also detect a wrong group of ranks.

namespace floptally::inline v0_3 {

// Ratios and extremes over the tokens of all ranks. Numerators and denominators are summed as integers. A mean of the
// ranks' ratios would be wrong, because a rank without tokens would have the same weight as any other.

/// A ratio of two sums. A rank without tokens adds 0 to both sums.
class ratio {
  public:
    constexpr ratio() = default;
    constexpr ratio(std::uint64_t numerator, std::uint64_t denominator)
        : numerator_(numerator), denominator_(denominator) {
        if (denominator == 0 && numerator != 0) {
            detail::refuse("ratio", {"must have a denominator above 0 for the numerator ", numerator, ", got 0"});
        }
    }

    constexpr ratio& operator+=(const ratio& other) {
        const std::uint64_t denominator = checked(denominator_, "ratio.denominator") + other.denominator_;
        numerator_ = checked(numerator_, "ratio.numerator") + other.numerator_;
        denominator_ = denominator;
        added_up_ += other.added_up_;
        return *this;
    }

    [[nodiscard]] constexpr std::uint64_t numerator() const { return numerator_; }
    [[nodiscard]] constexpr std::uint64_t denominator() const { return denominator_; }
    [[nodiscard]] constexpr bool empty() const { return denominator_ == 0; }

    /// Returns numerator ÷ denominator. Throws if the denominator is 0.
    [[nodiscard]] constexpr double value() const {
        if (empty()) {
            throw error("ratio", "has no value, because its denominator is 0: check empty() first");
        }
        return static_cast<double>(numerator_) / static_cast<double>(denominator_);
    }

    /// Marks the result of a sum over ranks, as `tally::mark_added_up` does. A second sum over the same ranks is then
    /// an error.
    constexpr void mark_added_up(const added_up& over) { added_up_ = over; }
    /// Returns the mark that `mark_added_up` has set: the ranks over which this ratio was summed.
    [[nodiscard]] constexpr const added_up& added_up_over() const { return added_up_; }

    [[nodiscard]] friend constexpr bool operator==(const ratio& a, const ratio& b) {
        return a.numerator_ == b.numerator_ && a.denominator_ == b.denominator_;
    }

  private:
    std::uint64_t numerator_ = 0;
    std::uint64_t denominator_ = 0;
    added_up added_up_{};
};

/// The smallest and the largest of a set of values, and the number of values. If no value was added, the smallest and
/// the largest are undefined.
class extremes {
  public:
    constexpr extremes() = default;
    constexpr extremes(std::uint64_t count, std::uint64_t min, std::uint64_t max)
        : count_(count), min_(count == 0 ? no_min : min), max_(count == 0 ? 0 : max) {
        if (min_ > max_ && count != 0) {
            detail::refuse("extremes", {"the minimum must be at most the maximum, ", max, ", got ", min});
        }
    }

    constexpr void add(std::uint64_t value) { *this += extremes(1, value, value); }

    constexpr extremes& operator+=(const extremes& other) {
        count_ = checked(count_, "extremes.count") + other.count_;
        min_ = detail::smaller(min_, other.min_);
        max_ = detail::larger(max_, other.max_);
        added_up_ += other.added_up_;
        return *this;
    }

    [[nodiscard]] constexpr std::uint64_t count() const { return count_; }
    [[nodiscard]] constexpr bool empty() const { return count_ == 0; }
    [[nodiscard]] constexpr std::uint64_t min() const {
        require_values();
        return min_;
    }
    [[nodiscard]] constexpr std::uint64_t max() const {
        require_values();
        return max_;
    }

    /// Marks the result of a sum over ranks, as `tally::mark_added_up` does. A second sum over the same ranks is then
    /// an error: it would not change the smallest and the largest value, but count the values twice.
    constexpr void mark_added_up(const added_up& over) { added_up_ = over; }
    /// Returns the mark that `mark_added_up` has set: the ranks over which these extremes were taken.
    [[nodiscard]] constexpr const added_up& added_up_over() const { return added_up_; }

    [[nodiscard]] friend constexpr bool operator==(const extremes& a, const extremes& b) {
        return a.count_ == b.count_ && a.min_ == b.min_ && a.max_ == b.max_;
    }

  private:
    static constexpr std::uint64_t no_min = ~std::uint64_t{0};

    constexpr void require_values() const {
        if (empty()) {
            throw error("extremes", "have no value, because no rank added a value: check empty() first");
        }
    }

    std::uint64_t count_ = 0;
    std::uint64_t min_ = no_min;
    std::uint64_t max_ = 0;
    added_up added_up_{};
};

/// A C++ type that adds up integers over a group of ranks, with MPI, NCCL or the collectives of a framework. All ranks
/// of the group call the same functions in the same order. On every rank the sums, modulo 2^64, replace the integers.
template <class Reducer>
concept integer_reducer = requires(Reducer& reducer, std::span<std::uint64_t> integers) {
    reducer.sum(integers);
    reducer.max(integers);
};

/// A C++ type that can evaluate tallies that were summed over ranks, such as `flop_counter`.
template <class Model>
concept counting_model = requires(const Model& model) {
    { model.masks() } -> std::convertible_to<const mask_set&>;
    { model.counted_as() } -> std::convertible_to<const convention&>;
    model.by_component();
};

/// A reducer for a group of one rank.
struct single_rank {
    static void sum(std::span<std::uint64_t>) {}
    static void max(std::span<std::uint64_t>) {}
};

/// The number of microbatches that a rank's schedule ran, and how often the rank added lengths to its tally. With
/// virtual stages, each rank runs a microbatch vpp times in a step.
struct microbatch_visits {
    std::uint64_t ran = 0;
    std::uint64_t added = 0;
};

/// The tally of one step and the number of its microbatches. Call `microbatch()` once for each microbatch and add its
/// lengths to the tally that it returns.
class microbatch_tally {
  public:
    explicit microbatch_tally(const mask_set& masks) : own_(masks) {}

    [[nodiscard]] tally& microbatch() {
        ++added_;
        return own_;
    }
    [[nodiscard]] const tally& all() const { return own_; }
    /// Returns how many microbatches this rank's schedule ran (`ran`), and how often `microbatch()` was called.
    [[nodiscard]] microbatch_visits visits(std::uint64_t ran) const { return {.ran = ran, .added = added_}; }

  private:
    tally own_;
    std::uint64_t added_ = 0;
};

/// A tag by which the caller states that all ranks have equal lengths. The library cannot check this.
struct equal_lengths_t {};
/// The tag itself: pass it to `tally_reduction::scaled`.
inline constexpr equal_lengths_t equal_lengths{};

namespace detail {

/// Returns the measured statistics on which a model's FLOPs depend.
template <counting_model Model>
[[nodiscard]] std::vector<statistic> measured_statistics_of(const Model& model) {
    std::vector<statistic> found;
    const auto& needs = model.by_component().needs;
    for (std::size_t i = 0; needs.accumulators && i < model.by_component().masks.size() && i < needs.counted; ++i) {
        if (const statistic& measured = model.by_component().masks[i]; measured.is_measured()) {
            found.push_back(measured);
        }
    }
    return found;
}

template <class Schema, integer_reducer Reducer>
void agree(const Schema& schema, Reducer& reducer) {
    auto integers = schema.message();
    reducer.max(std::span<std::uint64_t>(integers));
    Schema::require_agreement(integers);
}

/// Returns the sum of all ranks' messages, with one all-reduce SUM. A rank that has an error, or that is out of memory,
/// also takes part and then throws its error. The sum shows the other ranks that a rank had an error.
template <integer_reducer Reducer, class Values>
[[nodiscard]] std::vector<std::uint64_t> summed(const verified_sum& sum, Reducer& reducer, Values values) {
    std::vector<std::uint64_t> integers;
    try {
        integers = sum.message(values());
    } catch (...) {
        sum.refuse(reducer);
        throw;
    }
    reducer.sum(std::span<std::uint64_t>(integers));
    return integers;
}

}  // namespace detail

/// Sums tallies over the ranks of a layout in every step.
class tally_reduction {
  public:
    /// Makes a reduction of tallies that `model`, a `flop_counter`, will evaluate. All ranks of the group construct it
    /// together. They compare their masks, scope, layout, library version, convention and coefficients, with one MAX of
    /// a message of fixed size. (The coefficients depend on model and plan.) If one rank differs, all ranks throw.
    template <counting_model Model, integer_reducer Reducer>
    tally_reduction(const Model& model, const tally_scope& scope, const parallel_layout& layout, Reducer& reducer)
        : tally_reduction(model.masks(), scope, layout, reducer, model.counted_as(), detail::coefficient_hash(model)) {
        needed_ = detail::measured_statistics_of(model);
    }

    template <counting_model Model, class Reducer>
    tally_reduction(const Model& /*model*/, const tally_scope& scope, const parallel_layout& layout,
                    Reducer& /*no_reducer*/)
        : sum_(layout, detail::scoped_accumulators(empty_, scope)) {
        static_assert(integer_reducer<Reducer>,
                      "this type is no reducer: it needs `void sum(std::span<std::uint64_t>)` "
                      "and `void max(std::span<std::uint64_t>)`, each a collective of the group");
    }

    /// Makes a reduction of tallies with these masks. `counted_as` is the convention in which the sum will be
    /// evaluated. Pass `std::nullopt` if it will not be evaluated. Then conventions are not compared.
    template <integer_reducer Reducer>
    tally_reduction(const mask_set& masks, const tally_scope& scope, const parallel_layout& layout, Reducer& reducer,
                    const std::optional<convention>& counted_as)
        : tally_reduction(masks, scope, layout, reducer, counted_as, 0) {}

    /// Returns the tally of all ranks from this rank's tally, with one all-reduce SUM. The result has the same bits on
    /// every rank of the group. Throws on every rank if one rank has an error, or if the group does not fit the scope.
    /// With virtual stages pass `visits`.
    template <integer_reducer Reducer>
    [[nodiscard]] tally sum(const tally& mine, Reducer& reducer, const microbatch_visits& visits = {}) const {
        tally all = global(detail::summed(sum_, reducer, [&] {
            require_sendable(mine, visits);
            return mine.accumulators();
        }));
        all.mark_measured(mine);
        return all;
    }

    /// Throws on every rank if ranks with replicated tokens have different tokens, or ranks with sharded tokens the
    /// same ones (`floptally::require_held`). The sums themselves cannot show such an error. All ranks of the layout
    /// call this function once before the first step.
    template <integer_reducer Reducer>
    void require_held(const held_tokens& mine, Reducer& reducer) const {
        const std::size_t tokens = static_cast<std::size_t>(accumulator::tokens);
        floptally::require_held(sum_.accumulators()[tokens].scope, mine, sum_.layout(), reducer);
    }

    /// Returns the functions with which a meter sums each step over the group of `reducer` and compares the times of
    /// the ranks. The reducer must outlive these functions. With virtual stages call `sum` with `visits` instead.
    template <integer_reducer Reducer>
    [[nodiscard]] rank_sum by(Reducer& reducer) const {
        return {.ranks = sum_.layout().world_size(),
                .sum =
                    [reduction = *this, &reducer](function_view<tally()> counted) {
                        std::optional<tally> mine;
                        tally all = reduction.global(detail::summed(reduction.sum_, reducer, [&] {
                            reduction.require_sendable(mine.emplace(counted()), {});
                            return mine->accumulators();
                        }));
                        all.mark_measured(*mine);
                        return all;
                    },
                .rank = sum_.layout().rank(),
                .max = [&reducer](std::span<std::uint64_t> integers) { reducer.max(integers); }};
    }

    /// Returns the description of the messages that ranks send. Callers that sum the messages themselves need it
    /// (`device_reduction`).
    [[nodiscard]] const verified_sum& messages() const { return sum_; }
    /// Returns the tally of all ranks from the sum of their messages. Throws the same error on every rank.
    [[nodiscard]] tally global(std::span<const std::uint64_t> sums) const {
        tally all = with_needed(tally::from_accumulators(empty_.masks(), sum_.globals(sums)));
        all.mark_added_up(detail::added_up_over(sum_.summed_axes(sums), sum_.layout()));
        return all;
    }
    /// Throws if a tally with these masks cannot be reduced, or if its numbers of microbatches (`visits`) do not fit
    /// the scope.
    void require_sendable(const mask_set& masks, const microbatch_visits& visits) const {
        if (!(masks == empty_.masks())) {
            throw error(
                "masks",
                "must equal the masks of the reduction: make the tally with the masks() of the reduction's model");
        }
        require_visits(visits);
    }
    /// Throws if this tally cannot be reduced. Its masks must be those of the reduction, and its numbers of
    /// microbatches (`visits`) must fit the scope. It must not have been summed over the same ranks before. If it is
    /// marked as one rank's shard, the scope must declare shards. If it has tokens, it must have every amount that the
    /// model needs measured.
    void require_sendable(const tally& mine, const microbatch_visits& visits) const {
        require_sendable(mine.masks(), visits);
        static_cast<void>(detail::not_added_up(mine.added_up_over(), mine.accumulators(), sum_, "tally"));
        if (mine.shard_of_context().is_known()) {
            detail::require_shard(mine, sum_);
        }
        for (const statistic& measured : needed_) {
            require_measured(mine, measured);
        }
    }

    /// Returns the tally of all ranks without communication. The caller states that all ranks have equal lengths. Each
    /// accumulator of this rank is multiplied by the number of parts into which its scope divides the global value.
    [[nodiscard]] tally scaled(const tally& mine, equal_lengths_t, const microbatch_visits& visits = {}) const {
        require_sendable(mine, visits);
        const parallel_layout& layout = sum_.layout();
        std::vector<std::uint64_t> integers;
        for (std::size_t i = 0; i < mine.accumulators().size(); ++i) {
            const auto& [name, scope] = sum_.accumulators()[i];
            if (!scope.holds(layout)) {
                throw error(name, "cannot be scaled on this rank, because other ranks hold it: call sum() instead");
            }
            const uint128 whole = uint128{mine.accumulators()[i]} * scope.parts(layout);
            integers.push_back(scope.trusting_replicas().global(name, whole, layout, scope.axes_of_parts()));
        }
        tally all = with_needed(mine.with_accumulators(integers));
        all.mark_added_up(detail::added_up_over(every_axis, layout));
        return all;
    }

  private:
    template <integer_reducer Reducer>
    tally_reduction(const mask_set& masks, const tally_scope& scope, const parallel_layout& layout, Reducer& reducer,
                    const std::optional<convention>& counted_as, std::uint64_t coefficients)
        : empty_(masks), sum_(layout, detail::scoped_accumulators(empty_, scope)) {
        detail::agree(detail::reduction_schema(sum_, empty_.masks(), counted_as, coefficients), reducer);
    }

    void require_visits(const microbatch_visits& visits) const {
        const std::uint64_t vpp = sum_.layout().sizes().vpp;
        const bool has_visits = visits.ran != 0 || visits.added != 0;
        for (const auto& [name, scope] : sum_.accumulators()) {
            const placement along = scope.along_virtual_stages();
            if (along == placement::sharded || (!has_visits && vpp == 1)) {
                continue;
            }
            if (!has_visits) {
                throw error("microbatches",
                            "is missing: pass visits with the numbers of microbatches and of additions to the "
                            "tally; needed because vpp is " +
                                std::to_string(vpp) + " and every virtual stage runs each microbatch");
            }
            const std::uint64_t times = along == placement::replicated ? vpp : 1;
            if (const std::uint64_t expected = checked(visits.ran, "microbatches") * times; visits.added != expected) {
                throw error(name, "was added " + std::to_string(visits.added) + " times for " +
                                      std::to_string(visits.ran) + " microbatches, but its scope expects " +
                                      std::to_string(times) + " additions for each (vpp is " + std::to_string(vpp) +
                                      "): correct the number of additions or the scope");
            }
        }
    }

    /// Throws if this rank has tokens of a measured statistic's modality, but no measured amount of the statistic. In
    /// the sum this would look like a measured 0.
    void require_measured(const tally& mine, const statistic& measured) const {
        const std::size_t index = mine.masks().find(measured);
        const std::size_t at = detail::tally_accumulators::before_masks(mine.masks()) + index;
        if (sum_.accumulators()[at].scope.holds(sum_.layout()) && !mine.has_measured(measured) &&
            mine.pairs(view::useful, measured) == 0 &&
            mine.get(view::padded, accumulator::tokens, measured.in()) != 0) {
            throw error(
                measured.name(),
                "is missing on this rank, which has tokens: call add_measured with its amount, even if it is 0");
        }
    }

    /// Marks in the sum that all measured statistics of the model were added. Every rank has already checked its own
    /// amounts.
    [[nodiscard]] tally with_needed(tally all) const {
        for (const statistic& measured : needed_) {
            all.mark_measured(measured);
        }
        return all;
    }

    tally empty_;
    verified_sum sum_;
    std::vector<statistic> needed_{};  ///< the measured statistics on which the model's FLOPs depend
};

/// Returns the tally of all ranks, with two collectives. In a training loop keep a `tally_reduction` instead, which
/// needs only one collective in each step. `counted_as` is the convention in which the sum will be evaluated. Pass
/// `std::nullopt` if the sum will not be evaluated.
template <integer_reducer Reducer>
[[nodiscard]] tally reduce(const tally& mine, const tally_scope& scope, const parallel_layout& layout, Reducer& reducer,
                           const microbatch_visits& visits, const std::optional<convention>& counted_as) {
    return tally_reduction(mine.masks(), scope, layout, reducer, counted_as).sum(mine, reducer, visits);
}
/// Returns the tally of all ranks, for a model without virtual stages.
template <integer_reducer Reducer>
[[nodiscard]] tally reduce(const tally& mine, const tally_scope& scope, const parallel_layout& layout, Reducer& reducer,
                           const std::optional<convention>& counted_as) {
    return reduce(mine, scope, layout, reducer, {}, counted_as);
}

/// Returns the ratio of the sums over all ranks. `scope` is one scope for numerator and denominator, or one for each. A
/// rank without tokens takes part, too.
template <integer_reducer Reducer>
[[nodiscard]] ratio reduce(const ratio& mine, const ratio_scope& scope, const parallel_layout& layout,
                           Reducer& reducer) {
    const verified_sum sum(layout,
                           {{"ratio.numerator", scope.numerator()}, {"ratio.denominator", scope.denominator()}});
    detail::agree(detail::reduction_schema(sum, {}, std::nullopt), reducer);
    const std::uint64_t integers[] = {mine.numerator(), mine.denominator()};
    const std::vector<std::uint64_t> sums = detail::summed(
        sum, reducer, [&] { return detail::not_added_up(mine.added_up_over(), integers, sum, "ratio"); });
    const std::vector<std::uint64_t> globals = sum.globals(sums);
    ratio all(globals[0], globals[1]);
    all.mark_added_up(detail::added_up_over(sum.summed_axes(sums), layout));
    return all;
}

/// Returns the smallest value, the largest value and the number of values over all ranks. It uses a SUM for the number
/// and a MAX for the two values. The SUM also shows that no rank is missing.
template <integer_reducer Reducer>
[[nodiscard]] extremes reduce(const extremes& mine, const statistic_scope& scope, const parallel_layout& layout,
                              Reducer& reducer) {
    const verified_sum sum(layout, {{"extremes.count", scope}});
    detail::agree(detail::reduction_schema(sum, {}, std::nullopt), reducer);
    const std::uint64_t count = mine.count();
    const std::vector<std::uint64_t> sums = detail::summed(sum, reducer, [&] {
        return detail::not_added_up(mine.added_up_over(), {&count, 1}, sum, "count");
    });
    const std::uint64_t whole = sum.globals(sums)[0];
    std::uint64_t ends[] = {mine.empty() ? 0 : mine.max(), mine.empty() ? 0 : ~mine.min()};
    reducer.max(std::span<std::uint64_t>(ends));
    extremes all(whole, ~ends[1], ends[0]);
    all.mark_added_up(detail::added_up_over(sum.summed_axes(sums), layout));
    return all;
}

}  // namespace floptally
