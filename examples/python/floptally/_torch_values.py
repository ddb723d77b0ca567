# SPDX-License-Identifier: Apache-2.0
"""Runs the operators between the two products of an attention on values, next to the fake tensors; see _torch_trace.py.

Two kinds of tensors have values. Constants (positions, masks, buffers, masks among the inputs) have their real values.
Attention scores get random values, once for each QK^T product. So do tensors without values that are combined with
scores, such as a learned bias or a sink. An operator on values runs for real, in float64 whatever the model's dtype.
`_torch_masks` reads off the second product's operand which pairs have a weight.

A tensor of more than MOST_ELEMENTS elements has no values but a `Lazy`, whose rows can be computed; see _torch_lazy.py.
"""

from __future__ import annotations

import itertools
import math
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.overrides import TorchFunctionMode

from ._errors import first_line
from ._torch_lazy import Constant, Lazy, drawn_scores, in_double
from ._torch_weights import decided

if TYPE_CHECKING:
    from ._torch_trace import Product

#: Largest tensor, in elements, whose values are computed: a mask of 2048 x 2048.
MOST_ELEMENTS = 1 << 22
#: Largest number of elements of values of scores at a time.
MOST_KEPT = 1 << 26
#: Numbers at or below this, added to scores, are taken for a mask. Such a tensor keeps its values when a tensor
#: without values is added to it.
FILL = -50.0
#: Standard deviation of drawn scores. Models multiply their scores, by 10 for normalized queries and keys: a weight must
#: not get below 1e-30 by that. A comparison with a number near 1 must still turn out differently from pair to pair.
OF_SCORES = 0.3
#: Standard deviation of drawn tensors other than scores, such as a learned bias.
OF_BIAS = 0.1


@dataclass(frozen=True)
class Unseen:
    """Takes the place of the attended pairs of an attention core if they cannot be computed.

    reason: why not, as the end of the error text "a mask whose values …".
    """

    reason: str
    heads: int = 0  #: of all samples, if known
    queries: int = 0
    keys: int = 0


DEPENDS_ON_DATA = Unseen("depend on data")


@dataclass(slots=True)
class Call:
    """One call of an operator: the operator, its arguments and, once it has run, its result `out`."""

    func: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    inputs: list[torch.Tensor]  #: the tensors among the arguments
    out: Any = None

    @property
    def name(self) -> str:
        return name_of(self.func)

    @property
    def read(self) -> list[torch.Tensor]:
        """The inputs without the tensor that the result is written to (`out=`)."""
        written = self.kwargs.get("out")
        return [one for one in self.inputs if one is not written]


class Values:
    """Keeps known values of fake tensors: those of constants, and of tensors computed from attention scores.

    real: True if the step runs on real tensors.
    is_constant: a function that is True for a tensor that depends on no data and no parameter.
    is_choice: a function that is True for a tensor that follows from input data alone, such as a comparison of token
        ids.
    draws: True gives random values to attention scores. False keeps the values of constants only.
    """

    def __init__(
        self,
        real: bool,
        is_constant: Callable[[torch.Tensor], bool],
        is_choice: Callable[[torch.Tensor], bool],
        most_elements: int,
        draws: bool = True,
    ) -> None:
        self.real = real
        self.is_constant = is_constant
        self.is_choice = is_choice
        self.most_elements = most_elements
        self.draws = draws
        self.spoiled: dict[int, Any] = {}  # storages that an unknown value was written into, kept alive
        self.written: dict[int, tuple[Any, tuple[Product, ...]]] = {}  # storages that scores were written into
        self.kept: deque[tuple[weakref.ref[torch.Tensor], int]] = deque()
        self.elements = 0
        self.random = torch.Generator().manual_seed(next(SEEDS))

    # What is known of a tensor.

    def of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Returns the values of a fake tensor if floptally has computed them, else None."""
        value = getattr(tensor, "_floptally_value", None)
        if value is None and (self.real or not isinstance(tensor, FakeTensor)):
            usable = self.is_constant(tensor) and not tensor.is_meta and not tensor.requires_grad
            return tensor.detach() if usable and tensor.numel() <= MOST_ELEMENTS else None
        if value is None or value.untyped_storage()._cdata in self.spoiled:
            return None
        assert isinstance(value, torch.Tensor)
        return value

    def constant(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """Returns the values of a tensor that was not computed from attention scores. None if the values are unknown,
        or if the tensor comes from scores."""
        return None if self.products_of(tensor) else self.of(tensor)

    def products_of(self, tensor: torch.Tensor) -> tuple[Product, ...]:
        """Returns the QK^T products whose attention scores a tensor was computed from. Empty if there are none."""
        found: tuple[Product, ...] = getattr(tensor, "_floptally_products", ())
        if not found and self.written and isinstance(tensor, FakeTensor):
            found = self.written.get(tensor.untyped_storage()._cdata, (None, ()))[1]
        return found

    def products_in(self, inputs: Iterable[torch.Tensor]) -> tuple[Product, ...]:
        return tuple(dict.fromkeys(product for one in inputs for product in self.products_of(one)))

    def write(self, target: torch.Tensor, products: tuple[Product, ...]) -> None:
        """Records that attention scores were written into the memory of a tensor. All views of this memory then count
        as scores."""
        storage = target.untyped_storage()
        self.written[storage._cdata] = storage, tuple(dict.fromkeys((*self.products_of(target), *products)))

    def known(self, tensor: torch.Tensor) -> Constant | None:
        """Returns the values of a tensor, or None if they are unknown. Values that are too large for memory are
        returned as a `Lazy`, which computes parts of them."""
        value = self.of(tensor)
        if value is None and not self.real and isinstance(tensor, FakeTensor):
            lazy = getattr(tensor, "_floptally_lazy", None)
            if lazy is not None and tensor.untyped_storage()._cdata not in self.spoiled:
                assert isinstance(lazy, Lazy)
                return lazy
        return value

    def spoil(self, written: torch.Tensor) -> None:
        value = getattr(written, "_floptally_value", None)
        storages = [value.untyped_storage()] if value is not None else []
        if isinstance(written, FakeTensor):
            storages.append(written.untyped_storage())
        for storage in storages:
            self.spoiled[storage._cdata] = storage

    def give(self, out: Any, value: Any, products: tuple[Product, ...] = ()) -> None:
        """Stores the values of an operator's output tensors, and the QK^T products that the outputs were computed
        from."""
        for tensor, known in zip(tensors(out), tensors(value)):
            tensor._floptally_value = known  # type: ignore[attr-defined]
            if products:
                tensor._floptally_products = products  # type: ignore[attr-defined]
                self.keep(tensor, known.numel())

    def keep(self, tensor: torch.Tensor, elements: int) -> None:
        """Remembers that a tensor has values. Drops the values of the oldest attention scores once the values of all
        scores are too large for memory."""
        self.kept.append((weakref.ref(tensor), elements))
        self.elements += elements
        while self.elements > MOST_KEPT and len(self.kept) > 1:
            oldest, size = self.kept.popleft()
            self.elements -= size
            dropped = oldest()
            if dropped is not None:
                dropped._floptally_value = None  # type: ignore[attr-defined]

    def draw(self, out: torch.Tensor, products: tuple[Product, ...] = (), scale: float = OF_SCORES) -> None:
        """Gives random values to a tensor whose values are unknown, such as attention scores."""
        with unset_fake_temporarily():
            if out.numel() <= self.most_elements:
                shape = tuple(out.shape)
                drawn = torch.randn(shape, generator=self.random, dtype=torch.float64) * scale
                self.give(out, drawn, products)
            else:
                out._floptally_lazy = Lazy(drawn_scores, (), {}, tuple(out.shape), out.dtype)  # type: ignore[attr-defined]
                if products:
                    out._floptally_products = products  # type: ignore[attr-defined]

    # Operators.

    def run(self, call: Call, values: dict[int, Any]) -> Any:
        """Runs an operator on known values in place of its fake tensors, in float64. Returns the result.

        values: {id(tensor): values} of all tensors among the arguments.
        """

        def real(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return double(values[id(value)])
            if isinstance(value, dict):
                return {key: real(inner) for key, inner in value.items()}
            if isinstance(value, (list, tuple)):
                return type(value)(real(inner) for inner in value)
            if isinstance(value, torch.dtype) and value.is_floating_point:
                return torch.float64
            return torch.device("cpu") if isinstance(value, torch.device) else value

        with unset_fake_temporarily(), torch.no_grad(), in_double():
            name = call.name
            known = real(tuple(call.args)), real(call.kwargs)
            if name in CERTAIN:
                return CERTAIN[name](*known[0])
            if name in DECIDED and isinstance(known[0][0], torch.Tensor) and self.products_of(call.args[0]):
                return decided(name, *known[0])
            out = call.func(*known[0], **known[1])
            if name in EMPTY:
                out.zero_()
            if isinstance(out, (list, tuple)):
                return type(out)(double(one) for one in out)
            return double(out)

    def computed(self, call: Call) -> Any:
        """Returns the result of an operator if the values of all its operands are known, else None. Also returns None
        if an operand comes from attention scores."""
        if isinstance(call.func, torch._ops.HigherOrderOperator) or is_random(call.func):
            return None
        values = {id(one): self.constant(one) for one in call.inputs}
        if any(value is None for value in values.values()):
            return None
        try:
            return self.run(call, values)
        except Exception:  # it has no kernel for float64 on a CPU, for example
            return None

    def after(self, call: Call) -> None:
        """Computes the values of an operator's output from those of its operands, unless the operator is a matrix product."""
        func, inputs, out = call.func, call.inputs, call.out
        if not isinstance(out, (torch.Tensor, list, tuple)) or isinstance(func, torch._ops.HigherOrderOperator):
            return
        outputs = list(tensors(out))
        mutable = getattr(func, "_schema", None) is not None and func._schema.is_mutable
        name = call.name
        if not outputs:
            return
        products = self.products_in(inputs)
        if name in OPAQUE or (is_random(func) and name not in CERTAIN):
            self.lose(outputs, Unseen("depend on random numbers"), products, mutable, inputs)
            return
        if name in FILLS:
            values: dict[int, Any] = {id(one): NOTHING.expand(tuple(one.shape)) for one in inputs}
            self.result(call, values, outputs, False, ())
            return
        unseen = next((one._floptally_unseen for one in inputs if hasattr(one, "_floptally_unseen")), None)
        if unseen is not None:
            self.lose(outputs, unseen, products, mutable, inputs)
            return
        if self.real and not products and all(self.is_constant(one) for one in inputs):
            return  # its own values
        if name == "rand" and (len(outputs[0].shape) < 2 or min(outputs[0].shape[-2:]) < 2):
            return  # may decide what runs, see Supposed
        values = {id(one): self.known(one) for one in inputs}
        missing = [one for one in inputs if values[id(one)] is None]
        if missing and not products and not (self.draws and self.is_masked(inputs, values, missing)):
            self.lose((), DEPENDS_ON_DATA, (), mutable, inputs)
            return
        for one in missing:
            if not one.is_floating_point() or self.is_choice(one) or self.products_of(one):
                unknown = self.products_of(one) or self.is_constant(one)
                reason = Unseen("cannot be followed") if unknown else DEPENDS_ON_DATA
                self.lose(outputs, reason, products, mutable, inputs)
                return
            values[id(one)] = self.drawn(one, mutable and one is inputs[0])
        if missing and not products:  # a mask meets the scores of learned queries
            products = tuple(dict.fromkeys(one._floptally_learned for one in missing if hasattr(one, "_floptally_learned")))
        self.result(call, values, outputs, mutable, products)

    def result(
        self,
        call: Call,
        values: dict[int, Any],
        outputs: list[torch.Tensor],
        mutable: bool,
        products: tuple[Product, ...],
    ) -> None:
        """Stores the values of an operator's output. If they are too large for memory, stores only how to compute
        them."""
        written = next(tensors(call.args), None) if mutable else None
        if products and (call.name in WEIGHTING or any(map(is_weight, call.inputs))):
            for one in outputs:
                one._floptally_weight = True  # type: ignore[attr-defined]
        lazy = any(isinstance(value, Lazy) for value in values.values())
        if not lazy and sum(one.numel() for one in outputs) <= self.most_elements:
            try:
                self.give(call.out, self.run(call, values), products)
            except Exception as problem:  # no kernel for float64, for example
                reason = Unseen(f"cannot be computed ({call.name}: {first_line(problem, 120)})")
                self.lose(outputs, reason, products, mutable, outputs[:1] if written is None else [written])
                return
            if written is not None and products:
                self.write(written, products)
            return
        if not self.real and (written is None or (call.out is written and written._base is None)):
            recipes = parts_of(call.func, replaced(tuple(call.args), values), replaced(call.kwargs, values), outputs)
            for one, recipe in zip(outputs, recipes):
                one._floptally_lazy = recipe  # type: ignore[attr-defined]
                one._floptally_value = None  # type: ignore[attr-defined]
                if products:
                    one._floptally_products = products  # type: ignore[attr-defined]
            if recipes:
                return
        target = outputs if written is None else [written]
        self.lose(outputs, Unseen(f"cannot be computed row by row ({call.name})"), products, mutable, target)

    def lose(
        self,
        outputs: Iterable[torch.Tensor],
        reason: Unseen,
        products: tuple[Product, ...],
        mutable: bool,
        inputs: Sequence[torch.Tensor],
    ) -> None:
        """Records that the values of an operator's output are unknown. If the output comes from attention scores, a
        later error quotes `reason`."""
        for one in outputs if products else ():
            one._floptally_unseen = reason  # type: ignore[attr-defined]
            one._floptally_products = products  # type: ignore[attr-defined]
        if mutable and inputs:
            self.spoil(inputs[0])
            if products:
                self.write(inputs[0], products)

    def drawn(self, tensor: torch.Tensor, is_written: bool) -> Constant:
        """Returns random values for a tensor without known values that is combined with attention scores or a mask,
        such as a learned bias.

        is_written: True if the operator writes into the tensor. The tensor then keeps the random values.
        """
        if is_written:
            self.draw(tensor, (), OF_BIAS)
            found = self.known(tensor)
            assert found is not None
            return found
        if tensor.numel() > self.most_elements:
            return Lazy(drawn_scores, (), {}, tuple(tensor.shape), tensor.dtype)
        with unset_fake_temporarily():
            return torch.randn(tuple(tensor.shape), generator=self.random, dtype=torch.float64) * OF_BIAS

    def add_to(self, out: torch.Tensor, add: Constant, factor: float) -> None:
        """Adds the bias or mask that is the first argument of baddbmm to the random attention scores of its product."""
        before = self.known(out)
        if factor == 0:
            return
        if isinstance(add, torch.Tensor) and isinstance(before, torch.Tensor):
            with unset_fake_temporarily():
                out._floptally_value = before + factor * double(add)  # type: ignore[attr-defined]
        else:
            arguments = (before, add), {"alpha": factor}
            out._floptally_value = None  # type: ignore[attr-defined]
            out._floptally_lazy = Lazy(  # type: ignore[attr-defined]
                torch.ops.aten.add.Tensor, *arguments, tuple(out.shape), out.dtype
            )

    def is_masked(
        self, inputs: Sequence[torch.Tensor], values: dict[int, Any], missing: Sequence[torch.Tensor]
    ) -> bool:
        """True if the operator applies a mask to a learned attention bias, or to a decay factor of each (query, key)
        pair. Such a tensor is later added to the attention scores, or multiplied with them."""
        for one in inputs:
            value = values[id(one)]
            is_over_pairs = one.dim() > 1 and min(one.shape[-2:]) > 1
            if value is None or not (is_over_pairs or any(hasattr(other, "_floptally_learned") for other in missing)):
                continue
            if isinstance(value, Lazy):
                return value.dtype is torch.bool or not any(map(self.is_choice, missing))
            if value.dtype is torch.bool or value.is_floating_point() and bool((value <= FILL).any()):
                return True
        return False

    # Products.

    def operand(self, tensor: torch.Tensor) -> Constant | Unseen | None:
        """Returns the values of an operand of an attention product, which show the attended pairs. Returns None if the
        values are unknown. If they come from attention scores, an Unseen gives the reason."""
        unseen = getattr(tensor, "_floptally_unseen", None)
        if unseen is not None:
            assert isinstance(unseen, Unseen)
            return unseen
        value = self.known(tensor)
        return Unseen("cannot be followed") if value is None and self.products_of(tensor) else value

    def mixed(self, call: Call) -> None:
        """Computes the values of a product of attention scores with parameters, such as a linear mix of heads. The
        result counts as attention scores too."""
        products = self.products_in(call.inputs)
        unseen = next((one._floptally_unseen for one in call.inputs if hasattr(one, "_floptally_unseen")), None)
        if unseen is not None:
            self.lose(tensors(call.out), unseen, products, False, ())
            return
        known = {id(one): self.known(one) for one in call.inputs}
        values = {id(one): self.drawn(one, False) if known[id(one)] is None else known[id(one)] for one in call.inputs}
        self.result(call, values, list(tensors(call.out)), False, products)


SEEDS = itertools.count()  #: every step draws other scores
NOTHING = torch.zeros(())
#: Operators whose result does not depend on the values of their operands, only on shapes.
FILLS = frozenset("full_like zeros_like ones_like empty_like new_full new_zeros new_ones new_empty new_empty_strided".split())
EMPTY = frozenset("empty empty_like new_empty empty_strided new_empty_strided empty_permuted".split())
#: Operators that return tensors without content that matters here.
OPAQUE = frozenset("record_stream set_ resize_ resize_as_".split())
#: Functions that make weights of scores. Decays are multiplied with scores without one.
WEIGHTING = frozenset("_softmax _safe_softmax exp exp_ exp2 sigmoid sigmoid_ relu relu_ threshold silu".split())
#: Operators that turn logits into weights, whose small results are kept above 0.
DECIDED = frozenset(("_softmax", "_safe_softmax", "exp", "exp_"))


def kept(values: torch.Tensor, *_: Any) -> torch.Tensor:
    return torch.ones_like(values)


#: Random operators by what they leave on average: dropout drops no pair.
CERTAIN: dict[str, Callable[..., Any]] = {
    "native_dropout": lambda values, *_: (values.clone(), torch.ones_like(values, dtype=torch.bool)),
    "_fused_dropout": lambda values, *_: (values.clone(), torch.ones_like(values, dtype=torch.bool)),
    "bernoulli": kept,
    "bernoulli_": lambda values, *_: values.fill_(1),
    "rand_like": lambda values, *_: torch.full_like(values, 0.5),
    "rand": lambda size, *_: torch.full(tuple(size), 0.5, dtype=torch.float64),
}


def parts_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], outputs: Sequence[torch.Tensor]) -> list[Lazy]:
    """Returns a `Lazy` for each output of an operator. Empty if the operator has several outputs and is not
    supported."""
    name, aten = name_of(func), torch.ops.aten
    if name in ("native_dropout", "_fused_dropout"):
        source = args[0]
        return [Lazy(aten.alias.default, (source,), {}, tuple(outputs[0].shape), outputs[0].dtype)]
    if name in ("split", "split_with_sizes", "unbind"):
        dim = args[-1] if name == "unbind" and len(args) > 1 else args[2] if len(args) > 2 else kwargs.get("dim", 0)
        parts, start = [], 0
        for number, one in enumerate(outputs):
            shape, kind = tuple(one.shape), one.dtype
            if name == "unbind":
                parts.append(Lazy(aten.select.int, (args[0], dim, number), {}, shape, kind))
            else:
                end = start + shape[dim]
                parts.append(Lazy(aten.slice.Tensor, (args[0], dim, start, end, 1), {}, shape, kind))
                start = end
        return parts
    if len(outputs) != 1:
        return []
    return [Lazy(func, args, kwargs, tuple(outputs[0].shape), outputs[0].dtype)]


def is_weight(tensor: torch.Tensor) -> bool:
    """True if a tensor holds attention weights: attention scores after a softmax, an exponential or a similar
    function."""
    return hasattr(tensor, "_floptally_weight")


def is_random(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(func, "tags", ())


def name_of(func: Any) -> str:
    return str(getattr(getattr(func, "_overloadpacket", None), "__name__", ""))


def double(value: Any) -> Any:
    """Converts a floating-point tensor to float64. Returns anything else unchanged."""
    if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype is not torch.float64:
        return value.double()
    return value


def replaced(value: Any, values: dict[int, Any]) -> Any:
    """Returns an operator's arguments in which each tensor is replaced by its values. values: {id(tensor): values}."""
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


class Valued(TorchFunctionMode):
    """A mode in which operators run on the known values of fake tensors, not on the fake tensors themselves."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def known(value: Any) -> Any:
            if isinstance(value, FakeTensor):
                return getattr(value, "_floptally_value", value)
            if isinstance(value, (list, tuple)):
                return type(value)(known(inner) for inner in value)
            return value

        return func(*known(tuple(args)), **{key: known(value) for key, value in (kwargs or {}).items()})


#: Texts of the note, by what an assumption decided.
FINITE = "numbers are taken as finite"
RANDOM = "a random number is taken as its mean, 0.5"
EXAMPLE = "integers of the inputs are those of the example"
#: Tests for infinities and NaN, with their result for finite numbers.
TESTS = {"isfinite": True, "isnan": False, "isinf": False, "isposinf": False, "isneginf": False}
#: Operators for which one assumed element stands for all elements of a tensor.
OF_ONE = frozenset(
    "eq ne lt le gt ge mul logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_not all any "
    "_to_copy clone detach lift_fresh view _unsafe_view alias squeeze unsqueeze expand _local_scalar_dense "
    "is_nonzero".split()
)


class Supposed:
    """Assumes values of tensors if data decides which operators run. It assumes that all numbers are finite, that a
    random number is its mean, and that integers are those of the example. Assumed values never decide which pairs are
    attended."""

    def __init__(self, values: Values) -> None:
        self.values = values

    def of(self, tensor: torch.Tensor) -> torch.Tensor | None:
        known = self.values.constant(tensor)
        if known is not None:
            return known
        found = getattr(tensor, "_floptally_supposed", None)
        return found[0] if found is not None else None

    @staticmethod
    def why(inputs: Iterable[torch.Tensor]) -> frozenset[str]:
        found = [getattr(one, "_floptally_supposed", None) for one in inputs]
        return frozenset[str]().union(*(one[1] for one in found if one is not None))

    def remember(self, out: Any, value: Any, inputs: Iterable[torch.Tensor]) -> None:
        why = self.why(inputs)
        for tensor, known in zip(tensors(out), tensors(value)):
            if known.numel() <= MOST_ELEMENTS:
                tensor._floptally_supposed = known, why  # type: ignore[attr-defined]

    def computed(self, call: Call) -> Any:
        """Returns the result of an operator if a value was assumed for one of its inputs (`_floptally_supposed`), else
        None."""
        func, inputs = call.func, call.inputs
        if self.values.real or not any(hasattr(one, "_floptally_supposed") for one in inputs):
            return None
        if isinstance(func, torch._ops.HigherOrderOperator) or getattr(func._schema, "is_mutable", True):
            return None
        values = {id(one): self.of(one) for one in inputs}
        if any(value is None for value in values.values()):
            return None
        same = all(value.shape == one.shape for one in inputs if (value := values[id(one)]) is not None)
        if not same and call.name not in OF_ONE:
            return None
        try:
            with unset_fake_temporarily():
                return func(*replaced(tuple(call.args), values), **replaced(call.kwargs, values))
        except Exception:
            return None

    def after(self, call: Call) -> None:
        """Stores an assumed value of an operator's output. The value is the result of the operator for assumed
        operands, its result for finite numbers (isnan gives False), or the mean of a random number."""
        name, args, inputs, out = call.name, call.args, call.inputs, call.out
        if self.values.real or not isinstance(out, (torch.Tensor, list, tuple)):
            return
        if isinstance(out, FakeTensor) and not any(hasattr(one, "_floptally_supposed") for one in inputs):
            is_finite = TESTS.get(name)
            if name in ("eq", "ne") and len(args) == 2 and self.values.constant(args[0]) is None:
                of_limit = isinstance(args[1], float) and math.isinf(args[1])
                if args[0] is args[1] or of_limit:
                    is_finite = (name == "eq") == (args[0] is args[1])
            with unset_fake_temporarily():
                if is_finite is not None and inputs[0].is_floating_point() and self.values.constant(inputs[0]) is None:
                    finite = torch.tensor(is_finite), frozenset((FINITE,))
                    out._floptally_supposed = finite  # type: ignore[attr-defined]
                elif name in ("rand", "rand_like") and out.numel() == 1:
                    finite = torch.full(tuple(out.shape), 0.5, dtype=out.dtype), frozenset((RANDOM,))
                    out._floptally_supposed = finite  # type: ignore[attr-defined]
            return
        value = self.computed(call)
        if value is not None:
            self.remember(out, value, inputs)
