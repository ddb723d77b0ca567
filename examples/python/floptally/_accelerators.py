# SPDX-License-Identifier: Apache-2.0
"""Accelerators (GPUs, TPUs, …) with their peak FLOP/s and memory bandwidth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error, checked, first_line, listed, made_elsewhere, shortened

if TYPE_CHECKING:
    from ._literals import Precision, PrecisionName, Quality


@dataclass(frozen=True, repr=False, init=False)
class Accelerator:
    """A GPU or other accelerator: its dense peak FLOP/s, its memory, and the public source of these figures.
    `accelerator(name)` returns one.

    name: floptally's name: "H100 SXM".
    vendor: "NVIDIA", "AMD", …
    form_factor: the vendor's name of the board or package: "SXM5", …
    driver_names: names that drivers and frameworks report.
    dense_tflops: dense TFLOP/s by precision (TOP/s for int8). Unpublished precisions are missing.
    memory_tbps: {memory variant: bandwidth in TB/s}, since some accelerators are sold with several memories.
    memory_gib: {memory variant: size in GiB}, as the vendor prints it. Drivers report up to 2 % less.
    source, source_url: title and address of the document with the figures.
    note: what the figures are for.
    quality: how good the source is: vendor_document, vendor_slide or third_party.
    """

    __init__ = made_elsewhere("floptally.accelerator(name)")
    name: str
    vendor: str = field(compare=False)
    form_factor: str = field(compare=False)
    driver_names: list[str] = field(compare=False)
    dense_tflops: dict[PrecisionName, float] = field(compare=False)
    memory_tbps: dict[str, float] = field(compare=False)
    memory_gib: dict[str, float] = field(compare=False)
    source: str = field(compare=False)
    source_url: str = field(compare=False)
    note: str = field(compare=False)
    quality: Quality = field(compare=False)

    @checked
    def peak_tflops(self, precision: Precision = "bf16") -> float:
        """Returns the dense peak TFLOP/s of one device in this precision. If no peak is published for the precision,
        the Error names the precisions that have one."""
        return _core._peak_tflops(self.name, precision)

    @checked
    def boost_tflops(self, clock_mhz: float, precision: Precision = "bf16") -> float:
        """Returns the dense peak TFLOP/s of one device at this GPU clock in MHz. The result may be above the
        datasheet's peak."""
        return _core._peak_tflops(self.name, precision, clock_mhz)

    def __repr__(self) -> str:
        return f"<Accelerator {self.name}>"


@checked
def accelerator(name: str) -> Accelerator:
    """Returns the Accelerator of this name. Pass the full name, either floptally's ("H100 SXM") or the driver's
    (`torch.cuda.get_device_name()`)."""
    part: Accelerator = listed(Accelerator, _core._accelerators(name)[0])
    return part


def accelerators() -> list[Accelerator]:
    """Returns all accelerators that floptally knows."""
    return [listed(Accelerator, each) for each in _core._accelerators()]


class MeasuredPeak(float):
    """Dense TFLOP/s of one device, as `measure_peak()` measured them. Pass it as ``peak_tflops=``: a `Meter` then shows
    the peak as measured, in its precision.

    precision: the precision of the products.
    device: the device's name.
    shape: (rows, columns, inner size) of the fastest product.
    """

    __slots__ = ("precision", "device", "shape")
    precision: PrecisionName
    device: str
    shape: tuple[int, int, int]

    def __new__(cls, tflops: float, precision: PrecisionName, device: str, shape: tuple[int, int, int]) -> MeasuredPeak:
        if isinstance(tflops, bool) or not isinstance(tflops, (int, float)):
            raise TypeError(f"tflops: must be a number, got {shortened(tflops)}")
        if not 0 < tflops <= 1e12:
            raise Error("tflops", f"must be above 0 and at most 1e12, got {shortened(tflops)}")
        peak = super().__new__(cls, tflops)
        peak.precision, peak.device, peak.shape = precision, device, shape
        return peak

    def __reduce__(self) -> tuple[Any, ...]:
        return MeasuredPeak, (float(self), self.precision, self.device, self.shape)

    def __repr__(self) -> str:
        return f"<MeasuredPeak {float(self):.4g} TFLOP/s in {self.precision} on {self.device}>"


_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "tf32": "float32", "fp64": "float64"}
_SIDES = (1024, 2048, 4096, 8192, 16384)


@checked
def measure_peak(precision: Precision = "bf16", *, seconds: float = 1.0, device: Any = None) -> MeasuredPeak:
    """Measures matrix products in PyTorch for `seconds`, and returns the TFLOP/s of the fastest one. Use it for a
    device that the table of accelerators lacks. An MFU over this peak is higher than an MFU over the datasheet's peak,
    which no product reaches.

    precision: bf16, fp16, tf32, fp32, fp64, or fp8 where the device has it.
    seconds: how long to measure. Square matrices of several sizes are multiplied; the fastest size counts.
    device: a torch device; by default the current GPU, or the CPU.
    """
    try:
        import torch
    except ImportError:
        raise Error(
            "torch",
            "is not installed, but measuring a peak needs it: install PyTorch, or pass peak_tflops=",
        ) from None
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= 3600:
        raise Error("seconds", f"must be above 0 and at most 3600, got {shortened(seconds)}")
    known: PrecisionName = _core._precision_name(precision)
    try:
        on = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device is None else device)
    except (RuntimeError, TypeError) as error:
        raise Error("device", f"must be a torch device, such as 'cuda:0' or 'cpu', got {shortened(device)}") from error
    name = torch.cuda.get_device_name(on) if on.type == "cuda" else on.type
    began, best = time.perf_counter(), None
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        torch.backends.cuda.matmul.allow_tf32 = known == "tf32"
        for place, side in enumerate(_SIDES):
            until = began + seconds * (place + 1) / len(_SIDES)
            try:
                rate = _rate_of(_product(known, side, on, torch), side, until, on, torch)
            except torch.cuda.OutOfMemoryError:
                break
            best = max(best or (0.0, 0), (rate, side))
            if time.perf_counter() - began + 8 * 2 * side**3 / (rate * 1e12) > seconds:
                break  # the next size takes 8 times as long
    except (RuntimeError, NotImplementedError, TypeError) as problem:
        raise Error(
            "precision",
            f"must be a format whose matrix product PyTorch can run on {name}, got {known} ({first_line(problem)})",
        ) from None
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    if best is None:
        raise Error(
            "device",
            f"has too little free memory on {name} for matrices of {_SIDES[0]} x {_SIDES[0]}: free some, or pass "
            "peak_tflops=",
        )
    return MeasuredPeak(best[0], known, name, (best[1],) * 3)


def _product(precision: str, side: int, on: Any, torch: Any) -> Callable[[], Any]:
    """Returns a function that multiplies two squares, into memory that is allocated once."""
    if precision == "fp8":
        dtype = torch.float8_e4m3fn
        a = torch.ones(side, side, device=on).to(dtype)
        b = torch.ones(side, side, device=on).to(dtype).t()
        alpha = torch.ones((), device=on)
        return lambda: torch._scaled_mm(a, b, scale_a=alpha, scale_b=alpha, out_dtype=torch.bfloat16)
    if precision not in _DTYPES:
        raise RuntimeError(f"{precision} cannot be measured: choose bf16, fp16, tf32, fp32, fp64 or fp8")
    if precision == "tf32" and on.type != "cuda":
        raise RuntimeError("only GPUs have TF32: choose fp32")
    dtype = getattr(torch, _DTYPES[precision])
    a, b = (torch.randn(side, side, device=on, dtype=dtype) for _ in range(2))
    out = torch.empty(side, side, device=on, dtype=dtype)
    return lambda: torch.mm(a, b, out=out)


def _rate_of(multiply: Callable[[], Any], side: int, until: float, on: Any, torch: Any) -> float:
    """Returns the TFLOP/s of a product, at its best of several measurements until a time."""
    wait = (lambda: torch.cuda.synchronize(on)) if on.type == "cuda" else (lambda: None)
    best = 0.0
    for _ in range(2):  # the first calls choose a kernel
        multiply()
    wait()
    runs = 1
    while True:
        began = time.perf_counter()
        for _ in range(runs):
            multiply()
        wait()
        took = time.perf_counter() - began
        best = max(best, runs * 2 * side**3 / took / 1e12)
        if time.perf_counter() >= until:
            return best
        runs = min(max(runs, int(runs * 0.02 / took)), 1000)
