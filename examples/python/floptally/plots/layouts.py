# SPDX-License-Identifier: Apache-2.0
"""Draws the parallel layouts that a search found: step time against memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import Error
from ._figure import ORANGE, PathLike, ThemeName, canvas, caption, look, save, theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .. import FoundLayout, Search


def layouts(
    search: Search,
    *,
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws a point for each layout that fits: its predicted step time against the memory of its fullest rank. A line
    marks the memory of a GPU. A line connects the layouts that no other layout beats in both time and memory (the
    Pareto front). Layouts of `search.layouts` on this line are numbered, where there is room, and listed by name at the
    side.

    search: what `Cost.search` returns. Pass it a larger `top=` to name more layouts.
    about: a text for the caption.
    """
    points = getattr(search, "points", None)
    if not isinstance(points, list):
        raise Error("search", f"must be the result of Cost.search, got {type(search).__name__}")
    if not points:
        raise Error("search", "has no layout that fits: search with more memory or more GPUs")
    colours = theme_named(theme)
    front = _front(points)
    width = max(gib for _, gib in points) - min(gib for _, gib in points)
    named = _apart([found for found in search.layouts if found.is_on_front], width / 16)
    with look(colours):
        figure, axes = canvas(ax, 9.2, 4.4)
        axes.grid(True, color=colours.pale)
        axes.scatter([gib for _, gib in points], [seconds for seconds, _ in points], s=11, color=colours.first, alpha=0.35,
                     linewidths=0, label=f"{len(points)} layouts", zorder=2)  # fmt: skip
        axes.plot([gib for _, gib in front], [seconds for seconds, _ in front], color=ORANGE, linewidth=1.4, marker="o",
                  markersize=3.5, label="Pareto front", zorder=3)  # fmt: skip
        axes.axvline(search.memory_gib, color=colours.ink, linewidth=1, linestyle=":", label="memory of a GPU")
        for number, found in enumerate(named, 1):
            axes.annotate(str(number), (found.memory_gib, found.seconds), (-3, -4), textcoords="offset points", ha="right",
                          va="top", fontsize=8, fontweight="bold", zorder=4)  # fmt: skip
        names = [f"{number}  {layout_name(found)}" for number, found in enumerate(named, 1)]
        axes.annotate("\n".join(names), (1.02, 1), xycoords="axes fraction", va="top", fontsize=8)
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("{x:g}")
        axes.margins(y=0.12)
        axes.set_xlabel("GiB of the fullest rank")
        axes.set_ylabel("predicted seconds of a step")
        axes.set_title(title or "Layouts that fit: time against memory")
        axes.legend(loc="upper center", fontsize=8, ncols=3, bbox_to_anchor=(0.5, 1.0))
        caption(figure, ax, [about], color=colours.faint)
        save(figure, path)
    return figure


def layout_name(found: FoundLayout) -> str:
    """Returns the name of a layout: its sizes above 1, its microbatch and its recomputation, such as "dp 8 tp 4 pp 2
    mb 1"."""
    sizes = {"dp": found.dp, "tp": found.tp, "cp": found.cp, "pp": found.pp, "vpp": found.vpp, "ep": found.ep}
    text = " ".join(f"{name} {size}" for name, size in sizes.items() if size > 1)
    again = "" if found.recompute == "none" else f" recompute {found.recompute}"
    return f"{text or 'dp 1'} mb {found.microbatch}{again}"


def _apart(front: list[FoundLayout], least: float) -> list[FoundLayout]:
    """Returns layouts of a Pareto front whose memory is at least `least` GiB apart, fastest first."""
    chosen: list[FoundLayout] = []
    for found in front:
        if not chosen or chosen[-1].memory_gib - found.memory_gib >= least:
            chosen.append(found)
    return chosen


def _front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns the points that no other point beats in both time and memory."""
    front: list[tuple[float, float]] = []
    for seconds, gib in points:
        if not front or gib < front[-1][1]:
            front.append((seconds, gib))
    return front
