# SPDX-License-Identifier: Apache-2.0
"""Chunks of tokens, and compressed keys: what depends on a quotient."""

import z3

from formulas import (
    block_causal,
    chunk_square_rows,
    chunk_squares,
    chunked,
    chunked_rows,
    compressed_keys,
    compressed_rows,
    whole_blocks,
    within,
)
from solver import I64, LONGEST, PARAMETER, U64, Scene, prove_statistic, quotient, rest, value_of, variable


def positive(parameter):
    return within(1, parameter, PARAMETER)


def same_chunk(i, j, chunk):
    return z3.And(j <= i, quotient(j, chunk) == quotient(i, chunk))


def from_its_chunk(i, chunk):
    return quotient(i, chunk) * chunk, i + 1


def later_of(a, b):
    return z3.If(a < b, b, a)


def prove_whole_blocks():
    """A block is whole with its last token: of a sequence's tokens those count whose place is the last of a block."""
    n, past, ratio = z3.Ints("length past ratio")
    i = past + n
    facts = [0 <= n, 0 <= past, positive(ratio)]
    of = lambda length: value_of(whole_blocks(U64(length), variable("past"), variable("ratio", I64)))
    with Scene(*facts, past <= LONGEST) as scene:
        scene.prove("whole_blocks: 0 of no tokens", of(z3.IntVal(0)) == 0)
    with Scene(*facts, i < LONGEST) as scene:
        added = of(n + 1) - of(n)
        last = rest(i, ratio) == ratio - 1
        scene.prove("whole_blocks: a token more adds 1 if it is the last of its block", added == z3.If(last, 1, 0))
    with Scene(*facts, i <= LONGEST) as scene:
        of(n)
        scene.prove_no_wrap("whole_blocks")


def prove():
    chunked_rows.prove()
    prove_statistic("chunked", chunked, positive, same_chunk, row=from_its_chunk, names="chunk")
    # In halves: a pair is two, one on the diagonal is one.
    chunk_square_rows.prove()
    prove_statistic("chunk_squares", chunk_squares, positive, same_chunk, row=from_its_chunk, names="chunk",
               weigh=lambda i, seen, chunk: 2 * seen - 1)
    # A query sees its own block and those before, as far as there are tokens; a token is seen from its whole block.
    prove_statistic("block_causal", block_causal, positive, lambda i, j, block: quotient(j, block) <= quotient(i, block),
               row=lambda i, block: (z3.IntVal(0), i + 1),
               column=lambda i, past, block: (later_of(past, quotient(i, block) * block), i), names="block")
    prove_whole_blocks()
    # Key j is the block of tokens j·ratio … j·ratio + ratio - 1, all of which must be there.
    compressed_rows.prove()
    prove_statistic("compressed_keys", compressed_keys, positive, lambda i, j, ratio: j * ratio + ratio - 1 <= i,
               row=lambda i, ratio: (z3.IntVal(0), quotient(i + 1, ratio)), names="ratio")
