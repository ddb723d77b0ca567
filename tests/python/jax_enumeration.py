# SPDX-License-Identifier: Apache-2.0
"""Counts the products of a JAX function by running it: the expected numbers of the tests of floptally.from_jax.

`products_of(function, *args)` walks the jaxpr as a run does, one equation after the other. It takes each turn of a loop
and the chosen branch of a `cond`. Values are computed where they decide what runs. Each product is counted by summing
ones: one for each multiply-add. Nothing here has a formula in sizes, and nothing is shared with floptally.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np
from jax.extend import core

#: Primitives that hold one jaxpr and apply it to their own arguments, and the parameter with the jaxpr.
CALLS = ("jit", "pjit", "closed_call", "core_call", "remat2", "checkpoint", "custom_jvp_call", "custom_vjp_call", "custom_lin")


def products_of(function: Callable[..., Any], *args: Any) -> list[Product]:
    """Returns the products that run if `function(*args)` is compiled and called, in order."""
    closed, used = without_unused(function, *args)
    products: list[Product] = []
    evaluate(closed.jaxpr, closed.consts, map(value_of, used), products)
    return products


def flops_of(products: Iterable[Product]) -> int:
    return 2 * sum(one.multiplied for one in products)


def exact_flops(products: Iterable[Product], attended: Mapping[tuple[int, int], int | Fraction]) -> int:
    """Returns the FLOPs over attended pairs. Products over pairs are recognised by their sizes.

    attended: attended pairs of one sequence by (queries, keys), two lengths that no other axis has. If layers or heads
        differ, the mean over all of them.
    """
    total = Fraction(0)
    for one in products:
        over = [lengths for lengths in attended if one.over_pairs(*lengths)]
        assert len(over) < 2
        total += one.multiplied * Fraction(attended[over[0]]) / (over[0][0] * over[0][1]) if over else one.multiplied
    assert total.denominator == 1
    return int(2 * total)


def pairs(attends: Callable[[int, int], bool], queries: int, keys: int | None = None) -> int:
    """Counts the pairs (query, key) for which `attends` is true, one by one."""
    return sum(bool(attends(q, k)) for q in range(queries) for k in range(queries if keys is None else keys))


# The interpreter.


class Value:
    """An array of the run. It is computed when something asks for it: a condition, group sizes or a test."""

    def __init__(self, shape: Iterable[int], compute: Callable[[], Any]) -> None:
        self.shape = tuple(shape)
        self.compute = compute

    @cached_property
    def array(self) -> Any:
        return self.compute()

    def __getitem__(self, turn: int) -> Value:
        return Value(self.shape[1:], lambda: self.array[turn])


def value_of(array: Any) -> Value:
    return Value(np.shape(array), lambda: array)


def without_unused(function: Callable[..., Any], *args: Any) -> tuple[Any, list[Any]]:
    """Returns the jaxpr without equations whose results nothing uses, as a compiler leaves them out, and its inputs."""
    from jax.interpreters import partial_eval

    closed = jax.make_jaxpr(function)(*args)
    jaxpr, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    return core.ClosedJaxpr(jaxpr, closed.consts), [one for one, needed in zip(jax.tree.leaves(args), used) if needed]


def evaluate(jaxpr: Any, consts: Iterable[Any], args: Iterable[Value], products: list[Product], within: str = "") -> list[Value]:
    """Evaluates a jaxpr and appends its products to `products`."""
    values: dict[Any, Value] = dict(zip(jaxpr.constvars, map(value_of, consts), strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(variable: Any) -> Value:
        return value_of(variable.val) if isinstance(variable, core.Literal) else values[variable]

    for eqn in jaxpr.eqns:
        inputs = [read(one) for one in eqn.invars]
        where = "/".join(one for one in (within, str(eqn.source_info.name_stack)) if one)
        values.update(zip(eqn.outvars, outputs_of(eqn, inputs, products, where), strict=True))
    return [read(one) for one in jaxpr.outvars]


def outputs_of(eqn: Any, inputs: list[Value], products: list[Product], where: str) -> list[Value]:
    name, params = eqn.primitive.name, eqn.params

    def inner(jaxpr: Any, values: Iterable[Value]) -> list[Value]:
        return evaluate(getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ()), values, products, where)

    if name in CALLS:
        key = next(key for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in params)
        return inner(params[key], inputs)
    if name == "scan":
        return every_turn(eqn, inputs, inner)
    if name == "while":
        of_cond, of_body = params["cond_nconsts"], params["body_nconsts"]
        fixed, own, carry = inputs[:of_cond], inputs[of_cond : of_cond + of_body], inputs[of_cond + of_body :]
        while inner(params["cond_jaxpr"], [*fixed, *carry])[0].array:
            carry = inner(params["body_jaxpr"], [*own, *carry])
        return carry
    if name == "cond":
        branches = params["branches"]
        return inner(branches[min(max(int(inputs[0].array), 0), len(branches) - 1)], inputs[1:])
    if name == "shard_map":
        axes = params["newly_manual_axes" if "newly_manual_axes" in params else "manual_axes"]
        of_each: list[Product] = []
        jaxpr = params["jaxpr"]
        unknown = [Value(one.aval.shape, lambda: None) for one in jaxpr.invars]
        evaluate(jaxpr, (), unknown, of_each, where)
        for _ in np.ndindex(*(params["mesh"].shape[axis] for axis in axes)):
            products.extend(of_each)
    elif name in ("dot_general", "conv_general_dilated", "ragged_dot_general") and not is_elementwise(eqn, where):
        products.append(Product(eqn, tuple(inputs), where))
    return bound(eqn, inputs)


def is_elementwise(eqn: Any, where: str) -> bool:
    """True if a dot_general is an elementwise multiplication, such as a norm's x * scale as einsum("blk,k->blk"), or its
    gradient. It sums nothing, and all axes of one operand are among those of the other. Its gradient for that operand
    sums x * dy, which have the same axes."""
    if eqn.primitive.name != "dot_general":
        return False
    (summed, _), (batched, _) = eqn.params["dimension_numbers"]
    axes = [one.aval.ndim for one in eqn.invars]
    if not summed:
        return len(batched) in axes
    return "transpose(" in where and bool(batched) and axes == [len(batched) + len(summed)] * 2


def bound(eqn: Any, inputs: list[Value]) -> list[Value]:
    """Returns the results of an equation that has no jaxpr, or whose jaxpr was walked."""

    def compute() -> Any:
        found = eqn.primitive.get_bind_params(eqn.params)
        functions, params = found if isinstance(found, tuple) else ((), found)  # a tuple before JAX 0.8
        made = eqn.primitive.bind(*functions, *(one.array for one in inputs), **params)
        return made if eqn.primitive.multiple_results else [made]

    together = Value((), compute)
    return [Value(one.aval.shape, partial(lambda at: together.array[at], at)) for at, one in enumerate(eqn.outvars)]


def every_turn(eqn: Any, inputs: list[Value], inner: Callable[..., list[Value]]) -> list[Value]:
    """Evaluates each turn of a scan."""
    params = eqn.params
    of_all, carried = params["num_consts"], params["num_carry"]
    fixed, carry, series = inputs[:of_all], inputs[of_all : of_all + carried], inputs[of_all + carried :]
    stacked: list[list[Value]] = []
    turns = range(params["length"])
    for turn in reversed(turns) if params["reverse"] else turns:
        made = inner(params["jaxpr"], [*fixed, *carry, *(one[turn] for one in series)])
        carry = made[:carried]
        stacked.append(made[carried:])
    if params["reverse"]:
        stacked.reverse()

    def column(at: int) -> Any:
        return jax.numpy.stack([made[at].array for made in stacked])

    return [*carry, *(Value(one.aval.shape, partial(column, at)) for at, one in enumerate(eqn.outvars[carried:]))]


# Products.


class Product:
    """One run of one product. where: the name stack, such as "transpose(jvp(Block))"."""

    def __init__(self, eqn: Any, inputs: tuple[Value, ...], where: str) -> None:
        self.eqn = eqn
        self.inputs = inputs
        self.where = where

    def __repr__(self) -> str:
        return f"{self.eqn.primitive.name} {' x '.join(str(one.shape) for one in self.inputs[:2])} {self.where}"

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the axes of the result and, of a dot_general, of the summed axes."""
        summed = self.eqn.params["dimension_numbers"][0][0] if self.eqn.primitive.name == "dot_general" else ()
        return (*self.eqn.outvars[0].aval.shape, *(self.inputs[0].shape[axis] for axis in summed))

    def over_pairs(self, queries: int, keys: int) -> bool:
        """True if two axes are as long as the sequences of queries and of keys."""
        if queries == keys:
            return self.sizes.count(queries) >= 2
        return queries in self.sizes and keys in self.sizes

    @cached_property
    def multiplied(self) -> int:
        """How many multiply-adds run: the sum of a product of ones."""
        name, params, shapes = self.eqn.primitive.name, self.eqn.params, [one.shape for one in self.inputs]
        if name == "dot_general":
            return self.summed(*(np.ones(shape, np.int64) for shape in shapes))
        if name == "ragged_dot_general":  # with the group sizes of the run
            ones = [jax.numpy.ones(shape, jax.numpy.float32) for shape in shapes[:2]]
            params = {**params, "preferred_element_type": jax.numpy.float32}
            return int(np.asarray(self.eqn.primitive.bind(*ones, self.inputs[2].array, **params), np.float64).sum())
        # Each element of the result counts a whole window. Padding counts too, as in FlopCounterMode.
        window = np.ones(np.delete(np.asarray(shapes[1]), params["dimension_numbers"].rhs_spec[0]), np.int64)
        return sum(int(window.sum()) for _ in np.ndindex(*self.eqn.outvars[0].aval.shape))

    @property
    def nonzero(self) -> int:
        """How many multiply-adds of a dot_general have two operands that are not 0."""
        return self.summed(*((np.asarray(one.array) != 0).astype(np.int64) for one in self.inputs))

    def summed(self, left: Any, right: Any) -> int:
        (summed, summed_right), (batched, batched_right) = self.eqn.params["dimension_numbers"]
        letters = iter(string.ascii_letters)
        of_left = [next(letters) for _ in range(left.ndim)]
        same = dict(zip((*summed_right, *batched_right), (of_left[axis] for axis in (*summed, *batched))))
        of_right = [same.get(axis) or next(letters) for axis in range(right.ndim)]
        return int(np.einsum(f"{''.join(of_left)},{''.join(of_right)}->", left, right, optimize=True))
