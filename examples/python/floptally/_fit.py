# SPDX-License-Identifier: Apache-2.0
"""What a rank holds and sends, made of its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._report import Report
from ._waterfall import bandwidths_of

if TYPE_CHECKING:
    from ._core import Breakdown

HELD = ("weights", "gradients", "optimizer", "activations", "logits", "cache")


@dataclass(frozen=True)
class Sent:
    """Bytes that a rank sends for one component, group, collective and phase, and as many that it receives.

    is_at_most: `bytes` is an upper bound, of tokens that choose experts; `uniform` is what is sent if each token chose
        them uniformly.
    """

    component: str
    group: str
    collective: str
    phase: str
    ranks: int
    bytes: int
    is_at_most: bool
    uniform: int | None


@dataclass(frozen=True)
class StageFit:
    """What the first rank of a pipeline stage holds and sends, as exact ints of bytes.

    held: by kind: weights, gradients, optimizer, activations, logits, cache.
    sent: a Sent for each component, group, collective and phase.
    groups: bytes by group; of a bound the uniform estimate.
    seconds: of the groups whose bandwidth is given.
    gradients_moved: bytes of gradients that the backward of all microbatches writes and adds to.
    optimizer_moved: bytes that a step of the optimizer reads and writes.
    unsaid: components whose activations, or exchanges, are not counted, since their rows do not say them.
    """

    parameters: int
    trainable: int
    held: dict[str, int]
    total: int
    sent: list[Sent]
    groups: dict[str, int]
    seconds: dict[str, float]
    gradients_moved: int
    optimizer_moved: int
    unsaid: list[str]


class Fit(Report):
    """What a rank of each pipeline stage holds and sends. `Breakdown.fit()` makes one; str() is a table."""

    def __init__(self, work: Breakdown, **how: Any) -> None:
        if how.get("network_gbps") is not None:
            how["network_gbps"] = bandwidths_of(how["network_gbps"])
        self._work, self._how = work, how
        self._json, self._table, self._cells = _core._fit(work, **how)
        self._found: dict[str, Any] = json.loads(self._json)

    @property
    def stages(self) -> list[StageFit]:
        """A StageFit for each stage of the pipeline."""
        return [_stage(stage) for stage in self._found["stages"]]

    @property
    def most(self) -> int:
        """Bytes of the rank that holds most."""
        return max(stage.total for stage in self.stages)

    def __repr__(self) -> str:
        return f"<Fit of {self._found['model_type']}: at most {self.most} bytes a rank>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._work, self._how)


def _stage(found: dict[str, Any]) -> StageFit:
    held = found["held"]
    return StageFit(
        parameters=int(held["parameters"]),
        trainable=int(held["trainable"]),
        held={kind: int(held[kind]) for kind in HELD},
        total=int(held["total"]),
        sent=[_sent(row) for row in found["sent"]],
        groups={group["group"]: int(group["bytes"]) for group in found["groups"]},
        seconds={group["group"]: float(group["seconds"]) for group in found["groups"] if "seconds" in group},
        gradients_moved=int(found["gradients_moved"]),
        optimizer_moved=int(found["optimizer_moved"]),
        unsaid=[*found["activations_unsaid"], *found["exchanges_unsaid"]],
    )


def _sent(row: dict[str, Any]) -> Sent:
    return Sent(
        row["component"], row["group"], row["collective"], row["phase"], int(row["ranks"]),
        int(row.get("bytes", row.get("at_most", 0))), "at_most" in row,
        int(row["uniform"]) if "uniform" in row else None,
    )  # fmt: skip


def _again(work: Breakdown, how: dict[str, Any]) -> Fit:
    return Fit(work, **how)
