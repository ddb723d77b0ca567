# SPDX-License-Identifier: Apache-2.0
"""Decides which pairs of an attention have a weight: those that are not masked.

A masked pair has a weight below 1e-30 of the largest of its query. In a long sequence, a bias that grows with
distance (ALiBi) makes weights as small as that, but gradually from key to key. A mask does so in one jump. So a pair
below 1e-30 counts as attended if gradual steps lead from it, key by key, to a pair above. Masked keys in between are
passed over.
"""

from __future__ import annotations

import math
from typing import Any

import torch

#: A weight below this part of the largest of its query is masked.
SMALL = 1e-30
#: The smallest weight that an attended pair gets, as a part of the largest.
FLOOR = 1e-25
#: Largest step between the logits of two neighbouring keys that is no edge of a mask. Scores are drawn from the normal
#: distribution: their own steps are below 10. A mask that leaves less than 1e-30 is a step of at least 69.
STEP = 30.0
#: ln of the smallest number of float64, nearly. Zeros next to weights near it come from underflow, not from a mask.
UNDERFLOW = -745.0


def alive_by_logits(logits: torch.Tensor) -> torch.Tensor:
    """Finds the attended pairs from the logarithms of attention weights (logits) [..., queries, keys]. Only differences
    between the logits of one query matter."""
    top = logits.amax(-1, keepdim=True)
    relative = (logits - top).nan_to_num_(nan=-math.inf, posinf=0.0, neginf=-math.inf)
    near = relative >= math.log(SMALL)
    finite = relative > -math.inf
    if torch.equal(near, finite):
        return near
    rest = finite & ~near
    lowest = float(torch.where(near, relative, 0.0).min())
    high = float(torch.where(rest, relative, -math.inf).max())
    low = float(torch.where(rest, relative, math.inf).min())
    if lowest > -STEP and lowest - high > STEP and high - low < (lowest - high) / 2:
        return near  # two groups far apart
    return linked(relative, near, finite)


def linked(relative: torch.Tensor, near: torch.Tensor, finite: torch.Tensor) -> torch.Tensor:
    """Finds attended keys among those with small attention logits. A key is attended if a path of neighbouring keys
    leads to a key in `near` without a large jump of the logits. Logits may fall gradually, as under ALiBi, while a mask
    makes a jump.

    relative: logits below the largest of each query.
    near: True for logits close to the largest.
    finite: True for logits that are not -inf.
    """
    keys = relative.shape[-1]
    if keys < 2:
        return near
    shape = (1, -1, keys) if relative.dim() < 3 else (-1, relative.shape[-2], keys)
    heads = [one.reshape(shape) for one in (relative, near, finite)]
    rising = climbed(*heads)
    falling = climbed(*(one.flip(-1) for one in heads)).flip(-1)
    return near | (rising | falling).reshape(relative.shape)


def climbed(relative: torch.Tensor, near: torch.Tensor, finite: torch.Tensor) -> torch.Tensor:
    """Finds attended keys by their attention logits: those from which a path without a large jump leads to a later key
    in `near`. The path skips smaller logits, which are masked. The logits of all queries of a head show how steep the
    head's bias is.

    relative, near, finite: as in `linked`, [heads, queries, keys].
    """
    place = torch.arange(relative.shape[-1]).expand(relative.shape)
    on = finite & (relative >= relative.cummax(-1).values - STEP)
    last = torch.where(on, place, -1).cummax(-1).values
    before = torch.nn.functional.pad(last[..., :-1], (1, 0), value=-1)
    known = on & (before >= 0)
    before = before.clamp(min=0)
    distance = (place - before).clamp(min=1)
    rate = torch.where(known, (relative - relative.gather(-1, before)) / distance, 0.0)
    size = rate.abs()
    first = rate.gather(-1, before)
    known_before = known.gather(-1, before)
    alike = known & known_before & known_before.gather(-1, before)
    bound = 0.5 * size + 10
    for other in (first, first.gather(-1, before)):
        alike &= (rate - other).abs_() <= bound
    steep = alike & (size > STEP)
    strongest = torch.where(steep, size, 0.0).amax((-1, -2), keepdim=True)
    weakest = torch.where(steep, size, math.inf).amin((-1, -2), keepdim=True)
    links = known & ((size <= STEP) | ((size <= 2 * strongest) & (size >= 0.3 * weakest)))
    number = (on & ~links).cumsum(-1)
    reached = torch.zeros((*number.shape[:-1], number.shape[-1] + 1), dtype=torch.int8)
    reached.scatter_reduce_(-1, number, (near & on).to(torch.int8), "amax")
    return on & (reached.gather(-1, number) > 0)


def alive_by_weights(weights: torch.Tensor) -> torch.Tensor:
    """Finds the attended pairs from attention weights [..., queries, keys]. A query whose weights are NaN attends
    nothing: -inf masked all of its pairs."""
    size = weights.abs()
    if bool(size.isnan().any()):
        nothing = size.isnan().all(-1, keepdim=True)
        size = torch.where(nothing, 0.0, size.nan_to_num(nan=1.0))
    top = size.amax(-1, keepdim=True)
    near = size > SMALL * top
    small = size < math.exp(UNDERFLOW + STEP)
    if bool((near | (size == 0)).all()) and not bool((small & (size > 0)).any()):
        return near
    logits = size.log()
    zero = size == 0
    tiny = small & ~zero
    if bool(tiny.any()) and bool(zero.any()):  # zeros next to tiny weights are tiny too
        number = torch.nn.functional.pad((zero[..., 1:] != zero[..., :-1]).cumsum(-1), (1, 0))
        beside = torch.zeros_like(zero)
        beside[..., 1:] |= tiny[..., :-1]
        beside[..., :-1] |= tiny[..., 1:]
        touched = torch.zeros(number.shape, dtype=torch.int8)
        touched.scatter_reduce_(-1, number, (beside & zero).to(torch.int8), "amax")
        logits = torch.where(zero & (touched.gather(-1, number) > 0), UNDERFLOW, logits)
    return alive_by_logits(logits)


def decided(name: str, values: torch.Tensor, *rest: Any) -> torch.Tensor:
    """Returns attention weights: the softmax or the exponential of attention scores. The weight of a masked pair is
    exactly 0. That of an attended pair is above 0, even if float64 cannot hold the exact value.

    name: the operator's name. values, rest: its arguments.
    """
    axis = int(rest[0]) if rest else -1
    if values.dim() < 2:
        return torch.softmax(values, axis) if rest else values.exp()
    moved = values.movedim(axis, -1)
    alive = alive_by_logits(moved)
    if rest:
        weights = torch.softmax(moved.nan_to_num(nan=0.0, neginf=-math.inf), -1)
        floor = torch.full_like(weights[..., :1], FLOOR)
    else:
        weights = moved.clamp(max=600.0).exp_()
        floor = FLOOR * weights.amax(-1, keepdim=True)
    # In place: at long lengths, new memory takes longer than arithmetic.
    result = torch.maximum(weights, floor, out=weights).masked_fill_(alive.logical_not_(), 0.0).movedim(-1, axis)
    return values.copy_(result) if name.endswith("_") else result


def remainder(weights: torch.Tensor, alive: torch.Tensor) -> bool:
    """True if the attention weights of some attended pairs are far smaller than all others. A mask was perhaps meant to
    remove these pairs, but log(mask + 1e-10) keeps them."""
    size = torch.where(alive, weights.abs(), 0.0).nan_to_num()
    relative = size / size.amax(-1, keepdim=True).clamp(min=1e-300)
    between = alive & (relative < 1e-5) & (relative > 1.1 * FLOOR)
    if not bool(between.any()):
        return False
    ordered = relative.reshape(-1, relative.shape[-1]).clamp(min=FLOOR).log().sort(-1).values
    return bool((ordered.diff(dim=-1) > 10).any())
