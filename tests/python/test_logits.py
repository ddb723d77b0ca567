# SPDX-License-Identifier: Apache-2.0
"""Logits of some tokens: the head over what it runs on, against PyTorch's counter of real models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import floptally
from conftest import LLAMA_3_8B

TINY = {
    "vocab_size": 1000,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
MODEL = floptally.cost(LLAMA_3_8B)
HEAD = 2 * 4096 * 128256


def test_the_argument_logits_accepts_a_word_or_a_number_or_a_list_or_a_mask() -> None:
    def head(**logits: Any) -> int:
        return MODEL.flops(lengths=[700, 300], plan=floptally.Plan(phase="forward"), **logits).useful.components["lm_head"].total

    mask = np.zeros((2, 700), dtype=bool)
    mask[0, 10:40] = True
    mask[1, 100:150] = True
    assert head() == head(logits="all") == head(logits=1000) == 1000 * HEAD
    assert head(logits="last") == head(logits=2) == head(logits=[1, 1]) == 2 * HEAD
    for response in (80, [30, 50], np.array([30, 50]), mask, mask.astype(np.int64), mask.astype(np.int32), mask.tolist()):
        assert head(logits=response) == 80 * HEAD
    assert head(logits="measured", measured={"logits": (80, 128)}) == 80 * HEAD


def test_the_logits_setting_of_a_plan_applies_to_every_counting_call() -> None:
    last = floptally.Plan(phase="forward", logits="last")
    assert last.logits == "last" and last != floptally.Plan(phase="forward")
    work = MODEL.flops(lengths=[700, 300], plan=last)
    assert work.total == MODEL.flops(lengths=[700, 300], plan=floptally.Plan(phase="forward"), logits="last").total
    assert MODEL.total_flops(lengths=[700, 300], plan=last) == work.total
    assert sum(MODEL.sample_flops([700, 300], plan=last)) == work.total
    assert "logits of the last token of each sequence" in str(work)
    tally = floptally.Tally(MODEL, plan=last)
    tally.add_lengths([700, 300])
    assert MODEL.flops(tally=tally, plan=last).total == work.total
    assert floptally.flops(LLAMA_3_8B, lengths=[700, 300], plan=last).total == work.total


def test_a_meter_takes_a_logits_mask_with_its_batch() -> None:
    plan = floptally.Plan(logits="measured")
    meter = floptally.Meter(MODEL, gpus=1, peak_tflops=989, plan=plan)
    with meter.step(seconds=1000.0):
        meter.add(lengths=[700, 300], logits=np.ones((2, 25), dtype=bool))
        meter.add(lengths=[512], logits=100)
    expected = MODEL.flops(lengths=[700, 300, 512], logits=150)
    assert meter.last_step.useful == expected.total
    assert meter.last_step.tally.pairs(floptally.Mask.measured("logits")) == 150


def test_counted_bytes_of_the_lm_head_depend_on_how_many_logits_are_computed() -> None:
    forward = floptally.Plan(phase="forward")

    def activations(**logits: Any) -> int:
        moved = MODEL.bytes(lengths=[700, 300], plan=forward, **logits)
        return moved.components["lm_head"].phases["forward"]["activations"]

    assert activations() == 2 * 1000 * (4096 + 128256)
    assert activations(logits="last") == 2 * 2 * (4096 + 128256)
    assert activations(logits=80) == 2 * 80 * (4096 + 128256)
    assert MODEL.flops(lengths=[700, 300], plan=forward, logits=80).bytes().kinds["activations"] < (
        MODEL.flops(lengths=[700, 300], plan=forward).bytes().kinds["activations"]
    )


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: MODEL.flops(lengths=[7], logits="first"), 'logits: must be one of all, last, measured, got "first"'),
        (lambda: MODEL.flops(lengths=[7], logits=[3, -1]), r"logits\[1\]: must be .* -1"),
        (lambda: MODEL.flops(lengths=[7], logits=np.array([3, -1])), r"logits\[1\]: must be at least 0, got -1"),
        (lambda: MODEL.flops(lengths=[7], logits=np.array([0.5])), "logits: must be bool or integers, got float64"),
        (lambda: MODEL.flops(lengths=[7], logits=2.5), "logits: must be an integer, or a list, an array or a tensor of integers or flags"),
        (lambda: MODEL.flops(lengths=[7], logits="measured"), r"measured\(logits\): the cost needs this amount"),
        (lambda: floptally.Plan(logits="some"), 'logits: must be one of all, last, measured, got "some"'),
    ],
)
def test_invalid_logits_arguments_are_errors_that_name_the_field(call: Any, message: str) -> None:
    with pytest.raises(floptally.Error, match=message):
        call()


def test_a_meter_whose_plan_measures_no_logits_refuses_a_number_of_logits() -> None:
    meter = floptally.Meter(MODEL, gpus=1, peak_tflops=989)
    meter.begin_step()
    with pytest.raises(floptally.Error, match=r'logits: must be "all" or "last" under this plan: pass plan=Plan\(logits="measured"\)'):
        meter.add(lengths=[7], logits=3)
    with pytest.raises(floptally.Error, match="logits: must be a number of tokens; .* in the meter's plan"):
        meter.add(lengths=[7], logits="last")


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "gemma2", "mistral", "qwen3_moe", "gpt_neox", "deepseek_v3"])
def test_models_that_compute_only_some_logits_count_the_flops_that_pytorch_counts(kind: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from torch.utils.flop_counter import FlopCounterMode

    more: dict[str, Any] = {
        "qwen3": {"head_dim": 16},
        "gemma2": {"head_dim": 16},
        "qwen3_moe": {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
        "deepseek_v3": {
            "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 16,
            "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
            "moe_intermediate_size": 32, "num_key_value_heads": 4,
        },
    }.get(kind, {})  # fmt: skip
    config = transformers.AutoConfig.for_model(kind, **{**TINY, **more})
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config)
    result = floptally.cost(model)
    tokens = torch.randint(0, 1000, (3, 40))

    def ran(**options: Any) -> tuple[int, int]:
        with FlopCounterMode(display=False) as counter:
            logits = model(tokens, use_cache=False, **options).logits
            logits.sum().backward()
        return counter.get_total_flops(), logits.shape[0] * logits.shape[1]

    whole, all_tokens = ran()
    for options in ({"logits_to_keep": 1}, {"logits_to_keep": 17}, {"logits_to_keep": torch.arange(5, 20)}):
        some, rows = ran(**options)
        counts = {n: result.flops(lengths=[40] * 3, convention="torch_flop_counter_eager", logits=n) for n in (rows, all_tokens)}
        assert whole - some == counts[all_tokens].total - counts[rows].total > 0
        if kind != "qwen3_moe" and kind != "deepseek_v3":  # where random routers decide which experts' gradients run
            assert some == counts[rows].total
        if rows == 3:
            last = result.flops(lengths=[40] * 3, convention="torch_flop_counter_eager", logits="last")
            assert last.total == counts[rows].total
    assert all_tokens == 120


def test_trl_counts_the_full_square_of_attention_and_all_logits_like_the_nanotron_convention() -> None:
    utils = pytest.importorskip("trl.trainer.utils")
    transformers = pytest.importorskip("transformers")
    if not hasattr(utils, "compute_flops_per_token"):
        pytest.skip("this version of TRL counts no FLOPs")
    config = transformers.AutoConfig.for_model("llama", **TINY)
    per_token = utils.compute_flops_per_token(config, 512)
    assert per_token * 512 == floptally.flops(config, lengths=[512], convention="nanotron").total
