# SPDX-License-Identifier: Apache-2.0
"""Attention modules drawn from parts, through floptally.from_torch, against the enumeration of their masks.

FLOPTALLY_SEED draws others. .ci/long attention draws three times 400, each with a fresh seed.
"""

from __future__ import annotations

import os

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import attention_sample
from conftest import EVERY

SEED = int(os.environ.get("FLOPTALLY_SEED", "51"))


@pytest.mark.parametrize("half", [0, 1])
def test_randomly_generated_attention_modules_are_counted_by_the_pairs_that_their_masks_allow(half):
    seed = 2 * SEED + half
    print(f"seed {seed}")
    told = []
    count, controls = (10, 3) if EVERY else (4, 2)
    found = attention_sample.sample(seed, count, controls, told.append)
    assert found["wrong"] == 0, (seed, told)
    assert found["control wrong"] == 0, (seed, told)
    assert found["refused"] <= count // 10, (seed, told)


def test_flipping_an_entry_of_an_attention_mask_changes_the_number_of_counted_pairs():
    drawn = attention_sample.Drawn("fused", "matmul", "causal", "masked_fill -inf", "softmax", "float32")
    flipped = attention_sample.replace(drawn, flipped=True)
    assert drawn.pairs(57) - flipped.pairs(57) == attention_sample.HEADS
    assert attention_sample.outcome(flipped).kind == "right"


def test_random_attention_samples_cover_more_than_forty_operators_that_apply_a_mask():
    # The parts have at least the operators that were counted wrong or refused once.
    names = {*attention_sample.SCORES, *attention_sample.WEIGHTS, *attention_sample.WHOLE}
    for name in ("s - 1e4 * m", "sub alpha", "rsub", "addcmul", "lerp", "minimum", "masked_scatter", "index_put", "row by row"):
        assert name in names
    assert len(names) > 40
