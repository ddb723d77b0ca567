# SPDX-License-Identifier: Apache-2.0
# Types and docstrings of the extension. tests/python/test_typing.py compares the types with the extension (stubtest).

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, SupportsIndex, TypeVar

import numpy as np
import numpy.typing as npt
from typing_extensions import TypedDict, Unpack

from ._accelerators import Accelerator
from ._balance import Assignment
from ._breakdown import View
from ._bytes import Bytes
from ._comparison import Comparison
from ._conventions import Convention
from ._errors import Error as Error, LeftOut as LeftOut, Overflow as Overflow
from ._fit import Fit
from ._goodput import Goodput, Spending
from ._deferred import MeteredStep
from ._passes import Passes, StepPasses, StepWork, TimedPass
from ._search import Search
from ._shards import LogitsBytes, ModuleUtilization, Packing, ProbedStep, RankExchange, StateBytes, StepModule
from ._types import ConfigLike, Costs, DeviceArray, Flags, Grids, HstuSequences, Integers, Deferred, Logits, MemoryBackend, NewTokens, SpecLike, Reducer, Requests, TimesComponents
from ._waterfall import Waterfall
from ._literals import (
    Axis, BalanceMode, BalanceSeed, BlockFormat, ContextExchange, ContextSplit, ConventionName, CountedFor, CountedView, FewKvHeads,
    IndexerTraining,
    LatentAttention, LayerModule, LayerSplit, LayoutFormat, LogitTokens, OptimizerName, OptimizerStates, PeakKind, Phase, Precision, PrecisionName,
    Quality, Recompute, EntryKind,
    PairShape, Schedule, ScopeName, Placement, Span, Split, Statistic, Tower, Trainer, ViewName, WeightState, WorkUnit, ZeroStates,
)  # fmt: skip

ArrayT = TypeVar("ArrayT")

#: The version of floptally, such as "0.3.0". Between releases it has the commit: "0.3.0.dev0+g497262f".
__version__: str
#: The version of the counted numbers. Two releases with the same version count the same FLOPs and read each other's saved
#: states.
numbers_version: int

# The keywords of a batch. Each may be left out or None. signatures.py lists them in the signature of a function that
# takes **batch.
class _Batch(TypedDict, total=False):
    lengths: Integers | None
    row_length: int | None
    encoder_lengths: Integers | None
    encoder_row_length: int | None
    encoder_lengths_padded: Integers | None
    cu_seqlens: Integers | None
    cu_seqlens_padded: Integers | None
    cu_seqlens_real: Integers | None
    num_real_seqs: SupportsIndex | None
    attention_mask: Flags | None
    new_tokens: NewTokens | None
    sequences: HstuSequences | None
    grid_thw: Grids | None
    grid_thw_padded: Grids | None
    condition_grid_thw: Grids | None
    pixels: Grids | None
    images: int | None
    audio_frames: Integers | None
    routed: tuple[int, int] | None
    measured: dict[str, int | tuple[int, int]] | None

class _Packs(_Batch, total=False):
    tally: Tally | None

class _MeterBatch(_Batch, total=False):
    requests: Requests | None
    prefill_chunk: int | None
    logits: Logits | None
    tally: Tally | None

class _CostBatch(_Batch, total=False):
    requests: Requests | None
    prefill_chunk: int | None
    logits: LogitTokens | Logits | None
    tally: Tally | None

class Mask:
    """Says which keys each query attends. Immutable. Make one by the static methods: Mask.causal(),
    Mask.sliding_window(4096), …"""

    @staticmethod
    def causal() -> Mask:
        """Returns the causal mask: a query attends itself and all earlier tokens. A sequence of L tokens has L(L+1)/2
        attended pairs."""
    @staticmethod
    def bidirectional() -> Mask:
        """Returns the mask in which every query attends every key: L² pairs for a sequence of L tokens."""
    @staticmethod
    def sliding_window(tokens: int) -> Mask:
        """Returns a causal sliding window: a query attends the last `tokens` tokens up to itself, itself included."""
    @staticmethod
    def window(left: int, right: int) -> Mask:
        """Returns a window mask: a query attends itself, `left` keys before it and `right` keys after it. -1 means
        unlimited."""
    @staticmethod
    def chunked(tokens: int) -> Mask:
        """Returns the mask of chunked attention: a sequence is cut into chunks of `tokens` tokens. A query attends
        itself and the earlier tokens of its chunk."""
    @staticmethod
    def top_k(keys: int) -> Mask:
        """Returns the mask of sparse attention with an indexer: a query attends at most `keys` of the tokens up to
        itself. These are the tokens that the indexer scores highest."""
    @staticmethod
    def compressed_keys(ratio: int) -> Mask:
        """Returns the mask of attention to compressed keys: each complete block of `ratio` tokens is compressed to one
        key. A query attends the keys of all complete blocks up to itself."""
    @staticmethod
    def cross_attention() -> Mask:
        """Returns the mask of cross attention: every query of the decoder attends every token of the encoder's
        output."""
    @staticmethod
    def encoder() -> Mask:
        """Returns the mask of an encoder: every token of the encoder attends every token of the encoder."""
    @staticmethod
    def encoder_window(left: int, right: int) -> Mask:
        """Returns a window mask of an encoder: a token attends itself, `left` tokens before it and `right` after it. -1
        means unlimited."""
    @staticmethod
    def prefix_lm(tokens: int) -> Mask:
        """Returns the mask of a prefix language model: a query attends itself, all earlier tokens, and the first
        `tokens` keys."""
    @staticmethod
    def hstu(
        *, is_causal: bool = True, contextual: bool = True, max_attn_len: int = 0, min_full_attn_seq_len: int = 0,
        windowed_targets: bool = True, targets_share_place: bool = False,
    ) -> Mask:
        """Returns the mask of an HSTU layer. By default contextual tokens attend all contextual and history tokens. A
        history token attends all contextual tokens and the history up to itself. A target attends all contextual and
        history tokens, and the targets of its group up to itself."""
    @staticmethod
    def grid_windows(patches: int, shift: int = 0) -> Mask:
        """Returns the mask of windowed attention in a vision tower: patches attend each other inside windows of
        `patches` x `patches` of one frame. With a `shift` above 0 the first window of each axis has only `shift`
        patches."""
    @staticmethod
    def clip_squares(prefix: int = 0) -> Mask:
        """Returns the mask of a video tower in which every patch of a clip attends all patches of all frames of the
        clip. Each frame has `prefix` extra tokens."""
    @staticmethod
    def merged_patches(side: int, line_ends: int = 0) -> Mask:
        """Returns a statistic (a number for each image or clip) for `Entry.unit`: the vision tokens after patches are
        merged. Each square of `side` x `side` patches is one token. Each row of merged patches has `line_ends` tokens
        more."""
    @staticmethod
    def measured(name: str) -> Mask:
        """Returns a statistic for `Entry.unit`: a number that you measure yourself and that FLOPs are proportional to,
        such as the number of selected tokens. Pass the number to `Tally.add_measured`, or as `measured={name:
        number}`."""
    @staticmethod
    def library() -> dict[str, list[str]]:
        """Returns the names and parameters of the library's masks: {"causal": [], "vision.grid_windows":
        ["window_size", "shift=0"], …}. `from_text` reads these names."""
    @staticmethod
    def from_text(text: str) -> Mask:
        """Returns the mask with this text, such as "sliding_window(4096)" or "vision.grid_windows(7,shift=3)".
        `Mask.name` is the text of a mask."""
    @staticmethod
    def from_callable(name: str, count: Callable[..., Any], *, vectorized: bool = False, shape: PairShape = "units") -> Mask:
        """Returns a mask of your own, or another statistic: a number for each sequence that FLOPs are proportional to.
        `count` returns this number.

        count(length, past, keys) returns an integer, 0 or more: the attended pairs of the sequence, or your other
        number. With vectorized=True, count(lengths) takes an int64 array of lengths and returns one number for each;
        sequences with cached tokens (`past`) are then an Error. All masks made from a callable run on the host only.
        Two callables with the same name are an Error.

        shape: the kind of this number. Conventions (ways to count FLOPs) that count attention over L tokens as L² or
            L²/2 pairs depend on it:
            "units": every convention counts what `count` returns.
            "causal": pairs in which no query attends a later key. Conventions may count L² or L²/2.
            "full": pairs of any mask. Conventions may count L², but never L²/2.
            "mixed": pairs of a mask that is causal in parts. Conventions that count L² for every mask count L². All
                others count what `count` returns.
            "beyond_causal": pairs in addition to those of a causal mask. Conventions that count a causal mask as L² or
                L²/2 leave them out.
            "masked_out": pairs that a kernel computes and a mask removes. Only conventions that count L² for every mask
                count them.
            "unregistered": work of operators that PyTorch's FlopCounterMode has no formula for. Conventions that
                imitate FlopCounterMode leave it out.
        """
    def in_tower(self, tower: Tower) -> Mask:
        """Returns this mask for the sequences of another tower (part of a multimodal model): "text", "vision" or
        "audio"."""
    def pairs(self, length: int, past: int = 0, keys: int = 0) -> int:
        """Returns the number of attended (query, key) pairs of one sequence with `length` new tokens after `past`
        cached ones. keys: the number of tokens of the encoder's output, for cross attention."""
    @property
    def name(self) -> str:
        """The mask as text: "causal", "sliding_window(4096)", …"""
    @property
    def tower(self) -> Tower:
        """The tower (part of a multimodal model) whose sequences the mask applies to: "text", "vision" or "audio"."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Entry:
    """One term of a Cost: the forward FLOPs that a component runs for each unit (token, sequence, attended pair, …).

    component: a name of your choice, 1 to 39 characters.
    unit: "tokens", "count" (sequences), "keys" (tokens k of the encoder's output), "squares" (n² of n tokens), "cached"
        (n · cached tokens), "crossed" (n · k), "routed" (visits of tokens to experts), or a Mask. A Mask counts its
        attended pairs.
    kind: the kind of product: "linear", "lm_head", "scores", "values", "state", "router", "norm", … It decides how
        the backward is counted.
    flops_per_unit: FLOPs of the forward for one unit. A multiply-add is 2.
    parameters: how many weights the entry stores.
    padded_flops_per_unit: FLOPs of the forward for one unit as kernels run it, padding included. None: no padding.
    weight: the name of the weight matrix: "q_proj".
    tower: the tower whose sequences `unit` counts: "text", "vision" or "audio".
    split: how tensor parallelism shards the entry: "columns", "rows", "heads", "kv_heads", "fused_qkv",
        "vocabulary", "experts", "even", "replicated" or "repeated".
    units: how many columns, rows, heads or experts tensor parallelism splits. 0 means unknown.
    inner_units: columns of a key-value head, key-value heads of a fused matrix, or the width of an expert.
    """

    def __init__(
        self,
        component: str,
        unit: Statistic | Mask,
        kind: EntryKind,
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
        """The component's name: "mlp", "attention.core", …"""
    @property
    def unit(self) -> Statistic | Mask:
        """The unit that `flops_per_unit` is for: "tokens", "squares", …, or a Mask, whose units are its attended
        pairs."""
    @property
    def kind(self) -> EntryKind:
        """The kind of product: "linear", "scores", … It decides how the FLOPs of the backward are counted."""
    @property
    def flops_per_unit(self) -> int:
        """Useful FLOPs of the forward for one unit; a multiply-add is 2."""
    @property
    def padded_flops_per_unit(self) -> int:
        """FLOPs of the forward for one unit as kernels run it, padding included."""
    @property
    def parameters(self) -> int:
        """The number of weights (parameters) that this entry stores."""
    @property
    def weight(self) -> str:
        """The name of the weight matrix: "q_proj". Empty if the entry has no weights."""
    @property
    def tower(self) -> Tower:
        """The tower (part of a multimodal model) whose sequences `unit` counts: "text", "vision" or "audio"."""
    @property
    def split(self) -> Split:
        """How tensor parallelism splits the entry's work over ranks: by "columns", "heads", …"""
    @property
    def units(self) -> int:
        """The number of columns, rows, heads or experts that tensor parallelism splits. 0 means unknown."""
    @property
    def inner_units(self) -> int:
        """A second size that tensor parallelism must divide or keep whole. By `split` it is the columns of a key-value
        head, the key-value heads of a fused matrix, or the width of an expert."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class WeightSetting:
    """Says whether some weights train, are frozen or have a LoRA adapter.

    weights: a component ("mlp"), or a component and one of its weights ("attention.qkv/q_proj"). Each may end in
        "*".
    state: "trainable", "frozen" or "lora" (a frozen weight with a trainable adapter of rank `rank`).
    first_layer, last_layer: the first and the last layer that the setting is for, counted from 0. None: no limit.
    part: the kind of model part that the setting is for: "encoder", "layer", "lm_head", … "*" is any.
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
        """The component ("mlp"), or component/weight ("attention.qkv/q_proj"), that the setting is for. A final "*"
        matches any ending."""
    @property
    def state(self) -> WeightState:
        """How the weights are treated: "trainable", "frozen" or "lora" (frozen, with a trainable adapter)."""
    @property
    def rank(self) -> int:
        """The rank of the LoRA adapter of each weight. 0 unless `state` is "lora"."""
    @property
    def first_layer(self) -> int | None:
        """The first layer that the setting is for, counted from 0. None: from the first layer of the model."""
    @property
    def last_layer(self) -> int | None:
        """The last layer that the setting is for, itself included. None: to the last layer of the model."""
    @property
    def part(self) -> str:
        """The kind of model part that the weights are in: "encoder", "layer", "lm_head", … "*" is any."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Plan:
    """What a training step runs: forward or backward, recomputation, and which weights train.

    phase: "train" (forward and backward), "forward" or "backward".
    recompute: "none", "full" (every layer runs its forward once more) or "attention" (only the attention core runs once
        more).
    flash_attention: True if the backward of a fused attention kernel computes QKᵀ once more. This work is executed,
        never useful.
    weights: a list of WeightSetting. If several match one weight, the last one decides.
    recompute_components: components that the backward computes again in addition to `recompute`.
    recompute_every: n recomputes only the n-th, 2n-th, … layer.
    repeated: {"vision.*": 4} says that 4 ranks each run all of this work. It is executed 4 times and useful once.
        If several names match, the last one decides.
    indexer: how the indexers of sparse attention train: "frozen" (not at all), "sparse_loss" (a loss over the
        chosen keys), "dense_loss" (over all keys), or "warm_up" (over all keys, while attention is dense).
    logits: the tokens whose logits are computed: "all", "last" (of each sequence) or "measured". With "measured", pass
        the number of such tokens to each count: logits=n or measured={"logits": n}.
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
        """What runs: "train" (forward and backward), "forward" or "backward"."""
    @property
    def recompute(self) -> Recompute:
        """The part of the forward that the backward runs again (activation checkpointing): "none", "full" or
        "attention"."""
    @property
    def flash_attention(self) -> bool:
        """True if the backward of a fused attention kernel computes QKᵀ once more, as FlashAttention does."""
    @property
    def weights(self) -> list[WeightSetting]:
        """A list of WeightSetting that says which weights train. If several match one weight, the last one decides."""
    @property
    def recompute_components(self) -> list[str]:
        """Names of components that the backward runs again, in addition to `recompute`."""
    @property
    def recompute_every(self) -> int:
        """Which layers recompute: n means the n-th, 2n-th, … layer; 1 means every layer."""
    @property
    def repeated(self) -> dict[str, int]:
        """How many ranks repeat the same work, by component: with {name: n}, each of n ranks runs this work in full.
        The work is then executed n times and useful once."""
    @property
    def indexer(self) -> IndexerTraining:
        """How the indexers of sparse attention train: "frozen", "sparse_loss" (a loss over the chosen keys),
        "dense_loss" (over all keys) or "warm_up" (dense attention)."""
    @property
    def logits(self) -> LogitTokens:
        """The tokens whose logits are computed: "all", "last" (of each sequence) or "measured"."""
    def __eq__(self, other: object) -> bool: ...

class Cost:
    """The FLOPs of a model: a list of integer coefficients (entries), each multiplied by a sum over the batch.
    Immutable.

    `cost()` reads a cost from a config, `from_torch()` measures the cost of a PyTorch model, `Cost.from_entries()`
    takes a list of entries. Costs can be added, and multiplied by an integer.
    """

    @staticmethod
    def from_entries(
        entries: Iterable[Entry | tuple[Any, ...]], *, model_type: str = "entries", notes: Sequence[str] = []
    ) -> Cost:
        """Returns a Cost made of Entry objects, or of tuples (component, unit, kind, flops_per_unit[, parameters])."""
    def flops(
        self,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        **batch: Unpack[_CostBatch],
    ) -> Breakdown:
        """Returns the FLOPs of a batch by component, phase and view, as exact ints.

        Describe the batch by one or more of the arguments from `lengths` to `tally`. If you pass several, their FLOPs
        are added up.

        Args:
            lengths: [n] tokens of each sequence. For an encoder-decoder: tokens of the decoder.
            row_length: with `lengths`: tokens that each row of a BSHD batch is padded to.
            encoder_lengths: [n] tokens of the encoder for each sequence of `lengths`. For a diffusion model: text
                tokens of each grid. If the model takes k texts, k numbers for each grid, one after another.
            encoder_row_length: with `encoder_lengths` of an encoder-decoder: tokens that each row of the encoder is padded
                to. `row_length` is then that of the decoder's rows.
            encoder_lengths_padded: [n] or [1] tokens that each text of `encoder_lengths` is padded to, for a diffusion
                model.
            cu_seqlens: [n + 1] boundaries of a packed sequence: 0, L1, L1 + L2, ...
            cu_seqlens_padded: [n + 1] boundaries of the slots: the sequences with their padding.
            cu_seqlens_real: [m + 1] boundaries of the real sequences alone, if `cu_seqlens` has mock sequences
                after them.
            num_real_seqs: the number of real sequences. All later sequences are mock sequences: padded, not useful.
            attention_mask: [batch, tokens] of 0 and 1. Ones are useful tokens; the shape is the padded batch.
            new_tokens: (n, past) for each sequence: n new tokens after `past` cached ones.
            requests: tokens (prompt, generated) or (prompt, generated, cached) of each request. Counts the prefill and
                all decoding passes, in closed form. cached: tokens of the prompt whose keys are in the cache already.
                The plan must have phase "forward".
            prefill_chunk: with `requests`: tokens of a prompt that one pass prefills. By default one pass prefills the
                whole prompt.
            sequences: (contextual, history, targets[, group]) of each sequence of an HSTU model.
            grid_thw: [n, 3] frames, rows and columns of patches, before merging, of each image or clip. For a diffusion
                model: frames, rows and columns of latent cells.
            grid_thw_padded: [n, 3] or [1, 3] frames, rows and columns that the grids are padded to.
            condition_grid_thw: [k * n, 3] grids that a diffusion model is conditioned on, such as pictures to edit: k
                for each of the n grids in `grid_thw`.
            pixels: [n, 3] frames, height and width in pixels of each picture or clip. The spec of the diffusion
                model must say how pixels become a grid.
            images: number of images, if the config states one fixed image size.
            audio_frames: [n] frames of each clip that enters an audio tower.
            routed: measured number of (token, expert) pairs over all layers, as (useful, padded).
            measured: your numbers for the statistics Mask.measured(name) of the cost: {name: useful} or {name: (useful,
                padded)}.
            logits: the tokens whose logits are computed: "all", "last" (of each sequence), or the number of such
                tokens: an int, several ints that are added up, or a mask of 0 and 1. The default is the plan's, else
                "all".
            tally: a Tally that the batch was added to before.
            convention: a name, or one of `floptally.conventions()`.
            plan: what runs and which weights train, in addition to the cost's own plan. A contradiction is an
                Error.
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
        **batch: Unpack[_Packs],
    ) -> Comparison:
        """Counts the step by every convention, explains each difference from the exact count, and finds the convention
        that gives a dashboard's number.

        Args:
            convention: list this convention only. By default all are listed.
            observed: a number from a dashboard with its unit: "402TFLOP/s" (of one GPU), "3.21PFLOP" (of the step)
                or "40.7%" (an MFU).
            log: the path of a trainer's log, of its JSON lines or of Lightning's metrics.csv. docs/conventions.md lists
                the trainers. Each step of the log is taken to run this batch, or as many sequences of the batch as the
                log states.
            seconds, gpus: duration and number of GPUs of the step. Needed if `observed` is a rate or an MFU; a log has
                the seconds itself.
            accelerator, peak_tflops, peak_kind, precision, clock_mhz: the peak that an MFU is relative to, as in
                `Breakdown.measure`.
            plan: what runs and which weights train, in addition to the cost's own plan. A contradiction is an
                Error.
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
        **batch: Unpack[_CostBatch],
    ) -> Bytes:
        """Returns the bytes that a batch moves between GPU memory and compute units, by component, phase and kind, as
        exact ints.

        Same as `flops(...).bytes(...)`. docs/plans.md says what counts as moved.

        Args:
            weight_bits: bits of a weight as kernels read it, 1 to 64.
            gradient_bits: bits of the gradient of a weight.
            activation_bits: bits of an operand or a result.
            cache_bits: bits of a cached key or value.
            batches: microbatches of all replicas together. Each microbatch reads the weights once.
            distinct_experts: how many experts had their weights read, summed over layers and batches, as the router
                measured. Without it the bytes of expert weights are an upper bound.
            plan: what runs and which weights train, in addition to the cost's own plan. A contradiction is an
                Error.
            lengths, …, tally: as in `Cost.flops`.
        """
    def search(
        self,
        *,
        lengths: Integers,
        gpus: int,
        global_batch: int | None = None,
        accelerator: str | Accelerator | None = None,
        precision: str = "bf16",
        peak_tflops: float | None = None,
        memory_gib: float | None = None,
        reserve_gib: float = 0.0,
        memory_tbps: float | None = None,
        gpus_per_node: int | None = None,
        network_gbps: float | Mapping[str, float] | None = None,
        efficiency: float | None = None,
        trainer: Trainer = "megatron",
        largest_microbatch: int = 8,
        least_context: int = 2048,
        dp: int | None = None,
        cp: int | None = None,
        tp: int | None = None,
        pp: int | None = None,
        vpp: int | None = None,
        ep: int | None = None,
        etp: int | None = None,
        dp_replicate: int | None = None,
        microbatch: int | None = None,
        zero: ZeroStates | None = None,
        recompute: Recompute | None = None,
        schedule: Schedule | None = None,
        sequence_parallel: bool | None = None,
        top: int = 20,
        context_exchange: ContextExchange = "ring",
        layers_of_chunks: Sequence[int] | None = None,
        num_layers_in_first_pipeline_stage: int = 0,
        num_layers_in_last_pipeline_stage: int = 0,
        account_for_embedding_in_pipeline_split: bool = False,
        account_for_loss_in_pipeline_split: bool = False,
        pipeline_model_parallel_layout: str | None = None,
        layer_split: LayerSplit = "automatic",
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
        weights_inside_experts: bool = False,
        keep_gathered_inputs: bool = False,
        matrix_inputs: BlockFormat = "none",
        matrix_weights: BlockFormat = "none",
        frozen_weights: BlockFormat = "none",
        recompute_modules: Sequence[LayerModule] = [],
        offload_modules: Sequence[LayerModule] = [],
        offload_layers: int = 0,
        optimizer_offload: float = 0.0,
        gathered_bits: int = 0,
        bucket_elements: int = 0,
        keep_gathered: bool = False,
        keep_messages: bool = False,
        plan: Plan | None = None,
    ) -> Search:
        """Searches the parallel layouts of this model on a cluster for those that fit the memory. Sorts them by
        predicted step time.

        The predicted step time has three parts: FLOPs at `efficiency` of the peak, communication that the trainer does
        not overlap, and the bubble and imbalance of the pipeline. docs/search.md states all assumptions. `str()` is the
        table that the program prints for `floptally search`.

        Args:
            lengths: [n] tokens of each sequence of a global batch; one sequence with `global_batch`.
            gpus: number of GPUs.
            global_batch: number of sequences of a step, all as long as the one in `lengths`.
            accelerator: the GPU, by a name that `accelerator` knows: its peak, memory and network.
            precision: precision of the layers' matrices. Under fp8 and fp4 attention cores, routers and the lm_head run
                in bf16.
            peak_tflops: dense peak of one GPU instead of the accelerator's.
            memory_gib: memory of one GPU in GiB instead of the accelerator's.
            reserve_gib: GiB of that memory that other things need: workspaces, CUDA, NCCL, the allocator's waste.
            memory_tbps: bandwidth of one GPU's memory in TB/s, for the optimizer.
            gpus_per_node: consecutive ranks on one node.
            network_gbps: GB/s that a GPU sends: one number for all groups, one for each group {"tp": …, "dp": …}, or
                one for each kind of link {"within": …, "between": …} (nodes).
            efficiency: the part of the peak that products reach, from 0 to 1. None: as fitted to published steps.
            trainer: the trainer that the search imitates in splits, schedules and overlap: "megatron", "torchtitan" or
                "fsdp".
            largest_microbatch: the largest number of sequences in a microbatch.
            least_context: the least number of tokens of a sequence on each context parallel rank, unless `cp` is fixed.
            dp, cp, tp, pp, vpp, ep, etp, dp_replicate, microbatch, zero, recompute, schedule, sequence_parallel: values
                to hold fixed. The search varies those that are None.
            top: how many layouts to return.
            context_exchange, layers_of_chunks, num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage,
            account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split,
            pipeline_model_parallel_layout, layer_split, optimizer, weight_bits, gradient_bits, activation_bits,
            cache_bits, logits_bits, cached_tokens, flash_attention, fused_elementwise, hidden_dropout,
            attention_dropout, weights_inside_experts, keep_gathered_inputs, matrix_inputs, matrix_weights, frozen_weights,
            recompute_modules, offload_modules, offload_layers, optimizer_offload, gathered_bits, bucket_elements,
            keep_gathered, keep_messages: as in `Breakdown.fit`, for all layouts.
            plan: which weights train. The search chooses the recompute.
        """
    def total_flops(
        self,
        *,
        view: ViewName = "useful",
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        **batch: Unpack[_CostBatch],
    ) -> int:
        """Returns the total FLOPs of a batch as one exact int. Faster than `flops().total`.

        Args:
            view: "useful", "padded" or "executed".
            lengths, …, tally: as in `Cost.flops`.
            convention: a name, or one of `floptally.conventions()`.
            plan: what runs and which weights train, in addition to the cost's own plan. A contradiction is an
                Error.
        """
    def sample_flops(
        self,
        lengths: Integers,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        view: ViewName = "useful",
    ) -> list[int]:
        """Returns the FLOPs of each sequence of a batch, for `balance()`. They add up to the FLOPs of the batch."""
    def sample_loads(
        self,
        samples: Sequence[Tally],
        loads: Sequence[tuple[str, int] | tuple[str, int, int]],
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        view: ViewName = "useful",
    ) -> list[list[int]]:
        """Returns several loads (FLOPs of some components) of each sample, so that `balance()` evens out each load.
        Pass one Tally for each sample.

        loads: (components, load) or (components, load, weight), such as ("vision.*", 0, 3): these components add to
            load 0 with weight 3. If several patterns match a component, the last one decides. A component that no
            pattern matches is an Error. weight: a positive integer. FLOPs of weight 3 count 1.5 times as much as FLOPs
            of weight 2.
        """
    @property
    def model_type(self) -> str:
        """The model type that the config names, such as "llama"."""
    @property
    def notes(self) -> list[str]:
        """Notes on what floptally assumed where the config says nothing."""
    @property
    def assumptions(self) -> list[str]:
        """Notes on sizes that floptally assumed. Examples: a default of the model's class, a head that the config does
        not name, a key that names a size but is not read."""
    @property
    def parameters(self) -> int:
        """The number of weights (parameters) that the model stores. All experts count; a tied embedding counts once."""
    @property
    def components(self) -> list[str]:
        """Names of the model's components, in forward order."""
    @property
    def masks(self) -> list[Mask]:
        """The masks of the model's attention layers, whose attended pairs this cost counts."""
    @property
    def entries(self) -> list[Entry]:
        """The terms of the cost, as Entry objects: each has the FLOPs for one unit, such as a token or an attended
        pair."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the cost to a file, which load() reads in about a millisecond. Useful after from_torch(), which is
        slower."""
    @staticmethod
    def load(path: str | PathLike[str]) -> Cost:
        """Reads a cost that save() wrote. Raises an Error if the file was changed, or if it is from a version of
        floptally that counts differently."""
    def keep(self, accumulator: Mask) -> Cost:
        """Returns this cost with one more statistic to sum, such as Mask.measured("loss_tokens"). Tallies and meters of
        the returned cost sum the statistic. The statistic adds no FLOPs."""
    @property
    def plan(self) -> Plan:
        """The default plan: what all calls without `plan=` count. It trains all weights, or follows the adapters of a
        PEFT model."""
    def planned(self, plan: Plan) -> Cost:
        """Returns this cost with another default plan. Calls without `plan=` then use this plan."""
    def on_rank(
        self,
        layout: ParallelLayout,
        *,
        layers_of_chunks: Integers | None = None,
        num_layers_in_first_pipeline_stage: SupportsIndex = 0,
        num_layers_in_last_pipeline_stage: SupportsIndex = 0,
        account_for_embedding_in_pipeline_split: bool = False,
        account_for_loss_in_pipeline_split: bool = False,
        pipeline_model_parallel_layout: str | None = None,
        layer_split: LayerSplit = "automatic",
        vision_stage: SupportsIndex = 0,
        audio_stage: SupportsIndex = 0,
        sequence_parallel: bool = False,
        few_kv_heads: FewKvHeads = "replicated",
        make_vocab_size_divisible_by: SupportsIndex = 1,
    ) -> Cost:
        """Returns the cost of the part of the model that one rank of a parallel layout runs.

        Use it like any cost, with a tally of the rank's own tokens. Its useful FLOPs are the rank's share; over all
        ranks they add up to those of the model. Its executed FLOPs are all that the rank computes.

        layers_of_chunks: layers of each of pp x vpp chunks. By default the next six arguments split the layers: five
            options of Megatron-Core, and `layer_split` as in `Breakdown.fit`.
        vision_stage, audio_stage: the pipeline rank that runs the vision tower, the audio tower.
        few_kv_heads: how key-value heads are sharded if tp is larger than their number: "replicated" or "gathered".
        """
    def with_muon(self, *, plan: Plan | None = None, iterations: int = 5, others: Sequence[str] = []) -> Cost:
        """Returns the cost of this model with the matrix products of the Muon optimizer added, for the weights that
        `plan` trains.

        The products are the component optimizer.muon. Pass the number of optimizer steps to each count:
        measured={"optimizer_steps": n}. others: weights that another optimizer updates, by names as in WeightSetting
        ("moe.router", "vision.*").
        """
    def __add__(self, other: Cost) -> Cost: ...
    def __rmul__(self, times: int) -> Cost: ...
    def __eq__(self, other: object) -> bool: ...

class _Adds:  # of Tally and Meter
    def add_lengths(self, lengths: Integers) -> None:
        """Adds sequences by their lengths in tokens: [n] integers."""
    def add_padded(self, lengths: Integers, row_length: int) -> None:
        """Adds a BSHD batch by its lengths [batch] in tokens. Each row is padded to row_length tokens."""
    def add_cu_seqlens(
        self,
        cu_seqlens: Integers,
        cu_seqlens_padded: Integers | None = None,
        num_real_seqs: SupportsIndex | None = None,
        cu_seqlens_real: Integers | None = None,
    ) -> None:
        """Adds packed sequences (THD) by their boundaries [n + 1] in tokens, and optionally the boundaries of the
        sequences with their padding. Sequences after num_real_seqs, or after the last of cu_seqlens_real, are mock
        sequences: they count as padding."""
    def add_packed(self, cu_seqlens_real: Integers, cu_seqlens: Integers) -> None:
        """Adds packed sequences by two arrays of boundaries in tokens: those of the real sequences, and those of all
        sequences that kernels process. The second array may have more sequences."""
    def add_attention_mask(self, attention_mask: Flags) -> None:
        """Adds a BSHD batch by its attention mask [batch, tokens]: 1 is a real token, 0 is padding."""
    def add_encoder_decoder(self, lengths: Integers, encoder_lengths: Integers) -> None:
        """Adds n samples of an encoder-decoder model: [n] tokens of the decoder and [n] tokens of the encoder."""
    def add_new_tokens(self, new_tokens: NewTokens | Integers, past: Integers | None = None) -> None:
        """Adds sequences with cached tokens, as in decoding or chunked prefill: n new tokens after `past` cached ones
        for each sequence. Pass a list of (n, past), or a list of n and a list of past."""
    def add_hstu(
        self,
        lengths: Integers,
        contextual: Integers | None = None,
        targets: Integers | None = None,
        target_group: SupportsIndex = 1,
    ) -> None:
        """Adds sequences of an HSTU model by three arrays: total lengths, contextual tokens and targets. A target
        attends only the targets of its own group of `target_group` targets."""
    def add_grid_thw(self, grid_thw: Grids) -> None:
        """Adds images and clips by an array [n, 3]: frames, rows and columns of patches, before patches are merged."""
    def add_audio_frames(self, audio_frames: Integers) -> None:
        """Adds n audio clips by their lengths: the number of frames that enter the audio tower."""

class Tally(_Adds):
    """Exact integer sums over the sequences of a batch, such as the number of tokens and of attended pairs. A Cost
    computes the FLOPs of the batch from these sums alone.

    Tally(cost) keeps the sums that the cost needs under a convention and a plan. Tally([masks]) keeps the attended
    pairs of these masks. Tally(other) is empty and keeps the same sums as `other`. Tallies that keep the same sums can
    be added over microbatches, ranks and time, in any order, with bit-identical results. A method that raises leaves
    the tally unchanged.
    """

    def __init__(
        self,
        cost_or_masks: Cost | Tally | Sequence[Mask] | None = None,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
    ) -> None: ...
    def add_sequences(self, sequences: HstuSequences) -> None:
        """Adds sequences of an HSTU model: a list of (contextual, history, targets) or (contextual, history, targets,
        group), in tokens."""
    def add_requests(self, requests: Requests, prefill_chunk: int | None = None) -> None:
        """Adds all forward passes of inference requests: prefill and decoding. Each request is (prompt, generated) or
        (prompt, generated, cached), in tokens."""
    def add_speculative(
        self, prompt: int, steps: Sequence[tuple[int, int]], *, model: Literal["target", "draft"] = "target"
    ) -> None:
        """Adds the speculative decoding steps of one request whose prompt has `prompt` tokens. steps: (drafted,
        accepted) tokens of each step.

        model: "target" or "draft": the model whose work is added. Accepted tokens count as useful, all tokens that run
            as padded. A step generates one token more than it accepts. The prompt is not included: add it by
            add_requests([(prompt, 1)]).
        """
    def add_tree(self, parents: Sequence[int], lengths: Integers) -> None:
        """Adds sequences that share prefixes, such as rollouts of one prompt, as a tree of token runs. Each shared
        prefix counts once.

        Node i has lengths[i] tokens after those of its ancestors. parents[i] is the index of an earlier node, or -1
        for a root.
        """
    def add_grids_with_text(self, grid_thw: Grids, encoder_lengths: Integers) -> None:
        """Adds n samples of a diffusion model: their grids of latents [n, 3] (frames, rows, columns), and the number of
        text tokens [n] of each."""
    def add_routed(self, useful: int, padded: int) -> None:
        """Adds the measured number of (token, expert) pairs, summed over all layers: those of real tokens, and those of
        all tokens."""
    def add_measured(self, name: str, useful: int, padded: int | None = None) -> None:
        """Adds a measured number to the statistic Mask.measured(name). The tally must have been made with this
        statistic."""
    def get(self, statistic: Statistic, view: CountedView = "useful", tower: Tower = "text") -> int:
        """Returns one sum over the sequences: "count" (sequences), "tokens", "keys" (tokens k of the encoder's output),
        "squares" (n²), "cached" (n · cached tokens), "crossed" (n · k) or "routed" ((token, expert) pairs)."""
    def pairs(self, mask: Mask, view: CountedView = "useful") -> int:
        """Returns the number of attended (query, key) pairs under one of the tally's masks."""
    @property
    def masks(self) -> list[Mask]:
        """The masks whose attended pairs the tally sums."""
    @property
    def tokens(self) -> int:
        """The number of real text tokens."""
    def accumulators(self) -> npt.NDArray[np.int64]:
        """Returns all sums of this tally as a new int64 array. You may all-reduce the array over ranks.
        `from_accumulators` makes a tally of it."""
    @staticmethod
    def from_accumulators(
        cost_or_masks: Cost | Tally | Sequence[Mask] | None,
        accumulators: Integers,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
    ) -> Tally:
        """Returns a tally made of an array of sums, such as an all-reduced `accumulators()`. The first argument says
        what the sums count, as in the constructor."""
    def copy(self) -> Tally:
        """Returns an independent tally with the same sums."""
    def __iadd__(self, other: Tally) -> Tally: ...
    def __add__(self, other: Tally) -> Tally: ...
    def __eq__(self, other: object) -> bool: ...

class Breakdown:
    """FLOPs of a batch by component, phase (forward, backward, …) and view, as exact ints.

    useful: FLOPs of real tokens. MFU is computed from these.
    padded: FLOPs of all tokens that kernels process, padding included.
    executed: padded FLOPs, plus recomputation, plus the QKᵀ that a fused attention backward computes again. `str()` is
    a table; a notebook shows it too.
    """

    @property
    def total(self) -> int:
        """Useful FLOPs (of real tokens) of all phases, an exact int."""
    @property
    def padded_total(self) -> int:
        """Padded FLOPs of all phases, an exact int: those of all tokens that kernels process, padding included."""
    @property
    def executed_total(self) -> int:
        """Executed FLOPs of all phases, an exact int: padded FLOPs, recomputation, and the QKᵀ that a fused attention
        backward computes again."""
    @property
    def useful(self) -> View:
        """FLOPs of real tokens, as a View: in total, by phase and by component. MFU is computed from these."""
    @property
    def padded(self) -> View:
        """FLOPs of all tokens that kernels process, padding included, as a View: in total, by phase and by
        component."""
    @property
    def executed(self) -> View:
        """FLOPs that run, as a View: padded FLOPs, recomputation, and the QKᵀ that a fused attention backward computes
        again."""
    @property
    def model_type(self) -> str:
        """The model type that the config names, such as "llama"."""
    @property
    def convention(self) -> ConventionName:
        """The name of the convention that the FLOPs are counted by."""
    @property
    def plan(self) -> Plan:
        """The plan that the FLOPs are counted by: what ran and which weights trained."""
    @property
    def tally(self) -> Tally:
        """The Tally of the batch: the exact sums that the FLOPs were computed from."""
    @property
    def notes(self) -> list[str]:
        """Notes on this count: what floptally assumed where the config says nothing, and warnings about upper bounds,
        peaks and rates."""
    @property
    def is_upper_bound(self) -> bool:
        """True if the FLOPs are an upper bound. This happens if the plan trains only parts of the model and the cost
        does not say which tensors its products read."""
    @property
    def padding(self) -> dict[str, int] | None:
        """Padded FLOPs by cause, as a dict of exact ints: useful, in_slots (padding of real sequences), mock (sequences
        without a real token) and vocabulary (padding of the lm_head). None if nothing is padded, or if the batch came
        from a Tally or a Meter."""
    @property
    def statistics(self) -> dict[str, Any]:
        """All sums over the batch, as {name: number}: sequences, tokens, squares of lengths and attended pairs, useful
        and padded."""
    @property
    def mfu(self) -> float:
        """MFU as a fraction: useful FLOPs over the peak; 0.412 is 41.2 %. Call measure() first."""
    @property
    def padded_mfu(self) -> float:
        """MFU with padding counted as work: padded FLOPs over the peak. Call measure() first."""
    @property
    def hfu(self) -> float:
        """Hardware FLOPs utilization (HFU): executed FLOPs, recomputation included, over the peak. Call measure()
        first."""
    @property
    def tflops_per_gpu(self) -> float:
        """Useful TFLOP/s of one GPU. Call measure() first."""
    @property
    def tokens_per_second(self) -> float:
        """Real tokens per second of all GPUs together. Call measure() first."""
    @property
    def mixed_mfu(self) -> float:
        """MFU in mixed precision: each component's useful FLOPs are taken over the peak of the component's own
        precision."""
    @property
    def mixed_peak_tflops(self) -> float:
        """The peak in TFLOP/s at which a plain MFU would equal mixed_mfu."""
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
        """Returns this breakdown with MFU, padded MFU and HFU of a step that took `seconds` on `gpus` GPUs.

        accelerator: a name as the driver calls it, or an Accelerator.
        peak_tflops: dense peak of one GPU. Overrides `accelerator`.
        precision: the precision of the peak.
        precisions: components and layers in other precisions, for mixed_mfu: "mlp=fp8,@1-30=fp8" (layers 1 to 30).
        peak_kind: the kind of `peak_tflops`: "datasheet", "boost" or "measured".
        clock_mhz: GPU clock in MHz. The peak is then computed at this clock instead of taken from the datasheet.
        """
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
        pipeline_model_parallel_layout: str | None = None,
        layer_split: LayerSplit | None = None,
        tp: int | None = None,
        sequence_parallel: bool | None = None,
        cp: ContextShards | None = None,
        ep: int | None = None,
        etp: int | None = None,
        layout: str | None = None,
        gpus_per_node: int | None = None,
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
        """Explains where the time of the step went: from the peak down to the MFU, one line for each cause.

        Times that you do not pass are not guessed: the last line names the missing ones. Arguments of an earlier
        `measure()` stay in force.

        Args:
            seconds: duration of the step. `component_times` and `trace` may contain it.
            gpus: all GPUs of the job.
            accelerator: a name as the driver calls it, or an Accelerator.
            peak_tflops: dense peak of one GPU. An MFU of 1 is this peak. Overrides `accelerator`.
            precision: the precision of the peak; "bf16" by default.
            precisions: components and layers in other precisions: "mlp=fp8,@1-30=fp8" (layers 1 to 30).
            clock_mhz: GPU clock in MHz. The peak is then computed at this clock instead of taken from the datasheet.
            apart: parts of the step's time that are not model work, as {name: seconds}. "exposed communication", "data
                wait", "optimizer", "elementwise" and "launches" have lines of their own. "transfer" is communication
                without waiting for other ranks; it separates waiting from "exposed communication".
            rank_work: the work of each rank in any unit, [ranks] ints. Or a dict with "largest" (a MAX all-reduce),
                "sum" (a SUM all-reduce) and "ranks" (their number). With `pp`, the work of each replica instead.
            idle_gpus: how many of `gpus` run none of the work.
            masked_tiles: a MaskedTiles of the same batch, or the FLOPs that kernels ran on masked pairs as an int.
            pp: pipeline ranks that share the model's layers.
            vpp: chunks of layers on each pipeline rank; 1 by default.
            microbatches: number of microbatches that each pipeline runs in the step, if all have equal work. Else the
                work of each: [microbatches] Breakdowns, or [replicas][microbatches], that add up to this one.
            schedule: "gpipe", "1f1b", "interleaved", "zero_bubble" (ZB-H1) or "zb_v". By default 1f1b, or
                interleaved if vpp is above 1.
            replicas: how many pipelines run in parallel. By default the number of replicas in `rank_work` or
                `microbatches`, else 1.
            layers_of_chunks: layers of each chunk of the pipeline in forward order, [pp x vpp] ints.
            num_layers_in_first_pipeline_stage: layers of the first stage; Megatron-LM's option of this name.
            num_layers_in_last_pipeline_stage: layers of the last stage. The other stages share the rest.
            account_for_embedding_in_pipeline_split: True if the embedding takes the place of a layer.
            account_for_loss_in_pipeline_split: True if the lm_head takes the place of a layer.
            pipeline_model_parallel_layout: Megatron-LM's layout text, such as "Et*3|(tt|)*29,m|L".
            layer_split: how to split layers that no other option places: "automatic" (by default), "even" or
                "torchtitan".
            tp: tensor parallel ranks of each stage. Work that they cannot split runs in full on each of them.
            sequence_parallel: True if each tensor parallel rank runs replicated weights on its share of the tokens
                only.
            cp: a ContextShards of the same batch. Its ranks wait for the one with the most work.
            ep: how many of the dp x cp x tp ranks share the experts.
            etp: tensor parallel ranks of each expert; tp by default.
            layout: pp, replicas, tp, ep and etp as text instead, as in `ParallelLayout`.
            gpus_per_node: consecutive ranks on one node, for bandwidths within and between nodes.
            network_gbps: bandwidth at which a rank sends, in 10^9 bytes/s: one number for all groups, one for each
                group {"tp": …, "dp": …}, or one for each kind of link {"within": …, "between": …} (nodes). Unmeasured
                communication is estimated from its bytes, as if nothing overlapped it.
            memory_tbps: memory bandwidth of one GPU in TB/s, for memory-bound work. Overrides `accelerator`.
            batches: microbatches of all replicas together. Each microbatch reads the weights once. By default those of
                the pipelines, else 1.
            weight_bits: bits of a weight as kernels read it; 16 by default.
            gradient_bits: bits of the gradient of a weight.
            activation_bits: bits of an operand or a result.
            cache_bits: bits of a cached key or value.
            distinct_experts: how many experts had their weights read, summed over layers and batches, as measured.
            component_times: measured times of components: a ModuleTimer, what its times() returns, or the path of a
                file that it wrote.
            trace: the path of a step's trace from torch.profiler's export_chrome_trace, plain or gzip. Or a list
                with one path for each rank; then waiting for other ranks is separated from transfer. Arguments that
                you pass override what the trace says.
            modules: patterns of module names in the trace and their components, tried before the usual ones:
                "*.mixer=mamba".
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
        etp: int | None = None,
        dp_replicate: int = 1,
        layout: str | None = None,
        order: str = "tp-cp-ep-dp-pp",
        expert_order: str | None = None,
        gpus_per_node: int | None = None,
        sequence_parallel: bool = False,
        context_exchange: ContextExchange = "ring",
        zero: ZeroStates = "none",
        microbatches: int = 1,
        layers_of_chunks: Sequence[int] | None = None,
        num_layers_in_first_pipeline_stage: int = 0,
        num_layers_in_last_pipeline_stage: int = 0,
        account_for_embedding_in_pipeline_split: bool = False,
        account_for_loss_in_pipeline_split: bool = False,
        pipeline_model_parallel_layout: str | None = None,
        layer_split: LayerSplit = "automatic",
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
        weights_inside_experts: bool = False,
        keep_gathered_inputs: bool = False,
        matrix_inputs: BlockFormat = "none",
        matrix_weights: BlockFormat = "none",
        frozen_weights: BlockFormat = "none",
        recompute_modules: Sequence[LayerModule] = [],
        offload_modules: Sequence[LayerModule] = [],
        offload_layers: int = 0,
        optimizer_offload: float = 0.0,
        gathered_bits: int = 0,
        bucket_elements: int = 0,
        keep_gathered: bool = False,
        keep_messages: bool = False,
        network_gbps: float | Mapping[str, float] | None = None,
        memory_gib: float | None = None,
        reserve_gib: float = 0.0,
    ) -> Fit:
        """Returns what one rank of each pipeline stage holds in memory and sends. This breakdown must be the work of
        one microbatch of one replica.

        docs/plans.md says what counts as held and sent. `str()` is the table that the program prints for `floptally
        fit`.

        Args:
            dp, cp, tp, pp, vpp, ep, etp, dp_replicate: ranks along each axis, as in `ParallelLayout`.
            layout: the sizes as text instead, as in `ParallelLayout`. The text may also say which states are sharded
                and whether sequence parallelism is on. `zero` and `sequence_parallel` override it.
            order, expert_order: the axes of ranks, as in `ParallelLayout`.
            gpus_per_node: consecutive ranks on one node, such as 8 or 72, to split the sent bytes into those within and
                between nodes.
            sequence_parallel: True if each tensor parallel rank has only its share of the tokens between sharded
                matrices (Megatron's sequence parallelism).
            context_exchange: how context parallel ranks exchange keys and values: ring, all_gather or ulysses.
            zero: states that data parallel ranks shard: none, optimizer, gradients or weights.
            microbatches: number of microbatches that each replica runs in a step.
            layers_of_chunks: layers of each chunk of the pipeline, in forward order.
            num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage,
            account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split: Megatron-LM's options.
            pipeline_model_parallel_layout: Megatron-LM's layout text, such as "Et*3|(tt|)*29,m|L": E is the embedding,
                t a layer, m a layer of multi-token prediction, L the loss, | the end of a chunk.
            layer_split: how to split layers that no other option places. "automatic": equally many in each chunk, else
                Megatron's split with embedding and loss as layers, else torchtitan's. "even": equally many, or an
                error. "torchtitan": always torchtitan's.
            optimizer: adamw, adamw_without_master, adamw_8bit, adamw_16bit_moments, muon, sgd or sgd_momentum.
            weight_bits, gradient_bits, activation_bits, cache_bits: bits of one element.
            logits_bits: bits that the loss keeps in memory for each logit, all copies together.
            cached_tokens: tokens whose keys and values a rank keeps in a cache.
            flash_attention: False if the attention probabilities of all pairs are kept for the backward.
            fused_elementwise: False if norms and gates keep their intermediate results for the backward.
            hidden_dropout, attention_dropout: True if the dropout masks (of hidden states, of attention) are kept for
                the backward.
            weights_inside_experts: True if the router's weights multiply inside the experts' activation (Megatron-Core),
                so that results of experts are not kept.
            keep_gathered_inputs: with `sequence_parallel`, matrices that need the tokens of all tensor-parallel ranks keep
                them, as PyTorch's DTensor does. Megatron-Core gathers them again.
            matrix_inputs: format in which matrices of layers keep their inputs: "fp8", "fp8_blocks", "mxfp8" or "nvfp4".
            matrix_weights: format of the weights of layers' matrices. A rank holds them twice: for the forward and the
                backward.
            frozen_weights: format of frozen matrices that have adapters: "nf4", "nf4_double", …
            recompute_modules: modules of a layer whose activations the backward computes again, as Megatron-Core names
                them.
            offload_modules: modules of a layer whose activations lie on the host until the backward.
            offload_layers: number of layers whose activations lie on the host until the backward. Needs pp=1.
            optimizer_offload: the part of the optimizer state that lies on the host, from 0 to 1.
            gathered_bits: bits of a weight that ranks gather under `zero="weights"`, such as 16 for a bf16
                `param_dtype` of FSDP2. 0 means `weight_bits`.
            bucket_elements: the largest number of gradients that are copied into buckets for the sum. DDP without
                `gradient_as_bucket_view` copies all: pass 2**50. 0 if the gradients lie in the buckets.
            keep_gathered: under `zero="weights"` ranks keep all gathered weights and whole gradients during a step, as
                FSDP2 does with `reshard_after_forward=False`.
            keep_messages: pipeline stages hold the states and gradients that they exchange for all microbatches of a
                step, as `torch.distributed.pipelining` of PyTorch 2.6 does. The last stage holds all logits.
            network_gbps: bandwidth at which a rank sends, in 10^9 bytes/s: one number for all groups, one for each
                group {"tp": …, "dp": …}, or one for each kind of link {"within": …, "between": …} (nodes). Groups with
                a bandwidth get a time.
            memory_gib: memory of one GPU in GiB. The table says whether the rank fits.
            reserve_gib: GiB of `memory_gib` that other things need: workspaces, CUDA, NCCL, the allocator's waste.
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
        """Returns the bytes that this work moves between GPU memory and compute units, by component, phase and kind,
        as exact ints.

        A breakdown from a Tally or a Meter does not know how many tokens were cached. If the plan trains, no cached
        tokens are assumed; else this call raises an Error.

        Args:
            weight_bits: bits of a weight as kernels read it, 1 to 64.
            gradient_bits: bits of the gradient of a weight.
            activation_bits: bits of an operand or a result.
            cache_bits: bits of a cached key or value.
            batches: microbatches of all replicas together. Each microbatch reads the weights once.
            distinct_experts: how many experts had their weights read, summed over layers and batches, as the router
                measured. Without it the bytes of expert weights are an upper bound.
        """
    def __add__(self, other: Breakdown) -> Breakdown: ...
    def named(self, name: str) -> StepWork:
        """Returns a StepWork: this breakdown under a name. Use it to add up the work of several models or plans:
        a.named("rollout") + b.named("update")."""
    @property
    def _measured_by(self) -> dict[str, Any] | None: ...
    def to_dict(self, *, unit: WorkUnit = "flops") -> dict[str, Any]:
        """Returns the breakdown as a dict, with the content of the JSON that the program prints. Counts are decimal
        strings.

        unit: "macs" gives multiply-accumulates (two FLOPs each), under the key "macs".
        """
    def to_table(self, *, unit: WorkUnit = "flops") -> str:
        """Returns the breakdown as a table of text, the same as `str()`. unit="macs" shows multiply-accumulates (two
        FLOPs each) instead of FLOPs."""
    def _repr_html_(self) -> str: ...

class MaskedTiles:
    """FLOPs that attention kernels waste on masked (query, key) pairs.

    A kernel computes every pair of a tile (queries x keys) that has at least one attended pair. Add the same batch
    that you count, with the keywords of `Meter.add`. `Breakdown.waterfall(masked_tiles=…)` then has a line for the
    waste. Attention of vision and audio towers is not included.
    """

    def __init__(self, cost: Cost, tile: tuple[int, int] = (128, 128)) -> None: ...
    def add(self, **batch: Unpack[_Packs]) -> None:
        """Adds a batch whose masked pairs are counted.

        Args:
            lengths, …, tally: as in `Cost.flops`.
        """
    def executed(self, plan: Plan | None = None) -> int:
        """Returns the FLOPs that attention kernels run on masked (query, key) pairs of all batches added, as an exact
        int. plan: what runs; by default a training step."""
    def __copy__(self) -> MaskedTiles: ...
    @property
    def tile(self) -> tuple[int, int]:
        """(queries, keys) of the tile that a kernel computes at once, in tokens."""
    @property
    def tally(self) -> Tally:
        """A Tally of all batches that were added: the exact sums over their sequences."""

class ContextShards:
    """A batch that is split over context-parallel ranks, for `Breakdown.waterfall(cp=…)`.

    Add the same batch that you count, with the keywords of `Meter.add`. Each call of add() adds one pack, whose tokens
    are split over the ranks.
    """

    def __init__(self, cost: Cost, cp: int, split: ContextSplit = "zigzag") -> None:
        """Makes an empty batch that `cp` context-parallel ranks share. split: how tokens are split over ranks: "zigzag"
        (inside each padded sequence), "zigzag_pack" (over the whole pack), or "contiguous"."""
    def add(self, **batch: Unpack[_Packs]) -> None:
        """Adds one pack: a batch whose tokens are split over the ranks together.

        Args:
            lengths, …, tally: as in `Cost.flops`.
        """
    def __copy__(self) -> ContextShards: ...
    @property
    def cp(self) -> int:
        """The number of context-parallel ranks that share the batch."""
    @property
    def split(self) -> ContextSplit:
        """How tokens are split over ranks: "zigzag" (inside each padded sequence), "zigzag_pack" (over the whole pack),
        or "contiguous"."""
    @property
    def tallies(self) -> list[Tally]:
        """One Tally for each rank, of the rank's tokens. They add up to the Tally of the whole batch."""

class Totals:
    """Steps, seconds, FLOPs and rates (MFU, tokens/s, …) of a step, an interval or a run. A `Meter` makes it.

    Counts and FLOPs are exact ints. Each ratio is one sum divided by another, never a mean of ratios. Reading a rate
    before a step has ended is an Error.
    """

    @property
    def steps(self) -> int:
        """The number of steps that ended."""
    @property
    def seconds(self) -> float:
        """Duration of all steps that ended, in seconds. The clock measured it, or you passed it to end_step()."""
    @property
    def gpu_seconds(self) -> float:
        """Seconds of all steps that ended, times the number of GPUs."""
    @property
    def useful(self) -> int:
        """Useful FLOPs: those of real tokens, without padding. An exact int."""
    @property
    def padded(self) -> int:
        """Padded FLOPs: those of all tokens that kernels processed, padding included. An exact int."""
    @property
    def executed(self) -> int:
        """Executed FLOPs: padded FLOPs, plus recomputation, plus the QKᵀ that a fused attention backward computes
        again. An exact int."""
    @property
    def tally(self) -> Tally:
        """A Tally of all steps that ended: the exact sums over their sequences."""
    @property
    def min_step_seconds(self) -> float:
        """Duration of the shortest step in seconds."""
    @property
    def max_step_seconds(self) -> float:
        """Duration of the longest step in seconds."""
    @property
    def tokens(self) -> int:
        """The number of real tokens, without padding. For a model without text: the number of patches or audio
        frames."""
    @property
    def padded_tokens(self) -> int:
        """The number of tokens that kernels processed, padding included."""
    @property
    def samples(self) -> int:
        """The number of sequences with at least one real token."""
    @property
    def mfu(self) -> float:
        """MFU as a fraction: useful FLOPs over the peak; 0.412 is 41.2 %."""
    @property
    def padded_mfu(self) -> float:
        """MFU with padding counted as work: padded FLOPs over the peak; 0.412 is 41.2 %."""
    @property
    def hfu(self) -> float:
        """Hardware FLOPs utilization (HFU): executed FLOPs, recomputation included, over the peak; 0.412 is 41.2 %."""
    @property
    def tflops(self) -> float:
        """Useful TFLOP/s (of real tokens) of all GPUs together."""
    @property
    def tflops_per_gpu(self) -> float:
        """Useful TFLOP/s (of real tokens) of one GPU."""
    @property
    def padded_tflops_per_gpu(self) -> float:
        """Padded TFLOP/s of one GPU: padding counts as work."""
    @property
    def executed_tflops_per_gpu(self) -> float:
        """Executed TFLOP/s of one GPU: padding and recomputation count as work."""
    @property
    def tokens_per_second(self) -> float:
        """Real tokens per second of all GPUs together."""
    @property
    def tokens_per_second_per_gpu(self) -> float:
        """Real tokens per second of one GPU."""
    @property
    def samples_per_second(self) -> float:
        """Sequences with at least one real token, per second."""
    @property
    def useful_fraction(self) -> float:
        """The share of real tokens among all tokens that kernels processed, padding included."""
    @property
    def useful_flops_fraction(self) -> float:
        """The share of useful FLOPs (of real tokens) in padded FLOPs (padding included)."""
    @property
    def step_seconds(self) -> float:
        """Mean duration of a step in seconds."""
    def percentile(self, percent: float) -> float:
        """Returns the step time in seconds that `percent` per cent of the steps did not exceed. The relative error is
        at most 0.79 %."""
    def _repr_html_(self) -> str: ...

class DeviceTally:
    """The base class of floptally.DeviceTally, which counts batches on a GPU. Use floptally.DeviceTally instead."""

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
        """Adds a batch by arrays on the GPU: cu_seqlens, lengths or an attention mask. Launches one kernel and does not
        wait for it."""
    def add_cu_seqlens(
        self,
        cu_seqlens: DeviceArray,
        cu_seqlens_padded: DeviceArray | None = None,
        num_real_seqs: int | DeviceArray | None = None,
        cu_seqlens_real: DeviceArray | None = None,
        *,
        stream: object = None,
    ) -> None:
        """Adds packed sequences (THD) by their boundaries [n + 1] in tokens, an array on the GPU, as
        `Tally.add_cu_seqlens` does."""
    def add_packed(self, cu_seqlens_real: DeviceArray, cu_seqlens: DeviceArray, *, stream: object = None) -> None:
        """Adds packed sequences by two arrays of boundaries on the GPU: those of the real sequences, and those of all
        sequences that kernels process. The second array may have more sequences."""
    def add_lengths(self, lengths: DeviceArray, *, stream: object = None) -> None:
        """Adds sequences by their lengths in tokens, an array [n] on the GPU."""
    def add_padded(self, lengths: DeviceArray, row_length: SupportsIndex, *, stream: object = None) -> None:
        """Adds a BSHD batch by its lengths, an array [batch] on the GPU. Each row is padded to row_length tokens."""
    def add_attention_mask(self, attention_mask: DeviceArray, *, stream: object = None) -> None:
        """Adds a BSHD batch by its attention mask [batch, tokens] on the GPU: 1 is a real token, 0 is padding."""
    def add_encoder_decoder(self, lengths: DeviceArray, encoder_lengths: DeviceArray, *, stream: object = None) -> None:
        """Adds n samples of an encoder-decoder model by two arrays on the GPU: [n] tokens of the decoder and [n] tokens
        of the encoder."""
    def add_new_tokens(self, new_tokens: DeviceArray, past: DeviceArray, *, stream: object = None) -> None:
        """Adds sequences with cached tokens, as in decoding: two arrays on the GPU with the [n] new tokens and the [n]
        cached tokens of each sequence."""
    def add_hstu(
        self,
        lengths: DeviceArray,
        contextual: DeviceArray | None = None,
        targets: DeviceArray | None = None,
        target_group: SupportsIndex = 1,
        *,
        stream: object = None,
    ) -> None:
        """Adds sequences of an HSTU model by three arrays on the GPU: total lengths, contextual tokens and targets. A
        target attends only the targets of its own group of `target_group` targets."""
    def add_grid_thw(self, grid_thw: DeviceArray, *, stream: object = None) -> None:
        """Adds images and clips by an array [n, 3] on the GPU: frames, rows and columns of patches, before patches are
        merged."""
    def add_audio_frames(self, audio_frames: DeviceArray, *, stream: object = None) -> None:
        """Adds n audio clips by an array on the GPU: the number of frames of each that enter the audio tower."""
    def snapshot(self, *, reset: bool = False, stream: object = None) -> None:
        """Starts a copy of the sums so far to the host. poll() returns the copy once it has arrived. With reset=True
        the sums then start from zero. Takes one kernel launch."""
    def reset(self, *, stream: object = None) -> None:
        """Sets the sums to zero. Clears the error that the next poll() or read() would have raised."""
    def poll(self) -> Tally | None:
        """Returns the oldest snapshot that has arrived on the host and was not returned yet, as a Tally. None if there
        is none. Never waits for the GPU."""
    def read(self, *, stream: object = None) -> Tally:
        """Returns the sums so far as a Tally. Waits for all work that is queued on the stream."""
    @property
    def device(self) -> int:
        """The index of the CUDA device."""

class Meter(_Adds):
    """Counts FLOPs and times the steps of a training loop. Reports MFU and other rates of the last step, the interval
    and the run.

        with meter.step():
            for batch in microbatches:
                train(batch)
                meter.add(cu_seqlens=batch.cu_seqlens)

    gpus: all GPUs that work on the counted sequences. With more than one GPU, also pass `reduce` or `counted`. Leave
        `gpus` out for the meter of a trainer's callback: the callback sets the number.
    reduce: a floptally.distributed.Reduction. When a step ends, it sums the work of all its ranks; `gpus` is then the
        number of its ranks.
    counted: "all_gpus" states that what you add is already the work of all GPUs: one process counts for them, or
        the batch was reduced before.
    accelerator: a name as the driver calls it, or an Accelerator. An unknown name gives one warning; the meter then has
        FLOPs, times and rates, but no MFU.
    peak_tflops: dense peak of one GPU, also one that `floptally.measure_peak()` returns. Overrides `accelerator`.
    peak_kind: the kind of `peak_tflops`: "datasheet", "boost" or "measured".
    clock_mhz: GPU clock in MHz. The peak is then computed at this clock instead of taken from the datasheet.
    precision: the precision of the peak, "bf16" by default. A trainer's callback takes that of the run, unless you pass
        one.
    precisions: components and layers in other precisions: "mlp=fp8,@1-30=fp8" (layers 1 to 30). Scalars then have
        mfu_mixed_pct and its denominator mixed_peak_tflops.
    clock: any function that returns seconds.
    beside: a second convention to log in addition to `convention`. The names of its scalars contain the convention's
        name: mfu_megatron_pct, mfu_megatron_padded_pct, tflops_megatron_per_gpu, tflops_megatron_padded_per_gpu.
    plan: what runs and which weights train. It adds to the plan of `cost`. Raises an Error if the two plans contradict
        each other.
    on_error: what happens to a step that cannot be counted: a bad batch, a time of 0 s or NaN, or an error on another
        rank. "raise" raises an Error. "leave_out" leaves the step out of all totals, warns once, and counts such steps in
        `steps_left_out` and in the scalar of the same name.
    """

    def __init__(
        self,
        cost: Cost,
        *,
        gpus: int | None = None,
        accelerator: str | Accelerator | None = None,
        peak_tflops: float | None = None,
        precision: Precision | None = None,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        clock: Callable[[], float] | None = None,
        counted: CountedFor | None = None,
        reduce: object = None,
        precisions: str | None = None,
        peak_kind: PeakKind | None = None,
        clock_mhz: float | None = None,
        beside: ConventionName | Convention | None = None,
        on_error: Literal["raise", "leave_out"] = "raise",
    ) -> None: ...
    def begin_step(self) -> None:
        """Opens a step and starts its clock."""
    def end_step(self, seconds: float | None = None) -> None:
        """Ends the open step. seconds: the duration of the step; by default the clock measures it."""
    def discard_step(self) -> None:
        """Discards the open step, for example because it failed: its FLOPs and its time do not count."""
    def step(self, seconds: float | None = None) -> MeteredStep:
        """Returns a context manager for one step. If its body raises, the step is discarded. seconds: the duration of
        the step; by default the clock measures it."""
    def add(self, **batch: Unpack[_MeterBatch]) -> None:
        """Counts one microbatch of the open step.

        Args:
            lengths, …, tally: as in `Cost.flops`.
        """
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
        """Returns a context manager for one pass of the open step, such as a rollout. The pass has its own model, plan,
        batch and seconds.

            with meter.timed("rollout", plan=decode, learner=False) as rollout:
                generate(prompts)
                rollout.add(requests=requests)

        Read the rates of such passes by `passes()`; the meter's own totals do not include them. If a GPU works
        asynchronously, synchronize it at both ends of the pass.

        Args:
            name: "rollout", "old_log_prob", "ref", "update". Passes of one name add up.
            plan: what runs and which weights train. By default the plan of `cost`, else the meter's.
            cost: the model that runs, if it is not the meter's.
            convention: how to count the pass; the meter's convention by default.
            gpus: GPUs that ran the pass. All GPUs of the meter by default.
            peak_tflops: peak of one GPU that ran the pass, if it is not the meter's.
            seconds: duration of the pass, if this process cannot measure it, as with a remote worker.
            learner: False for an engine that generates. The pass then counts in the whole step, not in the
                learner's MFU.
            memory_tbps: memory bandwidth of one GPU in TB/s. The pass then has an MBU: weights and cache read, over
                what the memory could move.
        """
    def passes(self, span: Span = "step") -> StepPasses:
        """Returns the rates of the passes that `timed()` measured in the last step, the interval or the run. The result
        has each pass over its own time, all learner passes together, and the whole step over the wall clock."""
    @property
    def _passes(self) -> Passes: ...
    @property
    def _now(self) -> float: ...
    def add_deferred(self, batch: Deferred) -> None:
        """Counts one microbatch of the open step whose numbers have not arrived from the GPU yet.

        batch: an object with done(), wait() and arguments(). arguments() returns the keywords of add() once done()
            is true. If the batch also has failed(error), a batch that cannot be counted is reported there, and its
            step is left out. Otherwise a later call of the meter raises the error.
        """
    def finish(self) -> None:
        """Waits for the numbers of microbatches that are still on their way from the GPU. All totals are complete
        then."""
    def new_tally(self) -> Tally:
        """Returns an empty Tally that has the sums this meter needs. Add a batch to it and pass it to add(tally=…)."""
    def breakdown(self, span: Span = "interval") -> Breakdown:
        """Returns the FLOPs by component of the last "step", the "interval" or the whole "run"."""
    @property
    def in_step(self) -> bool:
        """True while a step is open."""
    @property
    def last_step(self) -> Totals:
        """Totals of the step that ended last."""
    @property
    def interval(self) -> Totals:
        """Totals of the steps since the last reset_interval(), or since the first step."""
    @property
    def run(self) -> Totals:
        """Totals of all steps of the run."""
    def set_budget(self, *, tokens: int | None = None, steps: int | None = None) -> None:
        """Sets how long the whole run is, in real tokens of all GPUs or in steps. Scalars then say what is left and when
        the run ends: tokens_left or steps_left, seconds_left, and ends_at in seconds since 1970. If you pass both, the
        run ends when it reaches one of them. If you pass neither, the budget is removed."""
    @property
    def budget(self) -> dict[str, int]:
        """The budget that set_budget() set: {"tokens": …, "steps": …}. Empty without a budget."""
    def reset_interval(self) -> None:
        """Starts a new interval. Call it after each line of a log."""
    def scalars(self, span: Span = "interval", prefix: str = "train/") -> dict[str, float]:
        """Returns MFU, TFLOP/s and other rates of the last "step", the "interval" or the "run", as a dict for a
        logger."""
    def begin_run(self, clock: Callable[[], float] | None = None) -> None:
        """Starts the run's wall clock, which `goodput` needs. A restart from a checkpoint continues the same clock.

        Call it as early as possible in the process, and before load_state_dict. clock: a function that returns seconds
        since 1970; `time.time` by default.
        """
    def spend(self, name: str, seconds: float) -> None:
        """Adds wall-clock seconds outside of steps to `goodput`, under a name of your choice: "checkpoint",
        "evaluation", "data", …"""
    def spending(self, name: str) -> Spending:
        """Returns a context manager that measures the time of its body and passes it to spend() under this name."""
    @property
    def goodput(self) -> Goodput:
        """How the wall-clock time since begin_run() was spent, as a Goodput: in steps, in the activities named by
        spend(), and the rest."""
    def to_open_metrics(self, run: str = "") -> str:
        """Returns the run's counters in the text format of OpenMetrics, for an endpoint that Prometheus scrapes.

        Args:
            run: a label on all samples, to tell the runs of one job apart.
        """
    def state_dict(self) -> dict[str, Any]:
        """Returns the run's totals as a dict of strings, numbers and lists, for a checkpoint."""
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues the run from the totals that state_dict() returned. Call it before the first step.

        If the run was counted by another plan or convention, a new interval begins, with a warning. The run's FLOPs stay
        as they were counted, and new steps are added to them."""
    def save(self, path: str | PathLike[str]) -> None:
        """Writes the run's totals to a file. The write is atomic: after a crash the file has these totals or the
        previous ones."""
    def load(self, path: str | PathLike[str]) -> None:
        """Continues the run from a file that save() wrote. Call it before the first step."""
    def step_percentiles(self) -> dict[str, float]:
        """Returns percentiles of the durations of this process's steps in seconds: p10, p25, p50, p75, p90 and p99. The
        first 10 steps are left out; `leave_out` changes this number. The relative error is at most 0.79 %."""
    def leave_out(self, steps: SupportsIndex) -> None:
        """Sets how many steps at the start of the run `step_percentiles` leaves out."""
    @property
    def counted(self) -> str:
        """Text that says which GPUs the FLOPs and the peak belong to: "summed over 16 ranks", "of 1 GPU"."""
    @property
    def reduces(self) -> bool:
        """True if the meter itself sums over ranks (`reduce=` was passed)."""
    @property
    def cost(self) -> Cost:
        """The cost of the model that the meter counts."""
    @property
    def plan(self) -> Plan:
        """The plan that is counted: what runs and which weights train."""
    @property
    def convention(self) -> ConventionName:
        """The name of the convention that the meter counts by."""
    @property
    def beside(self) -> str | None:
        """The name of the second convention that the scalars show. None without one."""
    @property
    def on_error(self) -> Literal["raise", "leave_out"]:
        """What happens to a step that cannot be counted: "raise" raises an Error, "leave_out" leaves the step out."""
    @property
    def steps_left_out(self) -> int:
        """How many steps of the run could not be counted, with on_error="leave_out"."""
    @property
    def gpus(self) -> int:
        """The number of GPUs that work on the counted sequences. MFU is relative to the peak of all of them. 0 until a
        trainer's callback sets the number."""
    @property
    def peak_tflops(self) -> float | None:
        """Dense peak of one GPU in TFLOP/s. An MFU of 1 is this peak."""
    @property
    def accelerator(self) -> str:
        """The name of the accelerator. Empty if `peak_tflops` was passed."""
    @property
    def precision(self) -> PrecisionName:
        """The precision that the peak FLOP/s is for: "bf16", …"""
    @property
    def peak_kind(self) -> PeakKind | Literal["unsaid"]:
        """The kind of the peak: "datasheet", "boost" or "measured"; "unsaid" if `peak_tflops` was passed without a
        kind."""
    @property
    def peak_quality(self) -> Quality:
        """How good the source of the accelerator's peak is: vendor_document, vendor_slide or third_party."""
    def _repr_html_(self) -> str: ...

def _pass_rates(
    passes: list[tuple[Any, ...]], seconds: float, gpu_seconds: float, peak_tflop: float
) -> tuple[str, str, list[dict[str, Any]], float]: ...
def address_of(values: Integers) -> int:
    """Returns the memory address of an array of integers. For a list, this is the address of a copy."""
def cost(
    config: str,
    *,
    is_path: bool = False,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    spec: Sequence[tuple[str, str]] = [],
    parts: Sequence[str] = [],
    strict: bool | None = None,
) -> Cost:
    """Returns the Cost of a model (its FLOPs as integer coefficients) from its config. `config` is JSON text, or with
    `is_path` the path of a config. spec: (text, file name) of each spec, which says how to read an unknown model
    type."""
def flops(
    config: ConfigLike,
    *,
    convention: ConventionName | Convention = "exact",
    plan: Plan | None = None,
    mla: LatentAttention = "expanded",
    mtp: int = 0,
    padded_vocab_size: int = 0,
    spec: SpecLike | Sequence[SpecLike] | None = None,
    strict: bool | None = None,
    **batch: Unpack[_CostBatch],
) -> Breakdown:
    """Returns the FLOPs of one batch by component, phase and view, as exact ints.

    Describe the batch by one or more of the arguments from `lengths` to `tally`. If you pass several, their FLOPs are
    added up. To count every step, read the config once: `model = floptally.cost(config)`, then
    `model.flops(lengths=...)` with the same keywords.

    Args:
        config: what `floptally.cost` takes, or a `Cost`.
        lengths, …, tally: as in `Cost.flops`.
        convention: a name, or one of `floptally.conventions()`.
        plan: what runs and which weights train, in addition to the cost's own plan. A contradiction is an Error.
        mla: how the core of latent attention is computed, "expanded" or "absorbed".
        mtp: number of multi-token prediction layers that are trained.
        padded_vocab_size: vocabulary of the lm_head as kernels run it. 0: as the config says.
        spec: how to read the config of an unknown model type: the path or the text of a spec, or several.
        strict: what happens to a key of the config that the model's class neither reads nor ignores. None: an Error if
            the key names a size, else a note. False: always a note. True: always an Error, also for a size that the
            config does not state.

    Raises:
        floptally.Error: a `ValueError` for bad input. It names the field.
    """
def models() -> list[str]:
    """Returns the model types that cost() knows."""
def readable(flops: int, unit: WorkUnit = "flops") -> str:
    """Returns FLOPs with a unit: "421.65 TFLOP", or "210.83 TMAC" with unit="macs"."""
def run_program(arguments: Sequence[str | bytes]) -> int:
    """Runs the command-line program floptally and returns its exit status. The first argument is the program's name."""

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
    """Assigns samples to ranks so that the largest load is as small as possible.

    The same costs give the same assignment on every machine.

    costs: cost of each sample, [n] ints of any size, or floats. [n, loads] balances several loads at once.
    mode: "equal_count" (equally many samples on every rank), "free", or "capacity" (the `sizes` of a rank add up to
        `capacity` at most).
    groups: samples with the same number stay on one rank.
    seed: the heuristic for the first assignment: "longest_first", "differencing", or the "best" of both.
    budget: how many exchanges of samples to try; 0 keeps the first assignment.
    fineness: with more than 16 samples the search stops once the largest load is within 1 / fineness of a lower bound
        on it. 0 stops only at that bound or when no exchange helps. With fewer samples the result is the optimum.
    """

class ParallelLayout:
    """The parallel layout of a job (sizes of dp, cp, tp, pp, ep, …), and the coordinates of one rank. Dense layers are
    split by dp, cp, tp and pp. Experts have a second layout over the same ranks: ep and etp within each pipeline
    stage."""

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
        etp: SupportsIndex | None = None,
        dp_replicate: SupportsIndex = 1,
        layout: str | None = None,
        world_size: SupportsIndex | None = None,
        order: str = "tp-cp-ep-dp-pp",
        expert_order: str | None = None,
    ) -> None:
        """Makes the layout of a job with dp x cp x tp x pp ranks.

        Args:
            rank: the number of the rank, from 0.
            dp, cp, tp, pp: ranks along each axis; vpp: chunks of layers on each pipeline rank.
            ep: how many of the dp x cp x tp ranks share the experts.
            etp: tensor parallel ranks of each expert; tp by default.
            dp_replicate: replicas of the states that data parallel ranks shard (HSDP).
            layout: the sizes as text instead: "attn:d1p1t2c4|ffn:d1p1t1e8", or a trainer's settings. docs/parallel.md
                lists what is read.
            world_size: the number of all ranks. It must equal dp x cp x tp x pp. A `layout` without dp needs it.
            order: the axes as Megatron-LM lists them, the fastest-varying first.
            expert_order: the axes of experts, such as "etp-ep-expert_dp-pp". By default they follow from `order`.
        """
    @property
    def rank(self) -> int:
        """The number of this rank in the whole job, from 0."""
    @property
    def world_size(self) -> int:
        """The number of ranks of the whole job."""
    @property
    def coordinates(self) -> dict[Axis, int]:
        """The coordinate of this rank along each axis: {"tp": …, "cp": …, "dp": …, "pp": …}."""
    @property
    def sizes(self) -> dict[str, int]:
        """The number of ranks along each axis: {"dp": …, "cp": …, "tp": …, "pp": …, "vpp": …, "ep": …, "etp": …,
        "dp_replicate": …}."""
    @property
    def order(self) -> str:
        """The axes of dense layers, the fastest-varying first: "tp-cp-dp-pp"."""
    @property
    def expert_order(self) -> str:
        """The axes of experts, the fastest-varying first: "etp-ep-expert_dp-pp"."""
    def text(self, format: LayoutFormat) -> str:
        """Returns the layout as text in the syntax of "areal", "megatron", "torchtitan" or "fsdp2".
        `ParallelLayout(layout=…)` reads this text back as an equal layout."""
    def group(self, axes: Sequence[Axis]) -> list[int]:
        """Returns the ranks of this rank's process group along these axes, itself included: all ranks with the same
        coordinates on all other axes."""
    def with_redundant_work(self, repeated: dict[str, list[Axis]], *, plan: Plan | None = None) -> Plan:
        """Returns a plan in which some ranks repeat the same work. {"vision.*": ["cp"]} says that each rank along cp
        runs all of vision.*. The work is executed on each rank, but useful once."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class Scope:
    """Says which ranks of a job hold the same sequences, and which hold different parts of a batch. A sum over ranks
    uses a scope to count each part once."""

    def __init__(self, preset: ScopeName | Scope = "microbatch", **kwargs: Placement) -> None:
        """Makes a scope from a preset, and changes single axes by the keywords dp, cp, tp, pp and virtual_stages.

        preset: "microbatch" (all ranks of a replica hold whole sequences), "context_slice" (each cp rank holds its
            slice), "first_stage" or "last_stage" (only this pipeline stage holds sequences), or "own_routers" (each
            rank holds the expert visits of its own layers).
        The value of a keyword is "sharded" (each rank along the axis holds a part), "replicated" (all hold the same),
            "trusted" (the same, but not checked), "first" or "last" (only the first or last rank along the axis holds
            sequences).
        """
    def trusting_replicas(self) -> Scope:
        """Returns this scope without the check that replicas hold equal values. Use it if the group that you sum over
        has only some of the replicas."""
    def parts(self, layout: ParallelLayout) -> int:
        """Returns the number of different parts of a batch that the ranks of the layout hold by this scope."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class TallyReduction:
    """Sums tallies over ranks in every step. Checks that all ranks count by the same masks, layout and convention."""

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
        """Makes the reduction. All ranks of the group must call this together. One MAX all-reduce compares the ranks'
        masks, scope, layout, convention (None: not compared) and floptally's version. If one of them differs, all ranks
        raise an Error.

        like: the model's Cost, or a Tally with its masks. For a Cost, the ranks also compare what it counts by `plan`.
        """
    def sum(self, mine: Tally, *, reducer: Reducer, visits: tuple[int, int] | None = None) -> Tally:
        """Returns the sum of the tallies of all ranks, by one SUM all-reduce. Every rank gets the same result. visits:
        (how many microbatches ran on this rank, how often lengths were added to the tally). Needed with virtual
        pipeline stages."""
    def scaled(self, mine: Tally, *, visits: tuple[int, int] | None = None) -> Tally:
        """Returns the tally of all ranks from this rank's tally alone, without communication: each sum is multiplied by
        the number of different parts of the batch. This is correct only if all ranks have equal lengths, which is not
        checked."""

def reduce_ratio(
    numerator: SupportsIndex,
    denominator: SupportsIndex,
    *,
    scope: ScopeName | Scope,
    layout: ParallelLayout,
    reducer: Reducer,
) -> tuple[int, int]:
    """Returns the numerator and the denominator, each summed over all ranks."""

def reduce_extremes(
    values: Iterable[SupportsIndex], *, scope: ScopeName | Scope, layout: ParallelLayout, reducer: Reducer
) -> tuple[int, int | None, int | None]:
    """Returns (count, smallest, largest) over the values of all ranks. Smallest and largest are None if no rank has a
    value."""

def reduce_sequences(
    numerators: Sequence[float], denominators: Sequence[SupportsIndex], *, scope: ScopeName | Scope, layout: ParallelLayout,
    within: Reducer, over_dp: Reducer, of: Callable[[float], float] | None = None,
    denominator_scope: ScopeName | Scope | None = None, different_scopes: bool = False,
) -> tuple[int, int, float | None, float | None, float | None]:
    """Returns statistics of a ratio that each sequence has, such as its mean loss, over the sequences of all ranks. The
    statistics are the number of sequences with a ratio, the number without a token, and the mean, smallest and largest
    ratio.

    Numerators and denominators are first summed over the ranks that share a sequence. of: a function that is applied to
    each ratio, such as exp(-x) for perplexity. None: the ratio itself.
    """

class TokenSplit:
    """Says how context-parallel ranks split the tokens of a pack (a packed sequence). All ranks hold equally many
    tokens."""

    @staticmethod
    def zigzag(tokens: SupportsIndex, cp: SupportsIndex) -> TokenSplit:
        """Cuts the pack into 2 * cp chunks. Rank r holds chunks r and 2 * cp - 1 - r, so that all ranks have equal
        causal attention work. `tokens` must be a multiple of 2 * cp."""
    @staticmethod
    def contiguous(tokens: SupportsIndex, cp: SupportsIndex) -> TokenSplit:
        """Gives each rank one range of consecutive tokens, as Ulysses does outside of attention."""
    @staticmethod
    def zigzag_of_each(cu_seqlens_padded: Integers, cp: SupportsIndex) -> TokenSplit:
        """Cuts each padded sequence of a pack into 2 * cp chunks. Rank r holds chunks r and 2 * cp - 1 - r of each
        sequence, as in Transformer Engine's THD layout."""
    @property
    def cp(self) -> int:
        """The number of ranks that share the pack."""
    @property
    def tokens(self) -> int:
        """The number of tokens of the whole pack."""
    @property
    def tokens_per_rank(self) -> int:
        """The number of tokens that each rank holds."""
    def ranges(self, rank: SupportsIndex) -> list[tuple[int, int]]:
        """Returns the ranges [first, last) of token indices that a rank holds, in the order of the rank's memory."""
    def indices(self, rank: SupportsIndex) -> npt.NDArray[np.int64]:
        """Returns the indices of the tokens that a rank holds."""
    def gathered_order(self) -> npt.NDArray[np.int64]:
        """Returns, for each position of the all-gathered shards, the index of its token in the pack."""
    def restoring_order(self) -> npt.NDArray[np.int64]:
        """Returns, for each token of the pack, its position in the all-gathered shards. Indexing the gathered tensor by
        this array restores the pack's order."""
    def shard(self, row: ArrayT, rank: SupportsIndex, *, axis: int = -1) -> ArrayT:
        """Returns a rank's tokens of an array or a tensor of the whole pack, along `axis`."""
    def merge(self, shards: Sequence[ArrayT], *, axis: int = -1) -> ArrayT:
        """Returns the whole pack from the shards of all ranks, which must be in rank order."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class ContextParallelPack:
    """A packed sequence, or the rows of a BSHD batch, whose tokens are split over context-parallel ranks.

    The tallies of all ranks add up exactly to the tally of the whole, for any mask.
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
        """Splits a batch over context-parallel ranks by `split`, padding included. Pass cu_seqlens (with
        cu_seqlens_padded and num_real_seqs) or attention_mask, as to a `Tally`."""
    def tokens(self, view: CountedView = "useful") -> list[int]:
        """Returns the number of tokens that each rank holds, as a list by rank."""
    def pairs(self, mask: Mask, view: CountedView = "useful") -> list[int]:
        """Returns the number of attended (query, key) pairs of each rank's queries, as a list by rank."""
    def tally(
        self,
        rank: SupportsIndex,
        cost_or_masks: Cost | Tally | Sequence[Mask] | None,
        *,
        convention: ConventionName | Convention = "exact",
        plan: Plan | None = None,
        bidirectional: bool = False,
    ) -> Tally:
        """Returns the tally of one rank's tokens. The tallies of all ranks add up to that of the pack. bidirectional:
        True if queries attend all keys of their sequence. Each query then adds its sequence's length n to the rank's
        sum of squares. All ranks together have n² for a sequence of n tokens."""

class ExchangePlan:
    """Plans an exchange of samples between ranks: which bytes each rank sends to and receives from each other rank.

    Every rank computes the same plan from the same numbers. `floptally.distributed.exchange` sends the data.
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
        """Plans an exchange of samples between ranks.

        owners: the rank that has each sample before the exchange.
        destinations: the rank that each sample goes to. If `window` is above 1: microbatch * ranks + rank.
        sizes: the number of elements of each sample.
        window: how many microbatches are planned together.
        """
    @property
    def ranks(self) -> int:
        """The number of ranks that take part in the exchange."""
    @property
    def window(self) -> int:
        """The number of microbatches that are planned together. Each has an exchange of its own."""
    @property
    def owners(self) -> npt.NDArray[np.int64]:
        """The rank that has each sample before the exchange."""
    @property
    def destinations(self) -> npt.NDArray[np.int64]:
        """Where each sample goes, as the number microbatch * ranks + rank: the microbatch that it is in, and the rank
        that gets it."""
    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """Bytes of each sample, without padding."""
    def samples_of(self, microbatch: SupportsIndex) -> npt.NDArray[np.int64]:
        """Returns the indices of all samples in a microbatch, on all ranks together."""
    def for_rank(self, rank: SupportsIndex, microbatch: SupportsIndex = 0) -> RankExchange:
        """Returns the send and receive buffers of one rank for one microbatch, as a RankExchange."""
    def inverse(self) -> ExchangePlan:
        """Returns the plan that sends each sample back to its owner."""
    def with_sizes(
        self, sizes: Integers, *, bytes_per_element: SupportsIndex = 1, max_buffer_bytes: SupportsIndex = 17179869176
    ) -> ExchangePlan:
        """Returns a plan that moves the same samples to the same ranks, for data of another size (such as labels
        instead of images). sizes: the number of elements of each sample."""
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]

class CanonicalGroups:
    """Splits a batch into groups that fit modules of different data-parallel sizes, such as a vision encoder and a
    language model.

    There are as many groups as the least common multiple of these sizes. Each replica of a module then owns the same
    number of adjacent groups.
    """

    def __init__(self, dp_sizes: Integers) -> None:
        """Makes the groups for modules with these data-parallel sizes. dp_sizes: the data-parallel size of each
        module."""
    @property
    def size(self) -> int:
        """The number of groups that a batch is split into."""
    def groups_of(self, module: SupportsIndex, dp_rank: SupportsIndex) -> range:
        """Returns the indices of the groups that one data-parallel rank of a module owns."""
    def ranks_of(self, module: SupportsIndex, groups: Integers) -> npt.NDArray[np.int64]:
        """Returns, for each group, the data-parallel rank of a module that owns the group."""

class MemoryProbe:
    """Samples a GPU's memory before and after each step in `profile_steps`. At other steps it does nothing.

    backend: an object with `reset_high_marks()` and `sample()`. A sample has `free`, `total`, `pool_used_high` and
        `pool_reserved_high` in bytes. `floptally.memory.TorchMemory` is one.
    layout: the ParallelLayout of this rank, for rows and file names.
    start(max_entries), stop(name, step): functions of the framework's memory recorder. `stop` writes the snapshot of
        the step.
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
        """Resets the high-water marks and takes a memory sample, if the step is one of `profile_steps`."""
    def end_step(self, step: SupportsIndex) -> None:
        """Takes a second memory sample and adds a row with both samples to `rows`, if the step is one of
        `profile_steps`."""
    def step(self, step: SupportsIndex) -> ProbedStep:
        """Returns a context manager that calls begin_step() and end_step(). If its body raises, the row and the memory
        snapshot of the step are still written."""
    @property
    def rows(self) -> list[dict[str, int]]:
        """The memory samples of the profiled steps, one dict for each. A dict has the step, the rank, and the rank's
        coordinates along pp, dp, cp and tp (as p, d, c, t). Its free_before, free_after, total, pool_used_high and
        pool_reserved_high are in bytes."""

def snapshot_name(layout: ParallelLayout | None, step: SupportsIndex) -> str:
    """Returns the file name for the memory snapshot of a step: "snapshot_rank03_p0d1c0t1_step7"."""
def logits_bytes(
    tokens: SupportsIndex,
    vocabulary: SupportsIndex,
    *,
    bytes_per_element: SupportsIndex = 2,
    context_parallel: SupportsIndex = 1,
    tensor_parallel: SupportsIndex = 1,
) -> LogitsBytes:
    """Returns the bytes of one rank's logits for a microbatch of `tokens` tokens, as a LogitsBytes. It has three cases:
    logits of the rank's own tokens, gathered logits of all tokens, and the peak while logits are gathered."""
def state_bytes(
    parameters: SupportsIndex,
    trainable: SupportsIndex | None = None,
    *,
    zero: ZeroStates = "none",
    data_parallel: SupportsIndex = 1,
    optimizer: OptimizerName = "mixed_precision_adam",
) -> StateBytes:
    """Returns the bytes of weights, gradients and optimizer states on one rank, as a StateBytes. The rank holds
    `parameters` weights and trains `trainable` of them (None: all)."""
def cp_alignment(tp: SupportsIndex, cp: SupportsIndex, extra: SupportsIndex = 1) -> int:
    """Returns the number of tokens that each padded sequence of a pack must be a multiple of, so that all
    context-parallel ranks get equal shards. It is tp * cp * 2, or tp if cp is 1, rounded up to a multiple of
    `extra`."""
def aligned_cu_seqlens(cu_seqlens: Integers, alignment: SupportsIndex) -> npt.NDArray[np.int64]:
    """Returns `cu_seqlens_padded`: the boundaries of a pack in which each sequence is padded to a multiple of
    `alignment` tokens."""
def pack_by_capacity(
    lengths: Integers, capacity: SupportsIndex, *, alignment: SupportsIndex = 1, min_packs: SupportsIndex = 0,
    divisor: SupportsIndex = 1,
) -> Packing:
    """Packs samples by first-fit decreasing, at most `capacity` tokens in each pack. The number of packs is at least
    `min_packs` and a multiple of `divisor`."""
def pack_by_assignment(
    lengths: Integers, pack_of: Integers, packs: SupportsIndex, *, alignment: SupportsIndex = 1
) -> Packing:
    """Packs samples by given pack numbers: sample i goes into pack `pack_of[i]`. You may pass `Assignment.rank_of`."""
def utilize(
    modules: Sequence[StepModule], *, seconds: float, gpus: SupportsIndex, peak_tflops: float
) -> ModuleUtilization:
    """Returns the MFU of a step in which each module runs on its own ranks and in its own precision. gpus: number of
    ranks of the job. peak_tflops: dense peak in TFLOP/s of a rank that runs no module."""

# Private functions that the Python classes call.
def _accelerators(name: str | None = None) -> list[tuple[Any, ...]]:
    """The fields of the Accelerator with this name, or of every accelerator."""
def _precision_name(precision: Precision) -> PrecisionName: ...
def _peak_tflops(name: str, precision: Precision, clock_mhz: float | None = None) -> float:
    """Dense TFLOP/s of an accelerator: the published peak, or the peak at clock_mhz if that is passed."""
def _coefficient_hash(cost: Cost, convention: str, plan: Plan | None) -> int:
    """A hash of what a cost counts under a convention and a plan."""
def _conventions() -> list[tuple[ConventionName, str]]:
    """Name and summary of every convention."""
def _fit(work: Breakdown, **how: Any) -> tuple[str, str, str]:
    """The JSON of a fit, its table, and the JSON of the table. how: keywords of `Breakdown.fit`."""
def _search(
    work: Breakdown,
    *,
    explain: str | None = None,
    measured_layout: str | None = None,
    measured_seconds: float = 0.0,
    **how: Any,
) -> tuple[str, str, str, str]:
    """Returns four texts: the JSON of a search, its table, the JSON of the table, and more JSON: the
    explanation of a layout, and the first layout as settings of trainers (or why there are none). how: keywords of `Cost.search`."""
def _expect(
    work: Breakdown,
    *,
    accelerator: str | Accelerator,
    gpus: int | None = None,
    precision: str = "bf16",
    mfu: float | None = None,
    nearest: int = 20,
    unmarked: bool = False,
) -> tuple[str, str, str]:
    """The JSON of an expectation, its table, and the JSON of the table."""
def _published_runs() -> tuple[str, str, str]:
    """JSON, table and JSON of the table of every published run."""
def _require_same_plan(plan: ExchangePlan, reducer: Reducer) -> None:
    """Raises on all ranks if their exchange plans differ."""
def _prepare_together(prepare: Callable[[], object], *, rank: int, reducer: Reducer) -> None:
    """Calls `prepare`. If it raises on one rank, all ranks raise."""
def _require_held(tokens: Integers, *, scope: ScopeName | Scope, layout: ParallelLayout, reducer: Reducer) -> None:
    """Raises on all ranks if the ranks do not hold the tokens that the scope says."""
def _bytes(work: Breakdown, **how: Any) -> tuple[str, str, str, dict[str, dict[str, dict[str, int]]]]:
    """The values of a `Bytes`: its JSON, its table, the JSON of the table, its phases. how: keywords of
    `Breakdown.bytes`."""
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
    """The values of `Bytes.mbu`."""
def _step_waterfall(
    work: Breakdown,
    request: str,
    tiles: MaskedTiles | None,
    microbatches: list[list[Breakdown]],
    cp: ContextShards | None,
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
    """The texts of a waterfall, the scalars for loggers, and the step itself. request: JSON."""
def _write_whole(path: bytes, text: str) -> None:
    """Writes a file atomically."""
def _times_of_traces(work: Breakdown, paths: list[bytes], modules: str | None) -> str:
    """JSON of component times from the traces of a step's ranks, what else the traces say, notes, and each rank's
    step."""
def _read_throughput_log(text: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Steps and layers of a log's text, the fields of each as a tuple."""
def _train_line_text(line: tuple[Any, ...]) -> str:
    """Formats the fields of a TrainLine as logs do."""
def _layer_line_text(line: tuple[Any, ...]) -> str:
    """Formats the fields of a LayerLine as logs do."""
def _compare(experiments: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The fields of one table row for each run. experiments: the fields of each run."""
