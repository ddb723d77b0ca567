# SPDX-License-Identifier: Apache-2.0
"""The Python lines of the README and of docs/python.md run, word for word."""

from __future__ import annotations

import pathlib
import re

import pytest

from conftest import SOURCE


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", (SOURCE / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_lines_of_the_readme_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(SOURCE)
    lines = blocks("README.md")
    assert len(lines) == 1
    exec(compile(lines[0], "README.md", "exec"), {})
    printed = capsys.readouterr().out
    shown = re.findall(r"^```text\n(.*?)^```$", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert printed in shown


def test_the_lines_of_the_page_run_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json").write_bytes((SOURCE / "examples" / "data" / "mistral-7b-v0.1.json").read_bytes())
    scope: dict[str, object] = {}
    every = blocks("docs/python.md")
    assert len(every) >= 5
    for number, lines in enumerate(every):
        if "import torch" in lines or "import transformers" in lines:
            continue  # the tests of those parts run them
        exec(compile(lines, f"docs/python.md, block {number}", "exec"), scope)
