# SPDX-License-Identifier: Apache-2.0
"""The numbers of tests/golden, as the C++ tests compare them, through Python."""

from __future__ import annotations

from typing import Any

import pytest

import floptally
from conftest import golden

MODELS = golden("models.json")

PARTS = {
    "attn.q_proj": "attention.qkv",
    "attn.k_proj": "attention.qkv",
    "attn.v_proj": "attention.qkv",
    "attn.qk": "attention.core",
    "attn.pv": "attention.core",
    "attn.o_proj": "attention.output",
    "mlp.gate_proj": "mlp",
    "mlp.up_proj": "mlp",
    "mlp.down_proj": "mlp",
    "lm_head": "lm_head",
}


def own_format(cross: dict[str, Any]) -> dict[str, Any]:
    """A stack of cross attentions, in floptally's own format."""
    part = {
        "type": "cross_attention",
        "num_heads": cross["num_attention_heads"],
        "num_kv_heads": cross["num_key_value_heads"],
        "head_dim": cross["hidden_size"] // cross["num_attention_heads"],
        "context_size": cross["context_size"],
    }
    return {
        "model_type": "floptally",
        "hidden_size": cross["hidden_size"],
        "layers": [{"repeat": cross["num_layers"], "parts": [part]}],
    }


def batch_of(batch: dict[str, Any]) -> dict[str, Any]:
    """The keywords of flops() for a batch of the golden files."""
    arguments: dict[str, Any] = {}
    if "grid_thw" in batch:
        arguments["grid_thw"] = batch["grid_thw"]
    if "seqlens" in batch:
        arguments["lengths"] = batch["seqlens"]
    elif "new" in batch:
        arguments["new_tokens"] = [(n, context - n) for n, context in zip(batch["new"], batch["context"], strict=True)]
    elif "sequences" in batch:
        first = batch["sequences"][0]
        if "history" in first:
            group = batch.get("target_group", 1)
            arguments["sequences"] = [
                (one["contextual"], one["history"], one["targets"], group) for one in batch["sequences"]
            ]
        elif "kv" in first:
            arguments["lengths"] = [one["q"] for one in batch["sequences"]]
            arguments["encoder_lengths"] = [one["kv"] for one in batch["sequences"]]
        else:
            arguments["new_tokens"] = [(one["new"], one["context"] - one["new"]) for one in batch["sequences"]]
    elif "batch_size" in batch:
        arguments["lengths"] = [batch["seq_len"]] * batch["batch_size"]
    return arguments


@pytest.mark.parametrize("row", golden("exact.json"), ids=lambda row: row["id"])
def test_flops_of_every_golden_test_case_equal_an_enumeration_of_matmuls(row: dict[str, Any]) -> None:
    model = row["model"]
    config = own_format(model) if isinstance(model, dict) else MODELS[model]
    cost = floptally.cost(
        config,
        mla="absorbed" if "absorbed" in row["id"] else "expanded",
        mtp=config.get("num_nextn_predict_layers", 0) or 0,
    )
    arguments = batch_of(row["batch"])
    if "grid_thw" in arguments and "lengths" not in arguments:  # a tower alone: a tally asks for no text
        tally = floptally.Tally(cost)
        tally.add_grid_thw(arguments["grid_thw"])
        arguments = {"tally": tally}
    work = cost.flops(**arguments)
    # The file takes a step for three forwards of everything. Pixels need no gradient: one of the patch embedding's less.
    of_pixels = row["forward_components"].get("vit.patch_embed", 0)
    assert work.total == row["expected_flops"] - of_pixels
    assert work.useful.forward == row["forward_flops"]
    assert work.executed_total == row["training_flash_backward_flops"] - of_pixels
    assert work.padded_total == work.total
    assert sum(one.forward for one in work.useful.components.values()) == row["forward_flops"]
    if set(row["forward_components"]) <= set(PARTS) and not isinstance(model, dict):
        expected: dict[str, int] = {}
        for product, count in row["forward_components"].items():
            expected[PARTS[product]] = expected.get(PARTS[product], 0) + count
        assert {name: one.forward for name, one in work.useful.components.items()} == expected


MASKS = {
    "causal": floptally.Mask.causal,
    "bidirectional": floptally.Mask.bidirectional,
    "sliding_window": floptally.Mask.sliding_window,
    "two_sided_window": floptally.Mask.window,
    "chunked": floptally.Mask.chunked,
    "topk": floptally.Mask.top_k,
    "compressed_keys": floptally.Mask.compressed_keys,
    "prefix_lm": floptally.Mask.prefix_lm,
}


def test_attended_pairs_of_every_mask_equal_an_enumeration() -> None:
    checked = 0
    for row in golden("mask_pairs.json"):
        if row["mask"] not in MASKS or row["n_q"] > row["n_k"]:
            continue
        mask = MASKS[row["mask"]](*row["args"])
        past = row["n_k"] - row["n_q"]
        if row["mask"] not in ("causal", "bidirectional", "sliding_window") and past:
            continue  # where queries stand is another matter for these: tests/statistics/mask.test.cpp
        assert mask.pairs(row["n_q"], past) == row["pairs"], row
        checked += 1
    assert checked > 100


def boundaries(batch: dict[str, Any], key: str) -> list[int]:
    every: list[int] = batch[key]
    return every[: batch["cu_seqlens_argmin"]] if "cu_seqlens_argmin" in batch and key == "cu_seqlens" else every


@pytest.mark.parametrize("row", golden("batch_layouts.json"), ids=lambda row: row["id"])
def test_batches_copied_from_public_test_suites_have_the_sums_that_those_suites_assert(row: dict[str, Any]) -> None:
    expected = row["expected"]
    if "grid_thw" in row:
        merging = floptally.Mask.merged_patches(row["spatial_merge_size"])
        images = floptally.Tally([merging])
        images.add_grid_thw(row["grid_thw"])
        sums = {
            "patches": images.get("tokens", tower="vision"),
            "sum_frame_patches_squared": images.get("squares", tower="vision"),
            "merged_tokens": images.pairs(merging),
        }
        known = {name: value for name, value in expected.items() if name in sums}
        assert known and known == {name: sums[name] for name in known}
        return
    step = floptally.Tally()
    cross = "cross_product" in expected
    for batch in row.get("microbatches", []):
        if "cross_cu_seqlens" in batch:
            own = boundaries(batch, "cu_seqlens_unpadded")
            other = batch["cross_cu_seqlens_unpadded"]
            lengths = [end - begin for begin, end in zip(own, own[1:])]
            step.add_encoder_decoder(lengths, [end - begin for begin, end in zip(other, other[1:])])
        elif "cu_seqlens_unpadded" in batch:
            step.add_cu_seqlens(boundaries(batch, "cu_seqlens_unpadded"))
        elif "cu_seqlens" in batch and len(batch["cu_seqlens"]) > 1:
            step.add_cu_seqlens(boundaries(batch, "cu_seqlens"))
        else:
            rows, columns = batch["tokens"]
            length = batch.get("config_seq_len", columns)
            step.add_padded([length] * rows, length)
    for lengths in row.get("per_dp_rank_lengths", []):
        rank = floptally.Tally()
        rank.add_lengths(lengths)
        step += rank
    sums = {
        "total_tokens": step.tokens,
        "sum_L_squared": step.get("squares"),
        "cross_product": step.get("crossed"),
    }
    if cross:
        expected = {name: value for name, value in expected.items() if name != "total_tokens"}  # padded, of a peer
    known = {name: value for name, value in expected.items() if name in sums}
    assert known and known == {name: sums[name] for name in known}


PRESETS = {
    "verl/": "verl",
    "megatron_lm/": "megatron",
    "megatron_bridge/": "megatron_bridge",
    "automodel/nemotron-h-8b/": "nemo_automodel_hybrid",
    "automodel/": "nemo_automodel",
    "maxtext/": "maxtext",
    "levanter/": "levanter",
    "nanotron/": "nanotron",
    "recsys/": "recsys_examples",
}

#: Where the peer's number is a mistake, which no convention reproduces: tests/golden/peers.test.cpp lists each.
MISTAKES = (
    "verl/test/apertus/",
    "verl/test/qwen3_vl",
    "megatron_bridge/gemma-3-1b/",
    "megatron_bridge/mistral-7b-v0.1/",
    "automodel/mistral-7b-v0.1/",
    "automodel/nemotron-h-8b/",
    "automodel/test/",
    "maxtext/qwen3-next-80b-a3b/",
    "levanter/qwen3-30b-a3b/",
)


def config_of(case: dict[str, Any]) -> dict[str, Any] | None:
    """The config of a case that the reader reads; the others are built from parts, in C++."""
    model = case["model"]
    config: dict[str, Any] = {**(MODELS[model] if isinstance(model, str) else model), **case.get("but", {})}
    is_type = config.get("model_type") in floptally.models()
    whole = "vocab_size" in config or "text_config" in config or config.get("model_type") == "hstu"
    unknown_router = config.get("num_experts_per_tok") and not any(
        name in config for name in ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
    )
    return config if is_type and whole and config.get("shared_expert_gate", True) and not unknown_router else None


def peers() -> list[Any]:
    chosen = []
    for case in golden("peers.json"):
        preset = next((how for ids, how in PRESETS.items() if case["id"].startswith(ids)), None)
        plain = not {"scope", "passes", "recompute"} & case.keys() and batch_of(case["batch"])
        if preset and plain and "pipeline" not in case["batch"] and "mtp" not in case["batch"] and config_of(case):
            chosen.append(pytest.param(case, preset, id=case["id"]))
    return chosen


@pytest.mark.parametrize(("case", "preset"), peers())
def test_conventions_give_the_numbers_of_public_flop_counters(case: dict[str, Any], preset: str) -> None:
    config = config_of(case)
    assert config is not None
    cost = floptally.cost(config)
    arguments = batch_of(case["batch"])
    plan = floptally.Plan(flash_attention=False)

    def total(convention: str) -> int:
        tally = floptally.Tally(cost, convention=convention)
        for name, value in arguments.items():
            getattr(tally, f"add_{name}")(value)
        return cost.flops(tally=tally, convention=convention, plan=plan).total

    if not case["id"].startswith(MISTAKES):
        assert total(preset) == case["expected"]
    if "exact" in case and preset != "recsys_examples":  # there, exact has the backward of a fused kernel
        assert total("exact") == case["exact"]


def test_at_least_150_numbers_of_public_flop_counters_are_compared() -> None:
    assert len(peers()) >= 150
