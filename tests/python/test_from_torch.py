# SPDX-License-Identifier: Apache-2.0
"""floptally.from_torch: against the config reader, against real steps under FlopCounterMode, and its errors."""

from __future__ import annotations

import collections

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import floptally
from conftest import EVERY
from floptally import Mask

nn = torch.nn
F = torch.nn.functional


def tokens(batch, length):
    return {"input_ids": torch.ones(batch, length, dtype=torch.long)}


def counted_by_pytorch(model, inputs, loss):
    """Forward and backward of a real step, as PyTorch counts them: by its own formulas, of which older releases leave
    some kernels out."""
    from torch.utils.flop_counter import FlopCounterMode

    from floptally._torch_kernels import ATTENTION

    with FlopCounterMode(display=False, custom_mapping=ATTENTION) as forward:
        value = loss(model(**inputs))
    with FlopCounterMode(display=False, custom_mapping=ATTENTION) as backward:
        value.backward()
    return forward.get_total_flops(), backward.get_total_flops()


def by_phase(cost, convention, **batch):
    seen = cost.flops(convention=convention, **batch).useful
    return seen.forward, seen.backward


# Models of transformers, against the reader of their configs.

DIMENSIONS = {"vocab_size": 101, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
GQA = {**DIMENSIONS, "num_key_value_heads": 2, "intermediate_size": 56}
BERT = {**DIMENSIONS, "intermediate_size": 56, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
EXPERTS = {**GQA, "num_local_experts": 5, "num_experts_per_tok": 2}
LATENT = {
    **DIMENSIONS,
    "num_key_value_heads": 4,
    "intermediate_size": 56,
    "moe_intermediate_size": 20,
    "n_routed_experts": 6,
    "num_experts_per_tok": 2,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "first_k_dense_replace": 1,
    "q_lora_rank": 16,
    "kv_lora_rank": 12,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 4,
    "v_head_dim": 10,
}
SEQ2SEQ = {"vocab_size": 101, "d_model": 24, "dropout_rate": 0.0}
T5 = {**SEQ2SEQ, "d_kv": 6, "d_ff": 56, "num_layers": 2, "num_heads": 4}
BART = {
    "vocab_size": 101,
    "d_model": 24,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 56,
    "attention_dropout": 0.0,
}
GPT2 = {"vocab_size": 101, "n_embd": 24, "n_layer": 2, "n_head": 4, "attn_pdrop": 0.0, "n_positions": 512}

#: name: (class, fields of its config, attention, convention that gives PyTorch's number)
MODELS = {
    "llama": ("LlamaForCausalLM", GQA, "sdpa"),
    "llama eager": ("LlamaForCausalLM", {**GQA, "num_key_value_heads": 4}, "eager"),
    "qwen2 tied": ("Qwen2ForCausalLM", {**GQA, "tie_word_embeddings": True}, "sdpa"),
    "qwen3": ("Qwen3ForCausalLM", {**GQA, "head_dim": 10}, "sdpa"),
    "qwen3_moe": (
        "Qwen3MoeForCausalLM",
        {**GQA, "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 20},
        "sdpa",
    ),
    "mistral with a window": ("MistralForCausalLM", {**GQA, "sliding_window": 50}, "sdpa"),
    "mixtral": ("MixtralForCausalLM", EXPERTS, "sdpa"),
    "gemma2": ("Gemma2ForCausalLM", {**GQA, "head_dim": 8, "sliding_window": 40}, "eager"),
    "gemma3": ("Gemma3ForCausalLM", {**GQA, "num_hidden_layers": 6, "head_dim": 8, "sliding_window": 40}, "sdpa"),
    "gpt2": ("GPT2LMHeadModel", GPT2, "sdpa"),
    "gpt2 eager": ("GPT2LMHeadModel", GPT2, "eager"),
    "bert": ("BertForMaskedLM", BERT, "sdpa"),
    "roberta": ("RobertaForMaskedLM", {**BERT, "max_position_embeddings": 200}, "sdpa"),
    "esm": (
        "EsmForMaskedLM",
        {**BERT, "position_embedding_type": "rotary", "mask_token_id": 32, "pad_token_id": 1},
        "eager",
    ),
    "deepseek_v3": ("DeepseekV3ForCausalLM", LATENT, "sdpa"),
    "t5": ("T5ForConditionalGeneration", T5, "sdpa"),
    "bart": ("BartForConditionalGeneration", BART, "sdpa"),
}
#: A model of each way: fused and plain attention, experts, windows, latent attention, an encoder, both sides.
FEW = ("llama", "qwen3_moe", "gemma2", "bert", "deepseek_v3", "bart")
COUNTED = list(MODELS) if EVERY else FEW


def build(name, **changes):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    architecture, fields, attention = MODELS[name]
    built = getattr(transformers, architecture)
    config = built.config_class(**{**fields, **changes})
    config.architectures = [architecture]
    config.use_cache = False
    model = built._from_config(config, attn_implementation=attention).train()
    for module in model.modules():
        if getattr(getattr(module, "config", None), "_experts_implementation", None) is not None:
            module.config._experts_implementation = "eager"  # the default is a kernel that PyTorch does not count
    return model


def inputs_of(model):
    if not model.config.is_encoder_decoder:
        return tokens

    def both(batch, length, keys):
        return {**tokens(batch, keys), "decoder_input_ids": torch.ones(batch, length, dtype=torch.long)}

    return both


def logits(outputs):
    return outputs.logits.sum()


def units(cost):
    """Forward FLOPs by what they are counted by; a mask by its name."""
    elementwise = ("norm", "latent_norm", "bias", "embedding", "position_embedding", "tied_embedding")
    sums = collections.Counter()
    for row in cost.entries:
        core = row.kind if row.kind in ("scores", "values", "softmax") else ""
        if row.kind not in elementwise:
            sums[(row.unit.name if isinstance(row.unit, Mask) else row.unit, core)] += row.flops_per_unit
    return sums


@pytest.mark.parametrize("name", COUNTED)
def test_counting_a_transformers_model_gives_the_same_cost_as_its_config(name):
    model = build(name)
    example = inputs_of(model)
    # Megatron's rule counts the norms inside latent attention, which nothing but their names tells.
    terms = {"*_a_layernorm": "latent_norm"} if name == "deepseek_v3" else None
    cost = floptally.from_torch(model, example, loss=logits, terms=terms)
    reader = floptally.cost(model.config)
    assert cost.parameters == reader.parameters
    cross = {"encoder_lengths": [9, 33, 20]} if model.config.is_encoder_decoder else {}
    batch = {"lengths": [1, 37, 300], **cross}
    eager = "torch_flop_counter_eager"
    # PaLM's rule multiplies biases too: the reader has those of cross attention's keys and values over the decoder's
    # tokens, here they are over the encoder's, where they are added.
    by_parameters = ("palm",) if name != "bart" else ()
    for convention in ("exact", eager, "megatron", *by_parameters):
        assert by_phase(cost, convention, **batch) == by_phase(reader, convention, **batch), convention
    mixed = any("plain products" in note for note in cost.notes)
    if not mixed:
        fused = "torch_flop_counter"
        assert by_phase(cost, fused, **batch) == by_phase(reader, fused, **batch)
        assert units(cost) == units(reader)

    sizes = (3, 21, 17) if cross else (3, 21)
    inputs = example(*sizes)
    of_pytorch = {"lengths": [21] * 3, **({"encoder_lengths": [17] * 3} if cross else {})}
    counted_as = "torch_flop_counter" if "torch_flop_counter gives" in cost.notes[0] else eager
    assert by_phase(cost, counted_as, **of_pytorch) == counted_by_pytorch(model, inputs, logits)


def test_counting_a_full_size_model_allocates_no_memory_for_weights():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.LlamaConfig(
        hidden_size=16384,
        num_hidden_layers=3,
        num_attention_heads=128,
        num_key_value_heads=8,
        intermediate_size=53248,
        vocab_size=128256,
        max_position_embeddings=8192,
    )
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM._from_config(config, attn_implementation="sdpa", dtype=torch.bfloat16)
    cost = floptally.from_torch(model, tokens)
    # Three layers of Llama-3.1-405B, its table and its head.
    assert cost.parameters == 3 * (2 * 16384 * (16384 + 1024) + 3 * 16384 * 53248 + 2 * 16384) + 2 * 128256 * 16384 + 16384
    config.architectures = ["LlamaForCausalLM"]
    reader = floptally.cost(config)
    for convention in ("exact", "torch_flop_counter", "torch_flop_counter_eager", "megatron"):
        for lengths in ([8192], [512] * 16):
            batch = {"convention": convention, "lengths": lengths}
            assert cost.flops(**batch).total == reader.flops(**batch).total
    assert all(one.is_meta for one in model.parameters())


def test_an_image_model_of_fixed_input_size_is_counted_by_the_number_of_images():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.ViTConfig(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=56, image_size=32, patch_size=8
    )
    config.architectures = ["ViTForImageClassification"]
    model = transformers.ViTForImageClassification._from_config(config, attn_implementation="sdpa").train()
    cost = floptally.from_torch(model, {"pixel_values": torch.zeros(4, 3, 32, 32)})
    reader = floptally.cost(config)
    for convention in ("exact", "torch_flop_counter", "torch_flop_counter_eager"):
        assert by_phase(cost, convention, lengths=[1] * 7) == by_phase(reader, convention, images=7), convention
    assert cost.parameters == reader.parameters


# Models written by hand.


class Block(nn.Module):
    """A transformer's layer with one matrix for q, k and v, as GPT-2 has it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.after = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, n, w = x.shape
        q, k, v = self.qkv(self.norm(x)).view(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, w))
        return x + self.mlp(self.after(x))


class HandWritten(nn.Module):
    def __init__(self, width=24, heads=4, layers=2, vocabulary=101, positions=512):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.embed(ids) + self.positions(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def test_counting_a_transformer_written_by_hand_gives_the_cost_of_gpt2():
    cost = floptally.from_torch(HandWritten(), {"ids": torch.zeros(2, 9, dtype=torch.long)})
    same = floptally.cost(
        {
            "model_type": "gpt2",
            "architectures": ["GPT2LMHeadModel"],
            "vocab_size": 101,
            "n_embd": 24,
            "n_layer": 2,
            "n_head": 4,
            "n_positions": 512,
        }
    )
    assert cost.parameters == same.parameters
    assert cost.masks == [Mask.causal()]
    for convention in floptally.conventions():
        counted = [one.flops(convention=convention.name, lengths=[1, 37, 300]) for one in (cost, same)]
        assert counted[0].total == counted[1].total, convention.name
    assert "blocks.*.mlp.0" in cost.components and "blocks.*" in cost.components
    model = HandWritten()
    inputs = {"ids": torch.zeros(3, 21, dtype=torch.long)}
    assert by_phase(cost, "torch_flop_counter", lengths=[21] * 3) == counted_by_pytorch(
        model, inputs, lambda out: out.sum()
    )


class Odd(nn.Module):
    """A causal convolution, one in groups, and attention without a softmax, whose state has a fixed size."""

    def __init__(self, width=12, groups=3):
        super().__init__()
        self.short = nn.Conv1d(width, width, 4, padding=3)
        self.grouped = nn.Conv1d(width, width, 1, groups=groups)
        self.q = nn.Linear(width, 8)
        self.k = nn.Linear(width, 8)
        self.v = nn.Linear(width, 10)
        self.out = nn.Linear(10, 5)

    def forward(self, x):
        x = self.grouped(self.short(x.transpose(1, 2))[..., : x.shape[1]]).transpose(1, 2)
        state = torch.einsum("bnk,bnv->bkv", self.k(x).exp(), self.v(x))
        return self.out(torch.einsum("bnk,bkv->bnv", self.q(x), state))


def test_causal_and_grouped_convolutions_and_linear_attention_written_by_hand_are_counted_as_they_run():
    cost = floptally.from_torch(Odd(), {"x": torch.zeros(2, 9, 12)})
    rows = {(row.component, row.unit, row.kind): row.flops_per_unit for row in cost.entries}
    # Three positions more than tokens, of 4 x 12 x 12 multiply-adds; the input needs no gradient.
    assert rows[("short", "tokens", "input_linear")] == 2 * 4 * 12 * 12
    assert rows[("short", "count", "input_linear")] == 3 * 2 * 4 * 12 * 12
    assert rows[("grouped", "tokens", "linear")] == 2 * 12 * 12 // 3
    assert rows[("Odd", "tokens", "state")] == 2 * 2 * 8 * 10
    assert cost.parameters == sum(p.numel() for p in Odd().parameters())
    # The counter takes the weight gradient of three groups three times; the note says so, the cost does not count it.
    excess = 2 * (2 * 12 * 12 // 3) * 21 * 3
    forward, backward = counted_by_pytorch(Odd(), {"x": torch.zeros(3, 21, 12)}, lambda out: out.sum())
    assert by_phase(cost, "torch_flop_counter", lengths=[21] * 3) == (forward, backward - excess)
    assert any("grouped" in note and str(2 * (2 * 12 * 12 // 3)) in note for note in cost.notes)


def test_a_layer_that_a_model_uses_twice_counts_twice_and_is_stored_once_in_the_cost():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 6, bias=False)
            self.same = self.layer
            self.table = nn.Linear(6, 6, bias=False)
            self.table.weight = self.layer.weight

        def forward(self, x):
            return self.table(self.same(self.layer(x)))

    cost = floptally.from_torch(Twice(), {"x": torch.zeros(2, 9, 6)})
    assert cost.parameters == 36
    assert cost.flops(lengths=[10]).useful.forward == 3 * 2 * 36 * 10


def test_a_model_with_frozen_weights_counts_the_matmuls_that_autograd_runs():
    model = HandWritten()
    for parameter in model.blocks[0].parameters():
        parameter.requires_grad = False
    cost = floptally.from_torch(model, {"ids": torch.zeros(2, 9, dtype=torch.long)})
    kinds = {row.kind for row in cost.entries if row.component == "blocks.*.mlp.0"}
    assert kinds == {"linear", "input_linear", "bias"}
    inputs = {"ids": torch.zeros(3, 21, dtype=torch.long)}
    counted = counted_by_pytorch(model, inputs, lambda out: out.sum())
    assert by_phase(cost, "torch_flop_counter", lengths=[21] * 3) == counted
    assert any("frozen" in note for note in cost.notes)


def test_modules_without_effect_on_the_loss_count_only_their_forward():
    class Aside(nn.Module):
        def __init__(self):
            super().__init__()
            self.used = nn.Linear(6, 6)
            self.aside = nn.Linear(6, 7)

        def forward(self, x):
            with torch.no_grad():
                self.aside(x)
            return self.used(self.used(x))

    cost = floptally.from_torch(Aside(), {"x": torch.zeros(2, 9, 6)})
    assert {row.kind for row in cost.entries if row.component == "aside"} == {"detached", "bias"}


# Masks.


class Hidden(nn.Module):
    """Attention under a mask that comes with the data."""

    def __init__(self, width=8):
        super().__init__()
        self.attention = nn.ModuleList(nn.Identity() for _ in range(2))
        self.q = nn.Linear(width, width)

    def forward(self, x):
        q = self.q(x)
        return F.scaled_dot_product_attention(q, x, x, attn_mask=x @ x.transpose(1, 2) > 0)


def test_masks_passed_by_the_caller_decide_the_exact_attended_pairs():
    example = {"x": torch.zeros(2, 9, 8)}
    with pytest.raises(floptally.Error, match="^model: has an attention mask .* masks="):
        floptally.from_torch(Hidden(), example)
    for mask in (Mask.causal(), Mask.sliding_window(5), Mask.bidirectional()):
        cost = floptally.from_torch(Hidden(), example, masks=mask)
        assert mask in cost.masks
        core = lambda length: sum(
            row.flops_per_unit * mask.pairs(length)
            for row in cost.entries
            if row.kind in ("scores", "values") and row.unit == mask
        )
        assert core(30) == 4 * 8 * mask.pairs(30)
        assert cost.flops(lengths=[30], convention="torch_flop_counter").total == floptally.from_torch(
            Hidden(), example, masks={"*": Mask.causal()}
        ).flops(lengths=[30], convention="torch_flop_counter").total
    named = floptally.from_torch(Hidden(), example, masks="sliding_window(5)")
    assert Mask.sliding_window(5) in named.masks
    with pytest.raises(floptally.Error, match="^masks: must be floptally.Mask objects or names of masks, got 5"):
        floptally.from_torch(Hidden(), example, masks=5)


def every_other(length, past, keys):
    return (length + 1) ** 2 // 4


def test_a_user_defined_statistic_may_be_passed_as_a_mask():
    own = Mask.from_callable("every_other_pair", every_other)
    cost = floptally.from_torch(HandWritten(), {"ids": torch.zeros(2, 9, dtype=torch.long)}, masks=own)
    assert cost.masks == [own]
    causal = floptally.from_torch(HandWritten(), {"ids": torch.zeros(2, 9, dtype=torch.long)})
    scores = sum(row.flops_per_unit for row in causal.entries if row.kind in ("scores", "values"))
    difference = causal.flops(lengths=[31]).useful.forward - cost.flops(lengths=[31]).useful.forward
    assert difference == scores * (31 * 32 // 2 - 256)


class Attention(nn.Module):
    """A core, plain or fused, whose mask `of(length)` makes."""

    def __init__(self, of, fused=False, width=8):
        super().__init__()
        self.of, self.fused = of, fused
        self.qkv = nn.Linear(width, 3 * width)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        mask = self.of(x.shape[1])
        if self.fused:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        scores = q @ k.transpose(1, 2)
        scores = scores if mask is None else scores.masked_fill(~mask, float("-inf"))
        return scores.softmax(-1) @ v


def band(left, right):
    def of(length):
        i, j = torch.arange(length)[:, None], torch.arange(length)[None]
        return (i - j <= left) & (j - i <= right)

    return of


def chunks(length):
    i, j = torch.arange(length)[:, None], torch.arange(length)[None]
    return (j <= i) & (i // 9 == j // 9)


def prefix(length):
    i, j = torch.arange(length)[:, None], torch.arange(length)[None]
    return (j <= i) | (j < 5)


# All forms, in all the ways that a model makes them: test_from_torch_masks.py.
@pytest.mark.parametrize(
    ("of", "mask", "fused"),
    [
        (lambda length: None, Mask.bidirectional(), False),
        (lambda length: torch.ones(length, length, dtype=torch.bool).tril(), Mask.causal(), True),
        (band(3, 4), Mask.window(3, 4), False),
        (chunks, Mask.chunked(9), True),
    ],
)
def test_an_attention_mask_that_does_not_depend_on_data_is_recognised_from_its_values(of, mask, fused):
    cost = floptally.from_torch(Attention(of, fused), {"x": torch.zeros(2, 9, 8)})
    assert cost.masks == [mask]


def filled(length):
    return torch.full((length, length), float("-inf")).masked_fill_(band(6, 0)(length), 0)


def chosen(length):
    return torch.where(band(6, 0)(length).logical_not(), -1e9, 0)


def of_two(length):
    return torch.where(band(6, 900)(length), chosen(length) + torch.full((length, length), -1e9).triu(1), -1e9)


@pytest.mark.parametrize(("of", "fused"), [(filled, False), (of_two, True)])
def test_an_attention_mask_added_to_scores_is_recognised_from_its_values_however_the_model_computes_it(of, fused):
    class Added(Attention):
        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            return (q @ k.transpose(1, 2) + self.of(x.shape[1])).softmax(-1) @ v

    model = Attention(of, True) if fused else Added(of)
    assert floptally.from_torch(model, {"x": torch.zeros(2, 9, 8)}).masks == [Mask.sliding_window(7)]


def test_a_mask_unlike_any_library_mask_is_counted_by_a_table_of_its_pairs_at_each_length():
    holes = lambda length: torch.arange(length)[:, None] % 3 >= torch.arange(length)[None] % 3
    cost = floptally.from_torch(Attention(holes), {"x": torch.zeros(2, 9, 8)})
    assert any("a mask of no known form, whose pairs are known at lengths 1 to 2047" in note for note in cost.notes)
    for length in (1, 2, 57, 100, 1000, 2047):
        assert cost.masks[0].pairs(length) == int(holes(length).sum())
    with pytest.raises(floptally.Error, match="^lengths: length 2048 was not counted by .*: pass your lengths to from_torch"):
        cost.flops(lengths=[2048])


def test_a_mask_that_depends_on_data_is_an_error_that_asks_for_the_mask_argument():
    class Best(Attention):
        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            scores = q @ k.transpose(1, 2)
            return scores.masked_fill(scores < scores.topk(3).values[..., -1:], float("-inf")).softmax(-1) @ v

    with pytest.raises(floptally.Error, match="^model: has an attention mask whose values depend on data .*: pass masks="):
        floptally.from_torch(Best(None), {"x": torch.zeros(2, 9, 8)})


def test_matmuls_outside_attention_need_no_mask():
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 6)

        def forward(self, x, adjacency):
            return adjacency @ self.linear(x)

    cost = floptally.from_torch(
        Graph(), lambda batch, length: (torch.zeros(batch, length, 6), torch.zeros(batch, length, length))
    )
    assert cost.flops(lengths=[10]).useful.forward == 2 * 36 * 10 + 2 * 6 * 100


def test_a_model_of_fixed_input_size_with_a_data_dependent_mask_is_counted_with_masks_passed_by_the_caller():
    inputs = lambda batch: torch.zeros(batch, 11, 8)
    with pytest.raises(floptally.Error, match="^model: has an attention mask whose values depend on data .*: pass masks="):
        floptally.from_torch(Hidden(), inputs)
    every = sum(counted_by_pytorch(Hidden(), {"x": torch.zeros(3, 11, 8)}, lambda out: out.sum()))
    for masks, pairs in (("bidirectional", 121), ("causal", 66), ("sliding_window(2)", 21)):
        cost = floptally.from_torch(Hidden(), inputs, masks=masks)
        # The linear layer, the product that makes the mask, and the two products under it.
        assert cost.flops(lengths=[1] * 3).useful.forward == 3 * (2 * 11 * 8 * 8 + 2 * 8 * 121 + 4 * 8 * pairs)
        assert cost.flops(lengths=[1] * 3, convention="torch_flop_counter").total == every


@pytest.mark.parametrize("power", [1, 2])
def test_attention_weights_computed_by_relu_depend_on_data_and_are_an_error_without_masks(power):
    class Attention(nn.Module):
        def __init__(self, function):
            super().__init__()
            self.qkv, self.function = nn.Linear(8, 24), function

        def forward(self, x):
            q, k, v = self.qkv(x).chunk(3, -1)
            return self.function(q @ k.transpose(1, 2)).tril() @ v

    relu = Attention(lambda scores: scores.relu() ** power)
    with pytest.raises(floptally.Error, match="^model: has an attention mask whose values depend on data"):
        floptally.from_torch(relu, {"x": torch.zeros(2, 9, 8)})
    assert floptally.from_torch(relu, {"x": torch.zeros(2, 9, 8)}, masks="causal").masks == [Mask.causal()]
    smooth = Attention(lambda scores: F.gelu(scores) ** power)
    assert floptally.from_torch(smooth, {"x": torch.zeros(2, 9, 8)}).masks == [Mask.causal()]


def test_masks_passed_by_the_caller_may_differ_by_module():
    class Two(HandWritten):
        pass

    masks = {"blocks.0": Mask.sliding_window(7), "blocks.*": Mask.causal()}
    cost = floptally.from_torch(Two(), {"ids": torch.zeros(2, 9, dtype=torch.long)}, masks=masks)
    assert set(cost.masks) == {Mask.sliding_window(7), Mask.causal()}
    assert {row.component for row in cost.entries if isinstance(row.unit, Mask)} == {"blocks.*"}


def test_prefix_tokens_that_a_model_prepends_are_counted_by_a_bidirectional_mask_and_a_causal_mask_for_them_is_an_error():
    class Prefix(nn.Module):
        def __init__(self):
            super().__init__()
            self.prefix = nn.Parameter(torch.zeros(3, 8))
            self.q = nn.Linear(8, 8)

        def forward(self, x):
            x = torch.cat((self.prefix.expand(x.shape[0], 3, 8), x), 1)
            return F.scaled_dot_product_attention(self.q(x), x, x)

    cost = floptally.from_torch(Prefix(), {"x": torch.zeros(2, 9, 8)})
    counted = counted_by_pytorch(Prefix(), {"x": torch.zeros(3, 21, 8)}, lambda out: out.sum())
    assert by_phase(cost, "torch_flop_counter", lengths=[21] * 3) == counted
    with pytest.raises(floptally.Error, match="more than the pairs of causal"):
        floptally.from_torch(Prefix(), {"x": torch.zeros(2, 9, 8)}, masks=Mask.causal())


# Names.


def test_a_long_module_name_loses_its_middle_part_in_the_component_name_of_a_cost():
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            inner = nn.Linear(4, 4)
            for name in ("projection", "intermediate", "transformer_block", "encoder"):
                outer = nn.Module()
                outer.add_module(name, inner)
                inner = outer
            self.model = inner

        def forward(self, x):
            return self.model.encoder.transformer_block.intermediate.projection(x)

    example = {"x": torch.zeros(2, 9, 4)}
    assert floptally.from_torch(Deep(), example).components == ["model.encoder..intermediate.projection"]
    assert floptally.from_torch(Deep(), example, depth=2).components == ["model.encoder"]
    assert floptally.from_torch(Deep(), example, components={"*.projection": "mlp"}).components == ["mlp"]
    assert floptally.from_torch(Deep(), example, components=str.upper).components == [
        "MODEL.ENCODER..INTERMEDIATE.PROJECTION"
    ]


def test_a_model_may_have_any_number_of_components_and_weights():
    class Wide(nn.Module):
        def __init__(self, parts):
            super().__init__()
            for i in range(parts):
                self.add_module(f"part{i}", nn.Linear(4, 4))

        def forward(self, x):
            return sum(part(x) for part in self.children())

    whole = floptally.from_torch(Wide(100), {"x": torch.zeros(2, 9, 4)})
    assert len(whole.components) == 100 and len(whole.entries) == 200
    cost = floptally.from_torch(Wide(4), {"x": torch.zeros(2, 9, 4)}, components={"part*": "parts"})
    assert cost.components == ["parts"]


# What has no such cost.


class Root(nn.Module):
    """Runs a function in a module of its own."""

    def __init__(self, function):
        super().__init__()
        self.odd = nn.Module()
        self.odd.forward = function
        self.linear = nn.Linear(6, 6)

    def forward(self, x):
        return self.odd(self.linear(x))


def cubic(x):
    scores = x @ x.transpose(1, 2)
    return scores @ scores


def data_dependent(x):
    return x[x.sum(-1) > 0]


def contrastive(x):
    pooled = x.mean(1)
    return pooled @ pooled.T


def all_tokens(x):
    return x.flatten(0, 1) @ x.flatten(0, 1).T


def once_for_all(x):
    table = torch.ones(x.shape[1], x.shape[1], requires_grad=True)
    return x + (table @ table).sum()


def in_chunks(x):
    padded = F.pad(x, (0, 0, 0, -x.shape[1] % 16))
    return torch.einsum("bcnk,bcmk->bcnm", *[padded.unflatten(1, (-1, 16))] * 2)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (cubic, "^odd: bmm counts .*: with the third power of the length$"),
        (data_dependent, "^odd: cannot run on fake tensors with 2 samples, length 32: DynamicOutputShapeException.*real=True"),
        (all_tokens, "^odd: mm counts .*: with the square of the batch, so that samples meet each other, and with the length$"),
        (once_for_all, "^odd: mm counts .*: with the third power of the length$"),
        (in_chunks, "^odd: bmm counts .*: chunks, padding or data decide. "),
    ],
)
def test_flops_that_do_not_fit_any_formula_of_the_length_are_an_error_that_names_the_module(function, text):
    with pytest.raises(floptally.Error, match=text):
        floptally.from_torch(Root(function), {"x": torch.zeros(2, 9, 6)})


def test_matmuls_of_a_contrastive_loss_are_counted_by_the_measured_number_of_sample_pairs():
    cost = floptally.from_torch(Root(contrastive), {"x": torch.zeros(2, 9, 6)})
    assert any("measured(sample_pairs)" in note for note in cost.notes)
    seen = by_phase(cost, "torch_flop_counter_eager", lengths=[21] * 4, measured={"sample_pairs": 16})
    assert seen == counted_by_pytorch(Root(contrastive), {"x": torch.zeros(4, 21, 6)}, lambda out: out.sum())
    with pytest.raises(floptally.Error, match=r"^measured\(sample_pairs\): "):
        cost.flops(lengths=[21] * 4)


def test_a_model_that_needs_whole_chunks_is_counted_at_multiples_of_the_chunk_size():
    lengths = [32, 48, 80, 64, 144]
    cost = floptally.from_torch(Root(in_chunks), {"x": torch.zeros(2, 9, 6)}, lengths=lengths)
    counted = counted_by_pytorch(Root(in_chunks), {"x": torch.zeros(3, 96, 6)}, lambda out: out.sum())
    assert by_phase(cost, "torch_flop_counter", lengths=[96] * 3) == counted


def test_a_model_with_a_stride_is_counted_at_lengths_that_the_stride_divides():
    class Strided(nn.Module):
        def __init__(self):
            super().__init__()
            self.strided = nn.Conv1d(6, 6, 2, stride=2)

        def forward(self, x):
            return self.strided(x.transpose(1, 2))

    with pytest.raises(floptally.Error, match="^strided: convolution counts "):
        floptally.from_torch(Strided(), {"x": torch.zeros(2, 9, 6)})
    cost = floptally.from_torch(Strided(), {"x": torch.zeros(2, 9, 6)}, lengths=[8, 12, 20, 14, 32])
    assert cost.flops(lengths=[10]).useful.forward == 5 * 2 * 2 * 6 * 6


def test_a_convolution_without_padding_has_fewer_output_positions_than_input_positions():
    class Valid(nn.Module):
        def __init__(self):
            super().__init__()
            self.valid = nn.Conv1d(6, 6, 3)

        def forward(self, x):
            return self.valid(x.transpose(1, 2))

    cost = floptally.from_torch(Valid(), {"x": torch.zeros(2, 9, 6)})
    assert cost.flops(lengths=[1, 2, 3, 10]).useful.forward == (0 + 0 + 1 + 8) * 2 * 3 * 6 * 6


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN] if EVERY else [nn.GRU])
def test_recurrent_layers_count_every_time_step(kind):
    def build():
        return kind(5, 7, 2, batch_first=True, bidirectional=True)

    # They run token by token, each as many operators: RNN alone at the lengths that are chosen where none are given.
    lengths = None if kind is nn.RNN else [2, 3, 5, 4, 7]
    inputs = lambda batch, length: torch.zeros(batch, length, 5)
    cost = floptally.from_torch(build(), inputs, lengths=lengths)
    gates = {nn.LSTM: 4, nn.GRU: 3, nn.RNN: 1}[kind]
    forward = 2 * 2 * gates * 7 * (5 + 7 + 14 + 7)
    assert cost.flops(lengths=[4, 31]).useful.forward == 35 * forward
    from floptally._torch_trace import eager_kernels

    with eager_kernels():
        counted = counted_by_pytorch(build(), {"input": torch.zeros(3, 21, 5)}, lambda out: out[0].sum())
    only_output = floptally.from_torch(build(), inputs, loss=lambda out: out[0].sum(), lengths=[2, 3, 5, 4, 7])
    assert by_phase(only_output, "torch_flop_counter_eager", lengths=[21] * 3) == counted


def test_work_independent_of_the_batch_is_counted_once_per_pass():
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Linear(6, 4, bias=False)
            self.other = nn.Linear(6, 4, bias=False)
            self.register_buffer("places", torch.zeros(10, 6))

        def forward(self, x):
            bias = self.table(self.places).sum() + 2 * self.other(self.places).sum()
            return self.other(x) + bias

    cost = floptally.from_torch(Table(), {"x": torch.zeros(2, 9, 6)})
    once = 2 * 2 * 10 * 6 * 4
    assert cost.flops(lengths=[21] * 3).useful.forward == once + 2 * 24 * 63
    assert cost.flops(lengths=[21] * 3, measured={"passes": 4}).useful.forward == 4 * once + 2 * 24 * 63
    assert any("measured(passes)" in note for note in cost.notes)
    counted = counted_by_pytorch(Table(), {"x": torch.zeros(3, 21, 6)}, lambda out: out.sum())
    assert by_phase(cost, "torch_flop_counter_eager", lengths=[21] * 3) == counted


def test_images_of_any_size_are_counted_by_their_grids_of_patches():
    def build():
        return nn.Sequential(
            nn.Conv2d(3, 6, 4, stride=4), nn.ReLU(), nn.Conv2d(6, 8, 3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
            nn.Linear(8, 5),
        )  # fmt: skip

    cost = floptally.from_torch(build(), lambda batch, rows, columns: torch.zeros(batch, 3, 4 * rows, 4 * columns))
    of = cost.flops(grid_thw=[[1, 7, 3], [1, 2, 5]], convention="torch_flop_counter_eager").useful
    counted = [
        counted_by_pytorch(build(), {"input": torch.zeros(1, 3, 4 * rows, 4 * columns)}, lambda out: out.sum())
        for rows, columns in ((7, 3), (2, 5))
    ]
    assert (of.forward, of.backward) == tuple(map(sum, zip(*counted)))
    with pytest.raises(floptally.Error, match="border without padding, windows or data decide$"):
        floptally.from_torch(
            nn.Conv2d(3, 6, 3), lambda batch, rows, columns: torch.zeros(batch, 3, 4 * rows, 4 * columns)
        )


def test_a_vision_transformer_of_any_image_size_attends_within_each_image():
    class Patches(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 24, 4, stride=4)
            self.block = Attention(lambda length: None, True, width=24)

        def forward(self, x):
            return self.block(self.patches(x).flatten(2).transpose(1, 2))

    cost = floptally.from_torch(Patches(), lambda batch, rows, columns: torch.zeros(batch, 3, 4 * rows, 4 * columns))
    assert [mask.name for mask in cost.masks] == ["vision.bidirectional"]
    of = cost.flops(grid_thw=[[1, 7, 3]] * 2, convention="torch_flop_counter").useful
    counted = counted_by_pytorch(Patches(), {"x": torch.zeros(2, 3, 28, 12)}, lambda out: out.sum())
    assert (of.forward, of.backward) == counted


def test_example_inputs_that_require_a_gradient_count_the_backward_to_the_input():
    model = nn.Linear(6, 6)
    plain = floptally.from_torch(model, {"input": torch.zeros(2, 9, 6)})
    needed = floptally.from_torch(model, {"input": torch.zeros(2, 9, 6, requires_grad=True)})
    assert (plain.flops(lengths=[5]).useful.backward, needed.flops(lengths=[5]).useful.backward) == (360, 720)
    result = floptally.from_torch(model, lambda batch, length: torch.zeros(batch, length, 6, requires_grad=True))
    assert result.flops(lengths=[5]).useful.backward == 720


def test_a_gradient_computed_inside_the_forward_counts_as_forward():
    class Force(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x):
            with torch.enable_grad():
                x = x.requires_grad_(True) * 1
                return torch.autograd.grad(self.layers(x).sum(), x, create_graph=True)[0]

    cost = floptally.from_torch(Force(), lambda batch, length: torch.zeros(batch, length, 3))
    counted = counted_by_pytorch(Force(), {"x": torch.zeros(3, 21, 3)}, lambda out: (out**2).sum())
    squared = floptally.from_torch(
        Force(), lambda batch, length: torch.zeros(batch, length, 3), loss=lambda out: (out**2).sum()
    )
    assert cost.flops(lengths=[21] * 3).useful.forward == counted[0]
    assert by_phase(squared, "torch_flop_counter_eager", lengths=[21] * 3) == counted


class Routed(nn.Module):
    """Two of four experts for each token, each over the tokens that chose it."""

    def __init__(self, width=6):
        super().__init__()
        self.gate = nn.Linear(width, 4, bias=False)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        flat = x.flatten(0, 1)
        chosen = self.gate(flat).topk(2, -1).indices
        out = torch.zeros_like(flat)
        for index, expert in enumerate(self.experts):
            mine = (chosen == index).any(-1).nonzero().squeeze(-1)
            out = out.index_add(0, mine, expert(flat[mine]))
        return out + self.gate(flat).sum()


def test_data_dependent_work_of_a_model_is_counted_on_real_tensors_if_the_caller_asks_for_it():
    inputs = lambda batch, length: torch.randn(batch, length, 6)
    with pytest.raises(floptally.Error, match="real=True runs it on real tensors$"):
        floptally.from_torch(Routed(), inputs)
    cost = floptally.from_torch(Routed(), inputs, real=True)
    experts = sum(row.flops_per_unit for row in cost.entries if row.component == "experts.*" and row.kind != "bias")
    assert experts == 2 * 2 * 36
    assert cost.parameters == sum(one.numel() for one in Routed().parameters())
    model = Routed()
    counted = counted_by_pytorch(model, {"x": inputs(3, 21)}, lambda out: out.sum())
    assert by_phase(cost, "torch_flop_counter_eager", lengths=[21] * 3) == counted
    with torch.device("meta"):
        empty = Routed()
    with pytest.raises(floptally.Error, match="^real: needs a model with weights, but gate.weight is on the device meta"):
        floptally.from_torch(empty, inputs, real=True)


# Nested tensors.


class Jagged(nn.Module):
    """A transformer's layer over [batch, length], dense or nested."""

    def __init__(self, causal=True, width=24, heads=3):
        super().__init__()
        self.causal, self.heads = causal, heads
        self.embed = nn.Embedding(101, width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 40), nn.GELU(), nn.Linear(40, width))

    def forward(self, ids):
        x = self.embed(ids)
        parts = self.qkv(self.norm(x)).chunk(3, -1)
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in parts)
        core = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(core.transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norm(x))


def of_a_list(batch, length):
    rows = [torch.zeros(length, dtype=torch.long) for _ in range(batch)]
    return torch.nested.nested_tensor(rows, layout=torch.jagged)


def of_boundaries(batch, length):
    tokens = torch.zeros(batch * length, dtype=torch.long)
    return torch.nested.nested_tensor_from_jagged(tokens, torch.arange(batch + 1) * length)


@pytest.mark.parametrize("nested", [of_a_list, of_boundaries])
@pytest.mark.parametrize("causal", [True, False])
def test_each_sequence_of_a_nested_tensor_is_counted_alone(causal, nested):
    model = Jagged(causal)
    cost = floptally.from_torch(model, nested)
    assert cost.masks == [Mask.causal() if causal else Mask.bidirectional()]
    lengths = [5, 21, 1, 40]
    apart = [
        counted_by_pytorch(model, {"ids": torch.zeros(1, n, dtype=torch.long)}, lambda out: out.sum()) for n in lengths
    ]
    assert by_phase(cost, "torch_flop_counter", lengths=lengths) == tuple(map(sum, zip(*apart)))
    dense = floptally.from_torch(model, lambda batch, length: torch.zeros(batch, length, dtype=torch.long))
    assert cost == dense


def test_a_nested_tensor_may_attend_another_nested_tensor():
    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.kv = nn.Linear(16, 16), nn.Linear(16, 32)

        def forward(self, x, y):
            k, v = self.kv(y).chunk(2, -1)
            q, k, v = (one.unflatten(-1, (2, 8)).transpose(1, 2) for one in (self.q(x), k, v))
            return F.scaled_dot_product_attention(q, k, v)

    def nested(batch, length, keys):
        result = [[torch.zeros(n, 16) for _ in range(batch)] for n in (length, keys)]
        return tuple(torch.nested.nested_tensor(one, layout=torch.jagged) for one in result)

    cost = floptally.from_torch(Cross(), nested)
    sizes = [(5, 7), (21, 3)]
    apart = [
        counted_by_pytorch(Cross(), {"x": torch.zeros(1, n, 16), "y": torch.zeros(1, m, 16)}, lambda out: out.sum())
        for n, m in sizes
    ]
    batch = {"lengths": [n for n, _ in sizes], "encoder_lengths": [m for _, m in sizes]}
    assert by_phase(cost, "torch_flop_counter", **batch) == tuple(map(sum, zip(*apart)))


def test_frozen_weights_pass_a_gradient_through_nested_tensors():
    def frozen():
        model = Jagged()
        for module in (model.qkv, model.mlp[2]):
            module.requires_grad_(False)
        return model

    cost = floptally.from_torch(frozen(), of_a_list)
    assert cost == floptally.from_torch(frozen(), lambda batch, length: torch.zeros(batch, length, dtype=torch.long))
    assert {row.kind for row in cost.entries if row.component == "qkv"} == {"input_linear", "bias"}


@pytest.mark.parametrize(
    ("inputs", "options", "text"),
    [
        (
            lambda batch, length: torch.nested.as_nested_tensor(torch.zeros(batch, length, dtype=torch.long)),
            {},
            "^model: cannot run on fake tensors .*; nested tensors must have layout=torch.jagged$",
        ),
        (of_a_list, {"real": True}, "^real: must be False with nested tensors, whose attention has no kernel on a CPU$"),
        (of_a_list(2, 9), {}, r"^example_inputs: has nested tensors, which cannot be resized: pass a callable \(batch, length\)"),
        (
            lambda batch, length: torch.nested.nested_tensor([torch.zeros(length, dtype=torch.long)] * batch),
            {},
            "^model: cannot run on fake tensors .*; nested tensors must have layout=torch.jagged$",
        ),
        (
            lambda batch, length: torch.nested.nested_tensor_from_jagged(
                torch.zeros(batch * length, dtype=torch.long),
                torch.cat((torch.zeros(1, dtype=torch.long), torch.arange(batch) * length + 1 + length * (batch == 2))),
            ),
            {},
            r"^example_inputs: has a nested tensor with the lengths \[.*\]: pass equal lengths",
        ),
    ],
)
def test_nested_tensors_that_cannot_be_counted_are_errors_that_say_why(inputs, options, text):
    with pytest.raises(floptally.Error, match=text):
        floptally.from_torch(Jagged(), inputs, **options)


# Other kernels.


def test_flex_attention_is_counted_by_the_block_mask_of_the_call():
    flex = pytest.importorskip("torch.nn.attention.flex_attention")

    class Flex(nn.Module):
        def __init__(self, mask_mod):
            super().__init__()
            self.mask_mod = mask_mod
            self.qkv = nn.Linear(16, 48)

        def forward(self, x):
            q, k, v = self.qkv(x).unsqueeze(1).chunk(3, -1)
            blocks = flex.create_block_mask(self.mask_mod, None, None, x.shape[1], x.shape[1], device=x.device)
            return flex.flex_attention(q, k, v, block_mask=blocks)

    for mask_mod, mask in (
        (lambda b, h, q, k: q >= k, Mask.causal()),
        (lambda b, h, q, k: (q >= k) & (q - k < 20), Mask.sliding_window(20)),
        (lambda b, h, q, k: (q - k).abs() < 3, Mask.window(2, 2)),
    ):
        cost = floptally.from_torch(Flex(mask_mod), lambda batch, length: torch.zeros(batch, length, 16))
        assert cost.masks == [mask]
        of = cost.flops(lengths=[50] * 2, convention="torch_flop_counter").useful
        assert of.forward == 2 * (2 * 16 * 48 * 50 + 4 * 16 * 2500)
        assert of.backward == 2 * (2 * 16 * 48 * 50 + 10 * 16 * 2500)
    assert "lambda" not in str(flex._validate_device)


def test_packed_attention_of_pytorch_is_counted():
    varlen = pytest.importorskip("torch.nn.attention.varlen")

    class Packed(nn.Module):
        def __init__(self, window):
            super().__init__()
            self.window = window
            self.qkv = nn.Linear(16, 48)

        def forward(self, x):
            batch, length, _ = x.shape
            q, k, v = self.qkv(x.flatten(0, 1)).unsqueeze(1).chunk(3, -1)
            ends = torch.arange(batch + 1, dtype=torch.int32) * length
            return varlen.varlen_attn(q, k, v, ends, ends, length, length, window_size=self.window)

    for window, mask in (((-1, 0), Mask.causal()), ((-1, -1), Mask.bidirectional()), ((9, 0), Mask.sliding_window(10))):
        cost = floptally.from_torch(Packed(window), lambda batch, length: torch.zeros(batch, length, 16))
        assert cost.masks == [mask]
        of = cost.flops(lengths=[50] * 2, convention="torch_flop_counter").useful
        assert of.forward == 2 * (2 * 16 * 48 * 50 + 4 * 16 * 2500)


@torch.library.custom_op("floptally_test::attend", mutates_args=())
def attend(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return (q @ k.transpose(1, 2)) @ k


@attend.register_fake
def _(q, k):
    return torch.empty_like(q)


@torch.library.custom_op("floptally_test::attend_backward", mutates_args=())
def attend_backward(gradient: torch.Tensor, q: torch.Tensor, k: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros_like(q), torch.zeros_like(k)


@attend_backward.register_fake
def _(gradient, q, k):
    return torch.empty_like(q), torch.empty_like(k)


attend.register_autograd(
    lambda context, gradient: attend_backward(gradient, *context.saved_tensors),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


def test_a_custom_operator_is_counted_by_its_formula():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 6)

        def forward(self, x):
            x = self.linear(x)
            return attend(x, x)

    example = {"x": torch.zeros(2, 9, 6)}
    with pytest.raises(floptally.Error, match="runs attend, and neither .* pass formulas={attend: function}"):
        floptally.from_torch(Own(), example)

    def forward(q, k, out_shape=None):
        return 4 * q[0] * q[1] * k[1] * q[2]

    for passes in (4, 5):
        formulas = {
            attend: forward,
            torch.ops.floptally_test.attend_backward: lambda grad, q, k, out_shape=None: forward(q, k) * passes // 2,
        }
        with pytest.raises(floptally.Error, match="^model: has an attention mask .* pass masks="):
            floptally.from_torch(Own(), example, formulas=formulas)
        cost = floptally.from_torch(Own(), example, formulas=formulas, masks=Mask.causal())
        assert cost.masks == [Mask.causal()]
        of = cost.flops(lengths=[20] * 3, convention="torch_flop_counter").useful
        assert of.forward == 3 * (2 * 36 * 20 + 4 * 6 * 400)
        assert of.backward == 3 * (2 * 36 * 20 + 2 * passes * 6 * 400)


def matmul_by_triton():
    """A product of matrices whose forward and backward are one kernel of Triton's, and the kernel."""
    triton = pytest.importorskip("triton", reason="Triton is not installed")
    tl = triton.language  # noqa: F841

    @triton.jit
    def multiply(a, b, out, rows, inner, columns, BLOCK: tl.constexpr):
        pass

    def launch(a, b):
        out = torch.empty(*a.shape[:-1], b.shape[-1])
        torch.library.wrap_triton(multiply)[(4,)](a, b, out, a.shape[0], a.shape[-1], b.shape[-1], 16)
        return out

    class Multiply(torch.autograd.Function):
        @staticmethod
        def forward(context, x, weight):
            context.save_for_backward(x, weight)
            return launch(x, weight)

        @staticmethod
        def backward(context, gradient):
            x, weight = context.saved_tensors
            return launch(gradient, weight.t()), launch(x.t(), gradient)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 8)
            self.weight = nn.Parameter(torch.zeros(8, 5))

        def forward(self, x):
            return Multiply.apply(self.first(x).flatten(0, 1), self.weight).tanh()

    return Layer, multiply


def test_a_triton_kernel_is_counted_by_its_formula():
    Layer, multiply = matmul_by_triton()
    inputs = lambda batch, length: torch.zeros(batch, length, 6)

    def formula(*, kwargs, **_):  # as FlopCounterMode gives it: the shapes of the kernel's arguments by their names
        return 2 * kwargs["a"][0] * kwargs["a"][1] * kwargs["b"][1]

    wrapped = torch.library.wrap_triton(multiply)
    for kernel in (multiply, wrapped):
        cost = floptally.from_torch(Layer(), inputs, formulas={kernel: formula})
        of = cost.flops(lengths=[7, 30]).useful
        assert of.forward == 37 * 2 * (6 * 8 + 8 * 5)
        assert of.backward == 37 * 2 * (6 * 8 + 2 * 8 * 5)
        assert cost.parameters == 6 * 8 + 8 + 8 * 5
    with pytest.raises(floptally.Error, match="^model: runs multiply, .* pass formulas={multiply: function}"):
        floptally.from_torch(Layer(), inputs)
    nothing = floptally.from_torch(Layer(), inputs, formulas={multiply: lambda **_: 0})
    assert nothing.flops(lengths=[37]).useful.forward == 37 * 2 * 6 * 8


def test_an_operator_of_several_triton_kernels_counts_as_one_operator():
    triton = pytest.importorskip("triton", reason="Triton is not installed")
    tl = triton.language  # noqa: F841

    @triton.jit
    def scale(a, out, n, BLOCK: tl.constexpr):
        pass

    @torch.library.triton_op("floptally_test::scaled", mutates_args={})
    def scaled(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        out = torch.empty(*x.shape[:-1], weight.shape[1])
        torch.library.wrap_triton(scale)[(4,)](x, out, x.numel(), 16)
        return out

    scaled.register_autograd(lambda context, gradient: (scaled(gradient, torch.empty(5, 8)), None))

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(6, 8)
            self.weight = nn.Parameter(torch.zeros(8, 5))

        def forward(self, x):
            return scaled(self.first(x), self.weight)

    def formula(x, weight, out_shape=None):
        return 2 * x[0] * x[1] * weight[0] * weight[1]

    inputs = lambda batch, length: torch.zeros(batch, length, 6)
    cost = floptally.from_torch(Layer(), inputs, formulas={scaled: formula})
    of = cost.flops(lengths=[7, 30]).useful
    assert (of.forward, of.backward) == (37 * 2 * (48 + 40), 37 * 2 * (48 + 40))
    with pytest.raises(floptally.Error, match="runs scaled, .* pass formulas={scaled: function}"):
        floptally.from_torch(Layer(), inputs)


def test_the_error_for_an_unwrapped_triton_kernel_names_the_solution():
    triton = pytest.importorskip("triton", reason="Triton is not installed")

    @triton.jit
    def nothing(a, n):
        pass

    class Raw(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 6)

        def forward(self, x):
            x = self.linear(x)
            nothing[(1,)](x, x.numel())
            return x

    with pytest.raises(floptally.Error, match="^model: cannot run on fake tensors .*launch Triton's kernels by torch.library.wrap_triton"):
        floptally.from_torch(Raw(), lambda batch, length: torch.zeros(batch, length, 6))


class Checkpointed(HandWritten):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant

    def forward(self, ids):
        from torch.utils.checkpoint import checkpoint

        x = self.embed(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return self.head(self.norm(x))


@pytest.mark.parametrize("reentrant", [False, True])
def test_activation_checkpointing_of_a_model_is_read_into_the_plan_of_the_cost(reentrant):
    example = {"ids": torch.zeros(2, 9, dtype=torch.long)}
    cost = floptally.from_torch(Checkpointed(reentrant), example)
    model = Checkpointed(reentrant)
    forward, backward = counted_by_pytorch(model, {"ids": torch.zeros(3, 21, dtype=torch.long)}, lambda out: out.sum())
    executed = cost.flops(lengths=[21] * 3, convention="torch_flop_counter", plan=cost.plan).executed
    plain = floptally.from_torch(HandWritten(), example)
    assert cost.flops(lengths=[21] * 3).total == plain.flops(lengths=[21] * 3).total
    # Without reentrance a block stops as soon as all that is needed is there: its last product is not.
    assert ("blocks.*.mlp.2" in cost.plan.recompute_components) == reentrant
    assert executed.recompute > 0
    assert (executed.forward, executed.backward + executed.recompute) == (forward, backward)


def test_a_matmul_that_flop_counter_mode_omits_is_counted_and_noted():
    class Vector(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 6)
            self.weight = nn.Parameter(torch.zeros(6))

        def forward(self, x):
            return torch.mv(self.linear(x).flatten(0, 1), self.weight)

    cost = floptally.from_torch(Vector(), {"x": torch.zeros(2, 9, 6)})
    assert any(note.startswith("mv: ") and "and not by FlopCounterMode" in note for note in cost.notes)
    assert cost.parameters == 6 * 6 + 6 + 6
    assert cost.flops(lengths=[5]).useful.forward == 5 * 2 * (6 * 6 + 6)


@pytest.mark.parametrize(
    ("example", "text"),
    [
        ({"x": torch.zeros(9, 9, 6)}, "^example_inputs: batch and length are both 9"),
        ({}, "^example_inputs: has no tensor: pass the tensors that the model is called with"),
        (lambda a, b, c, d: None, "^example_inputs: the function must take .* takes 4 arguments"),
    ],
)
def test_example_inputs_with_ambiguous_dimensions_are_errors(example, text):
    with pytest.raises(floptally.Error, match=text):
        floptally.from_torch(nn.Linear(6, 6), example)


def test_passing_fewer_than_five_different_lengths_is_an_error():
    with pytest.raises(floptally.Error, match="^lengths: must be at least five different lengths above 0, got"):
        floptally.from_torch(nn.Linear(6, 6), {"input": torch.zeros(2, 9, 6)}, lengths=[1, 2, 3, 3, 4])


def test_a_model_without_gradients_counts_only_its_forward_and_a_model_without_matmuls_is_an_error():
    cost = floptally.from_torch(nn.Linear(6, 6).requires_grad_(False), {"input": torch.zeros(2, 9, 6)})
    assert by_phase(cost, "exact", lengths=[5]) == (5 * 2 * 36, 0)
    with pytest.raises(floptally.Error, match="^model: runs no matrix product and no convolution"):
        floptally.from_torch(nn.LayerNorm(6), {"input": torch.zeros(2, 9, 6)})
    with pytest.raises(floptally.Error, match="^loss: is missing, and the model has no floating-point output to train on: pass loss="):
        floptally.from_torch(Integers(), {"x": torch.zeros(2, 9, 6)})


class Integers(nn.Module):
    def forward(self, x):
        return x.argmax(-1)


def test_counting_leaves_parameters_and_gradients_and_hooks_of_a_model_unchanged():
    model = HandWritten()
    before = {name: (id(p), p.clone(), p.grad) for name, p in model.named_parameters()}
    floptally.from_torch(model, {"ids": torch.zeros(2, 9, dtype=torch.long)})
    for name, parameter in model.named_parameters():
        known, value, gradient = before[name]
        assert id(parameter) == known and torch.equal(parameter, value) and parameter.grad is gradient
    assert not model._forward_hooks and not model.blocks[0]._forward_pre_hooks


class Chunked(nn.Module):
    """What scans do: whole chunks by themselves, then each with the chunks before it."""

    def __init__(self, chunk_size):
        super().__init__()
        self.chunk_size = chunk_size
        self.qkv = nn.Linear(6, 18)

    def forward(self, x):
        x = F.pad(self.qkv(x), (0, 0, 0, -x.shape[1] % self.chunk_size)).unflatten(1, (-1, self.chunk_size))
        q, k, v = x.chunk(3, -1)
        inside = torch.einsum("bcnk,bcmk,bcmv->bcnv", q, k, v)
        states = torch.einsum("bcnk,bcnv->bckv", k, v).flatten(2)
        before = torch.ones(x.shape[1], x.shape[1]).tril(-1) @ states
        return inside + torch.einsum("bcnk,bckv->bcnv", q, before.unflatten(2, (6, 6)))


@pytest.mark.parametrize("chunk", [16, 64, 100])
def test_matmuls_over_padded_chunks_are_counted_by_the_number_of_chunks_of_a_sequence(chunk):
    cost = floptally.from_torch(Chunked(chunk), {"x": torch.zeros(2, 9, 6)})
    assert f"counts by chunks of {chunk} tokens, of which the last one is filled up" in cost.notes
    for batch, length in ((3, 21), (2, chunk), (1, 4 * chunk + 1)):
        seen = by_phase(cost, "torch_flop_counter_eager", lengths=[length] * batch)
        inputs = {"x": torch.zeros(batch, length, 6)}
        assert seen == counted_by_pytorch(Chunked(chunk), inputs, lambda out: out.sum())


class Scan(nn.Module):
    """A state that goes from chunk to chunk, empty before the first, and of which nothing is made after the last."""

    def forward(self, x):
        parts = F.pad(self.key(x), (0, 0, 0, -x.shape[1] % 16)).unflatten(1, (-1, 16)).unbind(1)
        return scanned(parts)

    def __init__(self):
        super().__init__()
        self.key = nn.Linear(6, 6)


def scanned(parts, chunk_size=16):
    state, found = torch.zeros(parts[0].shape[0], 6, 6), []
    for part in parts:
        found.append(part @ state)
        state = state + part.transpose(1, 2) @ part
    return torch.cat(found, 1)


class NamedScan(Scan):
    def forward(self, x):
        parts = F.pad(self.key(x), (0, 0, 0, -x.shape[1] % 16)).unflatten(1, (-1, 16)).unbind(1)
        return scan_by_chunks(parts)


def scan_by_chunks(parts, chunk_size=16):
    return scanned(parts, chunk_size)


def test_scan_flops_between_chunks_of_a_sequence_equal_the_count_of_pytorch():
    cost = floptally.from_torch(NamedScan(), {"x": torch.zeros(2, 9, 6)})
    for batch, length in ((3, 21), (2, 32), (1, 65)):
        seen = by_phase(cost, "torch_flop_counter_eager", lengths=[length] * batch)
        assert seen == counted_by_pytorch(NamedScan(), {"x": torch.zeros(batch, length, 6)}, lambda out: out.sum())


@pytest.mark.filterwarnings("ignore")
def test_the_scan_of_a_second_mamba_layer_is_counted_by_the_number_of_chunks():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    sizes = {"hidden_size": 64, "num_heads": 16, "head_dim": 8, "state_size": 8, "n_groups": 1, "vocab_size": 50}
    config = transformers.Mamba2Config(**sizes, num_hidden_layers=2, chunk_size=16, use_cache=False)
    cost = floptally.from_torch(transformers.Mamba2Model(config), tokens)
    for batch, length in ((3, 21), (1, 65)):
        model = transformers.Mamba2Model(config)
        forward, backward = counted_by_pytorch(model, tokens(batch, length), lambda out: out.last_hidden_state.sum())
        excess = 2 * 2 * batch * (length + 3) * 144 * 4 * 143  # of both layers: the convolution's 144 groups
        assert by_phase(cost, "torch_flop_counter_eager", lengths=[length] * batch) == (forward, backward - excess)


def test_relative_position_matmuls_count_every_pair_of_tokens():
    class Relative(nn.Module):
        """Scores of 2n - 1 distances, as Transformer-XL and conformers have them."""

        def __init__(self):
            super().__init__()
            self.query, self.distance = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x):
            distances = x.repeat_interleave(2, 1)[:, 1:]
            return self.query(x) @ self.distance(distances).transpose(1, 2)

    cost = floptally.from_torch(Relative(), {"x": torch.zeros(2, 9, 6)})
    for batch, length in ((3, 21), (2, 150)):
        seen = by_phase(cost, "torch_flop_counter_eager", lengths=[length] * batch)
        assert seen == counted_by_pytorch(Relative(), {"x": torch.zeros(batch, length, 6)}, lambda out: out.sum())


class Decided(nn.Module):
    """A layer that runs, or does not, by a decision of Python's."""

    def __init__(self, decide):
        super().__init__()
        self.linear, self.other, self.decide = nn.Linear(6, 6), nn.Linear(6, 6, bias=False), decide

    def forward(self, x):
        x = self.linear(x)
        return self.other(x) if self.decide(x) else x


FINITE = "what runs depends on data: numbers are taken as finite"
CHANCE = "what runs depends on data: a random number is taken as its mean, 0.5"


@pytest.mark.parametrize(
    ("decide", "runs", "note"),
    [
        (lambda x: torch.isfinite(x).all(), True, FINITE),
        (lambda x: torch.isinf(x).any() or torch.isnan(x).any(), False, FINITE),
        (lambda x: not bool((x == float("inf")).any()), True, FINITE),
        (lambda x: torch.isinf(x).any(-1).any().logical_not() & torch.isfinite(x).all(), True, FINITE),
        (lambda x: torch.rand([]) < 0.1, False, CHANCE),
        (lambda x: torch.rand(1) >= 0.25, True, CHANCE),
        (lambda x: torch.rand(()).item() < 0.7, True, CHANCE),
    ],
)
def test_a_note_says_which_way_a_data_dependent_branch_of_the_model_was_taken(decide, runs, note):
    cost = floptally.from_torch(Decided(decide), {"x": torch.zeros(2, 9, 6)})
    assert note in cost.notes
    assert cost.flops(lengths=[50]).useful.forward == 2 * 36 * 50 * (2 if runs else 1)


@pytest.mark.parametrize("decide", [lambda x: x.sum() > 0, lambda x: (x == x.flip(0)).all(), lambda x: (x > 1e9).any()])
def test_a_branch_on_tensor_values_is_an_error_that_suggests_the_option_real(decide):
    with pytest.raises(floptally.Error, match="what runs depends on data: real=True"):
        floptally.from_torch(Decided(decide), {"x": torch.zeros(2, 9, 6)})


class Chosen(nn.Module):
    """A layer for the tokens of one kind."""

    def __init__(self, mask=False):
        super().__init__()
        self.table, self.linear, self.mask = nn.Embedding(9, 6), nn.Linear(6, 6), mask

    def forward(self, ids):
        x = self.table(ids)
        if self.mask:
            x = F.scaled_dot_product_attention(x, x, x, attn_mask=(ids != 7)[:, None])
        return self.linear(x[ids == 7]).sum() + self.linear(x.masked_select((ids == 7)[..., None]).view(-1, 6)).sum()


def ids_of(batch, length):
    ids = torch.ones(batch, length, dtype=torch.long)
    ids[:, 3] = ids[:, length // 2 :] = 7
    return ids


def test_a_branch_that_depends_on_integer_inputs_follows_the_integers_of_the_example_input():
    cost = floptally.from_torch(Chosen(), lambda batch, length: ids_of(batch, 2 * length), lengths=[4, 7, 9, 12, 20])
    assert "what runs depends on data: integers of the inputs are those of the example" in cost.notes
    for batch, length in ((3, 11), (1, 30)):
        seen = by_phase(cost, "torch_flop_counter_eager", lengths=[length] * batch)
        assert seen == counted_by_pytorch(Chosen(), {"ids": ids_of(batch, 2 * length)}, lambda out: out)


def test_an_attention_mask_that_depends_on_integers_of_the_example_input_is_an_error():
    with pytest.raises(floptally.Error, match="has an attention mask whose values depend on data"):
        floptally.from_torch(Chosen(mask=True), lambda batch, length: ids_of(batch, 2 * length), lengths=[4, 7, 9, 12, 20])


@pytest.mark.parametrize("positions", [60, 1_000_000])
def test_work_that_is_done_once_per_pass_but_grows_with_the_length_is_an_error(positions):
    class Positions(nn.Module):
        """A table of distances goes through a layer once, whatever the batch."""

        def __init__(self):
            super().__init__()
            self.linear, self.distance = nn.Linear(6, 6), nn.Linear(6, 6)

        def forward(self, x):
            if x.shape[1] > positions:
                raise ValueError(f"has {positions} positions")
            return self.linear(x) + self.distance(torch.ones(2 * x.shape[1] - 1, 6)).mean(0)

    lengths = {} if positions > 131 else {"lengths": [7, 11, 19, 14, 24]}
    with pytest.raises(floptally.Error, match="^distance: addmm counts "):
        floptally.from_torch(Positions(), {"x": torch.zeros(2, 9, 6)}, **lengths)


def test_a_tensor_in_a_module_attribute_that_is_not_a_buffer_keeps_its_values_when_counted_on_fake_tensors():
    class Held(nn.Module):
        """Weights at places that a plain attribute says."""

        def __init__(self):
            super().__init__()
            self.places = {"used": torch.tensor([True, False, True, True, False, True])}
            self.linear = nn.Linear(6, 6)

        def forward(self, x):
            return self.linear(x)[..., self.places["used"]] @ torch.ones(4, 5)

    cost = floptally.from_torch(Held(), {"x": torch.zeros(2, 9, 6)})
    assert cost.flops(lengths=[50]).useful.forward == 2 * 50 * (36 + 4 * 5)
    assert not any(note.startswith("what runs depends on data") for note in cost.notes)


# What a reader sees.


class PictureBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attn = nn.Module()
        self.attn.qkv, self.attn.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.Linear(2 * width, width))

    def forward(self, x):
        q, k, v = self.attn.qkv(x).chunk(3, -1)
        x = x + self.attn.proj(F.scaled_dot_product_attention(q, k, v))
        return x + self.mlp(x)


class Pictures(nn.Module):
    __module__ = "timm.models.pictures"

    def __init__(self):
        super().__init__()
        self.patch_embed = nn.Linear(6, 8)
        self.blocks = nn.ModuleList(PictureBlock(8) for _ in range(2))
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.patch_embed(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def patches(batch, image_tokens):
    return torch.zeros(batch, image_tokens, 6)


def test_timm_modules_have_known_component_names():
    lines = []
    cost = floptally.from_torch(Pictures(), patches, progress=lines.append)
    # The block itself runs its core.
    assert set(cost.components) == {"embedding", "attention.qkv", "blocks.*", "attention.output", "mlp", "lm_head"}
    own = floptally.from_torch(Pictures(), patches, components=lambda name: name)
    assert "blocks.1.mlp.0" in own.components
    for lengths in ([9], [30, 77]):
        assert cost.total_flops(lengths=lengths) == own.total_flops(lengths=lengths)
    assert "lengths= are image_tokens" in cost.notes
    assert lines[0] == "step 1 of 6: 2 samples, length 32" and lines[-2:] == ["fitting", "other batches"]
    assert any(line.startswith("far beyond: 3 samples, length 131101") for line in lines)


def test_a_model_of_many_operators_is_checked_at_fewer_input_sizes(monkeypatch):
    from floptally import _from_torch

    whole = floptally.from_torch(Pictures(), patches)
    monkeypatch.setattr(_from_torch, "MANY_OPERATORS", 1)
    lines = []
    fewer = floptally.from_torch(Pictures(), patches, progress=lines.append)
    assert fewer.entries == whole.entries
    assert "fitted at 2 x 32, 2 x 57, 2 x 131, checked at 3 x 131101" in fewer.notes[0]
    assert sum(line.startswith("step") for line in lines) == 3
    monkeypatch.setattr(_from_torch, "far_sizes", lambda *_: [])
    near = floptally.from_torch(Pictures(), patches)
    assert near.entries == whole.entries and "checked at 2 x 48, 2 x 80, 3 x 32, 3 x 48" in near.notes[0]


def test_a_note_says_that_a_model_class_already_has_a_spec():
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    with torch.device("meta"):
        model = diffusers.SD3Transformer2DModel(
            patch_size=2, in_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=2, joint_attention_dim=10,
            caption_projection_dim=16, pooled_projection_dim=6, sample_size=8, pos_embed_max_size=8,
        )  # fmt: skip

    def inputs(batch, text_tokens):
        return {
            "hidden_states": torch.zeros(batch, 4, 8, 8), "encoder_hidden_states": torch.zeros(batch, text_tokens, 10),
            "pooled_projections": torch.zeros(batch, 6), "timestep": torch.ones(batch),
        }  # fmt: skip

    cost = floptally.from_torch(model, inputs, masks="bidirectional")
    assert "SD3Transformer2DModel has a spec: floptally.cost(model) counts it at once, by grids and texts" in cost.notes
    assert {"attention.qkv", "attention.core", "mlp", "modulation"} <= set(cost.components)
    page = floptally.cost(model)
    assert cost.parameters == page.parameters
