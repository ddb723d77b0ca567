# SPDX-License-Identifier: Apache-2.0
"""Logs of throughput, and the comparison that is made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import Any

from . import _core


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainLine:
    """A `[train]` line of a log: one step or interval of all GPUs together.

    tflops: of all GPUs together; it and mfu_pct are None where the log says none.
    """

    iteration: int
    tokens: int
    milliseconds: float
    tflops: float | None = None
    mfu_pct: float | None = None

    def __str__(self) -> str:
        return _core._train_line_text(astuple(self))

    def __repr__(self) -> str:
        return f"<TrainLine {self}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class LayerLine:
    """A `[LAYER]` line of a log: one pass of a layer.

    pass_name: "train_fwd", "fwd", "bwd", "e2e". milliseconds: the median. layer: its kind as the log has it: "FUSED", …
    tflops and mfu_pct are None where the log says none.
    """

    pass_name: str
    tokens: int
    milliseconds: float
    tflops: float | None = None
    mfu_pct: float | None = None
    layer: str = "LAYER"

    def __str__(self) -> str:
        return _core._layer_line_text(astuple(self))

    def __repr__(self) -> str:
        return f"<LayerLine {self}>"


@dataclass(frozen=True)
class ThroughputLog:
    """The lines of a log that say a throughput, in their order."""

    steps: list[TrainLine]
    layers: list[LayerLine]


@dataclass(frozen=True)
class Experiment:
    """A training run that is compared with others. peak_tflops: of one GPU, dense."""

    name: str
    gpus: int = field(kw_only=True)
    peak_tflops: float = field(kw_only=True)
    steps: Sequence[TrainLine] = field(kw_only=True)


@dataclass(frozen=True)
class ExperimentRow:
    """One row of a comparison.

    tflops_per_gpu: Σ FLOPs ÷ Σ time, of one GPU. best_tflops_per_gpu: of the fastest line of the log. mfu_pct: the
    average over the peak that was given. speed_up: over the first experiment, per GPU.
    """

    name: str
    tflops_per_gpu: float
    best_tflops_per_gpu: float
    mfu_pct: float
    speed_up: float


def named(line: type[TrainLine] | type[LayerLine], values: Sequence[Any]) -> dict[str, Any]:
    """The fields of a line by their names."""
    return dict(zip((each.name for each in fields(line)), values, strict=True))


def read_throughput_log(text: str) -> ThroughputLog:
    """The `[train]` and `[LAYER]` lines of a log's text, in every shape that recsys-examples writes. Other lines are
    skipped; one that looks like these and cannot be read is an Error with its number, and so is a log of none."""
    steps, layers = _core._read_throughput_log(text)
    return ThroughputLog(
        [TrainLine(**named(TrainLine, line)) for line in steps], [LayerLine(**named(LayerLine, line)) for line in layers]
    )


def compare(experiments: Sequence[Experiment]) -> list[ExperimentRow]:
    """A row for each experiment, in the order given; the first is what the others are compared with."""
    return [ExperimentRow(*row) for row in _core._compare([astuple(run) for run in experiments])]


def comparison_markdown(rows: Sequence[ExperimentRow]) -> str:
    """The rows as a Markdown table."""
    lines = ["| experiment | TFLOPS/GPU | peak TFLOPS/GPU | MFU | speed-up |", "| --- | --: | --: | --: | --: |"]
    for row in rows:
        rates = f"{row.tflops_per_gpu:.2f} | {row.best_tflops_per_gpu:.2f} | {row.mfu_pct:.2f} %"
        lines.append(f"| {row.name} | {rates} | {row.speed_up:.2f}x |")
    return "\n".join(lines) + "\n"
