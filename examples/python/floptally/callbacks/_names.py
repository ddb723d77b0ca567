# SPDX-License-Identifier: Apache-2.0
"""Names under which trainers hand over a batch, and those that look like packing and are none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

#: Rows of tokens: [batch, row] of ids, [batch, row, width] of embeddings, or one row alone, [row].
ROWS = ("input_ids", "inputs_embeds", "tokens", "inputs")
#: The rows of a decoder that has an encoder beside it.
DECODER_ROWS = ("decoder_input_ids", "decoder_inputs_embeds")

#: Boundaries 0, L1, L1 + L2, … of a packed row. The first that is there is read.
BOUNDARIES = (
    "cu_seq_lens_q", "cu_seqlens_q", "cu_seqlens", "cu_seq_lens", "cu_seqlens_cpu", "cu_seq_lens_k", "cu_seqlens_k",
    "cu_seqlens_kv", "sequence_boundaries", "linear_attn_cu_seq_lens_q",
)  # fmt: skip
#: Names beside boundaries: the slots, the real ones alone, how many are real, padding at the end.
BESIDE_BOUNDARIES = (
    *(f"{name}_padded" for name in BOUNDARIES), *(f"{name}_argmin" for name in BOUNDARIES), "cu_seq_lens_q_real",
    "cu_seqlens_real", "cu_seqlens_unpadded", "cu_seqlens_unpadded_argmin", "num_real_seqs", "tail_padding_length",
    "right_padding_length",
)  # fmt: skip
#: Lengths of documents: a list for each row, [batch, documents] with 0 or less where there is none, or [documents].
LENGTHS = (
    "seq_lens", "seq_lengths", "seqlens", "sequence_lengths", "sub_seq_lengths", "packed_sample_seqlens", "doc_lens",
    "input_lengths", "total_lengths",
)  # fmt: skip
#: The slots of the documents of LENGTHS.
BESIDE_LENGTHS = tuple(f"{name}_padded" for name in LENGTHS)
#: The document of each slot, [batch, row], by what marks padding: 0, -1, or either.
IDS_FROM_ONE = ("inputs_segmentation", "input_segment_ids", "decoder_segment_ids")
IDS_FROM_ZERO = ("seq_idx", "sequence_id", "sequence_ids")
IDS_OF_EITHER = ("segment_ids", "document_ids", "document_id", "doc_ids")
IDS = (*IDS_FROM_ONE, *IDS_FROM_ZERO, *IDS_OF_EITHER)
#: The place of each slot in its document, where it begins again with a document.
POSITIONS = (
    "text_position_ids", "position_ids", "positions", "input_pos", "inputs_position", "input_positions",
    "mrope_positions",
)  # fmt: skip
#: Records that hold such names as their entries.
RECORDS = ("packed_seq_params", "packing_params")

GRIDS = ("image_grid_thw", "video_grid_thw")
SOUND = ("input_features", "feature_attention_mask")
#: All that is read of a batch; of ROWS as a rule the shape.
BATCH_KEYS = (
    *BOUNDARIES, *BESIDE_BOUNDARIES, *LENGTHS, *BESIDE_LENGTHS, *IDS, *POSITIONS, "attention_mask", *ROWS,
    "decoder_attention_mask", *DECODER_ROWS, "labels", *GRIDS, *SOUND, "pixel_values",
)  # fmt: skip

_LIKE_PACKING = re.compile(
    r"cu_?seq|seq(uence)?s?_?(len|id|idx|ind|start|bound|offset)|segment|document|boundar|restart|block_mask"
    r"|sample_(len|id|ind)|(^|_)(docs?|pack|packs|packed|packing|offsets?|positions?|pos|starts|ends)(_|$)"
)
_KNOWN_OTHERWISE = re.compile(  # answers, places in a cache, biases, what belongs to an image, a decoder or an entity
    r"^(start_positions|end_positions|cache_position|offset_mapping|bool_masked_pos|max_.*|num_.*|n_.*)$"
    r"|^(image|images|pixel|video|audio|visual|vision|decoder|entity|targets|cross|relative|masked)_"
    r"|position_(bias|embedding)|pos_(bias|embed)|_embeds$|_mask_positions$"
)


def expanded(batch: Mapping[str, Any]) -> dict[str, Any]:
    """A batch whose records of RECORDS are their entries, a jagged tensor of ids its boundaries, and choices rows."""
    found = {str(key): value for key, value in batch.items()}
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
    if len(getattr(ids, "shape", ())) == 3:  # choices of one question: [batch, choices, row]
        for name in ("input_ids", "attention_mask", "position_ids"):
            if getattr(found.get(name), "shape", None) == ids.shape:
                found[name] = found[name].reshape(-1, ids.shape[-1])
    return found


def _entries(record: Any) -> Iterator[tuple[str, Any]]:
    """The entries of a mapping, or the attributes of an object that have a name of a batch."""
    if isinstance(record, Mapping):
        yield from ((str(name), value) for name, value in record.items())
    else:
        yield from ((name, getattr(record, name, None)) for name in BATCH_KEYS)


def like_packing(batch: Mapping[str, Any]) -> str | None:
    """The first name that looks like the boundaries of documents, has values that could be them, and is not read."""
    for name, value in batch.items():
        if name in BATCH_KEYS or name in RECORDS or value is None or isinstance(value, (bool, int, float, str)):
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
    """A value that looks like packing, in the place of one that is not copied from a GPU."""


def _could_say(value: Any) -> bool:
    """Whole numbers in a list, or an object of which nobody knows."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        texts = isinstance(value, (list, tuple)) and value and all(isinstance(each, (str, float)) for each in value)
        return not texts
    if getattr(value, "ndim", len(getattr(value, "shape", ()))) == 0:
        return False
    return "int" in str(dtype)
