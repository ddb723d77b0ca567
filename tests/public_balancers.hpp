// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// The balancers of public training frameworks, written plainly from their algorithms: each gives the rank of each
/// sample. `partition` is compared with them, in its tests and in its benchmark.
///
/// * Karmarkar-Karp of verl (`verl/utils/seqlen_balancing.py`, `karmarkar_karp` under
///   `get_seqlen_balanced_partitions`), which recsys-examples (`commons/perf_model/partitioner.py` and its C++ twin
///   `csrc/kk_partition.cpp`) has with the same order of ties, and slime, AReaL and others copied.
/// * verl's `greedy_partition`: samples as they come, each to the lightest.
/// * MegatronMIMO's equal-count longest-first (Megatron-Bridge PR 4608, `balanced_index_order`).

namespace public_balancers {

using ranks_of_samples = std::vector<std::uint32_t>;

/// Samples that shall be on one rank, in the order in which they came together.
struct subset {
    std::uint64_t sum = 0;
    std::vector<std::pair<std::size_t, std::uint64_t>> members{};  ///< index and cost

    /// The order of subsets: by sum, then by number of members, then by the members themselves.
    [[nodiscard]] friend bool operator<(const subset& a, const subset& b) {
        if (a.sum != b.sum) {
            return a.sum < b.sum;
        }
        return a.members.size() != b.members.size() ? a.members.size() < b.members.size() : a.members < b.members;
    }
};

/// One subset for each rank, the largest first.
struct partial_partition {
    std::vector<subset> subsets{};

    void sort() {
        std::sort(subsets.begin(), subsets.end(), [](const subset& a, const subset& b) { return b < a; });
    }
    [[nodiscard]] std::uint64_t spread() const { return subsets.front().sum - subsets.back().sum; }

    /// The order of the heap: on top is the largest spread; of equal spreads, the one with the larger first subset.
    [[nodiscard]] friend bool operator<(const partial_partition& a, const partial_partition& b) {
        return a.spread() != b.spread() ? a.spread() < b.spread() : a.subsets.front() < b.subsets.front();
    }
};

/// Largest differencing: the two partial partitions on top of the heap become one, the largest subset of one with the
/// smallest of the other. They start as one sample each, with equal counts as runs of one sample for each rank, cut
/// from the samples by ascending cost and then index.
[[nodiscard]] inline ranks_of_samples karmarkar_karp(const std::vector<std::uint64_t>& costs, std::size_t ranks,
                                                     bool equal_size) {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    for (std::size_t i = 0; i < costs.size(); ++i) {
        order.emplace_back(costs[i], i);
    }
    std::sort(order.begin(), order.end());
    std::vector<partial_partition> heap;
    const std::size_t step = equal_size ? ranks : 1;
    for (std::size_t first = 0; first < order.size(); first += step) {
        partial_partition start;
        start.subsets.resize(ranks);
        for (std::size_t i = 0; i < step; ++i) {
            const auto& [cost, index] = order[first + i];
            start.subsets[i] = {cost, {{index, cost}}};
        }
        start.sort();
        heap.push_back(std::move(start));
    }
    std::make_heap(heap.begin(), heap.end());
    const auto pop = [&] {
        std::pop_heap(heap.begin(), heap.end());
        partial_partition top = std::move(heap.back());
        heap.pop_back();
        return top;
    };
    while (heap.size() > 1) {
        partial_partition larger = pop();
        const partial_partition other = pop();
        for (std::size_t i = 0; i < ranks; ++i) {
            subset& own = larger.subsets[i];
            const subset& joins = other.subsets[ranks - 1 - i];
            own.members.insert(own.members.end(), joins.members.begin(), joins.members.end());
            own.sum += joins.sum;
        }
        larger.sort();
        heap.push_back(std::move(larger));
        std::push_heap(heap.begin(), heap.end());
    }
    ranks_of_samples rank_of(costs.size());
    if (!heap.empty()) {
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            for (const auto& member : heap.front().subsets[rank].members) {
                rank_of[member.first] = static_cast<std::uint32_t>(rank);
            }
        }
    }
    return rank_of;
}

/// Samples as they come, each to the rank with the smallest sum, of equal ones the first. With equal counts every
/// sample costs more than all of them together in addition, so that counts come before costs.
[[nodiscard]] inline ranks_of_samples greedy(const std::vector<std::uint64_t>& costs, std::size_t ranks,
                                             bool equal_size) {
    std::uint64_t bias = equal_size ? 1 : 0;
    for (const std::uint64_t cost : costs) {
        bias += equal_size ? cost : 0;
    }
    std::vector<std::uint64_t> sums(ranks);
    ranks_of_samples rank_of;
    for (const std::uint64_t cost : costs) {
        const auto least = std::min_element(sums.begin(), sums.end());
        *least += cost + bias;
        rank_of.push_back(static_cast<std::uint32_t>(least - sums.begin()));
    }
    return rank_of;
}

/// Samples by descending cost, then index, each to the rank with the smallest sum of those that are not full.
[[nodiscard]] inline ranks_of_samples equal_count_longest_first(const std::vector<std::uint64_t>& costs,
                                                                std::size_t ranks) {
    std::vector<std::size_t> order(costs.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return costs[a] > costs[b]; });
    std::vector<std::uint64_t> sums(ranks);
    std::vector<std::size_t> counts(ranks);
    ranks_of_samples rank_of(costs.size());
    for (const std::size_t sample : order) {
        std::size_t lightest = ranks;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
            if (counts[rank] < costs.size() / ranks && (lightest == ranks || sums[rank] < sums[lightest])) {
                lightest = rank;
            }
        }
        rank_of[sample] = static_cast<std::uint32_t>(lightest);
        sums[lightest] += costs[sample];
        ++counts[lightest];
    }
    return rank_of;
}

}  // namespace public_balancers
