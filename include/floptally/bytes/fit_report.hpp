// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/communication_counter.hpp>
#include <floptally/bytes/rank_memory.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Reports whether a step fits in memory: what a rank of each pipeline stage stores and sends, also as a table.

namespace floptally::inline v0_3 {

/// The bytes that the first rank of a pipeline stage stores and sends.
struct stage_fit {
    rank_memory held{};
    communication sent{};
    std::vector<communication_time> times{};  ///< communication time of each group that exchanges anything
};

/// The memory and communication of a step by pipeline stage.
struct fit_report {
    std::string model_type{};
    parallel_sizes sizes{};
    rank_order order{};
    memory_options options{};
    context_exchange context = context_exchange::ring;
    std::string split{};  ///< text with the method that assigned layers to pipeline chunks, and the layers of each
                          ///< chunk; empty: all chunks have equally many layers
    std::optional<double> memory_gib{};  ///< memory of one GPU in GiB (2³⁰ bytes)
    double reserve_gib = 0;  ///< memory of one GPU in GiB that is not counted here: workspaces, CUDA, NCCL, the
                             ///< allocator's fragmentation
    std::vector<stage_fit> stages{};
};

/// Computes the memory and communication of each stage. Each replica runs `options.microbatches` microbatches in a
/// step, all equal to `microbatch`. `microbatch` is a tally of whole sequences. If `sizes` have a vpp of 1, the number
/// of virtual stages is taken from the pipeline's layout text.
[[nodiscard]] inline fit_report fit_of(std::span<const model_part> model, const tally& microbatch,
                                       const parallel_sizes& sizes, const training_plan& plan = {},
                                       const memory_options& options = {},
                                       context_exchange context = context_exchange::ring,
                                       const group_bandwidths& bandwidths = {}, const rank_order& order = {}) {
    fit_report report{.sizes = sizes, .order = order, .options = options, .context = context};
    if (const std::string& text = options.ranks.pipeline.pipeline_model_parallel_layout;
        !text.empty() && sizes.vpp == 1 && sizes.pp != 0) {
        const std::uint64_t chunks = pipeline_split::chunks_in(text);
        report.sizes.vpp = chunks % sizes.pp == 0 ? chunks / sizes.pp : 1;
    }
    report.split = split_of(model, report.sizes, options.ranks).described();
    report.options.token_ranks = sizes.cp;
    bandwidths.require_nodes();
    tally step(microbatch.masks());
    tally doubled = microbatch;
    for (std::uint64_t left = options.microbatches; left != 0; left /= 2) {
        if (left % 2 != 0) {
            step += doubled;
        }
        if (left > 1) {
            const tally once = doubled;
            doubled += once;
        }
    }
    const parallel_layout first(report.sizes, sizes.world_size(), 0, order.axes, order.expert_axes);
    for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
        const parallel_layout layout = first.at(first.rank_of({.pp = stage}));
        stage_fit of_stage{.held = memory_of(model, microbatch, layout, plan, report.options)};
        of_stage.sent = communication_of(model, step, layout, plan,
                                         {.ranks = options.ranks,
                                          .sharded = options.sharded,
                                          .context = context,
                                          .microbatches = options.microbatches,
                                          .token_ranks = sizes.cp,
                                          .bits = options.bits,
                                          .gpus_per_node = order.gpus_per_node,
                                          .gathered_bits = options.gathered_bits});
        of_stage.times = communication_times(of_stage.sent, bandwidths);
        report.stages.push_back(std::move(of_stage));
    }
    return report;
}

namespace detail {

/// The kinds of memory that a rank uses, with their names.
inline constexpr std::pair<const char*, std::uint64_t rank_memory::*> held_kinds[] = {
    {"weights", &rank_memory::weights},     {"gradients", &rank_memory::gradients},
    {"optimizer", &rank_memory::optimizer}, {"activations", &rank_memory::activations},
    {"logits", &rank_memory::logits},       {"cache", &rank_memory::cache},
    {"buffers", &rank_memory::buffers}};

[[nodiscard]] inline table_cell gib_cell(std::uint64_t bytes) {
    return {fixed_decimal(static_cast<double>(bytes) / 1073741824, 3), std::to_string(bytes)};
}

}  // namespace detail

/// Returns the report as a table: memory in GiB for each stage, then the sent bytes, with seconds if the bandwidth is
/// known.
[[nodiscard]] inline table table_of(const fit_report& report) {
    table_section held{.columns = {{"GiB", cell_side::left, 12}, {"parameters", cell_side::right, 14}}};
    for (const auto& kind : detail::held_kinds) {
        held.columns.push_back({kind.first, cell_side::right, 13});
    }
    held.columns.push_back({"total", cell_side::right, 10});
    table_section sent{.columns = {{"sent by a rank", cell_side::left, 24},
                                   {"group", cell_side::left, 10},
                                   {"bytes", cell_side::right, 13},
                                   {"seconds", cell_side::right, 12}}};
    const bool has_nodes = report.order.gpus_per_node != 0;
    if (has_nodes) {
        sent.columns.push_back({"within node", cell_side::right, 13});
        sent.columns.push_back({"between", cell_side::right, 13});
    }
    std::vector<std::string> notes;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < report.stages.size(); ++i) {
        const stage_fit& stage = report.stages[i];
        const std::string name = detail::text_of({"stage ", i});
        table_row row{{name},
                      {detail::general_decimal(static_cast<double>(stage.held.parameters), 6),
                       std::to_string(stage.held.parameters)}};
        for (const auto& kind : detail::held_kinds) {
            row.push_back(detail::gib_cell(stage.held.*kind.second));
        }
        row.push_back(detail::gib_cell(stage.held.total()));
        most = std::max(most, stage.held.total());
        held.rows.push_back(std::move(row));
        for (const communication_time& group : stage.times) {
            sent.rows.push_back({{name},
                                 {std::string(name_of(group.over))},
                                 {detail::general_decimal(static_cast<double>(group.bytes), 4), to_string(group.bytes)},
                                 {group.seconds ? detail::general_decimal(*group.seconds, 4) : "-"}});
            if (has_nodes) {
                const uint128 between = group.between_nodes.value_or(0);
                for (const uint128 bytes : {group.bytes - between, between}) {
                    sent.rows.back().push_back(
                        {detail::general_decimal(static_cast<double>(bytes), 4), to_string(bytes)});
                }
            }
            if (group.is_estimate) {
                notes.push_back(
                    detail::text_of({name, ": experts are taken to be chosen uniformly; at most ",
                                     to_string(stage.sent.total(group.over)), " bytes over ", name_of(group.over)}));
            }
        }
        if (stage.held.host != 0) {
            notes.push_back(detail::text_of(
                {name, ": the host holds ", detail::gib_cell(stage.held.host).text, " GiB of optimizer state"}));
        }
        if (stage.held.optimizer_moved != 0) {
            const auto shown = [](std::uint64_t bytes) {
                return detail::general_decimal(static_cast<double>(bytes), 4);
            };
            notes.push_back(
                detail::text_of({name, ": a step moves ", shown(stage.held.gradients_moved),
                                 " bytes of gradients, and its optimizer ", shown(stage.held.optimizer_moved)}));
        }
        for (const auto* const unsaid : {&stage.held.unsaid, &stage.sent.unsaid}) {
            if (!unsaid->empty()) {
                std::string names;
                for (const std::string& component : *unsaid) {
                    append_item(names, component);
                }
                notes.push_back(detail::text_of({name, unsaid == &stage.held.unsaid ? ": activations" : ": exchanges",
                                                 " of unknown size are not counted: ", names}));
            }
        }
    }
    if (report.memory_gib) {
        const double gib = static_cast<double>(most) / 1073741824 + report.reserve_gib;
        const std::string reserve =
            report.reserve_gib == 0
                ? std::string("; without workspaces and memory that the allocator cannot use")
                : detail::text_of({", ", detail::shortest_decimal(report.reserve_gib), " of them in reserve"});
        notes.push_back(
            detail::text_of({gib <= *report.memory_gib ? "fits" : "does not fit", ": ", detail::fixed_decimal(gib, 3),
                             " GiB of ", detail::shortest_decimal(*report.memory_gib), reserve}));
    }
    if (!report.split.empty()) {
        notes.push_back("layers: " + report.split);
    }
    notes.push_back(detail::text_of({"optimizer ", report.options.optimizer.name, "; ", report.options.microbatches,
                                     report.options.microbatches == 1 ? " microbatch" : " microbatches", " a rank"}));
    std::vector<table_section> sections{std::move(held)};
    if (!sent.rows.empty()) {
        sections.push_back(std::move(sent));
    }
    return {.title = report.model_type, .sections = std::move(sections), .notes = std::move(notes)};
}

/// Formats the table as aligned text, followed by its notes.
[[nodiscard]] inline std::string to_table(const fit_report& report) {
    const table shown = table_of(report);
    std::string text = to_text(shown);
    for (const std::string& note : shown.notes) {
        detail::append(text, {note, "\n"});
    }
    return text;
}

}  // namespace floptally
