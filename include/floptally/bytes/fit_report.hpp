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
/// The fit of a step in memory: what a rank of each pipeline stage holds and sends, as a table too.

namespace floptally {

/// The bytes that the first rank of a pipeline stage holds and sends.
struct stage_fit {
    rank_memory held{};
    communication sent{};
    std::vector<communication_time> times{};  ///< of the groups that exchange anything
};

/// The fit of a step in memory, by stages of the pipeline.
struct fit_report {
    std::string model_type{};
    parallel_sizes sizes{};
    memory_options how{};
    context_exchange context = context_exchange::ring;
    std::optional<double> memory_gib{};  ///< of one GPU (2³⁰ bytes)
    std::vector<stage_fit> stages{};
};

/// The report of a model whose replicas run `how.microbatches` microbatches like this one, of whole sequences.
[[nodiscard]] inline fit_report fit_of(std::span<const model_part> model, const tally& microbatch,
                                       const parallel_sizes& sizes, const training_plan& plan = {},
                                       const memory_options& how = {},
                                       context_exchange context = context_exchange::ring,
                                       const group_bandwidths& bandwidths = {}) {
    fit_report made{.sizes = sizes, .how = how, .context = context};
    made.how.token_ranks = sizes.cp;
    tally step(microbatch.masks());
    tally doubled = microbatch;
    for (std::uint64_t left = how.microbatches; left != 0; left /= 2) {
        if (left % 2 != 0) {
            step += doubled;
        }
        if (left > 1) {
            doubled += tally(doubled);
        }
    }
    const parallel_layout first(sizes, checked(sizes.dp, "world_size") * sizes.cp * sizes.tp * sizes.pp, 0);
    for (std::uint64_t stage = 0; stage < sizes.pp; ++stage) {
        const parallel_layout layout = first.at(first.rank_of({.pp = stage}));
        stage_fit of_stage{.held = memory_of(model, microbatch, layout, plan, made.how)};
        of_stage.sent = communication_of(model, step, layout, plan,
                                         {.ranks = how.ranks,
                                          .sharded = how.sharded,
                                          .context = context,
                                          .microbatches = how.microbatches,
                                          .token_ranks = sizes.cp,
                                          .bits = how.bits});
        of_stage.times = communication_times(of_stage.sent, bandwidths);
        made.stages.push_back(std::move(of_stage));
    }
    return made;
}

namespace detail {

/// The kinds of what a rank holds, by name.
inline constexpr std::pair<const char*, std::uint64_t rank_memory::*> held_kinds[] = {
    {"weights", &rank_memory::weights},     {"gradients", &rank_memory::gradients},
    {"optimizer", &rank_memory::optimizer}, {"activations", &rank_memory::activations},
    {"logits", &rank_memory::logits},       {"cache", &rank_memory::cache}};

[[nodiscard]] inline table_cell gib_cell(std::uint64_t bytes) {
    return {fixed_decimal(static_cast<double>(bytes) / 1073741824, 3), std::to_string(bytes)};
}

}  // namespace detail

/// The table of a fit: a row of GiB for each stage, and a section of what it sends, in bytes and in seconds where a
/// bandwidth is known.
[[nodiscard]] inline table table_of(const fit_report& made) {
    table_section held{.columns = {{"GiB", cell_side::left, 12}, {"parameters", cell_side::right, 14}}};
    for (const auto& kind : detail::held_kinds) {
        held.columns.push_back({kind.first, cell_side::right, 13});
    }
    held.columns.push_back({"total", cell_side::right, 10});
    table_section sent{.columns = {{"sent by a rank", cell_side::left, 24},
                                   {"group", cell_side::left, 10},
                                   {"bytes", cell_side::right, 13},
                                   {"seconds", cell_side::right, 12}}};
    std::vector<std::string> notes;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < made.stages.size(); ++i) {
        const stage_fit& stage = made.stages[i];
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
            if (group.is_estimate) {
                notes.push_back(
                    detail::text_of({name, ": experts are taken to be chosen uniformly; at most ",
                                     to_string(stage.sent.total(group.over)), " bytes over ", name_of(group.over)}));
            }
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
                for (const std::string& one : *unsaid) {
                    append_item(names, one);
                }
                notes.push_back(detail::text_of({name, unsaid == &stage.held.unsaid ? ": activations" : ": exchanges",
                                                 " are not said, and not counted, of: ", names}));
            }
        }
    }
    if (made.memory_gib) {
        const double gib = static_cast<double>(most) / 1073741824;
        notes.push_back(detail::text_of(
            {gib <= *made.memory_gib ? "fits" : "does not fit", ": ", detail::fixed_decimal(gib, 3), " GiB of ",
             detail::shortest_decimal(*made.memory_gib), ", buffers and what the allocator cannot use not counted"}));
    }
    notes.push_back(detail::text_of({"optimizer ", made.how.optimizer.name, "; ", made.how.microbatches,
                                     made.how.microbatches == 1 ? " microbatch" : " microbatches", " a rank"}));
    std::vector<table_section> sections{std::move(held)};
    if (!sent.rows.empty()) {
        sections.push_back(std::move(sent));
    }
    return {.title = made.model_type, .sections = std::move(sections), .notes = std::move(notes)};
}

/// The table of a fit as aligned text, its notes below.
[[nodiscard]] inline std::string to_table(const fit_report& made) {
    const table shown = table_of(made);
    std::string text = to_text(shown);
    for (const std::string& note : shown.notes) {
        detail::append(text, {note, "\n"});
    }
    return text;
}

}  // namespace floptally
