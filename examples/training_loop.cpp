// SPDX-License-Identifier: Apache-2.0
// A real training loop on the CPU. A small Llama learns to write this project's documentation, byte by byte, from
// packed paragraphs. The lines that floptally adds to a loop are in `main`. The model (training_loop/) counts the FLOPs
// of its own matmuls, and every step compares them with floptally's count.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cxxopts.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>
#include <floptally/waterfall.hpp>

#include "training_loop/batches.hpp"
#include "training_loop/matmul.hpp"
#include "training_loop/model.hpp"

#ifndef FLOPTALLY_SOURCE_DIR
#define FLOPTALLY_SOURCE_DIR "."
#endif

namespace {

using floptally::phase;
using floptally::view;
using training::pass;

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The best rate of the loop's own matmul on matrices that fit the cache, in 10¹² FLOP/s.
double measured_peak_tflops() {
    training::tensor a(128, 128);
    training::tensor b(128, 128);
    training::tensor c(128, 128);
    std::fill(a.values.begin(), a.values.end(), 0.5F);
    std::fill(b.values.begin(), b.values.end(), 0.25F);
    double best = 0;
    const auto start = std::chrono::steady_clock::now();
    while (seconds_since(start) < 0.3) {
        std::uint64_t ran = 0;
        const auto began = std::chrono::steady_clock::now();
        training::matmul(a.view(), b.view(), c.view(), ran);
        best = std::max(best, static_cast<double>(ran) / 1e12 / seconds_since(began));
    }
    return best;
}

/// The model as floptally counts it.
floptally::cost cost_of(const training::model_shape& shape) {
    const floptally::transformer<floptally::gqa, floptally::gated_mlp> llama{
        .hidden_size = shape.hidden_size,
        .num_layers = shape.num_layers,
        .attention = {.num_heads = shape.heads.query,
                      .num_kv_heads = shape.heads.key_value,
                      .head_dim = shape.heads.dim},
        .feed_forward = {.intermediate_size = shape.intermediate_size},
        .vocab = {.size = shape.vocab_size}};
    return llama.cost();
}

/// True if the matmuls ran the counted FLOPs, pass by pass: the useful view over real tokens, the padded one over every
/// slot, the executed one with recomputation. Prints each difference.
bool agree(const floptally::breakdown& counted, const training::flops_ran& ran) {
    bool same = true;
    const auto compare = [&same](const char* what, floptally::flops expected, std::uint64_t measured) {
        if (expected != floptally::flops{measured}) {
            std::fprintf(stderr, "%s: counted %s FLOP, the matmuls ran %llu\n", what,
                         floptally::to_string(expected).c_str(), static_cast<unsigned long long>(measured));
            same = false;
        }
    };
    const auto real = [&ran](pass during) { return ran.real[static_cast<std::size_t>(during)]; };
    compare("useful forward", counted.get(view::useful, phase::forward), real(pass::forward));
    compare("useful backward to data", counted.get(view::useful, phase::backward_data), real(pass::backward_data));
    compare("useful backward to weights", counted.get(view::useful, phase::backward_weights),
            real(pass::backward_weights));
    compare("padded forward", counted.get(view::padded, phase::forward), ran.all(pass::forward));
    compare("padded backward", counted.backward(view::padded),
            ran.all(pass::backward_data) + ran.all(pass::backward_weights));
    compare("executed backward", counted.backward(view::executed),
            ran.all(pass::backward_data) + ran.all(pass::backward_weights) + ran.all(pass::scores_again));
    compare("recompute", counted.get(view::executed, phase::recompute), ran.all(pass::recompute));
    return same;
}

struct settings {
    std::uint64_t steps = 0;
    std::uint64_t microbatches = 0;
    std::uint64_t log_every = 0;
    std::size_t slots = 0;
    std::size_t longest = 0;
    std::string text{};
    training::model_shape shape{};
};

settings parse(int argc, char** argv) {
    cxxopts::Options options("training_loop", "Trains a small Llama on the CPU and says its loss and MFU.");
    options.add_options()("steps", "optimizer steps", cxxopts::value<std::uint64_t>()->default_value("40"))(
        "microbatches", "packed sequences a step", cxxopts::value<std::uint64_t>()->default_value("2"))(
        "slots", "tokens of a row, mock sequence included", cxxopts::value<std::size_t>()->default_value("512"))(
        "longest", "bytes of a document; longer paragraphs are cut",
        cxxopts::value<std::size_t>()->default_value("256"))("log-every", "steps from line to line",
                                                             cxxopts::value<std::uint64_t>()->default_value("5"))(
        "fused-attention", "keep no probabilities: the backward computes QK^T again")(
        "recompute-layers", "keep the inputs of layers only: the backward runs their forward again")(
        "text", "a file, or a folder of Markdown files",
        cxxopts::value<std::string>()->default_value(FLOPTALLY_SOURCE_DIR "/docs"))("h,help", "this text");
    options.parse_positional("text");
    options.positional_help("[TEXT]");
    const cxxopts::ParseResult parsed = options.parse(argc, argv);
    settings chosen;
    if (parsed.count("help") > 0) {
        std::fputs(options.help().c_str(), stdout);
        return chosen;
    }
    chosen.steps = parsed["steps"].as<std::uint64_t>();
    chosen.microbatches = parsed["microbatches"].as<std::uint64_t>();
    chosen.log_every = parsed["log-every"].as<std::uint64_t>();
    chosen.slots = parsed["slots"].as<std::size_t>();
    chosen.longest = parsed["longest"].as<std::size_t>();
    chosen.text = parsed["text"].as<std::string>();
    chosen.shape.fused_attention = parsed.count("fused-attention") > 0;
    chosen.shape.recompute_layers = parsed.count("recompute-layers") > 0;
    if (chosen.steps == 0 || chosen.microbatches == 0 || chosen.log_every == 0) {
        throw std::runtime_error("--steps, --microbatches and --log-every must be at least 1");
    }
    if (chosen.longest < 2 || chosen.longest - 1 > chosen.slots) {
        throw std::runtime_error("--longest must be from 2 to --slots + 1");
    }
    return chosen;
}

/// 0 if every count agreed with the matmuls, else 1.
int train(const settings& chosen) {
    training::model network(chosen.shape, 1);
    training::packer documents(training::read_paragraphs(chosen.text, chosen.longest), chosen.slots, 2);
    const training::adamw optimizer;
    const std::vector<training::parameter*> parameters = network.parameters();

    // Once: the model, its recomputation, and the peak.
    const floptally::training_plan plan{
        .recomputed = chosen.shape.recompute_layers ? floptally::recompute::full : floptally::recompute::none,
        .flash_attention = chosen.shape.fused_attention};
    const double peak_tflops = measured_peak_tflops();
    floptally::meter meter(cost_of(chosen.shape), floptally::conventions::exact, plan,
                           {.gpus = 1, .peak_tflops = peak_tflops});
    std::printf("peak of one core, measured with the loop's own matmul: %.2f GFLOP/s\n\n", 1000 * peak_tflops);
    std::printf("%5s %8s %9s %8s %11s %8s %8s\n", "step", "loss", "tokens/s", "MFU", "padded MFU", "HFU", "GFLOP/s");

    bool same = true;
    double optimizer_seconds = 0;
    for (std::uint64_t step = 1; step <= chosen.steps; ++step) {
        std::vector<training::packed_batch> rows;
        std::size_t tokens = 0;
        for (std::uint64_t i = 0; i < chosen.microbatches; ++i) {
            rows.push_back(documents.next());
            tokens += rows.back().real_tokens();
        }
        network.forget_flops();
        double loss = 0;

        // Every step: one line for each microbatch.
        meter.begin_step();
        for (const training::packed_batch& row : rows) {
            meter.microbatch().add_cu_seqlens(row.cu_seqlens, row.cu_seqlens, row.num_real_seqs);
            loss += network.forward(row) / static_cast<double>(tokens);
            network.backward(row, 1 / static_cast<float>(tokens));
        }
        const auto before_update = std::chrono::steady_clock::now();
        optimizer.update(parameters, step);
        optimizer_seconds += seconds_since(before_update);
        meter.end_step();

        same = agree(meter.model().evaluate(meter.last_step().batch), network.ran()) && same;
        if (step == 1 || step % chosen.log_every == 0 || step == chosen.steps) {
            const floptally::step_rates rates = floptally::rates(meter.interval().totals);
            std::printf("%5llu %8.4f %9.0f %6.2f %% %9.2f %% %6.2f %% %8.2f\n", static_cast<unsigned long long>(step),
                        loss, rates.tokens_per_second, 100 * rates.mfu, 100 * rates.padded_mfu, 100 * rates.hfu,
                        1000 * rates.tflops);
            meter.reset_interval();
        }
    }
    if (!same) {
        std::fputs("the counted FLOPs are not those that the matmuls ran\n", stderr);
        return 1;
    }
    const floptally::step_series& run = meter.run();
    const floptally::step_rates rates = floptally::rates(run.totals);
    const floptally::breakdown work = meter.model().evaluate(run.totals.batch);
    std::printf("%5s %8s %9.0f %6.2f %% %9.2f %% %6.2f %% %8.2f\n\n", "run", "", rates.tokens_per_second,
                100 * rates.mfu, 100 * rates.padded_mfu, 100 * rates.hfu, 1000 * rates.tflops);
    std::printf("step              %.1f ms median, %.1f ms at most\n", 1000 * run.step_seconds.percentile(50),
                1000 * run.step_seconds.max());
    std::printf("useful forward    %s FLOP\n", floptally::to_string(work.get(view::useful, phase::forward)).c_str());
    std::printf("useful backward   %s FLOP\n", floptally::to_string(work.backward(view::useful)).c_str());
    std::printf("executed          %s FLOP\n", floptally::to_string(work.total(view::executed)).c_str());
    std::printf("counted FLOPs are those that the matmuls ran, in each pass of all %llu steps\n\n",
                static_cast<unsigned long long>(run.totals.steps));

    // The waterfall of the run: one rank, without repeated work and masked tiles. On a noisy machine the loop may
    // exceed the peak that was measured before. Then there is no waterfall.
    try {
        const floptally::waterfall where(
            floptally::with_one_gpu_defaults({.step = {run.totals.seconds, 1, peak_tflops},
                                              .work = {{work, peak_tflops}},
                                              .masked_tiles = std::vector<floptally::work_at_peak>{},
                                              .apart = {{"optimizer", optimizer_seconds}}}));
        std::fputs(floptally::to_table(where).c_str(), stdout);
    } catch (const floptally::error& problem) {
        std::printf("no waterfall: %s\n", problem.what());
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        const settings chosen = parse(argc, argv);
        return chosen.steps == 0 ? 0 : train(chosen);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "training_loop: error: %s\n", problem.what());
        return 2;
    }
}
