# SPDX-License-Identifier: Apache-2.0
"""Steps that are passes: rollout, log-probabilities, update, each with its own model, plan, batch, seconds and GPUs."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _core
from ._breakdown import View, Work
from ._errors import Error, shortened
from ._values import as_int

if TYPE_CHECKING:
    from ._core import Breakdown, Cost, Meter, Plan


class StepWork(Mapping[str, "Breakdown"]):
    """Breakdowns under names: the work of a step of several passes or models. They add up by `+`, those of one name where
    they are of one model and plan."""

    def __init__(self, parts: Mapping[str, Breakdown]) -> None:
        if not isinstance(parts, Mapping):
            raise Error("parts", f"must be a dict of names and breakdowns, got {shortened(parts)}")
        self._parts = dict(parts)

    def __getitem__(self, name: str) -> Breakdown:
        return self._parts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __add__(self, other: StepWork) -> StepWork:
        if not isinstance(other, StepWork):
            return NotImplemented
        parts = dict(self._parts)
        for name, work in other.items():
            try:
                parts[name] = parts[name] + work if name in parts else work
            except Error as problem:
                raise Error(name, problem.problem) from None
        return StepWork(parts)

    def _view(self, which: str) -> View:
        views = {name: getattr(work, which) for name, work in self.items()}
        components = {
            f"{name}.{inner}": Work(f"{name}.{inner}", one.forward, one.backward, one.recompute)
            for name, view in views.items()
            for inner, one in view.components.items()
        }
        sums = [sum(getattr(view, phase) for view in views.values()) for phase in ("forward", "backward", "recompute")]
        return View(sums[0], sums[1], sums[2], components)

    @property
    def useful(self) -> View:
        """FLOPs of real tokens, components as "rollout.attention.core"."""
        return self._view("useful")

    @property
    def padded(self) -> View:
        """FLOPs of every slot that kernels process."""
        return self._view("padded")

    @property
    def executed(self) -> View:
        """Padded FLOPs, recompute and what a fused backward repeats."""
        return self._view("executed")

    @property
    def total(self) -> int:
        """Useful FLOPs of all, an exact int."""
        return sum(work.total for work in self.values())

    def __repr__(self) -> str:
        return f"<StepWork of {', '.join(self)}: {self.total} useful FLOPs>"


@dataclass(frozen=True)
class PassRate:
    """Rates over one time: of a pass over its own seconds and GPUs, of the learner over its passes', of the whole over the
    wall clock of all GPUs.

    shared: FLOPs that were not run, since a prefix was computed once. points: of the whole's MFU that its useful FLOPs are.
    lost: the share of the whole's time in which it ran below the peak.
    """

    name: str
    useful: int
    padded: int
    executed: int
    shared: int
    seconds: float
    gpu_seconds: float
    mfu: float
    padded_mfu: float
    hfu: float
    mbu: float | None
    points: float
    lost: float


class StepPasses(Mapping[str, PassRate]):
    """The passes of a step, an interval or a run by their names; str() is a table.

    learner: the passes of the learner together, or None. whole: all FLOPs over the wall clock of all GPUs. no_pass: the
    share of that time in which no pass ran. Points and what each pass lost, with no_pass, add up to 1.
    """

    def __init__(self, kept: _Totals, gpus: int) -> None:
        self.steps = kept.steps
        self.work = StepWork({name: one.work for name, one in kept.passes.items() if one.work is not None})
        rows = [
            (name, one.work, one.seconds, one.gpu_seconds, one.peak_tflop, one.learns, one.shared, one.bytes, one.memory)
            for name, one in kept.passes.items()
            if one.work is not None
        ]
        text, html, rates, self.no_pass = _core._pass_rates(rows, kept.seconds, kept.gpu_seconds, kept.peak_tflop)
        made = {row["name"]: PassRate(**row) for row in rates}
        self.whole: PassRate = made.pop("whole")
        self.learner: PassRate | None = made.pop("learner", None)
        self._passes, self._text, self._table = made, text, html

    def __getitem__(self, name: str) -> PassRate:
        return self._passes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._passes)

    def __len__(self) -> int:
        return len(self._passes)

    def scalars(self, prefix: str = "perf/") -> dict[str, float]:
        """What a logger takes: "perf/rollout/mfu_pct", "perf/learner/mfu_pct", "perf/whole/mfu_pct", …"""
        out: dict[str, float] = {}
        for one in [*self.values(), *([self.learner] if self.learner else []), self.whole]:
            out[f"{prefix}{one.name}/mfu_pct"] = 100 * one.mfu
            out[f"{prefix}{one.name}/hfu_pct"] = 100 * one.hfu
            out[f"{prefix}{one.name}/seconds"] = one.seconds
            if one.mbu is not None:
                out[f"{prefix}{one.name}/mbu_pct"] = 100 * one.mbu
        out[f"{prefix}no_pass_pct"] = 100 * self.no_pass
        return out

    def __str__(self) -> str:
        return str(self._text)

    def _repr_html_(self) -> str:
        from ._html import to_html

        return to_html(self._table)

    def __repr__(self) -> str:
        return f"<StepPasses {', '.join(self)}: MFU {100 * self.whole.mfu:.2f} % of the whole>"


class TimedPass:
    """One pass of a step while it runs: the context manager of Meter.timed()."""

    __slots__ = (
        "name", "cost", "plan", "convention", "learns", "work", "shared", "bytes", "seconds", "_kept", "_gpus", "_peak",
        "_tbps", "_begun", "_meter", "_given",
    )  # fmt: skip

    def __init__(
        self, meter: Meter, kept: Passes, name: str, cost: Cost | None, plan: Plan | None, convention: Any,
        gpus: int | None, peak_tflops: float | None, seconds: float | None, learner: bool, memory_tbps: float | None,
    ) -> None:  # fmt: skip
        self.name, self.learns = name, learner
        self.cost = kept.cost if cost is None else cost
        self.plan = (kept.plan if cost is None else cost.plan) if plan is None else plan
        self.convention = kept.convention if convention is None else convention
        self.work: Breakdown | None = None
        self.shared = self.bytes = 0
        self._meter, self._kept, self._given = meter, kept, seconds
        self._gpus = kept.gpus if gpus is None else gpus
        self._peak = kept.peak_tflops if peak_tflops is None else peak_tflops
        self._tbps = memory_tbps

    def add(self, *, slots: Mapping[str, Any] | None = None, **batch: Any) -> None:
        """Counts a batch of this pass, by the keywords of Cost.flops. Prefixes that requests share are counted once.

        slots: what kernels process for it where that is more, by the same keywords: requests whose prompts are padded, and
            which are decoded until the last of them ends.
        """
        work = self.cost.flops(plan=self.plan, convention=self.convention, **batch)
        if slots is not None:
            run = self.cost.flops(plan=self.plan, convention=self.convention, **slots)
            both = work.tally.words()
            both[len(both) // 2 :] = run.tally.words()[len(both) // 2 :]
            if any(both[: len(both) // 2] > both[len(both) // 2 :]):
                raise Error("slots", "must hold all that is useful: a statistic of them is less than that of the batch")
            tally = _core.Tally.from_words(work.tally, both)
            self._read(run)
            work = self.cost.flops(plan=self.plan, convention=self.convention, tally=tally)
        else:
            self._read(work)
        requests = batch.get("requests")
        if requests and any(len(one) == 3 and one[2] for one in requests):
            alone = {**batch, "requests": [tuple(one[:2]) for one in requests]}
            self.shared += self.cost.total(plan=self.plan, convention=self.convention, **alone) - work.total
        self._add(work)

    def add_tree(self, parents: Sequence[int], lengths: Sequence[int], **words: Any) -> None:
        """Counts a tree of token runs, as Tally.add_tree takes it: shared prefixes once. `shared` is what rollouts that are
        sequences of their own would count besides. words: logits, measured and routed of Cost.flops."""
        keywords: dict[str, Any] = {"plan": self.plan, "convention": self.convention}
        tally = _core.Tally(self.cost, **keywords)
        tally.add_tree(parents, lengths)
        work = self.cost.flops(tally=tally, **keywords, **words)
        ends: list[int] = []
        for parent, length in zip(parents, lengths):
            ends.append(int(length) + (ends[parent] if parent >= 0 else 0))
        inner = {int(parent) for parent in parents}
        rollouts = [end for node, end in enumerate(ends) if node not in inner]
        self.shared += self.cost.total(lengths=rollouts, **keywords, **words) - work.total
        self._read(work)
        self._add(work)

    def _read(self, work: Breakdown) -> None:
        if self._tbps is not None:
            read = work.bytes().kinds
            self.bytes += read["weights"] + read["cache"]

    def _add(self, work: Breakdown) -> None:
        self.work = work if self.work is None else self.work + work

    def __enter__(self) -> TimedPass:
        self._kept.enter(self)
        self._begun = self._meter._now
        return self

    def __exit__(self, kind: type[BaseException] | None, value: object, place: object) -> None:
        now = self._meter._now
        self._kept.leave(self)
        if kind is None:
            self.seconds = now - self._begun if self._given is None else self._given
            self._kept.open.append(self)


@dataclass
class _Sum:
    """A pass over steps."""

    learns: bool
    work: Breakdown | None = None
    seconds: float = 0.0
    gpu_seconds: float = 0.0
    peak_tflop: float = 0.0
    shared: int = 0
    bytes: int = 0
    memory: float = 0.0

    def add(self, one: TimedPass) -> None:
        if one.work is not None:
            try:
                self.work = one.work if self.work is None else self.work + one.work
            except Error:
                text = "is of one model, plan and convention; give passes of others another name"
                raise Error(one.name, text) from None
        gpu_seconds = one.seconds * one._gpus
        self.seconds += one.seconds
        self.gpu_seconds += gpu_seconds
        self.peak_tflop += gpu_seconds * one._peak
        self.shared += one.shared
        self.bytes += one.bytes
        self.memory += gpu_seconds * (one._tbps or 0.0) * 1e12


@dataclass
class _Totals:
    """Passes of a step, an interval or a run, and its wall clock."""

    steps: int = 0
    seconds: float = 0.0
    gpu_seconds: float = 0.0
    peak_tflop: float = 0.0
    passes: dict[str, _Sum] = field(default_factory=dict)

    def add(self, passes: list[TimedPass], seconds: float, kept: Passes) -> None:
        for one in passes:
            self.passes.setdefault(one.name, _Sum(one.learns)).add(one)
        self.steps += 1
        self.seconds += seconds
        self.gpu_seconds += seconds * kept.gpus
        self.peak_tflop += seconds * kept.gpus * kept.peak_tflops


class Passes:
    """The passes of a meter: those of the open step, and totals."""

    def __init__(self, meter: Meter) -> None:
        if meter.reduces:
            raise Error(
                "reduce", "passes are counted of all GPUs: make the meter without it, and add tallies that are reduced"
            )
        self.cost, self.plan, self.convention = meter.cost, meter.plan, meter.convention
        self.gpus, self.peak_tflops = meter.gpus, meter.peak_tflops
        self.open: list[TimedPass] = []
        self.running: dict[int, TimedPass] = {}
        self.spans = {"step": _Totals(), "interval": _Totals(), "run": _Totals()}

    def enter(self, one: TimedPass) -> None:
        outer = self.running.setdefault(threading.get_ident(), one)
        if outer is not one:
            raise Error(one.name, f'begins inside of the pass "{outer.name}": a second is of one pass')
        if not one._meter.in_step:
            del self.running[threading.get_ident()]
            raise Error(one.name, "no step is open: call begin_step(), or time it inside of step()")

    def leave(self, one: TimedPass) -> None:
        del self.running[threading.get_ident()]

    def end_step(self, seconds: float) -> None:
        passes, self.open = self.open, []
        step = _Totals()
        step.add(passes, seconds, self)
        if any(one.work is not None for one in step.passes.values()):
            StepPasses(step, self.gpus)  # or an error: what cannot be is in no total
        self.spans["step"] = step
        for name in ("interval", "run"):
            self.spans[name].add(passes, seconds, self)

    def discard(self) -> None:
        self.open.clear()

    def reset_interval(self) -> None:
        self.spans["interval"] = _Totals()

    def of(self, span: str) -> StepPasses:
        if not isinstance(span, str) or span not in self.spans:
            raise Error("span", f"must be one of step, interval, run, got {shortened(span)}")
        kept = self.spans[span]
        if kept.steps == 0:
            raise Error("steps", "no step with passes has ended yet: there is no rate")
        return StepPasses(kept, self.gpus)


def timed(
    meter: Meter, name: str, *, plan: Plan | None = None, cost: Cost | None = None, convention: Any = None,
    gpus: int | None = None, peak_tflops: float | None = None, seconds: float | None = None, learner: bool = True,
    memory_tbps: float | None = None,
) -> TimedPass:  # fmt: skip
    if not isinstance(name, str) or not 0 < len(name) < 40 or name in ("learner", "whole"):
        raise Error("name", f'must be a name of 1 to 39 characters, neither "learner" nor "whole", got {shortened(name)}')
    kept = meter._passes
    if cost is not None and not isinstance(cost, _core.Cost):
        raise Error("cost", f"must be a floptally.Cost, got {shortened(cost)}")
    if gpus is not None and not 0 < (as_int(gpus) or 0) <= kept.gpus:
        raise Error("gpus", f"must be from 1 to the {kept.gpus} of the meter, which are all of the job, got {gpus}")
    return TimedPass(meter, kept, name, cost, plan, convention, gpus, peak_tflops, seconds, learner, memory_tbps)
