# SPDX-License-Identifier: Apache-2.0
"""Replaces slime's ``slime.utils.flops_utils.calculate_fwd_flops``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost, Plan
from ._count import counted
from ._fields import Fields, as_lengths
from ._formula import formula
from ._megatron_model import LM_NAMES, read
from ._original import Original

__all__ = ["calculate_fwd_flops"]

_original = Original("slime", "slime.utils.flops_utils", "calculate_fwd_flops")
_FORWARD = Plan(phase="forward")


def calculate_fwd_flops(
    seqlens: Any, args: Any, *, convention: str | Convention | None = None, compare: bool = False
) -> float:
    """Returns the FLOPs of one forward pass over these sequences.

    Args:
        seqlens: tokens of each sequence: `total_lengths` of a rollout.
        args: Megatron's arguments.
        convention: slime's own by default.
        compare: also runs slime's own function and logs both numbers.
    """
    return _original.answer(
        lambda: forward_flops(seqlens, args, convention, latent=bool(Fields(args).get("multi_latent_attention"))),
        lambda function: float(function(as_lengths("", seqlens), args)),
        own=convention is None,
        compare=compare,
        number=float,
    )


def forward_flops(seqlens: Any, args: Any, convention: str | Convention | None, *, latent: bool) -> float:
    """Returns the FLOPs of one forward pass of the model that Megatron's arguments describe. Without a convention,
    slime's own formula counts."""
    lengths = as_lengths("seqlens", seqlens)
    if convention is None:
        return counted(_own(args, latent), "exact", _FORWARD).lengths(lengths)
    fields = Fields(args)
    model = read(args, vocab_size=fields.integer("vocab_size"), names=LM_NAMES, own="")
    return counted(model, convention, _FORWARD).lengths(lengths)


_costs: dict[tuple[int, ...], Cost] = {}


def _own(args: Any, latent: bool) -> Cost:
    """Returns the cost by slime's formula: the output projection has hidden_size² weights whatever the heads are, and
    routers and windows are not counted."""
    fields = Fields(args)
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    layers, width = fields.integer("num_layers"), fields.get("kv_channels")
    if latent:
        nope, rope = fields.integer("qk_head_dim", 0, least=0), fields.integer("qk_pos_emb_head_dim", 0, least=0)
        value = fields.integer("v_head_dim", 0, least=0)
        rank, keys = fields.get("q_lora_rank"), fields.get("kv_lora_rank")
        query = (nope + rope) * heads
        attention = hidden * query if rank is None else rank * (hidden + query)
        if keys is None:
            attention += 2 * hidden * fields.integer("num_query_groups") * fields.integer("kv_channels")
        else:
            attention += keys * (hidden + heads * (nope + value)) + hidden * rope
        squares = heads * (nope + rope + value)
    else:
        width = fields.integer("kv_channels")
        attention = hidden * width * (heads + 2 * fields.integer("num_query_groups"))
        squares = 2 * heads * width
    attention += hidden * hidden
    weights = hidden * fields.integer("vocab_size")
    for wide in _widths(fields, layers):
        weights += attention + 3 * hidden * wide
    key = (weights, layers * squares)
    if key not in _costs:
        _costs[key] = formula("slime", *key)
    return _costs[key]


def _widths(fields: Fields, layers: int) -> list[int]:
    """Returns the width of the MLP of each layer. In a layer with experts: the sum of the widths of the experts that
    one token uses, shared ones included."""
    if fields.get("num_experts") is None:
        return [fields.integer("ffn_hidden_size")] * layers
    experts = fields.integer("moe_ffn_hidden_size") * fields.integer("moe_router_topk")
    experts += fields.integer("moe_shared_expert_intermediate_size", 0, least=0)
    frequency = fields.get("moe_layer_freq")
    if frequency is None:
        return [experts] * layers
    if isinstance(frequency, int):
        chosen = [i % frequency == 0 for i in range(layers)]
    else:
        chosen = [one > 0 for one in frequency]  # one entry for each layer
    return [experts if has_experts else fields.integer("ffn_hidden_size") for has_experts in chosen]
