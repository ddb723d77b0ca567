# SPDX-License-Identifier: Apache-2.0
"""The formulas that are proven are those of the C++: both compute the same for random inputs."""

import subprocess

from formulas import LONGEST_OF_BLOCK, pairs_beyond
from named_statistics import SEQUENCES, Random, Sample, questions
from solver import value_of

# A tally adds up lengths in blocks: by `over` of a band, and one by one of any other statistic.
BANDS = {
    "sliding_window": lambda p, q: (p - 1, 0),
    "top_k": lambda p, q: (p - 1, 0),
    "window": lambda p, q: (p, q),
}
ONE_BY_ONE = ("chunked", "block_causal", "compressed_keys", "box", "window_squares", "chunk_squares", "within_window",
              "limited_by_window", "prefix_lm")


def _pairs_of_lengths(name, p, q, lengths):
    formula, _ = SEQUENCES[name]
    if name in BANDS:
        left, right = BANDS[name](p, q)
        return sum(n * n - pairs_beyond(n, left) - pairs_beyond(n, right) for n in lengths)
    return sum(value_of(formula(Sample(n, 0, 0, 0, 0, 0), p, q, 0)) for n in lengths)


def block_questions(rounds):
    draw = Random()
    for number in range(rounds):
        lengths = [draw.upto(LONGEST_OF_BLOCK) for _ in range(draw.upto(700, 8))]
        for name in (*BANDS, *ONE_BY_ONE):
            p, q = draw.upto(LONGEST_OF_BLOCK, 1), draw.upto(LONGEST_OF_BLOCK) if number % 2 else 0
            expected = _pairs_of_lengths(name, p, q, lengths)
            yield f"block {name} {p} {q} 0 0 {len(lengths)} {' '.join(map(str, lengths))}", expected


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
