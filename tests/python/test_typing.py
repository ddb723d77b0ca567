# SPDX-License-Identifier: Apache-2.0
"""The types that users see are those of the extension."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

import floptally
from conftest import SOURCE


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy", reason="mypy is not installed")
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=SOURCE / "tests" / "python"
    )


def test_stubs_have_the_names_and_the_signatures_of_the_extension() -> None:
    allowed = SOURCE / "tests" / "python" / "stubtest_allowlist.txt"
    result = mypy("mypy.stubtest", "floptally", "--allowlist", str(allowed), "--ignore-unused-allowlist")
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_users_code_is_checked_against_the_stubs(tmp_path: pathlib.Path) -> None:
    code = tmp_path / "uses.py"
    code.write_text(
        "import numpy as np\n"
        "import floptally\n"
        "work = floptally.flops({'model_type': 'llama'}, lengths=np.ones(3, np.int32))\n"
        "total: int = work.total\n"
        "meter = floptally.Meter(floptally.cost('config.json'), gpus=8, accelerator='H100 SXM')\n"
        "with meter.step() as m:\n"
        "    m.add(cu_seqlens=[0, 5], num_real_seqs=1)\n"
        "rates: dict[str, float] = meter.scalars()\n"
    )
    result = mypy("mypy", "--strict", "--config-file", "", str(code))
    assert result.returncode == 0, result.stdout
    code.write_text("import floptally\nfloptally.flops('config.json', lenghts=[5])\n")
    assert 'Unexpected keyword argument "lenghts"' in mypy("mypy", "--config-file", "", str(code)).stdout


def test_the_package_says_that_it_is_typed() -> None:
    folder = pathlib.Path(floptally.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()


def test_everything_that_is_exported_is_documented() -> None:
    for name in floptally.__all__:
        if not name.startswith("__"):
            assert getattr(floptally, name).__doc__, name
