// SPDX-License-Identifier: Apache-2.0
//
// Fits the efficiency of a search's clock to published steps whose layouts are known, and compares the order of
// predicted and measured times. Each model is left out of the fit in turn.
//
//     rank_layouts                    the fit, and the rank correlation within each model and system
//     rank_layouts --places           the place of each published layout in a search, too; this takes minutes
//     rank_layouts --write FILE       writes them into the marked blocks of docs/search.md
//     rank_layouts --check FILE       fails if these blocks, or the library's table of efficiencies, say anything else

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
struct published_step {
    const json* row = nullptr;
    std::string accelerator;
    precision of = precision::bf16;
    bool has_experts = false;
    double seconds = 0;     ///< as measured
    double efficiency = 0;  ///< with which the clock meets `seconds`; 0: none up to 1 does
    training_layout layout;
    layout_predictor predictor;  ///< with the recipe's settings
    layout_predictor searched;   ///< the same without the recipe's split of layers, which fits its own pipeline alone

    [[nodiscard]] std::string model() const { return row->at("model"); }
    [[nodiscard]] double predicted(double with) {
        predictor.set_efficiency(with);
        return predictor.predict(layout).seconds;
    }
};

published_step step_of(const json& row, const json& published, const json& models) {
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
    memory_options any_split = options;
    any_split.ranks.pipeline.pipeline_model_parallel_layout.clear();
    const std::vector<std::uint64_t> lengths(batch, length);
    const training_plan plan = published_layouts::plan_of(row);
    published_step step{
        .row = &row,
        .accelerator = accelerator,
        .of = precision_named(precision_name),
        .has_experts = holds_experts(model.parts),
        .seconds = static_cast<double>(batch * length) / tokens / row.at("gpus").get<double>(),
        .layout = layout,
        .predictor = layout_predictor(model.parts, model.cost.masks(), lengths, plan, options, cluster),
        .searched = layout_predictor(model.parts, model.cost.masks(), lengths, plan, any_split, cluster)};
    if (step.predicted(1) < step.seconds) {
        step.efficiency = floptally::fit_efficiency(step.predictor, layout, step.seconds).efficiency;
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
double efficiency_for(const published_step& asked, std::vector<published_step>& steps, Uses uses) {
    int most = -1;
    std::vector<double> nearest;
    for (const published_step& step : steps) {
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

template <class... Values>
void append_text(std::string& text, const char* format, const Values&... values) {
    const int size = std::snprintf(nullptr, 0, format, values...);
    std::string more(static_cast<std::size_t>(size) + 1, '\0');
    std::snprintf(more.data(), more.size(), format, values...);
    text.append(more, 0, static_cast<std::size_t>(size));
}

/// The efficiencies of all steps that have one, by kind.
std::map<kind, std::vector<double>> efficiencies_of(const std::vector<published_step>& steps) {
    std::map<kind, std::vector<double>> fitted;
    for (const published_step& step : steps) {
        if (step.efficiency > 0) {
            fitted[{step.has_experts, step.of, step.accelerator}].push_back(step.efficiency);
        }
    }
    return fitted;
}

std::string text_of_fit(const std::vector<published_step>& steps, const std::map<kind, std::vector<double>>& fitted) {
    std::size_t met = 0;
    for (const auto& [which, values] : fitted) {
        met += values.size();
    }
    std::string text;
    append_text(text, "efficiency with which the clock meets %zu published layouts (%zu are faster than its bound)\n",
                met, steps.size() - met);
    for (const auto& [which, values] : fitted) {
        const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
        append_text(text, "    {\"%s\", precision::%s, %s, %.3f, %zu},  // %.3f to %.3f\n", std::get<2>(which).c_str(),
                    std::string(name(std::get<1>(which))).c_str(), std::get<0>(which) ? "true" : "false",
                    median(values), values.size(), *lowest, *highest);
    }
    return text;
}

std::string text_of_order(std::vector<published_step>& steps) {
    std::string text;
    std::map<std::pair<std::string, std::string>, std::vector<published_step*>> groups;
    for (published_step& step : steps) {
        groups[{step.model(), step.accelerator}].push_back(&step);
    }
    append_text(text, "%-20s %-10s %5s %12s %22s\n", "model left out", "system", "runs", "correlation",
                "predicted / measured");
    std::vector<double> all;
    std::vector<double> ratios;
    for (auto& [group, members] : groups) {
        std::vector<double> predicted;
        std::vector<double> measured;
        std::vector<double> own;
        for (published_step* const step : members) {
            const double with = efficiency_for(
                *step, steps, [&](const published_step& other) { return other.model() != step->model(); });
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
            append_text(text, "%-20s %-10s %5zu %12.2f %8.2f (%.2f to %.2f)\n", group.first.c_str(),
                        group.second.c_str(), members.size(), all.back(), median(own), *lowest, *highest);
        } else {
            append_text(text, "%-20s %-10s %5zu %12s %8.2f (%.2f to %.2f)\n", group.first.c_str(), group.second.c_str(),
                        members.size(), "-", median(own), *lowest, *highest);
        }
    }
    double within = 0;
    for (const double ratio : ratios) {
        within += std::fabs(std::log(ratio)) < std::log(1.25) ? 1 : 0;
    }
    append_text(text, "median correlation %.2f of %zu groups of three and more; %.0f of %zu predictions within 25 %%\n",
                median(all), all.size(), within, ratios.size());
    return text;
}

/// What a step spends its time on: seconds by cause. The causes of one step add up to its time.
std::vector<std::pair<std::string, double>> causes_of(const layout_prediction& step) {
    std::vector<std::pair<std::string, double>> causes;
    double rest = step.seconds - step.exposed_exchanges - step.optimizer;
    const double waits = step.bubble * rest;
    rest -= waits;
    for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
        causes.emplace_back(std::string("exchanges over ") + parallel_axis_names[axis], step.exposed_in_passes[axis]);
        rest -= step.exposed_in_passes[axis];
    }
    causes.emplace_back("waiting stages", waits);
    causes.emplace_back("exchanges of gradients and weights", step.exposed_exchanges);
    causes.emplace_back("the optimizer", step.optimizer);
    causes.emplace_back("kernels", rest);
    return causes;
}

/// The cause of most of the time by which `published` is behind `first`.
std::string main_cause(const layout_prediction& published, const layout_prediction& first) {
    const auto own = causes_of(published);
    const auto other = causes_of(first);
    std::size_t most = 0;
    for (std::size_t i = 0; i < own.size(); ++i) {
        most = own[i].second - other[i].second > own[most].second - other[most].second ? i : most;
    }
    std::string text = own[most].first;
    append_text(text, ": %.0f %% of its step, %.0f %% of the first one's", 100 * own[most].second / published.seconds,
                100 * other[most].second / first.seconds);
    return text;
}

/// The place of each published layout among all layouts with its recipe's settings, as a table of the page.
std::string places_of(std::vector<published_step>& steps) {
    struct place {
        std::string row;
        double behind = 0;
    };
    std::vector<place> places;
    std::size_t good = 0;
    std::size_t near = 0;
    std::size_t first_slower = 0;
    for (published_step& step : steps) {
        const double efficiency =
            efficiency_for(step, steps, [&](const published_step& other) { return other.model() != step.model(); });
        step.predictor.set_efficiency(efficiency);
        step.searched.set_efficiency(efficiency);
        const layout_prediction own = step.predictor.predict(step.layout);
        const layout_search search =
            search_layouts(step.searched, {.sharded = step.layout.sharded,
                                           .recomputed = step.layout.recomputed,
                                           .largest_microbatch = std::max<std::uint64_t>(step.layout.microbatch, 4)});
        std::size_t sooner = 0;
        for (const layout_prediction& found : search.found) {
            sooner += found.seconds < own.seconds ? 1 : 0;
        }
        const bool is_empty = search.found.empty();
        const double behind = is_empty ? 0 : 100 * (own.seconds / search.found.front().seconds - 1);
        good += sooner < 10 || behind <= 10 ? 1 : 0;
        near += behind <= 25 ? 1 : 0;
        first_slower += behind < -0.001 && own.memory.fits ? 1 : 0;
        if (sooner >= 10 && behind > 10) {
            place& one = places.emplace_back();
            one.behind = behind;
            append_text(one.row, "| `%s`, %d %s, %s | %zu | %zu | %.1f | %s |\n", step.model().c_str(),
                        step.row->at("gpus").get<int>(), step.row->at("accelerator").get<std::string>().c_str(),
                        step.row->at("precision").get<std::string>().c_str(), search.found.size(), sooner, behind,
                        main_cause(own, search.found.front()).c_str());
        }
        std::fprintf(stderr, "%s: %zu fit, %zu sooner, %.1f %%, %s\n",
                     step.row->at("recipe").get<std::string>().c_str(), search.found.size(), sooner, behind,
                     is_empty ? "" : main_cause(own, search.found.front()).c_str());
    }
    std::stable_sort(places.begin(), places.end(), [](const place& a, const place& b) { return a.behind > b.behind; });
    std::string text;
    append_text(
        text,
        "Of %zu published layouts %zu are among the first ten or within 10 %% of the first, and %zu within 25 %%. "
        "The first is slower than the\npublished one %zu times. The other %zu:\n\n",
        steps.size(), good, near, first_slower, places.size());
    text +=
        "| run | layouts that fit | sooner than the published one | the first is sooner by, % | largest cause |\n"
        "| --- | ---: | ---: | ---: | --- |\n";
    for (const place& one : places) {
        text += one.row;
    }
    return text;
}

/// Replaces the text between the markers of a block. Throws an error if the page has no such block.
void replace_block(std::string& page, const std::string& name, const std::string& text) {
    const std::string begin = "<!-- rank_layouts: " + name + " -->\n";
    const std::size_t first = page.find(begin);
    const std::size_t last = page.find("<!-- end -->", first);
    if (first == page.npos || last == page.npos) {
        throw error("page", "has no block of rank_layouts named " + name);
    }
    page.replace(first + begin.size(), last - first - begin.size(), text);
}

std::string indented(const std::string& text) {
    std::string result;
    for (std::size_t first = 0; first < text.size();) {
        const std::size_t last = text.find('\n', first);
        result += (last == first ? "" : "    ") + text.substr(first, last - first) + "\n";
        first = last + 1;
    }
    return result;
}

/// True if the library's table has the efficiencies that these steps give, to its three digits.
bool has_known_efficiencies(const std::map<kind, std::vector<double>>& fitted) {
    std::size_t equal = 0;
    for (const known_efficiency& known : known_efficiencies) {
        const auto found = fitted.find({known.has_experts, known.of, std::string(known.accelerator)});
        equal += found != fitted.end() && found->second.size() == known.runs &&
                         std::fabs(median(found->second) - known.value) < 0.00051
                     ? 1
                     : 0;
    }
    return equal == fitted.size() && equal == std::size(known_efficiencies);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> options(argv + 1, argv + argc);
    const auto asks = [&](const char* option) {
        return std::find(options.begin(), options.end(), option) != options.end();
    };
    const json layouts = golden("published_layouts.json");
    const json published = golden("published.json");
    const json models = golden("models.json");
    std::vector<published_step> steps;
    for (const json& row : layouts.at("layouts")) {
        // The steps of Nemotron 3 Super train prediction layers, which its config does not have.
        if (row.contains("config") && row.at("model") != "nemotron_3_super") {
            steps.push_back(step_of(row, published, models));
        }
    }
    const std::map<kind, std::vector<double>> fitted = efficiencies_of(steps);
    const std::string order = text_of_fit(steps, fitted) + "\n" + text_of_order(steps);
    std::fputs(order.c_str(), stdout);
    const std::string places = asks("--places") ? places_of(steps) : std::string();
    std::fputs(places.c_str(), stdout);
    if (!asks("--write") && !asks("--check")) {
        return 0;
    }
    const std::string path = options.back();
    std::ifstream file(path);
    const std::string before((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::string page = before;
    replace_block(page, "order", "\n" + indented("$ build/gcc-release/tests/rank_layouts\n" + order) + "\n");
    if (!places.empty()) {
        replace_block(page, "places", "\n" + places + "\n");
    }
    if (asks("--write")) {
        std::ofstream(path) << page;
        return 0;
    }
    if (!has_known_efficiencies(fitted)) {
        std::puts("known_efficiencies of search/known_clusters.hpp are not those of this fit");
    }
    if (page != before) {
        std::printf("%s does not say this: run rank_layouts --places --write\n", path.c_str());
    }
    return page == before && has_known_efficiencies(fitted) ? 0 : 1;
}
