# SPDX-License-Identifier: Apache-2.0
"""The masks of attention cores, by the values that were added to its scores; see _torch_trace.py.

A mask is made of constants: positions, comparisons, `tril`. Such tensors depend on no data and no parameter, so that
their values can be computed beside the fake tensors that stand for them. Where one meets scores, what it leaves alive
is the pattern; patterns at several lengths tell the mask. At a length where a mask is too large to have, rows of it
are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.overrides import TorchFunctionMode

from ._core import Mask
from ._torch_lazy import Constant, Lazy, Unknown, row_of, whole

if TYPE_CHECKING:
    from ._torch_trace import Product

#: Elements of a constant whose values are computed: a mask of 2048 x 2048.
MOST_ELEMENTS = 1 << 22
#: A number that is added to a score in order that little is left of it: -10000, or a bias of a distance.
DEAD = -1e3
#: And in order that nothing is: -inf, the smallest number of a type, a part of it.
SURELY_DEAD = -1e30
FURTHEST = 1 << 20  #: where functions of masks are asked that hold at any length

FULL, CAUSAL = "full", "causal"
#: "full", "causal", [queries, keys] of what is attended, `Rows`, or None: its values are not known.
Pattern = Any
#: From queries [rows, 1] and keys [1, keys] to what is attended.
Rule = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(eq=False)
class Rows:
    """The keys that some queries attend, at a length where not all of them can be asked."""

    queries: int
    keys: int
    at: Callable[[int, int], torch.Tensor | None]  #: a query and the number of keys to [keys]; None: unknown
    told: bool = False  #: by a kernel's argument, or a function that was given to it: it holds at any length
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


@dataclass
class Scores:
    """The knowledge of a tensor about the pairs of a core: it is QK^T, or a bias of it, or what a softmax made of it."""

    products: list[Product] = field(default_factory=list)
    pattern: Pattern = FULL


class Constants:
    """The values of tensors that depend on no data and no parameter."""

    def __init__(self, real: bool, is_constant: Callable[[torch.Tensor], bool]) -> None:
        self.real = real
        self.is_constant = is_constant
        self.patterns: dict[Any, tuple[Any, Pattern]] = {}  # with the values, whose storage is their name
        self.spoiled: dict[int, Any] = {}  # storages whose values something unknown was written into, kept alive

    def of(self, one: torch.Tensor) -> torch.Tensor | None:
        if self.real or not isinstance(one, FakeTensor):
            usable = self.is_constant(one) and not one.is_meta and not one.requires_grad
            return one if usable and one.numel() <= MOST_ELEMENTS else None
        value = getattr(one, "_floptally_value", None)
        if value is None or value.untyped_storage()._cdata in self.spoiled:
            return None
        assert isinstance(value, torch.Tensor)
        return value

    def known(self, one: torch.Tensor) -> Constant | None:
        """The values of a constant, or how it was made."""
        value = self.of(one)
        if value is None and not self.real and isinstance(one, FakeTensor):
            lazy = getattr(one, "_floptally_lazy", None)
            if lazy is not None and one.untyped_storage()._cdata not in self.spoiled:
                assert isinstance(lazy, Lazy)
                return lazy
        return value

    def alive(self, one: torch.Tensor, dead: Callable[[torch.Tensor], torch.Tensor]) -> Pattern:
        """The pattern of a constant that meets scores. Every layer asks about a view of the same mask."""
        value = self.known(one)
        if value is None:
            return None
        if isinstance(value, Lazy):
            key: tuple[Any, ...] = id(value), dead
            if key not in self.patterns:
                self.patterns[key] = value, rows_alive(value, dead)
            return self.patterns[key][1]
        place = value.untyped_storage()._cdata, value.storage_offset(), value.stride(), value.shape, value.dtype
        key = (*place, value._version, dead)
        if key not in self.patterns:
            self.patterns[key] = value, alive_of(value, dead)
        return self.patterns[key][1]

    def all_are(self, one: torch.Tensor, test: Callable[[torch.Tensor], torch.Tensor]) -> bool:
        """True where all values of a constant are such; of one that is too large, those of some rows."""
        value = self.known(one)
        if value is None or 0 in value.shape:
            return False
        if isinstance(value, torch.Tensor):
            return bool(test(value).all())
        try:
            return all(bool(test(row_of(value, -2, at)).all()) for at in places(value.shape[-2])[-3:])
        except (Unknown, RuntimeError, IndexError):
            return False

    def computed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[torch.Tensor]) -> Any:
        """The result of an operator for constants, or None where they are none."""
        if self.real or torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
            return None
        if isinstance(func, torch._ops.HigherOrderOperator):
            return None
        values = {id(one): self.of(one) for one in inputs}
        if any(value is None for value in values.values()):
            return None
        try:
            with unset_fake_temporarily():
                known = replaced(tuple(args), values), replaced(kwargs, values)
                return func(*known[0], **known[1])
        except Exception:  # what has no value is asked for
            return None

    def made_by(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[torch.Tensor]) -> Any:
        """Constants that are too large to compute: the operator and its operands; None where they are none."""
        if self.real or torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
            return None
        if isinstance(func, torch._ops.HigherOrderOperator):
            return None
        values = {id(one): self.known(one) for one in inputs}
        if fills(func):  # the values of its operand do not matter
            values = {id(one): torch.zeros(()) if values[id(one)] is None else values[id(one)] for one in inputs}
        if any(value is None for value in values.values()):
            return None
        return func, replaced(tuple(args), values), replaced(kwargs, values)

    def remember(self, out: Any, value: Any) -> None:
        """Gives the tensors of an output their values."""
        for one, known in zip(tensors(out), tensors(value)):
            if isinstance(one, FakeTensor) and known.numel() <= MOST_ELEMENTS:
                one._floptally_value = known  # type: ignore[attr-defined]

    def remember_how(self, out: Any, made: tuple[Any, tuple[Any, ...], dict[str, Any]]) -> None:
        if isinstance(out, FakeTensor):
            out._floptally_lazy = Lazy(*made, tuple(out.shape), out.dtype)  # type: ignore[attr-defined]

    def spoil(self, written: torch.Tensor) -> None:
        value = getattr(written, "_floptally_value", None)
        storages = [value.untyped_storage()] if value is not None else []
        if isinstance(written, FakeTensor):
            storages.append(written.untyped_storage())
        for storage in storages:
            self.spoiled[storage._cdata] = storage


#: Words of a note where it decided.
FINITE = "numbers are taken as finite"
RANDOM = "a random number is taken as its mean, 0.5"
EXAMPLE = "integers of the inputs are those of the example"
#: Tests of numbers for not being finite, and what they say of finite ones.
TESTS = {"isfinite": True, "isnan": False, "isinf": False, "isposinf": False, "isneginf": False}
#: Operators on what is supposed of all elements of a tensor, of which one element says as much.
OF_ONE = frozenset(
    "eq ne lt le gt ge mul logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not all any "
    "_to_copy clone detach lift_fresh view _unsafe_view alias squeeze unsqueeze expand _local_scalar_dense "
    "is_nonzero".split()
)


class Supposed:
    """Suppositions that decide what runs where only data could: that numbers are finite, that a random number is its mean, and the
    integers of the example. It decides what runs, never what is attended."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants

    def of(self, one: torch.Tensor) -> torch.Tensor | None:
        known = self.constants.of(one)
        if known is not None:
            return known
        found = getattr(one, "_floptally_supposed", None)
        return found[0] if found is not None else None

    @staticmethod
    def why(inputs: Iterable[torch.Tensor]) -> frozenset[str]:
        found = [getattr(one, "_floptally_supposed", None) for one in inputs]
        return frozenset[str]().union(*(one[1] for one in found if one is not None))

    def remember(self, out: Any, value: Any, inputs: Iterable[torch.Tensor]) -> None:
        why = self.why(inputs)
        for one, known in zip(tensors(out), tensors(value)):
            if known.numel() <= MOST_ELEMENTS:
                one._floptally_supposed = known, why  # type: ignore[attr-defined]

    def computed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[torch.Tensor]) -> Any:
        """The result of an operator for what is supposed, or None where nothing is."""
        if self.constants.real or not any(hasattr(one, "_floptally_supposed") for one in inputs):
            return None
        if isinstance(func, torch._ops.HigherOrderOperator) or getattr(func._schema, "is_mutable", True):
            return None
        values = {id(one): self.of(one) for one in inputs}
        if any(value is None for value in values.values()):
            return None
        same = all(value.shape == one.shape for one in inputs if (value := values[id(one)]) is not None)
        if not same and func._overloadpacket.__name__ not in OF_ONE:
            return None
        try:
            with unset_fake_temporarily():
                return func(*replaced(tuple(args), values), **replaced(kwargs, values))
        except Exception:
            return None

    def after(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[torch.Tensor], out: Any
    ) -> None:
        """The supposition about an operator's output."""
        if self.constants.real or not isinstance(out, (torch.Tensor, list, tuple)):
            return
        name = str(getattr(getattr(func, "_overloadpacket", None), "__name__", ""))
        if isinstance(out, FakeTensor) and not any(hasattr(one, "_floptally_supposed") for one in inputs):
            is_finite = TESTS.get(name)
            if name in ("eq", "ne") and len(args) == 2 and self.constants.known(args[0]) is None:
                of_limit = isinstance(args[1], float) and math.isinf(args[1])
                if args[0] is args[1] or of_limit:
                    is_finite = (name == "eq") == (args[0] is args[1])
            with unset_fake_temporarily():
                if is_finite is not None and inputs[0].is_floating_point() and self.constants.known(inputs[0]) is None:
                    made = torch.tensor(is_finite), frozenset((FINITE,))
                    out._floptally_supposed = made  # type: ignore[attr-defined]
                elif name in ("rand", "rand_like") and out.numel() == 1:
                    made = torch.full(tuple(out.shape), 0.5, dtype=out.dtype), frozenset((RANDOM,))
                    out._floptally_supposed = made  # type: ignore[attr-defined]
            return
        value = self.computed(func, args, kwargs, inputs)
        if value is not None:
            self.remember(out, value, inputs)


def fills(func: Any) -> bool:
    return str(getattr(getattr(func, "_overloadpacket", None), "__name__", "")) in (
        "full_like",
        "zeros_like",
        "ones_like",
        "new_full",
        "new_zeros",
        "new_ones",
    )


def replaced(value: Any, values: dict[int, Any]) -> Any:
    """Arguments with the values of their tensors."""
    if isinstance(value, torch.Tensor):
        return values[id(value)]
    if isinstance(value, dict):
        return {key: replaced(inner, values) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(inner, values) for inner in value)
    return torch.device("cpu") if isinstance(value, torch.device) else value


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors(inner)


# Patterns.


def alive_of(value: torch.Tensor, dead: Callable[[torch.Tensor], torch.Tensor]) -> Pattern:
    """The pattern [queries or 1, keys or 1] of a constant that meets scores; None where heads or samples differ."""
    if value.dim() < 1 or value.numel() <= 1:
        return FULL
    alive = ~dead(value)
    if bool(alive.all()):
        return FULL
    alive = alive.reshape(1, -1) if alive.dim() == 1 else alive
    flat = alive.flatten(0, -3) if alive.dim() > 2 else alive.unsqueeze(0)
    return flat[0].clone() if bool((flat == flat[0]).all()) else None


def rows_alive(value: Lazy, dead: Callable[[torch.Tensor], torch.Tensor]) -> Pattern:
    if len(value.shape) < 2:
        return None
    queries, keys = value.shape[-2:]
    others: list[torch.Tensor] = []

    def at(query: int, _: int) -> torch.Tensor | None:
        try:
            row = row_of(value, -2, query)
            row = row.expand(*row.shape[:-1], keys)
            if row.is_floating_point():  # how it goes on is seen better where more of it is
                if not others:
                    others.append(row_of(value, -2, queries - 1).expand(row.shape))
                found = alive_of(~dead(torch.cat((row, others[0]), -2))[..., :1, :], is_false)
            else:
                found = alive_of(row, dead)
        except (Unknown, RuntimeError, IndexError):
            return None
        if found is None:
            return None
        return torch.ones(keys, dtype=torch.bool) if isinstance(found, str) else found.reshape(-1)

    return Rows(queries, keys, at)


def rows_of(pattern: Pattern, queries: int, keys: int) -> Rows:
    """Any pattern by rows."""
    if isinstance(pattern, Rows):
        return pattern
    if isinstance(pattern, str):
        full = pattern == FULL
        return Rows(queries, keys, lambda q, n: torch.arange(n) <= (n if full else q), True)
    return Rows(queries, keys, lambda q, n: pattern[q if pattern.shape[0] > 1 else 0].expand(n))


def both(a: Pattern, b: Pattern) -> Pattern:
    """The pairs that two patterns leave alive."""
    if a is None or b is None:
        return None
    if isinstance(a, str) and a == FULL:
        return b
    if isinstance(b, str) and b == FULL:
        return a
    if isinstance(a, str) and isinstance(b, str):
        return a
    if not isinstance(a, Rows) and not isinstance(b, Rows):
        queries, keys = (b if isinstance(a, str) else a).shape
        first, second = (rows_of(one, queries, keys).whole() if isinstance(one, str) else one for one in (a, b))
        try:
            return None if first is None or second is None else first & second
        except RuntimeError:
            return None
    if a is b:
        return a
    shape = a if isinstance(a, Rows) else b
    left, right = rows_of(a, shape.queries, shape.keys), rows_of(b, shape.queries, shape.keys)
    if (left.queries, left.keys) != (right.queries, right.keys):
        return None

    def at(query: int, keys: int) -> torch.Tensor | None:
        rows = left.row(query, keys), right.row(query, keys)
        return None if rows[0] is None or rows[1] is None else rows[0] & rows[1]

    return Rows(shape.queries, shape.keys, at, left.told and right.told)


def pattern_in(pattern: Pattern, shape: Sequence[int], name: str) -> Pattern:
    """The pattern of a tensor after an operator that may have changed its shape."""
    if pattern is None or isinstance(pattern, str) or len(shape) < 2:
        return pattern if pattern is None or isinstance(pattern, str) else None
    rows, columns = shape[-2], shape[-1]
    if isinstance(pattern, Rows):
        before = pattern
        if before.queries in (1, rows) and before.keys in (1, columns):
            return before
        if before.queries != rows or name not in ("cat", "slice"):
            return None

        def at(query: int, keys: int) -> torch.Tensor | None:
            row = before.row(query)
            if row is None or len(row) >= columns:
                return None if row is None else row[:columns]
            return torch.nn.functional.pad(row, (0, columns - len(row)), value=True)

        return Rows(rows, columns, at)
    if pattern.shape[0] in (1, rows) and pattern.shape[1] in (1, columns):
        return pattern
    if name == "cat" and columns > pattern.shape[1] > 1:  # a sink: a column that every query sees
        return torch.nn.functional.pad(pattern, (0, columns - pattern.shape[1]), value=True)
    if name == "slice" and pattern.shape[1] > columns:
        return pattern[:, :columns]
    return pattern.T if tuple(pattern.T.shape) == (rows, columns) else None


def triangle(name: str, shift: int, queries: int, keys: int) -> Pattern:
    """The pairs that `tril` or `triu` leaves of scores."""

    def at(query: int, n: int) -> torch.Tensor:
        column = torch.arange(n)
        return column <= query + shift if name.startswith("tril") else column >= query + shift

    found = Rows(queries, keys, at)
    return found if queries * keys > MOST_ELEMENTS else found.whole()


# Values of masks, along the last axis a row of keys.


def is_dead(value: torch.Tensor) -> torch.Tensor:
    """The pairs of what is added to scores; a mask of bools says what is attended. A bias that grows with the distance is no
    mask, however strong: at its edge it goes on as it went."""
    if value.dtype is torch.bool:
        return ~value
    dead = value < DEAD
    surely = value <= SURELY_DEAD
    rest = dead & ~surely
    if not value.is_floating_point() or value.shape[-1] < 2 or not bool(rest.any()):
        return dead
    flat = value.double().reshape(-1, value.shape[-1])
    dead, surely, rest = (one.reshape(flat.shape) for one in (dead, surely, rest))

    def edges(x: torch.Tensor, rest: torch.Tensor, alive: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """True where the first element of a run, seen from the left, is no continuation of what stands around it,
        and whether it is one. It is neither where nothing else stands around it."""
        step = (x[:, 1:] - x[:, :-1]).abs()
        edge = alive[:, :-1] & rest[:, 1:]
        inside = torch.nn.functional.pad(rest[:, 2:], (0, 1), value=False)
        outside = torch.nn.functional.pad(alive[:, :-2], (1, 0), value=False)
        after = torch.nn.functional.pad(step[:, 1:], (0, 1))
        before = torch.nn.functional.pad(step[:, :-1], (1, 0))
        around = torch.where(inside, after, torch.where(outside, before, step))
        far = step >= 0.1 * x[:, 1:].abs()
        known = inside | outside | ~far
        hard, soft = torch.zeros_like(rest), torch.zeros_like(rest)
        hard[:, 1:] = edge & known & far & (around < 0.5 * step)
        soft[:, 1:] = edge & known & ~hard[:, 1:]
        return hard, soft

    hard, soft = edges(flat, rest, ~dead)
    turned = edges(flat.flip(-1), rest.flip(-1), ~dead.flip(-1))
    hard, soft = hard | turned[0].flip(-1), soft | turned[1].flip(-1)
    if not bool(soft.any()):
        return (surely | rest).reshape(value.shape)
    unsure = torch.zeros_like(rest)
    unsure[:, 1:] |= ~dead[:, :-1] & rest[:, 1:]
    unsure[:, :-1] |= ~dead[:, 1:] & rest[:, :-1]
    return (surely | of_runs(rest, hard, soft | unsure)).reshape(value.shape)


def is_zero(value: torch.Tensor) -> torch.Tensor:
    """The pairs of what is multiplied with scores. What decays with the distance until its type has no number left is no mask."""
    zero = value == 0
    if not value.is_floating_point() or value.shape[-1] < 3 or not bool(zero.any()):
        return zero
    kind = torch.finfo(value.dtype)
    least = 4 * kind.smallest_normal * kind.eps if value.dtype is torch.float16 else kind.smallest_normal
    flat, zeros = value.double().abs().reshape(-1, value.shape[-1]), zero.reshape(-1, value.shape[-1])

    def edges(x: torch.Tensor, zeros: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """True where what is before the first zero of a run was near 0."""
        edge = ~zeros[:, :-1] & zeros[:, 1:]
        last, before = x[:, :-1], torch.nn.functional.pad(x[:, :-2], (1, 0))
        ratio = torch.where(before > 0, last / before.clamp(min=1e-300), torch.ones_like(last)).clamp(max=1)
        gone = last * ratio < least
        near, far = torch.zeros_like(zeros), torch.zeros_like(zeros)
        near[:, 1:], far[:, 1:] = edge & gone, edge & ~gone
        return near, far

    near, far = edges(flat, zeros)
    if bool(near.any()) or bool(edges(flat.flip(-1), zeros.flip(-1))[0].any()):
        turned = edges(flat.flip(-1), zeros.flip(-1))
        near, far = near | turned[0].flip(-1), far | turned[1].flip(-1)
        return of_runs(zeros, far, near).reshape(value.shape)
    return zero


def of_runs(inside: torch.Tensor, hard: torch.Tensor, soft: torch.Tensor) -> torch.Tensor:
    """Elements of the runs in rows that have a hard edge, or no soft one."""
    starts = inside.clone()
    starts[:, 1:] &= ~inside[:, :-1]
    number = starts.flatten().cumsum(0).view(inside.shape)
    found = torch.zeros(2, int(number[-1, -1]) + 1, dtype=torch.bool)
    found[0, number[hard]] = True
    found[1, number[soft]] = True
    return inside & (found[0] | ~found[1])[number]


def is_true(value: torch.Tensor) -> torch.Tensor:
    return value.bool()


def is_false(value: torch.Tensor) -> torch.Tensor:
    return ~value.bool()


# Arguments of a kernel.


class Valued(TorchFunctionMode):
    """Fake tensors of which the values are known are those values."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def known(value: Any) -> Any:
            if isinstance(value, FakeTensor):
                return getattr(value, "_floptally_value", value)
            if isinstance(value, (list, tuple)):
                return type(value)(known(inner) for inner in value)
            return value

        return func(*known(tuple(args)), **{key: known(value) for key, value in (kwargs or {}).items()})


def pattern_of_function(
    function: Any, queries: int, keys: int, heads: int = 1, dead: Callable[[torch.Tensor], torch.Tensor] = is_false
) -> Pattern:
    """The pattern of a mask_mod of flex attention. Of several heads it must be one."""

    def asked(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor | None:
        try:
            with unset_fake_temporarily(), Valued():
                rows = []
                for head in sorted({0, 1 % heads, heads // 2, heads - 1}):
                    h = torch.full((), head, dtype=torch.long)
                    found = torch.as_tensor(function(torch.zeros((), dtype=torch.long), h, q, k))
                    rows.append(~dead(found.expand(len(q), k.shape[1])))
                return rows[0] if all(torch.equal(one, rows[0]) for one in rows) else None
        except Exception:  # it looks at tensors that have no values
            return None

    def at(query: int, n: int) -> torch.Tensor | None:
        found = asked(torch.full((1, 1), query), torch.arange(n).view(1, -1))
        return None if found is None else found[0]

    if queries * keys > MOST_ELEMENTS:
        return Rows(queries, keys, at, True)
    found = asked(torch.arange(queries).view(-1, 1), torch.arange(keys).view(1, -1))
    if found is None:
        return None
    made = Rows(queries, keys, at, True)
    made.known.update({(query, keys): row for query, row in enumerate(found)})
    return made


def pattern_of_window(window: Iterable[int], queries: int, keys: int) -> Pattern:
    left, right = window
    if left < 0 and right < 0:
        return FULL
    if left < 0 and right == 0 and queries == keys:
        return CAUSAL
    return pattern_of_function(
        lambda b, h, q, k: ((left < 0) | (q - k <= left)) & ((right < 0) | (k - q <= right)), queries, keys
    )


# Masks.


def places(length: int) -> list[int]:
    """Queries to ask where not all of them can be: the first ones, ever rarer ones, the last ones."""
    found = {0, 1, 2, 3, length // 3, length // 2, length - 2, length - 1}
    place = 4.0
    while place < length:
        found.add(int(place))
        place *= 1.7
    return sorted(one for one in found if 0 <= one < length)


def rule_of(mask: Mask) -> Rule | None:
    """A mask as a function, by its name."""
    numbers = [int(n) for n in re.findall(r"-?\d+", mask.name.partition("(")[2])]
    kind = mask.name.partition("(")[0]
    if kind == "causal":
        return lambda q, k: k <= q
    if kind == "bidirectional":
        return lambda q, k: (k <= k) & (q <= q)
    if kind == "sliding_window":
        return lambda q, k: (k <= q) & (q - k < numbers[0])
    if kind == "window":
        left, right = numbers
        return lambda q, k: ((left < 0) | (q - k <= left)) & ((right < 0) | (k - q <= right))
    if kind == "chunked":
        return lambda q, k: (k <= q) & (q // numbers[0] == k // numbers[0])
    if kind == "prefix_lm":
        return lambda q, k: (k <= q) | (k < numbers[0])
    return None


def forms_of(rows: Callable[[int], torch.Tensor], length: int) -> Iterator[Mask]:
    """Masks that a square pattern may be, by its rows."""
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
    """A pattern of as many queries as keys, by rows."""

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
    """Rows without the keys that all queries see."""

    def at(query: int, _: int) -> torch.Tensor | None:
        row = rows.row(query)
        return None if row is None else row[cut]

    return Rows(rows.queries, rows.queries, at)


def squares_of(patterns: Iterable[Pattern]) -> list[Square] | None:
    """Without keys that all queries see before or after the others; None where they are no squares."""
    made = []
    for one in patterns:
        if isinstance(one, Rows):
            if one.queries * one.keys <= MOST_ELEMENTS:
                one = one.whole()
                if one is None:
                    return None
            elif one.queries != one.keys:
                extra, rows = one.keys - one.queries, one
                sample = [rows.row(query) for query in places(one.queries)]
                if extra < 0 or any(row is None for row in sample):
                    return None
                ahead = all(bool(row[:extra].all()) for row in sample if row is not None)
                one = cut_rows(rows, slice(extra, None) if ahead else slice(0, one.queries))
        if isinstance(one, torch.Tensor):
            extra = one.shape[1] - one.shape[0]
            if extra > 0 and bool(one[:, :extra].all()):
                one = one[:, extra:]  # keys of no query, which all see: a prefix
            elif extra > 0 and bool(one[:, -extra:].all()):
                one = one[:, :-extra]  # or a sink
            if one.shape[0] != one.shape[1] or not bool(one.any()):
                return None  # keys that no query sees: padding
        made.append(Square(one, one.queries if isinstance(one, Rows) else one.shape[0]))
    return made


def mask_of_patterns(patterns: Sequence[Pattern], said: Mask | None) -> Mask | None:
    """The mask that has these patterns at as many lengths; `said`, by a model's own words, if it has the same pairs."""
    if any(pattern is None for pattern in patterns):
        return None
    names = {pattern for pattern in patterns if isinstance(pattern, str)}
    wide = [pattern for pattern in patterns if not isinstance(pattern, str)]
    if not wide:
        plain = Mask.causal() if names == {CAUSAL} else Mask.bidirectional() if names == {FULL} else None
        own = said is not None and said.name.startswith("sliding_window") and names == {CAUSAL}
        return said if own else plain
    squares = squares_of(wide)
    if not squares:
        return None
    try:
        found = mask_of_squares(squares, names, said)
    except Unknown:
        return None
    told = [one for one in wide if isinstance(one, Rows) and one.told and one.queries == one.keys]
    if found is None or len(told) < len(wide) or not told:
        return found
    return further(max(told, key=lambda one: one.queries), found, squares)


def mask_of_squares(squares: Sequence[Square], names: set[str], said: Mask | None) -> Mask | None:
    def fits(mask: Mask, turned: bool) -> bool:
        rule = rule_of(mask)
        if rule is None:
            return False
        q = torch.arange(8)
        full = bool(rule(q.view(-1, 1), q.view(1, -1)).expand(8, 8).all())
        causal = torch.equal(rule(q.view(-1, 1), q.view(1, -1)).expand(8, 8), q.view(-1, 1) >= q.view(1, -1))
        if not names <= ({FULL} if full else {CAUSAL} if causal else set()):
            return False
        return all(one.is_of(rule, turned) for one in squares)

    if said is not None and fits(said, False):
        return said
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


def further(told: Rows, found: Mask, squares: Sequence[Square]) -> Mask:
    """The mask that a function says where no step ran: a window wider than all that did."""
    rule = rule_of(found)
    # A function that holds at any length may still know the length at which it was made: then it says nothing about others.
    def row(query: int) -> torch.Tensor:
        one = told.row(query, FURTHEST)
        if one is None:
            raise Unknown("row")
        return one

    try:
        if rule is None or not agrees(row, rule, (0, told.queries // 2, told.queries - 1), FURTHEST):
            return found
        if agrees(row, rule, (FURTHEST - 1,), FURTHEST):
            return found
        for mask in forms_of(row, FURTHEST):
            other = rule_of(mask)
            if other is not None and agrees(row, other, places(FURTHEST), FURTHEST):
                if all(one.is_of(other) for one in squares):
                    return mask
    except Unknown:
        pass
    return found
