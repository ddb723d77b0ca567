# SPDX-License-Identifier: Apache-2.0
"""A step meter in Lightning."""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback, LightningModule, Trainer
except ImportError:  # the same classes under their older name
    from pytorch_lightning import Callback, LightningModule, Trainer  # type: ignore[assignment,no-redef,unused-ignore]

from .. import Meter
from ._adapter import MeterAdapter, postfix


class LightningMeter(MeterAdapter, Callback):
    """Counts every training batch, and logs scalars to all of the Trainer's loggers.

        lightning.Trainer(callbacks=[LightningMeter(floptally.Meter(cost, gpus=1, peak_tflops=989))])

    every_n_steps: optimizer steps between two lines of the log; the Trainer's ``log_every_n_steps`` by default.
    progress_bar: shows MFU and TFLOPS of one GPU beside the loss.
    The other arguments are those of `MeterAdapter`. A step is one of the optimizer: batches that gradients are
    accumulated over belong to one. Totals of the run are in Lightning's checkpoints. Error before the first step where the
    module recomputes other layers than the meter's plan (flags of gradient checkpointing, wrappers of FSDP's).
    """

    def __init__(
        self, meter: Meter, *, every_n_steps: int | None = None, progress_bar: bool = True, **options: Any
    ) -> None:
        super().__init__(meter, **options)
        self._every = every_n_steps
        self._progress_bar = progress_bar
        self._steps_before = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.watch(pl_module)
        self.pause()

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        if not self.meter.in_step:
            self._steps_before = trainer.global_step
            self.begin()
        self.add(batch)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        if trainer.global_step == self._steps_before:
            return  # gradients are accumulated
        self.end()
        rates = self._safely(self._last_rates) if self._progress_bar and self._problem is None else None
        if rates is not None:
            pl_module.log("mfu_pct", 100 * rates[0], prog_bar=True, logger=False)
            pl_module.log("tflops", rates[1], prog_bar=True, logger=False)
        if trainer.global_step % (self._every or getattr(trainer, "log_every_n_steps", 0) or 1) == 0:
            scalars = self.scalars()
            for logger in trainer.loggers:
                logger.log_metrics(scalars, step=trainer.global_step)

    def _last_rates(self) -> tuple[float, float] | None:
        """MFU and TFLOPS of the last step; None where it is on its way from a GPU."""
        if self.meter.run.steps == 0:
            return None
        return self.meter.last_step.mfu, self.meter.last_step.tflops_per_gpu

    def on_validation_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if not self.meter.in_step:
            self.pause()

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        if not self.meter.in_step:
            self.pause()

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        self.discard()

    def on_train_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self.discard()
        self.finish()

    def state_dict(self) -> dict[str, Any]:
        saved = None if self.meter.in_step else self._safely(self.meter.state_dict)
        return {} if saved is None else {"meter": saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        if "meter" in state_dict and self.meter.run.steps == 0:
            self.meter.load_state_dict(state_dict["meter"])

    @property
    def postfix(self) -> str:
        """For a progress bar of your own."""
        return self._safely(lambda: postfix(self.meter)) or ""
