# SPDX-License-Identifier: Apache-2.0
"""Exact FLOPs of model training, and MFU."""

from __future__ import annotations

from ._core import (
    Accelerator,
    Assignment,
    Breakdown,
    Convention,
    Cost,
    Error,
    Mask,
    Meter,
    Overflow,
    ParallelLayout,
    Plan,
    Row,
    Rule,
    Scope,
    Tally,
    TallyReduction,
    Totals,
    View,
    Work,
    __version__,
    accelerator,
    accelerators,
    balance,
    conventions,
    models,
    readable,
)
from ._cost import cost
from ._flops import flops
from ._from_torch import from_torch

__all__ = [
    "Accelerator",
    "Assignment",
    "Breakdown",
    "Convention",
    "Cost",
    "Error",
    "Mask",
    "Meter",
    "Overflow",
    "ParallelLayout",
    "Plan",
    "Row",
    "Rule",
    "Scope",
    "Tally",
    "TallyReduction",
    "Totals",
    "View",
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
