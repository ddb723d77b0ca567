# SPDX-License-Identifier: Apache-2.0
"""Clips of sound: what strides leave of frames, chunk by chunk, and windows of what is left."""

import z3

from formulas import band, capped_ramp, chunk_square_rows, strided, strided_band, strided_chunks, within
from solver import I64, LONGEST, PARAMETER, Scene, U64, product_of, prove_count, quotient, rest, value_of, variable

CHUNK = 2**16 - 1


def prove_bands():
    """What is left of frames sees what a window sees (`bands`), for all that a sequence may be long: a frame more leaves
    as many, or one more, which adds its row and its column."""
    n, field, stride, left, right = z3.Ints("n field stride left right")
    given = [within(1, stride, PARAMETER), within(-PARAMETER, field, PARAMETER), within(-1, left, PARAMETER),
             within(-1, right, PARAMETER)]
    ends = lambda: (variable("left", I64), variable("right", I64))
    of = lambda cells: value_of(strided_band(U64(cells), I64(field), I64(stride), *ends()))
    remaining = lambda cells: value_of(strided(U64(cells), I64(field), I64(stride)))
    with Scene(*given) as scene:
        scene.prove("strided_band: 0 of no frames", of(z3.IntVal(0)) == 0)
    with Scene(*given, 1 <= n, n < LONGEST) as scene:
        now, after = remaining(n), remaining(n + 1)
        scene.prove("strided_band: a frame more leaves as many or one more", z3.Or(after == now, after == now + 1))
    with Scene(*given, 1 <= n, n <= LONGEST, opaque=(capped_ramp,)) as scene:
        now = remaining(n)
        scene.prove("strided_band: what a window sees of so many",
                    z3.Implies(now <= LONGEST, of(n) == value_of(band(U64(now), U64(0), *ends()))))
    with Scene(*given, 0 <= n, n < LONGEST, opaque=(capped_ramp,)) as scene:
        whole, longer = (value_of(band(U64(cells), U64(0), *ends())) for cells in (n, n + 1))
        seen = sum(z3.If(z3.And(cap >= 0, cap < n), cap, n) for cap in (left, right))
        scene.prove("strided_band: one more adds its row and its column, and itself", longer - whole == 1 + seen)


def prove():
    """A frame more makes the last chunk longer, or is the first of a new one; the other chunks stay as they are."""
    prove_bands()
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
