# SPDX-License-Identifier: Apache-2.0
"""`--unit macs`: reports for people whose tables are in multiply-accumulates, of two FLOPs each."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

import floptally
from conftest import LLAMA_3_8B

RESNET_50: dict[str, Any] = {
    "model_type": "resnet", "architectures": ["ResNetForImageClassification"], "num_channels": 3, "embedding_size": 64,
    "hidden_sizes": [256, 512, 1024, 2048], "depths": [3, 4, 6, 3], "layer_type": "bottleneck",
    "downsample_in_first_stage": False, "num_labels": 1000,
}  # fmt: skip
VIT_B_16: dict[str, Any] = {
    "model_type": "vit", "architectures": ["ViTForImageClassification"], "hidden_size": 768, "intermediate_size": 3072,
    "num_hidden_layers": 12, "num_attention_heads": 12, "image_size": 224, "patch_size": 16, "num_channels": 3,
    "num_labels": 1000,
}  # fmt: skip
#: FlopCountAnalysis(model, a 224 x 224 picture).by_operator() of fvcore 0.1.5.post20221221 in eval mode: torchvision 0.29.2's
#: resnet50, and ViT-B/16 as transformers' ViTForImageClassification with eager attention. fvcore has no formula for fused
#: attention, so torchvision 0.29.2's vit_b_16 has no matmul there.
FVCORE: dict[str, dict[str, int]] = {
    "resnet50": {"conv": 4087136256, "linear": 2048000, "batch_norm": 22227968, "adaptive_avg_pool2d": 100352},
    "vit_b_16": {"conv": 115605504, "linear": 16732895232, "matmul": 715327488, "layer_norm": 18912000},
}
#: What fvcore adds to the products.
ELEMENTWISE = {"batch_norm", "layer_norm", "adaptive_avg_pool2d"}
H100 = "NVIDIA H100 80GB HBM3"


def run(tmp_path: pathlib.Path, config: dict[str, Any], *arguments: str) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    command = [sys.executable, "-m", "floptally", arguments[0], "--config", str(path), *arguments[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def printed(tmp_path: pathlib.Path, config: dict[str, Any], *arguments: str) -> str:
    done = run(tmp_path, config, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("config", "batch", "name"),
    [(RESNET_50, ["--grid", "1,112,112"], "resnet50"), (VIT_B_16, ["--images", "1"], "vit_b_16")],
)
def test_macs_of_an_image_classifier_equal_the_products_that_fvcore_counts(
    tmp_path: pathlib.Path, config: dict[str, Any], batch: list[str], name: str
) -> None:
    counted = json.loads(
        printed(tmp_path, config, "flops", *batch, "--phase", "forward", "--convention", "fvcore", "--unit", "macs", "--format", "json")
    )["macs"]["useful"]
    products = {operator: macs for operator, macs in FVCORE[name].items() if operator not in ELEMENTWISE}
    assert int(counted["total"]) == sum(products.values())
    of = {one["name"].removeprefix("vision."): int(one["total"]) for one in counted["components"]}
    if name == "vit_b_16":
        assert of["attention.core"] == products["matmul"]
        assert of["patch_embedding"] == products["conv"]
    else:
        assert of["lm_head"] == products["linear"]


OUTPUTS = [
    ["flops", "--lengths", "512,700", "--row-length", "1024"],
    ["flops", "--lengths", "512", "--convention", "verl"],
    ["flops", "--lengths", "512", "--convention", "megatron"],
    ["mfu", "--lengths", "8192", "--seconds", "0.9", "--gpus", "1", "--accelerator", H100],
    ["mfu", "--lengths", "8192", "--seconds", "1e-6", "--gpus", "1", "--accelerator", H100],
    ["mfu", "--lengths", "8192", "--seconds", "900", "--gpus", "1", "--accelerator", H100],
    ["mfu", "--lengths", "8192", "--seconds", "0.9", "--gpus", "1", "--accelerator", H100, "--precisions", "mlp=fp8"],
]  # fmt: skip


@pytest.mark.parametrize("format", ["table", "json"])
@pytest.mark.parametrize("arguments", OUTPUTS)
def test_output_in_macs_names_the_unit_and_mentions_no_flops(tmp_path: pathlib.Path, arguments: list[str], format: str) -> None:
    flops = printed(tmp_path, LLAMA_3_8B, *arguments, "--format", format)
    macs = printed(tmp_path, LLAMA_3_8B, *arguments, "--format", format, "--unit", "macs")
    assert "flop" in flops.lower()
    assert "mac" in macs.lower()
    assert "flop" not in macs.lower().replace("floptally", "")
    assert printed(tmp_path, LLAMA_3_8B, *arguments, "--format", format, "--unit", "flops") == flops


def halves(flops: Any, macs: Any, key: str = "") -> None:
    """Checks that counts are halved, and rates and peaks, and that nothing else differs."""
    if isinstance(flops, dict):
        renamed = {"flops": "macs", "tflops_per_gpu": "tmacs_per_gpu", "peak_tflops": "peak_tmacs"}
        assert [renamed.get(name, name) for name in flops] == list(macs)
        for name, other in zip(flops, macs):
            inside = "work" if name in ("flops", "padding") or key == "work" and name != "name" else name
            halves(flops[name], macs[other], inside)
    elif isinstance(flops, list):
        assert len(flops) == len(macs)
        for one, other in zip(flops, macs):
            halves(one, other, key)
    elif key == "work":
        assert int(flops) == 2 * int(macs)
    elif key in ("tflops_per_gpu", "peak_tflops"):
        assert flops == 2 * macs
    elif key != "notes":
        assert flops == macs


@pytest.mark.parametrize("arguments", OUTPUTS)
def test_reporting_macs_instead_of_flops_halves_the_numbers_and_keeps_the_mfu(tmp_path: pathlib.Path, arguments: list[str]) -> None:
    flops, macs = (
        json.loads(printed(tmp_path, LLAMA_3_8B, *arguments, "--format", "json", "--unit", unit)) for unit in ("flops", "macs")
    )
    halves(flops, macs)


def test_an_unknown_unit_of_work_or_a_unit_that_contradicts_other_options_is_an_error(tmp_path: pathlib.Path) -> None:
    batch = ["--lengths", "512"]
    step = ["--seconds", "1", "--gpus", "1"]
    for arguments, message in (
        (["flops", *batch, "--unit", "MAC"], 'unit: must be one of flops, macs, got "MAC"'),
        (["mfu", *batch, *step, "--peak-tflops", "989", "--unit", "macs"], "unit: macs cannot be passed with --peak-tflops"),
        (["compare", *batch, "--unit", "macs"], "unit: unknown option"),
        (["bytes", *batch, "--unit", "macs"], "unit: unknown option"),
    ):
        done = run(tmp_path, LLAMA_3_8B, *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr


def test_reporting_an_odd_number_of_flops_as_macs_is_an_error() -> None:
    odd = floptally.Cost.from_entries([floptally.Entry("a", "tokens", "state", 3)])
    plan = floptally.Plan(phase="forward")
    assert odd.flops(lengths=[2], plan=plan).to_dict(unit="macs")["macs"]["useful"]["total"] == "3"
    with pytest.raises(floptally.Error, match="unit: macs: 3 FLOPs are no whole number of MACs .*: leave the unit out"):
        odd.flops(lengths=[1], plan=plan).to_table(unit="macs")


def test_a_breakdown_prints_macs_as_the_command_line_program_does(tmp_path: pathlib.Path) -> None:
    counted = floptally.flops(LLAMA_3_8B, lengths=[512])
    asked = ["flops", "--lengths", "512", "--unit", "macs"]
    assert counted.to_table(unit="macs") == printed(tmp_path, LLAMA_3_8B, *asked)
    assert counted.to_dict(unit="macs") == json.loads(printed(tmp_path, LLAMA_3_8B, *asked, "--format", "json"))
    assert counted.to_table() == str(counted)
    with pytest.raises(floptally.Error, match="unit: must be one of flops, macs"):
        counted.to_dict(unit="macros")  # type: ignore[arg-type]


@pytest.mark.parametrize(("flops", "text"), [(0, "0 MAC"), (1998, "999 MAC"), (2000, "1.00 KMAC"), (421651971833856, "210.83 TMAC")])
def test_macs_printed_by_the_function_readable_have_two_decimals_and_their_unit(flops: int, text: str) -> None:
    assert floptally.readable(flops, unit="macs") == text
