// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <pybind11/pybind11.h>
#include <utility>
#include <vector>

#include <floptally/count/convention.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_config.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/step/report.hpp>

namespace floptally::detail::python {

/// A model as it is counted by a convention and a plan: folded once, kept by its cost and shared by all that it
/// counted.
struct folded_model {
    folded_model(std::shared_ptr<const model_config> config, const convention& how, const training_plan& trains);

    std::shared_ptr<const model_config> model;
    training_plan plan;
    flop_counter counter;
    mask_set masks;  ///< of the model, and those that the convention asks for besides
};

/// Python's `Cost`: a model as a config describes it, immutable, the plan by which it trains where none is given, and
/// what it was last folded to.
class model_cost {
  public:
    explicit model_cost(model_config model, training_plan plan = {})
        : model_cost(std::make_shared<const model_config>(std::move(model)), std::move(plan)) {}
    model_cost(std::shared_ptr<const model_config> model, training_plan plan)
        : model_(std::move(model)), plan_(std::move(plan)) {}

    [[nodiscard]] const model_config& model() const { return *model_; }
    [[nodiscard]] const training_plan& plan() const { return plan_; }
    [[nodiscard]] model_cost with_plan(training_plan plan) const {
        model_cost other(*this);
        other.plan_ = std::move(plan);
        return other;
    }
    [[nodiscard]] const cost& of() const { return model_->cost; }

    /// Folding is the dear part of a count: the last few are kept.
    [[nodiscard]] std::shared_ptr<const folded_model> folded(const convention& how, const training_plan& plan) const;

    /// The same weights in the same places, trained alike, do the same work: names of types and notes may differ.
    [[nodiscard]] friend bool operator==(const model_cost& a, const model_cost& b) {
        return a.of() == b.of() && a.plan() == b.plan();
    }

  private:
    std::shared_ptr<const model_config> model_;
    training_plan plan_;
    mutable std::vector<std::shared_ptr<const folded_model>> kept_;  // under the GIL
};

/// A plan that is given, else the one that the model has.
[[nodiscard]] const training_plan& to_plan(pybind11::handle plan, const model_cost& model);

}  // namespace floptally::detail::python
