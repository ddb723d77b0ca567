# SPDX-License-Identifier: Apache-2.0
"""A callback for the Hugging Face Trainer that counts FLOPs and MFU."""

from __future__ import annotations

import inspect
import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import transformers
from transformers import Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from .. import Error, Meter
from ._adapter import MeterAdapter, postfix
from ._gpu_time import UpdateTime
from ._headline import precision_of_trainer
from ._hooks import Hooks, Rollouts
from ._plans import replaced
from ._releases import require_release
from ._scored import scored_tokens

require_release(transformers, "transformers")

_STATE = "floptally"  # our key in trainer_state.json
_RANK_FILE = "floptally_rank_{}.json"  # in a checkpoint: the totals of a rank other than 0
_OTHER_MODELS = ("ref_model", "teacher_model", "reward_model", "value_model")


class TrainerMeter(MeterAdapter, TrainerCallback):
    """A callback for the Hugging Face Trainer that counts every training microbatch and adds MFU and other scalars to
    the logs.

        TrainerMeter(floptally.Meter(cost, gpus=1, accelerator="NVIDIA H100 80GB HBM3")).attach(trainer)

    ``attach`` puts the callback before the loggers (W&B, TensorBoard), so that they see its scalars.
    ``Trainer(callbacks=[…])`` would put the callback after the loggers.

    time: which part of a step's time counts. "step" is the whole step. "update" runs from the first forward with
        gradients of each microbatch to the microbatch's end, and includes the optimizer. "auto" begins as "step". It
        becomes "update" once the trainer generates text within a step (TRL's GRPO), or the model runs without gradients
        within a step, since such passes are not counted. Scalars then also have ``whole_step_seconds``.
    prefix: the start of each scalar's name. It is empty by default: TensorBoard, Weights & Biases and other loggers of
        transformers put ``train/`` before each name themselves, and MLflow uses no prefix.
    The other arguments are those of `MeterAdapter`.

    Only forwards with gradients in training mode between the begin and the end of a step count. Evaluation, generation
    and reference models do not. A step is an optimizer step. A Trainer that resumes from a checkpoint continues the
    run's totals: those of rank 0 are in ``trainer_state.json``. Without a reduction each other rank has its own file
    ``floptally_rank_N.json`` in the checkpoint. If the file is missing, the rank begins at 0 after one warning. Several
    meters of one Trainer need different prefixes to be told apart in the logs, and each has its own totals.

    The plan is that of the model (adapters, frozen weights, gradient checkpointing) together with the meter's
    ``plan=``. Raises an Error before the first step if the model contradicts ``plan=``. The number of GPUs is that of
    the Trainer; leave out the meter's ``gpus=``. If the trainer computes logits of only some tokens
    (``logits_to_keep``, TRL's fused lm_head), the lm_head counts for these alone.
    """

    def __init__(self, meter: Meter, *, time: str = "auto", prefix: str = "", **options: Any) -> None:
        super().__init__(meter, prefix=prefix, **options)
        if time not in ("auto", "step", "update"):
            raise Error("time", f'must be "auto", "step" or "update", got {time!r}')
        self._asked_time = self._time = time
        self._others: list[str] = []  # models other than the one that trains
        self._hooks = Hooks()
        self._rollouts = Rollouts()
        self._forward_began = False
        self._update = UpdateTime(self._clock)
        self._step_began = 0.0
        self._last_event = 0.0  # when the trainer last called this object, or its model ran
        self._whole: list[float] = []  # whole-step seconds in the interval, if the time is that of updates
        self._key = _STATE
        self._skips_data = False  # the first step skips the batches before a checkpoint

    def attach(self, trainer: Trainer) -> TrainerMeter:
        """Adds this callback to a Trainer, before the Trainer's loggers. Returns the callback."""
        callbacks = trainer.callback_handler.callbacks
        callbacks[:] = [callback for callback in callbacks if callback is not self]
        callbacks.insert(min(1, len(callbacks)), self)  # the first callback decides when to log and to save
        self._others = [name for name in _OTHER_MODELS if getattr(trainer, name, None) is not None]
        return self

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.discard()  # of a run that did not reach its end
        self._time, self._whole = self._asked_time, []
        trainer = _trainer_that_calls()
        for name in ("accelerate", "trl"):
            if name in sys.modules:
                require_release(sys.modules[name], name)
        if trainer is not None:
            handler = trainer.callback_handler
            handler.callbacks[:] = _once(handler.callbacks)
            self._others = [name for name in _OTHER_MODELS if getattr(trainer, name, None) is not None]
        self._key = _key_of(self, [] if trainer is None else trainer.callback_handler.callbacks)
        self.pause()
        self._skips_data = state.global_step > 0 and not args.ignore_data_skip
        model = kwargs["model"]
        self.know_gpus(*_gpus_of(args, trainer, model))
        self.watch(model)
        if state.global_step > 0 and self.meter.run.steps == 0:
            saved = self._saved(args, state, trainer)
            if saved is not None:
                self.meter.load_state_dict(saved)
        self.compare_precision(precision_of_trainer(args, model))
        if self._time == "update":
            self._take_time_of_updates("as asked")
        for name in self._others:
            self.note(f"passes of the trainer's {name} are not counted, and their time is where the trainer runs them")
        self._hooks.register(model, getattr(trainer, "model_wrapped", model), self._before_forward, self._redirected)
        self._rollouts.watch(trainer, self._before_rollout)
        self._expect(state)

    def _before_rollout(self) -> None:
        if self._time == "auto" and self.meter.in_step:
            self._take_time_of_updates("the trainer generates")

    def _expect(self, state: TrainerState) -> None:
        """Takes the number of steps that the Trainer still runs as the meter's budget, unless the user has set one."""
        if state.max_steps > 0:
            self.know_steps(max(state.max_steps - state.global_step, 0))

    def _take_time_of_updates(self, why: str) -> None:
        self._time = "update"
        self.note(f"time is of updates alone ({why}): generation and other passes without gradients are not counted")

    def on_step_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.discard()  # a step with an error, or with discarded gradients
        self._hooks.forget()
        self._forward_began, self._update = False, UpdateTime(self._clock)
        self.begin()
        self._step_began = self._last_event = self._clock()

    def on_substep_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._end_update()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._end_update()
        if self.meter.in_step:
            if self._time == "update" and self._update:
                self._whole.append(self._clock() - self._step_began)
                self.end(self._update)
            else:
                self.end()
        if control.should_save:
            self._keep(state)

    def _end_update(self) -> None:
        if self._forward_began:
            self._update.stop()
            self._forward_began = False
        self._last_event = self._clock()

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
        self._expect(state)
        scalars = self.scalars()
        logs.update(scalars)
        if state.log_history and state.log_history[-1].get("step") == state.global_step:
            state.log_history[-1].update(scalars)  # log_history has a copy of logs

    def _scalars(self) -> dict[str, float]:
        found = super()._scalars()
        whole, self._whole = self._whole, []
        if found and whole:
            found[f"{self.prefix}whole_step_seconds"] = sum(whole) / len(whole)
        return found

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._keep(state)  # the Trainer may save the best model now
        self._leave_out_time()

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        if self._has_own_totals(args):
            self._safely(lambda: self._save_own(args, state))
        self._leave_out_time()

    def _has_own_totals(self, args: TrainingArguments) -> bool:
        """True on a rank whose totals are not in trainer_state.json, which rank 0 writes."""
        return getattr(args, "process_index", 0) > 0 and self._reduce is None and not self.meter.reduces

    def _save_own(self, args: TrainingArguments, state: TrainerState) -> None:
        """Writes this rank's totals into the checkpoint that was just saved, next to its random states."""
        folder, saved = Path(str(args.output_dir), f"checkpoint-{state.global_step}"), _states(state).get(self._key)
        if saved is not None and folder.is_dir():
            file = folder / _RANK_FILE.format(args.process_index)
            states = {**(_read(file) or {}), self._key: saved}
            written = file.with_suffix(".tmp")
            written.write_text(json.dumps(states))
            os.replace(written, file)

    def _saved(self, args: TrainingArguments, state: TrainerState, trainer: Trainer | None) -> Any:
        """Returns this rank's totals at the checkpoint that the Trainer resumes from. None if there are none. Warns if
        rank 0 has saved totals and this rank has not."""
        of_first = _states(state).get(self._key)
        if of_first is None or not self._has_own_totals(args):
            return of_first
        folder = _resumed_from(trainer) or os.path.join(str(args.output_dir), f"checkpoint-{state.global_step}")
        file = Path(folder, _RANK_FILE.format(args.process_index))
        own = (_read(file) or {}).get(self._key)
        if own is None:
            text = (
                f"the checkpoint has no totals of rank {args.process_index} ({file} is missing or has none): this rank's "
                "totals begin at the resume. For totals that do not depend on the number of ranks, pass "
                "reduce=floptally.distributed.Reduction(cost) to the meter"
            )
            self.note(text)
            warnings.warn(text, RuntimeWarning, stacklevel=3)
        return own

    def _leave_out_time(self) -> None:
        """Leaves out an evaluation or a save that has just ended. Between steps, the next step begins now. In a step,
        the time since the trainer's last event does not count."""
        if self.meter.in_step:
            self.exclude(self._last_event)
            self._last_event = self._clock()
        else:
            self.restart()

    def on_epoch_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        if self._mark is None and not self._skips_data:
            self.restart()  # waiting for the first batch counts
        self._skips_data = False

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._keep(state)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self.discard()
        self._hooks.remove()
        self._rollouts.remove()
        self.finish()

    @property
    def postfix(self) -> str:
        """Returns the rates of the run so far as a short text for a progress bar."""
        return self._safely(lambda: postfix(self.meter)) or ""

    def _keep(self, state: TrainerState) -> None:
        if not self.meter.in_step:
            self._safely(lambda: self._settle(wait=True))
            saved = self._safely(self.meter.state_dict)
            if saved is not None:
                _states(state)[self._key] = saved

    def _redirected(self, inputs: dict[str, Any]) -> None:
        """Called before a forward that runs a method of the trainer (TRL's forward redirection): `inputs` are that
        method's."""

    def _before_forward(self, model: Any, inputs: dict[str, Any]) -> bool:
        """Counts a forward of the open step in training mode with gradients. Returns True if the forward was counted."""
        import torch

        if not self.meter.in_step:
            return False
        if not (model.training and torch.is_grad_enabled()):
            if self._time == "auto" and model.training:
                self._take_time_of_updates("the model runs without gradients within a step")
            if self._time == "update" and self._forward_began:
                self.note("within an update the model runs without gradients too: its time is the update's")
            return False
        if not self._forward_began:
            self._update.start()
            self._forward_began = True
        self._last_event = self._clock()
        if self._model is not None:  # a copy of the model must not have the hook
            with self._hooks.away():
                self._verify_first(inputs)
        amounts = self._amounts(model, inputs)
        self._resume()
        self._add_one(inputs, amounts)
        return True

    def _amounts(self, model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
        """Returns the number of tokens whose logits the model computes, if these are not all. The meter then counts the
        lm_head on them, from the first such batch on."""
        scored = None if self._arguments is not None else scored_tokens(model, inputs)
        plan = self.meter.plan
        if scored is None and plan.logits != "measured":
            return {}
        if plan.logits == "last" or self._arguments is not None:
            return {}
        if plan.logits == "all":
            if self._reduce is not None or self.meter.reduces or self._waiting:
                self.note("the lm_head is counted on every token, and runs on fewer: MFU is at most this")
                return {}
            self.meter.discard_step()
            self._asked = replaced(self._asked, logits="measured")
            self._recount(plan=replaced(plan, logits="measured"))
            self.meter.begin_step()
            self.note("the lm_head is counted on the tokens that the trainer scores")
        return {"measured": {"logits": scored}} if scored is not None else {"logits": _all_tokens(inputs)}


def _all_tokens(inputs: dict[str, Any]) -> Any:
    """Returns the number of real tokens of a forward."""
    mask = inputs.get("attention_mask")
    if mask is not None and getattr(mask, "ndim", 0) == 2:
        return (mask > 0).sum()
    for name in ("input_ids", "inputs_embeds"):
        if inputs.get(name) is not None:
            return int(inputs[name].shape[0] * inputs[name].shape[1])
    raise Error("logits", "cannot be counted without tokens: pass input_ids or inputs_embeds to the model")


def _states(state: TrainerState) -> dict[str, Any]:
    """Returns the states of callbacks in trainer_state.json, as {name of the callback: its state}."""
    return cast("dict[str, Any]", state.stateful_callbacks)


def _trainer_that_calls() -> Trainer | None:
    """Returns the Trainer whose method calls this callback. A callback that was passed as callbacks=[...] has no other
    reference to it."""
    frame = sys._getframe(1)
    while frame is not None:
        owner = frame.f_locals.get("self")
        if isinstance(owner, Trainer):
            return owner
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _resumed_from(trainer: Trainer | None) -> str | None:
    """Returns the folder of the checkpoint that a Trainer's train() resumes from. None if no such call is running."""
    frame = sys._getframe(1)
    while frame is not None:
        found = frame.f_locals.get("resume_from_checkpoint")
        if isinstance(found, str) and frame.f_locals.get("self") is trainer:
            return found
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _read(file: Path) -> dict[str, Any] | None:
    """Returns the object in a JSON file. None if the file cannot be read."""
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _once(callbacks: list[Any]) -> list[Any]:
    """Returns the callbacks without repetitions."""
    return [one for place, one in enumerate(callbacks) if not any(one is other for other in callbacks[:place])]


def _key_of(meter: TrainerMeter, callbacks: list[Any]) -> str:
    """Returns the name of a meter's totals in the Trainer's state: "floptally" for the first, and a name with the prefix
    and a number for each further one."""
    alike = [one for one in callbacks if isinstance(one, TrainerMeter)]
    first = next((one for one in alike if one.prefix in ("train/", "")), alike[0] if alike else meter)
    if meter is first or meter not in alike:
        return _STATE
    same = [one for one in alike if one.prefix == meter.prefix]
    place = next(place for place, one in enumerate(same) if one is meter)
    return f"{_STATE} {meter.prefix}" + (f" {place + 1}" if place else "")


def _gpus_of(args: TrainingArguments, trainer: Trainer | None, model: Any) -> tuple[int, int, str]:
    """Returns (processes of the job, how many of them work on one batch, what divides the work in words)."""
    world = max(int(getattr(args, "world_size", 1)), 1)
    sizes = {}
    for axis in ("tp", "cp", "sp"):
        size = getattr(trainer, f"get_{axis}_size", None)
        sizes[axis] = max(int(size() or 1), 1) if callable(size) else 1
    shared = sizes["tp"] * sizes["cp"] * sizes["sp"]
    accelerator = getattr(trainer, "accelerator", None)
    kind = str(getattr(accelerator, "distributed_type", "")).rpartition(".")[2]
    names = {"MULTI_GPU": "DDP", "MULTI_CPU": "DDP", "FSDP": "FSDP", "DEEPSPEED": "DeepSpeed", "MEGATRON_LM": "Megatron-LM"}
    words = [f"{axis} {size}" for axis, size in sizes.items() if size > 1]
    if world == 1:
        devices = {str(device) for device in (getattr(model, "hf_device_map", None) or {}).values()} - {"cpu", "disk"}
        shared = max(len(devices), int(getattr(args, "n_gpu", 1) or 1), 1)
        return shared, shared, "one process"
    words.insert(0, f"{names.get(kind, 'data parallel')} over {world // shared} of {world} processes")
    return world, shared, ", ".join(words)
