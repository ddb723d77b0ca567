# SPDX-License-Identifier: Apache-2.0
"""What a rank holds in memory and sends."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from ._report import Report
from ._waterfall import bandwidths_of

if TYPE_CHECKING:
    from ._core import Breakdown

HELD = ("weights", "gradients", "optimizer", "activations", "logits", "cache", "buffers")


@dataclass(frozen=True)
class Sent:
    """Bytes that one rank sends for one component, process group, collective and phase. The rank receives equally many
    bytes.

    is_at_most: True if `bytes` is an upper bound, since tokens choose their experts. `uniform` is then the estimate
        for tokens that choose uniformly.
    between_nodes: the part of the bytes (of the estimate, if they are an upper bound) that goes to other nodes. None
        without `gpus_per_node`.
    """

    component: str
    group: str
    collective: str
    phase: str
    ranks: int
    bytes: int
    is_at_most: bool
    uniform: int | None
    between_nodes: int | None


@dataclass(frozen=True)
class StageFit:
    """What the first rank of one pipeline stage holds in memory and sends. Bytes are exact ints.

    held: bytes by kind: weights, gradients, optimizer, activations, logits, cache, buffers.
    host: bytes of optimizer state on the host.
    sent: a Sent for each component, group, collective and phase.
    between_nodes: {group: bytes sent to other nodes}, with `gpus_per_node`.
    groups: {group: bytes sent}. If only an upper bound is known, the estimate for tokens that choose experts uniformly.
    seconds: {group: seconds to send its bytes}, for groups with a known bandwidth.
    gradients_moved: bytes of gradients that the backward of all microbatches writes and accumulates.
    optimizer_moved: bytes that one optimizer step reads and writes.
    unsaid: components whose activations or communication are not counted, because the cost does not describe them.
    """

    parameters: int
    trainable: int
    held: dict[str, int]
    host: int
    total: int
    sent: list[Sent]
    groups: dict[str, int]
    between_nodes: dict[str, int]
    seconds: dict[str, float]
    gradients_moved: int
    optimizer_moved: int
    unsaid: list[str]


class Fit(Report):
    """What one rank of each pipeline stage holds in memory and sends. `Breakdown.fit()` returns one; `str()` is a
    table."""

    def __init__(self, work: Breakdown, **how: Any) -> None:
        if how.get("network_gbps") is not None:
            how["network_gbps"] = bandwidths_of(how["network_gbps"])
        self._work, self._how = work, how
        self._json, self._table, self._cells = _core._fit(work, **how)
        self._found: dict[str, Any] = json.loads(self._json)

    @property
    def stages(self) -> list[StageFit]:
        """What each stage of the pipeline holds and sends: a list of StageFit, in the order of the stages."""
        return [_stage(stage) for stage in self._found["stages"]]

    @property
    def split(self) -> str:
        """How the layers were split over the chunks of the pipeline, as text. "torchtitan's split: 3 x 1, 4 x 14, 2 x
        1" is 3 layers in one chunk, 4 in each of 14 chunks, and 2 in one. Empty if all chunks have equally many
        layers."""
        return str(self._found["split"])

    @property
    def most(self) -> int:
        """Bytes held by the rank with the fullest memory."""
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
        host=int(held["host"]),
        total=int(held["total"]),
        sent=[_sent(row) for row in found["sent"]],
        groups={group["group"]: int(group["bytes"]) for group in found["groups"]},
        between_nodes={group["group"]: int(group["between_nodes"]) for group in found["groups"] if "between_nodes" in group},
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
        int(row["between_nodes"]) if "between_nodes" in row else None,
    )  # fmt: skip


def _again(work: Breakdown, how: dict[str, Any]) -> Fit:
    return Fit(work, **how)
