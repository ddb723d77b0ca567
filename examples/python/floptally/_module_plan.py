# SPDX-License-Identifier: Apache-2.0
"""Reads from a PyTorch model which of its weights train (PEFT adapters, `requires_grad_(False)`), and whether it is
what its config says."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from . import _core
from ._core import Cost, Error, Plan, WeightSetting
from ._cost import COUNT_IT, base_weight, is_diffusion, is_peft, layer_of, place_of, settings_of, unwrapped

#: Beginnings of module names, and the side of the model that they belong to.
_SIDES = {"vision": ("visual", "vision", "image_encoder"), "audio": ("audio",), "encoder": ("encoder",)}
_TABLES = ("embedding", "position_embedding", "tied_embedding")
_NORMS = ("norm", "latent_norm")


@dataclass(frozen=True)
class OwnPlan:
    """Which weights of a PyTorch model train: as a Plan, and as text for a report."""

    plan: Plan
    words: str


def require_same_size(base: Any, cost: Cost) -> None:
    """Compares a model's number of parameters with that of its config, to find layers that were cut, added or
    replaced. Raises an Error if the model has over 0.1 % fewer, and warns if it has more. Does not check models
    whose parameters are flattened, quantised or adapted in an unknown way."""
    there = 0
    for name, parameter in base.named_parameters():
        if "_flat_param" in name or not parameter.is_floating_point():
            return
        parts = name.split(".")
        if any(part.startswith("lora_") or part == "modules_to_save" for part in parts) or _is_codebook(base, parts):
            continue
        there += getattr(parameter, "ds_numel", parameter.numel())
    peft = has_adapters(base) and not any("lora_" in name for name, _ in base.named_parameters())
    if getattr(base, "hf_quantizer", None) is not None or peft or 1000 * abs(there - cost.parameters) <= cost.parameters:
        return
    kind = type(base).__name__
    if there < cost.parameters:
        raise Error(
            "config",
            f"describes {cost.parameters} parameters, but the {kind} has {there}, so that the config does not fit "
            "the module: "
            f"{COUNT_IT}",
        )
    warnings.warn(
        f"the {kind} has {there} parameters, and its config describes {cost.parameters}: what the config does not describe "
        f"is not counted; {COUNT_IT}",
        stacklevel=6,
    )


#: Classes of models that make the tokens of images and sound before training. No reader counts them.
_CODECS = ("VQ", "Encodec", "Mimi", "Dac", "XCodec")


def _is_codebook(base: Any, parts: list[str]) -> bool:
    """True for a parameter of a codec inside the model."""
    module = base
    for part in parts[:-1]:
        module = getattr(module, part)
        if any(name in type(module).__name__ for name in _CODECS):
            return True
    return False


def has_adapters(model: Any) -> bool:
    return any("peft" in type(module).__module__.split(".") for module in model.modules())


def plan_of_module(model: Any, cost: Cost) -> OwnPlan | None:
    """Returns an OwnPlan that says which weights of a PyTorch model train. None if all weights train. Raises an Error
    if no plan can describe this. cost: the cost of the model, whose names of weights the plan uses."""
    inner = unwrapped(model)
    adapters = is_peft(inner)
    base = unwrapped(inner.get_base_model() if adapters else inner)
    parameters = [(name, parameter) for name, parameter in base.named_parameters() if parameter.numel()]
    trains = sum(parameter.numel() for _, parameter in parameters if parameter.requires_grad)
    every = sum(parameter.numel() for _, parameter in parameters)
    if trains == every and not adapters:
        return None
    words = f"{trains} of {every} parameters train"
    if is_diffusion(base):
        return OwnPlan(Plan(weights=_of_linear_layers(base, cost)), words)
    if adapters or has_adapters(base):
        return OwnPlan(Plan(weights=settings_of(inner, base, cost)), f"{words}, as PEFT says")
    return OwnPlan(Plan(weights=_Frozen(base, cost).settings()), words)


def holds(cost: Cost, settings: Iterable[WeightSetting]) -> bool:
    """True if the cost has all weights that the plan's settings name."""
    try:
        _core._coefficient_hash(cost, "exact", Plan(weights=list(settings)))
    except Error:
        return False
    return True


_OF_TEXT = ("add_q_proj", "add_k_proj", "add_v_proj", "to_add_out")
_OF_ATTENTION = ("to_q", "to_k", "to_v", "to_out", *_OF_TEXT)
_OF_MLP = ("ff", "ffn", "ff_context", "img_mlp", "txt_mlp", "proj_mlp")


def _of_linear_layers(base: Any, cost: Cost) -> list[WeightSetting]:
    """Returns the settings of a diffusers model. Its adapters or trained layers must cover whole groups of layers: all
    attention layers, those of one stream, or all MLPs. Raises an Error otherwise."""
    units: dict[str, list[tuple[str, Any, Any]]] = {}
    explained: set[str] = set()
    for name, module in base.named_modules():
        weight, parts = base_weight(module), name.split(".")
        if weight is None or "base_layer" in parts or "lora_A" in parts or "lora_B" in parts:
            continue
        if any("attn" in part for part in parts) and any(part in _OF_ATTENTION for part in parts):
            unit = "text" if any(part in _OF_TEXT for part in parts) else "attention"
        elif any(part in _OF_MLP for part in parts) or (len(parts) == 3 and parts[-1] == "proj_out"):
            unit = "mlp"
        else:
            continue
        units.setdefault(unit, []).append((name, module, weight))
        explained.update(f"{name}.{own}" for own, _ in module.named_parameters())
    for name, parameter in base.named_parameters():
        if parameter.requires_grad and name not in explained:
            raise Error(
                name,
                f"trains, but is not in the attention or the MLP of a block, which floptally cannot count from the config: {COUNT_IT}",
            )
    settings = [WeightSetting("*", "frozen")]
    for unit, modules in units.items():
        ranks = {_rank(module) for _, module, _ in modules}
        if ranks == {0}:
            continue
        rows = [row for row in cost.entries if row.parameters and _unit_of(row, "text" in units) == unit]
        stored, there = sum(row.parameters for row in rows), sum(weight.numel() for _, _, weight in modules)
        if len(ranks) > 1 or stored != there:
            raise Error(
                modules[0][0],
                f"all {unit} weights must be trained in the same way and have {stored} parameters in total, as the config "
                f"says, got {there}: {COUNT_IT}",
            )
        rank = next(iter(ranks))
        for name in dict.fromkeys(f"{row.component}/{row.weight}" if row.weight else row.component for row in rows):
            settings.append(WeightSetting(name, "trainable") if rank < 0 else WeightSetting(name, "lora", rank=rank))
    if not holds(cost.planned(Plan()), settings):
        raise Error("config", f"no plan can express which of this model's weights train: {COUNT_IT}")
    return settings


def _unit_of(row: Any, has_text: bool) -> str:
    if row.component.startswith("mlp"):
        return "mlp"
    if not row.component.startswith("attention.") or row.kind in ("bias", *_NORMS):
        return ""
    return "text" if has_text and row.weight == "txt" else "attention"


def _rank(module: Any) -> int:
    """Returns the rank of a linear layer's adapter, 0 for a frozen layer, and -1 for one that trains."""
    if hasattr(module, "lora_A"):
        active = [name for name in module.active_adapters if name in module.lora_A]
        if len(active) != 1 or module.merged or module.use_dora.get(active[0]):
            raise Error(
                "adapters",
                f"each layer must have one active adapter, which is not merged and not DoRA: {COUNT_IT}",
            )
        return int(module.r[active[0]])
    return -1 if module.weight.requires_grad else 0


class _Frozen:
    """The settings of a model without adapters that freezes a part of its weights."""

    def __init__(self, base: Any, cost: Cost) -> None:
        self._cost = cost.planned(Plan())
        self._rows = [row for row in cost.entries if row.parameters]
        self._base = base
        self._of_side: dict[str, list[tuple[str, Any]]] = {}
        for name, parameter in base.named_parameters():
            self._of_side.setdefault(self._side(name), []).append((name, parameter))

    def settings(self) -> list[WeightSetting]:
        found: list[WeightSetting] = []
        for side, parameters in self._of_side.items():
            states = {parameter.requires_grad for _, parameter in parameters}
            if states == {True}:
                continue
            rows = [row for row in self._rows if _side_of(row.component) == side]
            stored, there = sum(row.parameters for row in rows), sum(one.numel() for _, one in parameters)
            if stored != there:
                raise Error(
                    "config",
                    f"the {side} part of the model has {there} parameters, but its config says {stored}: {COUNT_IT}",
                )
            if states == {False}:
                found += [WeightSetting(name, "frozen") for name in dict.fromkeys(row.component for row in rows)]
            else:
                found += self._in_part(side, parameters, rows)
        if not holds(self._cost, found):
            raise Error("config", f"no plan can express which of this model's weights train: {COUNT_IT}")
        return found

    def _side(self, name: str) -> str:
        sides = {_side_of(row.component) for row in self._rows}
        for side in sides - {"text"}:
            if any(part.startswith(_SIDES[side]) for part in name.split(".")):
                return side
        return "text"

    def _in_part(self, side: str, parameters: list[tuple[str, Any]], rows: list[Any]) -> list[WeightSetting]:
        """Returns the settings of one side of the model (text, vision, audio, encoder) that trains only some of its
        weights. The settings name whole layers and components outside of layers; if that is impossible, single
        weights."""
        layers: dict[int, set[bool]] = {}
        outside: dict[str, list[Any]] = {}
        for name, parameter in parameters:
            layer = self._layer(name)
            if layer is None:
                outside.setdefault(self._kind(name), []).append(parameter)
            else:
                layers.setdefault(layer, set()).add(parameter.requires_grad)
        of_outside = [{one.requires_grad for one in group} for group in outside.values()]
        if all(len(states) == 1 for states in (*layers.values(), *of_outside)):
            found = self._of_layers([layer for layer, states in layers.items() if states == {False}], rows)
            every = not any(True in states for states in layers.values())
            names = self._outside_names(side, rows, outside, every)
            if found is not None and names is not None:
                return [*found, *(WeightSetting(name, "frozen") for name in names)]
        return self._by_name(parameters, rows)

    def _layer(self, name: str) -> int | None:
        """Returns the number of the layer that has a parameter, by the outermost ModuleList around it."""
        module, parts = self._base, name.split(".")
        for place, part in enumerate(parts[:-1]):
            if type(module).__name__ == "ModuleList":
                return int(parts[place])
            module = getattr(module, part)
        return None

    def _kind(self, name: str) -> str:
        """Returns what a parameter outside of layers belongs to: "lm_head", "embedding", "norm", "bias", or the name of the
        module that has its weights."""
        path, _, own = name.rpartition(".")
        module = self._base.get_submodule(path)
        head = getattr(self._base, "get_output_embeddings", lambda: None)()
        if head is not None and module is head:
            return "lm_head"
        kind = type(module).__name__
        if kind.endswith("Embedding") or "norm" in kind.lower():
            return "embedding" if kind.endswith("Embedding") else "norm"
        parts = path.split(".")
        return "bias" if own == "bias" else ".".join(parts[: 3 if len(parts) > 2 else len(parts)])

    def _of_layers(self, frozen: list[int], rows: list[Any]) -> list[WeightSetting] | None:
        names = dict.fromkeys(row.component for row in rows if row.kind not in _TABLES and row.component != "lm_head")
        found = []
        for first, last in runs(frozen):
            whole = [WeightSetting(name, "frozen", first_layer=first, last_layer=last) for name in names]
            there = [setting for setting in whole if holds(self._cost, [setting])]
            if not there:
                return None
            found += there
        return found

    def _outside_names(self, side: str, rows: list[Any], outside: dict[str, list[Any]], every: bool) -> list[str] | None:
        """Returns the components of the frozen parameters outside of layers. None if one is unknown.

        every: True if all layers are frozen. Only then does the result name norms and biases outside of layers: they
            are in the same component as those inside the layers.
        """
        names: list[str] = []
        everything = [row for row in self._cost.entries if _side_of(row.component) == side]
        for kind, parameters in outside.items():
            if parameters[0].requires_grad or (kind in ("norm", "bias") and not every):
                continue
            kinds = {"embedding": _TABLES, "norm": _NORMS, "bias": ("bias",)}.get(kind)
            if kinds is not None:
                found = [row.component for row in everything if row.kind in kinds]
                if kind == "embedding" and any(row.kind == "tied_embedding" for row in everything):
                    found.append("lm_head")
            elif kind == "lm_head":
                found = ["lm_head"]
            else:
                found = self._of_as_many(rows, sum(one.numel() for one in parameters))
                if len(found) != 1:
                    return None
            names += found
        return list(dict.fromkeys(names))

    @staticmethod
    def _of_as_many(rows: list[Any], parameters: int) -> list[str]:
        """Returns the components with this number of parameters."""
        sums: dict[str, int] = {}
        for row in rows:
            if row.kind not in (*_TABLES, *_NORMS, "bias"):
                sums[row.component] = sums.get(row.component, 0) + row.parameters
        return [component for component, sum_of in sums.items() if sum_of == parameters]

    def _by_name(self, parameters: list[tuple[str, Any]], rows: list[Any]) -> list[WeightSetting]:
        """Returns the settings of single weights, after checking the number of their parameters."""
        stored: dict[tuple[str, str], int] = {}
        for row in rows:
            key = (row.component, row.weight or row.component)
            stored[key] = stored.get(key, 0) + row.parameters
        no_products = {(row.component, row.weight or row.component) for row in rows if row.kind in (*_NORMS, "bias")}
        found: dict[tuple[str, str], dict[int, set[bool]]] = {}
        there: dict[tuple[str, str], int] = {}
        for name, parameter in parameters:
            at = self._place(name, parameter, stored, rows)
            layer = self._layer(name)
            state = parameter.requires_grad and not (at in no_products and self._weight_trains(name))
            found.setdefault(at, {}).setdefault(-1 if layer is None else layer, set()).add(state)
            there[at] = there.get(at, 0) + parameter.numel()
        settings: list[WeightSetting] = []
        for at, layers in found.items():
            if there[at] != stored[at]:
                raise Error(
                    "/".join(at),
                    f"the model has {there[at]} parameters here, but its config says {stored[at]}: {COUNT_IT}",
                )
            states = set().union(*layers.values())
            name = at[0] if at[1] == at[0] else "/".join(at)
            if states == {False}:
                settings.append(WeightSetting(name, "frozen"))
                if at[0] == "lm_head":  # the same table, if it is tied
                    tables = [row.component for row in self._cost.entries if row.kind == "tied_embedding"]
                    settings += [WeightSetting(table, "frozen") for table in dict.fromkeys(tables)]
            elif states == {True, False}:
                if at not in no_products and (any(len(of) > 1 for of in layers.values()) or False in layers.get(-1, ())):
                    raise Error("/".join(at), f"is partly trained and partly frozen within one layer: {COUNT_IT}")
                frozen = [layer for layer, of in layers.items() if of == {False} and layer >= 0]
                settings += [WeightSetting(name, "frozen", first_layer=first, last_layer=last) for first, last in runs(frozen)]
        return settings

    def _weight_trains(self, name: str) -> bool:
        """True for the bias of a layer whose weight trains too. The bias then needs no further product."""
        path, _, own = name.rpartition(".")
        weight = getattr(self._base.get_submodule(path), "weight", None)
        return own == "bias" and weight is not None and bool(weight.requires_grad) and weight.dim() > 1

    def _place(self, name: str, parameter: Any, stored: dict[tuple[str, str], int], rows: list[Any]) -> tuple[str, str]:
        module, _, own = name.rpartition(".")
        kind = self._kind(name)
        norm = "norm" in type(self._base.get_submodule(module)).__name__.lower()
        kinds = _TABLES if kind == "embedding" else _NORMS if norm else ("bias",) if own == "bias" else ()
        tied = kind == "embedding" and any(row.kind == "tied_embedding" for row in self._cost.entries)
        if (kind == "lm_head" and own == "weight") or tied:
            return "lm_head", next(row.weight or "lm_head" for row in rows if row.component == "lm_head")
        if kinds:
            of_kind = [row for row in rows if row.kind in kinds]
            if len(of_kind) == 1:
                return of_kind[0].component, of_kind[0].weight or of_kind[0].component
        at = place_of(name if own in ("gate_up_proj", "down_proj") else module, stored)
        if at is None:
            raise Error(name, f"cannot be frozen or trained by a plan, since the config has no weight of that name: {COUNT_IT}")
        return at


def _side_of(component: str) -> str:
    side = component.split(".")[0]
    return side if side in _SIDES and "." in component else "text"


def runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Splits ascending numbers into runs of consecutive ones. Returns (first, last) of each run."""
    run: list[int] = []
    for number in sorted(numbers):
        if run and number != run[-1] + 1:
            yield run[0], run[-1]
            run = []
        run.append(number)
    if run:
        yield run[0], run[-1]
