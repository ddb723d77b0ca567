# SPDX-License-Identifier: Apache-2.0
"""Forks of a process before and after it counted, and a second interpreter in it."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

COUNT = """
import multiprocessing, sys
import floptally

config = {"model_type": "llama", "hidden_size": 256, "intermediate_size": 688, "num_hidden_layers": 2,
          "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000}

def count(length):
    return floptally.cost(config).flops(lengths=[128, length]).total

def forked():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(count, range(1, 9))
"""


def outcome(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)


def test_processes_forked_before_and_after_the_first_count_give_the_same_flops() -> None:
    done = outcome(COUNT + "before = forked()\nhere = [count(n) for n in range(1, 9)]\nprint(before == here == forked(), len(set(here)))")
    assert (done.stdout, done.returncode) == ("True 8\n", 0), done.stderr


def test_importing_floptally_in_a_second_interpreter_is_an_error() -> None:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    pytest.importorskip(name)
    done = outcome(
        textwrap.dedent(f"""
        import sys
        import {name} as interpreters
        second = interpreters.create()
        code = f"import sys; sys.path[:] = {{sys.path!r}}\\nimport floptally"
        failed = interpreters.{"exec" if sys.version_info >= (3, 13) else "run_string"}(second, code)
        print(failed)
        """)
    )
    assert "floptally: runs in the main interpreter of a process only" in done.stdout + done.stderr
