// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <floptally/json/kineto_trace.hpp>
#include <floptally/waterfall/rank_traces.hpp>
#include <floptally/waterfall/trace_times.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "golden.hpp"

namespace kineto_trace_test {
namespace {

using floptally::module_map;
using floptally::trace_time;
using floptally::trace_times;

const std::filesystem::path folder = std::filesystem::path(FLOPTALLY_GOLDEN_DIR) / "traces";

/// Times by part and pass, without zeros.
using parts = std::map<std::pair<std::string, std::string>, std::int64_t>;

parts parts_of(const trace_times& made) {
    parts found;
    std::int64_t sum = 0;
    for (const trace_time& part_time : made.times()) {
        REQUIRE(found.count({part_time.part, "forward"}) == 0);
        for (const auto& [during, time] : {std::pair("forward", part_time.forward), {"backward", part_time.backward}}) {
            sum += time;
            if (time != 0) {
                found[{part_time.part, during}] = time;
            }
        }
    }
    REQUIRE(sum == made.nanoseconds());
    return found;
}

std::string text_of(const char* name) {
    std::ifstream file(folder / name);
    REQUIRE(file);
    return {std::istreambuf_iterator<char>(file), {}};
}

floptally::trace read(const std::string& text) {
    std::istringstream stream(text);
    return floptally::read_kineto_trace(stream);
}

std::string refusal_of(const std::string& text) {
    return error_of([&] { static_cast<void>(trace_times(read(text))); });
}

}  // namespace

TEST_CASE("the module times of a CPU trace equal those of an independent implementation") {
    const trace_times made(floptally::load_kineto_trace(folder / "cpu_step.json"));
    const nlohmann::json expected = golden("traces/cpu_step_times.json");
    CHECK_FALSE(made.on_gpu());
    CHECK(made.steps() == 1);
    CHECK(made.nanoseconds() == expected["nanoseconds"]);
    parts others;
    for (const nlohmann::json& item : expected["times"]) {
        // A rest has no pass of its own.
        const std::string part = item["part"];
        const std::string during = part == "gradient accumulation" || part == "optimizer" ? "forward" : item["pass"];
        others[{part, during}] += item["nanoseconds"].get<std::int64_t>();
    }
    CHECK(parts_of(made) == others);
}

TEST_CASE("a GPU trace attributes kernels to the modules that launched them") {
    const trace_times measured_times(floptally::load_kineto_trace(folder / "gpu_step.json"));
    CHECK(measured_times.on_gpu());
    CHECK(measured_times.devices() == 1);
    CHECK(measured_times.steps() == 1);
    // From the end of the copy that was launched before the step's mark to the end of what was launched in it.
    const nlohmann::json numbers = golden("traces/gpu_step_times.json");  // moment by moment, by another program
    CHECK(measured_times.nanoseconds() == numbers["nanoseconds"]);
    CHECK(measured_times.seconds() == Approx(1.335e-3));
    parts expected;
    for (const nlohmann::json& report : numbers["times"]) {
        expected[{report["part"], report["pass"]}] += report["nanoseconds"].get<std::int64_t>();
    }
    CHECK(parts_of(measured_times) == expected);
    CHECK(std::vector<std::string>(measured_times.notes().begin(), measured_times.notes().end()) ==
          std::vector<std::string>{"the device began the profiler's steps 0.015 ms after the host",
                                   "kernels and copies without a launch in the trace: 1",
                                   "kernels and copies that were not launched in the profiler's steps, left out: 1",
                                   "no pattern matches 0.020 ms of a step, most of that 0.010 ms void "
                                   "at::native::vectorized_elementwise_kernel<4, at::nat..., 0.010 ms own_kernel"});
}

TEST_CASE("module patterns of the user take precedence over the built-in ones") {
    const floptally::trace gpu = floptally::load_kineto_trace(folder / "gpu_step.json");
    const parts outcome =
        parts_of(trace_times(gpu, floptally::module_map_named(
                                      "LlamaForCausalLM=residuals,kernel:own*=ours,op:aten::silu=silu,"
                                      "*Attention/Linear=attention.qkv,kernel:*CUDAFunctorOnSelf_add*=communication")));
    CHECK(outcome.at({"residuals", "forward"}) == 10'000);
    CHECK(outcome.at({"ours", "forward"}) == 10'000);
    CHECK(outcome.at({"attention.qkv", "forward"}) == 100'125);
    CHECK(outcome.at({"attention.qkv", "backward"}) == 100'000);
    CHECK(outcome.at({"communication", "forward"}) == 140'000);
    CHECK(outcome.count({"not attributed", "forward"}) == 0);
    CHECK(error_of([] { static_cast<void>(floptally::module_map_named("a=b,c")); }) ==
          "modules[1]: must be PATTERN=NAME, items separated by commas, got \"c\"");
    CHECK(error_of([] { static_cast<void>(floptally::module_map_named("=b")); }) ==
          "modules[0]: must be PATTERN=NAME, items separated by commas, got \"=b\"");
}

TEST_CASE("backward operators with ambiguous sequence numbers are not attributed unless the trace links them") {
    nlohmann::json gpu = nlohmann::json::parse(text_of("gpu_step.json"));
    nlohmann::json without = nlohmann::json::array();
    for (const nlohmann::json& element : gpu["traceEvents"]) {
        if (element.value("cat", "") != "fwdbwd") {
            without.push_back(element);
        }
    }
    gpu["traceEvents"] = without;
    const trace_times two(read(gpu.dump()));
    const parts result = parts_of(two);
    for (const char* part : {"attention.qkv+attention.output", "attention.core", "mlp"}) {
        CHECK(result.count({part, "backward"}) == 0);
    }
    CHECK(result.at({"not attributed", "forward"}) == 20'000 + 600'000);
    CHECK(two.notes().back() == "backward operators whose forward operator is unknown: 5");
    // One thread alone that has forward operators can be meant.
    for (nlohmann::json& entry : gpu["traceEvents"]) {
        if (entry["name"] == "aten::silu") {
            entry["args"].erase("Sequence number");
        }
    }
    CHECK(parts_of(trace_times(read(gpu.dump()))).at({"mlp", "backward"}) == 200'000);
}

TEST_CASE("a trace that is a bare list of events, with times as numbers or text, is read") {
    const parts times_by_part = parts_of(trace_times(read(
        R"([{"ph":"X","cat":"user_annotation","name":"model.layers.0.mlp","pid":1,"tid":1,"ts":1740461679470813,"dur":10},
            {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":"1740461679470814.5","dur":"4.0006"},
            {"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1740461679470900,"dur":1.5e1}])")));
    CHECK(times_by_part == parts{{{"mlp", "forward"}, 4'001},
                                 {{"not attributed", "forward"}, 15'000},
                                 {{"no operator runs", "forward"}, 102'000 - 4'001 - 15'000}});
}

TEST_CASE("a corrupted trace is an error, or its attributed times still add up to the step") {
    const std::string whole = text_of("gpu_step.json");
    std::mt19937_64 random(7);
    std::size_t read_anyway = 0;
    for (int repeat = 0; repeat < 400; ++repeat) {
        std::string text = whole;
        const std::string other = "0123456789.-\"{}[],:eEaX";
        for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
            text[random() % text.size()] = other[random() % other.size()];
        }
        if (random() % 4 == 0) {
            const std::size_t from = random() % text.size();
            text.erase(from, random() % 200);
        }
        try {
            static_cast<void>(parts_of(trace_times(read(text))));  // which requires the sum
            ++read_anyway;
        } catch (const floptally::error& problem) {
            CHECK(!problem.field().empty());
        }
    }
    CHECK(read_anyway > 50);
}

TEST_CASE("a send and the receive of its peer count as one operation of two ranks") {
    const auto of_rank = [](int rank, const std::string& what, int peer, int begin, int end) {
        const std::string place = std::string(what == "send" ? "Dst" : "Src") + " Rank";
        const nlohmann::json kernel{{"ph", "X"},
                                    {"cat", "kernel"},
                                    {"name", "ncclDevKernel_SendRecv"},
                                    {"pid", 0},
                                    {"tid", 20},
                                    {"ts", begin},
                                    {"dur", end - begin},
                                    {"args",
                                     {{"Collective name", what},
                                      {"Process Group Name", "pp"},
                                      {"Process Group Ranks", "[4, 5]"},
                                      {place, peer}}}};
        nlohmann::json file{{"distributedInfo", {{"backend", "nccl"}, {"rank", rank}, {"world_size", 8}}}};
        file["traceEvents"] = nlohmann::json::array({kernel});
        return read(file.dump());
    };
    // Rank 5 waits for what rank 4 sends, 30 us of 40, and rank 4 for its receiver, 20 of 30.
    std::vector<floptally::trace> ranks{of_rank(4, "send", 5, 100, 110), of_rank(5, "recv", 4, 70, 110)};
    CHECK(ranks[0].rank == 4);
    CHECK(floptally::tell_waiting(ranks) == 0);
    CHECK(ranks[0].events[0].waiting == 0);
    CHECK(ranks[1].events[0].waiting == 30'000);
    // Another direction, or a rank that the trace does not say, is no partner.
    std::vector<floptally::trace> others{of_rank(4, "send", 5, 100, 110), of_rank(5, "send", 4, 70, 110)};
    CHECK(floptally::tell_waiting(others) == 2);
    ranks[1].rank = {};
    CHECK(floptally::tell_waiting(ranks) == 2);
}

#ifdef FLOPTALLY_ZLIB
TEST_CASE("traces in gzip files of one or several members are read") {
    const std::string whole = text_of("gpu_step.json");
    const parts expected = parts_of(trace_times(read(whole)));
    for (const char* name : {"gpu_step.json.gz", "gpu_step_members.json.gz"}) {
        INFO(name);
        const std::string packed = text_of(name);
        CHECK(parts_of(trace_times(read(packed))) == expected);
        CHECK(parts_of(trace_times(floptally::load_kineto_trace(folder / name))) == expected);
        std::mt19937_64 random(5);
        std::size_t refused = 0;
        for (int repeat = 0; repeat < 100; ++repeat) {  // whatever bytes are other ones, nothing else is read
            std::string broken = packed;
            const std::size_t at = 10 + random() % (broken.size() - 10);
            broken[at] = static_cast<char>(broken[at] ^ (1 + static_cast<char>(random() % 127)));
            broken.resize(repeat % 10 == 0 ? at : broken.size());
            parts found_parts;
            try {
                found_parts = parts_of(trace_times(read(broken)));
            } catch (const floptally::error& problem) {
                REQUIRE(!problem.field().empty());
                ++refused;
                continue;
            }
            REQUIRE(found_parts == expected);
        }
        CHECK(refused > 60);
    }
    CHECK(refusal_of("\x1f\x8b") == "trace: is a broken gzip file: it ends early; copy it again");
}
#else
TEST_CASE("a gzip trace is an error that suggests gunzip if zlib is missing") {
    CHECK(refusal_of("\x1f\x8b") ==
          "trace: is compressed by gzip, and this build has no zlib to read it: unpack it with gunzip");
}
#endif

TEST_CASE("broken, truncated and unrelated traces are errors that name the cause") {
    const std::string whole = text_of("cpu_step.json");
    CHECK(refusal_of(whole.substr(0, whole.size() / 2))
              .rfind("trace: must be one whole JSON text, such as PyTorch's profiler writes it; the error is at byte ",
                     0) == 0);
    CHECK(refusal_of("") ==
          "trace: must be one whole JSON text, such as PyTorch's profiler writes it; the error is at byte 1, after 0 "
          "events, near \"\"");
    CHECK(refusal_of("{}") == "trace: has no list \"traceEvents\": pass a trace of PyTorch's profiler");
    CHECK(refusal_of(R"({"traceEvents": 5})") ==
          "trace: has no list \"traceEvents\": pass a trace of PyTorch's profiler");
    CHECK(refusal_of(R"({"other": [{"ph": "X"}]})") ==
          "trace: has no list \"traceEvents\": pass a trace of PyTorch's profiler");
    CHECK(refusal_of(R"({"traceEvents": []})") ==
          "trace: has no operator, annotation, module or kernel: pass a trace of PyTorch's profiler");
    CHECK(error_of([] { static_cast<void>(floptally::load_kineto_trace("/no/such")); }) ==
          "trace: cannot read \"/no/such\": pass a readable file");
    const auto refused = [](const std::string& event) {
        return refusal_of(R"({"traceEvents": [{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":9},)" +
                          event + "]}");
    };
    CHECK(refused(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2})") == "no error");
    CHECK(refused(R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1})") ==
          "traceEvents[1].dur: is missing: record the trace again, with the time of \"b\"");
    CHECK(refused(R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"dur":1})") ==
          "traceEvents[1].ts: is missing: record the trace again, with the time of \"b\"");
    CHECK(refused(R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1,"dur":-2})") ==
          "traceEvents[1].dur: must be at least 0, got -2000 ns");
    CHECK(refused(R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":"soon","dur":2})") ==
          "traceEvents[1].ts: must be a number of microseconds, got \"soon\"");
    CHECK(refused(R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1e300,"dur":2})") ==
          "traceEvents[1].ts: must be a number of microseconds, got \"1e300\"");
    CHECK(refused(R"({"ph":"X","cat":"cpu_op","name":"b","pid":2,"tid":1,"ts":1,"dur":2})") ==
          "trace: has operators of two processes, 1 and 2: pass the trace of one rank");
    CHECK(
        refused(
            R"({"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1,"dur":2,"args":{"Sequence number":"x"}})") ==
        "traceEvents[1].args.Sequence number: must be an integer of at least 0, got \"x\"");
    CHECK(refused(R"({"ph":"f","cat":"fwdbwd","name":"fwdbwd","pid":1,"tid":1,"ts":1})") ==
          "traceEvents[1].id: is missing: a link from a forward operator to its backward needs it; record the trace "
          "again");
    CHECK(refusal_of(
              R"({"traceEvents": [{"ph":"X","cat":"user_annotation","name":"a","pid":1,"tid":1,"ts":1,"dur":9}]})") ==
          "trace: has no operator and no kernel with a duration: record CPU or CUDA activities");
    CHECK(refusal_of(R"({"traceEvents": [{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":0}]})") ==
          "trace: has no event with a duration: record at least one step");
}

}  // namespace kineto_trace_test
