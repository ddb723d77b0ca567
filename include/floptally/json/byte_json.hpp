// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include <floptally/bytes/byte_report.hpp>
#include <floptally/text/version.hpp>

/// @file
/// Adapter: a byte report as JSON, with nlohmann_json.

namespace floptally {

namespace detail {

/// FLOPs, bytes by kind and FLOPs for a byte. `Moved` is a component or all of them.
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

/// A byte report as JSON. FLOPs and bytes are decimal strings; `intensity` is FLOPs for a byte. An MBU that is an upper
/// bound is `mbu_at_most`, with the estimate `mbu_uniform` beside it, and never `mbu`.
[[nodiscard]] inline nlohmann::ordered_json to_json(const byte_report& made) {
    using json = nlohmann::ordered_json;
    json components = json::array();
    for (const component_bytes& component : made.moved.components) {
        json line{{"name", component.name.view()}};
        line.update(detail::byte_line(made.executed(component.name.view()), component));
        components.push_back(line);
    }
    json bits = json::object();
    for (std::size_t i = 0; i < byte_kind_count; ++i) {
        const auto kind = static_cast<byte_kind>(i);
        bits[std::string(name(kind))] = made.bits.of(kind);
    }
    json out{{"version", version},
             {"numbers_version", numbers_version},
             {"model_type", made.model_type},
             {"batches", made.batches},
             {"bits", bits},
             {"components", components},
             {"total", detail::byte_line(made.executed(), made.moved)},
             {"unsaid", made.moved.unsaid},
             {"at_most", made.moved.at_most}};
    if (made.distinct_experts) {
        out["distinct_experts"] = std::to_string(*made.distinct_experts);
    }
    if (made.memory_tbps) {
        out["memory_tbps"] = *made.memory_tbps;
    }
    if (made.mbu) {
        out[made.mbu->is_at_most ? "mbu_at_most" : "mbu"] = made.mbu->mbu;
        if (made.mbu->uniform) {
            out["mbu_uniform"] = *made.mbu->uniform;
        }
        if (const std::string doubt = doubt_of(*made.mbu); !doubt.empty()) {
            out["notes"] = json::array({doubt});
        }
    }
    return out;
}

}  // namespace floptally
