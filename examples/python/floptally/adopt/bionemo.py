# SPDX-License-Identifier: Apache-2.0
"""Replaces the FLOPs functions in ``perf_logger.py`` of BioNeMo's recipes. Their ``PerfLogger`` multiplies the results
by the tokens and by the squared lengths of a batch."""

from __future__ import annotations

from typing import Any

from .. import Convention, Error
from ._count import Count, cost
from ._fields import Fields
from ._original import Original

__all__ = ["_attn_work_from_batch", "_compute_attn_flop_coeff", "_compute_non_attn_per_token_flops"]

_GATED = ("llama", "mistral", "qwen2")
_per_token = Original("BioNeMo", "perf_logger", "_compute_non_attn_per_token_flops")
_squares = Original("BioNeMo", "perf_logger", "_compute_attn_flop_coeff")


def _compute_non_attn_per_token_flops(
    model_config_dict: dict[str, Any],
    use_padded_vocab: bool = False,
    *,
    convention: str | Convention | None = None,
    compare: bool = False,
) -> int:
    """Returns the FLOPs of a step for each token, without the FLOPs that grow with the square of a sequence's length
    (Σn²).

    Args:
        model_config_dict: the configuration as a dict.
        use_padded_vocab: counts the lm_head as kernels run it.
        convention: BioNeMo's own by default. If a convention counts causal pairs, (n² + n)/2 for n tokens, the part
            n/2 is counted here and the part n²/2 in the factor of Σn².
        compare: also runs BioNeMo's own function and logs both numbers.
    """
    return _per_token.answer(
        lambda: _own(model_config_dict, use_padded_vocab) if convention is None
        else _linear(model_config_dict, convention, use_padded_vocab)[0],
        lambda function: int(function(model_config_dict, use_padded_vocab)),
        own=convention is None,
        compare=compare,
        number=float,
    )  # fmt: skip


def _compute_attn_flop_coeff(
    model_config_dict: dict[str, Any], *, convention: str | Convention | None = None, compare: bool = False
) -> int:
    """Returns the FLOPs of a step for each unit of Σn² over the lengths n."""

    def own() -> int:
        fields = Fields(model_config_dict)
        return 12 * fields.integer("num_hidden_layers") * fields.integer("hidden_size")

    return _squares.answer(
        lambda: own() if convention is None else _linear(model_config_dict, convention, False)[1],
        lambda function: int(function(model_config_dict)),
        own=convention is None,
        compare=compare,
        number=float,
    )


def _attn_work_from_batch(batch: Any, device: Any = None, cp_size: int = 1, include_padding: bool = False) -> Any:
    """Returns Σn² over the whole sequences of a batch, as a tensor of one int64.

    Equals BioNeMo's own function for all batches that BioNeMo supports. `cu_seq_lens_q_real` or `num_real_seqs`
    says which sequences are real if `pad_to_multiple_of` appended a mock sequence to `cu_seq_lens_q`. Without padding,
    only real sequences count.
    """
    import torch

    names = ("cu_seq_lens_q_padded", "cu_seq_lens_q") if include_padding else ("cu_seq_lens_q_real", "cu_seq_lens_q")
    boundaries = next((batch[name] for name in names if batch.get(name) is not None), None)
    mask = None if include_padding else batch.get("attention_mask")
    if boundaries is None and mask is not None:
        rows = mask.sum(dim=-1).to(torch.int64)
        return (rows * rows).sum() * cp_size * cp_size
    if boundaries is None and not include_padding:
        boundaries = batch.get("cu_seq_lens_q_padded")
    if boundaries is None:
        rows, tokens = int(batch["input_ids"].shape[0]), int(batch["input_ids"].shape[-1])
        return torch.tensor(rows * tokens * tokens * cp_size * cp_size, dtype=torch.int64, device=device)
    lengths = (boundaries[1:] - boundaries[:-1]).to(torch.int64)
    real = None if include_padding else batch.get("num_real_seqs")
    if real is not None:
        lengths = lengths * (torch.arange(lengths.numel(), device=lengths.device) < real)
    return (lengths * lengths).sum()


def _own(config: dict[str, Any], padded: bool) -> int:
    fields = Fields(config)
    hidden, heads = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    keys = fields.integer("num_key_value_heads", heads) * (hidden // heads)
    matrices = 3 if config.get("model_type") in _GATED else 2
    words = fields.integer("vocab_size", 0, least=0)
    words = (fields.integer("padded_vocab_size", 0, least=0) or words) if padded else words
    layer = 4 * hidden * hidden + 4 * hidden * keys + 2 * matrices * hidden * fields.integer("intermediate_size")
    return 3 * (fields.integer("num_hidden_layers") * layer + 2 * hidden * words)


def _linear(config: dict[str, Any], convention: str | Convention, padded: bool) -> tuple[int, int]:
    """Returns (a, b), such that the FLOPs are a·Σn + b·Σn² over the lengths n. Error if a window limits the attended
    pairs or a term counts sequences, since no such ints then exist.

    padded: True counts all slots, with the padded vocabulary of the lm_head.
    """
    words = Fields(config).integer("padded_vocab_size", 0, least=0) if padded else 0
    count = Count(cost(config, padded_vocab_size=words) if words else cost(config), convention)
    view = "padded" if padded else "useful"

    def total(*lengths: int) -> int:
        return int(count.cost.total_flops(lengths=list(lengths), convention=convention, view=view))  # type: ignore[arg-type]

    square, odd = divmod(total(2) - 2 * total(1), 2)
    token = total(1) - square
    for length in (3, 4096, 2**20 + 1):
        if odd or total(length) != token * length + square * length**2:
            raise Error(
                "model_config_dict",
                "limits the attended pairs, so the sum of squared lengths does not determine their number: count by "
                "floptally.flops(lengths=…)",
            )
    return token, square
