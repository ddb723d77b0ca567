# SPDX-License-Identifier: Apache-2.0
"""DeviceTally by the kernels that the package brings, on a driver of the host that executes their PTX
(tests/cuda/on_host): FLOPTALLY_CUDA_DRIVER names it, and the package has to have been built where nvcc is."""

from __future__ import annotations

import ctypes
import gc
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import floptally
from floptally import _device

DRIVER = os.environ.get("FLOPTALLY_CUDA_DRIVER")
pytestmark = [
    pytest.mark.skipif(not DRIVER, reason="FLOPTALLY_CUDA_DRIVER does not name the driver of the host"),
    pytest.mark.skipif(not _device._KERNELS.exists(), reason="the package was built without nvcc"),
]


class Counts(ctypes.Structure):
    """What the driver was asked."""

    _fields_ = [(name, ctypes.c_uint64) for name in ("launches", "allocations", "waits", "others")]

    def __sub__(self, other: Counts) -> tuple[int, ...]:
        return tuple(getattr(self, name) - getattr(other, name) for name, _ in self._fields_)


class Host:
    """The runtime beside the driver, as a framework would use it."""

    def __init__(self) -> None:
        assert DRIVER is not None
        self.library = ctypes.CDLL(DRIVER)

    def __getattr__(self, name: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            assert getattr(self.library, name)(*arguments) == 0, name

        return call

    def counts(self) -> Counts:
        found = Counts()
        self.library.floptally_host_counts(ctypes.byref(found))
        return found

    def asked(self, work: Callable[[], object]) -> tuple[int, ...]:
        before = self.counts()
        work()
        return self.counts() - before

    def made(self, function: str, *arguments: Any) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        getattr(self, function)(ctypes.byref(handle), *arguments)
        return handle

    def stream(self) -> int:
        return self.made("cudaStreamCreateWithFlags", ctypes.c_uint(1)).value or 0


class Tensor:
    """An array of the device, by DLPack."""

    lent: list[Any] = []  # what the managed tensors need until they are given back

    class Dl(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
            ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p),
            ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p),
            ("deleter", ctypes.c_void_p),
        ]  # fmt: skip

    def __init__(self, values: Any, dtype: Any = np.int32, device: int = 0) -> None:
        host = Host()
        self.array = np.ascontiguousarray(np.array(values, dtype=dtype))
        self.device_id = device
        host.cudaSetDevice(device)
        self.memory = host.made("cudaMalloc", ctypes.c_size_t(self.array.nbytes + 1))
        host.cudaMemcpy(self.memory, ctypes.c_void_p(self.array.ctypes.data), ctypes.c_size_t(self.array.nbytes), 1)
        host.cudaDeviceSynchronize()
        host.cudaSetDevice(0)
        self.given_streams: list[int] = []
        self.deleted = 0

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.device_id)

    def __dlpack__(self, *, stream: int) -> Any:
        self.given_streams.append(stream)
        kind = self.array.dtype.kind
        shape = (ctypes.c_int64 * self.array.ndim)(*self.array.shape)
        deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: setattr(self, "deleted", self.deleted + 1))
        code = {"i": 0, "u": 1, "f": 2, "b": 6}[kind]
        managed = Tensor.Dl(
            self.memory.value, 2, self.device_id, self.array.ndim, code, 8 * self.array.itemsize, 1,
            ctypes.cast(shape, ctypes.c_void_p), None, 0, None, ctypes.cast(deleter, ctypes.c_void_p),
        )  # fmt: skip
        Tensor.lent.append((self, shape, deleter, managed))
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return capsule(ctypes.addressof(managed), b"dltensor", None)

    @property
    def interface(self) -> dict[str, Any]:
        return {"shape": self.array.shape, "typestr": self.array.dtype.str, "data": (self.memory.value, False), "version": 3}


class WithBuffer(np.ndarray[Any, Any]):
    """An array that has a buffer wherever it is, as JAX's and CuPy's do."""

    tensor: Tensor

    @staticmethod
    def of(tensor: Tensor) -> WithBuffer:
        result = np.zeros(3).view(WithBuffer)
        result.tensor = tensor
        return result

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **given: Any) -> Any:
        return self.tensor.__dlpack__(**given)


class CudaArray:
    """What has the CUDA array interface alone."""

    def __init__(self, tensor: Tensor, **more: Any) -> None:
        self.tensor = tensor
        self.__cuda_array_interface__ = {**tensor.interface, **more}


@pytest.fixture
def host() -> Iterator[Host]:
    gc.collect()  # a tally of another test asks the driver too as it goes, at any time
    gc.disable()
    yield Host()
    gc.enable()


def test_sums_of_a_device_tally_equal_those_of_a_host_tally_bit_for_bit(mistral: floptally.Cost, llama: floptally.Cost) -> None:
    generator = np.random.default_rng(7)
    lengths = generator.integers(0, 9000, 600)
    slots = lengths + generator.integers(0, 64, 600)
    boundaries, padded = (np.concatenate([[0], np.cumsum(one)]) for one in (lengths, slots))
    flags = (np.arange(300) < generator.integers(0, 301, 40)[:, None]).astype(np.int64)
    for cost in (mistral, llama):
        counted = floptally.DeviceTally(cost)
        expected = floptally.Tally(cost)
        for dtype in (np.int32, np.int64, np.uint32, np.uint64):
            counted.add(cu_seqlens=Tensor(boundaries, dtype))
            expected.add_cu_seqlens(boundaries)
            counted.add(lengths=Tensor(lengths, dtype))
            expected.add_lengths(lengths)
            counted.add(lengths=Tensor(lengths, dtype), row_length=9000)
            expected.add_padded(lengths, 9000)
            counted.add(cu_seqlens=Tensor(boundaries, dtype), cu_seqlens_padded=Tensor(padded, dtype))
            expected.add_cu_seqlens(boundaries, padded)
            counted.add(cu_seqlens=Tensor(boundaries, dtype), num_real_seqs=500)
            expected.add_cu_seqlens(boundaries, num_real_seqs=500)
            for number in (np.int32, np.uint64):
                counted.add(
                    cu_seqlens=Tensor(boundaries, dtype), cu_seqlens_padded=Tensor(padded, dtype),
                    num_real_seqs=Tensor(77, number),
                )  # fmt: skip
                expected.add_cu_seqlens(boundaries, padded, num_real_seqs=77)
        for kind in (bool, np.int8, np.uint8, np.int16, np.int32, np.int64):
            counted.add(attention_mask=Tensor(flags, kind))
            expected.add_attention_mask(flags)
        for empty in (Tensor([]), Tensor([], np.int64)):
            counted.add(lengths=empty)
        assert counted.read() == expected
        assert cost.flops(tally=counted.read()).total == cost.flops(tally=expected).total


def test_methods_of_a_device_tally_have_the_names_and_results_of_a_tally(mistral: floptally.Cost) -> None:
    masks = [floptally.Mask.sliding_window(400), floptally.Mask.cross_attention()]
    generator = np.random.default_rng(11)
    lengths, others = (generator.integers(0, 3000, 200) for _ in range(2))
    boundaries, padded = (np.concatenate([[0], np.cumsum(one)]) for one in (lengths, lengths + 3))
    flags = (np.arange(30) < generator.integers(0, 31, 9)[:, None]).astype(np.int64)
    counted, expected = floptally.DeviceTally(masks), floptally.Tally(masks)
    for dtype in (np.int32, np.int64):

        def on_device(values: Any, kind: Any = dtype) -> Tensor:
            return Tensor(values, kind)

        counted.add_cu_seqlens(on_device(boundaries))
        expected.add_cu_seqlens(boundaries)
        counted.add_cu_seqlens(on_device(boundaries), on_device(padded), 150)
        expected.add_cu_seqlens(boundaries, padded, 150)
        counted.add_cu_seqlens(on_device(padded), cu_seqlens_real=on_device(boundaries[:100]))
        expected.add_cu_seqlens(padded, cu_seqlens_real=boundaries[:100])
        counted.add_lengths(on_device(lengths))
        expected.add_lengths(lengths)
        counted.add_padded(on_device(lengths), 3000)
        expected.add_padded(lengths, 3000)
        counted.add_attention_mask(on_device(flags))
        expected.add_attention_mask(flags)
        counted.add_encoder_decoder(on_device(lengths), on_device(others))
        expected.add_encoder_decoder(lengths, others)
        counted.add_new_tokens(on_device(lengths), on_device(others))
        expected.add_new_tokens([(int(n), int(past)) for n, past in zip(lengths, others)])
    assert counted.read() == expected
    with pytest.raises(floptally.Error, match=r"^past: must be as many as lengths \(200\), got 199"):
        counted.add_new_tokens(Tensor(lengths), Tensor(others[1:]))
    with pytest.raises(floptally.Error, match="^cu_seqlens_real: cannot be passed with cu_seqlens_padded"):
        counted.add_cu_seqlens(Tensor(boundaries), num_real_seqs=3, cu_seqlens_real=Tensor(boundaries))


def test_tallies_and_device_tallies_and_meters_accept_the_same_calls_for_adding_batches(mistral: floptally.Cost) -> None:
    """The calls are the same on a Tally, a DeviceTally and a Meter; in C++ tests/cuda/device_tally.test.cu asks its three."""
    lengths, parts = [5, 700, 40], [1, 0, 7]
    boundaries, slots, flags = [0, 5, 705, 745], [0, 8, 708, 752], [[1, 1, 0], [0, 1, 1]]

    def add_all(to: Any, array: Callable[..., Any]) -> None:
        to.add_cu_seqlens(array(boundaries))
        to.add_cu_seqlens(array(boundaries), array(slots), 2)
        to.add_cu_seqlens(array(slots), cu_seqlens_real=array(boundaries[:3]))
        to.add_packed(array(boundaries[:3]), array(slots))
        to.add_lengths(array(lengths))
        to.add_padded(array(lengths), 9000)
        to.add_attention_mask(array(flags))
        to.add_new_tokens(array(lengths), array(parts))

    def add_samples(to: Any, array: Callable[..., Any]) -> None:
        to.add_hstu(array(lengths), array(parts))
        to.add_hstu(array(lengths), targets=array(parts), target_group=2)

    hstu = floptally.cost(
        {"model_type": "hstu", "name": "r", "hidden_size": 64, "num_layers": 1, "num_attention_heads": 2, "dim_per_head": 32}
    )
    for cost, add, plan in ((mistral, add_all, floptally.Plan(phase="forward")), (hstu, add_samples, None)):
        expected = floptally.Tally(cost, plan=plan)
        add(expected, np.array)
        counted = floptally.DeviceTally(cost, plan=plan)
        add(counted, Tensor)
        meter = floptally.Meter(cost, gpus=1, peak_tflops=989.4, plan=plan)
        with meter.step(1.0):
            add(meter, np.array)
        assert expected.tokens > 0
        assert counted.read() == expected
        assert meter.last_step.tally == expected

    crossed = floptally.Mask.cross_attention()
    both, on_device = floptally.Tally([crossed]), floptally.DeviceTally([crossed])
    for to, array in ((both, np.array), (on_device, Tensor)):
        to.add_encoder_decoder(array(lengths), array(parts))
    assert on_device.read() == both
    for to, array in ((floptally.Tally(mistral), np.array), (floptally.DeviceTally(mistral), Tensor)):
        with pytest.raises(floptally.Error, match=r"^past: must be as many as \w+ \(3\), got 2"):
            to.add_new_tokens(array(lengths), array(parts[:2]))


def test_a_device_tally_counts_hstu_samples_like_a_host_tally(host: Host) -> None:
    masks = [floptally.Mask.hstu()]
    parts = [(3, 500, 4, 2), (0, 20, 0, 2), (1, 0, 7, 2)]
    counted, expected = floptally.DeviceTally(masks), floptally.Tally(masks)
    counted.add_hstu(
        Tensor([c + h + t for c, h, t, _ in parts]), Tensor([c for c, *_ in parts]), Tensor([t for _, _, t, _ in parts]), 2
    )
    expected.add_sequences(parts)
    assert counted.read() == expected


def test_cuda_kernels_are_loaded_once_per_device(mistral: floptally.Cost, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Host().library
    for device in (0, 1):
        first = floptally.DeviceTally(mistral, device=device)
        loads = library.floptally_host_modules()
        monkeypatch.setattr(_device, "_kernels", lambda: pytest.fail("are read again"))
        second = floptally.DeviceTally(mistral, device=device)
        del first, second
        third = floptally.DeviceTally([], device=device)
        assert library.floptally_host_modules() == loads
        del third
        monkeypatch.undo()


@pytest.mark.parametrize("call", ["cudaHostAlloc", "cudaMemcpyAsync", "cudaStreamSynchronize"])
def test_a_device_tally_that_fails_to_construct_frees_its_gpu_memory(mistral: floptally.Cost, host: Host, call: str) -> None:
    library = host.library
    floptally.DeviceTally(mistral, device=1)  # its kernels are loaded
    before = library.floptally_host_on_wrong_device()
    library.floptally_host_fail_next(call.encode(), 2)
    library.floptally_host_require_device(1)
    try:
        with pytest.raises(floptally.Error, match="^cu[A-Z]"):
            floptally.DeviceTally(mistral, device=1)
        assert library.floptally_host_on_wrong_device() == before
    finally:
        library.floptally_host_require_device(-1)


def test_the_error_about_an_old_cuda_version_names_the_version_that_kernels_need() -> None:
    """A driver loads what its own CUDA or an older one has assembled; nvcc 13 has raised the ABI of machine code."""
    image = _device._kernels()
    codes = [at.start() for at in re.finditer(b"\x7fELF\x02\x01", image)]
    versions = set(re.findall(rb"^\.version (\d+)\.\d+$", image, re.MULTILINE))
    abis = {image[at + 8] for at in codes}
    assert len(codes) >= 2 and len(abis) == 1 and len(versions) == 1
    script = (
        "import ctypes, floptally, os; floptally._device._kernels = lambda: b'older'\n"
        "try: floptally.DeviceTally([])\n"
        "finally: print(ctypes.CDLL(os.environ['FLOPTALLY_CUDA_DRIVER']).floptally_host_retained(), 'retained')"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    said = re.search(
        r"floptally.Error: cuModuleLoadData: CUDA_ERROR_222: the driver is of CUDA 12\.2, and the kernels need one of CUDA (\d+) or "
        r"later: update the driver, or build floptally with an older ptxas \(FLOPTALLY_PTXAS\)",
        ended.stderr,
    )
    assert said is not None, ended.stderr
    assert ended.stdout == "0 retained\n"
    assert (abis, versions) == ({"12": ({7}, {b"8"}), "13": ({8}, {b"9"})}[said[1]])


def test_destroying_a_device_tally_does_not_use_the_stream_of_the_caller(mistral: floptally.Cost, host: Host) -> None:
    counted = floptally.DeviceTally(mistral)
    lengths = Tensor([5])
    streams = [host.stream() for _ in range(2)]
    for stream in streams:
        counted.add_lengths(lengths, stream=stream)
    host.cudaStreamDestroy(ctypes.c_void_p(streams[0]))
    held: list[Any] = [counted]
    del counted
    assert host.asked(held.clear) == (0, 2, 0, 0)


def test_adding_a_batch_to_a_device_tally_is_one_kernel_launch_without_other_costly_cuda_calls(mistral: floptally.Cost, host: Host) -> None:
    counted = floptally.DeviceTally(mistral, device=0)
    arrays = {
        "cu_seqlens": Tensor([0, 5, 9]), "cu_seqlens_padded": Tensor([0, 8, 16]), "num_real_seqs": Tensor([2]),
        "lengths": Tensor([5, 4]), "attention_mask": Tensor([[1, 1, 0]], bool),
    }  # fmt: skip
    for names in (["cu_seqlens"], ["cu_seqlens", "cu_seqlens_padded", "num_real_seqs"], ["lengths"], ["attention_mask"]):
        assert host.asked(lambda: counted.add(**{name: arrays[name] for name in names})) == (1, 0, 0, 0)  # noqa: B023
    assert host.asked(lambda: counted.snapshot(reset=True)) == (1, 0, 0, 1)  # is it captured?
    assert host.asked(counted.reset) == (0, 0, 0, 1)
    polled = []
    assert host.asked(lambda: polled.append(counted.poll())) == (0, 0, 0, 0)
    assert host.asked(counted.read) == (0, 0, 1, 2)  # is it captured? a copy
    polled.append(counted.poll())
    assert [one.tokens for one in polled if one is not None] == [9 + 9 + 9 + 2]


def test_a_device_tally_in_a_cuda_graph_adds_its_batch_and_takes_a_snapshot_of_its_sums_at_each_replay(mistral: floptally.Cost, host: Host) -> None:
    counted = floptally.DeviceTally(mistral)
    cu_seqlens = Tensor([0, 700, 6000])
    stream = host.stream()
    handle = ctypes.c_void_p(stream)
    host.cudaStreamBeginCapture(handle, 0)
    asked = host.asked(lambda: (counted.add(cu_seqlens=cu_seqlens, stream=stream), counted.snapshot(stream=stream)))
    assert asked == (2, 0, 0, 1)  # is it captured?
    assert counted.poll() is None
    with pytest.raises(floptally.Error, match="^read: cannot wait for a stream that is being captured: take a snapshot"):
        counted.read(stream=stream)
    graph = ctypes.c_void_p()
    host.cudaStreamEndCapture(handle, ctypes.byref(graph))
    nodes = ctypes.c_size_t()
    host.cudaGraphGetNodes(graph, None, ctypes.byref(nodes))
    assert nodes.value == 2
    replayed = ctypes.c_void_p()
    host.cudaGraphInstantiate(ctypes.byref(replayed), graph, ctypes.c_ulonglong(0))
    for _ in range(3):
        host.cudaGraphLaunch(replayed, handle)
    host.cudaStreamSynchronize(handle)
    for replays in (1, 2, 3):
        expected = floptally.Tally(mistral)
        for _ in range(replays):
            expected.add_cu_seqlens([0, 700, 6000])
        assert counted.poll() == expected
    assert counted.poll() is None


@pytest.mark.parametrize(
    ("wrong", "call"),
    [
        ({"cu_seqlens": [0, 10, 5]}, lambda t: t.add_cu_seqlens([0, 10, 5])),
        ({"cu_seqlens": [1, 5]}, lambda t: t.add_cu_seqlens([1, 5])),
        ({"cu_seqlens": [0, 5], "cu_seqlens_padded": [0, 4]}, lambda t: t.add_cu_seqlens([0, 5], [0, 4])),
        ({"cu_seqlens": [0, 5], "num_real_seqs": [2]}, lambda t: t.add_cu_seqlens([0, 5], num_real_seqs=2)),
        ({"lengths": [3, -1]}, lambda t: t.add_lengths([3, -1])),
        ({"lengths": [3, 9], "row_length": 8}, lambda t: t.add_padded([3, 9], 8)),
        ({"attention_mask": [[1, 0, 1]]}, lambda t: t.add_attention_mask([[1, 0, 1]])),
        ({"attention_mask": [[1, 2, 0]]}, lambda t: t.add_attention_mask([[1, 2, 0]])),
    ],
)
def test_a_device_tally_reports_invalid_input_with_the_error_of_a_tally_and_counts_the_valid_input(
    mistral: floptally.Cost, wrong: dict[str, Any], call: Callable[[floptally.Tally], None]
) -> None:
    with pytest.raises(floptally.Error) as of_host:
        call(floptally.Tally(mistral))
    counted = floptally.DeviceTally(mistral)
    counted.add(lengths=Tensor([7]))
    counted.add(**{name: value if isinstance(value, int) else Tensor(value) for name, value in wrong.items()})
    counted.snapshot(reset=True)
    counted.add(lengths=Tensor([8]))
    assert counted.read().tokens == 8
    with pytest.raises(floptally.LeftOut) as of_device:
        counted.poll()
    assert str(of_device.value).startswith(str(of_host.value) + " (index ")
    assert " of add 2 since the reset, the first of " in str(of_device.value)
    assert of_device.value.field == of_host.value.field  # type: ignore[attr-defined]
    assert of_device.value.sequences >= 1 and of_device.value.counted.tokens >= 7
    again = pickle.loads(pickle.dumps(of_device.value))
    assert (str(again), again.counted) == (str(of_device.value), of_device.value.counted)


def test_device_tally_errors_that_the_host_can_detect_are_raised_by_the_call_itself(mistral: floptally.Cost, host: Host) -> None:
    counted = floptally.DeviceTally(mistral)
    one = Tensor([0, 5])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({}, "lengths: must be an array or a tensor on CUDA device 0, got None"),
        ({"cu_seqlens": one, "lengths": one}, "cu_seqlens: cannot be passed with lengths, since both would be counted"),
        ({"num_real_seqs": 1, "lengths": one}, "num_real_seqs: needs cu_seqlens"),
        ({"row_length": 1, "cu_seqlens": one}, "row_length: needs lengths"),
        ({"cu_seqlens": [0, 5]}, r"cu_seqlens: must be an array or a tensor on CUDA device 0, got \[0, 5\]"),
        ({"cu_seqlens": np.array([0, 5])}, "cu_seqlens: must be on CUDA device 0, got an array that is not on a CUDA device"),
        ({"cu_seqlens": Tensor([0, 5], device=1)}, "cu_seqlens: must be on CUDA device 0, got a tensor on CUDA device 1"),
        ({"cu_seqlens": Tensor([])}, "cu_seqlens: must have at least one boundary, the 0 at its beginning"),
        ({"cu_seqlens": Tensor([0, 5], np.uint16)}, "cu_seqlens: must be int32, int64, uint32 or uint64, got uint16"),
        ({"cu_seqlens": Tensor([[0, 5]])}, r"cu_seqlens: must have one dimension, got shape \(1, 2\)"),
        ({"cu_seqlens": one, "cu_seqlens_padded": Tensor([0, 5], np.int64)}, "cu_seqlens_padded: must be int32 like cu_seqlens, got int64"),
        (
            {"cu_seqlens": one, "cu_seqlens_padded": Tensor([0])},
            "cu_seqlens_padded: must have as many boundaries as cu_seqlens \\(2\\), got 1",
        ),
        ({"cu_seqlens": one, "num_real_seqs": 2}, "num_real_seqs: "),
        ({"cu_seqlens": one, "num_real_seqs": Tensor([1, 1])}, "num_real_seqs: must be one number, got 2"),
        ({"lengths": one, "row_length": -1}, "row_length: must be an integer"),
        ({"attention_mask": one}, r"attention_mask: must have two dimensions, \[batch, tokens\], got shape \(2,\)"),
        ({"attention_mask": Tensor([[0.5]], np.float32)}, "attention_mask: must be bool or integers, got float32"),
        ({"lengths": one, "stream": "fast"}, "stream: must be a stream of PyTorch or CuPy, or its address, got 'fast'"),
    ]  # fmt: skip
    for arguments, message in wrong:
        before = host.counts()
        with pytest.raises(floptally.Error, match="^" + message):
            counted.add(**arguments)
        assert host.counts() - before == (0, 0, 0, 0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'cu_seqlen'; did you mean 'cu_seqlens'"):
        counted.add(cu_seqlen=one)  # type: ignore[call-arg]
    with pytest.raises(floptally.Error, match="^device: must be a number or"):
        floptally.DeviceTally(mistral, device="cpu")
    with pytest.raises(floptally.Error, match="^cuDeviceGet: CUDA_ERROR_101"):
        floptally.DeviceTally(mistral, device=7)
    with pytest.raises(floptally.Error, match="^snapshots: "):
        floptally.DeviceTally(mistral, snapshots=0)
    with pytest.raises(floptally.Error, match="^cuMemHostAlloc: CUDA_ERROR_2"):  # out of memory
        floptally.DeviceTally(mistral, snapshots=2**31 - 1)
    assert counted.read().tokens == 0


def test_a_device_tally_uses_the_passed_stream_or_the_current_one_of_pytorch_or_cupy(mistral: floptally.Cost, host: Host) -> None:
    import types

    counted = floptally.DeviceTally(mistral)
    stream = host.stream()
    lengths = Tensor([5])
    for arguments, seen in (
        (None, 1), (0, 1), (stream, stream), (types.SimpleNamespace(cuda_stream=stream), stream),
        (types.SimpleNamespace(ptr=stream), stream), (types.SimpleNamespace(__cuda_stream__=lambda: (0, stream)), stream),
    ):  # fmt: skip
        counted.add(lengths=lengths, stream=arguments)
        assert lengths.given_streams[-1] == seen  # 1 is what DLPack calls the default stream
    counted.add(lengths=CudaArray(lengths))
    counted.add(lengths=WithBuffer.of(lengths))
    counted.add(lengths=CudaArray(lengths, stream=None, strides=None), stream=stream)
    counted.add(lengths=CudaArray(lengths, stream=stream, strides=(4,)), stream=stream)
    with pytest.raises(floptally.Error, match="^lengths: was written on stream 2 and could be counted before the write ends"):
        counted.add(lengths=CudaArray(lengths, stream=2))
    with pytest.raises(floptally.Error, match="^lengths: must be C-contiguous, got shape"):
        counted.add(lengths=CudaArray(Tensor([5, 6]), strides=(8,)))
    host.cudaStreamSynchronize(ctypes.c_void_p(stream))
    assert counted.read().tokens == 10 * 5


def test_a_device_tally_asks_pytorch_for_the_current_stream_of_the_device_of_the_tally(
    mistral: floptally.Cost, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    import types

    stream = host.stream()
    asked: list[int] = []

    def current_stream(device: int) -> Any:
        asked.append(device)
        return types.SimpleNamespace(cuda_stream=stream)

    cuda = types.SimpleNamespace(current_stream=current_stream, current_device=lambda: 0, is_initialized=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=cuda))
    counted = floptally.DeviceTally(mistral)
    lengths = Tensor([5])
    counted.add(lengths=lengths)
    assert (asked, lengths.given_streams) == ([0], [stream])
    assert counted.read().tokens == 5


def test_a_device_tally_keeps_gpu_input_memory_alive_until_a_later_snapshot_of_its_sums_is_read(mistral: floptally.Cost) -> None:
    counted = floptally.DeviceTally(mistral)
    first, second, third = (Tensor([5]) for _ in range(3))
    counted.add(lengths=first)
    counted.snapshot()
    counted.add(lengths=second)
    assert (first.deleted, second.deleted) == (0, 0)
    if counted.poll() is None:
        assert counted.read().tokens == 10
        assert counted.poll() is not None
    else:
        assert (first.deleted, second.deleted) == (1, 0)
        counted.read()
    assert (first.deleted, second.deleted) == (1, 1)
    with pytest.raises(floptally.Error):
        counted.add(lengths=third, row_length=-1)
    assert third.deleted == 1  # of a call that failed at once


def test_a_device_tally_in_a_replayed_cuda_graph_keeps_new_input_tensors_alive_until_a_snapshot_contains_them(mistral: floptally.Cost, host: Host) -> None:
    counted = floptally.DeviceTally(mistral)
    handle = ctypes.c_void_p(host.stream())
    host.cudaStreamBeginCapture(handle, 0)
    counted.snapshot(stream=handle.value)
    graph, replayed = ctypes.c_void_p(), ctypes.c_void_p()
    host.cudaStreamEndCapture(handle, ctypes.byref(graph))
    host.cudaGraphInstantiate(ctypes.byref(replayed), graph, ctypes.c_ulonglong(0))
    for _ in range(3):
        host.cudaGraphLaunch(replayed, handle)
    host.cudaStreamSynchronize(handle)
    lengths = Tensor([5])
    counted.add(lengths=lengths, stream=handle.value)
    for _ in range(3):
        assert counted.poll() is not None  # of a replay before the add
    assert lengths.deleted == 0
    assert counted.read(stream=handle.value).tokens == 5
    assert lengths.deleted == 1


def test_a_device_tally_on_another_gpu_leaves_the_current_gpu_unchanged(mistral: floptally.Cost, host: Host) -> None:
    counted = floptally.DeviceTally(mistral, device="cuda:1")
    assert counted.device == 1
    counted.add(lengths=Tensor([5], device=1))
    current = ctypes.c_int(-1)
    host.cudaGetDevice(ctypes.byref(current))
    assert current.value == 0
    assert counted.read().tokens == 5


def test_a_device_tally_refuses_statistics_that_have_no_gpu_kernel_before_any_gpu_call(host: Host) -> None:
    own = floptally.Mask.from_callable("every_key_twice", lambda length, past, keys: 2 * length * length)
    before = host.counts()
    with pytest.raises(floptally.Error, match="these kernels were compiled without this statistic"):
        floptally.DeviceTally([own])
    assert host.counts() - before == (0, 0, 0, 0)


def test_the_python_example_on_the_docs_page_cuda_runs_without_errors(mistral: floptally.Cost) -> None:
    from test_readme import blocks

    lines = next(one for one in blocks("docs/cuda.md") if "DeviceTally(model)" in one)
    scope: dict[str, Any] = {"floptally": floptally, "model": mistral, "batches": [{"cu_seqlens": Tensor([0, 5])}]}
    exec(lines, scope)
    assert scope["tally"].tokens == 0


@pytest.mark.parametrize(
    ("driver", "message"),
    [
        ("libno-such-driver.so.1", "device: has no CUDA driver that can be loaded: install one, or set FLOPTALLY_CUDA_DRIVER to its path; libno-such-driver.so.1: cannot open"),
        ("libm.so.6", "device: this CUDA driver has no cuInit"),
    ],
)
def test_the_error_without_a_gpu_driver_names_the_driver(driver: str, message: str) -> None:
    script = "import floptally; floptally.DeviceTally([])"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={**os.environ, "FLOPTALLY_CUDA_DRIVER": driver}
    )
    assert f"floptally.Error: {message}" in ended.stderr


def test_tests_of_the_device_tally_also_pass_if_simulated_streams_run_eagerly() -> None:
    """The same tests once more, with streams that do nothing until somebody waits, or at once."""
    if "FLOPTALLY_HOST_STREAMS" in os.environ:
        pytest.skip("is what is being done")
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__],
        capture_output=True, text=True, env={**os.environ, "FLOPTALLY_HOST_STREAMS": "eager"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout
