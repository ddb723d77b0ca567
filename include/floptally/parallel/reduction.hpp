// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/parallel/detail/scoped_words.hpp>
#include <floptally/parallel/held_tokens.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/rank_sum.hpp>
#include <floptally/parallel/reduction_schema.hpp>
#include <floptally/parallel/slice_records.hpp>
#include <floptally/parallel/statistic_scope.hpp>
#include <floptally/parallel/tally_scope.hpp>
#include <floptally/parallel/witnessed_sum.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Sums over the ranks of a group, which show whether the group is the right one.

namespace floptally {

/// A reducer that adds up words over a group of ranks: MPI, NCCL, a framework's own collectives. Each rank of the group
/// calls the same functions in the same order and gets the same words, in place. Sums are modulo 2^64.
template <class Reducer>
concept word_reducer = requires(Reducer& over, std::span<std::uint64_t> words) {
    over.sum(words);
    over.max(words);
};

/// A model that evaluates reduced tallies: a `flop_counter`.
template <class Model>
concept counting_model = requires(const Model& model) {
    { model.masks() } -> std::convertible_to<const mask_set&>;
    { model.counted_as() } -> std::convertible_to<const convention&>;
    model.by_component();
};

/// The reducer over a group of one rank.
struct single_rank {
    static void sum(std::span<std::uint64_t>) {}
    static void max(std::span<std::uint64_t>) {}
};

/// The number of microbatches that a rank's schedule ran and the number of times it added lengths to its tally. With
/// virtual stages a step visits a microbatch vpp times on each rank.
struct microbatch_visits {
    std::uint64_t ran = 0;
    std::uint64_t added = 0;
};

/// The tally of one step, which counts how often it was added to: call `microbatch()` once for each microbatch.
class microbatch_tally {
  public:
    explicit microbatch_tally(const mask_set& masks) : own_(masks) {}

    [[nodiscard]] tally& microbatch() {
        ++added_;
        return own_;
    }
    [[nodiscard]] const tally& all() const { return own_; }
    /// The visits, given the number of microbatches that the schedule ran on this rank.
    [[nodiscard]] microbatch_visits visits(std::uint64_t ran) const { return {.ran = ran, .added = added_}; }

  private:
    tally own_;
    std::uint64_t added_ = 0;
};

/// A tag with which the caller, who alone can know it, states that all ranks have equal lengths.
struct equal_lengths_t {};
inline constexpr equal_lengths_t equal_lengths{};

namespace detail {

template <class Schema, word_reducer Reducer>
void agree(const Schema& schema, Reducer& over) {
    auto words = schema.message();
    over.max(std::span<std::uint64_t>(words));
    Schema::require_agreement(words);
}

/// The sum of all ranks' messages, by one SUM. A rank with an error of its own, or without memory, takes part too and
/// then throws that; the others learn from the sum that there was one.
template <word_reducer Reducer, class Values>
[[nodiscard]] std::vector<std::uint64_t> summed(const witnessed_sum& sum, Reducer& over, Values values) {
    std::vector<std::uint64_t> words;
    try {
        words = sum.message(values());
    } catch (...) {
        sum.refuse(over);
        throw;
    }
    over.sum(std::span<std::uint64_t>(words));
    return words;
}

}  // namespace detail

/// The sum of tallies over the ranks of a layout, step after step.
class tally_reduction {
  public:
    /// A reduction of tallies that `model`, a `flop_counter`, will evaluate. All ranks of the group construct it
    /// together: they compare masks, scope, layout, version, the model's convention and its coefficients, which another
    /// model or plan would change, by one MAX of a message of fixed size. Where one disagrees, all of them throw.
    template <counting_model Model, word_reducer Reducer>
    tally_reduction(const Model& model, const tally_scope& scope, const parallel_layout& layout, Reducer& over)
        : tally_reduction(model.masks(), scope, layout, over, model.counted_as(), detail::coefficient_hash(model)) {}

    template <counting_model Model, class Reducer>
    tally_reduction(const Model& /*model*/, const tally_scope& scope, const parallel_layout& layout,
                    Reducer& /*no_reducer*/)
        : sum_(layout, detail::scoped_words(empty_, scope)) {
        static_assert(word_reducer<Reducer>,
                      "this type reduces nothing: it needs `void sum(std::span<std::uint64_t>)` "
                      "and `void max(std::span<std::uint64_t>)`, each a collective of the group");
    }

    /// A reduction of tallies of these masks. `counted_as` is the convention in which the sum will be evaluated, or
    /// `std::nullopt` where it will not: it is then not compared.
    template <word_reducer Reducer>
    tally_reduction(const mask_set& masks, const tally_scope& scope, const parallel_layout& layout, Reducer& over,
                    const std::optional<convention>& counted_as)
        : tally_reduction(masks, scope, layout, over, counted_as, 0) {}

    /// The tally of all ranks from that of this one, by one SUM: the same bits on every rank of the group. Throws on
    /// every rank where one refuses or where the group is not what the scope declares. Virtual stages need `visits`.
    template <word_reducer Reducer>
    [[nodiscard]] tally sum(const tally& mine, Reducer& over, const microbatch_visits& visits = {}) const {
        return global(detail::summed(sum_, over, [&] {
            require_sendable(mine, visits);
            return mine.words();
        }));
    }

    /// A check that no sum can make: throws on every rank where ranks hold the same tokens, or parts of them, against
    /// the scope of `tokens` (`floptally::require_held`). All ranks of the layout call it once, before the first step.
    template <word_reducer Reducer>
    void require_held(const held_tokens& mine, Reducer& over) const {
        const std::size_t tokens = static_cast<std::size_t>(statistic::tokens);
        floptally::require_held(sum_.words()[tokens].scope, mine, sum_.layout(), over);
    }

    /// The function that sums a meter's steps: `sum` over the group of `over`, which must outlive it. It cannot be used
    /// with virtual stages, which need `visits`.
    template <word_reducer Reducer>
    [[nodiscard]] rank_sum by(Reducer& over) const {
        return {.ranks = sum_.layout().world_size(),
                .sum = [own = *this, &over](const std::function<tally()>& counted) {
                    std::optional<tally> mine;
                    return own.global(detail::summed(own.sum_, over, [&] {
                        own.require_sendable(mine.emplace(counted()), {});
                        return mine->words();
                    }));
                }};
    }

    /// The messages that ranks send, for callers that add them up themselves: `device_reduction`.
    [[nodiscard]] const detail::witnessed_sum& messages() const { return sum_; }
    /// The tally of all ranks from the sum of their messages. Throws the same error on every rank.
    [[nodiscard]] tally global(std::span<const std::uint64_t> sums) const {
        tally all = tally::from_words(empty_.masks(), sum_.globals(sums));
        all.mark_added_up(detail::added_up_over(sum_.summed_axes(sums), sum_.layout()));
        return all;
    }
    /// Throws where a tally of these masks, added to so often, cannot be reduced.
    void require_sendable(const mask_set& masks, const microbatch_visits& visits) const {
        if (!(masks == empty_.masks())) {
            throw error("masks", "this tally is of other masks than the reduction");
        }
        require_visits(visits);
    }
    /// Throws also where the tally was added up over those ranks before, or is one rank's share that the scope does not
    /// declare.
    void require_sendable(const tally& mine, const microbatch_visits& visits) const {
        require_sendable(mine.masks(), visits);
        static_cast<void>(detail::not_added_up(mine.added_up_over(), mine.words(), sum_, "tally"));
        if (mine.share_of_context().is_said()) {
            detail::require_share(mine, sum_);
        }
    }

    /// The tally of all ranks without communication, where the caller states that they have equal lengths: this rank's
    /// words times the parts of each.
    [[nodiscard]] tally scaled(const tally& mine, equal_lengths_t, const microbatch_visits& visits = {}) const {
        require_sendable(mine, visits);
        const parallel_layout& layout = sum_.layout();
        std::vector<std::uint64_t> words;
        for (std::size_t i = 0; i < mine.words().size(); ++i) {
            const auto& [name, scope] = sum_.words()[i];
            if (!scope.holds(layout)) {
                throw error(name, "does not exist on this rank, so that it cannot be scaled here");
            }
            const uint128 whole = uint128{mine.words()[i]} * scope.parts(layout);
            words.push_back(scope.trusting_replicas().global(name, whole, layout, scope.axes_of_parts()));
        }
        tally all = tally::from_words(empty_.masks(), words);
        all.mark_added_up(detail::added_up_over(every_axis, layout));
        return all;
    }

  private:
    template <word_reducer Reducer>
    tally_reduction(const mask_set& masks, const tally_scope& scope, const parallel_layout& layout, Reducer& over,
                    const std::optional<convention>& counted_as, std::uint64_t coefficients)
        : empty_(masks), sum_(layout, detail::scoped_words(empty_, scope)) {
        detail::agree(detail::reduction_schema(sum_, empty_.masks(), counted_as, coefficients), over);
    }

    void require_visits(const microbatch_visits& visits) const {
        const std::uint64_t vpp = sum_.layout().sizes().vpp;
        const bool told = visits.ran != 0 || visits.added != 0;
        for (const auto& [name, scope] : sum_.words()) {
            const share held = scope.along_virtual_stages();
            if (held == share::sharded || (!told && vpp == 1)) {
                continue;
            }
            if (!told) {
                throw error("microbatches", "must be told, ran and added, where vpp is " + std::to_string(vpp) +
                                                ": each virtual stage visits a microbatch");
            }
            const std::uint64_t times = held == share::replicated ? vpp : 1;
            if (const std::uint64_t due = checked(visits.ran, "microbatches") * times; visits.added != due) {
                throw error(name, "was added " + std::to_string(visits.added) + " times for " +
                                      std::to_string(visits.ran) + " microbatches, and its scope says " +
                                      std::to_string(times) + " for each (vpp is " + std::to_string(vpp) + ")");
            }
        }
    }

    tally empty_;
    detail::witnessed_sum sum_;
};

/// The tally of all ranks, once: two collectives. A training loop keeps a `tally_reduction`, which needs one a step.
/// `counted_as` is the convention in which the sum will be evaluated, `std::nullopt` where it will not.
template <word_reducer Reducer>
[[nodiscard]] tally reduce(const tally& mine, const tally_scope& scope, const parallel_layout& layout, Reducer& over,
                           const microbatch_visits& visits, const std::optional<convention>& counted_as) {
    return tally_reduction(mine.masks(), scope, layout, over, counted_as).sum(mine, over, visits);
}
/// The tally of all ranks as above, without visits.
template <word_reducer Reducer>
[[nodiscard]] tally reduce(const tally& mine, const tally_scope& scope, const parallel_layout& layout, Reducer& over,
                           const std::optional<convention>& counted_as) {
    return reduce(mine, scope, layout, over, {}, counted_as);
}

/// The ratio over all ranks, by one scope for numerator and denominator, or one each. A rank with an empty slice takes
/// part.
template <word_reducer Reducer>
[[nodiscard]] ratio reduce(const ratio& mine, const ratio_scope& scope, const parallel_layout& layout, Reducer& over) {
    const detail::witnessed_sum sum(
        layout, {{"ratio.numerator", scope.numerator()}, {"ratio.denominator", scope.denominator()}});
    detail::agree(detail::reduction_schema(sum, {}, std::nullopt), over);
    const std::uint64_t words[] = {mine.numerator(), mine.denominator()};
    const std::vector<std::uint64_t> sums =
        detail::summed(sum, over, [&] { return detail::not_added_up(mine.added_up_over(), words, sum, "ratio"); });
    const std::vector<std::uint64_t> globals = sum.globals(sums);
    ratio all(globals[0], globals[1]);
    all.mark_added_up(detail::added_up_over(sum.summed_axes(sums), layout));
    return all;
}

/// The least, the largest and the count over all ranks: a SUM for the count, which also shows that no part is missing,
/// and a MAX.
template <word_reducer Reducer>
[[nodiscard]] extremes reduce(const extremes& mine, const statistic_scope& scope, const parallel_layout& layout,
                              Reducer& over) {
    const detail::witnessed_sum sum(layout, {{"extremes.count", scope}});
    detail::agree(detail::reduction_schema(sum, {}, std::nullopt), over);
    const std::uint64_t count = mine.count();
    const std::vector<std::uint64_t> sums = detail::summed(sum, over, [&] {
        return detail::not_added_up(mine.added_up_over(), {&count, 1}, sum, "count");
    });
    const std::uint64_t whole = sum.globals(sums)[0];
    std::uint64_t ends[] = {mine.empty() ? 0 : mine.max(), mine.empty() ? 0 : ~mine.min()};
    over.max(std::span<std::uint64_t>(ends));
    extremes all(whole, ~ends[1], ends[0]);
    all.mark_added_up(detail::added_up_over(sum.summed_axes(sums), layout));
    return all;
}

}  // namespace floptally
