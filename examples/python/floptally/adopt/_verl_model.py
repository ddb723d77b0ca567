# SPDX-License-Identifier: Apache-2.0
"""What verl's formulas read of a configuration, for models that the formulas do not count in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Cost
from ._count import cost

#: Model types of verl's formula for dense models. It ignores windows.
_DENSE = ("qwen2", "llama", "qwen3", "mistral", "seed_oss", "mimo", "minicpmv", "minicpmo", "glm4v", "apertus")
#: Model types whose images verl counts, all by one formula.
_TOWERS = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
#: Model types whose head dim verl assumes to be hidden_size / num_attention_heads.
_DERIVED_HEAD_DIM = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl")
_EVERY_LAYER_HAS_EXPERTS = {"mlp_only_layers": [], "decoder_sparse_step": 1}


def described(config: Any) -> dict[str, Any]:
    """Returns a model's configuration as a dict. Empty if a model or the name of a model was passed instead."""
    if isinstance(config, dict):
        return config
    return dict(config.to_dict()) if hasattr(config, "to_dict") else {}


def as_verl_counts(config: Any) -> Cost:
    """Returns the Cost that counts like verl's own FLOPs formula for this model type."""
    fields = described(config)
    kind = fields.get("model_type")
    changes: dict[str, Any] = {}
    if kind in _DENSE or kind in _DERIVED_HEAD_DIM or kind in ("qwen2_moe", "qwen3_moe", "qwen3_vl_moe"):
        changes.update(sliding_window=None, use_sliding_window=False, layer_types=None)
    if kind in ("qwen2_moe", "qwen3_moe", "qwen3_vl_moe"):
        changes.update(_EVERY_LAYER_HAS_EXPERTS)
    if kind == "hy_v3":
        sparse = ["sparse"] * int(fields.get("num_hidden_layers") or 0)
        changes.update(first_k_dense_replace=0, mlp_layer_types=sparse)
    inside = fields.get("text_config")
    text: dict[str, Any] = inside if isinstance(inside, dict) else fields
    if kind in _DERIVED_HEAD_DIM and text.get("num_attention_heads"):
        changes["head_dim"] = text["hidden_size"] // text["num_attention_heads"]
    if not changes:
        return cost(config)
    changed = {**text, **{key: value for key, value in changes.items() if key in text or value is not None}}
    changed = {key: value for key, value in changed.items() if value is not None or key not in changes}
    model: Cost = cost(changed if text is fields else {**fields, "text_config": changed})
    if kind == "qwen2_moe":  # the formula lacks the shared expert and its gate
        rows = [row for row in model.entries if not row.component.startswith("moe.shared")]
        return Cost.from_entries(rows, model_type=model.model_type, notes=model.notes)
    if kind == "apertus":  # norms of queries and keys are matrices there
        head_dim = text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"]
        norms = text["hidden_size"] + text["num_key_value_heads"] * head_dim
        layers = text["num_hidden_layers"]
        return model + Cost.from_entries([("attention.qkv", "tokens", "linear", 2 * layers * norms, layers * norms)])
    return model


def tower_flops(config: Any, images: Sequence[int]) -> int | None:
    """Returns the FLOPs of one training step of the vision tower by verl's formula. 0 for model types whose images verl
    ignores. None if the configuration lacks a size that the formula needs."""
    fields = described(config)
    if fields.get("model_type") not in _TOWERS:
        return 0
    vision = fields.get("vision_config") or {}
    names = (
        "hidden_size", "intermediate_size", "out_hidden_size", "depth", "num_heads", "spatial_merge_size",
        "in_channels", "temporal_patch_size", "patch_size",
    )  # fmt: skip
    if any(not isinstance(vision.get(name), int) for name in names):
        return None
    width, inner, out, depth, heads, side, channels, frames, patch = (vision[name] for name in names)
    cell = width * side**2
    mergers = 1 + len(vision.get("deepstack_visual_indexes") or ())
    weights = width * channels * frames * patch**2 + depth * (2 * width * inner + 4 * width**2)
    weights += mergers * (out + cell) * cell
    squares = sum(patches * patches for patches in images)
    return int(6 * weights * sum(images) + 12 * (width // heads) * heads * depth * squares)
