// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/json/detail/shown_json.hpp>
#include <floptally/parallel/rank_times.hpp>
#include <floptally/step/step_account.hpp>
#include <floptally/text/error.hpp>
#include <floptally/waterfall/rank_traces.hpp>

/// @file
/// Adapter: what traces say of a step's account as JSON, in and out, with nlohmann_json.

namespace floptally {

/// {"apart": [{"name", "seconds", "kind", "assumed"}], "ranks": {"largest", "sum", "ranks", "makespan"} or null}, ranks
/// in picoseconds.
[[nodiscard]] inline nlohmann::json to_json(const traced_step& made) {
    auto list = nlohmann::json::array();
    for (const time_apart& time : made.apart) {
        list.push_back({{"name", time.name},
                        {"seconds", time.seconds},
                        {"kind", apart_kind_names[static_cast<std::size_t>(kind_of(time))]},
                        {"assumed", time.assumed}});
    }
    nlohmann::json file{{"apart", list}, {"ranks", nullptr}};
    if (made.ranks) {
        file["ranks"] = {{"largest", static_cast<std::uint64_t>(made.ranks->largest)},
                         {"sum", static_cast<std::uint64_t>(made.ranks->sum)},
                         {"ranks", made.ranks->ranks},
                         {"makespan", static_cast<std::uint64_t>(*made.ranks->makespan)}};
    }
    return file;
}

/// Reads what `to_json` wrote.
[[nodiscard]] inline traced_step read_traced_step(const nlohmann::json& file) {
    traced_step made;
    try {
        for (const nlohmann::json& time : file.at("apart")) {
            const auto* const kind =
                std::find(std::begin(apart_kind_names), std::end(apart_kind_names), time.at("kind"));
            if (kind == std::end(apart_kind_names)) {
                detail::refuse("traced.kind", {"is no kind of time, got ", detail::shown(time.at("kind"))});
            }
            made.apart.push_back({.name = time.at("name"),
                                  .seconds = time.at("seconds"),
                                  .kind = static_cast<apart_kind>(kind - std::begin(apart_kind_names)),
                                  .assumed = time.at("assumed")});
        }
        if (const auto& ranks = file.at("ranks"); !ranks.is_null()) {
            made.ranks = rank_times::of(ranks.at("largest").get<std::uint64_t>(), ranks.at("sum").get<std::uint64_t>(),
                                        ranks.at("ranks").get<std::uint64_t>());
            made.ranks->makespan = ranks.at("makespan").get<std::uint64_t>();
        }
    } catch (const nlohmann::json::exception& problem) {
        detail::refuse("traced", {"is not what a trace's step is written as: ", problem.what()});
    }
    return made;
}

}  // namespace floptally
