// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <floptally/cost.hpp>
#include <floptally/detail/list.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/flops.hpp>
#include <floptally/statistic.hpp>

namespace floptally {

class flop_counter;

enum class phase : std::uint8_t {
    forward,
    backward_data,     ///< gradients of activations
    backward_weights,  ///< gradients of weights
    recompute          ///< what the backward pass runs again
};

/// FLOPs of one component of a batch, in every view and phase.
///
/// `executed` is `padded` plus what only an implementation adds, so that is all that is stored.
struct component_flops {
    component_name name;
    uint128 useful[3];  ///< forward, backward_data, backward_weights
    uint128 padded[3];  ///< likewise
    /// What is executed besides, likewise: gradients that a fused attention backward computes though no one reads them,
    /// its QKᵀ once more, and what several ranks run (`training_plan::repeated`).
    uint128 executed_more[3];
    uint128 recomputed_forward;  ///< by `training_plan::recomputed`

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

    /// To data and to weights together.
    [[nodiscard]] constexpr flops backward(view seen) const {
        return get(seen, phase::backward_data) + get(seen, phase::backward_weights);
    }

    [[nodiscard]] constexpr flops total(view seen) const {
        return get(seen, phase::forward) + backward(seen) + get(seen, phase::recompute);
    }
};

/// FLOPs of a batch: component x phase x view, exact.
class breakdown {
  public:
    using list = detail::list<component_flops>;

    constexpr breakdown() = default;

    /// One more component without work, which the caller sets.
    constexpr component_flops& append(const component_name& name) {
        return components_.push_back(component_flops{name, {}, {}, {}, 0}, "components");
    }

    /// No component, and memory for `components` of them.
    constexpr void clear(std::size_t components = 0) {
        components_.reserve(components, "components");
        components_.clear();
        is_upper_bound_ = false;
    }

    /// Whether less may run: a training plan met a part that does not say what its rows read, or a cost alone, which
    /// does not say where its parts stand. Exact parts have `linear::reads` and `writes`.
    [[nodiscard]] constexpr bool is_upper_bound() const { return is_upper_bound_; }
    constexpr void mark_upper_bound(bool is = true) { is_upper_bound_ = is_upper_bound_ || is; }

    [[nodiscard]] constexpr const list& components() const { return components_; }

    /// The component of that name, or an error.
    [[nodiscard]] constexpr const component_flops& operator[](std::string_view name) const {
        for (const component_flops& component : components_) {
            if (component.name.view() == name) {
                return component;
            }
        }
        detail::refuse("component", {"this model counts none named \"", name, "\""});
    }

    [[nodiscard]] constexpr flops get(view seen, phase during) const {
        flops sum;
        for (const component_flops& component : components_) {
            sum += component.get(seen, during);
        }
        return sum;
    }

    [[nodiscard]] constexpr flops backward(view seen) const {
        return get(seen, phase::backward_data) + get(seen, phase::backward_weights);
    }

    [[nodiscard]] constexpr flops total(view seen = view::useful) const {
        flops sum;
        for (const component_flops& component : components_) {
            sum += component.total(seen);
        }
        return sum;
    }

    /// The same under names that say whose work it is: "reference.attention.core".
    [[nodiscard]] constexpr breakdown with_prefix(std::string_view prefix) const {
        breakdown renamed = *this;
        for (component_flops& component : renamed.components_) {
            component.name = component_name(prefix, component.name.view());
        }
        return renamed;
    }

    /// Work of another pass, batch or model: components of one name add up. Where that is an error, nothing has
    /// changed.
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

    /// One more component whose numbers the caller sets, all of them: evaluation has no time to clear them.
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
