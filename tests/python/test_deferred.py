# SPDX-License-Identifier: Apache-2.0
"""Microbatches on a GPU, counted a step later and waited for by nobody. The GPU is played: its copies arrive when told."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import floptally
from floptally import Meter, callbacks

GARBAGE = -7


class Stream:
    """Work that is done when the GPU runs."""

    def __init__(self) -> None:
        self.queue: list[Any] = []

    def run(self, until: Any = None) -> None:
        while self.queue:
            work = self.queue.pop(0)
            work()
            if work is until:
                break


class Gpu:
    """What a test asks of the GPU, and what the package asked of it."""

    def __init__(self) -> None:
        self.streams: dict[int, Stream] = {}
        self.asked: list[str] = []
        self.captures = False

    def stream(self, device: int = 0) -> Stream:
        return self.streams.setdefault(device, Stream())

    def run(self) -> None:
        for stream in self.streams.values():
            stream.run()


GPU = Gpu()


class Device:
    def __init__(self, type: str, index: int = 0) -> None:
        self.type, self.index = type, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


class Tensor:
    """On a GPU. All that would wait for it is an error."""

    def __init__(self, values: Any, device: int = 0, dtype: Any = np.int32) -> None:
        self._values = np.array(values, dtype=dtype)
        self.device = Device("cuda", device)
        self.shape = self._values.shape
        self.dtype = self._values.dtype

    def detach(self) -> Tensor:
        return self

    def to(self, where: str, *, non_blocking: bool) -> np.ndarray[Any, Any]:
        assert where == "cpu" and non_blocking
        GPU.asked.append("copy")
        pinned = np.full_like(self._values, GARBAGE)
        GPU.stream(self.device.index).queue.append(lambda: np.copyto(pinned, self._values))
        return pinned

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device.index)

    def _waits(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("would wait for the GPU")

    __dlpack__ = __index__ = __int__ = __len__ = __iter__ = __getitem__ = __array__ = cpu = item = tolist = numpy = _waits


class RocmTensor(Tensor):
    """PyTorch's on a GPU of AMD: its device is called "cuda", and DLPack's has another number."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (10, self.device.index)


class CudaArray:
    """As CuPy's are, which PyTorch takes by DLPack."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = {"shape": tensor.shape, "typestr": "<i4", "data": (0, False), "version": 3}


class Event:
    def __init__(self) -> None:
        self.recorded: Any = None
        self.happened = False

    def record(self, stream: Stream) -> None:
        GPU.asked.append("record")
        self.stream = stream
        self.work = lambda: setattr(self, "happened", True)
        stream.queue.append(self.work)

    def query(self) -> bool:
        assert not GPU.captures, "no event may be asked for in a capture"
        return self.happened

    def synchronize(self) -> None:
        assert not GPU.captures, "nothing may be waited for in a capture"
        GPU.asked.append("wait")
        if not self.happened:
            self.stream.run(self.work)


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    GPU.__init__()  # type: ignore[misc]
    torch = types.ModuleType("torch")
    torch.Tensor = Tensor  # type: ignore[attr-defined]
    torch.from_dlpack = lambda array: array.tensor  # type: ignore[attr-defined]
    torch.cuda = types.SimpleNamespace(  # type: ignore[attr-defined]
        Event=Event,
        current_stream=lambda device: GPU.stream(device.index),
        is_current_stream_capturing=lambda: GPU.captures,
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    yield GPU


@pytest.fixture
def meter(mistral: floptally.Cost) -> Meter:
    return Meter(mistral, gpus=1, peak_tflops=1e5)


def work_of(meter: Meter, **batch: Any) -> int:
    return meter.cost.flops(**batch).total


def test_a_deferred_step_joins_the_totals_of_a_meter_without_any_waiting_once_its_gpu_copies_are_done(meter: Meter, gpu: Gpu) -> None:
    first, second = Tensor([0, 700, 6000, 8192]), Tensor([0, 8192])
    with meter.step(seconds=0.5):
        meter.add(cu_seqlens=first)
        meter.add(cu_seqlens=second)
    assert (meter.run.steps, meter.interval.steps, meter.last_step.useful) == (0, 0, 0)
    with meter.step(seconds=0.25):  # of the host alone: behind the first all the same
        meter.add(lengths=[512])
    assert meter.run.steps == 0
    assert gpu.asked == ["copy", "record", "copy", "record"]
    gpu.run()
    assert meter.run.steps == 2
    assert (meter.run.seconds, meter.last_step.seconds) == (0.75, 0.25)
    assert meter.run.useful == work_of(meter, lengths=[700, 5300, 2192, 8192, 512])
    assert meter.last_step.useful == work_of(meter, lengths=[512])
    assert "wait" not in gpu.asked


def test_rocm_tensors_are_copied_like_cuda_tensors(meter: Meter, gpu: Gpu) -> None:
    with meter.step(seconds=0.5):
        meter.add(cu_seqlens=RocmTensor([0, 700, 8192]))
        meter.add_lengths(RocmTensor([512]))
    gpu.run()
    assert meter.last_step.useful == work_of(meter, lengths=[700, 7492, 512])
    assert "wait" not in gpu.asked
    with pytest.raises(floptally.Error, match="^lengths: must be in host memory, got a tensor on ROCm device 0: pass it to Meter.add"):
        floptally.Tally(meter.cost).add_lengths(RocmTensor([1]))


def test_methods_of_a_meter_have_the_names_of_tally_methods_and_accept_gpu_arrays(mistral: floptally.Cost, gpu: Gpu) -> None:
    plan = floptally.Plan(phase="forward")
    meter = Meter(mistral, gpus=1, peak_tflops=1e5, plan=plan)
    expected = floptally.Tally(mistral, plan=plan)

    def add_all(to: Any, array: Any) -> None:
        to.add_cu_seqlens(array([0, 5, 705]), array([0, 8, 708]), 1)
        to.add_packed(array([0, 5]), array([0, 8, 708]))
        to.add_padded(array([5, 7]), 9)
        to.add_attention_mask(array([[1, 1, 0]]))
        to.add_new_tokens(array([5, 7]), array([100, 0]))

    with meter.step(seconds=0.5):
        add_all(meter, Tensor)
    gpu.run()
    add_all(expected, np.array)
    assert meter.last_step.tally == expected
    with pytest.raises(floptally.Error, match=r"^past: must be as many as new_tokens \(2\), got 1"), meter.step(1.0):
        meter.add_new_tokens([1, 2], [3])


def test_an_open_step_of_a_meter_is_unchanged_while_earlier_deferred_steps_join_the_totals(meter: Meter, gpu: Gpu) -> None:
    with meter.step(seconds=1.0):
        meter.add(lengths=Tensor([100]))
    meter.begin_step()
    meter.add(lengths=[7])
    gpu.run()
    assert meter.run.steps == 1 and meter.in_step
    meter.add(lengths=[8])
    with pytest.raises(floptally.Error, match="^step: begins inside another step"):
        meter.begin_step()
    meter.end_step(2.0)
    assert (meter.run.steps, meter.last_step.useful) == (2, work_of(meter, lengths=[7, 8]))


def test_a_meter_reads_its_clock_once_at_begin_and_once_at_end_of_a_step(mistral: floptally.Cost, gpu: Gpu) -> None:
    ticks = iter([1.0, 1.5, 10.0, 10.25])
    meter = Meter(mistral, gpus=1, peak_tflops=1e5, clock=lambda: next(ticks))
    for lengths in (Tensor([100]), [100]):
        with meter.step():
            meter.add(lengths=lengths)
    meter.finish()
    assert (meter.run.seconds, meter.last_step.seconds) == (0.75, 0.25)


@pytest.mark.parametrize(
    "batch",
    [
        {"lengths": [3, 5], "row_length": 8},
        {"cu_seqlens": [0, 3, 5, 8], "cu_seqlens_padded": [0, 4, 6, 8], "num_real_seqs": 2},
        {"cu_seqlens": [0, 4, 8, 12], "cu_seqlens_real": [0, 3]},
        {"attention_mask": [[1, 1, 0], [1, 1, 1]]},
        {"new_tokens": [[3, 5], [1, 9]]},
    ],
)
def test_every_batch_argument_may_be_a_gpu_tensor_and_counts_with_its_value_at_the_time_of_the_call(
    meter: Meter, gpu: Gpu, batch: dict[str, Any]
) -> None:
    for on_gpu in batch:
        beside = {name: np.array(value, np.int64) if name != "row_length" else value for name, value in batch.items()}
        arguments = {**beside, on_gpu: Tensor(batch[on_gpu])}
        if on_gpu == "row_length":
            continue
        with meter.step(seconds=1.0):
            meter.add(**arguments)
            for name, value in beside.items():
                if isinstance(value, np.ndarray):
                    value[...] = 1  # the loader's next batch
        meter.finish()
        assert meter.last_step.useful == work_of(meter, **batch)
        assert meter.last_step.padded == meter.cost.flops(**batch).padded.total


def test_a_meter_accepts_measured_counts_in_gpu_tensors(gpu: Gpu) -> None:
    config = {
        "model_type": "mixtral", "vocab_size": 32000, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "num_local_experts": 8, "num_experts_per_tok": 2,
    }  # fmt: skip
    cost = floptally.cost(config)
    measured = {"optimizer_steps": 1}
    meter = Meter(cost.with_muon(), gpus=1, peak_tflops=1e5)
    with meter.step(seconds=1.0):
        meter.add(lengths=[64], measured={"optimizer_steps": Tensor(1)})
    meter.finish()
    assert meter.run.useful == cost.with_muon().flops(lengths=[64], measured=measured).total


def test_gpu_arrays_of_other_libraries_are_read_through_dlpack(meter: Meter, gpu: Gpu) -> None:
    with meter.step(seconds=1.0):
        meter.add(cu_seqlens=CudaArray(Tensor([0, 5, 9])))
    meter.finish()
    assert meter.run.useful == work_of(meter, lengths=[5, 4])


def test_a_deferred_step_with_tensors_on_two_gpus_waits_for_a_copy_event_of_each_gpu(meter: Meter, gpu: Gpu) -> None:
    with meter.step(seconds=1.0):
        meter.add(cu_seqlens=Tensor([0, 5, 9]), cu_seqlens_padded=Tensor([0, 8, 16], device=1))
    assert gpu.asked == ["copy", "copy", "record", "record"]
    gpu.stream(0).run()
    assert meter.run.steps == 0
    gpu.stream(1).run()
    assert meter.run.padded == work_of(meter, lengths=[8, 8])


def test_an_invalid_deferred_tensor_is_an_error_that_names_the_step_and_loses_no_other_step(meter: Meter, gpu: Gpu) -> None:
    with meter.step(seconds=1.0):
        meter.add(lengths=[11])
    with meter.step(seconds=1.0):
        meter.add(lengths=[12])
        meter.add(cu_seqlens=Tensor([0, 10, 5]))
        meter.add(lengths=Tensor([-1]))
        meter.add(lengths=Tensor([13]))
    with meter.step(seconds=1.0):
        meter.add(lengths=Tensor([14]))
    gpu.run()
    with pytest.raises(floptally.Error) as raised:
        meter.begin_step()
        meter.end_step(1.0)
    assert str(raised.value) == (
        "cu_seqlens[2]: must be at least the boundary before it, 10, got 5 (in microbatch 1 from a GPU of step 2, which is "
        "counted without it)"
    )
    assert raised.value.field == "cu_seqlens[2]"
    assert not meter.in_step
    assert meter.run.steps == 4
    assert meter.run.useful == work_of(meter, lengths=[11, 12, 13, 14])


def test_a_deferred_step_that_overflows_the_totals_is_left_out(meter: Meter, gpu: Gpu) -> None:
    huge = meter.new_tally()
    huge.add_routed(2**63, 2**63)
    for lengths in ([1], [2]):
        with meter.step(seconds=1.0):
            meter.add(lengths=Tensor(lengths), tally=huge)
    gpu.run()
    with pytest.raises(floptally.Overflow, match=r"\(of step 2, which is left out\)$"):
        meter.finish()
    meter.finish()
    assert (meter.run.steps, meter.run.tokens) == (1, 1)


def test_an_invalid_time_at_the_end_of_a_step_leaves_the_step_open(meter: Meter, gpu: Gpu) -> None:
    meter.begin_step()
    meter.add(lengths=Tensor([5]))
    for seconds in (0.0, float("nan"), "soon"):
        with pytest.raises(floptally.Error, match="^seconds: "):
            meter.end_step(seconds)  # type: ignore[arg-type]
    assert meter.in_step
    meter.end_step(1.0)
    meter.finish()
    assert meter.run.tokens == 5


def test_an_invalid_keyword_argument_or_a_closed_step_is_an_error_before_any_gpu_tensor_is_copied(meter: Meter, gpu: Gpu) -> None:
    with pytest.raises(floptally.Error, match="^microbatch: was added outside of a step"):
        meter.add(lengths=Tensor([5]))
    meter.begin_step()
    with pytest.raises(TypeError, match="unexpected keyword argument 'lenghts'; did you mean 'lengths'"):
        meter.add(lenghts=[5], cu_seqlens=Tensor([0, 5]))  # type: ignore[call-arg]
    with pytest.raises(floptally.Error, match=r"^batch: must have done\(\), wait\(\) and arguments\(\), got 5"):
        meter.add_deferred(5)  # type: ignore[arg-type]
    assert gpu.asked == []
    with pytest.raises(floptally.Error, match="^step: ends, but none has begun"):
        Meter(meter.cost, gpus=1, peak_tflops=1).end_step(1.0)


def test_a_discarded_deferred_step_drops_its_gpu_copies(meter: Meter, gpu: Gpu) -> None:
    with pytest.raises(KeyError), meter.step(seconds=1.0):
        meter.add(lengths=Tensor([5]))
        raise KeyError
    with meter.step(seconds=1.0):
        meter.add(lengths=Tensor([6]))
    meter.finish()
    assert (meter.run.steps, meter.run.tokens) == (1, 6)


def test_saving_or_copying_or_finishing_a_meter_waits_for_deferred_steps(meter: Meter, gpu: Gpu) -> None:
    def step(tokens: int) -> None:
        with meter.step(seconds=1.0):
            meter.add(lengths=Tensor([tokens]))

    step(5)
    resumed = Meter(meter.cost, gpus=1, peak_tflops=1e5)
    resumed.load_state_dict(json.loads(json.dumps(meter.state_dict())))
    assert gpu.asked.count("wait") == 1 and resumed.run.tokens == 5
    step(6)
    assert pickle.loads(pickle.dumps(meter)).run.tokens == 11
    step(7)
    meter.begin_step()
    meter.finish()  # in a step too, which stays open
    assert meter.in_step and meter.run.tokens == 18
    fresh = Meter(meter.cost, gpus=1, peak_tflops=1e5)
    with fresh.step(seconds=1.0):
        fresh.add(lengths=Tensor([1]))
    with pytest.raises(floptally.Error, match="^resume: must be called before the first step"):
        fresh.load_state_dict(resumed.state_dict())
    with pytest.raises(floptally.Error, match="^leave_out: must be called before the first step"):
        fresh.leave_out(3)


def test_a_meter_with_a_reduction_over_ranks_waits_for_gpu_copies_and_joins_the_reduction_even_after_an_error(
    mistral: floptally.Cost, gpu: Gpu
) -> None:
    sums = []

    class Twice:
        layout = floptally.ParallelLayout(rank=0, dp=2)
        convention = "exact"

        def __call__(self, mine: floptally.Tally) -> floptally.Tally:
            sums.append(mine.tokens)
            return mine + mine

    meter = Meter(mistral, peak_tflops=1e5, reduce=Twice())
    with meter.step(seconds=1.0):
        meter.add(lengths=Tensor([5]))
        meter.add(lengths=[6])
    assert (meter.run.tokens, gpu.asked[-1]) == (22, "wait")
    with pytest.raises(floptally.Error, match=r"^lengths\[0\]: .* \(in microbatch 2 from a GPU of step 2, which is"):
        with meter.step(seconds=1.0):
            meter.add(lengths=Tensor([7]))
            meter.add(lengths=Tensor([-7]))
    assert (meter.run.steps, meter.run.tokens, sums) == (2, 36, [11, 7])
    meter.begin_step()
    meter.add(lengths=Tensor([8]))
    with pytest.raises(floptally.Error, match="^seconds: "):
        meter.end_step(-1.0)
    meter.end_step(1.0)
    assert (meter.run.tokens, sums) == (52, [11, 7, 8])


def test_a_meter_neither_copies_nor_waits_for_gpu_tensors_during_cuda_graph_capture(meter: Meter, gpu: Gpu) -> None:
    with meter.step(seconds=1.0):
        meter.add(lengths=Tensor([5]))
    meter.begin_step()
    gpu.captures = True
    assert meter.run.steps == 0
    with pytest.raises(floptally.Error, match="^lengths: must not be copied while a CUDA graph is captured"):
        meter.add(lengths=Tensor([6]))
    meter.end_step(1.0)
    with pytest.raises(floptally.Error, match="^meter: cannot wait for a copy from a GPU while a CUDA graph is captured"):
        meter.finish()
    gpu.captures = False
    meter.finish()
    assert (meter.run.steps, meter.run.tokens) == (2, 5)


def test_threads_that_read_a_meter_never_see_a_partly_counted_step(meter: Meter, gpu: Gpu) -> None:
    def ask() -> None:
        for _ in range(300):
            seen.append((meter.run.steps, meter.run.tokens))
            meter.finish()

    seen: list[tuple[int, int]] = []
    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(200):
        with meter.step(seconds=1.0):
            meter.add(lengths=Tensor([5]))
            meter.add(lengths=[5])
    for thread in threads:
        thread.join()
    meter.finish()
    assert (meter.run.steps, meter.run.tokens) == (200, 2000)
    assert all(tokens % 10 == 0 for _, tokens in seen)


def test_trainer_callbacks_count_batches_on_a_gpu_with_deferred_steps(meter: Meter, gpu: Gpu) -> None:
    adapter = callbacks.MeterAdapter(meter)
    own = callbacks.MeterAdapter(
        Meter(meter.cost, gpus=1, peak_tflops=1e5), arguments=lambda batch: {"lengths": batch["mine"]}
    )
    for one, batch in ((adapter, {"attention_mask": Tensor([[1, 1, 0]]), "input_ids": Tensor([[7, 7, 7]])}),
                       (own, {"mine": Tensor([2])})):  # fmt: skip
        one.begin()
        one.add(batch)  # the first is waited for, so that an error comes before the run costs anything
        one.end()
        assert (gpu.asked.count("wait"), one.meter.run.tokens) == (1, 2)
        one.scalars()
        for _ in range(2):
            one.begin()
            one.add(batch)
            one.end()
        assert gpu.asked.count("wait") == 1 and one.meter.run.steps == 1 and one.scalars() == {}
        gpu.run()
        assert one.meter.run.tokens == 6
        assert "train/mfu_pct" in one.scalars() and one.scalars() == {}
        assert gpu.asked == ["copy", "record", "wait"] + ["copy", "record"] * 2  # of ids only the shape is read
        gpu.asked.clear()
    with callbacks.step(meter, {"cu_seq_lens_q": Tensor([0, 3])}, {"input_ids": np.zeros((1, 4))}, seconds=1.0):
        pass
    meter.finish()
    assert meter.last_step.tokens == 7


def test_trainer_callbacks_leave_out_a_step_that_fails_after_the_copy_of_its_gpu_batch(meter: Meter, gpu: Gpu) -> None:
    adapter = callbacks.MeterAdapter(meter)

    def ran(*bounds: Any) -> None:
        adapter.begin()
        for one in bounds:
            adapter.add({"cu_seqlens": one, "my_segments": Tensor([1])})
        adapter.end()

    ran(Tensor([0, 3]))
    adapter.scalars()
    ran(Tensor([0, 4]))
    ran(Tensor([0, 5]), Tensor([0, 9, 5]), [0, 6])
    ran(Tensor([0, 7]))
    assert meter.run.steps == 1
    gpu.run()
    with pytest.warns(RuntimeWarning, match=r"^cu_seqlens\[2\]: must be at least the boundary before it, 9, got 5 \(the step"):
        scalars = adapter.scalars()
    assert (meter.run.steps, meter.run.tokens, adapter.batches_left_out) == (3, 14, 3)
    assert (scalars["train/batches_left_out"], scalars["train/steps"]) == (3, 2) and "train/mfu_pct" not in scalars
    ran(Tensor([0, 8]))
    ran(Tensor([0, 9, 5]))
    adapter.finish()
    assert (meter.run.steps, meter.run.tokens, adapter.batches_left_out) == (4, 22, 4)
    assert set(adapter.scalars()) > {"train/batches_left_out"}


def test_an_invalid_deferred_batch_reports_an_error_and_the_step_of_the_batch_is_left_out(meter: Meter) -> None:
    class Late:
        def __init__(self, arguments: Any) -> None:
            self.given, self.problem = arguments, None

        def done(self) -> bool:
            return True

        def wait(self) -> None:
            pass

        def arguments(self) -> Any:
            if isinstance(self.given, Exception):
                raise self.given
            return self.given

        def failed(self, problem: Exception) -> None:
            self.problem = problem

    late = [Late({"lengths": [5]}), Late({"lengths": [-5]}), Late(KeyError("gone")), Late({"lengths": [6]})]
    for one in late:
        with meter.step(seconds=1.0):
            meter.add(lengths=[1])
            meter.add_deferred(one)
    meter.finish()
    assert (meter.run.steps, meter.run.tokens) == (2, 13)
    assert late[0].problem is None and isinstance(late[1].problem, floptally.Error) and isinstance(late[2].problem, KeyError)
    assert str(late[1].problem).startswith("lengths[0]: must be")


def test_trainer_callbacks_that_reduce_over_ranks_join_the_reduction_even_in_a_step_that_is_left_out(meter: Meter, gpu: Gpu) -> None:
    sums = []

    def reduce(mine: floptally.Tally) -> floptally.Tally:
        sums.append(mine.tokens)
        return mine

    adapter = callbacks.MeterAdapter(meter, reduce=reduce, arguments=lambda batch: {"lengths": batch})
    adapter.begin()
    adapter.add(Tensor([5]))
    adapter.add(Tensor([-5]))
    with pytest.warns(RuntimeWarning, match=r"^lengths\[0\]: must be .* \(the step is left out"):
        adapter.end()
    assert (sums, meter.run.steps, adapter.batches_left_out) == ([0], 0, 2)
    adapter.begin()
    adapter.add(Tensor([6]))
    adapter.end()
    assert (sums, meter.run.tokens) == ([0, 6], 6)


def test_the_deferred_example_on_the_docs_page_python_runs_without_errors(meter: Meter, gpu: Gpu) -> None:
    from test_readme import blocks

    lines = next(one for one in blocks("docs/python.md") if "meter.finish()" in one)
    trained: list[Any] = []
    exec(lines, {"meter": meter, "batches": [{"cu_seqlens": Tensor([0, n])} for n in (5, 6)], "train": trained.append})
    assert (len(trained), meter.run.steps, meter.run.tokens) == (2, 2, 11)


def test_the_process_waits_at_exit_until_all_deferred_steps_are_counted() -> None:
    script = """
import atexit, floptally

class Late:
    def __init__(self, lengths): self.lengths = lengths
    def done(self): return False
    def wait(self): print("waits")
    def arguments(self): return {"lengths": self.lengths}

config = {"model_type": "llama", "vocab_size": 9, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1,
          "num_attention_heads": 1}
meters = [floptally.Meter(floptally.cost(config), gpus=1, peak_tflops=1e5) for _ in range(2)]
atexit.register(lambda: print(sorted(meter.run.tokens for meter in meters)))
for meter, lengths in zip(meters, ([3], [-3])):
    with meter.step(seconds=1.0):
        meter.add_deferred(Late(lengths))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ended.stdout == "waits\nwaits\n[0, 3]\n"
    assert "lengths[0]: must be" in ended.stderr and "of step 1, which is counted without it" in ended.stderr


def test_the_error_of_a_build_without_cuda_kernels_suggests_copying_the_batch_to_the_host(
    mistral: floptally.Cost, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    from floptally import _device

    monkeypatch.setattr(_device, "_KERNELS", tmp_path / "_kernels.fatbin")
    with pytest.raises(floptally.Error, match="^DeviceTally: needs CUDA kernels, but floptally was built without nvcc: .* Meter.add"):
        floptally.DeviceTally(mistral, device=0)
