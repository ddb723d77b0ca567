# SPDX-License-Identifier: Apache-2.0
"""Replaces ``get_nparams_and_flops`` of torchtitan's model configs, and the FLOPs per token of its metrics."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from fractions import Fraction
from typing import Any

from .. import Convention, Cost, Error, Plan
from ._count import Count, counted
from ._fields import Fields, as_integer, as_lengths
from ._model import Model, Part
from ._original import Original, method_of

__all__ = ["flops_per_token", "get_nparams_and_flops", "read"]


_original = Original("torchtitan", "torchtitan.protocols.model", "BaseModel")


def get_nparams_and_flops(
    self: Any,
    model: Any,
    seq_len: int,
    *,
    convention: str | Convention = "torchtitan",
    plan: Plan | None = None,
    compare: bool = False,
) -> tuple[int, int | float]:
    """Returns (number of parameters, training FLOPs per token). Use it as a function, or in place of the method of a
    model's Config.

    Args:
        self: the model's config.
        model: the whole model. Its parameters are counted and must equal those of the config.
        seq_len: tokens of a sequence.
        convention: torchtitan's own by default.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        compare: also runs the config's own method and logs both numbers.
    """

    def theirs(method: Any) -> tuple[int, int | float]:
        parameters, flops = method(self, model, seq_len)
        return parameters, flops

    return _original.answer(
        lambda: _counted(self, model, seq_len, convention, plan),
        theirs,
        own=convention == "torchtitan" and plan is None,
        compare=compare,
        number=lambda found: float(found[1]),
        find=lambda *, load: method_of(self, "get_nparams_and_flops"),
    )


def _counted(
    config: Any, model: Any, seq_len: int, convention: str | Convention, plan: Plan | None
) -> tuple[int, int | float]:
    count = counted(read(config), convention, plan)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    if parameters != count.cost.parameters:
        raise Error(
            "model", f"must have the {count.cost.parameters} parameters that its config describes, got {parameters}: pass the model's own config"
        )
    return parameters, _per_token(count, [as_integer("seq_len", seq_len, least=1)])


def flops_per_token(
    model_config: Any, lengths: Any, *, convention: str | Convention = "torchtitan", plan: Plan | None = None
) -> int | float:
    """Returns the mean training FLOPs per token over sequences of these lengths. torchtitan's metrics multiply the
    result by tokens per second:

        metrics_processor.num_flops_per_token = flops_per_token(model_config, lengths, convention="exact")
    """
    return _per_token(counted(read(model_config), convention, plan), as_lengths("lengths", lengths))


def _per_token(count: Count, lengths: list[int]) -> int | float:
    tokens = sum(lengths)
    if tokens == 0:
        raise Error("lengths", "must add up to at least one token, got 0")
    mean = Fraction(count.lengths(lengths), tokens)
    return mean.numerator if mean.denominator == 1 else float(mean)


def read(config: Any) -> Cost:
    """Returns the cost of the decoder that a torchtitan config describes. Supports attention, MLPs and experts."""
    top = Fields(config, "config.")
    model = Model(
        "torchtitan", hidden_size=top.integer("dim"), vocab_size=top.integer("vocab_size"),
        tied=top.flag("enable_weight_tying"),
    )  # fmt: skip
    layers = top.get("layers")
    if not layers:
        raise Error("config.layers", f"must have at least one layer, got {layers!r}")
    for i, layer in enumerate(layers):
        fields = Fields(layer, f"config.layers[{i}].")
        model.layer(_attention(fields.inside("attention"), top.integer("dim")), _feed_forward(fields))
        model.weights("bias", *_expert_biases(fields))
    for kind, parameters in _elementwise(config):
        model.weights(kind, parameters)
    return model.cost()


def _attention(fields: Fields, width: int) -> Part:
    heads = fields.integer("n_heads")
    if fields.get("kv_lora_rank") is not None:
        return {
            "type": "mla",
            "num_heads": heads,
            "q_lora_rank": fields.integer("q_lora_rank", 0, least=0),
            "kv_lora_rank": fields.integer("kv_lora_rank"),
            "qk_nope_head_dim": fields.integer("qk_nope_head_dim"),
            "qk_rope_head_dim": fields.integer("qk_rope_head_dim"),
            "v_head_dim": fields.integer("v_head_dim"),
        }
    part: Part = {
        "type": "attention", "num_heads": heads, "num_kv_heads": fields.integer("n_kv_heads", heads),
        "head_dim": fields.integer("head_dim", width // heads),
    }  # fmt: skip
    window = fields.integer("sliding_window_size", 0, least=0)
    if window:
        part["mask"] = {"sliding_window": window}
    return part


def _feed_forward(layer: Fields) -> Part:
    if layer.get("moe") is None:
        return {"type": "mlp", "intermediate_size": _width(layer.inside("feed_forward"))}
    moe = layer.inside("moe")
    part: Part = {
        "type": "moe",
        "num_experts": moe.integer("num_experts"),
        "num_experts_per_tok": moe.inside("router").integer("top_k"),
        "intermediate_size": moe.inside("routed_experts").inside("inner_experts").integer("hidden_dim"),
    }
    if moe.get("shared_experts") is not None:
        part["shared_intermediate_size"] = _width(moe.inside("shared_experts"))
    return part


def _expert_biases(layer: Fields) -> tuple[int, int]:
    """Returns (biases of all experts of a layer, biases of the experts that one token uses). Only gpt-oss's experts
    have biases; (0, 0) for all others."""
    if layer.get("moe") is None:
        return 0, 0
    moe = layer.inside("moe")
    experts = moe.inside("routed_experts").inside("inner_experts")
    if not type(experts.source).__qualname__.startswith("GptOss"):
        return 0, 0
    each = 2 * experts.integer("hidden_dim") + experts.integer("dim")
    return each * moe.integer("num_experts"), each * moe.inside("router").integer("top_k")


def _width(mlp: Fields) -> int:
    return mlp.inside("w1").integer("out_features")


def _elementwise(config: Any) -> list[tuple[str, int]]:
    """Returns how many weights all norms, biases and attention sinks have in a config and the configs inside it."""
    found: list[tuple[str, int]] = []
    if isinstance(config, (list, tuple)):
        for one in config:
            found += _elementwise(one)
    elif is_dataclass(config):
        shape = getattr(config, "normalized_shape", None)
        if shape is not None:
            found.append(("norm", shape if isinstance(shape, int) else shape[-1]))
        if getattr(config, "bias", False) is True and hasattr(config, "out_features"):
            found.append(("bias", config.out_features))
        if hasattr(config, "sliding_window_size"):  # gpt-oss: one sink a head
            found.append(("bias", Fields(config).integer("n_heads")))
        for field in dataclass_fields(config):
            if field.name == "q_norm" and getattr(config, "q_lora_rank", None) == 0:
                continue  # full-rank queries have no norm
            times = 2 if field.name in ("wkv", "qk_norm") else 1  # one config for two modules
            found += times * _elementwise(getattr(config, field.name))
    return found
