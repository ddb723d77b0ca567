# SPDX-License-Identifier: Apache-2.0
"""Fixtures that the tests of the Python package share."""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small models, and a test for each core beside

import floptally
from floptally import selftest

SOURCE = pathlib.Path(__file__).resolve().parents[2]

LLAMA_3_8B = {**selftest.LLAMA_3_8B, "architectures": ["LlamaForCausalLM"]}


def golden(name: str) -> Any:
    """A file of tests/golden."""
    return json.loads((SOURCE / "tests" / "golden" / name).read_text())


@pytest.fixture(scope="session")
def source() -> pathlib.Path:
    return SOURCE


@pytest.fixture(scope="session")
def llama() -> floptally.Cost:
    return floptally.cost(LLAMA_3_8B)


@pytest.fixture(scope="session")
def mistral() -> floptally.Cost:
    """With a window, so that a tally keeps pairs."""
    return floptally.cost(SOURCE / "examples" / "data" / "mistral-7b-v0.1.json")


@pytest.fixture(scope="session")
def program() -> str:
    """The executable floptally, which CI names."""
    path = os.environ.get("FLOPTALLY_PROGRAM")
    if not path:
        pytest.skip("FLOPTALLY_PROGRAM does not name the executable floptally")
    return path
