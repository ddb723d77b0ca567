# SPDX-License-Identifier: Apache-2.0
"""Replaces Megatron-LM's ``megatron.training.training.num_floating_point_operations``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Plan
from ._count import counted
from ._fields import Fields, as_integer, as_lengths
from ._megatron_model import LM_NAMES, read
from ._original import Original

__all__ = ["num_floating_point_operations"]

_original = Original("Megatron-LM", "megatron.training.training", "num_floating_point_operations")


def num_floating_point_operations(
    args: Any,
    batch_size: int,
    seqlen_squared_sum_in_batch: float | None = None,
    total_real_tokens_in_batch: float | None = None,
    *,
    convention: str | Convention = "megatron",
    plan: Plan | None = None,
    lengths: Any = None,
    compare: bool = False,
) -> int:
    """Returns the FLOPs of one training step over a global batch.

    Args:
        args: Megatron's arguments.
        batch_size: sequences of ``args.seq_length`` tokens, if you pass no sums.
        seqlen_squared_sum_in_batch: Σn² over the real sequences of a packed batch.
        total_real_tokens_in_batch: Σn over the real sequences of a packed batch.
        convention: Megatron-LM's own by default.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        lengths: n of each sequence, instead of the sums. Needed if the model has windows, since their pairs do not
            follow from Σn².
        compare: also runs Megatron-LM's own function and logs both numbers.
    """
    sums = seqlen_squared_sum_in_batch, total_real_tokens_in_batch
    return _original.answer(
        lambda: _counted(args, batch_size, sums, convention, plan, lengths),
        lambda function: round(float(function(args, batch_size, *sums))),
        own=convention == "megatron" and plan is None and lengths is None,
        compare=compare,
        number=float,
    )


def _counted(
    args: Any,
    batch_size: int,
    sums: tuple[float | None, float | None],
    convention: str | Convention,
    plan: Plan | None,
    lengths: Any,
) -> int:
    fields = Fields(args)
    padded = fields.integer("padded_vocab_size")
    own = convention == "megatron"
    vocab_size = padded if own else fields.integer("vocab_size", padded)
    cost = read(args, vocab_size=vocab_size, names=LM_NAMES, own="megatron" if own else "")
    count = counted(cost, convention, plan)
    if lengths is not None:
        return count.lengths(as_lengths("lengths", lengths))
    sequences = as_integer("batch_size", batch_size, least=0)
    row = fields.integer("seq_length")
    squares, tokens = sums
    if squares is None and tokens is None:
        return count.equal(sequences, row)
    return count.sums(
        "seqlen_squared_sum_in_batch",
        as_integer("total_real_tokens_in_batch", sequences * row if tokens is None else tokens),
        as_integer("seqlen_squared_sum_in_batch", sequences * row * row if squares is None else squares),
    )
