// SPDX-License-Identifier: Apache-2.0
//
// The time of a pipeline's passes, against a list of the products of each layer, each at the peak of its own precision,
// and a simulation by events.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/descriptors/model_config.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/pipelines.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "pipeline_simulation.hpp"

namespace pipeline_times_test {
namespace {

using floptally::chunk_work;
using floptally::index_range;
using floptally::mask;
using floptally::model_part;
using floptally::pipeline_order;
using floptally::pipeline_pass;
using floptally::pipeline_run;
using floptally::pipeline_schedule;
using floptally::pipeline_split;
using floptally::pipeline_times;
using floptally::precision_setting;
using floptally::rank_times;
using floptally::tally;
using lengths_list = std::vector<std::uint32_t>;

constexpr double bf16 = 1000;
constexpr double fp8 = 2000;

/// Seven layers, and a head as large as two of them.
std::vector<model_part> small_model() {
    floptally::cost layer;
    layer.add("attention.core", floptally::attention_core{.num_heads = 2, .qk_head_dim = 4, .v_head_dim = 4},
              mask::causal());
    layer.add("mlp", floptally::linear{.in_features = 30, .out_features = 50});
    floptally::cost head;
    head.add("lm_head", floptally::linear{.in_features = 30, .out_features = 100});
    return {{.name = "layer", .cost = layer, .first_layer = 0, .repeat = 7},
            {.name = "lm_head", .role = floptally::part_role::head, .cost = head}};
}

const floptally::training_plan eager{.flash_attention = false};

tally batch_of(const lengths_list& lengths) {
    tally batch{floptally::cost_of(small_model()).masks()};
    batch.add_lengths(lengths);
    return batch;
}

/// FLOPs of a pass of some layers, and of the head where `head`, each at its peak, over the stated one: pair by pair.
double listed(const lengths_list& lengths, std::uint64_t layers, bool head, pipeline_pass::kind what, double layer_peak,
              double core_peak, double head_peak = bf16) {
    double sum = 0;
    for (const std::uint32_t length : lengths) {
        for (std::uint32_t query = 0; query < length; ++query) {
            sum += static_cast<double>(layers) * 2 * 30 * 50 * bf16 / layer_peak;
            sum += head ? 2 * 30 * 100 * bf16 / head_peak : 0;
            for (std::uint32_t key = 0; key <= query; ++key) {
                // Scores and values; in the backward twice as much, all of it to the data.
                const double pair = static_cast<double>(layers) * 2 * 2 * (4 + 4) * bf16 / core_peak;
                sum += what == pipeline_pass::kind::forward            ? pair
                       : what == pipeline_pass::kind::backward_weights ? 0
                                                                       : 2 * pair;
            }
        }
    }
    return sum;
}

const std::vector<std::uint64_t> layers_of_stages = {3, 2, 1, 1};

struct shares {
    double busy;
    double imbalance;
    double bubble;
};

/// Shares of the replicas' time by the simulation, where `length(replica, pass)` is the time of a pass.
template <class Length>
shares simulated(const std::vector<pipeline_order>& orders, Length length) {
    double end = 0;
    double sum = 0;
    double largest = 0;
    double ranks = 0;
    for (std::size_t replica = 0; replica < orders.size(); ++replica) {
        const pipeline_order& order = orders[replica];
        const auto made =
            pipeline_simulation::simulate({order.ranks().begin(), order.ranks().end()}, order.chunks(), false,
                                          [&](const pipeline_pass& pass) { return length(replica, pass); });
        REQUIRE(made.makespan > 0);
        end = std::max(end, made.makespan);
        for (const double busy : made.busy) {
            largest = std::max(largest, busy);
            sum += busy;
            ranks += 1;
        }
    }
    return {sum / ranks / end, (largest - sum / ranks) / end, (end - largest) / end};
}

/// A backward is one pass.
template <class Listed>
double pass_length(const pipeline_pass& pass, Listed listed_of) {
    return pass.type == pipeline_pass::kind::forward
               ? listed_of(pass.type)
               : listed_of(pass.type) + listed_of(pipeline_pass::kind::backward_weights);
}

void check(const rank_times& outcome, const shares& expected) {
    CHECK(std::abs(outcome.busy_share() - expected.busy) < 1e-12);
    CHECK(std::abs(outcome.imbalance_share() - expected.imbalance) < 1e-12);
    CHECK(std::abs(outcome.bubble_share() - expected.bubble) < 1e-12);
}

}  // namespace

TEST_CASE("a simulated pipeline computes the time of each pass from the peak of its own precision") {
    const std::vector<model_part> model = small_model();
    const pipeline_split split(4, layers_of_stages);
    const lengths_list lengths = {7, 2, 30};
    // Layers in fp8 but for attention's core, the head as it is.
    const std::vector<precision_setting> settings = {{.layers = index_range{0, 7}, .peak_tflops = fp8},
                                                     {.component = "attention.core", .peak_tflops = 500}};
    const std::vector<precision_setting> of_head = {{.component = "lm_head", .peak_tflops = 250}};  // of the last stage
    for (const std::uint64_t microbatches : {1U, 3U, 8U}) {
        const pipeline_order order(pipeline_schedule::one_f_one_b, 4, 1, microbatches);
        const auto run_with = [&](const std::vector<precision_setting>& with) {
            return order.run(pipeline_times(model, split, eager, bf16, with).of(batch_of(lengths), microbatches));
        };
        const auto expected = [&](double layer_peak, double core_peak, double head_peak = bf16) {
            return simulated({order}, [&](std::size_t, const pipeline_pass& pass) {
                return pass_length(pass, [&](pipeline_pass::kind what) {
                    return listed(lengths, layers_of_stages[pass.chunk], pass.chunk == 3, what, layer_peak, core_peak,
                                  head_peak);
                });
            });
        };
        check(rank_times::of(std::vector<pipeline_run>{run_with(settings)}), expected(fp8, 500));
        check(rank_times::of(std::vector<pipeline_run>{run_with({})}), expected(bf16, bf16));
        check(rank_times::of(std::vector<pipeline_run>{run_with(of_head)}), expected(bf16, bf16, 250));
        CHECK(std::abs(expected(fp8, 500).bubble - expected(bf16, bf16).bubble) > 0.01);  // the precisions matter
    }
}

TEST_CASE("full recompute adds the forward time of layers, not of the head, to the backward pass") {
    std::vector<model_part> model = small_model();
    floptally::cost head;
    head.add("lm_head", floptally::linear{.in_features = 30, .out_features = 100, .kind = floptally::term::lm_head});
    model[1].cost = head;
    const pipeline_split split(4, layers_of_stages);
    const lengths_list lengths = {7, 2, 30};
    floptally::training_plan again = eager;
    again.recomputed = floptally::recompute::full;
    const pipeline_order order(pipeline_schedule::one_f_one_b, 4, 1, 3);
    const auto expected = [&](bool recomputes) {
        return simulated({order}, [&](std::size_t, const pipeline_pass& pass) {
            using kind = pipeline_pass::kind;
            const std::uint64_t layers = layers_of_stages[pass.chunk];
            const double own = pass_length(
                pass, [&](kind what) { return listed(lengths, layers, pass.chunk == 3, what, bf16, bf16); });
            return own + (recomputes && pass.type != kind::forward
                              ? listed(lengths, layers, false, kind::forward, bf16, bf16)
                              : 0);
        });
    };
    const auto make = [&](const floptally::training_plan& plan) {
        return rank_times::of(std::vector<pipeline_run>{
            order.run(pipeline_times(model, split, plan, bf16, {}).of(batch_of(lengths), 3))});
    };
    check(make(eager), expected(false));
    check(make(again), expected(true));
    CHECK(std::abs(expected(true).busy - expected(false).busy) > 0.0001);
}

TEST_CASE("pipeline times keep their proportions for work above 64 bits") {
    const pipeline_split split(4, layers_of_stages);
    const pipeline_order order(pipeline_schedule::one_f_one_b, 4, 1, 8);
    const std::vector<model_part> model = small_model();
    const tally batch = batch_of(lengths_list(10, 1'000'000));
    tally larger = batch;
    for (int doubled = 0; doubled < 13; ++doubled) {
        larger += tally{larger};
    }
    const auto run = [&](const tally& sums) {
        return rank_times::of(
            std::vector<pipeline_run>{order.run(pipeline_times(model, split, eager, bf16).of(sums, 8))});
    };
    // 7 layers of 96 FLOPs for each of 10 · 2^13 · 10^12 / 2 pairs are more than 2^62.
    const rank_times small = run(batch);
    CHECK(std::abs(run(larger).busy_share() - small.busy_share()) < 1e-12);
    CHECK(std::abs(run(larger).bubble_share() - small.bubble_share()) < 1e-12);
}

TEST_CASE("pipeline replicas with different microbatches are simulated together, each with its own order") {
    const std::vector<model_part> model = small_model();
    const pipeline_split split(4, layers_of_stages);
    const std::vector<std::vector<lengths_list>> replicas = {{{7, 2}, {30}, {3, 3, 3}}, {{20}, {1}, {40, 5}}};
    const std::vector<precision_setting> settings = {{.layers = index_range{0, 7}, .peak_tflops = fp8}};
    std::vector<std::vector<tally>> batches;
    std::vector<pipeline_order> orders;
    for (const auto& replica : replicas) {
        std::vector<tally>& tallies = batches.emplace_back();
        for (const lengths_list& lengths : replica) {
            tallies.push_back(batch_of(lengths));
        }
        orders.emplace_back(pipeline_schedule::one_f_one_b, 4, 1, replica.size());
    }
    const auto times = pipeline_times(model, split, eager, bf16, settings).of(batches);
    std::vector<pipeline_run> runs;
    for (std::size_t replica = 0; replica < orders.size(); ++replica) {
        runs.push_back(orders[replica].run(times[replica]));
    }
    const rank_times rank_shares = rank_times::of(runs);
    CHECK(rank_shares.ranks == 8);
    check(rank_shares, simulated(orders, [&](std::size_t replica, const pipeline_pass& pass) {
              return pass_length(pass, [&](pipeline_pass::kind what) {
                  return listed(replicas[replica][pass.microbatch], layers_of_stages[pass.chunk], pass.chunk == 3, what,
                                fp8, fp8);
              });
          }));
}

TEST_CASE("the loads of data-parallel ranks and of a pipeline give one time breakdown") {
    const pipeline_split split(4, layers_of_stages);
    const lengths_list lengths = {7, 2, 30};
    const std::vector<std::uint64_t> loads = {5, 6, 9};
    const pipeline_order order(pipeline_schedule::one_f_one_b, 4, 1, 6);
    const std::vector<model_part> model = small_model();
    std::vector<pipeline_run> runs;
    for (const auto& replica : pipeline_times(model, split, eager, bf16).of(batch_of(lengths), 6, loads)) {
        runs.push_back(order.run(replica));
    }
    const auto expected = simulated({order, order, order}, [&](std::size_t replica, const pipeline_pass& pass) {
        return static_cast<double>(loads[replica]) * pass_length(pass, [&](pipeline_pass::kind what) {
                   return listed(lengths, layers_of_stages[pass.chunk], pass.chunk == 3, what, bf16, bf16);
               });
    });
    check(rank_times::of(runs), expected);
    const floptally::pipeline_choices choices{
        .pp = 4, .microbatches = 6, .loads = loads, .layers_of_chunks = layers_of_stages};
    const auto chosen = floptally::run_pipelines(choices, model, eager, batch_of(lengths), bf16, {}, 12);
    check(chosen.times, expected);
    CHECK(chosen.microbatches == 18);
    // Replicas that are all alike run as one of them does.
    const auto alike =
        floptally::run_pipelines({.pp = 4, .replicas = 3, .microbatches = 6, .layers_of_chunks = layers_of_stages},
                                 model, eager, batch_of(lengths), bf16, {}, 12);
    check(alike.times, simulated({order}, [&](std::size_t, const pipeline_pass& pass) {
              return pass_length(pass, [&](pipeline_pass::kind what) {
                  return listed(lengths, layers_of_stages[pass.chunk], pass.chunk == 3, what, bf16, bf16);
              });
          }));
    CHECK(alike.microbatches == 18);
    const pipeline_times times(model, split, eager, bf16);
    const std::vector<std::uint64_t> idle = {0, 0};
    for (const std::vector<std::uint64_t>& none : {idle, std::vector<std::uint64_t>{}}) {
        CHECK(error_of([&] { static_cast<void>(times.of(batch_of(lengths), 6, none)); }) ==
              "rank_work: must have a load above 0 for at least one replica, got none");
    }
    // Loads are in any unit: of 2^60 too.
    std::vector<pipeline_run> in_large_units;
    const std::vector<std::uint64_t> large = {5U * (1ULL << 60U), 6U * (1ULL << 60U), 9U * (1ULL << 60U)};
    for (const auto& replica : times.of(batch_of(lengths), 6, large)) {
        in_large_units.push_back(order.run(replica));
    }
    check(rank_times::of(in_large_units), expected);
    CHECK(error_of([&] { static_cast<void>(times.of(batch_of(lengths), 0)); }) ==
          "microbatches: must be at least 1, got 0");
    CHECK(error_of([&] { static_cast<void>(pipeline_times(model, split, eager, 0)); }) ==
          "peak_tflops: must be a finite number above 0, got 0.000000");
}

TEST_CASE("times of pipelines with any schedule, split and number of replicas equal an event simulation") {
    const std::vector<model_part> model = small_model();
    std::mt19937_64 random(850);
    const auto up_to = [&](std::uint64_t most) { return random() % (most + 1); };
    std::size_t later = 0;
    for (int repeat = 0; repeat < 120; ++repeat) {
        const auto how = static_cast<pipeline_schedule>(repeat % 5);
        const bool has_chunks = how == pipeline_schedule::interleaved || how == pipeline_schedule::zb_v;
        const std::uint64_t pp = 1 + up_to(2);
        const std::uint64_t vpp = has_chunks ? 2 : 1;
        floptally::pipeline_choices choices{.pp = pp, .vpp = vpp, .schedule = how};
        std::uint64_t left = 7;
        for (std::uint64_t chunk = 0; chunk < pp * vpp; ++chunk) {
            choices.layers_of_chunks.push_back(chunk + 1 == pp * vpp ? left : up_to(std::min<std::uint64_t>(left, 3)));
            left -= choices.layers_of_chunks.back();
        }
        const std::uint64_t replicas = 1 + up_to(2);
        const std::uint64_t microbatches = how == pipeline_schedule::interleaved ? pp * (1 + up_to(2)) : 1 + up_to(6);
        std::vector<std::vector<lengths_list>> lengths(replicas, std::vector<lengths_list>(microbatches));
        tally whole = batch_of({});
        for (auto& replica : lengths) {
            std::vector<tally>& own = choices.batches.emplace_back();
            for (lengths_list& lengths_of_microbatch : replica) {
                lengths_of_microbatch = {static_cast<std::uint32_t>(1 + up_to(12)),
                                         static_cast<std::uint32_t>(1 + up_to(4))};
                own.push_back(batch_of(lengths_of_microbatch));
                whole += own.back();
            }
        }
        const std::vector<precision_setting> settings = {{.layers = index_range{0, 7}, .peak_tflops = fp8}};
        const auto result = floptally::run_pipelines(choices, model, eager, whole, bf16, settings, 2 * pp * replicas);
        CHECK(result.microbatches == replicas * microbatches);
        CHECK(result.times.ranks == pp * replicas);
        const auto run = [&](pipeline_schedule chosen_schedule, std::uint64_t of_vpp, std::size_t replica) {
            const std::uint64_t merged = vpp / of_vpp;  // chunks of a stage in forward order
            const auto length = [&](const pipeline_pass& pass, pipeline_pass::kind what) {
                double sum = 0;
                for (std::uint64_t chunk = pass.chunk * merged; chunk < (pass.chunk + 1) * merged; ++chunk) {
                    sum += listed(lengths[replica][pass.microbatch], choices.layers_of_chunks[chunk],
                                  chunk + 1 == pp * vpp, what, fp8, fp8);
                }
                return sum;
            };
            const bool split = splits_backward(chosen_schedule);
            std::vector<chunk_work> work;
            for (std::uint64_t microbatch = 0; microbatch < microbatches; ++microbatch) {
                for (std::uint64_t chunk = 0; chunk < pp * of_vpp; ++chunk) {
                    const auto of_kind = [&](pipeline_pass::kind what) {
                        return static_cast<std::uint64_t>(length({what, chunk, microbatch}, what));
                    };
                    work.push_back({of_kind(pipeline_pass::kind::forward), of_kind(pipeline_pass::kind::backward_data),
                                    of_kind(pipeline_pass::kind::backward_weights)});
                }
            }
            const pipeline_order order = pipeline_order::fitted(chosen_schedule, pp, of_vpp, microbatches, work);
            return pipeline_simulation::simulate(
                {order.ranks().begin(), order.ranks().end()}, order.chunks(), split, [&](const pipeline_pass& pass) {
                    return split ? length(pass, pass.type)
                                 : pass_length(pass, [&](pipeline_pass::kind what) { return length(pass, what); });
                });
        };
        double end = 0;
        double one_f_one_b = 0;
        double sum = 0;
        double largest = 0;
        for (std::size_t replica = 0; replica < replicas; ++replica) {
            const auto simulated_run = run(how, vpp, replica);
            end = std::max(end, simulated_run.makespan);
            one_f_one_b = std::max(one_f_one_b, run(pipeline_schedule::one_f_one_b, 1, replica).makespan);
            for (const double busy : simulated_run.busy) {
                sum += busy;
                largest = std::max(largest, busy);
            }
        }
        CAPTURE(repeat, pp, vpp, replicas, microbatches);
        const double mean = sum / static_cast<double>(pp * replicas);
        check(result.times, {mean / end, (largest - mean) / end, (end - largest) / end});
        REQUIRE(result.times.is_after_one_f_one_b == (end > one_f_one_b));
        later += result.times.is_after_one_f_one_b ? 1 : 0;
    }
    CHECK(later > 0);
    CHECK(later < 60);
}

TEST_CASE("a pipeline schedule uses its minimum number of model chunks per rank unless more are requested") {
    CHECK(floptally::pipeline_choices{}.chunks() == 1);
    CHECK(floptally::pipeline_choices{.schedule = pipeline_schedule::zb_v}.chunks() == 2);
    CHECK(floptally::pipeline_choices{.vpp = 4, .schedule = pipeline_schedule::zb_v}.chunks() == 4);
    CHECK(floptally::pipeline_choices{}.order() == pipeline_schedule::one_f_one_b);
    CHECK(floptally::pipeline_choices{.vpp = 1}.order() == pipeline_schedule::one_f_one_b);
    CHECK(floptally::pipeline_choices{.vpp = 2}.order() == pipeline_schedule::interleaved);
}

TEST_CASE("impossible pipeline settings are an error that names the field") {
    const std::vector<model_part> model = small_model();
    const auto refused = [&](const floptally::pipeline_choices& choices, std::uint64_t gpus = 8) {
        return error_of(
            [&] { static_cast<void>(floptally::run_pipelines(choices, model, eager, batch_of({7}), bf16, {}, gpus)); });
    };
    CHECK(refused({.pp = 0, .microbatches = 2}) == "pp: must be at least 1, got 0");
    CHECK(refused({.pp = 2, .vpp = 0, .microbatches = 2}) == "vpp: must be at least 1, got 0");
    CHECK(refused({.pp = 2, .replicas = 0, .microbatches = 2}) == "replicas: must be at least 1, got 0");
    CHECK(refused({.pp = 2}) == "microbatches: is missing: pass the number that each pipeline runs in a step");
    CHECK(refused({.pp = 7, .microbatches = 2})
              .starts_with("gpus: gpus - idle_gpus must be a multiple of pp x replicas = 7, got 8"));
    CHECK(refused({.pp = 2, .replicas = 3, .microbatches = 2, .loads = {1, 2}}, 6) ==
          "rank_work: must have a number for each of 3 replicas, got 2");
    CHECK(refused({.pp = 2, .loads = {1}, .batches = {{batch_of({7})}}}) ==
          "rank_work: cannot be passed with microbatches that already have the work of each replica: pass one of them");
    CHECK(refused({.pp = 2, .batches = {{batch_of({7})}, {}}}) ==
          "microbatches: must be at least 1, and the same number in each replica");
    CHECK(refused({.pp = 2, .replicas = 1, .batches = {{batch_of({7})}, {batch_of({7})}}}) ==
          "microbatches: must have one list for each of the 1 replicas, got 2");
    CHECK(refused({.pp = 2, .microbatches = 2, .batches = {{batch_of({7})}}}) ==
          "microbatches: must be 1, the number of each replica's batches, got 2");
    CHECK(refused({.pp = 2, .microbatches = 2, .layers_of_chunks = {7}}) ==
          "layers_of_chunks: must have 2 numbers, pp x vpp, got 1");
    CHECK(refused({.pp = 2,
                   .microbatches = 2,
                   .layers_of_chunks = {3, 4},
                   .split = {.account_for_loss_in_pipeline_split = true}}) ==
          "account_for_loss_in_pipeline_split: cannot be passed with layers_of_chunks, which already has the layers of "
          "each chunk: pass one of them");
    CHECK(error_of([] {
              static_cast<void>(floptally::run_pipelines({.microbatches = 1}, {}, eager, batch_of({7}), bf16, {}, 1));
          }) ==
          "pp: needs the layers of a model, but a cost alone has none: pass a model that was read from its config");
}

}  // namespace pipeline_times_test
