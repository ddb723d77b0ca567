// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/batch/split_tally.hpp>
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
    const std::string digits = std::to_string(count);
    std::string text;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i != 0 && (digits.size() - i) % 3 == 0) {
            text += ' ';
        }
        text += digits[i];
    }
    return text;
}

namespace detail {

inline std::string figure(flops work, figures style) {
    return style == figures::exact ? to_string(work) : readable(work);
}

/// What a rule's amount is called: pairs, but of a word that the caller measured.
inline std::string label_of(const rule& m) { return m.is_measured() ? m.name() : "pairs, " + m.name(); }

/// The widest name of a report's first column.
inline std::size_t name_width(const report& r) {
    std::size_t width = 28;
    for (const rule& m : r.masks) {
        width = std::max(width, label_of(m).size());
    }
    for (const component_flops& c : r.work.components()) {
        width = std::max(width, c.name.view().size());
    }
    return width;
}

inline void append_statistics(std::string& text, const report& r, std::size_t width) {
    const auto line = [&](std::string_view name, std::uint64_t useful, std::uint64_t padded) {
        fmt::format_to(std::back_inserter(text), "  {:<{}}{:>18}", name, width, grouped(useful));
        if (padded != useful) {
            fmt::format_to(std::back_inserter(text), "{:>18} padded", grouped(padded));
        }
        text += '\n';
    };
    const auto words = [&](std::string_view counted, std::string_view tokens, modality in) {
        if (r.masks.has(in)) {
            const auto word = [&](std::string_view name, statistic what) {
                line(name, r.batch.get(view::useful, what, in), r.batch.get(view::padded, what, in));
            };
            word(counted, statistic::count);
            word(tokens, statistic::tokens);
        }
    };
    if (const std::uint64_t total = r.parameters.total; total != 0) {
        line("parameters", total, total);
        if (const std::uint64_t active = r.parameters.active.value_or(total); active != total) {
            line("parameters, active", active, active);
        }
        if (const auto trainable = r.parameters.trainable) {
            line("parameters, trainable", *trainable, *trainable);
        }
    }
    words("sequences", "tokens", modality::text);
    words("vision.frames", "vision.patches", modality::vision);
    words("audio.clips", "audio.frames", modality::audio);
    for (const rule& m : r.masks) {
        line(label_of(m), r.batch.pairs(view::useful, m), r.batch.pairs(view::padded, m));
    }
}

inline void append_components(std::string& text, const report& r, std::size_t width, figures style) {
    const int column = style == figures::exact ? 26 : 18;
    const flops all = r.work.total(view::useful);
    const auto row = [&](std::string_view name, std::string_view useful, std::string_view share,
                         std::string_view padded, std::string_view executed) {
        fmt::format_to(std::back_inserter(text), "  {:<{}}{:>{}}{:>11}{:>{}}{:>{}}\n", name, width, useful, column,
                       share, padded, column, executed, column);
    };
    const auto line = [&](std::string_view name, flops useful, flops padded, flops executed) {
        const std::string share =
            all == flops{} ? "-" : fmt::format("{:.2f} %", 100 * to_double(useful) / to_double(all));
        row(name, figure(useful, style), share, figure(padded, style), figure(executed, style));
    };
    row("component", "useful", "share", "padded", "executed");
    for (const component_flops& c : r.work.components()) {
        line(c.name.view(), c.total(view::useful), c.total(view::padded), c.total(view::executed));
    }
    line("total", all, r.work.total(view::padded), r.work.total(view::executed));
    text += '\n';
    row("phase", "useful", "share", "padded", "executed");
    const auto of_phase = [&](std::string_view name, auto count) {
        line(name, count(view::useful), count(view::padded), count(view::executed));
    };
    of_phase("forward", [&](view seen) { return r.work.get(seen, phase::forward); });
    of_phase("backward", [&](view seen) { return r.work.backward(seen); });
    of_phase("recompute", [&](view seen) { return r.work.get(seen, phase::recompute); });
}

/// What the padded view is spent on, by its share; nothing where nothing is padded.
inline void append_padding(std::string& text, const report& r, std::size_t width, figures style) {
    if (!r.padding || r.padding->padded() == flops{}) {
        return;
    }
    const padding_flops& p = *r.padding;
    const int column = style == figures::exact ? 26 : 18;
    const auto line = [&](std::string_view name, flops work) {
        fmt::format_to(std::back_inserter(text), "  {:<{}}{:>{}}{:>9.2f} %\n", name, width, figure(work, style), column,
                       100 * to_double(work) / to_double(p.padded()));
    };
    fmt::format_to(std::back_inserter(text), "\n  {:<{}}{:>{}}{:>11}\n", "padded", width, "spent on", column, "share");
    line("real tokens", p.useful);
    line("padding of their slots", p.in_slots);
    line("mock sequences", p.mock);
    line("padded vocabulary", p.vocabulary);
}

/// Two decimals; an absurd value in four digits instead of hundreds.
inline std::string two_decimals(double value) {
    return value < 1e9 ? fmt::format("{:.2f}", value) : fmt::format("{:.3e}", value);
}

inline void append_mfu(std::string& text, const mfu_report& mfu, std::size_t width) {
    const utilization& u = mfu.utilization;
    const auto line = [&](std::string_view name, std::string_view value, std::string_view meaning) {
        fmt::format_to(std::back_inserter(text), "  {:<{}}{:>18}  {}\n", name, width, value, meaning);
    };
    line("MFU", two_decimals(100 * u.mfu) + " %", "useful FLOPs over the peak");
    line("padded MFU", two_decimals(100 * u.padded_mfu) + " %", "every slot that the kernels process");
    line("HFU", two_decimals(100 * u.hfu) + " %", "executed: with recompute and the fused attention backward");
    if (mfu.mixed) {
        line("mixed-precision MFU", two_decimals(100 * mfu.mixed->mfu) + " %",
             fmt::format("each part over the peak of its precision; together {:.2f} TFLOP/s", mfu.mixed->peak_tflops));
    }
    line("TFLOP/s per GPU", two_decimals(u.tflops_per_gpu), "useful");
    line("tokens/s",
         u.tokens_per_second < 1e15 ? fmt::format("{:.0f}", u.tokens_per_second)
                                    : fmt::format("{:.3e}", u.tokens_per_second),
         "real tokens, all GPUs");
    line("step", fmt::format("{:g} s", mfu.step.seconds),
         fmt::format("on {} {}", mfu.step.gpus, mfu.step.gpus == 1 ? "GPU" : "GPUs"));
    const bool plain = mfu.peak_kind == peak_kind::unsaid || mfu.peak_kind == peak_kind::datasheet;
    line("peak", fmt::format("{:g} TFLOP/s", mfu.step.peak_tflops),
         fmt::format("{}{}{} dense{}{}: {}", mfu.accelerator, mfu.accelerator.empty() ? "" : ", ", mfu.precision,
                     plain ? "" : ", ", plain ? "" : name(mfu.peak_kind), mfu.peak_source));
}

}  // namespace detail

/// The report as a table in plain text: statistics, components with their share, phases, the three views, and MFU.
[[nodiscard]] inline std::string to_table(const report& r, figures style = figures::readable) {
    constexpr std::string_view passes[] = {"forward and backward", "forward only", "backward only"};
    std::string text = fmt::format(
        "{}: {}, recompute {}{}{}\nconvention {}: {}\n\n", r.model_type,
        passes[static_cast<std::size_t>(r.plan.counted)], recompute_names[static_cast<std::size_t>(r.plan.recomputed)],
        r.plan.indexer == indexer_training::frozen ? "" : ", indexer ",
        r.plan.indexer == indexer_training::frozen ? ""
                                                   : indexer_training_names[static_cast<std::size_t>(r.plan.indexer)],
        r.counted_as.name, r.counted_as.summary);
    const std::size_t width = detail::name_width(r);
    detail::append_statistics(text, r, width);
    text += '\n';
    detail::append_components(text, r, width, style);
    detail::append_padding(text, r, width, style);
    if (r.mfu) {
        text += '\n';
        detail::append_mfu(text, *r.mfu, width);
    }
    const std::vector<std::string> notes = notes_of(r);
    if (!notes.empty()) {
        text += '\n';
    }
    for (const std::string& note : notes) {
        text += "note: " + note + "\n";
    }
    fmt::format_to(std::back_inserter(text), "\nuseful total, exact: {} FLOP (floptally {})\n",
                   to_string(r.work.total(view::useful)), version);
    return text;
}

}  // namespace floptally
