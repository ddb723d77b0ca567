// SPDX-License-Identifier: Apache-2.0
//
// Layouts that Megatron-Bridge publishes with its measured runs (published_layouts.json). Every layout can be
// expressed. With the recipe's settings a model fits the GPU that ran it; the exceptions are listed.

#include "golden/published_layouts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/bytes/fit_report.hpp>
#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/json.hpp>
#include <floptally/search/known_clusters.hpp>
#include <floptally/search/layout_search.hpp>
#include <floptally/step/layout_text.hpp>

#include "catch2.hpp"
#include "golden.hpp"

namespace published_layouts_test {
namespace {

using nlohmann::json;
using namespace floptally;
using namespace published_layouts;

/// The GPUs of a run, with kernels at their peak.
training_cluster cluster_of(const json& layout, const json& all) {
    const std::string name = layout.at("accelerator");
    const std::string precision = layout.at("precision");
    training_cluster cluster = cluster_named(name == "H100" ? "H100 SXM" : name,
                                             precision == "bf16"    ? "bf16"
                                             : precision == "nvfp4" ? "fp4"
                                                                    : "fp8",
                                             layout.at("gpus"));
    cluster.memory_gib = all.at("memory_mib").at(name).get<double>() / 1024;
    return cluster;
}
training_layout layout_of(const json& layout, const memory_options& options) {
    return {.sizes = sizes_of(layout),
            .microbatch = layout.at("micro_batch"),
            .microbatches = options.microbatches,
            .sharded = options.sharded,
            .schedule = layout.at("vpp") > 1 ? pipeline_schedule::interleaved : pipeline_schedule::one_f_one_b,
            .sequence_parallel = options.ranks.tensor.sequence_parallel};
}

}  // namespace

TEST_CASE("every layout of the published runs is written as a trainer's settings and read back equal") {
    const json all = golden("published_layouts.json");
    std::uint64_t runs = 0;
    for (const json& layout : all.at("layouts")) {
        INFO(layout.at("recipe"));
        const trainer_layout said{.sizes = sizes_of(layout)};
        CHECK(said.sizes.world_size() == layout.at("gpus").get<std::uint64_t>());
        CHECK(read_layout(to_text(said, layout_format::megatron)) == said);
        const parallel_layout first = said.seen_from(0);
        CHECK(first.size(parallel_axis::ep) * first.size(parallel_axis::etp) * first.size(parallel_axis::expert_dp) ==
              said.sizes.stage_ranks());
        runs += layout.at("runs").get<std::uint64_t>();
    }
    CHECK(runs == 148);
}

TEST_CASE("published runs fit the memory of their GPUs with the settings of their recipes") {
    const json all = golden("published_layouts.json");
    const json published = golden("published.json");
    const json models = golden("models.json");
    std::size_t counted = 0;
    std::vector<std::string> too_large;
    for (const json& layout : all.at("layouts")) {
        if (!layout.contains("config")) {
            continue;
        }
        INFO(layout.at("recipe"));
        const model_config model = model_of(layout, published, models);
        tally microbatch(model.cost.masks());
        microbatch.add_lengths(std::vector<std::uint64_t>(layout.at("micro_batch").get<std::size_t>(),
                                                          layout.at("sequence_length").get<std::uint64_t>()));
        const fit_report fit = fit_of(model.parts, microbatch, sizes_of(layout), plan_of(layout), options_of(layout));
        std::uint64_t most = 0;
        for (const stage_fit& stage : fit.stages) {
            most = std::max(most, stage.held.total());
        }
        const std::uint64_t memory =
            all.at("memory_mib").at(layout.at("accelerator").get<std::string>()).get<std::uint64_t>() << 20U;
        CHECK(most > memory / 5);  // recipes fill their GPUs: a count far below would be wrong too
        ++counted;
        if (most > memory) {
            too_large.push_back(layout.at("recipe").get<std::string>() + " mb" +
                                std::to_string(layout.at("micro_batch").get<int>()));
        }
    }
    CHECK(counted == 83);
    // docs/limitations.md says why. Both recipes have other layouts today.
    CHECK(too_large == std::vector<std::string>{"llama3_70b_pretrain_64gpu_gb300_fp8mx_config mb2",
                                                "llama31_405b_pretrain_128gpu_gb200_fp8cs_config mb1"});
}

TEST_CASE("a predicted step with kernels at peak rates is never longer than the measured step") {
    const json all = golden("published_layouts.json");
    const json published = golden("published.json");
    const json models = golden("models.json");
    std::size_t compared = 0;
    for (const json& layout : all.at("layouts")) {
        if (!layout.contains("config")) {
            continue;
        }
        INFO(layout.at("recipe"));
        const model_config model = model_of(layout, published, models);
        const memory_options options = options_of(layout);
        const auto batch = layout.at("global_batch").get<std::uint64_t>();
        const auto length = layout.at("sequence_length").get<std::uint64_t>();
        layout_predictor predictor(model.parts, model.cost.masks(), std::vector<std::uint64_t>(batch, length),
                                   plan_of(layout), options, cluster_of(layout, all));
        for (const json& value : layout.at("tokens_per_second_per_gpu")) {
            const double tokens = value.is_array() ? value.at(1).get<double>() : value.get<double>();
            CHECK(predictor.predict(layout_of(layout, options)).seconds <=
                  static_cast<double>(batch * length) / tokens / layout.at("gpus").get<double>());
        }
        ++compared;
    }
    CHECK(compared == 83);
}

TEST_CASE("a search with a published recipe's settings finds a layout at least as fast as the published one") {
    const json all = golden("published_layouts.json");
    const json published = golden("published.json");
    const json models = golden("models.json");
    std::size_t searched = 0;
    std::size_t near = 0;
    for (const json& layout : all.at("layouts")) {
        // Searches of a second and more are left to tests/benchmark/rank_layouts.cpp.
        if (!layout.contains("config") || layout.at("gpus") > 64 || layout.at("ep") > 1) {
            continue;
        }
        INFO(layout.at("recipe"));
        const model_config model = model_of(layout, published, models);
        training_cluster cluster = cluster_of(layout, all);
        cluster.efficiency = 0.5;
        const memory_options options = options_of(layout);
        layout_predictor predictor(model.parts, model.cost.masks(),
                                   std::vector<std::uint64_t>(layout.at("global_batch").get<std::size_t>(),
                                                              layout.at("sequence_length").get<std::uint64_t>()),
                                   plan_of(layout), options, cluster);
        const training_layout said = layout_of(layout, options);
        const layout_prediction own = predictor.predict(said);
        const layout_search search =
            search_layouts(predictor, {.sharded = said.sharded, .recomputed = said.recomputed});
        if (!own.memory.fits) {
            continue;
        }
        REQUIRE(!search.found.empty());
        CHECK(search.found.front().seconds <= own.seconds * 1.00001);
        const auto place = std::find_if(search.found.begin(), search.found.end(),
                                        [&](const layout_prediction& one) { return one.layout == said; });
        CHECK(place != search.found.end());
        near += place - search.found.begin() < 10 || own.seconds <= 1.1 * search.found.front().seconds ? 1 : 0;
        ++searched;
    }
    CHECK(searched == 19);
    CHECK(near * 2 >= searched);  // docs/search.md lists the others, with what the clock does not know
}

}  // namespace published_layouts_test
