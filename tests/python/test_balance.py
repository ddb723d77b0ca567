# SPDX-License-Identifier: Apache-2.0
"""Samples to ranks, with the costs that MFU has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import floptally

LENGTHS = [100, 9000, 512, 512, 40, 8192, 3000, 7]


def test_the_flops_of_samples_add_up_to_those_of_the_batch(mistral: floptally.Cost) -> None:
    costs = mistral.sample_flops(LENGTHS)
    assert costs == [mistral.flops(lengths=[length]).total for length in LENGTHS]
    assert sum(costs) == mistral.flops(lengths=LENGTHS).total
    plan = floptally.Plan(recompute="full")
    executed = mistral.sample_flops(np.array(LENGTHS), convention="megatron", plan=plan, view="executed")
    assert sum(executed) == mistral.flops(lengths=LENGTHS, convention="megatron", plan=plan).executed_total
    with pytest.raises(floptally.Error, match="view: must be one of useful, padded, executed"):
        mistral.sample_flops(LENGTHS, view="usefull")


def test_every_sample_is_on_one_rank_and_loads_are_exact(mistral: floptally.Cost) -> None:
    costs = mistral.sample_flops(LENGTHS)
    for mode in ("equal_count", "free"):
        found = floptally.balance(costs, 4, mode=mode)
        assert sorted(sample for rank in found.ranks for sample in rank) == list(range(len(LENGTHS)))
        assert all(found.rank_of[sample] == rank for rank, own in enumerate(found.ranks) for sample in own)
        assert found.loads == [[sum(costs[sample] for sample in own)] for own in found.ranks]
        assert found.max_over_mean <= found.max_over_mean_before
        assert found.max_over_mean == pytest.approx(4 * max(load for (load,) in found.loads) / sum(costs))
        assert found.predicted_speedup >= 1 and found.moved >= 1
    assert [len(own) for own in floptally.balance(costs, 4).ranks] == [2, 2, 2, 2]
    assert "Assignment of 8 samples to 4 ranks" in repr(found)


def test_costs_beyond_64_bits_are_exact() -> None:
    found = floptally.balance([2**100, 2**100 + 1, 1, 0], 2)
    assert sorted(load for (load,) in found.loads) == [2**100 + 1, 2**100 + 1]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
def test_arrays_and_lists_give_the_same(dtype: Any) -> None:
    by_list = floptally.balance(LENGTHS, 2)
    by_array = floptally.balance(np.array(LENGTHS, dtype), 2)
    assert by_list.ranks == by_array.ranks and by_list.loads == by_array.loads
    with_fractions = floptally.balance([length + 0.5 for length in LENGTHS], 2)
    assert sum(load for (load,) in with_fractions.loads) == sum(LENGTHS) + 4


def test_several_loads_capacities_and_groups() -> None:
    rows = [[10, 0], [0, 10], [10, 0], [0, 10]]
    for costs in (rows, np.array(rows)):
        assert floptally.balance(costs, 2).loads == [[10, 10], [10, 10]]
    room = floptally.balance([5, 4, 3, 2], 2, mode="capacity", sizes=[9, 1, 1, 1], capacity=9)
    assert [0] in room.ranks
    tied = floptally.balance([5, 4, 3, 2], 2, mode="free", groups=[0, 0, 1, 2])
    assert tied.rank_of[0] == tied.rank_of[1]
    assert floptally.balance(LENGTHS, 2, seed="longest_first", budget=0).ranks


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, -1], 2), {}, "costs[1]: must be an integer from 0 to 2^128 - 1, got -1"),
        (([1, float("nan")], 2), {}, "costs[1]: must be finite and not negative"),
        ((np.array([1, -1]), 2), {}, "costs[1]: must not be negative, got -1"),
        ((np.array([1, 2], np.int16), 2), {}, "costs: must be int32, int64, uint32, uint64, float32 or float64"),
        ((np.zeros((2, 2, 2)), 2), {}, "costs: must have the shape [samples] or [samples, loads], got (2, 2, 2)"),
        (([[1, 2], [3]], 2), {}, "costs[1]: must have 2 loads as the samples before, got 1"),
        ((5, 2), {}, "costs: must be a list, an array or a tensor of numbers, got 5"),
        ((["a", "b"], 2), {}, "costs[0]: must be a number, got 'a'"),
        (([1, 2], 0), {}, "ranks: must be from 1 to 2147483647, got 0"),
        (([1, 2, 3], 2), {}, "ranks: must divide the 3 samples evenly for equal counts, got 2"),
        (([1, 2], 2), {"mode": "even"}, "mode: must be one of equal_count, free, capacity"),
        (([1, 2], 2), {"seed": "worst"}, "seed: must be one of best, longest_first, differencing"),
        (([1, 2], 2), {"mode": "capacity", "capacity": 5}, "sizes: must be one for each of 2 samples, got 0"),
        (([1, 2], 2), {"groups": [0, -1]}, "groups[1]: must not be negative or too large, got -1"),
    ],
)
def test_what_cannot_be_balanced_is_an_error(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(floptally.Error) as raised:
        floptally.balance(*arguments, **options)
    assert str(raised.value).startswith(message)
