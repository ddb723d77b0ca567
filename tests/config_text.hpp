// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <floptally/json.hpp>

/// @file
/// Configs written in a test, and what is asked of them.

/// JSON with ' for ", so that a config reads well in C++.
inline nlohmann::json parsed(std::string text) {
    std::replace(text.begin(), text.end(), '\'', '"');
    return nlohmann::json::parse(text);
}

/// Some configs of the tests have keys that their class ignores, so unread keys are no errors here.
inline floptally::cost cost_of(const std::string& config) {
    return floptally::read_config(parsed(config), {.strict = false}).cost;
}

/// The notes of a count without those on sizes that a config written in a test leaves to its class.
inline std::vector<std::string> notes_but_sizes(const floptally::model_config& model) {
    std::vector<std::string> notes;
    for (const std::string& note : model.notes) {
        if (!note.starts_with("config does not say all sizes")) {
            notes.push_back(note);
        }
    }
    return notes;
}

/// "3 sliding_window(5), 1 causal": how many layers have which mask. `core` is QKᵀ of one layer per pair.
inline std::string layers_by_mask(const floptally::cost& model, std::uint64_t core) {
    std::string text;
    for (const floptally::cost_entry& row : model.entries()) {
        if (row.kind == floptally::term::scores) {
            text.append(text.empty() ? "" : ", ").append(std::to_string(row.useful / core));
            text.append(" ").append(model.masks()[row.mask].name());
        }
    }
    return text;
}
