// SPDX-License-Identifier: Apache-2.0
//
// All ranks of an exchange in one process: each has its buffers, and messages are copied by counts and displacements
// alone, as MPI_Alltoallv does. What arrives is compared with an enumeration of who should have what.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <floptally/balance/canonical_groups.hpp>
#include <floptally/balance/exchange_plan.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/parallel/packing.hpp>
#include <floptally/parallel/placed_sequences.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "markdown.hpp"
#include "sample_payload.hpp"
#include "thread_world.hpp"

namespace exchange_test {
namespace {

using floptally::canonical_groups;
using floptally::exchange_buffer;
using floptally::exchange_options;
using floptally::exchange_plan;
using floptally::index_range;
using floptally::pack_by_assignment;
using floptally::pack_by_capacity;
using floptally::packing;
using floptally::packing_options;
using floptally::rank_exchange;
using u64 = std::uint64_t;
using numbers = std::vector<u64>;
/// The bytes that each rank receives by MPI_Alltoallv between all ranks for one microbatch.
std::vector<bytes> carried_out(const exchange_plan& plan, const std::vector<bytes>& sent, u64 microbatch) {
    std::vector<rank_exchange> ranks;
    for (u64 rank = 0; rank < plan.ranks(); ++rank) {
        ranks.push_back(plan.for_rank(rank, microbatch));
    }
    std::vector<bytes> received;
    for (const rank_exchange& to : ranks) {
        bytes& into = received.emplace_back(to.receive.bytes());
        for (const rank_exchange& from : ranks) {
            const u64 count = from.send.counts[to.rank];
            REQUIRE(count == to.receive.counts[from.rank]);
            REQUIRE(from.send.displacements[to.rank] + count <= sent[from.rank].size());
            REQUIRE(to.receive.displacements[from.rank] + count <= into.size());
            std::copy_n(sent[from.rank].begin() + static_cast<std::ptrdiff_t>(from.send.displacements[to.rank]), count,
                        into.begin() + static_cast<std::ptrdiff_t>(to.receive.displacements[from.rank]));
        }
    }
    return received;
}

/// The bytes that a rank must have in the end: of each rank in turn its samples for this one in the order of their
/// indices, each filled up with zeros to eight bytes.
bytes who_should_have_what(const numbers& owners, const numbers& destinations, const numbers& sizes, u64 ranks,
                           u64 to) {
    bytes all;
    for (u64 from = 0; from < ranks; ++from) {
        for (std::size_t i = 0; i < owners.size(); ++i) {
            if (owners[i] == from && destinations[i] == to) {
                const bytes payload = payload_of(i, sizes[i]);
                all.insert(all.end(), payload.begin(), payload.end());
                while (all.size() % 8 != 0) {
                    all.push_back(std::byte{0});
                }
            }
        }
    }
    return all;
}

void check_buffer(const exchange_buffer& buffer, const numbers& sizes) {
    REQUIRE(buffer.offsets.size() == buffer.samples.size());
    REQUIRE(buffer.sizes.size() == buffer.samples.size());
    u64 end = 0;
    for (std::size_t place = 0; place < buffer.samples.size(); ++place) {
        CHECK(buffer.offsets[place] % 8 == 0);
        CHECK(buffer.offsets[place] >= end);
        CHECK(buffer.offsets[place] < end + 8);
        CHECK(buffer.sizes[place] == sizes[buffer.samples[place]]);
        end = buffer.offsets[place] + buffer.sizes[place];
    }
    CHECK(buffer.bytes() >= end);
    CHECK(buffer.bytes() < end + 8);
    CHECK(buffer.bytes() == std::accumulate(buffer.counts.begin(), buffer.counts.end(), u64{0}));
}

/// Plans and carries out an exchange, looks at every buffer of every rank, and brings everything back.
void check_exchange(const numbers& owners, const numbers& destinations, const numbers& sizes, u64 ranks,
                    u64 window = 1) {
    const exchange_plan plan(owners, destinations, sizes, ranks, {.window = window});
    const exchange_plan back = plan.inverse();
    numbers arrivals(owners.size(), 0);
    for (u64 microbatch = 0; microbatch < window; ++microbatch) {
        numbers to;  // of this microbatch's samples, and no rank for those of others
        for (const u64 destination : destinations) {
            to.push_back(destination / ranks == microbatch ? destination % ranks : ranks);
        }
        std::vector<bytes> sent;
        for (u64 rank = 0; rank < ranks; ++rank) {
            const rank_exchange mine = plan.for_rank(rank, microbatch);
            REQUIRE(mine.rank == rank);
            check_buffer(mine.send, sizes);
            check_buffer(mine.receive, sizes);
            for (const u64 sample : mine.send.samples) {
                REQUIRE(owners[sample] == rank);
                REQUIRE(to[sample] < ranks);
            }
            sent.push_back(
                floptally::filled_buffer(mine.send, [&](u64 sample) { return payload_of(sample, sizes[sample]); }));
        }
        const std::vector<bytes> received = carried_out(plan, sent, microbatch);
        for (u64 rank = 0; rank < ranks; ++rank) {
            REQUIRE(received[rank] == who_should_have_what(owners, to, sizes, ranks, rank));
            const rank_exchange mine = plan.for_rank(rank, microbatch);
            for (std::size_t place = 0; place < mine.receive.samples.size(); ++place) {
                const u64 sample = mine.receive.samples[place];
                const std::span<const std::byte> found =
                    mine.receive.sample(std::span<const std::byte>(received[rank]), place);
                const bytes expected = payload_of(sample, sizes[sample]);
                CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
                CHECK(destinations[sample] == microbatch * ranks + rank);
                ++arrivals[sample];
            }
            CHECK(back.for_rank(rank, microbatch).send == mine.receive);
        }
        CHECK(carried_out(back, received, microbatch) == sent);
    }
    CHECK(arrivals == numbers(owners.size(), 1));
}

/// All lists of n digits below `base`.
std::vector<numbers> all_lists(std::size_t n, u64 base) {
    std::vector<numbers> lists{{}};
    for (std::size_t i = 0; i < n; ++i) {
        std::vector<numbers> longer;
        for (const numbers& list : lists) {
            for (u64 digit = 0; digit < base; ++digit) {
                longer.push_back(list);
                longer.back().push_back(digit);
            }
        }
        lists = std::move(longer);
    }
    return lists;
}

numbers random_numbers(std::mt19937& random, std::size_t n, u64 below) {
    numbers made(n);
    std::generate(made.begin(), made.end(), [&] { return random() % below; });
    return made;
}

/// The fewest rows of `capacity` that hold all lengths: every sample tried in every row.
std::size_t fewest_packs(const numbers& lengths, u64 capacity) {
    std::size_t best = lengths.size();
    numbers rows;
    const auto place = [&](const auto& self, std::size_t next) -> void {
        if (rows.size() >= best) {
            return;
        }
        if (next == lengths.size()) {
            best = rows.size();
            return;
        }
        for (std::size_t row = 0; row < rows.size(); ++row) {
            if (rows[row] + lengths[next] <= capacity) {
                rows[row] += lengths[next];
                self(self, next + 1);
                rows[row] -= lengths[next];
            }
        }
        rows.push_back(lengths[next]);
        self(self, next + 1);
        rows.pop_back();
    };
    place(place, 0);
    return best;
}

/// Every sample stands once, in a slot of its own, and the boundaries say where.
void check_packing(const packing& made, const numbers& lengths, u64 alignment) {
    REQUIRE(made.pack_of.size() == lengths.size());
    REQUIRE(made.offset_of.size() == lengths.size());
    numbers seen(lengths.size(), 0);
    for (std::size_t row = 0; row < made.packs.size(); ++row) {
        const floptally::pack& item = made.packs[row];
        REQUIRE(item.cu_seqlens.size() == item.samples.size() + 1);
        REQUIRE(item.cu_seqlens_padded.size() == item.samples.size() + 1);
        CHECK(std::is_sorted(item.samples.begin(), item.samples.end()));
        CHECK(item.cu_seqlens[0] == 0);
        CHECK(item.cu_seqlens_padded[0] == 0);
        for (std::size_t place = 0; place < item.samples.size(); ++place) {
            const u64 sample = item.samples[place];
            ++seen[sample];
            CHECK(made.pack_of[sample] == row);
            CHECK(made.offset_of[sample] == item.cu_seqlens_padded[place]);
            CHECK(item.cu_seqlens[place + 1] - item.cu_seqlens[place] == lengths[sample]);
            const u64 slot = item.cu_seqlens_padded[place + 1] - item.cu_seqlens_padded[place];
            CHECK(slot % alignment == 0);
            CHECK(slot >= lengths[sample]);
            CHECK(slot < lengths[sample] + alignment);
        }
    }
    CHECK(seen == numbers(lengths.size(), 1));
}

void check_capacity_packing(const numbers& lengths, u64 capacity, const packing_options& options) {
    const packing made = pack_by_capacity(lengths, capacity, options);
    check_packing(made, lengths, options.alignment);
    CHECK(made.packs.size() >= options.min_packs);
    CHECK(made.packs.size() % options.divisor == 0);
    for (const floptally::pack& row : made.packs) {
        CHECK(row.tokens() <= capacity);
        CHECK(!row.samples.empty());
    }
    CHECK(pack_by_capacity(lengths, capacity, options) == made);
}

}  // namespace

TEST_CASE("a batch is split into as many groups as the least common multiple of the modules' dp sizes") {
    for (u64 a = 1; a <= 12; ++a) {
        for (u64 b = 1; b <= 12; ++b) {
            for (const u64 c : {u64{1}, u64{6}, u64{10}}) {
                const numbers dp_sizes{a, b, c};
                const canonical_groups groups(dp_sizes);
                u64 least = 1;
                while (least % a != 0 || least % b != 0 || least % c != 0) {
                    ++least;
                }
                CHECK(groups.size() == least);
                for (std::size_t module = 0; module < 3; ++module) {
                    numbers owned;
                    for (u64 rank = 0; rank < dp_sizes[module]; ++rank) {
                        const index_range range = groups.groups_of(module, rank);
                        CHECK(range.size() == groups.groups_per_rank(module));
                        for (u64 group = range.first; group < range.last; ++group) {
                            CHECK(group == owned.size());
                            CHECK(groups.rank_of(module, group) == rank);
                            owned.push_back(rank);
                        }
                    }
                    CHECK(owned.size() == groups.size());
                    numbers every(groups.size());
                    std::iota(every.begin(), every.end(), u64{0});
                    CHECK(groups.ranks_of(module, every) == owned);
                }
            }
        }
    }
    const canonical_groups of_tower({6, 4});
    CHECK(of_tower.size() == 12);
    CHECK(of_tower.groups_of(0, 5) == index_range{10, 12});
    CHECK(of_tower.groups_of(1, 0) == index_range{0, 3});
    CHECK(of_tower.ranks_of(1, std::vector<std::int32_t>{11, 0, 3, 2}) == numbers{3, 0, 1, 0});
}

TEST_CASE("an invalid dp size, rank or group of a split batch is an error that names the field") {
    CHECK(error_of([] { canonical_groups({}); }) ==
          "dp_sizes: must have the data-parallel size of at least one module, got none");
    CHECK(error_of([] { canonical_groups({2, 0}); }) == "dp_sizes[1]: must be at least 1, got 0");
    CHECK(error_of([] {
              canonical_groups({u64{1} << 63, 6});
          }) == "dp_sizes[1]: 9223372036854775808 x 3 does not fit 64 bits: use smaller numbers");
    CHECK(canonical_groups({u64{1} << 63, 4}).size() == u64{1} << 63);
    const canonical_groups groups({6, 4});
    CHECK(error_of([&] { static_cast<void>(groups.groups_of(2, 0)); }) == "module: must be below modules = 2, got 2");
    CHECK(error_of([&] { static_cast<void>(groups.groups_of(1, 4)); }) == "dp_rank: must be below dp size = 4, got 4");
    CHECK(error_of([&] { static_cast<void>(groups.rank_of(0, 12)); }) ==
          "group: must be below canonical groups = 12, got 12");
    CHECK(error_of([&] {
              static_cast<void>(groups.ranks_of(0, numbers{3, 12}));
          }) == "groups[1]: must be below canonical groups = 12, got 12");
    CHECK(error_of([&] { static_cast<void>(groups.ranks_of(0, std::vector<int>{-1})); }) ==
          "groups[0]: must be at least 0, got -1");
}

TEST_CASE("every exchange of a few samples delivers each sample to its rank and back") {
    for (const numbers& owners : all_lists(4, 2)) {
        for (const numbers& destinations : all_lists(4, 2)) {
            check_exchange(owners, destinations, {5, 0, 16, 9}, 2);
        }
    }
    for (const numbers& owners : all_lists(3, 3)) {
        for (const numbers& destinations : all_lists(3, 3)) {
            check_exchange(owners, destinations, {8, 1, 3}, 3);
        }
    }
    for (const numbers& owners : all_lists(3, 2)) {
        for (const numbers& destinations : all_lists(3, 4)) {
            check_exchange(owners, destinations, {8, 1, 3}, 2, 2);
        }
    }
}

TEST_CASE("an exchange handles samples of different sizes, empty ranks and several microbatches") {
    std::mt19937 random(8);
    for (const u64 ranks : {u64{1}, u64{2}, u64{5}, u64{8}}) {
        for (const u64 window : {u64{1}, u64{3}}) {
            for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{64}}) {
                check_exchange(random_numbers(random, n, ranks), random_numbers(random, n, ranks * window),
                               random_numbers(random, n, 100), ranks, window);
            }
        }
    }
    check_exchange(numbers(5, 7), numbers(5, 0), {1, 2, 3, 4, 5}, 8);  // all from one rank to another
    check_exchange(numbers(3, 1), numbers(3, 2), numbers(3, 0), 4);    // nothing but samples of no byte
}

TEST_CASE("an exchange gives each microbatch exactly the samples that are assigned to it") {
    const numbers owners{0, 0, 1, 1, 0, 1};
    const numbers destinations{3, 0, 2, 1, 1, 2};  // microbatch · 2 + rank
    const exchange_plan plan(owners, destinations, numbers{1, 2, 3, 4, 5, 6}, 2, {.window = 2});
    CHECK(plan.owners().size() == 6);
    CHECK(plan.window() == 2);
    CHECK(plan.samples_of(0) == numbers{1, 3, 4});
    CHECK(plan.samples_of(1) == numbers{0, 2, 5});
    CHECK(plan.for_rank(0, 0).receive.samples == numbers{1});
    CHECK(plan.for_rank(1, 0).receive.samples == numbers{4, 3});
    CHECK(plan.for_rank(0, 1).receive.samples == numbers{2, 5});
    CHECK(plan.for_rank(1, 1).receive.samples == numbers{0});
    CHECK(plan.inverse().samples_of(1) == plan.samples_of(1));
}

TEST_CASE("all payloads of one sample go to the same rank") {
    const numbers owners{0, 1, 1, 0};
    const numbers destinations{1, 1, 0, 1};
    const exchange_plan pixels(owners, destinations, numbers{100, 0, 30, 7}, 2, {.bytes_per_element = 2});
    const exchange_plan ids = pixels.with_sizes(std::vector<std::int32_t>{3, 5, 1, 2}, 4);
    CHECK(ids.for_rank(1).receive == exchange_plan(owners, destinations, numbers{12, 20, 4, 8}, 2).for_rank(1).receive);
    CHECK(ids.for_rank(1).receive.samples == pixels.for_rank(1).receive.samples);
    CHECK(pixels.for_rank(0).send.sizes == numbers{200, 14});
    // Results come back in a size of their own.
    const exchange_plan results = pixels.inverse().with_sizes(numbers{1, 1, 1, 1}, 4);
    CHECK(results.for_rank(1).send.samples == pixels.for_rank(1).receive.samples);
    CHECK(results.for_rank(0).receive.counts == numbers{0, 16});
    CHECK(results.for_rank(0).receive.samples == numbers{0, 3});
}

TEST_CASE("bad input of an exchange is an error that names the field and the index") {
    const numbers two{0, 1};
    const auto planned = [&](const auto& owners, const auto& destinations, const auto& sizes, u64 ranks,
                             const exchange_options& options = {}) {
        return error_of([&] { exchange_plan(owners, destinations, sizes, ranks, options); });
    };
    CHECK(planned(two, two, two, 2) == "no error");
    CHECK(planned(two, two, two, 0) == "ranks: must be at least 1, got 0");
    CHECK(planned(two, two, two, 2, {.window = 0}) == "window: must be at least 1, got 0");
    CHECK(planned(two, two, two, 2, {.bytes_per_element = 0}) == "bytes_per_element: must be at least 1, got 0");
    CHECK(planned(two, two, two, u64{1} << 31) == "ranks: ranks x window must be at most 2147483647, got 2147483648");
    CHECK(planned(two, two, two, u64{1} << 40, {.window = u64{1} << 40}) ==
          "window: 1099511627776 x 1099511627776 does not fit 64 bits: use smaller numbers");
    CHECK(planned(two, two, two, 1) == "owners[1]: must be below ranks = 1, got 1");
    CHECK(planned(two, numbers{1, 2}, two, 2) == "destinations[1]: must be below ranks = 2, got 2");
    CHECK(planned(two, numbers{5, 6}, two, 2, {.window = 3}) ==
          "destinations[1]: must be below ranks x window = 6, got 6");
    CHECK(planned(std::vector<int>{0, -3}, two, two, 2) == "owners[1]: must be at least 0, got -3");
    CHECK(planned(two, std::vector<std::int64_t>{-1, 0}, two, 2) == "destinations[0]: must be at least 0, got -1");
    CHECK(planned(two, two, std::vector<int>{4, -5}, 2) == "sizes[1]: must be at least 0, got -5");
    CHECK(planned(two, numbers{0}, two, 2) == "destinations: must be as many as owners (2), got 1");
    CHECK(planned(two, two, numbers{1, 2, 3}, 2) == "sizes: must be as many as owners (2), got 3");
    CHECK(planned(two, two, numbers{1, u64{1} << 62}, 2, {.bytes_per_element = 8}) ==
          "sizes[1]: 4611686018427387904 x 8 does not fit 64 bits: use smaller numbers");
    CHECK(planned(two, two, numbers{1, 9}, 2, {.bytes_per_element = 4, .max_buffer_bytes = 32}) ==
          "sizes[1]: must be at most max_buffer_bytes = 32 bytes, got 36");

    const exchange_plan plan(two, two, two, 2, {.window = 2});
    CHECK(error_of([&] { static_cast<void>(plan.for_rank(2)); }) == "rank: must be below ranks = 2, got 2");
    CHECK(error_of([&] { static_cast<void>(plan.for_rank(0, 2)); }) == "microbatch: must be below window = 2, got 2");
    const rank_exchange mine = exchange_plan(two, two, numbers{4, 4}, 2).for_rank(1);
    const exchange_buffer& send = mine.send;
    CHECK(error_of([&] { static_cast<void>(floptally::filled_buffer(send, [](u64) { return bytes(3); })); }) ==
          "bytes[1]: must be as many as planned (4), got 3");
    std::vector<std::uint64_t> accumulators(2);
    const std::span<const std::byte> memory = std::as_bytes(std::span(accumulators));
    const auto carried = [&](u64 rank, u64 ranks, std::size_t first, std::size_t sent, std::size_t received) {
        return error_of([&] {
            floptally::require_exchange(mine, rank, ranks, memory.subspan(first, sent), memory.first(received));
        });
    };
    CHECK(carried(1, 2, 8, 8, 8) == "no error");
    CHECK(carried(0, 2, 0, 8, 8) == "rank: must be 0, the rank of this process, got an exchange planned for rank 1");
    CHECK(carried(1, 3, 0, 8, 8) == "ranks: must be as many as ranks of the communicator (3), got 2");
    CHECK(carried(1, 2, 0, 7, 8) == "send: must have 8 bytes, got 7");
    CHECK(carried(1, 2, 0, 8, 16) == "receive: must have 8 bytes, got 16");
    CHECK(carried(1, 2, 4, 8, 8) ==
          "send: must begin at an address that is a multiple of 8: align the buffer to 8 bytes");
}

TEST_CASE("send and receive buffers above MPI's int range are an error on every rank") {
    constexpr u64 gib = u64{1} << 30;
    CHECK(floptally::max_mpi_bytes == 16 * gib - 8);
    // Rank 1 alone sends and receives too much: whoever makes the plan learns of it.
    CHECK(error_of([] {
              exchange_plan(numbers{1, 1}, numbers{0, 1}, numbers{8 * gib, 8 * gib}, 2);
          }) ==
          "sizes: rank 1 sends more than max_buffer_bytes = 17179869176 in microbatch 0: 17179869184; use smaller "
          "microbatches or raise the limit");
    CHECK(error_of([] {
              exchange_plan(numbers{0, 1}, numbers{3, 3}, numbers{8 * gib, 8 * gib}, 2, {.window = 2});
          }) ==
          "sizes: rank 1 receives more than max_buffer_bytes = 17179869176 in microbatch 1: 17179869184; use smaller "
          "microbatches or raise the limit");
    // Padding counts.
    CHECK(error_of([] { exchange_plan(numbers{0}, numbers{0}, numbers{1}, 1, {.max_buffer_bytes = 7}); }) ==
          "sizes: rank 0 sends more than max_buffer_bytes = 7 in microbatch 0: 8; use smaller microbatches or raise "
          "the limit");
    const exchange_plan largest(numbers{1, 1}, numbers{0, 1}, numbers{8 * gib, 8 * gib - 8}, 2);
    CHECK(largest.for_rank(1).send.bytes() == floptally::max_mpi_bytes);
    CHECK(floptally::mpi_counts(largest.for_rank(1).send.counts, "send_counts") ==
          std::vector<int>{1 << 30, (1 << 30) - 1});
    CHECK(floptally::mpi_counts(numbers{floptally::max_mpi_bytes}, "send_counts") ==
          std::vector<int>{std::numeric_limits<int>::max()});

    const exchange_plan more(numbers{1, 1}, numbers{0, 1}, numbers{16 * gib, 0}, 2, {.max_buffer_bytes = 32 * gib});
    CHECK(more.for_rank(0).receive.bytes() == 16 * gib);
    CHECK(error_of([&] {
              static_cast<void>(floptally::mpi_counts(more.for_rank(0).receive.counts, "receive_counts"));
          }) == "receive_counts[1]: must be at most 17179869176 bytes, the limit of MPI's int counts, got 17179869184");
    CHECK(error_of([&] {
              static_cast<void>(largest.with_sizes(numbers{1, 2}, 4, 11));
          }) ==
          "sizes: rank 1 sends more than max_buffer_bytes = 11 in microbatch 0: 16; use smaller microbatches or raise "
          "the limit");
}

TEST_CASE("every rank reports the difference if ranks made different exchange plans") {
    struct planned {
        numbers owners{0, 1, 2};
        numbers destinations{1, 1, 0};
        numbers sizes{8, 9, 10};
        u64 ranks = 3;
        u64 window = 1;
    };
    const auto seen = [](const planned& odd) {
        thread_world world;
        const auto ends = thread_world::run(3, [&](u64 rank) {
            const planned& mine = rank == 1 ? odd : planned{};
            const exchange_plan plan(mine.owners, mine.destinations, mine.sizes, mine.ranks, {.window = mine.window});
            const floptally::parallel_layout layout({.dp = 3}, 3, rank);
            auto everyone = world.over(layout, floptally::parallel_axis::dp);
            floptally::require_same_plan(plan, everyone);
        });
        CHECK(ends == std::vector<std::string>(3, ends[0]));
        return ends[0];
    };
    CHECK(seen({}) == "no error");
    CHECK(seen({.ranks = 4}) ==
          "ranks: the ranks have different values, so nothing was sent: configure all ranks alike");
    CHECK(seen({.window = 2}) ==
          "window: the ranks have different values, so nothing was sent: configure all ranks alike");
    CHECK(seen({.owners = {0, 2, 1}}) ==
          "owners: the ranks have different values, so nothing was sent: configure all ranks alike");
    CHECK(seen({.destinations = {1, 1, 1}}) ==
          "destinations: the ranks have different values, so nothing was sent: configure all ranks alike");
    CHECK(seen({.sizes = {8, 9, 11}}) ==
          "sizes: the ranks have different values, so nothing was sent: configure all ranks alike");
    CHECK(seen({.owners = {0}, .destinations = {1}, .sizes = {8}}) ==
          "owners: the ranks have different values, so nothing was sent: configure all ranks alike");
    const exchange_plan window(numbers{0, 1}, numbers{3, 0}, numbers{5, 6}, 2, {.bytes_per_element = 2, .window = 2});
    CHECK(window.owners() == numbers{0, 1});
    CHECK(window.destinations() == numbers{3, 0});
    CHECK(window.sizes() == numbers{10, 12});
}

TEST_CASE("a sample size that overflows when rounded up to a multiple of 8 is an error under any buffer limit") {
    constexpr u64 largest = std::numeric_limits<u64>::max();
    for (const u64 size : {largest, largest - 6}) {
        CHECK(error_of([&] {
                  return exchange_plan(numbers{0}, numbers{1}, numbers{size}, 2, {.max_buffer_bytes = largest});
              }) == "sizes[0]: must be at most 18446744073709551608 bytes, got " + std::to_string(size));
    }
    CHECK(error_of([] { return exchange_plan(numbers{0}, numbers{1}, numbers{largest}, 2); }) ==
          "sizes[0]: must be at most max_buffer_bytes = 17179869176 bytes, got 18446744073709551615");
    const exchange_plan plan(numbers{0}, numbers{1}, numbers{largest - 7}, 2, {.max_buffer_bytes = largest});
    CHECK(plan.for_rank(0).send.bytes() == largest - 7);
    CHECK(error_of([&] { return plan.with_sizes(numbers{largest / 2 + 1}, 2); }).starts_with("sizes[0]: "));
    CHECK(error_of([] {
              return exchange_plan(numbers{0, 0}, numbers{1, 1}, numbers{8, largest - 7}, 2,
                                   {.max_buffer_bytes = largest});
          }).starts_with("sizes: "));
}

TEST_CASE("an exchange that fails on one rank throws on all ranks and no rank hangs") {
    constexpr u64 ranks = 4;
    const exchange_plan plan(numbers{0, 1, 2, 3}, numbers{3, 2, 1, 0}, numbers{5, 6, 7, 8}, ranks);
    const floptally::parallel_layout layout({.dp = ranks}, ranks, 0);
    const auto others = [](u64 rank) {
        return "exchange: rank " + std::to_string(rank) +
               " failed, so nothing was sent: look at the error of that rank";
    };
    // Each rank looks at its own buffers; on `wrong` something is not as planned.
    const auto ends = [&](u64 wrong, const auto& spoil) {
        thread_world world;
        return thread_world::run(ranks, [&](u64 rank) {
            auto everyone = world.over(layout, floptally::every_axis);
            const rank_exchange mine = plan.for_rank(rank);
            const bytes sent = filled_with_payloads(mine);
            bytes received(mine.receive.bytes());
            floptally::prepare_together(rank, everyone, [&] {
                std::span<std::byte> receive = received;
                if (rank == wrong) {
                    spoil(receive);
                }
                floptally::require_exchange(mine, rank, ranks, sent, receive);
            });
        });
    };
    for (u64 wrong = 0; wrong < ranks; ++wrong) {
        const std::vector<std::string> sizes = ends(wrong, [](std::span<std::byte>& all) { all = all.first(0); });
        const std::vector<std::string> null = ends(wrong, [](std::span<std::byte>& all) {
            std::byte* none = nullptr;
            all = {none, all.size()};
        });
        const std::vector<std::string> memory = ends(wrong, [](auto&) { throw std::bad_alloc(); });
        for (u64 rank = 0; rank < ranks; ++rank) {
            CHECK(sizes[rank] == (rank == wrong ? "receive: must have 8 bytes, got 0" : others(wrong)));
            CHECK(null[rank] ==
                  (rank == wrong ? "receive: must not be null: pass a buffer of 8 bytes" : others(wrong)));
            CHECK(memory[rank] == (rank == wrong ? std::string(std::bad_alloc().what()) : others(wrong)));
        }
    }
    CHECK(ends(ranks, [](auto&) {}) == std::vector<std::string>(ranks, "no error"));
}

TEST_CASE("the exchange plan matches the worked example of docs/balance.md") {
    const numbers owners{0, 0, 0, 1, 1};
    const numbers destinations{1, 0, 1, 0, 1};
    const exchange_plan plan(owners, destinations, numbers{5, 3, 2, 4, 0}, 2, {.bytes_per_element = 4});
    const auto list = [](const numbers& values) {
        std::string text;
        for (const u64 value : values) {
            floptally::append_item(text, std::to_string(value));
        }
        return text;
    };
    const std::string page = read_text(std::string(FLOPTALLY_SOURCE_DIR) + "/docs/balance.md");
    for (u64 rank = 0; rank < 2; ++rank) {
        const rank_exchange mine = plan.for_rank(rank);
        for (const auto& [name, buffer] : {std::pair{"send", &mine.send}, std::pair{"receive", &mine.receive}}) {
            std::string row = "| " + std::to_string(rank);
            for (const std::string& cell : {std::string(name), list(buffer->samples), list(buffer->offsets),
                                            list(buffer->sizes), list(buffer->counts), list(buffer->displacements)}) {
                row.append(" | ").append(cell);
            }
            INFO(row);
            CHECK(page.find("\n" + row + " |\n") != std::string::npos);
        }
    }
}

TEST_CASE(
    "packs made from an assignment of samples have slots that are multiples of the alignment and can be added to a "
    "tally") {
    const numbers lengths{5, 0, 9, 3, 8, 1};
    const packing outcome =
        pack_by_assignment(lengths, std::vector<int>{1, 0, 1, 3, 0, 1}, 4, floptally::cp_alignment(1, 2));
    check_packing(outcome, lengths, 4);
    CHECK(outcome.offset_of == numbers{0, 0, 8, 0, 0, 20});
    CHECK(outcome.packs[1].samples == numbers{0, 2, 5});
    CHECK(outcome.packs[1].cu_seqlens == numbers{0, 5, 14, 15});
    CHECK(outcome.packs[1].cu_seqlens_padded == numbers{0, 8, 20, 24});
    CHECK(outcome.packs[1].cu_seqlens_padded == floptally::aligned_cu_seqlens(outcome.packs[1].cu_seqlens, 4));
    CHECK(outcome.packs[0].samples == numbers{1, 4});
    CHECK(outcome.packs[2] == floptally::pack{});
    CHECK(outcome.packs[3].tokens() == 4);

    floptally::tally packed;
    floptally::placed_sequences row;
    for (const floptally::pack& each_pack : outcome.packs) {
        packed.add_cu_seqlens(each_pack.cu_seqlens, each_pack.cu_seqlens_padded);
        row.add_cu_seqlens(each_pack.cu_seqlens, each_pack.cu_seqlens_padded);
    }
    floptally::tally alone;
    for (const u64 length : lengths) {
        const auto tokens = static_cast<std::uint32_t>(length);
        alone.add(floptally::sequence{tokens}, floptally::sequence{(tokens + 3) / 4 * 4});
    }
    CHECK(packed == alone);
    CHECK(row.tokens() == 8 + 24 + 4);
}

TEST_CASE("first-fit-decreasing packing with a search tree equals the linear search and loses no sample") {
    std::mt19937 random(11);
    for (int round = 0; round < 200; ++round) {
        const std::size_t n = random() % 40;
        const u64 capacity = 20 + random() % 40;
        const numbers lengths = random_numbers(random, n, 21);
        // The accumulators: from the longest to the shortest, by index, each into the first row that has room.
        std::vector<std::size_t> order(n);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b;
        });
        numbers rows;
        numbers pack_of(n);
        for (const std::size_t sample : order) {
            u64 row = 0;
            while (row < rows.size() && rows[row] + lengths[sample] > capacity) {
                ++row;
            }
            if (row == rows.size()) {
                rows.push_back(0);
            }
            rows[row] += lengths[sample];
            pack_of[sample] = row;
        }
        const packing result = pack_by_capacity(lengths, capacity);
        CHECK(result.pack_of == pack_of);
        CHECK(result.packs.size() == rows.size());
        check_capacity_packing(lengths, capacity, {});
        check_capacity_packing(lengths, capacity + 4, {.alignment = 8});
    }
    CHECK(pack_by_capacity(numbers{}, 10).packs.empty());
    // A tree: nobody waits for a list of rows to be searched for each sample.
    const packing many = pack_by_capacity(random_numbers(random, 100'000, 4000), 4000);
    CHECK(many.packs.size() > 40'000);
}

TEST_CASE("packing uses at most 11/9 of the minimum number of packs plus one") {
    std::mt19937 random(119);
    std::size_t worse = 0;
    for (int round = 0; round < 400; ++round) {
        const numbers lengths = random_numbers(random, 1 + random() % 9, 50);
        const u64 capacity = 50 + random() % 40;
        const std::size_t rows = pack_by_capacity(lengths, capacity).packs.size();
        const std::size_t fewest = fewest_packs(lengths, capacity);
        CHECK(rows >= fewest);
        CHECK(9 * rows <= 11 * fewest + 9);
        worse += rows > fewest ? 1U : 0U;
    }
    CHECK(worse < 40);
    // Where first-fit decreasing is not the best: 3 rows for 2.
    const numbers hard{4, 3, 3, 2, 2, 2};
    CHECK(fewest_packs(hard, 8) == 2);
    CHECK(pack_by_capacity(hard, 8).packs.size() == 3);
}

TEST_CASE(
    "packing gives at least min_packs packs without an empty pack, and the number of packs is a multiple of the "
    "divisor") {
    std::mt19937 random(12);
    for (int round = 0; round < 200; ++round) {
        const numbers lengths = random_numbers(random, 12 + random() % 20, 30);
        check_capacity_packing(lengths, 40 + random() % 200, {.min_packs = random() % 6, .divisor = 1 + random() % 4});
        check_capacity_packing(lengths, 400, {.alignment = 4, .min_packs = lengths.size()});
    }
    // The fullest row gives up its largest sample, and again.
    const packing three = pack_by_capacity(numbers{1, 6, 2, 4, 3}, 10, {.min_packs = 2, .divisor = 3});
    CHECK(three.packs[0].samples == numbers{3});
    CHECK(three.packs[1].samples == numbers{0, 2, 4});
    CHECK(three.packs[2].samples == numbers{1});
    CHECK(pack_by_capacity(numbers{1, 6, 2, 4, 3}, 10, {.divisor = 2}).packs.size() == 2);
    CHECK(pack_by_capacity(numbers{5, 5, 5, 5}, 10, {.min_packs = 3}).pack_of ==
          numbers{2, 0, 1, 1});  // the first of equals
    CHECK(pack_by_capacity(numbers{0, 0, 0}, 0, {.min_packs = 3}).pack_of == numbers{1, 2, 0});
}

TEST_CASE("bad input for packing is an error that names the field") {
    const auto packed = [](const auto& lengths, u64 capacity, const packing_options& options = {}) {
        return error_of([&] { static_cast<void>(pack_by_capacity(lengths, capacity, options)); });
    };
    const numbers lengths{3, 9, 4};
    CHECK(packed(lengths, 9) == "no error");
    CHECK(packed(lengths, 8) == "lengths[1]: must fit the capacity of 8 tokens, got 9 after alignment");
    CHECK(packed(lengths, 11, {.alignment = 4}) ==
          "lengths[1]: must fit the capacity of 11 tokens, got 12 after alignment");
    CHECK(packed(std::vector<int>{3, -1}, 8) == "lengths[1]: must be at least 0, got -1");
    CHECK(packed(numbers{u64{1} << 32}, u64{1} << 40) == "lengths[0]: must be at most 4294967295, got 4294967296");
    CHECK(packed(numbers{0xFFFF'FFFFU}, u64{1} << 40, {.alignment = 4}) ==
          "lengths[0]: must be at most 4294967295 tokens after alignment, got 4294967296");
    CHECK(packed(lengths, 9, {.alignment = 0}) == "alignment: must be at least 1, got 0");
    CHECK(packed(lengths, 9, {.divisor = 0}) == "divisor: must be at least 1, got 0");
    CHECK(packed(lengths, 9, {.min_packs = 4}) ==
          "min_packs: asks for 4 packs, but there are only 3 samples: pass a smaller number");
    CHECK(packed(lengths, 9, {.divisor = 4}) ==
          "divisor: asks for 4 packs, but there are only 3 samples: pass a smaller number");

    const auto placed = [&](const auto& pack_of, u64 rows) {
        return error_of([&] { static_cast<void>(pack_by_assignment(lengths, pack_of, rows)); });
    };
    CHECK(placed(numbers{0, 1, 1}, 2) == "no error");
    CHECK(placed(numbers{0, 2, 1}, 2) == "pack_of[1]: must be below packs = 2, got 2");
    CHECK(placed(std::vector<int>{0, 1, -1}, 2) == "pack_of[2]: must be at least 0, got -1");
    CHECK(placed(numbers{0, 1}, 2) == "pack_of: must be as many as lengths (3), got 2");
}

TEST_CASE("an exchange accepts sample sizes up to the largest 64-bit multiple of 8") {
    const std::vector<std::uint64_t> single{0};
    const std::vector<std::uint64_t> most{18446744073709551608U};
    const std::vector<std::uint64_t> more{18446744073709551609U};
    for (const std::uint64_t limit : {18446744073709551608U, 18446744073709551615U}) {
        CHECK(exchange_plan(single, single, most, 1, {.max_buffer_bytes = limit}).for_rank(0).send.bytes() == most[0]);
        CHECK(error_of([&] { return exchange_plan(single, single, more, 1, {.max_buffer_bytes = limit}).ranks(); }) ==
              "sizes[0]: must be at most 18446744073709551608 bytes, got 18446744073709551609");
    }
    CHECK(error_of([&] { return exchange_plan(single, single, most, 1, {.max_buffer_bytes = most[0] - 1}).ranks(); }) ==
          "sizes[0]: must be at most max_buffer_bytes = 18446744073709551607 bytes, got 18446744073709551608");
}

}  // namespace exchange_test
