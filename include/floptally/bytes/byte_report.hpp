// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/mixed_precision.hpp>
#include <floptally/step/time_breakdown.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Reports bytes and FLOPs of one batch, also as a table. `memory_time` computes how much longer a step takes because
/// of memory bandwidth.

namespace floptally::inline v0_3 {

/// Bytes and FLOPs of one batch, with the settings that they were counted with.
struct byte_report {
    std::string model_type{};
    breakdown work{};
    step_bytes moved{};
    element_bits bits{};
    std::uint64_t batches = 1;            ///< number of microbatches; each microbatch reads the weights once
    std::optional<double> memory_tbps{};  ///< memory bandwidth of one GPU in 10^12 bytes a second
    /// Measured number of distinct experts whose weights were read, summed over layers and batches.
    std::optional<std::uint64_t> distinct_experts{};
    std::optional<bandwidth_utilization> mbu{};  ///< model bandwidth utilization (MBU) of a measured decode step

    /// Returns the executed FLOPs of a component; 0 if it has none.
    [[nodiscard]] flops executed(std::string_view component) const {
        flops sum;
        for (const component_flops& part : work.components()) {
            sum += part.name.view() == component ? part.total(view::executed) : flops{};
        }
        return sum;
    }
    /// Returns the executed FLOPs of all components that move bytes.
    [[nodiscard]] flops executed() const {
        flops sum;
        for (const component_bytes& component : moved.components) {
            sum += executed(component.name.view());
        }
        return sum;
    }
};

namespace detail {

/// Joins names: "a, b, c".
[[nodiscard]] inline std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
        append_item(list, name);
    }
    return list;
}

/// Returns a table row: FLOPs, bytes (of weights, gradients, activations, cache), the sum of these bytes, and FLOPs per
/// byte. `moved` has the bytes of one component or of all components.
template <class Moved>
[[nodiscard]] table_row byte_row(std::string_view name, flops work, const Moved& moved) {
    const auto cell = [](uint128 count) {
        return table_cell{general_decimal(static_cast<double>(count), 4), to_string(count)};
    };
    table_row row{{std::string(name)}, cell(work.value())};
    for (std::size_t kind = 0; kind < byte_kind_count; ++kind) {
        row.push_back(cell(moved.total(static_cast<byte_kind>(kind))));
    }
    row.push_back(cell(moved.total()));
    row.push_back({general_decimal(arithmetic_intensity(work, moved.total()), 4)});
    return row;
}

}  // namespace detail

/// Returns the table of a byte report: a row for each component that moves bytes, and their sum. Its notes say what the
/// numbers assume.
[[nodiscard]] inline table table_of(const byte_report& report) {
    table_section section{.columns = {{"", cell_side::left, 24}, {"FLOPs", cell_side::right, 12}}};
    for (const std::string_view head :
         {name(byte_kind::weights), name(byte_kind::gradients), name(byte_kind::activations), name(byte_kind::cache),
          std::string_view("bytes"), std::string_view("FLOPs/byte")}) {
        section.columns.push_back({std::string(head), cell_side::right, 13});
    }
    for (const component_bytes& component : report.moved.components) {
        const std::string_view name = component.name.view();
        section.rows.push_back(detail::byte_row(name, report.executed(name), component));
    }
    section.rows.push_back(detail::byte_row("total", report.executed(), report.moved));
    std::vector<std::string> notes = {
        detail::text_of({"executed FLOPs; weights of ", report.bits.weights, " bits read ", report.batches, " time",
                         report.batches == 1 ? "" : "s", " a pass; attention and element-wise work are fused"})};
    if (!report.moved.unsaid.empty()) {
        notes.push_back("activations of unknown width are not counted: " + detail::listed(report.moved.unsaid));
    }
    if (!report.moved.at_most.empty()) {
        notes.push_back("bytes are an upper bound for: " + detail::listed(report.moved.at_most));
    }
    if (report.distinct_experts) {
        notes.push_back(detail::text_of(
            {"weights of ", *report.distinct_experts, " distinct experts, over all layers and batches, as measured"}));
    }
    if (report.mbu) {
        notes.push_back(detail::text_of({"MBU ", to_string(*report.mbu),
                                         ": weights and cache, of what the memory could "
                                         "move"}));
        if (report.mbu->uniform) {
            notes.push_back(
                detail::text_of({"MBU ", detail::fixed_decimal(100 * *report.mbu->uniform, 2),
                                 " %, uniform estimate: if each token chose its experts uniformly; give the "
                                 "measured distinct experts for the MBU itself"}));
        }
        if (const std::string doubt = doubt_of(*report.mbu); !doubt.empty()) {
            notes.push_back(doubt);
        }
    }
    return {.title = report.model_type, .sections = {std::move(section)}, .notes = std::move(notes)};
}

/// Formats the table of a byte report as aligned text, followed by its notes.
[[nodiscard]] inline std::string to_table(const byte_report& report) {
    const table shown = table_of(report);
    std::string text = to_text(shown);
    for (const std::string& note : shown.notes) {
        detail::append(text, {note, "\n"});
    }
    return text;
}

/// Formats the table of a byte report in Markdown, followed by its notes as a list.
[[nodiscard]] inline std::string to_markdown(const byte_report& report) {
    const table shown = table_of(report);
    std::string text = to_markdown(shown);
    for (const std::string& note : shown.notes) {
        detail::append(text, {&note == shown.notes.data() ? "\n* " : "* ", note, "\n"});
    }
    return text;
}

/// Returns how much longer a step takes because memory bandwidth limits it, not FLOPs. `memory_tbps` is the bandwidth
/// of one GPU in 10^12 bytes a second. `batches` is the number of microbatches that read the weights. If you do not
/// know that number, pass false as `is_said`: the text of the result then says that the number is unknown. If you
/// measure the time of element-wise kernels separately, pass true as `of_products`. Their time is then left out, so
/// that it does not count twice.
[[nodiscard]] inline time_at_memory memory_time(const step_bytes& moved, const std::vector<work_at_peak>& work,
                                                double memory_tbps, std::uint64_t batches, bool is_said = true,
                                                bool of_products = false) {
    const bool is_partial = !moved.unsaid.empty();
    return {.gpu_seconds = memory_bound_seconds(moved, work, memory_tbps, of_products),
            .assumed = detail::text_of(
                {"what bytes need at ", detail::shortest_decimal(memory_tbps),
                 " TB/s beyond their FLOPs; weights read ", batches, batches == 1 ? " time a pass" : " times a pass",
                 is_said ? "" : " or more: the number of microbatches is unknown", is_partial ? "; without " : "",
                 detail::listed(moved.unsaid), moved.read_at_most.empty() ? "" : "; at most those of ",
                 detail::listed(moved.read_at_most)})};
}

}  // namespace floptally
