# SPDX-License-Identifier: Apache-2.0
"""Replaces ``Trainer.floating_point_ops`` of transformers. Also replaces the method of this name that transformers'
models had until version 4."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from .. import Convention, Cost, Error, Plan
from ..callbacks._batches import Sides, arguments_of
from ._captured import on_host
from ._count import counted, cost
from ._original import Original, method_of

__all__ = ["floating_point_ops"]

_costs: WeakKeyDictionary[Any, tuple[Cost, Sides]] = WeakKeyDictionary()


_original = Original("transformers", "transformers.trainer", "Trainer")


def floating_point_ops(
    self: Any,
    inputs: Mapping[str, Any],
    *,
    convention: str | Convention = "hf_6nd",
    plan: Plan | None = None,
    compare: bool = False,
) -> int:
    """Returns the FLOPs of one forward and backward pass. Use it as a function, or in place of the method of that
    name.

    Args:
        self: a Trainer, or a model of transformers.
        inputs: a batch, as the model's forward takes it. The Trainer's own convention counts all values of the main
            input: token ids with padding, pixels of images, values of a spectrogram. It ignores that weights are
            frozen. Any other convention counts real tokens, and packed documents separately (see
            ``floptally.callbacks.batch_arguments``).
        convention: the Trainer's own by default.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        compare: also runs the Trainer's own method and logs both numbers.
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
    if convention != "hf_6nd":
        found, sides = _read(model)
        count = counted(found, convention, plan)
        return count.batch(**arguments_of(on_host(inputs, sides), sides))
    main = getattr(model, "main_input_name", "input_ids")
    if inputs.get(main) is None:
        raise Error(main, f"must be among the inputs, got {', '.join(map(str, inputs)) or 'nothing'}")
    slots = 1
    for size in inputs[main].shape:
        slots *= int(size)
    if plan is not None:  # adapters that the plan has, and the model has not
        return slots * counted(_read(model)[0], convention, plan).lengths([1])
    return 6 * slots * int(model.num_parameters(exclude_embeddings=True))


def _read(model: Any) -> tuple[Cost, Sides]:
    found = _costs.get(model)
    if found is None:
        model_cost = cost(model)
        found = _costs[model] = model_cost, Sides.of(model_cost, model)
    return found
