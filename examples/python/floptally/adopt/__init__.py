# SPDX-License-Identifier: Apache-2.0
"""One line in a trainer: the function that it calls for its FLOPs, counted by floptally.

    from floptally.adopt.megatron import num_floating_point_operations

Each module is named after a trainer, imports it only where a call needs it, and has that trainer's own name and
signature. With nothing else said the convention is the trainer's, so that a dashboard goes on as it was;
``convention="exact"`` counts every product over the pairs that are attended, and any name of
``floptally.conventions()`` may be given. A ``functools.partial`` says it once:

    num_floating_point_operations = functools.partial(num_floating_point_operations, convention="exact")

What a trainer's arguments say is read field by field; what cannot be counted from them is an error that names the field.
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
