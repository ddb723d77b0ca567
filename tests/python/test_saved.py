# SPDX-License-Identifier: Apache-2.0
"""Costs as files."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time

import pytest

import floptally
from conftest import SOURCE
from floptally import Mask, Plan, WeightSetting, _torch_rows

MISTRAL = SOURCE / "examples" / "data" / "mistral-7b-v0.1.json"


def counted() -> floptally.Cost:
    """A cost as from_torch makes it, with masks of its own and a plan."""
    rows = [
        ("mixer", "tokens", "linear", 200, 100),
        ("mixer", _torch_rows.tokens_after(3), "linear", 12, 7),
        ("state", _torch_rows.in_chunks("chunks of 16"), "state", 64, 0),
        ("state", _torch_rows.in_chunks("later chunks of 16"), "state", 32, 0),
        ("core", Mask.sliding_window(100), "scores", 16, 0),
        ("once", Mask.measured("passes"), "linear", 5, 0),
    ]
    made = floptally.Cost.from_rows(rows, model_type="Mixer", notes=["fitted"])  # type: ignore[arg-type]
    return made.planned(Plan(recompute_components=["mixer"]))


@pytest.mark.parametrize("name", ["counted", "config"])
def test_a_cost_is_read_as_it_was_written(name: str, tmp_path: pathlib.Path) -> None:
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


def test_another_process_reads_it_in_a_millisecond(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.cost"
    counted().save(path)
    code = f"import floptally; print(floptally.Cost.load({str(path)!r}).total(lengths=[40], measured={{'passes': 1}}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(ran.stdout) == counted().total(lengths=[40], measured={"passes": 1})
    seconds = []
    for _ in range(9):
        began = time.process_time()
        floptally.Cost.load(path)
        seconds.append(time.process_time() - began)
    assert sorted(seconds)[4] < 0.003


def test_what_is_no_saved_cost_is_refused(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.cost"
    counted().save(path)
    whole = path.read_bytes()
    for broken in (whole[:-9], b"", b"[]", b"{}", whole.replace(b"mixer", b"mixes"), whole.replace(b"200", b"201")):
        path.write_bytes(broken)
        with pytest.raises(floptally.Error, match="path: .*(no cost that|is not as) Cost.save wrote"):
            floptally.Cost.load(path)
    found = json.loads(whole)
    path.write_text(json.dumps({**found, "numbers_version": found["numbers_version"] + 1}))
    with pytest.raises(floptally.Error, match="numbers_version: "):
        floptally.Cost.load(path)
    with pytest.raises(floptally.Error, match="path: cannot read"):
        floptally.Cost.load(tmp_path / "absent")
