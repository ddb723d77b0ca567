# SPDX-License-Identifier: Apache-2.0
"""What the callbacks of all frameworks share: lengths from a batch, the time of a step, names for a logger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import Error, Meter, Tally
from .._later import Arguments, Copy

# What batch_arguments reads, under the names of Hugging Face's collators and models.
BATCH_KEYS = (
    "cu_seq_lens_q", "cu_seq_lens_q_padded", "cu_seq_lens_q_real", "num_real_seqs", "position_ids", "attention_mask",
    "input_ids", "inputs_embeds", "decoder_attention_mask", "decoder_input_ids", "image_grid_thw", "video_grid_thw",
)  # fmt: skip


def batch_arguments(batch: Any) -> Arguments:
    """What `Meter.add` takes, from a batch of tensors or arrays on the host as collators make it. The first that fits:

    cu_seq_lens_q        boundaries of a packed row, with cu_seq_lens_q_padded, num_real_seqs and cu_seq_lens_q_real
                         (the boundaries of the real sequences alone) where they are there
    decoder_input_ids    both sides of an encoder-decoder: their masks' row sums, else the widths of their rows
    attention_mask       [batch, row] with ids above 1: packed documents, 0 is padding
    position_ids         [batch, row] that begin again at 0 among a row's real tokens: packed documents. Of rank 3
                         [3 or 4, batch, row]: of text, time, row and column (mrope), which begin again together
    attention_mask       [batch, row] of 0 and 1: its ones are useful, its shape is padded
    input_ids            [batch, row], or inputs_embeds [batch, row, width]: whole rows

    Padding of a packed row is in the slot of the document before it. image_grid_thw and video_grid_thw, [images, 3], are
    added to any of these. Error where nothing fits, or where a mask says more than can be read of it.

    A tensor, or a list of tensors as a TensorDataset gives it, is input_ids or inputs_embeds, the first of the list:
    whole rows. Where a later one could be a mask, that is an error. Of a list that begins with a mapping it is that one.
    """
    import numpy as np

    batch = _named(batch)
    def array(key: str) -> Any:
        return np.asarray(batch[key])

    def has(key: str) -> bool:
        return batch.get(key) is not None

    def lengths(mask: str, *rows: str) -> Any:
        if has(mask):
            ids = _mask_ids(mask, batch[mask])
            if (ids > 1).any():
                raise Error(mask, "has ids above 1: documents that are packed on two sides need a function as arguments=")
            return ids.sum(axis=1)
        shape = next(array(key).shape for key in rows if has(key))
        return np.full(shape[0], shape[1], dtype=np.int64)

    found: Arguments = {}
    if has("cu_seq_lens_q"):
        found["cu_seqlens"] = np.ascontiguousarray(array("cu_seq_lens_q").reshape(-1))
        for key, name in (("cu_seq_lens_q_padded", "cu_seqlens_padded"), ("cu_seq_lens_q_real", "cu_seqlens_real")):
            if has(key):
                found[name] = np.ascontiguousarray(array(key).reshape(-1))
        if has("num_real_seqs"):
            found["num_real_seqs"] = int(batch["num_real_seqs"])
    elif has("decoder_input_ids"):
        found["lengths"] = lengths("decoder_attention_mask", "decoder_input_ids")
        found["encoder_lengths"] = lengths("attention_mask", "input_ids", "inputs_embeds")
    elif (ids := _document_ids(batch)) is not None:
        found.update(_boundaries(ids))
    elif has("attention_mask"):
        found["attention_mask"] = np.ascontiguousarray(_mask_ids("attention_mask", batch["attention_mask"]).astype(bool))
    elif has("input_ids") or has("inputs_embeds"):
        for key in batch:
            if str(key).startswith("batch["):
                _refuse_mask(key, array(key))
        found["lengths"] = lengths("", "input_ids", "inputs_embeds")
    grids = [array(key).reshape(-1, 3) for key in ("image_grid_thw", "video_grid_thw") if has(key)]
    if grids:
        found["grid_thw"] = np.ascontiguousarray(np.concatenate(grids))
    if not found:
        raise Error(
            "batch",
            f"must have one of {', '.join(BATCH_KEYS)}, or give a function of your own as arguments=, "
            f"got {', '.join(map(str, batch)) or 'nothing'}",
        )
    return found


def _named(batch: Any) -> Mapping[str, Any]:
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
            "must be a mapping of tensors, or tensors of which the first is [batch, row] of ids or [batch, row, width] of "
            f"embeddings, or give arguments=, got {type(batch).__name__}"
            + (f" with shape {list(shapes[0])}" if shapes and shapes[0] is not None else ""),
        )
    named = {"input_ids" if ids else "inputs_embeds": parts[0]}
    for place, (one, shape) in enumerate(zip(parts, shapes, strict=True)):
        if place > 0 and shape is not None and shapes[0] is not None and shape == shapes[0][:2] and _kind(one) in "biu":
            named[f"batch[{place}]"] = one
    return named


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
            "may be a mask, having 0 and 1 alone: give arguments=, as lambda batch: {'attention_mask': " + key + "}, or "
            "{'lengths': [batch[0].shape[1]] * len(batch[0])} where it is none",
        )


def _mask_ids(key: str, value: Any) -> Any:
    """A mask [batch, row] of whole numbers: 0 for padding, 1 or the id of a document."""
    import numpy as np

    shape = tuple(getattr(value, "shape", np.shape(value)))
    if len(shape) != 2:
        raise Error(key, f"must be [batch, row] to be read, got shape {list(shape)}: give a function as arguments=")
    mask = np.asarray(value)
    if mask.dtype.kind not in "biuf" or not (mask >= 0).all() or not (mask == np.floor(mask)).all():
        raise Error(key, "must have 0 and 1, or ids of documents, as whole numbers from 0")
    return mask.astype(np.int64)


def _document_ids(batch: Mapping[str, Any]) -> Any | None:
    """Documents of packed rows as ids [batch, row], 0 for padding; None where no row is packed."""
    import numpy as np

    given = batch.get("attention_mask")
    mask = None if given is None or len(getattr(given, "shape", np.shape(given))) != 2 else _mask_ids("attention_mask", given)
    if mask is not None and (mask > 1).any():
        return mask
    if batch.get("position_ids") is None:
        return None
    positions = np.asarray(batch["position_ids"])
    if positions.ndim == 3 and len(positions) in (3, 4):
        # Of four the first are the text's own; of three a patch may be 0 in some, the first token alone in all.
        starts = (positions[0] == 0) if len(positions) == 4 else (positions == 0).all(axis=0)
    elif positions.ndim == 2:
        starts = positions == 0
    else:
        raise Error("position_ids", f"must be [batch, row] or [3 or 4, batch, row], got shape {list(positions.shape)}")
    rows = mask if mask is not None else batch.get("input_ids")
    shape = starts.shape if rows is None else tuple(rows.shape[:2]) if hasattr(rows, "shape") else np.shape(rows)
    if starts.shape not in (shape, (1, *shape[1:])):
        raise Error("position_ids", f"must be of {list(shape)} tokens, got shape {list(positions.shape)}")
    real = np.ones(shape, dtype=bool) if mask is None else mask.astype(bool)
    starts = np.broadcast_to(starts, shape) & real
    starts |= real & (np.cumsum(real, axis=1) == 1)  # a row may begin inside of a document
    if (starts.sum(axis=1) <= 1).all():
        return None
    return np.cumsum(starts, axis=1) * real


def _boundaries(ids: Any) -> Arguments:
    """The boundaries of documents, each a run of one id, and of the slots that they fill with the padding behind them."""
    import numpy as np

    starts = ids > 0
    starts[:, 1:] &= ids[:, 1:] != ids[:, :-1]
    for row, one in enumerate(starts):
        documents = ids[row][one]
        if len(np.unique(documents)) != len(documents):
            raise Error("attention_mask", f"the tokens of a document must stand together, they do not in row {row}")
    first = starts & (np.cumsum(starts, axis=1) == 1)
    slots = starts & ~first
    slots[:, 0] = True
    slot_of = np.cumsum(slots.reshape(-1)) - 1
    lengths = np.bincount(slot_of[ids.reshape(-1) > 0], minlength=int(slot_of[-1]) + 1)
    cu_seqlens = np.append(0, np.cumsum(lengths)).astype(np.int64)
    padded = np.append(np.flatnonzero(slots), slots.size).astype(np.int64)
    found: Arguments = {"cu_seqlens": cu_seqlens}
    if not np.array_equal(cu_seqlens, padded):
        found["cu_seqlens_padded"] = padded
    return found


def postfix(meter: Meter) -> str:
    """The run so far in a few characters: "MFU 41.2% | 410 TFLOP/s" of one GPU. Empty before the first step."""
    done = meter.run
    if done.steps == 0:
        return ""
    rate = done.tflops_per_gpu
    return f"MFU {100 * done.mfu:.1f}% | {rate:.{0 if rate >= 99.95 else 1 if rate >= 9.995 else 3}f} TFLOP/s"


class MeterAdapter:
    """A meter between the hooks of a trainer. One step: `begin`, `add` for each microbatch, `end`.

    meter: a `floptally.Meter` of your own.
    arguments: from a batch to what `Meter.add` takes; `batch_arguments` by default. One of your own is given the batch
        as it is, on its device.
    prefix: before the names of scalars.
    reduce: from the tally of this rank's step to that of all ranks (`floptally.distributed.Reduction`), where the meter has
        none of its own; the meter's gpus are then all that work together, `Meter(..., counted="all_gpus")`. With neither
        they are those that work on this rank's batches.
    clock: seconds as a float. A step lasts from the end of the one before it, so that waiting for data counts, but for
        what `pause` leaves out: evaluation and checkpoints.
    """

    def __init__(
        self,
        meter: Meter,
        *,
        arguments: Callable[[Any], Arguments] | None = None,
        prefix: str = "train/",
        reduce: Callable[[Tally], Tally] | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if not isinstance(meter, Meter):
            raise Error("meter", f"must be a floptally.Meter, got {meter!r}")
        self.meter = meter
        self.prefix = prefix
        self._arguments = arguments
        self._reduce = reduce
        self._mine: Meter | None = None  # what is counted apart, and then that of all ranks as one
        if reduce is not None:
            if meter.reduces:
                raise Error("reduce", "must not be given: the meter has a reduction of its own")
            compared = getattr(reduce, "convention", meter.convention)
            if compared != meter.convention:
                raise Error(
                    "convention",
                    f'the reduction compares "{compared}" over the ranks, and the meter counts by "{meter.convention}"',
                )
            self._mine = Meter(meter.cost, gpus=1, peak_tflops=1.0, convention=meter.convention, plan=meter.plan)
        self._clock = clock
        self._mark: float | None = None
        self._waiting: list[Copy] = []

    def begin(self) -> None:
        """Opens a step, where none is open."""
        if not self.meter.in_step:
            self._mark = self._clock() if self._mark is None else self._mark
            self.meter.begin_step()

    def add(self, batch: Any) -> None:
        """One microbatch. Tensors of a GPU are copied without a wait, and counted when they are there: a step later."""
        if self._arguments is not None:
            self._waiting.append(Copy(self._arguments(batch)))
        else:
            self._waiting.append(Copy(_read_of(_named(batch)), batch_arguments))

    def end(self) -> None:
        """Closes the step with the time since the last one ended. With tensors of a GPU its totals are there a step later,
        or once `meter.finish()` has waited for them; with `reduce` it waits itself."""
        now = self._clock()
        left_out: Error | None = None
        if self._mine is None or self._reduce is None:
            self._count(self.meter)
        else:
            with self._mine.step(seconds=1.0):
                self._count(self._mine)
            try:
                self._mine.finish()
            except Error as problem:  # of one microbatch: the others are counted, and other ranks wait for the sum
                left_out = problem
            self.meter.add(tally=self._reduce(self._mine.last_step.tally))
        self._waiting.clear()
        started = now if self._mark is None else self._mark
        self.meter.end_step(seconds=now - started)
        self._mark = now
        if left_out is not None:
            raise left_out

    def _count(self, meter: Meter) -> None:
        for one in self._waiting:
            _count(meter, one)

    def pause(self) -> None:
        """The next step begins anew: what happened since the last one is not training."""
        self._mark = None

    def discard(self) -> None:
        """Forgets an open step."""
        self._waiting.clear()
        self._mark = None
        if self.meter.in_step:
            self.meter.discard_step()

    def scalars(self) -> dict[str, float]:
        """Those of the steps since the last call, which begins a new interval; empty where there was none."""
        if self.meter.interval.steps == 0:
            return {}
        found = self.meter.scalars(span="interval", prefix=self.prefix)
        self.meter.reset_interval()
        return found


def _count(meter: Meter, one: Copy) -> None:
    if one.from_gpu:
        meter.add_later(one)
    else:
        meter.add(**one.arguments())


def _read_of(batch: Mapping[str, Any]) -> Arguments:
    """What is read of a batch: of ids and embeddings the shape alone."""
    import numpy as np

    found: Arguments = {}
    for key in (*BATCH_KEYS, *(key for key in batch if str(key).startswith("batch["))):
        value = batch.get(key)
        if value is None:
            continue
        if key in ("input_ids", "inputs_embeds", "decoder_input_ids") and hasattr(value, "shape"):
            value = np.empty(tuple(value.shape[:2]), dtype=bool)
        found[key] = value.detach() if hasattr(value, "detach") else value
    return found


@contextmanager
def step(meter: Meter, *batches: Any, seconds: float | None = None) -> Iterator[Meter]:
    """`with meter.step():` with the microbatches of the step given as batches."""
    with meter.step(seconds=seconds):
        for batch in batches:
            _count(meter, Copy(_read_of(_named(batch)), batch_arguments))
        yield meter
