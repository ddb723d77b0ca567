# SPDX-License-Identifier: Apache-2.0
"""From a batch, as a collator makes it, to what a meter adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import Cost, Error, Mask
from .._later import Arguments
from ._documents import (
    mask_ids, of_boundaries, of_ids, of_lengths, of_mask_and_positions, row_shape, shape_of, stand_in,
)  # fmt: skip
from ._names import (
    BATCH_KEYS, BESIDE_BOUNDARIES, BESIDE_LENGTHS, BOUNDARIES, DECODER_ROWS, GRIDS, IDS, LENGTHS, POSITIONS, RECORDS,
    ROWS, SOUND, Unread, expanded, like_packing,
)  # fmt: skip


@dataclass(frozen=True)
class Sides:
    """The inputs that a model has: text, an encoder beside a decoder, whose input may be sound, and images."""

    text: bool = True
    encoder: bool | None = None  #: None: not known, so that the batch has to show it
    sound: bool = False
    vision: bool | None = None
    image_size: int | None = None  #: pixels of a side, where images are squares of one size
    whole_clips: bool = False  #: an encoder of sound attends to what fills a clip up

    @staticmethod
    def of(cost: Cost | None, model: Any = None) -> Sides:
        """Those of a cost; the size of images is read from the configuration of the model."""
        if cost is None:
            return Sides()
        rows = cost.rows
        others = {"cross_attention", "encoder", "encoder_window"}
        towers = {row.tower for row in rows}
        encoder = any(row.unit == "keys" or (isinstance(row.unit, Mask) and _name(row.unit) in others) for row in rows)
        return Sides(
            text="text" in towers, encoder=encoder, sound="audio" in towers, vision="vision" in towers,
            image_size=_image_size(model), whole_clips=cost.model_type.startswith("whisper"),
        )  # fmt: skip


def _name(mask: Mask) -> str:
    return mask.name.rpartition(".")[2].partition("(")[0]


def _image_size(model: Any) -> int | None:
    """That of the first configuration among the modules of a model that states one."""
    modules = model.modules() if hasattr(model, "modules") else ()
    for config in (getattr(module, "config", None) for module in (model, *modules)):
        for part in (getattr(config, "vision_config", None), config):
            size = getattr(part, "image_size", None)
            if isinstance(size, int):
                return size
            if isinstance(size, (list, tuple)) and len(size) == 2 and size[0] == size[1]:
                return int(size[0])
    return None


def batch_arguments(batch: Any, *, cost: Cost | None = None) -> Arguments:
    """The keywords of `Meter.add`, from a batch of tensors or arrays on the host as collators make it.

    cost: of the model, which tells labels of a decoder from those of a text, and asks for images and sound.

    The first that is there says which documents are packed in a row:

    cu_seq_lens_q, cu_seqlens, …   boundaries, also as entries of packed_seq_params or packing_params or as the offsets
                         of jagged ids: with those of slots (…_padded), num_real_seqs, cu_seq_lens_q_real,
                         cu_seqlens_unpadded, …_argmin, tail_padding_length and right_padding_length beside them
    seq_lens, doc_lens, …          lengths of each row's documents, and seq_lens_padded, those of their slots
    seq_idx, segment_ids, …        the document of each slot. 0 is padding for JAX's names (inputs_segmentation,
                         input_segment_ids, decoder_segment_ids), -1 for seq_idx and sequence_id; segment_ids and
                         document_ids count from 0 where a row begins with it, or has nothing else
    attention_mask       [batch, row] with ids above 1: packed documents, 0 is padding
    position_ids, positions, …     [batch, row] that begin again among a row's real tokens. Of rank 3
                         [3 or 4, batch, row]: of text, time, row and column (mrope), which begin again together

    and where none does, each row is a sequence:

    attention_mask       [batch, row] of 0 and 1: its ones are useful, its shape is padded
    input_ids            [batch, row], or inputs_embeds [batch, row, width]: whole rows

    An encoder-decoder has both sides: the encoder's by attention_mask or input_ids, or by input_features, the decoder's
    by decoder_attention_mask, by labels (what is not -100), by decoder_input_ids, or as its encoder's.
    image_grid_thw and video_grid_thw, [images, 3], are added to any of these, and pixel_values of the size that the
    model's configuration states.

    Padding of a row is in the slot of the document before it. Where a row is filled with a document of its own, that is
    padding if it has two slots or more of one id without a label. Error where nothing fits, where a mask says more than
    can be read of it, and where a name looks like packing and is none of these.

    A tensor, or a list of tensors as a TensorDataset gives it, is input_ids or inputs_embeds, the first of the list:
    whole rows. Where a later one could be a mask, that is an error. Of a list that begins with a mapping it is that
    one.
    """
    return arguments_of(named(batch), Sides.of(cost))


def arguments_of(batch: Mapping[str, Any], sides: Sides) -> Arguments:
    """Keywords of `Meter.add` from a batch by name, for a model with these inputs."""
    batch = expanded(batch)
    found = _sound_and_images(batch, sides)
    if _has_decoder(batch, sides):
        found.update(_both_sides(batch, sides))
    elif sides.text:
        found.update(_text(batch))
    if not found:
        raise Error(
            "batch",
            f"must have one of {', '.join(BATCH_KEYS)}, or give a function of your own as arguments=, "
            f"got {', '.join(map(str, batch)) or 'nothing'}",
        )
    return found


def _text(batch: Mapping[str, Any]) -> Arguments:
    import numpy as np

    packed = of_boundaries(batch) or of_lengths(batch) or of_ids(batch) or of_mask_and_positions(batch)
    if packed is not None:
        return packed
    unread = like_packing(batch)
    if unread is not None:
        raise Error(
            unread,
            "looks like the boundaries of packed documents and is none of those that are read "
            f"({', '.join((*BOUNDARIES, *LENGTHS, *IDS, *POSITIONS))}): give a function as arguments=",
        )
    if batch.get("attention_mask") is not None:
        mask = mask_ids("attention_mask", batch["attention_mask"])
        return {"attention_mask": np.ascontiguousarray(mask.astype(bool))}
    rows = row_shape({name: batch.get(name) for name in ROWS})
    if rows is None:
        return {}
    for key in batch:
        if key.startswith("batch["):
            _refuse_mask(key, np.asarray(batch[key]))
    return {"lengths": np.full(rows[0], rows[1], dtype=np.int64)}


def _has_decoder(batch: Mapping[str, Any], sides: Sides) -> bool:
    """True where the batch is that of an encoder-decoder. Where the model does not say it, a decoder's rows do, or
    labels that are not as long as the text."""
    if sides.encoder is not None and (sides.encoder or any(batch.get(name) is None for name in DECODER_ROWS[:1])):
        return sides.encoder
    if any(batch.get(name) is not None for name in DECODER_ROWS):
        return True
    if batch.get("labels") is None or len(shape_of(batch["labels"])) != 2:
        return False
    if batch.get("input_features") is not None:
        return True
    rows = row_shape({name: batch.get(name) for name in ROWS})
    return rows is not None and shape_of(batch["labels"]) != rows and shape_of(batch["labels"])[0] == rows[0]


def _both_sides(batch: Mapping[str, Any], sides: Sides) -> Arguments:
    for name in (*BOUNDARIES, *LENGTHS, *IDS, *RECORDS):
        if batch.get(name) is not None:
            raise Error(name, "says documents that are packed on two sides: give a function as arguments=")
    found: Arguments = {}
    if not sides.sound and batch.get("input_features") is None:
        found["encoder_lengths"] = _row_lengths(batch, "attention_mask", ROWS)
    labels = batch.get("labels")
    rows = next((shape_of(batch[name])[:2] for name in DECODER_ROWS if batch.get(name) is not None), None)
    if batch.get("decoder_attention_mask") is not None:
        found["lengths"] = _row_lengths(batch, "decoder_attention_mask", DECODER_ROWS)
    elif labels is not None and len(shape_of(labels)) == 2 and rows in (None, shape_of(labels)):
        found["lengths"] = _label_lengths(labels)
    elif rows is not None:
        found["lengths"] = _row_lengths(batch, "decoder_attention_mask", DECODER_ROWS)
    elif "encoder_lengths" in found:  # its text, shifted by one, is the decoder's too
        found["lengths"] = found["encoder_lengths"]
    else:
        raise Error("labels", "must be there, or decoder_input_ids: the decoder's side of the batch")
    return found


def _row_lengths(batch: Mapping[str, Any], mask: str, names: tuple[str, ...]) -> Any:
    """Real tokens of each row of one side."""
    import numpy as np

    if batch.get(mask) is not None:
        ids = mask_ids(mask, batch[mask])
        if (ids > 1).any():
            raise Error(mask, "has ids above 1: documents that are packed on two sides need a function as arguments=")
        return ids.sum(axis=1)
    rows = row_shape({name.removeprefix("decoder_"): batch.get(name) for name in names})
    if rows is None:
        raise Error(names[0], f"must be there, or {mask}, of a model with an encoder, got {', '.join(map(str, batch))}")
    return np.full(rows[0], rows[1], dtype=np.int64)


def _label_lengths(labels: Any) -> Any:
    """Tokens of each row of labels, from the first to the last that is not -100. The decoder is given as many."""
    import numpy as np

    real = np.asarray(labels) != -100
    lengths = real.shape[1] - np.argmax(real[:, ::-1], axis=1) - np.argmax(real, axis=1)
    return np.where(real.any(axis=1), lengths, 0).astype(np.int64)


def _sound_and_images(batch: Mapping[str, Any], sides: Sides) -> Arguments:
    import numpy as np

    found: Arguments = {}
    grids = [np.asarray(batch[key]).reshape(-1, 3) for key in GRIDS if batch.get(key) is not None]
    if grids:
        found["grid_thw"] = np.ascontiguousarray(np.concatenate(grids))
    if sides.vision and batch.get("pixel_values") is not None and batch.get("image_grid_thw") is None:
        found["images"] = _images(shape_of(batch["pixel_values"]), sides.image_size)
    for key, grid in (("pixel_values_videos", "video_grid_thw"), ("images_seqlens", "image_grid_thw")):
        if sides.vision and batch.get(key) is not None and batch.get(grid) is None:
            raise Error(key, f"must have {grid} beside it to be counted, or give arguments= with grid_thw=")
    if sides.sound and batch.get("input_features") is None:
        for key in ("input_values", "audio_values", "audio_grid_thw"):
            if batch.get(key) is not None:
                raise Error(key, "is sound in a unit that is not read: give arguments= with audio_frames=")
    sound = sides.sound or (sides.encoder is None and batch.get("labels") is not None)
    if sound and batch.get("input_features") is not None:
        clips, frames = _frames(shape_of(batch["input_features"]))
        masks = ["feature_attention_mask", *(["attention_mask"] if sides.encoder and not sides.whole_clips else [])]
        there = [name for name in masks if batch.get(name) is not None and shape_of(batch[name]) == (clips, frames)]
        mask = there[0] if there else None
        whole = np.full(clips, frames, dtype=np.int64)
        found["audio_frames"] = whole if mask is None else mask_ids(mask, batch[mask]).sum(axis=1)
    return found


def _images(shape: tuple[int, ...], size: int | None) -> int:
    """How many images of the size that the model's configuration states."""
    if len(shape) != 4 or size is None or shape[2:] != (size, size):
        raise Error(
            "pixel_values",
            f"must be images [n, channels, {size or 'rows'}, {size or 'columns'}] of the size that the model's "
            f"configuration states, got shape {list(shape)}: give arguments= with images= or grid_thw=",
        )
    return shape[0]


def _frames(shape: tuple[int, ...]) -> tuple[int, int]:
    """Clips and their frames, of which each has some bands: the shorter side."""
    if len(shape) != 3 or shape[1] == shape[2]:
        wanted = "[clips, bands, frames] or [clips, frames, bands]"
        raise Error("input_features", f"must be {wanted}, got shape {list(shape)}")
    return shape[0], max(shape[1:])


def named(batch: Any) -> Mapping[str, Any]:
    """A batch by the names of BATCH_KEYS; what may be a mask in a list is called by its place, "batch[1]"."""
    parts = batch if isinstance(batch, (list, tuple)) else [batch]
    if parts and isinstance(parts[0], Mapping):
        return parts[0]
    shapes = [tuple(one.shape) if hasattr(one, "dtype") and hasattr(one, "shape") else None for one in parts]
    ids = bool(shapes) and shapes[0] is not None and len(shapes[0]) == 2 and _kind(parts[0]) in "iu"
    embedded = bool(shapes) and shapes[0] is not None and len(shapes[0]) == 3 and _kind(parts[0]) == "f"
    if not ids and not embedded:
        raise Error(
            "batch",
            "must be a mapping of tensors, or tensors of which the first is [batch, row] of ids or [batch, row, width] "
            f"of embeddings, or give arguments=, got {type(batch).__name__}"
            + (f" with shape {list(shapes[0])}" if shapes and shapes[0] is not None else ""),
        )
    by_name = {"input_ids" if ids else "inputs_embeds": parts[0]}
    for place, (one, shape) in enumerate(zip(parts, shapes, strict=True)):
        if place > 0 and shape is not None and shapes[0] is not None and shape == shapes[0][:2] and _kind(one) in "biu":
            by_name[f"batch[{place}]"] = one
    return by_name


def _kind(value: Any) -> str:
    """The letter of NumPy for what an array or a tensor holds: b, i, u or f."""
    kind = getattr(value.dtype, "kind", None)
    if isinstance(kind, str):
        return kind
    return "b" if str(value.dtype).endswith("bool") else "f" if value.dtype.is_floating_point else "i"


def _refuse_mask(key: str, value: Any) -> None:
    """Nothing says what the second tensor of a list is: labels do not change the count, a mask does."""
    if ((value == 0) | (value == 1)).all() and not (value == 1).all():
        raise Error(
            key,
            "may be a mask, having 0 and 1 alone: give arguments=, as lambda batch: {'attention_mask': " + key + "}, "
            "or {'lengths': [batch[0].shape[1]] * len(batch[0])} where it is none",
        )


_UNREAD_INPUTS = (
    "pixel_values", "pixel_values_videos", "images_seqlens", "input_values", "audio_values", "audio_grid_thw",
)  # fmt: skip


def read_of(batch: Mapping[str, Any], sides: Sides) -> Arguments:
    """The part of a batch that is read, so that nothing else is copied from a GPU: of ids as a rule the shape."""
    batch = expanded(batch)
    values = _values_read(batch, sides)
    shapes = {*ROWS, *DECODER_ROWS, "labels", "input_features", *_UNREAD_INPUTS}
    found: Arguments = {}
    for key, value in batch.items():
        if value is None:
            continue
        if key in values or key.startswith("batch["):
            found[key] = value.detach() if hasattr(value, "detach") else value
        elif key in shapes and (hasattr(value, "shape") or isinstance(value, (list, tuple))):
            found[key] = stand_in(value, key)
        elif key in BATCH_KEYS:
            continue
        elif like_packing({key: value}) is not None:
            found[key] = Unread()
    return found


def _values_read(batch: Mapping[str, Any], sides: Sides) -> set[str]:
    """The names of which the values are read, not the shape alone."""
    there = {key for key, value in batch.items() if value is not None}
    read = there & {*GRIDS, "feature_attention_mask"}
    if _has_decoder(batch, sides):
        said = "decoder_attention_mask" if "decoder_attention_mask" in there else "labels"
        return read | (there & {"attention_mask", said, *BOUNDARIES, *LENGTHS, *IDS})
    content = there & {"input_ids", "labels"} if {"input_ids", "labels"} <= there else set()
    if there & {*BOUNDARIES}:
        return read | content | (there & {*BOUNDARIES, *BESIDE_BOUNDARIES})
    if there & {*LENGTHS}:
        return read | content | (there & {*LENGTHS, *BESIDE_LENGTHS})
    if there & {*IDS}:
        return read | (there & {*IDS, "attention_mask"})
    if there & {*POSITIONS}:
        return read | content | (there & {*POSITIONS, "attention_mask"})
    return read | (there & {"attention_mask"})
