# SPDX-License-Identifier: Apache-2.0
"""One step as every convention counts it, made of its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .plots._figure import PathLike, ThemeName


@dataclass(frozen=True)
class ComparedConvention:
    """A step as one convention counts it, in FLOPs, exact.

    terms: by what each choice of the convention differs from exact; their sum is exact less the total.
    """

    name: str
    total: int
    terms: dict[str, int]


@dataclass(frozen=True)
class ObservedMatch:
    """A convention and a view ("useful", "padded", "executed"), and the FLOPs that they give the step.

    lines: of a log, how many it gives; 1 of a number.
    """

    name: str
    view: str
    total: int
    lines: int = 1


class Comparison(Report):
    """One step by every convention, from each to exact, and whose a number from a dashboard is.

    `Cost.compare()` makes one. str() is a table, in a notebook too.
    """

    def __init__(self, text: str, table: str, cells: str) -> None:
        self._json, self._table, self._cells = text, table, cells
        self._found: dict[str, Any] = json.loads(text)

    @property
    def exact(self) -> int:
        """Useful FLOPs by the convention exact."""
        return int(self._found["exact"])

    @property
    def conventions(self) -> dict[str, ComparedConvention]:
        """ComparedConvention by name. A choice that a convention makes twice is one term."""
        lines = {}
        for line in self._found["conventions"]:
            terms: dict[str, int] = {}
            for term in line["terms"]:
                terms[term["name"]] = terms.get(term["name"], 0) + int(term["flops"])
            lines[line["name"]] = ComparedConvention(line["name"], int(line["total"]), terms)
        return lines

    @property
    def matches(self) -> list[ObservedMatch]:
        """Conventions that give the observed number, or most lines of the log, to the last digit; empty where none does."""
        return [_match(found) for found in self._found.get("observed", {}).get("matches", [])]

    @property
    def nearest(self) -> ObservedMatch | None:
        """The convention that is nearest to the observed number; None where none was given."""
        observed = self._found.get("observed")
        return _match(observed["nearest"]) if observed else None

    @property
    def exact_tflops_per_gpu(self) -> float | None:
        """What the rate of a log would be by exact, in TFLOP/s of one GPU; None where no log was given."""
        log = self._found.get("observed", {}).get("log")
        return float(log["exact_tflops_per_gpu"]) if log else None

    def plot(self, *, theme: ThemeName = "light", path: PathLike | None = None, **options: Any) -> Figure:
        """The picture, by `floptally.plots.comparison`."""
        from .plots import comparison

        return comparison(self, theme=theme, path=path, **options)

    def __repr__(self) -> str:
        return f"<Comparison of {self._found['model_type']}: {len(self._found['conventions'])} conventions>"


def _match(found: dict[str, Any]) -> ObservedMatch:
    return ObservedMatch(found["name"], found["view"], int(found["total"]), int(found.get("lines", 1)))
