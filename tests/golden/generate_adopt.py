# SPDX-License-Identifier: Apache-2.0
"""Asks trainers that no package installs for their own FLOPs of some configurations: adopt.json.

    python generate_adopt.py CLONES            # writes adopt.json
    python generate_adopt.py CLONES --check    # writes nothing, compares with what is there

CLONES has a git repository for each of SOURCES, under its name there, which has that commit. Of its files only the
functions that count are compiled, alone; what they import is given to them below. nanoGPT's whole model is, on meta.
Without PyTorch the script says so and exits with status 77.
"""

import ast
import json
import pathlib
import subprocess
import sys
import types

try:
    import torch
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).parent

SOURCES = {
    "megatron": ("NVIDIA/Megatron-LM", "d98e8a64ddf34856e74b24714e3bedb2f5a39553"),
    "megatron_bridge": ("NVIDIA-NeMo/Megatron-Bridge", "067f987df03b8355b03192d88d70f1709fedf51a"),
    "maxtext": ("AI-Hypercomputer/maxtext", "e591f30cbbf217ed67ef71263ec0538239f9c3b8"),
    "nanogpt": ("karpathy/nanoGPT", "3adf61e154c3fe3fca428ad6bc3818b27a3b8291"),
}

# ---- Megatron-LM and Megatron-Bridge: one set of models in two spellings ----

MEGATRON = dict(
    num_layers=2, hidden_size=64, ffn_hidden_size=256, num_attention_heads=4, group_query_attention=False,
    num_query_groups=4, kv_channels=16, swiglu=True, seq_length=512, vocab_size=1000, padded_vocab_size=1024,
    make_vocab_size_divisible_by=128, tensor_model_parallel_size=1, num_experts=None, moe_layer_freq=1,
    moe_ffn_hidden_size=None, moe_router_topk=1, moe_shared_expert_intermediate_size=None, moe_latent_size=None,
    multi_latent_attention=False, q_lora_rank=None, kv_lora_rank=None, qk_head_dim=None, qk_pos_emb_head_dim=None,
    v_head_dim=None, mtp_num_layers=None, attention_output_gate=False, experimental_attention_variant=None,
    linear_attention_freq=None, linear_conv_kernel_dim=4, linear_key_head_dim=None, linear_value_head_dim=None,
    linear_num_key_heads=None, linear_num_value_heads=None, hybrid_layer_pattern=None, mamba_state_dim=128,
    mamba_head_dim=64, mamba_num_groups=8, mamba_num_heads=None, gdp_num_householder=None, spec=None,
    window_size=None, window_attn_skip_freq=None,
)  # fmt: skip

LLAMA_3_8B = dict(
    num_layers=32,
    hidden_size=4096,
    ffn_hidden_size=14336,
    num_attention_heads=32,
    group_query_attention=True,
    num_query_groups=8,
    kv_channels=128,
    seq_length=8192,
    vocab_size=128256,
    padded_vocab_size=128256,
)
DEEPSEEK_V3 = dict(
    num_layers=61,
    hidden_size=7168,
    ffn_hidden_size=18432,
    num_attention_heads=128,
    num_query_groups=128,
    kv_channels=128,
    seq_length=4096,
    vocab_size=129280,
    padded_vocab_size=129280,
    num_experts=256,
    moe_layer_freq=[0] * 3 + [1] * 58,
    moe_ffn_hidden_size=2048,
    moe_router_topk=8,
    moe_shared_expert_intermediate_size=2048,
    multi_latent_attention=True,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_head_dim=128,
    qk_pos_emb_head_dim=64,
    v_head_dim=128,
)
QWEN3_NEXT = dict(
    num_layers=8,
    hidden_size=2048,
    ffn_hidden_size=5120,
    num_attention_heads=16,
    group_query_attention=True,
    num_query_groups=2,
    kv_channels=256,
    seq_length=4096,
    vocab_size=151936,
    padded_vocab_size=151936,
    num_experts=512,
    moe_ffn_hidden_size=512,
    moe_router_topk=10,
    moe_shared_expert_intermediate_size=512,
    attention_output_gate=True,
    experimental_attention_variant="gated_delta_net",
    linear_attention_freq=4,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
    linear_num_key_heads=16,
    linear_num_value_heads=32,
)
HYBRID = dict(
    num_layers=6,
    hidden_size=1024,
    ffn_hidden_size=4096,
    num_attention_heads=8,
    group_query_attention=True,
    num_query_groups=2,
    kv_channels=128,
    swiglu=False,
    mamba_num_heads=32,
    mamba_head_dim=64,
    mamba_state_dim=128,
    mamba_num_groups=8,
)
MEGATRON_MODELS = {
    "gpt": dict(swiglu=False),
    "llama-3-8b": LLAMA_3_8B,
    "llama, untidy vocabulary, tp 8": dict(tensor_model_parallel_size=8, vocab_size=50257, padded_vocab_size=51200),
    "mixtral": dict(group_query_attention=True, num_query_groups=2, num_experts=8, moe_router_topk=2),
    "experts every other layer": dict(num_layers=5, num_experts=8, moe_router_topk=2, moe_layer_freq=2,
                                      moe_ffn_hidden_size=96, mtp_num_layers=2),
    "latent experts": dict(num_experts=8, moe_router_topk=2, moe_ffn_hidden_size=96, moe_latent_size=32,
                           moe_shared_expert_intermediate_size=48),
    "deepseek-v3": DEEPSEEK_V3,
    "deepseek-v3, mtp 1": {**DEEPSEEK_V3, "mtp_num_layers": 1},
    "deepseek-v3, queries of full rank": {**DEEPSEEK_V3, "q_lora_rank": None, "num_layers": 4, "moe_layer_freq": 1},
    "qwen3-next": QWEN3_NEXT,
    "hybrid": {**HYBRID, "hybrid_layer_pattern": "M-M*-M"},
    "hybrid, gated delta nets": {**HYBRID, "hybrid_layer_pattern": "GG*-", "linear_num_key_heads": 4,
                                 "linear_num_value_heads": 8, "linear_key_head_dim": 64, "linear_value_head_dim": 64},
    "hybrid, experts, stages and mtp": {**HYBRID, "hybrid_layer_pattern": "ME|M*E/*E/*E", "num_experts": 16,
                                        "moe_router_topk": 3, "moe_ffn_hidden_size": 512, "moe_latent_size": 256,
                                        "moe_shared_expert_intermediate_size": 1024, "mtp_num_layers": 2},
}  # fmt: skip
WINDOWED = {
    "windows": dict(window_size=[127, 0], num_layers=4),
    "every third layer without a window": dict(window_size=[127, 0], window_attn_skip_freq=3, num_layers=6),
    "hybrid with windows": {**HYBRID, "hybrid_layer_pattern": "M*M*-*", "window_size": [99, 0],
                            "window_attn_skip_freq": [0, 1, 0, 0, 0, 1]},
}  # fmt: skip

# ---- MaxText ----

MAXTEXT = dict(
    decoder_block="llama2", emb_dim=64, num_query_heads=4, num_kv_heads=2, num_decoder_layers=4, mlp_dim=256,
    head_dim=16, mlp_activations=["silu", "linear"], vocab_size=1000, max_target_length=512, per_device_batch_size=2.0,
    gradient_accumulation_steps=1, num_experts=1, num_experts_per_tok=1, moe_mlp_dim=96, shared_experts=0,
    attention_type="global", sliding_window_size=128, share_kv_projections=False, use_dpo=False, mtp_num_layers=0,
    use_multimodal=False, engram_layers=[], use_indexer=False, first_num_dense_layers=0, interleave_moe_layer_step=1,
    nope_layer_interval=4, chunk_attn_window_size=100, inhomogeneous_layer_cycle_interval=4, q_lora_rank=0,
    kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, gdn_num_key_heads=2,
    gdn_num_value_heads=4, gdn_key_head_dim=16, gdn_value_head_dim=16, gdn_conv_kernel_dim=4,
    logits_via_embedding=False, model_name="default",
)  # fmt: skip
MAXTEXT_MODELS = {
    "llama": {},
    "llama-3-8b": dict(emb_dim=4096, num_query_heads=32, num_kv_heads=8, num_decoder_layers=32, mlp_dim=14336,
                       head_dim=128, vocab_size=128256, max_target_length=8192, per_device_batch_size=1.0),
    "half a sequence, accumulated": dict(per_device_batch_size=0.5, gradient_accumulation_steps=4),
    "dpo": dict(use_dpo=True),
    "plain mlp": dict(decoder_block="gpt3", mlp_activations=["gelu"], num_kv_heads=4),
    "mixtral": dict(decoder_block="mixtral", num_experts=8, num_experts_per_tok=2),
    "qwen3-moe": dict(decoder_block="qwen3_moe", num_experts=16, num_experts_per_tok=4, mtp_num_layers=1),
    "gemma2": dict(decoder_block="gemma2", num_decoder_layers=3),
    "gemma3": dict(decoder_block="gemma3", num_decoder_layers=13),
    "gemma3, windows above the length": dict(decoder_block="gemma3", num_decoder_layers=6, sliding_window_size=1024),
    "gpt-oss": dict(decoder_block="gpt_oss", num_experts=8, num_experts_per_tok=2),
    "llama4": dict(decoder_block="llama4", num_decoder_layers=8, num_experts=8, interleave_moe_layer_step=2,
                   shared_experts=1),
    "deepseek": dict(decoder_block="deepseek", attention_type="mla", num_experts=8, num_experts_per_tok=2,
                     shared_experts=2, first_num_dense_layers=1, q_lora_rank=24, mtp_num_layers=2),
    "qwen3-next": dict(decoder_block="qwen3_next", num_decoder_layers=8, num_experts=8, num_experts_per_tok=2,
                       shared_experts=1),
}  # fmt: skip

NANOGPT_MODELS = {
    "gpt2": {},
    "gpt2, no bias": dict(bias=False),
    "gpt2-medium": dict(n_layer=24, n_head=16, n_embd=1024, vocab_size=50257),
    "characters": dict(block_size=256, vocab_size=65, n_layer=6, n_head=6, n_embd=384, bias=False),
}


class Clone:
    def __init__(self, folder: pathlib.Path, trainer: str) -> None:
        self.repository, self.commit = SOURCES[trainer]
        self._git = ["git", "-C", str(folder / self.repository.split("/")[1])]

    def text(self, path: str) -> str:
        return subprocess.run(
            [*self._git, "show", f"{self.commit}:{path}"], capture_output=True, text=True, check=True
        ).stdout

    def definitions(self, path: str, wanted, namespace) -> None:
        """Functions and classes of a file, as if it had nothing else."""
        tree = ast.parse(self.text(path))
        tree.body = [node for node in tree.body if getattr(node, "name", None) is not None and wanted(node.name)]
        exec(compile(tree, path, "exec"), namespace)


def hybrid_layers(clone: Clone):
    """Megatron-Core's reader of patterns, which imports nothing but loggers."""
    quiet = types.ModuleType("megatron.core.utils")
    quiet.log_on_each_pipeline_stage = quiet.log_single_rank = lambda *given, **named: None
    for name in ("megatron", "megatron.core", "megatron.core.models", "megatron.core.models.hybrid"):
        sys.modules.setdefault(name, types.ModuleType(name))
    sys.modules["megatron.core.utils"] = quiet
    name = "megatron.core.models.hybrid.hybrid_layer_allocation"
    module = sys.modules[name] = types.ModuleType(name)
    exec(compile(clone.text(f"{name.replace('.', '/')}.py"), name, "exec"), vars(module))
    return module


def is_delta_net(variant) -> bool:
    return variant in ("gdn", "gdn2", "gated_delta_net")


def megatron(clone: Clone):
    hybrid_layers(clone)
    from typing import Optional, Tuple

    namespace = {
        "is_hybrid_model": lambda args: args.hybrid_layer_pattern is not None,
        "is_linear_attention_variant": is_delta_net, "is_gated_delta_net_variant": is_delta_net,
        "Optional": Optional, "Tuple": Tuple,
    }  # fmt: skip
    clone.definitions("megatron/training/training.py", lambda name: name == "num_floating_point_operations", namespace)
    return namespace["num_floating_point_operations"]


def megatron_cases(clone: Clone):
    count = megatron(clone)
    for name, changes in {**MEGATRON_MODELS, **WINDOWED}.items():
        given = types.SimpleNamespace(**{**MEGATRON, **changes})
        yield {"id": f"{name}/bshd", "arguments": changes, "call": {"batch_size": 3}, "expected": count(given, 3)}
        packed = [7, 500, 129, 1000]
        sums = {"seqlen_squared_sum_in_batch": sum(n * n for n in packed), "total_real_tokens_in_batch": sum(packed)}
        yield {
            "id": f"{name}/packed", "arguments": changes, "call": {"batch_size": 3, **sums}, "lengths": packed,
            "expected": count(given, 3, **sums),
        }  # fmt: skip


def bridge_model(changes):
    """The same as a provider of Megatron-Bridge has it."""
    model = {**MEGATRON, **changes}
    model["gated_linear_unit"] = model.pop("swiglu")
    model["num_moe_experts"] = model.pop("num_experts")
    if not model.pop("group_query_attention"):
        model["num_query_groups"] = None
    if not model["multi_latent_attention"]:
        for field in ("q_lora_rank", "kv_lora_rank", "qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim"):
            model.pop(field)
    model.pop("padded_vocab_size")
    return model


def bridge_cases(clone: Clone, core: Clone):
    allocation = hybrid_layers(core)
    padding = {"math": __import__("math"), "lru_cache": __import__("functools").lru_cache}
    core.definitions("megatron/training/vocab_utils.py", lambda name: "padded_vocab_size" in name, padding)
    namespace = {
        "ConfigContainer": object, "LoRA": type("LoRA", (), {}), "Path": pathlib.Path, "torch": torch,
        "is_gated_delta_net_variant": is_delta_net, "Symbols": allocation.Symbols,
        "get_hybrid_layer_counts": allocation.get_hybrid_layer_counts,
        "parse_hybrid_pattern": allocation.parse_hybrid_pattern,
        "calculate_padded_vocab_size": padding["calculate_padded_vocab_size"],
    }  # fmt: skip
    clone.definitions(
        "src/megatron/bridge/training/utils/flop_utils.py",
        lambda name: name in ("num_floating_point_operations", "vit_flops", "_packed_data_exists"), namespace,
    )  # fmt: skip
    count = namespace["num_floating_point_operations"]
    for name, changes in {**MEGATRON_MODELS, **WINDOWED}.items():
        cfg = types.SimpleNamespace(model=types.SimpleNamespace(**bridge_model(changes)), peft=None)
        calls = {
            "configured": ({"batch_size": 3}, None),
            "equal": ({"batch_size": 4, "seqlen_sum": 1200, "seqlen_squared_sum": 4 * 300 * 300}, None),
            "sum": ({"batch_size": 4, "seqlen_sum": 1200}, None),
        }
        if name not in WINDOWED:
            packed = [7, 500, 129, 1000]
            sums = {"seqlen_sum": sum(packed), "seqlen_squared_sum": sum(n * n for n in packed)}
            calls["packed"] = ({"batch_size": 2, **sums}, packed)
        for kind, (call, lengths) in calls.items():
            case = {
                "id": f"{name}/{kind}",
                "arguments": bridge_model(changes),
                "call": call,
                "expected": count(cfg, **call),
            }
            yield {**case, "lengths": lengths} if lengths else case


def maxtext_cases(clone: Clone):
    namespace = {}
    kinds = {"enum": __import__("enum")}
    clone.definitions("src/maxtext/common/common_types.py", lambda name: name == "DecoderBlockType", kinds)
    namespace["DecoderBlockType"] = kinds["DecoderBlockType"]
    counts = ("get_shared_expert_mlp_dim", "get_dense_moe_layers", "_calculate_chunked_attention_flops_per_layer")
    clone.definitions(
        "src/maxtext/utils/maxtext_utils.py",
        lambda name: name.startswith("calculate_") or name in counts, namespace,
    )  # fmt: skip
    for name, changes in MAXTEXT_MODELS.items():
        config = types.SimpleNamespace(**{**MAXTEXT, **changes})
        config.decoder_block = kinds["DecoderBlockType"](config.decoder_block)
        found = namespace["calculate_tflops_training_per_device"](config, log=False)
        yield {"id": name, "arguments": changes, "expected": [round(value * 10**12) for value in found]}


def nanogpt_cases(clone: Clone):
    model = types.ModuleType("nanogpt_model")
    sys.modules["nanogpt_model"] = model
    exec(compile(clone.text("model.py"), "model.py", "exec"), vars(model))
    for name, changes in NANOGPT_MODELS.items():
        with torch.device("meta"):
            gpt = model.GPT(model.GPTConfig(**changes))
        yield {
            "id": name, "arguments": vars(model.GPTConfig(**changes)), "call": {"fwdbwd_per_iter": 480, "dt": 0.25},
            "expected": gpt.estimate_mfu(480, 0.25),
        }  # fmt: skip


def found(folder: pathlib.Path):
    clones = {trainer: Clone(folder, trainer) for trainer in SOURCES}
    where = {trainer: f"{clone.repository}@{clone.commit[:12]}" for trainer, clone in clones.items()}
    return {
        "megatron": {
            "source": f"{where['megatron']} megatron/training/training.py num_floating_point_operations",
            "defaults": MEGATRON, "cases": list(megatron_cases(clones["megatron"])),
        },
        "megatron_bridge": {
            "source": f"{where['megatron_bridge']} src/megatron/bridge/training/utils/flop_utils.py num_floating_point_operations",
            "defaults": {}, "cases": list(bridge_cases(clones["megatron_bridge"], clones["megatron"])),
        },
        "maxtext": {
            "source": f"{where['maxtext']} src/maxtext/utils/maxtext_utils.py calculate_tflops_training_per_device",
            "defaults": MAXTEXT, "cases": list(maxtext_cases(clones["maxtext"])),
        },
        "nanogpt": {
            "source": f"{where['nanogpt']} model.py GPT.estimate_mfu",
            "defaults": {}, "cases": list(nanogpt_cases(clones["nanogpt"])),
        },
    }  # fmt: skip


def text(trainers) -> str:
    """A line for each case."""
    parts = []
    for name, trainer in trainers.items():
        head = ",\n".join(f'  "{key}": {json.dumps(trainer[key])}' for key in ("source", "defaults"))
        cases = ",\n".join(f"   {json.dumps(case)}" for case in trainer["cases"])
        parts.append(f'"{name}": {{\n{head},\n  "cases": [\n{cases}\n  ]\n }}')
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def main() -> int:
    written = text(found(pathlib.Path(sys.argv[1])))
    file = HERE / "adopt.json"
    if "--check" in sys.argv[2:]:
        return int(json.loads(written) != json.loads(file.read_text()))
    file.write_text(written)
    return 0


if __name__ == "__main__":
    sys.exit(main())
