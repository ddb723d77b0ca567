// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <floptally/step/memory_probe.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace memory_probe_test {
namespace {

using floptally::memory_probe;
using floptally::memory_probe_options;
using floptally::memory_sample;
using floptally::parallel_rank;

/// Writes every call down, in order, and answers with rising numbers.
struct recorded_device {
    std::vector<std::string>* calls;

    void reset_high_marks() const { calls->emplace_back("reset"); }
    [[nodiscard]] memory_sample sample() const {
        calls->emplace_back("sample");
        const std::uint64_t n = calls->size();
        return {.free = 1000 - n, .total = 1000, .pool_used_high = 10 * n, .pool_reserved_high = 100 * n};
    }
};

}  // namespace

TEST_CASE("a memory probe is off by default and then calls no hook", "[memory]") {
    std::vector<std::string> calls;
    memory_probe_options options;
    options.start = [&](std::size_t) { calls.emplace_back("start"); };
    options.stop = [&](const std::string&, std::uint64_t) { calls.emplace_back("stop"); };
    memory_probe probe(recorded_device{&calls}, options);
    for (std::uint64_t step = 0; step < 10; ++step) {
        probe.begin_step(step);
        probe.end_step(step);
    }
    CHECK(calls.empty());
    CHECK(probe.rows().empty());
}

TEST_CASE("a memory probe takes samples in the profiled steps, between start and stop of the recorder", "[memory]") {
    std::vector<std::string> calls;
    memory_probe_options options;
    options.profile_steps = {7, 3};
    options.max_entries = 500;
    options.at = {.global = 3, .pipeline = 1, .data = 2, .context = 0, .tensor = 5};
    options.start = [&](std::size_t entries) { calls.push_back("start " + std::to_string(entries)); };
    options.stop = [&](const std::string& name, std::uint64_t step) {
        calls.push_back("stop " + name + " of " + std::to_string(step));
    };
    memory_probe probe(recorded_device{&calls}, options);
    for (std::uint64_t step = 0; step < 10; ++step) {
        probe.begin_step(step);
        probe.end_step(step);
    }
    const std::vector<std::string> all{
        "reset", "sample", "start 500", "sample", "stop snapshot_rank03_p1d2c0t5_step3 of 3",
        "reset", "sample", "start 500", "sample", "stop snapshot_rank03_p1d2c0t5_step7 of 7"};
    CHECK(calls == all);

    REQUIRE(probe.rows().size() == 2);
    const floptally::memory_row& row = probe.rows()[0];
    CHECK(row.step == 3);
    CHECK(row.at == options.at);
    CHECK(row.before == memory_sample{998, 1000, 20, 200});
    CHECK(row.after == memory_sample{996, 1000, 40, 400});
    CHECK(probe.rows()[1].step == 7);
    CHECK(to_json_line(row) ==
          "{\"step\": 3, \"rank\": 3, \"p\": 1, \"d\": 2, \"c\": 0, \"t\": 5, \"free_before\": 998, "
          "\"free_after\": 996, \"total\": 1000, \"pool_used_high\": 40, \"pool_reserved_high\": 400}");
}

TEST_CASE("hooks of a memory probe are optional, and ranks in snapshot names have at least two digits", "[memory]") {
    std::vector<std::string> calls;
    memory_probe_options options;
    options.profile_steps = {0};
    memory_probe probe(recorded_device{&calls}, options);
    probe.begin_step(0);
    probe.end_step(0);
    CHECK(calls == std::vector<std::string>{"reset", "sample", "sample"});
    CHECK(options.max_entries == 100'000);
    CHECK(floptally::snapshot_name({}, 0) == "snapshot_rank00_p0d0c0t0_step0");
    CHECK(floptally::snapshot_name({.global = 9}, 10) == "snapshot_rank09_p0d0c0t0_step10");
    CHECK(floptally::snapshot_name({.global = 10, .data = 10}, 1) == "snapshot_rank10_p0d10c0t0_step1");
    CHECK(floptally::snapshot_name({.global = 1023, .pipeline = 7, .data = 3, .context = 2, .tensor = 1}, 123456) ==
          "snapshot_rank1023_p7d3c2t1_step123456");
}

TEST_CASE("a memory probe writes one file per profiled step and rank", "[memory]") {
    std::set<std::string> files;
    for (const std::uint32_t rank : {0U, 1U, 12U}) {
        memory_probe_options options;
        options.profile_steps = {1, 2, 11, 12, 111};
        options.at = {.global = rank, .tensor = rank};
        options.stop = [&](const std::string& name, std::uint64_t step) {
            CHECK(name == floptally::snapshot_name(options.at, step));
            CHECK(files.insert(name).second);
        };
        std::vector<std::string> calls;
        memory_probe probe(recorded_device{&calls}, options);
        for (std::uint64_t step = 0; step < 200; ++step) {
            probe.begin_step(step);
            probe.end_step(step);
        }
    }
    CHECK(files.size() == 15);
    CHECK(files.count("snapshot_rank12_p0d0c0t12_step111") == 1);
}

TEST_CASE("a memory probe refuses a missing or second begin of a step and continues afterwards", "[memory]") {
    std::vector<std::string> calls;
    memory_probe_options options;
    options.profile_steps = {1, 2, 3};
    memory_probe probe(recorded_device{&calls}, options);
    CHECK(error_of([&] { return probe.end_step(1), 0; }) == "end_step: step 1 has not begun: call begin_step() first");
    probe.begin_step(1);
    CHECK(error_of([&] { return probe.end_step(2), 0; }) == "end_step: step 2 has not begun: call begin_step() first");
    CHECK(error_of([&] { return probe.begin_step(2), 0; }) ==
          "begin_step: step 1 has not ended: call end_step() first");
    CHECK(error_of([&] { return probe.end_step(1), 0; }) == "end_step: step 1 has not begun: call begin_step() first");
    probe.begin_step(3);
    probe.end_step(3);
    REQUIRE(probe.rows().size() == 1);
    CHECK(probe.rows()[0].step == 3);

    options.stop = [](const std::string&, std::uint64_t) { throw std::runtime_error("disk full"); };
    memory_probe full(recorded_device{&calls}, options);
    full.begin_step(1);
    CHECK_THROWS_AS(full.end_step(1), std::runtime_error);
    CHECK(full.rows().size() == 1);
    CHECK_NOTHROW(full.begin_step(2));

    options.max_entries = 0;
    CHECK(error_of([&] { return memory_probe(recorded_device{&calls}, options).rows().size(); }) ==
          "max_entries: must be at least 1, got 0");
}

}  // namespace memory_probe_test
