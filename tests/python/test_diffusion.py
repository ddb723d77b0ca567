# SPDX-License-Identifier: Apache-2.0
"""Samples of a diffusion model: grids of latents, each with a text."""

from __future__ import annotations

import json
import pathlib
import pickle
import re
from typing import Any

import pytest

import floptally

SD3: dict[str, Any] = {
    "_class_name": "SD3Transformer2DModel", "patch_size": 2, "in_channels": 4, "num_layers": 2, "attention_head_dim": 8,
    "num_attention_heads": 3, "joint_attention_dim": 10, "caption_projection_dim": 24, "pooled_projection_dim": 6,
    "out_channels": None, "dual_attention_layers": [], "qk_norm": None,
}


def test_flops_of_diffusion_samples_of_different_sizes_add_up() -> None:
    model = floptally.cost(SD3)
    both = model.flops(grid_thw=[(1, 8, 4), (1, 2, 6)], encoder_lengths=[7, 3])
    first = model.flops(grid_thw=[(1, 8, 4)], encoder_lengths=[7])
    second = model.flops(grid_thw=[(1, 2, 6)], encoder_lengths=[3])
    assert both.total == first.total + second.total
    assert both.total == both.padded_total


def test_an_image_size_in_pixels_becomes_the_latent_grid_of_the_spec() -> None:
    model = floptally.cost(SD3)
    batch: dict[str, Any] = {"encoder_lengths": [7, 3]}
    cells = model.flops(grid_thw=[(1, 8, 4), (1, 2, 6)], **batch)
    assert model.flops(pixels=[(1, 64, 32), (1, 16, 48)], **batch).total == cells.total
    assert model.total_flops(pixels=[(1, 64, 32), (1, 16, 48)], **batch) == cells.total
    again = pickle.loads(pickle.dumps(model))
    assert again.total_flops(pixels=[(1, 64, 32), (1, 16, 48)], **batch) == cells.total


def test_padding_of_latents_and_texts_counts_as_padded_flops_and_not_as_useful_flops() -> None:
    model = floptally.cost(SD3)
    batch: dict[str, Any] = {"grid_thw": [(1, 8, 4), (1, 2, 6)], "encoder_lengths": [7, 3]}
    padded = model.flops(**batch, grid_thw_padded=[(1, 8, 8)], encoder_lengths_padded=[16])
    assert padded.total == model.flops(**batch).total
    assert padded.padded_total == model.flops(grid_thw=[(1, 8, 8)] * 2, encoder_lengths=[16, 16]).total


def test_a_tally_accepts_diffusion_samples() -> None:
    model = floptally.cost(SD3)
    tally = floptally.Tally(model)
    tally.add_grids_with_text([(1, 8, 4), (1, 2, 6)], [7, 3])
    assert tally.get("keys", tower="vision") == 10
    assert model.flops(tally=tally).total == model.flops(
        grid_thw=[(1, 8, 4), (1, 2, 6)], encoder_lengths=[7, 3]).total


def test_a_diffusion_sample_without_its_text_is_an_error() -> None:
    model = floptally.cost(SD3)
    with pytest.raises(floptally.Error, match="encoder_lengths: is missing"):
        model.flops(grid_thw=[(1, 8, 4)])
    with pytest.raises(floptally.Error, match="pixels: the height and width must be multiples of 8"):
        model.flops(pixels=[(1, 64, 65)], encoder_lengths=[7])
    with pytest.raises(floptally.Error, match="must have one number, or one for each grid_thw"):
        model.flops(grid_thw=[(1, 8, 4)], encoder_lengths=[7], encoder_lengths_padded=[7, 8])


FLUX: dict[str, Any] = {
    "_class_name": "FluxTransformer2DModel", "in_channels": 64, "num_layers": 19, "num_single_layers": 38,
    "attention_head_dim": 128, "num_attention_heads": 24, "joint_attention_dim": 4096, "pooled_projection_dim": 768,
    "guidance_embeds": True,
}
CLIP: dict[str, Any] = {
    "architectures": ["CLIPTextModel"], "model_type": "clip_text_model", "hidden_size": 768, "intermediate_size": 3072,
    "num_hidden_layers": 12, "num_attention_heads": 12, "vocab_size": 49408, "max_position_embeddings": 77,
}


def write_pipeline(folder: pathlib.Path) -> None:
    index = {"_class_name": "FluxPipeline", "transformer": ["diffusers", "FluxTransformer2DModel"],
             "text_encoder": ["transformers", "CLIPTextModel"], "vae": ["diffusers", "AutoencoderKL"]}
    for name, config in (("model_index.json", index), ("transformer/config.json", FLUX), ("text_encoder/config.json", CLIP)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(config))


def test_condition_images_of_a_diffusion_sample_add_their_tokens_to_those_of_the_generated_image() -> None:
    model = floptally.cost(FLUX)
    edited = model.flops(grid_thw=[(1, 8, 8)], encoder_lengths=[7], condition_grid_thw=[(1, 4, 4), (1, 2, 3)])
    assert edited.total == model.flops(grid_thw=[(1, 1, 64 + 16 + 6)], encoder_lengths=[7]).total
    with pytest.raises(floptally.Error, match="condition_grid_thw: must be absent: SD3Transformer2DModel takes no condition grids"):
        floptally.cost(SD3).flops(grid_thw=[(1, 8, 4)], encoder_lengths=[7], condition_grid_thw=[(1, 4, 4)])


def test_a_diffusion_model_with_several_text_encoders_takes_a_text_length_for_each_encoder() -> None:
    model = floptally.cost({
        "_class_name": "LTX2VideoTransformer3DModel", "num_attention_heads": 2, "attention_head_dim": 8, "cross_attention_dim": 16,
        "audio_num_attention_heads": 2, "audio_attention_head_dim": 8, "audio_cross_attention_dim": 16, "num_layers": 1,
    })
    both = model.flops(grid_thw=[(2, 4, 4), (1, 4, 4)], encoder_lengths=[7, 5, 3, 2])
    one = [model.flops(grid_thw=[grid], encoder_lengths=texts).total for grid, texts in (((2, 4, 4), [7, 5]), ((1, 4, 4), [3, 2]))]
    assert both.total == sum(one)
    with pytest.raises(floptally.Error, match=re.escape("encoder_lengths: must have 2 numbers for each grid_thw (1), got 1")):
        model.flops(grid_thw=[(2, 4, 4)], encoder_lengths=[7])


def test_models_in_a_diffusers_pipeline_folder_are_counted_alone_or_together(tmp_path: pathlib.Path) -> None:
    write_pipeline(tmp_path)
    alone, encoder = floptally.cost(FLUX), floptally.cost(CLIP)
    whole = floptally.cost(tmp_path)
    sample: dict[str, Any] = {"grid_thw": [(1, 8, 8)], "encoder_lengths": [7]}
    assert whole.flops(**sample).total == alone.flops(**sample).total
    assert "text_encoder (CLIPTextModel)" in whole.notes[-1]
    both = floptally.cost(tmp_path, parts=["transformer", "text_encoder"])
    assert both.parameters == alone.parameters + encoder.parameters
    frozen = encoder.flops(lengths=[9], plan=floptally.Plan(phase="forward"))
    assert both.flops(**sample, lengths=[9]).total == alone.flops(**sample).total + frozen.total
    with pytest.raises(floptally.Error, match="parts: \"unet\" is not a part of FluxPipeline"):
        floptally.cost(tmp_path, parts=["unet"])
