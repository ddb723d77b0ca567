# SPDX-License-Identifier: Apache-2.0
"""Rows of constants that are too large to have: a mask of 131 101 x 131 101, one query at a time.

Such a constant is kept as the operator that made it and its operands. A row of it is the operator on that row of the
operands, down to tensors that are small: positions, comparisons, `tril`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import torch

#: Elements of what is computed whole on the way to a row.
MOST_WHOLE = 1 << 24


class Unknown(Exception):
    """An operator whose rows are not known."""


@dataclass(eq=False)
class Lazy:
    """A constant that is not computed: the operator and its operands, which are tensors or constants like it."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: tuple[int, ...]
    dtype: torch.dtype

    @property
    def name(self) -> str:
        return str(getattr(getattr(self.func, "_overloadpacket", self.func), "__name__", self.func))


Constant = torch.Tensor | Lazy


def row_of(value: Constant, axis: int, at: int) -> torch.Tensor:
    """Number `at` along a negative axis, which stays with the size 1. An axis that broadcasts has one row."""
    if len(value.shape) < -axis or value.shape[axis] == 1:
        return whole(value)
    if isinstance(value, torch.Tensor):
        return value.narrow(axis, at, 1)
    rule = RULES.get(value.name)
    if rule is None and torch.Tag.pointwise in getattr(value.func, "tags", ()):
        rule = pointwise
    if rule is None:
        raise Unknown(value.name)
    return rule(value, axis, at)


def whole(value: Constant) -> torch.Tensor:
    """A constant that is small after all."""
    if isinstance(value, torch.Tensor):
        return value
    if prod(value.shape) > MOST_WHOLE:
        raise Unknown(value.name)
    if value.name in FILLED:
        return torch.full(value.shape, filled_with(value), dtype=value.dtype)
    if value.name.endswith("_"):
        return called(value, lambda one: whole(one).expand(value.shape).clone() if one is value.args[0] else whole(one))
    return called(value, whole)


def called(node: Lazy, operand: Callable[[Constant], torch.Tensor], *changed: Any) -> torch.Tensor:
    """The operator on other operands; `changed` stands in place of the arguments after the first one."""

    def known(value: Any) -> Any:
        if isinstance(value, (torch.Tensor, Lazy)):
            return operand(value)
        if isinstance(value, (list, tuple)):
            return type(value)(known(inner) for inner in value)
        return torch.device("cpu") if isinstance(value, torch.device) else value

    args = tuple(node.args[:1]) + changed if changed else node.args
    made = node.func(*known(tuple(args)), **{key: known(value) for key, value in node.kwargs.items()})
    if not isinstance(made, torch.Tensor):
        raise Unknown(node.name)
    return made


def with_one(node: Lazy, axis: int) -> list[int]:
    shape = list(node.shape)
    shape[axis] = 1
    return shape


def pointwise(node: Lazy, axis: int, at: int) -> torch.Tensor:
    if node.name.endswith("_"):  # writes into the first operand, which may be smaller only here
        shape = with_one(node, axis)
        return called(
            node,
            lambda one: row_of(one, axis, at).expand(shape).clone() if one is node.args[0] else row_of(one, axis, at),
        )
    return called(node, lambda one: row_of(one, axis, at))


def filled_with(node: Lazy) -> Any:
    value = {"zeros": 0, "ones": 1, "new_zeros": 0, "new_ones": 1, "zeros_like": 0, "ones_like": 1, "zero_": 0}.get(
        node.name
    )
    if value is None:
        value = node.args[2] if node.name == "new_full" else node.args[1]
    return whole(value).item() if isinstance(value, (torch.Tensor, Lazy)) else value


def filled(node: Lazy, axis: int, at: int) -> torch.Tensor:
    return torch.full(with_one(node, axis), filled_with(node), dtype=node.dtype)


def expanded(node: Lazy, axis: int, at: int) -> torch.Tensor:
    return row_of(node.args[0], axis, at).expand(with_one(node, axis))


def repeated(node: Lazy, axis: int, at: int) -> torch.Tensor:
    source, times = node.args[0], list(node.args[1])
    size = source.shape[axis] if len(source.shape) >= -axis else 1
    times[axis] = 1
    return row_of(source, axis, at % size).repeat(times)


def unsqueezed(node: Lazy, axis: int, at: int) -> torch.Tensor:
    new, rank = node.args[1] % len(node.shape), len(node.shape)
    place = rank + axis
    return row_of(node.args[0], (place if place < new else place - 1) - (rank - 1), at).unsqueeze(new)


def squeezed(node: Lazy, axis: int, at: int) -> torch.Tensor:
    shape = node.args[0].shape
    dims = node.args[1:] and node.args[1]
    chosen = range(len(shape)) if dims == () else [dims] if isinstance(dims, int) else dims
    dropped = [one % len(shape) for one in chosen if shape[one] == 1]
    kept = [one for one in range(len(shape)) if one not in dropped]
    return row_of(node.args[0], kept[axis] - len(shape), at).squeeze(tuple(dropped))


def permuted(node: Lazy, axis: int, at: int) -> torch.Tensor:
    rank = len(node.shape)
    order = list(range(rank))
    if node.name == "permute":
        order = [one % rank for one in node.args[1]]
    else:
        a, b = (0, 1) if node.name == "t" else node.args[1:3]
        order[a], order[b] = order[b], order[a]
    return row_of(node.args[0], order[axis] - rank, at).permute(order)


def viewed(node: Lazy, axis: int, at: int) -> torch.Tensor:
    shape, place = node.args[0].shape, len(node.shape) + axis
    for i, size in enumerate(shape):
        if size == node.shape[axis] and prod(shape[:i]) == prod(node.shape[:place]):
            return row_of(node.args[0], i - len(shape), at).reshape(with_one(node, axis))
    raise Unknown(node.name)


def sliced(node: Lazy, axis: int, at: int) -> torch.Tensor:
    source, dim, start, _, step = [*node.args, None, None, None, None][:5]
    rank = len(source.shape)
    if (dim or 0) % rank == rank + axis:
        first = start or 0
        first = max(first + source.shape[axis], 0) if first < 0 else first
        return row_of(source, axis, first + at * (step or 1))
    return called(node, lambda one: row_of(one, axis, at))


def selected(node: Lazy, axis: int, at: int) -> torch.Tensor:
    source, dim, number = node.args
    rank = len(source.shape)
    place = len(node.shape) + axis
    return row_of(source, (place if place < dim % rank else place + 1) - rank, at).select(dim, number)


def joined(node: Lazy, axis: int, at: int) -> torch.Tensor:
    pieces, dim = node.args[0], (node.args[1] if len(node.args) > 1 else 0)
    if dim % len(node.shape) != len(node.shape) + axis:
        return called(node, lambda one: row_of(one, axis, at))
    for piece in pieces:
        if at < piece.shape[axis]:
            return row_of(piece, axis, at) if piece.shape[axis] > 1 else whole(piece)
        at -= piece.shape[axis]
    raise Unknown(node.name)


def triangle(node: Lazy, axis: int, at: int) -> torch.Tensor:
    shift = node.args[1] if len(node.args) > 1 else node.kwargs.get("diagonal", 0)
    row = row_of(node.args[0], axis, at)
    rows, columns = torch.arange(node.shape[-2]).view(-1, 1), torch.arange(node.shape[-1]).view(1, -1)
    rows = rows[at : at + 1] if axis == -2 else rows
    columns = columns[:, at : at + 1] if axis == -1 else columns
    kept = columns <= rows + shift if node.name.startswith("tril") else columns >= rows + shift
    return torch.where(kept, row, torch.zeros((), dtype=row.dtype))


def along(node: Lazy, axis: int, at: int) -> torch.Tensor:
    """An operator along another axis."""
    dims = node.args[1]
    rank = len(node.shape)
    if (rank + axis) in [one % rank for one in ([dims] if isinstance(dims, int) else dims)]:
        raise Unknown(node.name)
    return called(node, lambda one: row_of(one, axis, at))


def indexed(node: Lazy, axis: int, at: int) -> torch.Tensor:
    source, indices = node.args[0], list(node.args[1])
    if len(indices) == len(source.shape) and all(one is not None for one in indices):
        return node.func(whole(source), [row_of(one, axis, at) for one in indices])  # type: ignore[no-any-return]
    chosen = [i for i, one in enumerate(indices) if one is not None]
    if len(chosen) != 1:
        raise Unknown(node.name)
    index, first, place = indices[chosen[0]], chosen[0], len(node.shape) + axis
    if first <= place < first + len(index.shape):
        indices[first] = row_of(index, place - first - len(index.shape), at)
        return node.func(whole(source), indices)  # type: ignore[no-any-return]
    inner = place if place < first else place - len(index.shape) + 1
    indices[first] = whole(index)
    return node.func(row_of(source, inner - len(source.shape), at), indices)  # type: ignore[no-any-return]


def looked_up(node: Lazy, axis: int, at: int) -> torch.Tensor:
    if axis == -1:
        raise Unknown(node.name)
    return whole(node.args[0])[row_of(node.args[1], axis + 1, at)]


def multiplied(node: Lazy, axis: int, at: int) -> torch.Tensor:
    a, b = node.args[:2]
    if axis == -2:
        return node.func(row_of(a, -2, at), whole(b))  # type: ignore[no-any-return]
    if axis == -1:
        return node.func(whole(a), row_of(b, -1, at))  # type: ignore[no-any-return]
    raise Unknown(node.name)


FILLED = tuple("full zeros ones new_full new_zeros new_ones full_like zeros_like ones_like fill_ zero_".split())

RULES: dict[str, Callable[[Lazy, int, int], torch.Tensor]] = {
    **dict.fromkeys(FILLED, filled),
    **dict.fromkeys("_to_copy clone detach alias lift_fresh copy_ masked_fill masked_fill_ where".split(), pointwise),
    **dict.fromkeys("view _unsafe_view reshape".split(), viewed),
    **dict.fromkeys("transpose t permute".split(), permuted),
    **dict.fromkeys("tril tril_ triu triu_".split(), triangle),
    **dict.fromkeys("cumsum cumprod flip _softmax".split(), along),
    **dict.fromkeys("mm bmm".split(), multiplied),
    "expand": expanded,
    "repeat": repeated,
    "unsqueeze": unsqueezed,
    "squeeze": squeezed,
    "slice": sliced,
    "select": selected,
    "cat": joined,
    "index": indexed,
    "embedding": looked_up,
}
