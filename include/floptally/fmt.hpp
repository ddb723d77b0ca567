// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <string_view>

#include <floptally/flops.hpp>
#include <floptally/report.hpp>
#include <floptally/version.hpp>

/// @file
/// Adapter: a report as an aligned table, with {fmt}.

namespace floptally {

/// How the figures of a table are written.
enum class figures {
    readable,  ///< 421.65 TFLOP
    exact      ///< 421651971833856
};

/// "421.65 TFLOP": two decimals and the largest prefix below the value; below 1000 the exact integer.
[[nodiscard]] inline std::string readable(flops work) {
    constexpr std::string_view prefixes = "KMGTPEZYRQ";
    double value = to_double(work);
    if (value < 1000) {
        return fmt::format("{} FLOP", to_string(work));
    }
    std::size_t prefix = 0;
    // 999.995 would print as 1000.00.
    for (value /= 1000; value >= 999.995 && prefix + 1 < prefixes.size(); value /= 1000) {
        ++prefix;
    }
    return fmt::format("{:.2f} {}FLOP", value, prefixes[prefix]);
}

/// "443 365": digits in groups of three.
[[nodiscard]] inline std::string grouped(std::uint64_t count) {
    std::string digits = std::to_string(count);
    for (std::size_t at = digits.size(); at > 3;) {
        at -= 3;
        digits.insert(at, " ");
    }
    return digits;
}

namespace detail {

inline std::string figure(flops work, figures style) {
    return style == figures::exact ? to_string(work) : readable(work);
}

inline void append_statistic(std::string& text, std::string_view name, std::uint64_t useful, std::uint64_t padded) {
    fmt::format_to(std::back_inserter(text), "  {:<28}{:>18}", name, grouped(useful));
    if (padded != useful) {
        fmt::format_to(std::back_inserter(text), "{:>18} padded", grouped(padded));
    }
    text += '\n';
}

inline void append_statistics(std::string& text, const report& r) {
    const auto row = [&](std::string_view name, statistic what) {
        append_statistic(text, name, r.batch.get(view::useful, what), r.batch.get(view::padded, what));
    };
    row("sequences", statistic::count);
    row("tokens", statistic::tokens);
    for (const mask& m : r.masks) {
        append_statistic(text, "pairs, " + m.name(), r.batch.pairs(view::useful, m), r.batch.pairs(view::padded, m));
    }
}

inline void append_components(std::string& text, const report& r, figures style) {
    const std::string_view row =
        style == figures::exact ? "  {:<28}{:>26}{:>11}{:>26}{:>26}\n" : "  {:<28}{:>18}{:>11}{:>18}{:>18}\n";
    const flops all = r.work.total(view::useful);
    const auto line = [&](std::string_view name, flops useful, flops padded, flops executed) {
        const std::string share =
            all == flops{} ? "-" : fmt::format("{:.2f} %", 100 * to_double(useful) / to_double(all));
        fmt::format_to(std::back_inserter(text), fmt::runtime(row), name, figure(useful, style), share,
                       figure(padded, style), figure(executed, style));
    };
    fmt::format_to(std::back_inserter(text), fmt::runtime(row), "component", "useful", "share", "padded", "executed");
    for (const component_flops& c : r.work.components()) {
        line(c.name.view(), c.total(view::useful), c.total(view::padded), c.total(view::executed));
    }
    line("total", all, r.work.total(view::padded), r.work.total(view::executed));
    text += '\n';
    fmt::format_to(std::back_inserter(text), fmt::runtime(row), "phase", "useful", "share", "padded", "executed");
    const auto of_phase = [&](std::string_view name, auto count) {
        line(name, count(view::useful), count(view::padded), count(view::executed));
    };
    of_phase("forward", [&](view seen) { return r.work.get(seen, phase::forward); });
    of_phase("backward", [&](view seen) { return r.work.backward(seen); });
    of_phase("recompute", [&](view seen) { return r.work.get(seen, phase::recompute); });
}

inline void append_mfu(std::string& text, const mfu_report& mfu) {
    const utilization& u = mfu.utilization;
    const auto line = [&](std::string_view name, const std::string& value, std::string_view meaning) {
        fmt::format_to(std::back_inserter(text), "  {:<28}{:>18}  {}\n", name, value, meaning);
    };
    line("MFU", fmt::format("{:.2f} %", 100 * u.mfu), "useful FLOPs over the peak");
    line("padded MFU", fmt::format("{:.2f} %", 100 * u.padded_mfu), "every slot that the kernels process");
    line("HFU", fmt::format("{:.2f} %", 100 * u.hfu), "executed: with recompute and the fused attention backward");
    line("TFLOP/s per GPU", fmt::format("{:.2f}", u.tflops_per_gpu), "useful");
    line("tokens/s", fmt::format("{:.0f}", u.tokens_per_second), "real tokens, all GPUs");
    line("step", fmt::format("{:g} s", mfu.step.seconds), fmt::format("on {} GPUs", mfu.step.gpus));
    line("peak", fmt::format("{:g} TFLOP/s", mfu.step.peak_tflops),
         fmt::format("{}{} dense: {}", mfu.accelerator.empty() ? "" : mfu.accelerator + ", ", mfu.precision,
                     mfu.peak_source));
}

}  // namespace detail

/// The report as a table in plain text: statistics, components with their share, phases, the three views, and MFU.
[[nodiscard]] inline std::string to_table(const report& r, figures style = figures::readable) {
    constexpr std::string_view passes[] = {"forward and backward", "forward only", "backward only"};
    constexpr std::string_view recomputes[] = {"none", "full", "attention"};
    std::string text = fmt::format(
        "{}: {}, recompute {}\nconvention {}: {}\n\n", r.model_type, passes[static_cast<std::size_t>(r.plan.counted)],
        recomputes[static_cast<std::size_t>(r.plan.recomputed)], r.counted_as.name, r.counted_as.summary);
    detail::append_statistics(text, r);
    text += '\n';
    detail::append_components(text, r, style);
    if (r.mfu) {
        text += '\n';
        detail::append_mfu(text, *r.mfu);
    }
    if (!r.notes.empty()) {
        text += '\n';
    }
    for (const std::string& note : r.notes) {
        text += "note: " + note + "\n";
    }
    fmt::format_to(std::back_inserter(text), "\nuseful total, exact: {} FLOP (floptally {})\n",
                   to_string(r.work.total(view::useful)), version);
    return text;
}

}  // namespace floptally
