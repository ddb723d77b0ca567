# SPDX-License-Identifier: Apache-2.0
"""Where the time of a step went, made of the JSON of its account."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error, checked
from ._html import to_html

if TYPE_CHECKING:
    from ._core import Accelerator, Breakdown, MaskedTiles
    from ._words import Precision, Schedule, ZeroStates

STAYS: Any = ...  # a choice that is not given

Said = dict[str, Any]


@dataclass(frozen=True, repr=False)
class WaterfallLine:
    """A line of a waterfall. All of them add up to the step's time.

    step: what it is, in one word: useful (the MFU), padding, recompute, ...; "apart" of what the caller timed.
    is_known: whether it was said; else it is 0 here and part of the last line.
    gpu_nanoseconds: over all GPUs, an exact int; below 0 only for precisions that are faster than the stated one.
    seconds: of one GPU.
    points: per cent of the peak; below 0 is lost, as in the table. The first line's are the MFU.
    note: what it rests on.
    """

    step: str
    name: str
    is_known: bool
    gpu_nanoseconds: int
    seconds: float
    points: float
    note: str

    def __repr__(self) -> str:
        return f"<WaterfallLine {self.name}: {f'{self.points:.2f} points' if self.is_known else 'not known'}>"


@dataclass(frozen=True, repr=False)
class ComponentLine:
    """A line of a step by component. The points of all add up to 100 less the MFU.

    components: whose FLOPs it ran.
    passes: those that its time is of: train (all), forward or backward.
    is_timed: else it is all that nobody timed, waits and idle GPUs among it.
    gpu_nanoseconds: over all GPUs, an exact int.
    seconds: of one GPU.
    share: of the step's time.
    mfu: of its own time.
    kernel_rate: the same of all that it executes.
    points_lost: what it takes from the MFU, in per cent of the peak.
    points_not_useful: of them: executed and not useful.
    points_below_peak: of them: kernels below their peak.
    """

    name: str
    components: list[str]
    passes: str
    is_timed: bool
    gpu_nanoseconds: int
    seconds: float
    share: float
    mfu: float
    kernel_rate: float
    points_lost: float
    points_not_useful: float
    points_below_peak: float

    def __repr__(self) -> str:
        return f"<ComponentLine {self.name}: {self.points_lost:.2f} points lost>"


@dataclass(frozen=True, repr=False)
class RankLine:
    """A rank's step, from its trace. All are seconds of one device, and all but hidden add up to the step.

    seconds: of the step.
    computing: kernels of counted work, and those that no pattern knows.
    besides: the optimizer, data, element-wise kernels.
    transfer: communication that no computation hides, without waiting.
    waiting: for other ranks, inside communication that nothing hides.
    idle: no kernel runs.
    hidden: communication beside computation, which costs no time of its own.
    """

    seconds: float
    computing: float
    besides: float
    transfer: float
    waiting: float
    idle: float
    hidden: float

    def __repr__(self) -> str:
        return f"<RankLine: {self.computing:.6g} of {self.seconds:.6g} s computing, {self.waiting:.6g} s waiting>"


@dataclass(frozen=True)
class PipelineLayout:
    """A pipeline that fits the memory, and how long its step would take.

    pp: ranks of a pipeline.
    replicas: pipelines beside each other.
    vpp: chunks of layers on each rank.
    microbatches: that each pipeline runs in the step.
    schedule: its word, as `Breakdown.waterfall` takes it.
    memory_gib: GiB of the rank with the most: states, and activations where they were given.
    seconds: of the step, with kernels that reach what they reach now.
    mfu: of that step; 0.412 is 41.2 %.
    mfu_bound: the same with kernels at their peak.
    """

    pp: int
    replicas: int
    vpp: int
    microbatches: int
    schedule: str
    memory_gib: float
    seconds: float
    mfu: float
    mfu_bound: float


@dataclass(frozen=True)
class LayoutSearch:
    """Pipelines that fit the memory, soonest first, and what the search left out.

    layouts: PipelineLayout of each.
    too_large: how many do not fit the memory.
    impossible: how many have layers or microbatches that do not divide.
    kept: the choices that all of them share.
    """

    layouts: list[PipelineLayout]
    too_large: int
    impossible: int
    kept: str

    def to_dict(self) -> dict[str, Any]:
        """What the program prints as JSON, as a dict."""
        return asdict(self)


class ComponentWaterfall:
    """A step by component: what each made of its own time.

    `Waterfall.components` is one, where times were measured. str() is a table, in a notebook too.
    """

    def __init__(self, texts: Mapping[str, Any], gpus: int, notes: list[str]) -> None:
        self._texts, self._gpus, self._notes = texts, gpus, notes
        self._found: list[dict[str, Any]] = json.loads(texts["json"])

    @property
    def lines(self) -> list[ComponentLine]:
        """ComponentLine of each time, then of those apart; the last is all that nobody timed."""
        whole = self.gpu_nanoseconds
        made = []
        for line in self._found:
            spent, useful, executed = (int(line[key]) for key in ("gpu_nanoseconds", "useful", "executed"))
            points = [100 * part / whole for part in (spent - useful, executed - useful, spent - executed)]
            made.append(
                ComponentLine(
                    line["name"], line["components"], line["pass"], line["timed"], spent, spent / 1e9 / self._gpus,
                    line["share_of_time"], line["mfu"], line["kernel_rate"], *points,
                )  # fmt: skip
            )
        return made

    @property
    def notes(self) -> list[str]:
        """What a trace does not say."""
        return list(self._notes)

    @property
    def gpu_nanoseconds(self) -> int:
        """Of all lines together, an exact int."""
        return sum(int(line["gpu_nanoseconds"]) for line in self._found)

    def to_table(self) -> str:
        """What the program prints."""
        return str(self._texts["table"])

    def to_markdown(self) -> str:
        """The same for a report."""
        return str(self._texts["markdown"])

    def to_json(self) -> str:
        """What the program prints as JSON: nanoseconds are decimal strings."""
        return str(self._texts["json"])

    def __str__(self) -> str:
        return self.to_table()

    def __repr__(self) -> str:
        return f"<ComponentWaterfall of {len(self._found)} lines>"

    def _repr_html_(self) -> str:
        return to_html(self._texts["cells"])


class Waterfall:
    """Where the time of a step went, from the peak to the MFU.

    `Breakdown.waterfall()` makes one. str() is a table, in a notebook too; `floptally.plots.waterfall` is the picture.
    """

    def __init__(
        self, work: Breakdown, said: Said, kernel_rate: float | None = None, measured: Waterfall | None = None
    ) -> None:
        """kernel_rate: that of the kernels of another step. measured: the step that was measured; None of itself."""
        self._work, self._said, self._rate, self._measured = work, said, kernel_rate, measured
        given = {name: said[name] for name in said if name not in ("notes", "ranks")}
        made: Any = work  # whose method takes the keywords of waterfall()
        base = None if measured is None else measured._texts["measured"]
        self._texts: dict[str, Any] = made._waterfall(**given, kernel_rate=kernel_rate, measured=base)
        self._found: dict[str, Any] = json.loads(self._texts["json"])

    @property
    def lines(self) -> list[WaterfallLine]:
        """WaterfallLine of each; the first is what is left, the last what nothing explains."""
        made = []
        for line in self._found["lines"]:
            spent, share = int(line["gpu_nanoseconds"]), 100 * line["share_of_peak"]
            points = share if line["step"] == "useful" else 0 - share
            made.append(
                WaterfallLine(
                    line["step"], line["name"], line["known"], spent, spent / 1e9 / self.gpus, points, line["assumed"]
                )
            )
        return made

    @property
    def mfu(self) -> float:
        """The MFU; 0.412 is 41.2 %."""
        return float(self._found["mfu"])

    @property
    def kernel_rate(self) -> float:
        """What kernels reach of their peak in the time that is theirs; all that is not known is in it."""
        return float(self._found["kernel_rate"])

    @property
    def seconds(self) -> float:
        """Seconds of the step."""
        return float(self._found["seconds"])

    @property
    def gpus(self) -> int:
        """GPUs that took part."""
        return int(self._found["gpus"])

    @property
    def gpu_nanoseconds(self) -> int:
        """Of all lines together, an exact int: the step's nanoseconds times its GPUs."""
        return sum(int(line["gpu_nanoseconds"]) for line in self._found["lines"])

    @property
    def work(self) -> Breakdown:
        """The Breakdown it is of."""
        return self._work

    @property
    def components(self) -> ComponentWaterfall | None:
        """The same step by component; None where no times of components were given."""
        texts = self._texts["components"]
        return None if texts is None else ComponentWaterfall(texts, self.gpus, self._said.get("notes", []))

    @property
    def ranks(self) -> list[RankLine]:
        """RankLine of each rank in the order of its trace; empty where no traces of several ranks were given."""
        return [RankLine(**line) for line in self._said.get("ranks", [])]

    @checked
    def what_if(
        self,
        *,
        work: Breakdown | None = None,
        kernel_rate: float | None = None,
        gpus: int | None = STAYS,
        accelerator: str | Accelerator | None = STAYS,
        peak_tflops: float | None = STAYS,
        precision: Precision | None = STAYS,
        precisions: str | None = STAYS,
        clock_mhz: float | None = STAYS,
        apart: Mapping[str, float] | None = STAYS,
        rank_work: Iterable[int] | Mapping[str, int] | None = STAYS,
        idle_gpus: int | None = STAYS,
        masked_tiles: MaskedTiles | int | None = STAYS,
        pp: int | None = STAYS,
        vpp: int | None = STAYS,
        microbatches: int | Sequence[Breakdown] | Sequence[Sequence[Breakdown]] | None = STAYS,
        schedule: Schedule | None = STAYS,
        replicas: int | None = STAYS,
        layers_of_chunks: Sequence[int] | None = STAYS,
        num_layers_in_first_pipeline_stage: int | None = STAYS,
        num_layers_in_last_pipeline_stage: int | None = STAYS,
        account_for_embedding_in_pipeline_split: bool | None = STAYS,
        account_for_loss_in_pipeline_split: bool | None = STAYS,
        memory_tbps: float | None = STAYS,
        batches: int | None = STAYS,
        weight_bits: int | None = STAYS,
        gradient_bits: int | None = STAYS,
        activation_bits: int | None = STAYS,
        cache_bits: int | None = STAYS,
        distinct_experts: int | None = STAYS,
    ) -> Waterfall:
        """The same step as it would be with other choices: its seconds follow.

        What is not given stays as it is; None is "not known". Kernels reach what they reach now, times apart stay. A
        bound, not a promise: a smaller microbatch or a narrower matrix runs slower kernels, and nothing here knows that.

        Args:
            work: another Breakdown: another plan, batch or model.
            kernel_rate: what kernels reach of their peak; 1 makes the MFU an upper bound.

        The others are those of `Breakdown.waterfall`.
        """
        given = {name: value for name, value in locals().items() if value is not STAYS}
        choices = kept({name: given[name] for name in given if name not in ("self", "work", "kernel_rate")})
        if work is not None and not isinstance(work, _core.Breakdown):
            raise Error("work", f"must be a floptally.Breakdown, got {work!r}")
        if work is not None and isinstance(self._said.get("masked_tiles"), int) and "masked_tiles" not in choices:
            raise Error(
                "masked_tiles", "are FLOPs of the work before: give those of this one, or None where nobody knows"
            )
        rate = self.kernel_rate if kernel_rate is None else kernel_rate
        measured = self if self._measured is None else self._measured
        return Waterfall(self._work if work is None else work, changed(self._said, choices), rate, measured)

    @checked
    def best(
        self, *, memory_gib: float, zero: ZeroStates = "none", activation_gib: float | None = None
    ) -> LayoutSearch:
        """Other pipelines of as many GPUs and microbatches that fit the memory, soonest first, each as `what_if` has it.

        Args:
            memory_gib: GiB of one GPU.
            zero: states that data parallel ranks split: "none", "optimizer", "gradients" or "weights".
            activation_gib: GiB of one microbatch in all stages together, on one GPU of each, as measured; not counted
                where it is None.
        """
        said = {name: value for name, value in self._said.items() if value is not None}
        equal = ("rank_work", "layers_of_chunks", "num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage",
                 "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split", "batches")  # fmt: skip
        for name in equal:
            if name in said:
                raise Error("best", f"searches equal stages and microbatches; take {name} away")
        if isinstance(said.get("microbatches"), tuple):
            raise Error("best", "searches equal stages and microbatches; give microbatches as an int")
        if "pp" not in said:
            raise Error("pp", "is missing; a search is among the pipelines of as many ranks")
        replicas = int(said.get("replicas", 1))
        ranks = int(said["pp"]) * replicas
        working = self.gpus - int(said.get("idle_gpus", 0))
        found, too_large, impossible, kept = _core._fitting_pipelines(
            self._work, ranks, int(said["microbatches"]) * replicas, working // ranks, memory_gib, zero, activation_gib
        )
        layouts = []
        for one in found:
            memory = one.pop("memory_gib")
            then = self.what_if(**one)
            layouts.append(
                PipelineLayout(**one, memory_gib=memory, seconds=then.seconds, mfu=then.mfu,
                               mfu_bound=self.what_if(**one, kernel_rate=1).mfu)
            )  # fmt: skip
        return LayoutSearch(sorted(layouts, key=lambda layout: layout.seconds), too_large, impossible, kept)

    def scalars(self, prefix: str = "waterfall/") -> dict[str, float]:
        """What a logger takes: name to per cent of the peak, which add up to 100 with the MFU; lines that are not known
        are not there. Besides the rate of the kernels and the seconds."""
        return {prefix + name: value for name, value in self._texts["scalars"].items()}

    def to_table(self) -> str:
        """What the program prints."""
        return str(self._texts["table"])

    def to_markdown(self) -> str:
        """The same for a report."""
        return str(self._texts["markdown"])

    def to_json(self) -> str:
        """What the program prints as JSON: nanoseconds are decimal strings."""
        return str(self._texts["json"])

    def to_dict(self) -> dict[str, Any]:
        """That JSON as a dict."""
        made: dict[str, Any] = json.loads(self._texts["json"])
        return made

    def __str__(self) -> str:
        return self.to_table()

    def __repr__(self) -> str:
        return f"<Waterfall: MFU {100 * self.mfu:.2f} % of {self.gpus} GPU{'' if self.gpus == 1 else 's'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Waterfall, (self._work, self._said, self._rate, self._measured)

    def _repr_html_(self) -> str:
        return to_html(self._texts["cells"])


def kept(given: Said) -> Said:
    """What the caller could change later as a copy."""
    said: Said = {}
    for name, value in given.items():
        if isinstance(value, (_core.MaskedTiles, dict)):
            said[name] = copy.copy(value)
        elif isinstance(value, Iterable) and not isinstance(value, str):
            said[name] = tuple(tuple(one) if isinstance(one, (list, tuple)) else one for one in value)
        else:
            said[name] = value
    return said


def changed(said: Said, by: Said) -> Said:
    """The same with other values of some. Another accelerator has another peak, and memory, and another peak no
    clock."""
    dropped: set[str] = set()
    if by.keys() & {"accelerator", "precision", "clock_mhz"}:
        dropped.add("peak_tflops")
    if by.keys() & {"accelerator", "peak_tflops"}:
        dropped.add("clock_mhz")
    if "accelerator" in by:
        dropped.add("memory_tbps")
    if by.keys() & {"apart", "rank_work"} and "traced" in said:
        traced = json.loads(said["traced"])
        if by.get("apart", STAYS) is None:
            traced["apart"] = []
        if by.get("rank_work", STAYS) is None:
            traced["ranks"] = None
        by = {**by, "traced": json.dumps(traced)}
    return {**{name: value for name, value in said.items() if name not in dropped}, **by}


def waterfall_of(work: Breakdown, given: Said) -> Waterfall:
    """`Breakdown.waterfall`: measured times are read here once, since files may go and timers go on."""
    times = {name: given[name] for name in ("component_times", "trace", "modules") if given.get(name) is not None}
    said = kept({name: given[name] for name in given if name not in ("component_times", "trace", "modules")})
    if "component_times" in times and "trace" in times:
        raise Error("component_times", "is given beside trace: one of them says the times")
    if "modules" in times and "trace" not in times:
        raise Error("modules", "is given without trace, whose modules it names")
    if "trace" in times:
        paths = [times["trace"]] if is_path(times["trace"]) else times["trace"]
        if not isinstance(paths, (list, tuple)) or not paths or not all(map(is_path, paths)):
            raise Error("trace", f"must be a path, or a list of a path for each rank, got {times['trace']!r}")
        if not isinstance(times.get("modules", ""), str):
            raise Error("modules", f"must be a str, got {times['modules']!r}")
        found = _core._times_of_traces(work, [os.fsencode(path) for path in paths], times.get("modules"))
        said["component_times"], said["traced"], said["notes"], said["ranks"] = found
    elif times:
        said["component_times"] = json_of_times(work, times["component_times"])
    measured = work._measured_by
    return Waterfall(work, said if measured is None else changed(measured, said))


def is_path(given: object) -> bool:
    return isinstance(given, str) or hasattr(given, "__fspath__")


def json_of_times(work: Breakdown, times: Any) -> str:
    """Measured times as JSON: of a timer, a path, or what such a file has."""
    if hasattr(times, "times") and not isinstance(times, dict):
        times = times.times(work)
    elif is_path(times):
        name = os.fsdecode(times)
        try:
            times = json.loads(Path(name).read_text("utf-8"))
        except (OSError, ValueError) as problem:
            raise Error("component_times", f'cannot be read from "{name}": {problem}') from None
    try:
        return json.dumps(times, allow_nan=False)
    except (TypeError, ValueError) as problem:
        raise Error("component_times", f"cannot be written as JSON: {problem}") from None
