# SPDX-License-Identifier: Apache-2.0
"""Conventions: the ways in which tools count FLOPs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from . import _core
from ._errors import listed, made_elsewhere

if TYPE_CHECKING:
    from ._literals import ConventionName


@dataclass(frozen=True, repr=False, init=False)
class Convention:
    """One way to count FLOPs: "exact", or that of a tool such as "megatron". `conventions()` lists them.

    name: the value for `convention=`: "exact", "palm", "megatron", …
    summary: one line on what is counted.
    """

    __init__ = made_elsewhere("one of floptally.conventions(), or its name")
    name: ConventionName
    summary: str = field(compare=False)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<Convention {self.name}>"


def conventions() -> list[Convention]:
    """Returns every convention that floptally knows. The default, "exact", comes first."""
    return [listed(Convention, each) for each in _core._conventions()]
