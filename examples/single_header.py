#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a header of floptally and all that it includes as one file, for a project that takes no folder.

    python3 examples/single_header.py [HEADER ...] > floptally.hpp

HEADER is a path below include/floptally; floptally.hpp and meter.hpp where none is named, which need the standard
library alone.
"""

import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parents[1] / "include"
OWN = re.compile(r"#include <(floptally/[^>]+)>(?: *//[^\n]*)?\n")
STANDARD = re.compile(r"#include <[^>]+>\n")
#: Each header includes these two; here they stand once, around all of it.
BEGIN, END = "floptally/text/macros_begin.hpp", "floptally/text/macros_end.hpp"


def body_of(header: str, seen: set[str], standard: set[str]) -> str:
    """The text of a header after those that it includes, each once; what it includes of others goes to `standard`."""
    if header in seen:
        return ""
    seen.add(header)
    path = INCLUDE / header
    if not path.is_file():
        raise SystemExit(f"HEADER: there is no {path}")
    text = path.read_text()
    before = "".join(body_of(name, seen, standard) for name in OWN.findall(text))
    text = OWN.sub("", text).replace("#pragma once\n", "")
    # An include inside of a condition stays where it is.
    depth, lines_of_body = 0, []
    for line in text.splitlines(keepends=True):
        depth += line.startswith("#if") - line.startswith("#endif")
        if depth == 0 and STANDARD.fullmatch(line):
            standard.add(line)
        elif not line.startswith("// SPDX-"):
            lines_of_body.append(line)
    return before + f"// ---- {header} ----\n" + re.sub(r"\n{3,}", "\n\n", "".join(lines_of_body)).lstrip("\n") + "\n"


def main(headers: list[str]) -> None:
    seen = {BEGIN, END}
    standard: set[str] = set()
    bodies = "".join(body_of(f"floptally/{header}", seen, standard) for header in headers)
    version = re.findall(r"VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (INCLUDE / "floptally/text/version.hpp").read_text())
    sys.stdout.write("// SPDX-License-Identifier: Apache-2.0\n")
    sys.stdout.write(f"// floptally {'.'.join(version[:3])}, {len(seen)} headers as one: {', '.join(headers)}.\n")
    begin, end = (body_of(header, set(), set()) for header in (BEGIN, END))
    sys.stdout.write("#pragma once\n\n" + begin + "".join(sorted(standard)) + "\n" + bodies + end)


if __name__ == "__main__":
    main(sys.argv[1:] or ["floptally.hpp", "meter.hpp"])
