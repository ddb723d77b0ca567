# SPDX-License-Identifier: Apache-2.0
"""Keys of a config that nothing reads, sizes that a count assumes, and numbers that JSON lacks."""

from __future__ import annotations

import enum
import json
import logging
import math
import warnings
from pathlib import Path
from typing import Any

import pytest

import floptally
from floptally import callbacks
from floptally.adopt import verl

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 97,
}
NEWER = {**LLAMA, "moe_latent_dim": 32}
H100 = "NVIDIA H100 80GB HBM3"
UNREAD = "config has a size that is not read: moe_latent_dim (32)"


def without_warning(config: Any, **options: Any) -> floptally.Cost:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return floptally.cost(config, **options)


def test_a_size_in_a_config_that_the_spec_does_not_read_is_an_error_by_default() -> None:
    for options in ({}, {"strict": None}):
        with pytest.raises(floptally.Error, match="^moe_latent_dim: names a size that spec llama does not read, got 32"):
            floptally.cost(NEWER, **options)  # type: ignore[arg-type]
    with pytest.raises(floptally.Error, match="^moe_latent_dim: is not read by spec llama"):
        floptally.cost(NEWER, strict=True)
    with pytest.raises(floptally.Error, match="^moe_latent_dim: names a size"):
        floptally.flops(NEWER, lengths=[5])
    with pytest.warns(floptally.AssumptionWarning, match="moe_latent_dim"):
        assert floptally.flops(NEWER, lengths=[5], strict=False).total == floptally.flops(LLAMA, lengths=[5]).total


def test_an_unread_config_key_that_is_not_a_size_is_only_a_note_by_default() -> None:
    config = {**LLAMA, "is_gpu": True, "train_batch_size": 8, "q_group_size": 128, "cache_size": 64, "save_freq": 5, "lora_rank": 8}
    assert len(without_warning(config).notes) == 6
    assert without_warning(config).assumptions == []
    assert without_warning(config, strict=False) == without_warning(LLAMA)
    with pytest.raises(floptally.Error, match="^cache_size: is not read by spec llama"):
        floptally.cost(config, strict=True)


def test_a_misspelt_config_key_is_a_warning_that_names_the_key_that_is_read() -> None:
    spec = "spec mine : llama\nwith window 1024\nsees = window(.window)\n"
    config = {**LLAMA, "model_type": "mine"}
    note = "config has a key that is not read: windwo (3); window is read"
    with pytest.warns(floptally.AssumptionWarning) as warned:
        cost = floptally.cost({**config, "windwo": 3}, spec=spec)
    assert note in cost.assumptions and f"mine: {note}" in [str(one.message) for one in warned]
    for keys in ({"windwo": 3, "window": 3}, {"is_gpu": True}):
        assert not [text for text in floptally.cost({**config, **keys}, spec=spec).assumptions if "not read" in text]


def test_each_assumed_config_size_gives_one_warning_at_the_line_of_the_call() -> None:
    config = {key: value for key, value in NEWER.items() if key not in ("architectures", "vocab_size")}
    with pytest.warns(floptally.AssumptionWarning) as warned:
        cost = floptally.cost(config, strict=False)
    assert [str(one.message) for one in warned] == ["llama: " + text for text in cost.assumptions]
    assert cost.assumptions == [
        "config names no architectures: counted with the head of LlamaForCausalLM",
        "config does not say all sizes: counted with the defaults of the class, vocab_size 32000",
        UNREAD,
    ]
    assert {one.filename for one in warned} == {__file__}
    with warnings.catch_warnings(record=True) as shown:
        warnings.resetwarnings()
        for _ in range(3):
            floptally.cost(config, strict=False)
    assert len(shown) == 3  # one for each assumption, not for each call
    assert (cost + cost).assumptions == 2 * cost.assumptions


def test_assumed_config_sizes_are_in_the_report_and_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.warns(floptally.AssumptionWarning):
        cost = floptally.cost({**NEWER, "model_type": "mistral", "architectures": ["MistralForCausalLM"]}, strict=False)
    with caplog.at_level(logging.INFO, logger="floptally.meter"):
        meters = [floptally.Meter(cost, gpus=1, peak_tflops=100) for _ in range(3)]
    assert [record.getMessage() for record in caplog.records if "moe_latent_dim" in record.getMessage()] == [f"mistral: {UNREAD}"]
    assert UNREAD in callbacks.MeterAdapter(meters[0]).report().splitlines()


def test_a_size_in_a_config_that_the_spec_does_not_read_is_only_a_warning_in_an_adopted_trainer() -> None:
    with pytest.warns(floptally.AssumptionWarning, match="moe_latent_dim"):
        counter = verl.FlopsCounter(NEWER, convention="exact", accelerator=H100)
    plain = verl.FlopsCounter(LLAMA, convention="exact", accelerator=H100)
    assert counter.estimate_flops([5, 9], 1.0) == plain.estimate_flops([5, 9], 1.0)


def test_a_config_may_have_infinity_and_numpy_numbers(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    plain = without_warning(LLAMA)

    class Kind(enum.IntEnum):
        LAYERS = 2

    same = {
        **LLAMA,
        "hidden_size": numpy.int64(64),
        "num_attention_heads": numpy.array(4),
        "num_hidden_layers": Kind.LAYERS,
        "rms_norm_eps": numpy.float32(1e-6),
        "tie_word_embeddings": numpy.bool_(False),
        "layer_types": numpy.array(["full_attention", "full_attention"]),
        "time_step_limit": (0.0, math.inf),
        "rope_theta": math.nan,
        "id2label": {numpy.int64(0): "no"},
    }
    assert without_warning(same) == plain
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**LLAMA, "time_step_limit": [0.0, math.inf, -math.inf, math.nan]}))
    assert without_warning(file) == plain
    for value, shown in ((math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN"), (numpy.float64(64.5), "64.5")):
        with pytest.raises(floptally.Error, match=f"^hidden_size: must be an integer from 1 to 16777216, got {shown}$"):
            floptally.cost({**LLAMA, "hidden_size": value})
    file.write_text('{"model_type": "llama",\n "rope_scaling": {"factor": Inf}}')
    with pytest.raises(floptally.Error, match='^config: .* at line 2, column 29, near the key "rope_scaling.factor"$'):
        floptally.cost(file)


QUANTISED = json.loads((Path(__file__).resolve().parents[1] / "golden" / "quantised.json").read_text())


@pytest.mark.parametrize("kind", QUANTISED["quantization"])
def test_a_quantised_config_counts_the_same_as_its_base_model(kind: str) -> None:
    """With the keys that each tool writes (tests/golden/generate_quantised.py runs the tools' own code)."""
    config, quantised = QUANTISED["config"], QUANTISED["quantization"][kind]
    base = without_warning(config)
    for config_with in (
        {**config, "quantization_config": quantised},
        {**config, "quantization_config": quantised, "torch_dtype": "bfloat16", "unsloth_fixed": True, "unsloth_version": "2025.3.19"},
        {**config, **dict.fromkeys(("quantization", "quantization_config"), {"group_size": 64, "bits": 4, "mode": "affine"})},  # mlx-lm 0.32.2
    ):
        assert without_warning(config_with) == base
    # What a quantised checkpoint adds to the model itself is still seen.
    with pytest.raises(floptally.Error, match="^moe_latent_dim: names a size"):
        floptally.cost({**config, "quantization_config": quantised, "moe_latent_dim": 64})


def test_generation_settings_in_a_config_are_not_read_as_sizes() -> None:
    """Older fine-tuned checkpoints keep them in their config.json, Whisper's `forced_decoder_ids` among them."""
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    names = {name for name in vars(transformers.GenerationConfig()) if not name.startswith("_")}
    names.discard("use_mtp")  # in a config.json it adds layers to the model
    assert len(names) > 40 and "forced_decoder_ids" not in names
    for name in (*names, "forced_decoder_ids"):
        for value in (3, 0.5, True, "early", [4, 5], [[1, 50259], [2, 50359]]):
            floptally.cost({**LLAMA, name: value})


def test_a_sliding_window_in_a_llama_config_is_an_error_because_programs_disagree() -> None:
    """LlamaForCausalLM ignores it, and servers apply it: the caller decides."""
    windowed = {**LLAMA, "sliding_window": 4}
    with pytest.raises(floptally.Error, match="^sliding_window: names a size that spec llama does not read, got 4"):
        floptally.cost(windowed)
    with pytest.warns(floptally.AssumptionWarning, match="sliding_window"):
        as_the_class = floptally.cost(windowed, strict=False)
    assert as_the_class.total_flops(lengths=[9]) == floptally.cost(LLAMA).total_flops(lengths=[9])
    assert without_warning({**LLAMA, "sliding_window": None}) == without_warning(LLAMA)
    mistral = floptally.cost({**windowed, "model_type": "mistral", "architectures": ["MistralForCausalLM"]})
    assert mistral.total_flops(lengths=[9]) < as_the_class.total_flops(lengths=[9])
