# SPDX-License-Identifier: Apache-2.0
"""The closed sets of words that floptally takes, for type checkers. tests/python/test_typing.py holds them against the
extension."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias, Union

#: How FLOPs are counted: `floptally.conventions()`.
ConventionName: TypeAlias = Literal[
    "exact", "megatron", "megatron_bridge", "nemo_automodel", "nemo_automodel_hybrid", "maxtext", "maxtext_2026",
    "bionemo", "levanter", "nanotron", "vllm_prefill", "hf_6nd", "palm", "nanogpt", "torchtitan", "torchtitan_2026",
    "verl", "verl_2026", "flash_attention", "torch_flop_counter", "torch_flop_counter_eager", "recsys_examples",
]  # fmt: skip
#: Passes of a step that a process runs.
Phase: TypeAlias = Literal["train", "forward", "backward"]
#: How ranks of context parallelism attend to keys of others.
ContextExchange: TypeAlias = Literal["ring", "all_gather", "ulysses"]
#: What steps the weights, by what it stores.
OptimizerStates: TypeAlias = Literal["adamw", "adamw_without_master", "adamw_8bit", "muon", "sgd", "sgd_momentum"]
#: Parts of the forward that the backward computes again.
Recompute: TypeAlias = Literal["none", "full", "attention"]
#: Tokens whose logits are computed.
LogitTokens: TypeAlias = Literal["all", "last", "measured"]
#: States of a weight in training.
WeightState: TypeAlias = Literal["trainable", "frozen", "lora"]
#: How the indexers of sparse attention train.
IndexerTraining: TypeAlias = Literal["frozen", "sparse_loss", "dense_loss", "warm_up"]
#: The three views of FLOPs.
ViewName: TypeAlias = Literal["useful", "padded", "executed"]
#: Those of them that a tally has.
CountedView: TypeAlias = Literal["useful", "padded"]
#: Spans of which a meter has totals.
Span: TypeAlias = Literal["step", "interval", "run"]
#: Sums of a tally.
Statistic: TypeAlias = Literal["count", "tokens", "keys", "squares", "cached", "crossed", "routed"]
#: Whose sequences.
Tower: TypeAlias = Literal["text", "vision", "audio"]
#: Kinds of products, which decide their backward.
RowKind: TypeAlias = Literal[
    "linear", "input_linear", "preprocessing", "router", "lm_head", "scores", "values", "state", "delta_rule", "scan",
    "scan_convolution", "detached", "detached_head", "embedding", "tied_embedding", "position_embedding", "norm",
    "latent_norm", "bias", "softmax", "gating", "residual", "optimizer", "index_linear", "index_scores",
    "teacher_scores",
]  # fmt: skip
#: How tensor parallelism deals a row.
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
#: Whose sequences a meter is given.
CountedFor: TypeAlias = Literal["unsaid", "all_gpus"]
#: Splits of sequences over the ranks of context parallelism.
ContextSplit: TypeAlias = Literal["zigzag", "zigzag_row", "contiguous"]
#: Schedules of a pipeline.
Schedule: TypeAlias = Literal["gpipe", "1f1b", "interleaved", "zero_bubble", "zb_v"]
#: States that data parallel ranks split (ZeRO).
ZeroStates: TypeAlias = Literal["none", "optimizer", "gradients", "weights"]
#: What a parameter takes under an optimizer.
OptimizerName: TypeAlias = Literal["mixed_precision_adam", "megatron_bf16", "megatron_fp16", "fp32_adam"]
#: What tensor-parallel ranks do that are more than key and value heads.
FewKvHeads: TypeAlias = Literal["replicated", "gathered"]
#: How many samples a rank has.
BalanceMode: TypeAlias = Literal["equal_count", "free", "capacity"]
#: Assignments that a search begins with.
BalanceSeed: TypeAlias = Literal["best", "longest_first", "differencing"]
#: Presets of what ranks hold of a statistic.
ScopeName: TypeAlias = Literal["microbatch", "context_slice", "first_stage", "last_stage", "own_routers"]
#: Shares of a statistic that the ranks along one axis hold.
Share: TypeAlias = Literal["replicated", "trusted", "sharded", "first", "last"]
#: Axes of a layout.
Axis: TypeAlias = Literal["tp", "cp", "dp", "pp", "ep"]
#: Number formats by their own names.
PrecisionName: TypeAlias = Literal["fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp4"]
#: Names of precisions in frameworks and trainers.
PrecisionWord: TypeAlias = Literal[
    "bfloat16", "float16", "half", "float32", "float64", "tensorfloat32", "float8", "mxfp8", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "mxfp4", "nvfp4", "float4_e2m1fn_x2", "bf16-mixed",
    "bf16-true", "16-mixed", "16-true", "32-true", "64-true", "amp_bf16", "amp_fp16", "torch.bfloat16",
    "torch.float16", "torch.float32", "torch.float8_e4m3fn", "torch.float8_e5m2",
]  # fmt: skip


class Dtype(Protocol):
    """A dtype of a framework, as torch.bfloat16 or a dtype of NumPy."""

    @property
    def itemsize(self) -> Any: ...


#: A number format: its name, a trainer's word, or a dtype of a framework.
Precision: TypeAlias = Union[PrecisionName, PrecisionWord, Dtype, type[Any]]
