# SPDX-License-Identifier: Apache-2.0
"""Times of a PyTorch model's modules, forward and backward, for a step by component.

    timer = floptally.module_times.ModuleTimer(model)
    for batch in loader:
        with timer.step():
            model(**batch).loss.backward()
            with timer.part("optimizer"):
                optimizer.step()
    timer.write("times.json")       # floptally waterfall … --component-times times.json

Every moment of a step is counted once, for the module that was entered last and is not left: a timed module within another
is not part of the other's time. On a GPU a moment is between two CUDA events of the current stream. They are read when a
later step ends or when times are asked for, so that no module waits for the device.

`named_in_traces` names modules in a trace of torch.profiler, so that `floptally waterfall --trace` tells them apart.
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

#: Modules by patterns of their names, and the components that run in each.
PARTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("*cross_attn", "*encoder_attn"), ("cross_attention.*",)),
    **dict.fromkeys(("*attn", "*.attention", "*.linear_attn"), ("attention.*", "linear_attention.*")),
    **dict.fromkeys(("*.mlp", "*.feed_forward", "*.block_sparse_moe"), ("mlp*", "moe.*")),
    **dict.fromkeys(("lm_head", "*.lm_head", "*embed_out"), ("lm_head*",)),
}

_Key = tuple[str, str]  #: a part, and "forward" or "backward"
_OUTSIDE: _Key = ("", "forward")


class _HostClock:
    """Marks are nanoseconds."""

    def mark(self) -> Any:
        return time.perf_counter_ns()

    def is_ready(self, mark: Any) -> bool:
        return True

    def wait(self, mark: Any) -> None: ...

    def seconds(self, begin: Any, end: Any) -> float:
        return float(end - begin) / 1e9


class _CudaClock:
    """Marks are events of the stream that is current where they are made."""

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
    """Times the modules of a model that patterns name, in the steps that `step()` marks.

    Args:
        model: any ``torch.nn.Module``; hooks are on it until ``remove()``.
        parts: patterns of module names (``"*.self_attn"``), and the components that run there, each by its name or one
            that ends in ``*``, of which a model need not have all. Default: ``PARTS``, attention and MLPs of the usual names and the lm_head. A module is of
            the first pattern that it fits.
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
            raise Error("parts", f"must name a module of the model: {', '.join(self._parts)} name none")

    @contextmanager
    def step(self) -> Iterator[None]:
        """A step of the training loop. One that fails is not counted."""
        if self._in_step:
            raise Error("step", "begins inside a step")
        self._open.clear()
        self._in_step = True
        self._marks = [(self._clock.mark(), _OUTSIDE)]
        try:
            yield
            if self._open:
                (_, (part, during)) = self._open[-1]
                raise Error("step", f'ends inside the {during} of "{part}": the step must have all of it')
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
        """Times what runs inside as a part of its own: an optimizer, data, or code that is no module."""
        if self._components.setdefault(name, tuple(components)) != tuple(components):
            raise Error("components", f'of "{name}" must be as they were, {list(self._components[name])}')
        token = object()
        self._enter(token, (name, "forward"))
        try:
            yield
        finally:
            self._leave(token)

    def times(self, work: Breakdown | None = None) -> dict[str, Any]:
        """Mean seconds of a step and of its parts, as `floptally waterfall --component-times` reads them.

        Of a part's components only those are named that `work` has, where it is given. A part whose backward never ran is of
        the forward alone.
        """
        while self._finished:
            marks = self._finished.pop(0)
            self._clock.wait(marks[-1][0])
            self._read(marks)
        if self._steps == 0:
            raise Error("times", "need at least one step: with timer.step(): …")
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
        """`times()` as a file."""
        Path(path).write_text(json.dumps(self.times(work), indent=1) + "\n", encoding="utf-8")

    def remove(self) -> None:
        """Takes the hooks off the model."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _watch(self, module: torch.nn.Module, name: str, pattern: str) -> None:
        part = pattern.lstrip("*.") or pattern
        if self._components.setdefault(part, self._parts[pattern]) != self._parts[pattern]:
            part = pattern  # two patterns that end alike
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
        """Tensors like the given ones, whose gradients call `when` as they come by, all of them at once; and True where there are any."""
        import torch
        from torch.utils._pytree import tree_flatten, tree_unflatten

        if not (self._in_step and torch.is_grad_enabled()):
            return tree, False
        leaves, shape = tree_flatten(tree)
        places = [i for i, one in enumerate(leaves) if isinstance(one, torch.Tensor) and one.requires_grad]
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
    """The identity, whose backward calls a function once, when the gradients of all of its outputs are there."""

    class PassThrough(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, when: Callable[[], None], *tensors: Any) -> Any:
            ctx.when = when
            ctx.set_materialize_grads(False)
            return tuple(one.view_as(one) for one in tensors)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            ctx.when()
            return (None, *gradients)

    return PassThrough


@contextmanager
def named_in_traces(model: torch.nn.Module) -> Iterator[None]:
    """Within it each forward of a module is a span of torch.profiler, with the module's name: "model.layers.3.mlp"."""
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
