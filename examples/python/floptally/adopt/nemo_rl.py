# SPDX-License-Identifier: Apache-2.0
"""Replaces NeMo-RL's ``nemo_rl.utils.flops_tracker.FLOPTracker``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import Convention, Cost, Error, Plan
from .._types import ConfigLike
from ._count import Count, cost
from ._fields import as_integer, as_lengths
from ._formula import Sizes, formula, model_type_of
from ._original import Original, Prepared

__all__ = ["FLOPTracker"]

_original = Original("NeMo-RL", "nemo_rl.utils.flops_tracker", "FLOPTracker")


class FLOPTracker:
    """Replaces NeMo-RL's FLOPs tracker. `total_flops` is the FLOPs of all sequences since `reset`.

    base_config, flops_formula: as for NeMo-RL's own tracker. With these arguments alone the tracker counts as NeMo-RL
        does.
    convention: NeMo-RL's own by default.
    plan: which weights train and what is recomputed.
    compare: also runs NeMo-RL's own tracker and logs both numbers.
    """

    def __init__(
        self, model_name: str, base_config: Any = None, flops_formula: Callable[[Any], float] | None = None
    ) -> None:
        self.model_name, self.base_config, self.flops_formula = model_name, base_config, flops_formula
        self.total_flops: float = 0
        self._config: Any = None
        self._count: Prepared[Count] | None = None
        self._own = True
        self._compare = False

    @classmethod
    def from_config(
        cls,
        model_name: str,
        config: ConfigLike,
        *,
        convention: str | Convention | None = None,
        plan: Plan | None = None,
        compare: bool = False,
    ) -> FLOPTracker:
        """Returns a tracker of the model that a config describes. Without a convention and a plan the tracker counts as
        NeMo-RL does."""
        tracker = cls(model_name)
        tracker._config, tracker._compare, tracker._own = config, compare, convention is None and plan is None
        tracker._count = _original.prepare(
            lambda: Count(_own(config) if convention is None else cost(config), convention or "exact", plan),
            own=tracker._own,
        )
        return tracker

    def track(self, n_samples: int, padded_seq_len: int) -> None:
        """Adds the FLOPs of n_samples sequences of padded_seq_len tokens each."""
        samples = as_integer("n_samples", n_samples)
        self._add([as_integer("padded_seq_len", padded_seq_len)], samples, lambda one: one.track(n_samples, padded_seq_len))

    def track_batch(self, sequence_lengths: list[int]) -> None:
        """Adds the FLOPs of sequences by their lengths in tokens."""
        self._add(as_lengths("sequence_lengths", sequence_lengths), 1, lambda one: one.track_batch(sequence_lengths))

    def reset(self) -> None:
        """Sets the FLOPs that were counted so far to zero."""
        self.total_flops = 0

    def _add(self, lengths: list[int], times: int, track: Callable[[Any], None]) -> None:
        def ours() -> float:
            if self._count is None:
                raise Error("flops_formula", "needs an installed NeMo-RL: install it, or create the tracker by from_config")
            return times * self._count.get().lengths(lengths)

        def theirs(original: Any) -> float:
            additional = (
                original(self.model_name, self.base_config, self.flops_formula)
                if self._count is None
                else original.from_config(self.model_name, self._config)
            )
            track(additional)
            return float(additional.total_flops)

        self.total_flops += _original.answer(ours, theirs, own=self._own, compare=self._compare, number=float)


def _own(config: ConfigLike) -> Cost:
    kind = model_type_of(config)
    if kind not in ("qwen2", "qwen3", "qwen3_moe", "llama", "deepseek_v3"):
        raise Error("model_type", f"NeMo-RL has no formula for {kind!r}: pass convention=\"exact\"")
    sizes = Sizes(config, derived_head_dim=kind == "llama")
    fields, hidden, layers = sizes.fields, sizes.hidden, sizes.layers
    if kind == "deepseek_v3":
        return _latent(sizes)
    feed = layers * sizes.gated(fields.integer("intermediate_size"))
    if kind == "qwen2":  # keys and values as wide as queries
        return formula("nemo_rl", 4 * layers * hidden * hidden + feed + sizes.lm_head(), 2 * layers * hidden)
    if kind == "llama":
        keys, rest = divmod(2 * hidden * hidden * sizes.groups, sizes.heads)
        if rest:
            raise Error(
                "num_attention_heads",
                f"must divide hidden_size x hidden_size x num_key_value_heads = {hidden * hidden * sizes.groups}, got {sizes.heads}",
            )
        weights = layers * (2 * hidden * hidden + keys) + feed + sizes.lm_head()
        return formula("nemo_rl", weights, 2 * layers * hidden)
    return formula("nemo_rl", layers * sizes.attention() + feed + sizes.lm_head(), 2 * layers * sizes.queries)


def _latent(sizes: Sizes) -> Cost:
    """Returns the cost of a model with latent attention by NeMo-RL's formula: every layer has experts, one of
    them shared, and multi-token prediction is not counted."""
    fields, hidden, heads = sizes.fields, sizes.hidden, sizes.heads
    nope, rope, value = (fields.integer(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    rank, keys = fields.integer("q_lora_rank", 0, least=0), fields.integer("kv_lora_rank")
    queries = (nope + rope) * heads
    weights = hidden * rank + rank * queries if rank else hidden * queries
    weights += hidden * rope + hidden * keys + keys * (nope + value) * heads + value * heads * hidden
    weights += (1 + fields.integer("num_experts_per_tok")) * sizes.gated(fields.integer("moe_intermediate_size"))
    return formula("nemo_rl", sizes.layers * weights + sizes.lm_head(), (nope + rope + value) * heads * sizes.layers)
