# SPDX-License-Identifier: Apache-2.0
"""Pages that answer one question each: their lines run, and what they say of a real run holds here."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from typing import Any

import pytest

import floptally
from conftest import SOURCE

HAS_TORCH = importlib.util.find_spec("torch") is not None


def fenced(page: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(\w*)\n(.*?)^```$", (SOURCE / "docs" / page).read_text(), re.MULTILINE | re.DOTALL)


def printed(lines: str, scope: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(lines, "page", "exec"), scope)
    return out.getvalue()


def test_would_cp_help() -> None:
    first, real, measured = fenced("would_cp_help.md")
    said = [line[2:] for line in first[1].splitlines() if line.startswith("# ")]
    assert printed(first[1], {}).splitlines() == said
    for line in real[1].splitlines():  # what was recorded is what it says
        times = [float(one) for one in re.findall(r"'(\d+)'", line)]
        waits = re.search(r"waits ([\d.]+) %", line)
        assert waits and 100 * (1 - sum(times) / 4 / max(times)) == pytest.approx(float(waits[1]), abs=1)  # of whole milliseconds
    if HAS_TORCH:
        scope: dict[str, Any] = {}
        printed(measured[1], scope)
        found = scope["measured"](tokens=2048)
        assert found["contiguous"] == pytest.approx(1 - 4 / 7, abs=0.12) and found["zigzag"] < 0.2


def test_why_is_my_mfu() -> None:
    (_, _), (_, shown) = fenced("why_is_my_mfu.md")
    rows = re.findall(r"^([a-zA-Z -]+?)  +([\d.]+) +([\d.]+)(  #*)?", shown, re.MULTILINE)
    assert rows[0][0] == "measured MFU"
    costs = [float(cost) for _, _, cost, _ in rows[1:]]
    assert costs == sorted(costs, reverse=True) and sum(costs) + float(rows[0][2]) == pytest.approx(100, abs=0.05)
    text = (SOURCE / "docs" / "why_is_my_mfu.md").read_text()
    times = {name: float(time) for name, time, _, _ in rows}
    assert f"of {sum(times.values()):.0f}, the packed run" in text
    assert times["padding and mock sequences"] / times["measured MFU"] == pytest.approx(2 / 3, abs=0.02)


def test_the_hstu_step_of_the_waterfalls_page_is_what_its_lines_print() -> None:
    blocks = fenced("waterfall.md")
    at = next(i for i, (language, lines) in enumerate(blocks) if language == "python" and "print(gpu.waterfall(" in lines)
    assert printed(blocks[at][1], {"floptally": floptally}).rstrip("\n") == blocks[at + 1][1].rstrip("\n")
