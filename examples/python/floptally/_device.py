# SPDX-License-Identifier: Apache-2.0
"""A tally of batches that are on a GPU. Kernels of this package count them there."""

from __future__ import annotations

import functools
import gzip
import operator
import pathlib
import sys
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _core
from ._core import Error
from ._errors import shortened

if TYPE_CHECKING:
    from ._conventions import Convention
    from ._core import Cost, Mask, Plan, Tally
    from ._literals import ConventionName

# The kernels of examples/python/src/kernels.cu, compiled by nvcc. Missing if the build found no nvcc.
_KERNELS = pathlib.Path(__file__).with_name("_kernels.fatbin.gz")


class DeviceTally(_core.DeviceTally):
    """Counts batches whose lengths are on a GPU, by CUDA kernels: no copy to the host, no synchronization.

        counted = floptally.DeviceTally(cost)
        counted.add(cu_seqlens=cu_seqlens)          # every microbatch: one launch on the current stream
        counted.snapshot(reset=True)                # every step: one launch
        while (tally := counted.poll()) is not None:  # never waits: the snapshots that have arrived, in order
            ...

    cost_or_masks, convention, plan: as for a `Tally`.
    device: a number, "cuda:1" or a torch.device. By default PyTorch's current device, else 0.
    snapshots: how many snapshots may wait for `poll`.

    `add` takes cu_seqlens (with cu_seqlens_padded and num_real_seqs, an int or a number on the GPU), lengths (with
    row_length) or attention_mask. Arrays are PyTorch tensors, or have DLPack or the CUDA array interface (JAX,
    CuPy). The default stream is PyTorch's or CuPy's current one.

    `add` and `snapshot` can be captured in a CUDA graph. The constructor loads the kernels and allocates memory, so
    construct before the capture. A sequence that a `Tally` would refuse is left out: `poll` and `read` raise a
    `LeftOut` for it. `LeftOut.counted` is the tally of all other sequences.
    """

    def __init__(
        self,
        cost_or_masks: Cost | Tally | list[Mask] | None = None,
        *,
        device: object = None,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        snapshots: int = 64,
    ) -> None:
        if not _KERNELS.exists():
            raise Error(
                "DeviceTally",
                "needs CUDA kernels, but floptally was built without nvcc: build floptally with nvcc, or pass the tensors "
                "to Meter.add",
            )
        number = _number_of(device)
        on = functools.partial(_stream_of, number)
        super().__init__(
            cost_or_masks, device=number, snapshots=snapshots, kernels=_kernels, stream_of=on, convention=convention, plan=plan
        )


def _kernels() -> bytes:
    """Returns the library's CUDA kernels. The driver loads them once for each device and process."""
    return gzip.decompress(_KERNELS.read_bytes())


def _number_of(device: object) -> int:
    if device is None or str(device) == "cuda":
        torch = sys.modules.get("torch")
        return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0
    if isinstance(device, SupportsIndex):
        try:
            return operator.index(device)
        except TypeError:  # an array of several numbers, or not of integers
            raise Error("device", f'must be a number or "cuda:N", got {shortened(device)}') from None
    kind, _, index = str(device).partition(":")
    if kind != "cuda" or not index.isdigit():
        raise Error("device", f'must be a number or "cuda:N", got {device!r}')
    return int(index)


def _stream_of(device: int, stream: Any) -> int:
    """Returns the address of a CUDA stream: what its `__cuda_stream__` says, its `cuda_stream` (PyTorch) or its `ptr`
    (CuPy). None stands for the current stream of PyTorch or CuPy, or without these for the default stream, 0."""
    torch, cupy = sys.modules.get("torch"), sys.modules.get("cupy")
    if stream is None and torch is not None and torch.cuda.is_initialized():
        stream = torch.cuda.current_stream(device)
    elif stream is None:
        stream = cupy.cuda.get_current_stream() if cupy is not None else 0
    if hasattr(stream, "__cuda_stream__"):
        return int(stream.__cuda_stream__()[1])
    address = getattr(stream, "cuda_stream", getattr(stream, "ptr", stream))
    if not isinstance(address, int):
        raise Error("stream", f"must be a stream of PyTorch or CuPy, or its address, got {stream!r}")
    return address
