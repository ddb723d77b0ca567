# SPDX-License-Identifier: Apache-2.0
"""Types whose classes are on the hub alone, against the classes of transformers that they follow."""

from __future__ import annotations

import random
from typing import Any

import pytest

import floptally

SEEDS = range(4)


def seen_in_block_diffusion(tokens: int, block: int) -> list[list[bool]]:
    """SDAR's mask over noised tokens, then clean ones: row sees column."""
    rows = []
    for query in range(2 * tokens):
        noised, at = query < tokens, query % tokens // block
        own = [noised and key // block == at for key in range(tokens)]
        rows.append(own + [key // block < at + (not noised) for key in range(tokens)])
    return rows


@pytest.mark.parametrize("seed", SEEDS)
def test_sdar_counts_like_qwen3_over_noised_and_clean_tokens_under_the_mask_of_sdar(seed: int) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from torch.utils.flop_counter import FlopCounterMode

    draw = random.Random(seed)
    kv, dim, layers, tokens, block = draw.randint(1, 3), 2 * draw.randint(2, 6), draw.randint(1, 3), draw.randint(5, 23), draw.randint(1, 6)
    heads = kv * draw.randint(1, 3)
    sizes: dict[str, Any] = {
        "vocab_size": draw.randint(30, 99), "hidden_size": draw.randint(8, 40), "intermediate_size": draw.randint(8, 60),
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": dim,
        "tie_word_embeddings": bool(seed % 2),
    }  # fmt: skip
    cost = floptally.cost({**sizes, "model_type": "sdar", "architectures": ["SDARForCausalLM"], "block_size": block})
    model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**sizes, attn_implementation="eager"))
    mask = torch.tensor(seen_in_block_diffusion(tokens, block))
    hidden = torch.zeros(1, 1, 2 * tokens, 2 * tokens).masked_fill(~mask, torch.finfo(torch.float32).min)
    ids = torch.randint(sizes["vocab_size"], (1, 2 * tokens))
    places = torch.arange(tokens).repeat(2)[None]

    def products(counter: Any) -> tuple[int, int]:
        by = counter.get_flop_counts()["Global"]
        core = sum(count for operator, count in by.items() if "bmm" in str(operator))
        return counter.get_total_flops() - core, core

    with FlopCounterMode(display=False) as forward:
        states = model.model(input_ids=ids, attention_mask=hidden, position_ids=places).last_hidden_state
        loss = model.lm_head(states[:, :tokens]).sum()
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    whole = 4 * heads * dim * layers * (2 * tokens) ** 2
    assert products(forward)[1] == whole
    assert products(backward)[1] == 2 * whole
    attended = 4 * heads * dim * layers * int(mask.sum())
    seen = cost.flops(lengths=[tokens]).useful
    assert seen.forward == products(forward)[0] + attended
    assert seen.backward == products(backward)[0] + 2 * attended
    dense = cost.flops(lengths=[tokens], convention="torch_flop_counter_eager").useful
    assert (dense.forward, dense.backward) == (forward.get_total_flops(), backward.get_total_flops())
    assert cost.parameters == sum(one.numel() for one in model.parameters())


@pytest.mark.parametrize("seed", SEEDS)
def test_llada2_counts_like_ling_2_with_bidirectional_attention(seed: int) -> None:
    """Ling 2.0's class is compared with NeMo Automodel's in tests/golden/zoo/automodel.json."""
    draw = random.Random(seed)
    kv, layers, tokens, dim = draw.randint(1, 3), draw.randint(2, 4), draw.randint(5, 40), 2 * draw.randint(2, 6)
    heads = kv * draw.randint(1, 3)
    sizes: dict[str, Any] = {
        "vocab_size": draw.randint(30, 99), "hidden_size": draw.randint(8, 40), "intermediate_size": draw.randint(8, 60),
        "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": dim, "use_qk_norm": True,
        "num_experts": 7, "num_experts_per_tok": 3, "num_shared_experts": 1, "moe_intermediate_size": draw.randint(4, 20),
        "first_k_dense_replace": 1, "tie_word_embeddings": False,
    }  # fmt: skip
    llada = floptally.cost({**sizes, "model_type": "llada2_moe", "architectures": ["LLaDA2MoeModelLM"]})
    ling = floptally.cost({**sizes, "model_type": "bailing_moe", "architectures": ["BailingMoeV2ForCausalLM"]})
    assert llada.parameters == ling.parameters
    later = 4 * heads * dim * layers * (tokens**2 - tokens * (tokens + 1) // 2)
    both, causal = (cost.flops(lengths=[tokens]).useful for cost in (llada, ling))
    assert both.forward == causal.forward + later
    assert both.backward == causal.backward + 2 * later


def test_minimax_m3_counts_like_the_text_model_of_minimax_m3_vl_in_transformers() -> None:
    sizes: dict[str, Any] = {
        "vocab_size": 101, "hidden_size": 40, "intermediate_size": 22, "num_hidden_layers": 3, "num_attention_heads": 6,
        "num_key_value_heads": 2, "head_dim": 12, "dense_intermediate_size": 58, "shared_intermediate_size": 26,
        "num_local_experts": 5, "num_experts_per_tok": 3,
    }  # fmt: skip
    text = floptally.cost(
        {
            **sizes, "model_type": "minimax_m3_vl_text", "architectures": ["MiniMaxM3VLForCausalLM"],
            "index_n_heads": 2, "index_head_dim": 6, "index_block_size": 3, "index_topk_blocks": 2,
            "layer_types": ["full_attention", "minimax_m3_sparse", "minimax_m3_sparse"],
            "mlp_layer_types": ["dense", "sparse", "sparse"],
        }
    )  # fmt: skip
    own = floptally.cost(
        {
            **sizes, "model_type": "minimax_m3", "architectures": ["MiniMaxM3SparseForCausalLM"], "moe_layer_freq": [0, 1, 1],
            "sparse_attention_config": {
                "sparse_attention_freq": [0, 1, 1], "sparse_num_index_heads": 2, "sparse_index_dim": 6, "sparse_block_size": 3,
                "sparse_topk_blocks": 2, "sparse_local_block": 1,
            },
        }
    )  # fmt: skip
    assert own.parameters == text.parameters
    for tokens in (1, 5, 23):
        assert own.flops(lengths=[tokens]).useful.components == text.flops(lengths=[tokens]).useful.components


@pytest.mark.parametrize("predicted", [0, 1])
def test_nemotron_omni_read_from_its_hub_config_counts_like_nemotron_h_omni_of_transformers(predicted: int) -> None:
    text: dict[str, Any] = {
        "model_type": "nemotron_h", "vocab_size": 71, "hidden_size": 48, "intermediate_size": 38, "num_attention_heads": 6,
        "num_hidden_layers": 4, "num_key_value_heads": 2, "head_dim": 10, "mamba_num_heads": 6, "mamba_head_dim": 5, "n_groups": 2,
        "ssm_state_size": 7, "chunk_size": 4, "conv_kernel": 3, "n_routed_experts": 5, "num_experts_per_tok": 3,
        "moe_intermediate_size": 22, "moe_shared_expert_intermediate_size": 34, "hybrid_override_pattern": "ME*-",
        "num_nextn_predict_layers": predicted,
    }  # fmt: skip
    sound: dict[str, Any] = {
        "hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 6, "intermediate_size": 54,
        "conv_kernel_size": 5, "subsampling_conv_channels": 11, "num_mel_bins": 16, "projection_hidden_size": 26,
        "projection_bias": True,
    }  # fmt: skip
    name = "NemotronH_Nano_Omni_Reasoning_V3"
    tower = {
        "model": "vit_huge_patch16_224", "cpe_max_size": 2048, "cls_token_per_teacher": True, "register_multiple": 10,
        "teachers": [{"name": one} for one in "abc"],
    }  # fmt: skip
    hub = floptally.cost(
        {
            "model_type": name, "architectures": [name], "llm_config": text, "sound_config": {**sound, "model_type": "parakeet"},
            "vit_hidden_size": 1280, "projector_hidden_size": 52, "downsample_ratio": 0.5,
            "vision_config": {"patch_size": 16, "video_temporal_patch_size": 2, "args": tower},
        }
    )  # fmt: skip
    omni = floptally.cost(
        {
            "model_type": "nemotron_h_omni", "architectures": ["NemotronH_Omni_Reasoning_V3"], "text_config": text,
            "audio_config": sound, "vision_hidden_size": 1280, "projector_hidden_size": 52,
            "vision_config": {"model_type": "radio", "video_temporal_patch_size": 2},
        }
    )  # fmt: skip
    batch: dict[str, Any] = {"lengths": [90], "grid_thw": [[1, 4, 6], [1, 8, 4]], "audio_frames": [83]}
    assert hub.flops(**batch).total == omni.flops(**batch).total
    layer_scale = 32 * 2 * 1280  # vectors of transformers' tower that timm's ViT has not
    assert omni.parameters - hub.parameters == layer_scale
