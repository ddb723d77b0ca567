# SPDX-License-Identifier: Apache-2.0
"""Batches whose numbers are copied from a GPU to the host without waiting for them."""

from __future__ import annotations

import atexit
import copy
import os
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error, Overflow, shortened
from ._values import count, items_of

if TYPE_CHECKING:
    from ._core import Meter, Tally
    from ._types import Deferred

Arguments = dict[str, Any]

class MeteredStep:
    """The context manager that Meter.step() returns: it begins a step and ends or discards it. It calls the meter's
    public methods, so that subclasses may override them."""

    def __init__(self, meter: Meter, seconds: float | None) -> None:
        self._meter, self._seconds = meter, seconds

    def __enter__(self) -> Meter:
        self._meter.begin_step()
        return self._meter

    def __exit__(self, kind: type[BaseException] | None, value: object, place: object) -> None:
        if kind is None:
            try:
                self._meter.end_step(self._seconds)
            except BaseException:
                if self._meter.in_step:
                    self._meter.discard_step()  # the next step may begin, though this one could not end
                raise
        elif self._meter.in_step:
            self._meter.discard_step()


_unfinished: weakref.WeakSet[Meter] = weakref.WeakSet()


class Copy:
    """A copy of a batch for `Meter.add_deferred`. The copy runs while training goes on.

    values: the batch by name. Arrays on a GPU are copied to pinned host memory on the current stream, followed by
        an event. Arrays on the host are copied too, since their owner may overwrite them meanwhile.
    arguments: a function from the values on the host to the keywords of `Meter.add`. By default the names of the values
        are these keywords.
    """

    def __init__(self, values: Mapping[str, Any], arguments: Callable[[Arguments], Arguments] | None = None) -> None:
        self._arguments = arguments
        self._events: dict[Any, Any] = {}  # by device
        self._values = dict(values)
        if _any_on_gpu(self._values):
            self._values = {name: self._copied(name, value) for name, value in values.items()}
        for device, event in self._events.items():
            event.record(_torch("").cuda.current_stream(device))

    @property
    def from_gpu(self) -> bool:
        """True if some value of the batch has to be copied from a GPU."""
        return bool(self._events)

    def done(self) -> bool:
        """True once all values have arrived on the host. Always False while a CUDA graph is captured, since events
        cannot be queried then."""
        return not self._events or (not _captures() and all(event.query() for event in self._events.values()))

    def wait(self) -> None:
        """Waits until all values of the batch have arrived on the host."""
        if self._events and _captures():
            raise Error(
                "meter",
                "cannot wait for a copy from a GPU while a CUDA graph is captured: end the capture first",
            )
        for event in self._events.values():
            event.synchronize()

    def arguments(self) -> Arguments:
        """Returns the batch as keywords of `Meter.add`. Call it once done() is true."""
        return self._values if self._arguments is None else self._arguments(self._values)

    def _copied(self, name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._copied(str(key), one) for key, one in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._copied(f"{name}[{place}]", one) for place, one in enumerate(value))
        if not is_on_gpu(value):
            return _kept(value)
        torch = _torch(name)
        tensor = (value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)).detach()
        if _captures():
            raise Error(
                name,
                "must not be copied while a CUDA graph is captured, since a replay would not copy it again: count it "
                "outside the graph, or use a DeviceTally",
            )
        if tensor.device not in self._events:
            self._events[tensor.device] = torch.cuda.Event()
        return tensor.to("cpu", non_blocking=True)


def add_by_call(meter: Meter, name: str, values: Arguments) -> None:
    """Adds a batch to the meter by the Tally method `name`, such as "add_padded". values: the arguments of this method.
    If they are on a GPU, the batch is added once they have been copied to the host."""
    batch = Copy(values, {"add_new_tokens": _pairs, "add_hstu": _samples}.get(name))
    if batch.from_gpu:
        meter.add_deferred(batch)
    else:
        meter.add(**batch.arguments())


def _pairs(values: Arguments) -> Arguments:
    if values.get("past") is None:
        return values
    lengths, past = _listed(values, "new_tokens"), _listed(values, "past")
    _require_as_many("past", past, "new_tokens", lengths)
    return {"new_tokens": list(zip(lengths, past))}


def _samples(values: Arguments) -> Arguments:
    lengths = _numbers(values, "lengths")
    parts = [lengths]
    for name in ("contextual", "targets"):
        parts.append([0] * len(lengths) if values.get(name) is None else _numbers(values, name))
        _require_as_many(name, parts[-1], "lengths", lengths)
    group = count(values.get("target_group", 1), "target_group", 1, 2**32 - 1)
    for place, (n, c, t) in enumerate(zip(*parts)):
        if n < c + t:
            raise Error(f"lengths[{place}]", f"must be at least {c + t}, the sum of {c} contextual tokens and {t} targets, got {n}")
    return {"sequences": [(c, n - c - t, t, group) for n, c, t in zip(*parts)]}


def _listed(values: Arguments, name: str) -> list[Any]:
    array = values[name]
    return items_of(array.tolist() if hasattr(array, "tolist") else array, name)


def _numbers(values: Arguments, name: str) -> list[int]:
    return [count(one, f"{name}[{place}]", 0, 2**32 - 1) for place, one in enumerate(_listed(values, name))]


def _require_as_many(name: str, values: list[int], other: str, expected: list[int]) -> None:
    if len(values) != len(expected):
        raise Error(name, f"must be as many as {other} ({len(expected)}), got {len(values)}")


class Unfinished:
    """Ended steps and microbatches of a meter whose numbers have not arrived from the GPU yet.

    A step ends without waiting for the GPU. When the totals are read, steps whose numbers have arrived are added to the
    totals in order. A microbatch that cannot be counted is left out of its step; its error is raised after the step was
    added. `meter` must have the extension's private methods that count, end and add a step.
    """

    def __init__(self) -> None:
        self._open: list[Deferred] = []  # of the open step
        self._ended: deque[tuple[float, Tally, list[Deferred], int]] = deque()
        self._lock = threading.RLock()
        self._settles = False

    def add(self, batch: Deferred) -> None:
        if not all(hasattr(batch, name) for name in ("done", "wait", "arguments")):
            raise Error("batch", f"must have done(), wait() and arguments(), got {shortened(batch)}")
        self._open.append(batch)

    def discard(self) -> None:
        """Forgets the microbatches of the open step."""
        self._open.clear()

    def end_step(self, meter: Any, seconds: float) -> bool:
        """Ends the open step. Returns True if numbers of the step have not arrived from the GPU yet: the step is then
        added to the totals later."""
        if not (self._open or self._ended):
            meter._end_now(seconds)
            return False
        if meter.reduces:  # all ranks sum together and wait for it anyway
            number = meter.run.steps + 1
            wait_for(self._open)
            batches, self._open = self._open, []
            problem, _ = add_all(meter, batches, number, lambda counted: _core.Meter.add(meter, tally=counted))
            if problem is not None and leaves_out(meter, problem):
                meter._leave_out(str(problem))
                problem = None
            meter._end_now(seconds)
            if problem is not None:
                raise problem
            return False
        batches, self._open = self._open, []
        self._ended.append((seconds, meter._microbatch, batches, os.getpid()))
        _core.Meter.discard_step(meter)
        self.settle(meter, False)
        return True

    def settle(self, meter: Any, wait: bool) -> None:
        """Adds each ended step to the totals if the numbers of its microbatches have arrived from the GPU. `wait=True`
        waits for the numbers of all ended steps."""
        if not self._ended or not self._lock.acquire(blocking=wait):
            return
        try:
            if self._settles:  # called by a microbatch that is being counted
                return
            self._settles = True
            try:
                self._join_those_there(meter, wait)
            finally:
                self._settles = False
        finally:
            self._lock.release()

    def _join_those_there(self, meter: Any, wait: bool) -> None:
        while self._ended:
            seconds, counted, batches, process = self._ended[0]
            if process != os.getpid():
                self._ended.popleft()  # belongs to the parent process, which counts it
                continue
            if wait:
                wait_for(batches)
            elif not all(batch.done() for batch in batches):
                return
            self._ended.popleft()
            number = meter.run.steps + 1
            problem, reported = add_all(meter, batches, number, counted.__iadd__, tells=True)
            if problem is not None and leaves_out(meter, problem):
                meter._leave_out_ended(str(problem))
                continue
            try:
                if not reported:
                    meter._join(counted, seconds)
            except BaseException as other:
                problem = problem or placed(other, f" (of step {number}, which is left out)")
            if problem is not None:
                raise problem


def leaves_out(meter: Any, problem: BaseException) -> bool:
    """True if the meter leaves out a step that has this error. False if the meter raises the error."""
    return isinstance(problem, Error) and meter.on_error == "leave_out"


def wait_for(batches: Iterable[Deferred]) -> None:
    for batch in tuple(batches):
        batch.wait()


def add_all(
    meter: Any, batches: list[Deferred], step: int, add: Callable[[Tally], object], tells: bool = False
) -> tuple[BaseException | None, bool]:
    """Counts microbatches that have arrived from the GPU. Returns (the first error or None, True if failed() of a batch
    was called). A batch with an error is not counted.

    step: the number of the step, for the error.
    add: a function that takes the tally of each microbatch.
    tells: if True, failed(error) of the first bad batch that has this method is called, and the rest is not counted.
    """
    first: BaseException | None = None
    for place, batch in enumerate(batches, 1):
        try:
            add(meter._counted(**batch.arguments()))
        except BaseException as problem:  # raised after the other batches are counted
            if tells and hasattr(batch, "failed"):
                batch.failed(problem)
                return first, True
            text = f" (in microbatch {place} from a GPU of step {step}, which is counted without it)"
            first = first or placed(problem, text)
    return first, False


def placed(problem: BaseException, place: str) -> BaseException:
    """Returns a floptally error with `place` appended to its text. Returns any other exception unchanged."""
    if not isinstance(problem, Error):
        return problem
    return (Overflow if isinstance(problem, Overflow) else Error)(problem.field, problem.problem + place)


def is_on_gpu(value: Any) -> bool:
    """True if an array is in GPU memory, by PyTorch, the CUDA array interface or DLPack."""
    kind = getattr(getattr(value, "device", None), "type", None)
    if isinstance(kind, str):  # a PyTorch tensor
        return kind == "cuda"
    if hasattr(value, "__cuda_array_interface__"):
        return True
    return hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) in (2, 10)  # CUDA, ROCm


def _any_on_gpu(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_any_on_gpu, value.values()))
    if type(value) in (list, tuple):
        return any(_any_on_gpu(one) for one in value if not isinstance(one, (int, float)))
    return is_on_gpu(value)


def finish_at_exit(meter: Meter) -> None:
    """Counts all steps of the meter that still wait for numbers from the GPU when the process exits. Prints the error
    if this fails."""
    if not _unfinished:
        atexit.register(_finish)
    _unfinished.add(meter)


def _finish() -> None:
    for meter in list(_unfinished):
        try:
            meter.finish()
        except Exception:  # nobody can catch it, and other meters are still to be finished
            traceback.print_exc()
    _unfinished.clear()


def _captures() -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and bool(torch.cuda.is_current_stream_capturing())


def _torch(name: str) -> Any:
    try:
        import torch
    except ImportError:
        raise Error(
            name, "is on a GPU, and copying it without waiting needs PyTorch: install PyTorch, or pass a copy on the CPU"
        ) from None
    return torch


def _kept(value: Any) -> Any:
    """Returns a copy of an array on the host whose owner may overwrite the array later."""
    if hasattr(value, "clone"):
        return value.detach().clone()
    if hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        import numpy as np

        return np.array(value)
    try:
        return copy.deepcopy(value)
    except TypeError:  # a memoryview
        import numpy as np

        return np.array(value)
