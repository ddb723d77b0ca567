# SPDX-License-Identifier: Apache-2.0
"""Costs as files, so that a slow from_torch() runs once."""

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

#: Callable masks of `from_torch`. They are created again from their names.
OWN_MASKS = re.compile(r"tokens_after_(\d+)|(?:later_)?chunks_of_\d+|chunk_squares_of_\d+|every_other_token")


def save(cost: Cost, path: PathLike) -> None:
    """Writes a cost to a file, as JSON with a checksum. The write is atomic: after a crash the file is the old one or
    the new one."""
    (model, plan), _, numbers, version = state_of(cost)
    text = json.dumps([model, keywords_of(plan)])
    record = {"floptally": version, "numbers_version": numbers, "sha256": digest_of(text), "cost": text}
    _write_whole(os.fsencode(path), text=json.dumps(record))


def load(path: PathLike) -> Cost:
    """Reads a cost that `save` wrote. Raises an Error if the file was changed, or if it is from a version of
    floptally that counts differently."""
    try:
        with open(path, "rb") as file:
            found = read_json(file.read(), "path")
        made_by, digest, text = (found["numbers_version"], found["floptally"]), found["sha256"], found["cost"]
    except OSError:
        raise Error("path", f'cannot read "{os.fsdecode(path)}": pass a file that Cost.save wrote') from None
    except (ValueError, KeyError, TypeError):
        raise Error("path", f'"{os.fsdecode(path)}" is not a file of Cost.save: pass a file that Cost.save wrote') from None
    if not isinstance(text, str) or digest != digest_of(text) or type(made_by[0]) is not int:
        raise Error("path", f'"{os.fsdecode(path)}" was changed after Cost.save wrote this file: save the cost again')
    model, plan = json.loads(text)
    register(text)
    result = Cost.__new__(Cost)
    result.__setstate__(((tuples(model), plan_of(plan)), None, *made_by))  # type: ignore[attr-defined]
    return result


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def tuples(value: Any) -> Any:
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def register(text: str) -> None:
    """Creates the masks of `from_torch` that a saved cost names, so that the cost can be loaded. text: the saved
    cost."""
    for found in OWN_MASKS.finditer(text):
        from . import _traced_entries  # importing it creates the other masks

        if found[1]:
            _traced_entries.tokens_after(int(found[1]))
        elif "of" in found[0]:
            _traced_entries.in_chunks(found[0].replace("_", " "))


def keywords_of(plan: Plan) -> dict[str, Any]:
    """Returns a plan as a dict of its keywords, to save in a file. `plan_of` makes the same plan from this dict.
    "weights" is a list with the keywords of each WeightSetting."""
    return {**state_of(plan)[0], "weights": [state_of(weight)[0] for weight in plan.weights]}


def state_of(value: Any) -> tuple[Any, ...]:
    """Returns the values that pickle saves for an object."""
    state: tuple[Any, ...] = value.__getstate__()
    return state


def plan_of(keywords: dict[str, Any]) -> Plan:
    return Plan(**{**keywords, "weights": [WeightSetting(**weight) for weight in keywords["weights"]]})
