// SPDX-License-Identifier: Apache-2.0
//
// The data that leaves the device: snapshots in their ring, FLOPs as accumulators, messages of a reduction. The tests
// run on the host, with the text of the kernels.

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

/// A ring of slots in memory of the host, and accumulators to take snapshots of.
struct emulated_ring {
    explicit emulated_ring(std::uint32_t count, std::uint32_t size)
        : memory(count * (std::size_t{1} + size)),
          accumulators(size),
          slots{memory.data(), &taken, count, size},
          reader(slots) {}

    void take(bool reset = false) {
        emulated::grid_of_blocks(1, 64, 1).run([&](const emulated::block& block) {
            detail::take_snapshot::run(block, {accumulators.data(), slots, reset});
        });
    }

    std::optional<std::vector<std::uint64_t>> next() {
        const auto read = reader.next();
        return read ? std::optional(std::vector<std::uint64_t>(read->begin(), read->end())) : std::nullopt;
    }

    std::vector<std::uint64_t> memory;
    std::vector<std::uint64_t> accumulators;
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

TEST_CASE("each snapshot of a device tally is read once, in order, with the accumulators at the time of the snapshot") {
    emulated_ring ring(4, 100);
    CHECK(!ring.next());
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    for (std::uint32_t round = 0; round < 50; ++round) {
        for (std::uint32_t i = 0; i < 1 + round % 4; ++i) {
            ring.accumulators.assign(100, ++written);
            ring.take();
        }
        while (const auto accumulators = ring.next()) {
            CHECK(*accumulators == std::vector<std::uint64_t>(100, ++read));
        }
        CHECK(read == written);
    }
}

TEST_CASE(
    "a device tally's snapshot with reset sets the accumulators to zero, and a snapshot without reset keeps them") {
    emulated_ring ring(2, 70);
    ring.accumulators.assign(70, 5);
    ring.take(false);
    CHECK(ring.accumulators == std::vector<std::uint64_t>(70, 5));
    ring.take(true);
    CHECK(ring.accumulators == std::vector<std::uint64_t>(70, 0));
    CHECK(ring.next() == std::vector<std::uint64_t>(70, 5));
    CHECK(ring.next() == std::vector<std::uint64_t>(70, 5));
    CHECK(!ring.next());
}

TEST_CASE(
    "reading an overwritten snapshot of a device tally is an error with its number, and later snapshots can be read") {
    emulated_ring ring(3, 4);
    for (std::uint64_t i = 1; i <= 4; ++i) {
        ring.accumulators.assign(4, i);
        ring.take();
    }
    CHECK(error_of([&] { static_cast<void>(ring.next()); }) ==
          "snapshot: 1 was overwritten unread, because only 3 snapshots are kept: call poll() more often, or "
          "pass a larger number of snapshots");
    CHECK(ring.next() == std::vector<std::uint64_t>(4, 2));
    for (std::uint64_t i = 5; i <= 12; ++i) {
        ring.accumulators.assign(4, i);
        ring.take();
    }
    CHECK(error_of([&] { static_cast<void>(ring.next()); }).rfind("snapshot: 3 to 9 were overwritten", 0) == 0);
    for (std::uint64_t i = 10; i <= 12; ++i) {
        CHECK(ring.next() == std::vector<std::uint64_t>(4, i));
    }
    CHECK(!ring.next());
    for (std::uint64_t i = 13; i <= 17; ++i) {
        ring.accumulators.assign(4, i);
        ring.take();
    }
    CHECK(error_of([&] { static_cast<void>(ring.next()); }).rfind("snapshot: 13 to 14 were overwritten", 0) == 0);
    CHECK(ring.next() == std::vector<std::uint64_t>(4, 15));
}

TEST_CASE("a device tally's snapshot is not ready while it is written, and is lost while it is overwritten") {
    emulated_ring ring(2, 4);
    ring.take();
    ring.slots.slot(1)[0] = 0;  // between the first accumulator and the last
    CHECK(!ring.next());
    ring.slots.slot(1)[0] = 3;
    CHECK(error_of([&] { static_cast<void>(ring.next()); }).rfind("snapshot: 1 was overwritten", 0) == 0);
}

TEST_CASE("a device writes the same all-reduce message of a tally as the host and reports the same errors") {
    const mask_set masks = presets::mistral_7b.cost().masks();
    for (const std::uint64_t rank : {0U, 1U, 5U}) {
        const parallel_layout layout({.dp = 2, .cp = 2, .tp = 2}, 8, rank);
        single_rank alone;
        const tally_reduction reduction(masks, scopes::microbatch, layout, alone, std::nullopt);
        const verified_sum& sum = reduction.messages();
        const std::vector<message_part> parts = sum.parts();
        const tally batch = some_batch(masks, static_cast<std::uint32_t>(rank));
        const auto filled = [&](const tally& sums, const detail::refusal_record& record, bool refuses) {
            std::vector<std::uint64_t> accumulators(sum.message_size(), 77);
            emulated::grid_of_blocks(1, 64, 1).run([&](const emulated::block& block) {
                detail::fill_message::run(
                    block, {sums.accumulators().data(), &record, sum.header(false), sum.header(true), parts.data(),
                            static_cast<std::uint32_t>(parts.size()), refuses, accumulators.data()});
            });
            return accumulators;
        };
        CHECK(filled(batch, {}, false) == sum.message(batch.accumulators()));
        CHECK(filled(batch, {}, true) == refusal_of(sum));
        detail::refusal_record record{};
        record.left_out = 1;
        CHECK(filled(batch, record, false) == refusal_of(sum));
        record = {};
        record.overflowed[0] = 1;
        CHECK(filled(batch, record, false) == refusal_of(sum));
    }
}

TEST_CASE("tokens on a rank that the declared scope excludes are an error on the device too") {
    bool found = false;
    for (const std::uint64_t rank : {0U, 1U}) {
        const parallel_layout layout({.pp = 2}, 2, rank);
        const verified_sum sum(layout, {{"tokens", statistic_scope{}.along(parallel_axis::pp, placement::first)}});
        const std::vector<message_part> parts = sum.parts();
        const std::uint64_t value = 5;
        const detail::refusal_record none{};
        std::vector<std::uint64_t> accumulators(sum.message_size(), 77);
        emulated::grid_of_blocks(1, 32, 1).run([&](const emulated::block& block) {
            detail::fill_message::run(block, {&value, &none, sum.header(false), sum.header(true), parts.data(),
                                              static_cast<std::uint32_t>(parts.size()), false, accumulators.data()});
        });
        const bool throws = error_of([&] { static_cast<void>(sum.message({&value, 1})); }) != "no error";
        found = found || throws;
        CHECK(accumulators == (throws ? refusal_of(sum) : sum.message({&value, 1})));
    }
    CHECK(found);
}

}  // namespace snapshots_test
