// SPDX-License-Identifier: Apache-2.0
//
// Work that several ranks of a layout run, against the products of every rank.

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/parallel/redundant_work.hpp>

#include "catch2.hpp"
#include "error_of.hpp"

namespace redundant_work_test {
namespace {

using namespace floptally;

constexpr std::uint64_t text_layers = 2, h = 8, integers = 12;
constexpr std::uint64_t tower_layers = 3, width = 4;

cost tower_layer() {
    const layer where{0, width, mask::bidirectional()};
    const cost both =
        gqa{.num_heads = 1, .num_kv_heads = 1, .head_dim = 4}.cost(where) + mlp{.intermediate_size = 6}.cost(where);
    return both.renamed([](const component_name& own) { return component_name("vision.", own.view()); })
        .in(modality::vision);
}

/// A tower before a text.
model_config sees_images() {
    const transformer<gqa, mlp> text{.hidden_size = h,
                                     .num_layers = text_layers,
                                     .attention = {.num_heads = 2, .num_kv_heads = 2, .head_dim = 4},
                                     .feed_forward = {.intermediate_size = 16},
                                     .vocab = {.size = integers}};
    model_config model;
    for (const model_part& part : parts_of(text)) {
        model.parts.push_back(part);
    }
    const cost layer_of_tower = tower_layer();
    model.parts.insert(model.parts.begin() + 1, model_part{.name = "vision",
                                                           .role = part_role::tower,
                                                           .cost = layer_of_tower,
                                                           .first_layer = 0,
                                                           .repeat = tower_layers});
    model.cost = cost_of(std::span<const model_part>(model.parts));
    return model;
}

struct sample {
    std::uint64_t length;
    grid image;
};

/// The FLOPs that all ranks execute: component, and forward, to data, to weights, recomputed.
using executed_work = std::map<std::string, std::array<std::uint64_t, 4>>;

/// Every product of every rank. The text is sharded: rows of a sequence over cp, each product's columns over tp. The
/// tower runs whole on all of them.
executed_work run_all(const parallel_sizes& sizes, const std::vector<std::vector<sample>>& of_dp, bool tower_trains,
                      bool recompute_layers) {
    executed_work done;
    const auto product = [&](const std::string& component, std::uint64_t flops, bool trains, std::uint64_t scores,
                             bool has_weight) {
        auto& [forward, data, weights, again] = done[component];
        forward += flops;
        if (trains) {
            data += has_weight ? flops : 2 * flops + scores;
            weights += has_weight ? flops : 0;
            again += recompute_layers && component != "lm_head" ? flops : 0;
        }
    };
    const auto layers = [&](const std::string& prefix, std::uint64_t rows, std::uint64_t pairs, std::uint64_t of_tp,
                            std::uint64_t w, std::uint64_t inner, bool trains) {
        product(prefix + "attention.qkv", 2 * rows * w * 3 * w / of_tp, trains, 0, true);
        product(prefix + "attention.core", 2 * pairs * w / of_tp, trains, 2 * pairs * w / of_tp, false);  // QK^T
        product(prefix + "attention.core", 2 * pairs * w / of_tp, trains, 0, false);                      // PV
        product(prefix + "attention.output", 2 * rows * w * w / of_tp, trains, 0, true);
        product(prefix + "mlp", 2 * 2 * rows * w * inner / of_tp, trains, 0, true);
    };
    for (std::uint64_t dp = 0; dp < sizes.dp; ++dp) {
        for (std::uint64_t cp = 0; cp < sizes.cp; ++cp) {
            for (std::uint64_t tp = 0; tp < sizes.tp; ++tp) {
                for (const sample& sample_of_rank : of_dp[dp]) {
                    std::uint64_t rows = 0;
                    std::uint64_t pairs = 0;
                    for (std::uint64_t entry = cp; entry < sample_of_rank.length; entry += sizes.cp) {
                        ++rows;
                        pairs += entry + 1;
                    }
                    for (std::uint64_t i = 0; i < text_layers; ++i) {
                        layers("", rows, pairs, sizes.tp, h, 16, true);
                    }
                    product("lm_head", 2 * rows * h * integers / sizes.tp, true, 0, true);
                    const std::uint64_t patches = std::uint64_t{sample_of_rank.image.h} * sample_of_rank.image.w;
                    for (std::uint64_t i = 0; i < tower_layers; ++i) {
                        layers("vision.", sample_of_rank.image.t * patches, sample_of_rank.image.t * patches * patches,
                               1, width, 6, tower_trains);
                    }
                }
            }
        }
    }
    return done;
}

}  // namespace

TEST_CASE("a vision tower that runs on every cp and tp rank counts as executed on each rank and as useful once",
          "[redundant_work]") {
    const model_config model = sees_images();
    const std::vector<std::vector<sample>> batch{{{12, {1, 2, 3}}, {7, {2, 2, 2}}}, {{9, {1, 3, 3}}}};
    for (const std::uint64_t cp : {1U, 2U, 3U}) {
        for (const std::uint64_t tp : {1U, 2U}) {
            const parallel_sizes sizes{.dp = 2, .cp = cp, .tp = tp};
            const parallel_layout layout(sizes, 2 * cp * tp, 0);
            const std::vector<redundant_work> repeated{{"vision.*", parallel_axis::cp | parallel_axis::tp}};
            for (const bool frozen : {false, true}) {
                for (const recompute again : {recompute::none, recompute::full}) {
                    training_plan plan{.recomputed = again};
                    if (frozen) {
                        plan.weights.push_back({"vision.*", weight_state::frozen}, "weights");
                        plan.weights.push_back({"embedding", weight_state::frozen}, "weights");
                    }
                    // The first layer of the text then reads nothing that needs a gradient: left out of what is
                    // compared.
                    const flop_counter job(model, conventions::exact, with_redundant_work(plan, layout, repeated));
                    const flop_counter once(model, conventions::exact, plan);
                    tally sum{job.masks()};
                    for (const auto& samples : batch) {
                        for (const sample& item : samples) {
                            sum.add(sequence{.length = static_cast<std::uint32_t>(item.length)});
                            sum.add(item.image);
                        }
                    }
                    const breakdown work = job.evaluate(sum);
                    const breakdown as_once = once.evaluate(sum);
                    CHECK(work.total(view::useful) == as_once.total(view::useful));
                    CHECK(work.total(view::padded) == as_once.total(view::padded));
                    CHECK(job.total_flops(sum, view::executed) == work.total(view::executed));
                    const executed_work all = run_all(sizes, batch, !frozen, again == recompute::full);
                    for (const auto& [name, flops_of] : all) {
                        if (frozen && !name.starts_with("vision.")) {
                            continue;
                        }
                        CAPTURE(name, cp, tp, frozen);
                        for (std::size_t during = 0; during < 4; ++during) {
                            CAPTURE(during);
                            CHECK(work[name].get(view::executed, static_cast<phase>(during)) ==
                                  flops{flops_of[during]});
                        }
                    }
                    // The sums of breakdowns keep it.
                    CHECK((work + work).total(view::executed) ==
                          work.total(view::executed) + work.total(view::executed));
                }
            }
        }
    }
}

TEST_CASE(
    "a weight replicated over tp counts as executed once per tp rank, and of several matching settings the last "
    "applies",
    "[redundant_work]") {
    const model_config model = sees_images();
    const parallel_layout layout({.cp = 2, .tp = 4}, 8, 0);
    tally batch{model.cost.masks()};
    batch.add(sequence{.length = 10});
    const auto executed = [&](const training_plan& plan) {
        return flop_counter(model, conventions::exact, plan).evaluate(batch)["attention.qkv"].total(view::executed);
    };
    const std::uint64_t k_proj = text_layers * 3 * 2 * 10 * h * h;
    const flops once = executed({});
    CHECK(once == flops{3 * k_proj});
    CHECK(executed(with_redundant_work({}, layout, {{"attention.qkv/k_proj", parallel_axis::tp}})) ==
          once + flops{3 * k_proj});
    CHECK(executed(with_redundant_work({}, layout,
                                       {{"*", every_axis},
                                        {"attention.qkv/*", parallel_axis::tp},
                                        {"attention.qkv/q_proj", parallel_axis::dp}})) == once + flops{2 * 3 * k_proj});
}

TEST_CASE("an invalid redundant-work setting is an error that names the setting", "[redundant_work]") {
    const model_config model = sees_images();
    const parallel_layout layout({.cp = 2}, 2, 0);
    const auto refusal = [&](const redundant_work& repeated) {
        return error_of([&] {
            static_cast<void>(flop_counter(model, conventions::exact, with_redundant_work({}, layout, {repeated})));
        });
    };
    CHECK(refusal({"vison.*", parallel_axis::cp}) ==
          R"(plan.repeated[0]: no component or weight is named "vison.*"; use the names that the breakdown shows)");
    CHECK(refusal({"vision.*", {}}) ==
          R"(redundant_work: "vision.*" has no axis in `over`: name an axis along which every rank runs this work)");
    CHECK(refusal({"vision.*", parallel_axis::ep}) ==
          "redundant_work: ep cannot be used, because its ranks are also ranks of dp x cp x tp: name dp, cp or tp "
          "instead");
    training_plan none;
    none.repeated.push_back({"*", 0}, "repeated");
    CHECK(error_of([&] { static_cast<void>(flop_counter(model, conventions::exact, none)); }) ==
          "plan.repeated[0]: ranks must be from 1 to 16777216, got 0");
    CHECK(error_of([&] { static_cast<void>(flop_counter(model.cost, conventions::exact, none)); }) ==
          "plan.repeated[0]: ranks must be from 1 to 16777216, got 0");
}

}  // namespace redundant_work_test
