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
/// A comparison of conventions as a report and as a table.

namespace floptally {

/// A number from a dashboard or the lines of a log, and what they were found to be.
struct observed_report {
    std::string text;                           ///< as it was given; of a log, its trainer
    observed_work work;                         ///< the FLOPs that it stands for; of a log, by its mean rate
    std::vector<observed_candidate> matches{};  ///< conventions that give it; where there are none, `nearest`
    observed_candidate nearest{};
    std::optional<observed_log> log{};
};

/// A step as every convention counts it.
struct comparison_report {
    std::string model_type;
    flops exact;
    std::vector<compared_convention> conventions{};
    std::optional<observed_report> observed{};
};

namespace detail {

/// Leaves the convention of that name alone in a report; all where the name is empty.
inline void list_only(comparison_report& made, std::string_view name) {
    if (!name.empty()) {
        std::erase_if(made.conventions, [name](const compared_convention& line) { return line.how.name != name; });
    }
}

}  // namespace detail

/// The report of a batch under the conventions that `model` compares, or under the one of that name alone, and what a
/// number from a dashboard is by all of them: none where `observed` is empty. Errors are those of `observed_work_of`.
[[nodiscard]] inline comparison_report comparison_of(std::string model_type, const convention_comparison& model,
                                                     const tally& batch, std::string_view only = "",
                                                     std::string_view observed = "", const observed_step& step = {}) {
    comparison_report made{
        .model_type = std::move(model_type), .exact = model.exact(batch), .conventions = model.compare(batch)};
    if (!observed.empty()) {
        const observed_work work = observed_work_of(observed, step);
        made.observed = observed_report{.text = std::string(observed),
                                        .work = work,
                                        .matches = matches_of(work, model, batch),
                                        .nearest = nearest_of(work, made.conventions)};
    }
    detail::list_only(made, only);
    return made;
}

/// The report with the lines of a log in place of a number from a dashboard.
[[nodiscard]] inline comparison_report comparison_of(std::string model_type, const convention_comparison& model,
                                                     const tally& batch, std::string_view only, observed_log log) {
    comparison_report made = comparison_of(std::move(model_type), model, batch);
    const observed_work mean = log.mean();
    made.observed = observed_report{.text = std::string(log.trainer),
                                    .work = mean,
                                    .matches = matches_of(log.lines, model, batch),
                                    .nearest = nearest_of(mean, made.conventions)};
    made.observed->log = std::move(log);
    detail::list_only(made, only);
    return made;
}

namespace detail {

/// "+6 442 450 944": a difference with its sign, in groups of three digits.
[[nodiscard]] inline std::string signed_digits(const convention_term& term) {
    std::string digits = term.difference();
    const bool is_less = digits.front() == '-';
    return (is_less ? "-" : "+") + grouped(digits.substr(is_less ? 1 : 0));
}

/// The conventions, each with its terms in a line; of one convention, a line for each term.
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

/// A number from a dashboard as it would be by so many exact FLOPs: with the digits and the unit that it was given
/// with.
[[nodiscard]] inline std::string as_observed(const observed_report& observed, double exact) {
    const auto [number, decimals, unit] = parts_of_observed(observed.text);
    const double given = number_of_text<double>(number).value_or(0);
    return fixed_decimal(given * exact / observed.work.middle(), static_cast<int>(std::min<std::size_t>(decimals, 15)))
        .append(unit);
}

/// The observed number as it was found, a line for each convention that gives it.
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
        std::string text = text_of({match.how.name, ", ", name_of(match.seen), ": ", grouped(to_string(match.total))});
        if (observed.log) {
            append(text, {", ", match.given, " of ", observed.log->lines.size(), " lines"});
        }
        add("  is", std::move(text));
    }
    if (observed.matches.empty()) {
        add("  is no convention's",
            text_of({"the nearest is ", observed.nearest.how.name, ": ", grouped(to_string(observed.nearest.total))}));
    }
    add("  exactly", text_of({observed.log ? rate(exact) : as_observed(observed, exact), ", ",
                              grouped(to_string(shown.exact)), " FLOPs"}));
    return section;
}

}  // namespace detail

/// The comparison as a table: the conventions, and the observed number where there is one.
[[nodiscard]] inline table table_of(const comparison_report& shown) {
    table made{.title = shown.model_type + ": one step, and from each convention to exact",
               .sections = {detail::conventions_section(shown)}};
    if (shown.observed) {
        made.sections.push_back(detail::observed_section(shown));
    }
    return made;
}

/// The comparison as text.
[[nodiscard]] inline std::string to_table(const comparison_report& shown) {
    const table made = table_of(shown);
    return made.title + "\n\n" + to_text(made, 2);
}

}  // namespace floptally
