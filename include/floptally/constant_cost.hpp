// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/batch/mask_set.hpp>
#include <floptally/cost.hpp>
#include <floptally/detail/bounded_vector.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/cost_rows.hpp>
#include <floptally/detail/list.hpp>
#include <floptally/detail/text.hpp>
#include <floptally/error.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/cost_row.hpp>
#include <floptally/model/modality.hpp>

namespace floptally {

/// A cost that can be a constant: `constexpr constant_cost llama = presets::llama_3_8b.cost();`.
///
/// A cost is as long as its model, and so its memory is allocated, which ends with the constant expression that it is
/// part of. What stays has its memory inside, and a bound: a cost that is larger is an error, of the compiler in a
/// constant, and then the bounds are to be given (`constant_cost<80, 130>`). Wherever a cost is asked for, this is one.
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
        for (const T& one : from) {
            to.push_back(one, field);
        }
    }

    template <class T, std::size_t Bound>
    static constexpr void copy(const detail::bounded_vector<T, Bound>& from, detail::list<T>& to) {
        to.reserve(from.size());
        for (const T& one : from) {
            to.push_back(one, "constant_cost");
        }
    }

  public:
    constexpr constant_cost(const cost& of) {  // NOLINT(google-explicit-constructor): the same in another form
        copy(of.components(), components_, "components");
        copy(of.rows(), rows_, "rows");
        copy(of.weights(), weights_, "weights");
        copy(of.masks(), masks_, "masks");
        for (std::size_t in = 0; in < modality_count; ++in) {
            has_[in] = of.masks().has(static_cast<modality>(in));
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
        for (std::size_t in = 0; in < modality_count; ++in) {
            if (has_[in]) {
                all.include(static_cast<modality>(in));
            }
        }
        return all;
    }
    [[nodiscard]] constexpr std::uint64_t parameters() const {
        std::uint64_t sum = 0;
        for (const cost_row& row : rows_) {
            sum = checked_add(sum, row.parameters, "parameters");
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

/// What two costs can do, constants can.
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
