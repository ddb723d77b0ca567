// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/floptally.hpp>
#include <floptally/input.hpp>
#include <floptally/json.hpp>
#include <floptally/layout.hpp>
#include <floptally/pipeline.hpp>
#include <floptally/report.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// Reads the ranks of a step from the options: the work of each, or the pipelines that they form.

namespace program {

/// Options about ranks. The other step of `whatif` may change them.
inline constexpr const char* rank_options[][3] = {
    {"idle-gpus", "how many of --gpus run none of the work", "N"},
    {"rank-work", "work of each rank, in any unit; with --pp, of each replica", "5,6,5,9"},
    {"pp", "pipeline ranks", "N"},
    {"vpp", "chunks of layers on each pipeline rank", "N"},
    {"microbatches", "microbatches of each pipeline in the step", "N"},
    {"schedule", "gpipe, 1f1b, interleaved, zero_bubble (ZB-H1) or zb_v", "NAME"},
    {"replicas", "number of parallel pipelines", "N"},
    {"tp", "tensor parallel ranks of each stage", "N"},
    {"sequence-parallel", "true: replicated weights run on each tensor parallel rank's share of the tokens", "true"},
    {"cp", "context parallel ranks that share a sequence", "N"},
    {"ep", "ranks that share the experts; they are ranks of dp x cp x tp", "N"},
    {"etp", "tensor parallel ranks of each expert (default: tp)", "N"},
    {"layout", "attention and experts over the same ranks as AReaL writes them, or a trainer's settings",
     "attn:d1p1t2c4|ffn:d1p1t1e8"},
    {"gpus-per-node", "consecutive ranks on one node, to tell bytes within and between nodes apart", "8"},
    {"cp-split", "zigzag within each slot, zigzag_pack over the whole pack, or contiguous", "HOW"},
    {"micro-batch-size", "sequences of a microbatch, sharded in Megatron-LM's order: each then has its own work", "N"},
    {"layers-of-chunks", "layers of each chunk of the pipeline, in forward order", "9,8,8,7"},
    {"num-layers-in-first-pipeline-stage", "layers of the first stage, as in Megatron-LM", "N"},
    {"num-layers-in-last-pipeline-stage", "layers of the last stage, as in Megatron-LM", "N"},
    {"account-for-embedding-in-pipeline-split", "true if the embedding takes the place of a layer", "true"},
    {"account-for-loss-in-pipeline-split", "true if the lm_head takes the place of a layer", "true"},
    {"pipeline-model-parallel-layout", "layout text of Megatron-LM, which places embedding, layers, loss and MTP",
     "Et*3|(tt|)*29,m|L"},
    {"layer-split", "how to split layers that no other option places: automatic, even or torchtitan", "automatic"}};

inline std::vector<std::uint64_t> parse_loads(const std::string& text, const std::string& field) {
    std::vector<std::uint64_t> loads;
    for (const std::int64_t load : parse_integers(text, field)) {
        if (load < 0) {
            throw error(floptally::indexed(field, loads.size()), fmt::format("must be at least 0, got {}", load));
        }
        loads.push_back(static_cast<std::uint64_t>(load));
    }
    return loads;
}

inline std::uint64_t gpus_per_node_of(const arguments& args) {
    const auto text = args.text("gpus-per-node");
    return text ? parse_count(*text, "gpus_per_node", 1, std::uint64_t{1} << 20U) : 0;
}

/// The layout of experts: ep and etp.
inline floptally::parallel_sizes expert_sizes(const arguments& args) {
    const auto count = [&args](const char* option, std::uint64_t absent) {
        const auto text = args.text(option);
        return text ? parse_count(*text, option, 1, std::uint64_t{1} << 20U) : absent;
    };
    return {.ep = count("ep", 1), .etp = count("etp", 0)};
}

/// An option, and the size of a layout that it gives. The first four arrange pipelines, the others the ranks of a
/// stage.
using size_option = std::pair<const char*, std::uint64_t floptally::parallel_sizes::*>;
inline constexpr size_option size_options[] = {
    {"dp", &floptally::parallel_sizes::dp}, {"dp-replicate", &floptally::parallel_sizes::dp_replicate},
    {"pp", &floptally::parallel_sizes::pp}, {"vpp", &floptally::parallel_sizes::vpp},
    {"tp", &floptally::parallel_sizes::tp}, {"cp", &floptally::parallel_sizes::cp},
    {"ep", &floptally::parallel_sizes::ep}, {"etp", &floptally::parallel_sizes::etp}};

/// Adds the sizes of --layout to the options. Throws if an option says another size than the layout.
inline arguments with_layout(const arguments& args, const floptally::trainer_layout& layout,
                             std::span<const size_option> sizes = size_options) {
    std::map<std::string, std::string> values;
    for (const auto& [option, size] : sizes) {
        const std::uint64_t said = layout.sizes.*size;
        if (const auto own = args.text(option); own && *own != std::to_string(said)) {
            throw error(arguments::field(option),
                        fmt::format("is {}, but the layout says {}: leave one of them out", *own, said));
        }
        if (said != 1 || size == &floptally::parallel_sizes::etp) {  // 1 is what an absent option means, but for etp
            values[option] = std::to_string(said);
        }
    }
    return args.with(values);
}

/// The layout of --layout; nullopt without it. `ranks` is the number of all ranks where the command knows it.
inline std::optional<floptally::trainer_layout> layout_of(const arguments& args, std::optional<std::uint64_t> ranks) {
    const auto text = args.text("layout");
    if (!text) {
        return {};
    }
    floptally::trainer_layout layout = floptally::read_layout(*text, ranks);
    layout.sizes.etp = layout.sizes.expert_tp();
    return layout;
}

/// The options of a step with the sizes of --layout: data parallel ranks are the pipelines of the step.
inline arguments with_layout_of_step(const arguments& args) {
    using floptally::parallel_sizes;
    const std::uint64_t gpus = args.text("gpus") ? gpus_of(args) : 1;
    const auto idle = args.text("idle-gpus");
    const std::uint64_t working = gpus - (idle ? parse_count(*idle, "idle_gpus", 0, gpus - 1) : 0);
    const auto layout = layout_of(args, working);
    static constexpr size_option of_pipelines[] = {
        {"replicas", &parallel_sizes::dp}, {"pp", &parallel_sizes::pp}, {"vpp", &parallel_sizes::vpp}};
    const arguments with_stage = layout ? with_layout(args, *layout, std::span(size_options).subspan(4)) : args;
    const arguments step =
        layout && layout->sizes.pp != 1 ? with_layout(with_stage, *layout, of_pipelines) : with_stage;
    if (step.text("ep") || step.text("etp")) {
        const auto count = [&step](const char* option) {
            return parse_count(step.text(option).value_or("1"), option, 1, std::uint64_t{1} << 20U);
        };
        parallel_sizes sizes = expert_sizes(step);
        sizes.cp = count("cp");
        sizes.tp = count("tp");
        sizes.pp = count("pp");
        const std::uint64_t of_replica = std::uint64_t{floptally::checked(sizes.cp, "gpus") * sizes.tp * sizes.pp};
        if (working % of_replica != 0) {
            throw error("gpus", fmt::format("must be a multiple of cp x tp x pp = {}, got {}", of_replica, working));
        }
        sizes.dp = working / of_replica;
        static_cast<void>(
            floptally::parallel_layout(sizes, working, 0));  // throws where experts do not divide the ranks
    }
    return step;
}

/// The options for an even split of layers.
inline floptally::pipeline_options split_options(const arguments& args) {
    const auto layers_in = [&](const char* option) {
        return parse_count(args.text(option).value_or("0"), arguments::field(option), 0, 100'000);
    };
    const auto accounts = [&](const char* option) {
        return args.text(option) && args.choice(option, {"true", "false"}) == 0;
    };
    return {.num_layers_in_first_pipeline_stage = layers_in("num-layers-in-first-pipeline-stage"),
            .num_layers_in_last_pipeline_stage = layers_in("num-layers-in-last-pipeline-stage"),
            .account_for_embedding_in_pipeline_split = accounts("account-for-embedding-in-pipeline-split"),
            .account_for_loss_in_pipeline_split = accounts("account-for-loss-in-pipeline-split"),
            .pipeline_model_parallel_layout = args.text("pipeline-model-parallel-layout").value_or(""),
            .layers = static_cast<floptally::layer_split>(args.choice("layer-split", floptally::layer_split_names))};
}

/// The batch of each microbatch of each replica. Microbatch m of replica r has the samples from (m x replicas + r) x
/// size, as Megatron-LM shards them.
inline std::vector<std::vector<floptally::tally>> sharded_batches(const arguments& args,
                                                                  const floptally::model_config& model,
                                                                  std::uint64_t replicas, std::uint64_t size) {
    const read_input input(args);
    const floptally::model_input& all = input.get();
    if (all.lengths.size() != 1 || all.formats() != 1 || !all.measured.empty()) {
        throw error("micro_batch_size",
                    "splits only --lengths or --lengths-file into microbatches: leave other batch options out");
    }
    const floptally::model_input::list& list = all.lengths.front();
    const std::vector<std::uint64_t> lengths =
        list.lengths.visit([](const auto& numbers) { return floptally::detail::nonnegative(numbers, "lengths"); });
    if (lengths.size() % (replicas * size) != 0) {
        throw error("micro_batch_size",
                    fmt::format("micro_batch_size x {} replicas must divide the {} sequences, got {}", replicas,
                                lengths.size(), size));
    }
    std::vector<std::vector<floptally::tally>> batches(replicas);
    for (std::size_t first = 0; first < lengths.size(); first += size) {
        floptally::model_input part;
        const std::span<const std::uint64_t> own(lengths.data() + first, size);
        part.lengths.push_back({list.field, own, list.row_length});
        floptally::tally& batch = batches[first / size % replicas].emplace_back(model.cost.masks());
        floptally::add_input(part, model, batch, spelling);
    }
    return batches;
}

/// The work of the ranks of tensor and context parallelism; nullopt without both options.
inline std::optional<floptally::layout_work> read_layout(const arguments& args, const floptally::model_config& model,
                                                         const floptally::report& counted,
                                                         const std::vector<floptally::precision_setting>& settings) {
    constexpr std::uint64_t most = std::uint64_t{1} << 16U;
    const auto count = [&args](const char* option) {
        const auto text = args.text(option);
        return text ? parse_count(*text, option, 1, most) : 1;
    };
    for (const auto& [option, needs] : {std::pair("sequence-parallel", "tp"), {"cp-split", "cp"}}) {
        if (args.text(option) && !args.text(needs)) {
            throw error(needs, fmt::format("is missing: pass --{}, which --{} needs", needs, option));
        }
    }
    if (!args.text("tp") && !args.text("cp")) {
        return {};
    }
    if (args.text("rank-work") && !args.text("pp")) {
        throw error("rank_work",
                    "cannot be passed with --tp or --cp, which determine the work of each rank: leave it out");
    }
    std::vector<floptally::tally> shares{counted.batch};
    if (args.text("cp")) {
        floptally::context_shards shards(
            model.cost.masks(), count("cp"),
            static_cast<floptally::context_split>(args.choice("cp-split", floptally::context_split_names, 0)));
        const read_input input(args);
        floptally::add_input(input.get(), model, shards, spelling);
        shares.assign(shards.shards().begin(), shards.shards().end());
    }
    const bool shares_tokens =
        args.text("sequence-parallel") && args.choice("sequence-parallel", {"true", "false"}) == 0;
    return floptally::layout_work_of(model.parts, counted.plan, count("tp"), shares, peak_of(args).tflops, settings,
                                     {.sequence_parallel = shares_tokens}, args.text("etp") ? count("etp") : 0);
}

/// The pipeline options; nullopt without --pp.
inline std::optional<floptally::pipeline_choices> read_pipelines(const arguments& args,
                                                                 const floptally::model_config& model) {
    if (!args.text("pp")) {
        for (const auto& [option, meaning, value] : rank_options) {
            const std::string_view name = option;
            const bool needs_none = name == "idle-gpus" || name == "rank-work" || name == "tp" || name == "cp" ||
                                    name == "sequence-parallel" || name == "cp-split" || name == "ep" ||
                                    name == "etp" || name == "layout" || name == "gpus-per-node";
            if (!needs_none && args.text(option)) {
                throw error("pp", fmt::format("is missing: pass --pp, which --{} needs", name));
            }
        }
        return {};
    }
    using floptally::pipeline_schedule;
    constexpr std::uint64_t most = std::uint64_t{1} << 24U;
    const auto count = [&args](const char* option, std::uint64_t largest) {
        const auto text = args.text(option);
        return text ? std::optional(parse_count(*text, arguments::field(option), 1, largest)) : std::nullopt;
    };
    floptally::pipeline_choices choices{.pp = parse_count(args.required("pp", "N"), "pp", 1, 1U << 16U),
                                        .vpp = count("vpp", 1U << 16U),
                                        .replicas = count("replicas", most),
                                        .microbatches = count("microbatches", most),
                                        .split = split_options(args)};
    if (args.text("schedule")) {
        choices.schedule =
            static_cast<pipeline_schedule>(args.choice("schedule", floptally::pipeline_schedule_names, 0));
    }
    if (const auto loads = args.text("rank-work")) {
        choices.loads = parse_loads(*loads, "rank_work");
    }
    if (const auto layers = args.text("layers-of-chunks")) {
        choices.layers_of_chunks = parse_loads(*layers, "layers_of_chunks");
    }
    if (const auto size = count("micro-batch-size", most)) {
        choices.batches = sharded_batches(args, model, choices.num_replicas(), *size);
    } else {
        static_cast<void>(args.required("microbatches", "N"));
    }
    return choices;
}

/// The ranks of a step: pipelines, the ranks of a layout, or the work of each.
inline floptally::step_ranks read_ranks(const arguments& args, const floptally::model_config& model,
                                        const floptally::report& counted,
                                        const std::optional<floptally::layout_work>& layout,
                                        const std::vector<floptally::precision_setting>& settings,
                                        std::uint64_t working_gpus) {
    const auto loads = args.text("rank-work");
    if (loads && !args.text("pp")) {
        static_cast<void>(read_pipelines(args, model));  // throws if an option lacks another that it needs
        return {floptally::rank_times::of(parse_loads(*loads, "rank_work")), 0};
    }
    return floptally::run_ranks(read_pipelines(args, model), layout, model.parts, counted.plan, counted.batch,
                                peak_of(args).tflops, settings, working_gpus);
}

}  // namespace program
