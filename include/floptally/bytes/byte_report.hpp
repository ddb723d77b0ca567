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
#include <floptally/step/step_account.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Bytes beside the FLOPs of the same batch, as a table too, and the time that they need as an account has it.

namespace floptally {

/// Bytes beside the FLOPs of the same batch, with what they were counted by.
struct byte_report {
    std::string model_type{};
    breakdown work{};
    step_bytes moved{};
    element_bits bits{};
    std::uint64_t batches = 1;                        ///< each of which reads the weights
    std::optional<double> memory_tbps{};              ///< of one GPU
    std::optional<std::uint64_t> distinct_experts{};  ///< whose weights were read, where that was measured
    std::optional<bandwidth_utilization> mbu{};       ///< of a decode step that was measured

    /// Executed FLOPs of a component; 0 of one that has none.
    [[nodiscard]] flops executed(std::string_view component) const {
        flops sum;
        for (const component_flops& part : work.components()) {
            sum += part.name.view() == component ? part.total(view::executed) : flops{};
        }
        return sum;
    }
    /// Executed FLOPs of all components that move bytes.
    [[nodiscard]] flops executed() const {
        flops sum;
        for (const component_bytes& component : moved.components) {
            sum += executed(component.name.view());
        }
        return sum;
    }
};

namespace detail {

/// "a, b, c"
[[nodiscard]] inline std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names) {
        append_item(list, name);
    }
    return list;
}

/// A row of bytes: FLOPs, bytes of each kind and of all, and the FLOPs of a byte. `Moved` is a component or all of
/// them.
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

/// The table of a byte report: a row for each component that moves bytes, their sum, and what it rests on as notes.
[[nodiscard]] inline table table_of(const byte_report& made) {
    table_section section{.columns = {{"", cell_side::left, 24}, {"FLOPs", cell_side::right, 12}}};
    for (const std::string_view head :
         {name(byte_kind::weights), name(byte_kind::gradients), name(byte_kind::activations), name(byte_kind::cache),
          std::string_view("bytes"), std::string_view("FLOPs/byte")}) {
        section.columns.push_back({std::string(head), cell_side::right, 13});
    }
    for (const component_bytes& component : made.moved.components) {
        const std::string_view name = component.name.view();
        section.rows.push_back(detail::byte_row(name, made.executed(name), component));
    }
    section.rows.push_back(detail::byte_row("total", made.executed(), made.moved));
    std::vector<std::string> notes = {
        detail::text_of({"executed FLOPs; weights of ", made.bits.weights, " bits read ", made.batches, " time",
                         made.batches == 1 ? "" : "s", " a pass; attention and element-wise work are fused"})};
    if (!made.moved.unsaid.empty()) {
        notes.push_back("activations are not said, and not counted, of: " + detail::listed(made.moved.unsaid));
    }
    if (!made.moved.at_most.empty()) {
        notes.push_back("at most so many bytes are moved of: " + detail::listed(made.moved.at_most));
    }
    if (made.distinct_experts) {
        notes.push_back(detail::text_of(
            {"weights of ", *made.distinct_experts, " distinct experts, over all layers and batches, as measured"}));
    }
    if (made.mbu) {
        notes.push_back(detail::text_of({"MBU ", to_string(*made.mbu),
                                         ": weights and cache, of what the memory could "
                                         "move"}));
        if (made.mbu->uniform) {
            notes.push_back(
                detail::text_of({"MBU ", detail::fixed_decimal(100 * *made.mbu->uniform, 2),
                                 " %, uniform estimate: if each token chose its experts uniformly; give the "
                                 "measured distinct experts for the MBU itself"}));
        }
        if (const std::string doubt = doubt_of(*made.mbu); !doubt.empty()) {
            notes.push_back(doubt);
        }
    }
    return {.title = made.model_type, .sections = {std::move(section)}, .notes = std::move(notes)};
}

/// The table of a byte report as aligned text, its notes below.
[[nodiscard]] inline std::string to_table(const byte_report& made) {
    const table shown = table_of(made);
    std::string text = to_text(shown);
    for (const std::string& note : shown.notes) {
        detail::append(text, {note, "\n"});
    }
    return text;
}

/// The table of a byte report in Markdown, its notes as a list below.
[[nodiscard]] inline std::string to_markdown(const byte_report& made) {
    const table shown = table_of(made);
    std::string text = to_markdown(shown);
    for (const std::string& note : shown.notes) {
        detail::append(text, {&note == shown.notes.data() ? "\n* " : "* ", note, "\n"});
    }
    return text;
}

/// The time that the bytes of a step need at the bandwidth of one GPU's memory beyond its FLOPs, as an account has it.
/// `batches` are the microbatches that read the weights; where nobody said how many, `is_said` is false. Where the time
/// of element-wise kernels is known, theirs is not in it a second time (`of_products`).
[[nodiscard]] inline time_at_memory memory_time(const step_bytes& moved, const std::vector<work_at_peak>& work,
                                                double memory_tbps, std::uint64_t batches, bool is_said = true,
                                                bool of_products = false) {
    const bool is_partial = !moved.unsaid.empty();
    return {.gpu_seconds = memory_bound_seconds(moved, work, memory_tbps, of_products),
            .assumed = detail::text_of(
                {"what bytes need at ", detail::shortest_decimal(memory_tbps),
                 " TB/s beyond their FLOPs; weights read ", batches, batches == 1 ? " time a pass" : " times a pass",
                 is_said ? "" : ", since the number of microbatches is not known: at least",
                 is_partial ? "; without " : "", detail::listed(moved.unsaid),
                 moved.read_at_most.empty() ? "" : "; at most those of ", detail::listed(moved.read_at_most)})};
}

}  // namespace floptally
