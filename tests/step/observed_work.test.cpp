// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/conventions/comparison.hpp>
#include <floptally/floptally.hpp>
#include <floptally/step/comparison_report.hpp>
#include <floptally/step/observed_work.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace observed_work_test {
namespace {

using namespace floptally;

constexpr observed_step on_eight{.seconds = 2.0, .gpus = 8, .peak_tflops = 1000.0};

/// The FLOPs that a text stands for, in whole TFLOP at both ends.
std::string between(const char* text, const observed_step& step = on_eight) {
    const observed_work work = observed_work_of(text, step);
    return std::to_string(static_cast<std::int64_t>(work.least / 1e9)) + " " +
           std::to_string(static_cast<std::int64_t>(work.most / 1e9));
}

}  // namespace

TEST_CASE("a number from a dashboard is FLOPs to its last digit", "[comparison]") {
    CHECK(between("402TFLOP/s") == "6424000 6440000");  // 2 s x 8 GPUs x 401.5 and 402.5
    CHECK(between("402 TFLOPS") == between("402TFLOP/s"));
    CHECK(between("402TFLOP/s/GPU") == between("402TFLOP/s"));
    CHECK(between("402.0TFLOPs/s") == "6431200 6432800");
    CHECK(between("0.4020PFLOP/s") == "6431200 6432800");
    CHECK(between("6.43PFLOP") == "6425000 6435000");
    CHECK(between("6432TFLOPs") == "6431500 6432500");
    CHECK(between("40.2%") == "6424000 6440000");  // of 2 s x 8 GPUs x 1000 TFLOP/s
    CHECK(between("6.43PFLOP", {}) == "6425000 6435000");
    CHECK(observed_work{.least = 2, .most = 6}.middle() == 4);
}

TEST_CASE("what is no such number, and what it lacks, is an error", "[comparison]") {
    for (const char* text :
         {"", "402", "TFLOP/s", "402 tokens", "-3TFLOP", "0TFLOP", "nanTFLOP", "1.2.3TFLOP", "4e2%"}) {
        CAPTURE(text);
        CHECK(error_of([&] {
                  (void)observed_work_of(text, on_eight);
              }).rfind("observed: must be a number above 0", 0) == 0);
    }
    CHECK(error_of([] { (void)observed_work_of("402TFLOP/s", {}); }).rfind("seconds: is missing", 0) == 0);
    CHECK(error_of([] { (void)observed_work_of("402TFLOP/s", {.seconds = 1.0}); }).rfind("gpus: is missing", 0) == 0);
    CHECK(error_of([] {
              (void)observed_work_of("40%", {.seconds = 1.0, .gpus = 1});
          }).rfind("peak_tflops: is missing", 0) == 0);
    CHECK(error_of([] {
              (void)observed_work_of("40%", {.seconds = 0.0, .gpus = 1});
          }).rfind("seconds: must be a finite number above 0, got 0", 0) == 0);
}

TEST_CASE("the conventions and views that give a number are found", "[comparison]") {
    const convention_comparison model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add_lengths(std::vector<std::int32_t>{8192});
    const auto names = [&](const char* text) {
        std::string found;
        for (const observed_candidate& match : matches_of(observed_work_of(text, {}), model, batch)) {
            found.append(found.empty() ? "" : ", ").append(match.how.name);
            found.append(match.seen == view::useful ? "" : match.seen == view::padded ? " padded" : " executed");
        }
        return found;
    };
    CHECK(names("474.42TFLOP") == "bionemo, nanotron, torch_flop_counter_eager");
    CHECK(names("474.44TFLOP") == "torchtitan, torchtitan_2026");
    CHECK(names("447.47TFLOP") == "verl, verl_2026");
    CHECK(names("430.44914TFLOP") == "exact executed");  // 421 651 971 833 856 and QKᵀ once more
    CHECK(names("300TFLOP").empty());
    CHECK(std::string(nearest_of(observed_work_of("447TFLOP", {}), model.compare(batch)).how.name) == "verl");

    // Padded rows: a counter that takes the configured length.
    batch.clear();
    batch.add_padded(std::vector<std::int32_t>{1000}, 8192);
    CHECK(names("474.44TFLOP") == "torchtitan padded, torchtitan_2026 padded");
}

TEST_CASE("a comparison as a table: each convention in a line, of one a line for each term", "[comparison]") {
    const convention_comparison model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add_lengths(std::vector<std::int32_t>{8192});
    const std::string table = to_table(comparison_of("llama", model, batch, "palm", "500.26TFLOP"));
    CHECK(table.find("\n  palm  ") != std::string::npos);
    std::string words;  // one space for several
    for (const char c : table) {
        if (c != ' ' || !words.ends_with(' ')) {
            words.push_back(c);
        }
    }
    CHECK(words.find("palm 500 256 517 128 192 118.64 %") != std::string::npos);
    CHECK(words.find("verl") == std::string::npos);
    CHECK(words.find("embedding -25 821 343 383 552") != std::string::npos);
    CHECK(words.find("exact 421 651 971 833 856 100.00 %") != std::string::npos);
    CHECK(words.find("is palm, useful: 500 256 517 128 192") != std::string::npos);
    // Of all conventions each has its terms beside it; what none gives has the nearest.
    const std::string all = to_table(comparison_of("llama", model, batch, "", "369TFLOP"));
    CHECK(all.find("embedding -25 821 343 383 552, causal_pairs +6 442 450 944\n") != std::string::npos);
    CHECK(all.find("is no convention's") == std::string::npos);
    const std::string none = to_table(comparison_of("llama", model, batch, "", "300TFLOP"));
    CAPTURE(none);
    CHECK(none.find("the nearest is hf_6nd: 368 882 057 478 144\n") != std::string::npos);
}

TEST_CASE("the lines of a log say whose rates they are, whatever the speed of a step", "[comparison]") {
    const convention_comparison all(presets::mistral_7b);
    tally batch{all.masks()};
    batch.add_lengths(std::vector<std::uint32_t>{8192, 8192, 300});
    constexpr int gpus = 16;
    // A step of 30 sequences, ten times the batch, by one convention; times and rates as they are printed.
    const auto log_of = [&](const flops& total, const char* form) {
        std::string text = "a line before them\n";
        for (int i = 0; i < 40; ++i) {
            const double seconds = 3.0 + 0.0317 * i;
            const double rate = to_double(total) * 10 / seconds / gpus / 1e12;
            const double tokens = static_cast<double>(batch.get(view::padded, statistic::tokens)) * 10 / seconds / gpus;
            std::array<char, 200> line{};
            (void)std::snprintf(line.data(), line.size(), form, form[1] == 'e' ? 1e3 * seconds : tokens, rate);
            text.append(line.data()).append("\n");
        }
        return text;
    };
    const char* megatron =
        " elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | global batch "
        "size:    30 |";
    const char* titan = " tps: %.0f \x1b[36mtflops: %.2f\x1b[0m";
    for (const compared_convention& line : all.compare(batch)) {
        INFO(line.how.name);
        for (const char* form : {megatron, titan}) {
            std::istringstream text(log_of(line.total, form));
            const observed_step step{.seconds = {}, .gpus = form == megatron ? std::optional(16U) : std::nullopt};
            const observed_log log = observed_log_of(text, batch, step);
            CHECK(log.lines.size() == 40);
            CHECK(std::abs(log.mean().middle() / to_double(line.total) - 1) < 1e-3);
            const auto matches = matches_of(log.lines, all, batch);
            REQUIRE(!matches.empty());
            bool found = false;
            for (const observed_candidate& match : matches) {
                CHECK(match.given == 40);
                CHECK(std::abs(to_double(match.total) / to_double(line.total) - 1) < 2e-3);
                found = found || match.total == line.total;
            }
            CHECK(found);
            // What exact FLOPs over the time of the log are.
            const double seconds = to_double(line.total) / log.tflops_per_gpu(to_double(line.total)) * 40 / 1e12;
            CHECK(std::abs(seconds - log.gpu_seconds) < 1e-6 * seconds);
        }
    }
}

TEST_CASE("a dashboard's number in exact FLOPs has its digits and its unit, at most the digits of a double",
          "[comparison]") {
    const auto half = [](const char* text) {
        return detail::as_observed({.text = text, .work = {.least = 2, .most = 2}}, 1);
    };
    CHECK(half("402.4TFLOP/s") == "201.2TFLOP/s");
    CHECK(half("0.50000000000000000 PFLOP") == "0.250000000000000 PFLOP");
}

TEST_CASE("a log of verl's rates is verl's, in a table too", "[comparison]") {
    const convention_comparison all(presets::llama_3_8b);
    tally batch{all.masks()};
    batch.add({.length = 8192});
    // 447.467 TFLOP a step; the last line is another batch's.
    const std::string text =
        "completed step: 0, seconds: 1.000, TFLOP/s/device: 223.733, loss: 3\n"
        "completed step: 1, seconds: 0.500, TFLOP/s/device: 447.467, loss: 3\n"
        "completed step: 2, seconds: 0.500, TFLOP/s/device: 600.000, loss: 3\n";
    std::istringstream lines(text);
    const comparison_report made =
        comparison_of("llama", all, batch, "verl", observed_log_of(lines, batch, {.seconds = {}, .gpus = 2}));
    REQUIRE(made.observed->matches.size() == 2);
    CHECK(made.observed->matches[0].given == 2);
    const std::string table = to_table(made);
    CAPTURE(table);
    CHECK(table.find("log of MaxText") != std::string::npos);
    CHECK(table.find("verl, useful: 447 466 872 766 464, 2 of 3 lines") != std::string::npos);
    CHECK(table.find("exactly") != std::string::npos);
    CHECK(table.find("316.2 TFLOP/s of one GPU, 421 651 971 833 856 FLOPs") != std::string::npos);
    CHECK(made.conventions.size() == 1);
    // One line of two is as good as another; one of three is not enough, it may be so by chance.
    std::istringstream two(
        "completed step: 0, seconds: 1.000, TFLOP/s/device: 223.733, loss: 3\n"
        "completed step: 1, seconds: 0.500, TFLOP/s/device: 700.000, loss: 3\n");
    CHECK(matches_of(observed_log_of(two, batch, {.seconds = {}, .gpus = 2}).lines, all, batch).size() == 2);
    std::istringstream others(
        "completed step: 0, seconds: 1.000, TFLOP/s/device: 223.733, loss: 3\n"
        "completed step: 1, seconds: 0.500, TFLOP/s/device: 700.000, loss: 3\n"
        "completed step: 2, seconds: 0.500, TFLOP/s/device: 600.000, loss: 3\n");
    CHECK(matches_of(observed_log_of(others, batch, {.seconds = {}, .gpus = 2}).lines, all, batch).empty());
}

TEST_CASE("a log's count of a whole run is the batch's by its share of the sequences", "[comparison]") {
    const convention_comparison all(presets::mistral_7b);
    tally batch{all.masks()};
    batch.add_lengths(std::vector<std::uint32_t>{8192, 8192, 300});
    for (const compared_convention& line : all.compare(batch)) {
        INFO(line.how.name);
        // 3000 sequences in 50 s, as Hugging Face's Trainer prints its metrics.
        std::array<char, 200> text{};
        (void)std::snprintf(text.data(), text.size(),
                            "{'train_runtime': 50.0000, 'train_samples_per_second': 60.000, 'total_flos': %.16e}",
                            to_double(line.total) * 1000);
        std::istringstream lines(text.data());
        const observed_log log = observed_log_of(lines, batch, {.seconds = {}, .gpus = 16});
        REQUIRE(log.lines.size() == 1);
        CHECK(log.lines[0].is(line.total));
        CHECK(log.lines[0].most < 1.0001 * log.lines[0].least);
        CHECK(std::abs(log.gpu_seconds - 50.0 * 16 / 1000) < 1e-6);
    }
}

TEST_CASE("a log's MFU is of the peak that is given", "[comparison]") {
    std::istringstream lines("dt: 500.0ms mfu: 40.00");
    const observed_log log = observed_log_of(lines, tally{}, {.seconds = {}, .gpus = 2, .peak_tflops = 1000.0});
    REQUIRE(log.lines.size() == 1);
    // 0.5 s of 2 GPUs at 400 TFLOP/s; half of the last digit of the time is a 10⁴th of it, of the MFU an 8000th.
    CHECK(log.lines[0].least == Approx(400e12 * (1 - 1e-4) * (1 - 1.25e-4)));
    CHECK(log.lines[0].most == Approx(400e12 * (1 + 1e-4) * (1 + 1.25e-4)));
}

TEST_CASE("a log's rate of all GPUs is each one's share of it", "[comparison]") {
    std::istringstream lines("elapsed_time 500.0 ms, achieved FLOPS 800.0 TFLOPS");
    const observed_log log = observed_log_of(lines, tally{}, {.seconds = {}, .gpus = 2});
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].least == Approx(0.49995 * 799.95e12));
    CHECK(log.lines[0].most == Approx(0.50005 * 800.05e12));
    CHECK(log.gpu_seconds == Approx(1.0));
}

TEST_CASE("a log without a known line, of two trainers or without what a line needs is an error", "[comparison]") {
    const tally batch{};
    const auto problem_of = [&](const char* text, const observed_step& step) {
        return error_of([&] {
            std::istringstream lines(text);
            (void)observed_log_of(lines, batch, step);
        });
    };
    CHECK(
        problem_of("loss: 3\nloss: 4\n", {}).rfind("log: has no line with a rate among 2; those of Megatron-LM, ", 0) ==
        0);
    const char* maxtext = "seconds: 1, TFLOP/s/device: 2\n";
    CHECK(problem_of(maxtext, {}).rfind("gpus: is missing; a line of MaxText", 0) == 0);
    CHECK(problem_of("seconds: 1, TFLOP/s/device: 2\ntps: 1 tflops: 2\n", {.seconds = {}, .gpus = 1}) ==
          "log: has lines of MaxText and, in line 2, of torchtitan");
    CHECK(problem_of("'train_runtime': 1, 'train_samples_per_second': 1, 'total_flos': 1", {})
              .rfind("gpus: is missing; a line of Hugging Face Trainer", 0) == 0);
    CHECK(error_of([&] {
              std::istringstream broken(maxtext);
              broken.setstate(std::ios::badbit);
              return observed_log_of(broken, batch, {.seconds = {}, .gpus = 1}).lines.size();
          }) == "log: cannot be read to its end");
    CHECK(problem_of("dt: 1ms mfu: 2", {.seconds = {}, .gpus = 1})
              .rfind("peak_tflops: is missing; a line of nanochat", 0) == 0);
}

}  // namespace observed_work_test
