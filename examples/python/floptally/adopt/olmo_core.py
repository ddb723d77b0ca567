# SPDX-License-Identifier: Apache-2.0
"""Replaces ``num_flops_per_token`` of OLMo-core's ``Transformer``. ``SpeedMonitorCallback`` multiplies the result by
tokens."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost, Error, Plan
from ._count import Count
from ._fields import Fields, as_integer, as_lengths
from ._formula import mean_of_tokens
from ._model import Model, Part
from ._original import Original, method_of

__all__ = ["num_flops_per_token", "read"]

_original = Original("OLMo-core", "olmo_core.nn.transformer.model", "Transformer")


def num_flops_per_token(
    self: Any,
    seq_len: int,
    *,
    convention: str | Convention | None = None,
    plan: Plan | None = None,
    lengths: Any = None,
    compare: bool = False,
) -> int | float:
    """Returns the FLOPs of one training step per token. Use it as a function, or in place of the model's method.

    Args:
        self: a Transformer of OLMo-core.
        seq_len: tokens of each row of the batch.
        convention: OLMo-core's own by default.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        lengths: tokens of each document (`doc_lens` of a batch), instead of `seq_len`.
        compare: also runs OLMo-core's own method and logs both numbers.
    """
    own = convention is None and plan is None and lengths is None

    def ours() -> int | float:
        sequences = [as_integer("seq_len", seq_len, least=1)] if lengths is None else as_lengths("lengths", lengths)
        if convention is None and plan is None:
            return sum(_own(self, tokens) * tokens for tokens in sequences) / max(sum(sequences), 1)
        count = Count(read(self), convention if convention is not None else "exact", plan)
        return mean_of_tokens(count.lengths(sequences), sequences)

    return _original.answer(
        ours,
        lambda method: int(method(self, seq_len)),
        own=own,
        compare=compare,
        number=float,
        find=lambda *, load: method_of(self, "num_flops_per_token"),
    )


def _own(model: Any, tokens: int) -> int:
    """Returns the FLOPs by OLMo-core's formula: 6 per token for every parameter of the blocks' mixers and MLPs and of
    the lm_head, norms included. Every token attends as many keys as the whole window has."""
    total = 6 * _numel(model.lm_head) if model.lm_head is not None else 0
    for i, block in enumerate(model.blocks.values()):
        mixer = block.attention
        if not hasattr(mixer, "n_heads"):
            raise Error(f"blocks[{i}].attention", f"must have n_heads, got {type(mixer).__name__}: install OLMo-core, or pass convention=\"exact\"")
        seen = min(getattr(mixer, "window_size", None) or tokens, tokens)
        width = getattr(mixer, "head_dim", None) or model.d_model // mixer.n_heads
        total += 6 * _numel(mixer) + 12 * mixer.n_heads * width * seen
        experts = getattr(block, "feed_forward_moe", None)
        if experts is None:
            total += 6 * _numel(block.feed_forward)
            continue
        total += 6 * _numel(experts.router)
        if experts.shared_mlp is not None:
            total += 6 * _numel(experts.shared_mlp)
        inner = experts.experts
        total += 6 * int(_numel(inner.mlp) * inner.top_k / inner.num_experts)
    return total


def _numel(module: Any) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def read(model: Any) -> Cost:
    """Returns the cost of an OLMo-core Transformer. Supports grouped-query attention, sliding windows, gated MLPs and
    experts."""
    width = as_integer("d_model", model.d_model, least=1)
    described = Model("olmo_core", hidden_size=width, vocab_size=as_integer("vocab_size", model.vocab_size, least=1))
    norms = 0
    for i, block in enumerate(model.blocks.values()):
        described.layer(_attention(block.attention, width, i), *_feed_forward(block, i))
        norms += sum(parameter.numel() for name, parameter in block.named_parameters() if "norm" in name)
    norms += sum(parameter.numel() for name, parameter in model.lm_head.named_parameters() if "norm" in name)
    described.weights("norm", norms)
    cost = described.cost()
    stored = _numel(model)
    if stored != cost.parameters:
        raise Error(
            "model", f"has {stored} parameters, but floptally finds {cost.parameters} in its modules: leave convention= and plan= out"
        )
    return cost


def _attention(mixer: Any, width: int, i: int) -> Part:
    name = f"blocks[{i}].attention."
    fields = Fields(mixer, name)
    if getattr(mixer, "w_g", None) is not None:
        raise Error(f"{name}w_g", "is a gate, which floptally cannot read: leave convention= and plan= out")
    if not hasattr(mixer, "w_q"):
        raise Error(name[:-1], f"has no exact formula here, got {type(mixer).__name__}; leave convention= and plan= out")
    heads = fields.integer("n_heads")
    part: Part = {
        "type": "attention", "num_heads": heads, "num_kv_heads": fields.integer("n_kv_heads", heads),
        "head_dim": fields.integer("head_dim", width // heads),
    }  # fmt: skip
    window = fields.get("window_size")
    if window is not None and not isinstance(window, int):
        raise Error(f"{name}window_size", f"must be a number of tokens, got {window!r}")
    if window:
        part["mask"] = {"sliding_window": window}
    return part


def _feed_forward(block: Any, i: int) -> list[Part]:
    experts = getattr(block, "feed_forward_moe", None)
    if experts is None:
        return [{"type": "mlp", "intermediate_size": as_integer(f"blocks[{i}].feed_forward.hidden_size", block.feed_forward.hidden_size, least=1)}]
    inner = experts.experts
    part: Part = {
        "type": "moe", "num_experts": as_integer("num_experts", inner.num_experts, least=1),
        "num_experts_per_tok": as_integer("top_k", inner.top_k, least=1),
        "intermediate_size": as_integer("hidden_size", inner.mlp.hidden_size, least=1),
    }  # fmt: skip
    if experts.shared_mlp is not None:
        part["shared_intermediate_size"] = as_integer("hidden_size", experts.shared_mlp.hidden_size, least=1)
    return [part]
