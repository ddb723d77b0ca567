# SPDX-License-Identifier: Apache-2.0
"""The function that a drop-in stands in for: asked beside it, and in its place where the drop-in cannot count."""

from __future__ import annotations

import ast
import functools
import inspect
import logging
import math
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

from .. import Error

Answer = TypeVar("Answer")

#: Where ``compare=True`` writes, at level INFO.
log = logging.getLogger("floptally.adopt")
#: Arguments of ours, a mistake in which no count of the trainer's makes good.
_OURS = ("convention", "plan", "accelerator", "cost")
_warned: set[tuple[str, str]] = set()


def warn_once(trainer: str, about: str, text: str) -> None:
    """One warning for each thing that a trainer's drop-in cannot count."""
    if (trainer, about) not in _warned:
        _warned.add((trainer, about))
        warnings.warn(f"floptally.adopt, {trainer}: {text}", RuntimeWarning, stacklevel=4)


class Original:
    """A trainer's own function or class, by its module and its name there."""

    def __init__(self, trainer: str, module: str, name: str) -> None:
        self.trainer = trainer
        self.module = module
        self.name = name
        self._logged: tuple[float, float] | None = None

    def find(self, *, load: bool) -> Any:
        """None where its module is not there, or not loaded yet and not to be. Where ours stands in its place, it is
        made once more from the source of its module."""
        module = sys.modules.get(self.module)
        if module is None and load:
            try:
                module = import_module(self.module)
            except ImportError:
                return None
        found = getattr(module, self.name, None)
        return _from_source(module, self.name) if _is_ours(found) else found

    def answer(
        self,
        ours: Callable[[], Answer],
        theirs: Callable[[Any], Answer],
        *,
        own: bool,
        compare: bool,
        number: Callable[[Answer], float],
        find: Callable[..., Any] | None = None,
    ) -> Answer:
        """What `ours` returns, or the original where that cannot: after one warning that says why.

        own: the count is by the trainer's own convention with nothing of ours said, so that both are one number. Where
            the original is loaded and returns another, that is returned after one warning with both.
        compare: runs the original beside it and logs both, whenever one of them is a new number.
        """
        find = find or self.find
        try:
            found = ours()
        except Error as error:
            function = None if error.field in _OURS else find(load=True)
            if function is None:
                raise
            try:
                value = theirs(function)
            except Exception:  # neither can count this
                raise error from None
            self._warn(error.field, f"{error}. Its own count is returned")
            return value
        function = find(load=compare) if own or compare else None
        if function is None:
            if compare:
                self._warn("compare", f"{self.module} is not there to be compared with")
            return found
        try:
            value = theirs(function)
        except Exception as error:  # the original's own failure, which is not to end a run that counts without it
            self._warn("original", f"the original raises {type(error).__name__}: {error}")
            return found
        if compare:
            self.log(number(value), number(found))
        if own and number(value) != 0 and not math.isclose(number(value), number(found), rel_tol=1e-9):
            self._warn(
                "differs",
                f"the original counts {number(value):.12g}, floptally {number(found):.12g} under its convention; the "
                "original's is returned. docs/python.md lists what differs",
            )
            return value
        return found

    def log(self, original: float, ours: float) -> None:
        """Both numbers, where one of them is new."""
        if self._logged == (original, ours):
            return
        self._logged = original, ours
        if log.level == logging.NOTSET:
            log.setLevel(logging.INFO)
        if not log.hasHandlers():
            log.addHandler(logging.StreamHandler())
        change = f", {100 * (ours / original - 1):+.2f}%" if original else ""
        log.info("%s: its own count %.12g, floptally's %.12g%s", self.trainer, original, ours, change)

    def _warn(self, about: str, text: str) -> None:
        warn_once(self.trainer, about, text)


def _is_ours(found: Any) -> bool:
    while isinstance(found, (functools.partial, functools.partialmethod)):
        found = found.func
    return str(getattr(found, "__module__", "")).startswith("floptally.")


def _from_source(module: Any, *path: str) -> Any:
    """A function or class of a module, or a method of its class, made once more from the module's source."""
    try:
        body: list[ast.stmt] = ast.parse(inspect.getsource(module)).body
    except (OSError, TypeError, SyntaxError):
        return None
    kinds = (ast.FunctionDef, ast.ClassDef)
    node: Any = None
    for name in path:
        node = next((one for one in body if isinstance(one, kinds) and one.name == name), None)
        if node is None:
            return None
        body = node.body
    names = dict(vars(module))
    file = getattr(module, "__file__", None) or module.__name__
    exec(compile(ast.Module([node], []), file, "exec"), names)
    return names[path[-1]]


def method_of(owner: Any, name: str) -> Any:
    """A method of an object's class, that of the source where ours stands in its place; None where there is none."""
    for base in type(owner).__mro__:
        if name in vars(base):
            found = vars(base)[name]
            module = sys.modules.get(base.__module__)
            return _from_source(module, *base.__qualname__.split("."), name) if _is_ours(found) else found
    return None
