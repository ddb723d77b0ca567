# SPDX-License-Identifier: Apache-2.0
# The types of the extension. tests/python/test_typing.py compares them with it (stubtest).

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from ._balance import Assignment
from ._breakdown import View
from ._bytes import Bytes
from ._errors import Error as Error, LeftOut as LeftOut, Overflow as Overflow
from ._later import MeteredStep
from ._types import ConfigLike, Costs, DeviceArray, Flags, Grids, HstuSequences, Integers, Later, NewTokens, PageLike, Reducer, TimesComponents
from ._waterfall import Waterfall
from ._words import (
    Axis, BalanceMode, BalanceSeed, ConventionName, CountedFor, CountedView, IndexerTraining, LatentAttention, PeakKind,
    Phase, Precision, PrecisionName, Quality, Recompute, RowKind, Schedule, ScopeName, Share, Span, Split, Statistic,
    Tower, ViewName, WeightState,
)  # fmt: skip

__version__: str

class Mask:
    @staticmethod
    def causal() -> Mask: ...
    @staticmethod
    def bidirectional() -> Mask: ...
    @staticmethod
    def sliding_window(tokens: int) -> Mask: ...
    @staticmethod
    def window(left: int, right: int) -> Mask: ...
    @staticmethod
    def chunked(tokens: int) -> Mask: ...
    @staticmethod
    def top_k(keys: int) -> Mask: ...
    @staticmethod
    def compressed_keys(ratio: int) -> Mask: ...
    @staticmethod
    def cross_attention() -> Mask: ...
    @staticmethod
    def encoder() -> Mask: ...
    @staticmethod
    def encoder_window(left: int, right: int) -> Mask: ...
    @staticmethod
    def prefix_lm(tokens: int) -> Mask: ...
    @staticmethod
    def hstu(*, is_causal: bool = True, contextual: bool = True, max_attn_len: int = 0, min_full_attn_seq_len: int = 0, windowed_targets: bool = True, targets_share_place: bool = False) -> Mask: ...
    @staticmethod
    def grid_windows(patches: int, shift: int = 0) -> Mask: ...
    @staticmethod
    def clip_squares(prefix: int = 0) -> Mask: ...
    @staticmethod
    def merged_patches(side: int, line_ends: int = 0) -> Mask: ...
    @staticmethod
    def measured(name: str) -> Mask: ...
    @staticmethod
    def library() -> dict[str, list[str]]: ...
    @staticmethod
    def from_text(text: str) -> Mask: ...
    @staticmethod
    def from_callable(name: str, count: Callable[..., Any], *, vectorized: bool = False, causal: bool = False) -> Mask: ...
    def in_tower(self, tower: Tower) -> Mask: ...
    def pairs(self, length: int, past: int = 0, keys: int = 0) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def tower(self) -> Tower: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Row:
    def __init__(
        self,
        component: str,
        unit: Statistic | Mask,
        kind: RowKind,
        flops_per_unit: int,
        parameters: int = 0,
        *,
        padded_flops_per_unit: int | None = None,
        weight: str = "",
        tower: Tower = "text",
        split: Split = "unsaid",
        units: int = 0,
        inner_units: int = 0,
    ) -> None: ...
    @property
    def component(self) -> str: ...
    @property
    def unit(self) -> Statistic | Mask: ...
    @property
    def kind(self) -> RowKind: ...
    @property
    def flops_per_unit(self) -> int: ...
    @property
    def padded_flops_per_unit(self) -> int: ...
    @property
    def parameters(self) -> int: ...
    @property
    def weight(self) -> str: ...
    @property
    def tower(self) -> Tower: ...
    @property
    def split(self) -> Split: ...
    @property
    def units(self) -> int: ...
    @property
    def inner_units(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Convention:
    @property
    def name(self) -> ConventionName: ...
    @property
    def summary(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class WeightSetting:
    def __init__(
        self,
        weights: str = "*",
        state: WeightState = "trainable",
        *,
        rank: int = 0,
        first_layer: int | None = None,
        last_layer: int | None = None,
        part: str = "*",
    ) -> None: ...
    @property
    def weights(self) -> str: ...
    @property
    def state(self) -> WeightState: ...
    @property
    def rank(self) -> int: ...
    @property
    def first_layer(self) -> int | None: ...
    @property
    def last_layer(self) -> int | None: ...
    @property
    def part(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Plan:
    def __init__(
        self,
        *,
        phase: Phase = "train",
        recompute: Recompute = "none",
        flash_attention: bool = True,
        weights: Sequence[WeightSetting] = ...,
        recompute_components: Sequence[str] = ...,
        recompute_every: int = 1,
        repeated: Mapping[str, int] = {},
        indexer: IndexerTraining = "frozen",
    ) -> None: ...
    @property
    def phase(self) -> Phase: ...
    @property
    def recompute(self) -> Recompute: ...
    @property
    def flash_attention(self) -> bool: ...
    @property
    def weights(self) -> list[WeightSetting]: ...
    @property
    def recompute_components(self) -> list[str]: ...
    @property
    def recompute_every(self) -> int: ...
    @property
    def repeated(self) -> dict[str, int]: ...
    @property
    def indexer(self) -> IndexerTraining: ...
    def __eq__(self, other: object) -> bool: ...

class Cost:
    @staticmethod
    def from_rows(
        rows: Iterable[Row | tuple[Any, ...]], *, model_type: str = "rows", notes: Sequence[str] = ...
    ) -> Cost: ...
    def flops(
        self,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> Breakdown: ...
    def bytes(
        self,
        *,
        weight_bits: int = 16,
        gradient_bits: int = 16,
        activation_bits: int = 16,
        cache_bits: int = 16,
        batches: int = 1,
        distinct_experts: int | None = None,
        plan: Plan | None = None,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> Bytes: ...
    def total(
        self,
        *,
        view: ViewName = "useful",
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> int: ...
    def sample_flops(
        self,
        lengths: Integers,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        view: ViewName = "useful",
    ) -> list[int]: ...
    def sample_loads(
        self,
        samples: Sequence[Tally],
        loads: Sequence[tuple[str, int] | tuple[str, int, int]],
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        view: ViewName = "useful",
    ) -> list[list[int]]: ...
    @property
    def model_type(self) -> str: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def parameters(self) -> int: ...
    @property
    def components(self) -> list[str]: ...
    @property
    def masks(self) -> list[Mask]: ...
    @property
    def rows(self) -> list[Row]: ...
    def keep(self, word: Mask) -> Cost: ...
    @property
    def plan(self) -> Plan: ...
    def planned(self, plan: Plan) -> Cost: ...
    def with_muon(self, *, plan: Plan | None = None, iterations: int = 5, others: Sequence[str] = ...) -> Cost: ...
    def __add__(self, other: Cost) -> Cost: ...
    def __rmul__(self, times: int) -> Cost: ...
    def __eq__(self, other: object) -> bool: ...

class Tally:
    def __init__(
        self,
        cost_or_masks: Cost | Tally | Sequence[Mask] | None = None,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
    ) -> None: ...
    def add_lengths(self, lengths: Integers) -> None: ...
    def add_padded(self, lengths: Integers, row_length: int) -> None: ...
    def add_cu_seqlens(
        self,
        cu_seqlens: Integers,
        cu_seqlens_padded: Integers | None = None,
        num_real_seqs: int | None = None,
        cu_seqlens_real: Integers | None = None,
    ) -> None: ...
    def add_attention_mask(self, attention_mask: Flags) -> None: ...
    def add_encoder_decoder(self, lengths: Integers, encoder_lengths: Integers) -> None: ...
    def add_sequences(self, sequences: HstuSequences) -> None: ...
    def add_new_tokens(self, new_tokens: NewTokens) -> None: ...
    def add_grid_thw(self, grid_thw: Grids) -> None: ...
    def add_audio_frames(self, audio_frames: Integers) -> None: ...
    def add_routed(self, useful: int, padded: int) -> None: ...
    def add_measured(self, name: str, useful: int, padded: int | None = None) -> None: ...
    def get(self, statistic: Statistic, view: CountedView = "useful", tower: Tower = "text") -> int: ...
    def pairs(self, mask: Mask, view: CountedView = "useful") -> int: ...
    @property
    def masks(self) -> list[Mask]: ...
    @property
    def tokens(self) -> int: ...
    def words(self) -> npt.NDArray[np.int64]: ...
    @staticmethod
    def from_words(
        cost_or_masks: Cost | Tally | Sequence[Mask] | None,
        words: Integers,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
    ) -> Tally: ...
    def copy(self) -> Tally: ...
    def __iadd__(self, other: Tally) -> Tally: ...
    def __add__(self, other: Tally) -> Tally: ...
    def __eq__(self, other: object) -> bool: ...

class Breakdown:
    @property
    def total(self) -> int: ...
    @property
    def padded_total(self) -> int: ...
    @property
    def executed_total(self) -> int: ...
    @property
    def useful(self) -> View: ...
    @property
    def padded(self) -> View: ...
    @property
    def executed(self) -> View: ...
    @property
    def model_type(self) -> str: ...
    @property
    def convention(self) -> ConventionName: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def notes(self) -> list[str]: ...
    @property
    def is_upper_bound(self) -> bool: ...
    @property
    def padding(self) -> dict[str, int] | None: ...
    @property
    def statistics(self) -> dict[str, Any]: ...
    @property
    def mfu(self) -> float: ...
    @property
    def padded_mfu(self) -> float: ...
    @property
    def hfu(self) -> float: ...
    @property
    def tflops_per_gpu(self) -> float: ...
    @property
    def tokens_per_second(self) -> float: ...
    @property
    def mixed_mfu(self) -> float: ...
    @property
    def mixed_peak_tflops(self) -> float: ...
    def measure(
        self,
        seconds: float,
        *,
        gpus: int,
        accelerator: str | Accelerator | None = None,
        peak_tflops: float | None = None,
        precision: Precision = "bf16",
        precisions: str | None = None,
        peak_kind: PeakKind | None = None,
        clock_mhz: float | None = None,
    ) -> Breakdown: ...
    def waterfall(
        self,
        *,
        seconds: float | None = None,
        gpus: int | None = None,
        accelerator: str | Accelerator | None = None,
        peak_tflops: float | None = None,
        precision: Precision | None = None,
        precisions: str | None = None,
        clock_mhz: float | None = None,
        apart: Mapping[str, float] | None = None,
        rank_work: Iterable[int] | Mapping[str, int] | None = None,
        idle_gpus: int | None = None,
        masked_tiles: MaskedTiles | int | None = None,
        pp: int | None = None,
        vpp: int | None = None,
        microbatches: int | None = None,
        schedule: Schedule | None = None,
        memory_tbps: float | None = None,
        batches: int | None = None,
        weight_bits: int | None = None,
        gradient_bits: int | None = None,
        activation_bits: int | None = None,
        cache_bits: int | None = None,
        component_times: str | PathLike[str] | Mapping[str, Any] | TimesComponents | None = None,
        trace: str | PathLike[str] | None = None,
        modules: str | None = None,
    ) -> Waterfall: ...
    def bytes(
        self,
        *,
        weight_bits: int = 16,
        gradient_bits: int = 16,
        activation_bits: int = 16,
        cache_bits: int = 16,
        batches: int = 1,
        distinct_experts: int | None = None,
    ) -> Bytes: ...
    @property
    def _measured_by(self) -> dict[str, Any] | None: ...
    def to_dict(self) -> dict[str, Any]: ...
    def _repr_html_(self) -> str: ...

class MaskedTiles:
    def __init__(self, cost: Cost, tile: tuple[int, int] = (128, 128)) -> None: ...
    def add(
        self,
        *,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> None: ...
    def executed(self, plan: Plan | None = None) -> int: ...
    def __copy__(self) -> MaskedTiles: ...
    @property
    def tile(self) -> tuple[int, int]: ...
    @property
    def tally(self) -> Tally: ...

class Accelerator:
    @property
    def name(self) -> str: ...
    @property
    def vendor(self) -> str: ...
    @property
    def form_factor(self) -> str: ...
    @property
    def driver_names(self) -> list[str]: ...
    @property
    def dense_tflops(self) -> dict[PrecisionName, float]: ...
    @property
    def memory_tbps(self) -> dict[str, float]: ...
    @property
    def source(self) -> str: ...
    @property
    def source_url(self) -> str: ...
    @property
    def note(self) -> str: ...
    @property
    def quality(self) -> Quality: ...
    def peak_tflops(self, precision: Precision = "bf16") -> float: ...
    def boost_tflops(self, clock_mhz: float, precision: Precision = "bf16") -> float: ...

class Totals:
    @property
    def steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def gpu_seconds(self) -> float: ...
    @property
    def useful(self) -> int: ...
    @property
    def padded(self) -> int: ...
    @property
    def executed(self) -> int: ...
    @property
    def tally(self) -> Tally: ...
    @property
    def min_step_seconds(self) -> float: ...
    @property
    def max_step_seconds(self) -> float: ...
    @property
    def tokens(self) -> int: ...
    @property
    def padded_tokens(self) -> int: ...
    @property
    def samples(self) -> int: ...
    @property
    def mfu(self) -> float: ...
    @property
    def padded_mfu(self) -> float: ...
    @property
    def hfu(self) -> float: ...
    @property
    def tflops(self) -> float: ...
    @property
    def tflops_per_gpu(self) -> float: ...
    @property
    def padded_tflops_per_gpu(self) -> float: ...
    @property
    def executed_tflops_per_gpu(self) -> float: ...
    @property
    def tokens_per_second(self) -> float: ...
    @property
    def tokens_per_second_per_gpu(self) -> float: ...
    @property
    def samples_per_second(self) -> float: ...
    @property
    def useful_fraction(self) -> float: ...
    @property
    def useful_flops_fraction(self) -> float: ...
    @property
    def step_seconds(self) -> float: ...
    def percentile(self, percent: float) -> float: ...

class DeviceTally:
    def __init__(
        self,
        cost_or_masks: Cost | Tally | list[Mask] | None,
        *,
        device: SupportsIndex,
        snapshots: SupportsIndex,
        kernels: bytes,
        stream_of: Callable[[Any], int],
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
    ) -> None: ...
    def add(
        self,
        *,
        cu_seqlens: DeviceArray | None = None,
        cu_seqlens_padded: DeviceArray | None = None,
        num_real_seqs: int | DeviceArray | None = None,
        lengths: DeviceArray | None = None,
        row_length: SupportsIndex | None = None,
        attention_mask: DeviceArray | None = None,
        stream: object = None,
    ) -> None: ...
    def snapshot(self, *, reset: bool = False, stream: object = None) -> None: ...
    def reset(self, *, stream: object = None) -> None: ...
    def poll(self) -> Tally | None: ...
    def read(self, *, stream: object = None) -> Tally: ...
    @property
    def device(self) -> int: ...

class Meter:
    def __init__(
        self,
        cost: Cost,
        *,
        gpus: int | None = None,
        accelerator: str | Accelerator | None = None,
        peak_tflops: float | None = None,
        precision: Precision = "bf16",
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        clock: Callable[[], float] | None = None,
        counted: CountedFor | None = None,
        reduce: object = None,
        precisions: str | None = None,
        peak_kind: PeakKind | None = None,
        clock_mhz: float | None = None,
    ) -> None: ...
    def begin_step(self) -> None: ...
    def end_step(self, seconds: float | None = None) -> None: ...
    def discard_step(self) -> None: ...
    def step(self, seconds: float | None = None) -> MeteredStep: ...
    def add(
        self,
        *,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: SupportsIndex | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> None: ...
    def add_later(self, batch: Later) -> None: ...
    def finish(self) -> None: ...
    def new_tally(self) -> Tally: ...
    def breakdown(self, span: Span = "interval") -> Breakdown: ...
    @property
    def in_step(self) -> bool: ...
    @property
    def last_step(self) -> Totals: ...
    @property
    def interval(self) -> Totals: ...
    @property
    def run(self) -> Totals: ...
    def reset_interval(self) -> None: ...
    def scalars(self, span: Span = "interval", prefix: str = "train/") -> dict[str, float]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
    def step_percentiles(self) -> dict[str, float]: ...
    def leave_out(self, steps: SupportsIndex) -> None: ...
    @property
    def counted(self) -> str: ...
    @property
    def reduces(self) -> bool: ...
    @property
    def cost(self) -> Cost: ...
    @property
    def plan(self) -> Plan: ...
    @property
    def convention(self) -> ConventionName: ...
    @property
    def gpus(self) -> int: ...
    @property
    def peak_tflops(self) -> float: ...
    @property
    def accelerator(self) -> str: ...
    @property
    def precision(self) -> PrecisionName: ...
    @property
    def peak_kind(self) -> PeakKind | Literal["unsaid"]: ...
    @property
    def peak_quality(self) -> Quality: ...

def accelerator(name: str) -> Accelerator: ...
def accelerators() -> list[Accelerator]: ...
def address_of(values: Integers) -> int: ...
def conventions() -> list[Convention]: ...
def cost(
    config: str,
    *,
    is_path: bool = False,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    page: Sequence[tuple[str, str]] = ...,
    strict: bool = False,
) -> Cost: ...
def flops(
    config: ConfigLike,
    *,
    lengths: Integers | None = None,
    row_length: int | None = None,
    encoder_lengths: Integers | None = None,
    cu_seqlens: Integers | None = None,
    cu_seqlens_padded: Integers | None = None,
    cu_seqlens_real: Integers | None = None,
    num_real_seqs: int | None = None,
    attention_mask: Flags | None = None,
    new_tokens: NewTokens | None = None,
    sequences: HstuSequences | None = None,
    grid_thw: Grids | None = None,
    images: int | None = None,
    audio_frames: Integers | None = None,
    routed: tuple[int, int] | None = None,
    measured: dict[str, int | tuple[int, int]] | None = None,
    tally: Tally | None = None,
    convention: ConventionName | Convention = "exact",
    plan: Plan | None = None,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    page: PageLike | Sequence[PageLike] | None = None,
    strict: bool = False,
) -> Breakdown: ...
def models() -> list[str]: ...
def readable(flops: int) -> str: ...
def run_program(arguments: Sequence[str | bytes]) -> int: ...

def balance(
    costs: Costs,
    ranks: SupportsIndex,
    *,
    mode: BalanceMode = "equal_count",
    seed: BalanceSeed = "best",
    sizes: Integers | None = None,
    capacity: SupportsIndex | None = None,
    groups: Integers | None = None,
    budget: SupportsIndex | None = None,
    fineness: SupportsIndex = 1024,
) -> Assignment:
    """Samples to ranks so that the largest load is small: the same costs give the same assignment everywhere.

    costs: of each sample, [n] ints (of any size), or floats; [n, loads] for several loads at once.
    mode: "equal_count" (as many samples on every rank), "free", or "capacity" (`sizes` of a rank add up to `capacity` at
    most). groups: samples of one number stay on one rank. seed: "best", "longest_first", "differencing". budget:
    exchanges to look at, 0 for the seeds alone. fineness: more than 16 samples end where the largest load is within
    1 / fineness of the lower bound, with 0 at the bound or where nothing helps; fewer end at the optimum.
    """

class ParallelLayout:
    """Where the ranks of a job stand, seen from one of them."""

    def __init__(
        self,
        *,
        rank: SupportsIndex,
        dp: SupportsIndex = 1,
        cp: SupportsIndex = 1,
        tp: SupportsIndex = 1,
        pp: SupportsIndex = 1,
        vpp: SupportsIndex = 1,
        ep: SupportsIndex = 1,
        world_size: SupportsIndex | None = None,
        order: str = "tp-cp-ep-dp-pp",
    ) -> None:
        """dp x cp x tp x pp ranks; `order` is Megatron's, the fastest axis first. `world_size` is compared where it is
        given."""
    @property
    def rank(self) -> int: ...
    @property
    def world_size(self) -> int: ...
    @property
    def coordinates(self) -> dict[Axis, int]:
        """{"tp": …, "cp": …, "dp": …, "pp": …} of this rank."""
    def group(self, axes: Sequence[Axis]) -> list[int]:
        """The ranks that differ from this one along these axes only, itself among them."""
    def with_redundant_work(self, repeated: dict[str, list[Axis]], *, plan: Plan | None = None) -> Plan:
        """The plan of all ranks, {"vision.*": ["cp"]}: what is named all ranks along these axes run, each the whole of it. It
        is executed by each and useful once."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class Scope:
    """What the ranks along each axis hold of a statistic."""

    def __init__(self, preset: ScopeName | Scope = "microbatch", **kwargs: Share) -> None:
        """A preset ("microbatch", "context_slice", "first_stage", "last_stage", "own_routers"), changed along dp, cp, tp,
        pp or virtual_stages to "replicated", "trusted", "sharded", "first" or "last"."""
    def trusting_replicas(self) -> Scope:
        """The same with nothing to compare: for a sum over a group that leaves replicas out."""
    def parts(self, layout: ParallelLayout) -> int:
        """In how many different parts the layout holds it."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class TallyReduction:
    """The sum of tallies over ranks, step after step."""

    def __init__(
        self,
        like: Tally | Cost,
        *,
        scope: ScopeName | Scope,
        layout: ParallelLayout,
        reducer: Reducer,
        convention: ConventionName | None,
        other_scopes: dict[str, ScopeName | Scope] = {},
        plan: Plan | None = None,
    ) -> None:
        """All ranks of the group make it together: by one MAX they compare masks, scope, layout, version and the
        convention that the sum is evaluated in (None: it is not), and where one differs all of them raise. Where `like`
        is a Cost, they compare what it counts by `plan` as well."""
    def sum(self, mine: Tally, *, reducer: Reducer, visits: tuple[int, int] | None = None) -> Tally:
        """The tally of all ranks, by one SUM: the same words on each. `visits`: microbatches (ran, added) under virtual
        stages."""
    def scaled(self, mine: Tally, *, visits: tuple[int, int] | None = None) -> Tally:
        """The same without communication, where all ranks have equal lengths, which the caller says."""

def reduce_ratio(
    numerator: SupportsIndex,
    denominator: SupportsIndex,
    *,
    scope: ScopeName | Scope,
    layout: ParallelLayout,
    reducer: Reducer,
) -> tuple[int, int]:
    """Numerator and denominator of all ranks."""

def reduce_extremes(
    values: Iterable[SupportsIndex], *, scope: ScopeName | Scope, layout: ParallelLayout, reducer: Reducer
) -> tuple[int, int | None, int | None]:
    """Count, least and largest of the values of all ranks; None where there are none."""

def reduce_sequences(
    numerators: Sequence[float], denominators: Sequence[SupportsIndex], *, scope: ScopeName | Scope, layout: ParallelLayout,
    within: Reducer, over_dp: Reducer, of: Callable[[float], float] | None = None,
    denominator_scope: ScopeName | Scope | None = None, different_scopes: bool = False,
) -> tuple[int, int, float | None, float | None, float | None]:
    """Sequences with a ratio, sequences without any token, and mean, least and largest of `of(numerator / denominator)`:
    summed over the ranks that share a sequence first, then over the sequences of all."""

# What Python's classes are made of.
def _bytes(
    work: Breakdown,
    *,
    weight_bits: int = 16,
    gradient_bits: int = 16,
    activation_bits: int = 16,
    cache_bits: int = 16,
    batches: int = 1,
    distinct_experts: int | None = None,
) -> tuple[str, str, str, dict[str, dict[str, dict[str, int]]]]: ...
def _mbu(
    work: Breakdown,
    *,
    seconds: float,
    gpus: int,
    accelerator: str | Accelerator | None = None,
    memory_tbps: float | None = None,
    weight_bits: int = 16,
    gradient_bits: int = 16,
    activation_bits: int = 16,
    cache_bits: int = 16,
    batches: int = 1,
    distinct_experts: int | None = None,
) -> tuple[float, bool, float | None]: ...
def _waterfall(work: Breakdown, said: dict[str, Any], kernel_rate: float | None) -> dict[str, Any]: ...
def _times_of_trace(work: Breakdown, path: str, modules: str | None) -> tuple[str, list[str]]: ...
def _read_throughput_log(text: str) -> tuple[list[Any], list[Any]]: ...
def _line_text(line: Any) -> str: ...
def _compare(experiments: Sequence[Any]) -> tuple[Any, ...]: ...
