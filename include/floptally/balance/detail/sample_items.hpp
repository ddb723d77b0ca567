// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <floptally/balance/assignment.hpp>
#include <floptally/balance/detail/items.hpp>
#include <floptally/balance/detail/seeds.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

namespace floptally::inline v0_3::detail {

/// Sorts integers by their bits from bit `first` on, by a stable radix sort of bytes. With many integers it is faster
/// than a sort by comparisons, because a processor cannot predict the results of comparisons.
inline void sort_by_bytes(std::vector<std::uint64_t>& integers, int first, int bits) {
    std::vector<std::uint64_t> sorted(integers.size());
    for (int shift = first; shift < bits; shift += 8) {
        std::array<std::uint32_t, 256> positions{};
        for (const std::uint64_t integer : integers) {
            ++positions[integer >> shift & 255];
        }
        std::uint32_t before = 0;
        for (std::uint32_t& position : positions) {
            before += std::exchange(position, before);
        }
        for (const std::uint64_t integer : integers) {
            sorted[positions[integer >> shift & 255]++] = integer;
        }
        integers.swap(sorted);
    }
}

/// Returns the indices of `keys` in the order of descending keys. Among equal keys the lowest index comes first.
template <class Key>
[[nodiscard]] std::vector<std::uint32_t> descending(const std::vector<Key>& keys) {
    std::vector<std::uint32_t> order(keys.size());
    if constexpr (std::is_same_v<Key, std::uint64_t>) {
        const std::uint64_t largest = keys.empty() ? 0 : *std::max_element(keys.begin(), keys.end());
        const auto index_bits = static_cast<int>(std::bit_width(keys.size()));
        const int bits = index_bits + static_cast<int>(std::bit_width(largest));
        if (bits <= 64) {  // A key and its index fit into one integer of 64 bits.
            std::vector<std::uint64_t> integers(keys.size());
            for (std::size_t i = 0; i < keys.size(); ++i) {
                integers[i] = (largest - keys[i]) << index_bits | i;
            }
            constexpr std::size_t many = 256;
            if (integers.size() < many) {
                std::sort(integers.begin(), integers.end());
            } else {
                sort_by_bytes(integers, index_bits, bits);
            }
            for (std::size_t i = 0; i < order.size(); ++i) {
                order[i] = static_cast<std::uint32_t>(integers[i] & ((std::uint64_t{1} << index_bits) - 1));
            }
            return order;
        }
    }
    std::iota(order.begin(), order.end(), std::uint32_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
    return order;
}

/// Items in the order in which a search assigns them, and the position of each item in that order.
template <class Load>
struct ordered_items {
    balance_items<Load> items{};
    std::vector<std::uint32_t> position_of{};
};

/// Samples in the form that the search needs: samples that must stay together are one item, and costs are scaled to 64
/// or 128 bits.
///
/// If samples have one load, its costs stay exact: they are divided only by a power of two that divides all of them. If
/// samples have several loads, the costs of each load are scaled so that they add up to 2^44. Then the load with the
/// largest max also has the largest max ÷ mean. Rounding changes an item's cost by less than 2^-44 of the sum.
class sample_items {
  public:
    std::vector<std::uint32_t> item_of{};  ///< item of each sample; items are in the order of their first samples
    std::vector<std::uint64_t> sizes{};    ///< the size of each item
    std::uint64_t capacity;

    sample_items(std::span<const uint128> sample_costs, std::size_t loads, std::span<const std::uint32_t> groups,
                 std::span<const std::uint64_t> sample_sizes, std::uint64_t rank_capacity)
        : capacity(rank_capacity), loads_(loads) {
        tie(sample_costs.size() / loads, groups);
        costs_.resize(sizes.size() * loads);
        for (std::size_t sample = 0; sample < item_of.size(); ++sample) {
            const std::size_t item = item_of[sample];
            const std::uint64_t size = sample_sizes.empty() ? 1 : sample_sizes[sample];
            sizes[item] = checked(sizes[item], "sizes") + size;
            if (capacity != no_capacity && sizes[item] > capacity) {
                refuse(indexed(groups.empty() ? "sizes" : "groups", sample),
                       {groups.empty() ? "must be" : "the samples of one group must together be",
                        " at most the capacity of a rank, ", capacity, ", got ", sizes[item]});
            }
            for (std::size_t load = 0; load < loads; ++load) {
                uint128& sum = costs_[item * loads + load];
                sum = (flops{sum} + flops{sample_costs[sample * loads + load]}).value();
            }
        }
        scale();
    }

    /// Returns whether 64 bits hold twice the sum of all costs.
    [[nodiscard]] bool fits_64_bits() const { return sum_ < (uint128{1} << 62); }

    template <class Load>
    [[nodiscard]] ordered_items<Load> ordered(std::uint32_t ranks) const {
        std::vector<Load> keys(sizes.size());
        for (std::size_t item = 0; item < keys.size(); ++item) {
            for (std::size_t load = 0; load < loads_; ++load) {
                keys[item] += static_cast<Load>(costs_[item * loads_ + load]);
            }
        }
        ordered_items<Load> result{{.ranks = ranks, .loads = loads_, .capacity = capacity, .numbers = descending(keys)},
                                   std::vector<std::uint32_t>(keys.size())};
        result.items.costs.reserve(costs_.size());
        result.items.sizes.reserve(sizes.size());
        for (std::size_t i = 0; i < keys.size(); ++i) {
            const std::uint32_t item = result.items.numbers[i];
            result.position_of[item] = static_cast<std::uint32_t>(i);
            result.items.sizes.push_back(sizes[item]);
            for (std::size_t load = 0; load < loads_; ++load) {
                result.items.costs.push_back(static_cast<Load>(costs_[item * loads_ + load]));
            }
        }
        return result;
    }

    /// Returns the rank of each item if samples are assigned in their order. Returns nothing if an item is then on two
    /// ranks.
    template <class Load>
    [[nodiscard]] rank_list contiguous(std::uint32_t ranks, const ordered_items<Load>& ordered) const {
        const std::vector<std::uint32_t> rank_of = contiguous_ranks(item_of.size(), ranks);
        constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
        std::vector<std::uint32_t> item_ranks(sizes.size(), none);
        for (std::size_t sample = 0; sample < item_of.size(); ++sample) {
            std::uint32_t& rank = item_ranks[ordered.position_of[item_of[sample]]];
            if (rank != none && rank != rank_of[sample]) {
                return std::nullopt;
            }
            rank = rank_of[sample];
        }
        return item_ranks;
    }

  private:
    void tie(std::size_t samples, std::span<const std::uint32_t> groups) {
        constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
        std::vector<std::uint32_t> item_of_group(groups.size(), none);
        std::uint32_t items = 0;
        item_of.reserve(samples);
        for (std::size_t sample = 0; sample < samples; ++sample) {
            if (groups.empty()) {
                item_of.push_back(items++);
                continue;
            }
            std::uint32_t& item = item_of_group[groups[sample]];
            item = item == none ? items++ : item;
            item_of.push_back(item);
        }
        sizes.resize(items);
    }

    void scale() {
        if (loads_ == 1) {
            take_out_power_of_two();
        } else {
            scale_each_load();
        }
        for (const uint128 cost : costs_) {
            sum_ = (flops{sum_} + flops{cost}).value();
        }
        if (sum_ >> 126 != 0) {
            throw overflow("costs", text_of({"must add up to less than 2^126, got ", to_string(sum_)}));
        }
    }

    void take_out_power_of_two() {
        uint128 bits = 0;
        for (const uint128 cost : costs_) {
            bits |= cost;
        }
        // The costs are divided by the largest power of two that divides all of them.
        const int shift = std::countr_zero(static_cast<std::uint64_t>(bits));
        for (uint128& cost : costs_) {
            cost >>= shift;
        }
    }

    void scale_each_load() {
        for (std::size_t load = 0; load < loads_; ++load) {
            flops sum;
            for (std::size_t i = load; i < costs_.size(); i += loads_) {
                sum += flops{costs_[i]};
            }
            // Costs are multiplied by 2^44. The multiplied costs fit 128 bits if the sum of costs is below 2^84.
            int shift = 0;
            while ((sum.value() >> shift) >> 84 != 0) {
                ++shift;
            }
            const uint128 total = sum.value() >> shift;
            for (std::size_t i = load; total != 0 && i < costs_.size(); i += loads_) {
                costs_[i] = ((costs_[i] >> shift) << 44) / total;
            }
        }
    }

    std::size_t loads_;
    std::vector<uint128> costs_{};  ///< the costs of item 0, then those of item 1, …
    uint128 sum_ = 0;               ///< sum of `costs_`
};

}  // namespace floptally::detail
