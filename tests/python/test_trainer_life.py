# SPDX-License-Identifier: Apache-2.0
"""Trainers that stop, fail and go on: each batch that a trainer trains is counted once, whatever else it does."""

from __future__ import annotations

import os
import random
import time
import warnings
from pathlib import Path
from typing import Any

import floptally
import numpy as np
import pytest
from floptally import Plan, callbacks
from test_trainer_runs import forget_optimizer, server_of_ranks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip
COST = floptally.cost(CONFIG)
HEAD = 6 * 32 * 16  # FLOPs of the lm_head for a token
WIDTH = 8


def new_meter(**options: Any) -> floptally.Meter:
    return floptally.Meter(COST, **{"gpus": 1, "peak_tflops": 1e-3, **options})


def work_of(*lengths: int) -> int:
    return int(COST.total_flops(lengths=list(lengths)))


class Clock:
    """Seconds that pass where a test says so, and one at each look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


# ---- lists of microbatches, and batches that are not what they seem ----

IDS = [torch.ones(1, n, dtype=torch.long) for n in (3, 5, 8, 2)]


@pytest.mark.parametrize(
    "batches",
    [
        [{"input_ids": one} for one in IDS],
        tuple({"input_ids": one, "attention_mask": torch.ones_like(one)} for one in IDS),
        IDS,
        [{"input_ids": one[0], "attention_mask": torch.ones_like(one[0]), "labels": one[0]} for one in IDS],
        [{"input_ids": one[0].tolist(), "attention_mask": [1] * one.shape[1]} for one in IDS],
    ],
    ids=["dicts", "tuple", "rows", "examples without a collator", "examples as lists"],
)
def test_each_microbatch_of_a_list_is_counted(batches: Any) -> None:
    meter = new_meter()
    with callbacks.step(meter, batches, seconds=1.0):
        pass
    assert meter.run.useful == work_of(3, 5, 8, 2)
    with pytest.raises(floptally.Error, match="^batch: is a list of 4 microbatches"):
        callbacks.batch_arguments(batches)


def test_a_list_of_rows_is_read_as_microbatches_or_as_ids_and_labels_and_any_other_list_is_an_error() -> None:
    ids = torch.tensor([[4, 7, 9]])
    for labels in (ids, torch.tensor([[-100, 7, 9]]), torch.tensor([[7, 9, 0]]), torch.tensor([[0, 1, 2]])):
        assert callbacks.batch_arguments([ids, labels])["lengths"].tolist() == [3]
    with pytest.raises(floptally.Error, match=r"^batch\[1\]: may be another microbatch"):
        callbacks.batch_arguments([ids, torch.tensor([[8, 3, 5]]), torch.tensor([[6, 6, 2]])])
    with pytest.raises(floptally.Error, match="^batch: has tensors of 1 and of 2 rows"):
        callbacks.batch_arguments([ids, torch.ones(2, 3, dtype=torch.long)])


@pytest.mark.parametrize(
    "empty",
    [{"sequences": []}, {"requests": []}, {"new_tokens": []}, {"grid_thw": []}, {"lengths": []},
     {"attention_mask": np.zeros((2, 0), dtype=bool)}, {"grid_thw": np.zeros((0, 3), dtype=np.int64)}],
    ids=str,
)  # fmt: skip
def test_a_microbatch_without_tokens_counts_nothing(empty: Any) -> None:
    meter = new_meter()
    with meter.step(seconds=1.0):
        meter.add(**empty)
        meter.add(lengths=[4])
    assert meter.run.useful == work_of(4)


def test_a_batch_whose_measured_number_of_logits_is_zero_counts_no_lm_head_flops() -> None:
    meter = new_meter(plan=Plan(logits="measured"))
    with meter.step(seconds=1.0):
        meter.add(lengths=[9, 7], logits=[0, 0])
    none = meter.run.useful
    with meter.step(seconds=1.0):
        meter.add(lengths=[9, 7], logits=[9, 7])
    assert none == work_of(9, 7) - 16 * HEAD and meter.last_step.useful == work_of(9, 7)
    with pytest.raises(floptally.Error, match=r"^measured\(logits\)"), meter.step(seconds=1.0):
        meter.add(lengths=[9, 7])  # no amount at all
    assert not meter.in_step


def test_padding_of_an_encoder_decoder_is_counted_in_both_the_encoder_and_the_decoder() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    from torch.utils.flop_counter import FlopCounterMode

    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(vocab_size=61, d_model=16, d_kv=4, num_heads=2, num_layers=2, d_ff=24, decoder_start_token_id=0)
    ).train()
    cost = floptally.cost(model)
    mask = torch.zeros(2, 20, dtype=torch.long)
    mask[0, :10], mask[1, :3] = 1, 1
    labels = torch.full((2, 9), -100)
    labels[0, :5], labels[1, :2] = 1, 1
    batch = {"input_ids": torch.ones(2, 20, dtype=torch.long), "attention_mask": mask, "labels": labels}
    with FlopCounterMode(display=False) as counter:
        model(**batch).loss.backward()
    arguments = callbacks.batch_arguments(batch, cost=cost)
    step = cost.flops(**arguments, convention="torch_flop_counter_eager")
    assert step.padded_total == counter.get_total_flops()
    alone = cost.flops(lengths=[5, 2], encoder_lengths=[10, 3], convention="torch_flop_counter_eager")
    assert step.total == alone.total == alone.padded_total < step.padded_total
    with pytest.raises(floptally.Error, match=r"^encoder_lengths\[0\]: must be at most"):
        cost.flops(lengths=[5], encoder_lengths=[10], encoder_row_length=9)
    with pytest.raises(floptally.Error, match="^encoder_row_length: must be absent: llama has no encoder"):
        COST.flops(lengths=[5], encoder_row_length=9, encoder_lengths=[3])


def test_trainer_callbacks_read_the_number_of_computed_logits_from_the_inputs_of_the_forward(monkeypatch: Any) -> None:
    import sys

    from floptally.callbacks._scored import scored_tokens

    ids = torch.ones(2, 6, dtype=torch.long)
    labels = torch.tensor([[-100, -100, 3, 4, -100, -100], [5, -100, -100, 3, 4, 5]])
    mask = torch.tensor([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]])

    def of(**inputs: Any) -> Any:
        found = scored_tokens(None, {"input_ids": ids, "attention_mask": mask, **inputs})
        return found if found is None else tuple(int(one) for one in found)

    monkeypatch.setitem(sys.modules, "trl.trainer.utils", type("utils", (), {"_use_triton": staticmethod(lambda device: True)}))
    assert of(labels=labels, fused_lm_head=True) == (5, 5)  # the first label of a row has no position before it
    assert of(labels=labels, shift_labels=labels, fused_lm_head=True) == (6, 6)
    assert of(labels=labels) is None and of(logits_to_keep=0) is None
    assert of(logits_to_keep=3) == (4, 6) and of(logits_to_keep=torch.tensor([1, 4])) == (3, 4)
    monkeypatch.setitem(sys.modules, "trl.trainer.utils", type("utils", (), {"_use_triton": staticmethod(lambda device: False)}))
    assert of(labels=labels, fused_lm_head=True) is None  # all positions are scored where tiles have one shape


# ---- steps that cannot be counted ----


@pytest.mark.parametrize("seconds", [0.0, float("nan"), -1.0, float("inf"), True, "1"])
def test_ending_a_step_with_an_invalid_time_is_an_error_that_leaves_no_step_open(seconds: Any) -> None:
    meter = new_meter()
    with pytest.raises(floptally.Error, match="^seconds: must be"), meter.step(seconds):
        meter.add(lengths=[4])
    assert not meter.in_step
    with meter.step(1.0):
        meter.add(lengths=[4])
    assert (meter.run.steps, meter.run.useful) == (1, work_of(4))


def test_a_meter_skips_uncountable_steps_instead_of_raising_if_the_user_asks_for_it() -> None:
    meter = new_meter(on_error="leave_out")
    assert meter.on_error == "leave_out" and new_meter().on_error == "raise"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for seconds, batch in ((1.0, {"lengths": [4]}), (1.0, {"cu_seqlens": [0, 5, 3]}), (1.0, {"cu_seqlens": []}),
                               (0.0, {"lengths": [4]}), (float("nan"), {"lengths": [4]}), (2.0, {"lengths": [6]})):  # fmt: skip
            with meter.step(seconds):
                meter.add(lengths=[7])
                meter.add(**batch)
    assert [str(one.message).split(":")[0] for one in said] == ["cu_seqlens[2]"]
    assert (meter.run.steps, meter.run.useful, meter.run.seconds) == (2, work_of(7, 4, 7, 6), 3.0)
    assert meter.steps_left_out == 4 and meter.scalars()["train/steps_left_out"] == 4
    meter.reset_interval()
    with meter.step(1.0):
        meter.add(cu_seqlens=[])
    assert meter.scalars() == {"train/steps_left_out": 1.0} and meter.scalars("run")["train/steps_left_out"] == 5
    again = new_meter(on_error="leave_out")
    again.load_state_dict(meter.state_dict())
    assert again.steps_left_out == 5 and again.run.useful == meter.run.useful
    with pytest.raises(ZeroDivisionError), meter.step(1.0):  # an error of the loop itself is not hidden
        _ = 1 / 0
    assert not meter.in_step


def test_a_meter_also_leaves_out_uncountable_steps_whose_batches_come_from_a_gpu() -> None:
    class Late:
        def __init__(self, **arguments: Any) -> None:
            self.given = arguments

        def done(self) -> bool:
            return True

        def wait(self) -> None:
            pass

        def arguments(self) -> Any:
            return self.given

    meter = new_meter(on_error="leave_out")
    with pytest.warns(RuntimeWarning, match=r"^cu_seqlens\[2\]"):
        for batch in (Late(lengths=[4]), Late(cu_seqlens=[0, 5, 3]), Late(lengths=[6])):
            with meter.step(1.0):
                meter.add(lengths=[7])
                meter.add_deferred(batch)
        meter.finish()
    assert (meter.run.steps, meter.run.useful, meter.steps_left_out) == (2, work_of(7, 4, 7, 6), 1)


# ---- one plan of the model and of plan= ----


def test_a_plan_passed_by_the_caller_is_merged_with_the_plan_of_the_model_and_contradicting_plans_are_errors() -> None:
    lora = Plan(weights=[floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("*/q_proj", "lora", rank=2)])
    cost = COST.planned(lora)
    both = COST.flops(lengths=[9], plan=Plan(weights=lora.weights, recompute="full"))
    for found in (cost.flops(lengths=[9], plan=Plan(recompute="full")), COST.planned(Plan(recompute="full")).flops(lengths=[9], plan=lora)):
        assert found.to_dict()["flops"] == both.to_dict()["flops"]
    meter = floptally.Meter(cost, gpus=1, peak_tflops=1.0, plan=Plan(recompute="full"))
    assert meter.plan == Plan(weights=lora.weights, recompute="full")
    assert floptally.Tally(cost, plan=Plan(recompute="full")).masks == floptally.Tally(cost).masks
    for other, words in (
        (Plan(weights=[floptally.WeightSetting("mlp", "trainable")]), 'says that "mlp/gate_proj" is trainable, but the model\'s own plan says that it is frozen'),
        (Plan(weights=[floptally.WeightSetting("*/q_proj", "lora", rank=4)]), 'q_proj" is lora of rank 4, but the model\'s own plan says that it is lora of rank 2'),
    ):
        with pytest.raises(floptally.Error, match=f"^plan: .*{words}"):
            cost.flops(lengths=[9], plan=other)
    with pytest.raises(floptally.Error, match='^plan: says recompute="attention", but the model\'s own plan says recompute="full"'):
        COST.planned(Plan(recompute="full")).flops(lengths=[9], plan=Plan(recompute="attention"))
    assert cost.planned(Plan()).flops(lengths=[9]).total == work_of(9)  # planned() replaces


def transformers_llama(**options: Any) -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    torch.manual_seed(0)
    known = {key: value for key, value in CONFIG.items() if key not in ("model_type", "architectures")}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**known, attn_implementation="eager", **options)).train()


def frozen_cases() -> dict[str, Any]:
    def parts(model: Any, *names: str, trains: bool = False) -> None:
        for name, parameter in model.named_parameters():
            if any(one in name for one in names):
                parameter.requires_grad_(trains)

    def only(model: Any, *names: str) -> None:
        model.requires_grad_(False)
        parts(model, *names, trains=True)

    return {
        "all": lambda model: None,
        "first layer and embedding": lambda model: parts(model, "layers.0.", "embed"),
        "head alone": lambda model: only(model, "lm_head", *(["embed"] if model.config.tie_word_embeddings else [])),
        "last layer alone": lambda model: only(model, "layers.1."),
        "no MLP": lambda model: parts(model, "mlp"),
        "one projection alone": lambda model: only(model, "layers.1.self_attn.q_proj"),
    }


@pytest.mark.parametrize("case", frozen_cases())
@pytest.mark.parametrize("tied", [False, True])
def test_the_plan_of_a_model_is_read_from_its_frozen_weights(case: str, tied: bool) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    if int(transformers.__version__.split(".")[0]) < 5:
        pytest.skip("transformers 4 multiplies rotary embeddings by a product, which PyTorch's counter sees")
    model = transformers_llama(tie_word_embeddings=tied)
    frozen_cases()[case](model)
    with FlopCounterMode(display=False) as counter:
        model(input_ids=torch.ones(2, 7, dtype=torch.long)).logits.sum().backward()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cost = floptally.cost(model)
    assert cost.flops(lengths=[7, 7], convention="torch_flop_counter_eager").total == counter.get_total_flops()
    config = {**model.config.to_dict(), "architectures": ["LlamaForCausalLM"]}  # it does not know what trains
    meter = floptally.Meter(floptally.cost(config), gpus=1, peak_tflops=1e-3)
    adapter = callbacks.MeterAdapter(meter)
    adapter.watch(model)
    assert meter.plan == cost.plan


def test_a_module_that_differs_from_its_config_is_an_error() -> None:
    model = transformers_llama()
    model.model.layers = model.model.layers[:1]
    with pytest.raises(floptally.Error, match=r"^config: describes \d+ parameters, but the LlamaForCausalLM has .*from_torch"):
        floptally.cost(model)
    model = transformers_llama()
    model.extra = torch.nn.Linear(16, 16)
    with pytest.warns(UserWarning, match="the LlamaForCausalLM has .* what the config does not describe is not counted"):
        floptally.cost(model)


def test_the_plan_of_a_diffusers_model_is_read_from_its_adapters_and_frozen_weights(source: Path) -> None:
    diffusers = pytest.importorskip("diffusers", reason="diffusers is not installed")
    peft = pytest.importorskip("peft", reason="peft is not installed")
    import json
    import sys

    sys.path.insert(0, str(source / "tests" / "golden" / "zoo"))
    try:
        import diffusion_cases
    finally:
        sys.path.pop(0)
    golden = {one["id"]: one for one in json.loads((source / "tests" / "golden" / "diffusion_lora.json").read_text())}
    attention = ["to_q", "to_k", "to_v", "to_out.0", "add_q_proj", "add_k_proj", "add_v_proj", "to_add_out"]
    for name in ("FluxTransformer2DModel", "WanTransformer3DModel"):
        arguments, _ = getattr(diffusion_cases, name)(random.Random(f"{name} 0"))
        model = getattr(diffusers, name)(**arguments).train()
        model.requires_grad_(False)
        assert [setting.state for setting in floptally.cost(model).plan.weights] == ["frozen"]
        model.add_adapter(peft.LoraConfig(r=4, target_modules=attention))
        one = golden[f"{name}/0"]
        counted = floptally.cost(model).flops(grid_thw=one["grids"], encoder_lengths=one["texts"], convention="torch_flop_counter")
        assert counted.total == one["forward"] + one["backward"]


def test_a_run_continues_under_another_plan_in_a_new_interval() -> None:
    meter = new_meter()
    with meter.step(1.0):
        meter.add(lengths=[9])
    before = meter.run.executed
    model = transformers_llama()
    adapter = callbacks.MeterAdapter(meter)
    adapter.watch(model)
    assert meter.interval.steps == 1
    model.gradient_checkpointing_enable()
    with pytest.warns(RuntimeWarning, match="^the plan changes within the run"):
        adapter.watch(model)
    assert meter.plan.recompute == "full" and meter.interval.steps == 0 and meter.run.executed == before
    with meter.step(1.0):
        meter.add(lengths=[9])
    recomputed = COST.flops(lengths=[9], plan=Plan(recompute="full")).executed_total
    assert meter.run.executed == before + recomputed and meter.run.useful == 2 * work_of(9)
    saved = meter.state_dict()
    again = new_meter(plan=Plan(recompute="full"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.load_state_dict(saved)
    assert again.run.executed == meter.run.executed


# ---- Hugging Face ----


def trainer_of(folder: Path, model: Any = None, *, rows: int = 16, kind: Any = None, callback_list: Any = None, **options: Any) -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    arguments = {
        "output_dir": str(folder), "per_device_train_batch_size": 2, "max_steps": 3, "logging_steps": 1, "report_to": [],
        "use_cpu": True, "disable_tqdm": True, "save_strategy": "no",
    }  # fmt: skip
    data = [{"input_ids": torch.ones(WIDTH, dtype=torch.long), "labels": torch.ones(WIDTH, dtype=torch.long)}] * rows
    return (kind or transformers.Trainer)(
        model=transformers_llama() if model is None else model, args=transformers.TrainingArguments(**{**arguments, **options}),
        train_dataset=data, eval_dataset=data[:2], callbacks=callback_list,
    )  # fmt: skip


STEP = work_of(WIDTH, WIDTH)


def test_a_second_call_of_train_after_an_interruption_counts_each_batch_once(tmp_path: Path) -> None:
    meter = new_meter()
    trainer = trainer_of(tmp_path)
    callback = callbacks.TrainerMeter(meter).attach(trainer)
    compute, calls = trainer.compute_loss, []

    def interrupted(*given: Any, **others: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return compute(*given, **others)

    trainer.compute_loss = interrupted
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert meter.run.useful == STEP
    trainer.train()
    assert meter.run.useful == 4 * STEP and meter.run.steps == 4
    assert not trainer.model._forward_pre_hooks and not trainer.model._forward_hooks and not callback.meter.in_step


def test_training_after_an_interruption_inside_a_forward_counts_every_step(tmp_path: Path) -> None:
    meter = new_meter()
    model = transformers_llama()
    trainer = trainer_of(tmp_path, model)
    callbacks.TrainerMeter(meter).attach(trainer)
    calls = []

    def interrupts(*given: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt

    handle = model.model.layers[1].register_forward_pre_hook(interrupts)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert meter.run.useful == STEP
    handle.remove()
    trainer.train()
    assert meter.run.useful == 4 * STEP and meter.run.steps == 4


def test_trainer_callback_removes_its_hooks_from_a_model_that_another_model_replaces(tmp_path: Path) -> None:
    """A run that was interrupted leaves its hooks on the model; the next run, of another model, removes them."""
    first, second = transformers_llama(), transformers_llama()
    trainer = trainer_of(tmp_path, first)
    meter = new_meter()
    callback = callbacks.TrainerMeter(meter).attach(trainer)
    arguments = trainer.args, trainer.state, trainer.control
    callback.on_train_begin(*arguments, model=first)
    callback.on_step_begin(*arguments)
    assert first._forward_pre_hooks
    callback.on_train_begin(*arguments, model=second)
    assert not first._forward_pre_hooks and not first._forward_hooks and len(second._forward_pre_hooks) == 1
    callback.on_train_end(*arguments)
    assert not second._forward_pre_hooks and not second._forward_hooks


def test_a_retry_with_smaller_batches_after_an_out_of_memory_error_counts_each_batch_once(tmp_path: Path) -> None:
    meter = new_meter()
    trainer = trainer_of(tmp_path, auto_find_batch_size=True, per_device_train_batch_size=8, max_steps=2)
    callbacks.TrainerMeter(meter).attach(trainer)
    compute = trainer.compute_loss

    def out_of_memory(model: Any, inputs: Any, **others: Any) -> Any:
        if len(inputs["input_ids"]) > 2:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return compute(model, inputs, **others)

    trainer.compute_loss = out_of_memory
    trainer.train()
    assert meter.run.steps == trainer.state.global_step == 2
    assert meter.run.useful == 2 * work_of(*[WIDTH] * trainer._train_batch_size)


def test_a_trainer_callback_that_is_attached_twice_counts_each_batch_once(tmp_path: Path) -> None:
    meter = new_meter()
    callback = callbacks.TrainerMeter(meter)
    trainer = trainer_of(tmp_path, callback_list=[callback])
    callback.attach(trainer)
    callback.attach(trainer)
    trainer.add_callback(callback)
    trainer.train()
    assert meter.run.useful == 3 * STEP and meter.run.steps == 3


def test_two_meters_of_one_trainer_save_separate_states(tmp_path: Path) -> None:
    def run(steps: int, resume: Any) -> list[floptally.Meter]:
        meters = [new_meter(), new_meter(convention="megatron"), new_meter(convention="palm")]
        trainer = trainer_of(tmp_path, max_steps=steps, save_strategy="steps", save_steps=2)
        for meter, prefix in zip(meters, ("train/", "megatron/", "megatron/"), strict=True):
            callbacks.TrainerMeter(meter, prefix=prefix).attach(trainer)
        trainer.train(resume_from_checkpoint=resume)
        return meters

    first = [meter.run.useful for meter in run(2, None)]
    assert len(set(first)) == 3
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="the saved run")
        again = run(4, str(tmp_path / "checkpoint-2"))
    assert [meter.run.useful for meter in again] == [2 * each for each in first]
    assert [meter.run.steps for meter in again] == [4, 4, 4]


def test_step_time_includes_waiting_for_data_but_not_evaluation_or_saving(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    clock = Clock()

    class Slow(transformers.TrainerCallback):  # type: ignore[name-defined,misc,unused-ignore]
        def on_prediction_step(self, *given: Any, **others: Any) -> None:
            clock.now += 1e6

    def collate(rows: Any) -> Any:
        if trainer.model.training:
            clock.now += 1000.0
        return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}

    trainer = trainer_of(tmp_path, eval_strategy="steps", eval_steps=2, save_strategy="steps", save_steps=2, callback_list=[Slow()],
                         max_steps=4)  # fmt: skip
    meter = new_meter()
    callbacks.TrainerMeter(meter, clock=clock).attach(trainer)
    trainer.data_collator = collate
    trainer.train()
    assert 4000 <= meter.run.seconds < 4200


def test_step_time_excludes_an_evaluation_inside_the_step(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    clock = Clock()

    class Evaluates(transformers.TrainerCallback):  # type: ignore[name-defined,misc,unused-ignore]
        def on_substep_end(self, *given: Any, **others: Any) -> None:
            trainer.evaluate()

        def on_prediction_step(self, *given: Any, **others: Any) -> None:
            clock.now += 1e6

    trainer = trainer_of(tmp_path, gradient_accumulation_steps=2, callback_list=[Evaluates()])
    meter = new_meter()
    callbacks.TrainerMeter(meter, clock=clock).attach(trainer)
    trainer.train()
    assert meter.run.useful == 6 * STEP and meter.run.steps == 3 and meter.run.seconds < 100


@pytest.mark.parametrize("skips", [True, False])
def test_a_resumed_run_counts_each_step_whether_data_is_skipped_or_not(tmp_path: Path, skips: bool) -> None:
    trainer = trainer_of(tmp_path, max_steps=2, save_strategy="steps", save_steps=2)
    callbacks.TrainerMeter(new_meter()).attach(trainer)
    trainer.train()
    clock = Clock()

    def collate(rows: Any) -> Any:
        clock.now += 1000.0
        return {name: torch.stack([row[name] for row in rows]) for name in rows[0]}

    meter = new_meter()
    again = trainer_of(tmp_path, max_steps=4, ignore_data_skip=not skips)
    callbacks.TrainerMeter(meter, clock=clock).attach(again)
    again.data_collator = collate
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-2"))
    assert meter.run.useful == 4 * STEP and meter.run.steps == 4
    # The loader is one batch ahead. Of a resume that skips, the first wait reads what was trained before.
    assert meter.run.seconds < (2200 if skips else 3200)


@pytest.mark.parametrize("how", ["torch_compile", "model.compile"])
def test_a_compiled_model_is_counted_without_a_break_of_its_graph(tmp_path: Path, how: str) -> None:
    model = transformers_llama(use_cache=False)
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    trainer = trainer_of(tmp_path, model)
    meter = new_meter()
    callback = callbacks.TrainerMeter(meter).attach(trainer)
    if how == "model.compile":
        model.compile(fullgraph=True, backend=backend)
    else:
        trainer.model_wrapped = torch.compile(model, fullgraph=True, backend=backend)
    run = model if how == "model.compile" else trainer.model_wrapped
    arguments = trainer.args, trainer.state, trainer.control
    trainer.callback_handler.on_train_begin(*arguments)  # what a Trainer calls, without the loop that would move the model
    callback._hooks.register(model, trainer.model_wrapped, callback._before_forward, callback._redirected)
    inputs = {"input_ids": torch.ones(2, WIDTH, dtype=torch.long), "labels": torch.ones(2, WIDTH, dtype=torch.long)}
    for _ in range(2):
        callback.on_step_begin(*arguments)
        run(**inputs).loss.backward()
        callback.on_step_end(*arguments)
    callback.on_train_end(*arguments)
    assert meter.run.useful == 2 * STEP and graphs  # fullgraph=True raises at a break
    run(**inputs)
    assert meter.run.useful == 2 * STEP


def test_lm_head_flops_are_counted_only_for_tokens_whose_logits_the_trainer_keeps(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    class Keeps(transformers.Trainer):  # type: ignore[name-defined,misc,unused-ignore]
        def compute_loss(self, model: Any, inputs: Any, **others: Any) -> Any:
            return model(input_ids=inputs["input_ids"], logits_to_keep=2).logits.sum()

    meter = new_meter()
    trainer = trainer_of(tmp_path, kind=Keeps, max_steps=2)
    callback = callbacks.TrainerMeter(meter).attach(trainer)
    trainer.train()
    assert meter.run.useful == 2 * (STEP - 2 * WIDTH * HEAD + 2 * 2 * HEAD) and meter.plan.logits == "measured"
    assert "the lm_head is counted on the tokens that the trainer scores" in callback.report()


def test_no_call_of_a_trainer_callback_synchronises_the_device(tmp_path: Path, monkeypatch: Any) -> None:
    """With a stand-in for a GPU: events that time nothing, and a synchronisation that fails."""
    from floptally.callbacks import _gpu_time

    class Event:
        created: list[Any] = []

        def __init__(self, enable_timing: bool = False) -> None:
            self.created.append(self)
            self.place = len(self.created)

        def record(self, *given: Any) -> None:
            pass

        def query(self) -> bool:
            return Event.ready

        def synchronize(self) -> None:
            raise AssertionError("the host waits for the GPU within training")

        def elapsed_time(self, other: Any) -> float:
            return 1000.0 * (other.place - self.place)

        ready = True

    def refuses(*given: Any) -> None:
        raise AssertionError("the device is synchronised")

    monkeypatch.setattr(torch.cuda, "synchronize", refuses)
    fake = type("torch", (), {"cuda": type("cuda", (), {"is_available": staticmethod(lambda: True), "is_initialized": staticmethod(lambda: True), "Event": Event})})
    monkeypatch.setattr(_gpu_time, "sys", type("sys", (), {"modules": {"torch": fake}}))
    meter = new_meter()
    trainer = trainer_of(tmp_path)
    callback = callbacks.TrainerMeter(meter, time="update").attach(trainer)
    trainer.train()
    assert (meter.run.steps, meter.run.seconds, meter.run.useful) == (3, 3.0, 3 * STEP)  # each update is one second
    # While events have not arrived, steps wait; they join in order.
    late = callbacks.TrainerMeter(new_meter(), time="update")
    for _ in range(2):
        Event.ready = False
        late.begin()
        late.add({"input_ids": torch.ones(2, WIDTH, dtype=torch.long)})
        timed = _gpu_time.UpdateTime(late._clock)
        timed.start()
        timed.stop()
        late.end(timed)
        assert late.meter.run.steps == 0 and not late.meter.in_step
    Event.ready = True
    late.begin()
    assert late.meter.run.steps == 2 and late.meter.run.useful == 2 * STEP
    assert callback.batches_left_out == 0


class Engine:
    """As vLLM's: generates outside of the model."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def generate(self, prompts: Any) -> Any:
        self.clock.now += 1000.0
        return prompts


@pytest.mark.parametrize("how", ["engine", "rollout_func", "model", "other thread", "none"])
def test_step_time_covers_only_the_updates_if_a_trainer_also_generates_within_a_step(tmp_path: Path, how: str) -> None:
    clock, meter = Clock(), new_meter()
    trainer = trainer_of(tmp_path)
    compute = trainer.compute_loss
    # Names that trainers have who generate, and others too, say nothing.
    trainer.args.num_generations = trainer.args.max_completion_length = trainer.args.use_vllm = 4
    trainer.engine = Engine(clock)
    trainer.rollout_func = lambda prompts, owner: Engine(clock).generate(prompts)

    def rolls_out(model: Any, inputs: Any, **others: Any) -> Any:
        if how == "engine":
            trainer.engine.generate(["a prompt"])
        elif how == "rollout_func":
            trainer.rollout_func(["a prompt"], trainer)
        elif how == "model":
            clock.now += 1000.0
            with torch.no_grad():
                model(input_ids=inputs["input_ids"])
        elif how == "other thread":  # no call that a trainer's callback can see within the step
            clock.now += 1000.0
        return compute(model, inputs, **others)

    trainer.compute_loss = rolls_out
    callback = callbacks.TrainerMeter(meter, clock=clock).attach(trainer)
    trainer.train()
    assert meter.run.steps == 3 and meter.run.useful == 3 * STEP
    generates = how in ("engine", "rollout_func", "model")
    assert ("time is of updates alone" in callback.report()) == generates
    assert (meter.run.seconds > 3000) == (how == "other thread") and meter.run.seconds < 3200
    logged = [line for line in trainer.state.log_history if "loss" in line]
    assert all(("whole_step_seconds" in line) == generates for line in logged)
    assert not generates or all(line["whole_step_seconds"] > 1000 for line in logged)  # of the first step too
    assert "generate" not in vars(trainer.engine) and trainer.rollout_func.__name__ == "<lambda>"


def test_trainer_releases_older_than_the_oldest_tested_release_are_an_error() -> None:
    from types import ModuleType

    from floptally.callbacks._releases import OLDEST, require_release

    for name, (major, minor) in OLDEST.items():
        package = ModuleType(name)
        for version in (f"{major}.{minor}.0", f"{major}.{minor}.0.dev0", f"{major + 1}.0", "of a checkout"):
            package.__version__ = version  # type: ignore[attr-defined]
            require_release(package, name)
        package.__version__ = f"{major}.{minor - 1}.9" if minor > 0 else f"{major - 1}.99"  # type: ignore[attr-defined]
        with pytest.raises(floptally.Error, match=f"^{name}: must be release {major}[.]{minor} or a newer one .* update it"):
            require_release(package, name)


def test_a_model_whose_forward_is_replaced_for_one_call_is_counted(tmp_path: Path) -> None:
    """As TRL's distillation does: the model's forward is replaced for one call, and the method calls the backbone."""
    model = transformers_llama()
    trainer = trainer_of(tmp_path, model, max_steps=2)
    meter = new_meter()
    callbacks.TrainerMeter(meter).attach(trainer)

    def compute(wrapped: Any, inputs: Any, **others: Any) -> Any:
        original = model.forward

        def redirected(*given: Any, **named: Any) -> Any:
            model.forward = original
            return model.model(input_ids=given[1]["input_ids"]).last_hidden_state.sum()

        model.forward = redirected
        return wrapped(model, inputs)

    trainer.compute_loss = compute
    trainer.train()
    assert meter.run.useful == 2 * STEP


@pytest.mark.parametrize("attach", [True, False])
def test_the_number_of_gpus_of_a_trainer_need_not_be_passed(tmp_path: Path, attach: bool) -> None:
    meter = floptally.Meter(COST, peak_tflops=1e-3)
    callback = callbacks.TrainerMeter(meter)
    trainer = trainer_of(tmp_path, callback_list=None if attach else [callback])
    if attach:
        callback.attach(trainer)
    trainer.train()
    assert meter.gpus == 1 and meter.run.useful == 3 * STEP


def test_a_number_of_gpus_that_contradicts_the_ddp_processes_of_the_trainer_is_an_error() -> None:
    meter = floptally.Meter(COST, peak_tflops=1.0, gpus=8, counted="all_gpus")
    with pytest.raises(floptally.Error, match=r"^gpus: must be 1, .*\(DDP over 8 of 8 processes\), got 8"):
        callbacks.MeterAdapter(meter).know_gpus(8, 1, "DDP over 8 of 8 processes")
    unsaid = floptally.Meter(COST, peak_tflops=1.0)
    adapter = callbacks.MeterAdapter(unsaid)
    adapter.know_gpus(8, 2, "DDP over 4 of 8 processes, tp 2")
    assert unsaid.gpus == 2 and "MFU is of 2 GPUs of 8" in adapter.report()


# ---- Lightning ----


def lightning_run(folder: Path, callback: Any, module: Any = None, **options: Any) -> Any:
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")
    data = [{"input_ids": torch.ones(WIDTH, dtype=torch.long)}] * 12
    loader = torch.utils.data.DataLoader(data, batch_size=2)  # type: ignore[arg-type]
    trainer = lightning.Trainer(
        **{"max_epochs": 1, "accelerator": "cpu", "logger": False, "enable_checkpointing": False, "enable_progress_bar": False,
           "enable_model_summary": False, "default_root_dir": str(folder), "callbacks": callback if isinstance(callback, list) else [callback],
           **options}
    )  # fmt: skip
    trainer.fit(module or lightning_module(), loader, loader)
    return trainer


def lightning_module(passes: int = 1, none_at: tuple[int, ...] = (), validates: Any = None, manual: bool = False) -> Any:
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")

    class Module(lightning.LightningModule):  # type: ignore[name-defined,misc,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Embedding(32, 4)
            self.automatic_optimization = not manual

        def forward(self, ids: Any) -> Any:
            return self.net(ids).sum()

        def training_step(self, batch: Any, index: int) -> Any:
            if manual:
                optimizer = self.optimizers()
                for _ in range(passes):
                    optimizer.zero_grad()
                    self.manual_backward(self(batch["input_ids"]))
                optimizer.step()
                return None
            loss = sum(self.net(batch["input_ids"]).sum() for _ in range(passes))
            with torch.no_grad():
                self.net(batch["input_ids"])  # no pass with gradients
            return None if index in none_at else loss

        def validation_step(self, batch: Any, index: int) -> Any:
            if validates is not None:
                validates()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    return Module()


@pytest.mark.parametrize("manual", [False, True])
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_the_lightning_callback_counts_each_pass_of_a_training_step(tmp_path: Path, passes: int, manual: bool) -> None:
    meter = new_meter()
    lightning_run(tmp_path, callbacks.LightningMeter(meter), lightning_module(passes, manual=manual))
    assert meter.run.useful == 6 * passes * STEP and meter.run.steps == 6


def test_the_lightning_callback_does_not_count_batches_whose_training_step_returns_none(tmp_path: Path) -> None:
    meter = new_meter()
    lightning_run(tmp_path, callbacks.LightningMeter(meter), lightning_module(none_at=(1, 4)), accumulate_grad_batches=2)
    assert meter.run.useful == 4 * STEP


def test_step_time_excludes_lightning_validation_inside_gradient_accumulation(tmp_path: Path) -> None:
    clock = Clock()

    def slow() -> None:
        clock.now += 1e6

    meter = new_meter()
    callback = callbacks.LightningMeter(meter, clock=clock)
    lightning_run(tmp_path, callback, lightning_module(validates=slow), accumulate_grad_batches=4, val_check_interval=3)
    assert meter.run.useful == 6 * STEP and meter.run.seconds < 100


def test_two_lightning_meters_save_separate_states(tmp_path: Path) -> None:
    meters = [new_meter(), new_meter(convention="megatron")]
    both = [callbacks.LightningMeter(meters[0]), callbacks.LightningMeter(meters[1], prefix="megatron/")]
    assert both[0].state_key == "LightningMeter" != both[1].state_key
    lightning_run(tmp_path, both)
    assert meters[0].run.useful == 6 * STEP != meters[1].run.useful


# ---- a loop of your own ----


@pytest.mark.parametrize("rank", [0, 1])
def test_lightning_totals_of_ranks_other_than_0_start_anew_at_a_resume_with_a_warning(monkeypatch: Any, rank: int) -> None:
    pytest.importorskip("lightning", reason="Lightning is not installed")
    from floptally.callbacks import lightning as module

    saved = new_meter()
    with saved.step(1.0):
        saved.add(lengths=[5])
    monkeypatch.setattr(module, "_rank", lambda: rank)
    resumed = callbacks.LightningMeter(new_meter())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        resumed.load_state_dict({"meter": saved.state_dict()})
    assert resumed.meter.run.steps == (1 if rank == 0 else 0)
    texts = [str(one.message) for one in said]
    assert texts == resumed.notes[len(COST.assumptions) :] and len(texts) == rank
    assert all("those of rank 1 begin at the resume" in text and "reduce=" in text for text in texts)


def test_step_time_includes_waiting_between_steps_unless_the_meter_is_paused() -> None:
    clock = Clock()
    meter = new_meter(clock=clock)
    for place in range(4):
        clock.now += 1000.0
        if place == 2:
            clock.now += 1e6
            callbacks.pause(meter)  # an evaluation
        with callbacks.step(meter, {"input_ids": IDS[0]}):
            pass
    assert 2000 < meter.run.seconds < 2100  # the first step and the one after the pause began without a wait


# ---- ranks ----


def rank_of_two(rank: int, port: int, folder: str, bad: int) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo")
    from floptally.distributed import Reduction

    layout = floptally.ParallelLayout(rank=rank, dp=2)
    meter = floptally.Meter(COST, peak_tflops=1e-3, reduce=Reduction(COST, layout=layout))
    adapter = callbacks.MeterAdapter(meter)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for step in range(4):
            adapter.begin()
            adapter.add({"input_ids": np.zeros((1, 4 + rank))})
            if step == bad and rank == 1:
                adapter.add({"input_ids": np.zeros((1, 5)), "cu_seqlens": np.array([0, 4, 3, 5])})
            adapter.end()
    texts = [str(one.message) for one in said if "left out" in str(one.message)]
    Path(folder, f"{rank}.txt").write_text(f"{meter.run.steps} {meter.run.useful} {len(texts)} {texts[:1]}")
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("bad", [0, 2])
def test_a_rank_that_cannot_count_its_batch_does_not_block_the_other_ranks(tmp_path: Path, bad: int) -> None:
    run_two(rank_of_two, str(tmp_path), bad)
    found = [(tmp_path / f"{rank}.txt").read_text().split(" ", 3) for rank in range(2)]
    assert [one[:3] for one in found] == [["3", str(3 * work_of(4, 5)), "1"]] * 2
    assert "rank" in found[0][3] and "cu_seqlens[2]" in found[1][3]


def trains_on_rank(rank: int, port: int, folder: str) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    out = Path(folder, str(rank))
    mine = floptally.Meter(COST, peak_tflops=1e-3)
    trainer = trainer_of(out, max_steps=2, ddp_backend="gloo", save_strategy="steps", save_steps=2)
    callback = callbacks.TrainerMeter(mine).attach(trainer)
    trainer.train()
    from floptally.distributed import Reduction

    summed = floptally.Meter(COST, peak_tflops=1e-3, reduce=Reduction(COST))
    model = transformers_llama()
    model.gradient_checkpointing_enable()  # a plan that the reduction does not know yet
    again = trainer_of(out / "summed", model, max_steps=2, ddp_backend="gloo", ddp_find_unused_parameters=False)
    callbacks.TrainerMeter(summed, prefix="all/").attach(again)
    again.train()
    twice = floptally.Meter(COST, peak_tflops=1e-3, gpus=2, counted="all_gpus")
    wrong = trainer_of(out / "wrong", max_steps=1, ddp_backend="gloo")
    callbacks.TrainerMeter(twice).attach(wrong)
    with pytest.raises(floptally.Error, match="^gpus: must be 1, .*DDP over 2 of 2 processes"):
        wrong.train()
    found = (mine.gpus, mine.run.useful, mine.run.steps, summed.gpus, summed.run.useful, summed.plan.recompute)
    Path(folder, f"{rank}.txt").write_text(f"{found}\n{callback.report()}")
    torch.distributed.destroy_process_group()


def goes_on_on_rank(rank: int, port: int, folder: str, checkpoint: str) -> None:
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("gloo")

    class Unequal(torch.utils.data.Dataset[Any]):
        """Two rows of 8 tokens, two of 4 and so on, so that rank 0 trains more than rank 1."""

        def __len__(self) -> int:
            return 16

        def __getitem__(self, place: int) -> Any:
            ids = torch.ones(8 - 4 * (place // 2 % 2), dtype=torch.long)
            return {"input_ids": ids, "labels": ids}

    said = []
    meters = []
    for call, steps in enumerate((2, 4)):
        meter, other = floptally.Meter(COST, peak_tflops=1e-3), floptally.Meter(COST, peak_tflops=1e-3)
        trainer = trainer_of(Path(folder), max_steps=steps, ddp_backend="gloo", save_strategy="steps", save_steps=2)
        trainer._get_train_sampler = lambda *given: torch.utils.data.SequentialSampler(trainer.train_dataset)
        trainer.train_dataset = Unequal()
        callbacks.TrainerMeter(meter).attach(trainer)
        callbacks.TrainerMeter(other, prefix="other/").attach(trainer)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            forget_optimizer(checkpoint if call else None)
            trainer.train(resume_from_checkpoint=checkpoint if call else None)
        said.append(sum("totals begin at the resume" in str(one.message) for one in caught))
        meters.append([(one.run.steps, one.run.useful) for one in (meter, other)])
    Path(folder, f"{rank}.txt").write_text(repr((meters, said)))
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("whose", ["two processes", "one process"])
def test_each_rank_continues_its_own_totals_after_a_resume(tmp_path: Path, whose: str) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    checkpoint = tmp_path / "checkpoint-2"
    if whose == "one process":
        checkpoint = tmp_path / "alone" / "checkpoint-2"
        alone = trainer_of(tmp_path / "alone", max_steps=2, save_strategy="steps", save_steps=2)
        callbacks.TrainerMeter(floptally.Meter(COST, peak_tflops=1e-3)).attach(alone)
        alone.train()
    run_two(goes_on_on_rank, str(tmp_path), str(checkpoint))
    of_ranks = [eval((tmp_path / f"{rank}.txt").read_text()) for rank in range(2)]
    work = [work_of(8, 8), work_of(4, 4)]
    for rank, (meters, said) in enumerate(of_ranks):
        assert meters[0] == [(2, 2 * work[rank])] * 2
        if whose == "two processes":
            assert meters[1] == [(4, 4 * work[rank])] * 2 and said == [0, 0]
        elif rank == 1:  # which has no file in that checkpoint, of one meter
            assert meters[1] == [(2, 2 * work[1])] * 2 and said == [0, 1]
        else:
            assert said == [0, 0]


def run_two(target: Any, *given: Any) -> None:
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = server_of_ranks()
    ranks = [context.Process(target=target, args=(rank, port, *given)) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join(500)
        assert process.exitcode == 0


def test_a_trainer_of_two_processes_needs_no_number_of_gpus(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    run_two(trains_on_rank, str(tmp_path))
    for rank in range(2):
        numbers, *report = (tmp_path / f"{rank}.txt").read_text().splitlines()
        assert numbers == str((1, 2 * STEP, 2, 2, 4 * STEP, "full"))
        assert "DDP over 2 of 2 processes: MFU is of 1 GPU of 2" in report
    # A checkpoint of two processes goes on in one.
    alone = floptally.Meter(COST, peak_tflops=1e-3)
    trainer = trainer_of(tmp_path / "alone", max_steps=4)
    callbacks.TrainerMeter(alone).attach(trainer)
    trainer.train(resume_from_checkpoint=str(tmp_path / "0" / "checkpoint-2"))
    assert alone.run.useful == 4 * STEP and alone.run.steps == 4
