// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
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

constexpr transformer<gqa, gated_mlp> qwen2_5_7b{.hidden_size = 3584,
                                                 .num_layers = 28,
                                                 .attention = {.num_heads = 28, .num_kv_heads = 4, .head_dim = 128},
                                                 .feed_forward = {.intermediate_size = 18944},
                                                 .vocab = {.size = 152064},
                                                 .layer_elementwise = {.norm = 2 * 3584, .bias = 3584 + 2 * 512},
                                                 .final_elementwise = {.norm = 3584}};

constexpr observed_step on_eight{.seconds = 2.0, .gpus = 8, .peak_tflops = 1000.0};

/// The FLOPs that a text stands for, in whole TFLOP at both ends.
std::string between(const char* text, const observed_step& step = on_eight) {
    const observed_work work = observed_work_of(text, step);
    return std::to_string(static_cast<std::int64_t>(work.least / 1e9)) + " " +
           std::to_string(static_cast<std::int64_t>(work.most / 1e9));
}

}  // namespace

TEST_CASE("a rounded dashboard number matches every FLOP count that rounds to it", "[comparison]") {
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

TEST_CASE("a number from a dashboard is an error if it is malformed or lacks seconds, GPUs or a peak", "[comparison]") {
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

TEST_CASE("the conventions and views that explain a dashboard's number are found", "[comparison]") {
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
    CHECK(names("474.42TFLOP") == "bionemo, nanotron, olmo_core, torch_flop_counter_eager");
    CHECK(names("474.44TFLOP") == "torchtitan, torchtitan_2026");
    CHECK(names("447.47TFLOP") == "verl, verl_2026");
    CHECK(names("430.44914TFLOP") == "exact executed, olmo_core_3 executed");  // 421 651 971 833 856 and QKᵀ once more
    CHECK(names("300TFLOP").empty());
    CHECK(std::string(nearest_of(observed_work_of("447TFLOP", {}), model.compare(batch)).how.name) == "verl");

    // Padded rows: a counter that takes the configured length.
    batch.clear();
    batch.add_padded(std::vector<std::int32_t>{1000}, 8192);
    CHECK(names("474.44TFLOP") == "torchtitan padded, torchtitan_2026 padded");
}

TEST_CASE("a comparison table lists all conventions and the difference terms of the chosen convention",
          "[comparison]") {
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

TEST_CASE("the convention of a trainer's log is recognised from its lines, whatever the step time", "[comparison]") {
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
            const double tokens =
                static_cast<double>(batch.get(view::padded, accumulator::tokens)) * 10 / seconds / gpus;
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
                CHECK(match.explained == 40);
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

TEST_CASE("a dashboard's number rescaled to exact FLOPs keeps its unit and its number of digits", "[comparison]") {
    const auto half = [](const char* text) {
        return detail::as_observed({.text = text, .work = {.least = 2, .most = 2}}, 1);
    };
    CHECK(half("402.4TFLOP/s") == "201.2TFLOP/s");
    CHECK(half("0.50000000000000000 PFLOP") == "0.250000000000000 PFLOP");
}

TEST_CASE("a log with FLOPs of verl's convention is recognised, also if the log is a table", "[comparison]") {
    const convention_comparison all(presets::llama_3_8b);
    tally batch{all.masks()};
    batch.add({.length = 8192});
    // 447.467 TFLOP a step; the last line is another batch's.
    const std::string text =
        "completed step: 0, seconds: 1.000, TFLOP/s/device: 223.733, loss: 3\n"
        "completed step: 1, seconds: 0.500, TFLOP/s/device: 447.467, loss: 3\n"
        "completed step: 2, seconds: 0.500, TFLOP/s/device: 600.000, loss: 3\n";
    std::istringstream lines(text);
    const comparison_report report =
        comparison_of("llama", all, batch, "verl", observed_log_of(lines, batch, {.seconds = {}, .gpus = 2}));
    REQUIRE(report.observed->matches.size() == 2);
    CHECK(report.observed->matches[0].explained == 2);
    const std::string table = to_table(report);
    CAPTURE(table);
    CHECK(table.find("log of MaxText") != std::string::npos);
    CHECK(table.find("verl, useful: 447 466 872 766 464, 2 of 3 lines") != std::string::npos);
    CHECK(table.find("exactly") != std::string::npos);
    CHECK(table.find("316.2 TFLOP/s of one GPU, 421 651 971 833 856 FLOPs") != std::string::npos);
    CHECK(report.conventions.size() == 1);
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

TEST_CASE("FLOPs logged for a whole run are scaled to the batch by the number of sequences", "[comparison]") {
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

TEST_CASE("a tool that ignores frozen weights, adapters or recompute is recognised by its FLOPs", "[comparison]") {
    // Qwen2.5-7B with LoRA of rank 16 on the queries and values.
    const training_plan lora{.weights = {{.weights = "*", .state = weight_state::frozen},
                                         {.weights = "*/q_proj", .state = weight_state::lora, .rank = 16},
                                         {.weights = "*/v_proj", .state = weight_state::lora, .rank = 16}}};
    const training_plan full;
    const convention_comparison model(qwen2_5_7b, lora);
    tally batch{model.masks()};
    batch.add_lengths(std::vector<std::int64_t>{4096});
    const auto found_for = [&](const convention& how, const training_plan& plan, view seen = view::useful) {
        const flops counted = flop_counter(qwen2_5_7b, how, plan).total_flops(batch, seen);
        std::string found;
        for (const observed_candidate& match :
             matches_of({to_double(counted) * (1 - 1e-6), to_double(counted) * (1 + 1e-6)}, model, batch)) {
            if (match.how.name != how.name) {
                continue;
            }
            CHECK(match.total == counted);
            CHECK(match.factor.value == 1);
            found.append(match.wrong_plan ? match.wrong_plan->name : "the plan");
            found.append(match.seen == view::useful ? "" : " executed").append(";");
            if (match.wrong_plan) {
                CHECK(match.wrong_plan->before == counted);
                CHECK(match.wrong_plan->after == flop_counter(qwen2_5_7b, how, lora).total_flops(batch, seen));
            }
        }
        return found;
    };
    for (const convention* how :
         {&conventions::exact, &conventions::verl, &conventions::torchtitan, &conventions::megatron}) {
        INFO(how->name);
        CHECK(found_for(*how, lora) == "the plan;");
        CHECK(found_for(*how, full) == "frozen_weights;");
        training_plan forward = lora;
        forward.counted = counted_passes::forward;
        CHECK(found_for(*how, forward) == "passes;");
        training_plan recomputing = lora;
        recomputing.recomputed = recompute::full;
        CHECK(found_for(*how, recomputing, view::executed) == "recompute executed;");
        CHECK(found_for(*how, {.recomputed = recompute::full}, view::executed) ==
              "frozen_weights, recompute executed;");
    }
    // Adapters themselves are 6 FLOPs for each of their 16 x (3584 + 3584) and 16 x (3584 + 512) weights, layer and
    // token, less the gradient of the first layer's input.
    const convention_comparison exact_alone(qwen2_5_7b, lora, std::array{&conventions::exact});
    const std::vector<assumed_plan> plans = exact_alone.assumed();
    const auto adapters =
        std::find_if(plans.begin(), plans.end(), [](const auto& plan) { return plan.without_adapters; });
    REQUIRE(adapters != plans.end());
    const flops without =
        exact_alone.totals_by(static_cast<std::size_t>(adapters - plans.begin()), batch, view::useful)[0];
    const std::uint64_t a = 16 * 2 * 3584;
    const std::uint64_t b = 16 * (3584 + 512);
    CHECK(exact_alone.exact(batch) == without.value() + 4096 * (28 * 6 * (a + b) - 2 * a));
    // Of a full training step that verl counts, the table says what the frozen weights are.
    const flops verl = flop_counter(qwen2_5_7b, conventions::verl).total_flops(batch);
    const std::string table =
        to_table(comparison_of("qwen2", model, batch, "verl", std::to_string(to_double(verl) / 1e12) + "TFLOP"));
    CAPTURE(table);
    CHECK(table.find("every weight is counted as trained, adapters are not counted (frozen_weights -") !=
          std::string::npos);
}

TEST_CASE("a dashboard number that is wrong by a constant factor is explained with the cause of the factor",
          "[comparison]") {
    const convention_comparison model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add_lengths(std::vector<std::int64_t>(8, 8192));
    const double verl = to_double(flop_counter(presets::llama_3_8b, conventions::verl).total_flops(batch));
    const auto cause_of = [&](double factor, const observed_step& step = {}) {
        const observed_work work{verl * factor * (1 - 1e-5), verl * factor * (1 + 1e-5)};
        for (const observed_candidate& match : matches_of(work, model, batch, step)) {
            if (match.how.name == "verl") {
                CHECK(match.factor.value == Approx(factor));
                return match.factor.cause;
            }
        }
        return std::string("no match");
    };
    CHECK(cause_of(1).empty());
    CHECK(cause_of(16, {.seconds = {}, .gpus = 16}) == "not divided by the 16 GPUs");
    CHECK(cause_of(1.0 / 16, {.seconds = {}, .gpus = 16}) == "divided by the 16 GPUs twice");
    CHECK(cause_of(2).find("counted twice") != std::string::npos);
    CHECK(cause_of(0.5).find("peak with sparsity") != std::string::npos);
    CHECK(cause_of(8) == "not divided by 8 GPUs, or eight such batches in a step");
    CHECK(cause_of(1e3) == "a unit that is 1 steps of 1000 too small");
    CHECK(cause_of(1e-3) == "a unit that is 1 steps of 1000 too large");
    CHECK(cause_of(1.024 * 1.024) == "units of 1000 read as 1024, 2 times");
    CHECK(cause_of(1 / 1.024) == "units of 1024 in place of 1000, 1 times");
    CHECK(cause_of(0.25) == "a microbatch of 2 of the batch's 8 sequences");
    CHECK(cause_of(32) == "32 such batches in a step, as with accumulation");
    CHECK(cause_of(7.77) == "no match");
    // A number of two digits is not searched: chance would explain it.
    CHECK(matches_of({verl * 31.5, verl * 32.5}, model, batch).empty());
    // The issue's own number: a TFLOP/s of 8 GPUs together.
    const std::string table =
        to_table(comparison_of("llama", model, batch, "", "28637.88TFLOP", {.seconds = {}, .gpus = 8}));
    CAPTURE(table);
    CHECK(table.find("verl, useful: 3 579 734 982 131 712, x 8: not divided by the 8 GPUs") != std::string::npos);
}

TEST_CASE("a note says that the token count of a log contradicts the batch", "[comparison]") {
    const convention_comparison model(presets::llama_3_8b);
    tally batch{model.masks()};
    batch.add_lengths(std::vector<std::int64_t>{8192, 8192});
    const auto tokens_of = [&](const char* text, const observed_step& step) {
        std::istringstream lines(text);
        return observed_log_of(lines, batch, step).tokens;
    };
    const char* nanochat = "dt: 2000.00ms | tok/sec: %s | bf16_mfu: 40.00\n";
    const auto line = [&](const char* rate) {
        std::array<char, 100> text{};
        (void)std::snprintf(text.data(), text.size(), nanochat, rate);
        return std::string(text.data());
    };
    const observed_step on_two{.seconds = {}, .gpus = 2, .peak_tflops = 989.0};
    CHECK(!tokens_of(line("8,192").c_str(), on_two));
    CHECK(!tokens_of(line("8,230").c_str(), on_two));  // another clock
    const auto wrong = tokens_of(line("262,144").c_str(), on_two);
    REQUIRE(wrong);
    CHECK(wrong->of_log == Approx(524288.0));
    CHECK(wrong->of_batch == 16384);
    // Rates of one device are of as many GPUs as are given; a count of tokens needs no time.
    const char* maxtext = "seconds: 2.000, TFLOP/s/device: 100.000, Tokens/s/device: 4096.000\n";
    CHECK(!tokens_of(maxtext, on_two));
    CHECK(tokens_of(maxtext, {.seconds = {}, .gpus = 4})->of_log == Approx(32768.0));
    CHECK(tokens_of("perf/mfu/actor:0.3 - timing_s/update_actor:2 - perf/total_num_tokens:8192", on_two)->of_log ==
          8192);
    // Real tokens or slots: both are the batch.
    batch.clear();
    batch.add_padded(std::vector<std::int32_t>{1000, 8192}, 8192);
    CHECK(!tokens_of("perf/mfu/actor:0.3 - timing_s/update_actor:2 - perf/total_num_tokens:9192", on_two));
    CHECK(!tokens_of("perf/mfu/actor:0.3 - timing_s/update_actor:2 - perf/total_num_tokens:16384", on_two));
    CHECK(tokens_of("perf/mfu/actor:0.3 - timing_s/update_actor:2 - perf/total_num_tokens:9000", on_two));
    // A batch of some of the step's sequences is compared by its share.
    const char* megatron =
        "elapsed time per iteration (ms): 2000.0 | throughput per GPU (TFLOP/s/GPU): 400.0 | tokens "
        "per GPU (tokens/s/GPU): 16384.0 | global batch size: 8 |";
    CHECK(!tokens_of(megatron, on_two));
    std::istringstream lines(line("262,144"));
    const std::string table =
        to_table(comparison_of("llama", model, batch, "", observed_log_of(lines, batch, on_two), on_two));
    CAPTURE(table);
    CHECK(
        table.find("524288 tokens a step by its own tokens a second, the batch has 16 384 (32 times as many): pass the "
                   "whole batch of a step") != std::string::npos);
}

TEST_CASE("the MFU in a log line is converted to FLOPs by the peak that the caller passes", "[comparison]") {
    std::istringstream lines("dt: 500.0ms mfu: 40.00");
    const observed_log log = observed_log_of(lines, tally{}, {.seconds = {}, .gpus = 2, .peak_tflops = 1000.0});
    REQUIRE(log.lines.size() == 1);
    // 0.5 s of 2 GPUs at 400 TFLOP/s; half of the last digit of the time is a 10⁴th of it, of the MFU an 8000th.
    CHECK(log.lines[0].least == Approx(400e12 * (1 - 1e-4) * (1 - 1.25e-4)));
    CHECK(log.lines[0].most == Approx(400e12 * (1 + 1e-4) * (1 + 1.25e-4)));
}

TEST_CASE("a logged rate of all GPUs together is divided by the number of GPUs", "[comparison]") {
    std::istringstream lines("elapsed_time 500.0 ms, achieved FLOPS 800.0 TFLOPS");
    const observed_log log = observed_log_of(lines, tally{}, {.seconds = {}, .gpus = 2});
    REQUIRE(log.lines.size() == 1);
    CHECK(log.lines[0].least == Approx(0.49995 * 799.95e12));
    CHECK(log.lines[0].most == Approx(0.50005 * 800.05e12));
    CHECK(log.gpu_seconds == Approx(1.0));
}

TEST_CASE("a trainer's log is an error if no line has a rate, if two trainers wrote it or if a setting is missing",
          "[comparison]") {
    const tally batch{};
    const auto problem_of = [&](const char* text, const observed_step& step) {
        return error_of([&] {
            std::istringstream lines(text);
            (void)observed_log_of(lines, batch, step);
        });
    };
    CHECK(problem_of("loss: 3\nloss: 4\n", {})
              .rfind("log: has no line with a rate among its 2 lines: pass a log of Megatron-LM, ", 0) == 0);
    const char* maxtext = "seconds: 1, TFLOP/s/device: 2\n";
    CHECK(problem_of(maxtext, {}).rfind("gpus: is missing: pass the number of GPUs, since a line of MaxText", 0) == 0);
    CHECK(problem_of("seconds: 1, TFLOP/s/device: 2\ntps: 1 tflops: 2\n", {.seconds = {}, .gpus = 1}) ==
          "log: has lines of MaxText and, in line 2, of torchtitan: pass the log of one trainer");
    CHECK(problem_of("'train_runtime': 1, 'train_samples_per_second': 1, 'total_flos': 1", {})
              .rfind("gpus: is missing: pass the number of GPUs, since a line of Hugging Face Trainer", 0) == 0);
    CHECK(error_of([&] {
              std::istringstream broken(maxtext);
              broken.setstate(std::ios::badbit);
              return observed_log_of(broken, batch, {.seconds = {}, .gpus = 1}).lines.size();
          }) == "log: cannot be read to its end: check its disk, or read a copy");
    CHECK(problem_of("dt: 1ms mfu: 2", {.seconds = {}, .gpus = 1})
              .rfind("peak_tflops: is missing: pass the peak of the trainer's MFU, since a line of nanochat", 0) == 0);
}

}  // namespace observed_work_test
