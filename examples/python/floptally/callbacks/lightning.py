# SPDX-License-Identifier: Apache-2.0
"""A callback for Lightning that counts FLOPs and MFU."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

try:
    import lightning as _package
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:  # the same classes under their older name
    import pytorch_lightning as _package  # type: ignore[import-not-found,no-redef,unused-ignore]
    from pytorch_lightning import Callback, LightningModule, Trainer  # type: ignore[assignment,no-redef,unused-ignore]

from .. import Meter
from ._adapter import MeterAdapter, _rank, postfix
from ._headline import precision_of_lightning
from ._releases import require_release

require_release(_package, "lightning")


class LightningMeter(MeterAdapter, Callback):
    """A Lightning callback that counts every training batch and logs MFU and other scalars to all of the Trainer's
    loggers.

        lightning.Trainer(callbacks=[LightningMeter(floptally.Meter(cost, peak_tflops=989))])

    every_n_steps: optimizer steps between two log lines; the Trainer's ``log_every_n_steps`` by default. The scalars
        have the step of Lightning's own metrics, which counts from 0.
    progress_bar: True shows MFU and TFLOPS of one GPU next to the loss.
    The other arguments are those of `MeterAdapter`.

    A step is an optimizer step; the batches of gradient accumulation belong to one step. A batch counts once for each
    forward pass with gradients that ``training_step`` runs over it: a call of the module, or of one of its children, with a
    tensor of the batch. Batches whose ``training_step`` returns None are not trained and not counted. Validation and
    checkpoints are not part of a step's time.

    The run's totals are in Lightning's checkpoints. Without a reduction the checkpoint has the totals of rank 0. Other
    ranks then begin at 0 after a resume, with one warning. The plan is that of the module together with the meter's
    ``plan=``. Raises an Error before the first step if the model contradicts ``plan=``. The number of GPUs is that of
    the Trainer; leave out the meter's ``gpus=``.
    """

    def __init__(
        self, meter: Meter, *, every_n_steps: int | None = None, progress_bar: bool = True, **options: Any
    ) -> None:
        super().__init__(meter, **options)
        self._every = every_n_steps
        self._progress_bar = progress_bar
        self._steps_before = 0
        self._passes = _Passes()
        self._seen_before = 0  # microbatches in the step before the batch that runs

    @property
    def state_key(self) -> str:
        """The key of this meter's totals in a checkpoint. A meter with another prefix has another key."""
        name = type(self).__qualname__
        return name if self.prefix == "train/" else f"{name} {self.prefix}"

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.discard()  # of a run that did not reach its end
        self.know_gpus(*_gpus_of(trainer))
        self.watch(pl_module)
        self._passes.register(pl_module)
        self.compare_precision(precision_of_lightning(trainer))
        self.pause()
        self._expect(trainer)

    def _expect(self, trainer: Trainer) -> None:
        """Takes the number of steps that the Trainer still runs as the meter's budget, unless the user has set one."""
        with suppress(Exception):  # of a data loader without a length
            expected = getattr(trainer, "estimated_stepping_batches", 0)
            if 0 < expected < math.inf:
                self.know_steps(max(int(expected) - trainer.global_step, 0))

    def on_train_epoch_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._mark is None:
            self.restart()  # waiting for the first batch counts

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if not self.meter.in_step:
            self._steps_before = trainer.global_step
            self.begin()
        self._seen_before = len(self._waiting)
        self.add(batch)
        self._passes.begin(batch)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        passes = self._passes.end()
        mine = self._waiting[self._seen_before :]
        if pl_module.automatic_optimization and not outputs:
            del self._waiting[self._seen_before :]
            self.note("batches whose training_step returned None are not trained, and not counted")
        elif passes > 1:
            self._waiting += mine * (passes - 1)
            self.note("a batch counts as often as training_step runs the model over it with gradients")
        if trainer.global_step == self._steps_before:
            return  # gradients are accumulated
        self.end()
        rates = self._safely(self._last_rates) if self._progress_bar and self._problem is None else None
        if rates is not None:
            pl_module.log("mfu_pct", 100 * rates[0], prog_bar=True, logger=False)
            pl_module.log("tflops", rates[1], prog_bar=True, logger=False)
        # Lightning's own axis: it counts from 0, and one step for a batch that steps several optimizers.
        step = trainer.fit_loop.epoch_loop._batches_that_stepped
        if (step + 1) % (self._every or getattr(trainer, "log_every_n_steps", 0) or 1) == 0:
            self._expect(trainer)
            scalars = self.scalars()
            for logger in trainer.loggers:
                logger.log_metrics(scalars, step=step)

    def _last_rates(self) -> tuple[float, float] | None:
        """Returns (MFU as a fraction, TFLOPS of one GPU) of the last step. None while no step's numbers have arrived
        from the GPU, and without a peak."""
        if self.meter.run.steps == 0 or self.meter.peak_tflops is None:
            return None
        return self.meter.last_step.mfu, self.meter.last_step.tflops_per_gpu

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.meter.in_step:
            self.pause()

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self.meter.in_step:
            self._resume()
        else:
            self.restart()

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        self.pause()  # until the next batch: the file is written after this call

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self._passes.remove()
        self.discard()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._passes.remove()
        self.discard()
        self.finish()

    def state_dict(self) -> dict[str, Any]:
        if not self.meter.in_step:
            self._safely(lambda: self._settle(wait=True))
        saved = None if self.meter.in_step else self._safely(self.meter.state_dict)
        return {} if saved is None else {"meter": saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if "meter" not in state_dict or self.meter.run.steps > 0:
            return
        rank = _rank()
        if rank > 0 and self._reduce is None and not self.meter.reduces:
            text = (
                f"Lightning's checkpoint has the totals of rank 0 alone: those of rank {rank} begin at the resume. For "
                "totals of all ranks, pass reduce=floptally.distributed.Reduction(cost) to LightningMeter"
            )
            self.note(text)
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            return
        self.meter.load_state_dict(state_dict["meter"])

    @property
    def postfix(self) -> str:
        """Returns the rates of the run so far as a short text for your own progress bar."""
        return self._safely(lambda: postfix(self.meter)) or ""


class _Passes:
    """Counts how often a module's training_step runs the model over a batch with gradients: the calls of the module or of
    one child, whichever has most, that get a tensor of the batch."""

    def __init__(self) -> None:
        self._handles: list[Any] = []
        self._tensors: set[int] = set()
        self._calls: dict[int, int] = {}
        self._forwards: dict[int, Any] = {}  # bound methods, which compare equal

    def register(self, module: Any) -> None:
        self.remove()
        self._forwards = {id(part): part.forward for part in (module, *module.children())}
        for part in (module, *module.children()):
            self._handles.append(part.register_forward_pre_hook(self._before, with_kwargs=True))

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._tensors.clear()

    def begin(self, batch: Any) -> None:
        self._tensors = {id(tensor) for tensor in _tensors_of(batch)}
        self._calls = {}

    def end(self) -> int:
        """Stops watching the batch. Returns how many forward passes with gradients ran over it, or 1 if none was
        seen."""
        self._tensors = set()
        return max([1, *self._calls.values()])

    def _before(self, module: Any, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        import torch

        if torch.compiler.is_compiling() or not self._tensors or not torch.is_grad_enabled():
            return
        if module.forward != self._forwards[id(module)]:  # a strategy runs training_step as the module's forward
            return
        if any(id(tensor) in self._tensors for tensor in _tensors_of((positional, named))):
            self._calls[id(module)] = self._calls.get(id(module), 0) + 1


def _tensors_of(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _tensors_of(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _tensors_of(one)
    elif hasattr(value, "dtype") and hasattr(value, "shape"):
        yield value


def _gpus_of(trainer: Trainer) -> tuple[int, int, str]:
    """Returns (processes of the job, how many of them work on one batch, what divides the work in words)."""
    world = max(int(getattr(trainer, "world_size", 1)), 1)
    strategy = getattr(trainer, "strategy", None)
    name = type(strategy).__name__.removesuffix("Strategy")
    mesh: Any = getattr(strategy, "device_mesh", None)
    names = getattr(mesh, "mesh_dim_names", None) or ()
    data = 1
    for axis in names:
        data *= int(mesh[axis].size()) if axis.startswith("data") or axis.startswith("dp") else 1
    shared = world // data if names and data and world % data == 0 else 1
    return world, shared, "one process" if world == 1 else f"{name} over {world // shared} of {world} processes"
