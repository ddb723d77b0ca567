# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed: ``deepspeed.profiling.flops_profiler.FlopsProfiler`` and its summary."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost

__all__ = ["FlopsProfiler"]


def FlopsProfiler(
    model: Any,
    ds_engine: Any = None,
    recompute_fwd_factor: float = 0.0,
    *,
    convention: str | Convention | None = None,
    cost: Cost | None = None,
    compare: bool = False,
) -> Any:
    """DeepSpeed's profiler, whose total and summary are a count of what is attended.

    Without a convention it is DeepSpeed's own, which adds up the calls that it patches. With one, the first forward
    after `start_profile` says the batch, and `get_total_flops`, `get_total_macs` and every line of the summary that is
    made of them are that count; the lines of single modules stay as they were.

    Args:
        model, ds_engine, recompute_fwd_factor: as DeepSpeed's.
        convention: ``"exact"``, or another name.
        cost: of the model; by default that of its configuration, or ``floptally.from_torch`` of it.
        compare: logs DeepSpeed's own total beside the count.
    """
    from ._deepspeed import CountingProfiler

    return CountingProfiler(model, ds_engine, recompute_fwd_factor, convention=convention, cost=cost, compare=compare)
