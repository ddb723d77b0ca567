# SPDX-License-Identifier: Apache-2.0
"""Drop-in replacements for trainers' FLOPs functions, counted by floptally. One import line in the trainer:

    from floptally.adopt.megatron import num_floating_point_operations

Each module is named after a trainer and has that trainer's own function name and signature. It imports the trainer only
if a call needs it. The default convention is the trainer's, so a dashboard's curve continues unchanged.
``convention="exact"`` counts every matrix product exactly, attention over the attended pairs only; any name of
``floptally.conventions()`` works. A ``functools.partial`` sets the convention once:

    num_floating_point_operations = functools.partial(num_floating_point_operations, convention="exact")

The trainer's arguments are read field by field. If a model cannot be counted, the error names the field.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        automodel,
        bionemo,
        deepspeed,
        lightning,
        maxtext,
        megatron,
        megatron_bridge,
        miles,
        nanogpt,
        nemo_rl,
        olmo_core,
        open_instruct,
        prime_rl,
        slime,
        torchtitan,
        transformers,
        trl,
        veomni,
        verl,
    )

__all__ = [
    "automodel", "bionemo", "deepspeed", "lightning", "maxtext", "megatron", "megatron_bridge", "miles", "nanogpt",
    "nemo_rl", "olmo_core", "open_instruct", "prime_rl", "slime", "torchtitan", "transformers", "trl", "veomni", "verl",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f".{name}", __name__)


def __dir__() -> list[str]:
    return sorted(__all__)
