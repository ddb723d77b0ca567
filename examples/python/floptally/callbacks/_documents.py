# SPDX-License-Identifier: Apache-2.0
"""Reads the documents of packed sequences from every form that trainers use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import Error
from .._deferred import Arguments
from ._names import BOUNDARIES, FROM_BATCH, IDS, IDS_FROM_ONE, IDS_FROM_ZERO, LENGTHS, POSITIONS, ROWS

Shape = tuple[int, int]


@dataclass
class Documents:
    """The packed documents of a batch, in order. lengths: real tokens of each document; 0 for a document that is only
    padding. slots: tokens of each document with its padding."""

    lengths: list[int]
    slots: list[int]

    def arguments(self) -> Arguments:
        """Returns the documents as keywords of `Meter.add`: the boundaries `cu_seqlens`, and with padding also
        `cu_seqlens_padded`."""
        import numpy as np

        found: Arguments = {"cu_seqlens": np.append(0, np.cumsum(self.lengths)).astype(np.int64)}
        if self.lengths != self.slots:
            found["cu_seqlens_padded"] = np.append(0, np.cumsum(self.slots)).astype(np.int64)
        return found


def shape_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of a tensor, an array or a list."""
    import numpy as np

    return tuple(int(size) for size in getattr(value, "shape", None) or np.shape(value))


#: The largest whole number up to which each floating-point type has all whole numbers.
_WHOLE_UP_TO = {"bfloat16": 2**8, "float16": 2**11, "float32": 2**24, "float8_e4m3fn": 2**4, "float8_e5m2": 2**3}


def whole_numbers(name: str, value: Any) -> Any:
    """Returns a mask, positions, lengths or boundaries that a trainer cast to a floating-point type, as an array that
    NumPy knows. Returns any other value unchanged. Raises an Error if the type cannot hold the numbers without
    rounding.

    Lightning's bf16-true casts all floating-point tensors of a batch.
    """
    kind = str(getattr(value, "dtype", "")).removeprefix("torch.")
    limit = _WHOLE_UP_TO.get(kind)
    if limit is None:
        return value
    found = value.float().numpy() if hasattr(value, "float") else value.astype("float32")
    if found.size and abs(found).max() > limit:
        raise Error(
            name, f"has numbers up to {abs(found).max():g} in {kind}, which rounds those above {limit}: pass integers"
        )
    return found.astype("int64") if (found == found.round()).all() else found


def row_shape(batch: Mapping[str, Any]) -> Shape | None:
    """Returns [batch, row], the shape of the batch's token tensor. None if nothing in the batch tells this shape. A
    tensor with one axis is a single row."""
    for name in (*ROWS, "attention_mask", "labels"):
        if batch.get(name) is None:
            continue
        shape = shape_of(batch[name])
        if name == "inputs_embeds":
            shape = shape[:-1] if len(shape) in (2, 3) and not _is_stand_in(batch[name]) else shape
        if name in ("labels", "attention_mask") and len(shape) != 2:
            continue
        if len(shape) in (1, 2):
            return (shape[0], shape[1]) if len(shape) == 2 else (1, shape[0])
    return None


def stand_in(value: Any, name: str) -> Any:
    """Returns an array with the shape [batch, row] of a tensor of tokens, without its values. The array takes no
    memory."""
    import numpy as np

    shape = shape_of(value)
    if name.endswith("inputs_embeds"):
        shape = shape[:-1] if len(shape) > 1 else shape
    return np.broadcast_to(np.zeros((), dtype=bool), shape)


def _is_stand_in(value: Any) -> bool:
    return str(getattr(value, "dtype", "")) == "bool"


def of_boundaries(batch: Mapping[str, Any]) -> Arguments | None:
    """Returns the keywords of `Meter.add` for a batch with boundaries of packed sequences (cu_seqlens). None without
    boundaries. The C++ library checks the boundaries."""
    import numpy as np

    name = next((name for name in BOUNDARIES if batch.get(name) is not None), None)
    if name is None:
        return None
    rows = row_shape(batch)
    bounds = _boundaries_in(batch, name, rows)
    for other in ("cu_seq_lens_k", "cu_seqlens_k", "cu_seqlens_kv"):
        if batch.get(other) is not None and not np.array_equal(_boundaries_in(batch, other, rows), bounds):
            raise Error(
                other, f"must equal {name}; if queries attend to the keys of other documents, {FROM_BATCH}"
            )
    found: Arguments = {"cu_seqlens": bounds}
    for key, argument in (
        (f"{name}_padded", "cu_seqlens_padded"),
        ("cu_seq_lens_q_real", "cu_seqlens_real"),
        ("cu_seqlens_real", "cu_seqlens_real"),
    ):
        if batch.get(key) is not None:
            found[argument] = _boundaries_in(batch, key, rows)
    if batch.get("cu_seqlens_unpadded") is not None:  # cu_seqlens are then the slots
        found["cu_seqlens"], found["cu_seqlens_padded"] = _boundaries_in(batch, "cu_seqlens_unpadded", rows), bounds
    if batch.get("num_real_seqs") is not None:
        found["num_real_seqs"] = int(batch["num_real_seqs"])
    _mark_padding(batch, found)
    if rows is not None:
        _fill_rows(name, found, rows[0] * rows[1])
        _mark_last_documents(batch, found)
    return found


def _boundaries_in(batch: Mapping[str, Any], name: str, rows: Shape | None) -> Any:
    """Returns the boundaries of all documents of a batch, [documents + 1], in one array. Ignored at the end of a
    tensor: values below 0, and those after the first n, where n is the batch's `name`_argmin.

    name: the name of the boundaries in the batch.
    rows: [batch, row] of the batch's tokens, or None. If each row has its own boundaries, they are joined.
    """
    import numpy as np

    values = np.asarray(batch[name])
    if values.dtype.kind not in "iu" and not (values.dtype.kind == "f" and (values == np.floor(values)).all()):
        raise Error(name, "must have whole numbers as boundaries: pass integers")
    used = batch.get(f"{name}_argmin")
    lines = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    if len(lines) > 1 and (rows is None or rows[0] != len(lines)):
        raise Error(name, f"must be one list of boundaries, or one list for each row, got shape {list(values.shape)}")
    whole: list[int] = [0]
    for line in lines.tolist():
        line = [int(each) for each in (line if used is None else line[: int(np.asarray(used).reshape(-1)[0])])]
        while line and line[-1] < 0:
            line.pop()
        if len(lines) == 1:
            whole = line
            break
        assert rows is not None
        start = whole[-1]
        if not line or line[0] != 0 or line[-1] > rows[1]:
            raise Error(name, f"must begin at 0 in each row and end at {rows[1]}, the slots of a row, or before; got {line}")
        whole += [start + each for each in line[1:]]
        if line[-1] < rows[1]:
            raise Error(name, f"must end at {rows[1]}, the slots of a row, if the batch has several rows, got {line[-1]}")
    return np.array(whole, dtype=np.int64)


def _mark_padding(batch: Mapping[str, Any], found: Arguments) -> None:
    """Marks the last tokens of the last document as padding, if tail_padding_length or right_padding_length says so.

    found: the keywords of `Meter.add`, which are changed.
    """
    import numpy as np

    for name in ("tail_padding_length", "right_padding_length"):
        if batch.get(name) is None or (tail := int(np.asarray(batch[name]).reshape(-1)[0])) == 0:
            continue
        if any(key in found for key in ("cu_seqlens_padded", "cu_seqlens_real", "num_real_seqs")):
            raise Error(name, f"cannot be used together with other keys that describe padding: leave it out, or {FROM_BATCH}")
        bounds = found["cu_seqlens"]
        last = int(bounds[-1] - bounds[-2]) if len(bounds) > 1 else 0
        if not 0 <= tail <= last:
            raise Error(name, f"must be from 0 to {last}, the tokens of the last document, got {tail}")
        real = bounds.copy()
        real[-1] -= tail
        found["cu_seqlens"], found["cu_seqlens_padded"] = real, bounds


def _fill_rows(name: str, found: Arguments, slots: int) -> None:
    """Adds the slots after the last boundary to `found` as a document without real tokens. If the boundaries end at a
    multiple of `slots`, nothing is added: context parallelism has cut the sequences, and each of n ranks has one
    n-th of the tokens.

    name: the name of the boundaries, for the error.
    found: the keywords of `Meter.add`, which are changed.
    slots: the number of tokens in the batch.
    """
    import numpy as np

    bounds: Any = found.get("cu_seqlens_padded", found["cu_seqlens"])
    if len(bounds) == 0 or slots == 0 or (bounds[-1] >= slots and bounds[-1] % slots == 0):
        return
    if bounds[-1] > slots:
        raise Error(name, f"must end at {slots}, the slots of the batch, got {int(bounds[-1])}")
    if "cu_seqlens_real" in found:  # `cu_seqlens` begins with the real ones
        found.setdefault("num_real_seqs", len(found.pop("cu_seqlens_real")) - 1)
    found["cu_seqlens"] = np.append(found["cu_seqlens"], found["cu_seqlens"][-1])
    found["cu_seqlens_padded"] = np.append(bounds, slots)


def _mark_last_documents(batch: Mapping[str, Any], found: Arguments) -> None:
    """Marks the last documents as padding (slots without real tokens), if all that the batch says about them agrees
    with that.

    found: the keywords of `Meter.add`, which are changed.
    """
    if set(found) != {"cu_seqlens"}:
        return
    bounds = found["cu_seqlens"]
    lengths = [int(each) for each in bounds[1:] - bounds[:-1]]
    documents = Documents(lengths, list(lengths))
    if mark_padding_at_the_end(batch, documents, 0, int(bounds[-1])):
        found.update(documents.arguments())


def mark_padding_at_the_end(batch: Mapping[str, Any], documents: Documents, start: int, stop: int) -> bool:
    """Finds padding that a trainer added to the end of a row as extra documents. There, two or more tokens have the
    same id and no label, and some earlier token has another id. Sets the lengths of these documents to 0. Returns True
    if there are any.

    start, stop: the row is tokens `start` to `stop` of the flattened batch.
    """
    import numpy as np

    ids, labels = (batch.get(name) for name in ("input_ids", "labels"))
    if ids is None or labels is None or _is_stand_in(ids) or shape_of(ids) != shape_of(labels):
        return False
    row, aims = (np.asarray(value).reshape(-1)[start:stop] for value in (ids, labels))
    if len(row) != stop - start or not len(row):
        return False
    same = (row == row[-1]) & (aims == -100)
    tail = len(row) if same.all() else int(np.argmin(same[::-1]))
    if tail < 2 or (row == row[-1]).all():
        return False
    marked = 0
    left = tail
    for place in range(len(documents.lengths) - 1, -1, -1):
        if documents.lengths[place] > left or documents.lengths[place] == 0:
            break
        left -= documents.lengths[place]
        marked += 1
    if marked == 0 or tail - left < 2:
        return False
    first = len(documents.lengths) - marked
    documents.lengths[first:] = [0] * marked
    return True


def of_lengths(batch: Mapping[str, Any]) -> Arguments | None:
    """Reads the documents of a batch from a key with the lengths of the documents in each row. Tokens after a row's
    last document are padding. None without such a key."""
    name = next((name for name in LENGTHS if batch.get(name) is not None), None)
    if name is None:
        return None
    rows = row_shape(batch)
    real = _lists(name, batch[name], rows)
    padded = f"{name}_padded"
    slots = _lists(padded, batch[padded], rows) if batch.get(padded) is not None else [list(line) for line in real]
    documents = Documents([], [])
    for place, (line, room) in enumerate(zip(real, slots, strict=True)):
        if len(room) != len(line) or any(length > slot for length, slot in zip(line, room, strict=True)):
            raise Error(
                padded,
                f"must have a padded length for each document of {name}, at least the length of the document, got {room} "
                f"for {line} in row {place}",
            )
        result = Documents(line, room)
        if rows is not None:
            width = rows[1] if len(real) == rows[0] else rows[0] * rows[1]
            if sum(room) > width:
                raise Error(name, f"must add up to at most the {width} slots of a row, got {sum(room)} in row {place}")
            if sum(room) < width:
                result = Documents([*line, *([] if line else [0])], [*room, *([] if room else [0])])
                result.slots[-1] += width - sum(room)  # the last document gets the rest
            elif line == room:
                mark_padding_at_the_end(batch, result, place * width, (place + 1) * width)
        documents.lengths += result.lengths
        documents.slots += result.slots
    return documents.arguments()


def _lists(name: str, values: Any, rows: Shape | None) -> list[list[int]]:
    """Returns a list for each row with the lengths of its documents, without zeros at the end. A single list holds for
    all rows.

    name: the name of the lengths, for the error.
    rows: [batch, row] of the batch's tokens, or None.
    """
    import numpy as np

    nested = isinstance(values, (list, tuple)) and any(np.ndim(_host(each)) > 0 for each in values)
    lines = [np.asarray(_host(each)) for each in values] if nested else np.asarray(_host(values))
    if not nested and np.ndim(lines) == 1 and rows is not None and rows[0] > 1:
        if len(lines) != rows[0]:
            raise Error(name, f"must have a list for each of {rows[0]} rows, got {len(lines)} lengths")
        lines = np.asarray(lines)[:, None]
    elif not nested:
        lines = np.atleast_2d(lines)
    if rows is not None and len(lines) not in (1, rows[0]):
        raise Error(name, f"must have a list for each of {rows[0]} rows, got {len(lines)}")
    found = []
    for place, line in enumerate(lines):
        if line.dtype.kind not in "iu" and line.size:
            raise Error(name, "must have whole numbers as lengths of documents: pass integers")
        there = line > 0
        if (~there[:-1] & there[1:]).any():
            raise Error(name, f"must be above 0, except for zeros that fill the end of row {place}, got {line.tolist()}")
        found.append([int(each) for each in line[there]])
    return found


def _host(value: Any) -> Any:
    return value.detach() if hasattr(value, "detach") else value


def of_ids(batch: Mapping[str, Any]) -> Arguments | None:
    """Reads the documents of a batch from a key with a document id for each token. None without such a key."""
    import numpy as np

    name = next((name for name in IDS if batch.get(name) is not None), None)
    if name is None:
        return None
    ids = np.atleast_2d(np.asarray(_host(batch[name])))
    if ids.ndim != 2 or ids.dtype.kind not in "iub":
        raise Error(
            name,
            f"must be integers [batch, row], the id of the document of each slot, got shape {list(ids.shape)}",
        )
    ids = ids.astype(np.int64)
    rows = row_shape(batch)
    if rows is not None and ids.shape != rows:
        raise Error(name, f"must have the shape {list(rows)} of the tokens, got {list(ids.shape)}")
    if (ids < -1).any() or ((ids < 0).any() and name in IDS_FROM_ONE):
        raise Error(name, f"must be at least {0 if name in IDS_FROM_ONE else -1}, got {int(ids.min())}")
    if name in IDS_FROM_ZERO or (name not in IDS_FROM_ONE and _counts_from_zero(ids)):
        ids = ids + 1
    mask = batch.get("attention_mask")
    if mask is not None and shape_of(mask) == ids.shape:
        ids = ids * (mask_ids("attention_mask", mask) > 0)
    return documents_of(name, ids)


def _counts_from_zero(ids: Any) -> bool:
    """True if id 0 is a document, not padding. This holds if there is an id below 0 (which is then padding), if a row
    begins with 0 and has other ids, or if all ids are 0."""
    return bool((ids < 0).any() or (ids == 0).all() or ((ids[:, 0] == 0) & (ids > 0).any(axis=1)).any())


def mask_ids(key: str, value: Any) -> Any:
    """Returns an attention mask [batch, row] of document ids as whole numbers: 0 is padding, 1 or more is the id of a
    document."""
    import numpy as np

    shape = shape_of(value)
    if len(shape) != 2:
        raise Error(key, f"must be [batch, row], got shape {list(shape)}; for a mask of another shape {FROM_BATCH}")
    mask = np.asarray(value)
    if mask.dtype.kind not in "biuf" or not (mask >= 0).all() or not (mask == np.floor(mask)).all():
        raise Error(key, "must have whole numbers of at least 0: either 0 and 1, or ids of documents")
    return mask.astype(np.int64)


def of_mask_and_positions(batch: Mapping[str, Any]) -> Arguments | None:
    """Reads the documents of a batch from a mask of document ids, or from positions that restart in each document. None
    if no row is packed."""
    attention_mask = batch.get("attention_mask")
    mask = None if attention_mask is None or len(shape_of(attention_mask)) != 2 else mask_ids("attention_mask", attention_mask)
    if mask is not None and (mask > 1).any():
        return documents_of("attention_mask", mask)
    name = next((name for name in POSITIONS if batch.get(name) is not None), None)
    if name is None:
        return None
    return _of_positions(batch, name, mask)


def _of_positions(batch: Mapping[str, Any], name: str, mask: Any | None) -> Arguments | None:
    import numpy as np

    positions = np.asarray(batch[name])
    if name == "mrope_positions" and positions.ndim == 2:
        positions = positions[:, None]
    if positions.ndim == 1:
        positions = positions[None]
    several = positions.ndim == 3
    if several and len(positions) not in (3, 4) or positions.ndim not in (2, 3):
        raise Error(name, f"must be [batch, row] or [3 or 4, batch, row], got shape {list(positions.shape)}")
    rows = row_shape(batch)
    seen = positions.shape[-2:]
    shape = seen if rows is None else rows
    if seen not in (shape, (1, *shape[1:])):
        raise Error(name, f"must have the shape {list(shape)} of the tokens, got {list(positions.shape)}")
    real = np.ones(shape, dtype=bool) if mask is None or mask.shape != shape else mask.astype(bool)
    if several and len(positions) == 3:  # a patch may have 0 on some axes, only a first token on all
        starts = (positions == 0).all(axis=0)
    else:
        places = np.broadcast_to(positions[0] if several else positions, shape)
        starts = _beginnings(name, places, real)
    starts = np.broadcast_to(starts, shape) & real
    starts |= real & (np.cumsum(real, axis=1) == 1)  # a row may begin inside of a document
    if (starts.sum(axis=1) <= 1).all():
        return None
    ids = np.cumsum(starts, axis=1) * real
    for place, line in enumerate(ids):
        if real[place].all():
            lengths = np.bincount(line)[1:].tolist()
            row = Documents(list(lengths), lengths)
            if mark_padding_at_the_end(batch, row, place * len(line), (place + 1) * len(line)):
                real[place, sum(row.lengths) :] = False
    return documents_of(name, ids, real)


def _beginnings(name: str, places: Any, real: Any) -> Any:
    """Returns an array of bool, [batch, row]: where a document begins. That is where the position is the lowest of the
    batch: 0, or another number at which a model's position table starts.

    name: the name of the positions, for the error.
    places: positions, [batch, row].
    real: which slots have a real token, [batch, row].
    """
    import numpy as np

    if not real.any():
        return real
    lowest = int(places[real].min())
    starts = (places == lowest) if lowest >= 0 else np.zeros(places.shape, dtype=bool)
    falls = np.zeros(places.shape, dtype=bool)
    falls[:, 1:] = (places[:, 1:] < places[:, :-1]) & real[:, 1:] & real[:, :-1]
    if lowest < 0 or (falls & ~starts).any():
        row = int(np.argmax((falls & ~starts).any(axis=1)))
        raise Error(
            name,
            f"must begin again at {max(lowest, 0)} where a document begins, but the positions in row {row} decrease to "
            f"another number: {FROM_BATCH}",
        )
    return starts


def documents_of(name: str, ids: Any, real: Any | None = None) -> Arguments:
    """Returns the keywords of `Meter.add` for documents, each a run of tokens with equal ids. The keywords are the
    boundaries of the documents without and with padding. Padding belongs to the document before it. A document that is
    only padding has no real tokens."""
    import numpy as np

    starts = ids > 0
    starts[:, 1:] &= ids[:, 1:] != ids[:, :-1]
    for row, begins in enumerate(starts):
        documents = ids[row][begins]
        if len(np.unique(documents)) != len(documents):
            raise Error(
                name,
                f"the tokens of a document must be consecutive, but row {row} has other tokens between them: "
                f"{FROM_BATCH}",
            )
    first = starts & (np.cumsum(starts, axis=1) == 1)
    slots = starts & ~first
    slots[:, 0] = True
    slot_of = np.cumsum(slots.reshape(-1)) - 1
    counted = ids > 0 if real is None else (ids > 0) & real
    lengths = np.bincount(slot_of[counted.reshape(-1)], minlength=int(slot_of[-1]) + 1)
    cu_seqlens = np.append(0, np.cumsum(lengths)).astype(np.int64)
    padded = np.append(np.flatnonzero(slots), slots.size).astype(np.int64)
    found: Arguments = {"cu_seqlens": cu_seqlens}
    if not np.array_equal(cu_seqlens, padded):
        found["cu_seqlens_padded"] = padded
    return found
