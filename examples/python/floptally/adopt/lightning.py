# SPDX-License-Identifier: Apache-2.0
"""Replaces Lightning's ``lightning.fabric.utilities.throughput.measure_flops``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import Convention, Cost, Plan
from ._captured import Captured
from ._original import Original

if TYPE_CHECKING:
    import torch

__all__ = ["measure_flops"]

_original = Original("Lightning", "lightning.fabric.utilities.throughput", "measure_flops")


def measure_flops(
    model: torch.nn.Module,
    forward_fn: Callable[[], torch.Tensor],
    loss_fn: Callable[[torch.Tensor], torch.Tensor] | None = None,
    *,
    convention: str | Convention | None = None,
    plan: Plan | None = None,
    cost: Cost | None = None,
    compare: bool = False,
) -> int:
    """Returns the FLOPs of a forward, and with `loss_fn` of the backward too.

    Without a convention PyTorch's own counter measures the run, as in Lightning. With a convention floptally counts;
    `forward_fn` then runs once, only to read the batch (also on ``meta``).

    Args:
        model: any ``torch.nn.Module``.
        forward_fn: a function that runs the model and returns the model's output.
        loss_fn: a function from the model's output to the loss.
        convention: ``"exact"``, or the name of another convention.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        cost: the model's cost. By default it is read from the model's configuration, else measured by
            ``floptally.from_torch``.
        compare: also measures as Lightning does and logs both numbers.
    """
    if convention is None:
        return _measured(forward_fn, loss_fn)
    captured = Captured(model)
    captured.begin()
    try:
        forward_fn()
    finally:
        captured.end()
    captured.kept()
    return _original.answer(
        lambda: captured.flops(convention, known_cost=cost, plan=plan or Plan(phase="train" if loss_fn else "forward")),
        lambda original: _measured(forward_fn, loss_fn),
        own=False,
        compare=compare,
        number=float,
        find=lambda *, load: _measured,
    )


def _measured(forward_fn: Callable[[], Any], loss_fn: Callable[[Any], Any] | None) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter:
        result = forward_fn()
        if loss_fn is not None:
            loss_fn(result).backward()
    return int(counter.get_total_flops())
