// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/padding.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/report.hpp>
#include <floptally/step/work_unit.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Shows a report as a table: statistics, components, phases, padding and MFU.

namespace floptally::inline v0_3 {

/// How a table prints FLOPs.
enum class figures {
    readable,  ///< rounded with a unit: 421.65 TFLOP
    exact      ///< as an integer: 421651971833856
};

/// Returns work as readable text: "421.65 TFLOP", or in MACs "210.83 TMAC", with two decimals and the largest prefix
/// below the value. Below 1000 it is the exact integer.
[[nodiscard]] inline std::string readable(flops work, work_unit unit = work_unit::flops) {
    constexpr std::string_view prefixes = "KMGTPEZYRQ";
    const uint128 count = in_unit(work, unit);
    const std::string_view word = unit == work_unit::flops ? "FLOP" : "MAC";
    double value = static_cast<double>(count);
    if (value < 1000) {
        return to_string(count).append(" ").append(word);
    }
    std::size_t prefix = 0;
    // 999.995 would be printed as 1000.00, so it gets the next prefix.
    for (value /= 1000; value >= 999.995 && prefix + 1 < prefixes.size(); value /= 1000) {
        ++prefix;
    }
    return detail::fixed_decimal(value, 2).append(" ").append(1, prefixes[prefix]).append(word);
}

namespace detail {

[[nodiscard]] inline table_cell work_cell(flops work, figures style, work_unit unit) {
    std::string digits = to_string(in_unit(work, unit));
    return style == figures::exact ? table_cell{std::move(digits)}
                                   : table_cell{readable(work, unit), std::move(digits)};
}

/// Returns `part` in percent of `whole`: "33.33 %"; "-" if `whole` is 0.
[[nodiscard]] inline table_cell share_cell(flops part, flops whole) {
    return whole == flops{} ? table_cell{"-"} : number_cell(100 * to_double(part) / to_double(whole), 2, " %");
}

/// Returns the first column of a section, which has the names of the rows. It is equally wide in all sections.
[[nodiscard]] inline table_column name_column(std::string_view name = "") {
    return {std::string(name), cell_side::left, 28};
}

[[nodiscard]] inline table_column work_column(std::string_view name, figures style) {
    return {std::string(name), cell_side::right, style == figures::exact ? std::size_t{26} : std::size_t{18}};
}

/// Returns the section of parameters, samples, tokens and attended pairs. Shows the padded number too if it differs
/// from the real one.
[[nodiscard]] inline table_section statistics_section(const report& r) {
    table_section section{.columns = {name_column(), {"", cell_side::right, 18}, {"", cell_side::right, 25}}};
    const auto add = [&](std::string name, std::uint64_t useful, std::uint64_t padded) {
        section.rows.push_back({{std::move(name)}, count_cell(useful)});
        if (padded != useful) {
            section.rows.back().push_back(count_cell(padded));
            section.rows.back().back().text.append(" padded");
        }
    };
    const auto add_samples = [&](const char* samples, const char* tokens, modality in) {
        for (const auto& [name, what] :
             {std::pair(samples, accumulator::count), std::pair(tokens, accumulator::tokens)}) {
            if (r.masks.has(in)) {
                add(name, r.batch.get(view::useful, what, in), r.batch.get(view::padded, what, in));
            }
        }
    };
    if (const std::uint64_t total = r.parameters.total; total != 0) {
        add("parameters", total, total);
        if (const std::uint64_t active = r.parameters.active.value_or(total); active != total) {
            add("parameters, active", active, active);
        }
        if (const auto trainable = r.parameters.trainable) {
            add("parameters, trainable", *trainable, *trainable);
        }
    }
    add_samples("sequences", "tokens", modality::text);
    add_samples("vision.frames", "vision.patches", modality::vision);
    add_samples("audio.clips", "audio.frames", modality::audio);
    for (const statistic& m : r.masks) {
        add(m.is_measured() ? m.name() : "pairs, " + m.name(), r.batch.pairs(view::useful, m),
            r.batch.pairs(view::padded, m));
    }
    return section;
}

/// Returns two sections, components (with percentages) and phases, each with useful, padded and executed FLOPs.
[[nodiscard]] inline std::vector<table_section> work_sections(const report& r, figures style) {
    std::vector<table_section> sections;
    const auto begin = [&](std::string_view name) {
        sections.push_back({.columns = {name_column(name),
                                        work_column("useful", style),
                                        {"share", cell_side::right, 11},
                                        work_column("padded", style),
                                        work_column("executed", style)}});
    };
    const auto add = [&](std::string_view name, const auto& count) {
        const flops useful = count(view::useful);
        sections.back().rows.push_back({{std::string(name)},
                                        work_cell(useful, style, r.unit),
                                        share_cell(useful, r.work.total(view::useful)),
                                        work_cell(count(view::padded), style, r.unit),
                                        work_cell(count(view::executed), style, r.unit)});
    };
    begin("component");
    for (const component_flops& c : r.work.components()) {
        add(c.name.view(), [&c](view seen) { return c.total(seen); });
    }
    add("total", [&r](view seen) { return r.work.total(seen); });
    begin("phase");
    add("forward", [&r](view seen) { return r.work.get(seen, phase::forward); });
    add("backward", [&r](view seen) { return r.work.backward(seen); });
    add("recompute", [&r](view seen) { return r.work.get(seen, phase::recompute); });
    return sections;
}

/// Returns the section of padded work by cause.
[[nodiscard]] inline table_section padding_section(const padding_flops& padding, figures style, work_unit unit) {
    table_section section{
        .columns = {name_column("padded"), work_column("spent on", style), {"share", cell_side::right, 11}}};
    for (const auto& [name, work] :
         {std::pair("real tokens", padding.useful), std::pair("padding of their slots", padding.in_slots),
          std::pair("mock sequences", padding.mock), std::pair("padded vocabulary", padding.vocabulary)}) {
        section.rows.push_back({{name}, work_cell(work, style, unit), share_cell(work, padding.padded())});
    }
    return section;
}

/// Returns a value with two decimals. A value of 1e9 or more gets scientific notation with four digits.
[[nodiscard]] inline std::string two_decimals(double value) {
    return value < 1e9 ? fixed_decimal(value, 2) : scientific_decimal(value, 3);
}

/// Returns the section of MFU, padded MFU, HFU and rates, each with an explanation.
[[nodiscard]] inline table_section mfu_section(const mfu_report& mfu, work_unit unit) {
    const utilization& u = mfu.utilization;
    const auto percent = [](double share) { return two_decimals(100 * share) + " %"; };
    table_section section{.columns = {name_column(), {"", cell_side::right, 18}, {}}};
    const auto add = [&](const char* name, std::string value, std::string meaning) {
        section.rows.push_back({{name}, {std::move(value)}, {std::move(meaning)}});
    };
    const bool in_flops = unit == work_unit::flops;
    const std::string per_second = in_flops ? " TFLOP/s" : " TMAC/s";
    add("MFU", percent(u.mfu), in_flops ? "useful FLOPs over the peak" : "useful MACs over the peak");
    add("padded MFU", percent(u.padded_mfu), "every slot that the kernels process");
    add("HFU", percent(u.hfu), "executed: with recompute and the fused attention backward");
    if (mfu.mixed) {
        add("mixed-precision MFU", percent(mfu.mixed->mfu),
            text_of({"each part over the peak of its precision; together ",
                     fixed_decimal(rate_in_unit(mfu.mixed->peak_tflops, unit), 2), per_second}));
    }
    add(in_flops ? "TFLOP/s per GPU" : "TMAC/s per GPU", two_decimals(rate_in_unit(u.tflops_per_gpu, unit)), "useful");
    add("tokens/s",
        u.tokens_per_second < 1e15 ? fixed_decimal(u.tokens_per_second, 0) : scientific_decimal(u.tokens_per_second, 3),
        "real tokens, all GPUs");
    add("step", general_decimal(mfu.step.seconds, 6) + " s",
        text_of({"on ", mfu.step.gpus, mfu.step.gpus == 1 ? " GPU" : " GPUs"}));
    const bool is_plain = mfu.peak_kind == peak_kind::unsaid || mfu.peak_kind == peak_kind::datasheet;
    add("peak", general_decimal(rate_in_unit(mfu.step.peak_tflops, unit), 6) + per_second,
        text_of({mfu.accelerator, mfu.accelerator.empty() ? "" : ", ", mfu.precision, " dense", is_plain ? "" : ", ",
                 is_plain ? "" : name(mfu.peak_kind), ": ", mfu.peak_source}));
    return section;
}

}  // namespace detail

/// Returns the table of a report. The title names the model, plan and convention. The sections are statistics,
/// components, phases, padding (if there is any) and MFU (if a step was measured). Notes follow.
[[nodiscard]] inline table table_of(const report& r, figures style = figures::readable) {
    constexpr std::string_view passes[] = {"forward and backward", "forward only", "backward only"};
    constexpr std::string_view logits[] = {"", ", logits of the last token of each sequence",
                                           ", logits of measured tokens"};
    const bool trains_indexer = r.plan.indexer != indexer_training::frozen;
    const bool in_macs = r.unit == work_unit::macs;
    table result{
        .title = detail::text_of(
            {r.model_type, ": ", passes[static_cast<std::size_t>(r.plan.counted)], ", recompute ",
             recompute_names[static_cast<std::size_t>(r.plan.recomputed)], trains_indexer ? ", indexer " : "",
             trains_indexer ? indexer_training_names[static_cast<std::size_t>(r.plan.indexer)] : "",
             logits[static_cast<std::size_t>(r.plan.logits)], "\nconvention ", r.counted_as.name,
             in_macs ? ", in MACs: a multiplication and an addition each" : ": ", in_macs ? "" : r.counted_as.summary}),
        .sections = {detail::statistics_section(r)},
        .notes = notes_of(r)};
    for (table_section& section : detail::work_sections(r, style)) {
        result.sections.push_back(std::move(section));
    }
    if (r.padding && r.padding->padded() != flops{}) {
        result.sections.push_back(detail::padding_section(*r.padding, style, r.unit));
    }
    if (r.mfu) {
        result.sections.push_back(detail::mfu_section(*r.mfu, r.unit));
    }
    return result;
}

/// Returns the table of a report as aligned text. The last line is the exact total of the useful FLOPs.
[[nodiscard]] inline std::string to_table(const report& r, figures style = figures::readable) {
    const table shown = table_of(r, style);
    std::string text = shown.title + "\n\n" + to_text(shown, 2);
    for (const std::string& note : shown.notes) {
        detail::append(text, {&note == shown.notes.data() ? "\nnote: " : "note: ", note, "\n"});
    }
    detail::append(text, {"\nuseful total, exact: ", to_string(in_unit(r.work.total(view::useful), r.unit)),
                          r.unit == work_unit::flops ? " FLOP" : " MAC", " (floptally ", version, ")\n"});
    return text;
}

}  // namespace floptally
