// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/conventions/comparison.hpp>
#include <floptally/conventions/trainer_log.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/step/detail/line_scanner.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A number from a dashboard or the lines of a log, and the conventions that give them.

namespace floptally {

/// The measurement that a rate was made with.
struct observed_step {
    std::optional<double> seconds{};      ///< of the step
    std::optional<std::uint64_t> gpus{};  ///< that took part
    std::optional<double> peak_tflops{};  ///< of one GPU, dense
};

/// The FLOPs of a step that a number stands for: an interval, since it was rounded to its last digit.
struct observed_work {
    double least = 0;
    double most = 0;

    /// True where so many FLOPs, rounded as the number was, are the number.
    [[nodiscard]] bool is(flops count) const { return least <= to_double(count) && to_double(count) <= most; }
    /// The middle of the interval.
    [[nodiscard]] double middle() const { return least + (most - least) / 2; }
};

namespace detail {

/// A unit of a number from a dashboard.
struct observed_unit {
    enum class kind { work, rate, share };

    kind of = kind::work;
    double size = 1;  ///< in FLOPs, FLOP/s of one GPU, or shares of the peak
};

/// The unit of that text: "TFLOP", "TFLOP/s", "TFLOPS", "PFLOP/s/GPU", "%". FLOPs with a small s are a count.
[[nodiscard]] inline std::optional<observed_unit> observed_unit_named(std::string_view text) {
    if (text == "%") {
        return observed_unit{observed_unit::kind::share, 0.01};
    }
    constexpr std::string_view letters = "KMGTPEZ";
    double size = 1;
    if (const std::size_t power = text.empty() ? letters.npos : letters.find(text.front()); power != letters.npos) {
        size = std::pow(10.0, 3.0 * static_cast<double>(power + 1));
        text.remove_prefix(1);
    }
    for (const std::string_view word : {"FLOP/s/GPU", "FLOPs/s/GPU", "FLOPS/GPU", "FLOP/s", "FLOPs/s", "FLOPS"}) {
        if (text == word) {
            return observed_unit{observed_unit::kind::rate, size};
        }
    }
    return text == "FLOP" || text == "FLOPs" ? std::optional(observed_unit{observed_unit::kind::work, size})
                                             : std::nullopt;
}

/// The text of a number from a dashboard: its digits, how many of them stand behind the point, and the rest.
struct observed_text {
    std::string_view number;
    std::size_t decimals;
    std::string_view unit;
};

[[nodiscard]] inline observed_text parts_of_observed(std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view number = text.substr(0, digits);
    const std::size_t point = number.find('.');
    return {number, point == std::string_view::npos ? 0 : number.size() - point - 1, text.substr(digits)};
}

}  // namespace detail

/// The FLOPs that a number from a dashboard stands for: "402TFLOP/s" (of one GPU), "3.21PFLOP" (of the step) or "40.7%"
/// (an MFU). A rate needs the step's seconds and GPUs, an MFU its peak too.
///
/// @throws error "observed" where the text is no such number, "seconds", "gpus" or "peak_tflops" where it is missing or
///         not above 0.
[[nodiscard]] inline observed_work observed_work_of(std::string_view text, const observed_step& step) {
    const auto [number, decimals, written] = detail::parts_of_observed(text);
    std::string_view word = written;
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    const auto unit = detail::observed_unit_named(word);
    const auto value = detail::number_of_text<double>(number);
    if (!unit || !value || !(*value > 0)) {
        detail::refuse("observed", {"must be a number above 0 with its unit, as 402TFLOP/s (of one GPU), 3.21PFLOP "
                                    "(of the step) or 40.7%, got \"",
                                    text, "\""});
    }
    double factor = unit->size;
    const auto multiply = [&factor](const auto& given, const char* field) {
        if (!given) {
            throw error(field, "is missing; a rate is FLOPs over seconds and GPUs, an MFU over their peak too");
        }
        const auto times = static_cast<double>(*given);
        if (!(times > 0) || !std::isfinite(times)) {
            detail::refuse(field, {"must be a finite number above 0, got ", detail::shortest_decimal(times)});
        }
        factor *= times;
    };
    if (unit->of != detail::observed_unit::kind::work) {
        multiply(step.seconds, "seconds");
        multiply(step.gpus, "gpus");
    }
    if (unit->of == detail::observed_unit::kind::share) {
        multiply(step.peak_tflops, "peak_tflops");
        factor *= 1e12;
    }
    const double half = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
    return {(*value - half) * factor, (*value + half) * factor};
}

/// The lines of a trainer's log, each as the FLOPs of one batch.
struct observed_log {
    std::string_view trainer{};
    std::vector<observed_work> lines{};
    double gpu_seconds = 0;  ///< that the batches of all lines took together

    /// The FLOPs of the batch by the mean rate of the log.
    [[nodiscard]] observed_work mean() const {
        observed_work sum;
        for (const observed_work& line : lines) {
            sum.least += line.least / static_cast<double>(lines.size());
            sum.most += line.most / static_cast<double>(lines.size());
        }
        return sum;
    }
    /// The rate of one GPU, where the batch has so many FLOPs, in TFLOP/s.
    [[nodiscard]] double tflops_per_gpu(double batch) const {
        return batch * static_cast<double>(lines.size()) / gpu_seconds / 1e12;
    }
};

namespace detail {

/// How much of a line's sequences the batch has: as much as both say, all of them where the line says nothing.
[[nodiscard]] inline printed_number share_of(const trainer_line& line, const tally& batch) {
    if (!line.samples) {
        return {1, 1};
    }
    const auto sequences =
        static_cast<double>(batch.get(view::padded, statistic::count, batch.masks().main_modality()));
    return {sequences / line.samples->most, sequences / line.samples->least};
}

/// The seconds that one GPU would work on the batch, by the line's time of its step or by its tokens a second.
[[nodiscard]] inline printed_number gpu_seconds_of(const trainer_line& line, const tally& batch,
                                                   const observed_step& step) {
    if (line.tokens_per_second) {
        const auto tokens =
            static_cast<double>(batch.get(view::padded, statistic::tokens, batch.masks().main_modality()));
        return {tokens / line.tokens_per_second->most, tokens / line.tokens_per_second->least};
    }
    if (!step.gpus) {
        refuse("gpus", {"is missing; a line of ", line.trainer, " says the time of all GPUs"});
    }
    const printed_number share = share_of(line, batch);
    const auto gpus = static_cast<double>(*step.gpus);
    return {line.seconds->least * share.least * gpus, line.seconds->most * share.most * gpus};
}

/// The rate of one GPU that a line says, in FLOP/s.
[[nodiscard]] inline printed_number rate_of(const trainer_line& line, const observed_step& step) {
    if (line.tflops) {
        return {line.tflops->least * 1e12, line.tflops->most * 1e12};
    }
    if (line.all_tflops) {
        const double of_each = 1e12 / static_cast<double>(step.gpus.value_or(1));
        return {line.all_tflops->least * of_each, line.all_tflops->most * of_each};
    }
    if (!step.peak_tflops) {
        refuse("peak_tflops", {"is missing; a line of ", line.trainer, " says an MFU, and not of which peak"});
    }
    return {line.mfu->least * *step.peak_tflops * 1e12, line.mfu->most * *step.peak_tflops * 1e12};
}

/// The FLOPs of the batch that a line says, as a count or by a rate.
[[nodiscard]] inline observed_work work_of(const trainer_line& line, const printed_number& gpu_seconds,
                                           const tally& batch, const observed_step& step) {
    const printed_number one = line.flops ? *line.flops : rate_of(line, step);
    const printed_number by = line.flops ? share_of(line, batch) : gpu_seconds;
    return {one.least * by.least, one.most * by.most};
}

}  // namespace detail

/// Reads the lines of a trainer's log that say a rate or a count (`trainer_line_of`), whatever stands before them and
/// between them. The batch is that of each step; where a line says how many sequences a step has, it is as much of them
/// as it has sequences.
///
/// @throws error "log" where no line is known or two trainers wrote it, "gpus" or "peak_tflops" where a line needs it.
[[nodiscard]] inline observed_log observed_log_of(std::istream& text, const tally& batch, const observed_step& step) {
    observed_log log;
    std::size_t number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        const auto found = trainer_line_of(detail::without_colours(line));
        if (!found) {
            continue;
        }
        if (!log.trainer.empty() && log.trainer != found->trainer) {
            detail::refuse("log", {"has lines of ", log.trainer, " and, in line ", number, ", of ", found->trainer});
        }
        log.trainer = found->trainer;
        const printed_number seconds = detail::gpu_seconds_of(*found, batch, step);
        log.lines.push_back(detail::work_of(*found, seconds, batch, step));
        log.gpu_seconds += seconds.middle();
    }
    if (text.bad()) {
        throw error("log", "cannot be read to its end");
    }
    if (log.lines.empty()) {
        detail::refuse("log",
                       {"has no line with a rate among ", number, "; those of ", known_trainers(), " are known"});
    }
    return log;
}

/// A convention and a view, and the FLOPs that they give a batch.
struct observed_candidate {
    convention how;
    view seen = view::useful;
    flops total;
    std::size_t given = 1;  ///< of the observed numbers, how many it gives
};

/// The conventions and views that give most of the observed numbers, and at least half of them, to their rounding:
/// those of the useful view first, then those of another that has more than the one before it.
[[nodiscard]] inline std::vector<observed_candidate> matches_of(std::span<const observed_work> observed,
                                                                const convention_comparison& model,
                                                                const tally& batch) {
    std::vector<observed_candidate> matches;
    std::vector<compared_convention> before;
    std::size_t most = (observed.size() + 1) / 2;
    for (const view seen : {view::useful, view::padded, view::executed}) {
        const std::vector<compared_convention> compared = model.compare(batch, seen);
        for (std::size_t i = 0; i < compared.size(); ++i) {
            const flops total = compared[i].total;
            const auto given = static_cast<std::size_t>(std::count_if(
                observed.begin(), observed.end(), [&](const observed_work& one) { return one.is(total); }));
            if (given >= most && given != 0 && (before.empty() || !(total == before[i].total))) {
                most = given;
                matches.push_back({compared[i].how, seen, total, given});
            }
        }
        before = compared;
    }
    std::erase_if(matches, [most](const observed_candidate& match) { return match.given < most; });
    return matches;
}
[[nodiscard]] inline std::vector<observed_candidate> matches_of(const observed_work& observed,
                                                                const convention_comparison& model,
                                                                const tally& batch) {
    return matches_of({&observed, 1}, model, batch);
}

/// The convention whose useful FLOPs (`convention_comparison::compare`) are nearest to the observed number, of several
/// equal ones the first.
[[nodiscard]] inline observed_candidate nearest_of(const observed_work& observed,
                                                   std::span<const compared_convention> compared) {
    const auto distance = [&observed](const compared_convention& line) {
        return std::abs(to_double(line.total) - observed.middle());
    };
    const auto nearest = std::min_element(
        compared.begin(), compared.end(),
        [&](const compared_convention& a, const compared_convention& b) { return distance(a) < distance(b); });
    return {nearest->how, view::useful, nearest->total};
}

}  // namespace floptally
