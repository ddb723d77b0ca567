# SPDX-License-Identifier: Apache-2.0
"""Samples to ranks, with the costs that MFU has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import floptally

LENGTHS = [100, 9000, 512, 512, 40, 8192, 3000, 7]


def test_flops_of_single_samples_add_up_to_the_flops_of_the_batch(mistral: floptally.Cost) -> None:
    costs = mistral.sample_flops(LENGTHS)
    assert costs == [mistral.flops(lengths=[length]).total for length in LENGTHS]
    assert sum(costs) == mistral.flops(lengths=LENGTHS).total
    plan = floptally.Plan(recompute="full")
    executed = mistral.sample_flops(np.array(LENGTHS), convention="megatron", plan=plan, view="executed")
    assert sum(executed) == mistral.flops(lengths=LENGTHS, convention="megatron", plan=plan).executed_total
    with pytest.raises(floptally.Error, match="view: must be one of useful, padded, executed"):
        mistral.sample_flops(LENGTHS, view="usefull")


def test_balance_assigns_every_sample_to_one_rank_and_the_load_of_a_rank_is_the_exact_sum_of_its_sample_costs(mistral: floptally.Cost) -> None:
    costs = mistral.sample_flops(LENGTHS)
    for mode in ("equal_count", "free"):
        found = floptally.balance(costs, 4, mode=mode)
        assert sorted(sample for rank in found.ranks for sample in rank) == list(range(len(LENGTHS)))
        assert all(found.rank_of[sample] == rank for rank, own in enumerate(found.ranks) for sample in own)
        assert found.loads == [sum(costs[sample] for sample in own) for own in found.ranks]
        (before,), (after,) = found.report["before"], found.report["after"]
        assert after["max_over_mean"] <= before["max_over_mean"]
        assert after["max_over_mean"] == pytest.approx(4 * max(found.loads) / sum(costs))
        assert (after["largest"], after["smallest"]) == (max(found.loads), min(found.loads))
        assert before["largest"] == max(sum(costs[2 * rank : 2 * rank + 2]) for rank in range(4))
        assert found.report["predicted_speedup"] == pytest.approx(before["largest"] / after["largest"])
        assert found.report["samples"] == len(LENGTHS)
        assert found.report["moved"] == sum(rank != sample // 2 for sample, rank in enumerate(found.rank_of))
    assert [len(own) for own in floptally.balance(costs, 4).ranks] == [2, 2, 2, 2]
    assert "Assignment of 8 samples to 4 ranks" in repr(found)


def test_balance_handles_sample_costs_above_64_bits_exactly() -> None:
    found = floptally.balance([2**100, 2**100 + 1, 1, 0], 2)
    assert sorted(found.loads) == [2**100 + 1, 2**100 + 1]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64])
def test_balance_assigns_samples_to_the_same_ranks_from_numpy_arrays_and_from_lists_of_costs(dtype: Any) -> None:
    by_list = floptally.balance(LENGTHS, 2)
    by_array = floptally.balance(np.array(LENGTHS, dtype), 2)
    assert by_list == by_array and by_list.loads == by_array.loads
    with_fractions = floptally.balance([length + 0.5 for length in LENGTHS], 2)
    assert sum(with_fractions.loads) == sum(LENGTHS) + 4


def test_balance_respects_capacities_and_groups_and_accepts_several_costs_per_sample() -> None:
    rows = [[10, 0], [0, 10], [10, 0], [0, 10]]
    for costs in (rows, np.array(rows)):
        assert floptally.balance(costs, 2).loads == [(10, 10), (10, 10)]
    room = floptally.balance([5, 4, 3, 2], 2, mode="capacity", sizes=[9, 1, 1, 1], capacity=9)
    assert [0] in [list(own) for own in room.ranks]
    tied = floptally.balance([5, 4, 3, 2], 2, mode="free", groups=[0, 0, 1, 2])
    assert tied.rank_of[0] == tied.rank_of[1]
    assert floptally.balance(LENGTHS, 2, seed="longest_first", budget=0).ranks != []


def test_balance_finds_the_optimal_assignment_of_a_few_samples_and_marks_it_optimal() -> None:
    # 16 numbers whose sum is even, and can be halved.
    costs = [8294, 2823, 5056, 4479, 2815, 6598, 6923, 8122, 4753, 1513, 1689, 2611, 8746, 3983, 3723, 2473]
    found = floptally.balance(costs, 2)
    assert max(found.loads) == 37301 == -(-sum(costs) // 2)
    assert found.is_optimum
    assert not floptally.balance(costs, 2, budget=0).is_optimum
    many = [(number * number) % 10_007 for number in range(1, 401)]
    fine, rough = (max(floptally.balance(many, 8, fineness=fineness).loads) for fineness in (0, 4))
    assert -(-sum(many) // 8) <= fine < rough
    with pytest.raises(floptally.Error, match="^fineness: must be an integer from 0"):
        floptally.balance(costs, 2, fineness=-1)


def test_balance_reproduces_the_published_example_of_megatron_mimo() -> None:
    # As in tests/balance/balance.test.cpp: receipts of four sizes, in patches.
    sizes = {"a": 5848, "b": 1564, "c": 2976, "d": 2016}
    patches = [sizes[kind] for kind in "aabccccccaadcacccdbacdabaabddaad"]
    assert (len(patches), sum(patches)) == (32, 115416)
    found = floptally.balance(patches, 4)
    assert round(found.report["before"][0]["max_over_min"], 2) == 1.27
    assert found.report["after"][0]["max_over_min"] <= 1.07
    assert 18 <= found.report["moved"] <= 24
    # Nothing costs anything: every sample stays where it is.
    nothing = floptally.balance([0.0] * 32, 4)
    assert (nothing.report["moved"], nothing.report["after"][0]["max_over_min"]) == (0, 1.0)
    assert list(nothing.rank_of) == [sample // 8 for sample in range(32)]


def test_component_costs_in_sample_loads_are_scaled_by_factors_that_the_caller_passes() -> None:
    cost = floptally.Cost.from_entries(
        [
            floptally.Entry("vision.mlp", "tokens", "linear", 7, 1, tower="vision"),
            ("mlp", "tokens", "linear", 5, 1),
            ("lm_head", "tokens", "lm_head", 3, 1),
        ]
    )
    samples = []
    for patches, tokens in ((4, 90), (64, 20), (16, 50), (36, 10)):
        one = floptally.Tally(cost)
        one.add_lengths([tokens])
        one.add_grid_thw([(1, patches, 1)])
        samples.append(one)
    work = [cost.flops(tally=one).useful.components for one in samples]
    vision = [one["vision.mlp"].total for one in work]
    text = [one["mlp"].total + one["lm_head"].total for one in work]
    assert cost.sample_loads(samples, [("*", 0, 5), ("vision.*", 0, 2)]) == [
        [5 * t + 2 * v] for t, v in zip(text, vision, strict=True)
    ]
    both = cost.sample_loads(samples, [("*", 0), ("vision.*", 1)])
    assert both == [[t, v] for t, v in zip(text, vision, strict=True)]
    assert floptally.balance(both, 2).loads
    assert cost.sample_loads(samples, [("*", 0, 0), ("vision.*", 0)]) == [[v] for v in vision]
    with pytest.raises(floptally.Error, match='^loads: have no pattern that matches the component "mlp"'):
        cost.sample_loads(samples, [("vision.*", 0)])
    wrong: list[Any] = [5, ("*",), ("*", -1), (5, 0), ("*", 0, 1, 2)]
    for load in wrong:
        with pytest.raises(floptally.Error, match=r"^loads\[1\](\[0\])?: must be"):
            cost.sample_loads(samples, [("*", 0), load])


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([1, -1], 2), {}, "costs[1]: must be an integer from 0 to 2^128 - 1, got -1"),
        (([1, float("nan")], 2), {}, "costs[1]: must be finite and not negative"),
        ((np.array([1, -1]), 2), {}, "costs[1]: must not be negative, got -1"),
        ((np.array([1, 2], np.int16), 2), {}, "costs: must be int32, int64, uint32, uint64, float32 or float64"),
        ((np.zeros((2, 2, 2)), 2), {}, "costs: must have shape (samples,) or (samples, loads), got (2, 2, 2)"),
        (([[1, 2], [3]], 2), {}, "costs[1]: must have 2 loads, as the first sample has, got 1"),
        ((5, 2), {}, "costs: must be a list, an array or a tensor of numbers, got 5"),
        ((["a", "b"], 2), {}, "costs[0]: must be a number, got 'a'"),
        (([1, 2], 0), {}, "ranks: must be from 1 to 2147483647, got 0"),
        (([1, 2, 3], 2), {}, "ranks: must divide the 3 samples evenly for equal counts, got 2"),
        (([1, 2], 2), {"mode": "even"}, "mode: must be one of equal_count, free, capacity"),
        (([1, 2], 2), {"seed": "worst"}, "seed: must be one of best, longest_first, differencing"),
        (([1, 2], 2), {"mode": "capacity", "capacity": 5}, "sizes: must be one for each of 2 samples, got 0"),
        (([1, 2], 2), {"groups": [0, -1]}, "groups[1]: must be from 0 to 4294967295, got -1"),
    ],
)
def test_an_impossible_balance_request_is_an_error_that_names_the_field(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(floptally.Error) as raised:
        floptally.balance(*arguments, **options)
    assert str(raised.value).startswith(message)
