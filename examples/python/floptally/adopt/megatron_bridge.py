# SPDX-License-Identifier: Apache-2.0
"""Replaces Megatron-Bridge's ``megatron.bridge.training.utils.flop_utils.num_floating_point_operations``."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .. import Convention, Error, Plan
from ._count import counted
from ._fields import Fields, as_integer, as_lengths
from ._megatron_model import read
from ._original import Original, warn_once

__all__ = ["num_floating_point_operations"]

_original = Original("Megatron-Bridge", "megatron.bridge.training.utils.flop_utils", "num_floating_point_operations")


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
    compare: bool = False,
) -> int:
    """Returns the FLOPs of one global batch of the model that a ConfigContainer describes.

    Args:
        cfg: the ConfigContainer. The model's sizes are read from ``cfg.model``.
        batch_size: sequences of ``cfg.model.seq_length`` tokens, if you pass no sums.
        seqlen_sum: Σn over the sequences of the batch.
        seqlen_squared_sum: Σn² over the sequences of the batch. Without it all sequences count with n = Σn /
            batch_size.
        num_vision_patches: patches of all images together. Megatron-Bridge's own convention gives each sample equally
            many of them. Any other convention leaves images out after one warning, since it needs the patches of each
            image.
        cross_seqlen_sum, cross_seqlen_product_sum: sums over cross attention. Only Megatron-Bridge's own function can
            count with them.
        convention: Megatron-Bridge's own by default.
        plan: which weights train. By default all. Needed for an exact count if ``cfg.peft`` is set.
        lengths: n of each sequence, instead of the sums. Needed if the model has windows, since their pairs do not
            follow from Σn².
        compare: also runs Megatron-Bridge's own function and logs both numbers.
    """
    sums = (batch_size, seqlen_sum, seqlen_squared_sum, num_vision_patches, cross_seqlen_sum, cross_seqlen_product_sum)

    def ours() -> int:
        for field, value in (
            ("cross_seqlen_sum", cross_seqlen_sum),
            ("cross_seqlen_product_sum", cross_seqlen_product_sum),
        ):
            if value:
                raise Error(field, f"must be left out, since floptally cannot read cross attention here, got {value}")
        count = _language(cfg, (batch_size, seqlen_sum, seqlen_squared_sum), convention, plan, lengths)
        return count + _images(
            cfg, batch_size, num_vision_patches, own=convention == "megatron_bridge" and plan is None
        )

    return _original.answer(
        ours,
        lambda function: round(float(function(cfg, *_as_taken(function, sums)))),
        own=convention == "megatron_bridge" and plan is None and lengths is None,
        compare=compare,
        number=float,
    )


def _as_taken(function: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Cuts a tuple of arguments (those after cfg) to as many as this version of Megatron-Bridge's function takes."""
    known = function.__code__.co_argcount - 1 if hasattr(function, "__code__") else len(arguments)
    return arguments[:known]


def _language(
    cfg: Any, sums: tuple[int, int | None, int | None], convention: str | Convention, plan: Plan | None, lengths: Any
) -> int:
    own = convention == "megatron_bridge"
    if getattr(cfg, "peft", None) is not None and plan is None and not own:
        raise Error("cfg.peft", "trains only some weights, and the config does not say which: pass plan=")
    fields = Fields(cfg, "cfg.").inside("model")
    for field in ("_get_num_floating_point_operations", "_get_num_floating_point_operations_with_runtime_stats"):
        if fields.get(field) is not None:
            raise Error(
                fields.name(field),
                f"is set and counts FLOPs that the config does not describe: call {fields.name(field)} for the count",
            )
    vocab_size = fields.integer("vocab_size")
    if own:
        unit = fields.integer("make_vocab_size_divisible_by", 128) * fields.integer("tensor_model_parallel_size", 1)
        vocab_size = -(-vocab_size // unit) * unit
    cost = read(fields.source, vocab_size=vocab_size, path="cfg.model.", own="megatron_bridge" if own else "")
    count = counted(cost, convention, plan)
    if lengths is not None:
        return count.lengths(as_lengths("lengths", lengths))
    sequences = as_integer("batch_size", sums[0], least=0)
    if sums[1] is None:
        return count.equal(sequences, fields.integer("seq_length"))
    tokens = as_integer("seqlen_sum", sums[1])
    if sums[2] is None:
        if sequences == 0 or tokens % sequences:
            raise Error("seqlen_squared_sum", f"must be passed: {tokens} tokens cannot be {sequences} sequences of equal length")
        return count.equal(sequences, tokens // sequences)
    return count.sums("seqlen_squared_sum", tokens, as_integer("seqlen_squared_sum", sums[2]), sequences)


def _images(cfg: Any, samples: int, patches: int, *, own: bool) -> int:
    """Returns the FLOPs of the vision tower by Megatron-Bridge's formula, as if each sample had one image and all
    images had equally many patches.

    samples, patches: the numbers of samples and of patches of the batch.
    own: False warns that images are not counted, and returns 0.
    """
    patches = as_integer("num_vision_patches", patches)
    if patches == 0:
        return 0
    fields = Fields(cfg, "cfg.").inside("model")
    thinker = Fields(fields.get("thinker_config"))
    vision = fields.get("vision_config") or thinker.get("vision_config")
    if not own:
        warn_once(
            "Megatron-Bridge", "num_vision_patches",
            f"num_vision_patches does not say how {patches} patches are divided into images, which are not counted: by "
            "convention='megatron_bridge' each sample has one image",
        )  # fmt: skip
        return 0
    if vision is None:
        return 0
    tower = Fields(vision, "cfg.model.vision_config.")
    width, inner, depth = (tower.integer(name, 0, least=0) for name in ("hidden_size", "intermediate_size", "depth"))
    cell = tower.integer("spatial_merge_size", 2) ** 2
    out = tower.integer("out_hidden_size", fields.get("hidden_size"))
    indexes = tower.get("deepstack_visual_indexes")
    indexes = fields.get("deepstack_visual_indexes") if indexes is None else indexes
    indexes = thinker.get("deepstack_visual_indexes") if indexes is None else indexes
    images = max(as_integer("batch_size", samples, least=0), 1)
    each = Fraction(patches, images)
    layers = depth * ((8 * width**2 + 4 * width * inner) * patches + 4 * width * images * each**2)
    merged = (1 + len(indexes or ())) * images * (each // cell) * 2 * cell * width * (cell * width + out)
    return round(3 * (layers + merged))
