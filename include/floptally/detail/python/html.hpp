// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/breakdown.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/flops.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/report.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/utilization.hpp>

namespace floptally::detail::python {

/// Text of the user's in HTML.
[[nodiscard]] inline std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                out += c;
        }
    }
    return out;
}

/// A breakdown as tables for a notebook: what the batch is, components and phases in three views with their share of
/// the useful work, and rates where a step was measured. The exact integer of each figure is its title.
class html_report {
  public:
    html_report(const report& shown, const std::function<std::string(flops)>& readable)
        : r_(shown), readable_(readable), all_(shown.work.total(view::useful)) {}

    [[nodiscard]] std::string text() && {
        out_.append("<table><caption>")
            .append(escaped(r_.model_type))
            .append(": ")
            .append(readable_(all_))
            .append(" useful, convention ")
            .append(escaped(r_.counted_as.name))
            .append("</caption>");
        append_statistics();
        append_work();
        append_rates();
        out_.append("</table>");
        for (const std::string& note : notes_of(r_)) {
            out_.append("<p>").append(escaped(note)).append("</p>");
        }
        return std::move(out_);
    }

  private:
    void begin(std::string_view name) {
        out_.append("<tr><th style=\"text-align:left\">").append(escaped(name)).append("</th>");
    }
    void end() { out_.append("</tr>"); }

    void head(std::string_view name, std::initializer_list<const char*> columns) {
        begin(name);
        for (const char* column : columns) {
            out_.append("<th style=\"text-align:right\">").append(column).append("</th>");
        }
        end();
    }
    void cell(const std::string& text, const std::string& exact = {}) {
        out_.append("<td style=\"text-align:right\"");
        if (!exact.empty()) {
            out_.append(" title=\"").append(exact).append("\"");
        }
        out_.append(">").append(text).append("</td>");
    }

    void append_statistics() {
        head("batch", {"useful", "", "padded", ""});
        const auto line = [&](const std::string& name, std::uint64_t useful, std::uint64_t padded) {
            begin(name);
            cell(grouped(useful));
            cell("");
            cell(grouped(padded));
            cell("");
            end();
        };
        const auto words = [&](const char* counted, const char* tokens, modality in) {
            if (r_.masks.has(in)) {
                line(counted, r_.batch.get(view::useful, statistic::count, in),
                     r_.batch.get(view::padded, statistic::count, in));
                line(tokens, r_.batch.get(view::useful, statistic::tokens, in),
                     r_.batch.get(view::padded, statistic::tokens, in));
            }
        };
        words("sequences", "tokens", modality::text);
        words("vision.frames", "vision.patches", modality::vision);
        words("audio.clips", "audio.frames", modality::audio);
        for (const rule& m : r_.masks) {
            line("pairs, " + m.name(), r_.batch.pairs(view::useful, m), r_.batch.pairs(view::padded, m));
        }
    }

    void append_work() {
        const auto row = [&](std::string_view name, auto count) {
            begin(name);
            const flops useful = count(view::useful);
            cell(readable_(useful), to_string(useful));
            cell(all_ == flops{} ? "-" : to_percent(to_double(useful) / to_double(all_)));
            for (const view seen : {view::padded, view::executed}) {
                const flops work = count(seen);
                cell(readable_(work), to_string(work));
            }
            end();
        };
        head("component", {"useful", "share", "padded", "executed"});
        for (const component_flops& c : r_.work.components()) {
            row(c.name.view(), [&c](view seen) { return c.total(seen); });
        }
        row("total", [&](view seen) { return r_.work.total(seen); });
        head("phase", {"useful", "share", "padded", "executed"});
        row("forward", [&](view seen) { return r_.work.get(seen, phase::forward); });
        row("backward", [&](view seen) { return r_.work.backward(seen); });
        row("recompute", [&](view seen) { return r_.work.get(seen, phase::recompute); });
    }

    void append_rates() {
        if (!r_.mfu) {
            return;
        }
        begin("of the peak");
        cell(to_percent(r_.mfu->utilization.mfu));
        cell("");
        cell(to_percent(r_.mfu->utilization.padded_mfu));
        cell(to_percent(r_.mfu->utilization.hfu));
        end();
    }

    /// "10 536": digits in groups of three.
    [[nodiscard]] static std::string grouped(std::uint64_t count) {
        std::string text = std::to_string(count);
        for (std::size_t at = text.size(); at > 3; at -= 3) {
            text.insert(at - 3, "&#8239;");
        }
        return text;
    }

    const report& r_;
    const std::function<std::string(flops)>& readable_;
    flops all_;
    std::string out_{};
};

[[nodiscard]] inline std::string to_html(const report& r, const std::function<std::string(flops)>& readable) {
    return html_report(r, readable).text();
}

}  // namespace floptally::detail::python
