// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/count/breakdown.hpp>
#include <floptally/step/mixed_precision.hpp>

namespace floptally::detail {

/// Parts that the work does not tell apart.
struct part_group {
    std::string name;
    std::vector<std::string> components;
    std::int64_t forward = 0;
    std::int64_t backward = 0;
};

/// Adds a part, which is one with those that have a component in common with it.
inline void add_part(std::vector<part_group>& groups, part_group added) {
    const auto shares = [&added](const part_group& other) {
        return std::any_of(other.components.begin(), other.components.end(), [&added](const std::string& name) {
            return std::find(added.components.begin(), added.components.end(), name) != added.components.end();
        });
    };
    for (auto other = std::find_if(groups.begin(), groups.end(), shares); other != groups.end();
         other = std::find_if(groups.begin(), groups.end(), shares)) {
        for (const std::string& name : other->components) {
            if (std::find(added.components.begin(), added.components.end(), name) == added.components.end()) {
                added.components.push_back(name);
            }
        }
        added.name = other->name == added.name ? added.name : std::string{};
        added.forward += other->forward;
        added.backward += other->backward;
        groups.erase(other);
    }
    if (added.name.empty()) {
        for (const std::string& name : added.components) {
            added.name.append(added.name.empty() ? "" : "+").append(name);
        }
    }
    groups.push_back(std::move(added));
}

/// The components of the work that a part names; "vision.mlp" is the "mlp" of a model that is nothing but a tower.
[[nodiscard]] inline std::vector<std::string> components_of(std::string_view part, const breakdown& work) {
    const auto has = [&work](std::string_view name) {
        return std::any_of(work.components().begin(), work.components().end(),
                           [name](const component_flops& component) { return matches(name, component.name.view()); });
    };
    std::vector<std::string> found;
    for (std::size_t first = 0; first <= part.size();) {
        const std::size_t end = std::min(part.find('+', first), part.size());
        std::string_view name = part.substr(first, end - first);
        const std::size_t tower = name.starts_with("vision.") || name.starts_with("audio.") ? name.find('.') + 1 : 0;
        if (tower != 0 && !has(std::string(name.substr(0, tower)) + "*")) {
            name.remove_prefix(tower);
        }
        for (const component_flops& component : work.components()) {
            if (matches(name, component.name.view())) {
                found.emplace_back(component.name.view());
            }
        }
        first = end + 1;
    }
    return found;
}

}  // namespace floptally::detail
