# SPDX-License-Identifier: Apache-2.0
"""Goodput: how the wall clock of a run was spent."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._core import Meter


class Goodput(NamedTuple):
    """How a run spent its wall-clock time: in steps, in named activities, and the rest. `Meter.goodput` returns it.

    spent: {name: seconds} of the activities that `Meter.spend` named. "restart" is the time from a checkpoint until the
        restarted process continued; it includes lost steps.
    rest_seconds: seconds that are neither in a step nor under a name.
    step_share: the share of the wall clock spent in steps.
    mfu: useful FLOPs over what all GPUs could do at their peak during the whole wall clock.
    """

    wall_seconds: float
    step_seconds: float
    spent: dict[str, float]
    rest_seconds: float
    step_share: float
    mfu: float
    padded_mfu: float
    hfu: float


class Spending:
    """The context manager that Meter.spending() returns. It adds the duration of its body to the goodput, even if the
    body raises."""

    def __init__(self, meter: Meter, name: str) -> None:
        self._meter, self._name = meter, name

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *raised: object) -> None:
        self._meter.spend(self._name, time.monotonic() - self._began)
