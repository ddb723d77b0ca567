// SPDX-License-Identifier: Apache-2.0
//
// States as files: cut at every byte, every bit turned, and of a run that is killed while it saves.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <floptally/descriptors/presets.hpp>
#include <floptally/json/meter_json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "failing_calls.hpp"

namespace saved_state_test {
namespace {

namespace fs = std::filesystem;
using floptally::meter;

meter fresh() {
    floptally::cost sum = floptally::presets::llama_3_8b.cost();
    sum.add("window", {.num_heads = 1, .qk_head_dim = 2, .v_head_dim = 2}, floptally::mask::sliding_window(100));
    return {floptally::flop_counter(sum), {.gpus = 1, .peak_tflops = 989}};
}

/// The step of that number, each of another work and time.
void count(meter& m, std::uint64_t step) {
    m.begin_step();
    m.microbatch().add_lengths(std::vector<std::uint64_t>{100 + step, 7});
    m.end_step(0.1 * static_cast<double>(step + 1) / 3);
}

void count_from(meter& m, std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t step = first; step < last; ++step) {
        count(m, step);
    }
}

std::string text_of(const floptally::meter_state& state) { return floptally::to_json(state).dump(); }

floptally::meter_state read(const std::string& text) {
    std::istringstream stream(text);
    return floptally::read_meter_state(floptally::read_json(stream, "state"));
}

}  // namespace

TEST_CASE("A state of which any bit is turned is refused, or says bit for bit what it said") {
    meter m = fresh();
    count_from(m, 0, 3);
    m.account().begin();
    m.account().spend("data", 1.25);
    const std::string whole = text_of(floptally::state_of(m));
    std::size_t refused = 0;
    std::size_t equal = 0;
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        std::string text = whole;
        text[bit / 8] = static_cast<char>(static_cast<unsigned char>(text[bit / 8]) ^ (1U << bit % 8));
        std::string again;
        const std::string error = error_of([&] { again = text_of(read(text)); });
        INFO(text);
        if (error == "no error") {
            CHECK(again == whole);  // digits of a double beyond its last bit, or an e that became an E
            ++equal;
        } else {
            ++refused;
        }
    }
    CHECK(refused + equal == 8 * whole.size());
    CHECK(equal * 100 < refused);
}

TEST_CASE("A run that is killed at any call of a save goes on without a step lost or counted twice") {
    const fs::path folder = fs::temp_directory_path() / ("floptally_run" + std::to_string(getpid()));
    fs::create_directories(folder);
    const fs::path file = folder / "state";
    constexpr std::uint64_t steps = 3;
    meter whole = fresh();
    count_from(whole, 0, steps);
    const std::string expected = text_of(floptally::state_of(whole));
    std::size_t saved_unsaid = 0;
    std::size_t calls = 0;
    for (bool ran_out = false; !ran_out; ++calls) {
        floptally::save_state(file, floptally::state_of(fresh()));
        int said[2] = {};
        REQUIRE(::pipe(said) == 0);
        const pid_t child = ::fork();
        if (child == 0) {
            meter m = fresh();
            failing_calls files(calls, failing_calls::end::killed_before, 64);  // over all saves
            for (std::uint64_t step = 0; step < steps; ++step) {
                count(m, step);
                floptally::detail::write_whole(file, text_of(floptally::state_of(m)), "path", files);
                const char done = 's';
                if (::write(said[1], &done, 1) != 1) {
                    ::_exit(1);
                }
            }
            ::_exit(0);
        }
        ::close(said[1]);
        std::uint64_t acknowledged = 0;
        for (char done = 0; ::read(said[0], &done, 1) == 1;) {
            ++acknowledged;
        }
        ::close(said[0]);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        ran_out = WIFEXITED(status);
        INFO("killed at call " << calls);
        meter m = fresh();
        floptally::resume(m, floptally::load_state(file));
        const std::uint64_t done = m.run().totals.steps;
        CHECK((done == acknowledged || done == acknowledged + 1));
        saved_unsaid += done - acknowledged;
        count_from(m, done, steps);
        CHECK(text_of(floptally::state_of(m)) == expected);
    }
    CHECK(saved_unsaid == steps);  // killed after the new name, before its sync
    CHECK(calls > 3 * 10);
    fs::remove_all(folder);
}

}  // namespace saved_state_test
