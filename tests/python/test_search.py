# SPDX-License-Identifier: Apache-2.0
"""Cost.search: layouts that fit, soonest first."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import floptally

LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 8, "num_attention_heads": 16, "num_key_value_heads": 8,
}  # fmt: skip


def search(**how: Any) -> floptally.Search:
    asked: dict[str, Any] = {"lengths": [4096], "global_batch": 64, "gpus": 16, "accelerator": "H100 SXM"}
    return floptally.cost(LLAMA).search(**{**asked, **how})


def test_found_layouts_are_sorted_and_use_all_gpus_and_the_whole_global_batch() -> None:
    found = search()
    assert found.fit + found.too_large + found.impossible == found.tried
    assert len(found.layouts) == 20
    for layout in found.layouts:
        assert layout.dp * layout.cp * layout.tp * layout.pp == 16
        assert layout.dp * layout.microbatch * layout.microbatches == layout.global_batch == 64
        assert sum(layout.layers_of_chunks) == 8 and len(layout.layers_of_chunks) == layout.pp * layout.vpp
        assert layout.bound <= layout.seconds and 0 < layout.mfu < 1 and layout.memory_gib <= 80
    seconds = [layout.seconds for layout in found.layouts]
    assert seconds == pytest.approx(sorted(seconds), rel=1e-5)
    assert [point[0] for point in found.points[:20]] == seconds


def test_the_memory_of_a_found_layout_equals_the_memory_that_the_method_fit_gives() -> None:
    cost = floptally.cost(LLAMA)
    for found in search(top=200).layouts[::25]:
        plan = floptally.Plan(recompute=found.recompute)  # type: ignore[arg-type]
        made = cost.flops(lengths=[4096] * found.microbatch, plan=plan).fit(
            dp=found.dp, cp=found.cp, tp=found.tp, pp=found.pp, vpp=found.vpp, zero=found.zero,  # type: ignore[arg-type]
            sequence_parallel=found.sequence_parallel, microbatches=found.microbatches,
        )  # fmt: skip
        assert found.memory_gib == pytest.approx(made.most / 2**30, rel=1e-12)


def test_a_layout_search_keeps_the_parallel_sizes_that_are_passed() -> None:
    found = search(tp=2, pp=2, zero="none", recompute="full", microbatch=2)
    assert found.layouts
    assert {(one.tp, one.pp, one.zero, one.recompute, one.microbatch) for one in found.layouts} == {(2, 2, "none", "full", 2)}


def test_a_higher_efficiency_gives_a_shorter_predicted_step() -> None:
    slow, fast = search(efficiency=0.3, top=1).layouts[0], search(efficiency=0.6, top=1).layouts[0]
    assert fast.seconds < slow.seconds
    assert slow.bound == fast.bound
    assert "given" in search(efficiency=0.3).assumed[0]
    assert "fitted to" in search().assumed[0]


def test_the_fastest_found_layout_is_written_as_settings_of_a_trainer_and_read_back() -> None:
    found = search(tp=4, pp=2, vpp=1)
    first = found.layouts[0]
    for name in ("megatron", "torchtitan", "areal", "fsdp2"):
        layout = floptally.ParallelLayout(layout=found.text(name), rank=0)  # type: ignore[arg-type]
        assert layout == floptally.ParallelLayout(dp=first.dp, cp=first.cp, tp=4, pp=2, rank=0)
    with pytest.raises(floptally.Error, match="layout: areal cannot express vpp"):
        search(pp=2, vpp=2).text("areal")


def test_the_explanation_of_a_layout_says_why_the_search_did_not_choose_the_layout() -> None:
    found = search(memory_gib=6.0)
    assert "impossible. num_attention_heads: must be a multiple of tp" not in found.explain("tp=8")
    assert ": impossible. layers: " in found.explain("pp=16")
    assert " GiB too many: weights " in found.explain("dp=16, zero=none, mb=4")
    assert "layouts are sooner" in found.explain("tp=4, mb=1")


def test_a_predicted_step_is_longer_for_unequal_sequences_than_for_equal_ones_of_as_many_tokens() -> None:
    even = search(lengths=[4096] * 16, global_batch=None, gpus=8, tp=1, cp=1, pp=2, vpp=1, microbatch=1)
    odd = search(lengths=[1024, 7168] * 8, global_batch=None, gpus=8, tp=1, cp=1, pp=2, vpp=1, microbatch=1)
    assert odd.layouts[0].seconds > even.layouts[0].seconds


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"accelerator": None}, "accelerator: is missing"),
        ({"accelerator": None, "peak_tflops": 100.0}, "memory_gib: is missing"),
        ({"accelerator": None, "peak_tflops": 100.0, "memory_gib": 80.0}, "network_gbps: is missing"),
        ({"efficiency": 1.5}, "efficiency: must be at most 1"),
        ({"lengths": [4096, 4096]}, "global_batch: must be 2, the number of sequences of lengths, got 64"),
        ({"trainer": "ours"}, "trainer: must be one of megatron, torchtitan, fsdp"),
        ({"zero": "some"}, "zero: must be"),
    ],
)
def test_invalid_input_of_a_layout_search_is_an_error_that_names_the_field(how: dict[str, Any], message: str) -> None:
    with pytest.raises(floptally.Error) as problem:
        search(**how)
    assert str(problem.value).startswith(message)


def test_a_layout_search_can_be_pickled_and_prints_as_a_table() -> None:
    found = search(top=3)
    again = pickle.loads(pickle.dumps(found))
    assert again.layouts == found.layouts
    assert str(found).count("\n") == 5 + len(found.assumed)
    assert json.loads(found.to_json())["fit"] == found.fit
    assert repr(found) == f"<Search: {found.fit} of {found.tried} layouts fit>"
