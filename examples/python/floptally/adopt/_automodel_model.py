# SPDX-License-Identifier: Apache-2.0
"""The models that NeMo Automodel's formulas describe, one formula for each type of configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .. import Cost
from ._model import Model, Part, linear

#: The formula for each model type. Other types use that of a plain transformer.
FORMULAS = {
    **dict.fromkeys(("gpt2", "gpt_neo", "gpt_neox", "gptj"), "gpt3"),
    "llama": "llama",
    "nemotron": "nemotron",
    "mixtral": "mixtral",
    **dict.fromkeys(("qwen2", "qwen3", "qwen3_moe", "glm4"), "qwen3"),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_text", "qwen3_vl_moe", "qwen3_vl_moe_text"), "qwen3"),
    **dict.fromkeys(("qwen3_5", "qwen3_5_moe", "qwen3_next"), "qwen3_5"),
    **dict.fromkeys(("bert", "roberta", "albert", "electra"), "bert"),
    "deepseek_v3": "deepseek_v3",
    "gpt_oss": "gpt_oss",
    "glm4_moe": "glm4_moe",
    **dict.fromkeys(("glm4_moe_lite", "glm_moe_dsa", "mistral3", "kimi_k2", "kimi_k25", "longcat_flash"), "latent"),
    "minimax_m2": "minimax_m2",
    "step3p5": "step3p5",
    "nemotron_h": "nemotron_h",
}  # fmt: skip
#: Formulas whose convention is not that of the others.
CONVENTIONS = {"nemotron_h": "nemo_automodel_hybrid", "gpt_oss": "exact", "step3p5": "exact"}


class _Missing(Exception):
    """Raised if the configuration lacks a size that the formula needs. Automodel's own function raises in this case
    too."""


class _Sizes:
    """The sizes that a formula reads from a configuration. If the configuration has one for its text part inside, the
    sizes are read from there."""

    def __init__(self, config: Any) -> None:
        if self._of(config, "text_config") is not None and self._of(config, "num_hidden_layers") is None:
            config = self._of(config, "text_config")
        self.config = config
        self.hidden = self["hidden_size"]
        self.layers = self["num_hidden_layers"]
        self.vocabulary = self["vocab_size"]

    @staticmethod
    def _of(config: Any, name: str) -> Any:
        return config.get(name) if isinstance(config, Mapping) else getattr(config, name, None)

    def __getitem__(self, name: str) -> Any:
        value = self._of(self.config, name)
        if value is None:
            raise _Missing(name)
        return value

    def get(self, name: str, otherwise: Any = None) -> Any:
        value = self._of(self.config, name)
        return otherwise if value is None else value

    @property
    def heads(self) -> int:
        return int(self["num_attention_heads"])

    def attention(self, width: int | None = None, mask: Any = "causal", heads: int | None = None) -> Part:
        heads = heads or self.heads
        return {
            "type": "attention", "num_heads": heads, "num_kv_heads": self.get("num_key_value_heads", heads),
            "head_dim": width or self.hidden // self.heads, "mask": mask,
        }  # fmt: skip

    def experts(self, width: int, chosen: int, shared: int = 0, gated: bool = True, known: int = 0) -> list[Part]:
        part: Part = {
            "type": "moe", "num_experts": max(known, chosen), "num_experts_per_tok": chosen, "intermediate_size": width,
            "gated": gated,
        }  # fmt: skip
        if shared:
            part["shared_intermediate_size"] = shared
        return [part]


def _mlp(width: int, gated: bool = True) -> list[Part]:
    return [{"type": "mlp", "intermediate_size": width, "gated": gated}]


def _layers(model: Model, sizes: _Sizes, mixer: Part, feed_forward: list[Part]) -> None:
    for _ in range(sizes.layers):
        model.layer(mixer, *feed_forward)


def _predicted(model: Model, sizes: _Sizes, depths: int, *parts: Part) -> None:
    """Adds `depths` layers of multi-token prediction. Each has a projection of two hidden states to one, the given
    parts, and its own logits."""
    for _ in range(depths):
        model.layer(
            linear("mtp.projection", 2 * sizes.hidden, sizes.hidden),
            *parts,
            linear("mtp.lm_head", sizes.hidden, sizes.vocabulary),
        )


def _gpt3(model: Model, sizes: _Sizes) -> None:
    _layers(model, sizes, {"type": "attention", "num_heads": sizes.heads}, _mlp(4 * sizes.hidden, False))


def _bert(model: Model, sizes: _Sizes) -> None:
    mixer = {"type": "attention", "num_heads": sizes.heads, "mask": "bidirectional"}
    _layers(model, sizes, mixer, _mlp(4 * sizes.hidden, False))


def _llama(model: Model, sizes: _Sizes) -> None:
    _layers(model, sizes, sizes.attention(), _mlp(sizes["intermediate_size"]))


def _nemotron(model: Model, sizes: _Sizes) -> None:
    _layers(model, sizes, sizes.attention(), _mlp(sizes["intermediate_size"], False))


def _mixtral(model: Model, sizes: _Sizes) -> None:
    chosen = sizes.get("num_experts_per_tok", 2)
    _layers(model, sizes, sizes.attention(), sizes.experts(sizes["intermediate_size"], chosen))


def _qwen3(model: Model, sizes: _Sizes) -> None:
    width = sizes.get("moe_intermediate_size") or sizes["intermediate_size"]
    chosen = sizes.get("num_experts_per_tok", 1)
    _layers(model, sizes, sizes.attention(sizes.get("head_dim")), sizes.experts(width, chosen))


def _plain(model: Model, sizes: _Sizes) -> None:
    """Adds the layers. As in Automodel's formula, an MLP has two matrices even if the model's has three, and half of
    the layers have experts if the model has any."""
    chosen = sizes.get("num_experts_per_tok", 0)
    sparse = sizes.layers // 2 if chosen else 0
    for i in range(sizes.layers):
        width = sizes["intermediate_size"]
        model.layer(
            sizes.attention(), *(sizes.experts(width, chosen, gated=False) if i < sparse else _mlp(width, False))
        )


def _glm4_moe(model: Model, sizes: _Sizes) -> None:
    dense = sizes.get("first_k_dense_replace", 0)
    width = sizes.get("moe_intermediate_size") or sizes["intermediate_size"]
    shared = width * sizes.get("n_shared_experts", 0)
    for i in range(sizes.layers):
        chosen = sizes.experts(width, sizes.get("num_experts_per_tok", 1), shared)
        model.layer(
            sizes.attention(sizes.get("head_dim")), *(_mlp(sizes["intermediate_size"]) if i < dense else chosen)
        )


def _minimax_m2(model: Model, sizes: _Sizes) -> None:
    mixer = sizes.attention(sizes.get("head_dim"))
    chosen = sizes.experts(
        sizes["intermediate_size"], sizes.get("num_experts_per_tok", 8), sizes.get("shared_intermediate_size", 0)
    )
    _layers(model, sizes, mixer, chosen)
    if sizes.get("use_mtp"):
        _predicted(
            model, sizes, sizes.get("num_mtp_modules", 0), *[mixer, *chosen] * sizes.get("mtp_transformer_layers", 1)
        )


def _qwen3_5(model: Model, sizes: _Sizes) -> None:
    kinds = sizes.get("layer_types")
    every = sizes.get("full_attention_interval", 4)
    kinds = kinds or ["full_attention" if (i + 1) % every == 0 else "" for i in range(sizes.layers)]
    width = sizes.get("head_dim", sizes.hidden // sizes.heads)
    full = [sizes.attention(width)]
    if sizes.get("attn_output_gate", True):
        full.append(linear("attention.gate", sizes.hidden, sizes.heads * width))
    if sizes.get("num_experts", 0) > 1:
        feed_forward = sizes.experts(
            sizes["moe_intermediate_size"],
            sizes.get("num_experts_per_tok", 1),
            sizes.get("shared_expert_intermediate_size", 0),
        )
    else:
        feed_forward = _mlp(sizes["intermediate_size"])
    for kind in kinds:
        model.layer(*(full if kind == "full_attention" else _delta_net(model, sizes)), *feed_forward)
    _predicted(model, sizes, sizes.get("mtp_num_hidden_layers", 0), *full, *feed_forward)


def _delta_net(model: Model, sizes: _Sizes) -> list[Part]:
    """Adds the convolution and the state of a gated delta net, and returns its projections. As in Automodel's formula,
    a head's state has width x width elements (width of a value head), with 8 FLOPs per element and token."""
    heads, width = sizes["linear_num_value_heads"], sizes["linear_value_head_dim"]
    keys, values = sizes["linear_num_key_heads"] * sizes["linear_key_head_dim"], heads * width
    kernel = sizes.get("linear_conv_kernel_dim", 4) * (2 * keys + values)
    model.products("mixer.convolution", 2 * kernel, kernel)
    model.products("mixer.state", 8 * heads * width**2)
    return [
        linear("mixer.input", sizes.hidden, 2 * (keys + values + heads)),
        linear("mixer.output", values, sizes.hidden),
    ]


def _latent_mixer(model: Model, sizes: _Sizes, times: int) -> list[Part]:
    """Returns the parts of latent attention. If the model has index_topk, each token attends that many keys, and an
    indexer scores all n² pairs: the FLOPs of these cores are added for `times` layers."""
    scored = sizes["qk_nope_head_dim"] + sizes["qk_rope_head_dim"]
    rank = sizes.get("q_lora_rank", 0)
    best, heads, width = sizes.get("index_topk", 0), sizes.get("index_n_heads", 0), sizes.get("index_head_dim", 0)
    part: Part = {
        "type": "mla", "num_heads": sizes.heads, "q_lora_rank": rank, "kv_lora_rank": sizes["kv_lora_rank"],
        "qk_nope_head_dim": sizes["qk_nope_head_dim"], "qk_rope_head_dim": sizes["qk_rope_head_dim"],
        "v_head_dim": sizes["v_head_dim"],
    }  # fmt: skip
    if not best:
        return [part]
    value = sizes["v_head_dim"]
    latent = sizes["kv_lora_rank"]
    model.products("attention.core", times * 2 * sizes.heads * (scored + value) * best)
    parts = [linear("attention.qkv", sizes.hidden, latent + sizes["qk_rope_head_dim"])]
    parts.append(linear("attention.qkv", latent, sizes.heads * (sizes["qk_nope_head_dim"] + value)))
    if rank:
        parts.append(linear("attention.qkv", sizes.hidden, rank))
    parts.append(linear("attention.qkv", rank or sizes.hidden, sizes.heads * scored))
    parts.append(linear("attention.output", sizes.heads * value, sizes.hidden))
    if heads:
        model.pairs("attention.indexer", times * 2 * heads * width, "bidirectional")
        parts += [linear("attention.indexer", rank, heads * width)] if rank else []
        parts.append(linear("attention.indexer", sizes.hidden, width + heads))
    return parts


def _deepseek_v3(model: Model, sizes: _Sizes) -> None:
    depths = sizes.get("mtp_num_layers", 0)
    mixer = _latent_mixer(model, sizes, sizes.layers + depths)
    width = sizes["moe_intermediate_size"]
    chosen = sizes.experts(width, sizes["num_experts_per_tok"], width)  # one shared expert, whatever the config says
    dense = sizes.get("first_k_dense_replace", 0)
    pattern = sizes.get("moe_layer_freq", [0] * dense + [1] * (sizes.layers - dense))
    if isinstance(pattern, int):
        pattern = [i % pattern == 0 for i in range(sizes.layers)]
    for sparse in pattern:
        model.layer(*mixer, *(chosen if sparse else _mlp(sizes["intermediate_size"])))
    _predicted(model, sizes, depths, *mixer, *chosen)


def _latent(model: Model, sizes: _Sizes) -> None:
    depths = sizes.get("num_nextn_predict_layers", sizes.get("mtp_num_layers", 0))
    mixer = _latent_mixer(model, sizes, sizes.layers + depths)
    width = sizes.get("moe_intermediate_size") or sizes.get("expert_ffn_hidden_size") or sizes["intermediate_size"]
    dense_width = sizes.get("intermediate_size") or sizes.get("ffn_hidden_size", width)
    topk = sizes.get("num_experts_per_tok", sizes.get("moe_topk", 1))
    chosen = sizes.experts(width, topk, width * sizes.get("n_shared_experts", 0))
    kinds, dense, every = (
        sizes.get("mlp_layer_types"),
        sizes.get("first_k_dense_replace", 0),
        sizes.get("moe_layer_freq", 1),
    )
    if kinds is not None:
        pattern = [kind != "dense" for kind in kinds]
    elif isinstance(every, list):
        pattern = [bool(one) for one in every]
    else:
        pattern = [i >= dense and (i - dense) % every == 0 for i in range(sizes.layers)]
    for sparse in pattern:
        model.layer(*mixer, *(chosen if sparse else _mlp(dense_width)))
    _predicted(model, sizes, depths, *mixer, *(chosen if pattern and pattern[-1] else _mlp(dense_width)))


def _gpt_oss(model: Model, sizes: _Sizes) -> None:
    """Adds the layers. Automodel's formula reads window_size (128 tokens if absent) and window_attn_skip_freq (every
    second layer if absent), not the sliding_window and layer_types of the model."""
    window = sizes.get("window_size", [128])[0]
    every = sizes.get("window_attn_skip_freq", 2)
    chosen = sizes.experts(sizes.get("moe_ffn_hidden_size") or sizes["intermediate_size"], sizes["num_experts_per_tok"])
    for i in range(sizes.layers):
        full = i % every == 0 if isinstance(every, int) else not every[i]
        model.layer(sizes.attention(sizes.get("head_dim"), "causal" if full else {"sliding_window": window}), *chosen)


def _step3p5(model: Model, sizes: _Sizes) -> None:
    other = sizes.get("attention_other_setting")
    narrow = other.get("num_attention_heads", sizes.heads) if isinstance(other, dict) else sizes.heads
    groups = sizes.get("num_attention_groups", sizes.heads)
    kinds, listed = sizes.get("layer_types") or [], sizes.get("moe_layers_enum")
    if isinstance(listed, str):
        listed = [int(one) for one in listed.split(",") if one.strip()]
    sparse = set(range(3, sizes.layers) if listed is None else map(int, listed))
    width = sizes.get("moe_intermediate_size", 1280)
    chosen = sizes.experts(width, sizes.get("moe_top_k", 8), sizes.get("share_expert_dim", width))
    full = {**sizes.attention(sizes.get("head_dim")), "num_kv_heads": groups}
    mask = {"sliding_window": sizes.get("sliding_window", 512)}
    near = {**sizes.attention(sizes.get("head_dim"), mask, narrow), "num_kv_heads": groups}
    for i in range(sizes.layers):
        is_full = kinds[i] == "full_attention" if i < len(kinds) else i % 4 == 0
        model.layer(full if is_full else near, *(chosen if i in sparse else _mlp(sizes["intermediate_size"])))
    _predicted(model, sizes, sizes.get("num_nextn_predict_layers", 0), full, *chosen)


def _nemotron_h(model: Model, sizes: _Sizes) -> None:
    """Adds the layers. As in Automodel's formula, an MLP has three matrices and an attention head has width hidden_size
    / heads, whatever the configuration says."""
    for letter in sizes["hybrid_override_pattern"]:
        if letter == "*":
            model.layer(sizes.attention())
        elif letter == "-":
            model.layer(*_mlp(sizes["intermediate_size"]))
        elif letter == "M":
            width = sizes["mamba_head_dim"]
            heads = sizes.get("mamba_num_heads", 0) or 2 * sizes.hidden // width
            groups = sizes.get("mamba_num_groups") or sizes["n_groups"]
            state = sizes.get("mamba_state_dim") or sizes["ssm_state_size"]
            inner = heads * width
            model.products("mixer.state", 7 * inner * state)
            model.layer(
                linear("mixer.input", sizes.hidden, 2 * inner + 2 * groups * state + heads),
                linear("mixer.output", inner, sizes.hidden),
            )
        elif letter == "E":
            (part,) = sizes.experts(
                sizes["moe_intermediate_size"], sizes["num_experts_per_tok"],
                sizes["moe_shared_expert_intermediate_size"], False, sizes["n_routed_experts"],
            )  # fmt: skip
            if sizes.get("moe_latent_size"):
                part["latent_size"] = sizes["moe_latent_size"]
            model.layer(part)


_BUILD: dict[str, Callable[[Model, _Sizes], None]] = {
    "gpt3": _gpt3, "llama": _llama, "nemotron": _nemotron, "mixtral": _mixtral, "qwen3": _qwen3, "qwen3_5": _qwen3_5,
    "bert": _bert, "deepseek_v3": _deepseek_v3, "gpt_oss": _gpt_oss, "glm4_moe": _glm4_moe, "latent": _latent,
    "minimax_m2": _minimax_m2, "step3p5": _step3p5, "nemotron_h": _nemotron_h, "plain": _plain,
}  # fmt: skip


def read(config: Any) -> tuple[Cost, str] | None:
    """Returns (cost, convention) that count as Automodel's formula for this configuration. None if the configuration
    lacks a size that the formula needs."""
    kind = config.get("model_type") if isinstance(config, Mapping) else getattr(config, "model_type", None)
    formula = FORMULAS.get(str(kind), "plain")
    try:
        sizes = _Sizes(config)
        model = Model(f"automodel {formula}", hidden_size=sizes.hidden, vocab_size=sizes.vocabulary)
        _BUILD[formula](model, sizes)
    except _Missing:
        return None
    cost = model.cost()
    if CONVENTIONS.get(formula) == "exact":
        cost = Cost.from_entries([row for row in cost.entries if row.kind != "router"], model_type=cost.model_type)
    return cost, CONVENTIONS.get(formula, "nemo_automodel")
