# SPDX-License-Identifier: Apache-2.0
"""Finds the pairs that each attention core of a model attends, from training steps at several input sizes. See
_from_torch.py."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import gcd
from typing import TYPE_CHECKING, Any

import torch

from ._core import Error, Mask
from ._torch_masks import Pairs, Pattern, Rows, Seen, mask_of_patterns, squares_of
from ._torch_values import MOST_ELEMENTS, Unseen
from ._traced_entries import Names, Series, Size

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._literals import PairShape


class MoreLengths(Exception):
    """Raised when a training step at one more sequence length was added. The caller must then read all masks again."""


#: Why the pairs of a core cannot be counted, or an empty text; (heads, of how many, mask); (attended pairs, all pairs).
Looked = tuple[str, list[tuple[int, int, Mask]], list[tuple[int, int] | None]]
DENSE_LENGTH = 2047  #: up to this length a mask function is asked for every pair


@dataclass
class Attended:
    """The pairs that an attention core attends. `parts` and `counts` are empty if the core attends all pairs.

    parts: (number of heads, number of all heads, mask) for each mask. Also empty if some head's pairs fit no mask.
    counts: (attended pairs, all pairs) of all heads and samples at each input size. None at a size where they are
        unknown.
    """

    parts: list[tuple[int, int, Mask]] = field(default_factory=list)
    counts: list[tuple[int, int] | None] = field(default_factory=list)
    is_given: bool = False  #: True if the caller passed the mask

    @property
    def is_full(self) -> bool:
        return not self.parts and not self.counts


class SeenMasks:
    """Finds the mask of each attention core of a model: the mask that the caller passed, else the one that the core
    used when it ran.

    near: the attended pairs must be known at the first `near` input sizes. At later sizes they may be unknown.
    """

    def __init__(self, chosen: Mapping[str, Mask], names: Names, sizes: Sequence[Size], near: int) -> None:
        self.chosen_masks = chosen
        self.names = names
        self.sizes = sizes
        self.near = near
        self.is_partial = False  #: True if some mask could not be seen at all sizes
        self.notes: list[str] = []
        self.known: dict[int, tuple[Series, Attended]] = {}
        self.looked: dict[tuple[int, ...], Looked] = {}
        #: Adds a step at a length up to which tables reach. False if there is none.
        self.more: Callable[[], bool] | None = None

    def of(self, series: Series, is_square: bool) -> Attended:
        """Returns the (query, key) pairs that an attention core attends, as an Attended.

        series: a matrix product of the core.
        is_square: True if the core has n² pairs at length n.
        """
        if id(series) not in self.known:
            self.known[id(series)] = series, self.found(series, is_square)
        return self.known[id(series)][1]

    def found(self, series: Series, is_square: bool) -> Attended:
        chosen = next((mask for pattern, mask in self.chosen_masks.items() if fnmatchcase(series.module, pattern)), None)
        if series.first.decides:
            return self.of_decisions(series)
        if chosen is not None and is_square:
            return Attended([(1, 1, chosen)], is_given=True)
        # Pairs that cannot be computed at a long length are looked at up to a shorter one.
        unseen = [place for place, several in enumerate(series.seen) if is_unseen(several)]
        lost = unseen if min(unseen, default=0) >= self.near else []
        if lost:
            self.is_partial = True
            longest = max(size[1] for place, size in enumerate(self.sizes) if place not in lost)
            self.note(f"{self.names.component(series.module)}: its mask was looked at up to length {longest}")
        sizes = [size for place, size in enumerate(self.sizes) if place not in lost]
        seen = [several for place, several in enumerate(series.seen) if place not in lost]
        reason = next((pairs.reason for pairs in flat(seen) if isinstance(pairs, Unseen)), "")
        every = [[pairs for pairs in several if isinstance(pairs, Pairs)] for several in seen]
        if not reason:
            if any(pairs.has_remainder for pairs in flat(every)):
                self.note(
                    f"{self.names.component(series.module)}: its mask leaves small weights, as log(mask + 1e-10) does: "
                    "pairs above 1e-30 of the largest weight count as attended"
                )
            if all(pairs.is_full() for pairs in flat(every)):
                return Attended()
            reason, parts, known = self.looked_at(sizes, every)
        if not reason:
            found = iter(known)
            counts = [None if place in lost else next(found) for place in range(len(series.seen))]
            if parts and all(mask == Mask.bidirectional() for _, _, mask in parts):
                return Attended()
            if parts:  # single rows have shown that the mask holds at the longest length too
                counts = [
                    count if count is not None or place in lost else count_of_parts(parts, series.seen[place])
                    for place, count in enumerate(counts)
                ]
            if parts or any(count is not None for count in counts):
                return Attended(parts, counts)
            reason = "match no known mask"
        if not is_square:
            counts = [count_under(chosen, several) for several in series.seen]
            if None not in counts:
                return Attended(counts=counts)
            if chosen is not None and series.first.kind == "operator":
                return Attended()  # FLOPs of a formula that are none per pair
        raise Error(
            series.module or "model",
            f"has an attention mask whose values {reason} ({series.first.op}): pass masks={{'{series.module or '*'}': "
            f"floptally.Mask.causal()}}, another mask of floptally.Mask, or one that Mask.from_callable creates",
        )

    def looked_at(self, sizes: Sequence[Size], seen: Sequence[Sequence[Pairs]]) -> Looked:
        """Reads the attended pairs of an attention core at each input size. Returns (reason, masks of the heads,
        (attended pairs, all pairs) at each size). The reason says why the pairs cannot be counted; it is empty if they
        can. Results are cached, since the layers of a model often attend the same pairs."""
        key = tuple(id(pairs) for pairs in flat(seen))
        if key not in self.looked:
            reason = odd(sizes, seen)
            parts = [] if reason else self.by_head(sizes, seen)
            self.looked[key] = reason, parts, [] if reason else [count_of(several) for several in seen]
        return self.looked[key]

    def of_decisions(self, one: Series) -> Attended:
        """Returns the pairs of a product whose result a mask is made from, such as the scores of an indexer. These are
        the pairs among which the mask chooses. The masks that the caller passed do not apply to this product."""
        seen = [[pairs for pairs in several if isinstance(pairs, Pairs)] for several in one.seen]
        places = [place for place, several in enumerate(one.seen) if not is_unseen(several)]
        sizes, every = [self.sizes[place] for place in places], [seen[place] for place in places]
        if all(pairs.is_full() for pairs in flat(every)) or odd(sizes, every):
            return Attended()
        counts = [count_of(several) if place in places else None for place, several in enumerate(seen)]
        return Attended(self.by_head(sizes, every), counts)

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def by_head(self, sizes: Sequence[Size], seen: Sequence[Sequence[Pairs]]) -> list[tuple[int, int, Mask]]:
        """Groups the heads of an attention core by their attended pairs. Returns (number of heads in the group, number
        of all heads, mask) for each group. Empty if the pairs of some head fit no mask."""
        if any(len(several) != 1 for several in seen):
            return []
        heads = [heads_of(several[0], size[0]) for several, size in zip(seen, sizes)]
        if any(one is None or len(one) != len(heads[0] or ()) for one in heads):
            if any(len(several[0].patterns) > 1 for several in seen):
                return []
            heads = [[0] for _ in seen]
        numbers = Counter(zip(*(one for one in heads if one is not None)))
        parts = []
        for key, number in numbers.items():
            patterns = [as_square(several[0], index) for several, index in zip(seen, key)]
            mask = mask_of_patterns(patterns) or self.table(sizes, patterns)
            if mask is None:
                return []
            parts.append((number, sum(numbers.values()), mask))
        return parts

    def table(self, sizes: Sequence[Size], patterns: Sequence[Pattern]) -> Mask | None:
        """Returns a mask that looks up its number of pairs in a table by sequence length. Use it for attended pairs
        that fit no known mask. Returns None unless there is one query and one key for each token."""
        wide = []
        for pattern, size in zip(patterns, sizes):
            if isinstance(pattern, Rows) and pattern.queries * pattern.keys > MOST_ELEMENTS:
                if not pattern.told:
                    continue
                pattern = Rows(DENSE_LENGTH, DENSE_LENGTH, pattern.at)
            elif pattern.shape[0] != size[1] if isinstance(pattern, torch.Tensor) else pattern.queries != size[1]:
                return None
            wide.append(pattern)
        squares = squares_of(wide)
        if not squares:
            return None
        dense = {}
        for square in squares:
            whole = square.pattern.whole() if isinstance(square.pattern, Rows) else square.pattern
            if whole is None:
                return None
            dense[square.length] = whole
        if self.more is not None and self.more():
            raise MoreLengths
        pairs = {length: int(whole.sum()) for length, whole in dense.items()}
        longest = dense[max(dense)]
        if all(torch.equal(longest[:length, :length], whole) for length, whole in dense.items()):
            corners = longest.long().cumsum(0).cumsum(1).diagonal().tolist()
            pairs = dict(enumerate(corners, 1))
        causal = not any(bool(whole.triu(1).any()) for whole in dense.values())
        mask = by_length("pairs", {(length, 0): number for length, number in pairs.items()}, "causal" if causal else "mixed")
        shown = f"1 to {max(pairs)}" if len(pairs) == max(pairs) else ", ".join(map(str, sorted(pairs)))
        self.note(f"{mask.name}: a mask of no known form, whose pairs are known at lengths {shown}")
        return mask

def flat(seen: Iterable[Iterable[Any]]) -> list[Any]:
    return [pairs for several in seen for pairs in several]


def is_unseen(seen: Iterable[Seen]) -> bool:
    """True if some of the attended pairs in a training step could not be computed."""
    for pairs in seen:
        if isinstance(pairs, Unseen):
            return True
        for pattern in pairs.patterns:
            if isinstance(pattern, Rows) and pattern.row(pattern.queries - 1) is None:
                return True
    return False


def odd(sizes: Sequence[Size], seen: Sequence[Sequence[Pairs]]) -> str:
    """Returns the reason why the attended pairs of an attention core cannot be counted: they "depend on data" or
    "differ between the samples of a batch". Empty if they can be counted."""
    by_length: dict[tuple[int, int], tuple[int, Counter[bytes]]] = {}
    for size, several in zip(sizes, seen):
        samples = size[0]
        found: Counter[bytes] = Counter()
        for pairs in several:
            if len(pairs.patterns) > 1:
                names = [content(pattern) for pattern in pairs.patterns]
                found.update(names[index] for index in pairs.of)
            elif not pairs.is_full():
                found[content(pairs.patterns[0])] += len(pairs.of)
        other = by_length.setdefault(size[1:], (samples, found))
        if any(found[key] * other[0] != other[1][key] * samples for key in found | other[1]):
            return "depend on data"
    for size, several in zip(sizes, seen):
        if any(heads_of(pairs, size[0]) is None for pairs in several):
            return "differ between the samples of a batch"
    return ""


def content(pattern: Pattern) -> bytes:
    """Returns a dict key for a pattern of attended (query, key) pairs. Equal patterns have equal keys."""
    if isinstance(pattern, str):
        return pattern.encode()
    if isinstance(pattern, Rows):
        if pattern.queries * pattern.keys > MOST_ELEMENTS:
            return b"rows"
        pattern = pattern.whole()
    return b"" if pattern is None else hashlib.sha256(pattern.contiguous().numpy().tobytes()).digest()


def heads_of(pairs: Pairs, samples: int) -> list[int] | None:
    """Returns, for each attention head, the index of its pattern of attended pairs in `pairs.patterns`. None if the
    samples of a batch have different patterns."""
    if len(pairs.patterns) == 1:
        return [0] * max(len(pairs.of) // samples, 1)
    if len(pairs.of) % samples:
        return None
    numbers = torch.tensor(pairs.of)
    for by_sample in (numbers.view(samples, -1), numbers.view(-1, samples).T):
        if bool((by_sample == by_sample[:1]).all()):
            return by_sample[0].tolist()
    return None


def as_square(pairs: Pairs, number: int) -> Pattern:
    pattern = pairs.patterns[number]
    if not isinstance(pattern, str):
        return pattern
    if pairs.queries * pairs.keys <= MOST_ELEMENTS:
        return torch.ones(pairs.queries, pairs.keys, dtype=torch.bool)
    return Rows(pairs.queries, pairs.keys, lambda _, keys: torch.ones(keys, dtype=torch.bool))


def count_under(mask: Mask | None, several: Sequence[Seen]) -> tuple[int, int] | None:
    """Counts the pairs of an attention core in one training step under a mask that the user passed. Returns (attended
    pairs, all pairs). Returns None if there is no mask, or if the numbers of keys and queries differ."""
    attended = every = 0
    for pairs in several:
        heads = len(pairs.of) if isinstance(pairs, Pairs) else pairs.heads
        if mask is None or pairs.queries != pairs.keys or not heads:
            return None
        attended += heads * mask.pairs(pairs.queries)
        every += heads * pairs.queries * pairs.keys
    return (attended, every) if every else None


def count_of_parts(parts: Sequence[tuple[int, int, Mask]], several: Sequence[Seen]) -> tuple[int, int] | None:
    """Counts the pairs of an attention core in one training step by the masks of its heads. Returns (attended pairs,
    all pairs). Returns None if the numbers of keys and queries differ, or if a mask is a table that lacks this
    length."""
    pairs = several[0] if len(several) == 1 else None
    if not isinstance(pairs, Pairs) or pairs.queries != pairs.keys:
        return None
    try:
        attended = sum(len(pairs.of) * heads // of * mask.pairs(pairs.queries) for heads, of, mask in parts)
    except Error:
        return None
    return attended, pairs.area


def count_of(several: Sequence[Pairs]) -> tuple[int, int] | None:
    attended = [pairs.attended() for pairs in several]
    if not several or any(number is None for number in attended):
        return None
    return sum(number or 0 for number in attended), sum(pairs.area for pairs in several)


TABLES: dict[str, tuple[Mask, dict[tuple[int, int], int]]] = {}


def by_length(what: str, numbers: Mapping[tuple[int, int], int], shape: PairShape = "units") -> Mask:
    """Returns a mask that looks up its number of pairs in a table.

    what: the beginning of the mask's name, "pairs" or "units".
    numbers: the table, {(length, keys): number of pairs}.
    """
    table = dict(numbers)
    text = repr((sorted(table.items()), shape))
    name = f"{what}_by_length_{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    if name not in TABLES:
        TABLES[name] = Mask.from_callable(name, counting(name, table), shape=shape), table
    return TABLES[name][0]


def counting(name: str, table: Mapping[tuple[int, int], int]) -> Callable[[int, int, int], int]:
    def count(length: int, past: int, keys: int) -> int:
        refuse_past(name, length, past)
        found = table.get((length, keys), table.get((length, 0)))
        if found is None:
            known = sorted({one for one, _ in table})
            shown = f"1 to {known[-1]}" if known == list(range(1, len(known) + 1)) else ", ".join(map(str, known))
            raise Error(
                "lengths",
                f"length {length} was not counted by the mask {name}, which has lengths {shown}: pass your lengths to from_torch "
                "as lengths=",
            )
        return found

    return count


def refuse_past(name: str, length: int, past: int) -> None:
    """Raises an error for tokens after cached tokens: from_torch ran whole sequences."""
    if past:
        raise Error(
            "lengths",
            f"{length} tokens after {past} cached tokens cannot be counted by the mask {name}, which was made from whole "
            "sequences: pass whole sequences, without cached tokens",
        )


def by_formula(what: str, terms: Mapping[str, int], divisor: int, least: int, shape: PairShape = "units") -> Mask:
    """Returns a mask whose number of pairs is a polynomial in the sequence length n and the number of keys k.

    terms: {statistic: coefficient} of the polynomial. Its value is divided by `divisor`.
    least: the smallest length that the polynomial was fitted to.
    """
    least = least if min(terms.values()) < 0 else 0  # a sum of positive terms holds from the first token on
    of = {"count": "1", "tokens": "n", "keys": "k", "squares": "n2", "crossed": "nk", "key squares": "k2"}
    of |= {"patches": "n", "patch squares": "n2"}
    text = "".join(f"{number:+d}{of[name]}" for name, number in sorted(terms.items()) if number)
    mark = hashlib.sha256(f"{text}/{divisor}/{least}/{shape}".encode()).hexdigest()[:8]
    name = f"{what}_by_formula_{mark}"

    def count(length: int, past: int, keys: int) -> int:
        values = {"count": 1, "tokens": length, "keys": keys, "squares": length**2, "crossed": length * keys}
        values["key squares"] = keys**2
        values |= {"patches": length, "patch squares": length**2}
        whole, rest = divmod(sum(number * values[key] for key, number in terms.items()), divisor)
        refuse_past(name, length, past)
        if length < least or rest or whole < 0:
            raise Error(
                "lengths",
                f"length {length} cannot be counted by the mask {name}, which was made from lengths of at least {least}: pass "
                "your lengths to from_torch as lengths=",
            )
        return whole

    if name not in FORMULAS:
        FORMULAS[name] = Mask.from_callable(name, count, shape=shape)
    return FORMULAS[name]


FORMULAS: dict[str, Mask] = {}


def common(values: Iterable[int]) -> int:
    return gcd(*values) or 1
