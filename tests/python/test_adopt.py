# SPDX-License-Identifier: Apache-2.0
"""Each drop-in beside the function that it stands in for.

Trainers that no package installs are in tests/golden/adopt.json, verl and NeMo Automodel in peers.json too; where a
package is installed, its own function is called. Where a trainer's formula is no convention of ours, the difference is
written down here as what it is.
"""

from __future__ import annotations

import functools
import importlib
import re
import subprocess
import sys
import types
import warnings
from typing import Any

import pytest

import floptally
from conftest import LLAMA_3_8B, SOURCE, golden
from floptally import adopt
from floptally.adopt import automodel, lightning, maxtext, megatron, megatron_bridge, nanogpt, torchtitan, verl
from floptally.adopt import _original
from floptally.adopt._original import Original

GOLDEN = golden("adopt.json")
H100 = "NVIDIA H100 80GB HBM3"


def cases(trainer: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in GOLDEN[trainer]["cases"]]


def arguments(trainer: str, case: dict[str, Any], **changes: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(**{**GOLDEN[trainer]["defaults"], **case["arguments"], **changes})


def named(trainer: str, name: str) -> dict[str, Any]:
    return next(case for case in GOLDEN[trainer]["cases"] if case["id"] == name)


FIND = Original.find


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was warned, and no trainer's own number is returned where one is installed (test_adopt_originals.py)."""
    monkeypatch.setattr(_original, "_warned", set())
    monkeypatch.setattr(Original, "find", lambda self, *, load: None)
    for name in ("nanogpt", "torchtitan", "transformers"):
        monkeypatch.setattr(importlib.import_module(f"floptally.adopt.{name}"), "method_of", lambda owner, method: None)


# ---- the package itself ----


def test_drop_in_replacement_modules_do_not_import_the_package_of_their_trainer() -> None:
    trainers = "deepspeed lightning maxtext megatron nemo_automodel torch torchtitan transformers verl"
    code = (
        "import sys, floptally.adopt\n"
        "for name in floptally.adopt.__all__:\n"
        "    getattr(floptally.adopt, name)\n"
        f"print([name for name in '{trainers}'.split() if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_adopting_a_trainer_without_a_drop_in_replacement_is_an_attribute_error() -> None:
    assert set(adopt.__all__) <= set(dir(adopt))
    with pytest.raises(AttributeError, match="axolotl"):
        adopt.axolotl  # noqa: B018


# ---- Megatron-LM ----


@pytest.mark.parametrize("case", cases("megatron"))
def test_megatron_drop_in_replacement_returns_the_stored_reference_counts(case: dict[str, Any]) -> None:
    args = arguments("megatron", case)
    assert megatron.num_floating_point_operations(args, **case["call"]) == case["expected"]
    if "lengths" in case:
        assert megatron.num_floating_point_operations(args, 0, lengths=case["lengths"]) == case["expected"]


def test_megatron_drop_in_replacement_counts_the_same_from_lengths_and_from_sums_of_lengths() -> None:
    args = arguments("megatron", named("megatron", "deepseek-v3, mtp 1/packed"))
    exact = functools.partial(megatron.num_floating_point_operations, args, convention="exact")
    packed = [7, 500, 129, 1000]
    # Megatron's sums over ranks are floats
    from_sums = exact(4, float(sum(n * n for n in packed)), float(sum(packed)))
    assert from_sums == exact(4, lengths=packed) > megatron.num_floating_point_operations(args, 4, lengths=packed)
    assert exact(3) == exact(0, lengths=[args.seq_length] * 3)


def test_megatron_arguments_count_the_same_as_the_config_of_the_model_that_they_describe(llama: floptally.Cost) -> None:
    args = arguments("megatron", named("megatron", "llama-3-8b/bshd"))
    for lengths in ([8192], [512, 1024, 9000]):
        found = megatron.num_floating_point_operations(args, 1, convention="exact", lengths=lengths)
        assert found == llama.flops(lengths=lengths).total
    frozen = floptally.WeightSetting("*", "frozen")
    lora = floptally.Plan(weights=[frozen, floptally.WeightSetting("*/q_proj", "lora", rank=16)])
    found = megatron.num_floating_point_operations(args, 1, convention="exact", plan=lora)
    assert found == llama.flops(lengths=[8192], plan=lora).total
    assert found < 0.8 * megatron.num_floating_point_operations(args, 1, convention="exact")


def test_megatron_drop_in_replacement_with_convention_exact_uses_the_unpadded_vocabulary_and_counts_moe_routers() -> None:
    args = arguments("megatron", named("megatron", "mixtral/bshd"))
    own = megatron.num_floating_point_operations(args, 1)
    exact = megatron.num_floating_point_operations(args, 1, convention="exact")
    n, h = args.seq_length, args.hidden_size
    padding = 6 * n * h * (args.padded_vocab_size - args.vocab_size)
    routers = 6 * n * h * args.num_experts * args.num_layers
    diagonal = 6 * n * args.num_layers * h  # half of L² + L, of scores and of values
    assert exact - own == routers + diagonal - padding


def test_megatron_drop_in_replacement_with_convention_exact_needs_the_length_of_each_sequence_for_sliding_windows() -> None:
    args = arguments("megatron", named("megatron", "windows/packed"))
    packed = [7, 500, 129, 1000]
    sums = dict(seqlen_squared_sum_in_batch=sum(n * n for n in packed), total_real_tokens_in_batch=sum(packed))
    with pytest.raises(floptally.Error, match=r"attended \(sliding_window\(128\)\): pass lengths=") as caught:
        megatron.num_floating_point_operations(args, 4, **sums, convention="exact")
    assert caught.value.field == "seqlen_squared_sum_in_batch"
    exact = megatron.num_floating_point_operations(args, 4, convention="exact", lengths=packed)
    full = megatron.num_floating_point_operations(
        arguments("megatron", named("megatron", "windows/packed"), window_size=None),
        4,
        convention="exact",
        lengths=packed,
    )
    beyond = sum((n - 128) * (n - 127) // 2 for n in packed if n > 128)  # pairs that the window leaves out
    assert full - exact == 12 * beyond * args.hidden_size * args.num_layers


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"hidden_size": None}, "hidden_size", "is missing: set it in the SimpleNamespace"),
        ({"num_layers": 2.5}, "num_layers", "must be a whole number from 1, got 2.5"),
        ({"swiglu": "yes"}, "swiglu", "must be True or False, got 'yes'"),
        ({"num_experts": 4, "moe_layer_freq": [1]}, "moe_layer_freq", r"must be 2 numbers that are 0 or 1, got \[1\]"),
        ({"hybrid_layer_pattern": "MD"}, "hybrid_layer_pattern", "must consist of the letters .* got 'MD'"),
        ({"hybrid_layer_pattern": "M/M/E"}, "hybrid_layer_pattern", "must have the same pattern after each /"),
        ({"experimental_attention_variant": "dsa"}, "experimental_attention_variant", "has no formula here, got 'dsa'; count"),
        ({"window_size": [1, 2, 3]}, "window_size", "must be two numbers of tokens, to the left and to the right"),
        ({"num_query_groups": 3, "group_query_attention": True}, "layers", "num_kv_heads"),
    ],
)
def test_megatron_arguments_that_cannot_be_counted_are_errors_that_name_the_field(changes: dict[str, Any], field: str, text: str) -> None:
    args = arguments("megatron", named("megatron", "gpt/bshd"), **changes)
    with pytest.raises(floptally.Error, match=text) as caught:
        megatron.num_floating_point_operations(args, 1, convention="exact")
    assert field in caught.value.field


def test_megatron_drop_in_replacement_refuses_sums_of_lengths_that_no_batch_can_have() -> None:
    args = arguments("megatron", named("megatron", "gpt/bshd"))
    for squares, text in (
        (99, "must be a sum of squared lengths, from 100 to 100²"),
        (10001, "must be a sum"),
        (0.5, "whole"),
    ):
        with pytest.raises(floptally.Error, match=text) as caught:
            megatron.num_floating_point_operations(args, 1, squares, 100)
        assert caught.value.field == "seqlen_squared_sum_in_batch"
    with pytest.raises(floptally.Error, match=r"lengths\[1\]: must be a whole number from 0, got -3"):
        megatron.num_floating_point_operations(args, 1, lengths=[5, -3])


# ---- Megatron-Bridge ----


def container(case: dict[str, Any], **changes: Any) -> types.SimpleNamespace:
    return types.SimpleNamespace(model=arguments("megatron_bridge", case, **changes), peft=None)


@pytest.mark.parametrize("case", cases("megatron_bridge"))
def test_megatron_bridge_drop_in_replacement_returns_the_stored_reference_counts(case: dict[str, Any]) -> None:
    cfg = container(case)
    found = megatron_bridge.num_floating_point_operations(cfg, **case["call"])
    assert found == round(case["expected"])  # its windows are a mean, and a float
    if "lengths" in case:
        assert megatron_bridge.num_floating_point_operations(cfg, lengths=case["lengths"]) == case["expected"]


def test_megatron_bridge_drop_in_replacement_refuses_sums_of_lengths_for_models_whose_count_needs_each_length() -> None:
    count = megatron_bridge.num_floating_point_operations
    cfg = container(named("megatron_bridge", "windows/equal"))
    for arguments, field in (
        (dict(seqlen_sum=1200, seqlen_squared_sum=400_000, batch_size=4), "seqlen_squared_sum"),
        (dict(seqlen_sum=1201, batch_size=4), "seqlen_squared_sum"),
        (dict(cross_seqlen_sum=5), "cross_seqlen_sum"),
    ):
        with pytest.raises(floptally.Error) as caught:
            count(cfg, **arguments)
        assert caught.value.field == field
    cfg.peft = object()
    assert count(cfg, 2) == count(container(named("megatron_bridge", "windows/equal")), 2)
    with pytest.raises(floptally.Error, match="cfg.peft: trains only some weights, and the config does not say which: pass plan="):
        count(cfg, 2, convention="exact")
    cfg.model._get_num_floating_point_operations = lambda batch_size: 5
    text = "is set and counts FLOPs that the config does not describe: call cfg.model._get_num_"
    with pytest.raises(floptally.Error, match=text):
        count(cfg, 2)
    cfg = container(named("megatron_bridge", "gpt/equal"), hidden_size=0)
    with pytest.raises(floptally.Error, match="cfg.model.hidden_size: must be a whole number from 1, got 0"):
        count(cfg, 2)


# ---- MaxText ----


@pytest.mark.parametrize("case", cases("maxtext"))
def test_maxtext_drop_in_replacement_returns_the_stored_reference_counts(case: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    found = maxtext.calculate_tflops_training_per_device(arguments("maxtext", case), log=False)
    assert capsys.readouterr().out == ""
    total, weights, attention = (round(value * 10**12) for value in found)
    assert [total, weights, attention] == case["expected"]


def test_maxtext_drop_in_replacement_counts_exactly_with_convention_exact(llama: floptally.Cost, capsys: pytest.CaptureFixture[str]) -> None:
    config = arguments("maxtext", named("maxtext", "llama-3-8b"))
    count = maxtext.calculate_tflops_training_per_device
    assert round(count(config, convention="exact")[0] * 10**12) == llama.flops(lengths=[8192]).total
    assert "421.65 TFLOPs" in capsys.readouterr().out
    for changes, text in (
        ({"decoder_block": "envy"}, "decoder_block: must be one of .* got 'envy'"),
        ({"per_device_batch_size": 0}, "per_device_batch_size: must be a number of sequences above 0, got 0"),
        ({"mlp_activations": []}, "mlp_activations: must be one activation, or the two"),
        ({"use_multimodal": True}, "use_multimodal: has no formula here, got True; count"),
        ({"attention_type": "full"}, "attention_type: must be global"),
        ({"emb_dim": None}, "emb_dim: is missing: set it in the SimpleNamespace"),
    ):
        with pytest.raises(floptally.Error, match=text):
            count(arguments("maxtext", named("maxtext", "llama"), **changes), convention="exact")


# ---- nanoGPT ----


def gpt(case: dict[str, Any]) -> types.SimpleNamespace:
    return types.SimpleNamespace(config=types.SimpleNamespace(**case["arguments"]))


@pytest.mark.parametrize("case", cases("nanogpt"))
def test_nanogpt_drop_in_replacement_returns_the_stored_reference_counts(case: dict[str, Any]) -> None:
    assert nanogpt.estimate_mfu(gpt(case), **case["call"]) == case["expected"]


def test_nanogpt_drop_in_replacement_can_be_a_method_of_a_model_and_counts_exactly_with_convention_exact() -> None:
    class GPT:
        config = types.SimpleNamespace(**named("nanogpt", "gpt2")["arguments"])
        estimate_mfu = nanogpt.estimate_mfu
        exactly = functools.partialmethod(nanogpt.estimate_mfu, convention="exact", accelerator=H100)

    model = GPT()
    assert model.estimate_mfu(480, 0.25) == named("nanogpt", "gpt2")["expected"]
    config = {"model_type": "gpt2", "vocab_size": 50304}
    work = floptally.flops(config, lengths=[1024]).total
    assert model.exactly(480, dt=0.25) == pytest.approx(480 * work / 0.25 / 989.4e12, rel=1e-3)
    for dt in (0, -1.0, float("nan"), "1"):
        with pytest.raises(floptally.Error, match="dt: must be a time in seconds above 0"):
            model.estimate_mfu(480, dt)


# ---- verl ----

PEERS = {case["id"]: case for case in golden("peers.json")}
MODELS = golden("models.json")


def peer_config(case: dict[str, Any]) -> Any:
    return MODELS[case["model"]] if isinstance(case["model"], str) else case["model"]


#: verl counts norms of Apertus as matrices, which no preset reproduces.
VERL_MISTAKES = ("verl/test/apertus/",)


@pytest.mark.parametrize(
    "name", [n for n in PEERS if n.startswith("verl/") and not n.startswith(("verl/test/qwen3_vl", *VERL_MISTAKES))]
)
def test_verl_drop_in_replacement_returns_the_stored_reference_counts_without_verl_installed(name: str) -> None:
    case = PEERS[name]
    achieved, promised = verl.FlopsCounter(peer_config(case), accelerator=H100).estimate_flops(
        case["batch"]["seqlens"], 2.0
    )
    assert round(achieved * 2e12) == case["expected"]
    assert promised == floptally.accelerator(H100).peak_tflops("bf16")


TINY = dict(
    vocab_size=1000, hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=2, bos_token_id=None, eos_token_id=None, pad_token_id=None,
)  # fmt: skip
TINY_MOE = dict(TINY, moe_intermediate_size=32, num_experts=8, num_experts_per_tok=2)
TINY_MLA = dict(
    TINY_MOE, num_key_value_heads=4, n_routed_experts=8, n_shared_experts=1, n_group=1, topk_group=1,
    first_k_dense_replace=1, q_lora_rank=24, kv_lora_rank=16, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
)  # fmt: skip
TINY_VISION = dict(
    depth=3, hidden_size=32, intermediate_size=48, num_heads=2, out_hidden_size=64, patch_size=4, spatial_merge_size=2,
    temporal_patch_size=2, in_channels=3,
)  # fmt: skip
TINY_DELTA = dict(
    linear_num_key_heads=4, linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16,
    linear_conv_kernel_dim=4, head_dim=16,
)  # fmt: skip
WINDOWS = dict(head_dim=16, sliding_window=64, layer_types=["sliding_attention", "full_attention"] * 2)
VERL_LENGTHS = [512, 30, 100]
VERL_MODELS: dict[str, dict[str, Any]] = {
    "llama": TINY,
    "qwen2": TINY,
    "qwen3": dict(TINY, head_dim=24),
    "mistral": TINY,
    "seed_oss": dict(TINY, head_dim=16),
    "qwen3_moe": dict(TINY_MOE, head_dim=16),
    "gemma3_text": dict(TINY, **WINDOWS),
    "gpt_oss": dict(TINY, num_local_experts=8, num_experts_per_tok=2, **WINDOWS),
    "deepseek_v3": TINY_MLA,
    "apertus": TINY,
    "qwen2_moe": dict(TINY_MOE, shared_expert_intermediate_size=40, decoder_sparse_step=1),
    "hy_v3": dict(TINY_MOE, head_dim=16, num_shared_experts=1, first_k_dense_replace=1),
    "qwen3_5": dict(text_config=dict(TINY, **TINY_DELTA), vision_config=TINY_VISION),
    "qwen3_5_moe": dict(
        text_config=dict(TINY_MOE, **TINY_DELTA, shared_expert_intermediate_size=40), vision_config=TINY_VISION
    ),
    "qwen3_vl": dict(
        text_config=dict(TINY, head_dim=24), vision_config=dict(TINY_VISION, deepstack_visual_indexes=[0, 1])
    ),
    "qwen3_vl_moe": dict(
        text_config=dict(TINY_MOE, head_dim=16), vision_config=dict(TINY_VISION, deepstack_visual_indexes=[0, 1])
    ),
}  # fmt: skip


@pytest.fixture()
def real_verl(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(Original, "find", FIND)
    original = pytest.importorskip("verl.utils.flops_counter", reason="verl is not installed")
    monkeypatch.setattr(original, "get_device_flops", lambda *given, **more: 989.0)
    return original


@pytest.mark.parametrize("there", [True, False])
def test_verl_drop_in_replacement_returns_the_count_of_verl_itself_if_verl_is_installed(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    config = {"model_type": "llama", **TINY}
    preset = floptally.flops(config, lengths=VERL_LENGTHS, convention="verl_2026").total
    if there:
        monkeypatch.setattr(Original, "find", FIND)
        module = types.ModuleType("verl.utils.flops_counter")

        class FlopsCounter:
            def __init__(self, config: Any) -> None:
                self.config = config

            def estimate_flops(self, batch_seqlens: list[int], delta_time: float, **images: Any) -> tuple[float, float]:
                return (sum(batch_seqlens) + 1000 * sum(images.get("images_seqlens", []))) / delta_time, 989.0

        module.FlopsCounter = FlopsCounter  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
    counter = verl.FlopsCounter(config, accelerator=H100)
    achieved = counter.estimate_flops(VERL_LENGTHS, 2.0, images_seqlens=IMAGES)[0]
    assert achieved == ((642 + 84_000) / 2.0 if there else preset / 2.0 / 1e12)
    frozen = floptally.Plan(weights=[floptally.WeightSetting("*", "frozen")])
    planned = verl.FlopsCounter(config, accelerator=H100, plan=frozen)
    assert planned.estimate_flops(VERL_LENGTHS, 2.0, forward_only=True)[0] == preset / 2.0 / 1e12


@pytest.mark.parametrize("model_type", VERL_MODELS)
def test_verl_drop_in_replacement_counts_like_the_installed_verl(real_verl: Any, model_type: str) -> None:
    from transformers import AutoConfig

    if model_type not in real_verl.ESTIMATE_FUNC:
        pytest.skip(f"this verl does not count {model_type}")
    config = AutoConfig.for_model(model_type, **VERL_MODELS[model_type])
    theirs = real_verl.FlopsCounter(config).estimate_flops(VERL_LENGTHS, 0.5)
    own = verl.FlopsCounter(config).estimate_flops(VERL_LENGTHS, 0.5)
    assert own[1] == theirs[1] == 989.0
    assert round(own[0] * 0.5e12) == round(theirs[0] * 0.5e12)


IMAGES = [16, 64, 4]


@pytest.mark.parametrize("model_type", ["qwen3_vl", "qwen3_vl_moe", "qwen3_5"])
def test_verl_drop_in_replacement_counts_images_like_the_installed_verl(real_verl: Any, model_type: str) -> None:
    from transformers import AutoConfig

    config = AutoConfig.for_model(model_type, **VERL_MODELS[model_type])
    theirs = real_verl.FlopsCounter(config).estimate_flops(VERL_LENGTHS, 1.0, images_seqlens=IMAGES)[0]
    own = verl.FlopsCounter(config).estimate_flops(VERL_LENGTHS, 1.0, images_seqlens=IMAGES)[0]
    assert round(theirs * 1e12) == round(own * 1e12)


def test_verl_drop_in_replacement_accepts_image_grids_of_any_shape() -> None:
    config = {"model_type": "qwen3_vl", **VERL_MODELS["qwen3_vl"]}
    counter = verl.FlopsCounter(config, convention="exact", accelerator=H100)
    from_sums = counter.estimate_flops(VERL_LENGTHS, 1.0, images_seqlens=IMAGES)
    from_grids = counter.estimate_flops(VERL_LENGTHS, 1.0, grid_thw=[(1, 4, 4), (1, 8, 8), (1, 2, 2)])
    assert from_sums == from_grids
    assert (
        from_sums[0] * 1e12
        == floptally.flops(config, lengths=VERL_LENGTHS, grid_thw=[(1, 4, 4), (1, 8, 8), (1, 2, 2)]).total
    )
    assert from_sums[0] > counter.estimate_flops(VERL_LENGTHS, 1.0, images_seqlens=None)[0]
    with pytest.warns(RuntimeWarning, match=r"images_seqlens\[1\]: must be a multiple of 4, since a token has 2 x 2 patches, got 6"):
        counter.estimate_flops(VERL_LENGTHS, 1.0, images_seqlens=[4, 6])


def test_verl_drop_in_replacement_needs_image_grids_for_vision_towers_with_window_attention() -> None:
    vision = dict(TINY_VISION, window_size=16, fullatt_block_indexes=[2])
    config = {"model_type": "qwen2_5_vl", "text_config": TINY, "vision_config": vision}
    counter = verl.FlopsCounter(config, convention="exact", accelerator=H100)
    text_alone = counter.estimate_flops(VERL_LENGTHS, 1.0)
    with pytest.warns(RuntimeWarning, match="images_seqlens: cannot show .*: pass grid_thw= .* Images are not counted"):
        assert counter.estimate_flops(VERL_LENGTHS, 1.0, images_seqlens=IMAGES) == text_alone
    assert counter.estimate_flops(VERL_LENGTHS, 1.0, grid_thw=[(1, 4, 4)])[0] > 0
    text = verl.FlopsCounter({"model_type": "llama", **TINY}, accelerator=H100)
    # As verl does, whose formula of llama is not told of images.
    assert text.estimate_flops(VERL_LENGTHS, 1.0, images_seqlens=IMAGES) == text.estimate_flops(VERL_LENGTHS, 1.0)
    with pytest.raises(floptally.Error, match="delta_time: must be a time"):
        text.estimate_flops(VERL_LENGTHS, 0.0)
    with pytest.raises(floptally.Error, match="batch_seqlens: must be a list of the number of tokens of each sequence"):
        text.estimate_flops(100, 1.0)


# ---- NeMo Automodel ----


#: Where Automodel's number is a mistake, which no preset reproduces: tests/golden/peers.test.cpp lists each.
AUTOMODEL_MISTAKES = ("automodel/mistral-7b-v0.1/", "automodel/nemotron-h-8b/", "automodel/test/")


@pytest.mark.parametrize(
    "name",
    [
        n
        for n in PEERS
        if n.startswith("automodel/") and isinstance(PEERS[n]["model"], str) and PEERS[n]["model"] in MODELS
        if not n.startswith(AUTOMODEL_MISTAKES)
    ],
)
def test_automodel_drop_in_replacement_returns_the_stored_reference_counts_without_automodel_installed(name: str) -> None:
    case = PEERS[name]
    config = peer_config(case)
    found = automodel.get_flops_formula_for_hf_config(config)(config, gbs=1, seq_len=case["batch"]["seqlens"][0])
    assert found == case["expected"]


@pytest.mark.parametrize("there", [True, False])
def test_automodel_drop_in_replacement_returns_the_count_of_automodel_itself_if_automodel_is_installed(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    config = {"model_type": "llama", **TINY}
    preset = floptally.flops(config, lengths=[200] * 3, convention="nemo_automodel").total
    if there:
        monkeypatch.setattr(Original, "find", FIND)
        module = types.ModuleType("nemo_automodel.components.utils.flops_utils")
        module.get_flops_formula_for_hf_config = lambda config: lambda config, gbs, seq_len: 1000 * gbs + seq_len  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
    formula = automodel.get_flops_formula_for_hf_config
    assert formula(config)(config, gbs=3, seq_len=200) == (3200 if there else preset)
    frozen = floptally.Plan(weights=[floptally.WeightSetting("*", "frozen")])
    assert formula(config, plan=frozen)(config, gbs=3, seq_len=200) < preset


AUTOMODEL_MODELS: dict[str, dict[str, Any]] = {
    "gpt2": dict(vocab_size=1000, n_embd=64, n_layer=4, n_head=4, n_positions=512),
    "llama": TINY,
    "qwen2": TINY,
    "qwen3": dict(TINY, head_dim=16),
    "mixtral": dict(TINY, num_local_experts=8, num_experts_per_tok=2),
    "qwen3_moe": dict(TINY_MOE, head_dim=16),
    "glm4": dict(TINY, head_dim=16),
    "glm4_moe": dict(TINY_MLA, num_key_value_heads=2, head_dim=16),
    "deepseek_v3": dict(TINY_MLA, num_nextn_predict_layers=0),
    "qwen3_next": dict(TINY_MOE, **TINY_DELTA, shared_expert_intermediate_size=40, decoder_sparse_step=1),
    "nemotron": TINY,
    "minimax_m2": dict(TINY, head_dim=16, num_local_experts=8, num_experts_per_tok=2),
    "mistral": TINY,
    "bert": dict(vocab_size=1000, hidden_size=64, intermediate_size=256, num_hidden_layers=4, num_attention_heads=4),
    "gpt_oss": dict(TINY, num_local_experts=8, num_experts_per_tok=2, **{**WINDOWS, "sliding_window": 128}),
}


@pytest.mark.parametrize("model_type", AUTOMODEL_MODELS)
def test_automodel_drop_in_replacement_counts_like_the_installed_automodel(model_type: str) -> None:
    original = pytest.importorskip(
        "nemo_automodel.components.utils.flops_utils", reason="nemo_automodel is not installed"
    )
    from transformers import AutoConfig

    config = AutoConfig.for_model(model_type, **AUTOMODEL_MODELS[model_type])
    theirs = original.get_flops_formula_for_hf_config(config)(config, gbs=3, seq_len=200)
    assert automodel.get_flops_formula_for_hf_config(config)(config, gbs=3, seq_len=200) == theirs


def test_automodel_formulas_accept_lengths_and_count_one_full_sequence_if_no_batch_is_passed() -> None:
    config = {"model_type": "llama", **TINY, "max_position_embeddings": 512}
    formula = automodel.get_flops_formula_for_hf_config(config, convention="exact")
    assert formula(config) == formula(config, gbs=1, seq_len=512) == floptally.flops(config, lengths=[512]).total
    assert formula(config, lengths=[7, 9]) == floptally.flops(config, lengths=[7, 9]).total
    with pytest.raises(floptally.Error, match="gbs: must be a whole number from 0, got 1.5"):
        formula(config, gbs=1.5)


# ---- torchtitan ----


def flavors() -> list[Any]:
    found = []
    for name, table in (("llama3", "llama3"), ("qwen3", "qwen3"), ("deepseek_v3", "deepseekv3"), ("gpt_oss", "gptoss")):
        try:
            configs = getattr(importlib.import_module(f"torchtitan.models.{name}"), f"{table}_configs")
        except (ImportError, AttributeError):
            continue
        found += [pytest.param(make, id=f"{name}-{flavor}") for flavor, make in configs.items()]
    return found


@pytest.mark.parametrize("make", flavors())
def test_torchtitan_drop_in_replacement_counts_like_the_installed_torchtitan(make: Any) -> None:
    import inspect

    import torch

    known = {"attn_backend": "flex", "moe_comm_backend": "standard"}
    asked = inspect.signature(make).parameters if callable(make) else {}
    config = make(**{name: value for name, value in known.items() if name in asked}) if callable(make) else make
    with torch.device("meta"):
        model = config.build()
    theirs = config.get_nparams_and_flops(model, 4096)
    assert torchtitan.get_nparams_and_flops(config, model, 4096) == theirs
    parameters, exact = torchtitan.get_nparams_and_flops(config, model, 4096, convention="exact")
    assert parameters == theirs[0] and exact < theirs[1]
    packed = torchtitan.flops_per_token(config, [512] * 8, convention="exact")
    assert packed < exact
    with pytest.raises(floptally.Error, match="model: must have the .* parameters that its config describes, got 17"):
        torchtitan.get_nparams_and_flops(config, torch.nn.Linear(16, 1), 4096)


def linear(outputs: int) -> types.SimpleNamespace:
    return types.SimpleNamespace(out_features=outputs)


def test_torchtitan_drop_in_replacement_counts_without_torchtitan_installed(llama: floptally.Cost) -> None:
    attention = types.SimpleNamespace(n_heads=32, n_kv_heads=8, head_dim=None)
    layer = types.SimpleNamespace(attention=attention, feed_forward=types.SimpleNamespace(w1=linear(14336)), moe=None)
    config = types.SimpleNamespace(dim=4096, vocab_size=128256, layers=[layer] * 32, enable_weight_tying=False)
    assert torchtitan.flops_per_token(config, [8192], convention="exact") * 8192 == llama.flops(lengths=[8192]).total
    norms = 6 * 65 * 4096  # which this config does not have
    assert (
        torchtitan.flops_per_token(config, [8192]) + norms == PEERS["torchtitan/llama-3-8b/1x8192"]["expected"] // 8192
    )
    assert isinstance(torchtitan.flops_per_token(config, [3, 4], convention="exact"), float)
    for changes, text in (
        ({"layers": []}, "config.layers: must have at least one layer"),
        ({"dim": "4096"}, "config.dim: must be a whole number from 1, got '4096'"),
        ({"layers": [types.SimpleNamespace(attention=None)]}, r"config.layers\[0\].attention: is missing: set it in the SimpleNamespace"),
    ):
        with pytest.raises(floptally.Error, match=text):
            torchtitan.read(types.SimpleNamespace(**{**vars(config), **changes}))
    with pytest.raises(floptally.Error, match="lengths: must add up to at least one token, got 0"):
        torchtitan.flops_per_token(config, [])


# ---- transformers ----


@pytest.mark.parametrize(
    ("model_type", "given"),
    [
        ("llama", TINY), ("llama", dict(TINY, tie_word_embeddings=True)), ("qwen2", TINY),
        ("gpt2", dict(vocab_size=1000, n_embd=64, n_layer=2, n_head=4, n_positions=64)),
        ("mixtral", dict(TINY, num_local_experts=4, num_experts_per_tok=2)), ("deepseek_v3", TINY_MLA),
    ],
)  # fmt: skip
def test_transformers_drop_in_replacement_counts_like_the_installed_trainer(model_type: str, given: dict[str, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    original = pytest.importorskip("transformers.trainer").Trainer.floating_point_ops
    from floptally.adopt.transformers import floating_point_ops

    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(model_type, **given))
    trainer = types.SimpleNamespace(model=model)  # all that the method reads of a Trainer
    mask = torch.ones(2, 10, dtype=torch.long)
    mask[1, 4:] = 0
    inputs = {"input_ids": torch.zeros(2, 10, dtype=torch.long), "attention_mask": mask}
    assert floating_point_ops(trainer, inputs) == floating_point_ops(model, inputs) == original(trainer, inputs)
    exact = floating_point_ops(trainer, inputs, convention="exact")
    assert exact == floptally.flops(model, lengths=[10, 4]).total
    with pytest.raises(floptally.Error, match="input_ids: must be among the inputs, got labels"):
        floating_point_ops(trainer, {"labels": 1})


def test_transformers_drop_in_replacement_counts_an_image_model_like_the_trainer_and_exactly_with_convention_exact() -> None:
    """The Trainer multiplies by pixels: 6 x parameters x 3 x 32 x 32 an image, frozen or not."""
    transformers, torch = pytest.importorskip("transformers"), pytest.importorskip("torch")
    original = pytest.importorskip("transformers.trainer").Trainer.floating_point_ops
    from floptally.adopt.transformers import floating_point_ops

    config = transformers.ViTConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, image_size=32, patch_size=8
    )
    model = transformers.ViTForImageClassification(config)
    inputs = {"pixel_values": torch.zeros(3, 3, 32, 32), "labels": torch.zeros(3, dtype=torch.long)}
    trainer = types.SimpleNamespace(model=model)
    own = 6 * 3 * 3 * 32 * 32 * sum(weight.numel() for weight in model.parameters())
    assert floating_point_ops(trainer, inputs) == original(trainer, inputs) == own
    exact = floptally.flops(model, images=3).total
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert floating_point_ops(trainer, inputs, convention="exact") == exact < own / 10


def test_transformers_trainer_accumulates_the_floating_point_ops_that_floptally_counts(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from floptally.adopt.transformers import floating_point_ops

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**TINY))
    data = [{"input_ids": torch.ones(12, dtype=torch.long), "labels": torch.ones(12, dtype=torch.long)}] * 8
    monkeypatch.setattr(
        transformers.Trainer, "floating_point_ops", functools.partialmethod(floating_point_ops, convention="exact")
    )
    options = transformers.TrainingArguments(
        output_dir=str(tmp_path), max_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True
    )
    trainer = transformers.Trainer(model=model, args=options, train_dataset=data)
    trainer.train()
    assert trainer.state.total_flos == 2 * floptally.flops(model, lengths=[12, 12]).total


# ---- Lightning and DeepSpeed, which measure ----


def small_llama(torch: Any, device: str = "meta") -> tuple[Any, Any]:
    transformers = pytest.importorskip("transformers")
    with torch.device(device):
        return transformers.LlamaForCausalLM(transformers.LlamaConfig(**TINY)), torch.zeros(2, 24, dtype=torch.long)


@pytest.mark.parametrize(
    ("device", "convention"), [("cpu", "torch_flop_counter"), ("meta", "torch_flop_counter_eager")]
)
def test_lightning_drop_in_replacement_counts_like_the_function_measure_flops_of_the_installed_lightning(device: str, convention: str) -> None:
    torch = pytest.importorskip("torch")
    throughput = pytest.importorskip("lightning.fabric.utilities.throughput", reason="lightning is not installed")
    model, tokens = small_llama(torch, device)  # attention is one fused operator on a CPU, and none on meta
    for arguments in (
        (model, lambda: model(input_ids=tokens).logits),
        (model, lambda: model(tokens, None).logits, torch.sum),
    ):
        assert lightning.measure_flops(*arguments) == throughput.measure_flops(*arguments)
        assert lightning.measure_flops(*arguments, convention=convention) == throughput.measure_flops(*arguments)


def test_lightning_drop_in_replacement_counts_exactly_with_convention_exact() -> None:
    torch = pytest.importorskip("torch")
    model, tokens = small_llama(torch)
    forward, step = lambda: model(input_ids=tokens).logits, floptally.flops(model, lengths=[24, 24])
    assert lightning.measure_flops(model, forward, torch.sum, convention="exact") == step.total
    assert lightning.measure_flops(model, forward, convention="exact") == step.useful.forward
    with torch.device("meta"):
        plain, x = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)), torch.ones(
            6, 32
        )
    assert lightning.measure_flops(plain, lambda: plain(x), torch.sum, convention="exact") == 6 * (
        4 * 32 * 64 + 6 * 64 * 8
    )
    own = floptally.Cost.from_entries([("x", "count", "linear", 10, 5)])
    assert lightning.measure_flops(plain, lambda: plain(x), convention="exact", cost=own) == 60
    with pytest.raises(floptally.Error, match="model: was not run"):
        lightning.measure_flops(plain, lambda: x, convention="exact")
    assert not plain._forward_pre_hooks


def test_deepspeed_drop_in_replacement_counts_like_the_flops_profiler_of_the_installed_deepspeed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    torch = pytest.importorskip("torch")
    profiler = pytest.importorskip("deepspeed.profiling.flops_profiler.profiler", reason="deepspeed is not installed")
    transformers = pytest.importorskip("transformers")
    from floptally.adopt.deepspeed import FlopsProfiler

    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**TINY))
    arguments = dict(
        model=model, kwargs={"input_ids": torch.zeros(2, 24, dtype=torch.long)}, as_string=False, detailed=False
    )
    theirs = profiler.get_model_profile(**arguments)
    monkeypatch.setattr(profiler, "FlopsProfiler", FlopsProfiler)
    assert profiler.get_model_profile(**arguments) == theirs
    monkeypatch.setattr(profiler, "FlopsProfiler", functools.partial(FlopsProfiler, convention="exact"))
    capsys.readouterr()
    own = profiler.get_model_profile(**arguments)
    forward = floptally.flops(model, lengths=[24, 24]).useful.forward
    assert own == (forward, forward // 2, theirs[2])
    # All that it has more are the pairs above the diagonal and what is no product.
    assert 0 < theirs[0] - forward < 0.05 * forward
    summary = capsys.readouterr().out
    line = next(one for one in summary.splitlines() if one.startswith("fwd flops per GPU:"))
    assert line.split(":")[1].strip() == profiler.number_to_string(forward)
    plain = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    found = profiler.get_model_profile(plain, args=[torch.ones(6, 32)], print_profile=False, as_string=False)
    assert found[0] == 6 * 2 * (32 * 64 + 64 * 8)
    with pytest.raises(floptally.Error, match="cost: has no effect without a convention: pass convention= too, or leave cost= out"):
        FlopsProfiler(plain, cost=floptally.Cost.from_entries([("x", "count", "linear", 10, 5)]))


# ---- docs/python.md ----

PAGE = (SOURCE / "docs" / "python.md").read_text()
#: What DeepSpeed's profiler adds up for one forward of 8192 tokens: LlamaForCausalLM on meta, deepspeed 0.19.8.
DEEPSPEED_FORWARD = 158_144_453_935_104


def llama_step(lengths: list[int] | None) -> dict[str, tuple[int, int]]:
    """FLOPs before and exactly by each drop-in, of one sequence of 8192 tokens or of documents that are packed in it."""
    documents = lengths or [8192]
    cost = floptally.cost(LLAMA_3_8B)
    exact = cost.flops(lengths=documents)
    counter = verl.FlopsCounter(LLAMA_3_8B, accelerator=H100), verl.FlopsCounter(
        LLAMA_3_8B, convention="exact", accelerator=H100
    )
    args = arguments("megatron", named("megatron", "llama-3-8b/bshd"))
    cfg = container(named("megatron_bridge", "llama-3-8b/configured"))
    sums = sum(documents), sum(n * n for n in documents)
    formula = automodel.get_flops_formula_for_hf_config
    config = arguments("maxtext", named("maxtext", "llama-3-8b"))
    tflops = functools.partial(maxtext.calculate_tflops_training_per_device, config, log=False)
    found = {
        "verl": tuple(round(one.estimate_flops(documents, 1.0)[0] * 1e12) for one in counter),
        "Megatron-LM": tuple(
            megatron.num_floating_point_operations(args, 1, sums[1], sums[0], convention=name)
            for name in ("megatron", "exact")
        ),
        "Megatron-Bridge": tuple(
            megatron_bridge.num_floating_point_operations(cfg, len(documents), *sums, convention=name)
            for name in ("megatron_bridge", "exact")
        ),
        "torchtitan": (PEERS["torchtitan/llama-3-8b/1x8192"]["expected"], exact.total),
        "NeMo Automodel": (
            formula(LLAMA_3_8B)(LLAMA_3_8B, gbs=1, seq_len=8192),
            formula(LLAMA_3_8B, convention="exact")(LLAMA_3_8B, lengths=documents),
        ),
        "Lightning": (cost.flops(lengths=[8192], convention="torch_flop_counter").total, exact.total),
        "DeepSpeed": (DEEPSPEED_FORWARD, exact.useful.forward),
        "transformers": (cost.flops(lengths=[8192], convention="hf_6nd").total, exact.total),
    }
    if lengths is None:  # it knows nothing of documents
        found["MaxText"] = tuple(round(tflops(convention=name)[0] * 10**12) for name in ("maxtext", "exact"))
    return found  # type: ignore[return-value]


def dashboard() -> tuple[list[list[Any]], list[list[Any]]]:
    """The rows of both tables, in the page's order."""
    peak = floptally.accelerator(H100).peak_tflops("bf16") * 1e12
    tables = []
    for lengths in (None, [512] * 16):
        rows = []
        for name, (before, after) in sorted(
            llama_step(lengths).items(), key=lambda row: -row[1][0] * (1 + 2 * (row[0] == "DeepSpeed"))
        ):
            times = 3 if name == "DeepSpeed" else 1
            mfu = [f"{100 * times * flops / peak:.2f}%" for flops in (before, after)]
            rows.append([name, f"{before / 1e12:.3f}", mfu[0], f"{after / 1e12:.3f}", mfu[1],
                         f"{100 * (after / before - 1):+.2f}%"])  # fmt: skip
        tables.append(rows)
    return tables[0], tables[1]


def gpt2_sentence() -> str:
    model = gpt(named("nanogpt", "gpt2"))
    before = nanogpt.estimate_mfu(model, 480, 3.0)
    exact = nanogpt.estimate_mfu(model, 480, 3.0, convention="exact")
    h100 = nanogpt.estimate_mfu(model, 480, 3.0, convention="exact", accelerator=H100)
    return (
        f"nanoGPT's GPT-2, 480 sequences of 1024 tokens in three seconds: {100 * before:.2f}% before, {100 * exact:.2f}% exactly,\n"
        f"and {100 * h100:.2f}% of an H100."
    )


def test_tables_of_trainers_on_the_docs_page_python_show_the_numbers_that_floptally_counts() -> None:
    shown = re.findall(
        r"^\| ([A-Z]?\w[\w -]*) \| ([\d.]+) \| ([\d.]+%) \| ([\d.]+) \| ([\d.]+%) \| ([+-][\d.]+%) \|$",
        PAGE,
        re.MULTILINE,
    )
    whole, packed = dashboard()
    assert [list(row) for row in shown] == whole + packed
    assert len(whole) == 9 and gpt2_sentence() in PAGE


def test_the_deepspeed_profile_of_llama_gives_the_documented_number_of_forward_flops(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    profiler = pytest.importorskip("deepspeed.profiling.flops_profiler.profiler", reason="deepspeed is not installed")
    transformers = pytest.importorskip("transformers")
    # Whether positions begin again is asked of their values, which a tensor on meta has not.
    monkeypatch.setattr("transformers.masking_utils.find_packed_sequence_indices", lambda *given, **more: None)
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(**{k: v for k, v in LLAMA_3_8B.items() if k != "model_type"})
        )
        tokens = torch.zeros(1, 8192, dtype=torch.long)
    found = profiler.get_model_profile(
        model, kwargs={"input_ids": tokens}, print_profile=False, as_string=False, warm_up=0
    )
    assert found[0] == DEEPSPEED_FORWARD


def diffs() -> list[Any]:
    titles = re.findall(r"^### (.*?)$(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    found = [(title, re.findall(r"^```diff\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)) for title, text in titles]
    return [pytest.param(blocks, id=title) for title, blocks in found if blocks]


@pytest.mark.parametrize("blocks", diffs())
def test_the_documented_patch_of_each_trainer_has_at_most_six_lines_and_uses_only_existing_names(blocks: list[str]) -> None:
    assert len(blocks) == 1 and len(blocks[0].splitlines()) <= 6
    addition = [line[1:] for line in blocks[0].splitlines() if line.startswith("+")]
    imports = [line for line in addition if line.startswith("from floptally.")]
    assert len(imports) == 1
    exec(imports[0], {})
    assert any('convention="exact"' in line for line in addition)


def test_docs_have_a_patch_for_every_adopted_trainer() -> None:
    assert len(diffs()) == len(adopt.__all__)
    for name in adopt.__all__:
        assert f"from floptally.adopt.{name} import" in PAGE
