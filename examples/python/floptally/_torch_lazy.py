# SPDX-License-Identifier: Apache-2.0
"""Computes a few rows of tensors that are too large for memory: a mask of 131 101 x 131 101, some queries at a time.

Such a tensor is kept as the operator that made it, with its operands. Rows of it are the operator applied to those rows
of the operands, down to small tensors: positions, comparisons, `tril`. Scores are 1 in such rows, so that heads and
samples need no copies: an axis in front of the last two may have size 1 in a row.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import torch

from ._torch_weights import decided

#: Largest tensor, in elements, that is computed in full on the way to a row.
MOST_WHOLE = 1 << 24
#: Largest tensor, in elements, that is compared with others by its numbers.
MOST_HASHED = 1 << 18


class Unknown(Exception):
    """Raised if the values of a `Lazy` tensor cannot be computed. The text names the operator that could not be run."""


@dataclass(eq=False)
class Lazy:
    """A constant tensor that is computed only when its values are needed. It keeps an operator and the operands:
    tensors or other `Lazy` constants."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shape: tuple[int, ...]
    dtype: torch.dtype

    @cached_property
    def name(self) -> str:
        return str(getattr(getattr(self.func, "_overloadpacket", self.func), "__name__", self.func))

    @cached_property
    def key(self) -> int:
        """A dict key for this constant. Two constants have the same key if the same operators made them of the same
        numbers, as for the masks of two layers."""
        return hash((self.name, key_of(self.args), key_of(tuple(sorted(self.kwargs.items()))), self.shape))


def key_of(value: Any) -> Any:
    if isinstance(value, Lazy):
        return value.key
    if isinstance(value, torch.Tensor):
        if value.numel() > MOST_HASHED:
            return id(value)
        numbers = value.reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
        return hash((value.shape, value.dtype, numbers))
    if isinstance(value, (list, tuple)):
        return tuple(key_of(inner) for inner in value)
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)


Constant = torch.Tensor | Lazy


@contextlib.contextmanager
def in_double() -> Iterator[None]:
    """Returns a context manager in which operators on integers and Python numbers return float64 instead of float32."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def row_of(value: Constant, axis: int, at: torch.Tensor) -> torch.Tensor:
    """Returns the elements of a tensor or constant at the indices `at` along a negative axis, as index_select does. If
    the axis has only one element (broadcast), returns the whole tensor."""
    if len(value.shape) < -axis or value.shape[axis] == 1:
        return whole(value)
    if isinstance(value, torch.Tensor):
        return as_double(value.index_select(value.dim() + axis, at))
    rule = RULES.get(value.name)
    if rule is None and torch.Tag.pointwise in getattr(value.func, "tags", ()):
        rule = pointwise
    if rule is None:
        raise Unknown(value.name)
    return as_double(rule(value, axis, at))


def as_double(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.double() if tensor.is_floating_point() and tensor.dtype is not torch.float64 else tensor


def whole(value: Constant) -> torch.Tensor:
    """Computes and returns all values of a `Lazy` constant. Raises Unknown if it has more than MOST_WHOLE elements."""
    if isinstance(value, torch.Tensor):
        return as_double(value)
    if prod(value.shape) > MOST_WHOLE:
        raise Unknown(value.name)
    if value.name in FILLED:
        return torch.full(value.shape, filled_with(value), dtype=kind_of(value.dtype))
    if value.name == "drawn_scores":
        return torch.ones(value.shape, dtype=torch.float64)
    if value.name.endswith("_"):
        return called(value, lambda one: whole(one).expand(value.shape).clone() if one is value.args[0] else whole(one))
    return called(value, whole)


def kind_of(kind: torch.dtype) -> torch.dtype:
    return torch.float64 if kind.is_floating_point else kind


def drawn_scores() -> torch.Tensor:
    """Placeholder for the operator that made random attention scores, in a `Lazy`. Raises Unknown when it is run."""
    raise Unknown("scores")


def called(node: Lazy, operand: Callable[[Constant], torch.Tensor], *changed: Any) -> torch.Tensor:
    """Runs the operator that a `Lazy` recorded, and returns the result. A floating-point result is in float64.

    operand: a function that maps each operand (a tensor or a `Lazy` constant) to a tensor.
    changed: new arguments after the first one; by default the recorded ones.
    """

    def known(value: Any) -> Any:
        if isinstance(value, (torch.Tensor, Lazy)):
            return operand(value)
        if isinstance(value, (list, tuple)):
            return type(value)(known(inner) for inner in value)
        if isinstance(value, torch.dtype):
            return kind_of(value)
        return torch.device("cpu") if isinstance(value, torch.device) else value

    args = tuple(node.args[:1]) + changed if changed else node.args
    args, kwargs = known(tuple(args)), {key: known(value) for key, value in node.kwargs.items()}
    if node.name in ("_softmax", "_safe_softmax", "exp", "exp_"):
        return decided(node.name, *args)
    result = node.func(*args, **kwargs)
    if not isinstance(result, torch.Tensor):
        raise Unknown(node.name)
    return result


def with_rows(node: Lazy, axis: int, at: torch.Tensor, front: bool = True) -> list[int]:
    """Returns the shape of a constant tensor after selecting the indices `at` along `axis`. front: False sets all
    axes before the last two to size 1."""
    shape = list(node.shape) if front else [1] * (len(node.shape) - 2) + list(node.shape[-2:])
    shape[axis] = len(at)
    return shape


def pointwise(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    if node.name.endswith("_"):  # writes into the first operand, which must not be broadcast
        operands = [row_of(one, axis, at) for one in (*node.args, *node.kwargs.values()) if isinstance(one, (torch.Tensor, Lazy))]
        shape = torch.broadcast_shapes(*(one.shape for one in operands))  # type: ignore[no-untyped-call]
        return called(
            node,
            lambda one: row_of(one, axis, at).expand(shape).clone() if one is node.args[0] else row_of(one, axis, at),
        )
    return called(node, lambda one: row_of(one, axis, at))


def of_scores(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    return torch.ones(with_rows(node, axis, at, False), dtype=torch.float64)


def filled_with(node: Lazy) -> Any:
    value = {"zeros": 0, "ones": 1, "new_zeros": 0, "new_ones": 1, "zeros_like": 0, "ones_like": 1, "zero_": 0, "bernoulli": 1, "bernoulli_": 1, "rand": 0.5, "rand_like": 0.5}.get(
        node.name
    )
    if value is None:
        value = node.args[2] if node.name == "new_full" else node.args[1]
    return whole(value).item() if isinstance(value, (torch.Tensor, Lazy)) else value


def filled(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    return torch.full(with_rows(node, axis, at, len(node.shape) < 3), filled_with(node), dtype=kind_of(node.dtype))


def expanded(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    row = row_of(node.args[0], axis, at)
    row = row.reshape([1] * (len(node.shape) - row.dim()) + list(row.shape))
    shape = with_rows(node, axis, at)
    front = len(shape) - 2
    return row.expand([row.shape[i] if i < front else size for i, size in enumerate(shape)])


def repeated(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    source, times = node.args[0], list(node.args[1])
    size = source.shape[axis] if len(source.shape) >= -axis else 1
    times[axis] = 1
    return row_of(source, axis, at % size).repeat(times)


def unsqueezed(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    new, rank = node.args[1] % len(node.shape), len(node.shape)
    place = rank + axis
    inner = (place if place < new else place - 1) - (rank - 1)
    if place == new:
        return whole(node.args[0]).unsqueeze(new)
    return row_of(node.args[0], inner, at).unsqueeze(new)


def squeezed(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    shape = node.args[0].shape
    dims = node.args[1:] and node.args[1]
    chosen = range(len(shape)) if dims == () else [dims] if isinstance(dims, int) else dims
    dropped = [one % len(shape) for one in chosen if shape[one] == 1]
    remaining = [one for one in range(len(shape)) if one not in dropped]
    return row_of(node.args[0], remaining[axis] - len(shape), at).squeeze(tuple(dropped))


def permuted(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    rank = len(node.shape)
    order = list(range(rank))
    if node.name == "permute":
        order = [one % rank for one in node.args[1]]
    else:
        a, b = (0, 1) if node.name == "t" else node.args[1:3]
        order[a], order[b] = order[b], order[a]
    return row_of(node.args[0], order[axis] - rank, at).permute(order)


def viewed(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    shape, place = node.args[0].shape, len(node.shape) + axis
    for i, size in enumerate(shape):
        if size == node.shape[axis] and prod(shape[:i]) == prod(node.shape[:place]):
            row = row_of(node.args[0], i - len(shape), at)
            behind = list(node.shape[place + 1 :])
            if prod(row.shape[:i]) == 1 and prod(row.shape[i + 1 :]) == prod(behind):
                return row.reshape([1] * place + [row.shape[i]] + behind)
            expected = list(shape)
            expected[i] = len(at)
            return row.expand(expected).reshape(with_rows(node, axis, at))
    raise Unknown(node.name)


def sliced(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    source, dim, start, _, step = [*node.args, None, None, None, None][:5]
    rank = len(source.shape)
    if (dim or 0) % rank == rank + axis:
        first = start or 0
        first = max(first + source.shape[axis], 0) if first < 0 else first
        return row_of(source, axis, first + at * (step or 1))
    row = row_of(source, axis, at)
    if (dim or 0) % rank < rank - 2 and row.shape[(dim or 0) % rank] == 1:
        return row
    return called(node, lambda one: row_of(one, axis, at))


def selected(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    source, dim, number = node.args
    rank = len(source.shape)
    place = len(node.shape) + axis
    row = row_of(source, (place if place < dim % rank else place + 1) - rank, at)
    return row.select(dim, number if row.shape[dim] > 1 else 0)


def joined(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    pieces, dim = node.args[0], (node.args[1] if len(node.args) > 1 else 0)
    rank = len(node.shape)
    if dim % rank != rank + axis:
        rows = [row_of(piece, axis, at) for piece in pieces]
        front = torch.broadcast_shapes(*(row.shape[:-2] for row in rows))  # type: ignore[no-untyped-call]
        return torch.cat([row.expand(front + row.shape[-2:]) for row in rows], dim)
    found = []
    for one in at.tolist():
        for piece in pieces:
            if one < piece.shape[axis]:
                found.append(row_of(piece, axis, torch.tensor([one])) if piece.shape[axis] > 1 else whole(piece))
                break
            one -= piece.shape[axis]
    return torch.cat(found, axis)


def triangle(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    shift = node.args[1] if len(node.args) > 1 else node.kwargs.get("diagonal", 0)
    row = row_of(node.args[0], axis, at)
    rows, columns = torch.arange(node.shape[-2]).view(-1, 1), torch.arange(node.shape[-1]).view(1, -1)
    rows = rows[at] if axis == -2 else rows
    columns = columns[:, at] if axis == -1 else columns
    alive = columns <= rows + shift if node.name.startswith("tril") else columns >= rows + shift
    return torch.where(alive, row, torch.zeros((), dtype=row.dtype))


def along(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    """Returns some rows of the result of a reduction, such as a sum over keys, without computing the other rows. The
    rows lie along an axis that is not reduced. Raises Unknown if the operator reduces this axis."""
    dims = node.args[1] if len(node.args) > 1 else None
    rank = max(len(node.shape), len(node.args[0].shape))
    chosen = range(rank) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
    if (rank + axis) in [one % rank for one in chosen] or len(node.shape) != len(node.args[0].shape):
        raise Unknown(node.name)
    return called(node, lambda one: row_of(one, axis, at))


def indexed(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
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


def looked_up(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    if axis == -1:
        raise Unknown(node.name)
    return whole(node.args[0])[row_of(node.args[1], axis + 1, at)]


def multiplied(node: Lazy, axis: int, at: torch.Tensor) -> torch.Tensor:
    a, b = node.args[:2]
    if axis == -2:
        return row_of(a, -2, at) @ whole(b)
    return whole(a) @ row_of(b, -1, at)


FILLED = tuple("full zeros ones new_full new_zeros new_ones full_like zeros_like ones_like fill_ zero_ bernoulli bernoulli_ rand rand_like".split())

RULES: dict[str, Callable[[Lazy, int, torch.Tensor], torch.Tensor]] = {
    **dict.fromkeys(FILLED, filled),
    **dict.fromkeys("_to_copy clone detach alias lift_fresh copy_ masked_fill masked_fill_ where".split(), pointwise),
    **dict.fromkeys("view _unsafe_view reshape".split(), viewed),
    **dict.fromkeys("transpose t permute".split(), permuted),
    **dict.fromkeys("tril tril_ triu triu_".split(), triangle),
    **dict.fromkeys("cumsum cumprod flip _softmax _safe_softmax _log_softmax sum amax amin mean logsumexp any all".split(), along),
    **dict.fromkeys("mm bmm".split(), multiplied),
    "drawn_scores": of_scores,
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
