# SPDX-License-Identifier: Apache-2.0
"""Lightning: ``lightning.fabric.utilities.throughput.measure_flops``."""

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
    """FLOPs of a forward, and with `loss_fn` of the backward too.

    Without a convention this is PyTorch's own counter over what runs, as in Lightning. With one, `forward_fn` runs once,
    only to see the batch (it may be on ``meta``), which is then counted.

    Args:
        model: any ``torch.nn.Module``.
        forward_fn: runs the model, and returns what it returned.
        loss_fn: from that to the loss.
        convention: ``"exact"``, or another name.
        plan: what trains and what runs again, where that is not all and nothing.
        cost: of the model; by default that of its configuration, or ``floptally.from_torch`` of it.
        compare: measures as Lightning does, too, and logs both.
    """
    if convention is None:
        return _measured(forward_fn, loss_fn)
    captured = Captured(model)
    captured.begin()
    try:
        forward_fn()
    finally:
        captured.end()
    found = captured.flops(convention, given=cost, plan=plan or Plan(phase="train" if loss_fn else "forward"))
    if compare:
        _original.log(_measured(forward_fn, loss_fn), found)
    return found


def _measured(forward_fn: Callable[[], Any], loss_fn: Callable[[Any], Any] | None) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with counter:
        result = forward_fn()
        if loss_fn is not None:
            loss_fn(result).backward()
    return int(counter.get_total_flops())
