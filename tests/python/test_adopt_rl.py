# SPDX-License-Identifier: Apache-2.0
"""The drop-ins of trainers that fine-tune and reinforce, beside the functions that they stand in for.

TRL's is that of its package, OLMo-core's that of its package or tree; the others are taken out of the trainers' files
(originals.py). What no original has, an exact count, is held against `floptally.flops`.
"""

from __future__ import annotations

import importlib
import random
import types
from collections.abc import Callable
from typing import Any

import floptally
import originals
import pytest
from conftest import golden
from floptally.adopt import _original, bionemo, miles, nemo_rl, olmo_core, open_instruct, prime_rl, slime, trl, veomni
from floptally.adopt._original import Original

H100 = "NVIDIA H100 80GB HBM3"
BASE = {
    "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2,
}  # fmt: skip
LENGTHS = [3, 100, 57, 1]


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No original is returned in place of ours."""
    monkeypatch.setattr(_original, "_warned", set())
    monkeypatch.setattr(Original, "find", lambda self, *, load: None)
    monkeypatch.setattr(importlib.import_module("floptally.adopt.olmo_core"), "method_of", lambda owner, method: None)


def config_of(kind: str, **changes: Any) -> Any:
    """A configuration of transformers of that type."""
    transformers = pytest.importorskip("transformers")
    return transformers.AutoConfig.for_model(kind, **{**BASE, **changes})


def exact(config: Any, **batch: Any) -> int:
    return floptally.flops(config, **batch).total


def drawn(kind: str, seed: int) -> Any:
    """A random one."""
    pick = random.Random(f"{kind} {seed}")
    heads = pick.choice([4, 8])
    changes: dict[str, Any] = {
        "num_attention_heads": heads, "num_key_value_heads": pick.choice([1, 2, heads]),
        "hidden_size": heads * pick.choice([8, 16]), "intermediate_size": pick.choice([40, 96]),
        "num_hidden_layers": pick.choice([2, 3, 5]), "vocab_size": pick.choice([31, 1000]),
    }  # fmt: skip
    if kind in ("qwen3", "qwen3_moe", "gpt_oss", "llama", "mixtral"):
        changes["head_dim"] = pick.choice([16, 24])
    if "moe" in kind:
        changes.update(
            num_experts=8, num_experts_per_tok=pick.choice([1, 3]), moe_intermediate_size=24, decoder_sparse_step=pick.choice([1, 2]),
            norm_topk_prob=True,
        )  # fmt: skip
    if kind == "gpt_oss":
        changes.update(
            num_local_experts=8, num_experts_per_tok=2, sliding_window=pick.choice([8, 64]),
            layer_types=[pick.choice(["sliding_attention", "full_attention"]) for _ in range(changes["num_hidden_layers"])],
        )  # fmt: skip
    if kind == "deepseek_v3":
        changes.update(
            num_key_value_heads=heads, q_lora_rank=pick.choice([None, 24]), kv_lora_rank=16, qk_nope_head_dim=8,
            qk_rope_head_dim=4, v_head_dim=12, moe_intermediate_size=24, n_routed_experts=8, n_shared_experts=1,
            num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1,
        )  # fmt: skip
    return config_of(kind, **changes)


def equal(rows: list[tuple[Any, float, float]]) -> None:
    assert rows
    different = originals.differing(rows)
    assert not different, different[:5]


# ---- TRL ----


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "mistral"])
def test_trl_drop_in_replacement_counts_flops_like_the_trl_package(kind: str) -> None:
    theirs = pytest.importorskip("trl.trainer.utils")
    rows = []
    for seed in range(20):
        config = drawn(kind, seed)
        for tokens in (1, 77, 4096):
            rows.append(((kind, seed, tokens), theirs.compute_flops_per_token(config, tokens), trl.compute_flops_per_token(config, tokens)))
            rows.append(((kind, seed), theirs.adjusted_mfu(41.0, config, tokens), trl.adjusted_mfu(41.0, config, tokens)))
    equal(rows)


def test_trl_drop_in_replacement_counts_experts_in_the_layers_where_the_formula_of_trl_has_experts(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRL has experts where i % step is 0; transformers' Qwen-MoE where (i + 1) % step is."""
    theirs = pytest.importorskip("trl.trainer.utils")
    for seed in range(10):
        config = drawn("qwen3_moe", seed)
        config.num_local_experts = 8  # which transformers calls num_experts, and TRL reads
        equal([(seed, theirs.compute_flops_per_token(config, 50), trl.compute_flops_per_token(config, 50))])


def test_trl_drop_in_replacement_counts_exactly_with_convention_exact() -> None:
    config = config_of("qwen2")
    assert trl.compute_flops_per_token(config, 100, convention="exact") * 100 == exact(config, lengths=[100])
    mean = trl.compute_flops_per_token(config, 7, convention="exact", lengths=LENGTHS)
    assert mean * sum(LENGTHS) == pytest.approx(exact(config, lengths=LENGTHS), rel=1e-12)
    assert trl.adjusted_mfu(41.0, config, 100, convention="exact") == 41.0
    with pytest.raises(floptally.Error, match="seq_len: must be a whole number from 1, got 0"):
        trl.compute_flops_per_token(config, 0)


# ---- VeOmni ----


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "seed_oss", "qwen3_moe", "gpt_oss", "deepseek_v3"])
def test_veomni_drop_in_replacement_counts_like_the_source_file_of_veomni(kind: str) -> None:
    theirs = originals.veomni()
    rows = []
    for seed in range(20):
        config = drawn(kind, seed)
        counter = veomni.VeomniFlopsCounter(config, accelerator=H100)
        for lengths in (LENGTHS, [4096]):
            wanted = theirs(config).estimate_flops(lengths, 0.5)
            found = counter.estimate_flops(lengths, 0.5)
            assert found[1] == pytest.approx(989.4, abs=0.5)
            rows.append(((kind, seed, lengths), wanted[0], found[0]))
    equal(rows)


def vision_config() -> Any:
    text = {**BASE, "head_dim": 16, "rope_parameters": {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e4}}
    vision = {
        "depth": 3, "hidden_size": 32, "intermediate_size": 48, "num_heads": 4, "spatial_merge_size": 2, "patch_size": 4,
        "in_channels": 3, "temporal_patch_size": 2, "out_hidden_size": 64, "deepstack_visual_indexes": [1],
    }  # fmt: skip
    transformers = pytest.importorskip("transformers")
    return transformers.AutoConfig.for_model("qwen3_vl", text_config=text, vision_config=vision)


def test_veomni_drop_in_replacement_counts_images_like_the_source_file_of_veomni() -> None:
    config = vision_config()
    counter = veomni.VeomniFlopsCounter(config, accelerator=H100)
    theirs = originals.veomni()(config)
    for frozen in (None, False, True):
        wanted = theirs.estimate_flops([50, 9], 2.0, images_seqlens=[16, 64], freeze_vit=frozen)[0]
        equal([(frozen, wanted, counter.estimate_flops([50, 9], 2.0, images_seqlens=[16, 64], freeze_vit=frozen)[0])])


def test_exact_veomni_count_with_lora_equals_the_count_under_a_lora_plan() -> None:
    config = config_of("qwen2")
    counter = veomni.VeomniFlopsCounter(config, convention="exact", accelerator=H100)
    lora = types.SimpleNamespace(r=8, target_modules=["q_proj", "down_proj"], target_parameters=None)
    plan = floptally.Plan(
        weights=[floptally.WeightSetting("*", "frozen"), *(floptally.WeightSetting(f"*/{name}", "lora", rank=8) for name in lora.target_modules)]
    )
    for arguments, wanted in ((None, floptally.Plan()), (lora, plan)):
        found = counter.estimate_flops(LENGTHS, 0.25, arguments)[0]
        assert round(found * 0.25 * 1e12) == floptally.flops(config, lengths=LENGTHS, plan=wanted).total
    vision = vision_config()
    counter = veomni.VeomniFlopsCounter(vision, convention="exact", accelerator=H100)
    frozen = floptally.Plan(weights=[floptally.WeightSetting("vision.*", "frozen")])
    found = counter.estimate_flops([50, 9], 1.0, images_seqlens=[16, 64], freeze_vit=True)[0]
    assert round(found * 1e12) == floptally.flops(vision, lengths=[50, 9], grid_thw=[(1, 4, 4), (1, 8, 8)], plan=frozen).total
    with pytest.raises(floptally.Error, match="lora_config: has no formula here: install VeOmni"):
        veomni.VeomniFlopsCounter(config, accelerator=H100).estimate_flops([5], 1.0, lora)


# ---- NeMo-RL ----


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "qwen3_moe", "deepseek_v3"])
def test_nemo_rl_drop_in_replacement_counts_like_the_source_file_of_nemo_rl(kind: str) -> None:
    theirs = originals.nemo_rl()
    rows = []
    for seed in range(20):
        config = drawn(kind, seed)
        wanted, found = theirs.from_config("a model", config), nemo_rl.FLOPTracker.from_config("a model", config)
        for tracker in (wanted, found):
            tracker.track_batch(LENGTHS)
            tracker.track(3, 40)
        rows.append(((kind, seed), wanted.total_flops, found.total_flops))
    equal(rows)


def test_nemo_rl_drop_in_replacement_counts_exactly_with_convention_exact() -> None:
    config = config_of("llama")
    tracker = nemo_rl.FLOPTracker.from_config("a model", config, convention="exact")
    tracker.track_batch(LENGTHS)
    tracker.track(2, 50)
    assert tracker.total_flops == exact(config, lengths=[*LENGTHS, 50, 50])
    tracker.reset()
    assert tracker.total_flops == 0
    with pytest.raises(floptally.Error, match="model_type: NeMo-RL has no formula for 'mistral'"):
        nemo_rl.FLOPTracker.from_config("a model", config_of("mistral"))


# ---- slime and miles ----


def megatron_arguments(seed: int, **changes: Any) -> types.SimpleNamespace:
    pick = random.Random(seed)
    heads = pick.choice([4, 8])
    args: dict[str, Any] = {
        "hidden_size": 64, "num_attention_heads": heads, "num_query_groups": pick.choice([1, 2, heads]), "vocab_size": 1000,
        "num_layers": 5, "ffn_hidden_size": 96, "kv_channels": pick.choice([8, 16]), "num_experts": None, "q_lora_rank": None,
        "kv_lora_rank": None, "qk_head_dim": 0, "qk_pos_emb_head_dim": 0, "v_head_dim": 0, "multi_latent_attention": False,
        "swiglu": True, "untie_embeddings_and_output_weights": True,
    }  # fmt: skip
    if seed % 3 == 1:
        args.update(num_experts=8, moe_ffn_hidden_size=24, moe_router_topk=2, moe_shared_expert_intermediate_size=pick.choice([None, 32]))
        if seed % 2:
            args["moe_layer_freq"] = pick.choice([1, 2, [0, 1, 1, 1, 1]])
    if seed % 3 == 2:
        args.update(
            multi_latent_attention=True, q_lora_rank=pick.choice([24, 48]), kv_lora_rank=16, qk_head_dim=8, qk_pos_emb_head_dim=4,
            v_head_dim=12,
        )
    return types.SimpleNamespace(**{**args, **changes})


@pytest.mark.parametrize("name", ["slime", "miles"])
def test_slime_and_miles_drop_in_replacements_count_like_the_source_files_of_slime_and_miles(name: str) -> None:
    original: Callable[..., float] = originals.slime() if name == "slime" else originals.miles().calculate_fwd_flops
    own = slime.calculate_fwd_flops if name == "slime" else miles.calculate_fwd_flops
    equal([(seed, original(LENGTHS, megatron_arguments(seed)), own(LENGTHS, megatron_arguments(seed))) for seed in range(60)])


def test_exact_count_of_the_slime_drop_in_replacement_is_the_count_of_one_forward_pass() -> None:
    args = megatron_arguments(0, num_attention_heads=4, num_query_groups=2, kv_channels=16)
    config = config_of("llama", num_hidden_layers=5)
    forward = floptally.Plan(phase="forward")
    assert slime.calculate_fwd_flops(LENGTHS, args, convention="exact") == floptally.flops(config, lengths=LENGTHS, plan=forward).total


def test_miles_drop_in_replacement_also_reads_the_hugging_face_config(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = originals.miles()
    monkeypatch.setattr(Original, "find", lambda self, *, load: getattr(theirs, self.name))
    config = config_of("qwen2")
    args = miles.flops_args_from_hf_config(config)
    assert miles.calculate_fwd_flops(LENGTHS, args) == theirs.calculate_fwd_flops(LENGTHS, args)
    forward = floptally.flops(config, lengths=LENGTHS, plan=floptally.Plan(phase="forward")).total
    assert miles.fwd_tflops_per_gpu(LENGTHS, args, 4, convention="exact") == pytest.approx(forward / 4e12)


# ---- prime-rl ----


def holder(config: Any) -> Any:
    torch = pytest.importorskip("torch")
    model = torch.nn.Module()
    model.config = config
    return model


@pytest.mark.parametrize("kind", ["llama", "qwen2", "qwen3", "qwen3_moe", "mixtral", "deepseek_v3"])
def test_prime_rl_drop_in_replacement_counts_like_the_source_file_of_prime_rl(kind: str) -> None:
    theirs = originals.prime_rl()
    rows = []
    for seed in range(20):
        config = drawn(kind, seed)
        if kind == "deepseek_v3" and config.q_lora_rank is None:
            continue  # None times a size, there
        rows.append((
            (kind, seed), theirs(holder(config), 300).num_flop_per_token,
            prime_rl.PerfCounter(holder(config), 300, accelerator=H100).num_flop_per_token,
        ))  # fmt: skip
        rows.append(((kind, seed), theirs.get_active_mm_params(config), prime_rl.PerfCounter.get_active_mm_params(config)))
    equal(rows)


def test_prime_rl_drop_in_replacement_counts_exactly_with_convention_exact() -> None:
    config = config_of("llama")
    counter = prime_rl.PerfCounter(holder(config), 100, convention="exact", accelerator=H100, world_size=2)
    assert counter.num_flop_per_token * 100 == exact(config, lengths=[100])
    mfu = counter.get_step_mfu(999, 0.5, lengths=LENGTHS)
    assert mfu == pytest.approx(100 * exact(config, lengths=LENGTHS) / 0.5 / counter.gpu_peak_flops / 2)
    assert counter.get_mfu() is None
    counter.count_tokens(5)
    counter.count_tokens(7)
    assert counter.get_tokens_per_second() == pytest.approx(7 / (counter.times[1] - counter.times[0]))
    assert counter.get_mfu() > 0


# ---- open-instruct ----


def test_open_instruct_drop_in_replacement_counts_like_the_source_file_of_open_instruct(tmp_path: Any) -> None:
    theirs = originals.open_instruct()
    prompts, responses = [7, 30], [4, 1, 9, 12]
    rows = []
    for kind in ("llama", "qwen2", "qwen3"):
        for seed in range(6):
            drawn(kind, seed).save_pretrained(tmp_path)
            wanted, found = theirs.from_hf_config(str(tmp_path)), open_instruct.ModelDims.from_hf_config(str(tmp_path), accelerator=H100)
            wanted.device_name = "h100"
            for arguments in ((prompts,), (prompts, responses, 2), (prompts, responses, 2, True)):
                rows.append(((kind, seed, arguments), wanted.flops(*arguments), found.flops(*arguments)))
            peaks = found.device_flops / wanted.device_flops
            mfu = wanted.calculate_mfu(prompts, 2.0, responses, 2, 4), found.calculate_mfu(prompts, 2.0, responses, 2, 4) * peaks
            learner = [one.calculate_learner_utilization(prompts, responses, 3.0, 2, 8)["mfu"] for one in (wanted, found)]
            about = [one.approximate_learner_utilization(900, 31.5, 3.0, 8)["mfu"] for one in (wanted, found)]
            rows += [("mfu", *mfu), ("learner", learner[0], learner[1] * peaks), ("about", about[0], about[1] * peaks)]
    equal(rows)


def test_open_instruct_drop_in_replacement_counts_exactly_with_convention_exact(llama: floptally.Cost) -> None:
    dims = open_instruct.ModelDims(llama, convention="exact", accelerator=H100)
    forward = floptally.Plan(phase="forward")
    wanted = llama.flops(lengths=[2000], plan=forward).total + sum(
        llama.flops(new_tokens=[(1, 2000 + step)], plan=forward).total for step in range(37)
    )
    assert dims.flops([2000], [38]) == wanted == 31_662_244_626_432  # R1
    assert dims.flops([7, 30], [4, 1, 9, 12], 2, is_training=True) == exact(llama, lengths=[11, 8, 39, 42])
    with pytest.raises(floptally.Error, match="response_lengths: must have 4 lengths, 2 for each of the 2 prompts, got 3"):
        dims.flops([7, 30], [4, 1, 9], 2)
    with pytest.raises(AttributeError, match="memory_bytes needs open-instruct: install it"):
        dims.memory_bytes([7], 1, 1)


# ---- OLMo-core ----


def olmo_models() -> list[Any]:
    module = originals.olmo_core("olmo_core.nn.transformer")
    result = []
    for changes in ({}, {"n_kv_heads": 2}, {"n_heads": 8, "n_layers": 3}):
        sizes = {"d_model": 64, "vocab_size": 500, "n_layers": 2, "n_heads": 4, **changes}
        result.append(module.TransformerConfig.llama_like(**sizes).build(init_device="meta"))
    return result


def test_olmo_core_drop_in_replacement_counts_like_the_olmo_core_package() -> None:
    rows = []
    for number, model in enumerate(olmo_models()):
        for tokens in (1, 60, 4096):
            rows.append(((number, tokens), model.num_flops_per_token(tokens), olmo_core.num_flops_per_token(model, tokens)))
    equal(rows)


def test_olmo_core_drop_in_replacement_with_convention_exact_counts_the_same_as_the_config_of_the_model() -> None:
    for model in olmo_models():
        block = model.blocks["0"]
        config = {
            "model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 500, "hidden_size": 64,
            "intermediate_size": block.feed_forward.hidden_size, "num_hidden_layers": len(model.blocks),
            "num_attention_heads": block.attention.n_heads, "num_key_value_heads": block.attention.n_kv_heads,
        }  # fmt: skip
        found = olmo_core.num_flops_per_token(model, 9, convention="exact", lengths=LENGTHS)
        assert found * sum(LENGTHS) == pytest.approx(exact(config, lengths=LENGTHS), rel=1e-12)


# ---- BioNeMo ----

ESM2 = {
    "model_type": "nv_esm", "architectures": ["NVEsmForMaskedLM"], "vocab_size": 33, "padded_vocab_size": 64, "hidden_size": 320,
    "intermediate_size": 1280, "num_hidden_layers": 6, "num_attention_heads": 20, "max_position_embeddings": 1026,
    "position_embedding_type": "rotary",
}  # fmt: skip
CODONFM = {"model_type": "codonfm", "architectures": ["CodonFMForMaskedLM"], "vocab_size": 69, "hidden_size": 128, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4}
NV_LLAMA = {"model_type": "llama", "architectures": ["NVLlamaForCausalLM"], **BASE}


@pytest.mark.parametrize("config", [ESM2, CODONFM, NV_LLAMA])
def test_bionemo_drop_in_replacement_counts_like_the_source_file_of_bionemo(config: dict[str, Any]) -> None:
    theirs = originals.bionemo()
    for padded in (False, True):
        assert bionemo._compute_non_attn_per_token_flops(config, padded) == theirs._compute_non_attn_per_token_flops(config, padded)
    assert bionemo._compute_attn_flop_coeff(config) == theirs._compute_attn_flop_coeff(config)


def test_bionemo_drop_in_replacement_counts_the_attention_work_of_a_batch_like_the_source_file_of_bionemo() -> None:
    torch = pytest.importorskip("torch")
    theirs = originals.bionemo()
    ids = torch.zeros(2, 8, dtype=torch.int64)
    packed = {"input_ids": ids, "cu_seq_lens_q": torch.tensor([0, 50_000, 50_003], dtype=torch.int32)}
    masked = {"input_ids": ids, "attention_mask": torch.tensor([[1] * 8, [1] * 3 + [0] * 5])}
    slots = {**packed, "cu_seq_lens_q_padded": torch.tensor([0, 50_008, 50_016], dtype=torch.int32)}
    for batch in (packed, masked, slots, {"input_ids": ids}, {"input_ids": ids, "cu_seq_lens_q_padded": slots["cu_seq_lens_q_padded"]}):
        for cp in (1, 2):
            for padding in (False, True):
                wanted = theirs._attn_work_from_batch(batch, "cpu", cp, padding)
                assert int(bionemo._attn_work_from_batch(batch, "cpu", cp, padding)) == int(wanted)
    mock = {**packed, "cu_seq_lens_q": torch.tensor([0, 5, 9, 16], dtype=torch.int32)}
    real = 25 + 16
    assert int(bionemo._attn_work_from_batch({**mock, "num_real_seqs": 2})) == real
    assert int(bionemo._attn_work_from_batch({**mock, "num_real_seqs": torch.tensor(2)})) == real
    assert int(bionemo._attn_work_from_batch({**mock, "cu_seq_lens_q_real": torch.tensor([0, 5, 9])})) == real
    assert int(bionemo._attn_work_from_batch({**mock, "num_real_seqs": 2}, include_padding=True)) == real + 49


@pytest.mark.parametrize("config", [ESM2, CODONFM, NV_LLAMA])
def test_bionemo_drop_in_replacement_counts_exactly_with_convention_exact(config: dict[str, Any]) -> None:
    token = bionemo._compute_non_attn_per_token_flops(config, convention="exact")
    square = bionemo._compute_attn_flop_coeff(config, convention="exact")
    assert token * sum(LENGTHS) + square * sum(n * n for n in LENGTHS) == exact(config, lengths=LENGTHS)
    padded = bionemo._compute_non_attn_per_token_flops(config, True, convention="exact")
    assert padded - token == 6 * config["hidden_size"] * (config.get("padded_vocab_size", config["vocab_size"]) - config["vocab_size"])
    with pytest.raises(floptally.Error, match="limits the attended pairs"):
        bionemo._compute_attn_flop_coeff({**NV_LLAMA, "model_type": "mistral", "architectures": None, "sliding_window": 8}, convention="exact")


def test_bionemo_recipe_configs_count_like_the_models_that_they_build() -> None:
    """nv_esm is ESM-2 with a padded lm_head, CodonFM the model of the golden file, NVLlama is Llama."""
    plain = {**ESM2, "model_type": "esm", "architectures": ["EsmForMaskedLM"]}
    del plain["padded_vocab_size"]
    mine, theirs = floptally.cost(ESM2), floptally.cost(plain, padded_vocab_size=64)
    for view in ("useful", "padded"):
        assert mine.total_flops(lengths=LENGTHS, view=view) == theirs.total_flops(lengths=LENGTHS, view=view)  # type: ignore[arg-type]
    unpadded = floptally.cost({**ESM2, "padded_vocab_size": None})
    assert unpadded.total_flops(lengths=LENGTHS, view="padded") == mine.total_flops(lengths=LENGTHS)
    encodon = next(one["config"] for one in golden("bionemo_models.json") if one["id"] == "codonfm-encodon-1b")
    sizes = {"hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 16, "num_hidden_layers": 18}
    assert exact({**CODONFM, **sizes}, lengths=LENGTHS) == exact(encodon, lengths=LENGTHS)
    assert floptally.cost(NV_LLAMA) == floptally.cost({**NV_LLAMA, "architectures": ["LlamaForCausalLM"]})
    esmc = {"model_type": "esmc", "architectures": ["EsmcForMaskedLM"], **BASE, "num_key_value_heads": 4}
    nv = floptally.cost({**esmc, "model_type": "nv_esmc", "architectures": ["NVEsmcForMaskedLM"]})
    assert nv == floptally.cost(esmc) and "nv_esmc is counted as esmc" in " ".join(nv.notes)
    with pytest.raises(floptally.Error, match="padded_vocab_size: must be at least"):
        floptally.cost({**ESM2, "padded_vocab_size": 32})
