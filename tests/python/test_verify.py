# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own counter beside the library's, on small models as users have them."""

from __future__ import annotations

import functools
import json
import random
import subprocess
import sys
from typing import Any

import pytest

import floptally
from floptally import callbacks

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SIZES = {"vocab_size": 96, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = {**SIZES, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2}

EXPERTS_WITHOUT_NUMBERS = pytest.mark.skipif(
    int(transformers.__version__.split(".")[0]) < 5, reason="before transformers 5, experts ask which tokens they have"
)


def small(kind: str, config: dict[str, Any], attention: str = "sdpa") -> Any:
    """A model of transformers without numbers."""
    result = getattr(transformers, kind)
    with torch.device("meta"):
        return result._from_config(result.config_class(**config), attn_implementation=attention).train()


def padded_batch(rows: int = 3, length: int = 11, lost: int = 4) -> dict[str, Any]:
    ids = torch.randint(5, 90, (rows, length))
    mask = torch.ones_like(ids)
    mask[0, length - lost :] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": ids}


@functools.cache
def angles_are_a_matmul() -> bool:
    """Whether this release of transformers multiplies positions and frequencies by a matmul, as older ones do."""
    from torch.utils.flop_counter import FlopCounterMode

    rotary = transformers.models.llama.modeling_llama.LlamaRotaryEmbedding(transformers.LlamaConfig(**DECODER))
    with FlopCounterMode(display=False) as counter:
        rotary(torch.zeros(1, 3, 32), torch.arange(3)[None])
    return bool(counter.get_total_flops())


def others(made: floptally.Verification) -> dict[str, int]:
    """The named differences, without the angles of rotary positions where this release multiplies them."""
    dropped = {"constants"} if angles_are_a_matmul() else set()
    return {name: flops for name, flops in made.differences.items() if name not in dropped}


def check_sums(made: floptally.Verification) -> None:
    components = made.components.values()
    reasons = ("recompute", "constants", "grouped_convolutions", "input_gradients")
    apart = sum(made.differences.get(name, 0) for name in reasons)
    assert sum(one.pytorch for one in components) == made.pytorch - apart
    assert sum(one.counted for one in components) == made.counted
    assert sum(one.exact for one in components) == made.exact
    assert made.counted + sum(made.terms.values()) == made.exact
    assert made.pytorch - made.counted == sum(made.differences.values()) + made.unexplained


@pytest.mark.parametrize(
    ("kind", "config", "attention"),
    [
        ("LlamaForCausalLM", DECODER, "sdpa"),
        ("LlamaForCausalLM", DECODER, "eager"),
        pytest.param("MixtralForCausalLM", {**DECODER, "num_local_experts": 4}, "sdpa", marks=EXPERTS_WITHOUT_NUMBERS),
        ("BertForMaskedLM", SIZES, "eager"),
    ],
)
def test_verification_finds_equal_flops_in_every_component_of_transformers_models(kind: str, config: dict[str, Any], attention: str) -> None:
    model, batch = small(kind, config, attention), padded_batch()
    for module in model.modules():  # grouped products, the default of experts, have no formula in PyTorch
        if getattr(getattr(module, "config", None), "_experts_implementation", None):
            module.config._experts_implementation = "batched_mm"
    result = floptally.verify(model, batch)
    assert result.equal and result.pytorch == result.counted + result.differences.get("constants", 0)
    assert others(result) == {}
    assert result.source == "config"
    assert result.convention == ("torch_flop_counter" if attention == "sdpa" else "torch_flop_counter_eager")
    arguments = callbacks.batch_arguments(batch)
    assert result.exact == floptally.flops(model, **arguments).total
    names = floptally.flops(model, **arguments).useful.components
    assert set(result.components) == set(names)
    for name, one in result.components.items():
        assert one.difference == 0 and one.modules, name
        assert one.exact == names[name].total
    check_sums(result)
    assert result.terms["padding"] < 0


def test_verification_tells_in_which_component_a_model_differs() -> None:
    model = small("LlamaForCausalLM", DECODER)
    other = floptally.cost({**model.config.to_dict(), "intermediate_size": 49})
    result = floptally.verify(model, padded_batch(3, 11), cost=other)
    more = -3 * 2 * 3 * 32 * 2 * 33  # a column of three matrices in two layers, for 33 slots, forward and twice backward
    assert not result.equal and result.unexplained == more
    assert [name for name, one in result.components.items() if one.difference] == ["mlp"]
    assert result.components["mlp"].difference == more
    assert "without a reason" in result.line and "without a reason" in str(result)
    check_sums(result)


def test_verification_counts_images_of_the_size_in_the_config() -> None:
    config = {**SIZES, "image_size": 32, "patch_size": 8}
    del config["vocab_size"]
    result = floptally.verify(small("ViTForImageClassification", config), {"pixel_values": torch.zeros(2, 3, 32, 32)})
    assert result.equal and result.pytorch == result.counted and result.source == "config"


def test_verification_reports_a_scan_kernel_that_runs_different_matmuls_than_the_cost() -> None:
    config = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 1, "state_size": 4}
    with torch.device("meta"):
        model = transformers.MambaForCausalLM(transformers.MambaConfig(**config)).train()
    result = floptally.verify(model, {"input_ids": torch.zeros(2, 7, dtype=torch.long)})
    assert result.equal and set(result.differences) == {"grouped_convolutions", "recurrent_state"}
    check_sums(result)


def test_verification_explains_the_flops_that_activation_checkpointing_adds() -> None:
    model = small("LlamaForCausalLM", DECODER)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    batch = padded_batch()
    result = floptally.verify(model, batch)
    plan = floptally.Plan(recompute="full")
    again = floptally.flops(model, convention="torch_flop_counter", plan=plan, **callbacks.batch_arguments(batch))
    stopped = 2 * 2 * 33 * 48 * 32  # the last product of both layers, whose result nothing needs again
    assert result.equal and others(result) == {"recompute": again.executed.recompute - stopped}
    assert all(one.difference == 0 for one in result.components.values())


def test_verification_reports_packed_documents_that_run_as_one_row() -> None:
    model = small("LlamaForCausalLM", DECODER)
    ids = torch.randint(5, 90, (1, 12))
    batch = {"input_ids": ids, "position_ids": torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3]])}
    result = floptally.verify(model, batch)
    rows = model.config.num_hidden_layers * 14 * model.config.hidden_size
    assert result.equal and others(result) == {"packed_rows": rows * (12**2 - 5**2 - 3**2 - 4**2)}


def test_verification_reports_frozen_weights() -> None:
    model = small("LlamaForCausalLM", DECODER)
    for parameter in model.model.layers[0].parameters():
        parameter.requires_grad_(False)
    model.model.embed_tokens.requires_grad_(False)
    whole = floptally.cost({**model.config.to_dict(), "architectures": ["LlamaForCausalLM"]})  # does not know what trains
    result = floptally.verify(model, padded_batch(), cost=whole)
    assert result.equal and list(others(result)) == ["frozen_weights"] and result.differences["frozen_weights"] < 0
    assert "frozen" in str(result)
    read = floptally.verify(model, padded_batch())  # of the model, whose plan says it
    assert read.equal and "frozen_weights" not in others(read)


def test_verification_of_a_lora_model_counts_the_matmuls_of_lora_training() -> None:
    peft = pytest.importorskip("peft")
    base = transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))
    model = peft.get_peft_model(base, peft.LoraConfig(r=3, target_modules=["q_proj", "v_proj", "down_proj"]))
    result = floptally.verify(model, padded_batch())
    assert result.equal and result.pytorch == result.counted
    assert result.exact < floptally.flops(base.config, **callbacks.batch_arguments(padded_batch())).total


EVERY_LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
PACKED = [5, 3, 4]


def checkpointed_lora(targets: list[str], reentrant: bool, attention: str = "sdpa") -> Any:
    """A LoRA model of rank 3 under checkpointing. PEFT makes the first layer's inputs need a gradient."""
    peft = pytest.importorskip("peft")
    kind = transformers.LlamaForCausalLM
    base = kind._from_config(kind.config_class(**DECODER), attn_implementation=attention)
    base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
    return peft.get_peft_model(base, peft.LoraConfig(r=3, target_modules=targets)).train()


def packed_batch() -> dict[str, Any]:
    positions = torch.cat([torch.arange(length) for length in PACKED])[None]
    return {"input_ids": torch.randint(5, 90, positions.shape), "position_ids": positions}


@pytest.mark.parametrize("rows", ["padded", "packed"])
@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("targets", [EVERY_LINEAR, ["q_proj", "v_proj"]])
def test_verification_explains_checkpointing_of_a_lora_model(targets: list[str], reentrant: bool, rows: str) -> None:
    model = checkpointed_lora(targets, reentrant)
    batch = padded_batch() if rows == "padded" else packed_batch()
    tokens = batch["input_ids"].numel()
    result = floptally.verify(model, batch)
    assert result.pytorch == counted_by_pytorch(model, batch)
    assert result.equal and result.unexplained == 0
    found = others(result)
    # The gradient of the first layer's inputs: from queries, keys and values, and from the first matrix of their adapters.
    adapters = sum(name in targets for name in ("q_proj", "k_proj", "v_proj"))
    assert found.pop("input_gradients") == tokens * 2 * 32 * (32 + 16 + 16 + 3 * adapters)
    plan = floptally.Plan(recompute="full", weights=floptally.cost(model).plan.weights)
    again = floptally.flops(model, plan=plan, convention="torch_flop_counter", **callbacks.batch_arguments(batch)).executed.recompute
    # Without reentrance the last products of both layers do not run again, since nothing needs their result.
    stopped = 0 if reentrant else 2 * tokens * 2 * (3 * 32 if targets is EVERY_LINEAR else 48 * 32)
    if rows == "packed":
        more = tokens**2 - sum(length**2 for length in PACKED)
        again += 2 * more * 2 * 2 * 32  # scores and values of two layers
        assert found.pop("packed_rows") == 2 * more * 7 * 2 * 32
    else:
        assert all(one.difference == 0 for one in result.components.values())
        check_sums(result)
    assert found == {"recompute": again - stopped}


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("targets", [["v_proj"], ["o_proj"], ["down_proj"]])
def test_verification_explains_gradients_through_frozen_weights_before_the_first_adapter(targets: list[str], attention: str) -> None:
    batch = padded_batch()
    result = floptally.verify(checkpointed_lora(targets, True, attention), batch)
    assert result.equal and set(others(result)) == {"recompute", "input_gradients"}
    assert all(one.difference == 0 for one in result.components.values())
    check_sums(result)


def test_a_weight_that_trains_before_the_first_layer_leaves_no_gradient_without_use() -> None:
    peft = pytest.importorskip("peft")
    base = real("LlamaForCausalLM", DECODER)
    base.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": True})
    model = peft.get_peft_model(base, peft.LoraConfig(r=3, target_modules=["q_proj"], modules_to_save=["embed_tokens"])).train()
    result = floptally.verify(model, padded_batch())
    assert result.equal and set(others(result)) == {"recompute"}


@pytest.mark.parametrize("reentrant", [False, True])
def test_verification_explains_gradients_through_frozen_layers_by_the_cost_that_it_is_given(reentrant: bool) -> None:
    model = real("LlamaForCausalLM", DECODER)
    for parameter in (*model.model.layers.parameters(), *model.model.embed_tokens.parameters()):
        parameter.requires_grad_(False)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
    model.enable_input_require_grads()
    whole = floptally.cost({**model.config.to_dict(), "architectures": ["LlamaForCausalLM"]})  # does not know what trains
    batch, frozen = padded_batch(), 2 * 33 * 2 * 32 * (32 + 16 + 16 + 32 + 3 * 48)  # the products of both layers with weights
    core = 2 * 3 * 11**2 * 5 * 2 * 32  # five products of a fused kernel's backward, in both layers and for each row
    read, given = floptally.verify(model, batch), floptally.verify(model, batch, cost=whole)
    assert read.equal and read.differences["input_gradients"] == frozen + core and "frozen_weights" not in read.differences
    assert given.equal and given.differences["frozen_weights"] == -frozen and "input_gradients" not in given.differences


def test_a_cost_of_from_torch_has_the_gradients_that_run() -> None:
    model, batch = checkpointed_lora(["q_proj", "v_proj"], False), {"input_ids": torch.randint(5, 90, (2, 11))}
    cost = floptally.from_torch(model, batch, lengths=[5, 7, 9, 11, 13])
    result = floptally.verify(model, batch, cost=cost)
    assert result.equal and set(others(result)) == {"recompute"}


class Convolution(torch.nn.Module):  # type: ignore[misc]
    """No config describes it."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = torch.nn.Linear(16, 48)
        self.mix = torch.nn.Conv1d(16, 16, 3, padding=1, groups=4)

    def forward(self, x: Any) -> Any:
        q, k, v = self.qkv(x).unsqueeze(1).chunk(3, -1)
        x = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).squeeze(1)
        return self.mix(x.transpose(1, 2))


class Rotated(torch.nn.Module):  # type: ignore[misc]
    """A layer whose angles are a matmul of positions and frequencies, as older releases of transformers have it."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(width, width)
        self.register_buffer("frequencies", torch.rand(width, 1))

    def forward(self, x: Any) -> Any:
        angles = self.frequencies @ torch.arange(x.shape[1], dtype=torch.float32)[None]
        return self.inner(x * angles.T.cos())


def test_verification_leaves_out_a_matmul_that_involves_neither_data_nor_weights_and_reports_the_matmul() -> None:
    result = floptally.verify(Rotated(8), torch.rand(3, 5, 8))
    assert result.equal and result.differences == {"constants": 2 * 8 * 5}
    check_sums(result)
    cost = floptally.from_torch(Rotated(8), torch.rand(3, 5, 8))
    assert cost.flops(lengths=[5] * 3).total == 3 * 5 * 2 * 8 * 8 * 2  # forward, and the gradient of the weights
    assert any("multiplies neither data nor weights" in note for note in cost.notes)


def test_verification_of_a_module_without_a_spec_counts_the_operators_that_run() -> None:
    result = floptally.verify(Convolution(), torch.zeros(2, 9, 16))
    assert result.source == "from_torch" and result.equal
    # The weight gradient over all 16 channels in place of 4, three taps, 2 x 9 tokens.
    assert result.differences == {"grouped_convolutions": 2 * 18 * 16 * 3 * (16 - 4)}
    assert {name: one.difference for name, one in result.components.items()} == dict.fromkeys(result.components, 0)
    assert any("no spec" in note for note in result.notes)
    check_sums(result)


def test_verification_finds_equal_flops_for_a_diffusers_model() -> None:
    diffusers = pytest.importorskip("diffusers")
    draw = random.Random(5)
    heads, text, image = draw.randint(1, 3), draw.randint(3, 9), draw.randint(4, 30)
    with torch.device("meta"):
        model = diffusers.FluxTransformer2DModel(
            in_channels=8, num_layers=1, num_single_layers=2, attention_head_dim=12, num_attention_heads=heads,
            joint_attention_dim=10, pooled_projection_dim=6, guidance_embeds=False, axes_dims_rope=(4, 4, 4),
        )  # fmt: skip
    batch = {
        "hidden_states": torch.zeros(2, image, 8), "encoder_hidden_states": torch.zeros(2, text, 10),
        "pooled_projections": torch.zeros(2, 6), "timestep": torch.ones(2), "img_ids": torch.zeros(image, 3),
        "txt_ids": torch.zeros(text, 3),
    }  # fmt: skip
    result = floptally.verify(model, batch)
    assert result.equal and result.pytorch == result.counted and result.source == "config"
    assert all(one.difference == 0 and one.modules for one in result.components.values())
    assert result.exact == floptally.flops(model, grid_thw=[(1, 1, image)] * 2, encoder_lengths=[text] * 2).total


def test_verification_gives_a_table_and_json_and_leaves_the_model_unchanged() -> None:
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))
    before = {name: (one.data_ptr(), one.requires_grad) for name, one in model.named_parameters()}
    result = floptally.verify(model, padded_batch())
    assert before == {name: (one.data_ptr(), one.requires_grad) for name, one in model.named_parameters()}
    assert all(one.grad is None for one in model.parameters())
    found = json.loads(result.to_json())
    assert found == result.to_dict() and found["equal"] is True
    assert int(found["pytorch"]) == result.pytorch and result.line in str(result)
    assert "model.layers.*.self_attn.{q_proj,k_proj,v_proj}" in str(result)
    assert "<table>" in result._repr_html_() and "llama" in repr(result)


def test_the_verification_error_without_torch_says_what_to_install() -> None:
    code = "import sys; sys.modules['torch'] = None; import floptally; floptally.verify(None, None)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Error: torch: is not installed" in ran.stderr and "pip install torch" in ran.stderr


def test_the_meter_adapter_verifies_the_first_batch_under_the_plan_of_the_meter() -> None:
    model, batch = small("LlamaForCausalLM", DECODER), padded_batch()
    meter = floptally.Meter(floptally.cost(model), gpus=1, peak_tflops=1e-3)
    loop = callbacks.MeterAdapter(meter, verify=True)
    loop.watch(model)
    for _ in range(2):
        loop.begin()
        loop.add(batch)
        loop.end(1.0)
    assert loop.verification is not None and loop.verification.equal
    assert loop.verification.exact == meter.last_step.useful
    assert [note for note in loop.notes if note.startswith("verified: ")] == [f"verified: {loop.verification.line}"]
    broken = callbacks.MeterAdapter(
        floptally.Meter(floptally.cost(model), gpus=1, peak_tflops=1e-3), verify=True, arguments=lambda one: one["mine"]
    )
    broken.watch(model)
    broken.begin()
    broken.add({"nothing": torch.zeros(2), "mine": {"lengths": [3]}})
    broken.end(1.0)
    assert broken.verification is None and broken.notes[-1].startswith("not verified: ")
    assert broken.meter.last_step.tokens == 3


def test_training_continues_after_the_verification_of_the_first_batch(tmp_path: Any) -> None:
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))
    rows = [{"input_ids": list(range(5, 14)), "labels": list(range(5, 14))}] * 4
    arguments = transformers.TrainingArguments(
        str(tmp_path), max_steps=2, per_device_train_batch_size=2, report_to=[], use_cpu=True, save_strategy="no",
        disable_tqdm=True,
    )  # fmt: skip
    trainer = transformers.Trainer(model, arguments, train_dataset=rows)
    meter = floptally.Meter(floptally.cost(model), gpus=1, peak_tflops=1e-3)
    counter = callbacks.TrainerMeter(meter, verify=True).attach(trainer)
    trainer.train()
    assert counter.verification is not None and counter.verification.equal and others(counter.verification) == {}
    assert meter.run.steps == 2 and meter.run.useful == 2 * counter.verification.exact


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_trainer_meter_verifies_a_lora_model_under_checkpointing(tmp_path: Any, reentrant: bool) -> None:
    peft = pytest.importorskip("peft")
    base = transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))
    model = peft.get_peft_model(base, peft.LoraConfig(r=3, target_modules=EVERY_LINEAR))
    rows = [{"input_ids": list(range(5, 14)), "labels": list(range(5, 14))}] * 4
    arguments = transformers.TrainingArguments(
        str(tmp_path), max_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True, save_strategy="no",
        disable_tqdm=True, gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": reentrant},
    )  # fmt: skip
    trainer = transformers.Trainer(model, arguments, train_dataset=rows)
    meter = floptally.Meter(floptally.cost(model), gpus=1, peak_tflops=1e-3)
    counter = callbacks.TrainerMeter(meter, verify=True).attach(trainer)
    trainer.train()
    assert counter.verification is not None and counter.verification.equal
    assert set(others(counter.verification)) == {"recompute", "input_gradients"}
    assert [note for note in counter.notes if note.startswith("verified: ")] == [f"verified: {counter.verification.line}"]


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("packing", [False, True])
def test_the_trainer_meter_verifies_a_lora_model_under_trl(tmp_path: Any, packing: bool, reentrant: bool) -> None:
    peft, trl, datasets = (pytest.importorskip(name) for name in ("peft", "trl", "datasets"))
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(tokenizers.models.WordLevel({str(n): n for n in range(96)}, unk_token="3"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="2", pad_token="0", unk_token="3")
    rows = datasets.Dataset.from_dict({"input_ids": [list(range(5, 5 + length)) for length in (9, 13, 7, 11)] * 2})
    arguments = trl.SFTConfig(
        str(tmp_path), max_steps=1, per_device_train_batch_size=2, report_to=[], use_cpu=True, bf16=False, save_strategy="no",
        disable_tqdm=True, gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": reentrant}, max_length=32,
        packing=packing, padding_free=packing,
    )  # fmt: skip
    trainer = trl.SFTTrainer(
        transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER)), arguments, train_dataset=rows,
        processing_class=tokenizer, peft_config=peft.LoraConfig(r=3, target_modules=EVERY_LINEAR),
    )  # fmt: skip
    meter = floptally.Meter(floptally.cost(trainer.model), gpus=1, peak_tflops=1e-3)
    counter = callbacks.TrainerMeter(meter, verify=True).attach(trainer)
    trainer.train()
    found = counter.verification
    assert found is not None and found.equal, counter.notes
    reasons = {"recompute", "input_gradients"} | ({"packed_rows"} if packing else set())
    assert set(others(found)) - {"no_formula"} == reasons  # newer releases fuse the lm_head by a product without a formula


class ChunkedHead(torch.autograd.Function):  # type: ignore[misc]
    """Writes a product into a buffer, and runs it again in the backward into another one, as fused heads do."""

    @staticmethod
    def forward(ctx: Any, x: Any, weight: Any) -> Any:
        ctx.save_for_backward(x, weight)
        return torch.mm(x, weight.t(), out=x.new_empty(len(x), len(weight))).exp().sum(1)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        x, weight = ctx.saved_tensors
        scores = torch.mm(x, weight.t(), out=x.new_empty(len(x), len(weight))).exp() * gradients[0][:, None]
        return scores @ weight, scores.t() @ x


class Chunked(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = torch.nn.Linear(8, 8), torch.nn.Linear(8, 20, bias=False)

    def forward(self, x: Any) -> Any:
        return ChunkedHead.apply(self.inner(x), self.head.weight)


def test_a_product_that_a_function_writes_to_a_buffer_again_in_its_backward_is_recomputed() -> None:
    result = floptally.verify(Chunked(), torch.rand(5, 8))
    assert result.equal and result.differences == {"recompute": 2 * 5 * 8 * 20}


def counted_by_pytorch(model: Any, batch: dict[str, Any]) -> int:
    """A real step as FlopCounterMode alone counts it, with the loss of `verify`."""
    from torch.utils.flop_counter import FlopCounterMode

    from floptally._from_torch import summed

    with FlopCounterMode(display=False) as counter:
        summed(model(**batch)).backward()
    return int(counter.get_total_flops())


def real(kind: str, config: dict[str, Any]) -> Any:
    """A model of transformers with numbers."""
    built = getattr(transformers, kind)
    return built._from_config(built.config_class(**config)).train()


@pytest.mark.parametrize("kept", [0, 1, 3, torch.tensor([1, 3, 5, 9])])
def test_verification_counts_the_logits_that_the_batch_keeps(kept: Any) -> None:
    model, ids = real("LlamaForCausalLM", DECODER), torch.randint(5, 90, (2, 11))
    batch = {"input_ids": ids, "logits_to_keep": kept}
    result = floptally.verify(model, batch)
    assert result.pytorch == counted_by_pytorch(model, batch)
    assert result.equal and others(result) == {}
    check_sums(result)


def test_verification_reports_that_a_causal_convolution_computes_padded_positions_and_drops_them() -> None:
    layers = ["conv", "full_attention", "conv"]
    model = real("Lfm2ForCausalLM", {**DECODER, "num_hidden_layers": 3, "layer_types": layers, "conv_L_cache": 3})
    batch = {"input_ids": torch.randint(5, 90, (2, 11))}
    result = floptally.verify(model, batch)
    assert result.pytorch == counted_by_pytorch(model, batch)
    # Two layers, two samples, two positions beyond the last token, three taps of 32 channels, forward and twice backward.
    assert result.equal and result.differences["cut_positions"] == 2 * 2 * 2 * (2 * 3 * 32) * 3
    check_sums(result)


def test_verification_reports_the_logits_between_samples_of_a_contrastive_model() -> None:
    image = {name: value for name, value in SIZES.items() if name != "vocab_size"}
    config = transformers.CLIPConfig(
        text_config={**SIZES, "eos_token_id": 2, "max_position_embeddings": 32},
        vision_config={**image, "image_size": 32, "patch_size": 8},
        projection_dim=16,
    )
    model = transformers.CLIPModel._from_config(config).train()
    result = floptally.verify(model, {"input_ids": torch.ones(3, 11, dtype=torch.long), "pixel_values": torch.rand(3, 3, 32, 32)})
    assert result.equal and others(result) == {"sample_pairs": 3 * 2 * 3 * 3 * 16}


@EXPERTS_WITHOUT_NUMBERS
@pytest.mark.parametrize("experts", ["grouped_mm", "batched_mm", "eager"])
def test_verification_shows_the_flops_that_pytorch_counts_for_each_implementation_of_experts(experts: str) -> None:
    model = real("MixtralForCausalLM", {**DECODER, "num_local_experts": 4})
    for module in model.modules():
        if getattr(getattr(module, "config", None), "_experts_implementation", None):
            module.config._experts_implementation = experts
    batch = {"input_ids": torch.randint(5, 90, (2, 11))}
    result = floptally.verify(model, batch)
    assert result.pytorch == counted_by_pytorch(model, batch) and result.equal
    missing = {"no_formula": result.pytorch - result.counted} if experts == "grouped_mm" else {}
    assert others(result) == missing
    if missing:  # two experts of three matrices for each token, in two layers, forward and twice backward
        assert missing["no_formula"] == -3 * 2 * 22 * 2 * (3 * 2 * 32 * 48)
        assert "so does" not in result.line
    check_sums(result)


def test_verification_of_a_diffusers_model_with_lora_counts_the_flops_of_lora_training() -> None:
    diffusers, peft = pytest.importorskip("diffusers"), pytest.importorskip("peft")
    with torch.device("meta"):
        model = diffusers.FluxTransformer2DModel(
            in_channels=8, num_layers=1, num_single_layers=1, attention_head_dim=12, num_attention_heads=2,
            joint_attention_dim=10, pooled_projection_dim=6, guidance_embeds=False, axes_dims_rope=(4, 4, 4),
        )  # fmt: skip
    model.requires_grad_(False)
    model.add_adapter(peft.LoraConfig(r=3, target_modules=["to_q", "to_v"]))
    with pytest.raises(floptally.Error, match="all attention weights must be trained in the same way .*from_torch"):
        floptally.cost(model)
    batch = {
        "hidden_states": torch.zeros(2, 9, 8), "encoder_hidden_states": torch.zeros(2, 5, 10),
        "pooled_projections": torch.zeros(2, 6), "timestep": torch.ones(2), "img_ids": torch.zeros(9, 3),
        "txt_ids": torch.zeros(5, 3),
    }  # fmt: skip
    result = floptally.verify(model, batch)
    assert result.equal and result.pytorch == result.counted and result.source == "from_torch"


PADDED_PAIR = {
    "vocab_size": 97, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
SPEECH = {**PADDED_PAIR, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 32}
T5 = {"vocab_size": 97, "d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("T5ForConditionalGeneration", T5), ("BartForConditionalGeneration", PADDED_PAIR), ("MarianMTModel", PADDED_PAIR),
        ("PegasusForConditionalGeneration", PADDED_PAIR), ("MBartForConditionalGeneration", PADDED_PAIR),
        ("WhisperForConditionalGeneration", SPEECH),
    ],
)  # fmt: skip
def test_a_padded_batch_of_an_encoder_decoder_is_verified_without_a_difference(kind: str, config: dict[str, Any]) -> None:
    torch.manual_seed(0)
    model = getattr(transformers, kind)
    model = model(model.config_class(**config))
    ids, labels = torch.randint(3, 97, (2, 12)), torch.randint(3, 97, (2, 9))
    mask = torch.ones_like(ids)
    mask[1, 7:], labels[0, 5:] = 0, -100
    inputs = {"input_features": torch.randn(2, 16, 40)} if config is SPEECH else {"input_ids": ids, "attention_mask": mask}
    made = floptally.verify(model, {**inputs, "labels": labels})
    assert made.unexplained == 0 and made.differences == {} and made.exact < made.pytorch
