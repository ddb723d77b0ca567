# SPDX-License-Identifier: Apache-2.0
"""Reads a trainer's arguments field by field. Errors name the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import Error

_REQUIRED: Any = object()

# What a user can do about a model that has no formula here.
WAY_OUT = "count the model from its Hugging Face config by floptally.cost"


def only_original_counts(trainer: str) -> str:
    """Returns the text of an error about a model that only the trainer's own function can count. The text says to
    install the trainer or to choose another convention."""
    return f'has no formula here: install {trainer}, or pass convention="exact"'


class Fields:
    """Reads a trainer's arguments by name: attributes of an object, or keys of a mapping. None counts as absent."""

    def __init__(self, source: Any, path: str = "") -> None:
        self.source = source
        self._path = path

    def name(self, field: str) -> str:
        return f"{self._path}{field}"

    def get(self, field: str) -> Any:
        """Returns the trainer's argument of this name, or None if it is absent."""
        if isinstance(self.source, Mapping):
            return self.source.get(field)
        return getattr(self.source, field, None)

    def integer(self, field: str, otherwise: Any = _REQUIRED, *, least: int = 1) -> int:
        value = self._or(field, otherwise)
        return as_integer(self.name(field), value, least=least)

    def flag(self, field: str, otherwise: bool = False) -> bool:
        value = self._or(field, otherwise)
        if not isinstance(value, bool):
            raise Error(self.name(field), f"must be True or False, got {value!r}")
        return value

    def text(self, field: str, otherwise: Any = _REQUIRED) -> str:
        value = self._or(field, otherwise)
        if not isinstance(value, str):
            raise Error(self.name(field), f"must be a str, got {value!r}")
        return value

    def inside(self, field: str) -> Fields:
        value = self._or(field, _REQUIRED)
        return Fields(value, f"{self.name(field)}.")

    def refuse(self, field: str, why: str, way_out: str = "") -> None:
        """Raises an error if the trainer's argument of this name is set, since floptally does not support it. 0, False,
        None and empty values are accepted."""
        value = self.get(field)
        if value:
            raise Error(self.name(field), f"{why}, got {value!r}" + (f"; {way_out}" if way_out else ""))

    def _or(self, field: str, otherwise: Any) -> Any:
        value = self.get(field)
        if value is not None:
            return value
        if otherwise is _REQUIRED:
            raise Error(self.name(field), f"is missing: set it in the {type(self.source).__name__}")
        return otherwise


def as_integer(field: str, value: Any, *, least: int = 0) -> int:
    """Returns a whole number as an int. Accepts floats (sums over ranks) and NumPy integers (configs)."""
    whole = None
    if not isinstance(value, (bool, str)):
        try:
            whole = int(value)
        except (TypeError, ValueError, OverflowError):
            pass
    if whole is None or whole != value or whole < least:
        raise Error(field, f"must be a whole number from {least}, got {value!r}")
    return whole


def as_seconds(field: str, value: Any) -> float:
    """Returns the value as a time in seconds. Raises an error unless it is above 0."""
    seconds = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else float("nan")
    if not 0.0 < seconds < float("inf"):
        raise Error(field, f"must be a time in seconds above 0, got {value!r}")
    return seconds


def as_lengths(field: str, value: Any) -> list[int]:
    """Returns the number of tokens of each sequence as a list. Accepts a list, an array or a tensor."""
    items = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(items, (str, bytes)) or not isinstance(items, Sequence):
        raise Error(field, f"must be a list of the number of tokens of each sequence, got {value!r}")
    return [as_integer(f"{field}[{i}]", item) for i, item in enumerate(items)]
