# SPDX-License-Identifier: Apache-2.0
"""Steps that consist of passes (rollout, log-probabilities, update), each with its own model, plan, batch, seconds and
GPUs."""

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
    """The FLOPs of a step that runs several passes or models, as {name: Breakdown}. `+` adds two StepWorks; Breakdowns
    with the same name must have the same model and plan."""

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
            f"{name}.{inner}": Work(f"{name}.{inner}", component.forward, component.backward, component.recompute)
            for name, view in views.items()
            for inner, component in view.components.items()
        }
        sums = [sum(getattr(view, phase) for view in views.values()) for phase in ("forward", "backward", "recompute")]
        return View(sums[0], sums[1], sums[2], components)

    @property
    def useful(self) -> View:
        """FLOPs of real tokens in all passes, as a View. Component names begin with the pass:
        "rollout.attention.core"."""
        return self._view("useful")

    @property
    def padded(self) -> View:
        """Padded FLOPs of all passes, as a View: those of all tokens that kernels process, padding included."""
        return self._view("padded")

    @property
    def executed(self) -> View:
        """Executed FLOPs of all passes, as a View: padded FLOPs, recomputation, and the QKᵀ that a fused attention
        backward computes again."""
        return self._view("executed")

    @property
    def total(self) -> int:
        """Useful FLOPs of all passes, an exact int."""
        return sum(work.total for work in self.values())

    def __repr__(self) -> str:
        return f"<StepWork of {', '.join(self)}: {self.total} useful FLOPs>"


@dataclass(frozen=True)
class PassRate:
    """FLOPs and rates of one pass, of all learner passes together, or of the whole step.

    Rates of a pass are over its own seconds and GPUs; rates of the whole step are over the wall clock of all GPUs. An
    asynchronous learner has both: `mfu` and `tokens_per_second` over its own time, `wall_mfu` and
    `wall_tokens_per_second` over the wall clock of the step. The MFU of a pass is over the peak of that pass's GPUs.
    Without a peak, MFU, HFU, points and lost are None.

    tokens: tokens that the pass ran.
    shared: FLOPs saved by computing shared prefixes once.
    points: this pass's contribution to the MFU of the whole step.
    lost: the share of the whole step's time that was lost because this pass ran below its peak.
    """

    name: str
    useful: int
    padded: int
    executed: int
    shared: int
    seconds: float
    gpu_seconds: float
    tokens: int
    tokens_per_second: float
    wall_tokens_per_second: float
    mfu: float
    padded_mfu: float
    hfu: float
    wall_mfu: float
    mbu: float | None
    points: float
    lost: float


class StepPasses(Mapping[str, PassRate]):
    """Rates of the passes (rollout, update, …) of a step, an interval or a run, by name. `Meter.passes()` returns one;
    `str()` is a table.

    learner: all learner passes together, or None.
    whole: all FLOPs over the wall clock of all GPUs.
    no_pass: the share of the wall clock of all GPUs in which no pass ran.
    `PassRate.points` and `PassRate.lost` of all passes, and `no_pass`, add up to 1.
    """

    def __init__(self, totals: _Totals, gpus: int) -> None:
        self.steps = totals.steps
        self.work = StepWork({name: pass_.work for name, pass_ in totals.passes.items() if pass_.work is not None})
        rows = [
            (name, pass_.work, pass_.seconds, pass_.gpu_seconds, pass_.peak_tflop, pass_.learns, pass_.shared, pass_.bytes, pass_.memory)
            for name, pass_ in totals.passes.items()
            if pass_.work is not None
        ]
        text, html, rates, self.no_pass = _core._pass_rates(rows, totals.seconds, totals.gpu_seconds, totals.peak_tflop)
        tokens = {name: pass_.work.tally.tokens for name, pass_ in totals.passes.items() if pass_.work is not None}
        tokens["learner"] = sum(tokens[name] for name, pass_ in totals.passes.items() if pass_.work is not None and pass_.learns)
        tokens["whole"] = sum(tokens[name] for name in self.work)
        rates_by_name = {row["name"]: _rate_with_tokens(row, tokens[row["name"]], totals.seconds) for row in rates}
        self.whole: PassRate = rates_by_name.pop("whole")
        self.learner: PassRate | None = rates_by_name.pop("learner", None)
        self._passes, self._text, self._table = rates_by_name, text, html

    def __getitem__(self, name: str) -> PassRate:
        return self._passes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._passes)

    def __len__(self) -> int:
        return len(self._passes)

    def scalars(self, prefix: str = "perf/") -> dict[str, float]:
        """Returns the rates of all passes as a dict for a logger: "perf/rollout/mfu_pct", "perf/learner/mfu_pct",
        "perf/whole/mfu_pct", …"""
        out: dict[str, float] = {}
        for one in [*self.values(), *([self.learner] if self.learner else []), self.whole]:
            if one.mfu is not None:
                out[f"{prefix}{one.name}/mfu_pct"] = 100 * one.mfu
                out[f"{prefix}{one.name}/hfu_pct"] = 100 * one.hfu
            out[f"{prefix}{one.name}/seconds"] = one.seconds
            out[f"{prefix}{one.name}/tokens_per_second"] = one.tokens_per_second
            if one.name != "whole":  # whose time is the wall clock
                if one.wall_mfu is not None:
                    out[f"{prefix}{one.name}/mfu_wall_pct"] = 100 * one.wall_mfu
                out[f"{prefix}{one.name}/tokens_per_second_wall"] = one.wall_tokens_per_second
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
        mfu = "no MFU, since the peak is unknown" if self.whole.mfu is None else f"MFU {100 * self.whole.mfu:.2f} % of the whole"
        return f"<StepPasses {', '.join(self)}: {mfu}>"


def _rate_with_tokens(row: dict[str, Any], tokens: int, wall: float) -> PassRate:
    return PassRate(**row, tokens=tokens, tokens_per_second=tokens / row["seconds"], wall_tokens_per_second=tokens / wall)


class TimedPass:
    """One running pass of a step, such as a rollout. `Meter.timed()` returns it as a context manager."""

    __slots__ = (
        "name", "cost", "plan", "convention", "learns", "work", "shared", "bytes", "seconds", "_kept", "_gpus", "_peak",
        "_tbps", "_begun", "_meter", "_given",
    )  # fmt: skip

    def __init__(
        self, meter: Meter, passes: Passes, name: str, cost: Cost | None, plan: Plan | None, convention: Any,
        gpus: int | None, peak_tflops: float | None, seconds: float | None, learner: bool, memory_tbps: float | None,
    ) -> None:  # fmt: skip
        self.name, self.learns = name, learner
        self.cost = passes.cost if cost is None else cost
        self.plan = (passes.plan if cost is None else cost.plan) if plan is None else plan
        self.convention = passes.convention if convention is None else convention
        self.work: Breakdown | None = None
        self.shared = self.bytes = 0
        self._meter, self._kept, self._given = meter, passes, seconds
        self._gpus = passes.gpus if gpus is None else gpus
        self._peak = (passes.peak_tflops or 0.0) if peak_tflops is None else peak_tflops  # 0: unknown
        self._tbps = memory_tbps

    def add(self, *, slots: Mapping[str, Any] | None = None, **batch: Any) -> None:
        """Counts a batch of this pass. Takes the keywords of Cost.flops. Prefixes that requests share count once.

        slots: the batch with its padding, as a dict with the same keywords. Leave it out for a batch without padding.
            Example: requests with padded prompts, all decoded until the last request ends.
        """
        work = self.cost.flops(plan=self.plan, convention=self.convention, **batch)
        if slots is not None:
            run = self.cost.flops(plan=self.plan, convention=self.convention, **slots)
            both = work.tally.accumulators()
            both[len(both) // 2 :] = run.tally.accumulators()[len(both) // 2 :]
            if any(both[: len(both) // 2] > both[len(both) // 2 :]):
                raise Error("slots", "must contain the whole batch, but add up to less than the batch: pass a slot for every sequence")
            tally = _core.Tally.from_accumulators(work.tally, both)
            self._read(run)
            work = self.cost.flops(plan=self.plan, convention=self.convention, tally=tally)
        else:
            self._read(work)
        requests = batch.get("requests")
        if requests and any(len(request) == 3 and request[2] for request in requests):
            alone = {**batch, "requests": [tuple(request[:2]) for request in requests]}
            self.shared += self.cost.total_flops(plan=self.plan, convention=self.convention, **alone) - work.total
        self._add(work)

    def add_tree(self, parents: Sequence[int], lengths: Sequence[int], **accumulators: Any) -> None:
        """Counts sequences that share prefixes, as a tree of token runs (see Tally.add_tree): each shared prefix counts
        once. The field `shared` then has the FLOPs that sharing saved. accumulators: the keywords logits, measured and
        routed of Cost.flops."""
        keywords: dict[str, Any] = {"plan": self.plan, "convention": self.convention}
        tally = _core.Tally(self.cost, **keywords)
        tally.add_tree(parents, lengths)
        work = self.cost.flops(tally=tally, **keywords, **accumulators)
        ends: list[int] = []
        for parent, length in zip(parents, lengths):
            ends.append(int(length) + (ends[parent] if parent >= 0 else 0))
        inner = {int(parent) for parent in parents}
        rollouts = [end for node, end in enumerate(ends) if node not in inner]
        self.shared += self.cost.total_flops(lengths=rollouts, **keywords, **accumulators) - work.total
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


def _peaks(so_far: float, more: float, has_more: bool) -> float:
    """Returns the sum of seconds times peak. 0 if any part of it has no known peak."""
    return more if not has_more else so_far + more if so_far > 0 and more > 0 else 0.0


@dataclass
class _Sum:
    """Totals of one pass over the steps of a run: FLOPs, seconds, seconds times GPUs, and bytes."""

    learns: bool
    work: Breakdown | None = None
    seconds: float = 0.0
    gpu_seconds: float = 0.0
    peak_tflop: float = 0.0
    shared: int = 0
    bytes: int = 0
    memory: float = 0.0

    def add(self, timed_pass: TimedPass) -> None:
        if timed_pass.work is not None:
            try:
                self.work = timed_pass.work if self.work is None else self.work + timed_pass.work
            except Error:
                text = "is of one model, plan and convention; give passes of others another name"
                raise Error(timed_pass.name, text) from None
        gpu_seconds = timed_pass.seconds * timed_pass._gpus
        self.seconds += timed_pass.seconds
        self.gpu_seconds += gpu_seconds
        self.peak_tflop = _peaks(self.peak_tflop, gpu_seconds * timed_pass._peak, self.gpu_seconds > gpu_seconds)
        self.shared += timed_pass.shared
        self.bytes += timed_pass.bytes
        self.memory += gpu_seconds * (timed_pass._tbps or 0.0) * 1e12


@dataclass
class _Totals:
    """Totals of a step, an interval or a run: those of each pass, and the wall clock of all steps."""

    steps: int = 0
    seconds: float = 0.0
    gpu_seconds: float = 0.0
    peak_tflop: float = 0.0
    passes: dict[str, _Sum] = field(default_factory=dict)

    def add(self, passes: list[TimedPass], seconds: float, owner: Passes) -> None:
        for pass_ in passes:
            self.passes.setdefault(pass_.name, _Sum(pass_.learns)).add(pass_)
        self.steps += 1
        self.seconds += seconds
        self.gpu_seconds += seconds * owner.gpus
        self.peak_tflop = _peaks(self.peak_tflop, seconds * owner.gpus * (owner.peak_tflops or 0.0), self.steps > 1)


class Passes:
    """All passes of a meter: those of the open step, and the totals of the passes in earlier steps."""

    def __init__(self, meter: Meter) -> None:
        if meter.reduces:
            raise Error(
                "reduce", "cannot be used with passes: create the meter without reduce=, and add tallies that were summed over the ranks"
            )
        self.cost, self.plan, self.convention = meter.cost, meter.plan, meter.convention
        self.gpus, self.peak_tflops = meter.gpus, meter.peak_tflops
        self.open: list[TimedPass] = []
        self.running: dict[int, TimedPass] = {}
        self.spans = {"step": _Totals(), "interval": _Totals(), "run": _Totals()}

    def enter(self, timed_pass: TimedPass) -> None:
        outer = self.running.setdefault(threading.get_ident(), timed_pass)
        if outer is not timed_pass:
            raise Error(timed_pass.name, f'begins inside of the pass "{outer.name}": end that pass first')
        if not timed_pass._meter.in_step:
            del self.running[threading.get_ident()]
            raise Error(timed_pass.name, "begins outside of a step: call begin_step() first, or begin the pass inside of step()")

    def leave(self, timed_pass: TimedPass) -> None:
        del self.running[threading.get_ident()]

    def end_step(self, seconds: float) -> None:
        passes, self.open = self.open, []
        step = _Totals()
        step.add(passes, seconds, self)
        if any(pass_.work is not None for pass_ in step.passes.values()):
            StepPasses(step, self.gpus)  # raises before the totals change
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
        totals = self.spans[span]
        if totals.steps == 0:
            raise Error("steps", "no step with passes has ended yet: ask for rates after the first such step")
        return StepPasses(totals, self.gpus)


def timed(
    meter: Meter, name: str, *, plan: Plan | None = None, cost: Cost | None = None, convention: Any = None,
    gpus: int | None = None, peak_tflops: float | None = None, seconds: float | None = None, learner: bool = True,
    memory_tbps: float | None = None,
) -> TimedPass:  # fmt: skip
    if not isinstance(name, str) or not 0 < len(name) < 40 or name in ("learner", "whole"):
        raise Error("name", f'must be a name of 1 to 39 characters, neither "learner" nor "whole", got {shortened(name)}')
    passes = meter._passes
    if cost is not None and not isinstance(cost, _core.Cost):
        raise Error("cost", f"must be a floptally.Cost, got {shortened(cost)}")
    if gpus is not None and not 0 < (as_int(gpus) or 0) <= passes.gpus:
        raise Error("gpus", f"must be from 1 to {passes.gpus}, the number of GPUs of the meter, got {gpus}")
    return TimedPass(meter, passes, name, cost, plan, convention, gpus, peak_tflops, seconds, learner, memory_tbps)
