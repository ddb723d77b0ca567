# SPDX-License-Identifier: Apache-2.0
"""Megatron-Bridge: ``megatron.bridge.training.utils.flop_utils.num_floating_point_operations``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Error, Plan
from ._count import counted
from ._fields import Fields, as_integer, as_lengths
from ._megatron_model import read

__all__ = ["num_floating_point_operations"]


def num_floating_point_operations(
    cfg: Any,
    batch_size: int = 1,
    seqlen_sum: int | None = None,
    seqlen_squared_sum: int | None = None,
    num_vision_patches: int = 0,
    cross_seqlen_sum: int | None = None,
    cross_seqlen_product_sum: int | None = None,
    *,
    convention: str | Convention = "megatron_bridge",
    plan: Plan | None = None,
    lengths: Any = None,
) -> int:
    """FLOPs of one global batch of the language model that a ConfigContainer describes.

    Args:
        cfg: ``cfg.model`` is read.
        batch_size: sequences of ``cfg.model.seq_length`` tokens, where no sums are given.
        seqlen_sum: Σn over the sequences of the batch.
        seqlen_squared_sum: Σn² over them; without it all of them are n = Σn / batch_size.
        num_vision_patches: must be 0: Megatron-Bridge adds its vision towers by the sums of its own statistics.
        cross_seqlen_sum, cross_seqlen_product_sum: must be absent or 0, as they are for language models.
        convention: of the count; Megatron-Bridge's own by default.
        plan: what trains, where that is not all of it. Needed for an exact count where ``cfg.peft`` is set.
        lengths: n of each sequence, in place of all the sums: needed where windows make the pairs no sum of squares.
    """
    if num_vision_patches:
        raise Error(
            "num_vision_patches", f"does not say how images are divided: add the tower apart, got {num_vision_patches}"
        )
    for field, value in (
        ("cross_seqlen_sum", cross_seqlen_sum),
        ("cross_seqlen_product_sum", cross_seqlen_product_sum),
    ):
        if value:
            raise Error(field, f"is of models with cross attention, which are not read, got {value}")
    own = convention == "megatron_bridge"
    if getattr(cfg, "peft", None) is not None and plan is None and not own:
        raise Error("cfg.peft", "does not train everything: say what trains by plan=")
    fields = Fields(cfg, "cfg.").inside("model")
    for field in ("_get_num_floating_point_operations", "_get_num_floating_point_operations_with_runtime_stats"):
        if fields.get(field) is not None:
            raise Error(fields.name(field), "counts this model, which is no language model that is read")
    vocab_size = fields.integer("vocab_size")
    if own:
        unit = fields.integer("make_vocab_size_divisible_by", 128) * fields.integer("tensor_model_parallel_size", 1)
        vocab_size = -(-vocab_size // unit) * unit
    count = counted(read(fields.source, vocab_size=vocab_size, path="cfg.model."), convention, plan)
    if lengths is not None:
        return count.lengths(as_lengths("lengths", lengths))
    sequences = as_integer("batch_size", batch_size, least=0)
    if seqlen_sum is None:
        return count.equal(sequences, fields.integer("seq_length"))
    tokens = as_integer("seqlen_sum", seqlen_sum)
    if seqlen_squared_sum is None:
        if sequences == 0 or tokens % sequences:
            raise Error("seqlen_squared_sum", f"must be given: {tokens} tokens are not {sequences} equal sequences")
        return count.equal(sequences, tokens // sequences)
    return count.sums("seqlen_squared_sum", tokens, as_integer("seqlen_squared_sum", seqlen_squared_sum), sequences)
