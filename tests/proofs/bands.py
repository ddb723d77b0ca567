# SPDX-License-Identifier: Apache-2.0
"""Bands: causal, bidirectional, sliding windows, windows to both sides."""

import z3

from formulas import LONGEST_OF_BLOCK, MOST_OF_BLOCK, band, capped_ramp, within
from solver import LONGEST, PARAMETER, I64, Scene, decide, product_of, prove_statistic, value_of, variable


def sees_window(i, j, left, right):
    return z3.And(z3.Or(left == -1, i - j <= left), z3.Or(right == -1, j - i <= right))


def prove_block():
    """pairs_beyond: a block of lengths has the squares less the triangles of the keys that are too far away."""
    n, reach, difference, excess, sign = z3.Ints("length reach difference excess sign")
    longest, most = LONGEST_OF_BLOCK, MOST_OF_BLOCK
    lengths = [within(0, n, longest)]
    # n - (reach + 1) modulo 2^32, its highest bit, and the bits that the mask of this bit leaves
    masked = [difference == z3.If(n > reach, 0, 2**32) + n - reach - 1, within(0, sign, 1),
              z3.If(sign == 1, difference >= 2**31, difference < 2**31), excess == z3.If(sign == 1, 0, difference)]
    decide("a band's block: the mask leaves what a length is longer than the window",
           [*lengths, within(1, reach, PARAMETER), *masked], excess == z3.If(n > reach, n - reach - 1, 0))
    twice_beyond = lambda: z3.If(reach < 0, 0,
                                 z3.If(reach == 0, n * n - n, excess * excess + excess))
    with Scene(*lengths, within(-1, reach, PARAMETER), excess == z3.If(n > reach, n - reach - 1, 0)) as scene:
        near = value_of(capped_ramp.plain(variable("length"), variable("reach", I64)))
        scene.obligations = []
        scene.prove("a band's block: a length has n² - n less twice the pairs beyond the reach",
                    2 * near == n * n - n - twice_beyond())
    left, right = z3.Ints("left right")
    near_left, near_right, beyond_left, beyond_right = z3.Ints("near_left near_right beyond_left beyond_right")
    decide("a band's block: the squares less the pairs beyond both reaches",
           [2 * near_left == n * n - n - 2 * beyond_left, 2 * near_right == n * n - n - 2 * beyond_right],
           n + near_left + near_right == n * n - beyond_left - beyond_right)
    decide("a band's block: 512 excesses fit 32 bits and the sum of their squares 64", [],
           z3.BoolVal(most * longest < 2**32 and most * longest**2 < 2**64))
    with Scene(within(0, n, LONGEST), within(-1, left, PARAMETER), within(-1, right, PARAMETER)) as scene:
        pairs = value_of(band(variable("length"), variable("past"), variable("left", I64), variable("right", I64)))
        ramp = lambda reach: value_of(capped_ramp(variable("length"), variable(reach, I64)))
        scene.obligations = []
        scene.prove("a band without a past: the tokens and the keys on both sides", pairs == n + ramp("left")
                    + ramp("right"), z3.Int("past") == 0)


def prove():
    capped_ramp.prove()
    prove_block()
    prove_statistic(
        "window", band, lambda left, right: z3.And(within(-1, left, PARAMETER), within(-1, right, PARAMETER)),
        sees_window,
        row=lambda i, left, right: (z3.If(z3.Or(left == -1, i < left), 0, i - left), i + 1),
        column=lambda i, past, left, right: (z3.If(z3.Or(right == -1, i - right < past), past, i - right), i),
        names="left right",
    )
    # The other bands are windows: they see what a window of these parameters sees.
    i, j, tokens = z3.Ints("i j tokens")
    for name, defined, left, right in (
        ("causal", j <= i, -1, 0),
        ("bidirectional", z3.BoolVal(True), -1, -1),
        ("sliding_window", z3.And(j <= i, i - j + 1 <= tokens), tokens - 1, 0),
    ):
        decide(f"{name} sees what a window sees", [i >= 0, j >= 0, tokens >= 1],
               defined == sees_window(i, j, left, right))
    # detail/lowered_pairs.hpp: Σn², Σn and Σn·past say what causal and bidirectional masks attend.
    n, past = z3.Ints("length past")
    with Scene(0 <= n, 0 <= past, n + past <= LONGEST) as scene:
        pairs = lambda left, right: value_of(band(variable("length"), variable("past"), I64(left), I64(right)))
        scene.prove("causal: (n² + n)/2 + n·past", 2 * pairs(-1, 0) == n * n + n + 2 * n * past)
        scene.prove("bidirectional: n² + n·past", pairs(-1, -1) == n * n + n * past)
