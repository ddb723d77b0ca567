# SPDX-License-Identifier: Apache-2.0
"""tests/systems.md: its names and its tests exist; and the program that prints the public threads' numbers beside ours."""

from __future__ import annotations

import importlib
import importlib.util
import re
from typing import Any

import floptally
import pytest
from conftest import SOURCE

PAGE = (SOURCE / "tests" / "systems.md").read_text()


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith(("| ---", "| | what"))]


def linked() -> dict[str, dict[str, list[str]]]:
    """The tests of each statement, by file."""
    tests: dict[str, dict[str, list[str]]] = {}
    for section in PAGE.split("\n### ")[1:]:
        statement, _, listed = section.partition("\n")
        files = re.split(r"^\* `(.*)`$", listed, flags=re.MULTILINE)
        tests[statement] = {
            path: [cpp or python for cpp, python in re.findall(r'^  \* (?:"(.*)"|`(.*)`)$', names, re.MULTILINE)]
            for path, names in zip(files[1::2], files[2::2])
        }
    return tests


def names_in(path: str) -> set[str]:
    """The names of a file's tests."""
    text = (SOURCE / path).read_text()
    if path.endswith(".py"):
        return set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    return {"".join(re.findall(r'"(.*?)"', pieces)) for pieces in re.findall(r'TEST_CASE\(\s*((?:"[^"]*"\s*)+)', text)}


def ticked(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_functions_named_in_the_table_of_systems_md_exist(row: list[str]) -> None:
    _, _, in_cpp, in_python = row
    for name in ticked(in_python):
        found: Any = floptally
        for part in name.split("."):
            if not hasattr(found, part):
                found = importlib.import_module(f"{found.__name__}.{part}")
                continue
            found = getattr(found, part)
    for name in ticked(in_cpp):
        word = re.compile(rf"\b{re.escape(name.split('::')[-1])}\b")
        headers = (SOURCE / "include" / "floptally").rglob("*.*pp")
        assert any(word.search(header.read_text()) for header in headers), name
    assert ticked(in_python)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_every_statement_in_systems_md_links_to_existing_tests(row: list[str]) -> None:
    statement, _, in_cpp, _ = row
    assert any(path.endswith(".py") for path in linked()[statement])
    assert not in_cpp or any(path.endswith(".cpp") for path in linked()[statement])
    for path, names in linked()[statement].items():
        assert names and set(names) <= names_in(path), f"{path}: {set(names) - names_in(path)}"


def test_every_statement_in_the_table_of_systems_md_has_a_list_of_tests() -> None:
    assert list(linked()) == [row[0] for row in rows()]


def threads() -> Any:
    path = SOURCE / "examples" / "public_threads.py"
    spec = importlib.util.spec_from_file_location("public_threads", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("hstu", {"UVQK": "26.41 TFLOP", "projection": "6.60 TFLOP", "attention": "30.88 TFLOP", "a step": "63.89 TFLOP",
                  "element-wise": "6.45 GFLOP", "MFU of 1092 TFLOP/s on 16 H100": "6.90 %",
                  "MFU of 3919 TFLOP/s on 16 H100": "24.77 %"}),
        ("areal", {"logits of 128K tokens in bf16": "37.09 GiB", "16K tokens at d1p1t2c4, both copies": "4.98 GB",
                   "FLOPs of the ranks ÷ those of the batch": "1.000000", "a ratio of one rank's slice": "25.0 %"}),
        ("megatron_mimo", {"largest ÷ smallest rank before": "1.27", "after its rule": "1.07", "after ours": "1.02",
                           "samples that moved": "22 by its rule, 23 by ours"}),
        ("megatron_bridge", {"FLOPs over pp 2 x vpp 2": "100 %"}),
        ("bionemo", {"n² in 32 bits": "2147488281"}),
    ],
)  # fmt: skip
def test_the_example_on_questions_from_public_threads_prints_the_expected_numbers(
    name: str, expected: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    threads().main([name])
    table = {row.split(" | ")[0].lstrip("| "): row.split(" | ")[2] for row in capsys.readouterr().out.splitlines()[4:]}
    assert {what: table[what] for what in expected} == expected
    if name == "bionemo":
        assert float(table["mock sequence in Σn²"]) < 1e-5
        assert table["train/mfu_pct, at 0.1 s on one H100"] != table["train/mfu_padded_pct"]
    if name == "megatron_bridge":
        assert 2.6 <= float(table["reported ÷ real FLOPs of the text"]) <= 10 and float(table["Σn² ÷ (Σn)²/B"]) > 1


def test_each_node_of_a_prefix_tree_attends_the_tokens_before_it(llama: floptally.Cost) -> None:
    """Nodes (depth, tokens): pairs are Σ (n·depth + n(n+1)/2), once for what samples share."""
    nodes = [(0, 500), (500, 30), (500, 70), (570, 9)]
    work = llama.flops(new_tokens=[(n, depth) for depth, n in nodes])
    pairs = sum(sum(depth + query + 1 for query in range(n)) for depth, n in nodes)
    tokens = sum(n for _, n in nodes)
    per_pair = 4 * 32 * 128 * 32 * 3
    linear = llama.flops(lengths=[1] * tokens).total - tokens * per_pair
    assert work.total == linear + pairs * per_pair
    paths = llama.flops(lengths=[530, 579])  # each sample whole
    assert work.total < paths.total
