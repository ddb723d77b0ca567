# SPDX-License-Identifier: Apache-2.0
"""Finds the pairs that attention cores of a JAX function attend, by running what stands between their two products.

The function is traced at concrete sizes. Its equations become a graph of nodes that are evaluated in NumPy only if they
are asked for. The scores of an attention are drawn from the normal distribution; no weight and no input has a value. A
later product whose operand comes from scores is the second one: where this operand is 0, a pair is masked.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import prod
from typing import Any

import numpy as np

from ._core import Error, Mask
from ._errors import type_and_text
from ._jax_products import (
    CALLS,
    COUNTED,
    CUDNN,
    FUSED,
    REFERENCES,
    Choices,
    Product,
    evaluated,
    inner_jaxpr,
    is_floating,
    is_kernel,
    is_literal,
    is_symbolic,
    operands_of_kernel,
    scan_parts,
    symbols_of,
)
from ._traced_entries import Size, rule_of, shown

#: An array of NumPy.
Array = Any

#: A weight below this part of the largest of its query is masked.
SMALL = 1e-30
#: Lengths at which masks are run. They differ from the usual sizes of models.
LENGTHS = (23, 37, 58)
KEYS = (29, 43, 31)
#: Longest length at which a mask is run to see a window or a chunk. Larger ones are replaced by small ones.
LONGEST = 300
FURTHEST = 4200  #: the same for masks of no known form
#: A number from here on is no window but means that there is none.
NO_LIMIT = 1 << 20
MOST_NUMBERS = 64  #: elements of a value whose numbers may be windows
MOST_LENGTHS = 6  #: lengths beyond windows at which masks are run
MOST_STEPS = 4096  #: turns of a scan that are run one by one
#: How integer inputs are drawn: a mask that depends on them differs from one to the other.
DRAWS = ("random", "equal", "sorted")

#: Primitives for which the code that runs them says which axes of the result are tokens.
FOLLOWED = ("scan", "while", "cond", "shard_map")

KNOWN, DRAWN, MIXED, UNKNOWN, LOST = "known", "drawn", "mixed", "unknown", "lost"


#: How the names of primitives of random numbers begin.
RANDOM = ("random_", "threefry", "philox", "rng_", "iota_2x32")


class Unseen(Exception):
    """Raised if the pairs of an attention core cannot be found. The text says why."""


# -- nodes -------------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Node:
    """A value of the traced function.

    state: KNOWN if no weight and no floating input reaches it. DRAWN if it comes from scores. MIXED if a known value over
        pairs met an unknown one, which is drawn. UNKNOWN if it has no value. LOST if it comes from scores and from
        integers that are unknown.
    by_data: True if it depends on the arguments that are data.
    inputs: names of the integer arguments that it depends on.
    scores: paths of the products whose result was drawn.
    compute: returns the value. An axis along which all values are equal may have size 1.
    """

    shape: tuple[int, ...]
    dtype: Any
    state: str
    by_data: bool = False
    inputs: frozenset[str] = frozenset()
    scores: frozenset[tuple[int, ...]] = frozenset()
    compute: Callable[[], Array] | None = None
    parents: tuple[Node, ...] = ()
    op: str = ""
    tokens: frozenset[int] = frozenset()  #: axes that come from the length or from the number of keys
    argument: str = ""  #: name of a floating argument over pairs, which may be a mask
    is_random: bool = False  #: True if it comes from a random number generator of the function
    cached: Array | None = None

    @property
    def has_value(self) -> bool:
        return self.state in (KNOWN, DRAWN, MIXED)

    def value(self) -> Array:
        if self.cached is None:
            if self.compute is None:
                raise Unseen("is unknown")
            found = np.asarray(self.compute())
            if found.dtype.kind == "f" and found.dtype != np.float64:
                found = found.astype(np.float64)
            self.cached = found
        return self.cached

    def whole(self) -> Array:
        """Returns the value with all axes at their full size."""
        return np.broadcast_to(self.value(), self.shape)


def known_node(value: Any) -> Node:
    found = np.asarray(value)
    kind = found.dtype
    if found.dtype.kind not in "fiubc":  # such as bfloat16
        found = found.astype(np.float64)
    return Node(found.shape, kind, KNOWN, compute=lambda: found)


def full_size(value: Array, shape: Sequence[int], axes: Sequence[int]) -> Array:
    """Returns a value with some axes at their full size."""
    wanted = [shape[axis] if axis in axes else n for axis, n in enumerate(value.shape)]
    return np.broadcast_to(value, wanted)


def blocks_of(old: Sequence[int], new: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Returns the smallest groups of axes that a reshape turns into each other."""
    found = []
    i = j = 0
    while i < len(old) or j < len(new):
        before, after = [i], [j]
        left = old[i] if i < len(old) else 1
        right = new[j] if j < len(new) else 1
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                before.append(i)
                left *= old[i]
                i += 1
            else:
                after.append(j)
                right *= new[j]
                j += 1
        found.append(([axis for axis in before if axis < len(old)], [axis for axis in after if axis < len(new)]))
    return found


def reshaped(value: Array, old: Sequence[int], new: Sequence[int]) -> Array:
    """Reshapes a value whose axes of equal values may have size 1."""
    result: list[int] = []
    enlarged: list[int] = []
    for before, after in blocks_of(old, new):
        if all(value.shape[axis] == 1 for axis in before):
            result += [1] * len(after)
        else:
            enlarged += before
            result += [new[axis] for axis in after]
    return full_size(value, old, enlarged).reshape(result)


UNARY: dict[str, Callable[..., Any]] = {
    "abs": np.abs, "neg": np.negative, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log1p": np.log1p, "expm1": np.expm1,
    "tanh": np.tanh, "sin": np.sin, "cos": np.cos, "tan": np.tan, "sqrt": np.sqrt, "square": np.square, "sign": np.sign,
    "floor": np.floor, "ceil": np.ceil, "not": np.invert, "is_finite": np.isfinite, "stop_gradient": lambda x: x,
    "copy": lambda x: x, "copy_p": lambda x: x, "name": lambda x: x, "real": np.real,
    "rsqrt": lambda x: 1 / np.sqrt(x), "logistic": lambda x: 1 / (1 + np.exp(-x)), "reciprocal": lambda x: 1 / x,
    "reduce_precision": lambda x: x, "sharding_constraint": lambda x: x, "optimization_barrier": lambda x: x,
    "pvary": lambda x: x, "layout_constraint": lambda x: x, "reshard": lambda x: x, "mesh_cast": lambda x: x,
}  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "pow": np.power, "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "atan2": np.arctan2,
    "shift_left": np.left_shift, "shift_right_arithmetic": np.right_shift,
}  # fmt: skip
#: By primitive: NumPy's reduction, and a function (value, n) that reduces n values which all equal `value`.
REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Any, int], Any]]] = {
    "reduce_sum": (np.sum, lambda x, n: x * n), "reduce_max": (np.max, lambda x, n: x), "reduce_min": (np.min, lambda x, n: x),
    "reduce_prod": (np.prod, lambda x, n: x**n), "reduce_and": (np.all, lambda x, n: x), "reduce_or": (np.any, lambda x, n: x),
}  # fmt: skip
CUMULATIVE: dict[str, Callable[..., Any]] = {
    "cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate, "cummin": np.minimum.accumulate,
    "cumlogsumexp": np.logaddexp.accumulate,
}  # fmt: skip


def divided(a: Any, b: Any) -> Any:
    if np.asarray(a).dtype.kind in "iu":  # JAX rounds towards zero
        quotient = np.floor_divide(np.abs(a), np.maximum(np.abs(b), 1))
        return np.sign(a) * np.sign(b) * quotient
    return np.divide(a, b)


def as_dtype(value: Array, dtype: Any) -> Array:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return value != 0
    if kind.kind in "iu":
        return np.trunc(value).astype(kind) if value.dtype.kind == "f" else value.astype(kind)
    return value if value.dtype.kind == "c" else value.astype(np.float64)


def evaluate(eqn: Any, nodes: Sequence[Node], at: int) -> Array:
    """Returns one result of an equation whose arguments have values. at: the index of the result."""
    name, params = eqn.primitive.name, eqn.params
    shape = tuple(eqn.outvars[at].aval.shape)
    with np.errstate(all="ignore"):
        if name in UNARY:
            return np.asarray(UNARY[name](nodes[at if name == "optimization_barrier" else 0].value()))
        if name in BINARY:
            return np.asarray(BINARY[name](nodes[0].value(), nodes[1].value()))
        if name == "div":
            return np.asarray(divided(nodes[0].value(), nodes[1].value()))
        if name == "rem":
            return np.asarray(np.fmod(nodes[0].value(), nodes[1].value()))
        if name == "integer_pow":
            return np.asarray(nodes[0].value() ** params["y"])
        if name == "round":
            return np.asarray(np.round(nodes[0].value()))
        if name == "convert_element_type":
            return as_dtype(nodes[0].value(), params["new_dtype"] if not is_extended(params["new_dtype"]) else np.int64)
        if name == "select_n":
            which, *cases = (node.value() for node in nodes)
            if len(cases) == 2:
                return np.where(which, cases[1], cases[0])
            return np.choose(which, cases)
        if name == "clamp":
            low, value, high = (node.value() for node in nodes)
            return np.minimum(np.maximum(value, low), high)
        if name == "iota":
            axis = params["dimension"]
            line = np.arange(shape[axis]).astype(np.dtype(params["dtype"]))
            return line.reshape([-1 if one == axis else 1 for one in range(len(shape))])
        if name == "broadcast_in_dim":
            value, axes = nodes[0].value(), params["broadcast_dimensions"]
            sizes = [1] * len(shape)
            for own, axis in enumerate(axes):
                sizes[axis] = value.shape[own]
            return value.reshape(sizes)
        if name == "reshape":
            return reshaped(nodes[0].value(), nodes[0].shape, shape)
        if name in ("squeeze", "expand_dims"):
            return reshaped(nodes[0].value(), nodes[0].shape, shape)
        if name == "transpose":
            return nodes[0].value().transpose(params["permutation"])
        if name in REDUCTIONS:
            return reduced(name, nodes[0], params["axes"])
        if name in CUMULATIVE:
            axis = params["axis"]
            value = full_size(nodes[0].value(), nodes[0].shape, [axis])
            value = np.flip(value, axis) if params["reverse"] else value
            found = CUMULATIVE[name](value, axis=axis)
            return np.flip(found, axis) if params["reverse"] else found
        if name == "slice":
            value = nodes[0].value()
            strides = params["strides"] or (1,) * len(shape)
            cuts = zip(params["start_indices"], params["limit_indices"], strides, value.shape)
            return value[tuple(slice(None) if n == 1 else slice(a, b, c) for a, b, c, n in cuts)]
        if name == "rev":
            return np.flip(nodes[0].value(), params["dimensions"])
        if name == "concatenate":
            axis = params["dimension"]
            values = [full_size(node.value(), node.shape, [axis]) for node in nodes]
            front = np.broadcast_shapes(*(value.shape[:axis] + (1,) + value.shape[axis + 1 :] for value in values))
            return np.concatenate(
                [np.broadcast_to(v, front[:axis] + (v.shape[axis],) + front[axis + 1 :]) for v in values], axis
            )
        if name == "dynamic_slice":
            value, starts = nodes[0].value(), [int(node.value()) for node in nodes[1 : 1 + len(shape)]]
            parts = []
            for start, n, own, whole in zip(starts, shape, value.shape, nodes[0].shape):
                start = min(max(start, 0), whole - n)
                parts.append(slice(None) if own == 1 else slice(start, start + n))
            return value[tuple(parts)]
        if name == "dynamic_update_slice":
            value = nodes[0].whole().copy()
            starts = [int(node.value()) for node in nodes[2:]]
            own_sizes = zip(starts, nodes[1].shape, nodes[0].shape)
            firsts = [(min(max(start, 0), whole - n), n) for start, n, whole in own_sizes]
            value[tuple(slice(first, first + n) for first, n in firsts)] = nodes[1].whole()
            return value
        if name == "pad" and all(inner == 0 for _, _, inner in params["padding_config"]):
            return padded(nodes, params["padding_config"])
        if name in ("dim_as_value",):
            return np.asarray(int(params["dim"]))
        if name in ("argmax", "argmin"):
            axis = params["axes"][0]
            value = full_size(nodes[0].value(), nodes[0].shape, [axis])
            return (np.argmax if name == "argmax" else np.argmin)(value, axis)
        if name == "split":
            axis, sizes = params["axis"], params["sizes"]
            value = nodes[0].value()
            if value.shape[axis] == 1:
                return value
            start = sum(sizes[:at])
            return np.take(value, np.arange(start, start + sizes[at]), axis)
    return by_jax(eqn, nodes, at)


def is_extended(dtype: Any) -> bool:
    from jax import dtypes, numpy

    return bool(numpy.issubdtype(dtype, dtypes.extended))


def reduced(name: str, node: Node, axes: Sequence[int]) -> Array:
    function, repeated = REDUCTIONS[name]
    value = node.value()
    equal = prod(node.shape[axis] for axis in axes if value.shape[axis] == 1)
    return np.asarray(repeated(function(value, axis=tuple(axes)), equal))


def padded(nodes: Sequence[Node], config: Sequence[tuple[int, int, int]]) -> Array:
    axes = [axis for axis, (low, high, _) in enumerate(config) if low or high]
    value = full_size(nodes[0].value(), nodes[0].shape, axes)
    for axis in axes:
        low, high, _ = config[axis]
        cut = [slice(None)] * value.ndim
        cut[axis] = slice(max(-low, 0), value.shape[axis] - max(-high, 0))
        value = value[tuple(cut)]
        widths = [(0, 0)] * value.ndim
        widths[axis] = (max(low, 0), max(high, 0))
        value = np.pad(value, widths, constant_values=nodes[1].value().item())
    return value


def by_jax(eqn: Any, nodes: Sequence[Node], at: int) -> Array:
    """Runs an equation in JAX, on the CPU."""
    import jax

    cpu = jax.local_devices(backend="cpu")[0]
    with jax.ensure_compile_time_eval(), jax.default_device(cpu):
        arrays = []
        for var, node in zip(eqn.invars, nodes):
            if is_extended(var.aval.dtype):
                raise Unseen(f"depends on random numbers ({eqn.primitive.name})")
            arrays.append(jax.numpy.asarray(node.whole().astype(var.aval.dtype)))
        found = eqn.primitive.bind(*arrays, **eqn.params)
    one = found[at] if eqn.primitive.multiple_results else found
    if is_extended(one.dtype):
        raise Unseen(f"depends on random numbers ({eqn.primitive.name})")
    value = np.asarray(one.astype("float32") if is_floating(one) and one.dtype.itemsize < 4 else one)
    return value.astype(np.float64) if value.dtype.kind == "f" else value


# -- the graph of a function at one size -------------------------------------------------------------------------------


@dataclass(eq=False)
class Second:
    """A second product of an attention core, such as softmax(QKᵀ)·V.

    operand: the attention weights.
    contracted: axes of the operand that are summed over: the keys.
    batch: axes of the operand that are batch axes of the product.
    turns: how often the product runs with these weights.
    exponential: the numerator of the softmax that the operand comes from.
    """

    operand: Node
    contracted: tuple[int, ...]
    batch: tuple[int, ...]
    turns: int

    @cached_property
    def exponential(self) -> Node | None:
        shape = self.operand.shape
        found = (
            node for node in ancestors(self.operand) if node.op in ("exp", "exp2") and node.scores and node.shape == shape
        )
        return next(found, None)


class Graph:
    """The nodes of a function at one size.

    draw: how integer inputs are drawn.
    keep: what a random bool is, as in dropout.
    roles: meanings of integer inputs, by name.
    lengths: the length and the number of keys.
    tokens: for each argument, its axes that come from the length or the number of keys.
    seconds: second products, by the path of the product.
    lost: products of attention whose pairs cannot be found, each with the reason.
    kernels: calls of attention kernels, by their paths: the equation, its arguments, and how often it runs.
    branches: how often each branch of a conditional runs, by its path; -1 if data decide.
    names: names of loops and conditionals, by their paths.
    """

    def __init__(
        self,
        choices: Choices,
        draw: str,
        seed: int,
        leaves: Sequence[Any],
        roles: Mapping[str, str],
        keep: bool,
        small: Mapping[int, int],
        names: Mapping[tuple[int, ...], str],
        lengths: set[int],
        tokens: Sequence[frozenset[int]],
    ) -> None:
        self.choices = choices
        self.draw = draw
        self.random = np.random.default_rng(seed)
        self.leaves = leaves
        self.roles = roles
        self.keep = keep
        self.small = small
        self.names = names
        self.lengths = lengths
        self.tokens = tokens
        self.seconds: dict[tuple[int, ...], list[Second]] = {}
        self.lost: dict[tuple[int, ...], str] = {}
        self.branches: dict[tuple[int, ...], Counter[int]] = {}
        self.kernels: dict[tuple[int, ...], tuple[Any, list[Node], int]] = {}

    def run(self, closed: Any, shapes: Sequence[tuple[int, ...]]) -> None:
        inputs = [self.input(leaf, shape) for leaf, shape in zip(self.leaves, shapes)]
        for node, tokens in zip(inputs, self.tokens):
            node.tokens = tokens
        inputs += [unknown_node(var.aval, True) for var in closed.jaxpr.invars[len(inputs) :]]
        consts = [self.constant(value) if is_known_constant(value) else unknown_of(value, False) for value in closed.consts]
        self.of_jaxpr(closed.jaxpr, consts, inputs, 1, ())

    def input(self, leaf: Any, shape: tuple[int, ...]) -> Node:
        name = leaf_name(leaf)
        of_pairs = len(self.tokens[leaf.index]) > 1
        if leaf.is_floating or not leaf.is_data or is_extended(leaf.dtype):
            return Node(shape, leaf.dtype, UNKNOWN, leaf.is_data, argument=name if of_pairs and leaf.is_data else "")
        role = None if of_pairs else self.roles.get(name)
        dtype = np.dtype(leaf.dtype)

        def compute() -> Array:
            if role == "position":
                return (
                    np.arange(shape[-1]).astype(dtype).reshape((1,) * (len(shape) - 1) + (-1,))
                    if shape
                    else np.zeros((), dtype)
                )
            if role == "valid":
                return np.ones((1,) * len(shape), dtype)
            if dtype.kind == "b":
                return {
                    "random": lambda: self.random.random(shape) < 0.5,
                    "equal": lambda: np.ones(shape, bool),
                    "sorted": lambda: np.sort(self.random.random(shape) < 0.5, -1) if shape else np.ones(shape, bool),
                }[self.draw]()
            if self.draw == "equal":
                return np.full(shape, 17, dtype)
            high = min(np.iinfo(dtype).max, 1 << 20)
            found = self.random.integers(1, high, shape).astype(dtype)
            return np.sort(found, -1) if self.draw == "sorted" and shape else found

        return Node(shape, dtype, KNOWN, True, frozenset([name]), compute=compute)

    # -- walking ------------------------------------------------------------------------------------------------------

    def of_jaxpr(
        self, jaxpr: Any, consts: Sequence[Node], args: Sequence[Node], turns: int, path: tuple[int, ...]
    ) -> list[Node]:
        known: dict[Any, Node] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

        def node(var: Any) -> Node:
            return self.constant(var.val) if is_literal(var) else known[var]

        for index, eqn in enumerate(jaxpr.eqns):
            nodes = [node(var) for var in eqn.invars]
            found = self.of_equation(eqn, nodes, turns, (*path, index))
            if eqn.primitive.name not in FOLLOWED and eqn.primitive.name not in CALLS:
                axes = token_axes(eqn, nodes, self.lengths)
                for one in found:
                    one.tokens = axes | one.tokens
            known.update(zip(eqn.outvars, found, strict=True))
        return [node(var) for var in jaxpr.outvars]

    def of_equation(self, eqn: Any, nodes: list[Node], turns: int, path: tuple[int, ...]) -> list[Node]:
        name = eqn.primitive.name
        if is_kernel(eqn):
            self.kernels[path] = eqn, nodes, turns
            return [unknown_node(var.aval, True) for var in eqn.outvars]
        if name == "scan":
            return self.of_scan(eqn, nodes, turns, path)
        if name == "while":
            return self.of_while(eqn, nodes, turns, path)
        if name == "cond":
            return self.of_cond(eqn, nodes, turns, path)
        if name == "shard_map":
            return self.of_shard_map(eqn, nodes, turns, path)
        if name in CALLS:
            jaxpr, consts = inner_jaxpr(eqn.params[CALLS[name]])
            return self.of_jaxpr(jaxpr, [known_node(value) for value in consts], nodes, turns, path)
        if name in COUNTED:
            return [self.of_product(eqn, nodes, turns, path)]
        if name in CUDNN:
            return [unknown_node(var.aval, True) for var in eqn.outvars]
        return self.of_plain(eqn, nodes)

    def of_plain(self, eqn: Any, nodes: list[Node]) -> list[Node]:
        """Returns the nodes of an equation that multiplies no matrices."""
        avals = [var.aval for var in eqn.outvars]
        by_data = any(node.by_data for node in nodes)
        scores = frozenset[tuple[int, ...]]().union(*(node.scores for node in nodes))
        inputs = frozenset[str]().union(*(node.inputs for node in nodes))
        if eqn.primitive.name in REFERENCES or any(not hasattr(aval, "shape") for aval in avals):
            return [unknown_node(aval, by_data, LOST if scores else UNKNOWN) for aval in avals]
        states = {node.state for node in nodes}
        if LOST in states:
            found = [unknown_node(aval, by_data, LOST, scores) for aval in avals]
            for one in found:
                one.argument = ", ".join(sorted({node.argument for node in nodes if node.argument}))
            return found
        if eqn.primitive.name == "axis_index":
            return [unknown_node(aval, True, UNKNOWN) for aval in avals]
        if eqn.primitive.name.startswith(RANDOM):
            found = [unknown_node(aval, by_data) for aval in avals]
            for one in found:
                one.is_random = True
            return found
        over_pairs = len(token_axes(eqn, nodes, self.lengths)) > 1
        unknown = [node for node in nodes if node.state == UNKNOWN]
        is_random = bool(unknown) and all(node.is_random for node in unknown)
        if not unknown:
            state = DRAWN if DRAWN in states else MIXED if MIXED in states else KNOWN
        elif DRAWN in states:
            state = DRAWN
        elif states == {UNKNOWN} or is_random or not over_pairs:
            found = [unknown_node(aval, by_data) for aval in avals]
            for one in found:
                one.is_random = is_random
                one.argument = ", ".join(sorted({node.argument for node in unknown if node.argument}))
            return found
        else:
            state = MIXED
        if DRAWN in states and is_random:  # dropout
            nodes = [self.kept(node) if node.state == UNKNOWN and node.dtype == np.bool_ else node for node in nodes]
            unknown = [node for node in nodes if node.state == UNKNOWN]
        arguments = {node.argument for node in unknown if node.argument}
        if arguments or any(not is_floating(node) for node in unknown):
            lost = [unknown_node(aval, by_data, LOST if state == DRAWN else UNKNOWN, scores) for aval in avals]
            for one in lost:
                one.argument = ", ".join(sorted(arguments))
            return lost
        if state == MIXED and not over_pairs:
            return [unknown_node(aval, by_data) for aval in avals]
        parents = tuple(self.drawn(node) if node.state == UNKNOWN else node for node in nodes)
        return [
            Node(
                tuple(aval.shape),
                aval.dtype,
                state,
                by_data,
                inputs,
                scores,
                partial(evaluate, eqn, parents, at),
                parents,
                eqn.primitive.name,
            )
            for at, aval in enumerate(avals)
        ]

    def kept(self, node: Node) -> Node:
        """Returns a node for a random bool."""
        value = np.full((1,) * len(node.shape), self.keep)
        return Node(node.shape, node.dtype, KNOWN, node.by_data, compute=lambda: value)

    def constant(self, value: Any) -> Node:
        """Returns the node of a constant of the function."""
        node = known_node(value)
        if self.small and node.value().dtype.kind in "iuf" and prod(node.shape) <= MOST_NUMBERS:
            changed = node.value().copy()
            for large, small in self.small.items():
                changed[np.abs(node.value()) == large] = small
            changed[(node.value() < 0) & (np.abs(node.value()) != np.abs(changed))] *= -1
            node = known_node(changed)
        node.tokens = frozenset(axis for axis, n in enumerate(node.shape) if n in self.lengths)
        return node

    def drawn(self, node: Node, axes: Sequence[int] | None = None) -> Node:
        """Returns a node of random numbers with the shape of `node`. axes: those along which the numbers differ."""
        shape = tuple(n if axes is None or axis in axes else 1 for axis, n in enumerate(node.shape))
        seed = int(self.random.integers(1 << 62))
        compute = lambda: np.random.default_rng(seed).standard_normal(shape)  # noqa: E731
        return Node(node.shape, node.dtype, MIXED, node.by_data, compute=compute, op="drawn")

    # -- products -----------------------------------------------------------------------------------------------------

    def of_product(self, eqn: Any, nodes: list[Node], turns: int, path: tuple[int, ...]) -> Node:
        left, right = nodes[:2]
        aval = eqn.outvars[0].aval
        by_data = left.by_data or right.by_data
        scores = left.scores | right.scores
        if eqn.primitive.name != "dot_general":
            lost = LOST if scores else UNKNOWN
            if scores:
                self.lost[path] = "a product that is no dot_general multiplies attention weights"
            return unknown_node(aval, by_data, lost, scores)
        if left.state == KNOWN and right.state == KNOWN:
            inputs = left.inputs | right.inputs
            return Node(
                tuple(aval.shape),
                aval.dtype,
                KNOWN,
                by_data,
                inputs,
                scores,
                partial(evaluate, eqn, (left, right), 0),
                (left, right),
                "dot_general",
            )
        contracted, batch = eqn.params["dimension_numbers"]
        for number, (one, other) in enumerate(((left, right), (right, left))):
            if not one.scores:
                continue
            axes, batches = tuple(contracted[number]), tuple(batch[number])
            if one.state == LOST:
                if other.by_data and one.tokens & set(axes):
                    reason = "they depend on data" + (f": {one.argument}" if one.argument else "")
                    self.lost.update(dict.fromkeys([path, *one.scores], reason))
                return unknown_node(aval, by_data)
            if not one.tokens & set(axes):
                if len(one.tokens - set(batches)) > 1:
                    return self.mixed_heads(eqn, one, number, scores)
                continue
            if other.by_data:
                self.seconds.setdefault(path, []).append(Second(one, axes, batches, turns))
            return unknown_node(aval, by_data)
        if left.scores or right.scores or not (left.by_data and right.by_data):
            return unknown_node(aval, by_data)
        tokens = token_axes(eqn, nodes, self.lengths)
        free = range(len(batch[0]), len(aval.shape))
        summed = any(node.tokens & set(axes) for node, axes in zip((left, right), contracted))
        if summed or not tokens & set(free):  # such as a state, which sums over tokens
            return unknown_node(aval, by_data)
        dense = [axis for axis in free if axis in tokens or aval.shape[axis] > 1 and len(free) < 3]
        node = self.drawn(unknown_node(aval, True), dense)
        node.state, node.scores, node.tokens = DRAWN, frozenset([path]), frozenset(dense)
        return node

    def mixed_heads(self, eqn: Any, one: Node, number: int, scores: frozenset[tuple[int, ...]]) -> Node:
        """Returns the node of a product of attention weights of all heads with a matrix that mixes the heads."""
        contracted, batch = eqn.params["dimension_numbers"]
        shape = tuple(eqn.outvars[0].aval.shape)
        axes, batches = contracted[number], batch[number]
        kept = [axis for axis in range(len(one.shape)) if axis not in axes and axis not in batches]
        other_rank = len(eqn.invars[1 - number].aval.shape)
        before = 0 if number == 0 else other_rank - len(axes) - len(batches)

        def compute() -> Array:
            value = one.value()
            value = np.abs(value).max(axis=tuple(axes), keepdims=True)
            ordered = value.transpose([*batches, *kept, *axes]).reshape([value.shape[axis] for axis in (*batches, *kept)])
            sizes = [1] * len(shape)
            for at in range(len(batches)):
                sizes[at] = ordered.shape[at]
            for at in range(len(kept)):
                sizes[len(batches) + before + at] = ordered.shape[len(batches) + at]
            return ordered.reshape(sizes)

        return Node(shape, eqn.outvars[0].aval.dtype, DRAWN, True, one.inputs, scores, compute, (one,), "dot_general")

    # -- control flow -------------------------------------------------------------------------------------------------

    def of_scan(self, eqn: Any, nodes: list[Node], turns: int, path: tuple[int, ...]) -> list[Node]:
        params = eqn.params
        jaxpr, values = inner_jaxpr(params["jaxpr"])
        consts, carried = scan_parts(params)
        length = int(params["length"])
        own = [known_node(value) for value in values]
        fixed, carry, rows = nodes[:consts], nodes[consts : consts + carried], nodes[consts + carried :]
        is_long = length in self.lengths or any(0 in row.tokens for row in rows)
        before = self.marks()
        if any(row.has_value for row in rows) or length == 0:
            by_step = True
        else:
            first = self.of_jaxpr(jaxpr, own, [*fixed, *carry, *map(row_of, rows)], turns * length, path)
            by_step = any(a.has_value and b.has_value and not same_value(a, b) for a, b in zip(carry, first[:carried]))
        if by_step and length <= MOST_STEPS:
            self.back_to(before, path)
            order = range(length - 1, -1, -1) if params["reverse"] else range(length)
            columns: list[list[Node]] = []
            for step in order:
                found = self.of_jaxpr(jaxpr, own, [*fixed, *carry, *(row_of(row, step) for row in rows)], turns, path)
                carry = found[:carried]
                columns.append(found[carried:])
            if params["reverse"]:
                columns.reverse()
            results = [
                stack_of(list(column), var.aval, is_long) for column, var in zip(zip(*columns), eqn.outvars[carried:])
            ]
            return [*carry, *results]
        while True:
            self.back_to(before, path)
            found = self.of_jaxpr(jaxpr, own, [*fixed, *carry, *map(row_of, rows)], turns * length, path)
            after = [a if same_value(a, b) else unknown_of_node(a, b) for a, b in zip(carry, found[:carried])]
            if [(one.state, one.tokens) for one in after] == [(one.state, one.tokens) for one in carry]:
                break
            carry = after
        ends = []
        for one, var in zip(found[carried:], eqn.outvars[carried:]):
            if one.has_value and not one.scores:
                ends.append(stack_of([one] * length, var.aval, is_long))
            else:
                state = LOST if one.scores else UNKNOWN
                ends.append(unknown_node(var.aval, one.by_data, state, one.scores))
                ends[-1].tokens = frozenset(axis + 1 for axis in one.tokens) | (frozenset([0]) if is_long else frozenset())
        return [*found[:carried], *ends]

    def marks(self) -> dict[tuple[int, ...], int]:
        return {path: len(several) for path, several in self.seconds.items()}

    def back_to(self, marks: Mapping[tuple[int, ...], int], path: tuple[int, ...] = ()) -> None:
        """Forgets what was found since `marks`, in the loop at `path`: it is run again."""
        for one in [one for one in self.branches if one[: len(path)] == path]:
            del self.branches[one]
        for path in list(self.seconds):
            del self.seconds[path][marks.get(path, 0) :]
            if not self.seconds[path]:
                del self.seconds[path]

    def of_while(self, eqn: Any, nodes: list[Node], turns: int, path: tuple[int, ...]) -> list[Node]:
        params = eqn.params
        body, values = inner_jaxpr(params["body_jaxpr"])
        first, second = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        carry = [unknown_of_node(node, node) for node in nodes[second:]]
        count = self.choices.turns_of(self.names.get(path, "")) or 1
        own = [known_node(value) for value in values]
        before = self.marks()
        while True:
            self.back_to(before, path)
            found = self.of_jaxpr(body, own, [*nodes[first:second], *carry], turns * int(count), (*path, 1))
            after = [unknown_of_node(a, b) for a, b in zip(carry, found)]
            if [(one.state, one.by_data, one.tokens) for one in after] == [
                (one.state, one.by_data, one.tokens) for one in carry
            ]:
                return after
            carry = after

    def of_cond(self, eqn: Any, nodes: list[Node], turns: int, path: tuple[int, ...]) -> list[Node]:
        branches = eqn.params["branches"]
        index = self.choices.branch_of(self.names.get(path, ""))
        if index is None and nodes[0].state == KNOWN and not nodes[0].inputs:
            index = min(max(int(nodes[0].value()), 0), len(branches) - 1)
        self.branches.setdefault(path, Counter())[-1 if index is None else index] += turns
        results = []
        for at, branch in enumerate(branches):
            if index is None or at == index:
                jaxpr, values = inner_jaxpr(branch)
                results.append(self.of_jaxpr(jaxpr, [known_node(value) for value in values], nodes[1:], turns, (*path, at)))
        if len(results) == 1:
            return results[0]
        together = []
        for var, several in zip(eqn.outvars, zip(*results)):
            scores = frozenset[tuple[int, ...]]().union(*(one.scores for one in several))
            node = unknown_node(var.aval, any(one.by_data for one in several), LOST if scores else UNKNOWN, scores)
            node.tokens = frozenset[int]().union(*(one.tokens for one in several))
            together.append(node)
        return together

    def of_shard_map(self, eqn: Any, nodes: list[Node], turns: int, path: tuple[int, ...]) -> list[Node]:
        jaxpr, values = inner_jaxpr(eqn.params["jaxpr"])
        inside = []
        for node, var in zip(nodes, jaxpr.invars):
            shape = tuple(var.aval.shape)
            inside.append(
                node if shape == node.shape else Node(shape, node.dtype, UNKNOWN, node.by_data, tokens=node.tokens)
            )
        found = self.of_jaxpr(jaxpr, [known_node(value) for value in values], inside, turns, path)
        results = []
        for one, var in zip(found, eqn.outvars):
            if one.shape != tuple(var.aval.shape):
                whole = unknown_node(var.aval, one.by_data, LOST if one.scores else UNKNOWN, one.scores)
                whole.tokens = one.tokens
                one = whole
            results.append(one)
        return results


def token_axes(eqn: Any, nodes: Sequence[Node], lengths: set[int]) -> frozenset[int]:
    """Returns the axes of an equation's result that come from the length or from the number of keys."""
    name, params = eqn.primitive.name, eqn.params
    shape = tuple(getattr(eqn.outvars[0].aval, "shape", ()))
    by_size = frozenset(axis for axis, n in enumerate(shape) if n in lengths)
    if not nodes or name in ("iota", "random_bits", "random_wrap"):
        return by_size
    first = nodes[0]
    if name == "broadcast_in_dim":
        axes = params["broadcast_dimensions"]
        kept = {axis for own, axis in enumerate(axes) if own in first.tokens and first.shape[own] == shape[axis]}
        return frozenset(kept) | frozenset(
            axis for axis in by_size if axis not in axes or first.shape[axes.index(axis)] == 1
        )
    if name in ("reshape", "squeeze", "expand_dims"):
        return reshaped_axes(first.tokens, first.shape, shape)
    if name == "transpose":
        return frozenset(at for at, axis in enumerate(params["permutation"]) if axis in first.tokens)
    if name.startswith(("reduce_", "arg")) and "axes" in params:
        kept_axes = [axis for axis in range(len(first.shape)) if axis not in params["axes"]]
        return frozenset(at for at, axis in enumerate(kept_axes) if axis in first.tokens)
    if name == "dot_general":
        (contracted, batch) = params["dimension_numbers"]
        found = {at for at, pair in enumerate(zip(*batch)) if any(axis in node.tokens for node, axis in zip(nodes, pair))}
        at = len(batch[0])
        for node, axes, batches in zip(nodes, contracted, batch):
            for axis in range(len(node.shape)):
                if axis not in axes and axis not in batches:
                    if axis in node.tokens:
                        found.add(at)
                    at += 1
        return frozenset(found)
    if name == "conv_general_dilated":
        numbers = params["dimension_numbers"]
        return frozenset(out for own, out in zip(numbers.lhs_spec[2:], numbers.out_spec[2:]) if own in first.tokens)
    if name == "gather":
        offsets = params["dimension_numbers"].offset_dims
        places = [axis for axis in range(len(shape)) if axis not in offsets]
        of_indices = {axis for own, axis in enumerate(places) if own in nodes[1].tokens}
        collapsed = (
            *params["dimension_numbers"].collapsed_slice_dims,
            *getattr(params["dimension_numbers"], "operand_batching_dims", ()),
        )
        whole = [axis for axis in range(len(first.shape)) if axis not in collapsed]
        return frozenset(of_indices) | frozenset(
            out for own, out in zip(whole, offsets) if own in first.tokens and shape[out] == first.shape[own]
        )
    return frozenset[int]().union(*(node.tokens for node in nodes if len(node.shape) == len(shape)))


def reshaped_axes(tokens: frozenset[int], old: Sequence[int], new: Sequence[int]) -> frozenset[int]:
    """Returns the axes that a reshape makes of some axes."""
    found: set[int] = set()
    for before, after in blocks_of(old, new):
        if tokens & set(before):
            found.update(axis for axis in after if new[axis] > 1)
    return frozenset(found)


def unknown_node(aval: Any, by_data: bool, state: str = UNKNOWN, scores: frozenset[tuple[int, ...]] = frozenset()) -> Node:
    shape = getattr(aval, "shape", ())
    return Node(tuple(shape), getattr(aval, "dtype", None), state, by_data, scores=scores)


def unknown_of(value: Any, by_data: bool) -> Node:
    return Node(tuple(value.shape), value.dtype, UNKNOWN, by_data)


def unknown_of_node(a: Node, b: Node) -> Node:
    scores = a.scores | b.scores
    state = LOST if scores else UNKNOWN
    return Node(a.shape, a.dtype, state, a.by_data or b.by_data, scores=scores, tokens=a.tokens | b.tokens)


def same_value(a: Node, b: Node) -> bool:
    """True if two values that a loop carries are the same: both unknown, or one node."""
    if a is b:
        return True
    return (
        a.state == b.state and not a.has_value and a.by_data == b.by_data and a.scores == b.scores and a.tokens == b.tokens
    )


def row_of(node: Node, step: int = 0) -> Node:
    """Returns one row of a value that a scan goes over."""

    def compute() -> Array:
        value = node.value()
        return value[0 if value.shape[0] == 1 else step]

    tokens = frozenset(axis - 1 for axis in node.tokens if axis > 0)
    return Node(
        node.shape[1:], node.dtype, node.state, node.by_data, node.inputs, node.scores, compute if node.has_value else None, (node,),
        tokens=tokens, argument=node.argument, is_random=node.is_random,
    )  # fmt: skip


def stack_of(rows: Sequence[Node], aval: Any, is_long: bool) -> Node:
    """Returns the node of the rows that a scan returns. is_long: True if its turns go over tokens."""
    node = stacked(rows, aval)
    if rows:
        node.tokens = frozenset(axis + 1 for axis in rows[0].tokens) | (frozenset([0]) if is_long else frozenset())
    return node


def stacked(rows: Sequence[Node], aval: Any) -> Node:
    if not rows:
        return unknown_node(aval, False)
    by_data = any(row.by_data for row in rows)
    scores = frozenset[tuple[int, ...]]().union(*(row.scores for row in rows))
    states = {row.state for row in rows}
    if not all(row.has_value for row in rows):
        return unknown_node(aval, by_data, LOST if scores else UNKNOWN, scores)
    state = DRAWN if DRAWN in states else MIXED if MIXED in states else KNOWN
    inputs = frozenset[str]().union(*(row.inputs for row in rows))

    def compute() -> Array:
        values = [row.value() for row in rows]
        shape = np.broadcast_shapes(*(value.shape for value in values))
        return np.stack([np.broadcast_to(value, shape) for value in values])

    return Node(tuple(aval.shape), aval.dtype, state, by_data, inputs, scores, compute, tuple(rows))


def is_known_constant(value: Any) -> bool:
    """True for a constant that may make a mask: integers, bools, and small floating tables. Others are weights that the
    function closes over."""
    return not is_extended(value.dtype)


def tokens_of(function: Any) -> list[frozenset[int]]:
    """Returns for each array of the arguments its axes that come from the length or the number of keys. If only the batch
    varies: all axes of data but the first one and the one of channels."""
    found = []
    for leaf in function.leaves:
        axes = range(len(leaf.shape))
        if function.sizes.arity > 1:
            tokens = [
                axis for axis in axes if any(name in function.sizes.names[1:] for name in symbols_of(leaf.shape[axis]))
            ]
        else:
            last = len(leaf.shape) - 1 if leaf.is_floating else len(leaf.shape)
            tokens = list(range(1, last)) if leaf.is_data else []
        found.append(frozenset(tokens))
    return found


def branches_that_run(
    function: Any, choices: Choices, closed: Any, size: Size, names: Mapping[tuple[int, ...], str]
) -> dict[tuple[int, ...], dict[int, int]]:
    """Returns how often each branch of each conditional runs, by the path of the conditional, if the data do not decide it.

    closed: a trace of the function at this size. Further arguments than those of the function are unknown.
    """
    symbols = function.sizes.symbols(size)
    shapes = [tuple(evaluated(n, symbols) for n in leaf.shape) for leaf in function.leaves]
    graph = Graph(choices, DRAWS[0], 1, function.leaves, {}, True, {}, names, set(), tokens_of(function))
    graph.run(closed, shapes)
    return {path: dict(found) for path, found in graph.branches.items() if -1 not in found}


def leaf_name(leaf: Any) -> str:
    return f"args[{leaf.argument}]" + "".join(f"[{part!r}]" for part in leaf.path)


# -- patterns ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Pattern:
    """Which pairs the heads of an attention core attend at one size.

    queries, keys: their numbers. 0 if the core has several axes of them.
    heads: bool arrays [queries, keys], each with the number of heads that have it.
    attended, every: the numbers of pairs of all heads and samples.
    """

    queries: int
    keys: int
    heads: list[tuple[Array, int]]
    attended: int
    every: int


def single_keys(alive: Array, exponential: Array) -> Array:
    """Returns the pairs of queries that attend a single key, where the gradient of the softmax is 0.

    alive: True for each pair whose weight is not 0.
    exponential: the numerator of the softmax over its last axis, with the axes of `alive` or with the last two swapped.
    """
    for turned, axis in ((exponential, -1), (np.swapaxes(exponential, -1, -2), -2)):
        if turned.shape != alive.shape:
            continue
        attended = turned > SMALL * turned.max(axis=axis, keepdims=True)
        is_single = attended.sum(axis=axis, keepdims=True) == 1
        if not (alive & ~attended).any() and np.array_equal(alive | is_single, attended | is_single):
            found: Array = attended & is_single & ~alive.any(axis=axis, keepdims=True)
            return found
    return np.zeros_like(alive)


def pattern_of(second: Second) -> Pattern:
    node = second.operand
    with np.errstate(all="ignore"):
        weights = np.abs(node.value())
        weights = np.nan_to_num(weights, nan=0.0, posinf=np.finfo(np.float64).max)
        top = weights.max(axis=second.contracted, keepdims=True)
        alive = (weights > SMALL * top) & (weights > 0)
        if second.exponential is not None:
            alive = alive | single_keys(alive, np.abs(second.exponential.value()))
    rank = len(node.shape)
    free = [axis for axis in range(rank) if axis not in second.contracted and axis not in second.batch]
    of_length = [axis for axis in free if axis in node.tokens]
    queries = free if len(free) == 1 else of_length
    keys = [axis for axis in second.contracted if node.shape[axis] > 1] or list(second.contracted)
    equal = prod(n for axis, n in enumerate(node.shape) if alive.shape[axis] == 1)
    every = prod(node.shape) * second.turns
    attended = int(alive.sum()) * equal * second.turns
    if len(queries) != 1 or len(keys) != 1:
        return Pattern(0, 0, [], attended, every)
    q, k = queries[0], keys[0]
    lead = [axis for axis in range(rank) if axis not in (q, k)]
    square = np.broadcast_to(alive, [n if axis in (q, k) else alive.shape[axis] for axis, n in enumerate(node.shape)])
    square = square.transpose([*lead, q, k]).reshape(-1, node.shape[q], node.shape[k])
    found: dict[bytes, tuple[Array, int]] = {}
    for one in square:
        key = np.packbits(one).tobytes()
        found[key] = (one, found[key][1] + 1 if key in found else 1)
    return Pattern(node.shape[q], node.shape[k], list(found.values()), attended, every)


def pattern_of_kernel(eqn: Any, nodes: Sequence[Node], turns: int) -> Pattern:
    """Returns the pairs that an attention kernel of jax.experimental.pallas attends. Runs the kernel on the CPU, on random
    queries and keys. The values are rows of the unit matrix, as many as fit at once, so that the result is the attention
    weights."""
    import jax

    operands = operands_of_kernel(eqn)
    random = np.random.default_rng(1)
    arrays: list[Any] = []
    for at, (var, node) in enumerate(zip(eqn.invars, nodes)):
        if node.state == KNOWN and not node.inputs:
            arrays.append(jax.numpy.asarray(node.whole()).astype(var.aval.dtype))
        elif at in operands:
            small = 0.01 * random.standard_normal(var.aval.shape)  # no weight may be 0 but those of masked pairs
            arrays.append(jax.numpy.asarray(small).astype(var.aval.dtype))
        else:
            raise Unseen("takes a bias or segments that depend on data")
    query, value = (tuple(eqn.invars[operands[at]].aval.shape) for at in (0, 2))
    keys, width = value[-2:]
    closed = eqn.params["jaxpr"]
    run = jax.jit(lambda *args: interpreted(closed.jaxpr, closed.consts, args)[0])
    parts = []
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        for start in range(0, keys, width):
            unit = np.zeros((keys, width), np.float32)
            rows = min(width, keys - start)
            unit[start : start + rows, :rows] = np.eye(rows)
            arrays[operands[2]] = jax.numpy.broadcast_to(jax.numpy.asarray(unit), value).astype(
                eqn.invars[operands[2]].aval.dtype
            )
            parts.append(np.asarray(run(*arrays).astype("float32"))[..., :rows])
    weights = np.concatenate(parts, -1)
    if weights.shape[:-1] != query[:-1]:
        raise Unseen("has a result of another shape than its queries")
    node = Node(weights.shape, np.dtype(np.float64), DRAWN, compute=lambda: weights)
    rank = len(weights.shape)
    node.tokens = frozenset([rank - 2, rank - 1])
    return pattern_of(Second(node, (rank - 1,), tuple(range(rank - 2)), turns))


def interpreted(jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Evaluates a jaxpr whose Pallas kernels run in interpret mode."""
    values: dict[Any, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

    def read(var: Any) -> Any:
        return var.val if is_literal(var) else values[var]

    for eqn in jaxpr.eqns:
        name, inputs = eqn.primitive.name, [read(var) for var in eqn.invars]
        if name in CALLS:
            found = interpreted(*inner_jaxpr(eqn.params[CALLS[name]]), inputs)
        else:
            params = {**eqn.params, "interpret": True} if name == "pallas_call" else eqn.params
            made = eqn.primitive.bind(*inputs, **params)
            found = list(made) if eqn.primitive.multiple_results else [made]
        values.update(zip(eqn.outvars, found, strict=True))
    return [read(var) for var in jaxpr.outvars]


@dataclass(eq=False)
class View:
    """What a function attends at one size.

    patterns: of each second product, by its path; several if it runs several times with other weights.
    firsts: paths of second products, by the path of the first product.
    softmax: paths of second products behind an exponential.
    lost: paths of products whose pairs are unknown, each with the reason.
    numbers: integers that stand between the two products, such as a window.
    small: numbers that were replaced by others.
    assumed: integer inputs whose values were assumed.
    """

    size: Size
    closed: Any
    order: list[tuple[int, ...]]
    products: list[Product]
    small: Mapping[int, int]
    names: Mapping[tuple[int, ...], str]
    patterns: dict[tuple[int, ...], list[Pattern]] = field(default_factory=dict)
    seconds_of: dict[tuple[int, ...], set[tuple[int, ...]]] = field(default_factory=dict)
    softmax: set[tuple[int, ...]] = field(default_factory=set)
    lost: dict[tuple[int, ...], str] = field(default_factory=dict)
    inputs: dict[tuple[int, ...], frozenset[str]] = field(default_factory=dict)
    numbers: set[int] = field(default_factory=set)
    assumed: set[str] = field(default_factory=set)


def ancestors(node: Node) -> list[Node]:
    """Returns a node and all nodes between it and the scores, with all that they meet."""
    seen: dict[int, Node] = {}
    left = [node]
    while left:
        one = left.pop()
        if id(one) not in seen:
            seen[id(one)] = one
            left += one.parents
    return list(seen.values())


def equal_patterns(a: Sequence[Pattern], b: Sequence[Pattern]) -> bool:
    return len(a) == len(b) and all(
        x.attended == y.attended
        and len(x.heads) == len(y.heads)
        and all(m == n and np.array_equal(p, r) for (p, m), (r, n) in zip(x.heads, y.heads))
        for x, y in zip(a, b)
    )


def forms_of(pattern: Array) -> list[tuple[str, tuple[int, ...]]]:
    """Returns the masks that a square pattern of pairs may come from."""
    length = len(pattern)
    if pattern.all():
        return [("bidirectional", ())]
    if not pattern.any(1).all():
        return []
    first, last = pattern.argmax(1), length - 1 - pattern[:, ::-1].argmax(1)
    place = np.arange(length)
    left = int((place - first)[first > 0].max(initial=-1))
    right = int((last - place)[last < length - 1].max(initial=-1))
    found: list[tuple[str, tuple[int, ...]]] = []
    if left < 0 and right == 0:
        found.append(("causal", ()))
    elif left >= 0 and right == 0:
        found.append(("sliding_window", (left + 1,)))
    elif left >= 0 or right >= 0:
        found.append(("window", (left, right)))
    without_first = np.flatnonzero(~pattern[:, 0])
    if len(without_first) and without_first[0] > 0:
        found.append(("chunked", (int(without_first[0]),)))
    prefix = int(pattern[0].sum())
    if prefix > 1:
        found.append(("prefix_lm", (prefix,)))
    return found


def named_mask(patterns: Sequence[Array]) -> tuple[str, tuple[int, ...]] | None:
    """Returns (kind, numbers) of the known mask that attends exactly these pairs at each length. None if there is
    none."""
    longest = max(patterns, key=len)
    for turned in (False, True):
        for kind, numbers in forms_of(longest.T if turned else longest):
            rule = rule_of(kind, numbers)
            is_its = rule is not None and all(np.array_equal(rule(*grid(len(one))), one.T if turned else one) for one in patterns)
            if is_its and not (turned and kind == "prefix_lm"):
                return kind, numbers
    return None


def grid(length: int) -> tuple[Array, Array]:
    place = np.arange(length)
    return place[:, None], place[None, :]


@dataclass(eq=False)
class Attended:
    """The pairs that a product attends.

    role: "scores" or "values" of an attention core; empty if it belongs to none.
    softmax: True if an exponential stands between the two products of its core.
    problem: why its pairs are unknown.
    named: (number of heads, of how many, kind, numbers) of known masks. Empty if some head has no known one.
    """

    role: str = ""
    softmax: bool = False
    problem: str = ""
    is_full: bool = True
    named: list[tuple[int, int, str, tuple[int, ...]]] = field(default_factory=list)
    cores: Cores | None = None
    group: Any = None

    def masks_for(self, square: str) -> list[tuple[int, int, Mask]]:
        """Returns (number of heads, of how many, mask) of the masks. Empty if they are not known ones."""
        found = []
        for heads, of, kind, numbers in self.named:
            mask = mask_of(kind, numbers, square)
            if mask is None:
                return []
            found.append((heads, of, mask))
        return found

    def statistics(self, total: Callable[[Size], int], component: str) -> list[tuple[Any, int]]:
        """Returns (statistic, FLOPs per unit) for the pairs that are attended, and for those that are masked out.

        total: a function from a size to the FLOPs of the product over all pairs.
        """
        assert self.cores is not None
        return self.cores.statistics(self.group, total, component)


NO_CORE = Attended()


def mask_of(kind: str, numbers: Sequence[int], square: str) -> Mask | None:
    if square == "crossed":
        return Mask.cross_attention() if kind == "bidirectional" else None
    if square == "key squares":
        if kind == "bidirectional":
            return Mask.encoder()
        window = {"causal": (-1, 0), "window": tuple(numbers), "sliding_window": (numbers[0] - 1 if numbers else 0, 0)}.get(
            kind
        )
        return None if window is None else Mask.encoder_window(*window)
    of: Any = getattr(Mask, kind)
    found: Mask = of(*numbers)
    return found


class Cores:
    """Finds the pairs that each product of a function attends.

    traces: the products at symbolic sizes, or at each of `fit_sizes`.
    """

    def __init__(self, function: Any, choices: Choices, traces: Sequence[Any], fit_sizes: Sequence[Size]) -> None:
        self.function = function
        self.choices = choices
        self.traces = traces
        self.fit_sizes = fit_sizes
        self.views: dict[Size, View] = {}
        self.shrunk: dict[Size, View] = {}  #: with large numbers replaced by small ones
        self.known: dict[str, Attended] = {}
        self.statistics_of: dict[tuple[str, str], Mask] = {}
        self.notes: list[str] = []
        self.is_fused = any(one.op.startswith(FUSED) for one in traces[0].products)
        self.problem = ""
        self.sizes: list[Size] = []
        self.has_cores = any(one.kind == "activations" for one in traces[0].products)
        if self.has_cores:
            self.look()

    # -- views --------------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Runs the masks at a few lengths, and beyond each number that may be a window."""
        first: Exception | None = None
        for sizes in self.families():
            try:
                for size in sizes:
                    self.view(size)
                self.sizes = list(sizes)
                break
            except Error:
                raise
            except Exception as problem:
                first = first or problem
        else:
            self.problem = f"it cannot be run at concrete sizes ({type_and_text(first, 160)})"
            return
        if self.function.sizes.arity == 1:
            return
        unit = self.unit()
        # A number that is there at every length is a constant of the function, such as a window.
        numbers = set.intersection(*(view.numbers for view in self.views.values()))
        beyond = sorted({-(-(n + 7) // unit) * unit for n in numbers if n + 7 > max(size[1] for size in self.sizes)})
        for length in [n for n in beyond if n <= LONGEST][-MOST_LENGTHS:]:
            size = (self.sizes[0][0], length, length if self.sizes[0][2] else 0)
            try:
                self.view(size)
                self.sizes.append(size)
            except Error:
                raise
            except Exception as problem:
                self.problem = (
                    f"they cannot be run at length {length}, beyond a window of that size ({type(problem).__name__})"
                )
        self.is_large = bool(beyond) and beyond[-1] > LONGEST
        self.furthest = max(beyond, default=0)
        if self.is_large and unit == 1:
            self.small = small_numbers(numbers, min(size[1] for size in self.sizes))
            longest = max(self.small.values(), default=0) + 17
            for size in [*self.sizes[: len(LENGTHS)], (self.sizes[0][0], longest, longest if self.sizes[0][2] else 0)]:
                if self.small:
                    self.shrunk[size] = self.viewed(size, self.small)

    small: dict[int, int] = {}
    is_large = False
    furthest = 0

    def unit(self) -> int:
        """Returns a number of which all lengths are multiples."""
        lengths = [size[1] for size in self.sizes]
        return int(np.gcd.reduce(lengths)) if lengths else 1

    def families(self) -> list[list[Size]]:
        """Returns lists of sizes at which masks are run."""
        sizes = self.function.sizes
        batch = 2 * sizes.factors[0]
        if sizes.arity == 1:
            return [[(batch, 0, 0)]]
        if self.fit_sizes:
            ordered = sorted({size[1:] for size in self.fit_sizes})
            return [[(batch, *one) for one in ordered[:3]]]
        result = []
        factor = sizes.factors[1]
        for chunk in (1, 16, 64, 128, 256, 512):
            lengths = [factor * chunk * n for n in (LENGTHS if factor * chunk == 1 else (2, 3, 5))]
            keys = (
                [sizes.factors[2] * chunk * n for n in (KEYS if sizes.factors[2] * chunk == 1 else (3, 5, 4))]
                if sizes.arity == 3
                else [0] * 3
            )
            result.append([(batch, n, k) for n, k in zip(lengths, keys)])
        return result

    def view(self, size: Size) -> View:
        if size not in self.views:
            self.views[size] = self.viewed(size)
        return self.views[size]

    def viewed(self, size: Size, small: Mapping[int, int] | None = None) -> View:
        symbols = self.function.sizes.symbols(size)
        from ._from_jax import walked

        walk, closed = walked(self.function, self.choices, symbols)
        view = View(size, closed, [one.path for one in walk.products], walk.products, small or {}, walk.names)
        if not self.fit_sizes:
            expected = self.traces[0].products
            if [evaluated(one.flops, symbols) for one in expected] != [one.flops for one in walk.products]:
                raise Unseen(f"it multiplies otherwise at {size[0]} samples, length {size[1]} than with symbolic sizes")
        self.fill(view)
        return view

    def graph(self, view: View, draw: str, seed: int, roles: Mapping[str, str], keep: bool = True) -> Graph:
        symbols = self.function.sizes.symbols(view.size)
        shapes = [tuple(evaluated(n, symbols) for n in leaf.shape) for leaf in self.function.leaves]
        lengths = {n for n in view.size[1:] if n}
        graph = Graph(
            self.choices,
            draw,
            seed,
            self.function.leaves,
            roles,
            keep,
            view.small,
            view.names,
            lengths,
            tokens_of(self.function),
        )
        graph.run(view.closed, shapes)
        return graph

    def fill(self, view: View) -> None:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 20000))
        try:
            self.fill_in(view)
        finally:
            sys.setrecursionlimit(limit)

    def fill_in(self, view: View) -> None:
        first = self.graph(view, DRAWS[0], 1, {})
        view.lost.update(first.lost)
        for path, seconds in first.seconds.items():
            for second in seconds:
                reached = ancestors(second.operand)
                for one in second.operand.scores:
                    view.seconds_of.setdefault(one, set()).add(path)
                if any(node.op in ("exp", "exp2", "logistic") and node.scores for node in reached):
                    view.softmax.add(path)
                view.inputs[path] = view.inputs.get(path, frozenset()) | second.operand.inputs
                view.numbers.update(*map(numbers_of, reached))
        for path, (eqn, nodes, turns) in first.kernels.items():
            scores, values = (*path, 0), (*path, 1)
            view.seconds_of[scores] = {values}
            view.softmax.add(values)
            try:
                view.patterns[values] = [pattern_of_kernel(eqn, nodes, turns)]
            except Exception as problem:
                view.lost[values] = (
                    f"the kernel {eqn.params['name']} cannot be run ({type_and_text(problem, 120)})"
                )
        by_inputs = any(view.inputs.values())
        others = [self.graph(view, draw, 2 + at, {}) for at, draw in enumerate(DRAWS[1:] if by_inputs else DRAWS[1:2])]
        roles = self.roles(frozenset[str]().union(*view.inputs.values()))
        by_role = self.graph(view, DRAWS[0], 5, roles) if roles else None
        without = self.graph(view, DRAWS[0], 6, roles, False)
        for path, seconds in first.seconds.items():
            try:
                found = [pattern_of(one) for one in seconds]
                if not any(one.attended for one in found):  # a random bool that drops
                    found = [pattern_of(one) for one in without.seconds.get(path, [])]
                    view.patterns[path] = found
                    continue
                same = all(
                    equal_patterns(found, [pattern_of(one) for one in other.seconds.get(path, [])]) for other in others
                )
                if same:
                    view.patterns[path] = found
                elif by_role is not None and view.inputs[path] <= set(roles):
                    view.patterns[path] = [pattern_of(one) for one in by_role.seconds.get(path, [])]
                    view.assumed |= view.inputs[path]
                else:
                    of = f": {', '.join(sorted(view.inputs[path]))}" if view.inputs[path] else ""
                    view.lost[path] = f"they depend on data{of}"
            except Unseen as problem:
                view.lost[path] = f"what stands before them {problem}"
            except Exception as problem:
                view.lost[path] = (
                    f"they cannot be run ({type_and_text(problem, 120)})"
                )

    def roles(self, inputs: frozenset[str]) -> dict[str, str]:
        """Returns what integer inputs mean, by their names: positions, or parts of a row that are no padding."""
        from ._from_jax import ROLES

        result: dict[str, str] = {}
        over_pairs = {
            leaf_name(leaf) for leaf, tokens in zip(self.function.leaves, tokens_of(self.function)) if len(tokens) > 1
        }
        for name in inputs - over_pairs:
            for role, words in ROLES.items():
                if any(word in self.called(name).lower() for word in words):
                    result.setdefault(name, role)
        return result

    def called(self, name: str) -> str:
        """Returns the name of an input with the name of the function's parameter."""
        import inspect

        try:
            parameters = list(inspect.signature(self.function.fn).parameters)
        except (TypeError, ValueError):
            return name
        number = int(name[len("args[") : name.index("]")])
        return (parameters[number] if number < len(parameters) else "") + name[name.index("]") + 1 :]

    # -- what a product attends ---------------------------------------------------------------------------------------

    def of(self, group: Any) -> Attended:
        """Returns what a product attends. group: its path in the trace, or its paths at each size that was traced."""
        key = repr(group)
        if key not in self.known:
            self.known[key] = self.found(group)
        return self.known[key]

    def paths(self, group: Any, view: View) -> list[tuple[int, ...]]:
        """Returns the paths of a product, or of a group of products, at a size."""
        if not self.fit_sizes:
            expected = self.traces[0].products
            return [view.order[at] for at, one in enumerate(expected) if one.path == group]
        at = next((at for at, size in enumerate(self.fit_sizes) if size[1:] == view.size[1:]), None)
        if at is not None:
            return [path for path in group[at] if path in view.order]

        def key(one: Product) -> tuple[Any, ...]:
            return one.op, one.key, one.place.scope, one.kind, one.weights

        keys = {key(one) for one in self.traces[0].products if one.path in group[0]}
        return [one.path for one in view.products if key(one) in keys]

    def seconds(self, group: Any, view: View) -> tuple[str, list[tuple[int, ...]]]:
        """Returns the role of a product and the paths of the second products of its core."""
        found: list[tuple[int, ...]] = []
        role = ""
        for path in self.paths(group, view):
            if path in view.patterns or (
                path in view.lost and path not in view.seconds_of and path not in self.first_paths(view)
            ):
                role = "values"
                found.append(path)
            elif path in view.seconds_of:
                role = role or "scores"
                found += sorted(view.seconds_of[path])
            elif path in view.lost:
                role = role or "scores"
                found.append(path)
        return role, found

    @staticmethod
    def first_paths(view: View) -> set[tuple[int, ...]]:
        return set(view.seconds_of)

    def found(self, group: Any) -> Attended:
        product = next(
            (one for one in self.traces[0].products if one.path == (group if not self.fit_sizes else (group[0] or [()])[0])),
            None,
        )
        if product is not None and product.op.startswith(CUDNN):
            return of_cudnn(product)
        if not self.has_cores:
            return NO_CORE
        if self.problem:
            is_core = product is not None and product.kind == "activations"
            return Attended("state", False, self.problem, False) if is_core else NO_CORE
        views = [self.views[size] for size in self.sizes]
        role, seconds = self.seconds(group, views[0])
        if not role:
            return NO_CORE
        softmax = any(path in views[0].softmax for path in seconds)
        reason = next((view.lost[path] for view in views for path in self.seconds(group, view)[1] if path in view.lost), "")
        if reason:
            return Attended(role, softmax, reason, False)
        patterns = [self.patterns(group, view) for view in views]
        if any(not several for several in patterns):
            return Attended(role, softmax, "some of its products are not found at every length", False)
        is_full = all(one.attended == one.every for several in patterns for one in several)
        result = Attended(role, softmax, "", is_full, [], self, group)
        if not is_full:
            result.named = self.named(patterns, views)
        if self.is_large and self.function.sizes.arity > 1:
            found = self.beyond(group)
            if found is None and self.furthest > FURTHEST:
                return Attended(
                    role, softmax, f"they may change beyond length {FURTHEST}, the longest at which a mask is run", False
                )
            result.named, result.is_full = (
                found or [],
                bool(found) and all(kind == "bidirectional" for _, _, kind, _ in found or []),
            )
        for view in views:
            for name in sorted(view.assumed):
                self.notes.append(
                    f"{self.called(name)}: the masks that depend on it count as if each row were one whole sequence"
                )
        return result

    def beyond(self, group: Any) -> list[tuple[int, int, str, tuple[int, ...]]] | None:
        """Returns the known masks of a product, with the numbers that are too large to be run. None if it has no known
        masks."""
        if not self.shrunk:
            return None
        views = list(self.shrunk.values())
        named = self.named([self.patterns(group, view) for view in views], views)
        original = {small + more: large + more for large, small in self.small.items() for more in (-1, 1)}
        original.update({small: large for large, small in self.small.items()})
        found = [(heads, of, kind, tuple(original.get(n, n) for n in numbers)) for heads, of, kind, numbers in named]
        return found or None

    def patterns(self, group: Any, view: View) -> list[Pattern]:
        role, seconds = self.seconds(group, view)
        paths = list(dict.fromkeys(seconds)) if role == "scores" else seconds
        return [one for path in paths for one in view.patterns.get(path, [])]

    def named(
        self, patterns: Sequence[Sequence[Pattern]], views: Sequence[View]
    ) -> list[tuple[int, int, str, tuple[int, ...]]]:
        """Returns (number of heads, of how many, kind, numbers) of known masks, if all heads have one at each length."""
        by_length: list[list[tuple[Array, int]]] = []
        for several, view in zip(patterns, views):
            if any(not one.heads or one.queries not in view.size or one.keys not in view.size for one in several):
                return []
            merged: dict[bytes, tuple[Array, int]] = {}
            for one in several:
                share = one.every // sum(number for _, number in one.heads)
                for pattern, number in one.heads:
                    key = pattern.tobytes()
                    merged[key] = (pattern, number * share + (merged[key][1] if key in merged else 0))
            by_length.append(list(merged.values()))
        # Two masks may be alike at a short length: a window, and all earlier tokens.
        most = max(by_length, key=len)
        result = []
        for at in range(len(most)):
            column = [several[at if len(several) == len(most) else 0][0] for several in by_length]
            if any(len(several) not in (1, len(most)) for several in by_length) or any(
                one.shape[0] != one.shape[1] for one in column
            ):
                return []
            found = named_mask(column)
            if found is None:
                return []
            result.append((most[at][1], sum(number for _, number in most), *found))
        shares = [Fraction(number, of) for number, of, _, _ in result]
        return [(share.numerator, share.denominator, kind, numbers) for share, (_, _, kind, numbers) in zip(shares, result)]

    # -- statistics ---------------------------------------------------------------------------------------------------

    def statistics(self, group: Any, total: Callable[[Size], int], component: str) -> list[tuple[Any, int]]:
        of_pair: set[Fraction] = set()
        for size in self.sizes:
            attended, every = self.count(group, size)
            of_pair.add(Fraction(total(size), every))
        if len(of_pair) != 1 or next(iter(of_pair)).denominator != 1:
            raise Error(
                component,
                "has a mask, but the FLOPs of its pairs differ from length to length: pass masks=floptally.Mask.causal() or another mask",
            )
        flops = int(next(iter(of_pair)))
        if self.function.sizes.arity == 1:
            attended, every = self.count(group, self.sizes[0])
            each, rest = divmod(attended, self.sizes[0][0])
            if rest:
                raise Error(
                    component,
                    "attends pairs that differ between the samples of a batch: pass masks=floptally.Mask.causal() or another mask",
                )
            return [("count", each * flops), (masked_out_of_count(every // self.sizes[0][0] - each), flops)]
        return [(self.statistic(group, component, "units"), flops), (self.statistic(group, component, "masked_out"), flops)]

    def count(self, group: Any, size: Size) -> tuple[int, int]:
        """Returns (attended pairs, all pairs) of all heads and samples at a size."""
        view = self.view(size)
        reason = next((view.lost[path] for path in self.seconds(group, view)[1] if path in view.lost), "")
        if reason:
            raise Error("masks", f"cannot be run at length {size[1]}: {reason}")
        found = self.patterns(group, view)
        if not found:
            if size[1] == 1 and size[2] in (0, 1):
                return self.count_of_one(group, size)
            raise Error("masks", f"cannot be run at {shown(size, self.function.sizes.arity)}: pass other lengths, or masks= to from_jax")
        return sum(one.attended for one in found), sum(one.every for one in found)

    def count_of_one(self, group: Any, size: Size) -> tuple[int, int]:
        """Returns (attended pairs, all pairs) of sequences of one token, whose axis of tokens looks like any other. It is
        the first pair of longer sequences, if all of them agree."""
        counts = set()
        for length in (2, 3, 4):
            view = self.view((size[0], length, length if size[2] else 0))
            attended, every = Fraction(0), Fraction(0)
            for one in self.patterns(group, view):
                heads = sum(number for _, number in one.heads)
                share = Fraction(one.every, heads * one.queries * one.keys) if heads else Fraction(0)
                attended += share * sum(number for pattern, number in one.heads if pattern[0, 0])
                every += share * heads
            counts.add((attended, every))
        attended, every = counts.pop()
        if counts or not every or attended.denominator * every.denominator != 1:
            raise Error("masks", "cannot be run at length 1, and longer sequences do not tell: pass masks= to from_jax")
        return int(attended), int(every)

    def statistic(self, group: Any, component: str, shape: Any) -> Mask:
        """Returns a statistic that runs the mask at any length."""
        known = repr(self.seconds(group, self.views[self.sizes[0]])[1]), shape
        if known in self.statistics_of:
            return self.statistics_of[known]
        batch = self.sizes[0][0]
        table: dict[tuple[int, int], int] = {}

        def at(length: int, keys: int) -> int:
            if (length, keys) not in table:
                attended, every = self.count(group, (batch, length, keys))
                number, rest = divmod(attended if shape == "units" else every - attended, batch)
                if rest:
                    raise Error("masks", f"differ between the samples of a batch at length {length}")
                table[length, keys] = number
            return table[length, keys]

        for size in self.sizes:
            at(*size[1:])
        number = len(STATISTICS)
        name = f"{'pairs' if shape == 'units' else 'masked_out_pairs'}_run_{number}"

        def count(length: int, past: int, keys: int) -> int:
            if past:
                raise Error(
                    "lengths",
                    f"{length} tokens after {past} cached tokens cannot be counted by the mask {name}: pass whole sequences",
                )
            if not length:
                return 0
            if (length, keys) not in table and length > FURTHEST:
                raise Error(
                    "lengths",
                    f"length {length} is too long to run the mask {name} of {component}, which is no known mask: pass masks= to from_jax",
                )
            return at(length, keys if self.function.sizes.arity == 3 else 0)

        STATISTICS.append(Mask.from_callable(name, count, shape=shape))
        self.statistics_of[known] = STATISTICS[-1]
        return STATISTICS[-1]


#: Statistics that run a mask to count its pairs.
STATISTICS: list[Mask] = []


def masked_out_of_count(pairs: int) -> Mask:
    """Returns a statistic of a fixed number of masked pairs for each sample."""
    if pairs not in FIXED:
        FIXED[pairs] = Mask.from_callable(
            f"masked_out_pairs_fixed_{pairs}", lambda length, past, keys: pairs, shape="masked_out"
        )
    return FIXED[pairs]


FIXED: dict[int, Mask] = {}


def small_numbers(numbers: set[int], least: int) -> dict[int, int]:
    """Returns small numbers for those above `least`, in the same order. Numbers that differ by 1 or 2, such as a window and
    what precedes it, still do. Empty if there are too many."""
    result: dict[int, int] = {}
    before, small = -10, least + 8
    for number in sorted(n for n in numbers if n > least):
        small += number - before if number - before <= 2 else 10
        result[number] = small
        before = number
    return result if small < 200 else {}


def numbers_of(node: Node) -> set[int]:
    """Returns the integers in a small known value: they may be a window or a chunk."""
    if node.state != KNOWN or node.inputs or prod(node.shape) > MOST_NUMBERS or node.dtype is None:
        return set()
    try:
        values = node.value()
    except Exception:  # it depends on random numbers, or is of a type without numbers
        return set()
    if values.dtype.kind not in "iuf":
        return set()
    found = {abs(float(value)) for value in values.reshape(-1)}
    return {int(value) for value in found if value.is_integer() and 2 <= value < NO_LIMIT}


def of_cudnn(product: Product) -> Attended:
    """Returns what cuDNN's attention attends, from the parameters of its primitive."""
    role = product.op.rpartition(":")[2]
    params = product.eqn.params
    mask = str(getattr(params.get("mask_type"), "name", params.get("mask_type", "NO_MASK"))).upper()
    window = params.get("sliding_window_length")
    bias = product.eqn.invars[3].aval.shape if len(product.eqn.invars) > 3 else (0,)
    if role not in ("scores", "values"):
        return NO_CORE
    problem = ""
    if "PADDING" in mask:
        problem = "cuDNN's padding mask depends on data"
    elif prod(n for n in bias if not is_symbolic(n)) != 0:
        problem = "cuDNN's bias may be a mask"
    if problem:
        return Attended(role, True, problem, False)
    if window:
        return Attended(role, True, "", False, [(1, 1, "sliding_window", (int(window),))])
    if "CAUSAL" in mask:
        return Attended(role, True, "", False, [(1, 1, "causal", ())])
    return Attended(role, True)
