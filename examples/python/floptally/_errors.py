# SPDX-License-Identifier: Apache-2.0
"""The error classes of floptally. The extension raises them too."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from ._core import Tally

P = ParamSpec("P")
R = TypeVar("R")
__name__ = "floptally"  # where users find the classes


class Error(ValueError):
    """Raised for bad input. ``str(error)`` reads ``FIELD: what is wrong, with the value, and what would be right``.

    ``field`` is the name that the caller knows: an argument with its index (``cu_seqlens[2]``), or a key of the
    config.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.problem)


def first_line(problem: BaseException, most: int | None = None) -> str:
    """Returns the first line of an exception's text, cut to `most` characters. Without a text: the name of its type."""
    return (str(problem).strip() or type(problem).__name__).splitlines()[0][:most]


def type_and_text(problem: BaseException | None, most: int | None = None) -> str:
    """Returns the type of an exception and the first line of its text, cut to `most` characters: "ValueError: too long".
    """
    if problem is None:
        return "no message"
    text = first_line(problem, most) if str(problem).strip() else "no message"
    return f"{type(problem).__name__}: {text}"


class LeftOut(Error):
    """Raised if a count on the GPU left out sequences because their lengths were wrong. The text is the error of the
    first such sequence.

    ``sequences``: how many were left out. ``counted``: the tally of all others.
    """

    def __init__(self, field: str, problem: str, sequences: int, counted: Tally) -> None:
        super().__init__(field, problem)
        self.sequences = sequences
        self.counted = counted

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.problem, self.sequences, self.counted)


class AssumptionWarning(UserWarning):
    """A warning that a count depends on an assumption. The text names the assumption, and says how to replace it or
    which work is not counted."""


class Overflow(Error, OverflowError):
    """Raised if a count does not fit its integer type. The tally or meter that should have counted it is unchanged."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Wraps a function so that the TypeError for an unknown keyword names the nearest known one."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return function  # the callee checks them
    known = list(parameters)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                nearest = difflib.get_close_matches(name, known, n=1)
                hint = f"; did you mean '{nearest[0]}'?" if nearest else ""
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument '{name}'{hint}")
        return function(*args, **kwargs)

    return call


def shortened(value: object) -> str:
    """Returns repr(value), shortened to fit into the text of an error."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def listed(value: type[R], fields: Iterable[Any]) -> R:
    """Makes an instance of a dataclass that has no public constructor. fields: the values of its fields, in order."""
    instance = object.__new__(value)
    instance.__dict__.update(zip((each.name for each in dataclasses.fields(value)), fields, strict=True))  # type: ignore[arg-type]
    return instance


def made_elsewhere(makers: str) -> Callable[..., None]:
    """Returns an `__init__` that raises a TypeError, for a class that users must not construct. makers: names of the
    functions that return an instance, for the text of the error."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        raise TypeError(f"{type(self).__name__}() cannot be called: use {makers}")

    return __init__
