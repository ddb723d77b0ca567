# SPDX-License-Identifier: Apache-2.0
"""The wall clock of a run: what it went to."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._core import Meter


class Goodput(NamedTuple):
    """What a run made of its wall clock. `spent` is by the names that callers gave, with "restart" from a checkpoint to the
    process that went on from it (lost steps are in it); `rest_seconds` is what nobody named. `step_share` is the share of
    steps, `mfu` the useful FLOPs over the whole wall clock."""

    wall_seconds: float
    step_seconds: float
    spent: dict[str, float]
    rest_seconds: float
    step_share: float
    mfu: float
    padded_mfu: float
    hfu: float


class Spending:
    """The context manager of Meter.spending(): its time counts where it raises, too."""

    def __init__(self, meter: Meter, name: str) -> None:
        self._meter, self._name = meter, name

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *raised: object) -> None:
        self._meter.spend(self._name, time.monotonic() - self._began)
