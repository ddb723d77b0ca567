# SPDX-License-Identifier: Apache-2.0
"""What a batch moves between memory and units, made of its JSON."""

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
    """Bytes of a component, as exact ints.

    kinds: bytes by kind: weights, gradients, activations, cache.
    phases: the same of each phase: forward, backward_data, backward_weights, recompute.
    flops: FLOPs that it executes.
    intensity: FLOPs for each byte.
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
    """A model bandwidth utilization, a fraction; 0.412 is 41.2 %. str() says where it is an upper bound."""

    #: Whether it is an upper bound: it is not known which experts were read.
    is_at_most: bool
    #: The fraction if each token chose its experts uniformly, an estimate beside a bound; else None.
    uniform: float | None

    def __new__(cls, value: float, is_at_most: bool = False, uniform: float | None = None) -> Mbu:
        made = super().__new__(cls, value)
        made.is_at_most, made.uniform = is_at_most, uniform
        return made

    def __str__(self) -> str:
        estimate = "" if self.uniform is None else f" (uniform estimate {100 * self.uniform:.2f} %)"
        return f"{'at most ' if self.is_at_most else ''}{100 * self:.2f} %{estimate}"

    def __repr__(self) -> str:
        return f"<MBU {self}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Mbu, (float(self), self.is_at_most, self.uniform)


class Bytes(Report):
    """What a batch moves between memory and units: component x phase x kind.

    `Cost.bytes()` or `Breakdown.bytes()` makes one. str() is a table, in a notebook too.
    """

    def __init__(self, work: Breakdown, **bits: Any) -> None:
        self._work, self._bits = work, bits
        self._json, self._table, self._cells, phases = _core._bytes(work, **bits)
        found = json.loads(self._json)
        self._found, self._total = found, found["total"]
        self._components = {
            one["name"]: ComponentBytes(
                one["name"],
                int(one["bytes"]["total"]),
                _kinds(one),
                phases[one["name"]],
                int(one["flops"]),
                one["intensity"],
            )
            for one in found["components"]
        }

    @property
    def total(self) -> int:
        """An exact int."""
        return int(self._total["bytes"]["total"])

    @property
    def kinds(self) -> dict[str, int]:
        """Bytes by kind: weights, gradients, activations, cache."""
        return _kinds(self._total)

    @property
    def components(self) -> dict[str, ComponentBytes]:
        """ComponentBytes by component's name."""
        return dict(self._components)

    @property
    def flops(self) -> int:
        """FLOPs that components execute which move bytes."""
        return int(self._total["flops"])

    @property
    def intensity(self) -> float:
        """FLOPs for each byte. Below those of the device in the time of a byte, memory is what is waited for."""
        return float(self._total["intensity"])

    @property
    def unsaid(self) -> list[str]:
        """Components whose activations are not counted: their rows do not say what they read."""
        return list(self._found["unsaid"])

    @property
    def at_most(self) -> list[str]:
        """Components that may move less."""
        return list(self._found["at_most"])

    @property
    def is_exact(self) -> bool:
        """Whether both lists are empty."""
        return not (self.unsaid or self.at_most)

    @property
    def work(self) -> Breakdown:
        """The Breakdown of the same batch."""
        return self._work

    def mbu(
        self,
        seconds: float,
        *,
        gpus: int,
        accelerator: str | Accelerator | None = None,
        memory_tbps: float | None = None,
    ) -> Mbu:
        """Of a decode step: weights and cache over what the memories of all GPUs could move; 0.412 is 41.2 %.

        Of a model whose tokens choose experts it is an upper bound, `is_at_most`, with a `uniform` estimate beside it,
        unless these bytes were counted with the measured `distinct_experts`. One above 1 is a RuntimeWarning.

        Args:
            seconds: of the decode step.
            gpus: whose memories moved the bytes.
            accelerator: its name, or an Accelerator, whose bandwidth is known.
            memory_tbps: TB/s of one GPU's memory, which wins over it.
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
        """The MBU of a decode step as a logger takes it, in per cent, by a name that says what it is: mbu_pct, or
        mbu_at_most_pct and mbu_uniform_estimate_pct."""
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
