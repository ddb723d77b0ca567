# SPDX-License-Identifier: Apache-2.0
"""Runs public FLOP counters on random configs, and writes their numbers into peers.json.

    python generate_peer_cases.py FOLDER            # replaces the cases of these counters
    python generate_peer_cases.py FOLDER NAME …     # those of the named counters
    python generate_peer_cases.py FOLDER --check    # writes nothing, compares with what is there

FOLDER has the sources, unpacked: olmo_core (2.6.0), olmo_core_3 (3.0.0), nemo_automodel (0.7.0), sglang (0.5.23),
deepspeed (0.19.8), and of the commits below prime_rl/perf.py, veomni/count_flops.py, slime/flops_utils.py,
nemo_rl/flops_formulas.py and flops_tracker.py, llama_factory/cal_mfu.py, megatron_lm/training.py and dsa.py. TRL, transformers and fvcore are installed.
"""

import ast
import functools
import importlib.util
import json
import logging
import math
import pathlib
import random
import sys
import types
from types import SimpleNamespace as Args

HERE = pathlib.Path(__file__).parent
SOURCES = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
SOURCE_OF = {
    "trl": "trl 1.16.0, trl/trainer/utils.py compute_flops_per_token",
    "prime_rl": "PrimeIntellect-ai/prime-rl@2ffe374e020a src/prime_rl/trainer/perf.py",
    "veomni": "ByteDance-Seed/VeOmni@6efdf2217d46 veomni/utils/count_flops.py",
    "slime": "THUDM/slime@55d3e4164a5e slime/utils/flops_utils.py",
    "nemo_rl": "NVIDIA-NeMo/RL@66a7e4286d9a nemo_rl/utils/flops_formulas.py",
    "llama_factory": "hiyouga/LLaMA-Factory@264538cb2692 scripts/stat_utils/cal_mfu.py",
    "nemo_automodel_0_7": "nemo-automodel 0.7.0, nemo_automodel/components/utils/flops_utils.py",
    "olmo_core": "ai2-olmo-core 2.6.0, num_flops_per_token of its modules",
    "olmo_core_3": "ai2-olmo-core 3.0.0, num_flops_per_token of its modules",
    "megatron_2026_10": "NVIDIA/Megatron-LM@345150631f1d (change 6753) megatron/training/training.py num_floating_point_operations",
    "sglang": "sglang 0.5.23, managers/scheduler_components/metrics_reporter.py _estimate_prefill_perf",
    "deepspeed_profiler": "deepspeed 0.19.8, FlopsProfiler.get_total_macs, times two",
    "fvcore": "fvcore 0.1.5, FlopCountAnalysis, MACs of matrix products times two",
}


def functions_of(path, names, space):
    """Runs only these functions of a file, in a space of names: no import of the peer's whole package."""
    tree = ast.parse(path.read_text())
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in names and node.name not in found:
            node.decorator_list, node.returns = [], None
            for arg in [*node.args.args, *node.args.kwonlyargs]:
                arg.annotation = None
            found[node.name] = node
    missing = set(names) - set(found)
    assert not missing, (path, missing)
    exec(compile(ast.Module(list(found.values()), []), str(path), "exec"), space)
    return space


def loaded(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# ---- random models ----


def dense(draw, model_type, *, wide=False):
    head_dim = draw.choice([32, 64, 128])
    heads = draw.choice([4, 8, 16])
    hidden = heads * head_dim if not wide else draw.choice([256, 384, 640])
    kv = draw.choice([n for n in (1, 2, 4, 8) if heads % n == 0])
    config = {"model_type": model_type, "vocab_size": draw.randrange(1000, 60000, 8), "hidden_size": hidden,
              "intermediate_size": draw.randrange(256, 4096, 32), "num_hidden_layers": draw.randrange(2, 40),
              "num_attention_heads": heads, "num_key_value_heads": kv, "tie_word_embeddings": False}
    if model_type == "qwen3":
        config["head_dim"] = head_dim
    return config


def mixture(draw):
    config = dense(draw, "qwen3_moe")
    config |= {"head_dim": config["hidden_size"] // config["num_attention_heads"], "num_experts": draw.choice([8, 32, 64]),
               "num_experts_per_tok": draw.randrange(1, 8), "moe_intermediate_size": draw.randrange(64, 1024, 32),
               "decoder_sparse_step": 1, "mlp_only_layers": []}
    return config


def latent(draw):
    layers = draw.randrange(3, 30)
    return {"model_type": "deepseek_v3", "vocab_size": draw.randrange(1000, 60000, 8),
            "hidden_size": draw.randrange(256, 2048, 64), "intermediate_size": draw.randrange(256, 4096, 64),
            "moe_intermediate_size": draw.randrange(64, 1024, 32), "num_hidden_layers": layers,
            "num_attention_heads": (heads := draw.choice([4, 8, 16])), "num_key_value_heads": heads, "n_shared_experts": 1,
            "n_routed_experts": draw.choice([8, 16, 64]), "num_experts_per_tok": draw.randrange(1, 8),
            "first_k_dense_replace": draw.randrange(1, layers), "kv_lora_rank": draw.randrange(64, 512, 32),
            "q_lora_rank": draw.randrange(64, 1024, 32), "qk_rope_head_dim": draw.choice([16, 32, 64]),
            "v_head_dim": draw.choice([32, 64, 128]), "qk_nope_head_dim": draw.choice([32, 64, 128]),
            "num_nextn_predict_layers": 0, "n_group": 1, "topk_group": 1, "tie_word_embeddings": False}


def kimi(draw):
    layers = draw.randrange(4, 28)
    full = [i for i in range(1, layers + 1) if i % 4 == 0]
    return {"model_type": "kimi_linear", "vocab_size": draw.randrange(1000, 60000, 8),
            "hidden_size": draw.randrange(256, 2048, 64), "intermediate_size": draw.randrange(256, 4096, 64),
            "moe_intermediate_size": draw.randrange(64, 1024, 32), "num_hidden_layers": layers, "moe_layer_freq": 1,
            "num_attention_heads": (heads := draw.choice([4, 8])), "num_key_value_heads": heads, "num_experts": draw.choice([8, 64]),
            "num_experts_per_token": draw.randrange(1, 8), "num_shared_experts": 1, "first_k_dense_replace": 1,
            "kv_lora_rank": draw.randrange(64, 512, 32), "q_lora_rank": None, "qk_rope_head_dim": 32,
            "v_head_dim": draw.choice([64, 128]), "qk_nope_head_dim": 64, "mla_use_nope": True,
            "num_nextn_predict_layers": 0, "tie_word_embeddings": False,
            "linear_attn_config": {"full_attn_layers": full, "num_heads": draw.choice([4, 8]),
                                   "kda_layers": [i for i in range(1, layers + 1) if i not in full],
                                   "head_dim": draw.choice([64, 128]), "short_conv_kernel_size": 4}}


def lengths(draw):
    return [draw.randrange(1, 9000) for _ in range(draw.randrange(1, 6))]


# ---- counters: {name: [(model, batch, number)]} ----


def trl(draw):
    folder = pathlib.Path(importlib.util.find_spec("trl").submodule_search_locations[0])
    newest = {"Version": lambda text: text, "transformers": Args(__version__="9")}
    count = functions_of(folder / "trainer/utils.py", ["compute_flops_per_token"], newest)["compute_flops_per_token"]
    for config in [dense(draw, ("llama", "qwen3")[i % 2]) for i in range(8)] + [mixture(draw) for _ in range(4)]:
        length = draw.randrange(1, 9000)
        yield config, {"seqlens": [length]}, length * count(Args(**config, num_local_experts=config.get("num_experts")), length)


def prime_rl(draw):
    space = functions_of(SOURCES / "prime_rl/perf.py", ["get_active_mm_params", "_get_num_flop_per_token"],
                         {"has_lora_layers": lambda model: False})
    this = Args(model=None, get_active_mm_params=space["get_active_mm_params"])
    for config in [dense(draw, "llama") for _ in range(6)] + [mixture(draw) for _ in range(4)]:
        length = draw.randrange(1, 9000)
        yield config, {"seqlens": [length]}, length * space["_get_num_flop_per_token"](this, Args(**config), length)


def veomni(draw):
    path = SOURCES / "veomni/count_flops.py"
    names = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]
    space = functions_of(path, [name for name in names if name != "__init__"], {"math": math})
    for function, configs in (("_estimate_llama_flops", [dense(draw, "llama") for _ in range(5)]),
                              ("_estimate_qwen3_moe_flops", [mixture(draw) for _ in range(5)])):
        for config in configs:
            batch = lengths(draw)
            this = Args(config=Args(**config))
            for name in set(names) & set(space):
                method = space[name]
                is_bound = method.__code__.co_varnames[:1] == ("self",)
                setattr(this, name, functools.partial(method, this) if is_bound else method)
            yield config, {"seqlens": batch}, round(space[function](this, sum(batch), batch, 1e-12))


def slime(draw):
    counter = loaded(SOURCES / "slime/flops_utils.py", "slime_flops")
    for config in [dense(draw, "llama") for _ in range(6)] + [mixture(draw) for _ in range(4)]:
        batch = lengths(draw)
        args = Args(hidden_size=config["hidden_size"], num_attention_heads=config["num_attention_heads"],
                    num_query_groups=config["num_key_value_heads"], vocab_size=config["vocab_size"],
                    kv_channels=config["hidden_size"] // config["num_attention_heads"], q_lora_rank=None,
                    kv_lora_rank=None, qk_head_dim=None, qk_pos_emb_head_dim=None, v_head_dim=None,
                    num_layers=config["num_hidden_layers"], ffn_hidden_size=config["intermediate_size"],
                    num_experts=config.get("num_experts"), moe_ffn_hidden_size=config.get("moe_intermediate_size"),
                    moe_router_topk=config.get("num_experts_per_tok"), moe_shared_expert_intermediate_size=None,
                    moe_layer_freq=[1] * config["num_hidden_layers"], multi_latent_attention=False)
        yield config, {"seqlens": batch}, round(3 * counter.calculate_fwd_flops(batch, args))


def nemo_rl(draw):
    formulas = loaded(SOURCES / "nemo_rl/flops_formulas.py", "nemo_rl_formulas")
    sizes = {"hs": "hidden_size", "layers": "num_hidden_layers", "ffn_hs": "intermediate_size",
             "query_groups": "num_key_value_heads", "attention_heads": "num_attention_heads", "vocab_size": "vocab_size"}
    for i in range(8):
        config = dense(draw, ("llama", "qwen3")[i % 2])
        length = draw.randrange(1, 9000)
        more = {"moe_ffn_hidden_size": config["intermediate_size"], "moe_router_topk": 1} if i % 2 else {}
        if "head_dim" in formulas.FLOPSConfig.__dataclass_fields__ and i % 2:
            more["head_dim"] = config["head_dim"]
        made = formulas.FLOPSConfig(gbs=1, enc_seq_len=length, **{to: config[key] for to, key in sizes.items()}, **more)
        yield config, {"seqlens": [length]}, round((formulas.llama, formulas.qwen3)[i % 2](made))


def llama_factory(draw):
    models = {}
    space = functions_of(SOURCES / "llama_factory/cal_mfu.py", ["compute_model_flops"],
                         {"BASE": 2, "AutoConfig": Args(from_pretrained=models.get)})
    for i in range(8):
        config = dense(draw, "llama")
        models[str(i)] = Args(**config)
        number, length = draw.randrange(1, 5), draw.randrange(1, 9000)
        yield config, {"seqlens": [length] * number}, space["compute_model_flops"](str(i), number, length)


def nemo_automodel_0_7(draw):
    folder = SOURCES / "nemo_automodel/nemo_automodel/components/utils"
    counter = loaded(folder / "flops_utils.py", "nemo_automodel_flops")
    for config in [dense(draw, "qwen3") for _ in range(4)] + [mixture(draw) for _ in range(3)]:
        length = draw.randrange(1, 9000)
        yield config, {"seqlens": [length]}, round(counter.qwen3_flops(Args(**config, max_position_embeddings=1), 1, length))
    for _ in range(3):
        config, length = latent(draw), draw.randrange(1, 9000)
        yield config, {"seqlens": [length]}, round(counter.mla_moe_flops(Args(**config), 1, length))
    for _ in range(6):
        config, length = kimi(draw), draw.randrange(1, 9000)
        yield config, {"seqlens": [length]}, round(counter.kimi_k3_flops(Args(**config), 1, length))


def olmo(folder, draw):
    """The methods of Attention, FeedForward and LMHead on the sizes of their matrices, summed as Transformer sums them."""
    nn = SOURCES / folder / "olmo_core/nn"
    sized = lambda *sizes, **more: Args(parameters=lambda: [Args(numel=lambda n=n: n) for n in sizes], **more)  # noqa: E731
    names = ["num_flops_per_token"] + (["_causal_attention_positions"] if folder == "olmo_core_3" else [])
    attention = functions_of(nn / "attention/__init__.py", names, {})["num_flops_per_token"]
    feed_forward, lm_head = (functions_of(nn / f"{name}.py", names[:1], {})["num_flops_per_token"]
                             for name in ("feed_forward", "lm_head"))
    for i in range(12):
        config = dense(draw, "llama" if i < 6 else "mistral")
        length = 2 ** draw.randrange(6, 12)
        window = 2 ** draw.randrange(4, 12) if i >= 6 else 0
        if window:
            config["sliding_window"] = window
        h, heads = config["hidden_size"], config["num_attention_heads"]
        keys = config["num_key_value_heads"] * h // heads
        layer = attention(sized(h * h, h * keys, h * keys, h * h, n_heads=heads, head_dim=h // heads, window_size=window), length)
        layer += feed_forward(sized(*3 * [h * config["intermediate_size"]]), length)
        head = lm_head(sized(h, h * config["vocab_size"]), length)  # its norm and its matrix
        number = length * (config["num_hidden_layers"] * layer + head)
        yield config, {"seqlens": [length]}, number, {"lm_head_norm": 6 * h * length}


def olmo_core_3_linear(draw):
    """Layers of delta rules alone: the methods of GatedDeltaNet and KimiDeltaAttention on their own sizes."""
    folder = SOURCES / "olmo_core_3/olmo_core/nn/attention"
    weight = lambda *size: Args(weight=Args(numel=lambda: math.prod(size)))  # noqa: E731
    for i in range(8):
        hidden, length = draw.randrange(256, 1024, 64), draw.randrange(1, 9000)
        keys, values, dim = draw.choice([2, 4]), draw.choice([4, 8]), draw.choice([32, 64])
        if i % 2 == 0:
            value_dim = draw.choice([32, 64, 128])
            key_width, value_width = keys * dim, values * value_dim
            this = Args(w_q=weight(hidden, key_width), w_k=weight(hidden, key_width), w_v=weight(hidden, value_width),
                        w_a=weight(hidden, values), w_b=weight(hidden, values), w_g=weight(hidden, value_width),
                        w_out=weight(value_width, hidden), conv_size=4, key_dim=key_width, value_dim=value_width,
                        n_v_heads=values, head_k_dim=dim, head_v_dim=value_dim)
            path, model = folder / "recurrent.py", {
                "hidden_size": hidden, "linear_num_key_heads": keys, "linear_num_value_heads": values,
                "linear_key_head_dim": dim, "linear_value_head_dim": value_dim, "linear_conv_kernel_dim": 4}
        else:
            width = values * dim
            this = Args(w_q=weight(hidden, width), w_k=weight(hidden, width), w_v=weight(hidden, width),
                        f_proj_1=weight(hidden, dim), f_proj_2=weight(dim, width), w_b=weight(hidden, values),
                        g_proj_1=weight(hidden, dim), g_proj_2=weight(dim, width), w_out=weight(width, hidden),
                        conv_size=4, key_dim=width, value_dim=width, n_v_heads=values, head_k_dim=dim, head_v_dim=dim)
            path, model = folder / "kda.py", {
                "hidden_size": hidden, "kimi_linear_num_heads": values, "kimi_linear_head_dim": dim,
                "kimi_linear_conv_kernel_size": 4}
        method = functions_of(path, ["num_flops_per_token"], {})["num_flops_per_token"]
        yield {"delta_rule_layer": True, **model}, {"seqlens": [length]}, length * method(this, length)


def megatron_2026_10(draw):
    class Arguments(Args):
        def __getattr__(self, name):  # an option that is not set
            if name.startswith("__"):
                raise AttributeError(name)
            return None

    space = functions_of(SOURCES / "megatron_lm/dsa.py", ["is_dsa_skip_topk_layer"], {})
    space |= {"is_hybrid_model": lambda args: False, "is_linear_attention_variant": lambda variant: False}
    count = functions_of(SOURCES / "megatron_lm/training.py", ["num_floating_point_operations", "_dsa_sparse_core_scale",
                         "_dsa_indexer_flops", "_num_dsa_indexer_layers"], space)["num_floating_point_operations"]
    for place in range(24):
        layers, heads = draw.randrange(2, 60), draw.choice([4, 8, 16])
        model = {"num_layers": layers, "hidden_size": draw.randrange(256, 2048, 64), "ffn_hidden_size": draw.randrange(256, 4096, 64),
                 "num_attention_heads": heads, "num_query_groups": heads, "kv_channels": 64, "vocab_size": draw.randrange(1024, 60000, 128),
                 "multi_latent_attention": True, "q_lora_rank": draw.randrange(64, 1024, 32), "kv_lora_rank": draw.randrange(64, 512, 32),
                 "qk_head_dim": draw.choice([48, 64, 128]), "qk_pos_emb_head_dim": draw.choice([16, 32, 64]),
                 "v_head_dim": draw.choice([64, 128]), "dsa_indexer_n_heads": draw.choice([4, 8, 32]),
                 "dsa_indexer_head_dim": draw.choice([32, 64, 128]), "dsa_indexer_topk": draw.choice([256, 300, 512, 2048]),
                 "dsa_indexer_topk_freq": draw.choice([1, 1, 2, 4]), "dsa_indexer_skip_topk_offset": draw.randrange(0, 4),
                 "experimental_attention_variant": "dsa", "gated_mlp": True, "heads_added_up": True}
        if place % 2:
            model |= {"moe_ffn_hidden_size": draw.randrange(64, 1024, 32), "num_experts": draw.choice([8, 64]),
                      "moe_router_topk": draw.randrange(1, 8), "moe_shared_expert_intermediate_size": draw.randrange(64, 1024, 64),
                      "moe_layer_freq": [int(layer > 0) for layer in range(layers)]}
        # A loss of the indexer, or none: then it runs forward only.
        model |= {"dsa_indexer_loss_coeff": 0.01} if place % 3 else {"absorbed": True}
        length, rows = 2 ** draw.randrange(9, 15), draw.randrange(1, 5)
        args = Arguments(**model, padded_vocab_size=model["vocab_size"], swiglu=True, group_query_attention=False, seq_length=length)
        number = count(args, rows)
        assert number == int(number), "lengths that are powers of two have exact floats"
        yield model, {"seqlens": [length] * rows}, number


def sglang(draw):
    path = SOURCES / "sglang/sglang/srt/managers/scheduler_components/metrics_reporter.py"
    space = functions_of(path, ["_init_estimated_perf_constants", "_estimate_prefill_perf", "_prefill_attention_pairs"],
                         {"get_parallel": lambda: Args(tp_size=1)})
    for place in range(20):
        config = dense(draw, "llama") if place < 10 else mixture(draw)
        heads, kv = config["num_attention_heads"], config["num_key_value_heads"]
        model = Args(hf_text_config=Args(**config), hidden_size=config["hidden_size"],
                     num_attention_layers=config["num_hidden_layers"], head_dim=config["hidden_size"] // heads,
                     get_num_attention_heads=lambda tp, n=heads: n, get_num_kv_heads=lambda tp, n=kv: n,
                     dtype=Args(itemsize=2))
        this = Args(scheduler=Args(model_config=model))
        space["_init_estimated_perf_constants"](this)
        new = lengths(draw)
        past = [draw.randrange(0, 5000) for _ in new]
        work = space["_estimate_prefill_perf"](this, Args(extend_lens=new, prefix_lens=past))[0]
        batch = {"new": new, "context": [n + p for n, p in zip(new, past)]}
        if place < 10:
            yield config, batch, round(work)
            continue
        # It takes every layer of a mixture for an MLP of intermediate_size.
        instead = config["intermediate_size"] - config["num_experts_per_tok"] * config["moe_intermediate_size"]
        yield config, batch, round(work), {"dense_layer": 6 * config["hidden_size"] * instead * config["num_hidden_layers"] * sum(new)}


def small_llama(draw):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = dense(draw, "llama") | {"num_hidden_layers": draw.randrange(1, 4), "vocab_size": draw.randrange(64, 512)}
    made = LlamaConfig(**config, attn_implementation="eager", use_cache=False)
    length = draw.randrange(8, 96)
    with torch.device("cpu"):
        return config, LlamaForCausalLM(made).eval(), torch.zeros(1, length, dtype=torch.long)


def deepspeed_profiler(draw):
    from transformers import LlamaForCausalLM  # noqa: F401  # it looks for a real deepspeed

    sys.path.insert(0, str(SOURCES / "deepspeed"))
    stub = types.ModuleType("deepspeed")
    stub.__path__ = [str(SOURCES / "deepspeed/deepspeed")]
    for name, values in {"deepspeed": {}, "deepspeed.utils": {"logger": logging.getLogger("deepspeed")}, "deepspeed.accelerator": {
            "get_accelerator": lambda: Args(is_available=lambda: False, synchronize=lambda: None)}}.items():
        module = stub if name == "deepspeed" else types.ModuleType(name)
        for key, value in values.items():
            setattr(module, key, value)
        sys.modules.setdefault(name, module)
    for name in ("deepspeed.moe", "deepspeed.moe.layer", "deepspeed.utils.timer", "deepspeed.utils.torch", "einops"):
        module = sys.modules.setdefault(name, types.ModuleType(name))
        module.required_torch_version = lambda min_version: True
        module.MoE = type("MoE", (), {})
        module.einsum = lambda *operands: None
        module.FORWARD_GLOBAL_TIMER = module.BACKWARD_GLOBAL_TIMER = module.STEP_GLOBAL_TIMER = ""
    profiler = loaded(SOURCES / "deepspeed/deepspeed/profiling/flops_profiler/profiler.py", "deepspeed_flops")
    for _ in range(4):
        config, model, ids = small_llama(draw)
        counter = profiler.FlopsProfiler(model)
        counter.start_profile()
        model(ids)
        macs = counter.get_total_macs()
        counter.end_profile()
        yield config, {"new": [ids.shape[1]], "context": [ids.shape[1]]}, 2 * macs


def fvcore(draw):
    import torch
    from fvcore.nn import FlopCountAnalysis

    class Logits(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, ids):
            return self.model(ids).logits

    for _ in range(4):
        config, model, ids = small_llama(draw)
        found = FlopCountAnalysis(Logits(model), ids).unsupported_ops_warnings(False).uncalled_modules_warnings(False)
        macs = sum(n for name, n in found.by_operator().items() if name in ("linear", "matmul", "bmm", "addmm", "mm", "einsum"))
        yield config, {"new": [ids.shape[1]], "context": [ids.shape[1]]}, 2 * int(macs)


COUNTERS = {"trl": trl, "prime_rl": prime_rl, "veomni": veomni, "slime": slime, "nemo_rl": nemo_rl,
            "llama_factory": llama_factory, "nemo_automodel_0_7": nemo_automodel_0_7,
            "olmo_core": functools.partial(olmo, "olmo_core"), "olmo_core_3": functools.partial(olmo, "olmo_core_3"),
            "olmo_core_3/delta": olmo_core_3_linear, "megatron_2026_10": megatron_2026_10, "sglang": sglang, "deepspeed_profiler": deepspeed_profiler,
            "fvcore": fvcore}


def main():
    made = []
    names = [name for name in sys.argv[2:] if name != "--check"] or list(COUNTERS)
    for name, counter in COUNTERS.items():
        if name not in names:
            continue
        peer = name.split("/")[0]
        for i, (model, batch, number, *parts) in enumerate(counter(random.Random(name))):
            case = {"id": f"{name}/random/{i}", "source": SOURCE_OF[peer], "family": model.get("model_type", "layer"),
                    "model": model, "batch": batch, "expected": int(number)}
            made.append(case | ({"parts": parts[0]} if parts else {}))
    path = HERE / "peers.json"
    lines = [line.rstrip(",") for line in path.read_text().splitlines()[1:-1]]
    kept = [line for line in lines if json.loads(line)["id"].split("/random/")[0] not in names]
    text = "[\n" + ",\n".join(kept + [json.dumps(case, separators=(", ", ": ")) for case in made]) + "\n]\n"
    if "--check" in sys.argv[2:]:
        sys.exit(0 if text == path.read_text() else "peers.json is not what these counters give")
    path.write_text(text)
    print(len(made), "cases")


if __name__ == "__main__":
    main()
