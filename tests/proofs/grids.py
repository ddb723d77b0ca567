# SPDX-License-Identifier: Apache-2.0
"""Grids: windows, ragged and shifted; merged, pooled and strided cells; levels; what images see besides."""

import z3

from formulas import (
    across_frames,
    chunk_square_rows,
    clip_squares,
    later_within,
    line_squares,
    merged_pairs,
    merged_patches,
    merged_squares,
    reduced_pairs,
    strided,
    whole_line,
    window_lines,
    window_pieces,
    window_start,
    windowed_frame,
    within,
)
from solver import I64, LONGEST, PARAMETER, Scene, U64, decide, product_of, prove_count, quotient, value_of, variable


def window_of(cell, window, shift):
    """tests/descriptors/tower.test.cpp: where a cell stands, 0 in the first piece of `shift` cells, then by windows."""
    return z3.If(cell < shift, 0, 1 + quotient(cell - shift, window))


def prove_windows():
    """Pairs of cells in one window of one axis: a new cell sees those before it in its window, they it, it itself."""
    n, window, shift = z3.Ints("n window shift")
    axis = [within(1, window, LONGEST), within(0, shift, LONGEST), 0 <= n, n < LONGEST]
    with Scene(*axis) as scene:
        prove_count("grid_windows: earlier cells of a cell's window", scene,
                    lambda j, _: window_of(j, window, shift) == window_of(n, window, shift), (0, n),
                    (window_start(n, window, shift), n))
    window_pieces.prove()
    # Both axes: patches see each other where their rows share a window and their columns do.
    rows, columns, more = z3.Ints("rows columns more")
    decide("pairs of both axes: more pairs of rows add as many times those of columns", [],
           (rows + more) * columns - rows * columns == more * columns)
    height, width = z3.Ints("height width")
    with Scene(*axis[:2], 0 <= height, 0 <= width, height * width <= LONGEST, height <= LONGEST, width <= LONGEST,
               opaque=(window_pieces,)) as scene:
        of_rows = value_of(window_pieces(variable("height"), variable("window"), variable("shift")))
        of_columns = value_of(window_pieces(variable("width"), variable("window"), variable("shift")))
        squares = [of_rows <= height * height, of_columns <= width * width]  # proven with window_pieces
        U64(windowed_frame(variable("height"), variable("width"), variable("window"), variable("shift")))
        scene.prove_no_wrap("grid_windows", *squares, product_of(height * height - of_rows, of_columns),
                            product_of(height * height, width * width - of_columns),
                            product_of(LONGEST - height * width, LONGEST + height * width),
                            product_of(height, width))


def prove_blocks():
    """Whole blocks of `side` cells: block j is there where its last cell is."""
    n, side = z3.Ints("n side")
    with Scene(0 <= n, n <= LONGEST, within(1, side, PARAMETER)) as scene:
        prove_count("merged_patches: whole blocks of an axis", scene, lambda j, _: (j + 1) * side <= n, (0, n),
                    (z3.IntVal(0), quotient(n, side)))
    height, width, ends = z3.Ints("height width ends")
    with Scene(0 <= height, 0 <= width, height <= LONGEST, width <= LONGEST, height * width <= LONGEST,
               within(1, side, PARAMETER), within(0, ends, PARAMETER)) as scene:
        merged = value_of(merged_patches(variable("height"), variable("width"), variable("side"), variable("ends")))
        rows, columns = quotient(height, side), quotient(width, side)
        scene.prove("merged_patches: a block for each two of the axes, and the ends of each line",
                    merged == rows * columns + rows * ends)
        lines = [product_of(side - 1, rows), product_of(side - 1, columns)]
        scene.prove("merged_patches: no more lines and columns than cells", z3.And(rows <= height, columns <= width),
                    *lines)
        U64(merged)
        scene.prove_no_wrap("merged_patches", *lines, rows <= height, columns <= width,
                            product_of(height - rows, columns + ends), product_of(height, width - columns),
                            product_of(LONGEST - height, ends), product_of(PARAMETER - ends, LONGEST))


def prove_strides():
    """Positions of a kernel: the j-th starts at j·stride and must end within the cells."""
    n, field, stride = z3.Ints("n field stride")
    given = [0 <= n, n <= LONGEST, within(1, stride, PARAMETER), within(-PARAMETER, field, PARAMETER)]
    of = lambda cells, field, stride: value_of(strided(U64(cells), I64(field), I64(stride)))
    with Scene(*given, n >= 1, n >= field) as scene:
        left = of(n, field, stride)
        prove_count("strided: positions of the kernel", scene, lambda j, _: j * stride + field <= n,
                    (0, n + PARAMETER + 1), (z3.IntVal(0), left),
                    hints=[lambda j: product_of(stride - 1, j),
                           lambda j: product_of(j - quotient(n - field, stride) - 1, stride),
                           lambda j: product_of(quotient(n - field, stride) - j, stride),
                           lambda j: product_of(stride - 1, quotient(n - field, stride))])
        scene.prove_no_wrap("strided")
    with Scene(*given, z3.Or(n == 0, n < field)) as scene:
        scene.prove("strided: nothing where the kernel does not fit", of(n, field, stride) == 0)
    # Two convolutions are one. Where the second is all padding (a field below 1) it would make cells of none.
    field2, stride2 = z3.Ints("field2 stride2")
    with Scene(*given, within(1, field2, PARAMETER), within(1, stride2, PARAMETER)) as scene:
        first = of(n, field, stride)
        second = of(first, field2, stride2)
        combined_field, combined_stride = field + (field2 - 1) * stride, stride * stride2
        combined = of(n, combined_field, combined_stride)
        scene.prove("strided: two convolutions are one", second == combined)


def prove_images():
    """Tokens of an image see all others; what a causal window has is taken off."""
    n, window = z3.Ints("n window")
    earlier = z3.If(z3.And(window >= 0, window - 1 < n), window - 1, n)
    in_window = lambda q, k: z3.And(k <= q, z3.Or(window < 0, q < k + window))
    with Scene(0 <= n, n < LONGEST, within(-1, window, PARAMETER), window != 0) as scene:
        prove_count("later_image_tokens: earlier tokens in the window of a new one", scene,
                    lambda k, _: in_window(n, k), (0, n), (n - earlier, n))
        q = z3.Int("q")
        scene.prove("later_image_tokens: it sees itself, and no earlier one sees it, by the window",
                    z3.And(in_window(n, n), z3.Implies(z3.And(0 <= q, q < n), z3.Not(in_window(q, n)))))
    later_within.prove()


def prove_clips():
    t, patches, prefix = z3.Ints("t patches prefix")
    with Scene(0 <= t, 0 <= patches, within(0, prefix, PARAMETER), t * (patches + prefix) <= LONGEST,
               t <= LONGEST, patches <= LONGEST) as scene:
        pairs = value_of(clip_squares(variable("t"), variable("patches"), variable("prefix")))
        tokens = t * (patches + prefix)
        scene.prove("clip_squares: every token sees every token",
                    pairs == z3.If(t * patches == 0, 0, tokens * tokens))
        U64(pairs)
        scene.prove_no_wrap("clip_squares", product_of(t, patches), product_of(t, prefix),
                            product_of(LONGEST - tokens, LONGEST + tokens))


def prove_lines():
    """A patch's rows and columns of its window: pieces of an axis squared, once for each line of the other."""
    line_squares.prove()
    n, side = z3.Ints("n side")
    with Scene(0 <= n, n <= LONGEST, within(1, side, PARAMETER)) as scene:
        scene.prove("window_lines: what chunks have of an axis",
                    value_of(line_squares(U64(n), U64(side))) == value_of(chunk_square_rows(U64(n), U64(side))))
    with Scene(1 <= n, n <= LONGEST) as scene:
        scene.prove("window_lines: without windows, all of an axis", value_of(whole_line(U64(n))) == n * n,
                    product_of(n, n))
    height, width, rows, columns, line = z3.Ints("height width rows columns line")
    decide("window_lines: a column more adds the pairs of rows, and its own row in every line", [],
           (width + 1) * rows + height * (columns + line) - (width * rows + height * columns) == rows + height * line)
    with Scene(1 <= height, 1 <= width, height * width <= LONGEST, height <= LONGEST, width <= LONGEST, 0 <= rows,
               0 <= columns, rows <= height * height, columns <= width * width) as scene:  # proven with line_squares
        U64(value_of(window_lines(variable("height"), variable("width"), variable("rows"), variable("columns"))))
        scene.prove_no_wrap("window_lines", product_of(width, height * height - rows),
                            product_of(height, width * width - columns), product_of(height - 1, width - 1),
                            product_of(LONGEST - height * width, height + width),
                            product_of(LONGEST, LONGEST + 1 - height - width), product_of(width, rows),
                            product_of(height, columns))


def prove_reduced():
    """Each cell that is left sees every cell that further convolutions leave: `prove_strides` counts both."""
    lines, columns, keys = z3.Ints("lines columns keys")
    decide("reduced_pairs: a line of cells more adds as many rows of keys", [],
           (lines + 1) * columns * keys - lines * columns * keys == columns * keys)
    height, width, field, stride, keys_field, keys_stride = z3.Ints("height width field stride keys_field keys_stride")
    sizes = [within(1, one, PARAMETER) for one in (field, stride, keys_field, keys_stride)]
    frame = [0 <= height, 0 <= width, height <= LONGEST, width <= LONGEST, height * width <= LONGEST]
    with Scene(*frame, *sizes) as scene:
        named = lambda name: variable(name, I64)
        kernels = [(named("field"), named("stride")), (named("keys_field"), named("keys_stride"))]
        left = [value_of(strided(variable(axis), *kernel)) for kernel in kernels for axis in ("height", "width")]
        pairs = value_of(reduced_pairs(variable("height"), variable("width"), *kernels[0], *kernels[1]))
        scene.prove("reduced_pairs: the cells times the keys", pairs == left[0] * left[1] * (left[2] * left[3]))
        fits = [0 <= one for one in left]
        for cells, axis, one in zip((height, width) * 2, "hwhw", left):
            kernel = field if one is left[0] or one is left[1] else keys_field
            step = stride if one is left[0] or one is left[1] else keys_stride
            scene.prove(f"reduced_pairs: no more cells of an axis than there are ({axis})",
                        z3.And(0 <= one, one <= cells), product_of(step - 1, quotient(cells - kernel, step)))
    queries, all_keys, patches = z3.Ints("queries all_keys patches")
    decide("reduced_pairs: fewer cells of both axes are fewer cells of a frame",
           [0 <= lines, lines <= height, 0 <= columns, columns <= width, product_of(height - lines, width),
            product_of(lines, width - columns)], lines * columns <= height * width)
    decide("reduced_pairs: their pairs fit 64 bits",
           [0 <= queries, queries <= patches, 0 <= all_keys, all_keys <= patches, patches <= LONGEST,
            product_of(patches - queries, all_keys), product_of(patches, patches - all_keys),
            product_of(LONGEST - patches, LONGEST + patches)], queries * all_keys <= 2**64 - 1)


def prove_frames():
    """Across frames, pairs of frames, and merged patches that see each other."""
    t, patches, units = z3.Ints("t patches units")
    bounds = [0 <= t, t < LONGEST, 0 <= patches, patches <= LONGEST]
    seen = lambda frames: across_frames(frames, patches)
    decide("across_frames: 0 of no frames", bounds, seen(z3.IntVal(0)) == 0)
    decide("across_frames: a frame more adds the row, the column and itself of each place", bounds,
           seen(t + 1) - seen(t) == patches * (2 * t + 1))
    decide("across_frames: fits 128 bits", [*bounds, product_of(LONGEST - t, LONGEST + t),
                                            product_of(LONGEST * LONGEST - t * t, patches),
                                            product_of(LONGEST * LONGEST, LONGEST - patches)], seen(t) < 2**128)
    with Scene(2 <= t, t <= LONGEST, 0 <= units, units <= LONGEST) as scene:
        pairs = value_of(merged_pairs(variable("t"), variable("units")))
        whole = prove_count("merged_pairs: two frames each, of which both are there", scene,
                            lambda j, _: 2 * j + 1 < t, (0, t), (z3.IntVal(0), quotient(t, 2)))
        scene.prove("merged_pairs: of each the merged patches of one", pairs == units * whole)
        U64(pairs)
        scene.prove_no_wrap("merged_pairs", product_of(units, t - whole), product_of(LONGEST - units, t),
                            product_of(LONGEST, LONGEST - t), whole <= t)
    with Scene(0 <= t, t <= 1, 0 <= units, units <= LONGEST) as scene:
        scene.prove("merged_pairs: an image is one frame", value_of(merged_pairs(variable("t"), variable("units")))
                    == z3.If(t == 1, units, 0))
    with Scene(0 <= units, units < LONGEST) as scene:
        of = lambda n: value_of(merged_squares(U64(n)))
        scene.prove("merged_squares: one more adds its row, its column and itself",
                    of(units + 1) - of(units) == 2 * units + 1)
        U64(of(units + 1))
        scene.prove_no_wrap("merged_squares", product_of(LONGEST - units - 1, LONGEST + units + 1))


def prove():
    prove_windows()
    prove_lines()
    prove_reduced()
    prove_frames()
    prove_blocks()
    prove_strides()
    prove_images()
    prove_clips()
