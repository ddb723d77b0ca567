# SPDX-License-Identifier: Apache-2.0
"""The types that users see are those of the extension."""

from __future__ import annotations

import ast
import inspect
import pathlib
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

import floptally
from floptally import _core
from conftest import SOURCE


#: Read in full they are minutes of mypy, and no line of theirs is asked about here; `mypy` in .ci/run follows them.
FRAMEWORKS = "deepspeed lightning matplotlib pytorch_lightning torch transformers verl".split()


def mypy(folder: pathlib.Path, *arguments: str, skipped: list[str] = FRAMEWORKS) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("mypy", reason="mypy is not installed")
    config = folder / "mypy.ini"
    names = ",".join(f"{name}.*" for name in skipped)
    config.write_text(f"[mypy]\n[mypy-{names}]\nfollow_imports = skip\nignore_missing_imports = true\n"
                      "[mypy-floptally.*]\nignore_errors = true\n")  # fmt: skip
    option = "--mypy-config-file" if arguments[0] == "mypy.stubtest" else "--config-file"
    return subprocess.run([sys.executable, "-m", *arguments, option, str(config)], capture_output=True, text=True,
                          check=False, cwd=folder)  # fmt: skip


def test_stubs_have_the_names_and_the_signatures_of_the_extension(tmp_path: pathlib.Path) -> None:
    allowed = SOURCE / "tests" / "python" / "stubtest_allowlist.txt"
    result = mypy(tmp_path, "mypy.stubtest", "floptally._core", "--allowlist", str(allowed),
                  skipped=[*FRAMEWORKS, "numpy"])  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_users_code_is_checked_against_the_stubs(tmp_path: pathlib.Path) -> None:
    (tmp_path / "uses.py").write_text(
        "import numpy as np\n"
        "import floptally\n"
        "work = floptally.flops({'model_type': 'llama'}, lengths=np.ones(3, np.int32))\n"
        "total: int = work.total\n"
        "meter = floptally.Meter(floptally.cost('config.json'), gpus=8, counted='all_gpus', accelerator='H100 SXM')\n"
        "with meter.step() as m:\n"
        "    m.add(cu_seqlens=[0, 5], num_real_seqs=1)\n"
        "rates: dict[str, float] = meter.scalars()\n"
    )
    (tmp_path / "wrong.py").write_text(
        "import floptally\n"
        "floptally.flops('config.json', lenghts=[5])\n"
        "total: str = floptally.cost('config.json').total(lengths=[5])\n"
    )
    result = mypy(tmp_path, "mypy", "--strict", "uses.py", "wrong.py")
    found = [line for line in result.stdout.splitlines() if ": error: " in line]
    assert [line.partition(": error")[0] for line in found] == ["wrong.py:2", "wrong.py:3"], result.stdout
    assert 'Unexpected keyword argument "lenghts"' in found[0]


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


def bound_parameters(function: object) -> list[tuple[str, str | None]]:
    """The same of what `inspect` says of the extension."""
    assert callable(function)
    return [
        (one.name, None if one.default is one.empty else repr(one.default).replace("'", '"'))
        for one in inspect.signature(function).parameters.values()
        if one.name != "self" and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]


def test_parameters_of_the_stubs_are_those_that_are_bound() -> None:
    compared = 0
    for name, expected in stub_parameters().items():
        owner: object = _core
        for part in name.split("."):
            owner = getattr(owner, part)
        last = name.split(".")[-1]
        if last.startswith("__") and last != "__init__" or name == "Error.__init__":
            continue
        own = [(n, None if d is None else d.replace("'", '"')) for n, d in expected]
        bound = [(n, "..." if d == "[]" else d) for n, d in bound_parameters(owner)]
        assert bound == own, name
        compared += 1
    assert compared >= 80


def functions(owner: object = _core, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, member in vars(owner).items():
        if inspect.isclass(member) and owner is _core and member.__module__.startswith("floptally"):
            yield from functions(member, f"{name}.")
        elif name == "__init__" or not name.startswith("_"):
            yield prefix + name, member if isinstance(member, property) else getattr(owner, name)


def test_f37_help_shows_signatures_and_no_name_of_c_plus_plus() -> None:
    every = dict(functions())
    assert len(every) > 200
    for name, member in every.items():
        assert "::" not in (member.__doc__ or ""), name
        if callable(member):
            assert inspect.signature(member), name
            assert "::" not in pydoc.render_doc(member, renderer=pydoc.plaintext), name
    assert "add(self, /, *, lengths=None," in pydoc.render_doc(floptally.Meter.add, renderer=pydoc.plaintext)
    whole = pydoc.render_doc(floptally.Tally, renderer=pydoc.plaintext)
    assert "add_padded(self, /, lengths, row_length)" in whole and "::" not in whole


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: _core.cost({}, strct=True), "cost() got an unexpected keyword argument 'strct'; did you mean 'strict'?"),
        (lambda: floptally.flops({"model_type": "llama"}, lenghts=[5]), "flops() got an unexpected keyword argument 'lenghts'; did you mean 'lengths'?"),
        (lambda: floptally.Plan(recomute="full"), "__init__() got an unexpected keyword argument 'recomute'; did you mean 'recompute'?"),
        (lambda: floptally.Tally().add_padded([5], rowlength=9), "'rowlength'; did you mean 'row_length'?"),
        (lambda: floptally.balance([1, 2], rank=2), "'rank'; did you mean 'ranks'?"),
        (lambda: floptally.Mask.hstu(targets_share_places=True), "'targets_share_places'; did you mean 'targets_share_place'?"),
        (lambda: floptally.Plan(colour=3), "unexpected keyword argument 'colour'$"),
        (lambda: floptally.Plan(recompute="ful"), "got \"ful\"; did you mean 'full'?"),
        (lambda: floptally.cost({"model_type": "llama"}).flops(lengths=[5], convention="megatorn"), "did you mean 'megatron'?"),
        (lambda: floptally.accelerator("H100 SXM").peak_tflops("bfloat8"), "did you mean 'bfloat16'?"),
    ],
)  # fmt: skip
def test_f37_a_wrong_keyword_or_word_is_told_the_nearest(call: Callable[[], object], says: str) -> None:
    pattern = says if says.endswith("$") else re.escape(says)
    with pytest.raises((TypeError, floptally.Error), match=pattern):
        call()


def test_f35_submodules_are_there_without_an_import() -> None:
    code = (
        "import floptally, sys; assert 'floptally.distributed' not in sys.modules; floptally.distributed.Reduction; "
        "floptally.callbacks.step; floptally.adopt.verl.FlopsCounter; assert not hasattr(floptally, 'nothing'); "
        "assert {'adopt', 'callbacks', 'distributed', 'plots', 'sampler', 'flops'} <= set(dir(floptally))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
    wrong = subprocess.run([sys.executable, "-c", "import floptally; floptally.distributd"], capture_output=True, text=True)
    assert "has no attribute 'distributd'. Did you mean: 'distributed'?" in wrong.stderr
