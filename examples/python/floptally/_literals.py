# SPDX-License-Identifier: Apache-2.0
"""The allowed values of floptally's arguments, for type checkers. tests/python/test_typing.py compares them with the
extension."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, Union

#: How FLOPs are counted: `floptally.conventions()`.
ConventionName: TypeAlias = Literal[
    "exact", "megatron", "megatron_2026_10", "megatron_bridge", "nemo_automodel", "nemo_automodel_0_7",
    "nemo_automodel_hybrid", "maxtext", "maxtext_2026", "bionemo", "levanter", "nanotron", "olmo_core", "olmo_core_3",
    "vllm_prefill", "sglang", "hf_6nd", "palm", "nanogpt", "torchtitan", "torchtitan_2026", "verl", "verl_2026",
    "flash_attention", "torch_flop_counter", "torch_flop_counter_eager", "recsys_examples",
]  # fmt: skip
#: Passes of a step that a process runs.
Phase: TypeAlias = Literal["train", "forward", "backward"]
#: How context-parallel ranks get the keys of other ranks.
ContextExchange: TypeAlias = Literal["ring", "all_gather", "ulysses"]
#: Optimizers, by the states they store.
OptimizerStates: TypeAlias = Literal["adamw", "adamw_without_master", "adamw_8bit", "adamw_16bit_moments", "muon", "sgd", "sgd_momentum"]
#: Parts of the forward that the backward computes again.
Recompute: TypeAlias = Literal["none", "full", "attention"]
#: Tokens whose logits are computed.
LogitTokens: TypeAlias = Literal["all", "last", "measured"]
#: States of a weight in training.
WeightState: TypeAlias = Literal["trainable", "frozen", "lora"]
#: How the indexers of sparse attention train.
IndexerTraining: TypeAlias = Literal["frozen", "sparse_loss", "dense_loss", "warm_up"]
#: Units of a report. One MAC, a multiplication and an addition, is two FLOPs.
WorkUnit: TypeAlias = Literal["flops", "macs"]
#: The three views of FLOPs.
ViewName: TypeAlias = Literal["useful", "padded", "executed"]
#: The views that a tally has.
CountedView: TypeAlias = Literal["useful", "padded"]
#: Spans with totals in a meter.
Span: TypeAlias = Literal["step", "interval", "run"]
#: Sums of a tally.
Statistic: TypeAlias = Literal["count", "tokens", "keys", "squares", "cached", "crossed", "routed"]
#: The part of a model that has the sequences.
Tower: TypeAlias = Literal["text", "vision", "audio"]
#: Kinds of products, which decide their backward.
EntryKind: TypeAlias = Literal[
    "linear", "input_linear", "preprocessing", "router", "lm_head", "scores", "values", "state", "delta_rule", "scan",
    "scan_convolution", "detached", "detached_head", "embedding", "tied_embedding", "position_embedding", "norm",
    "latent_norm", "bias", "softmax", "gating", "residual", "optimizer", "index_linear", "index_scores",
    "teacher_scores", "gradient",
]  # fmt: skip
#: How conventions that do not count attended pairs count a mask of your own.
PairShape: TypeAlias = Literal[
    "units", "full", "causal", "mixed", "beyond_causal", "masked_out", "unregistered",
]  # fmt: skip
#: How tensor parallelism shards an entry.
Split: TypeAlias = Literal[
    "unsaid", "several", "columns", "rows", "heads", "kv_heads", "fused_qkv", "vocabulary", "experts", "even",
    "replicated", "repeated",
]  # fmt: skip
#: How the core of latent attention runs.
LatentAttention: TypeAlias = Literal["expanded", "absorbed"]
#: Kinds of peaks.
PeakKind: TypeAlias = Literal["datasheet", "boost", "measured"]
#: How good the source of a peak is.
Quality: TypeAlias = Literal["vendor_document", "vendor_slide", "third_party"]
#: Whether a meter is given this rank's sequences or those of all GPUs.
CountedFor: TypeAlias = Literal["unsaid", "all_gpus"]
#: Splits of sequences over the ranks of context parallelism.
ContextSplit: TypeAlias = Literal["zigzag", "zigzag_pack", "contiguous"]
#: Schedules of a pipeline.
Schedule: TypeAlias = Literal["gpipe", "1f1b", "interleaved", "zero_bubble", "zb_v"]
#: States that data parallel ranks shard (ZeRO).
ZeroStates: TypeAlias = Literal["none", "optimizer", "gradients", "weights"]
#: Optimizers, by the bytes of each parameter.
OptimizerName: TypeAlias = Literal["mixed_precision_adam", "megatron_bf16", "megatron_fp16", "fp32_adam"]
#: How key-value heads are placed if there are fewer than tensor-parallel ranks.
FewKvHeads: TypeAlias = Literal["replicated", "gathered"]
#: Which constraint balance() keeps on the samples of a rank.
BalanceMode: TypeAlias = Literal["equal_count", "free", "capacity"]
#: First assignments of a search.
BalanceSeed: TypeAlias = Literal["best", "longest_first", "differencing"]
#: Presets of a Scope.
ScopeName: TypeAlias = Literal["microbatch", "context_slice", "first_stage", "last_stage", "own_routers"]
#: What the ranks along one axis hold: the same, or different parts.
Placement: TypeAlias = Literal["replicated", "trusted", "sharded", "first", "last"]
#: Axes of a layout.
Axis: TypeAlias = Literal["tp", "cp", "dp", "pp", "ep", "expert_dp", "etp", "dp_replicate"]
BlockFormat: TypeAlias = Literal["none", "fp8", "fp8_blocks", "mxfp8", "nvfp4", "nf4", "nf4_double"]
LayerModule: TypeAlias = Literal["core_attn", "attn_proj", "mla_up_proj", "layernorm", "mlp", "shared_experts", "moe_act", "expert_fc1", "moe"]
LayerSplit: TypeAlias = Literal["automatic", "even", "torchtitan"]
#: Trainers whose splits, schedules and overlap a search knows.
Trainer: TypeAlias = Literal["megatron", "torchtitan", "fsdp"]
LayoutFormat: TypeAlias = Literal["areal", "megatron", "torchtitan", "fsdp2"]
#: Number formats by their own names.
PrecisionName: TypeAlias = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"]
#: Names of precisions in frameworks and trainers.
PrecisionAlias: TypeAlias = Literal[
    "bfloat16", "float16", "half", "float32", "float64", "tensorfloat32", "float8", "mxfp8", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "mxfp4", "nvfp4", "float4_e2m1fn_x2", "bf16-mixed",
    "bf16-true", "16-mixed", "16-true", "32-true", "64-true", "amp_bf16", "amp_fp16", "torch.bfloat16",
    "torch.float16", "torch.float32", "torch.float8_e4m3fn", "torch.float8_e5m2", "hybrid", "transformer-engine",
    "transformer-engine-float16", "no",
]  # fmt: skip


class Dtype(Protocol):
    """A dtype of a framework, such as torch.bfloat16 or a NumPy dtype."""

    @property
    def itemsize(self) -> Any: ...


#: A number format: its name, a trainer's name for it, or a framework's dtype.
Precision: TypeAlias = Union[PrecisionName, PrecisionAlias, Dtype, type[Any]]
