#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/headers.md from the headers in include/floptally; with --check, exits 1 where it is not current.

A header's line is the first clause of its `@file` comment. Rooms are those of docs/architecture.md. A header is bold where the
umbrella includes it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include/floptally"
PAGE = ROOT / "docs/headers.md"


def rooms():
    block = re.search(r"```rooms\n(.*?)```", (ROOT / "docs/architecture.md").read_text(), re.S)[1]
    return [line.split(None, 2)[1:] for line in block.splitlines()]


def included_by(header, seen):
    if header not in seen and (HEADERS / header).is_file():
        seen.add(header)
        for name in re.findall(r"#include <floptally/(.*?)>", (HEADERS / header).read_text()):
            included_by(name, seen)
    return seen


def clause(header):
    """The first sentence, up to a comma, a colon or a semicolon behind four words or more."""
    comment = re.search(r"^/// @file\n((?:///.*\n)+)", header.read_text(), re.M)
    if not comment:
        sys.exit(f"{header.relative_to(ROOT)} has no comment that begins with /// @file")
    lines = []
    for line in comment[1].splitlines():
        if not line[3:].strip():
            break
        lines.append(line[3:].strip())
    sentence = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", " ".join(lines))[0]
    pieces = re.split(r"(?<=[,;:]) ", sentence)
    while len(pieces) > 1 and (len(pieces[0].split()) < 4 or pieces[0].count("(") != pieces[0].count(")")):
        pieces[:2] = [" ".join(pieces[:2])]
    return re.sub(r"<(floptally/[^>]*)>", r"`\1`", pieces[0].rstrip(".,;:")) + "."


def public(folder):
    return sorted(path for path in folder.iterdir() if path.suffix in (".hpp", ".cuh"))


def page():
    umbrella = included_by("floptally.hpp", set())
    lines = [
        "# Headers",
        "",
        "Every header that may be included, room by room ([architecture.md](architecture.md)), lowest floor first.",
        "`#include <floptally/floptally.hpp>` brings the **bold** ones, which need the standard library alone; include the others by name.",
        "A room's `detail/` is its own.",
        "",
        "header in `floptally/` | what it is",
        "--- | ---",
    ]
    for room in [""] + [room for room, _ in rooms()]:
        for path in public(HEADERS / room):
            name = path.relative_to(HEADERS).as_posix()
            bold = "**" if name in umbrella else ""
            lines.append(f"{bold}`{name}`{bold} | {clause(path)}")
    lines += ["", "`tests/headers_page.py` writes this page."]
    return "\n".join(lines) + "\n"


def main():
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        print("docs/headers.md is not what the headers say: run tests/headers_page.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
