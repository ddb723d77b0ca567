# SPDX-License-Identifier: Apache-2.0
"""A trainer's life at random: begin, step, microbatch, evaluate, fail, retry, save, resume, end, in any order a trainer
allows. A plain sum says what must have been counted.

FLOPTALLY_SEQUENCES sets how many sequences run; .ci/long runs 100 000."""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import floptally
import pytest
from floptally import Plan, callbacks

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip
COST = floptally.cost(CONFIG)
SEQUENCES = int(os.environ.get("FLOPTALLY_SEQUENCES", "200"))
SEED = int(os.environ.get("FLOPTALLY_SEED", "1"))
FLOPS = {length: COST.flops(lengths=[length]).total for length in range(1, 33)}
EXECUTED = {
    (length, again): COST.flops(lengths=[length], plan=Plan(recompute="full" if again else "none")).executed_total
    for length in range(1, 33)
    for again in (False, True)
}


class Clock:
    """Whole seconds, so that every sum of times is exact."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Sum:
    """What the meter must have: plain numbers, added up where training happens."""

    def __init__(self) -> None:
        self.steps = self.useful = self.executed = 0
        self.seconds = 0.0

    def copy(self) -> Sum:
        other = Sum()
        other.__dict__.update(self.__dict__)
        return other

    def add(self, lengths: list[int], seconds: float, again: bool) -> None:
        if seconds <= 0:
            return  # left out with one warning, since no rate can be computed
        self.steps += 1
        self.useful += sum(FLOPS[length] for length in lengths)
        self.executed += sum(EXECUTED[length, again] for length in lengths)
        self.seconds += seconds

    def check(self, meter: floptally.Meter, said: str) -> None:
        done = meter.run
        found = (done.steps, done.useful, done.executed, done.seconds)
        assert found == (self.steps, self.useful, self.executed, self.seconds), said


class GradientCheckpointingLayer(torch.nn.Module):
    """A layer that can be recomputed; the callbacks know it by this name."""

    gradient_checkpointing = False


class SmallModel(torch.nn.Module):
    """A model with two such layers and one weight. Its forward computes nothing: only its call is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([GradientCheckpointingLayer(), GradientCheckpointingLayer()])
        self.weight = torch.nn.Parameter(ONE)

    def recompute(self, on: bool) -> None:
        for layer in self.layers:
            layer.gradient_checkpointing = on

    def forward(self, input_ids: Any) -> Any:
        return input_ids


ONE = torch.ones(())
IDS = {length: torch.ones(1, length, dtype=torch.long) for length in range(1, 33)}


def batch_of(length: int) -> Any:
    return {"input_ids": IDS[length]}


class Life:
    """One process's life of a trainer, by the entry points that the trainer calls."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.clock, self.sum = draw, Clock(), Sum()
        self.events: list[str] = []
        self.again = False  # the model recomputes
        self.model = SmallModel()
        self.saved: tuple[Any, Sum] | None = None
        self.mark: float | None = None  # when the time of the next step began
        self.new()

    def new(self) -> None:
        raise NotImplementedError

    def wait(self) -> None:
        self.clock.now += self.draw.randint(0, 3)

    def lengths(self) -> list[int]:
        return [self.draw.randint(1, 32) for _ in range(self.draw.randint(1, 3))]

    def run(self) -> None:
        self.train_begin()
        for _ in range(self.draw.randint(1, 12)):
            event = self.draw.choice(("step", "step", "step", "evaluate", "save", "fail", "interrupt", "resume", "recompute", "attach"))
            self.events.append(event)
            getattr(self, event)()
            self.wait()
            if not self.meter.in_step:
                self.sum.check(self.meter, f"after {self.events}")
        self.train_end()
        self.sum.check(self.meter, f"after {self.events}")

    meter: floptally.Meter


class HuggingFace(Life):
    def new(self) -> None:
        import transformers

        self.meter = floptally.Meter(COST, peak_tflops=1e-3)
        self.callback = callbacks.TrainerMeter(self.meter, clock=self.clock, time="step")
        self.state, self.control = transformers.TrainerState(), transformers.TrainerControl()
        self.args = ARGUMENTS[0]

    def call(self, event: str) -> None:
        getattr(self.callback, event)(self.args, self.state, self.control, model=self.model)

    def train_begin(self) -> None:
        self.call("on_train_begin")
        self.call("on_epoch_begin")
        self.mark = self.clock.now if self.state.global_step == 0 else None

    def train_end(self) -> None:
        self.call("on_train_end")
        assert not self.model._forward_pre_hooks and not self.model._forward_hooks

    def begin(self) -> None:
        self.wait()  # for data
        self.call("on_step_begin")
        self.mark = self.clock.now if self.mark is None else self.mark

    def microbatches(self, lengths: list[int]) -> float:
        """Runs the forwards of a step, with an evaluation in between now and then. Returns the evaluation's seconds."""
        outside = 0.0
        for place, length in enumerate(lengths):
            self.wait()
            self.model(batch_of(length)["input_ids"])
            self.wait()
            if place + 1 < len(lengths):
                self.call("on_substep_end")
                if self.draw.random() < 0.2:
                    outside += self.evaluation()
        return outside

    def evaluation(self) -> float:
        self.model.eval()
        before = self.clock.now
        with torch.no_grad():
            self.clock.now += self.draw.randint(0, 50)
            self.model(batch_of(7)["input_ids"])
            self.clock.now += self.draw.randint(0, 50)
        self.call("on_evaluate")
        self.model.train()
        return self.clock.now - before

    def step(self) -> None:
        self.begin()
        lengths = self.lengths()
        outside = self.microbatches(lengths)
        self.state.global_step += 1
        self.call("on_step_end")
        assert self.mark is not None
        self.sum.add(lengths, self.clock.now - self.mark - outside, self.again)
        self.mark = self.clock.now
        if self.draw.random() < 0.3:
            self.callback.on_log(self.args, self.state, self.control, logs={"loss": 1.0})

    def fail(self) -> None:
        """A step whose backward fails; the trainer retries it, as after an overflow."""
        self.begin()
        self.microbatches(self.lengths())
        self.call("on_step_begin")  # of the retry, which drops what was there
        self.mark = self.clock.now
        self.model(batch_of(5)["input_ids"])
        self.wait()
        self.call("on_step_end")
        self.sum.add([5], self.clock.now - self.mark, self.again)
        self.state.global_step += 1
        self.mark = self.clock.now

    def interrupt(self) -> None:
        """Ctrl-C or an OOM inside a step, and train() again in the same process."""
        self.begin()
        self.microbatches(self.lengths())
        self.clock.now += 1000
        self.train_begin()

    def attach(self) -> None:
        self.callback._hooks.register(self.model, self.model, self.callback._before_forward, self.callback._redirected)

    def evaluate(self) -> None:
        self.evaluation()
        self.mark = self.clock.now

    def save(self) -> None:
        self.control.should_save = True
        self.step()
        self.control.should_save = False
        self.clock.now += 100
        self.call("on_save")
        self.mark = self.clock.now
        self.saved = ({**self.state.stateful_callbacks}, self.sum.copy(), self.state.global_step)  # type: ignore[assignment]

    def resume(self) -> None:
        """A new process that begins at the last checkpoint."""
        if self.saved is None:
            return
        states, done, step = self.saved  # type: ignore[misc]
        self.model = SmallModel()
        self.model.recompute(self.again)
        self.new()
        self.state.stateful_callbacks, self.state.global_step, self.sum = {**states}, step, done.copy()
        self.train_begin()

    def recompute(self) -> None:
        """Gradient checkpointing is switched, and training starts again from here."""
        self.again = not self.again
        self.model.recompute(self.again)
        self.train_begin()


class Lightning(Life):
    def new(self) -> None:
        self.meter = floptally.Meter(COST, peak_tflops=1e-3)
        self.callback = callbacks.LightningMeter(self.meter, clock=self.clock, progress_bar=False)
        self.model.automatic_optimization = True
        self.loop = type("Loop", (), {"_batches_that_stepped": 0})()
        fit_loop = type("FitLoop", (), {"epoch_loop": self.loop})()
        of_trainer = {"world_size": 1, "global_step": 0, "loggers": [], "log_every_n_steps": 3, "fit_loop": fit_loop}
        self.trainer = type("Trainer", (), of_trainer)()

    def train_begin(self) -> None:
        self.callback.on_train_start(self.trainer, self.model)
        self.callback.on_train_epoch_start(self.trainer, self.model)
        self.mark = self.clock.now

    def train_end(self) -> None:
        self.callback.on_train_end(self.trainer, self.model)
        assert not self.model._forward_pre_hooks

    def microbatches(self, lengths: list[int], finish: bool) -> tuple[list[int], float]:
        trained, outside = [], 0.0
        for place, length in enumerate(lengths):
            self.wait()
            batch = batch_of(length)
            self.callback.on_train_batch_start(self.trainer, self.model, batch, place)
            passes = self.draw.choice((1, 1, 1, 2))
            for _ in range(passes):
                self.model(batch["input_ids"])
            self.wait()
            last = place + 1 == len(lengths)
            if last and not finish:
                return trained, outside
            skipped = self.draw.random() < 0.1
            trained += [] if skipped else [length] * passes
            self.trainer.global_step += last
            self.loop._batches_that_stepped = self.trainer.global_step - last  # Lightning raises it after the callbacks
            self.callback.on_train_batch_end(self.trainer, self.model, {} if skipped else {"loss": 1.0}, batch, place)
            if not last and self.draw.random() < 0.2:
                outside += self.validation()
        return trained, outside

    def validation(self) -> float:
        before = self.clock.now
        self.callback.on_validation_start(self.trainer, self.model)
        self.clock.now += self.draw.randint(0, 50)
        with torch.no_grad():
            self.model(batch_of(7)["input_ids"])
        self.callback.on_validation_end(self.trainer, self.model)
        return self.clock.now - before

    def step(self) -> None:
        trained, outside = self.microbatches(self.lengths(), finish=True)
        assert self.mark is not None
        self.sum.add(trained, self.clock.now - self.mark - outside, self.again)
        self.mark = self.clock.now

    def fail(self) -> None:
        self.microbatches(self.lengths(), finish=False)
        self.callback.on_exception(self.trainer, self.model, ZeroDivisionError())
        self.clock.now += 1000
        self.train_begin()

    interrupt = fail

    def attach(self) -> None:
        self.callback._passes.register(self.model)

    def evaluate(self) -> None:
        self.validation()
        self.mark = self.clock.now

    def save(self) -> None:
        checkpoint: dict[str, Any] = {}
        self.callback.on_save_checkpoint(self.trainer, self.model, checkpoint)
        self.saved = (self.callback.state_dict(), self.sum.copy())
        self.clock.now += 100
        self.callback.on_train_epoch_start(self.trainer, self.model)  # the epoch ended with a checkpoint
        self.mark = self.clock.now

    def resume(self) -> None:
        if self.saved is None:
            return
        state, done = self.saved
        self.model = SmallModel()
        self.model.recompute(self.again)
        self.new()
        self.callback.load_state_dict(state)
        self.sum = done.copy()
        self.train_begin()

    def recompute(self) -> None:
        self.again = not self.again
        self.model.recompute(self.again)
        self.train_begin()


class OwnLoop(Life):
    """A loop of one's own, with the meter alone, that leaves out what cannot be counted."""

    def new(self) -> None:
        self.meter = floptally.Meter(COST, peak_tflops=1e-3, gpus=1, clock=self.clock, on_error="leave_out", plan=self.plan())

    def plan(self) -> Plan:
        return Plan(recompute="full" if self.again else "none")

    def train_begin(self) -> None:
        pass

    def train_end(self) -> None:
        self.meter.finish()

    def step(self) -> None:
        lengths, before = self.lengths(), self.clock.now
        with self.meter.step():
            for length in lengths:
                self.meter.add(lengths=[length])
                self.wait()
        self.sum.add(lengths, self.clock.now - before, self.again)

    def fail(self) -> None:
        bad = self.draw.choice(({"cu_seqlens": [0, 5, 3]}, {"cu_seqlens": []}, {"lengths": [-1]}, {"lengths": [3], "row_length": 2}))
        left_out = self.meter.steps_left_out
        with self.meter.step(self.draw.choice((1.0, 0.0, float("nan")))):
            self.meter.add(lengths=[4])
            self.meter.add(**bad)
        assert self.meter.steps_left_out == left_out + 1

    def interrupt(self) -> None:
        with pytest.raises(KeyboardInterrupt), self.meter.step():
            self.meter.add(lengths=[9])
            raise KeyboardInterrupt

    def attach(self) -> None:
        self.meter.reset_interval()

    def evaluate(self) -> None:
        self.clock.now += 100

    def save(self) -> None:
        self.saved = (self.meter.state_dict(), self.sum.copy())

    def resume(self) -> None:
        if self.saved is None:
            return
        self.new()
        self.meter.load_state_dict(self.saved[0])
        self.sum = self.saved[1].copy()

    def recompute(self) -> None:
        self.again = not self.again
        saved = self.meter.state_dict()
        self.new()
        self.meter.load_state_dict(saved)


ARGUMENTS: list[Any] = []


@pytest.mark.parametrize("kind", [HuggingFace, Lightning, OwnLoop], ids=lambda kind: kind.__name__)
def test_random_sequences_of_trainer_calls_count_the_same_as_a_plain_sum_over_their_batches(kind: type[Life], tmp_path_factory: Any) -> None:
    if kind is HuggingFace:
        transformers = pytest.importorskip("transformers", reason="transformers is not installed")
        pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
        ARGUMENTS[:] = [transformers.TrainingArguments(output_dir=str(tmp_path_factory.mktemp("out")), report_to=[], use_cpu=True)]
    elif kind is Lightning:
        pytest.importorskip("lightning", reason="Lightning is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for place in range(SEQUENCES):
            life = kind(random.Random(f"{SEED} {kind.__name__} {place}"))
            try:
                life.run()
            except Exception as problem:
                raise AssertionError(f"sequence {place} of seed {SEED}: {life.events}") from problem
