# SPDX-License-Identifier: Apache-2.0
"""A batch sampler for PyTorch that gives every rank as many samples as any other, and as many FLOPs.

    costs = floptally.cost("config.json").sample_flops(lengths)
    batches = floptally.sampler.BalancedBatchSampler(costs, batch_size=8)
    loader = torch.utils.data.DataLoader(dataset, batch_sampler=batches)
    for epoch in range(epochs):
        batches.set_epoch(epoch)
        ...

The samples of a global step are those that a shuffled `DistributedSampler` would give to all ranks together; only which
rank has which of them is chosen, by `floptally.balance`. Every rank computes the same assignment: nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Sampler

from . import Error, balance, numbers_version

__all__ = ["BalancedBatchSampler"]


class BalancedBatchSampler(Sampler[list[int]]):
    """Batches of one rank: lists of `batch_size` indices, for a DataLoader's ``batch_sampler``.

    costs: of each sample of the dataset: [n] ints or floats, or [n, loads] where several loads are to be even.
    batch_size: samples of one rank in one step.
    num_replicas, rank: of the data-parallel group; by default those of torch.distributed, one rank without it.
    shuffle, seed: the order of an epoch is that of a `DistributedSampler` with the same seed and epoch.
    drop_last: True leaves out the samples after the last full global step. False makes a last, smaller step of them,
        as many for every rank; where ranks do not divide them, the first samples of the epoch stand in a second time
        (fewer than there are ranks), as in a `DistributedSampler`. Where ranks divide the dataset, every index is given
        exactly once an epoch.

    The same arguments give the same batches on every machine. `state_dict` and `load_state_dict` go on inside of an
    epoch.
    """

    def __init__(
        self,
        costs: Any,
        batch_size: int,
        *,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            import torch.distributed as dist

            joined = dist.is_available() and dist.is_initialized()
            num_replicas = (dist.get_world_size() if joined else 1) if num_replicas is None else num_replicas
            rank = (dist.get_rank() if joined else 0) if rank is None else rank
        if num_replicas < 1:
            raise Error("num_replicas", f"must be at least 1, got {num_replicas}")
        if not 0 <= rank < num_replicas:
            raise Error("rank", f"must be from 0 to {num_replicas - 1}, got {rank}")
        if batch_size < 1:
            raise Error("batch_size", f"must be at least 1, got {batch_size}")
        if len(costs) == 0:
            raise Error("costs", "must be of at least one sample, got none")
        if drop_last and len(costs) < num_replicas * batch_size:
            raise Error("costs", f"must be of at least one step, {num_replicas * batch_size}, got {len(costs)}")
        self.costs = costs
        self.batch_size = batch_size
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0
        self._given = 0  # batches of this epoch so far
        self._first = 0  # of the next iteration

    def __len__(self) -> int:
        """Batches of an epoch: the same on every rank."""
        step = self.num_replicas * self.batch_size
        return len(self.costs) // step if self.drop_last else -(-len(self.costs) // step)

    def set_epoch(self, epoch: int) -> None:
        """The order of the next iteration: call it on every rank before each epoch."""
        if epoch != self.epoch:
            self._given = self._first = 0
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        order = self._order()
        step = self.num_replicas * self.batch_size
        first, self._first = self._first, 0
        self._given = first
        for batch in range(first, len(self)):
            self._given = batch + 1
            yield self._assigned(order[batch * step : (batch + 1) * step])[self.rank]

    def state_dict(self, batches: int | None = None) -> dict[str, int]:
        """Where this epoch stands, for a checkpoint.

        batches: those that were trained on. A DataLoader with workers asks ahead of the training loop, so that its
            count of steps must be given; by default it is how many batches this sampler gave.
        """
        done = self._given if batches is None else batches
        if not 0 <= done <= len(self):
            raise Error("batches", f"must be from 0 to {len(self)}, got {done}")
        return {
            "epoch": self.epoch,
            "batches": done,
            "seed": self.seed,
            "num_replicas": self.num_replicas,
            "batch_size": self.batch_size,
            "samples": len(self.costs),
            "numbers_version": numbers_version,
        }

    def load_state_dict(self, state: dict[str, int]) -> None:
        """The next iteration goes on after the batches that the state counts. Other sizes than it has are an Error."""
        own = self.state_dict()
        for key in ("seed", "num_replicas", "batch_size", "samples", "numbers_version"):
            if state.get(key) != own[key]:
                raise Error(key, f"must be that of the checkpoint, {state.get(key)}, got {own[key]}")
        self.epoch = state["epoch"]
        self._given = self._first = state["batches"]

    def _order(self) -> list[int]:
        """All indices in the order of this epoch, filled up to what ranks divide where none is left out."""
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order: list[int] = torch.randperm(len(self.costs), generator=generator).tolist()
        else:
            order = list(range(len(self.costs)))
        while not self.drop_last and len(order) % self.num_replicas != 0:
            order += order[: self.num_replicas - len(order) % self.num_replicas]
        return order

    def _assigned(self, samples: list[int]) -> list[list[int]]:
        """The samples of one step, rank by rank."""
        # A list of whole numbers stays exact; rows of an array stay one.
        costs = self.costs[samples] if hasattr(self.costs, "shape") else [self.costs[sample] for sample in samples]
        ranks = balance(costs, self.num_replicas, mode="equal_count").ranks
        return [[samples[place] for place in own] for own in ranks]
