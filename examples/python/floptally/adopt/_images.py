# SPDX-License-Identifier: Apache-2.0
"""Turns images into grids if a trainer only knows their number of patches. The vision tower must ignore the shape of
images."""

from __future__ import annotations

from typing import Any

from .. import Error
from ._count import Count
from ._fields import as_integer


class Images:
    """Counts images if only their numbers of patches are known. Each image counts as one row of merged tokens. Such a
    row has the same number of patches, tokens and attended pairs as the image's real shape."""

    def __init__(self, config: Any, count: Count) -> None:
        self._config, self._count = config, count
        self._side: int | None = None
        self._shaped: bool | None = None

    def has_tower(self) -> bool:
        return self._merged_side() != 0

    def grids(self, patches_of: list[int]) -> list[tuple[int, int, int]]:
        side = self._merged_side()
        if side == 0:
            raise Error("images_seqlens", f"must be left out: {self._count.cost.model_type} has no vision tower")
        if self._shaped is None:  # tests whether a square counts like a row of as many cells
            text = [64 * 64]  # the images' tokens in the text
            square = self._count.batch(lengths=text, grid_thw=[(1, 64 * side, 64 * side)])
            self._shaped = square != self._count.batch(lengths=text, grid_thw=[(1, side, 64 * 64 * side)])
        if self._shaped:
            raise Error(
                "images_seqlens", "cannot show which patches attend to each other in this model: pass grid_thw= instead"
            )
        grids = []
        for i, patches in enumerate(patches_of):
            if patches % side**2:
                raise Error(f"images_seqlens[{i}]", f"must be a multiple of {side * side}, since a token has {side} x {side} patches, got {patches}")
            grids.append((1, side, patches // side))
        return grids

    def _merged_side(self) -> int:
        """Returns the side of the square of patches that the vision tower merges into one token, in patches. 0 if the
        model has no vision tower."""
        if self._side is None:
            towers = any(row.tower == "vision" for row in self._count.cost.entries)
            self._side = _merged_side(self._config) if towers else 0
        return self._side


def _merged_side(config: Any) -> int:
    fields = config if isinstance(config, dict) else config.to_dict() if hasattr(config, "to_dict") else {}
    vision = fields.get("vision_config") or {}
    return as_integer("vision_config.spatial_merge_size", vision.get("spatial_merge_size", 1), least=1)
