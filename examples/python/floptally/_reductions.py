# SPDX-License-Identifier: Apache-2.0
"""Reductions as a meter takes them."""

from __future__ import annotations

from typing import Any

from . import _core
from ._errors import Error, shortened


def checked_ranks(reduce: Any, convention: str, coefficients: int) -> int:
    """The ranks that a reduction sums over, where it compares what a meter counts: its convention, model and plan."""
    # One that has no layout yet says why where it is asked for it.
    has_layout = hasattr(type(reduce), "layout") or hasattr(reduce, "layout")
    if not (callable(reduce) and has_layout and hasattr(reduce, "convention")):
        raise Error("reduce", f"must be a floptally.distributed.Reduction, got {shortened(reduce)}")
    if reduce.convention != convention:
        compared = f'the reduction compares "{reduce.convention}" over the ranks, and the meter counts by "{convention}"'
        raise Error("convention", compared)
    cost = getattr(reduce, "cost", None)
    if isinstance(cost, _core.Cost) and _core._coefficient_hash(cost, convention, reduce.plan) != coefficients:
        raise Error("reduce", "compares another model or plan over the ranks than the meter counts by")
    ranks: int = reduce.layout.world_size
    return ranks

