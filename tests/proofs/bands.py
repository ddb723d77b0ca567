# SPDX-License-Identifier: Apache-2.0
"""Bands: causal, bidirectional, sliding windows, windows to both sides."""

import z3

from formulas import band, capped_ramp, within
from solver import LONGEST, PARAMETER, I64, Scene, decide, prove_rule, value_of, variable


def sees_window(i, j, left, right):
    return z3.And(z3.Or(left == -1, i - j <= left), z3.Or(right == -1, j - i <= right))


def prove():
    capped_ramp.prove()
    prove_rule(
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
