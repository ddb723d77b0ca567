# SPDX-License-Identifier: Apache-2.0
"""What the callbacks of all frameworks share: lengths from a batch, the time of a step, names for a logger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .. import Error, Meter, Tally

Arguments = dict[str, Any]

# What batch_arguments reads, under the names of Hugging Face's collators and models.
BATCH_KEYS = (
    "cu_seq_lens_q", "cu_seq_lens_q_padded", "cu_seq_lens_q_real", "num_real_seqs", "position_ids", "attention_mask",
    "input_ids", "inputs_embeds", "decoder_attention_mask", "decoder_input_ids", "image_grid_thw", "video_grid_thw",
)  # fmt: skip


def batch_arguments(batch: Mapping[str, Any]) -> Arguments:
    """What `Meter.add` takes, from a batch of tensors or arrays on the host as collators make it. The first that fits:

    cu_seq_lens_q        boundaries of a packed row, with cu_seq_lens_q_padded, num_real_seqs and cu_seq_lens_q_real
                         (the boundaries of the real sequences alone) where they are there
    decoder_input_ids    both sides of an encoder-decoder: their masks' row sums, else the widths of their rows
    attention_mask       [batch, row]: its ones are useful, its shape is padded
    position_ids         [batch, row] that begin again at 0 inside a row: packed sequences. Where there is a mask too,
                         it must be all ones; else the mask is taken
    input_ids            [batch, row], or inputs_embeds [batch, row, width]: whole rows

    image_grid_thw and video_grid_thw, [images, 3], are added to any of these. Error where nothing fits.
    """
    import numpy as np

    def array(key: str) -> Any:
        return np.asarray(batch[key])

    def has(key: str) -> bool:
        return batch.get(key) is not None

    def lengths(mask: str, *rows: str) -> Any:
        if has(mask) and array(mask).ndim == 2:
            return array(mask).astype(bool).sum(axis=1)
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
    elif _is_packed(batch):
        starts = array("position_ids") == 0
        starts[:, 0] = True  # where a row begins inside of a sequence
        found["cu_seqlens"] = np.append(np.flatnonzero(starts), starts.size).astype(np.int64)
    elif has("attention_mask") and array("attention_mask").ndim == 2:
        found["attention_mask"] = np.ascontiguousarray(array("attention_mask").astype(bool))
    elif has("input_ids") or has("inputs_embeds"):
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


def _is_packed(batch: Mapping[str, Any]) -> bool:
    """True where positions begin again inside of a row, and no mask says that some of them are padding."""
    import numpy as np

    if batch.get("position_ids") is None:
        return False
    positions = np.asarray(batch["position_ids"])
    mask = None if batch.get("attention_mask") is None else np.asarray(batch["attention_mask"])
    if positions.ndim != 2 or (mask is not None and mask.ndim == 2 and not mask.all()):
        return False
    return bool((positions[:, 1:] == 0).any())


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
        self._waiting: list[tuple[Any, Arguments]] = []

    def begin(self) -> None:
        """Opens a step, where none is open."""
        if not self.meter.in_step:
            self._mark = self._clock() if self._mark is None else self._mark
            self.meter.begin_step()

    def add(self, batch: Any) -> None:
        """One microbatch. Tensors of a GPU are copied without a wait and counted when the step ends."""
        if self._arguments is not None:
            self._waiting.append((None, self._arguments(batch)))
        elif not isinstance(batch, Mapping):
            raise Error("batch", f"must be a mapping of tensors, or give arguments=, got {type(batch).__name__}")
        else:
            self._waiting.append(_on_host(batch))

    def end(self) -> None:
        """Closes the step with the time since the last one ended."""
        now = self._clock()
        if self._mine is None or self._reduce is None:
            self._count(self.meter)
        else:
            with self._mine.step(seconds=1.0):
                self._count(self._mine)
            self.meter.add(tally=self._reduce(self._mine.last_step.tally))
        self._waiting.clear()
        started = now if self._mark is None else self._mark
        self.meter.end_step(seconds=now - started)
        self._mark = now

    def _count(self, meter: Meter) -> None:
        for ready, found in self._waiting:
            if ready is not None:
                ready.synchronize()
            meter.add(**(batch_arguments(found) if self._arguments is None else found))

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


def _on_host(batch: Mapping[str, Any]) -> tuple[Any, Arguments]:
    """What is read of a batch, on the host; an event to wait for where it comes from a GPU (into pinned memory)."""
    event = None
    found: Arguments = {}
    for key in BATCH_KEYS:
        value = batch.get(key)
        if value is None:
            continue
        if hasattr(value, "device") and getattr(value.device, "type", "cpu") == "cuda":
            import torch

            if key in ("input_ids", "inputs_embeds", "decoder_input_ids"):  # their shape is all that is read
                value = torch.empty(value.shape[:2], dtype=torch.bool)
            else:
                value = value.to("cpu", non_blocking=True)
                event = event or torch.cuda.Event()  # type: ignore[no-untyped-call,unused-ignore]
                event.record()
        found[key] = value.detach() if hasattr(value, "detach") else value
    return event, found


@contextmanager
def step(meter: Meter, *batches: Any, seconds: float | None = None) -> Iterator[Meter]:
    """`with meter.step():` with the microbatches of the step given as batches."""
    with meter.step(seconds=seconds):
        for batch in batches:
            meter.add(**batch_arguments(batch))
        yield meter
