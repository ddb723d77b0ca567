# SPDX-License-Identifier: Apache-2.0
"""Reports of the HSTU training benchmark: reads logs, writes the comparison table and its picture.

    python -m floptally.hstu_report baseline.log fused.log --gpus 16 --peak-tflops 989 --out report/

It reads the lines ``[train] [iter I, tokens T, elapsed_time X ms, achieved FLOPS F TFLOPS, MFU M%]`` and ``[LAYER]
[P] tokens N;time (median): X ms;achieved flops: Y TFLOPS;MFU: Z%`` of each log, in every format that
recsys-examples has written (any name of the layer, no MFU, a loss after the bracket, rich's columns and colours).
It writes these files:

* comparison.md: a table with a row for each log. It has the average and the best TFLOPS of one GPU, the MFU over your
  peak, and the speed-up over the first log. A second table has the passes of layers, where logs have them.
* comparison.png and comparison.svg: the picture of the first table.
* kernels.png and kernels.svg, with --kernels: the heatmap of measured attention times (`floptally.kernel_times`).

Rates of all GPUs are averaged by time. MFU is computed from the rate and your peak; the log's own MFU is not used.
Bad input gives exit status 2 and one line on standard error.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from . import Error, accelerator
from ._logs import (
    Experiment, ExperimentRow, LayerLine, ThroughputLog, TrainLine, compare, comparison_markdown, read_throughput_log,
)  # fmt: skip

__all__ = [
    "Experiment", "ExperimentRow", "LayerLine", "ThroughputLog", "TrainLine", "compare", "comparison_markdown", "main",
    "read_experiment", "read_log", "read_throughput_log", "write_report",
]  # fmt: skip

PathLike = str | os.PathLike[str]


def read_log(path: PathLike) -> ThroughputLog:
    """Reads the lines of a log file that state throughput, as a ThroughputLog. Errors begin with the file's name."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise Error("log", f'cannot read "{os.fspath(path)}": {problem.strerror}') from problem
    try:
        return read_throughput_log(text)
    except Error as problem:
        raise Error("log", f'"{os.fspath(path)}", {problem}') from problem


def read_experiment(
    path: PathLike, *, gpus: int, peak_tflops: float, name: str | None = None, skip: int = 0
) -> tuple[Experiment, list[LayerLine]]:
    """Reads one log. Returns (the run as an Experiment, its `[LAYER]` lines). The first `skip` steps of the run are
    left out. The run is named after the file if `name` is None."""
    log = read_log(path)
    if skip < 0 or skip >= max(1, len(log.steps)):
        raise Error("skip", f'must be less than {len(log.steps)}, the number of steps in "{os.fspath(path)}", got {skip}')
    run = Experiment(name or Path(path).stem, gpus=gpus, peak_tflops=peak_tflops, steps=log.steps[skip:])
    return run, log.layers


def layers_markdown(layers: Sequence[tuple[str, LayerLine]]) -> str:
    """Returns a Markdown table of measured layers: a row for each pair (name of the experiment, `[LAYER]` line of its
    log), with the time and rate of one pass (forward, backward or both). "-" stands for a value that the log does
    not have."""
    rows = [
        "| experiment | layer | pass | tokens | median | TFLOPS | MFU |",
        "| --- | --- | --- | --: | --: | --: | --: |",
    ]
    for name, line in layers:
        tflops = "-" if line.tflops is None else f"{line.tflops:.2f}"
        mfu = "-" if line.mfu_pct is None else f"{line.mfu_pct:.2f} %"
        rows.append(
            f"| {name} | {line.layer} | {line.pass_name} | {line.tokens} | {line.milliseconds:.3f} ms | {tflops} | {mfu} |"
        )
    return "\n".join(rows) + "\n"


def write_report(
    logs: Sequence[PathLike],
    out: PathLike,
    *,
    gpus: int,
    peak_tflops: float,
    names: Sequence[str] | None = None,
    skip: int = 0,
    kernels: PathLike | None = None,
    title: str | None = None,
) -> list[ExperimentRow]:
    """Writes a report of these logs into the folder `out`, and returns the rows of the report's table as a list of
    ExperimentRow.

    Reads everything before it writes anything. Logs of the layer benchmark have no steps: they give a table of
    layers and no rows.

    gpus: GPUs of each run.
    peak_tflops: dense peak of one GPU in TFLOP/s.
    skip: number of first steps of each log to leave out, since they include compilation.
    kernels: a JSON of measured kernel times, for a heatmap.
    """
    from . import kernel_times, plots

    if names is not None and len(names) != len(logs):
        raise Error("name", f"must have one value for each of the {len(logs)} logs, got {len(names)}")
    runs: list[Experiment] = []
    layers: list[tuple[str, LayerLine]] = []
    for index, path in enumerate(logs):
        run, lines = read_experiment(
            path, gpus=gpus, peak_tflops=peak_tflops, name=names[index] if names else None, skip=skip
        )
        if any(run.name == other.name for other in runs):
            raise Error("name", f'must be different for each log, got "{run.name}" twice')
        runs.append(run)
        layers += [(run.name, line) for line in lines]
    rows = [] if layers and not any(run.steps for run in runs) else compare(runs)
    times = None if kernels is None else kernel_times.read_kernel_times(kernels)

    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts = [layers_markdown(layers)] if layers else []
        if rows:
            about = f"MFU is the average over {peak_tflops:g} TFLOPS of one GPU; {gpus} GPUs a run.\n"
            parts = [comparison_markdown(rows), about, *parts]
        (folder / "comparison.md").write_text("\n".join(parts), encoding="utf-8")
        if rows:
            about = f"{gpus} GPU{'' if gpus == 1 else 's'} a run, MFU of {peak_tflops:g} TFLOPS"
            plots.comparison_bars(rows, title=title, about=about, path=folder / "comparison")
        if times is not None:
            plots.kernel_heatmap(
                times, show="milliseconds" if times.config is None else "tflops", path=folder / "kernels"
            )
    except OSError as problem:
        raise Error("out", f'cannot write into "{folder}": {problem.strerror}') from problem
    return rows


class _Parser(argparse.ArgumentParser):
    """A command-line parser whose errors begin with the option's name, as all floptally errors do."""

    def error(self, message: str) -> NoReturn:
        named = re.fullmatch(r"argument --?([\w-]+)(?:/\S+)?: (.*)", message, re.DOTALL)
        raise Error(named[1].replace("-", "_") if named else "arguments", named[2] if named else message)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m floptally.hstu_report",
        description="The comparison table and picture of HSTU training logs.",
    )
    parser.add_argument("logs", nargs="+", metavar="LOG", help="a log of each run; the first is what others are compared with")
    parser.add_argument("--gpus", type=int, required=True, help="GPUs of each run")
    parser.add_argument("--peak-tflops", type=float, help="dense peak of one GPU; wins over --accelerator")
    parser.add_argument("--accelerator", help="product name with a known peak")
    parser.add_argument("--precision", default="bf16", help="of the accelerator's peak (default: bf16)")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the report")
    parser.add_argument("--name", action="append", dest="names", help="of each log in turn (default: its file's)")
    parser.add_argument("--skip", type=int, default=0, help="first steps of each log that do not count (default: 0)")
    parser.add_argument("--kernels", metavar="JSON", help="measured attention times, for the heatmap")
    parser.add_argument("--title", help="of the picture")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments. Returns exit status 0, or 2 for bad input after one line on standard
    error."""
    try:
        options = _parser().parse_args(arguments)
        if options.peak_tflops is None and options.accelerator is None:
            raise Error("peak_tflops", "is missing: pass --peak-tflops or --accelerator")
        peak = options.peak_tflops
        if peak is None:
            peak = accelerator(options.accelerator).peak_tflops(options.precision)
        rows = write_report(
            options.logs, options.out, gpus=options.gpus, peak_tflops=peak, names=options.names, skip=options.skip,
            kernels=options.kernels, title=options.title,
        )  # fmt: skip
    except Error as problem:
        print(f"floptally: error: {problem}", file=sys.stderr)
        return 2
    except ImportError as problem:  # no matplotlib: not an error of the input
        print(f"floptally: error: {problem}", file=sys.stderr)
        return 1
    if rows:
        print(comparison_markdown(rows), end="")
    else:  # logs of the layer benchmark: the report has layers only
        print((Path(options.out) / "comparison.md").read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
