# SPDX-License-Identifier: Apache-2.0
"""transformers: ``Trainer.floating_point_ops``, and the method of that name that its models had until version 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from .. import Convention, Cost, Error, Plan, cost
from ..callbacks import batch_arguments
from ._captured import on_host
from ._count import counted
from ._original import Original, method_of

__all__ = ["floating_point_ops"]

_costs: WeakKeyDictionary[Any, Cost] = WeakKeyDictionary()


_original = Original("transformers", "transformers.trainer", "Trainer")


def floating_point_ops(
    self: Any,
    inputs: Mapping[str, Any],
    *,
    convention: str | Convention = "hf_6nd",
    plan: Plan | None = None,
    compare: bool = False,
) -> int:
    """FLOPs of one forward and backward pass, as a function or in place of the method of that name.

    Args:
        self: a Trainer, or a model of transformers.
        inputs: a batch, as the model's forward takes it. By the Trainer's own convention all slots of its rows count,
            by any other what ``floptally.callbacks.batch_arguments`` reads of it: real tokens, and packed documents apart.
        convention: of the count; the Trainer's own by default.
        plan: what trains and what runs again, where that is not all and nothing.
        compare: runs the Trainer's own beside it and logs both.
    """
    return _original.answer(
        lambda: _counted(self, inputs, convention, plan),
        lambda method: int(method(self, inputs)),
        own=convention == "hf_6nd" and plan is None,
        compare=compare,
        number=float,
        find=lambda *, load: method_of(self, "floating_point_ops"),
    )


def _counted(self: Any, inputs: Mapping[str, Any], convention: str | Convention, plan: Plan | None) -> int:
    model = self if hasattr(self, "config") else self.model  # models have a `model` too
    count = counted(_cost_of(model), convention, plan)
    if convention != "hf_6nd":
        return count.batch(**batch_arguments(on_host(inputs)))
    main = getattr(model, "main_input_name", "input_ids")
    if inputs.get(main) is None:
        raise Error(main, f"must be among the inputs, got {', '.join(map(str, inputs)) or 'nothing'}")
    slots = 1
    for size in inputs[main].shape:
        slots *= int(size)
    return slots * count.lengths([1])


def _cost_of(model: Any) -> Cost:
    found = _costs.get(model)
    if found is None:
        found = _costs[model] = cost(model)
    return found
