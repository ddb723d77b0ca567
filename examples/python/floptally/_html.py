# SPDX-License-Identifier: Apache-2.0
"""HTML for notebooks: tables, and pictures where matplotlib is installed. Nothing sets a background or a text colour, so
that both follow a notebook's light or dark theme."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def to_html(text: str) -> str:
    """Returns a report's table as HTML. The argument is the table as JSON from the C++ library (`table_json.hpp`). The
    tooltip of a cell is its exact number. In a section with few columns, text in the last column spans the remaining
    columns."""
    table = json.loads(text)
    width = max(len(section["columns"]) for section in table["sections"])
    rows = []
    for section in table["sections"]:
        sides = [column["side"] for column in section["columns"]]
        if any(column["name"] for column in section["columns"]):
            rows.append(_row("th", sides, [{"text": column["name"]} for column in section["columns"]], width))
        rows += [_row("td", sides, cells, width) for cells in section["rows"]]
    title = escape(table["title"]).replace("\n", "<br>")
    notes = [f"<p>{escape(note)}</p>" for note in table["notes"]]
    return "".join(["<table>", f"<caption>{title}</caption>" if title else "", *rows, "</table>", *notes])


def _row(tag: str, sides: Sequence[str], cells: Sequence[dict[str, str]], width: int) -> str:
    parts = ["<tr>"]
    for i, side in enumerate(sides):
        cell = cells[i] if i < len(cells) else {"text": ""}
        name = "th" if i == 0 else tag
        span = f' colspan="{width - i}"' if i + 1 == len(sides) < width else ""
        exact = f' title="{escape(cell["exact"])}"' if "exact" in cell else ""
        parts.append(f'<{name} style="text-align:{side}"{span}{exact}>{escape(cell["text"])}</{name}>')
    return "".join([*parts, "</tr>"])


def picture(draw: Callable[[], Figure], text: str) -> str:
    """Returns a figure as inline SVG. Its text and lines have the colour of the page's text, and its background is the
    page's. Returns "" if matplotlib is not installed, or if there is nothing to draw.

    draw: draws the figure in the light theme.
    text: what the picture shows, for readers who cannot see it.
    """
    try:
        return _svg(draw(), text)
    except (ImportError, ValueError):  # such as a breakdown of 0 FLOPs
        return ""


def _svg(figure: Figure, text: str) -> str:
    from matplotlib import rc_context
    from matplotlib.text import Text

    from .plots._figure import BLUE, FAINT, INK, PALE

    for label in figure.findobj(Text):
        assert isinstance(label, Text)
        label.set_bbox(None)  # which has the colour of the paper
        if label.get_color() == BLUE:  # too dark for a dark page
            label.set_color(INK)
    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "floptally"}):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None}, bbox_inches="tight")
    svg = file.getvalue()
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg[svg.index("<svg") :], flags=re.DOTALL)  # a style holds for the page
    style = "max-width: 100%; height: auto; stroke-linejoin: round; stroke-linecap: butt"
    svg = svg.replace("<svg", f'<svg role="img" aria-label="{escape(text)}" style="{style}"', 1)
    for colour, opacity in ((INK, ""), (FAINT, "; opacity: 0.8"), (PALE, "; opacity: 0.15")):
        svg = re.sub(rf"(fill|stroke): {colour.lower()}\b", rf"\1: currentColor{opacity}", svg)
    return svg.strip()
