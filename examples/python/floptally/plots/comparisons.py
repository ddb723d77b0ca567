# SPDX-License-Identifier: Apache-2.0
"""Draws a comparison of conventions: how much each differs from the exact FLOP count, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import Error
from ._figure import (
    GREEN, ORANGE, VERMILLION, PathLike, ThemeName, bar_label, canvas, caption, look, name_rows, report_of, save, short, theme_named,
)  # fmt: skip
from .steps import HasDict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "////", "....")


def comparison(
    comparison: HasDict | Mapping[str, Any],
    *,
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws a bar for each FLOPs convention, smallest total first. FLOPs that the convention counts in excess extend to
    the right, FLOPs that it leaves out to the left. Both are split by reason, in per cent of the exact count. A dashed
    line is the number from a dashboard, or a log's mean.

    comparison: a Comparison (`cost.compare(...)`), or its JSON as a dict.
    about: the batch, for the caption.
    """
    colours = theme_named(theme)
    report = report_of(comparison, "comparison", "Comparison")
    if not isinstance(report.get("conventions"), list) or not report["conventions"]:
        raise Error("comparison", 'must be a Comparison or its to_dict(), got a dict without "conventions"')
    exact = int(report["exact"])
    if exact <= 0:
        raise Error("comparison", f"must have more than 0 FLOPs by the convention exact, got {exact}")
    lines = sorted(report["conventions"], key=lambda line: (int(line["total"]), line["name"]))
    sizes: dict[str, int] = {}
    for line in lines:
        for term in line["terms"]:
            sizes[term["name"]] = max(sizes.get(term["name"], 0), abs(int(term["flops"])))
    names = sorted(sizes, key=lambda name: -sizes[name])
    palette = (colours.second, ORANGE, GREEN, VERMILLION, colours.grey, colours.first)
    look_of = {
        name: (palette[i % len(palette)], _HATCHES[i // len(palette) % len(_HATCHES)]) for i, name in enumerate(names)
    }
    with look(colours):
        figure, axes = canvas(ax, 7.6, 1.9 + 0.25 * len(lines) + 0.16 * (len(names) // 3))
        drawn: set[str] = set()
        ends = [(0.0, 0.0)] * len(lines)
        for row, line in enumerate(lines):
            for term in line["terms"]:
                name, points = term["name"], -100 * int(term["flops"]) / exact
                low, high = ends[row]
                colour, hatch = look_of[name]
                axes.barh(row, points, left=high if points > 0 else low, color=colour, hatch=hatch, height=0.7,
                          edgecolor=colours.paper, linewidth=0.4, label="_" if name in drawn else name)  # fmt: skip
                drawn.add(name)
                ends[row] = (low, high + points) if points > 0 else (low + points, high)
        axes.axvline(0, color=colours.ink, linewidth=1)
        least, most = min(low for low, _ in ends), max(high for _, high in ends)
        observed = report.get("observed")
        if observed:
            at = 100 * (sum(observed["flops"]) / 2 / exact - 1)
            axes.axvline(at, color=colours.ink, linewidth=1, linestyle="--")
            least, most = min(least, at), max(most, at)
        room = max(most - least, 1e-6)
        axes.set_xlim(least - 0.03 * room, most + 0.22 * room)
        for row, line in enumerate(lines):
            bar_label(axes, ends[row][1], row, short(int(line["total"])), colours, bold=line["name"] == "exact")
        name_rows(axes, [line["name"] for line in lines])
        axes.set_xlabel("% of the exact FLOPs, more or less")
        name = report.get("model_type", "model")
        axes.set_title(title or f"{name}: {short(exact, 'FLOP')} exact, and by each convention")
        if names:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside upper left", ncols=4, fontsize=8,
                          handlelength=1.2, columnspacing=1.2)  # fmt: skip
        seen = f"dashed: {observed['text']}" if observed else ""
        caption(figure, ax, [about, "figures: FLOPs of the step", seen], color=colours.faint)
        save(figure, path)
    return figure
