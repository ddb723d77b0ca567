# SPDX-License-Identifier: Apache-2.0
"""detail/length_block.hpp, word for word: what a block of lengths adds up to, as what one length adds.

A sum over a block is linear in what each length adds, but for one division at its end. So each formula here is the
numerator that one length adds, and the divisor. `factors` is product_sum::add: both must be from 0 to the longest.
"""

import z3

LONGEST_OF = {16: 0x7FFF, 32: 0x3F_FFFF}  # longest<std::int16_t>, longest<std::int32_t>
BLOCK = 512  # block_size


def larger(a, b):
    if not z3.is_expr(a) and not z3.is_expr(b):
        return max(a, b)
    return z3.If(a < b, b, a)


def choose(condition, a, b):
    return z3.If(condition, a, b) if z3.is_expr(condition) else a if condition else b


class LengthBlock:
    """What one length of a block adds; `mod` is the remainder that `modulus` computes."""

    def __init__(self, length, longest, mod, must_be_factor=lambda x: None):
        self.length, self.longest, self.mod, self.must_be_factor = length, longest, mod, must_be_factor
        self.squares, self.tokens, self.size = length * length, length, 1

    def factors(self, a, b):
        self.must_be_factor(a)
        self.must_be_factor(b)
        return a * b

    def capped_ramps(self, cap):
        """capped_ramps of 0 <= cap < longest"""
        excess = larger(self.length, cap + 1) - (cap + 1)
        return self.squares - self.tokens - self.factors(excess, excess + 1), 2

    def uncapped_ramps(self):
        """capped_ramps of a cap that none of the lengths reaches"""
        return self.squares - self.tokens, 2

    def unfilled_chunks(self, c):
        r = self.mod(self.length, c)
        return self.factors(r, c - r)

    def chunked_rows(self, chunk):
        return self.tokens * (chunk + 1) - self.unfilled_chunks(chunk), 2

    def compressed_rows(self, k):
        r = self.mod(self.length, k)
        products = self.factors(r + 1, k - 1 - r)
        return self.squares + 2 * self.tokens - k * self.tokens + products - (k - 1) * self.size, 2 * k

    def boxes(self, w):
        return self.squares - self.factors(self.length, larger(self.length, w) - w), 1

    def window_squares(self, w):
        excess = larger(self.length, w) - w
        return self.squares - self.factors(excess, excess), 1

    def within_window(self, w, squared):
        kept = choose(self.length > w, 0, self.length)
        return self.factors(kept, kept if squared else 1), 1

    def limited_by_window(self, w):
        """Twice it, so that there is one divisor"""
        within = self.within_window(w, True)[0] + self.within_window(w, False)[0]
        return 2 * self.tokens + self.capped_ramps(w - 1)[0] - within, 2

    def chunk_squares(self, chunk):
        return self.tokens * chunk - self.unfilled_chunks(chunk), 1

    def prefixed_rows(self, prefix):
        m = self.length - (larger(self.length, prefix) - prefix)
        return self.squares + self.tokens + self.factors(m, larger(m, 1) - 1), 2
