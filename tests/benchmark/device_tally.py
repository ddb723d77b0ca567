# SPDX-License-Identifier: Apache-2.0
"""What the sums of a packed sequence cost on a GPU, beside the PyTorch operators that trainers use, in the same run.

    python tests/benchmark/device_tally.py build/.../libdevice_tally_c.so

The library is device_tally_c.cu, compiled. Both count on PyTorch's stream, and their integers are asserted equal first.
Prints medians of 21 repetitions as a table of Markdown, in microseconds a microbatch. GPU time is that of operators
which were all queued before the first began, since Python queues small ones slower than a GPU runs them; where each
microbatch waits for the GPU, it is the time from the first to the last, with the gaps. Host time is that of queueing,
with nothing else in the queue, or of waiting too. Without PyTorch or a GPU: "skipped: …", and exit code 77.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

SKIPPED = 77
SEQUENCES = (8, 64, 512, 4096, 65536)
LONGEST = 8000
WINDOW = 4096
REPETITIONS = 21
CALLS = 32  # a stream takes about a thousand launches before queueing blocks


class DeviceTally:
    """Ours, through its C interface."""

    def __init__(self, path: str, window: int | None = None) -> None:
        self._library = ctypes.CDLL(path)
        self._library.floptally_device_tally_error.restype = ctypes.c_char_p
        self._add = self._library.floptally_device_tally_add_cu_seqlens
        self._add.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
        self._destroy = self._library.floptally_device_tally_destroy
        self._destroy.argtypes = [ctypes.c_void_p]
        windows = [] if window is None else [window]
        self._sums = (ctypes.c_uint64 * (2 + len(windows)))()
        self._handle = ctypes.c_void_p()
        self._require(self._library.floptally_device_tally_create(
            (ctypes.c_int64 * len(windows))(*windows), ctypes.c_size_t(len(windows)), ctypes.byref(self._handle)))

    def __del__(self) -> None:
        self._destroy(self._handle)

    def _require(self, status: int) -> None:
        if status != 0:
            raise RuntimeError(self._library.floptally_device_tally_error().decode())

    def add(self, cu_seqlens: Any) -> None:
        self._require(self._add(self._handle, cu_seqlens.data_ptr(), cu_seqlens.numel(), stream()))

    def read(self) -> list[int]:
        """Σ L, Σ L², and with a window Σ pairs."""
        self._require(self._library.floptally_device_tally_read(
            self._handle, ctypes.c_void_p(stream()), self._sums))
        return list(self._sums)


class Operators:
    """PyTorch's, one small kernel each: difference, cast, square, sum, add."""

    def __init__(self, device: str, window: int | None = None) -> None:
        import torch

        self._torch = torch
        self._window = window
        self._tokens, self._squares, self._beyond = torch.zeros(3, dtype=torch.int64, device=device).unbind()

    def add(self, cu_seqlens: Any) -> None:
        lengths = (cu_seqlens[1:] - cu_seqlens[:-1]).to(self._torch.int64)
        self._tokens += lengths.sum()
        self._squares += (lengths * lengths).sum()
        if self._window is not None:
            excess = (lengths - self._window).clamp(min=0)
            self._beyond += (excess * (excess + 1)).sum()

    def read(self) -> list[int]:
        """The same integers: the pairs of a window are those of a causal mask less the triangle beyond it."""
        tokens, squares, beyond = int(self._tokens.item()), int(self._squares.item()), int(self._beyond.item())
        return [tokens, squares] + ([] if self._window is None else [(squares + tokens - beyond) // 2])


class BlockingOperators:
    """The same with sums in Python: each microbatch waits for the GPU, twice."""

    def __init__(self) -> None:
        import torch

        self._torch = torch
        self._sums = [0, 0]

    def add(self, cu_seqlens: Any) -> None:
        lengths = (cu_seqlens[1:] - cu_seqlens[:-1]).to(self._torch.int64)
        self._sums[0] += lengths.sum().item()
        self._sums[1] += (lengths * lengths).sum().item()

    def read(self) -> list[int]:
        return self._sums


def stream() -> int:
    import torch

    return int(torch.cuda.current_stream().cuda_stream)


def microseconds(call: Callable[[], None], blocks: bool = False) -> tuple[float, float]:
    """Of the GPU and of the host, for one call."""
    import torch

    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    call()
    on_gpu: list[float] = []
    on_host: list[float] = []
    cycles = 1 << 22
    while len(on_gpu) < REPETITIONS:
        torch.cuda.synchronize()
        if not blocks:
            torch.cuda._sleep(cycles)  # holds the stream until all calls are queued
        begin.record()
        before = time.perf_counter()
        for _ in range(CALLS):
            call()
        host = time.perf_counter() - before
        end.record()
        all_queued = not begin.query()
        torch.cuda.synchronize()
        if blocks or all_queued:
            on_gpu.append(begin.elapsed_time(end) * 1e3 / CALLS)
            on_host.append(host * 1e6 / CALLS)
        elif cycles < 1 << 32:
            cycles *= 2
        else:
            raise RuntimeError("the GPU began before all calls were queued")
    return statistics.median(on_gpu), statistics.median(on_host)


def boundaries(sequences: int) -> list[int]:
    generator = random.Random(sequences)
    return [0, *itertools.accumulate(generator.randrange(1, LONGEST + 1) for _ in range(sequences))]


def main(library: str) -> int:
    try:
        import torch
    except ImportError as missing:
        print(f"skipped: {missing}")
        return SKIPPED
    if not torch.cuda.is_available():
        print("skipped: no CUDA device")
        return SKIPPED
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n")
    print("| a microbatch of cu_seqlens, int32 | GPU µs | of ours | host µs | of ours |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for sequences in SEQUENCES:
        cu_seqlens = torch.tensor(boundaries(sequences), dtype=torch.int32, device="cuda")
        for window in (None, WINDOW):
            with_window = "" if window is None else ", one window"
            counters: dict[str, Any] = {
                "floptally": DeviceTally(library, window),
                "PyTorch": Operators("cuda", window),
            }
            if window is None:
                counters["PyTorch, .item() twice"] = BlockingOperators()
            for counter in counters.values():
                counter.add(cu_seqlens)
            sums = {name: counter.read() for name, counter in counters.items()}
            assert all(found == sums["floptally"] for found in sums.values()), sums
            base: tuple[float, float] | None = None
            for name, counter in counters.items():
                gpu, host = microseconds(lambda: counter.add(cu_seqlens), isinstance(counter, BlockingOperators))
                base = base or (gpu, host)
                label = f"{sequences} sequences{with_window}: {name}"
                print(f"| {label:52} | {gpu:8.2f} | {gpu / base[0]:6.1f} x | {host:8.2f} | {host / base[1]:6.1f} x |",
                      flush=True)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} LIBRARY, of device_tally_c.cu")
    sys.exit(main(sys.argv[1]))
