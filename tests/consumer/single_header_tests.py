#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of the tree with examples/single_header.py's one header in place of each header that it has.

    python3 tests/consumer/single_header_tests.py FOLDER [COMPILER]

FOLDER gets the one header, a line that includes it for each of its headers, and the tests of these, tests/MODULE/HEADER.test.cpp.
What a test includes besides comes from the tree.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def main(folder: pathlib.Path, compiler: str = "c++") -> None:
    include = folder.resolve() / "include"
    one = subprocess.run([sys.executable, ROOT / "examples/single_header.py"], capture_output=True, text=True, check=True).stdout
    (include / "floptally").mkdir(parents=True, exist_ok=True)
    (include / "floptally_in_one.hpp").write_text(one)
    headers = re.findall(r"^// ---- floptally/(\S+)\.hpp ----$", one, re.MULTILINE)
    for header in headers:
        path = include / "floptally" / f"{header}.hpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#include <floptally_in_one.hpp>\n")
    tests = [path for header in headers if (path := ROOT / f"tests/{header}.test.cpp").exists()]
    assert len(tests) > 30, tests
    units = []
    for number in range(4):
        unit = folder.resolve() / f"unit{number}.cpp"
        unit.write_text("".join(f'#include "{path}"\n' for path in tests[number::4]))
        units.append(unit)
    objects = []
    for unit in [*units, ROOT / "tests/main.cpp"]:
        objects.append(folder / f"{unit.stem}.o")
        subprocess.run([compiler, "-std=c++20", "-O0", "-c", unit, "-o", objects[-1], f"-I{include}", f"-I{ROOT / 'include'}",
                        f"-I{ROOT / 'tests'}", f'-DFLOPTALLY_SOURCE_DIR="{ROOT}"', f'-DFLOPTALLY_GOLDEN_DIR="{ROOT / "tests/golden"}"'],
                       check=True)  # fmt: skip
    program = folder / "tests"
    subprocess.run([compiler, *objects, "-lfmt", "-pthread", "-o", program], check=True)
    print(f"{len(headers)} headers as one, {len(tests)} of their test files:", flush=True)
    sys.exit(subprocess.run([program.resolve()], check=False).returncode)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:3])
