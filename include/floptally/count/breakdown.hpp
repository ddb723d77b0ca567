// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <floptally/descriptors/cost.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// FLOPs of a batch by component, phase and view.

namespace floptally {

class flop_counter;

/// Phases of a training step.
enum class phase : std::uint8_t {
    forward,
    backward_data,     ///< gradients of activations
    backward_weights,  ///< gradients of weights
    recompute          ///< the forward work that the backward pass runs again
};

/// FLOPs of one component of a batch, in every view and phase.
///
/// The executed view is `padded` plus the work that only an implementation adds, so that only this addition is stored.
struct component_flops {
    component_name name;
    uint128 useful[3];  ///< forward, backward_data, backward_weights
    uint128 padded[3];  ///< likewise
    /// The work that is executed beyond `padded`, likewise: gradients that a fused attention backward computes though
    /// no one reads them, its QKᵀ once more, and runs of several ranks (`training_plan::repeated`).
    uint128 executed_more[3];
    uint128 recomputed_forward;  ///< by `training_plan::recomputed`

    /// FLOPs of one phase; recompute has only executed ones.
    [[nodiscard]] constexpr flops get(view seen, phase during) const {
        const auto index = static_cast<std::size_t>(during);
        if (during == phase::recompute) {
            return flops{seen == view::executed ? recomputed_forward : 0};
        }
        if (seen == view::useful) {
            return flops{useful[index]};
        }
        return flops{padded[index] + (seen == view::executed ? executed_more[index] : 0)};
    }

    /// FLOPs of the backward, to data and to weights together.
    [[nodiscard]] constexpr flops backward(view seen) const {
        return get(seen, phase::backward_data) + get(seen, phase::backward_weights);
    }

    /// FLOPs of all phases together.
    [[nodiscard]] constexpr flops total(view seen) const {
        return get(seen, phase::forward) + backward(seen) + get(seen, phase::recompute);
    }
};

/// FLOPs of a batch: component x phase x view, exact.
class breakdown {
  public:
    using list = detail::list<component_flops>;

    constexpr breakdown() = default;

    /// Adds a component without work, whose numbers the caller then sets.
    constexpr component_flops& append(const component_name& name) {
        return components_.push_back(component_flops{name, {}, {}, {}, 0}, "components");
    }

    /// Removes all components; there is memory for `components` of them.
    constexpr void clear(std::size_t components = 0) {
        components_.reserve(components, "components");
        components_.clear();
        is_upper_bound_ = false;
    }

    /// True where less may run than is counted: a training plan met a part that does not say what its rows read, or a
    /// cost alone, which does not say where its parts stand. Exact parts have `linear::reads` and `writes`.
    [[nodiscard]] constexpr bool is_upper_bound() const { return is_upper_bound_; }
    /// Marks it as an upper bound, which it then stays until `clear`.
    constexpr void mark_upper_bound(bool is = true) { is_upper_bound_ = is_upper_bound_ || is; }

    [[nodiscard]] constexpr const list& components() const { return components_; }

    /// The component of that name, or an error.
    [[nodiscard]] constexpr const component_flops& operator[](std::string_view name) const {
        for (const component_flops& component : components_) {
            if (component.name.view() == name) {
                return component;
            }
        }
        detail::refuse("component", {"this model counts no component named \"", name, "\""});
    }

    /// FLOPs of one phase, all components together.
    [[nodiscard]] constexpr flops get(view seen, phase during) const {
        flops sum;
        for (const component_flops& component : components_) {
            sum += component.get(seen, during);
        }
        return sum;
    }

    /// FLOPs of the backward, all components together.
    [[nodiscard]] constexpr flops backward(view seen) const {
        return get(seen, phase::backward_data) + get(seen, phase::backward_weights);
    }

    /// FLOPs of all components and phases.
    [[nodiscard]] constexpr flops total(view seen = view::useful) const {
        flops sum;
        for (const component_flops& component : components_) {
            sum += component.total(seen);
        }
        return sum;
    }

    /// This breakdown with `prefix` before each name, to say whose work it is: "reference." makes
    /// "reference.attention.core".
    [[nodiscard]] constexpr breakdown with_prefix(std::string_view prefix) const {
        breakdown renamed = *this;
        for (component_flops& component : renamed.components_) {
            component.name = component_name(prefix, component.name.view());
        }
        return renamed;
    }

    /// Adds the work of another pass, batch or model: components of one name add up. An error changes nothing.
    constexpr breakdown& operator+=(const breakdown& other) {
        breakdown sum = *this;
        sum.mark_upper_bound(other.is_upper_bound_);
        for (const component_flops& more : other.components_) {
            component_flops& own = sum.of(more.name);
            for (std::size_t i = 0; i < 3; ++i) {
                own.useful[i] = (flops{own.useful[i]} + flops{more.useful[i]}).value();
                own.padded[i] = (flops{own.padded[i]} + flops{more.padded[i]}).value();
                own.executed_more[i] = (flops{own.executed_more[i]} + flops{more.executed_more[i]}).value();
            }
            own.recomputed_forward = (flops{own.recomputed_forward} + flops{more.recomputed_forward}).value();
        }
        return *this = std::move(sum);
    }
    [[nodiscard]] friend constexpr breakdown operator+(breakdown a, const breakdown& b) { return a += b; }

  private:
    friend class flop_counter;

    /// Adds a component whose numbers the caller sets, all of them: evaluation has no time to clear them.
    constexpr component_flops& append_unset(const component_name& name) {
        component_flops& added = components_.append("components");
        added.name = name;
        return added;
    }

    constexpr component_flops& of(const component_name& name) {
        for (component_flops& known : components_) {
            if (known.name == name) {
                return known;
            }
        }
        return components_.push_back(component_flops{name, {}, {}, {}, 0}, "components");
    }

    list components_;
    bool is_upper_bound_ = false;
};

}  // namespace floptally
