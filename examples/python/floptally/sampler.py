# SPDX-License-Identifier: Apache-2.0
"""A batch sampler for PyTorch that balances FLOPs over data-parallel ranks. Each rank gets the same number of samples.

    costs = floptally.cost("config.json").sample_flops(lengths)
    batches = floptally.sampler.BalancedBatchSampler(costs, batch_size=8)
    loader = torch.utils.data.DataLoader(dataset, batch_sampler=batches)
    for epoch in range(epochs):
        batches.set_epoch(epoch)
        ...

A global step has the same samples as with a shuffled `DistributedSampler`. Only their ranks differ;
`floptally.balance` assigns them. Every rank computes the same assignment, without communication.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Sampler

from . import Error, balance, numbers_version

__all__ = ["BalancedBatchSampler"]


class BalancedBatchSampler(Sampler[list[int]]):
    """A ``batch_sampler`` for PyTorch's DataLoader: gives each rank lists of `batch_size` indices with balanced FLOPs.

    costs: cost of each sample of the dataset: [n] ints or floats. [n, loads] balances several loads at once.
    batch_size: samples of one rank in one step.
    num_replicas, rank: size of the data-parallel group and rank in it. By default those of torch.distributed, or
        one rank.
    shuffle, seed: the order of an epoch is that of a `DistributedSampler` with the same seed and epoch.
    drop_last: True leaves out the samples after the last full global step. False makes a smaller last step, in which
        all ranks have equally many samples. If the ranks do not divide the dataset evenly, a few samples (fewer than
        ranks) from the start of the epoch repeat, as in a `DistributedSampler`. Otherwise every index comes exactly
        once per epoch.

    The same arguments give the same batches on every machine. `state_dict` and `load_state_dict` continue inside an
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
            raise Error("costs", "must have at least one sample, got none")
        if drop_last and len(costs) < num_replicas * batch_size:
            raise Error(
                "costs",
                f"must have at least {num_replicas * batch_size} samples, enough for one step, got {len(costs)}",
            )
        self.costs = costs
        self.batch_size = batch_size
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0
        self._given = 0  # batches of this epoch so far
        self._first = 0  # where the next iteration begins

    def __len__(self) -> int:
        """Returns the number of batches of an epoch, the same on every rank."""
        step = self.num_replicas * self.batch_size
        return len(self.costs) // step if self.drop_last else -(-len(self.costs) // step)

    def set_epoch(self, epoch: int) -> None:
        """Sets the order of the next iteration. Call it on every rank before each epoch."""
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
        """Returns the sampler's position in this epoch as a dict, for a checkpoint.

        batches: how many batches were trained on. Pass it if the DataLoader has workers, since these fetch batches
            before the training loop uses them. By default the number of batches that this sampler gave.
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
            "shuffle": self.shuffle,
            "drop_last": self.drop_last,
            "numbers_version": numbers_version,
        }

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Continues the epoch from a state of state_dict(): the next iteration begins after the batches of the state.
        Raises an Error if the sampler has other sizes or another order than the state."""
        own = self.state_dict()
        state = {"shuffle": self.shuffle, "drop_last": self.drop_last, **state}  # states of older releases lack them
        for key in ("seed", "num_replicas", "batch_size", "samples", "shuffle", "drop_last", "numbers_version"):
            if state.get(key) != own[key]:
                raise Error(key, f"must be {state.get(key)} as in the checkpoint, got {own[key]}")
        self.epoch = state["epoch"]
        self._given = self._first = state["batches"]

    def _order(self) -> list[int]:
        """Returns the indices of all samples in the order of this epoch. Without drop_last, the first indices follow
        again at the end until the number of ranks divides the number of indices."""
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
        """Returns a list for each rank with its samples of one step, such that the costs of the ranks are balanced.
        samples: the indices of that step's samples."""
        # A list of whole numbers stays exact; rows of an array stay an array.
        costs = self.costs[samples] if hasattr(self.costs, "shape") else [self.costs[sample] for sample in samples]
        ranks = balance(costs, self.num_replicas, mode="equal_count").ranks
        return [[samples[place] for place in own] for own in ranks]
