// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>

#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/statistics/modality.hpp>

/// @file
/// `parts_of`: the parts of a descriptor in forward order, for plans that say which weights train.

namespace floptally::inline v0_3 {

namespace detail {
struct any_part_visitor {
    constexpr void operator()(const model_part& /*next*/) const {}
};
}  // namespace detail

/// A model with a cost: `transformer`, or your own struct with `cost() const`.
template <class Model>
concept model_descriptor = requires(const Model& model) {
    { model.cost() } -> std::convertible_to<cost>;
};

/// A model with a cost and a list of parts in forward order: `for_each_part(visit) const` calls `visit(const
/// model_part&)`.
template <class Model>
concept lists_parts = requires(const Model& model, detail::any_part_visitor visit) {
    model.for_each_part(visit);
};

/// A struct with data members `cost` and `parts`, such as `model_config`.
template <class Model>
concept model_record = requires(const Model& model) {
    { model.cost } -> std::convertible_to<const cost&>;
    { model.parts } -> std::convertible_to<array_view<model_part>>;
};

/// A list of parts that owns its memory. It converts to any list of parts, such as `std::vector<model_part>`. (This
/// header does not include <vector>, because that would take 10 % of the compile time of floptally.hpp.)
class listed_parts {
  public:
    template <lists_parts Model>
    constexpr explicit listed_parts(const Model& model) : listed_parts() {
        std::size_t count = 0;
        model.for_each_part([&count](const model_part& /*next*/) { ++count; });
        parts_ = new model_part[count]{};
        model.for_each_part([this](const model_part& next) { parts_[size_++] = next; });
    }
    constexpr explicit listed_parts(const array_view<model_part>& parts) : listed_parts() {
        parts_ = new model_part[parts.size()]{};
        for (const model_part& next : parts) {
            parts_[size_++] = next;
        }
    }
    constexpr listed_parts(listed_parts&& other) noexcept {
        std::swap(parts_, other.parts_);
        std::swap(size_, other.size_);
    }
    listed_parts(const listed_parts&) = delete;
    listed_parts& operator=(const listed_parts&) = delete;
    constexpr ~listed_parts() { delete[] parts_; }

    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
    [[nodiscard]] constexpr model_part* data() { return parts_; }
    [[nodiscard]] constexpr const model_part* data() const { return parts_; }
    [[nodiscard]] constexpr model_part& operator[](std::size_t index) { return parts_[index]; }
    [[nodiscard]] constexpr const model_part& operator[](std::size_t index) const { return parts_[index]; }
    [[nodiscard]] constexpr model_part* begin() { return parts_; }
    [[nodiscard]] constexpr model_part* end() { return parts_ + size_; }
    [[nodiscard]] constexpr const model_part* begin() const { return parts_; }
    [[nodiscard]] constexpr const model_part* end() const { return parts_ + size_; }

    template <class List>
    requires requires(List& to, const model_part& part) {
        List(&part, &part);
        to.push_back(part);
    }
    constexpr operator List() const {  // NOLINT(google-explicit-constructor): equal parts
        return List(begin(), end());
    }

  private:
    constexpr listed_parts() = default;

    model_part* parts_ = nullptr;
    std::size_t size_ = 0;
};

/// Returns the parts of a descriptor in forward order. Plans that say which weights train need these parts.
template <lists_parts Model>
[[nodiscard]] constexpr listed_parts parts_of(const Model& model) {
    return listed_parts(model);
}

/// Returns one module of a model: the text model, or a tower with its projector. The other parts stay in the list,
/// marked `elsewhere`, so that a plan can follow gradients through the whole graph. The modules are disjoint and add up
/// to the model.
template <std::convertible_to<array_view<model_part>> Parts>
[[nodiscard]] constexpr listed_parts parts_of(const Parts& model, modality which) {
    listed_parts module{array_view<model_part>(model)};
    for (model_part& part : module) {
        part.elsewhere = part.elsewhere || part.in() != which;
    }
    return module;
}

}  // namespace floptally
