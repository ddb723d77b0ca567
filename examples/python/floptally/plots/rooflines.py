# SPDX-License-Identifier: Apache-2.0
"""Draws a roofline: components of a model by FLOPs per byte, under the limits of memory bandwidth and compute."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import Error
from ._figure import ORANGE, PathLike, ThemeName, canvas, caption, look, report_of, save, theme_named
from .steps import HasDict

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def roofline(
    byte_counts: HasDict | Mapping[str, Any],
    *,
    peak_tflops: float,
    memory_tbps: float,
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    width: float = 3.5,
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws components by arithmetic intensity, at the highest TFLOP/s that they can reach.

    byte_counts: a Bytes, or its JSON as a dict.
    peak_tflops, memory_tbps: compute peak and memory bandwidth of one device. Components with fewer FLOPs per byte than
        the peak divided by the bandwidth are memory-bound.
    about: what ran, for the caption.
    width: width of the figure in inches.

    A component without FLOPs (a look-up, a norm) has no point; the caption names it.
    """
    if not 3 <= width <= 40:
        raise Error("width", f"must be from 3 to 40 inches, got {width}")
    for name, value in (("peak_tflops", peak_tflops), ("memory_tbps", memory_tbps)):
        if not (value > 0 and math.isfinite(value)):
            raise Error(name, f"must be a finite number above 0, got {value}")
    colours = theme_named(theme)
    report = report_of(byte_counts, "byte_counts", "Bytes")
    components = report.get("components")
    if not isinstance(components, list) or not all("intensity" in component for component in components):
        raise Error("byte_counts", 'must be a Bytes or its to_dict(), got a dict without its "components"')
    points = sorted(
        ((float(component["intensity"]), component["name"], int(component["flops"])) for component in components if int(component["flops"]) != 0),
        reverse=True,
    )
    if not points:
        raise Error("byte_counts", "must have a component with FLOPs, got none")
    without = [component["name"] for component in components if int(component["flops"]) == 0]
    ridge = peak_tflops / memory_tbps
    whole = sum(flops for _, _, flops in points)

    with look(colours):
        figure, axes = canvas(ax, width, 1.9 + 0.16 * len(points))
        left = min(ridge, points[-1][0]) / 3
        right = max(ridge, points[0][0]) * 4
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.plot([left, ridge, right], [left * memory_tbps, peak_tflops, peak_tflops], color=colours.grey, linewidth=1.2)
        axes.plot([ridge, ridge], [left * memory_tbps, peak_tflops], color=colours.grey, linewidth=0.8, linestyle=":")
        for row, (intensity, name, flops) in enumerate(points):
            height = min(peak_tflops, intensity * memory_tbps)
            colour = ORANGE if intensity < ridge else colours.first
            axes.plot([intensity], [height], marker="o", markersize=4 + 5 * math.sqrt(flops / whole), color=colour,
                      linewidth=0)  # fmt: skip
            axes.annotate(f"{name}  {intensity:.4g}", (intensity, height), (0.98, 0.06 + 0.09 * row),
                          textcoords="axes fraction", ha="right", va="bottom", fontsize=6.5, color=colours.ink,
                          arrowprops={"arrowstyle": "-", "color": colours.pale, "linewidth": 0.6})  # fmt: skip
        axes.set_xlim(left, right)
        axes.set_ylim(left * memory_tbps, peak_tflops * 2)
        axes.tick_params(axis="both", which="both", labelsize=7.5, labelcolor=colours.ink)
        axes.set_xlabel("FLOPs for each byte", fontsize=7.5)
        axes.set_ylabel("TFLOP/s at most", fontsize=7.5)
        axes.set_title(title or "Roofline", fontsize=9)
        roof = f"{peak_tflops:.4g} TFLOP/s, {memory_tbps:.4g} TB/s: even at {ridge:.4g} FLOPs a byte"
        rest = f"no FLOPs: {', '.join(without)}" if without else ""
        caption(figure, ax, [about, roof, rest], color=colours.faint, size=6.5, columns=int(20 * width))
        save(figure, path)
    return figure
