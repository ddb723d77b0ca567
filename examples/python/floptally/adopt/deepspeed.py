# SPDX-License-Identifier: Apache-2.0
"""Replaces DeepSpeed's ``deepspeed.profiling.flops_profiler.FlopsProfiler`` and the summary that it prints."""

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
    """Returns DeepSpeed's profiler, with totals and summary counted by floptally.

    Without a convention this is DeepSpeed's own profiler, which adds up the calls that it patches. With a convention,
    the batch is read from the first forward after `start_profile`. `get_total_flops`, `get_total_macs` and the summary
    lines derived from them are then floptally's count. The summary's lines for single modules stay DeepSpeed's own.

    Args:
        model, ds_engine, recompute_fwd_factor: as for DeepSpeed's own profiler.
        convention: ``"exact"``, or the name of another convention.
        cost: the model's cost. By default it is read from the model's configuration, else measured by
            ``floptally.from_torch``.
        compare: logs DeepSpeed's own total next to floptally's.
    """
    from ._deepspeed import CountingProfiler

    return CountingProfiler(model, ds_engine, recompute_fwd_factor, convention=convention, cost=cost, compare=compare)
