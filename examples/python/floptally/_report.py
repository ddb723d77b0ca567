# SPDX-License-Identifier: Apache-2.0
"""What every report has that is made of the library's JSON."""

from __future__ import annotations

import json
from typing import Any

from ._html import to_html


class Report:
    """A report as the library writes it: its JSON, its table, and that table's cells for a notebook."""

    _json: str
    _table: str
    _cells: str

    def to_table(self) -> str:
        """What the program prints."""
        return self._table

    def to_json(self) -> str:
        """What the program prints as JSON: counts are decimal strings."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """That JSON as a dict."""
        made: dict[str, Any] = json.loads(self._json)
        return made

    def __str__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        return to_html(self._cells)
