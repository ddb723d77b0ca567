// SPDX-License-Identifier: Apache-2.0
//
// The log lines of recsys-examples, and the comparison that is made of them.

#include <cstddef>
#include <filesystem>
#include <limits>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <floptally/step/throughput_log.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "markdown.hpp"

namespace throughput_log_test {
namespace {

using floptally::experiment;
using floptally::experiment_row;
using floptally::layer_line;
using floptally::throughput_log;
using floptally::train_line;

const std::string step_text =
    "[train] [iter 99, tokens 131168, elapsed_time 58.51 ms, achieved FLOPS 1092.00 TFLOPS, MFU 6.90%]";
const std::string layer_text =
    "[LAYER] [train_fwd] tokens 131168;time (median): 12.345 ms;achieved flops: 345.60 TFLOPS;MFU: 34.94%";

throughput_log read(const std::string& text) {
    std::istringstream in(text);
    return floptally::read_throughput_log(in);
}

std::string read_error(const std::string& text) {
    return error_of([&] { return read(text).steps.size(); });
}

experiment run_of(std::string name, const std::vector<double>& tflops) {
    experiment run{.name = std::move(name), .gpus = 16, .peak_tflops = 989};
    for (const double rate : tflops) {
        run.steps.push_back({.iteration = 1, .tokens = 1, .milliseconds = 10, .tflops = rate, .mfu_pct = 0});
    }
    return run;
}

std::string two_decimals(double value) { return floptally::detail::fixed_decimal(value, 2); }

}  // namespace

TEST_CASE("docs/meter.md shows the log lines that this test prints") {
    const std::string page = read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/meter.md");
    CHECK(fenced_blocks(page, "log") == std::vector<std::string>{step_text + "\n" + layer_text + "\n"});
}

TEST_CASE("log lines of steps and layers are written and parsed back unchanged") {
    const train_line step{.iteration = 99, .tokens = 131168, .milliseconds = 58.51, .tflops = 1092, .mfu_pct = 6.9};
    const layer_line layer{
        .pass = "train_fwd", .tokens = 131168, .milliseconds = 12.345, .tflops = 345.6, .mfu_pct = 34.94};
    CHECK(floptally::to_string(step) == step_text);
    CHECK(floptally::to_string(layer) == layer_text);

    const throughput_log log = read("starting\n[rank0] 12:00 " + step_text + "\r\n\n" + layer_text + "\n" +
                                    "[eval] [iter 3, auc 0.7]\n" + step_text);
    CHECK(log.steps == std::vector<train_line>{step, step});
    CHECK(log.layers == std::vector<layer_line>{layer});
}

TEST_CASE("step and layer log lines are computed from exact FLOPs and a time") {
    floptally::tally batch;
    batch.add({.length = 1000}, {.length = 1024});
    const floptally::step_totals done{.steps = 2,
                                      .batch = batch,
                                      .useful = floptally::flops{floptally::uint128{4'000'000'000'000'000U}},
                                      .seconds = 0.5,
                                      .gpu_seconds = 8,
                                      .peak_tflop = 8.0 * 1000};
    CHECK(floptally::to_string(floptally::train_line_of(7, done)) ==
          "[train] [iter 7, tokens 1000, elapsed_time 500.00 ms, achieved FLOPS 8000.00 TFLOPS, MFU 50.00%]");
    CHECK(floptally::to_string(floptally::layer_line_of("train_fwd", 1000, done.useful, {0.5, 16, 1000})) ==
          "[LAYER] [train_fwd] tokens 1000;time (median): 500.000 ms;achieved flops: 8000.00 TFLOPS;MFU: 50.00%");
    CHECK(error_of([&] {
              return floptally::layer_line_of("train_fwd", 1, done.useful, {0, 16, 1000}).tokens;
          }).rfind("seconds: must be", 0) == 0);
}

TEST_CASE("every truncated log line is an error with its line number") {
    for (const auto& [text, begin] : {std::pair{step_text, std::string("[train] [iter ").size()},
                                      std::pair{layer_text, std::string("[LAYER] [train_fwd").size()}}) {
        for (std::size_t size = begin; size < text.size(); ++size) {
            if (text.substr(0, size).ends_with(" TFLOPS") && text.rfind("[LAYER]", 0) == 0) {
                continue;  // what versions without an MFU write
            }
            const std::string problem = read_error("first line\n" + text.substr(0, size) + "\nlast line\n");
            INFO(text.substr(0, size) << " -> " << problem);
            CHECK(problem.rfind("line 2: must read \"[", 0) == 0);
        }
    }
    CHECK(read_error(step_text + "\n" + step_text + "%\n").rfind("line 2: must read", 0) == 0);
    CHECK(read_error("[train] [iter 1, tokens 2]") ==
          "line 1: must read \"[train] [iter I, tokens T, elapsed_time X ms, achieved FLOPS F TFLOPS, MFU M%]\", got "
          "\"[train] [iter 1, tokens 2]\"");
}

// The lines of the three tests below were made by the format strings of NVIDIA/recsys-examples, at the commits named.
TEST_CASE("step log lines of every recsys-examples version are parsed") {
    // main (43465aea), release-v26.04: through rich's handler, which fills the line and writes a time once a second,
    // and with the colours that it has under FORCE_COLOR.
    const std::string blanks(99, ' ');
    const std::string tail = "]: loss 0.691234";
    const std::string plain =
        "[train] [iter 99, tokens 131168, elapsed_time 58.51 ms, achieved FLOPS 1092.00 TFLOPS, MFU 6.38%]";
    const train_line whole{.iteration = 99, .tokens = 131168, .milliseconds = 58.51, .tflops = 1092, .mfu_pct = 6.38};
    CHECK(read(plain + ": loss 0.691234\n").steps == std::vector<train_line>{whole});
    CHECK(read(plain + ": loss nan\r\n").steps == std::vector<train_line>{whole});
    CHECK(read(plain + " of rank 0").steps == std::vector<train_line>{whole});
    CHECK(read(plain + ":loss 3").steps == std::vector<train_line>{whole});
    CHECK(read("[11/22/26 15:00:01] INFO     " + plain + ": loss 0.691234" + blanks + "\n" +  //
               "                    INFO     " + plain + ": loss 0.691234" + blanks + "\n")
              .steps == std::vector<train_line>{whole, whole});
    CHECK(
        read(
            "\x1b[2;36m[11/22/26 15:00:01]\x1b[0m\x1b[2;36m \x1b[0m\x1b[34mINFO    \x1b[0m \x1b[1m[\x1b[0mtrain\x1b[1m]"
            "\x1b[0m \x1b[1m[\x1b[0miter \x1b[1;36m99\x1b[0m, tokens \x1b[1;36m131168\x1b[0m, elapsed_time "
            "\x1b[1;36m58.51"
            "\x1b[0m ms, achieved FLOPS \x1b[1;36m1092.00\x1b[0m TFLOPS, MFU \x1b[1;36m6.38\x1b[0m%\x1b[1m]\x1b[0m: "
            "loss "
            "\x1b[1;36m0.691234\x1b[0m   \n")
            .steps == std::vector<train_line>{whole});
    // release-25.10: no MFU.
    const train_line no_mfu{.iteration = 99, .tokens = 131168, .milliseconds = 58.51, .tflops = 1092};
    const std::string older = "[train] [iter 99, tokens 131168, elapsed_time 58.51 ms, achieved FLOPS 1092.00 TFLOPS";
    CHECK(read(older + tail).steps == std::vector<train_line>{no_mfu});
    CHECK(floptally::to_string(no_mfu) == older + "]");
    // sm100, and sid_gr of main: no FLOPs either. Such a run cannot be compared.
    const train_line no_flops{.iteration = 99, .tokens = 131168, .milliseconds = 58.51};
    const std::string oldest = "[train] [iter 99, tokens 131168, elapsed_time 58.51 ms";
    CHECK(read(oldest + tail).steps == std::vector<train_line>{no_flops});
    CHECK(floptally::to_string(no_flops) == oldest + "]");
    const experiment old{.name = "old", .gpus = 16, .peak_tflops = 989, .steps = {no_flops}};
    CHECK(error_of([&] { return floptally::compare(std::vector<experiment>{old}).size(); }) ==
          "achieved FLOPS: iteration 99 of \"old\" has none, because the log is of an old version of recsys-examples: "
          "use "
          "logs of a later one");
    // Two commits before release-25.10 wrote the number of TFLOPS as one of GFLOPS: no guess.
    CHECK(read_error(oldest + ", FLOPS 1092.00 GFLOPS" + tail).rfind("line 1: must read", 0) == 0);
}

TEST_CASE("layer log lines are parsed for every name, pass and version of recsys-examples") {
    const auto make_single = [](const std::string& line) {
        const throughput_log log =
            read("loading\n" + line + "\n[FUSED] [peak] bf16 peak TFLOPS: 989.0 on NVIDIA H100\n");
        return log.layers.size() == 1 && log.steps.empty() ? log.layers[0] : layer_line{};
    };
    // main (43465aea): "[{layer type in capitals}] [train_fwd|bwd|e2e] … {:.4f} … {:.4f} … {:.2f}%".
    CHECK(
        make_single("[FUSED] [train_fwd] tokens 131168;time (median): 12.3456 ms;achieved flops: 345.6000 TFLOPS;MFU: "
                    "34.94%") == layer_line{.layer = "FUSED",
                                            .pass = "train_fwd",
                                            .tokens = 131168,
                                            .milliseconds = 12.3456,
                                            .tflops = 345.6,
                                            .mfu_pct = 34.94});
    CHECK(make_single("[NATIVE] [e2e] tokens 5;time (median): 1.0000 ms;achieved flops: 2.0000 TFLOPS;MFU: 0.20%")
              .layer == "NATIVE");
    // release-v26.04: no MFU, "fwd", and the sum of two medians.
    CHECK(make_single("[FUSED] [fwd] tokens 131168;time (median): 12.3456 ms;achieved flops: 345.6000 TFLOPS") ==
          layer_line{.layer = "FUSED", .pass = "fwd", .tokens = 131168, .milliseconds = 12.3456, .tflops = 345.6});
    CHECK(make_single("[DEBUG] [e2e] tokens 131168;time: 36.5000 ms;achieved flops: 350.1000 TFLOPS") ==
          layer_line{.layer = "DEBUG", .pass = "e2e", .tokens = 131168, .milliseconds = 36.5, .tflops = 350.1});
    // Before release-25.10: a time alone.
    const layer_line timed{.layer = "FUSED", .pass = "bwd", .tokens = 131168, .milliseconds = 24.125};
    CHECK(make_single("[FUSED] [bwd] tokens 131168;time (median): 24.1250 ms.") == timed);
    CHECK(make_single(floptally::to_string(timed)) == timed);
    CHECK(make_single("[FUSED] [e2e] tokens 131168;time: 24.1250 ms.").pass == "e2e");
}

TEST_CASE("a malformed log line is an error, and a log without throughput lines is an error") {
    for (const char* bad : {
             "[train] [iter 99 tokens 1]",  // begins as one
             "[train] [iter",
             "n] [iter 99, tokens 1, elapsed_time 5 ms, achieved FLOPS 10.00 TFLOPS, MFU 6.38%]",  // its begin is lost
             "[train] [iter 9, tokens 1, elapsed_time 5.00 ms, achieved FLOPS 1.00 TFLOPS]loss 3",
             "[train] [iter 9, tokens 1, elapsed_time 5.00 ms, achieved FLOPS 1.00 TFLOPS]: loss [train] [iter 9, "
             "tokens",
             "[train] [iter 9, tokens 1, elapsed_time 5.00 ms, achieved FLOPS inf TFLOPS, MFU inf%]: loss 0.1",
             "[FUSED] [fwd",
             "[FUSED] [train_fwd] took 12.3 ms",  // a pass says what the line is, without tokens
             "[FUSED] [fwd] took 12.3 ms",
             "[FUSED] [bwd] took 12.3 ms",
             "[FUSED] [e2e] took 12.3 ms",
             "[FUSED] [bwd] tokens 131168;time (median): 12.3 m",
             "[FUSED] [sideways] tokens 131168;time (median): nan ms;achieved flops: 345.6 TFLOPS",
             "[FUSED] [fwd] tokens 131168;time (median): 12.3 ms;achieved flops: 345.6 TFLOPS;MFU: 34.9",
             "FUSED fwd tokens 131168;time (median): 12.3 ms;achieved flops: 345.6 TFLOPS",
         }) {
        INFO(bad);
        CHECK(read_error(step_text + "\nanything\n" + bad + "\n").rfind("line 3: must read \"[", 0) == 0);
    }
    for (const char* none : {"", "\n", "starting\n[eval] [eval 3 users]:\n    auc 0.7\n", "\xff\xfe[\0t\0r\0"}) {
        CHECK(read_error(none).rfind("log: has no throughput in its ", 0) == 0);
        std::istringstream broken(none);
        broken.setstate(std::ios::badbit);
        CHECK(error_of([&] { return floptally::read_throughput_log(broken).steps.size(); }) ==
              "log: cannot be read to its end: check its disk, or read a copy");
    }
}

TEST_CASE("log lines that floptally writes match the patterns of recsys-examples' scripts") {
    // examples/hstu/training/benchmark/scripts/analyze_results.py and analyze_layer_results.py look for these.
    const std::string step = floptally::to_string(
        train_line{.iteration = 99, .tokens = 131168, .milliseconds = 58.51, .tflops = 1092, .mfu_pct = 6.9});
    std::smatch found;
    REQUIRE(std::regex_search(step, found, std::regex(R"(achieved FLOPS\s+([\d.]+)\s+TFLOPS)")));
    CHECK(found[1] == "1092.00");
    REQUIRE(std::regex_search(step, found, std::regex(R"(MFU\s+([\d.]+)%)")));
    CHECK(found[1] == "6.90");
    const std::regex layer_pattern(R"(\[(\w+)\]\s+\[(train_fwd|bwd|e2e)\]\s+tokens\s+(\d+);time \(median\):\s+([\d.]+))"
                                   R"(\s+ms;achieved flops:\s+([\d.]+)\s+TFLOPS(?:;MFU:\s+([\d.]+)%)?)");
    const std::string layer = floptally::to_string(layer_line{
        .layer = "FUSED", .pass = "bwd", .tokens = 7, .milliseconds = 12.345, .tflops = 345.6, .mfu_pct = 5});
    REQUIRE(std::regex_search(layer, found, layer_pattern));
    const std::vector<std::string> fields(found.begin() + 1, found.end());
    CHECK(fields == std::vector<std::string>{"FUSED", "bwd", "7", "12.345", "345.60", "5.00"});
}

TEST_CASE("an invalid count or non-finite rate in a log line is an error") {
    const auto with = [](const std::string& from, const std::string& to) {
        std::string text = step_text;
        text.replace(text.find(from), from.size(), to);
        return read_error(text);
    };
    CHECK(with("99", "98") == "no error");
    CHECK(with("58.51", "5.851e1") == "no error");
    for (const char* bad : {"-1", "1.5", "x", "", "18446744073709551616"}) {
        CHECK(with("131168", bad).rfind("line 1: must read", 0) == 0);
    }
    for (const char* bad : {"nan", "inf", "-1.0", "-0", "", "1e999", "1,5", " 1"}) {
        INFO(bad);
        CHECK(with("58.51", bad).rfind("line 1: must read", 0) == 0);
        CHECK(with("1092.00", bad).rfind("line 1: must read", 0) == 0);
        CHECK(with("6.90", bad).rfind("line 1: must read", 0) == 0);
    }
    CHECK(read_error("[LAYER] [] tokens 1;time (median): 1 ms;achieved flops: 1 TFLOPS;MFU: 1%")
              .rfind("line 1: must read", 0) == 0);
}

TEST_CASE("the published logs of recsys-examples reproduce the published table of recsys-examples") {
    // 16 H100, bf16 dense 989 TFLOPS; global TFLOPS of the five published experiments.
    const std::vector<double> published{1092, 1667, 3933, 3919, 2880};
    std::vector<experiment> runs;
    for (const double tflops : published) {
        std::istringstream log("[train] [iter 1, tokens 1, elapsed_time 10.00 ms, achieved FLOPS " +
                               std::to_string(tflops) + " TFLOPS, MFU 0.00%]\n");
        runs.push_back({.name = "exp" + std::to_string(runs.size()),
                        .gpus = 16,
                        .peak_tflops = 989,
                        .steps = floptally::read_throughput_log(log).steps});
    }
    const std::vector<experiment_row> rows = floptally::compare(runs);
    const std::vector<std::string> mfu{"6.90", "10.53", "24.85", "24.77", "18.20"};
    REQUIRE(rows.size() == mfu.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CHECK(two_decimals(rows[i].mfu_pct) == mfu[i]);
        CHECK(rows[i].tflops_per_gpu == published[i] / 16);
        CHECK(rows[i].best_tflops_per_gpu == published[i] / 16);
        CHECK(two_decimals(rows[i].speed_up) == two_decimals(published[i] / 1092));
    }
    // The PR's own column, 6.38 to 22.96, is the same rates over 1070.5.
    for (experiment& run : runs) {
        run.peak_tflops = 1070.5;
    }
    CHECK(two_decimals(floptally::compare(runs)[0].mfu_pct) == "6.38");
    CHECK(two_decimals(floptally::compare(runs)[2].mfu_pct) == "22.96");
}

TEST_CASE("averages over log lines are weighted by time, and the table also shows the best line") {
    experiment uneven = run_of("uneven", {1600, 3200});
    uneven.steps[0].milliseconds = 30;  // 30 ms at 1600 and 10 ms at 3200: 80 TFLOP in 40 ms
    const std::vector<experiment> runs{run_of("base", {1600}), uneven};
    CHECK(floptally::to_markdown(floptally::compare(runs)) ==
          "| experiment | TFLOPS/GPU | peak TFLOPS/GPU | MFU | speed-up |\n"
          "| --- | --: | --: | --: | --: |\n"
          "| base | 100.00 | 100.00 | 10.11 % | 1.00x |\n"
          "| uneven | 125.00 | 200.00 | 12.64 % | 1.25x |\n");
}

TEST_CASE("logs of experiments that cannot be compared are an error") {
    const auto problem = [](const experiment& run) {
        return error_of([&] { return floptally::compare(std::vector<experiment>{run}).size(); });
    };
    CHECK(problem(run_of("empty", {})) ==
          "steps: \"empty\" has no line of a step in its log: pass the log of a run with steps");
    CHECK(problem(run_of("still", {0})).rfind("achieved FLOPS: must be", 0) == 0);
    experiment run = run_of("a", {1});
    run.gpus = 0;
    CHECK(problem(run) == "gpus: must be at least 1, got 0 in \"a\"");
    run = run_of("a", {1});
    run.peak_tflops = std::numeric_limits<double>::infinity();
    CHECK(problem(run).rfind("peak_tflops: must be", 0) == 0);
    run = run_of("a", {1});
    run.steps[0].milliseconds = 0;
    CHECK(problem(run).rfind("elapsed_time: must be", 0) == 0);
}

}  // namespace throughput_log_test
