# SPDX-License-Identifier: Apache-2.0
"""Numbers of a batch on their way from a GPU to the host, which nobody waits for."""

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
    from ._types import Later

Arguments = dict[str, Any]

class MeteredStep:
    """The context manager of Meter.step(), through the methods of the meter, which a subclass may have overridden."""

    def __init__(self, meter: Meter, seconds: float | None) -> None:
        self._meter, self._seconds = meter, seconds

    def __enter__(self) -> Meter:
        self._meter.begin_step()
        return self._meter

    def __exit__(self, kind: type[BaseException] | None, value: object, place: object) -> None:
        if kind is None:
            self._meter.end_step(self._seconds)
        else:
            self._meter.discard_step()


_unfinished: weakref.WeakSet[Meter] = weakref.WeakSet()


class Copy:
    """A batch as it is when this is made: what `Meter.add_later` takes.

    values: by name. What is on a GPU is copied to pinned memory of the host on its device's current stream, behind which an
        event is recorded. What is on the host beside it is copied too, since its owner may write to it meanwhile.
    arguments: from the values on the host to the keywords of `Meter.add`, where they are not that already.
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
        """True where anything is on its way."""
        return bool(self._events)

    def done(self) -> bool:
        """True where all of it is there, as far as can be asked: not while a graph is captured."""
        return not self._events or (not _captures() and all(event.query() for event in self._events.values()))

    def wait(self) -> None:
        """Waits until all of it is there."""
        if self._events and _captures():
            raise Error("meter", "waits for a copy from a GPU, whose stream is being captured: end the capture first")
        for event in self._events.values():
            event.synchronize()

    def arguments(self) -> Arguments:
        """The keywords of `Meter.add`, once it is done."""
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
                "is on a GPU whose stream is being captured, and a replay would not copy it anew: count it before or "
                "behind the graph, or in it by a DeviceTally",
            )
        if tensor.device not in self._events:
            self._events[tensor.device] = torch.cuda.Event()
        return tensor.to("cpu", non_blocking=True)


def add_by_call(meter: Meter, name: str, values: Arguments) -> None:
    """Counts what a call of a Tally's name takes."""
    batch = Copy(values, {"add_new_tokens": _pairs, "add_hstu": _samples}.get(name))
    if batch.from_gpu:
        meter.add_later(batch)
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
            raise Error(f"lengths[{place}]", f"must be at least {c} contextual tokens and {t} targets, got {n}")
    return {"sequences": [(c, n - c - t, t, group) for n, c, t in zip(*parts)]}


def _listed(values: Arguments, name: str) -> list[Any]:
    given = values[name]
    return items_of(given.tolist() if hasattr(given, "tolist") else given, name)


def _numbers(values: Arguments, name: str) -> list[int]:
    return [count(one, f"{name}[{place}]", 0, 2**32 - 1) for place, one in enumerate(_listed(values, name))]


def _require_as_many(name: str, values: list[int], other: str, expected: list[int]) -> None:
    if len(values) != len(expected):
        raise Error(name, f"must be as many as {other} ({len(expected)}), got {len(values)}")


class Unfinished:
    """The work that a meter waits for: microbatches whose numbers are on their way from a GPU, and the ended steps that have such.

    A step ends without them. It joins the totals, in order, where somebody asks and all of them are there, or waits. A
    microbatch that cannot be counted is left out of its step, and is the error once the step has joined. `meter` has
    methods of the extension besides those of a Meter: how it counts, ends and joins.
    """

    def __init__(self) -> None:
        self._open: list[Later] = []  # of the open step
        self._ended: deque[tuple[float, Tally, list[Later], int]] = deque()
        self._lock = threading.RLock()
        self._settles = False

    def add(self, batch: Later) -> None:
        if not all(hasattr(batch, name) for name in ("done", "wait", "arguments")):
            raise Error("batch", f"must have done(), wait() and arguments(), got {shortened(batch)}")
        self._open.append(batch)

    def discard(self) -> None:
        """Forgets those of the open step."""
        self._open.clear()

    def end_step(self, meter: Any, seconds: float) -> bool:
        """Ends the step: true where it joins the totals later."""
        if not (self._open or self._ended):
            meter._end_now(seconds)
            return False
        if meter.reduces:  # all ranks enter the sum together, which is waited for anyway
            number = meter.run.steps + 1
            wait_for(self._open)
            batches, self._open = self._open, []
            problem, _ = add_all(meter, batches, number, lambda counted: _core.Meter.add(meter, tally=counted))
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
        """Hands the totals every ended step whose microbatches are there; with `wait`, all of them."""
        if not self._ended or not self._lock.acquire(blocking=wait):
            return
        try:
            if self._settles:  # asked for by a microbatch that is being counted
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
                self._ended.popleft()  # of the process that this one was forked from, which counts it
                continue
            if wait:
                wait_for(batches)
            elif not all(batch.done() for batch in batches):
                return
            self._ended.popleft()
            number = meter.run.steps + 1
            problem, told = add_all(meter, batches, number, counted.__iadd__, tells=True)
            try:
                if not told:
                    meter._join(counted, seconds)
            except BaseException as other:
                problem = problem or placed(other, f" (of step {number}, which is left out)")
            if problem is not None:
                raise problem


def wait_for(batches: Iterable[Later]) -> None:
    for batch in tuple(batches):
        batch.wait()


def add_all(
    meter: Any, batches: list[Later], step: int, add: Callable[[Tally], object], tells: bool = False
) -> tuple[BaseException | None, bool]:
    """Counts what is there now. What cannot be counted is left out: the error of the first of it is returned. With `tells`
    a microbatch that asks for its error is told it, and nothing after it is counted: true where one was."""
    first: BaseException | None = None
    for place, batch in enumerate(batches, 1):
        try:
            add(meter._counted(**batch.arguments()))
        except BaseException as problem:  # raised once the rest is safe
            if tells and hasattr(batch, "failed"):
                batch.failed(problem)
                return first, True
            text = f" (in microbatch {place} from a GPU of step {step}, which is counted without it)"
            first = first or placed(problem, text)
    return first, False


def placed(problem: BaseException, place: str) -> BaseException:
    """The error with its place, where it is one of ours."""
    if not isinstance(problem, Error):
        return problem
    return (Overflow if isinstance(problem, Overflow) else Error)(problem.field, problem.problem + place)


def is_on_gpu(value: Any) -> bool:
    """True where an array is in the memory of a GPU, by PyTorch, the CUDA array interface or DLPack."""
    kind = getattr(getattr(value, "device", None), "type", None)
    if isinstance(kind, str):  # a tensor says it itself
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
    """The process does not end before the meter has counted all of its steps, or has said why it cannot."""
    if not _unfinished:
        atexit.register(_finish)
    _unfinished.add(meter)


def _finish() -> None:
    for meter in list(_unfinished):
        try:
            meter.finish()
        except Exception:  # nobody is there to catch it, and other meters wait
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
            name, "is on a GPU, and copying it without a wait needs PyTorch; pass a copy on the CPU"
        ) from None
    return torch


def _kept(value: Any) -> Any:
    """A copy of what somebody may write to."""
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
