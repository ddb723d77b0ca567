# SPDX-License-Identifier: Apache-2.0
"""Finds the parallel layouts of a model that fit a cluster's memory, fastest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error
from ._html import picture
from ._report import Report
from ._waterfall import bandwidths_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._core import Breakdown, Cost
    from ._literals import LayoutFormat


@dataclass(frozen=True)
class FoundLayout:
    """A parallel layout that fits the memory, with its predicted training step.

    microbatch: sequences of a microbatch.
    microbatches: how many microbatches each replica accumulates. dp x microbatch x microbatches is the global batch.
    zero: states that data parallel ranks shard.
    hsdp: the number of replicas of these shards.
    layers_of_chunks: layers of each chunk of the pipeline, in forward order.
    seconds: predicted time of the step.
    bound: a lower bound of the step's time, with kernels at their peak and all communication hidden.
    bubble: the share of the time in which the busiest pipeline stage waits for other stages.
    memory_gib: memory of the fullest rank, `reserve_gib` included.
    is_on_front: True if no other layout is both faster and smaller in memory (the Pareto front).
    """

    dp: int
    pp: int
    vpp: int
    tp: int
    cp: int
    ep: int
    etp: int
    microbatch: int
    microbatches: int
    global_batch: int
    zero: str
    hsdp: int
    recompute: str
    recompute_modules: tuple[str, ...]
    schedule: str
    layers_of_chunks: tuple[int, ...]
    sequence_parallel: bool
    offload: dict[str, Any]
    optimizer: str
    seconds: float
    mfu: float
    memory_gib: float
    bound: float
    bubble: float
    exposed_exchanges: float
    optimizer_seconds: float
    fullest_stage: int
    is_on_front: bool


class Search(Report):
    """The parallel layouts of a model that fit the memory, fastest first. `Cost.search()` returns one; `str()` is a
    table."""

    def __init__(self, model: Cost | Breakdown, **how: Any) -> None:
        """Searches the layouts.

        model: a Cost, or a Breakdown of a Cost. The search then uses the Breakdown's plan.
        how: keywords of the search, as in `Cost.search`.
        """
        if how.get("network_gbps") is not None:
            how["network_gbps"] = bandwidths_of(how["network_gbps"])
        plan = how.pop("plan", None)
        self._how, self._model, self._plan = how, model, plan
        self._json, self._table, self._cells, more = self._search()
        self._found: dict[str, Any] = json.loads(self._json)
        self._settings: dict[str, dict[str, str]] = json.loads(more)["settings"]

    def _search(self, **more: Any) -> tuple[str, str, str, str]:
        model = self._model
        work = model if isinstance(model, _core.Breakdown) else model.flops(lengths=self._how["lengths"], plan=self._plan)
        return _core._search(work, **self._how, **more)

    @property
    def layouts(self) -> list[FoundLayout]:
        """The first `top` layouts that fit, fastest first."""
        return [_layout(found) for found in self._found["layouts"]]

    @property
    def tried(self) -> int:
        """How many layouts the search tried."""
        return int(self._found["tried"])

    @property
    def fit(self) -> int:
        """How many of the tried layouts fit the memory."""
        return int(self._found["fit"])

    @property
    def too_large(self) -> int:
        """How many of the tried layouts do not fit the memory."""
        return int(self._found["too_large"])

    @property
    def impossible(self) -> int:
        """How many of the tried layouts are impossible, because their sizes do not divide the model, the batch or the
        ranks."""
        return int(self._found["impossible"])

    @property
    def assumed(self) -> list[str]:
        """The assumptions behind the predicted step times, one sentence for each."""
        return list(self._found["assumed"])

    @property
    def efficiency(self) -> float | None:
        """The efficiency that the search uses: the fraction of the peak FLOP/s with which it predicts the measured step
        time exactly. None unless `Waterfall.best` made this search."""
        return float(self._found["measured"]["efficiency"]) if "measured" in self._found else None

    @property
    def points(self) -> list[tuple[float, float]]:
        """(seconds of the step, GiB of the fullest rank) of every layout that fits, fastest first."""
        return [(float(seconds), float(gib)) for seconds, gib in self._found["points"]]

    @property
    def memory_gib(self) -> float:
        """Memory of one GPU in GiB."""
        return float(self._found["memory_gib"])

    def text(self, layout_format: LayoutFormat) -> str:
        """Returns the fastest layout as text: settings for "megatron", "torchtitan", "areal" or "fsdp2"."""
        if not self._settings:
            raise Error(
                "layout_format",
                f"no layout was found: {self.too_large} layouts need too much memory and {self.impossible} do not divide "
                "the model, batch or GPUs; search with more memory, or with fewer fixed sizes",
            )
        if layout_format not in self._settings:
            raise Error("layout_format", f"must be one of {', '.join(self._settings)}, got {layout_format!r}")
        written = self._settings[layout_format]
        if "text" not in written:
            raise Error(written["field"], written["problem"])
        return written["text"]

    def explain(self, layout: str) -> str:
        """Returns the position of a layout in the list of results, as text. If the layout is not in the list, returns
        the reason: a size that does not divide another, or how many GiB a rank lacks.

        Args:
            layout: sizes by name, "tp=2, pp=4, mb=1, zero=optimizer, recompute=none", or a trainer's settings.
        """
        explanation: str = json.loads(self._search(explain=layout)[3])["explanation"]
        return explanation

    def _repr_html_(self) -> str:
        def draw() -> Figure:
            from .plots import layouts

            return layouts(self)

        return super()._repr_html_() + picture(draw, "Seconds and memory of each layout")

    def __repr__(self) -> str:
        return f"<Search: {self.fit} of {self.tried} layouts fit>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._model, {**self._how, "plan": self._plan})


def _layout(found: dict[str, Any]) -> FoundLayout:
    layout = dict(found["layout"])
    layout["recompute_modules"] = tuple(layout["recompute_modules"])
    layout["layers_of_chunks"] = tuple(layout["layers_of_chunks"])
    return FoundLayout(**layout, **{key: value for key, value in found.items() if key != "layout"})


def _again(model: Cost | Breakdown, how: dict[str, Any]) -> Search:
    return Search(model, **how)
