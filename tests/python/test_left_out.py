# SPDX-License-Identifier: Apache-2.0
"""After its first batch a callback ends no training: what it cannot count is left out, counted, and has no MFU."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import floptally
import numpy as np
import pytest
from floptally import callbacks

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip
ROWS = {"input_ids": np.zeros((2, 5))}
BAD = {"input_ids": np.zeros((1, 5)), "cu_seqlens": np.array([0, 4, 3, 5])}
OF_TIME = {"step_seconds", "step_seconds_p50", "step_seconds_p95", "step_seconds_min", "step_seconds_max", "steps"}


def new_meter(**options: Any) -> floptally.Meter:
    return floptally.Meter(floptally.cost(CONFIG), **{"gpus": 1, "peak_tflops": 1e-3, **options})


def work_of(*lengths: int) -> int:
    return floptally.flops(CONFIG, lengths=list(lengths)).total


class Clock:
    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def ran(adapter: callbacks.MeterAdapter, *batches: Any) -> None:
    adapter.begin()
    for batch in batches:
        adapter.add(batch)
    adapter.end()


def test_an_uncountable_first_batch_raises_an_error_and_a_later_uncountable_batch_leaves_out_its_step() -> None:
    meter = new_meter()
    adapter = callbacks.MeterAdapter(meter, clock=Clock())
    adapter.begin()
    with pytest.raises(floptally.Error, match=r"^cu_seqlens\[2\]: must be at least the boundary before it"):
        adapter.add(BAD)
    adapter.discard()
    ran(adapter, ROWS)
    assert set(adapter.scalars()) > {"train/mfu_pct"} | {f"train/{name}" for name in OF_TIME}
    ran(adapter, ROWS)
    with pytest.warns(RuntimeWarning, match=r"^cu_seqlens\[2\]: must be .* \(the step is left out") as said:
        ran(adapter, ROWS, BAD, ROWS)
        ran(adapter, BAD)
        ran(adapter, {"unknown": 3}, 7)
    assert len(said) == 1
    ran(adapter, ROWS)
    assert meter.run.useful == 3 * work_of(5, 5) and meter.run.steps == 3
    assert adapter.batches_left_out == 6
    scalars = adapter.scalars()  # never a wrong MFU
    assert set(scalars) == {f"train/{name}" for name in OF_TIME} | {"train/batches_left_out"}
    assert (scalars["train/batches_left_out"], scalars["train/steps"]) == (6, 2)
    assert scalars["train/step_seconds"] == 1.0
    ran(adapter, ROWS)
    assert "train/mfu_pct" in adapter.scalars()
    assert meter.run.mfu == pytest.approx(work_of(5, 5) / 1e9)
    assert "6 batches are left out, with their steps" in adapter.report()


def test_the_report_of_a_meter_says_that_an_uncountable_batch_was_left_out_together_with_its_step() -> None:
    adapter = callbacks.MeterAdapter(new_meter(), clock=Clock())
    ran(adapter, ROWS)
    with pytest.warns(RuntimeWarning, match="the step is left out"):
        ran(adapter, BAD)
    assert "1 batch is left out, with its step" in adapter.report()
    with pytest.warns(RuntimeWarning):
        other = callbacks.MeterAdapter(new_meter(), clock=Clock())
        ran(other, ROWS)
        other.scalars()
        ran(other, BAD)
    assert other.scalars() == {"train/batches_left_out": 1.0} and other.scalars() == {}


def test_a_user_function_that_reads_batches_stops_training_only_if_it_fails_on_the_first_batch() -> None:
    def arguments(batch: Any) -> Any:
        return {"lengths": batch["lengths"]}

    adapter = callbacks.MeterAdapter(new_meter(), arguments=arguments, clock=Clock())
    with pytest.raises(KeyError):
        ran(adapter, {})
    adapter.discard()
    ran(adapter, {"lengths": [4]})
    with pytest.warns(RuntimeWarning, match="^KeyError: 'lengths'"):
        ran(adapter, {})
    assert adapter.meter.run.useful == work_of(4) and adapter.batches_left_out == 1


def test_a_training_step_that_took_zero_seconds_does_not_stop_training() -> None:
    times = iter([1.0, 2.0, 2.0, 3.0])
    adapter = callbacks.MeterAdapter(new_meter(), clock=lambda: next(times))
    ran(adapter, ROWS)
    with pytest.warns(RuntimeWarning, match="^seconds: must be a finite number above 0"):
        ran(adapter, ROWS)
    ran(adapter, ROWS)
    assert adapter.meter.run.steps == 2 and not adapter.meter.in_step


def test_a_custom_training_loop_also_leaves_out_uncountable_steps() -> None:
    meter = new_meter()
    with pytest.raises(floptally.Error), callbacks.step(meter, BAD, seconds=1.0):
        pass
    assert not meter.in_step
    with callbacks.step(meter, ROWS, ROWS, seconds=1.0):
        pass
    with pytest.warns(RuntimeWarning, match="the step is left out"), callbacks.step(meter, ROWS, BAD, seconds=1.0):
        assert meter.in_step
    with callbacks.step(meter, ROWS, seconds=1.0):
        pass
    assert meter.run.useful == 3 * work_of(5, 5) and meter.run.steps == 2
    assert callbacks.batches_left_out(meter) == 2 and callbacks.batches_left_out(new_meter()) == 0
    with pytest.raises(ZeroDivisionError), callbacks.step(meter, ROWS, seconds=1.0):
        _ = 1 / 0
    assert meter.run.steps == 2 and not meter.in_step


class Sum:
    """A reduction of two ranks that work alike."""

    layout = floptally.ParallelLayout(rank=0, dp=2)
    convention = "exact"

    def __init__(self) -> None:
        self.sums: list[int] = []

    def __call__(self, mine: floptally.Tally) -> floptally.Tally:
        self.sums.append(mine.tokens)
        return mine + mine


def test_a_rank_with_an_uncountable_batch_joins_the_reduction_and_makes_all_ranks_leave_the_step_out() -> None:
    both = Sum()
    adapter = callbacks.MeterAdapter(floptally.Meter(floptally.cost(CONFIG), peak_tflops=1e-3, reduce=both), clock=Clock())
    ran(adapter, ROWS)
    with pytest.warns(RuntimeWarning, match="the step is left out"):
        ran(adapter, ROWS, BAD)
    ran(adapter, ROWS)
    assert both.sums == [10, 0, 10]  # the second says no: tokens of other masks than the model's
    assert (adapter.meter.run.steps, adapter.meter.run.tokens, adapter.batches_left_out) == (2, 40, 2)


def test_an_error_on_another_rank_leaves_out_the_step_on_this_rank() -> None:
    class Refused(Sum):
        def __call__(self, mine: floptally.Tally) -> floptally.Tally:
            if len(self.sums) == 1:
                self.sums.append(0)
                raise floptally.Error("sum", "rank 1 failed: look at the error of that rank")
            return super().__call__(mine)

    for arguments in (True, False):
        refused = Refused()
        meter = floptally.Meter(floptally.cost(CONFIG), peak_tflops=1e-3, **({"reduce": refused} if arguments else {"gpus": 1}))
        adapter = callbacks.MeterAdapter(meter, clock=Clock(), reduce=None if arguments else refused)
        ran(adapter, ROWS)
        with pytest.warns(RuntimeWarning, match="^sum: rank 1 failed"):
            ran(adapter, ROWS)
        ran(adapter, ROWS)
        assert (meter.run.steps, adapter.batches_left_out, len(refused.sums)) == (2, 1, 3)


def test_ranks_with_different_settings_fail_on_the_first_step() -> None:
    class Unlike(Sum):
        def __call__(self, mine: floptally.Tally) -> floptally.Tally:
            raise floptally.Error("masks", "differ over the ranks")

    meter = floptally.Meter(floptally.cost(CONFIG), peak_tflops=1e-3, reduce=Unlike())
    with pytest.raises(floptally.Error, match="^masks: differ over the ranks"):
        ran(callbacks.MeterAdapter(meter, clock=Clock()), ROWS)


@pytest.mark.parametrize("attach", [True, False])
def test_a_trainer_finishes_its_run_even_if_the_meter_cannot_count_some_batches(tmp_path: Path, attach: bool) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed, which the Trainer needs")
    options = {key: value for key, value in CONFIG.items() if key not in ("model_type", "architectures")}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**options))
    row = {"input_ids": torch.ones(6, dtype=torch.long), "labels": torch.ones(6, dtype=torch.long)}
    data = [row, {**row, "attention_mask": torch.tensor([1, 1, 2, 2, 1, 1])}, row, row]  # documents that do not stand together
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path), per_device_train_batch_size=1, max_steps=4, logging_steps=2, report_to=[], use_cpu=True,
        disable_tqdm=True, save_strategy="no", train_sampling_strategy="sequential",
    )  # fmt: skip
    meter = new_meter()
    callback = callbacks.TrainerMeter(meter)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=data, callbacks=[] if attach else [callback])
    if attach:
        callback.attach(trainer)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        trainer.train()
    assert sum("the step is left out" in str(one.message) for one in said) == 1
    assert trainer.state.global_step == 4 and meter.run.steps == 3 and meter.run.useful == work_of(6, 6, 6)
    logs = [line for line in trainer.state.log_history if "loss" in line]
    assert [line.get("batches_left_out") for line in logs] == [1, None]
    assert ["mfu_pct" in line for line in logs] == [False, True]
    assert "tokens_per_second" not in logs[0] and "hfu_pct" not in logs[0]
