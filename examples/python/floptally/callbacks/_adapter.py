# SPDX-License-Identifier: Apache-2.0
"""The part that the callbacks of all frameworks share: lengths from a batch, the time of a step, names for a logger."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary, proxy

from .. import Error, Meter, Tally, Verification, verify
from .._later import Arguments, Copy
from ._batches import Sides, arguments_of, batch_arguments, named, read_of
from ._names import BATCH_KEYS
from ._recompute import require_recompute

__all__ = ["BATCH_KEYS", "MeterAdapter", "batch_arguments", "batches_left_out", "postfix", "step"]

# Scalars that are still there where a batch of their interval is left out.
_OF_TIME = ("step_seconds", "steps")


def postfix(meter: Meter) -> str:
    """The run so far in a few characters: "MFU 41.2% | 410 TFLOP/s" of one GPU, and by the convention that the meter shows
    beside "| megatron 42.9% | 427 TFLOP/s". Empty before the first step."""
    done = meter.run
    if done.steps == 0:
        return ""

    def both(name: str, mfu_pct: float, rate: float) -> str:
        return f"{name} {mfu_pct:.1f}% | {rate:.{0 if rate >= 99.95 else 1 if rate >= 9.995 else 3}f} TFLOP/s"

    shown = both("MFU", 100 * done.mfu, done.tflops_per_gpu)
    if meter.beside is None:
        return shown
    found = meter.scalars("run", "")
    by = meter.beside
    return f"{shown} | {both(by, found[f'mfu_{by}_pct'], found[f'tflops_{by}_per_gpu'])}"


class MeterAdapter:
    """A meter between the hooks of a trainer. One step: `begin`, `add` for each microbatch, `end`.

    meter: a `floptally.Meter` of your own.
    arguments: from a batch to what `Meter.add` takes; `batch_arguments` by default. One of your own is given the batch
        as it is, on its device.
    prefix: before the names of scalars.
    reduce: from the tally of this rank's step to that of all ranks (`floptally.distributed.Reduction`), where the meter
        has none of its own; the meter's gpus are then all that work together, `Meter(..., counted="all_gpus")`. With
        neither they are those that work on this rank's batches.
    clock: seconds as a float. A step lasts from the end of the one before it, so that waiting for data counts, but for
        what `pause` leaves out: evaluation and checkpoints.
    trust_plan: counts what the meter's plan recomputes, whatever the model says of itself.
    verify: runs PyTorch's own counter on the model and the first batch (`floptally.verify`): `verification` has what it
        found, and the notes a line of it. It takes seconds, of the first step, and no memory of the model's size.

    The first batch is waited for, and one that cannot be counted is an error then. Later none is: the step of a batch
    that cannot be counted is left out of the meter, `batches_left_out` counts its microbatches, one RuntimeWarning says
    why, and the scalars of that interval have no rates. Ranks that sum by a Reduction leave it out together.
    """

    def __init__(
        self,
        meter: Meter,
        *,
        arguments: Callable[[Any], Arguments] | None = None,
        prefix: str = "train/",
        reduce: Callable[[Tally], Tally] | None = None,
        clock: Callable[[], float] = time.perf_counter,
        trust_plan: bool = False,
        verify: bool = False,
    ) -> None:
        if not isinstance(meter, Meter):
            raise Error("meter", f"must be a floptally.Meter, got {meter!r}")
        self.meter = meter
        self.prefix = prefix
        self.batches_left_out = 0  #: microbatches of steps that are not counted
        self.notes: list[str] = []  #: what has to be known to read the numbers
        self.verification: Verification | None = None  #: of the first batch, where it was asked for
        self._verify = verify
        self._model: Any = None  # that is to be verified, until it was
        self._arguments = arguments
        self._reduce = reduce
        self._trust_plan = trust_plan
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
        self._sides: Sides | None = None
        self._waiting: list[Copy] = []
        self._started = False  # a batch was counted, and a sum over the ranks where there is one
        self._summed = False
        self._batches = 0  # of the open step
        self._problem: Exception | None = None  # why the open step cannot be counted
        self._left_out_since = 0
        self._warned = False

    def watch(self, model: Any) -> None:
        """Reads a PyTorch model before its first step: the size of its images, and what it recomputes. Error where the
        meter's plan says otherwise."""
        self._sides = Sides.of(self.meter.cost, model)
        self._model = model if self._verify else None
        if self._trust_plan:
            self.note("what is recomputed is what the plan says")
        elif hasattr(model, "named_modules"):
            self.note(require_recompute(self.meter.plan, model))

    def note(self, text: str) -> None:
        """Keeps something that has to be known to read the numbers, once."""
        if text not in self.notes:
            self.notes.append(text)

    def begin(self) -> None:
        """Opens a step, where none is open."""
        if not self.meter.in_step:
            self._mark = self._clock() if self._mark is None else self._mark
            self._batches, self._problem = 0, None
            self.meter.begin_step()

    def add(self, batch: Any) -> None:
        """One microbatch. Tensors of a GPU are copied without a wait, and counted when they are there: a step later."""
        self._batches += 1
        if not self._started:
            self._verify_first(batch)
            first = self._copied(batch)
            first.wait()
            self._add_first(first.arguments())
            self._started = True
        elif self._problem is None:
            try:
                self._waiting.append(self._copied(batch))
            except Exception as problem:
                self._problem = problem

    def _verify_first(self, batch: Any) -> None:
        """PyTorch's counter on the first batch; what keeps it from running is a note, and ends no training."""
        model, self._model = self._model, None
        if model is None:
            return
        try:
            cost = self.meter.cost.planned(self.meter.plan)
            self.verification = verify(model, batch, cost=cost, arguments=self._arguments)
            self.note(f"verified: {self.verification.line}")
        except Exception as problem:
            self.note(f"not verified: {problem}")

    def _copied(self, batch: Any) -> Copy:
        if self._arguments is not None:
            return Copy(self._arguments(batch))
        sides = self._sides = self._sides or Sides.of(self.meter.cost)
        return Copy(read_of(named(batch), sides), lambda values: arguments_of(values, sides))

    def _add_first(self, arguments: Arguments) -> None:
        """Counts at once, so that what cannot be is an error here."""
        if self._mine is None:
            self.meter.add(**arguments)
        else:
            with self._mine.step(seconds=1.0):
                self._mine.add(**arguments)
            self._waiting.append(Copy({"tally": self._mine.last_step.tally}))

    def end(self, seconds: float | None = None) -> None:
        """Closes the step, with the time since the last one ended or with the one that is given. With tensors of a GPU
        its totals are there a step later, or once `meter.finish()` has waited for them; with `reduce` it waits itself."""
        now = self._clock()
        mark, self._mark = self._mark, now
        if seconds is None:
            seconds = now - (now if mark is None else mark)
        waiting, self._waiting = self._waiting, []
        try:
            if self._problem is not None:
                raise self._problem
            self._end_step(waiting, seconds)
        except Exception as problem:
            sums = self._reduce is not None or self.meter.reduces
            if self.meter.in_step:
                if sums and not isinstance(problem, _SumFailed):
                    self._refuse()
                if self.meter.in_step:
                    self.meter.discard_step()
            cause = problem.cause if isinstance(problem, _SumFailed) else problem
            if isinstance(problem, _SumFailed) and not self._summed and getattr(cause, "field", "") != "sum":
                raise cause from None  # on all ranks: they are not configured alike
            self._leave_out(cause, self._batches)
        self._summed = True

    def _end_step(self, waiting: list[Copy], seconds: float) -> None:
        if self._mine is not None and self._reduce is not None:
            with self._mine.step(seconds=1.0):
                for batch in waiting:
                    batch.wait()
                    self._mine.add(**batch.arguments())
            try:
                everyone = self._reduce(self._mine.last_step.tally)
            except Exception as problem:
                raise _SumFailed(problem) from problem
            self.meter.add(tally=everyone)
        else:
            for batch in waiting:
                if batch.from_gpu and not self.meter.reduces:
                    self.meter.add_later(_Careful(batch, self, self._batches))
                else:
                    batch.wait()
                    self.meter.add(**batch.arguments())
        try:
            self.meter.end_step(seconds=seconds)
        except Exception as problem:
            if self.meter.reduces:
                raise _SumFailed(problem) from problem
            raise

    def _refuse(self) -> None:
        """Takes part in the sum over the ranks with what makes all of them leave the step out."""
        if self.meter.reduces:
            self.meter.discard_step()
            self.meter.begin_step()
            with suppress(Exception):
                self.meter.end_step(seconds=math.nan)
        elif self._reduce is not None:
            from ..distributed import Reduction

            refusal = self.meter.new_tally()  # a function of one's own gets no tokens
            if isinstance(self._reduce, Reduction):  # other masks than the model's are refused on all ranks
                refusal = _of_other_masks(refusal)
            with suppress(Exception):
                self._reduce(refusal)

    def _leave_out(self, problem: Exception, batches: int) -> None:
        """Counts what is left out, and says the first time why."""
        self.batches_left_out += batches
        self._left_out_since += batches
        if not self._warned:
            self._warned = True
            said = problem if isinstance(problem, Error) else f"{type(problem).__name__}: {problem}"
            warnings.warn(
                f"{said} (the step is left out, and so is MFU where one is: {self.prefix}batches_left_out counts its "
                "microbatches; nothing is said of later ones)",
                RuntimeWarning,
                stacklevel=3,
            )

    def pause(self) -> None:
        """The next step begins anew: what happened since the last one is not training."""
        self._mark = None

    def discard(self) -> None:
        """Forgets an open step."""
        self._waiting.clear()
        self._mark = None
        if self.meter.in_step:
            self.meter.discard_step()

    def finish(self) -> None:
        """Waits for what is on its way from a GPU."""
        self._safely(self.meter.finish)

    def scalars(self) -> dict[str, float]:
        """Those of the steps since the last call, which begins a new interval; empty where there was none. Where a
        batch was left out they are times of steps alone, and how many batches were."""
        return self._safely(self._scalars) or {}

    def _scalars(self) -> dict[str, float]:
        steps = self.meter.interval.steps  # joins what has come from a GPU, and leaves out what cannot be counted
        found = self.meter.scalars(span="interval", prefix=self.prefix) if steps > 0 else {}
        left_out, self._left_out_since = self._left_out_since, 0
        if left_out > 0:
            of_time = tuple(self.prefix + name for name in _OF_TIME)
            found = {name: value for name, value in found.items() if name.startswith(of_time)}
            found[f"{self.prefix}batches_left_out"] = float(left_out)
        if steps > 0:
            self.meter.reset_interval()
        return found

    def _safely(self, call: Callable[[], Any]) -> Any:
        """The result of a call, or None where it is an error: that is said, and ends no training."""
        try:
            return call()
        except Exception as problem:
            self._leave_out(problem, 0)
            return None

    def report(self) -> str:
        """The run so far, and what has to be known to read it."""
        done = self.meter.run
        lines = []
        if done.steps > 0:
            whole = f"HFU {100 * done.hfu:.1f}%, {done.steps} steps in {done.seconds:.1f} s"
            lines.append(f"{postfix(self.meter)}, {whole}")
        if self.batches_left_out > 0:
            lines.append(f"{self.batches_left_out} batches are left out, with the steps that they are of")
        return "\n".join([*lines, *self.notes])


class _SumFailed(Exception):
    """A sum over the ranks that failed, as it did on all of them, and why."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Careful:
    """A microbatch on its way from a GPU, whose step is left out where it cannot be counted."""

    def __init__(self, copy: Copy, adapter: MeterAdapter, batches: int) -> None:
        self._copy, self._adapter, self._batches = copy, adapter, batches

    def done(self) -> bool:
        return self._copy.done()

    def wait(self) -> None:
        self._copy.wait()

    def arguments(self) -> Arguments:
        return self._copy.arguments()

    def failed(self, problem: Exception) -> None:
        self._adapter._leave_out(problem, self._batches)


def _of_other_masks(tally: Tally) -> Tally:
    from .. import Mask

    other = Mask.sliding_window(1)
    return Tally([other] if other not in tally.masks else [Mask.sliding_window(2), *tally.masks])


_loops: WeakKeyDictionary[Meter, MeterAdapter] = WeakKeyDictionary()


def _loop(meter: Meter) -> MeterAdapter:
    """The adapter that `step` keeps for a meter."""
    found = _loops.get(meter)
    if found is None:
        found = _loops[meter] = MeterAdapter(proxy(meter))
    return found


@contextmanager
def step(meter: Meter, *batches: Any, seconds: float | None = None, model: Any = None) -> Iterator[Meter]:
    """`with meter.step():` with the microbatches of the step given as batches. What cannot be counted is an error in
    the first of a meter's steps, and is left out later (`batches_left_out`).

    model: is read before the first step (`MeterAdapter.watch`).
    """
    loop = _loop(meter)
    if model is not None and not loop._started:
        loop.watch(model)
    meter.begin_step()
    loop._batches, loop._problem = 0, None
    try:
        for batch in batches:
            loop.add(batch)
        waiting, loop._waiting = loop._waiting, []
        for one in waiting:
            try:
                if one.from_gpu and not meter.reduces:
                    meter.add_later(_Careful(one, loop, loop._batches))
                else:
                    one.wait()
                    meter.add(**one.arguments())
            except Exception as problem:
                loop._problem = loop._problem or problem
        yield meter
    except BaseException:
        loop._waiting = []
        if meter.in_step:
            meter.discard_step()
        raise
    if loop._problem is None:
        meter.end_step(seconds)
    else:
        loop._refuse()
        if meter.in_step:
            meter.discard_step()
        loop._leave_out(loop._problem, loop._batches)


def batches_left_out(meter: Meter) -> int:
    """Microbatches that `step` could not count, and has left out with their steps."""
    return _loop(meter).batches_left_out
