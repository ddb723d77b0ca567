# SPDX-License-Identifier: Apache-2.0
"""Runs one training step of a PyTorch model on fake tensors and counts every matrix product.

This module imports torch. `floptally.from_torch` (_from_torch.py) imports it when it is called.

Autograd tells which backward product belongs to which forward product: each node of its graph has a number, known
while the forward product runs and again while the node runs. Backward module hooks are not used. They miss modules
whose inputs need no gradient.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import prod
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.multiprocessing.reductions import StorageWeakRef
from torch.nested._internal.nested_tensor import NestedTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from ._core import Error
from ._torch_formulas import BY_NAME, by_pytorch, lacks_formula, own_formulas
from ._torch_kernels import Unwrapping, eager_kernels, name_of
from ._torch_lazy import Lazy
from ._torch_masks import Seen, all_pairs, both, pairs_of, pairs_of_function, pairs_of_window
from ._torch_process import settings_as_found
from ._torch_values import DEPENDS_ON_DATA, EXAMPLE, FILL, FILLS, MOST_ELEMENTS, Call, Supposed, Unseen, Values, is_weight

#: Operators that describe a tensor, which FlopCounterMode leaves whole too.
DESCRIBING = frozenset(
    "size sym_size stride sym_stride storage_offset sym_storage_offset numel sym_numel dim layout is_contiguous "
    "sym_is_contiguous is_strides_like_format is_non_overlapping_and_dense".split()
)
DECIDED_BY_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
#: Operators that choose the best of their operand's numbers.
CHOOSING = frozenset("topk sort argsort kthvalue argmax max median msort".split())
#: Operators whose result has no gradient, as an integer has none.
ROUNDING = frozenset("round floor ceil trunc sign sgn heaviside".split())
KNOWN_NAMESPACES = ("aten", "torch_attn", "higher_order")  #: namespaces of operators whose arguments are known
MOST_IN_BUFFER = 1 << 26  #: largest buffer, in elements, whose values are kept


@dataclass(eq=False)
class Product:
    """A matrix product of the forward, with the backward products that belong to it."""

    module: str  #: qualified name of the module that ran it; "" outside of all
    op: str
    kind: str  #: "weight": a parameter times data; "activations": both depend on data; "attention": a fused kernel;
    #: "constant": neither, such as the angles of rotary positions
    forward: int
    dims: tuple[int, ...]  #: batch, rows, contracted, columns; of a fused kernel: heads, queries, keys and both widths
    weights: tuple[str, ...]  #: parameters that it multiplies
    place: int  #: when the forward ran it
    seen: list[Seen] = field(default_factory=list)  #: of a core: which pairs it attends; empty: all
    is_attention: bool = False  #: True if scores become weights by a softmax or the like, or in a fused kernel
    decides: bool = False  #: True if integers or bools were made of its numbers, such as the choice of the best keys
    chosen_from: list[Seen] = field(default_factory=list)  #: the pairs that such a choice was made from; empty: all
    backward: int = 0
    groups_excess: int = 0  #: of `backward`: what the counter counts too often for a convolution in groups
    recomputed: int = 0  #: FLOPs of its forward that the backward ran again
    own_forward: int = 0  #: of `forward`: what FlopCounterMode alone does not count
    own_backward: int = 0  #: of `backward`: the same
    outside: int = 0  #: of `forward`: a convolution's positions beyond the length of its input, by its padding
    #: Operands that need a gradient, and those of them that depend on no weight that trains.
    with_gradient: int = 0
    untrained: int = 0
    input_gradients: int = 0  #: of `backward`: gradients of operands that depend on no weight that trains


@dataclass
class Step:
    """What one training step of the model ran: all its FLOPs, its matrix products, and the operators that were not
    counted."""

    total: int
    products: list[Product] = field(default_factory=list)
    softmax: dict[str, tuple[int, int]] = field(default_factory=dict)  #: of a module: elements, and its place
    tables: dict[str, str] = field(default_factory=dict)  #: look-up tables, and what indexes them: "data", ""
    used: dict[str, str] = field(default_factory=dict)  #: the first module that read a parameter
    recomputed: int = 0  #: the part of the total that the backward recomputed
    own_recomputed: int = 0  #: of `recomputed`: what FlopCounterMode alone does not count
    constants: Counter[str] = field(default_factory=Counter)  #: FLOPs by module of products of neither data nor weights
    uncounted: Counter[tuple[str, str]] = field(default_factory=Counter)  #: (module, product without a formula)
    others: Counter[tuple[str, str]] = field(default_factory=Counter)  #: (module, what multiplies without a product)
    #: FLOPs by operator that FlopCounterMode alone does not count, in the total
    unlike_pytorch: Counter[str] = field(default_factory=Counter)
    ran: set[str] = field(default_factory=set)  #: names of operators and kernels
    operators: int = 0  #: that ran, forward and backward
    supposed: set[str] = field(default_factory=set)  #: assumptions that replaced data: see Supposed
    masks: list[str] = field(default_factory=list)  #: arguments of the model that are masks and have their values

    @property
    def by_pytorch(self) -> int:
        """The FLOPs of the step as FlopCounterMode alone counts them, without floptally's formulas."""
        return self.total - self.own_recomputed - sum(one.own_forward + one.own_backward for one in self.products)


class TooLong(Exception):
    """Raised if a training step runs more operators than allowed. The usual cause is a model that loops over tokens."""


class Tag:
    """What a tensor was computed from.

    data: True if the tensor depends on input data.
    weights: names of the parameters that the tensor depends on.
    """

    __slots__ = ("data", "weights")

    def __init__(self, data: bool, weights: frozenset[str]) -> None:
        self.data = data
        self.weights = weights


NOTHING = Tag(False, frozenset())
DATA = Tag(True, frozenset())
GIVEN = Tag(True, frozenset())  # input data: no parameter and no product went into it


def tag_of(tensor: torch.Tensor) -> Tag:
    found = getattr(tensor, "_floptally_tag", NOTHING)
    assert isinstance(found, Tag)
    return found


def reaches_training(tensor: torch.Tensor) -> bool:
    """True if a tensor depends on a weight that trains. A gradient of any other tensor changes no weight."""
    found: bool = getattr(tensor, "_floptally_trained", tensor.requires_grad)
    return found


def deciding_of(tensor: torch.Tensor) -> frozenset[Product]:
    """Returns the matrix products that influence a tensor only through decisions, such as the choice of top-k keys."""
    found: frozenset[Product] = getattr(tensor, "_floptally_deciding", frozenset())
    return found


@functools.cache
def decided_by_values(func: Any) -> bool:
    """True for an operator whose result depends on values: Python reads the result, or its shape depends on values."""
    return bool(DECIDED_BY_VALUES & set(getattr(func, "tags", ())))


def is_choice(tensor: torch.Tensor) -> bool:
    """True if the tensor results from comparing or choosing input data, such as a comparison of token ids."""
    return hasattr(tensor, "_floptally_choice")


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    """Returns all tensors in nested lists, tuples, mappings and dataclasses."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from tensors_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors_in(inner)
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from tensors_in(getattr(value, one.name, None))


class Recorder(TorchDispatchMode):
    """A dispatch mode that records every operator of a step, forward and backward."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # nothing is compiled here, and the wrapper that says so takes time for each operator

    def __init__(
        self,
        registry: Mapping[Any, Any],
        formulas: Mapping[Any, Any],
        real: bool,
        most_operators: int,
        most_elements: int,
        with_masks: bool = True,
    ) -> None:
        super().__init__()
        self.registry = registry
        self.most_operators = most_operators
        self.modules: list[str] = []  # the modules that run, innermost last
        self.in_forward = True
        self.step = Step(0)
        self.total = 0
        self.module_of_node: dict[int, str] = {}
        self.owners: dict[int, list[Product]] = {}
        self.without_gradient: dict[int, list[Product]] = {}
        self.backward: list[tuple[int, str, int, int, int]] = []
        self.again: list[Product] = []
        #: Products inside autograd Functions, by the number of the node, the operator and its operands.
        self.in_functions: dict[tuple[int, str, Operands], list[Product]] = {}
        self.operands: list[StorageWeakRef] = []  # of such products: their addresses stay their own
        self.replaced = own_formulas().keys() - formulas.keys()
        self.created: list[weakref.ref[torch.Tensor]] = []  # fake tensors, which must not outlive the step
        self.composites: dict[Any, bool] = {}
        self.values = Values(real, lambda one: tag_of(one) is NOTHING, is_choice, most_elements, with_masks)
        self.supposed = Supposed(self.values)
        self.before_mix: list[Seen] = []  # pairs of scores whose heads are mixed; a mask may follow the mix
        self.in_nested = False  # inside an operator on nested tensors with gradients
        self.pairs: dict[Any, tuple[Any, Seen]] = {}  # of operands that are alike, as those of all layers

    def read_once(self, key: tuple[Any, ...], read: Callable[[], Seen]) -> Seen:
        """Returns the attended pairs that the function `read` finds. The result is cached for equal keys, such as those
        of the masks of all layers.

        key: the operand or the window of a kernel, and everything else that the pairs depend on.
        """
        operand, *rest = key
        known = (id(operand), operand._version) if isinstance(operand, torch.Tensor) else operand
        name = (operand.key if isinstance(operand, Lazy) else known, *rest)
        if name not in self.pairs:
            self.pairs[name] = operand, read()  # the operand stays alive, so that its id stays its own
        return self.pairs[name][1]

    @contextlib.contextmanager
    def nested(self, operands: Any) -> Iterator[None]:
        """Returns a context manager for operators on the plain tensors inside a nested tensor. If a nested tensor in
        `operands` needs a gradient, the operators count as needing one, since the plain tensors do not show this."""
        before = self.in_nested
        self.in_nested = before or any(one.requires_grad for one in tensors_in(operands))
        try:
            yield
        finally:
            self.in_nested = before

    def needs_gradient(self, inputs: Iterable[torch.Tensor]) -> bool:
        return self.in_nested or any(one.requires_grad for one in inputs)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "namespace", "") == "prim":
            return func(*args, **kwargs)  # asks for a tensor's device
        self.step.operators += 1
        if self.step.operators > self.most_operators > 0:
            raise TooLong(f"the step runs more than {self.most_operators} operators: trace it at shorter lengths")
        inputs = list(tensors_in(args)) + list(tensors_in(kwargs))
        call = Call(func, args, kwargs, inputs)
        if decided_by_values(func):
            value = None if self.values.real else self.values.computed(call)
            if value is not None and not isinstance(value, (torch.Tensor, list, tuple)):
                return value  # Python asks for a number
            if isinstance(value, torch.Tensor):
                found = self.fake_of(value)
                self.values.give(found, value)
                return found
            value = self.supposed.computed(call)
            if value is not None and not isinstance(value, (torch.Tensor, list, tuple)):
                self.step.supposed.update(self.supposed.why(inputs))
                return value
            if isinstance(value, torch.Tensor):
                self.step.supposed.update(self.supposed.why(inputs))
                found = self.fake_of(value)
                self.supposed.remember(found, value, inputs)
                found._floptally_tag = GIVEN  # type: ignore[attr-defined]
                return found
            func, args = call.func, call.args = self.by_places(func, args)
        if self.is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        out = call.out = func(*args, **kwargs)
        self.follow_training(call)
        again = self.runs_again()
        if again is not None:  # values of constants decide nothing in a backward
            self.supposed.after(call)
        packet = getattr(func, "_overloadpacket", func)
        formula = self.registry.get(packet)
        # A registered formula takes tensors and gives an int.
        flops = int(formula(*args, **kwargs, out_val=out)) if formula is not None else 0
        self.total += flops
        name = name_of(packet)
        self.step.ran.add(name)
        own = 0
        if packet in self.replaced and flops:
            own = flops - by_pytorch(packet, args, kwargs, out)
            self.note_unlike(name, own)
        if isinstance(out, FakeTensor):
            self.created.append(weakref.ref(out))
        if again is None:
            if formula is None and lacks_formula(func) == "product":
                running = torch._C._current_autograd_node()
                at = self.module_of_node.get(running._sequence_nr(), "") if running is not None else ""
                self.step.uncounted[(at, name)] += 1
            if flops and not self.repeats_forward(name, call.read, flops, own):
                excess = excess_of_groups(formula, args, out) if formula and name == "convolution_backward" else 0
                self.add_backward(name, flops, excess, own)
            return out
        module = self.modules[-1] if self.modules else ""
        node = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
        if torch.is_grad_enabled() and self.needs_gradient(inputs):
            self.module_of_node.setdefault(node, module)
        product = None
        lacks = "" if formula is not None or again else lacks_formula(func)
        if lacks:
            (self.step.uncounted if lacks == "product" else self.step.others)[(module, name)] += 1
        if formula is not None and (flops or getattr(func, "namespace", "aten") in KNOWN_NAMESPACES):
            with unset_fake_temporarily():
                product = product_of(name, func, args, kwargs, flops, self.values, self.read_once)
            product.own_forward = own
            if product.kind == "constant":
                self.step.constants[module] += flops
            else:
                self.add_product(product, module, node, inputs, again)
                if not torch.is_grad_enabled():
                    self.in_functions.setdefault((node, name, operands_of(call.read)), []).append(product)
                    self.operands += [StorageWeakRef(one.untyped_storage()) for one in call.read]
        if name in ("_softmax", "_safe_softmax") and not again:
            elements, _ = self.step.softmax.get(module, (0, 0))
            self.step.softmax[module] = elements + inputs[0].numel(), len(self.step.products)
        self.follow(call, name, module, product)
        if name in FILLS and not self.values.real:
            out._floptally_tag = NOTHING
        return out

    def is_composite(self, func: Any) -> bool:
        """True if an operator without a FLOPs formula consists of several other operators. In inference mode, and
        inside nested tensors, PyTorch shows only the operator itself."""
        if func not in self.composites:
            packet = getattr(func, "_overloadpacket", None)
            self.composites[func] = (
                packet is not None
                and packet not in self.registry
                and name_of(packet) not in DESCRIBING
                and torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
            )
        return self.composites[func]

    def note_unlike(self, name: str, flops: int) -> None:
        """Records FLOPs of an operator that only floptally's formulas count. FlopCounterMode alone does not count these
        FLOPs."""
        if flops:
            self.step.unlike_pytorch[name] += flops

    def by_places(self, func: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Replaces an indexing by a bool mask by an indexing by integers, if the values of the mask are known or
        assumed. The shape of the result is then known. Returns (operator, arguments), unchanged for any other
        operator."""
        aten = torch.ops.aten
        if func is aten.masked_select.default:
            shape = torch.broadcast_shapes(args[0].shape, args[1].shape)
            values, masks = args[0].expand(shape), [args[1]]
        elif func is aten.index.Tensor:
            values, masks = args[0], list(args[1])
        else:
            return func, args
        places: list[Any] = []
        for mask in masks:
            if mask is None or mask.dtype not in (torch.bool, torch.uint8):
                places.append(mask)
                continue
            known = self.supposed.of(mask)
            if known is None or known.shape != mask.shape:
                return func, args
            self.step.supposed.update(self.supposed.why([mask]))
            with unset_fake_temporarily():
                known = known.expand(values.shape) if len(masks) == 1 and func is not aten.index.Tensor else known
                found = known.nonzero().unbind(1)
            places += [self.fake_of(one) for one in found]
        return aten.index.Tensor, (values, places)

    def fake_of(self, value: torch.Tensor) -> torch.Tensor:
        mode = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE)
        return mode.from_tensor(value) if mode is not None else value  # type: ignore[no-any-return]

    def runs_again(self) -> bool | None:
        """True if activation checkpointing is running a forward again. None in a backward. False in the first
        forward."""
        if torch._C._current_graph_task_id() == -1 or self.in_forward:
            return False
        return True if torch.is_grad_enabled() else None

    def launched(self, kernel: Any, launch: dict[str, Any]) -> None:
        """Records the launch of a Triton kernel. Each of its tensors counts as an output, since a launch returns
        nothing."""
        operands = list(tensors_in(launch["kwargs"]))
        formula = self.registry.get(kernel)
        flops = int(formula(**launch, out_val=None)) if formula is not None else 0
        self.total += flops
        self.step.ran.add(name_of(kernel))
        again = self.runs_again()
        if again is None:
            if formula is None:
                self.step.uncounted[("", name_of(kernel))] += 1
            if flops:
                self.add_backward(name_of(kernel), flops, 0)
            return
        module = self.modules[-1] if self.modules else ""
        if flops:
            node = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
            self.add_product(operator_product(name_of(kernel), flops, operands), module, node, operands, again)
        elif formula is None and not again:
            self.step.uncounted[(module, name_of(kernel))] += 1
        tags = [tag_of(operand) for operand in operands]
        read = [tag for tag in tags if tag.weights]
        tag_of_output = DATA if any(tag.data for tag in tags) else merged(read, False) if read else NOTHING
        for operand, tag in zip(operands, tags):
            self.values.spoil(operand)
            if not tag.weights:
                for written in (operand, operand._base):
                    if written is not None:
                        written._floptally_tag = tag_of_output  # type: ignore[attr-defined]

    def add_product(
        self, product: Product, module: str, node: int, inputs: Iterable[torch.Tensor], again: bool
    ) -> None:
        product.module, product.place = module, len(self.step.products)
        (self.again if again else self.step.products).append(product)
        self.note_node(product, node, inputs)

    def note_node(self, product: Product, node: int, inputs: Iterable[torch.Tensor]) -> None:
        if not torch.is_grad_enabled():
            # Inside an autograd Function, which already has a node; or under no_grad, where no node is needed.
            self.without_gradient.setdefault(node, []).append(product)
        elif self.needs_gradient(inputs):
            self.owners.setdefault(node, []).append(product)

    def add_backward(self, name: str, flops: int, excess: int, own: int = 0) -> None:
        node = torch._C._current_autograd_node()
        number = -1 if node is None else node._sequence_nr()
        self.backward.append((number, node.name() if node is not None else name, flops, excess, own))

    def repeats_forward(self, name: str, inputs: Iterable[torch.Tensor], flops: int, own: int) -> bool:
        """True if the backward of an autograd Function now runs a product of its forward again, on the same operands.
        Then records the FLOPs as recomputed."""
        node = torch._C._current_autograd_node()
        if node is None or not self.in_functions:
            return False
        products = self.in_functions.get((node._sequence_nr(), name, operands_of(inputs)), [])
        product = next((one for one in products if not one.recomputed and one.forward == flops), None)
        if product is None:
            return False
        product.recomputed = flops
        self.step.recomputed += flops
        self.step.own_recomputed += own
        return True

    def follow(self, call: Call, name: str, module: str, product: Product | None) -> None:
        """Records which weights and inputs an operator's output was computed from, and the values of the output.

        product: the matrix product that the operator runs, or None.
        """
        func, args, inputs, out = call.func, call.args, call.inputs, call.out
        tags = [tag_of(one) for one in inputs]
        read = [tag for tag in tags if tag.weights]
        for tag in read:
            for weight in tag.weights:
                self.step.used.setdefault(weight, module)
        data = any(tag.data for tag in tags)
        if name == "embedding":
            for weight in tags[0].weights:
                self.step.tables.setdefault(weight, "data" if tags[1].data else "")
            result = DATA if tags[1].data else NOTHING
        elif name in ("index", "index_select", "gather") and tags and tags[0].weights:
            result = Tag(tags[0].data, tags[0].weights)  # weights chosen by data: experts
        elif data and product is None and all(tag is GIVEN or tag is NOTHING for tag in tags):
            result = GIVEN
        elif data:
            result = DATA if not read or any(tag.data and not tag.weights for tag in tags) else merged(read, True)
        else:
            result = merged(read, False) if read else NOTHING
        chosen = product is None and name != "embedding" and any(map(is_choice, inputs))
        for one in tensors_in(out):
            if chosen or (data and not one.is_floating_point() and not one.is_complex()):
                one._floptally_choice = True  # type: ignore[attr-defined]
        with unset_fake_temporarily():
            self.follow_values(call, name, product)
        learned = next((one._floptally_learned for one in inputs if hasattr(one, "_floptally_learned")), None)
        if product is not None:  # scores, if a mask follows: learned queries times keys
            learned = product if product.kind == "weight" and name == "bmm" else None
        for one in tensors_in(out):
            one._floptally_tag = result  # type: ignore[attr-defined]
            if learned is not None:
                one._floptally_learned = learned  # type: ignore[attr-defined]
        if result is not NOTHING and getattr(func, "_schema", None) is not None and func._schema.is_mutable and args:
            for one in tensors_in(args[0]):
                base = one._base
                if base is not None and result.data:
                    base._floptally_tag = DATA  # type: ignore[attr-defined]

    @staticmethod
    def follow_training(call: Call) -> None:
        """Records whether an operator's output depends on a weight that trains. A backward counts too: checkpointing
        detaches its inputs there before it runs the forward again."""
        trained = any(map(reaches_training, call.inputs))
        for one in tensors_in(call.out):
            one._floptally_trained = trained  # type: ignore[attr-defined]
            base = one._base
            if base is not None and trained and getattr(base, "_floptally_trained", None) is False:
                schema = getattr(call.func, "_schema", None)
                if schema is not None and schema.is_mutable:
                    base._floptally_trained = True  # type: ignore[attr-defined]

    def follow_values(self, call: Call, name: str, product: Product | None) -> None:
        """Computes the values of an operator's output if the values of its operands are known. If the operator is a
        matrix product of attention, also finds the attended pairs.

        name: the operator's name.
        product: the matrix product that the operator runs, or None.
        """
        args, out = call.args, call.out
        if product is None or product.kind == "constant":
            self.values.after(call)
            self.note_decisions(call)
            return
        if product.kind in ("attention", "operator") or len(product.dims) != 4 or "conv" in name or not self.values.draws:
            return
        first = 1 if "add" in name else 0  # the product is added to the first argument
        left, right = args[first : first + 2]
        weights = next((one for one in (left, right) if self.values.products_of(one)), None)
        heads, queries, contracted, columns = product.dims
        if weights is None:
            if product.kind == "activations":
                summand = self.values.known(args[0]) if "add" in name else None  # a bias, or a mask
                for one in tensors_in(out):
                    self.values.draw(one, (product,))
                    if summand is not None:
                        self.values.add_to(one, summand, call.kwargs.get("beta", 1))
            return
        operand = self.values.operand(weights)
        assert operand is not None
        seen: Seen
        if isinstance(operand, Lazy):
            seen = self.read_once((operand, heads, weights is left), lambda: pairs_of(operand, heads, weights is not left))
        else:
            seen = pairs_of(operand, heads, weights is not left) if isinstance(operand, torch.Tensor) else operand
        if isinstance(seen, Unseen):
            seen = replace(seen, heads=heads, queries=weights.shape[-2], keys=weights.shape[-1])
            if weights is not left:
                seen = replace(seen, queries=seen.keys, keys=seen.queries)
        if product.kind == "weight":
            for first_product in self.values.products_of(weights):
                first_product.seen = first_product.seen or [seen]
            # The rows of the operand: a mix of heads has one for each pair. A layer after a core has one for each token.
            rows = heads * (queries if weights is left else columns)
            if any(rows % max(one.dims[1] * one.dims[3], 1) == 0 for one in self.values.products_of(weights)):
                self.before_mix.append(seen)
                self.values.mixed(call)
            return
        product.seen.append(seen)
        product.is_attention = is_weight(weights)
        for first_product in self.values.products_of(weights):
            if first_product in deciding_of(weights):
                continue  # it made the mask
            first_product.is_attention |= is_weight(weights)
            others = [one for one in first_product.seen if not any(one is other for other in (seen, *self.before_mix))]
            first_product.seen = [*others, seen]

    def note_decisions(self, call: Call) -> None:
        """Records which matrix products influence an operator's output only through integers, bools or rounded numbers.
        Such a product makes a mask, like the scores of an indexer that chooses keys. The mask does not remove pairs of
        that product itself."""
        direct: set[Product] | None = None
        for out in tensors_in(call.out):
            products = self.values.products_of(out)
            if not products:
                continue
            if direct is None:
                direct = {one for of in call.inputs for one in self.values.products_of(of) if one not in deciding_of(of)}
                # The product of learned queries is on no input: it is recorded with the first operator on its scores.
                direct |= set(products) - set(self.values.products_in(call.inputs))
                self.note_choice(call, direct)
            rounded = not (out.is_floating_point() or out.is_complex()) or call.name in ROUNDING
            for product in products:
                product.decides |= rounded
            deciding = frozenset(one for one in products if rounded or one not in direct)
            if deciding:
                out._floptally_deciding = deciding  # type: ignore[attr-defined]

    def note_choice(self, call: Call, products: Iterable[Product]) -> None:
        """Records the (query, key) pairs among which an operator such as top-k chooses. A mask may have removed some
        pairs before."""
        scores = call.args[0] if call.name in CHOOSING and call.args else None
        if not isinstance(scores, torch.Tensor) or scores.dim() < 2:
            return
        value = self.values.known(scores)
        for product in products:
            if value is not None and len(product.dims) == 4 and not product.chosen_from:
                if sorted(scores.shape[-2:]) == sorted((product.dims[1], product.dims[3])):
                    product.chosen_from = [pairs_of(value, product.dims[0], is_mask=True)]

    def finish(self) -> Step:
        """Assigns every matrix product of the backward to the forward product that it belongs to. Returns the whole
        Step."""
        rest: dict[tuple[str, str], int] = {}
        for number, name, flops, excess, own in self.backward:
            known = self.owners.get(number) or self.without_gradient.get(number)
            if not known:
                module = self.module_of_node.get(number, "")
                rest[(module, name)] = rest.get((module, name), 0) + flops
                continue
            # One node with several products: an autograd Function. It is divided like the forward.
            whole = sum(one.forward for one in known)
            left = flops
            for one in known[:-1]:
                share = flops * one.forward // whole if whole else 0
                one.backward += share
                left -= share
            known[-1].backward += left
            known[-1].groups_excess += excess
            known[-1].own_backward += own
        for one in (*self.step.products, *self.again):
            # A fused kernel computes all gradients or none. Any other product has one of equal FLOPs for each operand.
            if one.untrained and (one.kind != "attention" or one.untrained == one.with_gradient):
                one.input_gradients = (one.backward - one.groups_excess) * one.untrained // one.with_gradient
        self.put_back()
        for one in self.step.products:
            one.decides &= not one.seen and not one.is_attention
            one.seen = one.chosen_from if one.decides else one.seen
        for (module, name), flops in rest.items():
            self.step.products.append(
                Product(module, name, "backward", 0, (), (), len(self.step.products), backward=flops)
            )
        self.step.total = self.total
        return self.step

    def put_back(self) -> None:
        """Finds the forward product that each recomputed product repeats, and adds the recomputed FLOPs there. A
        recomputed product repeats the next product of the same module and operator with equal FLOPs."""
        first: dict[tuple[str, str], list[Product]] = {}
        for one in self.step.products:
            first.setdefault((one.module, one.op), []).append(one)
        for one in self.again:
            same = first.get((one.module, one.op), [])
            known = next((p for p in same if p.recomputed == 0 and p.forward == one.forward), None)
            if known is None:
                raise Error(
                    one.module or "model",
                    f"{one.op} runs only in the backward and repeats no product of the forward: replace the autograd "
                    f"function that runs {one.op}",
                )
            known.recomputed += one.forward
            known.backward += one.backward
            known.groups_excess += one.groups_excess
            known.input_gradients += one.input_gradients
            known.own_backward += one.own_backward
            self.step.recomputed += one.forward
            self.step.own_recomputed += one.own_forward


def product_of(
    name: str,
    func: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    flops: int,
    values: Values,
    read_once: Callable[[Any, Callable[[], Seen]], Seen],
) -> Product:
    """Returns the matrix product that an operator of the forward runs, with its sizes. The caller must set `place`, the
    product's position in the forward."""
    dims: tuple[int, ...] = ()
    seen: list[Seen] = []
    operands: list[torch.Tensor] = []
    schema = getattr(func, "_schema", None)
    arguments = dict(zip((argument.name for argument in schema.arguments), args)) | kwargs if schema is not None else {}
    space = getattr(func, "namespace", "aten")
    own = space not in KNOWN_NAMESPACES and f"{space}::{name}" not in BY_NAME
    if "attention" in name and not own or name == "_varlen_attn":
        kind = "attention"
        query, key, value = operands = list(args[:3])
        dims = (prod(query.shape[:-2]), query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1])
        mask = arguments.get("attn_mask") if arguments.get("attn_mask") is not None else arguments.get("attn_bias")
        causal = [arguments.get("is_causal")] + list(args[6:7] if "efficient" in name else ())
        if name in ("_varlen_attn", "_flash_attention_forward", "_efficient_attention_forward"):
            dims = packed_dims(name, arguments, query, key, value)
            causal = [arguments.get("is_causal"), arguments.get("custom_mask_type")]
        window = window_of(arguments)
        if name == "flex_attention":
            seen = [pairs_of_flex(args, dims)]
        elif mask is not None:
            seen = [pairs_of_mask(mask, query.shape[:-2], dims[0], values, read_once)]
        seen = [replace(one, heads=dims[0], queries=dims[1], keys=dims[2]) if isinstance(one, Unseen) else one for one in seen]
        if window is not None or any(causal):
            sides, heads, queries, keys, is_causal = window or (-1, -1), *dims[:3], any(causal)
            found = read_once((sides, heads, queries, keys, is_causal), lambda: pairs_of_window(sides, heads, queries, keys, is_causal))
            seen = [both(found, one) for one in seen] or [found]
    elif own:
        return operator_product(name, flops, list(tensors_in(args)), told_pairs(arguments))
    else:
        first = 1 if "add" in name else 0  # the product is added to the first argument
        operands = [one for one in args[first : first + 2] if one is not None]
        a, b = operands[0].shape, operands[1].shape
        if "conv" in name:
            dims = (a[0], 0, b[1], b[0])
        elif f"{space}::{name}" in BY_NAME:
            dims = (1, prod(a[:-1]), a[-1], flops // (2 * max(prod(a), 1)))
        else:
            dims = (prod(a[:-2]), a[-2], a[-1], b[-1])
        tags = [tag_of(operand) for operand in operands]
        kind = "activations" if all(tag.data and not tag.weights for tag in tags) else "weight"
        if all(tag is NOTHING for tag in tags) and not any(operand.requires_grad for operand in operands):
            kind = "constant"
    weights = sorted(frozenset[str]().union(*(tag_of(operand).weights for operand in operands)))
    outside = flops_outside(flops, args) if name == "convolution" else 0
    differentiated = [one for one in operands if one.requires_grad and torch.is_grad_enabled()]
    untrained = [one for one in differentiated if not reaches_training(one)]
    return Product(
        "", name, kind, flops, dims, tuple(weights), 0, seen, outside=outside, with_gradient=len(differentiated),
        untrained=len(untrained),
    )  # fmt: skip


def flops_outside(flops: int, args: tuple[Any, ...]) -> int:
    """Returns the FLOPs that a causal convolution wastes at positions beyond the end of its input. The convolution pads
    both sides, and its module removes these positions afterwards. args: the arguments of aten.convolution."""
    source, weight, _, strides, paddings, dilations, transposed = args[:7]
    if transposed or any(stride != 1 for stride in strides):
        return 0
    sizes = source.shape[2:]
    wider = [n + 2 * p - d * (k - 1) for n, p, d, k in zip(sizes, paddings, dilations, weight.shape[2:])]
    return flops * (prod(wider) - prod(sizes)) // prod(wider) if prod(wider) > prod(sizes) else 0


def pairs_of_mask(
    mask: torch.Tensor,
    front: Sequence[int],
    heads: int,
    values: Values,
    read_once: Callable[[Any, Callable[[], Seen]], Seen],
) -> Seen:
    """Returns the (query, key) pairs that a fused attention kernel attends under its mask. front: the sizes of the
    queries' axes before the last two."""
    known = values.operand(mask)
    if isinstance(known, Unseen):
        return known
    if known is None:
        if is_choice(mask) or not mask.is_floating_point() or tag_of(mask) is GIVEN:
            return DEPENDS_ON_DATA
        return all_pairs(heads, mask.shape[-2], mask.shape[-1])  # a learned bias
    return read_once((known, heads, tuple(front)), lambda: pairs_of(known, heads, is_mask=True, front=front))


def operator_product(name: str, flops: int, operands: list[torch.Tensor], seen: Seen | None = None) -> Product:
    """Returns a Product for a user's operator: it counts as a matrix product with the FLOPs that the user's formula
    returned."""
    weights = sorted(frozenset[str]().union(*(tag_of(operand).weights for operand in operands)))
    unknown = Unseen("are those of a kernel whose arguments do not tell")
    return Product("", name, "weight" if weights else "operator", flops, (), tuple(weights), 0, [seen or unknown])


def window_of(arguments: Mapping[str, Any]) -> tuple[int, int] | None:
    """Returns (tokens to the left, tokens to the right) of the window that the arguments of an attention kernel state.
    -1 stands for all tokens of that side. None if the arguments state no window."""
    window = arguments.get("window_size")
    if isinstance(window, (list, tuple)) and len(window) == 2:
        return int(window[0]), int(window[1])
    sides = arguments.get("window_size_left"), arguments.get("window_size_right")
    if sides == (None, None):
        return None
    return int(-1 if sides[0] is None else sides[0]), int(-1 if sides[1] is None else sides[1])


def told_pairs(arguments: Mapping[str, Any]) -> Seen | None:
    """Returns the pairs that an attention kernel of another library attends, from arguments with the usual names
    (causal, window, max_seqlen_q). None if the arguments do not say which pairs."""
    causal = next((arguments[one] for one in ("causal", "is_causal") if isinstance(arguments.get(one), bool)), None)
    operands = [arguments.get(one) for one in ("q", "query", "k", "key")]
    query, key = [operand for operand in operands if isinstance(operand, torch.Tensor)] or (None, None)
    window = window_of(arguments)
    if causal is None or query is None or key is None or query.dim() not in (3, 4):
        return None
    lengths = [arguments.get(one) for one in ("max_seqlen_q", "max_q", "max_seqlen_k", "max_k")]
    stated = [int(length) for length in lengths if isinstance(length, int)]
    queries, keys = stated if len(stated) == 2 else (query.shape[-3], key.shape[-3])
    heads = prod(query.shape[:-3]) * query.shape[-2]
    return pairs_of_window(window or (-1, -1), heads, queries, keys, causal)


def packed_dims(name: str, arguments: Mapping[str, Any], query: Any, key: Any, value: Any) -> tuple[int, ...]:
    """Returns (heads times sequences, queries, keys, width of a key, width of a value) of an attention kernel for
    packed sequences. Every sequence is taken to be as long as the longest, since the boundaries in fake tensors cannot
    be read."""
    boundaries = next(
        (arguments[one] for one in ("cu_seq_q", "cum_seq_q", "cu_seqlens_q") if arguments.get(one) is not None), None
    )
    longest = [arguments.get(one) for one in ("max_q", "max_seqlen_q", "max_k", "max_seqlen_k")]
    if boundaries is None:
        heads, queries, keys = query.shape[0] * query.shape[2], query.shape[1], key.shape[1]
    else:
        queries, keys = [int(one) for one in longest if one is not None]
        heads = query.shape[-2] * (boundaries.shape[0] - 1)
    return heads, queries, keys, query.shape[-1], value.shape[-1]


def pairs_of_flex(args: tuple[Any, ...], dims: Sequence[int]) -> Seen:
    """Returns the pairs that flex attention attends: the pairs of its block mask, without the pairs that its score
    function removes.

    args: the arguments of the operator.
    """
    score_mod, block_mask = args[3], args[4]
    samples, heads = args[0].shape[:2]
    pairs = pairs_of_function(block_mask[-1], dims[1], dims[2], samples, heads)
    if getattr(score_mod, "__name__", "") != "_identity":
        zero = torch.zeros(())
        biased = pairs_of_function(
            lambda b, h, q, k: torch.as_tensor(score_mod(zero, b, h, q, k)), dims[1], dims[2], samples, heads, True
        )
        if isinstance(biased, Unseen):
            biased = all_pairs(samples * heads, dims[1], dims[2])  # a learned bias
        pairs = both(pairs, biased)
    return pairs


#: The memory of each operand of an operator: address, offset, shape and strides.
Operands = tuple[tuple[Any, ...], ...]


def operands_of(inputs: Iterable[torch.Tensor]) -> Operands:
    """Returns the memory address, offset, shape and strides of each tensor."""
    return tuple((one.untyped_storage()._cdata, one.storage_offset(), tuple(one.shape), one.stride()) for one in inputs)


def merged(tags: list[Tag], data: bool) -> Tag:
    return Tag(data, frozenset().union(*(tag.weights for tag in tags)))


def excess_of_groups(formula: Callable[..., Any], args: tuple[Any, ...], out: Any) -> int:
    """Returns the FLOPs that FlopCounterMode counts too much for the backward of a grouped convolution. For the weight
    gradient of each group, its formula uses the channels of all groups."""
    groups, needed = args[9], args[10]
    if groups == 1 or not needed[1]:
        return 0
    counted = int(formula(*args[:10], [False, True, False], *args[11:], out_val=out))
    return counted - counted // int(groups)


def real_copy(model: torch.nn.Module) -> torch.nn.Module:
    odd = next((name for name, named_parameter in model.named_parameters() if named_parameter.is_meta), None)
    if odd is not None:
        raise Error("real", f"needs a model with weights, but {odd} is on the device meta: load its weights")
    for name, one in model.named_parameters():
        if type(one).__name__ == "DTensor" or type(one.data).__name__ == "DTensor":
            raise Error("real", f"must be False for sharded parameters: this rank has only a shard of {name}")
    return copy.deepcopy(model)


def fake_copy(model: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """Returns a copy of the model with fake parameters, which take no memory. Shared parameters stay shared. Wrapping
    by fully_shard is removed, so that parameters have their global shapes.
    """
    memo: dict[int, Any] = {}
    sharded = [name for name, module in model.named_modules() if sharding_of(module) is not None]
    with mode:
        for parameter in model.parameters():
            empty = torch.empty(parameter.shape, dtype=parameter.dtype)
            memo[id(parameter)] = torch.nn.Parameter(empty, requires_grad=parameter.requires_grad)
        for buffer in (*model.buffers(), *plain_tensors(model)):
            if id(buffer) in memo:
                continue
            fake = torch.empty(buffer.shape, dtype=buffer.dtype)
            if not buffer.is_meta and buffer.numel() <= MOST_IN_BUFFER and type(buffer) is torch.Tensor:
                with unset_fake_temporarily():
                    fake._floptally_value = buffer.detach().cpu().clone()  # type: ignore[attr-defined]
            memo[id(buffer)] = fake
        classes = {name: type(model.get_submodule(name)) for name in sharded}
        try:
            for name in sharded:
                module = model.get_submodule(name)
                strip(module, memo)
                module.__class__ = sharding_of(module) or type(module)  # fully_shard's class refuses to be copied
            with FakeCopyMode(mode):
                copied = copy.deepcopy(model, memo)
        except Exception as problem:
            raise Error(
                "model", f"cannot be copied without its weights: {problem}; pass real=True to copy them too"
            ) from problem
        finally:
            for name, kind in classes.items():
                model.get_submodule(name).__class__ = kind
    assert isinstance(copied, torch.nn.Module)
    remove_distributed_hooks(copied)
    with mode:
        unpack_layers(copied)
    return copied


class Unpacked(torch.nn.Linear):
    """Stands in for a quantized linear layer of bitsandbytes: unpacks the weight, casts it to the type of the input,
    and multiplies."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        bias = None if self.bias is None else self.bias.to(x.dtype)
        return torch.nn.functional.linear(x, self.weight.to(x.dtype), bias)


def unpack_layers(model: torch.nn.Module) -> None:
    """Replaces the packed weights of bitsandbytes' linear layers, which are frozen, by weights of their full shape."""
    for module in model.modules():
        if type(module).__module__.startswith("bitsandbytes.nn") and isinstance(module, torch.nn.Linear):
            module.__class__ = Unpacked
            empty = torch.empty(module.out_features, module.in_features)
            module.weight = torch.nn.Parameter(empty, requires_grad=False)


def remove_distributed_hooks(model: torch.nn.Module) -> None:
    """Removes the hooks by which parallelize_module and distribute_module shard inputs and outputs. The copy of the
    model has whole parameters and does not need them."""
    for module in model.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks):
            for key, hook in list(hooks.items()):
                if str(getattr(hook, "__module__", "")).startswith("torch.distributed"):
                    del hooks[key]


def plain_tensors(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Returns the tensors that modules have as plain attributes, not as parameters or buffers."""
    for module in model.modules():
        for key, value in vars(module).items():
            if not key.startswith("_"):
                for one in tensors_in(value):
                    if type(one) is torch.Tensor and not one.requires_grad and not isinstance(one, FakeTensor):
                        yield one


def sharding_of(module: torch.nn.Module) -> type | None:
    """Returns the class that a module had before fully_shard replaced it. None if the module is not sharded."""
    kinds = type(module).__mro__
    is_sharded = len(kinds) > 2 and kinds[1].__name__ == "FSDPModule"
    return kinds[2] if is_sharded else None


def strip(module: torch.nn.Module, memo: dict[int, Any]) -> None:
    """Makes a running deepcopy leave out the hooks and states of fully_shard. memo: the `memo` argument of that
    deepcopy."""
    for hooks in (module._forward_pre_hooks, module._forward_hooks, module._forward_pre_hooks_with_kwargs):
        memo[id(hooks)] = type(hooks)()
    for hooks in (module._forward_hooks_with_kwargs, module._forward_hooks_always_called):
        memo[id(hooks)] = type(hooks)()
    for hooks in (module._state_dict_hooks, module._state_dict_pre_hooks, module._load_state_dict_pre_hooks):
        memo[id(hooks)] = type(hooks)()
    for key, value in module.__dict__.items():
        if "composable" in str(key).lower() or type(value).__module__.startswith("torch.distributed"):
            memo[id(value)] = {}


class NoModules:
    """Replaces FlopCounterMode's tracker of modules, so that the counter gives one total and not a count for each
    module."""

    parents = frozenset(("Global",))

    def __enter__(self) -> NoModules:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def run_step(
    model: torch.nn.Module,
    mode: FakeTensorMode | None,
    inputs: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]],
    loss: Callable[[Any], torch.Tensor],
    plain: Iterable[str],
    formulas: Mapping[Any, Any],
    most_operators: int = 0,
    by_example: bool = False,
    created: list[weakref.ref[torch.Tensor]] | None = None,
    most_elements: int = MOST_ELEMENTS,
    forward_only: bool = False,
    around: Any = None,
    checked: bool = True,
) -> Step:
    """Runs forward, loss and backward of a copy of the model, and records it as a Step. No backward runs if the loss
    needs no gradient.

    mode: the fake tensor mode; None runs on real tensors.
    plain: names of inputs that are not data, such as positions.
    most_operators: a step with more operators raises TooLong.
    by_example: True lets data-dependent choices follow the integers of the inputs.
    created: gets a reference to each fake tensor, for left_as_found.
    most_elements: size of the largest (query, key) tensor whose values are computed.
    forward_only: True runs no loss and no backward, and looks at no masks.
    around: a context manager for the model's forward.
    checked: True also runs FlopCounterMode and compares the totals. False saves this time.
    """
    handles = []
    no_data = frozenset(plain)
    counter = FlopCounterMode(display=False, custom_mapping={**own_formulas(), **formulas})
    # A gradient computed inside a forward must not trigger the hooks of that forward.
    counter.mod_tracker = NoModules()  # type: ignore[assignment]
    recorder = Recorder(counter.flop_registry, formulas, mode is None, most_operators, most_elements, not forward_only)
    recorder.created = [] if created is None else created

    def enter(name: str) -> Callable[..., None]:
        return lambda *_: recorder.modules.append(name)

    def leave(*_: object) -> None:
        recorder.modules.pop()

    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(enter(name), prepend=True))
        handles.append(module.register_forward_hook(leave, always_call=True))
    unwrapping = Unwrapping(recorder.nested, recorder.launched)
    try:
        with settings_as_found(), mode or contextlib.nullcontext(), eager_kernels():
            args, kwargs = inputs()
            recorder.created += [weakref.ref(one) for one in tensors_in((args, kwargs)) if isinstance(one, FakeTensor)]
            ragged = any(one.is_nested for one in tensors_in((args, kwargs)))
            checked = checked or ragged
            if ragged and mode is None:
                raise Error("real", "must be False with nested tensors, whose attention has no kernel on a CPU")
            for one in tensors_in(args):
                give_tag(one, GIVEN)
            for key, value in kwargs.items():
                for one in tensors_in(value):
                    give_tag(one, NOTHING if key in no_data else GIVEN)
            if mode is not None:
                recorder.step.masks = give_values(inputs, args, kwargs, no_data, by_example, names_of_arguments(model))
            for name, parameter in model.named_parameters():
                parameter.grad = None
                parameter._floptally_tag = Tag(False, frozenset((name,)))  # type: ignore[attr-defined]
                parameter._floptally_trained = parameter.requires_grad  # type: ignore[attr-defined]
            with recorder, counter if checked else contextlib.nullcontext(), unwrapping:
                with around or contextlib.nullcontext():
                    value = model(*args, **kwargs)
                if not forward_only:
                    value = loss(value)
                    recorder.in_forward = False
                    if isinstance(value, torch.Tensor) and value.requires_grad:
                        value.backward()
    finally:
        for handle in handles:
            handle.remove()
        for parameter in model.parameters():
            parameter.grad = None
    if checked and counter.get_total_flops() != recorder.total:
        raise Error(
            "model",
            f"FlopCounterMode counts {counter.get_total_flops()}, but the operators that floptally recorded add up to "
            f"{recorder.total}: please report this with the code of the model",
        )
    return recorder.finish()


def give_tag(tensor: torch.Tensor, tag: Tag) -> None:
    tensor._floptally_tag = tag  # type: ignore[attr-defined]
    tensor._floptally_trained = False  # type: ignore[attr-defined]
    if tag.data and not tensor.is_floating_point() and not tensor.is_complex():
        tensor._floptally_choice = True  # type: ignore[attr-defined]
    if isinstance(tensor, NestedTensor):
        tensor._values._floptally_tag = tag  # type: ignore[attr-defined]


def names_of_arguments(model: torch.nn.Module) -> list[str]:
    with contextlib.suppress(TypeError, ValueError):
        return [name for name in inspect.signature(model.forward).parameters]
    return []


def is_mask_input(name: str, value: torch.Tensor) -> bool:
    """True if an argument of the model may decide which pairs are attended: a tensor of bools, a tensor named like a
    mask, or a tensor of numbers that remove pairs (such as -inf)."""
    if value.is_nested or value.is_complex() or value.dim() < 1:
        return False
    if value.dtype is torch.bool or "mask" in name:
        return True
    with unset_fake_temporarily():
        return value.is_floating_point() and value.dim() > 1 and bool((value <= FILL).any())


def give_values(
    inputs: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    plain: frozenset[str],
    by_example: bool,
    names: Sequence[str],
) -> list[str]:
    """Makes the model's inputs a second time, as real tensors. Copies the values that decide which pairs are attended
    (positions, masks, boundaries of nested tensors) to the fake tensors. Returns the names of inputs that are masks.

    plain: names of arguments that are not data, such as positions. by_example: True also copies all integers and bools
    of the example, as assumed values.
    names: the names of the model's arguments, in order.
    """
    large = any(not one.is_nested and one.numel() > 4 * MOST_ELEMENTS for one in tensors_in((args, kwargs)))
    if large and not by_example:
        return []
    try:
        with unset_fake_temporarily():
            known_args, known = inputs()
    except Exception as problem:  # their values stay unknown
        if any(one.is_nested for one in tensors_in((args, kwargs))):
            raise Error("example_inputs", f"must be able to create its nested tensors as real tensors too, but raised: {problem}") from problem
        return []
    masks = []
    pairs = [*zip(names, args, known_args), *((key, kwargs[key], known.get(key)) for key in kwargs)]
    for name, fakes, reals in pairs:
        for fake, real in zip(tensors_in(fakes), tensors_in(reals)):
            if name in plain or is_mask_input(name, real):
                fake._floptally_value = real  # type: ignore[attr-defined]
                fake._floptally_tag = NOTHING  # type: ignore[attr-defined]
                fake.__dict__.pop("_floptally_choice", None)
                masks += [] if name in plain or name in masks else [name]
    for fake, real in zip(tensors_in((args, kwargs)), tensors_in((known_args, known))):
        if by_example and not real.is_nested and not real.is_floating_point() and not real.is_complex():
            fake._floptally_supposed = real, frozenset((EXAMPLE,))  # type: ignore[attr-defined]
        if isinstance(fake, NestedTensor) and isinstance(real, NestedTensor):
            with unset_fake_temporarily():
                lengths = real.offsets().diff().tolist()
            if real.lengths() is not None or len(set(lengths)) != 1:
                raise Error(
                    "example_inputs",
                    f"has a nested tensor with the lengths {lengths}: pass equal lengths; the cost then counts any "
                    "lengths",
                )
            fake._offsets._floptally_value = real.offsets()  # type: ignore[attr-defined]
    return masks
