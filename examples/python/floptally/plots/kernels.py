# SPDX-License-Identifier: Apache-2.0
"""Draws a heatmap of measured attention kernel times: batch x sequence length x phase."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .. import Error
from ..kernel_times import KernelTimes, read_kernel_times
from ._figure import PathLike, Theme, ThemeName, blank, canvas, caption, look, save, theme_named, three_digits, unit_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    #: Where a text stands, and its possible forms, longest first.
    _Cell = tuple[Axes, Text, list[str]]

_MISSING = "missing"
_TITLES = {"fwd": "forward", "bwd": "backward", "e2e": "forward + backward"}


def kernel_heatmap(
    results: PathLike | Mapping[str, Any] | KernelTimes,
    *,
    show: Literal["tflops", "mfu_pct", "milliseconds"] = "tflops",
    theme: ThemeName = "light",
    title: str | None = None,
    ax: Sequence[Axes] | None = None,
    path: PathLike | None = None,
) -> Figure:
    """Draws a panel for each measured phase (fwd, bwd, e2e) with a cell for each batch size and sequence length.

    results: a results JSON (see `floptally.kernel_times`): its path, its content, or a KernelTimes.
    show: what cells show. TFLOPS (or GFLOPS if small) and MFU are of the useful FLOPs that floptally counts for the
        file's config.
    theme: "light" or "dark".
    ax: one pair of axes for each phase, in the order fwd, bwd, e2e.
    A cell without a measurement is hatched and has the reason from the file. If there is no room, the cell has a dash
    and the reason stands below. Such a cell never has a number.
    """
    colours = theme_named(theme)
    times = read_kernel_times(results)
    units = {"tflops": "FLOPS", "mfu_pct": "MFU, % of the peak", "milliseconds": "milliseconds"}
    if show not in units:
        raise Error("show", f'must be "tflops", "mfu_pct" or "milliseconds", got "{show}"')
    grids = {phase: _grid(times, show, phase) for phase in times.phases}
    values = [value for grid in grids.values() for row in grid for value in row if value is not None]
    if not values:
        raise Error("times", f"must have at least one kernel with {show}, got none")
    if show == "tflops":  # a CPU has gigaflops
        scale, prefix = unit_of(1e12 * max(values))
        units[show] = f"{prefix}FLOPS"
        grids = {phase: [[value and value * 1e12 / scale for value in row] for row in grid]
                 for phase, grid in grids.items()}  # fmt: skip
        values = [value * 1e12 / scale for value in values]
    if ax is not None and len(ax) != len(grids):
        raise Error("ax", f"must be {len(grids)} axes, one for each of {', '.join(grids)}, got {len(ax)}")

    with look(colours):
        from matplotlib.colors import LogNorm, Normalize
        from matplotlib.ticker import FuncFormatter, NullFormatter

        rows, columns = len(times.batch_sizes), len(times.sequence_lengths)
        if ax is None:
            panel = max(2.0, 0.35 + 0.58 * columns)  # 2 inches fit the name of the axis
            figure = blank(max(5.5, 1.6 + len(grids) * panel), 1.75 + 0.4 * rows)
            panels = list(figure.subplots(1, len(grids), squeeze=False)[0])
        else:
            panels = list(ax)
            figure = canvas(panels[0], 0, 0)[0]
        log = show == "milliseconds" and max(values) > 20 * min(values)
        norm = LogNorm(min(values), max(values)) if log else Normalize(0, max(values))
        cells: list[_Cell] = []
        for place, (axes, (phase, grid)) in enumerate(zip(panels, grids.items(), strict=True)):
            image = _panel(cells, axes, colours, grid, norm, [times.reasons.get((b, n, phase), "") for b in times.batch_sizes
                                              for n in times.sequence_lengths])  # fmt: skip
            axes.set_title(_TITLES[phase], fontsize=10, fontweight="normal")
            axes.set_xticks(range(columns), [str(length) for length in times.sequence_lengths], rotation=0)
            axes.set_yticks(range(rows), [str(batch) for batch in times.batch_sizes] if place == 0 else [""] * rows)
            axes.set_xlabel("sequence length, tokens")
        panels[0].set_ylabel("batch size")
        bar = figure.colorbar(image, ax=panels, fraction=0.04, pad=0.015)
        bar.set_label(units[show])
        if log:
            bar.formatter = FuncFormatter(lambda value, _: f"{value:g}")
            bar.ax.yaxis.set_minor_formatter(NullFormatter())
        bar.outline.set_visible(False)
        figure.suptitle(title or times.kernel or "Attention kernel", x=0.01, ha="left", fontweight="bold", fontsize=11.5)
        counted = f"{', '.join(times.components)} in convention {times.convention}" if show != "milliseconds" else ""
        peak = f"peak {times.peak_tflops:g} TFLOPS" if show == "mfu_pct" else ""
        missing = "hatched: not measured"
        reasons = dict.fromkeys(forms[0] for _, _, forms in cells if len(forms) > 1 and forms[0] != _MISSING)
        about = [times.device, counted, peak]
        mark = caption(figure, None if ax is None else panels[0], [*about, missing], color=colours.faint)
        if not _fit(figure, cells):  # a reason does not fit its cell
            mark.set_text(" · ".join(part for part in [*about, f"{missing}: {', '.join(reasons)}"] if part))
        save(figure, path)
    return figure


def _fit(figure: Figure, cells: Sequence[_Cell]) -> bool:
    """Writes into each cell the first of its texts that has room there, in the largest font that has room. Returns
    False if some cell does not show its first text."""
    figure.draw_without_rendering()
    all_fit = True
    for axes, text, forms in cells:
        x, y = text.get_position()
        corners = axes.transData.transform([(x - 0.5, y - 0.5), (x + 0.5, y + 0.5)])
        width, height = abs(corners[1] - corners[0]) - 0.04 * figure.dpi
        largest = float(text.get_fontsize())
        whole = forms[:-1] or forms
        tried = [(form, size) for size in (largest, largest - 1, largest - 2) for form in whole]
        for form, size in [*tried, (forms[-1], largest), (forms[-1], 4.0)]:
            text.set(text=form, fontsize=size)
            box = text.get_window_extent()
            if box.width <= width and box.height <= height:
                break
        all_fit &= form.replace("\n", " ") == forms[0]
    return all_fit


def _grid(times: KernelTimes, show: str, phase: str) -> list[list[float | None]]:
    def value(batch: int, length: int) -> float | None:
        if show == "milliseconds":
            return times.milliseconds.get((batch, length, phase))
        return times.tflops(batch, length, phase) if show == "tflops" else times.mfu_pct(batch, length, phase)

    return [[value(batch, length) for length in times.sequence_lengths] for batch in times.batch_sizes]


def _panel(
    cells: list[_Cell], axes: Axes, colours: Theme, grid: list[list[float | None]], norm: Any, reasons: list[str]
) -> Any:
    import numpy as np
    from matplotlib.patches import Rectangle

    shown = np.ma.MaskedArray(  # type: ignore[no-untyped-call,unused-ignore]
        [[0.0 if value is None else value for value in row] for row in grid],
        mask=[[value is None for value in row] for row in grid],
    )
    image = axes.imshow(shown, cmap="cividis", norm=norm, aspect="auto")
    for place, reason in enumerate(reasons):
        y, x = divmod(place, len(grid[0]))
        value = grid[y][x]
        if value is None:
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fill=False, hatch="////", linewidth=0, edgecolor=colours.grey))
            words = reason or _MISSING
            forms = [words, *("\n".join(textwrap.wrap(words, most, break_long_words=False)) for most in (12, 8, 6)), "–"]
            text = axes.text(x, y, words, ha="center", va="center", fontsize=7, color=colours.faint, linespacing=0.95,
                             bbox={"facecolor": colours.paper, "edgecolor": "none", "pad": 1.2})  # fmt: skip
        else:
            dark = norm(value) < 0.55
            forms = [three_digits(value)]
            text = axes.text(x, y, forms[0], ha="center", va="center", fontsize=8,
                             color="white" if dark else "black")  # fmt: skip
        cells.append((axes, text, forms))
    axes.set_xticks([x + 0.5 for x in range(len(grid[0]) - 1)], minor=True)
    axes.set_yticks([y + 0.5 for y in range(len(grid) - 1)], minor=True)
    axes.grid(which="minor", color=colours.paper, linewidth=1.2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    return image
