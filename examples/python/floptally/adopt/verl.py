# SPDX-License-Identifier: Apache-2.0
"""Replaces verl's ``verl.utils.flops_counter.FlopsCounter``."""

from __future__ import annotations

from typing import Any, cast

from .. import Convention, Error, Plan, accelerator
from .._types import ConfigLike
from ._count import Count, cost
from ._fields import as_lengths, as_seconds
from ._images import Images
from ._original import Original, warn_once

__all__ = ["FlopsCounter"]

#: Conventions that are verl's own.
_OWN = ("verl", "verl_2026")
_original = Original("verl", "verl.utils.flops_counter", "FlopsCounter")


class FlopsCounter:
    """Replaces verl's FLOPs counter, for every model that floptally reads.

    config: a configuration of transformers, or what ``floptally.cost`` takes.
    convention: verl's own by default: verl's own counter then counts. Without verl installed, or with `plan`,
        floptally counts by verl's formulas.
    plan: which weights train. By default all.
    accelerator: the GPU whose dense bf16 peak `estimate_flops` returns. By default verl's own table gives the peak of
        the current device.
    compare: also runs verl's own counter and logs both numbers.
    """

    def __init__(
        self,
        config: ConfigLike,
        *,
        convention: str | Convention = "verl_2026",
        plan: Plan | None = None,
        accelerator: str | None = None,
        compare: bool = False,
    ) -> None:
        self.config = config
        self._accelerator = accelerator
        self._compare = compare
        self._own = convention in _OWN and plan is None

        def build() -> tuple[Count, Images]:
            count = Count(cost(config), convention, plan)
            return count, Images(config, count)

        self._read = _original.prepare(build, own=self._own)

    def estimate_flops(
        self,
        batch_seqlens: Any,
        delta_time: float,
        *,
        images_seqlens: Any = None,
        grid_thw: Any = None,
        forward_only: bool | None = None,
        **ignored: Any,
    ) -> tuple[float, float]:
        """Returns (achieved rate, peak of the GPU) of a step or pass in TFLOPS (10^12 FLOP/s).

        Args:
            batch_seqlens: valid tokens of each sequence.
            delta_time: duration of the step or pass in seconds.
            images_seqlens: patches of each image or frame, before merging. These numbers are enough if every patch
                attends to its whole image. Otherwise pass `grid_thw`; images that cannot be counted are left out after
                one warning.
            grid_thw: [images, 3] frames, rows and columns of patches. Needed if the vision tower has windows.
            forward_only: True if `delta_time` is that of a forward pass alone. The result is then three times the
                forward, since verl divides its MFU by 3. None counts every pass as a training step. verl's MFU of a
                forward is then wrong if you pass a plan under which a forward is not a third of a step.
            ignored: other keywords of verl's function. They do not change the count.
        """
        more = {} if images_seqlens is None else {"images_seqlens": images_seqlens}
        achieved = _original.answer(
            lambda: self._achieved(batch_seqlens, delta_time, images_seqlens, grid_thw, forward_only),
            lambda original: float(
                original(self.config).estimate_flops(as_lengths("", batch_seqlens), delta_time, **more)[0]
            ),
            own=self._own and grid_thw is None,
            compare=self._compare,
            number=float,
        )
        return achieved, self._promised()

    def _achieved(
        self, batch_seqlens: Any, delta_time: float, images: Any, grid_thw: Any, forward_only: bool | None
    ) -> float:
        count, images_of = self._read.get()
        seconds = as_seconds("delta_time", delta_time)
        batch: dict[str, Any] = {"lengths": as_lengths("batch_seqlens", batch_seqlens)}
        if grid_thw is not None:
            batch["grid_thw"] = grid_thw
        elif images is not None and len(images) and (images_of.has_tower() or not self._own):
            try:
                batch["grid_thw"] = images_of.grids(as_lengths("images_seqlens", images))
            except Error as error:
                warn_once("verl", "images_seqlens", f"{error}. Images are not counted")
        work = count.cost.flops(convention=cast(Any, count.convention), plan=count.plan, **batch)
        if forward_only:
            flops = 3 * work.useful.forward
        else:
            flops = work.total
            if forward_only is None and count.plan is not None and flops != 3 * work.useful.forward:
                warn_once(
                    "verl", "forward_only",
                    "verl divides the MFU of forward-only passes by 3, and a step of this plan is not three forwards: "
                    "pass forward_only= to estimate_flops, as docs/python.md shows",
                )  # fmt: skip
        return flops / seconds / 1e12

    def _promised(self) -> float:
        if self._accelerator is not None:
            return accelerator(self._accelerator).peak_tflops("bf16")
        from verl.utils.flops_counter import get_device_flops

        return float(get_device_flops())  # type: ignore[no-untyped-call,unused-ignore]

