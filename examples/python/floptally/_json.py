# SPDX-License-Identifier: Apache-2.0
"""Reads and writes JSON with errors that name the field, for untrusted texts and unusual values."""

from __future__ import annotations

import json
import math
import operator
from collections.abc import Mapping
from typing import Any

from ._errors import Error


def read_json(text: str | bytes, field: str) -> Any:
    """Parses a JSON text and returns its value. Raises an Error for a repeated key, or for a number that is too large
    for a double."""
    try:
        if isinstance(text, bytes):
            text = text.decode()
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_no_number, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        raise Error(field, "has lists and objects that are nested too deep: pass JSON with fewer levels") from None
    except ValueError as problem:
        raise Error(field, f"must be JSON: {problem}") from None


def json_of(value: Any, field: str, *, named: bool = False) -> str:
    """Returns a Python value as JSON text.

    named: True also accepts numbers and arrays of numpy and torch, infinities, NaN, and other objects (written by
        `str`). The C++ reader of the JSON then refuses a value of the wrong type and names its key.
    """
    try:
        text = json.dumps(_plain(value) if named else value, allow_nan=named, ensure_ascii=False)
        text.encode()  # half of a surrogate pair is invalid
        return text
    except RecursionError:
        raise Error(
            field,
            "cannot be written as JSON: its lists and objects are nested too deep; use fewer levels",
        ) from None
    except (TypeError, ValueError) as problem:
        raise Error(field, f"cannot be written as JSON: {problem}") from None


def _plain(value: Any) -> Any:
    """Returns a value of a config as types that json writes."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping):
        return {_plain_key(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if isinstance(value, (bool, int, float, str)):  # of a derived class, such as an enum
        return value
    if hasattr(value, "tolist"):  # a number or an array of numpy or torch
        return _plain(value.tolist())
    return operator.index(value) if hasattr(value, "__index__") else str(value)


def _plain_key(key: Any) -> Any:
    return key if key is None or isinstance(key, (str, int, float)) else operator.index(key) if hasattr(key, "__index__") else key


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in result if names.count(name) > 1)
        raise ValueError(f'the key "{twice[:60]}" appears twice in one object: remove one')
    return result


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number: use a finite number or null")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:60]} is too large for a double: use a number below 1.8e308")
    return value


def _whole(text: str) -> int:
    if len(text) > 60:  # Python's int() takes quadratic time
        raise ValueError(f"an integer must have at most 60 digits, got {len(text)}")
    return int(text)
