# SPDX-License-Identifier: Apache-2.0
"""Counts a small model with DeepSeek sparse attention whose indexer trains, under PyTorch's FlopCounterMode.

    python generate_indexer.py            # writes indexer.json
    python generate_indexer.py --check    # writes nothing, compares with what is there

Without PyTorch it says so and exits with status 77. Two layers of attention over the best keys: the first has an
indexer, the second takes its choice. The indexer's inputs are detached, its loss is the divergence of its scores from
the attention's probabilities, summed over heads (arXiv:2512.02556, section 2.1): over the chosen keys or over all. Every
product is an operator of its own over all keys under a mask, so that FlopCounterMode counts squares.
"""

import json
import pathlib
import sys

try:
    import torch
    from torch import nn
    from torch.nn import functional
    from torch.utils.flop_counter import FlopCounterMode
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

HERE = pathlib.Path(__file__).parent
HIDDEN, HEADS, DIM, INDEX_HEADS, INDEX_DIM, BEST, VOCAB, LENGTH = 12, 4, 6, 3, 5, 4, 50, 11


class Indexer(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq_b = nn.Linear(HIDDEN, INDEX_HEADS * INDEX_DIM, bias=False)
        self.wk = nn.Linear(HIDDEN, INDEX_DIM, bias=False)
        self.weights_proj = nn.Linear(HIDDEN, INDEX_HEADS, bias=False)

    def forward(self, x):
        x = x.detach()
        q = self.wq_b(x).view(LENGTH, INDEX_HEADS, INDEX_DIM).transpose(0, 1)
        scores = torch.relu(torch.matmul(q, self.wk(x).transpose(0, 1).expand(INDEX_HEADS, INDEX_DIM, LENGTH)))
        weights = self.weights_proj(x).unsqueeze(1)  # [L, 1, H] x [L, H, L]
        return torch.bmm(weights, scores.transpose(0, 1)).squeeze(1)


class Attention(nn.Module):
    def __init__(self, has_indexer):
        super().__init__()
        self.q_proj = nn.Linear(HIDDEN, HEADS * DIM, bias=False)
        self.k_proj = nn.Linear(HIDDEN, HEADS * DIM, bias=False)
        self.v_proj = nn.Linear(HIDDEN, HEADS * DIM, bias=False)
        self.o_proj = nn.Linear(HEADS * DIM, HIDDEN, bias=False)
        self.indexer = Indexer() if has_indexer else None

    def forward(self, x, chosen, plan):
        q, k, v = (one(x).view(LENGTH, HEADS, DIM).transpose(0, 1) for one in (self.q_proj, self.k_proj, self.v_proj))
        causal = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()
        loss = 0
        if self.indexer is not None:
            with torch.set_grad_enabled(plan != "frozen"):
                scores = self.indexer(x).masked_fill(~causal, float("-inf"))
            best = scores.topk(BEST, dim=-1).indices
            chosen = torch.zeros(LENGTH, LENGTH, dtype=torch.bool).scatter(1, best, True) & causal
            if plan != "frozen":
                seen = chosen if plan == "sparse_loss" else causal
                with torch.no_grad():
                    teacher = torch.matmul(q, k.transpose(1, 2)).masked_fill(~seen, float("-inf")).softmax(-1).sum(0)
                    teacher = teacher / teacher.sum(-1, keepdim=True)
                learned = scores.masked_fill(~seen, float("-inf")).log_softmax(-1).masked_fill(~seen, 0)
                loss = functional.kl_div(learned, teacher, reduction="sum")
        seen = causal if plan == "warm_up" else chosen
        weights = torch.matmul(q, k.transpose(1, 2)).masked_fill(~seen, float("-inf")).softmax(-1)
        out = torch.matmul(weights, v).transpose(0, 1).reshape(LENGTH, HEADS * DIM)
        return x + self.o_proj(out), chosen, loss


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, HIDDEN)
        self.layers = nn.ModuleList([Attention(True), Attention(False)])
        self.lm_head = nn.Linear(HIDDEN, VOCAB, bias=False)

    def forward(self, ids, plan):
        x, chosen, loss = self.embedding(ids), None, 0
        for layer in self.layers:
            x, chosen, more = layer(x, chosen, plan)
            loss = loss + more
        return functional.cross_entropy(self.lm_head(x), ids) + loss


CASES = {"frozen": ("frozen", ""), "sparse": ("sparse_loss", ""), "dense": ("dense_loss", ""),
         "warm_up": ("warm_up", "all but the indexer"), "one_weight": ("sparse_loss", "wk"),
         "keys_frozen_in_warm_up": ("warm_up", "all but wq_b")}


def frozen(name, what):
    if what == "all but the indexer":
        return "indexer" not in name
    if what == "all but wq_b":
        return "wq_b" not in name
    return what != "" and what in name


def count(plan, what):
    torch.manual_seed(0)
    model = Model()
    for name, weight in model.named_parameters():
        weight.requires_grad_(not frozen(name, what))
    ids = torch.randint(VOCAB, (LENGTH,))
    with FlopCounterMode(display=False) as forward:
        loss = model(ids, plan)
    with FlopCounterMode(display=False) as backward:
        loss.backward()
    return {"plan": plan, "frozen": what, "forward": forward.get_total_flops(), "backward": backward.get_total_flops()}


def main():
    cases = {name: count(*case) for name, case in CASES.items()}
    text = json.dumps({"torch": torch.__version__.split("+")[0],
                       "model": {"hidden_size": HIDDEN, "num_heads": HEADS, "head_dim": DIM,
                                 "index_n_heads": INDEX_HEADS, "index_head_dim": INDEX_DIM, "index_topk": BEST,
                                 "vocab_size": VOCAB, "length": LENGTH},
                       "cases": cases}, indent=1) + "\n"
    path = HERE / "indexer.json"
    if "--check" in sys.argv[1:]:
        known = json.loads(path.read_text())
        sys.exit(0 if known["cases"] == cases else "indexer.json is not what this PyTorch counts")
    path.write_text(text)


if __name__ == "__main__":
    main()
