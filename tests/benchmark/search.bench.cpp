// SPDX-License-Identifier: Apache-2.0
//
// A search of layouts: of Llama 3.1 70B on 512 GPUs, and the memory of one layout.

#include <benchmark/benchmark.h>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/json.hpp>
#include <floptally/memory.hpp>
#include <floptally/search.hpp>

namespace {

floptally::model_config model_named(const char* name) {
    std::ifstream file(std::string(FLOPTALLY_GOLDEN_DIR) + "/published.json");
    for (const nlohmann::json& model : nlohmann::json::parse(file)) {
        if (model["name"] == name) {
            return floptally::read_config(model["config"]);
        }
    }
    throw floptally::error("model", std::string("published.json has no ") + name);
}

floptally::layout_predictor predictor_of(const floptally::model_config& model) {
    return {model.parts,
            model.cost.masks(),
            std::vector<std::uint64_t>(1024, 8192),
            {},
            {},
            floptally::cluster_named("H100 SXM", "bf16", 512)};
}

constexpr const char* model_name = "meta-llama/Llama-3.1-70B";

/// A whole search, with everything that its layouts share: the counter is 10 000 layouts.
void search_layouts(benchmark::State& state) {
    const floptally::model_config model = model_named(model_name);
    std::uint64_t tried = 0;
    for (auto _ : state) {
        floptally::layout_predictor predictor = predictor_of(model);
        const floptally::layout_search search = floptally::search_layouts(predictor, {.largest_microbatch = 16});
        benchmark::DoNotOptimize(search.found.data());
        tried = search.tried;
    }
    state.counters["layouts"] = static_cast<double>(tried);
    state.counters["of 10 000"] =
        benchmark::Counter(static_cast<double>(tried) / 10'000,
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(search_layouts)->Unit(benchmark::kMillisecond);

/// The memory of each layout once more: the counter is one layout.
void fit_layout(benchmark::State& state) {
    const floptally::model_config model = model_named(model_name);
    floptally::layout_predictor predictor = predictor_of(model);
    std::vector<floptally::training_layout> layouts;
    for (const floptally::training_layout& layout : floptally::layouts_to_try(predictor)) {
        try {
            static_cast<void>(predictor.fit(layout));
            layouts.push_back(layout);
        } catch (const floptally::error&) {
            continue;
        }
    }
    for (auto _ : state) {
        for (const floptally::training_layout& layout : layouts) {
            benchmark::DoNotOptimize(predictor.fit(layout).held.activations);
        }
    }
    state.counters["of one"] =
        benchmark::Counter(static_cast<double>(layouts.size()),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(fit_layout)->Unit(benchmark::kMillisecond);

/// The report of one layout, with nothing that a search shares: memory and sent bytes of each of its stages.
void fit_report_of_layout(benchmark::State& state) {
    const floptally::model_config model = model_named(model_name);
    floptally::tally microbatch(model.cost.masks());
    microbatch.add_lengths(std::vector<std::uint64_t>{8192});
    floptally::memory_options options{.microbatches = 32};
    options.ranks.tensor.sequence_parallel = true;
    for (auto _ : state) {
        const floptally::fit_report fit =
            floptally::fit_of(model.parts, microbatch, {.dp = 16, .tp = 8, .pp = 4}, {}, options);
        benchmark::DoNotOptimize(fit.stages.data());
    }
}
BENCHMARK(fit_report_of_layout)->Unit(benchmark::kMicrosecond);

}  // namespace
