# SPDX-License-Identifier: Apache-2.0
"""`python -m floptally` is the program floptally: what it prints, where, and its exit status."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

import floptally
from conftest import LLAMA_3_8B, SOURCE

CONFIG = str(SOURCE / "examples" / "data" / "mistral-7b-v0.1.json")
LENGTHS = str(SOURCE / "examples" / "data" / "man-pages.txt")


def run(*arguments: str, given: str = "", command: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(command or (sys.executable, "-m", "floptally")), *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )


COMMAND_LINES = [
    ["--version"],
    ["--help"],
    ["flops", "--help"],
    ["models"],
    ["models", "--format", "json"],
    ["accelerators"],
    ["accelerators", "--format", "json"],
    ["conventions"],
    ["conventions", "--format", "json"],
    ["flops", "--config", CONFIG, "--lengths", "512,1024"],
    ["flops", "--config", CONFIG, "--lengths-file", LENGTHS, "--format", "json"],
    ["flops", "--config", CONFIG, "--cu-seqlens", "0,512,1536", "--cu-seqlens-real", "0,512"],
    ["flops", "--config", CONFIG, "--cu-seqlens", "0,512,1536", "--cu-seqlens-padded", "0,512,1664", "--num-real-seqs=1"],
    ["flops", "--config", CONFIG, "--new-tokens", "1@500,3@20", "--convention", "verl", "--recompute", "full"],
    ["mfu", "--config", CONFIG, "--lengths", "8192", "--seconds", "0.5", "--gpus", "2", "--accelerator", "H100 SXM"],
    ["bytes", "--config", CONFIG, "--lengths", "512,1024", "--weight-bits", "8", "--format", "json"],
    ["bytes", "--config", CONFIG, "--new-tokens", "1@500", "--seconds", "1", "--gpus", "1", "--memory-tbps", "3"],
    ["mfu", "--config", CONFIG, "--lengths", "8192", "--seconds", "0.5", "--gpus", "2", "--peak-tflops", "500"],
    [],
    ["flop"],
    ["flops"],
    ["flops", "--config", CONFIG],
    ["flops", "--config", CONFIG, "--lengths", "5,x"],
    ["flops", "--config", CONFIG, "--lengths", "-5"],
    ["flops", "--config", "/no/such.json", "--lengths", "5"],
    ["flops", "--config", CONFIG, "--lengths", "5", "--weights", "*=frozen,*/q_proj=lora4", "--row-length", "8"],
    ["flops", "--config", CONFIG, "--lengths", "5", "--bogus"],
    ["flops", "--config", CONFIG, "--grid", "1,2,3"],
    ["mfu", "--config", CONFIG, "--lengths", "8192", "--seconds", "0", "--gpus", "2", "--peak-tflops", "500"],
    ["mfu", "--config", CONFIG, "--lengths", "8192", "--seconds", "1", "--gpus", "2"],
    ["flops", "--config", CONFIG, "--lengths", "5", "--convention", "\udcff\udcfe"],
]


@pytest.mark.parametrize("arguments", COMMAND_LINES, ids=" ".join)
def test_running_floptally_as_a_python_module_prints_the_same_as_the_cpp_program(program: str, arguments: list[str]) -> None:
    module = subprocess.run([sys.executable, "-m", "floptally", *arguments], capture_output=True, check=False)
    executable = subprocess.run([program, *arguments], capture_output=True, check=False)
    assert (module.returncode, module.stdout, module.stderr) == (
        executable.returncode,
        executable.stdout,
        executable.stderr,
    )


def test_the_command_flops_prints_the_result_of_the_function_flops() -> None:
    result = run("flops", "--config", CONFIG, "--lengths-file", LENGTHS, "--format", "json")
    assert (result.returncode, result.stderr) == (0, "")
    lengths = [int(word) for word in pathlib.Path(LENGTHS).read_text().replace(",", " ").split()]
    assert json.loads(result.stdout) == floptally.flops(CONFIG, lengths=lengths).to_dict()
    table = run("flops", "--config", CONFIG, "--lengths-file", LENGTHS)
    assert table.stdout == str(floptally.flops(CONFIG, lengths=lengths))


def test_the_command_mfu_prints_the_mfu_that_a_measured_breakdown_has() -> None:
    step = ["--seconds", "0.8", "--gpus", "2", "--accelerator", "NVIDIA H100 80GB HBM3"]
    result = run("mfu", "--config", CONFIG, "--lengths", "8192", *step, "--format", "json")
    work = floptally.flops(CONFIG, lengths=[8192]).measure(0.8, gpus=2, accelerator="NVIDIA H100 80GB HBM3")
    assert json.loads(result.stdout) == work.to_dict()


def test_the_command_line_program_reads_precisions_of_components_and_layers() -> None:
    step = ["--seconds", "0.8", "--gpus", "2", "--accelerator", "NVIDIA H100 80GB HBM3", "--format", "json"]
    arguments = run("mfu", "--config", CONFIG, "--lengths", "8192", *step, "--precisions", "mlp=fp8,@0-3=bf16")
    mfu = json.loads(arguments.stdout)["mfu"]
    useful = floptally.flops(CONFIG, lengths=[8192]).useful
    layers = floptally.cost(CONFIG).flops(lengths=[8192]).useful.components["mlp"].total / 32
    bf16, fp8 = (floptally.accelerator("H100 SXM").peak_tflops(name) for name in ("bf16", "fp8"))
    needed = (28 * layers / fp8 + (useful.total - 28 * layers) / bf16) / 1e12
    assert mfu["mixed_precision"]["useful"] == pytest.approx(needed / 1.6)
    assert mfu["mixed_precision"]["peak_tflops"] == pytest.approx(useful.total / 1e12 / needed)
    plain = run("mfu", "--config", CONFIG, "--lengths", "8192", *step)
    assert "mixed_precision" not in json.loads(plain.stdout)["mfu"]
    wrong = run("mfu", "--config", CONFIG, "--lengths", "8192", *step, "--precisions", "@0-32=fp8")
    assert wrong.stderr == "floptally: error: layers: must be a range of the 32 layers, got 0 to 33\n"


def test_the_command_line_program_reads_a_config_from_standard_input() -> None:
    result = run("flops", "--config", "-", "--lengths", "8192", "--format", "json", given=json.dumps(LLAMA_3_8B))
    assert json.loads(result.stdout)["flops"]["useful"]["total"] == "421651971833856"


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        (["flops", "--config", CONFIG, "--lengths", "5,-1"], "lengths[1]"),
        (["flops", "--config", CONFIG, "--cu-seqlens", "0,5,3"], "cu_seqlens[2]"),
        (["mfu", "--config", CONFIG, "--lengths", "5", "--seconds", "x", "--gpus", "1", "--peak-tflops", "1"], "seconds"),
        (["nonsense"], "command"),
    ],
)
def test_invalid_input_of_the_command_line_program_gives_exit_status_2_and_one_error_line(arguments: list[str], field: str) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith(f"floptally: error: {field}: ") and result.stderr.count("\n") == 1


def test_the_command_line_program_gives_exit_status_1_if_the_output_cannot_be_written() -> None:
    result = subprocess.run(
        f'"{sys.executable}" -m floptally models > /dev/full', shell=True, capture_output=True, text=True, check=False
    )
    assert result.returncode == 1
    assert result.stderr == "floptally: error: output: standard output cannot be written\n"


def test_output_that_python_printed_before_the_command_line_program_ran_comes_first() -> None:
    code = "import floptally.__main__ as m, sys; print('first'); sys.argv = ['', '--version']; sys.exit(m.main())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stdout == f"first\nfloptally {floptally.__version__}\n"


def test_the_installed_floptally_script_is_the_same_program_as_the_python_module() -> None:
    script = pathlib.Path(sys.executable).parent / "floptally"
    if not script.exists():
        pytest.skip("the package is not installed by pip: there is no script")
    result = run("--version", command=(os.fspath(script),))
    assert result.stdout == f"floptally {floptally.__version__}\n"
