# SPDX-License-Identifier: Apache-2.0
"""docs/start.md: its shell and Python blocks run one after the other in an empty folder, and its dashboard's text is served."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
import urllib.request
from typing import Any

import pytest

from conftest import SOURCE
from test_readme import run

PAGE = (SOURCE / "docs" / "start.md").read_text()


def test_the_tutorial_runs_from_zero_to_a_dashboard(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "bin" / "floptally"  # as pip installs it, by this Python
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m floptally "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, "CLONE": str(SOURCE), "PATH": f"{program.parent}:{os.environ['PATH']}"}
    scope: dict[str, Any] = {"__name__": "a_script"}
    printed, compared, ran = [], 0, 0
    for language, lines in re.findall(r"^```(sh|python)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        ran += 1
        if language == "sh":
            done = subprocess.run(["sh", "-e", "-c", lines], capture_output=True, text=True, env=environment)
            assert done.returncode == 0, done.stderr
            printed.append(done.stdout)
        else:
            compared += run(lines, f"docs/start.md, block {ran}", scope)
    assert ran == 7 and compared == 5
    assert "495.31 TFLOP" in printed[0]
    assert re.search(r"^ +is +megatron, useful", printed[1], re.MULTILINE), printed[1]
    assert (tmp_path / "mfu.svg").read_text().startswith("<?xml")

    server = scope["server"]
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics", timeout=10) as answer:
            text = answer.read().decode()
    finally:
        server.shutdown()
        server.server_close()
    assert 'floptally_flops_total{' in text and 'run="night 7"' in text and text.endswith("# EOF\n")
