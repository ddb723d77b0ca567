# SPDX-License-Identifier: Apache-2.0
"""Bytes that a batch moves between GPU memory and compute units."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._report import Report

if TYPE_CHECKING:
    from ._accelerators import Accelerator
    from ._core import Breakdown

KINDS = ("weights", "gradients", "activations", "cache")


@dataclass(frozen=True, repr=False)
class ComponentBytes:
    """Bytes that one component moves between GPU memory and compute units, as exact ints.

    kinds: bytes by kind: weights, gradients, activations, cache.
    phases: the same kinds for each phase: forward, backward_data, backward_weights, recompute.
    flops: FLOPs that the component executes.
    intensity: FLOPs per byte.
    """

    name: str
    total: int
    kinds: dict[str, int]
    phases: dict[str, dict[str, int]]
    flops: int
    intensity: float

    def __repr__(self) -> str:
        return f"<ComponentBytes {self.name}: {self.total}>"


class Mbu(float):
    """Model bandwidth utilization (MBU) of a decode step, as a float; 0.412 is 41.2 %. `str()` says whether the MBU is
    an upper bound."""

    #: True if it is an upper bound, since it is unknown which experts were read.
    is_at_most: bool
    #: For an upper bound, the estimate if each token chooses its experts uniformly; else None.
    uniform: float | None

    def __new__(cls, value: float, is_at_most: bool = False, uniform: float | None = None) -> Mbu:
        mbu = super().__new__(cls, value)
        mbu.is_at_most, mbu.uniform = is_at_most, uniform
        return mbu

    def __str__(self) -> str:
        estimate = "" if self.uniform is None else f" (uniform estimate {100 * self.uniform:.2f} %)"
        return f"{'at most ' if self.is_at_most else ''}{100 * self:.2f} %{estimate}"

    def __repr__(self) -> str:
        return f"<MBU {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Mbu, (float(self), self.is_at_most, self.uniform)


class Bytes(Report):
    """Bytes that a batch moves between GPU memory and compute units, by component, phase and kind.

    `Cost.bytes()` and `Breakdown.bytes()` return one. `str()` is a table; a notebook shows it too.
    """

    def __init__(self, work: Breakdown, **bits: Any) -> None:
        self._work, self._bits = work, bits
        self._json, self._table, self._cells, phases = _core._bytes(work, **bits)
        found = json.loads(self._json)
        self._found, self._total = found, found["total"]
        self._components = {
            component["name"]: ComponentBytes(
                component["name"],
                int(component["bytes"]["total"]),
                _kinds(component),
                phases[component["name"]],
                int(component["flops"]),
                component["intensity"],
            )
            for component in found["components"]
        }

    @property
    def total(self) -> int:
        """All bytes that the batch moves, an exact int."""
        return int(self._total["bytes"]["total"])

    @property
    def kinds(self) -> dict[str, int]:
        """Bytes that the batch moves, as {kind: bytes}. The kinds are weights, gradients, activations and cache."""
        return _kinds(self._total)

    @property
    def components(self) -> dict[str, ComponentBytes]:
        """The bytes of each component, as {name: ComponentBytes}."""
        return dict(self._components)

    @property
    def flops(self) -> int:
        """Executed FLOPs of all components that move bytes, an exact int."""
        return int(self._total["flops"])

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: FLOPs per byte. Work is memory-bound if this is below the device's FLOP/s divided by
        its memory bandwidth in bytes/s."""
        return float(self._total["intensity"])

    @property
    def unsaid(self) -> list[str]:
        """Names of components whose activation bytes are not counted, because the cost does not say which tensors they
        read."""
        return list(self._found["unsaid"])

    @property
    def at_most(self) -> list[str]:
        """Names of components whose bytes are an upper bound."""
        return list(self._found["at_most"])

    @property
    def is_exact(self) -> bool:
        """True if all bytes are exact: no component is in `unsaid` or `at_most`."""
        return not (self.unsaid or self.at_most)

    @property
    def work(self) -> Breakdown:
        """The Breakdown of the same batch: its FLOPs by component."""
        return self._work

    def mbu(
        self,
        seconds: float,
        *,
        gpus: int,
        accelerator: str | Accelerator | None = None,
        memory_tbps: float | None = None,
    ) -> Mbu:
        """Returns the model bandwidth utilization (MBU) of a decode step as a fraction; 0.412 is 41.2 %. MBU is the
        bytes of weights and KV cache that the step reads, over the bytes that the memories of all GPUs could move in
        that time.

        For a mixture of experts the MBU is an upper bound (`is_at_most`), and `uniform` is the estimate for tokens that
        choose experts uniformly. The MBU is exact if you passed the measured `distinct_experts` to `bytes()`. An MBU
        above 1 gives a RuntimeWarning.

        Args:
            seconds: duration of the decode step.
            gpus: GPUs whose memories moved the bytes.
            accelerator: a name as the driver calls it, or an Accelerator.
            memory_tbps: memory bandwidth of one GPU in TB/s. Overrides `accelerator`.
        """
        return Mbu(*_core._mbu(
            self._work, seconds=seconds, gpus=gpus, accelerator=accelerator, memory_tbps=memory_tbps, **self._bits
        ))  # fmt: skip

    def scalars(
        self,
        seconds: float,
        *,
        gpus: int,
        accelerator: str | Accelerator | None = None,
        memory_tbps: float | None = None,
        prefix: str = "train/",
    ) -> dict[str, float]:
        """Returns the MBU of a decode step in per cent, as a dict for a logger. The key is mbu_pct. If the MBU is an
        upper bound, the keys are mbu_at_most_pct and mbu_uniform_estimate_pct."""
        used = self.mbu(seconds, gpus=gpus, accelerator=accelerator, memory_tbps=memory_tbps)
        found = {f"{prefix}{'mbu_at_most_pct' if used.is_at_most else 'mbu_pct'}": 100 * float(used)}
        if used.uniform is not None:
            found[f"{prefix}mbu_uniform_estimate_pct"] = 100 * used.uniform
        return found

    def __repr__(self) -> str:
        return f"<Bytes of {self._found['model_type']}: {self.total}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._work, self._bits)


def _kinds(line: dict[str, Any]) -> dict[str, int]:
    return {kind: int(line["bytes"][kind]) for kind in KINDS}


def _again(work: Breakdown, bits: dict[str, Any]) -> Bytes:
    return Bytes(work, **bits)
