# SPDX-License-Identifier: Apache-2.0
"""Arrays are read where they stand; what cannot be is an error that says why."""

from __future__ import annotations

import array
import ctypes
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import floptally
from floptally._core import address_of

LENGTHS = [512, 1, 0, 4096]


def tokens(lengths: Any) -> int:
    tally = floptally.Tally()
    tally.add_lengths(lengths)
    return tally.tokens


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_numpy_arrays_are_read_without_a_copy(dtype: Any) -> None:
    lengths = np.array(LENGTHS, dtype)
    assert address_of(lengths) == lengths.ctypes.data
    assert address_of(lengths[1:3]) == lengths.ctypes.data + lengths.itemsize
    assert tokens(lengths) == sum(LENGTHS)
    lengths.flags.writeable = False
    assert address_of(lengths) == lengths.ctypes.data


@pytest.mark.parametrize("second", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("first", [np.int32, np.int64, np.uint32, np.uint64])
def test_two_arrays_that_describe_a_batch_may_have_different_integer_types(first: Any, second: Any) -> None:
    tally = floptally.Tally()
    tally.add_packed(np.array([0, 5, 12], first), np.array([0, 8, 16], second))
    tally.add_encoder_decoder(np.array([3, 4], first), np.array([7, 9], second))
    tally.add_new_tokens(np.array([2, 1], first), np.array([100, 5], second))
    as_lists = floptally.Tally()
    as_lists.add_packed([0, 5, 12], [0, 8, 16])
    as_lists.add_encoder_decoder([3, 4], [7, 9])
    as_lists.add_new_tokens([2, 1], [100, 5])
    assert tally == as_lists
    with pytest.raises(floptally.Error, match=r"past\[1\]"):
        tally.add_new_tokens(np.array([2, 1], first), np.array([100, -1]))
    assert tally == as_lists


def test_any_object_with_the_buffer_protocol_is_read_without_a_copy() -> None:
    lengths = array.array("q", LENGTHS)
    assert address_of(lengths) == lengths.buffer_info()[0]
    assert address_of(memoryview(lengths)) == lengths.buffer_info()[0]
    assert tokens(memoryview(lengths)[1:]) == sum(LENGTHS[1:])
    numbers = (ctypes.c_int32 * 4)(*LENGTHS)
    assert address_of(numbers) == ctypes.addressof(numbers)
    assert tokens(numbers) == sum(LENGTHS)


class Exported:
    """Exports itself by DLPack only, as tensors do."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __dlpack__(self) -> Any:
        return self.values.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


def test_a_dlpack_capsule_is_read_without_a_copy_and_released() -> None:
    lengths = np.array(LENGTHS, np.int64)
    exported = Exported(lengths)
    assert address_of(exported) == lengths.ctypes.data
    assert address_of(Exported(lengths[2:])) == lengths.ctypes.data + 16
    assert tokens(exported) == sum(LENGTHS)
    before = sys.getrefcount(lengths)
    for _ in range(100):
        tokens(exported)
    assert sys.getrefcount(lengths) == before
    with pytest.raises(floptally.Error, match="lengths: must be int32, int64, uint32 or uint64, got float32"):
        tokens(Exported(np.zeros(3, np.float32)))
    with pytest.raises(floptally.Error, match=r"lengths: must be C-contiguous, got shape \(2,\) with a stride of 2"):
        tokens(Exported(lengths[::2]))


def test_torch_tensors_are_read_without_a_copy() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for dtype in (torch.int32, torch.int64):
        lengths = torch.tensor(LENGTHS, dtype=dtype)
        assert address_of(lengths) == lengths.data_ptr()
        assert address_of(lengths[1:]) == lengths[1:].data_ptr()
        assert tokens(lengths) == sum(LENGTHS)
    with pytest.raises(floptally.Error, match="lengths: must be int32, int64, uint32 or uint64, got float32"):
        tokens(torch.ones(3))
    with pytest.raises(floptally.Error, match="must be C-contiguous"):
        tokens(torch.arange(8)[::2])
    flags = torch.ones(2, 8, dtype=torch.bool)
    flags[1, 5:] = False
    tally = floptally.Tally()
    tally.add_attention_mask(flags)
    tally.add_attention_mask(flags.to(torch.int64))
    assert (tally.tokens, tally.get("tokens", "padded")) == (26, 32)
    with pytest.raises(floptally.Error, match="lengths: cannot be read through DLPack: "):
        tokens(torch.empty(3, dtype=torch.int64, device="meta"))


class OnAccelerator(Exported):
    """A tensor on a part that is neither a CPU nor one of CUDA or ROCm: DLPack's 8 is Metal."""

    def __dlpack_device__(self) -> Any:
        return (8, 0)


def test_a_tensor_outside_of_host_memory_is_an_error() -> None:
    with pytest.raises(floptally.Error, match="must be in host memory, got a tensor on DLPack's device type 8"):
        tokens(OnAccelerator(np.array(LENGTHS)))


class OnDevice:
    """A tensor on a GPU, as DLPack sees it."""

    def __dlpack__(self) -> Any:
        raise AssertionError("would synchronise")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 3)


class LentOnAHostAlone(np.ndarray[Any, Any]):
    """As JAX's arrays are: with a buffer, which fails where they are on a GPU."""

    def __dlpack_device__(self) -> tuple[Any, int]:
        return (2, 3)


class CudaArray:
    """As CuPy's and Numba's arrays are."""

    __cuda_array_interface__ = {"shape": (3,), "typestr": "<i8", "data": (0, False), "version": 3}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (OnDevice(), "got a tensor on CUDA device 3: pass it to Meter.add, which counts it a step later, or to a DeviceTally"),
        (np.zeros(3, "M8[s]").view(LentOnAHostAlone), "got a tensor on CUDA device 3: pass it to Meter.add, which counts it a step later"),
        (CudaArray(), "got a CUDA array: pass it to Meter.add, which counts it a step later, or to a DeviceTally"),
        (np.zeros(3), "must be int32, int64, uint32 or uint64, got float64"),
        (np.zeros(3, np.int16), "must be int32, int64, uint32 or uint64, got int16"),
        (np.zeros(3, bool), "must be int32, int64, uint32 or uint64, got bool"),
        (np.zeros(3, complex), 'must be int32, int64, uint32 or uint64, got format "Zd"'),
        (b"abc", "must be int32, int64, uint32 or uint64, got uint8"),
        (np.zeros((2, 3), int), "must have one dimension, got shape (2, 3)"),
        (np.array(5), "must have one dimension, got shape ()"),
        (np.arange(8)[::2], "must be C-contiguous, got shape (4,) with a stride of 2 in dimension 0"),
        (np.arange(8)[::-1], "must be C-contiguous, got shape (8,) with a stride of -1 in dimension 0"),
        (np.zeros(3, ">i8"), "must be in the byte order of this machine, got big-endian int64"),
        ("512", "must be a list, an array or a tensor of integers, got '512'"),
        ({512}, "must be a list, an array or a tensor of integers, got {512}"),
        ({512: 1}, "must be a list, an array or a tensor of integers, got {512: 1}"),
        (512, "must be a list, an array or a tensor of integers, got 512"),
        ([512, "1"], "[1]: must be a 64-bit integer, got '1'"),
        ([512, 1.0], "[1]: must be a 64-bit integer, got 1.0"),
        ([512, None], "[1]: must be a 64-bit integer, got None"),
    ],
)
def test_an_unreadable_input_object_is_an_error_with_the_reason(value: Any, message: str) -> None:
    tally = floptally.Tally()
    tally.add_lengths([7])
    with pytest.raises(floptally.Error) as raised:
        tally.add_lengths(value)
    assert str(raised.value).startswith("lengths" + ("" if message.startswith("[") else ": "))
    assert message in str(raised.value)
    assert tally.tokens == 7


def test_tuples_and_ranges_and_lists_of_numpy_integers_are_accepted_as_lengths() -> None:
    assert tokens(LENGTHS) == tokens(tuple(LENGTHS)) == sum(LENGTHS)
    assert tokens(range(5)) == 10
    assert tokens([np.int32(3), np.uint64(4), 1]) == 8
    assert tokens([]) == tokens(np.zeros(0, int)) == 0


def test_image_grids_and_attention_masks_may_be_arrays_of_two_dimensions() -> None:
    images = floptally.Tally([floptally.Mask.merged_patches(2)])
    images.add_grid_thw(np.array([[1, 4, 4], [2, 8, 8]]))
    images.add_grid_thw([1, 4, 4, 2, 8, 8])
    images.add_grid_thw([(1, 4, 4), (2, 8, 8)])
    assert images.get("tokens", tower="vision") == 3 * (16 + 128)
    with pytest.raises(floptally.Error, match=r"grid_thw: must have one dimension or rows of 3, got shape \(3, 2\)"):
        images.add_grid_thw(np.ones((3, 2), int))
    with pytest.raises(floptally.Error, match="grid_thw: must have three numbers for each grid, got 4"):
        images.add_grid_thw([1, 4, 4, 2])
    flags = np.tri(5, 8, 2, dtype=np.int8)
    for dtype in (bool, np.uint8, np.int16, np.int32, np.int64):
        tally = floptally.Tally()
        tally.add_attention_mask(flags.astype(dtype))
        assert (tally.tokens, tally.get("tokens", "padded")) == (flags.sum(), 40)
    with pytest.raises(floptally.Error, match="attention_mask: must be bool or integers, got float64"):
        floptally.Tally().add_attention_mask(flags.astype(float))
    with pytest.raises(floptally.Error, match=r"attention_mask: must have two dimensions, \[batch, tokens\]"):
        floptally.Tally().add_attention_mask(flags[0])


def test_long_counting_calls_release_the_gil() -> None:
    """Another thread counts while one call is at work on a long array: with the GIL held it could not."""
    lengths = np.full(20_000_000, 700, np.int32)
    window = floptally.Tally([floptally.Mask.sliding_window(400)])
    window.add_lengths(lengths[:10_000])  # warm
    began = threading.Event()
    ticks = 0

    def count() -> None:
        nonlocal ticks
        began.set()
        while not done:
            ticks += 1
            time.sleep(0.0005)

    done = False
    other = threading.Thread(target=count)
    other.start()
    began.wait()
    before, start = ticks, time.perf_counter()
    window.add_lengths(lengths)
    during, took = ticks - before, time.perf_counter() - start
    done = True
    other.join()
    # One call without the GIL: at least a tick in every 20 ms.
    assert during >= took / 0.02 - 1, (during, took)


def test_threads_add_to_one_tally_without_losing_counts() -> None:
    lengths = np.arange(1, 20_001, dtype=np.int64)
    shared = floptally.Tally([floptally.Mask.sliding_window(400)])

    def add() -> None:
        for _ in range(20):
            shared.add_lengths(lengths)
            shared.add_lengths([1, 2, 3])

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = floptally.Tally([floptally.Mask.sliding_window(400)])
    for _ in range(160):
        alone.add_lengths(lengths)
        alone.add_lengths([1, 2, 3])
    assert shared == alone


def test_an_error_in_a_counting_call_releases_the_input_buffers() -> None:
    numbers = bytearray(32)
    for format, says in (("B", "C-contiguous"), ("f", "C-contiguous")):
        strided = memoryview(numbers).cast(format)[::2]  # type: ignore[call-overload]
        with pytest.raises(floptally.Error, match=says):
            address_of(strided)
        strided.release()  # a buffer that is still held would refuse
    with memoryview(numbers).cast("f") as floats, pytest.raises(floptally.Error, match="got float32$"):
        address_of(floats)
    numbers.append(0)
