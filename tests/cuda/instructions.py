# SPDX-License-Identifier: Apache-2.0
"""Counts what a length costs on a GPU, in instructions of the machine code, and fails above the bounds below.

    python instructions.py every_kernel.sm_90    # the cubin of every_kernel.cu that the test cuda.resources.sm_90 leaves

Needs nvdisasm, from a CUDA toolkit or the package nvidia-cuda-nvdisasm; without it this says so and exits with status 77.

The loop of `add_list_kernel` takes eight lengths at a time, in two loads of 16 bytes that are under way together. A
trip is the shortest cycle of its control flow that passes a vector load and the block which squares eight lengths, and
with a window also the shortest of the blocks that cut eight lengths by one; each further window goes round that block
once more. Instructions repeat exactly: with another version of nvcc they may differ a little, and then the bounds are
those of that version.
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
#: Instructions of one length without a mask, with one window and with four, of 32-bit lists; nvcc 13.0, sm_90.
BOUNDS = {"lengths": (9, 14, 29), "boundaries": (12, 17, 32)}
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


def costs(kernel: Kernel) -> tuple[float, float, float]:
    load = next(at for at, text in enumerate(kernel.code) if "LDG.E.128" in text)
    squares = r"IMAD\.WIDE\.U32 R\d+, (R\d+)(?:\.reuse)?, \1(?:\.reuse)?, R\w+"
    cuts = kernel.blocks_with("IMNMX")
    plain = next(one for one in kernel.blocks_with(squares) if one not in cuts)
    none = kernel.cycle(load, plain[0], plain[-1])
    one, window = min((trip, cut) for cut in cuts if (trip := kernel.cycle(load, plain[0], plain[-1], cut[0], cut[-1])))
    further = kernel.cycle(window[0], window[-1])
    assert none is not None and further is not None
    return none / LENGTHS, one / LENGTHS, (one + 3 * further) / LENGTHS


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
    for section in re.split(r"\n\s*\.section\s+\.text\.", text)[1:]:
        mangled = section.split(",")[0]
        if "take_snapshot_kernel" in mangled:
            fences = len(re.findall(r"\bMEMBAR\.SC\.SYS\b", section))
            failed = failed or fences > FENCES
            print(f"snapshot: {fences} fences, {FENCES} at most{', TOO MANY' * (fences > FENCES)}")
            found.add("snapshot")
        list_ = re.search(r"add_list_kernelI(?!.*6padded).*\dlisted_numbersIiLb([01])E", mangled)
        if list_ is None:
            continue
        kind = ("lengths", "boundaries")[int(list_[1])]
        found.add(kind)
        for what, cost, bound in zip(("no mask", "one window", "four windows"), costs(Kernel(section)), BOUNDS[kind]):
            too_many = cost > bound
            failed = failed or too_many
            print(f"{kind}, {what}: {cost:.2f} instructions a length, {bound} at most{', TOO MANY' * too_many}")
        loads = loads_under_way(Kernel(section))
        failed = failed or loads < 2
        print(f"{kind}: {loads} loads of 16 bytes before the first use{', TOO FEW' * (loads < 2)}")
    if found != {*BOUNDS, "snapshot"}:
        print(f"kernels that are missing: {', '.join(sorted({*BOUNDS, 'snapshot'} - found))}")
        failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
