// SPDX-License-Identifier: Apache-2.0
//
// Fits the efficiency of a search's clock to published steps whose layouts are known, and compares the order of
// predicted and measured times. Each model is left out of the fit in turn.
//
//     rank_layouts             the fit, and the rank correlation within each model and system
//     rank_layouts --places    the place of each published layout in a search, too; this takes minutes

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <floptally/json.hpp>
#include <floptally/search.hpp>

#include "golden/published_layouts.hpp"

namespace {

using nlohmann::json;
using namespace floptally;

json golden(const char* name) {
    std::ifstream file(std::string(FLOPTALLY_GOLDEN_DIR) + "/" + name);
    return json::parse(file);
}

/// A published step and its prediction.
struct measured_step {
    const json* row = nullptr;
    std::string accelerator;
    precision of = precision::bf16;
    bool has_experts = false;
    double seconds = 0;     ///< as measured
    double efficiency = 0;  ///< with which the clock meets `seconds`; 0: none up to 1 does
    training_layout layout;
    layout_predictor predictor;

    [[nodiscard]] std::string model() const { return row->at("model"); }
    [[nodiscard]] double predicted(double with) {
        predictor.set_efficiency(with);
        return predictor.predict(layout).seconds;
    }
};

std::optional<measured_step> step_of(const json& row, const json& published, const json& models) {
    const model_config model = published_layouts::model_of(row, published, models);
    const std::string name = row.at("accelerator");
    const std::string accelerator = name == "H100" ? "H100 SXM" : name;
    const std::string written = row.at("precision");
    const std::string precision_name = written == "bf16" ? "bf16" : written == "nvfp4" ? "fp4" : "fp8";
    training_cluster cluster = cluster_named(accelerator, precision_name, row.at("gpus"));
    const json memory = golden("published_layouts.json").at("memory_mib");
    cluster.memory_gib = memory.at(name).get<double>() / 1024;
    const memory_options options = published_layouts::options_of(row);
    const std::uint64_t batch = row.at("global_batch");
    const std::uint64_t length = row.at("sequence_length");
    const training_layout layout{
        .sizes = published_layouts::sizes_of(row),
        .microbatch = row.at("micro_batch"),
        .microbatches = options.microbatches,
        .sharded = options.sharded,
        .schedule = row.at("vpp").get<int>() > 1 ? pipeline_schedule::interleaved : pipeline_schedule::one_f_one_b,
        .sequence_parallel = options.ranks.tensor.sequence_parallel};
    // Of several releases the fastest.
    double tokens = 0;
    for (const json& value : row.at("tokens_per_second_per_gpu")) {
        tokens = std::max(tokens, value.is_array() ? value.at(1).get<double>() : value.get<double>());
    }
    measured_step step{
        .row = &row,
        .accelerator = accelerator,
        .of = precision_named(precision_name),
        .has_experts = holds_experts(model.parts),
        .seconds = static_cast<double>(batch * length) / tokens / row.at("gpus").get<double>(),
        .layout = layout,
        .predictor = layout_predictor(model.parts, model.cost.masks(), std::vector<std::uint64_t>(batch, length),
                                      published_layouts::plan_of(row), options, cluster)};
    if (step.predicted(1) < step.seconds) {
        double low = 0.01;
        double high = 1;
        for (int i = 0; i < 40; ++i) {
            const double middle = (low + high) / 2;
            (step.predicted(middle) > step.seconds ? low : high) = middle;
        }
        step.efficiency = low;
    }
    return step;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.empty() ? 0 : values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

using kind = std::tuple<bool, precision, std::string>;

/// The efficiency for a step, from the steps that `uses` takes: those with as much in common as there are.
template <class Uses>
double efficiency_for(const measured_step& asked, std::vector<measured_step>& steps, Uses uses) {
    int most = -1;
    std::vector<double> nearest;
    for (const measured_step& step : steps) {
        if (step.efficiency == 0 || !uses(step)) {
            continue;
        }
        const int common = (step.has_experts == asked.has_experts ? 4 : 0) + (step.of == asked.of ? 2 : 0) +
                           (step.accelerator == asked.accelerator ? 1 : 0);
        if (common > most) {
            most = common;
            nearest.clear();
        }
        if (common == most) {
            nearest.push_back(step.efficiency);
        }
    }
    return median(nearest);
}

std::vector<double> ranks_of(const std::vector<double>& values) {
    std::vector<double> ranks;
    for (const double value : values) {
        double below = 0;
        double equal = 0;
        for (const double other : values) {
            below += other < value ? 1 : 0;
            equal += other == value ? 1 : 0;
        }
        ranks.push_back(below + (equal - 1) / 2);
    }
    return ranks;
}

/// Spearman's rank correlation.
double correlation(const std::vector<double>& a, const std::vector<double>& b) {
    const std::vector<double> x = ranks_of(a);
    const std::vector<double> y = ranks_of(b);
    const double mean = static_cast<double>(a.size() - 1) / 2;
    double xy = 0;
    double xx = 0;
    double yy = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        xy += (x[i] - mean) * (y[i] - mean);
        xx += (x[i] - mean) * (x[i] - mean);
        yy += (y[i] - mean) * (y[i] - mean);
    }
    return xx == 0 || yy == 0 ? 1 : xy / std::sqrt(xx * yy);
}

void print_fit(const std::vector<measured_step>& steps) {
    std::map<kind, std::vector<double>> fitted;
    std::size_t never = 0;
    for (const measured_step& step : steps) {
        never += step.efficiency == 0 ? 1 : 0;
        if (step.efficiency > 0) {
            fitted[{step.has_experts, step.of, step.accelerator}].push_back(step.efficiency);
        }
    }
    std::printf("efficiency with which the clock meets %zu published layouts (%zu are faster than its bound)\n",
                steps.size() - never, never);
    for (auto& [which, values] : fitted) {
        const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
        std::printf("    {\"%s\", precision::%s, %s, %.3f, %zu},  // %.3f to %.3f\n", std::get<2>(which).c_str(),
                    std::string(name(std::get<1>(which))).c_str(), std::get<0>(which) ? "true" : "false",
                    median(values), values.size(), *lowest, *highest);
    }
}

void print_order(std::vector<measured_step>& steps) {
    std::map<std::pair<std::string, std::string>, std::vector<measured_step*>> groups;
    for (measured_step& step : steps) {
        groups[{step.model(), step.accelerator}].push_back(&step);
    }
    std::printf("\n%-20s %-10s %5s %12s %22s\n", "model left out", "system", "runs", "correlation",
                "predicted / measured");
    std::vector<double> all;
    std::vector<double> ratios;
    for (auto& [group, members] : groups) {
        std::vector<double> predicted;
        std::vector<double> measured;
        std::vector<double> own;
        for (measured_step* const step : members) {
            const double with = efficiency_for(
                *step, steps, [&](const measured_step& other) { return other.model() != step->model(); });
            const double tokens = step->row->at("global_batch").get<double>() *
                                  step->row->at("sequence_length").get<double>() / step->row->at("gpus").get<double>();
            const double seconds = step->predicted(with);
            predicted.push_back(seconds / tokens);
            measured.push_back(step->seconds / tokens);
            own.push_back(seconds / step->seconds);
        }
        ratios.insert(ratios.end(), own.begin(), own.end());
        const auto [lowest, highest] = std::minmax_element(own.begin(), own.end());
        if (members.size() >= 3) {
            all.push_back(correlation(predicted, measured));
            std::printf("%-20s %-10s %5zu %12.2f %8.2f (%.2f to %.2f)\n", group.first.c_str(), group.second.c_str(),
                        members.size(), all.back(), median(own), *lowest, *highest);
        } else {
            std::printf("%-20s %-10s %5zu %12s %8.2f (%.2f to %.2f)\n", group.first.c_str(), group.second.c_str(),
                        members.size(), "-", median(own), *lowest, *highest);
        }
    }
    double within = 0;
    for (const double ratio : ratios) {
        within += std::fabs(std::log(ratio)) < std::log(1.25) ? 1 : 0;
    }
    std::printf("median correlation %.2f of %zu groups of three and more; %.0f of %zu predictions within 25 %%\n",
                median(all), all.size(), within, ratios.size());
}

/// Prints the place of each published layout among all layouts with its recipe's settings.
void print_places(std::vector<measured_step>& steps) {
    std::printf("\n%-56s %7s %7s %8s %8s\n", "recipe", "layouts", "sooner", "behind %", "fits");
    std::size_t good = 0;
    std::size_t counted = 0;
    std::size_t first_slower = 0;
    for (measured_step& step : steps) {
        step.predictor.set_efficiency(
            efficiency_for(step, steps, [&](const measured_step& other) { return other.model() != step.model(); }));
        const layout_prediction own = step.predictor.predict(step.layout);
        const std::uint64_t microbatch = step.layout.microbatch;
        const layout_search search =
            search_layouts(step.predictor, {.sharded = step.layout.sharded,
                                            .recomputed = step.layout.recomputed,
                                            .largest_microbatch = std::max<std::uint64_t>(microbatch, 4)});
        std::size_t sooner = 0;
        for (const layout_prediction& found : search.found) {
            sooner += found.seconds < own.seconds ? 1 : 0;
        }
        const double best = search.found.empty() ? own.seconds : search.found.front().seconds;
        const double behind = 100 * (own.seconds / best - 1);
        ++counted;
        good += sooner < 10 || behind <= 10 ? 1 : 0;
        first_slower += best > own.seconds * 1.00001 && own.memory.fits ? 1 : 0;
        std::printf("%-56s %7zu %7zu %8.1f %8s  %s\n", step.row->at("recipe").get<std::string>().c_str(),
                    search.found.size(), sooner, behind, own.memory.fits ? "yes" : "no",
                    search.found.empty() ? "" : to_string(search.found.front().layout).c_str());
        std::fflush(stdout);
    }
    std::printf(
        "%zu of %zu published layouts are in the first ten or within 10 %%; the first is slower than the "
        "published one %zu times\n",
        good, counted, first_slower);
}

}  // namespace

int main(int argc, char** argv) {
    const json layouts = golden("published_layouts.json");
    const json published = golden("published.json");
    const json models = golden("models.json");
    std::vector<measured_step> steps;
    for (const json& row : layouts.at("layouts")) {
        if (!row.contains("config")) {
            continue;
        }
        try {
            if (auto step = step_of(row, published, models)) {
                steps.push_back(std::move(*step));
            }
        } catch (const error& problem) {
            std::printf("%s: %s\n", row.at("recipe").get<std::string>().c_str(), problem.what());
        }
    }
    print_fit(steps);
    print_order(steps);
    if (argc > 1 && std::string(argv[1]) == "--places") {
        print_places(steps);
    }
    return 0;
}
