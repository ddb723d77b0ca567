# SPDX-License-Identifier: Apache-2.0
"""The tokens whose logits a forward computes, where these are not all."""

from __future__ import annotations

import sys
from typing import Any


def scored_tokens(model: Any, inputs: dict[str, Any]) -> Any:
    """Returns (real tokens, tokens with padding) that the lm_head computes logits for. The two numbers may be on a GPU.
    None if the lm_head runs on all tokens.

    inputs: the forward's inputs by name. TRL's `fused_lm_head` computes logits only at positions with a label, on a GPU.
        transformers' `logits_to_keep` is a number of last positions of each row, or a list of positions.
    """
    if inputs.get("fused_lm_head") and _is_compact(inputs):
        labels = inputs.get("shift_labels")
        labels = inputs["labels"][:, 1:] if labels is None else labels
        scored = (labels != -100).sum()
        return scored, scored
    logits_to_keep = inputs.get("logits_to_keep")
    if logits_to_keep is None or (isinstance(logits_to_keep, int) and logits_to_keep == 0):
        return None
    tokens = next((inputs[name] for name in ("input_ids", "inputs_embeds") if inputs.get(name) is not None), None)
    if tokens is None:
        return None
    rows, slots = int(tokens.shape[0]), int(tokens.shape[1])
    mask = inputs.get("attention_mask")
    mask = mask if mask is not None and getattr(mask, "ndim", 0) == 2 and mask.shape[1] == slots else None
    if isinstance(logits_to_keep, int):
        logits_to_keep = min(logits_to_keep, slots)
        real = rows * logits_to_keep if mask is None else (mask[:, slots - logits_to_keep :] > 0).sum()
        return real, rows * logits_to_keep
    if getattr(logits_to_keep, "dtype", None) is not None and str(logits_to_keep.dtype).endswith("bool"):
        return logits_to_keep.sum() * rows, logits_to_keep.sum() * rows
    return rows * len(logits_to_keep) if mask is None else (mask[:, logits_to_keep] > 0).sum(), rows * len(logits_to_keep)


def _is_compact(inputs: dict[str, Any]) -> bool:
    """True if TRL's fused lm_head computes logits only at positions with a label. It does so only on some devices."""
    trl = sys.modules.get("trl.trainer.utils")
    uses_triton = getattr(trl, "_use_triton", None)
    labels = inputs.get("labels") if inputs.get("shift_labels") is None else inputs["shift_labels"]
    return labels is not None and (uses_triton is None or bool(uses_triton(labels.device)))
