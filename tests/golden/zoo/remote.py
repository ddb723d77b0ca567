# SPDX-License-Identifier: Apache-2.0
"""Counts small random models whose code stands beside their checkpoints, and not in a library, under FlopCounterMode.

    python remote.py [TYPE...]           # writes remote.json
    python remote.py --check [TYPE...]   # writes nothing, compares with what is there

Such code asks for releases of transformers that differ from each other. So each model is written here once more, no
more of it than what it multiplies, after the public source that its comment names. Sizes and flags are drawn from a
seed; runs are counted by diffusion.py's `run`. Attention is eager.
"""

import json
import random
import sys

import diffusion

try:
    import torch
    from torch import nn
    from torch.nn import functional as F
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as missing:
    diffusion.skip(f"{missing.name} cannot be imported")

DRAWS = 8


def linear(inputs, outputs, bias=False):
    return nn.Linear(inputs, outputs, bias=bias)


def flag(choose):
    return choose.random() < 0.5


class Attention(nn.Module):
    """Heads of queries that share heads of keys and values, under a causal mask or a window."""

    def __init__(self, hidden, heads, kv, dim, bias=False):
        super().__init__()
        self.heads, self.kv, self.dim = heads, kv, dim
        self.q, self.k, self.v = (linear(hidden, each * dim, bias) for each in (heads, kv, kv))
        self.o = linear(heads * dim, hidden, bias)

    def forward(self, x, window=None):
        batch, n, _ = x.shape
        q, k, v = (project(x).view(batch, n, -1, self.dim).transpose(1, 2) for project in (self.q, self.k, self.v))
        k, v = (each.repeat_interleave(self.heads // self.kv, 1) for each in (k, v))
        far = torch.ones(n, n).tril().logical_not()
        if window is not None:
            far |= torch.ones(n, n).tril(-window).bool()
        scores = (q @ k.transpose(2, 3)).masked_fill(far, float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, -1))


class Gated(nn.Module):
    def __init__(self, hidden, inner):
        super().__init__()
        self.gate, self.up, self.down = linear(hidden, inner), linear(hidden, inner), linear(inner, hidden)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    def __init__(self, hidden, experts, top, inner):
        super().__init__()
        self.top, self.router = top, linear(hidden, experts)
        self.experts = nn.ModuleList(Gated(hidden, inner) for _ in range(experts))

    def forward(self, routed_by, x):
        weights, chosen = self.router(routed_by).topk(self.top, dim=-1)
        weights = weights.sigmoid()
        made = torch.zeros_like(x)
        for index, expert in enumerate(self.experts):
            *token, place = (chosen == index).nonzero(as_tuple=True)
            if len(place):
                made = made.index_put(tuple(token), expert(x[tuple(token)]) * weights[(*token, place)][:, None], accumulate=True)
        return made


class Decoder(nn.Module):
    """An embedding, layers, a norm and a head."""

    def __init__(self, config, layers, tied=False):
        super().__init__()
        self.embedding = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers, self.norm = nn.ModuleList(layers), nn.RMSNorm(config["hidden_size"])
        self.head = linear(config["hidden_size"], config["vocab_size"])
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens, return_dict):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def without(config, *names):
    """The config as a file that leaves these to the class has it."""
    return {name: value for name, value in config.items() if name not in names}


def sizes(choose, shared=True):
    """Of a decoder: heads of keys and values are shared where its class can."""
    heads, dim = choose.choice([2, 4, 6]), 2 * choose.randint(1, 4)
    return dict(vocab_size=choose.randint(7, 40), hidden_size=heads * dim, intermediate_size=choose.randint(5, 30),
                num_hidden_layers=choose.randint(1, 4), num_attention_heads=heads,
                **(dict(num_key_value_heads=choose.choice([1, 2, heads])) if shared else {}))


class Layer(nn.Module):
    def __init__(self, attention, feed, norms=2, beside=False, window=None):
        super().__init__()
        self.attention, self.feed, self.beside, self.window = attention, feed, beside, window
        self.norms = nn.ModuleList(nn.RMSNorm(attention.o.out_features) for _ in range(norms))

    def forward(self, x):
        normed = self.norms[0](x)
        attended = self.attention(normed, self.window)
        if self.beside:
            return x + attended + self.feed(normed)
        if len(self.norms) == 4:
            attended = self.norms[2](attended)
        y = x + attended
        routed = (x,) if isinstance(self.feed, Experts) else ()
        made = self.feed(*routed, self.norms[1](y))
        return y + (self.norms[3](made) if len(self.norms) == 4 else made)


def xverse(choose):
    """SGLang's sglang/srt/models/xverse.py."""
    config = sizes(choose)
    heads, dim = config["num_attention_heads"], config["hidden_size"] // config["num_attention_heads"]
    model = Decoder(config, (Layer(Attention(config["hidden_size"], heads, config["num_key_value_heads"], dim),
                                   Gated(config["hidden_size"], config["intermediate_size"]))
                             for _ in range(config["num_hidden_layers"])))
    return without(config, "num_key_value_heads" if config["num_key_value_heads"] == heads else ""), model


def plamo(choose):
    """The model of mlx-examples' llms/plamo; keys and values are shared by so many heads, the last group by fewer."""
    config = dict(sizes(choose, shared=False), n_shared_head=choose.choice([1, 2]))
    heads, dim = config["num_attention_heads"], config["hidden_size"] // config["num_attention_heads"]
    return config, Decoder(config, (Layer(Attention(config["hidden_size"], heads, heads // config["n_shared_head"], dim),
                                          Gated(config["hidden_size"], config["intermediate_size"]), norms=1, beside=True)
                                    for _ in range(config["num_hidden_layers"])))


def smallthinker(choose):
    """modeling_smallthinker.py of PowerInfer/SmallThinker-4BA0.6B-Instruct: experts are chosen by what enters the layer."""
    config = sizes(choose)
    del config["intermediate_size"]
    layers, tied = config["num_hidden_layers"], flag(choose)
    experts = choose.randint(2, 6)
    config.update(head_dim=2 * choose.randint(1, 4), moe_num_primary_experts=experts, moe_ffn_hidden_size=choose.randint(3, 12),
                  moe_num_active_primary_experts=choose.randint(1, experts), tie_word_embeddings=tied,
                  sliding_window_layout=[choose.randint(0, 1) for _ in range(layers)], sliding_window_size=choose.randint(2, 5),
                  rope_layout=[1] * layers)
    hidden = config["hidden_size"]
    if not any(config["sliding_window_layout"]):
        config["sliding_window_layout"] = None
    return config, Decoder(config, (Layer(
        Attention(hidden, config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]),
        Experts(hidden, experts, config["moe_num_active_primary_experts"], config["moe_ffn_hidden_size"]),
        window=config["sliding_window_size"] if slides else None) for slides in config["sliding_window_layout"] or [0] * layers), tied)


class Looped(Decoder):
    """Layers that run several times; with labels, logits of every time are weighed by a gate, the last by what is left."""

    def __init__(self, config, layers, steps):
        super().__init__(config, layers)
        self.steps, self.gate = steps, linear(config["hidden_size"], 1, bias=True)

    def forward(self, tokens, return_dict):
        x, left, made = self.embedding(tokens), 1, 0
        for step in range(self.steps):
            for layer in self.layers:
                x = layer(x)
            x = self.norm(x)
            gate = self.gate(x).sigmoid()
            weight = left * gate if step < self.steps - 1 else left
            left = left * (1 - gate)
            made = made + self.head(x) * weight
        return made


def ouro(choose):
    """modeling_ouro.py of ByteDance/Ouro-1.4B, given labels."""
    config = dict(sizes(choose), total_ut_steps=choose.randint(1, 4))
    own = config["hidden_size"] // config["num_attention_heads"]
    config["head_dim"] = choose.choice([own, 2 * choose.randint(1, 4)])
    if flag(choose):
        config["layer_types"] = ["full_attention"] * config["num_hidden_layers"]
    model = Looped(config, (Layer(Attention(config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"],
                                            config["head_dim"]),
                                  Gated(config["hidden_size"], config["intermediate_size"]), norms=4)
                            for _ in range(config["num_hidden_layers"])), config["total_ut_steps"])
    return without(config, "head_dim" if config["head_dim"] == own else ""), model


class Sharing(Attention):
    """Attention by the keys and values of an earlier layer, where it is given some."""

    def __init__(self, hidden, heads, kv, dim, own, bias, norms):
        super().__init__(hidden, heads, kv, dim)
        self.q, self.o = linear(hidden, hidden, bias), linear(hidden, hidden, bias)
        self.k, self.v = (linear(hidden, kv * dim, bias), linear(hidden, kv * dim, bias)) if own else (None, None)
        self.norms = nn.ModuleList(nn.RMSNorm(dim) for _ in range(2 * norms))

    def forward(self, x, given):
        given = given if self.k is None else (self.k(x), self.v(x))
        batch, n, _ = x.shape
        q, k, v = (each.view(batch, n, -1, self.dim).transpose(1, 2) for each in (self.q(x), *given))
        if self.norms:
            q, k = self.norms[0](q), self.norms[1](k)
        k, v = (each.repeat_interleave(self.heads // self.kv, 1) for each in (k, v))
        scores = (q @ k.transpose(2, 3)).masked_fill(torch.ones(n, n).tril().logical_not(), float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, -1)), given


class SharingLayer(nn.Module):
    def __init__(self, attention, feed):
        super().__init__()
        self.attention, self.feed = attention, feed
        self.norms = nn.ModuleList(nn.RMSNorm(attention.o.out_features) for _ in range(2))

    def forward(self, x, given):
        attended, given = self.attention(self.norms[0](x), given)
        x = x + attended
        return x + self.feed(self.norms[1](x)), given


class LowRank(nn.Module):
    def __init__(self, hidden, rank, width, bias=True):
        super().__init__()
        self.down, self.up = linear(hidden, rank), linear(rank, width, bias)

    def forward(self, x):
        return self.up(self.down(x).tanh())


class TimeMix(nn.Module):
    """A state that decays, forgets along one key and learns along another, token by token, each step a product."""

    def __init__(self, config, layer, width):
        super().__init__()
        h, self.dim, self.first = config["hidden_size"], config["head_dim"], layer == 0
        self.width = width
        self.mixes = nn.Parameter(torch.rand(9, h))
        self.r, self.k, self.v, self.o = linear(h, h), linear(h, h), linear(h, width), linear(width, h)
        self.w, self.a = (LowRank(h, config[f"{name}_low_rank_dim"], h) for name in ("decay", "a"))
        self.g = LowRank(h, config["gate_low_rank_dim"], width, bias=False)
        self.mixes_v = None if self.first else LowRank(h, config["v_low_rank_dim"], width)
        self.norm = nn.GroupNorm(h // self.dim, width)

    def forward(self, x, first):
        batch, n, h = x.shape
        heads = h // self.dim
        v = self.v(x)
        if self.first:
            first = v
        elif v.shape == first.shape:
            v = torch.lerp(v, first, self.mixes_v(x).sigmoid())
        r, w, k, a = (each.view(batch, n, heads, self.dim)
                      for each in (self.r(x) * self.mixes[0], -self.w(x).exp(), self.k(x) * self.mixes[1:9].sum(0), self.a(x)))
        values = v.view(batch, n, heads, -1)
        # It needs a gradient, as the state of every other token does.
        state = torch.zeros(batch, heads, values.shape[-1], self.dim, requires_grad=True)
        made = []
        for t in range(n):
            removed = state @ k[:, t, :, :, None]
            state = state * w[:, t, :, None].exp() + removed @ a[:, t, :, None] + values[:, t, :, :, None] @ k[:, t, :, None]
            made.append(state @ r[:, t, :, :, None])
        mixed = self.norm(torch.stack(made, 1).reshape(batch * n, -1)).view(batch, n, -1)
        return self.o(mixed * self.g(x)), first


class Recurrent(nn.Module):
    def __init__(self, config, layer, width):
        super().__init__()
        h, bias = config["hidden_size"], config["norm_bias"]
        inner = config["intermediate_size"] or 32 * -(-int(h * (config["hidden_ratio"] or 4)) // 32)
        self.before = nn.LayerNorm(h, bias=bias) if layer == 0 and config["norm_first"] else None
        self.norms = nn.ModuleList(nn.LayerNorm(h, bias=bias) for _ in range(2))
        self.time, self.mix = TimeMix(config, layer, width), nn.Parameter(torch.rand(h))
        self.key, self.value = linear(h, inner), linear(inner, h)

    def forward(self, x, first):
        x = x if self.before is None else self.before(x)
        mixed, first = self.time(self.norms[0](x), first)
        x = x + mixed
        return x + self.value(self.key(self.norms[1](x) * self.mix).relu() ** 2), first


class Passing(Decoder):
    """Layers that hand something to the next."""

    def forward(self, tokens, return_dict):
        x, handed = self.embedding(tokens), None
        for layer in self.layers:
            x, handed = layer(x, handed)
        return self.head(self.norm(x))


def hunyuan(choose):
    """modeling_hunyuan.py of 2024, of Tencent's Hunyuan-7B and -Large, without experts."""
    config = dict(sizes(choose), use_cla=flag(choose), cla_share_factor=choose.randint(1, 3), use_qk_norm=flag(choose),
                  attention_bias=flag(choose), num_experts=1, tie_word_embeddings=flag(choose))
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    model = Passing(config, (SharingLayer(
        Sharing(hidden, heads, config["num_key_value_heads"], hidden // heads,
                not config["use_cla"] or layer % config["cla_share_factor"] == 0, config["attention_bias"], config["use_qk_norm"]),
        Gated(hidden, config["intermediate_size"])) for layer in range(config["num_hidden_layers"])), config["tie_word_embeddings"])
    return without(config, "num_key_value_heads" if config["num_key_value_heads"] == heads else ""), model


def rwkv7(choose):
    """flash-linear-attention 0.6's fla/models/rwkv7, by its recurrence."""
    dim, heads, layers = 2 * choose.randint(1, 3), choose.randint(1, 3), choose.randint(1, 3)
    h = dim * heads
    wide = choose.choice([None, h, 2 * h, [h] * layers])
    config = dict(vocab_size=choose.randint(7, 40), hidden_size=h, num_hidden_layers=layers, head_dim=dim,
                  intermediate_size=choose.choice([None, None, 17]), hidden_ratio=choose.choice([None, 2, 3.5]), value_dim=wide,
                  norm_first=flag(choose), norm_bias=flag(choose), tie_word_embeddings=flag(choose),
                  **{f"{name}_low_rank_dim": choose.randint(2, 6) for name in ("decay", "gate", "a", "v")})
    widths = wide if isinstance(wide, list) else [wide or h] * layers
    model = Passing(config, (Recurrent(config, layer, width) for layer, width in enumerate(widths)), config["tie_word_embeddings"])
    model.norm = nn.LayerNorm(h, bias=config["norm_bias"])
    return dict(config, **(dict(head_dim=None, num_heads=heads) if flag(choose) else {})), model


class Latent(nn.Module):
    """Attention whose keys and values are made of a narrow latent, with some dimensions of positions that all heads share."""

    def __init__(self, hidden, heads, q, c, nope, rope, dim, bias):
        super().__init__()
        self.heads, self.c, self.nope, self.rope = heads, c, nope, rope
        self.q_low, self.q_norm = (linear(hidden, q, bias), nn.RMSNorm(q)) if q else (nn.Identity(), nn.Identity())
        self.q = linear(q or hidden, heads * (nope + rope))
        self.kv_low, self.kv_norm, self.kv = linear(hidden, c + rope, bias), nn.RMSNorm(c), linear(c, heads * (nope + dim))
        self.o = linear(heads * dim, hidden, bias)

    def forward(self, x, window=None):
        batch, n, _ = x.shape
        q = self.q(self.q_norm(self.q_low(x))).view(batch, n, self.heads, -1).transpose(1, 2)
        latent, place = self.kv_low(x).split([self.c, self.rope], -1)
        k, v = self.kv(self.kv_norm(latent)).view(batch, n, self.heads, -1).transpose(1, 2).tensor_split([self.nope], -1)
        k = torch.cat([k, place[:, None].expand(-1, self.heads, -1, -1)], -1)
        scores = (q @ k.transpose(2, 3)).masked_fill(torch.ones(n, n).tril().logical_not(), float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, -1))


class Mixed(nn.Module):
    """Experts that are chosen by what they take, beside one that all tokens pass."""

    def __init__(self, hidden, experts, top, inner, shared):
        super().__init__()
        self.experts, self.shared = Experts(hidden, experts, top, inner), Gated(hidden, shared) if shared else None

    def forward(self, x):
        return self.experts(x, x) + (0 if self.shared is None else self.shared(x))


class Seeing(nn.Module):
    """A block of a picture's patches, which all see each other."""

    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.o = linear(width, 3 * width, True), linear(width, width, True)
        self.up, self.down = linear(width, inner, True), linear(inner, width, True)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.o(((q @ k.transpose(2, 3)).softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norms[1](x))))


class Tower(nn.Module):
    """Patches, and the pool that its class keeps and does not run."""

    def __init__(self, width, heads, layers, inner, side, rows):
        super().__init__()
        self.patches, self.positions = nn.Conv2d(3, width, side, side), nn.Parameter(torch.rand(1, rows * rows, width))
        self.blocks = nn.Sequential(*(Seeing(width, heads, inner) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.pool = nn.ModuleList([linear(width, width, True), linear(width, 2 * width, True), linear(width, width, True),
                                   nn.LayerNorm(width), linear(width, inner, True), linear(inner, width, True)])
        self.pooled = nn.Parameter(torch.rand(width))

    def forward(self, pictures):
        return self.norm(self.blocks(self.patches(pictures).flatten(2).transpose(1, 2) + self.positions))


class Tiled(Decoder):
    """A decoder of words and of tiles, whose cells are put together and projected."""

    def __init__(self, config, layers, tower, projector, side):
        super().__init__(config, layers)
        self.tower, self.projector, self.side = tower, projector, side
        self.ends = nn.Parameter(torch.rand(2, config["hidden_size"]))

    def forward(self, tokens, pictures, return_dict):
        cells = self.tower(pictures)
        rows = round(cells.shape[1] ** 0.5)
        cells = cells.transpose(1, 2).unflatten(2, (rows, rows))
        more = -rows % self.side
        seen = self.projector(F.unfold(F.pad(cells, (0, more, 0, more)), self.side, stride=self.side).transpose(1, 2))
        x = self.embedding(tokens) + seen.mean()
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def deepseek_vl_v2(choose):
    """deepseek-ai/DeepSeek-VL2's deepseek_vl2/models."""
    text = dict(without(sizes(choose), "num_key_value_heads"), model_type="deepseek_v2", use_mla=flag(choose))
    hidden, heads, layers = text["hidden_size"], text["num_attention_heads"], text["num_hidden_layers"]
    experts, shared, biased = choose.randint(2, 6), choose.choice([None, 1, 2]), flag(choose)
    text.update(n_routed_experts=experts, num_experts_per_tok=choose.randint(1, experts), moe_intermediate_size=choose.randint(3, 12),
                n_shared_experts=shared, first_k_dense_replace=choose.randint(0, layers), moe_layer_freq=choose.randint(1, 2),
                topk_method="noaux_tc" if biased else "greedy", attention_bias=flag(choose))
    if text["use_mla"]:
        text.update(q_lora_rank=choose.choice([None, choose.randint(3, 9)]), kv_lora_rank=choose.randint(3, 9),
                    qk_nope_head_dim=choose.randint(2, 6), qk_rope_head_dim=2 * choose.randint(1, 3), v_head_dim=choose.randint(2, 6))
    else:
        text.update(q_lora_rank=None, kv_lora_rank=None, qk_nope_head_dim=0, qk_rope_head_dim=0, v_head_dim=0,
                    num_key_value_heads=choose.choice([1, heads]))
        if text["num_key_value_heads"] == heads:
            text["num_key_value_heads"] = None

    def mixer():
        if text["use_mla"]:
            return Latent(hidden, heads, text["q_lora_rank"], text["kv_lora_rank"], text["qk_nope_head_dim"], text["qk_rope_head_dim"],
                          text["v_head_dim"], text["attention_bias"])
        return Attention(hidden, heads, text["num_key_value_heads"] or heads, hidden // heads,
                         text["attention_bias"])

    def feed(layer):
        if layer < text["first_k_dense_replace"] or layer % text["moe_layer_freq"]:
            return Gated(hidden, text["intermediate_size"])
        inner = text["moe_intermediate_size"]
        mixed = Mixed(hidden, experts, text["num_experts_per_tok"], inner, inner * (shared or 0))
        mixed.chosen_by = nn.Parameter(torch.zeros(experts)) if biased else None
        return mixed

    eyes, wide, side, rows = choose.randint(1, 3), choose.randint(2, 5), choose.randint(2, 4), choose.randint(2, 7)
    ratio, depth, much = choose.choice([2, 2, 3]), choose.randint(2, 4), choose.randint(1, 2)
    width = eyes * wide
    vision = dict(model_type="vision", width=width, heads=eyes, layers=choose.randint(1, 3), mlp_ratio=choose.choice([2, 3.7362]),
                  patch_size=side, image_size=rows * side)
    middle = much * hidden
    projector = [linear(ratio * ratio * width, middle, True)]
    for each in range(depth - 1):
        projector += [nn.GELU(), linear(middle, hidden if each == depth - 2 else middle, True)]
    config = dict(language_config=text, vision_config=vision, tile_tag="2D", global_view_pos="head", candidate_resolutions=[[384, 384]],
                  projector_config=dict(model_type="mlp_projector", input_dim=width, n_embed=hidden, depth=depth, mlp_ratio=much,
                                        downsample_ratio=ratio))
    tower = Tower(width, eyes, vision["layers"], int(width * vision["mlp_ratio"]), side, rows)
    model = Tiled(text, (Layer(mixer(), feed(layer)) for layer in range(layers)), tower, nn.Sequential(*projector), ratio)

    def pictures(choose):
        many = choose.randint(1, 3)
        return {"grids": [[1, rows, rows]] * many, "pictures": torch.rand(many, 3, rows * side, rows * side)}

    return config, model, pictures


CLASSES = {"deepseek_vl_v2": deepseek_vl_v2, "hunyuan": hunyuan, "ouro": ouro, "plamo": plamo, "rwkv7": rwkv7,
           "smallthinker": smallthinker, "xverse": xverse}
PREFIXES = {"deepseek_vl_v2": "DeepseekVLV2", "hunyuan": "HunYuan", "ouro": "Ouro", "plamo": "Plamo", "rwkv7": "RWKV7",
            "smallthinker": "SmallThinker", "xverse": "Xverse"}


def describe(name, draw):
    choose = random.Random(f"{name} {draw}")
    torch.manual_seed(0)
    config, model, *pictures = CLASSES[name](choose)
    runs = []
    for _ in range(2):
        batch, length = choose.randint(1, 3), choose.randint(2, 9)
        made = {"audio_frames": [0] * batch, "tokens": torch.randint(0, model.embedding.num_embeddings, (batch, length))}
        counted = diffusion.run(torch, FlopCounterMode, model, {**made, **(pictures[0](choose) if pictures else {})})
        del counted["audio_frames"], counted["lengths"]
        runs.append(dict(counted, batch=batch, length=length, attention="eager"))
        runs[-1]["fused"] = False
    return {"id": f"{name}/{draw}", "model_type": name, "class": PREFIXES[name] + "ForCausalLM",
            "config": {"model_type": name, "architectures": [PREFIXES[name] + "ForCausalLM"], **config},
            "no_resolved": "the class is not run", "parameters": sum(one.numel() for one in model.parameters()), "runs": runs}


RENAMED = {"qwen4_exp": "qwen3_8_flash_next"}  # as TensorRT-LLM's config_utils.py reads the one as the other


def renamed(text):
    """A case of the type's earlier name, which the library has, by its later one."""
    for before, after in RENAMED.items():
        text = text.replace(before, after).replace("Qwen4Exp", "Qwen3_8FlashNext")
    return json.loads(text)


def add_renamed(cases):
    for before in RENAMED:
        for file in sorted(diffusion.HERE.glob("sparse_*.json")):
            for case in json.loads(file.read_text()):
                if case["model_type"] in (before, before + "_text"):
                    one = renamed(json.dumps(case))
                    cases[one["id"]] = one


if __name__ == "__main__":
    sys.exit(diffusion.redraw(__file__, CLASSES, DRAWS, describe, sys.argv[1:], add_renamed))
