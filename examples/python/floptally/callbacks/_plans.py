# SPDX-License-Identifier: Apache-2.0
"""Makes one plan of what a model says and of the plan that the user passes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

from .. import Cost, Error, Plan
from .._cost import is_module
from .._module_plan import plan_of_module
from ._recompute import Recomputed, recomputed, require_recompute

# Each parameter of a plan is a property of the same name.
_FIELDS = tuple(name for name, value in vars(Plan).items() if isinstance(value, property))


@dataclass(frozen=True)
class ModelPlan:
    """A plan made of the user's plan and of the model's settings, with notes for the report."""

    plan: Plan
    notes: list[str] = field(default_factory=list)


def replaced(plan: Plan, **changes: Any) -> Plan:
    """Returns a copy of a plan in which some fields have other values."""
    return Plan(**{name: changes.get(name, getattr(plan, name)) for name in _FIELDS})


def plan_with_model(plan: Plan, model: Any, cost: Cost) -> ModelPlan:
    """Adds facts about the model to the meter's plan: recomputed layers, PEFT adapters and frozen weights. Returns the
    new plan with notes. Raises an Error if the plan and the model contradict each other.

    plan: the meter's plan. Fields with their default value contradict nothing.
    cost: the meter's cost.
    """
    seen = recomputed(model)
    planned = plan.recompute != "none" or bool(plan.recompute_components)
    if not planned and not seen.nothing and (every := _every(seen)) is not None:
        plan = replaced(plan, recompute="full", recompute_every=every)
    notes = [require_recompute(plan, model)]
    if is_module(model):
        plan = _with_weights(plan, model, cost, notes)
    return ModelPlan(plan, notes)


def _every(seen: Recomputed) -> int | None:
    """Returns n if the model recomputes one layer in n. None if no plan can describe what the model recomputes."""
    if not seen.layers and not seen.whole:
        return None
    every = round(seen.all_layers / seen.layers) if seen.layers else 1
    agrees = seen.agrees_with(Plan(recompute="full", recompute_every=max(every, 1)))
    return max(every, 1) if agrees else None


def _with_weights(plan: Plan, model: Any, cost: Cost, notes: list[str]) -> Plan:
    """Returns the plan with the weights that train in the model.

    notes: gets a note if the model trains a part of its weights.
    """
    try:
        own = plan_of_module(model, cost)
    except Error as problem:
        text = "which weights train is what the plan says: the model's own are not read"
        if not plan.weights:
            text = f"all weights are counted as trained, and the model trains a part, which is not read ({problem})"
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        notes.append(text)
        return plan
    if own is None:
        return plan
    notes.append(own.words)
    if not plan.weights:
        return replaced(plan, weights=list(own.plan.weights))
    both = cost.planned(own.plan)
    try:
        both.total_flops(lengths=[], plan=replaced(Plan(), weights=list(plan.weights)))
    except Error as problem:
        if problem.field != "plan":
            return plan  # the two are compared without a batch, which this model does not take
        raise
    return plan
