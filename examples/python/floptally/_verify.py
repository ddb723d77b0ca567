# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own counter on a user's model and batch, beside the library's count of both."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

from ._cost import cost as cost_of
from ._cost import is_diffusion, place_of, unwrapped
from ._errors import Error
from ._parts import names_of
from ._report import Report

if TYPE_CHECKING:
    import torch

    from ._core import Breakdown, Cost
    from ._types import PageLike
    from ._words import ConventionName

#: Kinds of rows of recurrent states.
STATES = ("state", "delta_rule", "scan")
#: What makes PyTorch's number another than the library's by the same convention, each with its reason.
MEANINGS = {
    "recompute": "what checkpointing runs again, which FlopCounterMode counts with the rest",
    "constants": "products of neither data nor weights, as the angles of rotary positions in older releases",
    "grouped_convolutions": "the weight gradient of a convolution in groups, which FlopCounterMode takes over the "
    "channels of all groups",
    "packed_rows": "documents of a packed row, which run here as one row under a mask: its square, not theirs",
    "recurrent_state": "the algorithm that ran a recurrent state, which multiplies otherwise than the recurrence",
    "frozen_weights": "gradients that frozen weights do not need, where the plan counts a step that trains them",
    "padding": "slots without a real token",
}


@dataclass(frozen=True)
class VerifiedComponent:
    """A component as PyTorch's counter and the library count it, in FLOPs of forward and backward.

    modules: of the model that are in it; empty where none was found. exact: its useful FLOPs by the convention exact.
    """

    name: str
    modules: list[str]
    pytorch: int
    counted: int
    exact: int

    @property
    def difference(self) -> int:
        """What PyTorch counts more than the library by the same convention."""
        return self.pytorch - self.counted


class Verification(Report):
    """PyTorch's FlopCounterMode on a model and a batch beside the library's count of them: `floptally.verify` makes one.

    str() is a table, in a notebook too.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self._found = found
        self._json = json.dumps(found, indent=2) + "\n"
        self._cells = json.dumps(_cells(found))
        self._table = _text(json.loads(self._cells))

    @property
    def pytorch(self) -> int:
        """FLOPs of forward and backward as FlopCounterMode counts them."""
        return int(self._found["pytorch"])

    @property
    def counted(self) -> int:
        """FLOPs as the library counts all slots of the batch by `convention`, PyTorch's own."""
        return int(self._found["counted"])

    @property
    def exact(self) -> int:
        """Useful FLOPs by the convention exact: what a meter counts."""
        return int(self._found["exact"])

    @property
    def convention(self) -> str:
        """The convention that counts as FlopCounterMode does: torch_flop_counter, or torch_flop_counter_eager where no
        fused attention ran."""
        return str(self._found["convention"])

    @property
    def source(self) -> str:
        """Where the library's cost is from: "config", "from_torch" or "given"."""
        return str(self._found["source"])

    @property
    def components(self) -> dict[str, VerifiedComponent]:
        """By name. Where modules and components could not be told apart, several are one."""
        return {
            one["name"]: VerifiedComponent(
                one["name"], list(one["modules"]), int(one["pytorch"]), int(one["counted"]), int(one["exact"])
            )
            for one in self._found["components"]
        }

    @property
    def differences(self) -> dict[str, int]:
        """What PyTorch counts more than the library by the same convention, by its reason."""
        return {one["name"]: int(one["flops"]) for one in self._found["differences"]}

    @property
    def unexplained(self) -> int:
        """What is left of the difference without a reason: 0 where all is well."""
        return int(self._found["unexplained"])

    @property
    def equal(self) -> bool:
        """True where both numbers are one, together with the named differences."""
        return self.unexplained == 0

    @property
    def terms(self) -> dict[str, int]:
        """From the library's count by `convention` to exact, by what each choice differs; they add up."""
        return {one["name"]: int(one["flops"]) for one in self._found["terms"]}

    @property
    def notes(self) -> list[str]:
        """What has to be known to read the numbers."""
        return list(self._found["notes"])

    @property
    def line(self) -> str:
        """All of it in a line, for a log."""
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
    page: PageLike | Iterable[PageLike] | None = None,
    real: bool = False,
) -> Verification:
    """Runs PyTorch's FlopCounterMode on a model and a batch, and the library's count of them beside it.

        print(floptally.verify(model, next(iter(loader))))

    The step runs on fake tensors of the batch's shapes: nothing is computed, nothing of the model's size is allocated,
    and the model stays as it is, also its gradients.

    Args:
        model: of transformers or diffusers, wrapped or with adapters too; or any module, which is then counted by
            `floptally.from_torch` with the batch as its example.
        batch: what its forward takes: a mapping as collators make it, a tuple of positional arguments, or a tensor.
        cost: the library's cost of the model, where it is not to be read here.
        arguments: from the batch to the keywords of `Cost.flops`; `floptally.callbacks.batch_arguments` by default.
        loss: from the output to the tensor that ``backward()`` is called on; the sum of all floating outputs by default.
        page: how the config is read, as in `floptally.cost`.
        real: runs the step on a copy of the model with its numbers, where what runs depends on data.

    Raises:
        Error: "torch" where PyTorch is missing; what `floptally.from_torch` raises where the step cannot run.
    """
    torch = _torch()
    if not isinstance(model, torch.nn.Module):
        raise Error("model", f"must be a torch.nn.Module, got {type(model).__name__}")
    from ._from_torch import from_torch, sized_inputs
    from ._torch_rows import batch_of

    notes: list[str] = []
    ours, source = cost, "given"
    if ours is None:
        source = "config"
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                ours = cost_of(model, page=page)  # type: ignore[arg-type]
            notes += [str(one.message) for one in said]
        except Error as problem:
            source = "from_torch"
            notes.append(f"it has no page, and is counted by from_torch ({problem.field}: {problem.problem})")
            ours = from_torch(model, batch, loss=loss, real=real)
    if arguments is not None:
        given = arguments(batch)
    elif source == "from_torch":
        given = batch_of(*_size_of(batch, sized_inputs))
    elif is_diffusion(model):
        given = _latents(unwrapped(model), batch)
    else:
        from .callbacks._batches import Sides, arguments_of, named

        given = arguments_of(named(batch), Sides.of(ours, unwrapped(model)))
    step = _run(model, batch, loss, real, notes)
    return Verification(_compared(unwrapped(model), ours, source, given, step, batch, notes))


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise Error("torch", "is not installed, and floptally.verify runs PyTorch's own counter: pip install torch") from None
    return torch


def _size_of(batch: Any, sized_inputs: Callable[[Any], Any]) -> tuple[Any, int]:
    """The size of an example as from_torch takes it: samples and, where it has such, tokens."""
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
    """The samples of a class of diffusers, each a grid of what it takes, with its text."""
    named = batch if isinstance(batch, Mapping) else {}
    latents = [named[name] for name in ("hidden_states", "sample") if hasattr(named.get(name), "shape")]
    shape = [int(n) for one in latents[:1] for n in one.shape]
    if len(shape) not in (3, 4, 5):
        raise Error(
            "batch",
            "must have hidden_states or sample of rank 3 to 5; give arguments=, a function from it to grid_thw and "
            "encoder_lengths",
        )
    if len(shape) == 5 and shape[1] != getattr(model.config, "in_channels", shape[1]):
        shape[1:3] = shape[2:0:-1]  # frames before channels
    grid = [1] * (6 - len(shape)) + shape[2:] if len(shape) > 3 else [1, 1, shape[1]]
    made: dict[str, Any] = {"grid_thw": [grid[-3:]] * shape[0]}
    text: Any = named.get("encoder_hidden_states")
    if hasattr(text, "shape") and len(text.shape) == 3:
        made["encoder_lengths"] = [int(text.shape[1])] * shape[0]
    return made


def _run(model: Any, batch: Any, loss: Any, real: bool, notes: list[str]) -> Any:
    """A step of a copy of the model under FlopCounterMode, which leaves the model as it is."""
    import torch

    from . import _torch_kernels, _torch_trace
    from ._from_torch import PLAIN_INPUTS, decided_by_data, not_running, prepare_transformers, split, summed

    given = unwrapped(model)
    mode = None if real else _torch_kernels.fake_mode()
    copy = _torch_trace.real_copy(given) if mode is None else _torch_trace.fake_copy(given, mode)
    prepare_transformers(copy, real)
    for one in copy.modules():
        config: Any = getattr(one, "config", None)
        name = str(getattr(config, "_attn_implementation", ""))
        if "flash" in name:
            config._attn_implementation = "sdpa"
            said = f"its attention, {name}, runs here as PyTorch's own, whose products are the same"
            notes += [said] * (said not in notes)

    def inputs() -> tuple[tuple[Any, ...], dict[str, Any]]:
        faked = torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE) is not None

        def made(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                if not faked:
                    return value.detach().cpu()
                empty = torch.empty(value.shape, dtype=value.dtype)
                return empty.requires_grad_(value.requires_grad and value.is_leaf)
            if isinstance(value, Mapping):
                return {key: made(one) for key, one in value.items()}
            return type(value)(made(one) for one in value) if type(value) in (list, tuple) else value

        args, kwargs = split(batch)
        return made(args), made(kwargs)

    def step(by_example: bool) -> Any:
        return _torch_trace.run_step(copy, mode, inputs, loss or summed, PLAIN_INPUTS, {}, 0, by_example)

    try:
        with torch.random.fork_rng(devices=[], enabled=real):
            try:
                return step(False)
            except Exception as problem:
                if isinstance(problem, Error) or real or not decided_by_data(problem):
                    raise
                return step(True)
    except Error:
        raise
    except Exception as problem:
        raise not_running(copy, problem, "this batch", real) from problem


@dataclass
class Group:
    """Products of modules that are alike, layers folded."""

    modules: dict[str, None] = field(default_factory=dict)
    forward: int = 0
    backward: int = 0
    places: set[str] = field(default_factory=set)  #: components that the names of its products say

    def add(self, module: str, forward: int, backward: int) -> None:
        self.modules[module] = None
        self.forward += forward
        self.backward += backward

    @property
    def work(self) -> tuple[int, int]:
        return self.forward, self.backward


def _compared(
    model: Any, ours: Cost, source: str, given: dict[str, Any], step: Any, batch: Any, notes: list[str]
) -> dict[str, Any]:
    fused = any(product.kind == "attention" for product in step.products)
    convention: ConventionName = "torch_flop_counter" if fused else "torch_flop_counter_eager"
    counted = ours.flops(convention=convention, **given)
    exact = ours.flops(**given)
    groups = _groups(model, ours, source, step)
    lines = _matched(groups, counted, exact)
    named = {
        "recompute": step.recomputed,
        "constants": sum(step.constants.values()),
        "grouped_convolutions": sum(product.groups_excess for product in step.products),
    }
    more = step.total - counted.padded_total
    rows = _rows_of(batch)
    if more - sum(named.values()) and rows and {"cu_seqlens", "lengths"} & given.keys():
        named["packed_rows"] = ours.flops(convention=convention, lengths=rows).padded_total - counted.padded_total
    if more - sum(named.values()) and not all(one.requires_grad for one in model.parameters()):
        named["frozen_weights"] = sum(min(0, one.backward - one.groups_excess - _whole(one)) for one in step.products)
    states = {row.component for row in ours.rows if row.kind in STATES}
    unlike = [line["name"] for line in lines if line["pytorch"] != line["counted"]]
    if unlike and all(states & set(name.split(", ")) for name in unlike):
        named["recurrent_state"] = more - sum(named.values())
    named = {name: flops for name, flops in named.items() if flops}
    if named.get("packed_rows", 0) and more != sum(named.values()):
        del named["packed_rows"]  # it is not that
    missing = {op: module for module, op in step.uncounted}
    for op, module in missing.items():
        notes.append(f"{op} has no formula in FlopCounterMode and counts nothing: in {module or 'the model'}")
    notes += [f"what runs depends on data: {one}" for one in sorted(step.supposed)]
    compared = ours.compare(convention=convention, **{key: value for key, value in given.items() if key != "logits"})
    terms = {"padding": counted.total - counted.padded_total, **compared.conventions[convention].terms}
    meanings = {
        term["name"]: term["meaning"] for one in compared.to_dict()["conventions"] for term in one["terms"]
    }
    return {
        "model_type": ours.model_type,
        "source": source,
        "convention": convention,
        "pytorch": str(step.total),
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


def _whole(product: Any) -> int:
    """FLOPs of the backward of a product whose operands both have a gradient."""
    if product.kind != "attention":
        return int(2 * product.forward)
    heads, queries, keys, width, value_width = product.dims
    return int(2 * heads * queries * keys * (3 * width + 2 * value_width))


def _rows_of(batch: Any) -> list[int]:
    """The rows of a batch of ids, as one sequence each."""
    ids = batch.get("input_ids") if isinstance(batch, Mapping) else None
    shape: tuple[int, ...] = tuple(getattr(ids, "shape", ()))
    return [int(shape[1])] * int(shape[0]) if len(shape) == 2 else []


def _groups(model: Any, ours: Cost, source: str, step: Any) -> list[Group]:
    """Products by folded module, with the component that the names of their weights or modules say."""
    from ._torch_rows import Names

    names = Names(model, None, None)
    stored: dict[tuple[str, str], None] = {}
    cores: dict[str, None] = {}
    for row in ours.rows:
        if row.kind in ("scores", "values", *STATES):
            cores[row.component] = None
        elif row.weight or row.component == "lm_head":
            stored[row.component, row.weight or row.component] = None
    found: dict[tuple[str, bool], Group] = {}
    components = set(ours.components)
    for product in step.products:
        is_weight = product.kind == "weight"
        folded = names.component(product.module)
        group = found.setdefault((folded, is_weight), Group())
        group.add(folded, product.forward, product.backward - product.groups_excess)
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
    """A line for each component: its modules are those whose names say it, else those that no name says and whose numbers
    are its own. What is left of both is one line."""
    theirs = {name: (one.forward, one.backward) for name, one in counted.padded.components.items() if one.total}
    useful = {name: one.total for name, one in exact.useful.components.items()}
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
            "pytorch": str(sum(sum(group.work) for group in own)),
            "counted": str(sum(sum(theirs[one]) for one in of)),
            "exact": str(sum(useful.get(one, 0) for one in of)),
        }

    made = [line(name, lines[name], [name]) for name in theirs if name in lines]
    if free or left:
        made.append(line(", ".join(left) or "not counted here", free, left))
    return made


def _work(groups: Iterable[Group]) -> tuple[int, int]:
    groups = list(groups)
    return sum(one.forward for one in groups), sum(one.backward for one in groups)


def _subsets(groups: list[Group]) -> Iterable[tuple[Group, ...]]:
    """Few groups at a time: more of them could be equal by chance."""
    for size in (1, 2, 3):
        if len(groups) <= 40 or size < 3:
            yield from combinations(groups, size)


# The table.


def _digits(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _signed(value: int) -> str:
    return "equal" if value == 0 else f"{'-' if value < 0 else '+'}{_digits(abs(value))}"


def _shown(modules: list[str]) -> str:
    """Names of modules, those of one parent together: model.layers.*.mlp.{gate_proj,up_proj}."""
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
    said = "".join(f", {_signed(int(one['flops']))} {one['name']}" for one in found["differences"])
    rest = f", {_signed(left)} without a reason" if left else ""
    return f"{text}, {found['convention']} {_digits(counted)}{said}{rest}"


def _cells(found: dict[str, Any]) -> dict[str, Any]:
    """The table as the library's other tables are in JSON."""

    def row(name: str, *numbers: int | str) -> list[dict[str, str]]:
        cells = [{"text": name}]
        for one in numbers:
            cells.append({"text": _digits(one), "exact": str(one)} if isinstance(one, int) else {"text": one})
        return cells

    def columns(*names: str) -> list[dict[str, str]]:
        return [{"name": name, "side": "right" if 0 < place < len(names) - 1 else "left"} for place, name in enumerate(names)]

    components = [
        row(
            one["name"], int(one["pytorch"]), int(one["counted"]), _signed(int(one["pytorch"]) - int(one["counted"])),
            int(one["exact"]), _shown(one["modules"]),
        )
        for one in found["components"]
    ]  # fmt: skip
    totals = [int(found[key]) for key in ("pytorch", "counted", "exact")]
    components.append(row("total", totals[0], totals[1], _signed(totals[0] - totals[1]), totals[2], ""))
    rest = [row(one["name"], _signed(int(one["flops"])), one["meaning"]) for one in found["differences"]]
    if int(found["unexplained"]):
        rest.append(row("without a reason", _signed(int(found["unexplained"])), "what neither side explains"))
    terms = [row(one["name"], _signed(int(one["flops"])), one["meaning"]) for one in found["terms"]]
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
    return "\n".join([*lines, *([""] if table["notes"] else []), *(f"note: {one}" for one in table["notes"])]) + "\n"
