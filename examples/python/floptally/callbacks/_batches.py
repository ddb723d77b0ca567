# SPDX-License-Identifier: Apache-2.0
"""Turns a batch from a collator into the keywords of `Meter.add`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import Cost, Error, Mask
from .._deferred import Arguments
from ._documents import (
    mask_ids, of_boundaries, of_ids, of_lengths, of_mask_and_positions, row_shape, shape_of, stand_in, whole_numbers,
)  # fmt: skip
from ._names import (
    BATCH_KEYS, BESIDE_BOUNDARIES, BESIDE_LENGTHS, BOUNDARIES, DECODER_ROWS, FROM_BATCH, GRIDS, IDS, LENGTHS, POSITIONS,
    RECORDS, ROW_LENGTHS, ROWS, SOUND, UNCLEAR_MASKS, Unread, expanded, like_packing,
)  # fmt: skip


@dataclass(frozen=True)
class Sides:
    """Which inputs a model has: text, a second text for its encoder, audio for its encoder, images."""

    text: bool = True
    encoder: bool | None = None  #: None if unknown; the batch then tells
    sound: bool = False
    vision: bool | None = None
    image_size: int | None = None  #: side in pixels, if images are squares of one size
    whole_clips: bool = False  #: an audio encoder also attends to the padding of a clip

    @staticmethod
    def of(cost: Cost | None, model: Any = None) -> Sides:
        """Returns which inputs a model has (text, images, audio), by its cost. The size of the images is read from the
        model's configuration."""
        if cost is None:
            return Sides()
        entries = cost.entries
        others = {"cross_attention", "encoder", "encoder_window"}
        towers = {entry.tower for entry in entries}
        units = [entry.unit for entry in entries]
        encoder = any(unit == "keys" or (isinstance(unit, Mask) and _name(unit) in others) for unit in units)
        return Sides(
            text="text" in towers, encoder=encoder, sound="audio" in towers, vision="vision" in towers,
            image_size=_image_size(model), whole_clips=cost.model_type.startswith("whisper"),
        )  # fmt: skip


def _name(mask: Mask) -> str:
    return mask.name.rpartition(".")[2].partition("(")[0]


def _image_size(model: Any) -> int | None:
    """Returns the side of an image in pixels, from the first configuration among those of the model's modules that
    states it. None if none does."""
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
    """Returns the keywords of `Meter.add` for a batch of host tensors or arrays, as collators make it.

    cost: the model's cost. The cost tells whether labels belong to a decoder or a text, and whether images and audio
        are needed.

    If documents are packed in a row, the first of these arguments in the batch says where each begins:

    * cu_seq_lens_q, cu_seqlens, …: the boundaries of the documents. They may also be entries of packed_seq_params or
      packing_params, or the offsets of jagged ids. Arguments about padding and real sequences are read with them:
      …_padded, num_real_seqs, cu_seq_lens_q_real, cu_seqlens_unpadded, …_argmin, tail_padding_length,
      right_padding_length.
    * seq_lens, doc_lens, …: the lengths of each row's documents. seq_lens_padded has their lengths with padding.
    * seq_idx, segment_ids, …: the document id of each token. Padding is 0 for JAX's names (inputs_segmentation,
      input_segment_ids, decoder_segment_ids) and -1 for seq_idx and sequence_id. segment_ids and document_ids count
      documents from 0 if a row begins with 0 or has only 0.
    * attention_mask [batch, row] with ids above 1: the document id of each token. 0 is padding.
    * position_ids, positions, … [batch, row]: a document begins where the positions begin again. With rank 3, [3 or 4,
      batch, row], they are the positions of text, time, row and column (mrope), which begin again together.

    Without any of them, each row is a sequence:

    * attention_mask [batch, row] of 0 and 1: ones are useful tokens, and its shape is the padded batch.
    * lengths [batch]: the real tokens of each row.
    * input_ids [batch, row], or inputs_embeds [batch, row, width]: all tokens of a row are real.

    For an encoder-decoder two inputs are read. The encoder's are attention_mask or input_ids, or input_features. The
    decoder's are decoder_attention_mask, labels (all that is not -100), or decoder_input_ids. Without any of these the
    decoder's input is as long as the encoder's. image_grid_thw and video_grid_thw, [images, 3], are added, and so are
    pixel_values of the size that the model's configuration states.

    Padding in a row belongs to the document before it. A last document of two tokens or more with a single token id and
    no label is padding too. Raises an Error if nothing in the batch can be read, or if an unknown name looks like
    packing.

    A tensor is read as input_ids or inputs_embeds. Of a list of tensors, as from a TensorDataset, the first is read
    the same way; a later one that could be a mask or another microbatch is an error. Of a list that begins with a
    mapping, the mapping is read. A list of several batches is an error here; `step` and the trainers' callbacks count
    each of them (`microbatches`).
    """
    sides = Sides.of(cost)
    several = microbatches(batch, sides)
    if len(several) != 1:
        raise Error("batch", f"is a list of {len(several)} microbatches, but must be one batch: pass them one by one")
    return arguments_of(named(several[0]), sides)


def microbatches(batch: Any, sides: Sides) -> list[Any]:
    """Splits the object that a trainer passes as one batch into microbatches. A list of mappings with tokens, or of
    rows [1, tokens] of different lengths, has one microbatch for each item. Anything else is one microbatch."""
    if not isinstance(batch, (list, tuple)) or len(batch) < 2:
        return [batch]
    if all(isinstance(part, Mapping) for part in batch):
        return list(batch) if all(_has_tokens(part) for part in batch) else [batch]
    shapes = [_shape_if_ids(part) for part in batch]
    rows = all(shape is not None and shape[0] == 1 for shape in shapes)
    return list(batch) if rows and len(set(shapes)) > 1 and not sides.encoder else [batch]


def _has_tokens(batch: Mapping[str, Any]) -> bool:
    named_here = {*ROWS, *BOUNDARIES, *LENGTHS, *IDS, *RECORDS, "attention_mask", *GRIDS, *SOUND, "pixel_values"}
    return any(name in named_here for name in batch)


def _shape_if_ids(value: Any) -> tuple[int, ...] | None:
    """Returns the shape of a tensor [rows, tokens] of whole numbers. None for anything else."""
    if not (hasattr(value, "dtype") and hasattr(value, "shape")) or len(value.shape) != 2 or _kind(value) not in "iu":
        return None
    return tuple(value.shape)


def arguments_of(batch: Mapping[str, Any], sides: Sides) -> Arguments:
    """Returns the keywords of `Meter.add` for a batch, which is a dict by argument name. sides: which inputs the model
    has."""
    batch = expanded(batch)
    cast = {*BOUNDARIES, *BESIDE_BOUNDARIES, *LENGTHS, *BESIDE_LENGTHS, *IDS, *POSITIONS, *_MASKS, ROW_LENGTHS}
    batch = {name: whole_numbers(name, value) if name in cast else value for name, value in batch.items()}
    found = _sound_and_images(batch, sides)
    if _has_decoder(batch, sides):
        found.update(_both_sides(batch, sides))
    elif sides.text:
        found.update(_text(batch))
    if not found:
        raise _unread(batch)
    return found


def _unread(batch: Mapping[str, Any]) -> Error:
    return Error(
        "batch",
        "must have input_ids, attention_mask, cu_seqlens, seq_lens, position_ids or another name of "
        f"floptally.callbacks.BATCH_KEYS, got {_names_of(batch)}: {_way_out(batch)}",
    )


def _names_of(batch: Mapping[str, Any]) -> str:
    names = [str(name) for name in batch]
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return (", ".join(names[:8]) or "nothing") + more


def _way_out(batch: Mapping[str, Any]) -> str:
    """Returns the end of an error about a batch in which no name is known: what to pass instead. If the batch is a
    mapping of batches, the text says to pass them as microbatches."""
    inside = [name for name, value in batch.items() if isinstance(value, Mapping) and _has_tokens(value)]
    if not inside:
        return FROM_BATCH
    passed = ", ".join(f"batch[{name!r}]" for name in inside)
    return f"pass the batches inside as microbatches (step(meter, {passed})), or {FROM_BATCH}"


def _text(batch: Mapping[str, Any]) -> Arguments:
    import numpy as np

    packed = of_boundaries(batch) or of_lengths(batch) or of_ids(batch) or of_mask_and_positions(batch)
    if packed is not None:
        return packed
    unread = like_packing(batch)
    if unread is not None:
        raise Error(
            unread,
            "looks like boundaries of packed documents but is not one of the known names "
            f"({', '.join((*BOUNDARIES, *LENGTHS, *IDS, *POSITIONS))}): rename it, or {FROM_BATCH}",
        )
    unclear = next((name for name in UNCLEAR_MASKS if batch.get(name) is not None), None)
    if unclear is not None and batch.get("attention_mask") is None and batch.get(ROW_LENGTHS) is None:
        raise Error(
            unclear,
            "does not say whether its ones are tokens or padding: rename it to attention_mask, whose ones are tokens, or "
            f"{FROM_BATCH}",
        )
    if batch.get("attention_mask") is not None:
        mask = mask_ids("attention_mask", batch["attention_mask"])
        return {"attention_mask": np.ascontiguousarray(mask.astype(bool))}
    rows = row_shape({name: batch.get(name) for name in ROWS})
    if rows is None:
        return {}
    if batch.get(ROW_LENGTHS) is not None:
        return _of_row_lengths(batch[ROW_LENGTHS], rows)
    for key in batch:
        if key.startswith("batch["):
            _refuse_mask(key, np.asarray(batch[key]))
            if rows[0] == 1 and batch.get("input_ids") is not None:
                _refuse_microbatch(key, np.asarray(batch["input_ids"]), np.asarray(batch[key]))
    return {"lengths": np.full(rows[0], rows[1], dtype=np.int64)}


_MASKS = ("attention_mask", "decoder_attention_mask", "feature_attention_mask")


def _of_row_lengths(lengths: Any, rows: tuple[int, int]) -> Arguments:
    """Returns the real tokens of each row and the slots of a row."""
    import numpy as np

    found = np.asarray(lengths)
    if found.shape != (rows[0],) or (found != np.floor(found)).any() or (found < 0).any() or (found > rows[1]).any():
        raise Error(
            ROW_LENGTHS,
            f"must be the numbers of tokens of the {rows[0]} rows, each from 0 to {rows[1]}, got {found.tolist()!r}; if "
            f"these numbers mean something else, {FROM_BATCH}",
        )
    return {"lengths": found.astype(np.int64), "row_length": rows[1]}


def _has_decoder(batch: Mapping[str, Any], sides: Sides) -> bool:
    """True if the batch is for an encoder-decoder. If the model does not tell, the batch does: it then has inputs of a
    decoder, labels next to audio, or labels of another length than the text."""
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
            raise Error(
                name,
                "must be absent for a model with an encoder and a decoder, "
                f"since {name} does not say which of the two has these documents: {FROM_BATCH}",
            )
    found: Arguments = {}
    if not sides.sound and batch.get("input_features") is None:
        found.update(_padded("encoder_", *_row_lengths(batch, "attention_mask", ROWS)))
    labels = batch.get("labels")
    rows = next((shape_of(batch[name])[:2] for name in DECODER_ROWS if batch.get(name) is not None), None)
    if batch.get("decoder_attention_mask") is not None:
        found.update(_padded("", *_row_lengths(batch, "decoder_attention_mask", DECODER_ROWS)))
    elif labels is not None and len(shape_of(labels)) == 2 and rows in (None, shape_of(labels)):
        found.update(_padded("", _label_lengths(labels), shape_of(labels)[1]))
    elif rows is not None:
        found.update(_padded("", *_row_lengths(batch, "decoder_attention_mask", DECODER_ROWS)))
    elif "encoder_lengths" in found:  # the decoder gets the same text, shifted by one
        found["lengths"] = found["encoder_lengths"]
        if "encoder_row_length" in found:
            found["row_length"] = found["encoder_row_length"]
    else:
        raise Error("labels", "is missing, but the tokens of the decoder are counted from labels: add labels or decoder_input_ids to the batch")
    return found


def _padded(side: str, lengths: Any, row: int) -> Arguments:
    """Returns the keywords of `Meter.add` for rows of one side, and the length that they are padded to if any is
    shorter.

    side: "" for the decoder, "encoder_" for the encoder.
    """
    padded = len(lengths) > 0 and bool((lengths < row).any())
    return {f"{side}lengths": lengths, **({f"{side}row_length": row} if padded else {})}


def _row_lengths(batch: Mapping[str, Any], mask: str, names: tuple[str, ...]) -> tuple[Any, int]:
    """Returns (the number of real tokens in each row of the encoder's or the decoder's input, the length of its rows):
    the ones of the mask, or without a mask the whole row.

    mask: the name of the mask in the batch.
    names: the names that give the shape of the rows.
    """
    import numpy as np

    if batch.get(mask) is not None:
        ids = mask_ids(mask, batch[mask])
        if (ids > 1).any():
            raise Error(mask, f"must have only 0 and 1 for a model with an encoder, got the id {int(ids.max())}: {FROM_BATCH}")
        return ids.sum(axis=1), ids.shape[1]
    rows = row_shape({name.removeprefix("decoder_"): batch.get(name) for name in names})
    if rows is None:
        raise Error(
            names[0],
            f"is missing, but a model with an encoder needs it: add {names[0]} or {mask} to the batch, which has "
            f"{', '.join(map(str, batch))}",
        )
    return np.full(rows[0], rows[1], dtype=np.int64), rows[1]


def _label_lengths(labels: Any) -> Any:
    """Returns the number of tokens in each row of labels, from the first to the last label that is not -100. The
    decoder's input has equally many tokens."""
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
        shape = shape_of(batch["pixel_values"])
        if len(shape) == 5:  # pictures or frames of each sample
            real = batch.get(REAL_PICTURES)
            real = np.asarray(_real_pictures(batch["pixel_values"]) if real is None else real)
            shape = (int(real.sum()), *shape[2:])
        found["images"] = _images(shape, sides.image_size)
    for key, grid in (("pixel_values_videos", "video_grid_thw"), ("images_seqlens", "image_grid_thw")):
        if sides.vision and batch.get(key) is not None and batch.get(grid) is None:
            raise Error(key, f"must come with {grid} to be counted: add {grid}, or pass arguments=lambda batch: {{'grid_thw': [[1, 16, 16]]}}")
    if sides.sound and batch.get("input_features") is None:
        for key in ("input_values", "audio_values", "audio_grid_thw"):
            if batch.get(key) is not None:
                raise Error(key, "is audio in an unknown unit: pass arguments=lambda batch: {'audio_frames': [3000]}")
    sound = sides.sound or (sides.encoder is None and batch.get("labels") is not None)
    if sound and batch.get("input_features") is not None:
        clips, frames = _frames(shape_of(batch["input_features"]))
        masks = ["feature_attention_mask", *(["attention_mask"] if sides.encoder and not sides.whole_clips else [])]
        there = [name for name in masks if batch.get(name) is not None and shape_of(batch[name]) == (clips, frames)]
        mask = there[0] if there else None
        whole = np.full(clips, frames, dtype=np.int64)
        found["audio_frames"] = whole if mask is None else mask_ids(mask, batch[mask]).sum(axis=1)
    return found


def _real_pictures(pixel_values: Any) -> Any:
    """Returns whether each picture of pixel_values [samples, pictures, channels, rows, columns] has a pixel that is not
    0. Processors pad samples with pictures of zeros, and models leave these out."""
    if hasattr(pixel_values, "detach"):
        return pixel_values.detach().flatten(2).ne(0).any(dim=2)
    import numpy as np

    values = np.asarray(pixel_values)
    return (values != 0).any(axis=(2, 3, 4))


def _images(shape: tuple[int, ...], size: int | None) -> int:
    """Returns the number of images in a batch. Error if the images do not have the size that the model's configuration
    states.

    shape: the shape of pixel_values.
    size: the side of an image in pixels; None if the configuration states none.
    """
    if len(shape) != 4 or size is None or shape[2:] != (size, size):
        raise Error(
            "pixel_values",
            f"must be images [n, channels, {size or 'rows'}, {size or 'columns'}], or [samples, n, …], of the size that the model's "
            f"configuration states, got shape {list(shape)}: pass arguments=lambda batch: {{'grid_thw': [[1, 16, 16]]}}",
        )
    return shape[0]


def _frames(shape: tuple[int, ...]) -> tuple[int, int]:
    """Returns (number of audio clips, frames of each clip) by the shape of input_features. Of the last two axes of a
    spectrogram, the shorter one is frequency."""
    if len(shape) != 3 or shape[1] == shape[2]:
        wanted = "[clips, bands, frames] or [clips, frames, bands]"
        raise Error("input_features", f"must be {wanted}, got shape {list(shape)}")
    return shape[0], max(shape[1:])


def named(batch: Any) -> Mapping[str, Any]:
    """Returns a batch as a dict by argument names, such as input_ids. A tensor in a list that may be a mask is named
    by its index, "batch[1]"."""
    parts = batch if isinstance(batch, (list, tuple)) else [batch]
    if parts and isinstance(parts[0], Mapping):
        return parts[0]
    others = [shape for part in parts[1:] if (shape := _shape_if_ids(part)) is not None]
    if parts and (first := _shape_if_ids(parts[0])) is not None and any(shape[0] != first[0] for shape in others):
        raise Error(
            "batch",
            f"has tensors of {first[0]} and of {next(shape[0] for shape in others if shape[0] != first[0])} rows, which "
            "may be several microbatches: pass each as a separate argument or as a dict. For one batch "
            f"{FROM_BATCH}",
        )
    shapes = [tuple(part.shape) if hasattr(part, "dtype") and hasattr(part, "shape") else None for part in parts]
    ids = bool(shapes) and shapes[0] is not None and len(shapes[0]) == 2 and _kind(parts[0]) in "iu"
    embedded = bool(shapes) and shapes[0] is not None and len(shapes[0]) == 3 and _kind(parts[0]) == "f"
    if not ids and not embedded:
        raise Error(
            "batch",
            "must be a mapping of tensors, or a list that begins with ids [batch, row] or embeddings [batch, row, width]; "
            f"got {type(batch).__name__}"
            + (f" with shape {list(shapes[0])}" if shapes and shapes[0] is not None else "")
            + f"; otherwise {FROM_BATCH}",
        )
    by_name = {"input_ids" if ids else "inputs_embeds": parts[0]}
    for place, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
        if place > 0 and shape is not None and shapes[0] is not None and shape == shapes[0][:2] and _kind(part) in "biu":
            by_name[f"batch[{place}]"] = part
    return by_name


def _kind(value: Any) -> str:
    """Returns NumPy's letter for the element type of an array or a tensor: b, i, u or f."""
    kind = getattr(value.dtype, "kind", None)
    if isinstance(kind, str):
        return kind
    return "b" if str(value.dtype).endswith("bool") else "f" if value.dtype.is_floating_point else "i"


def _refuse_mask(key: str, value: Any) -> None:
    """Raises an Error if a further tensor in a list could be a mask, since its values are 0 and 1. Such a tensor
    without a name could also be labels, which would not change the count."""
    if ((value == 0) | (value == 1)).all() and not (value == 1).all():
        raise Error(
            key,
            "may be a mask, since it only has 0 and 1: pass arguments=, such as lambda batch: {'attention_mask': " + key + "}, "
            "or {'lengths': [batch[0].shape[1]] * len(batch[0])} if it is not a mask",
        )


def _refuse_microbatch(key: str, ids: Any, value: Any) -> None:
    """Raises an Error if a further row [1, tokens] in a list could be another microbatch: it has ids that are neither
    the first row's, as labels have, nor positions."""
    import numpy as np

    if value.shape != ids.shape or (value < 0).any() or (value[:, 1:] - value[:, :-1] == 1).all():
        return
    as_labels = [(value, ids), (value[:, :-1], ids[:, 1:]), (value[:, 1:], ids[:, :-1])]
    if any(one.shape[1] and np.array_equal(one, other) for one, other in as_labels):
        return
    raise Error(
        key,
        "may be another microbatch, since it has other ids than batch[0]: pass each microbatch as a separate argument, "
        f"step(meter, first, second), or as a dict. If it is not a microbatch, {FROM_BATCH}",
    )


#: A name of `read_of`: which pictures of pixel_values [samples, pictures, …] are real.
REAL_PICTURES = "pixel_values.real"
_UNREAD_INPUTS = (
    "pixel_values", "pixel_values_videos", "images_seqlens", "input_values", "audio_values", "audio_grid_thw",
)  # fmt: skip


def read_of(batch: Mapping[str, Any], sides: Sides) -> Arguments:
    """Returns the part of a batch that is needed for counting, so that nothing else is copied from a GPU. For token
    ids, usually only the shape is needed."""
    batch = expanded(batch)
    values = _values_read(batch, sides)
    shapes = {*ROWS, *DECODER_ROWS, "labels", "input_features", *_UNREAD_INPUTS}
    found: Arguments = {}
    for key, value in batch.items():
        if value is None:
            continue
        if key in values or key.startswith("batch["):
            found[key] = value.detach() if hasattr(value, "detach") else value
        elif key == "pixel_values" and sides.vision and len(getattr(value, "shape", ())) == 5:
            found[key], found[REAL_PICTURES] = stand_in(value, key), _real_pictures(value)
        elif key in shapes and (hasattr(value, "shape") or isinstance(value, (list, tuple))):
            found[key] = stand_in(value, key)
        elif key in UNCLEAR_MASKS:
            found[key] = Unread()
        elif key in BATCH_KEYS:
            continue
        elif like_packing({key: value}) is not None:
            found[key] = Unread()
    if not found:
        raise _unread(batch)
    return found


def _values_read(batch: Mapping[str, Any], sides: Sides) -> set[str]:
    """Returns the names in the batch whose values decide the count. Of all other names only the shape is read."""
    there = {key for key, value in batch.items() if value is not None}
    read = there & {*GRIDS, "feature_attention_mask"}
    if _has_decoder(batch, sides):
        name = "decoder_attention_mask" if "decoder_attention_mask" in there else "labels"
        return read | (there & {"attention_mask", name, *BOUNDARIES, *LENGTHS, *IDS})
    content = there & {"input_ids", "labels"} if {"input_ids", "labels"} <= there else set()
    if any(key.startswith("batch[") for key in there):  # tensors without names are told apart by their values
        read = read | (there & {"input_ids"})
    if there & {*BOUNDARIES}:
        return read | content | (there & {*BOUNDARIES, *BESIDE_BOUNDARIES})
    if there & {*LENGTHS}:
        return read | content | (there & {*LENGTHS, *BESIDE_LENGTHS})
    if there & {*IDS}:
        return read | (there & {*IDS, "attention_mask"})
    if there & {*POSITIONS}:
        return read | content | (there & {*POSITIONS, "attention_mask"})
    return read | (there & {"attention_mask", ROW_LENGTHS})
