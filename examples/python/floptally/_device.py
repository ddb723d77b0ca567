# SPDX-License-Identifier: Apache-2.0
"""Tallies of lengths that are on a GPU, counted there by kernels that the package brings."""

from __future__ import annotations

import functools
import gzip
import pathlib
import sys
from typing import TYPE_CHECKING, Any, SupportsIndex

from . import _core
from ._core import Error

if TYPE_CHECKING:
    from ._conventions import Convention
    from ._core import Cost, Mask, Plan, Tally
    from ._words import ConventionName

# What nvcc has made of examples/python/src/kernels.cu, where the build found an nvcc.
_KERNELS = pathlib.Path(__file__).with_name("_kernels.fatbin.gz")


class DeviceTally(_core.DeviceTally):
    """Exact sums of lengths that are on a GPU already: nothing is copied to the host, and nobody waits.

    cost_or_masks, convention, plan: as of a `Tally`. device: a number, "cuda:1" or a torch.device; by default the current one
    of PyTorch, else 0. snapshots: how many of them wait for `poll` at most.

        counted = floptally.DeviceTally(cost)
        counted.add(cu_seqlens=cu_seqlens)          # every microbatch: one launch on the current stream
        counted.snapshot(reset=True)                # every step: one launch
        while (tally := counted.poll()) is not None:  # asks nobody: what is there by now, in order
            ...

    `add` takes cu_seqlens (with cu_seqlens_padded and num_real_seqs, an int or a number on the GPU), lengths (with
    row_length) or attention_mask, of PyTorch, or what has DLPack or the CUDA array interface (JAX, CuPy), and the stream
    that it is added on: PyTorch's or CuPy's current one, unless it is given. Adds and snapshots can be captured in a graph;
    kernels are loaded, and memory is allocated, where a DeviceTally is made, and so before. What a `Tally` would refuse is
    left out and remembered: `poll` and `read` raise it as a `LeftOut`, whose `counted` is the tally of all the others.
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
                "this floptally was built where no nvcc was found, and has no kernels: build it where there is one, or give "
                "the tensors to Meter.add, which copies them without a wait and counts them a step later",
            )
        number = _number_of(device)
        on = functools.partial(_stream_of, number)
        super().__init__(
            cost_or_masks, device=number, snapshots=snapshots, kernels=_kernels, stream_of=on, convention=convention, plan=plan
        )


def _kernels() -> bytes:
    """Read once a device and process, where the driver loads them."""
    return gzip.decompress(_KERNELS.read_bytes())


def _number_of(device: object) -> int:
    if device is None or str(device) == "cuda":
        torch = sys.modules.get("torch")
        return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_initialized() else 0
    if isinstance(device, SupportsIndex):
        return int(device)
    kind, _, index = str(device).partition(":")
    if kind != "cuda" or not index.isdigit():
        raise Error("device", f'must be a number or "cuda:N", got {device!r}')
    return int(index)


def _stream_of(device: int, stream: Any) -> int:
    """The address of a stream: PyTorch has it as `cuda_stream`, CuPy as `ptr`, others by `__cuda_stream__`."""
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
