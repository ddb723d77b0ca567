# SPDX-License-Identifier: Apache-2.0
"""The result of balance()."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt


class Assignment:
    """The result of `balance()`: which rank gets which samples, and the load of each rank."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        rank_of: npt.NDArray[np.int64],
        ranks: list[npt.NDArray[np.int64]],
        loads: list[Any],
        is_optimum: bool,
        report: dict[str, Any],
        max_over_mean: float,
    ) -> None:
        self._rank_of, self._ranks, self._loads, self._is_optimum = rank_of, ranks, loads, is_optimum
        self._report, self._max_over_mean = report, max_over_mean

    @property
    def rank_of(self) -> npt.NDArray[np.int64]:
        """The rank that each sample is assigned to, as a new int64 array [samples]."""
        return np.array(self._rank_of)

    @property
    def ranks(self) -> list[npt.NDArray[np.int64]]:
        """The indices of each rank's samples, ascending: a list with one new int64 array for each rank."""
        return [samples.copy() for samples in self._ranks]

    @property
    def loads(self) -> list[Any]:
        """The load of each rank: the sum of its samples' costs, exact if costs are ints. If each sample has several
        loads, a tuple of sums for each rank."""
        return list(self._loads)

    @property
    def is_optimum(self) -> bool:
        """True if it is proved that no assignment has a smaller largest load. False may also mean that no proof was
        found."""
        return self._is_optimum

    @property
    def report(self) -> dict[str, Any]:
        """Compares this assignment with an unbalanced one, which gives samples to ranks in their order. The dict has
        the spread of each load before and after, the number of samples that moved, and the predicted speed-up."""
        return {
            name: [dict(spread) for spread in value] if isinstance(value, list) else value
            for name, value in self._report.items()
        }

    def __len__(self) -> int:
        return len(self._ranks)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignment):
            return NotImplemented
        return self._loads == other._loads and np.array_equal(self._rank_of, other._rank_of)

    def __repr__(self) -> str:
        over_mean = f"largest load over mean {self._max_over_mean:.6f}"
        return f"<Assignment of {len(self._rank_of)} samples to {len(self)} ranks, {over_mean}>"


def assignment(
    rank_of: npt.NDArray[np.int64], ranks: list[npt.NDArray[np.int64]], loads: list[int], exponent: int, is_optimum: bool,
    before: tuple[Any, ...], after: tuple[Any, ...], samples: int, moved: int, speedup: float | None, max_over_mean: float,
) -> Assignment:
    """Makes an Assignment from the results of the C++ library. A load is the integer in `loads` times 2**exponent. The
    exponent is 0 if all costs are ints."""

    def number(load: int) -> int | float:
        return load if exponent == 0 else math.ldexp(float(load), exponent)

    def spread(largest: int, smallest: int, *ratios: float) -> dict[str, Any]:
        names = ("max_over_mean", "max_over_min", "range_over_max")
        return {"largest": number(largest), "smallest": number(smallest), **dict(zip(names, ratios, strict=True))}

    report = {
        "before": [spread(*each) for each in before],
        "after": [spread(*each) for each in after],
        "samples": samples,
        "moved": moved,
        "predicted_speedup": speedup,
    }
    own = len(loads) // len(ranks)  # loads of one rank
    numbers = [number(load) for load in loads]
    shown = numbers if own == 1 else [tuple(numbers[i : i + own]) for i in range(0, len(numbers), own)]
    return Assignment(rank_of, ranks, shown, is_optimum, report, max_over_mean)
