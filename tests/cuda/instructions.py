# SPDX-License-Identifier: Apache-2.0
"""Counts what counting costs on a GPU, in instructions of the machine code, and fails above the bounds below.

    python instructions.py every_kernel.sm_90    # the cubin of every_kernel.cu that the test cuda.resources.sm_90 leaves

Needs nvdisasm, from a CUDA toolkit or the package nvidia-cuda-nvdisasm; without it this says so and exits with status 77.

The loop of `add_lengths` takes eight lengths at a time. A trip is the shortest cycle of its control flow that passes the
first vector load and the block which squares eight lengths. Instructions repeat exactly: with another version of nvcc they
may differ a little, and then the bounds are those of that version.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import deque

LENGTHS = 8
#: By the bytes of a number, whether it is a boundary, how slots are given (0: none, 1: by row, 2: by boundaries) and their
#: bytes: instructions of one length without a window, with one side of a window and with four; nvcc 13.0, sm_90.
BOUNDS = {
    ("4", "0", "0", "4"): (11, 16, 24),
    ("8", "0", "0", "4"): (14, 19, 28),
    ("4", "1", "0", "4"): (11, 16, 24),
    ("8", "1", "0", "4"): (14, 19, 28),
    ("4", "1", "2", "4"): (22, 29, 40),
    ("4", "1", "2", "8"): (22, 29, 40),
    ("8", "1", "2", "8"): (22, 29, 40),
    ("4", "0", "1", "4"): (14, 19, 32),
    ("8", "0", "1", "4"): (14, 19, 32),
}
SIDES = ("0", "1", "4")
#: Of the kernels that add lengths.
MOST = 900
#: Of the kernels that take samples one by one, under every statistic, by a part of their names.
MOST_OF_SAMPLES = {"8sequenceE": 4080, "4gridE": 7300, "10audio_clipE": 2480}
#: That a caller's own kernel has more with a tally than without.
OWN_KERNEL = 250
#: Of a snapshot: between taking its old number away and writing words, and between those and its new number.
FENCES = 2


def find_nvdisasm() -> str | None:
    packaged = pathlib.Path(sysconfig.get_paths()["purelib"]).glob("nvidia/*/bin/nvdisasm")
    return shutil.which("nvdisasm") or next(map(str, packaged), None)


class Kernel:
    """The instructions of a function and where each can go on."""

    def __init__(self, listing: str) -> None:
        self.code: list[str] = []
        labels: dict[str, int] = {}
        for line in listing.splitlines():
            if label := re.match(r"(\.L_x_\d+):", line):
                labels[label[1]] = len(self.code)
            elif instruction := re.match(r"\s*/\*[0-9a-f]+\*/\s+(.*?)\s*;", line):
                self.code.append(instruction[1])
        self.next: list[list[int]] = [self.after(at, labels) for at in range(len(self.code))]
        targets = {to for ways in self.next if len(ways) != 1 for to in ways} | set(labels.values())
        ends = {at + 1 for at, ways in enumerate(self.next) if ways != [at + 1]}
        starts = sorted(at for at in targets | ends | {0} if at < len(self.code))
        self.blocks = [range(a, b) for a, b in zip(starts, starts[1:] + [len(self.code)])]

    def after(self, at: int, labels: dict[str, int]) -> list[int]:
        text = self.code[at]
        guarded = text.startswith("@") or re.search(r"^BRA\S* !?U?P", text) is not None
        operation = re.sub(r"^@!?U?P\w+\s+", "", text)
        following = [at + 1] if at + 1 < len(self.code) else []
        if operation.startswith("BRA"):
            target = re.search(r"\.L_x_\d+", text)
            assert target is not None, text
            return [labels[target[0]]] + (following if guarded else [])
        if operation.startswith(("EXIT", "RET")):
            return following if guarded else []
        return following

    def steps(self, start: int, to: int) -> int | None:
        """Instructions from one to the other, itself left out; a whole way round where they are the same."""
        seen = {start: 0}
        open_ = deque([start])
        while open_:
            at = open_.popleft()
            for following in self.next[at]:
                if following == to:
                    return seen[at] + 1
                if following not in seen:
                    seen[following] = seen[at] + 1
                    open_.append(following)
        return None

    def cycle(self, *through: int) -> int | None:
        ways = [self.steps(a, b) for a, b in zip(through, through[1:] + through[:1])]
        return None if None in ways else sum(way for way in ways if way is not None)

    def blocks_with(self, pattern: str) -> list[range]:
        return [one for one in self.blocks if sum(bool(re.search(pattern, self.code[at])) for at in one) >= LENGTHS]


def cost(kernel: Kernel) -> float:
    load = next(at for at, text in enumerate(kernel.code) if "LDG.E.128" in text)
    squares = r"IMAD\.WIDE\.U32 R\d+, (R\d+)(?:\.reuse)?, \1(?:\.reuse)?, R\w+"
    trips = (kernel.cycle(load, one[0], one[-1]) for one in kernel.blocks_with(squares))
    return min(trip for trip in trips if trip is not None) / LENGTHS


def loads_under_way(kernel: Kernel) -> int:
    """Loads of 16 bytes from the first on, before anything reads what one of them brings."""
    at = next(at for at, text in enumerate(kernel.code) if "LDG.E.128" in text)
    brought: set[str] = set()
    count = 0
    while True:
        text = kernel.code[at]
        load = re.search(r"LDG\.E\.128 R(\d+), (.*)", text)
        if brought & set(re.findall(r"\bR\d+\b", load[2] if load else text)):
            return count
        if load:
            count += 1
            brought |= {f"R{int(load[1]) + i}" for i in range(4)}
        at = kernel.next[at][-1]


def main() -> int:
    nvdisasm = find_nvdisasm()
    if nvdisasm is None:
        print("skipped: nvdisasm is not here (pip install nvidia-cuda-nvdisasm)")
        return 77
    text = subprocess.run([nvdisasm, sys.argv[1]], check=True, capture_output=True, text=True).stdout
    failed = False
    found = set()
    own = {}

    def check(what: str, seen: float, most: float) -> None:
        nonlocal failed
        failed = failed or seen > most
        print(f"{what}: {seen:g}, {most} at most{', TOO MANY' * (seen > most)}")

    for section in re.split(r"\n\s*\.section\s+\.text\.", text)[1:]:
        mangled = section.split(",")[0]
        kernel = Kernel(section)
        size = sum(not one.startswith("NOP") for one in kernel.code)
        if "take_snapshot" in mangled:
            check("fences of a snapshot", len(re.findall(r"\bMEMBAR\.SC\.SYS\b", section)), FENCES)
            found.add("snapshot")
        for name in ("without_a_tally", "with_a_tally"):
            if name in mangled:
                own[name] = size
        for unit, most in MOST_OF_SAMPLES.items():
            if "11add_samplesI" in mangled and unit in mangled:
                check(f"{unit}: instructions in all", size, most)
                found.add(unit)
        if list_ := re.search(r"add_lengthsILj(\d)ELb(\d)ELNS\d_8slots_byE(\d)ELj(\d)ELj(\d)E", mangled):
            of, sides = list_.groups()[:4], list_[5]
            what = "bytes {}, boundaries {}, slots {} of bytes {}".format(*of) + f", {sides} sides"
            check(f"{what}: instructions a length", cost(kernel), BOUNDS[of][SIDES.index(sides)])
            check(f"{what}: instructions in all", size, MOST)
            loads = loads_under_way(kernel)
            failed = failed or loads < 2
            print(f"{what}: {loads} loads of 16 bytes before the first use{', TOO FEW' * (loads < 2)}")
            found.add(of + (sides,))
    check("a kernel with a tally, more than without", own["with_a_tally"] - own["without_a_tally"], OWN_KERNEL)
    missing = {"snapshot", *MOST_OF_SAMPLES, *(of + (sides,) for of in BOUNDS for sides in SIDES)} - found
    if missing:
        print(f"kernels that are missing: {missing}")
    return int(failed or bool(missing))


if __name__ == "__main__":
    sys.exit(main())
