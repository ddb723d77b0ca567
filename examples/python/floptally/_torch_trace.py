# SPDX-License-Identifier: Apache-2.0
"""One training step of a PyTorch model on fake tensors, and what every product of matrices in it counts.

Imports torch; `floptally.from_torch` (_from_torch.py) imports this module when it is called.

Which backward product belongs to which forward product is asked of autograd: a node of its graph has a number, which is
known while the forward product runs and again while the node does. Module hooks of the backward are not needed, which
miss modules whose inputs need no gradient.
"""

from __future__ import annotations

import contextlib
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from math import prod
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensor, FakeTensorMode, unset_fake_temporarily
from torch.nested._internal.nested_tensor import NestedTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from ._core import Error
from ._torch_kernels import ATTENTION, Unwrapping, eager_kernels, name_of
from ._torch_masks import (
    CAUSAL,
    DEAD,
    EXAMPLE,
    FULL,
    MOST_ELEMENTS,
    Constants,
    Pattern,
    Scores,
    Supposed,
    both,
    fills,
    is_dead,
    is_false,
    is_true,
    is_zero,
    pattern_in,
    pattern_of_function,
    pattern_of_window,
    triangle,
)

# Products that the counter has no formula for. Those of other libraries' kernels are told by their namespace.
UNCOUNTED = frozenset(
    "_grouped_mm _scaled_grouped_mm mv addmv dot vdot addr addbmm _cdist_forward _trilinear linalg_solve_triangular "
    "triangular_solve _fft_r2c _fft_c2r _fft_c2c mkldnn_rnn_layer _cudnn_rnn _thnn_fused_lstm_cell _weight_int8pack_mm "
    "_weight_int4pack_mm".split()
)
DECIDED_BY_VALUES = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
KNOWN_NAMESPACES = ("aten", "torch_attn", "higher_order")  #: of operators whose arguments are known
OWN_NAMESPACES = frozenset(("aten", "prim", "prims", "profiler"))


@dataclass
class Product:
    """A product of matrices of the forward, with what the backward ran for it."""

    module: str  #: qualified name of the module that ran it; "" outside of all
    op: str
    kind: str  #: "weight": a parameter times data; "activations": both depend on data; "attention": a fused kernel;
    #: "constant": neither, as the angles of rotary positions
    forward: int
    dims: tuple[int, ...]  #: batch, rows, contracted, columns; of a fused kernel: heads, queries, keys and both widths
    weights: tuple[str, ...]  #: parameters that it multiplies with
    place: int  #: when the forward ran it
    pattern: Pattern = FULL  #: of a core: which pairs it attends, as far as that is known
    softmax: bool = False  #: whether it is, or meets, a softmax
    backward: int = 0
    groups_excess: int = 0  #: of `backward`: what the counter counts too often for a convolution in groups
    recomputed: int = 0  #: what the backward ran of its forward again


@dataclass
class Step:
    """What one step of a model counted."""

    total: int
    products: list[Product] = field(default_factory=list)
    softmax: dict[str, tuple[int, int]] = field(default_factory=dict)  #: of a module: elements, and its place
    tables: dict[str, str] = field(default_factory=dict)  #: parameters that were looked up in, and by what: "data", ""
    used: dict[str, str] = field(default_factory=dict)  #: the first module that read a parameter
    recomputed: int = 0  #: of the total: forward products that the backward ran again
    constants: Counter[str] = field(default_factory=Counter)  #: FLOPs by module of products of neither data nor weights
    uncounted: Counter[tuple[str, str]] = field(default_factory=Counter)  #: (module, operator) without a formula
    operators: int = 0  #: that ran, forward and backward
    supposed: set[str] = field(default_factory=set)  #: what decided in place of data: see Supposed


class TooLong(Exception):
    """A step ran more operators than it was given: it loops over tokens."""


class Tag:
    """What a tensor was computed from."""

    __slots__ = ("data", "weights")

    def __init__(self, data: bool, weights: frozenset[str]) -> None:
        self.data = data
        self.weights = weights


NOTHING = Tag(False, frozenset())
DATA = Tag(True, frozenset())
GIVEN = Tag(True, frozenset())  # data as it was given: no parameter and no product went into it


def tag_of(tensor: torch.Tensor) -> Tag:
    found = getattr(tensor, "_floptally_tag", NOTHING)
    assert isinstance(found, Tag)
    return found


def tensors_in(value: object) -> Iterator[torch.Tensor]:
    """The tensors of nested lists, tuples, mappings and a model's outputs."""
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
    """Sees every operator of a step, below autograd."""

    supports_higher_order_operators = True

    def __init__(self, registry: Mapping[Any, Any], real: bool, most_operators: int) -> None:
        super().__init__()
        self.registry = registry
        self.most_operators = most_operators
        self.most_elements = MOST_ELEMENTS if most_operators == 0 else MOST_ELEMENTS >> 3
        self.modules: list[str] = []  # the modules that run, innermost last
        self.in_forward = True
        self.step = Step(0)
        self.total = 0
        self.module_of_node: dict[int, str] = {}
        self.owners: dict[int, list[Product]] = {}
        self.without_gradient: dict[int, list[Product]] = {}
        self.backward: list[tuple[int, str, int, int]] = []
        self.again: list[Product] = []
        self.constants = Constants(real, lambda one: tag_of(one) is NOTHING)
        self.supposed = Supposed(self.constants)
        self.in_nested = False  # an operator on nested tensors, one of which needs a gradient

    @contextlib.contextmanager
    def nested(self, operands: Any) -> Iterator[None]:
        """What is inside of a nested tensor does not say that the tensor needs a gradient."""
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
            return func(*args, **kwargs)  # on which device a tensor is
        self.step.operators += 1
        if self.step.operators > self.most_operators > 0:
            raise TooLong(f"more than {self.most_operators} operators")
        inputs = list(tensors_in(args)) + list(tensors_in(kwargs))
        if DECIDED_BY_VALUES & set(getattr(func, "tags", ())):
            value = self.constants.computed(func, args, kwargs, inputs)
            if value is not None and not isinstance(value, (torch.Tensor, list, tuple)):
                return value  # a number that Python asks for
            if isinstance(value, torch.Tensor):
                found = self.fake_of(value)
                self.constants.remember(found, value)
                return found
            value = self.supposed.computed(func, args, kwargs, inputs)
            if value is not None and not isinstance(value, (torch.Tensor, list, tuple)):
                self.step.supposed.update(self.supposed.why(inputs))
                return value
            if isinstance(value, torch.Tensor):
                self.step.supposed.update(self.supposed.why(inputs))
                found = self.fake_of(value)
                self.supposed.remember(found, value, inputs)
                found._floptally_tag = GIVEN  # type: ignore[attr-defined]
                return found
            func, args = self.by_places(func, args)
        out = func(*args, **kwargs)
        self.supposed.after(func, args, kwargs, inputs, out)
        made = sum(one.numel() for one in tensors_in(out))
        value = how = None
        if 0 < made <= self.most_elements:
            value = self.constants.computed(func, args, kwargs, inputs)
        if value is None and made > 0:
            how = self.constants.made_by(func, args, kwargs, inputs)
        packet = getattr(func, "_overloadpacket", func)
        formula = self.registry.get(packet)
        # A registered formula takes tensors and gives an int.
        flops = int(formula(*args, **kwargs, out_val=out)) if formula is not None else 0
        self.total += flops
        name = name_of(packet)
        again = self.runs_again()
        if again is None:
            if flops:
                excess = excess_of_groups(formula, args, out) if formula and name == "convolution_backward" else 0
                self.add_backward(name, flops, excess)
            return out
        module = self.modules[-1] if self.modules else ""
        node = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
        if torch.is_grad_enabled() and self.needs_gradient(inputs):
            self.module_of_node.setdefault(node, module)
        product = None
        if formula is not None:
            with unset_fake_temporarily():
                product = product_of(name, func, args, kwargs, flops, self.constants)
            if product.kind == "constant":
                self.step.constants[module] += flops
            else:
                self.add_product(product, module, node, inputs, again)
        elif not again and (name in UNCOUNTED or getattr(func, "namespace", "aten") not in OWN_NAMESPACES):
            self.step.uncounted[(module, name)] += 1
        if name in ("_softmax", "_safe_softmax") and not again:
            elements, _ = self.step.softmax.get(module, (0, 0))
            self.step.softmax[module] = elements + inputs[0].numel(), len(self.step.products)
        self.follow(name, module, func, inputs, args, out, product)
        if how is not None and fills(func):
            out._floptally_tag = NOTHING
        if value is not None:
            self.constants.remember(out, value)
        elif getattr(func, "_schema", None) is not None and func._schema.is_mutable and inputs:
            if how is not None and out is inputs[0] and out._base is None and self.constants.of(out) is None:
                self.constants.remember_how(out, how)
            else:
                self.constants.spoil(inputs[0])
        elif how is not None:
            self.constants.remember_how(out, how)
        return out

    def by_places(self, func: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """Elements that a mask chooses, as those at the places where it is known or supposed to be true."""
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
        """Whether what runs is a forward that checkpointing runs once more; None in the backward."""
        if torch._C._current_graph_task_id() == -1 or self.in_forward:
            return False
        return True if torch.is_grad_enabled() else None

    def launched(self, kernel: Any, launch: dict[str, Any]) -> None:
        """A kernel of Triton, which returns nothing: any tensor that it is given may be what it writes."""
        operands = list(tensors_in(launch["kwargs"]))
        formula = self.registry.get(kernel)
        flops = int(formula(**launch, out_val=None)) if formula is not None else 0
        self.total += flops
        again = self.runs_again()
        if again is None:
            if flops:
                self.add_backward(name_of(kernel), flops, 0)
            return
        module = self.modules[-1] if self.modules else ""
        if formula is not None:
            node = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
            self.add_product(operator_product(name_of(kernel), flops, operands), module, node, operands, again)
        elif not again:
            self.step.uncounted[(module, name_of(kernel))] += 1
        tags = [tag_of(one) for one in operands]
        read = [tag for tag in tags if tag.weights]
        made = DATA if any(tag.data for tag in tags) else merged(read, False) if read else NOTHING
        for one, tag in zip(operands, tags):
            self.constants.spoil(one)
            if not tag.weights:
                for written in (one, one._base):
                    if written is not None:
                        written._floptally_tag = made  # type: ignore[attr-defined]

    def add_product(
        self, product: Product, module: str, node: int, inputs: Iterable[torch.Tensor], again: bool
    ) -> None:
        product.module, product.place = module, len(self.step.products)
        (self.again if again else self.step.products).append(product)
        self.note_node(product, node, inputs)

    def note_node(self, product: Product, node: int, inputs: Iterable[torch.Tensor]) -> None:
        if not torch.is_grad_enabled():
            # Inside an autograd Function, whose node is there already; or under no_grad, and then nobody asks.
            self.without_gradient.setdefault(node, []).append(product)
        elif self.needs_gradient(inputs):
            self.owners.setdefault(node, []).append(product)

    def add_backward(self, name: str, flops: int, excess: int) -> None:
        node = torch._C._current_autograd_node()
        number = -1 if node is None else node._sequence_nr()
        self.backward.append((number, node.name() if node is not None else name, flops, excess))

    def follow(
        self,
        name: str,
        module: str,
        func: Any,
        inputs: list[torch.Tensor],
        args: tuple[Any, ...],
        out: Any,
        product: Product | None,
    ) -> None:
        tags = [tag_of(one) for one in inputs]
        read = [tag for tag in tags if tag.weights]
        for tag in read:
            for weight in tag.weights:
                self.step.used.setdefault(weight, module)
        data = any(tag.data for tag in tags)
        if name == "embedding":
            for weight in tags[0].weights:
                self.step.tables.setdefault(weight, "data" if tags[1].data else "")
            made = DATA if tags[1].data else NOTHING
        elif name in ("index", "index_select", "gather") and tags and tags[0].weights:
            made = Tag(tags[0].data, tags[0].weights)  # weights that data chose: experts
        elif data and product is None and all(tag is GIVEN or tag is NOTHING for tag in tags):
            made = GIVEN
        elif data:
            made = DATA if not read or any(tag.data and not tag.weights for tag in tags) else merged(read, True)
        else:
            made = merged(read, False) if read else NOTHING
        with unset_fake_temporarily():
            scores = self.scores_after(name, inputs, args, product)
            for one in tensors_in(out):
                if scores is not None:
                    shape = tuple(one.shape)
                    one._floptally_scores = Scores(  # type: ignore[attr-defined]
                        scores.products, pattern_in(scores.pattern, shape, name)
                    )
        for one in tensors_in(out):
            one._floptally_tag = made  # type: ignore[attr-defined]
        if made is not NOTHING and getattr(func, "_schema", None) is not None and func._schema.is_mutable and args:
            for one in tensors_in(args[0]):
                base = one._base
                if base is not None and made.data:
                    base._floptally_tag = DATA  # type: ignore[attr-defined]

    def scores_after(
        self, name: str, inputs: list[torch.Tensor], args: tuple[Any, ...], product: Product | None
    ) -> Scores | None:
        """What an operator makes of scores, and of the constants that meet them."""
        marks = [one._floptally_scores for one in inputs if hasattr(one, "_floptally_scores")]
        if product is not None:
            if product.kind == "weight":
                return None
            for mark in marks:
                # Q and K may come of other cores: only a pattern over pairs is one of this product.
                if not product.kind == "attention" and len(mark.products) > 0 and mark.products[-1].softmax:
                    product.pattern = both(product.pattern, mark.pattern)
                    product.softmax = True
                    for one in mark.products:
                        one.pattern = mark.pattern
                elif not isinstance(mark.pattern, str) or mark.pattern != FULL:
                    product.pattern = both(product.pattern, mark.pattern)
                    for one in mark.products:
                        one.pattern = mark.pattern
            return Scores([product], product.pattern) if product.kind == "activations" and not product.softmax else None
        if all(self.constants.known(one) is not None for one in inputs):
            return None  # its values say more than how they were made
        pattern: Pattern = FULL
        products: list[Product] = []
        for mark in marks:
            pattern = both(pattern, mark.pattern)
            products += [one for one in mark.products if one not in products]
        dead = {"add": is_dead, "sub": is_dead, "add_": is_dead, "mul": is_zero, "mul_": is_zero}.get(name)
        if name in ("masked_fill", "masked_fill_") and len(inputs) > 1:
            fill = args[2] if not isinstance(args[2], torch.Tensor) else self.constants.of(args[2])
            if fill is not None and (float(fill) < DEAD or float(fill) == 0):
                pattern = both(pattern, self.constants.alive(inputs[1], is_true))
        elif name == "where" and len(inputs) == 3:
            for taken, turn in ((inputs[2], False), (inputs[1], True)):
                if self.constants.all_are(taken, lambda value: (value < DEAD) | (value == 0)):
                    pattern = both(pattern, self.constants.alive(inputs[0], is_true if turn else is_false))
                    break
        elif name in ("tril", "tril_", "triu", "triu_") and marks:
            shift = args[1] if len(args) > 1 else 0
            pattern = both(pattern, triangle(name, shift, *inputs[0].shape[-2:]))
        elif dead is not None:
            for one in inputs:
                if not hasattr(one, "_floptally_scores") and one.dim() > 0 and (marks or dead is is_dead):
                    if tag_of(one) is NOTHING or (tag_of(one) is GIVEN and marks):
                        pattern = both(pattern, self.constants.alive(one, dead))
        if not marks and (pattern is None or isinstance(pattern, str)):
            return None
        if name in ("_softmax", "_safe_softmax"):
            for one in products:
                one.softmax = True
                one.pattern = pattern
        return Scores(products, pattern)

    def finish(self) -> Step:
        """Gives every backward product to its forward product."""
        rest: dict[tuple[str, str], int] = {}
        for number, name, flops, excess in self.backward:
            known = self.owners.get(number) or self.without_gradient.get(number)
            if not known:
                module = self.module_of_node.get(number, "")
                rest[(module, name)] = rest.get((module, name), 0) + flops
                continue
            # One node, several products: an autograd Function. Shares follow the forward's.
            whole = sum(one.forward for one in known)
            left = flops
            for one in known[:-1]:
                share = flops * one.forward // whole if whole else 0
                one.backward += share
                left -= share
            known[-1].backward += left
            known[-1].groups_excess += excess
        self.put_back()
        for (module, name), flops in rest.items():
            self.step.products.append(
                Product(module, name, "backward", 0, (), (), len(self.step.products), backward=flops)
            )
        self.step.total = self.total
        return self.step

    def put_back(self) -> None:
        """Gives what ran again to the product that it is: the same of that module, in the same order."""
        first: dict[tuple[str, str], list[Product]] = {}
        for one in self.step.products:
            first.setdefault((one.module, one.op), []).append(one)
        for one in self.again:
            same = first.get((one.module, one.op), [])
            known = next((p for p in same if p.recomputed == 0 and p.forward == one.forward), None)
            if known is None:
                raise Error(one.module or "model", f"{one.op} runs in the backward, and is no product of the forward")
            known.recomputed += one.forward
            known.backward += one.backward
            known.groups_excess += one.groups_excess
            self.step.recomputed += one.forward


def product_of(
    name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], flops: int, constants: Constants
) -> Product:
    """A forward product by its operands; where it stands is to be filled in."""
    dims: tuple[int, ...] = ()
    pattern: Pattern = FULL
    operands: list[torch.Tensor] = []
    schema = getattr(func, "_schema", None)
    given = dict(zip((one.name for one in schema.arguments), args)) | kwargs if schema is not None else {}
    own = getattr(func, "namespace", "aten") not in KNOWN_NAMESPACES
    if "attention" in name and not own or name == "_varlen_attn":
        kind = "attention"
        query, key, value = operands = list(args[:3])
        dims = (prod(query.shape[:-2]), query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1])
        mask = given.get("attn_mask") if given.get("attn_mask") is not None else given.get("attn_bias")
        causal = [given.get("is_causal")] + list(args[6:7] if "efficient" in name else ())
        if name in ("_varlen_attn", "_flash_attention_forward", "_efficient_attention_forward"):
            dims = packed_dims(name, given, query, key, value)
            causal = [given.get("is_causal"), given.get("custom_mask_type")]
        window = window_of(given)
        if window is not None:
            pattern = pattern_of_window(window, dims[1], dims[2])
        elif name == "flex_attention":
            pattern = pattern_of_flex(args, query.shape[-2], key.shape[-2])
        elif mask is not None:
            pattern = getattr(mask, "_floptally_scores", Scores([], None)).pattern
            if tag_of(mask) is NOTHING:
                pattern = constants.alive(mask, is_dead)
            elif pattern is None and tag_of(mask).weights and not hasattr(mask, "_floptally_scores"):
                pattern = FULL  # a bias that is learned
        if any(causal):
            pattern = both(CAUSAL, pattern) if window is not None else CAUSAL
    elif own:
        return operator_product(name, flops, list(tensors_in(args)), told_pattern(given))
    else:
        first = 1 if name in ("addmm", "baddbmm") else 0
        operands = list(args[first : first + 2])
        a, b = operands[0].shape, operands[1].shape
        dims = (a[0], 0, b[1], b[0]) if "conv" in name else (prod(a[:-2]), a[-2], a[-1], b[-1])
        tags = [tag_of(one) for one in operands]
        kind = "activations" if all(tag.data and not tag.weights for tag in tags) else "weight"
        if all(tag is NOTHING for tag in tags) and not any(one.requires_grad for one in operands):
            kind = "constant"
        if name == "baddbmm" and kind == "activations" and tag_of(args[0]) is NOTHING:
            pattern = constants.alive(args[0], is_dead)
    weights = sorted(frozenset[str]().union(*(tag_of(one).weights for one in operands)))
    return Product("", name, kind, flops, dims, tuple(weights), 0, pattern, kind == "attention")


def operator_product(name: str, flops: int, operands: list[torch.Tensor], pattern: Pattern = None) -> Product:
    """A user's operator with a user's formula."""
    weights = sorted(frozenset[str]().union(*(tag_of(one).weights for one in operands)))
    return Product("", name, "weight" if weights else "operator", flops, (), tuple(weights), 0, pattern)


def window_of(given: Mapping[str, Any]) -> tuple[int, int] | None:
    """Tokens to the left and to the right, by the names of a kernel's arguments; -1: all."""
    window = given.get("window_size")
    if isinstance(window, (list, tuple)) and len(window) == 2:
        return int(window[0]), int(window[1])
    sides = given.get("window_size_left"), given.get("window_size_right")
    if sides == (None, None):
        return None
    return int(-1 if sides[0] is None else sides[0]), int(-1 if sides[1] is None else sides[1])


def told_pattern(given: Mapping[str, Any]) -> Pattern:
    """Attention of another library: what its arguments say, where they have the usual names."""
    causal = next((given[one] for one in ("causal", "is_causal") if isinstance(given.get(one), bool)), None)
    operands = [given.get(one) for one in ("q", "query", "k", "key")]
    query, key = [one for one in operands if isinstance(one, torch.Tensor)] or (None, None)
    window = window_of(given)
    if causal is None or query is None or key is None or query.dim() not in (3, 4):
        return None
    lengths = [given.get(one) for one in ("max_seqlen_q", "max_q", "max_seqlen_k", "max_k")]
    said = [int(one) for one in lengths if isinstance(one, int)]
    queries, keys = said if len(said) == 2 else (query.shape[-3], key.shape[-3])
    pattern = pattern_of_window(window or (-1, -1), queries, keys)
    return both(CAUSAL, pattern) if causal else pattern


def packed_dims(name: str, given: Mapping[str, Any], query: Any, key: Any, value: Any) -> tuple[int, ...]:
    """Of a kernel that takes packed sequences, all as long as the longest: what fake tensors show."""
    boundaries = next(
        (given[one] for one in ("cu_seq_q", "cum_seq_q", "cu_seqlens_q") if given.get(one) is not None), None
    )
    longest = [given.get(one) for one in ("max_q", "max_seqlen_q", "max_k", "max_seqlen_k")]
    if boundaries is None:
        heads, queries, keys = query.shape[0] * query.shape[2], query.shape[1], key.shape[1]
    else:
        queries, keys = [int(one) for one in longest if one is not None]
        heads = query.shape[-2] * (boundaries.shape[0] - 1)
    return heads, queries, keys, query.shape[-1], value.shape[-1]


def pattern_of_flex(args: tuple[Any, ...], queries: int, keys: int) -> Pattern:
    """Flex attention's own block mask says what it attends, and its function of scores may."""
    score_mod, block_mask = args[3], args[4]
    heads = args[0].shape[1]
    pattern = pattern_of_function(block_mask[-1], queries, keys, heads)
    if getattr(score_mod, "__name__", "") != "_identity":
        zero = torch.zeros(())
        biased = pattern_of_function(
            lambda b, h, q, k: torch.as_tensor(score_mod(zero, b, h, q, k)), queries, keys, heads, is_dead
        )
        pattern = both(pattern, biased)
    return pattern


def merged(tags: list[Tag], data: bool) -> Tag:
    return Tag(data, frozenset().union(*(tag.weights for tag in tags)))


def excess_of_groups(formula: Callable[..., Any], args: tuple[Any, ...], out: Any) -> int:
    """What the counter's formula has too much: it takes the weight gradient of each group over the channels of all."""
    groups, needed = args[9], args[10]
    if groups == 1 or not needed[1]:
        return 0
    counted = int(formula(*args[:10], [False, True, False], *args[11:], out_val=out))
    return counted - counted // int(groups)


def real_copy(model: torch.nn.Module) -> torch.nn.Module:
    odd = next((name for name, one in model.named_parameters() if one.is_meta), None)
    if odd is not None:
        raise Error("real", f"needs a model with numbers, and {odd} is on meta")
    return copy.deepcopy(model)


def fake_copy(model: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """The model without its numbers; parameters that are one stay one. What it keeps on `meta` becomes fake too.

    What fully_shard put around it is left out: parameters have their global shapes, and nothing is gathered.
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
            if not buffer.is_meta and buffer.numel() <= MOST_ELEMENTS and type(buffer) is torch.Tensor:
                with unset_fake_temporarily():
                    fake._floptally_value = buffer.detach().cpu().clone()  # type: ignore[attr-defined]
            memo[id(buffer)] = fake
        classes = {name: type(model.get_submodule(name)) for name in sharded}
        try:
            for name in sharded:
                module = model.get_submodule(name)
                strip(module, memo)
                module.__class__ = sharding_of(module) or type(module)  # the other refuses to be copied
            with FakeCopyMode(mode):
                made = copy.deepcopy(model, memo)
        except Exception as problem:
            raise Error("model", f"cannot be copied without its numbers: {problem}") from problem
        finally:
            for name, kind in classes.items():
                model.get_submodule(name).__class__ = kind
    assert isinstance(made, torch.nn.Module)
    return made


def plain_tensors(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Tensors that modules have as attributes, and are neither parameters nor buffers."""
    for module in model.modules():
        for key, value in vars(module).items():
            if not key.startswith("_"):
                for one in tensors_in(value):
                    if type(one) is torch.Tensor and not one.requires_grad and not isinstance(one, FakeTensor):
                        yield one


def sharding_of(module: torch.nn.Module) -> type | None:
    """The class of a module before fully_shard gave it another."""
    kinds = type(module).__mro__
    is_sharded = len(kinds) > 2 and kinds[1].__name__ == "FSDPModule"
    return kinds[2] if is_sharded else None


def strip(module: torch.nn.Module, memo: dict[int, Any]) -> None:
    """Hooks and states of fully_shard are not copied."""
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
    """In place of FlopCounterMode's tracker of modules: everything is counted as the whole."""

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
) -> Step:
    """Forward, loss and backward of a copy. `plain`: inputs that are no data, as positions. No `mode`: on real tensors.
    With `most_operators` it is a long step, which ends with TooLong at more of them. `by_example`: what data decide is
    decided by the integers of the inputs.
    """
    handles = []
    no_data = frozenset(plain)
    counter = FlopCounterMode(display=False, custom_mapping={**ATTENTION, **formulas})
    # A gradient inside of a forward does not pass its own hooks.
    counter.mod_tracker = NoModules()  # type: ignore[assignment]
    recorder = Recorder(counter.flop_registry, mode is None, most_operators)

    def enter(name: str) -> Callable[..., None]:
        return lambda *_: recorder.modules.append(name)

    def leave(*_: object) -> None:
        recorder.modules.pop()

    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(enter(name), prepend=True))
        handles.append(module.register_forward_hook(leave, always_call=True))
    unwrapping = Unwrapping(recorder.nested, recorder.launched)
    try:
        with mode or contextlib.nullcontext(), eager_kernels():
            args, kwargs = inputs()
            ragged = any(one.is_nested for one in tensors_in((args, kwargs)))
            if ragged and mode is None:
                raise Error("real", "must be False with nested tensors, whose attention has no kernel on a CPU")
            for one in tensors_in(args):
                give_tag(one, GIVEN)
            for key, value in kwargs.items():
                for one in tensors_in(value):
                    give_tag(one, NOTHING if key in no_data else GIVEN)
            if mode is not None and (no_data & kwargs.keys() or ragged or by_example):
                give_values(inputs, args, kwargs, no_data, by_example)
            for name, parameter in model.named_parameters():
                parameter.grad = None
                parameter._floptally_tag = Tag(False, frozenset((name,)))  # type: ignore[attr-defined]
            with recorder, counter, unwrapping:
                value = loss(model(*args, **kwargs))
                recorder.in_forward = False
                value.backward()
    finally:
        for handle in handles:
            handle.remove()
    if counter.get_total_flops() != recorder.total:
        raise Error(
            "model",
            f"FlopCounterMode counts {counter.get_total_flops()}, the operators that were seen add up to "
            f"{recorder.total}",
        )
    return recorder.finish()


def give_tag(one: torch.Tensor, tag: Tag) -> None:
    one._floptally_tag = tag  # type: ignore[attr-defined]
    if isinstance(one, NestedTensor):
        one._values._floptally_tag = tag  # type: ignore[attr-defined]


def give_values(
    inputs: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    plain: frozenset[str],
    by_example: bool,
) -> None:
    """Positions, masks and the boundaries of nested tensors are made once more without fake tensors: their values say
    what is attended. `by_example`: other integers too, for what nothing else decides."""
    try:
        with unset_fake_temporarily():
            known_args, known = inputs()
    except Exception as problem:  # then their values are not known
        if any(one.is_nested for one in tensors_in((args, kwargs))):
            raise Error("example_inputs", f"cannot make nested tensors but under fake ones: {problem}") from problem
        return
    for key in plain & kwargs.keys():
        for fake, real in zip(tensors_in(kwargs[key]), tensors_in(known.get(key))):
            fake._floptally_value = real  # type: ignore[attr-defined]
    for fake, real in zip(tensors_in((args, kwargs)), tensors_in((known_args, known))):
        if by_example and not real.is_nested and not real.is_floating_point() and not real.is_complex():
            fake._floptally_supposed = real, frozenset((EXAMPLE,))  # type: ignore[attr-defined]
        if isinstance(fake, NestedTensor) and isinstance(real, NestedTensor):
            with unset_fake_temporarily():
                lengths = real.offsets().diff().tolist()
            if real.lengths() is not None or len(set(lengths)) != 1:
                raise Error(
                    "example_inputs",
                    f"has a nested tensor of lengths {lengths}: those of one batch must be equal; the cost then counts "
                    "any",
                )
            fake._offsets._floptally_value = real.offsets()  # type: ignore[attr-defined]
