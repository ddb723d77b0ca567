# SPDX-License-Identifier: Apache-2.0
"""Replaces ``calculate_fwd_flops``, ``fwd_tflops_per_gpu`` and ``flops_args_from_hf_config`` of miles'
``miles.utils.flops_utils``."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from .. import Convention, Plan
from .._types import ConfigLike
from ._count import counted, cost
from ._fields import Fields, as_integer, as_lengths
from ._original import Original
from .slime import forward_flops

__all__ = ["calculate_fwd_flops", "flops_args_from_hf_config", "fwd_tflops_per_gpu"]

_original = Original("miles", "miles.utils.flops_utils", "calculate_fwd_flops")
_arguments = Original("miles", "miles.utils.flops_utils", "flops_args_from_hf_config")
_FORWARD = Plan(phase="forward")


def calculate_fwd_flops(
    seqlens: Any, args: Any, *, convention: str | Convention | None = None, compare: bool = False
) -> float:
    """Returns the FLOPs of one forward pass over these sequences.

    Args:
        seqlens: tokens of each sequence.
        args: Megatron's arguments, or the result of `flops_args_from_hf_config`.
        convention: miles' own by default.
        compare: also runs miles' own function and logs both numbers.
    """
    config = getattr(args, "hf_config", None)

    def ours() -> float:
        if convention is not None and config is not None:
            return counted(config.get(), convention, _FORWARD).lengths(as_lengths("seqlens", seqlens))
        return forward_flops(seqlens, args, convention, latent=Fields(args).get("kv_lora_rank") is not None)

    return _original.answer(
        ours,
        lambda function: float(function(as_lengths("", seqlens), args)),
        own=convention is None,
        compare=compare,
        number=float,
    )


def fwd_tflops_per_gpu(seqlens: Any, args: Any, world_size: int, *, convention: str | Convention | None = None) -> float:
    """Returns the TFLOP (10^12 FLOPs, not a rate) that each GPU runs in one forward pass."""
    return calculate_fwd_flops(seqlens, args, convention=convention) / as_integer("world_size", world_size, least=1) / 1e12


def flops_args_from_hf_config(config: ConfigLike) -> SimpleNamespace:
    """Returns the arguments that miles derives from a Hugging Face config. The config is attached, since floptally's
    conventions need it."""
    original = _arguments.find(load=True)
    arguments: SimpleNamespace = SimpleNamespace() if original is None else original(config)
    arguments.hf_config = _arguments.prepare(lambda: cost(config), own=False)
    return arguments
