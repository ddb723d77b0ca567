# SPDX-License-Identifier: Apache-2.0
"""What all pictures share: importing matplotlib late, one style, and reproducible files."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .. import Error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Annotation, Text

PathLike = str | os.PathLike[str]
ThemeName = Literal["light", "dark"]

# Okabe and Ito's colours: apart for every kind of colour vision, and in grey print.
BLUE, SKY, ORANGE, VERMILLION, GREEN = "#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73"
GREY, PALE, INK, FAINT = "#9A9A9A", "#E8E8E8", "#222222", "#5F5F5F"


@dataclass(frozen=True)
class Theme:
    """Colours of a picture: background, text and lines, and the accent for data."""

    paper: str = "white"
    ink: str = INK
    faint: str = FAINT
    pale: str = PALE
    grey: str = GREY
    first: str = BLUE
    second: str = SKY


THEMES = {"light": Theme(), "dark": Theme("#16181D", "#EDEDED", "#ABABAB", "#33363D", "#7D7D7D", SKY, "#2F86C4")}


def theme_named(name: ThemeName) -> Theme:
    if not isinstance(name, str) or name not in THEMES:
        raise Error("theme", f'must be "light" or "dark", got "{name}"')
    return THEMES[name]


def report_of(value: Any, name: str, kind: str) -> Mapping[str, Any]:
    """Returns a report as a dict. Accepts the report or its dict, and raises an Error for any other value."""
    if isinstance(value, Mapping):
        return value
    if not callable(getattr(value, "to_dict", None)):
        raise Error(name, f"must be a {kind} or its to_dict(), got {value!r}")
    found: Mapping[str, Any] = value.to_dict()
    return found


_LOOK: Any = {
    "font.size": 9.5,
    "axes.titlesize": 11.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": False,
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "hatch.linewidth": 0.6,
    "figure.dpi": 110.0,
    "savefig.dpi": 160.0,
    "svg.hashsalt": "floptally",  # else ids in an SVG are random
    "svg.fonttype": "path",
}
_PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q")


@contextmanager
def look(theme: Theme = THEMES["light"]) -> Iterator[None]:
    """Returns a context manager that sets matplotlib's parameters for floptally's pictures. Without matplotlib, raises
    an ImportError that says what to install."""
    try:
        import matplotlib
    except ImportError as problem:
        raise ImportError("matplotlib: is not installed, but pictures need it: pip install 'floptally[plot]'") from problem
    with matplotlib.rc_context(_LOOK | _colours(theme)):
        yield


def _colours(theme: Theme) -> dict[str, Any]:
    own = {
        theme.ink: ("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor", "text.color"),
        theme.faint: ("xtick.color", "ytick.color"),
        theme.grey: ("axes.edgecolor", "hatch.color"),
        theme.pale: ("grid.color",),
        theme.paper: ("figure.facecolor", "axes.facecolor"),
    }
    return {parameter: colour for colour, parameters in own.items() for parameter in parameters}


def canvas(ax: Axes | None, width: float, height: float) -> tuple[Figure, Axes]:
    """Returns (figure, axes): a new figure of this size in inches, or the caller's axes `ax` and their figure. Does not
    change pyplot's state."""
    if ax is not None:
        return _figure_of(ax), ax
    figure = blank(width, height)
    return figure, figure.subplots()


def blank(width: float, height: float) -> Figure:
    from ._picture import Picture

    return Picture(figsize=(width, height), layout="constrained")


def _figure_of(ax: Axes) -> Figure:
    from matplotlib.figure import Figure

    figure = ax.get_figure(root=True)
    if not isinstance(figure, Figure):
        raise Error("ax", "must belong to a figure, got axes without one")
    return figure


def caption(
    figure: Figure, ax: Axes | None, parts: Sequence[str], *, color: str = FAINT, size: float = 8, columns: int = 0
) -> Text:
    """Writes a caption in pale text at the lower edge of a figure: what the numbers are, and their source. `ax`: the
    caller's axes.

    columns: the number of characters after which a line is broken; 0 never breaks it.
    """
    text = " · ".join(part for part in parts if part)
    text = "\n".join(textwrap.wrap(text, columns, break_on_hyphens=False)) if columns else text
    if ax is None:  # of the figure, so that a long line does not push the axes aside
        return figure.supxlabel(text, x=0.008, ha="left", fontsize=size, color=color)
    return ax.annotate(text, (0, 0), (0, -40), xycoords="axes fraction", textcoords="offset points", va="top",
                       fontsize=size, color=color)  # fmt: skip


def bar_label(ax: Axes, x: float, y: float, text: str, theme: Theme, bold: bool = False) -> Annotation:
    """Writes the value of a bar next to the end of the bar, readable over a grid line."""
    return ax.annotate(text, (x, y), (5, 0), textcoords="offset points", va="center_baseline", fontsize=8.5, zorder=4,
                       fontweight="bold" if bold else "normal",
                       bbox={"facecolor": theme.paper, "edgecolor": "none", "pad": 0.8})  # fmt: skip


def first_bar_labels(ax: Axes, theme: Theme, bars: Sequence[tuple[float, float, float, str]]) -> None:
    """Writes a label at the first bar of each row: inside the bar if another bar follows and there is room, else after
    all bars in the bar's colour.

    bars: (y, end of the first bar, end of all bars of the row, text) for each row.
    """
    labels = [bar_label(ax, end, y, text, theme) for y, end, _, text in bars]
    _figure_of(ax).draw_without_rendering()
    for label, (y, end, last, _) in zip(labels, bars, strict=True):
        if last - end <= 0.002 * ax.get_xlim()[1]:
            continue
        start, stop = (ax.transData.transform((x, y))[0] for x in (0.0, end))
        label.set_bbox(None)
        if label.get_window_extent().width + 12 <= stop - start:
            label.set(color=theme.paper, ha="right", position=(-5, 0))
        else:
            label.xy = (last, y)
            label.set_color(theme.first)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Writes the names of rows of bars next to the rows, from top to bottom."""
    ax.set_yticks(range(len(names)), list(names))
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x")


def save(figure: Figure, path: PathLike | None) -> None:
    """Saves a figure to `path`, as PNG or SVG by its ending, or as both without an ending. The same figure gives the
    same bytes: no date, no program name, no random id."""
    if path is None:
        return
    target = Path(path)
    known = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}
    if target.suffix.lower() not in known and target.suffix.lower()[1:] in figure.canvas.get_supported_filetypes():
        raise Error("path", f'must end in .png or .svg; leave the ending out to write both files, got "{target}"')
    endings = [target.suffix.lower()] if target.suffix.lower() in known else list(known)
    for ending in endings:
        file = target if target.suffix.lower() in known else target.with_name(target.name + ending)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format=ending[1:], metadata=known[ending], bbox_inches="tight", pad_inches=0.12)


def unit_of(largest: int | float) -> tuple[float, str]:
    """Returns (divisor, prefix of the unit) for FLOPs, so that the largest value has 1 to 3 digits before the point."""
    power = 0
    while largest >= 1000 ** (power + 1) and power + 1 < len(_PREFIXES):
        power += 1
    return 1000.0**power, _PREFIXES[power]


def short(value: int | float, unit: str = "") -> str:
    """Returns a number as text with three digits and a prefix: 66561389887488 is "66.6 T"."""
    scale, prefix = unit_of(abs(value))
    return f"{three_digits(value / scale)} {prefix}{unit}".rstrip()


def three_digits(value: float) -> str:
    if 0 < abs(value) < 0.995:
        return f"{value:.{min(9, 2 - math.floor(math.log10(abs(value))))}f}"
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f}"


def thousands(value: int) -> str:
    return f"{value:,}".replace(",", "\u202f")
