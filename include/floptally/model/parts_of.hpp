// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/model_part.hpp>

namespace floptally {

namespace detail {
struct any_part_visitor {
    constexpr void operator()(const model_part& /*next*/) const {}
};
}  // namespace detail

/// A model that knows its cost: `transformer`, or a struct of a user's own with `cost() const`.
template <class Model>
concept model_descriptor = requires(const Model& model) {
    { model.cost() } -> std::convertible_to<cost>;
};

/// One that knows its parts in forward order too: `for_each_part(visit) const` calls `visit(const model_part&)`.
template <class Model>
concept lists_parts = requires(const Model& model, detail::any_part_visitor visit) {
    model.for_each_part(visit);
};

/// What has a cost and its parts as members: a `model_config`.
template <class Model>
concept model_record = requires(const Model& model) {
    { model.cost } -> std::convertible_to<const cost&>;
    { model.parts } -> std::convertible_to<std::span<const model_part>>;
};

/// The parts of a descriptor in forward order, which plans with rules look at.
template <lists_parts Model>
[[nodiscard]] constexpr std::vector<model_part> parts_of(const Model& model) {
    std::vector<model_part> parts;
    model.for_each_part([&parts](const model_part& next) { parts.push_back(next); });
    return parts;
}

/// A model's text, or one of its towers with its projector, as a module of its own: the parts of the others stay in the
/// list, marked `elsewhere`, so that a plan sees the whole graph. Modules are disjoint and add up to the model.
template <std::convertible_to<std::span<const model_part>> Parts>
[[nodiscard]] constexpr std::vector<model_part> parts_of(const Parts& model, modality which) {
    const std::span<const model_part> all = model;
    std::vector<model_part> module(all.begin(), all.end());
    for (model_part& one : module) {
        one.elsewhere = one.elsewhere || one.in() != which;
    }
    return module;
}

}  // namespace floptally
