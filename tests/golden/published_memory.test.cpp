// SPDX-License-Identifier: Apache-2.0
//
// Memory of runs that others publish (published_memory.json): peaks that trainers print, and layouts that run out of
// memory.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/json.hpp>
#include <floptally/search/largest_fit.hpp>

#include "catch2.hpp"
#include "golden.hpp"
#include "markdown.hpp"

namespace published_memory_test {
namespace {

using nlohmann::json;
using namespace floptally;

model_config model_of(const json& row, const json& published) {
    const json& config = row.at("config");
    if (config.is_object()) {
        return read_config(config);
    }
    for (const json& one : published) {
        if (one.at("name") == config) {
            return read_config(one.at("config"));
        }
    }
    throw std::runtime_error("published.json has no " + config.get<std::string>());
}

const optimizer_state& optimizer_of(const std::string& name) {
    return *std::find_if(std::begin(optimizer_states::all), std::end(optimizer_states::all),
                         [&](const optimizer_state& known) { return name == known.name; });
}

/// The GiB of the fullest rank.
double gib_of_row(const json& row, const json& published) {
    const auto number = [&row](const char* name, std::uint64_t absent) { return row.value(name, absent); };
    const model_config model = model_of(row, published);
    tally microbatch(model.cost.masks());
    microbatch.add_lengths(std::vector<std::uint64_t>(number("sequences", 1), number("length", 1)));
    const std::string zero = row.value("zero", std::string("none"));
    memory_options options{.sharded = zero == "weights"     ? zero_stage::weights
                                      : zero == "gradients" ? zero_stage::gradients
                                                            : zero_stage::none,
                           .optimizer = optimizer_of(row.value("optimizer", std::string("adamw"))),
                           .bits = {.weights = number("weight_bits", 16), .gradients = number("gradient_bits", 16)},
                           .kernels = {.flash_attention = row.value("flash_attention", true),
                                       .hidden_dropout = row.value("hidden_dropout", false),
                                       .attention_dropout = row.value("attention_dropout", false),
                                       .keeps_gathered_inputs = row.value("keep_gathered_inputs", false)},
                           .logits_bits = number("logits_bits", 16),
                           .microbatches = number("microbatches", 1),
                           .gathered_bits = number("gathered_bits", 0),
                           .bucket_elements = number("bucket_elements", 0),
                           .keeps_gathered = row.value("keep_gathered", false),
                           .keeps_messages = row.value("keep_messages", false)};
    options.ranks.tensor.sequence_parallel = number("tp", 1) > 1 && zero == "weights";
    const training_plan plan{.recomputed = row.value("recompute", std::string("none")) == "full" ? recompute::full
                                                                                                 : recompute::none};
    const fit_report fit = fit_of(model.parts, microbatch,
                                  {.dp = number("dp", 1),
                                   .cp = number("cp", 1),
                                   .tp = number("tp", 1),
                                   .pp = number("pp", 1),
                                   .vpp = number("vpp", 1)},
                                  plan, options);
    return gib_of(fit);
}

}  // namespace

TEST_CASE(
    "predicted peak memory is within 15 percent of torchtitan's published peak, or a reason for the difference is "
    "listed") {
    const json published = golden("published.json");
    const json runs = golden("published_memory.json");
    const std::string limitations = read_text(FLOPTALLY_SOURCE_DIR "/docs/limitations.md");
    const std::string page = limitations.substr(limitations.find("## Published peaks of memory"));
    std::size_t met = 0;
    for (const json& row : runs.at("peaks")) {
        INFO(row.at("name"));
        const double ratio = gib_of_row(row, published) / row.at("gib").get<double>();
        CHECK((std::fabs(ratio - 1) <= 0.15) == !row.contains("why"));  // docs/limitations.md has the reasons
        CHECK(std::fabs(ratio - 1) <= 0.3);
        const double printed = row.at("gib").get<double>();
        CHECK(page.find("| " + detail::fixed_decimal(ratio * printed, 1) + " | ") != std::string::npos);
        CHECK(page.find(detail::fixed_decimal(printed, 1)) != std::string::npos);
        met += row.contains("why") ? 0 : 1;
    }
    CHECK(met == 10);
}

TEST_CASE("layouts that are publicly known to run out of memory do not fit") {
    const json published = golden("published.json");
    const json runs = golden("published_memory.json");
    for (const json& row : runs.at("out_of_memory")) {
        INFO(row.at("name"));
        CHECK(gib_of_row(row, published) > row.at("memory_gib").get<double>());
    }
    CHECK(runs.at("out_of_memory").size() >= 10);
}

}  // namespace published_memory_test
