# SPDX-License-Identifier: Apache-2.0
"""verl: ``verl.utils.flops_counter.FlopsCounter``."""

from __future__ import annotations

from typing import Any

from .. import Convention, Cost, Error, Plan, accelerator, cost
from .._types import ConfigLike
from ._count import Count
from ._fields import as_integer, as_lengths, as_seconds


class FlopsCounter:
    """verl's counter for every model that floptally reads.

    config: a configuration of transformers, or what ``floptally.cost`` takes.
    convention: of the count; verl's own by default.
    plan: what trains, where that is not all of it.
    accelerator: whose dense bf16 peak is promised; verl's own table for the current device by default.
    """

    def __init__(
        self,
        config: ConfigLike,
        *,
        convention: str | Convention = "verl",
        plan: Plan | None = None,
        accelerator: str | None = None,
    ) -> None:
        self.config = config
        self._accelerator = accelerator
        self._count = Count(cost(config), convention, plan)
        self._side = _merged_side(config, self._count.cost)
        self._shaped: bool | None = None

    def estimate_flops(
        self,
        batch_seqlens: Any,
        delta_time: float,
        *,
        images_seqlens: Any = None,
        grid_thw: Any = None,
        **ignored: Any,
    ) -> tuple[float, float]:
        """(achieved, promised) in TFLOPS.

        Args:
            batch_seqlens: valid tokens of each sequence.
            delta_time: seconds.
            images_seqlens: patches of each image or frame, before merging. That is enough where every patch of an image
                attends to all of it; a tower with windows needs ``grid_thw``, [images, 3], in its place.
            ignored: what else verl passes to formulas that do not use it.
        """
        seconds = as_seconds("delta_time", delta_time)
        batch: dict[str, Any] = {"lengths": as_lengths("batch_seqlens", batch_seqlens)}
        if grid_thw is not None:
            batch["grid_thw"] = grid_thw
        elif images_seqlens is not None and len(images_seqlens):
            batch["grid_thw"] = self._grids(images_seqlens)
        achieved = self._count.batch(**batch) / seconds / 1e12
        return achieved, self._promised()

    def _grids(self, images_seqlens: Any) -> list[tuple[int, int, int]]:
        """One row of merged cells for each image: as many patches, merged tokens and pairs as in any other shape."""
        side = self._side
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
        for i, patches in enumerate(as_lengths("images_seqlens", images_seqlens)):
            if patches % side**2:
                raise Error(f"images_seqlens[{i}]", f"must be whole cells of {side} x {side} patches, got {patches}")
            grids.append((1, side, patches // side))
        return grids

    def _promised(self) -> float:
        if self._accelerator is not None:
            return accelerator(self._accelerator).peak_tflops("bf16")
        from verl.utils.flops_counter import get_device_flops

        return float(get_device_flops())  # type: ignore[no-untyped-call,unused-ignore]


def _merged_side(config: Any, model: Cost) -> int:
    """Patches along the side of a cell that a vision tower merges; 0 where there is no tower."""
    if not any(row.tower == "vision" for row in model.rows):
        return 0
    given = config if isinstance(config, dict) else config.to_dict() if hasattr(config, "to_dict") else {}
    vision = given.get("vision_config") or {}
    return as_integer("vision_config.spatial_merge_size", vision.get("spatial_merge_size", 1), least=1)


__all__ = ["FlopsCounter"]
