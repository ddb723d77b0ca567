# SPDX-License-Identifier: Apache-2.0
"""The types that users see are those of the extension."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import pytest

import floptally
from floptally import _core
from conftest import SOURCE


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy", reason="mypy is not installed")
    return subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=SOURCE / "tests" / "python"
    )


def test_stubs_have_the_names_and_the_signatures_of_the_extension() -> None:
    allowed = SOURCE / "tests" / "python" / "stubtest_allowlist.txt"
    result = mypy("mypy.stubtest", "floptally", "--allowlist", str(allowed), "--ignore-unused-allowlist",
                  "--mypy-config-file", str(SOURCE / "pyproject.toml"))
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_users_code_is_checked_against_the_stubs(tmp_path: pathlib.Path) -> None:
    code = tmp_path / "uses.py"
    code.write_text(
        "import numpy as np\n"
        "import floptally\n"
        "work = floptally.flops({'model_type': 'llama'}, lengths=np.ones(3, np.int32))\n"
        "total: int = work.total\n"
        "meter = floptally.Meter(floptally.cost('config.json'), gpus=8, counted='all_gpus', accelerator='H100 SXM')\n"
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


def stub_parameters() -> dict[str, list[tuple[str, str | None]]]:
    """Name and default of each parameter of the stub's functions; of methods without self."""
    found: dict[str, list[tuple[str, str | None]]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{node.name}.")
            elif isinstance(node, ast.FunctionDef) and not node.decorator_list or (
                isinstance(node, ast.FunctionDef) and "staticmethod" in map(ast.unparse, node.decorator_list)
            ):
                plain = node.args.args[1:] if node.args.args and node.args.args[0].arg == "self" else node.args.args
                defaults = [None] * (len(plain) - len(node.args.defaults)) + [ast.unparse(d) for d in node.args.defaults]
                pairs = [(one.arg, default) for one, default in zip(plain, defaults, strict=True)]
                pairs += [
                    (one.arg, None if default is None else ast.unparse(default))
                    for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                ]
                found[prefix + node.name] = pairs

    visit(ast.parse((pathlib.Path(floptally.__file__).parent / "_core.pyi").read_text()).body, "")
    return found


def bound_parameters(signature: str) -> list[tuple[str, str | None]]:
    """The same of the first line of what pybind11 documents: f(self: floptally.Tally, a: object, *, b: int = 5)."""
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    parts, depth, start = [], 0, 0
    for i, letter in enumerate(inside + ","):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(inside[start:i].strip())
            start = i + 1
    pairs = []
    for part in parts:
        name, _, default = part.partition(" = ")
        if part and part != "*" and name.split(":")[0] != "self" and not part.startswith("**"):
            pairs.append((name.split(":")[0], default.replace("'", '"') or None))
    return pairs


def test_parameters_of_the_stubs_are_those_that_are_bound() -> None:
    compared = 0
    for name, expected in stub_parameters().items():
        owner: object = _core
        for part in name.split("."):
            owner = getattr(owner, part)
        text = (owner.__doc__ or "").splitlines()
        special = name.split(".")[-1].startswith("__") and name.split(".")[-1] != "__init__"
        if special or not text or "(" not in text[0] or name in ("Cost.flops", "Meter.add", "Error.__init__"):
            continue
        own = [(n, None if d is None else d.replace("'", '"')) for n, d in expected]
        bound = [(n, "..." if d == "[]" else d) for n, d in bound_parameters(text[0])]
        assert bound == own, name
        compared += 1
    assert compared >= 50
