// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/conventions/comparison.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/step/observed_work.hpp>
#include <floptally/step/report_table.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/table.hpp>
#include <floptally/text/text.hpp>

/// @file
/// The comparison of conventions on one step, as a report and as a table.

namespace floptally::inline v0_3 {

/// A number from a dashboard, or the numbers of a trainer's log, and the conventions that explain them.
struct observed_report {
    std::string text;  ///< the name of the report: the dashboard's number as text, or the trainer whose log was read
    /// The FLOPs of a step according to the dashboard's number or to the mean rate of the log.
    observed_work work;
    std::vector<observed_candidate> matches{};  ///< conventions whose FLOPs equal `work` after rounding
    observed_candidate nearest{};  ///< the convention whose FLOPs are nearest to `work`; only set if `matches` is empty
    std::optional<observed_log> log{};
};

/// The FLOPs of one step under every convention, and a number from a dashboard or log to compare with.
struct comparison_report {
    std::string model_type;
    flops exact;
    std::vector<compared_convention> conventions{};
    std::optional<observed_report> observed{};
};

namespace detail {

/// Removes all conventions from a report except the one called `name`. If `name` is empty, removes nothing.
inline void list_only(comparison_report& report, std::string_view name) {
    if (!name.empty()) {
        std::erase_if(report.conventions, [name](const compared_convention& line) { return line.how.name != name; });
    }
}

}  // namespace detail

/// Returns the report of a batch under the conventions of `model`. If `only` is not empty, the report has only the
/// convention of this name. If `observed` (a number from a dashboard) is not empty, the report also shows which
/// conventions give this number. Throws `error` if `observed_work_of` cannot read the number.
[[nodiscard]] inline comparison_report comparison_of(std::string model_type, const convention_comparison& model,
                                                     const tally& batch, std::string_view only = "",
                                                     std::string_view observed = "", const observed_step& step = {}) {
    comparison_report report{
        .model_type = std::move(model_type), .exact = model.exact(batch), .conventions = model.compare(batch)};
    if (!observed.empty()) {
        const observed_work work = observed_work_of(observed, step);
        report.observed = observed_report{.text = std::string(observed),
                                          .work = work,
                                          .matches = matches_of(work, model, batch, step),
                                          .nearest = nearest_of(work, report.conventions)};
    }
    detail::list_only(report, only);
    return report;
}

/// Compares the numbers in a trainer's log with the FLOPs under each convention. `step` has the time, GPUs and peak of
/// the logged steps, as far as they are known.
[[nodiscard]] inline comparison_report comparison_of(std::string model_type, const convention_comparison& model,
                                                     const tally& batch, std::string_view only, observed_log log,
                                                     const observed_step& step = {}) {
    comparison_report report = comparison_of(std::move(model_type), model, batch);
    const observed_work mean = log.mean();
    report.observed = observed_report{.text = std::string(log.trainer),
                                      .work = mean,
                                      .matches = matches_of(log.lines, model, batch, step),
                                      .nearest = nearest_of(mean, report.conventions)};
    report.observed->log = std::move(log);
    detail::list_only(report, only);
    return report;
}

namespace detail {

/// Returns the FLOPs by which one cause raises or lowers a convention's result, with a sign and in groups of three
/// digits: "+6 442 450 944".
[[nodiscard]] inline std::string signed_digits(const convention_term& term) {
    std::string digits = term.difference();
    const bool is_less = digits.front() == '-';
    return (is_less ? "-" : "+") + grouped(digits.substr(is_less ? 1 : 0));
}

/// Returns the table of conventions. Each row has one convention, its FLOPs, and the causes of its difference from
/// `exact`. If there is only one convention, each cause has its own row.
[[nodiscard]] inline table_section conventions_section(const comparison_report& shown) {
    const bool is_one = shown.conventions.size() == 1;
    table_section section{.columns = {name_column("convention"),
                                      {"FLOPs", cell_side::right, 26},
                                      {"of exact", cell_side::right, 12},
                                      {is_one ? "its choice" : "from it to exact"}}};
    const auto add = [&](std::string_view name, flops total) -> table_row& {
        return section.rows.emplace_back(table_row{
            {std::string(name)}, {grouped(to_string(total)), to_string(total)}, share_cell(total, shown.exact)});
    };
    for (const compared_convention& line : shown.conventions) {
        table_row& row = add(line.how.name, line.total);
        std::string terms;
        for (const convention_term& term : line.terms) {
            if (is_one) {
                section.rows.push_back({{std::string("  ").append(term.name)},
                                        {signed_digits(term), term.difference()},
                                        {},
                                        {std::string(term.meaning)}});
            } else {
                terms.append(terms.empty() ? "" : ", ").append(term.name).append(" ").append(signed_digits(term));
            }
        }
        if (!is_one) {
            row.push_back({terms});
        }
    }
    if (is_one && shown.conventions.front().how.name != conventions::exact.name) {
        add(conventions::exact.name, shown.exact);
    }
    return section;
}

/// Returns the number that the dashboard would show for `exact` FLOPs, with the same unit and number of decimals.
[[nodiscard]] inline std::string as_observed(const observed_report& observed, double exact) {
    const auto [number, decimals, unit] = parts_of_observed(observed.text);
    const double value = number_of_text<double>(number).value_or(0);
    return fixed_decimal(value * exact / observed.work.middle(), static_cast<int>(std::min<std::size_t>(decimals, 15)))
        .append(unit);
}

/// Returns a convention that explains the observed number, as text: "verl, useful: 447 466 872 766 464, x 8: not
/// divided by the 8 GPUs". If the convention explains the number only under another plan than the plan of the step,
/// adds the difference between the plans.
[[nodiscard]] inline std::string match_text(const observed_candidate& match) {
    const std::string others = counters_of(match.how.name);
    std::string text = text_of({match.how.name, others.empty() ? "" : " (also " + others + ")", ", ",
                                name_of(match.seen), ": ", grouped(to_string(match.total))});
    if (match.wrong_plan) {
        append(text, {", ", match.wrong_plan->meaning, " (", match.wrong_plan->name, " ",
                      signed_digits(*match.wrong_plan), ")"});
    }
    if (match.factor.value != 1) {
        append(text, {", x ", general_decimal(match.factor.value, 6), ": ", match.factor.cause});
    }
    return text;
}

/// Returns a text that says how the number of tokens in the log contradicts the batch.
[[nodiscard]] inline std::string contradiction_text(const contradicted_tokens& tokens) {
    const auto batch = static_cast<double>(tokens.of_batch);
    return text_of(
        {general_decimal(tokens.of_log, 6), " tokens a step by its own tokens a second, the batch has ",
         grouped(std::to_string(tokens.of_batch)), " (",
         batch > 0 ? general_decimal(tokens.of_log / batch, 4) + " times as many" : std::string("an empty one"),
         "): pass the whole batch of a step, of all GPUs and microbatches"});
}

/// Returns a table section with three kinds of rows: the observed number, each convention that gives it, and the exact
/// number.
[[nodiscard]] inline table_section observed_section(const comparison_report& shown) {
    const observed_report& observed = *shown.observed;
    table_section section{.columns = {name_column(), {"", cell_side::left, 0}}};
    const auto add = [&section](std::string name, std::string text) {
        section.rows.push_back({{std::move(name)}, {std::move(text)}});
    };
    const double exact = to_double(shown.exact);
    const std::string work = general_decimal(observed.work.middle(), 4).append(" FLOPs a step");
    const std::string share =
        exact > 0 ? text_of({work, ", ", fixed_decimal(100 * observed.work.middle() / exact, 2), " % of exact"}) : work;
    const auto rate = [&observed](double batch) {
        return fixed_decimal(observed.log->tflops_per_gpu(batch), 1).append(" TFLOP/s of one GPU");
    };
    add((observed.log ? "log of " : "observed ") + observed.text,
        observed.log ? text_of({rate(observed.work.middle()), ", ", share}) : share);
    for (const observed_candidate& match : observed.matches) {
        std::string text = match_text(match);
        if (observed.log) {
            append(text, {", ", match.explained, " of ", observed.log->lines.size(), " lines"});
        }
        add("  is", std::move(text));
    }
    if (observed.matches.empty()) {
        add("  is no convention's",
            text_of({"the nearest is ", observed.nearest.how.name, ": ", grouped(to_string(observed.nearest.total))}));
    }
    if (observed.log && observed.log->tokens) {
        add("  but has", contradiction_text(*observed.log->tokens));
    }
    add("  exactly", text_of({observed.log ? rate(exact) : as_observed(observed, exact), ", ",
                              grouped(to_string(shown.exact)), " FLOPs"}));
    return section;
}

}  // namespace detail

/// Returns the comparison as a table: the conventions, and the observed number if the report has one.
[[nodiscard]] inline table table_of(const comparison_report& shown) {
    table result{.title = shown.model_type + ": one step, and from each convention to exact",
                 .sections = {detail::conventions_section(shown)}};
    if (shown.observed) {
        result.sections.push_back(detail::observed_section(shown));
    }
    return result;
}

/// Returns the comparison as text.
[[nodiscard]] inline std::string to_table(const comparison_report& shown) {
    const table shown_table = table_of(shown);
    return shown_table.title + "\n\n" + to_text(shown_table, 2);
}

}  // namespace floptally
