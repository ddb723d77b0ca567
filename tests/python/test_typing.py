# SPDX-License-Identifier: Apache-2.0
"""The types that users see are those of the extension."""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import pkgutil
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args, get_origin

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
    cache = folder.parent / "mypy_cache"  # of all tests: the standard library's types are most of each run
    config.write_text(f"[mypy]\ncache_dir = {cache}\n"
                      f"[mypy-{names}]\nfollow_imports = skip\nignore_missing_imports = true\n"
                      "[mypy-floptally.*]\nignore_errors = true\n")  # fmt: skip
    option = "--mypy-config-file" if arguments[0] == "mypy.stubtest" else "--config-file"
    return subprocess.run([sys.executable, "-m", *arguments, option, str(config)], capture_output=True, text=True,
                          check=False, cwd=folder)  # fmt: skip


def test_type_stubs_match_the_extension_module(tmp_path: pathlib.Path) -> None:
    allowed = SOURCE / "tests" / "python" / "stubtest_allowlist.txt"
    result = mypy(tmp_path, "mypy.stubtest", "floptally._core", "--allowlist", str(allowed),
                  skipped=[*FRAMEWORKS, "numpy"])  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr


def test_examples_of_user_code_pass_type_checks_against_the_stubs(tmp_path: pathlib.Path) -> None:
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
        "total: str = floptally.cost('config.json').total_flops(lengths=[5])\n"
    )
    result = mypy(tmp_path, "mypy", "--strict", "uses.py", "wrong.py")
    found = [line for line in result.stdout.splitlines() if ": error: " in line]
    assert [line.partition(": error")[0] for line in found] == ["wrong.py:2", "wrong.py:3"], result.stdout
    assert 'Unexpected keyword argument "lenghts"' in found[0]


def test_the_package_is_marked_as_typed() -> None:
    folder = pathlib.Path(floptally.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "_core.pyi").exists()


def test_every_exported_name_is_documented() -> None:
    for name in floptally.__all__:
        if not name.startswith("__"):
            assert getattr(floptally, name).__doc__, name


#: A user's mistakes, each a line that a type checker must find.
PLANTED = """\
floptally.Plan(phase="training")
floptally.Plan(recompute="selective")
floptally.WeightSetting("*", "freezed")
cost.total_flops(lengths=[5], view="real")
cost.flops(lengths=[5], convention="megatorn")
cost.flops(lengths=[5]).measure(1.0, gpus=1, accelerator="H100 SXM", precision="bfloat")
cost.flops(lengths=[5]).measure(1.0, gpus=1, peak_tflops=989, peak_kind="data sheet")
cost.flops(lengths=[5]).waterfall(seconds=1.0, gpus=2, pp=2, microbatches=4, schedule="1F1B")
floptally.Meter(cost, gpus=2, accelerator="H100 SXM", counted="all")
meter.scalars("epoch")
floptally.Tally(cost).get("token")
floptally.Tally(cost).get("tokens", tower="image")
floptally.balance([1, 2], 2, mode="equal")
floptally.balance([1, 2], 2, seed="lpt")
floptally.Entry("mlp", "token", "linear", 4)
floptally.Entry("mlp", "tokens", "gemm", 4)
floptally.cost("config.json", mla="absorb")
floptally.distributed.Reduction(layout, scope="micro_batch")
floptally.plots.component_bars(cost.flops(lengths=[5]), theme="black")
if cost.plan.phase == "eval": pass
"""


def test_the_type_checker_finds_deliberate_mistakes(tmp_path: pathlib.Path) -> None:
    head = "import floptally\nfrom typing import Any\n\n\ndef f(cost: floptally.Cost, meter: floptally.Meter, layout: Any) -> None:\n"
    planted = PLANTED.splitlines()
    (tmp_path / "planted.py").write_text(head + "".join(f"    {line}\n" for line in planted))
    right = {
        '"training"': '"train"', '"selective"': '"attention"', '"freezed"': '"frozen"', '"real"': '"useful"',
        '"megatorn"': '"megatron"', '"bfloat"': '"bf16-mixed"', '"data sheet"': '"datasheet"', '"1F1B"': '"1f1b"',
        'counted="all"': 'counted="all_gpus"', '"epoch"': '"run"', '"token"': '"tokens"', '"image"': '"vision"',
        '"equal"': '"equal_count"', '"lpt"': '"longest_first"', '"gemm"': '"linear"', '"absorb"': '"absorbed"',
        '"micro_batch"': '"microbatch"', '"black"': '"dark"', '"eval"': '"forward"',
    }  # fmt: skip
    text = PLANTED
    for wrong, word in right.items():
        assert wrong in text, wrong
        text = text.replace(wrong, word)
    (tmp_path / "mended.py").write_text(head + "".join(f"    {line}\n" for line in text.splitlines()))
    result = mypy(tmp_path, "mypy", "--strict", "planted.py", "mended.py")
    found = {line.partition(": error")[0] for line in result.stdout.splitlines() if ": error: " in line}
    first = head.count("\n") + 1
    assert found == {f"planted.py:{first + i}" for i in range(len(planted))}, result.stdout


def literals() -> dict[str, tuple[str, ...]]:
    from floptally import _literals

    return {name: get_args(one) for name, one in vars(_literals).items() if get_origin(one) is Literal}


def test_literal_types_list_the_values_that_the_extension_accepts() -> None:
    cost = floptally.cost({"model_type": "llama"})
    words = literals()

    def named(call: Callable[[str], object]) -> tuple[str, ...]:
        """The words that an error lists."""
        with pytest.raises(floptally.Error, match="must (be|list) ") as problem:
            call("?")
        listed = re.search(r"must (?:be one of |be |list some of )(.*?), got", problem.value.problem)
        assert listed
        return tuple(re.split(", | or ", listed[1].replace('"', "")))

    assert words["ConventionName"] == tuple(how.name for how in floptally.conventions())
    any_: Any = floptally
    asked: dict[str, Callable[[str], object]] = {
        "Phase": lambda word: any_.Plan(phase=word),
        "Recompute": lambda word: any_.Plan(recompute=word),
        "LogitTokens": lambda word: any_.Plan(logits=word),
        "IndexerTraining": lambda word: any_.Plan(indexer=word),
        "WeightState": lambda word: any_.WeightSetting("*", word),
        "WorkUnit": lambda word: floptally.readable(5, word),  # type: ignore[arg-type]
        "ViewName": lambda word: any_.Cost.total_flops(cost, lengths=[5], view=word),
        "CountedView": lambda word: any_.Tally().get("tokens", word),
        "Span": lambda word: any_.Meter(cost, gpus=1, peak_tflops=1).scalars(word),
        "Statistic": lambda word: any_.Tally().get(word),
        "Tower": lambda word: any_.Tally().get("tokens", tower=word),
        "EntryKind": lambda word: any_.Entry("a", "tokens", word, 2),
        "Split": lambda word: any_.Entry("a", "tokens", "linear", 2, split=word),
        "LatentAttention": lambda word: any_.cost({"model_type": "llama"}, mla=word),
        "PeakKind": lambda word: cost.flops(lengths=[5]).measure(1, gpus=1, peak_tflops=1, peak_kind=word),  # type: ignore[arg-type]
        "CountedFor": lambda word: any_.Meter(cost, gpus=1, peak_tflops=1, counted=word),
        "ContextSplit": lambda word: floptally.ContextShards(cost, 2, word),  # type: ignore[arg-type]
        "Schedule": lambda word: cost.flops(lengths=[5]).waterfall(seconds=1, gpus=2, peak_tflops=1, pp=2, microbatches=4, schedule=word),  # type: ignore[arg-type]
        "ZeroStates": lambda word: cost.flops(lengths=[5]).fit(dp=2, zero=word),  # type: ignore[arg-type]
        "ContextExchange": lambda word: cost.flops(lengths=[5]).fit(context_exchange=word),  # type: ignore[arg-type]
        "OptimizerStates": lambda word: cost.flops(lengths=[5]).fit(optimizer=word),  # type: ignore[arg-type]
        "OptimizerName": lambda word: any_.state_bytes(5, optimizer=word),
        "FewKvHeads": lambda word: any_.Cost.on_rank(cost, floptally.ParallelLayout(rank=0, tp=2), few_kv_heads=word),
        "BlockFormat": lambda word: cost.flops(lengths=[5]).fit(matrix_inputs=word),  # type: ignore[arg-type]
        "LayerModule": lambda word: cost.flops(lengths=[5]).fit(recompute_modules=[word]),  # type: ignore[list-item]
        "LayerSplit": lambda word: cost.flops(lengths=[5]).fit(pp=2, layer_split=word),  # type: ignore[arg-type]
        "Trainer": lambda word: cost.search(lengths=[5], global_batch=1, gpus=1, accelerator="H100 SXM", trainer=word),  # type: ignore[arg-type]
        "LayoutFormat": lambda word: any_.ParallelLayout(rank=0).text(word),
        "PairShape": lambda word: any_.Mask.from_callable("pairs", len, shape=word),
        "BalanceMode": lambda word: any_.balance([1, 2], 2, mode=word),
        "BalanceSeed": lambda word: any_.balance([1, 2], 2, seed=word),
        "ScopeName": lambda word: any_.Scope(word),
        "Placement": lambda word: any_.Scope(dp=word),
        "PrecisionName": lambda word: any_.accelerator("H100 SXM").peak_tflops(word),
    }  # fmt: skip
    for name, call in asked.items():
        assert words[name] == named(call), name
    assert set(words) - set(asked) == {"ConventionName", "Quality", "Axis", "PrecisionAlias"}
    assert {one.quality for one in floptally.accelerators()} <= set(words["Quality"])
    assert set(floptally.ParallelLayout(rank=0).coordinates) <= set(words["Axis"])
    for word in words["PrecisionAlias"]:
        meter = floptally.Meter(cost, gpus=1, peak_tflops=1, precision=word)  # type: ignore[arg-type]
        assert meter.precision in words["PrecisionName"]


def public_names() -> Iterator[tuple[str, object]]:
    """Every public name of the package: modules, their functions and classes, what these have."""
    modules = [floptally]
    for found in pkgutil.walk_packages(floptally.__path__, "floptally."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            try:
                modules.append(importlib.import_module(found.name))
            except ImportError:  # of a framework that is not installed
                continue
    for module in modules:
        yield module.__name__, module
        own = [name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__]
        for name in getattr(module, "__all__", own):
            if name.startswith("_"):
                continue
            try:
                one = getattr(module, name)
            except ImportError:
                continue
            if not (inspect.isclass(one) or inspect.isroutine(one)):
                continue
            yield f"{module.__name__}.{name}", one
            for member in vars(one) if inspect.isclass(one) else ():
                value = inspect.getattr_static(one, member)
                is_descriptor = isinstance(value, (property, staticmethod, classmethod)) or inspect.isroutine(value)
                if not member.startswith("_") and (is_descriptor or inspect.isgetsetdescriptor(value)):
                    yield f"{module.__name__}.{name}.{member}", getattr(one, member)


def test_every_public_name_has_a_docstring() -> None:
    every = dict(public_names())
    assert len(every) > 350
    missing = [name for name, one in every.items() if not (inspect.getdoc(one) or "").strip()]
    result = [name for name, one in every.items() if (one.__doc__ or "").startswith(name.rpartition(".")[2] + "(")]
    assert missing == [] and result == []


#: What a name says of its unit, and the words of which its docstring must have one.
UNITS = {
    r"(^|_)seconds$": ("econds", "Mean"),
    r"(^|_)tflops": ("TFLOP", "FLOP/s", "peak"),
    r"tbps": ("TB/s",),
    r"^(mfu|padded_mfu|hfu|mixed_mfu|mbu)$": ("0.412 is", "The same", "over the peak"),
    r"_pct$": ("%", "per cent"),
    r"per_second": ("tokens", "Sequences", "equences"),
    r"^flops_per_unit|^padded_flops_per_unit": ("FLOPs",),
    r"^(useful|padded|executed|total|padded_total|executed_total)$": ("FLOPs", "int", "Bytes", "ytes"),
}


def test_docstrings_of_quantities_state_their_unit() -> None:
    said = 0
    for name, one in public_names():
        for pattern, units in UNITS.items():
            if re.search(pattern, name.rpartition(".")[2]) and not inspect.isclass(one):
                assert any(unit in (one.__doc__ or "") for unit in units), (name, one.__doc__)
                said += 1
    assert said >= 40


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ("floptally.Mask('causal')", "Mask() cannot be called: use Mask.causal()"),
        ("floptally.Breakdown()", "Breakdown() cannot be called: use floptally.flops(config, …)"),
        ("floptally.Totals()", "Totals() cannot be called: use a Meter's"),
        ("floptally.Cost()", "Cost() cannot be called: use floptally.cost(config)"),
        ("floptally.Convention('exact')", "Convention() cannot be called: use one of floptally.conventions()"),
        ("floptally.Accelerator('H100 SXM')", "Accelerator() cannot be called: use floptally.accelerator(name)"),
        ("floptally.Plan('train')", "Plan() takes 0 positional arguments but 1 was given"),
        ("floptally.Plan(weights=5)", "weights: must be a list of floptally.WeightSetting, got 5"),
        ("floptally.Plan(weights=['mlp=frozen'])", "weights: must be a list of floptally.WeightSetting, got ['mlp=frozen']"),
        ("floptally.Plan(recompute_components=5)", "recompute_components: must be a list of str, got 5"),
        ("floptally.Plan(repeated=5)", "repeated: must be a dict, got 5"),
        ("floptally.Plan(flash_attention='no')", "flash_attention: must be True or False, got 'no'"),
        ("floptally.Entry()", "Entry() missing required argument: 'component'"),
        ("floptally.Meter()", "Meter() missing required argument: 'cost'"),
        ("floptally.Meter(5, gpus=1)", "cost: must be a floptally.Cost, got 5"),
        ("floptally.MaskedTiles(5)", "cost: must be a floptally.Cost, got 5"),
        ("floptally.Mask.top_k('8')", "keys: must be an integer, got '8'"),
        ("floptally.Tally().pairs(5)", "mask: must be a floptally.Mask, got 5"),
    ],
)
def test_an_invalid_constructor_call_is_an_error_that_names_the_field(call: str, says: str) -> None:
    with pytest.raises((TypeError, floptally.Error)) as problem:
        eval(call)
    assert str(problem.value).startswith(says)
    for raw in ("::", "_core", "overload", "constructor", "__init__", "incompatible"):
        assert raw not in str(problem.value)


def test_the_repr_of_every_class_is_readable(llama: floptally.Cost) -> None:
    weights = [floptally.WeightSetting("*", "frozen"), floptally.WeightSetting("mlp", "lora", rank=8, last_layer=3)]
    plan = floptally.Plan(recompute="full", weights=weights, repeated={"vision.*": 4})
    assert repr(floptally.Plan()) == "Plan()"
    assert repr(plan) == ("Plan(recompute='full', weights=[WeightSetting('*', 'frozen'), WeightSetting('mlp', 'lora', rank=8, last_layer=3)], "
                          "repeated={'vision.*': 4})")  # fmt: skip
    assert eval(repr(plan), vars(floptally)) == plan
    meter = floptally.Meter(llama, gpus=8, counted="all_gpus", accelerator="H100 SXM")
    with meter.step(2.0):
        meter.add(lengths=[8192] * 64)
    assert repr(meter) == ("<Meter of llama, of all 8 GPUs, as declared: H100 SXM at 989 TFLOP/s in bf16, convention exact: "
                           "1 step in 2 s>")  # fmt: skip


def stub_parameters() -> dict[str, list[tuple[str, str | None]]]:
    """Name and default of each parameter of the stub's functions; of methods without self. `**how` stands for the
    keywords of the function that the docstring names."""
    found: dict[str, list[tuple[str, str | None]]] = {}
    as_others: dict[str, str] = {}
    keywords: dict[str, list[str]] = {"TypedDict": []}  # of a batch: the names of each TypedDict
    classes: dict[str, list[ast.stmt]] = {}

    def visit(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and node.bases and ast.unparse(node.bases[0]) in keywords:
                own = [ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign)]
                keywords[node.name] = keywords[ast.unparse(node.bases[0])] + own
            elif isinstance(node, ast.ClassDef):
                classes[node.name] = node.body
                for part in [*(classes[ast.unparse(base)] for base in node.bases), node.body]:
                    visit(part, f"{node.name}.")
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
                if node.args.kwarg and isinstance(node.args.kwarg.annotation, ast.Subscript):
                    pairs += [(name, "None") for name in keywords[ast.unparse(node.args.kwarg.annotation.slice)]]
                if not prefix.startswith("_"):  # a base of the stub alone
                    found[prefix + node.name] = pairs
                named = re.search(r"how: keywords of\s+`([\w.]+)`\.", ast.get_docstring(node) or "")
                if named is not None:
                    as_others[node.name] = named[1]

    visit(ast.parse((pathlib.Path(floptally.__file__).parent / "_core.pyi").read_text()).body, "")
    for name, other in as_others.items():
        found[name] += found[other]
    return found


def bound_parameters(function: object) -> list[tuple[str, str | None]]:
    """The same of what `inspect` says of the extension."""
    assert callable(function)
    return [
        (one.name, None if one.default is one.empty else repr(one.default).replace("'", '"'))
        for one in inspect.signature(function).parameters.values()
        if one.name != "self" and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]


def test_every_function_that_takes_a_batch_accepts_all_batch_keywords() -> None:
    known = stub_parameters()
    batch = {name for name, _ in known["Cost.flops"]} - {"convention", "plan"}
    decoded = {"requests", "prefill_chunk", "logits"}  # by a plan that trains nothing
    others = {"Cost.compare": decoded, "MaskedTiles.add": decoded, "ContextShards.add": decoded}
    taking = [name for name, of in known.items() if {"lengths", "cu_seqlens", "attention_mask", "grid_thw"} <= {one for one, _ in of}]
    assert len(taking) >= 8
    for name in taking:
        assert batch - {one for one, _ in known[name]} == others.get(name, set()), name


def test_parameters_in_the_type_stubs_equal_those_of_the_extension_module() -> None:
    compared = 0
    for name, expected in stub_parameters().items():
        owner: object = _core
        for part in name.split("."):
            owner = getattr(owner, part)
        last = name.split(".")[-1]
        if last.startswith("__") and last != "__init__" or name == "Error.__init__":
            continue
        own = [(n, None if d is None else d.replace("'", '"')) for n, d in expected]
        assert bound_parameters(owner) == own, name
        compared += 1
    assert compared >= 80


def functions(owner: object = _core, prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, member in vars(owner).items():
        if inspect.isclass(member) and owner is _core and member.__module__.startswith("floptally"):
            yield from functions(member, f"{name}.")
        elif name == "__init__" or not name.startswith("_"):
            yield prefix + name, member if isinstance(member, property) else getattr(owner, name)


def test_python_help_shows_class_signatures_without_cpp_type_names() -> None:
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
        (lambda: floptally.Plan(recomute="full"), "Plan() got an unexpected keyword argument 'recomute'; did you mean 'recompute'?"),
        (lambda: floptally.Tally().add_padded([5], rowlength=9), "'rowlength'; did you mean 'row_length'?"),
        (lambda: floptally.balance([1, 2], rank=2), "'rank'; did you mean 'ranks'?"),
        (lambda: floptally.Mask.hstu(targets_share_places=True), "'targets_share_places'; did you mean 'targets_share_place'?"),
        (lambda: floptally.Plan(colour=3), "unexpected keyword argument 'colour'$"),
        (lambda: floptally.Plan(recompute="ful"), "got \"ful\"; did you mean 'full'?"),
        (lambda: floptally.cost({"model_type": "llama"}).flops(lengths=[5], convention="megatorn"), "did you mean 'megatron'?"),
        (lambda: floptally.accelerator("H100 SXM").peak_tflops("bfloat61"), "did you mean 'bfloat16'?"),
        (lambda: floptally.accelerator("H100 SXM").peak_tflops("bfloat8"), "did you mean 'float8'?"),
    ],
)  # fmt: skip
def test_the_error_for_a_wrong_keyword_or_value_suggests_the_nearest_valid_one(call: Callable[[], object], says: str) -> None:
    pattern = says if says.endswith("$") else re.escape(says)
    with pytest.raises((TypeError, floptally.Error), match=pattern):
        call()


def test_submodules_load_without_their_own_import_statement() -> None:
    code = (
        "import floptally, sys; assert 'floptally.distributed' not in sys.modules; floptally.distributed.Reduction; "
        "floptally.callbacks.step; floptally.adopt.verl.FlopsCounter; assert not hasattr(floptally, 'nothing'); "
        "assert {'adopt', 'callbacks', 'distributed', 'plots', 'sampler', 'flops'} <= set(dir(floptally))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
    wrong = subprocess.run([sys.executable, "-c", "import floptally; floptally.distributd"], capture_output=True, text=True)
    assert "has no attribute 'distributd'. Did you mean: 'distributed'?" in wrong.stderr
