# SPDX-License-Identifier: Apache-2.0
"""FLOPs of a batch from what a trainer knows: each length, one length of all sequences, or the sums of lengths and of
their squares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .. import Convention, Cost, Error, Plan, Tally
from .. import cost as _read_cost

#: Lengths that show whether a mask limits the count. The last one is above every window.
_PROBES = (5, 4096, 2**20 + 1, 2**25)


def cost(config: Any, *, padded_vocab_size: int = 0) -> Cost:
    """Reads a model's cost as ``floptally.cost`` does, but does not stop a run that has begun. For a size in the config
    that floptally does not read, it gives one AssumptionWarning and a note instead of an error."""
    if isinstance(config, Cost):
        return config
    return _read_cost(config, padded_vocab_size=padded_vocab_size, strict=False)


class Count:
    """Counts FLOPs of batches with a fixed cost, convention and plan. Each method returns one number."""

    def __init__(self, cost: Cost, convention: str | Convention, plan: Plan | None = None) -> None:
        self.cost = cost
        self.convention = convention
        self.plan = plan
        self._coefficients: tuple[int, int] | None = None

    def batch(self, **arguments: Any) -> int:
        """Returns the FLOPs of a batch. Takes the keywords of ``floptally.flops``."""
        return self.cost.flops(convention=cast(Any, self.convention), plan=self.plan, **arguments).total

    def lengths(self, lengths: Sequence[int]) -> int:
        return self.batch(lengths=lengths)

    def equal(self, sequences: int, tokens: int) -> int:
        """Returns the FLOPs of `sequences` sequences that all have `tokens` tokens."""
        return sequences * self.lengths([tokens])

    def sums(self, field: str, tokens: int, squares: int, sequences: int | None = None) -> int:
        """Returns the FLOPs of a batch from two sums over its lengths n: `tokens` is Σn, `squares` is Σn². Raises an
        error about `field` if these sums do not determine the attended pairs.

        The sums determine the pairs if no mask limits the pairs, or if the convention ignores masks. They also do so if
        Σn² is the least possible for this many sequences, since all lengths are then equal.
        """
        if sequences and sequences * squares == tokens * tokens and tokens % sequences == 0:
            return self.equal(sequences, tokens // sequences)
        if squares < tokens or squares > tokens * tokens:
            raise Error(field, f"must be a sum of squared lengths, from {tokens} to {tokens}², got {squares}")
        linear, square = self._polynomial(field)
        return linear * tokens + square * squares

    def _polynomial(self, field: str) -> tuple[int, int]:
        found = self._coefficients
        if found is None:
            first, two = self.lengths([1]), self.lengths([2])
            square, odd = divmod(two - 2 * first, 2)
            linear = first - square
            for length in (3, *_PROBES):
                if odd or self.lengths([length]) != linear * length + square * length**2:
                    masks = Tally(self.cost, convention=cast(Any, self.convention), plan=self.plan).masks
                    limits = ", ".join(sorted({mask.name for mask in masks})) or str(self.convention)
                    raise Error(field, f"does not determine how many pairs are attended ({limits}): pass lengths=, the tokens of each sequence")
            found = self._coefficients = (linear, square)
        return found


_counts: dict[tuple[int, Any, int], Count] = {}


def counted(cost: Cost, convention: str | Convention, plan: Plan | None = None) -> Count:
    """Returns a Count object, the same one for the same arguments, so that its cached results last from step to
    step."""
    key = (id(cost), convention, id(plan))
    found = _counts.get(key)
    if found is None:
        if len(_counts) >= 64:
            _counts.clear()
        found = _counts[key] = Count(cost, convention, plan)  # keeps both alive, so their ids stay unique
    return found
