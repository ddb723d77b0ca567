# SPDX-License-Identifier: Apache-2.0
"""Costs and states of meters as files."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time
from typing import Any

import pytest

import floptally
from conftest import SOURCE, golden
from floptally import Mask, Meter, Plan, WeightSetting, _traced_entries

MISTRAL = SOURCE / "examples" / "data" / "mistral-7b-v0.1.json"


def counted() -> floptally.Cost:
    """A cost as from_torch makes it, with masks of its own and a plan."""
    rows = [
        ("mixer", "tokens", "linear", 200, 100),
        ("mixer", _traced_entries.tokens_after(3), "linear", 12, 7),
        ("state", _traced_entries.in_chunks("chunks of 16"), "state", 64, 0),
        ("state", _traced_entries.in_chunks("later chunks of 16"), "state", 32, 0),
        ("core", Mask.sliding_window(100), "scores", 16, 0),
        ("once", Mask.measured("passes"), "linear", 5, 0),
    ]
    result = floptally.Cost.from_entries(rows, model_type="Mixer", notes=["fitted"])  # type: ignore[arg-type]
    return result.planned(Plan(recompute_components=["mixer"]))


@pytest.mark.parametrize("name", ["counted", "config"])
def test_a_saved_cost_equals_the_original_after_loading(name: str, tmp_path: pathlib.Path) -> None:
    cost = counted() if name == "counted" else floptally.cost(MISTRAL).planned(
        Plan(recompute="full", weights=[WeightSetting("*", "frozen"), WeightSetting("mlp", "lora", rank=3)])
    )  # fmt: skip
    path = tmp_path / "model.cost"
    cost.save(path)
    read = floptally.Cost.load(path)
    assert read == cost and read.notes == cost.notes and read.model_type == cost.model_type
    measured = {"measured": {"passes": 2}} if name == "counted" else {}
    for lengths in ([7], [40, 333]):
        for convention in ("exact", "torch_flop_counter"):
            one, other = (
                each.flops(lengths=lengths, convention=convention, **measured).to_dict()  # type: ignore[arg-type]
                for each in (cost, read)
            )
            assert one == other


def test_another_process_loads_a_saved_cost_in_a_millisecond(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.cost"
    counted().save(path)
    code = f"import floptally; print(floptally.Cost.load({str(path)!r}).total_flops(lengths=[40], measured={{'passes': 1}}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) == counted().total_flops(lengths=[40], measured={"passes": 1})
    seconds = []
    for _ in range(9):
        began = time.process_time()
        floptally.Cost.load(path)
        seconds.append(time.process_time() - began)
    assert sorted(seconds)[4] < 0.003


def test_an_invalid_saved_cost_is_an_error(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.cost"
    counted().save(path)
    whole = path.read_bytes()
    for broken in (whole[:-9], b"", b"[]", b"{}", whole.replace(b"mixer", b"mixes"), whole.replace(b"200", b"201")):
        path.write_bytes(broken)
        with pytest.raises(floptally.Error, match="path: .*(is not a file of Cost.save|was changed after Cost.save wrote)"):
            floptally.Cost.load(path)
    found = json.loads(whole)
    path.write_text(json.dumps({**found, "numbers_version": found["numbers_version"] + 1}))
    with pytest.raises(floptally.Error, match="numbers_version: "):
        floptally.Cost.load(path)
    with pytest.raises(floptally.Error, match="path: cannot read"):
        floptally.Cost.load(tmp_path / "absent")


def test_a_cost_saved_by_version_0_2_is_read_and_counts_the_same() -> None:
    cost = floptally.Cost.load(SOURCE / "tests" / "golden" / "cost_0_2.json")
    plan = Plan(recompute_components=["mixer"], weights=[WeightSetting("once", "frozen")])
    assert cost == counted().planned(plan)
    work = cost.flops(lengths=[40, 333], measured={"passes": 2})
    assert (work.total, work.executed_total) == (1_643_912, 2_189_636)


def require_numbers(meter: Meter, expected: dict[str, Any]) -> None:
    """Compares a meter with the numbers that floptally 0.2 gave for the same run."""
    run, goodput = meter.run, meter.goodput
    assert (run.steps, run.tokens, run.padded_tokens, run.samples) == tuple(
        expected[key] for key in ("steps", "tokens", "padded_tokens", "samples")
    )
    for view in ("useful", "padded", "executed"):
        assert str(getattr(run, view)) == expected[view]
    assert (run.seconds, run.gpu_seconds) == (expected["seconds"], expected["gpu_seconds"])
    assert (run.percentile(50), run.max_step_seconds) == (expected["p50"], expected["max_step_seconds"])
    assert run.tally.get("tokens", tower="vision") == expected["vision_tokens"]
    assert run.tally.get("tokens", tower="audio") == expected["audio_tokens"]
    pairs = {each.name: [run.tally.pairs(each), run.tally.pairs(each, "padded")] for each in run.tally.masks}
    assert pairs == expected["pairs"]
    assert (goodput.wall_seconds, goodput.spent) == (expected["wall_seconds"], expected["spent"])
    assert goodput.rest_seconds == expected["rest_seconds"]
    rates = (run.mfu, run.hfu, goodput.step_share, goodput.mfu)
    assert rates == pytest.approx([expected[key] for key in ("mfu", "hfu", "goodput", "goodput_mfu")], rel=1e-12)


@pytest.mark.parametrize("load", ["load", "load_state_dict"])
def test_a_meter_state_saved_by_version_0_2_is_loaded_and_the_run_continues(load: str) -> None:
    expected = golden("meter_state_0_2_numbers.json")
    cost = floptally.cost(expected["config"]).keep(Mask.measured(expected["measured"]))
    now = [expected["loaded_at"]]
    meter = Meter(
        cost, gpus=expected["gpus"], counted="all_gpus", peak_tflops=expected["peak_tflops"],
        plan=Plan(recompute=expected["recompute"]),
    )  # fmt: skip
    meter.begin_run(clock=lambda: now[0])
    if load == "load":
        meter.load(SOURCE / "tests" / "golden" / "meter_state_0_2.json")
    else:
        meter.load_state_dict(golden("meter_state_0_2.json"))
    require_numbers(meter, expected["loaded"])
    following = expected["next"]
    now[0] += following["ends_after"]
    with meter.step(following["seconds"]):
        meter.add(
            **{key: following[key] for key in ("lengths", "grid_thw", "audio_frames")},
            measured={expected["measured"]: tuple(following["measured"])},
        )
    require_numbers(meter, expected["after"])
