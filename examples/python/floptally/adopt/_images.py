# SPDX-License-Identifier: Apache-2.0
"""Images of which a trainer knows the patches alone, as grids of a tower that does not look at their shape."""

from __future__ import annotations

from typing import Any

from .. import Error
from ._count import Count
from ._fields import as_integer


class Images:
    """One row of merged cells for each image: as many patches, merged tokens and pairs as in any other shape."""

    def __init__(self, config: Any, count: Count) -> None:
        self._config, self._count = config, count
        self._side: int | None = None
        self._shaped: bool | None = None

    def grids(self, patches_of: list[int]) -> list[tuple[int, int, int]]:
        side = self._merged_side()
        if side == 0:
            raise Error("images_seqlens", f"must not be given: {self._count.cost.model_type} has no vision tower")
        if self._shaped is None:  # whether a square counts as a row of as many cells does
            text = [64 * 64]  # their places among the tokens
            square = self._count.batch(lengths=text, grid_thw=[(1, 64 * side, 64 * side)])
            self._shaped = square != self._count.batch(lengths=text, grid_thw=[(1, side, 64 * 64 * side)])
        if self._shaped:
            raise Error(
                "images_seqlens", "does not say which patches attend to each other in this tower: pass grid_thw="
            )
        grids = []
        for i, patches in enumerate(patches_of):
            if patches % side**2:
                raise Error(f"images_seqlens[{i}]", f"must be whole cells of {side} x {side} patches, got {patches}")
            grids.append((1, side, patches // side))
        return grids

    def _merged_side(self) -> int:
        """Patches along the side of a cell that a vision tower merges; 0 where there is no tower."""
        if self._side is None:
            towers = any(row.tower == "vision" for row in self._count.cost.rows)
            self._side = _merged_side(self._config) if towers else 0
        return self._side


def _merged_side(config: Any) -> int:
    given = config if isinstance(config, dict) else config.to_dict() if hasattr(config, "to_dict") else {}
    vision = given.get("vision_config") or {}
    return as_integer("vision_config.spatial_merge_size", vision.get("spatial_merge_size", 1), least=1)
