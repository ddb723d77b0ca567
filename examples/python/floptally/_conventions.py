# SPDX-License-Identifier: Apache-2.0
"""How FLOPs are counted, by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import _core
from ._errors import listed, made_elsewhere

if TYPE_CHECKING:
    from ._words import ConventionName


@dataclass(frozen=True, repr=False, init=False)
class Convention:
    """How FLOPs are counted. `conventions()` lists them.

    name: as `convention=` takes it: "exact", "palm", "megatron", … summary: a line on what is counted.
    """

    __init__ = made_elsewhere("one of floptally.conventions(), or its name")
    name: ConventionName
    summary: str = field(compare=False)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Convention {self.name}>"


def conventions() -> list[Convention]:
    """Every convention, the default `exact` first."""
    return [listed(Convention, each) for each in _core._conventions()]
