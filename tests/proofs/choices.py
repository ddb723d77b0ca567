# SPDX-License-Identifier: Apache-2.0
"""Top-k, prefix-LM, the other side of cross attention, and what conventions count in place of a window."""

import z3

from formulas import (
    box,
    cross_attention,
    encoder,
    limited_by_window,
    prefix_lm,
    sliding_window,
    top_k,
    window_square_rows,
    window_squares,
    within,
    within_window,
)
from solver import LONGEST, PARAMETER, I64, Scene, U64, product_of, prove_count, prove_statistic, value_of, variable


def least(a, b):
    return z3.If(a < b, a, b)


def positive(parameter):
    return within(1, parameter, PARAMETER)


def prove_limits():
    # Which keys are best is the data's choice, how many is not: j is a key's rank among those before the query.
    prove_statistic("top_k", top_k, positive, lambda i, j, k: z3.And(j <= i, j + 1 <= k),
               row=lambda i, k: (z3.IntVal(0), least(i + 1, k)), names="k")
    # A box has no positions: j is a number.
    prove_statistic("box", box, positive, lambda i, j, tokens: j + 1 <= tokens,
               row=lambda i, tokens: (z3.IntVal(0), least(i + 1, tokens)),
               column=lambda i, past, tokens: (z3.If(i + 1 <= tokens, past, i), i), names="tokens")
    prove_statistic("prefix_lm", prefix_lm, lambda tokens: within(0, tokens, PARAMETER),
               lambda i, j, tokens: z3.Or(j <= i, j < tokens),
               row=lambda i, tokens: (z3.IntVal(0), i + 1),
               column=lambda i, past, tokens: (z3.If(i < tokens, past, i), i), names="tokens")


def prove_squares():
    """In halves: a pair is two, one on the diagonal is one, where the triangle is taken for half of a square."""
    in_window = lambda i, j, tokens: z3.And(j <= i, i - j + 1 <= tokens)
    of_window = lambda i, tokens: (z3.If(i < tokens, 0, i - tokens + 1), i + 1)
    window_square_rows.prove()
    prove_statistic("window_squares", window_squares, positive, in_window, row=of_window, names="tokens",
               weigh=lambda i, seen, tokens: 2 * seen - z3.If(i < tokens, 1, 0))
    prove_statistic("within_window, of a sequence within it", within_window, positive, lambda i, j, tokens: j <= i,
               row=lambda i, tokens: (z3.IntVal(0), i + 1), names="tokens",
               weigh=lambda i, seen, tokens: 2 * seen - 1, when_fits=lambda end, tokens: end <= tokens)
    n, past, tokens = z3.Ints("length past tokens")
    with Scene(0 <= n, 0 <= past, n + past <= LONGEST, positive(tokens)) as scene:
        of = lambda statistic: value_of(statistic(variable("length"), variable("past"), variable("tokens", I64)))
        longer = n + past > tokens
        scene.prove("within_window: nothing of a longer sequence", z3.Implies(longer, of(within_window) == 0))
        scene.prove("limited_by_window: a sliding window where the sequence is longer, else nothing",
                    of(limited_by_window) == z3.If(longer, of(sliding_window), 0))


def prove_other_side():
    """Every query sees every key of the other side; an encoder's queries are that side too."""
    n, keys = z3.Ints("length keys")
    with Scene(0 <= n, n < LONGEST, 0 <= keys, keys <= LONGEST) as scene:
        of = lambda length: value_of(cross_attention(U64(length), variable("keys")))
        scene.prove("cross_attention: 0 of no tokens", of(z3.IntVal(0)) == 0)
        seen = prove_count("cross_attention: keys of a query", scene, lambda j, _: z3.BoolVal(True), (0, keys),
                           (z3.IntVal(0), keys))
        scene.prove("cross_attention: a token more adds its row", of(n + 1) - of(n) == seen)
        U64(of(n + 1))
        scene.prove_no_wrap("cross_attention", product_of(LONGEST - n - 1, keys), product_of(LONGEST - keys, LONGEST))
    with Scene(0 <= keys, keys < LONGEST) as scene:
        of = lambda length: value_of(encoder(U64(length)))
        scene.prove("encoder: 0 of no tokens", of(z3.IntVal(0)) == 0)
        scene.prove("encoder: a token more adds its row, keys + 1, and its column, keys",
                    of(keys + 1) - of(keys) == (keys + 1) + keys)
        U64(of(keys + 1))
        scene.prove_no_wrap("encoder", product_of(LONGEST - keys - 1, LONGEST + keys + 1))


def prove():
    prove_limits()
    prove_squares()
    prove_other_side()
