# SPDX-License-Identifier: Apache-2.0
"""The formulas of the library, word for word: each says which function of which header it is.

`values.cpp` prints what the C++ computes, and the test compares: a formula that was changed in one place only is seen.
"""

import z3

from solver import (
    I64,
    LONGEST,
    PARAMETER,
    U64,
    both,
    larger,
    lemma_multiple,
    lemma_shift,
    product_of,
    quotient,
    rest,
    running_sum,
    smaller,
    when,
)


def within(low, x, high):
    return z3.And(low <= x, x <= high)


def least_of_cap(i, cap):
    """min(i, cap), where a cap below 0 is none"""
    return z3.If(z3.And(cap >= 0, cap < i), cap, i)


def window_start(cell, window, shift):
    """Where the window of a cell starts: `shift` cells stand before the first whole one."""
    return z3.If(cell < shift, 0, shift + quotient(cell - shift, window) * window)


# ---- statistics/detail/pair_rows.hpp ----


def triangle(n):
    """triangle: n(n + 1) / 2"""
    n = U64(n)
    return (n * (n + 1)).half_of_neighbours(n)


@running_sum(
    "cap",
    given=lambda cap: within(-1, cap, PARAMETER),
    term=lambda i, cap: least_of_cap(i, cap),
    hints=lambda n, cap: [product_of(n, LONGEST - n)],
)
def capped_ramp(rows, cap):
    """capped_ramp"""

    def positive():
        last = rows - 1
        reached = both(cap >= 0, last > cap)
        return triangle(last) - when(reached, lambda: triangle(last - U64(cap)), lambda: U64(0))

    return when(rows == 0, lambda: U64(0), positive)


LONGEST_OF_BLOCK, MOST_OF_BLOCK = 0x3F_FFFF, 512  # length_block::longest, length_block::most


def pairs_beyond(length, reach):
    """statistics/sequence_masks.hpp, pairs_beyond: what one length of a block adds"""
    if reach < 0:
        return 0
    difference = (length - (reach + 1)) % 2**32
    excess = 0 if difference >> 31 else difference
    return (length * length - length) // 2 if reach == 0 else (excess * excess + excess) // 2


@running_sum(
    "chunk",
    given=lambda chunk: within(1, chunk, PARAMETER),
    term=lambda i, chunk: rest(i, chunk) + 1,
    hints=lambda n, chunk: [product_of(n, LONGEST - n)],
)
def chunked_rows(rows, chunk):
    """chunked_rows"""
    return rows // chunk * triangle(U64(chunk)) + triangle(rows % chunk)


@running_sum(
    "window",
    given=lambda window: within(1, window, PARAMETER),
    term=lambda i, window: z3.If(i < window, 2 * i + 1, 2 * window),
    hints=lambda n, window: [product_of(n, LONGEST - n)],
)
def window_square_rows(rows, window):
    """window_square_rows"""
    beyond = when(rows < window, lambda: U64(0), lambda: rows - window)
    return rows * rows - beyond * beyond


@running_sum(
    "chunk",
    given=lambda chunk: within(1, chunk, LONGEST),
    term=lambda i, chunk: 2 * rest(i, chunk) + 1,
    hints=lambda n, chunk: [product_of(n, LONGEST - n)],
)
def chunk_square_rows(rows, chunk):
    """chunk_square_rows"""
    rest = rows % chunk
    return (rows - rest) * chunk + rest * rest


@running_sum(
    "ratio",
    given=lambda ratio: within(1, ratio, PARAMETER),
    term=lambda i, ratio: quotient(i + 1, ratio),
    hints=lambda n, ratio: [product_of(n, LONGEST - n)],
)
def compressed_rows(rows, ratio):
    """compressed_rows"""
    blocks = rows // ratio
    return when(
        blocks == 0, lambda: U64(0), lambda: U64(ratio) * triangle(blocks - 1) + blocks * (rows % ratio + 1)
    )


def later_keys(past, end, prefix):
    """later_keys"""
    seen = when(end < prefix, lambda: end, lambda: U64(prefix))
    return when(seen > past, lambda: triangle(seen - past - 1), lambda: U64(0))


# ---- detail/mask_pairs.hpp: the cases of pairs_of_sequence, with their factories in mask.hpp ----


def band(length, past, left, right):
    """mask_kind::band: mask::window(left, right); sliding_window(w) is window(w - 1, 0)"""
    end = past + length
    before = capped_ramp(end, left) - capped_ramp(past, left)
    return length + before + capped_ramp(length, right)


def top_k(length, past, k):
    """mask_kind::top_k"""
    return length + capped_ramp(past + length, k - 1) - capped_ramp(past, k - 1)


def sliding_window(length, past, tokens):
    """mask_kind::band of mask::sliding_window"""
    return band(length, past, tokens - 1, I64(0))


def chunked(length, past, tokens):
    """mask_kind::chunked"""
    return chunked_rows(past + length, tokens) - chunked_rows(past, tokens)


def compressed_keys(length, past, ratio):
    """mask_kind::compressed_keys"""
    return compressed_rows(past + length, ratio) - compressed_rows(past, ratio)


def block_causal_rows(rows, block):
    """sparse_masks.hpp, block_causal::rows"""
    size = U64(block)
    return size * size * triangle(rows // size) + rows % size * (rows // size + 1) * size


def block_causal(length, past, block):
    """sparse_masks.hpp, block_causal"""
    size = U64(block)
    end = past + length
    begun = end // size * size
    rows_of_it = end - larger(begun, past)
    missing = when(begun == end, lambda: U64(0), lambda: size - (end - begun))
    return block_causal_rows(end, block) - block_causal_rows(past, block) - rows_of_it * missing


def whole_blocks(length, past, ratio):
    """sequence_units.hpp, whole_blocks"""
    tokens = U64(ratio)
    return (past + length) // tokens - past // tokens


def cross_attention(length, keys):
    """mask_kind::cross_attention"""
    return length * keys


def encoder(keys):
    """mask_kind::encoder"""
    return keys * keys


def box(length, past, tokens):
    """mask_kind::box, whose `first` is tokens - 1"""
    first, end = U64(tokens - 1), past + length
    return length * when(end <= first, lambda: end, lambda: first + 1)


def window_squares(length, past, tokens):
    """mask_kind::window_squares"""
    return window_square_rows(past + length, tokens) - window_square_rows(past, tokens)


def chunk_squares(length, past, tokens):
    """mask_kind::chunk_squares"""
    return chunk_square_rows(past + length, tokens) - chunk_square_rows(past, tokens)


def within_window(length, past, tokens):
    """mask_kind::within_window, whose `first` is tokens - 1"""
    first, end = U64(tokens - 1), past + length
    return when(end <= first + 1, lambda: end * end - past * past, lambda: U64(0))


def limited_by_window(length, past, tokens):
    """mask_kind::limited_by_window, whose `first` is tokens - 1"""
    first, end = U64(tokens - 1), past + length
    return when(
        end <= first + 1,
        lambda: U64(0),
        lambda: length + capped_ramp(end, tokens - 1) - capped_ramp(past, tokens - 1),
    )


def prefix_lm(length, past, tokens):
    """mask_kind::prefix_lm"""
    end = past + length
    return triangle(end) - triangle(past) + later_keys(past, end, U64(tokens))


# ---- statistics/detail/hstu_pairs.hpp ----


class Layout:
    """hstu_layout of a sequence whose parts fit it; without context where the mask has none."""

    def __init__(self, context, history, targets, group):
        self.context, self.history, self.targets, self.group = context, history, targets, group

    def first(self, n):
        """hstu_layout::first"""
        context = smaller(n, self.context)
        history = smaller(n - context, self.history)
        return Layout(context, history, n - context - history, self.group)

    def seen(self):
        """hstu_layout::seen"""
        return self.context + self.history


def layout_of(sequence, contextual):
    """hstu_layout::hstu_layout"""
    end = sequence.past + sequence.length
    targets = smaller(sequence.targets, end)
    context = smaller(sequence.context, end - targets) if contextual else U64(0)
    group = when(sequence.target_group == 0, lambda: U64(1), lambda: sequence.target_group)
    return Layout(context, end - targets - context, targets, group)


def hstu_history_pairs(whole, rows, reach, full):
    """hstu_history_pairs; `reach` is None for -1"""
    limited, pairs = U64(0), U64(0)
    if reach is not None:
        last = smaller(whole.history, U64(full))
        limited = smaller(rows, whole.history - last)
        pairs = limited + capped_ramp(limited, reach) + whole.context * smaller(limited, U64(reach))
    return pairs + whole.context * (rows - limited) + triangle(rows) - triangle(limited)


@running_sum(
    "group cap",
    given=lambda group, cap: z3.And(within(1, group, LONGEST), within(-1, cap, PARAMETER)),
    term=lambda target, group, cap: 1 + least_of_cap(rest(target, group), cap),
)
def own_groups(rows, group, cap):
    """hstu_target_pairs: `own`"""
    group = U64(group)
    return rows + rows // group * capped_ramp(group, cap) + capped_ramp(rows % group, cap)


def hstu_target_pairs(whole, rows, reach):
    """hstu_target_pairs; `reach` is None for -1"""
    cap = I64(-1) if reach is None else reach
    own = own_groups(rows, whole.group, cap)
    if reach is None:
        return own + rows * whole.seen()
    w = U64(reach)
    near = smaller(rows, when(w > whole.history, lambda: w - whole.history, lambda: U64(0)))
    far = smaller(rows, w)
    return own + near * whole.seen() + triangle(w - near) - triangle(w - far)


def hstu_shared_target_pairs(whole, rows, reach):
    """hstu_shared_target_pairs"""
    w = U64(reach)
    return own_groups(rows, whole.group, I64(-1)) + rows * when(w > whole.history, whole.seen, lambda: w)


def hstu_pairs_before(whole, n, reach, full, bidirectional, windowed_targets, shared_place=False):
    """hstu_pairs_before; the last three are flags"""
    rows = whole.first(n)
    history = rows.history * whole.seen() if bidirectional else hstu_history_pairs(whole, rows.history, reach, full)
    if shared_place:
        of_targets = hstu_shared_target_pairs(whole, rows.targets, reach)
    else:
        of_targets = hstu_target_pairs(whole, rows.targets, reach if windowed_targets else None)
    return rows.context * whole.seen() + history + of_targets


def hstu_history_squares_before(whole, n):
    """hstu_history_squares, of the first n rows"""
    rows = whole.first(n).history
    return rows * rows


def hstu_other_pairs_before(whole, n, bidirectional):
    """hstu_other_pairs, of the first n rows"""
    return other_pairs(whole, whole.first(n), bidirectional)


def other_pairs(whole, end, bidirectional):
    """hstu_other_pairs: what it returns, of these rows"""
    keys = whole.seen() if bidirectional else whole.context
    return end.context * whole.seen() + end.history * keys + end.targets * (whole.seen() + 1)


@running_sum(
    "stride",
    given=lambda stride: within(1, stride, PARAMETER),
    term=lambda i, stride: z3.If(rest(i, stride) == 0, 1, 0),
)
def strided_rows(of_part, stride):
    """hstu_part_rows: what `rows_before` makes of `of_part`"""
    return of_part // stride + when(of_part % stride != 0, lambda: U64(1), lambda: U64(0))


def hstu_part_rows_before(whole, n, part, stride):
    """hstu_part_rows, of the first n rows"""
    rows = whole.first(n)
    of_part = {
        "context": lambda: rows.context,
        "items": lambda: rows.history + rows.targets,
        "history": lambda: rows.history,
        "targets": lambda: rows.targets,
        "all": lambda: n,
    }[part]()
    return strided_rows(of_part, stride)


def difference(before, sequence):
    """pairs_of_hstu and the others: of the rows past … past + length - 1"""
    return before(sequence.past + sequence.length) - before(sequence.past)


# ---- statistics/detail/pair_rows.hpp and detail/mask_pairs.hpp: grids ----


@running_sum(
    "window shift",
    given=lambda window, shift: z3.And(within(1, window, LONGEST), within(0, shift, LONGEST)),
    term=lambda cell, window, shift: 2 * (cell - window_start(cell, window, shift)) + 1,
)
def window_pieces(cells, window, shift):
    """window_pieces"""
    first = smaller(cells, U64(shift))
    return first * first + chunk_square_rows(cells - first, window)


def windowed_frame(height, width, window, shift):
    """windowed_frame: mask::grid_windows"""
    return window_pieces(height, window, shift) * window_pieces(width, window, shift)


@running_sum(
    "window",
    given=lambda window: z3.And(within(-1, window, PARAMETER), window != 0),
    term=lambda n, window: 2 * n - z3.If(z3.And(window >= 0, window - 1 < n), window - 1, n),
    hints=lambda n, window: [product_of(n, LONGEST - n)],
)
def later_within(n, window):
    """later_within"""
    return n * n - n - capped_ramp(n, when(window < 0, lambda: I64(-1), lambda: window - 1))


def strided(cells, field, stride):
    """strided"""
    beyond = I64(cells) - field
    none = z3.Or(cells == 0, beyond < 0) if z3.is_expr(beyond.value) else (cells == 0 or beyond < 0)
    return when(none, lambda: U64(0), lambda: U64(beyond // stride + 1))


def merged_patches(height, width, side, line_ends):
    """units_of_frame of mask_kind::merged_patches; without line ends that of pooled_patches and pooled_clips"""
    return height // side * (width // side + U64(line_ends))


def reduced_pairs(height, width, field, stride, keys_field, keys_stride):
    """mask_statistics::reduced_pairs, of a frame"""
    queries = strided(height, field, stride) * strided(width, field, stride)
    return queries * (strided(height, keys_field, keys_stride) * strided(width, keys_field, keys_stride))


@running_sum(
    "side",
    given=lambda side: within(1, side, LONGEST),
    term=lambda cell, side: 2 * rest(cell, side) + 1,
    hints=lambda n, side: [product_of(n, LONGEST - n)],
)
def line_squares(cells, side):
    """window_lines::squares, of a side above 0"""
    return cells // side * side * side + cells % side * (cells % side)


def whole_line(cells):
    """window_lines::squares, of a side of 0: the axis is one piece"""
    return when(cells == 0, lambda: U64(0), lambda: cells // cells * cells * cells + cells % cells * (cells % cells))


def window_lines(height, width, rows, columns):
    """mask_statistics::window_lines, of a frame; `rows` and `columns` are the squares of its axes"""
    return width * rows + height * columns


def across_frames(frames, frame_patches):
    """mask_statistics::across_frames, of 128 bits"""
    return frames * frames * frame_patches


def merged_pairs(frames, frame_units):
    """unit_statistics::merged_pairs"""
    return frame_units * when(frames > 1, lambda: frames // 2, lambda: U64(frames))


def merged_squares(frame_units):
    """unit_statistics::merged_squares, of a frame"""
    return frame_units * frame_units


def level_frame(height, width, window, level, shrinking, shifted):
    """level_frame: mask::level_windows"""
    stride = I64(2**level)
    height, width = strided(height, I64(1), stride), strided(width, I64(1), stride)
    shorter = smaller(height, width)
    shrinks = shrinking and shorter <= window
    if shorter == 0:
        return U64(0)
    side = shorter if shrinks else U64(window)
    shift = U64(0) if shrinks or not shifted else U64(window) // 2
    return window_pieces(height, side, shift) * window_pieces(width, side, shift)


def clip_squares(frames, frame_patches, prefix):
    """units_of_clip of mask_kind::clip_squares"""
    patches = frames * frame_patches
    tokens = when(patches == 0, lambda: U64(0), lambda: patches + frames * U64(prefix))
    return tokens * tokens


# ---- statistics/detail/pair_rows.hpp and detail/mask_pairs.hpp: sound ----


def strided_chunks(cells, field, stride, chunk):
    """strided_chunks of a chunk above 0"""
    return cells // chunk * strided(U64(chunk), field, stride) + strided(cells % chunk, field, stride)


def windowed_sound(frames, window):
    """windowed_sound, squares"""
    return chunk_square_rows(frames, window)


def strided_band(cells, field, stride, left, right):
    """mask_statistics::strided_band where up is 1, of up to LONGEST frames that are left: 64 bits hold it, and the code has 128"""
    frames = strided(cells, field, stride)
    return frames + capped_ramp(frames, left) + capped_ramp(frames, right)


# ---- sparse_masks.hpp ----


def compressed_box(length, past, ratio, keys):
    """mask_statistics::compressed_box"""
    return length * smaller((past + length) // ratio, U64(keys))


@running_sum(
    "best ratio",
    given=lambda best, ratio: z3.And(within(1, best, PARAMETER), within(1, ratio, PARAMETER)),
    term=lambda i, best, ratio: 2 * z3.If(quotient(i, ratio) < best, quotient(i, ratio), best)
    + z3.If(z3.And(rest(i + 1, ratio) == 0, quotient(i + 1, ratio) <= best), ratio, 0),
    hints=lambda n, best, ratio: [product_of(n, LONGEST - n), product_of(quotient(n, ratio), ratio - 1),
                                  product_of(quotient(n, ratio), ratio), product_of(best, ratio),
                                  product_of(quotient(n, ratio) - best, ratio),
                                  product_of(quotient(n, ratio) - best, best)],
)
def best_compressed_square_rows(rows, best, ratio):
    """maxtext::best_compressed_squares, of the first rows"""
    keys = smaller(rows // ratio, U64(best))
    return keys * (rows * U64(2) - keys * U64(ratio))


@running_sum(
    "best ratio",
    given=lambda best, ratio: z3.And(within(1, best, PARAMETER), within(1, ratio, PARAMETER)),
    term=lambda i, best, ratio: z3.If(quotient(i + 1, ratio) < best, quotient(i + 1, ratio), best),
    hints=lambda n, best, ratio: [product_of(n, LONGEST - n), product_of(best, ratio)],
)
def best_compressed_rows(rows, best, ratio):
    """Σ of min(best, ⌊i / ratio⌋) over 1 <= i <= rows: once best·ratio tokens are there, each row more has `best`."""
    full = smaller(rows, U64(best) * ratio)
    return compressed_rows(full, ratio) + U64(best) * (rows - full)


@running_sum(
    "blocks size",
    given=lambda blocks, size: z3.And(within(1, blocks, PARAMETER), within(1, size, PARAMETER)),
    term=lambda i, blocks, size: z3.If(
        quotient(i, size) + 1 <= blocks, i + 1, (blocks - 1) * size + rest(i, size) + 1
    ),
    hints=lambda n, blocks, size: [
        lemma_multiple(blocks, n, size, quotient(n, size)),
        lemma_shift(blocks, n, quotient(n, size), rest(n, size), n - blocks * size,
                    quotient(n - blocks * size, size), rest(n - blocks * size, size), size),
        product_of(blocks, size),
        product_of(blocks - 1, size),
    ],
    cases=lambda n, blocks, size: [[n + 1 <= blocks * size], [n >= blocks * size, n + 1 >= blocks * size]],
    opaque=(chunked_rows,),
)
def best_block_rows(rows, blocks, size):
    """Own block and the blocks - 1 best before it: all of the first blocks·size rows, then so many and the own one."""
    full = smaller(rows, U64(blocks) * size)
    more = rows - full
    return triangle(full) + more * (U64(blocks - 1) * size) + chunked_rows(more, size)


@running_sum(
    "size",
    given=lambda size: within(1, size, PARAMETER),
    term=lambda i, size: rest(i + 1, size),
    hints=lambda n, size: [product_of(n, LONGEST - n)],
)
def left_over_rows(rows, size):
    """Σ of i mod size over 1 <= i <= rows: the keys after the last whole pool"""
    return rows // size * triangle(U64(size - 1)) + triangle(rows % size)


@running_sum(
    "pools size",
    given=lambda pools, size: z3.And(within(1, pools, PARAMETER), within(1, size, PARAMETER)),
    term=lambda i, pools, size: size * z3.If(quotient(i + 1, size) < pools, quotient(i + 1, size), pools)
    + rest(i + 1, size),
    opaque=(best_compressed_rows, left_over_rows),
)
def best_pool_rows(rows, pools, size):
    """The `pools` best pools of `size` keys, and the keys after the last whole pool."""
    return U64(size) * best_compressed_rows(rows, pools, size) + left_over_rows(rows, size)
