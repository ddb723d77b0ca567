# SPDX-License-Identifier: Apache-2.0
"""Draws the MFU of published training runs: the exact MFU, and how far the printed MFU is from it."""

from __future__ import annotations

from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

from .. import Error
from ._figure import GREEN, ORANGE, VERMILLION, PathLike, Theme, ThemeName, canvas, caption, look, name_rows, save, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .. import Expectation, PublishedRun

#: Where in its row a run of each kind stands, so that kinds do not hide each other.
KINDS = {"dense": -0.2, "MoE": 0.0, "hybrid": 0.2, "hybrid MoE": 0.2}


def published_mfu(
    expectation: Expectation,
    *,
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws the exact MFU of published runs. There is a row for each year, accelerator and precision, with a point for
    each run and a line at the median. Colours are kinds of model.

    expectation: what `floptally.expect` or `floptally.published_runs` returns.
    about: a text for the caption.
    """
    colours = theme_named(theme)
    rows: dict[tuple[int, str, str], list[PublishedRun]] = defaultdict(list)
    for run in _runs_of(expectation):
        rows[run.year, run.accelerator, run.precision].append(run)
    names = sorted(rows)
    palette = {"dense": colours.first, "MoE": ORANGE, "hybrid": GREEN, "hybrid MoE": VERMILLION}
    with look(colours):
        figure, axes = canvas(ax, 7.2, 1.4 + 0.23 * len(names))
        for kind, shift in KINDS.items():
            points = [
                (100 * run.mfu, row + shift) for row, name in enumerate(names) for run in rows[name] if run.kind == kind
            ]
            if points:
                _dots(axes, points, palette[kind], 0.55, kind)
        _medians(axes, [100 * median(run.mfu for run in rows[name]) for name in names], 0.38, colours)
        name_rows(axes, [f"{year} · {part} · {precision} ({len(rows[year, part, precision])})" for year, part, precision in names])
        axes.set_xlim(0, 5 * (int(max(100 * run.mfu for run in _runs_of(expectation)) / 5) + 1))
        axes.set_xlabel("exact MFU over the dense peak of the precision, %")
        axes.set_title(title or f"{len(_runs_of(expectation))} published runs by year, accelerator and precision")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside upper right", ncols=4, fontsize=8, handletextpad=0.2)
        caption(figure, ax, [about, "in parentheses: runs", "line: median"], color=colours.faint)
        save(figure, path)
    return figure


def published_gaps(
    expectation: Expectation,
    *,
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws how far the printed MFU of published runs is above the exact MFU, in per cent of the exact one. There is a
    row for each cause of such a gap (the FLOPs convention of the source), with a point for each run and a line at the
    median.

    expectation: what `floptally.expect` or `floptally.published_runs` returns.
    about: a text for the caption.
    """
    colours = theme_named(theme)
    gaps: dict[str, list[float]] = defaultdict(list)
    for run in _runs_of(expectation):
        if run.published is not None:
            gaps[gap_reason(run)].append(100 * (run.published / run.mfu - 1))
    if not gaps:
        raise Error("expectation", "must have a run that prints an MFU or TFLOP/s, got none: ask for more runs (nearest=)")
    names = sorted(gaps, key=lambda name: (-median(gaps[name]), name))
    points = [(gap, float(row)) for row, name in enumerate(names) for gap in gaps[name]]
    with look(colours):
        figure, axes = canvas(ax, 8.6, 1.3 + 0.25 * len(names))
        axes.axvline(0, color=colours.ink, linewidth=1)
        _dots(axes, points, colours.first, 0.45)
        _medians(axes, [median(gaps[name]) for name in names], 0.36, colours)
        name_rows(axes, [f"{name} ({len(gaps[name])})" for name in names])
        axes.set_xlabel("printed more than exact, %")
        axes.set_title(title or "Printed MFU against the exact one")
        caption(figure, ax, [about, "in parentheses: runs", "line: median"], color=colours.faint)
        save(figure, path)
    return figure


def gap_reason(run: PublishedRun) -> str:
    """Returns text that says why a run's printed MFU differs from the exact one: the FLOPs convention of its source,
    and the source's peak if that is more than 5 % off."""
    text = f"counts as {run.published_convention}"
    if run.published_convention is None:
        text = "only this figure is printed"
    elif run.published_convention == "none":
        text = run.reason or "no convention gives the figure"
    other = run.published_peak_tflops
    if other is not None and abs(other / run.peak_tflops - 1) > 0.05:
        text += f"; over {other:g} of {run.peak_tflops:g} TFLOP/s"
    return text


def _runs_of(expectation: Expectation) -> list[PublishedRun]:
    runs = getattr(expectation, "runs", None)
    if not isinstance(runs, list) or not runs:
        raise Error("expectation", f"must be a result of floptally.expect or floptally.published_runs, got {type(expectation).__name__}")
    return runs


def _dots(axes: Axes, points: list[tuple[float, float]], colour: str, alpha: float, label: str | None = None) -> None:
    axes.scatter(
        [x for x, _ in points], [y for _, y in points], s=13, color=colour, alpha=alpha, linewidths=0, label=label, zorder=3
    )


def _medians(axes: Axes, medians: list[float], half: float, colours: Theme) -> None:
    """Draws a line at the median of each row, `half` of a row up and down."""
    for row, middle in enumerate(medians):
        axes.plot([middle, middle], [row - half, row + half], color=colours.ink, linewidth=1.6, zorder=4)
