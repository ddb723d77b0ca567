# SPDX-License-Identifier: Apache-2.0
"""Replaces NeMo Automodel's ``nemo_automodel.components.utils.flops_utils.get_flops_formula_for_hf_config``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Convention, Plan
from .._types import ConfigLike
from ._count import Count, cost
from ._fields import Fields, as_integer, as_lengths
from ._formula import model_type_of
from ._original import Original

__all__ = ["get_flops_formula_for_hf_config"]

#: The presets of Automodel's formulas by model type. All others are "nemo_automodel".
_PRESETS = {"nemotron_h": "nemo_automodel_hybrid", "gpt_oss": "exact", "step3p5": "exact"}
_original = Original("NeMo Automodel", "nemo_automodel.components.utils.flops_utils", "get_flops_formula_for_hf_config")


def get_flops_formula_for_hf_config(
    config: ConfigLike,
    *,
    convention: str | Convention | None = None,
    plan: Plan | None = None,
    compare: bool = False,
) -> Callable[..., int]:
    """Returns a function ``(config, gbs=1, seq_len=None)`` with the FLOPs of one step.

    Args:
        config: a configuration of transformers. Types without a formula in Automodel are counted too.
        convention: Automodel's own by default, counted by its own function. Without Automodel installed, or with
            `plan`, floptally counts by Automodel's formulas.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        compare: also runs Automodel's own function and logs both numbers.
    """
    first_config = config
    count = _original.prepare(
        lambda: _own(config, plan) if convention is None else Count(cost(config), convention, plan),
        own=convention is None and plan is None,
    )

    def formula(config: Any = config, gbs: int = 1, seq_len: int | None = None, *, lengths: Any = None) -> int:
        """Returns the FLOPs of one step over `gbs` sequences of `seq_len` tokens, or over sequences of `lengths`."""

        def ours() -> int:
            if lengths is not None:
                return count.get().lengths(as_lengths("lengths", lengths))
            tokens = Fields(config).integer("max_position_embeddings", 2048) if seq_len is None else seq_len
            return count.get().equal(as_integer("gbs", gbs, least=0), as_integer("seq_len", tokens))

        return _original.answer(
            ours,
            lambda original: round(float(original(first_config)(config, gbs=gbs, seq_len=seq_len))),
            own=convention is None and plan is None and lengths is None,
            compare=compare and lengths is None,
            number=float,
        )

    return formula


def _own(config: ConfigLike, plan: Plan | None) -> Count:
    """Returns floptally's count by Automodel's formulas. Used if Automodel is not installed, or if a plan was
    passed."""
    return Count(cost(config), _PRESETS.get(model_type_of(config), "nemo_automodel"), plan)
