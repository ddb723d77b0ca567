# SPDX-License-Identifier: Apache-2.0
"""Results about one rank's shards of a batch and of a model; cutting and merging arrays along tokens."""

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
    """A rank's send or receive buffer of an exchange. Samples in the buffer are ordered by the rank that they go to or
    come from, then by index.

    counts: the split sizes of an all-to-all. All fields but `samples` are in bytes.
    """

    samples: Indices
    offsets: Indices
    sizes: Indices
    counts: Indices
    displacements: Indices

    @property
    def bytes(self) -> int:
        """The size of the whole buffer in bytes."""
        return int(self.counts.sum())


class RankExchange(NamedTuple):
    """The send and receive buffers of one rank in an exchange of samples between ranks."""

    rank: int
    send: ExchangeBuffer
    receive: ExchangeBuffer


class Pack(NamedTuple):
    """One packed row [1, T] of samples: the indices of the samples (ascending), the boundaries of their real tokens,
    and the boundaries of the samples with their padding."""

    samples: Indices
    cu_seqlens: Indices
    cu_seqlens_padded: Indices

    @property
    def tokens(self) -> int:
        """The number of tokens of the pack, padding included: the T of its shape [1, T]."""
        return int(self.cu_seqlens_padded[-1])


class Packing(NamedTuple):
    """The result of packing samples into rows. For each sample it has the number of the pack and the sample's first
    position in the pack."""

    packs: list[Pack]
    pack_of: Indices
    offset_of: Indices


class LogitsBytes(NamedTuple):
    """Bytes of a rank's logits, for three ways to compute the loss.

    local: each rank computes the loss of its own tokens.
    gathered: each rank holds the logits of all tokens.
    gathering: the peak while logits are gathered, with each rank's part and the whole in memory.
    """

    local: int
    gathered: int
    gathering: int


class StateBytes(NamedTuple):
    """Bytes of weights, gradients and optimizer states on one rank. `state_bytes()` returns one."""

    weights: int
    gradients: int
    optimizer: int

    @property
    def total(self) -> int:
        """Bytes of weights, gradients and optimizer states."""
        return sum(self)


class StepModule(NamedTuple):
    """A module with its own ranks in a training step (a vision encoder, a language model, a critic), as `utilize()`
    takes it.

    work: FLOPs of all its ranks together.
    peak_tflops: dense peak of one of its ranks in its precision.
    frozen: True if it has no weight gradients.
    seconds: how long its ranks ran the module. 0: the whole step.
    """

    name: str
    ranks: Sequence[int]
    work: Breakdown
    peak_tflops: float
    data_parallel_size: int = 1
    frozen: bool = False
    seconds: float = 0.0


class ModuleRate(NamedTuple):
    """The TFLOP/s and the MFU of one module of a step, over the module's own ranks and seconds."""

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
    """The MFU of a step whose modules have their own ranks. `utilize()` returns one.

    mfu: useful FLOPs over the peak of the ranks that run a module.
    allocated_mfu: useful FLOPs over the peak of all ranks of the job.
    mixed_precision_mfu: MFU with each module's work over the peak of its own precision.
    """

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
    """The context manager that MemoryProbe.step() returns: it samples memory before and after its body. If the body
    raises, for example out of memory, the row and the snapshot of the step are still written."""

    def __init__(self, probe: MemoryProbe, step: int) -> None:
        self._probe, self._step = probe, step

    def __enter__(self) -> MemoryProbe:
        self._probe.begin_step(self._step)
        return self._probe

    def __exit__(self, *raised: object) -> None:
        self._probe.end_step(self._step)


probed_step = ProbedStep


def selected(row: Any, indices: Indices, axis: int, tokens: int, field: str) -> Any:
    """Returns the elements of an array or a tensor at these indices along `axis`. The axis must have `tokens`
    elements."""
    if not hasattr(row, "shape"):
        row = np.asarray(row)
    sides = len(row.shape)
    if not -sides <= axis < sides:
        raise Error("axis", f"must be one of the {sides} dimensions of {field}, got {axis}")
    if row.shape[axis] != tokens:
        raise Error(field, f"must have {tokens} tokens along axis {axis}, got {row.shape[axis]}")
    if hasattr(row, "index_select"):  # a PyTorch tensor, on any device, with its gradient
        import torch

        return row.index_select(axis, torch.from_numpy(indices).to(row.device))
    return np.take(row, indices, axis)


def merged(shards: Sequence[Any], order: Indices, axis: int, cp: int, tokens: int) -> Any:
    """Puts the shards of all ranks together and returns the whole pack. `TokenSplit.restoring_order()` says where each
    token goes."""
    if len(shards) != cp:
        raise Error("shards", f"must have {cp} shards, one for each rank, got {len(shards)}")
    shards = [shard if hasattr(shard, "shape") else np.asarray(shard) for shard in shards]
    for rank, shard in enumerate(shards):
        if not -len(shard.shape) <= axis < len(shard.shape) or shard.shape[axis] != tokens:
            raise Error(f"shards[{rank}]", f"must have {tokens} tokens along axis {axis}, got a shape of {tuple(shard.shape)}")
    if hasattr(shards[0], "index_select"):
        import torch

        return selected(torch.cat(list(shards), axis), order, axis, cp * tokens, "shards")
    return selected(np.concatenate(shards, axis), order, axis, cp * tokens, "shards")
