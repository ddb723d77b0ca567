# SPDX-License-Identifier: Apache-2.0
"""Reads throughput logs and compares runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from typing import Any

from . import _core


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainLine:
    """One `[train]` line of a throughput log: a step or an interval of all GPUs together.

    tflops: rate of all GPUs together. tflops and mfu_pct are None if the log does not have them.
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
    """One `[LAYER]` line of a throughput log: one pass of a layer.

    pass_name: "train_fwd", "fwd", "bwd" or "e2e".
    milliseconds: the median time of the pass.
    layer: the kind of layer in the log's words: "FUSED", …
    tflops, mfu_pct: None if the log does not have them.
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
    """The `[train]` and `[LAYER]` lines of a training log with throughput numbers, in their order."""

    steps: list[TrainLine]
    layers: list[LayerLine]


@dataclass(frozen=True)
class Experiment:
    """A training run to compare with other runs, read from its log. peak_tflops: dense peak of one GPU in TFLOP/s."""

    name: str
    gpus: int = field(kw_only=True)
    peak_tflops: float = field(kw_only=True)
    steps: Sequence[TrainLine] = field(kw_only=True)


@dataclass(frozen=True)
class ExperimentRow:
    """One training run in a comparison of runs.

    tflops_per_gpu: TFLOP/s of one GPU, all FLOPs over all time.
    best_tflops_per_gpu: TFLOP/s of one GPU in the fastest line of the log.
    mfu_pct: tflops_per_gpu in per cent of the peak.
    speed_up: tflops_per_gpu divided by that of the first run.
    """

    name: str
    tflops_per_gpu: float
    best_tflops_per_gpu: float
    mfu_pct: float
    speed_up: float


def named(line: type[TrainLine] | type[LayerLine], values: Sequence[Any]) -> dict[str, Any]:
    """Returns the fields of a log line as {name: value}."""
    return dict(zip((each.name for each in fields(line)), values, strict=True))


def read_throughput_log(text: str) -> ThroughputLog:
    """Reads the `[train]` and `[LAYER]` lines of a log in every format that recsys-examples has written. Other lines
    are skipped. Raises an Error with the line number for a damaged line. Also raises an Error if the log has no such
    lines."""
    steps, layers = _core._read_throughput_log(text)
    return ThroughputLog(
        [TrainLine(**named(TrainLine, line)) for line in steps], [LayerLine(**named(LayerLine, line)) for line in layers]
    )


def compare(experiments: Sequence[Experiment]) -> list[ExperimentRow]:
    """Compares training runs. Returns an ExperimentRow (TFLOP/s, MFU, speed-up) for each run, in order. The first run
    is the baseline."""
    return [ExperimentRow(*row) for row in _core._compare([astuple(run) for run in experiments])]


def comparison_markdown(rows: Sequence[ExperimentRow]) -> str:
    """Returns the rows of a comparison of training runs as a Markdown table."""
    lines = ["| experiment | TFLOPS/GPU | peak TFLOPS/GPU | MFU | speed-up |", "| --- | --: | --: | --: | --: |"]
    for row in rows:
        rates = f"{row.tflops_per_gpu:.2f} | {row.best_tflops_per_gpu:.2f} | {row.mfu_pct:.2f} %"
        lines.append(f"| {row.name} | {rates} | {row.speed_up:.2f}x |")
    return "\n".join(lines) + "\n"
