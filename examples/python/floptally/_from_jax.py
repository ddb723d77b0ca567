# SPDX-License-Identifier: Apache-2.0
"""Counts the cost of any JAX function: traces it with symbolic sizes, so that its FLOPs are formulas of the lengths.

`from_jax` traces the function and the gradient of its loss. Nothing is computed on the weights. The products of the
forward, with the number of times that the gradient multiplies again, make the entries of a cost. Their sum must be what
the traced gradient multiplies, as a polynomial of the sizes. A function that JAX cannot trace with symbolic sizes is
traced at several sizes, and its FLOPs are fitted, as in from_torch.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from math import gcd
from typing import Any, cast

from ._core import Cost, Entry, Error, Mask, Plan
from ._errors import AssumptionWarning, type_and_text
from ._from_torch import NOT_A_PRODUCT, given_masks
from ._jax_masks import NO_CORE, Cores, branches_that_run
from ._jax_products import (
    COUNTS,
    FUSED,
    Choices,
    Dim,
    Origin,
    Product,
    Walk,
    evaluated,
    is_equal,
    is_floating,
    is_symbolic,
    is_zero,
    polynomial,
    product_of,
    symbols_of,
)
from ._traced_entries import (
    OF_ARITY,
    POSITION_WORDS,
    QUADRATIC,
    EntryRows,
    Names,
    Size,
    shown,
    solved,
    statistic,
    unit_of_entry,
    with_others,
    without_first,
)

#: Lengths at which a function is traced that JAX cannot trace with symbolic sizes: to fit, and to check.
LENGTHS = (32, 48, 80, 57, 131, 33, 46, 258)
SHORT_LENGTHS = (7, 11, 19, 14, 24, 9, 13, 26)  #: for functions of few positions
KEYS = (40, 56, 72, 61, 97, 35, 64, 131)
#: If the function does not run at these lengths: multiples of a chunk.
CHUNKS = (16, 64, 128, 256, 512)
MULTIPLES = (2, 3, 5, 4, 7, 9, 6, 11)
#: Parts of names of integer arguments that say where sequences begin or are padded, not what tokens they have.
ROLES = {"position": ("position", "pos_id"), "valid": ("segment", "mask", "valid", "attention", "padding")}
NOT_IN_THE_PLAN = "not all in the plan"


def from_jax(
    fn: Callable[..., Any],
    *args: Any,
    argnums: int | Sequence[int] = 0,
    lengths: Sequence[int] | None = None,
    masks: Mask | str | Mapping[str, Mask | str] | None = None,
    components: Mapping[str, str] | Callable[[str], str] | None = None,
    terms: Mapping[str, str] | None = None,
    turns: Mapping[str, Any] | None = None,
    branches: Mapping[str, int] | None = None,
    formulas: Mapping[str, Callable[..., Any]] | None = None,
) -> Cost:
    """Returns the cost of a JAX function: of a training step, or of a forward.

    It computes nothing: JAX traces the function and its gradient. ``jax.jit``, ``jax.checkpoint``, ``jax.vmap``,
    ``jax.lax.scan``, ``shard_map`` and custom gradients may be in it. A scan counts its body times its length. What
    ``jax.checkpoint`` runs again is recomputation: executed, not useful. The function may be for Flax, Equinox or plain
    JAX.

    Args:
        fn: a function that returns the loss. If it returns several arrays (any pytree), their sum is the loss. Integers are
            left out.
        args: what `fn` takes: pytrees of arrays or of ``jax.ShapeDtypeStruct``. Other leaves, such as the functions in an
            Equinox model, are passed on.
            Symbols say which sizes vary: ``batch, length = jax.export.symbolic_shape("batch, length")``. The first symbol
            in the arguments that do not train is the batch, the second the length, the third the length of the encoder
            (``encoder_lengths=``). A length may be a multiple of a symbol: ``"batch, 64*chunks"``.
            Without symbols the first integer array [batch, length] or floating array [batch, length, width] of these
            arguments says the two sizes. Equal axes of the arguments that do not train then vary.
        argnums: which arguments train, as in ``jax.grad``: a number or several. ``()`` counts only the forward. An array
            in another argument is data if one of its sizes varies. Otherwise it is a frozen weight.
        lengths: five lengths or more, for a function that JAX cannot trace with symbolic sizes. It is traced at each of
            them. If it works in chunks, pass multiples of the chunk length: the cost then holds for such lengths only.
        masks: one mask for all attention cores, or a dict of masks by patterns of component names
            (``{"layers.*.attention": Mask.causal()}``). A mask is a ``Mask`` or its name. By default masks are detected:
            what stands between the two products of an attention is evaluated on random scores.
        components: names of components, by patterns of the weights' paths (``{"layers.*.q": "attention.q"}``) or by a
            function of them. Default: the path in the arguments, with ``*`` for a layer's index.
        terms: kinds of products (``"router"``, ``"lm_head"``, …), by patterns of component names.
        turns: how often loops run whose number of turns data decide: {name of the loop: turns}. The error says the name.
        branches: which branch of a conditional runs: {name of the conditional: index}. The error says the name.
        formulas: functions for primitives and kernels that floptally cannot count: {name: function}. A function takes
            the shapes and dtypes of the arguments (JAX's abstract values) and returns the FLOPs. It returns 0 for a
            primitive that multiplies nothing.

    Returns:
        A cost like that of ``floptally.cost``. Its plan has the components that ``jax.checkpoint`` runs again.

    Raises:
        Error: for loops and conditionals whose course data decide, for kernels and factorizations without a form, for
            masks that depend on data, for FLOPs that no cost can express, and for keys that match nothing.

    Warns:
        AssumptionWarning: if the function has Fourier transforms, since their FLOPs are not counted. Also if the
            backward runs parts of the forward again that no plan can say.
    """
    function = Function(fn, args, argnums)
    choices = Choices(turns or {}, branches or {}, formulas or {})
    cost = Counting(function, choices, lengths, masks, components, terms or {}).cost()
    for note in cost.notes:
        if note.endswith(NOT_A_PRODUCT) or NOT_IN_THE_PLAN in note:
            warnings.warn(note, AssumptionWarning, stacklevel=2)
    return cost


# -- the function and its arguments ------------------------------------------------------------------------------------


@dataclass
class Leaf:
    """An array in the arguments."""

    index: int  #: among all arrays
    argument: int
    path: tuple[str, ...]
    shape: tuple[Dim, ...]
    dtype: Any
    trains: bool
    is_numbered: bool = False  #: True if the last part of the path is the number of a child that has no name
    is_data: bool = False

    @property
    def is_floating(self) -> bool:
        return is_floating(self)

    @property
    def name(self) -> str:
        return ".".join(self.path)


@dataclass(frozen=True)
class Sizes:
    """Which symbols vary.

    names: of the symbols of the batch, the length and the encoder's length.
    factors: how many samples or tokens one such symbol stands for: 64 if the length is 64*chunks.
    """

    names: tuple[str, ...]
    factors: tuple[int, ...]

    @property
    def arity(self) -> int:
        return len(self.names)

    def symbols(self, size: Size) -> dict[str, int]:
        """Returns the values of the symbols for (samples, length, keys)."""
        result = {}
        for name, factor, whole, what in zip(self.names, self.factors, size, ("lengths", "lengths", "encoder_lengths")):
            value, rest = divmod(whole, factor)
            if rest:
                raise Error(what, f"must be multiples of {factor}, as the function was traced, got {whole}")
            result[name] = value
        return result


class Function:
    """The user's function of a flat list of arrays."""

    def __init__(self, fn: Callable[..., Any], args: Sequence[Any], argnums: int | Sequence[int]) -> None:
        try:
            import jax
        except ImportError as problem:
            raise Error("fn", "needs JAX: install it by pip install 'floptally[jax]'") from problem
        if not callable(fn):
            raise Error("fn", f"must be a function, got {fn!r}")
        self.fn = fn
        self.name = getattr(fn, "__name__", type(fn).__name__)
        self.trained = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        for number in self.trained:
            if isinstance(number, bool) or not isinstance(number, int) or not -len(args) <= number < len(args):
                raise Error("argnums", f"must be indices of the {len(args)} arguments, got {argnums!r}")
        self.trained = tuple(number % len(args) for number in self.trained)
        flat, self.tree = jax.tree_util.tree_flatten_with_path(tuple(args))
        self.leaves: list[Leaf] = []
        self.static: list[Any] = []
        self.places: list[int] = []  # of the leaves that are arrays
        for place, (path, value) in enumerate(flat):
            self.static.append(value)
            if not (hasattr(value, "shape") and hasattr(value, "dtype")):
                continue
            argument = int(path[0].idx)
            trains = argument in self.trained
            is_numbered = len(path) > 1 and isinstance(path[-1], jax.tree_util.FlattenedIndexKey)
            leaf = Leaf(len(self.leaves), argument, names_in(path[1:]), tuple(value.shape), value.dtype, trains, is_numbered)
            leaf.trains = trains and leaf.is_floating
            self.leaves.append(leaf)
            self.places.append(place)
        if not self.leaves:
            raise Error("args", "have no array: pass the arrays that the function takes, or jax.ShapeDtypeStruct")
        if self.trained and not any(leaf.trains for leaf in self.leaves):
            raise Error(
                "argnums",
                f"name no floating array to train, got {argnums!r}: pass the index of the weights, or () for a forward",
            )
        self.notes: list[str] = []
        self.sizes = self.read_sizes()
        self.set_data()

    # -- sizes ----------------------------------------------------------------------------------------------------

    def inputs(self) -> list[Leaf]:
        """Returns the arrays that may be data: those of arguments that do not train."""
        found = [leaf for leaf in self.leaves if leaf.argument not in self.trained]
        if not self.trained and len({leaf.argument for leaf in found}) > 1:
            found = [leaf for leaf in found if leaf.argument > 0]  # the first argument is the model
        return found or self.leaves

    def read_sizes(self) -> Sizes:
        inputs = self.inputs()
        for leaves in (inputs, self.leaves):
            names = list(dict.fromkeys(name for leaf in leaves for n in leaf.shape for name in symbols_of(n)))
            if names:
                break
        if names:
            every = {name for leaf in self.leaves for n in leaf.shape for name in symbols_of(n)}
            if len(every) > 3:
                raise Error(
                    "args",
                    f"have the symbols {', '.join(sorted(every))}, but at most three sizes can vary: batch, length and keys",
                )
            names += sorted(every - set(names))
            return Sizes(tuple(names), tuple(self.factor(name, leaves) for name in names))
        return self.of_example(inputs)

    @staticmethod
    def factor(name: str, leaves: Sequence[Leaf]) -> int:
        """Returns n if the symbol stands for n tokens: if the first size with it is n*symbol."""
        for leaf in leaves:
            for size in leaf.shape:
                if symbols_of(size) == [name]:
                    found = polynomial(size)
                    if set(found) == {((name, 1),)}:
                        return found[((name, 1),)]
                    return 1
        return 1

    def of_example(self, inputs: Sequence[Leaf]) -> Sizes:
        """Makes sizes of an example symbolic. Returns the sizes that vary."""
        from jax import export

        typical = [leaf for leaf in inputs if len(leaf.shape) == (3 if leaf.is_floating else 2)]
        first = next((leaf for leaf in typical if not leaf.is_floating), typical[0] if typical else None)
        if first is not None and typical[0].argument == first.argument:
            first = typical[0]
        if first is None:
            first = next((leaf for leaf in inputs if leaf.shape and leaf.is_floating), None)
            first = first or next((leaf for leaf in inputs if leaf.shape), None)
            if first is None:
                raise Error(
                    "args", "have no array whose size varies: pass sizes of jax.export.symbolic_shape('batch, length')"
                )
            batch, length = int(first.shape[0]), 0
        else:
            batch, length = int(first.shape[0]), int(first.shape[1])
        if batch == length:
            raise Error(
                "args",
                f"have batch and length {batch} both: pass an example where they differ, or sizes of "
                "jax.export.symbolic_shape('batch, length')",
            )
        symbols = export.symbolic_shape("batch, length" if length else "batch")
        where = f"args[{first.argument}]" + "".join(f"[{part!r}]" for part in first.path)
        self.notes.append(
            f"{where} says what varies: batch {batch}" + (f", length {length}" if length else "") + ". Symbols of "
            "jax.export.symbolic_shape in the arguments say it otherwise"
        )
        original = {leaf.index: leaf.shape for leaf in inputs}
        only_batch = [
            (symbols[0], *leaf.shape[1:]) if leaf.index in original and leaf.shape[:1] == (batch,) else leaf.shape
            for leaf in self.leaves
        ]
        self.batch_only = only_batch if length else []

        def read(only_second: bool) -> list[tuple[Dim, ...]]:
            shapes = []
            for leaf in self.leaves:
                shape = original.get(leaf.index)
                if shape is None:
                    shapes.append(leaf.shape)
                    continue
                varies = leaf.shape[:1] == (batch,) or not leaf.is_floating
                shapes.append(
                    tuple(
                        symbols[0] if axis == 0 and n == batch
                        else symbols[1] if varies and length and n == length and (axis == 1 or (axis > 0 and not only_second)) else n
                        for axis, n in enumerate(shape)
                    )
                )  # fmt: skip
            return shapes

        self.readings = [read(False)]
        if read(True) != self.readings[0]:
            self.readings.append(read(True))
        self.take_reading(self.readings.pop(0))
        return Sizes(("batch", "length") if length else ("batch",), (1, 1) if length else (1,))

    #: Other ways to read an example's sizes, if the function cannot be traced with the first one.
    readings: list[list[tuple[Dim, ...]]] = []
    batch_only: list[tuple[Dim, ...]] = []

    def take_batch_only(self) -> bool:
        """Reads an example as one whose batch alone varies. False if it was read so before, or has symbols."""
        if not self.batch_only:
            return False
        self.take_reading(self.batch_only)
        self.batch_only = []
        self.sizes = Sizes(("batch",), (1,))
        self.notes = ["the length of the example is fixed: the function cannot be traced at others"]
        return True

    def take_reading(self, shapes: Sequence[tuple[Dim, ...]]) -> None:
        for leaf, shape in zip(self.leaves, shapes):
            leaf.shape = tuple(shape)
        self.set_data()

    def set_data(self) -> None:
        for leaf in self.leaves:
            varies = any(is_symbolic(n) for n in leaf.shape)
            leaf.is_data = varies or (leaf.argument not in self.trained and not leaf.is_floating)

    # -- traces ---------------------------------------------------------------------------------------------------

    def avals(self, symbols: Mapping[str, int] | None) -> list[Any]:
        """Returns abstract arrays of all leaves. symbols: values of the symbols; None: they stay symbols."""
        import jax

        return [
            jax.ShapeDtypeStruct(
                leaf.shape if symbols is None else tuple(evaluated(n, symbols) for n in leaf.shape), leaf.dtype
            )
            for leaf in self.leaves
        ]

    def call(self, *arrays: Any) -> Any:
        import jax

        flat = list(self.static)
        for place, value in zip(self.places, arrays):
            flat[place] = value
        return self.fn(*jax.tree_util.tree_unflatten(self.tree, flat))

    def outputs(self, *arrays: Any) -> list[Any]:
        """Runs the function. Returns the arrays of its result: the floating ones if there is a loss."""
        import jax

        found = [one for one in jax.tree_util.tree_leaves(self.call(*arrays)) if hasattr(one, "dtype")]
        floating = [one for one in found if is_floating(one)]
        if self.trained and not floating:
            raise Error("fn", "returns no floating array to train on: return a loss, or pass argnums=() for a forward")
        return floating if self.trained else found

    def forward(self, symbols: Mapping[str, int] | None) -> Any:
        import jax

        return without_dead_code(jax.make_jaxpr(self.outputs)(*self.avals(symbols)))

    def step(self, symbols: Mapping[str, int] | None) -> Any:
        """Returns the jaxpr of the forward and of the gradient by the leaves that train. Its last argument is the gradient
        of the loss."""
        import jax

        chosen = [leaf.index for leaf in self.leaves if leaf.trains]

        def loss(trained: Sequence[Any], arrays: Sequence[Any]) -> Any:
            whole = list(arrays)
            for index, value in zip(chosen, trained):
                whole[index] = value
            return summed(one.real.sum().astype("float32") for one in self.outputs(*whole))

        def whole_step(arrays: Sequence[Any], gradient: Any) -> Any:
            value, pull = jax.vjp(lambda trained: loss(trained, arrays), [arrays[index] for index in chosen])
            return value, pull(gradient)

        return without_dead_code(jax.make_jaxpr(whole_step)(self.avals(symbols), jax.ShapeDtypeStruct((), "float32")))

    def origins(self) -> list[Origin]:
        """Returns what each leaf depends on: itself."""
        return [
            Origin(frozenset() if leaf.is_data else frozenset([leaf.index]), leaf.is_data, leaf.trains)
            for leaf in self.leaves
        ]


def without_dead_code(closed: Any) -> Any:
    """Removes equations whose results are not used, as XLA does."""
    from jax.interpreters import partial_eval

    jaxpr, _ = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    return closed.replace(jaxpr=jaxpr)


def names_in(path: Sequence[Any]) -> tuple[str, ...]:
    """Returns the parts of a path in a pytree: keys, indices and attribute names."""
    parts = []
    for one in path:
        for attribute in ("key", "idx", "name"):
            if hasattr(one, attribute):
                parts.append(str(getattr(one, attribute)))
                break
        else:
            parts.append(str(one).strip(".[]'\""))
    return tuple(parts)


# -- traces and their products ----------------------------------------------------------------------------------------


@dataclass(eq=False)
class Traced:
    """The products of the forward at one size, or at symbolic sizes.

    times: how many products of the same size the backward has, for each product.
    again: products that the backward runs once more, by jax.checkpoint.
    gradients: (place, FLOPs) of products of the backward that belong to no product of the forward.
    """

    walk: Walk
    closed: Any
    times: dict[int, int] = field(default_factory=dict)
    again: set[int] = field(default_factory=set)
    gradients: list[tuple[Any, Dim]] = field(default_factory=list)
    recomputed: Dim = 0
    backward: Dim = 0
    notes: list[str] = field(default_factory=list)

    @property
    def products(self) -> list[Product]:
        return self.walk.products


def traced(function: Function, choices: Choices, symbols: Mapping[str, int] | None) -> Traced:
    walk, closed = walked(function, choices, symbols)
    result = Traced(walk, closed)
    if not function.trained:
        result.times = dict.fromkeys(map(id, walk.products), 2)
        return result
    step = function.step(symbols)
    both = Walk(choices, Decided(function, choices, function.step, symbols))
    both.whole(step, [*function.origins(), Origin(cotangent=True)])
    settle(result, both.products)
    return result


def walked(function: Function, choices: Choices, symbols: Mapping[str, int] | None) -> tuple[Walk, Any]:
    """Traces the forward. Returns its products and its jaxpr. symbols: values of the symbols; None: they stay symbols."""
    closed = function.forward(symbols)
    walk = Walk(choices, Decided(function, choices, function.forward, symbols))
    walk.whole(closed, function.origins())
    return walk, closed


class Decided:
    """Says which branches of conditionals run that shapes and constants decide, such as those of every second layer."""

    def __init__(
        self, function: Function, choices: Choices, trace: Callable[..., Any], symbols: Mapping[str, int] | None
    ) -> None:
        self.function = function
        self.choices = choices
        self.trace = trace
        self.symbols = symbols
        self.found: dict[tuple[int, ...], dict[int, int]] | None = None

    def __call__(self, path: tuple[int, ...]) -> Mapping[int, int] | None:
        if self.found is None:
            self.found = {}
            sizes = self.function.sizes
            with contextlib.suppress(Exception):
                size: Any = tuple(2 * factor * n for factor, n in zip((*sizes.factors, 1, 1)[:3], (1, 8, 11)))
                size = size[: sizes.arity] + (0,) * (3 - sizes.arity)
                if self.symbols is not None:
                    size = tuple(self.symbols[name] * factor for name, factor in zip(sizes.names, sizes.factors))
                    size += (0,) * (3 - len(size))
                closed = self.trace(sizes.symbols(size))
                self.found = branches_that_run(self.function, self.choices, closed, size, {})
        return self.found.get(path)


def summed(sizes: Iterable[Dim]) -> Dim:
    total: Dim = 0
    for one in sizes:
        total = total + one
    return total


def settle(result: Traced, step: Sequence[Product]) -> None:
    """Finds out how many products of the backward belong to each product of the forward, and which products run again.

    Products are matched by the lines of code around them and by their FLOPs. What is left over, such as the products of
    custom gradients, is matched by FLOPs alone. A product of the backward that belongs to none becomes an entry of its
    own. So the entries always add up to what the traced gradient multiplies.
    """
    forward = [one for one in result.products if one.kind != "constant"]
    of_code: dict[Any, set[str]] = {}
    for one in forward:
        of_code.setdefault(one.key, set()).add(str(one.flops))

    def size_of(one: Product) -> Dim:
        """Returns the FLOPs of a product of the step. A convolution is counted as the one that it is the gradient of."""
        known = of_code.get(one.key, set())
        return next((n for n in (one.flops, *one.other_counts) if str(n) in known), one.flops)

    groups: dict[Any, tuple[list[Product], list[Product]]] = {}
    runs: dict[Any, tuple[list[Product], list[Product]]] = {}
    for one in forward:
        groups.setdefault((one.key, str(one.flops)), ([], []))[0].append(one)
        runs.setdefault((one.key, str(one.flops), one.weights), ([], []))[0].append(one)
    for one in step:
        if one.is_backward:
            groups.setdefault((one.key, str(size_of(one))), ([], []))[1].append(one)
        elif one.kind != "constant":
            runs.setdefault((one.key, str(size_of(one)), one.weights), ([], []))[1].append(one)
    dropped = without_elementwise(result.walk.elementwise, groups)
    open_products: list[Product] = []
    backward: list[Product] = []
    for own, back in groups.values():
        result.times.update({id(one): one.needed for one in own})
        if len(back) != sum(one.needed for one in own):
            open_products += own
            backward += back
    lost: list[Product] = []
    more: list[Product] = []
    for own, ahead in runs.values():
        if own and len(ahead) >= 2 * len(own):
            result.again.update(map(id, own))
        lost += own[len(ahead) :]
        more += ahead[len(own) :]
    # The forward rule of a custom gradient stands elsewhere than the function that it differentiates.
    unexplained = Counter(str(size_of(one)) for one in lost)
    surplus: list[Product] = []
    for one in more:
        if unexplained[str(size_of(one))] > 0:
            unexplained[str(size_of(one))] -= 1
        else:
            surplus.append(one)
    moved = match_by_size(result, open_products, backward, [one for one in surplus if not one.in_remat], size_of)
    result.backward = summed(one.flops * result.times[id(one)] for one in forward) + summed(n for _, n in result.gradients)
    ran = summed(size_of(one) for one in step if one.is_backward and id(one) not in dropped) + moved
    if not is_equal(result.backward, ran):
        raise Error(
            "fn",
            f"multiplies {ran} FLOPs in its gradient, but the entries of the cost {result.backward}: please report this with the "
            "code of the function",
        )
    result.recomputed = summed(size_of(one) for one in surplus) - moved
    if any(unexplained.values()):
        result.notes.append(
            "a product of the forward runs less often in the step than in the forward alone, for example because the "
            "gradient takes it out of a loop; the entries count the forward alone"
        )


def without_elementwise(
    elementwise: Sequence[Product], groups: Mapping[Any, tuple[list[Product], list[Product]]]
) -> set[int]:
    """Removes the gradients of elementwise products from `groups`: they count nothing either. Returns their ids."""
    dropped: set[int] = set()
    needed: Counter[Any] = Counter()
    for one in elementwise:
        needed[one.key, str(one.flops)] += one.needed
    for key, (own, back) in groups.items():
        left = needed[key]
        for one in [one for one in back if one.is_without_free_axes]:
            if left > 0 or (not own and one.is_elementwise):
                back.remove(one)
                dropped.add(id(one))
                left -= 1
    return dropped


def match_by_size(
    result: Traced, products: Sequence[Product], backward: Sequence[Product], ahead: Sequence[Product],
    size_of: Callable[[Product], Dim],
) -> Dim:  # fmt: skip
    """Matches products of the backward with products of the forward by their FLOPs alone.

    products: products of the forward whose lines of code have more or fewer products in the backward than expected.
    backward: the products of the backward that are left over.
    ahead: products in which a custom gradient may compute the gradient during the forward.

    Returns the FLOPs of those of `ahead` that were matched.
    """
    left: dict[str, list[Product]] = {}
    for one in backward:
        left.setdefault(str(size_of(one)), []).append(one)
    early: dict[str, list[Product]] = {}
    for one in ahead:
        early.setdefault(str(size_of(one)), []).append(one)
    of_size: dict[str, list[Product]] = {}
    for one in products:
        of_size.setdefault(str(one.flops), []).append(one)
    moved: Dim = 0
    for size, own in of_size.items():
        found = left.get(size, [])
        needed = sum(one.needed for one in own)
        while len(found) < needed and early.get(size):
            found.append(early[size].pop())
            moved = moved + size_of(found[-1])
        each, rest = divmod(len(found), len(own))
        is_uniform = len(found) != needed and not rest and each <= 2
        for one in own:
            times = min(each if is_uniform else one.needed, len(found))
            result.times[id(one)] = times
            del found[:times]
    for several in left.values():
        result.gradients += [(one.place, size_of(one)) for one in several]
    return moved


# -- the cost ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Counted:
    """A product of the forward with its FLOPs for each unit.

    first: the product, or the first one of a group of alike products.
    units: {statistic: FLOPs per unit}.
    times: how many products of the same size the backward has.
    is_again: True if the backward runs it once more.
    group: its path in the trace; of a fitted function the paths of the group at each size.
    """

    first: Product
    units: dict[Any, int]
    times: int
    is_again: bool
    total: Dim  #: the FLOPs: a formula, or one number for each size
    group: Any = None

    @property
    def kind(self) -> str:
        return self.first.kind


SQUARES = ("squares", "key squares", "crossed")
#: What the powers of batch, length and keys in a monomial count.
STATISTIC_OF = {
    (0, 0, 0): "passes", (2, 0, 0): "sample pairs", (1, 0, 0): "count", (1, 1, 0): "tokens", (1, 2, 0): "squares",
    (1, 0, 1): "keys", (1, 1, 1): "crossed", (1, 0, 2): "key squares",
}  # fmt: skip


class Units:
    """Turns FLOPs, which are formulas of symbols, into FLOPs for each unit of a batch."""

    def __init__(self, sizes: Sizes, function: str) -> None:
        self.sizes = sizes
        self.function = function

    def of(self, flops: Dim, where: str) -> dict[Any, int]:
        """Returns {statistic: FLOPs per unit}. A statistic is a name, or a Mask that evaluates a formula of the length.
        where: the component, for errors."""
        terms = polynomial(flops)
        found: dict[Any, int] = {}
        for monomial, number in terms.items():
            powers = dict(monomial)
            key = tuple(powers.pop(name, 0) for name in self.sizes.names)
            key += (0,) * (3 - len(key))
            name = STATISTIC_OF.get(cast(Any, key))
            divisor = product_of(factor ** key[at] for at, factor in enumerate(self.sizes.factors))
            if powers or name is None or number % divisor:
                return self.by_formula(terms, flops, where)
            found[name] = number // divisor
        whole = without_first(with_others(found), [(1, 1 << 40, 0)]) if self.sizes.arity == 2 else found
        if any(number < 0 for number in whole.values()):
            return self.by_formula(terms, flops, where)
        return whole

    def by_formula(self, terms: Mapping[Any, int], flops: Dim, where: str) -> dict[Any, int]:
        """Returns a statistic that evaluates the formula at any length."""
        batch = self.sizes.names[0]
        each: list[tuple[int, str]] = []
        for monomial, number in terms.items():
            powers = dict(monomial)
            if powers.pop(batch, 0) != 1 or any(re.search(rf"\b{re.escape(batch)}\b", name) for name in powers):
                raise Error(
                    where,
                    f"multiplies {flops} FLOPs, which are not proportional to the batch size {batch}, so that no cost of "
                    "sequences has them: if the function needs a multiple of n samples, make it so by "
                    f"jax.export.symbolic_shape('n*{batch}, ...'); if one product serves all samples, give it no size that varies",
                )
            each.append((number, "*".join(f"({name})**{power}" for name, power in sorted(powers.items())) or "1"))
        whole = gcd(*(number for number, _ in each))
        # One symbol of the batch may stand for several samples.
        divisor = self.sizes.factors[0]
        shared = gcd(whole, divisor)
        text = " + ".join(f"{number // whole}*{name}" for number, name in sorted(each, key=lambda one: one[1]))
        return {self.formula(text, divisor // shared): whole // shared}

    def formula(self, text: str, divisor: int) -> Mask:
        mark = hashlib.sha256(f"{text}/{divisor}/{self.sizes}".encode()).hexdigest()[:8]
        name = f"units_by_expression_{mark}"
        sizes = self.sizes

        def count(length: int, past: int, keys: int) -> int:
            if past:
                raise Error(
                    "lengths",
                    f"{length} tokens after {past} cached tokens cannot be counted by {name}, a formula of whole sequences: {text}",
                )
            symbols = sizes.symbols((sizes.factors[0], length, keys))
            value, rest = divmod(int(eval(text, {"__builtins__": {}, **EVALUATED}, symbols)), divisor)
            if rest or value < 0:
                raise Error(
                    "lengths",
                    f"length {length} gives {value} units by the formula {text}: pass lengths that the function can be traced with",
                )
            return value

        if name not in FORMULAS:
            FORMULAS[name] = Mask.from_callable(name, count), text
        return FORMULAS[name][0]


EVALUATED: dict[str, Any] = {"floordiv": lambda a, b: a // b, "mod": lambda a, b: a % b, "max": max, "min": min}
FORMULAS: dict[str, tuple[Mask, str]] = {}  #: masks by their names, each with its formula

#: Last parts of paths that say which array of a layer it is, not which layer.
ARRAYS = ("kernel", "weight", "weights", "embedding", "w")
OTHER_ARRAYS = ("bias", "b", "scale", "offset", "gamma", "beta", "mean", "var")
WRAPPERS = ("params",)


class Components:
    """Names the components of weights and of attention cores."""

    def __init__(
        self, function: Function, stacked: Iterable[int], components: Mapping[str, str] | Callable[[str], str] | None
    ) -> None:
        self.function = function
        self.components = components
        self.used: set[str] = set()
        self.stacked = set(stacked)
        weights = [leaf for leaf in function.leaves if not leaf.is_data]
        self.every = [leaf.path for leaf in weights]
        self.paths = {leaf.index: self.plain(leaf) for leaf in weights}
        #: Paths of layers with a number: `layers_3` of several alike.
        children: dict[tuple[str, ...], dict[str, set[str]]] = {}
        for path in self.paths.values():
            for at, part in enumerate(path[:-2]):
                stem = re.fullmatch(r"(.*?)_?\d+", part)
                if stem is not None and stem.group(1):
                    children.setdefault(path[:at], {}).setdefault(stem.group(1), set()).add(part)
        self.numbered = {part for of in children.values() for parts in of.values() if len(parts) > 1 for part in parts}

    def plain(self, leaf: Leaf) -> tuple[str, ...]:
        """Returns the path of a leaf without the names that frameworks add."""
        path = list(leaf.path)
        is_wrapped = leaf.is_numbered or path[-1:] in (["value"], ["raw_value"])
        while len(path) > 1 and is_wrapped and self.children(tuple(path[:-1]), self.every) == {path[-1]}:
            del path[-1]
            is_wrapped = path[-1] in ("value", "raw_value")
        while len(path) > 1 and path[0] in WRAPPERS:
            del path[0]
        return tuple(path) or (f"args[{leaf.argument}]",)

    @staticmethod
    def children(path: tuple[str, ...], paths: Iterable[tuple[str, ...]]) -> set[str]:
        return {one[len(path)] for one in paths if one[: len(path)] == path and len(one) > len(path)}

    def is_layer(self, path: tuple[str, ...]) -> bool:
        """True if a path leads to a layer: to arrays and to nothing deeper."""
        return all(len(one) == len(path) + 1 for one in self.paths.values() if one[: len(path)] == path)

    def folded(self, parts: Sequence[str]) -> list[str]:
        """Replaces the indices of layers by "*"."""
        result: list[str] = []
        for part in parts:
            if part.isdigit():
                result.append("*")
            elif part in self.numbered:
                result += [re.sub(r"_?\d+$", "", part), "*"]
            else:
                result.append(part)
        return result

    def parts_of(self, leaf: int) -> list[str]:
        parts = self.folded(self.paths[leaf])
        if leaf in self.stacked and "*" not in parts and len(parts) > 1:
            parts.insert(1, "*")
        return parts

    def module(self, leaf: int) -> str:
        """Returns the component of the layer that an array belongs to."""
        parts, path = self.parts_of(leaf), self.paths[leaf]
        rank = len(self.function.leaves[leaf].shape) - (leaf in self.stacked)
        is_array = path[-1] in ARRAYS or (path[-1] in OTHER_ARRAYS and rank < 2)
        return ".".join(parts[:-1] if len(parts) > 1 and is_array and self.is_layer(path[:-1]) else parts)

    def of_leaf(self, leaf: int) -> str:
        return self.chosen(self.module(leaf), [".".join(self.paths[leaf]), self.function.leaves[leaf].name])

    def of_place(self, product: Product) -> str:
        """Returns the component of a product without weights, from jax.named_scope or the function that it stands in."""
        scope = list(product.place.scope)
        known = {part for path in self.paths.values() for part in path}
        if len(scope) > 1 and scope[0] not in known:  # the class of the whole model
            scope = scope[1:]
        name = ".".join(self.folded(scope)) or product.place.function or self.function.name
        return self.chosen(name, [".".join(scope)])

    def chosen(self, name: str, others: Sequence[str]) -> str:
        name = name or self.function.name
        if callable(self.components):
            return self.components(name) or self.function.name
        for pattern, chosen in (self.components or {}).items():
            if any(fnmatchcase(one, pattern) for one in (name, *others)):
                self.used.add(pattern)
                return chosen
        return name

    def main_leaf(self, product: Product) -> int:
        """Returns the leaf after which a product is named: the largest of those that its weight is made of."""
        return max(sorted(product.weights), key=lambda leaf: int_size(self.function.leaves[leaf].shape))


def int_size(shape: Sequence[Dim]) -> int:
    whole = product_of(shape)
    return 0 if is_symbolic(whole) else int(whole)


NOTHING = "runs no matrix product and no convolution, so that there are no FLOPs to count: pass a function that runs one"


class Counting(EntryRows):
    """Makes the cost of a function."""

    def __init__(
        self,
        function: Function,
        choices: Choices,
        lengths: Sequence[int] | None,
        masks: Mask | str | Mapping[str, Mask | str] | None,
        components: Mapping[str, str] | Callable[[str], str] | None,
        terms: Mapping[str, str],
    ) -> None:
        if lengths is not None and (len(set(lengths)) < 5 or min(lengths) < 1):
            raise Error("lengths", f"must be at least five different lengths above 0, got {list(lengths)}")
        self.function = function
        self.arity = function.sizes.arity
        self.choices = choices
        self.lengths = lengths
        self.masks = given_masks(masks)
        self.used_masks: set[str] = set()
        self.component_patterns = components
        self.terms = terms
        self.used_terms: set[str] = set()
        self.notes: list[str] = []
        self.rows = {}
        self.stored: set[int] = set()
        self.fit_sizes: list[Size] = []

    # -- traces ---------------------------------------------------------------------------------------------------

    def cost(self) -> Cost:
        traces = self.symbolic() or self.fitted()
        first = traces[0]
        self.choices.check_used()
        self.notes += self.function.notes + first.notes + self.walk_notes(first.walk)
        self.names = Components(self.function, first.walk.stacked, self.component_patterns)
        self.first_layer, self.last_layer = self.layers(first.products)
        items = self.items(traces)
        self.cores = Cores(self.function, self.choices, traces, self.fit_sizes)
        ran: dict[str, set[bool]] = {}
        for item in items:
            ran.setdefault(self.component(item.first), set()).add(item.is_again)
        #: Components of which the backward runs some products again and others not. They become two components each.
        self.parted = {name for name, both in ran.items() if len(both) > 1}
        for item in items:
            self.add(item)
        self.add_softmax(items, traces)
        self.add_gradients(traces)
        self.add_parameters(first.walk)
        self.check_patterns()
        self.check(traces)
        self.check_single(traces)
        return self.planned(items, traces)

    def walk_notes(self, walk: Walk) -> list[str]:
        notes = []
        if walk.alike:
            notes.append(f"branches of {', '.join(walk.alike)} multiply as much by different weights: the first one counts")
        if walk.transforms:
            notes.append(f"fft, in {', '.join(walk.transforms)}, {NOT_A_PRODUCT}")
        if walk.replicated:
            notes.append(f"devices of a mesh repeat the products of {', '.join(walk.replicated)}, which count once")
        return notes

    def symbolic(self) -> list[Traced]:
        """Traces the function with symbolic sizes. Empty if JAX cannot."""
        self.problem: Exception | None = None
        self.first_reading: list[tuple[Dim, ...]] = []
        while True:
            try:
                found = traced(self.function, self.choices, None)
            except Error:
                raise
            except Exception as problem:
                self.problem = self.problem or problem
                if self.function.readings:
                    self.first_reading = self.first_reading or [leaf.shape for leaf in self.function.leaves]
                    self.function.take_reading(self.function.readings.pop(0))
                    continue
                if self.first_reading:
                    self.function.take_reading(self.first_reading)
                return []
            if not found.products:
                raise Error("fn", NOTHING)
            return [found]

    def fitted(self) -> list[Traced]:
        """Traces the function at several sizes, since JAX cannot trace it with symbolic ones."""
        text = type_and_text(self.problem, 200)
        problem: Exception | None = None
        failed: Size | None = None
        for sizes in self.families():
            found = []
            try:
                for size in sizes:
                    tried = size
                    found.append(traced(self.function, self.choices, self.function.sizes.symbols(size)))
            except Error:
                raise
            except Exception as raised:
                problem, failed = problem or raised, failed or tried
                continue
            if not found[0].products:
                raise Error("fn", NOTHING)
            with_symbols = self.forward_with_symbols(sizes, found)
            if with_symbols is not None:
                return [with_symbols]
            self.fit_sizes = list(sizes)
            arity = self.arity
            self.notes.append(
                f"JAX cannot trace it with symbolic sizes ({text}): fitted at {'; '.join(shown(size, arity) for size in sizes)}"
            )
            return found
        assert problem is not None
        if self.function.take_batch_only():
            return self.symbolic() or self.fitted()
        if type_and_text(problem, 200) == text:
            raise Error("fn", f"cannot be traced: {text}") from problem
        if "cudnn" in str(problem).lower():
            raise Error(
                "fn",
                f"cannot be traced here: {type_and_text(problem, 200)}. Trace it with implementation='xla', which multiplies as much, or on a "
                "machine with the GPU",
            ) from problem
        raise Error(
            "fn",
            f"cannot be traced, neither with symbolic sizes ({text}) nor with {shown(failed or (0, 0, 0), self.arity)} "
            f"({type_and_text(problem, 200)}): pass lengths= that the function takes, or sizes that say what it needs, such as "
            "jax.export.symbolic_shape('batch, 64*chunks'), or a symbol of the batch alone if its length is fixed",
        ) from problem

    def forward_with_symbols(self, sizes: Sequence[Size], found: Sequence[Traced]) -> Traced | None:
        """Traces the forward alone with symbolic sizes, if JAX can: the gradient of a convolution with strides is what it
        cannot. What the gradient multiplies is taken from traces at several sizes.

        sizes, found: these sizes and their traces. Returns None if they do not agree with symbolic sizes.
        """
        try:
            walk, closed = walked(self.function, self.choices, None)
        except Exception:
            return None
        own = [one for one in walk.products if one.kind != "constant"]
        result = Traced(walk, closed)
        first = [one for one in found[0].products if one.kind != "constant"]
        for size, trace in zip(sizes, found):
            symbols = self.function.sizes.symbols(size)
            several = [one for one in trace.products if one.kind != "constant"]
            if [evaluated(one.flops, symbols) for one in own] != [one.flops for one in several] or trace.gradients:
                return None
            for a, b in zip(first, several):
                if found[0].times[id(a)] != trace.times[id(b)] or (id(a) in found[0].again) != (id(b) in trace.again):
                    return None
            if trace.recomputed != sum(one.flops for one in several if id(one) in trace.again):
                return None
        for one, other in zip(own, first):
            result.times[id(one)] = found[0].times[id(other)]
            if id(other) in found[0].again:
                result.again.add(id(one))
        result.times.update({id(one): 0 for one in walk.products if one.kind == "constant"})
        result.recomputed = summed(one.flops for one in own if id(one) in result.again)
        arity = self.arity
        result.notes = [
            *found[0].notes,
            f"JAX cannot trace its gradient with symbolic sizes ({type_and_text(self.problem, 200)}): what it multiplies was compared at "
            + "; ".join(shown(size, arity) for size in sizes),
        ]
        return result

    def families(self) -> list[list[Size]]:
        """Returns lists of sizes to trace at: first any lengths, then multiples of chunks."""
        sizes = self.function.sizes
        batch, factor = sizes.factors[0], sizes.factors[1] if sizes.arity > 1 else 1
        if sizes.arity == 1:
            return [[(batch * n, 0, 0) for n in (2, 3, 4, 7)]]
        lists: list[Sequence[int]] = (
            [list(self.lengths)] if self.lengths else [[factor * n for n in (LENGTHS if factor < 8 else MULTIPLES)]]
        )
        if not self.lengths:
            lists += [[factor * n for n in SHORT_LENGTHS]] if factor < 8 else []
            lists += [[factor * chunk * n for n in MULTIPLES] for chunk in CHUNKS if factor * chunk <= 1024]
        result = []
        for lengths in lists:
            both = [(2 * batch, n, 0) for n in lengths]
            if sizes.arity == 3:
                keys = [sizes.factors[2] * n for n in KEYS]
                both = [(2 * batch, size[1], keys[0 if at < 3 else at % len(keys)]) for at, size in enumerate(both)]
                first = both[0]
                both[3:3] = [(first[0], first[1], keys[1]), (first[0], first[1], keys[2]), (first[0], both[1][1], keys[1])]
            result.append([*both, (3 * batch, *both[0][1:])])
        return result

    def layers(self, products: Sequence[Product]) -> tuple[int, int]:
        """Returns the places of the first and the last product of a layer in the order of the forward."""
        places = [at for at, one in enumerate(products) if self.in_layer(one)]
        return (min(places), max(places)) if places else (-1, 1 << 62)

    def in_layer(self, product: Product) -> bool:
        return any("*" in self.names.parts_of(leaf) or leaf in self.names.stacked for leaf in product.weights)

    # -- products with their units --------------------------------------------------------------------------------

    def items(self, traces: Sequence[Traced]) -> list[Counted]:
        order = {id(one): at for at, one in enumerate(traces[0].products)}
        self.order = order
        if not self.fit_sizes:
            only = traces[0]
            units = Units(self.function.sizes, self.function.name)
            return [
                Counted(
                    one,
                    units.of(one.flops, self.component(one)),
                    only.times[id(one)],
                    id(one) in only.again,
                    one.flops,
                    one.path,
                )
                for one in only.products
                if one.kind != "constant"
            ]
        groups: dict[Any, list[list[Product]]] = {}
        for at, trace in enumerate(traces):
            for one in trace.products:
                if one.kind == "constant":
                    continue
                key = (one.op, one.key, one.place.scope, one.kind, one.weights, trace.times[id(one)], id(one) in trace.again)
                groups.setdefault(key, [[] for _ in traces])[at].append(one)
        result = []
        for key, lists in groups.items():
            first = next(several[0] for several in lists if several)
            order.setdefault(id(first), len(order))
            totals = [int(summed(one.flops for one in several)) for several in lists]
            fitted = self.fit(totals, self.component(first))
            result.append(
                Counted(first, fitted, key[5], key[6], totals, [[one.path for one in several] for several in lists])
            )
        return sorted(result, key=lambda one: order[id(one.first)])

    def fit(self, values: Sequence[int], where: str) -> dict[Any, int]:
        """Fits FLOPs at the sizes that were traced. Returns {statistic: FLOPs per unit}. Raises an Error if no formula
        fits at all sizes."""
        sizes, arity = self.fit_sizes, self.arity
        alike = [size for size in sizes if size[0] == sizes[0][0]]
        for names in (OF_ARITY[arity], ("passes",)):
            used = [i for i, _ in enumerate(alike)][: len(names)]
            found = solved([sizes[i] for i in used], [values[i] for i in used], names)
            if found and all(c.denominator == 1 for c in found.values()):
                whole = without_first(with_others({name: int(c) for name, c in found.items()}), sizes)
                fits = all(
                    sum(c * statistic(name, size) for name, c in found.items()) == v for size, v in zip(sizes, values)
                )
                if fits and all(c >= 0 for c in whole.values()):
                    return dict(whole)
        for chunk in range(2, 257) if arity == 2 else ():
            names = ("count", f"chunks of {chunk}", f"chunk squares of {chunk}")
            used = [i for _, i in sorted({-(-size[1] // chunk): i for i, size in reversed(list(enumerate(alike)))}.items())][
                :3
            ]
            if len(used) < 3:
                break
            found = solved([sizes[i] for i in used], [values[i] for i in used], names)
            if found and all(c.denominator == 1 and c >= 0 for c in found.values()):
                if all(sum(c * statistic(name, size) for name, c in found.items()) == v for size, v in zip(sizes, values)):
                    return {name: int(c) for name, c in found.items()}
        raise Error(
            where,
            f"multiplies {', '.join(map(str, values))} FLOPs at {'; '.join(shown(size, arity) for size in sizes)}, which fit no formula of "
            f"samples, tokens and squares. JAX cannot trace the function with symbolic sizes ({type_and_text(self.problem, 200)}): pass "
            "multiples of a chunk or stride as lengths=",
        )

    def component(self, product: Product) -> str:
        if product.weights:
            return self.names.of_leaf(self.names.main_leaf(product))
        return self.names.of_place(product)

    # -- entries --------------------------------------------------------------------------------------------------

    def add(self, item: Counted) -> None:
        product, times = item.first, item.times
        if item.kind == "weight":
            self.add_weight(item)
            return
        attended = self.attended(item)
        term = {2: attended.role or "state", 1: "input_linear", 0: "detached"}[min(times, 2)]
        component = self.component_of(item)
        if self.cores.is_fused and not product.op.startswith(FUSED) and times > 1:
            term = "state"  # the backward of plain products computes no scores again, as a fused kernel does
        if attended.role:
            self.put_core(item, component, term)
            return
        for unit, flops in item.units.items():
            self.put_entry(component, unit, term, flops)

    def component_of(self, item: Counted) -> str:
        name = self.component(item.first)
        return f"{name}.recomputed" if item.is_again and name in self.parted else name

    def attended(self, item: Counted) -> Any:
        """Returns which pairs a product attends, and whether it is the first or the second of an attention core."""
        found = self.cores.of(item.group)
        quadratic = any(unit in QUADRATIC or isinstance(unit, Mask) for unit in item.units)
        # A product without n² pairs and without a softmax, such as a state of linear attention, is no attention core.
        return found if quadratic or found.softmax else NO_CORE

    def add_weight(self, item: Counted) -> None:
        product = item.first
        main = self.names.main_leaf(product)
        name = self.component(product)
        parameters = 0
        for leaf in sorted(product.weights):
            if leaf not in self.stored:
                self.stored.add(leaf)
                parameters += int_size(self.function.leaves[leaf].shape)
        term = self.weight_term(item, main)
        own = self.names.paths[main][-1]
        weight = self.names.paths[main][-2] if own in ARRAYS and len(self.names.paths[main]) > 1 else own
        weight = "" if weight.isdigit() else weight
        attended = self.attended(item)
        if attended.role and any(unit in QUADRATIC for unit in item.units):
            self.put_core(item, self.component_of(item), term)
            self.put_entry(self.component_of(item), "tokens", term, 0, parameters, weight)
            return
        for unit, flops in item.units.items():
            self.put_entry(self.component_of(item), unit, term, flops, parameters, weight)
            parameters = 0
        if parameters:
            self.put_entry(name, "tokens", term, 0, parameters, weight)

    def weight_term(self, item: Counted, main: int) -> str:
        name = self.names.module(main)
        for pattern, term in self.terms.items():
            if any(
                fnmatchcase(one, pattern) for one in (name, self.component(item.first), ".".join(self.names.paths[main]))
            ):
                self.used_terms.add(pattern)
                return term
        place = self.order[id(item.first)]
        in_layer = self.in_layer(item.first)
        after = place > self.last_layer and not in_layer
        if item.times == 0:
            return "detached_head" if after else "detached"
        if item.times == 1:
            return "input_linear"
        if after:
            return "lm_head"
        if place < self.first_layer and not in_layer:
            return "preprocessing"
        path = self.names.paths[main]
        own = [part for part in path if part not in ARRAYS]
        if own and own[-1] in ("gate", "router"):
            parent = path[: path.index(own[-1])]
            siblings = {
                other[len(parent)]
                for other in self.names.paths.values()
                if other[: len(parent)] == parent and len(other) > len(parent)
            }
            if any("expert" in one for one in siblings):
                return "router"
        return "linear"

    def put_core(self, item: Counted, component: str, term: str) -> None:
        """Adds the entries of a product of an attention core. Only attended pairs count."""
        attended = self.attended(item)
        name = self.component(item.first)
        chosen = next((one for one in self.masks if fnmatchcase(name, one) or fnmatchcase(component, one)), None)
        square = next((unit for unit in SQUARES if list(item.units) == [unit]), None)
        every = {Mask.bidirectional() if unit == "squares" else unit: flops for unit, flops in item.units.items()}
        if chosen is not None:
            self.used_masks.add(chosen)
            if square is None:
                self.notes.append(
                    f"{component}: masks= does not apply to it, since it does not have n² pairs at length n; all its pairs count"
                )
            masks = [(1, 1, self.masks[chosen])] if square else []
        elif attended.problem:
            raise Error(
                component,
                f"has an attention mask whose pairs are unknown: {attended.problem}. Pass masks={{{name!r}: floptally.Mask.causal()}} or "
                "another mask",
            )
        else:
            masks = attended.masks_for(square) if square and not attended.is_full else []
        is_whole = square is not None and all(item.units[square] * heads % of == 0 for heads, of, _ in masks)
        if (masks and is_whole) or chosen is not None or attended.is_full:
            for unit, flops in every.items():
                self.put_entry(component, unit, term, 0 if masks else flops, plain=flops)
            for heads, of, mask in masks:
                self.put_entry(component, mask, term, item.units[str(square)] * heads // of, plain=0)
            return
        for unit, flops in every.items():
            self.put_entry(component, unit, term, 0, plain=flops)
        for statistic_of_pairs, flops in attended.statistics(self.total_at(item), component):
            self.put_entry(component, statistic_of_pairs, term, flops, plain=0)

    def total_at(self, item: Counted) -> Callable[[Size], int]:
        """Returns a function from a size to the FLOPs of a product, masked pairs included."""

        def total(size: Size) -> int:
            if not self.fit_sizes:
                return evaluated(item.total, self.function.sizes.symbols(size))
            result = 0
            for unit, flops in item.units.items():
                count = statistic(unit, size) if isinstance(unit, str) else size[0] * unit.pairs(size[1], 0, size[2])
                result += flops * count
            return result

        return total

    def add_softmax(self, items: Sequence[Counted], traces: Sequence[Traced]) -> None:
        """Adds entries for the softmax over scores: three FLOPs for each score. Only conventions that count a softmax
        count them."""
        units = Units(self.function.sizes, self.function.name)
        for item in items:
            attended = self.attended(item)
            if not attended.softmax or attended.role != "scores" or item.kind != "activations":
                continue
            where = self.component(item.first)
            totals: Any = softmax_of(item.first)
            if not self.fit_sizes:
                found = units.of(totals, where)
            else:
                totals = [
                    int(summed(softmax_of(one) for one in trace.products if one.path in paths))
                    for trace, paths in zip(traces, item.group)
                ]
                found = self.fit(totals, where)
            self.put_core(replace(item, units=found, total=totals), self.component_of(item), "softmax")

    def add_gradients(self, traces: Sequence[Traced]) -> None:
        """Adds entries for products of the gradient that belong to no product of the forward."""
        units = Units(self.function.sizes, self.function.name)
        if not self.fit_sizes:
            of_place: dict[str, Dim] = {}
            for place, flops in traces[0].gradients:
                name = ".".join(place.scope) or place.function or self.function.name
                of_place[name] = of_place.get(name, 0) + flops
            for name, flops in of_place.items():
                for unit, number in units.of(flops, name).items():
                    self.put_entry(f"{name}.gradient", unit, "gradient", number)
            return
        totals = [int(summed(flops for _, flops in trace.gradients)) for trace in traces]
        if any(totals):
            for unit, number in self.fit(totals, "gradient").items():
                self.put_entry("gradient", unit, "gradient", number)

    def add_parameters(self, walk: Walk) -> None:
        """Adds entries for weights that are in no matrix product, such as those of norms."""
        with_product = {self.names.module(leaf) for leaf in self.stored}
        for leaf in self.function.leaves:
            if leaf.is_data or not leaf.is_floating:
                continue
            count = int_size(leaf.shape)
            name = self.names.module(leaf.index)
            if leaf.index in walk.tables:
                placed = not walk.tables[leaf.index] or any(word in leaf.name.lower() for word in POSITION_WORDS)
                term = "position_embedding" if placed else "embedding"
                if leaf.index in self.stored:
                    term = "tied_embedding"
            elif leaf.index in self.stored:
                continue
            elif name in with_product:
                term = "bias"
            else:
                term = self.given_term(name, leaf) or "norm"
            stored = 0 if term == "tied_embedding" else count
            unit = "tokens" if self.arity > 1 else "count"
            self.put_entry(self.names.of_leaf(leaf.index), unit, term, 2 * count, stored)

    def given_term(self, name: str, leaf: Leaf) -> str | None:
        for pattern, term in self.terms.items():
            if fnmatchcase(name, pattern) or fnmatchcase(leaf.name, pattern):
                self.used_terms.add(pattern)
                return term
        return None

    # -- the whole ------------------------------------------------------------------------------------------------

    def entry_notes(self) -> list[str]:
        """Returns notes about statistics that a batch must say, and about formulas."""
        units = {unit if isinstance(unit, str) else unit.name for _, unit, _, _ in self.rows}
        notes = []
        if "passes" in units:
            notes.append(
                "what runs once for each pass, whatever the batch, is counted by measured(passes): 1 of what is given as lengths, "
                "and what measured={'passes': n} or Tally.add_measured says"
            )
        if "sample pairs" in units:
            notes.append(
                "what every two samples of a step do together is counted by measured(sample_pairs): pass the square of the batch "
                "that meets, by measured={'sample_pairs': n * n} or Tally.add_measured"
            )
        notes += [f"{name} counts {FORMULAS[name][1]} of each sequence" for name in sorted(units) if name in FORMULAS]
        frozen = sum(
            int_size(leaf.shape)
            for leaf in self.function.leaves
            if not leaf.is_data and leaf.is_floating and not leaf.trains
        )
        if frozen and self.function.trained:
            notes.append(f"{frozen} parameters are frozen: they do not train")
        return notes

    def check_patterns(self) -> None:
        names = sorted({component for component, _, _, _ in self.rows})
        cores = sorted({component for component, _, term, _ in self.rows if term in ("scores", "values")})
        patterns = {} if callable(self.component_patterns) else self.component_patterns or {}
        for key, used, of, known in (
            ("components", self.names.used, patterns, names),
            ("terms", self.used_terms, self.terms, names),
            ("masks", self.used_masks, self.masks, cores),
        ):
            for pattern in of:
                if pattern not in used and not (key == "masks" and pattern == "*"):
                    raise Error(
                        key,
                        f"has the pattern {pattern!r}, which matches none of {', '.join(known) or 'no names'}: correct or remove it",
                    )

    def made(self, plain: bool = False) -> Cost:
        """Returns a cost of the entries. plain: with masked pairs."""
        short = Names.short(component for component, _, _, _ in self.rows)
        rows = []
        for (component, unit, term, weight), (masked, parameters, every_pair) in self.rows.items():
            flops = every_pair if plain else masked
            if not flops and not parameters and (masked or every_pair):
                continue
            of = unit_of_entry(unit) if isinstance(unit, str) else unit
            rows.append(Entry(short[component], of, cast(Any, term), flops, parameters, weight=weight))
        return Cost.from_entries(rows, model_type=self.function.name, notes=[] if plain else list(dict.fromkeys(self.notes)))

    def check(self, traces: Sequence[Traced]) -> None:
        """Compares the entries, with all masked pairs, with the products of the traces at several sizes. Raises an Error if
        they differ."""
        plain = self.made(plain=True)
        sizes = self.function.sizes
        if self.fit_sizes:
            several: list[Any] = [(size, trace, None) for size, trace in zip(self.fit_sizes, traces)]
        else:
            several = [(size, traces[0], sizes.symbols(size)) for size in self.check_sizes()]
        for size, trace, symbols in several:
            forward = backward = 0
            for one in trace.products:
                if one.kind != "constant":
                    n = int(one.flops) if symbols is None else evaluated(one.flops, symbols)
                    forward += n
                    backward += n * trace.times[id(one)]
            for _, flops in trace.gradients:
                backward += int(flops) if symbols is None else evaluated(flops, symbols)
            batch = self.batch_of(size)
            if not self.function.trained:
                backward = 0
                batch["plan"] = Plan(phase="forward")
            counted = plain.flops(**batch).padded.total
            if counted != forward + backward:
                raise Error(
                    "fn",
                    f"multiplies {forward + backward} FLOPs with {shown(size, sizes.arity)}, but the entries of the cost {counted}: "
                    "please report this with the code of the function",
                )

    def check_single(self, traces: Sequence[Traced]) -> None:
        """Adds a note if the function multiplies otherwise for a single sample: it may branch on the batch size."""
        sizes = self.function.sizes
        if self.fit_sizes or any(factor > 1 for factor in sizes.factors):
            return
        symbols = sizes.symbols((1, *self.check_sizes()[0][1:]))
        try:
            walk, _ = walked(self.function, self.choices, symbols)
        except Exception as problem:
            self.notes.append(f"with 1 sample it does not run: {type_and_text(problem, 200)}")
            return
        if sum(one.flops for one in walk.products) != sum(evaluated(one.flops, symbols) for one in traces[0].products):
            self.notes.append(
                "with 1 sample it multiplies otherwise than the formula says: it branches on the number of samples"
            )

    def check_sizes(self) -> list[Size]:
        sizes = self.function.sizes
        batch = sizes.factors[0]
        if sizes.arity == 1:
            return [(batch, 0, 0), (3 * batch, 0, 0)]
        factors = (*sizes.factors, 1)
        return [
            (batch * a, factors[1] * b, factors[2] * c if sizes.arity == 3 else 0)
            for a, b, c in ((2, 32, 40), (3, 57, 61), (1, 131, 97))
        ]

    def planned(self, items: Sequence[Counted], traces: Sequence[Traced]) -> Cost:
        """Returns the cost with a plan: the forward alone, or what jax.checkpoint runs again."""
        if not self.function.trained:
            self.notes += self.cores.notes + self.entry_notes()
            return self.made().planned(Plan(phase="forward"))
        has_scores = any(term == "scores" for _, _, term, _ in self.rows)
        fused = self.cores.is_fused
        short = Names.short(component for component, _, _, _ in self.rows)
        again = [short[name] for name in dict.fromkeys(self.component_of(item) for item in items if item.is_again)]
        plan = Plan(recompute_components=again, flash_attention=fused or not has_scores)
        plain = self.made(plain=True)
        sizes = self.fit_sizes or self.check_sizes()
        for at, size in enumerate(sizes[:3]):
            trace = traces[at if self.fit_sizes else 0]
            ran = int(trace.recomputed) if self.fit_sizes else evaluated(trace.recomputed, self.function.sizes.symbols(size))
            batch = self.batch_of(size)
            executed = plain.flops(plan=plan, **batch).executed.recompute
            if executed != ran:
                self.notes.append(
                    f"the backward runs {ran} FLOPs of the forward again with {shown(size, self.arity)}, in parts of components or "
                    f"more than once: {NOT_IN_THE_PLAN}, which says {executed}. Executed FLOPs and HFU leave out the rest"
                )
                break
        self.notes += self.cores.notes + self.entry_notes()
        return self.made().planned(plan)


def softmax_of(product: Product) -> Dim:
    """Returns the FLOPs of a softmax over the result of a product: three for each element, as often as the product runs."""
    if product.softmax:
        return 3 * product.softmax
    once = COUNTS[product.op](product.eqn)[0][0]
    turns, rest = divmod(product.flops, once)
    return 3 * product_of(product.sizes[2]) * turns if is_zero(rest) else 0
