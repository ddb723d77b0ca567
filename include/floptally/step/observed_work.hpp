// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/conventions/comparison.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/step/utilization.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A number from a dashboard, and the conventions that give it.

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

}  // namespace detail

/// The FLOPs that a number from a dashboard stands for: "402TFLOP/s" (of one GPU), "3.21PFLOP" (of the step) or "40.7%"
/// (an MFU). A rate needs the step's seconds and GPUs, an MFU its peak too.
///
/// @throws error "observed" where the text is no such number, "seconds", "gpus" or "peak_tflops" where it is missing or
///         not above 0.
[[nodiscard]] inline observed_work observed_work_of(std::string_view text, const observed_step& step) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view number = text.substr(0, digits);
    std::string_view word = text.substr(digits);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    const auto unit = detail::observed_unit_named(word);
    const auto value = detail::number_of_text<double>(number);
    if (!unit || !value || !(*value > 0)) {
        detail::refuse("observed", {"must be a number above 0 with its unit, as 402TFLOP/s (of one GPU), 3.21PFLOP "
                                    "(of the step) or 40.7%, got \"",
                                    text, "\""});
    }
    double factor = unit->size;
    const auto multiply = [&factor](double given, bool is_given, const char* field) {
        if (!is_given) {
            throw error(field, "is missing; a rate is FLOPs over seconds and GPUs, an MFU over their peak too");
        }
        if (!(given > 0) || !std::isfinite(given)) {
            detail::refuse(field, {"must be a finite number above 0, got ", detail::shortest_decimal(given)});
        }
        factor *= given;
    };
    if (unit->of != detail::observed_unit::kind::work) {
        multiply(step.seconds.value_or(0), step.seconds.has_value(), "seconds");
        multiply(static_cast<double>(step.gpus.value_or(0)), step.gpus.has_value(), "gpus");
    }
    if (unit->of == detail::observed_unit::kind::share) {
        multiply(step.peak_tflops.value_or(0), step.peak_tflops.has_value(), "peak_tflops");
        factor *= 1e12;
    }
    const std::size_t point = number.find('.');
    const std::size_t decimals = point == std::string_view::npos ? 0 : number.size() - point - 1;
    const double half = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
    return {(*value - half) * factor, (*value + half) * factor};
}

/// A convention and a view, and the FLOPs that they give a batch.
struct observed_candidate {
    convention how;
    view seen = view::useful;
    flops total;
};

/// The conventions and views that give the observed number to its rounding: those of the useful view first, then those
/// of another that has more than the one before it.
[[nodiscard]] inline std::vector<observed_candidate> matches_of(const observed_work& observed,
                                                                const convention_comparison& model,
                                                                const tally& batch) {
    std::vector<observed_candidate> matches;
    std::vector<compared_convention> before;
    for (const view seen : {view::useful, view::padded, view::executed}) {
        const std::vector<compared_convention> compared = model.compare(batch, seen);
        for (std::size_t i = 0; i < compared.size(); ++i) {
            const bool is_new = before.empty() || !(compared[i].total == before[i].total);
            if (is_new && observed.is(compared[i].total)) {
                matches.push_back({compared[i].how, seen, compared[i].total});
            }
        }
        before = compared;
    }
    return matches;
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
