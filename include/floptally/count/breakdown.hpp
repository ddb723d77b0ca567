// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/descriptors/cost.hpp>
#include <floptally/integer/flops.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/text/error.hpp>

/// @file
/// The FLOPs of a batch by component, phase and view.

namespace floptally::inline v0_3 {

class flop_counter;

/// The phases of a training step.
enum class phase : std::uint8_t {
    forward,
    backward_data,     ///< gradients of activations
    backward_weights,  ///< gradients of weights
    recompute          ///< the forward passes that the backward pass runs again
};
/// Names of the values of `phase`, in their order.
inline constexpr const char* phase_names[] = {"forward", "backward_data", "backward_weights", "recompute"};
/// Returns "forward", "backward_data", "backward_weights" or "recompute".
[[nodiscard]] constexpr const char* name_of(phase during) { return phase_names[static_cast<std::size_t>(during)]; }

/// Writes the name of a phase: "forward", …
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, phase during) {
    return to << name_of(during);
}

/// The FLOPs of one component of a batch, in every view and phase.
///
/// The executed view is `padded` plus the work that only the implementation adds. This struct stores `padded` and the
/// added work.
struct component_flops {
    component_name name;
    uint128 useful[3];  ///< FLOPs by phase: forward, backward_data, backward_weights
    uint128 padded[3];  ///< FLOPs by phase: forward, backward_data, backward_weights
    /// FLOPs by phase that are executed in addition to `padded`. A fused attention backward computes QKᵀ a second time,
    /// and also gradients that nobody needs. Several ranks may execute the same work (`training_plan::repeated`).
    uint128 executed_more[3];
    uint128 recomputed_forward;  ///< forward work that the backward repeats (`training_plan::recomputed`)

    /// Returns the FLOPs of one phase. The phase `recompute` is 0 except in the executed view.
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

    /// Returns the FLOPs of the backward: the gradients of activations and of weights.
    [[nodiscard]] constexpr flops backward(view seen) const {
        return get(seen, phase::backward_data) + get(seen, phase::backward_weights);
    }

    /// Returns the FLOPs of all phases.
    [[nodiscard]] constexpr flops total(view seen) const {
        return get(seen, phase::forward) + backward(seen) + get(seen, phase::recompute);
    }
};

/// The exact FLOPs of a batch by component, phase and view.
class breakdown {
  public:
    using list = floptally::list<component_flops>;

    constexpr breakdown() = default;

    /// Adds a component without FLOPs. Returns a reference to it, so that the caller can set its FLOPs.
    constexpr component_flops& append(const component_name& name) {
        return components_.push_back(component_flops{name, {}, {}, {}, 0}, "components");
    }

    /// Removes all components and reserves memory for `components` new ones.
    constexpr void clear(std::size_t components = 0) {
        components_.reserve(components, "components");
        components_.clear();
        is_upper_bound_ = false;
    }

    /// True if the FLOPs are an upper bound, because some of the counted gradients may not run. This happens if only
    /// some weights train and the order of the products is unknown. The order is unknown if the model is a cost without
    /// parts, or if a part does not declare which values its entries read. Set `linear::reads` and `writes` to make
    /// such a part exact.
    [[nodiscard]] constexpr bool is_upper_bound() const { return is_upper_bound_; }
    /// Marks the breakdown as an upper bound if `is` is true. A call with `is` = false changes nothing; only `clear`
    /// removes the mark.
    constexpr void mark_upper_bound(bool is = true) { is_upper_bound_ = is_upper_bound_ || is; }

    /// Returns the components with their FLOPs, in the order of the model.
    [[nodiscard]] constexpr const list& components() const { return components_; }

    /// Returns the component of that name. Throws `error` for an unknown name.
    [[nodiscard]] constexpr const component_flops& operator[](std::string_view name) const {
        for (const component_flops& component : components_) {
            if (component.name.view() == name) {
                return component;
            }
        }
        detail::refuse("component",
                       {"this model counts no component named \"", name, "\": use a name that the breakdown shows"});
    }

    /// Returns the FLOPs of one phase, summed over all components.
    [[nodiscard]] constexpr flops get(view seen, phase during) const {
        flops sum;
        for (const component_flops& component : components_) {
            sum += component.get(seen, during);
        }
        return sum;
    }

    /// Returns the FLOPs of the backward, summed over all components.
    [[nodiscard]] constexpr flops backward(view seen) const {
        return get(seen, phase::backward_data) + get(seen, phase::backward_weights);
    }

    /// Returns the FLOPs of all components and phases.
    [[nodiscard]] constexpr flops total(view seen = view::useful) const {
        flops sum;
        for (const component_flops& component : components_) {
            sum += component.total(seen);
        }
        return sum;
    }

    /// Returns this breakdown with `prefix` before each component's name, to distinguish models or passes. The prefix
    /// "reference." gives "reference.attention.core".
    [[nodiscard]] constexpr breakdown with_prefix(std::string_view prefix) const {
        breakdown renamed = *this;
        for (component_flops& component : renamed.components_) {
            component.name = component_name(prefix, component.name.view());
        }
        return renamed;
    }

    /// Adds the work of another pass, batch or model. Components of equal names add up. An error changes nothing.
    constexpr breakdown& operator+=(const breakdown& other) {
        breakdown sum = *this;
        sum.mark_upper_bound(other.is_upper_bound_);
        for (const component_flops& more : other.components_) {
            component_flops& own = sum.find_or_add(more.name);
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

    /// Adds a component whose FLOPs are uninitialized, because setting them to 0 would slow down evaluation. The caller
    /// must set all of them.
    constexpr component_flops& append_unset(const component_name& name) {
        component_flops& component = components_.append("components");
        component.name = name;
        return component;
    }

    constexpr component_flops& find_or_add(const component_name& name) {
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

/// Returns the exact useful FLOPs as one line: "1234 FLOP (mlp 1200, lm_head 34)".
[[nodiscard, gnu::cold, gnu::noinline]] inline std::string to_string(const breakdown& work) {
    std::string components;
    for (const component_flops& component : work.components()) {
        append_item(components,
                    detail::text_of({component.name.view(), " ", to_string(component.total(view::useful))}));
    }
    const bool is_empty = components.empty();
    return detail::text_of({work.is_upper_bound() ? "at most " : "", to_string(work.total()), " FLOP",
                            is_empty ? "" : " (", components, is_empty ? "" : ")"});
}

/// Writes the exact useful FLOPs as one line, as `to_string` does.
template <class Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& to, const breakdown& work) {
    return to << to_string(work);
}

}  // namespace floptally
