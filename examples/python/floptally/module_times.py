# SPDX-License-Identifier: Apache-2.0
"""Measures the times of a PyTorch model's modules, forward and backward, for a waterfall by component.

    timer = floptally.module_times.ModuleTimer(model)
    for batch in loader:
        with timer.step():
            model(**batch).loss.backward()
            with timer.part("optimizer"):
                optimizer.step()
    timer.write("times.json")       # floptally waterfall … --component-times times.json

Each instant of a step counts for one module only: the innermost timed module that is running. The time of an outer
module excludes that of timed modules inside it. On a GPU, times are between CUDA events on the current stream. The
events are read when a later step ends or when you ask for times, so no module waits for the device.

`named_in_traces` adds module names to a trace of torch.profiler. `floptally waterfall --trace` then tells modules
apart.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import Error

if TYPE_CHECKING:
    import torch

    from ._core import Breakdown

#: Patterns of module names, and the components that run in these modules.
PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("*cross_attn", "*encoder_attn"), ("cross_attention.*",)),
    **dict.fromkeys(("*attn", "*.attention", "*.linear_attn"), ("attention.*", "linear_attention.*")),
    **dict.fromkeys(("*.mlp", "*.feed_forward", "*.block_sparse_moe"), ("mlp*", "moe.*")),
    **dict.fromkeys(("lm_head", "*.lm_head", "*embed_out"), ("lm_head*",)),
}

_Key = tuple[str, str]  #: a part, and "forward" or "backward"
_OUTSIDE: _Key = ("", "forward")


class _HostClock:
    """A clock whose marks are nanoseconds of the host."""

    def mark(self) -> Any:
        return time.perf_counter_ns()

    def is_ready(self, mark: Any) -> bool:
        return True

    def wait(self, mark: Any) -> None: ...

    def seconds(self, begin: Any, end: Any) -> float:
        return float(end - begin) / 1e9


class _CudaClock:
    """A clock whose marks are CUDA events on the current stream."""

    def mark(self) -> Any:
        import torch

        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def is_ready(self, mark: Any) -> bool:
        return bool(mark.query())

    def wait(self, mark: Any) -> None:
        mark.synchronize()

    def seconds(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end)) / 1e3


class ModuleTimer:
    """Measures the time of a model's modules, in the steps that `step()` marks.

    Args:
        model: any ``torch.nn.Module``. Hooks stay on it until ``remove()``.
        parts: patterns of module names (``"*.self_attn"``) and the components that run there. A component may end
            in ``*``, and the model need not have all of them. A module belongs to the first pattern that matches.
            Default: ``PARTS``, attention and MLPs of the usual names and the lm_head.
    """

    def __init__(self, model: torch.nn.Module, parts: Mapping[str, Sequence[str]] | None = None) -> None:
        import torch

        self._parts = {pattern: tuple(names) for pattern, names in (PARTS if parts is None else parts).items()}
        self._components: dict[str, tuple[str, ...]] = {}
        self._open: list[tuple[object, _Key]] = []
        self._marks: list[tuple[Any, _Key]] = []
        self._finished: list[list[tuple[Any, _Key]]] = []
        self._seconds: dict[_Key, float] = {}
        self._steps = 0
        self._in_step = False
        self._hooks: list[Any] = []
        on_gpu = any(tensor.is_cuda for tensor in model.parameters())
        self._clock: _HostClock | _CudaClock = _CudaClock() if on_gpu else _HostClock()
        self._pass_through = _pass_through(torch)
        for name, module in model.named_modules():
            pattern = next((one for one in self._parts if fnmatchcase(name, one)), None)
            if name and pattern is not None:
                self._watch(module, name, pattern)
        if not self._hooks:
            raise Error("parts", f"must match the name of a module of the model, got {', '.join(self._parts)}: pass patterns of model.named_modules()")

    @contextmanager
    def step(self) -> Iterator[None]:
        """Returns a context manager for one step of the training loop. The timer measures the modules that run in this
        step. A step that raises is not counted."""
        if self._in_step:
            raise Error("step", "begins inside another step: end that step first")
        self._open.clear()
        self._in_step = True
        self._marks = [(self._clock.mark(), _OUTSIDE)]
        try:
            yield
            if self._open:
                (_, (part, during)) = self._open[-1]
                raise Error("step", f'ends during the {during} of "{part}": end the step after the {during}')
            self._marks.append((self._clock.mark(), _OUTSIDE))
            self._finished.append(self._marks)
        finally:
            self._in_step = False
            self._open.clear()
            self._marks = []
        while self._finished and self._clock.is_ready(self._finished[0][-1][0]):
            self._read(self._finished.pop(0))

    @contextmanager
    def part(self, name: str, components: Sequence[str] = ()) -> Iterator[None]:
        """Returns a context manager that times its body as a part of the step under this name. Use it for an optimizer,
        data loading, or other code outside of modules."""
        if self._components.setdefault(name, tuple(components)) != tuple(components):
            raise Error(
                "components",
                f'must be {list(self._components[name])}, as when the part "{name}" was timed first, got {list(components)}',
            )
        token = object()
        self._enter(token, (name, "forward"))
        try:
            yield
        finally:
            self._leave(token)

    def times(self, work: Breakdown | None = None) -> dict[str, Any]:
        """Returns the mean seconds of a step and of each timed part, as a dict that `floptally waterfall
        --component-times` reads.

        work: a Breakdown. If you pass it, only components of this Breakdown are named. A part whose backward never ran
        is marked as forward only.
        """
        while self._finished:
            marks = self._finished.pop(0)
            self._clock.wait(marks[-1][0])
            self._read(marks)
        if self._steps == 0:
            raise Error("times", "no step was timed: run a step inside of `with timer.step():` first")
        known = None if work is None else list(work.useful.components)
        times = []
        for name, patterns in self._components.items():
            if known is not None:
                patterns = tuple(one for one in known if any(fnmatchcase(one, pattern) for pattern in patterns))
            forward, backward = (self._seconds.get((name, during), 0.0) for during in ("forward", "backward"))
            if forward == backward == 0.0:
                continue
            alone = "forward" if backward == 0.0 else "backward" if forward == 0.0 else "train"
            times.append({
                "name": name, "components": list(patterns), "pass": alone if patterns else "train",
                "seconds": (forward + backward) / self._steps,
            })  # fmt: skip
        return {"seconds": sum(self._seconds.values()) / self._steps, "times": times}

    def write(self, path: str | os.PathLike[str], work: Breakdown | None = None) -> None:
        """Writes the result of `times()` to a file."""
        Path(path).write_text(json.dumps(self.times(work), indent=1) + "\n", encoding="utf-8")

    def remove(self) -> None:
        """Removes the timing hooks from the model."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _watch(self, module: torch.nn.Module, name: str, pattern: str) -> None:
        part = pattern.lstrip("*.") or pattern
        if self._components.setdefault(part, self._parts[pattern]) != self._parts[pattern]:
            part = pattern  # two patterns with the same ending
            self._components[part] = self._parts[pattern]
        calls: list[tuple[object, object | None]] = []

        def before(_: torch.nn.Module, args: Any, kwargs: Any) -> Any:
            token, backward = object(), object()
            inputs, passed = self._through((args, kwargs), lambda: self._leave(backward))
            calls.append((token, backward if passed else None))
            self._enter(token, (part, "backward" if _in_backward() else "forward"))
            return inputs

        def after(_: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
            token, backward = calls.pop()
            self._leave(token)
            if backward is None:
                return output
            return self._through(output, lambda: self._enter(backward, (part, "backward")))[0]

        self._hooks.append(module.register_forward_pre_hook(before, with_kwargs=True))
        self._hooks.append(module.register_forward_hook(after, with_kwargs=True, always_call=True))

    def _through(self, tree: Any, when: Callable[[], None]) -> tuple[Any, bool]:
        """Returns (tensors, whether any of them needs a gradient). The tensors equal those in `tree`. Once the
        gradients of all of them have arrived in the backward, `when` is called."""
        import torch
        from torch.utils._pytree import tree_flatten, tree_unflatten

        if not (self._in_step and torch.is_grad_enabled()):
            return tree, False
        leaves, shape = tree_flatten(tree)
        places = [i for i, leave in enumerate(leaves) if isinstance(leave, torch.Tensor) and leave.requires_grad]
        if not places:
            return tree, False
        passed = self._pass_through.apply(when, *[leaves[i] for i in places])
        for i, one in zip(places, passed, strict=True):
            leaves[i] = one
        return tree_unflatten(leaves, shape), True

    def _enter(self, token: object, key: _Key) -> None:
        if self._in_step:
            self._open.append((token, key))
            self._marks.append((self._clock.mark(), key))

    def _leave(self, token: object) -> None:
        for i in reversed(range(len(self._open))):
            if self._open[i][0] is token:
                del self._open[i]
                self._marks.append((self._clock.mark(), self._open[-1][1] if self._open else _OUTSIDE))
                return

    def _read(self, marks: list[tuple[Any, _Key]]) -> None:
        for (begin, key), (end, _) in zip(marks, marks[1:]):
            self._seconds[key] = self._seconds.get(key, 0.0) + self._clock.seconds(begin, end)
        self._steps += 1


def _in_backward() -> bool:
    import torch

    return torch._C._current_graph_task_id() != -1


def _pass_through(torch: Any) -> Any:
    """Returns an autograd function (when, *tensors) that returns its tensors unchanged. Its backward calls `when` once,
    when the gradients of all these tensors have arrived."""

    class PassThrough(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, when: Callable[[], None], *tensors: Any) -> Any:
            ctx.when = when
            ctx.set_materialize_grads(False)
            return tuple(tensor.view_as(tensor) for tensor in tensors)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            ctx.when()
            return (None, *gradients)

    return PassThrough


@contextmanager
def named_in_traces(model: torch.nn.Module) -> Iterator[None]:
    """Returns a context manager that makes each forward of a module a span of torch.profiler with the module's name:
    "model.layers.3.mlp"."""
    import torch

    hooks: list[Any] = []
    for name, module in model.named_modules():
        if not name:
            continue
        spans: list[Any] = []

        def before(_: Any, args: Any, name: str = name, spans: list[Any] = spans) -> None:
            spans.append(torch.profiler.record_function(name))
            spans[-1].__enter__()

        def after(_: Any, args: Any, output: Any, spans: list[Any] = spans) -> None:
            spans.pop().__exit__(None, None, None)

        hooks.append(module.register_forward_pre_hook(before))
        hooks.append(module.register_forward_hook(after, always_call=True))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
