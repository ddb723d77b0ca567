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
#include <floptally/detail/balance/sample_items.hpp>
#include <floptally/detail/balance/search.hpp>
#include <floptally/detail/balance/whole_costs.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/error.hpp>

namespace floptally {

/// What else an assignment keeps, beside loads that are alike.
enum class balance_mode : std::uint8_t {
    equal_count,  ///< as many samples on every rank, those that cost nothing among them
    free,         ///< any number of samples; a rank may have none
    capacity      ///< the sizes on a rank add up to its capacity at most
};

/// What the search starts from.
enum class balance_seed : std::uint8_t {
    best,           ///< both; the better result
    longest_first,  ///< LPT
    differencing    ///< Karmarkar-Karp; with equal counts its balanced variant
};

/// The budget of a balance that looks no further than its seeds is 0.
inline constexpr std::uint64_t automatic_budget = std::numeric_limits<std::uint64_t>::max();

struct balance_options {
    balance_mode mode = balance_mode::equal_count;
    balance_seed seed = balance_seed::best;
    /// Costs of each sample, which stand together: 2 for vision and language. What is made small is the largest of
    /// max ÷ mean over them.
    std::size_t loads = 1;
    std::span<const std::uint64_t> sizes{};  ///< for `capacity`: of each sample, as its tokens
    std::uint64_t capacity = 0;              ///< for `capacity`: of each rank, in the unit of `sizes`
    /// Samples that stay on one rank have the same number, which is below the number of samples. Empty: none do.
    std::span<const std::uint32_t> groups{};
    /// Exchanges to look at from each seed, and decisions of the complete search of few samples. It is a count and no
    /// time, so that every rank ends at the same one.
    std::uint64_t budget = automatic_budget;
    /// More than 16 samples (or tied groups): exchanges end where the largest load is within 1 ÷ `fineness` of the
    /// lower bound. 0: at the bound, or where nothing helps. Fewer end at the optimum.
    std::uint64_t fineness = 1024;
};

namespace detail {

inline void require_options(std::size_t samples, std::uint32_t ranks, const balance_options& how) {
    if (samples > std::numeric_limits<std::uint32_t>::max()) {
        throw error("costs", "must be of at most 4294967295 samples, got " + std::to_string(samples));
    }
    if (how.mode == balance_mode::equal_count && samples % ranks != 0) {
        throw error("ranks", "must divide the " + std::to_string(samples) + " samples evenly for equal counts, got " +
                                 std::to_string(ranks));
    }
    const bool limited = how.mode == balance_mode::capacity;
    if (how.sizes.size() != (limited ? samples : 0)) {
        throw error("sizes", (limited ? "must be one for each of " + std::to_string(samples) + " samples, got "
                                      : std::string("belong to the mode capacity, got ")) +
                                 std::to_string(how.sizes.size()));
    }
    if (!limited && how.capacity != 0) {
        throw error("capacity", "belongs to the mode capacity, got " + std::to_string(how.capacity));
    }
    if (!how.groups.empty() && how.groups.size() != samples) {
        throw error("groups", "must be one number for each of " + std::to_string(samples) + " samples, got " +
                                  std::to_string(how.groups.size()));
    }
    for (std::size_t i = 0; i < how.groups.size(); ++i) {
        if (how.groups[i] >= samples) {
            throw error(indexed("groups", i), "must be below the number of samples, " + std::to_string(samples) +
                                                  ", got " + std::to_string(how.groups[i]));
        }
    }
}

/// In looks at bundles: where pairs of them are looked at, a rank of m items has m² with each other rank.
[[nodiscard]] inline std::uint64_t budget_of(const balance_options& how, std::size_t samples) {
    const bool pairs = how.loads > 1 || how.mode == balance_mode::capacity || !how.groups.empty();
    return how.budget != automatic_budget ? how.budget : 65536 + (pairs ? 1024 : 32) * std::uint64_t{samples};
}

template <class Load>
[[nodiscard]] rank_list search(const sample_items& samples, std::uint32_t ranks, const balance_options& how,
                               bool& is_optimum) {
    const ordered_items<Load> ordered = samples.ordered<Load>(ranks);
    const search_plan plan{.longest_first = how.seed != balance_seed::differencing,
                           .differencing = how.seed != balance_seed::longest_first,
                           .budget = budget_of(how, samples.item_of.size()),
                           .fineness = how.fineness};
    const rank_list given = how.seed == balance_seed::best ? samples.contiguous(ranks, ordered) : std::nullopt;
    balance_search<Load> searched(ordered.items, plan);
    rank_list found = searched.run(given);
    is_optimum = searched.is_optimum() && how.loads == 1;
    if (found) {
        std::vector<std::uint32_t> rank_of(samples.item_of.size());
        for (std::size_t i = 0; i < rank_of.size(); ++i) {
            rank_of[i] = (*found)[ordered.place_of[samples.item_of[i]]];
        }
        found = std::move(rank_of);
    }
    return found;
}

[[noreturn]] inline void throw_no_room(const sample_items& samples, std::uint32_t ranks, bool by_capacity) {
    uint128 sum = 0;
    for (const std::uint64_t size : samples.sizes) {
        sum += size;
    }
    const bool too_many = sum > uint128{samples.capacity} * ranks;
    std::string problem = by_capacity ? "sizes of " + to_string(sum) : to_string(sum) + " samples";
    problem.append(too_many ? " do not fit " : " were not made to fit ").append(std::to_string(ranks));
    problem.append(" ranks of ").append(std::to_string(samples.capacity));
    problem.append(too_many ? "" : "; another assignment may, the search does not try all of them");
    throw error(by_capacity ? "capacity" : "groups", problem);
}

}  // namespace detail

/// Samples to ranks so that the largest load is small. `costs`: integers, `flops` or finite doubles, `loads` for each
/// sample. Only integers and the order of samples decide: the same costs give the same assignment everywhere.
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
    bool is_optimum = false;
    detail::rank_list found = items.fits_64_bits() ? detail::search<std::uint64_t>(items, count, how, is_optimum)
                                                   : detail::search<uint128>(items, count, how, is_optimum);
    if (!found) {
        detail::throw_no_room(items, count, how.mode == balance_mode::capacity);
    }
    assignment result = detail::assign(whole, how.loads, std::move(*found), ranks);
    result.is_optimum = is_optimum;
    return result;
}

}  // namespace floptally
