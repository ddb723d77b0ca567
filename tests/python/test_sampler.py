# SPDX-License-Identifier: Apache-2.0
"""T1, T2, T3 in PyTorch: every index once an epoch over all ranks, as many samples on each, and loads alike."""

from __future__ import annotations

import random
from typing import Any

import floptally
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from floptally.sampler import BalancedBatchSampler  # noqa: E402

RANKS, BATCH = 4, 8


def lognormal_costs(samples: int) -> list[int]:
    generator = random.Random(7)
    return [int(1000 * generator.lognormvariate(6, 1)) for _ in range(samples)]


def epoch_of(costs: Any, epoch: int = 0, **options: Any) -> list[list[list[int]]]:
    """Batches of every rank: rank, step, sample."""
    found = []
    for rank in range(RANKS):
        sampler = BalancedBatchSampler(costs, BATCH, num_replicas=RANKS, rank=rank, **options)
        sampler.set_epoch(epoch)
        found.append(list(sampler))
        assert len(found[-1]) == len(sampler)
    return found


def over_bound(ranks: list[list[list[int]]], costs: list[int]) -> float:
    """The time that steps take over the least that they can: the mean, or the largest sample and the smallest beside it."""
    taken = least = 0.0
    for step in zip(*ranks, strict=True):
        loads = [sum(costs[sample] for sample in batch) for batch in step]
        sizes = sorted(costs[sample] for batch in step for sample in batch)
        taken += max(loads)
        least += max(sum(loads) / len(loads), sizes[-1] + sum(sizes[: BATCH - 1]))
    return taken / least


@pytest.mark.parametrize("shuffle", [True, False])
def test_the_balanced_sampler_gives_each_index_once_an_epoch_and_equally_many_indices_to_each_rank(shuffle: bool) -> None:
    costs = lognormal_costs(RANKS * BATCH * 5 + 12)  # 12 more: three of each rank
    ranks = epoch_of(costs, shuffle=shuffle)
    assert sorted(sample for rank in ranks for batch in rank for sample in batch) == list(range(len(costs)))
    for step in range(5):
        assert [len(rank[step]) for rank in ranks] == [BATCH] * RANKS
    assert [len(rank[5]) for rank in ranks] == [3] * RANKS


def test_the_balanced_sampler_repeats_the_first_samples_if_the_number_of_samples_is_not_a_multiple_of_the_ranks() -> None:
    costs = lognormal_costs(RANKS * BATCH + 5)
    ranks = epoch_of(costs, seed=3)
    arguments = [sample for rank in ranks for batch in rank for sample in batch]
    assert [len(rank[1]) for rank in ranks] == [2] * RANKS
    twice = sorted(sample for sample in set(arguments) if arguments.count(sample) == 2)
    assert set(arguments) == set(range(len(costs))) and len(arguments) == len(costs) + 3
    generator = torch.Generator()
    generator.manual_seed(3)
    assert twice == sorted(torch.randperm(len(costs), generator=generator).tolist()[:3])
    tiny = [list(BalancedBatchSampler([5], 1, num_replicas=RANKS, rank=rank)) for rank in range(RANKS)]
    assert tiny == [[[0]]] * RANKS


def test_the_balanced_sampler_skips_the_last_samples_that_do_not_fill_a_step_if_drop_last_is_set() -> None:
    costs = lognormal_costs(RANKS * BATCH * 2 + 31)
    ranks = epoch_of(costs, drop_last=True)
    arguments = [sample for rank in ranks for batch in rank for sample in batch]
    assert len(arguments) == len(set(arguments)) == RANKS * BATCH * 2
    assert all(len(batch) == BATCH for rank in ranks for batch in rank)


def test_the_balanced_sampler_has_more_even_loads_than_distributed_sampler() -> None:
    costs = lognormal_costs(RANKS * BATCH * 20)
    own = epoch_of(costs, epoch=2, seed=11)
    theirs = []
    for rank in range(RANKS):
        sampler = torch.utils.data.DistributedSampler(costs, num_replicas=RANKS, rank=rank, seed=11)
        sampler.set_epoch(2)
        theirs.append(list(torch.utils.data.BatchSampler(sampler, BATCH, drop_last=False)))
    for mine, other in zip(zip(*own, strict=True), zip(*theirs, strict=True), strict=True):
        assert sorted(sum(mine, [])) == sorted(sum(other, []))  # the same samples in the same step
    assert over_bound(own, costs) < 1.01
    assert over_bound(theirs, costs) > 1.2


def test_the_sample_order_of_the_balanced_sampler_is_reproducible_within_an_epoch_and_differs_between_epochs() -> None:
    costs = lognormal_costs(96)
    assert epoch_of(costs, epoch=1) == epoch_of(costs, epoch=1)
    assert epoch_of(costs, epoch=1) != epoch_of(costs, epoch=2)
    assert epoch_of(costs, epoch=1, seed=1) != epoch_of(costs, epoch=1)
    assert epoch_of(costs, epoch=1, shuffle=False) == epoch_of(costs, epoch=2, shuffle=False)


def test_the_balanced_sampler_resumes_inside_an_epoch() -> None:
    costs = lognormal_costs(RANKS * BATCH * 6)
    whole = epoch_of(costs, epoch=3)[1]
    first = BalancedBatchSampler(costs, BATCH, num_replicas=RANKS, rank=1)
    first.set_epoch(3)
    running = iter(first)
    assert [next(running) for _ in range(2)] == whole[:2]
    state = first.state_dict()
    assert state["epoch"] == 3 and state["batches"] == 2
    again = BalancedBatchSampler(costs, BATCH, num_replicas=RANKS, rank=1)
    again.load_state_dict(state)
    again.set_epoch(3)  # as a training loop does
    assert list(again) == whole[2:]
    assert list(again) == whole  # only the first iteration is cut
    again.load_state_dict(first.state_dict(batches=5))
    assert list(again) == whole[5:]
    again.load_state_dict(first.state_dict(batches=5))
    again.set_epoch(4)
    assert len(list(again)) == len(whole)


def test_loading_the_saved_state_of_a_different_balanced_sampler_is_an_error() -> None:
    state = BalancedBatchSampler([1, 2, 3, 4], 2, num_replicas=2, rank=0).state_dict()
    for other, field in [
        (BalancedBatchSampler([1, 2, 3, 4], 2, num_replicas=1, rank=0), "num_replicas"),
        (BalancedBatchSampler([1, 2, 3, 4], 1, num_replicas=2, rank=0), "batch_size"),
        (BalancedBatchSampler([1, 2, 3, 4, 5], 2, num_replicas=2, rank=0), "samples"),
        (BalancedBatchSampler([1, 2, 3, 4], 2, num_replicas=2, rank=0, seed=1), "seed"),
        (BalancedBatchSampler([1, 2, 3, 4], 2, num_replicas=2, rank=0, shuffle=False), "shuffle"),
        (BalancedBatchSampler([1, 2, 3, 4], 2, num_replicas=2, rank=0, drop_last=True), "drop_last"),
    ]:
        with pytest.raises(floptally.Error) as raised:
            other.load_state_dict(state)
        assert raised.value.field == field
    with pytest.raises(floptally.Error, match="^numbers_version: must be 0 as in the checkpoint, got"):
        BalancedBatchSampler([1, 2, 3, 4], 2, num_replicas=2, rank=0).load_state_dict({**state, "numbers_version": 0})


def test_a_pytorch_dataloader_accepts_the_balanced_sampler_also_if_each_sample_has_two_costs() -> None:
    import numpy as np

    costs = np.array([[cost, 3 * index % 7] for index, cost in enumerate(lognormal_costs(64))], dtype=np.int64)
    sampler = BalancedBatchSampler(costs, BATCH, num_replicas=RANKS, rank=2)
    loader = torch.utils.data.DataLoader(range(64), batch_sampler=sampler, collate_fn=list)
    assert list(loader) == list(sampler) and len(loader) == 2
    assert list(BalancedBatchSampler(torch.tensor([4, 3, 2, 1]), 1, num_replicas=2, rank=0)) != []


def test_the_balanced_sampler_assumes_one_rank_without_torch_distributed() -> None:
    sampler = BalancedBatchSampler([3, 1, 2], 2, shuffle=False)
    assert list(sampler) == [[0, 1], [2]]


def test_invalid_input_of_the_balanced_sampler_is_an_error_that_names_the_field() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"costs": [], "batch_size": 1}, "costs: must have at least one sample, got none"),
        ({"costs": [1], "batch_size": 0}, "batch_size: must be at least 1, got 0"),
        ({"costs": [1], "batch_size": 1, "num_replicas": 0, "rank": 0}, "num_replicas: must be at least 1, got 0"),
        ({"costs": [1], "batch_size": 1, "num_replicas": 2, "rank": 2}, "rank: must be from 0 to 1, got 2"),
        ({"costs": [1], "batch_size": 2, "drop_last": True}, "costs: must have at least 2 samples, enough for one step, got 1"),
    ]
    for arguments, text in wrong:
        with pytest.raises(floptally.Error) as raised:
            BalancedBatchSampler(**arguments)
        assert str(raised.value) == text
    with pytest.raises(floptally.Error, match=r"^costs\[0\]: must be an integer from 0 to"):
        list(BalancedBatchSampler([-1, 2], 1, num_replicas=2, rank=0, shuffle=False))
