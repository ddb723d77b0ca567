// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <floptally/json/detail/shown_json.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/time_breakdown.hpp>
#include <floptally/text/error.hpp>
#include <floptally/waterfall/rank_traces.hpp>

/// @file
/// Adapter: reads and writes the part of a step's time breakdown that was measured from traces, as JSON with
/// nlohmann_json.

namespace floptally::inline v0_3 {

/// Returns {"apart": [...], "ranks": {...}}. "apart" lists the times that a breakdown shows apart from computation,
/// each with "name", "seconds", "kind" and "assumed". "ranks" has the ranks' times: the largest, their sum, the number
/// of ranks and the makespan, in picoseconds. "ranks" is null if no trace has the ranks' times.
[[nodiscard]] inline nlohmann::json to_json(const traced_step& step) {
    auto list = nlohmann::json::array();
    for (const time_apart& time : step.apart) {
        list.push_back({{"name", time.name},
                        {"seconds", time.seconds},
                        {"kind", apart_kind_names[static_cast<std::size_t>(kind_of(time))]},
                        {"assumed", time.assumed}});
    }
    nlohmann::json file{{"apart", list}, {"ranks", nullptr}};
    if (step.ranks) {
        file["ranks"] = {{"largest", static_cast<std::uint64_t>(step.ranks->largest)},
                         {"sum", static_cast<std::uint64_t>(step.ranks->sum)},
                         {"ranks", step.ranks->ranks},
                         {"makespan", static_cast<std::uint64_t>(*step.ranks->makespan)}};
    }
    return detail::with_utf8(std::move(file));
}

/// Reads the JSON that `to_json` writes. Throws `error` if the JSON has another form.
[[nodiscard]] inline traced_step read_traced_step(const nlohmann::json& file) {
    traced_step step;
    try {
        for (const nlohmann::json& time : file.at("apart")) {
            const auto* const kind =
                std::find(std::begin(apart_kind_names), std::end(apart_kind_names), time.at("kind"));
            if (kind == std::end(apart_kind_names)) {
                std::string known;
                for (const char* name : apart_kind_names) {
                    append_item(known, name);
                }
                detail::refuse("traced.kind", {"must be one of ", known, ", got ", detail::shown(time.at("kind"))});
            }
            step.apart.push_back({.name = time.at("name"),
                                  .seconds = time.at("seconds"),
                                  .kind = static_cast<apart_kind>(kind - std::begin(apart_kind_names)),
                                  .assumed = time.at("assumed")});
        }
        if (const auto& ranks = file.at("ranks"); !ranks.is_null()) {
            step.ranks = rank_times::of(ranks.at("largest").get<std::uint64_t>(), ranks.at("sum").get<std::uint64_t>(),
                                        ranks.at("ranks").get<std::uint64_t>());
            step.ranks->makespan = ranks.at("makespan").get<std::uint64_t>();
        }
    } catch (const nlohmann::json::exception& problem) {
        detail::refuse("traced", {"must be the JSON that `to_json` wrote of a `traced_step`: ", problem.what()});
    }
    return step;
}

}  // namespace floptally
