# SPDX-License-Identifier: Apache-2.0
"""Samples the memory of a GPU through PyTorch, for a `floptally.MemoryProbe`.

    device = floptally.memory.TorchMemory(folder="snapshots")
    probe = floptally.MemoryProbe(device, profile_steps=[3, 7], layout=layout, start=device.start, stop=device.stop)
    for step, batch in enumerate(batches):
        with probe.step(step):      # samples memory in steps 3 and 7 only
            train(batch)
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch

__all__ = ["MemorySample", "TorchMemory"]


class MemorySample(NamedTuple):
    """Memory of a device in bytes, as the device and the allocator report it."""

    free: int
    total: int
    pool_used_high: int
    pool_reserved_high: int


class TorchMemory:
    """Memory of a CUDA device by PyTorch's caching allocator, for a `MemoryProbe`.

    device: the CUDA device; the current one by default.
    folder: where `stop` writes snapshots, for pytorch.org/memory_viz. Created if it does not exist.
    """

    def __init__(self, device: torch.device | int | None = None, folder: str | os.PathLike[str] = ".") -> None:
        self.device, self.folder = device, Path(folder)

    def reset_high_marks(self) -> None:
        """Resets the high-water marks of the memory."""
        import torch

        torch.cuda.reset_peak_memory_stats(self.device)

    def sample(self) -> MemorySample:
        """Returns the free and the total memory of the device, and the high-water marks of PyTorch's allocator."""
        import torch

        free, total = torch.cuda.mem_get_info(self.device)
        return MemorySample(
            free, total, torch.cuda.max_memory_allocated(self.device), torch.cuda.max_memory_reserved(self.device)
        )

    def start(self, max_entries: int) -> None:
        """Starts recording memory allocations, at most `max_entries` events."""
        import torch

        torch.cuda.memory._record_memory_history(max_entries=max_entries)

    def stop(self, name: str, step: int) -> None:
        """Stops recording memory allocations and writes them to `folder`/`name`.pickle."""
        import torch

        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            torch.cuda.memory._dump_snapshot(str(self.folder / f"{name}.pickle"))  # type: ignore[no-untyped-call,unused-ignore]
        finally:
            torch.cuda.memory._record_memory_history(enabled=None)
