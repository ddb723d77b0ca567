// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>

#include <floptally/bytes/communication.hpp>
#include <floptally/bytes/estimated_communication.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/floptally.hpp>
#include <floptally/parallel/parallel_axis.hpp>
#include <floptally/step/layout_work.hpp>
#include <floptally/waterfall/waterfall_line.hpp>

#include "arguments.hpp"
#include "bytes.hpp"
#include "count.hpp"
#include "ranks.hpp"

/// @file
/// Communication that nobody measured, from its bytes and --network-gbps.

namespace program {

/// The bandwidths of groups of ranks from "50", of all, or "tp=400,dp=50".
inline floptally::group_bandwidths parse_bandwidths(std::string_view text) {
    floptally::group_bandwidths made;
    for (const std::string& item : comma_separated({std::string(text)})) {
        const std::size_t equals = item.find('=');
        const std::string name = equals == std::string::npos ? "" : item.substr(0, equals);
        const double gbps = parse_positive(item.substr(equals == std::string::npos ? 0 : equals + 1), "network_gbps");
        bool is_known = false;
        for (std::size_t axis = 0; axis < floptally::parallel_axis_count; ++axis) {
            if (name.empty() || name == floptally::parallel_axis_names[axis]) {
                made = made.with(static_cast<floptally::parallel_axis>(axis), gbps);
                is_known = true;
            }
        }
        if (!is_known) {
            throw error("network_gbps", fmt::format("is of tp, cp, dp, pp, ep or expert_dp, got \"{}\"", item));
        }
    }
    return made;
}

/// Communication that nobody measured, from its bytes and --network-gbps; none where it was measured.
inline std::optional<floptally::time_apart> read_communication(const arguments& args,
                                                               const floptally::model_config& model,
                                                               const floptally::report& counted,
                                                               const std::optional<floptally::layout_work>& layout,
                                                               const floptally::step_account& account) {
    const auto bandwidths = args.text("network-gbps");
    const bool is_measured =
        args.text("trace") ||
        std::any_of(account.apart.begin(), account.apart.end(), [](const floptally::time_apart& time) {
            return floptally::detail::step_of(floptally::kind_of(time)) == floptally::waterfall_step::communication;
        });
    if (!bandwidths || is_measured) {
        return {};
    }
    return floptally::estimated_communication(model.parts, counted.batch, counted.plan, read_pipelines(args, model),
                                              layout, account.step.gpus - account.idle_gpus.value_or(0), bits_of(args),
                                              parse_bandwidths(*bandwidths));
}

}  // namespace program
