# SPDX-License-Identifier: Apache-2.0
"""Finds the batch sizes at which a model may branch: it watches what Python compares the batch size with."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

#: Batch size while the comparisons are watched: few models have another axis of this size.
WATCHED = 7
ALWAYS = (1, 4, 16, 64, 256)  #: batch sizes that models without many operators are checked at
MOST, MOST_OF_FEW = 12, 3  #: so many batch sizes come from numbers that were compared


class Watched(int):
    """An int for a tensor size that is a multiple of the batch size. It records each number that Python compares
    the size with or divides the size by, since a model may branch on its batch size."""

    scale: Fraction  #: size per sample
    noted: set[int]  #: batch sizes at which a comparison may turn out otherwise

    @classmethod
    def of(cls, value: int, noted: set[int]) -> Watched:
        batch = cls(value)
        batch.scale, batch.noted = Fraction(value, WATCHED), noted
        return batch

    def note(self, other: Any) -> None:
        if isinstance(other, (int, float)) and not isinstance(other, Watched) and other == other:
            if abs(other) < 1 << 30:
                at = int(Fraction(other) / self.scale)
                self.noted.update(n for n in (at - 1, at, at + 1) if n > 0)

    def __mul__(self, other: Any) -> Any:
        result = int(self) * other
        return Watched.of(result, self.noted) if type(other) is int and result else result

    __rmul__ = __mul__

    def __hash__(self) -> int:
        return int.__hash__(self)


def noting(name: str) -> Callable[[Watched, Any], Any]:
    plain = getattr(int, name)

    def compared(self: Watched, other: Any) -> Any:
        self.note(other)
        return plain(self, other)

    return compared


for operator in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__mod__", "__floordiv__"):
    setattr(Watched, operator, noting(operator))


class WatchedSizes(TorchFunctionMode):
    """A mode in which tensor sizes that are multiples of the batch size are `Watched`. If Python compares such a size
    with a number, `noted` gets the batch sizes at which the size is close to this number. The model may behave
    differently there."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: set[int] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, torch.Size):
            return torch.Size([self.watched(size) for size in result])
        if type(result) is int and func in (torch.Tensor.size, torch.Tensor.numel):
            return self.watched(result, func is torch.Tensor.numel)
        return result

    def watched(self, size: int, multiple: bool = False) -> int:
        whole = size == WATCHED or multiple and type(size) is int and size > 0 and size % WATCHED == 0
        return Watched.of(size, self.noted) if whole else size

    def batches(self, many: bool) -> list[int]:
        """Returns the batch sizes at which to run the model, ascending. many: True for a model of many operators, which
        is run at fewer batch sizes."""
        return sorted(self.noted - {1, 2, 3, WATCHED})[: MOST_OF_FEW if many else MOST]
