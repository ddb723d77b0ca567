# SPDX-License-Identifier: Apache-2.0
"""The batch that a model ran on, and its FLOPs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from .. import Convention, Cost, Error, Plan, from_torch
from ..callbacks._batches import Sides, arguments_of, read_of
from ..callbacks._documents import stand_in
from ._count import Count, cost

Inputs = dict[str, Any]


class Captured:
    """Records the arguments of the first forward that a model runs between `begin` and `end`, as {name: value}."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.inputs: Inputs | None = None
        self._handle: Any = None

    def begin(self) -> None:
        self.inputs = None
        if self._handle is None:
            self._handle = self.model.register_forward_pre_hook(self._before_forward, with_kwargs=True)

    def end(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def _before_forward(self, model: Any, positional: tuple[Any, ...], named: Inputs) -> None:
        if self.inputs is None:
            bound = inspect.signature(model.forward).bind(*positional, **named)
            self.inputs = {**bound.arguments, **bound.arguments.pop("kwargs", {})}

    def kept(self) -> Inputs:
        """Returns the recorded arguments of the model's first forward. Raises an Error if the model did not run."""
        if self.inputs is None:
            raise Error("model", "was not run: call its forward between begin and end")
        return self.inputs

    def flops(self, convention: str | Convention, *, known_cost: Cost | None, plan: Plan) -> int:
        """Returns the FLOPs of the recorded batch. The model's cost is `known_cost` if you pass one, else read from the
        model's configuration, else measured by `from_torch`."""
        inputs = {name: value for name, value in self.kept().items() if value is not None}
        if known_cost is None and not hasattr(self.model, "config"):
            known_cost = from_torch(self.model, inputs)
        count = Count(known_cost if known_cost is not None else cost(self.model), convention, plan)
        sides = Sides.of(count.cost, self.model)
        if "input_ids" in inputs or "inputs_embeds" in inputs or not sides.text:
            return count.batch(**arguments_of(on_host(inputs, sides), sides))
        return count.lengths(_rows(inputs))


def on_host(inputs: Mapping[str, Any], sides: Sides | None = None) -> Inputs:
    """Copies to the host those tensors of a batch that `batch_arguments` needs for counting. Token ids are usually not
    copied, since only their shape is needed.

    sides: which inputs the model has (text, images, audio); unknown by default.
    """
    found: Inputs = {}
    for key, value in read_of(inputs, sides or Sides()).items():
        if getattr(getattr(value, "device", None), "type", "cpu") == "meta":
            if key not in ("input_ids", "labels"):
                raise Error(key, "must have values, got a tensor on the device meta")
            value = stand_in(value, key)
        found[key] = value.cpu() if hasattr(value, "cpu") else value
    return found


def _rows(inputs: Inputs) -> list[int]:
    """Returns the number of tokens of each sample. The sizes are read as `from_torch` reads them from an example. If a
    sample has no axis of tokens, it counts as one token."""
    import torch

    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor)]
    for tensor in tensors:
        if tensor.dim() == (3 if tensor.is_floating_point() else 2):
            return [int(tensor.shape[1])] * int(tensor.shape[0])
    if not tensors or tensors[0].dim() == 0:
        raise Error(
            "model",
            "was called without a tensor that has one row per sample: count the batch by floptally.flops(model, lengths=…)",
        )
    return [1] * int(tensors[0].shape[0])
