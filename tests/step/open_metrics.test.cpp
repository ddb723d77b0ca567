// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <floptally/conventions/all.hpp>
#include <floptally/descriptors/presets.hpp>
#include <floptally/step/open_metrics.hpp>

#include "catch2.hpp"
#include "markdown.hpp"

namespace open_metrics_test {
namespace {

using floptally::meter;
using floptally::view;

meter small_meter(const std::string& accelerator = "NVIDIA H100 SXM5") {
    return meter(floptally::presets::llama_3_8b.cost(), floptally::conventions::exact, {},
                 {.gpus = 8,
                  .peak_tflops = 989,
                  .accelerator = accelerator,
                  .precision = "bf16",
                  .counted = floptally::counted_for::all_gpus});
}

/// Samples by their name and labels, read by the grammar of the format; every one stands under its family.
std::map<std::string, std::string> samples_of(const std::string& text) {
    const std::regex line(R"re(([a-z_]+)(\{[a-z]+="(?:[^"\\]|\\.)*"(?:,[a-z]+="(?:[^"\\]|\\.)*")*\})? ([0-9.e+]+))re");
    std::map<std::string, std::string> samples;
    std::istringstream lines(text);
    std::string family;
    std::string type;
    bool ended = false;
    for (std::string element; std::getline(lines, element);) {
        INFO(element);
        REQUIRE(!ended);
        if (element == "# EOF") {
            ended = true;
        } else if (element.rfind("# TYPE ", 0) == 0) {
            std::istringstream accumulators(element.substr(7));
            accumulators >> family >> type;
            CHECK((type == "counter" || type == "gauge" || type == "info"));
        } else if (element.rfind("# ", 0) == 0) {
            CHECK((element.rfind("# HELP " + family + " ", 0) == 0 || element.rfind("# UNIT " + family + " ", 0) == 0));
            if (element.rfind("# UNIT ", 0) == 0) {
                const std::string unit = element.substr(element.rfind(' ') + 1);
                CHECK(family.ends_with("_" + unit));  // as the format demands
            }
        } else {
            std::smatch parts;
            REQUIRE(std::regex_match(element, parts, line));
            CHECK(parts[1] == family + (type == "counter" ? "_total" : type == "info" ? "_info" : ""));
            CHECK(samples.emplace(parts[1].str() + parts[2].str(), parts[3]).second);
        }
    }
    CHECK(ended);
    return samples;
}

}  // namespace

TEST_CASE("the OpenMetrics text has counters for every ratio of a meter's run") {
    meter m = small_meter();
    for (const double seconds : {0.5, 0.25}) {
        m.begin_step();
        m.microbatch().add_cu_seqlens(std::vector<std::int32_t>{0, 3000, 4096},
                                      std::vector<std::int32_t>{0, 3072, 4224}, 1);
        m.end_step(seconds);
    }
    const auto samples = samples_of(floptally::to_open_metrics(m));
    CHECK(samples.at("floptally_steps_total") == "2");
    CHECK(samples.at("floptally_step_seconds_total") == "0.75");
    CHECK(samples.at("floptally_gpu_seconds_total") == "6");
    CHECK(std::stod(samples.at("floptally_peak_flops_total")) == Approx(6 * 989e12));
    CHECK(samples.at("floptally_tokens_total{view=\"useful\"}") == "6000");
    CHECK(samples.at("floptally_tokens_total{view=\"padded\"}") == "8448");
    CHECK(samples.at("floptally_sequences_total{view=\"useful\"}") == "2");
    CHECK(samples.at("floptally_sequences_total{view=\"padded\"}") == "4");
    CHECK(samples.at("floptally_gpus") == "8");
    CHECK(samples.at("floptally_peak_tflops") == "989");
    for (const auto& [seen, name] :
         {std::pair{view::useful, "useful"}, {view::padded, "padded"}, {view::executed, "executed"}}) {
        std::uint64_t sum = 0;
        for (const auto& [key, value] : samples) {
            if (key.rfind("floptally_flops_total", 0) == 0 && key.find(std::string("view=\"") + name) != key.npos) {
                sum += std::stoull(value);
            }
        }
        CHECK(floptally::flops{sum} == m.run().totals.total(seen));
    }
    CHECK(samples.count("floptally_meter_info{version=\"" + std::string(floptally::version) +
                        "\",convention=\"exact\",counted=\"of all 8 GPUs, as declared\",accelerator=\"NVIDIA H100 "
                        "SXM5\",precision=\"bf16\"}") == 1);
}

TEST_CASE("the OpenMetrics text labels the counters of a second convention by view and name") {
    meter m = small_meter();
    const floptally::flop_counter old(floptally::presets::llama_3_8b.cost(), floptally::conventions::palm);
    m.shows_beside(old);
    const std::string view_of = R"(floptally_beside_flops_total{convention="palm",view=)";
    CHECK(samples_of(floptally::to_open_metrics(m)).at(view_of + "\"useful\"}") == "0");
    m.begin_step();
    m.microbatch().add({.length = 3000}, {.length = 3072});
    m.end_step(0.5);
    const auto samples = samples_of(floptally::to_open_metrics(m));
    const floptally::tally& batch = m.run().totals.batch;
    CHECK(samples.at(view_of + "\"useful\"}") == to_string(old.total_flops(batch)));
    CHECK(samples.at(view_of + "\"padded\"}") == to_string(old.total_flops(batch, view::padded)));
    CHECK(samples.at(view_of + "\"executed\"}") == to_string(old.total_flops(batch, view::executed)));
}

TEST_CASE("OpenMetrics counters start at 0 and their labels are escaped") {
    const auto samples = samples_of(floptally::to_open_metrics(small_meter("a \"b\" \\ c\nd")));
    CHECK(samples.at("floptally_steps_total") == "0");
    CHECK(samples.at("floptally_tokens_total{view=\"useful\"}") == "0");
    CHECK(samples.at("floptally_flops_total{component=\"mlp\",view=\"useful\"}") == "0");  // a rate begins there
    bool escaped = false;
    for (const auto& [key, value] : samples) {
        escaped = escaped || key.find("accelerator=\"a \\\"b\\\" \\\\ c\\nd\"") != key.npos;
    }
    CHECK(escaped);
}

TEST_CASE("every OpenMetrics sample has the label of its run") {
    for (const auto& [key, value] : samples_of(floptally::to_open_metrics(small_meter(), "night \"7\""))) {
        INFO(key);
        CHECK(key.ends_with("run=\"night \\\"7\\\"\"}"));
    }
}

TEST_CASE("the Prometheus query of docs/meter.md uses existing metrics and labels") {
    const std::string page = read_text(FLOPTALLY_SOURCE_DIR "/docs/meter.md");
    const auto samples = samples_of(floptally::to_open_metrics(small_meter()));
    const std::regex metric(R"re((floptally_[a-z_]+)(?:\{([a-z]+="[a-z]+")\})?)re");
    std::size_t asked = 0;
    for (const std::string& query : fenced_blocks(page, "promql")) {
        for (std::sregex_iterator at(query.begin(), query.end(), metric), end; at != end; ++at, ++asked) {
            INFO(at->str());
            CHECK(std::any_of(samples.begin(), samples.end(), [&](const auto& item) {
                const std::string name = item.first.substr(0, item.first.find('{'));
                return name == (*at)[1].str() && item.first.find((*at)[2].str()) != item.first.npos;
            }));
        }
    }
    CHECK(asked == 2);
}

TEST_CASE("the Grafana dashboard uses existing metrics") {
    std::ifstream file(FLOPTALLY_SOURCE_DIR "/examples/data/grafana_dashboard.json");
    const nlohmann::json dashboard = nlohmann::json::parse(file);
    meter m = small_meter();
    m.begin_step();
    m.microbatch().add_lengths(std::vector<std::uint32_t>{100});
    m.end_step(1);
    std::set<std::string> names;
    for (const auto& [key, value] : samples_of(floptally::to_open_metrics(m))) {
        names.insert(key.substr(0, key.find('{')));
    }
    std::set<std::string> asked;
    for (const nlohmann::json& panel : dashboard["panels"]) {
        CHECK(!panel["title"].get<std::string>().empty());
        for (const nlohmann::json& target : panel["targets"]) {
            const auto query = target["expr"].get<std::string>();
            const std::regex metric("floptally_[a-z_]+");
            for (std::sregex_iterator at(query.begin(), query.end(), metric), end; at != end; ++at) {
                INFO(query);
                CHECK(names.count(at->str()) == 1);
                asked.insert(at->str());
                const std::string rest = at->suffix();
                CHECK(rest.front() == '{');
                CHECK(rest.substr(0, rest.find('}')).find("job=~\"$job\",run=~\"$run\"") != rest.npos);
            }
        }
    }
    CHECK(asked.size() >= 5);
}

TEST_CASE("the OpenMetrics FLOPs of a run under two plans are the sum of each step under its own plan") {
    using floptally::recompute;
    const floptally::metered_hardware hardware{.gpus = 1, .peak_tflops = 989};
    const auto step = [](meter& m) {
        m.begin_step();
        m.microbatch().add_lengths(std::vector<int>{500});
        m.end_step(1);
    };
    meter before(floptally::presets::llama_3_8b, {}, hardware);
    step(before);
    meter after(floptally::presets::llama_3_8b, {.recomputed = recompute::full}, hardware);
    CHECK_FALSE(after.continue_from(before));
    step(after);
    const auto samples = samples_of(floptally::to_open_metrics(after));
    const floptally::flops executed = before.last_step().executed + after.last_step().executed;
    CHECK(samples.at("floptally_flops_total{component=\"all\",view=\"executed\"}") == to_string(executed));
    CHECK(samples.size() < samples_of(floptally::to_open_metrics(before)).size());
}

TEST_CASE("the OpenMetrics text of GPUs with an unknown peak has no peak") {
    meter m(floptally::presets::llama_3_8b, {}, floptally::metered_hardware{.gpus = 1, .peak_is_unknown = true});
    m.begin_step();
    m.microbatch().add_lengths(std::vector<int>{500});
    m.end_step(1);
    const auto samples = samples_of(floptally::to_open_metrics(m));
    CHECK(samples.count("floptally_peak_flops_total") == 0);
    CHECK(samples.count("floptally_peak_tflops") == 0);
    CHECK(samples.at("floptally_step_seconds_total") == "1");
}

}  // namespace open_metrics_test
