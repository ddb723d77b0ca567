// SPDX-License-Identifier: Apache-2.0
//
// A search against brute force: every layout of a small cluster, each counted alone by memory_of, communication_of,
// flop_counter on rank_parts and pipeline_order, without anything that layouts share.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/bytes/byte_counter.hpp>
#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>
#include <floptally/search/layout_named.hpp>
#include <floptally/search/layout_search.hpp>
#include <floptally/search/measured_step.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "sanitized.hpp"

namespace layout_search_test {
namespace {

using namespace floptally;
using nlohmann::json;

model_config dense_model(int layers) {
    return read_config(json::object({{"model_type", "llama"},
                                     {"hidden_size", 256},
                                     {"intermediate_size", 512},
                                     {"num_attention_heads", 8},
                                     {"num_key_value_heads", 4},
                                     {"num_hidden_layers", layers},
                                     {"vocab_size", 1024},
                                     {"tie_word_embeddings", false}}));
}
model_config expert_model() {
    return read_config(json::object({{"model_type", "mixtral"},
                                     {"hidden_size", 256},
                                     {"intermediate_size", 512},
                                     {"num_attention_heads", 8},
                                     {"num_key_value_heads", 4},
                                     {"num_hidden_layers", 4},
                                     {"num_local_experts", 4},
                                     {"num_experts_per_tok", 2},
                                     {"vocab_size", 1024}}));
}

/// A step of a search, with all that brute force needs.
struct question {
    model_config model;
    std::vector<std::uint64_t> lengths;
    training_plan plan{};
    memory_options memory{};
    training_cluster cluster{};
    trainer_habits trainer = trainers::megatron;

    [[nodiscard]] layout_predictor predictor() const {
        return {model.parts, model.cost.masks(), lengths, plan, memory, cluster, trainer};
    }
};

training_cluster cluster_of(std::uint64_t gpus, std::uint64_t node, double memory_gib) {
    training_cluster cluster{
        .gpus = gpus, .peak_tflops = 100, .efficiency = 0.5, .memory_gib = memory_gib, .memory_tbps = 2};
    cluster.network.within_nodes = 200;
    cluster.network.between_nodes = 20;
    cluster.network.gpus_per_node = node;
    return cluster;
}

/// The copies of tokens that cross links within and between nodes, for each copy that leaves its rank.
struct sent_copies {
    double inside = 0;
    double outside = 0;
};

/// Enumerates the pairs of experts that a token of the first rank can choose. The token goes once to each other node,
/// to the rank at its own place in the node. That rank copies it to others.
sent_copies copies_sent_once(const question& asked, const rank_group& group) {
    constexpr std::uint64_t experts = 4;
    const std::uint64_t node = asked.cluster.network.gpus_per_node;
    sent_copies sent;
    double copies = 0;
    for (std::uint64_t first = 0; first < experts; ++first) {
        for (std::uint64_t second = first + 1; second < experts; ++second) {
            std::vector<std::uint64_t> nodes;
            for (const std::uint64_t expert : {first, second}) {
                const std::uint64_t rank = group[expert * group.size() / experts];
                copies += rank != group[0] ? 1 : 0;
                if (rank / node == group[0] / node) {
                    sent.inside += rank != group[0] ? 1 : 0;
                    continue;
                }
                sent.inside += rank % node != group[0] % node ? 1 : 0;
                if (std::find(nodes.begin(), nodes.end(), rank / node) == nodes.end()) {
                    nodes.push_back(rank / node);
                }
            }
            sent.outside += static_cast<double>(nodes.size());
        }
    }
    return {sent.inside / copies, sent.outside / copies};
}

/// Returns the parts of a rank once for each layer, and once for what is outside of layers. In each of these lists all
/// other parts are elsewhere.
std::vector<std::vector<model_part>> layers_alone(const std::vector<model_part>& parts) {
    std::vector<model_part> apart;
    std::set<std::uint64_t> layers{no_layer};
    for_each_run(parts, [&](std::span<const model_part> run) {
        const bool is_layer = run.front().first_layer != no_layer;
        for (std::uint64_t i = 0; i < (is_layer ? run.front().repeat : 1); ++i) {
            for (const model_part& part : run) {
                apart.push_back(part);
                apart.back().repeat = is_layer ? 1 : part.repeat;
                apart.back().first_layer += is_layer ? i : 0;
                layers.insert(apart.back().first_layer);
            }
        }
    });
    std::vector<std::vector<model_part>> all;
    for (const std::uint64_t layer : layers) {
        std::vector<model_part>& own = all.emplace_back(apart);
        for (model_part& part : own) {
            part.elsewhere = part.elsewhere || part.first_layer != layer;
        }
    }
    return all;
}

struct plain_prediction {
    std::uint64_t bytes = 0;
    double seconds = 0;
};

/// The memory and time of a layout, from the library's counts of each of its ranks alone.
plain_prediction predicted_alone(const question& asked, const training_layout& layout) {
    const parallel_sizes& sizes = layout.sizes;
    training_plan plan = asked.plan;
    plan.recomputed = layout.recomputed;
    memory_options memory = asked.memory;
    memory.sharded = layout.sharded;
    memory.microbatches = layout.microbatches;
    memory.schedule = layout.schedule;
    memory.token_ranks = sizes.cp;
    memory.ranks.tensor.sequence_parallel = layout.sequence_parallel;
    memory.ranks.pipeline.layers = asked.trainer.layers;
    const auto lengths_of = [&](std::uint64_t index) {
        const auto first = asked.lengths.begin() + static_cast<std::ptrdiff_t>(index * layout.microbatch);
        return std::vector<std::uint64_t>(first, first + static_cast<std::ptrdiff_t>(layout.microbatch));
    };
    const auto tally_of = [&](std::uint64_t index) {
        tally batch(asked.model.cost.masks());
        batch.add_lengths(lengths_of(index));
        return batch;
    };
    const std::uint64_t count = sizes.dp * layout.microbatches;
    std::uint64_t fullest = 0;
    const auto tokens = [](const tally& batch) { return batch.get(view::padded, accumulator::tokens); };
    for (std::uint64_t i = 1; i < count; ++i) {
        fullest = tokens(tally_of(i)) > tokens(tally_of(fullest)) ? i : fullest;
    }
    const tally most = tally_of(fullest);
    plain_prediction result;
    // Memory of each stage, and what it sends of weights and gradients.
    const parallel_layout real(sizes, sizes.world_size(), 0);
    communication_options sends{.ranks = memory.ranks,
                                .sharded = layout.sharded,
                                .microbatches = layout.microbatches,
                                .token_ranks = sizes.cp,
                                .bits = memory.bits,
                                .gpus_per_node = asked.cluster.network.gpus_per_node};
    std::vector<rank_memory> held;
    for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
        held.push_back(memory_of(asked.model.parts, most, real.at(real.rank_of({.pp = stage})), plan, memory));
        result.bytes = std::max(result.bytes, held.back().total());
    }
    // Passes of each chunk, as if every chunk had ranks of its own.
    const std::uint64_t chunks = sizes.pp * sizes.vpp;
    parallel_sizes apart = sizes;
    apart.pp = chunks;
    apart.vpp = 1;
    rank_options options = memory.ranks;
    const pipeline_split split = split_of(asked.model.parts, sizes, memory.ranks);
    for (const index_range& chunk : split.chunks()) {
        options.layers_of_chunks.push_back(chunk.size());
    }
    const std::vector<precision_setting> settings =
        asked.cluster.other_peak_tflops == 0
            ? std::vector<precision_setting>{}
            : settings_of_other_components(asked.model.parts, asked.cluster.other_peak_tflops);
    const double efficiency = asked.cluster.efficiency;
    const auto seconds_between = [&](const communicated_bytes& entry) {
        const double all = to_double(flops{entry.expected()});
        const double between = to_double(flops{*entry.between_nodes});
        double inside = all - between;
        double outside = between;
        if (entry.operation == collective::all_to_all && between > 0 && asked.trainer.sends_token_once) {
            const sent_copies sent = copies_sent_once(asked, real.group(parallel_axis::ep));
            inside = all * sent.inside;
            outside = all * sent.outside;
        }
        return std::max(inside / *asked.cluster.network.within_nodes, outside / *asked.cluster.network.between_nodes) /
               1e9;
    };
    const auto is_of_activations = [](const communicated_bytes& entry) {
        const bool is_data = entry.over == parallel_axis::dp || entry.over == parallel_axis::expert_dp ||
                             entry.over == parallel_axis::dp_replicate;
        const bool sums_copies = entry.operation == collective::all_reduce && entry.during == phase::backward_weights;
        return !is_data && !sums_copies;
    };
    const parallel_layout chunk_layout(apart, apart.world_size(), 0);
    const auto count_chunk = [&](std::uint64_t chunk, std::uint64_t index, double(&passes)[3], double(&cores)[3]) {
        const tally batch = tally_of(index);
        const std::vector<std::uint64_t> lengths = lengths_of(index);
        const parallel_layout rank = chunk_layout.at(chunk_layout.rank_of({.pp = chunk}));
        const std::vector<model_part> parts = rank_parts(asked.model.parts, rank, options);
        for (const std::vector<model_part>& layer : layers_alone(parts)) {
            std::map<std::string, std::array<double, 4>> products;
            const breakdown work = flop_counter(layer, conventions::exact, plan).evaluate(batch);
            for (const component_flops& component : work.components()) {
                double peak = asked.cluster.peak_tflops;
                for (const precision_setting& setting : settings) {
                    peak = component.name.view() == setting.component ? setting.peak_tflops : peak;
                }
                for (std::size_t during = 0; during < 4; ++during) {
                    products[std::string(component.name.view())][during] =
                        to_double(component.get(view::executed, static_cast<phase>(during))) / (peak * 1e12) /
                        efficiency / static_cast<double>(sizes.cp);
                }
            }
            // Half the bits at twice the peak, as FP8 has against BF16.
            byte_counter counter(layer, plan,
                                 settings.empty() ? element_bits{} : element_bits{.weights = 8, .activations = 8});
            counter.add_lengths(lengths);
            for (const component_bytes& component : counter.count().components) {
                std::array<double, 4>& time = products[std::string(component.name.view())];
                for (std::size_t during = 0; during < 4; ++during) {
                    const auto of = [&](byte_kind kind) {
                        return to_double(flops{component.get(static_cast<phase>(during), kind)});
                    };
                    const double bytes = of(byte_kind::weights) + of(byte_kind::gradients) +
                                         of(byte_kind::activations) / static_cast<double>(sizes.cp);
                    time[during] = std::max(time[during], bytes / (*asked.cluster.memory_tbps * 1e12));
                }
            }
            for (const auto& [name, time] : products) {
                const auto of = [&time = time](phase during) { return time[static_cast<std::size_t>(during)]; };
                const double own[3] = {of(phase::forward), of(phase::backward_data) + of(phase::recompute),
                                       of(phase::backward_weights)};
                for (std::size_t pass = 0; pass < 3; ++pass) {
                    passes[pass] += own[pass];
                    cores[pass] += name == "attention.core" ? own[pass] : 0;
                }
            }
        }
    };
    // Chunks and microbatches that are alike need counting once.
    std::map<std::pair<std::uint64_t, std::vector<std::uint64_t>>, std::array<std::array<double, 3>, 2>> known;
    const auto work_of_chunk = [&](std::uint64_t chunk, std::uint64_t index, double(&passes)[3], double(&cores)[3]) {
        const auto [found, is_new] = known.try_emplace({chunk, lengths_of(index)});
        if (is_new) {
            double own[3] = {};
            double own_cores[3] = {};
            count_chunk(chunk, index, own, own_cores);
            std::copy_n(own, 3, found->second[0].begin());
            std::copy_n(own_cores, 3, found->second[1].begin());
        }
        std::copy_n(found->second[0].begin(), 3, passes);
        std::copy_n(found->second[1].begin(), 3, cores);
    };
    std::vector<std::array<double, 3>> exposed(chunks);
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
        communication_options of_chunk = sends;
        of_chunk.ranks = options;
        of_chunk.microbatches = 1;
        const communication sent = communication_of(
            asked.model.parts, most, chunk_layout.at(chunk_layout.rank_of({.pp = chunk})), plan, of_chunk);
        double passes[3] = {};
        double cores[3] = {};
        work_of_chunk(chunk, fullest, passes, cores);
        for (std::size_t pass = 0; pass < 3; ++pass) {
            double hidden = 0;
            for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
                double seconds = 0;
                for (const communicated_bytes& entry : sent.entries) {
                    const std::size_t own = entry.during == phase::forward            ? 0
                                            : entry.during == phase::backward_weights ? 2
                                                                                      : 1;
                    if (is_of_activations(entry) && own == pass && static_cast<std::size_t>(entry.over) == axis) {
                        seconds += seconds_between(entry);
                    }
                }
                const auto over = static_cast<parallel_axis>(axis);
                if (over == parallel_axis::pp) {
                    exposed[chunk][pass] +=
                        seconds * (1 - (sizes.vpp > 1 ? asked.trainer.hidden_interleaved : asked.trainer.hidden[axis]));
                    continue;
                }
                const double most_hidden = over == parallel_axis::cp   ? cores[pass]
                                           : over == parallel_axis::tp ? passes[pass] - cores[pass]
                                                                       : passes[pass] - hidden;
                const double behind = std::min(seconds * asked.trainer.hidden[axis], std::max(most_hidden, 0.0));
                exposed[chunk][pass] += seconds - behind;
                hidden += behind;
            }
        }
    }
    std::uint64_t longest = 0;
    for (std::uint64_t replica = 0; replica < sizes.dp; ++replica) {
        std::vector<chunk_work> work;
        for (std::uint64_t i = 0; i < layout.microbatches; ++i) {
            const tally batch = tally_of(i * sizes.dp + replica);
            const double part = static_cast<double>(tokens(batch)) / static_cast<double>(tokens(most));
            for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
                double passes[3] = {};
                double cores[3] = {};
                work_of_chunk(chunk, i * sizes.dp + replica, passes, cores);
                const auto units = [&](std::size_t pass) {
                    return static_cast<std::uint64_t>(
                        std::llround(1e12 * (passes[pass] + exposed[chunk][pass] * part)));
                };
                work.push_back({units(0), units(1), units(2)});
            }
        }
        longest = std::max(
            longest,
            pipeline_order::fitted(layout.schedule, sizes.pp, sizes.vpp, layout.microbatches, work).run(work).makespan);
    }
    double after = 0;
    for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
        tally step(asked.model.cost.masks());
        for (std::uint64_t i = 0; i < layout.microbatches; ++i) {
            step += most;
        }
        const communication sent =
            communication_of(asked.model.parts, step, real.at(real.rank_of({.pp = stage})), plan, sends);
        double forward = 0;
        double backward = 0;
        for (std::uint64_t chunk = stage; chunk < chunks; chunk += sizes.pp) {
            double passes[3] = {};
            double cores[3] = {};
            work_of_chunk(chunk, fullest, passes, cores);
            forward += passes[0] + exposed[chunk][0];
            backward += passes[1] + passes[2] + exposed[chunk][1] + exposed[chunk][2];
        }
        const double m = static_cast<double>(layout.microbatches);
        const bool each = layout.sharded >= zero_stage::gradients;
        double shown = 0;
        for (std::size_t axis = 0; axis < parallel_axis_count; ++axis) {
            double seconds[3] = {};  // gradients, weights, once
            for (const communicated_bytes& entry : sent.entries) {
                const auto over = static_cast<parallel_axis>(axis);
                if (entry.over == over && !is_of_activations(entry)) {
                    const bool is_once = over == parallel_axis::tp || over == parallel_axis::pp;
                    seconds[is_once ? 2 : entry.operation == collective::all_gather ? 1 : 0] += seconds_between(entry);
                }
            }
            const double hidden = asked.trainer.hidden[axis];
            const double weights_behind = layout.sharded == zero_stage::weights ? (forward + backward) * m : forward;
            shown += std::max(seconds[0] * (1 - hidden), seconds[0] - backward * (each ? m : 1)) +
                     std::max(seconds[1] * (1 - hidden), seconds[1] - weights_behind) + seconds[2];
        }
        after = std::max(after, shown + static_cast<double>(held[stage].optimizer_moved) / 2e12);
    }
    result.seconds = static_cast<double>(longest) * 1e-12 + after;
    return result;
}

/// Every layout of a cluster, by loops over all sizes.
std::vector<training_layout> every_layout(const question& asked, std::uint64_t experts, std::uint64_t layers,
                                          std::uint64_t most_microbatch) {
    const std::uint64_t gpus = asked.cluster.gpus;
    const std::uint64_t node = asked.cluster.network.gpus_per_node;
    std::vector<training_layout> all;
    for (std::uint64_t tp = 1; tp <= std::min(gpus, node); ++tp) {
        for (std::uint64_t cp = 1; cp <= gpus; ++cp) {
            for (std::uint64_t pp = 1; pp <= gpus; ++pp) {
                for (std::uint64_t dp = 1; dp <= gpus; ++dp) {
                    for (std::uint64_t vpp = 1; vpp <= layers; ++vpp) {
                        for (std::uint64_t ep = 1; ep <= experts; ++ep) {
                            for (std::uint64_t etp = 1; etp <= tp; ++etp) {
                                for (std::uint64_t mb = 1; mb <= most_microbatch; ++mb) {
                                    const bool divides = dp * cp * tp * pp == gpus && (etp == 1 || etp == tp) &&
                                                         experts % ep == 0 && dp * cp * tp % (ep * etp) == 0 &&
                                                         asked.lengths.size() % (dp * mb) == 0 &&
                                                         (vpp == 1 || (pp > 1 && layers % (pp * vpp) == 0)) &&
                                                         pp <= layers + 2 && (experts > 1 || etp == tp);
                                    if (!divides) {
                                        continue;
                                    }
                                    for (const recompute again :
                                         {recompute::none, recompute::attention, recompute::full}) {
                                        all.push_back({.sizes = {.dp = dp,
                                                                 .cp = cp,
                                                                 .tp = tp,
                                                                 .pp = pp,
                                                                 .vpp = vpp,
                                                                 .ep = ep,
                                                                 .etp = etp},
                                                       .microbatch = mb,
                                                       .microbatches = asked.lengths.size() / (dp * mb),
                                                       .recomputed = again,
                                                       .schedule = vpp > 1 ? pipeline_schedule::interleaved
                                                                           : pipeline_schedule::one_f_one_b,
                                                       .sequence_parallel = tp > 1});
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
    return all;
}

/// Compares a search with brute force, layout by layout, and the numbers of layouts. Returns how many layouts fit.
std::size_t compare(const question& asked, std::uint64_t experts, std::uint64_t layers, std::uint64_t most_microbatch) {
    layout_predictor predictor = asked.predictor();
    const layout_search search = search_layouts(predictor, {.largest_microbatch = most_microbatch, .least_context = 1});
    std::size_t fitting = 0;
    std::size_t too_large = 0;
    std::size_t impossible = 0;
    std::vector<double> seconds;
    std::size_t number = 0;
    for (const training_layout& layout : every_layout(asked, experts, layers, most_microbatch)) {
        if (skipped_when_sanitized(number++, 10)) {
            continue;
        }
        INFO(to_string(layout));
        plain_prediction alone;
        try {
            alone = predicted_alone(asked, layout);
        } catch (const error&) {
            ++impossible;
            continue;
        }
        CHECK(predictor.fit(layout).held.total() == alone.bytes);
        const auto found = std::find_if(search.found.begin(), search.found.end(),
                                        [&](const layout_prediction& one) { return one.layout == layout; });
        const bool fits = static_cast<double>(alone.bytes) / 1073741824 <= asked.cluster.memory_gib;
        CHECK(fits == (found != search.found.end()));
        too_large += fits ? 0 : 1;
        if (fits && found != search.found.end()) {
            ++fitting;
            CHECK(std::abs(found->seconds / alone.seconds - 1) < 1e-6);
            CHECK(found->bound <= found->seconds);
            seconds.push_back(alone.seconds);
        }
    }
    if (is_sanitized) {
        return search.found.size();
    }
    CHECK(search.found.size() == fitting);
    CHECK(search.too_large == too_large);
    CHECK(search.impossible == impossible);
    std::sort(seconds.begin(), seconds.end());
    for (std::size_t i = 0; i < search.found.size() && i < seconds.size(); ++i) {
        CHECK(std::abs(search.found[i].seconds / seconds[i] - 1) < 2e-5);
    }
    return fitting;
}

}  // namespace

TEST_CASE("a layout search finds the same layouts as brute force over all layouts of eight GPUs") {
    const question asked{
        .model = dense_model(4), .lengths = std::vector<std::uint64_t>(8, 1024), .cluster = cluster_of(8, 4, 0.1)};
    CHECK(compare(asked, 1, 4, 2) > 50);
}

TEST_CASE("a layout search for a model with experts finds the same layouts as brute force") {
    question asked{
        .model = expert_model(), .lengths = std::vector<std::uint64_t>(4, 1024), .cluster = cluster_of(4, 2, 0.5)};
    asked.cluster.other_peak_tflops = 50;
    CHECK(compare(asked, 4, 4, 1) > 50);
}

TEST_CASE("a layout search with sequences of different lengths finds the same layouts as brute force") {
    const question asked{
        .model = dense_model(4), .lengths = {1024, 64, 512, 512, 256, 768, 128, 960}, .cluster = cluster_of(4, 4, 0.1)};
    CHECK(compare(asked, 1, 4, 2) > 20);
}

TEST_CASE("a layout search for LoRA in some of the layers finds the same layouts as brute force") {
    question asked{
        .model = dense_model(4), .lengths = std::vector<std::uint64_t>(4, 512), .cluster = cluster_of(4, 4, 0.1)};
    asked.plan.weights = {
        {.weights = "*", .state = weight_state::frozen},
        {.weights = "mlp", .state = weight_state::lora, .rank = 8, .first_layer = 1, .last_layer = 2}};
    CHECK(compare(asked, 1, 4, 1) > 10);
}

TEST_CASE("a predicted step with sharded weights and replicas equals a separate prediction for each rank") {
    question asked{.model = dense_model(6),
                   .lengths = std::vector<std::uint64_t>(16, 512),
                   .cluster = cluster_of(16, 4, 80),
                   .trainer = trainers::torchtitan};
    layout_predictor predictor = asked.predictor();
    const layout_search search =
        search_layouts(predictor, {.recomputed = recompute::none, .largest_microbatch = 1, .least_context = 1});
    CHECK(search.found.size() > 20);
    std::size_t with_replicas = 0;
    for (std::size_t i = 0; i < search.found.size(); i += is_sanitized ? 12 : 3) {
        const layout_prediction& found = search.found[i];
        INFO(to_string(found.layout));
        const plain_prediction alone = predicted_alone(asked, found.layout);
        CHECK(found.memory.held.total() == alone.bytes);
        CHECK(std::abs(found.seconds / alone.seconds - 1) < 1e-6);
        with_replicas += found.layout.sizes.dp_replicate > 1 ? 1 : 0;
    }
    CHECK(with_replicas > (is_sanitized ? 0 : 3));
}

TEST_CASE("a layout whose ranks and microbatches do not add up to the global batch is refused") {
    const question asked{
        .model = dense_model(4), .lengths = std::vector<std::uint64_t>(8, 1024), .cluster = cluster_of(4, 4, 80)};
    layout_predictor predictor = asked.predictor();
    CHECK(error_of([&] { return predictor.fit({.sizes = {.dp = 4}, .microbatch = 1, .microbatches = 3}); }) ==
          "global_batch: must be dp x microbatch x accumulation, got 8 for 4 x 1 x 3");
    CHECK(error_of([&] { return predictor.fit({.sizes = {.dp = 2}, .microbatches = 4}); }) ==
          "layout: has dp x cp x tp x pp = 2 ranks for 4 GPUs: change one of them");
}

TEST_CASE(
    "the explanation of a layout says which size does not divide, how many GiB it lacks, or its place in the results") {
    const question asked{
        .model = dense_model(4), .lengths = std::vector<std::uint64_t>(8, 1024), .cluster = cluster_of(8, 8, 0.02)};
    layout_predictor predictor = asked.predictor();
    const layout_search search = search_layouts(predictor);
    const auto says = [&](const training_layout& layout) { return explain(predictor, search, layout); };
    CHECK(says({.sizes = {.dp = 1, .tp = 8}, .microbatches = 8, .sequence_parallel = true}).find("fits, and a step") !=
          std::string::npos);
    CHECK(says({.sizes = {.dp = 1, .pp = 8}, .microbatches = 8}).find("impossible. layers: ") != std::string::npos);
    CHECK(says({.sizes = {.dp = 8}, .sharded = zero_stage::none}).find("does not fit. A rank of stage 0 needs ") !=
          std::string::npos);
    CHECK(says(search.found.front().layout).find("; 0 of ") != std::string::npos);
}

TEST_CASE("a predictor with the efficiency of a measured step predicts the measured time") {
    const question asked{
        .model = dense_model(4), .lengths = std::vector<std::uint64_t>(8, 1024), .cluster = cluster_of(8, 4, 80)};
    layout_predictor predictor = asked.predictor();
    const training_layout layout = training_layout_named("tp=2, pp=2, microbatches=2, recompute=full", predictor);
    CHECK(layout.sizes.dp == 2);
    CHECK(layout.microbatch == 2);
    CHECK(layout.microbatches == 2);
    const layout_prediction before = predictor.predict(layout);
    const measured_step same = fit_efficiency(predictor, layout, before.seconds);
    CHECK(std::abs(same.efficiency - 0.5) < 1e-6);  // times are whole picoseconds
    const double slower = 1.3 * before.seconds;
    const measured_step measured = fit_efficiency(predictor, layout, slower);
    CHECK(measured.efficiency < 0.5);
    CHECK(measured.predicted.seconds == slower);
    CHECK(measured.predicted.layout == layout);
    CHECK(std::abs(measured.predicted.mfu / before.mfu - 1 / 1.3) < 1e-9);
    CHECK(std::abs(predictor.predict(layout).seconds / slower - 1) < 1e-6);
    CHECK(predictor.cluster().efficiency == measured.efficiency);
    CHECK(error_of([&] { return fit_efficiency(predictor, layout, 1e-6); }).find("seconds: is 1e-06, less than the ") ==
          0);
    CHECK(error_of([&] { return fit_efficiency(predictor, layout, 1e6); }).find("seconds: is 1e+06, more than the ") ==
          0);
    CHECK(error_of([&] {
              return fit_efficiency(predictor, layout, 0);
          }).find("seconds: must be a finite number above 0") == 0);
    CHECK(error_of([&] { return training_layout_named("schedule=x", predictor, {}, "layout"); }) ==
          "layout: schedule must be one of gpipe, 1f1b, interleaved, zero_bubble, zb_v, got \"x\"");
}

TEST_CASE("the Pareto front has the fastest layout and each layout that needs less memory than all faster ones") {
    const question asked{
        .model = dense_model(4), .lengths = std::vector<std::uint64_t>(8, 1024), .cluster = cluster_of(8, 4, 1)};
    layout_predictor predictor = asked.predictor();
    const layout_search search = search_layouts(predictor);
    const std::vector<std::size_t> front = search.pareto_front();
    REQUIRE(!front.empty());
    CHECK(front.front() == 0);
    for (std::size_t i = 0; i < search.found.size(); ++i) {
        const bool is_beaten =
            std::any_of(search.found.begin(), search.found.begin() + static_cast<std::ptrdiff_t>(i),
                        [&](const layout_prediction& other) { return other.memory.gib <= search.found[i].memory.gib; });
        CHECK(is_beaten == (std::find(front.begin(), front.end(), i) == front.end()));
    }
}

TEST_CASE("the fastest layout of a search is written as a trainer's settings and read back equal") {
    const question asked{
        .model = dense_model(6), .lengths = std::vector<std::uint64_t>(8, 1024), .cluster = cluster_of(8, 8, 80)};
    layout_predictor predictor = asked.predictor();
    const training_layout layout{.sizes = {.dp = 1, .tp = 2, .pp = 4},
                                 .microbatches = 8,
                                 .recomputed = recompute::full,
                                 .sequence_parallel = true};
    const std::string text = settings_of(predictor, layout, layout_format::megatron);
    CHECK(read_layout(text).sizes == layout.sizes);
    CHECK(text.find("--micro-batch-size 1 --global-batch-size 8 --recompute-granularity full") != std::string::npos);
    CHECK(text.find("--pipeline-model-parallel-layout 'Et*1|t*2|t*2|t*1L'") != std::string::npos);
    CHECK(read_layout(settings_of(predictor, layout, layout_format::torchtitan)).sizes == layout.sizes);
    CHECK(read_layout(settings_of(predictor, layout, layout_format::areal)).sizes == layout.sizes);
}

}  // namespace layout_search_test
