# SPDX-License-Identifier: Apache-2.0
"""What an attention core attends, by the values that were added to its scores; see _torch_trace.py.

A mask is made of constants: positions, comparisons, `tril`. Such tensors depend on no data and no parameter, so that
their values can be computed beside the fake tensors that stand for them. Where one meets scores, what it leaves alive is
the pattern; patterns at several lengths tell the mask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily

from ._core import Mask

if TYPE_CHECKING:
    from ._torch_trace import Product

#: Elements of a constant whose values are computed: a mask of 2048 x 2048.
MOST_ELEMENTS = 1 << 22
#: What is added to a score in order that nothing is left of it: -inf, the smallest number of a type, -10000.
DEAD = -1e3

FULL, CAUSAL = "full", "causal"
#: "full", "causal", [queries, keys] of what is attended, or None: its values are not known.
Pattern = Any


@dataclass
class Scores:
    """What a tensor says about the pairs of a core: it is QK^T, or a bias of it, or what a softmax made of it."""

    products: list[Product] = field(default_factory=list)
    pattern: Pattern = FULL


class Constants:
    """The values of tensors that depend on no data and no parameter."""

    def __init__(self, real: bool, is_constant: Callable[[torch.Tensor], bool]) -> None:
        self.real = real
        self.is_constant = is_constant
        self.patterns: dict[Any, tuple[torch.Tensor, Pattern]] = {}  # with the values, whose storage is their name
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

    def alive(self, one: torch.Tensor, dead: Callable[[torch.Tensor], torch.Tensor]) -> Pattern:
        """The pattern of a constant that meets scores. Every layer asks about a view of the same mask."""
        value = self.of(one)
        if value is None:
            return None
        place = value.untyped_storage()._cdata, value.storage_offset(), value.stride(), value.shape, value.dtype
        key = (*place, value._version, dead)
        if key not in self.patterns:
            self.patterns[key] = value, alive_of(value, dead)
        return self.patterns[key][1]

    def computed(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], inputs: list[torch.Tensor]) -> Any:
        """What an operator gives for constants, or None where they are none."""
        values = {id(one): self.of(one) for one in inputs}
        if self.real or any(value is None for value in values.values()):
            return None
        if torch.Tag.nondeterministic_seeded in getattr(func, "tags", ()):
            return None
        if isinstance(func, torch._ops.HigherOrderOperator):
            return None

        def known(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return values[id(value)]
            if isinstance(value, (list, tuple)):
                return type(value)(known(inner) for inner in value)
            return torch.device("cpu") if isinstance(value, torch.device) else value

        try:
            with unset_fake_temporarily():
                return func(*known(tuple(args)), **{key: known(value) for key, value in kwargs.items()})
        except Exception:  # what has no value is asked for
            return None

    def remember(self, out: Any, value: Any) -> None:
        """Gives the tensors of an output their values."""
        for one, known in zip(tensors(out), tensors(value)):
            if isinstance(one, FakeTensor) and known.numel() <= MOST_ELEMENTS:
                one._floptally_value = known  # type: ignore[attr-defined]

    def spoil(self, written: torch.Tensor) -> None:
        value = getattr(written, "_floptally_value", None)
        if value is not None:
            storage = value.untyped_storage()
            self.spoiled[storage._cdata] = storage


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


def both(a: Pattern, b: Pattern) -> Pattern:
    """What two patterns leave alive."""
    if a is None or b is None:
        return None
    if isinstance(a, str) and a == FULL:
        return b
    if isinstance(b, str) and b == FULL:
        return a
    if isinstance(a, str) or isinstance(b, str):
        return a if isinstance(a, str) and isinstance(b, str) else None
    try:
        return a & b
    except RuntimeError:
        return None


def pattern_in(pattern: Pattern, shape: Sequence[int], name: str) -> Pattern:
    """The pattern of a tensor after an operator that may have changed its shape."""
    if pattern is None or isinstance(pattern, str) or len(shape) < 2:
        return pattern if pattern is None or isinstance(pattern, str) else None
    rows, columns = shape[-2], shape[-1]
    if pattern.shape[0] in (1, rows) and pattern.shape[1] in (1, columns):
        return pattern
    if name == "cat" and columns > pattern.shape[1] > 1:  # a sink: a column that every query sees
        return torch.nn.functional.pad(pattern, (0, columns - pattern.shape[1]), value=True)
    if name == "slice" and pattern.shape[1] > columns:
        return pattern[:, :columns]
    return pattern.T if tuple(pattern.T.shape) == (rows, columns) else None


def is_dead(value: torch.Tensor) -> torch.Tensor:
    """Of what is added to scores; a mask of bools says what is attended."""
    return ~value if value.dtype is torch.bool else value < DEAD


def is_zero(value: torch.Tensor) -> torch.Tensor:
    return value == 0


def is_true(value: torch.Tensor) -> torch.Tensor:
    return value.bool()


def is_false(value: torch.Tensor) -> torch.Tensor:
    return ~value.bool()


def pattern_of_function(function: Any, queries: int, keys: int) -> Pattern:
    """The pattern of a mask_mod of flex attention."""
    if queries * keys > MOST_ELEMENTS:
        return None
    try:
        with unset_fake_temporarily():
            q, k = torch.arange(queries).view(-1, 1), torch.arange(keys).view(1, -1)
            zero = torch.zeros((), dtype=torch.long)
            found = torch.as_tensor(function(zero, zero, q, k))
            return alive_of(found.expand(queries, keys), is_false)
    except Exception:  # it looks at tensors that have no values
        return None


# Masks.


def grid(length: int) -> tuple[torch.Tensor, torch.Tensor]:
    places = torch.arange(length)
    return places.view(-1, 1), places.view(1, -1)


def forms_of(pattern: torch.Tensor) -> Iterator[tuple[Mask, Callable[[int], torch.Tensor]]]:
    """Masks that a square pattern may be, each with what it would be at another length."""
    length = pattern.shape[0]
    i, j = grid(length)
    left, right = int((i - j)[pattern].max()), int((j - i)[pattern].max())
    left, right = (-1 if left >= length - 1 else left), (-1 if right >= length - 1 else right)

    def band(n: int) -> torch.Tensor:
        q, k = grid(n)
        return ((left < 0) | (q - k <= left)) & ((right < 0) | (k - q <= right))

    if left < 0 and right == 0:
        yield Mask.causal(), band
    elif left >= 0 and right == 0:
        yield Mask.sliding_window(left + 1), band
    elif left >= 0 or right >= 0:
        yield Mask.window(left, right), band
    chunk = int(pattern[:, 0].sum())
    yield Mask.chunked(max(chunk, 1)), lambda n: (grid(n)[1] <= grid(n)[0]) & (
        grid(n)[0] // max(chunk, 1) == grid(n)[1] // max(chunk, 1)
    )
    prefix = int(pattern[0].sum())
    if prefix > 1:
        yield Mask.prefix_lm(prefix), lambda n: (grid(n)[1] <= grid(n)[0]) | (grid(n)[1] < prefix)


def mask_of_patterns(patterns: Sequence[Pattern], said: Mask | None) -> Mask | None:
    """The mask that has these patterns at as many lengths; `said`, by a model's own words, if it has as many pairs."""
    if any(pattern is None for pattern in patterns):
        return None
    squares = [pattern for pattern in patterns if not isinstance(pattern, str)]
    names = {pattern for pattern in patterns if isinstance(pattern, str)}
    if not squares:
        plain = Mask.causal() if names == {CAUSAL} else Mask.bidirectional() if names == {FULL} else None
        own = said is not None and said.name.startswith("sliding_window") and names == {CAUSAL}
        return said if own else plain
    cut = []
    for one in squares:
        extra = one.shape[1] - one.shape[0]
        if extra > 0 and bool(one[:, :extra].all()):
            one = one[:, extra:]  # keys of no query, which all see: a prefix
        elif extra > 0 and bool(one[:, -extra:].all()):
            one = one[:, :-extra]  # or a sink
        if one.shape[0] == 1 and one.shape[1] > 1:
            return None  # keys that no query sees: padding
        if one.shape[0] != one.shape[1] or not bool(one.any()):
            return None
        cut.append(one)
    if said is not None and all(said.pairs(one.shape[0]) == int(one.sum()) for one in cut):
        return said
    longest = max(cut, key=lambda one: one.shape[0])
    for turned in (longest, longest.T):
        for mask, at in forms_of(turned):
            if names <= ({CAUSAL} if bool((at(8) == grid(8)[0].ge(grid(8)[1])).all()) else {FULL}) and all(
                torch.equal(at(one.shape[0]), one if turned is longest else one.T) for one in cut
            ):
                return mask
    return None
