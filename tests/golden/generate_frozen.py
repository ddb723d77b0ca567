# SPDX-License-Identifier: Apache-2.0
"""Counts tiny real models of transformers of which only parts train, under PyTorch's FlopCounterMode.

    python generate_frozen.py            # writes frozen.json
    python generate_frozen.py --check    # writes nothing, compares with what is there

Without PyTorch and transformers it says so and exits with status 77. Parts are frozen by `requires_grad_(False)`; LoRA
is two linears beside a frozen one. Attention is eager, so that every product of its backward is an operator of its own,
which autograd runs or leaves out.
"""

import json
import pathlib
import re
import sys

try:
    import torch
    import transformers
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).parent
LENGTH = 11
ENCODER_LENGTH = 7

LLAMA = dict(model_type="llama", architectures=["LlamaForCausalLM"], vocab_size=50, hidden_size=12,
             intermediate_size=20, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
             tie_word_embeddings=False)
MOE = dict(model_type="qwen3_moe", architectures=["Qwen3MoeForCausalLM"], vocab_size=50, hidden_size=12,
           intermediate_size=20, moe_intermediate_size=14, num_hidden_layers=3, num_attention_heads=4,
           num_key_value_heads=2, head_dim=6, num_experts=6, num_experts_per_tok=2, mlp_only_layers=[0],
           tie_word_embeddings=False)
MLA = dict(model_type="deepseek_v3", architectures=["DeepseekV3ForCausalLM"], vocab_size=50, hidden_size=12,
           intermediate_size=20, moe_intermediate_size=14, num_hidden_layers=3, num_attention_heads=2,
           num_key_value_heads=2, q_lora_rank=5, kv_lora_rank=4, qk_nope_head_dim=6, qk_rope_head_dim=2, v_head_dim=8,
           n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, n_group=1, topk_group=1,
           first_k_dense_replace=1, num_nextn_predict_layers=0, tie_word_embeddings=False)
T5 = dict(model_type="t5", architectures=["T5ForConditionalGeneration"], vocab_size=50, d_model=12, d_kv=6, d_ff=20,
          num_layers=2, num_decoder_layers=3, num_heads=2, dropout_rate=0.0, tie_word_embeddings=False)

LLAVA = dict(model_type="llava", architectures=["LlavaForConditionalGeneration"], image_token_index=49,
             vision_feature_layer=-2, vision_feature_select_strategy="default", tie_word_embeddings=False,
             text_config={key: value for key, value in LLAMA.items() if key != "architectures"},
             vision_config=dict(model_type="clip_vision_model", hidden_size=10, intermediate_size=18,
                                num_hidden_layers=4, num_attention_heads=2, image_size=9, patch_size=3))

FROZEN = {"weights": "*", "state": "frozen"}


def lora(weights, rank, **layers):
    return {"weights": weights, "state": "lora", "rank": rank, **layers}


def trainable(weights, **layers):
    return {"weights": weights, "state": "trainable", **layers}


PLANS = {
    "everything": [],
    "LoRA of q and v": [FROZEN, lora("*/q_proj", 3), lora("*/v_proj", 2)],
    "LoRA of k": [FROZEN, lora("*/k_proj", 3)],
    "LoRA of o in the last layers": [FROZEN, lora("*/o_proj", 3, first_layer=1, last_layer=9)],
    "LoRA of the second latents": [FROZEN, lora("*/kv_b_proj", 3), lora("*/q_b_proj", 2)],
    "LoRA of every attention": [FROZEN, lora("attention.*", 4)],
    "frozen embedding": [{"weights": "embedding", "state": "frozen"}],
    "lm_head only": [FROZEN, trainable("lm_head")],
    "norms only": [FROZEN, trainable("norm")],
    "norms of the last layers": [FROZEN, trainable("norm", first_layer=1, last_layer=9)],
    "down_proj only": [FROZEN, trainable("mlp/down_proj")],
    "router only": [FROZEN, trainable("moe.router")],
    "experts of the last layer": [FROZEN, trainable("moe.experts", first_layer=2, last_layer=2)],
    "frozen first layers": [{"weights": "embedding", "state": "frozen"},
                            {"weights": "*", "state": "frozen", "first_layer": 0, "last_layer": 1}],
    "encoder only": [FROZEN, trainable("encoder.*")],
    "frozen tower": [{"weights": "vision.*", "state": "frozen"}, trainable("vision.projector")],
    "frozen tower and projector": [{"weights": "vision.*", "state": "frozen"}],
    "projector only": [FROZEN, trainable("vision.projector")],
    "last block of the tower only": [FROZEN, trainable("vision.blocks", first_layer=2, last_layer=2)],
    "patch embedding only": [FROZEN, trainable("vision.patch_embedding")],
    "LoRA of the tower's q": [FROZEN, lora("vision.blocks/q_proj", 3)],
    "cross attention only": [FROZEN, trainable("cross_attention.qkv")],
}
CASES = [
    (LLAMA, ["everything", "LoRA of q and v", "LoRA of k", "LoRA of o in the last layers", "LoRA of every attention",
             "frozen embedding", "lm_head only", "norms only", "norms of the last layers", "down_proj only",
             "frozen first layers"]),
    (MOE, ["everything", "LoRA of q and v", "frozen embedding", "router only", "experts of the last layer",
           "frozen first layers"]),
    (MLA, ["everything", "LoRA of the second latents", "LoRA of every attention", "experts of the last layer",
           "frozen first layers"]),
    (T5, ["everything", "LoRA of q and v", "LoRA of k", "LoRA of every attention", "encoder only",
          "cross attention only"]),
    (LLAVA, ["everything", "frozen tower", "frozen tower and projector", "projector only",
             "last block of the tower only", "patch embedding only", "LoRA of the tower's q", "LoRA of k"]),
]

PARTS = {"q": "q_proj", "k": "k_proj", "v": "v_proj", "o": "o_proj", "wi": "up_proj", "wo": "down_proj",
         "out_proj": "o_proj", "fc1": "up_proj", "fc2": "down_proj", "kv_a_proj_with_mqa": "kv_a_proj"}


def component_of(name):
    """The library's component and weight of a parameter or module, and its layer (None outside the layers)."""
    layer = re.search(r"(?:layers|block)\.(\d+)\.", name)
    index = int(layer.group(1)) if layer else None
    side = "encoder." if name.startswith("encoder.") else ""
    leaf = [part for part in name.split(".") if part not in ("weight", "bias")][-1]
    weight = PARTS.get(leaf, leaf)
    if "multi_modal_projector" in name:
        return "vision.projector", weight, None
    if "vision" in name:
        kind = "norm" if "norm" in name or "layrnorm" in name else "patch_embedding" if "patch" in name else "blocks"
        # A table of positions and a bias stand in one component each, whatever they are added to.
        kind = "embedding" if "position" in name or "class_embedding" in name else kind
        kind = "bias" if name.endswith(".bias") and kind == "blocks" else kind
        return "vision." + kind, "" if kind != "blocks" else weight, index
    if "relative_attention_bias" in name or "embed" in name or "shared.weight" == name:
        return "embedding", "", None
    if "norm" in name:
        return "norm", "", index
    if leaf == "lm_head":
        return "lm_head", "", None
    if ".experts." in name:
        return "moe.experts", "", index
    if "shared_experts" in name:
        return "moe.shared", weight, index
    if leaf == "gate":
        return "moe.router", "gate", index
    if "attn" in name or "Attention" in name:
        kind = "cross_attention" if "EncDec" in name else side + "attention"
        return kind + (".output" if weight == "o_proj" else ".qkv"), weight, index
    return side + "mlp", weight, index


def matches(pattern, name):
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else pattern == name


def state_of(rules, name):
    component, weight, layer = component_of(name)
    found = {"state": "trainable"}
    for rule in rules:
        wanted, _, wanted_weight = rule["weights"].partition("/")
        named = matches(wanted, component) and (not wanted_weight or (weight and matches(wanted_weight, weight)))
        in_layers = "first_layer" not in rule or (
            layer is not None and rule["first_layer"] <= layer <= rule["last_layer"])
        if named and in_layers:
            found = rule
    return found


class Adapted(torch.nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.a = torch.nn.Linear(base.in_features, rank, bias=False)
        self.b = torch.nn.Linear(rank, base.out_features, bias=False)
        self.weight = base.weight  # some classes look at its type

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


def build(fields, rules):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(**{k: v for k, v in fields.items() if k != "architectures"})
    config.architectures = fields["architectures"]
    config._experts_implementation = "eager"
    model = getattr(transformers, fields["architectures"][0])._from_config(config, attn_implementation="eager").train()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(state_of(rules, name)["state"] == "trainable")
    for name, module in list(model.named_modules()):
        rule = state_of(rules, name + ".weight")
        if isinstance(module, torch.nn.Linear) and rule["state"] == "lora":
            parent, _, leaf = name.rpartition(".")
            setattr(model.get_submodule(parent), leaf, Adapted(module, rule["rank"]))
    return model


def count(fields, rules):
    model = build(fields, rules)
    encoder = fields["model_type"] == "t5"
    ids = torch.arange(LENGTH).unsqueeze(0)
    inputs = dict(input_ids=ids)
    if fields["model_type"] == "llava":
        ids[0, 1:10] = fields["image_token_index"]
        inputs = dict(input_ids=ids, pixel_values=torch.ones(1, 3, 9, 9))
    if encoder:
        inputs = dict(input_ids=ids[:, :ENCODER_LENGTH], decoder_input_ids=ids)
    with FlopCounterMode(display=False) as forward:
        loss = model(**inputs, use_cache=False).logits.sum()
    with FlopCounterMode(display=False) as backward:
        if loss.requires_grad:
            loss.backward()
    return dict(forward=forward.get_total_flops(), backward=backward.get_total_flops())


def main():
    cases = []
    for fields, plans in CASES:
        for plan in plans:
            case = dict(id=f"{fields['model_type']}: {plan}", config=fields, rules=PLANS[plan], length=LENGTH,
                        encoder_length=ENCODER_LENGTH if fields["model_type"] == "t5" else 0,
                        images=1 if fields["model_type"] == "llava" else 0)
            cases.append({**case, **count(fields, PLANS[plan])})
    text = "[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n"
    path = HERE / "frozen.json"
    if "--check" in sys.argv:
        sys.exit(0 if path.read_text() == text else "frozen.json differs from what PyTorch counts now")
    path.write_text(text)


main()
