# SPDX-License-Identifier: Apache-2.0
"""Compares PyTorch's FlopCounterMode with floptally on a user's model and batch."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ._cost import cost as cost_of
from ._cost import is_diffusion, place_of, unwrapped
from ._core import Plan
from ._errors import AssumptionWarning, Error
from ._parts import names_of
from ._report import Report

if TYPE_CHECKING:
    import torch

    from ._core import Breakdown, Cost
    from ._types import SpecLike
    from ._literals import ConventionName

#: Kinds of entries of recurrent states.
STATES = ("state", "delta_rule", "scan")
#: Known differences between PyTorch's number and the library's by the same convention, with the reason.
MEANINGS = {
    "recompute": "what checkpointing runs again, which FlopCounterMode counts with the rest",
    "constants": "products of neither data nor weights, as the angles of rotary positions in older releases",
    "grouped_convolutions": "the weight gradient of a convolution in groups, which FlopCounterMode takes over the "
    "channels of all groups",
    "packed_rows": "documents of a packed sequence, which run here as one row under a mask: its square, not theirs",
    "recurrent_state": "the algorithm that ran a recurrent state, which multiplies otherwise than the recurrence",
    "frozen_weights": "gradients that frozen weights do not need, where the plan counts a step that trains them",
    "input_gradients": "gradients that reach no weight that trains, as checkpointing with adapters computes them: "
    "enable_input_require_grads() makes the first layer's inputs need a gradient",
    "padding": "slots without a real token",
    "no_formula": "products that PyTorch's FlopCounterMode has no formula for, or counts a quarter of since they are "
    "complex",
    "sample_pairs": "products of each sample with each other one, as the logits of a contrastive loss, which no entry "
    "of a config's cost counts",
    "cut_positions": "positions that a causal convolution computes beyond the last token, and that are cut off",
}


@dataclass(frozen=True)
class VerifiedComponent:
    """FLOPs of one component, forward and backward, as PyTorch's FlopCounterMode and as floptally count it.

    modules: the model's modules in this component. Empty if none was found.
    exact: useful FLOPs by the convention "exact".
    """

    name: str
    modules: list[str]
    pytorch: int
    counted: int
    exact: int

    @property
    def difference(self) -> int:
        """PyTorch's FLOPs minus floptally's by the same convention."""
        return self.pytorch - self.counted


class Verification(Report):
    """Compares PyTorch's FlopCounterMode with floptally on one model and batch. `floptally.verify` returns one.

    `str()` is a table; a notebook shows it too.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found
        self._json = json.dumps(found, indent=2) + "\n"
        self._cells = json.dumps(_cells(found))
        self._table = _text(json.loads(self._cells))

    @property
    def pytorch(self) -> int:
        """FLOPs of forward and backward as PyTorch's FlopCounterMode counts them."""
        return int(self._found["pytorch"])

    @property
    def counted(self) -> int:
        """FLOPs of the batch, padding included, as floptally counts them by `convention`, which imitates PyTorch."""
        return int(self._found["counted"])

    @property
    def exact(self) -> int:
        """Useful FLOPs (of real tokens) by the convention "exact", as a meter counts them."""
        return int(self._found["exact"])

    @property
    def convention(self) -> str:
        """The convention that imitates FlopCounterMode: torch_flop_counter, or torch_flop_counter_eager if no fused
        attention ran."""
        return str(self._found["convention"])

    @property
    def source(self) -> str:
        """Where the verified cost comes from: "config", "from_torch", or "given" if you passed it."""
        return str(self._found["source"])

    @property
    def components(self) -> dict[str, VerifiedComponent]:
        """The FLOPs of each component, as {name: VerifiedComponent}. Components whose modules could not be told apart
        are merged."""
        return {
            component["name"]: VerifiedComponent(
                component["name"], list(component["modules"]), int(component["pytorch"]), int(component["counted"]), int(component["exact"])
            )
            for component in self._found["components"]
        }

    @property
    def differences(self) -> dict[str, int]:
        """Explained differences between the two counts, as {reason: FLOPs}: PyTorch's FLOPs minus floptally's by the
        same convention."""
        return {one["name"]: int(one["flops"]) for one in self._found["differences"]}

    @property
    def unexplained(self) -> int:
        """FLOPs by which PyTorch's count is above floptally's without a known reason; negative if below. 0 if the
        counts agree."""
        return int(self._found["unexplained"])

    @property
    def equal(self) -> bool:
        """True if PyTorch's count and floptally's differ only for known reasons."""
        return self.unexplained == 0

    @property
    def terms(self) -> dict[str, int]:
        """Why floptally's count by `convention` differs from its exact count, as {reason: FLOPs}. The sum is the whole
        difference."""
        return {term["name"]: int(term["flops"]) for term in self._found["terms"]}

    @property
    def notes(self) -> list[str]:
        """Notes that explain the numbers of this comparison, such as assumptions of the count."""
        return list(self._found["notes"])

    @property
    def line(self) -> str:
        """The result of the verification in one line, for a log."""
        return _line(self._found)

    def __repr__(self) -> str:
        return f"<Verification of {self._found['model_type']}: {self.line}>"


def verify(
    model: torch.nn.Module,
    batch: Any,
    *,
    cost: Cost | None = None,
    arguments: Callable[[Any], dict[str, Any]] | None = None,
    loss: Callable[[Any], torch.Tensor] | None = None,
    spec: SpecLike | Iterable[SpecLike] | None = None,
    formulas: Mapping[Any, Callable[..., int]] | None = None,
    real: bool = False,
) -> Verification:
    """Runs PyTorch's FlopCounterMode on a model and a batch, and compares it with floptally's count.

        print(floptally.verify(model, next(iter(loader))))

    The step runs on fake tensors with the batch's shapes. It computes nothing, allocates nothing of the model's
    size, and leaves the model and its gradients unchanged.

    Args:
        model: a model of transformers or diffusers, also wrapped or with adapters. Any other module is counted by
            `floptally.from_torch` with the batch as its example.
        batch: what the model's forward takes: a mapping as collators make it, a tuple of positional arguments, or a
            tensor.
        cost: floptally's cost of the model. By default it is read from the model.
        arguments: a function from the batch to the keywords of `Cost.flops`; `floptally.callbacks.batch_arguments`
            by default.
        loss: a function from the output to the tensor that ``backward()`` is called on. By default the sum of all
            floating outputs.
        spec: how the config is read, as in `floptally.cost`.
        formulas: FLOPs of operators that PyTorch has no formula for, as in `floptally.from_torch`.
        real: True runs the step on a copy of the model with its weights. Needed if what runs depends on data.

    Raises:
        Error: "torch" if PyTorch is missing; the errors of `floptally.from_torch` if the step cannot run.

    Warns:
        AssumptionWarning: names operators that multiply, but whose FLOPs are not counted.
    """
    torch = _torch()
    if not isinstance(model, torch.nn.Module):
        raise Error("model", f"must be a torch.nn.Module, got {type(model).__name__}")
    from ._torch_process import left_as_found

    with left_as_found() as created:
        result, assumed = _verified(model, batch, cost, arguments, loss, spec, real, formulas, created)
    for note in assumed:
        warnings.warn(note, AssumptionWarning, stacklevel=2)
    return result


def _verified(
    model: Any, batch: Any, cost: Cost | None, arguments: Any, loss: Any, spec: Any, real: bool, formulas: Any,
    created: list[Any],
) -> tuple[Verification, list[str]]:  # fmt: skip
    """Implements `verify`. Returns (the verification, notes about operators whose FLOPs are not counted). created: gets
    a reference to each fake tensor."""
    from ._from_torch import from_torch, sized_inputs
    from ._traced_entries import batch_of

    notes: list[str] = []
    library, source = cost, "given"
    if library is None:
        source = "config"
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                library = cost_of(model, spec=spec)
            notes += [str(one.message) for one in warned]
        except Error as problem:
            source = "from_torch"
            notes.append(f"it has no spec, and is counted by from_torch ({problem.field}: {problem.problem})")
            library = from_torch(model, batch, loss=loss, real=real, formulas=formulas)
    if arguments is not None:
        keywords = arguments(batch)
    elif source == "from_torch":
        keywords = batch_of(*_size_of(batch, sized_inputs))
    elif is_diffusion(model):
        keywords = _latents(unwrapped(model), batch)
    else:
        from .callbacks._batches import Sides, arguments_of, named

        keywords = arguments_of(named(batch), Sides.of(library, unwrapped(model)))
        logits = _kept_logits(batch)
        if logits is not None:
            keywords["logits"] = logits
    step = _run(model, batch, loss, real, notes, formulas, created)
    assumed = _without_formula(step)
    notes += assumed
    found = _compared(unwrapped(model), library, source, keywords, step, batch, notes)
    return Verification(found), assumed


def _kept_logits(batch: Any) -> int | None:
    """Returns the number of tokens whose logits the model computes, if the batch says so by transformers'
    logits_to_keep: the last n tokens of each row, or a tensor of their indices. None for all tokens.

    TRL's fused lm_head leaves out the last token of each row, which predicts nothing. On a GPU it also leaves out
    tokens without a label, but the step of `verify` runs as on a CPU.
    """
    rows = _rows_of(batch)
    if rows and batch.get("fused_lm_head") and batch.get("shift_labels") is None:
        return sum(length - 1 for length in rows)
    logits: Any = batch.get("logits_to_keep") if rows else None
    if hasattr(logits, "numel"):
        return int(logits.numel()) * len(rows)
    return min(int(logits), rows[0]) * len(rows) if logits else None


def _without_formula(step: Any) -> list[str]:
    """Returns a note for each operator of the step that counts nothing although it multiplies."""
    from ._from_torch import NOT_A_PRODUCT

    notes = []
    for module, op in step.uncounted:
        notes.append(f"{op} has no formula in FlopCounterMode and counts nothing: in {module or 'the model'}")
    for module, op in step.others:
        notes.append(f"{op}, in {module or 'the model'}, {NOT_A_PRODUCT}")
    return list(dict.fromkeys(notes))


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise Error("torch", "is not installed, but floptally.verify runs PyTorch's counter: pip install torch") from None
    return torch


def _size_of(batch: Any, sized_inputs: Callable[[Any], Any]) -> tuple[Any, int]:
    """Returns (size, how many of its three numbers vary). A size is (samples, tokens, 0), or (samples, 0, 0) if the
    number of tokens does not vary."""
    from ._from_torch import split
    from ._torch_trace import tensors_in

    _, arity = sized_inputs(batch)
    args, kwargs = split(batch)
    found = list(tensors_in(args)) + list(tensors_in(kwargs))
    for one in found:
        if arity == 2 and one.dim() == (3 if one.is_floating_point() else 2):
            return (int(one.shape[0]), int(one.shape[1]), 0), arity
    return (int(found[0].shape[0]) if found[0].dim() else 1, 0, 0), arity


def _latents(model: Any, batch: Any) -> dict[str, Any]:
    """Returns the keywords of `Cost.flops` for a batch of a diffusers model: grid_thw, the grid [frames, rows, columns]
    of each sample's latents, and, if the batch has a text, encoder_lengths, the text's tokens for each sample."""
    named = batch if isinstance(batch, Mapping) else {}
    latents = [named[name] for name in ("hidden_states", "sample") if hasattr(named.get(name), "shape")]
    shape = [int(n) for latent in latents[:1] for n in latent.shape]
    if len(shape) not in (3, 4, 5):
        raise Error(
            "batch",
            "must have a tensor \"hidden_states\" or \"sample\" with 3 to 5 dimensions: add one, or say the sizes by "
            "arguments=lambda batch: {'grid_thw': [[1, 16, 16]], 'encoder_lengths': [77]}",
        )
    if len(shape) == 5 and shape[1] != getattr(model.config, "in_channels", shape[1]):
        shape[1:3] = shape[2:0:-1]  # frames before channels
    grid = [1] * (6 - len(shape)) + shape[2:] if len(shape) > 3 else [1, 1, shape[1]]
    keywords: dict[str, Any] = {"grid_thw": [grid[-3:]] * shape[0]}
    text: Any = named.get("encoder_hidden_states")
    if hasattr(text, "shape") and len(text.shape) == 3:
        keywords["encoder_lengths"] = [int(text.shape[1])] * shape[0]
    return keywords


def _run(
    model: Any, batch: Any, loss: Any, real: bool, notes: list[str], formulas: Any, created: list[Any]
) -> Any:
    """Runs forward, loss and backward of a copy of the model under FlopCounterMode, and returns the recorded step. The
    model itself is unchanged.

    notes: gets what the caller should tell the user. created: gets a reference to each fake tensor.
    """
    import torch

    from . import _torch_formulas, _torch_kernels, _torch_trace
    from ._from_torch import PLAIN_INPUTS, decided_by_data, not_running, prepare_transformers, split, summed, with_tensors

    inner = unwrapped(model)
    mode = None if real else _torch_kernels.fake_mode()
    copy = _torch_trace.real_copy(inner) if mode is None else _torch_trace.fake_copy(inner, mode)
    prepare_transformers(copy, real, ("eager",))  # batched products are the same; grouped ones have no formula
    if torch.backends.mha.get_fastpath_enabled() and any(_has_fast_path(module) for module in copy.modules()):
        notes.append(
            "PyTorch's fast path for attention is off here: where nothing needs a gradient it is one operator, for which "
            "FlopCounterMode counts nothing"
        )
    own = _torch_formulas.Formulas(formulas)
    for module in copy.modules():
        config: Any = getattr(module, "config", None)
        name = str(getattr(config, "_attn_implementation", ""))
        if "flash" in name:
            config._attn_implementation = "sdpa"
            note = f"its attention, {name}, runs here as PyTorch's own, whose products are the same"
            notes += [note] * (note not in notes)

    def inputs() -> tuple[tuple[Any, ...], dict[str, Any]]:
        faked = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None

        def made(value: torch.Tensor) -> torch.Tensor:
            if not faked:
                return value.detach().cpu()
            empty = torch.empty(value.shape, dtype=value.dtype)
            return empty.requires_grad_(value.requires_grad and value.is_leaf)

        args, kwargs = with_tensors(split(batch), made)
        return args, kwargs

    def step(by_example: bool) -> Any:
        return _torch_trace.run_step(copy, mode, inputs, loss or summed, PLAIN_INPUTS, own, 0, by_example, created)

    try:
        try:
            found = step(False)
        except Exception as problem:
            if isinstance(problem, Error) or real or not decided_by_data(problem):
                raise
            found = step(True)
        own.check(found.ran)
        return found
    except Error:
        raise
    except Exception as problem:
        raise not_running(copy, problem, "this batch", real) from problem


def _has_fast_path(module: Any) -> bool:
    """True for a layer that PyTorch runs as a single operator if nothing needs a gradient."""
    import torch

    layers = (torch.nn.MultiheadAttention, torch.nn.TransformerEncoderLayer)
    return isinstance(module, layers) and not module.training


@dataclass
class Group:
    """The matrix products of one module, summed over all layers."""

    modules: dict[str, None] = field(default_factory=dict)
    forward: int = 0
    backward: int = 0
    own: int = 0  #: of both: what FlopCounterMode alone does not count
    places: set[str] = field(default_factory=set)  #: components suggested by the names of its products

    def add(self, module: str, forward: int, backward: int) -> None:
        self.modules[module] = None
        self.forward += forward
        self.backward += backward

    @property
    def work(self) -> tuple[int, int]:
        return self.forward, self.backward


def _compared(
    model: Any, library: Cost, source: str, keywords: dict[str, Any], step: Any, batch: Any, notes: list[str]
) -> dict[str, Any]:
    from ._traced_entries import with_every_operator

    fused = any(product.kind == "attention" for product in step.products)
    convention: ConventionName = "torch_flop_counter" if fused else "torch_flop_counter_eager"
    if source == "from_torch":
        library = with_every_operator(library)  # the difference is named below
    counted = library.flops(convention=convention, **keywords)
    exact = library.flops(**keywords)
    named = {
        "recompute": step.recomputed - step.own_recomputed,
        "constants": sum(step.constants.values()),
        "grouped_convolutions": sum(product.groups_excess for product in step.products),
        "no_formula": step.own_recomputed - sum(step.unlike_pytorch.values()),
    }
    pytorch = step.total - sum(step.unlike_pytorch.values())
    more = pytorch - counted.padded_total
    says_what_trains = library.plan is not None and bool(library.plan.weights)
    inputs = sum(one.input_gradients for one in step.products)
    if says_what_trains or more - sum(named.values()) == inputs:
        named["input_gradients"] = inputs
    groups = _groups(model, library, source, step, without_inputs="input_gradients" in named)
    lines = _matched(groups, counted, exact)
    outside = sum(
        one.outside * (one.forward + one.backward - one.groups_excess) // one.forward for one in step.products if one.outside
    )
    if more - sum(named.values()) == outside:
        named["cut_positions"] = outside
    batched = len(keywords.get("lengths", ())) or next((n for n in _samples_of(batch)), 0)
    pairs = sum(
        one.forward + one.backward
        for one in step.products
        if one.kind == "activations" and one.dims[:2] == (1, batched) and one.dims[3:] == (batched,)
    )
    if more - sum(named.values()) == pairs:
        named["sample_pairs"] = pairs
    rows = _rows_of(batch)
    if more - sum(named.values()) and rows and {"cu_seqlens", "lengths"} & keywords.keys():
        logits = {"logits": keywords["logits"]} if "logits" in keywords else {}
        as_rows = library.flops(convention=convention, lengths=rows, **logits)
        named["packed_rows"] = as_rows.padded_total - counted.padded_total
    all_train = all(parameter.requires_grad for parameter in model.parameters())
    if more - sum(named.values()) and not all_train and not says_what_trains:  # else `library` leaves them out
        named["frozen_weights"] = sum(min(0, one.backward - one.groups_excess - _whole(one)) for one in step.products)
    states = {row.component for row in library.entries if row.kind in STATES}
    unlike = [line["name"] for line in lines if line["pytorch"] != line["counted"]]
    if unlike and all(states & set(name.split(", ")) for name in unlike):
        named["recurrent_state"] = more - sum(named.values())
    named = {name: flops for name, flops in named.items() if flops}
    if named.get("packed_rows", 0) and more != sum(named.values()):
        del named["packed_rows"]  # it does not explain the difference
    notes += [f"what runs depends on data: {one}" for one in sorted(step.supposed)]
    compared = library.compare(convention=convention, **_of_measured_logits(library, keywords))
    terms = {"padding": counted.total - counted.padded_total, **compared.conventions[convention].terms}
    meanings = {
        term["name"]: term["meaning"] for one in compared.to_dict()["conventions"] for term in one["terms"]
    }
    return {
        "model_type": library.model_type,
        "source": source,
        "convention": convention,
        "pytorch": str(pytorch),
        "counted": str(counted.padded_total),
        "exact": str(exact.total),
        "equal": more == sum(named.values()),
        "components": lines,
        "differences": [
            {"name": name, "flops": str(flops), "meaning": MEANINGS[name]} for name, flops in named.items()
        ],
        "unexplained": str(more - sum(named.values())),
        "terms": [
            {"name": name, "flops": str(flops), "meaning": meanings.get(name, MEANINGS.get(name, ""))}
            for name, flops in terms.items()
            if flops
        ],
        "notes": notes,
    }


def _of_measured_logits(library: Cost, keywords: dict[str, Any]) -> dict[str, Any]:
    """Returns keywords for `Cost.compare`, which takes no `logits=`: a number of logits becomes a measured number, with
    a plan that says so."""
    if not isinstance(keywords.get("logits"), int):
        return {key: value for key, value in keywords.items() if key != "logits"}
    plan = keywords.get("plan") or library.plan or Plan()
    parts = "phase recompute flash_attention weights recompute_components recompute_every repeated indexer".split()
    plan = Plan(**{part: getattr(plan, part) for part in parts}, logits="measured")
    measured = {**keywords.get("measured", {}), "logits": keywords["logits"]}
    return {**{key: value for key, value in keywords.items() if key != "logits"}, "plan": plan, "measured": measured}


def _samples_of(batch: Any) -> Iterable[int]:
    """Returns the size of the first axis of each tensor of a batch. In most tensors it is the number of samples."""
    from ._torch_trace import tensors_in

    return (int(one.shape[0]) for one in tensors_in(batch) if one.dim() > 1)


def _whole(product: Any) -> int:
    """Returns the FLOPs that the backward of a product has if both of its operands need a gradient."""
    if product.kind != "attention":
        return int(2 * product.forward)
    heads, queries, keys, width, value_width = product.dims
    return int(2 * heads * queries * keys * (3 * width + 2 * value_width))


def _rows_of(batch: Any) -> list[int]:
    """Returns the lengths of the sequences of a batch, if each row of its input_ids is one sequence. Empty without
    input_ids of two axes."""
    ids = batch.get("input_ids") if isinstance(batch, Mapping) else None
    shape: tuple[int, ...] = tuple(getattr(ids, "shape", ()))
    return [int(shape[1])] * int(shape[0]) if len(shape) == 2 else []


def _groups(model: Any, library: Cost, source: str, step: Any, without_inputs: bool) -> list[Group]:
    """Returns a group for each module name with layer indices folded, with the module's FLOPs and the components that
    it could be, by the names of its weights or of the module. without_inputs: True leaves out gradients that reach no
    weight that trains."""
    from ._traced_entries import Names

    names = Names(model, None, None)
    stored: dict[tuple[str, str], None] = {}
    cores: dict[str, None] = {}
    for row in library.entries:
        if row.kind in ("scores", "values", *STATES):
            cores[row.component] = None
        elif row.weight or row.component == "lm_head":
            stored[row.component, row.weight or row.component] = None
    found: dict[tuple[str, bool], Group] = {}
    components = set(library.components)
    for product in step.products:
        is_weight = product.kind == "weight"
        folded = names.component(product.module)
        group = found.setdefault((folded, is_weight), Group())
        left_out = product.groups_excess + (product.input_gradients if without_inputs else 0)
        group.add(folded, product.forward, product.backward - left_out)
        group.own += product.own_forward + product.own_backward
        if source == "from_torch" and folded in components:
            group.places.add(folded)
        elif not is_weight and len(cores) == 1:
            group.places |= set(cores)
        else:
            at = {place_of(weight.removesuffix(".weight"), stored) for weight in product.weights}
            known = next((name for name in names_of(folded) if name in components), "")
            group.places |= {one[0] if one else known for one in at or {None}}
    return list(found.values())


def _matched(groups: list[Group], counted: Breakdown, exact: Breakdown) -> list[dict[str, Any]]:
    """Returns a line of the table for each component, as a dict: its modules, and its FLOPs by PyTorch and by
    floptally. Modules are assigned to components by name first, then by equal FLOPs. One last line has all modules
    and components that were not assigned."""
    theirs = {name: (component.forward, component.backward) for name, component in counted.padded.components.items() if component.total}
    useful = {name: component.total for name, component in exact.useful.components.items()}
    lines: dict[str, list[Group]] = {}
    for group in groups:
        if len(group.places) == 1 and next(iter(group.places)) in theirs:
            lines.setdefault(next(iter(group.places)), []).append(group)
    lines = {name: own for name, own in lines.items() if _work(own) == theirs[name]}
    free = [one for one in groups if any(one.work) and not any(one in own for own in lines.values())]
    for name in [name for name in theirs if name not in lines]:
        for some in _subsets([group for group in free if not any(group.places)]):
            if _work(some) == theirs[name]:
                lines[name] = list(some)
                free = [group for group in free if group not in some]
                break
    left = [name for name in theirs if name not in lines]

    def line(name: str, own: Iterable[Group], of: Iterable[str]) -> dict[str, Any]:
        of = list(of)
        return {
            "name": name,
            "modules": [module for group in own for module in group.modules],
            "pytorch": str(sum(sum(group.work) - group.own for group in own)),
            "counted": str(sum(sum(theirs[one]) for one in of)),
            "exact": str(sum(useful.get(one, 0) for one in of)),
        }

    result = [line(name, lines[name], [name]) for name in theirs if name in lines]
    if free or left:
        result.append(line(", ".join(left) or "not counted here", free, left))
    return result


def _work(groups: Iterable[Group]) -> tuple[int, int]:
    groups = list(groups)
    return sum(group.forward for group in groups), sum(group.backward for group in groups)


def _subsets(groups: list[Group]) -> Iterable[tuple[Group, ...]]:
    """Returns all subsets of one, two or three groups; of more than 40 groups, those of one or two. Larger subsets
    could have the FLOPs of a component by chance."""
    for size in (1, 2, 3):
        if len(groups) <= 40 or size < 3:
            yield from combinations(groups, size)


# The table.


def _digits(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _signed(value: int) -> str:
    return "equal" if value == 0 else f"{'-' if value < 0 else '+'}{_digits(abs(value))}"


def _shown(modules: list[str]) -> str:
    """Formats module names. Names that differ in their last part only are joined:
    model.layers.*.mlp.{gate_proj,up_proj}."""
    children: dict[str, list[str]] = {}
    for module in modules:
        parent, _, own = module.rpartition(".")
        children.setdefault(parent, []).append(own)
    return " ".join(
        f"{parent}{'.' if parent else ''}{own[0] if len(own) == 1 else '{' + ','.join(own) + '}'}"
        for parent, own in children.items()
    )


def _line(found: dict[str, Any]) -> str:
    total, counted, left = int(found["pytorch"]), int(found["counted"]), int(found["unexplained"])
    text = f"PyTorch counts {_digits(total)} FLOPs"
    if total == counted:
        return f"{text}, and so does {found['convention']}"
    reasons = "".join(f", {_signed(int(one['flops']))} {one['name']}" for one in found["differences"])
    rest = f", {_signed(left)} without a reason" if left else ""
    return f"{text}, {found['convention']} {_digits(counted)}{reasons}{rest}"


def _cells(found: dict[str, Any]) -> dict[str, Any]:
    """Returns the table of a verification in the JSON form that all tables of the library have."""

    def row(name: str, *numbers: int | str) -> list[dict[str, str]]:
        cells = [{"text": name}]
        for number in numbers:
            cells.append({"text": _digits(number), "exact": str(number)} if isinstance(number, int) else {"text": number})
        return cells

    def columns(*names: str) -> list[dict[str, str]]:
        return [{"name": name, "side": "right" if 0 < place < len(names) - 1 else "left"} for place, name in enumerate(names)]

    components = [
        row(
            component["name"], int(component["pytorch"]), int(component["counted"]), _signed(int(component["pytorch"]) - int(component["counted"])),
            int(component["exact"]), _shown(component["modules"]),
        )
        for component in found["components"]
    ]  # fmt: skip
    totals = [int(found[key]) for key in ("pytorch", "counted", "exact")]
    components.append(row("total", totals[0], totals[1], _signed(totals[0] - totals[1]), totals[2], ""))
    rest = [row(one["name"], _signed(int(one["flops"])), one["meaning"]) for one in found["differences"]]
    if int(found["unexplained"]):
        rest.append(row("without a reason", _signed(int(found["unexplained"])), "what neither side explains"))
    terms = [row(term["name"], _signed(int(term["flops"])), term["meaning"]) for term in found["terms"]]
    sections = [
        {
            "columns": columns("component", "PyTorch", found["convention"], "difference", "exact", "modules"),
            "rows": components,
        }
    ]
    if rest:
        sections.append({"columns": columns("PyTorch counts more", "FLOPs", "why"), "rows": rest})
    if terms:
        sections.append({"columns": columns(f"{found['convention']} to exact", "FLOPs", "its choice"), "rows": terms})
    return {"title": f"{found['model_type']}: {_line(found)}", "notes": found["notes"], "sections": sections}


def _text(table: dict[str, Any]) -> str:
    lines = [table["title"]]
    for section in table["sections"]:
        columns = section["columns"]
        rows = [[one["name"] for one in columns], *([cell["text"] for cell in row] for row in section["rows"])]
        widths = [max(len(row[i]) for row in rows) for i in range(len(columns))]
        lines.append("")
        for row in rows:
            cells = [
                text.rjust(width) if column["side"] == "right" else text.ljust(width)
                for text, width, column in zip(row, widths, columns)
            ]
            lines.append(("  " + "  ".join(cells)).rstrip())
    return "\n".join([*lines, *([""] if table["notes"] else []), *(f"note: {note}" for note in table["notes"])]) + "\n"
