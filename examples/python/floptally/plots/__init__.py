# SPDX-License-Identifier: Apache-2.0
"""Pictures of what floptally counts, with matplotlib (``pip install 'floptally[plot]'``).

Every function returns a ``matplotlib.figure.Figure``. ``ax`` draws into axes of yours; ``path`` saves: a PNG or an SVG
as it ends, both where it ends in neither, the same bytes each time. Colours are apart for every kind of colour vision.
Bad input is a `floptally.Error` (a ValueError) that begins with the name of the argument.
"""

from ..kernel_times import KernelTimes, read_kernel_times
from .comparisons import comparison
from .kernels import kernel_heatmap
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
    "read_kernel_times",
    "roofline",
    "utilization_over_time",
    "waterfall",
]
