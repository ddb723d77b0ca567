// SPDX-License-Identifier: Apache-2.0
//
// The data that leaves the device: snapshots in their ring, FLOPs as words, messages of a reduction. The tests run on
// the host, with the text of the kernels.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <floptally/cuda/detail/fill_message.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/snapshots.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/floptally.hpp>
#include <floptally/parallel/reduction.hpp>

#include "../catch2.hpp"
#include "../error_of.hpp"
#include "../refusal_of.hpp"
#include "emulated_block.hpp"

namespace snapshots_test {
namespace {

using namespace floptally;

/// A ring of slots in memory of the host, and words to take snapshots of.
struct emulated_ring {
    explicit emulated_ring(std::uint32_t count, std::uint32_t size)
        : memory(count * (std::size_t{1} + size)),
          words(size),
          slots{memory.data(), &taken, count, size},
          reader(slots) {}

    void take(bool reset = false) {
        emulated::grid_of_blocks(1, 64, 1).run([&](const emulated::block& block) {
            detail::take_snapshot::run(block, {words.data(), slots, reset});
        });
    }

    std::optional<std::vector<std::uint64_t>> next() {
        const auto read = reader.next();
        return read ? std::optional(std::vector<std::uint64_t>(read->begin(), read->end())) : std::nullopt;
    }

    std::vector<std::uint64_t> memory;
    std::vector<std::uint64_t> words;
    std::uint64_t taken = 0;
    detail::snapshot_slots slots;
    detail::snapshot_reader reader;
};

tally some_batch(const mask_set& masks, std::uint32_t seed) {
    tally batch{masks};
    for (std::uint32_t i = 0; i < 20 + seed; ++i) {
        batch.add({.length = (i * i * 7 + seed) % 9000}, {.length = (i * i * 7 + seed) % 9000 + 16});
    }
    return batch;
}

}  // namespace

TEST_CASE("Snapshots are read in the order in which they were taken, each once, as the words were then") {
    emulated_ring ring(4, 100);
    CHECK(!ring.next());
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    for (std::uint32_t round = 0; round < 50; ++round) {
        for (std::uint32_t i = 0; i < 1 + round % 4; ++i) {
            ring.words.assign(100, ++written);
            ring.take();
        }
        while (const auto words = ring.next()) {
            CHECK(*words == std::vector<std::uint64_t>(100, ++read));
        }
        CHECK(read == written);
    }
}

TEST_CASE("A snapshot that begins anew leaves zeros behind, another leaves the words") {
    emulated_ring ring(2, 70);
    ring.words.assign(70, 5);
    ring.take(false);
    CHECK(ring.words == std::vector<std::uint64_t>(70, 5));
    ring.take(true);
    CHECK(ring.words == std::vector<std::uint64_t>(70, 0));
    CHECK(ring.next() == std::vector<std::uint64_t>(70, 5));
    CHECK(ring.next() == std::vector<std::uint64_t>(70, 5));
    CHECK(!ring.next());
}

TEST_CASE("Snapshots that were overwritten are an error that says which, and reading goes on behind them") {
    emulated_ring ring(3, 4);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        ring.words.assign(4, i);
        ring.take();
    }
    CHECK(error_of([&] { static_cast<void>(ring.next()); }) ==
          "snapshot: 1 overwritten before poll() read it: the ring has 3 slots; poll more often, or make it larger");
    CHECK(ring.next() == std::vector<std::uint64_t>(4, 2));
    for (std::uint64_t i = 5; i <= 12; ++i) {
        ring.words.assign(4, i);
        ring.take();
    }
    CHECK(error_of([&] { static_cast<void>(ring.next()); }).rfind("snapshot: 3 … 9 overwritten", 0) == 0);
    for (std::uint64_t i = 10; i <= 12; ++i) {
        CHECK(ring.next() == std::vector<std::uint64_t>(4, i));
    }
    CHECK(!ring.next());
    for (std::uint64_t i = 13; i <= 17; ++i) {
        ring.words.assign(4, i);
        ring.take();
    }
    CHECK(error_of([&] { static_cast<void>(ring.next()); }).rfind("snapshot: 13 … 14 overwritten", 0) == 0);
    CHECK(ring.next() == std::vector<std::uint64_t>(4, 15));
}

TEST_CASE("A slot that a device is writing to is not there yet, and one that it has begun to overwrite is lost") {
    emulated_ring ring(2, 4);
    ring.take();
    ring.slots.slot(1)[0] = 0;  // between the first word and the last
    CHECK(!ring.next());
    ring.slots.slot(1)[0] = 3;
    CHECK(error_of([&] { static_cast<void>(ring.next()); }).rfind("snapshot: 1 overwritten", 0) == 0);
}

TEST_CASE("A device fills the message of a reduction as the host does, and refuses where the host does") {
    const mask_set masks = presets::mistral_7b.cost().masks();
    for (const std::uint64_t rank : {0U, 1U, 5U}) {
        const parallel_layout layout({.dp = 2, .cp = 2, .tp = 2}, 8, rank);
        single_rank alone;
        const tally_reduction reduction(masks, scopes::microbatch, layout, alone, std::nullopt);
        const detail::witnessed_sum& sum = reduction.messages();
        const std::vector<detail::message_part> parts = sum.parts();
        const tally batch = some_batch(masks, static_cast<std::uint32_t>(rank));
        const auto filled = [&](const tally& of, const detail::refusal_record& record, bool refuses) {
            std::vector<std::uint64_t> words(sum.message_size(), 77);
            emulated::grid_of_blocks(1, 64, 1).run([&](const emulated::block& block) {
                detail::fill_message::run(
                    block, {of.words().data(), &record, sum.header(false), sum.header(true), parts.data(),
                            static_cast<std::uint32_t>(parts.size()), refuses, words.data()});
            });
            return words;
        };
        CHECK(filled(batch, {}, false) == sum.message(batch.words()));
        CHECK(filled(batch, {}, true) == refusal_of(sum));
        detail::refusal_record record{};
        record.left_out = 1;
        CHECK(filled(batch, record, false) == refusal_of(sum));
        record = {};
        record.overflowed[0] = 1;
        CHECK(filled(batch, record, false) == refusal_of(sum));
    }
}

TEST_CASE("A rank that holds what it should not refuses on the device too") {
    bool found = false;
    for (const std::uint64_t rank : {0U, 1U}) {
        const parallel_layout layout({.pp = 2}, 2, rank);
        const detail::witnessed_sum sum(layout, {{"tokens", statistic_scope{}.along(parallel_axis::pp, share::first)}});
        const std::vector<detail::message_part> parts = sum.parts();
        const std::uint64_t value = 5;
        const detail::refusal_record none{};
        std::vector<std::uint64_t> words(sum.message_size(), 77);
        emulated::grid_of_blocks(1, 32, 1).run([&](const emulated::block& block) {
            detail::fill_message::run(block, {&value, &none, sum.header(false), sum.header(true), parts.data(),
                                              static_cast<std::uint32_t>(parts.size()), false, words.data()});
        });
        const bool throws = error_of([&] { static_cast<void>(sum.message({&value, 1})); }) != "no error";
        found = found || throws;
        CHECK(words == (throws ? refusal_of(sum) : sum.message({&value, 1})));
    }
    CHECK(found);
}

}  // namespace snapshots_test
