# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM: ``megatron.training.training.num_floating_point_operations``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Plan
from ._count import counted
from ._fields import Fields, as_integer, as_lengths
from ._megatron_model import LM_NAMES, read

__all__ = ["num_floating_point_operations"]


def num_floating_point_operations(
    args: Any,
    batch_size: int,
    seqlen_squared_sum_in_batch: float | None = None,
    total_real_tokens_in_batch: float | None = None,
    *,
    convention: str | Convention = "megatron",
    plan: Plan | None = None,
    lengths: Any = None,
) -> int:
    """FLOPs of one global batch.

    Args:
        args: Megatron's arguments.
        batch_size: sequences of ``args.seq_length`` tokens, where no sums are given.
        seqlen_squared_sum_in_batch: Σn² over the real sequences of a packed batch.
        total_real_tokens_in_batch: Σn over them.
        convention: of the count; Megatron-LM's own by default.
        plan: what trains and what runs again, where that is not all and nothing.
        lengths: n of each sequence, in place of all the sums: needed where windows make the pairs no sum of squares.
    """
    fields = Fields(args)
    padded = fields.integer("padded_vocab_size")
    vocab_size = padded if convention == "megatron" else fields.integer("vocab_size", padded)
    count = counted(read(args, vocab_size=vocab_size, names=LM_NAMES), convention, plan)
    if lengths is not None:
        return count.lengths(as_lengths("lengths", lengths))
    sequences = as_integer("batch_size", batch_size, least=0)
    if seqlen_squared_sum_in_batch is None and total_real_tokens_in_batch is None:
        return count.equal(sequences, fields.integer("seq_length"))
    row = fields.integer("seq_length")
    tokens = sequences * row if total_real_tokens_in_batch is None else total_real_tokens_in_batch
    squares = sequences * row * row if seqlen_squared_sum_in_batch is None else seqlen_squared_sum_in_batch
    return count.sums(
        "seqlen_squared_sum_in_batch",
        as_integer("total_real_tokens_in_batch", tokens),
        as_integer("seqlen_squared_sum_in_batch", squares),
    )
