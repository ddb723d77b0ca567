# SPDX-License-Identifier: Apache-2.0
"""floptally.from_torch: what attention cores attend, against enumerations of the functions that made their masks."""

from __future__ import annotations


import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import floptally
from floptally import Mask

nn = torch.nn
F = torch.nn.functional
WIDTH = 8


class Core(nn.Module):
    """Queries, keys and values of one matrix, and a core of which `attend` says how it is made."""

    def __init__(self, attend=None, heads=1):
        super().__init__()
        self.attend, self.heads = attend or self.attend, heads
        self.qkv = nn.Linear(WIDTH * heads, 3 * WIDTH * heads, bias=False)

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, WIDTH).permute(2, 0, 3, 1, 4)
        return self.attend(q, k, v)


def counted(attend, heads=1, **options):
    return floptally.from_torch(
        Core(attend, heads), lambda batch, length: torch.zeros(batch, length, WIDTH * heads), **options
    )


def positions(length):
    return torch.arange(length)[:, None], torch.arange(length)[None]


# What is attended, as functions of a query and a key, and what a cost must call it.

RULES = {"causal": (lambda i, j: j <= i, Mask.causal())}
for size in (5, 100, 700, 4096, 30_000, 100_000):
    RULES[f"window {size}"] = (lambda i, j, w=size: (j <= i) & (i - j < w), Mask.sliding_window(size))
for size in (9, 1500, 20_000):
    RULES[f"chunks {size}"] = (lambda i, j, c=size: (j <= i) & (i // c == j // c), Mask.chunked(size))
for size in (6, 3000):
    RULES[f"both sides {size}"] = (lambda i, j, w=size: (i - j <= w) & (j - i <= 2 * w), Mask.window(size, 2 * size))
    RULES[f"prefix {size}"] = (lambda i, j, p=size: (j <= i) | (j < p), Mask.prefix_lm(size))


# How a model makes them.


def of_bools(rule):
    return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=rule(*positions(q.shape[-2])))


def filled(rule):
    def attend(q, k, v):
        scores = q @ k.transpose(-1, -2)
        return scores.masked_fill(~rule(*positions(q.shape[-2])), float("-inf")).softmax(-1) @ v

    return attend


def added(rule):
    def attend(q, k, v):
        n = q.shape[-2]
        mask = torch.zeros(n, n).masked_fill_(rule(*positions(n)).logical_not(), torch.finfo(torch.float32).min)
        return (q @ k.transpose(-1, -2) + mask[None, None]).softmax(-1) @ v

    return attend


def chosen(rule):
    def attend(q, k, v):
        scores = q @ k.transpose(-1, -2)
        least = torch.full_like(scores, -1e9)
        return torch.where(rule(*positions(q.shape[-2])), scores, least).softmax(-1) @ v

    return attend


def decayed(rule):
    """Decays under a mask, without a softmax, as retention has them."""

    def attend(q, k, v):
        i, j = positions(q.shape[-2])
        return (q @ k.transpose(-1, -2) * (0.97 ** (i - j).abs() * rule(i, j))) @ v

    return attend


def biased(rule):
    """ALiBi beside a mask."""

    def attend(q, k, v):
        i, j = positions(q.shape[-2])
        bias = torch.where(rule(i, j), -0.5 * (i - j).abs(), float("-inf"))
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    return attend


def of_flex(rule):
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    def attend(q, k, v):
        n = q.shape[-2]
        blocks = flex.create_block_mask(lambda b, h, i, j: rule(i, j), None, None, n, n, device=q.device)
        return flex.flex_attention(q, k, v, block_mask=blocks)

    return attend


ALL = list(RULES)
#: Decays leave nothing where a wide window begins, so that there such a core has none that matters.
IMPLEMENTATIONS = {one: ALL for one in (of_bools, filled, added, chosen, biased, of_flex)}
IMPLEMENTATIONS[decayed] = [one for one in ALL if one == "causal" or int(one.split()[-1]) <= 1500]
CASES = [(rule, made) for made, rules in IMPLEMENTATIONS.items() for rule in rules]


def rows_of(rule, mask):
    """Pairs of queries, enumerated at lengths around those where a mask changes."""
    numbers = [1, 2, 300, *(one for one in map(int, "".join(c if c.isdigit() else " " for c in mask.name).split()))]
    for length in {n + d for n in numbers for d in (-1, 0, 1, 57)} | {2 * max(numbers) + 3}:
        if 0 < length <= 3200:
            yield length, int(rule(*positions(length)).expand(length, length).sum())


def rows_at_the_end(rule, mask):
    """Of rules that see no later key, a query's row is the same at any length: what a length adds to one before it."""
    numbers = [int(one) for one in "".join(c if c.isdigit() else " " for c in mask.name).split()] or [1000]
    for end in {max(numbers) + 40, 2 * max(numbers) + 11, 150_000}:
        begin = end - 3
        i, j = torch.arange(begin, end)[:, None], torch.arange(end)[None]
        yield begin, end, int((rule(i, j) & (j <= i)).sum())


def test_more_than_forty_models_with_attention_masks_are_tested():
    assert len(CASES) > 40


@pytest.mark.one_in(6)
@pytest.mark.parametrize(("rule", "made"), CASES, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_a_mask_recognised_at_a_few_lengths_equals_its_mask_function_at_any_length(rule, made):
    function, mask = RULES[rule]
    cost = counted(made(function))
    assert cost.masks == [mask]
    for length, pairs in rows_of(function, mask):
        assert cost.masks[0].pairs(length) == pairs
    if rule.startswith(("causal", "window", "chunks")):
        for begin, end, pairs in rows_at_the_end(function, mask):
            assert cost.masks[0].pairs(end) - cost.masks[0].pairs(begin) == pairs


@pytest.mark.parametrize("window", [(9, 0), (4095, 0), (100_000, 0), (500_000, 0), (2000, 3000)])
def test_a_sliding_window_has_the_size_that_is_passed_to_the_kernel(window):
    varlen = pytest.importorskip("torch.nn.attention.varlen")

    def attend(q, k, v):
        batch, _, length, _ = q.shape
        ends = torch.arange(batch + 1, dtype=torch.int32) * length
        q, k, v = (one.permute(0, 2, 1, 3).flatten(0, 1) for one in (q, k, v))
        return varlen.varlen_attn(q, k, v, ends, ends, length, length, window_size=window)

    cost = counted(attend)
    assert cost.masks == [Mask.window(*window) if window[1] else Mask.sliding_window(window[0] + 1)]
    left, right = window
    for length in (20, 2047):
        i, j = positions(length)
        assert cost.masks[0].pairs(length) == int(((i - j <= left) & (j - i <= right)).sum())


def test_a_sliding_window_wider_than_every_input_is_read_from_the_mask_function():
    cost = counted(of_flex(lambda i, j: (j <= i) & (i - j < 700_000)))
    assert cost.masks == [Mask.sliding_window(700_000)]


@torch.library.custom_op("floptally_flash::forward", mutates_args=())
def flash(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, window_size_left: int, window_size_right: int
) -> torch.Tensor:
    return v.clone()


flash.register_fake(lambda q, k, v, causal, window_size_left, window_size_right: torch.empty_like(v))


@torch.library.custom_op("floptally_flash::backward", mutates_args=())
def flash_backward(gradient: torch.Tensor, q: torch.Tensor) -> torch.Tensor:
    return gradient.clone()


flash_backward.register_fake(lambda gradient, q: torch.empty_like(q))


def of_flash(context, gradient):
    result = flash_backward(gradient, *context.saved_tensors)
    return result, result.clone(), result.clone(), None, None, None


flash.register_autograd(of_flash, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))


@pytest.mark.parametrize(
    ("causal", "window", "mask"),
    [
        (True, (4095, 0), Mask.sliding_window(4096)),
        (True, (-1, -1), Mask.causal()),
        (False, (-1, -1), Mask.bidirectional()),
        (False, (50, 20_000), Mask.window(50, 20_000)),
    ],
)
def test_the_sliding_window_of_a_third_party_kernel_is_read_from_arguments_of_known_names(causal, window, mask):
    def attend(q, k, v):
        return flash(*(one.transpose(1, 2) for one in (q, k, v)), causal, *window)

    def pairs(q, *_, **__):
        return 4 * q[0] * q[2] * q[1] ** 2 * q[3]

    formulas = {
        torch.ops.floptally_flash.forward: pairs,
        torch.ops.floptally_flash.backward: lambda gradient, q, **_: 5 * pairs(q) // 2,
    }
    assert counted(attend, formulas=formulas).masks == [mask]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("decay", [0.3, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("both_sides", [False, True])
def test_a_decay_of_attention_scores_with_distance_is_not_read_as_a_mask(decay, both_sides):
    def attend(q, k, v):
        i, j = positions(q.shape[-2])
        powers = decay ** (i - j).abs()
        powers = powers if both_sides else torch.where(j <= i, powers, 0.0)
        return (q @ k.transpose(-1, -2) * powers) @ v

    assert counted(attend).masks == [Mask.bidirectional() if both_sides else Mask.causal()]


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
def test_a_decay_of_attention_scores_in_low_precision_is_not_read_as_a_mask(kind):
    def attend(q, k, v):
        i, j = positions(q.shape[-2])
        return (q @ k.transpose(-1, -2) * torch.tril(0.8 ** (i - j)).to(kind)) @ v

    assert counted(attend).masks == [Mask.causal()]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("slope", [0.01, 1.0, 8.0, 300.0, 2000.0, 1e5])
@pytest.mark.parametrize("fused", [False, True])
def test_an_attention_bias_that_grows_with_distance_is_not_read_as_a_mask(slope, fused):
    def attend(q, k, v):
        i, j = positions(q.shape[-2])
        bias = torch.where(j <= i, -slope * (i - j), float("-inf"))
        if fused:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return (q @ k.transpose(-1, -2) + bias).softmax(-1) @ v

    assert counted(attend).masks == [Mask.causal()]


def test_causally_masked_scores_with_alibi_slopes_per_head_are_read_as_a_causal_mask():
    slopes = torch.tensor([0.25, 4.0])

    def attend(q, k, v):
        i, j = positions(q.shape[-2])
        scores = q @ k.transpose(-1, -2) - slopes.view(2, 1, 1) * (i - j)
        return scores.masked_fill(j > i, -10000.0).softmax(-1) @ v

    assert counted(attend, heads=2).masks == [Mask.causal()]


def test_a_score_bias_of_flex_attention_is_not_read_as_a_mask():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    def attend(q, k, v):
        n = q.shape[-2]
        blocks = flex.create_block_mask(lambda b, h, i, j: j <= i, None, None, n, n, device=q.device)
        return flex.flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score - (i - j), block_mask=blocks)

    assert counted(attend).masks == [Mask.causal()]


@pytest.mark.parametrize("width", [130, 512, 5000])
def test_counting_a_model_that_truncates_its_input_is_an_error(width):
    class Cut(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(8, 8)
            self.second = nn.Linear(8, 8)

        def forward(self, x):
            return self.second(self.first(x)[:, :width])

    with pytest.raises(floptally.Error, match=f"^second: .*(as many as length {width} has|chunks, padding)"):
        floptally.from_torch(Cut(), {"x": torch.zeros(2, 9, 8)})
    if width == 512:  # lengths that the caller names are those that it holds for
        cost = floptally.from_torch(Cut(), {"x": torch.zeros(2, 9, 8)}, lengths=[10, 20, 40, 100, 500])
        assert any(note.startswith("holds up to length 500 only, second: ") for note in cost.notes)
        assert cost.flops(lengths=[500]).useful.forward == 2 * 2 * 64 * 500


def test_a_note_names_the_length_up_to_which_a_mask_was_checked():
    table = nn.Parameter(torch.zeros(700, 8))

    class Short(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = table
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            return self.linear(x + self.table[: x.shape[1]])

    notes = floptally.from_torch(Short(), {"x": torch.zeros(2, 9, 8)}).notes
    assert any(note.startswith("counts and masks were looked at up to length 512: ") for note in notes)


# What a step says of itself, and what it needs not refuse.


def test_an_attention_kernel_that_is_imported_inside_the_forward_is_counted():
    import subprocess
    import sys

    code = """
import torch, floptally

class Packed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(16, 48)

    def forward(self, x):
        from torch.nn.attention.varlen import varlen_attn

        batch, length, _ = x.shape
        q, k, v = self.qkv(x.flatten(0, 1)).unsqueeze(1).chunk(3, -1)
        ends = torch.arange(batch + 1, dtype=torch.int32) * length
        return varlen_attn(q, k, v, ends, ends, length, length, window_size=(-1, 0))

cost = floptally.from_torch(Packed(), lambda batch, length: torch.zeros(batch, length, 16))
print(cost.masks, cost.flops(lengths=[50], convention="torch_flop_counter").useful.forward)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.split() == ["[<Mask", "causal>]", str(2 * 16 * 48 * 50 + 4 * 16 * 2500)], result.stderr


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("of_heads", [False, True])
def test_a_trained_bias_added_to_a_constant_causal_mask_keeps_the_mask(fused, of_heads):
    class Biased(Core):
        def __init__(self):
            super().__init__(heads=2)
            self.bias = nn.Parameter(torch.zeros(2, 1, 1) if of_heads else torch.zeros(200_000))

        def attend(self, q, k, v):
            n = q.shape[-2]
            i, j = positions(n)
            bias = self.bias if of_heads else self.bias[(i - j).clamp(0)]
            mask = bias + torch.full((n, n), float("-inf")).triu(1)
            if fused:
                return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            return (q @ k.transpose(-1, -2) + mask).softmax(-1) @ v

    model = Biased()
    cost = floptally.from_torch(model, lambda batch, length: torch.zeros(batch, length, 2 * WIDTH))
    assert cost.masks == [Mask.causal()]


def test_block_masks_with_a_block_size_other_than_the_default_are_read():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    def attend(q, k, v):
        n = q.shape[-2]
        rule = lambda b, h, i, j: (j <= i) & (i - j < 300)
        blocks = flex.create_block_mask(rule, None, None, n, n, device=q.device, BLOCK_SIZE=64)
        return flex.flex_attention(q, k, v, block_mask=blocks)

    assert counted(attend).masks == [Mask.sliding_window(300)]


def test_a_counted_model_may_return_its_outputs_in_a_dataclass():
    import dataclasses

    @dataclasses.dataclass
    class Output:
        logits: torch.Tensor
        hidden: list

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 8)

        def forward(self, x):
            return Output(self.linear(x), [])

    assert floptally.from_torch(Model(), {"x": torch.zeros(2, 9, 8)}).flops(lengths=[10]).useful.forward == 1280


def test_cu_seqlens_on_the_meta_device_give_a_one_line_error():
    cost = counted(of_bools(RULES["causal"][0]))
    with pytest.raises(floptally.Error) as raised:
        cost.flops(cu_seqlens=torch.zeros(3, dtype=torch.int32, device="meta"))
    assert "\n" not in str(raised.value) and "C++" not in str(raised.value)
