// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <floptally/bytes/layout_predictor.hpp>
#include <floptally/bytes/training_layout.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/search/layout_search.hpp>
#include <floptally/step/layout_text.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Reads a layout from text, so that `explain` can say why a search found it or left it out.

namespace floptally::inline v0_3 {

/// Returns true if a model has experts.
[[nodiscard]] inline bool holds_experts(std::span<const model_part> model) {
    return std::any_of(model.begin(), model.end(), [](const model_part& part) {
        return std::any_of(part.cost.entries().begin(), part.cost.entries().end(),
                           [](const cost_entry& entry) { return entry.sharding.by == sharding_kind::experts; });
    });
}

}  // namespace floptally

namespace floptally::inline v0_3::detail {

/// Returns the index of `name` in `names`. Throws an `error` that names `field` if `names` does not contain `name`.
template <std::size_t Count>
[[nodiscard]] std::size_t explained_index(const char* const (&names)[Count], std::string_view name, const char* what,
                                          const char* field) {
    std::string list;
    for (std::size_t i = 0; i < Count; ++i) {
        if (names[i] == name) {
            return i;
        }
        append_item(list, names[i]);
    }
    refuse(field, {what, " must be one of ", list, ", got \"", shortened(std::string(name)), "\""});
}

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

/// Reads a layout from text. The text is a list of options by name ("tp=2, pp=4, mb=1, zero=optimizer, recompute=none,
/// schedule=1f1b, sequence_parallel=true"), or a trainer's settings (`read_layout`). Instead of mb, `microbatches=8`
/// may say how many microbatches a replica accumulates. Settings that the text leaves out come from `options`. A
/// missing dp follows from the other sizes and the number of GPUs. `field` names the text in errors.
[[nodiscard]] inline training_layout training_layout_named(std::string_view text, const layout_predictor& predictor,
                                                           const search_options& options = {},
                                                           const char* field = "explain") {
    training_layout layout{.microbatch = options.microbatch.value_or(1),
                           .sharded = options.sharded.value_or(zero_stage::optimizer),
                           .recomputed = options.recomputed.value_or(recompute::none)};
    std::uint64_t microbatches = 0;
    const std::uint64_t gpus = predictor.cluster().gpus;
    const bool is_by_name = text.find("--") == text.npos && text.find(':') == text.npos &&
                            text.find('\n') == text.npos && text.find('(') == text.npos;
    std::string sizes;
    bool says_dp = false;
    std::optional<pipeline_schedule> schedule = options.schedule;
    std::optional<bool> sequence_parallel = options.sequence_parallel;
    for (std::size_t first = 0; is_by_name && first < text.size();) {
        const std::size_t last = std::min(text.find(',', first), text.size());
        std::string_view item = text.substr(first, last - first);
        item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
        const std::size_t equals = std::min(item.find('='), item.size());
        const std::string_view name = item.substr(0, equals);
        const std::string_view value = item.substr(std::min(equals + 1, item.size()));
        if (name == "mb" || name == "microbatch" || name == "microbatches") {
            const auto number = detail::number_of_text<std::uint64_t>(value);
            if (!number || *number == 0) {
                detail::refuse(
                    field,
                    {name == "microbatches"
                         ? "microbatches must be an integer of at least 1, got \""
                         : "mb, the number of sequences in a microbatch, must be an integer of at least 1, got \"",
                     detail::shortened(std::string(value)), "\""});
            }
            (name == "microbatches" ? microbatches : layout.microbatch) = *number;
        } else if (name == "zero") {
            layout.sharded = static_cast<zero_stage>(detail::explained_index(zero_stage_names, value, "zero", field));
        } else if (name == "recompute") {
            layout.recomputed =
                static_cast<recompute>(detail::explained_index(recompute_names, value, "recompute", field));
        } else if (name == "schedule") {
            schedule = static_cast<pipeline_schedule>(
                detail::explained_index(pipeline_schedule_names, value, "schedule", field));
        } else if (name == "sequence_parallel") {
            constexpr const char* names[] = {"false", "true"};
            sequence_parallel = detail::explained_index(names, value, "sequence_parallel", field) == 1;
        } else {
            says_dp = says_dp || name == "dp";
            append_item(sizes, item);
        }
        first = last + 1;
    }
    if (is_by_name && !says_dp) {
        const std::uint64_t ranks = read_layout(sizes.empty() ? "dp=1" : "dp=1, " + sizes).sizes.world_size();
        sizes = detail::text_of({"dp=", gpus % ranks == 0 ? gpus / ranks : 1, sizes.empty() ? "" : ", ", sizes});
    }
    const trainer_layout read =
        read_layout(is_by_name ? std::string_view(sizes) : text, is_by_name ? std::nullopt : std::optional(gpus));
    layout.sizes = read.sizes;
    layout.sequence_parallel = read.sequence_parallel.value_or(sequence_parallel.value_or(layout.sizes.tp > 1));
    layout.sharded = read.sharded.value_or(layout.sharded);
    layout.schedule =
        schedule.value_or(layout.sizes.vpp > 1 ? pipeline_schedule::interleaved : pipeline_schedule::one_f_one_b);
    // Sizes that do not divide the batch are an error of `layout_predictor`.
    const std::uint64_t own = predictor.lengths().size() / layout.sizes.dp;
    layout.microbatch = microbatches == 0 ? layout.microbatch : std::max<std::uint64_t>(own / microbatches, 1);
    layout.microbatches = microbatches != 0 ? microbatches : std::max<std::uint64_t>(own / layout.microbatch, 1);
    return layout;
}

}  // namespace floptally
