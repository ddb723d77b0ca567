# SPDX-License-Identifier: Apache-2.0
"""Sparse attention over what is best: compressed keys, blocks with the own one, pools with what is left over."""

import z3

from formulas import (
    best_block_rows,
    best_compressed_rows,
    best_compressed_square_rows,
    best_pool_rows,
    compressed_box,
    left_over_rows,
    within,
)
from solver import LONGEST, PARAMETER, I64, Scene, U64, prove_count, product_of, quotient, value_of, variable


def prove_blocks():
    """Of the blocks before the own one, by rank, `blocks` - 1 are seen; of the own one what is up to the query."""
    i, blocks, size = z3.Ints("i blocks size")
    with Scene(0 <= i, i < LONGEST, within(1, blocks, PARAMETER), within(1, size, PARAMETER)) as scene:
        earlier = quotient(i, size)
        chosen = z3.If(earlier < blocks - 1, earlier, blocks - 1)
        prove_count("best blocks: earlier ones", scene, lambda rank, _: rank + 1 <= blocks - 1, (0, earlier),
                    (z3.IntVal(0), chosen))
        own = prove_count("best blocks: keys of the own block", scene,
                          lambda j, _: z3.And(j <= i, quotient(j, size) == earlier), (0, i + 1),
                          (earlier * size, i + 1))
        scene.prove("best blocks: keys of both", best_block_rows.term(i, blocks, size) == chosen * size + own,
                    product_of(chosen, size))


def prove_box():
    """Whole blocks of ratio keys of all that stands there, or as many as are best: each new query sees so many."""
    n, past, ratio, keys = z3.Ints("length past ratio keys")
    end = past + n
    with Scene(0 <= n, 0 <= past, end <= LONGEST, within(1, ratio, PARAMETER), within(1, keys, PARAMETER)) as scene:
        pairs = value_of(compressed_box(variable("length"), variable("past"), variable("ratio", I64),
                                        variable("keys", I64)))
        whole = quotient(end, ratio)
        best = z3.If(whole < keys, whole, keys)
        seen = prove_count("compressed_box: keys of a query, by rank", scene,
                           lambda j, _: z3.And((j + 1) * ratio <= end, j + 1 <= keys), (0, end), (z3.IntVal(0), best),
                           hints=[lambda j: product_of(ratio - 1, j + 1), lambda j: product_of(ratio - 1, best),
                                  lambda j: product_of(j - whole, ratio), lambda j: product_of(whole - j - 1, ratio)])
        scene.prove("compressed_box: as many of every query", pairs == n * seen)
        U64(pairs)
        scene.prove_no_wrap("compressed_box", product_of(ratio - 1, whole), product_of(n, end - best),
                            product_of(LONGEST - n, LONGEST), product_of(n, LONGEST - end), seen <= end)


def prove():
    prove_blocks()
    prove_box()
    # Two for each query behind a key's block, and the block itself as half of its square.
    best_compressed_square_rows.prove()
    best_compressed_rows.prove()
    best_block_rows.prove()
    left_over_rows.prove()
    best_pool_rows.prove()
