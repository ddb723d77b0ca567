# SPDX-License-Identifier: Apache-2.0
"""Callbacks that count FLOPs and MFU in trainers, each added in one line. A framework is imported only if you use its
class.

    floptally.callbacks.TrainerMeter(meter).attach(trainer)                     # Hugging Face Trainer
    lightning.Trainer(callbacks=[floptally.callbacks.LightningMeter(meter)])    # Lightning
    with floptally.callbacks.step(meter, batch): …                              # a loop of your own, one microbatch

Lengths are read from each training batch (see `batch_arguments`). Evaluation is not counted. Microbatches of
gradient accumulation belong to one step. Checkpoints carry the totals of the run.

The logs get the meter's `scalars()` over the steps since the last log line. `postfix` is a short form for a progress
bar. `report()` also says which layers the model recomputes, and which passes of a step the time covers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._adapter import MeterAdapter, batch_arguments, batches_left_out, pause, postfix, step
from ._recompute import Recomputed, recomputed, require_recompute

if TYPE_CHECKING:
    from .huggingface import TrainerMeter
    from .lightning import LightningMeter

__all__ = [
    "LightningMeter", "MeterAdapter", "Recomputed", "TrainerMeter", "batch_arguments", "batches_left_out", "pause",
    "postfix", "recomputed", "require_recompute", "step",
]  # fmt: skip

_LAZY = {"TrainerMeter": "huggingface", "LightningMeter": "lightning"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LAZY[name]}", __name__), name)
