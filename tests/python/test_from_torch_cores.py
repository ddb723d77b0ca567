# SPDX-License-Identifier: Apache-2.0
"""floptally.from_torch: attention cores whose pairs are no square of the sequence, and what fits no form."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import floptally
from floptally import Mask

nn = torch.nn
F = torch.nn.functional


class Core(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24, bias=False)

    def forward(self, x):
        return self.attend(*self.qkv(x).chunk(3, -1))


PROJECTION = 2 * 8 * 24
PAIR = 2 * 2 * 8  #: FLOPs of a pair: QK^T and PV


def forward(cost, *lengths, **batch):
    return cost.flops(lengths=list(lengths), **batch).useful.forward


def inputs(batch, length):
    return torch.zeros(batch, length, 8)


def test_causal_attention_of_a_model_with_a_fixed_context_length_counts_the_attended_pairs():
    class Fixed(Core):
        def attend(self, q, k, v):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    cost = floptally.from_torch(Fixed(), lambda batch: torch.zeros(batch, 32, 8))
    assert forward(cost, 1, 1) == 2 * (32 * PROJECTION + PAIR * 32 * 33 // 2)


def test_causal_attention_over_video_frames_counts_the_attended_pairs():
    class Frames(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24, bias=False)

        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = self.qkv(x).view(b, 8, n // 8, 24).transpose(1, 2).chunk(3, -1)
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    cost = floptally.from_torch(Frames(), lambda batch, length: torch.zeros(batch, 8 * length, 8))
    for length in (5, 57, 200):
        assert forward(cost, length) == 8 * length * PROJECTION + length * PAIR * 36


def test_attention_in_causal_blocks_counts_the_attended_pairs():
    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24, bias=False)

        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = self.qkv(x.view(b * n // 16, 16, 8)).chunk(3, -1)
            seen = torch.ones(16, 16, dtype=torch.bool).tril()
            return ((q @ k.mT).masked_fill(~seen, -torch.inf).softmax(-1) @ v).view(b, n, 8)

    cost = floptally.from_torch(Blocks(), inputs, lengths=[32, 64, 96, 128, 160])
    for length in (16, 160, 320):
        assert forward(cost, length) == length * PROJECTION + length // 16 * PAIR * 136
        every = cost.flops(lengths=[length], convention="torch_flop_counter_eager").useful.forward
        assert every == length * PROJECTION + length // 16 * PAIR * 256


def test_latent_queries_at_the_end_of_a_sequence_count_the_keys_that_those_queries_attend():
    class Latents(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.kv = nn.Linear(8, 8, bias=False), nn.Linear(8, 16, bias=False)

        def forward(self, x):
            n = x.shape[1]
            i, j = torch.arange(n - 16, n)[:, None], torch.arange(n)[None]
            k, v = self.kv(x).chunk(2, -1)
            return F.scaled_dot_product_attention(self.q(x[:, -16:]), k, v, attn_mask=j <= i)

    cost = floptally.from_torch(Latents(), inputs)
    for length in (57, 100):
        assert forward(cost, length) == 128 * 16 + 256 * length + PAIR * sum(range(length - 15, length + 1))
    with pytest.raises(floptally.Error, match="^lengths: length 20 cannot be counted by .*which was made from lengths of at least 32"):
        forward(cost, 20)


class Cross(nn.Module):
    def __init__(self, rule, flex=False):
        super().__init__()
        self.q, self.kv, self.rule, self.flex = nn.Linear(8, 8, bias=False), nn.Linear(8, 16, bias=False), rule, flex

    def forward(self, x, y):
        q, (k, v) = self.q(x), self.kv(y).chunk(2, -1)
        if self.flex:
            from torch.nn.attention import flex_attention as flex

            q, k, v = q[:, None], k[:, None], v[:, None]
            rule = lambda b, h, i, j: self.rule(i, j)
            blocks = flex.create_block_mask(rule, None, None, q.shape[2], k.shape[2], device=q.device)
            return flex.flex_attention(q, k, v, block_mask=blocks)
        i, j = torch.arange(q.shape[1])[:, None], torch.arange(k.shape[1])[None]
        return (q @ k.mT).masked_fill(~self.rule(i, j), -torch.inf).softmax(-1) @ v


def both(batch, length, keys):
    return torch.zeros(batch, length, 8), torch.zeros(batch, keys, 8)


@pytest.mark.parametrize(("wait", "flex"), [(0, False), (3, False), (0, True)])
def test_cross_attention_with_a_delayed_causal_mask_counts_the_attended_pairs(wait, flex):
    cost = floptally.from_torch(Cross(lambda i, j: j <= i + wait, flex), both)
    for length, keys in ((32, 40), (57, 61), (48, 56)):
        pairs = sum(min(i + wait + 1, keys) for i in range(length))
        assert forward(cost, length, encoder_lengths=[keys]) == 128 * length + 256 * keys + PAIR * pairs


@pytest.mark.parametrize("of", [lambda n: torch.arange(n) < n - 1, lambda n: torch.arange(n) >= 3 * torch.arange(3)[:, None]])
def test_learned_queries_count_the_keys_that_a_mask_lets_through(of):
    class Latents(nn.Module):
        def __init__(self):
            super().__init__()
            self.queries, self.kv = nn.Parameter(torch.zeros(3, 8)), nn.Linear(8, 16)

        def forward(self, x):
            k, v = self.kv(x).chunk(2, -1)
            scores = self.queries.expand(len(x), 3, 8) @ k.mT
            return scores.masked_fill(~of(x.shape[1]), -torch.inf).softmax(-1) @ v

    cost = floptally.from_torch(Latents(), inputs)
    for length in (40, 200):
        own = 2 * 8 * 16 * length
        assert forward(cost, length) == own + PAIR * int(of(length).expand(3, length).sum())
        every = cost.flops(lengths=[length], convention="torch_flop_counter_eager").useful.forward
        assert every == own + PAIR * 3 * length


def test_lengths_passed_by_the_caller_are_also_used_as_key_lengths_of_cross_attention():
    lengths = [16, 24, 40, 64, 100]
    seen = []

    def recorded(batch, length, keys):
        seen.append((length, keys))
        return both(batch, length, keys)

    cost = floptally.from_torch(Cross(lambda i, j: (i >= 0) & (j >= 0)), recorded, lengths=lengths)
    assert {n for size in seen for n in size if n <= max(lengths)} == {*lengths}
    assert cost.masks == [Mask.cross_attention()] or cost.masks == []


def test_an_attention_mask_among_the_example_inputs_keeps_its_values():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def masked(batch, length):
        return {"src": torch.zeros(batch, length, 16), "mask": nn.Transformer.generate_square_subsequent_mask(length)}

    cost = floptally.from_torch(nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), masked)
    assert cost.masks == [Mask.causal()]
    assert "masks among the inputs count as they are passed: mask" in cost.notes


def test_a_mask_of_fixed_size_in_the_example_inputs_is_an_error_that_suggests_a_callable():
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    mask = nn.Transformer.generate_square_subsequent_mask(9)
    with pytest.raises(floptally.Error, match="^example_inputs: has a mask of 9 x 9, .*: pass a callable"):
        floptally.from_torch(layer, {"src": torch.zeros(2, 9, 16), "src_mask": mask})


def test_a_causal_bias_object_of_pytorch_is_read_as_a_mask():
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    class Biased(Core):
        def attend(self, q, k, v):
            k, v = (F.pad(one, (0, 0, 5, 0)) for one in (k, v))
            return F.scaled_dot_product_attention(q, k, v, attn_mask=self.of(q.shape[1], k.shape[1]))

    for of, pairs in ((causal_lower_right, 57 * 58 // 2 + 5 * 57), (causal_upper_left, 57 * 58 // 2)):
        model = Biased()
        model.of = of
        cost = floptally.from_torch(model, inputs)
        assert forward(cost, 57) == 57 * PROJECTION + PAIR * pairs


@pytest.mark.parametrize("after", [False, True])
def test_attention_that_mixes_heads_before_the_mask_counts_the_attended_pairs(after):
    class MixedHeads(nn.Module):
        def __init__(self):
            super().__init__()
            self.project, self.mix = nn.Linear(8, 24), nn.Parameter(torch.eye(2))

        def forward(self, x):
            b, n, _ = x.shape
            q, k, v = self.project(x).view(b, n, 3, 2, 4).permute(2, 0, 3, 1, 4)
            scores = torch.einsum("bhij,hk->bkij", q @ k.mT, self.mix)
            causal = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
            weights = scores.masked_fill(~causal, float("-inf")).softmax(-1)
            return (torch.einsum("bhij,hk->bkij", weights, self.mix) if after else weights) @ v

    cost = floptally.from_torch(MixedHeads(), lambda batch, length: torch.zeros(batch, length, 8))
    pairs, mixes = 57 * 58 // 2, 2 if after else 1
    seen = cost.flops(lengths=[57]).useful.forward
    assert seen == 2 * 57 * 8 * 24 + mixes * 2 * 57 * 57 * 4 + 2 * 2 * 8 * pairs


def test_full_attention_of_a_fixed_size_is_counted_from_a_small_batch_if_a_larger_batch_is_too_large_to_compute(monkeypatch):
    class PooledKeys(nn.Module):
        def __init__(self):
            super().__init__()
            self.project = nn.Linear(8, 8)

        def forward(self, x):
            x = self.project(x)
            keys = x[:, ::4]
            return (x @ keys.transpose(-1, -2)).softmax(-1) @ keys

    monkeypatch.setattr(floptally._from_torch, "MOST_DENSE", 3 * 64 * 16)  # scores of a batch of 3
    cost = floptally.from_torch(PooledKeys(), lambda batch: torch.zeros(batch, 64, 8))
    seen = cost.flops(lengths=[1] * 5).useful
    assert seen.forward == 5 * (2 * 64 * 8 * 8 + 2 * 2 * 64 * 16 * 8)


def test_attention_over_pooled_keys_is_counted_at_lengths_that_the_pool_size_divides():
    class Pooled(Core):
        def attend(self, q, k, v):
            k, v = (F.avg_pool1d(one.mT, 4).mT for one in (k, v))
            return (q @ k.mT).softmax(-1) @ v

    cost = floptally.from_torch(Pooled(), inputs, lengths=[16, 32, 48, 64, 80])
    assert forward(cost, 64) == 64 * PROJECTION + PAIR * 64 * 16


def test_flops_that_do_not_fit_any_formula_of_the_length_are_counted_by_a_table_of_lengths():
    cost = floptally.from_torch(
        nn.Conv2d(3, 4, 3, 2, 1, bias=False), lambda batch, side: torch.zeros(batch, 3, side, side), lengths=[16, 33, 48, 50, 81]
    )
    assert forward(cost, 33) == 2 * 27 * 4 * 17 * 17
    assert any("counts by a table of lengths 16, 33, 48, 50, 81" in note for note in cost.notes)
    with pytest.raises(floptally.Error, match="^lengths: length 34 was not counted by .* which has lengths 16, 33, 48, 50, 81"):
        forward(cost, 34)


@pytest.mark.parametrize("example", [lambda batch: torch.zeros(batch, 8), inputs])
def test_a_model_that_branches_on_the_batch_size_is_an_error(example):
    class Branch(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            return self.linear(self.linear(x)) if x.shape[0] >= 4 else self.linear(x)

    with pytest.raises(floptally.Error, match="^linear: addmm counts .* 4 samples"):
        floptally.from_torch(Branch(), example)


def test_a_mask_that_leaves_small_attention_weights_gives_a_note():
    class Leaky(Core):
        def attend(self, q, k, v):
            mask = torch.ones(q.shape[1], q.shape[1]).tril()
            return (q @ k.mT + (mask + 1e-10).log()).softmax(-1) @ v

    cost = floptally.from_torch(Leaky(), inputs)
    assert cost.masks == [Mask.bidirectional()]
    assert any("leaves small weights" in note for note in cost.notes)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("slope", [0.0625, 0.5, 0.92])
def test_alibi_slopes_in_low_precision_are_not_read_as_a_mask(kind, slope):
    class Slope(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24, bias=False, dtype=kind)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            i, j = torch.arange(x.shape[1])[:, None], torch.arange(x.shape[1])[None]
            scores = q @ k.mT - (slope * (i - j)).to(kind)
            return scores.masked_fill(j > i, torch.finfo(kind).min).softmax(-1) @ v

    cost = floptally.from_torch(Slope(), lambda batch, length: torch.zeros(batch, length, 8, dtype=kind))
    assert cost.masks == [Mask.causal()]


@pytest.mark.parametrize("of", [torch.empty_like, torch.zeros_like])
def test_attention_scores_written_into_slices_of_another_tensor_keep_their_mask(of):
    class Written(Core):
        def attend(self, q, k, v):
            scores = q @ k.mT
            out = of(scores)
            for begin in range(0, q.shape[1], 16):
                j = torch.arange(k.shape[1])
                i = torch.arange(begin, min(begin + 16, q.shape[1]))[:, None]
                out[:, begin : begin + 16] = scores[:, begin : begin + 16].masked_fill(j > i, -torch.inf)
            return out.softmax(-1) @ v

    assert floptally.from_torch(Written(), inputs).masks == [Mask.causal()]


class Added(nn.Module):
    """Attention without a batch axis: the mask is what the product of queries and keys is added to."""

    def __init__(self, scores):
        super().__init__()
        self.qkv, self.scores = nn.Linear(8, 24, bias=False), scores

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        mask = torch.full((x.shape[1], x.shape[1]), -torch.inf).triu(1)
        return self.scores(mask.expand(len(x), -1, -1).clone(), q, k.mT).softmax(-1) @ v


@pytest.mark.parametrize(
    "scores",
    [
        torch.baddbmm,
        lambda mask, q, k: mask.baddbmm_(q, k),
        lambda mask, q, k: torch.stack([torch.addmm(*one) for one in zip(mask, q, k)]),
    ],
    ids=["baddbmm", "baddbmm_", "addmm"],
)
def test_attention_scores_added_to_a_mask_are_counted_like_a_mask_added_to_attention_scores(scores):
    assert floptally.from_torch(Added(scores), inputs).masks == [Mask.causal()]


def test_a_model_of_many_operators_gives_the_same_table_of_lengths_if_only_some_lengths_are_run(monkeypatch):
    from floptally import _from_torch

    class Holes(Core):
        def attend(self, q, k, v):
            i, j = torch.arange(q.shape[1])[:, None], torch.arange(k.shape[1])[None]
            return (q @ k.mT).masked_fill(i % 3 < j % 3, -torch.inf).softmax(-1) @ v

    whole = floptally.from_torch(Holes(), inputs)
    monkeypatch.setattr(_from_torch, "MANY_OPERATORS", 1)
    fewer = floptally.from_torch(Holes(), inputs)
    assert fewer.entries == whole.entries
    assert all(f"2 x {length}" in fewer.notes[0] for length in (32, 48, 57, 80, 131))


class Indexed(nn.Module):
    """Attention to the keys that an indexer chooses: those with the best scores, or with scores above 0."""

    def __init__(self, chooses, causal, fused):
        super().__init__()
        self.qkv, self.index = nn.Linear(8, 24, bias=False), nn.Linear(8, 8, bias=False)
        self.chooses, self.causal, self.fused = chooses, causal, fused

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        i, j = torch.arange(x.shape[1])[:, None], torch.arange(x.shape[1])[None]
        seen = j <= i if self.causal else (i >= 0) & (j >= 0)
        a, b = self.index(x).chunk(2, -1)
        scores = (a @ b.mT).masked_fill(~seen, -torch.inf)
        best = torch.zeros(scores.shape, dtype=torch.bool)
        chosen = best.scatter(-1, scores.topk(4).indices, True) if self.chooses == "the best" else scores > 0
        keep = chosen & seen
        if self.fused:
            return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], attn_mask=keep[:, None])
        return (q @ k.mT).masked_fill(~keep, -torch.inf).softmax(-1) @ v


@pytest.mark.one_in(3)
@pytest.mark.parametrize("chooses", ["the best", "scores above 0"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("fused", [False, True])
def test_masks_passed_for_attention_do_not_limit_the_matmul_of_the_indexer_that_computes_the_mask(chooses, causal, fused):
    cost = floptally.from_torch(Indexed(chooses, causal, fused), inputs, masks=Mask.top_k(4) if causal else "sliding_window(5)")
    for length in (32, 57):
        core = sum(min(i + 1, 4 if causal else 5) for i in range(length))
        # An indexer that chooses the best of what a mask left scores these pairs. One with a threshold scores all.
        indexer = length * (length + 1) // 2 if causal and chooses == "the best" else length * length
        assert forward(cost, length) == length * 2 * 8 * 32 + 2 * 4 * indexer + PAIR * core
        every = cost.flops(lengths=[length], convention="torch_flop_counter" if fused else "torch_flop_counter_eager").useful.forward
        assert every == length * 2 * 8 * 32 + (2 * 4 + PAIR) * length * length


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fill", [-100.0, -1000.0])
@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("how", ["filled", "added", "fused"])
def test_pairs_whose_scores_are_filled_with_minus_100_are_counted_as_masked(fill, kind, how):
    class Filled(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(8, 24, bias=False, dtype=kind)

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            i, j = torch.arange(x.shape[1])[:, None], torch.arange(x.shape[1])[None]
            removed = (j > i) | (i - j >= 7)
            if how == "filled":
                return (q @ k.mT).masked_fill(removed, fill).softmax(-1) @ v
            bias = torch.zeros(removed.shape, dtype=kind).masked_fill(removed, fill)
            if how == "added":
                return (q @ k.mT + bias).softmax(-1) @ v
            return F.scaled_dot_product_attention(q[:, None], k[:, None], v[:, None], attn_mask=bias)

    cost = floptally.from_torch(Filled(), lambda batch, length: torch.zeros(batch, length, 8, dtype=kind))
    assert cost.masks == [Mask.sliding_window(7)]


def test_pairs_whose_scores_are_filled_with_minus_50_keep_a_small_weight_and_are_not_counted_as_masked():
    class Filled(Core):
        def attend(self, q, k, v):
            seen = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool).tril()
            return (q @ k.mT).masked_fill(~seen, -50.0).softmax(-1) @ v

    cost = floptally.from_torch(Filled(), inputs)
    assert cost.masks == [Mask.bidirectional()]
    assert any("leaves small weights" in note for note in cost.notes)


def test_shifted_windows_that_swin_masks_by_minus_100_count_the_attended_pairs():
    """Windows of 4 tokens, shifted by 2: the last one holds tokens of both ends, which do not attend each other."""

    class Shifted(Core):
        def attend(self, q, k, v):
            n = q.shape[1]
            q, k, v = (torch.roll(one, -2, 1).view(-1, n // 4, 4, 8) for one in (q, k, v))
            side = (torch.arange(n) < n - 2).view(1, n // 4, 4)
            bias = torch.zeros(1, n // 4, 4, 4).masked_fill(side[..., :, None] != side[..., None, :], -100.0)
            return torch.roll(((q @ k.mT + bias).softmax(-1) @ v).flatten(1, 2), 2, 1)

    cost = floptally.from_torch(Shifted(), inputs, lengths=[16, 32, 48, 20, 64])
    for length in (16, 40, 64):
        assert forward(cost, length) == length * PROJECTION + PAIR * (length // 4 * 16 - 8)


@pytest.mark.parametrize("fused", [False, True])
def test_learned_tokens_in_front_of_a_causal_sequence_count_the_attended_pairs(fused):
    class Prompted(nn.Module):
        def __init__(self):
            super().__init__()
            self.prompt, self.qkv = nn.Parameter(torch.zeros(3, 8)), nn.Linear(8, 24, bias=False)

        def forward(self, x):
            q, k, v = self.qkv(torch.cat((self.prompt.expand(len(x), 3, 8), x), 1)).chunk(3, -1)
            if fused:
                return F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return (q @ k.mT).masked_fill(~torch.ones(q.shape[1], q.shape[1]).tril().bool(), -torch.inf).softmax(-1) @ v

    cost = floptally.from_torch(Prompted(), inputs)
    for length in (1, 57, 3000):
        whole = length + 3
        assert forward(cost, length) == whole * PROJECTION + PAIR * whole * (whole + 1) // 2
        every = cost.flops(lengths=[length], convention="torch_flop_counter" if fused else "torch_flop_counter_eager").useful.forward
        assert every == whole * PROJECTION + PAIR * whole * whole


@pytest.mark.parametrize("factor", [10.0, 20.0])
def test_attention_scores_multiplied_by_a_large_factor_are_not_read_as_a_mask(factor):
    class Normalized(Core):
        def attend(self, q, k, v):
            seen = torch.ones(q.shape[1], q.shape[1], dtype=torch.bool).tril()
            scores = factor * (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT)
            return scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v

    assert floptally.from_torch(Normalized(), inputs).masks == [Mask.causal()]


@pytest.mark.parametrize("threshold", [0.0, 0.7])
def test_a_mask_computed_by_a_threshold_on_attention_scores_is_an_error_because_it_depends_on_data(threshold):
    class Above(Core):
        def attend(self, q, k, v):
            scores = q @ k.mT
            return scores.masked_fill(scores < threshold, -torch.inf).softmax(-1) @ v

    with pytest.raises(floptally.Error, match="has an attention mask whose values .* pass masks="):
        floptally.from_torch(Above(), inputs)


def test_a_mask_that_changes_at_long_lengths_is_counted_only_at_the_lengths_that_ran():
    class Changing(Core):
        def attend(self, q, k, v):
            n = q.shape[1]
            seen = torch.ones(n, n, dtype=torch.bool)
            return (q @ k.mT).masked_fill(~(seen.tril() if n < 1000 else seen), -torch.inf).softmax(-1) @ v

    cost = floptally.from_torch(Changing(), inputs)
    for length, pairs in ((57, 57 * 58 // 2), (131, 131 * 132 // 2), (2047, 2047**2)):
        assert forward(cost, length) == length * PROJECTION + PAIR * pairs
    with pytest.raises(floptally.Error, match="^lengths: length 1500 was not counted by"):
        forward(cost, 1500)


def test_a_vision_transformer_is_counted_by_a_table_of_the_image_sides_that_ran():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch, self.qkv = nn.Conv2d(3, 8, 16, 16, bias=False), nn.Linear(8, 24, bias=False)

        def forward(self, x):
            q, k, v = self.qkv(self.patch(x).flatten(2).mT).chunk(3, -1)
            return F.scaled_dot_product_attention(q, k, v)

    lengths = [32, 48, 64, 80, 112]
    cost = floptally.from_torch(Patches(), lambda batch, side: torch.zeros(batch, 3, side, side), lengths=lengths)
    for side in lengths:
        patches = (side // 16) ** 2
        assert forward(cost, side) == patches * (2 * 3 * 16 * 16 * 8 + PROJECTION) + PAIR * patches**2


def test_if_length_and_width_of_an_example_input_are_equal_then_only_the_length_is_varied():
    cost = floptally.from_torch(nn.Linear(8, 24, bias=False), {"input": torch.zeros(2, 8, 8)})
    assert forward(cost, 57, 5) == 62 * PROJECTION


def test_if_an_example_input_has_channels_before_the_length_then_its_last_axis_is_varied():
    cost = floptally.from_torch(nn.Conv1d(8, 24, 3, padding=1, bias=False), {"input": torch.zeros(2, 8, 50)})
    assert forward(cost, 57, 5) == 62 * 3 * PROJECTION
    with pytest.raises(floptally.Error, match="cannot run on fake tensors with 2 samples, length 32: .*8"):
        floptally.from_torch(nn.Linear(9, 4), {"input": torch.zeros(2, 50, 8)})
