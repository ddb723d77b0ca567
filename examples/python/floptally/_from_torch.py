# SPDX-License-Identifier: Apache-2.0
"""Counts the cost of any PyTorch model: runs it on fake tensors at a few sizes and fits the FLOPs.

A matrix product of a model whose cost fits the library's form counts

    a·samples + b·tokens + c·squares

with integers a, b, c (and, for an encoder-decoder with `keys` encoder tokens, b'·keys + c'·tokens·keys + c''·keys²).
`from_torch` runs training steps at as many sizes as there are integers, solves for them, and runs more steps at other
sizes to check. If a count is no such sum, the error names the module. Work that runs once per pass, whatever the batch,
is multiplied by the accumulator `measured(passes)`. Images of any size are counted by their patches and the squares of
these.
"""

from __future__ import annotations

import contextlib
import copy as copying
import dataclasses
import inspect
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ._core import Cost, Error, Mask
from ._cost import cost, is_diffusion, unwrapped
from ._errors import AssumptionWarning, first_line, type_and_text
from ._parts import names_of
from ._traced_entries import GRIDS, Names, Series, Size, Table, shown

if TYPE_CHECKING:
    import torch

#: Inputs about the position of a token, not its content.
PLAIN_INPUTS = ("position_ids", "token_type_ids", "attention_mask", "cache_position")

LENGTHS = (32, 48, 80, 57, 131)
SHORT_LENGTHS = (7, 11, 19, 14, 24)  #: for models of few positions
KEYS = (40, 56, 72, 61)
#: Lengths for one step far beyond the fit. The first one that the model can run is used.
FAR = (131101, 65536, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256)
LOOPED = (256,)  #: if the model loops over tokens
DENSE = (2047, 1021, 509)  #: lengths at which a mask is computed in full, if single rows cannot be computed
MOST_DENSE = 1 << 25  #: largest number of elements of scores at these lengths
MANY_OPERATORS = 1500  #: with more operators than this, the fit is checked far beyond and in another batch only
BY_TOKENS = (7, 9, 11, 17)  #: lengths for recurrent layers, which run token by token: to fit, and beyond the fit
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
    """Returns the cost of a PyTorch model, also of one that no config describes.

    It computes nothing and allocates nothing of the model's size: a copy of the model runs steps on fake tensors
    under ``torch.utils.flop_counter.FlopCounterMode``, as if on a CPU. The model may be on ``meta``.

    Args:
        model: any ``torch.nn.Module``, in the mode (``train()``, ``eval()``) that you want counted.
        example_inputs: a callable, or an example.
            A callable ``(batch, length)`` returns the keyword arguments of ``forward`` as a dict (or a tuple of
            positional ones, or one tensor). Its parameters say what varies: ``(batch, length, keys)`` adds ``keys``
            tokens for the encoder of an encoder-decoder; ``(batch)`` is for a model of fixed size; ``(batch, rows,
            columns)``, by these names, is for images of rows x columns patches, which then count by grids. It is called
            under fake tensors, so ``torch.zeros`` costs nothing.
            An example is a dict, tuple or tensor. Its first integer tensor [batch, length] or floating tensor [batch,
            length, width] gives the two sizes. Every first axis of size ``batch`` and every other axis of size
            ``length`` then varies. If the model does not run with such inputs, floptally varies only one axis with
            the length: the second axis if the length equals the width, or the last axis if channels come first. Without
            such a tensor, the first tensor's first axis is ``batch`` and the model is of fixed size. Inputs that
            require a gradient get one.
        masks: one mask for all attention cores, or a dict of masks by patterns of module names
            (``{"*.self_attn": Mask.causal()}``). A mask is a ``Mask``, or its name (``"sliding_window(512)"``). By
            default masks are detected: from the kernels' arguments, the block mask of flex attention, and the values of
            masks that do not depend on data. An
            attention core whose size does not depend on the inputs counts the detected pairs. If none were detected, it
            counts the passed mask. A product that makes a mask, such as an indexer's scores, counts the pairs among
            which the mask chooses.
        loss: a function from the model's output to the tensor that ``backward()`` is called on. Default: the sum of
            all floating outputs.
        lengths: five lengths or more: three to fit, others to check. If a model works in chunks, pass multiples of the
            chunk length. The cost then holds for such lengths only.
        components: names of components, by patterns of module names or by a function of them. Default: the module's
            name with ``*`` for a layer's index. Beyond 39 characters ``..`` replaces parts of it. Modules of diffusers
            and timm with well-known names get floptally's usual names: ``attention.qkv``, ``mlp``.
        depth: cuts module names to this many parts, so that modules of one parent are one component.
        terms: kinds of products with weights (``"router"``, ``"lm_head"``, …), by patterns of module names.
            Default: ``lm_head`` after the last layer, ``preprocessing`` before the first, ``router`` next to
            experts. For modules without a product, the kind of their parameters: ``norm`` (default),
            ``latent_norm``.
        formulas: FLOPs of operators that PyTorch has no formula for, such as Triton kernels and your own:
            ``{operator: function}``, as for ``FlopCounterMode(custom_mapping=...)``. A function computes FLOPs from
            the shapes of the arguments. The operator of the backward needs one too. Formulas of
            ``torch.utils.flop_counter.register_flop_formula`` are known anyway.
        real: True runs real steps on a copy of the model with its weights. Use it if data decides what runs, as with
            experts. FLOPs of all experts together may then fit a formula where those of one expert do not. This takes
            the time and memory of several real training steps. Batch sizes above 4 are not checked.
        progress: a function that is called with a line before each step that runs, or True for standard error.
            Default: standard error, if it is a terminal and more than three seconds have passed.

    Returns:
        A cost like that of ``floptally.cost``. Its notes say which convention reproduces FlopCounterMode.

    Raises:
        Error: if the FLOPs of a module are no formula of the input sizes. The error names the module. Also for a matrix
            product, convolution or custom operator without a FLOPs formula, and for keys of `masks`, `components`,
            `terms` or `formulas` that match nothing.

    Warns:
        AssumptionWarning: names operators that multiply outside of matrix products, such as Fourier transforms. Their
            FLOPs are not counted.
    """
    from ._torch_process import left_as_found

    with left_as_found() as created:
        cost = counted(
            model, example_inputs, masks, loss, lengths, components, depth, terms, formulas, real, progress, created
        )
    for note in cost.notes:
        if note.endswith(NOT_A_PRODUCT):
            warnings.warn(note, AssumptionWarning, stacklevel=2)
    return cost


def counted(
    model: torch.nn.Module,
    example_inputs: Any,
    masks: Mask | str | Mapping[str, Mask | str] | None,
    loss: Callable[[Any], torch.Tensor] | None,
    lengths: Sequence[int] | None,
    components: Mapping[str, str] | Callable[[str], str] | None,
    depth: int | None,
    terms: Mapping[str, str] | None,
    formulas: Mapping[Any, Callable[..., int]] | None,
    real: bool,
    progress: bool | Callable[[str], object] | None,
    created: list[Any],
) -> Cost:
    """Implements from_torch, with the same arguments. created: a list to which references to all fake tensors are
    added."""
    import torch

    from . import _torch_formulas, _torch_kernels, _torch_trace
    from ._torch_cores import MoreLengths, SeenMasks
    from ._torch_values import MOST_ELEMENTS

    if not isinstance(model, torch.nn.Module):
        raise Error("model", f"must be a torch.nn.Module, got {model!r}")
    if any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules()):
        raise Error(
            "model",
            "is wrapped by FullyShardedDataParallel, which replaces parameters by flat shards: pass the "
            "model before it is wrapped, or use fully_shard",
        )
    model = unwrapped(model)
    mode = None if real else _torch_kernels.fake_mode()
    copy = _torch_trace.real_copy(model) if mode is None else _torch_trace.fake_copy(model, mode)
    prepare_transformers(copy, real)
    make_inputs, arity = sized_inputs(example_inputs)
    readings = other_readings(example_inputs)
    first_problem: Exception | None = None
    chosen_masks = given_masks(masks)
    tell = Progress(progress)
    if components is None and type(model).__module__.split(".")[0] in ("diffusers", "timm"):
        components = known_component
    windows, longest = positions_of(copy, chosen_masks)
    by_tokens = any(isinstance(module, torch.nn.RNNBase) for module in copy.modules())
    if by_tokens:
        longest = min(longest, max(LENGTHS))
    sizes, fitted = sizes_of(arity, lengths, windows, longest)
    own = _torch_formulas.Formulas(formulas)

    by_example = False

    def step(
        size: Size, most_operators: int = 0, most_elements: int = 0, forward_only: bool = False, around: Any = None
    ) -> _torch_trace.Step:
        inputs_of_size = partial(make_inputs, size)
        run = partial(_torch_trace.run_step, copy, mode, inputs_of_size, loss or summed, PLAIN_INPUTS, own)
        if not most_elements:  # a fixed size has no other length at which a mask could be seen
            most_elements = MOST_DENSE if not size[1] else MOST_ELEMENTS if size[1] < 5000 else MOST_ELEMENTS >> 3
        # FlopCounterMode itself checks the first step. The recorder uses its formulas in all of them.
        return run(most_operators, by_example, created, most_elements, forward_only, around, not steps)

    steps: list[_torch_trace.Step] = []
    between: list[Size] = []  # more sizes to check the fit, if no step runs far beyond it
    with torch.random.fork_rng(devices=[], enabled=real):
        while len(steps) < len(sizes):
            size = sizes[len(steps)]
            tell(f"step {len(steps) + 1} of {len(sizes)}: {shown(size, arity)}")
            try:
                steps.append(step(size))
            except Error:
                raise
            except Exception as problem:
                if not steps and not decided_by_data(problem) and readings:
                    first_problem = first_problem or problem
                    make_inputs, _ = sized_inputs(example_inputs, readings.pop(0))
                    continue
                problem = first_problem or problem
                if not by_example and not real and decided_by_data(problem):
                    by_example = True
                    steps.clear()
                    continue
                raise not_running(copy, problem, shown(size, arity), real) from problem
            many = steps[0].operators > MANY_OPERATORS or by_tokens
            if len(steps) == 1 and many and lengths is None and arity == 2:
                # The longer lengths for the fit are odd: a chunk or a stride then shows far beyond.
                between = [sizes[1], sizes[2], sizes[5]]
                sizes[1:6] = [(2, n, 0) for n in BY_TOKENS[1:3]] if by_tokens else sizes[3:5]
            elif len(steps) == 1 and many and lengths is None and arity > 1:
                between, sizes[fitted : fitted + 2] = sizes[fitted : fitted + 2], []
    check_counted(steps[0])
    own.check(set().union(*(one.ran for one in steps)))
    candidates = far_sizes(arity, lengths, longest, real)
    if by_tokens and between:
        candidates = [(3, BY_TOKENS[3], 0)]
    far = FarStep(step, sizes, steps, candidates, lambda size: tell(f"far beyond: {shown(size, arity)}"))
    tell("fitting")

    def check_between() -> None:
        """Runs a training step at each input size that was skipped before. Inserts these steps before those at very
        large sizes."""
        for size in between:
            at = len(sizes) - far.ran
            steps.insert(at, step(size))
            sizes.insert(at, size)
        between.clear()

    if not far.ran and arity > 1:
        other = (3, *(between or sizes[fitted:])[0][1:])
        check_between()
        if other not in sizes:
            steps.append(step(other))
            sizes.append(other)
    supposed = lengths_said(example_inputs, arity)
    supposed += [f"what runs depends on data: {one}" for one in sorted(set().union(*(one.supposed for one in steps)))]
    if steps[0].masks:
        supposed.append(f"masks among the inputs count as they are passed: {', '.join(steps[0].masks)}")
    names = Names(copy, components, depth)
    modules = [(name, names.folded(name)) for name, _ in copy.named_modules()]
    attending = {product.module for product in steps[0].products if product.kind not in ("weight", "backward")}
    component_names = {} if callable(components) else {"components": components or {}}
    for key, patterns in {**component_names, "terms": terms or {}}.items():
        _torch_formulas.check_patterns(key, patterns, modules, "module")
    if isinstance(masks, Mapping):
        _torch_formulas.check_patterns("masks", masks, [(name, name) for name in sorted(attending)], "module that attends")

    def fit(notes: Sequence[str], chunks: Sequence[int], by_size: bool) -> tuple[Cost, Table, SeenMasks]:
        while True:  # not a call of itself: the cycle of references would keep the copy of the model in memory
            seen = SeenMasks(chosen_masks, names, sizes, min(5, len(sizes) - far.ran))
            seen.more = partial(far.add_dense, 1) if arity == 2 and lengths is None else None
            table = Table(copy, sizes, fitted, arity, steps, names, seen.of, terms or {}, bool(chosen_masks), chunks, list(notes), by_size)
            seen.notes = table.notes
            with contextlib.suppress(MoreLengths):
                return table.cost(), table, seen

    def made(notes: Sequence[str], chunks: Sequence[int] = (), by_size: bool = False) -> Cost:
        """Fits the cost to the steps that ran, checks it at other batch sizes, and returns it. If the cost has parts
        that need more lengths, the model first runs at lengths between the fitted ones."""
        notes = list(notes)
        try:
            cost, table, seen = fit(notes, chunks, by_size)
            if between and (table.once or table.pairs_samples or table.has_parts or table.has_tables or seen.is_partial):
                check_between()
                cost, table, seen = fit(notes, chunks, by_size)
        except Error:
            if not between:
                raise
            check_between()
            cost, table, seen = fit(notes, chunks, by_size)
        if real:
            return cost
        tell("other batches")
        before = len(notes)
        odd = odd_batches(step, table, sizes[0], many, notes)
        for size in sorted(odd)[:1]:
            at = len(sizes) - far.ran
            steps.insert(at, step(size))
            sizes.insert(at, size)
        return fit(notes, chunks, by_size)[0] if odd or len(notes) > before else cost

    if is_diffusion(model):
        with contextlib.suppress(Error):
            cost(model)  # type: ignore[arg-type]
            kind = type(model).__name__
            supposed.append(f"{kind} has a spec: floptally.cost(model) counts it at once, by grids and texts")
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
        if lengths is None:
            raise
        held = []
        if far.ran:
            far.take_back()
            held = [f"holds up to length {max(size[1] for size in sizes)} only, {problem}"]
            with contextlib.suppress(Error):
                return made([*held, *supposed])
        try:
            return made(supposed, by_size=True)
        except Error:
            raise problem from None


def odd_batches(
    step: Callable[..., Any], table: Table, smallest: Size, many: bool, notes: list[str]
) -> list[Size]:
    """Checks a fitted cost at other batch sizes. Returns the input sizes at which the model's forward ran other FLOPs
    than the cost says.

    It runs a batch of 7 samples, and one near each number that Python compared the batch size with. A model without
    many operators also runs 1, 4, 16, 64 and 256 samples.

    step: a function that runs the model at an input size.
    smallest: the input size whose batch size is replaced.
    many: True for a model of many operators.
    notes: gets a line for each batch that does not run.
    """
    from ._torch_batches import ALWAYS, WATCHED, WatchedSizes

    watched: WatchedSizes | None = WatchedSizes()
    odd: list[Size] = []
    left = [WATCHED]
    while left:
        size = (left.pop(0), *smallest[1:])
        try:
            ran = step(size, forward_only=True, around=watched)
        except Exception as problem:
            if watched is not None:  # sizes of a class of their own are refused, as some operators do
                watched, left = None, [*ALWAYS, WATCHED]
            elif size[0] > 1:  # layers that normalize over a batch refuse a single sample
                notes.append(f"with {size[0]} samples it does not run: {type_and_text(problem, 120)}")
            continue
        if watched is not None:
            noted = watched.batches(many)
            watched, left = None, list(dict.fromkeys(noted if many else (*ALWAYS, *noted)))
        if ran.total - sum(ran.constants.values()) != table.forward(size):
            odd.append(size)
    return odd


class Progress:
    """Reports which step is running. how: a function that is called with each line. True writes to standard error,
    False nowhere. None writes to standard error if it is a terminal and three seconds have passed."""

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
    """Returns the component name that floptally's configs use for such a module, such as "attention.qkv". If the
    module's name does not tell the component, returns the module's name with "*" for a layer's index."""
    folded = ".".join("*" if part.isdigit() else part for part in module.split("."))
    return next(iter(names_of(folded)), folded)


def lengths_said(example: Any, arity: int) -> list[str]:
    """Returns notes that say which parameters of the callable `example` get lengths= and encoder_lengths= of a batch.
    Empty if the parameters have the usual names length and keys."""
    if arity not in (2, 3) or not callable(example):
        return []
    names = [parameter.name for parameter in inspect.signature(example).parameters.values()][1:arity]
    keywords = ("lengths", "encoder_lengths")
    meanings = [f"{key}= are {name}" for key, name in zip(keywords, names) if name not in ("length", "keys")]
    return [", ".join(meanings)] if meanings else []


def chunks_of(model: torch.nn.Module) -> list[int]:
    """Returns up to three sizes of attention chunks in tokens, ascending. They are read from the model's modules, their
    configs, and default arguments of functions that the modules call."""
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
                found |= {parameter.default for parameter in parameters if parameter.name == "chunk_size"}
    return sorted(n for n in found if isinstance(n, int) and not isinstance(n, bool) and 1 < n <= 1024)[:3]


class FarStep:
    """Runs one more training step at a far larger input length than the others, to check the fitted cost. If attention
    masks cannot be read there, a second step at a shorter length reads them. `notes` say which of these steps
    failed."""

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
                problem = problem or f"{type(raised).__name__} at {size[1]}: {first_line(raised, 120)}"
        longest = max(sizes, key=lambda size: size[1] * max(size[2], 1))
        self.step, self.longest, self.most = step, longest, most
        if self.ran and has_unseen(steps[-1]) and not has_unseen(steps[0]):
            self.add_dense()
        if candidates and (problem or not self.ran):
            self.notes.append(f"counts and masks were looked at up to length {longest[1]}: {problem}")

    def add_dense(self, tries: int = len(DENSE)) -> bool:
        """Runs a training step at a length where whole masks fit into memory. Inserts it before the step at a very
        large length. Returns False if the masks cannot be read at any such length. tries: how many of the lengths in
        DENSE it tries at most."""
        for length in DENSE[:tries]:
            size = (1, length, length // 2 if self.longest[2] else 0)  # one sample: all pairs have values
            if length in [one[1] for one in self.sizes] or length >= self.longest[1]:
                continue
            with contextlib.suppress(Exception):
                dense = self.step(size, 2 * self.most, MOST_DENSE)
                if has_unseen(dense):
                    continue
                place = len(self.sizes) - self.ran
                self.sizes.insert(place, size)
                self.steps.insert(place, dense)
                self.ran += 1
                return True
        return False

    def add(self, size: Size, ran: Any) -> None:
        self.sizes.append(size)
        self.steps.append(ran)
        self.ran += 1

    def take_back(self) -> None:
        del self.sizes[-self.ran :], self.steps[-self.ran :]
        self.ran = 0


def has_unseen(step: Any) -> bool:
    from ._torch_cores import is_unseen

    return any(is_unseen(product.seen) for product in step.products)


def far_sizes(arity: int, lengths: Sequence[int] | None, longest: int, real: bool) -> list[Size]:
    if arity == 1 or real:
        return []
    if arity == GRIDS:
        return [(3, 211, 173), (3, 61, 47), (3, 24, 32)]
    whole = math.gcd(*(lengths or (1,)))
    most = max(lengths or (max(LENGTHS) if longest > max(LENGTHS) else max(SHORT_LENGTHS),))
    found = [n - n % whole for n in (longest, *FAR) if most < n <= longest and n <= FAR[0]]
    longer = sorted({n for n in found if n > most}, reverse=True)
    # A step with another batch size shows what runs once per pass and grows with the length.
    return [(3, n, 0 if arity == 2 else n // 2 - n // 2 % whole) for n in longer]


def not_running(model: torch.nn.Module, problem: Exception, size: str, real: bool) -> Error:
    text = type_and_text(problem)
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


#: The end of notes about operators that multiply outside of matrix products.
NOT_A_PRODUCT = "multiplies outside of matrix products, and counts nothing"


def check_counted(step: Any) -> None:
    """Raises an Error if a matrix product or custom operator of the step has no FLOPs formula, or if the step ran no
    matrix product."""
    for module, op in sorted(step.uncounted):
        raise Error(
            module or "model",
            f"runs {op}, and neither PyTorch's FlopCounterMode nor floptally has a formula for it: pass "
            f"formulas={{{op}: function}}. The function returns FLOPs from the shapes of the arguments, or 0 if the "
            "operator multiplies no matrices",
        )
    if not step.products:
        raise Error("model", "runs no matrix product and no convolution, so that there are no FLOPs to count: pass a model that runs one")


def summed(outputs: Any) -> torch.Tensor:
    """Returns the sum of all floating-point outputs that can have a gradient. If no output can, returns the sum of all
    floating-point outputs."""
    from ._torch_trace import tensors_in

    found = [one.values() if one.is_nested else one for one in tensors_in(outputs)]
    found = [one for one in found if one.is_floating_point() or one.is_complex()]
    found = [one for one in found if one.requires_grad] or found
    if not found:
        raise Error("loss", "is missing, and the model has no floating-point output to train on: pass loss=")
    sums = [one.real.sum() if one.is_complex() else one.sum() for one in found]
    total = sums[0]
    for one in sums[1:]:
        total = total + one
    return total


# Inputs and sizes.


EVERY_AXIS, SECOND_AXIS, LAST_AXIS = range(3)


def sized_inputs(
    example: Any, reading: int = EVERY_AXIS
) -> tuple[Callable[[Size], tuple[tuple[Any, ...], dict[str, Any]]], int]:
    """Returns (function, arity) for the user's example inputs. The function takes a size and returns the arguments of
    forward for it, as (positional arguments, keyword arguments). The arity says which sizes vary. 1: samples; 2:
    samples and length; 3: samples, length and keys; GRIDS: samples, rows and columns.

    reading: which axes of an example have the length. EVERY_AXIS: all axes that are as long as the second axis of the
        first tensor of sequences. SECOND_AXIS: of floating tensors [batch, length, width] only the second axis.
        LAST_AXIS: of floating tensors [batch, channels, length] only the last axis.
    """
    if callable(example):
        parameters = inspect.signature(example).parameters.values()
        names = [parameter.name for parameter in parameters if parameter.default is parameter.empty and parameter.kind in (0, 1)]
        if names[1:] == ["rows", "columns"]:
            return lambda size: split(example(*size)), GRIDS
        arity = len(names)
        if arity not in (1, 2, 3):
            raise Error(
                "example_inputs",
                "the function must take (batch), (batch, length), (batch, length, keys) or (batch, rows, columns), "
                "but takes "
                f"{arity} arguments",
            )
        return lambda size: split(example(*size[:arity])), arity

    import torch
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    from ._torch_trace import tensors_in

    args, kwargs = split(example)
    found = list(tensors_in(args)) + list(tensors_in(kwargs))
    if not found:
        raise Error("example_inputs", "has no tensor: pass the tensors that the model is called with")
    if any(one.is_nested for one in found):
        raise Error("example_inputs", "has nested tensors, which cannot be resized: pass a callable (batch, length) that creates them")
    batch, length = found[0].shape[0] if found[0].dim() else 1, 0
    for one in found:
        if one.dim() == (3 if one.is_floating_point() else 2):
            batch, length = int(one.shape[0]), int(one.shape[2 if reading == LAST_AXIS else 1])
            break
    if batch == length:
        raise Error(
            "example_inputs",
            f"batch and length are both {batch}: pass an example where they differ, or a callable (batch, length)",
        )

    def resized(value: torch.Tensor, size: Size) -> torch.Tensor:
        only = None if reading == EVERY_AXIS or value.dim() < 3 or not value.is_floating_point() else reading
        shape = [
            size[0] if axis == 0 and n == batch else size[1] if length and n == length and only in (None, axis) else n
            for axis, n in enumerate(value.shape)
        ]
        needs_gradient = value.requires_grad and value.is_leaf
        with unset_fake_temporarily():
            same = only_value(value)
            if same is None and is_mask_of(value, length):
                raise Error(
                    "example_inputs",
                    f"has a mask of {length} x {length}, whose values at other lengths are unknown: pass a callable "
                    "(batch, length) that makes it",
                )
        if same is not None:
            return torch.full(shape, same, dtype=value.dtype)
        of = torch.zeros if value.dtype is torch.bool or not value.is_floating_point() else torch.rand
        return of(shape, dtype=value.dtype, requires_grad=needs_gradient)

    def inputs(size: Size) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return with_tensors((args, kwargs), partial(resized, size=size))  # type: ignore[no-any-return]

    return inputs, 2 if length else 1


def other_readings(example: Any) -> list[int]:
    """Returns other ways to read which axis of an example is the sequence length. They are tried if the model does not
    run with the first way. They differ if the length equals the width, or if channels stand before the length. Empty if
    the example is a callable."""
    from ._torch_trace import tensors_in

    if callable(example):
        return []
    for one in tensors_in(split(example)):
        if one.dim() == (3 if one.is_floating_point() else 2):
            if one.dim() == 2:
                return []
            batch, length, width = one.shape
            return [SECOND_AXIS] * (length == width) + [LAST_AXIS] * (width != batch)
    return []


def with_tensors(value: Any, function: Callable[[torch.Tensor], Any]) -> Any:
    """Returns a copy of a batch in which `function` has replaced each tensor, in nested lists, tuples, named tuples,
    mappings and dataclasses. Raises an Error for tensors inside any other kind of object."""
    import torch

    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, Mapping):
        replaced = {key: with_tensors(inner, function) for key, inner in value.items()}
        if type(value) is dict:
            return replaced
        same = copying.copy(value)
        try:
            for key, inner in replaced.items():
                same[key] = inner  # type: ignore[index]
        except TypeError:  # a mapping that cannot be changed
            return replaced
        return same
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(with_tensors(inner, function) for inner in value))
    if isinstance(value, (list, tuple, set, frozenset)):
        return type(value)(with_tensors(inner, function) for inner in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = copying.copy(value)
        for one in dataclasses.fields(value):
            if hasattr(value, one.name):
                object.__setattr__(changed, one.name, with_tensors(getattr(value, one.name), function))
        return changed
    attributes = {} if isinstance(value, (type, torch.nn.Module)) or callable(value) else getattr(value, "__dict__", {})
    odd = [key for key, inner in attributes.items() if isinstance(inner, torch.Tensor)]
    if odd:
        raise Error(
            "example_inputs",
            f"has a {type(value).__name__} with the tensor {odd[0]}, which cannot be resized: pass a callable "
            "(batch, length) that creates it, or make it a dataclass",
        )
    return value


def only_value(tensor: torch.Tensor) -> Any:
    """Returns the value that all elements of a tensor of integers or bools have, such as 1 for a mask of ones. None if
    the elements differ."""
    if tensor.is_floating_point() or tensor.is_complex() or tensor.is_meta or not tensor.numel():
        return None
    first = tensor.flatten()[0]
    return first.item() if bool((tensor == first).all()) else None


def is_mask_of(tensor: torch.Tensor, length: int) -> bool:
    """True if a tensor says for each pair of tokens whether it is attended."""
    import torch

    if tensor.dim() < 2 or tuple(tensor.shape[-2:]) != (length, length) or tensor.is_meta or tensor.is_complex():
        return False
    return tensor.dtype is torch.bool or bool((tensor < -50).any())


def split(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (tuple(inputs), {}) if isinstance(inputs, (list, tuple)) else ((inputs,), {})


def sizes_of(
    arity: int, lengths: Sequence[int] | None, windows: Iterable[int], longest: int
) -> tuple[list[Size], int]:
    """Returns (input sizes to run, how many of them fit the cost). The first sizes fit the cost, and all later ones
    check it.

    arity: which sizes vary. 1: samples; 2: samples and length; 3: samples, length and keys; GRIDS: samples, rows and
        columns of patches.
    lengths: the lengths that the caller passed, or None.
    windows: sizes of attention windows in tokens. One length beyond each of them is added.
    longest: the largest number of positions that the model takes.
    """
    if lengths is not None and (len(set(lengths)) < 5 or min(lengths) < 1):
        raise Error("lengths", f"must be at least five different lengths above 0, got {list(lengths)}")
    sorted_lengths = list(dict.fromkeys(lengths or (LENGTHS if longest > max(LENGTHS) else SHORT_LENGTHS)))
    if arity == 1:
        return [(2, 0, 0), (3, 0, 0), (4, 0, 0)], 1
    if arity == GRIDS:
        return [(2, *one) for one in GRID_SIZES] + [(3, *GRID_SIZES[0])], 3
    a, b, c, d, e = sorted_lengths[:5]
    if lengths is None:
        sorted_lengths += [window + 7 for window in windows if c < window <= 16384 and window + 7 < longest]
    more = sorted_lengths[5:]
    if arity == 2:
        return [(2, a, 0), (2, b, 0), (2, c, 0), (2, d, 0), (2, e, 0), (3, a, 0)] + [(2, n, 0) for n in more], 3
    p, q, r, s = KEYS if lengths is None and a == LENGTHS[0] else (b, c, d, e)
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
    """Returns the name of the innermost module whose forward raised the exception. "model" if there is none."""
    names = {id(module): name for name, module in model.named_modules()}
    found, trace = "model", problem.__traceback__
    while trace is not None:
        name = names.get(id(trace.tb_frame.f_locals.get("self")))
        found = name or found
        trace = trace.tb_next
    return found


# Masks and transformers' configs.


def prepare_transformers(model: torch.nn.Module, real: bool, changed: Sequence[str] = ("eager", "grouped_mm")) -> None:
    """Changes the configs inside a model for a training step: no KV cache, and experts as batched matrix products,
    whose shapes do not depend on data.

    real: True runs experts one by one instead, for a step on real tensors. changed: transformers' names of the experts'
        implementations that are replaced.
    """
    for module in model.modules():
        config = getattr(module, "config", None)
        if getattr(config, "use_cache", None):
            config.use_cache = False  # type: ignore[union-attr]
        if getattr(config, "_experts_implementation", None) in changed:
            config._experts_implementation = "eager" if real else "batched_mm"  # type: ignore[union-attr]


def given_masks(masks: Mask | str | Mapping[str, Mask | str] | None) -> dict[str, Mask]:
    by_pattern = masks if isinstance(masks, Mapping) else {} if masks is None else {"*": masks}
    result = {}
    for pattern, mask in by_pattern.items():
        if not isinstance(mask, (Mask, str)):
            raise Error("masks", f"must be floptally.Mask objects or names of masks, got {mask!r}")
        result[pattern] = Mask.from_text(mask) if isinstance(mask, str) else mask
    return result


def positions_of(model: torch.nn.Module, masks: Mapping[str, Mask]) -> tuple[list[int], int]:
    """Returns (sizes of the model's attention windows, largest sequence length that the model accepts), both in
    tokens."""
    kinds = ("sliding_window(", "window(", "chunked(", "top_k(")
    windows = {int(n) for mask in masks.values() if mask.name.startswith(kinds) for n in re.findall(r"\d+", mask.name)}
    config = getattr(model, "config", None)
    window = getattr(config, "sliding_window", None)
    if isinstance(window, int) and not isinstance(window, bool):
        windows.add(window)
    longest = getattr(config, "max_position_embeddings", None)
    return sorted(windows), longest if isinstance(longest, int) and not isinstance(longest, bool) else 1 << 30
