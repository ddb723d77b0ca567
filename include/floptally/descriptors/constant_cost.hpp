// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/detail/cost_rows.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/bounded_vector.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/text.hpp>

/// @file
/// A cost that can be a constant of the compiler, with bounds that it states.

namespace floptally {

/// A cost that can be a constant: `constexpr constant_cost llama = presets::llama_3_8b.cost();`.
///
/// The memory of a cost is allocated, since it is as long as its model, and ends with the constant expression that the
/// cost is part of. A constant has its memory inside, with a bound. A larger cost is an error, of the compiler in a
/// constant; then give the bounds (`constant_cost<80, 130>`). Wherever a cost is asked for, a constant is one.
template <std::size_t Components = 48, std::size_t Rows = 96, std::size_t Weights = 48, std::size_t Masks = 16>
class constant_cost {
  private:  // first, since clang evaluates templates in constant expressions only where they stand above their use
    [[nodiscard]] static std::string beyond_the_bound_of_this_constant_cost(std::size_t size, std::size_t bound) {
        return detail::text_of({size, " are more than the ", bound, " of this constant_cost"});
    }

    template <class T, std::size_t Bound>
    static constexpr void copy(const detail::list<T>& from, detail::bounded_vector<T, Bound>& to, const char* field) {
        if (from.size() > Bound) {
            throw error(field, beyond_the_bound_of_this_constant_cost(from.size(), Bound));
        }
        for (const T& entry : from) {
            to.push_back(entry, field);
        }
    }

    template <class T, std::size_t Bound>
    static constexpr void copy(const detail::bounded_vector<T, Bound>& from, detail::list<T>& to) {
        to.reserve(from.size());
        for (const T& entry : from) {
            to.push_back(entry, "constant_cost");
        }
    }

  public:
    constexpr constant_cost(const cost& sum) {  // NOLINT(google-explicit-constructor): the same in another form
        copy(sum.components(), components_, "components");
        copy(sum.rows(), rows_, "rows");
        copy(sum.weights(), weights_, "weights");
        copy(sum.masks(), masks_, "masks");
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            has_[static_cast<std::size_t>(in)] = sum.masks().has(in);
        }
    }

    constexpr operator cost() const {  // NOLINT(google-explicit-constructor): likewise
        detail::cost_rows table;
        copy(components_, table.components);
        copy(rows_, table.rows);
        copy(weights_, table.weights);
        table.masks = masks();
        return cost(std::move(table));
    }

    /// As those of `cost`.
    [[nodiscard]] constexpr const auto& components() const { return components_; }
    [[nodiscard]] constexpr const auto& rows() const { return rows_; }
    [[nodiscard]] constexpr const auto& weights() const { return weights_; }
    [[nodiscard]] constexpr std::string_view weight_name(const cost_row& row) const {
        return row.weight == 0 ? std::string_view{} : weights_[row.weight - 1U].view();
    }
    [[nodiscard]] constexpr mask_set masks() const {
        mask_set all;
        copy(masks_, all);
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            if (has_[static_cast<std::size_t>(in)]) {
                all.include(in);
            }
        }
        return all;
    }
    [[nodiscard]] constexpr std::uint64_t parameters() const {
        checked sum(0, "parameters");
        for (const cost_row& row : rows_) {
            sum += row.parameters;
        }
        return sum;
    }

  private:
    detail::bounded_vector<component_name, Components> components_;
    detail::bounded_vector<cost_row, Rows> rows_;
    detail::bounded_vector<component_name, Weights> weights_;
    detail::bounded_vector<rule, Masks> masks_;
    bool has_[modality_count] = {};
};

/// Sums, multiples and equality of constants, as of costs.
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
