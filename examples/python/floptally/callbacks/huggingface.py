# SPDX-License-Identifier: Apache-2.0
"""A step meter in the Hugging Face Trainer."""

from __future__ import annotations

import inspect
import sys
from typing import Any, cast

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .. import Error, Meter
from ._adapter import MeterAdapter, postfix

_STATE = "floptally"  # among the states of callbacks in trainer_state.json
# Arguments of trainers that generate within a step: TRL's GRPO, RLOO, online DPO, PPO, GKD.
_GENERATING = ("num_generations", "max_completion_length", "response_length", "max_new_tokens", "use_vllm")
_OTHER_MODELS = ("ref_model", "teacher_model", "reward_model", "value_model")


class TrainerMeter(MeterAdapter, TrainerCallback):
    """Counts every training microbatch by the inputs of the model's forward, and adds scalars to the Trainer's logs.

        TrainerMeter(floptally.Meter(cost, gpus=1, accelerator="NVIDIA H100 80GB HBM3")).attach(trainer)

    Given as ``Trainer(callbacks=[…])`` it works too, but the Trainer puts loggers (W&B, TensorBoard) before it, and
    these then do not see its scalars; ``attach`` puts it before them.

    time: of a step, "step" is all of it, "update" what passes from the first forward with gradients of each microbatch
        to its end, the optimizer's step with it. "auto" is "update" where the trainer generates (TRL's GRPO) or the model
        runs without gradients within a step: those passes are not counted, and their time is not the update's. Scalars
        then have ``whole_step_seconds`` too.
    The other arguments are those of `MeterAdapter`.

    Only what runs with gradients on the model in training mode between the begin and the end of a step is counted: not
    evaluation, not generation, not a reference model. A step is one of the optimizer. Totals of the run are kept in
    ``trainer_state.json``, and a Trainer that resumes from a checkpoint goes on from them. Error before the first step
    where the model recomputes other layers than the meter's plan.
    """

    def __init__(self, meter: Meter, *, time: str = "auto", **options: Any) -> None:
        super().__init__(meter, **options)
        if time not in ("auto", "step", "update"):
            raise Error("time", f'must be "auto", "step" or "update", got {time!r}')
        self._time = time
        self._others: list[str] = []  # models beside the one that trains
        self._forward_began: float | None = None
        self._step_began = 0.0
        self._update_seconds = 0.0
        self._whole: list[float] = []  # seconds of the interval's steps, where their time is the update's

    def attach(self, trainer: Trainer) -> TrainerMeter:
        """Adds this callback to a Trainer, before its loggers; the callback."""
        callbacks = trainer.callback_handler.callbacks
        callbacks.insert(min(1, len(callbacks)), self)  # the first decides when to log and to save
        self._others = [name for name in _OTHER_MODELS if getattr(trainer, name, None) is not None]
        return self

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        saved = _states(state).get(_STATE)
        if saved is not None and state.global_step > 0 and self.meter.run.steps == 0:
            self.meter.load_state_dict(saved)
        self.pause()
        model = kwargs["model"]
        self.watch(model)
        if self._time == "auto" and any(hasattr(args, name) for name in _GENERATING):
            self._take_time_of_updates("the trainer generates")
        elif self._time == "update":
            self._take_time_of_updates("as asked")
        for name in self._others:
            self.note(f"passes of the trainer's {name} are not counted, and their time is where the trainer runs them")
        self._names = list(inspect.signature(model.forward).parameters)
        self._hook = model.register_forward_pre_hook(self._before_forward, with_kwargs=True)

    def _take_time_of_updates(self, why: str) -> None:
        self._time = "update"
        self.note(f"time is of updates alone ({why}): generation and other passes without gradients are not counted")

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.discard()  # a step that ended in an error, or whose gradients were thrown away
        self._forward_began, self._update_seconds, self._step_began = None, 0.0, self._clock()
        self.begin()

    def on_substep_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._end_update()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._end_update()
        if self.meter.in_step:
            if self._time == "update":
                self._whole.append(self._clock() - self._step_began)
                self.end(self._update_seconds)
            else:
                self.end()
        if control.should_save:
            self._keep(state)

    def _end_update(self) -> None:
        if self._forward_began is not None:
            if self._time == "update":
                _wait_for_gpu()
            self._update_seconds += self._clock() - self._forward_began
            self._forward_began = None

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        if logs is None or "loss" not in logs:  # an evaluation, or the summary after the last step
            return
        scalars = self.scalars()
        logs.update(scalars)
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(scalars)  # it has a copy of logs

    def _scalars(self) -> dict[str, float]:
        found = super()._scalars()
        whole, self._whole = self._whole, []
        if found and whole:
            found[f"{self.prefix}whole_step_seconds"] = sum(whole) / len(whole)
        return found

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._keep(state)  # the best model so far may be saved now
        self.pause()

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        self.pause()

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._keep(state)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.discard()
        self._hook.remove()
        self.finish()

    @property
    def postfix(self) -> str:
        """For a progress bar."""
        return self._safely(lambda: postfix(self.meter)) or ""

    def _keep(self, state: TrainerState) -> None:
        if not self.meter.in_step:
            saved = self._safely(self.meter.state_dict)
            if saved is not None:
                _states(state)[_STATE] = saved

    def _before_forward(self, model: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        import torch

        if not self.meter.in_step:
            return
        if not (model.training and torch.is_grad_enabled()):
            if self._time == "auto":
                self._take_time_of_updates("the model runs without gradients within a step")
            if self._time == "update" and self._forward_began is not None:
                self.note("within an update the model runs without gradients too: its time is the update's")
            return
        if self._forward_began is None:
            if self._time == "update":
                _wait_for_gpu()
            self._forward_began = self._clock()
        inputs = {**dict(zip(self._names, positional, strict=False)), **named}
        kept = inputs.get("logits_to_keep")
        if kept is not None and not (isinstance(kept, int) and kept == 0):
            self.note("the lm_head is counted on every token, and runs on those of logits_to_keep: MFU is at most this")
        if self._model is not None:  # a copy of it must not have the hook
            self._hook.remove()
            try:
                self._verify_first(inputs)
            finally:
                self._hook = model.register_forward_pre_hook(self._before_forward, with_kwargs=True)
        self.add(inputs)


def _states(state: TrainerState) -> dict[str, Any]:
    """States that callbacks keep in trainer_state.json, by name."""
    return cast("dict[str, Any]", state.stateful_callbacks)


def _wait_for_gpu() -> None:
    """Waits for all that was queued before: the clock of the host is then that of the GPU."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()
