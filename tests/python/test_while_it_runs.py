# SPDX-License-Identifier: Apache-2.0
"""What a meter says while a run goes on: totals, what is left, the peak of a GPU that nobody knows, and passes."""

from __future__ import annotations

import pickle
import time
import warnings
from pathlib import Path
from typing import Any

import floptally
import pytest
from floptally import Plan, callbacks

CONFIG = {
    "model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "architectures": ["LlamaForCausalLM"],
}  # fmt: skip
COST = floptally.cost(CONFIG)


def run(meter: floptally.Meter, steps: int = 1, seconds: float = 2.0) -> None:
    for _ in range(steps):
        with meter.step(seconds):
            meter.add(lengths=[9, 7])


# ---- what is left ----


def test_scalars_of_a_meter_show_the_totals_of_the_run_and_the_rest_of_its_budget() -> None:
    meter = floptally.Meter(COST, gpus=1, peak_tflops=1e-3)
    now = time.time() - 1000.0
    meter.begin_run(clock=lambda: now)
    run(meter, 3)
    now += 12.0  # half of the wall clock is outside of steps
    meter.reset_interval()
    run(meter, seconds=4.0)
    assert meter.budget == {}
    now += 8.0
    scalars = meter.scalars()
    assert (scalars["train/total_steps"], scalars["train/total_tokens"], scalars["train/total_flops"]) == (4, 64, meter.run.useful)
    assert "train/ends_at" not in scalars
    meter.set_budget(steps=10)
    assert meter.budget == {"steps": 10}
    scalars = meter.scalars()
    assert scalars["train/steps_left"] == 6 and scalars["train/seconds_left"] == pytest.approx(6 * 4.0 * 20 / 10)
    assert scalars["train/ends_at"] == pytest.approx(now + scalars["train/seconds_left"])
    meter.set_budget(tokens=80)
    assert meter.scalars()["train/tokens_left"] == 16 and "train/steps_left" not in meter.scalars()
    again = pickle.loads(pickle.dumps(meter))
    assert again.budget == {"tokens": 80}
    for wrong in ({"steps": 0}, {"tokens": -1}, {"steps": 1.5}):
        with pytest.raises(floptally.Error, match=f"^{next(iter(wrong))}: must be"):
            meter.set_budget(**wrong)  # type: ignore[arg-type]
    meter.set_budget()
    assert meter.budget == {}


def test_a_callback_takes_the_number_of_steps_from_its_trainer_unless_a_budget_is_set() -> None:
    meter = floptally.Meter(COST, gpus=1, peak_tflops=1e-3)
    adapter = callbacks.MeterAdapter(meter)
    adapter.know_steps(5)
    run(meter, 2)
    adapter.know_steps(3)
    assert meter.budget == {"steps": 5} and meter.scalars()["train/steps_left"] == 3
    assert any(line.startswith("3 steps are left: the run ends at 20") for line in adapter.report().splitlines())
    meter.set_budget(tokens=1000)
    adapter.know_steps(2)
    assert meter.budget == {"tokens": 1000}


# ---- a peak that nobody knows ----


def test_an_unknown_accelerator_does_not_end_a_run() -> None:
    with pytest.warns(RuntimeWarning, match="^accelerator: .*Z900.* no MFU: pass peak_tflops=.*floptally.measure_peak") as said:
        meter = floptally.Meter(COST, gpus=1, accelerator="NVIDIA Z900")
    assert len(said) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(meter)
        scalars = meter.scalars()
        assert not [name for name in scalars if "mfu" in name or "hfu" in name]
        assert scalars["train/tokens_per_second"] == 8 and meter.run.useful == COST.total_flops(lengths=[9, 7])
        assert meter.peak_tflops is None and "unknown peak" in repr(meter)
        assert callbacks.postfix(meter).endswith("TFLOP/s") and "MFU" not in callbacks.postfix(meter)
        report = callbacks.MeterAdapter(meter).report()
        assert "peak unknown of 1 GPU, NVIDIA Z900: no MFU" in report and "HFU" not in report
        assert meter.to_open_metrics().count("peak") == 0
        copied = pickle.loads(pickle.dumps(meter))  # says nothing again
        assert copied.peak_tflops is None and copied.run.useful == meter.run.useful
        state = meter.state_dict()
    for name in ("mfu", "padded_mfu", "hfu"):
        with pytest.raises(floptally.Error, match="^peak_tflops: is unknown"):
            getattr(meter.run, name)
    known, now = floptally.Meter(COST, gpus=1, peak_tflops=1e-3), time.time()
    known.load_state_dict(state)
    known.begin_run(clock=iter([now, now + 100.0, now + 100.0, now + 100.0]).__next__)
    run(known)
    assert "mfu_pct" not in known.scalars("run", "") and "mfu_pct" in known.scalars("interval", "")
    assert known.goodput.mfu is None and known.goodput.step_share > 0
    with pytest.raises(floptally.Error, match="^accelerator: "):  # look-ups stay strict
        floptally.accelerator("NVIDIA Z900")
    with pytest.raises(floptally.Error, match="^accelerator: "):
        COST.flops(lengths=[9]).measure(1.0, gpus=1, accelerator="NVIDIA Z900")
    with pytest.raises(floptally.Error, match="^accelerator: must be a name"):
        floptally.Meter(COST, gpus=1, accelerator=3)  # type: ignore[arg-type]
    with pytest.raises(floptally.Error, match="^accelerator: is missing"):
        floptally.Meter(COST, gpus=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert floptally.Meter(COST, gpus=1, accelerator="NVIDIA Z900", peak_tflops=3.0).peak_tflops == 3.0


def test_a_meter_uses_a_measured_peak_and_names_it_as_measured() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    torch.set_num_threads(1)
    peak = floptally.measure_peak("fp32", seconds=0.3, device="cpu")
    assert 0 < peak < 100 and (peak.precision, peak.device) == ("fp32", "cpu") and peak.shape[0] >= 1024
    assert pickle.loads(pickle.dumps(peak)) == peak and "fp32" in repr(peak)
    meter = floptally.Meter(COST, gpus=1, peak_tflops=peak, accelerator="a laptop")
    assert (meter.peak_tflops, meter.peak_kind, meter.precision) == (float(peak), "measured", "fp32")
    assert "measured" in callbacks.MeterAdapter(meter).report()
    for arguments, field in (({"precision": "fp12"}, "precision"), ({"seconds": 0}, "seconds"), ({"precision": "tf32", "device": "cpu"}, "precision")):
        with pytest.raises(floptally.Error, match=f"^{field}: "):
            floptally.measure_peak(**arguments)  # type: ignore[arg-type]


def test_a_meter_uses_the_peak_of_the_precision_in_which_the_trainer_computes() -> None:
    def adapter(**options: Any) -> callbacks.MeterAdapter:
        return callbacks.MeterAdapter(floptally.Meter(COST, gpus=1, accelerator="H100 SXM", **options))

    peaks = floptally.accelerator("H100 SXM").dense_tflops
    for precision in ("fp16", "fp8", "tf32", "bf16"):
        one = adapter()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            one.compare_precision(precision)
        assert (one.meter.precision, one.meter.peak_tflops) == (precision, peaks[precision])  # type: ignore[index]
        assert (precision == "bf16") == (f"the peak is that of {precision}, in which the trainer computes" not in one.notes)
    arguments = adapter(precision="bf16")
    with pytest.warns(RuntimeWarning, match="^the run computes in fp16, and MFU is relative to the peak of bf16"):
        arguments.compare_precision("fp16")
    assert arguments.meter.precision == "bf16"
    by_number = callbacks.MeterAdapter(floptally.Meter(COST, gpus=1, peak_tflops=3.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        by_number.compare_precision("fp16")
    assert by_number.meter.peak_tflops == 3.0


# ---- passes ----


def test_shares_of_rl_passes_with_different_peaks_add_up_to_the_whole_step() -> None:
    meter = floptally.Meter(COST, gpus=8, counted="all_gpus", peak_tflops=989)
    with meter.step(10.0):
        with meter.timed("rollout", plan=Plan(phase="forward"), learner=False, seconds=8.0, peak_tflops=1979) as rollout:
            rollout.add(lengths=[9000])
        with meter.timed("update", seconds=2.0) as update:
            update.add(lengths=[9000])
    result = meter.passes()
    assert result.no_pass == 0
    assert sum(one.points for one in result.values()) == pytest.approx(result.whole.mfu)
    assert sum(one.points + one.lost for one in result.values()) == pytest.approx(1)
    # The learner's rates over its own time, and over the wall clock.
    assert result.learner is not None and result.learner.tokens == 9000
    assert result.learner.mfu == pytest.approx(result.learner.useful / (2.0 * 8 * 989e12))
    assert result.learner.wall_mfu == pytest.approx(result.learner.useful / (10.0 * 8 * 989e12))
    assert (result.learner.tokens_per_second, result.learner.wall_tokens_per_second) == (4500, 900)
    scalars = result.scalars()
    assert scalars["perf/learner/mfu_wall_pct"] == pytest.approx(scalars["perf/learner/mfu_pct"] / 5)
    assert scalars["perf/learner/tokens_per_second_wall"] == 900 and "perf/whole/mfu_wall_pct" not in scalars


def test_rl_passes_on_an_unknown_accelerator_have_flops_but_no_mfu() -> None:
    with pytest.warns(RuntimeWarning, match="Z900"):
        meter = floptally.Meter(COST, gpus=1, accelerator="NVIDIA Z900")
    for seconds in (2.0, 3.0):
        with meter.step(10.0), meter.timed("update", seconds=seconds) as update:
            update.add(lengths=[9])
    result = meter.passes("run")
    assert result["update"].useful == 2 * COST.total_flops(lengths=[9]) and result["update"].mfu is None
    assert result.no_pass == pytest.approx(0.75) and not [name for name in result.scalars() if "mfu" in name]
    assert "the peak is unknown" in str(result) and "no MFU" in repr(result)


# ---- amounts of 0 ----


def test_a_measured_amount_of_zero_is_kept_by_pickles_and_sums_and_saved_runs(tmp_path: Path) -> None:
    plan = Plan(logits="measured")
    meter = floptally.Meter(COST, gpus=1, peak_tflops=1e-3, plan=plan)
    with meter.step(1.0):
        meter.add(lengths=[9, 7], logits=[0, 0])
    tally = meter.run.tally
    total = COST.total_flops(tally=tally, plan=plan)
    assert total == meter.run.useful
    copied = pickle.loads(pickle.dumps(tally))
    assert COST.total_flops(tally=copied, plan=plan) == total
    doubled = floptally.Tally.from_accumulators(tally, tally.accumulators() * 2)
    assert COST.total_flops(tally=doubled, plan=plan) == 2 * total
    with pytest.raises(floptally.Error, match=r"^measured\(logits\)"):  # masks alone do not say what was measured
        COST.total_flops(tally=floptally.Tally.from_accumulators(tally.masks, tally.accumulators()), plan=plan)
    again = floptally.Meter(COST, gpus=1, peak_tflops=1e-3, plan=plan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.load_state_dict(meter.state_dict())
    assert again.run.useful == meter.run.useful and again.breakdown("run").total == meter.run.useful
    assert pickle.loads(pickle.dumps(meter)).run.useful == meter.run.useful
