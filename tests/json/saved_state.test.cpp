// SPDX-License-Identifier: Apache-2.0
//
// States as files: cut at every byte, every bit turned, of a run that is killed while it saves, and of an older
// version.

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/json.hpp>
#include <floptally/json/meter_json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "failing_calls.hpp"
#include "golden.hpp"

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

/// Compares a meter with the numbers that floptally 0.2 gave for the same run.
void compare(const meter& m, const nlohmann::json& expected) {
    using floptally::accumulator;
    using floptally::modality;
    using floptally::view;
    const floptally::step_totals& done = m.run().totals;
    CHECK(done.steps == expected["steps"]);
    CHECK(floptally::to_string(done.useful) == expected["useful"]);
    CHECK(floptally::to_string(done.padded) == expected["padded"]);
    CHECK(floptally::to_string(done.executed) == expected["executed"]);
    CHECK(done.seconds == expected["seconds"]);
    CHECK(done.gpu_seconds == expected["gpu_seconds"]);
    CHECK(m.run().step_seconds.percentile(50) == expected["p50"]);
    CHECK(m.run().step_seconds.max() == expected["max_step_seconds"]);
    CHECK(done.batch.get(view::useful, accumulator::tokens) == expected["tokens"]);
    CHECK(done.batch.get(view::padded, accumulator::tokens) == expected["padded_tokens"]);
    CHECK(done.batch.get(view::useful, accumulator::count) == expected["samples"]);
    CHECK(done.batch.get(view::useful, accumulator::tokens, modality::vision) == expected["vision_tokens"]);
    CHECK(done.batch.get(view::useful, accumulator::tokens, modality::audio) == expected["audio_tokens"]);
    CHECK(done.batch.masks().size() == expected["pairs"].size());
    for (const floptally::statistic& attends : done.batch.masks()) {
        INFO(attends.name());
        CHECK(done.batch.pairs(view::useful, attends) == expected["pairs"][attends.name()][0]);
        CHECK(done.batch.pairs(view::padded, attends) == expected["pairs"][attends.name()][1]);
    }
    const auto is_near = [](double value, double other) { return std::abs(value - other) <= 1e-12 * other; };
    CHECK(is_near(floptally::rates(done).mfu, expected["mfu"]));
    CHECK(is_near(floptally::rates(done).hfu, expected["hfu"]));
    const floptally::goodput spent = floptally::goodput_of(done, m.goodput());
    CHECK(spent.wall_seconds == expected["wall_seconds"]);
    CHECK(spent.spent.size() == expected["spent"].size());
    for (const floptally::spent_time& each : spent.spent) {
        CHECK(each.seconds == expected["spent"][each.name]);
    }
    CHECK(spent.rest_seconds == expected["rest_seconds"]);
    CHECK(is_near(spent.step_share, expected["goodput"]));
    CHECK(is_near(spent.mfu, expected["goodput_mfu"]));
}

}  // namespace

TEST_CASE("a saved meter state with any one bit flipped is refused or loads exactly the same values") {
    meter m = fresh();
    count_from(m, 0, 3);
    m.goodput().begin();
    m.goodput().spend("data", 1.25);
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

TEST_CASE("a run killed during any system call of a save resumes without losing or repeating a step") {
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

// The file is what `Meter.save` of floptally 0.2.0 wrote, with three towers, a measured sum and a wall clock. The keys
// of the file and the text forms of its masks are a format: they stay as they are whatever the library calls things.
TEST_CASE("a meter state saved by version 0.2 is loaded and the run continues with the same numbers") {
    const fs::path file = fs::path(FLOPTALLY_GOLDEN_DIR) / "meter_state_0_2.json";
    const nlohmann::json expected = golden("meter_state_0_2_numbers.json");
    floptally::model_config model = floptally::read_config(expected["config"]);
    model.cost.keep(floptally::measured(expected["measured"].get<std::string>()));
    double now = expected["loaded_at"];
    meter m(floptally::flop_counter(model, floptally::conventions::exact, {.recomputed = floptally::recompute::full}),
            {.gpus = expected["gpus"],
             .peak_tflops = expected["peak_tflops"],
             .counted = floptally::counted_for::all_gpus});
    m.goodput() = floptally::goodput_clock([&now] { return now; });
    m.goodput().begin();
    const floptally::meter_state state = floptally::load_state(file);
    floptally::resume(m, state);
    compare(m, expected["loaded"]);

    const nlohmann::json& next = expected["next"];
    now += next["ends_after"].get<double>();
    m.begin_step();
    m.microbatch().add_lengths(next["lengths"].get<std::vector<std::uint32_t>>());
    for (const auto& grid : next["grid_thw"].get<std::vector<std::vector<std::uint32_t>>>()) {
        m.microbatch().add_grid_thw(grid);
    }
    m.microbatch().add_audio_frames(next["audio_frames"].get<std::vector<std::uint32_t>>());
    m.microbatch().add_measured(expected["measured"].get<std::string>(),
                                {.useful = next["measured"][0], .padded = next["measured"][1]});
    m.end_step(next["seconds"]);
    compare(m, expected["after"]);

    std::ifstream written(file, std::ios::binary);
    std::stringstream text;
    text << written.rdbuf();
    CHECK(text_of(state) == text.str());
}

}  // namespace saved_state_test
