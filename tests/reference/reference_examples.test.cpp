// SPDX-License-Identifier: Apache-2.0
//
// The examples of docs/reference/ in C++. Each begins with a line `example NAME`. What
// it prints stands behind `output`.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/meter.hpp>
#include <floptally/report.hpp>

#include "catch2.hpp"

namespace reference_examples_test {
namespace {

/// What is written to std::cout while it lives. The process works in the folder of the clone.
class printed {
  public:
    printed() : before_(std::cout.rdbuf(text_.rdbuf())), folder_(std::filesystem::current_path()) {
        std::filesystem::current_path(FLOPTALLY_SOURCE_DIR);
    }
    ~printed() {
        std::cout.rdbuf(before_);
        std::filesystem::current_path(folder_);
    }
    printed(const printed&) = delete;
    printed& operator=(const printed&) = delete;

    /// As a release prints it: between releases a version has its commit.
    [[nodiscard]] std::string text() const {
        std::string text = text_.str();
        if (const std::size_t at = text.find(".dev"); at != std::string::npos) {
            text.erase(at, text.find(')', at) - at);
        }
        return text;
    }

  private:
    std::ostringstream text_;
    std::streambuf* before_;
    std::filesystem::path folder_;
};

/// The output that this file shows behind an example.
std::string shown(const std::string& name) {
    std::ifstream file(FLOPTALLY_SOURCE_DIR "/tests/reference/reference_examples.test.cpp");
    std::string text;
    bool is_inside = false;
    bool is_output = false;
    for (std::string line; std::getline(file, line);) {
        line.erase(0, line.find_first_not_of(' '));
        if (is_output && !line.starts_with("//")) {
            return text;
        }
        if (is_output) {
            text += line.substr(line.size() < 3 ? 2 : 3) + "\n";
        }
        is_inside = is_inside || line == "// example " + name;
        is_output = is_output || (is_inside && line == "// output");
    }
    return text;
}

}  // namespace

using namespace floptally;

// clang-format off: the lines stand as the pages have them.

TEST_CASE("the reference's examples of costs and counts print what the pages show") {
    {
        const printed out;
        // example cost
        const cost model = presets::mistral_7b.cost();
        std::cout << model.parameters() << " parameters\n";
        cost own;  // of your own entries
        own.add("mlp", linear{.in_features = 1024, .out_features = 4096});
        own.add("mlp", linear{.in_features = 4096, .out_features = 1024});
        std::cout << own.parameters() << " parameters\n";
        // output
        // 7241732096 parameters
        // 8388608 parameters
        CHECK(out.text() == shown("cost"));
    }
    {
        const printed out;
        // example flop_counter
        const flop_counter exact(presets::mistral_7b);
        const flop_counter megatron(presets::mistral_7b, conventions::megatron);
        tally step{exact.masks()};
        step.add_cu_seqlens({0, 700, 6000, 8100});
        std::cout << exact.evaluate(step).total() << "\n" << megatron.total_flops(sequence{.length = 8100}) << "\n";
        // output
        // 370374931906560
        // 397162944921600
        CHECK(out.text() == shown("flop_counter"));
    }
    {
        const printed out;
        // example tally
        const flop_counter model(presets::mistral_7b);
        tally step{model.masks()};
        step.add(sequence{.length = 3000}, sequence{.length = 4096});  // 3000 tokens in a slot of 4096
        step.add_lengths({512, 1024});
        std::cout << step.get(view::useful, accumulator::tokens) << " of "
                  << step.get(view::padded, accumulator::tokens) << " tokens\n";
        std::cout << model.evaluate(step).total(view::padded) << " FLOPs of all slots\n";
        // output
        // 4536 of 5632 tokens
        // 254503790051328 FLOPs of all slots
        CHECK(out.text() == shown("tally"));
    }
    {
        const printed out;
        // example breakdown
        const flop_counter model(presets::mistral_7b);
        tally step{model.masks()};
        step.add(sequence{.length = 8192});
        const breakdown work = model.evaluate(step);
        std::cout << work.total() << " useful, " << work.total(view::executed) << " executed\n";
        for (const component_flops& component : work.components()) {
            std::cout << component.name << " " << component.total(view::useful) << "\n";
        }
        // output
        // 389075718635520 useful, 395673325273088 executed
        // attention.qkv 39582418599936
        // attention.core 39585639825408
        // attention.output 26388279066624
        // mlp 277076930199552
        // lm_head 6442450944000
        CHECK(out.text() == shown("breakdown"));
    }
    {
        const printed out;
        // example sequence
        const flop_counter model(presets::mistral_7b, conventions::exact, {.counted = counted_passes::forward});
        std::cout << model.total_flops(sequence{.length = 1024}) << " to read 1024 tokens\n";
        std::cout << model.total_flops(sequence{.length = 1, .past = 1024}) << " for the next token\n";
        // output
        // 14837232959488 to read 1024 tokens
        // 14758182912 for the next token
        CHECK(out.text() == shown("sequence"));
    }
    {
        const printed out;
        // example flops
        const flops one{370'374'931'906'560};
        std::cout << one + one << " " << 1000 * one << " " << (one > 1'000'000) << " " << to_double(one) / 1e12 << "\n";
        // output
        // 740749863813120 370374931906560000 1 370.375
        CHECK(out.text() == shown("flops"));
    }
    {
        const printed out;
        // example view
        const flop_counter model(presets::mistral_7b, conventions::exact, {.recomputed = recompute::full});
        tally step{model.masks()};
        step.add(sequence{.length = 3000}, sequence{.length = 4096});
        const breakdown work = model.evaluate(step);
        for (const view seen : {view::useful, view::padded, view::executed}) {
            std::cout << seen << " " << work.total(seen) << "\n";
        }
        // output
        // useful 135067336704000
        // padded 187942400163840
        // executed 251715685187584
        CHECK(out.text() == shown("view"));
    }
    {
        const printed out;
        // example training_plan
        const training_plan lora{.weights = {{.weights = "*", .state = weight_state::frozen},
                                             {.weights = "attention.*", .state = weight_state::lora, .rank = 16}}};
        tally step{presets::mistral_7b.cost().masks()};
        step.add(sequence{.length = 4096});
        std::cout << evaluate(presets::mistral_7b, step).total() << " for all weights\n";
        std::cout << evaluate(presets::mistral_7b, step, conventions::exact, lora).total() << " for LoRA\n";
        // output
        // 187942400163840 for all weights
        // 129821292101632 for LoRA
        CHECK(out.text() == shown("training_plan"));
    }
    {
        const printed out;
        // example convention
        tally step{presets::mistral_7b.cost().masks()};
        step.add(sequence{.length = 8192});
        for (const convention& tool : {conventions::exact, conventions::megatron, convention_named("palm")}) {
            std::cout << tool.name << " " << evaluate(presets::mistral_7b, step, tool).total() << "\n";
        }
        // output
        // exact 389075718635520
        // megatron 402266636943360
        // palm 461498732249088
        CHECK(out.text() == shown("convention"));
    }
    {
        const printed out;
        // example evaluate
        tally step{presets::mistral_7b.cost().masks()};
        step.add_cu_seqlens({0, 700, 6000, 8100});
        std::cout << evaluate(presets::mistral_7b, step).total() << "\n";
        // output
        // 370374931906560
        CHECK(out.text() == shown("evaluate"));
    }
    {
        const printed out;
        // example presets
        static_assert(presets::llama_3_8b.cost().parameters() == 8'030'261'248);
        transformer wide = presets::llama_3_8b;
        wide.hidden_size = 8192;
        std::cout << wide.cost().parameters() << "\n";
        // output
        // 16060256256
        CHECK(out.text() == shown("presets"));
    }
}

TEST_CASE("the reference's examples of rates, configs and errors print what the pages show") {
    {
        const printed out;
        // example meter
        meter steps(presets::mistral_7b, {.recomputed = recompute::full}, accelerator_named("H100 SXM"));
        for (const double seconds : {1.3, 1.1}) {
            steps.begin_step();
            steps.microbatch().add_cu_seqlens({0, 700, 6000, 8100});
            steps.end_step(seconds);  // without an argument the clock measures the step
        }
        std::cout << rates(steps.last_step()).mfu << " " << rates(steps.run().totals).mfu << "\n";
        // output
        // 0.340449 0.312079
        CHECK(out.text() == shown("meter"));
    }
    {
        const printed out;
        // example utilize
        const flop_counter model(presets::mistral_7b);
        tally step{model.masks()};
        step.add_cu_seqlens({0, 700, 6000, 8100});
        std::cout << utilize(model.evaluate(step), step, {.seconds = 0.9, .gpus = 1, .peak_tflops = 989}) << "\n";
        // output
        // MFU 41.61 %, padded MFU 41.61 %, HFU 42.08 %, 411.5 TFLOP/s per GPU, 9000 tokens/s
        CHECK(out.text() == shown("utilize"));
    }
    {
        const printed out;
        // example measurement
        const double fp8_peak = accelerator_named("H100 SXM").peak_tflops(precision::fp8);
        const measurement step{.seconds = 2.9, .gpus = 8, .peak_tflops = fp8_peak};
        std::cout << step.peak_tflops << " TFLOP/s is the peak of each of " << step.gpus << " GPUs\n";
        // output
        // 1978.9 TFLOP/s is the peak of each of 8 GPUs
        CHECK(out.text() == shown("measurement"));
    }
    {
        const printed out;
        // example utilization
        const flop_counter model(presets::mistral_7b);
        tally step{model.masks()};
        step.add(sequence{.length = 8192});
        const measurement wrong{.seconds = 0.0009, .gpus = 1, .peak_tflops = 989};  // 0.9 s, but in thousands
        const utilization rates = utilize(model.evaluate(step), step, wrong);
        std::cout << rates.mfu << ": " << rates.doubt << "\n";
        // output
        // 437.115: more FLOPs than the peak allows: seconds, gpus or the peak cannot all be right
        CHECK(out.text() == shown("utilization"));
    }
    {
        const printed out;
        // example load_config
        const model_config model = load_config("examples/data/mistral-7b-v0.1.json");
        const flop_counter counter(model);
        std::cout << model.model_type << " " << counter.total_flops(sequence{.length = 8192}) << "\n";
        // output
        // mistral 389075718635520
        CHECK(out.text() == shown("load_config"));
    }
    {
        const printed out;
        // example accelerator_named
        const accelerator& gpu = accelerator_named("NVIDIA H100 80GB HBM3");  // as the driver calls it
        std::cout << gpu.name << " " << gpu.peak_tflops(precision::bf16) << " TFLOP/s\n";
        // output
        // H100 SXM 989 TFLOP/s
        CHECK(out.text() == shown("accelerator_named"));
    }
    {
        const printed out;
        // example report_of
        const model_config model = load_config("examples/data/mistral-7b-v0.1.json");
        const flop_counter counter(model);
        tally step{counter.masks()};
        step.add_cu_seqlens({0, 700, 6000, 8100});
        std::cout << to_table(report_of(model, counter, {}, step, counter.masks()));
        // output
        // mistral: forward and backward, recompute none
        // convention exact: every matmul of the step, attention over the attended pairs
        //
        //   parameters                       7 241 732 096
        //   sequences                                    3
        //   tokens                                   8 100
        //   pairs, sliding_window(4096)         15 773 640
        //
        //   component                               useful      share            padded          executed
        //   attention.qkv                      39.14 TFLOP    10.57 %       39.14 TFLOP       39.14 TFLOP
        //   attention.core                     24.81 TFLOP     6.70 %       24.81 TFLOP       28.94 TFLOP
        //   attention.output                   26.09 TFLOP     7.04 %       26.09 TFLOP       26.09 TFLOP
        //   mlp                               273.97 TFLOP    73.97 %      273.97 TFLOP      273.97 TFLOP
        //   lm_head                             6.37 TFLOP     1.72 %        6.37 TFLOP        6.37 TFLOP
        //   total                             370.37 TFLOP   100.00 %      370.37 TFLOP      374.51 TFLOP
        //
        //   phase                                   useful      share            padded          executed
        //   forward                           123.46 TFLOP    33.33 %      123.46 TFLOP      123.46 TFLOP
        //   backward                          246.92 TFLOP    66.67 %      246.92 TFLOP      251.05 TFLOP
        //   recompute                               0 FLOP     0.00 %            0 FLOP            0 FLOP
        //
        // useful total, exact: 370374931906560 FLOP (floptally 0.3.1)
        CHECK(out.text() == shown("report_of"));
    }
    {
        const printed out;
        // example error
        try {
            tally{}.add_cu_seqlens({0, 700, 600});
        } catch (const error& problem) {
            std::cout << problem.field() << " is wrong\n" << problem.what() << "\n";
        }
        // output
        // cu_seqlens[2] is wrong
        // cu_seqlens[2]: must be at least the boundary before it, 700, got 600
        CHECK(out.text() == shown("error"));
    }
}

}  // namespace reference_examples_test
