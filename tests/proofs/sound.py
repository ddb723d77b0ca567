# SPDX-License-Identifier: Apache-2.0
"""Clips of sound: what strides leave of frames, chunk by chunk, and windows of what is left."""

import z3

from formulas import chunk_square_rows, strided, strided_chunks, within
from solver import I64, LONGEST, PARAMETER, Scene, U64, product_of, prove_count, quotient, rest, value_of, variable

CHUNK = 2**16 - 1


def prove():
    """A frame more makes the last chunk longer, or is the first of a new one; the other chunks stay as they are."""
    n, chunk, field, stride = z3.Ints("n chunk field stride")
    given = [within(1, chunk, CHUNK), within(1, stride, PARAMETER), within(-PARAMETER, field, PARAMETER)]
    left = lambda cells: strided(U64(cells), variable("field", I64), variable("stride", I64))
    of = lambda cells: strided_chunks(U64(cells), variable("field", I64), variable("stride", I64), U64(chunk))
    with Scene(*given) as scene:
        scene.prove("strided_chunks: 0 of no frames", value_of(of(z3.IntVal(0))) == 0)
    last = z3.Int("last")
    for more, cases in (("fills the last chunk", [last + 1 == chunk]), ("is in the last chunk", [last + 1 < chunk])):
        with Scene(*given, 0 <= n, n < LONGEST, 0 <= last, *cases) as scene:
            now, after = value_of(of(n)), value_of(of(n + 1))
            one = value_of(left(last + 1)) - value_of(left(last))
            scene.prove(f"strided_chunks: a frame that {more}", z3.Implies(last == rest(n, chunk), after - now == one))
    with Scene(*given, 0 <= n, n <= LONGEST) as scene:
        of(n)
        scene.prove_no_wrap("strided_chunks", product_of(stride - 1, n))
    # windowed_sound is chunk_square_rows, a sum of 2·(n mod window) + 1: frame n sees those before it in its window,
    # they it, and it itself.
    with Scene(0 <= n, n < LONGEST, within(1, chunk, CHUNK)) as scene:
        earlier = prove_count("windowed_sound: earlier frames of a frame's window", scene,
                              lambda j, _: quotient(j, chunk) == quotient(n, chunk), (0, n),
                              (quotient(n, chunk) * chunk, n))
        scene.prove("windowed_sound: a frame more adds its row, its column and itself",
                    chunk_square_rows.term(n, chunk) == 2 * earlier + 1)
