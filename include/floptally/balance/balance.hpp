// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/balance/assignment.hpp>
#include <floptally/balance/detail/sample_items.hpp>
#include <floptally/balance/detail/search.hpp>
#include <floptally/balance/detail/whole_costs.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `partition`: an assignment of samples to ranks that gives all ranks about as many FLOPs.

namespace floptally {

/// The constraint that an assignment keeps.
enum class balance_mode : std::uint8_t {
    equal_count,  ///< every rank has as many samples, counting those that cost nothing
    free,         ///< any number of samples; a rank may have none
    capacity      ///< the sizes of a rank's samples add up to its capacity at most
};

/// The assignment that the search starts from.
enum class balance_seed : std::uint8_t {
    best,           ///< both of the others; the better result
    longest_first,  ///< LPT
    differencing    ///< Karmarkar-Karp; with equal counts its balanced variant
};

/// The budget that grows with the number of samples. A budget of 0 looks no further than the seeds.
inline constexpr std::uint64_t automatic_budget = std::numeric_limits<std::uint64_t>::max();

/// The options of `partition`.
struct balance_options {
    balance_mode mode = balance_mode::equal_count;
    balance_seed seed = balance_seed::best;
    /// Costs of each sample, side by side: 2 for vision and language. The largest max ÷ mean over the loads is made
    /// small.
    std::size_t loads = 1;
    std::span<const std::uint64_t> sizes{};  ///< for `capacity`: the size of each sample, such as its tokens
    std::uint64_t capacity = 0;              ///< for `capacity`: the room of each rank, in the unit of `sizes`
    /// A group number for each sample, below the number of samples. Samples of one group stay on one rank. Empty: no
    /// sample is tied.
    std::span<const std::uint32_t> groups{};
    /// The number of exchanges looked at from each seed, and of decisions in the complete search of few samples. It is
    /// no time, so that every rank ends at the same assignment.
    std::uint64_t budget = automatic_budget;
    /// The end of exchanges for more than 16 samples (or tied groups): the largest load is within 1 ÷ `fineness` of the
    /// lower bound. 0: at the bound, or where nothing helps. Fewer samples end at the optimum.
    std::uint64_t fineness = 1024;
};

namespace detail {

inline void require_options(std::size_t samples, std::uint32_t ranks, const balance_options& how) {
    if (samples > std::numeric_limits<std::uint32_t>::max()) {
        refuse("costs", {"must be of at most 4294967295 samples, got ", samples});
    }
    if (how.mode == balance_mode::equal_count && samples % ranks != 0) {
        refuse("ranks", {"must divide the ", samples, " samples evenly for equal counts, got ", ranks});
    }
    const bool limited = how.mode == balance_mode::capacity;
    if (how.sizes.size() != (limited ? samples : 0)) {
        const std::string problem = limited ? text_of({"must be one for each of ", samples, " samples"})
                                            : std::string("belong to the mode capacity");
        refuse("sizes", {problem, ", got ", how.sizes.size()});
    }
    if (!limited && how.capacity != 0) {
        refuse("capacity", {"belongs to the mode capacity, got ", how.capacity});
    }
    if (!how.groups.empty() && how.groups.size() != samples) {
        refuse("groups", {"must be one number for each of ", samples, " samples, got ", how.groups.size()});
    }
    for (std::size_t i = 0; i < how.groups.size(); ++i) {
        if (how.groups[i] >= samples) {
            refuse(indexed("groups", i), {"must be below the number of samples, ", samples, ", got ", how.groups[i]});
        }
    }
}

/// The budget, in bundles of items looked at. Where pairs of bundles are compared, a rank of m items has m² of them
/// with each other rank.
[[nodiscard]] inline std::uint64_t budget_of(const balance_options& how, std::size_t samples) {
    const bool pairs = how.loads > 1 || how.mode == balance_mode::capacity || !how.groups.empty();
    return how.budget != automatic_budget ? how.budget : 65536 + (pairs ? 1024 : 32) * std::uint64_t{samples};
}

/// The rank of each sample, nothing where none has room, and whether no other ranks have a smaller peak.
template <class Load>
[[nodiscard]] std::pair<rank_list, bool> search(const sample_items& samples, std::uint32_t ranks,
                                                const balance_options& how) {
    const ordered_items<Load> ordered = samples.ordered<Load>(ranks);
    const search_plan plan{.longest_first = how.seed != balance_seed::differencing,
                           .differencing = how.seed != balance_seed::longest_first,
                           .budget = budget_of(how, samples.item_of.size()),
                           .fineness = how.fineness};
    const rank_list start = how.seed == balance_seed::best ? samples.contiguous(ranks, ordered) : std::nullopt;
    balance_search<Load> balance(ordered.items, plan);
    rank_list found = balance.run(start);
    if (found) {
        std::vector<std::uint32_t> rank_of(samples.item_of.size());
        for (std::size_t i = 0; i < rank_of.size(); ++i) {
            rank_of[i] = (*found)[ordered.place_of[samples.item_of[i]]];
        }
        found = std::move(rank_of);
    }
    return {std::move(found), balance.is_optimum() && how.loads == 1};
}

[[noreturn]] inline void throw_no_room(const sample_items& samples, std::uint32_t ranks, bool by_capacity) {
    uint128 sum = 0;
    for (const std::uint64_t size : samples.sizes) {
        sum += size;
    }
    const bool too_many = sum > uint128{samples.capacity} * ranks;
    refuse(by_capacity ? "capacity" : "groups",
           {by_capacity ? "sizes of " : "", to_string(sum), by_capacity ? "" : " samples",
            too_many ? " do not fit " : " were not made to fit ", ranks, " ranks of ", samples.capacity,
            too_many ? "" : "; another assignment may, the search does not try all of them"});
}

}  // namespace detail

/// An assignment of samples to ranks that makes the largest load small. `costs` are integers, `flops` or finite
/// doubles, `loads` for each sample. Integers and the order of samples alone decide: equal costs give equal assignments
/// on every machine.
template <detail::cost_range Costs>
[[nodiscard]] assignment partition(const Costs& costs, std::uint64_t ranks, const balance_options& how = {}) {
    const std::uint32_t count = detail::checked_ranks(ranks);
    detail::whole_costs whole = detail::whole_costs_of(std::span<const detail::cost_of_range<Costs>>(costs));
    const std::size_t samples = detail::samples_of(whole.values.size(), how.loads);
    detail::require_options(samples, count, how);
    const detail::sample_items items(whole.values, how.loads, how.groups, how.sizes,
                                     how.mode == balance_mode::free       ? detail::no_capacity
                                     : how.mode == balance_mode::capacity ? how.capacity
                                                                          : samples / count);
    auto [found, is_optimum] = items.fits_64_bits() ? detail::search<std::uint64_t>(items, count, how)
                                                    : detail::search<uint128>(items, count, how);
    if (!found) {
        detail::throw_no_room(items, count, how.mode == balance_mode::capacity);
    }
    assignment result = detail::assign(whole, how.loads, std::move(*found), ranks);
    result.is_optimum = is_optimum;
    return result;
}

}  // namespace floptally
