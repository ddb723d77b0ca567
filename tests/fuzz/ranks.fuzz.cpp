// SPDX-License-Identifier: Apache-2.0
//
// Any costs sharded to any number of ranks in each mode, and moved there: each sample is on one rank, the loads are
// those of its samples, and what one rank sends to another is what that one receives. Or an error names a field.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <floptally/balance/balance.hpp>
#include <floptally/balance/exchange_plan.hpp>

#include "fuzz_input.hpp"

namespace {

using namespace floptally;

void check_exchange(const std::vector<std::uint64_t>& owners, const std::vector<std::uint32_t>& destinations,
                    const std::vector<std::uint64_t>& sizes, std::uint64_t ranks, std::uint64_t bytes) {
    const exchange_plan plan(owners, destinations, sizes, ranks, {.bytes_per_element = bytes});
    std::vector<rank_exchange> all;
    for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        all.push_back(plan.for_rank(rank));
    }
    std::size_t received = 0;
    for (std::uint64_t to = 0; to < ranks; ++to) {
        received += all[to].receive.samples.size();
        for (std::uint64_t from = 0; from < ranks; ++from) {
            require(all[from].send.counts[to] == all[to].receive.counts[from]);
        }
    }
    require(received == sizes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) {
        return 0;
    }
    reader input(data, size);
    const std::uint64_t ranks = input.take<std::uint8_t>() % 18U;
    const unsigned how = input.take<std::uint8_t>();
    const std::uint64_t bytes = input.take<std::uint8_t>();
    std::vector<std::uint64_t> costs;
    std::vector<std::uint64_t> owners;
    std::vector<std::uint64_t> sizes;
    while (!input.empty() && costs.size() < 200) {
        const unsigned kind = input.take<std::uint8_t>();
        costs.push_back((kind & 1U) != 0 ? input.take<std::uint64_t>() : input.take<std::uint16_t>());
        owners.push_back((kind & 62U) != 0 && ranks != 0 ? kind / 2U % ranks : kind);
        sizes.push_back((kind & 64U) != 0 ? input.take<std::uint32_t>() : input.take<std::uint8_t>());
    }
    try {
        const assignment found = partition(costs, ranks,
                                           {.mode = (how & 1U) != 0 ? balance_mode::free : balance_mode::equal_count,
                                            .budget = (how & 2U) != 0 ? automatic_budget : 1000U});
        std::vector<unsigned> seen(costs.size());
        for (std::size_t rank = 0; rank < found.ranks(); ++rank) {
            for (const std::uint32_t sample : found.samples_of(rank)) {
                ++seen[sample];
                require(found.rank_of[sample] == rank);
            }
        }
        require(std::all_of(seen.begin(), seen.end(), [](unsigned times) { return times == 1; }));
        check_exchange(owners, found.rank_of, sizes, ranks, bytes);
    } catch (const floptally::error& problem) {
        require(!problem.field().empty() && !problem.problem().empty());
    }
    return 0;
}
