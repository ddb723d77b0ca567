# SPDX-License-Identifier: Apache-2.0
"""A step meter in the Hugging Face Trainer."""

from __future__ import annotations

import inspect
from typing import Any, cast

from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from ._adapter import MeterAdapter, postfix

_STATE = "floptally"  # among the states of callbacks in trainer_state.json


class TrainerMeter(MeterAdapter, TrainerCallback):
    """Counts every training microbatch by the inputs of the model's forward, and adds scalars to the Trainer's logs.

        TrainerMeter(floptally.Meter(cost, gpus=1, accelerator="NVIDIA H100 80GB HBM3")).attach(trainer)

    Given as ``Trainer(callbacks=[…])`` it works too, but the Trainer puts loggers (W&B, TensorBoard) before it, and
    these then do not see its scalars; ``attach`` puts it before them. The arguments are those of `MeterAdapter`.

    Only what runs with gradients on the model in training mode between the begin and the end of a step is counted: not
    evaluation, not generation, not a reference model. A step is one of the optimizer. Totals of the run are kept in
    ``trainer_state.json``, and a Trainer that resumes from a checkpoint goes on from them.
    """

    def attach(self, trainer: Trainer) -> TrainerMeter:
        """Adds this callback to a Trainer, before its loggers; the callback."""
        callbacks = trainer.callback_handler.callbacks
        callbacks.insert(min(1, len(callbacks)), self)  # the first decides when to log and to save
        return self

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        saved = _states(state).get(_STATE)
        if saved is not None and state.global_step > 0 and self.meter.run.steps == 0:
            self.meter.load_state_dict(saved)
        self.pause()
        model = kwargs["model"]
        self._names = list(inspect.signature(model.forward).parameters)
        self._hook = model.register_forward_pre_hook(self._before_forward, with_kwargs=True)

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.discard()  # a step that ended in an error, or whose gradients were thrown away
        self.begin()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self.meter.in_step:
            self.end()
        if control.should_save:
            self._keep(state)

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
        self.meter.finish()

    @property
    def postfix(self) -> str:
        """For a progress bar."""
        return postfix(self.meter)

    def _keep(self, state: TrainerState) -> None:
        if not self.meter.in_step:
            _states(state)[_STATE] = self.meter.state_dict()

    def _before_forward(self, model: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        import torch

        if model.training and torch.is_grad_enabled() and self.meter.in_step:
            self.add({**dict(zip(self._names, positional, strict=False)), **named})


def _states(state: TrainerState) -> dict[str, Any]:
    """What callbacks keep in trainer_state.json, by name."""
    return cast("dict[str, Any]", state.stateful_callbacks)
