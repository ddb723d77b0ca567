# SPDX-License-Identifier: Apache-2.0
"""Sparse attention over what is best: compressed keys, blocks with the own one, pools with what is left over."""

import z3

from formulas import best_block_rows, best_compressed_rows, best_pool_rows, left_over_rows, within
from solver import LONGEST, PARAMETER, Scene, prove_count, product_of, quotient


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


def prove():
    prove_blocks()
    best_compressed_rows.prove()
    best_block_rows.prove()
    left_over_rows.prove()
    best_pool_rows.prove()
