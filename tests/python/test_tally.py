# SPDX-License-Identifier: Apache-2.0
"""Tallies: sums, accumulators, pickles, subclasses; and masks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import floptally
from floptally import Mask, Tally


def test_the_order_of_additions_does_not_change_a_tally(mistral: floptally.Cost) -> None:
    parts = [[512, 9000], [1], [4096, 4096, 17]]
    tallies = []
    for lengths in parts:
        tally = Tally(mistral)
        tally.add_lengths(lengths)
        tallies.append(tally)
    forwards = tallies[0] + tallies[1] + tallies[2]
    backwards = Tally(mistral)
    for tally in reversed(tallies):
        backwards += tally
    whole = Tally(mistral)
    whole.add_lengths(np.concatenate(parts))
    assert forwards == backwards == whole
    assert mistral.flops(tally=whole).total == sum(mistral.flops(tally=tally).total for tally in tallies)
    assert whole.get("count") == 6 and whole.tokens == 512 + 9000 + 1 + 8192 + 17
    assert whole.pairs(Mask.sliding_window(4096)) == sum(
        Mask.sliding_window(4096).pairs(n) for n in np.concatenate(parts).tolist()
    )
    assert whole.pairs(Mask.causal()) == sum(n * (n + 1) // 2 for n in np.concatenate(parts).tolist())
    with pytest.raises(floptally.Error, match="masks: this tally keeps no pairs of chunked"):
        whole.pairs(Mask.chunked(5))
    with pytest.raises(floptally.Error, match="masks: tallies of different masks cannot be added up: build both with the same masks"):
        whole += Tally()
    assert tallies[1].tokens == 1
    assert repr(tallies[0]) == "<Tally of 2 sequences, 9512 tokens>"


def test_a_tally_has_separate_accumulators_for_useful_and_padded_sequences(mistral: floptally.Cost) -> None:
    tally = Tally(mistral)
    tally.add_cu_seqlens([0, 5, 9], [0, 8, 16], 1)
    assert (tally.get("tokens"), tally.get("tokens", "padded")) == (5, 16)
    assert (tally.get("count"), tally.get("count", "padded")) == (1, 2)
    assert tally.pairs(Mask.sliding_window(4096), "padded") == 2 * 36
    remaining = Tally(mistral)
    remaining.add_cu_seqlens([0, 5, 9], [0, 8, 16], cu_seqlens_real=[0, 5])
    assert remaining == tally
    padded = Tally(mistral)
    padded.add_padded([5, 0], 8)
    assert padded == tally
    tally.add_routed(3, 4)
    assert (tally.get("routed"), tally.get("routed", "padded")) == (3, 4)
    with pytest.raises(floptally.Error, match="statistic: must be one of count, tokens"):
        tally.get("token")
    with pytest.raises(floptally.Error, match="view: must be one of useful, padded"):
        tally.get("tokens", "executed")


def test_accumulators_of_a_tally_are_a_copy_that_can_rebuild_the_tally(mistral: floptally.Cost) -> None:
    tally = Tally(mistral)
    tally.add_lengths([512, 9000])
    accumulators = tally.accumulators()
    assert accumulators.dtype == np.int64 and accumulators.ndim == 1
    accumulators[:] += accumulators.copy()
    assert tally.tokens == 9512
    twice = Tally.from_accumulators(mistral, accumulators)
    assert twice == tally + tally
    assert Tally.from_accumulators(tally, accumulators) == twice
    assert Tally.from_accumulators(mistral.masks, accumulators.tolist()) == twice
    with pytest.raises(floptally.Error, match=f"accumulators: must have {len(accumulators)} integers for these masks, got 3"):
        Tally.from_accumulators(mistral, [1, 2, 3])
    full = Tally()
    full.add_lengths([2**32 - 1])  # Σ L² has its highest bit set: a negative accumulator of int64, the same 64 bits
    assert full.accumulators().min() < 0 and Tally.from_accumulators(None, full.accumulators()).get("squares") == (2**32 - 1) ** 2


def test_a_tally_for_a_convention_has_the_accumulators_that_the_convention_needs(mistral: floptally.Cost) -> None:
    tally = Tally(mistral, convention="verl")
    tally.add_lengths([512, 9000])
    assert mistral.flops(tally=tally, convention="verl").total == (
        mistral.flops(lengths=[512, 9000], convention="verl").total
    )
    plan = floptally.Plan(recompute="full")
    assert Tally(mistral, plan=plan) == Tally(mistral)
    begun = Tally(tally)
    assert begun.tokens == 0 and begun.masks == tally.masks


def test_a_pickled_tally_keeps_masks_and_towers(mistral: floptally.Cost) -> None:
    tally = Tally(mistral)
    tally.add_lengths([512, 9000])
    assert pickle.loads(pickle.dumps(tally)) == tally
    assert copy.copy(tally) == tally and copy.deepcopy(tally) == tally
    other = tally.copy()
    other.add_lengths([1])
    assert tally.tokens == 9512
    images = Tally([Mask.merged_patches(2), Mask.causal()])
    images.add_grid_thw([1, 4, 4])
    images.add_lengths([7])
    again = pickle.loads(pickle.dumps(images))
    assert again == images and again.get("tokens", tower="vision") == 16
    again.add_grid_thw([1, 4, 4])
    assert again.get("tokens", tower="vision") == 32
    with pytest.raises(TypeError):
        hash(tally)


class Logged(Tally):
    """A subclass keeps what it adds, through a pickle too."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.calls = 0

    def add_lengths(self, lengths: Any) -> None:
        self.calls += 1
        super().add_lengths(lengths)


def test_the_class_tally_can_be_subclassed(mistral: floptally.Cost) -> None:
    tally = Logged(mistral)
    tally.add_lengths([512])
    tally.add_lengths([9000])
    assert (tally.calls, tally.tokens) == (2, 9512)
    assert mistral.flops(tally=tally).total == mistral.flops(lengths=[512, 9000]).total
    again = pickle.loads(pickle.dumps(tally))
    assert type(again) is Logged and again == tally and again.calls == 2
    again += tally
    assert type(again) is Logged and again.tokens == 2 * 9512


def test_masks_compare_by_value_and_can_be_pickled() -> None:
    masks = [
        Mask.causal(),
        Mask.bidirectional(),
        Mask.sliding_window(4096),
        Mask.window(3, 5),
        Mask.window(-1, 2),
        Mask.chunked(128),
        Mask.top_k(64),
        Mask.compressed_keys(4),
        Mask.cross_attention(),
        Mask.encoder(),
        Mask.prefix_lm(7),
        Mask.hstu(),
        Mask.hstu(is_causal=False, contextual=False),
        Mask.hstu(max_attn_len=64, min_full_attn_seq_len=8, windowed_targets=False),
        Mask.hstu(max_attn_len=64, targets_share_place=True),
        Mask.grid_windows(8, 3),
        Mask.clip_squares(1),
        Mask.merged_patches(2),
        Mask.causal().in_tower("audio"),
    ]
    assert len(set(masks)) == len(masks) == len({mask.name for mask in masks})
    for mask in masks:
        again = pickle.loads(pickle.dumps(mask))
        assert again == mask and hash(again) == hash(mask) and again.name == mask.name and again.tower == mask.tower
    assert repr(Mask.sliding_window(4096)) == "<Mask sliding_window(4096)>"
    assert Mask.causal().in_tower("vision").tower == "vision"
    assert Mask.causal().pairs(3, past=10) == 3 * 10 + 6
    assert Mask.cross_attention().pairs(3, keys=10) == 30
    with pytest.raises(floptally.Error, match="sliding_window: must be from 1 to 2147483647, got 0"):
        Mask.sliding_window(0)
    with pytest.raises(floptally.Error, match="length: must be an integer from 0 to 4294967295, got -1"):
        Mask.causal().pairs(-1)
    with pytest.raises(floptally.Error, match="past: length"):
        Mask.causal().pairs(2**32 - 1, 1)
    with pytest.raises(floptally.Error, match="masks: must be floptally.Mask objects, got 'causal'"):
        Tally(["causal"])  # type: ignore[list-item]
    with pytest.raises(floptally.Error, match="masks: must be a floptally.Cost, a Tally or a list of floptally.Mask"):
        Tally(5)  # type: ignore[arg-type]
