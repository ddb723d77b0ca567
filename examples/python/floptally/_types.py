# SPDX-License-Identifier: Apache-2.0
"""Types that the functions of floptally take."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, Union

from . import _core


class HasDict(Protocol):
    """A configuration that gives itself as a dict, as those of transformers do."""

    def to_dict(self) -> dict[str, Any]: ...


class HasConfig(Protocol):
    """A model that carries its configuration, as those of transformers do."""

    @property
    def config(self) -> Any: ...


class SupportsBuffer(Protocol):
    """An object of the buffer protocol: NumPy arrays, array.array, memoryview."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class SupportsDLPack(Protocol):
    """An array or a tensor that exports itself by DLPack: PyTorch, JAX."""

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class SupportsCudaArray(Protocol):
    """An array of the CUDA array interface: CuPy, Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...


class Reducer(Protocol):
    """Collectives over a group of ranks: each changes an array of uint64 words in place."""

    def sum(self, words: Any, /) -> None: ...

    def max(self, words: Any, /) -> None: ...


class MemoryBackend(Protocol):
    """A device that says what its memory is: memory.TorchMemory. A sample has free, total, pool_used_high and
    pool_reserved_high, in bytes."""

    def reset_high_marks(self) -> None: ...

    def sample(self) -> Any: ...


class TimesComponents(Protocol):
    """A timer of the parts of a step: module_times.ModuleTimer."""

    def times(self, work: Any = ..., /) -> dict[str, Any]: ...


class Later(Protocol):
    """A microbatch whose numbers are still on their way. One that has ``failed(problem)`` too is told there why it cannot be
    counted, and its step is left out."""

    def done(self) -> bool: ...

    def wait(self) -> None: ...

    def arguments(self) -> dict[str, Any]: ...


#: [n] integers: int32, int64, uint32 or uint64 of a C-contiguous array or tensor in host memory, which is read where it
#: stands, or a list of ints.
Integers: TypeAlias = Union[Sequence[int], SupportsBuffer, SupportsDLPack]
#: An array or a tensor on a GPU.
DeviceArray: TypeAlias = Union[SupportsDLPack, SupportsCudaArray]
#: [n, 3] integers (t, h, w), or the same in one row.
Grids: TypeAlias = Union[Integers, Sequence[Sequence[int]]]
#: [batch, tokens] flags: bool, or integers that are 0 or 1.
Flags: TypeAlias = Union[SupportsBuffer, SupportsDLPack, Sequence[Integers]]
#: [samples] or [samples, loads] exact ints or finite numbers.
Costs: TypeAlias = Union[Sequence[float], Sequence[Sequence[float]], SupportsBuffer, SupportsDLPack]
#: (n, past): n new tokens after past cached ones.
NewTokens: TypeAlias = Sequence[tuple[int, int]]
#: (prompt, generated[, cached tokens of the prompt]).
Requests: TypeAlias = Sequence[Union[tuple[int, int], tuple[int, int, int]]]
#: How many tokens' logits are computed: a number, numbers of sequences, or a mask of 0 and 1; they are added up.
Logits: TypeAlias = Union[int, SupportsBuffer, SupportsDLPack, Sequence[Integers], Sequence[int]]
#: (contextual, history, targets[, group of targets]).
HstuSequences: TypeAlias = Sequence[Union[tuple[int, int, int], tuple[int, int, int, int]]]
#: A dict, the path of a config.json or of its folder, a configuration, a model, or a cost.
ConfigLike: TypeAlias = Union[dict[str, Any], str, os.PathLike[str], HasDict, HasConfig, _core.Cost]
#: The path of a page, or its text: a str with a line break.
PageLike: TypeAlias = Union[str, os.PathLike[str]]
