# SPDX-License-Identifier: Apache-2.0
"""Turns a trainer's FLOPs formula into a cost: weights that every token multiplies, and squares."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from .. import Cost, Error, Mask
from ._fields import Fields, as_lengths


def formula(name: str, weights: int, squares: int, windows: Iterable[tuple[int, int]] = ()) -> Cost:
    """Returns the Cost that counts like a trainer's FLOPs formula.

    weights: number of weights that each token multiplies. Each weight is 6 FLOPs in a step: three products of 2 FLOPs.
        squares: forward FLOPs for each of the n² pairs of a sequence. windows: (tokens, forward FLOPs for each attended
            pair).
    """
    rows: list[tuple[Any, ...]] = [("weights", "tokens", "linear", 2 * weights, weights)]
    if squares:
        rows.append(("attention.core", Mask.bidirectional(), "scores", squares))
    rows += [("attention.core", Mask.sliding_window(tokens), "scores", flops) for tokens, flops in windows if flops]
    return Cost.from_entries(rows, model_type=name)


def text_of(config: Any) -> Fields:
    """Returns the configuration of a model's text part, which may be inside the configuration of a multimodal model."""
    top = Fields(config)
    return top.inside("text_config") if top.get("text_config") is not None else top


def model_type_of(config: Any) -> str:
    return str(Fields(config).get("model_type"))


class Sizes:
    """The sizes of a transformers decoder, read from the model's configuration."""

    def __init__(self, config: Any, *, derived_head_dim: bool = False) -> None:
        self.fields = fields = text_of(config)
        self.hidden = fields.integer("hidden_size")
        self.layers = fields.integer("num_hidden_layers")
        self.heads = fields.integer("num_attention_heads")
        self.groups = fields.integer("num_key_value_heads", self.heads)
        self.vocabulary = fields.integer("vocab_size")
        otherwise = self.hidden // self.heads
        self.head_dim = otherwise if derived_head_dim else fields.integer("head_dim", otherwise)
        self.queries = self.heads * self.head_dim
        self.keys = self.groups * self.head_dim

    def attention(self) -> int:
        """Returns the number of weights in the four attention projections (q, k, v, o) of a layer."""
        return self.hidden * 2 * (self.queries + self.keys)

    def gated(self, width: int) -> int:
        return 3 * self.hidden * width

    def lm_head(self) -> int:
        return self.hidden * self.vocabulary


def mean_of_tokens(total: int, lengths: Any) -> int | float:
    """Returns `total` divided by the number of tokens of all sequences: an int if the quotient is whole, else a
    float."""
    tokens = sum(as_lengths("lengths", lengths))
    if tokens == 0:
        raise Error("lengths", "must add up to at least one token, got 0")
    mean = Fraction(total, tokens)
    return mean.numerator if mean.denominator == 1 else float(mean)
