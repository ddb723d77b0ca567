# SPDX-License-Identifier: Apache-2.0
"""A step by every convention, and whose number a dashboard shows: as C++ and the program have it."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest

import floptally
from conftest import SOURCE

CONFIG = SOURCE / "examples" / "data" / "mistral-7b-v0.1.json"
MODEL = floptally.cost(CONFIG)
BATCH: dict[str, Any] = {"lengths": [8192, 300], "row_length": 8192}


def test_terms_lead_to_exact_and_totals_are_those_of_flops() -> None:
    made = MODEL.compare(**BATCH)
    assert list(made.conventions) == [one.name for one in floptally.conventions()]
    assert made.exact == MODEL.total(**BATCH)
    for name, line in made.conventions.items():
        assert line.total == MODEL.total(convention=name, **BATCH), name  # type: ignore[arg-type]
        assert line.total + sum(line.terms.values()) == made.exact, name
    # 6 FLOPs for each weight of the look-up table, 32 000 x 4096, and token.
    assert made.conventions["palm"].terms["embedding"] == -6 * 32_000 * 4096 * 8492
    assert made.matches == [] and made.nearest is None


def test_it_is_what_the_program_prints() -> None:
    command = [sys.executable, "-m", "floptally", "compare", "--config", str(CONFIG), "--lengths", "8192,300",
               "--row-length", "8192", "--convention", "verl", "--observed", "55.5%", "--seconds", "2", "--gpus", "1",
               "--accelerator", "H100 SXM", "--recompute", "full"]  # fmt: skip
    made = MODEL.compare(
        convention="verl", observed="55.5%", seconds=2, gpus=1, accelerator="H100 SXM",
        plan=floptally.Plan(recompute="full"), **BATCH,
    )  # fmt: skip
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == str(made)
    text = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(text) == made.to_dict()
    assert list(made.conventions) == ["verl"]


def test_a_number_of_a_dashboard_is_found() -> None:
    verl = MODEL.total(convention="verl", **BATCH)
    step = MODEL.flops(convention="verl", **BATCH).measure(2.5, gpus=4, accelerator="H100 SXM")
    for observed in (f"{verl / 1e15:.3f}PFLOP", f"{step.tflops_per_gpu:.2f}TFLOP/s", f"{100 * step.mfu:.3f}%"):
        made = MODEL.compare(observed=observed, seconds=2.5, gpus=4, accelerator="H100 SXM", **BATCH)
        assert [(one.name, one.view) for one in made.matches] == [("verl", "useful"), ("verl_2026", "useful")], observed
        assert made.nearest is not None and made.nearest.total == verl
    padded = MODEL.flops(convention="palm", **BATCH)
    made = MODEL.compare(observed=f"{padded.padded_total / 1e15:.4f}PFLOP", **BATCH)
    assert [(one.name, one.view) for one in made.matches] == [("palm", "padded"), ("nanogpt", "padded")]
    assert "palm, padded" in str(made) and "<table>" in made._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observed": "402"}, 'observed: must be a number above 0 with its unit, .* got "402"'),
        ({"observed": "402TFLOP/s"}, "seconds: is missing"),
        ({"observed": "40%", "seconds": 1, "gpus": 1}, "peak_tflops: is missing"),
        ({"convention": "mine"}, "convention"),
    ],
)
def test_what_is_missing_or_wrong_is_named(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(floptally.Error) as problem:
        MODEL.compare(**arguments, **BATCH)
    assert re.search(message, str(problem.value))


@pytest.mark.parametrize(
    "grids", [{"pixels": [(1, 64, 32), (1, 128, 16)]}, {"grid_thw": [(1, 4, 4), (1, 2, 3)], "condition_grid_thw": [(1, 2, 2), (1, 1, 3)]}]
)
def test_pictures_are_compared_as_flops_counts_them(grids: dict[str, Any]) -> None:
    model = floptally.cost({"_class_name": "FluxTransformer2DModel", "num_layers": 1, "num_single_layers": 1})
    made = model.compare(encoder_lengths=[7, 5], **grids)
    assert made.exact == model.total(encoder_lengths=[7, 5], **grids) > 0
    for name, line in made.conventions.items():
        assert line.total == model.total(convention=name, encoder_lengths=[7, 5], **grids), name  # type: ignore[arg-type]


def log_of(total: int, steps: int = 20) -> str:
    """Lines of Megatron-LM, of steps of 64 of such batches on eight GPUs, each of another speed."""
    lines = ["building the model"]
    for step in range(steps):
        seconds = 4 + 0.137 * step
        rate = total * 64 / seconds / 8 / 1e12
        lines.append(f" iteration {step}/20 | elapsed time per iteration (ms): {1000 * seconds:.1f} | throughput per GPU "
                     f"(TFLOP/s/GPU): {rate:.1f} | global batch size: {64 * 2:5d} | lm loss: 1.9E+00 |")  # fmt: skip
    return "\n".join(lines)


def test_a_log_is_of_the_convention_that_gives_its_lines(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log_of(MODEL.total(convention="palm", **BATCH)))
    made = MODEL.compare(log=path, gpus=8, **BATCH)
    assert [(one.name, one.lines) for one in made.matches] == [("palm", 20), ("nanogpt", 20)]
    mean = sum(64 * made.exact / (4 + 0.137 * step) / 8 / 1e12 for step in range(20)) / 20
    assert made.exact_tflops_per_gpu == pytest.approx(mean, rel=0.2)
    seconds = sum(4 + 0.137 * step for step in range(20))
    assert made.exact_tflops_per_gpu == pytest.approx(20 * 64 * made.exact / seconds / 8 / 1e12, rel=1e-6)
    command = [sys.executable, "-m", "floptally", "compare", "--config", str(CONFIG), "--lengths", "8192,300",
               "--row-length", "8192", "--log", str(path), "--gpus", "8"]  # fmt: skip
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == str(made)
    assert "palm, useful:" in str(made) and "20 of 20 lines" in str(made) and "exactly" in str(made)


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        ({"gpus": 8}, "nothing\n", "log: has no line with a rate among 1"),
        ({}, "seconds: 1, TFLOP/s/device: 3", "gpus: is missing"),
        ({"gpus": 8, "seconds": 3}, "", "log: says rates and seconds itself"),
        ({"gpus": 8, "observed": "3TFLOP/s"}, "", "log: says rates and seconds itself"),
    ],
)
def test_a_log_that_says_nothing_is_an_error(
    tmp_path: pathlib.Path, arguments: dict[str, Any], text: str, message: str
) -> None:
    path = tmp_path / "train.log"
    path.write_text(text)
    with pytest.raises(floptally.Error, match=message):
        MODEL.compare(log=path, **arguments, **BATCH)
    with pytest.raises(floptally.Error, match="log: cannot read"):
        MODEL.compare(log=tmp_path / "absent", gpus=8, **BATCH)
