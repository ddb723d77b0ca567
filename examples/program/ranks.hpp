// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/batch/tally.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/input/add_input.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/layout_work.hpp>
#include <floptally/step/pipelines.hpp>
#include <floptally/step/precision_setting_text.hpp>

#include "arguments.hpp"
#include "batch.hpp"
#include "count.hpp"
#include "measure.hpp"

/// @file
/// The ranks of a step from the options: their own work, or the pipelines that they are.

namespace program {

/// The options of ranks, which another step of `whatif` may have otherwise.
inline constexpr const char* rank_options[][3] = {
    {"idle-gpus", "of --gpus, those that run none of the work", "N"},
    {"rank-work", "own work of each rank, in any unit; with --pp of each replica", "5,6,5,9"},
    {"pp", "ranks of a pipeline", "N"},
    {"vpp", "chunks of layers on each of them", "N"},
    {"microbatches", "that each pipeline runs in the step", "N"},
    {"schedule", "gpipe, 1f1b, interleaved, zero_bubble (ZB-H1) or zb_v", "NAME"},
    {"replicas", "pipelines beside each other", "N"},
    {"tp", "tensor parallel ranks of each stage", "N"},
    {"sequence-parallel", "true: what every tensor parallel rank holds whole runs on its share of the tokens", "true"},
    {"cp", "ranks over which sequences are split", "N"},
    {"cp-split", "zigzag of each slot, zigzag_row of all of them, or contiguous", "HOW"},
    {"micro-batch-size", "sequences of a microbatch, dealt in Megatron-LM's order: each has its own work", "N"},
    {"layers-of-chunks", "layers of each chunk of the pipeline, in forward order", "9,8,8,7"},
    {"num-layers-in-first-pipeline-stage", "as Megatron-LM's", "N"},
    {"num-layers-in-last-pipeline-stage", "as Megatron-LM's", "N"},
    {"account-for-embedding-in-pipeline-split", "true: the embedding takes the place of a layer", "true"},
    {"account-for-loss-in-pipeline-split", "true: the lm_head takes the place of a layer", "true"}};

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

/// The options of an even split of layers.
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
            .account_for_loss_in_pipeline_split = accounts("account-for-loss-in-pipeline-split")};
}

/// The batch of each microbatch of each replica: microbatch m of replica r has the samples from (m x replicas + r) x
/// size, as Megatron-LM deals them.
inline std::vector<std::vector<floptally::tally>> dealt_batches(const arguments& args,
                                                                const floptally::model_config& model,
                                                                std::uint64_t replicas, std::uint64_t size) {
    const read_input input(args);
    const floptally::model_input& all = input.get();
    if (all.lengths.size() != 1 || all.formats() != 1 || !all.measured.empty()) {
        throw error("micro_batch_size", "deals --lengths or --lengths-file, and no other batch");
    }
    const floptally::model_input::list& list = all.lengths.front();
    const std::vector<std::uint64_t> lengths =
        list.lengths.visit([](const auto& numbers) { return floptally::detail::nonnegative(numbers, "lengths"); });
    if (lengths.size() % (replicas * size) != 0) {
        throw error("micro_batch_size", fmt::format("times {} replicas must divide the {} sequences, got {}", replicas,
                                                    lengths.size(), size));
    }
    std::vector<std::vector<floptally::tally>> batches(replicas);
    for (std::size_t first = 0; first < lengths.size(); first += size) {
        floptally::model_input part;
        const std::span<const std::uint64_t> own(lengths.data() + first, size);
        part.lengths.push_back({list.field, own, list.row_length});
        floptally::tally& made = batches[first / size % replicas].emplace_back(model.cost.masks());
        floptally::add_input(part, model, made, spelling);
    }
    return batches;
}

/// The work of the ranks of tensor and context parallelism; none where neither is given.
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
            throw error(needs, fmt::format("is missing; --{} is of it", option));
        }
    }
    if (!args.text("tp") && !args.text("cp")) {
        return {};
    }
    if (args.text("rank-work") && !args.text("pp")) {
        throw error("rank_work", "is given beside --tp or --cp, which say the work of each rank");
    }
    std::vector<floptally::tally> shares{counted.batch};
    if (args.text("cp")) {
        floptally::context_shares dealt(
            model.cost.masks(), count("cp"),
            static_cast<floptally::context_split>(args.choice("cp-split", floptally::context_split_names, 0)));
        const read_input input(args);
        floptally::add_input(input.get(), model, dealt, spelling);
        shares.assign(dealt.shares().begin(), dealt.shares().end());
    }
    const bool shares_tokens =
        args.text("sequence-parallel") && args.choice("sequence-parallel", {"true", "false"}) == 0;
    return floptally::layout_work_of(model.parts, counted.plan, count("tp"), shares, peak_of(args).tflops, settings,
                                     {.sequence_parallel = shares_tokens});
}

/// The choices of pipelines; none without --pp.
inline std::optional<floptally::pipeline_choices> read_pipelines(const arguments& args,
                                                                 const floptally::model_config& model) {
    if (!args.text("pp")) {
        for (const auto& [option, meaning, value] : rank_options) {
            const std::string_view name = option;
            const bool needs_none = name == "idle-gpus" || name == "rank-work" || name == "tp" || name == "cp" ||
                                    name == "sequence-parallel" || name == "cp-split";
            if (!needs_none && args.text(option)) {
                throw error("pp", fmt::format("is missing; --{} is of a pipeline", name));
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
        choices.batches = dealt_batches(args, model, choices.num_replicas(), *size);
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
        static_cast<void>(read_pipelines(args, model));  // the error of an option that needs one
        return {floptally::rank_times::of(parse_loads(*loads, "rank_work")), 0};
    }
    return floptally::run_ranks(read_pipelines(args, model), layout, model.parts, counted.plan, counted.batch,
                                peak_of(args).tflops, settings, working_gpus);
}

}  // namespace program
