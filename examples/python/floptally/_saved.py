# SPDX-License-Identifier: Apache-2.0
"""Costs as files: what took a minute to count is read in a millisecond."""

from __future__ import annotations

import hashlib
import json
import os
import re
from typing import TYPE_CHECKING, Any

from ._core import Cost, Plan, WeightSetting, _write_whole
from ._errors import Error
from ._json import read_json

if TYPE_CHECKING:
    PathLike = str | os.PathLike[str]

#: Masks that `from_torch` makes, and that are callables: they are made again by their names.
OWN_MASKS = re.compile(r"tokens_after_(\d+)|(?:later_)?chunks_of_\d+|chunk_squares_of_\d+|every_other_token")


def save(cost: Cost, path: PathLike) -> None:
    """Writes a cost as JSON, with a digest of it: whole, or the old file stands."""
    (model, plan), _, numbers, version = state_of(cost)
    text = json.dumps([model, keywords_of(plan)])
    kept = {"floptally": version, "numbers_version": numbers, "sha256": digest_of(text), "cost": text}
    _write_whole(os.fsencode(path), text=json.dumps(kept))


def load(path: PathLike) -> Cost:
    """Reads a cost that `save` wrote. Error where its numbers are of another version, or it is not as it was written."""
    try:
        with open(path, "rb") as file:
            found = read_json(file.read(), "path")
        made_by, digest, text = (found["numbers_version"], found["floptally"]), found["sha256"], found["cost"]
    except OSError:
        raise Error("path", f'cannot read "{os.fsdecode(path)}"') from None
    except (ValueError, KeyError, TypeError):
        raise Error("path", f'"{os.fsdecode(path)}" is no cost that Cost.save wrote') from None
    if not isinstance(text, str) or digest != digest_of(text) or type(made_by[0]) is not int:
        raise Error("path", f'"{os.fsdecode(path)}" is not as Cost.save wrote it: its digest is another')
    model, plan = json.loads(text)
    register(text)
    made = Cost.__new__(Cost)
    made.__setstate__(((tuples(model), plan_of(plan)), None, *made_by))  # type: ignore[attr-defined]
    return made


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def register(text: str) -> None:
    """Callables of `from_torch` whose names the text has."""
    for found in OWN_MASKS.finditer(text):
        from . import _torch_rows  # which makes the others as it is imported

        if found[1]:
            _torch_rows.tokens_after(int(found[1]))
        elif "of" in found[0]:
            _torch_rows.in_chunks(found[0].replace("_", " "))


def keywords_of(plan: Plan) -> dict[str, Any]:
    """What a plan is made with, and what each of its settings is made with."""
    return {**state_of(plan)[0], "weights": [state_of(one)[0] for one in plan.weights]}


def state_of(value: Any) -> tuple[Any, ...]:
    """What a pickle of it has."""
    made: tuple[Any, ...] = value.__getstate__()
    return made


def plan_of(keywords: dict[str, Any]) -> Plan:
    return Plan(**{**keywords, "weights": [WeightSetting(**one) for one in keywords["weights"]]})
