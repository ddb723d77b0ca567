# SPDX-License-Identifier: Apache-2.0
"""Checks of the reductions that a meter accepts."""

from __future__ import annotations

from typing import Any

from . import _core
from ._errors import Error, shortened


def checked_ranks(reduce: Any, convention: str, coefficients: int) -> int:
    """Checks that a reduction was made for the meter's convention, model and plan. Returns the reduction's number of
    ranks."""
    # A reduction without a layout yet raises its own error when asked for it.
    has_layout = hasattr(type(reduce), "layout") or hasattr(reduce, "layout")
    if not (callable(reduce) and has_layout and hasattr(reduce, "convention")):
        raise Error("reduce", f"must be a floptally.distributed.Reduction, got {shortened(reduce)}")
    if reduce.convention != convention:
        compared = f'must be the same for the reduction and the meter, got "{reduce.convention}" and "{convention}"'
        raise Error("convention", compared)
    cost = getattr(reduce, "cost", None)
    if isinstance(cost, _core.Cost) and _core._coefficient_hash(cost, convention, reduce.plan) != coefficients:
        raise Error(
            "reduce",
            "was created for another model or plan than the meter: create both from the same cost and plan, Reduction(cost, plan=plan)",
        )
    ranks: int = reduce.layout.world_size
    return ranks

