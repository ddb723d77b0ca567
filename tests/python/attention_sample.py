# SPDX-License-Identifier: Apache-2.0
"""Attention modules drawn from parts, in the ways that people write them, and what floptally.from_torch makes of them.

`python tests/python/attention_sample.py [--seed N] [--count 400]` draws modules from projection styles x product styles x
masks x masking operators x softmax styles, and prints how many are counted right, refused and counted wrong. The truth
is the mask itself, pair by pair. As a control, one entry of the mask is flipped in each module that is right: the
count must change, or it must be an error.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

import floptally

nn, F = torch.nn, torch.nn.functional
WIDTH, HEADS = 8, 2
LENGTHS = (57, 131)  #: at which a count is compared with its enumeration
FLIPPED = (23, 11)  #: query and key of the entry that the control flips

Keep = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]

# Masks: functions of query, key and head to what is attended.

MASKS: dict[str, Keep] = {
    "causal": lambda i, j, h: j <= i,
    "window of 6": lambda i, j, h: (j <= i) & (i - j < 6),
    "window of 70": lambda i, j, h: (j <= i) & (i - j < 70),
    "window of 300": lambda i, j, h: (j <= i) & (i - j < 300),
    "both sides": lambda i, j, h: (i - j <= 5) & (j - i <= 9),
    "chunks of 16": lambda i, j, h: (j <= i) & (i // 16 == j // 16),
    "prefix of 9": lambda i, j, h: (j <= i) | (j < 9),
    "blocks of 8": lambda i, j, h: j // 8 <= i // 8,
    "every third key": lambda i, j, h: (j <= i) & ((i - j) % 3 == 0),
    "sparse": lambda i, j, h: (j <= i) & ((i - j < 4) | (j % 8 == 7)),
    "first keys and a window": lambda i, j, h: (j <= i) & ((i - j < 12) | (j < 4)),
    "windows by head": lambda i, j, h: (j <= i) & (i - j < (5 if h == 0 else 40)),
    "one causal head": lambda i, j, h: (j <= i) | (i < 0) if h == 0 else (j >= 0) & (i >= 0),
    "documents": lambda i, j, h: (j <= i) & ((i < 20) == (j < 20)),
}


def positions(queries: int, keys: int, device: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(queries, device=device)[:, None], torch.arange(keys, device=device)[None]


@dataclass(frozen=True)
class Drawn:
    """The parts of a module."""

    projection: str
    product: str
    mask: str
    operator: str
    softmax: str
    dtype: str
    flipped: bool = False

    def keep(self, length: int) -> torch.Tensor:
        """What is attended, [heads, queries, keys]."""
        i, j = positions(length, length)
        heads = range(HEADS if self.mask in BY_HEAD else 1)
        whole = torch.stack([MASKS[self.mask](i, j, head).expand(length, length) for head in heads])
        if self.flipped:
            whole = whole ^ ((i == FLIPPED[0]) & (j == FLIPPED[1]))
        return whole

    def pairs(self, length: int) -> int:
        if self.operator in UNMASKED:
            return HEADS * length * length
        return int(self.keep(length).expand(HEADS, length, length).sum())

    def __str__(self) -> str:
        return ", ".join((self.projection, self.product, self.mask, self.operator, self.softmax, self.dtype))


BY_HEAD = ("windows by head", "one causal head")

# Masking operators: from scores and what is attended to masked scores.


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(keep)
        return torch.where(keep, scores, float("-inf"))

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * ctx.saved_tensors[0], None


def least(s: torch.Tensor) -> float:
    return torch.finfo(s.dtype).min


def added(s: torch.Tensor, m: torch.Tensor, fill: float) -> torch.Tensor:
    return torch.zeros(m.shape, dtype=s.dtype, device=s.device).masked_fill_(~m, fill)


def by_index(s: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    s = s.clone()
    for head in range(m.shape[0]):
        rows, columns = (~m[head]).nonzero().unbind(1)
        if m.shape[0] == 1:
            s[:, :, rows, columns] = float("-inf")
        else:
            s[:, head, rows, columns] = float("-inf")
    return s


def by_rows(s: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    s = s.clone()
    for row in range(s.shape[-2]):
        s[:, :, row] = s[:, :, row].masked_fill(~m[:, row], float("-inf"))
    return s


def by_slices(s: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(s)
    for begin in range(0, s.shape[-2], 16):
        out[:, :, begin : begin + 16] = s[:, :, begin : begin + 16] + added(s, m[:, begin : begin + 16], -1e4)
    return out


def by_columns(s: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    pieces = [s[..., c : c + 1].masked_fill(~m[..., c : c + 1], least(s)) for c in range(0, s.shape[-1])]
    return torch.cat(pieces, -1)


def scattered(s: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    return s.masked_scatter((~m).expand(s.shape), torch.full_like(s, -1e4))


def filled_index(s: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
    columns = torch.arange(s.shape[-1], device=s.device)
    return s.scatter_add(-1, columns.expand(s.shape), added(s, m, -1e4).expand(s.shape))


SCORES: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "masked_fill -inf": lambda s, m: s.masked_fill(~m, float("-inf")),
    "masked_fill least": lambda s, m: s.masked_fill(~m, least(s)),
    "masked_fill_": lambda s, m: s.clone().masked_fill_(~m, -1e4),
    "fill of -100": lambda s, m: s.masked_fill(~m, -100.0),
    "fill of -1000": lambda s, m: s + added(s, m, -1000.0),
    "add -inf": lambda s, m: s + added(s, m, float("-inf")),
    "+=": lambda s, m: s.clone().add_(added(s, m, float("-inf"))),
    "s - 1e4 * m": lambda s, m: s - 1e4 * (~m).to(s.dtype),
    "sub alpha": lambda s, m: torch.sub(s, (~m).to(s.dtype), alpha=3e4),
    "add alpha": lambda s, m: torch.add(s, (~m).to(s.dtype), alpha=-3e4),
    "rsub": lambda s, m: torch.rsub(3e4 * (~m).to(s.dtype), s),
    "addcmul": lambda s, m: torch.addcmul(s, (~m).to(s.dtype), torch.full_like(s, -1e4)),
    "lerp": lambda s, m: torch.lerp(s, torch.full_like(s, -1e4), (~m).to(s.dtype).expand(s.shape)),
    "minimum": lambda s, m: torch.minimum(s, torch.where(m, torch.inf, -1e4).to(s.dtype)),
    "masked_scatter": scattered,
    "scatter_add": filled_index,
    "where": lambda s, m: torch.where(m, s, -1e4),
    "where turned": lambda s, m: torch.where(~m, s - 1e4, s),
    "where of scores": lambda s, m: torch.where(m, s, torch.full_like(s, least(s))),
    "index_put": by_index,
    "row by row": by_rows,
    "slices": by_slices,
    "columns": by_columns,
    "custom function": lambda s, m: Masked.apply(s, m),
    "log of the mask": lambda s, m: s + m.to(s.dtype).log(),
    "multiply and subtract": lambda s, m: s * m.to(s.dtype) - 1e4 * (1 - m.to(s.dtype)),
    "clamp": lambda s, m: s + ((m.to(s.dtype) - 1) * 1e6).clamp(min=-3e4),
    "two masks": lambda s, m: (s + added(s, m, -1e4)).masked_fill(~m, least(s)),
    "nan_to_num": lambda s, m: torch.nan_to_num(s.masked_fill(~m, float("-inf")), neginf=-3e4),
    "stack and sum": lambda s, m: torch.stack((s, added(s, m, -1e4).expand(s.shape))).sum(0),
    "einsum": lambda s, m: s + torch.einsum("hij,h->hij", added(s, m, -1e4), torch.ones(m.shape[0], dtype=s.dtype, device=s.device)),
    "unsqueezed": lambda s, m: (s.unsqueeze(-1) + added(s, m, -1e4).unsqueeze(-1)).squeeze(-1),
}
#: From weights and what is attended to weights.
WEIGHTS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "renormalised": lambda w, m: w * m / (w * m).sum(-1, keepdim=True).clamp(min=1e-4),
    "multiplied weights": lambda w, m: w * m.to(w.dtype),
    "filled weights": lambda w, m: w.masked_fill(~m, 0.0),
    "where of weights": lambda w, m: torch.where(m, w, torch.zeros_like(w)),
    "einsum of weights": lambda w, m: torch.einsum("bhij,hij->bhij", w, m.to(w.dtype).expand(w.shape[1:])),
}
#: Without a tensor of scores: kernels, modules, masks among the inputs, parts of queries.
WHOLE = ("sdpa of bools", "sdpa of floats", "nn.MultiheadAttention", "flex", "queries in chunks", "mask among the inputs",
         "cached buffer", "bias and mask", "slopes and mask", "log(mask + 1e-10)")
UNMASKED = ("log(mask + 1e-10)",)

SOFTMAX: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": lambda s: s.softmax(-1),
    "softmax in fp32": lambda s: F.softmax(s, dim=-1, dtype=torch.float32).to(s.dtype),
    "exp / sum": lambda s: (s - s.amax(-1, keepdim=True)).exp() / (s - s.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True),
    "off by one": lambda s: s.exp() / (1 + s.exp().sum(-1, keepdim=True)),
    "log_softmax": lambda s: s.log_softmax(-1).exp(),
    "logsumexp": lambda s: (s - s.logsumexp(-1, keepdim=True)).exp(),
    "dropout": lambda s: F.dropout(s.softmax(-1), 0.1),
    "sigmoid": lambda s: s.sigmoid(),
}
PROJECTIONS = ("fused", "three", "chunk", "einsum", "grouped")
PRODUCTS = ("matmul", "bmm", "einsum", "baddbmm", "keys by queries")


class Attention(nn.Module):
    def __init__(self, drawn: Drawn) -> None:
        super().__init__()
        self.drawn = drawn
        inner = WIDTH * HEADS
        kind = getattr(torch, drawn.dtype)
        if drawn.projection == "three":
            self.q, self.k, self.v = (nn.Linear(inner, inner, bias=False, dtype=kind) for _ in range(3))
        elif drawn.projection == "grouped":
            self.q, self.kv = nn.Linear(inner, inner, bias=False, dtype=kind), nn.Linear(inner, 2 * WIDTH, bias=False, dtype=kind)
        elif drawn.projection == "einsum":
            self.weight = nn.Parameter(torch.zeros(inner, 3, HEADS, WIDTH, dtype=kind))
        else:
            self.qkv = nn.Linear(inner, 3 * inner, bias=False, dtype=kind)
        if drawn.operator == "cached buffer":
            self.register_buffer("mask", self.drawn.keep(2049), persistent=False)
        if drawn.operator == "bias and mask":
            self.bias = nn.Embedding(64, HEADS, dtype=kind)

    def projected(self, x: torch.Tensor) -> Any:
        b, n, _ = x.shape
        name = self.drawn.projection
        if name == "three":
            return [one(x).view(b, n, HEADS, WIDTH).transpose(1, 2) for one in (self.q, self.k, self.v)]
        if name == "grouped":
            kv = self.kv(x).view(b, n, 2, 1, WIDTH).permute(2, 0, 3, 1, 4).repeat_interleave(HEADS, 2)
            return self.q(x).view(b, n, HEADS, WIDTH).transpose(1, 2), kv[0], kv[1]
        if name == "einsum":
            return torch.einsum("bnd,dkhw->kbhnw", x, self.weight)
        if name == "chunk":
            return [one.view(b, n, HEADS, WIDTH).transpose(1, 2) for one in self.qkv(x).chunk(3, -1)]
        return self.qkv(x).view(b, n, 3, HEADS, WIDTH).permute(2, 0, 3, 1, 4)

    def scores(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        b, h, n, w = q.shape
        name = self.drawn.product
        if name == "bmm":
            return torch.bmm(q.reshape(b * h, n, w), k.reshape(b * h, -1, w).transpose(1, 2)).view(b, h, n, -1) * w**-0.5
        if name == "einsum":
            return torch.einsum("bhid,bhjd->bhij", q, k) * w**-0.5
        if name == "baddbmm":
            zero = torch.zeros(1, 1, 1, dtype=q.dtype, device=q.device)
            flat = torch.baddbmm(zero, q.reshape(b * h, n, w), k.reshape(b * h, -1, w).transpose(1, 2), alpha=w**-0.5)
            return flat.view(b, h, n, -1)
        if name == "keys by queries":
            return (k @ (q * w**-0.5).transpose(-1, -2)).transpose(-1, -2)
        return q @ k.transpose(-1, -2) / w**0.5

    def values(self, weights: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        b, h, n, w = v.shape
        name = self.drawn.product
        if name == "bmm":
            return torch.bmm(weights.reshape(b * h, -1, n), v.reshape(b * h, n, w)).view(b, h, -1, w)
        if name == "einsum":
            return torch.einsum("bhij,bhjd->bhid", weights, v)
        if name == "keys by queries":
            return (v.transpose(-1, -2) @ weights.transpose(-1, -2)).transpose(-1, -2)
        return weights @ v

    def forward(self, x: torch.Tensor, attend: Any = None) -> torch.Tensor:
        q, k, v = self.projected(x)
        n, name = x.shape[1], self.drawn.operator
        softmax = SOFTMAX[self.drawn.softmax]
        if name == "flex":
            return self.flex(q, k, v)
        keep = self.mask[:, :n, :n] if name == "cached buffer" else attend if attend is not None else self.drawn.keep(n).to(x.device)
        if name == "sdpa of bools":
            return F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        if name == "sdpa of floats":
            return F.scaled_dot_product_attention(q, k, v, attn_mask=added(q, keep, float("-inf")))
        if name == "nn.MultiheadAttention":
            flat = [one.transpose(1, 2).flatten(2) for one in (q, k, v)]
            return self.of_pytorch(*flat, keep)
        if name == "queries in chunks":
            outs = []
            for begin in range(0, n, 16):
                s = self.scores(q[:, :, begin : begin + 16], k)
                outs.append(self.values(softmax(s.masked_fill(~keep[:, begin : begin + 16], float("-inf"))), v))
            return torch.cat(outs, 2)
        s = self.scores(q, k)
        if name == "bias and mask":
            i, j = positions(n, n, x.device)
            s = s + (self.bias((i - j).clamp(-31, 31) + 31).permute(2, 0, 1) + added(s, keep, float("-inf")))
        elif name == "slopes and mask":
            i, j = positions(n, n, x.device)
            slopes = torch.tensor([0.92, 0.25], dtype=s.dtype, device=x.device).view(-1, 1, 1)
            s = s - slopes * (i - j).abs() + added(s, keep, float("-inf"))
        elif name == "log(mask + 1e-10)":
            s = s + (keep.float() + 1e-10).log().to(s.dtype)
        elif name in SCORES:
            s = SCORES[name](s, keep)
        elif name not in WEIGHTS:
            s = s.masked_fill(~keep, float("-inf"))
        weights = softmax(s)
        return self.values(WEIGHTS[name](weights, keep) if name in WEIGHTS else weights, v)

    def of_pytorch(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        inner = WIDTH * HEADS
        one = torch.eye(inner, dtype=q.dtype, device=q.device)
        mask = ~keep[0] if keep.shape[0] == 1 else (~keep).repeat(q.shape[0], 1, 1)
        return F.multi_head_attention_forward(
            *(x.transpose(0, 1) for x in (q, k, v)), inner, HEADS, one.repeat(3, 1), None, None, None, False, 0.0, one, None,
            need_weights=self.drawn.product != "matmul", attn_mask=mask,
        )[0]

    def flex(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        from torch.nn.attention import flex_attention as flex

        n, mask = q.shape[-2], MASKS[self.drawn.mask]

        def rule(b: Any, h: Any, i: Any, j: Any) -> Any:
            found = mask(i, j, 0)
            if self.drawn.mask in BY_HEAD:
                found = torch.where(h == 0, found, mask(i, j, 1))
            return found ^ ((i == FLIPPED[0]) & (j == FLIPPED[1])) if self.drawn.flipped else found

        blocks = flex.create_block_mask(rule, None, HEADS, n, n, device=q.device)
        return flex.flex_attention(q, k, v, block_mask=blocks)


def inputs_of(drawn: Drawn) -> Callable[[int, int], Any]:
    kind = getattr(torch, drawn.dtype)

    def inputs(batch: int, length: int) -> Any:
        x = torch.zeros(batch, length, WIDTH * HEADS, dtype=kind)
        return {"x": x, "attend": drawn.keep(length)} if drawn.operator == "mask among the inputs" else {"x": x}

    return inputs


def draw(random_: random.Random) -> Drawn:
    """Parts that can be put together."""
    while True:
        groups = random_.choice((list(SCORES),) * 5 + (list(WEIGHTS), list(WHOLE), list(WHOLE)))
        drawn = Drawn(
            random_.choice(PROJECTIONS),
            random_.choice(PRODUCTS),
            random_.choice(list(MASKS)),
            random_.choice(groups),
            random_.choice(list(SOFTMAX)),
            random_.choice(("float32", "float32", "bfloat16", "float16")),
        )
        if drawn.operator in UNMASKED and drawn.softmax == "sigmoid":
            continue  # sigmoid(s - 23) is a weight too
        if drawn.operator == "flex" and drawn.dtype != "float32":
            continue
        if drawn.operator in WEIGHTS and drawn.softmax == "dropout":
            continue
        return drawn


def core_flops(drawn: Drawn, length: int) -> int:
    return 4 * WIDTH * drawn.pairs(length)


def outside(drawn: Drawn, length: int) -> int:
    """FLOPs of the projections."""
    inner = WIDTH * HEADS
    own = 2 * length * inner * (inner + 2 * WIDTH if drawn.projection == "grouped" else 3 * inner)
    return own + (2 * length * inner * 4 * inner if drawn.operator == "nn.MultiheadAttention" else 0)


@dataclass
class Outcome:
    drawn: Drawn
    kind: str  #: "right", "refused" or "wrong"
    text: str = ""


def outcome(drawn: Drawn) -> Outcome:
    """What from_torch makes of a module, against the enumeration of its mask."""
    try:
        cost = floptally.from_torch(Attention(drawn), inputs_of(drawn))
    except floptally.Error as problem:
        return Outcome(drawn, "refused", str(problem))
    more = (200,) if not any("by_length" in mask.name for mask in cost.masks) else (100,) if "1 to" in " ".join(cost.notes) else ()
    for length in (*LENGTHS, *more):
        try:
            seen = cost.flops(lengths=[length]).useful.forward
        except floptally.Error as problem:
            return Outcome(drawn, "refused", str(problem))
        expected = outside(drawn, length) + core_flops(drawn, length)
        if seen != expected:
            return Outcome(drawn, "wrong", f"{seen} for {expected} at {length}: {[mask.name for mask in cost.masks]}")
    return Outcome(drawn, "right")


def sample(seed: int, count: int, controls: int, tell: Callable[[str], object] = print, first: int = 0) -> Counter[str]:
    """Draws modules, tells the outcome of each, and returns how many of each outcome there are, and of each outcome of a
    control. Skips the modules before number `first` of the draw."""
    warnings.simplefilter("ignore")
    random_ = random.Random(seed)
    found: Counter[str] = Counter()
    for number in range(count):
        drawn = draw(random_)
        if number < first:
            continue
        outcomes = [outcome(drawn)]
        found[outcomes[0].kind] += 1
        if outcomes[0].kind == "right" and number < controls and drawn.operator not in UNMASKED:
            outcomes.append(outcome(replace(drawn, flipped=True)))
            found[f"control {outcomes[1].kind}"] += 1
        kinds = ", control ".join(one.kind for one in outcomes)
        tell(f"{number} {kinds}: {drawn} {outcomes[-1].text[:300]}".rstrip())
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--controls", type=int, default=400)
    parser.add_argument("--first", type=int, default=0, help="number of the first module that runs, after a run that ended early")
    options = parser.parse_args()
    begin = time.monotonic()
    print(f"seed {options.seed}", flush=True)
    tell = lambda text: print(text, flush=True)
    found = sample(options.seed, options.count, options.controls, tell, options.first)
    print(f"seed {options.seed}: {dict(found)} in {time.monotonic() - begin:.0f} s", flush=True)
    return int(found["wrong"] + found["control wrong"] > 0 or 20 * found["refused"] > options.count)


if __name__ == "__main__":
    sys.exit(main())
