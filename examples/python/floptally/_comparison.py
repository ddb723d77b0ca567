# SPDX-License-Identifier: Apache-2.0
"""One step counted by every convention."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._html import picture
from ._report import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .plots._figure import PathLike, ThemeName


@dataclass(frozen=True)
class ComparedConvention:
    """The FLOPs of a step as one convention counts them, and why they differ from the exact count. All numbers are
    exact ints.

    terms: the FLOPs to add to `total` for each way in which the convention differs from the exact count. `total` plus
        all terms is the exact count.
    """

    name: str
    total: int
    terms: dict[str, int]


@dataclass(frozen=True)
class ObservedMatch:
    """A convention and a view ("useful", "padded", "executed") whose FLOPs reproduce a number from a dashboard or log.

    total: the FLOPs of the step by this convention in this view, before `factor`.
    lines: how many lines of the log are reproduced; 1 for a single number.
    terms: FLOPs to add to `total` for each part of the plan that the tool ignores: {"frozen_weights": −…}. Empty if the
        tool ignores nothing.
    factor: the constant by which the tool's number is too large or too small; 1 if there is none.
    cause: why the tool's number is off by `factor`: "not divided by the 8 GPUs". Empty if `factor` is 1.
    """

    name: str
    view: str
    total: int
    lines: int = 1
    terms: Mapping[str, int] = field(default_factory=dict)
    factor: float = 1.0
    cause: str = ""


class Comparison(Report):
    """One step counted by every convention, with the reason for each difference from the exact count. It also finds
    the convention that produced a number from a dashboard.

    `Cost.compare()` returns one. `str()` is a table; a notebook shows it too.
    """

    def __init__(self, text: str, table: str, cells: str) -> None:
        self._json, self._table, self._cells = text, table, cells
        self._found: dict[str, Any] = json.loads(text)

    @property
    def exact(self) -> int:
        """Useful FLOPs of the step by the convention "exact"."""
        return int(self._found["exact"])

    @property
    def conventions(self) -> dict[str, ComparedConvention]:
        """The count of each convention, as {name: ComparedConvention}. Several differences of the same kind are one
        term."""
        lines = {}
        for line in self._found["conventions"]:
            terms: dict[str, int] = {}
            for term in line["terms"]:
                terms[term["name"]] = terms.get(term["name"], 0) + int(term["flops"])
            lines[line["name"]] = ComparedConvention(line["name"], int(line["total"]), terms)
        return lines

    @property
    def matches(self) -> list[ObservedMatch]:
        """Conventions that reproduce the observed number, or most lines of the log, to the last digit. May be empty.

        If no convention does so for your plan, floptally tries two more causes. The tool may ignore frozen weights,
        adapters or recomputation (`ObservedMatch.terms`), or its number may be off by a constant
        (`ObservedMatch.factor`).
        """
        return [_match(found) for found in self._found.get("observed", {}).get("matches", [])]

    @property
    def nearest(self) -> ObservedMatch | None:
        """The convention whose number is nearest to the observed one. None if no number was passed."""
        observed = self._found.get("observed")
        return _match(observed["nearest"]) if observed else None

    @property
    def exact_tflops_per_gpu(self) -> float | None:
        """TFLOP/s of one GPU: the exact FLOPs of the steps over the step times in the log. None without a log."""
        log = self._found.get("observed", {}).get("log")
        return float(log["exact_tflops_per_gpu"]) if log else None

    @property
    def log_tokens(self) -> tuple[float, int] | None:
        """The number of tokens in one step, as (from the log's own numbers, from the batch), if the two differ. None if
        they agree, or if the log does not say its tokens."""
        tokens = self._found.get("observed", {}).get("log", {}).get("tokens")
        return (float(tokens["of_log"]), int(tokens["of_batch"])) if tokens else None

    def plot(self, *, theme: ThemeName = "light", path: PathLike | None = None, **options: Any) -> Figure:
        """Draws this comparison as a bar chart and returns the figure. Takes the keywords of
        `floptally.plots.comparison`."""
        from .plots import comparison

        return comparison(self, theme=theme, path=path, **options)

    def _repr_html_(self) -> str:
        return super()._repr_html_() + picture(self.plot, "FLOPs of each convention, as in the table")

    def __repr__(self) -> str:
        return f"<Comparison of {self._found['model_type']}: {len(self._found['conventions'])} conventions>"


def _match(found: dict[str, Any]) -> ObservedMatch:
    terms = {term["name"]: int(term["flops"]) for term in found.get("terms", [])}
    return ObservedMatch(
        found["name"], found["view"], int(found["total"]), int(found.get("lines", 1)), terms, float(found.get("factor", 1)),
        found.get("cause", ""),
    )  # fmt: skip
