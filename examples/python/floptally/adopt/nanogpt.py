# SPDX-License-Identifier: Apache-2.0
"""Replaces ``GPT.estimate_mfu`` of nanoGPT's model.py."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost, Plan, accelerator
from ._count import counted
from ._fields import Fields, as_integer, as_seconds
from ._model import Model
from ._original import Original, method_of

__all__ = ["estimate_mfu", "read"]

#: nanoGPT's MFU is always relative to this: the dense bf16 peak of an A100.
A100 = "NVIDIA A100-SXM4-80GB"

_original = Original("nanoGPT", "model", "GPT")


def read(config: Any) -> Cost:
    """Returns the cost of the model that nanoGPT's GPTConfig describes."""
    fields = Fields(config, "config.")
    width = fields.integer("n_embd")
    layers = fields.integer("n_layer")
    bias = fields.flag("bias", True)
    model = Model("nanogpt", hidden_size=width, vocab_size=fields.integer("vocab_size"), tied=True)
    for _ in range(layers):
        model.layer(
            {"type": "attention", "num_heads": fields.integer("n_head")},
            {"type": "mlp", "intermediate_size": 4 * width, "gated": False},
        )
    norms = 2 * layers + 1
    model.weights("norm", norms * width)
    if bias:
        model.weights("bias", norms * width + layers * (3 + 1 + 4 + 1) * width)
    return model.cost()


def estimate_mfu(
    self: Any,
    fwdbwd_per_iter: int,
    dt: float,
    *,
    convention: str | Convention = "nanogpt",
    plan: Plan | None = None,
    accelerator: str = A100,
    compare: bool = False,
) -> float:
    """Returns the MFU of one iteration as a fraction. Use it as a function, or in place of the method of GPT with this
    name.

    Args:
        self: a GPT, whose config is read.
        fwdbwd_per_iter: sequences of ``config.block_size`` tokens in one iteration.
        dt: seconds of the iteration.
        convention: nanoGPT's own by default.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        accelerator: the GPU whose dense bf16 peak is an MFU of 1. The A100 of nanoGPT by default.
        compare: also runs the model's own method and logs both numbers.
    """

    def ours() -> float:
        config = Fields(self).inside("config")
        seconds = as_seconds("dt", dt)
        sequences = as_integer("fwdbwd_per_iter", fwdbwd_per_iter, least=0)
        flops = counted(read(config.source), convention, plan).equal(sequences, config.integer("block_size"))
        return flops * (1.0 / seconds) / _peak(accelerator)

    return _original.answer(
        ours,
        lambda method: float(method(self, fwdbwd_per_iter, dt)),
        own=convention == "nanogpt" and plan is None and accelerator == A100,
        compare=compare,
        number=float,
        find=lambda *, load: method_of(self, "estimate_mfu") if hasattr(self, "get_num_params") else None,
    )


def _peak(name: str) -> float:
    return accelerator(name).peak_tflops("bf16") * 1e12
