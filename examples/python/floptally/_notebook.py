# SPDX-License-Identifier: Apache-2.0
"""What notebooks show of the extension's classes. IPython calls `_repr_html_`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from ._core import Breakdown, Meter, Totals, readable
from ._html import picture, to_html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Shown = TypeVar("Shown")

_breakdown_table: Callable[[Breakdown], str] = Breakdown._repr_html_


def of_breakdown(work: Breakdown) -> str:
    """Returns the table of a breakdown, and its components as bars."""
    return _breakdown_table(work) + bars(work)


def bars(work: Breakdown) -> str:
    """Returns the bars of a breakdown's components as SVG. Returns "" without matplotlib."""
    if not work.executed_total:
        return ""

    def draw() -> Figure:
        from .plots import component_bars

        return component_bars(work)

    return picture(draw, "FLOPs by component, as in the table")


def of_meter(meter: Meter) -> str:
    """Returns a table of a meter's last step, interval and run, and the components of the run as bars."""
    if not meter.run.steps:
        return totals_table({}, f"{_title(meter)}\nno step has ended", [])
    spans = {"last step": meter.last_step, "interval": meter.interval, "run": meter.run}
    notes = [f"left out: {meter.steps_left_out} steps that could not be counted"] if meter.steps_left_out else []
    if meter.peak_tflops is None:
        notes.append("no MFU: the peak of the accelerator is unknown; pass peak_tflops=")
    return totals_table(spans, _title(meter), notes, has_peak=meter.peak_tflops is not None) + bars(meter.breakdown("run"))


def _title(meter: Meter) -> str:
    parts = [meter.cost.model_type, f"convention {meter.convention}", meter.counted]
    if meter.peak_tflops is not None:
        parts.append(f"{f'{meter.accelerator}, ' if meter.accelerator else ''}{meter.peak_tflops:g} TFLOP/s {meter.precision} a GPU")
    return ": ".join([parts[0], ", ".join(parts[1:])])


def of_totals(totals: Totals) -> str:
    """Returns a table of one span of a meter."""
    try:
        has_peak = totals.mfu >= 0
    except ValueError:  # no step has ended, or the peak is unknown
        has_peak = False
    return totals_table({"" if totals.steps else "no step has ended": totals}, "", [], has_peak=has_peak)


def totals_table(spans: Mapping[str, Totals], title: str, notes: list[str], *, has_peak: bool = False) -> str:
    """Returns a table with a column for each span. Spans without an ended step have no rates."""
    rows: list[tuple[str, Callable[[Totals], str], Callable[[Totals], str] | None]] = [
        ("steps", lambda one: _grouped(one.steps), None),
        ("seconds", lambda one: f"{one.seconds:.6g}", None),
        ("tokens", lambda one: _grouped(one.tokens), None),
        ("tokens, padded", lambda one: _grouped(one.padded_tokens), None),
        ("useful FLOPs", lambda one: readable(one.useful), lambda one: str(one.useful)),
        ("padded FLOPs", lambda one: readable(one.padded), lambda one: str(one.padded)),
        ("executed FLOPs", lambda one: readable(one.executed), lambda one: str(one.executed)),
        ("seconds a step", _rate(lambda one: f"{one.step_seconds:.6g}"), None),
        ("tokens/s", _rate(lambda one: _grouped(round(one.tokens_per_second))), None),
        ("TFLOP/s per GPU", _rate(lambda one: f"{one.tflops_per_gpu:.2f}"), None),
    ]
    if has_peak:
        rows += [
            ("MFU", _rate(lambda one: f"{100 * one.mfu:.2f} %"), None),
            ("padded MFU", _rate(lambda one: f"{100 * one.padded_mfu:.2f} %"), None),
            ("HFU", _rate(lambda one: f"{100 * one.hfu:.2f} %"), None),
        ]
    cells = [
        [{"text": name}, *({"text": text(one), **({"exact": exact(one)} if exact else {})} for one in spans.values())]
        for name, text, exact in (rows if spans else [])
    ]
    columns = [{"name": "", "side": "left"}, *({"name": name, "side": "right"} for name in spans)]
    return to_html(json.dumps({"title": title, "sections": [{"columns": columns, "rows": cells}], "notes": notes}))


def _rate(text: Callable[[Totals], str]) -> Callable[[Totals], str]:
    return lambda one: text(one) if one.steps else "-"


def _grouped(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def shows(kind: type[Shown], html: Callable[[Shown], str]) -> None:
    """Gives a class of the extension the method that IPython calls."""

    def _repr_html_(self: Shown) -> str:
        return html(self)

    setattr(kind, "_repr_html_", _repr_html_)


shows(Breakdown, of_breakdown)
shows(Meter, of_meter)
shows(Totals, of_totals)
