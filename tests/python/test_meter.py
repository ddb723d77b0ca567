# SPDX-License-Identifier: Apache-2.0
"""The meter of a training loop."""

from __future__ import annotations

import copy
import json
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import floptally
from conftest import SOURCE
from floptally import Meter, callbacks


def meter_of(cost: floptally.Cost, **options: Any) -> Meter:
    return Meter(cost, **{"gpus": 8, "peak_tflops": 989, "counted": "all_gpus", **options})


def test_a_meter_of_several_gpus_needs_a_reduction_or_a_declaration_that_its_sequences_are_those_of_all_gpus(mistral: floptally.Cost) -> None:
    with pytest.raises(floptally.Error, match="^gpus: is 2, but it is unknown whether the meter gets the sequences of all GPUs"):
        Meter(mistral, gpus=2, peak_tflops=989)
    unsaid = Meter(mistral, peak_tflops=989)  # a trainer's callback knows the number
    assert unsaid.gpus == 0
    with pytest.raises(floptally.Error, match="^gpus: is missing: pass gpus= or reduce="):
        unsaid.begin_step()
    with pytest.raises(floptally.Error, match="^reduce: must be a floptally.distributed.Reduction"):
        Meter(mistral, peak_tflops=989, reduce=len)
    assert Meter(mistral, gpus=1, peak_tflops=989).counted == "of 1 GPU"
    assert meter_of(mistral).counted == "of all 8 GPUs, as declared"

    class Twice:
        layout = floptally.ParallelLayout(rank=0, dp=2)
        convention = "exact"

        def __call__(self, mine: floptally.Tally) -> floptally.Tally:
            return mine + mine

    meter = Meter(mistral, peak_tflops=989, reduce=Twice())
    with meter.step(seconds=1.0):
        meter.add(lengths=[512])
    assert (meter.gpus, meter.counted, meter.run.useful) == (2, "summed over 2 ranks", 2 * mistral.flops(lengths=[512]).total)
    text = '^convention: must be the same for the reduction and the meter, got "exact" and "megatron"'
    with pytest.raises(floptally.Error, match=text):
        Meter(mistral, peak_tflops=989, reduce=Twice(), convention="megatron")
    with pytest.raises(floptally.Error, match="^gpus: must be 2, the number of ranks of the reduction, got 3"):
        Meter(mistral, gpus=3, peak_tflops=989, reduce=Twice())


def test_a_meter_reports_the_mixed_precision_mfu_and_the_peak_that_divides_it(mistral: floptally.Cost) -> None:
    def scalars(precisions: str | None, precision: str = "bf16") -> dict[str, float]:
        meter = Meter(mistral, gpus=1, accelerator="H100 SXM", precision=precision, precisions=precisions)
        with meter.step(seconds=1.0):
            meter.add(lengths=[4096])
        return meter.scalars("run")

    assert "train/mfu_mixed_pct" not in scalars(None)
    work = mistral.flops(lengths=[4096]).useful
    mlp = work.components["mlp"].total
    mixed = scalars("mlp=fp8")
    bf16, fp8 = (floptally.accelerator("H100 SXM").peak_tflops(name) for name in ("bf16", "fp8"))
    needed = (mlp / fp8 + (work.total - mlp) / bf16) / 1e12
    assert mixed["train/mfu_mixed_pct"] == pytest.approx(100 * needed)
    assert mixed["train/mixed_peak_tflops"] == pytest.approx(work.total / 1e12 / needed)
    # All 32 layers, and the head as it was.
    head = work.components["lm_head"].total
    layers = scalars("@0-31=fp8")
    assert layers["train/mfu_mixed_pct"] == pytest.approx(100 * ((work.total - head) / fp8 + head / bf16) / 1e12)
    with pytest.raises(floptally.Error, match="^layers: must be a range of the 32 layers, got 0 to 33"):
        scalars("@0-32=fp8")


def test_percentiles_of_step_times_skip_the_first_ten_steps(mistral: floptally.Cost) -> None:
    meter = meter_of(mistral)
    for step in range(110):
        meter.begin_step()
        meter.end_step(9.0 if step < 10 else 0.5 + step / 1000)
    found = meter.step_percentiles()
    assert list(found) == ["p10", "p25", "p50", "p75", "p90", "p99"]
    for name, seconds in found.items():
        exactly = 0.5 + (10 + int(name[1:]) - 1) / 1000  # of 100 sorted ones
        assert seconds == pytest.approx(exactly, rel=1 / 128)


def test_flops_of_single_steps_add_up_to_the_flops_of_intervals_and_runs(mistral: floptally.Cost) -> None:
    meter = meter_of(mistral)
    for seconds, lengths in ((0.5, [512, 9000]), (0.25, [4096])):
        meter.begin_step()
        meter.add(lengths=lengths)
        meter.add(cu_seqlens=[0, 5, 9], cu_seqlens_padded=[0, 8, 16], num_real_seqs=1)
        meter.end_step(seconds)
    batch = [512, 9000, 5, 4096, 5]
    assert meter.run.useful == meter.interval.useful == mistral.flops(lengths=batch).total
    assert meter.last_step.useful == mistral.flops(lengths=[4096, 5]).total
    assert meter.last_step.padded == mistral.flops(lengths=[4096, 8, 8]).total
    assert meter.last_step.executed > meter.last_step.padded > meter.last_step.useful
    assert (meter.run.steps, meter.run.seconds, meter.run.gpu_seconds) == (2, 0.75, 6.0)
    assert (meter.run.tokens, meter.run.padded_tokens, meter.run.samples) == (sum(batch), sum(batch) - 10 + 32, 5)
    assert meter.run.mfu == pytest.approx(meter.run.useful / (0.75 * 8 * 989e12), rel=1e-14)
    assert meter.run.padded_mfu > meter.run.mfu and meter.run.hfu > meter.run.padded_mfu
    assert meter.run.tflops == pytest.approx(8 * meter.run.tflops_per_gpu)
    assert meter.run.padded_tflops_per_gpu < meter.run.executed_tflops_per_gpu
    assert meter.run.tokens_per_second == pytest.approx(sum(batch) / 0.75)
    assert meter.run.tokens_per_second_per_gpu == pytest.approx(sum(batch) / 6)
    assert meter.run.samples_per_second == pytest.approx(5 / 0.75)
    assert meter.run.useful_fraction == pytest.approx(meter.run.tokens / meter.run.padded_tokens)
    assert meter.run.useful_flops_fraction == pytest.approx(meter.run.useful / meter.run.padded)
    assert meter.run.step_seconds == 0.375
    assert (meter.run.min_step_seconds, meter.run.max_step_seconds) == (0.25, 0.5)
    assert meter.run.percentile(50) == pytest.approx(0.25, rel=0.008)
    assert meter.run.tally.tokens == sum(batch)
    by_parts = meter.breakdown("run")
    assert by_parts.total == meter.run.useful and by_parts.executed_total == meter.run.executed
    assert meter.breakdown("step").total == meter.last_step.useful
    meter.reset_interval()
    assert (meter.interval.steps, meter.run.steps, meter.last_step.steps) == (0, 2, 1)


def test_scalars_of_a_meter_have_the_documented_names(mistral: floptally.Cost, source: Any) -> None:
    meter = meter_of(mistral)
    with meter.step(0.5):
        meter.add(lengths=[512])
    page = (source / "docs" / "meter.md").read_text()
    names = [line.split("`")[1] for line in page.splitlines() if line.startswith("| `train/")]
    of_ranks = {name for name in names if "rank" in name}
    of_a_budget = {"train/tokens_left", "train/steps_left", "train/seconds_left", "train/ends_at"}
    assert sorted(meter.scalars()) == sorted(set(names) - of_ranks - of_a_budget)
    assert len(of_ranks) == 5 and not of_ranks & of_a_budget
    meter.set_budget(tokens=2048, steps=3)
    assert sorted(meter.scalars()) == sorted(set(names) - of_ranks)
    assert meter.scalars()["train/mfu_pct"] == 100 * meter.interval.mfu
    assert meter.scalars("run", "x/")["x/steps"] == 1.0
    step = meter.scalars("step", "")
    assert "mfu_pct" in step and "steps" not in step
    assert all(type(value) is float for value in meter.scalars().values())
    meter.reset_interval()
    assert meter.scalars("run")["train/steps"] == 1.0
    assert meter.scalars("interval") == {}  # a log line between two steps
    with meter.step(0.25):
        meter.add(lengths=[512])
    assert (meter.scalars()["train/steps"], meter.scalars("run")["train/steps"]) == (1.0, 2.0)
    with pytest.raises(floptally.Error, match="span: must be one of step, interval, run, got \"epoch\""):
        meter.scalars("epoch")


def test_a_step_is_a_context_manager_and_is_discarded_if_its_block_raises(mistral: floptally.Cost) -> None:
    now = iter([10.0, 10.5, 20.0, 30.0, 31.0])
    meter = meter_of(mistral, clock=lambda: next(now))
    with meter.step() as same:
        assert same is meter and meter.in_step
        meter.add(lengths=[512])
    assert not meter.in_step and meter.last_step.seconds == 0.5
    with pytest.raises(KeyError), meter.step():
        meter.add(lengths=[9000])
        raise KeyError("out of data")
    assert not meter.in_step and meter.run.steps == 1
    with meter.step():
        meter.add(lengths=[7])
    assert meter.last_step.seconds == 1.0 and meter.run.tokens == 519


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda m: m.end_step(), "step: ends, but none has begun"),
        (lambda m: m.discard_step(), "step: ends, but none has begun"),
        (lambda m: (m.begin_step(), m.begin_step()), "step: begins inside another step"),
        (lambda m: m.add(lengths=[5]), "microbatch: was added outside of a step"),
        (lambda m: (m.begin_step(), m.end_step(0)), "seconds: must be a finite number above 0"),
        (lambda m: (m.begin_step(), m.end_step(float("nan"))), "seconds: must be a finite number above 0"),
        (lambda m: (m.begin_step(), m.end_step("1")), "seconds: must be a number, got '1'"),
        (lambda m: (m.begin_step(), m.add()), "lengths: no batch was passed"),
        (lambda m: (m.begin_step(), m.add(lengths=[-1])), "lengths[0]: must be at least 0"),
        (lambda m: m.run.mfu, "steps: no step has ended yet"),
        (lambda m: m.scalars(), "steps: no step has ended yet"),
        (lambda m: m.last_step.percentile(50), "step_seconds: has no percentiles for a single step"),
    ],
)
def test_beginning_or_ending_a_meter_step_at_the_wrong_time_is_an_error(mistral: floptally.Cost, act: Any, message: str) -> None:
    meter = meter_of(mistral)
    with pytest.raises(floptally.Error) as raised:
        act(meter)
    assert str(raised.value).startswith(message)
    assert meter.run.steps == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpus": 0}, "gpus: must be an integer from 1 to 18446744073709551615, got 0"),
        ({"gpus": 1.5}, "gpus: must be an integer"),
        ({"peak_tflops": -1}, "peak_tflops: must be a finite number above 0"),
        ({"peak_tflops": None}, "accelerator: is missing"),
        ({"accelerator": 5}, "accelerator: must be a name or a floptally.Accelerator, got 5"),
        ({"precision": "bf17"}, "precision: must be one of fp64"),
        ({"convention": "megatorn"}, 'convention: unknown name "megatorn"'),
        ({"convention": 5}, "convention: must be a name or a floptally.Convention, got 5"),
        ({"plan": 5}, "plan: must be a floptally.Plan, got 5"),
        ({"clock": 5}, "clock: must be callable, got 5"),
    ],
)
def test_invalid_settings_of_a_meter_are_an_error_that_names_the_field(mistral: floptally.Cost, options: Any, message: str) -> None:
    with pytest.raises(floptally.Error) as raised:
        meter_of(mistral, **options)
    assert str(raised.value).startswith(message)


def test_an_ambiguous_accelerator_name_gives_a_warning_and_a_meter_without_mfu(mistral: floptally.Cost) -> None:
    with pytest.warns(RuntimeWarning, match='"H100" is only part of a name'):
        assert meter_of(mistral, peak_tflops=None, accelerator="H100").peak_tflops is None


def test_a_meter_reports_its_settings(mistral: floptally.Cost) -> None:
    plan = floptally.Plan(recompute="full")
    meter = Meter(
        mistral, gpus=4, counted="all_gpus", accelerator="NVIDIA H100 80GB HBM3", precision="fp8",
        convention="megatron", plan=plan,
    )
    assert (meter.gpus, meter.accelerator, meter.precision, meter.convention) == (4, "H100 SXM", "fp8", "megatron")
    assert meter.peak_tflops == 1978.9 and meter.plan == plan and meter.cost == mistral
    with meter.step(1.0):
        meter.add(lengths=[9000])
    expected = mistral.flops(lengths=[9000], convention="megatron", plan=plan)
    assert (meter.run.useful, meter.run.executed) == (expected.total, expected.executed_total)


def test_a_meter_resumes_its_run_from_a_checkpoint(mistral: floptally.Cost) -> None:
    meter = meter_of(mistral)
    for lengths in ([512, 9000], [4096]):
        with meter.step(0.3):
            meter.add(lengths=lengths)
    state = json.loads(json.dumps(meter.state_dict()))
    assert state["useful"] == str(meter.run.useful)
    resumed = meter_of(mistral, gpus=16)
    resumed.load_state_dict(state)
    assert (resumed.run.useful, resumed.run.seconds, resumed.run.steps) == (meter.run.useful, 0.6, 2)
    with resumed.step(0.3):
        resumed.add(lengths=[7])
    assert resumed.run.tokens == 512 + 9000 + 4096 + 7 and resumed.run.gpu_seconds == 0.6 * 8 + 0.3 * 16
    with pytest.raises(floptally.Error, match="resume: must be called before the first step"):
        resumed.load_state_dict(state)
    other = meter_of(mistral, convention="verl")
    with pytest.warns(RuntimeWarning, match="^the saved run was counted by another model, plan or convention"):
        other.load_state_dict(state)
    assert other.run.useful == meter.run.useful and other.interval.steps == 0
    with other.step(0.3):
        other.add(lengths=[7])
    assert other.run.useful == meter.run.useful + mistral.flops(lengths=[7], convention="verl").total
    with pytest.raises(floptally.Error, match="^span: must be .* the run has several plans or conventions"):
        other.breakdown("run")
    with pytest.raises(floptally.Error, match="words: is missing: pass the whole state of a meter, as `to_json` wrote it"):
        meter_of(mistral).load_state_dict({name: value for name, value in state.items() if name != "words"})


def test_a_tally_that_is_reduced_over_ranks_can_be_added_as_a_microbatch(mistral: floptally.Cost) -> None:
    meter = meter_of(mistral, convention="palm")
    ranks = []
    for lengths in ([512], [9000]):
        tally = meter.new_tally()
        tally.add_lengths(lengths)
        ranks.append(tally)
    with meter.step(0.5):
        meter.add(tally=ranks[0] + ranks[1])
    assert meter.run.useful == mistral.flops(lengths=[512, 9000], convention="palm").total
    meter.begin_step()
    with pytest.raises(floptally.Error, match="tally: counts the pairs of sliding_window"):
        meter.add(tally=floptally.Tally(mistral))


class Announced(Meter):
    """A subclass overrides what `with meter.step()` calls."""

    def __init__(self, cost: floptally.Cost) -> None:
        super().__init__(cost, gpus=1, peak_tflops=1)
        self.said: list[str] = []

    def begin_step(self) -> None:
        self.said.append("begin")
        super().begin_step()

    def end_step(self, seconds: float | None = None) -> None:
        self.said.append("end")
        super().end_step(seconds)


def test_the_class_meter_can_be_subclassed(mistral: floptally.Cost) -> None:
    meter = Announced(mistral)
    with meter.step(1.0):
        meter.add(lengths=[5])
    assert meter.said == ["begin", "end"] and meter.run.steps == 1


def test_any_thread_can_add_to_an_open_step_of_a_meter(mistral: floptally.Cost) -> None:
    meter = meter_of(mistral)
    lengths = np.full(5000, 70, np.int32)  # long enough to be counted without the GIL

    def load() -> None:
        for _ in range(50):
            meter.add(lengths=lengths)
            meter.add(lengths=[1])

    with meter.step(1.0):
        threads = [threading.Thread(target=load) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert meter.last_step.tokens == 300 * (5000 * 70 + 1)


def test_a_microbatch_added_to_one_meter_step_never_counts_in_the_next_step(mistral: floptally.Cost) -> None:
    """One that is still being counted when its step ends is an error."""
    meter = meter_of(mistral)
    lengths = np.full(4_000_000, 700, np.int32)
    problems: list[floptally.Error] = []

    def load() -> None:
        try:
            meter.add(lengths=lengths)
        except floptally.Error as error:
            problems.append(error)

    meter.begin_step()
    thread = threading.Thread(target=load)
    thread.start()
    import time

    time.sleep(0.002)
    meter.end_step(1.0)
    meter.begin_step()
    thread.join()
    meter.end_step(1.0)
    if meter.run.tokens == 0:
        assert "microbatch: " in str(problems[0])
    else:  # it was done before its step ended
        assert not problems
    assert meter.last_step.tokens == 0


def seconds_by_one() -> float:
    return 1.0


def test_a_pickled_meter_has_its_run_but_no_open_step(mistral: floptally.Cost) -> None:
    frozen = floptally.WeightSetting("*", "frozen")
    lora = floptally.Plan(weights=[frozen, floptally.WeightSetting("attention.qkv", "lora", rank=16)])
    meter = meter_of(
        mistral, accelerator="H100 SXM", peak_tflops=None, plan=lora, convention="megatron", clock=seconds_by_one,
        precisions="mlp=fp8",
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(meter)).run.steps == 0
    with meter.step(seconds=1.0):
        meter.add(lengths=[512, 9000])
    meter.begin_step()
    meter.add(lengths=[7])
    same = pickle.loads(pickle.dumps(meter))
    assert not same.in_step and meter.in_step
    assert same.state_dict() == meter.state_dict() and same.counted == meter.counted
    assert (same.convention, same.plan, same.cost, same.gpus) == ("megatron", lora, mistral, 8)
    with same.step(seconds=1.0):
        same.add(lengths=[7])
    meter.end_step(seconds=1.0)
    assert same.scalars("run") == meter.scalars("run") and same.run.useful == meter.run.useful
    assert copy.deepcopy(same).run.useful == meter.run.useful


class Kept(Meter):
    note = ""


def test_a_pickled_object_of_a_subclass_of_the_class_meter_keeps_its_attributes(mistral: floptally.Cost) -> None:
    meter = Kept(mistral, gpus=1, peak_tflops=989)
    meter.note = "mine"
    assert pickle.loads(pickle.dumps(meter)).note == "mine"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_gets_a_separate_meter_and_cannot_add_to_the_open_step_of_its_parent(mistral: floptally.Cost) -> None:
    meter = meter_of(mistral)
    meter.begin_step()
    meter.add(lengths=[512])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            try:
                meter.add(lengths=[9000])
            except floptally.Error as problem:
                said = str(problem)
            meter.discard_step()
            with meter.step(seconds=1.0):
                meter.add(lengths=[5])
            said += f" | {meter.run.tokens}"
        finally:
            os.write(writer, said.encode())
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    assert said.startswith("microbatch: was added in a forked process") and said.endswith("| 5")
    meter.end_step(seconds=1.0)
    assert meter.run.tokens == 512


class Documents:
    """A dataset that counts nothing itself and knows the meter, as a collator may."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        return self.meter.cost.total_flops(lengths=[index + 1])


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_a_meter_works_next_to_dataloader_worker_processes(mistral: floptally.Cost, start: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    meter = meter_of(mistral)
    loader = torch.utils.data.DataLoader(Documents(meter), batch_size=4, num_workers=2, multiprocessing_context=start)
    seen = []
    for batch in loader:
        with meter.step(seconds=1.0):
            meter.add(lengths=torch.arange(1, 5))
        seen += batch.tolist()
    assert seen == [mistral.total_flops(lengths=[index + 1]) for index in range(8)]
    assert (meter.run.steps, meter.run.tokens) == (2, 20)


def test_a_pytorch_tensor_is_read_through_its_dlpack_function_table(mistral: floptally.Cost) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this PyTorch has __dlpack__ alone")
    meter = meter_of(mistral)
    lengths = torch.tensor([0, 512, 9000], dtype=torch.int32)

    class Slow(torch.Tensor):  # type: ignore[misc,name-defined]
        """A subclass goes the long way: it may stand for a tensor without memory."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "__dlpack__", lambda self, **_: 1 / 0)
        meter.begin_step()
        meter.add(cu_seqlens=lengths)
        with pytest.raises(floptally.Error, match="division by zero"):
            meter.add(cu_seqlens=lengths.as_subclass(Slow))
    meter.add(cu_seqlens=lengths.as_subclass(Slow))
    for wrong, says in (
        (lengths.to(torch.float32), "must be int32, int64, uint32 or uint64, got float32$"),
        (lengths.reshape(1, 3), r"must have one dimension, got shape \(1, 3\)$"),
        (torch.arange(9)[::2], "must be C-contiguous, got shape .* with a stride of 2"),
        (torch.zeros(3, dtype=torch.int32, device="meta"), "cu_seqlens: "),
    ):
        with pytest.raises(floptally.Error, match=says):
            meter.add(cu_seqlens=wrong)
    meter.end_step(seconds=1.0)
    assert meter.run.tokens == 18000


def test_a_meter_can_log_a_second_convention_next_to_the_first() -> None:
    windowed = floptally.cost(SOURCE / "examples" / "data" / "mistral-7b-v0.1.json")
    for name in ("megatron", "maxtext", "palm"):
        meter = floptally.Meter(windowed, gpus=1, peak_tflops=989.0, beside=name)
        alone = floptally.Meter(windowed, gpus=1, peak_tflops=989.0, convention=name)
        for each in (meter, alone):
            with each.step(seconds=2.0):
                each.add(lengths=[9000, 300], row_length=9000)
        assert meter.beside == name and alone.beside is None
        shown, expected = meter.scalars("run"), alone.scalars("run")
        assert shown[f"train/mfu_{name}_pct"] == expected["train/mfu_pct"]
        assert shown[f"train/tflops_{name}_padded_per_gpu"] == expected["train/tflops_padded_per_gpu"]
        assert meter.run.useful == windowed.total_flops(lengths=[9000, 300])
        assert f'floptally_beside_flops_total{{convention="{name}",view="useful"}} {alone.run.useful}' in (
            meter.to_open_metrics()
        )
        assert callbacks.postfix(meter).endswith(
            f"| {name} {expected['train/mfu_pct']:.1f}% | {expected['train/tflops_per_gpu']:.0f} TFLOP/s"
        )
        again = pickle.loads(pickle.dumps(meter))
        assert again.scalars("run") == shown
        resumed = floptally.Meter(windowed, gpus=1, peak_tflops=989.0, beside=name)
        resumed.load_state_dict(meter.state_dict())
        assert resumed.scalars("run") == shown
