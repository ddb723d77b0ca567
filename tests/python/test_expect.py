# SPDX-License-Identifier: Apache-2.0
"""floptally.expect: what the program prints, and where a run's own MFU stands among published runs."""

from __future__ import annotations

import json
import pickle
import statistics
import subprocess
import sys
from typing import Any

import pytest

import floptally
from conftest import SOURCE

CONFIG = str(SOURCE / "examples" / "data" / "mistral-7b-v0.1.json")
H100: dict[str, Any] = {"lengths": [8192], "accelerator": "H100 SXM", "gpus": 8}


def printed(*arguments: str) -> str:
    command = [sys.executable, "-m", "floptally", "expect", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_function_expect_gives_the_output_of_the_command_line_program() -> None:
    found = floptally.expect(CONFIG, **H100, mfu=0.41, nearest=7)
    options = ["--config", CONFIG, "--lengths", "8192", "--accelerator", "H100 SXM", "--gpus", "8", "--mfu", "41%", "--nearest", "7"]
    assert str(found) == printed(*options)
    assert found.to_dict() == json.loads(printed(*options, "--format", "json"))


def test_the_function_published_runs_returns_the_whole_table_of_the_command_line_program() -> None:
    everything = floptally.published_runs()
    assert everything.to_dict() == json.loads(printed("--all", "--format", "json"))
    assert all(run.distance is None for run in everything.runs)
    table = json.loads((SOURCE / "examples" / "data" / "published_runs.json").read_text())
    assert len(everything.runs) + len(everything.to_dict()["unread"]) == len(table["runs"])


def test_the_function_expect_counts_the_published_runs_below_the_mfu_of_the_user() -> None:
    found = floptally.expect(floptally.cost(CONFIG), **H100, mfu=0.41, nearest=30)
    mfus = [run.mfu for run in found.runs]
    assert found.below == sum(mfu < 0.41 for mfu in mfus)
    assert found.quantile == found.below / 30
    assert found.median == pytest.approx(statistics.median(mfus))
    assert found.low < found.median < found.high
    distances = [run.distance for run in found.runs]
    assert distances == sorted(distances)  # type: ignore[type-var]
    without = floptally.expect(CONFIG, **H100)
    assert without.below is None and without.quantile is None and len(without.runs) == 20


def test_the_function_expect_finds_a_published_run_as_the_nearest_run_to_itself() -> None:
    table = json.loads((SOURCE / "examples" / "data" / "published_runs.json").read_text())
    for name, accelerator, precision, length, gpus in (
        ("Qwen3 235B-A22B", "GB300", "fp8", 4096, 256),
        ("MPT 13B", "A100 SXM", "bf16", 2048, 64),
        ("Nemotron-H 56B", "H100 SXM", "fp8", 8192, 64),
    ):
        found = floptally.expect(
            table["models"][name]["config"], lengths=[length], accelerator=accelerator, precision=precision, gpus=gpus, nearest=1
        )
        (nearest,) = found.runs
        assert (nearest.model, nearest.accelerator, nearest.precision) == (name, accelerator, precision)
        assert nearest.distance == 0


def test_a_mixture_of_experts_model_is_nearer_to_other_mixture_of_experts_models_than_to_dense_models_of_equal_work() -> None:
    config = {"model_type": "qwen3_moe", "architectures": ["Qwen3MoeForCausalLM"], "vocab_size": 151936, "hidden_size": 2048,
              "intermediate_size": 6144, "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
              "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8}  # fmt: skip
    found = floptally.expect(config, lengths=[4096], accelerator="B200", precision="fp8", nearest=5)
    assert {run.kind for run in found.runs} == {"MoE"}
    assert {run.marks for run in found.runs} == {("forced balance",)}
    assert all(not run.marks for run in floptally.expect(config, lengths=[4096], accelerator="B200", unmarked=True).runs)


def test_the_result_of_the_function_expect_can_be_pickled_and_has_a_readable_repr() -> None:
    found = floptally.expect(CONFIG, **H100, nearest=3)
    again = pickle.loads(pickle.dumps(found))
    assert again.to_json() == found.to_json() and again.runs == found.runs
    assert repr(found).startswith("<Expectation of 3 runs: median MFU ")
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mfu": 41}, "mfu: must be a fraction above 0 and at most 1, such as 0.4, got 41"),
        ({"mfu": 0}, "mfu: must be a fraction above 0"),
        ({"nearest": 0}, "nearest: must be"),
        ({"gpus": 0}, "gpus: must be"),
        ({"accelerator": "H10"}, "accelerator: "),
        ({"accelerator": None}, "accelerator: is missing"),
        ({"accelerator": "A100 SXM", "precision": "fp8"}, "precision: A100 SXM has no published fp8 rate"),
        ({"lengths": []}, "lengths: must have text tokens"),
    ],
)
def test_invalid_input_of_the_function_expect_is_an_error(change: dict[str, Any], message: str) -> None:
    with pytest.raises(floptally.Error) as problem:
        floptally.expect(CONFIG, **{**H100, **change})
    assert str(problem.value).startswith(message)


def test_the_function_expect_raises_an_error_for_an_unknown_model_type() -> None:
    with pytest.raises(floptally.Error, match="model_type"):
        floptally.expect({"model_type": "no_such_type"}, **H100)


def test_contradicting_options_of_the_function_expect_are_errors() -> None:
    for options, message in (
        (["--all", "--mfu", "40%"], "mfu: is about one run, but --all shows every run"),
        (["--config", CONFIG, "--lengths", "512"], "accelerator: is missing"),
        (["--config", CONFIG, "--lengths", "512", "--accelerator", "H100 SXM", "--seconds", "1", "--gpus", "1", "--mfu", "40%"],
         "mfu: is passed, but --seconds also determines"),
    ):  # fmt: skip
        command = [sys.executable, "-m", "floptally", "expect", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith(f"floptally: error: {message}")


def test_the_function_expect_computes_the_mfu_of_a_user_run_from_the_measured_step_time() -> None:
    step = ["--config", CONFIG, "--lengths", "8192", "--accelerator", "H100 SXM", "--gpus", "1", "--seconds", "1"]
    own = json.loads(printed(*step, "--format", "json"))["own"]["mfu"]
    assert own == pytest.approx(floptally.cost(CONFIG).flops(lengths=[8192]).total / 989e12)


def test_tables_on_the_docs_page_about_expected_mfu_equal_the_data_of_published_runs() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    done = subprocess.run([sys.executable, "-B", SOURCE / "examples/expect_page.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
