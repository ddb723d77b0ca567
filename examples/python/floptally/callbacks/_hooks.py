# SPDX-License-Identifier: Apache-2.0
"""Hooks before the forwards of a model that no compiler traces."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Hooks:
    """Calls a function before each forward of a model: once for nested calls, and never inside compiled code.

    A compiled model calls its hooks inside the graph that is traced. There the hook returns at once, so that it breaks no
    graph; the call is seen at the compiled model's wrapper (``torch.compile(model)``) or at its own call
    (``model.compile()``).
    """

    def __init__(self) -> None:
        self._removals: list[Callable[[], None]] = []
        self._registered: tuple[Any, ...] | None = None
        self._inside = False  # a forward that was seen is running
        self._running: list[int] = []  # the modules whose forwards these are

    def register(
        self, model: Any, wrapped: Any, before: Callable[[Any, dict[str, Any]], bool], redirected: Callable[[dict[str, Any]], None]
    ) -> None:
        """Removes the present hooks and registers new ones. A forward that is running is not forgotten.

        model: the model whose forwards are seen.
        wrapped: the same model inside its wrappers, as the trainer calls it.
        before: called with the model and its inputs by name. Returns True if it counts the forward; forwards inside of it
            are then not seen.
        redirected: called with the inputs of a forward that runs another method instead.
        """
        self._unregister()
        self._registered = (model, wrapped, before, redirected)
        compiled = _compiled(wrapped)
        in_graph = compiled is not None or model._compiled_call_impl is not None
        for module in dict.fromkeys((compiled, model, None if in_graph else _backbone(model))):
            if module is not None:
                self._register_one(module, model, before, redirected)

    def _register_one(self, module: Any, model: Any, before: Any, redirected: Any) -> None:
        names = list(inspect.signature(_inner(module).forward).parameters)
        own_forward = _inner(module).forward  # bound methods compare equal

        def seen(positional: tuple[Any, ...], named: dict[str, Any]) -> bool:
            if self._inside:
                return False
            inputs = {**dict(zip(names, positional, strict=False)), **named}
            if _inner(module).forward != own_forward:  # TRL runs a method of the trainer as the forward
                redirected(inputs)
                return False
            self._inside = bool(before(model, inputs))
            return self._inside

        def pre_hook(_: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
            if _compiling():
                return
            if seen(positional, named):
                self._running.append(id(module))

        def post_hook(_: Any, positional: tuple[Any, ...], output: Any) -> None:
            if not _compiling() and self._running[-1:] == [id(module)]:
                self._running.pop()
                self._inside = False

        if module._compiled_call_impl is None:
            self._removals.append(module.register_forward_pre_hook(pre_hook, with_kwargs=True).remove)
            self._removals.append(module.register_forward_hook(post_hook, always_call=True).remove)
            return
        compiled = module._compiled_call_impl

        def call(*positional: Any, **named: Any) -> Any:
            outermost = not _compiling() and seen(positional, named)
            try:
                return compiled(*positional, **named)
            finally:
                if outermost:
                    self._inside = False

        def put_back() -> None:
            if module._compiled_call_impl is call:
                module._compiled_call_impl = compiled

        module._compiled_call_impl = call
        self._removals.append(put_back)

    def remove(self) -> None:
        """Removes all hooks from the model."""
        self._unregister()
        self.forget()
        self._registered = None

    def forget(self) -> None:
        """Forgets which forwards are running, after an exception interrupted one."""
        self._inside = False
        self._running.clear()

    def _unregister(self) -> None:
        removals, self._removals = self._removals, []
        for removal in removals:
            removal()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Returns a context manager that removes the hooks from the model while its block runs."""
        registered = self._registered
        self._unregister()
        try:
            yield
        finally:
            if registered is not None:
                self.register(*registered)


class Rollouts:
    """Detects that a trainer generates text: it calls ``generate`` of an engine that is an attribute of the trainer
    (vLLM's, a client of a server), or its ``rollout_func``. Generation by the model itself is a forward without
    gradients, which `Hooks` sees."""

    def __init__(self) -> None:
        self._removals: list[Callable[[], None]] = []

    def watch(self, trainer: Any, seen: Callable[[], None]) -> None:
        """Calls `seen` before each later rollout of this trainer. Stops watching the trainer that was watched
        before."""
        self.remove()
        for name, engine in list(vars(trainer).items()) if trainer is not None else []:
            if name == "rollout_func" and callable(engine):
                self._wrap(trainer, name, engine, seen)
            elif callable(getattr(engine, "generate", None)) and not hasattr(engine, "register_forward_pre_hook"):
                self._wrap(engine, "generate", engine.generate, seen)

    def _wrap(self, owner: Any, name: str, original: Callable[..., Any], seen: Callable[[], None]) -> None:
        was_own = name in getattr(owner, "__dict__", {})

        def call(*positional: Any, **named: Any) -> Any:
            seen()
            return original(*positional, **named)

        def put_back() -> None:
            if owner.__dict__.get(name) is call:
                if was_own:
                    setattr(owner, name, original)
                else:
                    delattr(owner, name)

        try:
            setattr(owner, name, call)
        except AttributeError:  # an object without attributes of its own cannot be watched
            return
        self._removals.append(put_back)

    def remove(self) -> None:
        """Puts the original methods of the watched trainer back."""
        removals, self._removals = self._removals, []
        for removal in removals:
            removal()


def _compiling() -> bool:
    import torch

    return torch.compiler.is_compiling()


def _inner(module: Any) -> Any:
    """Returns the module inside a wrapper of torch.compile, whose forward has the names of the inputs."""
    from .._cost import unwrapped

    return unwrapped(module)


def _compiled(module: Any) -> Any:
    """Returns the wrapper that torch.compile(model) made, if it is among the wrappers of a model. None if not."""
    while module is not None:
        if type(module).__name__ == "OptimizedModule":
            return module
        module = module._modules.get("module") if hasattr(module, "_modules") else None
    return None


def _backbone(model: Any) -> Any:
    """Returns the model without its head, which a trainer may call alone. None if there is none."""
    base = model.get_base_model() if hasattr(model, "get_base_model") else model
    prefix = getattr(base, "base_model_prefix", "")
    inner = getattr(base, prefix, None) if prefix else None
    return inner if inner is not model and hasattr(inner, "_compiled_call_impl") else None
