# SPDX-License-Identifier: Apache-2.0
"""Hooks that run before each forward of a model, and that torch.compile does not trace."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Hooks:
    """Hooks that call a function before each forward of a model: once for nested calls, and never inside compiled code.

    A compiled model calls its hooks inside the graph that is traced. There the hook returns at once, so that it breaks
    no graph. The forward is then seen at the wrapper of ``torch.compile(model)``, or at the call of a model after
    ``model.compile()``.
    """

    def __init__(self) -> None:
        self._removals: list[Callable[[], None]] = []
        self._registered: tuple[Any, ...] | None = None
        self._inside = False  # a forward that was seen is running
        self._running: list[int] = []  # the modules whose forwards these are

    def register(
        self, model: Any, wrapped: Any, before: Callable[[Any, dict[str, Any]], bool], redirected: Callable[[dict[str, Any]], None]
    ) -> None:
        """Registers hooks on a model, and removes those registered before. A forward that is running is not forgotten.

        model: the model whose forwards are reported.
        wrapped: the same model inside its wrappers, as the trainer calls it.
        before: called with the model and its inputs by name before a forward. If it returns True, nested forwards are
            not reported.
        redirected: called with the inputs if the model's `forward` was replaced by another method, as TRL does.
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
        """Forgets which forwards are running. Call it after an exception interrupted a forward."""
        self._inside = False
        self._running.clear()

    def _unregister(self) -> None:
        removals, self._removals = self._removals, []
        for removal in removals:
            removal()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Returns a context manager that removes the hooks from the model while its body runs."""
        registered = self._registered
        self._unregister()
        try:
            yield
        finally:
            if registered is not None:
                self.register(*registered)


class Rollouts:
    """Detects when a trainer generates text (rollouts). It watches ``generate`` of an engine that is an attribute of
    the trainer (vLLM, a client of a server), and the trainer's ``rollout_func``. Generation by the model itself is a
    forward without gradients, which `Hooks` detects."""

    def __init__(self) -> None:
        self._removals: list[Callable[[], None]] = []

    def watch(self, trainer: Any, seen: Callable[[], None]) -> None:
        """Watches a trainer: calls the function `seen` before each of its rollouts. Stops watching the trainer that was
        watched before."""
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
        """Restores the original methods of the watched trainer."""
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
