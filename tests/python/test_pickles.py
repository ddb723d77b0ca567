# SPDX-License-Identifier: Apache-2.0
"""Layouts, scopes and exchanges travel between processes."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import floptally
import pytest

LAYOUTS = [
    floptally.ParallelLayout(rank=0),
    floptally.ParallelLayout(rank=13, dp=4, cp=2, tp=2, pp=2, vpp=3, ep=4, etp=1),
    floptally.ParallelLayout(rank=5, dp=4, tp=2, dp_replicate=2, order="tp-dp-ep-cp-pp", world_size=8),
    floptally.ParallelLayout(rank=3, layout="attn:d1p1t2c4|ffn:d1p1t1e8"),
]


@pytest.mark.parametrize("way", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_layouts_and_scopes_and_exchange_plans_and_groups_can_be_pickled(way: Any) -> None:
    for layout in LAYOUTS:
        again = way(layout)
        assert again == layout and (again.rank, again.world_size, again.sizes) == (layout.rank, layout.world_size, layout.sizes)
        assert (again.order, again.expert_order, again.coordinates) == (layout.order, layout.expert_order, layout.coordinates)
    scopes = [floptally.Scope(name) for name in ("microbatch", "context_slice", "first_stage", "last_stage", "own_routers")]
    scopes += [floptally.Scope("microbatch", tp="first", virtual_stages="sharded"), scopes[0].trusting_replicas()]
    for scope in scopes:
        assert way(scope) == scope and repr(way(scope)) == repr(scope)
    for sizes in ([3, 0, 5, 9], [4] * 4):
        plan = floptally.ExchangePlan([0, 0, 1, 1], [3, 1, 0, 2], sizes, 2, bytes_per_element=4, window=2)
        again = way(plan)
        assert again == plan and again.window == 2 and again.sizes.tolist() == plan.sizes.tolist() == [4 * size for size in sizes]
        assert repr(again.for_rank(1, 0)) == repr(plan.for_rank(1, 0))
    for dp_sizes in ([1], [2, 3], [8, 4, 6]):
        groups = floptally.CanonicalGroups(dp_sizes)
        again = way(groups)
        assert again.size == groups.size
        assert all(again.groups_of(place, size - 1) == groups.groups_of(place, size - 1) for place, size in enumerate(dp_sizes))


@pytest.mark.parametrize("way", [lambda value: pickle.loads(pickle.dumps(value)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_pickled_totals_of_a_meter_keep_counts_and_rates_and_percentiles(llama: floptally.Cost, way: Any) -> None:
    meter = floptally.Meter(llama, gpus=2, peak_tflops=989, counted="all_gpus")
    other = floptally.Meter(llama, gpus=1, peak_tflops=312)
    for lengths, seconds in (([5, 900], 1.0), ([7], 0.25), ([1], 3.5)):
        for each in (meter, other):
            with each.step(seconds):
                each.add(lengths=lengths, row_length=1024)
    names = [name for name in dir(floptally.Totals) if not name.startswith("_") and name not in ("percentile", "tally")]
    assert len(names) > 20
    for totals in (meter.run, meter.interval, meter.last_step, other.run, floptally.Meter(llama, gpus=1, peak_tflops=312).run):
        again = way(totals)
        assert type(again) is floptally.Totals and repr(again) == repr(totals) and again.tally == totals.tally
        for name in names:
            try:
                expected = getattr(totals, name)
            except floptally.Error as error:  # a single step has no percentiles, and no steps have no rates
                with pytest.raises(floptally.Error) as raised:
                    getattr(again, name)
                assert str(raised.value) == str(error)
            else:
                assert getattr(again, name) == expected
    assert [way(meter.run).percentile(percent) for percent in (1, 50, 99)] == [meter.run.percentile(percent) for percent in (1, 50, 99)]
    assert way(meter.run).max_step_seconds == 3.5
