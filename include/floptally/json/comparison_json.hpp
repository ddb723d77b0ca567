// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <floptally/conventions/comparison.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/step/comparison_report.hpp>
#include <floptally/step/observed_work.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Adapter: writes comparisons of conventions as JSON, with nlohmann_json.

namespace floptally::inline v0_3 {

/// Returns the comparison as JSON. Counts are decimal strings. The key `terms` of a convention lists causes for its
/// difference from the exact FLOPs. The terms add up to the exact FLOPs minus the convention's total.
[[nodiscard]] inline nlohmann::ordered_json to_json(const comparison_report& shown) {
    using json = nlohmann::ordered_json;
    const auto one_term = [](const convention_term& term) {
        return json{
            {"name", std::string(term.name)}, {"flops", term.difference()}, {"meaning", std::string(term.meaning)}};
    };
    json lines = json::array();
    for (const compared_convention& line : shown.conventions) {
        json terms = json::array();
        for (const convention_term& term : line.terms) {
            terms.push_back(one_term(term));
        }
        lines.push_back({{"name", std::string(line.how.name)}, {"total", to_string(line.total)}, {"terms", terms}});
    }
    json out{{"version", version},
             {"numbers_version", numbers_version},
             {"model_type", shown.model_type},
             {"exact", to_string(shown.exact)},
             {"conventions", lines}};
    if (shown.observed) {
        const auto candidate = [&one_term](const observed_candidate& found) {
            json entry{{"name", std::string(found.how.name)},
                       {"view", name_of(found.seen)},
                       {"total", to_string(found.total)}};
            if (found.wrong_plan) {
                entry["terms"] = json::array({one_term(*found.wrong_plan)});
            }
            if (found.factor.value != 1) {
                entry["factor"] = found.factor.value;
                entry["cause"] = found.factor.cause;
            }
            return entry;
        };
        json matches = json::array();
        for (const observed_candidate& match : shown.observed->matches) {
            matches.push_back(candidate(match));
            if (shown.observed->log) {
                matches.back()["lines"] = match.explained;
            }
        }
        out["observed"] = {{"text", shown.observed->text},
                           {"flops", {shown.observed->work.least, shown.observed->work.most}},
                           {"matches", matches},
                           {"nearest", candidate(shown.observed->nearest)}};
        if (const auto& log = shown.observed->log) {
            out["observed"]["log"] = {{"trainer", std::string(log->trainer)},
                                      {"lines", log->lines.size()},
                                      {"tflops_per_gpu", log->tflops_per_gpu(shown.observed->work.middle())},
                                      {"exact_tflops_per_gpu", log->tflops_per_gpu(to_double(shown.exact))}};
            if (log->tokens) {
                out["observed"]["log"]["tokens"] = {{"of_log", log->tokens->of_log},
                                                    {"of_batch", log->tokens->of_batch}};
            }
        }
    }
    return detail::with_utf8(std::move(out));
}

}  // namespace floptally
