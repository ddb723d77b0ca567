# SPDX-License-Identifier: Apache-2.0
"""The batch that a model was run on, and what it costs there."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from .. import Convention, Cost, Error, Plan, cost, from_torch
from ..callbacks import batch_arguments
from ..callbacks._batches import Sides, read_of
from ..callbacks._documents import stand_in
from ._count import Count

Inputs = dict[str, Any]


class Captured:
    """Between `begin` and `end`, the arguments of the first forward of a model, by their names."""

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

    def flops(self, convention: str | Convention, *, given: Cost | None, plan: Plan) -> int:
        """Of what was captured. The cost is the given one, that of the model's configuration, or what PyTorch counts."""
        if self.inputs is None:
            raise Error("model", "was not run: no forward of it was seen")
        inputs = {name: value for name, value in self.inputs.items() if value is not None}
        if given is None and not hasattr(self.model, "config"):
            given = from_torch(self.model, inputs)
        count = Count(given if given is not None else cost(self.model), convention, plan)
        if "input_ids" in inputs or "inputs_embeds" in inputs:
            return count.batch(**batch_arguments(on_host(inputs)))
        return count.lengths(_rows(inputs))


def on_host(inputs: Mapping[str, Any]) -> Inputs:
    """What `batch_arguments` reads of a batch, wherever its tensors are. Of tokens that is as a rule their shape."""
    found: Inputs = {}
    for key, value in read_of(inputs, Sides()).items():
        if getattr(getattr(value, "device", None), "type", "cpu") == "meta":
            if key not in ("input_ids", "labels"):
                raise Error(key, "must have values to be read, got a tensor on meta")
            value = stand_in(value, key)
        found[key] = value.cpu() if hasattr(value, "cpu") else value
    return found


def _rows(inputs: Inputs) -> list[int]:
    """Tokens of each sample as `from_torch` sees them in an example: one length where there is one, else samples."""
    import torch

    tensors = [value for value in inputs.values() if isinstance(value, torch.Tensor)]
    for tensor in tensors:
        if tensor.dim() == (3 if tensor.is_floating_point() else 2):
            return [int(tensor.shape[1])] * int(tensor.shape[0])
    if not tensors or tensors[0].dim() == 0:
        raise Error("model", "was run without a tensor of samples: pass cost= and count by floptally.flops")
    return [1] * int(tensors[0].shape[0])
