# SPDX-License-Identifier: Apache-2.0
"""The class that `floptally.adopt.deepspeed` makes, which extends DeepSpeed's."""

from __future__ import annotations

from typing import Any

from deepspeed.profiling.flops_profiler import FlopsProfiler
from deepspeed.profiling.flops_profiler.profiler import macs_to_string, number_to_string

from .. import Convention, Cost, Error, Plan
from ._captured import Captured
from ._original import Original

_original = Original("DeepSpeed", "deepspeed.profiling.flops_profiler.profiler", "FlopsProfiler")


class CountingProfiler(FlopsProfiler):
    """DeepSpeed's profiler; where it has a convention, with totals that are counted."""

    def __init__(
        self,
        model: Any,
        ds_engine: Any,
        recompute_fwd_factor: float,
        *,
        convention: str | Convention | None,
        cost: Cost | None,
        compare: bool,
    ) -> None:
        super().__init__(model, ds_engine, recompute_fwd_factor)
        if convention is None and cost is not None:
            raise Error("cost", "is not used without a convention")
        self._convention = convention
        self._cost = cost
        self._compare = compare
        self._captured = Captured(model)
        self._forward: int | None = None

    def start_profile(self, ignore_list: Any = None) -> None:
        super().start_profile(ignore_list)
        self._forward = None
        if self._convention is not None:
            self._captured.begin()

    def stop_profile(self) -> None:
        self._captured.end()
        super().stop_profile()

    def end_profile(self) -> None:
        self._captured.end()
        super().end_profile()

    def get_total_flops(self, as_string: bool = False) -> Any:
        """FLOPs of one forward."""
        if self._convention is None:
            return super().get_total_flops(as_string)
        flops = self._counted(self._convention)
        return number_to_string(flops) if as_string else flops

    def get_total_macs(self, as_string: bool = False) -> Any:
        """Half of them."""
        if self._convention is None:
            return super().get_total_macs(as_string)
        macs = self._counted(self._convention) // 2
        return macs_to_string(macs) if as_string else macs

    def _counted(self, convention: str | Convention) -> int:
        if self._forward is None:
            self._forward = self._captured.flops(convention, given=self._cost, plan=Plan(phase="forward"))
            if self._compare:
                _original.log(float(super().get_total_flops()), self._forward)
        return self._forward
