// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/count/training_plan.hpp>
#include <floptally/lists/index_range.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/number_text.hpp>

/// @file
/// Reads weight settings from text: `weight_settings_named("*=frozen,*/q_proj=lora16")`.

namespace floptally::inline v0_3 {

namespace detail {

/// Reads a range of layers: "3", or "1-30" (layer 30 included). Returns nothing for any other text.
[[nodiscard]] inline std::optional<index_range> layers_of_text(std::string_view text) {
    const std::size_t dash = std::min(text.find('-'), text.size());
    const auto first = number_of_text<std::uint64_t>(text.substr(0, dash));
    const auto last = dash == text.size() ? first : number_of_text<std::uint64_t>(text.substr(dash + 1));
    if (!first || !last || *last < *first || *last == ~std::uint64_t{0}) {
        return {};
    }
    return index_range{*first, *last + 1};
}

/// Reads one weight setting: "*/q_proj=lora16". Throws an `error` that names the field `weights[at]` for an invalid
/// text.
[[nodiscard]] inline weight_setting weight_setting_of(std::string_view text, std::size_t at) {
    const auto fail = [&](const std::string& problem) {
        throw error(indexed("weights", at), problem + ", got \"" + std::string(text) + "\"");
    };
    const std::size_t equals = text.rfind('=');
    if (equals == std::string_view::npos) {
        fail("must be WEIGHTS=STATE, such as embedding=frozen,mlp=lora16");
    }
    std::string_view name = text.substr(0, equals);
    const std::string_view state = text.substr(equals + 1);
    weight_setting setting;
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos) {
        if (colon == 0 || colon > component_name::capacity) {
            fail("the colon must follow the name of a model part of 1 to 39 characters, as in encoder:*=frozen");
        }
        setting.part = name.substr(0, colon);
        name.remove_prefix(colon + 1);
    }
    const std::size_t layers = std::min(name.find('@'), name.size());
    if (layers != name.size()) {
        const auto range = layers_of_text(name.substr(layers + 1));
        if (!range) {
            fail("layers must be N or FIRST-LAST, both included, as in mlp@0-3=frozen");
        }
        setting.first_layer = range->first;
        setting.last_layer = range->last - 1;
    }
    if (layers == 0 || layers > component_name::capacity) {
        fail("the name of the weights must have 1 to 39 characters");
    }
    setting.weights = name.substr(0, layers);
    if (state == "frozen") {
        setting.state = weight_state::frozen;
    } else if (state.substr(0, 4) == "lora") {
        const auto rank = number_of_text<std::uint64_t>(state.substr(4));
        if (!rank || *rank == 0) {
            fail("LoRA needs a rank of at least 1, as in lora16");
        }
        setting.state = weight_state::lora;
        setting.rank = *rank;
    } else if (state != "trainable") {
        fail("the state must be trainable, frozen, or lora and a rank, as in lora16");
    }
    return setting;
}

}  // namespace detail

/// Reads the states of weights from text: "*=frozen,*/q_proj=lora16,mlp@0-3=trainable,encoder:*=frozen". The form is
/// PART:WEIGHTS@FIRST-LAST=STATE with both layers included; PART and layers are optional (see `weight_setting`). Throws
/// an `error` that quotes an invalid setting.
[[nodiscard]] inline std::vector<weight_setting> weight_settings_named(std::string_view text) {
    std::vector<weight_setting> settings;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(',', first), text.size());
        settings.push_back(detail::weight_setting_of(text.substr(first, end - first), settings.size()));
        first = end + 1;
    }
    return settings;
}

}  // namespace floptally
