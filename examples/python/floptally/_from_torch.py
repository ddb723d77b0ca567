# SPDX-License-Identifier: Apache-2.0
"""The cost of any PyTorch model: counted on fake tensors at a few sizes, and fitted.

A product of matrices of a model whose cost has the library's form counts

    a·samples + b·tokens + c·squares

with integers a, b, c (and, with another side to attend, b'·keys + c'·tokens·keys + c''·keys²). `from_torch` runs
training steps at as many sizes as there are integers, solves for them, and runs more steps at sizes that it did not
use. What is not such a sum is an error that names the module. What runs once in each pass, whatever the batch, is
counted by
`measured(passes)`; images of any size by patches and their squares.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from ._core import Cost, Error, Mask
from ._cost import cost, is_diffusion, unwrapped
from ._parts import names_of
from ._torch_rows import GRIDS, Names, Series, Size, Table, shown

if TYPE_CHECKING:
    import torch

#: Inputs that say where a token stands, not which it is.
PLAIN_INPUTS = ("position_ids", "token_type_ids", "attention_mask", "cache_position")

LENGTHS = (32, 48, 80, 57, 131)
SHORT_LENGTHS = (7, 11, 19, 14, 24)  #: for models of few positions
KEYS = (40, 56, 72, 61)
#: One step runs far beyond: at the first of these that the model can.
FAR = (131101, 65536, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256)
LOOPED = (256,)  #: where it loops over tokens
DENSE = 2047  #: where a mask whose rows could not be asked is looked at whole
MANY_OPERATORS = 4000  #: a step of so many checks the fit far beyond and with another batch, and not between
GRID_SIZES = ((4, 6), (6, 5), (8, 7), (5, 9), (3, 4))


def from_torch(
    model: torch.nn.Module,
    example_inputs: Any,
    *,
    masks: Mask | str | Mapping[str, Mask | str] | None = None,
    loss: Callable[[Any], torch.Tensor] | None = None,
    lengths: Sequence[int] | None = None,
    components: Mapping[str, str] | Callable[[str], str] | None = None,
    depth: int | None = None,
    terms: Mapping[str, str] | None = None,
    formulas: Mapping[Any, Callable[..., int]] | None = None,
    real: bool = False,
    progress: bool | Callable[[str], object] | None = None,
) -> Cost:
    """The cost of a PyTorch model, also of one that no config describes.

    Nothing is computed and nothing of the model's size is allocated: steps run on fake tensors under
    ``torch.utils.flop_counter.FlopCounterMode``, on a copy, as if on a CPU. The model may be on ``meta``.

    Args:
        model: any ``torch.nn.Module``, in the mode (``train()``, ``eval()``) in which it is to be counted.
        example_inputs: either a callable ``(batch, length)`` that returns the keyword arguments of ``forward`` as a
            dict (or a tuple of positional ones, or one tensor); with a third parameter, ``(batch, length, keys)``,
            ``keys`` tokens on the other side of an encoder-decoder; with one, ``(batch)``, a model of fixed size; with
            ``(batch, rows, columns)``, by these names, images of so many patches, which then count by grids. It is
            called under fake tensors, so that ``torch.zeros`` costs nothing. Or a dict, tuple or tensor, as an example:
            the first integer tensor [batch, length] or floating tensor [batch, length, width] says the two sizes, then
            every first axis of ``batch`` and every other axis of ``length`` varies; without one, the first tensor's
            first axis is ``batch`` and the model is of fixed size. Inputs that require a gradient get one.
        masks: what attention cores attend, by patterns of module names (``{"*.self_attn": Mask.causal()}``) or one for
            all; a ``Mask`` of any kind, or the name of a rule (``"sliding_window(512)"``). Without it: what the
            kernels were told, the block mask of flex attention, the values of masks that no data decide, and what
            transformers' attention modules and their configs say, as far as the config reader agrees. Where the cores
            have a fixed size it changes nothing.
        loss: from the model's output to the tensor that ``backward()`` is called on. Default: the sum of all floating
            outputs.
        lengths: five lengths or more: three to fit, others to check. Where a model counts by chunks, multiples of them:
            the cost then holds for such lengths.
        components: names of components, by patterns of module names or as a function of them. Default: the module's
            name with ``*`` for a layer's index; above 39 characters ``..`` stands for parts of it. Of modules of diffusers
            and timm the names that a page would have, where the module's name says which: ``attention.qkv``, ``mlp``.
        depth: cuts module names to so many parts, so that modules of one parent are one component.
        terms: terms of products of weights (``"router"``, ``"lm_head"``, …), by patterns of module names. Default:
            ``lm_head`` after the last layer, ``preprocessing`` before the first, ``router`` where experts stand beside.
            Of modules without a product, the term of their parameters: ``norm`` (default), ``latent_norm``.
        formulas: of operators that PyTorch has no formula for, Triton's kernels and your own: ``{operator: function}``,
            as ``FlopCounterMode(custom_mapping=...)`` takes them: FLOPs from the shapes of the arguments, of the
            operator of the backward too. Those of ``torch.utils.flop_counter.register_flop_formula`` are known anyway.
        real: run real steps on a copy of the model, with its numbers, where what runs depends on data: the sum over
            experts may fit where each of them does not. Costs the time and memory of as many training steps.
        progress: a function that is called with a line before each step that runs, or True for standard error. Default:
            standard error, where it is a terminal and more than three seconds have passed.

    Returns:
        A cost as ``floptally.cost`` gives it. Its notes say which convention reproduces FlopCounterMode.

    Raises:
        Error: where a module's count is not such a sum; the error names the module.
    """
    import torch

    from . import _torch_kernels, _torch_trace

    if any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules()):
        raise Error(
            "model",
            "is wrapped by FullyShardedDataParallel, which keeps flat shards in place of its parameters: give the "
            "model before it is wrapped, or one of fully_shard",
        )
    model = unwrapped(model)
    mode = None if real else _torch_kernels.fake_mode()
    copy = _torch_trace.real_copy(model) if mode is None else _torch_trace.fake_copy(model, mode)
    prepare_transformers(copy, real)
    make_inputs, arity = sized_inputs(example_inputs)
    given = given_masks(masks)
    tell = Progress(progress)
    if components is None and type(model).__module__.split(".")[0] in ("diffusers", "timm"):
        components = known_component
    windows, longest = positions_of(copy, given)
    if any(isinstance(module, torch.nn.RNNBase) for module in copy.modules()):
        longest = min(longest, max(LENGTHS))  # which run token by token
    sizes, fitted = sizes_of(arity, lengths, windows, longest)
    own = {_torch_kernels.kernel_of(operator_of(key)): formula for key, formula in (formulas or {}).items()}

    by_example = False

    def step(size: Size, most_operators: int = 0) -> _torch_trace.Step:
        made = partial(make_inputs, size)
        run = partial(_torch_trace.run_step, copy, mode, made, loss or summed, PLAIN_INPUTS, own)
        return run(most_operators, by_example)

    steps: list[_torch_trace.Step] = []
    between: list[Size] = []  # sizes that check the fit once more, where nothing runs far beyond
    with torch.random.fork_rng(devices=[], enabled=real):
        while len(steps) < len(sizes):
            size = sizes[len(steps)]
            tell(f"step {len(steps) + 1} of {len(sizes)}: {shown(size, arity)}")
            try:
                steps.append(step(size))
            except Error:
                raise
            except Exception as problem:
                if not by_example and not real and decided_by_data(problem):
                    by_example = True
                    steps.clear()
                    continue
                raise not_running(copy, problem, shown(size, arity), real) from problem
            if len(steps) == 1 and steps[0].operators > MANY_OPERATORS and lengths is None and arity > 1:
                between, sizes[fitted : fitted + 2] = sizes[fitted : fitted + 2], []
    if not any(product.backward for product in steps[0].products):
        raise Error("model", no_backward(steps[0]))
    candidates = far_sizes(arity, lengths, longest, real)
    far = FarStep(step, sizes, steps, candidates, lambda size: tell(f"far beyond: {shown(size, arity)}"))
    tell("fitting")
    if not far.ran and arity > 1:
        for size in (*between, (3, *(between or sizes[fitted:])[0][1:])):
            steps.append(step(size))
            sizes.append(size)
    supposed = lengths_said(example_inputs, arity)
    supposed += [f"what runs depends on data: {one}" for one in sorted(set().union(*(one.supposed for one in steps)))]
    names = Names(copy, components, depth)

    def made(notes: Sequence[str], chunks: Sequence[int] = ()) -> Cost:
        seen = SeenMasks(copy, given, names, sizes)
        table = Table(copy, sizes, fitted, arity, steps, names, seen.of, terms or {}, bool(given), chunks, list(notes))
        seen.notes = table.notes
        cost = table.cost()
        seen.check()
        return cost

    if is_diffusion(model):
        with contextlib.suppress(Error):
            cost(model)  # type: ignore[arg-type]
            kind = type(model).__name__
            supposed.append(f"{kind} has a page: floptally.cost(model) counts it at once, by grids and texts")
    try:
        return made(supposed + far.notes)
    except Error as problem:
        chunks = chunks_of(copy) if arity == 2 and lengths is None else []
        if chunks:
            more = sorted({n for c in chunks for n in (c - 3, c + 5, 2 * c + 1, 3 * c, 5 * c - 7) if 0 < n <= longest})
            with contextlib.suppress(Exception):
                ran = [step((2, n, 0)) for n in more]
                steps += ran
                sizes += [(2, n, 0) for n in more]
            return made(supposed + far.notes, chunks)
        if lengths is None or not far.ran:
            raise
        far.take_back()
        return made([f"holds up to length {max(size[1] for size in sizes)} only, {problem}", *supposed])


class Progress:
    """Says what runs: by a function, or on standard error."""

    def __init__(self, how: bool | Callable[[str], object] | None) -> None:
        self.how = how
        self.began = time.monotonic()

    def __call__(self, text: str) -> None:
        seconds = time.monotonic() - self.began
        if callable(self.how):
            self.how(text)
        elif self.how or (self.how is None and seconds > 3 and sys.stderr.isatty()):
            print(f"floptally.from_torch: {text} ({seconds:.0f} s)", file=sys.stderr, flush=True)


def known_component(module: str) -> str:
    """The name that a page has for what a module does; its own, layers folded, where its name does not say."""
    folded = ".".join("*" if part.isdigit() else part for part in module.split("."))
    return next(iter(names_of(folded)), folded)


def lengths_said(example: Any, arity: int) -> list[str]:
    """A note of what the keywords of a batch stand for, by the names of the callable's parameters."""
    if arity not in (2, 3) or not callable(example):
        return []
    names = [one.name for one in inspect.signature(example).parameters.values()][1:arity]
    keywords = ("lengths", "encoder_lengths")
    said = [f"{key}= are {name}" for key, name in zip(keywords, names) if name not in ("length", "keys")]
    return [", ".join(said)] if said else []


def chunks_of(model: torch.nn.Module) -> list[int]:
    """Tokens of the chunks that a model's modules, their configs and the functions that they call say they count by."""
    found = set()
    functions: dict[int, Callable[..., Any]] = {}
    for module in model.modules():
        for owner in (module, getattr(module, "config", None)):
            found |= {getattr(owner, name, None) for name in ("chunk_size", "mamba_chunk_size", "chunk_length")}
        forward = inspect.unwrap(type(module).forward)
        names = getattr(forward, "__globals__", {})
        called = [names.get(name) for name in getattr(getattr(forward, "__code__", None), "co_names", ())]
        functions |= {id(one): one for one in (*vars(module).values(), *called) if callable(one)}
    for function in functions.values():
        if "chunk" in getattr(function, "__name__", ""):
            with contextlib.suppress(TypeError, ValueError):
                parameters = inspect.signature(function).parameters.values()
                found |= {one.default for one in parameters if one.name == "chunk_size"}
    return sorted(n for n in found if isinstance(n, int) and not isinstance(n, bool) and 1 < n <= 1024)[:3]


class FarStep:
    """One step far beyond those of the fit, which it is appended to; where a mask could not be asked for rows there,
    another one that sees masks whole. `notes` say what did not run."""

    def __init__(
        self,
        step: Callable[..., Any],
        sizes: list[Size],
        steps: list[Any],
        candidates: Sequence[Size],
        tell: Callable[[Size], None],
    ) -> None:
        from ._torch_trace import TooLong

        self.sizes, self.steps = sizes, steps
        self.ran = 0
        self.notes: list[str] = []
        usual = max(one.operators for one in steps)
        most = usual + usual // 4 + 500
        problem = ""
        left = list(candidates)
        while left and not self.ran:
            size = left.pop(0)
            tell(size)
            try:
                self.add(size, step(size, most if size[1] not in LOOPED else 4 * most))
            except TooLong:
                problem = problem or f"it runs more operators the longer it is, above {most} at {size[1]}"
                left = [one for one in left if one[1] in LOOPED]
            except Exception as raised:
                text = (str(raised).strip() or "no message").splitlines()[0]
                problem = problem or f"{type(raised).__name__} at {size[1]}: {text[:120]}"
        longest = max(sizes, key=lambda size: size[1] * max(size[2], 1))
        if self.ran and any(unseen(one.pattern) for one in steps[-1].products):
            size = (longest[0], DENSE, DENSE // 2 if longest[2] else 0)
            if DENSE < longest[1] and not any(unseen(one.pattern) for one in steps[0].products):
                with contextlib.suppress(Exception):
                    self.add(size, step(size))
                    sizes[-1], sizes[-2], steps[-1], steps[-2] = sizes[-2], sizes[-1], steps[-2], steps[-1]
        if candidates and (problem or not self.ran):
            self.notes.append(f"counts and masks were looked at up to length {longest[1]}: {problem}")

    def add(self, size: Size, ran: Any) -> None:
        self.sizes.append(size)
        self.steps.append(ran)
        self.ran += 1

    def take_back(self) -> None:
        del self.sizes[-self.ran :], self.steps[-self.ran :]


def unseen(pattern: Any) -> bool:
    from ._torch_masks import Rows

    return pattern is None or isinstance(pattern, Rows) and pattern.row(pattern.queries - 1) is None


def far_sizes(arity: int, lengths: Sequence[int] | None, longest: int, real: bool) -> list[Size]:
    if arity == 1 or real:
        return []
    if arity == GRIDS:
        return [(3, 211, 173), (3, 61, 47), (3, 24, 32)]
    whole = math.gcd(*(lengths or (1,)))
    most = max(lengths or (max(LENGTHS) if longest > max(LENGTHS) else max(SHORT_LENGTHS),))
    found = [n - n % whole for n in (longest, *FAR) if most < n <= longest and n <= FAR[0]]
    longer = sorted({n for n in found if n > most}, reverse=True)
    # A step of another batch, so that what runs once in each pass and grows with the length is seen.
    return [(3, n, 0 if arity == 2 else n // 2 - n // 2 % whole) for n in longer]


def operator_of(key: Any) -> Any:
    """The name by which FlopCounterMode knows an operator."""
    key = getattr(key, "_opoverload", key)
    return getattr(key, "overloadpacket", key)


def not_running(model: torch.nn.Module, problem: Exception, size: str, real: bool) -> Error:
    text = f"{type(problem).__name__}: {(str(problem).strip() or 'no message').splitlines()[0]}"
    where = running_module(model, problem)
    if real:
        return Error(where, f"cannot run with {size}: {text}")
    way = ""
    if decided_by_data(problem):
        way = "; what runs depends on data: real=True runs it on real tensors"
    if re.search(r"aten\._nested_(tensor|view)_from", text):
        way = "; nested tensors must have layout=torch.jagged"
    if ran_in(problem, "triton"):
        way = "; launch Triton's kernels by torch.library.wrap_triton: formulas={kernel: function} counts them"
    return Error(where, f"cannot run on fake tensors with {size}: {text}{way}")


def decided_by_data(problem: Exception) -> bool:
    return "Dynamic" in type(problem).__name__ or "DataDependent" in type(problem).__name__


def no_backward(step: Any) -> str:
    unknown = sorted({f"{op} in {module or 'the model'}" for module, op in step.uncounted})
    if not step.products and unknown:
        return f"no operator of it has a formula: {', '.join(unknown)}; give formulas={{operator: function}}"
    return "its backward has no product: no parameter that needs a gradient reaches the loss"


def summed(outputs: Any) -> torch.Tensor:
    """The sum of all floating outputs that a gradient can enter."""
    from ._torch_trace import tensors_in

    found = [one.values() if one.is_nested else one for one in tensors_in(outputs)]
    found = [one for one in found if one.is_floating_point() and one.requires_grad]
    if not found:
        raise Error("loss", "no floating output of the model needs a gradient")
    total = found[0].sum()
    for one in found[1:]:
        total = total + one.sum()
    return total


# Inputs and sizes.


def sized_inputs(example: Any) -> tuple[Callable[[Size], tuple[tuple[Any, ...], dict[str, Any]]], int]:
    """From a size to arguments, and how many numbers vary: 1 samples, 2 length, 3 keys; or grids."""
    if callable(example):
        parameters = inspect.signature(example).parameters.values()
        names = [one.name for one in parameters if one.default is one.empty and one.kind in (0, 1)]
        if names[1:] == ["rows", "columns"]:
            return lambda size: split(example(*size)), GRIDS
        arity = len(names)
        if arity not in (1, 2, 3):
            raise Error(
                "example_inputs",
                "must take (batch), (batch, length), (batch, length, keys) or (batch, rows, columns), takes "
                f"{arity} arguments",
            )
        return lambda size: split(example(*size[:arity])), arity

    import torch

    from ._torch_trace import tensors_in

    args, kwargs = split(example)
    found = list(tensors_in(args)) + list(tensors_in(kwargs))
    if not found:
        raise Error("example_inputs", "has no tensor")
    if any(one.is_nested for one in found):
        raise Error("example_inputs", "has nested tensors: give a callable (batch, length) that makes them")
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
            kept = value.requires_grad and value.is_leaf
            of = torch.zeros if value.dtype is torch.bool or not value.is_floating_point() else torch.rand
            return of(shape, dtype=value.dtype, requires_grad=kept)
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
    if arity == GRIDS:
        return [(2, *one) for one in GRID_SIZES] + [(3, *GRID_SIZES[0])], 3
    a, b, c, d, e = given[:5]
    if lengths is None:
        given += [window + 7 for window in windows if c < window <= 16384 and window + 7 < longest]
    more = given[5:]
    if arity == 2:
        return [(2, a, 0), (2, b, 0), (2, c, 0), (2, d, 0), (2, e, 0), (3, a, 0)] + [(2, n, 0) for n in more], 3
    p, q, r, s = KEYS if a == LENGTHS[0] else (b, c, d, e)
    fit = [(2, a, p), (2, b, p), (2, c, p), (2, a, q), (2, a, r), (2, b, q)]
    return fit + [(2, d, s), (2, e, r), (3, a, p)] + [(2, n, s) for n in more], 6


def ran_in(problem: BaseException, package: str) -> bool:
    trace = problem.__traceback__
    while trace is not None:
        if str(trace.tb_frame.f_globals.get("__name__")).partition(".")[0] == package:
            return True
        trace = trace.tb_next
    return False


def running_module(model: torch.nn.Module, problem: BaseException) -> str:
    """The innermost module whose forward is in the traceback."""
    names = {id(module): name for name, module in model.named_modules()}
    found, trace = "model", problem.__traceback__
    while trace is not None:
        name = names.get(id(trace.tb_frame.f_locals.get("self")))
        found = name or found
        trace = trace.tb_next
    return found


# Masks as transformers' models say them of themselves.


def prepare_transformers(model: torch.nn.Module, real: bool) -> None:
    """A training step: no cache, and experts as batched products, whose shapes do not depend on data; on real tensors
    one by one."""
    for module in model.modules():
        config = getattr(module, "config", None)
        if getattr(config, "use_cache", None):
            config.use_cache = False  # type: ignore[union-attr]
        if getattr(config, "_experts_implementation", None) in ("eager", "grouped_mm"):
            config._experts_implementation = "eager" if real else "batched_mm"  # type: ignore[union-attr]


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


def given_masks(masks: Mask | str | Mapping[str, Mask | str] | None) -> dict[str, Mask]:
    by_pattern = masks if isinstance(masks, Mapping) else {} if masks is None else {"*": masks}
    made = {}
    for pattern, mask in by_pattern.items():
        if not isinstance(mask, (Mask, str)):
            raise Error("masks", f"must be floptally.Mask objects or the names of rules, got {mask!r}")
        made[pattern] = Mask.from_text(mask) if isinstance(mask, str) else mask
    return made


def positions_of(model: torch.nn.Module, masks: Mapping[str, Mask]) -> tuple[list[int], int]:
    """Lengths that a window limits beyond, where the count must be the same polynomial; and the longest."""
    kinds = ("sliding_window(", "window(", "chunked(", "top_k(")
    windows = {int(n) for mask in masks.values() if mask.name.startswith(kinds) for n in re.findall(r"\d+", mask.name)}
    config = getattr(model, "config", None)
    window = getattr(config, "sliding_window", None)
    if isinstance(window, int) and not isinstance(window, bool):
        windows.add(window)
    longest = getattr(config, "max_position_embeddings", None)
    return sorted(windows), longest if isinstance(longest, int) and not isinstance(longest, bool) else 1 << 30


class SeenMasks:
    """The masks of attention cores: as the caller says, else as it was seen, else as transformers' modules say."""

    def __init__(self, model: torch.nn.Module, given: Mapping[str, Mask], names: Names, sizes: Sequence[Size]) -> None:
        self.model = model
        self.given = given
        self.names = names
        self.sizes = sizes
        self.read: set[str] = set()
        self.notes: list[str] = []

    def of(self, one: Series) -> Mask:
        from ._torch_masks import mask_of_patterns

        for pattern, mask in self.given.items():
            if fnmatchcase(one.module, pattern):
                return mask
        said = mask_of_module(self.model, one.module)
        patterns = list(one.patterns)
        while len(patterns) > 5 and unseen(patterns[-1]) and not unseen(patterns[0]):
            patterns.pop()
        if len(patterns) < len(one.patterns) == len(self.sizes):
            longest = max(size[1] for size in self.sizes[: len(patterns)])
            self.notes.append(f"{self.names.component(one.module)}: its mask was looked at up to length {longest}")
        seen = mask_of_patterns(patterns, said)
        if seen is not None:
            return seen
        if said is not None:
            self.read.add(said.name)
            self.notes.append(
                f"{self.names.component(one.module)}: its mask is {said.name} by the words of its module, and was not "
                "seen"
            )
            return said
        values = "depend on data" if any(pattern is None for pattern in one.patterns) else "are none of the known"
        raise Error(
            one.module or "model",
            f"attends under a mask whose values {values} ({one.first.op}): give "
            f"masks={{'{one.module or '*'}': floptally.Mask...}}, or Mask.from_callable",
        )

    def check(self) -> None:
        """Throws unless what was read of modules is what the config reader says, where it reads the config at all."""
        config = getattr(self.model, "config", None)
        if not self.read or config is None or not hasattr(config, "to_dict"):
            return
        try:
            known = {mask.in_tower("text").name for mask in cost(config.to_dict()).masks}
        except Error:
            return
        both_sides = {Mask.bidirectional().name, Mask.cross_attention().name, Mask.encoder().name}
        odd = sorted(self.read - known - (both_sides if known & both_sides else set()))
        if odd:
            raise Error(
                "masks",
                f"the attention modules say {', '.join(odd)}, the config {', '.join(sorted(known)) or 'none'}: give "
                "masks=",
            )
