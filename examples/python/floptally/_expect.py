# SPDX-License-Identifier: Apache-2.0
"""What MFU is normal: published runs nearest to a run, by one convention."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Cost
from ._cost import cost
from ._report import Report

if TYPE_CHECKING:
    from ._accelerators import Accelerator
    from ._types import ConfigLike


@dataclass(frozen=True)
class PublishedRun:
    """A published training run.

    mfu: the exact MFU over the dense peak of the run's precision, as a fraction.
    published: the MFU that the source prints, or its TFLOP/s over the same dense peak. None if it prints neither.
    published_peak_tflops: the TFLOP/s that the printed MFU divides by, where the source says it.
    peak_tflops: the dense peak of the accelerator at the run's precision.
    published_convention: the convention that turns the printed tokens/s into the printed figure; "none" if no
        convention does; None if the source prints only one of the two.
    reason: why no convention reproduces the printed figure, where it is known.
    marks: "forced balance" (of experts), "dropped tokens", "cut model" (fewer layers).
    source, page: the title of the source, and the file or address that has the run.
    distance: how much the run differs from yours; smaller is more similar. None for runs of `published_runs()`.
    """

    model: str
    kind: str
    year: int
    accelerator: str
    gpus: int
    precision: str
    sequence_length: int
    mfu: float
    published: float | None
    published_peak_tflops: float | None
    peak_tflops: float
    published_convention: str | None
    reason: str | None
    marks: tuple[str, ...]
    source: str
    page: str
    distance: float | None


class Expectation(Report):
    """The published runs that are most similar to yours, and how your MFU compares with theirs. `expect` returns one;
    `str()` is a table."""

    def __init__(self, text: str, table: str, cells: str) -> None:
        self._json, self._table, self._cells = text, table, cells
        self._found: dict[str, Any] = json.loads(text)

    @property
    def runs(self) -> list[PublishedRun]:
        """The published runs that are most similar to yours, the most similar one first."""
        return [PublishedRun(**{**run, "marks": tuple(run["marks"])}) for run in self._found["runs"]]

    @property
    def low(self) -> float:
        """The 10th percentile of the runs' MFU: a tenth of the runs have a lower MFU."""
        return float(self._found["low"])

    @property
    def median(self) -> float:
        """The median MFU of the runs."""
        return float(self._found["median"])

    @property
    def high(self) -> float:
        """The 90th percentile of the runs' MFU: a tenth of the runs have a higher MFU."""
        return float(self._found["high"])

    @property
    def below(self) -> int | None:
        """The number of runs with a lower MFU than yours. None if you gave no MFU."""
        own = self._found["own"]
        return None if own is None else int(own["below"])

    @property
    def quantile(self) -> float | None:
        """The share of the runs with a lower MFU than yours. None if you gave no MFU."""
        own = self._found["own"]
        return None if own is None else float(own["quantile"])

    def __repr__(self) -> str:
        return f"<Expectation of {len(self._found['runs'])} runs: median MFU {100 * self.median:.1f} %>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Expectation, (self._json, self._table, self._cells)


def expect(
    model: Cost | ConfigLike,
    *,
    accelerator: str | Accelerator,
    gpus: int | None = None,
    precision: str = "bf16",
    mfu: float | None = None,
    nearest: int = 20,
    unmarked: bool = False,
    **batch: Any,
) -> Expectation:
    """Returns the published training runs that are most similar to yours, and how your MFU compares with theirs.

    Args:
        model: a Cost, or what `cost` takes.
        accelerator: the GPU, by a name that `accelerator` knows.
        gpus: how many GPUs; None if it does not matter.
        precision: the precision of the matrix products. Your MFU is over the dense peak at this precision.
        mfu: your MFU as a fraction, 0.4 for 40 %.
        nearest: how many of the most similar runs to return.
        unmarked: True takes only runs without `PublishedRun.marks`.
        batch: the batch, as `Cost.flops` takes it: lengths=[8192].
    """
    counted = model if isinstance(model, Cost) else cost(model)
    work = counted.flops(**batch)
    return Expectation(
        *_core._expect(
            work, accelerator=accelerator, gpus=gpus, precision=str(precision), mfu=mfu, nearest=nearest, unmarked=unmarked
        )
    )


def published_runs() -> Expectation:
    """Returns every published run that floptally knows, in the order of the table."""
    return Expectation(*_core._published_runs())
