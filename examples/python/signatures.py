# SPDX-License-Identifier: Apache-2.0
"""Writes what the extension shows of its classes and functions as C++: parameters, defaults and docstrings stand in
floptally/_core.pyi alone. Arguments: the stub, the header."""

from __future__ import annotations

import ast
import json
import pathlib
import re
import sys
from collections.abc import Collection, Iterator


def keywords(body: list[ast.stmt]) -> dict[str, list[str]]:
    """The names of each TypedDict, those of its base first."""
    found: dict[str, list[str]] = {"TypedDict": []}
    for node in body:
        base = ast.unparse(node.bases[0]) if isinstance(node, ast.ClassDef) and node.bases else ""
        if isinstance(node, ast.ClassDef) and base in found:
            own = [ast.unparse(each.target) for each in node.body if isinstance(each, ast.AnnAssign)]
            found[node.name] = found[base] + own
    return found


def parameters(of: ast.arguments, known: dict[str, list[str]]) -> list[str]:
    """As they are written, without their types. `**batch: Unpack[Batch]` are the names of a TypedDict, each None by
    default."""
    plain: list[ast.expr | None] = [*[None] * (len(of.args) - len(of.defaults)), *of.defaults]
    named = [*map(written, of.kwonlyargs, of.kw_defaults)]
    others = [f"**{of.kwarg.arg}"] if of.kwarg else []
    if of.kwarg and isinstance(of.kwarg.annotation, ast.Subscript):
        named += [f"{name}=None" for name in known[ast.unparse(of.kwarg.annotation.slice)]]
        others = []
    return [*map(written, of.args, plain), *(["*"] if named else []), *named, *others]


def written(parameter: ast.arg, default: ast.expr | None) -> str:
    return parameter.arg if default is None else f"{parameter.arg}={ast.unparse(default)}"


def entries(
    body: Collection[ast.stmt], known: dict[str, list[str]], prefix: str = ""
) -> Iterator[tuple[str, str, str]]:
    """Name, parameters and docstring of each class and function. A class has the functions of its bases too."""
    classes = {node.name: node for node in body if isinstance(node, ast.ClassDef) and node.name not in known}
    for node in body:
        if isinstance(node, ast.ClassDef) and node.name in classes and not node.name.startswith("_"):
            yield node.name, "", ast.get_docstring(node) or ""
            for each in [*(classes[ast.unparse(base)] for base in node.bases), node]:
                yield from entries(each.body, known, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield prefix + node.name, "\n".join(parameters(node.args, known)), ast.get_docstring(node) or ""


def expanded(text: str, docs: dict[str, str]) -> str:
    """A docstring in which "first, …, last: as in `Cost.flops`." has become the lines that stand there."""
    lines: list[str] = []
    for line in text.splitlines():
        found = re.fullmatch(r"( *)(\w+), …, (\w+): as in `([\w.]+)`\.", line)
        if found is None:
            lines.append(line)
            continue
        indent, first, last, other = found.groups()
        there = docs[other].splitlines()
        starts = [next(i for i, one in enumerate(there) if one.startswith(f"{indent}{name}: ")) for name in (first, last)]
        lines += there[starts[0] : starts[1] + 1]
    return "\n".join(lines)


def with_keywords_of_other(lines: str, text: str, every: dict[str, str]) -> str:
    """Parameters in which `**how` has become the keywords of another function, if the docstring has a sentence such as
    "how: keywords of `Breakdown.fit`."."""
    own, _, last = lines.rpartition("\n")
    found = re.search(rf"\b{re.escape(last[2:])}: keywords of\s+`([\w.]+)`\.", text) if last.startswith("**") else None
    if found is None:
        return lines
    return own + ("\n" if "*" in own.split("\n") else "\n*\n") + every[found[1]].partition("\n*\n")[2]


def main(stub: str, header: str) -> None:
    body = ast.parse(pathlib.Path(stub).read_text("utf-8")).body
    found = list(entries(body, keywords(body)))
    every = {name: lines for name, lines, _ in found}
    found = [(name, with_keywords_of_other(lines, text, every), text) for name, lines, text in found]
    docs = {name: text for name, _, text in found}
    rows = [
        f'    {{{json.dumps(name)}, {json.dumps(lines)}, R"~({expanded(text, docs)})~"}},\n'
        for name, lines, text in found
    ]
    pathlib.Path(header).write_text("".join(rows), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
