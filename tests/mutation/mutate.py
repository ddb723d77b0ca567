#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random faults in the core's headers, each of which the header's own tests should see.

    python3 tests/mutation/mutate.py [--count 50] [--seed 1] [--jobs 1] [--rooms rules,batch,count]

A mutant is one header with one operator, number or bound changed. It is compiled with tests/<room>/<header>.test.cpp
alone: a mutant is killed where these tests fail, hang or abort, or where the compiler refuses it for what it computes
(a failed static_assert); it survives where they pass. One that is no C++ is drawn again. Survivors are printed with
their line, to be read: a test is missing, or the change means nothing.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = "rules,integer,batch,descriptors,count,conventions,parallel,balance,step"
CHANGES = [
    (" + ", " - "), (" - ", " + "), (" * ", " + "), (" / ", " * "), (" % ", " / "), (" += ", " -= "), (" -= ", " += "),
    (" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "),
    (" && ", " || "), (" || ", " && "), ("std::min", "std::max"), ("std::max", "std::min"), ("true", "false"),
    ("false", "true"), ("++", "--"), ("(!", "("),
]  # fmt: skip
NUMBER = re.compile(r"(?<![\w.'\"])(\d+)(?=U?\b(?![.'\"]))")
SKIPPED = re.compile(r"^\s*(//|#|template|using|requires|static_assert|\[\[)|noexcept\(|operator")


@dataclasses.dataclass(frozen=True)
class Mutant:
    header: str
    line: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.header}:{self.line}\n    - {self.before.strip()}\n    + {self.after.strip()}"


def test_of(header: str) -> pathlib.Path:
    return ROOT / "tests" / header.replace(".hpp", ".test.cpp")


def mutants_of(header: str) -> list[Mutant]:
    found = []
    for number, line in enumerate((ROOT / "include/floptally" / header).read_text().splitlines(), 1):
        code = line.split("//")[0]
        if SKIPPED.search(code) or '"' in code:
            continue
        for old, new in CHANGES:
            for at in (match.start() for match in re.finditer(re.escape(old), code)):
                found.append(Mutant(header, number, line, line[:at] + new + line[at + len(old) :]))
        for match in NUMBER.finditer(code):
            more = str(int(match[1]) + 1)
            found.append(Mutant(header, number, line, line[: match.start(1)] + more + line[match.end(1) :]))
    return found


def command(folder: pathlib.Path, compiler: str, header: str) -> list[str]:
    definitions = [f'-DFLOPTALLY_SOURCE_DIR="{ROOT}"', f'-DFLOPTALLY_GOLDEN_DIR="{ROOT}/tests/golden"']
    paths = [f"-I{path}" for path in (folder, ROOT / "include", ROOT / "tests")]
    return [compiler, "-std=c++20", "-O0", "-w", *definitions, *paths, "-c", str(test_of(header)), "-o", str(folder / "test.o")]


def verdict(mutant: Mutant | None, header: str, compiler: str, main: pathlib.Path) -> str:
    """passes, killed by its tests or by the compiler, or "no C++"."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if mutant is not None:
            lines = (ROOT / "include/floptally" / header).read_text().splitlines()
            lines[mutant.line - 1] = mutant.after
            changed = folder / "floptally" / header
            changed.parent.mkdir(parents=True)
            changed.write_text("\n".join(lines) + "\n")
        built = subprocess.run(command(folder, compiler, header), capture_output=True, text=True, check=False)
        if built.returncode != 0:
            computed = ("static_assert", "static assertion", "not a constant expression", "constant expression", "constexpr")
            return "killed by the compiler" if any(word in built.stderr for word in computed) else "no C++"
        link = [compiler, str(folder / "test.o"), str(main), "-o", str(folder / "test"), "-lpthread"]
        if subprocess.run(link, capture_output=True, check=False).returncode != 0:
            return "no C++"
        try:
            ran = subprocess.run([str(folder / "test")], capture_output=True, timeout=120, check=False, cwd=folder)
        except subprocess.TimeoutExpired:
            return "killed, it hangs"
        return "passes" if ran.returncode == 0 else "killed"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int, default=50)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--rooms", default=ROOMS)
    options.add_argument("--compiler", default="g++")
    given = options.parse_args()

    headers = [
        f"{room}/{path.name}"
        for room in given.rooms.split(",")
        for path in sorted((ROOT / "include/floptally" / room).glob("*.hpp"))
        if test_of(f"{room}/{path.name}").exists()
    ]
    drawn = [mutant for header in headers for mutant in mutants_of(header)]
    random.Random(given.seed).shuffle(drawn)
    print(f"{len(drawn)} mutants of {len(headers)} headers, of which {given.count} are drawn with seed {given.seed}", flush=True)

    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        test_main = pathlib.Path(name) / "main.o"
        build = [given.compiler, "-std=c++20", "-O0", f"-I{ROOT}/tests", "-c", str(ROOT / "tests/main.cpp"), "-o", str(test_main)]
        subprocess.run(build, check=True)
        clean: dict[str, bool] = {}
        killed, survivors = 0, []

        def tried(mutant: Mutant) -> str:
            if mutant.header not in clean:
                clean[mutant.header] = verdict(None, mutant.header, given.compiler, test_main) == "passes"
            return verdict(mutant, mutant.header, given.compiler, test_main) if clean[mutant.header] else "no C++"

        for first in range(0, len(drawn), given.jobs):
            group = drawn[first : first + given.jobs]
            for mutant, found in zip(group, pool.map(tried, group)):
                killed += found.startswith("killed")
                if found == "passes":
                    survivors.append(mutant)
                    print(f"survives: {mutant}", flush=True)
            if killed + len(survivors) >= given.count:
                break
    total = killed + len(survivors)
    print(f"{killed} of {total} killed, {100 * killed / max(total, 1):.1f} %")
    sys.exit(0 if total > 0 else 1)


main()
