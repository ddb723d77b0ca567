# SPDX-License-Identifier: Apache-2.0
"""Checks of argument values. An error names the argument."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from ._errors import Error, shortened


def is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def as_int(value: Any) -> int | None:
    """Returns a value of any integer type (int, NumPy, …) as an int. None for True, False and values of other types."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def count(value: Any, field: str, least: int = 0, most: int = 2**64 - 1) -> int:
    integer = as_int(value)
    if integer is None or not least <= integer <= most:
        raise Error(field, f"must be an integer from {least} to {most}, got {shortened(value)}")
    return integer


def flops(value: Any, field: str) -> int:
    integer = as_int(value)
    if integer is None or not 0 <= integer < 2**128:
        raise Error(field, f"must be an integer from 0 to 2^128 - 1, got {shortened(value)}")
    return integer


def flag(value: Any, field: str) -> bool:
    if not isinstance(value, bool):
        raise Error(field, f"must be True or False, got {shortened(value)}")
    return value


def number(value: Any, field: str) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise Error(field, f"must be a number, got {shortened(value)}") from None


def positive(value: Any, field: str) -> float:
    result = number(value, field)
    if not math.isfinite(result) or result <= 0:
        raise Error(field, f"must be a finite number above 0, got {result:f}")
    return result


def items_of(value: Any, field: str, expected: str = "a list") -> list[Any]:
    """Returns the items of a list or of another iterable as a list. Raises an error that begins with `field` for any
    other value."""
    try:
        if isinstance(value, (str, bytes, dict)):
            raise TypeError
        items = iter(value)
    except TypeError:
        raise Error(field, f"must be {expected}, got {shortened(value)}") from None
    return list(items)
