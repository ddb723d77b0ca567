# SPDX-License-Identifier: Apache-2.0
"""Waterfalls: where the time of a training step went."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import Error, checked, shortened
from ._html import picture, to_html
from ._json import json_of, read_json
from ._values import as_int, count, flag, flops, is_list, items_of, number, positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._accelerators import Accelerator
    from ._core import Breakdown, ContextShards, MaskedTiles
    from ._literals import LayerSplit, Precision, Schedule, ZeroStates
    from ._search import Search
    from ._types import Integers

STAYS: Any = ...  # an argument that was not passed

Said = dict[str, Any]


@dataclass(frozen=True, repr=False)
class WaterfallLine:
    """One cause of lost time in a training step, or the useful work. All lines add up to the step's time.

    step: the cause in one word: useful (the MFU), padding, recompute, ...; "apart" for a time that you passed.
    is_known: False if nothing was passed about this cause. Its time is then 0 here and part of the last line.
    gpu_nanoseconds: GPU time of all GPUs together, an exact int. Negative only if work ran in a faster precision than
        that of the peak you passed.
    seconds: the time of one GPU.
    points: the line's share of the peak, in per cent. Losses are negative, as in the table; the first line is the MFU.
    note: what the line's number is based on.
    usually_helps: what usually reduces this loss; "" if nothing is lost.
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
    """The time of one component in a step, and how much it lowers the MFU. The points_lost of all lines are 100 minus
    the MFU.

    components: the components that ran in this time.
    passes: the passes that the time covers: train (all), forward or backward.
    is_timed: False for the line with all time that nobody measured, waits and idle GPUs included.
    gpu_nanoseconds: GPU time of all GPUs together, an exact int.
    seconds: the time of one GPU.
    share: the share of the step's time.
    mfu: useful FLOPs over the peak in the component's own time.
    kernel_rate: executed FLOPs over the peak in the component's own time.
    points_lost: how much the component lowers the MFU, in per cent of the peak.
    points_not_useful: the part of points_lost for executed work that is not useful.
    points_below_peak: the part of points_lost for kernels below their peak.
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
    """How one rank spent the step, in seconds, from the rank's profiler trace. All fields but hidden and seconds add up
    to `seconds`.

    seconds: duration of the step.
    computing: seconds of kernels of counted work, and of unknown kernels.
    besides: seconds of the optimizer, data loading and element-wise kernels.
    transfer: seconds of communication that does not overlap computation, without waiting for other ranks.
    waiting: seconds of waiting for other ranks inside communication that does not overlap computation.
    idle: seconds in which no kernel runs.
    hidden: seconds of communication that overlaps computation. It does not lengthen the step.
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


@dataclass(frozen=True, repr=False)
class ComparedComponent:
    """The time of one component in two steps, in seconds of one GPU.

    passes: the passes that the times cover: train (all), forward or backward.
    before, after: the time in the earlier and in the later step. None if that step has no such line.
    slower: after minus before. Negative if the component became faster.
    kernel_rate_before: the share of the peak that the component's kernels reached in the earlier step; 0 if the
        component has no FLOPs.
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
    """The time of a training step by component, with each component's MFU in its own time.

    `Waterfall.components` is one, if you passed measured times. `str()` is a table; a notebook shows it too.
    """

    def __init__(self, texts: Mapping[str, Any], gpus: int, notes: list[str]) -> None:
        self._texts, self._gpus, self._notes = texts, gpus, notes
        self._found: list[dict[str, Any]] = json.loads(texts["json"])

    @property
    def lines(self) -> list[ComponentLine]:
        """The lines of the table: a ComponentLine for each measured time, then for each time apart from model work. The
        last line is all unmeasured time."""
        whole = self.gpu_nanoseconds
        result = []
        for line in self._found:
            spent, useful, executed = (int(line[key]) for key in ("gpu_nanoseconds", "useful", "executed"))
            points = [100 * part / whole for part in (spent - useful, executed - useful, spent - executed)]
            result.append(
                ComponentLine(
                    line["name"], line["components"], line["pass"], line["timed"], spent, spent / 1e9 / self._gpus,
                    line["share_of_time"], line["mfu"], line["kernel_rate"], *points,
                )  # fmt: skip
            )
        return result

    def against(self, before: ComponentWaterfall) -> list[ComparedComponent]:
        """Compares this step with an earlier step of the same model. Returns a ComparedComponent for each line, largest
        slowdown first.

        The differences add up to the difference between the two steps.
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
        """Notes on work that the profiler trace does not show."""
        return list(self._notes)

    @property
    def gpu_nanoseconds(self) -> int:
        """GPU time of all lines together in nanoseconds, an exact int."""
        return sum(int(line["gpu_nanoseconds"]) for line in self._found)

    def to_table(self) -> str:
        """Returns the waterfall by component as the table that the program prints."""
        return str(self._texts["table"])

    def to_markdown(self) -> str:
        """Returns the waterfall by component as a Markdown table, for a report."""
        return str(self._texts["markdown"])

    def to_json(self) -> str:
        """Returns the waterfall by component as the JSON that the program prints. Nanoseconds are decimal strings."""
        return str(self._texts["json"])

    def __str__(self) -> str:
        return self.to_table()

    def __repr__(self) -> str:
        return f"<ComponentWaterfall of {len(self._found)} lines>"

    def _repr_html_(self) -> str:
        return to_html(self._texts["cells"])


class Waterfall:
    """Where the time of a training step went, from the peak down to the MFU, one line for each cause.

    `Breakdown.waterfall()` returns one. `str()` is a table; a notebook shows it too. `floptally.plots.waterfall`
    draws it.
    """

    def __init__(
        self, work: Breakdown, choices: Said, kernel_rate: float | None = None, measured: Waterfall | None = None
    ) -> None:
        """Makes a waterfall. kernel_rate: the share of the peak that kernels reach; None computes it from this step.
        measured: the Waterfall of the measured step, if this one is a prediction from it."""
        self._work, self._said, self._rate, self._measured = work, choices, kernel_rate, measured
        choices = with_layout(choices)
        request = request_of(choices)
        if kernel_rate is not None:
            request["kernel_rate"] = number(kernel_rate, "kernel_rate")
        tiles = choices.get("masked_tiles")
        self._texts: dict[str, Any] = _core._step_waterfall(
            work, json.dumps(request), tiles if isinstance(tiles, _core.MaskedTiles) else None,
            microbatches_of(choices.get("microbatches")), choices.get("cp"), None if measured is None else measured._texts["measured"],
            **{name: choices[name] for name in OF_THE_DEVICE if name in choices},
        )  # fmt: skip
        self._found: dict[str, Any] = json.loads(self._texts["json"])

    @property
    def lines(self) -> list[WaterfallLine]:
        """The lines of the waterfall: a WaterfallLine for each cause. The first is the useful work, the last the
        unexplained rest."""
        result = []
        for line in self._found["lines"]:
            spent, share = int(line["gpu_nanoseconds"]), 100 * line["share_of_peak"]
            points = share if line["step"] == "useful" else 0 - share
            result.append(
                WaterfallLine(
                    line["step"], line["name"], line["known"], spent, spent / 1e9 / self.gpus, points, line["assumed"],
                    line["usually_helps"],
                )  # fmt: skip
            )
        return result

    @property
    def mfu(self) -> float:
        """The MFU of the step; 0.412 is 41.2 %."""
        return float(self._found["mfu"])

    @property
    def kernel_rate(self) -> float:
        """The share of the peak that kernels reach in their own time. Losses of unknown cause lower this share."""
        return float(self._found["kernel_rate"])

    @property
    def seconds(self) -> float:
        """Duration of the step in seconds."""
        return float(self._found["seconds"])

    @property
    def gpus(self) -> int:
        """The number of GPUs of the job."""
        return int(self._found["gpus"])

    @property
    def gpu_nanoseconds(self) -> int:
        """GPU time of all lines together, an exact int: the step's nanoseconds times its GPUs."""
        return sum(int(line["gpu_nanoseconds"]) for line in self._found["lines"])

    @property
    def work(self) -> Breakdown:
        """The Breakdown of the step: its FLOPs by component."""
        return self._work

    @property
    def components(self) -> ComponentWaterfall | None:
        """The step's time by component, as a ComponentWaterfall. None without measured times of components."""
        texts = self._texts["components"]
        return None if texts is None else ComponentWaterfall(texts, self.gpus, self._said.get("notes", []))

    @property
    def ranks(self) -> list[RankLine]:
        """How each rank spent the step, as a list of RankLine in the order of the traces. Empty without traces of
        several ranks."""
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
        pipeline_model_parallel_layout: str | None = STAYS,
        layer_split: LayerSplit | None = STAYS,
        tp: int | None = STAYS,
        sequence_parallel: bool | None = STAYS,
        cp: ContextShards | None = STAYS,
        ep: int | None = STAYS,
        etp: int | None = STAYS,
        layout: str | None = STAYS,
        gpus_per_node: int | None = STAYS,
        network_gbps: float | Mapping[str, float] | None = STAYS,
        memory_tbps: float | None = STAYS,
        batches: int | None = STAYS,
        weight_bits: int | None = STAYS,
        gradient_bits: int | None = STAYS,
        activation_bits: int | None = STAYS,
        cache_bits: int | None = STAYS,
        distinct_experts: int | None = STAYS,
    ) -> Waterfall:
        """Predicts the step with other options, as a Waterfall whose `seconds` is the new step time. Options that you
        do not pass stay the same; None means "not known". Kernels keep their rate, and times apart from model work
        stay. The prediction is a bound: smaller microbatches or narrower matrices run slower kernels, which is not
        modelled.

        Args:
            work: another Breakdown: another plan, batch or model.
            kernel_rate: the share of the peak that kernels reach; 1 makes the MFU an upper bound.

        All other arguments are those of `Breakdown.waterfall`.
        """
        arguments = {name: value for name, value in locals().items() if value is not STAYS}
        choices = kept({name: arguments[name] for name in arguments if name not in ("self", "work", "kernel_rate")})
        if work is not None and not isinstance(work, _core.Breakdown):
            raise Error("work", f"must be a floptally.Breakdown, got {work!r}")
        if work is not None and isinstance(self._said.get("masked_tiles"), int) and "masked_tiles" not in choices:
            raise Error(
                "masked_tiles", "belong to the earlier work: pass masked_tiles= in FLOPs for the new work, or None if they are unknown"
            )
        rate = self.kernel_rate if kernel_rate is None else kernel_rate
        measured = self if self._measured is None else self._measured
        return Waterfall(self._work if work is None else work, changed(self._said, choices), rate, measured)

    @checked
    def best(
        self, *, lengths: Integers, global_batch: int | None = None, zero: ZeroStates = "optimizer", **how: Any
    ) -> Search:
        """Finds the parallel layouts of this model, batch and GPUs that fit the memory, fastest first. It is
        `Cost.search` at the efficiency of this step: the part of the peak at which the search predicts this step's
        seconds for this step's layout.

        Args:
            lengths: [n] tokens of each sequence of the step; one sequence with `global_batch`.
            global_batch: number of sequences of the step, all as long as the one in `lengths`.
            zero: states that data parallel ranks of the step shard. The search holds it fixed.
            how: other keywords of `Cost.search`. `gpus`, `accelerator`, `precision`, `network_gbps` and others that
                this waterfall knows are taken from it.
        """
        from ._search import Search

        choices = {name: value for name, value in with_layout(self._said).items() if value is not None}
        of_cluster = ("gpus", "accelerator", "peak_tflops", "precision", "memory_tbps", "gpus_per_node", "network_gbps",
                      "weight_bits", "gradient_bits", "activation_bits", "cache_bits")  # fmt: skip
        of_layout = ("tp", "pp", "vpp", "ep", "etp", "microbatches", "schedule")
        for name in choices:
            if name not in (*of_cluster, *of_layout, "replicas", "cp", "sequence_parallel", "seconds"):
                raise Error("best", f"cannot use {name}=, because Cost.search does not know it: create the waterfall without {name}=")
        if "plan" in how:
            raise Error("plan", "is already known from the Breakdown of the step: leave plan= out")
        if not isinstance(choices.get("microbatches", 1), int):
            raise Error("microbatches", "must be an int for best(): create the waterfall with the number of microbatches")
        cluster = {name: choices[name] for name in of_cluster if name in choices}
        sizes: dict[str, Any] = {name: choices[name] for name in of_layout if name in choices}
        if "replicas" in choices:
            sizes["dp"] = choices["replicas"]
        if "cp" in choices:
            sizes["cp"] = choices["cp"].cp
        if "sequence_parallel" in choices:
            sizes["sequence_parallel"] = str(bool(choices["sequence_parallel"])).lower()
        layout = ", ".join(f"{name}={size}" for name, size in {**sizes, "zero": zero}.items())
        return Search(
            self._work, lengths=lengths, global_batch=global_batch, zero=zero, measured_layout=layout,
            measured_seconds=self.seconds, **{**cluster, **how},
        )  # fmt: skip

    def scalars(self, prefix: str = "waterfall/") -> dict[str, float]:
        """Returns the losses as a dict for a logger: the MFU and each known loss in per cent of the peak (together
        100), the kernel rate and the seconds. Unknown losses are missing."""
        return {prefix + name: value for name, value in self._texts["scalars"].items()}

    def to_table(self, *, by_cost: bool = False) -> str:
        """Returns the waterfall as the table of text that the command-line program prints. by_cost: True sorts the
        causes by loss, and adds bars and what usually helps."""
        return str(self._texts["by_cost" if by_cost else "table"])

    def to_markdown(self) -> str:
        """Returns the waterfall as a Markdown table, for a report."""
        return str(self._texts["markdown"])

    def to_json(self) -> str:
        """Returns the waterfall as the JSON that the program prints. Nanoseconds are decimal strings."""
        return str(self._texts["json"])

    def to_dict(self) -> dict[str, Any]:
        """Returns the waterfall's JSON as a dict. Nanoseconds are decimal strings."""
        result: dict[str, Any] = json.loads(self._texts["json"])
        return result

    def __str__(self) -> str:
        return self.to_table()

    def __repr__(self) -> str:
        return f"<Waterfall: MFU {100 * self.mfu:.2f} % of {self.gpus} GPU{'' if self.gpus == 1 else 's'}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Waterfall, (self._work, self._said, self._rate, self._measured)

    def _repr_html_(self) -> str:
        def draw() -> Figure:
            from .plots import waterfall

            return waterfall(self, width=6.0)

        return to_html(self._texts["cells"]) + picture(draw, "The lines of the table as bars, from the peak to the MFU")


def kept(arguments: Said) -> Said:
    """Copies a waterfall's arguments, so that the caller may change its lists or dicts later."""
    choices: Said = {}
    for name, value in arguments.items():
        if isinstance(value, (_core.MaskedTiles, _core.ContextShards, dict)):
            choices[name] = copy.copy(value)
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
            choices[name] = tuple(tuple(one) if isinstance(one, (list, tuple)) else one for one in items_of(value, name))
        else:
            choices[name] = value
    return choices


def changed(choices: Said, by: Said) -> Said:
    """Returns the arguments of a waterfall with those in `by` replaced. Arguments that no longer apply are dropped.
    A new accelerator drops the peak and the memory bandwidth, a new peak drops the clock, and a new layout drops the
    sizes."""
    dropped: set[str] = set()
    if by.keys() & {"accelerator", "precision", "clock_mhz"}:
        dropped.add("peak_tflops")
    if by.keys() & {"accelerator", "peak_tflops"}:
        dropped.add("clock_mhz")
    if "accelerator" in by:
        dropped.add("memory_tbps")
    if by.get("layout") is not None:
        dropped |= {"tp", "pp", "vpp", "replicas", "ep", "etp"}
    if by.keys() & {"apart", "rank_work"} and "traced" in choices:
        traced = dict(choices["traced"])
        if by.get("apart", STAYS) is None:
            traced["apart"] = []
        if by.get("rank_work", STAYS) is None:
            traced["ranks"] = None
        by = {**by, "traced": traced}
    return {**{name: value for name, value in choices.items() if name not in dropped}, **by}


def waterfall_of(work: Breakdown, arguments: Said) -> Waterfall:
    """Implements `Breakdown.waterfall`. Measured times are read at once, since files may disappear and timers go on."""
    times = {name: arguments[name] for name in ("component_times", "trace", "modules") if arguments.get(name) is not None}
    choices = kept({name: arguments[name] for name in arguments if name not in ("component_times", "trace", "modules")})
    if "component_times" in times and "trace" in times:
        raise Error(
            "component_times",
            "cannot be passed with trace, because both contain the times: leave one of them out",
        )
    if "modules" in times and "trace" not in times:
        raise Error("modules", "works only with trace=, since it names modules of the trace: pass both, or leave it out")
    if "trace" in times:
        paths = [times["trace"]] if is_path(times["trace"]) else times["trace"]
        if not isinstance(paths, (list, tuple)) or not paths or not all(map(is_path, paths)):
            raise Error("trace", f"must be a path, or a list of a path for each rank, got {times['trace']!r}")
        if not isinstance(times.get("modules", ""), str):
            raise Error("modules", f"must be a str, got {times['modules']!r}")
        found = _core._times_of_traces(work, [os.fsencode(path) for path in paths], times.get("modules"))
        choices |= json.loads(found)
    elif times:
        choices["component_times"] = read_times(work, times["component_times"])
    measured = work._measured_by
    return Waterfall(work, choices if measured is None else changed(measured, choices))


def is_path(value: object) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def read_times(work: Breakdown, times: Any) -> Any:
    """Returns measured times of components as a dict. times: a timer, the path of a file of times, or a dict with the
    content of such a file."""
    if hasattr(times, "times") and not isinstance(times, dict):
        times = times.times(work)
    elif is_path(times):
        name = os.fsdecode(times)
        try:
            times = read_json(Path(name).read_bytes(), "component_times")
        except OSError as problem:
            raise Error("component_times", f'cannot be read from "{name}": {problem}') from None
    return json.loads(json_of(times, "component_times"))


# ---- a request: the checked arguments of a step ----

OF_THE_DEVICE = ("accelerator", "peak_tflops", "peak_kind", "precision", "precisions", "clock_mhz", "memory_tbps", "batches",
                 "weight_bits", "gradient_bits", "activation_bits", "cache_bits", "distinct_experts")  # fmt: skip
OF_A_SPLIT = ("num_layers_in_first_pipeline_stage", "num_layers_in_last_pipeline_stage")
FLAGS_OF_A_SPLIT = ("account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split")
TEXTS_OF_A_SPLIT = ("pipeline_model_parallel_layout", "layer_split")
OF_PIPELINES = ("vpp", "microbatches", "schedule", "replicas", "layers_of_chunks", *OF_A_SPLIT, *FLAGS_OF_A_SPLIT,
                *TEXTS_OF_A_SPLIT)  # fmt: skip
MOST_RANKS, MOST_MICROBATCHES = 2**16, 2**24


def request_of(choices: Said) -> Said:
    """Returns the arguments of a waterfall as the dict that the C++ library reads as JSON. Arguments that were not
    passed, or are None, are left out."""
    arguments = {name: value for name, value in choices.items() if value is not None}
    request: Said = {name: arguments[name] for name in ("traced", "component_times") if name in arguments}
    if "gpus" not in arguments:
        raise Error("gpus", "is missing: pass it, or call measure() first")
    request["gpus"] = count(arguments["gpus"], "gpus", 1)
    if "seconds" in arguments:
        request["seconds"] = positive(arguments["seconds"], "seconds")
    if "idle_gpus" in arguments:
        request["idle_gpus"] = count(arguments["idle_gpus"], "idle_gpus")
    tiles = arguments.get("masked_tiles")
    if tiles is not None and not isinstance(tiles, _core.MaskedTiles):
        if as_int(tiles) is None:
            raise Error("masked_tiles", f"must be a floptally.MaskedTiles, or FLOPs as an int, got {shortened(tiles)}")
        request["masked_flops"] = str(flops(tiles, "masked_tiles"))
    request["apart"] = times_apart(arguments.get("apart", {}))
    if "network_gbps" in arguments:
        request["network_gbps"] = bandwidths_of(arguments["network_gbps"])
    for name in ("tp", "ep", "etp", "gpus_per_node"):
        if name in arguments:
            request[name] = count(arguments[name], name, 1, MOST_RANKS)
    if "sequence_parallel" in arguments:
        if "tp" not in arguments:
            raise Error("tp", "is missing: pass tp=, which sequence_parallel needs")
        request["sequence_parallel"] = flag(arguments["sequence_parallel"], "sequence_parallel")
    if "pp" in arguments:
        request["pipelines"] = pipelines_of(arguments)
    else:
        for name in OF_PIPELINES:
            if name in arguments:
                raise Error("pp", f"is missing: pass pp=, which {name} needs")
        if "rank_work" in arguments:
            if arguments.keys() & {"tp", "cp"}:
                raise Error("rank_work", "cannot be passed with tp or cp, which determine the work of each rank: leave it out")
            request["rank_work"] = rank_work_of(arguments["rank_work"])
    return request


def with_layout(choices: Said) -> Said:
    """Replaces the argument `layout` of a waterfall by the sizes that it states, such as tp and pp. Raises an Error if
    another argument contradicts the layout, or if the number of experts' ranks does not divide all ranks."""
    said = {name: value for name, value in choices.items() if value is not None}
    if not said.keys() & {"layout", "ep", "etp"} or "gpus" not in said:
        return choices
    ranks = count(said["gpus"], "gpus", 1) - count(said.get("idle_gpus", 0), "idle_gpus")
    cp = said["cp"].cp if isinstance(said.get("cp"), _core.ContextShards) else 1  # another type is refused later
    if "layout" in said:
        sizes = _core.ParallelLayout(layout=said["layout"], world_size=ranks, rank=0).sizes
        own = {"tp": sizes["tp"], "ep": sizes["ep"], "etp": sizes["etp"]}
        if sizes["pp"] > 1:
            own |= {"pp": sizes["pp"], "vpp": sizes["vpp"], "replicas": sizes["dp"]}
        if sizes["cp"] != cp:
            raise Error("cp", f"must be a ContextShards of {sizes['cp']} ranks, because the layout says so, got {cp}")
        for name, size in own.items():
            if said.get(name, size) != size:
                raise Error(name, f"is {said[name]}, but the layout says {size}: leave one of them out")
        return {**choices, **{name: size for name, size in own.items() if size != 1 or name == "etp"}, "layout": None}
    of_replica = count(said.get("tp", 1), "tp", 1) * count(said.get("pp", 1), "pp", 1) * cp
    if ranks % of_replica != 0:
        raise Error("gpus", f"must be a multiple of cp x tp x pp = {of_replica}, got {ranks}")
    experts = {name: said[name] for name in ("ep", "etp") if name in said}
    _core.ParallelLayout(rank=0, dp=ranks // of_replica, cp=cp, tp=said.get("tp", 1), pp=said.get("pp", 1), **experts)
    return choices


def pipelines_of(arguments: Said) -> Said:
    request: Said = {"pp": count(arguments["pp"], "pp", 1, MOST_RANKS)}
    for name, most in (("vpp", MOST_RANKS), ("replicas", MOST_MICROBATCHES), ("microbatches", MOST_MICROBATCHES)):
        if name in arguments and not is_list(arguments[name]):
            request[name] = count(arguments[name], name, 1, most)
    for name in OF_A_SPLIT:
        if name in arguments:
            request[name] = count(arguments[name], name, 0, 100_000)
    for name in FLAGS_OF_A_SPLIT:
        if name in arguments:
            request[name] = flag(arguments[name], name)
    for name in ("schedule", *TEXTS_OF_A_SPLIT):
        if name in arguments:
            if not isinstance(arguments[name], str):
                raise Error(name, f"must be a str, got {shortened(arguments[name])}")
            request[name] = arguments[name]
    if isinstance(arguments.get("rank_work"), Mapping):
        raise Error("rank_work", f"must be a list of ints, one for each replica, if pp is passed; got {shortened(arguments['rank_work'])}")
    for name, field in (("loads", "rank_work"), ("layers_of_chunks", "layers_of_chunks")):
        if field in arguments:
            if not is_list(arguments[field]) or len(arguments[field]) == 0:
                raise Error(field, f"must be a list of ints, got {shortened(arguments[field])}")
            request[name] = [count(one, f"{field}[{i}]") for i, one in enumerate(arguments[field])]
    return request


def microbatches_of(microbatches: Any) -> list[list[Breakdown]]:
    """Returns the work of each microbatch: a list for each replica, with a Breakdown for each microbatch. Empty if
    `microbatches` is not a list: all microbatches then have equal work."""
    if not is_list(microbatches):
        return []
    replicas = [list(one) if is_list(one) else list(microbatches) for one in microbatches] if microbatches and is_list(microbatches[0]) else [list(microbatches)]
    for one in (one for replica in replicas for one in replica):
        if not isinstance(one, _core.Breakdown):
            raise Error(
                "microbatches",
                f"must be an int, a list of floptally.Breakdown, or such a list for each replica, got {shortened(one)}",
            )
    return replicas


def rank_work_of(loads: Any) -> Said:
    """Returns {"largest", "sum", "ranks"}: the largest work of a rank and the sum over the ranks, both in FLOPs as
    decimal strings, and the number of ranks. loads: the FLOPs of each rank, or such a dict of ints."""
    if isinstance(loads, Mapping):
        if set(loads) != {"largest", "sum", "ranks"}:
            raise Error("rank_work", f'must have "largest", "sum" and "ranks", got {shortened(loads)}')
        largest, together = (flops(loads[name], f"rank_work.{name}") for name in ("largest", "sum"))
        ranks = count(loads["ranks"], "rank_work.ranks", 1)
    elif isinstance(loads, str) or not isinstance(loads, Iterable):
        raise Error("rank_work", f"must be a list of ints, got {shortened(loads)}")
    else:
        all_loads = [flops(load, f"rank_work[{i}]") for i, load in enumerate(loads)]
        largest, together, ranks = max(all_loads, default=0), sum(all_loads), len(all_loads)
    return {"largest": str(largest), "sum": str(flops(together, "rank_work")), "ranks": ranks}


def bandwidths_of(bandwidths: Any) -> dict[str, float]:
    """Returns the network bandwidths as {group of ranks: GB/s}. bandwidths: such a dict, or one number for all
    groups."""
    if not isinstance(bandwidths, Mapping):
        bandwidth = positive(bandwidths, "network_gbps")
        return dict.fromkeys(("tp", "cp", "dp", "pp", "ep", "expert_dp", "etp", "dp_replicate"), bandwidth)
    return {str(axis): positive(gbps, f"network_gbps[{axis!r}]") for axis, gbps in bandwidths.items()}


def times_apart(apart: Any) -> list[Said]:
    if not isinstance(apart, Mapping):
        raise Error("apart", f"must be a dict of names to seconds, got {shortened(apart)}")
    times = []
    for i, (name, seconds) in enumerate(apart.items()):
        if not isinstance(name, str):
            raise Error("apart", f"must have names as keys, got {shortened(name)}")
        value = number(seconds, f"apart[{i}]")
        if not math.isfinite(value):
            raise Error(f"apart[{i}]", f'"{name}" must be a finite number of seconds, got {value}')
        times.append({"name": name, "seconds": value})
    return times
