# SPDX-License-Identifier: Apache-2.0
"""The views of a breakdown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Breakdown


@dataclass(frozen=True, repr=False)
class Work:
    """FLOPs of one component, or of all components together, by phase (forward, backward, recompute), as exact ints."""

    name: str
    forward: int
    backward: int
    recompute: int

    @property
    def total(self) -> int:
        """FLOPs of all phases, an exact int."""
        return self.forward + self.backward + self.recompute

    def __repr__(self) -> str:
        return f"<Work {self.name}: {self.total}>"


@dataclass(frozen=True, repr=False)
class View:
    """FLOPs of a batch in one view (useful, padded or executed), in total and by component.

    components: a Work for each component name, in the model's order.
    """

    forward: int
    backward: int
    recompute: int
    components: dict[str, Work]

    @property
    def total(self) -> int:
        """FLOPs of all phases, an exact int."""
        return self.forward + self.backward + self.recompute

    def __repr__(self) -> str:
        return f"<View: {self.total}>"


def padding_of(work: Breakdown) -> dict[str, int] | None:
    padding = work.to_dict().get("padding")
    return None if padding is None else {name: int(count) for name, count in padding.items()}
