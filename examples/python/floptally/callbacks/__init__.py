# SPDX-License-Identifier: Apache-2.0
"""A step meter in trainers: one line each. A framework is imported when its class is asked for.

    floptally.callbacks.TrainerMeter(meter).attach(trainer)                     # Hugging Face Trainer
    lightning.Trainer(callbacks=[floptally.callbacks.LightningMeter(meter)])    # Lightning
    with floptally.callbacks.step(meter, batch): …                              # a loop of your own, one microbatch

Lengths are read from each training batch (`batch_arguments` says how), evaluation is not counted, microbatches of
gradient accumulation belong to one step, and a checkpoint carries the totals of the run on. Logged are the meter's
`scalars()` over the steps since the last line of the log; `postfix` is the short form for a progress bar, and
`report()` says besides what has to be known to read the numbers: what the model recomputes, whose time it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._adapter import MeterAdapter, batch_arguments, batches_left_out, postfix, step
from ._recompute import Recomputed, recomputed, require_recompute

if TYPE_CHECKING:
    from .huggingface import TrainerMeter
    from .lightning import LightningMeter

__all__ = [
    "LightningMeter", "MeterAdapter", "Recomputed", "TrainerMeter", "batch_arguments", "batches_left_out", "postfix",
    "recomputed", "require_recompute", "step",
]  # fmt: skip

_LAZY = {"TrainerMeter": "huggingface", "LightningMeter": "lightning"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_LAZY[name]}", __name__), name)
