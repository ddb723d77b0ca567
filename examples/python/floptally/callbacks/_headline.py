# SPDX-License-Identifier: Apache-2.0
"""The first line of a report, and whether a run's precision is that of the peak."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

from .. import Meter, Plan, accelerator

#: Lightning's names of precisions, without "-mixed" and "-true".
_LIGHTNING = {
    "16": "fp16", "32": "fp32", "64": "fp64", "bf16": "bf16", "transformer-engine": "fp8",
    "transformer-engine-float16": "fp8",
}  # fmt: skip
_DTYPES = {"torch.float64": "fp64", "torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16"}
_MOST_NAMES = 4


def headline(meter: Meter) -> str:
    """Returns one line with the FLOPs of a step, the convention, the peak, the GPUs and what is trained: "1008 TFLOP a
    step by convention exact; peak 989 TFLOP/s of each of 8 GPUs, bf16 of H100 SXM (datasheet); all weights train"."""
    done = meter.run
    step = f"{tflop(done.useful / done.steps)} a step" if done.steps > 0 else "no step yet, counted"
    gpus = "of 1 GPU" if meter.gpus == 1 else f"of each of {meter.gpus} GPUs"
    source = f"{meter.precision} of {meter.accelerator} ({source_of(meter)})" if meter.accelerator else source_of(meter)
    peak = (
        f"peak unknown {gpus}, {meter.accelerator}: no MFU" if meter.peak_tflops is None
        else f"peak {meter.peak_tflops:g} TFLOP/s {gpus}, {source}"
    )  # fmt: skip
    return f"{step} by convention {meter.convention}; {peak}; {trained(meter.plan)}"


def tflop(flops: float) -> str:
    """Returns FLOPs as text in TFLOP, with at least three significant digits: "1008 TFLOP", "0.0123 TFLOP"."""
    value = flops / 1e12
    decimals = 0 if value <= 0 else min(15, max(0, 2 - math.floor(math.log10(value))))
    return f"{value:.{decimals}f} TFLOP"


def source_of(meter: Meter) -> str:
    """Returns the source of the meter's peak as text: "datasheet", "datasheet, from a third party"."""
    if meter.peak_kind == "unsaid":
        return "as passed, of no stated source"
    if not meter.accelerator:
        return f"as passed, {meter.peak_kind}"
    third = ", from a third party" if meter.peak_quality == "third_party" else ""
    return f"{meter.peak_kind}{third}"


def trained(plan: Plan) -> str:
    """Returns text that says which weights a plan trains: "all weights train", "LoRA of rank 16 on q_proj trains, the
    rest is frozen"."""
    if plan.phase == "forward":
        return "forward only, nothing trains"
    groups: dict[str, list[str]] = {}
    for setting in plan.weights:
        kind = f"LoRA of rank {setting.rank} on" if setting.state == "lora" else setting.state
        groups.setdefault(kind, []).append(setting.weights)
    if not groups:
        return "all weights train"
    frozen = groups.pop("frozen", [])
    parts = [f"{kind} {_names(names)} trains" for kind, names in groups.items() if kind != "trainable"]
    if "trainable" in groups:
        parts.append(f"{_names(groups['trainable'])} trains")
    if frozen:
        parts.append("the rest is frozen" if "*" in frozen else f"{_names(frozen)} is frozen")
    return ", ".join(parts)


def _names(names: list[str]) -> str:
    shown = list(dict.fromkeys(name.rpartition("/")[2] if name != "*" else "all" for name in names))
    more = len(shown) - _MOST_NAMES
    return ", ".join(shown[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def precision_of_trainer(args: Any, model: Any) -> str | None:
    """Returns the precision in which transformers' Trainer computes, from its arguments and the model's weights. None
    if these do not say it."""
    if os.environ.get("ACCELERATE_MIXED_PRECISION") == "fp8":
        return "fp8"
    if getattr(args, "bf16", False):
        return "bf16"
    if getattr(args, "fp16", False):
        return "fp16"
    return _precision_of_weights(model)


def precision_of_lightning(trainer: Any) -> str | None:
    """Returns the precision in which Lightning's Trainer computes. None if floptally does not know the name of the
    precision."""
    name = str(getattr(trainer, "precision", "")).removesuffix("-mixed").removesuffix("-true")
    return _with_tf32(_LIGHTNING.get(name))


def _precision_of_weights(model: Any) -> str | None:
    sizes: dict[str, int] = {}
    for weight in model.parameters():
        name = _DTYPES.get(str(weight.dtype))
        if name is not None:
            sizes[name] = sizes.get(name, 0) + weight.numel()
    return _with_tf32(max(sizes, key=lambda name: sizes[name])) if sizes else None


def _with_tf32(precision: str | None) -> str | None:
    if precision != "fp32":
        return precision
    import torch

    return "fp32" if torch.get_float32_matmul_precision() == "highest" else "tf32"


def other_precision(meter: Meter, run: str | None) -> str | None:
    """Returns a warning if the run computes in another precision than that of the meter's peak. None if the precisions
    are the same, if the run's precision is unknown, or if you passed the peak to the meter."""
    if run is None or not meter.accelerator or run == meter.precision or meter.peak_tflops is None:
        return None
    published: Mapping[Any, float] = accelerator(meter.accelerator).dense_tflops
    way_out = (
        f'pass precision="{run}" to the Meter, whose peak is {published[run]:g} TFLOP/s'
        if run in published
        else f"no peak of {run} is published: pass peak_tflops="
    )
    return (
        f"the run computes in {run}, and MFU is relative to the peak of {meter.precision}, {meter.peak_tflops:g} TFLOP/s: "
        f"{way_out}"
    )
