# SPDX-License-Identifier: Apache-2.0
"""Draws one step: its components, or its FLOPs by every convention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from .. import Error, conventions, cost
from .._errors import shortened
from .._values import flops
from ._figure import (
    ORANGE, PathLike, ThemeName, bar_label, canvas, caption, first_bar_labels, look, name_rows, report_of, save, short,
    theme_named, thousands, unit_of,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class HasDict(Protocol):
    """A Breakdown, or another object whose to_dict() is what `python -m floptally flops --format json` writes."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the breakdown's JSON as a dict. Counts are decimal strings."""
        ...


def component_bars(
    step: HasDict | Mapping[str, Any],
    *,
    by: Literal["view", "phase"] = "view",
    view: Literal["useful", "padded", "executed"] = "executed",
    theme: ThemeName = "light",
    title: str | None = None,
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws the FLOPs of a step, a bar for each component, in forward order.

    step: a Breakdown, or its JSON as a dict.
    by: "view" stacks useful FLOPs, what padding adds, and what only the implementation adds (recomputation, fused
        backward). "phase" stacks forward, backward and recompute of one `view`. Title, numbers and shares are those of
        the useful FLOPs, or with "phase" those of `view`.
    theme: "light" or "dark".
    """
    colours = theme_named(theme)
    report = report_of(step, "step", "Breakdown")
    flops = _field(report, "flops")
    parts: list[tuple[str, str, list[int]]]
    if by == "view":
        names, useful = _components(flops, "useful", "total")
        padded, executed = (_components(flops, which, "total")[1] for which in ("padded", "executed"))
        parts = [
            ("useful", colours.first, useful),
            ("padding", ORANGE, [b - a for a, b in zip(useful, padded, strict=True)]),
            ("recompute, fused backward", colours.grey, [b - a for a, b in zip(padded, executed, strict=True)]),
        ]
    elif by == "phase":
        if view not in ("useful", "padded", "executed"):
            raise Error("view", f'must be "useful", "padded" or "executed", got "{view}"')
        names, forward = _components(flops, view, "forward")
        parts = [("forward", colours.first, forward)]
        parts += [
            (phase, color, _components(flops, view, phase)[1])
            for phase, color in (("backward", colours.second), ("recompute", colours.grey))
        ]
    else:
        raise Error("by", f'must be "view" or "phase", got "{by}"')
    parts = [part for part in parts if any(part[2])] or parts[:1]
    totals = [sum(column) for column in zip(*(values for _, _, values in parts), strict=True)]
    shown_view, figures = ("useful", useful) if by == "view" else (view, totals)
    whole = sum(figures)
    if sum(totals) == 0:
        raise Error("step", "must have FLOPs to show, got none")

    with look(colours):
        figure, axes = canvas(ax, 7.6, 1.7 + 0.34 * len(names))
        scale, prefix = unit_of(max(totals))
        left = [0] * len(names)
        for label, color, values in parts:
            axes.barh(
                range(len(names)),
                [value / scale for value in values],
                left=[value / scale for value in left],
                color=color,
                height=0.66,
                label=f"{'+ ' if label in ('padding', 'recompute, fused backward') else ''}{label} {short(sum(values))}",
            )
            left = [a + b for a, b in zip(left, values, strict=True)]
        name_rows(axes, names)
        axes.set_xlim(0, 1.2 * max(totals) / scale)
        axes.set_xlabel(f"{prefix}FLOP of the step")
        axes.set_title(title or f"{report.get('model_type', 'model')}: {short(whole, 'FLOP')} {shown_view}", pad=26)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=3, borderpad=0.2, columnspacing=1.4,
                    handlelength=1.1, handleheight=0.9)  # fmt: skip
        shown = f"figures: {shown_view} FLOPs"
        convention = f"convention {report.get('convention', '?')}"
        caption(figure, ax, [shown, convention, _batch_of(report), _version(report)], color=colours.faint)
        first_bar_labels(axes, colours, [
            (row, figure_of / scale, total / scale,
             f"{short(figure_of)}{f'  {100 * figure_of / whole:.1f} %' if whole else ''}")
            for row, (total, figure_of) in enumerate(zip(totals, figures, strict=True))
        ])  # fmt: skip
        save(figure, path)
    return figure


def convention_spread(
    totals: Mapping[str, int],
    *,
    reference: str = "exact",
    theme: ThemeName = "light",
    title: str | None = None,
    about: str = "",
    ax: Axes | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws the FLOPs of one step by every convention, smallest first, as multiples of `reference`.

    totals: useful FLOPs by convention, as `convention_totals(config, lengths=…)` returns them.
    about: the batch, for the caption.
    theme: "light" or "dark".
    """
    colours = theme_named(theme)
    if not isinstance(totals, Mapping):
        raise Error("totals", f"must be a dict from convention to FLOPs, as convention_totals() returns, got {shortened(totals)}")
    totals = {name: flops(value, f"totals.{name}") for name, value in totals.items()}
    if reference not in totals:
        raise Error("reference", f'must be a convention in totals ({", ".join(totals)}), got "{reference}"')
    if totals[reference] <= 0:
        raise Error("totals", f'must be above 0 for "{reference}", got {totals[reference]}')
    names = sorted(totals, key=lambda name: (totals[name], name))
    with look(colours):
        figure, axes = canvas(ax, 7.6, 1.4 + 0.25 * len(names))
        most = max(totals.values())
        scale, prefix = unit_of(most)
        base = totals[reference]
        for row, name in enumerate(names):
            off = 100 * (totals[name] / base - 1)
            color = (colours.first if name == reference else colours.grey if abs(off) < 0.1
                     else colours.second if off > 0 else ORANGE)  # fmt: skip
            axes.barh(row, totals[name] / scale, color=color, height=0.7)
            text = "" if name == reference else "   same" if off == 0 else f"   {_signed(off)} %"
            bar_label(axes, totals[name] / scale, row, f"{short(totals[name])}{text}", colours, bold=name == reference)
        axes.axvline(base / scale, color=colours.first, linewidth=1, linestyle=":")
        name_rows(axes, names)
        axes.get_yticklabels()[names.index(reference)].set_fontweight("bold")
        axes.set_xlim(0, 1.2 * most / scale)
        axes.set_xlabel(f"{prefix}FLOP of the step, useful")
        axes.set_title(title or "One step under every convention")
        caption(figure, ax, [about, f"per cent: against {reference} (dotted)", "grey: within 0.1 %"],
                color=colours.faint)  # fmt: skip
        save(figure, path)
    return figure


def _signed(percent: float) -> str:
    """Formats a percentage with its sign and at least two significant digits: +8.1, −0.0031."""
    digits = max(1, 1 - math.floor(math.log10(abs(percent))))
    return f"{'−' if percent < 0 else '+'}{abs(percent):.{digits}f}"


def convention_totals(config: Any, **batch: Any) -> dict[str, int]:
    """Returns the useful FLOPs of a batch by every convention, as {name: FLOPs}. Takes the batch by the keywords of
    `floptally.flops`."""
    model = cost(config)
    return {how.name: model.flops(convention=how.name, **batch).total for how in conventions()}


def _field(report: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = report.get(key)
    if not isinstance(value, Mapping):
        raise Error("step", f'must be a Breakdown or its to_dict(), got a dict without "{key}"')
    return value


def _components(counted: Mapping[str, Any], view: str, phase: str) -> tuple[list[str], list[int]]:
    components = _field(counted, view)["components"]
    return [component["name"] for component in components], [int(component[phase]) for component in components]


def _batch_of(report: Mapping[str, Any]) -> str:
    statistics = report.get("statistics", {})
    try:
        count, tokens = (int(statistics[key]["useful"]) for key in ("count", "tokens"))
        slots = int(statistics["tokens"]["padded"])
    except (KeyError, TypeError):
        return ""
    text = f"{thousands(count)} sequence{'' if count == 1 else 's'}, {thousands(tokens)} tokens"
    return text if slots == tokens else f"{text} in {thousands(slots)} slots"


def _version(report: Mapping[str, Any]) -> str:
    return f"floptally {report['version']}" if "version" in report else ""
