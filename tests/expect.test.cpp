// SPDX-License-Identifier: Apache-2.0
//
// The table of published runs and `floptally expect`: each figure is checked against the convention that the table
// names for it, each reason against a count of the model that it describes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "../examples/program/published_runs.hpp"
#include "catch2.hpp"
#include "sanitized.hpp"

namespace expect_test {
namespace {

using nlohmann::json;

const json& table() {
    static const json file = [] {
        std::ifstream text(std::string(FLOPTALLY_SOURCE_DIR) + "/examples/data/published_runs.json");
        REQUIRE(text);
        return json::parse(text);
    }();
    return file;
}

/// FLOPs of a training step of one token in a sequence of that length.
double per_token(const json& config, std::int64_t length, const std::string& convention, std::uint64_t mtp = 0) {
    const floptally::model_config model = floptally::read_config(config, {.mtp_layers = mtp});
    const floptally::flop_counter counter(model, floptally::convention_named(convention));
    floptally::tally batch{floptally::counted_masks(model.cost, counter)};
    batch.add_lengths({length});
    return to_double(counter.evaluate(batch).total()) / static_cast<double>(length);
}

/// Half a unit of a number's last printed digit.
double half_digit(const json& number) {
    const std::string text = number.dump();
    const std::size_t point = text.find('.');
    return point == std::string::npos ? 0.5 : 0.5 * std::pow(10.0, -static_cast<double>(text.size() - point - 1));
}

/// The figure beside tokens/s as TFLOP/s of one GPU, with how far rounding may have moved it.
struct figure {
    double tflops = 0;
    double rounding = 0;
};

std::optional<figure> figure_of(const json& run) {
    if (!run.contains("tokens_per_second_per_gpu") || !run.contains("counted_by")) {
        return {};
    }
    const json& tokens = run["tokens_per_second_per_gpu"];
    const bool is_rate = run.contains("tflops_per_gpu");
    const json& printed = is_rate ? run["tflops_per_gpu"] : run["mfu_percent"];
    const double value = printed;
    return figure{.tflops = is_rate ? value : value / 100 * run["stated_peak_tflops"].get<double>(),
                  .rounding = half_digit(printed) / value + half_digit(tokens) / tokens.get<double>()};
}

double implied(const json& run, const std::string& convention, const json& config) {
    return run["tokens_per_second_per_gpu"].get<double>() * 1e-12 *
           per_token(config, run["sequence_length"], convention, run.value("mtp", std::uint64_t{0}));
}

bool is_read(const json& run) { return run.value("mtp", 0) < 2 && run["accelerator"] != "H100 96GB HBM2e"; }

/// The features of a Llama 3 8B on eight H100 at 8192 tokens in bf16.
program::run_features llama() {
    const floptally::model_config model = floptally::read_config(table()["models"]["Llama 3 8B"]["config"]);
    floptally::tally batch{model.cost.masks()};
    batch.add_lengths({8192, 8192});
    return program::user_features(model, batch, "H100 SXM", "bf16", 8);
}

std::string problem_of(const auto& call) {
    try {
        call();
    } catch (const floptally::error& problem) {
        return problem.what();
    }
    return "none";
}

}  // namespace

TEST_CASE(
    "each published run names its source, the licence terms of the source and a model config, and has figures per "
    "GPU") {
    std::set<std::string> sources;
    for (const json& run : table()["runs"]) {
        INFO(run.dump());
        const json& source = table()["sources"][run["source"].get<std::string>()];
        for (const char* const field : {"title", "where", "date", "terms"}) {
            CHECK(!source[field].get<std::string>().empty());
        }
        const std::string where = source["where"];
        CHECK((where.starts_with("https://") || source.value("commit", "").size() >= 40));
        CHECK(table()["models"].contains(run["model"].get<std::string>()));
        CHECK(run["gpus"].get<int>() >= 1);
        CHECK(run["year"].get<int>() >= 2022);
        CHECK((run.contains("tokens_per_second_per_gpu") || run["counted_by"] != "none"));
        for (const json& mark : run.value("marks", json::array())) {
            CHECK((mark == "forced balance" || mark == "dropped tokens" || mark == "cut model"));
        }
        CHECK((run["model"].get<std::string>().find(" cut to ") != std::string::npos) ==
              (run.value("marks", json::array()) == json{"cut model"}));
        sources.insert(run["source"]);
    }
    CHECK(sources.size() >= 20);
    CHECK(sources.size() == table()["sources"].size());
}

TEST_CASE("the program's built-in table of published runs equals the data file") {
    std::string text;
    for (const std::string_view piece : program::published_runs_text) {
        text += piece;
    }
    CHECK(json::parse(text) == table());
}

TEST_CASE("at least 300 published runs of 20 sources have an exact MFU") {
    std::set<std::string> sources;
    std::map<std::string, std::size_t> unread;
    for (const program::published_run& run : program::published_table::get().runs()) {
        INFO(run.source << ", " << run.model);
        if (!run.unread.empty()) {
            ++unread[run.source];
            continue;
        }
        sources.insert(run.source);
        CHECK(run.mfu > 0);
        CHECK(run.mfu < 0.7);
    }
    CHECK(program::published_table::get().read() >= 300);
    CHECK(sources.size() >= 20);
    // Prediction layers that no config of this type describes yet, and a GPU without a published peak.
    CHECK(unread.size() <= 2);
    CHECK(unread["megatron_bridge"] + unread["torchtitan"] <= 40);
}

TEST_CASE(
    "each published TFLOP/s figure follows from tokens/s by the listed convention, or no convention is listed and none "
    "fits") {
    std::size_t named = 0;
    std::size_t none = 0;
    std::size_t number = 0;
    for (const json& run : table()["runs"]) {
        const auto printed = is_read(run) ? figure_of(run) : std::nullopt;
        if (!printed || skipped_when_sanitized(number++, 10)) {
            continue;
        }
        INFO(run.dump());
        const json& config = table()["models"][run["model"].get<std::string>()]["config"];
        const json& tried = table()["sources"][run["source"].get<std::string>()]["conventions"];
        if (run["counted_by"] != "none") {
            CHECK(std::find(tried.begin(), tried.end(), run["counted_by"]) != tried.end());
            CHECK(!run.contains("reason"));
            CHECK(std::fabs(implied(run, run["counted_by"], config) / printed->tflops - 1) <=
                  0.004 + printed->rounding);
            ++named;
            continue;
        }
        for (const json& convention : tried) {
            CHECK(std::fabs(implied(run, convention, config) / printed->tflops - 1) > 0.002);
        }
        ++none;
    }
    CHECK(named > (is_sanitized ? 50U : 500U));
    CHECK(none > (is_sanitized ? 10U : 100U));
}

TEST_CASE(
    "a published TFLOP/s figure that fits no convention is reproduced with the deviation that the run lists as "
    "reason") {
    std::map<std::string, std::size_t> counted;
    for (const json& run : table()["runs"]) {
        const std::string reason = run.value("reason", "");
        const auto printed = is_read(run) ? figure_of(run) : std::nullopt;
        if (reason.empty() || !printed) {
            continue;
        }
        INFO(run.dump());
        json config = table()["models"][run["model"].get<std::string>()]["config"];
        std::string convention = "bionemo";
        double factor = 1;
        double more = 0;  // FLOPs of a token
        double tolerance = 0.004;
        if (reason == "as bionemo, with 16 groups of keys and values instead of 8") {
            config["num_key_value_heads"] = 16;
        } else if (reason == "as bionemo, with as many heads of keys and values as of queries") {
            config["num_key_value_heads"] = config["num_attention_heads"];
        } else if (reason == "as bionemo, with the recomputed forward pass") {
            factor = 4.0 / 3;
            tolerance = 0.08;
        } else if (reason == "as palm, with learned position embeddings in N") {
            convention = "palm";
            more = 6 * run["sequence_length"].get<double>() * config["d_model"].get<double>();
        } else {
            continue;
        }
        ++counted[reason];
        const double tflops =
            factor * implied(run, convention, config) + run["tokens_per_second_per_gpu"].get<double>() * 1e-12 * more;
        CHECK(std::fabs(tflops / printed->tflops - 1) <= tolerance + printed->rounding);
    }
    CHECK(counted.size() == 4);
}

TEST_CASE("the exact MFU of a published run equals utilize() over the dense peak of its precision") {
    std::size_t seen = 0;
    for (const program::published_run& run : program::published_table::get().runs()) {
        if (run.source != "kempnerforge" && run.source != "gpu_recipes") {
            continue;
        }
        INFO(run.model << " on " << run.accelerator);
        const floptally::model_config model = floptally::read_config(table()["models"][run.model]["config"]);
        const floptally::flop_counter counter(model, floptally::conventions::exact);
        floptally::tally batch{counter.masks()};
        batch.add_lengths({static_cast<std::int64_t>(run.length)});
        const double seconds = static_cast<double>(run.length) / run.tokens_per_second.value();
        const bool is_fp8 = run.precision == "fp8";
        const double peak = run.accelerator == "B200" ? is_fp8 ? 4500 : 2250 : 989;
        const floptally::utilization rates =
            floptally::utilize(counter.evaluate(batch), batch, {.seconds = seconds, .gpus = 1, .peak_tflops = peak});
        CHECK(std::fabs(run.mfu / rates.mfu - 1) < 1e-9);
        ++seen;
    }
    CHECK(seen == 17);
}

TEST_CASE("a published run without tokens/s gets its MFU from its source's convention") {
    // FlashAttention-2: 225 TFLOP/s on A100 by 6N + 12LHQT, 72.1 % of 312.
    for (const program::published_run& run : program::published_table::get().runs()) {
        if (run.source == "flash_attention_2" && run.tflops == 225) {
            const json& config = table()["models"][run.model]["config"];
            CHECK(std::fabs(run.mfu -
                            225.0 / 312 * per_token(config, 8192, "exact") / per_token(config, 8192, "palm")) < 1e-9);
            CHECK(run.mfu < 0.6);
            CHECK(run.printed == 225.0 / 312);
            return;
        }
    }
    FAIL("the run is not in the table");
}

TEST_CASE("the distance between two published runs is symmetric and grows by 1 for each doubling of a size") {
    const program::run_features own = llama();
    CHECK(own.length == 8192);
    CHECK(program::distance(own, own) == 0);
    const auto changed = [&own](auto change) {
        program::run_features other = own;
        change(other);
        CHECK(program::distance(own, other) == program::distance(other, own));
        return program::distance(own, other);
    };
    using features = program::run_features;
    CHECK(changed([](features& other) { other.work_per_token *= 2; }) == 1);
    CHECK(changed([](features& other) { other.precision = floptally::precision::fp8; }) == 1);
    CHECK(changed([](features& other) { other.length *= 4; }) == 1);
    CHECK(changed([](features& other) { other.gpus = 8 * 256; }) == 1);
    CHECK(changed([](features& other) { other.gpus.reset(); }) == 0);
    CHECK(changed([](features& other) { other.has_experts = true; }) == 2);
    CHECK(changed([](features& other) { other.has_recurrent_mixers = true; }) == 2);
    CHECK(changed([](features& other) { other.part = &floptally::accelerator_named("H200 SXM"); }) == 1);
    const double a100 = changed([](features& other) { other.part = &floptally::accelerator_named("A100 SXM"); });
    CHECK(std::fabs(a100 - (1 + std::log2(989.0 / 312))) < 1e-12);
    CHECK(changed([](features& other) { other.part = &floptally::accelerator_named("MI300X"); }) > 2);
}

TEST_CASE("the expect command lists the nearest published runs and counts those below the user's MFU") {
    const program::run_features own = llama();
    const program::expectation found = program::expect(own, 0.4, 12, false);
    REQUIRE(found.runs.size() == 12);
    CHECK(found.runs.front().run->model == "Llama 3 8B");
    std::vector<double> values;
    double last = 0;
    for (const program::near_run& near : found.runs) {
        CHECK(near.distance.value() >= last);
        last = near.distance.value();
        values.push_back(near.run->mfu);
    }
    for (const program::published_run& run : program::published_table::get().runs()) {
        const bool is_taken = std::any_of(found.runs.begin(), found.runs.end(),
                                          [&run](const program::near_run& near) { return near.run == &run; });
        CHECK((is_taken || !run.unread.empty() || program::distance(own, run.features) >= last));
    }
    std::sort(values.begin(), values.end());
    CHECK(found.below ==
          static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [](double mfu) { return mfu < 0.4; })));
    CHECK(found.median == (values[5] + values[6]) / 2);
    CHECK(found.low >= values[1]);
    CHECK(found.low <= values[2]);
    CHECK(found.high <= values[10]);
    CHECK(program::expect(own, {}, 1, false).runs.front().run == found.runs.front().run);
    CHECK(program::expect(own, {}, 100'000, false).runs.size() == program::published_table::get().read());
}

TEST_CASE(
    "the expect command's option --unmarked leaves out runs with forced expert balance, dropped tokens or fewer "
    "layers") {
    const program::expectation all = program::expect(llama(), {}, 100'000, false);
    const program::expectation unmarked = program::expect(llama(), {}, 100'000, true);
    std::set<std::string> marks;
    for (const program::near_run& near : all.runs) {
        marks.insert(near.run->marks.begin(), near.run->marks.end());
    }
    CHECK(marks.count("forced balance") == 1);
    CHECK(marks.count("cut model") == 1);
    CHECK(unmarked.runs.size() < all.runs.size());
    for (const program::near_run& near : unmarked.runs) {
        CHECK(near.run->marks.empty());
    }
}

TEST_CASE("quantiles of the expect command are interpolated linearly between two values") {
    CHECK(program::quantile({3}, 0.9) == 3);
    CHECK(program::quantile({1, 2, 4, 8}, 0) == 1);
    CHECK(program::quantile({1, 2, 4, 8}, 0.5) == 3);
    CHECK(program::quantile({1, 2, 4, 8}, 1) == 8);
}

TEST_CASE("the expect command refuses a run that cannot be compared and says why") {
    const floptally::model_config model = floptally::read_config(table()["models"]["Llama 3 8B"]["config"]);
    floptally::tally empty{model.cost.masks()};
    CHECK(problem_of([&] { (void)program::user_features(model, empty, "H100 SXM", "bf16", {}); }) ==
          "lengths: must have text tokens, since the published runs train language models: pass --lengths");
    floptally::tally batch{model.cost.masks()};
    batch.add_lengths({8192});
    CHECK(problem_of([&] {
              (void)program::user_features(model, batch, "H999", "bf16", {});
          }).starts_with("accelerator: "));
    CHECK(problem_of([&] { (void)program::user_features(model, batch, "A100 SXM", "fp8", {}); }) ==
          "precision: A100 SXM has no published fp8 rate: pass the precision whose peak your MFU is relative to");
    CHECK(problem_of([&] {
              (void)program::user_features(model, batch, "A100 SXM", "bf61", {});
          }).starts_with("precision: "));
}

}  // namespace expect_test
