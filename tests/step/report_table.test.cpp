// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/step/report_table.hpp>

#include "catch2.hpp"

namespace report_table_test {
namespace {

using namespace floptally;

flops power_of_ten(int exponent, std::uint64_t times = 1) {
    uint128 value = times;
    for (int i = 0; i < exponent; ++i) {
        value *= 10;
    }
    return flops{value};
}

std::vector<std::string> lines_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    return lines;
}

/// The lines from the one that starts with `first` to the next empty one, `first` among them.
std::vector<std::string> section(const std::string& table, std::string_view first) {
    std::vector<std::string> found;
    for (const std::string& line : lines_of(table)) {
        if (line.starts_with(first)) {
            found.push_back(line);
        } else if (!found.empty()) {
            if (line.empty()) {
                break;
            }
            found.push_back(line);
        }
    }
    return found;
}

/// The one line that starts with `name` as a whole cell, without its indent; "" where there is none.
std::string row(const std::string& table, const std::string& name) {
    for (const std::string& line : lines_of(table)) {
        if (line.starts_with("  " + name + "  ") || line.starts_with("  " + name + " ")) {
            return line;
        }
    }
    return "";
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The columns of a row: cells stand apart by two spaces or more.
std::vector<std::string> cells(const std::string& line) {
    std::vector<std::string> found;
    std::size_t at = line.find_first_not_of(' ');
    while (at != std::string::npos) {
        const std::size_t end = line.find("  ", at);
        found.push_back(line.substr(at, end == std::string::npos ? end : end - at));
        at = end == std::string::npos ? end : line.find_first_not_of(' ', end);
    }
    return found;
}

report llama_report(const training_plan& plan = {}, const convention& how = conventions::exact) {
    const cost model = presets::llama_3_8b.cost();
    const flop_counter folded(model, how, plan);
    tally batch{folded.masks()};
    batch.add(sequence{.length = 8192});
    return {.model_type = "llama",
            .counted_as = how,
            .plan = plan,
            .masks = model.masks(),
            .batch = batch,
            .work = folded.evaluate(batch)};
}

report padded_report() {
    const cost model = presets::gemma_3_1b.cost();
    const training_plan plan{.recomputed = recompute::full};
    tally batch{model.masks()};
    batch.add(sequence{.length = 1000}, sequence{.length = 1024});
    batch.add(sequence{}, sequence{.length = 8});
    return {.model_type = "gemma3_text",
            .plan = plan,
            .masks = model.masks(),
            .batch = batch,
            .work = evaluate(model, batch, conventions::exact, plan)};
}

report with_mfu(report r) {
    const measurement step{.seconds = 0.25, .gpus = 8, .peak_tflops = 989};
    r.mfu = mfu_report{.utilization = utilize(r.work, r.batch, step),
                       .step = step,
                       .accelerator = "H100 SXM",
                       .precision = "bf16",
                       .peak_source = "NVIDIA H100 Tensor Core GPU Architecture"};
    return r;
}

}  // namespace

// ---- figures ----

TEST_CASE("a rounded figure has two decimals and the largest unit prefix that is not above the figure",
          "[report_table]") {
    CHECK(readable(flops{421'651'971'833'856}) == "421.65 TFLOP");
    CHECK(readable(flops{1'234'567}) == "1.23 MFLOP");
    CHECK(readable(flops{~std::uint64_t{0}}) == "18.45 EFLOP");
}

TEST_CASE("a figure below 1000 is printed as the exact integer", "[report_table]") {
    CHECK(readable(flops{}) == "0 FLOP");
    CHECK(readable(flops{1}) == "1 FLOP");
    CHECK(readable(flops{999}) == "999 FLOP");
    CHECK(readable(flops{1000}) == "1.00 KFLOP");
    CHECK(readable(flops{1001}) == "1.00 KFLOP");
    CHECK(readable(flops{1010}) == "1.01 KFLOP");
}

TEST_CASE("a figure that would round to 1000 is printed with the next unit prefix", "[report_table]") {
    CHECK(readable(flops{999'994}) == "999.99 KFLOP");
    CHECK(readable(flops{999'995}) == "1.00 MFLOP");
    CHECK(readable(flops{999'999}) == "1.00 MFLOP");
    CHECK(readable(flops{1'000'000}) == "1.00 MFLOP");
    constexpr std::string_view prefixes = "KMGTPEZYRQ";
    for (int i = 0; i + 1 < 10; ++i) {
        const auto at = static_cast<std::size_t>(i);
        CAPTURE(i);
        CHECK(readable(power_of_ten(3 * (i + 1))) == std::string("1.00 ") + prefixes[at] + "FLOP");
        CHECK(readable(power_of_ten(3 * i, 999'990)) == std::string("999.99 ") + prefixes[at] + "FLOP");
        CHECK(readable(power_of_ten(3 * i, 999'994)) == std::string("999.99 ") + prefixes[at] + "FLOP");
        CHECK(readable(power_of_ten(3 * i, 999'996)) == std::string("1.00 ") + prefixes[at + 1] + "FLOP");
        CHECK(readable(power_of_ten(3 * i, 500'000)) == std::string("500.00 ") + prefixes[at] + "FLOP");
    }
}

TEST_CASE("MACs are rounded as FLOPs are, and half of an odd number of FLOPs is an error", "[report_table]") {
    CHECK(readable(power_of_ten(12, 2), work_unit::macs) == "1.00 TMAC");
    CHECK(readable(power_of_ten(0, 1998), work_unit::macs) == "999 MAC");
    CHECK(readable(flops{}, work_unit::macs) == "0 MAC");
    CHECK(in_unit(power_of_ten(0, 7), work_unit::flops) == 7);
    CHECK_THROWS_AS(in_unit(power_of_ten(0, 7), work_unit::macs), error);
}

TEST_CASE("a report in MACs halves every count, rate and peak and says FLOP nowhere", "[report_table]") {
    report both = with_mfu(llama_report());
    const std::string in_flops = to_table(both, figures::exact);
    both.unit = work_unit::macs;
    const std::string in_macs = to_table(both, figures::exact);
    CHECK(contains(in_macs, "convention exact, in MACs: a multiplication and an addition each\n"));
    CHECK(contains(in_macs, " MAC (floptally "));
    CHECK_FALSE(contains(in_macs, "FLOP"));
    CHECK(row(in_flops, "MFU") != row(in_macs, "MFU"));  // the words "useful MACs over the peak"
    CHECK(cells(row(in_flops, "MFU"))[1] == cells(row(in_macs, "MFU"))[1]);
    CHECK(contains(row(in_macs, "peak"), "494.5 TMAC/s"));
    CHECK(std::stoull(cells(row(in_flops, "total"))[1]) == 2 * std::stoull(cells(row(in_macs, "total"))[1]));
    const double rate = std::stod(cells(row(in_flops, "TFLOP/s per GPU"))[1]);
    CHECK(std::abs(rate - 2 * std::stod(cells(row(in_macs, "TMAC/s per GPU"))[1])) < 0.02);
}

TEST_CASE("a rounded figure never starts with 1000", "[report_table]") {
    for (int exponent = 0; exponent <= 21; exponent += 3) {
        for (std::uint64_t near = 999'990'000; near <= 1'000'010'000; near += 500) {
            const std::string text = readable(power_of_ten(exponent, near));
            CHECK_FALSE(text.starts_with("1000"));
        }
    }
}

TEST_CASE("a figure above 1000 in units of the largest prefix is printed with more digits", "[report_table]") {
    CHECK(readable(power_of_ten(30)) == "1.00 QFLOP");
    CHECK(readable(power_of_ten(33)) == "1000.00 QFLOP");
    CHECK(readable(flops{~uint128{0}}) == "340282366.92 QFLOP");
}

// ---- the table ----

TEST_CASE("the report aligns its columns of components and phases", "[report_table]") {
    for (const figures style : {figures::readable, figures::exact}) {
        for (const report& r : {llama_report(), with_mfu(padded_report())}) {
            const std::string table = to_table(r, style);
            std::vector<std::string> rows = section(table, "  component");
            const std::vector<std::string> phases = section(table, "  phase");
            REQUIRE(rows.size() == r.work.components().size() + 2);
            REQUIRE(phases.size() == 4);
            rows.insert(rows.end(), phases.begin(), phases.end());
            for (const std::string& line : rows) {
                CAPTURE(line);
                // Five cells, all right aligned but the name: so all rows are equally wide.
                CHECK(cells(line).size() == 5);
                CHECK(line.size() == rows[0].size());
                CHECK(line[2] != ' ');
                CHECK(line.back() != ' ');
            }
        }
    }
}

TEST_CASE("the report aligns its columns of statistics", "[report_table]") {
    for (const report& r : {llama_report(), padded_report()}) {
        const std::vector<std::string> rows = section(to_table(r), "  sequences");
        REQUIRE(rows.size() == 2 + r.masks.size());
        for (const std::string& line : rows) {
            CAPTURE(line);
            CHECK(line.size() >= 48);
            CHECK(line[47] != ' ');
            CHECK((line.size() == 48 || line[48] == ' '));
        }
    }
}

TEST_CASE("the report's columns stay aligned with a long window and a long component name", "[report_table]") {
    // Gemma-style windows of 131072 tokens are 29 characters wide with their label; a component may have 39.
    report r;
    r.model_type = "own";
    cost model;
    model.add("attention.core", attention_core{1, 1, 1}, mask::sliding_window(131072));
    model.add("vision.blocks.attention.query_key_value", linear{.in_features = 8, .out_features = 8});
    r.masks = model.masks();
    r.batch = tally{model.masks()};
    r.batch.add(sequence{.length = 1000});
    r.work = evaluate(model, r.batch);
    const std::string table = to_table(r);
    const std::vector<std::string> statistics = section(table, "  sequences");
    for (const std::string& line : statistics) {
        CHECK(line.size() == statistics[0].size());
    }
    const std::vector<std::string> rows = section(table, "  component");
    for (const std::string& line : rows) {
        CHECK(line.size() == rows[0].size());
    }
}

TEST_CASE("the report shows each statistic with its useful and padded amount", "[report_table]") {
    const std::string plain = to_table(llama_report());
    CHECK(cells(row(plain, "sequences")) == std::vector<std::string>{"sequences", "1"});
    CHECK(cells(row(plain, "tokens")) == std::vector<std::string>{"tokens", "8 192"});
    CHECK(cells(row(plain, "pairs, causal")) == std::vector<std::string>{"pairs, causal", "33 558 528"});
    CHECK_FALSE(contains(section(plain, "  sequences")[0], "padded"));

    // 1000 tokens in a slot of 1024, and a mock sequence of 8.
    const std::string padded = to_table(padded_report());
    CHECK(cells(row(padded, "sequences")) == std::vector<std::string>{"sequences", "1", "2 padded"});
    CHECK(cells(row(padded, "tokens")) == std::vector<std::string>{"tokens", "1 000", "1 032 padded"});
    CHECK(cells(row(padded, "pairs, causal")) ==
          std::vector<std::string>{"pairs, causal", "500 500", "524 836 padded"});
    // 512·513/2 + 488·512, and 512·513/2 + 512·512 + 8·9/2.
    CHECK(cells(row(padded, "pairs, sliding_window(512)")) ==
          std::vector<std::string>{"pairs, sliding_window(512)", "381 184", "393 508 padded"});
}

TEST_CASE("images and audio have their own names in the report", "[report_table]") {
    report r;
    r.masks = mask_set::of_towers();
    r.batch = tally{r.masks};
    r.batch.add(grid{2, 3, 4});
    r.batch.add(audio_clip{7});
    r.batch.add(audio_clip{9});
    const std::string table = to_table(r);
    CHECK(cells(row(table, "vision.frames")) == std::vector<std::string>{"vision.frames", "2"});
    CHECK(cells(row(table, "vision.patches")) == std::vector<std::string>{"vision.patches", "24"});
    CHECK(cells(row(table, "audio.clips")) == std::vector<std::string>{"audio.clips", "2"});
    CHECK(cells(row(table, "audio.frames")) == std::vector<std::string>{"audio.frames", "16"});
}

TEST_CASE("the report shows every component with its percentage and its useful, padded and executed FLOPs",
          "[report_table]") {
    for (const report& r : {llama_report({.recomputed = recompute::full}), padded_report()}) {
        const std::string exact = to_table(r, figures::exact);
        const std::string figure = to_table(r);
        CHECK(cells(row(exact, "component")) ==
              std::vector<std::string>{"component", "useful", "share", "padded", "executed"});
        double shares = 0;
        const auto check_row = [&](const std::string& name, flops useful, flops padded, flops executed) {
            CAPTURE(name);
            const std::vector<std::string> numbers = cells(row(exact, name));
            REQUIRE(numbers.size() == 5);
            CHECK(numbers[0] == name);
            CHECK(numbers[1] == to_string(useful));
            CHECK(numbers[3] == to_string(padded));
            CHECK(numbers[4] == to_string(executed));
            const double share = 100 * to_double(useful) / to_double(r.work.total());
            CHECK(numbers[2].ends_with(" %"));
            CHECK(std::abs(std::stod(numbers[2]) - share) <= 0.005000001);
            CHECK(cells(row(figure, name)) ==
                  std::vector<std::string>{name, readable(useful), numbers[2], readable(padded), readable(executed)});
            return std::stod(numbers[2]);
        };
        for (const component_flops& c : r.work.components()) {
            shares += check_row(std::string(c.name.view()), c.total(view::useful), c.total(view::padded),
                                c.total(view::executed));
        }
        CHECK(std::abs(shares - 100) <= 0.005 * static_cast<double>(r.work.components().size()));
        CHECK(check_row("total", r.work.total(view::useful), r.work.total(view::padded),
                        r.work.total(view::executed)) == 100);

        double phases = 0;
        phases += check_row("forward", r.work.get(view::useful, phase::forward),
                            r.work.get(view::padded, phase::forward), r.work.get(view::executed, phase::forward));
        phases += check_row("backward", r.work.backward(view::useful), r.work.backward(view::padded),
                            r.work.backward(view::executed));
        phases += check_row("recompute", flops{}, flops{}, r.work.get(view::executed, phase::recompute));
        CHECK(std::abs(phases - 100) <= 0.02);
    }
}

TEST_CASE("the report of one Llama step equals an expected full text", "[report_table]") {
    report r = with_mfu(llama_report());
    r.notes = {"head_dim is hidden_size / num_attention_heads", "no window"};
    const std::string expected = std::string(R"table(llama: forward and backward, recompute none
convention exact: every matmul of the step, attention over the attended pairs

  sequences                                    1
  tokens                                   8 192
  pairs, causal                       33 558 528

  component                               useful      share            padded          executed
  attention.qkv                      39.58 TFLOP     9.39 %       39.58 TFLOP       39.58 TFLOP
  attention.core                     52.78 TFLOP    12.52 %       52.78 TFLOP       61.58 TFLOP
  attention.output                   26.39 TFLOP     6.26 %       26.39 TFLOP       26.39 TFLOP
  mlp                               277.08 TFLOP    65.71 %      277.08 TFLOP      277.08 TFLOP
  lm_head                            25.82 TFLOP     6.12 %       25.82 TFLOP       25.82 TFLOP
  total                             421.65 TFLOP   100.00 %      421.65 TFLOP      430.45 TFLOP

  phase                                   useful      share            padded          executed
  forward                           140.55 TFLOP    33.33 %      140.55 TFLOP      140.55 TFLOP
  backward                          281.10 TFLOP    66.67 %      281.10 TFLOP      289.90 TFLOP
  recompute                               0 FLOP     0.00 %            0 FLOP            0 FLOP

  MFU                                    21.32 %  useful FLOPs over the peak
  padded MFU                             21.32 %  every slot that the kernels process
  HFU                                    21.76 %  executed: with recompute and the fused attention backward
  TFLOP/s per GPU                         210.83  useful
  tokens/s                                 32768  real tokens, all GPUs
  step                                    0.25 s  on 8 GPUs
  peak                               989 TFLOP/s  H100 SXM, bf16 dense: NVIDIA H100 Tensor Core GPU Architecture

note: head_dim is hidden_size / num_attention_heads
note: no window

useful total, exact: 421651971833856 FLOP (floptally )table") +
                                 version + ")\n";
    CHECK(to_table(r) == expected);
}

TEST_CASE("a report in exact mode shows integers and no rounded figures", "[report_table]") {
    const std::string exact = to_table(llama_report(), figures::exact);
    CHECK(contains(exact, "421651971833856"));
    CHECK_FALSE(contains(exact, "TFLOP"));
    // Its three columns of FLOPs are eight characters wider.
    CHECK(row(exact, "total").size() == row(to_table(llama_report()), "total").size() + 3 * 8);
    CHECK(contains(to_table(llama_report()), "421.65 TFLOP"));
    // The last line has the exact total in both.
    CHECK(lines_of(exact).back() ==
          std::string("useful total, exact: 421651971833856 FLOP (floptally ") + version + ")");
    CHECK(lines_of(to_table(llama_report())).back() == lines_of(exact).back());
}

TEST_CASE("the report shows MFU, padded MFU and HFU in per cent with the rates and the peak", "[report_table]") {
    const report r = with_mfu(padded_report());
    const std::string table = to_table(r);
    const auto value = [&](const std::string& name) { return cells(row(table, name)).at(1); };
    const auto printed = [](double number) {
        char text[32];
        std::snprintf(text, sizeof text, "%.2f", number);
        return std::string(text);
    };
    CHECK(value("MFU") == printed(100 * r.mfu->utilization.mfu) + " %");
    CHECK(value("padded MFU") == printed(100 * r.mfu->utilization.padded_mfu) + " %");
    CHECK(value("HFU") == printed(100 * r.mfu->utilization.hfu) + " %");
    CHECK(value("TFLOP/s per GPU") == printed(r.mfu->utilization.tflops_per_gpu));
    CHECK(value("tokens/s") == "4000");
    CHECK(cells(row(table, "step")) == std::vector<std::string>{"step", "0.25 s", "on 8 GPUs"});
    CHECK(cells(row(table, "peak")) ==
          std::vector<std::string>{"peak", "989 TFLOP/s",
                                   "H100 SXM, bf16 dense: NVIDIA H100 Tensor Core GPU Architecture"});
    // Values stand in line.
    const std::vector<std::string> rows = section(table, "  MFU");
    REQUIRE(rows.size() == 7);
    for (const std::string& line : rows) {
        CAPTURE(line);
        CHECK(line[47] != ' ');
        CHECK(line.substr(48, 2) == "  ");
        CHECK(line[50] != ' ');
    }
    CHECK_FALSE(contains(to_table(padded_report()), "MFU"));
}

TEST_CASE("the report starts with parameters, including active and trained ones if they differ", "[report_table]") {
    const auto rows = [](const weight_counts& parameters) {
        report r = llama_report();
        r.parameters = parameters;
        const std::vector<std::string> lines = lines_of(to_table(r));
        std::string text;
        for (std::size_t i = 3; !lines.at(i).starts_with("  sequences"); ++i) {
            const std::vector<std::string> names = cells(lines[i]);
            REQUIRE(names.size() == 2);
            text += names[0] + ": " + names[1] + "; ";
        }
        return text;
    };
    CHECK(rows({}).empty());
    CHECK(rows({.total = 8'000}) == "parameters: 8 000; ");
    CHECK(rows({.total = 8'000, .active = 8'000}) == "parameters: 8 000; ");
    CHECK(rows({.total = 8'000, .active = 3'000, .trainable = 70}) ==
          "parameters: 8 000; parameters, active: 3 000; parameters, trainable: 70; ");
}

TEST_CASE("the report splits padding by cause", "[report_table]") {
    report r = padded_report();
    r.padding = padding_flops{};
    CHECK(section(to_table(r), "  padded").empty());
    r.padding =
        padding_flops{.useful = flops{500}, .in_slots = flops{300}, .mock = flops{150}, .vocabulary = flops{50}};
    const std::vector<std::string> rows = section(to_table(r), "  padded");
    REQUIRE(rows.size() == 5);
    CHECK(cells(rows[0]) == std::vector<std::string>{"padded", "spent on", "share"});
    CHECK(cells(rows[1]) == std::vector<std::string>{"real tokens", "500 FLOP", "50.00 %"});
    CHECK(cells(rows[2]) == std::vector<std::string>{"padding of their slots", "300 FLOP", "30.00 %"});
    CHECK(cells(rows[3]) == std::vector<std::string>{"mock sequences", "150 FLOP", "15.00 %"});
    CHECK(cells(rows[4]) == std::vector<std::string>{"padded vocabulary", "50 FLOP", "5.00 %"});
}

TEST_CASE("a report notes a peak that has no vendor document, with the source of the peak", "[report_table]") {
    report r = with_mfu(llama_report());
    CHECK(notes_of(r).empty());
    r.mfu->peak_quality = source_quality::third_party;
    r.mfu->peak_source = "somewhere";
    REQUIRE(notes_of(r).size() == 1);
    CHECK(notes_of(r)[0].starts_with("the peak is "));
    CHECK(notes_of(r)[0].ends_with(": somewhere"));
}

TEST_CASE("an implausibly high rate is printed in scientific notation with four digits", "[report_table]") {
    report r = with_mfu(llama_report());
    const auto rates = [&](double tflops, double tokens) {
        r.mfu->utilization.tflops_per_gpu = tflops;
        r.mfu->utilization.tokens_per_second = tokens;
        const std::string table = to_table(r);
        return cells(row(table, "TFLOP/s per GPU")).at(1) + " " + cells(row(table, "tokens/s")).at(1);
    };
    CHECK(rates(999'999'999, 999'999'999'999'999) == "999999999.00 999999999999999");
    CHECK(rates(1e9, 1e15) == "1.000e+09 1.000e+15");
}

TEST_CASE("a report with a peak passed by the user names no accelerator", "[report_table]") {
    report r = with_mfu(llama_report());
    r.mfu->accelerator.clear();
    r.mfu->peak_source = "given by the user";
    CHECK(cells(row(to_table(r), "peak")).at(2) == "bf16 dense: given by the user");
    r.mfu->peak_kind = peak_kind::boost;
    CHECK(cells(row(to_table(r), "peak")).at(2) == "bf16 dense, boost: given by the user");
}

TEST_CASE("the head of a report names the model, the counted phase and the convention", "[report_table]") {
    const auto head = [](const report& r) {
        const std::vector<std::string> lines = lines_of(to_table(r));
        return lines.at(0) + "\n" + lines.at(1);
    };
    CHECK(head(llama_report()) ==
          "llama: forward and backward, recompute none\n"
          "convention exact: every matmul of the step, attention over the attended pairs");
    CHECK(
        head(llama_report({.counted = counted_passes::forward})).starts_with("llama: forward only, recompute none\n"));
    CHECK(head(llama_report({.counted = counted_passes::backward, .recomputed = recompute::full}))
              .starts_with("llama: backward only, recompute full\n"));
    CHECK(head(llama_report({.recomputed = recompute::attention}))
              .starts_with("llama: forward and backward, recompute attention\n"));
    report trains_indexer = llama_report();
    trains_indexer.plan.indexer = indexer_training::sparse_loss;
    CHECK(head(trains_indexer).starts_with("llama: forward and backward, recompute none, indexer sparse_loss\n"));
    for (const convention* how : conventions::all) {
        CHECK(head(llama_report({}, *how))
                  .ends_with("\nconvention " + std::string(how->name) + ": " + std::string(how->summary)));
    }
}

TEST_CASE("a report lists its notes one by one", "[report_table]") {
    report r = llama_report();
    CHECK_FALSE(contains(to_table(r), "note: "));
    r.notes = {"the first", "the second"};
    CHECK(contains(to_table(r), "\nnote: the first\nnote: the second\n"));
}

TEST_CASE("a report of zero FLOPs divides nothing by zero", "[report_table]") {
    report r;
    r.model_type = "nothing";
    CHECK(cells(row(to_table(r), "total")) == std::vector<std::string>{"total", "0 FLOP", "-", "0 FLOP", "0 FLOP"});
    const cost model = presets::gpt2.cost();
    r.work = evaluate(model, tally{});
    CHECK(cells(row(to_table(r), "mlp")) == std::vector<std::string>{"mlp", "0 FLOP", "-", "0 FLOP", "0 FLOP"});
}

TEST_CASE("a report above 2^64 FLOPs keeps its columns aligned", "[report_table]") {
    report r;
    r.model_type = "llama";
    const cost model = presets::llama_3_1_405b.cost();
    r.masks = model.masks();
    r.batch = tally{model.masks()};
    r.batch.add_lengths(std::vector<std::uint32_t>(2048, 8192));
    r.work = evaluate(model, r.batch);
    for (const figures style : {figures::readable, figures::exact}) {
        const std::vector<std::string> rows = section(to_table(r, style), "  component");
        for (const std::string& line : rows) {
            CHECK(line.size() == rows[0].size());
            CHECK(cells(line).size() == 5);
        }
    }
    CHECK(cells(row(to_table(r, figures::exact), "total"))[1] == "42345162566560382976");
    CHECK(cells(row(to_table(r), "total"))[1] == "42.35 EFLOP");
}

TEST_CASE("a report notes executed FLOPs above the peak", "[report_table]") {
    report r = with_mfu(llama_report());
    const auto has_note = [&] { return to_table(r).find("more FLOPs than the peak allows") != std::string::npos; };
    r.mfu->utilization.hfu = 1;
    CHECK_FALSE(has_note());
    r.mfu->utilization.hfu = 1.0001;
    CHECK(has_note());
}

TEST_CASE("the last note of a report says that the count is an upper bound", "[report_table]") {
    report r = llama_report();
    const auto has_note = [](const report& shown) {
        return to_table(shown).find(
                   "note: an upper bound: the plan trains parts of the model, and a part does not say") !=
               std::string::npos;
    };
    CHECK_FALSE(has_note(r));
    CHECK(notes_of(r) == r.notes);
    r.notes = {"another"};
    r.work.mark_upper_bound();
    CHECK(has_note(r));
    REQUIRE(notes_of(r).size() == 2);
    CHECK(notes_of(r)[0] == "another");
}

}  // namespace report_table_test
