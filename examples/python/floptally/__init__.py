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
    CanonicalGroups,
    ContextParallelRow,
    ContextShares,
    Cost,
    Error,
    ExchangePlan,
    LeftOut,
    Mask,
    MaskedTiles,
    MemoryProbe,
    Meter,
    Overflow,
    ParallelLayout,
    Plan,
    Row,
    Scope,
    Tally,
    TallyReduction,
    TokenSplit,
    Totals,
    WeightSetting,
    __version__,
    aligned_cu_seqlens,
    balance,
    cp_alignment,
    flops,
    logits_bytes,
    models,
    numbers_version,
    pack_by_capacity,
    pack_into_rows,
    readable,
    snapshot_name,
    state_bytes,
    utilize,
)
from ._conventions import Convention, conventions
from ._cost import cost
from ._device import DeviceTally
from ._fit import Fit, Sent, StageFit
from ._from_torch import from_torch
from ._goodput import Goodput
from ._passes import PassRate, StepPasses, StepWork, TimedPass
from ._shares import (
    ExchangeBuffer,
    LogitsBytes,
    ModuleRate,
    ModuleUtilization,
    Pack,
    Packing,
    RankExchange,
    StateBytes,
    StepModule,
)
from ._verify import Verification, VerifiedComponent, verify
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
    from . import adopt, callbacks, distributed, memory, module_times, plots, sampler

__all__ = [
    "Accelerator",
    "Assignment",
    "Breakdown",
    "Bytes",
    "CanonicalGroups",
    "ComparedComponent",
    "ComparedConvention",
    "Comparison",
    "ComponentBytes",
    "ComponentLine",
    "ComponentWaterfall",
    "ContextParallelRow",
    "ContextShares",
    "Convention",
    "Cost",
    "DeviceTally",
    "Error",
    "ExchangeBuffer",
    "ExchangePlan",
    "Fit",
    "Goodput",
    "LayoutSearch",
    "LeftOut",
    "LogitsBytes",
    "Mask",
    "MaskedTiles",
    "Mbu",
    "MemoryProbe",
    "Meter",
    "ModuleRate",
    "ModuleUtilization",
    "ObservedMatch",
    "Overflow",
    "Pack",
    "Packing",
    "ParallelLayout",
    "PassRate",
    "PipelineLayout",
    "Plan",
    "RankExchange",
    "RankLine",
    "Row",
    "Scope",
    "Sent",
    "StageFit",
    "StateBytes",
    "StepModule",
    "StepPasses",
    "StepWork",
    "Tally",
    "TallyReduction",
    "TimedPass",
    "TokenSplit",
    "Totals",
    "Verification",
    "VerifiedComponent",
    "View",
    "Waterfall",
    "WaterfallLine",
    "WeightSetting",
    "Work",
    "__version__",
    "accelerator",
    "accelerators",
    "aligned_cu_seqlens",
    "balance",
    "conventions",
    "cost",
    "cp_alignment",
    "flops",
    "from_torch",
    "logits_bytes",
    "models",
    "numbers_version",
    "pack_by_capacity",
    "pack_into_rows",
    "readable",
    "snapshot_name",
    "state_bytes",
    "utilize",
    "verify",
]


if not TYPE_CHECKING:  # where every name would be one that it knows
    SUBMODULES = ("adopt", "callbacks", "distributed", "memory", "module_times", "plots", "sampler")

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
