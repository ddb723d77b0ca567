// SPDX-License-Identifier: Apache-2.0
// Compares how evenly layouts of context parallelism split a packed batch, by the attended pairs of each rank.

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/layout.hpp>

int main() {
    using namespace floptally;

    constexpr std::uint64_t cp = 4;
    const std::vector<std::uint64_t> documents{0, 900, 1000, 6200, 8192};
    const std::vector<std::uint64_t> slots = aligned_cu_seqlens(documents, cp_alignment(1, cp));
    placed_sequences batch;
    batch.add_cu_seqlens(documents, slots);

    // Work of each rank. Under Ulysses a rank attends all pairs with its share of the heads.
    const auto pairs = [&batch](const token_split& tokens) {
        return context_parallel_pack(batch, tokens).pairs(mask::causal(), view::useful);
    };
    const std::uint64_t all = batch.tally_of({}).total().pairs(view::useful, mask::causal());
    const head_split heads(32, 8, cp);
    const struct {
        const char* layout;
        std::vector<std::uint64_t> work;
        std::uint64_t sum;
    } layouts[] = {{"contiguous", pairs(token_split::contiguous(batch.tokens(), cp)), all},
                   {"zigzag of the whole pack", pairs(token_split::zigzag(batch.tokens(), cp)), all},
                   {"zigzag of each document", pairs(token_split::zigzag_of_each(slots, cp)), all},
                   {"Ulysses, pairs x heads", heads.head_pairs(all), all * 32}};

    bool is_right = true;
    for (const auto& [layout, work, sum] : layouts) {
        std::printf("%-25s", layout);
        for (const std::uint64_t of_rank : work) {
            std::printf(" %10llu", static_cast<unsigned long long>(of_rank));
        }
        std::printf("   max / mean %.4f\n", imbalance_of(work).ratio());
        is_right = is_right && std::accumulate(work.begin(), work.end(), std::uint64_t{0}) == sum;
    }
    return is_right ? 0 : 1;
}
