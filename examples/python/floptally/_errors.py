# SPDX-License-Identifier: Apache-2.0
"""The errors of floptally, which the extension raises too."""

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
    """Bad input. ``str(error)`` reads ``FIELD: what is wrong, with the value, and what would be right``.

    ``field`` is the name that the caller knows: an argument with its index (``cu_seqlens[2]``), or a config's key.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.problem)


class LeftOut(Error):
    """Sequences that a device left out: the error is that of the first of them.

    ``sequences`` is how many there were, ``counted`` the tally of all the others.
    """

    def __init__(self, field: str, problem: str, sequences: int, counted: Tally) -> None:
        super().__init__(field, problem)
        self.sequences = sequences
        self.counted = counted

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.field, self.problem, self.sequences, self.counted)


class Overflow(Error, OverflowError):
    """A count that would not fit its integer. Whatever was being added to keeps its old value."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """A function like the given one, whose error names the nearest keyword where it is called with one that it does not have."""
    known = list(inspect.signature(function).parameters)

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
    """repr(value), for the text of an error."""
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def listed(value: type[R], fields: Iterable[Any]) -> R:
    """A value of a dataclass that users do not make themselves."""
    made = object.__new__(value)
    made.__dict__.update(zip((each.name for each in dataclasses.fields(value)), fields, strict=True))  # type: ignore[arg-type]
    return made


def made_elsewhere(makers: str) -> Callable[..., None]:
    """`__init__` of a class of the extension that users do not make themselves."""

    def __init__(self: object, *args: object, **kwargs: object) -> None:
        raise TypeError(f"{type(self).__name__}() makes none: use {makers}")

    return __init__
