# SPDX-License-Identifier: Apache-2.0
"""What a trainer recomputes, read from the model beside the plan; and whose time a step's is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import floptally
import pytest
from floptally import callbacks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

LAYERS = 4
CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": LAYERS, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip
FULL = floptally.Plan(recompute="full", flash_attention=False)
WIDTH = 8


def llama(**more: Any) -> Any:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    options = {key: value for key, value in CONFIG.items() if key not in ("model_type", "architectures")}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**options, attn_implementation="eager", **more))


def new_meter(plan: floptally.Plan | None = None, **options: Any) -> floptally.Meter:
    return floptally.Meter(floptally.cost(CONFIG), gpus=1, peak_tflops=1e-3, plan=plan, **options)


def trained(folder: Path, callback: callbacks.TrainerMeter, model: Any, *, kind: Any = None, steps: int = 2, rows: int = 2,
            **options: Any) -> Any:  # fmt: skip
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    arguments = {
        "output_dir": str(folder), "per_device_train_batch_size": rows, "max_steps": steps, "logging_steps": 1, "report_to": [],
        "use_cpu": True, "disable_tqdm": True, "save_strategy": "no",
    }  # fmt: skip
    data = [{"input_ids": torch.ones(WIDTH, dtype=torch.long), "labels": torch.ones(WIDTH, dtype=torch.long)}] * 16
    trainer = (kind or transformers.Trainer)(
        model=model, args=transformers.TrainingArguments(**{**arguments, **options}), train_dataset=data
    )
    callback.attach(trainer)
    trainer.train()
    return trainer


@pytest.mark.parametrize("reentrant", [True, False])
def test_executed_flops_equal_the_count_of_pytorch_with_trainer_checkpointing(tmp_path: Path, reentrant: bool) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    meter = new_meter(FULL, convention="torch_flop_counter_eager")
    callback = callbacks.TrainerMeter(meter)
    kind = {"use_reentrant": reentrant}
    with FlopCounterMode(display=False) as counter:
        trained(tmp_path, callback, llama(), gradient_checkpointing=True, gradient_checkpointing_kwargs=kind)
    # A checkpoint that is not reentrant stops before a layer's last product, of which nothing is kept.
    last = 0 if reentrant else LAYERS * 2 * (2 * WIDTH) * 24 * 16
    assert meter.run.executed == counter.get_total_flops() + 2 * last
    assert meter.run.executed > meter.run.useful
    assert "the model recomputes all 4 layers" in callback.report()


def test_a_plan_that_recomputes_other_layers_than_the_model_is_an_error_before_the_first_step(tmp_path: Path) -> None:
    meter = new_meter(floptally.Plan(flash_attention=False))
    trained(tmp_path, callbacks.TrainerMeter(meter), llama(), gradient_checkpointing=True)  # a plan that does not say it
    assert meter.plan == FULL and meter.run.executed > meter.run.useful
    with pytest.raises(floptally.Error, match=r"^plan: recomputes attention, but the model recomputes all 4 layers: pass the meter "):
        trained(tmp_path, callbacks.TrainerMeter(new_meter(floptally.Plan(recompute="attention"))), llama(), gradient_checkpointing=True)
    with pytest.raises(floptally.Error, match=r"^plan: recomputes all layers, but the model recomputes nothing: pass the meter "):
        trained(tmp_path, callbacks.TrainerMeter(new_meter(FULL)), llama())
    trusted = callbacks.TrainerMeter(new_meter(FULL), trust_plan=True)
    trained(tmp_path, trusted, llama())
    assert trusted.meter.run.steps == 2 and trusted.notes == ["what is recomputed is what the plan says"]


def checkpointed(every: int) -> Any:
    """A model of which the last of every so many layers is computed again."""
    model = llama()
    model.gradient_checkpointing_enable()
    for place, layer in enumerate(model.model.layers):
        layer.gradient_checkpointing = (place + 1) % every == 0
    return model


def test_activation_recompute_is_read_for_each_layer_of_the_model() -> None:
    for every in (1, 2, 4):
        seen = callbacks.recomputed(checkpointed(every))
        assert seen.stacks == (tuple((place + 1) % every == 0 for place in range(LAYERS)),)
        for planned in (1, 2, 4):
            plan = floptally.Plan(recompute="full", recompute_every=planned)
            assert seen.agrees_with(plan) is (planned == every)
    first = checkpointed(2)
    for place, layer in enumerate(first.model.layers):
        layer.gradient_checkpointing = place % 2 == 0  # as the Trainer's every_n_layers chooses them
    assert callbacks.recomputed(first).agrees_with(floptally.Plan(recompute="full", recompute_every=2))
    assert str(callbacks.recomputed(first)) == "the model recomputes 2 of 4 layers"
    first.model.layers[0].mlp = torch.nn.Linear(16, 16)  # where layers differ it matters which
    assert callbacks.recomputed(first).agrees_with(floptally.Plan(recompute="full", recompute_every=2)) is False
    with pytest.raises(floptally.Error, match="^plan: recomputes one layer in 3, but the model recomputes 2 of 4 layers"):
        callbacks.require_recompute(floptally.Plan(recompute="full", recompute_every=3), checkpointed(2))


def test_activation_checkpoint_wrappers_are_recognised_around_whole_layers_and_around_parts_of_layers() -> None:
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import apply_activation_checkpointing, checkpoint_wrapper

    def wrapped(check: Any) -> Any:
        model = llama()
        apply_activation_checkpointing(model, check_fn=check)
        return model

    layer, attention = (type(part) for part in (llama().model.layers[0], llama().model.layers[0].self_attn))
    whole = callbacks.recomputed(wrapped(lambda module: isinstance(module, layer)))
    assert whole.stacks == ((True,) * LAYERS,) and whole.agrees_with(FULL)
    assert whole.agrees_with(floptally.Plan()) is False
    parts = callbacks.recomputed(wrapped(lambda module: isinstance(module, attention)))
    assert str(parts) == "the model recomputes self_attn" and parts.agrees_with(floptally.Plan()) is False
    said = callbacks.require_recompute(floptally.Plan(recompute="attention"), wrapped(lambda module: isinstance(module, attention)))
    assert said == "the model recomputes self_attn; counted is attention, as the plan says"
    plain = torch.nn.Sequential(*(checkpoint_wrapper(torch.nn.Linear(4, 4)) for _ in range(3)))
    assert callbacks.recomputed(plain).stacks == ((True, True, True),)
    mixed = torch.nn.ModuleList([checkpoint_wrapper(torch.nn.Linear(4, 4)), torch.nn.Linear(4, 4)])
    assert callbacks.recomputed(mixed).stacks == ((True, False),)
    assert callbacks.recomputed(torch.nn.DataParallel(mixed)).stacks == ((True, False),)
    some = checkpoint_wrapper(torch.nn.Linear(4, 4), context_fn=lambda: None)
    selective = callbacks.recomputed(torch.nn.Sequential(some))
    assert selective.selective and selective.agrees_with(FULL) is None and selective.agrees_with(floptally.Plan()) is False


def test_a_model_without_recompute_information_follows_the_plan_with_a_note() -> None:
    plain = torch.nn.Sequential(torch.nn.Linear(4, 4))
    assert callbacks.require_recompute(floptally.Plan(), plain) == (
        "the model does not say what it recomputes; counted is nothing, as the plan says"
    )
    flagged = torch.nn.Module()
    flagged.grad_checkpointing = True  # as timm's models have it
    assert callbacks.recomputed(flagged).agrees_with(FULL)
    assert callbacks.recomputed(flagged).agrees_with(floptally.Plan()) is False
    flagged.grad_checkpointing = False
    assert callbacks.recomputed(flagged).agrees_with(floptally.Plan())


def test_a_lightning_model_that_recomputes_other_layers_than_its_plan_is_an_error(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning", reason="Lightning is not installed")

    class Module(lightning.LightningModule):  # type: ignore[name-defined,misc,unused-ignore]
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def training_step(self, batch: Any, index: int) -> Any:
            return self.model(**batch).loss

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-3)

    def fit(meter: floptally.Meter, model: Any) -> callbacks.LightningMeter:
        callback = callbacks.LightningMeter(meter)
        data = [{"input_ids": torch.ones(WIDTH, dtype=torch.long), "labels": torch.ones(WIDTH, dtype=torch.long)}] * 4
        lightning.Trainer(
            max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, default_root_dir=str(tmp_path), callbacks=[callback],
        ).fit(Module(model), torch.utils.data.DataLoader(data, batch_size=2))  # type: ignore[arg-type]
        return callback

    meter = new_meter(floptally.Plan(recompute="attention"))
    with pytest.raises(floptally.Error, match="^plan: recomputes attention, but the model recomputes all 4 layers"):
        fit(meter, checkpointed(1).train())
    assert meter.run.steps == 0
    unsaid = new_meter()
    fit(unsaid, checkpointed(1).train())
    assert unsaid.plan.recompute == "full" and unsaid.run.steps == 2
    assert "the model recomputes all 4 layers" in fit(new_meter(FULL), checkpointed(1).train()).report()


# ---- whose time it is ----

GENERATION, UPDATE = 1000.0, 10.0


class Clock:
    """Seconds that pass where a test says so, and one at each look."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def generating(transformers: Any, clock: Clock, *, own_model: bool) -> Any:
    """A Trainer that generates within a step, as TRL's GRPO does, by its own model or by another engine."""

    class Engine:
        def generate(self) -> None:
            clock.now += GENERATION

    class Generates(transformers.Trainer):  # type: ignore[name-defined,misc,unused-ignore]
        def __init__(self, *positional: Any, **named: Any) -> None:
            super().__init__(*positional, **named)
            self.engine = Engine()

        def _prepare_inputs(self, inputs: Any) -> Any:
            inputs = super()._prepare_inputs(inputs)
            if own_model:
                clock.now += GENERATION
                with torch.no_grad():
                    self.model(input_ids=inputs["input_ids"])
            else:
                self.engine.generate()
            return inputs

        def compute_loss(self, model: Any, inputs: Any, **options: Any) -> Any:
            found = super().compute_loss(model, inputs, **options)
            clock.now += UPDATE
            return found

    return Generates


@pytest.mark.parametrize("own_model", [True, False])
@pytest.mark.parametrize("accumulation", [1, 2])
def test_step_time_of_rl_training_excludes_generation(tmp_path: Path, own_model: bool, accumulation: int) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    meter, clock = new_meter(), Clock()
    callback = callbacks.TrainerMeter(meter, clock=clock)
    trainer = trained(
        tmp_path, callback, llama(), kind=generating(transformers, clock, own_model=own_model), gradient_accumulation_steps=accumulation
    )
    assert meter.run.useful == 2 * floptally.flops(CONFIG, lengths=[WIDTH] * 2 * accumulation).total
    logged = [line for line in trainer.state.log_history if "mfu_pct" in line]
    assert len(logged) == 2
    for line in logged:
        assert UPDATE * accumulation <= line["step_seconds"] < UPDATE * accumulation + 10  # looks at the clock
        assert line["whole_step_seconds"] >= (GENERATION + UPDATE) * accumulation
    assert "time is of updates alone" in callback.report()


def test_trainer_callback_includes_generation_in_step_time_if_asked_and_refuses_unknown_choices_of_step_time(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    meter, clock = new_meter(), Clock()
    callback = callbacks.TrainerMeter(meter, time="step", clock=clock)
    trained(tmp_path, callback, llama(), kind=generating(transformers, clock, own_model=True))
    assert meter.run.seconds > 2 * GENERATION
    with pytest.raises(floptally.Error, match='^time: must be "auto", "step" or "update", got \'all\'$'):
        callbacks.TrainerMeter(meter, time="all")
