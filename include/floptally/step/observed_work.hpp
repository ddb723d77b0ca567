// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <iterator>
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
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/step/detail/line_scanner.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// Finds the conventions whose FLOPs equal a number from a dashboard or from a trainer's log.

namespace floptally::inline v0_3 {

/// Facts about a step that are needed to convert an observed rate or MFU to FLOPs. Empty members are unknown.
struct observed_step {
    std::optional<double> seconds{};      ///< time of the step
    std::optional<std::uint64_t> gpus{};  ///< number of GPUs of the step
    std::optional<double> peak_tflops{};  ///< dense peak of one GPU
};

/// The FLOPs of a step that follow from an observed number. They are an interval, because the number was rounded.
struct observed_work {
    double least = 0;
    double most = 0;

    /// Returns true if `count` rounds to the observed number.
    [[nodiscard]] bool is(flops count) const { return least <= to_double(count) && to_double(count) <= most; }
    /// Returns the middle of the interval.
    [[nodiscard]] double middle() const { return least + (most - least) / 2; }
};

namespace detail {

/// The unit of a number from a dashboard.
struct observed_unit {
    enum class kind { work, rate, share };

    kind measures = kind::work;
    /// The size of the unit: 1e12 for "TFLOP". If `measures` is `work`, the size is in FLOPs; if `rate`, in FLOP/s of
    /// one GPU; if `share`, as a fraction of the peak.
    double size = 1;
};

/// Reads a unit: "TFLOP", "TFLOP/s", "TFLOPS", "PFLOP/s/GPU", "%". "FLOPs" with a small s means FLOPs, "FLOPS" means
/// FLOP/s.
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

/// A number from a dashboard, split into value, number of decimals, and unit.
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

/// Converts a number from a dashboard to the FLOPs of the step: "402TFLOP/s" (of one GPU), "3.21PFLOP" (of the step) or
/// "40.7%" (an MFU). A rate needs the step's seconds and GPUs. An MFU also needs the peak.
///
/// Throws an `error` that names "observed" if the text is not a number above 0 with a unit of FLOP, FLOP/s or %. If
/// "seconds", "gpus" or "peak_tflops" is needed and is missing or not above 0, throws an `error` that names it.
[[nodiscard]] inline observed_work observed_work_of(std::string_view text, const observed_step& step) {
    const auto [number, decimals, written] = detail::parts_of_observed(text);
    std::string_view word = written;
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    const auto unit = detail::observed_unit_named(word);
    const auto value = detail::number_of_text<double>(number);
    if (!unit || !value || !(*value > 0)) {
        detail::refuse("observed", {"must be a number above 0 with a unit, such as 402TFLOP/s (of one GPU), 3.21PFLOP "
                                    "(of the step) or 40.7%, got \"",
                                    text, "\""});
    }
    double factor = unit->size;
    const auto multiply = [&factor](const auto& measured, const char* field) {
        if (!measured) {
            throw error(
                field,
                "is missing: a rate needs seconds and gpus of the step, and an MFU needs seconds, gpus and the peak");
        }
        const auto times = static_cast<double>(*measured);
        if (!(times > 0) || !std::isfinite(times)) {
            detail::refuse(field, {"must be a finite number above 0, got ", detail::shortest_decimal(times)});
        }
        factor *= times;
    };
    if (unit->measures != detail::observed_unit::kind::work) {
        multiply(step.seconds, "seconds");
        multiply(step.gpus, "gpus");
    }
    if (unit->measures == detail::observed_unit::kind::share) {
        multiply(step.peak_tflops, "peak_tflops");
        factor *= 1e12;
    }
    const double half = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
    return {(*value - half) * factor, (*value + half) * factor};
}

/// The number of tokens in a step according to a trainer's log, if it contradicts the batch that was counted.
struct contradicted_tokens {
    double of_log = 0;  ///< number of tokens in a step, as the mean over the lines of the log
    std::uint64_t of_batch = 0;
};

/// The FLOPs of one batch according to each record of a trainer's log.
struct observed_log {
    std::string_view trainer{};
    std::vector<observed_work> lines{};
    double gpu_seconds = 0;  ///< GPU-seconds of the batch, summed over all lines
    std::optional<contradicted_tokens> tokens{};

    /// Returns the FLOPs of the batch as the mean over the lines of the log.
    [[nodiscard]] observed_work mean() const {
        observed_work sum;
        for (const observed_work& line : lines) {
            sum.least += line.least / static_cast<double>(lines.size());
            sum.most += line.most / static_cast<double>(lines.size());
        }
        return sum;
    }
    /// Returns the mean TFLOP/s of one GPU over the log, for a batch of `batch` FLOPs.
    [[nodiscard]] double tflops_per_gpu(double batch) const {
        return batch * static_cast<double>(lines.size()) / gpu_seconds / 1e12;
    }
};

namespace detail {

/// Returns which multiple or fraction of a step the batch is: the batch's number of sequences ÷ the step's number of
/// sequences in the log line. Returns 1 if the line prints no number of sequences.
[[nodiscard]] inline printed_number share_of(const trainer_line& line, const tally& batch) {
    if (!line.samples) {
        return {1, 1};
    }
    const auto sequences =
        static_cast<double>(batch.get(view::padded, accumulator::count, batch.masks().main_modality()));
    return {sequences / line.samples->most, sequences / line.samples->least};
}

[[nodiscard]] inline double tokens_of(const tally& batch, view seen) {
    return static_cast<double>(batch.get(seen, accumulator::tokens, batch.masks().main_modality()));
}

/// Returns the GPU-seconds that the batch took according to a log line: from the step time or tokens per second.
[[nodiscard]] inline printed_number gpu_seconds_of(const trainer_line& line, const tally& batch,
                                                   const observed_step& step) {
    const double tokens = tokens_of(batch, view::padded);
    if (line.tokens_per_second && (!line.seconds || !step.gpus)) {
        return {tokens / line.tokens_per_second->most, tokens / line.tokens_per_second->least};
    }
    if (!step.gpus) {
        refuse("gpus",
               {"is missing: pass the number of GPUs, since a line of ", line.trainer, " has the total over all GPUs"});
    }
    const auto gpus = static_cast<double>(*step.gpus);
    if (!line.seconds) {
        return {tokens / line.all_tokens_per_second->most * gpus, tokens / line.all_tokens_per_second->least * gpus};
    }
    const printed_number share = share_of(line, batch);
    return {line.seconds->least * share.least * gpus, line.seconds->most * share.most * gpus};
}

/// Returns the tokens of a step on all GPUs according to a log line. If the line prints no number of tokens,
/// the result is tokens per second x step time.
[[nodiscard]] inline std::optional<printed_number> step_tokens_of(const trainer_line& line, const observed_step& step) {
    if (line.tokens) {
        return line.tokens;
    }
    const auto& rate = line.all_tokens_per_second ? line.all_tokens_per_second : line.tokens_per_second;
    if (!line.seconds || !rate || (!line.all_tokens_per_second && !step.gpus)) {
        return std::nullopt;
    }
    const double gpus = line.all_tokens_per_second ? 1 : static_cast<double>(*step.gpus);
    return printed_number{rate->least * line.seconds->least * gpus, rate->most * line.seconds->most * gpus};
}

/// Returns the FLOP/s of one GPU that a log line prints as TFLOP/s or MFU.
[[nodiscard]] inline printed_number rate_of(const trainer_line& line, const observed_step& step) {
    if (line.tflops) {
        return {line.tflops->least * 1e12, line.tflops->most * 1e12};
    }
    if (line.all_tflops) {
        const double per_gpu = 1e12 / static_cast<double>(step.gpus.value_or(1));
        return {line.all_tflops->least * per_gpu, line.all_tflops->most * per_gpu};
    }
    if (!step.peak_tflops) {
        refuse("peak_tflops", {"is missing: pass the peak of the trainer's MFU, since a line of ", line.trainer,
                               " does not contain it"});
    }
    return {line.mfu->least * *step.peak_tflops * 1e12, line.mfu->most * *step.peak_tflops * 1e12};
}

/// Returns the FLOPs of the batch according to a log line that prints FLOPs or a rate.
[[nodiscard]] inline observed_work work_of(const trainer_line& line, const printed_number& gpu_seconds,
                                           const tally& batch, const observed_step& step) {
    const printed_number value = line.flops ? *line.flops : rate_of(line, step);
    const printed_number factor = line.flops ? share_of(line, batch) : gpu_seconds;
    return {value.least * factor.least, value.most * factor.most};
}

}  // namespace detail

/// Reads the records of a trainer's log that have a rate or a number of FLOPs (`trainer_log_reader`). Ignores other
/// text. All steps must have the same batch `batch`. If the lines print the number of sequences, `batch` may be a part
/// of the step's sequences: the FLOPs of a line are then scaled.
///
/// Sets `observed_log::tokens` if most lines of the log contradict the batch. A line contradicts the batch if its
/// number of tokens is neither the batch's number of tokens nor its number of slots. The line prints its number of
/// tokens, or tokens per second and the step time. Differences up to 1 % are ignored, because clocks differ.
///
/// Throws an `error` that names "log" if no line of the log has a rate or FLOPs, or if lines of two trainers are mixed.
/// Throws an `error` that names "gpus" or "peak_tflops" if that value is missing and a line's rate cannot be converted
/// without it.
[[nodiscard]] inline observed_log observed_log_of(std::istream& text, const tally& batch, const observed_step& step) {
    constexpr double clocks = 0.01;
    observed_log log;
    trainer_log_reader reader;
    std::size_t number = 0;
    std::size_t contradicting = 0;
    double tokens = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        const auto found = reader.read(detail::without_colours(line));
        if (!found) {
            continue;
        }
        if (!log.trainer.empty() && log.trainer != found->trainer) {
            detail::refuse("log", {"has lines of ", log.trainer, " and, in line ", number, ", of ", found->trainer,
                                   ": pass the log of one trainer"});
        }
        log.trainer = found->trainer;
        const printed_number seconds = detail::gpu_seconds_of(*found, batch, step);
        log.lines.push_back(detail::work_of(*found, seconds, batch, step));
        log.gpu_seconds += seconds.middle();
        if (const auto of_step = detail::step_tokens_of(*found, step)) {
            const printed_number share = detail::share_of(*found, batch);
            tokens += of_step->middle() * share.middle();
            contradicting +=
                of_step->most * share.most * (1 + clocks) < detail::tokens_of(batch, view::useful) ||
                        of_step->least * share.least * (1 - clocks) > detail::tokens_of(batch, view::padded)
                    ? 1U
                    : 0U;
        }
    }
    if (text.bad()) {
        throw error("log", "cannot be read to its end: check its disk, or read a copy");
    }
    if (log.lines.empty()) {
        detail::refuse("log",
                       {"has no line with a rate among its ", number, " lines: pass a log of ", known_trainers()});
    }
    if (2 * contradicting > log.lines.size()) {
        log.tokens = contradicted_tokens{tokens / static_cast<double>(log.lines.size()),
                                         batch.get(view::padded, accumulator::tokens, batch.masks().main_modality())};
    }
    return log;
}

/// A constant factor by which a tool's number may be wrong.
struct observed_factor {
    double value = 1;
    std::string cause{};  ///< the reason for the factor: "not divided by the 8 GPUs"
};

/// Returns the constant factors by which numbers of dashboards and logs are often wrong. Possible causes are the number
/// of GPUs, a forward taken for a training step, 1000 and 1024 confused in a unit, and a batch that is not the whole
/// step. All factors differ.
[[nodiscard]] inline std::vector<observed_factor> observed_factors(const tally& batch, const observed_step& step) {
    std::vector<observed_factor> factors;
    const auto add = [&factors](double value, std::string cause) {
        const bool known = value == 1 || std::any_of(factors.begin(), factors.end(), [value](const auto& factor) {
                               return std::abs(factor.value / value - 1) < 1e-9;
                           });
        if (!known) {
            factors.push_back({value, std::move(cause)});
        }
    };
    if (step.gpus) {
        const auto gpus = static_cast<double>(*step.gpus);
        add(gpus, detail::text_of({"not divided by the ", *step.gpus, " GPUs"}));
        add(1 / gpus, detail::text_of({"divided by the ", *step.gpus, " GPUs twice"}));
    }
    add(2, "a product of two numbers counted twice, or two such batches in a step");
    add(0.5, "a multiply-add counted as one FLOP, a peak with sparsity, or half of the batch");
    add(3, "a forward counted as a whole training step, or three such batches in a step");
    add(1.0 / 3, "a third of a training step, as for a forward");
    add(8, "not divided by 8 GPUs, or eight such batches in a step");
    add(0.125, "divided by 8 GPUs twice, or an eighth of the batch");
    for (int power = 1; power <= 3; ++power) {
        const double thousands = std::pow(1000.0, power);
        add(thousands, detail::text_of({"a unit that is ", std::to_string(power), " steps of 1000 too small"}));
        add(1 / thousands, detail::text_of({"a unit that is ", std::to_string(power), " steps of 1000 too large"}));
    }
    for (int power = 1; power <= 4; ++power) {
        const double binary = std::pow(1.024, power);
        add(binary, detail::text_of({"units of 1000 read as 1024, ", std::to_string(power), " times"}));
        add(1 / binary, detail::text_of({"units of 1024 in place of 1000, ", std::to_string(power), " times"}));
    }
    const std::uint64_t sequences = batch.get(view::padded, accumulator::count, batch.masks().main_modality());
    for (std::uint64_t part = 2; part <= std::min<std::uint64_t>(sequences, 4096); ++part) {
        if (sequences % part == 0) {
            add(1 / static_cast<double>(part),
                detail::text_of({"a microbatch of ", sequences / part, " of the batch's ", sequences, " sequences"}));
        }
    }
    for (const std::uint64_t times :
         {4U, 5U, 6U, 10U, 12U, 16U, 20U, 24U, 32U, 48U, 64U, 96U, 128U, 256U, 512U, 1024U}) {
        add(static_cast<double>(times), detail::text_of({times, " such batches in a step, as with accumulation"}));
    }
    return factors;
}

/// A convention and a view that may explain an observed number, and the FLOPs that they give for the batch.
struct observed_candidate {
    convention how;
    view seen = view::useful;
    flops total;                ///< FLOPs of the batch under this convention and view, not multiplied by `factor`
    std::size_t explained = 1;  ///< how many of the observed numbers equal `total` times `factor` after rounding
    /// Set if the tool assumes another plan than that of the step. `before` is the FLOPs under the assumed plan, and
    /// `after` the FLOPs under the plan of the step.
    std::optional<convention_term> wrong_plan{};
    observed_factor factor{};
};

namespace detail {

/// Searches for the conventions and views that explain the most observed numbers. A second view of a convention is
/// listed only if its FLOPs differ from those of the first.
class candidate_search {
  public:
    candidate_search(std::span<const observed_work> observed, const convention_comparison& model, const tally& batch)
        : observed_(observed), model_(model), batch_(batch), conventions_(model.conventions()) {
        for (const view seen : views) {
            planned_.push_back(model.totals(batch, seen));
        }
    }

    /// Returns the conventions and views that explain the most observed numbers under the plan of the step.
    [[nodiscard]] std::vector<observed_candidate> by_plan(const observed_factor& factor = {}) {
        begin();
        for (std::size_t i = 0; i < planned_.size(); ++i) {
            add(views[i], planned_[i], {planned_.data(), i}, nullptr, factor);
        }
        return end();
    }

    /// Returns the conventions and views that explain the most observed numbers under a plan that a tool may have
    /// assumed.
    [[nodiscard]] std::vector<observed_candidate> by_assumed_plans(const observed_factor& factor = {}) {
        const std::vector<assumed_plan> plans = model_.assumed();
        begin();
        // The FLOPs under the plans and views that were already tried; equal FLOPs are not listed twice.
        std::vector<std::vector<flops>> known;
        for (std::size_t plan = 0; plan < plans.size(); ++plan) {
            for (std::size_t i = 0; i < planned_.size(); ++i) {
                std::vector<flops> totals = model_.totals_by(plan, batch_, views[i]);
                known.push_back(planned_[i]);
                add(views[i], totals, known, &plans[plan], factor);
                known.back() = std::move(totals);
            }
        }
        return end();
    }

    /// Runs a search with each of the constant factors (`observed_factors`). Returns the conventions and views found
    /// with the factor that explains the most numbers. If several factors explain equally many, returns those of all of
    /// them.
    template <class Search>
    [[nodiscard]] std::vector<observed_candidate> best_of(const std::vector<observed_factor>& factors, Search search) {
        std::vector<observed_candidate> best;
        for (const observed_factor& factor : factors) {
            std::vector<observed_candidate> found = search(factor);
            if (!found.empty() && (best.empty() || found.front().explained > best.front().explained)) {
                best = std::move(found);
            } else if (!found.empty() && found.front().explained == best.front().explained) {
                std::move(found.begin(), found.end(), std::back_inserter(best));
            }
        }
        return best;
    }

    /// Returns the width of the widest rounding interval of an observed number, as a fraction of the number.
    [[nodiscard]] double width() const {
        double widest = 0;
        for (const observed_work& number : observed_) {
            widest = std::max(widest, (number.most - number.least) / number.middle());
        }
        return widest;
    }

  private:
    static constexpr view views[] = {view::useful, view::padded, view::executed};

    void begin() {
        matches_.clear();
        most_ = (observed_.size() + 1) / 2;
    }

    /// Adds the conventions whose FLOPs explain the observed numbers to the results. `plan` is a plan that a tool may
    /// have assumed, or null for the plan of the step. Skips FLOPs that were already tried (`known`). If `plan` is not
    /// null, the last element of `known` has the FLOPs under the plan of the step.
    void add(view seen, const std::vector<flops>& totals, std::span<const std::vector<flops>> known,
             const assumed_plan* plan, const observed_factor& factor) {
        for (std::size_t i = 0; i < totals.size(); ++i) {
            const double shown = to_double(totals[i]) * factor.value;
            const auto explained = static_cast<std::size_t>(std::count_if(
                observed_.begin(), observed_.end(),
                [shown](const observed_work& number) { return number.least <= shown && shown <= number.most; }));
            const bool is_new = std::none_of(known.begin(), known.end(),
                                             [&](const std::vector<flops>& counts) { return counts[i] == totals[i]; });
            if (explained >= most_ && explained != 0 && is_new) {
                most_ = explained;
                observed_candidate& match =
                    matches_.emplace_back(observed_candidate{conventions_[i], seen, totals[i], explained, {}, factor});
                if (plan != nullptr) {
                    match.wrong_plan = convention_term{plan->name, plan->meaning, totals[i], known.back()[i]};
                }
            }
        }
    }

    [[nodiscard]] std::vector<observed_candidate> end() {
        std::erase_if(matches_, [this](const observed_candidate& match) { return match.explained < most_; });
        return std::move(matches_);
    }

    std::span<const observed_work> observed_;
    const convention_comparison& model_;
    const tally& batch_;
    std::vector<convention> conventions_;
    std::vector<std::vector<flops>> planned_;
    std::vector<observed_candidate> matches_;
    std::size_t most_ = 1;
};

}  // namespace detail

/// Returns the conventions and views that explain the most observed numbers; none if they explain less than half of the
/// numbers. A convention explains a number if its FLOPs round to it. The useful view comes first. Another view of the
/// same convention is listed only if its FLOPs differ from those of the previous view.
///
/// If no convention explains the numbers under the plan of the step, the function tries the plans that a tool may
/// assume (`assumed_plans`). Then it tries constant factors (`observed_factors`), and last an assumed plan with a
/// factor. A number with few digits may match by chance. So factors are tried only for numbers of at least three
/// digits. A plan with a factor, and factors within 20 % of 1, are tried only for at least four digits.
[[nodiscard]] inline std::vector<observed_candidate> matches_of(std::span<const observed_work> observed,
                                                                const convention_comparison& model, const tally& batch,
                                                                const observed_step& step = {}) {
    constexpr double three_digits = 1e-2;
    constexpr double four_digits = 1e-3;
    detail::candidate_search search(observed, model, batch);
    std::vector<observed_candidate> found = search.by_plan();
    if (found.empty()) {
        found = search.by_assumed_plans();
    }
    const double width = search.width();
    if (!found.empty() || !(width < three_digits)) {
        return found;
    }
    std::vector<observed_factor> factors = observed_factors(batch, step);
    if (!(width < four_digits)) {
        std::erase_if(factors, [](const observed_factor& factor) { return std::abs(factor.value - 1) < 0.2; });
    }
    found = search.best_of(factors, [&search](const observed_factor& factor) { return search.by_plan(factor); });
    if (found.empty() && width < four_digits) {
        found = search.best_of(factors,
                               [&search](const observed_factor& factor) { return search.by_assumed_plans(factor); });
    }
    return found;
}
[[nodiscard]] inline std::vector<observed_candidate> matches_of(const observed_work& observed,
                                                                const convention_comparison& model, const tally& batch,
                                                                const observed_step& step = {}) {
    return matches_of({&observed, 1}, model, batch, step);
}

/// Returns the convention whose useful FLOPs (`convention_comparison::compare`) are nearest to the observed number. If
/// several are equally near, returns the first.
[[nodiscard]] inline observed_candidate nearest_of(const observed_work& observed,
                                                   std::span<const compared_convention> compared) {
    const auto distance = [&observed](const compared_convention& line) {
        return std::abs(to_double(line.total) - observed.middle());
    };
    const auto nearest = std::min_element(
        compared.begin(), compared.end(),
        [&](const compared_convention& a, const compared_convention& b) { return distance(a) < distance(b); });
    return {nearest->how, view::useful, nearest->total, 1, {}, {}};
}

}  // namespace floptally
