# SPDX-License-Identifier: Apache-2.0
"""One training step of a PyTorch model on fake tensors, and what every product of matrices in it counts.

Imports torch; `floptally.from_torch` (_from_torch.py) imports this module when it is called.

Which backward product belongs to which forward product is asked of autograd: a node of its graph has a number, which is
known while the forward product runs and again while the node does. Module hooks of the backward are not needed, which
miss modules whose inputs need no gradient.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeCopyMode, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from ._core import Error

# Products that the counter has no formula for. Those of other libraries' kernels are told by their namespace.
UNCOUNTED = frozenset(
    "_grouped_mm _scaled_grouped_mm mv addmv dot vdot addr addbmm _cdist_forward _trilinear linalg_solve_triangular "
    "triangular_solve _fft_r2c _fft_c2r _fft_c2c mkldnn_rnn_layer _cudnn_rnn _thnn_fused_lstm_cell _weight_int8pack_mm "
    "_weight_int4pack_mm".split()
)
OWN_NAMESPACES = frozenset(("aten", "prim", "prims", "profiler"))


@dataclass
class Product:
    """A product of matrices of the forward, with what the backward ran for it."""

    module: str  #: qualified name of the module that ran it; "" outside of all
    op: str
    kind: str  #: "weight": a parameter times data; "activations": both depend on data; "attention": a fused kernel
    forward: int
    dims: tuple[int, ...]  #: batch, rows, contracted, columns; of a fused kernel: heads, queries, keys and both widths
    weights: tuple[str, ...]  #: parameters that it multiplies with
    place: int  #: when the forward ran it
    causal: bool | None = None  #: of a fused kernel: what its arguments say about the mask
    backward: int = 0
    groups_excess: int = 0  #: of `backward`: what the counter counts too often for a convolution in groups


@dataclass
class Step:
    """What one step of a model counted."""

    total: int
    products: list[Product] = field(default_factory=list)
    softmax: dict[str, tuple[int, int]] = field(default_factory=dict)  #: of a module: elements, and its place
    tables: dict[str, str] = field(default_factory=dict)  #: parameters that were looked up in, and by what: "data", ""
    used: dict[str, str] = field(default_factory=dict)  #: the first module that read a parameter
    uncounted: Counter[tuple[str, str]] = field(default_factory=Counter)  #: (module, operator) without a formula


class Tag:
    """What a tensor was computed from."""

    __slots__ = ("data", "weights")

    def __init__(self, data: bool, weights: frozenset[str]) -> None:
        self.data = data
        self.weights = weights


NOTHING = Tag(False, frozenset())
DATA = Tag(True, frozenset())


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


class Recorder(TorchDispatchMode):
    """Sees every operator of a step, below autograd."""

    supports_higher_order_operators = True

    def __init__(self, modules: list[str]) -> None:
        super().__init__()
        self.modules = modules  # the modules that run, innermost last
        self.step = Step(0)
        self.total = 0
        self.module_of_node: dict[int, str] = {}
        self.owners: dict[int, list[Product]] = {}
        self.without_gradient: dict[int, list[Product]] = {}
        self.backward: list[tuple[int, str, int, int]] = []
        self.recomputed: str | None = None

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        packet = getattr(func, "_overloadpacket", func)
        formula = flop_registry.get(packet)
        # A registered formula takes tensors and gives an int.
        flops = int(formula(*args, **kwargs, out_val=out)) if formula is not None else 0
        self.total += flops
        name = getattr(packet, "__name__", str(packet))
        if torch._C._current_graph_task_id() != -1:
            if self.modules:
                self.recomputed = self.modules[-1]
            if flops:
                excess = excess_of_groups(formula, args, out) if formula and name == "convolution_backward" else 0
                self.add_backward(name, flops, excess)
            return out
        module = self.modules[-1] if self.modules else ""
        node = torch.autograd._get_sequence_nr() - 1  # type: ignore[attr-defined]
        inputs = list(tensors_in(args)) + list(tensors_in(kwargs))
        if torch.is_grad_enabled() and any(one.requires_grad for one in inputs):
            self.module_of_node.setdefault(node, module)
        if formula is not None:
            product = product_of(name, func, args, kwargs, flops)
            product.module, product.place = module, len(self.step.products)
            self.step.products.append(product)
            self.note_node(product, node, inputs)
        elif name in UNCOUNTED or getattr(func, "namespace", "aten") not in OWN_NAMESPACES:
            self.step.uncounted[(module, name)] += 1
        if name in ("_softmax", "_safe_softmax"):
            elements, _ = self.step.softmax.get(module, (0, 0))
            self.step.softmax[module] = elements + inputs[0].numel(), len(self.step.products)
        self.follow(name, module, func, inputs, args, out)
        return out

    def note_node(self, product: Product, node: int, inputs: Iterable[torch.Tensor]) -> None:
        if not torch.is_grad_enabled():
            # Inside an autograd Function, whose node is there already; or under no_grad, and then nobody asks.
            self.without_gradient.setdefault(node, []).append(product)
        elif any(one.requires_grad for one in inputs):
            self.owners.setdefault(node, []).append(product)

    def add_backward(self, name: str, flops: int, excess: int) -> None:
        node = torch._C._current_autograd_node()
        number = -1 if node is None else node._sequence_nr()
        self.backward.append((number, node.name() if node is not None else name, flops, excess))

    def follow(
        self, name: str, module: str, func: Any, inputs: list[torch.Tensor], args: tuple[Any, ...], out: Any
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
        elif data:
            made = DATA if not read or any(tag.data and not tag.weights for tag in tags) else merged(read, True)
        else:
            made = merged(read, False) if read else NOTHING
        for one in tensors_in(out):
            one._floptally_tag = made  # type: ignore[attr-defined]
        if made is not NOTHING and getattr(func, "_schema", None) is not None and func._schema.is_mutable and args:
            for one in tensors_in(args[0]):
                base = one._base
                if base is not None and made.data:
                    base._floptally_tag = DATA  # type: ignore[attr-defined]

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
        for (module, name), flops in rest.items():
            self.step.products.append(
                Product(module, name, "backward", 0, (), (), len(self.step.products), backward=flops)
            )
        self.step.total = self.total
        return self.step


def product_of(name: str, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], flops: int) -> Product:
    """A forward product by its operands; where it stands is to be filled in."""
    dims: tuple[int, ...]
    causal = None
    if "attention" in name:
        kind = "attention"
        query, key, value = operands = args[:3]
        dims = (prod(query.shape[:-2]), query.shape[-2], key.shape[-2], query.shape[-1], value.shape[-1])
        schema = getattr(func, "_schema", None)
        if schema is not None:
            given = dict(zip((one.name for one in schema.arguments), args)) | kwargs
            if given.get("is_causal"):
                causal = True
            elif given.get("attn_mask") is None and given.get("attn_bias") is None:
                causal = False
    else:
        first = 1 if name in ("addmm", "baddbmm") else 0
        operands = args[first : first + 2]
        a, b = operands[0].shape, operands[1].shape
        dims = (a[0], 0, b[1], b[0]) if "conv" in name else (prod(a[:-2]), a[-2], a[-1], b[-1])
        tags = [tag_of(one) for one in operands]
        kind = "activations" if all(tag.data and not tag.weights for tag in tags) else "weight"
    weights = sorted(frozenset[str]().union(*(tag_of(one).weights for one in operands)))
    return Product("", name, kind, flops, dims, tuple(weights), 0, causal)


def merged(tags: list[Tag], data: bool) -> Tag:
    return Tag(data, frozenset().union(*(tag.weights for tag in tags)))


def excess_of_groups(formula: Callable[..., Any], args: tuple[Any, ...], out: Any) -> int:
    """What the counter's formula has too much: it takes the weight gradient of each group over the channels of all."""
    groups, needed = args[9], args[10]
    if groups == 1 or not needed[1]:
        return 0
    counted = int(formula(*args[:10], [False, True, False], *args[11:], out_val=out))
    return counted - counted // int(groups)


def fake_copy(model: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """The model without its numbers; parameters that are one stay one. What it keeps on `meta` becomes fake too."""
    memo: dict[int, Any] = {}
    with mode:
        for parameter in model.parameters():
            if type(parameter.data) is not torch.Tensor and hasattr(parameter, "device_mesh"):
                raise Error("model", "its parameters are sharded over ranks (DTensor): give it before that")
            empty = torch.empty(parameter.shape, dtype=parameter.dtype)
            memo[id(parameter)] = torch.nn.Parameter(empty, requires_grad=parameter.requires_grad)
        for buffer in model.buffers():
            memo[id(buffer)] = torch.empty(buffer.shape, dtype=buffer.dtype)
        try:
            with FakeCopyMode(mode):
                made = copy.deepcopy(model, memo)
        except Exception as problem:
            raise Error("model", f"cannot be copied without its numbers: {problem}") from problem
    assert isinstance(made, torch.nn.Module)
    return made


def run_step(
    model: torch.nn.Module,
    mode: FakeTensorMode,
    inputs: Callable[[], tuple[tuple[Any, ...], dict[str, Any]]],
    loss: Callable[[Any], torch.Tensor],
    plain: Iterable[str],
) -> Step:
    """Forward, loss and backward of a copy made by `fake_copy`. `plain`: inputs that are no data, as positions."""
    running: list[str] = []
    handles = []
    no_data = frozenset(plain)

    def enter(name: str) -> Callable[..., None]:
        return lambda *_: running.append(name)

    def leave(*_: object) -> None:
        running.pop()

    for name, module in model.named_modules():
        handles.append(module.register_forward_pre_hook(enter(name), prepend=True))
        handles.append(module.register_forward_hook(leave, always_call=True))
    recorder = Recorder(running)
    try:
        with mode:
            args, kwargs = inputs()
            for one in tensors_in(args):
                one._floptally_tag = DATA  # type: ignore[attr-defined]
            for key, value in kwargs.items():
                for one in tensors_in(value):
                    one._floptally_tag = NOTHING if key in no_data else DATA  # type: ignore[attr-defined]
            for name, parameter in model.named_parameters():
                parameter.grad = None
                parameter._floptally_tag = Tag(False, frozenset((name,)))  # type: ignore[attr-defined]
            with recorder, FlopCounterMode(display=False) as counter:
                value = loss(model(*args, **kwargs))
                value.backward()
    finally:
        for handle in handles:
            handle.remove()
    if recorder.recomputed is not None:
        raise Error(
            recorder.recomputed,
            "runs again in the backward (gradient checkpointing): switch that off; floptally.Plan(recompute=...) "
            "counts it",
        )
    if counter.get_total_flops() != recorder.total:
        raise Error(
            "model",
            f"FlopCounterMode counts {counter.get_total_flops()}, the operators that were seen add up to "
            f"{recorder.total}",
        )
    return recorder.finish()
