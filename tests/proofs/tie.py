# SPDX-License-Identifier: Apache-2.0
"""The formulas that are proven are those of the C++: both compute the same for random inputs."""

import subprocess

from block_formulas import LONGEST_OF, LengthBlock
from rules import Random, questions

# Rules that have a form of their own over a block of lengths: how the C++ is asked, and the form.
BLOCKS = {
    "sliding_window": lambda b, p: _band(b, b.capped_ramps(p - 1) if p - 1 < b.longest else b.uncapped_ramps()),
    "top_k": lambda b, p: _band(b, b.capped_ramps(p - 1) if p - 1 < b.longest else b.uncapped_ramps()),
    "chunked": lambda b, p: b.chunked_rows(p),
    "compressed_keys": lambda b, p: b.compressed_rows(p),
    "box": lambda b, p: b.boxes(p),
    "window_squares": lambda b, p: b.window_squares(p),
    "chunk_squares": lambda b, p: b.chunk_squares(p),
    "within_window": lambda b, p: b.within_window(p, True),
    "limited_by_window": lambda b, p: b.limited_by_window(p),
    "prefix_lm": lambda b, p: b.prefixed_rows(p),
}


def _band(block, ramps):
    numerator, divisor = ramps
    return divisor * block.tokens + numerator, divisor


def block_questions(rounds):
    draw = Random()
    for number in range(rounds):
        longest = LONGEST_OF[32 if number % 2 else 16]
        lengths = [draw.upto(longest) for _ in range(draw.upto(700, 8))]
        for name, form in BLOCKS.items():
            p = draw.upto(LONGEST_OF[16], 1)
            parts = [form(LengthBlock(n, longest, lambda x, d: x % d), p) for n in lengths]
            expected, rest = divmod(sum(numerator for numerator, _ in parts), parts[0][1])
            assert rest == 0, f"{name}({p}) of a block leaves a rest"
            yield f"block {name} {p} 0 0 0 {len(lengths)} {' '.join(map(str, lengths))}", expected
        for bits in LONGEST_OF:
            x, d = draw.upto(LONGEST_OF[bits]), draw.upto(LONGEST_OF[bits], 1)
            yield f"mod{bits} {d} {x}", x % d
        a, b = ([draw.upto(LONGEST_OF[16]) for _ in range(512)] for _ in range(2))
        yield f"products16 512 {' '.join(map(str, a + b))}", sum(x * y for x, y in zip(a, b))


def differences(program, rounds=300):
    """How many inputs were compared, and those on which C++ and formula do not agree."""
    asked = [*questions(rounds), *block_questions(rounds // 5)]
    lines = "".join(f"{line}\n" for line, _ in asked)
    answers = subprocess.run([program], input=lines, capture_output=True, text=True, check=True).stdout.split()
    if len(answers) != len(asked):
        return 0, [f"{len(answers)} answers to {len(asked)} questions"]
    return len(asked), [
        f"{line[:160]}: C++ computes {answer}, the formula {expected}"
        for (line, expected), answer in zip(asked, answers)
        if int(answer) != expected
    ]
