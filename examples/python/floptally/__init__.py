# SPDX-License-Identifier: Apache-2.0
"""Exact FLOPs of model training, and MFU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._accelerators import Accelerator, accelerator, accelerators
from ._balance import Assignment
from ._breakdown import View, Work
from ._bytes import Bytes, ComponentBytes, Mbu
from ._comparison import ComparedConvention, Comparison, ObservedMatch
from ._core import (
    Breakdown,
    ContextShares,
    Cost,
    Error,
    LeftOut,
    Mask,
    MaskedTiles,
    Meter,
    Overflow,
    ParallelLayout,
    Plan,
    Row,
    Scope,
    Tally,
    TallyReduction,
    Totals,
    WeightSetting,
    __version__,
    balance,
    flops,
    models,
    readable,
)
from ._conventions import Convention, conventions
from ._cost import cost
from ._device import DeviceTally
from ._from_torch import from_torch
from ._passes import PassRate, StepPasses, StepWork, TimedPass
from ._waterfall import (
    ComparedComponent,
    ComponentLine,
    ComponentWaterfall,
    LayoutSearch,
    PipelineLayout,
    RankLine,
    Waterfall,
    WaterfallLine,
)

if TYPE_CHECKING:
    from . import adopt, callbacks, distributed, module_times, plots, sampler

__all__ = [
    "Accelerator",
    "Assignment",
    "Breakdown",
    "Bytes",
    "ComparedConvention",
    "Comparison",
    "ComponentBytes",
    "ComparedComponent",
    "ComponentLine",
    "ComponentWaterfall",
    "ContextShares",
    "Convention",
    "Cost",
    "DeviceTally",
    "Error",
    "LayoutSearch",
    "LeftOut",
    "Mask",
    "MaskedTiles",
    "Mbu",
    "Meter",
    "ObservedMatch",
    "Overflow",
    "ParallelLayout",
    "PassRate",
    "PipelineLayout",
    "Plan",
    "RankLine",
    "Row",
    "Scope",
    "StepPasses",
    "StepWork",
    "Tally",
    "TallyReduction",
    "TimedPass",
    "Totals",
    "View",
    "Waterfall",
    "WaterfallLine",
    "WeightSetting",
    "Work",
    "__version__",
    "accelerator",
    "accelerators",
    "balance",
    "conventions",
    "cost",
    "flops",
    "from_torch",
    "models",
    "readable",
]


if not TYPE_CHECKING:  # where every name would be one that it knows
    SUBMODULES = ("adopt", "callbacks", "distributed", "module_times", "plots", "sampler")

    def __getattr__(name: str) -> object:
        """The submodules, imported where they are first named: some need a framework, and all of them time."""
        import sys

        if name in SUBMODULES:
            import importlib

            return importlib.import_module(f"{__name__}.{name}")
        text = f"module '{__name__}' has no attribute '{name}'"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])  # from which Python tells the nearest name

    def __dir__() -> list[str]:
        return sorted({*__all__, *SUBMODULES, *globals()})
