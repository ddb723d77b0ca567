// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include <floptally/conventions/all.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/sparse_masks.hpp>

#include "catch2.hpp"

namespace sparse_masks_test {
namespace {

using namespace floptally;

/// The number of keys that query i sees, counted one by one: keys before it, by their rank among those that may be
/// chosen.
std::uint64_t compressed_seen(std::int64_t i, std::int64_t ratio, std::int64_t keys) {
    std::uint64_t seen = 0;
    for (std::int64_t rank = 0; rank < keys; ++rank) {
        seen += (rank + 1) * ratio <= i + 1 ? 1U : 0U;  // there are so many whole blocks of tokens
    }
    return seen;
}
std::uint64_t blocks_seen(std::int64_t i, std::int64_t block, std::int64_t blocks) {
    std::uint64_t seen = 0;
    for (std::int64_t j = 0; j <= i; ++j) {
        const bool own = j / block == i / block;
        // Which earlier blocks are best is the data's choice: here the first.
        seen += own || j / block < blocks - 1 ? 1U : 0U;
    }
    return seen;
}
std::uint64_t pools_seen(std::int64_t i, std::int64_t pool, std::int64_t pools) {
    std::uint64_t seen = 0;
    const std::int64_t whole = (i + 1) / pool;
    for (std::int64_t j = 0; j <= i; ++j) {
        const bool left_over = j / pool >= whole;
        seen += left_over || j / pool < pools ? 1U : 0U;
    }
    return seen;
}

template <class Seen>
void check(const statistic& counted, Seen seen) {
    for (const std::uint32_t past : {0U, 1U, 4U, 17U}) {
        std::uint64_t pairs = 0;
        for (std::uint32_t length = 0; length <= 40; ++length) {
            REQUIRE(counted(sequence{.length = length, .past = past}) == pairs);
            pairs += seen(std::int64_t{past} + length);
        }
    }
}

}  // namespace

TEST_CASE(
    "attended pairs of masks that select compressed keys, blocks or pools equal an enumeration, also after cached "
    "tokens",
    "[statistic]") {
    for (const int size : {1, 2, 3, 4, 7, 16}) {
        for (const int best : {1, 2, 3, 5, 9}) {
            check(mask_statistics::best_compressed_keys{size, best},
                  [&](std::int64_t i) { return compressed_seen(i, size, best); });
            check(mask_statistics::best_blocks{size, best}, [&](std::int64_t i) { return blocks_seen(i, size, best); });
            check(mask_statistics::best_pools{size, best}, [&](std::int64_t i) { return pools_seen(i, size, best); });
        }
    }
}

TEST_CASE("queries times compressed keys are counted for all compressed blocks or for only the best ones",
          "[statistic]") {
    for (const int ratio : {1, 2, 3, 16}) {
        for (const int best : {1, 3, 2'000'000'000}) {
            for (const std::uint32_t past : {0U, 5U}) {
                for (std::uint32_t length = 0; length <= 40; ++length) {
                    std::uint64_t pairs = 0;
                    for (std::uint32_t query = 0; query < length; ++query) {
                        int blocks = 0;
                        for (std::uint32_t key = 0; key < past + length; ++key) {
                            blocks += (key + 1) % static_cast<std::uint32_t>(ratio) == 0 && blocks < best ? 1 : 0;
                        }
                        pairs += static_cast<std::uint64_t>(blocks);
                    }
                    REQUIRE(statistic(mask_statistics::compressed_box{ratio, best})(
                                sequence{.length = length, .past = past}) == pairs);
                }
            }
        }
    }
}

TEST_CASE("MaxText's pairs of the best compressed keys equal their definition", "[statistic]") {
    // A key of R tokens that is one of the first K is seen by the queries after it and, as a triangle taken for half
    // of a square, by half of its own: so twice n - jR, less R, of the j-th.
    for (const int ratio : {1, 2, 3, 16}) {
        for (const int best : {1, 3, 9}) {
            for (std::uint32_t length = 0; length <= 40; ++length) {
                std::uint64_t twice = 0;
                for (std::uint32_t j = 0; j < static_cast<std::uint32_t>(best); ++j) {
                    const std::uint32_t first = j * static_cast<std::uint32_t>(ratio);
                    if (first + static_cast<std::uint32_t>(ratio) <= length) {
                        twice += 2 * (length - first) - static_cast<std::uint32_t>(ratio);
                    }
                }
                REQUIRE(statistic(maxtext::best_compressed_squares{ratio, best})(sequence{.length = length}) == twice);
            }
        }
    }
}

TEST_CASE("a top-k mask over fewer than k compressed keys attends all of these keys", "[statistic]") {
    const sequence s{.length = 1000, .past = 24};
    CHECK(statistic(mask_statistics::best_compressed_keys{4, 2'000'000'000})(s) == mask::compressed_keys(4).pairs(s));
    CHECK(statistic(mask_statistics::best_blocks{16, 1'000'000'000})(s) == mask::causal().pairs(s));
    CHECK(statistic(mask_statistics::best_pools{16, 1'000'000'000})(s) == mask::causal().pairs(s));
    CHECK(statistic(mask_statistics::best_blocks{16, 1})(s) == mask::chunked(16).pairs(s));
    CHECK(statistic(mask_statistics::best_compressed_keys{1, 7})(s) == mask::top_k(7).pairs(s));
}

}  // namespace sparse_masks_test
