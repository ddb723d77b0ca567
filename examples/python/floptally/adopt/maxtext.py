# SPDX-License-Identifier: Apache-2.0
"""Replaces MaxText's ``maxtext.utils.maxtext_utils.calculate_tflops_training_per_device``."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, cast

from .. import Breakdown, Convention, Cost, Error, Plan
from ._count import counted
from ._fields import Fields
from ._maxtext_model import read
from ._original import Original

__all__ = ["calculate_tflops_training_per_device", "read"]

#: Conventions that are MaxText's own.
_OWN = ("maxtext", "maxtext_2026")
#: Components whose products have no weights.
_ATTENTION = ("attention.core", "mixer.state", "engram.gate")
_original = Original("MaxText", "maxtext.utils.maxtext_utils", "calculate_tflops_training_per_device")


def calculate_tflops_training_per_device(
    config: Any,
    log: bool = True,
    *,
    convention: str | Convention = "maxtext_2026",
    plan: Plan | None = None,
    compare: bool = False,
) -> tuple[float, float, float]:
    """Returns the TFLOPs of one training step on one device, as (total, products with weights, attention).

    Args:
        config: a configuration of MaxText.
        log: prints the numbers.
        convention: MaxText's own by default.
        plan: which weights train and what is recomputed. By default all weights train and nothing is recomputed.
        compare: also runs MaxText's own function and logs both numbers.
    """
    found = _original.answer(
        lambda: _counted(config, convention, plan),
        lambda function: tuple(map(float, function(config, log=False))),
        own=convention in _OWN and plan is None,
        compare=compare,
        number=lambda tflops: tflops[0],
    )
    if log:
        print(
            f"Per train step on one device: {found[0]:.2f} TFLOPs, "
            f"{100 * found[1] / found[0]:.2f}% of products with weights, "
            f"{100 * found[2] / found[0]:.2f}% of attention ({convention})"
        )
    return found[0], found[1], found[2]


def _counted(config: Any, convention: str | Convention, plan: Plan | None) -> tuple[float, ...]:
    fields = Fields(config)
    cost: Cost = read(config, own=convention in _OWN)
    count = counted(cost, convention, plan)
    work = count.cost.flops(convention=cast(Any, convention), plan=plan, lengths=[fields.integer("max_target_length")])
    batch = fields.get("per_device_batch_size")
    if isinstance(batch, bool) or not isinstance(batch, (int, float)) or not 0 < batch < float("inf"):
        raise Error("per_device_batch_size", f"must be a number of sequences above 0, got {batch!r}")
    times = Fraction(batch) * fields.integer("gradient_accumulation_steps", 1)
    attention = _of(work, _ATTENTION)
    total, weights = work.total * times, (work.total - attention) * times
    of_attention = attention * times
    if fields.flag("use_dpo"):  # one forward of the reference model, in MaxText's attention total
        forward = work.useful.forward * times
        reference = sum(component.forward for name, component in work.useful.components.items() if name in _ATTENTION) * times
        total, of_attention = total + forward, of_attention + reference
    return tuple(float(value / 10**12) for value in (total, weights, of_attention))


def _of(work: Breakdown, components: Sequence[str]) -> int:
    return sum(component.total for name, component in work.useful.components.items() if name in components)
