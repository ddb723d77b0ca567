# SPDX-License-Identifier: Apache-2.0
"""NeMo Automodel: ``nemo_automodel.components.utils.flops_utils.get_flops_formula_for_hf_config``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Convention, Cost, Plan, cost
from .._types import ConfigLike
from ._count import Count
from ._fields import Fields, as_integer, as_lengths

__all__ = ["get_flops_formula_for_hf_config"]

#: Its formulas that are not as of any other type: of hybrids with routers, of gpt-oss the attended pairs without them.
HYBRIDS = ("nemotron_h",)
ATTENDED = ("gpt_oss",)


def get_flops_formula_for_hf_config(
    config: ConfigLike, *, convention: str | Convention | None = None, plan: Plan | None = None
) -> Callable[..., int]:
    """A function ``(config, gbs=1, seq_len=None)`` with the FLOPs of one step.

    Args:
        config: a configuration of transformers. Types that Automodel has no formula for are counted too.
        convention: of the count; that of Automodel's formula by default.
        plan: what trains and what runs again, where that is not all and nothing.
    """
    count = _own(cost(config), plan) if convention is None else Count(cost(config), convention, plan)

    def formula(config: Any = config, gbs: int = 1, seq_len: int | None = None, *, lengths: Any = None) -> int:
        """FLOPs of `gbs` sequences of `seq_len` tokens, or of sequences of `lengths`."""
        if lengths is not None:
            return count.lengths(as_lengths("lengths", lengths))
        tokens = Fields(config).integer("max_position_embeddings", 2048) if seq_len is None else seq_len
        return count.equal(as_integer("gbs", gbs, least=0), as_integer("seq_len", tokens))

    return formula


def _own(model: Cost, plan: Plan | None) -> Count:
    if model.model_type in ATTENDED:
        rows = [row for row in model.rows if row.kind != "router"]
        return Count(Cost.from_rows(rows, model_type=model.model_type, notes=model.notes), "exact", plan)
    return Count(model, "nemo_automodel_hybrid" if model.model_type in HYBRIDS else "nemo_automodel", plan)
