# SPDX-License-Identifier: Apache-2.0
"""Reads measured times of an attention kernel (batch x sequence length x phase) from a results JSON.

The file is one object. ``examples/data/attention_kernel_times.json`` is an example;
``examples/python/measure_attention.py`` writes one:

    {"kernel": "what was timed", "device": "on what",
     "batch_sizes": [1, 2, 4], "sequence_lengths": [256, 512],
     "times": [{"batch": 1, "sequence_length": 256, "phase": "fwd", "milliseconds": 0.31},
               {"batch": 4, "sequence_length": 512, "phase": "bwd", "milliseconds": null, "reason": "out of
               memory"}],
     "config": {"model_type": "floptally", …}, "components": ["attention.core"], "convention": "exact",
     "peak_tflops": 989}

``phase`` is "fwd", "bwd" or "e2e". Each phase is measured by itself; none is computed from the others. A cell is
missing if it has no entry or null.

The file has no FLOPs. floptally counts those of ``components`` of ``config``, by ``convention``, for ``batch`` equal
sequences. For an HSTU config, ``contextual`` and ``targets`` say how many tokens of each sequence are of these kinds;
the rest is history. Leave out ``config`` to show times only, and ``peak_tflops`` to show no MFU.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import Cost, Error, cost
from ._errors import shortened
from ._json import read_json

if TYPE_CHECKING:
    from ._literals import ConventionName

PHASES = ("fwd", "bwd", "e2e")
_KEYS = (
    "kernel", "device", "batch_sizes", "sequence_lengths", "times", "config", "components", "convention", "contextual",
    "targets", "peak_tflops",
)  # fmt: skip
_CELL_KEYS = ("batch", "sequence_length", "phase", "milliseconds", "reason")

Cell = tuple[int, int, str]


@dataclass(frozen=True)
class KernelTimes:
    """Measured times of an attention kernel, read and checked from a results file. ``milliseconds`` maps (batch,
    sequence length, phase) to a time, for measured cells only."""

    kernel: str
    device: str
    batch_sizes: tuple[int, ...]
    sequence_lengths: tuple[int, ...]
    milliseconds: Mapping[Cell, float]
    reasons: Mapping[Cell, str] = field(default_factory=dict)  # why a cell is missing, if the file says so
    config: dict[str, Any] | None = None
    components: tuple[str, ...] = ()
    convention: ConventionName = "exact"
    contextual: int = 0
    targets: int = 0
    peak_tflops: float | None = None

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases in the file, in the order fwd, bwd, e2e."""
        seen = {phase for _, _, phase in (*self.milliseconds, *self.reasons)}
        return tuple(phase for phase in PHASES if phase in seen)

    @cached_property
    def _cost(self) -> Cost:
        if self.config is None:
            raise Error("config", "must be in the file to compute FLOPs, got none")
        return cost(self.config)

    def flops(self, batch: int, sequence_length: int, phase: str) -> int:
        """Returns the exact useful FLOPs of one kernel call with this batch, sequence length and phase (forward,
        backward, or both)."""
        if self.contextual or self.targets:
            history = sequence_length - self.contextual - self.targets
            if history < 0:
                raise Error(
                    "sequence_lengths",
                    f"must be at least contextual + targets, {self.contextual + self.targets}, got {sequence_length}",
                )
            step = self._cost.flops(sequences=[(self.contextual, history, self.targets)] * batch,
                                    convention=self.convention)  # fmt: skip
        else:
            step = self._cost.flops(lengths=[sequence_length] * batch, convention=self.convention)
        counted = step.useful.components
        for name in self.components:
            if name not in counted:
                raise Error("components", f'must be components of the config ({", ".join(counted)}), got "{name}"')
        parts = [counted[name] for name in self.components]
        return sum(
            {"fwd": part.forward, "bwd": part.backward, "e2e": part.forward + part.backward}[phase] for part in parts
        )

    def tflops(self, batch: int, sequence_length: int, phase: str) -> float | None:
        """Returns the rate of a (batch, sequence length, phase) cell in TFLOP/s, or None if the cell was not
        measured."""
        taken = self.milliseconds.get((batch, sequence_length, phase))
        return None if taken is None else self.flops(batch, sequence_length, phase) / (taken * 1e9)

    def mfu_pct(self, batch: int, sequence_length: int, phase: str) -> float | None:
        """Returns the MFU of a (batch, sequence length, phase) cell in % of the peak."""
        if self.peak_tflops is None:
            raise Error("peak_tflops", "must be in the file to compute MFU, got none")
        rate = self.tflops(batch, sequence_length, phase)
        return None if rate is None else 100 * rate / self.peak_tflops


def read_kernel_times(source: str | os.PathLike[str] | Mapping[str, Any] | KernelTimes) -> KernelTimes:
    """Reads a results JSON (a path or its content), checks every field, and returns a KernelTimes."""
    if isinstance(source, KernelTimes):
        return source
    if not isinstance(source, (str, os.PathLike, Mapping)):
        raise Error("kernel_times", f"must be a path, the dict of a results JSON or a KernelTimes, got {shortened(source)}")
    if not isinstance(source, Mapping):
        try:
            content = read_json(Path(source).read_bytes(), "kernel_times")
        except OSError as problem:
            raise Error("kernel_times", f'cannot read "{os.fspath(source)}": {problem}') from problem
        if not isinstance(content, dict):
            raise Error("kernel_times", f'must be one JSON object, got something else in "{os.fspath(source)}"')
        source = content
    _require_known(source, _KEYS, "")
    entries = source.get("times")
    if not isinstance(entries, list) or not entries:
        raise Error("times", f"must be a list of at least one kernel time, got {entries!r}")
    times: dict[Cell, float] = {}
    reasons: dict[Cell, str] = {}
    seen: set[Cell] = set()
    for index, entry in enumerate(entries):
        cell, taken, reason = _read_cell(entry, f"times[{index}]")
        if cell in seen:
            raise Error(f"times[{index}]", f"repeats an earlier measurement: keep one of batch {cell[0]}, "
                                           f"sequence_length {cell[1]}, {cell[2]}")  # fmt: skip
        seen.add(cell)
        if taken is None:
            reasons[cell] = reason
        else:
            times[cell] = taken
    config = source.get("config")
    if config is not None and not isinstance(config, Mapping):
        raise Error("config", f"must be an object as floptally.cost reads it, got {config!r}")
    components = source.get("components", [])
    if not isinstance(components, list) or not all(isinstance(name, str) for name in components):
        raise Error("components", f"must be a list of component names, got {components!r}")
    if (config is None) != (not components):
        raise Error("components", "must be in the file together with config: add both or neither")
    peak = source.get("peak_tflops")
    return KernelTimes(
        kernel=str(source.get("kernel", "")),
        device=str(source.get("device", "")),
        batch_sizes=_axis(source, "batch_sizes", {cell[0] for cell in seen}),
        sequence_lengths=_axis(source, "sequence_lengths", {cell[1] for cell in seen}),
        milliseconds=times,
        reasons=reasons,
        config=None if config is None else dict(config),
        components=tuple(components),
        convention=cast(Any, str(source.get("convention", "exact"))),
        contextual=_count(source.get("contextual", 0), "contextual", 0),
        targets=_count(source.get("targets", 0), "targets", 0),
        peak_tflops=None if peak is None else _positive(peak, "peak_tflops"),
    )


def _read_cell(entry: Any, where: str) -> tuple[Cell, float | None, str]:
    if not isinstance(entry, dict):
        raise Error(where, f"must be an object, got {entry!r}")
    _require_known(entry, _CELL_KEYS, f"{where}.")
    for key in ("batch", "sequence_length", "phase", "milliseconds"):
        if key not in entry:
            raise Error(f"{where}.{key}", "is missing: add it")
    if entry["phase"] not in PHASES:
        raise Error(f"{where}.phase", f'must be "fwd", "bwd" or "e2e", got {entry["phase"]!r}')
    batch = _count(entry["batch"], f"{where}.batch", 1)
    length = _count(entry["sequence_length"], f"{where}.sequence_length", 1)
    taken = entry["milliseconds"]
    time = None if taken is None else _positive(taken, f"{where}.milliseconds")
    return (batch, length, entry["phase"]), time, str(entry.get("reason", ""))


def _axis(source: Mapping[str, Any], key: str, seen: set[int]) -> tuple[int, ...]:
    """Returns all values of one axis (batch sizes or sequence lengths) in increasing order. If the results file
    declares the axis, the declared values must include all that were measured.

    source: the content of the file.
    key: the name of the axis in the file.
    seen: the values that were measured.
    """
    declared = source.get(key)
    if declared is None:
        return tuple(sorted(seen))
    if not isinstance(declared, list) or not declared:
        raise Error(key, f"must be a list of at least one integer, got {declared!r}")
    places = {_count(value, f"{key}[{index}]", 1) for index, value in enumerate(declared)}
    if not seen <= places:
        raise Error(key, f"must list every value that times has: add {min(seen - places)}")
    return tuple(sorted(places))


def _require_known(source: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in source:
        if key not in known:
            raise Error(f"{where}{key}", f"is an unknown key of a results file; known ones are {', '.join(known)}")


def _count(value: Any, where: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise Error(where, f"must be an integer of at least {least}, got {value!r}")
    return value


def _positive(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise Error(where, f"must be a finite number above 0, got {value!r}")
    return float(value)
