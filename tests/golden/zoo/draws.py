# SPDX-License-Identifier: Apache-2.0
"""Sizes and flags of cases, drawn at random from a seed that is the case's name."""

import random


class Draw(random.Random):
    """A random choice of sizes; the same for the same name. `place` is the number that the name ends in."""

    def __init__(self, name):
        super().__init__(name)
        self.place = int(name.rpartition("/")[2])

    def turn(self, *values):
        """Each of these values in its turn."""
        return values[self.place % len(values)]

    def size(self, least, most, of=1):
        """A multiple of `of`, from least * of to most * of."""
        return of * self.randint(least, most)

    def flag(self):
        return self.random() < 0.5

    def some(self, n, *values):
        """A list of n of these values."""
        return [self.choice(values) for _ in range(n)]


def drawn(case, kind, count, make):
    """So many cases kind/0, kind/1, …, of the config that `make(draw)` returns with its class and the case's options."""
    for place in range(count):
        name = f"{kind}/{place}"
        config = make(Draw(name))
        case(name, config.pop("class"), **config)
