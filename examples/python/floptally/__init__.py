# SPDX-License-Identifier: Apache-2.0
"""Exact FLOPs of model training, and MFU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _interpreter  # first: it refuses what the extension cannot
from . import _pickles  # makes `pickle` know classes of the extension
from . import _notebook  # makes notebooks show classes of the extension
from ._accelerators import Accelerator, MeasuredPeak, accelerator, accelerators, measure_peak
from ._balance import Assignment
from ._breakdown import View, Work
from ._bytes import Bytes, ComponentBytes, Mbu
from ._comparison import ComparedConvention, Comparison, ObservedMatch
from ._core import (
    Breakdown,
    CanonicalGroups,
    ContextParallelPack,
    ContextShards,
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
    Entry,
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
    pack_by_assignment,
    readable,
    snapshot_name,
    state_bytes,
    utilize,
)
from ._conventions import Convention, conventions
from ._cost import cost
from ._device import DeviceTally
from ._errors import AssumptionWarning
from ._expect import Expectation, PublishedRun, expect, published_runs
from ._fit import Fit, Sent, StageFit
from ._from_jax import from_jax
from ._from_torch import from_torch
from ._goodput import Goodput
from ._passes import PassRate, StepPasses, StepWork, TimedPass
from ._search import FoundLayout, Search
from ._shards import (
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
    RankLine,
    Waterfall,
    WaterfallLine,
)

if TYPE_CHECKING:
    from . import adopt, callbacks, distributed, memory, module_times, plots, sampler

__all__ = [
    "Accelerator",
    "Assignment",
    "AssumptionWarning",
    "Breakdown",
    "Bytes",
    "CanonicalGroups",
    "ComparedComponent",
    "ComparedConvention",
    "Comparison",
    "ComponentBytes",
    "ComponentLine",
    "ComponentWaterfall",
    "ContextParallelPack",
    "ContextShards",
    "Convention",
    "Cost",
    "DeviceTally",
    "Entry",
    "Error",
    "ExchangeBuffer",
    "ExchangePlan",
    "Expectation",
    "Fit",
    "FoundLayout",
    "Goodput",
    "LeftOut",
    "LogitsBytes",
    "Mask",
    "MaskedTiles",
    "Mbu",
    "MemoryProbe",
    "MeasuredPeak",
    "Meter",
    "ModuleRate",
    "ModuleUtilization",
    "ObservedMatch",
    "Overflow",
    "Pack",
    "Packing",
    "ParallelLayout",
    "PassRate",
    "Plan",
    "PublishedRun",
    "RankExchange",
    "RankLine",
    "Scope",
    "Search",
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
    "expect",
    "flops",
    "from_jax",
    "from_torch",
    "logits_bytes",
    "measure_peak",
    "models",
    "numbers_version",
    "pack_by_capacity",
    "pack_by_assignment",
    "published_runs",
    "readable",
    "snapshot_name",
    "state_bytes",
    "utilize",
    "verify",
]


if not TYPE_CHECKING:  # where every name would be one that it knows
    SUBMODULES = ("adopt", "callbacks", "distributed", "memory", "module_times", "plots", "sampler")

    def __getattr__(name: str) -> object:
        """Imports a submodule of floptally when its name is first used. Some submodules need a framework such as
        PyTorch, and importing all of them takes time."""
        import sys

        if name in SUBMODULES:
            import importlib

            return importlib.import_module(f"{__name__}.{name}")
        text = f"module '{__name__}' has no attribute '{name}'"
        raise AttributeError(text, name=name, obj=sys.modules[__name__])  # from which Python tells the nearest name

    def __dir__() -> list[str]:
        return sorted({*__all__, *SUBMODULES, *globals()})
