// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/detail/cost_entries.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/bounded_vector.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// `constant_cost`: a cost with a fixed capacity, so that it can be a constexpr variable.

namespace floptally::inline v0_3 {

/// A cost that can be stored in a constexpr variable: `constexpr constant_cost llama = presets::llama_3_8b.cost();`.
///
/// A `cost` allocates memory, so it cannot be a constexpr variable. A `constant_cost` has its components and entries
/// inside the object, up to a bound. For a larger cost, pass larger bounds (`constant_cost<80, 130>`). Otherwise its
/// construction throws `error`. In a constant expression that is a compile error. A `constant_cost` converts to `cost`.
template <std::size_t Components = 48, std::size_t Entries = 96, std::size_t Weights = 48, std::size_t Masks = 16>
class constant_cost {
  private:
    // Private members come first: clang evaluates a template in a constant expression only after its definition.
    [[nodiscard]] static std::string beyond_the_bound_of_this_constant_cost(std::size_t size, std::size_t bound) {
        return detail::text_of({size, " are more than the ", bound, " of this constant_cost: pass larger bounds"});
    }

    template <class T, std::size_t Bound>
    static constexpr void copy(const list<T>& from, bounded_vector<T, Bound>& to, const char* field) {
        if (from.size() > Bound) {
            throw error(field, beyond_the_bound_of_this_constant_cost(from.size(), Bound));
        }
        for (const T& entry : from) {
            to.push_back(entry, field);
        }
    }

    template <class T, std::size_t Bound>
    static constexpr void copy(const bounded_vector<T, Bound>& from, list<T>& to) {
        to.reserve(from.size());
        for (const T& entry : from) {
            to.push_back(entry, "constant_cost");
        }
    }

  public:
    constexpr constant_cost(const cost& sum) {  // NOLINT(google-explicit-constructor): equal value
        copy(sum.components(), components_, "components");
        copy(sum.entries(), entries_, "rows");
        copy(sum.weights(), weights_, "weights");
        copy(sum.masks(), masks_, "masks");
        for (const modality stream : {modality::text, modality::vision, modality::audio}) {
            has_[static_cast<std::size_t>(stream)] = sum.masks().has(stream);
        }
    }

    constexpr operator cost() const {  // NOLINT(google-explicit-constructor): equal value
        detail::cost_entries table;
        copy(components_, table.components);
        copy(entries_, table.entries);
        copy(weights_, table.weights);
        table.masks = masks();
        return cost(std::move(table));
    }

    /// These functions do the same as the functions of `cost` with the same names.
    [[nodiscard]] constexpr const auto& components() const { return components_; }
    [[nodiscard]] constexpr const auto& entries() const { return entries_; }
    [[nodiscard]] constexpr const auto& weights() const { return weights_; }
    [[nodiscard]] constexpr std::string_view weight_name(const cost_entry& entry) const {
        return entry.weight == 0 ? std::string_view{} : weights_[entry.weight - 1U].view();
    }
    [[nodiscard]] constexpr mask_set masks() const {
        mask_set all;
        copy(masks_, all);
        for (const modality stream : {modality::text, modality::vision, modality::audio}) {
            if (has_[static_cast<std::size_t>(stream)]) {
                all.include(stream);
            }
        }
        return all;
    }
    [[nodiscard]] constexpr std::uint64_t parameters() const {
        checked sum(0, "parameters");
        for (const cost_entry& entry : entries_) {
            sum += entry.parameters;
        }
        return sum;
    }

  private:
    bounded_vector<component_name, Components> components_;
    bounded_vector<cost_entry, Entries> entries_;
    bounded_vector<component_name, Weights> weights_;
    bounded_vector<statistic, Masks> masks_;
    bool has_[modality_count] = {};
};

/// Constant costs can be added, multiplied and compared, as costs can.
template <std::size_t... A, std::size_t... B>
[[nodiscard]] constexpr cost operator+(const constant_cost<A...>& a, const constant_cost<B...>& b) {
    return cost(a) + cost(b);
}
template <std::size_t... Bounds>
[[nodiscard]] constexpr cost operator*(std::uint64_t times, const constant_cost<Bounds...>& layer) {
    return times * cost(layer);
}
template <std::size_t... A, std::size_t... B>
[[nodiscard]] constexpr bool operator==(const constant_cost<A...>& a, const constant_cost<B...>& b) {
    return cost(a) == cost(b);
}

}  // namespace floptally
