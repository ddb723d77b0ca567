# SPDX-License-Identifier: Apache-2.0
"""Findings F73 to F75 about the drop-ins, and what stands in their place where they cannot count.

Numbers without a name are what the trainers' own functions return, at the commits of originals.py.
"""

from __future__ import annotations

import functools
import logging
import sys
import types
import warnings
from typing import Any

import floptally
import originals
import pytest
from floptally.adopt import maxtext, megatron, megatron_bridge, torchtitan, verl
from test_adopt import H100, TINY, TINY_VISION, VERL_MODELS, arguments, container, named

GDP = {"spec": ["megatron.core.models.hybrid.hybrid_layer_specs", "gdp_stack_spec"]}


@pytest.fixture(autouse=True)
def nothing_was_warned(monkeypatch: pytest.MonkeyPatch) -> None:
    original = pytest.importorskip("floptally.adopt._original")
    monkeypatch.setattr(original, "_warned", set())


def hybrid(**changes: Any) -> types.SimpleNamespace:
    return arguments("megatron", named("megatron", "hybrid/bshd"), **changes)


# ---- layers that a spec replaces ----


@pytest.mark.parametrize(
    ("householders", "expected"), [(1, 301_889_224_704), (2, 370_365_431_808), (4, 507_317_846_016)]
)
def test_megatron_drop_in_replacement_counts_mamba_layers_as_gated_delta_products_if_the_layer_spec_is_gdp(householders: int, expected: int) -> None:
    args = hybrid(**GDP, gdp_num_householder=householders)
    assert megatron.num_floating_point_operations(args, 2) == expected
    plain = hybrid(gdp_num_householder=householders, spec=["a", "hybrid_stack_spec"])
    assert megatron.num_floating_point_operations(plain, 2) == 300_983_255_040


def test_exact_flops_of_a_gated_delta_product_layer_equal_the_flops_of_its_matmuls() -> None:
    one, three = (
        megatron.num_floating_point_operations(hybrid(**GDP, gdp_num_householder=n), 1, convention="exact")
        for n in (1, 3)
    )
    args = hybrid()
    inner = args.mamba_num_heads * args.mamba_head_dim
    keys = args.mamba_num_groups * args.mamba_state_dim
    weights = args.hidden_size * (inner + keys + args.mamba_num_heads) + 4 * (inner + keys)
    state = 2 * inner * args.mamba_state_dim  # what is written to it, and what was read of it to be taken off
    mamba_layers = args.hybrid_layer_pattern.count("M")
    assert three - one == 2 * 6 * args.seq_length * mamba_layers * (weights + state)


def lora() -> floptally.Plan:
    return floptally.Plan(weights=[floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("*/q_proj", "lora", rank=8)])


def test_verl_drop_in_replacement_with_convention_exact_returns_three_times_the_forward_flops_for_a_forward_only_pass_with_lora() -> None:
    config = {"model_type": "llama", **TINY}
    counter = verl.FlopsCounter(config, convention="exact", plan=lora(), accelerator=H100)
    forward = floptally.flops(config, lengths=[100, 30], plan=lora()).useful.forward
    told = counter.estimate_flops([100, 30], 1.0, forward_only=True, images_seqlens=None)[0]
    assert round(told * 1e12) / 3 == forward  # verl divides the MFU of infer_batch by 3
    step = floptally.flops(config, lengths=[100, 30], plan=lora()).total
    assert round(counter.estimate_flops([100, 30], 1.0, forward_only=False)[0] * 1e12) == step < 3 * forward


def test_verl_drop_in_replacement_with_convention_exact_warns_once_if_the_plan_is_not_forward_only() -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **TINY}
    counter = verl.FlopsCounter(config, convention="exact", plan=lora(), accelerator=H100)
    with pytest.warns(RuntimeWarning, match="forward-only passes by 3.*pass forward_only="):
        counter.estimate_flops([100], 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        counter.estimate_flops([100], 1.0)
        verl.FlopsCounter(config, accelerator=H100).estimate_flops([100], 1.0)


# ---- changed arguments ----


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("qwen3-next/bshd", {"linear_value_head_dim": 48}, 38_619_473_510_400),
        ("qwen3-next/bshd", {"experimental_attention_variant": "gdn2"}, 48_701_707_911_168),
        ("qwen3-next/bshd", {"mtp_num_layers": 1}, 62_960_764_452_864),
        ("qwen3-next/bshd", {"mtp_num_layers": 1, "linear_attention_freq": [1] * 8 + [0]}, 62_556_500_656_128),
        ("hybrid/bshd", {"mamba_num_heads": 3, "mamba_head_dim": 16}, 300_435_898_368),
    ],
)
def test_megatron_drop_in_replacement_with_random_arguments_counts_like_the_function_of_megatron(
    name: str, changes: dict[str, Any], expected: int
) -> None:
    args = arguments("megatron", named("megatron", name), **changes)
    assert megatron.num_floating_point_operations(args, 2) == expected


def test_megatron_mtp_layer_is_counted_with_the_attention_type_of_the_last_decoder_layer() -> None:
    args = functools.partial(arguments, "megatron", named("megatron", "qwen3-next/bshd"), mtp_num_layers=1)
    exact = functools.partial(megatron.num_floating_point_operations, batch_size=1, convention="exact")
    last_is_full = [1, 1, 1, 0, 1, 1, 1, 0]
    # Megatron-Core builds it from the last layer's specification; a list may also say so itself.
    assert (
        exact(args(linear_attention_freq=last_is_full))
        == exact(args(linear_attention_freq=4))
        == exact(args(linear_attention_freq=[*last_is_full, 0]))
        != exact(args(linear_attention_freq=[*last_is_full, 1]))
    )


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("llama", {"attention_type": "local_sliding"}, [2_708_471_808, 1_903_165_440, 805_306_368]),
        ("gemma3", {"mtp_num_layers": 1}, [7_250_903_040, 5_678_039_040, 1_572_864_000]),
        ("llama4", {"mtp_num_layers": 1}, [4_263_886_848, 3_428_843_520, 835_043_328]),
        (
            "deepseek",
            {"use_indexer": True, "indexer_topk": 64, "indexer_n_heads": 4, "indexer_head_dim": 16, "q_lora_rank": 24},
            [4_613_210_112, 3_617_587_200, 995_622_912],
        ),
    ],
)
def test_maxtext_drop_in_replacement_with_random_arguments_counts_like_the_function_of_maxtext(
    name: str, changes: dict[str, Any], expected: list[int]
) -> None:
    config = arguments("maxtext", named("maxtext", name), **changes)
    found = maxtext.calculate_tflops_training_per_device(config, log=False)
    assert [round(tflops * 10**12) for tflops in found] == expected


def test_maxtext_drop_in_replacement_with_convention_exact_counts_local_sliding_attention_as_a_window() -> None:
    local = arguments("maxtext", named("maxtext", "llama"), attention_type="local_sliding")
    count = functools.partial(maxtext.calculate_tflops_training_per_device, log=False, convention="exact")
    whole = arguments("maxtext", named("maxtext", "llama"))
    pairs = sum(range(513)) - sum(min(i, 128) for i in range(1, 513))  # of 512 tokens, beyond 128
    beyond = (
        12 * pairs * whole.num_query_heads * whole.head_dim * whole.num_decoder_layers * whole.per_device_batch_size
    )
    assert round(count(whole)[0] * 10**12) - round(count(local)[0] * 10**12) == beyond


# ---- arguments of any shape ----


def test_verl_drop_in_replacement_raises_no_exception_for_any_value_of_the_argument_images_seqlens() -> None:
    """What verl passes to every type: without a tower, with windows in one, with patches that are no whole cells."""
    vision = dict(TINY_VISION, window_size=16, fullatt_block_indexes=[2])
    windows = {"model_type": "qwen2_5_vl", "text_config": TINY, "vision_config": vision}
    for config in ({"model_type": "llama", **TINY}, windows, {"model_type": "qwen3_vl", **VERL_MODELS["qwen3_vl"]}):
        for convention in ("verl", "exact"):
            counter = verl.FlopsCounter(config, convention=convention, accelerator=H100)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                for images in (None, [], [16, 64], [6], [1, 2, 3]):
                    found = counter.estimate_flops([100, 200], 1.0, images_seqlens=images)[0]
                    assert found >= counter.estimate_flops([100, 200], 1.0)[0] > 0
            assert len(caught) <= 2 and all("Images are not counted" in str(one.message) for one in caught)


def vision_model() -> types.SimpleNamespace:
    tower = types.SimpleNamespace(
        depth=3, hidden_size=32, intermediate_size=48, spatial_merge_size=2, out_hidden_size=64
    )
    return container(named("megatron_bridge", "gpt/configured"), vision_config=tower)


def test_verl_drop_in_replacement_raises_no_exception_for_any_value_of_the_argument_num_vision_patches() -> None:
    cfg = vision_model()
    assert megatron_bridge.num_floating_point_operations(cfg, 2) == 1_409_286_144
    assert megatron_bridge.num_floating_point_operations(cfg, 2, num_vision_patches=128) == 1_439_956_992
    exact = functools.partial(megatron_bridge.num_floating_point_operations, cfg, 2, convention="exact")
    with pytest.warns(RuntimeWarning, match="num_vision_patches does not say how 128 patches are divided") as caught:
        assert exact(num_vision_patches=128) == exact(num_vision_patches=128) == exact()
    assert len(caught) == 1
    text = container(named("megatron_bridge", "gpt/configured"))
    assert megatron_bridge.num_floating_point_operations(text, 2, num_vision_patches=128) == 1_409_286_144


# ---- the original beside it ----


def module(monkeypatch: pytest.MonkeyPatch, name: str, source: str, folder: Any) -> types.ModuleType:
    """A module as a trainer's would be, from a file, so that its source can be read."""
    parts = name.split(".")
    for i in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    path = folder / f"{parts[-1]}.py"
    path.write_text(source)
    result = types.ModuleType(name)
    result.__file__ = str(path)
    exec(compile(source, str(path), "exec"), vars(result))
    monkeypatch.setitem(sys.modules, name, result)
    return result


TRAINING = """
RATE = 7
def num_floating_point_operations(args, batch_size, seqlen_squared_sum_in_batch=None, total_real_tokens_in_batch=None):
    return float(RATE * batch_size)
"""


def args_of_gpt() -> types.SimpleNamespace:
    return arguments("megatron", named("megatron", "gpt/bshd"))


@pytest.fixture()
def trainer(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> types.ModuleType:
    return module(monkeypatch, "megatron.training.training", TRAINING, tmp_path)


def test_a_drop_in_replacement_returns_the_count_of_the_trainer_and_warns_once_if_a_comparison_with_floptally_finds_a_difference(trainer: types.ModuleType) -> None:
    args = arguments("megatron", named("megatron", "gpt/bshd"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # by its own convention the trainer counts, and nothing else
        assert megatron.num_floating_point_operations(args, 2) == 14.0
    with pytest.warns(RuntimeWarning, match="the original counts 14, floptally .*docs/python.md") as caught:
        assert [megatron.num_floating_point_operations(args, 2, compare=True) for _ in range(3)] == [14.0] * 3
    assert len(caught) == 1
    assert megatron.num_floating_point_operations(args, 2, convention="exact") > 14
    assert megatron.num_floating_point_operations(args, 2, plan=lora()) > 14


@pytest.mark.parametrize("convention", ["megatron", "exact"])
def test_arguments_that_floptally_cannot_count_give_the_count_of_the_trainer_with_one_warning(trainer: types.ModuleType, convention: str) -> None:
    args = arguments("megatron", named("megatron", "gpt/bshd"), num_layers=2.5)
    with pytest.warns(RuntimeWarning, match="num_layers: must be a whole number.*Its own count is returned") as caught:
        for _ in range(3):
            assert megatron.num_floating_point_operations(args, 3, convention=convention, compare=convention == "megatron") == 21.0
    assert len(caught) == 1
    with pytest.raises(floptally.Error, match="no such"):
        megatron.num_floating_point_operations(args_of_gpt(), 3, convention="no such")


def test_the_original_function_of_a_trainer_is_found_after_floptally_has_replaced_it(trainer: types.ModuleType) -> None:
    args = arguments("megatron", named("megatron", "gpt/bshd"), num_layers=2.5)
    own = functools.partial(megatron.num_floating_point_operations, convention="exact")
    trainer.num_floating_point_operations = own  # type: ignore[attr-defined]
    with pytest.warns(RuntimeWarning):
        assert own(args, 3) == 21.0


def test_a_drop_in_replacement_asked_to_compare_counts_logs_both_the_trainer_count_and_the_floptally_count_once_per_new_input(trainer: types.ModuleType, caplog: pytest.LogCaptureFixture) -> None:
    args = arguments("megatron", named("megatron", "gpt/bshd"))
    exact = functools.partial(megatron.num_floating_point_operations, args, convention="exact", compare=True)
    with caplog.at_level(logging.INFO, "floptally.adopt"):
        found = [exact(2), exact(2), exact(4)]
    assert found[0] == found[1] and found[2] == 2 * found[0]
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "Megatron-LM: its own count 14",
        "Megatron-LM: its own count 28",
    ]
    assert f"floptally's {found[0]:.12g}" in caplog.text


def test_a_drop_in_replacement_asked_to_compare_counts_warns_once_if_the_trainer_is_not_installed() -> None:
    if "maxtext" in sys.modules:
        pytest.skip("maxtext is installed")
    config = arguments("maxtext", named("maxtext", "llama"))
    with pytest.warns(RuntimeWarning, match="maxtext.utils.maxtext_utils is not there to be compared with"):
        maxtext.calculate_tflops_training_per_device(config, log=False, compare=True)


def test_an_exception_in_the_original_count_of_a_trainer_does_not_stop_training(trainer: types.ModuleType) -> None:
    trainer.num_floating_point_operations = lambda *given, **more: 1 // 0  # type: ignore[attr-defined]
    args = arguments("megatron", named("megatron", "gpt/bshd"))
    with pytest.warns(RuntimeWarning, match="the original raises ZeroDivisionError"):
        assert megatron.num_floating_point_operations(args, 1) > 0


COUNTER = """
class FlopsCounter:
    def __init__(self, config):
        self.config = config
    def estimate_flops(self, batch_seqlens, delta_time, **kargs):
        return float(sum(batch_seqlens)) * (2 if "images_seqlens" in kargs else 1), 989.0
def get_device_flops():
    return 989.0
"""


def test_verl_drop_in_replacement_returns_the_count_of_verl_for_a_model_type_that_only_verl_knows(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    module(monkeypatch, "verl.utils.flops_counter", COUNTER, tmp_path)
    config = types.SimpleNamespace(model_type="minicpmo", to_dict=lambda: {"model_type": "minicpmo"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert verl.FlopsCounter(config).estimate_flops([3, 4], 1.0) == (7.0, 989.0)
    counter = verl.FlopsCounter(config, convention="exact")
    with pytest.warns(RuntimeWarning, match="Its own count is returned"):
        assert counter.estimate_flops([3, 4], 1.0) == (7.0, 989.0)
        assert counter.estimate_flops([3, 4], 1.0, images_seqlens=[4]) == (14.0, 989.0)


def test_torchtitan_drop_in_replacement_returns_the_count_of_torchtitan_for_a_model_without_a_spec() -> None:
    torch = pytest.importorskip("torch")

    class Config:
        def get_nparams_and_flops(self, model: Any, seq_len: int) -> tuple[int, int]:
            return 17, 6 * seq_len

    with pytest.warns(RuntimeWarning, match="config.dim: is missing: set it.*Its own count is returned"):
        assert torchtitan.get_nparams_and_flops(Config(), torch.nn.Linear(16, 1), 10, convention="exact") == (17, 60)


def test_a_floptally_error_is_raised_if_neither_floptally_nor_the_trainer_can_count_the_model(trainer: types.ModuleType) -> None:
    trainer.num_floating_point_operations = lambda *given, **more: 1 // 0  # type: ignore[attr-defined]
    args = arguments("megatron", named("megatron", "gpt/bshd"), num_layers=2.5)
    with pytest.raises(floptally.Error, match="num_layers: must be a whole number"):
        megatron.num_floating_point_operations(args, 1)
