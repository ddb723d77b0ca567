# SPDX-License-Identifier: Apache-2.0
"""Identifies the masks of attention cores from the pairs that they attend at several sizes; see _torch_trace.py.

Pairs come from the weights of a core (_torch_values.py), from a kernel's arguments, or from the mask function of flex
attention. The pairs of each head at several lengths identify its mask. If a mask is too large for memory at some
length, single rows of it are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import Any

import torch
from torch._subclasses.fake_tensor import unset_fake_temporarily

from ._core import Mask
from ._errors import first_line
from ._torch_lazy import Constant, Lazy, Unknown, in_double, row_of
from ._torch_values import MOST_ELEMENTS, Unseen, Valued
from ._torch_weights import alive_by_logits, alive_by_weights, remainder
from ._traced_entries import rule_of

FURTHEST = 1 << 20  #: length at which mask functions for any length are asked
#: Largest number of elements of rows that are computed at once: 8 MiB of float64, which fit into a processor's cache.
MOST_IN_ROWS = 1 << 20

FULL = "full"
#: FULL, a bool tensor [queries, keys] of what is attended, or `Rows`.
Pattern = Any
#: A function from queries [rows, 1] and keys [1, keys] to what is attended.
Rule = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(eq=False)
class Rows:
    """A pattern of attended pairs that is read one query at a time. Used for sequence lengths at which reading all
    queries is too slow."""

    queries: int
    keys: int
    at: Callable[[int, int], torch.Tensor | None]  #: from a query and the number of keys to [keys]; None if unknown
    told: bool = False  #: True if a kernel's argument, or a function passed to it, says it; it then holds at any length
    known: dict[tuple[int, int], torch.Tensor | None] = field(default_factory=dict)

    def row(self, query: int, keys: int = 0) -> torch.Tensor | None:
        key = query, keys or self.keys
        if key not in self.known:
            self.known[key] = self.at(*key)
        return self.known[key]

    def whole(self) -> torch.Tensor | None:
        found = [self.row(query) for query in range(self.queries)]
        rows = [one for one in found if one is not None]
        return torch.stack(rows) if len(rows) == len(found) else None


@dataclass(eq=False)
class Pairs:
    """The (query, key) pairs that an attention core attends at one input size.

    of: for each head of each sample, the index of its pattern.
    patterns: the different patterns of attended pairs.
    """

    queries: int
    keys: int
    of: list[int]
    patterns: list[Pattern]
    has_remainder: bool = False  #: True if some attended pairs have far smaller weights than all others

    @property
    def area(self) -> int:
        return len(self.of) * self.queries * self.keys

    def attended(self) -> int | None:
        """Returns the number of attended pairs of all heads and samples. None if some of the pairs are unknown."""
        numbers = [self.attended_of(pattern) for pattern in self.patterns]
        if any(number is None for number in numbers):
            return None
        return sum(numbers[index] or 0 for index in self.of)

    def attended_of(self, pattern: Pattern) -> int | None:
        if isinstance(pattern, str):
            return self.queries * self.keys
        if isinstance(pattern, Rows):
            found = pattern.whole() if pattern.queries * pattern.keys <= MOST_ELEMENTS else None
            return None if found is None else int(found.sum())
        return int(pattern.sum())

    def is_full(self) -> bool:
        return all(isinstance(pattern, str) for pattern in self.patterns)


#: What a step has seen of a core.
Seen = Pairs | Unseen


def all_pairs(heads: int, queries: int, keys: int, pattern: Pattern = FULL) -> Pairs:
    """Returns a Pairs in which all heads and samples have the same attended pairs."""
    return Pairs(queries, keys, [0] * heads, [pattern])


def pairs_of(value: Constant, heads: int, is_turned: bool = False, is_mask: bool = False, front: Sequence[int] = ()) -> Seen:
    """Finds the attended pairs: those whose attention weight is not 0.

    value: attention weights [..., queries, keys], or a mask of this shape.
    heads: the number of heads of all samples together.
    is_turned: True for weights [..., keys, queries].
    is_mask: True for a mask that is added to scores, or whose False removes a pair.
    front: sizes of the scores' axes before the last two, if the mask may be broadcast along them.
    """
    if isinstance(value, Lazy):
        return pairs_of_rows(value, heads, is_turned, is_mask, front)
    weights = value.transpose(-1, -2) if is_turned else value
    alive = alive_in(weights, is_mask)
    queries, keys = alive.shape[-2:]
    if bool(alive.all()):
        found = all_pairs(heads, queries, keys)
    else:
        found = grouped(alive.reshape(-1, queries, keys), queries, keys, placed(alive.shape[:-2], front, heads))
    found.has_remainder = not is_mask and remainder(weights, alive)
    return found


def alive_in(weights: torch.Tensor, is_mask: bool) -> torch.Tensor:
    if weights.dtype is torch.bool:
        return weights
    return alive_by_logits(weights.double()) if is_mask else alive_by_weights(weights.double())


def placed(shape: Sequence[int], front: Sequence[int], heads: int) -> list[int]:
    """Returns, for each head of all samples, the index of its pattern in a mask tensor. The axes before the last two
    may be broadcast."""
    numbers = torch.arange(prod(shape)).reshape(tuple(shape))
    if front:
        numbers = numbers.expand(tuple(front))
    if numbers.numel() != heads:
        numbers = numbers.expand(heads) if numbers.numel() == 1 else torch.zeros(heads, dtype=torch.long)
    return numbers.reshape(-1).tolist()


def grouped(alive: torch.Tensor, queries: int, keys: int, places_of: list[int]) -> Pairs:
    """Returns a Pairs (the attended pairs of all heads) that stores equal patterns once.

    alive: True for each attended pair, [patterns, queries, keys].
    places_of: the index of each head's pattern in `alive`.
    """
    if bool((alive == alive[:1]).all()):
        return Pairs(queries, keys, [0] * len(places_of), [alive[0].clone()])
    index: dict[bytes, int] = {}
    patterns: list[Pattern] = []
    of = []
    for one in alive:
        number = index.setdefault(one.contiguous().numpy().tobytes(), len(index))
        if number == len(patterns):
            patterns.append(FULL if bool(one.all()) else one.clone())
        of.append(number)
    return Pairs(queries, keys, [of[place] for place in places_of], patterns)


class RowReader:
    """Finds the keys that a single query attends. Used if the attention weights as a whole are too large for memory."""

    def __init__(self, value: Lazy, is_turned: bool, is_mask: bool) -> None:
        self.value = value
        self.axis = -1 if is_turned else -2
        self.is_mask = is_mask
        self.queries, self.keys = value.shape[self.axis], value.shape[-3 - self.axis]
        self.front: tuple[int, ...] = ()
        self.known: dict[int, torch.Tensor] = {}
        self.read(places(self.queries))

    def read(self, queries: Sequence[int]) -> None:
        at_once = max(MOST_IN_ROWS // self.keys - 1, 1)
        parts = -(-len(queries) // at_once)
        for part in range(parts):
            # Early queries see few keys. Later ones in the same part, and the last, show better how a bias continues.
            chosen = [*queries[part::parts], self.queries - 1]
            with in_double():
                weights = row_of(self.value, self.axis, torch.tensor(chosen))
            weights = weights.transpose(-1, -2) if self.axis == -1 else weights
            weights = weights.expand(*weights.shape[:-2], len(chosen), self.keys)
            self.front = tuple(weights.shape[:-2])
            alive = alive_in(weights, self.is_mask).reshape(-1, len(chosen), self.keys)
            self.known.update({query: alive[:, place] for place, query in enumerate(chosen)})

    def of_pattern(self, number: int) -> Callable[[int, int], torch.Tensor | None]:
        return lambda query, _: self.row(number, query)

    def row(self, number: int, query: int) -> torch.Tensor | None:
        if query not in self.known:
            try:
                self.read([query])
            except (Unknown, RuntimeError, IndexError):
                return None
        return self.known[query][number]


def pairs_of_rows(value: Lazy, heads: int, is_turned: bool, is_mask: bool, front: Sequence[int]) -> Seen:
    if len(value.shape) < 2:
        return Unseen("cannot be followed")
    try:
        reader = RowReader(value, is_turned, is_mask)
    except (Unknown, RuntimeError, IndexError) as problem:
        return Unseen(f"cannot be computed row by row ({first_line(problem, 120)})")
    number_of: dict[bytes, int] = {}
    of: list[int] = []
    patterns: list[Pattern] = []
    for place in range(prod(reader.front)):
        sample = torch.stack([reader.known[query][place] for query in sorted(reader.known)])
        number = number_of.setdefault(sample.numpy().tobytes(), len(number_of))
        if number == len(patterns):
            patterns.append(FULL if bool(sample.all()) else Rows(reader.queries, reader.keys, reader.of_pattern(place)))
        of.append(number)
    places_of = placed(reader.front, front if prod(reader.front) > 1 else (), heads)
    if prod(reader.front) > 1 and not front and prod(value.shape[:-2]) == heads:
        places_of = placed(reader.front, value.shape[:-2], heads)
    return Pairs(reader.queries, reader.keys, [of[place] for place in places_of], patterns)


# Arguments of a kernel.


def pairs_of_function(
    function: Any, queries: int, keys: int, samples: int = 1, heads: int = 1, is_score: bool = False
) -> Seen:
    """Returns the pairs that flex attention attends, from the user's function of head, query and key.

    function: a mask_mod, or with `is_score` a score_mod, which removes a pair by -inf.
    """

    def asked(head: int, q: torch.Tensor, k: torch.Tensor, sample: int = 0) -> torch.Tensor:
        with unset_fake_temporarily(), Valued():
            numbers = [torch.full((), one, dtype=torch.long) for one in (sample, head)]
            found = torch.as_tensor(function(*numbers, q, k)).expand(len(q), k.shape[1])
            return alive_by_logits(found.double()) if is_score else found.bool()

    whole = queries * keys <= MOST_ELEMENTS
    chosen = list(range(queries)) if whole else sorted({*places(queries), queries - 1})
    number_of: dict[bytes, int] = {}
    of: list[int] = []
    patterns: list[Pattern] = []
    for head in range(heads):
        try:
            column = torch.arange(keys).view(1, -1)
            found = asked(head, torch.tensor(chosen).view(-1, 1), column)
            for sample in {samples - 1, samples // 2} - {0}:
                if not torch.equal(asked(head, torch.tensor(chosen).view(-1, 1), column, sample), found):
                    return Unseen("differ between the samples of a batch")
        except Exception as problem:  # it reads tensors without values
            text = first_line(problem, 120)
            return Unseen("depend on data" if "ake" in text or "Dynamic" in type(problem).__name__ else f"cannot be computed ({text})")
        number = number_of.setdefault(found.numpy().tobytes(), len(number_of))
        if number == len(patterns):

            def at(query: int, n: int, head: int = head) -> torch.Tensor | None:
                try:
                    return asked(head, torch.full((1, 1), query), torch.arange(n).view(1, -1))[0]
                except Exception:
                    return None

            pattern = Rows(queries, keys, at, True)
            pattern.known.update({(query, keys): row for query, row in zip(chosen, found)})
            patterns.append(pattern)
        of.append(number)
    return Pairs(queries, keys, of * samples, patterns)


def pairs_of_window(window: Iterable[int], heads: int, queries: int, keys: int, causal: bool = False) -> Pairs:
    """Returns the pairs that an attention kernel with a sliding window attends.

    window: keys to the left and to the right of each query. A negative number is no limit.
    causal: True if the kernel also removes later keys.
    """
    left, right = window
    if causal:
        right = 0
    if left < 0 and right < 0:
        return all_pairs(heads, queries, keys)

    def rows(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return ((left < 0) | (query - key <= left)) & ((right < 0) | (key - query <= right))

    def at(query: int, n: int) -> torch.Tensor:
        return rows(torch.tensor(query), torch.arange(n))

    return all_pairs(heads, queries, keys, Rows(queries, keys, at, True))


def both(a: Seen, b: Seen) -> Seen:
    """Returns the pairs that are attended in both of two Pairs, head by head."""
    if isinstance(a, Unseen) or isinstance(b, Unseen):
        return a if isinstance(a, Unseen) else b
    if a.is_full() or b.is_full():
        return b if a.is_full() else a
    numbers: dict[tuple[int, int], int] = {}
    of = [numbers.setdefault(pair, len(numbers)) for pair in zip(a.of, b.of)]
    return Pairs(a.queries, a.keys, of, [meet(a, b, *pair) for pair in numbers])


def meet(a: Pairs, b: Pairs, first: int, second: int) -> Pattern:
    left, right = (as_rows(one, one.patterns[number]) for one, number in ((a, first), (b, second)))

    def at(query: int, keys: int) -> torch.Tensor | None:
        rows = left.row(query, keys), right.row(query, keys)
        return None if rows[0] is None or rows[1] is None else rows[0] & rows[1]

    return Rows(a.queries, a.keys, at, left.told and right.told)


def as_rows(pairs: Pairs, pattern: Pattern) -> Rows:
    if isinstance(pattern, Rows):
        return pattern
    if isinstance(pattern, str):
        return Rows(pairs.queries, pairs.keys, lambda q, n: torch.ones(n, dtype=torch.bool), True)
    return Rows(pairs.queries, pairs.keys, lambda q, n: pattern[q].expand(n))


# Masks.


def places(length: int) -> list[int]:
    """Returns the queries to read of an attention mask that is too large to be read whole: the first four, the last
    two, and some in between at growing distances."""
    found = {0, 1, 2, 3, length // 3, length // 2, length - 2, length - 1}
    place = 4.0
    while place < length:
        found.add(int(place))
        place *= 1.7
    return sorted(one for one in found if 0 <= one < length)


def rule_of_mask(mask: Mask) -> Rule | None:
    kind, _, numbers = mask.name.partition("(")
    return rule_of(kind, [int(n) for n in re.findall(r"-?\d+", numbers)])


def forms_of(rows: Callable[[int], torch.Tensor], length: int) -> Iterator[Mask]:
    """Guesses the mask behind a square pattern of attended pairs. Returns masks that it may come from; the caller must
    compare each with the pattern. rows: a function from a query to the keys that it attends, as a bool tensor
    [length]."""
    left = right = -1
    for query in places(length):
        alive = rows(query).nonzero().flatten()
        if len(alive) == 0:
            return
        if int(alive[0]) > 0:
            left = max(left, query - int(alive[0]))
        if int(alive[-1]) < length - 1:
            right = max(right, int(alive[-1]) - query)
    if left < 0 and right == 0:
        yield Mask.causal()
    elif left >= 0 and right == 0:
        yield Mask.sliding_window(left + 1)
    elif left >= 0 or right >= 0:
        yield Mask.window(left, right)
    # A chunk begins where a row does; its length is the first query that does not see the first key.
    last, first = length, 0
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if bool(rows(middle)[0]) else (first, middle)
    if last < length:
        yield Mask.chunked(last)
    prefix = int(rows(0).sum())
    if prefix > 1:
        yield Mask.prefix_lm(prefix)


@dataclass
class Square:
    """A pattern of attended pairs with as many keys as queries. `row()` returns the keys that a query attends."""

    pattern: Pattern
    length: int

    def row(self, query: int, turned: bool = False) -> torch.Tensor:
        if isinstance(self.pattern, Rows):
            found = self.pattern.row(query)
            if found is None:
                raise Unknown("row")
            return found
        assert isinstance(self.pattern, torch.Tensor)
        return self.pattern[:, query] if turned else self.pattern[query]

    def is_of(self, rule: Rule, turned: bool = False) -> bool:
        if isinstance(self.pattern, torch.Tensor):
            q = torch.arange(self.length)
            found = rule(q.view(-1, 1), q.view(1, -1)).expand(self.length, self.length)
            return torch.equal(found, self.pattern.T if turned else self.pattern)
        return not turned and agrees(self.row, rule, places(self.length), self.length)


def agrees(row: Callable[[int], torch.Tensor], rule: Rule, queries: Iterable[int], keys: int) -> bool:
    column = torch.arange(keys).view(1, -1)
    return all(
        torch.equal(rule(torch.full((1, 1), query), column).expand(1, keys)[0], row(query)) for query in queries
    )


def cut_rows(rows: Rows, cut: slice) -> Rows:
    """Returns a pattern of attended pairs with only the keys in the slice `cut`. Used to remove keys that all queries
    attend."""

    def at(query: int, _: int) -> torch.Tensor | None:
        row = rows.row(query)
        return None if row is None else row[cut]

    return Rows(rows.queries, rows.queries, at)


def squares_of(patterns: Iterable[Pattern]) -> list[Square] | None:
    """Returns each pattern of attended pairs as a Square. First removes keys at its beginning or end that all
    queries attend. Returns None if a pattern then does not have as many queries as keys."""
    result = []
    for pattern in patterns:
        if isinstance(pattern, Rows):
            if pattern.queries * pattern.keys <= MOST_ELEMENTS:
                pattern = pattern.whole()
                if pattern is None:
                    return None
            elif pattern.queries != pattern.keys:
                extra, rows = pattern.keys - pattern.queries, pattern
                sample = [rows.row(query) for query in places(pattern.queries)]
                if extra < 0 or any(row is None for row in sample):
                    return None
                ahead = all(bool(row[:extra].all()) for row in sample if row is not None)
                pattern = cut_rows(rows, slice(extra, None) if ahead else slice(0, pattern.queries))
        if isinstance(pattern, torch.Tensor):
            extra = pattern.shape[1] - pattern.shape[0]
            if extra > 0 and bool(pattern[:, :extra].all()):
                pattern = pattern[:, extra:]  # keys before the queries that all attend: a prefix
            elif extra > 0 and bool(pattern[:, -extra:].all()):
                pattern = pattern[:, :-extra]  # or a sink
            if pattern.shape[0] != pattern.shape[1] or not bool(pattern.any()):
                return None  # keys that no query attends: padding
        result.append(Square(pattern, pattern.queries if isinstance(pattern, Rows) else pattern.shape[0]))
    return result


def mask_of_patterns(patterns: Sequence[Pattern]) -> Mask | None:
    """Returns the known mask that attends exactly these pairs. None if there is no such mask. patterns: the attended
    pairs at each sequence length that was run."""
    squares = squares_of(patterns)
    if not squares:
        return None
    try:
        found = mask_of_squares(squares)
    except Unknown:
        return None
    told = [one for one in patterns if isinstance(one, Rows) and one.told and one.queries == one.keys]
    if found is None or len(told) < len(patterns):
        return found
    return further(max(told, key=lambda one: one.queries), found, squares)


def mask_of_squares(squares: Sequence[Square]) -> Mask | None:
    def fits(mask: Mask, turned: bool) -> bool:
        rule = rule_of_mask(mask)
        return rule is not None and all(square.is_of(rule, turned) for square in squares)

    longest = max(squares, key=lambda one: one.length)
    if all(bool(longest.row(query).all()) for query in places(longest.length)) and fits(Mask.bidirectional(), False):
        return Mask.bidirectional()
    for turned in (False, True):
        if turned and isinstance(longest.pattern, Rows):
            continue
        for mask in forms_of(partial(longest.row, turned=turned), longest.length):
            if fits(mask, turned):
                return mask
    return None


def further(stated: Rows, found: Mask, squares: Sequence[Square]) -> Mask:
    """Checks a mask by the model's own mask function, at a longer sequence length than any that was run. Returns the
    mask, or another one that also fits at this length, such as a window wider than the longest input.

    stated: the pairs of the mask function, which can be computed at any length.
    found: the mask to check.
    squares: the patterns of attended pairs at the lengths that were run. The returned mask must have them too.
    """
    rule = rule_of_mask(found)
    # A function that holds at any length may still know the length at which it was made: then it says nothing about others.
    def row(query: int) -> torch.Tensor:
        mask_row = stated.row(query, FURTHEST)
        if mask_row is None:
            raise Unknown("row")
        return mask_row

    try:
        if rule is None or not agrees(row, rule, (0, stated.queries // 2, stated.queries - 1), FURTHEST):
            return found
        if agrees(row, rule, (FURTHEST - 1,), FURTHEST):
            return found
        for mask in forms_of(row, FURTHEST):
            other = rule_of_mask(mask)
            if other is not None and agrees(row, other, places(FURTHEST), FURTHEST):
                if all(square.is_of(other) for square in squares):
                    return mask
    except Unknown:
        pass
    return found
