# SPDX-License-Identifier: Apache-2.0
"""The class that `floptally.adopt.deepspeed` returns. It extends DeepSpeed's profiler."""

from __future__ import annotations

from typing import Any

from deepspeed.profiling.flops_profiler import FlopsProfiler
from deepspeed.profiling.flops_profiler.profiler import macs_to_string, number_to_string

from .. import Convention, Cost, Error, Plan
from ._captured import Captured
from ._original import Original

_original = Original("DeepSpeed", "deepspeed.profiling.flops_profiler.profiler", "FlopsProfiler")


class CountingProfiler(FlopsProfiler):
    """DeepSpeed's FLOPs profiler with floptally's count: if a convention is passed, the totals are floptally's."""

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
            raise Error("cost", "has no effect without a convention: pass convention= too, or leave cost= out")
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
        """Returns the FLOPs of one forward pass."""
        if self._convention is None:
            return super().get_total_flops(as_string)
        flops = self._counted(self._convention)
        return number_to_string(flops) if as_string else flops

    def get_total_macs(self, as_string: bool = False) -> Any:
        """Returns the multiply-accumulates of one forward pass: half of the FLOPs."""
        if self._convention is None:
            return super().get_total_macs(as_string)
        macs = self._counted(self._convention) // 2
        return macs_to_string(macs) if as_string else macs

    def _counted(self, convention: str | Convention) -> int:
        if self._forward is None:
            self._captured.kept()
            own = super().get_total_flops
            self._forward = _original.answer(
                lambda: self._captured.flops(convention, known_cost=self._cost, plan=Plan(phase="forward")),
                lambda original: int(original()),
                own=False,
                compare=self._compare,
                number=float,
                find=lambda *, load: own,
            )
        return self._forward
