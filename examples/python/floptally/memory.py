# SPDX-License-Identifier: Apache-2.0
"""The memory of a GPU as PyTorch knows it, for a `floptally.MemoryProbe`.

    device = floptally.memory.TorchMemory(folder="snapshots")
    probe = floptally.MemoryProbe(device, profile_steps=[3, 7], layout=layout, start=device.start, stop=device.stop)
    for step, batch in enumerate(batches):
        with probe.step(step):      # nothing is called, but in steps 3 and 7
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
    """A device's own numbers of its memory, in bytes."""

    free: int
    total: int
    pool_used_high: int
    pool_reserved_high: int


class TorchMemory:
    """PyTorch's caching allocator on a device of CUDA.

    device: the current one where it is not given. folder: where `stop` writes a snapshot, which pytorch.org/memory_viz
    shows; it is made where it is not there.
    """

    def __init__(self, device: torch.device | int | None = None, folder: str | os.PathLike[str] = ".") -> None:
        self.device, self.folder = device, Path(folder)

    def reset_high_marks(self) -> None:
        """Begins the high-water marks anew."""
        import torch

        torch.cuda.reset_peak_memory_stats(self.device)

    def sample(self) -> MemorySample:
        """What the device and the allocator say now."""
        import torch

        free, total = torch.cuda.mem_get_info(self.device)
        return MemorySample(
            free, total, torch.cuda.max_memory_allocated(self.device), torch.cuda.max_memory_reserved(self.device)
        )

    def start(self, max_entries: int) -> None:
        """Begins to record, at most so many events."""
        import torch

        torch.cuda.memory._record_memory_history(max_entries=max_entries)

    def stop(self, name: str, step: int) -> None:
        """Ends it, and writes `folder`/`name`.pickle."""
        import torch

        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            torch.cuda.memory._dump_snapshot(str(self.folder / f"{name}.pickle"))  # type: ignore[no-untyped-call,unused-ignore]
        finally:
            torch.cuda.memory._record_memory_history(enabled=None)
