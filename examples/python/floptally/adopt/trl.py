# SPDX-License-Identifier: Apache-2.0
"""Replaces ``compute_flops_per_token`` and ``adjusted_mfu`` of TRL's ``trl.trainer.utils``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost, Error, Plan
from .._types import ConfigLike
from ._count import Count, cost
from ._fields import as_integer, as_lengths
from ._formula import Sizes, formula, mean_of_tokens
from ._original import Original

__all__ = ["adjusted_mfu", "compute_flops_per_token"]

_original = Original("TRL", "trl.trainer.utils", "compute_flops_per_token")
_adjusted = Original("TRL", "trl.trainer.utils", "adjusted_mfu")


def compute_flops_per_token(
    config: ConfigLike,
    seq_len: int,
    *,
    convention: str | Convention | None = None,
    plan: Plan | None = None,
    lengths: Any = None,
    compare: bool = False,
) -> int | float:
    """Returns the FLOPs of one training step per token.

    Args:
        config: a configuration of transformers.
        seq_len: tokens of a sequence. For an AsyncGRPO batch: the mean over its sequences.
        convention: TRL's own by default.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        lengths: tokens of each sequence, instead of `seq_len`. The result is the mean over all tokens.
        compare: also runs TRL's own function and logs both numbers.
    """
    own = convention is None

    def ours() -> int | float:
        sequences = [as_integer("seq_len", seq_len, least=1)] if lengths is None else as_lengths("lengths", lengths)
        count = Count(_own(config), "exact", plan) if own else Count(cost(config), convention or "exact", plan)
        return mean_of_tokens(count.lengths(sequences), sequences)

    return _original.answer(
        ours,
        lambda function: int(function(config, seq_len)),
        own=own and plan is None and lengths is None,
        compare=compare,
        number=float,
    )


def adjusted_mfu(mfu: float, config: ConfigLike, seq_len: int, *, convention: str | Convention | None = None) -> float:
    """Corrects an MFU by `compute_flops_per_token` for causal attention: leaves out the masked half of the n² pairs.
    With a convention the MFU is returned unchanged, since an exact count has no masked pairs."""
    if convention is not None:
        return mfu

    def ours() -> float:
        whole = compute_flops_per_token(config, seq_len)
        sizes = Sizes(config)
        return mfu * (whole - 6 * sizes.layers * sizes.queries * seq_len) / whole

    return _adjusted.answer(
        ours, lambda function: float(function(mfu, config, seq_len)), own=True, compare=False, number=float
    )


def _own(config: ConfigLike) -> Cost:
    sizes = Sizes(config)
    fields = sizes.fields
    chosen = fields.get("num_experts_per_tok")
    if chosen is None:
        feeds = [sizes.gated(fields.integer("intermediate_size"))] * sizes.layers
    else:
        experts = fields.get("num_local_experts") or fields.get("num_experts")
        if experts is None:
            raise Error("num_local_experts", "is missing in the config, and so is num_experts: add one of them")
        routed = as_integer("num_experts_per_tok", chosen) * sizes.gated(fields.integer("moe_intermediate_size"))
        routed += sizes.hidden * as_integer("num_local_experts", experts)
        every, dense = fields.integer("decoder_sparse_step"), sizes.gated(fields.integer("intermediate_size"))
        feeds = [routed if i % every == 0 else dense for i in range(sizes.layers)]
    weights = sizes.layers * sizes.attention() + sum(feeds) + sizes.lm_head()
    return formula("trl", weights, 4 * sizes.layers * sizes.queries)
