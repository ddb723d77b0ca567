// SPDX-License-Identifier: Apache-2.0
//
// Reading a config: what a run pays once. The published ones, each from its text, so that JSON is parsed too; pages are
// parsed at every reading.

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/json.hpp>

namespace {

std::vector<std::string> published_configs() {
    std::ifstream file(std::string(FLOPTALLY_GOLDEN_DIR) + "/published.json");
    std::vector<std::string> texts;
    for (const nlohmann::json& model : nlohmann::json::parse(file)) {
        texts.push_back(model["config"].dump());
    }
    return texts;
}

void read(const std::string& text) {
    std::istringstream stream(text);
    const floptally::model_config model = floptally::read_config(stream);
    benchmark::DoNotOptimize(&model);
}

/// All of them, again and again: the counter is the mean of one.
void read_published_configs(benchmark::State& state) {
    const std::vector<std::string> texts = published_configs();
    for (auto _ : state) {
        for (const std::string& text : texts) {
            read(text);
        }
    }
    const auto configs = static_cast<double>(texts.size());
    state.counters["configs"] = configs;
    state.counters["of one"] =
        benchmark::Counter(configs, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(read_published_configs)->Unit(benchmark::kMillisecond);

/// Every one by itself, the least of five: the counter is the slowest.
void read_slowest_config(benchmark::State& state) {
    const std::vector<std::string> texts = published_configs();
    double slowest = 0;
    for (auto _ : state) {
        slowest = 0;
        for (const std::string& text : texts) {
            double least = 1;
            for (int k = 0; k < 5; ++k) {
                const auto start = std::chrono::steady_clock::now();
                read(text);
                least =
                    std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
            }
            slowest = std::max(slowest, least);
        }
    }
    state.counters["slowest"] = slowest;
}
BENCHMARK(read_slowest_config)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
