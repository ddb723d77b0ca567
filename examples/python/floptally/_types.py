# SPDX-License-Identifier: Apache-2.0
"""Types of the arguments of floptally's functions, for type checkers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, Union

from . import _core


class HasDict(Protocol):
    """A configuration with to_dict(), like those of transformers."""

    def to_dict(self) -> dict[str, Any]: ...


class HasConfig(Protocol):
    """A model with a configuration, like those of transformers."""

    @property
    def config(self) -> Any: ...


class SupportsBuffer(Protocol):
    """An object with the buffer protocol: NumPy arrays, array.array, memoryview."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class SupportsDLPack(Protocol):
    """An array or a tensor with DLPack export: PyTorch, JAX."""

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class SupportsCudaArray(Protocol):
    """An array with the CUDA array interface: CuPy, Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class Reducer(Protocol):
    """All-reduces integers over a group of ranks. Each method reduces an array of uint64 in place."""

    def sum(self, integers: Any, /) -> None: ...

    def max(self, integers: Any, /) -> None: ...


class MemoryBackend(Protocol):
    """A device whose memory MemoryProbe can sample, such as memory.TorchMemory. A sample has free, total,
    pool_used_high and pool_reserved_high in bytes."""

    def reset_high_marks(self) -> None: ...

    def sample(self) -> Any: ...


class TimesComponents(Protocol):
    """A timer of the components of a training step, such as module_times.ModuleTimer."""

    def times(self, work: Any = ..., /) -> dict[str, Any]: ...


class Deferred(Protocol):
    """A microbatch for Meter.add_deferred whose numbers are still on their way from the GPU. If the microbatch cannot
    be counted and has a method ``failed(problem)``, the meter calls this method and leaves the microbatch's step
    out."""

    def done(self) -> bool: ...

    def wait(self) -> None: ...

    def arguments(self) -> dict[str, Any]: ...


#: [n] integers: an int32, int64, uint32 or uint64 C-contiguous array or tensor in host memory, read in
#: place, or a list of ints.
Integers: TypeAlias = Union[Sequence[int], SupportsBuffer, SupportsDLPack]
#: An array or a tensor on a GPU.
DeviceArray: TypeAlias = Union[SupportsDLPack, SupportsCudaArray]
#: [n, 3] integers (t, h, w), or the same in one row.
Grids: TypeAlias = Union[Integers, Sequence[Sequence[int]]]
#: [batch, tokens] flags: bool, or integers that are 0 or 1.
Flags: TypeAlias = Union[SupportsBuffer, SupportsDLPack, Sequence[Integers]]
#: [samples] or [samples, loads] exact ints or finite numbers.
Costs: TypeAlias = Union[Sequence[float], Sequence[Sequence[float]], SupportsBuffer, SupportsDLPack]
#: (n, past): n new tokens after `past` cached tokens.
NewTokens: TypeAlias = Sequence[tuple[int, int]]
#: (prompt, generated[, cached tokens of the prompt]).
Requests: TypeAlias = Sequence[Union[tuple[int, int], tuple[int, int, int]]]
#: How many tokens' logits are computed: a number, a number for each sequence, or a mask of 0 and 1. Added up.
Logits: TypeAlias = Union[int, SupportsBuffer, SupportsDLPack, Sequence[Integers], Sequence[int]]
#: (contextual, history, targets[, group of targets]).
HstuSequences: TypeAlias = Sequence[Union[tuple[int, int, int], tuple[int, int, int, int]]]
#: A dict, the path of a config.json or of its folder, a configuration, a model, or a cost.
ConfigLike: TypeAlias = Union[dict[str, Any], str, os.PathLike[str], HasDict, HasConfig, _core.Cost]
#: The path of a spec, or its text: a str with a line break.
SpecLike: TypeAlias = Union[str, os.PathLike[str]]
