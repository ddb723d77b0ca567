// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include <floptally/floptally.hpp>
#include <floptally/json.hpp>
#include <floptally/layout.hpp>
#include <floptally/memory.hpp>
#include <floptally/waterfall.hpp>

#include "arguments.hpp"
#include "bytes.hpp"
#include "count.hpp"
#include "ranks.hpp"

/// @file
/// Estimates communication that was not measured, from its bytes and --network-gbps.

namespace program {

/// Bandwidths of groups of ranks, from "50" for all groups, "tp=400,dp=50", or "within=450,between=50" for links within
/// and between nodes.
inline floptally::group_bandwidths parse_bandwidths(std::string_view text, std::uint64_t gpus_per_node) {
    floptally::group_bandwidths bandwidths{.gpus_per_node = gpus_per_node};
    for (const std::string& item : comma_separated({std::string(text)})) {
        const std::size_t equals = item.find('=');
        const std::string name = equals == std::string::npos ? "" : item.substr(0, equals);
        const double gbps = parse_positive(item.substr(equals == std::string::npos ? 0 : equals + 1), "network_gbps");
        bool is_known = name == "within" || name == "between";
        if (is_known) {
            (name == "within" ? bandwidths.within_nodes : bandwidths.between_nodes) = gbps;
        }
        for (std::size_t axis = 0; axis < floptally::parallel_axis_count; ++axis) {
            if (name.empty() || name == floptally::parallel_axis_names[axis]) {
                bandwidths = bandwidths.with(static_cast<floptally::parallel_axis>(axis), gbps);
                is_known = true;
            }
        }
        if (!is_known) {
            throw error("network_gbps",
                        fmt::format("must name one of tp, cp, dp, pp, ep, expert_dp, etp, dp_replicate, within or "
                                    "between, got \"{}\"",
                                    item));
        }
    }
    bandwidths.require_nodes();
    return bandwidths;
}

/// Communication estimated from its bytes and --network-gbps; nullopt if it was measured.
inline std::optional<floptally::time_apart> read_communication(const arguments& args,
                                                               const floptally::model_config& model,
                                                               const floptally::report& counted,
                                                               const std::optional<floptally::layout_work>& layout,
                                                               const floptally::time_breakdown& timed) {
    const auto bandwidths = args.text("network-gbps");
    const bool is_measured =
        args.text("trace") ||
        std::any_of(timed.apart.begin(), timed.apart.end(), [](const floptally::time_apart& time) {
            return floptally::detail::step_of(floptally::kind_of(time)) == floptally::waterfall_step::communication;
        });
    if (!bandwidths || is_measured) {
        return {};
    }
    const floptally::parallel_sizes experts = expert_sizes(args);
    return floptally::estimated_communication(model.parts, counted.batch, counted.plan, read_pipelines(args, model),
                                              layout, timed.step.gpus - timed.idle_gpus.value_or(0), bits_of(args),
                                              parse_bandwidths(*bandwidths, gpus_per_node_of(args)), experts.ep,
                                              experts.etp);
}

}  // namespace program
