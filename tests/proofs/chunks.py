# SPDX-License-Identifier: Apache-2.0
"""Chunks of tokens, and compressed keys: what depends on a quotient."""

import z3

from formulas import chunk_square_rows, chunk_squares, chunked, chunked_rows, compressed_keys, compressed_rows, within
from solver import PARAMETER, prove_statistic, quotient


def positive(parameter):
    return within(1, parameter, PARAMETER)


def same_chunk(i, j, chunk):
    return z3.And(j <= i, quotient(j, chunk) == quotient(i, chunk))


def from_its_chunk(i, chunk):
    return quotient(i, chunk) * chunk, i + 1


def prove():
    chunked_rows.prove()
    prove_statistic("chunked", chunked, positive, same_chunk, row=from_its_chunk, names="chunk")
    # In halves: a pair is two, one on the diagonal is one.
    chunk_square_rows.prove()
    prove_statistic("chunk_squares", chunk_squares, positive, same_chunk, row=from_its_chunk, names="chunk",
               weigh=lambda i, seen, chunk: 2 * seen - 1)
    # Key j is the block of tokens j·ratio … j·ratio + ratio - 1, all of which must be there.
    compressed_rows.prove()
    prove_statistic("compressed_keys", compressed_keys, positive, lambda i, j, ratio: j * ratio + ratio - 1 <= i,
               row=lambda i, ratio: (z3.IntVal(0), quotient(i + 1, ratio)), names="ratio")
