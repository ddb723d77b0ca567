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


class Dispatched(nn.Module):
    """Experts that get as many rows as all tokens have chosen experts, by products with matrices of zeros and ones."""

    def __init__(self, hidden, experts, top, inner, shared):
        super().__init__()
        self.top, self.router = top, linear(hidden, experts)
        self.experts, self.shared = nn.ModuleList(Gated(hidden, inner) for _ in range(experts)), Gated(hidden, shared) if shared else None

    def forward(self, x):
        flat = x.flatten(0, 1)
        tokens, experts = len(flat), len(self.experts)
        gates = self.router(flat).softmax(-1)
        chosen = F.one_hot(gates.topk(self.top).indices, experts)
        weights = gates
        if self.top > 1:
            weights = gates / (chosen.float() @ gates[:, :, None]).sum(1).clamp(min=1e-6)
        place = (torch.arange(self.top) * tokens + torch.arange(tokens)[:, None])[..., None] * chosen
        dispatch = F.one_hot(place.sum(1), self.top * tokens) * chosen.sum(1)[..., None]
        rows = torch.einsum("sec,sm->ecm", dispatch.float(), flat)
        made = torch.cat([expert(row) for row, expert in zip(rows.chunk(experts), self.experts)])
        made = torch.einsum("sec,ecm->sm", dispatch * weights[..., None], made).view_as(x)
        return made if self.shared is None else made + self.shared(x)


def hunyuan(choose):
    """modeling_hunyuan.py of 2024, of Tencent's Hunyuan-7B and -Large."""
    config = dict(sizes(choose), use_cla=flag(choose), cla_share_factor=choose.randint(1, 3), use_qk_norm=flag(choose),
                  attention_bias=flag(choose), num_experts=1, tie_word_embeddings=flag(choose))
    hidden, heads, inner, layers = (config[name] for name in "hidden_size num_attention_heads intermediate_size num_hidden_layers".split())
    experts, top = 1, 1
    if choose.random() < 0.6:
        experts, shared = choose.randint(2, 5), choose.randint(1, 2)
        top, mixed = choose.randint(1, experts), choose.random() < 0.7
        config.update(num_experts=experts, moe_topk=top, num_shared_expert=shared, use_mixed_mlp_moe=mixed)

    def feed():
        return Dispatched(hidden, experts, top, inner, mixed * shared * inner) if experts > 1 else Gated(hidden, inner)

    model = Passing(config, (SharingLayer(
        Sharing(hidden, heads, config["num_key_value_heads"], hidden // heads,
                not config["use_cla"] or layer % config["cla_share_factor"] == 0, config["attention_bias"], config["use_qk_norm"]),
        feed()) for layer in range(layers)), config["tie_word_embeddings"])

    def beside(tokens):
        """Rows of zeros that experts get, and what sends rows there and back."""
        if experts == 1:
            return {}
        zeros, sent, weighed = (experts - 1) * top * tokens * 6 * hidden * inner, 2 * tokens * experts * top * tokens * hidden, 2 * tokens * top * experts
        weighed = weighed if top > 1 else 0
        return {"moe.experts": {"forward": layers * (zeros + 2 * sent + weighed), "backward": layers * (2 * zeros + 3 * sent + weighed), "why":
                "every expert gets as many rows as all tokens have chosen experts, by products with matrices of zeros and ones"}}

    return without(config, "num_key_value_heads" if config["num_key_value_heads"] == heads else ""), model, None, beside


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
        k, v = self.kv(self.kv_norm(latent)).view(batch, n, self.heads, -1).transpose(1, 2).sharding_kind([self.nope], -1)
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
        self.qkv, self.o = nn.ModuleList([linear(width, 3 * width, True)]), linear(width, width, True)
        self.up, self.down = linear(width, inner, True), linear(inner, width, True)

    def forward(self, x):
        normed = self.norms[0](x)
        made = torch.cat([project(normed) for project in self.qkv], -1)
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in made.chunk(3, -1))
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


class Clip(nn.Module):
    """CLIP's large tower for tiles of 336 pixels: what enters the layers is normed, and so is a last one that nobody takes."""

    def __init__(self):
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, 1024, 14, 14, bias=False), nn.Parameter(torch.rand(577, 1024))
        self.first, self.norms = nn.Parameter(torch.rand(1024)), nn.ModuleList(nn.LayerNorm(1024) for _ in range(2))
        self.blocks = nn.ModuleList(Seeing(1024, 16, 4096) for _ in range(24))

    def forward(self, tiles):
        x = self.patches(tiles).flatten(2).transpose(1, 2)
        states = [self.norms[0](torch.cat([self.first.expand(len(x), 1, -1), x], 1) + self.places)]
        for block in self.blocks:
            states.append(block(states[-1]))
        return states


class Pictured(Decoder):
    """A decoder of words and of pictures: the cells of their tiles and of a small one, by fours, with ends of lines, are projected."""

    def __init__(self, config, layers, takes):
        super().__init__(config, layers)
        hidden, self.takes = config["hidden_size"], takes
        self.tower, self.ends = Clip(), nn.Parameter(torch.rand(2, 4096))
        self.projector = nn.Sequential(linear(4096, hidden, True), nn.GELU(), linear(hidden, hidden, True))

    def lines(self, tiles, down, across):
        cells = tiles.view(down, across, 12, 2, 12, 2, 1024).permute(0, 2, 1, 4, 3, 5, 6).reshape(12 * down, 12 * across, 4096)
        return torch.cat([cells, self.ends[0].expand(12 * down, 1, -1)], 1).flatten(0, 1)

    def forward(self, tokens, pictures, return_dict):
        made = []
        for down, across in pictures:
            tiles = self.tower(torch.rand(1 + down * across, 3, 336, 336))[self.takes][:, 1:]
            made += [self.lines(tiles[1:], down, across), self.ends[1:], self.lines(tiles[:1], 1, 1)]
        x = self.embedding(tokens) + self.projector(torch.cat(made)).mean()
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def phi3_v(choose):
    """modeling_phi3_v.py and image_embedding_phi3_v.py of microsoft/Phi-3-vision-128k-instruct."""
    config = sizes(choose)
    hidden, heads, takes = config["hidden_size"], config["num_attention_heads"], choose.choice([None, -2, -1, -3, 20])
    model = Pictured(config, (Layer(Attention(hidden, heads, config["num_key_value_heads"], hidden // heads),
                                    Gated(hidden, config["intermediate_size"])) for _ in range(config["num_hidden_layers"])),
                     -2 if takes is None else takes)
    if config["num_key_value_heads"] == heads:
        config["num_key_value_heads"] = None
    seen = dict(name="clip_vision_model", model_name="openai/clip-vit-large-patch14-336", image_dim_out=1024, num_img_tokens=144)
    config.update(img_processor=seen if takes is None else dict(seen, layer_idx=takes), sliding_window=choose.choice([None, 131072]),
                  embd_layer=dict(embedding_cls="image", hd_transform_order="sub_glb", projection_cls="mlp", use_hd_transform=True,
                                  with_learnable_separator=True))

    def pictures(choose):
        shapes = [(choose.randint(1, 3), choose.randint(1, 3)) for _ in range(choose.randint(1, 2))]
        return {"grids": [[1, 24 * down, 24 * across] for down, across in shapes], "pictures": shapes}

    return config, model, pictures


class Plain(nn.Module):
    """A tower of patches with places, all of which it returns."""

    def __init__(self, width, heads, layers, inner, side, places):
        super().__init__()
        self.patches, self.places = nn.Conv2d(3, width, side, side), nn.Parameter(torch.rand(places, width))
        self.blocks, self.norm = nn.Sequential(*(Seeing(width, heads, inner) for _ in range(layers))), nn.LayerNorm(width)

    def forward(self, pixels):
        return self.norm(self.blocks(self.patches(pixels).flatten(2).transpose(1, 2) + self.places[:1]))


class Resampler(nn.Module):
    """Learned rows that see patches."""

    def __init__(self, rows, hidden, width, more):
        super().__init__()
        self.heads, self.rows = hidden // 128, nn.Parameter(torch.rand(rows, hidden))
        self.more = nn.Parameter(torch.rand(more, hidden))
        self.enter = nn.Identity() if width == hidden else linear(width, hidden)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(3))
        self.q, self.k, self.v, self.o = (linear(hidden, hidden, True) for _ in range(4))
        self.leave = nn.Parameter(torch.rand(hidden, hidden))

    def forward(self, seen):
        keys = self.norms[0](self.enter(seen))
        q = self.q(self.norms[1](self.rows).expand(len(keys), -1, -1))
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (q, self.k(keys), self.v(keys)))
        made = self.o(((q @ k.transpose(2, 3)).softmax(-1) @ v).transpose(1, 2).flatten(2))
        return self.norms[2](made) @ self.leave


class Sliced(Decoder):
    """A decoder of words and of slices of pictures; each lot of slices shares the resampler's rows."""

    def __init__(self, config, layers, tower, resampler, side):
        super().__init__(config, layers)
        self.tower, self.resampler, self.side = tower, resampler, side

    def forward(self, tokens, slices, return_dict):
        made = [self.resampler(self.tower(torch.rand(many, 3, rows * self.side, columns * self.side)).flatten(0, 1)[None])
                for many, rows, columns in slices]
        x = self.embedding(tokens) + sum(each.mean() for each in made)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Normed(Attention):
    """Attention whose queries and keys are normed, or whose queries, keys and values are biased."""

    def __init__(self, hidden, heads, kv, dim, bias, o_bias, norms):
        super().__init__(hidden, heads, kv, dim)
        self.q, self.k, self.v = (linear(hidden, each * dim, bias) for each in (heads, kv, kv))
        self.o = linear(heads * dim, hidden, o_bias)
        self.norms = nn.ModuleList(nn.RMSNorm(dim) for _ in range(2 * norms))


def minicpmv_parts(choose, version):
    """A text's config with its layers, and what sees pictures."""
    heads, dim = choose.choice([4, 8]), 64
    config = dict(vocab_size=choose.randint(7, 40), hidden_size=heads * dim * choose.randint(1, 2), intermediate_size=choose.randint(5, 30),
                  num_hidden_layers=choose.randint(1, 3), num_attention_heads=heads, num_key_value_heads=choose.choice([1, 2, heads]),
                  query_num=choose.choice([4, 9, 16]), drop_vision_last_layer=flag(choose))
    hidden, dim = config["hidden_size"], config["hidden_size"] // heads
    if version is not None:
        config["version"] = choose.choice([version, str(version)])
    if version == 4.5:
        config["head_dim"] = dim = choose.choice([32, 64, 128])
    biased = version in (2.5, 4.0) and flag(choose)
    if biased:
        config["attention_bias"] = True
    layers = [Layer(Normed(hidden, heads, config["num_key_value_heads"], dim, biased or version == 2.6, biased, version == 4.5),
                    Gated(hidden, config["intermediate_size"])) for _ in range(config["num_hidden_layers"])]
    if config.get("head_dim") == 128:
        del config["head_dim"]
    first, dropped = version is None and flag(choose), config["drop_vision_last_layer"]
    if first:
        config["vision_encoder"] = "vit_so400m_patch14_siglip_384.webli"
        side, width, tower = 14, 1152, Plain(1152, 16, 27 - dropped, 4304, 14, 27 * 27)
    else:
        eyes, side, rows, deep = choose.randint(1, 3), choose.randint(2, 5), choose.randint(3, 6), choose.randint(2, 4)
        width, inner = choose.choice([hidden, 4 * eyes]), choose.randint(5, 30)
        eyes = 2 if width == hidden else eyes
        config["vision_config"] = dict(model_type="siglip_vision_model", hidden_size=width, image_size=side * rows + 1, patch_size=side,
                                       intermediate_size=inner, num_attention_heads=eyes, num_hidden_layers=deep)
        tower = Plain(width, eyes, deep - dropped, inner, side, rows * rows)
    return config, layers, tower, Resampler(config["query_num"], hidden, width, config["query_num"] * first), side


def slices(choose, shared):
    many = [(choose.randint(1, 3) if shared else 1, choose.randint(1, 5), choose.randint(1, 5)) for _ in range(choose.randint(1, 3))]
    return {"grids": [list(each) for each in many], "slices": many}


def minicpmv(choose):
    """modeling_minicpmv.py and resampler.py of openbmb's MiniCPM-V-2, -Llama3-V-2_5, -V-2_6; vLLM's minicpmv.py for 4 and 4.5."""
    version = choose.choice([None, 2.5, 2.6, 4.0, 4.5])
    config, layers, *seeing = minicpmv_parts(choose, version)
    return config, Sliced(config, layers, *seeing), lambda choose: slices(choose, version == 4.5)


class Hearing(nn.Module):
    """Whisper's encoder, whose keys have no bias, behind two convolutions; and a projector of its frames."""

    def __init__(self, bins, width, heads, layers, places, hidden):
        super().__init__()
        self.enter = nn.Sequential(nn.Conv1d(bins, width, 3, padding=1), nn.GELU(), nn.Conv1d(width, width, 3, 2, padding=1), nn.GELU())
        self.places, self.norm = nn.Parameter(torch.rand(places, width)), nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(Seeing(width, heads, 4 * width) for _ in range(layers)))
        for block in self.blocks:
            block.qkv = nn.ModuleList(linear(width, width, bias) for bias in (True, False, True))
        self.leave = nn.Sequential(linear(width, hidden, True), nn.ReLU(), linear(hidden, hidden, True))

    def forward(self, sound):
        x = self.enter(sound).transpose(1, 2) + self.places[:1]
        return self.leave(self.norm(self.blocks(x)))


class Omni(Sliced):
    """What sees and hears."""

    def __init__(self, config, layers, hears, bins, *seeing):
        super().__init__(config, layers, *seeing)
        self.hears, self.bins = hears, bins

    def forward(self, tokens, slices, clips, return_dict):
        heard = sum(self.hears(torch.rand(1, self.bins, frames)).mean() for frames in clips)
        return super().forward(tokens, slices, return_dict) + heard


def minicpmo(choose):
    """modeling_minicpmo.py of openbmb's MiniCPM-o-2_6 and -4_5, without what speaks."""
    config, layers, *seeing = minicpmv_parts(choose, choose.choice([2.6, 4.5]))
    ears, deep, bins, chunk = choose.randint(1, 3), choose.randint(1, 3), choose.randint(3, 9), choose.choice([None, 0.02, 0.1])
    width = ears * 2 * choose.randint(1, 4)
    config.update(init_tts=False, audio_pool_step=5, audio_config=dict(d_model=width, encoder_layers=deep, encoder_attention_heads=ears,
                  encoder_ffn_dim=4 * width, num_mel_bins=bins, max_source_positions=choose.randint(20, 50)))
    if chunk is not None:
        config["audio_chunk_length"] = chunk
    hears = Hearing(bins, width, ears, deep, config["audio_config"]["max_source_positions"], config["hidden_size"])

    def inputs(choose):
        clips, hidden, own = [choose.randint(3, 40) for _ in range(choose.randint(1, 3))], 0, round(50 * (chunk or 1))
        for frames in ((each + 1) // 2 for each in clips):
            hidden += sum(max(frames - (frame // own + 1) * own, 0) for frame in range(frames))
        work = 4 * width * deep * hidden
        return {**slices(choose, False), "audio_frames": clips, "clips": clips, "differences": {"audio.core": {
            "forward": work, "backward": 2 * work, "why": "scores of frames that the mask hides are multiplied too"}}}

    return config, Omni(config, layers, hears, bins, *seeing), inputs


class Latched(nn.Module):
    """Attention whose queries come of a narrow latent, by one head of keys and values."""

    def __init__(self, hidden, heads, dim, q):
        super().__init__()
        self.heads, self.dim, self.norm = heads, dim, nn.RMSNorm(q)
        self.low, self.q, self.k, self.v = linear(hidden, q), linear(q, heads * dim), linear(hidden, dim), linear(hidden, dim)
        self.o = linear(heads * dim, hidden)

    def forward(self, x, window=None):
        batch, n, _ = x.shape
        q = self.q(self.norm(self.low(x))).view(batch, n, self.heads, self.dim).transpose(1, 2)
        k, v = (project(x)[:, None].repeat_interleave(self.heads, 1) for project in (self.k, self.v))
        scores = (q @ k.transpose(2, 3)).masked_fill(torch.ones(n, n).tril().logical_not(), float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, n, -1))


class Quadruple(nn.Module):
    """A tower of patches behind a class token that stands there four times."""

    def __init__(self, width, heads, layers, inner, side, rows):
        super().__init__()
        self.patches, self.first = nn.Conv2d(3, width, side, side), nn.Parameter(torch.rand(1, width))
        self.places = nn.Parameter(torch.rand(rows * rows + 1, width))
        self.blocks = nn.Sequential(*(Seeing(width, heads, inner) for _ in range(layers)))

    def forward(self, pixels):
        x = self.patches(pixels)
        down, across = x.shape[2:]
        x = torch.cat([self.first.expand(len(x), 4, -1), x.flatten(2).transpose(1, 2)], 1) + self.places[:1]
        return self.blocks(x)[:, 4:].transpose(1, 2).unflatten(2, (down, across))


class Stepped(Decoder):
    """A decoder of words and of pictures, whose cells two convolutions put together."""

    def __init__(self, config, layers, tower, projector, side):
        super().__init__(config, layers)
        self.tower, self.projector, self.side = tower, nn.ModuleList(projector), side

    def forward(self, tokens, pictures, return_dict):
        x = self.embedding(tokens)
        for rows, columns in pictures:
            seen = self.tower(torch.rand(1, 3, rows * self.side, columns * self.side))
            x = x + self.projector[2](self.projector[1](self.projector[0](seen)).flatten(2).transpose(1, 2)).mean()
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def step3_vl(choose):
    """modeling_step3.py and vision_encoder.py of stepfun-ai/step3."""
    text = dict(without(sizes(choose), "num_key_value_heads"), model_type="step3_text")
    hidden, heads, layers = text["hidden_size"], text["num_attention_heads"], text["num_hidden_layers"]
    experts, sparse = choose.randint(2, 6), [layer for layer in range(12) if flag(choose)] or [0]
    text.update(head_dim=2 * choose.randint(1, 4), share_q_dim=choose.randint(3, 9), moe_num_experts=experts,
                moe_top_k=choose.randint(1, experts), moe_intermediate_size=choose.randint(3, 9), share_expert_dim=choose.randint(3, 9),
                moe_layers_enum=choose.choice([sparse, ",".join(map(str, sparse)), None]))
    if text["moe_layers_enum"] is None:
        del text["moe_layers_enum"]
        text["num_hidden_layers"], sparse = 61, list(range(4, 60))

    def feed(layer):
        if layer not in sparse:
            return Gated(hidden, text["intermediate_size"])
        return Mixed(hidden, experts, text["moe_top_k"], text["moe_intermediate_size"], text["share_expert_dim"])

    eyes, side, rows, step, biased = choose.randint(1, 3), choose.randint(2, 4), choose.randint(3, 6), choose.randint(1, 2), flag(choose)
    width, wide = eyes * choose.randint(2, 5), choose.randint(3, 9)
    vision = dict(model_type="step3_vision_encoder", hidden_size=width, num_attention_heads=eyes, num_hidden_layers=choose.randint(1, 3),
                  intermediate_size=choose.randint(5, 20), patch_size=side, image_size=rows * side, output_hidden_size=wide)
    tower = Quadruple(width, eyes, vision["num_hidden_layers"], vision["intermediate_size"], side, rows)
    projector = nn.Conv2d(width, wide, 2, step), nn.Conv2d(wide, 2 * wide, 3, 2, 1), linear(2 * wide, hidden, biased)
    config = dict(text_config=text, vision_config=vision, understand_projector_stride=step, projector_bias=biased)
    model = Stepped(text, (Layer(Latched(hidden, heads, text["head_dim"], text["share_q_dim"]), feed(layer))
                           for layer in range(text["num_hidden_layers"])), tower, projector, side)

    def pictures(choose):
        shapes = [(choose.randint(2, 9), choose.randint(2, 9)) for _ in range(choose.randint(1, 3))]
        return {"grids": [[1, *each] for each in shapes], "pictures": shapes}

    return config, model, pictures


class Scan(nn.Module):
    """A state of heads, to which every token adds and which it reads, behind a convolution along the tokens."""

    def __init__(self, config):
        super().__init__()
        h, self.heads, self.state = config["hidden_size"], config["mamba_num_heads"], config["mamba_d_state"]
        inner, self.low = self.heads * config["hidden_size_per_head"], max(64, h // 16)
        self.enter, self.o, self.kernel = linear(h, 2 * inner), linear(inner, h), nn.Parameter(torch.rand(inner, config["mamba_d_conv"]))
        self.sides, self.step = linear(inner, self.low + 2 * self.state), linear(self.low, self.heads)
        self.norms, self.own = nn.Parameter(torch.rand(self.low + 2 * self.state)), nn.Parameter(torch.rand(3, self.heads))

    def forward(self, x, window=None):
        batch, n, _ = x.shape
        gate, x = self.enter(x).chunk(2, -1)
        width = self.kernel.shape[1]
        seen = F.pad(x, (0, 0, width - 1, 0)).unfold(1, width, 1)
        x = (seen.permute(2, 0, 1, 3).flatten(1, 2) @ self.kernel[:, :, None]).view(-1, batch, n).permute(1, 2, 0)
        b, c, step = (self.sides(x) * self.norms).split([self.state, self.state, self.low], -1)
        step = F.softplus(self.step(step) + self.own[0])
        x = x.view(batch, n, self.heads, -1, 1) * step[..., None, None]
        b, c = (each[:, :, None].expand(-1, -1, self.heads, -1) for each in (b, c))
        # It needs a gradient, as the state of every other token does.
        state, made = torch.zeros(batch, self.heads, x.shape[3], self.state, requires_grad=True), []
        for t in range(n):
            state = state * (step[:, t] * self.own[1]).exp()[..., None, None] + x[:, t] @ b[:, t, :, None]
            made.append(state @ c[:, t, :, :, None])
        return self.o(torch.stack(made, 1).reshape(batch, n, -1) * gate + self.own[2].sum())


def plamo2(choose):
    """modeling_plamo.py of pfnet/plamo-2-1b, as ports to MLX have it line by line."""
    config = dict(sizes(choose), hidden_size_per_head=2 * choose.randint(1, 4), attention_window_size=choose.randint(1, 5),
                  mamba_num_heads=choose.randint(1, 4), mamba_d_state=choose.randint(2, 6), mamba_d_conv=choose.randint(2, 4),
                  mamba_step=choose.choice([2, 3, 4, 12]), mamba_enabled=choose.random() < 0.8, tie_word_embeddings=flag(choose))
    hidden, heads, kv, layers = (config[name] for name in "hidden_size num_attention_heads num_key_value_heads num_hidden_layers".split())
    config["num_hidden_layers"] = layers = layers + choose.randint(0, 2)
    if flag(choose):
        config["full_attention_idx"] = [layer for layer in range(layers) if flag(choose)]
    half, dim = config["mamba_step"] // 2, config["hidden_size_per_head"]

    def mixer(layer):
        if config["mamba_enabled"] and (layer != layers - 1 if layers <= half else layer % config["mamba_step"] != half):
            return Scan(config)
        made = Attention(hidden, heads, kv, dim)
        made.norms = nn.ParameterList([torch.rand(heads, dim), torch.rand(kv, dim)])
        return made

    window = config["attention_window_size"] + 1
    model = Decoder(config, (Layer(mixer(layer), Gated(hidden, config["intermediate_size"]), norms=4,
                                   window=None if layer in config.get("full_attention_idx", []) else window) for layer in range(layers)),
                    config["tie_word_embeddings"])
    if not config["tie_word_embeddings"]:
        model.head = linear(hidden, -(-config["vocab_size"] // 16) * 16)
    return config, model


class Block(nn.Module):
    """A layer whose attention and feed-forward may be one matrix, or missing with their norms."""

    def __init__(self, hidden, attention, feed):
        super().__init__()
        self.attention, self.feed = attention, feed
        self.norms = nn.ModuleList(nn.RMSNorm(hidden) if each is not None else nn.Identity() for each in (attention, feed))

    def forward(self, x):
        if self.attention is not None:
            x = x + self.attention(self.norms[0](x))
        return x if self.feed is None else x + self.feed(self.norms[1](x))


def nemotron_nas(choose):
    """DeciLM's modeling_decilm.py, as NeMo and ports to MLX have it: each block says its own attention and feed-forward."""
    heads, dim = 4, 2 * choose.randint(1, 3)
    hidden, layers, bias = heads * dim, choose.randint(2, 5), flag(choose)
    blocks, stack = [], []
    for _ in range(layers):
        kind, other = choose.choice(["heads", "heads", "linear", "none"]), choose.choice(["mult", "size", "linear", "none"])
        group = choose.choice([1, 2, 4])
        attention = {"heads": {"n_heads_in_group": group}, "linear": {"replace_with_linear": True}, "none": {"no_op": True}}[kind]
        factor, size = choose.choice([1.0, 2.5]), choose.randint(3, 20)
        feed = {"mult": {"ffn_mult": factor}, "size": {"intermediate_size": size}, "linear": {"replace_with_linear": True},
                "none": {"no_op": True}}[other]
        inner = size if other == "size" else -(-int(2 * factor * hidden / 3) // 256) * 256
        blocks.append({"attention": attention, "ffn": feed})
        stack.append(Block(hidden, {"heads": lambda: Attention(hidden, heads, heads // group, dim, bias), "linear": lambda: linear(hidden, hidden),
                                    "none": lambda: None}[kind](),
                           {"linear": lambda: linear(hidden, hidden), "none": lambda: None}.get(other, lambda: Gated(hidden, inner))()))
    config = dict(vocab_size=choose.randint(7, 40), hidden_size=hidden, intermediate_size=None, num_hidden_layers=layers, num_attention_heads=heads,
                  num_key_value_heads=None, attention_bias=bias, mlp_bias=False, block_configs=blocks)
    return config, Decoder(config, stack)


class SeeingGated(nn.Module):
    """A block of a picture's patches with RMS norms and a gated feed-forward."""

    def __init__(self, width, heads, inner, biased):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.qkv, self.o = linear(width, 3 * width, biased), linear(width, width, biased)
        self.gate, self.up, self.down = linear(width, inner, biased), linear(width, inner, biased), linear(inner, width, biased)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.o(((q @ k.transpose(2, 3)).softmax(-1) @ v).transpose(1, 2).flatten(2))
        normed = self.norms[1](x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Merged(Decoder):
    """A decoder of words and of pictures of any size, whose cells are merged two by two and projected."""

    def __init__(self, config, layers, tower, projector, side, tied=False):
        super().__init__(config, layers, tied)
        self.tower, self.projector, self.side = tower, projector, side

    def forward(self, tokens, pictures, return_dict):
        x = self.embedding(tokens)
        for rows, columns in pictures:
            cells = self.tower(rows, columns).unflatten(1, (rows // self.side, self.side, columns // self.side, self.side))
            x = x + self.projector(cells.transpose(2, 3).flatten(1, 2).flatten(2)).mean()
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def even_pictures(side):
    def pictures(choose):
        shapes = [(side * choose.randint(1, 4), side * choose.randint(1, 4)) for _ in range(choose.randint(1, 3))]
        return {"grids": [[1, *each] for each in shapes], "pictures": shapes}
    return pictures


class Dotted(nn.Module):
    """Normed patches, blocks, a norm, and one more that stands before the projector."""

    def __init__(self, width, heads, layers, inner, side, biased, last):
        super().__init__()
        self.patches, self.side = nn.Conv2d(3, width, side, side), side
        self.blocks = nn.Sequential(*(SeeingGated(width, heads, inner, biased) for _ in range(layers)))
        self.norms = nn.ModuleList([nn.RMSNorm(width)] + [nn.RMSNorm(width)] * last)
        self.before = nn.LayerNorm(width)

    def forward(self, rows, columns):
        x = self.norms[0](self.patches(torch.rand(1, 3, rows * self.side, columns * self.side)).flatten(2).transpose(1, 2))
        x = self.blocks(x)
        return self.before(self.norms[1](x) if len(self.norms) > 1 else x)


def dots_ocr(choose):
    """vllm/model_executor/models/dots_ocr.py of vllm-project/vllm at 01463071, after rednote-hilab/dots.ocr."""
    config, tied = sizes(choose), flag(choose)
    hidden, heads, kv = config["hidden_size"], config["num_attention_heads"], config["num_key_value_heads"]
    eyes, side, merge = choose.randint(1, 3), choose.randint(2, 4), choose.randint(1, 3)
    width, inner, layers, biased, last = 4 * eyes * choose.randint(1, 2), choose.randint(5, 20), choose.randint(1, 3), flag(choose), flag(choose)
    tower = Dotted(width, eyes, layers, inner, side, biased, last)
    projector = nn.Sequential(linear(merge * merge * width, merge * merge * width, True), nn.GELU(), linear(merge * merge * width, hidden, True))
    blocks = []
    for _ in range(config["num_hidden_layers"]):
        blocks.append(Layer(Attention(hidden, heads, kv, hidden // heads), Gated(hidden, config["intermediate_size"])))
        for name, out in (("q", hidden), ("k", kv * (hidden // heads)), ("v", kv * (hidden // heads))):
            setattr(blocks[-1].attention, name, linear(hidden, out, True))
    model = Merged(config, blocks, tower, projector, merge, tied)
    config.update(tie_word_embeddings=tied, vision_config=dict(
        model_type="dots_vit", embed_dim=width, hidden_size=hidden, intermediate_size=inner, num_hidden_layers=layers, num_attention_heads=eyes,
        num_channels=3, patch_size=side, spatial_merge_size=merge, temporal_patch_size=1, use_bias=biased, post_norm=last, is_causal=False))
    return config, model, even_pictures(merge)


class Registered(nn.Module):
    """RADIO: learned rows before patches with positions of the largest picture."""

    def __init__(self, width, heads, layers, side, first, most):
        super().__init__()
        self.patches, self.side, self.drop = linear(3 * side * side, width), side, first
        self.first, self.places = nn.Parameter(torch.rand(first, width)), nn.Parameter(torch.rand(most * most, width))
        self.blocks = nn.ModuleList(Seeing(width, heads, 4 * width) for _ in range(layers))

    def forward(self, rows, columns):
        x = self.patches(torch.rand(1, rows * columns, 3 * self.side * self.side)) + self.places[:1]
        x = torch.cat([self.first[None], x], 1)
        for block in self.blocks:
            x = block(x)
        return x[:, self.drop:]


def nano_vl(choose):
    """nano_nemotron_vl.py and radio.py of vllm-project/vllm at 77ab2fe7. A text of attention and feed-forwards alone: its state
    spaces are counted by their own class."""
    text = sizes(choose)
    hidden, heads, kv = text["hidden_size"], text["num_attention_heads"], text["num_key_value_heads"]
    pattern = "".join(choose.choice("*-") for _ in range(choose.randint(2, 4)))

    def layer(kind):
        made = nn.Module()
        made.norm = nn.RMSNorm(hidden)
        if kind == "*":
            made.part = Attention(hidden, heads, kv, hidden // heads)
        else:
            made.part = nn.Sequential(linear(hidden, text["intermediate_size"]), nn.ReLU(), linear(text["intermediate_size"], hidden))
        made.forward = lambda x: x + made.part(made.norm(x))
        return made

    name, (width, layers, eyes) = choose.choice([("small", (384, 12, 6)), ("base", (768, 12, 12)), ("large", (1024, 24, 16)), ("huge", (1280, 32, 16))])
    side, most, first, inside = choose.choice([2, 4]), choose.randint(8, 10), choose.randint(5, 9), choose.randint(5, 20)
    tower = Registered(width, eyes, layers, side, first, most)
    projector = nn.Sequential(nn.RMSNorm(4 * width), linear(4 * width, inside), nn.ReLU(), linear(inside, hidden))
    config = dict(llm_config=dict(model_type="nemotron_h", hybrid_override_pattern=pattern, head_dim=hidden // heads,
                                  **dict(text, num_hidden_layers=len(pattern))),
                  vision_config=dict(model_type="radio", patch_size=side, vitdet_window_size=None, max_resolution=side * most,
                                     args=dict(model=f"vit_{name}_patch16_224", cls_token_per_teacher=True, register_multiple=first,
                                               teachers=[{"name": one} for one in "abc"])),
                  vit_hidden_size=width, projector_hidden_size=inside, downsample_ratio=0.5, force_image_size=512)
    return config, Merged(text, [layer(kind) for kind in pattern], tower, projector, 2), even_pictures(2)



def nano_omni(choose):
    """As Nano VL, with a matrix for clips, which pictures do not run. Its sound encoder is that of nemotron_h_omni."""
    config, model, pictures = nano_vl(choose)
    frames, own, vision = choose.randint(1, 3), flag(choose), config["vision_config"]
    vision.update(video_temporal_patch_size=frames, separate_video_embedder=own)
    if own and frames > 1:
        model.tower.clips = linear(3 * frames * vision["patch_size"] ** 2, config["vit_hidden_size"])
    return config, model, pictures


class Grouped(nn.Module):
    """A block whose heads of queries share heads of keys and values. Within a window, each head has a weight that stands by the first key."""

    def __init__(self, width, heads, kv, dim, inner, window=None, sinks=False, biased=True):
        super().__init__()
        self.heads, self.kv, self.window, self.norms = heads, kv, window, nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.qkv, self.o = linear(width, (heads + 2 * kv) * dim, True), linear(heads * dim, width, biased)
        self.gate, self.up, self.down = linear(width, inner, biased), linear(width, inner, biased), linear(inner, width, biased)
        self.sinks = nn.Parameter(torch.rand(heads, 1)) if sinks else None

    def forward(self, x):
        batch, n, _ = x.shape
        made = self.qkv(self.norms[0](x)).view(batch, n, self.heads + 2 * self.kv, -1).transpose(1, 2)
        q, k, v = made.split([self.heads, self.kv, self.kv], 1)
        k, v = (each.repeat_interleave(self.heads // self.kv, 1) for each in (k, v))
        scores = q @ k.transpose(2, 3)
        if self.sinks is not None:
            scores = torch.cat([scores[..., :1] + self.sinks[:, None], scores[..., 1:]], -1)
        if self.window is not None:
            places = torch.arange(n)
            scores = scores.masked_fill((places[:, None] - places).abs() > self.window, float("-inf"))
        x = x + self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        normed = self.norms[1](x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Omnimodal(Decoder):
    """What sees frames of patches, each frame for itself, and hears groups of codes, each group for itself."""

    def __init__(self, config, layers, patches, sees, merger, tables, hears, projector):
        super().__init__(config, layers)
        self.patches, self.sees, self.merger, self.tables = patches, sees, merger, nn.ModuleList(tables)
        self.hears, self.projector = hears, projector

    def forward(self, tokens, grids, clips, return_dict):
        x = self.embedding(tokens)
        for frames, rows, columns in grids if self.patches is not None else []:
            seen = self.sees(self.patches(torch.rand(frames, rows * columns, self.patches.in_features)))
            x = x + self.merger[1](self.merger[0](seen).reshape(-1, self.merger[1][0].in_features)).mean()
        for groups, codes in clips:
            heard = self.hears(sum(table(torch.zeros(groups, codes, dtype=torch.long)) for table in self.tables))
            x = x + self.projector(heard.flatten(1)).mean()
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


def mimo_v2(choose):
    """mimo_v2_omni.py of vllm-project/vllm at 005a51a4 and mimo_audio.py at 41c5903d: MiMo-V2.5's towers, without the audio tokenizer,
    before a dense text."""
    text = sizes(choose)
    hidden, heads, kv, deep = (text[key] for key in ("hidden_size", "num_attention_heads", "num_key_value_heads", "num_hidden_layers"))
    dim = hidden // heads
    config = dict(text, head_dim=dim, v_head_dim=dim, moe_layer_freq=[0] * deep, hybrid_layer_pattern=[0] * deep, n_routed_experts=4,
                  num_experts_per_tok=2, moe_intermediate_size=3, swa_num_key_value_heads=kv)
    sees_kv, window, full, layers = choose.randint(1, 2), choose.randint(1, 4), flag(choose), choose.randint(2, 4)
    eyes, own, width, inner, side, frames, merge = (sees_kv * choose.randint(1, 2), choose.randint(2, 5), 2 * choose.randint(2, 5), choose.randint(5, 20),
                                                    choose.randint(2, 3), choose.randint(1, 2), choose.randint(1, 3))
    whole, sinks, channels = sorted(choose.sample(range(layers), choose.randint(1, layers))), flag(choose), choose.choice([1, 3])
    vision = dict(hidden_size=width, intermediate_size=inner, depth=layers, num_heads=eyes, num_key_value_heads=sees_kv, qk_channels=own,
                  patch_size=side, temporal_patch_size=frames, spatial_merge_size=merge, out_hidden_size=hidden, fullatt_block_indexes=whole,
                  visual_token_window_size=window, vit_window_attn_types=[-1 if i in whole else choose.randint(0, 1) for i in range(layers)],
                  use_sink=sinks, **{choose.choice(["in_chans", "in_channels"]): channels})
    if flag(choose):
        vision["kv_channels"] = own
    patches = linear(channels * frames * side * side, width)
    sees = nn.Sequential(*(Grouped(width, eyes, sees_kv, own, inner, None if i in whole else window, sinks and i not in whole) for i in range(layers)))
    large = merge * merge * width
    merger = nn.ModuleList([nn.RMSNorm(width), nn.Sequential(linear(large, large), nn.GELU(), linear(large, hidden))])
    ears, bits, group, tracks, words = choose.randint(1, 2), 2 * choose.randint(1, 4), choose.randint(2, 5), choose.randint(1, 4), choose.randint(5, 30)
    local, wide, times, two, last = ears * bits, choose.randint(5, 20), choose.randint(1, 3), choose.randint(1, 2), flag(choose)
    audio = dict(input_local_dim=local, input_local_layers=times, input_local_attn_heads=ears, input_local_head_dim=bits,
                 input_local_intermediate_size=wide, input_full_attention=full, group_size=group, audio_channels=tracks,
                 speech_vocab_size=choose.choice([words, str(words)]), out_hidden_size=hidden, projection_layers=two, add_post_norm=last)
    if flag(choose):
        del audio["input_local_head_dim"]
    hears = nn.Sequential(*(Grouped(local, ears, ears, bits, wide, biased=False) for _ in range(times)), *([nn.RMSNorm(local)] if last else []))
    wider = 4 * group * local
    projector = linear(group * local, hidden) if two == 1 else nn.Sequential(linear(group * local, wider), nn.GELU(), linear(wider, hidden))
    if without_eyes := choose.random() < 0.2:
        patches = sees = merger = None
    else:
        config["vision_config"] = vision
    config["audio_config"] = audio
    blocks = (Layer(Attention(hidden, heads, kv, dim), Gated(hidden, text["intermediate_size"])) for _ in range(deep))
    model = Omnimodal(text, blocks, patches, sees, merger, [nn.Embedding(words, local) for _ in range(tracks)], hears, projector)

    def inputs(choose):
        clips = [choose.randint(1, 30) for _ in range(choose.randint(1, 3))]
        grids = [[choose.randint(1, 3), merge * choose.randint(1, 4), merge * choose.randint(1, 4)] for _ in range(choose.randint(1, 3))]
        groups = sum(-(-codes // group) for codes in clips)
        hidden_pairs = 0 if full else groups * times * 4 * local * (group * (group - 1) // 2)
        return {"audio_frames": clips, "clips": [(-(-codes // group), group) for codes in clips],
                **({} if without_eyes else {"grids": grids}), "call": lambda model, **more: model(grids=grids, **more),
                "differences": {"audio.core": {"forward": hidden_pairs, "backward": 2 * hidden_pairs,
                                               "why": "scores of codes that a causal mask hides are multiplied too"}}}

    return config, model, inputs


class Timed(nn.Module):
    """A residual block of convolutions, with a scale and a shift made of a time."""

    def __init__(self, inputs, outputs, hidden):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(32, inputs), nn.GroupNorm(32, outputs)])
        self.first, self.second = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.timed = linear(hidden, 2 * outputs, True)
        self.shortcut = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        scale, shift = self.timed(F.silu(time))[..., None, None].chunk(2, 1)
        made = self.norms[1](self.first(F.silu(self.norms[0](x)))) * (1 + scale) + shift
        return self.shortcut(x) + self.second(F.silu(made))


class Imaging(Decoder):
    """A decoder of words and of the latents of images."""

    def __init__(self, config, layers, width, channels):
        super().__init__(config, layers)
        hidden = config["hidden_size"]
        self.times = nn.ModuleList(nn.Sequential(linear(256, hidden, True), nn.GELU(), linear(hidden, hidden, True)) for _ in range(3))
        self.first, self.read = nn.Conv2d(channels, width, 3, padding=1), Timed(width, hidden, hidden)
        self.made, self.last = Timed(hidden, width, hidden), nn.Conv2d(width, channels, 3, padding=1)
        self.last_norm = nn.GroupNorm(32, width)

    def forward(self, tokens, latents, return_dict):
        x, time = self.embedding(tokens), torch.rand(1, 256)
        for each in latents:
            x = x + self.read(self.first(each), self.times[0](time)).mean((2, 3)) + self.times[1](time)
        for layer in self.layers:
            x = layer(x)
        made = 0
        for each in latents:
            cells = x.mean((0, 1))[None, :, None, None].expand(1, -1, *each.shape[2:])
            made = made + self.last(F.silu(self.last_norm(self.made(cells, self.times[2](time))))).mean()
        return self.head(self.norm(x)) + made


class Biased(Gated):
    """A gated MLP whose matrices have biases where they are asked for."""

    def __init__(self, hidden, inner, bias):
        nn.Module.__init__(self)
        self.gate, self.up, self.down = linear(hidden, inner, bias), linear(hidden, inner, bias), linear(inner, hidden, bias)


def hunyuan_image_3_moe(choose):
    """hunyuan_image_3/hunyuan.py of Tencent-Hunyuan/HunyuanImage-3.0 at 1d011c8, each token by its own experts."""
    config = dict(sizes(choose), attention_bias=flag(choose), mlp_bias=flag(choose), use_qk_norm=flag(choose), use_mixed_mlp_moe=flag(choose),
                  norm_type=choose.choice(["rms", "torch_nn"]), tie_word_embeddings=False)
    hidden, width, channels = 32 * choose.randint(1, 2), 32 * choose.randint(1, 2), choose.randint(2, 5)
    config.update(hidden_size=hidden, patch_embed_hidden_dim=width, vae=dict(latent_channels=channels))
    heads, layers = config["num_attention_heads"], config["num_hidden_layers"]
    heads = config["num_attention_heads"] = {6: 8}.get(heads, heads)
    kv = config["num_key_value_heads"] = choose.choice([None, 1, 2])
    dim = config["attention_head_dim"] = choose.choice([None, 2 * choose.randint(1, 4)])
    dims = dim or hidden // heads

    def of_layers(one):
        """A number, or a list of one for each layer."""
        return [one() for _ in range(layers)] if flag(choose) else one()

    def at(value, layer):
        return value[layer] if isinstance(value, list) else value

    experts = config["num_experts"] = of_layers(lambda: choose.randint(2, 5)) if choose.random() < 0.6 else 1
    skipped = config["moe_layer_num_skipped"] = choose.randint(0, 1)
    top = config["moe_topk"] = of_layers(lambda: choose.randint(1, 2)) if experts != 1 else 1
    wide = config["moe_intermediate_size"] = choose.choice([None, of_layers(lambda: choose.randint(5, 20))])
    many = config["num_shared_expert"] = of_layers(lambda: choose.randint(1, 2))

    def feed(layer):
        if experts == 1 or layer < skipped:
            return Biased(hidden, config["intermediate_size"], config["mlp_bias"])
        inner = at(wide, layer) or config["intermediate_size"]
        mixed = Mixed(hidden, at(experts, layer), at(top, layer), inner, 0)
        mixed.experts.experts = nn.ModuleList(Biased(hidden, inner, config["mlp_bias"]) for _ in range(at(experts, layer)))
        if config["use_mixed_mlp_moe"]:
            mixed.shared = Biased(hidden, inner * at(many, layer), config["mlp_bias"])
        return mixed

    blocks = [Layer(Normed(hidden, heads, kv or heads, dims, config["attention_bias"], config["attention_bias"], config["use_qk_norm"]), feed(layer))
              for layer in range(layers)]
    if config["norm_type"] == "torch_nn":
        for block in blocks:
            block.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(2))

    def latents(choose):
        shapes = [(choose.randint(2, 5), choose.randint(1, 5)) for _ in range(choose.randint(1, 3))]
        return {"grids": [[1, *each] for each in shapes], "latents": [torch.rand(1, channels, *each) for each in shapes]}

    return config, Imaging(config, blocks, width, channels), latents


CLASSES = {"deepseek_vl_v2": deepseek_vl_v2, "hunyuan": hunyuan, "hunyuan_image_3_moe": hunyuan_image_3_moe, "mimo_v2": mimo_v2, "minicpmo": minicpmo, "minicpmv": minicpmv, "nemotron-nas": nemotron_nas, "ouro": ouro, "phi3_v": phi3_v, "plamo": plamo, "plamo2": plamo2, "rwkv7": rwkv7,
           "smallthinker": smallthinker, "step3_vl": step3_vl,
           "xverse": xverse, "dots_ocr": dots_ocr, "NemotronH_Nano_VL_V2": nano_vl,
           "NemotronH_Nano_Omni_Reasoning_V3": nano_omni}
LARGE = ["NemotronH_Nano_Omni_Reasoning_V3", "NemotronH_Nano_VL_V2", "minicpmo", "minicpmv", "phi3_v"]  # whose sizes are their class's: counted without numbers
SUFFIXES = {"NemotronH_Nano_Omni_Reasoning_V3": "V3", "hunyuan_image_3_moe": "ForCausalMM", "NemotronH_Nano_VL_V2": "V2", "minicpmo": "O", "minicpmv": "V", "step3_vl": "ForConditionalGeneration"}  # of classes, else ForCausalLM
PREFIXES = {"NemotronH_Nano_Omni_Reasoning_V3": "NemotronH_Nano_Omni_Reasoning_", "NemotronH_Nano_VL_V2": "NemotronH_Nano_VL_", "dots_ocr": "DotsOCR", "deepseek_vl_v2": "DeepseekVLV2", "hunyuan": "HunYuan", "hunyuan_image_3_moe": "HunyuanImage3", "mimo_v2": "MiMoV2", "minicpmo": "MiniCPM", "minicpmv": "MiniCPM", "nemotron-nas": "DeciLM", "ouro": "Ouro", "phi3_v": "Phi3V", "plamo": "Plamo", "plamo2": "Plamo2", "rwkv7": "RWKV7",
            "smallthinker": "SmallThinker", "step3_vl": "Step3VL", "xverse": "Xverse"}


def describe(name, draw):
    with torch.device("meta" if name in LARGE else "cpu"):
        return described(name, draw)


def described(name, draw):
    choose = random.Random(f"{name} {draw}")
    torch.manual_seed(0)
    config, model, inputs, beside = (*CLASSES[name](choose), None, None)[:4]
    suffix = SUFFIXES.get(name, "ForCausalLM")
    runs = []
    for _ in range(2):
        batch, length = choose.randint(1, 3), choose.randint(2, 9)
        made = {"audio_frames": [0] * batch, "tokens": torch.randint(0, model.embedding.num_embeddings, (batch, length))}
        counted = diffusion.run(torch, FlopCounterMode, model, {**made, **(inputs(choose) if inputs else {}),
                                                                 **({"differences": beside(batch * length)} if beside else {})})
        del counted["lengths"]
        if not any(counted["audio_frames"]):
            del counted["audio_frames"]
        runs.append(dict(counted, batch=batch, length=length, attention="eager"))
        runs[-1]["fused"] = False
    return {"id": f"{name}/{draw}", "model_type": name, "class": PREFIXES[name] + suffix,
            "config": {"model_type": name, "architectures": [PREFIXES[name] + suffix], **config},
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
