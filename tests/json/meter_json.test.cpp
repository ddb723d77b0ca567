// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/json/meter_json.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace meter_json_test {
namespace {

using floptally::meter;
using nlohmann::json;

floptally::cost model() {
    floptally::cost sum = floptally::presets::llama_3_8b.cost();
    sum.add("window", {.num_heads = 1, .qk_head_dim = 2, .v_head_dim = 2}, floptally::mask::sliding_window(100));
    return sum;
}

/// A meter of three steps, the interval begun after the first, with times that no binary fraction holds.
void fill(meter& m) {
    for (const double seconds : {0.1, 1.0 / 3, 0.1}) {
        m.begin_step();
        m.microbatch().add({.length = 8191}, {.length = 8192});
        m.end_step(seconds);
        if (m.run().totals.steps == 1) {
            m.reset_interval();
        }
    }
}

json state_json() {
    meter m(model(), floptally::conventions::exact, {},
            {.gpus = 8, .peak_tflops = 989, .counted = floptally::counted_for::all_gpus});
    fill(m);
    return json::parse(floptally::to_json(floptally::state_of(m)).dump());
}

}  // namespace

TEST_CASE("a meter's JSON is one line with counts as strings, logged names, convention and version") {
    meter m(model(), floptally::conventions::verl, {},
            {.gpus = 8,
             .peak_tflops = 989,
             .accelerator = "NVIDIA H100 SXM5",
             .precision = "bf16",
             .counted = floptally::counted_for::all_gpus});
    const json before = floptally::to_json(m);
    CHECK(before["step"].is_null());
    CHECK(before["interval"].is_null());
    CHECK(before["run"].is_null());
    fill(m);
    std::ostringstream out;
    floptally::write_json_line(out, m);
    floptally::write_json_line(out, m);
    std::istringstream lines(out.str());
    std::string line;
    REQUIRE(std::getline(lines, line));
    const json read = json::parse(line);
    REQUIRE(std::getline(lines, line));
    CHECK(json::parse(line) == read);
    CHECK(!std::getline(lines, line));

    CHECK(read["version"] == floptally::version);
    CHECK(read["numbers_version"] == floptally::numbers_version);
    CHECK(read["convention"] == "verl");
    CHECK(read["gpus"] == 8);
    CHECK(read["counted"] == "of all 8 GPUs, as declared");
    CHECK(read["peak_tflops"] == 989);
    CHECK(read["accelerator"] == "NVIDIA H100 SXM5");
    CHECK(read["precision"] == "bf16");
    const std::vector<std::string> names{"step", "interval", "run"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        const json& span = read[names[i]];
        const floptally::step_totals& done = i == 0 ? m.last_step() : i == 1 ? m.interval().totals : m.run().totals;
        INFO(names[i]);
        CHECK(span["steps"] == std::to_string(i + 1));
        CHECK(span["seconds"] == done.seconds);
        CHECK(span["gpu_seconds"] == done.gpu_seconds);
        CHECK(span["peak_tflop"] == done.peak_tflop);
        CHECK(span["tokens"] ==
              json{{"useful", std::to_string(8191 * (i + 1))}, {"padded", std::to_string(8192 * (i + 1))}});
        CHECK(span["samples"] == json{{"useful", std::to_string(i + 1)}, {"padded", std::to_string(i + 1)}});
        CHECK(span["flops"]["useful"] == floptally::to_string(done.useful));
        CHECK(span["flops"]["padded"] == floptally::to_string(done.padded));
        CHECK(span["flops"]["executed"] == floptally::to_string(done.executed));
        CHECK(span["rates"]["mfu_pct"] == 100 * floptally::rates(done).mfu);
        CHECK(span["rates"].contains("step_seconds_p95") == (i != 0));
        CHECK(!span["rates"].contains("steps"));
    }
    CHECK(floptally::to_json(meter(floptally::flop_counter(model()), {.gpus = 1, .peak_tflops = 1}))["accelerator"]
              .is_null());
    CHECK(read["step_percentiles"].is_null());
    for (int step = 0; step < 10; ++step) {
        fill(m);
    }
    const json percentiles = floptally::to_json(m)["step_percentiles"];
    CHECK(percentiles["left_out"] == "10");
    CHECK(percentiles["steps"] == std::to_string(m.run().totals.steps - 10));
    CHECK(percentiles["p90"] == m.step_percentiles().p90);
}

TEST_CASE("a meter's JSON line has the kind of its peak and marks a source that is not the vendor") {
    using floptally::peak_kind;
    using floptally::source_quality;
    const auto line = [](peak_kind kind, source_quality quality) {
        return floptally::to_json(meter(floptally::flop_counter(model()),
                                        {.gpus = 1, .peak_tflops = 148, .peak_kind = kind, .peak_quality = quality}));
    };
    const json quoted = line(peak_kind::datasheet, source_quality::third_party);
    CHECK(quoted["peak_kind"] == "datasheet");
    CHECK(quoted["peak_quality"] == "third_party");
    const json plain = line(peak_kind::unsaid, source_quality::vendor_document);
    CHECK_FALSE(plain.contains("peak_kind"));
    CHECK_FALSE(plain.contains("peak_quality"));
    CHECK(line(peak_kind::boost, source_quality::vendor_document)["peak_kind"] == "boost");
}

TEST_CASE("a meter's JSON line has the name and the rates of its second convention") {
    meter m(floptally::flop_counter(model()), {.gpus = 1, .peak_tflops = 148});
    CHECK_FALSE(floptally::to_json(m).contains("beside"));
    m.shows_beside(floptally::flop_counter(model(), floptally::conventions::palm));
    m.begin_step();
    m.microbatch().add_lengths(std::vector<std::uint32_t>{7, 9});
    m.end_step(2);
    const json line = floptally::to_json(m);
    CHECK(line["beside"] == "palm");
    CHECK(line["run"]["rates"].contains("mfu_palm_pct"));
    CHECK(line["step"]["rates"].contains("tflops_palm_padded_per_gpu"));
}

TEST_CASE("a stream that cannot be written to is an error") {
    meter m(floptally::flop_counter(model()), {.gpus = 1, .peak_tflops = 1});
    std::ostream closed(nullptr);
    CHECK(error_of([&] {
              floptally::write_json_line(closed, m);
              return 0;
          }) == "stream: cannot write a line of the meter: check that the file is open and the disk has space");
}

TEST_CASE("a meter resumes its run from JSON bit for bit") {
    meter first(model(), floptally::conventions::exact, {},
                {.gpus = 8, .peak_tflops = 989, .counted = floptally::counted_for::all_gpus});
    fill(first);
    meter second(model(), floptally::conventions::exact, {},
                 {.gpus = 8, .peak_tflops = 989, .counted = floptally::counted_for::all_gpus});
    floptally::resume(second, floptally::read_meter_state(state_json()));
    CHECK(second.run() == first.run());
    for (meter* m : {&first, &second}) {
        m->begin_step();
        m->microbatch().add({.length = 7});
        m->end_step(0.7);
    }
    CHECK(second.run() == first.run());
    CHECK(floptally::to_json(second)["run"] == floptally::to_json(first)["run"]);

    meter fresh(floptally::flop_counter(model()),
                {.gpus = 8, .peak_tflops = 989, .counted = floptally::counted_for::all_gpus});
    const floptally::meter_state none = floptally::read_meter_state(floptally::to_json(floptally::state_of(fresh)));
    floptally::resume(fresh, none);
    CHECK(fresh.run().totals.steps == 0);
}

TEST_CASE("the goodput of a run is saved to JSON and read back, and is absent if it was never counted") {
    CHECK_FALSE(state_json().contains("account"));
    double now = 1.7e9 + 1.0 / 3;
    meter m(model(), floptally::conventions::exact, {}, {.gpus = 1, .peak_tflops = 989});
    m.goodput() = floptally::goodput_clock([&now] { return now; });
    m.goodput().begin();
    fill(m);
    now += 10.1;
    m.goodput().spend("evaluation", 0.1);
    m.goodput().spend("a \"name\"", 1.0 / 3);
    const floptally::meter_state saved = floptally::state_of(m);
    json text = json::parse(floptally::to_json(saved).dump());
    CHECK(*floptally::read_meter_state(text).goodput == *saved.goodput);
    const auto problem = [&text](const char* key, const json& bad) {
        json state = text;
        state["account"][key] = bad;
        return error_of([&] { return floptally::read_meter_state(state).accumulators.size(); });
    };
    CHECK(problem("saved_at", "x") == "saved_at: must be a number, got \"x\"");
    CHECK(problem("spent", 5) == "spent: must be a list, got 5");
    CHECK(problem("spent", json::array({json::array({"data", "1"})})) ==
          "spent: must be a list of pairs [name, seconds], got the element [\"data\",\"1\"]");
    text["account"].erase("wall_seconds");
    CHECK(error_of([&] { return floptally::read_meter_state(text).accumulators.size(); }) ==
          "wall_seconds: is missing: pass the whole state of a meter, as `to_json` wrote it");
}

TEST_CASE(
    "a saved meter state with a wrong type, a missing key or a value out of range is an error that names the key") {
    const auto problem = [](const std::function<void(json&)>& change) {
        json state = state_json();
        change(state);
        return error_of([&] { return floptally::read_meter_state(state).accumulators.size(); });
    };
    CHECK(problem([](json&) {}) == "no error");
    const json whole = state_json();
    for (const auto& [key, unused] : whole.items()) {
        INFO(key);
        CHECK(problem([&key = key](json& s) { s.erase(key); }) ==
              key + ": is missing: pass the whole state of a meter, as `to_json` wrote it");
        for (const json& bad : {json(nullptr), json::object(), json(true)}) {
            CHECK(problem([&key = key, &bad](json& s) { s[key] = bad; }).rfind(key + ": must be", 0) == 0);
        }
    }
    CHECK(problem([](json& s) { s = json::array(); }) ==
          "version: is missing: pass the whole state of a meter, as `to_json` wrote it");
    for (const char* key : {"steps", "useful", "executed"}) {
        for (const char* bad : {"", "-1", "1.0", " 1", "1e3", "0x1", "999999999999999999999999999999999999999",
                                "340282366920938463463374607431768211456", "1\xff"}) {
            INFO(key << " " << bad);
            CHECK(problem([&](json& s) {
                      s[key] = bad;
                  }).rfind(std::string(key) + ": must be a whole number in decimal digits", 0) == 0);
        }
    }
    const std::string changed =
        "checksum: does not match, because the state was cut or changed after it was saved: load an earlier one";
    CHECK(problem([](json& s) { s["useful"] = "340282366920938463463374607431768211455"; }) == changed);
    CHECK(problem([](json& s) { s["checksum"] = "1"; }) == changed);
    CHECK(problem([](json& s) { s["steps"] = "18446744073709551616"; }) ==
          "steps: must be below 2^64, got \"18446744073709551616\"");
    CHECK(problem([](json& s) { s["words"][0] = 5; }) == "words: must be a string, got 5");
    CHECK(problem([](json& s) { s["masks"][0] = 5; }) == "masks: must be a string, got 5");
    for (const json& bad : {json::array({0}), json::array({2560, "1"}), json::array({-1, "1"}), json("x")}) {
        CHECK(problem([&](json& s) { s["durations"][0] = bad; }) ==
              "durations: must be a list of pairs [bucket, count] with each bucket below 2560, got " + bad.dump());
    }
    CHECK(problem([](json& s) {
              s["min_seconds"] = 1;
          }).find("are not among the durations: the saved histogram is damaged") != std::string::npos);
}

TEST_CASE(
    "a truncated saved meter state is refused, and a state with a flipped bit is refused or loads the same values") {
    const json state = state_json();
    const std::string whole = state.dump();
    const auto refused = [](const std::string& text) {
        const json read = json::parse(text, nullptr, false);
        return read.is_discarded() ||
               error_of([&] { return floptally::read_meter_state(read).accumulators.size(); }) != "no error";
    };
    CHECK_FALSE(refused(whole));
    std::size_t accepted = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        CHECK(refused(whole.substr(0, at)));
        for (unsigned bit = 0; bit < 8; ++bit) {
            std::string changed = whole;
            changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
            if (!refused(changed)) {  // "e" and "E" of an exponent
                ++accepted;
                CHECK(json::parse(json(json::parse(changed)).dump()) == state);
            }
        }
    }
    CHECK(accepted <= 4);
}

}  // namespace meter_json_test
