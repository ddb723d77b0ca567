# SPDX-License-Identifier: Apache-2.0
"""Finds the layers that a model recomputes in its backward, and compares them with the meter's plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import Error, Plan

#: Module flags that checkpoint all layers: transformers, timm and open_clip, Swin.
_FLAGS = ("gradient_checkpointing", "grad_checkpointing", "activation_checkpointing", "use_checkpoint")
_WRAPPED = "_checkpoint_wrapped_module"
_IN_THE_WAY = (f".{_WRAPPED}", "._fsdp_wrapped_module", "._orig_mod")


@dataclass(frozen=True)
class Recomputed:
    """The layers that a model recomputes in its backward (activation checkpointing), read from its modules.

    stacks: for each list of layers in the model, whether each layer recomputes.
    whole: True if one flag of the model makes all layers recompute.
    parts: names of recomputed modules that are not whole layers.
    selective: True if layers keep some of their values, chosen by a function.
    known: True if the model says what is recomputed, or that nothing is recomputed.
    """

    known: bool = False
    stacks: tuple[tuple[bool, ...], ...] = ()
    alike: bool = True  #: True if all layers of each stack have weights of the same shapes
    whole: bool = False
    parts: tuple[str, ...] = ()
    selective: bool = False

    @property
    def layers(self) -> int:
        """The number of layers that recompute their forward in the backward."""
        return sum(sum(stack) for stack in self.stacks)

    @property
    def all_layers(self) -> int:
        """The number of layers in `stacks`, whether they recompute or not."""
        return sum(map(len, self.stacks))

    @property
    def nothing(self) -> bool:
        """True if the model recomputes nothing: no layer, and no part of a layer."""
        return not (self.whole or self.parts or self.layers)

    def __str__(self) -> str:
        if not self.known:
            return "the model does not say what it recomputes"
        if self.nothing:
            return "the model recomputes nothing"
        pieces = ["all layers"] if self.whole and not self.layers else []
        if self.layers:
            pieces.append(f"{'all ' if self.layers == self.all_layers else ''}{self.layers}"
                          f"{'' if self.layers == self.all_layers else f' of {self.all_layers}'} layers")  # fmt: skip
        pieces += self.parts
        exception = " but for what a function keeps" if self.selective else ""
        return f"the model recomputes {' and '.join(pieces)}{exception}"

    def agrees_with(self, plan: Plan) -> bool | None:
        """True if a plan recomputes the same layers as the model, False if not. None if too little is known about the
        model to compare."""
        planned = plan.recompute != "none" or bool(plan.recompute_components)
        if not self.known:
            return None
        if self.nothing or not planned:
            return self.nothing and not planned
        if self.selective or self.parts:
            return None
        if plan.recompute != "full":
            return False
        if not self.stacks:
            return self.whole and plan.recompute_every == 1
        return all(self._as_every(stack, plan.recompute_every) for stack in self.stacks)

    def _as_every(self, stack: tuple[bool, ...], every: int) -> bool:
        """True if a list of layers recomputes what a plan with recompute_every=`every` says: layers n, 2n, … If all
        layers are alike, only the number of recomputed layers must agree, since a trainer may recompute the first of
        every n layers.

        stack: for each layer, whether the model recomputes it.
        """
        planned = tuple((place + 1) % every == 0 for place in range(len(stack)))
        return stack == planned or (self.alike and sum(stack) == sum(planned))


def recomputed(model: Any) -> Recomputed:
    """Returns which layers a PyTorch model recomputes (activation checkpointing), from gradient checkpointing flags and
    checkpoint wrappers."""
    modules = {_path(name): module for name, module in _outermost_first(model)}
    wrapped = {_path(name): module for name, module in model.named_modules() if hasattr(module, _WRAPPED)}
    layers = [name for name, module in modules.items() if _is_layer(module)]
    lists: dict[str, list[str]] = {}
    for name in layers or [path for path in wrapped if _in_list(path)]:
        lists.setdefault(name.rpartition(".")[0], [])
    for name in modules:
        parent, _, last = name.rpartition(".")
        if parent in lists and (name in layers if layers else last.isdigit()):
            lists[parent].append(name)
    runs_again = {name for name in layers if modules[name].gradient_checkpointing is True} | set(wrapped)
    stacks = tuple(tuple(name in runs_again for name in names) for names in lists.values() if names)
    members = {name for names in lists.values() for name in names}
    flags = [
        getattr(module, flag)
        for name, module in modules.items() if name not in members
        for flag in _FLAGS if isinstance(getattr(module, flag, None), bool)
    ]  # fmt: skip
    whole = any(flags) and not stacks
    parts = sorted({name.rpartition(".")[2] or type(wrapped[name]).__name__ for name in wrapped if name not in members})
    functions = [getattr(wrapped[name], "checkpoint_fn", None) for name in wrapped]
    functions += [getattr(modules[name], "_gradient_checkpointing_func", None) for name in layers if name in runs_again]
    return Recomputed(
        known=bool(flags or stacks or wrapped),
        stacks=stacks,
        alike=all(len({_shapes(modules[name]) for name in names}) <= 1 for names in lists.values()),
        whole=whole,
        parts=tuple(parts),
        selective=any("context_fn" in (getattr(function, "keywords", None) or {}) for function in functions),
    )


def require_recompute(plan: Plan, model: Any) -> str:
    """Compares a plan with the layers that the model recomputes. Raises an Error if they differ. Otherwise returns a
    note for the report."""
    seen = recomputed(model)
    agrees = seen.agrees_with(plan)
    planned = _words(plan)
    if agrees is False:
        raise Error("plan", f"recomputes {planned}, but {seen}: pass the meter {_mend(seen)}, or trust_plan=True")
    return str(seen) if agrees else f"{seen}; counted is {planned}, as the plan says"


def _mend(seen: Recomputed) -> str:
    """Returns words for an error: the plan to pass, such that it recomputes what the model recomputes."""
    if seen.nothing:
        return "a plan without recompute"
    if seen.parts or seen.selective:
        return "a plan that names what is recomputed (recompute_components)"
    every = round(seen.all_layers / seen.layers) if seen.layers else 1
    return 'plan=floptally.Plan(recompute="full"' + ("" if every <= 1 else f", recompute_every={every}") + ")"


def _words(plan: Plan) -> str:
    pieces: list[str] = []
    if plan.recompute != "none":
        pieces.append("all layers" if plan.recompute == "full" else plan.recompute)
    if plan.recompute != "none" and plan.recompute_every != 1:
        pieces[0] = f"{plan.recompute} of one layer in {plan.recompute_every}".replace("full of one", "one")
    return " and ".join([*pieces, *plan.recompute_components]) or "nothing"


def _outermost_first(model: Any) -> Iterator[tuple[str, Any]]:
    """Returns pairs (name, module) for all modules of a model that are no wrappers, outer modules first."""
    for name, module in model.named_modules():
        if not hasattr(module, _WRAPPED) and not hasattr(module, "_fsdp_wrapped_module"):
            yield name, module


def _path(name: str) -> str:
    whole = f".{name}" if name else ""
    for part in _IN_THE_WAY:
        whole = whole.replace(part, "")
    return whole[1:]


def _in_list(path: str) -> bool:
    return path.rpartition(".")[2].isdigit()


def _is_layer(module: Any) -> bool:
    """True for a layer of transformers that has its own gradient checkpointing flag."""
    return any(base.__name__ == "GradientCheckpointingLayer" for base in type(module).__mro__)


def _shapes(module: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(weight.shape) for weight in module.parameters())
