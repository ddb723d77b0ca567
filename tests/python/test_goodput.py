# SPDX-License-Identifier: Apache-2.0
"""MFU over the wall clock of a run, over its restarts."""

from __future__ import annotations

import json
from typing import Any

import floptally
import pytest


def meter_of(llama: floptally.Cost, clock: Any) -> floptally.Meter:
    meter = floptally.Meter(llama, gpus=8, counted="all_gpus", accelerator="H100 SXM")
    meter.begin_run(clock=clock)
    return meter


def test_goodput_of_a_resumed_run_includes_the_time_of_both_processes(llama: floptally.Cost) -> None:
    now = [1_000.0]
    meter = meter_of(llama, lambda: now[0])
    now[0] += 30  # it compiles, and nobody says so
    for _ in range(4):
        with meter.step(2.0):
            meter.add(lengths=[4096])
        now[0] += 2
    meter.spend("evaluation", 5)
    now[0] += 5
    state = json.dumps(meter.state_dict())
    with meter.step(2.0):  # a step that the next process does not have
        meter.add(lengths=[4096])
    now[0] += 2 + 100  # and 100 seconds until it is there again
    other = meter_of(llama, lambda: now[0])
    other.load_state_dict(json.loads(state))
    now[0] += 10
    with other.step(2.0):
        other.add(lengths=[4096])
    now[0] += 2
    found = other.goodput
    assert found.wall_seconds == pytest.approx(30 + 8 + 5 + 102 + 10 + 2)
    assert found.step_seconds == pytest.approx(10)
    assert found.spent == {"evaluation": 5.0, "restart": pytest.approx(102)}
    assert found.rest_seconds == pytest.approx(40)
    assert found.step_share == pytest.approx(10 / 157)
    peak = 8 * other.peak_tflops * 1e12
    assert found.mfu == pytest.approx(other.run.useful / 157 / peak)
    scalars = other.scalars("run")
    assert scalars["train/goodput_pct"] == pytest.approx(100 * 10 / 157)
    assert scalars["train/mfu_wall_pct"] == pytest.approx(100 * found.mfu)
    assert "train/goodput_pct" not in other.scalars("interval")
    assert 'floptally_spent_seconds_total{on="restart"} 102' in other.to_open_metrics()


def test_goodput_counts_the_time_of_a_timed_block_even_if_the_block_raises(llama: floptally.Cost) -> None:
    meter = floptally.Meter(llama, gpus=1, accelerator="H100 SXM")
    meter.begin_run()
    with pytest.raises(OSError), meter.spending("checkpoint"):
        raise OSError
    with meter.spending("checkpoint"):
        pass
    found = meter.goodput
    assert 0 <= found.spent["checkpoint"] <= found.wall_seconds and found.mfu == 0 and found.step_share == 0


def test_goodput_of_a_meter_cannot_be_read_before_the_run_has_begun(llama: floptally.Cost) -> None:
    meter = floptally.Meter(llama, gpus=1, accelerator="H100 SXM")
    with pytest.raises(floptally.Error, match="^run: has not begun"):
        meter.goodput  # noqa: B018
    with pytest.raises(floptally.Error, match="^run: has not begun"):
        meter.spend("data", 1.0)
    assert "account" not in meter.state_dict()
    meter.begin_run()
    with pytest.raises(floptally.Error, match="^run: has begun already"):
        meter.begin_run()
    with pytest.raises(floptally.Error, match="^seconds: must be finite and at least 0"):
        meter.spend("data", float("nan"))
    later = floptally.Meter(llama, gpus=1, accelerator="H100 SXM")
    later.begin_run(clock=lambda: 5.0)
    with pytest.raises(floptally.Error, match="^saved_at: is later than the start of this process"):
        later.load_state_dict(meter.state_dict())
