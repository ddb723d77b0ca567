// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <floptally/breakdown.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/flops.hpp>
#include <floptally/report.hpp>

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

/// A breakdown as a small table for a notebook: components and phases in three views. The exact integer of each figure
/// is its title.
[[nodiscard]] inline std::string to_html(const report& r, const std::function<std::string(flops)>& readable) {
    std::string out = "<table><caption>";
    out.append(escaped(r.model_type)).append(", convention ").append(escaped(r.counted_as.name)).append("</caption>");
    const auto cell = [&](flops work) {
        out.append("<td style=\"text-align:right\" title=\"")
            .append(to_string(work))
            .append("\">")
            .append(readable(work))
            .append("</td>");
    };
    const auto row = [&](std::string_view name, auto count) {
        out.append("<tr><th style=\"text-align:left\">").append(escaped(name)).append("</th>");
        for (const view seen : {view::useful, view::padded, view::executed}) {
            cell(count(seen));
        }
        out.append("</tr>");
    };
    const auto head = [&out](std::string_view name) {
        out.append("<tr><th style=\"text-align:left\">")
            .append(name)
            .append("</th><th>useful</th><th>padded</th><th>executed</th></tr>");
    };
    head("component");
    for (const component_flops& c : r.work.components()) {
        row(c.name.view(), [&c](view seen) { return c.total(seen); });
    }
    row("total", [&r](view seen) { return r.work.total(seen); });
    head("phase");
    row("forward", [&r](view seen) { return r.work.get(seen, phase::forward); });
    row("backward", [&r](view seen) { return r.work.backward(seen); });
    row("recompute", [&r](view seen) { return r.work.get(seen, phase::recompute); });
    if (r.mfu) {
        out.append("<tr><th style=\"text-align:left\">of the peak</th>");
        for (const double fraction : {r.mfu->utilization.mfu, r.mfu->utilization.padded_mfu, r.mfu->utilization.hfu}) {
            out.append("<td style=\"text-align:right\">").append(to_percent(fraction)).append("</td>");
        }
        out.append("</tr>");
    }
    out.append("</table>");
    for (const std::string& note : notes_of(r)) {
        out.append("<p>").append(escaped(note)).append("</p>");
    }
    return out;
}

}  // namespace floptally::detail::python
