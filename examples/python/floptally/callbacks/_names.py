# SPDX-License-Identifier: Apache-2.0
"""The names that trainers use in batches, and names that look like packing but are unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .. import Error

#: Names of rows of tokens: ids [batch, row], embeddings [batch, row, width], or a single row [row].
ROWS = ("input_ids", "inputs_embeds", "tokens", "inputs")
#: Names of a decoder's rows in an encoder-decoder.
DECODER_ROWS = ("decoder_input_ids", "decoder_inputs_embeds")

#: Names of boundaries 0, L1, L1 + L2, … of a packed sequence. The first one in the batch is read.
BOUNDARIES = (
    "cu_seq_lens_q", "cu_seqlens_q", "cu_seqlens", "cu_seq_lens", "cu_seqlens_cpu", "cu_seq_lens_k", "cu_seqlens_k",
    "cu_seqlens_kv", "sequence_boundaries", "linear_attn_cu_seq_lens_q",
)  # fmt: skip
#: Names that may come with boundaries: slots, real sequences only, how many are real, padding at the end.
BESIDE_BOUNDARIES = (
    *(f"{name}_padded" for name in BOUNDARIES), *(f"{name}_argmin" for name in BOUNDARIES), "cu_seq_lens_q_real",
    "cu_seqlens_real", "cu_seqlens_unpadded", "cu_seqlens_unpadded_argmin", "num_real_seqs", "tail_padding_length",
    "right_padding_length",
)  # fmt: skip
#: Names of document lengths: a list for each row, [batch, documents] filled up with 0 or less, or [documents].
LENGTHS = (
    "seq_lens", "seq_lengths", "seqlens", "sequence_lengths", "sub_seq_lengths", "packed_sample_seqlens", "doc_lens",
    "input_lengths", "total_lengths",
)  # fmt: skip
#: Names of the slots for LENGTHS.
BESIDE_LENGTHS = tuple(f"{name}_padded" for name in LENGTHS)
#: Names of the document id of each slot, [batch, row], by the id that marks padding: 0, -1, or either.
IDS_FROM_ONE = ("inputs_segmentation", "input_segment_ids", "decoder_segment_ids")
IDS_FROM_ZERO = ("seq_idx", "sequence_id", "sequence_ids")
IDS_OF_EITHER = ("segment_ids", "document_ids", "document_id", "doc_ids")
IDS = (*IDS_FROM_ONE, *IDS_FROM_ZERO, *IDS_OF_EITHER)
#: Names of positions that begin again with each document.
POSITIONS = (
    "text_position_ids", "position_ids", "positions", "input_pos", "inputs_position", "input_positions",
    "mrope_positions",
)  # fmt: skip
#: Names of records that contain such names.
RECORDS = ("packed_seq_params", "packing_params")

#: The number of real tokens of each row, [batch], as XLM and FlauBERT take it.
ROW_LENGTHS = "lengths"
#: Masks of which libraries disagree whether 1 marks a token or padding.
UNCLEAR_MASKS = ("padding_mask", "key_padding_mask", "src_key_padding_mask", "text_padding_mask")

#: The way out for a batch that floptally cannot read, for error texts.
FROM_BATCH = "pass arguments=, a function that turns the batch into keywords of Meter.add, such as {'lengths': [128, 384]}"

GRIDS = ("image_grid_thw", "video_grid_thw")
SOUND = ("input_features", "feature_attention_mask")
#: All names that are read. Of ROWS usually only the shape is read.
BATCH_KEYS = (
    *BOUNDARIES, *BESIDE_BOUNDARIES, *LENGTHS, *BESIDE_LENGTHS, *IDS, *POSITIONS, "attention_mask", ROW_LENGTHS, *ROWS,
    "decoder_attention_mask", *DECODER_ROWS, "labels", *GRIDS, *SOUND, "pixel_values",
)  # fmt: skip

_LIKE_PACKING = re.compile(
    r"cu_?seq|seq(uence)?s?_?(len|id|idx|ind|start|bound|offset)|segment|document|boundar|restart|block_mask"
    r"|sample_(len|id|ind)|(^|_)(docs?|pack|packs|packed|packing|offsets?|positions?|pos|starts|ends)(_|$)"
)
_KNOWN_OTHERWISE = re.compile(  # answers, cache positions, biases, names about images, decoders or entities
    r"^(start_positions|end_positions|cache_position|offset_mapping|bool_masked_pos|max_.*|num_.*|n_.*)$"
    r"|^(image|images|pixel|video|audio|visual|vision|decoder|entity|targets|cross|relative|masked)_"
    r"|position_(bias|embedding)|pos_(bias|embed)|_embeds$|_mask_positions$"
)


def expanded(batch: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a batch as a flat dict. Records of arguments (`packed_seq_params`, …) are replaced by their fields, and
    jagged tensors of ids by their boundaries. Multiple-choice inputs [batch, choices, row] become rows [batch ·
    choices, row]."""
    found = {str(key): value for key, value in batch.items()}
    for name in (*ROWS, *DECODER_ROWS, *IDS, *POSITIONS, "attention_mask", "decoder_attention_mask", "labels"):
        if isinstance(found.get(name), (list, tuple)):
            _require_rows(name, found[name])
    for record in RECORDS:
        if found.get(record) is None:
            continue
        for name, value in _entries(found[record]):
            if name in BATCH_KEYS and value is not None:
                found.setdefault(name, value)
    for name in ROWS:
        rows: Any = found.get(name)
        if getattr(rows, "is_nested", False) and hasattr(rows, "offsets"):
            found.setdefault("cu_seqlens", rows.offsets())
    found = {name: value for name, value in found.items() if not getattr(value, "is_nested", False)}
    ids: Any = found.get("input_ids")
    mask: Any = found.get("attention_mask")
    if len(_shape(ids)) == 1 and len(_shape(mask)) == 1:  # one example that no collator has joined
        found["attention_mask"] = mask[None] if hasattr(mask, "shape") else [mask]
    if len(getattr(ids, "shape", ())) == 3:  # choices of one question: [batch, choices, row]
        for name in ("input_ids", "attention_mask", "position_ids"):
            if getattr(found.get(name), "shape", None) == ids.shape:
                found[name] = found[name].reshape(-1, ids.shape[-1])
    return found


def _shape(value: Any) -> tuple[int, ...]:
    """Returns the shape of a tensor or an array, (n,) of a list of n numbers, and () of anything else."""
    if isinstance(value, (list, tuple)):
        return (len(value),) if value and all(isinstance(one, int) for one in value) else ()
    return tuple(getattr(value, "shape", ()))


def _require_rows(name: str, rows: Any) -> None:
    """Raises an Error for lists of different lengths."""
    import numpy as np

    try:
        np.shape(rows)
    except ValueError:
        sizes = ", ".join(str(len(row)) if hasattr(row, "__len__") else "1" for row in rows[:8])
        raise Error(
            name,
            f"must be rows of one length, got rows of {sizes}: pad them in a collator and pass attention_mask, or "
            f"{FROM_BATCH}",
        ) from None


def _entries(record: Any) -> Iterator[tuple[str, Any]]:
    """Returns pairs (name, value): the entries of a mapping, or those attributes of an object that have names which
    occur in batches."""
    if isinstance(record, Mapping):
        yield from ((str(name), value) for name, value in record.items())
    else:
        yield from ((name, getattr(record, name, None)) for name in BATCH_KEYS)


def like_packing(batch: Mapping[str, Any]) -> str | None:
    """Returns the name of the first batch entry that looks like boundaries of packed documents, but that floptally does
    not read. None if there is none."""
    for name, value in batch.items():
        if name in BATCH_KEYS or name in RECORDS or name in UNCLEAR_MASKS or value is None or isinstance(value, (bool, int, float, str)):
            continue
        if isinstance(value, Unread):
            return name
        if _LIKE_PACKING.search(name.lower()) and not _KNOWN_OTHERWISE.search(name.lower()) and _could_say(value):
            return name
    for name in RECORDS:
        if batch.get(name) is not None:
            return name
    return None


class Unread:
    """A placeholder in a batch for a value that looks like boundaries of packed documents and was not copied from the
    GPU."""


def _could_say(value: Any) -> bool:
    """True if a value could be boundaries of documents: whole numbers, or an object of unknown type."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        texts = isinstance(value, (list, tuple)) and value and all(isinstance(each, (str, float)) for each in value)
        return not texts
    if getattr(value, "ndim", len(getattr(value, "shape", ()))) == 0:
        return False
    return "int" in str(dtype)
