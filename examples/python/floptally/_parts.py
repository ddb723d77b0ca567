# SPDX-License-Identifier: Apache-2.0
"""Translates module names of common PyTorch libraries to floptally's component names."""

from __future__ import annotations

import re

#: Spec names by the end of a module's name without numbers. The first match is used; the closest come first.
ENDS = tuple(
    (re.compile(rf"(^|\.)({pattern})$"), names)
    for pattern, names in (
        (r"(attn2|crossattn|cross_attn|cross_attention)\.(to_q|q_proj|q|query)", ("cross_attention.q", "attention.q", "attention.qkv")),
        (
            r"(attn2|crossattn|cross_attn|cross_attention)\.(to_[kv]|to_kv|add_[kv]_proj|[kv]_proj|kv|key|value)",
            ("cross_attention.kv", "attention.kv", "attention.qkv"),
        ),
        (r"(to|add)_(q|k|v|qkv|kv)|to_added_qkv|add_[qkv]_proj|[qkv]_proj|qkv(_proj)?|in_proj|query|key|value|wq|wk|wv", ("attention.qkv",)),
        (r"to_qkv_mlp_proj|proj_mlp", ("mlp.up", "mlp")),
        (r"to_out|to_add_out|out_proj|o_proj|wo|attn\w*\.(proj|c_proj|out)", ("attention.output",)),
        (r"(attn\w*|self_attn\w*|attention|self_attention|cross_attention)(\.processor)?", ("attention.core",)),
        (r"norm\w*\.(linear|fc|proj)|linear_[12]_norm|(img|txt)_mod|\w*modulation(\.lin\w*)?|time_proj|adaln_single(\.linear)?|adaLN_modulation", ("modulation",)),
        (r"(gate|router)(\.proj|\.wg)?", ("moe.router",)),
        (r"experts", ("moe.experts",)),
        (r"\w*guidance\w*\.\w+", ("guidance", "time")),
        (r"(time_text_embed|time_caption_embed)\w*\.text_embedder\.\w+|pooled\w*\.\w+", ("pooled", "time")),
        (r"(timestep_embedder|time_embed\w*|t_embedder)(\.\w+)*\.\w+", ("time",)),
        (r"(\w*ff|\w*ffn|\w*mlp|\w*feed_forward|ff_context|intermediate)(\.net)?(\.\w+)*", ("mlp",)),
        (r"\w*embed\w*(\.\w+)*|proj_in|conv_in|stem(\.\w+)*", ("embedding",)),
        (r"lm_head|head|classifier|fc", ("lm_head", "head")),
        (r"proj_out|conv_out|final_layer\.linear", ("proj_out", "lm_head")),
    )
)  # fmt: skip
LAYERS = re.compile(r"(^|\.)(\w*blocks|\w*layers|h)\.\*")


def names_of(module: str) -> tuple[str, ...]:
    """Returns the component names that floptally uses for a module, from the end of the module's name, such as
    ``blocks.*.attn.qkv``. Empty if no known ending fits."""
    in_layer = LAYERS.search(module) is not None
    plain = ".".join(part for part in module.split(".") if part != "*" and not part.isdigit())
    for pattern, names in ENDS:
        if pattern.search(plain):
            if plain.endswith("proj_out") and in_layer:
                return ("mlp.down", "attention.output")
            return names
    return ()
