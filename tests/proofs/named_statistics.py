# SPDX-License-Identifier: Apache-2.0
"""The statistics by name: how the C++ is asked for one (values.cpp), and the formula that the proofs are about.

A statistic that gets another name changes it here and in `statistic_of` of values.cpp.
"""

import random

import formulas as f
from solver import I64, LONGEST, PARAMETER, U64, value_of

HSTU_PARTS = ("all", "context", "items", "history", "targets")  # hstu_rows


class Sample:
    """A sequence, as floptally::sequence has it."""

    def __init__(self, length, past, keys, context, targets, target_group):
        self.numbers = (length, past, keys, context, targets, target_group)
        self.length, self.past, self.keys, self.context, self.targets, self.target_group = map(U64, self.numbers)


def hstu(s, reach, full, flags):
    whole = f.layout_of(s, flags // 2 % 2 == 0)
    bidirectional, windowed = flags % 2 != 0, flags // 4 % 2 == 0 and reach > 0
    limit = I64(reach) if reach else None
    shared = windowed and flags // 8 % 2 != 0
    return f.difference(lambda n: f.hstu_pairs_before(whole, n, limit, full, bidirectional, windowed, shared), s)


def hstu_squares(s, _reach, _full, flags):
    whole = f.layout_of(s, flags // 2 % 2 == 0)
    return f.difference(lambda n: f.hstu_history_squares_before(whole, n), s)


def hstu_others(s, _reach, _full, flags):
    whole = f.layout_of(s, flags // 2 % 2 == 0)
    return f.difference(lambda n: f.hstu_other_pairs_before(whole, n, flags % 2 != 0), s)


def hstu_part(s, part, stride, _):
    whole = f.layout_of(s, True)
    return f.difference(lambda n: f.hstu_part_rows_before(whole, n, HSTU_PARTS[part], stride), s)


# Of a sequence: the formula of (sample, a, b, c), and the least of each parameter.
SEQUENCES = {
    "causal": (lambda s, a, b, c: f.band(s.length, s.past, I64(-1), I64(0)), ()),
    "bidirectional": (lambda s, a, b, c: f.band(s.length, s.past, I64(-1), I64(-1)), ()),
    "sliding_window": (lambda s, a, b, c: f.sliding_window(s.length, s.past, I64(a)), (1,)),
    "window": (lambda s, a, b, c: f.band(s.length, s.past, I64(a), I64(b)), (-1, -1)),
    "chunked": (lambda s, a, b, c: f.chunked(s.length, s.past, a), (1,)),
    "top_k": (lambda s, a, b, c: f.top_k(s.length, s.past, I64(a)), (1,)),
    "block_causal": (lambda s, a, b, c: f.block_causal(s.length, s.past, a), (1,)),
    "whole_blocks": (lambda s, a, b, c: f.whole_blocks(s.length, s.past, a), (1,)),
    "compressed_keys": (lambda s, a, b, c: f.compressed_keys(s.length, s.past, a), (1,)),
    "best_compressed_keys": (lambda s, a, b, c: f.difference(lambda n: f.best_compressed_rows(n, b, a), s), (1, 1)),
    "best_blocks": (lambda s, a, b, c: f.difference(lambda n: f.best_block_rows(n, b, a), s), (1, 1)),
    "best_pools": (lambda s, a, b, c: f.difference(lambda n: f.best_pool_rows(n, b, a), s), (1, 1)),
    "cross_attention": (lambda s, a, b, c: f.cross_attention(s.length, s.keys), ()),
    "encoder": (lambda s, a, b, c: f.encoder(s.keys), ()),
    # A window of the other side, which is proven as any window is.
    "encoder_window": (lambda s, a, b, c: f.band(s.keys, U64(0), I64(a), I64(b)), (-1, -1)),
    "compressed_box": (lambda s, a, b, c: f.compressed_box(s.length, s.past, a, b), (1, 1)),
    "best_compressed_squares": (
        lambda s, a, b, c: f.difference(lambda n: f.best_compressed_square_rows(n, b, a), s), (1, 1)),
    "prefix_lm": (lambda s, a, b, c: f.prefix_lm(s.length, s.past, a), (0,)),
    "box": (lambda s, a, b, c: f.box(s.length, s.past, I64(a)), (1,)),
    "window_squares": (lambda s, a, b, c: f.window_squares(s.length, s.past, a), (1,)),
    "chunk_squares": (lambda s, a, b, c: f.chunk_squares(s.length, s.past, a), (1,)),
    "within_window": (lambda s, a, b, c: f.within_window(s.length, s.past, I64(a)), (1,)),
    "limited_by_window": (lambda s, a, b, c: f.limited_by_window(s.length, s.past, I64(a)), (1,)),
    "hstu": (lambda s, a, b, c: hstu(s, a, b, c), (0, 0, 0)),
    "hstu_history_squares": (lambda s, a, b, c: hstu_squares(s, a, b, c), (0, 0, 0)),
    "hstu_others": (lambda s, a, b, c: hstu_others(s, a, b, c), (0, 0, 0)),
    "hstu_part": (lambda s, a, b, c: hstu_part(s, a, b, c), (0, 1)),
}


def line(cells, side):
    """window_lines::squares"""
    return f.line_squares(U64(cells), U64(side)) if side else f.whole_line(U64(cells))


def reduced(h, w, a, b, c, d):
    return f.reduced_pairs(U64(h), U64(w), *map(I64, (a, b, c, d)))


# Of a grid of t frames of h x w: the formula of (t, h, w, a, b, c, d).
GRIDS = {
    "grid_windows": lambda t, h, w, a, b, c, d: t * f.windowed_frame(U64(h), U64(w), a, b).value,
    "merged_patches": lambda t, h, w, a, b, c, d: t * f.merged_patches(U64(h), U64(w), a, b).value,
    "pooled_patches": lambda t, h, w, a, b, c, d: f.merged_patches(U64(h), U64(w), a, 0).value if t else 0,
    "pooled_clips": lambda t, h, w, a, b, c, d: t * (f.merged_patches(U64(h), U64(w), a, 0).value if t > 1 else h * w),
    "merged_pairs": lambda t, h, w, a, b, c, d: f.merged_pairs(U64(t), f.merged_patches(U64(h), U64(w), a, 0)).value,
    "merged_squares": lambda t, h, w, a, b, c, d: t * f.merged_squares(f.merged_patches(U64(h), U64(w), a, 0)).value,
    "clip_squares": lambda t, h, w, a, b, c, d: f.clip_squares(U64(t), U64(h * w), a).value,
    "later_image_tokens": lambda t, h, w, a, b, c, d: t * f.later_within(U64(h // a * (w // a)), I64(b)).value,
    "strided_cells": lambda t, h, w, a, b, c, d: t * (
        f.strided(U64(h), I64(a), I64(b)).value * f.strided(U64(w), I64(a), I64(b)).value),
    "reduced_pairs": lambda t, h, w, a, b, c, d: t * reduced(h, w, a, b, c, d).value,
    "window_lines": lambda t, h, w, a, b, c, d: t * f.window_lines(U64(h), U64(w), line(h, a), line(w, a)).value,
    "across_frames": lambda t, h, w, a, b, c, d: f.across_frames(t, h * w),
    "level_windows": lambda t, h, w, a, b, c, d: t * f.level_frame(U64(h), U64(w), a, b, bool(d), bool(c)).value,
}

# Of a clip of sound: the formula of (frames, field, stride, chunk, window).
SOUND = {
    "strided_frames": lambda n, a, b, c, d: frames_left(n, a, b, c).value,
    "strided_squares": lambda n, a, b, c, d: squares_left(frames_left(n, a, b, c), d).value,
    "strided_band": lambda n, a, b, c, d: f.strided_band(U64(n), *map(I64, (a, b, c, d))).value,
}


def frames_left(n, field, stride, chunk):
    if chunk == 0:
        return f.strided(U64(n), I64(field), I64(stride))
    return f.strided_chunks(U64(n), I64(field), I64(stride), chunk)


def squares_left(frames, window):
    return frames * frames if window == 0 else f.windowed_sound(frames, window)


class Random:
    def __init__(self):
        self.random = random.Random(20240607)

    def upto(self, most, least=0):
        """Of every number of bits equally often."""
        span = most - least
        return least + self.random.randrange((span >> self.random.randrange(span.bit_length() or 1)) + 1)

    def sequence(self):
        past = self.upto(LONGEST)
        length = self.upto(LONGEST - past)
        context = self.upto(past + length)
        targets = self.upto(past + length - context)
        return Sample(length, past, self.upto(LONGEST), context, targets, self.upto(PARAMETER, 1))

    def parameters(self, name, least):
        if name == "hstu_part":
            return self.upto(len(HSTU_PARTS) - 1), self.upto(PARAMETER, 1), 0, 0
        drawn = [self.upto(PARAMETER, low) for low in least]
        if name.startswith("hstu"):
            drawn[2] = self.upto(15)
            if drawn[2] % 2 or drawn[0] == 0:
                drawn[0] = drawn[1] = 0
        return (*drawn, *(0,) * (4 - len(drawn)))


def questions(rounds):
    """Lines for values.cpp, and what the formulas say."""
    draw = Random()
    for _ in range(rounds):
        for name, (formula, least) in SEQUENCES.items():
            s, p = draw.sequence(), draw.parameters(name, least)
            yield " ".join(map(str, ("pairs", name, *p, *s.numbers))), value_of(formula(s, *p[:3]))
        t, h = draw.upto(9), draw.upto(2**16)
        w, side = draw.upto(LONGEST // (h + 1)), draw.upto(60, 1)
        for name, a, b, c, d in (
            ("grid_windows", draw.upto(PARAMETER, 1), draw.upto(PARAMETER), 0, 0),
            ("merged_patches", side, draw.upto(3), 0, 0),
            ("pooled_patches", side, 0, 0, 0),
            ("pooled_clips", side, 0, 0, 0),
            ("merged_pairs", side, 0, 0, 0),
            ("merged_squares", side, 0, 0, 0),
            ("later_image_tokens", side, draw.upto(PARAMETER, 1) if t % 2 else -1, 0, 0),
            ("strided_cells", draw.upto(99, -99), draw.upto(99, 1), 0, 0),
            ("reduced_pairs", draw.upto(99, 1), draw.upto(99, 1), draw.upto(99, 1), draw.upto(99, 1)),
            ("across_frames", 0, 0, 0, 0),
            ("window_lines", draw.upto(99), 0, 0, 0),
            ("level_windows", draw.upto(99, 1), draw.upto(30), draw.upto(1), draw.upto(1)),
        ):
            yield f"patches {name} {a} {b} {c} {d} {t} {h} {w}", GRIDS[name](t, h, w, a, b, c, d) % 2**64
        h, w, prefix = h % 2**8, w % 2**8, draw.upto(9)
        yield f"patches clip_squares {prefix} 0 0 0 {t} {h} {w}", GRIDS["clip_squares"](t, h, w, prefix, 0, 0, 0)
        for name in SOUND:
            frames, a, b = draw.upto(LONGEST), draw.upto(PARAMETER, -PARAMETER), draw.upto(PARAMETER, 1)
            c, d = draw.upto(0xFFFF), draw.upto(0xFFFF) if name == "strided_squares" else 0
            if name == "strided_band":
                b, c, d = draw.upto(2**24 - 1, 1), draw.upto(PARAMETER, -1), draw.upto(PARAMETER, -1)
                if frames_left(frames, a, b, 0).value > LONGEST:
                    continue  # the code has 128 bits for these, the formula 64
            yield f"frames {name} {a} {b} {c} {d} {frames}", SOUND[name](frames, a, b, c, d)
