# SPDX-License-Identifier: Apache-2.0
"""Draws the waterfall of a training step: from the peak down to the MFU, a bar for each cause of lost time."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import Error
from ._figure import GREEN, ORANGE, PathLike, ThemeName, canvas, caption, look, report_of, save, theme_named
from .steps import HasDict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def waterfall(
    waterfall: HasDict | Mapping[str, Any],
    *,
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    width: float = 3.5,
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws how a training step loses MFU: bars step down from the peak, one for each cause, labelled in per cent of
    the peak.

    waterfall: a Waterfall, or its JSON as a dict.
    about: what ran, for the caption. The caption also names the three largest causes; their names are bold.
    width: width of the figure in inches; 3.5 is a column of a paper. The height follows from the number of lines.

    Lines of 0.00 and unknown lines have no bar. The caption names the unknown lines. Their time is part of the
    last line.
    """
    if not 3 <= width <= 40:
        raise Error("width", f"must be from 3 to 40 inches, got {width}")
    colours = theme_named(theme)
    report = report_of(waterfall, "waterfall", "Waterfall")
    useful, *lost = _lines(report)
    *causes, rest = lost
    shown = [line for line in causes if line["known"] and _points(line) not in ("0.00", "-0.00")] + [rest]
    unknown = [line["name"] for line in causes if not line["known"]]
    dearest = sorted((line for line in shown if float(line["share_of_peak"]) > 0), key=lambda line: -line["share_of_peak"])[:3]

    with look(colours):
        names = ["peak", *(_wrapped(line["name"]) for line in shown), "measured MFU"]
        extra = sum(name.count("\n") for name in names)
        figure, axes = canvas(ax, width, 1.0 + 0.205 * len(names) + 0.09 * extra + (0.1 if unknown else 0))
        axes.barh(0, 100, color=colours.grey, height=0.68)
        level = highest = 100.0
        for row, line in enumerate(shown, 1):
            axes.plot([level] * 2, [row - 0.66, row - 0.34], color=colours.grey, linewidth=0.8)
            loss = 100 * float(line["share_of_peak"])
            colour = colours.faint if line is rest else GREEN if loss < 0 else ORANGE
            axes.barh(row, -loss, left=level, color=colour, height=0.68, hatch="////" if line is rest else None,
                      edgecolor=colours.paper, linewidth=0)  # fmt: skip
            level -= loss
            highest = max(highest, level)
        last = len(shown) + 1
        axes.plot([level] * 2, [last - 0.66, last - 0.34], color=colours.grey, linewidth=0.8)
        axes.barh(last, 100 * float(useful["share_of_peak"]), color=colours.first, height=0.68)

        values = ["100.00", *(_signed(line) for line in shown), _points(useful)]
        for row, value in enumerate(values):
            axes.annotate(value, (1, row), (31, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                          ha="right", va="center_baseline", fontsize=7.5, color=colours.ink,
                          fontweight="bold" if row == last else "normal")  # fmt: skip
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.45, -0.55)
        axes.tick_params(axis="both", length=0, labelsize=7.5, labelcolor=colours.ink)
        for row in (last, *(row for row, line in enumerate(shown, 1) if line in dearest)):
            axes.get_yticklabels()[row].set_fontweight("bold")
        axes.set_xlim(0, 1.01 * highest)
        axes.set_xticks([0, 25, 50, 75, 100])
        axes.grid(axis="x")
        axes.spines["left"].set_visible(False)
        axes.set_xlabel("% of the peak", fontsize=7.5)
        axes.set_title(title or f"MFU {_points(useful)} %", fontsize=9)
        step = f"{float(report['seconds']):.4g} s of {int(report['gpus'])} GPU{'' if int(report['gpus']) == 1 else 's'}"
        rested = f"not known, and in the hatched bar: {', '.join(unknown)}" if unknown else ""
        named = ", ".join(f"{line['name']} {_points(line)}" for line in dearest)
        most = f"most: {named}" if dearest else ""
        caption(figure, ax, [about, step, most, rested], color=colours.faint, size=6.5, columns=int(20 * width))
        save(figure, path)
    return figure


def _lines(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    lines = report.get("lines")
    if not isinstance(lines, list) or len(lines) < 2 or lines[0].get("step") != "useful":
        raise Error("waterfall", 'must be a Waterfall or its to_dict(), got a dict without its "lines"')
    return lines


def _points(line: Mapping[str, Any]) -> str:
    """Formats a line's share of the peak in per cent, with two decimals. A loss has no sign, a gain has "-"."""
    return f"{100 * float(line['share_of_peak']):.2f}"


def _signed(line: Mapping[str, Any]) -> str:
    points = _points(line)
    if points in ("0.00", "-0.00"):
        return "0.00"
    return f"+{points[1:]}" if points.startswith("-") else f"−{points}"


def _wrapped(name: str) -> str:
    """Returns a name broken into at most two lines of 26 characters. A longer name ends with "…"."""
    return "\n".join(textwrap.wrap(name, 26, max_lines=2, placeholder=" …")) or "(no name)"
