# SPDX-License-Identifier: Apache-2.0
"""What a rank holds against a real run: the tensors that autograd keeps, parameters, gradients, an optimizer's state."""

from __future__ import annotations

import json
from typing import Any

import floptally
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

BATCH, LENGTH = 3, 16
HIDDEN, HEADS, INNER, LAYERS, VOCABULARY = 64, 4, 96, 3, 128


def tiny(heads: int = HEADS, kv_heads: int = HEADS, attention: str = "sdpa") -> Any:
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=HIDDEN, intermediate_size=INNER, num_hidden_layers=LAYERS, num_attention_heads=heads,
        num_key_value_heads=kv_heads, vocab_size=VOCABULARY, attn_implementation=attention, tie_word_embeddings=False,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).train()


def kept(model: Any, ids: Any, *, weights: Any = ()) -> int:
    """Bytes of all tensors that autograd keeps of a forward, each storage once, without the model's weights."""
    own = {weight.untyped_storage().data_ptr() for weight in [*model.parameters(), *model.buffers(), *weights]}
    storages: dict[int, int] = {}
    alive = []

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own and tensor.is_floating_point():
            storages[storage.data_ptr()] = storage.nbytes()
            alive.append(storage)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        logits = model(ids, use_cache=False).logits
        assert logits.requires_grad
    return sum(storages.values())


def fit(model: Any, plan: floptally.Plan | None = None, **how: Any) -> floptally.Fit:
    cost = floptally.cost(model.config.to_dict())
    bits = {"weight_bits": 32, "gradient_bits": 32, "activation_bits": 32}
    work = cost.flops(lengths=[LENGTH] * BATCH, plan=plan or floptally.Plan())
    return work.fit(**bits, **how)


# What runs besides, and is not counted: of each norm 1 / RMS of a token; of rotary embeddings cos and sin of a position,
# once for all layers. Each is named in docs/plans.md.
NORMS = BATCH * LENGTH * 4 * (2 * LAYERS + 1)


def rotary() -> int:
    return 2 * LENGTH * (HIDDEN // HEADS) * 4


def test_activations_are_the_tensors_that_autograd_keeps() -> None:
    model = tiny()
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    found = kept(model, ids)
    counted = fit(model, fused_elementwise=False).stages[0]
    assert counted.held["activations"] == found - NORMS - rotary()


def test_eager_attention_keeps_the_probabilities() -> None:
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    model = tiny(attention="eager")
    counted = fit(model, fused_elementwise=False, flash_attention=False).stages[0]
    assert counted.held["activations"] == kept(model, ids) - NORMS - rotary()


def test_states_are_those_of_parameters_gradients_and_optimizers() -> None:
    model = tiny()
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    made = {
        "adamw_without_master": torch.optim.AdamW(model.parameters()),
        "sgd_momentum": torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9),
        "sgd": torch.optim.SGD(model.parameters(), lr=0.1),
    }
    for name, optimizer in made.items():
        optimizer.zero_grad()
        model(ids, labels=ids, use_cache=False).loss.backward()
        optimizer.step()
        held = fit(model, optimizer=name).stages[0].held
        assert held["weights"] == sum(weight.numel() * 4 for weight in model.parameters())
        assert held["gradients"] == sum(weight.grad.numel() * 4 for weight in model.parameters())
        tensors = [value for state in optimizer.state.values() for value in state.values()]
        found = sum(value.numel() * 4 for value in tensors if torch.is_tensor(value) and value.dim() > 0)
        assert held["optimizer"] == found


def test_the_logits_are_those_of_all_tokens() -> None:
    model = tiny()
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    logits = model(ids, use_cache=False).logits
    assert fit(model, logits_bits=32).stages[0].held["logits"] == logits.numel() * logits.element_size()


def test_the_cache_is_that_of_a_dynamic_cache() -> None:
    model = tiny(kv_heads=2)
    ids = torch.randint(0, VOCABULARY, (BATCH, LENGTH))
    cache = model(ids, use_cache=True).past_key_values
    found = sum(
        tensor.numel() * tensor.element_size() for layer in cache.layers for tensor in (layer.keys, layer.values)
    )
    plan = floptally.Plan(phase="forward")
    held = fit(model, plan, cached_tokens=BATCH * LENGTH, cache_bits=32).stages[0].held
    assert held["cache"] == found
    assert held["activations"] == held["gradients"] == held["optimizer"] == 0


def test_what_is_frozen_keeps_no_operand() -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    base = tiny()
    config = base.config.to_dict()
    model = peft.get_peft_model(base, peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], lora_dropout=0.0))
    plan = floptally.Plan(
        weights=[
            floptally.WeightSetting("*", "frozen"),
            floptally.WeightSetting("*/q_proj", "lora", rank=8),
            floptally.WeightSetting("*/v_proj", "lora", rank=8),
        ]
    )
    made = floptally.cost(config).flops(lengths=[LENGTH] * BATCH, plan=plan).fit(weight_bits=32, gradient_bits=32)
    stage = made.stages[0]
    assert stage.trainable == sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    assert stage.parameters == sum(weight.numel() for weight in model.parameters())


def test_a_fit_is_the_programs_and_has_words_for_what_is_wrong(tmp_path: Any) -> None:
    model = tiny(kv_heads=2)
    cost = floptally.cost(model.config.to_dict())
    made = cost.flops(lengths=[64, 64]).fit(
        dp=2, tp=2, pp=3, zero="optimizer", sequence_parallel=True, microbatches=4, network_gbps={"tp": 400, "dp": 50}, memory_gib=1
    )
    assert [stage.unsaid for stage in made.stages] == [[], [], []]
    first, _, last = made.stages
    assert first.total > last.total or first.held["activations"] > last.held["activations"]
    assert set(first.groups) == {"tp", "dp", "pp"} and set(first.seconds) == {"tp", "dp"}
    assert first.seconds["tp"] == pytest.approx(first.groups["tp"] / 400e9)
    assert first.groups["tp"] == sum(row.bytes for row in first.sent if row.group == "tp")
    assert "fits: " in str(made) and made.most == max(stage.total for stage in made.stages)
    assert json.loads(made.to_json()) == made.to_dict()
    for how, text in (
        ({"tp": 3}, "num_attention_heads"),
        ({"zero": "2"}, 'zero: must be one of none, optimizer, gradients, weights, got "2"'),
        ({"optimizer": "adam"}, 'optimizer: must be one of adamw, adamw_without_master'),
        ({"context_exchange": "p2p"}, 'context_exchange: must be one of ring, all_gather, ulysses, got "p2p"'),
        ({"network_gbps": {"xp": 1}}, "network_gbps: must be one of tp, cp, dp, pp, ep, expert_dp"),
        ({"network_gbps": -1}, "network_gbps: must be a finite number above 0"),
        ({"memory_gib": 0}, "memory_gib: must be a finite number above 0"),
    ):
        with pytest.raises(floptally.Error) as raised:
            cost.flops(lengths=[64]).fit(**how)
        assert text in str(raised.value)
