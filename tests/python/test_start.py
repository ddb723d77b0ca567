# SPDX-License-Identifier: Apache-2.0
"""docs/start.md: its blocks run one after the other and print what the page shows."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from conftest import SOURCE
from shown import OF_TORCH, PORT, blocks, consoles, printed

PAGE = (SOURCE / "docs" / "start.md").read_text()
BLOCKS = blocks(PAGE)


def test_the_tutorial_runs_from_zero_to_a_dashboard(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    scope: dict[str, Any] = {"__name__": "a_script"}
    assert PAGE.count(f", {PORT})") == 1 and PAGE.count(f":{PORT}") == 2  # Prometheus reads the port that the block serves
    compared = 0
    for number, block in enumerate(BLOCKS):
        if any(text in block.lines for text in OF_TORCH) or block.language != "python":
            continue
        lines = block.lines.replace(f", {PORT})", ", 0)")  # a port that is free
        lines = lines.replace(f'"http://localhost:{PORT}"', 'f"http://localhost:{server.server_port}"')
        assert printed(lines, f"docs/start.md, block {number}", scope) == block.output, block.lines
        compared += 1
    assert compared == 8
    (picture,) = re.findall(r"`(floptally\.plots\.\w+\(history, .*?\))`", PAGE)
    exec(f"import floptally.plots\n{picture}", scope)
    assert (tmp_path / "mfu.svg").read_text().startswith("<?xml")

    server = scope["server"]
    try:
        with urllib.request.urlopen(f"http://localhost:{server.server_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
    assert "floptally_flops_total{" in text and 'run="night 7"' in text and text.endswith("# EOF\n")


def test_the_command_line_program_prints_the_output_shown_on_the_docs_page_start() -> None:
    assert PAGE.count("```console\n") == 4 and consoles(PAGE) == PAGE


def test_the_selftest_prints_what_the_docs_page_start_shows() -> None:
    commands = re.findall(r"^    (python -m \S+)$", PAGE, re.MULTILINE)
    assert commands == ["python -m floptally.selftest"]
    done = subprocess.run([sys.executable, *commands[0].split()[1:]], capture_output=True, text=True, check=True)
    shown = re.findall(r"prints the version and\n\n    (.+)\n", PAGE)
    assert [done.stdout.rpartition(": ")[2].strip()] == shown


def test_every_code_block_on_the_docs_page_start_prints_the_output_shown_there() -> None:
    for block in BLOCKS:
        assert (block.output is not None) == (block.language == "python"), block.lines
        assert block.output is None or block.output.strip(), block.lines


def test_the_pytorch_example_on_the_docs_page_start_prints_the_output_shown_there(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    (block,) = [block for block in BLOCKS if "from_torch(" in block.lines]
    assert printed(block.lines, "docs/start.md", {"__name__": "a_script"}) == block.output
