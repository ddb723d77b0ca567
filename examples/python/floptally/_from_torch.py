# SPDX-License-Identifier: Apache-2.0
"""The cost of any PyTorch model: counted on fake tensors at a few sizes, and fitted.

A product of matrices of a model whose cost has the library's form counts

    a·samples + b·tokens + c·squares

with integers a, b, c (and, with another side to attend, b'·keys + c'·tokens·keys + c''·keys²). `from_torch` runs
training steps at as many sizes as there are integers, solves for them, and runs more steps at sizes that it did not use.
What is not such a sum is an error that names the module.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from ._core import Cost, Error, Mask
from ._cost import cost, unwrapped
from ._torch_rows import Names, Size, Table, shown

if TYPE_CHECKING:
    import torch

    from ._torch_trace import Product

#: Inputs that say where a token stands, not which it is.
PLAIN_INPUTS = ("position_ids", "token_type_ids", "attention_mask", "cache_position")

LENGTHS = (32, 48, 80, 57, 131)
SHORT_LENGTHS = (7, 11, 19, 14, 24)  #: for models of few positions
KEYS = (40, 56, 72, 61)


def from_torch(
    model: torch.nn.Module,
    example_inputs: Any,
    *,
    masks: Mask | Mapping[str, Mask] | None = None,
    loss: Callable[[Any], torch.Tensor] | None = None,
    lengths: Sequence[int] | None = None,
    components: Mapping[str, str] | Callable[[str], str] | None = None,
    depth: int | None = None,
    terms: Mapping[str, str] | None = None,
) -> Cost:
    """The cost of a PyTorch model, also of one that no config describes.

    Nothing is computed and nothing of the model's size is allocated: steps run on fake tensors under
    ``torch.utils.flop_counter.FlopCounterMode``, on a copy, as if on a CPU. The model may be on ``meta``.

    Args:
        model: any ``torch.nn.Module``, in the mode (``train()``, ``eval()``) in which it is to be counted.
        example_inputs: either a callable ``(batch, length)`` that returns the keyword arguments of ``forward`` as a
            dict (or a tuple of positional ones, or one tensor); with a third parameter, ``(batch, length, keys)``,
            ``keys`` tokens on the other side of an encoder-decoder; with one, ``(batch)``, a model of fixed size. It is
            called under fake tensors, so that ``torch.zeros`` costs nothing. Or a dict, tuple or tensor, as an example:
            the first integer tensor [batch, length] or floating tensor [batch, length, width] says the two sizes, then
            every first axis of ``batch`` and every other axis of ``length`` varies; without one, the first tensor's
            first axis is ``batch`` and the model is of fixed size.
        masks: what attention cores attend, by patterns of module names (``{"*.self_attn": Mask.causal()}``) or one for
            all. Without it: what transformers' attention modules and their configs say, as far as the config reader
            agrees; then the arguments of ``scaled_dot_product_attention``.
        loss: from the model's output to the tensor that ``backward()`` is called on. Default: the sum of all floating
            outputs.
        lengths: five lengths or more: three to fit, others to check. Where a model counts by chunks, multiples of them:
            the cost then holds for such lengths.
        components: names of components, by patterns of module names or as a function of them. Default: the module's
            name with ``*`` for a layer's index; above 39 characters ``..`` stands for parts of it.
        depth: cuts module names to so many parts, so that modules of one parent are one component.
        terms: terms of products of weights (``"router"``, ``"lm_head"``, …), by patterns of module names. Default:
            ``lm_head`` after the last layer, ``preprocessing`` before the first, ``router`` where experts stand beside.
            Of modules without a product, the term of their parameters: ``norm`` (default), ``latent_norm``.

    Returns:
        A cost as ``floptally.cost`` gives it. Its notes say which convention reproduces FlopCounterMode.

    Raises:
        Error: where a module's count is not such a sum; the error names the module.
    """
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from . import _torch_trace

    model = unwrapped(model)
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    copy = _torch_trace.fake_copy(model, mode)
    prepare_transformers(copy)
    make_inputs, arity = sized_inputs(example_inputs)
    sizes, fitted = sizes_of(arity, lengths, *positions_of(copy, masks))
    steps = []
    for size in sizes:
        try:
            steps.append(_torch_trace.run_step(copy, mode, partial(make_inputs, size), loss or summed, PLAIN_INPUTS))
        except Error:
            raise
        except Exception as problem:
            raise Error(
                running_module(copy, problem),
                f"cannot run on fake tensors with {shown(size, arity)}: {type(problem).__name__}: "
                f"{(str(problem).strip() or 'no message').splitlines()[0]}",
            ) from problem
    if not any(product.backward for product in steps[0].products):
        raise Error("model", "its backward has no product: no parameter that needs a gradient reaches the loss")
    seen = SeenMasks(copy, masks)
    table = Table(copy, sizes, fitted, arity, steps, Names(copy, components, depth), seen.of, terms or {})
    made = table.cost()
    seen.check()
    return made


def summed(outputs: Any) -> torch.Tensor:
    """The sum of all floating outputs that a gradient can enter."""
    from ._torch_trace import tensors_in

    found = [one for one in tensors_in(outputs) if one.is_floating_point() and one.requires_grad]
    if not found:
        raise Error("loss", "no floating output of the model needs a gradient")
    total = found[0].sum()
    for one in found[1:]:
        total = total + one.sum()
    return total


# Inputs and sizes.


def sized_inputs(example: Any) -> tuple[Callable[[Size], tuple[tuple[Any, ...], dict[str, Any]]], int]:
    """From a size to positional and keyword arguments, and how many sizes vary: 1 samples, 2 length, 3 keys."""
    if callable(example):
        parameters = inspect.signature(example).parameters.values()
        arity = sum(1 for one in parameters if one.default is one.empty and one.kind in (0, 1))
        if arity not in (1, 2, 3):
            raise Error(
                "example_inputs",
                f"must take (batch), (batch, length) or (batch, length, keys), takes {arity} arguments",
            )
        return lambda size: split(example(*size[:arity])), arity

    import torch

    from ._torch_trace import tensors_in

    args, kwargs = split(example)
    found = list(tensors_in(args)) + list(tensors_in(kwargs))
    if not found:
        raise Error("example_inputs", "has no tensor")
    batch, length = found[0].shape[0] if found[0].dim() else 1, 0
    for one in found:
        if one.dim() == (3 if one.is_floating_point() else 2):
            batch, length = int(one.shape[0]), int(one.shape[1])
            break
    if batch == length:
        raise Error(
            "example_inputs",
            f"batch and length are both {batch}: give an example where they differ, or a callable (batch, length)",
        )

    def resized(value: Any, size: Size) -> Any:
        if isinstance(value, torch.Tensor):
            shape = [
                size[0] if axis == 0 and n == batch else size[1] if length and n == length else n
                for axis, n in enumerate(value.shape)
            ]
            return torch.empty(shape, dtype=value.dtype)
        if isinstance(value, Mapping):
            return {key: resized(inner, size) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(resized(inner, size) for inner in value)
        return value

    return lambda size: (resized(args, size), resized(kwargs, size)), 2 if length else 1


def split(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs), {}) if isinstance(inputs, (list, tuple)) else ((inputs,), {})


def sizes_of(
    arity: int, lengths: Sequence[int] | None, windows: Iterable[int], longest: int
) -> tuple[list[Size], int]:
    """Sizes to run at, and how many of the first are for the fit. `longest`: what the model has positions for."""
    if lengths is not None and (len(set(lengths)) < 5 or min(lengths) < 1):
        raise Error("lengths", f"must be at least five different ones above 0, got {list(lengths)}")
    given = list(dict.fromkeys(lengths or (LENGTHS if longest > max(LENGTHS) else SHORT_LENGTHS)))
    if arity == 1:
        return [(2, 0, 0), (3, 0, 0), (5, 0, 0)], 1
    a, b, c, d, e = given[:5]
    if lengths is None:
        given += [window + 7 for window in windows if c < window <= 16384 and window + 7 < longest]
    more = given[5:]
    if arity == 2:
        return [(2, a, 0), (2, b, 0), (2, c, 0), (2, d, 0), (2, e, 0), (3, a, 0)] + [(2, n, 0) for n in more], 3
    p, q, r, s = KEYS if a == LENGTHS[0] else (b, c, d, e)
    fit = [(2, a, p), (2, b, p), (2, c, p), (2, a, q), (2, a, r), (2, b, q)]
    return fit + [(2, d, s), (2, e, r), (3, a, p)] + [(2, n, s) for n in more], 6


def running_module(model: torch.nn.Module, problem: BaseException) -> str:
    """The innermost module whose forward is in the traceback."""
    names = {id(module): name for name, module in model.named_modules()}
    found, trace = "model", problem.__traceback__
    while trace is not None:
        name = names.get(id(trace.tb_frame.f_locals.get("self")))
        found = name or found
        trace = trace.tb_next
    return found


# What transformers' models say about themselves.


def prepare_transformers(model: torch.nn.Module) -> None:
    """A training step: no cache, and experts as batched products, whose shapes do not depend on data."""
    for module in model.modules():
        config = getattr(module, "config", None)
        if getattr(config, "use_cache", None):
            config.use_cache = False  # type: ignore[union-attr]
        if getattr(config, "_experts_implementation", None) in ("eager", "grouped_mm"):
            config._experts_implementation = "batched_mm"  # type: ignore[union-attr]


def mask_of_module(model: torch.nn.Module, name: str) -> Mask | None:
    """The mask that a transformers attention module and its config say, or None where they do not."""
    module = model.get_submodule(name)
    config = getattr(module, "config", None)
    causal = getattr(module, "is_causal", None)
    if causal is None:
        causal = getattr(module, "is_decoder", None)
    if config is None or not isinstance(causal, bool):
        return None
    window = getattr(config, "sliding_window", None)
    kinds, index = getattr(config, "layer_types", None), getattr(module, "layer_idx", None)
    if hasattr(module, "sliding_window"):
        window = module.sliding_window
    elif kinds and isinstance(index, int) and index < len(kinds):
        if kinds[index] == "full_attention":
            window = None
        elif kinds[index] == "chunked_attention" and causal:
            return Mask.chunked(config.attention_chunk_size)
        elif kinds[index] != "sliding_attention":
            return None
    if not isinstance(window, int) or isinstance(window, bool):
        return Mask.causal() if causal else Mask.bidirectional()
    return Mask.sliding_window(window) if causal else None


def positions_of(model: torch.nn.Module, masks: Mask | Mapping[str, Mask] | None) -> tuple[list[int], int]:
    """Lengths that a window limits beyond, where the count must be the same polynomial; and the longest."""
    given = [masks] if isinstance(masks, Mask) else list((masks or {}).values())
    windows = {int(n) for mask in given for n in re.findall(r"\d+", mask.name)}
    config = getattr(model, "config", None)
    window = getattr(config, "sliding_window", None)
    if isinstance(window, int) and not isinstance(window, bool):
        windows.add(window)
    longest = getattr(config, "max_position_embeddings", None)
    return sorted(windows), longest if isinstance(longest, int) else 1 << 30


class SeenMasks:
    """What attention cores attend: as the caller says, else transformers' modules, else the kernel's arguments."""

    def __init__(self, model: torch.nn.Module, given: Mask | Mapping[str, Mask] | None) -> None:
        self.model = model
        self.given = {"*": given} if isinstance(given, Mask) else dict(given or {})
        self.read: set[str] = set()

    def of(self, product: Product) -> Mask:
        for pattern, mask in self.given.items():
            if fnmatchcase(product.module, pattern):
                return mask
        read = mask_of_module(self.model, product.module)
        if read is not None:
            self.read.add(read.name)
            return read
        if product.causal is None:
            raise Error(
                product.module or "model",
                f"attends under a mask that fake tensors do not show ({product.op}): give masks={{'pattern': "
                "floptally.Mask...}",
            )
        return Mask.causal() if product.causal else Mask.bidirectional()

    def check(self) -> None:
        """What was read of modules must be what the config reader says, where it reads the config at all."""
        config = getattr(self.model, "config", None)
        if not self.read or config is None or not hasattr(config, "to_dict"):
            return
        try:
            known = {mask.in_tower("text").name for mask in cost(config).masks}
        except Error:
            return
        odd = sorted(self.read - known)
        if odd:
            raise Error(
                "masks",
                f"the attention modules say {', '.join(odd)}, the config {', '.join(sorted(known)) or 'none'}: give "
                "masks=",
            )

