# SPDX-License-Identifier: Apache-2.0
"""A step by every convention, and whose number a dashboard shows: as C++ and the program have it."""

from __future__ import annotations

import importlib
import json
import pathlib
import re
import subprocess
import sys
import types
from typing import Any

import pytest

import floptally
from conftest import SOURCE

CONFIG = SOURCE / "examples" / "data" / "mistral-7b-v0.1.json"
MODEL = floptally.cost(CONFIG)
BATCH: dict[str, Any] = {"lengths": [8192, 300], "row_length": 8192}


def test_total_and_difference_terms_of_each_convention_in_a_comparison_add_up_to_the_exact_count() -> None:
    result = MODEL.compare(**BATCH)
    assert list(result.conventions) == [one.name for one in floptally.conventions()]
    assert result.exact == MODEL.total_flops(**BATCH)
    for name, line in result.conventions.items():
        assert line.total == MODEL.total_flops(convention=name, **BATCH), name  # type: ignore[arg-type]
        assert line.total + sum(line.terms.values()) == result.exact, name
    # 6 FLOPs for each weight of the look-up table, 32 000 x 4096, and token.
    assert result.conventions["palm"].terms["embedding"] == -6 * 32_000 * 4096 * 8492
    assert result.matches == [] and result.nearest is None


def test_a_comparison_of_conventions_equals_the_output_of_the_command_line_program() -> None:
    command = [sys.executable, "-m", "floptally", "compare", "--config", str(CONFIG), "--lengths", "8192,300",
               "--row-length", "8192", "--convention", "verl", "--observed", "55.5%", "--seconds", "2", "--gpus", "1",
               "--accelerator", "H100 SXM", "--recompute", "full"]  # fmt: skip
    result = MODEL.compare(
        convention="verl", observed="55.5%", seconds=2, gpus=1, accelerator="H100 SXM",
        plan=floptally.Plan(recompute="full"), **BATCH,
    )  # fmt: skip
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == str(result)
    text = subprocess.run([*command, "--format", "json"], capture_output=True, text=True, check=True).stdout
    assert json.loads(text) == result.to_dict()
    assert list(result.conventions) == ["verl"]


def test_comparison_finds_the_convention_of_a_number_from_a_dashboard() -> None:
    verl = MODEL.total_flops(convention="verl", **BATCH)
    step = MODEL.flops(convention="verl", **BATCH).measure(2.5, gpus=4, accelerator="H100 SXM")
    for observed in (f"{verl / 1e15:.3f}PFLOP", f"{step.tflops_per_gpu:.2f}TFLOP/s", f"{100 * step.mfu:.3f}%"):
        result = MODEL.compare(observed=observed, seconds=2.5, gpus=4, accelerator="H100 SXM", **BATCH)
        assert [(one.name, one.view) for one in result.matches] == [("verl", "useful"), ("verl_2026", "useful")], observed
        assert result.nearest is not None and result.nearest.total == verl
    padded = MODEL.flops(convention="palm", **BATCH)
    result = MODEL.compare(observed=f"{padded.padded_total / 1e15:.4f}PFLOP", **BATCH)
    assert [(one.name, one.view) for one in result.matches] == [("palm", "padded"), ("nanogpt", "padded")]
    assert "palm, padded" in str(result) and "<table>" in result._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"observed": "402"}, 'observed: must be a number above 0 with a unit, .* got "402"'),
        ({"observed": "402TFLOP/s"}, "seconds: is missing"),
        ({"observed": "40%", "seconds": 1, "gpus": 1}, "peak_tflops: is missing"),
        ({"convention": "mine"}, "convention"),
    ],
)
def test_missing_or_invalid_comparison_input_is_an_error_that_names_the_field(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(floptally.Error) as problem:
        MODEL.compare(**arguments, **BATCH)
    assert re.search(message, str(problem.value))


@pytest.mark.parametrize(
    "grids", [{"pixels": [(1, 64, 32), (1, 128, 16)]}, {"grid_thw": [(1, 4, 4), (1, 2, 3)], "condition_grid_thw": [(1, 2, 2), (1, 1, 3)]}]
)
def test_a_comparison_counts_images_like_the_function_flops(grids: dict[str, Any]) -> None:
    model = floptally.cost({"_class_name": "FluxTransformer2DModel", "num_layers": 1, "num_single_layers": 1})
    result = model.compare(encoder_lengths=[7, 5], **grids)
    assert result.exact == model.total_flops(encoder_lengths=[7, 5], **grids) > 0
    for name, line in result.conventions.items():
        assert line.total == model.total_flops(convention=name, encoder_lengths=[7, 5], **grids), name  # type: ignore[arg-type]


def log_of(total: int, steps: int = 20) -> str:
    """Lines of Megatron-LM, of steps of 64 of such batches on eight GPUs, each of another speed."""
    lines = ["building the model"]
    for step in range(steps):
        seconds = 4 + 0.137 * step
        rate = total * 64 / seconds / 8 / 1e12
        lines.append(f" iteration {step}/20 | elapsed time per iteration (ms): {1000 * seconds:.1f} | throughput per GPU "
                     f"(TFLOP/s/GPU): {rate:.1f} | global batch size: {64 * 2:5d} | lm loss: 1.9E+00 |")  # fmt: skip
    return "\n".join(lines)


def test_comparison_finds_the_convention_that_gives_the_flops_in_a_training_log(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log_of(MODEL.total_flops(convention="palm", **BATCH)))
    result = MODEL.compare(log=path, gpus=8, **BATCH)
    assert [(one.name, one.lines) for one in result.matches] == [("palm", 20), ("nanogpt", 20)]
    mean = sum(64 * result.exact / (4 + 0.137 * step) / 8 / 1e12 for step in range(20)) / 20
    assert result.exact_tflops_per_gpu == pytest.approx(mean, rel=0.2)
    seconds = sum(4 + 0.137 * step for step in range(20))
    assert result.exact_tflops_per_gpu == pytest.approx(20 * 64 * result.exact / seconds / 8 / 1e12, rel=1e-6)
    command = [sys.executable, "-m", "floptally", "compare", "--config", str(CONFIG), "--lengths", "8192,300",
               "--row-length", "8192", "--log", str(path), "--gpus", "8"]  # fmt: skip
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == str(result)
    assert "palm, useful:" in str(result) and "20 of 20 lines" in str(result) and "exactly" in str(result)


def test_a_tool_that_ignores_lora_is_recognised_by_the_comparison_term_for_frozen_weights() -> None:
    """Numbers that four tools show for a step of LoRA: Qwen2.5-7B, rank 16 on queries and values, 4096 tokens, 0.3104 s on
    one H100, where 41.00 % is right."""
    qwen = floptally.cost({
        "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
        "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
    })  # fmt: skip
    lora = [floptally.WeightSetting(f"*/{name}", "lora", rank=16) for name in ("q_proj", "v_proj")]
    plan = floptally.Plan(weights=[floptally.WeightSetting("*", "frozen"), *lora])
    for name, shown in (("verl", "64.26%"), ("torchtitan", "63.19%"), ("megatron", "59.89%")):
        result = qwen.compare(observed=shown, seconds=0.3104, gpus=1, accelerator="H100 SXM", plan=plan, lengths=[4096])
        (match,) = [one for one in result.matches if one.name == name and one.view == "useful"]
        assert match.total == qwen.total_flops(convention=name, lengths=[4096])  # type: ignore[arg-type]
        difference = qwen.total_flops(convention=name, plan=plan, lengths=[4096]) - match.total  # type: ignore[arg-type]
        assert match.terms == {"frozen_weights": difference} and match.factor == 1.0
        assert "every weight is counted as trained, adapters are not counted (frozen_weights -" in str(result)
    # transformers' Trainer knows no plan: its own formula has the term.
    result = qwen.compare(observed="56.64%", seconds=0.3104, gpus=1, accelerator="H100 SXM", plan=plan, lengths=[4096])
    assert [(one.name, one.terms) for one in result.matches] == [("hf_6nd", {})]
    assert result.conventions["hf_6nd"].terms["frozen_weights"] < 0
    padded = qwen.compare(observed="59.89%", seconds=0.3104, gpus=1, accelerator="H100 SXM", plan=plan, lengths=[4000],
                          row_length=4096)  # fmt: skip
    assert {(one.name, one.view) for one in padded.matches} >= {("megatron", "padded")}


def test_hf_6nd_convention_with_lora_gives_the_flops_that_the_trainer_logs_for_a_peft_model() -> None:
    transformers = pytest.importorskip("transformers.trainer")
    torch, peft = pytest.importorskip("torch"), pytest.importorskip("peft")
    classes = importlib.import_module("transformers")
    config = classes.Qwen2Config(
        vocab_size=96, hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2,
    )  # fmt: skip
    for targets in (["q_proj", "v_proj"], ["q_proj", "down_proj", "lm_head"], "all-linear"):
        model = peft.get_peft_model(classes.Qwen2ForCausalLM(config), peft.LoraConfig(r=4, target_modules=targets))
        ids = torch.zeros(2, 10, dtype=torch.long)
        logged = transformers.Trainer.floating_point_ops(types.SimpleNamespace(model=model), {"input_ids": ids})
        cost = floptally.cost(model)
        assert cost.total_flops(convention="hf_6nd", plan=cost.plan, lengths=[10, 10]) == logged, targets


def test_a_comparison_finds_a_constant_factor_in_a_dashboard_number_and_a_log_that_is_of_a_larger_batch(tmp_path: pathlib.Path) -> None:
    verl = MODEL.flops(convention="verl", **BATCH).measure(2.5, gpus=8, accelerator="H100 SXM")
    result = MODEL.compare(observed=f"{8 * verl.tflops_per_gpu:.2f}TFLOP/s", seconds=2.5, gpus=8, **BATCH)
    assert [(one.name, one.factor, one.cause) for one in result.matches] == [
        (name, 8.0, "not divided by the 8 GPUs") for name in ("verl", "verl_2026")
    ]
    assert result.matches[0].total == MODEL.total_flops(convention="verl", **BATCH)
    assert "x 8: not divided by the 8 GPUs" in str(result)
    # nanochat's line, of 32 times as many tokens as the batch.
    path = tmp_path / "train.log"
    path.write_text("step 00002 | dt: 2000.00ms | tok/sec: 262,144 | bf16_mfu: 18.41 | total time: 1m\n")
    result = MODEL.compare(log=path, gpus=8, accelerator="H100 SXM", lengths=[8192, 8192])
    assert result.log_tokens is not None
    assert result.log_tokens[0] == pytest.approx(524288) and result.log_tokens[1] == 16384
    assert "524288 tokens a step by its own tokens a second, the batch has 16 384 (32 times as many)" in str(result)
    result = MODEL.compare(log=path, gpus=8, accelerator="H100 SXM", lengths=[8192] * 64)
    assert result.log_tokens is None and "pass the whole batch" not in str(result)


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        ({"gpus": 8}, "nothing\n", "log: has no line with a rate among its 1"),
        ({}, "seconds: 1, TFLOP/s/device: 3", "gpus: is missing"),
        ({"gpus": 8, "seconds": 3}, "", "log: already contains rates and seconds"),
        ({"gpus": 8, "observed": "3TFLOP/s"}, "", "log: already contains rates and seconds"),
    ],
)
def test_a_training_log_without_known_throughput_lines_is_an_error(
    tmp_path: pathlib.Path, arguments: dict[str, Any], text: str, message: str
) -> None:
    path = tmp_path / "train.log"
    path.write_text(text)
    with pytest.raises(floptally.Error, match=message):
        MODEL.compare(log=path, **arguments, **BATCH)
    with pytest.raises(floptally.Error, match="log: cannot read"):
        MODEL.compare(log=tmp_path / "absent", gpus=8, **BATCH)
