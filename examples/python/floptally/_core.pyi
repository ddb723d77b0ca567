# SPDX-License-Identifier: Apache-2.0
# The types of the extension. tests/python/test_typing.py compares them with it (stubtest).

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt

from ._accelerators import Accelerator
from ._balance import Assignment
from ._breakdown import View
from ._bytes import Bytes
from ._comparison import Comparison
from ._conventions import Convention
from ._errors import Error as Error, LeftOut as LeftOut, Overflow as Overflow
from ._fit import Fit
from ._goodput import Goodput, Spending
from ._later import MeteredStep
from ._passes import Passes, StepPasses, StepWork, TimedPass
from ._shares import LogitsBytes, ModuleUtilization, Packing, ProbedStep, RankExchange, StateBytes, StepModule
from ._types import ConfigLike, Costs, DeviceArray, Flags, Grids, HstuSequences, Integers, Later, Logits, MemoryBackend, NewTokens, PageLike, Reducer, Requests, TimesComponents
from ._waterfall import Waterfall
from ._words import (
    Axis, BalanceMode, BalanceSeed, ContextExchange, ContextSplit, ConventionName, CountedFor, CountedView, FewKvHeads,
    IndexerTraining,
    LatentAttention, LogitTokens, OptimizerName, OptimizerStates, PeakKind, Phase, Precision, PrecisionName, Quality, Recompute, RowKind,
    Schedule, ScopeName, Share, Span, Split, Statistic, Tower, ViewName, WeightState, ZeroStates,
)  # fmt: skip

ArrayT = TypeVar("ArrayT")

__version__: str
numbers_version: int

class Mask:
    """Which keys a query attends, as an immutable value. Made by its static methods."""

    @staticmethod
    def causal() -> Mask:
        """A query sees itself and what came before: L(L+1)/2."""
    @staticmethod
    def bidirectional() -> Mask:
        """Every query sees every key: L²."""
    @staticmethod
    def sliding_window(tokens: int) -> Mask:
        """Causal over the last `tokens` tokens, the token itself among them."""
    @staticmethod
    def window(left: int, right: int) -> Mask:
        """`left` keys before and `right` after the query's own; -1 is unlimited."""
    @staticmethod
    def chunked(tokens: int) -> Mask:
        """Causal within consecutive chunks."""
    @staticmethod
    def top_k(keys: int) -> Mask:
        """Causal over the `keys` best keys only."""
    @staticmethod
    def compressed_keys(ratio: int) -> Mask:
        """Causal over compressed keys: each complete block of `ratio` tokens is one."""
    @staticmethod
    def cross_attention() -> Mask:
        """Every query sees every token of the other side."""
    @staticmethod
    def encoder() -> Mask:
        """Every token of the other side sees every other."""
    @staticmethod
    def encoder_window(left: int, right: int) -> Mask:
        """Every token of the other side sees `left` before it and `right` after it; -1 is unlimited."""
    @staticmethod
    def prefix_lm(tokens: int) -> Mask:
        """Causal, but the first `tokens` keys are seen by every query."""
    @staticmethod
    def hstu(
        *, is_causal: bool = True, contextual: bool = True, max_attn_len: int = 0, min_full_attn_seq_len: int = 0,
        windowed_targets: bool = True, targets_share_place: bool = False,
    ) -> Mask:
        """Contextual rows, history and targets of an HSTU layer."""
    @staticmethod
    def grid_windows(patches: int, shift: int = 0) -> Mask:
        """Within windows of patches x patches of a frame of the vision tower."""
    @staticmethod
    def clip_squares(prefix: int = 0) -> Mask:
        """Every patch of a clip sees every other, of all frames."""
    @staticmethod
    def merged_patches(side: int, line_ends: int = 0) -> Mask:
        """No mask but a unit: patches after side x side of them were merged into one."""
    @staticmethod
    def measured(name: str) -> Mask:
        """No mask but a word that the caller measures and adds by `Tally.add_measured`."""
    @staticmethod
    def library() -> dict[str, list[str]]:
        """The library's masks by the names of their texts, each with the numbers that it takes, in order: {"causal":
        [], "vision.grid_windows": ["window_size", "shift=0"]}. `from_text` reads them."""
    @staticmethod
    def from_text(text: str) -> Mask:
        """The mask of that name, as `name` has it: "sliding_window(4096)", "vision.grid_windows(7,shift=3)"."""
    @staticmethod
    def from_callable(name: str, count: Callable[..., Any], *, vectorized: bool = False, causal: bool = False) -> Mask:
        """A mask, or a unit, of one's own: what `count` says of a sequence.

        count(length, past, keys) returns a whole number of pairs (or units), 0 or more. vectorized: count(lengths)
        takes an int64 array of lengths without a past and returns as many numbers; sequences with a past are refused
        then. causal: no query sees a later key, so that conventions that halve squares may. On the host only. A name
        stands for one callable: giving it another is an error.
        """
    def in_tower(self, tower: Tower) -> Mask:
        """The mask over the statistics of "text", "vision" or "audio"."""
    def pairs(self, length: int, past: int = 0, keys: int = 0) -> int:
        """Attended (query, key) pairs of one sequence of `length` new tokens."""
    @property
    def name(self) -> str:
        """"causal", "sliding_window(4096)", …"""
    @property
    def tower(self) -> Tower:
        """Whose sequences it is over: "text", "vision" or "audio"."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Row:
    """One row of a cost: forward FLOPs per unit of a statistic.

    component: as users name it, 1 to 39 characters. unit: "tokens", "count" (sequences), "keys" (tokens of the other
    side), "squares", "cached", "crossed", "routed", or a Mask, whose attended pairs are then counted. kind: what
    product it is ("linear", "lm_head", "scores", "values", "state", "router", "norm", …), which decides its
    backward. flops_per_unit: of the forward, a multiply-add is 2. split: how tensor parallelism deals it ("columns",
    "rows", "heads", "kv_heads", "fused_qkv", "vocabulary", "experts", "even", "replicated", "repeated"), units: how
    many of them there are, inner_units: columns of a key-value head, key-value heads of a fused matrix, width of an
    expert.
    """

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
    def component(self) -> str:
        """As users name it: "mlp", "attention.core", …"""
    @property
    def unit(self) -> Statistic | Mask:
        """The statistic that it multiplies: its name, or a Mask whose attended pairs are counted."""
    @property
    def kind(self) -> RowKind:
        """The kind of product, which decides its backward: "linear", "scores", …"""
    @property
    def flops_per_unit(self) -> int:
        """Useful FLOPs of the forward for one unit; a multiply-add is 2."""
    @property
    def padded_flops_per_unit(self) -> int:
        """FLOPs of the forward for one unit as kernels run it."""
    @property
    def parameters(self) -> int:
        """Weights stored."""
    @property
    def weight(self) -> str:
        """The name of its matrix: "q_proj"; empty where it has none."""
    @property
    def tower(self) -> Tower:
        """Whose units it counts: "text", "vision" or "audio"."""
    @property
    def split(self) -> Split:
        """How tensor parallelism deals it to ranks: "columns", "heads", …"""
    @property
    def units(self) -> int:
        """How many columns, rows, heads, experts or words are dealt; 0: not said."""
    @property
    def inner_units(self) -> int:
        """Columns of a key-value head, key-value heads of a fused matrix, or the width of an expert."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class WeightSetting:
    """The state of some weights in training.

    weights: a component ("mlp"), or a component and a weight of it ("attention.qkv/q_proj"); both may end in "*".
    state: "trainable", "frozen" or "lora" (frozen, with an adapter of that rank beside it). first_layer, last_layer
    (included): only these. part: "encoder", "layer", "lm_head", …
    """

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
    def weights(self) -> str:
        """The component, or component/weight, that it is about; "*" at its end fits all."""
    @property
    def state(self) -> WeightState:
        """"trainable", "frozen" or "lora"."""
    @property
    def rank(self) -> int:
        """The rank of the adapter beside each weight; 0 unless `state` is "lora"."""
    @property
    def first_layer(self) -> int | None:
        """The first layer that it holds in, from 0; None: no bound."""
    @property
    def last_layer(self) -> int | None:
        """The last layer that it holds in, itself included; None: no bound."""
    @property
    def part(self) -> str:
        """The kind of part that it holds in: "encoder", "layer", "lm_head", …; "*" is any."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Plan:
    """The work that one process executes in a training step.

    phase: "train" (forward and backward), "forward" or "backward". recompute: "none", "full" (one more forward of
    every layer) or "attention" (of the attention core). flash_attention: the backward of a fused kernel computes QKᵀ
    once more, which is executed and never useful. weights: what trains; of settings that name the same weight the
    last one holds. recompute_components: components that the backward computes again besides. recompute_every: in
    the n-th, 2n-th, … layer only. repeated: work that several ranks run though its result is needed once,
    {"vision.*": 4}: executed by each, useful once. Of names that fit the same the last one holds. indexer: whether
    those of sparse attention train by a loss of their own: "frozen" (no), "sparse_loss" (over the chosen keys),
    "dense_loss" (over all), "warm_up" (and attention is over all). logits: the tokens whose logits are computed: "all",
    "last" (of each sequence), "measured" (as many as `logits=` of a call or measured={"logits": n} says).
    """

    def __init__(
        self,
        *,
        phase: Phase = "train",
        recompute: Recompute = "none",
        flash_attention: bool = True,
        weights: Sequence[WeightSetting] = [],
        recompute_components: Sequence[str] = [],
        recompute_every: int = 1,
        repeated: Mapping[str, int] = {},
        indexer: IndexerTraining = "frozen",
        logits: LogitTokens = "all",
    ) -> None: ...
    @property
    def phase(self) -> Phase:
        """"train", "forward" or "backward"."""
    @property
    def recompute(self) -> Recompute:
        """The part of the forward that the backward computes again: "none", "full" or "attention"."""
    @property
    def flash_attention(self) -> bool:
        """True where a fused attention backward computes QKᵀ once more."""
    @property
    def weights(self) -> list[WeightSetting]:
        """The settings that say what trains; of those that name the same weight the last one holds."""
    @property
    def recompute_components(self) -> list[str]:
        """Names of components that the backward computes again besides."""
    @property
    def recompute_every(self) -> int:
        """n where the n-th, 2n-th, … layer recomputes; 1 is every layer."""
    @property
    def repeated(self) -> dict[str, int]:
        """{weights: ranks} of work that several ranks run, each the whole of it."""
    @property
    def indexer(self) -> IndexerTraining:
        """How indexers of sparse attention train: "frozen", "sparse_loss", "dense_loss" or "warm_up"."""
    @property
    def logits(self) -> LogitTokens:
        """The tokens whose logits are computed: "all", "last" (of each sequence) or "measured"."""
    def __eq__(self, other: object) -> bool: ...

class Cost:
    """The row of integer coefficients that a model is, immutable.

    Costs add up and scale; `cost()` reads one from a config, `from_torch()` counts one, `Cost.from_rows()` takes it row
    by row.
    """

    @staticmethod
    def from_rows(
        rows: Iterable[Row | tuple[Any, ...]], *, model_type: str = "rows", notes: Sequence[str] = []
    ) -> Cost:
        """A cost of Row objects, or of tuples (component, unit, kind, flops_per_unit[, parameters])."""
    def flops(
        self,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        encoder_lengths_padded: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        requests: Requests | None = None,
        prefill_chunk: int | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        grid_thw_padded: Grids | None = None,
        condition_grid_thw: Grids | None = None,
        pixels: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        logits: LogitTokens | Logits | None = None,
        tally: Tally | None = None,
    ) -> Breakdown:
        """FLOPs of a batch: component x phase x view, as exact ints.

        Everything that is given of the batch is added up.

        Args:
            lengths: [n] tokens of each sequence; of an encoder-decoder, of its decoder.
            row_length: with `lengths`: tokens that each row of a BSHD batch is padded to.
            encoder_lengths: [n] tokens on the encoder's side of each of `lengths`, or of the text of each grid of a
                diffusion model; of one that takes several texts as many for each grid, one after another.
            encoder_lengths_padded: [n] or [1] tokens that the texts of grids are padded to.
            cu_seqlens: [n + 1] boundaries of a packed row: 0, L1, L1 + L2, ...
            cu_seqlens_padded: [n + 1] boundaries of the slots that kernels process.
            cu_seqlens_real: [m + 1] boundaries of the real sequences alone, where `cu_seqlens` has mock sequences
                after them.
            num_real_seqs: sequences after these are mock sequences: padded, not useful.
            attention_mask: [batch, tokens] of 0 and 1: ones are useful, the shape is padded.
            new_tokens: (n, past) of each sequence: n new tokens after past cached ones.
            requests: (prompt, generated) or (prompt, generated, cached) of each request that is prefilled and decoded: all
                its passes, in closed form. cached: tokens of the prompt whose keys are there already. The plan must be of the
                forward.
            prefill_chunk: with `requests`: tokens of a prompt that are prefilled in one pass; all where it is not given.
            sequences: (contextual, history, targets[, group]) of each sequence of an HSTU model.
            grid_thw: [n, 3] frames, rows and columns of patches, before merging, of each image or clip; of a diffusion
                model, of cells of latents.
            grid_thw_padded: [n, 3] or [1, 3] that the grids are padded to.
            condition_grid_thw: [k * n, 3] that a diffusion model makes its grids from, k for each: pictures to edit.
            pixels: [n, 3] frames, height and width in pixels of each picture or clip, of which a diffusion model's page
                knows the grid.
            images: how many images of the fixed size that the config states.
            audio_frames: [n] frames of each clip that enters an audio tower.
            routed: (useful, padded) visits of tokens to experts over all layers, as measured.
            measured: {name: useful} or {name: (useful, padded)} of the words Mask.measured(name) that the cost has.
            logits: the tokens whose logits are computed: "all", "last" (of each sequence), or how many: a number, numbers
                or a mask of 0 and 1, which are added up. All where neither this nor the plan says it.
            tally: a batch that was counted before.
            convention: a name, or one of `floptally.conventions()`.
            plan: what runs and what trains; a step that trains everything where it is not given.
        """
    def compare(
        self,
        *,
        convention: ConventionName | None = None,
        observed: str | None = None,
        log: str | PathLike[str] | None = None,
        seconds: float | None = None,
        gpus: int | None = None,
        accelerator: str | Accelerator | None = None,
        peak_tflops: float | None = None,
        peak_kind: PeakKind | None = None,
        precision: PrecisionName = "bf16",
        clock_mhz: float | None = None,
        plan: Plan | None = None,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        encoder_lengths_padded: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        grid_thw_padded: Grids | None = None,
        condition_grid_thw: Grids | None = None,
        pixels: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> Comparison:
        """The same step as every convention counts it, from each to exact term by term, and whose a number is.

        Args:
            convention: the only one that is listed; all where it is not given.
            observed: a number from a dashboard with its unit: "402TFLOP/s" (of one GPU), "3.21PFLOP" (of the step) or
                "40.7%" (an MFU).
            log: the path of a trainer's log whose steps are this batch, or as many of its sequences as the log says: of
                Megatron-LM, Megatron-Bridge, MaxText, torchtitan, recsys-examples or nanochat.
            seconds, gpus: of the step, for a rate and for an MFU; a log says its seconds itself.
            accelerator, peak_tflops, peak_kind, precision, clock_mhz: the peak of an MFU, as in `Breakdown.measure`.
            plan: what runs and what trains; a step that trains everything where it is not given.
            lengths, …, tally: as in `Cost.flops`. A tally must have been built for all conventions.
        """
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
        encoder_lengths_padded: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        requests: Requests | None = None,
        prefill_chunk: int | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        grid_thw_padded: Grids | None = None,
        condition_grid_thw: Grids | None = None,
        pixels: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        logits: LogitTokens | Logits | None = None,
        tally: Tally | None = None,
    ) -> Bytes:
        """Bytes that a batch moves between memory and units: component x phase x kind, as exact ints.

        `flops(...).bytes(...)` in one call. docs/plans.md says what is moved.

        Args:
            weight_bits: of a weight as it is read, 1 to 64.
            gradient_bits: of a weight's gradient.
            activation_bits: of an operand or a result.
            cache_bits: of a cached key or value.
            batches: microbatches of all replicas, each of which reads the weights.
            distinct_experts: whose weights were read, over all layers and batches, as a router's choices tell; without
                it
                weights of experts are an upper bound.
            plan: what runs and what trains; a step that trains everything where it is not given.
            lengths, …, tally: as in `Cost.flops`.
        """
    def total(
        self,
        *,
        view: ViewName = "useful",
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        encoder_lengths_padded: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        requests: Requests | None = None,
        prefill_chunk: int | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        grid_thw_padded: Grids | None = None,
        condition_grid_thw: Grids | None = None,
        pixels: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        logits: LogitTokens | Logits | None = None,
        tally: Tally | None = None,
    ) -> int:
        """FLOPs of a batch as one exact int: what `flops()` has as its total, for less.

        Args:
            view: "useful", "padded" or "executed".
            lengths, …, tally: as in `Cost.flops`.
            convention: a name, or one of `floptally.conventions()`.
            plan: what runs and what trains; a step that trains everything where it is not given.
        """
    def sample_flops(
        self,
        lengths: Integers,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        view: ViewName = "useful",
    ) -> list[int]:
        """FLOPs of each sequence: what balance() takes. They add up to the batch's."""
    def sample_loads(
        self,
        samples: Sequence[Tally],
        loads: Sequence[tuple[str, int] | tuple[str, int, int]],
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        view: ViewName = "useful",
    ) -> list[list[int]]:
        """Loads of each sample, a Tally of its own, by component: what balance() takes to even out several.

        loads: (components, load) or (components, load, weight), as ("vision.*", 0, 3); the last that fits a component
        decides, and one that none fits is an Error. weight: an integer in proportion, 3 beside 2 takes 1.5 times as
        long a FLOP.
        """
    @property
    def model_type(self) -> str:
        """The model type that the config names."""
    @property
    def notes(self) -> list[str]:
        """Decisions of the reader where the config is silent."""
    @property
    def parameters(self) -> int:
        """Weights stored: all experts; a tied embedding once."""
    @property
    def components(self) -> list[str]:
        """Names of its components, in forward order."""
    @property
    def masks(self) -> list[Mask]:
        """Masks whose attended pairs it counts."""
    @property
    def rows(self) -> list[Row]:
        """Its rows: FLOPs of a unit of a statistic each."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the cost as a file that load() reads in a millisecond: what from_torch took a minute for."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Cost:
        """A cost that save() wrote. Error where it is of another version, or not as it was written."""
    def keep(self, word: Mask) -> Cost:
        """This model, whose tallies and meters keep a word that it does not count: Mask.measured("loss_tokens")."""
    @property
    def plan(self) -> Plan:
        """The plan that holds where none is given: everything trains, or what a model with adapters says."""
    def planned(self, plan: Plan) -> Cost:
        """A model like this one, counted by this plan wherever none is given."""
    def on_rank(
        self,
        layout: ParallelLayout,
        *,
        layers_of_chunks: Integers | None = None,
        num_layers_in_first_pipeline_stage: SupportsIndex = 0,
        num_layers_in_last_pipeline_stage: SupportsIndex = 0,
        account_for_embedding_in_pipeline_split: bool = False,
        account_for_loss_in_pipeline_split: bool = False,
        vision_stage: SupportsIndex = 0,
        audio_stage: SupportsIndex = 0,
        sequence_parallel: bool = False,
        few_kv_heads: FewKvHeads = "replicated",
        make_vocab_size_divisible_by: SupportsIndex = 1,
    ) -> Cost:
        """The part of the model that the layout's rank runs: useful FLOPs are its share, executed ones what it computes.

        Over the tally of the rank's own tokens it is counted like any other; over all ranks the useful FLOPs are the
        model's. layers_of_chunks: of each of pp x vpp chunks; else layers are dealt evenly, by Megatron-Core's options.
        vision_stage, audio_stage: the pipeline rank that runs the tower. few_kv_heads: "replicated" or "gathered", where
        tp is above their number.
        """
    def with_muon(self, *, plan: Plan | None = None, iterations: int = 5, others: Sequence[str] = []) -> Cost:
        """This model, which also counts the products of the optimizer Muon for the weights that `plan` trains.

        They are a component optimizer.muon, once for each of measured={"optimizer_steps": n}. others: weights that
        another optimizer steps, as in WeightSetting ("moe.router", "vision.*").
        """
    def __add__(self, other: Cost) -> Cost: ...
    def __rmul__(self, times: int) -> Cost: ...
    def __eq__(self, other: object) -> bool: ...

class Tally:
    """Exact sums over sequences: what a batch is reduced to.

    Tally(cost) keeps what that cost needs in that convention and plan, Tally([masks]) those masks, and Tally(other)
    begins anew with the masks of another. Tallies of the same masks add up over microbatches, ranks and time in any
    order, bit for bit. Whatever raises leaves a tally as it was.
    """

    def __init__(
        self,
        cost_or_masks: Cost | Tally | Sequence[Mask] | None = None,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
    ) -> None: ...
    def add_lengths(self, lengths: Integers) -> None:
        """Sequences by their lengths in tokens: [n] integers."""
    def add_padded(self, lengths: Integers, row_length: int) -> None:
        """A BSHD batch: rows that are padded to one length."""
    def add_cu_seqlens(
        self,
        cu_seqlens: Integers,
        cu_seqlens_padded: Integers | None = None,
        num_real_seqs: int | None = None,
        cu_seqlens_real: Integers | None = None,
    ) -> None:
        """Boundaries [n + 1] of a packed row, and of the slots that kernels process. The sequences after num_real_seqs,
        or after those of cu_seqlens_real, are mock sequences."""
    def add_packed(self, cu_seqlens_real: Integers, cu_seqlens: Integers) -> None:
        """A packed row by the boundaries of its real sequences, and of all its slots, which may be more."""
    def add_attention_mask(self, attention_mask: Flags) -> None:
        """A BSHD batch by its mask [batch, tokens] of 0 and 1: ones are useful."""
    def add_encoder_decoder(self, lengths: Integers, encoder_lengths: Integers) -> None:
        """Both sides of an encoder-decoder."""
    def add_sequences(self, sequences: HstuSequences) -> None:
        """HSTU: a list of (contextual, history, targets[, group])."""
    def add_new_tokens(self, new_tokens: NewTokens | Integers, past: Integers | None = None) -> None:
        """A list of (n, past): n new tokens after past cached ones; or a list of each."""
    def add_hstu(
        self,
        lengths: Integers,
        contextual: Integers | None = None,
        targets: Integers | None = None,
        target_group: SupportsIndex = 1,
    ) -> None:
        """HSTU: total lengths, and the contextual tokens and targets among them, in groups of target_group."""
    def add_requests(self, requests: Requests, prefill_chunk: int | None = None) -> None:
        """Requests that are prefilled and decoded, (prompt, generated) or (prompt, generated, cached): all their passes."""
    def add_speculative(
        self, prompt: int, steps: Sequence[tuple[int, int]], *, model: Literal["target", "draft"] = "target"
    ) -> None:
        """The steps of a request after its prompt, (drafted, accepted) tokens each, as its target model runs them, or the
        draft model. Accepted tokens are useful, all that are run are padded; what a step generates is one more than it
        accepts. The prompt is add_requests([(prompt, 1)])."""
    def add_tree(self, parents: Sequence[int], lengths: Integers) -> None:
        """A tree of token runs, shared prefixes once: rollouts of one prompt. Node i holds lengths[i] tokens after those of
        its ancestors; parents[i] is the index of an earlier node, or -1."""
    def add_grid_thw(self, grid_thw: Grids) -> None:
        """Images and clips [n, 3]: frames, rows and columns of patches before merging."""
    def add_grids_with_text(self, grid_thw: Grids, encoder_lengths: Integers) -> None:
        """Samples of a diffusion model: grids of latents [n, 3], and the tokens [n] of the text of each."""
    def add_audio_frames(self, audio_frames: Integers) -> None:
        """Clips of sound [n] by the frames that enter the audio tower."""
    def add_routed(self, useful: int, padded: int) -> None:
        """Visits of tokens to experts over all layers, as measured."""
    def add_measured(self, name: str, useful: int, padded: int | None = None) -> None:
        """Adds to the word Mask.measured(name), with which this tally was built."""
    def get(self, statistic: Statistic, view: CountedView = "useful", tower: Tower = "text") -> int:
        """One sum: "count", "tokens", "keys", "squares", "cached", "crossed" or "routed"."""
    def pairs(self, mask: Mask, view: CountedView = "useful") -> int:
        """Attended pairs of one of the masks."""
    @property
    def masks(self) -> list[Mask]:
        """Masks whose attended pairs it keeps."""
    @property
    def tokens(self) -> int:
        """Real tokens, of the text."""
    def words(self) -> npt.NDArray[np.int64]:
        """All words as a new int64 array: what a SUM all-reduce takes."""
    @staticmethod
    def from_words(
        cost_or_masks: Cost | Tally | Sequence[Mask] | None,
        words: Integers,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
    ) -> Tally:
        """The tally whose words() were summed elsewhere."""
    def copy(self) -> Tally:
        """Another tally with these sums."""
    def __iadd__(self, other: Tally) -> Tally: ...
    def __add__(self, other: Tally) -> Tally: ...
    def __eq__(self, other: object) -> bool: ...

class Breakdown:
    """FLOPs of a batch: component x phase x view, as exact ints.

    useful: real tokens, what MFU is made of. padded: every slot that kernels process. executed: padded, plus recompute
    and what a fused attention backward computes again. str() is a table, in a notebook too.
    """

    @property
    def total(self) -> int:
        """Useful FLOPs of all phases."""
    @property
    def padded_total(self) -> int:
        """Padded FLOPs of all phases: every slot that kernels process."""
    @property
    def executed_total(self) -> int:
        """Executed FLOPs of all phases: padded ones, recompute and what a fused backward repeats."""
    @property
    def useful(self) -> View:
        """FLOPs of real tokens, a View: what MFU is made of."""
    @property
    def padded(self) -> View:
        """FLOPs of every slot that kernels process, a View."""
    @property
    def executed(self) -> View:
        """Padded FLOPs, recompute and what a fused backward repeats, a View."""
    @property
    def model_type(self) -> str:
        """The model type that the config names."""
    @property
    def convention(self) -> ConventionName:
        """The name of the convention that it is counted by."""
    @property
    def plan(self) -> Plan:
        """The plan: what ran and what trained."""
    @property
    def tally(self) -> Tally:
        """The exact sums over the batch that it was counted from."""
    @property
    def notes(self) -> list[str]:
        """Decisions of the reader, and doubts about bounds, peaks and rates."""
    @property
    def is_upper_bound(self) -> bool:
        """True where less may run: the plan trains parts of a model whose rows do not say what they read."""
    @property
    def padding(self) -> dict[str, int] | None:
        """Padded FLOPs by what they are spent on, exact ints: useful, in_slots (the rest of the slots of real sequences),
        mock (sequences without a real token) and vocabulary. None where nothing is padded, or where it was counted
        before, as a tally or by a meter."""
    @property
    def statistics(self) -> dict[str, Any]:
        """Sequences, tokens, squares and pairs, useful and padded."""
    @property
    def mfu(self) -> float:
        """Useful FLOPs over the peak; 0.412 is 41.2 %. Needs measure(), as the four below."""
    @property
    def padded_mfu(self) -> float:
        """FLOPs of every slot that kernels process, over the peak."""
    @property
    def hfu(self) -> float:
        """Executed FLOPs over the peak."""
    @property
    def tflops_per_gpu(self) -> float:
        """Useful TFLOP/s of one GPU."""
    @property
    def tokens_per_second(self) -> float:
        """Real tokens, of all GPUs together."""
    @property
    def mixed_mfu(self) -> float:
        """Each part of the work over the peak of its own precision."""
    @property
    def mixed_peak_tflops(self) -> float:
        """The one peak that mixed_mfu stands for."""
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
    ) -> Breakdown:
        """A breakdown like this one with MFU, padded MFU and HFU of a step that took so many seconds on so many GPUs.
        precisions: as a Meter has them, for mixed_mfu. peak_kind: what peak_tflops is (datasheet, boost, measured);
        clock_mhz: of the accelerator's boost peak."""
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
        microbatches: int | Sequence[Breakdown] | Sequence[Sequence[Breakdown]] | None = None,
        schedule: Schedule | None = None,
        replicas: int | None = None,
        layers_of_chunks: Sequence[int] | None = None,
        num_layers_in_first_pipeline_stage: int | None = None,
        num_layers_in_last_pipeline_stage: int | None = None,
        account_for_embedding_in_pipeline_split: bool | None = None,
        account_for_loss_in_pipeline_split: bool | None = None,
        tp: int | None = None,
        sequence_parallel: bool | None = None,
        cp: ContextShares | None = None,
        network_gbps: float | Mapping[str, float] | None = None,
        memory_tbps: float | None = None,
        batches: int | None = None,
        weight_bits: int | None = None,
        gradient_bits: int | None = None,
        activation_bits: int | None = None,
        cache_bits: int | None = None,
        distinct_experts: int | None = None,
        component_times: str | PathLike[str] | Mapping[str, Any] | TimesComponents | None = None,
        trace: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
        modules: str | None = None,
    ) -> Waterfall:
        """Where the time of a step went that did this work: from the peak down to the MFU, a line for each cause.

        What is not given is named in the last line and never guessed; what `measure()` was told need not be given
        again.

        Args:
            seconds: duration of the step; times that say it themselves need none.
            gpus: all of the job.
            accelerator: a name as the driver calls it, or an Accelerator.
            peak_tflops: dense peak of one GPU, which MFU is stated against; wins over `accelerator`.
            precision: of that peak; "bf16" where it is not given.
            precisions: of components and layers, "mlp=fp8,@1-30=fp8".
            clock_mhz: of the accelerator's boost peak.
            apart: {name: seconds} of the step that are no work. "exposed communication", "data wait", "optimizer",
                "elementwise" and "launches" have lines of their own; "transfer" is communication without the waiting
                for other ranks, which is taken out of the former where it is known.
            rank_work: own work of each rank in any unit, [ranks] ints; or {"largest", "sum", "ranks"}, as two
                reductions give it. With `pp` that of each replica.
            idle_gpus: of `gpus`, those that run none of the work.
            masked_tiles: a MaskedTiles of the same batch, or the FLOPs that kernels ran on masked pairs as an int.
            pp: ranks of a pipeline, over which the model's layers are dealt.
            vpp: chunks of layers on each of them; 1 where it is not given.
            microbatches: that each pipeline runs in the step, all alike; or the work of each, [microbatches] Breakdowns,
                or [replicas][microbatches], which add up to this one.
            schedule: "gpipe", "1f1b", "interleaved", "zero_bubble" (ZB-H1) or "zb_v"; 1f1b, or interleaved where vpp is
                above 1.
            replicas: pipelines beside each other; 1, or as many as `rank_work` or `microbatches` have.
            layers_of_chunks: layers of each chunk of the pipeline in forward order, [pp x vpp] ints.
            num_layers_in_first_pipeline_stage: as Megatron-LM's, as the three below.
            num_layers_in_last_pipeline_stage: the others share the rest.
            account_for_embedding_in_pipeline_split: True: the embedding takes the place of a layer.
            account_for_loss_in_pipeline_split: True: the lm_head takes the place of a layer.
            tp: tensor parallel ranks of each stage, which run what they cannot split each of them whole.
            sequence_parallel: True: weights that every one of them holds whole run on its share of the tokens.
            cp: a ContextShares of the same batch, whose ranks wait for the one with the most work.
            network_gbps: 10^9 bytes that a rank sends a second, of all groups or {"tp": …, "dp": …}: communication that nobody
                measured is estimated from its bytes, as if none of it were hidden.
            memory_tbps: bandwidth of one GPU's memory in TB/s, for what is bound by memory; wins over `accelerator`.
            batches: microbatches of all replicas, each of which reads the weights; those of the pipelines, else 1, where it
                is not given.
            weight_bits: of a weight as it is read; 16 where it is not given, as the three below.
            gradient_bits: of a weight's gradient.
            activation_bits: of an operand or a result.
            cache_bits: of a cached key or value.
            distinct_experts: whose weights were read, over all layers and batches, as measured.
            component_times: measured times of components: a ModuleTimer, what its times() returns, or the path of such
                a file.
            trace: the path of a step's trace, as torch.profiler's export_chrome_trace writes it, packed by gzip too; or
                a list of a path for each rank, whose waiting is told apart from transfer. What it says of the step is
                in the lines, but for what is given.
            modules: components of modules in the trace, before the usual ones: "*.mixer=mamba".
        """
    def fit(
        self,
        *,
        dp: int = 1,
        cp: int = 1,
        tp: int = 1,
        pp: int = 1,
        vpp: int = 1,
        ep: int = 1,
        sequence_parallel: bool = False,
        context_exchange: ContextExchange = "ring",
        zero: ZeroStates = "none",
        microbatches: int = 1,
        layers_of_chunks: Sequence[int] | None = None,
        optimizer: OptimizerStates = "adamw",
        weight_bits: int = 16,
        gradient_bits: int = 16,
        activation_bits: int = 16,
        cache_bits: int = 16,
        logits_bits: int = 16,
        cached_tokens: int = 0,
        flash_attention: bool = True,
        fused_elementwise: bool = True,
        hidden_dropout: bool = False,
        attention_dropout: bool = False,
        network_gbps: float | Mapping[str, float] | None = None,
        memory_gib: float | None = None,
    ) -> Fit:
        """What a rank of each pipeline stage holds and sends, where this work is one microbatch of a replica.

        docs/plans.md says what is held and sent. `str()` is a table, as the program `floptally fit` prints it.

        Args:
            dp, cp, tp, pp, vpp, ep: ranks along each axis, as in `ParallelLayout`.
            sequence_parallel: tensor parallel ranks share the tokens between their matrices.
            context_exchange: ring, all_gather or ulysses.
            zero: states that data parallel ranks split: none, optimizer, gradients or weights.
            microbatches: of each replica in a step.
            layers_of_chunks: of each chunk of the pipeline, in forward order; equally many where it is not given.
            optimizer: adamw, adamw_without_master, adamw_8bit, muon, sgd or sgd_momentum.
            weight_bits, gradient_bits, activation_bits, cache_bits: of an element.
            logits_bits: of all that the loss keeps of a logit.
            cached_tokens: whose keys and values a rank keeps.
            flash_attention: else the probabilities of all pairs are kept.
            fused_elementwise: else norms and gates keep what they made in between.
            hidden_dropout, attention_dropout: their masks are kept.
            network_gbps: 10^9 bytes that a rank sends a second, of all groups or {"tp": …, "dp": …}; each group that has one has
                a time.
            memory_gib: of one GPU; the table says whether it fits.
        """
    def bytes(
        self,
        *,
        weight_bits: int = 16,
        gradient_bits: int = 16,
        activation_bits: int = 16,
        cache_bits: int = 16,
        batches: int = 1,
        distinct_experts: int | None = None,
    ) -> Bytes:
        """Bytes that this work moves between memory and units: component x phase x kind, as exact ints.

        Work of a tally or a meter is taken to have no cached past where it trains, and is an Error where it does not.

        Args:
            weight_bits: of a weight as it is read, 1 to 64.
            gradient_bits: of a weight's gradient.
            activation_bits: of an operand or a result.
            cache_bits: of a cached key or value.
            batches: microbatches of all replicas, each of which reads the weights.
            distinct_experts: whose weights were read, over all layers and batches, as a router's choices tell; without
                it
                weights of experts are an upper bound.
        """
    def __add__(self, other: Breakdown) -> Breakdown: ...
    def named(self, name: str) -> StepWork:
        """This work under a name, to be added to that of another model or plan: a.named("rollout") + b.named("update")."""
    @property
    def _measured_by(self) -> dict[str, Any] | None: ...
    def to_dict(self) -> dict[str, Any]:
        """What the program prints as JSON: counts are decimal strings."""
    def _repr_html_(self) -> str: ...

class MaskedTiles:
    """What attention kernels compute on pairs that no mask lets through.

    Of each tile (queries, keys) with an attended pair a kernel computes all. Add the batch that is counted, as a
    Meter takes it: `Breakdown.waterfall(masked_tiles=…)` has a line for them. Attention over images and sound is
    left out.
    """

    def __init__(self, cost: Cost, tile: tuple[int, int] = (128, 128)) -> None: ...
    def add(
        self,
        *,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        encoder_lengths_padded: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        grid_thw_padded: Grids | None = None,
        condition_grid_thw: Grids | None = None,
        pixels: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> None:
        """Adds a batch.

        Args:
            lengths, …, tally: as in `Cost.flops`.
        """
    def executed(self, plan: Plan | None = None) -> int:
        """FLOPs of those pairs in a training step, as an exact int."""
    def __copy__(self) -> MaskedTiles: ...
    @property
    def tile(self) -> tuple[int, int]:
        """(rows of queries, columns of keys) that a kernel runs at once, in tokens."""
    @property
    def tally(self) -> Tally:
        """The batch."""

class ContextShares:
    """A batch dealt to the ranks of context parallelism, for `Breakdown.waterfall(cp=…)`.

    Add the batch that is counted, as a Meter takes it; what is added at once is one row.
    """

    def __init__(self, cost: Cost, cp: int, split: ContextSplit = "zigzag") -> None:
        """split: "zigzag" of each slot, "zigzag_row" of the whole row, or "contiguous"."""
    def add(
        self,
        *,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        encoder_lengths_padded: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: int | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        grid_thw_padded: Grids | None = None,
        condition_grid_thw: Grids | None = None,
        pixels: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        tally: Tally | None = None,
    ) -> None:
        """Adds a batch.

        Args:
            lengths, …, tally: as in `Cost.flops`.
        """
    def __copy__(self) -> ContextShares: ...
    @property
    def cp(self) -> int:
        """Ranks."""
    @property
    def split(self) -> ContextSplit:
        """How sequences are split."""
    @property
    def tallies(self) -> list[Tally]:
        """The batch of each rank; they add up to the whole."""

class Totals:
    """The totals of a step, an interval or a run.

    Counts and FLOPs are exact ints; each ratio is one sum over another, never a mean of ratios. A rate of no step is an
    Error.
    """

    @property
    def steps(self) -> int:
        """Steps that ended."""
    @property
    def seconds(self) -> float:
        """Seconds of all those steps, by the clock or as given."""
    @property
    def gpu_seconds(self) -> float:
        """Those seconds times the GPUs."""
    @property
    def useful(self) -> int:
        """FLOPs of real tokens, an exact int."""
    @property
    def padded(self) -> int:
        """FLOPs of every slot that kernels processed, an exact int."""
    @property
    def executed(self) -> int:
        """Padded FLOPs, recompute and what a fused backward repeats, an exact int."""
    @property
    def tally(self) -> Tally:
        """The exact sums over all its sequences."""
    @property
    def min_step_seconds(self) -> float:
        """Seconds of the shortest step, exact."""
    @property
    def max_step_seconds(self) -> float:
        """Seconds of the longest step, exact."""
    @property
    def tokens(self) -> int:
        """Real tokens; patches or frames of a model without text."""
    @property
    def padded_tokens(self) -> int:
        """Slots of tokens that kernels processed."""
    @property
    def samples(self) -> int:
        """Sequences with at least one real token."""
    @property
    def mfu(self) -> float:
        """Useful FLOPs over the peak; 0.412 is 41.2 %."""
    @property
    def padded_mfu(self) -> float:
        """FLOPs of every slot that kernels processed, over the peak."""
    @property
    def hfu(self) -> float:
        """Executed FLOPs over the peak."""
    @property
    def tflops(self) -> float:
        """Useful TFLOP/s of all GPUs together."""
    @property
    def tflops_per_gpu(self) -> float:
        """Useful TFLOP/s of one GPU."""
    @property
    def padded_tflops_per_gpu(self) -> float:
        """Padded TFLOP/s of one GPU."""
    @property
    def executed_tflops_per_gpu(self) -> float:
        """Executed TFLOP/s of one GPU."""
    @property
    def tokens_per_second(self) -> float:
        """Real tokens, of all GPUs together."""
    @property
    def tokens_per_second_per_gpu(self) -> float:
        """Real tokens, of one GPU."""
    @property
    def samples_per_second(self) -> float:
        """Sequences with at least one real token."""
    @property
    def useful_fraction(self) -> float:
        """Real tokens over slots."""
    @property
    def useful_flops_fraction(self) -> float:
        """Useful over padded FLOPs."""
    @property
    def step_seconds(self) -> float:
        """Mean."""
    def percentile(self, percent: float) -> float:
        """Seconds that so many per cent of the steps did not exceed, within 0.79 %."""

class DeviceTally:
    """What floptally.DeviceTally is made of."""

    def __init__(
        self,
        cost_or_masks: Cost | Tally | list[Mask] | None,
        *,
        device: SupportsIndex,
        snapshots: SupportsIndex,
        kernels: Callable[[], bytes],
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
    ) -> None:
        """Adds arrays that are on the device, in one launch, without a wait: cu_seqlens, lengths or an attention mask.
        """
    def add_cu_seqlens(
        self,
        cu_seqlens: DeviceArray,
        cu_seqlens_padded: DeviceArray | None = None,
        num_real_seqs: int | DeviceArray | None = None,
        cu_seqlens_real: DeviceArray | None = None,
        *,
        stream: object = None,
    ) -> None:
        """A packed row by its boundaries, as of a Tally, on the device."""
    def add_packed(self, cu_seqlens_real: DeviceArray, cu_seqlens: DeviceArray, *, stream: object = None) -> None:
        """A packed row by the boundaries of its real sequences, and of all its slots, which may be more."""
    def add_lengths(self, lengths: DeviceArray, *, stream: object = None) -> None:
        """Sequences by their lengths in tokens."""
    def add_padded(self, lengths: DeviceArray, row_length: SupportsIndex, *, stream: object = None) -> None:
        """A BSHD batch: rows that are padded to one length."""
    def add_attention_mask(self, attention_mask: DeviceArray, *, stream: object = None) -> None:
        """A BSHD batch by its mask [batch, tokens] of 0 and 1: ones are useful."""
    def add_encoder_decoder(self, lengths: DeviceArray, encoder_lengths: DeviceArray, *, stream: object = None) -> None:
        """Both sides of an encoder-decoder."""
    def add_new_tokens(self, new_tokens: DeviceArray, past: DeviceArray, *, stream: object = None) -> None:
        """New tokens after cached ones: how many and, one for each, the tokens before them."""
    def add_hstu(
        self,
        lengths: DeviceArray,
        contextual: DeviceArray | None = None,
        targets: DeviceArray | None = None,
        target_group: SupportsIndex = 1,
        *,
        stream: object = None,
    ) -> None:
        """HSTU: total lengths, and the contextual tokens and targets among them, in groups of target_group."""
    def add_grid_thw(self, grid_thw: DeviceArray, *, stream: object = None) -> None:
        """Images and clips [n, 3]: frames, rows and columns of patches before merging."""
    def add_audio_frames(self, audio_frames: DeviceArray, *, stream: object = None) -> None:
        """Clips of sound [n] by the frames that enter the audio tower."""
    def snapshot(self, *, reset: bool = False, stream: object = None) -> None:
        """Keeps what the stream has counted so far for poll(); with reset it begins anew after it. One launch."""
    def reset(self, *, stream: object = None) -> None:
        """Begins anew, error included."""
    def poll(self) -> Tally | None:
        """The next snapshot that is there, in order, or None. Asks nobody and never waits."""
    def read(self, *, stream: object = None) -> Tally:
        """What the stream has counted so far. Waits until it has done all that is queued on it."""
    @property
    def device(self) -> int:
        """The number of the device."""

class Meter:
    """The meter of a training loop: its last step, interval and run.

    gpus: all that work on the sequences which the meter counts. Where they are several it must know whose those are:
    reduce: a floptally.distributed.Reduction, which sums what each rank adds as the step ends (gpus are then its
    ranks); or counted="all_gpus", where what is added is of all GPUs already: one process counts for them, or it is
    reduced before. accelerator: a name as the driver calls it, or an Accelerator; peak_tflops (dense, of one GPU) wins
    over it, and peak_kind says what it is (datasheet, boost, measured). clock_mhz: that of the accelerator's boost
    peak. clock: any function that returns seconds. precisions: what runs in another precision than `precision`, by
    component and by layer: "mlp=fp8,@1-30=fp8" (layers 1 to 30); scalars then have mfu_mixed_pct and its denominator,
    mixed_peak_tflops. beside: a second convention, whose numbers scalars then have too, under its name: mfu_megatron_pct,
    tflops_megatron_per_gpu, and both _padded.

        with meter.step():
            for batch in microbatches:
                train(batch)
                meter.add(cu_seqlens=batch.cu_seqlens)
    """

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
        beside: ConventionName | Convention | None = None,
    ) -> None: ...
    def begin_step(self) -> None:
        """Opens a step, and its clock."""
    def end_step(self, seconds: float | None = None) -> None:
        """Ends the step, by the clock or by a time in seconds that is given."""
    def discard_step(self) -> None:
        """Forgets the open step: it failed."""
    def step(self, seconds: float | None = None) -> MeteredStep:
        """A step as a context manager; one that raises is discarded."""
    def add(
        self,
        *,
        lengths: Integers | None = None,
        row_length: int | None = None,
        encoder_lengths: Integers | None = None,
        encoder_lengths_padded: Integers | None = None,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        cu_seqlens_real: Integers | None = None,
        num_real_seqs: SupportsIndex | None = None,
        attention_mask: Flags | None = None,
        new_tokens: NewTokens | None = None,
        requests: Requests | None = None,
        prefill_chunk: int | None = None,
        sequences: HstuSequences | None = None,
        grid_thw: Grids | None = None,
        grid_thw_padded: Grids | None = None,
        condition_grid_thw: Grids | None = None,
        pixels: Grids | None = None,
        images: int | None = None,
        audio_frames: Integers | None = None,
        routed: tuple[int, int] | None = None,
        measured: dict[str, int | tuple[int, int]] | None = None,
        logits: Logits | None = None,
        tally: Tally | None = None,
    ) -> None:
        """Counts one microbatch of the open step.

        Args:
            lengths, …, tally: as in `Cost.flops`.
        """
    def add_lengths(self, lengths: Integers) -> None:
        """Sequences by their lengths, as of a Tally."""
    def add_padded(self, lengths: Integers, row_length: int) -> None:
        """A BSHD batch: rows that are padded to one length."""
    def add_cu_seqlens(
        self,
        cu_seqlens: Integers,
        cu_seqlens_padded: Integers | None = None,
        num_real_seqs: SupportsIndex | None = None,
        cu_seqlens_real: Integers | None = None,
    ) -> None:
        """A packed row by its boundaries, as of a Tally."""
    def add_packed(self, cu_seqlens_real: Integers, cu_seqlens: Integers) -> None:
        """A packed row by the boundaries of its real sequences, and of all its slots, which may be more."""
    def add_attention_mask(self, attention_mask: Flags) -> None:
        """A BSHD batch by its mask [batch, tokens] of 0 and 1: ones are useful."""
    def add_encoder_decoder(self, lengths: Integers, encoder_lengths: Integers) -> None:
        """Both sides of an encoder-decoder."""
    def add_new_tokens(self, new_tokens: NewTokens | Integers, past: Integers | None = None) -> None:
        """New tokens after cached ones, as of a Tally."""
    def add_hstu(
        self,
        lengths: Integers,
        contextual: Integers | None = None,
        targets: Integers | None = None,
        target_group: SupportsIndex = 1,
    ) -> None:
        """Samples of HSTU, as of a Tally."""
    def add_grid_thw(self, grid_thw: Grids) -> None:
        """Images and clips [n, 3], as of a Tally."""
    def add_audio_frames(self, audio_frames: Integers) -> None:
        """Clips of sound [n] by their frames."""
    def timed(
        self,
        name: str,
        *,
        plan: Plan | None = None,
        cost: Cost | None = None,
        convention: ConventionName | Convention | None = None,
        gpus: int | None = None,
        peak_tflops: float | None = None,
        seconds: float | None = None,
        learner: bool = True,
        memory_tbps: float | None = None,
    ) -> TimedPass:
        """A pass of the open step as a context manager, with its own model, plan and batch; its seconds are its own.

            with meter.timed("rollout", plan=decode, learner=False) as rollout:
                generate(prompts)
                rollout.add(requests=requests)

        A step of passes is in `passes()`, not in the meter's own totals. A GPU that works behind the host is to be waited
        for at both ends.

        Args:
            name: "rollout", "old_log_prob", "ref", "update"; passes of one name add up.
            plan: what runs and what trains; the meter's, or that of `cost`, where it is not given.
            cost: of another model than the meter's.
            convention: as the meter's where it is not given.
            gpus: that ran it; all of the meter's where it is not given.
            peak_tflops: of one of them, where it is not the meter's.
            seconds: that it took, where the clock here does not see it, as with a remote worker.
            learner: False for an engine that generates: such a pass is in the whole and not in the learner's MFU.
            memory_tbps: bandwidth of one GPU's memory, for an MBU: weights and cache over what it could move.
        """
    def passes(self, span: Span = "step") -> StepPasses:
        """Passes of the last step, the interval or the run: each over its own time, the learner's, and the whole."""
    @property
    def _passes(self) -> Passes: ...
    @property
    def _now(self) -> float: ...
    def add_later(self, batch: Later) -> None:
        """Counts one microbatch of the open step whose numbers are still on their way: an object with done(), wait()
        and arguments(), the keywords of add() once it is done. One with failed(error) is told there why it cannot be
        counted, and its step is left out; else that is the error of a later call."""
    def finish(self) -> None:
        """Waits for the microbatches of ended steps that are on their way from a GPU: all totals are then there."""
    def new_tally(self) -> Tally:
        """An empty tally that add(tally=…) takes."""
    def breakdown(self, span: Span = "interval") -> Breakdown:
        """FLOPs of the "step", the "interval" or the "run" by component."""
    @property
    def in_step(self) -> bool:
        """True where a step is open."""
    @property
    def last_step(self) -> Totals:
        """Totals of the step that ended last."""
    @property
    def interval(self) -> Totals:
        """Totals since reset_interval(), or since the first step."""
    @property
    def run(self) -> Totals:
        """Totals of all steps."""
    def reset_interval(self) -> None:
        """As after each line of a log."""
    def scalars(self, span: Span = "interval", prefix: str = "train/") -> dict[str, float]:
        """Scalars for a logger: name to value, of the "step", the "interval" or the "run"."""
    def begin_run(self, clock: Callable[[], float] | None = None) -> None:
        """Begins to keep the run's wall clock, over its restarts: as early as the process can, and before
        load_state_dict. clock: seconds since 1970, `time.time` unless given."""
    def spend(self, name: str, seconds: float) -> None:
        """Time of the wall clock that is in no step: "checkpoint", "evaluation", "data", whatever it is called."""
    def spending(self, name: str) -> Spending:
        """A context manager whose time is spent under that name."""
    @property
    def goodput(self) -> Goodput:
        """What the run made of its wall clock, since begin_run()."""
    def to_open_metrics(self, run: str = "") -> str:
        """The run's counters in the text format of OpenMetrics, for an endpoint that Prometheus scrapes.

        Args:
            run: a label of all samples, which tells runs of one job apart.
        """
    def state_dict(self) -> dict[str, Any]:
        """The run's totals for a checkpoint: a dict of strings, numbers and lists."""
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from a checkpoint, before the first step."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the run's totals as a file: whatever fails or ends the process, it has these totals or those before."""
    def load(self, path: str | PathLike[str]) -> None:
        """Goes on from a file that save() wrote, before the first step."""
    def step_percentiles(self) -> dict[str, float]:
        """Seconds of this process's steps but the first 10: p10, p25, p50, p75, p90, p99, within 0.79 %."""
    def leave_out(self, steps: SupportsIndex) -> None:
        """Another number of first steps that step_percentiles leaves out."""
    @property
    def counted(self) -> str:
        """Whose FLOPs its numbers are, over whose GPUs: "summed over 16 ranks", "of 1 GPU"."""
    @property
    def reduces(self) -> bool:
        """True where it sums over ranks itself."""
    @property
    def cost(self) -> Cost:
        """The model that it counts."""
    @property
    def plan(self) -> Plan:
        """The plan: what runs and what trains."""
    @property
    def convention(self) -> ConventionName:
        """The name of the convention that it counts by."""
    @property
    def beside(self) -> str | None:
        """The name of the second convention, where it shows one."""
    @property
    def gpus(self) -> int:
        """GPUs whose peak the rates are of: all that work on the sequences counted."""
    @property
    def peak_tflops(self) -> float:
        """Dense TFLOP/s of one GPU that an MFU is a share of."""
    @property
    def accelerator(self) -> str:
        """The name of the part; empty where the peak was given."""
    @property
    def precision(self) -> PrecisionName:
        """That of the peak: "bf16", …"""
    @property
    def peak_kind(self) -> PeakKind | Literal["unsaid"]:
        """datasheet, boost or measured; unsaid where a number was given alone."""
    @property
    def peak_quality(self) -> Quality:
        """How good the source of the accelerator's figures is: vendor_document, vendor_slide or third_party."""

def _pass_rates(
    passes: list[tuple[Any, ...]], seconds: float, gpu_seconds: float, peak_tflop: float
) -> tuple[str, str, list[dict[str, Any]], float]: ...
def address_of(values: Integers) -> int:
    """Where integers are read from: the array's own memory, or that of a copy of a list."""
def cost(
    config: str,
    *,
    is_path: bool = False,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    page: Sequence[tuple[str, str]] = [],
    parts: Sequence[str] = [],
    strict: bool = False,
) -> Cost:
    """The cost of a model by the JSON of its config, or by its path; page: texts of pages and their files."""
def flops(
    config: ConfigLike,
    *,
    lengths: Integers | None = None,
    row_length: int | None = None,
    encoder_lengths: Integers | None = None,
    encoder_lengths_padded: Integers | None = None,
    cu_seqlens: Integers | None = None,
    cu_seqlens_padded: Integers | None = None,
    cu_seqlens_real: Integers | None = None,
    num_real_seqs: int | None = None,
    attention_mask: Flags | None = None,
    new_tokens: NewTokens | None = None,
    requests: Requests | None = None,
    prefill_chunk: int | None = None,
    sequences: HstuSequences | None = None,
    grid_thw: Grids | None = None,
    grid_thw_padded: Grids | None = None,
    condition_grid_thw: Grids | None = None,
    pixels: Grids | None = None,
    images: int | None = None,
    audio_frames: Integers | None = None,
    routed: tuple[int, int] | None = None,
    measured: dict[str, int | tuple[int, int]] | None = None,
    logits: LogitTokens | Logits | None = None,
    tally: Tally | None = None,
    convention: ConventionName | Convention = "exact",
    plan: Plan | None = None,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    page: PageLike | Sequence[PageLike] | None = None,
    strict: bool = False,
) -> Breakdown:
    """FLOPs of one batch: component x phase x view, as exact ints.

    Everything that is given of the batch is added up. To count every step, keep the cost: `model =
    floptally.cost(config)`, then `model.flops(lengths=...)` with the same keywords.

    Args:
        config: what `floptally.cost` takes, or a `Cost`.
        lengths, …, tally: as in `Cost.flops`.
        convention: a name, or one of `floptally.conventions()`.
        plan: what runs and what trains; a step that trains everything where it is not given.
        mla: core of latent attention, "expanded" or "absorbed".
        mtp: layers of multi-token prediction that are trained.
        padded_vocab_size: of the lm_head as kernels run it; 0 is as the config says.
        page: how the config of a model that is not known is read: the path or the text of a page, or several.
        strict: a key that nothing reads, and a size that the config does not say, are errors, not notes.

    Raises:
        floptally.Error: bad input, with the name of the field; a `ValueError`.
    """
def models() -> list[str]:
    """The model types that cost() knows."""
def readable(flops: int) -> str:
    """FLOPs in words: "421.65 TFLOP"."""
def run_program(arguments: Sequence[str | bytes]) -> int:
    """The program floptally: its exit status. The first argument is its name."""

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
    def rank(self) -> int:
        """This rank in the whole job, from 0."""
    @property
    def world_size(self) -> int:
        """Ranks of the whole job."""
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
    """The share of a statistic that the ranks along each axis hold."""

    def __init__(self, preset: ScopeName | Scope = "microbatch", **kwargs: Share) -> None:
        """A preset ("microbatch", "context_slice", "first_stage", "last_stage", "own_routers"), changed along dp, cp, tp,
        pp or virtual_stages to "replicated", "trusted", "sharded", "first" or "last"."""
    def trusting_replicas(self) -> Scope:
        """A scope like this one with nothing to compare: for a sum over a group that leaves replicas out."""
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
        """The sum without communication, where all ranks have equal lengths, which the caller says."""

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

class TokenSplit:
    """A split of a row's tokens over context-parallel ranks, of which all hold equally many."""

    @staticmethod
    def zigzag(tokens: SupportsIndex, cp: SupportsIndex) -> TokenSplit:
        """Of 2cp chunks a rank has the one at its number and the one as far from the end: equal causal work. `tokens` is
        a multiple of 2cp."""
    @staticmethod
    def contiguous(tokens: SupportsIndex, cp: SupportsIndex) -> TokenSplit:
        """One run of tokens for each rank, as Ulysses has it outside of attention."""
    @staticmethod
    def zigzag_of_each(cu_seqlens_padded: Integers, cp: SupportsIndex) -> TokenSplit:
        """Zigzag within each slot of a pack: Transformer Engine's THD layout."""
    @property
    def cp(self) -> int:
        """Ranks that share the row."""
    @property
    def tokens(self) -> int:
        """Of the whole row."""
    @property
    def tokens_per_rank(self) -> int:
        """Of each rank."""
    def ranges(self, rank: SupportsIndex) -> list[tuple[int, int]]:
        """[first, last) of the runs that a rank holds, in the order of its own tokens."""
    def indices(self, rank: SupportsIndex) -> npt.NDArray[np.int64]:
        """The tokens that a rank holds."""
    def gathered_order(self) -> npt.NDArray[np.int64]:
        """The token at each place of an all-gather of the shards."""
    def restoring_order(self) -> npt.NDArray[np.int64]:
        """The place of each token in an all-gather of the shards: what restores the row."""
    def shard(self, row: ArrayT, rank: SupportsIndex, *, axis: int = -1) -> ArrayT:
        """The rank's tokens of an array or a tensor, along `axis`."""
    def merge(self, shards: Sequence[ArrayT], *, axis: int = -1) -> ArrayT:
        """The row again, of the shards of all ranks in their order."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class ContextParallelRow:
    """A packed row, or a BSHD batch row by row, whose tokens context-parallel ranks share.

    Tallies of all ranks add up to the row's, word for word, whatever the masks.
    """

    def __init__(
        self,
        split: TokenSplit,
        *,
        cu_seqlens: Integers | None = None,
        cu_seqlens_padded: Integers | None = None,
        num_real_seqs: SupportsIndex | None = None,
        attention_mask: Flags | None = None,
    ) -> None:
        """cu_seqlens, …, attention_mask: as in `Tally`, one of the two kinds; the split is of the slots."""
    def tokens(self, view: CountedView = "useful") -> list[int]:
        """Of each rank."""
    def pairs(self, mask: Mask, view: CountedView = "useful") -> list[int]:
        """Attended pairs of each rank's queries."""
    def tally(
        self,
        rank: SupportsIndex,
        cost_or_masks: Cost | Tally | Sequence[Mask] | None,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        bidirectional: bool = False,
    ) -> Tally:
        """A rank's share of the row's statistics, which knows whose share it is. bidirectional: of a model that attends
        both ways, so that a rank's squares are its pairs."""

class ExchangePlan:
    """The bytes that each rank sends and receives when samples of different sizes move between ranks.

    Every rank makes the same plan of the same numbers. `floptally.distributed.exchange` carries it out.
    """

    def __init__(
        self,
        owners: Integers,
        destinations: Integers,
        sizes: Integers,
        ranks: SupportsIndex,
        *,
        bytes_per_element: SupportsIndex = 1,
        window: SupportsIndex = 1,
        max_buffer_bytes: SupportsIndex = 17179869176,
    ) -> None:
        """owners, destinations, sizes: of each sample its rank, the rank that it goes to, its elements. window:
        microbatches that are dealt together; a destination is then microbatch * ranks + rank."""
    @property
    def ranks(self) -> int:
        """Ranks that exchange."""
    @property
    def window(self) -> int:
        """Microbatches that are dealt together, one exchange each."""
    @property
    def owners(self) -> npt.NDArray[np.int64]:
        """The rank that has each sample."""
    @property
    def destinations(self) -> npt.NDArray[np.int64]:
        """Where each sample goes: microbatch * ranks + rank."""
    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Bytes of each sample, without padding."""
    def samples_of(self, microbatch: SupportsIndex) -> npt.NDArray[np.int64]:
        """The samples of a microbatch, on all ranks."""
    def for_rank(self, rank: SupportsIndex, microbatch: SupportsIndex = 0) -> RankExchange:
        """The buffers that a rank sends and receives."""
    def inverse(self) -> ExchangePlan:
        """The way back: each sample returns to its owner."""
    def with_sizes(
        self, sizes: Integers, *, bytes_per_element: SupportsIndex = 1, max_buffer_bytes: SupportsIndex = 17179869176
    ) -> ExchangePlan:
        """The plan of another payload of the same samples."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class CanonicalGroups:
    """Groups of a batch whose modules have different data-parallel sizes: as many as their least common multiple, so that
    each replica of each module owns equally many adjacent ones."""

    def __init__(self, dp_sizes: Integers) -> None:
        """dp_sizes: of each module."""
    @property
    def size(self) -> int:
        """How many groups there are."""
    def groups_of(self, module: SupportsIndex, dp_rank: SupportsIndex) -> range:
        """Those that a replica of a module owns."""
    def ranks_of(self, module: SupportsIndex, groups: Integers) -> npt.NDArray[np.int64]:
        """The replica of a module that owns each sample's group."""

class MemoryProbe:
    """Samples of a device's memory at chosen steps; without `profile_steps` it calls nothing.

    backend: has `reset_high_marks()` and `sample()`, which gives `free`, `total`, `pool_used_high` and
        `pool_reserved_high` in bytes: `floptally.memory.TorchMemory`.
    layout: this rank, for rows and names. start(max_entries), stop(name, step): a framework's own recorder, which writes
        the step's snapshot.
    """

    def __init__(
        self,
        backend: MemoryBackend,
        *,
        profile_steps: Integers = [],
        max_entries: SupportsIndex = 100000,
        layout: ParallelLayout | None = None,
        start: Callable[[int], object] | None = None,
        stop: Callable[[str, int], object] | None = None,
    ) -> None: ...
    def begin_step(self, step: SupportsIndex) -> None:
        """Resets the high-water marks and samples, where the step is one of `profile_steps`."""
    def end_step(self, step: SupportsIndex) -> None:
        """Samples again, and keeps the row."""
    def step(self, step: SupportsIndex) -> ProbedStep:
        """The same as a context manager. A step that raises has its row, and its snapshot, all the same."""
    @property
    def rows(self) -> list[dict[str, int]]:
        """Of each profiled step: step, rank, p, d, c, t, free_before, free_after, total, pool_used_high and
        pool_reserved_high."""

def snapshot_name(layout: ParallelLayout | None, step: SupportsIndex) -> str:
    """"snapshot_rank03_p0d1c0t1_step7"."""
def logits_bytes(
    tokens: SupportsIndex,
    vocabulary: SupportsIndex,
    *,
    bytes_per_element: SupportsIndex = 2,
    context_parallel: SupportsIndex = 1,
    tensor_parallel: SupportsIndex = 1,
) -> LogitsBytes:
    """Bytes of a rank's logits, of all `tokens` of a microbatch: of its own part, gathered, and while they are
    gathered."""
def state_bytes(
    parameters: SupportsIndex,
    trainable: SupportsIndex | None = None,
    *,
    zero: ZeroStates = "none",
    data_parallel: SupportsIndex = 1,
    optimizer: OptimizerName = "mixed_precision_adam",
) -> StateBytes:
    """Bytes of weights, gradients and optimizer state of a rank that is given so many parameters."""
def cp_alignment(tp: SupportsIndex, cp: SupportsIndex, extra: SupportsIndex = 1) -> int:
    """The alignment of slots that gives equal shards: tp * cp * 2 (tp where cp is 1), and a multiple of `extra`."""
def aligned_cu_seqlens(cu_seqlens: Integers, alignment: SupportsIndex) -> npt.NDArray[np.int64]:
    """Boundaries of slots in which each sequence is padded to a multiple of `alignment`."""
def pack_by_capacity(
    lengths: Integers, capacity: SupportsIndex, *, alignment: SupportsIndex = 1, min_rows: SupportsIndex = 0,
    divisor: SupportsIndex = 1,
) -> Packing:
    """Samples in rows of at most `capacity` tokens, by first-fit decreasing; at least `min_rows` rows, a multiple of
    `divisor`."""
def pack_into_rows(
    lengths: Integers, row_of: Integers, rows: SupportsIndex, *, alignment: SupportsIndex = 1
) -> Packing:
    """Samples in the rows that `row_of` says, as `Assignment.rank_of` does."""
def utilize(
    modules: Sequence[StepModule], *, seconds: float, gpus: SupportsIndex, peak_tflops: float
) -> ModuleUtilization:
    """MFU of a step whose modules have ranks, sizes and precisions of their own. gpus: all ranks of the job;
    peak_tflops: of a rank that runs no module."""

# Values that Python's classes are made of.
def _accelerators(name: str | None = None) -> list[tuple[Any, ...]]:
    """The fields of an Accelerator for the part of a name, or for every part."""
def _peak_tflops(name: str, precision: Precision, clock_mhz: float | None = None) -> float:
    """Dense TFLOP/s of a part, as published or at a clock."""
def _coefficient_hash(cost: Cost, convention: str, plan: Plan | None) -> int:
    """A hash of what a cost counts by a convention and a plan."""
def _conventions() -> list[tuple[ConventionName, str]]:
    """Name and summary of every convention."""
def _fit(
    work: Breakdown,
    *,
    dp: int = 1,
    cp: int = 1,
    tp: int = 1,
    pp: int = 1,
    vpp: int = 1,
    ep: int = 1,
    sequence_parallel: bool = False,
    context_exchange: ContextExchange = "ring",
    zero: ZeroStates = "none",
    microbatches: int = 1,
    layers_of_chunks: Sequence[int] | None = None,
    optimizer: OptimizerStates = "adamw",
    weight_bits: int = 16,
    gradient_bits: int = 16,
    activation_bits: int = 16,
    cache_bits: int = 16,
    logits_bits: int = 16,
    cached_tokens: int = 0,
    flash_attention: bool = True,
    fused_elementwise: bool = True,
    hidden_dropout: bool = False,
    attention_dropout: bool = False,
    network_gbps: Mapping[str, float] | None = None,
    memory_gib: float | None = None,
) -> tuple[str, str, str]:
    """The JSON of a fit, its table, and the JSON of that."""
def _require_same_plan(plan: ExchangePlan, reducer: Reducer) -> None:
    """Raises on all ranks where their plans differ."""
def _prepare_together(prepare: Callable[[], object], *, rank: int, reducer: Reducer) -> None:
    """Calls, and raises on all ranks where that raised on one."""
def _require_held(tokens: Integers, *, scope: ScopeName | Scope, layout: ParallelLayout, reducer: Reducer) -> None:
    """Raises on all ranks where they do not hold what the scope says."""
def _bytes(
    work: Breakdown,
    *,
    weight_bits: int = 16,
    gradient_bits: int = 16,
    activation_bits: int = 16,
    cache_bits: int = 16,
    batches: int = 1,
    distinct_experts: int | None = None,
) -> tuple[str, str, str, dict[str, dict[str, dict[str, int]]]]:
    """What `Bytes` is made of: its JSON, its table, the JSON of that, its phases."""
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
) -> tuple[float, bool, float | None]:
    """What `Bytes.mbu` is."""
def _step_waterfall(
    work: Breakdown,
    request: str,
    tiles: MaskedTiles | None,
    microbatches: list[list[Breakdown]],
    cp: ContextShares | None,
    measured: Any = None,
    accelerator: str | Accelerator | None = None,
    peak_tflops: float | None = None,
    peak_kind: PeakKind | None = None,
    precision: Precision | None = None,
    precisions: str | None = None,
    clock_mhz: float | None = None,
    memory_tbps: float | None = None,
    batches: int | None = None,
    weight_bits: int | None = None,
    gradient_bits: int | None = None,
    activation_bits: int | None = None,
    cache_bits: int | None = None,
    distinct_experts: int | None = None,
) -> dict[str, Any]:
    """Texts of the waterfall of a request as JSON, what loggers take of it, and the step itself."""
def _write_whole(path: bytes, text: str) -> None:
    """Writes a file whole or not at all."""
def _fitting_pipelines(work: Breakdown, request: str) -> str:
    """JSON of pipelines that fit the memory, how many do not and how many cannot be split, and what is kept."""
def _times_of_traces(work: Breakdown, paths: list[bytes], modules: str | None) -> str:
    """JSON of the times of the traces of a step's ranks, what else they say of it, notes, and each rank's step."""
def _read_throughput_log(text: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Steps and layers of a log's text, the fields of each as a tuple."""
def _train_line_text(line: tuple[Any, ...]) -> str:
    """The fields of a TrainLine as logs have it."""
def _layer_line_text(line: tuple[Any, ...]) -> str:
    """The fields of a LayerLine as logs have it."""
def _compare(experiments: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The fields of a row for each run, whose own fields are given."""
