# SPDX-License-Identifier: Apache-2.0
"""FLOPs of a batch from what a trainer knows of it: its lengths, equal lengths, or the sums of lengths and squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .. import Convention, Cost, Error, Plan, Tally

#: Lengths at which a count that any mask limits is no polynomial: the last is above every window.
_PROBES = (5, 4096, 2**20 + 1, 2**25)


class Count:
    """A cost under a convention and a plan, asked for one number at a time."""

    def __init__(self, cost: Cost, convention: str | Convention, plan: Plan | None = None) -> None:
        self.cost = cost
        self.convention = convention
        self.plan = plan
        self._coefficients: tuple[int, int] | None = None

    def batch(self, **arguments: Any) -> int:
        """Of a batch as ``floptally.flops`` takes it."""
        return self.cost.flops(convention=cast(Any, self.convention), plan=self.plan, **arguments).total

    def lengths(self, lengths: Sequence[int]) -> int:
        return self.batch(lengths=lengths)

    def equal(self, sequences: int, tokens: int) -> int:
        """Sequences of one length: as many times one."""
        return sequences * self.lengths([tokens])

    def sums(self, field: str, tokens: int, squares: int, sequences: int | None = None) -> int:
        """Of Σn and Σn²; an error about `field` where they do not say what is attended.

        They do where no mask limits the pairs, or the convention ignores it: a count is then a·Σn + b·Σn². They also do
        where the squares are the least that so many sequences can have, since all lengths are then equal.
        """
        if sequences and sequences * squares == tokens * tokens and tokens % sequences == 0:
            return self.equal(sequences, tokens // sequences)
        if squares < tokens or squares > tokens * tokens:
            raise Error(field, f"must be a sum of squares of lengths that add up to {tokens}, got {squares}")
        linear, square = self._polynomial(field)
        return linear * tokens + square * squares

    def _polynomial(self, field: str) -> tuple[int, int]:
        found = self._coefficients
        if found is None:
            one, two = self.lengths([1]), self.lengths([2])
            square, odd = divmod(two - 2 * one, 2)
            linear = one - square
            for length in (3, *_PROBES):
                if odd or self.lengths([length]) != linear * length + square * length**2:
                    masks = Tally(self.cost, convention=cast(Any, self.convention), plan=self.plan).masks
                    limits = ", ".join(sorted({mask.name for mask in masks})) or str(self.convention)
                    raise Error(field, f"does not say how many pairs are attended ({limits}): pass lengths=")
            found = self._coefficients = (linear, square)
        return found


_counts: dict[tuple[int, Any, int], Count] = {}


def counted(cost: Cost, convention: str | Convention, plan: Plan | None = None) -> Count:
    """One count for the same objects, so that what it learned of them is kept from step to step."""
    key = (id(cost), convention, id(plan))
    found = _counts.get(key)
    if found is None:
        if len(_counts) >= 64:
            _counts.clear()
        found = _counts[key] = Count(cost, convention, plan)  # which keeps both alive, so that their ids stay theirs
    return found
