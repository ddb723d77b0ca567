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
#include <floptally/balance/cost_range.hpp>
#include <floptally/balance/detail/sample_items.hpp>
#include <floptally/balance/detail/search.hpp>
#include <floptally/balance/detail/whole_costs.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `partition` assigns samples to ranks so that all ranks get about equally many FLOPs.

namespace floptally::inline v0_3 {

/// The rule for how many samples a rank may have.
enum class balance_mode : std::uint8_t {
    equal_count,  ///< every rank has the same number of samples, samples of cost 0 included
    free,         ///< a rank has any number of samples, also none
    capacity      ///< the sizes of a rank's samples add up to at most `balance_options::capacity`
};

/// The assignment that the search starts from.
enum class balance_seed : std::uint8_t {
    best,           ///< runs the search from `longest_first` and from `differencing`, and takes the better result
    longest_first,  ///< LPT: the costliest sample first; each sample goes to the rank with the least load
    differencing    ///< the differencing method of Karmarkar and Karp; with equal counts its balanced variant
};

/// Set `balance_options::budget` to this value for a budget that grows with the number of samples.
inline constexpr std::uint64_t automatic_budget = std::numeric_limits<std::uint64_t>::max();

/// The options of `partition`.
struct balance_options {
    balance_mode mode = balance_mode::equal_count;
    balance_seed seed = balance_seed::best;
    /// The number of costs of each sample, adjacent in `costs`: 2 for vision and language. The search computes max ÷
    /// mean over the ranks for each cost, and makes the largest of these ratios small.
    std::size_t loads = 1;
    std::span<const std::uint64_t> sizes{};  ///< size of each sample, such as its tokens; only for mode `capacity`
    std::uint64_t capacity = 0;  ///< largest sum of sizes on a rank, in the unit of `sizes`; only for mode `capacity`
    /// A group number for each sample, below the number of samples. Samples of one group stay on one rank. Empty: no
    /// samples are tied.
    std::span<const std::uint32_t> groups{};
    /// The largest number of exchanges of samples between ranks that the search tries from each starting assignment.
    /// With few samples the search tries all assignments, and the budget bounds the decisions of that search. With 0
    /// the better starting assignment is the result. The budget is a count and not a time limit, so that every rank
    /// gets the same assignment.
    std::uint64_t budget = automatic_budget;
    /// The precision of the search. With more than 16 samples (or groups) the search ends when the largest load is
    /// within 1 ÷ `fineness` of a lower bound. With 0 the search ends at the bound, or when no exchange helps. With
    /// fewer samples the search always ends at the optimum.
    std::uint64_t fineness = 1024;
};

namespace detail {

inline void require_options(std::size_t samples, std::uint32_t ranks, const balance_options& options) {
    if (samples > std::numeric_limits<std::uint32_t>::max()) {
        refuse("costs", {"must have at most 4294967295 samples, got ", samples});
    }
    if (options.mode == balance_mode::equal_count && samples % ranks != 0) {
        refuse("ranks", {"must divide the ", samples, " samples evenly for equal counts, got ", ranks});
    }
    const bool limited = options.mode == balance_mode::capacity;
    if (options.sizes.size() != (limited ? samples : 0)) {
        const std::string problem = limited ? text_of({"must be one for each of ", samples, " samples"})
                                            : std::string("must be empty outside of the mode capacity");
        refuse("sizes", {problem, ", got ", options.sizes.size()});
    }
    if (!limited && options.capacity != 0) {
        refuse("capacity", {"must be 0 unless the mode is capacity, got ", options.capacity});
    }
    if (!options.groups.empty() && options.groups.size() != samples) {
        refuse("groups", {"must have one number for each of the ", samples, " samples, got ", options.groups.size()});
    }
    for (std::size_t i = 0; i < options.groups.size(); ++i) {
        if (options.groups[i] >= samples) {
            refuse(indexed("groups", i),
                   {"must be below the number of samples, ", samples, ", got ", options.groups[i]});
        }
    }
}

/// Returns the budget of the search: `options.budget`, or, if that is `automatic_budget`, a number that grows with the
/// number of samples. The number is larger with several loads, sizes or groups, because the search then tries every
/// sample of one rank against every sample of another.
[[nodiscard]] inline std::uint64_t budget_of(const balance_options& options, std::size_t samples) {
    const bool pairs = options.loads > 1 || options.mode == balance_mode::capacity || !options.groups.empty();
    return options.budget != automatic_budget ? options.budget : 65536 + (pairs ? 1024 : 32) * std::uint64_t{samples};
}

/// Searches for a good assignment. Returns the rank of each sample, or nothing if no assignment was found that fits the
/// capacity. The second returned value is true if the largest load is known to be the smallest possible.
template <class Load>
[[nodiscard]] std::pair<rank_list, bool> search(const sample_items& samples, std::uint32_t ranks,
                                                const balance_options& options) {
    const ordered_items<Load> ordered = samples.ordered<Load>(ranks);
    const search_plan plan{.longest_first = options.seed != balance_seed::differencing,
                           .differencing = options.seed != balance_seed::longest_first,
                           .budget = budget_of(options, samples.item_of.size()),
                           .fineness = options.fineness};
    const rank_list start = options.seed == balance_seed::best ? samples.contiguous(ranks, ordered) : std::nullopt;
    balance_search<Load> balance(ordered.items, plan);
    rank_list found = balance.run(start);
    if (found) {
        std::vector<std::uint32_t> rank_of(samples.item_of.size());
        for (std::size_t i = 0; i < rank_of.size(); ++i) {
            rank_of[i] = (*found)[ordered.position_of[samples.item_of[i]]];
        }
        found = std::move(rank_of);
    }
    return {std::move(found), balance.is_optimum() && options.loads == 1};
}

[[noreturn]] inline void throw_no_room(const sample_items& samples, std::uint32_t ranks, bool by_capacity) {
    uint128 sum = 0;
    for (const std::uint64_t size : samples.sizes) {
        sum += size;
    }
    const bool too_many = sum > uint128{samples.capacity} * ranks;
    refuse(by_capacity ? "capacity" : "groups",
           {by_capacity ? "sizes that add up to " : "", to_string(sum), by_capacity ? "" : " samples",
            too_many ? " do not fit " : " could not be made to fit ", ranks, " ranks with a capacity of ",
            samples.capacity,
            too_many ? "; use more ranks or a larger capacity"
                     : ": the search does not try all assignments; use more ranks or a larger capacity"});
}

}  // namespace detail

/// Returns an assignment of samples to ranks that makes the largest load small. `costs` are integers, `flops` or finite
/// doubles, with `loads` numbers for each sample. The result depends only on the costs, converted to integers, and on
/// the order of samples. So equal costs give equal assignments on every machine.
template <cost_range Costs>
[[nodiscard]] assignment partition(const Costs& costs, std::uint64_t ranks, const balance_options& options = {}) {
    const std::uint32_t count = detail::checked_ranks(ranks);
    detail::whole_costs whole = detail::whole_costs_of(std::span<const detail::cost_of_range<Costs>>(costs));
    const std::size_t samples = detail::samples_of(whole.values.size(), options.loads);
    detail::require_options(samples, count, options);
    const detail::sample_items items(whole.values, options.loads, options.groups, options.sizes,
                                     options.mode == balance_mode::free       ? detail::no_capacity
                                     : options.mode == balance_mode::capacity ? options.capacity
                                                                              : samples / count);
    auto [found, is_optimum] = items.fits_64_bits() ? detail::search<std::uint64_t>(items, count, options)
                                                    : detail::search<uint128>(items, count, options);
    if (!found) {
        detail::throw_no_room(items, count, options.mode == balance_mode::capacity);
    }
    assignment result = detail::assign(whole, options.loads, std::move(*found), ranks);
    result.is_optimum = is_optimum;
    return result;
}

}  // namespace floptally
