# SPDX-License-Identifier: Apache-2.0
"""Why evaluation needs no overflow check, why a block of lengths needs none, and why Σ L² is the first to overflow."""

import z3

import formulas
from formulas import LONGEST_OF_BLOCK, MOST_OF_BLOCK, within
from solver import I64, LONGEST, PARAMETER, WORD, Scene, U64, decide, product_of, value_of, variable


def prove_evaluation():
    """flop_counter: Σ word·coefficient stays below 2^128.

    By induction over the products, for coefficients that add up to less than 2^64 (flop_counter::add_totals checks all
    of them together) and words of 64 bits: the sum is at most (2^64 - 1) times the coefficients so far.
    """
    total, coefficients, word, coefficient, times = z3.Ints("total coefficients word coefficient times")
    most = WORD - 1
    given = [0 <= total, total <= most * coefficients, within(0, word, most), 0 <= coefficient, coefficients >= 0]
    decide("evaluation: one product more stays below the bound", given + [product_of(most - word, coefficient)],
           total + word * coefficient <= most * (coefficients + coefficient))
    decide("evaluation: the bound is below 2^128", [within(0, coefficients, most), total <= most * coefficients],
           total < 2**128)
    # flop_counter::evaluate: n times a group, of which add_totals has n times each coefficient in its sum.
    decide("evaluation: n times a group is within the bound of its n coefficients",
           [times >= 1, *given, times * coefficients <= most, product_of(times, most * coefficients - total)],
           z3.And(times * total <= most * most, most * most < 2**128))
    decide("evaluation: a group that runs no time counts 0, whatever its sum has wrapped to", [], 0 * total == 0)


# Pairs of a sequence of n tokens without past, and what their parameter may be.
STATISTICS = {
    "window": (lambda n, p: formulas.band(n, U64(0), p, variable("other", I64)), -1),
    "top_k": (lambda n, p: formulas.top_k(n, U64(0), p), 1),
    "chunked": (lambda n, p: formulas.chunked(n, U64(0), p), 1),
    "compressed_keys": (lambda n, p: formulas.compressed_keys(n, U64(0), p), 1),
    "box": (lambda n, p: formulas.box(n, U64(0), p), 1),
    "window_squares": (lambda n, p: formulas.window_squares(n, U64(0), p), 1),
    "chunk_squares": (lambda n, p: formulas.chunk_squares(n, U64(0), p), 1),
    "within_window": (lambda n, p: formulas.within_window(n, U64(0), p), 1),
    "limited_by_window": (lambda n, p: formulas.limited_by_window(n, U64(0), p), 1),
    "prefix_lm": (lambda n, p: formulas.prefix_lm(n, U64(0), p), 0),
}


def prove_squares():
    """detail/length_sums.hpp, add_plainly: a length L adds at most L² tokens, and at most L² of any mask.

    So where Σ L² fits 64 bits every other sum does. The statistics of HSTU are row by row at most the keys (see hstu).
    """
    n, p, other = z3.Ints("n parameter other")
    for name, (statistic, least) in STATISTICS.items():
        with Scene(0 <= n, n <= LONGEST, within(least, p, PARAMETER), within(-1, other, PARAMETER)) as scene:
            pairs = value_of(statistic(variable("n"), variable("parameter", I64)))
            scene.obligations = []
            scene.prove(f"{name}: at most the square of the length", z3.And(0 <= pairs, pairs <= n * n),
                        product_of(n, n), n * n >= n)
    squares, total, added = z3.Ints("squares total added")
    decide("a sum that is at most Σ L² stays so", [0 <= total, total <= squares, within(0, added, n * n)],
           total + added <= squares + n * n)
    decide("the tokens of a length are at most its square", [n >= 0, z3.Implies(n >= 1, (n - 1) * n >= 0)], n <= n * n)


def prove_block():
    """batch/length_sums.hpp, fill: no sum of a block overflows where the OR of its lengths is at most the longest."""
    longest, most = LONGEST_OF_BLOCK, MOST_OF_BLOCK
    k, tokens, squares, length = z3.Ints("k tokens squares length")
    decide("a block: 512 lengths add up to less than 2^31",
           [0 <= k, k < most, within(0, tokens, k * longest), within(0, length, longest)],
           z3.And(tokens + length <= (k + 1) * longest, z3.BoolVal(most * longest < 2**31)))
    decide("a block: 512 squares add up to less than 2^53",
           [0 <= k, k < most, within(0, squares, k * longest**2), within(0, length, longest),
            product_of(longest - length, longest), product_of(length, longest - length)],
           z3.And(squares + length * length <= (k + 1) * longest**2, z3.BoolVal(most * longest**2 < 2**53)))
    x, y = z3.BitVecs("x y", 64)
    limit = z3.BitVecVal(longest, 64)
    decide("a block: one OR tells whether all lengths are short", [],
           z3.ULE(x | y, limit) == z3.And(z3.ULE(x, limit), z3.ULE(y, limit)))
    # boundary_lengths::unwrapped: a boundary that falls makes its length 2^32 (or 2^64) too long.
    for width in (2**32, WORD):
        true_sum, seen_sum, wraps = z3.Ints("true_sum seen_sum wraps")
        decide("a block: where the last boundary is not below the first, none fell",
               [wraps >= 0, true_sum == seen_sum - width * wraps, within(0, seen_sum, 2**31 - 1), true_sum >= 0],
               wraps == 0)
    # sum_one_by_one: 512 amounts of 64 bits in a sum of 128.
    total, amount = z3.Ints("total amount")
    decide("a block: 512 amounts of 64 bits fit 128",
           [0 <= k, k < most, within(0, total, k * (WORD - 1)), within(0, amount, WORD - 1)],
           z3.And(total + amount <= (k + 1) * (WORD - 1), z3.BoolVal(most * (WORD - 1) < 2**128)))


def prove():
    prove_evaluation()
    prove_squares()
    prove_block()
