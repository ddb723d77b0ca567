# SPDX-License-Identifier: Apache-2.0
"""JSON of texts that may be hostile, and of values that may be no JSON: an error names the field."""

from __future__ import annotations

import json
import math
from typing import Any

from ._errors import Error


def read_json(text: str | bytes, field: str) -> Any:
    """The value of a text: no key twice in an object, no number that a double does not hold."""
    try:
        if isinstance(text, bytes):
            text = text.decode()
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        raise Error(field, "is no JSON that is read: its lists and objects are nested too deep") from None
    except ValueError as problem:
        raise Error(field, f"is no JSON: {problem}") from None


def json_of(value: Any, field: str, *, named: bool = False) -> str:
    """The text of a value. With `named`, what JSON has not is a string: infinities and NaN by their names, so that what
    must be a number is none, and objects as `str` has them."""
    try:
        text = json.dumps(_finite_or_named(value) if named else value, allow_nan=False, ensure_ascii=False,
                          default=str if named else None)
        text.encode()  # half of a pair is no text
        return text
    except RecursionError:
        raise Error(field, "cannot be written as JSON: its lists and objects are nested too deep") from None
    except (TypeError, ValueError) as problem:
        raise Error(field, f"cannot be written as JSON: {problem}") from None


def _finite_or_named(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    if isinstance(value, dict):
        return {key: _finite_or_named(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite_or_named(inner) for inner in value]
    return value


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in made if names.count(name) > 1)
        raise ValueError(f'the key "{twice[:60]}" is twice in one object')
    return made


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"no double holds {text[:60]}")
    return value


def _whole(text: str) -> int:
    if len(text) > 60:  # of which Python would take the square of their time
        raise ValueError(f"an integer of {len(text)} digits")
    return int(text)
