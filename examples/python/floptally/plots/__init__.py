# SPDX-License-Identifier: Apache-2.0
"""Draws what floptally counts, with matplotlib (``pip install 'floptally[plot]'``).

Every function returns a ``matplotlib.figure.Figure``. ``ax`` draws into your own axes. ``path`` saves the figure as
PNG or SVG by its ending, or as both without an ending; the same data give the same bytes. Colours can be told apart
with any kind of colour vision. Bad input raises a `floptally.Error` (a ValueError) that begins with the name of the
argument.
"""

from ..kernel_times import KernelTimes, read_kernel_times
from .comparisons import comparison
from .kernels import kernel_heatmap
from .layouts import layouts
from .published import published_gaps, published_mfu
from .rooflines import roofline
from .runs import comparison_bars, utilization_over_time
from .steps import component_bars, convention_spread, convention_totals
from .waterfalls import waterfall

__all__ = [
    "KernelTimes",
    "comparison",
    "comparison_bars",
    "component_bars",
    "convention_spread",
    "convention_totals",
    "kernel_heatmap",
    "layouts",
    "published_gaps",
    "published_mfu",
    "read_kernel_times",
    "roofline",
    "utilization_over_time",
    "waterfall",
]
