# SPDX-License-Identifier: Apache-2.0
"""Draws training runs: utilization over time, and runs side by side."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from .. import Error
from .._errors import shortened
from .._json import read_json
from .._values import items_of
from ._figure import (
    ORANGE, VERMILLION, PathLike, ThemeName, canvas, caption, first_bar_labels, look, name_rows, save, theme_named,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ComparedRun(Protocol):
    """The fields of a run that `comparison_bars` draws, such as a row of `floptally.hstu_report.compare`."""

    @property
    def name(self) -> str:
        """The name of the run."""
        ...

    @property
    def tflops_per_gpu(self) -> float:
        """TFLOPS of one GPU: all FLOPs over all time."""
        ...

    @property
    def best_tflops_per_gpu(self) -> float:
        """TFLOPS of one GPU in the fastest step."""
        ...

    @property
    def mfu_pct(self) -> float:
        """MFU in per cent."""
        ...

    @property
    def speed_up(self) -> float:
        """TFLOPS of one GPU divided by that of the first run in the comparison."""
        ...


def utilization_over_time(
    records: Iterable[Mapping[str, Any]] | PathLike,
    *,
    span: Literal["interval", "step", "run"] = "interval",
    theme: ThemeName = "light",
    title: str | None = None,
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws MFU, padded MFU and HFU, in % of the peak, over the steps of a run.

    records: a dict for each logged line: a meter's `scalars()` with any prefix and "step" (such as a Trainer's
        `log_history`), or a meter's JSON lines, as dicts or as the path of their file. `span` selects what to show
        of JSON lines. Records without MFU (evaluation) are skipped; records without a step are numbered.
    theme: "light" or "dark".
    """
    colours = theme_named(theme)
    xs: list[float] = []
    series: dict[str, list[float]] = {name: [] for name in ("mfu_pct", "mfu_padded_pct", "hfu_pct")}
    convention = ""
    for number, record in enumerate(_records(records), 1):
        if span in record and "run" in record:
            convention = convention or str(record.get("convention", ""))
            done = record[span] or {}
            rates, step = done.get("rates", {}), int((record["run"] or {}).get("steps", number))
        else:
            rates, step = {str(key).rpartition("/")[2]: value for key, value in record.items()}, record.get("step", number)
        if "mfu_pct" not in rates:
            continue
        xs.append(float(step))
        for name, values in series.items():
            values.append(float(rates.get(name, math.nan)))
    if not xs:
        raise Error("records", "must have mfu_pct: log a meter's scalars(), or its JSON lines")

    with look(colours):
        figure, axes = canvas(ax, 7.6, 3.9)
        lines = (("hfu_pct", "HFU", VERMILLION, "--"), ("mfu_padded_pct", "padded MFU", ORANGE, "-"), ("mfu_pct", "MFU", colours.first, "-"))
        ends: list[tuple[float, str, str]] = []
        top = 0.0
        for name, label, color, dash in lines:
            values = series[name]
            finite = [value for value in values if not math.isnan(value)]
            if not finite:
                continue
            top = max(top, *finite)
            axes.plot(xs, values, dash, color=color, linewidth=1.8, marker="o" if len(xs) < 25 else "", markersize=3.5)
            ends.append((finite[-1], f"{label} {finite[-1]:.1f} %", color))
        axes.set_ylim(0, 1.12 * top if top > 0 else 1)
        _label_ends(axes, ends)
        axes.set_xlabel("step")
        axes.set_ylabel("% of the peak")
        axes.grid(axis="y")
        axes.margins(x=0.02)
        axes.set_title(title or "Utilization")
        caption_text = f"{span} rates, convention {convention}" if convention else ""
        caption(figure, ax, [caption_text, "MFU: real work, padded MFU: every slot, HFU: all that was executed"],
                color=colours.faint)  # fmt: skip
        save(figure, path)
    return figure


def comparison_bars(
    rows: Sequence[ComparedRun],
    *,
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws a bar for each training run: the average TFLOPS of one GPU. A tick marks the fastest step; MFU and speed-up
    are text.

    rows: from `floptally.hstu_report.compare`. TFLOPS and MFU are of all useful FLOPs over all time.
    theme: "light" or "dark".
    """
    colours = theme_named(theme)
    rows = items_of(rows, "rows", "a list of runs, as floptally.hstu_report.compare returns")
    if not rows:
        raise Error("rows", "must have at least one run, got none")
    for index, row in enumerate(rows):
        if missing := [name for name in dir(ComparedRun) if name[0] != "_" and not hasattr(row, name)]:
            raise Error(f"rows[{index}]", f"must be a run of floptally.hstu_report.compare: {missing[0]} is missing in {shortened(row)}")
    with look(colours):
        figure, axes = canvas(ax, 7.6, 1.6 + 0.42 * len(rows))
        most = max(row.best_tflops_per_gpu for row in rows)
        best_is_shown = any(row.best_tflops_per_gpu > 1.002 * row.tflops_per_gpu for row in rows)
        for place, row in enumerate(rows):
            axes.barh(place, row.tflops_per_gpu, color=colours.first if place else colours.faint, height=0.62)
            if best_is_shown:
                axes.plot([row.best_tflops_per_gpu] * 2, [place - 0.31, place + 0.31], color=VERMILLION, linewidth=2)
            for x, text in ((1.1, f"{row.mfu_pct:.2f} %"), (1.22, f"{row.speed_up:.2f}x")):
                axes.annotate(text, (x, place), xycoords=("axes fraction", "data"), ha="right", va="center_baseline",
                              fontsize=9)  # fmt: skip
        for x, head in ((1.1, "MFU"), (1.22, "speed-up")):
            axes.annotate(head, (x, 1.0), (0, 3), xycoords="axes fraction", textcoords="offset points", ha="right",
                          fontsize=8, color=colours.faint)  # fmt: skip
        name_rows(axes, [row.name for row in rows])
        axes.set_xlim(0, 1.14 * most)
        axes.set_xlabel("TFLOPS of one GPU, average by time")
        axes.set_title(title or "Training throughput")
        compared = f"speed-up over {rows[0].name} (grey)" if len(rows) > 1 else ""
        caption(figure, ax, [about, compared, "red tick: best step" if best_is_shown else ""], color=colours.faint)
        first_bar_labels(axes, colours, [
            (place, row.tflops_per_gpu, row.best_tflops_per_gpu if best_is_shown else row.tflops_per_gpu,
             f"{row.tflops_per_gpu:.1f}") for place, row in enumerate(rows)
        ])  # fmt: skip
        save(figure, path)
    return figure


def _label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Writes the name of each line at its right end. Names that would overlap are moved upwards.

    ends: for each line (last value, name, colour).
    """
    low, high = axes.get_ylim()
    gap = 0.065 * (high - low)
    place = -math.inf
    for value, text, color in sorted(ends):
        place = max(value, place + gap)
        axes.annotate(text, (1.012, place), xycoords=("axes fraction", "data"), va="center", color=color, fontsize=9)


def _records(records: Iterable[Mapping[str, Any]] | PathLike) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    if not isinstance(records, (str, os.PathLike)):
        found.extend(items_of(records, "records", "a list of dicts, or the path of a file of JSON lines"))
        for index, entry in enumerate(found):
            if not isinstance(entry, Mapping):
                raise Error(f"records[{index}]", f"must be a dict such as a meter's scalars(), got {shortened(entry)}")
        return found
    try:
        lines = Path(records).read_bytes().splitlines()
    except OSError as problem:
        raise Error("records", f'cannot read "{os.fspath(records)}": {problem}') from problem
    for number, line in enumerate(lines, 1):
        try:
            record = read_json(line, "records") if line.strip() else None
        except Error as problem:
            raise Error("records", f"line {number} {problem.problem}") from None
        if isinstance(record, dict):
            found.append(record)
        elif record is not None:
            raise Error("records", f"line {number} must be a JSON object, got {shortened(line.decode())}")
    return found
