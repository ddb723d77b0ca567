# SPDX-License-Identifier: Apache-2.0
"""HTML tables for notebooks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape


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
