#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/headers.md from the public headers; with --check, exits 1 where the page is not current.

Public headers stand directly in include/floptally. A header's line is the first sentence of its `@file` comment and what it
needs.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADERS = ROOT / "include/floptally"
PAGE = ROOT / "docs/headers.md"


def modules():
    block = re.search(r"```modules\n(.*?)```", (ROOT / "docs/architecture.md").read_text(), re.S)[1]
    return [line.split(None, 2)[1:] for line in block.splitlines()]


def includes_of(header, seen):
    """Paths of all headers that one includes, directly or not, ours and others'."""
    for name in re.findall(r"#include <(.*?)>", (HEADERS / header).read_text()):
        if name not in seen:
            seen.add(name)
            own = name.removeprefix("floptally/")
            if own != name and (HEADERS / own).suffix in (".hpp", ".cuh"):
                includes_of(own, seen)
    return seen


#: The first that fits is what a header needs: nccl.h brings the CUDA runtime.
PARTIES = [("nccl", "NCCL"), ("mpi", "MPI"), ("nlohmann/", "nlohmann_json"), ("fmt/", "{fmt}"), ("cuda", "the CUDA runtime")]


def needs(header):
    if header.endswith(".cuh"):
        return "nvcc or hipcc"
    included = includes_of(header, set())
    return next((party for begin, party in PARTIES if any(name.startswith(begin) for name in included)), "the standard library")


def sentence(header):
    """The first sentence of the `@file` comment."""
    comment = re.search(r"^/// @file\n((?:///.*\n)+)", header.read_text(), re.M)
    if not comment:
        sys.exit(f"{header.relative_to(ROOT)} has no comment that begins with /// @file")
    lines = []
    for line in comment[1].splitlines():
        if not line[3:].strip():
            break
        lines.append(line[3:].strip())
    first = re.split(r"(?<=[.!?])\s+(?=[A-Z`])", " ".join(lines))[0]
    return re.sub(r"<(floptally/[^>]*)>", r"`\1`", first)


def page():
    lines = [
        "# Headers",
        "",
        "A program includes `<floptally/NAME.hpp>`, a header of this page. Begin with `floptally.hpp`, or with `core.hpp` where compile",
        "time counts. Each of the others is a theme, and costs only those who include it. The headers of modules, in the folders below,",
        "are the library's own ([architecture.md](architecture.md)).",
        "",
        "| header | what it brings | needs |",
        "| --- | --- | --- |",
    ]
    first = ["floptally.hpp", "core.hpp"]
    names = [path.name for path in sorted(HEADERS.iterdir()) if path.suffix in (".hpp", ".cuh")]
    for name in first + [name for name in names if name not in first]:
        lines.append(f"| `{name}` | {sentence(HEADERS / name)} | {needs(name)} |")
    lines += ["", "`tests/headers_page.py` writes this page. Words that are floptally's own are in the [glossary](glossary.md)."]
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
