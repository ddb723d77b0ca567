# SPDX-License-Identifier: Apache-2.0
"""Blocks of a page, and what the page shows that they print: the block of `output` that follows.

    python tests/python/shown.py    # writes what the blocks of README.md and docs/start.md print, and the program's

It needs the installed package.
"""

from __future__ import annotations

import contextlib
import io
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

SOURCE = pathlib.Path(__file__).resolve().parents[2]
#: Blocks of start.md that need a model of PyTorch or a free port: tests/python/test_start.py runs them.
OF_TORCH = ("from_torch(",)
PORT = "9400"


class Block(NamedTuple):
    """A fenced block of a page with the output that the page shows, and where that begins and ends."""

    language: str
    lines: str
    output: str | None
    begin: int = 0
    end: int = 0


def blocks(text: str) -> list[Block]:
    """All fenced blocks in their order, but for outputs, which belong to the block before them."""
    found: list[Block] = []
    for match in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if match[1] != "output":
            found.append(Block(match[1], match[2], None))
        else:
            assert found and found[-1].output is None, f"nothing prints this: {match[2]}"
            found[-1] = found[-1]._replace(output=match[2], begin=match.start(2), end=match.end(2))
    return found


def printed(lines: str, name: str, scope: dict[str, Any]) -> str:
    """Runs a block of Python; what it prints, without blanks at the ends of lines."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(lines, name, "exec"), scope)
    return without_commit("".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines()))


def without_commit(text: str) -> str:
    """An output as a release prints it: between releases a version has its commit."""
    return re.sub(r"(floptally \d+\.\d+\.\d+)\.dev\d+(?:\+g[0-9a-f]+)?", r"\1", text)


def by_the_program(arguments: list[str]) -> str:
    """What the program prints in the folder of the project."""
    done = subprocess.run([sys.executable, "-m", "floptally", *arguments], capture_output=True, text=True, cwd=SOURCE)
    return without_commit(done.stdout + done.stderr)


def by_the_compiler(lines: str) -> str:
    """What a program of C++ prints, or a test of Catch2 without its includes."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "page.cpp"
        head = "#include <catch2/catch.hpp>\n#include <floptally/floptally.hpp>\n" if "TEST_CASE" in lines else ""
        source.write_text(head + lines)
        command = ["g++", "-std=c++20", "-DCATCH_CONFIG_MAIN", f"-I{SOURCE / 'include'}", source, "-o", f"{source}.out"]
        subprocess.run(command, check=True)
        return without_commit(subprocess.run([f"{source}.out"], capture_output=True, text=True).stdout)


def consoles(text: str) -> str:
    """A page with the program's output under each of its commands."""

    def block(match: re.Match[str]) -> str:
        return f"```console\n$ floptally {match[1]}\n{by_the_program(shlex.split(match[1].replace(chr(92) + chr(10), ' ')))}```"

    return re.sub(r"^```console\n\$ floptally ((?:[^\n]*\\\n)*[^\n]*)\n.*?^```$", block, text, flags=re.MULTILINE | re.DOTALL)


def with_outputs(path: pathlib.Path) -> str:
    """A page with what its blocks print, run one after the other in the folder of the project."""
    text = consoles(path.read_text())
    scope: dict[str, Any] = {"__name__": "a_script"}
    shown: list[tuple[Block, str]] = []
    for block in blocks(text):
        if block.language == "python":
            shown.append((block, printed(block.lines, path.name, scope)))
        elif block.language == "cpp":
            shown.append((block, by_the_compiler(block.lines)))
        elif block.language == "sh" and "examples/floptally" in block.lines:
            arguments = shlex.split(block.lines.partition("examples/floptally")[2])
            shown.append((block, by_the_program(arguments)))
    for block, output in reversed(shown):
        if block.output is not None:
            text = text[: block.begin] + output + text[block.end :]
    return text


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as working:
        pages = [SOURCE / "README.md", SOURCE / "docs" / "start.md"]
        (pathlib.Path(working) / "examples").symlink_to(SOURCE / "examples")
        with contextlib.chdir(working):
            for page in pages:
                page.write_text(with_outputs(page))
