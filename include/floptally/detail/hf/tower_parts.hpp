// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/detail/hf/family.hpp>
#include <floptally/detail/hf/model.hpp>
#include <floptally/detail/part_list.hpp>
#include <floptally/model/model_part.hpp>
#include <floptally/model_config.hpp>

/// @file
/// What makes a stack of layers a tower: what stands before and after them, and the units that they run over.

namespace floptally::detail {

[[nodiscard]] inline std::vector<tower_input> inputs_of(const hf_model& model) {
    std::vector<tower_input> all;
    if (model.family.input != nullptr) {
        all.push_back(model.family.input(model));
        all.back().in = model.family.stands_in;
    }
    return all;
}

/// The layers see class tokens and registers too; before them stands the stem, after them a merger.
inline void finish_tower(const hf_model& model, cost& sum, part_list& stages) {
    const hf_family& family = model.family;
    if (family.prefix_tokens != nullptr) {
        const std::uint64_t prefix = family.prefix_tokens(model);
        sum = sum.with_prefix_tokens(prefix);
        stages.add_prefix_tokens(prefix);
    }
    if (family.units != nullptr) {
        const hf_stream layers = family.units(model);
        sum = sum.over(layers.units, layers.attends);
        stages.move_over(layers.units, layers.attends);
    }
    const cost stem = family.stem(model);
    sum += stem;
    stages.add("stem", part_role::input, stem);
    if (family.after != nullptr) {
        const cost after = family.after(model);
        sum += after;
        stages.add("merger", part_role::layer, after);
    }
}

/// What follows the layers and the merger, over their units.
[[nodiscard]] inline cost over_last_units(const hf_model& model, const cost& head) {
    const hf_units units = model.family.units_after != nullptr ? model.family.units_after : model.family.units;
    if (units == nullptr) {
        return head;
    }
    const hf_stream last = units(model);
    return head.over(last.units, last.attends);
}

}  // namespace floptally::detail
