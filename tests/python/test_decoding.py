# SPDX-License-Identifier: Apache-2.0
"""Requests that are prefilled and decoded: closed forms, and PyTorch's counter on models that really generate."""

from __future__ import annotations

import importlib.util
import random
import sys
from typing import Any

import pytest

import floptally
from conftest import LLAMA_3_8B, SOURCE

FORWARD = floptally.Plan(phase="forward")
LAST = floptally.Plan(phase="forward", logits="last")
MODEL = floptally.cost(LLAMA_3_8B)


def test_flops_of_a_decoding_request_equal_published_numbers() -> None:
    assert MODEL.flops(requests=[(2000, 38)], plan=FORWARD).total == 31_662_244_626_432
    assert MODEL.flops(requests=[(2000, 38)], plan=LAST).total == 29_561_948_995_584
    assert MODEL.total_flops(requests=[(2000, 38)], plan=FORWARD, logits="last") == 29_561_948_995_584


def passes(prompt: int, generated: int, cached: int = 0, chunk: int = 1 << 30) -> list[tuple[int, int]]:
    """(n, past) of each pass, as an engine runs them."""
    done = cached
    all_passes = []
    while done < prompt:
        now = min(chunk, prompt - done)
        all_passes.append((now, done))
        done += now
    return all_passes + [(1, prompt + step) for step in range(generated - 1)]


CONFIGS: dict[str, dict[str, Any]] = {
    "full": LLAMA_3_8B,
    "windows": {"model_type": "gemma2", "sliding_window": 64, "num_hidden_layers": 4, "hidden_size": 256, "head_dim": 32},
    "chunks": {
        "model_type": "llama4_text", "attention_chunk_size": 32, "num_hidden_layers": 4, "hidden_size": 256,
        "intermediate_size": 128, "num_local_experts": 4,
    },
    "top-k": {"model_type": "deepseek_v32", "num_hidden_layers": 4, "index_topk": 24},
    "latent": {"model_type": "deepseek_v3", "num_hidden_layers": 4},
    "states": {"model_type": "qwen3_next", "num_hidden_layers": 4, "num_experts": 8, "num_experts_per_tok": 2},
    "mamba": {"model_type": "nemotron_h", "num_hidden_layers": 4, "hybrid_override_pattern": "M*M-"},
}  # fmt: skip


@pytest.mark.parametrize("name", [*CONFIGS, "top-k absorbed", "latent absorbed"])
def test_flops_of_a_decoding_request_equal_the_sum_over_its_prefill_and_decode_passes(name: str) -> None:
    kind, _, absorbed = name.partition(" ")
    model = floptally.cost(CONFIGS[kind], mla="absorbed" if absorbed else "expanded")
    dice = random.Random(3)
    for _ in range(6):
        requests = []
        for _ in range(3):
            prompt = dice.randint(1, 90)
            requests.append((prompt, dice.randint(0, 60), dice.randrange(prompt)))
        chunk = dice.choice([None, 1, 16, 50])
        listed = [one for each in requests for one in passes(*each, chunk=chunk or 1 << 30)]
        for plan in (FORWARD, LAST):
            closed = model.flops(requests=requests, prefill_chunk=chunk, plan=plan)
            assert closed.to_dict() == model.flops(new_tokens=listed, plan=plan).to_dict()


def test_bytes_of_a_decoding_request_equal_the_sum_over_its_engine_steps() -> None:
    model = floptally.cost(CONFIGS["states"])
    requests = [(20, 5), (7, 9), (30, 1)]
    moved = model.bytes(requests=requests, plan=LAST)
    expected = {kind: 0 for kind in moved.kinds}
    for step in range(9):
        batch = [now[step] for now in (passes(*one) for one in requests) if step < len(now)]
        for kind, count in model.bytes(new_tokens=batch, plan=LAST).kinds.items():
            expected[kind] += count
    assert dict(moved.kinds) == expected
    assert MODEL.bytes(requests=[(20, 5)], plan=LAST).kinds["weights"] == sum(
        MODEL.bytes(new_tokens=[one], plan=LAST).kinds["weights"] for one in passes(20, 5)
    )
    moved = MODEL.bytes(requests=[(2000, 38)], plan=LAST)
    assert moved.kinds["cache"] == 2 * 2 * 32 * 8 * 128 * sum(range(2000, 2037))
    read = moved.kinds["weights"] + moved.kinds["cache"]
    assert moved.mbu(1.0, gpus=1, memory_tbps=3.35) == pytest.approx(read / 3.35e12)


def test_a_meter_accepts_decoding_requests() -> None:
    meter = floptally.Meter(MODEL, gpus=1, peak_tflops=989, plan=LAST)
    with meter.step(seconds=1.0):
        meter.add(requests=[(2000, 38)])
    assert meter.last_step.useful == 29_561_948_995_584
    tally = floptally.Tally(MODEL, plan=LAST)
    tally.add_requests([(2000, 38)])
    assert meter.last_step.tally == tally


def test_speculative_decoding_steps_count_the_draft_model_and_the_target_model() -> None:
    steps = [(4, 4), (4, 0), (4, 2)]
    tally = floptally.Tally(MODEL, plan=FORWARD)
    tally.add_speculative(2000, steps)
    assert tally.get("tokens") == 4 + 0 + 2 + 3  # what was accepted, and one of its own in each step
    assert tally.get("tokens", "padded") == 3 * 5
    work = MODEL.flops(tally=tally, plan=FORWARD)
    assert work.total == MODEL.flops(new_tokens=[(5, 2000), (1, 2005), (3, 2006)], plan=FORWARD).total
    assert work.executed_total == MODEL.flops(new_tokens=[(5, 2000), (5, 2005), (5, 2006)], plan=FORWARD).total
    draft = floptally.Tally(MODEL, plan=FORWARD)
    draft.add_speculative(2000, steps, model="draft")
    # 4 passes a step; in the second the last accepted token is read first. What was rejected is read in vain.
    assert draft.get("tokens", "padded") == 4 + 5 + 4
    assert draft.get("tokens") == 4 + 2 + 3


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: MODEL.flops(requests=[(5, 5)]), r"requests: must be counted as a forward pass, since decoding does not train: pass plan=Plan"),
        (lambda: MODEL.flops(requests=[(5,)], plan=FORWARD), r"requests\[0\]: must be \(prompt, generated\) or"),
        (lambda: MODEL.flops(requests=[(5, 5), (5, 5, 5)], plan=FORWARD), r"requests\[1\]: must have fewer cached tokens"),
        (lambda: MODEL.flops(requests=[(0, 5)], plan=FORWARD), r"requests\[0\]: must have a prompt of at least 1 token"),
        (lambda: MODEL.flops(requests=[(5, -1)], plan=FORWARD), r"requests\[0\]\[1\]"),
        (lambda: MODEL.flops(requests=[(5, 5)], prefill_chunk=0, plan=FORWARD), "prefill_chunk: must be"),
        (lambda: MODEL.flops(lengths=[5], prefill_chunk=4, plan=FORWARD), "prefill_chunk: works only with requests: pass requests="),
        (lambda: MODEL.bytes(requests=[(5, 5)], batches=2, plan=FORWARD), "batches: cannot be passed with requests"),
        (lambda: MODEL.bytes(requests=[(5, 5)], lengths=[4], plan=FORWARD), "tally: .* or requests="),
        (
            lambda: floptally.Tally(MODEL).add_speculative(5, [(2, 3)]),
            r"steps\[0\]: accepted tokens must be at most the 2 drafted, got 3",
        ),
        (lambda: floptally.Tally(MODEL).add_tree([0], [5]), r"parents\[0\]"),
    ],
)
def test_invalid_decoding_requests_are_errors_that_name_the_field(call: Any, message: str) -> None:
    with pytest.raises(floptally.Error, match=message):
        call()


def test_a_prefix_tree_counts_a_shared_prompt_once() -> None:
    tree = floptally.Tally(MODEL)
    tree.add_tree([-1] + [0] * 8, [100] + [50] * 8)
    rows = floptally.Tally(MODEL)
    rows.add_lengths([150] * 8)
    assert rows.get("tokens") - tree.get("tokens") == 7 * 100
    causal = floptally.Mask.causal()
    assert rows.pairs(causal) - tree.pairs(causal) == 7 * (100 * 101 // 2)


@pytest.mark.parametrize("kind", ["llama", "qwen3", "mistral", "gemma2", "gpt_neox", "qwen3_moe", "deepseek_v3"])
def test_flops_of_decoding_requests_equal_those_that_pytorch_counts_in_generate(kind: str) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from torch.utils.flop_counter import FlopCounterMode

    more: dict[str, Any] = {
        "qwen3": {"head_dim": 16},
        "gemma2": {"head_dim": 16, "sliding_window": 4096},
        "qwen3_moe": {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
        "deepseek_v3": {
            "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8, "qk_rope_head_dim": 8, "v_head_dim": 16,
            "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
            "moe_intermediate_size": 32, "num_key_value_heads": 4,
        },
    }.get(kind, {})  # fmt: skip
    tiny = {
        "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "bos_token_id": None, "eos_token_id": None, "pad_token_id": 0,
    }  # fmt: skip
    config = transformers.AutoConfig.for_model(kind, **{**tiny, **more})
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    result = floptally.cost(model)
    for rows, prompt, generated in ((1, 20, 9), (3, 33, 5), (2, 7, 1)):
        tokens = torch.randint(1, 100, (rows, prompt))
        with FlopCounterMode(display=False) as counter:
            out = model.generate(
                tokens, attention_mask=torch.ones_like(tokens), max_new_tokens=generated, do_sample=False, use_cache=True
            )
        assert out.shape[1] == prompt + generated
        counted = result.flops(
            requests=[(prompt, generated)] * rows, plan=LAST, convention="torch_flop_counter_eager"
        )
        again = 0
        if kind == "deepseek_v3":  # its class caches the latent, and expands that of the whole past again in each pass
            expansion = sum(entry.flops_per_unit for entry in result.entries if entry.weight == "kv_b_proj")
            again = rows * expansion * sum(past for _, past in passes(prompt, generated))
        assert counted.total + again == counter.get_total_flops()


def test_flops_of_decoding_requests_do_not_depend_on_how_a_scheduler_cuts_prompts_into_steps(capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("serve_schedule", SOURCE / "examples" / "serve_schedule.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    sys.modules["serve_schedule"] = example
    spec.loader.exec_module(example)
    for budget in (64, 1024, 10_000):
        listed = [one for step in example.schedule(example.REQUESTS, budget) for one in example.new_tokens(step)]
        # However prompts are cut into steps: the same tokens, the same pairs, and with every logit the same FLOPs.
        assert MODEL.total_flops(new_tokens=listed, plan=FORWARD) == MODEL.total_flops(requests=example.REQUESTS, plan=FORWARD)
    example.main()
    printed = capsys.readouterr().out
    assert "202 steps, 3194 tokens" in printed
