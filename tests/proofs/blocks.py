# SPDX-License-Identifier: Apache-2.0
"""What speed rests on: sums of a block in 16 and 32 bits, remainders without a division, the other forms of rules."""

import z3

import formulas
from block_formulas import BLOCK, LONGEST_OF, LengthBlock
from formulas import within
from solver import I64, PARAMETER, WORD, Scene, U64, decide, product_of, rest, value_of, variable

LENGTH, PARAM = z3.Ints("length parameter")


def prove_product_sum_16():
    """product_sum<std::int16_t>: 512 products in two words of 32 bits, exactly.

    By induction over the products: high = Σ (a >> 7)·b and low = Σ (a & 127)·b have these bounds for k of them.
    """
    longest = LONGEST_OF[16]
    k, high, low, a, b, wrapped = z3.Ints("k high low a b wrapped")
    top, bottom = z3.Ints("top bottom")
    factors = [within(0, a, longest), within(0, b, longest), a == 128 * top + bottom, within(0, bottom, 127)]
    most_high, most_low = (longest >> 7) * longest, 127 * longest
    sums = [0 <= k, k < BLOCK, within(0, high, k * most_high), within(0, low, k * most_low)]
    hints = [product_of(longest - b, top), product_of((longest >> 7) - top, longest), product_of(top, b),
             product_of(longest - b, bottom), product_of(127 - bottom, longest), product_of(bottom, b)]
    decide("product_sum<int16>: a·b and (a >> 7)·b are ints, and a >> 7 is one of 16 bits",
           factors + hints + [product_of(longest - a, longest), product_of(a, b), product_of(a, longest - b)],
           z3.And(within(0, a * b, 2**31 - 1), within(0, top * b, most_high), within(0, top, longest)))
    decide("product_sum<int16>: one product more stays in bounds", factors + sums + hints,
           z3.And(within(0, high + top * b, (k + 1) * most_high), within(0, low + bottom * b, (k + 1) * most_low)))
    decide("product_sum<int16>: 128·high + low is Σ a·b, product by product", factors,
           128 * (top * b) + bottom * b == a * b)
    # After at most 512: high did not wrap; low is the wrapped sum less 128·high, modulo 2^32.
    turns, laps, difference = z3.Ints("turns laps difference")
    done = [within(0, k, BLOCK), within(0, high, k * most_high), within(0, low, k * most_low)]
    decide("product_sum<int16>: high fits 32 bits, low 31", done, z3.And(high < 2**32, low < 2**31))
    decide("product_sum<int16>: total() is the sum",
           done + [within(0, wrapped, 2**32 - 1), 128 * high + low == wrapped + 2**32 * turns,
                   within(0, difference, 2**32 - 1), wrapped - 128 * high == difference - 2**32 * laps],
           128 * high + difference == 128 * high + low)


def prove_sums():
    """Sums of 512 lengths, of their products, and the test that no length is too long."""
    for bits, longest in LONGEST_OF.items():
        k, added, product_sum, length, a, b = z3.Ints("k added product_sum length a b")
        decide(f"{bits} bits: 512 lengths add up to less than 2^31",
               [0 <= k, k < BLOCK, within(0, added, k * longest), within(0, length, longest)],
               z3.And(added + length <= (k + 1) * longest, z3.BoolVal(BLOCK * longest < 2**31)))
        decide(f"{bits} bits: 512 products add up to less than 2^64",
               [0 <= k, k < BLOCK, within(0, product_sum, k * longest**2), within(0, a, longest), within(0, b, longest),
                product_of(longest - a, longest), product_of(a, longest - b)],
               z3.And(product_sum + a * b <= (k + 1) * longest**2, z3.BoolVal(BLOCK * longest**2 < 2**54)))
        x, y = z3.BitVecs("x y", 64)
        limit = z3.BitVecVal(longest, 64)
        decide(f"{bits} bits: one OR tells whether all lengths are short", [],
               z3.ULE(x | y, limit) == z3.And(z3.ULE(x, limit), z3.ULE(y, limit)))
        # boundary_lengths::unwrapped: a boundary that falls makes its length 2^32 (or 2^64) too long.
        for width in (2**32, WORD):
            true_sum, seen_sum, wraps = z3.Ints("true_sum seen_sum wraps")
            decide(f"{bits} bits: where the last boundary is not below the first, none fell",
                   [wraps >= 0, true_sum == seen_sum - width * wraps, within(0, seen_sum, 2**31 - 1), true_sum >= 0],
                   wraps == 0)


def prove_modulus():
    """modulus: x mod d by one multiplication with m = ⌊(B - 1)/d⌋."""
    for bits, longest in LONGEST_OF.items():
        base = 2**bits
        x, d, m, over, q, r, quotient_, below = z3.Ints("x d m over q r quotient below")
        facts = [within(0, x, longest), within(1, d, longest), x == q * d + r, 0 <= r, r < d,
                 base - 1 == m * d + over, 0 <= over, over < d,
                 x * m == quotient_ * base + below, 0 <= below, below < base]
        hints = [product_of(x, over), product_of(x, base - 1 - m * d), product_of(x, m), product_of(d, below),
                 product_of(quotient_ - q - 1, d), product_of(q - quotient_ - 2, d), product_of(x, d - 1 - over),
                 product_of(d, base - 1 - below), x * m * d == x * (base - 1 - over),
                 x * m * d == quotient_ * base * d + below * d]
        decide(f"modulus, {bits} bits: the quotient is not too large", facts + hints, quotient_ <= q)
        decide(f"modulus, {bits} bits: nor more than one too small", facts + hints, quotient_ >= q - 1)
        near = [within(0, x, longest), within(1, d, longest), x == q * d + r, 0 <= r, r < d,
                z3.Or(quotient_ == q, quotient_ == q - 1)]
        signed = x - (quotient_ + 1) * d
        decide(f"modulus, {bits} bits: one correction makes the remainder", near,
               z3.And(-d <= signed, signed < d, z3.If(signed < 0, signed + d, signed) == r))
        decide(f"modulus, {bits} bits: multiplier and quotient fit their types",
               facts + [product_of(m, d - 1), product_of(longest - x, base), product_of(x, base - 1 - m)],
               z3.And(within(0, m, base - 1), x * m < base * base, within(0, quotient_, base - 1)))


# Each form of a rule over a block, and the rule of the header that it must be; with what limits its parameter.
FORMS = {
    "capped_ramps": (lambda b, p: b.capped_ramps(p), lambda n, p: formulas.capped_ramp(n, p), lambda p, l: p < l),
    "uncapped_ramps": (lambda b, p: b.uncapped_ramps(), lambda n, p: formulas.capped_ramp(n, p), lambda p, l: p >= l),
    "chunked_rows": (lambda b, p: b.chunked_rows(p), lambda n, p: formulas.chunked_rows(n, p), lambda p, l: p <= l),
    "compressed_rows": (lambda b, p: b.compressed_rows(p), lambda n, p: formulas.compressed_rows(n, p),
                        lambda p, l: p <= l),
    "boxes": (lambda b, p: b.boxes(p), lambda n, p: formulas.box(n, U64(0), p), lambda p, l: p <= l),
    "window_squares": (lambda b, p: b.window_squares(p), lambda n, p: formulas.window_square_rows(n, p),
                       lambda p, l: p <= l),
    "chunk_squares": (lambda b, p: b.chunk_squares(p), lambda n, p: formulas.chunk_square_rows(n, p),
                      lambda p, l: p <= l),
    "within_window": (lambda b, p: b.within_window(p, True), lambda n, p: formulas.within_window(n, U64(0), p),
                      lambda p, l: p <= l),
    "limited_by_window": (lambda b, p: b.limited_by_window(p),
                          lambda n, p: formulas.limited_by_window(n, U64(0), p), lambda p, l: p <= l),
    "prefixed_rows": (lambda b, p: b.prefixed_rows(p), lambda n, p: formulas.prefix_lm(n, U64(0), p),
                      lambda p, l: p <= l),
}
# What each is where no length of the block reaches the parameter: numerator and divisor.
BEYOND = {
    "chunked_rows": (lambda n: (n * n + n, 2)), "compressed_rows": (lambda n: (z3.IntVal(0), 1)),
    "boxes": (lambda n: (n * n, 1)), "window_squares": (lambda n: (n * n, 1)), "chunk_squares": (lambda n: (n * n, 1)),
    "within_window": (lambda n: (n * n, 1)), "prefixed_rows": (lambda n: (n * n + n + n * (n - 1), 2)),
    "limited_by_window": (lambda n: (2 * n + (n * n - n) - (n * n + n), 2)),
}


def prove_forms(bits, longest):
    """The numerator of one length is the divisor times what the header's formula has of a sequence of that length.

    So the sum over a block is the sum over its lengths, and the division cuts nothing off; it fits 64 bits by far.
    """
    for name, (form, rule, limits) in FORMS.items():
        with Scene(within(1, PARAM, PARAMETER), within(0, LENGTH, longest), limits(PARAM, longest)) as scene:
            factors = []
            block = LengthBlock(LENGTH, longest, rest, factors.append)
            numerator, divisor = form(block, PARAM)
            pairs = value_of(rule(variable("length"), variable("parameter", I64)))
            scene.obligations = []
            scene.prove(f"{name}, {bits} bits: a length adds the divisor times its pairs", numerator == divisor * pairs,
                        product_of(LENGTH, LENGTH))
            scene.prove(f"{name}, {bits} bits: and no more than 2n² + 2n",
                        numerator <= 2 * LENGTH * LENGTH + 2 * LENGTH,
                        numerator == divisor * pairs, product_of(LENGTH, LENGTH))
            for x in factors:
                scene.prove(f"{name}, {bits} bits: a factor is from 0 to the longest", within(0, x, longest))
    for name, beyond in BEYOND.items():
        with Scene(longest < PARAM, PARAM <= PARAMETER, within(0, LENGTH, longest)) as scene:
            numerator, divisor = beyond(LENGTH)
            pairs = value_of(FORMS[name][1](variable("length"), variable("parameter", I64)))
            scene.prove(f"{name}, {bits} bits: a parameter that no length reaches", numerator == divisor * pairs)


def prove_division():
    """A sum of multiples is a multiple, and the quotient the sum of the quotients; numerators of a block fit."""
    d, total, pairs, numerator, of_one = z3.Ints("d total pairs numerator of_one")
    decide("a length more adds its pairs to the quotient", [total == d * pairs, numerator == d * of_one],
           total + numerator == d * (pairs + of_one))
    longest = LONGEST_OF[32]
    decide("512 numerators of at most 2n² + 2n fit 64 bits", [],
           z3.BoolVal(BLOCK * (2 * longest**2 + 2 * longest) < WORD))


def prove():
    prove_product_sum_16()
    prove_sums()
    prove_modulus()
    for bits, longest in LONGEST_OF.items():
        prove_forms(bits, longest)
    prove_division()
