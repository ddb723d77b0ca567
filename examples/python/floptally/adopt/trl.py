# SPDX-License-Identifier: Apache-2.0
"""TRL: ``compute_flops_per_token`` and ``adjusted_mfu`` of ``trl.trainer.utils``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost, Error, Plan, cost
from .._types import ConfigLike
from ._count import Count
from ._fields import as_integer, as_lengths
from ._formula import Sizes, formula, mean_of_tokens
from ._original import Original

__all__ = ["adjusted_mfu", "compute_flops_per_token"]

_original = Original("TRL", "trl.trainer.utils", "compute_flops_per_token")


def compute_flops_per_token(
    config: ConfigLike,
    seq_len: int,
    *,
    convention: str | Convention | None = None,
    plan: Plan | None = None,
    lengths: Any = None,
    compare: bool = False,
) -> int | float:
    """FLOPs of a step for each token.

    Args:
        config: a configuration of transformers.
        seq_len: tokens of a sequence; of an AsyncGRPO batch their mean.
        convention: of the count; TRL's own by default.
        plan: what trains and what runs again, where that is not all and nothing.
        lengths: tokens of each sequence, in place of `seq_len`: the mean over all tokens.
        compare: runs TRL's own beside it and logs both.
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
    """An MFU of `compute_flops_per_token` with half of the square. One of a convention is what it is: an exact count has
    the causal pairs already."""
    if convention is not None:
        return mfu
    whole = compute_flops_per_token(config, seq_len)
    sizes = Sizes(config)
    return mfu * (whole - 6 * sizes.layers * sizes.queries * seq_len) / whole


def _own(config: ConfigLike) -> Cost:
    sizes = Sizes(config)
    fields = sizes.fields
    chosen = fields.get("num_experts_per_tok")
    if chosen is None:
        feeds = [sizes.gated(fields.integer("intermediate_size"))] * sizes.layers
    else:
        experts = fields.get("num_local_experts") or fields.get("num_experts")
        if experts is None:
            raise Error("num_local_experts", "must be given, or num_experts: config has none")
        routed = as_integer("num_experts_per_tok", chosen) * sizes.gated(fields.integer("moe_intermediate_size"))
        routed += sizes.hidden * as_integer("num_local_experts", experts)
        every, dense = fields.integer("decoder_sparse_step"), sizes.gated(fields.integer("intermediate_size"))
        feeds = [routed if i % every == 0 else dense for i in range(sizes.layers)]
    weights = sizes.layers * sizes.attention() + sum(feeds) + sizes.words()
    return formula("trl", weights, 4 * sizes.layers * sizes.queries)
