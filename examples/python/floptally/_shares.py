# SPDX-License-Identifier: Apache-2.0
"""Records of what a rank has of a batch and of a model, and arrays cut and merged along its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._errors import Error

if TYPE_CHECKING:
    import numpy.typing as npt

    from ._core import Breakdown, MemoryProbe

    Indices = npt.NDArray[np.int64]


class ExchangeBuffer(NamedTuple):
    """A rank's sending or receiving buffer: samples by the rank on the other side, then by index. All but `samples` in
    bytes: `counts` are the split sizes of an all-to-all."""

    samples: Indices
    offsets: Indices
    sizes: Indices
    counts: Indices
    displacements: Indices

    @property
    def bytes(self) -> int:
        """Of the whole buffer."""
        return int(self.counts.sum())


class RankExchange(NamedTuple):
    """One rank's side of an exchange."""

    rank: int
    send: ExchangeBuffer
    receive: ExchangeBuffer


class Pack(NamedTuple):
    """One [1, T] row of packed samples: their indices, ascending, and the boundaries of their lengths and slots."""

    samples: Indices
    cu_seqlens: Indices
    cu_seqlens_padded: Indices

    @property
    def tokens(self) -> int:
        """T, with padding."""
        return int(self.cu_seqlens_padded[-1])


class Packing(NamedTuple):
    """Rows of packed samples; of each sample its row, and the token of the row at which its slot begins."""

    rows: list[Pack]
    row_of: Indices
    offset_of: Indices


class LogitsBytes(NamedTuple):
    """Bytes of a rank's logits: `local` where each rank computes the loss of its own tokens, `gathered` of all tokens,
    `gathering` while the parts and the whole are there at once."""

    local: int
    gathered: int
    gathering: int


class StateBytes(NamedTuple):
    """Bytes of the model states of a rank."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """Bytes of all three."""
        return sum(self)


class StepModule(NamedTuple):
    """A module of a step that has ranks of its own: a vision encoder, a language model, a critic.

    work: of all its ranks together. peak_tflops: dense, of one of its ranks in its precision. frozen: it has no gradients
    of weights. seconds: in which its ranks ran it; 0: the whole step.
    """

    name: str
    ranks: Sequence[int]
    work: Breakdown
    peak_tflops: float
    data_parallel_size: int = 1
    frozen: bool = False
    seconds: float = 0.0


class ModuleRate(NamedTuple):
    """A module over its own ranks and seconds."""

    name: str
    useful: int
    executed: int
    ranks: int
    ranks_per_replica: int
    tflops_per_gpu: float
    mfu: float
    padded_mfu: float
    hfu: float


class ModuleUtilization(NamedTuple):
    """A step of modules: `mfu` over the ranks that run one, `allocated_mfu` over all ranks of the job,
    `mixed_precision_mfu` with each module at the peak of its own precision."""

    useful: int
    active_ranks: int
    idle_ranks: int
    mfu: float
    padded_mfu: float
    hfu: float
    allocated_mfu: float
    allocated_hfu: float
    mixed_precision_mfu: float
    modules: list[ModuleRate]


class ProbedStep:
    """The context manager of MemoryProbe.step(). A step that raises (out of memory) is the one whose memory is asked for:
    it has its row and its snapshot all the same."""

    def __init__(self, probe: MemoryProbe, step: int) -> None:
        self._probe, self._step = probe, step

    def __enter__(self) -> MemoryProbe:
        self._probe.begin_step(self._step)
        return self._probe

    def __exit__(self, *raised: object) -> None:
        self._probe.end_step(self._step)


probed_step = ProbedStep


def selected(row: Any, indices: Indices, axis: int, tokens: int, field: str) -> Any:
    """The entries of an array or a tensor at these places along an axis that has `tokens`."""
    if not hasattr(row, "shape"):
        row = np.asarray(row)
    sides = len(row.shape)
    if not -sides <= axis < sides:
        raise Error("axis", f"must be one of the {sides} of {field}, got {axis}")
    if row.shape[axis] != tokens:
        raise Error(field, f"must have {tokens} tokens along axis {axis}, got {row.shape[axis]}")
    if hasattr(row, "index_select"):  # a tensor of PyTorch, on whatever device and with its gradient
        import torch

        return row.index_select(axis, torch.from_numpy(indices).to(row.device))
    return np.take(row, indices, axis)


def merged(shards: Sequence[Any], order: Indices, axis: int, cp: int, tokens: int) -> Any:
    """The row of the shards of all ranks, put together by a restoring order."""
    if len(shards) != cp:
        raise Error("shards", f"must be {cp}, one of each rank, got {len(shards)}")
    shards = [shard if hasattr(shard, "shape") else np.asarray(shard) for shard in shards]
    for rank, shard in enumerate(shards):
        if not -len(shard.shape) <= axis < len(shard.shape) or shard.shape[axis] != tokens:
            raise Error(f"shards[{rank}]", f"must have {tokens} tokens along axis {axis}, got a shape of {tuple(shard.shape)}")
    if hasattr(shards[0], "index_select"):
        import torch

        return selected(torch.cat(list(shards), axis), order, axis, cp * tokens, "shards")
    return selected(np.concatenate(shards, axis), order, axis, cp * tokens, "shards")
