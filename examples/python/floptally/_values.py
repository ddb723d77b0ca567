# SPDX-License-Identifier: Apache-2.0
"""Values of arguments: what is wrong is an error that names the field."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from ._errors import Error, shortened


def is_list(given: object) -> bool:
    return isinstance(given, Sequence) and not isinstance(given, (str, bytes))


def as_int(value: Any) -> int | None:
    """The int of whatever is one; True and False are answers, where a number is asked for."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def count(value: Any, field: str, least: int = 0, most: int = 2**64 - 1) -> int:
    made = as_int(value)
    if made is None or not least <= made <= most:
        raise Error(field, f"must be an integer from {least} to {most}, got {shortened(value)}")
    return made


def flops(value: Any, field: str) -> int:
    made = as_int(value)
    if made is None or not 0 <= made < 2**128:
        raise Error(field, f"must be an integer from 0 to 2^128 - 1, got {shortened(value)}")
    return made


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
    made = number(value, field)
    if not math.isfinite(made) or made <= 0:
        raise Error(field, f"must be a finite number above 0, got {made:f}")
    return made


def items_of(value: Any, field: str, expected: str = "a list") -> list[Any]:
    """What a list holds, or what can be gone through."""
    try:
        if isinstance(value, (str, bytes, dict)):
            raise TypeError
        items = iter(value)
    except TypeError:
        raise Error(field, f"must be {expected}, got {shortened(value)}") from None
    return list(items)
