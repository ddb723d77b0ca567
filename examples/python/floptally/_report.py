# SPDX-License-Identifier: Apache-2.0
"""The base class of reports (Bytes, Comparison, Fit, …): JSON, and a table for notebooks."""

from __future__ import annotations

import json
from typing import Any

from ._html import to_html


class Report:
    """A report of the C++ library, as JSON and as a table. A notebook shows the table."""

    _json: str
    _table: str
    _cells: str

    def to_table(self) -> str:
        """Returns the report as the table of text that the command-line program prints."""
        return self._table

    def to_json(self) -> str:
        """Returns the report as the JSON text that the command-line program prints. Counts are decimal strings."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """Returns the report's JSON as a dict. Counts are decimal strings."""
        result: dict[str, Any] = json.loads(self._json)
        return result

    def __str__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        return to_html(self._cells)
