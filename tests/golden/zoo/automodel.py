# SPDX-License-Identifier: Apache-2.0
"""Counts small random models of NeMo Automodel's own classes, run forward and backward under PyTorch's FlopCounterMode.

    pip install -r requirements.txt && pip install --no-deps nemo-automodel==0.7.0
    python automodel.py [TYPE...]           # writes automodel.json
    python automodel.py --check [TYPE...]   # writes nothing, compares with what is there

These types have no class in transformers; their first code stands beside the checkpoints, for several releases of
transformers. Automodel trains them by classes of its own, which run on a CPU once kernels for a GPU (recurrences, short
convolutions) have a plain PyTorch form. Sizes and flags are drawn from a seed; runs are counted by diffusion.py's `run`.
"""

import json
import math
import os
import random
import sys
import types
import warnings

import diffusion

os.environ["TORCHDYNAMO_DISABLE"] = "1"  # what is compiled cannot be counted
RELEASE = "0.7.0"
DRAWS = 6
try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.flop_counter import FlopCounterMode

    warnings.filterwarnings("ignore")
    import nemo_automodel
    from nemo_automodel.components.models.common import BackendConfig
except ImportError as missing:
    diffusion.skip(f"{missing.name} cannot be imported")


def own(name):
    """A module of Automodel's models."""
    return __import__(f"nemo_automodel.components.models.{name}", fromlist=["*"])


def plain(attention="eager", **more):
    return BackendConfig(attn=attention, linear="torch", rms_norm="torch_fp32", experts="torch", dispatcher="torch", rope_fusion=False,
                         enable_hf_state_dict_adapter=False, **more)


def flag(choose):
    return choose.random() < 0.5


class ShortConvolution(nn.Module):
    """A causal depthwise convolution as one product for each channel, in place of a kernel's."""

    def __init__(self, hidden_size, kernel_size, **_):
        super().__init__()
        self.weight, self.kernel = nn.Parameter(torch.rand(hidden_size, kernel_size)), kernel_size

    def forward(self, x, **_):
        seen = F.pad(x.float(), (0, 0, self.kernel - 1, 0)).unfold(1, self.kernel, 1)  # batch, tokens, channels, kernel
        batch, tokens, channels, kernel = seen.shape
        made = torch.bmm(seen.permute(2, 0, 1, 3).reshape(channels, batch * tokens, kernel), self.weight[:, :, None])
        return made.reshape(channels, batch, tokens).permute(1, 2, 0), None


class GatedNorm(nn.Module):
    def __init__(self, size, **_):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(size))

    def forward(self, x, gate):
        return x * self.weight * gate.sigmoid()


def delta_rule(q, k, v, g, beta, **_):
    """The recurrence as it is defined: three products of a state's size for each token and head."""
    batch, tokens, heads, dim = q.shape
    state, made = torch.zeros(batch * heads, dim, v.shape[3], requires_grad=True), []
    q, k, v, g, beta = (x.float().transpose(1, 2).reshape(batch * heads, tokens, -1) for x in (q, k, v, g, beta[..., None]))
    for t in range(tokens):
        state = state * g[:, t, :, None].exp()
        wrong = (v[:, t, None] - k[:, t, None] @ state) * beta[:, t, :, None]
        state = state + k[:, t, :, None] @ wrong
        made.append(q[:, t, None] @ state)
    return torch.cat(made, 1).reshape(batch, heads, tokens, -1).transpose(1, 2), None


def tokens_of(choose, vocabulary):
    batch, length = choose.randint(1, 3), choose.randint(3, 11)
    return batch, length, torch.randint(0, vocabulary, (batch, length))


def called(**inputs):
    """How diffusion.run calls a class that has no `return_dict`."""
    def call(model, tokens, return_dict, **more):
        outputs = model(tokens, **inputs, **more)
        return getattr(outputs, "logits", outputs)
    return call


def negative(flops, why):
    return {"forward": -flops, "backward": -2 * flops, "why": why}


def rotary(rows, dims):
    """Angles of positions that a class makes by a product, without a gradient: of each row, with frequencies."""
    return {"rotary": {"forward": rows * sum(dims), "backward": 0, "why": "the angles of positions are made by a product"}}


def beyond(flops, times, why):
    return {"forward": flops * times, "backward": 2 * flops * times, "why": why}


def kimi_text(choose):
    heads, layers = choose.choice([2, 4]), choose.randint(2, 6)
    full = sorted(choose.sample(range(1, layers + 1), choose.randint(1, layers)))
    config = dict(
        vocab_size=choose.randint(9, 40), hidden_size=2 * choose.randint(4, 12), intermediate_size=choose.randint(5, 30),
        num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=heads, num_experts=choose.randint(2, 6),
        moe_intermediate_size=choose.randint(3, 12), num_shared_experts=choose.randint(1, 2), first_k_dense_replace=choose.randint(0, layers),
        routed_expert_hidden_size=choose.randint(3, 9), latent_moe_use_norm=flag(choose), q_lora_rank=choose.choice([None, choose.randint(2, 9)]),
        kv_lora_rank=choose.randint(2, 9), qk_nope_head_dim=choose.randint(2, 6), qk_rope_head_dim=2 * choose.randint(1, 3),
        v_head_dim=choose.randint(2, 6), mla_use_output_gate=flag(choose), attn_res_block_size=choose.choice([None, 1, 2, 3]),
        linear_attn_config=dict(head_dim=choose.randint(2, 5), num_heads=choose.randint(2, 3), short_conv_kernel_size=choose.randint(2, 4),
                                full_attn_layers=full, kda_layers=[i for i in range(1, layers + 1) if i not in full],
                                use_full_rank_gate=flag(choose), gate_lower_bound=-5.0))
    config["num_experts_per_token"] = choose.randint(1, config["num_experts"])
    return config


def residuals(config, rows):
    """What a block's mix multiplies by sums in place of products: scores of each source, and their sum."""
    block, layers = config["attn_res_block_size"], config["num_hidden_layers"]
    if block is None:
        return {}
    sources = sum((-(-i // block) + 1 if i else 0) + i // block + 2 for i in range(layers)) + -(-layers // block) + 1
    return {"residuals": negative(2 * 2 * rows * sources * config["hidden_size"], "the sources of a residual are summed elementwise")}


def kimi_linear(choose):
    """KimiK3ForCausalLM: Kimi K3's text."""
    module = own("kimi_k3.model")
    module.ShortConvolution, module.FusedRMSNormGated, module.chunk_kda = ShortConvolution, GatedNorm, delta_rule
    module._require_fla, module._short_conv_backend_kwargs = lambda: None, lambda backend: {}
    config = kimi_text(choose)
    read = module.KimiK3TextConfig(**config, head_dim=8, kda_use_fused_gate=False, dtype="float32", torch_dtype="float32")
    model = module.KimiK3ForCausalLM(read, backend=plain())
    return config, model.float(), text_of(config, lambda batch, length: residuals(config, batch * length))



def text_of(config, beside=lambda batch, length: {}):
    """What one run of a text model takes."""
    def make(choose):
        batch, length, tokens = tokens_of(choose, config["vocab_size"])
        return batch, length, {"audio_frames": [0] * batch, "tokens": tokens, "call": called(), "differences": beside(batch, length)}
    return make


def kimi_k3(choose):
    """KimiK3ForConditionalGeneration: the tower MoonViT3d, a projector, and the text; one image or clip a run."""
    kimi_linear(random.Random(0))
    module, text = own("kimi_k3.multimodal"), kimi_text(choose)
    heads = choose.choice([1, 2])
    vision = dict(vt_hidden_size=2 * choose.randint(3, 6), vt_intermediate_size=choose.randint(4, 12), vt_num_hidden_layers=choose.randint(1, 2),
                  vt_num_attention_heads=heads, qkv_hidden_size=heads * 4 * choose.randint(1, 2), patch_size=choose.randint(2, 4),
                  init_pos_emb_height=choose.randint(2, 4), init_pos_emb_width=choose.randint(2, 4),
                  norm_type=choose.choice(["rmsnorm", "layernorm"]), attn_bias=flag(choose), linear_bias=flag(choose),
                  patch_embed_proj_bias=flag(choose), mm_projector_type=choose.choice(["patchmerger", "patchmergerv2"]))
    if flag(choose):
        vision.update(mm_hidden_size=vision["vt_hidden_size"], merge_kernel_size=[2, 2])
    numbers = dict(dtype="float32", torch_dtype="float32")
    config = module.KimiK3Config(
        text_config=module.KimiK3Config.sub_configs["text_config"](**text, head_dim=8, kda_use_fused_gate=False, **numbers),
        vision_config={**vision, "attn_implementation": "eager", "text_hidden_size": text["hidden_size"]}, media_placeholder_token_id=1, **numbers)
    model = module.KimiK3ForConditionalGeneration(config, backend=plain()).float()

    def make(choose):
        grid = [choose.randint(1, 3), 2 * choose.randint(1, 3), 2 * choose.randint(1, 3)]
        words = choose.randint(2, 6)
        tokens = torch.randint(2, text["vocab_size"], (1, words))
        tokens[0, choose.randrange(words)] = 1
        patches = torch.rand(math.prod(grid), 3, vision["patch_size"], vision["patch_size"])
        length = words - 1 + grid[1] * grid[2] // 4
        return 1, length, {"grids": [grid], "tokens": tokens, "call": called(pixel_values=patches, grid_thws=torch.tensor([grid])),
                           "differences": residuals(text, length)}
    written = {"text_config": {"model_type": "kimi_linear", **text}, "vision_config": {"model_type": "kimi_k3_vision", **vision}}
    return written, model, make


def ling(choose):
    """BailingMoeV2ForCausalLM: Ling 2.0."""
    module = own("ling_v2.model")
    kv, layers, experts = choose.choice([1, 2]), choose.randint(1, 4), choose.choice([4, 8])
    config = dict(vocab_size=choose.randint(9, 40), hidden_size=2 * choose.randint(4, 12), intermediate_size=choose.randint(5, 30),
                  num_hidden_layers=layers, num_attention_heads=kv * choose.randint(1, 3), num_key_value_heads=kv, head_dim=2 * choose.randint(1, 4),
                  use_qk_norm=flag(choose), use_qkv_bias=flag(choose), use_bias=flag(choose), num_experts=experts,
                  num_experts_per_tok=choose.randint(1, 2), n_group=2, topk_group=1, num_shared_experts=choose.randint(1, 2),
                  moe_intermediate_size=choose.randint(3, 12), first_k_dense_replace=choose.randint(0, layers))
    if flag(choose):
        config["moe_shared_expert_intermediate_size"] = config["moe_intermediate_size"]
    read = module.BailingMoeV2Config(**config, dtype="float32", torch_dtype="float32")
    model = module.BailingMoeV2ForCausalLM(read, backend=plain(attention="sdpa"))
    return config, model.float(), text_of(config)


def step3p5(choose):
    """Step3p5ForCausalLM: the text of Step-3.5-Flash."""
    module = own("step3p5.model")
    kv, layers, dim = choose.choice([1, 2]), choose.randint(2, 5), 2 * choose.randint(1, 4)
    config = dict(vocab_size=choose.randint(9, 40), hidden_size=2 * choose.randint(4, 12), intermediate_size=choose.randint(5, 30),
                  num_hidden_layers=layers, num_attention_heads=kv * choose.randint(1, 3), num_attention_groups=kv, head_dim=dim,
                  use_head_wise_attn_gate=flag(choose), attention_bias=flag(choose), moe_num_experts=choose.randint(2, 6),
                  moe_intermediate_size=choose.randint(3, 12), share_expert_dim=choose.randint(3, 12), sliding_window=choose.randint(2, 6),
                  layer_types=[choose.choice(["full_attention", "sliding_attention"]) for _ in range(layers + choose.randint(0, 2))],
                  attention_other_setting=dict(attention_type="sliding_attention", num_attention_heads=2 * kv, head_dim=dim))
    if flag(choose):
        config["attention_other_setting"]["num_attention_groups"] = 1
    config["moe_top_k"] = choose.randint(1, config["moe_num_experts"])
    config["moe_layers_enum"] = ",".join(str(i) for i in range(layers) if flag(choose)) or "0"
    read = types.SimpleNamespace(**config, rms_norm_eps=1e-5, rope_theta=10000.0, max_position_embeddings=64, torch_dtype="float32",
                                 rope_scaling=None, rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
                                 tie_word_embeddings=False, moe_router_activation="sigmoid", use_moe_router_bias=False)
    return config, module.Step3p5ForCausalLM(read, backend=plain(attention="sdpa")).float(), text_of(
        config, lambda batch, length: rotary(batch * length, [dim] * layers))


def with_sinks(model):
    """Sinks are weights of the checkpoint, which the class holds as buffers."""
    for module in model.modules():
        if getattr(module, "attention_sink_bias", None) is not None:
            sinks = module.attention_sink_bias
            del module.attention_sink_bias
            module.attention_sink_bias = nn.Parameter(sinks.clone())
    return model


def mimo(choose, module, of_class, of_config, **more):
    kv, layers, experts = choose.choice([1, 2]), choose.randint(2, 6), choose.choice([4, 8])
    swa = choose.choice([1, 2])
    config = dict(vocab_size=choose.randint(9, 40), hidden_size=4 * choose.randint(2, 6), intermediate_size=choose.randint(5, 30),
                  num_hidden_layers=layers, num_attention_heads=2 * kv, num_key_value_heads=kv, head_dim=2 * choose.randint(1, 4),
                  v_head_dim=choose.randint(1, 6), n_routed_experts=experts, num_experts_per_tok=choose.randint(1, 3), n_group=1, topk_group=1,
                  moe_intermediate_size=choose.randint(3, 12), moe_layer_freq=[choose.randint(0, 1) for _ in range(layers)],
                  sliding_window_size=choose.randint(2, 5), attention_bias=flag(choose),
                  add_full_attention_sink_bias=flag(choose), add_swa_attention_sink_bias=flag(choose),
                  swa_num_attention_heads=2 * swa, swa_num_key_value_heads=swa, swa_head_dim=2 * choose.randint(1, 4),
                  swa_v_head_dim=choose.randint(1, 6))
    if flag(choose):
        config["hybrid_layer_pattern"] = [choose.randint(0, 1) for _ in range(layers)]
    else:
        config["hybrid_block_size"] = choose.randint(1, 3)
    model = of_class(of_config(**config, dtype="float32", torch_dtype="float32", partial_rotary_factor=1.0, scoring_func="sigmoid",
                               topk_method="noaux_tc", norm_topk_prob=True, **more), backend=plain())
    return config, with_sinks(model.float()), text_of(
        config, lambda batch, length: rotary(length, [config["head_dim"], config["swa_head_dim"]]))


def mimo_v2_flash(choose):
    """MiMoV2FlashForCausalLM, by the keys of its checkpoint."""
    module = own("mimo_v2_flash.model")
    return mimo(choose, module, module.MiMoV2FlashForCausalLM, own("mimo_v2_flash.config").MiMoV2FlashConfig)


def mimo_v2(choose):
    """MiMoV2ForCausalLM of MiMo-V2.5-Pro."""
    module = own("mimo_v25.model")
    return mimo(choose, module, module.MiMoV2ForCausalLM, own("mimo_v25.config").MiMoV2Config,
                attention_projection_layout=choose.choice(["split", "fused_qkv"]))


def deepseek_v41(choose):
    """DeepseekV41ForCausalLM on texts; its tower stands idle."""
    module = own("deepseek_v41.model")
    own("deepseek_v41.engram")._compressed_token_map = lambda tokenizer: (tuple(range(tokenizer)), tokenizer)
    layers, groups = choose.randint(2, 6), choose.choice([1, 2])
    ratio, first = choose.randint(1, 3), choose.randint(0, 2)
    vocabulary, order, heads = choose.randint(12, 40), choose.randint(2, 4), choose.randint(1, 2)
    sources = sorted({first, choose.randint(first, layers - 1)}) if first < layers else []
    remember = sorted(choose.sample(range(layers), choose.randint(0, 2)))
    text = dict(vocab_size=vocabulary, hidden_size=2 * choose.randint(4, 9), moe_intermediate_size=choose.randint(3, 9), num_hidden_layers=layers,
                num_attention_heads=groups * choose.randint(1, 2), num_key_value_heads=1, head_dim=2 * choose.randint(2, 5), qk_rope_head_dim=2,
                q_lora_rank=choose.randint(3, 9), o_lora_rank=choose.randint(2, 6), o_groups=groups, n_routed_experts=choose.randint(2, 5),
                num_experts_per_tok=choose.randint(1, 2), sliding_window=choose.randint(2, 5),
                compress_ratios=[0] * min(first, layers) + [ratio] * max(layers - first, 0) + [0] * choose.randint(0, 2),
                kv_source_layer_ids=sources, index_source_layer_ids=sorted({*sources, layers - 1} if sources else []),
                index_n_heads=choose.randint(1, 3), index_head_dim=2 * choose.randint(1, 4), index_topk=choose.randint(1, 4),
                candidate_source_layer_id=-1, hc_mult=choose.randint(2, 4), engram_layer_ids=remember,
                engram_num_embeddings=[400] * len(remember), engram_max_ngram_size=order, engram_n_heads=heads,
                engram_head_dim=2 * choose.randint(1, 3), engram_vocab_size=7, engram_compressed_vocab_size=vocabulary, engram_pad_token_id=2,
                num_nextn_predict_layers=0)
    width = 4 * choose.randint(1, 3)
    vision = dict(num_hidden_layers=choose.randint(1, 2), hidden_size=width * 2, num_attention_heads=2, intermediate_size=choose.randint(4, 9),
                  patch_size=choose.randint(2, 3), downsample_ratio=choose.randint(2, 3))
    config = module.DeepseekV41Config(text_config={**text, "dtype": "float32", "rms_norm_eps": 1e-6}, vision_config=vision, image_token_id=1,
                                      dtype="float32")
    model = module.DeepseekV41ForCausalLM(config, backend=plain(), tokenizer=vocabulary).float()

    def differences(batch, length):
        n, h, head, dim = text["hc_mult"], text["hidden_size"], text["num_attention_heads"], text["head_dim"]
        rows, whole = batch * length, length // ratio
        made = {"streams": negative(2 * 2 * layers * n * n * h * rows, "streams are mixed elementwise"),
                "sink": beyond(4 * head * dim, rows * layers, "a key of zeros stands for the sink")}
        if ratio > 1 and sources:
            seen = sum(min(text["index_topk"], t // ratio) for t in range(1, length + 1))
            scored = sum(t // ratio for t in range(1, length + 1))
            compressed = sum(1 for each in text["compress_ratios"][:layers] if each)
            made["best_compressed_keys"] = beyond(4 * head * dim, compressed * batch * (length * whole - seen),
                                                  "every query against every compressed key, under a mask of the best")
            made["index_scores"] = {"forward": len(text["index_source_layer_ids"]) * batch * (length * whole - scored) * 2 *
                                    text["index_n_heads"] * text["index_head_dim"], "backward": 0,
                                    "why": "scores of later blocks too, masked afterwards"}
            made["rest"] = negative(len(sources) * 2 * 2 * h * dim * batch * (length - whole * ratio),
                                    "tokens after the last whole block are not compressed")
        return made

    def make(choose):
        batch, length, tokens = tokens_of(choose, vocabulary)
        return batch, length, {"audio_frames": [0] * batch, "tokens": tokens, "call": called(), "differences": differences(batch, length)}
    written = {"text_config": {"model_type": "deepseek_v41_text", **text}, "vision_config": {"model_type": "deepseek_v41_vision", **vision}}
    return written, model, make


def two_way(choose, module, of_class, of_config):
    heads = choose.choice([1, 2])
    config = dict(vocab_size=choose.randint(9, 40), hidden_size=8 * heads, intermediate_size=choose.randint(5, 30),
                  num_hidden_layers=choose.randint(1, 3), num_attention_heads=2 * heads, num_key_value_heads=heads, head_dim=4,
                  is_causal=flag(choose))
    read = of_config(**config, use_cache=False, pad_token_id=0, dtype="float32", max_position_embeddings=64)
    read._attn_implementation = "eager"

    def call(model, tokens, return_dict):
        return model(input_ids=tokens, use_cache=False).last_hidden_state

    def make(choose):
        batch, length, tokens = tokens_of(choose, config["vocab_size"])
        return batch, length, {"audio_frames": [0] * batch, "tokens": tokens, "call": call}
    return config, of_class(read).float(), make


def llama_bidirec(choose):
    """LlamaBidirectionalModel: embeddings."""
    module = own("llama_bidirectional.model")
    return two_way(choose, module, module.LlamaBidirectionalModel, module.LlamaBidirectionalConfig)


def ministral3_bidirec(choose):
    """Ministral3BidirectionalModel: embeddings."""
    module = own("ministral_bidirectional.model")
    return two_way(choose, module, module.Ministral3BidirectionalModel, module.Ministral3BidirectionalConfig)


CLASSES = {"bailing_moe": ling, "deepseek_v41": deepseek_v41, "kimi_k3": kimi_k3, "kimi_linear": kimi_linear,
           "llama_bidirec": llama_bidirec, "mimo_v2": mimo_v2, "mimo_v2_flash": mimo_v2_flash,
           "ministral3_bidirec": ministral3_bidirec, "step3p5": step3p5}
NAMES = {"bailing_moe": "BailingMoeV2ForCausalLM", "deepseek_v41": "DeepseekV41ForCausalLM", "kimi_k3": "KimiK3ForConditionalGeneration",
         "kimi_linear": "KimiK3ForCausalLM",
         "llama_bidirec": "LlamaBidirectionalModel", "mimo_v2": "MiMoV2ForCausalLM", "mimo_v2_flash": "MiMoV2FlashForCausalLM",
         "ministral3_bidirec": "Ministral3BidirectionalModel", "step3p5": "Step3p5ForCausalLM"}


def describe(name, draw):
    choose = random.Random(f"{name} {draw}")
    torch.manual_seed(0)
    config, model, make = CLASSES[name](choose)
    model.train()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.3)
    runs = []
    for _ in range(2):
        batch, length, made = make(choose)
        counted = diffusion.run(torch, FlopCounterMode, model, made)
        del counted["lengths"]
        if not any(counted.get("audio_frames", [1])):
            del counted["audio_frames"]
        fused = counted.pop("fused")
        runs.append(dict(counted, batch=batch, length=length, attention="sdpa" if fused else "eager", fused=fused))
    return {"id": f"automodel.{name}/{draw}", "model_type": name, "class": NAMES[name],
            "config": {"model_type": name, "architectures": [NAMES[name]], **config},
            "no_resolved": "the class is Automodel's", "parameters": sum(one.numel() for one in model.parameters()), "runs": runs}


if __name__ == "__main__":
    release = nemo_automodel.__version__.partition("+")[0]
    if release != RELEASE:
        diffusion.skip(f"nemo-automodel is {release}, the models were counted with {RELEASE}")
    sys.exit(diffusion.redraw(__file__, CLASSES, DRAWS, describe, sys.argv[1:]))
