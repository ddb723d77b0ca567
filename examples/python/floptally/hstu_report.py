# SPDX-License-Identifier: Apache-2.0
"""Reports of the HSTU training benchmark: logs in, the comparison table and its picture out.

    python -m floptally.hstu_report baseline.log fused.log --gpus 16 --peak-tflops 989 --out report/

reads the lines ``[train] [iter I, tokens T, elapsed_time X ms, achieved FLOPS F TFLOPS, MFU M%]`` and
``[LAYER] [P] tokens N;time (median): X ms;achieved flops: Y TFLOPS;MFU: Z%`` of each log, in every shape that
recsys-examples has written (any name of the layer, no MFU, a loss behind the bracket, rich's columns and colours), and
writes

    comparison.md        experiment, average and best TFLOPS of one GPU, MFU of the peak that is given, speed-up over
                         the first log; passes of layers, where logs have them
    comparison.png, .svg
    kernels.png, .svg    with --kernels: the heatmap of measured attention times (`floptally.kernel_times`)

A rate of all GPUs is averaged by time, and MFU is made anew: what a log says of MFU is not used. Exit status 2 and one
line on standard error for bad input.
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
    """The throughput lines of a file. Its name stands before what is wrong in it."""
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
    """One log as a run to compare, named after its file, without its first `skip` steps, and its lines of layers."""
    log = read_log(path)
    if skip < 0 or skip >= max(1, len(log.steps)):
        raise Error("skip", f'must leave a step of the {len(log.steps)} in "{os.fspath(path)}", got {skip}')
    run = Experiment(name or Path(path).stem, gpus=gpus, peak_tflops=peak_tflops, steps=log.steps[skip:])
    return run, log.layers


def layers_markdown(layers: Sequence[tuple[str, LayerLine]]) -> str:
    """The passes of layers as a Markdown table, as the logs have them: (experiment, line); "-" for what they do not
    say."""
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
    """Writes the report of these logs into the folder `out`; the rows of its table. Everything is read before anything
    is written. Logs of the layer benchmark, which have no steps, have a table of layers and no rows.

    gpus: of each run. peak_tflops: of one GPU, dense. skip: first steps of each log that do not count (compilation).
    kernels: a results JSON for the heatmap.
    """
    from . import kernel_times, plots

    if names is not None and len(names) != len(logs):
        raise Error("name", f"must be given once for each of {len(logs)} logs, got {len(names)}")
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
    """Errors in floptally's form: the option's name first."""

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
    parser.add_argument("--accelerator", help="product name, whose peak is known")
    parser.add_argument("--precision", default="bf16", help="of the accelerator's peak (default: bf16)")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the report")
    parser.add_argument("--name", action="append", dest="names", help="of each log in turn (default: its file's)")
    parser.add_argument("--skip", type=int, default=0, help="first steps of each log that do not count (default: 0)")
    parser.add_argument("--kernels", metavar="JSON", help="measured attention times, for the heatmap")
    parser.add_argument("--title", help="of the picture")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. 0, or 2 after one line on standard error."""
    try:
        given = _parser().parse_args(arguments)
        if given.peak_tflops is None and given.accelerator is None:
            raise Error("peak_tflops", "must be given, or --accelerator")
        peak = given.peak_tflops
        if peak is None:
            peak = accelerator(given.accelerator).peak_tflops(given.precision)
        rows = write_report(
            given.logs, given.out, gpus=given.gpus, peak_tflops=peak, names=given.names, skip=given.skip,
            kernels=given.kernels, title=given.title,
        )  # fmt: skip
    except Error as problem:
        print(f"floptally: error: {problem}", file=sys.stderr)
        return 2
    except ImportError as problem:  # no matplotlib: no fault of the input
        print(f"floptally: error: {problem}", file=sys.stderr)
        return 1
    if rows:
        print(comparison_markdown(rows), end="")
    else:  # logs of the layer benchmark: their layers are the report
        print((Path(given.out) / "comparison.md").read_text(encoding="utf-8"), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
