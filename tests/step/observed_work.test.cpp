// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
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
    std::string words;  // one space for several
    for (const char c : table) {
        if (c != ' ' || !words.ends_with(' ')) {
            words.push_back(c);
        }
    }
    CHECK(words.find("palm 500 256 517 128 192 118.64 %") != std::string::npos);
    CHECK(words.find("embedding -25 821 343 383 552") != std::string::npos);
    CHECK(words.find("exact 421 651 971 833 856 100.00 %") != std::string::npos);
    CHECK(words.find("is palm, useful: 500 256 517 128 192") != std::string::npos);
}

}  // namespace observed_work_test
