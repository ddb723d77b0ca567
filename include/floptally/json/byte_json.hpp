// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <floptally/bytes/byte_report.hpp>
#include <floptally/json/detail/utf8_json.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Adapter: writes byte reports as JSON, with nlohmann_json.

namespace floptally::inline v0_3 {

namespace detail {

/// Returns FLOPs, bytes by kind, and FLOPs per byte as JSON. `moved` has the bytes of one component, or of all
/// components together.
template <class Moved>
[[nodiscard]] nlohmann::ordered_json byte_line(flops work, const Moved& moved) {
    nlohmann::ordered_json bytes = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < byte_kind_count; ++i) {
        const auto kind = static_cast<byte_kind>(i);
        bytes[std::string(name(kind))] = to_string(moved.total(kind));
    }
    bytes["total"] = to_string(moved.total());
    return {{"flops", to_string(work)}, {"bytes", bytes}, {"intensity", arithmetic_intensity(work, moved.total())}};
}

}  // namespace detail

/// Returns a byte report as JSON. FLOPs and bytes are decimal strings; `intensity` is FLOPs per byte. `mbu` is the
/// memory bandwidth utilization. If only an upper bound is known, the key is `mbu_at_most` instead. Then `mbu_uniform`
/// may have an estimate that assumes that tokens choose experts uniformly.
[[nodiscard]] inline nlohmann::ordered_json to_json(const byte_report& report) {
    using json = nlohmann::ordered_json;
    json components = json::array();
    for (const component_bytes& component : report.moved.components) {
        json line{{"name", component.name.view()}};
        line.update(detail::byte_line(report.executed(component.name.view()), component));
        components.push_back(line);
    }
    json bits = json::object();
    for (std::size_t i = 0; i < byte_kind_count; ++i) {
        const auto kind = static_cast<byte_kind>(i);
        bits[std::string(name(kind))] = report.bits.of(kind);
    }
    json out{{"version", version},
             {"numbers_version", numbers_version},
             {"model_type", report.model_type},
             {"batches", report.batches},
             {"bits", bits},
             {"components", components},
             {"total", detail::byte_line(report.executed(), report.moved)},
             {"unsaid", report.moved.unsaid},
             {"at_most", report.moved.at_most}};
    if (report.distinct_experts) {
        out["distinct_experts"] = std::to_string(*report.distinct_experts);
    }
    if (report.memory_tbps) {
        out["memory_tbps"] = *report.memory_tbps;
    }
    if (report.mbu) {
        out[report.mbu->is_at_most ? "mbu_at_most" : "mbu"] = report.mbu->mbu;
        if (report.mbu->uniform) {
            out["mbu_uniform"] = *report.mbu->uniform;
        }
        if (const std::string doubt = doubt_of(*report.mbu); !doubt.empty()) {
            out["notes"] = json::array({doubt});
        }
    }
    return detail::with_utf8(std::move(out));
}

}  // namespace floptally
