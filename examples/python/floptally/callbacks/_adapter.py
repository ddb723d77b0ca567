# SPDX-License-Identifier: Apache-2.0
"""What all trainer callbacks share: lengths from a batch, the time of a step, names for a logger."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol
from weakref import WeakKeyDictionary, proxy

from .. import Error, Meter, Tally, Verification, verify
from .._deferred import Arguments, Copy
from ._batches import Sides, arguments_of, batch_arguments, microbatches, named, read_of
from ._headline import headline, other_precision
from ._names import BATCH_KEYS
from ._plans import plan_with_model

__all__ = ["BATCH_KEYS", "MeterAdapter", "batch_arguments", "batches_left_out", "pause", "postfix", "step"]

# Scalars that are still logged if a batch of their interval is left out.
_OF_TIME = ("step_seconds", "steps")


def postfix(meter: Meter) -> str:
    """Returns the rates of the run so far as a short text: "MFU 41.2% | 410 TFLOP/s" of one GPU. If the meter has a
    second convention, "| megatron 42.9% | 427 TFLOP/s" follows. Empty before the first step."""
    done = meter.run
    if done.steps == 0:
        return ""

    def both(name: str, mfu_pct: float | None, rate: float) -> str:
        tflops = f"{rate:.{0 if rate >= 99.95 else 1 if rate >= 9.995 else 3}f} TFLOP/s"
        return tflops if mfu_pct is None else f"{name} {mfu_pct:.1f}% | {tflops}"

    found = meter.scalars("run", "")
    shown = both("MFU", found.get("mfu_pct"), done.tflops_per_gpu)
    by = meter.beside
    if f"tflops_{by}_per_gpu" not in found:
        return shown
    return f"{shown} | {both(str(by), found.get(f'mfu_{by}_pct'), found[f'tflops_{by}_per_gpu'])}"


class Duration(Protocol):
    """The duration of a step, which may not have arrived from the GPU yet."""

    def done(self) -> bool:
        """True once the duration of the step is known."""

    def wait(self) -> None:
        """Waits until the duration of the step is known."""

    def seconds(self) -> float:
        """Returns the duration of the step in seconds. Call it once done() is true."""


@dataclass
class _Ended:
    """A step that has ended, and is not in the meter yet."""

    batches: list[Copy]
    microbatches: int
    problem: Exception | None
    seconds: float | Duration


class MeterAdapter:
    """Connects a `floptally.Meter` to the hooks of a trainer. One step is `begin`, `add` for each microbatch, `end`.

    meter: a `floptally.Meter` that you construct.
    arguments: a function from a batch to the keywords of `Meter.add`; `batch_arguments` by default. Your own
        function gets the batch unchanged, on its device.
    prefix: the start of each scalar's name.
    reduce: a function from the tally of this rank's step to that of all ranks (`floptally.distributed.Reduction`),
        if the meter has none. The meter then needs `counted="all_gpus"`, with all GPUs of the job as `gpus`.
        Without any reduction, `gpus` are those that work on this rank's batches.
    clock: a function that returns seconds as a float. A step lasts from the end of the previous step, so waiting
        for data counts. `pause`, `restart` and `exclude` leave out evaluation and checkpoints.
    trust_plan: True counts by the meter's plan alone. False (the default) also reads the plan from the model.
    verify: True compares the count of the first batch with PyTorch's own counter (`floptally.verify`). The result is
        in `verification` and, as a line, in the notes. The comparison takes seconds in the first step. It runs on fake
        tensors, so it allocates no copy of the model.

    Unless `trust_plan` is True, `watch` reads PEFT adapters, frozen weights and activation checkpointing from the
    model, and adds them to the meter's plan. If the model contradicts the plan, `watch` raises an Error.

    If the first batch cannot be counted, `add` raises an error. If a later batch cannot be counted, training continues:
    the meter leaves out the whole step of this batch. One RuntimeWarning gives the reason for the first step left out.
    `batches_left_out` is the number of microbatches in all such steps. After such a step, the next `scalars()` have
    step times, but no rates.

    Two cases leave out the first step as well, instead of raising: a meter with on_error="leave_out", and a sum over
    ranks (by `reduce` here or in the meter). With a sum over ranks, all ranks leave out the same step. Rank 0 warns,
    and so does each rank whose own batch cannot be counted.
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
        self.batches_left_out = 0  #: microbatches of steps that were left out
        self.notes: list[str] = list(meter.cost.assumptions)  #: what you need to know to read the numbers
        self.verification: Verification | None = None  #: of the first batch, with verify=True
        self._verify = verify
        self._model: Any = None  # the model to verify; None once done
        self._arguments = arguments
        self._reduce = reduce
        self._trust_plan = trust_plan
        if reduce is not None:
            if meter.reduces:
                raise Error("reduce", "must be left out: the meter already has a reduction")
            compared = getattr(reduce, "convention", meter.convention)
            if compared != meter.convention:
                raise Error(
                    "convention",
                    f'must be the same for the reduction and the meter, got "{compared}" and "{meter.convention}"',
                )
        self._expected_steps: dict[str, int] = {}  # the budget that know_steps() has set
        named = meter._named  # type: ignore[attr-defined]
        self._takes_precision = all(named.get(name) is None for name in ("precision", "precisions", "peak_tflops"))
        self._mine = self._own_meter()  # this rank's count before the sum over ranks
        self._asked = meter.plan  # the plan without what models say
        self._clock = clock
        self._mark: float | None = None  # when the open step began, or the next one will have begun
        self._paused: float | None = None  # since when time does not count, inside or between steps
        self._sides: Sides | None = None
        self._waiting: list[Copy] = []  # microbatches of the open step
        self._ended: deque[_Ended] = deque()  # steps whose time is not known yet
        self._started = False  # a batch was counted, and summed over ranks if there is a reduction
        self._summed = False
        self._batches = 0  # of the open step
        self._problem: Exception | None = None  # why the open step cannot be counted
        self._left_out_since = 0
        self._warned = False
        self._says_precision = False  # a note says that the run has another precision than the peak

    def watch(self, model: Any) -> None:
        """Reads a PyTorch model before its first step: the size of its images, which weights train, and which layers
        recompute. The meter then counts by these facts and by its own plan. Raises an Error if the model contradicts
        the plan. With trust_plan=True only the size of the images is read."""
        self._sides = Sides.of(self.meter.cost, model)
        self._model = model if self._verify else None
        if self._trust_plan:
            self.note("what is recomputed is what the plan says")
        elif hasattr(model, "named_modules"):
            found = plan_with_model(self._asked, model, self.meter.cost)
            self._recount(plan=found.plan)
            for text in found.notes:
                self.note(text)

    def _recount(self, **changed: Any) -> None:
        """Makes the meter count later steps by another plan or number of GPUs. A new interval begins. Warns if earlier
        steps of the run were counted by another plan."""
        changed = {name: value for name, value in changed.items() if value != getattr(self.meter, name)}
        if not changed:
            return
        self._settle(wait=True)
        if changed.get("gpus", 1) > 1:
            changed["counted"] = "all_gpus"
        planned = getattr(self._reduce, "planned", None)
        if "plan" in changed and planned is not None:
            self._reduce = planned(changed["plan"])
        if not self.meter._recount(changed):  # type: ignore[attr-defined]
            text = "the plan changes within the run: a new interval begins, and the run's FLOPs stay as they were counted"
            self.note(text)
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        self._mine = self._own_meter()

    def _own_meter(self) -> Meter | None:
        meter = self.meter
        if self._reduce is None:
            return None
        return Meter(meter.cost, gpus=1, peak_tflops=1.0, convention=meter.convention, plan=meter.plan)

    def know_gpus(self, world: int, shared: int, words: str) -> None:
        """Tells the meter how many GPUs work on the batches that it counts. Raises an Error if the user passed another
        number to the meter, since the MFU would be wrong by a factor.

        world: processes of the job, one for each GPU.
        shared: number of processes that work on one batch together, by tensor, context or pipeline parallelism.
        words: text for the note and the error that says how the work is split over the processes.
        """
        sums = self._reduce is not None or self.meter.reduces
        expected = world if sums else shared
        if self.meter.gpus == 0:
            self._recount(gpus=expected)
        elif self.meter.gpus != expected and world > 1 and (sums or self._arguments is None):
            what = f"sums over all {world} processes" if sums else f"counts the batches of this process, on {shared} of {world} GPUs"
            raise Error(
                "gpus",
                f"must be {expected}, since the meter {what} ({words}), got {self.meter.gpus}: leave gpus= and "
                "counted= out, so that the callback sets them",
            )
        if world > 1 or shared > 1:
            self.note(f"{words}: MFU is of {expected} GPU{'s' * (expected != 1)} of {world}" + ", summed over all ranks" * sums)

    def know_steps(self, left: int) -> None:
        """Tells the meter how many steps of the run are left. Has no effect if the user has set a budget."""
        expected = {"steps": self.meter.run.steps + left}
        if self.meter.budget in ({}, self._expected_steps) and left + self.meter.run.steps > 0:
            self._expected_steps = expected
            self.meter.set_budget(**expected)

    def compare_precision(self, run: str | None) -> None:
        """Sets the precision of the meter's peak FLOP/s to the run's precision, unless you passed a precision or a peak
        to the meter. Warns if the precisions still differ. The report shows the warning too.

        run: the precision that the run computes in, such as "bf16"; None if unknown.
        """
        if run is not None and run != self.meter.precision and self._takes_precision and self.meter.accelerator:
            with suppress(Error):  # no peak of that precision is published
                self._recount(precision=run)
                self.note(f"the peak is that of {run}, in which the trainer computes")
        text = other_precision(self.meter, run) if not self._says_precision else None
        if text is not None:
            self._says_precision = True
            self.note(text)
            warnings.warn(text, RuntimeWarning, stacklevel=3)

    def note(self, text: str) -> None:
        """Adds a note to the report, unless the report has it already."""
        if text not in self.notes:
            self.notes.append(text)

    def begin(self) -> None:
        """Begins a step, unless a step has begun already."""
        if not self.meter.in_step:
            self._settle(wait=False)
            self._resume()
            self._mark = self._clock() if self._mark is None else self._mark
            self._batches, self._problem = 0, None
            self.meter.begin_step()

    def add(self, batch: Any) -> None:
        """Counts one microbatch of the open step, or each of a list of microbatches. Tensors on a GPU are copied
        without waiting and counted one step later."""
        self._resume()
        if self._arguments is None:
            self._sides = self._sides or Sides.of(self.meter.cost)
            for microbatch in microbatches(batch, self._sides):
                self._add_one(microbatch)
        else:
            self._add_one(batch)

    def _add_one(self, batch: Any, amounts: Arguments | None = None) -> None:
        """Adds one microbatch. amounts: more keywords of `Meter.add` that may be on a GPU."""
        self._batches += 1
        try:
            if not self._started:
                self._verify_first(batch)
            if self._problem is None:
                copy = self._copied(batch, amounts or {})
                if not self._started:  # so that a batch that cannot be counted is an error in the first step
                    copy.wait()
                    self.meter._counted(**copy.arguments())  # type: ignore[attr-defined]
                self._waiting.append(copy)
                self._started = True
        except Exception as problem:
            together = self._reduce is not None or self.meter.reduces
            if not (self._started or together or self.meter.on_error == "leave_out"):
                raise
            self._problem = self._problem or problem

    def _verify_first(self, batch: Any) -> None:
        """Compares floptally's count of the first batch with PyTorch's own counter (`floptally.verify`). If that fails,
        adds a note instead of stopping the training."""
        model, self._model = self._model, None
        if model is None:
            return
        try:
            cost = self.meter.cost.planned(self.meter.plan)
            self.verification = verify(model, batch, cost=cost, arguments=self._arguments)
            self.note(f"verified: {self.verification.line}")
        except Exception as problem:
            self.note(f"not verified: {problem}")

    def _copied(self, batch: Any, amounts: Arguments) -> Copy:
        if self._arguments is not None:
            return Copy({**self._arguments(batch), **amounts})
        sides = self._sides = self._sides or Sides.of(self.meter.cost)
        if not amounts:
            return Copy(read_of(named(batch), sides), lambda values: arguments_of(values, sides))
        return Copy(
            {"batch": read_of(named(batch), sides), "amounts": amounts},
            lambda values: {**arguments_of(values["batch"], sides), **values["amounts"]},
        )

    def end(self, seconds: float | Duration | None = None) -> None:
        """Ends the step. seconds: the duration of the step, or a Duration that arrives later; by default the time since
        the previous step ended. With tensors on a GPU, the totals arrive one step later, or after `finish()`. With
        `reduce`, this call waits for the tensors."""
        now = self._clock()
        self._resume(now)
        mark, self._mark = self._mark, now
        if seconds is None:
            seconds = now - (now if mark is None else mark)
        seconds = float(seconds) if isinstance(seconds, (int, float)) else seconds
        self._ended.append(_Ended(self._waiting, self._batches, self._problem, seconds))
        self._waiting = []
        open_here = isinstance(seconds, float) and len(self._ended) == 1
        if not open_here:
            self.meter.discard_step()
        self._settle(wait=self._reduce is not None or self.meter.reduces)

    def _settle(self, *, wait: bool) -> None:
        """Gives ended steps to the meter, in order, if their times are known. wait: True waits for the times."""
        while self._ended:
            step = self._ended[0]
            if isinstance(step.seconds, float):
                seconds = step.seconds
            elif wait or step.seconds.done():
                step.seconds.wait()
                seconds = step.seconds.seconds()
            else:
                return
            self._ended.popleft()
            if not self.meter.in_step:
                self.meter.begin_step()
            self._close(step, seconds)

    def _close(self, step: _Ended, seconds: float) -> None:
        left_out = self.meter.steps_left_out
        try:
            if step.problem is not None:
                raise step.problem
            self._end_step(step, seconds)
        except Exception as problem:
            sums = self._reduce is not None or self.meter.reduces
            if self.meter.in_step:
                if sums and not isinstance(problem, _SumFailed):
                    self._refuse()
                if self.meter.in_step:
                    self.meter.discard_step()
            cause = problem.cause if isinstance(problem, _SumFailed) else problem
            if isinstance(problem, _SumFailed) and not self._summed and getattr(cause, "field", "") != "sum":
                raise cause from None  # on all ranks, since their configurations differ
            self._leave_out(cause, step.microbatches)
        if self.meter.steps_left_out > left_out:  # by a meter with on_error="leave_out", which has warned
            self.batches_left_out += step.microbatches
            self._left_out_since += step.microbatches
        self._summed = True

    def _end_step(self, step: _Ended, seconds: float) -> None:
        if self._mine is not None and self._reduce is not None:
            with self._mine.step(seconds=1.0):
                for batch in step.batches:
                    batch.wait()
                    self._mine.add(**batch.arguments())
            try:
                everyone = self._reduce(self._mine.last_step.tally)
            except Exception as problem:
                raise _SumFailed(problem) from problem
            self.meter.add(tally=everyone)
        else:
            for batch in step.batches:
                if batch.from_gpu and not self.meter.reduces:
                    self.meter.add_deferred(_Careful(batch, self, step.microbatches))
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
        """Takes part in the sum over the ranks with a value that no rank accepts, so that all ranks leave the step out.
        Needed since the sum waits for every rank."""
        if self.meter.reduces:
            self.meter.discard_step()
            self.meter.begin_step()
            with suppress(Exception):
                self.meter.end_step(seconds=math.nan)
        elif self._reduce is not None:
            from ..distributed import Reduction

            refusal = self.meter.new_tally()  # a custom function gets an empty tally
            if isinstance(self._reduce, Reduction):  # other masks than the model's are refused on all ranks
                refusal = _of_other_masks(refusal)
            with suppress(Exception):
                self._reduce(refusal)

    def _leave_out(self, problem: Exception, batches: int) -> None:
        """Adds `batches` to the number of microbatches left out. Warns once, with the text of `problem`. On a rank
        other than 0, errors of other ranks give no warning."""
        self.batches_left_out += batches
        self._left_out_since += batches
        elsewhere = getattr(problem, "field", "") == "sum" and _rank() != 0
        if not self._warned and not elsewhere:
            self._warned = True
            text = problem if isinstance(problem, Error) else f"{type(problem).__name__}: {problem}"
            warnings.warn(
                f"{text} (the step is left out, and so is MFU where one is: {self.prefix}batches_left_out counts its "
                "microbatches; nothing is said of later ones)",
                RuntimeWarning,
                stacklevel=3,
            )

    def pause(self) -> None:
        """Stops the step clock until the next `begin`, `add` or `end`. Inside a step, only the pause is left out of the
        step's time. Between two steps, all time since the last step is left out."""
        if self.meter.in_step:
            self._paused = self._clock() if self._paused is None else self._paused
        else:
            self._mark = self._paused = None

    def restart(self) -> None:
        """Restarts the step clock between two steps: the next step's time begins now. Has no effect inside a step."""
        if not self.meter.in_step:
            self._mark, self._paused = self._clock(), None

    def exclude(self, since: float) -> None:
        """Leaves the time from `since` (a reading of the clock) until now out of the open step's time."""
        if self._mark is not None:
            self._mark += self._clock() - max(since, self._mark)

    def _resume(self, now: float | None = None) -> None:
        """Ends a pause in an open step."""
        if self._paused is not None:
            if self._mark is not None:
                self._mark += (self._clock() if now is None else now) - self._paused
            self._paused = None

    def discard(self) -> None:
        """Discards the open step, if there is one: its FLOPs and its time do not count."""
        self._waiting = []
        self._problem = None
        self._paused = None
        if self.meter.in_step:
            self._mark = None
            self.meter.discard_step()

    def finish(self) -> None:
        """Waits until the counts of all steps have arrived from the GPU."""
        self._safely(lambda: self._settle(wait=True))
        self._safely(self.meter.finish)

    def scalars(self) -> dict[str, float]:
        """Returns MFU and other rates of the steps since the last call, as a dict for a logger. Starts a new interval.
        Empty without a step. If a step was left out, returns only step times and the number of its microbatches."""
        return self._safely(self._scalars) or {}

    def _scalars(self) -> dict[str, float]:
        if not self.meter.in_step:
            self._settle(wait=False)
        steps = self.meter.interval.steps  # adds batches that arrived from a GPU, and leaves out those that cannot be counted
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
        """Returns the result of `call`. If it raises, warns and returns None, so that an error of the meter does not
        stop the training."""
        try:
            return call()
        except Exception as problem:
            self._leave_out(problem, 0)
            return None

    def report(self) -> str:
        """Returns the rates of the run so far as text, with notes that explain the numbers. The first line has the
        FLOPs of a step, the convention, the peak with its source and precision, the GPUs, and which weights train."""
        done = self.meter.run
        lines = [headline(self.meter)]
        if done.steps > 0:
            found = self.meter.scalars("run", "")
            hfu = f"HFU {found['hfu_pct']:.1f}%, " if "hfu_pct" in found else ""
            lines.append(f"{postfix(self.meter)}, {hfu}{done.steps} steps in {done.seconds:.1f} s")
            lines += _what_is_left(found)
        if self.batches_left_out > 0:
            one = self.batches_left_out == 1
            lines.append(f"{self.batches_left_out} {'batch is left out, with its step' if one else 'batches are left out, with their steps'}")
        return "\n".join([*lines, *self.notes])


def _what_is_left(scalars: dict[str, float]) -> list[str]:
    """Returns a line of what is left of a run and when it ends. Empty without a budget, and after its end."""
    if "ends_at" not in scalars or scalars["seconds_left"] <= 0:
        return []
    left = ", ".join(f"{scalars[f'{name}_left']:.0f} {name}" for name in ("steps", "tokens") if f"{name}_left" in scalars)
    ends = time.strftime("%Y-%m-%d %H:%M", time.localtime(scalars["ends_at"]))
    return [f"{left} are left: the run ends at {ends}"]


class _SumFailed(Exception):
    """Raised on all ranks if the sum of a step over the ranks fails. `cause` is the exception of the sum."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class _Careful:
    """A microbatch that is still on its way from the GPU. If it cannot be counted when it arrives, the adapter leaves
    its step out instead of raising."""

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


def _rank() -> int:
    """Returns the number of this process in its job: by torch.distributed, else by the launcher's environment."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(torch.distributed.get_rank())
    rank = os.environ.get("RANK", "0")
    return int(rank) if rank.isdigit() else 0


def _of_other_masks(tally: Tally) -> Tally:
    from .. import Mask

    other = Mask.sliding_window(1)
    return Tally([other] if other not in tally.masks else [Mask.sliding_window(2), *tally.masks])


_loops: WeakKeyDictionary[Meter, MeterAdapter] = WeakKeyDictionary()


def _loop(meter: Meter) -> MeterAdapter:
    """Returns the adapter of a meter that is used by `step()`. The first call constructs it."""
    found = _loops.get(meter)
    if found is None:
        weak = proxy(meter)
        found = _loops[meter] = MeterAdapter(weak, clock=lambda: float(weak._now))
    return found


@contextmanager
def step(meter: Meter, *batches: Any, seconds: float | None = None, model: Any = None) -> Iterator[Meter]:
    """Counts a step of your own loop. Use `with step(meter, *batches):` instead of `with meter.step():`. Pass the batch
    of each microbatch as an argument, or as an item of a list. A batch that cannot be counted raises an error in the
    meter's first step. In later steps, such a batch is left out (`batches_left_out`).

    A step lasts from the end of the previous one, so waiting for data between two steps counts. Call `pause(meter)`
    after an evaluation or a checkpoint.

    seconds: the step's duration, if you measure it yourself.
    model: the PyTorch model. It is read before the first step for frozen weights and recomputation
        (`MeterAdapter.watch`).
    """
    loop = _loop(meter)
    if not loop._started:
        _warn_of_several_processes(meter)
    if model is not None and not loop._started:
        loop.watch(model)
    if meter.in_step:
        meter.begin_step()  # raises, since a step is open
    loop.begin()
    try:
        for batch in batches:
            loop.add(batch)
        yield meter
    except BaseException:
        loop.discard()
        raise
    loop.end(seconds if seconds is None else _as_seconds(seconds))


def _warn_of_several_processes(meter: Meter) -> None:
    """Warns if the meter of one process of several has all GPUs. If each process trains on its own batches, MFU is too low by the
    number of processes."""
    group = getattr(sys.modules.get("torch"), "distributed", None)
    if meter.reduces or meter.gpus < 2 or group is None or not group.is_available() or not group.is_initialized():
        return
    world = group.get_world_size()
    if world > 1:
        warnings.warn(
            f"gpus: is {meter.gpus} in each of {world} processes, which is right only if all of them train on the same sequences "
            "(tensor or context parallelism). If each has its own batches, pass gpus=1, or reduce=floptally.distributed.Reduction(cost)",
            RuntimeWarning,
            stacklevel=4,
        )


def _as_seconds(seconds: Any) -> float:
    if isinstance(seconds, bool) or not hasattr(seconds, "__float__"):
        raise Error("seconds", f"must be a number of seconds, got {seconds!r}")
    return float(seconds)


def pause(meter: Meter) -> None:
    """Leaves the time since the last `step(meter, …)` out of the next step's time. Call it after an evaluation or a
    checkpoint."""
    _loop(meter).pause()


def batches_left_out(meter: Meter) -> int:
    """Returns how many microbatches could not be counted. The steps of these microbatches are left out of the
    totals."""
    return _loop(meter).batches_left_out
