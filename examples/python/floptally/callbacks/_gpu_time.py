# SPDX-License-Identifier: Apache-2.0
"""The time of a part of a step, measured on the GPU without waiting for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class UpdateTime:
    """Measures the sum of all times between start() and stop(), in seconds. On a GPU, CUDA events measure the times.
    The sum is known once the GPU has passed the events; the host never waits for the GPU."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began: Any = None
        self._on_host = 0.0
        self._on_gpu: list[tuple[Any, Any]] = []

    def __bool__(self) -> bool:
        """True if any time was measured."""
        return bool(self._on_gpu) or self._on_host > 0

    def start(self) -> None:
        self._began = self._now()

    def stop(self) -> None:
        began, self._began = self._began, None
        if began is None:
            return
        if isinstance(began, float):
            self._on_host += self._clock() - began
        else:
            self._on_gpu.append((began, self._now()))

    def done(self) -> bool:
        """True once the measured time is known."""
        return all(ended.query() for _, ended in self._on_gpu)

    def wait(self) -> None:
        """Waits until the GPU has passed the last event that measures time. Other streams of the device go on."""
        if self._on_gpu and not self.done():
            self._on_gpu[-1][1].synchronize()

    def seconds(self) -> float:
        return self._on_host + float(sum(began.elapsed_time(ended) for began, ended in self._on_gpu)) / 1000

    def _now(self) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return float(self._clock())
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event
