# SPDX-License-Identifier: Apache-2.0
"""The trainer's own function, for comparison, and as a fallback if the drop-in cannot count."""

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
from typing import Any, Generic, TypeVar, cast

from .. import Error

Answer = TypeVar("Answer")

#: Where ``compare=True`` writes, at level INFO.
log = logging.getLogger("floptally.adopt")
#: Our own arguments. Their errors are raised, not answered by the trainer's count.
_OURS = ("convention", "plan", "accelerator", "cost")
_warned: set[tuple[str, str]] = set()


def warn_once(trainer: str, about: str, text: str) -> None:
    """Warns that floptally's replacement of a trainer's function cannot count something. Warns only once for each
    (trainer, about). about: a key for what cannot be counted. text: the text of the warning."""
    if (trainer, about) not in _warned:
        _warned.add((trainer, about))
        warnings.warn(f"floptally.adopt, {trainer}: {text}", RuntimeWarning, stacklevel=4)


class Prepared(Generic[Answer]):
    """An object that a drop-in replacement builds once, from the arguments of its first call: the cost of a config.
    `Original.prepare` returns it."""

    def __init__(self, build: Callable[[], Answer], *, has_original: Callable[[], bool], own: bool) -> None:
        self._build = build
        self._built: Answer | None = None
        self._problem: Exception | None = None
        self._is_done = False
        if own and has_original():
            return
        self._run()
        if self._problem is not None and (getattr(self._problem, "field", None) in _OURS or not has_original()):
            raise self._problem

    def get(self) -> Answer:
        """Returns the object that was built. If building it failed, raises the error of building."""
        if not self._is_done:
            self._run()
        if self._problem is not None:
            raise self._problem
        return cast(Answer, self._built)

    def _run(self) -> None:
        self._is_done = True
        try:
            self._built = self._build()
        except Exception as error:
            self._problem = error


class Original:
    """A trainer's own FLOPs function or class, which floptally replaces; found by its module and name. The original
    still counts if the user wants the trainer's own convention, or if floptally cannot count a model. Without the
    trainer installed, floptally counts."""

    def __init__(self, trainer: str, module: str, name: str) -> None:
        self.trainer = trainer
        self.module = module
        self.name = name
        self._is_missing = False
        self._logged: tuple[float, float] | None = None

    def find(self, *, load: bool) -> Any:
        """Returns the trainer's own function or class. None if its module is missing, or not loaded and `load` is
        False. A module of one word ("model") is never loaded, since other projects have such names too. If floptally
        has replaced the function, the original is created again from the source of its module."""
        module = sys.modules.get(self.module)
        if module is None and load and "." in self.module and not self._is_missing:
            try:
                module = import_module(self.module)
            except Exception:  # it may also need a GPU to be imported
                self._is_missing = True
        if module is None:
            return None
        found = getattr(module, self.name, None)
        return _from_source(module, self.name) if _is_ours(found) else found

    def prepare(self, build: Callable[[], Answer], *, own: bool) -> Prepared[Answer]:
        """Returns a `Prepared`: an object that `build` makes once, such as the cost of a config. If building fails and
        the trainer's own function is installed, only `answer` raises the error.

        own: True if the trainer's own function counts. The object is then built only when it is needed.
        """
        return Prepared(build, has_original=lambda: self.find(load=True) is not None, own=own)

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
        """Returns the FLOPs by floptally's count, or with `own` by the trainer's function. If floptally cannot count,
        it warns once and returns the trainer's count.

        ours: a function that returns floptally's count.
        theirs: a function that takes the trainer's own function and returns its count.
        own: True if the user chose the trainer's own convention and passed no other arguments. `ours` is still used if
            the trainer's function is missing, fails, or returns 0, as in verl and VeOmni for unknown model types.
        compare: True runs both, and logs both numbers whenever one of them has changed. With `own`, warns once if they
            differ.
        """
        find = find or self.find
        function = find(load=True) if own or compare else None
        if compare and function is None:
            self._warn("compare", f"{self.module} is not there to be compared with")
        value: Answer | None = None
        failed: str | None = None
        if function is not None:
            try:
                value = theirs(function)
            except Exception as error:  # a failure of the original must not end a run
                failed = f"the original raises {type(error).__name__}: {error}"
            if own and not compare and failed is None and number(cast(Answer, value)) != 0:
                return cast(Answer, value)
        try:
            found = ours()
        except Exception as error:
            field = getattr(error, "field", None)
            if failed is not None or field in _OURS:
                raise
            if function is None:
                function = find(load=True)
                if function is None:
                    raise
                try:
                    value = theirs(function)
                except Exception:  # neither can count this
                    raise error from None
            text = str(error) if isinstance(error, Error) else f"{type(error).__name__}: {error}"
            self._warn(str(field), f"{text}. Its own count is returned")
            return cast(Answer, value)
        if failed is not None:
            self._warn("original", failed)
            return found
        if function is None:
            return found
        theirs_number, ours_number = number(cast(Answer, value)), number(found)
        if compare:
            self.log(theirs_number, ours_number)
        if not own or theirs_number == 0:
            return found
        if not math.isclose(theirs_number, ours_number, rel_tol=1e-9):
            self._warn(
                "differs",
                f"the original counts {theirs_number:.12g}, floptally {ours_number:.12g} under its convention; the "
                "original's is returned. docs/python.md lists what differs",
            )
        return cast(Answer, value)

    def log(self, original: float, ours: float) -> None:
        """Logs floptally's count and the trainer's own count, if one of them has changed since the last call."""
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
    """Returns the function, class or method at `path` in a module, created again from the module's source. None if the
    source is missing or has nothing of these names."""
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
    """Returns the method `name` of an object's class as the trainer wrote it. If floptally has replaced the method, the
    original is created again from the source of its module. None if the class has no such method."""
    for base in type(owner).__mro__:
        if name in vars(base):
            found = vars(base)[name]
            module = sys.modules.get(base.__module__)
            return _from_source(module, *base.__qualname__.split("."), name) if _is_ours(found) else found
    return None
