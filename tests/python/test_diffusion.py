# SPDX-License-Identifier: Apache-2.0
"""Samples of a diffusion model: grids of latents, each with a text."""

from __future__ import annotations

from typing import Any

import pytest

import floptally

SD3: dict[str, Any] = {
    "_class_name": "SD3Transformer2DModel", "patch_size": 2, "in_channels": 4, "num_layers": 2, "attention_head_dim": 8,
    "num_attention_heads": 3, "joint_attention_dim": 10, "caption_projection_dim": 24, "pooled_projection_dim": 6,
    "out_channels": None, "dual_attention_layers": [], "qk_norm": None,
}


def test_samples_of_different_sizes_add_up() -> None:
    model = floptally.cost(SD3)
    both = model.flops(grid_thw=[(1, 8, 4), (1, 2, 6)], encoder_lengths=[7, 3])
    first = model.flops(grid_thw=[(1, 8, 4)], encoder_lengths=[7])
    second = model.flops(grid_thw=[(1, 2, 6)], encoder_lengths=[3])
    assert both.total == first.total + second.total
    assert both.total == both.padded_total


def test_padded_latents_and_texts_are_padded_alone() -> None:
    model = floptally.cost(SD3)
    batch: dict[str, Any] = {"grid_thw": [(1, 8, 4), (1, 2, 6)], "encoder_lengths": [7, 3]}
    padded = model.flops(**batch, grid_thw_padded=[(1, 8, 8)], encoder_lengths_padded=[16])
    assert padded.total == model.flops(**batch).total
    assert padded.padded_total == model.flops(grid_thw=[(1, 8, 8)] * 2, encoder_lengths=[16, 16]).total


def test_a_tally_takes_them_too() -> None:
    model = floptally.cost(SD3)
    tally = floptally.Tally(model)
    tally.add_grids_with_text([(1, 8, 4), (1, 2, 6)], [7, 3])
    assert tally.get("keys", tower="vision") == 10
    assert model.flops(tally=tally).total == model.flops(
        grid_thw=[(1, 8, 4), (1, 2, 6)], encoder_lengths=[7, 3]).total


def test_a_missing_text_is_an_error() -> None:
    model = floptally.cost(SD3)
    with pytest.raises(floptally.Error, match="encoder_lengths: is missing"):
        model.flops(grid_thw=[(1, 8, 4)])
    with pytest.raises(floptally.Error, match="must be one, or one for each grid_thw"):
        model.flops(grid_thw=[(1, 8, 4)], encoder_lengths=[7], encoder_lengths_padded=[7, 8])
