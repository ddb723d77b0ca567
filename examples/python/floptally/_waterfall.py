# SPDX-License-Identifier: Apache-2.0
"""Where the time of a step went, made of the JSON of its account."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error, checked, shortened
from ._html import to_html
from ._json import json_of, read_json
from ._values import as_int, count, flag, flops, is_list, items_of, number, positive

if TYPE_CHECKING:
    from ._accelerators import Accelerator
    from ._core import Breakdown, ContextShares, MaskedTiles
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
    usually_helps: what usually helps against it; "" where nothing is lost.
    """

    step: str
    name: str
    is_known: bool
    gpu_nanoseconds: int
    seconds: float
    points: float
    note: str
    usually_helps: str = ""

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


@dataclass(frozen=True, repr=False)
class ComparedComponent:
    """A component of two steps, in seconds of one GPU.

    passes: those that its times are of: train (all), forward or backward.
    before: None where the step has no such line, as in `after`.
    slower: the time by which it became slower; below 0 where it became faster.
    kernel_rate_before: what its kernels reached of their peak; 0 where it has no FLOPs.
    """

    name: str
    passes: str
    before: float | None
    after: float | None
    slower: float
    kernel_rate_before: float
    kernel_rate_after: float

    def __repr__(self) -> str:
        return f"<ComparedComponent {self.name}: slower by {1e3 * self.slower:.3f} ms>"


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

    def against(self, before: ComponentWaterfall) -> list[ComparedComponent]:
        """An earlier step of the same model beside this one: ComparedComponent of each line, what became slower first.

        The differences add up to that of the steps.
        """
        if not isinstance(before, ComponentWaterfall):
            raise Error("before", f"must be a floptally ComponentWaterfall, got {shortened(before)}")
        old, new = ({(line.name, line.passes): line for line in step.lines} for step in (before, self))
        compared = []
        for name in [*new, *(name for name in old if name not in new)]:
            was, now = old.get(name), new.get(name)
            difference = (now.seconds if now else 0.0) - (was.seconds if was else 0.0)
            compared.append(
                ComparedComponent(*name, was.seconds if was else None, now.seconds if now else None, difference,
                                  was.kernel_rate if was else 0.0, now.kernel_rate if now else 0.0)
            )  # fmt: skip
        return sorted(compared, key=lambda one: -one.slower)

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
        request = request_of(said)
        if kernel_rate is not None:
            request["kernel_rate"] = number(kernel_rate, "kernel_rate")
        tiles = said.get("masked_tiles")
        self._texts: dict[str, Any] = _core._step_waterfall(
            work, json.dumps(request), tiles if isinstance(tiles, _core.MaskedTiles) else None,
            microbatches_of(said.get("microbatches")), said.get("cp"), None if measured is None else measured._texts["measured"],
            **{name: said[name] for name in OF_THE_DEVICE if name in said},
        )  # fmt: skip
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
                    line["step"], line["name"], line["known"], spent, spent / 1e9 / self.gpus, points, line["assumed"],
                    line["usually_helps"],
                )  # fmt: skip
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
        tp: int | None = STAYS,
        sequence_parallel: bool | None = STAYS,
        cp: ContextShares | None = STAYS,
        network_gbps: float | Mapping[str, float] | None = STAYS,
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
        request = {"pipeline_ranks": ranks, "microbatches": int(said["microbatches"]) * replicas,
                   "gpus_of_stage": (self.gpus - int(said.get("idle_gpus", 0))) // ranks,
                   "memory_gib": positive(memory_gib, "memory_gib"), "zero": zero}  # fmt: skip
        if activation_gib is not None:
            request["activation_gib"] = positive(activation_gib, "activation_gib")
        made = json.loads(_core._fitting_pipelines(self._work, json.dumps(request)))
        layouts = []
        for one in made["found"]:
            memory = one.pop("memory_gib")
            then = self.what_if(**one)
            layouts.append(
                PipelineLayout(**one, memory_gib=memory, seconds=then.seconds, mfu=then.mfu,
                               mfu_bound=self.what_if(**one, kernel_rate=1).mfu)
            )  # fmt: skip
        return LayoutSearch(
            sorted(layouts, key=lambda layout: layout.seconds), made["too_large"], made["impossible"], made["kept"]
        )

    def scalars(self, prefix: str = "waterfall/") -> dict[str, float]:
        """What a logger takes: name to per cent of the peak, which add up to 100 with the MFU; lines that are not known
        are not there. Besides the rate of the kernels and the seconds."""
        return {prefix + name: value for name, value in self._texts["scalars"].items()}

    def to_table(self, *, by_cost: bool = False) -> str:
        """What the program prints. by_cost: what costs most first, each with a bar, and what usually helps."""
        return str(self._texts["by_cost" if by_cost else "table"])

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
        if isinstance(value, (_core.MaskedTiles, _core.ContextShares, dict)):
            said[name] = copy.copy(value)
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            said[name] = tuple(tuple(one) if isinstance(one, (list, tuple)) else one for one in items_of(value, name))
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
        traced = dict(said["traced"])
        if by.get("apart", STAYS) is None:
            traced["apart"] = []
        if by.get("rank_work", STAYS) is None:
            traced["ranks"] = None
        by = {**by, "traced": traced}
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
        said |= json.loads(found)
    elif times:
        said["component_times"] = read_times(work, times["component_times"])
    measured = work._measured_by
    return Waterfall(work, said if measured is None else changed(measured, said))


def is_path(given: object) -> bool:
    return isinstance(given, str) or hasattr(given, "__fspath__")


def read_times(work: Breakdown, times: Any) -> Any:
    """Measured times: of a timer, a path, or what such a file has."""
    if hasattr(times, "times") and not isinstance(times, dict):
        times = times.times(work)
    elif is_path(times):
        name = os.fsdecode(times)
        try:
            times = read_json(Path(name).read_bytes(), "component_times")
        except OSError as problem:
            raise Error("component_times", f'cannot be read from "{name}": {problem}') from None
    return json.loads(json_of(times, "component_times"))


# ---- a request: what was said of a step, checked ----

OF_THE_DEVICE = ("accelerator", "peak_tflops", "peak_kind", "precision", "precisions", "clock_mhz", "memory_tbps", "batches",
                 "weight_bits", "gradient_bits", "activation_bits", "cache_bits", "distinct_experts")  # fmt: skip
OF_A_SPLIT = ("num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage")
FLAGS_OF_A_SPLIT = ("account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split")
OF_PIPELINES = ("vpp", "microbatches", "schedule", "replicas", "layers_of_chunks", *OF_A_SPLIT, *FLAGS_OF_A_SPLIT)
MOST_RANKS, MOST_MICROBATCHES = 2**16, 2**24


def request_of(said: Said) -> Said:
    """What the library reads of an account, as JSON has it. Names that are not given, or None, are not in it."""
    given = {name: value for name, value in said.items() if value is not None}
    made: Said = {name: given[name] for name in ("traced", "component_times") if name in given}
    if "gpus" not in given:
        raise Error("gpus", "is missing; give it, or measure() the step before")
    made["gpus"] = count(given["gpus"], "gpus", 1)
    if "seconds" in given:
        made["seconds"] = positive(given["seconds"], "seconds")
    if "idle_gpus" in given:
        made["idle_gpus"] = count(given["idle_gpus"], "idle_gpus")
    tiles = given.get("masked_tiles")
    if tiles is not None and not isinstance(tiles, _core.MaskedTiles):
        if as_int(tiles) is None:
            raise Error("masked_tiles", f"must be a floptally.MaskedTiles, or FLOPs as an int, got {shortened(tiles)}")
        made["masked_flops"] = str(flops(tiles, "masked_tiles"))
    made["apart"] = times_apart(given.get("apart", {}))
    if "network_gbps" in given:
        made["network_gbps"] = bandwidths_of(given["network_gbps"])
    if "tp" in given:
        made["tp"] = count(given["tp"], "tp", 1, MOST_RANKS)
    if "sequence_parallel" in given:
        if "tp" not in given:
            raise Error("tp", "is missing; sequence_parallel is of it")
        made["sequence_parallel"] = flag(given["sequence_parallel"], "sequence_parallel")
    if "pp" in given:
        made["pipelines"] = pipelines_of(given)
    else:
        for name in OF_PIPELINES:
            if name in given:
                raise Error("pp", f"is missing; {name} is of a pipeline")
        if "rank_work" in given:
            if given.keys() & {"tp", "cp"}:
                raise Error("rank_work", "is given beside tp or cp, which say the work of each rank")
            made["rank_work"] = rank_work_of(given["rank_work"])
    return made


def pipelines_of(given: Said) -> Said:
    made: Said = {"pp": count(given["pp"], "pp", 1, MOST_RANKS)}
    for name, most in (("vpp", MOST_RANKS), ("replicas", MOST_MICROBATCHES), ("microbatches", MOST_MICROBATCHES)):
        if name in given and not is_list(given[name]):
            made[name] = count(given[name], name, 1, most)
    for name in OF_A_SPLIT:
        if name in given:
            made[name] = count(given[name], name, 0, 100_000)
    for name in FLAGS_OF_A_SPLIT:
        if name in given:
            made[name] = flag(given[name], name)
    if "schedule" in given:
        if not isinstance(given["schedule"], str):
            raise Error("schedule", f"must be a str, got {shortened(given['schedule'])}")
        made["schedule"] = given["schedule"]
    if isinstance(given.get("rank_work"), Mapping):
        raise Error("rank_work", f"must be a list of ints beside pp, one for each replica, got {shortened(given['rank_work'])}")
    for name, field in (("loads", "rank_work"), ("layers_of_chunks", "layers_of_chunks")):
        if field in given:
            if not is_list(given[field]) or len(given[field]) == 0:
                raise Error(field, f"must be a list of ints, got {shortened(given[field])}")
            made[name] = [count(one, f"{field}[{i}]") for i, one in enumerate(given[field])]
    return made


def microbatches_of(given: Any) -> list[list[Breakdown]]:
    """The work of each microbatch of each replica; empty where all are alike."""
    if not is_list(given):
        return []
    replicas = [list(one) if is_list(one) else list(given) for one in given] if given and is_list(given[0]) else [list(given)]
    for one in (one for replica in replicas for one in replica):
        if not isinstance(one, _core.Breakdown):
            raise Error(
                "microbatches",
                f"must be an int, a list of floptally.Breakdown, or such a list for each replica, got {shortened(one)}",
            )
    return replicas


def rank_work_of(loads: Any) -> Said:
    """The largest work, the sum and the number of ranks, whose integers JSON has as text."""
    if isinstance(loads, Mapping):
        if set(loads) != {"largest", "sum", "ranks"}:
            raise Error("rank_work", f'must have "largest", "sum" and "ranks", got {shortened(loads)}')
        largest, together = (flops(loads[name], f"rank_work.{name}") for name in ("largest", "sum"))
        ranks = count(loads["ranks"], "rank_work.ranks", 1)
    elif isinstance(loads, str) or not isinstance(loads, Iterable):
        raise Error("rank_work", f"must be a list of ints, got {shortened(loads)}")
    else:
        all_loads = [flops(one, f"rank_work[{i}]") for i, one in enumerate(loads)]
        largest, together, ranks = max(all_loads, default=0), sum(all_loads), len(all_loads)
    return {"largest": str(largest), "sum": str(flops(together, "rank_work")), "ranks": ranks}


def bandwidths_of(given: Any) -> dict[str, float]:
    """GB/s by group; one number is of all."""
    if not isinstance(given, Mapping):
        made = positive(given, "network_gbps")
        return dict.fromkeys(("tp", "cp", "dp", "pp", "ep", "expert_dp"), made)
    return {str(axis): positive(gbps, f"network_gbps[{axis!r}]") for axis, gbps in given.items()}


def times_apart(given: Any) -> list[Said]:
    if not isinstance(given, Mapping):
        raise Error("apart", f"must be a dict of names to seconds, got {shortened(given)}")
    times = []
    for i, (name, seconds) in enumerate(given.items()):
        if not isinstance(name, str):
            raise Error("apart", f"must have names as keys, got {shortened(name)}")
        value = number(seconds, f"apart[{i}]")
        if not math.isfinite(value):
            raise Error(f"apart[{i}]", f'"{name}" must be a finite number of seconds, got {value}')
        times.append({"name": name, "seconds": value})
    return times
